//! Runs a command, on the original or on a gist, and records what each of its cases did.
//!
//! It reports facts; whether they are right is for the `eval` crate to judge.

mod launch;
mod near;
mod record;
mod usable;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    candidate::Link,
    command::Command,
    environment::Environment,
    sandbox::{Limits, Sandbox, SandboxError, Status},
};

pub(crate) use launch::{
    RESULTS, RunRecording, SYSTEM_PATH, entry_point, make_empty, prepare, pythonpath, run,
    scratch_error, write,
};
pub(crate) use record::open_regular;
pub use usable::{Unusable, usable, usable_trace};

/// A command to run, and everything that it runs with.
#[derive(Clone, Copy)]
pub struct RunSpec<'a> {
    /// The sandbox that starts it.
    pub sandbox: &'a dyn Sandbox,
    /// The interpreter and its packages.
    pub environment: &'a Environment,
    /// The command.
    pub command: &'a Command,
    /// The working directory: a copy of the repository, or a candidate. Absolute. It may be written
    /// to.
    pub directory: &'a Path,
    /// For the recorder's files and the program's temporary ones. Absolute, outside of `directory`;
    /// made where it is missing, emptied of what an earlier run recorded.
    pub scratch: &'a Path,
    /// When it is stopped.
    pub limits: Limits,
    /// `PYTHONHASHSEED`.
    pub hash_seed: u32,
    /// Environment variables besides the fixed ones; the command's own win over them.
    pub variables: &'a BTreeMap<String, String>,
    /// Top-level packages that the program has to do without, though pytest or a plugin of it may need
    /// its own; empty for an original.
    pub absent: &'a [String],
    /// Failed phases of tests behind which pytest is told to stop, and of which it shows no source;
    /// without, it runs them all.
    pub max_failures: Option<usize>,
    /// Modules of the repository that a gist takes the place of; nothing for an original or a candidate.
    pub link: Option<&'a Link>,
    /// The surroundings of the program, and the recording of its access to them.
    pub around: Around,
}

/// The surroundings of a program, and the recording of its access to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Around {
    /// The environment variables.
    pub shell: Shell,
    /// Record which files below its directory the program opens.
    pub opens: bool,
    /// Record the values that decided a failure.
    pub decides: bool,
}

/// The environment variables that a program finds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shell {
    /// The same for every run: no terminal, one hash seed, one time zone. Without a terminal Python and its libraries take
    /// 80 columns and no colours by themselves; a variable that said so would lead programs where a shell does not.
    #[default]
    Fixed,
    /// The variables of an ordinary shell: the kind of a terminal, a language, a path, a home.
    Ordinary,
    /// The same without a terminal.
    Bare,
}

/// Why a command could not be run. Whatever the command itself does is an [`Execution`].
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The scratch directory cannot be used.
    #[error("use scratch {path}: {source}")]
    Scratch {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The interpreter cannot import pytest.
    #[error("interpreter {python} has no pytest (install it there, or give another interpreter)")]
    NoPytest {
        /// The interpreter.
        python: PathBuf,
    },
    /// A console script that is not beside the interpreter, or is no Python.
    #[error("{name} is no Python program beside {python} (or of the repository)")]
    NoProgram {
        /// The first word of the command.
        name: String,
        /// The interpreter.
        python: PathBuf,
    },
    /// The interpreter ended before it ran anything.
    #[error("interpreter {python} does not start: {reason}")]
    Interpreter {
        /// The interpreter.
        python: PathBuf,
        /// The end of what it printed.
        reason: String,
    },
}

/// Runs a command to its end and records the result.
///
/// The environment has only a few fixed variables. Each test is recorded as soon as it ends, so
/// that a crash, `os._exit` or a limit leaves the earlier records.
///
/// # Errors
/// The command could not be started at all.
#[tracing::instrument(name = "run", level = "debug", skip_all)]
pub fn execute(spec: &RunSpec<'_>) -> Result<Execution, ExecuteError> {
    run::<()>(spec, None)
}

/// Reads a record of a run, whoever wrote it.
///
/// # Errors
/// When the file cannot be read.
#[cfg(feature = "fuzzing")]
pub fn parse_results(path: &Path) -> io::Result<()> {
    record::parse(path)
}

/// Returns the author's message of a failed assertion.
///
/// pytest adds an explanation in test modules, and so in a gist, but not in a library. The
/// explanation is removed.
pub fn own_words(message: &str) -> &str {
    match message.find("\nassert ") {
        _ if message.starts_with("assert ") => "",
        Some(at) => &message[..at],
        None => message,
    }
}

