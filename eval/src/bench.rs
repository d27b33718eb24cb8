//! Runs tasks times solvers times repetitions: every attempt is judged and recorded as it finishes.
//!
//! A failure outside of a gist is an infrastructure failure of its attempt and is counted
//! separately; one attempt never stops the others. The original is measured once for all solvers,
//! before any of them begins. Nothing on disk is also kept in memory. `report` shows the results.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions, TryLockError},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use graph::Trace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tools::{
    Command, Environment, GistPlace, Interrupt, Limits, Lock, Repository, Sandbox, Workspace,
};

use crate::{
    baseline::Baseline,
    codebase::Codebases,
    error::EvalError,
    evaluate::{EvaluateSpec, Evaluation, evaluate},
    gist::Submission,
    index::{Index, IndexError, RESULT},
    reference::{Reference, ReferenceSpec, key},
    row::Row,
    solver::{AttemptCount, AttemptRecord, Solver, TaskContext},
    source_map::SourceMap,
    sources::Sources,
    store::{self, Record, StoreError},
    task::{Counts, Difficulty, Task},
    touched::Touched,
};

/// Name of what is kept of the original in a task's directory.
const TOUCHED: &str = "touched.json";
/// Name of where a gist's lines stand in the original, in an attempt's directory.
const SOURCES: &str = "sources.json";

/// The inputs of a bench.
pub struct BenchSpec<'a> {
    /// The tasks.
    pub tasks: &'a [Task],
    /// The writers of the gists.
    pub solvers: &'a [&'a dyn Solver],
    /// The jobs, in the order in which they start.
    pub jobs: &'a [Job],
    /// The source of repositories and environments.
    pub supply: &'a dyn Supply,
    /// The sandbox of all runs.
    pub sandbox: &'a dyn Sandbox,
    /// Bounds on each run of a command.
    pub limits: Limits,
    /// Untraced runs of each original.
    pub reference_runs: u32,
    /// Mutants of each original; 0 for none.
    pub mutants: u32,
    /// Environment variables of each run.
    pub variables: &'a BTreeMap<String, String>,
    /// The place of gists.
    pub place: GistPlace,
    /// Attempts at a time.
    pub workers: usize,
    /// The directory for results.
    pub directory: &'a Path,
    /// The index of the results, where this bench has its directory to itself. Without it other processes may work on
    /// the same jobs, and a result that is there stays.
    pub index: Option<&'a Index>,
    /// The time after which no job begins that will not end before it.
    pub until: Option<Instant>,
    /// The directories in which references are stored by content. All are read, and the first one is written.
    pub references: &'a [&'a Path],
    /// The directory for working directories.
    pub scratch: &'a Path,
    /// Set when the user wants nothing more to begin.
    pub drain: &'a Interrupt,
    /// Set when the user wants everything to stop.
    pub interrupt: &'a Interrupt,
    /// The receiver of progress events; called from several threads.
    pub progress: &'a (dyn Fn(BenchEvent<'_>) + Sync),
}

/// One attempt to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// Place of its task.
    pub task: usize,
    /// Place of its solver.
    pub solver: usize,
    /// The number of the solver's attempt at the task, from 1.
    pub repetition: u32,
}

/// Why a bench cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A result cannot be written: a bench that leaves no record is worth nothing.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A result cannot be noted.
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// Makes a task's repository and environment available.
pub trait Supply: Sync {
    /// Returns the repository, unchanged, and the environment of its commands.
    ///
    /// # Errors
    /// A message that names the unavailable part.
    fn supply(&self, task: &Task) -> Result<Supplied, String>;
}

/// The repository and environment of a task.
#[derive(Debug, Clone)]
pub struct Supplied {
    /// The repository.
    pub repository: Repository,
    /// The interpreter and packages of its commands.
    pub environment: Environment,
    /// The task's script.
    pub script: Option<PathBuf>,
}

