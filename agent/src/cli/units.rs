//! `gistify bench plan`, `bench work` and `bench finish`: a bench in three parts, for engines that bring jobs to machines.
//!
//! The plan's directory has all that a worker needs, besides the credentials of models. A worker writes directories of
//! results and nothing else; who finishes is the only one to write the index and the summary.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use ::eval::{
    BenchPlan, BenchUnit, Format, Index, Share, Solver, UnitError, join_results, missing,
    planned_tasks, remove_unfinished, share_of, summarize, units, write_units,
};
use clap::{ArgGroup, Args};
use serde::Deserialize;
use serde_json::Value;
use tools::Sandbox;

use super::{
    Exit, Failure, OrExit,
    bar::{self, Bar, Requirement},
    bench::{BenchTasks, Jobs, Prepared, inputs, run_jobs, shard},
    board::Board,
    formats::{Checked, FormatChoice, Printed},
    progress::printable,
    suites::Suites,
    surroundings::Surroundings,
    tables::Style,
};
use crate::{config::Settings, external::External, record::replace, writer::Writer};

/// Units that are named in a line to paste; of more, the line takes all.
const NAMED: usize = 20;

/// Writes the plan of a bench.
#[derive(Debug, Args)]
pub struct PlanCommand {
    #[command(flatten)]
    pub tasks: Box<BenchTasks>,
}

/// Makes attempts of a planned bench.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("share").required(true).args(["units", "shard", "from_env"]))]
pub struct Work {
    /// The run directory of `bench plan`.
    directory: PathBuf,
    /// A unit by its name in units.jsonl; can be given more than once.
    #[arg(long = "unit", value_name = "ID")]
    units: Vec<String>,
    /// Every Nth unit, starting with the Ith.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<(usize, usize)>,
    /// The share that variables of the engine name: GISTIFY_SHARD=I/N, those of a Slurm array, or JOB_COMPLETION_INDEX
    /// with GISTIFY_SHARDS=N.
    #[arg(long)]
    from_env: bool,
    /// Begin no unit that would not end within this time; its length is the median of those before it.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    until: Option<Duration>,
    /// Units at once.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    workers: u32,
}

/// Joins the results of workers, and prints the tables.
#[derive(Debug, Args)]
pub struct Finish {
    /// The run directory of `bench plan`.
    directory: PathBuf,
    /// Further directories of the same plan, whose results are copied into the first.
    others: Vec<PathBuf>,
    /// The fidelity that every suite, or the one named, has to reach for exit code 0, in percent [default: 100].
    #[arg(long, value_name = "[SUITE=]PERCENT", value_parser = bar::parse)]
    at_least: Vec<Bar>,
    #[command(flatten)]
    required: Requirement,
    /// Format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
    #[command(flatten)]
    output: FormatChoice,
}

impl PlanCommand {
    /// Writes plan.json, tasks.json, units.jsonl, settings.json and the locks, and starts nothing.
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let Prepared { suites, plan, .. } = self.tasks.prepare(around, &[])?;
        let record = self.tasks.fresh_record(around)?;
        let hold = plan.begin(record.path()).or_exit(Exit::Infrastructure)?;
        let locks = record.path().join("locks");
        fs::create_dir_all(&locks).or_exit(Exit::Infrastructure)?;
        copy_files(&suites, &locks)?;
        record.write_json("settings.json", &around.settings).or_exit(Exit::Infrastructure)?;
        let written =
            write_units(record.path(), &plan, &suites.tasks).or_exit(Exit::Infrastructure)?;
        drop(hold);
        let seconds: f64 = written.iter().map(|unit| unit.expected_seconds).sum();
        let directory = record.path().display();
        let message = format!("{} units, {seconds:.0} s of work expected", written.len());
        match around.json {
            true => println!(
                "{}",
                serde_json::json!({
                    "directory": record.path(), "units": written.len(), "expected_seconds": seconds,
                })
            ),
            false => println!("{message}\ngistify bench work {directory} --shard 1/1"),
        }
        Ok(Exit::Success)
    }
}

