//! Tasks and the suites that list them, read from TOML.
//!
//! A task names its command and its repository; the caller provides the repository and its
//! environment. Reading is strict: an unknown key is an error, so that a misspelt one is never
//! ignored.

mod file;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use self::file::{SuiteFile, value_error};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tasks that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suite {
    /// Its name: the file's, without extension.
    pub name: String,
    /// Its tasks, in the file's order.
    pub tasks: Vec<Task>,
}

/// One command on one snapshot of a repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Unique in its suite.
    pub id: String,
    /// The suite's name; empty for a task that comes from the command line.
    pub suite: String,
    /// The repository that replaces a release: a directory, absolute, or a git repository at a
    /// revision.
    pub source: Option<String>,
    /// The package, as its index names it.
    pub repo: String,
    /// Its version.
    pub version: String,
    /// File name of the archive that holds it.
    pub artifact: String,
    /// Hex SHA-256 of the archive.
    pub sha256: String,
    /// Directory inside the unpacked archive; `.` for its top.
    pub root: String,
    /// Interpreter version: `3.11`.
    pub python: String,
    /// Entries of `PYTHONPATH` relative to the root; `""` is the root itself.
    pub pythonpath: Vec<String>,
    /// Lock file, relative to the suite's file.
    pub lock: Option<String>,
    /// The licence of the package, as its metadata name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// A file that is put into the root before anything is run, relative to the suite's file.
    pub script: Option<String>,
    /// Base test: its node id without parameters.
    pub test: String,
    /// The command, run in the root.
    pub command: String,
    /// Outcomes over all cases of the test, as the suite's author saw them.
    pub expected: Counts,
    /// The difficulty that the author measured.
    pub difficulty: Difficulty,
    /// Seconds that the command took when the suite was made.
    pub seconds: f64,
    /// Changes to the repository's files before anything is run.
    pub mutations: Vec<Mutation>,
}

/// Numbers of cases by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Passed.
    pub passed: u32,
    /// Skipped.
    pub skipped: u32,
    /// Failed, or with an error in setup or teardown.
    pub failed: u32,
    /// Expected to fail, and did.
    pub xfailed: u32,
}

/// Measured below the repository's root, import time excluded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difficulty {
    /// Function calls.
    pub calls: u64,
    /// Different functions called.
    pub functions: u64,
    /// Files executed.
    pub files: u64,
    /// Lines executed.
    pub lines: u64,
    /// Calls outside test files.
    pub src_calls: u64,
    /// Functions outside test files.
    pub src_functions: u64,
    /// Files that are no test files.
    pub src_files: u64,
    /// Files, import time included.
    pub files_with_imports: u64,
    /// Lines, import time included.
    pub lines_with_imports: u64,
}

/// One exact replacement in a file of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    /// Path relative to the root.
    pub file: String,
    /// Text that stands in it exactly once.
    pub old: String,
    /// The text that replaces it.
    pub new: String,
}

/// Why a suite or task cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The suite's file cannot be read.
    #[error("read suite {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The suite's file is not what a suite is.
    #[error("read suite {name}: {source}")]
    Syntax {
        /// The suite.
        name: String,
        /// The cause, with its position.
        source: Box<toml::de::Error>,
    },
    /// A key that neither the task nor its suite gives.
    #[error("suite {suite}, task {task}: no {key} (give it in the task or at the top)")]
    Missing {
        /// The suite.
        suite: String,
        /// The task.
        task: String,
        /// The key.
        key: &'static str,
    },
    /// There is nothing to do.
    #[error("suite {name}: it has no task (a draw from which all was dropped leaves such a file)")]
    Empty {
        /// The suite.
        name: String,
    },
    /// A value that cannot be used.
    #[error("suite {suite}, task {task}: {key} {value:?} {problem}")]
    Value {
        /// The suite.
        suite: String,
        /// The task.
        task: String,
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// Why that is wrong.
        problem: &'static str,
    },
    /// A file to change cannot be read or written.
    #[error("mutate {path}: {source}")]
    Mutate {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The repository has a file of the name of the script.
    #[error("add {path}: the repository has such a file")]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// The text to change does not stand in the file exactly once.
    #[error("mutate {path}: the old text stands in it {found} times, not once")]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// The number of occurrences.
        found: usize,
    },
}

