//! `gistify bench`: suites of tasks, each attempted and judged, and their tables.

use std::{fs, path::PathBuf};

use ::eval::{
    BenchEvent, BenchSpec, CachedSupply, Evaluation, Format, Known, Plan, Solver, Summary,
    Supplied, Task, TaskOutcome, TaskResult, bench, remaining, results, summarize,
};
use clap::{Args, ValueEnum};
use tools::Sandbox;

use super::{
    Exit, Failure, OrExit,
    flags::Flags,
    progress::{Progress, printable},
    run::record,
    suites::Suites,
    surroundings::Surroundings,
    target::{environment, version},
    verdict,
    writing::Writing,
};
use crate::{record::RunDirectory, writer::Writer};

#[derive(Debug, Args)]
pub struct Bench {
    /// Suites: names, or files that end in `.toml`.
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<String>,
    /// Tasks at once.
    #[arg(short, long, value_name = "N")]
    workers: Option<u32>,
    /// A version of Python in the place of the tasks' own.
    #[arg(long, value_name = "VERSION")]
    python: Option<String>,
    #[command(flatten)]
    writing: Writing,
    /// Only tasks whose id has this text in it.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Only so many tasks of each suite, from its beginning.
    #[arg(long, value_name = "N")]
    first: Option<usize>,
    /// Only tasks FROM up to and without TO of each suite, counted from 0; either may be left out.
    #[arg(long, value_name = "FROM:TO", value_parser = slice)]
    slice: Option<(usize, usize)>,
    /// Only every Nth task, starting with the Ith, so that N machines share the tasks.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<(usize, usize)>,
    /// The fidelity that every suite has to reach for exit code 0, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0, value_parser = percent)]
    at_least: f64,
    /// Leave everything in this directory, which has to be empty.
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// Finish what was begun in this directory, by the same command.
    #[arg(long, value_name = "DIR", conflicts_with = "run_dir")]
    resume: Option<PathBuf>,
    /// How the tables are printed.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
}

/// How tables are printed.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Style {
    /// For a terminal.
    Text,
    /// For a document.
    Markdown,
    /// For a program.
    Json,
}

impl Bench {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        self.writing.flags(&mut flags);
        flags.number("--workers", "bench.workers", self.workers);
        flags.text("--python", "environment.python", self.python.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let settings = &around.settings;
        let sandbox = around.sandbox()?;
        let writer = Writer::new(settings.clone(), sandbox.clone(), &around.access())
            .or_exit(Exit::Usage)?;
        let mut suites = Suites::read(&self.suites, &settings.bench.suites)?;
        self.select(&mut suites);
        if suites.tasks.is_empty() {
            return Err(Failure::new(Exit::Input, "no task is left to run (see --filter)"));
        }
        let plan = serde_json::to_value(settings).or_exit(Exit::Infrastructure)?;
        let plan = Plan::new(writer.name(), plan, &suites.tasks);
        let record = match &self.resume {
            Some(directory) => RunDirectory::reopen(directory).or_exit(Exit::Input)?,
            None => record(self.run_dir.as_deref(), around)?,
        };
        let _hold = match &self.resume {
            Some(_) => plan.resume(record.path()).or_exit(Exit::Input)?,
            None => plan.begin(record.path()).or_exit(Exit::Infrastructure)?,
        };
        let (before, unread) = results(record.path());
        for error in unread {
            eprintln!("gistify: {} (the task is run again)", printable(&error.to_string()));
        }
        let open = remaining(&suites.tasks, &before);
        let (directory, scratch) = (record.path(), around.scratch()?);
        let locks = directory.join("locks");
        fs::create_dir_all(&locks).or_exit(Exit::Infrastructure)?;
        record.write_json("settings.json", settings).or_exit(Exit::Infrastructure)?;
        let progress = Progress::new(around.talk);
        let supply = CachedSupply {
            cache: around.store()?,
            sandbox: &*sandbox,
            host: &around.host,
            interrupt: &around.interrupt,
            python: self.version(around)?,
            locks: &|name| suites.lock(name, &locks),
            elsewhere: &|task| elsewhere(task, around, &*sandbox, &progress),
            progress: &|sign| progress.sign(sign),
            known: Known::default(),
        };
        let made = bench(&BenchSpec {
            tasks: &open,
            solver: &writer,
            supply: &supply,
            sandbox: &*sandbox,
            limits: settings.command.limits(),
            variables: &Default::default(),
            place: settings.gist.place,
            workers: settings.bench.workers,
            directory,
            references: &around.references(),
            scratch: &scratch,
            interrupt: &around.interrupt,
            progress: &|event| tell(&progress, event),
        });
        progress.clear();
        let made = made.or_exit(Exit::Infrastructure)?;
        // What was tried again has its newer result.
        let again = |old: &TaskResult| made.iter().any(|new| same(old, new));
        let before = before.into_iter().filter(|old| !again(old)).collect::<Vec<_>>();
        let results: Vec<TaskResult> = before.into_iter().chain(made.iter().cloned()).collect();
        let summary = summarize(&results);
        let format = match self.format {
            _ if around.json => Format::Json,
            Style::Text => Format::Text,
            Style::Markdown => Format::Markdown,
            Style::Json => Format::Json,
        };
        record
            .write("summary.json", summary.to_string(Format::Json).as_bytes())
            .or_exit(Exit::Infrastructure)?;
        print!("{}", summary.to_string(format));
        progress.say(&format!("record {}", directory.display()));
        progress.clear();
        match around.interrupt.is_triggered() {
            true => Err(Failure::new(Exit::Interrupted, "interrupted")),
            false => Ok(exit(&results, &summary, self.at_least)),
        }
    }