impl Work {
    /// Makes the attempts of its share that have no result.
    pub fn act(self, around: &mut Surroundings) -> Result<Exit, Failure> {
        let began = Instant::now();
        let share = self.share(around)?;
        let directory = fs::canonicalize(&self.directory)
            .map_err(|error| format!("read {}: {error}", self.directory.display()));
        let directory = directory.map_err(|message| Failure::new(Exit::Input, message))?;
        let plan = BenchPlan::read(&directory).or_exit(Exit::Input)?;
        let tasks = planned_tasks(&directory, &plan).or_exit(Exit::Input)?;
        let chosen = share_of(units(&plan, &tasks), &share, &directory).or_exit(Exit::Usage)?;
        let _attending = BenchPlan::attend(&directory).or_exit(Exit::Input)?;
        let open = missing(&directory, &chosen);
        let mut planned = planned_solvers(&plan)?;
        if let Share::Shard { of, .. } = share {
            planned.iter_mut().for_each(|one| one.settings_mut().divide_caps(of));
        }
        if let Some(first) = planned.first() {
            let workers = self.workers as usize;
            around.settings = first.settings().clone();
            around.settings.bench.workers = workers;
        }
        let sandbox = around.sandbox()?;
        let (writers, externals) = solvers_of(&planned, around, &sandbox)?;
        let found = inputs(&writers, &tasks, around)?;
        let expected = plan.settings.get("inputs").unwrap_or(&Value::Null);
        if found != *expected {
            let message = format!(
                "{}: prompts, programs, addresses or sources here are not those of the plan: \
                 {found}, not {expected}",
                directory.display()
            );
            return Err(Failure::new(Exit::Input, message));
        }
        let mut solvers: Vec<&dyn Solver> = Vec::new();
        for name in &plan.solvers {
            let writer = writers.iter().map(|one| one as &dyn Solver);
            let mut all = writer.chain(externals.iter().map(|one| one as &dyn Solver));
            solvers.push(all.find(|solver| solver.name() == name).ok_or_else(|| {
                let message = format!("{name}: this version gives the solver another name");
                Failure::new(Exit::Input, message)
            })?);
        }
        let locks = directory.join("locks");
        let file = |name: &str| {
            let path = locks.join(plain(name));
            path.is_file().then_some(path)
        };
        let jobs: Vec<_> = open.iter().map(|unit| unit.job).collect();
        let board = Board::new(around.talk, around.settings.bench.workers, jobs.len());
        let made = run_jobs(
            around,
            &*sandbox,
            &board,
            &Jobs {
                tasks: &tasks,
                solvers: &solvers,
                jobs: &jobs,
                directory: &directory,
                // Machines share the directory; each has a user's cache besides.
                references: &[&directory.join("references"), &around.references()],
                index: None,
                until: self.until.map(|time| began + time),
                file: &file,
            },
        );
        board.clear();
        let left = jobs.len() - made?;
        if left > 0 {
            let message = format!("stopped with {left} of {} units left", chosen.len());
            return Err(Failure::new(Exit::Again, message));
        }
        Ok(Exit::Success)
    }

    fn share(&self, around: &Surroundings) -> Result<Share, Failure> {
        match (self.shard, self.from_env) {
            (Some((own, of)), _) => Ok(Share::Shard { own, of }),
            (None, true) => {
                let variable = |name: &str| around.variable(name);
                let (own, of) = shard_of_engine(&variable)
                    .map_err(|message| Failure::new(Exit::Usage, message))?;
                Ok(Share::Shard { own, of })
            }
            (None, false) => Ok(Share::Named(self.units.clone())),
        }
    }
}

