//! Suites of issues: for each the words, and the pins of the two releases between which it was fixed.
//!
//! A suite has no code of others: the true patch and the changed tests are made from the two releases by the files that
//! the suite names.
//!
//! ```toml
//! python = "3.12"
//! lock = "locks/pytest.txt"
//!
//! [[issue]]
//! id = "pkg__pkg-1.0.0"
//! package = "pkg"
//! licence = "MIT"
//! before = { version = "1.0.0", artifact = "pkg-1.0.0.tar.gz", sha256 = "..." }
//! after = { version = "1.0.1", artifact = "pkg-1.0.1.tar.gz", sha256 = "..." }
//! patch = ["pkg/core.py"]
//! tests = ["tests/test_core.py"]
//! run = ["tests"]
//! fail_to_pass = ["tests/test_core.py::test_of_the_issue"]
//! pass_to_pass = 40
//! problem_statement = "..."
//! ```

use std::collections::BTreeSet;

use serde::Deserialize;
use tools::is_inside;

use crate::task::TaskError;

/// Issues and what their tests need.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixSuite {
    /// The version of Python: `3.12`.
    pub python: String,
    /// The lock file of the tests, relative to the suite's file.
    pub lock: String,
    /// The issues.
    #[serde(rename = "issue")]
    pub issues: Vec<PinnedFix>,
}

/// An issue, and the two releases between which it was fixed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedFix {
    /// The id of its row.
    pub id: String,
    /// The package of both releases.
    pub package: String,
    /// Its licence.
    pub licence: String,
    /// The release with the issue.
    pub before: PinnedRelease,
    /// The release without it.
    pub after: PinnedRelease,
    /// The files whose change is the true patch.
    pub patch: Vec<String>,
    /// The files whose change is that of the tests.
    pub tests: Vec<String>,
    /// Files and directories that pytest executes; if empty, those of `tests`.
    #[serde(default)]
    pub run: Vec<String>,
    /// The tests that only pass with the true patch.
    pub fail_to_pass: Vec<String>,
    /// The number of tests that pass with and without it.
    pub pass_to_pass: usize,
    /// A lock file in the place of the suite's.
    pub lock: Option<String>,
    /// The text of the issue.
    pub problem_statement: String,
}

/// One release, by its file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedRelease {
    /// The version.
    pub version: String,
    /// The name of the file in the index.
    pub artifact: String,
    /// Its sha256, hexadecimal.
    pub sha256: String,
}

impl FixSuite {
    /// Reads a suite from text.
    ///
    /// # Errors
    /// The text is not TOML of this form, has no issue, repeats an id, or has a value that cannot be used.
    pub fn parse(name: &str, text: &str) -> Result<Self, TaskError> {
        let suite: Self = toml::from_str(text)
            .map_err(|source| TaskError::Syntax { name: name.to_owned(), source: source.into() })?;
        if suite.issues.is_empty() {
            return Err(TaskError::Empty { name: name.to_owned() });
        }
        let mut ids = BTreeSet::new();
        for issue in &suite.issues {
            if let Some((key, value, problem)) = issue.fault() {
                return Err(TaskError::Value {
                    suite: name.to_owned(),
                    task: issue.id.clone(),
                    key,
                    value,
                    problem,
                });
            }
            if !ids.insert(&issue.id) {
                return Err(TaskError::Value {
                    suite: name.to_owned(),
                    task: issue.id.clone(),
                    key: "id",
                    value: issue.id.clone(),
                    problem: "is used twice",
                });
            }
        }
        Ok(suite)
    }
}

impl PinnedFix {
    /// The lock file of its tests.
    pub fn lock<'a>(&'a self, suite: &'a FixSuite) -> &'a str {
        self.lock.as_deref().unwrap_or(&suite.lock)
    }

    /// The files and directories for pytest.
    pub(super) fn paths(&self) -> &[String] {
        match self.run.as_slice() {
            [] => &self.tests,
            paths => paths,
        }
    }

    /// A key, its value, and the reason why that cannot be used.
    fn fault(&self) -> Option<(&'static str, String, &'static str)> {
        for (key, release) in [("before", &self.before), ("after", &self.after)] {
            let digits = &release.sha256;
            if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Some((key, digits.clone(), "is no hex sha-256"));
            }
        }
        for (key, paths) in [("patch", &self.patch), ("tests", &self.tests)] {
            if paths.is_empty() {
                return Some((key, String::new(), "names no file"));
            }
        }
        let each = [("patch", &self.patch), ("tests", &self.tests), ("run", &self.run)];
        for (key, path) in each.iter().flat_map(|(key, paths)| paths.iter().map(move |p| (key, p)))
        {
            if !is_inside(path) {
                return Some((key, path.clone(), "leads outside"));
            }
        }
        if let Some(path) = self.patch.iter().find(|path| self.tests.contains(path)) {
            return Some(("patch", path.clone(), "is a file of the tests as well"));
        }
        let texts = [("id", &self.id), ("package", &self.package)];
        let statement = [("problem_statement", &self.problem_statement)];
        let texts = texts.into_iter().chain(statement);
        texts
            .into_iter()
            .find_map(|(key, text)| text.trim().is_empty().then(|| (key, text.clone(), "is empty")))
    }
}

impl PinnedRelease {
    /// Returns the file in the package index, with its hash in lower case.
    pub fn file(&self) -> tools::Artifact {
        tools::Artifact { file: self.artifact.clone(), sha256: self.sha256.to_ascii_lowercase() }
    }
}
