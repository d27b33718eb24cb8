//! Suites times a solver: every task is attempted, judged and recorded as it finishes.
//!
//! What fails outside of a gist is an infrastructure failure of its task, counted apart; one task never
//! stops the others. How results are shown is for `report`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use serde::{Deserialize, Serialize};
use tools::{Command, Environment, Interrupt, Limits, Place, Repository, Sandbox, Workspace};

use crate::{
    codebase::Codebases,
    error::EvalError,
    evaluate::{EvaluateSpec, Evaluation, evaluate},
    gist::Submission,
    reference::ReferenceSpec,
    solver::{AttemptRecord, Solver, TaskContext},
    store::{self, Record, StoreError},
    task::{Counts, Task},
};

/// What is benched, and how.
pub struct BenchSpec<'a> {
    /// The tasks, in the order in which they start.
    pub tasks: &'a [Task],
    /// Who writes the gists.
    pub solver: &'a dyn Solver,
    /// Where repositories and environments come from.
    pub supply: &'a dyn Supply,
    /// What starts all runs.
    pub sandbox: &'a dyn Sandbox,
    /// Bounds on each run of a command.
    pub limits: Limits,
    /// Environment variables of each run.
    pub variables: &'a BTreeMap<String, String>,
    /// Where gists stand.
    pub place: Place,
    /// Tasks worked on at a time.
    pub workers: usize,
    /// Where results go.
    pub directory: &'a Path,
    /// Where references are kept by content.
    pub references: &'a Path,
    /// Where working directories are made.
    pub scratch: &'a Path,
    /// Set when the user wants everything to stop.
    pub interrupt: &'a Interrupt,
    /// Hears how it goes; called from several threads.
    pub progress: &'a (dyn Fn(BenchEvent<'_>) + Sync),
}

/// Makes a task's repository and environment available.
pub trait Supply: Sync {
    /// The repository, unchanged, and what its commands run with.
    ///
    /// # Errors
    /// A message that names what cannot be had.
    fn supply(&self, task: &Task) -> Result<Supplied, String>;
}

/// What a task needs to run.
#[derive(Debug, Clone)]
pub struct Supplied {
    /// The repository.
    pub repository: Repository,
    /// What its commands run with.
    pub environment: Environment,
}

/// A sign of life.
#[derive(Debug, Clone, Copy)]
pub enum BenchEvent<'a> {
    /// A task begins.
    Started {
        /// The task.
        task: &'a Task,
        /// The worker.
        worker: usize,
    },
    /// A task has its result, which is on disk.
    Finished {
        /// The result.
        result: &'a TaskResult,
        /// The worker.
        worker: usize,
        /// Results so far.
        done: usize,
        /// Tasks in all.
        total: usize,
    },
}

/// What became of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskResult {
    /// The suite.
    pub suite: String,
    /// The task.
    pub task: String,
    /// The solver.
    pub solver: String,
    /// What is kept of the attempt; nothing where none was made.
    pub attempt: Option<AttemptRecord>,
    /// The scores, or why there are none.
    pub outcome: TaskOutcome,
    /// What the suite's author saw, where the reference saw something else.
    pub expected: Option<Counts>,
    /// Wall-clock seconds of everything.
    pub seconds: f64,
}

impl Record for TaskResult {
    const VERSION: u32 = 1;
}

/// Scores, or why there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOutcome {
    /// It was judged; a quarantined task says so there.
    Judged(Box<Evaluation>),
    /// Something besides the gist failed.
    Infrastructure(String),
}