/// A sign of life.
#[derive(Debug, Clone, Copy)]
pub enum BenchEvent<'a> {
    /// An attempt begins.
    Started {
        /// The task.
        task: &'a Task,
        /// The solver.
        solver: &'a str,
        /// The worker.
        worker: usize,
    },
    /// An attempt has its result, which is on disk.
    Finished {
        /// The result.
        row: &'a Row,
        /// The worker.
        worker: usize,
        /// Results so far.
        done: usize,
        /// Attempts in all.
        total: usize,
    },
}

/// The result of one attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskResult {
    /// The suite.
    pub suite: String,
    /// The task.
    pub task: String,
    /// The solver.
    pub solver: String,
    /// The number of its attempt at the task, from 1.
    pub repetition: u32,
    /// The difficulty of the task, from the suite.
    pub difficulty: Difficulty,
    /// The record of the attempt, if one was made.
    pub attempt: Option<AttemptRecord>,
    /// The scores, or why there are none.
    pub outcome: TaskOutcome,
    /// The author's outcomes, if the reference's differ.
    pub expected: Option<Counts>,
    /// Wall-clock seconds of everything.
    pub seconds: f64,
}

impl Record for TaskResult {
    const VERSION: u32 = 3;
}

impl TaskResult {
    /// Reads a result from the directory of its attempt.
    ///
    /// # Errors
    /// It cannot be read, or the gist beside it is not the one that was scored.
    pub(crate) fn read(directory: &Path) -> Result<Self, StoreError> {
        let result = store::read::<Self>(&directory.join(RESULT))?;
        let scored = result.attempt.as_ref().and_then(|attempt| attempt.gist.as_ref());
        let path = directory.join(tools::GIST_NAME);
        match scored {
            Some(scored)
                if fs::read(&path).map(|text| hash_of(&text)).ok().as_ref() != Some(scored) =>
            {
                Err(StoreError::Changed { path })
            }
            _ => Ok(result),
        }
    }
}

fn hash_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Scores, or why there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskOutcome {
    /// It was judged; a quarantined task says so there.
    Judged(Box<Evaluation>),
    /// The task rejects the original, or accepts an empty gist.
    Unfit(String),
    /// Something besides the gist failed.
    Infrastructure(String),
}

