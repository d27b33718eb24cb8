//! `gistify repoexec export`: functions with their dependencies as a data set for tuning models.

use std::{fs, path::PathBuf};

use ::eval::{CompletionProblem, TuningCounts, TuningForm, TuningMix, TuningSplit, tuning_set};
use clap::{Args, builder::RangedU64ValueParser};
use graph::ContextSize;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::{
        Exit, Failure, OrExit,
        destination::{check_file, make_directory},
        flags::Flags,
        numbers::within,
        progress::ProgressLine,
        row_work::{write_json, write_rows},
        surroundings::Surroundings,
    },
    generate::prompts,
    rows,
};
use crate::{
    prompt::Prompts,
    repoexec::{PromptKind, completion_prompt},
};

#[derive(Debug, Args)]
pub struct ProblemExportCommand {
    /// Problem files of `gistify repoexec build --all --tests none`, of many repositories.
    #[arg(required = true, value_name = "PROBLEMS")]
    problems: Vec<PathBuf>,
    /// The directory for train.jsonl, validation.jsonl and dataset.json; a split without a row has no file.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Shares of instructions, raw code with full and with small contexts.
    #[arg(long, value_name = "A:B:C", default_value = "50:80:20", value_parser = shares)]
    mix: [u32; 3],
    /// The share of functions that is kept for validation, by whole repositories.
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = within(0.0..1.0))]
    validation: f64,
    /// Seed of the draw, besides the functions' ids.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Most functions [default: as many as the shares allow].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    most: Option<usize>,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
}

/// A row of a data set: prompt and completion as TRL's trainers read them, then where the function stands.
#[derive(Serialize, JsonSchema)]
pub struct TuningRow<'a> {
    prompt: String,
    completion: String,
    form: TuningForm,
    id: &'a str,
    repository: &'a str,
    revision: &'a str,
    licence: &'a str,
    path: &'a str,
    line: u32,
    end_line: u32,
}

/// The numbers of rows, as `dataset.json` has them.
#[derive(Serialize, JsonSchema)]
pub struct TuningDataset<'a> {
    version: u32,
    /// Shares of instructions, raw code with full and with small contexts.
    mix: [u32; 3],
    seed: u64,
    malformed_rows: usize,
    counts: &'a TuningCounts,
}

impl ProblemExportCommand {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        Flags::default()
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let progress = ProgressLine::new(around.talk);
        make_directory(&self.output)?;
        let files = [
            (TuningSplit::Train, self.output.join("train.jsonl")),
            (TuningSplit::Validation, self.output.join("validation.jsonl")),
        ];
        for (_, path) in &files {
            check_file(path, self.force)?;
        }
        let mut problems: Vec<CompletionProblem> = Vec::new();
        let mut malformed = 0;
        for path in &self.problems {
            let (read, bad) = rows::problems(path, &progress)?;
            problems.extend(read);
            malformed += bad.len();
        }
        let mix = TuningMix {
            shares: self.mix,
            validation: self.validation,
            seed: self.seed,
            most: self.most,
        };
        let (picks, counts) = tuning_set(&problems, &mix);
        let prompts = prompts(around)?;
        for (split, path) in &files {
            let of_split = picks.iter().filter(|pick| pick.split == *split);
            let made: Result<Vec<TuningRow<'_>>, Failure> =
                of_split.map(|pick| row(&prompts, pick.problem, pick.form)).collect();
            let made = made?;
            // Loaders of data sets refuse a split without rows.
            match made.is_empty() {
                true if path.exists() => fs::remove_file(path).or_exit(Exit::Input)?,
                true => {}
                false => write_rows(path, &made)?,
            }
        }
        if self.validation > 0.0 && !picks.is_empty() && counts.validation_repositories.is_empty() {
            progress.line("no split for validation: all functions are of one repository");
        }
        let made = TuningDataset {
            version: 1,
            mix: self.mix,
            seed: self.seed,
            malformed_rows: malformed,
            counts: &counts,
        };
        write_json(&self.output.join("dataset.json"), &made)?;
        super::super::output::json(&made);
        match picks.is_empty() {
            true => {
                Err(Failure::new(Exit::Input, "no function fits the shares (see dataset.json)"))
            }
            false => Ok(Exit::Success),
        }
    }
}

fn row<'a>(
    prompts: &Prompts,
    problem: &'a CompletionProblem,
    form: TuningForm,
) -> Result<TuningRow<'a>, Failure> {
    let (kind, size) = match form {
        TuningForm::Instruct => (PromptKind::Instruct1, ContextSize::Full),
        TuningForm::Full => (PromptKind::Base, ContextSize::Full),
        TuningForm::Small => (PromptKind::Base, ContextSize::Small),
    };
    let function = &problem.function;
    Ok(TuningRow {
        prompt: completion_prompt(prompts, function, kind, size).or_exit(Exit::Usage)?,
        completion: function.body().to_owned(),
        form,
        id: &problem.id,
        repository: &problem.source.repository,
        revision: &problem.source.revision,
        licence: &problem.source.licence,
        path: &function.path,
        line: function.line,
        end_line: function.end_line,
    })
}

fn shares(text: &str) -> Result<[u32; 3], String> {
    let parts: Vec<u32> = text.split(':').filter_map(|part| part.parse().ok()).collect();
    match parts[..] {
        [a, b, c] if (a | b | c) > 0 && text.matches(':').count() == 2 => Ok([a, b, c]),
        _ => Err("three whole numbers with colons between them, such as 50:80:20".to_owned()),
    }
}