/// Attempts and judges every task; gives the results in the order of the tasks. After an interrupt the
/// tasks that were not begun have none.
///
/// # Errors
/// When a result cannot be written: a bench that leaves no record is worth nothing.
pub fn bench(spec: &BenchSpec<'_>) -> Result<Vec<TaskResult>, StoreError> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<TaskResult>>> = Mutex::new(vec![None; spec.tasks.len()]);
    let failure: Mutex<Option<StoreError>> = Mutex::new(None);
    let codebases = Codebases::default();
    let work = |worker: usize| {
        loop {
            let at = next.fetch_add(1, Ordering::SeqCst);
            let Some(task) = spec.tasks.get(at) else { return };
            if spec.interrupt.is_triggered() || lock(&failure).is_some() {
                return;
            }
            (spec.progress)(BenchEvent::Started { task, worker });
            let Some(result) = one(spec, task, &codebases) else { return };
            let path = task_directory(spec.directory, task).join("result.json");
            if let Err(error) = store::write(&path, &result) {
                *lock(&failure) = Some(error);
                return;
            }
            let done = done.fetch_add(1, Ordering::SeqCst) + 1;
            let total = spec.tasks.len();
            (spec.progress)(BenchEvent::Finished { result: &result, worker, done, total });
            lock(&results)[at] = Some(result);
        }
    };
    thread::scope(|scope| {
        let workers = spec.workers.clamp(1, spec.tasks.len().max(1));
        for worker in 0..workers {
            let work = &work;
            scope.spawn(move || work(worker));
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => {
            let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
            Ok(results.into_iter().flatten().collect())
        }
    }
}

/// Reads the results that a bench left in a directory, sorted by suite and task. Files that cannot be
/// read are given apart.
pub fn results(directory: &Path) -> (Vec<TaskResult>, Vec<StoreError>) {
    let mut results: Vec<TaskResult> = Vec::new();
    let mut errors = Vec::new();
    for suite in subdirectories(&directory.join("tasks")) {
        for task in subdirectories(&suite) {
            let path = task.join("result.json");
            if path.exists() {
                match store::read::<TaskResult>(&path) {
                    Ok(result) => results.push(result),
                    Err(error) => errors.push(error),
                }
            }
        }
    }
    results.sort_by(|a, b| (&a.suite, &a.task).cmp(&(&b.suite, &b.task)));
    (results, errors)
}

/// One task from its supply to its scores; nothing when the user interrupted it.
fn one(spec: &BenchSpec<'_>, task: &Task, codebases: &Codebases) -> Option<TaskResult> {
    let began = Instant::now();
    let mut result = TaskResult {
        suite: task.suite.clone(),
        task: task.id.clone(),
        solver: spec.solver.name().to_owned(),
        attempt: None,
        outcome: TaskOutcome::Infrastructure("it was not begun".to_owned()),
        expected: None,
        seconds: 0.0,
    };
    match attempt_and_judge(spec, task, codebases, &mut result) {
        Ok(evaluation) => {
            let known = task.expected != Counts::default();
            result.expected =
                (known && evaluation.reference.counts != task.expected).then_some(task.expected);
            result.outcome = TaskOutcome::Judged(Box::new(evaluation));
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

fn attempt_and_judge(
    spec: &BenchSpec<'_>,
    task: &Task,
    codebases: &Codebases,
    result: &mut TaskResult,
) -> Result<Evaluation, Stop> {
    let command = Command::parse(&task.command)?;
    let Supplied { mut repository, environment } =
        spec.supply.supply(task).map_err(Stop::Failed)?;
    let workspace = Workspace::create(spec.scratch)?;
    if !task.mutations.is_empty() {
        let copy = workspace.copy(&repository)?;
        task.mutate(&copy)?;
        let label = repository.label.clone();
        let mutated = Repository::of_directory(&copy);
        repository = mutated.map_err(|error| Stop::Failed(error.to_string()))?;
        repository.label = format!("{label}, changed");
    }
    let record = task_directory(spec.directory, task);
    let failed = |source| StoreError::Write { path: record.clone(), source };
    // A run that was killed may have left a part of its record.
    if record.exists() {
        fs::remove_dir_all(&record).map_err(failed)?;
    }
    fs::create_dir_all(&record).map_err(failed)?;
    let attempt = spec.solver.attempt(&TaskContext {
        task,
        repository: &repository,
        environment: &environment,
        command: &command,
        place: spec.place,
        limits: spec.limits,
        record: &record,
        scratch: spec.scratch,
        interrupt: spec.interrupt,
    });
    if spec.interrupt.is_triggered() {
        return Err(Stop::Interrupted);
    }
    let trajectory = attempt.trajectory.map(|path| match path.strip_prefix(spec.directory) {
        Ok(inside) => inside.to_path_buf(),
        Err(_) => path,
    });
    result.attempt = Some(AttemptRecord {
        outcome: attempt.outcome.clone(),
        trajectory,
        effort: attempt.effort.clone(),
        writer: attempt.writer,
    });
    if attempt.infrastructure {
        return Err(Stop::Failed(attempt.outcome));
    }
    let submission = match attempt.gist {
        Ok(text) => {
            store::write_bytes(&record.join(tools::GIST_NAME), text.as_bytes())?;
            if let Some(map) = &attempt.source_map {
                let text = serde_json::to_vec(map).expect("paths and numbers serialise");
                store::write_bytes(&record.join("source-map.json"), &text)?;
            }
            Submission::Written(text)
        }
        Err(reason) => Submission::Absent(reason),
    };
    Ok(evaluate(&EvaluateSpec {
        original: ReferenceSpec {
            sandbox: spec.sandbox,
            repository: &repository,
            environment: &environment,
            command: &command,
            limits: spec.limits,
            variables: spec.variables,
            workspace: &workspace,
            cache: Some(spec.references),
        },
        task: &task.id,
        place: spec.place,
        submission: &submission,
        source_map: attempt.source_map.as_ref(),
        writer: attempt.writer,
        effort: Some(&attempt.effort),
        codebases: Some(codebases),
    })?)
}

/// Where everything of a task is kept: readable, and unique even for names that only differ in what a
/// file name cannot hold.
fn task_directory(run: &Path, task: &Task) -> PathBuf {
    let plain = |text: &str| -> String {
        let kept = text.chars().map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' }
        });
        kept.collect::<String>().trim_matches(['-', '.']).chars().take(120).collect()
    };
    let hash = blake3::hash(task.id.as_bytes()).to_hex();
    let suite = if task.suite.is_empty() { "none".to_owned() } else { plain(&task.suite) };
    run.join("tasks").join(suite).join(format!("{}-{}", plain(&task.id), &hash[..8]))
}

fn subdirectories(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    paths.sort();
    paths
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