impl Finish {
    /// Takes up all results, writes index and summary, and prints the tables.
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let plan = BenchPlan::read(&self.directory).or_exit(Exit::Input)?;
        let tasks = planned_tasks(&self.directory, &plan).or_exit(Exit::Input)?;
        bar::known(&self.at_least, &tasks)?;
        let _hold = BenchPlan::finish(&self.directory).or_exit(Exit::Input)?;
        for other in &self.others {
            join_results(&self.directory, &plan, other).map_err(|error| {
                let exit = match &error {
                    UnitError::Join { .. } => Exit::Infrastructure,
                    _ => Exit::Input,
                };
                Failure { exit, error: error.into() }
            })?;
        }
        let left = missing(&self.directory, &units(&plan, &tasks));
        if left.is_empty() {
            remove_unfinished(&self.directory).or_exit(Exit::Infrastructure)?;
        }
        let (index, unread) = Index::open(&self.directory).or_exit(Exit::Infrastructure)?;
        for error in unread {
            eprintln!("gistify: {}", printable(&error.to_string()));
        }
        let results = index.rows().or_exit(Exit::Infrastructure)?;
        let names: Vec<&str> = plan.solvers.iter().map(String::as_str).collect();
        let summary = summarize(&results, &names);
        let json = summary.to_string(Format::Json);
        replace(&self.directory.join("summary.json"), json.as_bytes())
            .or_exit(Exit::Infrastructure)?;
        match self.output.printed(around) {
            Printed::Full => print!("{}", summary.to_string(self.format.format(around))),
            Printed::Json => print!("{json}"),
            Printed::Checked(format) => {
                let checked: Vec<_> =
                    results.iter().map(|row| Checked::of_attempt(row, &self.directory)).collect();
                print!("{}", format.write(&checked));
            }
        }
        if left.is_empty() {
            return Ok(bar::exit(&results, &self.at_least, self.required));
        }
        let message = format!("{} units have no result: {}", left.len(), self.rest(&left));
        Err(Failure::new(Exit::Again, message))
    }

    /// Returns the command that makes what is missing.
    fn rest(&self, left: &[BenchUnit]) -> String {
        let directory = self.directory.to_string_lossy();
        let directory = shlex::try_quote(&directory).unwrap_or(directory.clone());
        let share = match left.len() > NAMED {
            true => " --shard 1/1".to_owned(),
            false => left.iter().map(|unit| format!(" --unit {}", unit.id)).collect(),
        };
        format!("gistify bench work {directory}{share}")
    }
}

/// Copies the locks and scripts of tasks into a directory, so that a worker needs no file of the planner's.
fn copy_files(suites: &Suites, locks: &Path) -> Result<(), Failure> {
    let files = suites.tasks.iter().flat_map(|task| [task.lock.as_deref(), task.script.as_deref()]);
    let mut names: Vec<&str> = files.flatten().collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let unknown = || Failure::new(Exit::Input, format!("no lock or script {name}"));
        let path = suites.file(name, locks).ok_or_else(unknown)?;
        let own = locks.join(plain(name));
        if path != own {
            fs::copy(&path, &own).or_exit(Exit::Infrastructure)?;
        }
    }
    Ok(())
}

fn plain(name: &str) -> String {
    name.replace('/', "-")
}

/// A solver as a plan has it.
enum PlannedSolver {
    Writer(Settings),
    External { name: String, words: Vec<String>, reads: Vec<PathBuf>, settings: Settings },
}

#[derive(Deserialize)]
struct PlannedExternal {
    command: Vec<String>,
    #[serde(default)]
    reads: Vec<PathBuf>,
    settings: Settings,
}

impl PlannedSolver {
    fn settings(&self) -> &Settings {
        match self {
            Self::Writer(settings) | Self::External { settings, .. } => settings,
        }
    }

    fn settings_mut(&mut self) -> &mut Settings {
        match self {
            Self::Writer(settings) | Self::External { settings, .. } => settings,
        }
    }
}

/// Reads the solvers of a plan.
fn planned_solvers(plan: &BenchPlan) -> Result<Vec<PlannedSolver>, Failure> {
    let mut settings = plan.settings.clone();
    let wrong = |error: serde_json::Error| {
        Failure::new(Exit::Input, format!("read the settings of the plan: {error}"))
    };
    if let Value::Object(map) = &mut settings {
        map.remove("inputs");
    }
    if settings.get("writer").is_some() {
        let settings = serde_json::from_value(settings).map_err(wrong)?;
        return Ok(vec![PlannedSolver::Writer(settings)]);
    }
    let mut planned = Vec::new();
    for solver in &plan.solvers {
        let own = settings.get(solver).cloned().unwrap_or(Value::Null);
        planned.push(match own.get("command") {
            None => PlannedSolver::Writer(serde_json::from_value(own).map_err(wrong)?),
            Some(_) => {
                let own: PlannedExternal = serde_json::from_value(own).map_err(wrong)?;
                let model = format!(" {}", own.settings.writer.model);
                let name = solver.strip_suffix(&model).unwrap_or(solver).to_owned();
                let (words, reads) = (own.command, own.reads);
                PlannedSolver::External { name, words, reads, settings: own.settings }
            }
        });
    }
    Ok(planned)
}

