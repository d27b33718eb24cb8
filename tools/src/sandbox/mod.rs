//! The one door through which processes start that touch other people's files or code.
//!
//! A sandbox takes a complete [`Request`] and gives back what happened. It knows nothing of Python,
//! tasks or gists, and it never runs anything that a request does not name.

mod bubblewrap;
mod capture;
mod cgroup;
mod disk;
mod docker;
mod filter;
mod image;
mod interrupt;
mod landlock;
mod local;
mod namespaces;
mod supervise;
mod usage;
mod view;

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

pub use docker::{DockerOptions, DockerSandbox};
pub use interrupt::{Interrupt, STOP_SIGNAL, stand_still};
pub use local::LocalSandbox;

/// Runs requests, one at a time per call, from any thread.
pub trait Sandbox: Send + Sync {
    /// A short name for records: `bubblewrap`, `namespaces`, `docker`, `none`. What it shows to programs depends on it.
    fn name(&self) -> &'static str;

    /// What it promises here, beyond limits of time and output and that nothing survives.
    fn promises(&self) -> Vec<Promise>;

    /// Runs a request to its end, whatever end that is.
    ///
    /// # Errors
    /// Only when the sandbox itself fails; a program that fails or is stopped is a [`Finished`].
    fn run(&self, request: &Request) -> Result<Finished, SandboxError>;

    /// The same sandbox for a program that is spoken with while it runs, through files that are made after it started;
    /// with a flag that ends its requests alone. Nothing where that cannot be.
    fn stoppable(&self) -> Option<(Box<dyn Sandbox>, Interrupt)> {
        None
    }
}

/// A program to run, and all that it may see and use.
#[derive(Debug, Clone)]
pub struct Request {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Its arguments, without the program's own name.
    pub args: Vec<OsString>,
    /// Working directory, absolute.
    pub cwd: PathBuf,
    /// The whole environment; nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// What can be read besides the system's own files.
    pub readable: Vec<PathBuf>,
    /// What can be written.
    pub writable: Vec<PathBuf>,
    /// Which network there is.
    pub network: Network,
    /// When it is stopped.
    pub limits: Limits,
}

/// Something that a sandbox promises, and whether this machine lets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Promise {
    /// What is promised.
    pub what: &'static str,
    /// Whether it holds here.
    pub holds: bool,
}

/// Which network a program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Its own loopback only.
    Loopback,
    /// The host's, for provisioning.
    Host,
}

/// Bounds on one run; all of them are enforced on the whole process tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock time.
    pub wall: Duration,
    /// CPU time.
    pub cpu: Duration,
    /// Memory in bytes.
    pub memory: u64,
    /// Number of processes.
    pub processes: u64,
    /// Bytes kept of each output stream; what is beyond is counted and dropped.
    pub output: u64,
    /// Bytes of one written file.
    pub file: u64,
    /// Bytes that the writable places may hold together, what they held before included; each file
    /// counts as 4096 at least. A run that goes over it ends as one that writes too large a file does,
    /// by `SIGXFSZ`.
    pub disk: u64,
}

/// How a run ended and what it printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// How it ended.
    pub status: Status,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// Wall-clock time.
    pub wall: Duration,
    /// CPU time of the whole tree, user and system.
    pub cpu: Duration,
    /// Peak resident memory of the largest process, in bytes.
    pub max_rss: u64,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, not sent by the sandbox.
    Signaled(i32),
    /// Stopped by the wall-clock or CPU limit.
    TimedOut,
    /// Stopped by the memory limit.
    OutOfMemory,
    /// Stopped because the user interrupted the whole program.
    Interrupted,
}

/// The bytes of a stream, up to the limit: where there were more, its first and its last ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// What was kept.
    pub bytes: Vec<u8>,
    /// How many bytes were dropped.
    pub dropped: u64,
    /// Where the dropped bytes stood, as an offset into `bytes`.
    pub gap: usize,
}

impl Captured {
    /// The stream as text, with a line that says what was dropped.
    pub fn text(&self) -> String {
        if self.dropped == 0 {
            return String::from_utf8_lossy(&self.bytes).into_owned();
        }
        let (head, tail) = self.bytes.split_at(self.gap.min(self.bytes.len()));
        format!(
            "{}\n[{} bytes dropped]\n{}",
            String::from_utf8_lossy(head),
            self.dropped,
            String::from_utf8_lossy(tail)
        )
    }
}

/// What an exit code means. Shells and containers tell a signal by a code, and nothing else tells the
/// one from the other; so it means the same in every sandbox.
pub(crate) fn status_of_code(code: i32) -> Status {
    match code {
        129..=159 => Status::Signaled(code - 128),
        code => Status::Exited(code),
    }
}

/// Why a sandbox could not run a request.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The program could not be started.
    #[error("start {program}: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The isolation that was asked for cannot be had here.
    #[error("isolate {program}: {reason}")]
    Unavailable {
        /// The program.
        program: PathBuf,
        /// What is missing, and what to install.
        reason: String,
    },
    /// Talking to the running program failed.
    #[error("run {program}: {source}")]
    Io {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}
