//! Every sentence that a model sees: templates, embedded in the binary, each replaceable by a file of
//! the same name in a directory.
//!
//! Rendering is strict: an undefined variable is an error, never an empty string. This module holds
//! no sentence itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

use include_dir::{Dir, include_dir};
use minijinja::{Environment, UndefinedBehavior, syntax::SyntaxConfig, value::Serde};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tools::{Session, Tool};

use crate::model::ToolSpec;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../prompts");

/// The templates of a run.
#[derive(Debug)]
pub struct Prompts {
    templates: Environment<'static>,
}

/// The kind of task that a session works on; some tools do other things in another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    /// Code is taken from the repository or changed in it: a gist, or a patch.
    Gist,
    /// The repository is used to answer a query.
    Query,
}

impl TaskKind {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Gist, Self::Query];

    /// The kind of a session's task.
    pub fn of(session: &Session) -> Self {
        match session.findings.query {
            Some(_) => Self::Query,
            None => Self::Gist,
        }
    }
}

/// Why a prompt cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A file of the user's directory cannot be read.
    #[error("read prompt {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file of the user's directory replaces no template.
    #[error("prompt {path} replaces nothing (the prompts are {known})")]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The names there are.
        known: String,
    },
    /// A template is wrong, or uses what it is not given.
    #[error("prompt {name}: {reason}")]
    Template {
        /// The template.
        name: String,
        /// The reason, and its place.
        reason: String,
    },
}

impl Prompts {
    /// The embedded templates, with those files of a directory in their place that have their names.
    ///
    /// # Errors
    /// A file that is unreadable, replaces nothing or is no template.
    pub fn load(directory: Option<&Path>) -> Result<Self, PromptError> {
        let mut templates = Environment::new();
        templates.set_undefined_behavior(UndefinedBehavior::Strict);
        templates.set_syntax(
            SyntaxConfig::builder()
                .trim_blocks(true)
                .lstrip_blocks(true)
                .build()
                .expect("the default markers"),
        );
        // Prompts are text: nothing is escaped, whatever a file is called.
        templates.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        let mut prompts = Self { templates };
        for (name, text) in embedded(&EMBEDDED) {
            prompts.add(name, text)?;
        }
        if let Some(directory) = directory {
            for path in files(directory)? {
                prompts.replace(directory, &path)?;
            }
        }
        Ok(prompts)
    }

