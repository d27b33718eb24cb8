//! `gistify eval`: the verdict on a gist that exists, whoever wrote it.

use std::path::{Path, PathBuf};

use ::eval::{Evaluation, Submission, VersionedRecord, WriterAbilities, read_gist};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use tools::{Workspace, without_mark};

use super::{
    Exit, Failure, OrExit,
    bar::Requirement,
    destination::check_file,
    flags::Flags,
    formats::{Checked, FormatChoice, Printed},
    progress::ProgressLine,
    surroundings::Surroundings,
    target::{Judged, MutantsFlag, TargetFlags, given_paths},
    verdict::{self, verdict},
};

#[derive(Debug, Args)]
pub struct Eval {
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    mutants: MutantsFlag,
    /// The gist.
    #[arg(long, value_name = "FILE")]
    gist: PathBuf,
    /// The source map that its writer left.
    #[arg(long, value_name = "FILE")]
    source_map: Option<PathBuf>,
    #[command(flatten)]
    required: Requirement,
    /// Write all scores there, as JSON.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    format: FormatChoice,
}

/// The result as JSON.
#[derive(Serialize, JsonSchema)]
pub struct EvalOutput<'a> {
    gist: &'a Path,
    scores: VersionedRecord<'a, Evaluation>,
}

impl Eval {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = self.target.flags();
        self.mutants.flags(&mut flags);
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        self.target.command()?;
        self.output.as_deref().map_or(Ok(()), |path| check_file(path, true))?;
        let gist = read_gist(&self.gist).or_exit(Exit::Input)?;
        let gist = without_mark(&gist).to_owned();
        let source_map =
            self.source_map.as_deref().map(::eval::read).transpose().or_exit(Exit::Input)?;
        let progress = ProgressLine::new(around.talk);
        let own = given_paths(&[Some(&self.gist), self.output.as_ref(), self.source_map.as_ref()]);
        let opened = self.target.open(around, around.sandbox()?, &progress, &own)?;
        let workspace = Workspace::create(&around.scratch()?).or_exit(Exit::Infrastructure)?;
        progress.say("judge");
        let judged = Judged {
            submission: Submission::Written(gist),
            source_map: source_map.as_ref(),
            writer: WriterAbilities::default(),
            effort: None,
        };
        let judged = opened.judge(around, &workspace, &judged, &|sign| progress.sign(sign));
        progress.clear();
        let evaluation = judged?;
        if let Some(path) = &self.output {
            ::eval::write(path, &evaluation).or_exit(Exit::Infrastructure)?;
        }
        match self.format.printed(around) {
            Printed::Json => {
                let scores = VersionedRecord::of(&evaluation);
                super::output::json(&EvalOutput { gist: &self.gist, scores });
            }
            Printed::Checked(format) => {
                print!("{}", format.write(&[Checked::of_evaluation(&evaluation, &self.gist)]));
            }
            Printed::Full => super::output::styled(&verdict(&evaluation, &self.gist, around.color)),
        }
        Ok(verdict::exit(&evaluation, self.required))
    }
}
