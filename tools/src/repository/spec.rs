//! Parses the name of a repository: the words before the first `--` of a command line.

use std::{path::PathBuf, str::FromStr};

use pep508_rs::pep440_rs::Version;

use super::{RepositoryError, git::GitSource};

/// A repository's name, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spec {
    Directory(PathBuf),
    Git { origin: GitSource, revision: String },
    Release { project: String, version: Option<Version> },
}

/// Takes a name apart. A path that is there is a directory, whatever it looks like.
pub(super) fn parse(text: &str) -> Result<Spec, RepositoryError> {
    let malformed = |reason: &str| RepositoryError::Malformed {
        spec: text.escape_debug().to_string(),
        reason: reason.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(malformed("it is empty"));
    }
    if let Some(release) = text.strip_prefix("pypi:") {
        let (project, version) = match release.split_once("==") {
            Some((project, version)) => (project.trim(), Some(version.trim())),
            None => (release.trim(), None),
        };
        let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_');
        let outer = |char: Option<char>| char.is_some_and(|char| char.is_ascii_alphanumeric());
        if !project.chars().all(plain)
            || !outer(project.chars().next())
            || !outer(project.chars().next_back())
        {
            return Err(malformed("no name of a project (as in pypi:NAME==VERSION)"));
        }
        let version = version.map(Version::from_str).transpose();
        let version = version.map_err(|_| malformed("no version (as in pypi:NAME==VERSION)"))?;
        return Ok(Spec::Release { project: project.to_owned(), version });
    }
    let path = PathBuf::from(text);
    if path.exists() {
        return Ok(Spec::Directory(path));
    }
    let (address, forced) = match text.strip_prefix("git+") {
        Some(address) => (address, true),
        None => (text, false),
    };
    let (place, revision) = split_revision(address);
    let origin = match place.split_once("://") {
        Some(("file", path)) => Some(GitSource::Local(PathBuf::from(path))),
        Some(("http" | "https" | "git", _)) => Some(GitSource::Remote(place.to_owned())),
        Some(_) => {
            return Err(malformed(
                "only http, https, git and file are reached (clone it yourself, then name the path)",
            ));
        }
        None => None,
    };
    match origin {
        Some(origin) => Ok(Spec::Git { origin, revision: revision.unwrap_or("HEAD").to_owned() }),
        None => {
            let path = PathBuf::from(place);
            if !path.is_dir() || !forced && revision.is_none() {
                return Err(RepositoryError::Missing { path: PathBuf::from(text) });
            }
            let revision = revision.unwrap_or("HEAD").to_owned();
            Ok(Spec::Git { origin: GitSource::Local(path), revision })
        }
    }
}

/// Splits `place@revision`. An `@` before the path of an address belongs to its user name.
fn split_revision(address: &str) -> (&str, Option<&str>) {
    let start = address.find("://").map_or(0, |at| at + 3);
    let path = address[start..].find('/').map_or(address.len(), |at| start + at);
    match address[path..].rfind('@') {
        Some(at) => (&address[..path + at], Some(&address[path + at + 1..])),
        // A relative path may have no slash at all.
        None if start == 0 => match address.rsplit_once('@') {
            Some((place, revision)) => (place, Some(revision)),
            None => (address, None),
        },
        None => (address, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let temporary = tempfile::tempdir().unwrap();
        let base = temporary.path().display().to_string();
        std::fs::create_dir_all(temporary.path().join("r/with@sign")).unwrap();
        let check = |text: &str, expected: &str| {
            let found = match parse(&text.replace("BASE", &base)) {
                Ok(Spec::Directory(path)) => format!("directory {}", path.display()),
                Ok(Spec::Git { origin: GitSource::Local(path), revision }) => {
                    format!("local {} at {revision}", path.display())
                }
                Ok(Spec::Git { origin: GitSource::Remote(url), revision }) => {
                    format!("remote {url} at {revision}")
                }
                Ok(Spec::Release { project, version: None }) => format!("release {project}"),
                Ok(Spec::Release { project, version: Some(version) }) => {
                    format!("release {project} {version}")
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(found.replace(&base, "BASE"), expected);
        };
        check("BASE/r", "directory BASE/r");
        check("BASE/r/with@sign", "directory BASE/r/with@sign");
        check("BASE/r@v1", "local BASE/r at v1");
        check("BASE/r/with@sign@a/b", "local BASE/r/with@sign at a/b");
        check("git+BASE/r", "local BASE/r at HEAD");
        check("git+file://BASE/r@v1", "local BASE/r at v1");
        check("file://BASE/r", "local BASE/r at HEAD");
        check("https://x.example/a/b.git", "remote https://x.example/a/b.git at HEAD");
        check("git+https://me@x.example/a@v1", "remote https://me@x.example/a at v1");
        check("https://me:pw@x.example/a", "remote https://me:pw@x.example/a at HEAD");
        check("pypi:a-b.c_d", "release a-b.c_d");
        check("pypi:x==1.0.post1", "release x 1.0.post1");
        check("BASE/none", "open repository BASE/none: no such file or directory");
        check("BASE/none@v1", "open repository BASE/none@v1: no such file or directory");
        check("", "open repository : it is empty");
        check("pypi:", "open repository pypi:: no name of a project (as in pypi:NAME==VERSION)");
        check(
            "pypi:../x==1",
            "open repository pypi:../x==1: no name of a project (as in pypi:NAME==VERSION)",
        );
        check("pypi:x==a b", "open repository pypi:x==a b: no version (as in pypi:NAME==VERSION)");
        check(
            "git+ssh://me@x.example/a",
            "open repository git+ssh://me@x.example/a: only http, https, git and file are reached \
             (clone it yourself, then name the path)",
        );
        check("ext::sh -c evil", "open repository ext::sh -c evil: no such file or directory");
    }
}
