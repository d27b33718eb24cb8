//! Who writes gists, as the bench sees it: a task in, an attempt out.
//!
//! A solver is shown the repository and the command, never the reference or what it will be judged by.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tools::{Command, Environment, Interrupt, Limits, Place, Repository};

use crate::{evaluate::Writer, scorers::Effort, source_map::SourceMap, task::Task};

/// Writes gists; several threads may share it.
pub trait Solver: Sync {
    /// Its name in tables: a scaffold and its model.
    fn name(&self) -> &str;

    /// Works on one task to its end. What goes wrong is part of the attempt.
    fn attempt(&self, context: &TaskContext<'_>) -> Attempt;
}

/// All that a solver gets.
#[derive(Clone, Copy)]
pub struct TaskContext<'a> {
    /// The task.
    pub task: &'a Task,
    /// The repository, not to be written.
    pub repository: &'a Repository,
    /// What the command runs with.
    pub environment: &'a Environment,
    /// The command.
    pub command: &'a Command,
    /// Where the gist will stand.
    pub place: Place,
    /// Bounds on each run of the command.
    pub limits: Limits,
    /// An existing directory for what is left of the attempt, such as its trajectory.
    pub record: &'a Path,
    /// Where working directories may be made.
    pub scratch: &'a Path,
    /// Set when the user wants everything to stop.
    pub interrupt: &'a Interrupt,
}

/// What a solver made of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// The gist, or why there is none.
    pub gist: Result<String, String>,
    /// Where its lines come from, where the solver knows.
    pub source_map: Option<SourceMap>,
    /// How it ended, in words.
    pub outcome: String,
    /// Whether it ended for a reason that says nothing of the solver: its gist is not scored then.
    pub infrastructure: bool,
    /// The record of its steps.
    pub trajectory: Option<PathBuf>,
    /// What it cost.
    pub effort: Effort,
    /// What the solver could use.
    pub writer: Writer,
}

/// What is kept of an attempt beside its gist.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// How it ended, in words.
    pub outcome: String,
    /// The record of its steps, relative to the run's directory where it lies in it.
    pub trajectory: Option<PathBuf>,
    /// What it cost.
    pub effort: Effort,
    /// What the solver could use.
    pub writer: Writer,
}
