//! The tests of an issue, run in a copy of its repository with patches applied.
//!
//! A patch under judgement cannot change its tests: files that they name, and pytest's own files, are those of the
//! repository and of the tests' patch again before anything runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use graph::outline;
use tools::{
    Command, Environment, Execution, GitRequest, Host, Limits, PatchCheck, Repository,
    RepositoryError, RunSpec, Sandbox, Status, UnifiedDiff, Workspace, apply_patch, link_above,
    replace_file,
};

use crate::error::EvalError;

/// The repository of an issue at its base, and what its tests run with.
#[derive(Clone, Copy)]
pub struct IssueBed<'a> {
    /// The sandbox of the runs and of git.
    pub sandbox: &'a dyn Sandbox,
    /// The user's machine.
    pub host: &'a Host,
    /// The repository at its base.
    pub repository: &'a Repository,
    /// The interpreter and packages of its tests.
    pub environment: &'a Environment,
    /// The workspace of the runs.
    pub workspace: &'a Workspace,
    /// Bounds on each run.
    pub limits: Limits,
}

/// The tests of an issue.
pub(super) struct IssueTests<'a> {
    /// Their change.
    pub patch: &'a str,
    /// Files and directories for pytest.
    pub paths: &'a [String],
    /// Tests that a patch has to keep.
    pub kept: &'a [String],
}

/// The result of one run.
pub(super) enum TestRun {
    /// The patch under judgement is of another class than one that applies.
    NotApplied(PatchCheck),
    /// It removes a test that has to stay.
    Removed {
        /// The test.
        test: String,
    },
    /// The tests ran.
    Ran(RanTests),
}

/// Tests that ran.
pub(super) struct RanTests {
    /// The tests that passed, or failed as they are expected to.
    pub passing: BTreeSet<String>,
    /// The end of the run.
    pub status: Status,
    /// True if the run was recorded to its end.
    pub complete: bool,
    /// The first failure, in one line.
    pub failure: Option<String>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

impl IssueBed<'_> {
    /// The request for patches of the repository.
    pub(super) fn request(&self) -> GitRequest<'_> {
        GitRequest {
            root: &self.repository.root,
            host: self.host,
            sandbox: self.sandbox,
            scratch: self.workspace.root(),
        }
    }

    /// Runs the tests of an issue with a patch, or without one.
    ///
    /// # Errors
    /// The machine fails, the user interrupts, or the tests' own patch does not apply.
    pub(super) fn run(
        &self,
        tests: &IssueTests<'_>,
        patch: Option<&str>,
        hash_seed: u32,
    ) -> Result<TestRun, EvalError> {
        let copy = self.workspace.copy(self.repository)?;
        let scratch = self.workspace.directory("scratch")?;
        let ran = self.run_in(tests, patch, hash_seed, &copy, &scratch);
        self.workspace.discard(&copy);
        self.workspace.discard(&scratch);
        ran
    }

    fn run_in(
        &self,
        tests: &IssueTests<'_>,
        patch: Option<&str>,
        hash_seed: u32,
        copy: &Path,
        scratch: &Path,
    ) -> Result<TestRun, EvalError> {
        let request = self.request();
        if let Some(patch) = patch {
            let normal = match apply_patch(&request, patch, copy).map_err(of_git)? {
                Ok(normal) => normal,
                Err(class) => return Ok(TestRun::NotApplied(class)),
            };
            let diff = UnifiedDiff::parse(&normal).unwrap_or_default();
            let own = UnifiedDiff::parse(tests.patch).unwrap_or_default();
            let mut files = own.paths();
            files.extend(tests.kept.iter().map(|id| file_of(id)));
            let paths = diff.paths();
            let restored = paths.iter().copied().filter(|path| belongs_to_tests(path, &files));
            let restored: Vec<&str> = restored.collect();
            // A link that the patch makes would lead what is read and written next out of the copy.
            let mut written = files.iter().chain(&restored);
            if let Some(link) = written.find_map(|path| link_above(copy, path)) {
                let reason = format!("{link} becomes a symbolic link");
                return Ok(TestRun::NotApplied(PatchCheck::Outside { reason }));
            }
            if let Some(test) = self.removed(tests.kept, copy) {
                return Ok(TestRun::Removed { test });
            }
            restored.iter().try_for_each(|path| self.restore(path, copy))?;
        }
        if !tests.patch.trim().is_empty()
            && let Err(class) = apply_patch(&request, tests.patch, copy).map_err(of_git)?
        {
            let reason = class.reason().unwrap_or_default();
            let reason = format!("its test_patch: {} {reason}", class.name().replace('_', " "));
            return Err(EvalError::Problem { problem: self.repository.label.clone(), reason });
        }
        let words = ["pytest".to_owned()].into_iter().chain(tests.paths.iter().cloned());
        let execution = tools::execute(&RunSpec {
            sandbox: self.sandbox,
            environment: self.environment,
            command: &Command::from_words(words.collect())?,
            directory: copy,
            scratch,
            limits: self.limits,
            hash_seed,
            variables: &BTreeMap::new(),
            absent: &[],
            max_failures: None,
            link: None,
            around: tools::Around::default(),
        });
        let execution = match execution {
            Ok(execution) => execution,
            Err(error) => Execution::spoiled(&error).ok_or(error)?,
        };
        match execution.status {
            Status::Interrupted => Err(EvalError::Interrupted),
            _ => Ok(TestRun::Ran(RanTests::of(&execution))),
        }
    }

    /// The first test that the repository has and a copy no longer has.
    fn removed(&self, tests: &[String], copy: &Path) -> Option<String> {
        let mut known: BTreeMap<&str, [BTreeSet<String>; 2]> = BTreeMap::new();
        for test in tests {
            let path = file_of(test);
            let [before, after] = known.entry(path).or_insert_with(|| {
                [&self.repository.root, copy].map(|root: &Path| {
                    let file = Some(root.join(path)).filter(|file| !file.is_symlink());
                    let text = file.and_then(|file| fs::read_to_string(file).ok());
                    definitions(&text.unwrap_or_default())
                })
            });
            let name = name_of(test);
            if before.contains(&name) && !after.contains(&name) {
                return Some(test.clone());
            }
        }
        None
    }

    /// Gives a copy the repository's own file again, or its absence.
    fn restore(&self, path: &str, copy: &Path) -> Result<(), EvalError> {
        let (from, into) = (self.repository.root.join(path), copy.join(path));
        let restored = replace_file(&from, &into, copy);
        restored.map_err(|source| of_git(RepositoryError::Read { path: into.clone(), source }))
    }
}

