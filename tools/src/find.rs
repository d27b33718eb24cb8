//! Files by their paths: those that fit a pattern, and the tests of a source file or the sources of a test.
//!
//! Nothing is read but names and the graph's imports; links are not followed.

use std::{fs, path::Path};

use graph::{FileId, Graph};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
};

/// Paths of one reply at most.
const LISTED: usize = 200;
/// Files that are looked at at most.
const LOOKED: usize = 200_000;

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Report {
    found: usize,
    left_out: usize,
    paths: Vec<String>,
}

impl Report {
    fn of(mut paths: Vec<String>) -> Self {
        let found = paths.len();
        paths.truncate(LISTED);
        Self { found, left_out: found - paths.len(), paths }
    }
}

/// Finds files by a pattern.
#[derive(Debug, Default)]
pub struct FindFilesTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pattern {
    pattern: String,
}

impl Tool for FindFilesTool {
    fn name(&self) -> &'static str {
        "find_files"
    }

    fn group(&self) -> Group {
        Group::Search
    }

    fn schema(&self) -> Value {
        schema::<Pattern>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let Pattern { pattern } = arguments(given)?;
        let texts = session.repository.texts();
        let mut paths = Vec::new();
        let mut looked = 0;
        walk(texts.root(), "", &mut looked, &mut |path| {
            if !texts.is_apart(path) {
                paths.push(path.to_owned());
            }
        });
        Reply::of(&Report::of(fitting(paths, &pattern)?))
    }
}

/// Calls `found` with the path of each regular file below a directory, in order.
fn walk(root: &Path, under: &str, looked: &mut usize, found: &mut impl FnMut(&str)) {
    let Ok(entries) = fs::read_dir(root.join(under)) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        *looked += 1;
        let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
            continue;
        };
        if *looked > LOOKED || name == ".git" {
            continue;
        }
        let path = if under.is_empty() { name } else { format!("{under}/{name}") };
        if kind.is_dir() {
            walk(root, &path, looked, found);
        } else if kind.is_file() {
            found(&path);
        }
    }
}

/// The paths that a pattern fits: `*` and `?` stay within a name, `**` goes over any number of directories. A
/// pattern without a slash fits names anywhere.
fn fitting(mut paths: Vec<String>, pattern: &str) -> Result<Vec<String>, ToolError> {
    let anywhere = if pattern.contains('/') { "" } else { "(.*/)?" };
    let escaped = regex::escape(pattern.trim_start_matches("./"));
    let text = escaped
        .replace(r"\*\*/", "(.*/)?")
        .replace(r"\*\*", ".*")
        .replace(r"\*", "[^/]*")
        .replace(r"\?", "[^/]");
    let expression = Regex::new(&format!("^{anywhere}{text}$"))
        .map_err(|error| Problem::BadArguments.because(format!("parse pattern: {error}")))?;
    paths.retain(|path| expression.is_match(path));
    Ok(paths)
}

/// Finds the tests of a source file, and the sources of a test file.
#[derive(Debug, Default)]
pub struct FindTestsTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Of {
    path: String,
}

impl Tool for FindTestsTool {
    fn name(&self) -> &'static str {
        "find_tests"
    }

    fn group(&self) -> Group {
        Group::Search
    }

    fn schema(&self) -> Value {
        schema::<Of>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let Of { path } = arguments(given)?;
        let graph = session.graph();
        let found = counterparts(&graph, path.trim_start_matches("./"));
        let missing = || Problem::NotFound.because(format!("not found: no Python file {path}"));
        Reply::of(&Report::of(found.ok_or_else(missing)?))
    }
}

/// The files that stand opposite one: its tests, or what it tests; those with its name first.
fn counterparts(graph: &Graph, path: &str) -> Option<Vec<String>> {
    let at = graph.modules.iter().position(|module| module.path == path)?;
    let at = FileId(u32::try_from(at).ok()?);
    let is_from_test = is_test(path);
    let edges = graph.imports.iter().filter_map(|edge| match is_from_test {
        true => (edge.from == at).then_some(edge.to),
        false => (edge.to == at).then_some(edge.from),
    });
    let alike = (0u32..).map(FileId).zip(&graph.modules);
    let alike = alike.filter(|(_, other)| subject(&other.path) == subject(path)).map(|(id, _)| id);
    let mut found: Vec<(bool, String)> = edges
        .chain(alike)
        .map(|id| graph.module(id).path.clone())
        .filter(|other| is_test(other) != is_from_test)
        .map(|other| (subject(&other) != subject(path), other))
        .collect();
    found.sort();
    found.dedup();
    Some(found.into_iter().map(|(_, path)| path).collect())
}

fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("test_") || name.ends_with("_test.py")
}

/// The name of what a file tests or defines: `core` of `test_core.py`, `core_test.py` and `core.py`.
fn subject(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".py");
    name.trim_start_matches("test_").trim_end_matches("_test")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_paths() {
        let check = |pattern: &str, expected: &[&str]| {
            let paths = ["a.py", "pkg/a.py", "pkg/in/b.py", "pkg/c.txt"].map(str::to_owned);
            assert_eq!(fitting(paths.to_vec(), pattern).unwrap(), expected, "{pattern}");
        };
        check("*.py", &["a.py", "pkg/a.py", "pkg/in/b.py"]);
        check("pkg/*.py", &["pkg/a.py"]);
        check("pkg/**/*.py", &["pkg/a.py", "pkg/in/b.py"]);
        check("**/c.???", &["pkg/c.txt"]);
        check("./a.py", &["a.py"]);
    }

    #[test]
    fn tests_and_sources_are_counterparts() {
        let graph = Graph::of_sources([
            ("pkg/core.py", ""),
            ("pkg/rates.py", ""),
            ("tests/test_core.py", "import pkg.core\nimport pkg.rates\n"),
            ("tests/test_other.py", "import pkg.core\n"),
        ]);
        let check = |path: &str, expected: &[&str]| {
            assert_eq!(counterparts(&graph, path).unwrap(), expected, "{path}");
        };
        check("pkg/core.py", &["tests/test_core.py", "tests/test_other.py"]);
        check("tests/test_core.py", &["pkg/core.py", "pkg/rates.py"]);
        assert_eq!(counterparts(&graph, "pkg/none.py"), None);
    }
}
