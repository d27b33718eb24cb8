//! `gistify bench`: suites of tasks, each attempted and judged, and their tables.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use ::eval::{
    BenchPlan, BenchSpec, CachedSupply, Category, Format, Index, Job, Known, Retry, Solver,
    Supplied, Task, bench, remaining, remove_unfinished, summarize,
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tools::{Repository, Sandbox};

use super::{
    Exit, Failure, OrExit,
    bar::{self, Bar, Requirement},
    board::Board,
    destination::check_new_directory,
    flags::Flags,
    formats::{Checked, FormatChoice, Printed},
    progress::{ProgressLine, printable},
    run::record,
    suites::Suites,
    surroundings::{Surroundings, of_repository},
    tables::Style,
    target::{Wanted, environment, version},
    units::{Finish, PlanCommand, Work},
};
use crate::{
    config::scaffolds, external::External, model::Provider, record::RunDirectory, writer::Writer,
};

/// A bench, whole or one of its three parts.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct BenchCommand {
    #[command(subcommand)]
    part: Option<Part>,
    #[command(flatten)]
    whole: Bench,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Write the plan of a bench for workers on many machines, and start nothing.
    Plan(PlanCommand),
    /// Make attempts of a planned bench: a share of its units.
    Work(Work),
    /// Join the results of workers, write index and summary, and print the tables.
    Finish(Finish),
}

impl BenchCommand {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        match &self.part {
            None => self.whole.tasks.flags(),
            Some(Part::Plan(plan)) => plan.tasks.flags(),
            Some(Part::Work(_) | Part::Finish(_)) => Flags::default(),
        }
    }

    pub fn act(self, around: &mut Surroundings) -> Result<Exit, Failure> {
        match self.part {
            None => self.whole.act(around),
            Some(Part::Plan(plan)) => plan.act(around),
            Some(Part::Work(work)) => work.act(around),
            Some(Part::Finish(finish)) => finish.act(around),
        }
    }
}

/// The tasks, solvers and plan of a bench, before it has a directory.
pub struct Prepared {
    /// Tasks and locks.
    pub suites: Suites,
    /// The plan.
    pub plan: BenchPlan,
    sandbox: Arc<dyn Sandbox>,
    writers: Vec<Writer>,
    externals: Vec<External>,
}

impl Prepared {
    fn solvers(&self) -> Vec<&dyn Solver> {
        all_solvers(&self.writers, &self.externals)
    }
}

/// Jobs of a bench on this machine.
pub struct Jobs<'a> {
    /// All tasks of the bench.
    pub tasks: &'a [Task],
    /// All solvers of the bench.
    pub solvers: &'a [&'a dyn Solver],
    /// The jobs.
    pub jobs: &'a [Job],
    /// The run's directory.
    pub directory: &'a Path,
    /// The directories of reference runs: all are read, and the first one is written.
    pub references: &'a [&'a Path],
    /// The index, where no other process is at work in the directory.
    pub index: Option<&'a Index>,
    /// The time after which no job begins that will not end before it.
    pub until: Option<Instant>,
    /// Finds a lock or a script by its name in a suite.
    pub file: &'a (dyn Fn(&str) -> Option<PathBuf> + Sync),
}