impl RanTests {
    fn of(execution: &Execution) -> Self {
        let holds = execution.cases.iter().filter(|case| {
            let phase = |phase: &tools::PhaseReport| match phase.wasxfail {
                Some(_) => phase.outcome == "skipped",
                None => phase.outcome == "passed",
            };
            !case.phases.is_empty() && case.phases.iter().all(phase)
        });
        let passing = holds.map(|case| case.id.clone()).collect();
        let line = |place: &str, raised: &tools::Raised| {
            let message = raised.message.lines().next().unwrap_or_default();
            let line = format!("{place}: {}: {message}", raised.kind);
            line.chars().take(300).collect::<String>()
        };
        let collected = execution.collection_errors.iter().map(|(place, raised)| (place, raised));
        let cases = execution.cases.iter().flat_map(|case| {
            let failed = case.phases.iter().filter(|phase| phase.outcome == "failed");
            failed.filter_map(|phase| Some((&case.id, phase.raised.as_ref()?)))
        });
        let first = collected.chain(cases).next().map(|(place, raised)| line(place, raised));
        // A run without a case has said why: pytest names wrong options before it names files.
        let mut lines = execution.stderr.lines().filter(|line| !line.trim().is_empty());
        let last = lines.clone().find(|line| line.contains("error")).or_else(|| lines.next_back());
        let failure = first.or_else(|| last.map(str::to_owned));
        Self {
            passing,
            status: execution.status,
            complete: execution.complete,
            failure,
            seconds: execution.wall.as_secs_f64(),
        }
    }
}

/// The file of a test.
pub(super) fn file_of(test: &str) -> &str {
    test.split("::").next().unwrap_or(test)
}

/// The name of a test in its file, without its parameters: `TestClass::test_it`.
fn name_of(test: &str) -> String {
    let names = test.split_once("::").map_or("", |(_, names)| names);
    names.split('[').next().unwrap_or(names).to_owned()
}

/// Returns true if a file is one of the tests', or one by which pytest is told how to run them.
fn belongs_to_tests(path: &str, files: &BTreeSet<&str>) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    files.contains(path) || matches!(name, "conftest.py" | "pytest.ini" | ".pytest.ini")
}

/// The definitions of a file by their names: `TestClass::test_it`.
fn definitions(text: &str) -> BTreeSet<String> {
    let mut above: Vec<String> = Vec::new();
    let mut all = BTreeSet::new();
    for item in outline(text) {
        above.truncate(item.depth as usize);
        above.push(item.name);
        all.insert(above.join("::"));
    }
    all
}

/// A failure of git or of a file, as one of an evaluation.
pub(super) fn of_git(error: RepositoryError) -> EvalError {
    match error {
        RepositoryError::Interrupted => EvalError::Interrupted,
        error => EvalError::Repository(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_definitions_of_their_files() {
        let text = "class TestA:\n    @fixture\n    def test_x(self): pass\n\nif x:\n    def test_y(): pass\n";
        let found = definitions(text);
        assert!(["TestA", "TestA::test_x", "test_y"].iter().all(|name| found.contains(*name)));
        assert_eq!(name_of("tests/test_a.py::TestA::test_x[a::b-1]"), "TestA::test_x");
        assert_eq!(file_of("tests/test_a.py::TestA::test_x"), "tests/test_a.py");
    }

    #[test]
    fn files_of_pytest_belong_to_the_tests() {
        let files = BTreeSet::from(["tests/test_a.py"]);
        for (path, expected) in [
            ("tests/test_a.py", true),
            ("tests/test_b.py", false),
            ("pkg/conftest.py", true),
            ("pytest.ini", true),
            ("pkg/a.py", false),
        ] {
            assert_eq!(belongs_to_tests(path, &files), expected, "{path}");
        }
    }
}
