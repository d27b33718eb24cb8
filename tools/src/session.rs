//! What the tools of one task share: the task's parts, what was found out so far, and the gist as it
//! stands.
//!
//! A session holds state and bounds; it runs nothing by itself.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use graph::Trace;

use crate::{
    environment::Environment,
    execute::Execution,
    repository::Repository,
    sandbox::{Interrupt, Limits, Sandbox},
};

/// One task in work.
pub struct Session {
    /// The repository, never written.
    pub repository: Repository,
    /// What the command runs with.
    pub environment: Environment,
    /// The command.
    pub command: String,
    /// The door through which everything runs.
    pub sandbox: Arc<dyn Sandbox>,
    /// Bounds on each run of the command.
    pub limits: Limits,
    /// Set when the user wants everything to stop.
    pub interrupt: Interrupt,
    /// When the whole session is over.
    pub deadline: Instant,
    /// Where the gist stands, relative to the repository: it is named so to the model.
    pub gist_path: String,
    /// What the command touched on the original, once traced.
    pub trace: Option<Arc<Trace>>,
    /// What the command did on the original, once run.
    pub original: Option<Execution>,
    /// The gist as it stands.
    pub gist: Option<String>,
}

impl Session {
    /// The bounds of one run, cut to what is left of the session's time, but never to less than a
    /// second: a run that cannot start tells nothing.
    pub fn limits(&self) -> Limits {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let wall = self.limits.wall.min(left.max(Duration::from_secs(1)));
        Limits { wall, ..self.limits }
    }
}
