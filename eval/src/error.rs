//! What can keep an evaluation from being made. A gist that fails is no error.

use tools::{CandidateError, CommandError, ExecuteError, WorkspaceError};

use crate::{store::StoreError, task::TaskError};

/// Why there is no score.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// The command cannot be understood.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The suite or task cannot be used.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The command selects no test.
    #[error("command `{command}` collects nothing: {why}")]
    CollectsNothing {
        /// The command.
        command: String,
        /// What the run said.
        why: String,
    },
    /// The command does not end in its time.
    #[error(
        "command `{command}` does not end within {seconds} s (give it more time, or another test)"
    )]
    DoesNotEnd {
        /// The command.
        command: String,
        /// The limit.
        seconds: f64,
    },
    /// The command was stopped.
    #[error("command `{command}` was killed: {why}")]
    Killed {
        /// The command.
        command: String,
        /// What happened.
        why: String,
    },
    /// The command's program is not there.
    #[error("command `{command}` cannot start: {why}")]
    CannotStart {
        /// The command.
        command: String,
        /// What is missing.
        why: String,
    },
    /// The user stopped everything.
    #[error("interrupted")]
    Interrupted,
    /// A run could not be made.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// A directory could not be made.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A candidate could not be laid out.
    #[error(transparent)]
    Candidate(#[from] CandidateError),
    /// A record could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}
