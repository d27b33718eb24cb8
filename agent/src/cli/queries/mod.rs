//! `gistify queries`: suites of tasks in natural language, solved, judged, checked and drawn.
//!
//! They are apart from `gistify bench`, whose plan, index and pages hold the measures of gists.

use clap::{Args, Subcommand};

use super::{Exit, Failure, flags::Flags, surroundings::Surroundings};

mod check;
mod plot;
mod score;
mod solve;
mod suite_source;
mod verdict_file;

#[derive(Debug, Args)]
pub struct QueriesCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Solve the tasks of a suite with models or programs, judge the answers, and print the tables.
    Solve(solve::SolveTasks),
    /// Judge directories of answers, and print the tables.
    Eval(score::JudgeAnswers),
    /// Check a suite: each reference solution passes, and each wrong one does not.
    Check(check::CheckSuite),
    /// Draw rates and tokens of verdicts.
    Plot(plot::PlotAnswers),
}

impl QueriesCommand {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        match &self.action {
            Action::Solve(solve) => solve.flags(),
            Action::Eval(score) => score.flags(),
            Action::Check(check) => check.flags(),
            Action::Plot(_) => Flags::default(),
        }
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        match self.action {
            Action::Solve(solve) => solve.act(around),
            Action::Eval(score) => score.act(around),
            Action::Check(check) => check.act(around),
            Action::Plot(plot) => plot.act(),
        }
    }
}
