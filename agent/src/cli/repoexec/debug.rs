//! `gistify repoexec debug`: completions that fail go back to their model with what the tests printed, up to so many
//! rounds (RepoExec, section 6.2 and appendix G).

use std::{collections::BTreeMap, fs, path::PathBuf};

use ::eval::{
    CompletionProblem, Generation, SAMPLE_VERSION, SampleClass, SampleVerdict, ScoringSpec,
    completion_tables, score_generations, write_tables,
};
use clap::Args;

use super::{
    super::{
        Exit, Failure, OrExit,
        destination::{check_file, make_directory},
        flags::Flags,
        progress::ProgressLine,
        row_work::write_rows,
        surroundings::Surroundings,
        tables::Style,
    },
    beds::Beds,
    generate::{Completing, exchanges, fill, prompts},
    rows,
};
use crate::{
    message::{Answer, Message},
    repoexec::{AskingSpec, ask_all, debugging_prompt},
};

#[derive(Debug, Args)]
pub struct Debug {
    /// A problem file of `gistify repoexec build`.
    problems: PathBuf,
    #[command(flatten)]
    completing: Completing,
    /// Most rounds; a sample that passes needs no further one.
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: u32,
    /// Samples of each problem [default: 1].
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// The directory for generations.jsonl and verdicts.jsonl of all rounds.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
}

/// A sample that goes through rounds.
struct Thread<'a> {
    problem: &'a CompletionProblem,
    sample: u32,
    messages: Vec<Message>,
    open: bool,
}

impl Debug {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        self.completing.flags()
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let progress = ProgressLine::new(around.talk);
        make_directory(&self.output)?;
        let generations_file = self.output.join("generations.jsonl");
        check_file(&generations_file, self.force)?;
        let (problems, malformed) = rows::problems(&self.problems, &progress)?;
        let prompts = prompts(around)?;
        let supply = self.completing.supply(around, &prompts)?;
        let beds = Beds::of_problems(&problems, around, &progress)?;
        let beds = beds.all();
        let mut threads = Vec::new();
        for problem in &problems {
            for sample in 0..self.samples.max(1) {
                let messages = vec![self.completing.question(&prompts, problem)?];
                threads.push(Thread { problem, sample, messages, open: true });
            }
        }
        let (mut generations, mut verdicts) = (Vec::new(), Vec::<SampleVerdict>::new());
        for round in 0..=self.rounds {
            let asking: Vec<usize> = (0..threads.len()).filter(|at| threads[*at].open).collect();
            if asking.is_empty() {
                break;
            }
            let questions: Vec<Vec<Message>> =
                asking.iter().map(|at| threads[*at].messages.clone()).collect();
            let record = exchanges(&self.output.join(format!("round-{round}")));
            let asked = ask_all(
                &AskingSpec {
                    supply: &supply,
                    record: &record,
                    workers: self.completing.workers,
                    interrupt: &around.interrupt,
                    heard: &|at, _| {
                        progress.say(&format!("round {round}: {}", threads[asking[at]].problem.id));
                    },
                },
                &questions,
            );
            if !around.settings.model.record {
                // Workers' directories, with nothing in them.
                let _ = fs::remove_dir_all(&record);
            }
            let mut answered = Vec::new();
            for (&at, asked) in asking.iter().zip(asked.or_exit(Exit::Usage)?) {
                let Some(asked) = asked else {
                    return Err(Failure::new(Exit::Interrupted, "interrupted"));
                };
                let thread = &threads[at];
                let mut generation = Generation {
                    version: SAMPLE_VERSION,
                    problem: thread.problem.id.clone(),
                    sample: thread.sample,
                    round,
                    prompt: self.completing.prompt_name(),
                    ..Generation::default()
                };
                fill(&mut generation, supply.name(), asked);
                answered.push(generation);
            }
            let scored = score_generations(&ScoringSpec {
                problems: &problems,
                generations: &answered,
                beds: &beds,
                workers: self.completing.workers,
                progress: &|done, all| progress.say(&format!("round {round}: [{done}/{all}] runs")),
            });
            let scored = scored.map_err(|error| around.unevaluated(error))?;
            for ((&at, generation), verdict) in asking.iter().zip(&answered).zip(&scored) {
                let thread = &mut threads[at];
                thread.open = !matches!(verdict.class, SampleClass::Passed | SampleClass::Unscored);
                if thread.open {
                    let content = generation.answer.clone();
                    thread
                        .messages
                        .push(Message::Assistant(Answer { content, ..Answer::default() }));
                    let content =
                        debugging_prompt(&prompts, thread.problem, &verdict.function, &verdict.log);
                    thread.messages.push(Message::User { content: content.or_exit(Exit::Usage)? });
                }
            }
            generations.extend(answered);
            verdicts.extend(scored);
            write_rows(&generations_file, &generations)?;
            write_rows(&self.output.join("verdicts.jsonl"), &verdicts)?;
        }
        progress.clear();
        let mut unread = BTreeMap::from([(self.problems.display().to_string(), malformed)]);
        unread.retain(|_, rows| !rows.is_empty());
        let tables = completion_tables(&verdicts, &unread.into_iter().collect::<Vec<_>>());
        print!("{}", write_tables(&tables, self.format.format(around)));
        Ok(Exit::Success)
    }
}
