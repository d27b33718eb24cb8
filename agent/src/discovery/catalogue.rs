//! A local catalogue of repositories: a file with one JSON object a line.
//!
//! ```text
//! {"name": "owner/name", "url": "https://...", "stars": 12, "description": "...", "readme": "..."}
//! {"name": "mine", "path": "../mine"}
//! ```
//!
//! It is read once and nothing is sent anywhere. A path is relative to the file; what has a git directory is opened
//! at HEAD. Fields that are not named here are ignored.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ::eval::read_json_lines;
use graph::{Texts, WalkOptions};
use serde::Deserialize;

use super::{
    source::{FoundRepository, ReadmeText, RepositorySource, SearchSourceError},
    terms::normal_text,
};
use crate::chunks::ranked;

/// The repositories of a file.
#[derive(Debug)]
pub struct Catalogue {
    path: PathBuf,
    repositories: Vec<FoundRepository>,
}

/// One line of the file.
#[derive(Debug, Clone, Deserialize)]
struct CatalogueLine {
    name: String,
    #[serde(default)]
    path: Option<PathBuf>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    stars: Option<u64>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    readme: Option<String>,
}

impl Catalogue {
    /// Reads a file.
    ///
    /// # Errors
    /// It is unreadable, a line is no such object, names no place, or has a name that was there before.
    pub fn read(path: &Path) -> Result<Self, SearchSourceError> {
        let failed =
            |reason: String| SearchSourceError::Catalogue { path: path.to_owned(), reason };
        let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let directory = path.parent().unwrap_or(Path::new("."));
        let mut repositories: Vec<FoundRepository> = Vec::new();
        let (_, malformed) = read_json_lines(&text, |line: &CatalogueLine| {
            match line.clone().repository(directory) {
                Ok(other) if repositories.iter().any(|one| one.name == other.name) => {
                    Some(format!("the name {} was there before", other.name))
                }
                Ok(repository) => {
                    repositories.push(repository);
                    None
                }
                Err(reason) => Some(reason),
            }
        });
        if let Some(row) = malformed.first() {
            return Err(failed(format!("line {}: {}", row.line, row.reason)));
        }
        Ok(Self { path: path.to_owned(), repositories })
    }
}

impl CatalogueLine {
    fn repository(self, directory: &Path) -> Result<FoundRepository, String> {
        let (url, place, readme) = match (self.path, self.url) {
            (Some(path), url) => {
                let path = directory.join(path);
                let text = Texts::new(&path, WalkOptions::default()).readme();
                let readme = Some(text).filter(|text| !text.trim().is_empty());
                let shown = path.display().to_string();
                (url.unwrap_or_else(|| shown.clone()), Some(place_of(&path)), readme)
            }
            (None, Some(url)) if url.starts_with("pypi:") => (url.clone(), Some(url), None),
            (None, Some(url)) if url.contains("://") => {
                let place = format!("{}@HEAD", url.trim_end_matches('/'));
                (url, Some(place), None)
            }
            (None, Some(url)) => return Err(format!("url {url:?} is no address")),
            (None, None) => return Err("it has neither a path nor a url".to_owned()),
        };
        if self.name.trim().is_empty() {
            return Err("the name is empty".to_owned());
        }
        Ok(FoundRepository {
            name: self.name,
            url,
            place,
            stars: self.stars,
            description: self.description.unwrap_or_default(),
            readme: self.readme.or(readme),
        })
    }
}

/// The name by which a directory is opened: at HEAD if git knows it, with its files as they are otherwise.
fn place_of(path: &Path) -> String {
    let is_git = path.join(".git").exists() || path.join("HEAD").is_file();
    match is_git {
        true => format!("git+{}@HEAD", path.display()),
        false => path.display().to_string(),
    }
}

impl RepositorySource for Catalogue {
    fn label(&self) -> String {
        self.path.display().to_string()
    }

    fn search(&self, query: &str, most: usize) -> Result<Vec<FoundRepository>, SearchSourceError> {
        let text = |one: &FoundRepository| {
            let readme = one.readme.as_deref().unwrap_or_default();
            normal_text(&format!("{} {} {readme}", one.name, one.description))
        };
        let texts: Vec<String> = self.repositories.iter().map(text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let matching =
            ranked(&texts, &normal_text(query)).into_iter().filter(|(_, score)| *score > 0.0);
        Ok(matching.take(most).map(|(at, _)| self.repositories[at].clone()).collect())
    }

    fn readme(&self, repository: &FoundRepository) -> Result<ReadmeText, SearchSourceError> {
        Ok(repository.readme.clone().map_or(ReadmeText::Missing, ReadmeText::Text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("list.jsonl");
        fs::write(&path, text).unwrap();
        let error = Catalogue::read(&path).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }

    #[test]
    fn a_wrong_line_is_named() {
        let good = r#"{"name": "a", "url": "https://x.example/a"}"#;
        refused(&format!("{good}\n\n{{\n"), "line 3: its JSON is cut off");
        refused(&format!("{good}\n{good}"), "line 2: the name a was there before");
        refused(r#"{"name": "a", "url": "../a"}"#, "line 1: url \"../a\" is no address");
        refused(r#"{"name": "a"}"#, "line 1: it has neither a path nor a url");
        refused(r#"{"name": " ", "path": "."}"#, "line 1: the name is empty");
    }

    #[test]
    fn repositories_are_found_by_their_words() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("list.jsonl");
        fs::create_dir_all(directory.path().join("edges/.git")).unwrap();
        fs::write(directory.path().join("edges/README.md"), "Detects edges.").unwrap();
        let lines = r#"{"name": "edges", "path": "edges", "more": 1}
            {"name": "b/words", "url": "https://x.example/b/words/", "stars": 3, "description": "counts words"}"#;
        fs::write(&path, lines).unwrap();
        let catalogue = Catalogue::read(&path).unwrap();
        let names = |query: &str| -> Vec<String> {
            catalogue.search(query, 9).unwrap().into_iter().map(|one| one.name).collect()
        };
        assert_eq!(names("edge detection"), ["edges"]);
        assert_eq!(names("word counting or edges"), ["b/words", "edges"]);
        assert_eq!(names("nothing"), Vec::<String>::new());
        let found = catalogue.search("edges words", 9).unwrap();
        let places: Vec<_> = found.iter().map(|one| one.place.clone().unwrap()).collect();
        assert!(
            places.iter().any(|place| place.starts_with("git+/") && place.ends_with("edges@HEAD"))
        );
        assert!(places.contains(&"https://x.example/b/words@HEAD".to_owned()));
    }
}