/// The tasks and solvers of a bench.
#[derive(Debug, Args)]
pub struct BenchTasks {
    /// Suites: names, or files that end in `.toml`.
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<String>,
    /// Tasks at once.
    #[arg(short, long, value_name = "N")]
    workers: Option<u32>,
    /// Mutants of each original, by which the sensitivity of faithful gists is measured [default: 20].
    #[arg(long, value_name = "N")]
    mutants: Option<u32>,
    /// Run each gist once more in an empty directory and an ordinary shell.
    #[arg(long)]
    alone: bool,
    /// A version of Python in the place of the tasks' own.
    #[arg(long, value_name = "VERSION")]
    python: Option<String>,
    /// A directory with interpreters that are not on the PATH; can be given more than once.
    #[arg(long, value_name = "DIR")]
    pythons: Vec<String>,
    /// The writers: offline, human, command/PROGRAM, or PROVIDER/MODEL; each one given does all
    /// tasks.
    #[arg(short, long = "model", value_name = "MODEL")]
    models: Vec<String>,
    /// The scaffolds, as `gistify scaffolds` lists them; each model works in each of them.
    #[arg(long = "scaffold", value_name = "NAME")]
    scaffolds: Vec<String>,
    /// Tools besides the scaffold's, such as trace,slice,execute.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    with: Vec<String>,
    /// The instruction that writers receive first: base, reading or tracing.
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    /// A program that works as it is, with the model of -m behind a gateway: NAME=COMMAND, in which {repo},
    /// {task} and {output} are filled in.
    #[arg(long = "external", value_name = "NAME=COMMAND", value_parser = external)]
    externals: Vec<(String, Vec<String>)>,
    /// Directories that external programs may read besides the system's: their own.
    #[arg(long = "external-reads", value_name = "DIR")]
    external_reads: Vec<PathBuf>,
    /// Attempts of each at each task.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
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
    /// Leave everything in this directory, which has to be empty.
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Bench {
    #[command(flatten)]
    tasks: BenchTasks,
    /// The fidelity that every suite, or the one named, has to reach for exit code 0, in percent [default: 100].
    #[arg(long, value_name = "[SUITE=]PERCENT", value_parser = bar::parse)]
    at_least: Vec<Bar>,
    #[command(flatten)]
    required: Requirement,
    /// Finish what was begun in this directory, by the same command.
    #[arg(long, value_name = "DIR", conflicts_with = "run_dir")]
    resume: Option<PathBuf>,
    /// Classes to repeat on --resume besides attempts without a result: infrastructure, unfit,
    /// quarantined, limit, or an error category such as run-time-error.
    #[arg(long, value_name = "CLASS", value_delimiter = ',', default_value = "infrastructure", value_parser = retry)]
    retry: Vec<Retry>,
    /// Format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
    #[command(flatten)]
    output: FormatChoice,
}

impl BenchTasks {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        // Whatever is wrong with the others shows when their turn comes.
        flags.text("--model", "writer.model", self.models.first().map(String::as_str));
        flags.text("--scaffold", "writer.scaffold", self.scaffolds.first().map(String::as_str));
        flags.names("--with", "writer.with", &self.with);
        flags.text("--strategy", "writer.strategy", self.strategy.as_deref());
        flags.number("--workers", "bench.workers", self.workers);
        flags.number("--mutants", "bench.mutants", self.mutants);
        flags.switch("--alone", "bench.alone", self.alone);
        flags.text("--python", "environment.python", self.python.as_deref());
        flags.names("--pythons", "environment.pythons", &self.pythons);
        flags
    }

    /// Reads the suites and makes the solvers, and the plan. Whatever is wrong with the command line is said here, before
    /// there is a directory.
    pub fn prepare(&self, around: &Surroundings, at_least: &[Bar]) -> Result<Prepared, Failure> {
        self.run_dir.as_deref().map_or(Ok(()), check_new_directory)?;
        let sandbox = around.sandbox()?;
        let writers = self.writers(around, &sandbox)?;
        let externals = self.externals(around, &sandbox, &writers)?;
        // Where there are external programs, models are behind them alone.
        let writers = if externals.is_empty() { writers } else { Vec::new() };
        let mut suites = Suites::read(&self.suites, &around.settings.bench.suites)?;
        bar::known(at_least, &suites.tasks)?;
        self.select(&mut suites);
        if suites.tasks.is_empty() {
            return Err(Failure::new(Exit::Input, "no task is left to run (see --filter)"));
        }
        for task in &suites.tasks {
            let Some(source) = &task.source else { continue };
            Repository::check_name(source).map_err(|error| {
                let failure = of_repository(error);
                let message = format!("task {} of {}: {}", task.id, task.suite, failure.message());
                Failure::new(failure.exit, message)
            })?;
        }
        version_of(around)?;
        let solvers = all_solvers(&writers, &externals);
        let names: Vec<&str> = solvers.iter().map(|solver| solver.name()).collect();
        let mut settings = resolved(&writers, &externals)?;
        settings["inputs"] = inputs(&writers, &suites.tasks, around)?;
        let plan = BenchPlan::new(&names, self.repeat, settings, &suites.tasks);
        Ok(Prepared { suites, plan, sandbox, writers, externals })
    }

    /// Makes the run's directory.
    pub fn fresh_record(&self, around: &Surroundings) -> Result<RunDirectory, Failure> {
        record(self.run_dir.as_deref(), around)
    }

