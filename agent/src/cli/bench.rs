//! `gistify bench`: suites of tasks, each attempted and judged, and their tables.

use std::{fs, path::PathBuf};

use ::eval::{
    BenchEvent, BenchSpec, CachedSupply, Evaluation, Format, Known, TaskOutcome, TaskResult, bench,
    summarize,
};
use clap::{Args, ValueEnum};

use super::{
    Exit, Failure, OrExit, flags::Flags, progress::Progress, run::record, suites::Suites,
    surroundings::Surroundings, target::version, verdict, writing::Writing,
};
use crate::writer::Writer;

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
    /// Leave everything in this directory, which has to be empty.
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
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
        let record = record(self.run_dir.as_deref(), around)?;
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
            progress: &|sign| progress.sign(sign),
            known: Known::default(),
        };
        let results = bench(&BenchSpec {
            tasks: &suites.tasks,
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
        let results = results.or_exit(Exit::Infrastructure)?;
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
            false => Ok(exit(&results)),
        }
    }

    /// Leaves out the tasks that were not asked for.
    fn select(&self, suites: &mut Suites) {
        if let Some(text) = &self.filter {
            suites.tasks.retain(|task| task.id.contains(text));
        }
        if let Some(first) = self.first {
            let mut counts = std::collections::BTreeMap::<String, usize>::new();
            suites.tasks.retain(|task| {
                let count = counts.entry(task.suite.clone()).or_default();
                *count += 1;
                *count <= first
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

/// The worst that became of any task.
fn exit(results: &[TaskResult]) -> Exit {
    let of = |result: &TaskResult| match &result.outcome {
        TaskOutcome::Judged(evaluation) if evaluation.quarantine.is_some() => Exit::Success,
        TaskOutcome::Judged(evaluation) => verdict::exit(evaluation),
        TaskOutcome::Infrastructure(_) => Exit::Infrastructure,
    };
    results.iter().map(of).max().unwrap_or(Exit::Success)
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