impl Suite {
    /// Reads a suite's file.
    ///
    /// # Errors
    /// When it cannot be read, or is no suite.
    pub fn read(path: &Path) -> Result<Self, TaskError> {
        let text = fs::read_to_string(path)
            .map_err(|source| TaskError::Read { path: path.to_path_buf(), source })?;
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
        let mut suite = Self::parse(&name, &text).map_err(|error| match error {
            TaskError::Syntax { source, .. } => {
                TaskError::Syntax { name: path.display().to_string(), source }
            }
            other => other,
        })?;
        let beside = path.parent().unwrap_or(Path::new(""));
        for source in suite.tasks.iter_mut().filter_map(|task| task.source.as_mut()) {
            // A directory is named from where the suite is, as a lock is; anything else is no path.
            let there = beside.join(source.as_str());
            if there.is_dir() {
                *source = there.to_string_lossy().into_owned();
            }
        }
        Ok(suite)
    }

    /// Reads a suite from text.
    ///
    /// # Errors
    /// When it is no suite.
    pub fn parse(name: &str, text: &str) -> Result<Self, TaskError> {
        let mut file: SuiteFile = toml::from_str(text)
            .map_err(|source| TaskError::Syntax { name: name.to_owned(), source: source.into() })?;
        let entries = std::mem::take(&mut file.task);
        if entries.is_empty() {
            return Err(TaskError::Empty { name: name.to_owned() });
        }
        let mut tasks = Vec::with_capacity(entries.len());
        let mut ids = BTreeSet::new();
        for entry in entries {
            let task = entry.resolve(name, &file)?;
            if !ids.insert(task.id.clone()) {
                return Err(value_error(name, &task.id, "id", &task.id, "is used twice"));
            }
            tasks.push(task);
        }
        Ok(Self { name: name.to_owned(), tasks })
    }
}

impl Task {
    /// A task from the command line: no suite, nothing known of it beforehand.
    pub fn of_command(repository: &str, command: &str) -> Self {
        Self {
            id: command.to_owned(),
            suite: String::new(),
            source: None,
            repo: repository.to_owned(),
            version: String::new(),
            artifact: String::new(),
            sha256: String::new(),
            root: ".".to_owned(),
            python: String::new(),
            pythonpath: Vec::new(),
            lock: None,
            license: None,
            script: None,
            test: String::new(),
            command: command.to_owned(),
            expected: Counts::default(),
            difficulty: Difficulty::default(),
            seconds: 0.0,
            mutations: Vec::new(),
        }
    }

    /// Applies the task's mutations to a writable copy of its repository, and puts its script into it.
    ///
    /// # Errors
    /// When a file cannot be changed, or the old text does not stand in it exactly once, or the
    /// repository has a file of the script's name.
    pub fn mutate(&self, copy: &Path, script: Option<&Path>) -> Result<(), TaskError> {
        if let (Some(name), Some(script)) = (&self.script, script) {
            let path = copy.join(Path::new(name).file_name().unwrap_or_default());
            if path.exists() {
                return Err(TaskError::Taken { path });
            }
            fs::copy(script, &path).map_err(|source| TaskError::Mutate { path, source })?;
        }
        for mutation in &self.mutations {
            let path = copy.join(&mutation.file);
            let text = fs::read_to_string(&path)
                .map_err(|source| TaskError::Mutate { path: path.clone(), source })?;
            let found = text.matches(&mutation.old).count();
            if found != 1 {
                return Err(TaskError::Ambiguous { path, found });
            }
            fs::write(&path, text.replacen(&mutation.old, &mutation.new, 1))
                .map_err(|source| TaskError::Mutate { path, source })?;
        }
        Ok(())
    }
}
