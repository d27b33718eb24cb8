//! The exit codes, in one place, and the errors that lead to them.

use std::fmt;

/// The exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Everything was done; a gist that was judged is faithful.
    Success = 0,
    /// A gist is not faithful, or none was written; no patch was made; no repository serves a task, or it is not solved.
    NotFaithful = 1,
    /// The command line or the settings are wrong.
    Usage = 2,
    /// The repository, the command or the gist is no usable input.
    Input = 3,
    /// The interpreter or the packages are not to be had.
    Environment = 4,
    /// The machine failed: sandbox, disk, or a defect of this program.
    Infrastructure = 5,
    /// A worker of a bench stopped before its units had results: the same command goes on.
    Again = 75,
    /// The user stopped it.
    Interrupted = 130,
}

impl Exit {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Success,
        Self::NotFaithful,
        Self::Usage,
        Self::Input,
        Self::Environment,
        Self::Infrastructure,
        Self::Again,
        Self::Interrupted,
    ];

    /// The number.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Returns the meaning, for the help.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Success => "done; a gist that was judged is faithful",
            Self::NotFaithful => {
                "a gist is not faithful, or none was written; no patch, no repository, or no right answer"
            }
            Self::Usage => "wrong command line or settings",
            Self::Input => {
                "unusable repository, command, gist or file; an output exists or cannot be written"
            }
            Self::Environment => "interpreter or packages not available",
            Self::Infrastructure => "sandbox, disk or program failure",
            Self::Again => "units of a bench have no result yet; run it again",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Why a subcommand could not do its work.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The error to print on standard error.
    pub error: anyhow::Error,
}

impl Failure {
    /// A failure from a message.
    pub fn new(
        exit: Exit,
        message: impl fmt::Display + fmt::Debug + Send + Sync + 'static,
    ) -> Self {
        Self { exit, error: anyhow::Error::msg(message) }
    }

    /// The message with its causes, those left out that it has in it.
    pub fn message(&self) -> String {
        self.error.chain().map(ToString::to_string).fold(String::new(), |told, cause| match &told {
            _ if told.is_empty() => cause,
            _ if told.contains(&cause) => told,
            _ => format!("{told}: {cause}"),
        })
    }
}

/// Gives an error its exit code.
pub trait OrExit<T> {
    /// Fails with this code.
    fn or_exit(self, exit: Exit) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrExit<T> for Result<T, E> {
    fn or_exit(self, exit: Exit) -> Result<T, Failure> {
        self.map_err(|error| Failure { exit, error: error.into() })
    }
}

/// The table of exit codes, as `--help` and the manual have it.
pub fn table() -> String {
    Exit::ALL.iter().map(|exit| format!("  {:>3}  {}\n", exit.code(), exit.meaning())).collect()
}
