//! A completion problem: a function of a repository, where it comes from, and the tests that a completion has to pass.
//!
//! Owns the rows of problem files (JSONL). A row that cannot be read is told apart, never an error: data sets of others
//! have such rows.

use graph::CompletionFunction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
        PROBLEM_VERSION => None,
        other => Some(format!("version {other}, not {PROBLEM_VERSION}")),
    })
}