/// Makes and judges every attempt; gives how many have a result now. After an interrupt those that were
/// not begun, or were stopped, have none.
///
/// # Errors
/// When a result cannot be written or noted.
pub fn bench(spec: &BenchSpec<'_>) -> Result<usize, BenchError> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let failure: Mutex<Option<BenchError>> = Mutex::new(None);
    let took: Mutex<Vec<f64>> = Mutex::default();
    let shared = Shared::default();
    let stopped = || spec.interrupt.is_triggered() || spec.drain.is_triggered();
    let work = |worker: usize| {
        loop {
            let at = next.fetch_add(1, Ordering::SeqCst);
            let Some(job) = spec.jobs.get(at) else { return };
            if stopped() || lock(&failure).is_some() {
                return;
            }
            let (task, solver) = (&spec.tasks[job.task], spec.solvers[job.solver].name());
            if spec.until.is_some_and(|until| Instant::now() + typical(&took) > until) {
                return;
            }
            let place = place(task, solver, job.repetition);
            // Another process was faster.
            if spec.index.is_none() && spec.directory.join(&place).join(RESULT).exists() {
                done.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            (spec.progress)(BenchEvent::Started { task, solver, worker });
            let made = Staged::make(spec.directory, &place, worker).map_err(BenchError::from);
            let noted = made.and_then(|staged| {
                let Some(result) = one(spec, *job, &place, staged.path(), &shared) else {
                    return Ok(None);
                };
                let row = Row::of(&result, &place);
                store::write(&staged.path().join(RESULT), &result)?;
                staged.publish(spec.index.is_some())?;
                spec.index.map_or(Ok(()), |index| index.add(&row))?;
                Ok(Some(row))
            });
            let row = match noted {
                Ok(Some(row)) => row,
                Ok(None) => return,
                Err(error) => {
                    *lock(&failure) = Some(error);
                    return;
                }
            };
            lock(&took).push(row.seconds);
            let done = done.fetch_add(1, Ordering::SeqCst) + 1;
            let total = spec.jobs.len();
            (spec.progress)(BenchEvent::Finished { row: &row, worker, done, total });
        }
    };
    thread::scope(|scope| {
        let workers = spec.workers.clamp(1, spec.jobs.len().max(1));
        for worker in 0..workers {
            let work = &work;
            scope.spawn(move || work(worker));
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(done.into_inner()),
    }
}

/// Reads the result of an attempt from the directory of its record.
///
/// # Errors
/// There is no readable result.
pub fn read_result(record: &Path) -> Result<TaskResult, StoreError> {
    store::read(&record.join(RESULT))
}

/// Reads the facts about an attempt for readers, if present: the touched modules, the origins of
/// the gist's lines, and the source map of its writer.
pub fn read_shown(record: &Path) -> (Option<Touched>, Option<Sources>, Option<SourceMap>) {
    let map = fs::read(record.join("source-map.json")).ok();
    let map = map.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let touched = store::read(&record.with_file_name(TOUCHED)).ok();
    (touched, store::read(&record.join(SOURCES)).ok(), map)
}

/// The state that all workers share.
#[derive(Default)]
struct Shared {
    codebases: Codebases,
    /// Held while an original is measured, so that other attempts find what was measured; by its key.
    measuring: Mutex<BTreeMap<String, Arc<Mutex<()>>>>,
}

/// Returns the median of the times that jobs took.
fn typical(took: &Mutex<Vec<f64>>) -> Duration {
    let mut took = lock(took).clone();
    took.sort_by(f64::total_cmp);
    Duration::from_secs_f64(took.get(took.len() / 2).copied().unwrap_or(0.0))
}

/// One attempt from its supply to its scores; nothing when the user interrupted it. Its record is written to `record`,
/// and will be at `place`.
fn one(
    spec: &BenchSpec<'_>,
    job: Job,
    place: &Path,
    record: &Path,
    shared: &Shared,
) -> Option<TaskResult> {
    let began = Instant::now();
    let task = &spec.tasks[job.task];
    let mut result = TaskResult {
        suite: task.suite.clone(),
        task: task.id.clone(),
        solver: spec.solvers[job.solver].name().to_owned(),
        repetition: job.repetition,
        difficulty: task.difficulty,
        attempt: None,
        outcome: TaskOutcome::Infrastructure("it was not begun".to_owned()),
        expected: None,
        seconds: 0.0,
    };
    match attempt_and_judge(spec, job, (place, record), shared, &mut result) {
        Ok(outcome) => {
            if let TaskOutcome::Judged(evaluation) = &outcome {
                let known = task.expected != Counts::default();
                let other = known && evaluation.reference.counts != task.expected;
                result.expected = other.then_some(task.expected);
            }
            result.outcome = outcome;
        }
        Err(Stop::Interrupted) => return None,
        Err(Stop::Failed(message)) => result.outcome = TaskOutcome::Infrastructure(message),
    }
    if spec.interrupt.is_triggered() {
        return None;
    }
    result.seconds = began.elapsed().as_secs_f64();
    Some(result)
}

/// Why a task has no scores.
enum Stop {
    Interrupted,
    Failed(String),
}

impl<E: Into<EvalError>> From<E> for Stop {
    fn from(error: E) -> Self {
        match error.into() {
            EvalError::Interrupted => Stop::Interrupted,
            error => Stop::Failed(error.to_string()),
        }
    }
}

#[tracing::instrument(name = "attempt", level = "info", skip_all, fields(
    task = spec.tasks[job.task].id,
    solver = spec.solvers[job.solver].name(),
    repetition = job.repetition,
))]
fn attempt_and_judge(
    spec: &BenchSpec<'_>,
    job: Job,
    (place, record): (&Path, &Path),
    shared: &Shared,
    result: &mut TaskResult,
) -> Result<TaskOutcome, Stop> {
    let (task, solver) = (&spec.tasks[job.task], spec.solvers[job.solver]);
    let command = Command::parse(&task.command)?;
    let Supplied { mut repository, environment, script } =
        spec.supply.supply(task).map_err(Stop::Failed)?;
    let workspace = Workspace::create(spec.scratch)?;
    if !task.mutations.is_empty() || script.is_some() {
        let copy = workspace.copy(&repository)?;
        task.mutate(&copy, script.as_deref())?;
        let label = repository.label.clone();
        let mutated = Repository::of_directory(&copy);
        repository = mutated.map_err(|error| Stop::Failed(error.to_string()))?;
        repository.label = format!("{label}, changed");
    }
    let original = ReferenceSpec {
        sandbox: spec.sandbox,
        repository: &repository,
        environment: &environment,
        command: &command,
        limits: spec.limits,
        runs: spec.reference_runs,
        variables: spec.variables,
        workspace: &workspace,
        caches: spec.references,
        signs: &|_| (),
    };
    let nothing = Submission::Absent("the task is set aside".to_owned());
    let unattempted = EvaluateSpec {
        original,
        task: &task.id,
        place: spec.place,
        submission: &nothing,
        source_map: None,
        writer: Default::default(),
        effort: None,
        alone: None,
        mutants: spec.mutants,
        codebases: Some(&shared.codebases),
    };
    let measured = measure(spec, &original, shared)?;
    match measured.standing {
        Fitness::Fit => {}
        Fitness::Unfit(why) => return Ok(TaskOutcome::Unfit(why)),
        Fitness::Quarantined => {
            return Ok(TaskOutcome::Judged(Box::new(evaluate(&unattempted)?)));
        }
    }
    let attempt = solver.attempt(&TaskContext {
        task,
        repository: &repository,
        environment: &environment,
        command: &command,
        cases: &measured.cases,
        place: spec.place,
        limits: spec.limits,
        record,
        scratch: spec.scratch,
        interrupt: spec.interrupt,
    });
    if spec.interrupt.is_triggered() {
        return Err(Stop::Interrupted);
    }
    let trajectory = attempt.trajectory.map(|path| match path.strip_prefix(record) {
        Ok(inside) => place.join(inside),
        Err(_) => path,
    });
    result.attempt = Some(AttemptRecord {
        outcome: attempt.outcome.clone(),
        trajectory,
        effort: attempt.effort.clone(),
        writer: attempt.writer,
        gist: None,
    });
    match attempt.counts {
        AttemptCount::Scored => {}
        AttemptCount::Infrastructure => return Err(Stop::Failed(attempt.outcome)),
        AttemptCount::Unfit => return Ok(TaskOutcome::Unfit(attempt.outcome)),
    }
    let submission = match attempt.gist {
        Ok(text) => {
            store::write_bytes(&record.join(tools::GIST_NAME), text.as_bytes())?;
            if let Some(attempt) = &mut result.attempt {
                attempt.gist = Some(hash_of(text.as_bytes()));
            }
            if let Some(map) = &attempt.source_map {
                store::write(&record.join("source-map.json"), map)?;
            }
            Submission::Written(text)
        }
        Err(reason) => Submission::Absent(reason),
    };
    let mut evaluation = evaluate(&EvaluateSpec {
        submission: &submission,
        source_map: attempt.source_map.as_ref(),
        writer: attempt.writer,
        effort: Some(&attempt.effort),
        alone: attempt.alone.as_ref(),
        ..unattempted
    })?;
    let codebase = match shared.codebases.known(&repository.fingerprint) {
        Some(codebase) => codebase,
        None => shared.codebases.get(&repository.fingerprint, &workspace.copy(&repository)?),
    };
    if let Submission::Written(text) = &submission {
        let map = attempt.source_map.as_ref();
        let sources = Sources::keep(spec.directory, text, map, &codebase)?;
        store::write(&record.join(SOURCES), &sources)?;
    }
    let shown = spec.directory.join(place).with_file_name(TOUCHED);
    if !shown.exists() {
        store::write(&shown, &Touched::of_trace(&measured.trace, &codebase))?;
    }
    // It was measured for this attempt, if not by another.
    evaluation.reference.cached = measured.cached;
    evaluation.reference.took += measured.took;
    Ok(TaskOutcome::Judged(Box::new(evaluation)))
}

