//! `gistify issues`: rows of issues in SWE-bench's form, made from suites, solved by models and judged by their tests.

use clap::{Args, Subcommand};

use super::{Exit, Failure, flags::Flags, surroundings::Surroundings};

mod build;
mod row_source;
mod score;
mod solve;
mod task_directories;

pub use row_source::pinned_environment;

#[derive(Debug, Args)]
pub struct Issues {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make the rows of a suite, each from the two releases between which its issue was fixed.
    Build(build::BuildRows),
    /// Solve the issues of a file, and write predictions and tables.
    Solve(solve::SolveRows),
    /// Run the tests of issues with predicted patches, and print what is resolved.
    Eval(score::JudgeRows),
}

impl Issues {
    /// Returns the flags of the chosen action, which override settings.
    pub fn flags(&self) -> Flags {
        match &self.action {
            Action::Build(build) => build.flags(),
            Action::Solve(solve) => solve.flags(),
            Action::Eval(score) => score.flags(),
        }
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        match self.action {
            Action::Build(build) => build.act(around),
            Action::Solve(solve) => solve.act(around),
            Action::Eval(score) => score.act(around),
        }
    }
}
