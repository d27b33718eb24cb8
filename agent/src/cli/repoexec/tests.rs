//! `gistify repoexec tests`: tests that a model writes for the functions of a problem file, filtered, mended and
//! measured (RepoExec, section 4.2).

use std::{collections::BTreeMap, fs, path::PathBuf};

use ::eval::{
    CompletionBed, CompletionProblem, STABLE_RUNS, TestCounts, control_tests, first_assertions,
    problem_table, test_functions, with_generated_tests, write_tables,
};
use clap::Args;
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
        tables::Style,
    },
    beds::Beds,
    generate::{Completing, exchanges, prompts},
    rows,
};
use crate::{
    message::Message,
    model::ModelSupply,
    prompt::Prompts,
    repoexec::{AskingSpec, ask_all, first_tests_prompt, more_tests_prompts},
};

#[derive(Debug, Args)]
pub struct Tests {
    /// A problem file of `gistify repoexec build`; what tests its problems have is not looked at.
    problems: PathBuf,
    #[command(flatten)]
    completing: Completing,
    /// The directory for problems.jsonl with tests, before.jsonl (those before enhancement) and tests.json.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Runs of each test on the original, in all of which it has to pass.
    #[arg(long, value_name = "N", default_value_t = STABLE_RUNS, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Leave out the stage that asks for more tests.
    #[arg(long)]
    no_enhancement: bool,
    /// The least share of a function's lines that its tests execute, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 40.0, value_parser = within(0.0..=100.0))]
    coverage: f64,
    /// Format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
}

/// The numbers of tests, as `tests.json` has them.
#[derive(Serialize, JsonSchema)]
pub struct TestsMade<'a> {
    version: u32,
    stages: &'a BTreeMap<&'static str, TestCounts>,
    /// Problems with tests.
    problems: usize,
    /// Problems without.
    left_out: usize,
}

/// Tests that are shown as examples where more are asked for.
const EXAMPLES: usize = 5;

/// A problem on its way to tests.
struct Tested {
    problem: CompletionProblem,
    tests: Vec<String>,
}