    /// Every external program with every model.
    fn externals(
        &self,
        around: &Surroundings,
        sandbox: &Arc<dyn Sandbox>,
        writers: &[Writer],
    ) -> Result<Vec<External>, Failure> {
        let access = around.access();
        let mut found = Vec::new();
        for (name, words) in &self.externals {
            for writer in writers {
                if writer.model() == "offline" {
                    let message = "an external program needs a model behind its gateway (see -m)";
                    return Err(Failure::new(Exit::Usage, message));
                }
                let own = Writer::new(writer.settings().clone(), Arc::clone(sandbox), &access);
                let mut own = own.or_exit(Exit::Usage)?;
                own.share([writer].into_iter());
                let reads = self.external_reads.clone();
                found.push(External::new(name, words.clone(), reads, own));
            }
        }
        Ok(found)
    }

    /// Every model in every scaffold; the offline one in those that have the slicer, or its usual one.
    fn writers(
        &self,
        around: &Surroundings,
        sandbox: &Arc<dyn Sandbox>,
    ) -> Result<Vec<Writer>, Failure> {
        let own = &around.settings.writer;
        let access = around.access();
        let mut writers: Vec<Writer> = Vec::new();
        let mut add = |settings| {
            let made = Writer::for_gists(settings, Arc::clone(sandbox), &access);
            let mut writer = made.or_exit(Exit::Usage)?;
            writer.share(writers.iter());
            if !writers.iter().any(|other| other.name() == writer.name()) {
                writers.push(writer);
            }
            Ok::<_, Failure>(())
        };
        if self.models.len() <= 1 && self.scaffolds.len() <= 1 {
            add(around.settings.clone())?;
            return Ok(writers);
        }
        let models =
            if self.models.is_empty() { vec![own.model.clone()] } else { self.models.clone() };
        let auto = "auto".to_owned();
        for model in &models {
            let known = scaffolds();
            let has_slicer = |name: &String| {
                known.iter().any(|scaffold| scaffold.name == *name && scaffold.has_slicer())
            };
            let fits = |name: &&String| model != "offline" || has_slicer(name);
            let mut chosen: Vec<&String> = self.scaffolds.iter().filter(fits).collect();
            if chosen.is_empty() {
                chosen.push(&auto);
            }
            for scaffold in chosen {
                add(around.settings_with(model, scaffold)?)?;
            }
        }
        Ok(writers)
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
}

impl Bench {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let settings = &around.settings;
        let prepared = self.tasks.prepare(around, &self.at_least)?;
        let Prepared { suites, plan, .. } = &prepared;
        let solvers = prepared.solvers();
        let names: Vec<&str> = solvers.iter().map(|solver| solver.name()).collect();
        let record = match &self.resume {
            Some(directory) => {
                let record = RunDirectory::reopen(directory).or_exit(Exit::Input)?;
                around.log.continue_beside(record.path()).or_exit(Exit::Infrastructure)?;
                record
            }
            None => self.tasks.fresh_record(around)?,
        };
        let _hold = match &self.resume {
            Some(_) => plan.resume(record.path()).or_exit(Exit::Input)?,
            None => plan.begin(record.path()).or_exit(Exit::Infrastructure)?,
        };
        let directory = record.path();
        remove_unfinished(directory).or_exit(Exit::Infrastructure)?;
        let (index, unread) = Index::open(directory).or_exit(Exit::Infrastructure)?;
        for error in unread {
            eprintln!("gistify: {} (it is made again)", printable(&error.to_string()));
        }
        let before = index.rows().or_exit(Exit::Infrastructure)?;
        let open = remaining(&suites.tasks, &names, self.tasks.repeat, &before, &self.retry);
        drop(before);
        let locks = directory.join("locks");
        fs::create_dir_all(&locks).or_exit(Exit::Infrastructure)?;
        record.write_json("settings.json", settings).or_exit(Exit::Infrastructure)?;
        let board = Board::new(around.talk, settings.bench.workers, open.len());
        let made = run_jobs(
            around,
            &*prepared.sandbox,
            &board,
            &Jobs {
                tasks: &suites.tasks,
                solvers: &solvers,
                jobs: &open,
                directory,
                references: &[&around.references()],
                index: Some(&index),
                until: None,
                file: &|name| suites.file(name, &locks),
            },
        );
        board.clear();
        let left = open.len() - made?;
        let results = index.rows().or_exit(Exit::Infrastructure)?;
        let summary = summarize(&results, &names);
        record
            .write("summary.json", summary.to_string(Format::Json).as_bytes())
            .or_exit(Exit::Infrastructure)?;
        match self.output.printed(around) {
            Printed::Full => print!("{}", summary.to_string(self.format.format(around))),
            Printed::Json => print!("{}", summary.to_string(Format::Json)),
            Printed::Checked(format) => {
                let checked: Vec<_> =
                    results.iter().map(|row| Checked::of_attempt(row, directory)).collect();
                print!("{}", format.write(&checked));
            }
        }
        board.progress().say(&format!("record {}", directory.display()));
        board.clear();
        if left > 0 {
            let all = suites.tasks.len() * solvers.len() * self.tasks.repeat as usize;
            let message = format!("interrupted with {left} of {all} attempts left (see --resume)");
            return Err(Failure::new(Exit::Interrupted, message));
        }
        Ok(bar::exit(&results, &self.at_least, self.required))
    }
}

