//! `gistify repoexec eval`: completions put in their places, run and scored.

use std::path::PathBuf;

use ::eval::{
    CompletionProblem, Generation, MalformedRow, ScoringSpec, completion_tables, score_generations,
    write_tables,
};
use clap::Args;

use super::{
    super::{
        Exit, Failure, destination::check_file, flags::Flags, progress::ProgressLine,
        row_work::write_rows, surroundings::Surroundings, tables::Style,
    },
    beds::Beds,
    rows,
};

#[derive(Debug, Args)]
pub struct ScoreCommand {
    /// A problem file of `gistify repoexec build`.
    problems: PathBuf,
    /// Files of generations, of `gistify repoexec generate` or of anything else that writes such rows.
    #[arg(required = true, value_name = "GENERATIONS")]
    generations: Vec<PathBuf>,
    /// The file for the verdicts.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Take up the verdicts that the output has, and score the other generations.
    #[arg(long)]
    resume: bool,
    /// Runs at once.
    #[arg(short, long, value_name = "N", default_value_t = 2)]
    workers: usize,
    /// The interpreter, or its version [default: that of the problems].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// Format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
    /// Replace a file that exists.
    #[arg(long)]
    force: bool,
}

impl ScoreCommand {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--python", "environment.python", self.python.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let progress = ProgressLine::new(around.talk);
        check_file(&self.output, self.force || self.resume)?;
        let (problems, malformed) = rows::problems(&self.problems, &progress)?;
        let mut unread = vec![(self.problems.display().to_string(), malformed)];
        let mut generations: Vec<Generation> = Vec::new();
        for path in &self.generations {
            let (read, malformed) = rows::generations(path, &progress)?;
            generations.extend(read);
            unread.push((path.display().to_string(), malformed));
        }
        let key = |problem: &str, model: &str, prompt: &str, sample: u32, round: u32| {
            (problem.to_owned(), model.to_owned(), prompt.to_owned(), sample, round)
        };
        let mut verdicts = Vec::new();
        if self.resume && self.output.metadata().is_ok_and(|there| there.len() > 0) {
            verdicts = rows::verdicts(&self.output, &progress)?;
            verdicts.retain(|one| one.class.is_scored());
            let known: std::collections::BTreeSet<_> = verdicts
                .iter()
                .map(|one| key(&one.problem, &one.model, &one.prompt, one.sample, one.round))
                .collect();
            generations.retain(|one| {
                !known.contains(&key(&one.problem, &one.model, &one.prompt, one.sample, one.round))
            });
        }
        let needed: Vec<CompletionProblem> = problems
            .iter()
            .filter(|problem| generations.iter().any(|one| one.problem == problem.id))
            .cloned()
            .collect();
        let beds = Beds::of_problems(&needed, around, &progress)?;
        let scored = score_generations(&ScoringSpec {
            problems: &problems,
            generations: &generations,
            beds: &beds.all(),
            workers: self.workers,
            progress: &|done, all| progress.say(&format!("[{done}/{all}] runs")),
        });
        progress.clear();
        verdicts.extend(scored.map_err(|error| around.unevaluated(error))?);
        write_rows(&self.output, &verdicts)?;
        unread.retain(|(_, rows): &(String, Vec<MalformedRow>)| !rows.is_empty());
        let tables = completion_tables(&verdicts, &unread);
        print!("{}", write_tables(&tables, self.format.format(around)));
        Ok(Exit::Success)
    }
}