/// Waits until no other process measures the same original: what it measured is then in the cache. The lock of a process
/// that dies is free. Where the file system has no locks, each process measures.
fn wait_to_measure(spec: &BenchSpec<'_>, key: &str) -> Result<Option<Lock>, Stop> {
    let Some(references) = spec.references.first() else { return Ok(None) };
    let path = references.join(format!("{key}.lock"));
    let opened = fs::create_dir_all(references)
        .and_then(|()| OpenOptions::new().create(true).truncate(false).write(true).open(&path));
    let Ok(file) = opened else { return Ok(None) };
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(Lock::new(file))),
            Err(TryLockError::WouldBlock) if spec.interrupt.is_triggered() => {
                return Err(Stop::Interrupted);
            }
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(20)),
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}

/// The facts about a task that are known before any attempt.
struct Measured {
    standing: Fitness,
    trace: Trace,
    /// The ids of its cases.
    cases: Vec<String>,
    cached: bool,
    took: f64,
}

enum Fitness {
    Fit,
    Unfit(String),
    Quarantined,
}

/// Measures the original, and checks that the task tells it from an empty gist.
fn measure(
    spec: &BenchSpec<'_>,
    original: &ReferenceSpec<'_>,
    shared: &Shared,
) -> Result<Measured, Stop> {
    let key = key(original);
    let measuring = Arc::clone(lock(&shared.measuring).entry(key.clone()).or_default());
    let _alone = lock(&measuring);
    let _alone_among_processes = wait_to_measure(spec, &key)?;
    let began = Instant::now();
    let reference = Reference::measure_in(original, &shared.codebases)?;
    let standing = match reference.quarantine {
        Some(_) => Fitness::Quarantined,
        None => match Baseline::measure(original, &reference, spec.place)?.unfit() {
            Some(why) => Fitness::Unfit(why),
            None => Fitness::Fit,
        },
    };
    let (cached, took) = (reference.cached, began.elapsed().as_secs_f64());
    let cases = reference.cases();
    Ok(Measured { standing, trace: reference.trace, cases, cached, took })
}