    /// A hash of all texts, by which a resumed bench sees that one changed.
    pub fn digest(&self) -> String {
        let texts = self.templates.templates();
        let mut texts: Vec<(&str, String)> =
            texts.map(|(name, text)| (name, text.source().to_owned())).collect();
        texts.sort_unstable();
        let mut hasher = blake3::Hasher::new();
        for part in texts.iter().flat_map(|(name, text)| [*name, text]) {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// The names of all templates, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.templates.templates().map(|(name, _)| name).collect();
        names.sort_unstable();
        names
    }

    /// Fills a template in.
    ///
    /// # Errors
    /// The template does not exist or uses what `values` lacks.
    pub fn render(&self, name: &str, values: impl Serialize) -> Result<String, PromptError> {
        let rendered =
            self.templates.get_template(name).and_then(|template| template.render(Serde(&values)));
        rendered.map(|text| text.trim_end().to_owned()).map_err(|error| wrong(name, &error))
    }

    /// A tool as a model is told of it in a kind of task: the first part of `tools/NAME.md` describes it, and the list
    /// items `- argument: text` below describe its arguments.
    ///
    /// # Errors
    /// The template does not exist, or an argument has no description there.
    pub fn describe(&self, tool: &dyn Tool, kind: TaskKind) -> Result<ToolSpec, PromptError> {
        self.specified(tool.name(), tool.schema(), kind)
    }

    /// A tool of gists with these arguments, described in the same way.
    ///
    /// # Errors
    /// The template does not exist, or an argument has no description there.
    pub fn specify(&self, tool: &str, parameters: Value) -> Result<ToolSpec, PromptError> {
        self.specified(tool, parameters, TaskKind::Gist)
    }

    fn specified(
        &self,
        tool: &str,
        mut parameters: Value,
        kind: TaskKind,
    ) -> Result<ToolSpec, PromptError> {
        let name = format!("tools/{tool}.md");
        let text = self.render(&name, json!({ "query": kind == TaskKind::Query }))?;
        let mut described = Map::new();
        let mut description = String::new();
        for line in text.lines() {
            match line.strip_prefix("- ").and_then(|item| item.split_once(": ")) {
                Some((key, text)) => drop(described.insert(key.to_owned(), text.into())),
                None => description.extend([line, "\n"]),
            }
        }
        let lacks = |key: &str| PromptError::Template {
            name: name.clone(),
            reason: format!("argument {key} is not described"),
        };
        if let Some(Value::Object(properties)) = parameters.get_mut("properties") {
            for (key, property) in properties {
                let text = described.remove(key).ok_or_else(|| lacks(key))?;
                if let Some(property) = property.as_object_mut() {
                    property.insert("description".to_owned(), text);
                }
            }
        }
        if let Some(key) = described.keys().next() {
            let reason = format!("argument {key} does not exist");
            return Err(PromptError::Template { name, reason });
        }
        let description = description.trim().to_owned();
        Ok(ToolSpec { name: tool.to_owned(), description, parameters })
    }

    fn add(&mut self, name: String, text: String) -> Result<(), PromptError> {
        let added = self.templates.add_template_owned(name.clone(), text);
        added.map_err(|error| wrong(&name, &error))
    }

    fn replace(&mut self, directory: &Path, path: &Path) -> Result<(), PromptError> {
        let name =
            path.strip_prefix(directory).unwrap_or(path).to_string_lossy().replace('\\', "/");
        if self.templates.get_template(&name).is_err() {
            let known = self.names().join(", ");
            return Err(PromptError::Unknown { path: path.to_owned(), known });
        }
        let text = fs::read_to_string(path)
            .map_err(|source| PromptError::Read { path: path.to_owned(), source })?;
        self.add(name, text)
    }
}

/// Name and text of the embedded templates.
fn embedded(directory: &Dir<'_>) -> Vec<(String, String)> {
    let mut found: Vec<_> = directory
        .files()
        .filter_map(|file| {
            Some((file.path().to_str()?.replace('\\', "/"), file.contents_utf8()?.to_owned()))
        })
        .collect();
    found.extend(directory.dirs().flat_map(embedded));
    found
}

/// The Markdown files below a directory, sorted; others there are none of our business.
fn files(directory: &Path) -> Result<Vec<PathBuf>, PromptError> {
    let unreadable = |source| PromptError::Read { path: directory.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn wrong(name: &str, error: &minijinja::Error) -> PromptError {
    PromptError::Template { name: name.to_owned(), reason: format!("{error:#}") }
}

#[cfg(test)]
mod tests {
    use tools::Problem;

    use super::*;

    fn overriding(files: &[(&str, &str)]) -> Result<Prompts, PromptError> {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Prompts::load(Some(directory.path()))
    }

    #[test]
    fn a_file_replaces_a_prompt() {
        let prompts = overriding(&[("replies/failed.md", "{{ tool }}: {{ message }}!\n")]).unwrap();
        let values = json!({ "tool": "slice", "message": "no" });
        assert_eq!(prompts.render("replies/failed.md", values).unwrap(), "slice: no!");
    }

    #[test]
    fn a_file_that_replaces_nothing_is_an_error() {
        let error = overriding(&[("replies/fialed.md", "")]).unwrap_err().to_string();
        assert!(error.contains("replies/fialed.md replaces nothing (the prompts are "), "{error}");
    }

    #[test]
    fn undefined_variables_are_errors() {
        let prompts = overriding(&[("task.md", "{{ repositoy }}")]).unwrap();
        let error =
            prompts.render("task.md", json!({ "repository": "x" })).unwrap_err().to_string();
        assert!(error.starts_with("prompt task.md: undefined value"), "{error}");
        assert!(overriding(&[("task.md", "{% if %}")]).is_err());
    }

    #[test]
    fn every_problem_has_its_advice() {
        let prompts = Prompts::load(None).unwrap();
        for problem in Problem::ALL {
            let values = json!({ "tool": "slice", "message": "no file a.py" });
            let text = prompts.render(&format!("replies/{}.md", problem.name()), values).unwrap();
            assert!(text.contains("no file a.py"), "{text}");
        }
    }
}