impl Tests {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        self.completing.flags()
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let progress = ProgressLine::new(around.talk);
        make_directory(&self.output)?;
        let output = self.output.join("problems.jsonl");
        check_file(&output, self.force)?;
        let (problems, _) = rows::problems(&self.problems, &progress)?;
        let prompts = prompts(around)?;
        let supply = self.completing.supply(around, &prompts)?;
        let mut beds = Beds::new(around)?;
        for problem in &problems {
            beds.open_of(problem, around, &progress)?;
        }
        let beds = beds.all();
        let mut tested: Vec<Tested> =
            problems.into_iter().map(|problem| Tested { problem, tests: Vec::new() }).collect();
        let asked = |tested: &[Tested]| -> Result<Vec<Vec<String>>, Failure> {
            let prompt = |one: &Tested| first_tests_prompt(&prompts, &one.problem.function);
            tested.iter().map(|one| Ok(vec![prompt(one).or_exit(Exit::Usage)?])).collect()
        };
        let first = asked(&tested)?;
        let answers = self.ask(&supply, &first, around, &progress)?;
        let mut counts = BTreeMap::new();
        let stage =
            self.control(&beds, &mut tested, answers, &first_assertions, around, &progress)?;
        counts.insert("first", stage);
        let before = self.measured(&beds, &tested, around)?;
        write_rows(&self.output.join("before.jsonl"), &before)?;
        let mut after = before;
        if !self.no_enhancement {
            let more = self.enhancing(&prompts, &tested)?;
            let answers = self.ask(&supply, &more, around, &progress)?;
            let stage =
                self.control(&beds, &mut tested, answers, &test_functions, around, &progress)?;
            counts.insert("more", stage);
            after = self.measured(&beds, &tested, around)?;
        }
        progress.clear();
        write_rows(&output, &after)?;
        let left_out = tested.len() - after.len();
        let made = TestsMade { version: 1, stages: &counts, problems: after.len(), left_out };
        write_json(&self.output.join("tests.json"), &made)?;
        if around.json {
            super::super::output::json(&made);
        } else {
            print!("{}", write_tables(&[problem_table(&after)], self.format.format(around)));
            for (stage, counts) in &counts {
                println!(
                    "{stage}: {}",
                    serde_json::to_string(counts).or_exit(Exit::Infrastructure)?
                );
            }
        }
        match after.is_empty() {
            true => Err(Failure::new(Exit::Input, "no problem has tests (see tests.json)")),
            false => Ok(Exit::Success),
        }
    }

    /// The texts that ask for more tests of each problem that has some.
    fn enhancing(&self, prompts: &Prompts, tested: &[Tested]) -> Result<Vec<Vec<String>>, Failure> {
        let each = tested.iter().map(|one| {
            if one.tests.is_empty() {
                return Ok(Vec::new());
            }
            let examples = &one.tests[..one.tests.len().min(EXAMPLES)];
            more_tests_prompts(prompts, &one.problem.function, examples).or_exit(Exit::Usage)
        });
        each.collect()
    }

    /// The answers to several questions about each problem; failures are empty.
    fn ask(
        &self,
        supply: &ModelSupply,
        questions: &[Vec<String>],
        around: &Surroundings,
        progress: &ProgressLine,
    ) -> Result<Vec<Vec<String>>, Failure> {
        let flat: Vec<Vec<Message>> = questions
            .iter()
            .flatten()
            .map(|content| vec![Message::User { content: content.clone() }])
            .collect();
        let record = exchanges(&self.output.join("tests"));
        let asked = ask_all(
            &AskingSpec {
                supply,
                record: &record,
                workers: self.completing.workers,
                interrupt: &around.interrupt,
                heard: &|at, _| {
                    progress.say(&format!("[{}/{}] asked for tests", at + 1, flat.len()))
                },
            },
            &flat,
        );
        if !around.settings.model.record {
            // Workers' directories, with nothing in them.
            let _ = fs::remove_dir_all(&record);
        }
        let mut asked = asked.or_exit(Exit::Usage)?.into_iter();
        let mut answers = Vec::new();
        for questions in questions {
            let mut of_problem = Vec::new();
            for _ in questions {
                match asked.next().flatten() {
                    Some(Ok(answer)) => of_problem.push(answer.content),
                    Some(Err(failure)) => progress.line(&format!("no answer: {failure}")),
                    None => return Err(Failure::new(Exit::Interrupted, "interrupted")),
                }
            }
            answers.push(of_problem);
        }
        Ok(answers)
    }

    /// Adds the tests of answers that fit.
    fn control(
        &self,
        beds: &BTreeMap<String, CompletionBed<'_>>,
        tested: &mut [Tested],
        answers: Vec<Vec<String>>,
        read: &dyn Fn(&str) -> Vec<String>,
        around: &Surroundings,
        progress: &ProgressLine,
    ) -> Result<TestCounts, Failure> {
        let mut counts = TestCounts::default();
        for (one, answers) in tested.iter_mut().zip(answers) {
            progress.say(&format!("{}: run its tests", one.problem.id));
            let proposed: Vec<String> = answers.iter().flat_map(|answer| read(answer)).collect();
            let bed = &beds[&one.problem.source.repository];
            let (kept, count) = control_tests(bed, &one.problem, &one.tests, proposed, self.runs)
                .map_err(|error| around.unevaluated(error))?;
            one.tests.extend(kept);
            counts += count;
        }
        Ok(counts)
    }

    /// The problems whose tests execute enough of their function.
    fn measured(
        &self,
        beds: &BTreeMap<String, CompletionBed<'_>>,
        tested: &[Tested],
        around: &Surroundings,
    ) -> Result<Vec<CompletionProblem>, Failure> {
        let mut measured = Vec::new();
        for one in tested {
            let bed = &beds[&one.problem.source.repository];
            let made = with_generated_tests(bed, &one.problem, &one.tests);
            let made = made.map_err(|error| around.unevaluated(error))?;
            measured.extend(made.filter(|problem| {
                let covered = problem.tests.as_ref().map_or(0.0, |tests| tests.coverage());
                covered * 100.0 >= self.coverage
            }));
        }
        Ok(measured)
    }
}
