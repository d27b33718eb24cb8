//! The errors that prevent an evaluation. A gist that fails is no error.

use tools::{
    CandidateError, CommandError, ExecuteError, RepositoryError, Unusable, WarmError,
    WorkspaceError,
};

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
    /// The command gives nothing to reproduce.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// The command's program is not there.
    #[error("command `{command}` cannot start: {why}")]
    CannotStart {
        /// The command.
        command: String,
        /// The missing program.
        why: String,
    },
    /// A completion problem or an issue does not fit its repository, or has no tests.
    #[error("problem {problem}: {reason}")]
    Problem {
        /// The problem's id.
        problem: String,
        /// The reason.
        reason: String,
    },
    /// The user stopped everything.
    #[error("interrupted")]
    Interrupted,
    /// A patch could not be made or tried, or a file of a repository not be read.
    #[error(transparent)]
    Repository(RepositoryError),
    /// A run could not be made.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// A directory could not be made.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A candidate could not be laid out.
    #[error(transparent)]
    Candidate(#[from] CandidateError),
    /// A run could not be forked.
    #[error(transparent)]
    Warm(#[from] WarmError),
    /// A record could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}
