//! `gistify queries check`: the solutions of a suite, run and judged as any other answer. A reference solution has to pass,
//! and the criteria have to refuse a wrong one without failing at it.

use std::ops::ControlFlow;

use ::eval::{AnswerClass, AnswerJudgement, ProgramSolver, QueryTask, Table, write_tables};
use clap::Args;
use tools::Sandbox;

use super::{
    super::{
        Exit, Failure, OrExit, flags::Flags, progress::ProgressLine, row_work::work_through,
        surroundings::Surroundings, tables::Style,
    },
    suite_source::{SuiteFlags, SuiteSource},
};

#[derive(Debug, Args)]
pub struct CheckSuite {
    #[command(flatten)]
    suite: SuiteFlags,
    /// The interpreter, or its version [default: the suite's, with the packages of its lock].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// Format of the table.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
}

/// The judgements of a task's two solutions, and why it is not good.
struct Checked {
    reference: AnswerJudgement,
    wrong: AnswerJudgement,
}

/// The name of a solution's script in the directory of the work.
const SCRIPT: &str = "solution.py";

impl CheckSuite {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--python", "environment.python", self.python.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let source = self.suite.read(around)?;
        let sandbox = around.sandbox()?;
        let progress = ProgressLine::new(around.talk);
        let (tasks, interrupt) = (&source.tasks, &around.interrupt);
        let found = work_through(tasks, self.suite.workers, interrupt, |at, task| {
            progress.say(&format!("[{}/{}] {}", at + 1, tasks.len(), task.id));
            ControlFlow::Continue(check(&source, task, around, &*sandbox, &progress))
        });
        progress.clear();
        if around.interrupt.is_triggered() {
            return Err(Failure::new(Exit::Interrupted, "interrupted"));
        }
        let (mut rows, mut bad) = (Vec::new(), 0);
        for (task, checked) in tasks.iter().zip(found) {
            let (reference, wrong, faults) = match checked {
                Ok(checked) => {
                    let faults = checked.faults();
                    let phrase = |judged: &AnswerJudgement| judged.class.phrase().to_owned();
                    (phrase(&checked.reference), phrase(&checked.wrong), faults)
                }
                Err(failure) => ("failed".to_owned(), "failed".to_owned(), vec![failure.message()]),
            };
            for fault in &faults {
                progress.line(&format!("{}: {fault}", task.id));
            }
            bad += usize::from(!faults.is_empty());
            let state = if faults.is_empty() { "good" } else { "bad" };
            let words = [&task.id, &task.repository, &task.licence, &task.domain];
            let mut row: Vec<String> = words.map(String::clone).into();
            row.extend([reference, wrong, state.to_owned()]);
            rows.push(row);
        }
        let heads = ["task", "repository", "licence", "domain", "reference", "wrong", "task is"];
        let table = Table::named("check", "Tasks and their solutions", &heads, &[], rows);
        print!("{}", write_tables(&[table], self.format.format(around)));
        Ok(if bad == 0 { Exit::Success } else { Exit::NotFaithful })
    }
}

impl Checked {
    /// The reasons why a task is not good.
    fn faults(&self) -> Vec<String> {
        let told =
            |judged: &AnswerJudgement| format!("{}: {}", judged.class.phrase(), judged.reason);
        let mut faults = Vec::new();
        if self.reference.class != AnswerClass::Passed {
            faults.push(format!("its reference solution is {}", told(&self.reference)));
        }
        let is_refused = matches!(
            self.wrong.class,
            AnswerClass::NotPassed
                | AnswerClass::NotCompleted
                | AnswerClass::NoOutput
                | AnswerClass::Misnamed
                | AnswerClass::Unreadable
        );
        if !is_refused {
            faults.push(format!("its wrong solution is {}", told(&self.wrong)));
        }
        faults
    }
}

/// Runs and judges both solutions of a task.
fn check(
    source: &SuiteSource,
    task: &QueryTask,
    around: &Surroundings,
    sandbox: &dyn Sandbox,
    progress: &ProgressLine,
) -> Result<Checked, Failure> {
    let prepared = source.prepare(task, around, sandbox, progress)?;
    let judged = |key: &str, script: Option<&String>| {
        let script = script.ok_or_else(|| {
            Failure::new(Exit::Input, format!("task {} has no {key} solution", task.id))
        })?;
        let solver = ProgramSolver {
            name: key.to_owned(),
            words: ["python", SCRIPT].map(str::to_owned).into(),
            files: vec![(SCRIPT.to_owned(), source.files.text(script)?)],
            readable: Vec::new(),
            sandbox,
        };
        let record = tempfile::tempdir_in(around.scratch()?).or_exit(Exit::Infrastructure)?;
        let time = around.settings.command.limits().wall;
        let (answer, judged) = prepared.solve(&solver, record.path(), time, around, sandbox)?;
        // The last words of a script explain why there is no output.
        let reason = match judged.class.is_completed() || answer.outcome == "ended" {
            true => judged.reason.clone(),
            false => format!("{} ({})", judged.reason, answer.outcome),
        };
        Ok(AnswerJudgement { reason, ..judged })
    };
    Ok(Checked {
        reference: judged("reference", task.reference.as_ref())?,
        wrong: judged("wrong", task.wrong.as_ref())?,
    })
}
