//! Whether a run of the original is something that a gist can be asked to reproduce.
//!
//! A command that fails is: then the failure is what has to be the same. One that collects nothing, does
//! not end or is killed is not.

use std::time::Duration;

use super::Execution;
use crate::{command::Command, sandbox::Status};

/// Why a command gives nothing to reproduce.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// pytest finds no test.
    #[error("command {command} collects no test: {reason}")]
    CollectsNothing {
        /// The command.
        command: String,
        /// What pytest says.
        reason: String,
    },
    /// It does not end by itself.
    #[error("command {command} does not end within {} s (raise command.seconds or command.cpu_seconds)", .limit.as_secs_f64())]
    Endless {
        /// The command.
        command: String,
        /// How long it was given.
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
                true => Err(Unusable::CollectsNothing { command: text, reason: reason(execution) }),
                false => Ok(()),
            }
        }
    }
}

/// What pytest says of a run without tests.
fn reason(execution: &Execution) -> String {
    let lines = || execution.stderr.lines().chain(execution.stdout.lines()).map(str::trim);
    let error = lines().find_map(|line| line.strip_prefix("ERROR: "));
    error
        .or_else(|| lines().rfind(|line| !line.is_empty()))
        .unwrap_or("it prints nothing")
        .to_owned()
}
