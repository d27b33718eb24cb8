//! Runs a command, on the original or on a gist, and records what each of its cases did.
//!
//! It reports facts; whether they are right is for the `eval` crate to judge.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::sandbox::Status;

/// What one run of a command did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// How the process ended.
    pub status: Status,
    /// Node ids that pytest collected, in order; empty for other commands.
    pub collected: Vec<String>,
    /// Errors of collection: (node id, exception).
    pub collection_errors: Vec<(String, Raised)>,
    /// What each case did, in order of start.
    pub cases: Vec<CaseReport>,
    /// Whether the recorder saw the run to its end (`os._exit` leaves it false).
    pub complete: bool,
    /// Standard output of the process, lossily decoded.
    pub stdout: String,
    /// Standard error of the process, lossily decoded.
    pub stderr: String,
    /// Bytes of both streams that were dropped at the limit.
    pub dropped: u64,
    /// For commands without pytest: what the program raised at its top level.
    pub raised: Option<Raised>,
    /// Wall-clock time.
    pub wall: Duration,
    /// CPU time.
    pub cpu: Duration,
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
    /// What was raised; for a skip, its type and reason.
    pub raised: Option<Raised>,
    /// Captured standard output of this phase.
    pub stdout: String,
    /// Captured standard error of this phase.
    pub stderr: String,
    /// Captured log of this phase.
    pub log: String,
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
}