    /// Leaves out the tasks that were not asked for.
    fn select(&self, suites: &mut Suites) {
        if let Some(text) = &self.filter {
            suites.tasks.retain(|task| task.id.contains(text));
        }
        let (from, to) = self.slice.unwrap_or((0, usize::MAX));
        let to = to.min(self.first.unwrap_or(usize::MAX));
        let mut counts = std::collections::BTreeMap::<String, usize>::new();
        suites.tasks.retain(|task| {
            let count = counts.entry(task.suite.clone()).or_default();
            *count += 1;
            (from..to).contains(&(*count - 1))
        });
        if let Some((own, of)) = self.shard {
            let mut at = 0;
            suites.tasks.retain(|_| {
                at += 1;
                (at - 1) % of == own - 1
            });
        }
    }

    fn version(&self, around: &Surroundings) -> Result<Option<(u8, u8)>, Failure> {
        match around.settings.environment.python.as_str() {
            "" => Ok(None),
            text => version(text).map(Some).ok_or_else(|| {
                let message = format!("no version of python: {text} (for example 3.13)");
                Failure::new(Exit::Usage, message)
            }),
        }
    }
}

fn same(a: &TaskResult, b: &TaskResult) -> bool {
    (&a.suite, &a.task) == (&b.suite, &b.task)
}

/// A directory or a revision, with the interpreter that the user names here, or named when the suite was
/// made.
fn elsewhere(
    task: &Task,
    around: &Surroundings,
    sandbox: &dyn Sandbox,
    progress: &Progress,
) -> Result<Supplied, String> {
    let source = task.source.as_deref().unwrap_or_default();
    let own = around.settings.environment.python.as_str();
    let python = if own.is_empty() { task.python.as_str() } else { own };
    let told = |failure: Failure| failure.told();
    let repository = around.repository(source, sandbox, progress).map_err(told)?;
    let environment =
        environment(&repository, false, python, around, sandbox, progress).map_err(told)?;
    Ok(Supplied { repository, environment })
}

