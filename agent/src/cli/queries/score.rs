//! `gistify queries eval`: directories of answers judged by the criteria of a suite, whoever made them.

use std::{collections::BTreeMap, ops::ControlFlow, path::PathBuf};

use ::eval::{
    AnswerClass, AnswerJudgement, OUTPUTS, QUERY_VERDICT_VERSION, QueryTask, QueryVerdict,
    query_tables, write_tables,
};
use clap::Args;
use tools::Sandbox;

use super::{
    super::{
        Exit, Failure,
        destination::check_file,
        flags::Flags,
        progress::ProgressLine,
        row_work::{work_through, write_rows},
        surroundings::Surroundings,
        tables::Style,
    },
    suite_source::{SuiteFlags, SuiteSource},
    verdict_file::{VERDICTS, read_verdict_file},
};

#[derive(Debug, Args)]
pub struct JudgeAnswers {
    #[command(flatten)]
    suite: SuiteFlags,
    /// A directory of `gistify queries solve`, or NAME=DIR with a directory of output files for each task, by its id; can
    /// be given more than once.
    #[arg(long, required = true, value_name = "[NAME=]DIR")]
    answers: Vec<String>,
    /// The file for the verdicts.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file.
    #[arg(long)]
    force: bool,
    /// The interpreter, or its version [default: the suite's, with the packages of its lock].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// Format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
}

/// The answers of one solver: for each task its outputs, and the verdict of their making if there was one.
struct Answers {
    solver: String,
    outputs: BTreeMap<String, PathBuf>,
    made: BTreeMap<String, QueryVerdict>,
}

impl JudgeAnswers {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--python", "environment.python", self.python.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        self.output.as_deref().map_or(Ok(()), |path| check_file(path, self.force))?;
        let source = self.suite.read(around)?;
        let mut all = Vec::new();
        for given in &self.answers {
            all.append(&mut read_answers(given, &source.tasks)?);
        }
        let sandbox = around.sandbox()?;
        let progress = ProgressLine::new(around.talk);
        let (tasks, interrupt) = (&source.tasks, &around.interrupt);
        let judged = work_through(tasks, self.suite.workers, interrupt, |_, task| {
            let judged = judge_task(&source, task, &all, around, &*sandbox, &progress);
            judged.map_or(ControlFlow::Break(()), ControlFlow::Continue)
        });
        progress.clear();
        // Everything but an interrupt is a verdict.
        if judged.len() < tasks.len() {
            return Err(Failure::new(Exit::Interrupted, "interrupted"));
        }
        let verdicts: Vec<QueryVerdict> = judged.into_iter().flatten().collect();
        if let Some(path) = &self.output {
            write_rows(path, &verdicts)?;
        }
        print!("{}", write_tables(&query_tables(&verdicts), self.format.format(around)));
        Ok(Exit::Success)
    }
}

/// Reads the answers that a flag names.
fn read_answers(given: &str, tasks: &[QueryTask]) -> Result<Vec<Answers>, Failure> {
    let refused =
        |path: &str| Failure::new(Exit::Input, format!("read answers {path}: no such directory"));
    if let Some((name, path)) = given.split_once('=').filter(|_| !PathBuf::from(given).is_dir()) {
        let directory = PathBuf::from(path);
        if !directory.is_dir() {
            return Err(refused(path));
        }
        let outputs = tasks.iter().filter_map(|task| {
            let own = directory.join(&task.id);
            let inner = own.join(OUTPUTS);
            let place = if inner.is_dir() { inner } else { own };
            place.is_dir().then(|| (task.id.clone(), place))
        });
        let (outputs, made) = (outputs.collect(), BTreeMap::new());
        return Ok(vec![Answers { solver: name.to_owned(), outputs, made }]);
    }
    let directory = PathBuf::from(given);
    let path = directory.join(VERDICTS);
    if !path.is_file() {
        let message = format!(
            "read answers {given}: no {VERDICTS} (name a directory of others as NAME={given})"
        );
        return Err(if directory.is_dir() {
            Failure::new(Exit::Input, message)
        } else {
            refused(given)
        });
    }
    let mut found: BTreeMap<String, Answers> = BTreeMap::new();
    for verdict in read_verdict_file(&path)? {
        let answers = found.entry(verdict.solver.clone()).or_insert_with(|| Answers {
            solver: verdict.solver.clone(),
            outputs: BTreeMap::new(),
            made: BTreeMap::new(),
        });
        let place = super::solve::record_of(&directory, &verdict.solver, &verdict.task);
        let outputs = place.join(OUTPUTS);
        if outputs.is_dir() {
            answers.outputs.insert(verdict.task.clone(), outputs);
        }
        answers.made.insert(verdict.task.clone(), verdict);
    }
    Ok(found.into_values().collect())
}

/// The verdicts on a task, one for each solver. A failure of the machine is one as well.
fn judge_task(
    source: &SuiteSource,
    task: &QueryTask,
    all: &[Answers],
    around: &Surroundings,
    sandbox: &dyn Sandbox,
    progress: &ProgressLine,
) -> Result<Vec<QueryVerdict>, Failure> {
    progress.say(&task.id);
    let prepared = source.prepare(task, around, sandbox, progress);
    if matches!(&prepared, Err(failure) if failure.exit == Exit::Interrupted) {
        return Err(Failure::new(Exit::Interrupted, "interrupted"));
    }
    let mut verdicts = Vec::new();
    for answers in all {
        let made = answers.made.get(&task.id);
        let is_failed = made.is_some_and(|made| made.judgement.class == AnswerClass::Failed);
        let failed = |reason: String| {
            progress.line(&format!("{}: {reason}", task.id));
            AnswerJudgement::of_class(AnswerClass::Failed, reason)
        };
        let judgement = match (&prepared, answers.outputs.get(&task.id), made) {
            (_, _, Some(made)) if is_failed => made.judgement.clone(),
            (_, None, _) => AnswerJudgement::of_class(AnswerClass::NoAnswer, ""),
            (Err(failure), ..) => failed(failure.message()),
            (Ok(prepared), Some(outputs), _) => match prepared.judge(outputs, around, sandbox) {
                Ok(judgement) => judgement,
                Err(failure) if failure.exit == Exit::Interrupted => return Err(failure),
                Err(failure) => failed(failure.message()),
            },
        };
        verdicts.push(QueryVerdict {
            version: QUERY_VERDICT_VERSION,
            task: task.id.clone(),
            solver: answers.solver.clone(),
            scaffold: made.and_then(|made| made.scaffold.clone()),
            model: made.and_then(|made| made.model.clone()),
            outcome: made.map(|made| made.outcome.clone()).unwrap_or_default(),
            judgement,
            effort: made.and_then(|made| made.effort.clone()),
        });
    }
    Ok(verdicts)
}
