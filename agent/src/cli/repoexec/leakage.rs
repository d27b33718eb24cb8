//! `gistify repoexec leakage`: n-grams of functions that a model continues as if it knew them.

use std::path::PathBuf;

use ::eval::{
    CONTINUATION_VERSION, Continuation, CutPlace, continued_words, cut_places, leakage_table,
    write_tables,
};
use clap::{Args, builder::RangedU64ValueParser};

use super::{
    super::{
        Exit, Failure, OrExit,
        destination::check_file,
        flags::Flags,
        progress::ProgressLine,
        row_work::{RowChoice, write_rows},
        surroundings::Surroundings,
        tables::Style,
    },
    generate::{Completing, SOLUTIONS, exchanges, prompts},
    rows,
};
use crate::{
    message::Message,
    repoexec::{AskingSpec, ask_all, continuing_prompt},
};

#[derive(Debug, Args)]
pub struct LeakageCommand {
    /// A problem file of `gistify repoexec build`.
    problems: PathBuf,
    /// The model: command/PROGRAM, PROVIDER/MODEL, or `solutions` for the original functions.
    #[arg(short, long, value_name = "MODEL")]
    model: String,
    /// Words that the model has to predict at each place.
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100))]
    ngram: usize,
    /// Places in each function at which its text is cut.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    places: usize,
    /// The file for the continuations.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    choice: RowChoice,
    /// Requests at the same time.
    #[arg(short, long, value_name = "N", default_value_t = 2)]
    workers: usize,
    /// Format of the table.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
    /// Replace a file that exists.
    #[arg(long)]
    force: bool,
}

impl LeakageCommand {
    /// Returns the settings that its flags set.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        let model = Some(self.model.as_str()).filter(|model| *model != SOLUTIONS);
        flags.text("--model", "writer.model", model);
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let progress = ProgressLine::new(around.talk);
        check_file(&self.output, self.force)?;
        let (mut problems, _) = rows::problems(&self.problems, &progress)?;
        self.choice.choose(&mut problems, |problem| &problem.id);
        let (mut continuations, mut places): (Vec<Continuation>, Vec<CutPlace>) =
            Default::default();
        for problem in &problems {
            let of_problem = cut_places(problem, self.ngram, self.places);
            for (number, place) in of_problem.into_iter().enumerate() {
                continuations.push(Continuation {
                    version: CONTINUATION_VERSION,
                    problem: problem.id.clone(),
                    place: number,
                    model: self.model.clone(),
                    expected: place.expected.clone(),
                    found: Vec::new(),
                    failure: None,
                });
                places.push(place);
            }
        }
        if places.is_empty() {
            let message = format!("no function has {} words and more (see --ngram)", self.ngram);
            return Err(Failure::new(Exit::Input, message));
        }
        match self.model.as_str() {
            SOLUTIONS => {
                // The rest of each function is read as an answer is.
                for (one, place) in continuations.iter_mut().zip(&places) {
                    one.found = continued_words(&place.prefix, &place.rest, self.ngram);
                }
            }
            _ => self.ask(&mut continuations, &places, around, &progress)?,
        }
        progress.clear();
        write_rows(&self.output, &continuations)?;
        let tables = [leakage_table(&continuations)];
        print!("{}", write_tables(&tables, self.format.format(around)));
        Ok(Exit::Success)
    }

    /// Fills in the answers of the model, greedily decoded.
    fn ask(
        &self,
        continuations: &mut [Continuation],
        places: &[CutPlace],
        around: &Surroundings,
        progress: &ProgressLine,
    ) -> Result<(), Failure> {
        let prompts = prompts(around)?;
        let supply = Completing::greedy(&self.model).supply(around, &prompts)?;
        let questions = places.iter().map(|place| {
            let content = continuing_prompt(&prompts, &place.prefix).or_exit(Exit::Usage)?;
            Ok(vec![Message::User { content }])
        });
        let questions = questions.collect::<Result<Vec<_>, Failure>>()?;
        let record = exchanges(&self.output);
        let asked = ask_all(
            &AskingSpec {
                supply: &supply,
                record: &record,
                workers: self.workers,
                interrupt: &around.interrupt,
                heard: &|at, _| progress.say(&format!("[{}/{}] answered", at + 1, places.len())),
            },
            &questions,
        );
        if !around.settings.model.record {
            // Workers' directories, with nothing in them.
            let _ = std::fs::remove_dir_all(&record);
        }
        for ((one, place), answer) in
            continuations.iter_mut().zip(places).zip(asked.or_exit(Exit::Usage)?)
        {
            supply.name().clone_into(&mut one.model);
            match answer {
                Some(Ok(answer)) => {
                    one.found = continued_words(&place.prefix, &answer.content, self.ngram);
                }
                Some(Err(failure)) => one.failure = Some(failure),
                None => return Err(Failure::new(Exit::Interrupted, "interrupted")),
            }
        }
        Ok(())
    }
}