/// The worst that became of any task, where some suite is below the fidelity that was asked for. What the
/// machine failed at is never made up for.
fn exit(results: &[TaskResult], summary: &Summary, at_least: f64) -> Exit {
    let of = |result: &TaskResult| match &result.outcome {
        TaskOutcome::Judged(evaluation) if evaluation.quarantine.is_some() => Exit::Success,
        TaskOutcome::Judged(evaluation) => verdict::exit(evaluation),
        TaskOutcome::Infrastructure(_) => Exit::Infrastructure,
    };
    let worst = results.iter().map(of).max().unwrap_or(Exit::Success);
    let reached = summary
        .suites
        .iter()
        .all(|suite| suite.fidelity.is_none_or(|fidelity| fidelity * 100.0 >= at_least - ROUNDING));
    match worst {
        Exit::NotFaithful if reached => Exit::Success,
        worst => worst,
    }
}

/// A mean of zeros and ones that is exact in percent may be off by this much.
const ROUNDING: f64 = 1e-9;

fn percent(text: &str) -> Result<f64, String> {
    let value = text.trim_end_matches('%').parse::<f64>().ok();
    let value = value.filter(|value| (0.0..=100.0).contains(value));
    value.ok_or_else(|| "not a number from 0 to 100".to_owned())
}

fn slice(text: &str) -> Result<(usize, usize), String> {
    let wrong = || "not FROM:TO (for example 10:20, or :20)".to_owned();
    let (from, to) = text.split_once(':').ok_or_else(wrong)?;
    let end = |text: &str, open| if text.is_empty() { Ok(open) } else { text.parse() };
    let from = end(from, 0).map_err(|_| wrong())?;
    let to = end(to, usize::MAX).map_err(|_| wrong())?;
    if from < to { Ok((from, to)) } else { Err("it has no task in it".to_owned()) }
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts =
        text.split_once('/').and_then(|(own, of)| Some((own.parse().ok()?, of.parse().ok()?)));
    let parts = parts.filter(|(own, of): &(usize, usize)| (1..=*of).contains(own));
    parts.ok_or_else(|| "not I/N with I from 1 to N (for example 1/4)".to_owned())
}

fn tell(progress: &Progress, event: BenchEvent<'_>) {
    match event {
        BenchEvent::Started { task, .. } => progress.detail(&format!("start {}", task.id)),
        BenchEvent::Finished { result, done, total, .. } => {
            let what = match &result.outcome {
                TaskOutcome::Judged(evaluation) => scores(evaluation),
                TaskOutcome::Infrastructure(reason) => format!("not scored: {reason}"),
            };
            progress.line(&format!(
                "[{done}/{total}] {}: {what}, {:.1} s",
                result.task, result.seconds
            ));
        }
    }
}

/// The scores of a task on one line.
fn scores(evaluation: &Evaluation) -> String {
    let rate = |name: &str, rate: Option<f64>| {
        rate.map(|rate| format!(", {name} {:.1}", rate * 100.0)).unwrap_or_default()
    };
    let head = match (&evaluation.quarantine, &evaluation.cause) {
        (Some(_), _) => "set aside".to_owned(),
        (None, Some(cause)) => cause.category.to_string(),
        (None, None) => "faithful".to_owned(),
    };
    let existence = evaluation.existence.as_ref().and_then(|score| score.rate_without_glue);
    let execution = evaluation.execution.as_ref().and_then(|score| score.rate);
    head + &rate("existence", existence) + &rate("execution", execution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_suites_are_understood_or_refused() {
        assert_eq!(slice("2:5"), Ok((2, 5)));
        assert_eq!(slice(":5"), Ok((0, 5)));
        assert_eq!(slice("2:"), Ok((2, usize::MAX)));
        assert_eq!(shard("2/3"), Ok((2, 3)));
        assert_eq!(percent("93.5"), Ok(93.5));
        for wrong in ["", "5", "5:2", "a:b", "-1:2"] {
            assert!(slice(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0/3", "4/3", "1", "a/b"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
        for wrong in ["101", "-1", "NaN", "x"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