/// An attempt's directory while it is written, beside its place. It is renamed when it is whole, and removed when it is
/// not.
struct Staged {
    written: TempDir,
    place: PathBuf,
}

impl Staged {
    /// Makes the directory. Its name has the machine, so that what a lost one left can be told.
    fn make(directory: &Path, place: &Path, worker: usize) -> Result<Self, StoreError> {
        let place = directory.join(place);
        let parent = place.parent().unwrap_or(directory).to_path_buf();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let prefix = format!(".{}.{}.{worker}.", plain(host.trim()), std::process::id());
        let made = fs::create_dir_all(&parent).and_then(|()| {
            let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            tempfile::Builder::new().prefix(&prefix).permissions(readable).tempdir_in(&parent)
        });
        let written = made.map_err(|source| StoreError::Write { path: parent, source })?;
        Ok(Self { written, place })
    }

    fn path(&self) -> &Path {
        self.written.path()
    }

    /// Puts the directory in its place. A result that is there stays, unless it `replaces` it.
    fn publish(self, replaces: bool) -> Result<(), StoreError> {
        let place = self.place;
        let failed = |source| StoreError::Write { path: place.clone(), source };
        if replaces && place.exists() {
            fs::remove_dir_all(&place).map_err(failed)?;
        }
        match fs::rename(self.written.path(), &place) {
            Ok(()) => {
                let _ = self.written.keep();
                Ok(())
            }
            // Another process made the same attempt. Its own is dropped.
            Err(_) if place.join(RESULT).exists() => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Returns the directory of an attempt, relative to the run's: readable, and unique even for names that only differ in
/// what a file name cannot hold.
pub(crate) fn place(task: &Task, solver: &str, repetition: u32) -> PathBuf {
    let suite = if task.suite.is_empty() { "none".to_owned() } else { plain(&task.suite) };
    let mut name = plain(solver);
    if name != solver {
        name = format!("{name}-{}", digest(solver));
    }
    let task = format!("{}-{}", plain(&task.id), digest(&task.id));
    Path::new("tasks").join(suite).join(task).join(format!("{name}.{repetition}"))
}

fn plain(text: &str) -> String {
    let kept = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' });
    kept.collect::<String>().trim_matches(['-', '.']).chars().take(120).collect()
}

fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..8].to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
