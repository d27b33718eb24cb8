//! The writers of gists, as the bench sees them: a task in, an attempt out.
//!
//! A solver receives the repository and the command, never the reference or the measures of its
//! result.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{Alone, Command, Environment, GistPlace, Interrupt, Limits, Repository};

use crate::{evaluate::WriterAbilities, scorers::Effort, source_map::SourceMap, task::Task};

/// Writes gists; several threads may share it.
pub trait Solver: Sync {
    /// Its name in tables: a scaffold and its model.
    fn name(&self) -> &str;

    /// Works on one task to its end. A failure is part of the attempt.
    fn attempt(&self, context: &TaskContext<'_>) -> Attempt;
}

/// All that a solver gets.
#[derive(Clone, Copy)]
pub struct TaskContext<'a> {
    /// The task.
    pub task: &'a Task,
    /// The repository, not to be written.
    pub repository: &'a Repository,
    /// The interpreter and packages of the command.
    pub environment: &'a Environment,
    /// The command.
    pub command: &'a Command,
    /// The ids of the cases that it collects, where they are known; else none.
    pub cases: &'a [String],
    /// The place of the gist.
    pub place: GistPlace,
    /// Bounds on each run of the command.
    pub limits: Limits,
    /// An existing directory for what is left of the attempt, such as its trajectory.
    pub record: &'a Path,
    /// The directory for working directories.
    pub scratch: &'a Path,
    /// Set when the user wants everything to stop.
    pub interrupt: &'a Interrupt,
}

/// The way in which an attempt counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptCount {
    /// Its gist is scored, or that there is none.
    Scored,
    /// It ended for a reason outside the solver's control: its gist is not scored.
    Infrastructure,
    /// The solver does not take such a task: it is not scored.
    Unfit,
}

/// The result of a solver for a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// The gist, or why there is none.
    pub gist: Result<String, String>,
    /// The origins of its lines, if the solver knows them.
    pub source_map: Option<SourceMap>,
    /// The end of the attempt, in words.
    pub outcome: String,
    /// The way in which it counts.
    pub counts: AttemptCount,
    /// The record of its steps.
    pub trajectory: Option<PathBuf>,
    /// The cost of the attempt.
    pub effort: Effort,
    /// The abilities of the solver.
    pub writer: WriterAbilities,
    /// The behaviour of the gist away from the repository, if that was tried.
    pub alone: Option<Alone>,
}

/// The record of an attempt beside its gist.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptRecord {
    /// The end of the attempt, in words.
    pub outcome: String,
    /// The record of its steps, relative to the run's directory where it lies in it.
    pub trajectory: Option<PathBuf>,
    /// The cost of the attempt.
    pub effort: Effort,
    /// The abilities of the solver.
    pub writer: WriterAbilities,
    /// The BLAKE3 hash of the gist that was scored; absent without a gist, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gist: Option<String>,
}