/// Runs jobs on this machine, and returns how many have a result.
pub fn run_jobs(
    around: &Surroundings,
    sandbox: &dyn Sandbox,
    board: &Board,
    jobs: &Jobs<'_>,
) -> Result<usize, Failure> {
    let settings = &around.settings;
    let progress = board.progress();
    let supply = CachedSupply {
        cache: around.store()?,
        sandbox,
        host: &around.host,
        interrupt: &around.interrupt,
        python: version_of(around)?,
        files: jobs.file,
        elsewhere: &|task| {
            elsewhere(task, &|name: &str| (jobs.file)(name), around, sandbox, progress)
        },
        progress: &|sign| progress.sign(sign),
        known: Known::default(),
    };
    let made = bench(&BenchSpec {
        tasks: jobs.tasks,
        solvers: jobs.solvers,
        jobs: jobs.jobs,
        supply: &supply,
        sandbox,
        limits: settings.command.limits(),
        reference_runs: settings.reference.runs,
        mutants: settings.bench.mutants,
        variables: &Default::default(),
        place: settings.gist.place,
        workers: settings.bench.workers,
        directory: jobs.directory,
        index: jobs.index,
        until: jobs.until,
        references: jobs.references,
        scratch: &around.scratch()?,
        drain: &around.drain,
        interrupt: &around.interrupt,
        progress: &|event| {
            // Without its plan a bench cannot go on: what has begun ends, and nothing more begins.
            if !BenchPlan::is_in(jobs.directory) {
                around.drain.trigger();
            }
            board.tell(event);
        },
    });
    board.clear();
    // Whatever went on in memory, there is nothing left to look at.
    if !BenchPlan::is_in(jobs.directory) {
        let message =
            format!("{}: the run directory was removed or emptied", jobs.directory.display());
        return Err(Failure::new(Exit::Infrastructure, message));
    }
    made.or_exit(Exit::Infrastructure)
}

fn all_solvers<'a>(writers: &'a [Writer], externals: &'a [External]) -> Vec<&'a dyn Solver> {
    let writers = writers.iter().map(|one| one as &dyn Solver);
    writers.chain(externals.iter().map(|one| one as &dyn Solver)).collect()
}

/// Returns the version of Python that the settings give all tasks.
fn version_of(around: &Surroundings) -> Result<Option<(u8, u8)>, Failure> {
    match around.settings.environment.python.as_str() {
        "" => Ok(None),
        text => version(text).map(Some).ok_or_else(|| {
            let message =
                format!("--python, environment.python: {text} is no version (for example 3.13)");
            Failure::new(Exit::Usage, message)
        }),
    }
}

fn external(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, command) = text.split_once('=').ok_or("not NAME=COMMAND")?;
    let words = shlex::split(command).filter(|words| !words.is_empty());
    Ok((name.to_owned(), words.ok_or("its command is empty or has an open quote")?))
}

/// All settings: those of the only writer, or those of each by its name.
fn resolved(writers: &[Writer], externals: &[External]) -> Result<Value, Failure> {
    let of =
        |writer: &Writer| serde_json::to_value(writer.settings()).or_exit(Exit::Infrastructure);
    if let [only] = writers {
        return of(only);
    }
    let named = writers.iter().map(|writer| Ok((writer.name().to_owned(), of(writer)?)));
    let others = externals.iter().map(|external| {
        let (words, settings) = (external.words(), of(external.writer())?);
        Ok((
            external.name().to_owned(),
            json!({ "command": words, "reads": external.reads(), "settings": settings }),
        ))
    });
    Ok(Value::Object(named.chain(others).collect::<Result<_, Failure>>()?))
}

