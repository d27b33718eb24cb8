//! A completion problem: a function of a repository, where it comes from, and the tests that a completion has to pass.
//!
//! Owns the rows of problem files (JSONL). A row that cannot be read is told apart, never an error: data sets of others
//! have such rows.

use graph::CompletionFunction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::is_inside;

use crate::json_lines::{MalformedRow, read_json_lines};

/// The version of problem rows.
pub const PROBLEM_VERSION: u32 = 1;

/// A function that a model is to write, with its tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct CompletionProblem {
    /// [`PROBLEM_VERSION`].
    pub version: u32,
    /// `LABEL/PATH::NAME`, unique within a file.
    pub id: String,
    /// The origin of the function.
    pub source: ProblemSource,
    /// The function, its dependency set and its contexts.
    pub function: CompletionFunction,
    /// The tests that a completion has to pass; `None` if no tests are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<ProblemTests>,
}

/// The repository of a problem.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemSource {
    /// As `gistify` opens it: a directory, `PATH@REV`, `git+URL@REV` or `pypi:NAME==VERSION`.
    pub repository: String,
    /// The commit or version; empty for a plain directory.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// The licence that the repository's metadata or its licence file names; empty where neither does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub licence: String,
    /// The version of Python that the tests ran on: `3.11`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub python: String,
}

/// The tests of a problem, as they ran on the original.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemTests {
    /// pytest's ids of the cases; each passed on the original in every run.
    pub cases: Vec<String>,
    /// A test file that is no part of the repository and is written into each copy before a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<TestFile>,
    /// Wall-clock seconds of the cases' run on the original.
    pub seconds: f64,
    /// Lines of the function that the cases execute.
    pub covered: u32,
    /// Executable lines of the function.
    pub lines: u32,
}

/// A generated test file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestFile {
    /// Its path, relative to the repository.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl ProblemTests {
    /// The share of the function's executable lines that the cases execute; 0 for a function without any.
    pub fn coverage(&self) -> f64 {
        if self.lines == 0 { 0.0 } else { f64::from(self.covered) / f64::from(self.lines) }
    }

    /// Paths of the files that the cases stand in, sorted.
    pub fn paths(&self) -> Vec<&str> {
        let mut paths: Vec<&str> =
            self.cases.iter().map(|case| case.split("::").next().unwrap_or(case)).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}

impl CompletionProblem {
    /// A problem of a function, without tests.
    pub fn new(label: &str, source: ProblemSource, function: CompletionFunction) -> Self {
        let id = format!("{label}/{}::{}", function.path, function.name);
        Self { version: PROBLEM_VERSION, id, source, function, tests: None }
    }

    /// The first of its paths that leads out of the repository, or that pytest would read as an option.
    ///
    /// ```text
    /// ../other.py    /etc/hosts    --rootdir=x    refused
    /// ```
    pub(super) fn path_outside(&self) -> Option<&str> {
        let tests = self.tests.iter();
        let of_tests = tests.flat_map(|tests| {
            let file = tests.file.iter().map(|file| file.path.as_str());
            file.chain(tests.paths())
        });
        let mut paths = std::iter::once(self.function.path.as_str()).chain(of_tests);
        paths.find(|path| !is_inside(path) || path.starts_with('-'))
    }

    /// Its row in a problem file.
    pub fn row(&self) -> String {
        serde_json::to_string(self).expect("a problem is plain data")
    }
}

/// Reads a problem file: its problems, and its rows that are none. Empty lines are no rows.
pub fn read_problems(text: &str) -> (Vec<CompletionProblem>, Vec<MalformedRow>) {
    let mut ids = std::collections::BTreeSet::new();
    read_json_lines(text, |problem: &CompletionProblem| match problem.version {
        PROBLEM_VERSION if !ids.insert(problem.id.clone()) => {
            Some(format!("the id {} is another row's", problem.id))
        }
        PROBLEM_VERSION => problem
            .path_outside()
            .map(|path| format!("{}: the path {path:?} is not inside the repository", problem.id)),
        other => Some(format!("version {other}, not {PROBLEM_VERSION}")),
    })
}

#[cfg(test)]
mod tests {
    use graph::{ExtractionOptions, extract_of_sources};

    use super::*;

    fn problem() -> CompletionProblem {
        let source = [("m.py", "def f(): return 1\n")];
        let found = extract_of_sources(source, &ExtractionOptions::default());
        let function = found.functions.into_iter().next().unwrap();
        let mut problem = CompletionProblem::new("p", ProblemSource::default(), function);
        let file = TestFile { path: "tests/test_f.py".to_owned(), text: String::new() };
        let cases = vec!["tests/test_f.py::test".to_owned()];
        problem.tests = Some(ProblemTests { cases, file: Some(file), ..ProblemTests::default() });
        problem
    }

    #[test]
    fn paths_outside_of_the_repository_make_no_problem() {
        assert_eq!(read_problems(&problem().row()), (vec![problem()], Vec::new()));
        for path in ["../m.py", "/tmp/m.py", "a/../../m.py", ".git/hooks/pre-commit", "", "-x"] {
            type Change = fn(&mut CompletionProblem, &str);
            let changes: [Change; 3] = [
                |problem, path| problem.function.path = path.to_owned(),
                |problem, path| {
                    problem.tests.as_mut().unwrap().file.as_mut().unwrap().path = path.to_owned();
                },
                |problem, path| problem.tests.as_mut().unwrap().cases[0] = format!("{path}::test"),
            ];
            for change in changes {
                let mut problem = problem();
                change(&mut problem, path);
                let (rows, malformed) = read_problems(&problem.row());
                assert!(rows.is_empty(), "{path}");
                let expected = format!("p/m.py::f: the path {path:?} is not inside the repository");
                assert_eq!(malformed[0].reason, expected);
            }
        }
    }
}
