//! Decides if a gist can reproduce a run of the original.
//!
//! A command that fails is usable: the failure then has to be the same. A command that collects
//! nothing, does not end or is killed is not.

use std::time::Duration;

use graph::Trace;

use super::{ExecuteError, Execution, near::near_tests};
use crate::{command::Command, normalize::INTERNAL, repository::Repository, sandbox::Status};

/// Why a command gives nothing to reproduce.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// pytest finds no test.
    #[error("command {command} collects no test: {reason}{}", question(.near))]
    CollectsNothing {
        /// The command.
        command: String,
        /// The message of pytest.
        reason: String,
        /// Tests of the repository with similar names, the most similar first.
        near: Vec<String>,
    },
    /// Its program is not there.
    #[error("command {command} cannot start: {reason}")]
    CannotStart {
        /// The command.
        command: String,
        /// The missing program.
        reason: String,
    },
    /// It has nothing to do with the repository.
    #[error("command {command} runs no file of the repository (it ends with {end})")]
    RunsNothing {
        /// The command.
        command: String,
        /// The end of what it prints.
        end: String,
    },
    /// It does not end by itself.
    #[error("command {command} does not end within {} s (raise command.seconds or command.cpu_seconds)", .limit.as_secs_f64())]
    Endless {
        /// The command.
        command: String,
        /// The time limit.
        limit: Duration,
    },
    /// Something ends it.
    #[error("command {command} is killed by signal {signal}")]
    Killed {
        /// The command.
        command: String,
        /// The signal.
        signal: i32,
    },
    /// It needs more memory than it may have.
    #[error("command {command} needs more memory than it may have (raise command.memory_mib)")]
    OutOfMemory {
        /// The command.
        command: String,
    },
}

impl Unusable {
    /// The same, with the tests of the repository that a mistyped node id may have meant.
    pub fn with_near_tests(self, repository: &Repository, command: &Command) -> Self {
        match self {
            Unusable::CollectsNothing { command: text, reason, .. } => {
                let near = near_tests(repository, command);
                Unusable::CollectsNothing { command: text, reason, near }
            }
            other => other,
        }
    }

    /// Returns the reason why the command cannot start, if the error has one.
    pub fn of_error(error: &ExecuteError, command: &Command) -> Option<Self> {
        let (command, reason) = (command.to_string(), error.to_string());
        matches!(error, ExecuteError::NoProgram { .. })
            .then_some(Unusable::CannotStart { command, reason })
    }
}

/// Fails where a run of the original gives nothing to reproduce.
///
/// # Errors
/// Which of the reasons it is.
pub fn usable(execution: &Execution, command: &Command, limit: Duration) -> Result<(), Unusable> {
    let text = command.to_string();
    match execution.status {
        Status::TimedOut => Err(Unusable::Endless { command: text, limit }),
        Status::Signaled(signal) => Err(Unusable::Killed { command: text, signal }),
        Status::OutOfMemory => Err(Unusable::OutOfMemory { command: text }),
        Status::Exited(_) | Status::Interrupted => {
            let nothing = execution.collected.is_empty() && execution.collection_errors.is_empty();
            match command.is_pytest() && nothing {
                true => {
                    let (reason, near) = (reason(execution), Vec::new());
                    Err(Unusable::CollectsNothing { command: text, reason, near })
                }
                false => Ok(()),
            }
        }
    }
}

/// Fails where a traced run ran nothing that could be in a gist.
///
/// # Errors
/// As for [`usable`], or [`Unusable::RunsNothing`].
pub fn usable_trace(
    execution: &Execution,
    trace: &Trace,
    command: &Command,
    limit: Duration,
) -> Result<(), Unusable> {
    usable(execution, command, limit)?;
    match trace.files.is_empty() {
        true => Err(Unusable::RunsNothing { command: command.to_string(), end: last(execution) }),
        false => Ok(()),
    }
}

/// The hint of a message: ` (did you mean a or b?)`.
fn question(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [one] => format!(" (did you mean {one}?)"),
        [first @ .., last] => format!(" (did you mean {} or {last}?)", first.join(", ")),
    }
}

/// The first error that pytest prints, or else the last line. That of an option stands below how it is used.
fn reason(execution: &Execution) -> String {
    let mut errors = output_lines(execution).skip_while(|line| !line.starts_with("ERROR: "));
    let first = errors.next().and_then(|line| line.strip_prefix("ERROR: "));
    let error = match first {
        Some(usage) if usage.starts_with("usage: ") => {
            errors.find_map(|line| Some(line.split_once(": error: ")?.1)).or(first)
        }
        first => first,
    };
    // The command, which stands beside the reason, names the file.
    error.map_or_else(|| last(execution), |error| error.replace(&format!("{INTERNAL}::"), ""))
}

fn last(execution: &Execution) -> String {
    output_lines(execution).filter(|line| !line.is_empty()).last().unwrap_or("no output").to_owned()
}

fn output_lines(execution: &Execution) -> impl Iterator<Item = &str> {
    execution.stdout.lines().chain(execution.stderr.lines()).map(str::trim)
}