/// Returns the inputs of results besides settings: the prompts, the program of a model, its address, and the directories that
/// tasks are of. A bench that goes on has to have the same.
pub fn inputs(writers: &[Writer], tasks: &[Task], around: &Surroundings) -> Result<Value, Failure> {
    let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex()[..16].to_owned();
    let mut found = serde_json::Map::new();
    for writer in writers {
        let model = writer.settings().writer.model.as_str();
        if model == "offline" {
            continue;
        }
        let mut own = serde_json::Map::new();
        own.insert("prompts".to_owned(), writer.prompts().digest().into());
        if let Some(words) = model.strip_prefix("command/").and_then(shlex::split) {
            for word in words {
                if let Ok(bytes) = fs::read(&word) {
                    own.insert(format!("program {word}"), hash(&bytes).into());
                }
            }
        } else if let Some((provider, _)) = model.split_once('/') {
            let more = &writer.settings().model.providers;
            let more = Some(more.as_path()).filter(|path| !path.as_os_str().is_empty());
            if let Ok(provider) = Provider::named(provider, more, &around.access().credentials) {
                own.insert("address".to_owned(), provider.base_url.into());
            }
        }
        found.insert(writer.name().to_owned(), own.into());
    }
    let sources: BTreeSet<&str> = tasks.iter().filter_map(|task| task.source.as_deref()).collect();
    for source in sources.into_iter().filter(|source| Path::new(source).is_dir()) {
        let repository = Repository::of_directory(Path::new(source)).or_exit(Exit::Input)?;
        found.insert(format!("source {source}"), repository.fingerprint[..16].into());
    }
    Ok(found.into())
}

/// A directory or a revision, with the interpreter that the user names here, or named when the suite was
/// made; where the suite has a lock, with an environment of its own.
fn elsewhere(
    task: &Task,
    locks: &dyn Fn(&str) -> Option<PathBuf>,
    around: &Surroundings,
    sandbox: &dyn Sandbox,
    progress: &ProgressLine,
) -> Result<Supplied, String> {
    let source = task.source.as_deref().unwrap_or_default();
    let own = around.settings.environment.python.as_str();
    let python = if own.is_empty() { task.python.as_str() } else { own };
    let told = |failure: Failure| failure.message();
    let repository = around.repository(source, sandbox, progress).map_err(told)?;
    let lock = task
        .lock
        .as_deref()
        .map(|lock| locks(lock).ok_or_else(|| format!("task {}: no lock file {lock}", task.id)));
    let lock = lock.transpose()?;
    let pythonpath = Some(task.pythonpath.as_slice()).filter(|entries| !entries.is_empty());
    let wanted = Wanted { release: false, python, lock: lock.as_deref(), pythonpath };
    let environment = environment(&repository, wanted, around, sandbox, progress).map_err(told)?;
    Ok(Supplied { repository, environment, script: None })
}

fn slice(text: &str) -> Result<(usize, usize), String> {
    let wrong = || "not FROM:TO (for example 10:20, or :20)".to_owned();
    let (from, to) = text.split_once(':').ok_or_else(wrong)?;
    let end = |text: &str, open| if text.is_empty() { Ok(open) } else { text.parse() };
    let from = end(from, 0).map_err(|_| wrong())?;
    let to = end(to, usize::MAX).map_err(|_| wrong())?;
    if from < to { Ok((from, to)) } else { Err("it has no task in it".to_owned()) }
}

/// Reads `I/N`.
pub fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts =
        text.split_once('/').and_then(|(own, of)| Some((own.parse().ok()?, of.parse().ok()?)));
    let parts = parts.filter(|(own, of): &(usize, usize)| (1..=*of).contains(own));
    parts.ok_or_else(|| "not I/N with I from 1 to N (for example 1/4)".to_owned())
}

fn retry(text: &str) -> Result<Retry, String> {
    let mut classes = vec![
        ("infrastructure".to_owned(), Retry::Infrastructure),
        ("unfit".to_owned(), Retry::Unfit),
        ("quarantined".to_owned(), Retry::Quarantined),
        ("limit".to_owned(), Retry::Limit),
    ];
    let categories = Category::ALL.into_iter();
    classes.extend(categories.map(|one| (one.to_string().replace(' ', "-"), Retry::Category(one))));
    let names = || classes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let found = classes.iter().find(|(name, _)| name == text).map(|(_, retry)| *retry);
    found.ok_or_else(|| format!("there are {}", names()))
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
        for wrong in ["", "5", "5:2", "a:b", "-1:2"] {
            assert!(slice(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0/3", "4/3", "1", "a/b"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
        assert_eq!(retry("limit"), Ok(Retry::Limit));
        assert_eq!(retry("run-time-error"), Ok(Retry::Category(Category::RuntimeError)));
        assert!(retry("weather").unwrap_err().contains("infrastructure, unfit"));
    }
}
