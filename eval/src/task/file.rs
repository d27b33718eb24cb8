//! The file format of suites.

use std::path::{Component, Path};

use serde::Deserialize;

use super::{Counts, Difficulty, Mutation, Task, TaskError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SuiteFile {
    /// The purpose of the suite; shown nowhere.
    #[serde(rename = "list")]
    _list: Option<String>,
    /// The seed of its draw, for a suite that was collected.
    #[serde(rename = "seed")]
    _seed: Option<u64>,
    /// The tests that its draw dropped, with the reasons.
    #[serde(rename = "dropped", default)]
    _dropped: Vec<DroppedFile>,
    source: Option<String>,
    repo: Option<String>,
    version: Option<String>,
    artifact: Option<String>,
    sha256: Option<String>,
    root: Option<String>,
    python: Option<String>,
    pythonpath: Option<String>,
    lock: Option<String>,
    license: Option<String>,
    #[serde(default)]
    pub(super) task: Vec<TaskFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DroppedFile {
    #[serde(rename = "test")]
    _test: String,
    #[serde(rename = "reason")]
    _reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskFile {
    id: String,
    source: Option<String>,
    repo: Option<String>,
    version: Option<String>,
    artifact: Option<String>,
    sha256: Option<String>,
    root: Option<String>,
    python: Option<String>,
    pythonpath: Option<String>,
    lock: Option<String>,
    license: Option<String>,
    script: Option<String>,
    test: String,
    command: String,
    #[serde(default)]
    passed: u32,
    #[serde(default)]
    skipped: u32,
    #[serde(default)]
    failed: u32,
    #[serde(default)]
    xfailed: u32,
    #[serde(default)]
    calls: u64,
    #[serde(default)]
    functions: u64,
    #[serde(default)]
    files: u64,
    #[serde(default)]
    lines: u64,
    #[serde(default)]
    src_calls: u64,
    #[serde(default)]
    src_functions: u64,
    #[serde(default)]
    src_files: u64,
    #[serde(default)]
    files_with_imports: u64,
    #[serde(default)]
    lines_with_imports: u64,
    #[serde(default)]
    seconds: f64,
    #[serde(default)]
    mutation: Vec<Mutation>,
}

impl TaskFile {
    pub(super) fn resolve(self, suite: &str, shared: &SuiteFile) -> Result<Task, TaskError> {
        let id = self.id;
        let source = self.source.or_else(|| shared.source.clone());
        // Only a release has to be pinned.
        let unpinned = source.as_ref().map(|_| String::new());
        let given = |own: Option<String>, shared: &Option<String>, key: &'static str| {
            let found = own.or_else(|| shared.clone()).or_else(|| unpinned.clone());
            found.ok_or_else(|| TaskError::Missing {
                suite: suite.to_owned(),
                task: id.clone(),
                key,
            })
        };
        let repo = given(self.repo, &shared.repo, "repo")?;
        let version = given(self.version, &shared.version, "version")?;
        let artifact = given(self.artifact, &shared.artifact, "artifact")?;
        let sha256 = given(self.sha256, &shared.sha256, "sha256")?;
        let root = given(self.root, &shared.root, "root")?;
        let python = given(self.python, &shared.python, "python")?;
        let pythonpath = given(self.pythonpath, &shared.pythonpath, "pythonpath")?;
        let is_release = source.is_none();
        let lock = self.lock.or_else(|| shared.lock.clone());
        let wrong = |key, value: &str, problem| Err(value_error(suite, &id, key, value, problem));
        let pinned = source.is_none() || !sha256.is_empty();
        if pinned && (sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            return wrong("sha256", &sha256, "is no hex sha-256");
        }
        if self.command.trim().is_empty() {
            return wrong("command", &self.command, "is empty");
        }
        let inside = [("root", &root), ("pythonpath", &pythonpath)];
        let files = self.mutation.iter().map(|mutation| ("mutation.file", &mutation.file));
        let beside = lock.iter().map(|lock| ("lock", lock));
        let beside = beside.chain(self.script.iter().map(|script| ("script", script)));
        for (key, path) in inside.into_iter().chain(files).chain(beside) {
            for part in path.split(':') {
                if !stays_inside(part) {
                    return wrong(key, path, "leads outside");
                }
            }
        }
        if self.mutation.iter().any(|mutation| mutation.old == mutation.new) {
            return wrong("mutation.new", &self.mutation[0].new, "changes nothing");
        }
        Ok(Task {
            suite: suite.to_owned(),
            source,
            repo,
            version,
            artifact,
            sha256: sha256.to_ascii_lowercase(),
            root,
            python,
            // A repository of no release has the entries of its layout, where it names none.
            pythonpath: Some(pythonpath.as_str())
                .filter(|entries| is_release || !entries.is_empty())
                .into_iter()
                .flat_map(|entries| entries.split(':'))
                .map(|entry| if entry == "." { String::new() } else { entry.to_owned() })
                .collect(),
            lock,
            license: self.license.or_else(|| shared.license.clone()),
            script: self.script,
            test: self.test,
            command: self.command,
            expected: Counts {
                passed: self.passed,
                skipped: self.skipped,
                failed: self.failed,
                xfailed: self.xfailed,
            },
            difficulty: Difficulty {
                calls: self.calls,
                functions: self.functions,
                files: self.files,
                lines: self.lines,
                src_calls: self.src_calls,
                src_functions: self.src_functions,
                src_files: self.src_files,
                files_with_imports: self.files_with_imports,
                lines_with_imports: self.lines_with_imports,
            },
            seconds: self.seconds,
            mutations: self.mutation,
            id,
        })
    }
}

pub(super) fn stays_inside(path: &str) -> bool {
    Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

pub(super) fn value_error(
    suite: &str,
    task: &str,
    key: &'static str,
    value: &str,
    problem: &'static str,
) -> TaskError {
    TaskError::Value {
        suite: suite.to_owned(),
        task: task.to_owned(),
        key,
        value: value.to_owned(),
        problem,
    }
}
