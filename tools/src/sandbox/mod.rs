//! The only way to start processes that touch other people's files or code.
//!
//! A sandbox takes a complete [`Request`] and returns the result. It knows nothing of Python, tasks
//! or gists, and it never runs anything that a request does not name.

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
pub(crate) use view::link_target;

/// Runs requests, one at a time per call, from any thread.
pub trait Sandbox: Send + Sync {
    /// A short name for records: `bubblewrap`, `namespaces`, `docker`, `none`. What it shows to programs depends on it.
    fn name(&self) -> &'static str;

    /// Returns the promises that hold here, beyond limits of time and output and that nothing
    /// survives.
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
    /// The readable paths beside the system's own files.
    pub readable: Vec<PathBuf>,
    /// The writable paths.
    pub writable: Vec<PathBuf>,
    /// Files of the system that the program can neither read nor execute. A container of a given image ignores them.
    pub hidden: Vec<PathBuf>,
    /// The network of the program.
    pub network: Network,
    /// When it is stopped.
    pub limits: Limits,
}

/// Something that a sandbox promises, and whether this machine lets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Promise {
    /// The promise.
    pub what: &'static str,
    /// True if it holds here.
    pub holds: bool,
}

/// The network of a program.
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
    /// The number of bytes that the writable places may hold together, including their former
    /// content; each file counts as 4096 at least. A run that exceeds it ends by `SIGXFSZ`, like
    /// one that writes too large a file.
    pub disk: u64,
}

/// The end and the output of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The way in which it ended.
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

/// The way in which a run ended.
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

impl Status {
    /// Returns the end of a process in words.
    pub fn describe(self) -> String {
        match self {
            Self::Exited(code) => format!("exit code {code}"),
            Self::Signaled(signal) => format!("signal {signal}"),
            Self::TimedOut => "stopped by the time limit".to_owned(),
            Self::OutOfMemory => "stopped by the memory limit".to_owned(),
            Self::Interrupted => "interrupted".to_owned(),
        }
    }
}

/// The bytes of a stream, up to the limit: where there were more, its first and its last ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The captured bytes.
    pub bytes: Vec<u8>,
    /// The number of dropped bytes.
    pub dropped: u64,
    /// The position of the dropped bytes, as an offset into `bytes`.
    pub gap: usize,
}

impl Captured {
    /// Returns the stream as text, with a line about dropped bytes.
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

/// Returns the status of an exit code.
///
/// Shells and containers report a signal by a code of 129 or more, and nothing distinguishes it
/// from an exit. So every sandbox interprets such a code as a signal.
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
        /// The missing part, and what to install.
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