/// Makes the solvers of a plan on this machine.
fn solvers_of(
    planned: &[PlannedSolver],
    around: &Surroundings,
    sandbox: &Arc<dyn Sandbox>,
) -> Result<(Vec<Writer>, Vec<External>), Failure> {
    let access = around.access();
    let (mut writers, mut externals): (Vec<Writer>, Vec<External>) = Default::default();
    for one in planned {
        let writer = Writer::new(one.settings().clone(), Arc::clone(sandbox), &access);
        let mut writer = writer.or_exit(Exit::Usage)?;
        let others = writers.iter().chain(externals.iter().map(External::writer));
        writer.share(others);
        match one {
            PlannedSolver::Writer(_) => writers.push(writer),
            PlannedSolver::External { name, words, reads, .. } => {
                externals.push(External::new(name, words.clone(), reads.clone(), writer));
            }
        }
    }
    Ok((writers, externals))
}

/// Returns the share that variables name: which, of how many.
fn shard_of_engine(variable: &dyn Fn(&str) -> Option<String>) -> Result<(usize, usize), String> {
    let number = |name: &str| -> Result<Option<usize>, String> {
        variable(name)
            .map(|text| text.trim().parse().map_err(|_| format!("{name}: {text} is no number")))
            .transpose()
    };
    if let Some(text) = variable("GISTIFY_SHARD") {
        return shard(&text).map_err(|why| format!("GISTIFY_SHARD: {why}"));
    }
    let (name, own, of) = match number("SLURM_ARRAY_TASK_ID")? {
        Some(id) => {
            let (least, step) = ("SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP");
            let (least, step) = (number(least)?.unwrap_or(1), number(step)?.unwrap_or(1).max(1));
            let own = id.checked_sub(least).map(|above| above / step + 1);
            ("SLURM_ARRAY_TASK_COUNT", own, number("SLURM_ARRAY_TASK_COUNT")?)
        }
        None => match number("JOB_COMPLETION_INDEX")? {
            Some(index) => ("GISTIFY_SHARDS", Some(index + 1), number("GISTIFY_SHARDS")?),
            None => {
                let names = "GISTIFY_SHARD, SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX";
                return Err(format!("--from-env: none of {names} is set"));
            }
        },
    };
    let of = of.ok_or_else(|| format!("--from-env: {name} is not set"))?;
    match own {
        Some(own) if (1..=of).contains(&own) => Ok((own, of)),
        _ => Err(format!("--from-env: the index is not below {name}={of}")),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|number| Duration::try_from_secs_f64(number).ok());
    seconds.ok_or_else(|| "no number of seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_engines_are_known_whole_or_refused() {
        for (variables, expected) in [
            ("GISTIFY_SHARD=2/5 SLURM_ARRAY_TASK_ID=9", Ok((2, 5))),
            ("SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=4", Ok((3, 4))),
            ("SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_COUNT=4", Ok((1, 4))),
            (
                "SLURM_ARRAY_TASK_ID=15 SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_STEP=5 \
                 SLURM_ARRAY_TASK_COUNT=3",
                Ok((3, 3)),
            ),
            ("SLURM_ARRAY_TASK_ID=3", Err("SLURM_ARRAY_TASK_COUNT is not set")),
            ("SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=4", Err("is not below")),
            ("JOB_COMPLETION_INDEX=0 GISTIFY_SHARDS=2", Ok((1, 2))),
            ("JOB_COMPLETION_INDEX=0", Err("GISTIFY_SHARDS is not set")),
            ("JOB_COMPLETION_INDEX=x GISTIFY_SHARDS=2", Err("x is no number")),
            ("", Err("none of GISTIFY_SHARD")),
        ] {
            let variable = |name: &str| {
                variables.split_whitespace().find_map(|pair| {
                    let (key, value) = pair.split_once('=')?;
                    (key == name).then(|| value.to_owned())
                })
            };
            match (shard_of_engine(&variable), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{variables}"),
                (Err(found), Err(part)) => assert!(found.contains(part), "{variables}: {found}"),
                (found, _) => panic!("{variables}: {found:?}"),
            }
        }
    }
}
