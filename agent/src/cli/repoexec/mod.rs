//! `gistify repoexec`: functions of repositories as completion problems, models that complete them, and their scores.

use clap::{Args, Subcommand};

use super::{Exit, Failure, flags::Flags, surroundings::Surroundings};

mod beds;
mod build;
mod debug;
mod export;
mod generate;
mod leakage;
mod plot;
mod rows;
mod score;
mod tests;

pub use build::ExtractedFunctions;
pub use export::{TuningDataset, TuningRow};
pub use generate::prompts;
pub use tests::TestsMade;

#[derive(Debug, Args)]
pub struct RepoExec {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Extract the functions of repositories, with their dependency sets, contexts and tests.
    Build(build::Build),
    /// Have a model complete the functions of a problem file.
    Generate(generate::Generate),
    /// Run the completions and print the tables.
    Eval(score::ScoreCommand),
    /// Give failing completions back to their model with what the tests printed.
    Debug(debug::Debug),
    /// Have a model write the tests of a problem file's functions.
    Tests(tests::Tests),
    /// Draw the paper's figures of verdicts.
    Plot(plot::Plot),
    /// Measure how many n-grams of the functions a model continues as if it knew them.
    Leakage(leakage::LeakageCommand),
    /// Write functions with their dependencies as a data set for tuning models.
    Export(export::ProblemExportCommand),
}

impl RepoExec {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        match &self.action {
            Action::Build(build) => build.flags(),
            Action::Generate(generate) => generate.flags(),
            Action::Eval(score) => score.flags(),
            Action::Debug(debug) => debug.flags(),
            Action::Tests(tests) => tests.flags(),
            Action::Plot(plot) => plot.flags(),
            Action::Leakage(leakage) => leakage.flags(),
            Action::Export(export) => export.flags(),
        }
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        match self.action {
            Action::Build(build) => build.act(around),
            Action::Generate(generate) => generate.act(around),
            Action::Eval(score) => score.act(around),
            Action::Debug(debug) => debug.act(around),
            Action::Tests(tests) => tests.act(around),
            Action::Plot(plot) => plot.act(around),
            Action::Leakage(leakage) => leakage.act(around),
            Action::Export(export) => export.act(around),
        }
    }
}