/// The result of one run of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// The way in which the process ended.
    pub status: Status,
    /// Node ids that pytest collected, in order; empty for other commands.
    pub collected: Vec<String>,
    /// The ids of items other than functions and examples that a plugin collected, such as a
    /// linter's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Errors of collection: (node id, exception).
    pub collection_errors: Vec<(String, Raised)>,
    /// The report of each test, in order of start.
    pub cases: Vec<CaseReport>,
    /// True if the recorder observed the run to its end (`os._exit` leaves it false).
    pub complete: bool,
    /// Standard output of the process, lossily decoded.
    pub stdout: String,
    /// Standard error of the process, lossily decoded.
    pub stderr: String,
    /// Bytes of both streams that were dropped at the limit.
    pub dropped: u64,
    /// For commands without pytest: what the program raised at its top level.
    pub raised: Option<Raised>,
    /// Errors that were listened for, see [`caught`](crate::caught); else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caught: Vec<Raised>,
    /// The exceptions that ended the command, its start or its collection, with what they came of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<Ended>,
    /// Files below the directory that the program opened, where that was asked for; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opened: Vec<OpenedFile>,
    /// The values that decided its failures, where they were asked for; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<DecidedFailure>,
    /// Wall-clock time.
    pub wall: Duration,
    /// CPU time.
    pub cpu: Duration,
}

impl Execution {
    /// Phases of its cases that failed.
    pub(crate) fn failures(&self) -> usize {
        let phases = self.cases.iter().flat_map(|case| &case.phases);
        phases.filter(|phase| phase.outcome == "failed").count()
    }

    /// Returns the execution of a program whose record claims that it could not be started, if the
    /// same interpreter is known to start such programs: then the program forged the record. `None`
    /// if the machine failed.
    pub fn spoiled(error: &ExecuteError) -> Option<Execution> {
        match error {
            ExecuteError::NoPytest { .. }
            | ExecuteError::NoProgram { .. }
            | ExecuteError::Interpreter { .. } => {}
            ExecuteError::Sandbox(_) | ExecuteError::Scratch { .. } => return None,
        }
        Some(Execution {
            status: Status::Exited(1),
            collected: Vec::new(),
            checks: Vec::new(),
            collection_errors: Vec::new(),
            cases: Vec::new(),
            complete: false,
            stdout: String::new(),
            stderr: error.to_string(),
            dropped: 0,
            raised: None,
            caught: Vec::new(),
            ended: Vec::new(),
            opened: Vec::new(),
            decided: Vec::new(),
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
        })
    }
}

/// The values that decided a failure: the operands of the `assert` that failed, and of the conditions around the statement
/// that raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedFailure {
    /// The id of the case; empty for a program.
    pub case: String,
    /// Its phase: `setup`, `call` or `teardown`; empty for a program.
    pub when: String,
    /// The values, in the order of their expressions.
    pub values: Vec<String>,
}

/// A file that a program opened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OpenedFile {
    /// Relative to the directory of the run.
    pub path: String,
    /// True if the file existed.
    pub found: bool,
}

/// One case of a pytest run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// pytest's node id.
    pub id: String,
    /// Setup, call and teardown, those that ran.
    pub phases: Vec<PhaseReport>,
}

/// One phase of a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseReport {
    /// `setup`, `call` or `teardown`.
    pub when: String,
    /// `passed`, `failed` or `skipped`.
    pub outcome: String,
    /// The reason, for a case that was expected to fail.
    pub wasxfail: Option<String>,
    /// The exception; for a skip, its type and reason.
    pub raised: Option<Raised>,
    /// Captured standard output of this phase.
    pub stdout: String,
    /// Captured standard error of this phase.
    pub stderr: String,
    /// Captured log of this phase.
    pub log: String,
}

/// The lines that an exception passed which ended the command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// File as compiled and line, outermost first.
    pub lines: Vec<(String, u32)>,
    /// The file that could not be compiled, and the line that says why.
    pub source: Option<(String, u32)>,
}

/// An exception as it was raised.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// Qualified name of its type, without the module.
    pub kind: String,
    /// Module of its type.
    pub module: String,
    /// `str()` of the exception.
    pub message: String,
    /// Innermost frames last: file as compiled, line, function; at most 20.
    pub frames: Vec<(String, u32, String)>,
    /// The exceptions that its traceback shows besides it: its cause, or the one that was handled, theirs, and the members
    /// of groups; at most 20. They have none of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Raised>,
}

impl Raised {
    /// Returns the types and messages of the exceptions that its traceback shows besides it, one below the other.
    pub fn shown_text(&self) -> String {
        let shown = self.shown.iter();
        let texts = shown.map(|one| format!("{}: {}", one.kind, one.own_message()));
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Returns its message; of a failed assertion that of its author, as only pytest adds an explanation.
    pub fn own_message(&self) -> &str {
        match self.kind.as_str() {
            "AssertionError" => own_words(&self.message),
            _ => &self.message,
        }
    }
}
