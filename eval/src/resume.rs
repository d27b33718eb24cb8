//! Resumes a bench after it was stopped: its plan, its lock, and its remaining jobs.
//!
//! It owns the plan of a run's directory and the lock on it; the bench owns the results.

use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tools::Lock;

use crate::{
    bench::Job,
    row::{AttemptStanding, Row},
    scorers::Category,
    store::{Record, StoreError, read, write},
    task::Task,
};

/// The plan of a bench.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchPlan {
    /// The writers of the gists.
    pub solvers: Vec<String>,
    /// Attempts of each at each task.
    pub repetitions: u32,
    /// All settings.
    pub settings: Value,
    /// Suite, id and digest of each task, in order.
    pub tasks: Vec<(String, String, String)>,
}

impl Record for BenchPlan {
    const VERSION: u32 = 2;
}

/// Why a bench cannot work in a directory.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// Its plan cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Somebody else is at work there.
    #[error("use run directory {path}: another bench is at work in it")]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// The lock cannot be had.
    #[error("lock {path}: {source}")]
    Lock {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It was begun with something else.
    #[error("resume {path}: it was begun otherwise ({})", .differences.join("; "))]
    Changed {
        /// The directory.
        path: PathBuf,
        /// Each as `key: was A, is B`.
        differences: Vec<String>,
    },
}

/// A run's directory that nobody else works in while this lives; a process that dies leaves it free.
#[derive(Debug)]
pub struct Hold {
    _lock: Lock,
}

const PLAN: &str = "plan.json";
const LOCK: &str = ".lock";
const FINISH_LOCK: &str = ".finish.lock";
/// Settings that change nothing about a result.
const FREE: [&str; 6] = [
    "bench.workers",
    "model.requests_per_minute",
    "model.total_cost",
    "model.total_seconds",
    "model.total_steps",
    "model.total_tokens",
];
/// Differences that are told.
const TOLD: usize = 8;

impl BenchPlan {
    /// The plan for tasks.
    pub fn new(solvers: &[&str], repetitions: u32, settings: Value, tasks: &[Task]) -> Self {
        let digest = |task: &Task| {
            let text = serde_json::to_vec(task).expect("texts and numbers serialise");
            blake3::hash(&text).to_hex()[..16].to_owned()
        };
        let tasks =
            tasks.iter().map(|task| (task.suite.clone(), task.id.clone(), digest(task))).collect();
        let solvers = solvers.iter().map(|name| (*name).to_owned()).collect();
        Self { solvers, repetitions, settings, tasks }
    }

    /// The plan of a bench's directory.
    ///
    /// # Errors
    /// It is no such directory.
    pub fn read(directory: &Path) -> Result<Self, StoreError> {
        match read(&directory.join(PLAN)) {
            Err(StoreError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Err(StoreError::NoBench { path: directory.to_path_buf(), name: PLAN })
            }
            read => read,
        }
    }

    /// Returns true if a directory still has the plan of its bench.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(PLAN).is_file()
    }

    /// Takes a fresh directory and leaves the plan there.
    ///
    /// # Errors
    /// The directory cannot be locked or written to.
    pub fn begin(&self, directory: &Path) -> Result<Hold, ResumeError> {
        let hold = hold(directory, LOCK)?;
        write(&directory.join(PLAN), self)?;
        Ok(hold)
    }

    /// Joins those who work on units of a directory: until this is dropped nobody has the directory alone.
    ///
    /// # Errors
    /// Somebody has it alone, or the lock cannot be had.
    pub fn attend(directory: &Path) -> Result<Hold, ResumeError> {
        let path = directory.join(LOCK);
        let failed = |source| ResumeError::Lock { path: path.clone(), source };
        let file = open_lock(&path).map_err(failed)?;
        match file.try_lock_shared() {
            // A file system of a cluster may have no locks: results are whole all the same.
            Ok(()) => Ok(Hold { _lock: Lock::new(file) }),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Hold { _lock: Lock::new(file) })
            }
            Err(TryLockError::WouldBlock) => {
                Err(ResumeError::Busy { path: directory.to_path_buf() })
            }
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Takes the index and the summary of a directory, in which others may be at work.
    ///
    /// # Errors
    /// Somebody else is finishing it, or the lock cannot be had.
    pub fn finish(directory: &Path) -> Result<Hold, ResumeError> {
        hold(directory, FINISH_LOCK)
    }

    /// Locks a directory in which the same plan was begun.
    ///
    /// # Errors
    /// The directory has no plan or another one, or another process is using it.
    pub fn resume(&self, directory: &Path) -> Result<Hold, ResumeError> {
        // The plan comes first: nothing is made in a directory that is none of ours.
        let begun = BenchPlan::read(directory)?;
        let hold = hold(directory, LOCK)?;
        let differences = begun.differences(self);
        match differences.is_empty() {
            true => Ok(hold),
            false => Err(ResumeError::Changed { path: directory.to_path_buf(), differences }),
        }
    }

    pub(crate) fn differences(&self, now: &BenchPlan) -> Vec<String> {
        let mut found = Vec::new();
        if self.solvers != now.solvers {
            let (was, is) = (self.solvers.join(", "), now.solvers.join(", "));
            found.push(format!("solvers: were {was}, are {is}"));
        }
        if self.repetitions != now.repetitions {
            let (was, is) = (self.repetitions, now.repetitions);
            found.push(format!("repetitions: were {was}, are {is}"));
        }
        compare("", &self.settings, &now.settings, &mut found);
        if self.tasks.len() != now.tasks.len() {
            found.push(format!("tasks: were {}, are {}", self.tasks.len(), now.tasks.len()));
        }
        let other = self.tasks.iter().zip(&now.tasks).find(|(was, is)| was != is);
        if let Some(((_, was, _), (_, is, _))) = other {
            found.push(match was == is {
                true => format!("task {was}: its suite defines it differently now"),
                false => format!("task: was {was}, is {is}"),
            });
        }
        let more = found.len().saturating_sub(TOLD);
        found.truncate(TOLD);
        if more > 0 {
            found.push(format!("{more} more"));
        }
        found
    }
}

/// Results that are made again when a bench goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Attempts without a verdict on a gist, since something else failed.
    Infrastructure,
    /// Attempts at tasks that cannot tell the original from an empty gist.
    Unfit,
    /// Attempts at tasks that their reference runs quarantined.
    Quarantined,
    /// Attempts in which the solver reached a limit.
    Limit,
    /// Attempts that are not faithful for this reason.
    Category(Category),
}

impl Retry {
    /// Returns true if a result belongs to this class.
    pub fn takes(self, row: &Row) -> bool {
        match self {
            Retry::Infrastructure => row.standing == AttemptStanding::Infrastructure,
            Retry::Unfit => row.standing == AttemptStanding::Unfit,
            Retry::Quarantined => row.standing == AttemptStanding::Quarantined,
            Retry::Limit => row.effort.as_ref().is_some_and(|effort| effort.limit.is_some()),
            Retry::Category(category) => row.category == Some(category),
        }
    }
}

/// The attempts that have no result yet, by task, then repetition, then solver: so what the solvers are
/// compared on is there early. A result that is to be made again is none.
pub fn remaining(
    tasks: &[Task],
    solvers: &[&str],
    repetitions: u32,
    rows: &[Row],
    retry: &[Retry],
) -> Vec<Job> {
    let done: BTreeSet<(&str, &str, &str, u32)> = rows
        .iter()
        .filter(|row| !retry.iter().any(|retry| retry.takes(row)))
        .map(|row| (row.suite.as_str(), row.task.as_str(), row.solver.as_str(), row.repetition))
        .collect();
    let mut jobs = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        for repetition in 1..=repetitions {
            for (solver, name) in solvers.iter().enumerate() {
                if !done.contains(&(task.suite.as_str(), task.id.as_str(), *name, repetition)) {
                    jobs.push(Job { task: at, solver, repetition });
                }
            }
        }
    }
    jobs
}

/// Returns the settings that differ in a way that changes results, each as `key: was A, is B`.
pub fn settings_differences(was: &Value, is: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", was, is, &mut found);
    found
}

fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

fn hold(directory: &Path, name: &str) -> Result<Hold, ResumeError> {
    let path = directory.join(name);
    let failed = |source| ResumeError::Lock { path: path.clone(), source };
    let lock = open_lock(&path).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(Hold { _lock: Lock::new(lock) }),
        Err(TryLockError::WouldBlock) => Err(ResumeError::Busy { path: directory.to_path_buf() }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

fn compare(key: &str, was: &Value, is: &Value, found: &mut Vec<String>) {
    match (was, is) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                let value = |map: &serde_json::Map<String, Value>| {
                    map.get(name).cloned().unwrap_or(Value::Null)
                };
                compare(&key, &value(a), &value(b), found);
            }
        }
        _ if was == is || FREE.iter().any(|free| is_of(key, free)) => {}
        _ => found.push(format!("{key}: was {was}, is {is}")),
    }
}

/// Returns true if a key equals `free`, or is a solver's entry of that key.
fn is_of(key: &str, free: &str) -> bool {
    key.strip_suffix(free).is_some_and(|solver| solver.is_empty() || solver.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plan(settings: Value, tasks: &[&str]) -> BenchPlan {
        let task = |command: &&str| Task::of_command("r", command);
        BenchPlan::new(&["offline"], 1, settings, &tasks.iter().map(task).collect::<Vec<_>>())
    }

    #[test]
    fn what_was_begun_otherwise_is_refused_with_the_difference() {
        let begun = json!({ "bench": { "workers": 1 }, "session": { "steps": 50 } });
        let workers = json!({ "bench": { "workers": 2 }, "session": { "steps": 50 } });
        let steps = json!({ "bench": { "workers": 1 }, "session": { "steps": 9 } });
        for (settings, tasks, told) in [
            (begun.clone(), vec!["pytest a", "pytest b"], None),
            (workers, vec!["pytest a", "pytest b"], None),
            (steps, vec!["pytest a", "pytest b"], Some("session.steps: was 50, is 9")),
            (begun.clone(), vec!["pytest a"], Some("tasks: were 2, are 1")),
            (begun.clone(), vec!["pytest a", "pytest c"], Some("was pytest b, is pytest c")),
        ] {
            let directory = tempfile::tempdir().unwrap();
            drop(plan(begun.clone(), &["pytest a", "pytest b"]).begin(directory.path()).unwrap());
            match (plan(settings, &tasks).resume(directory.path()), told) {
                (Ok(_), None) => {}
                (Err(error), Some(told)) => {
                    assert!(error.to_string().contains(told), "{error}");
                }
                (other, told) => panic!("{other:?}, not {told:?}"),
            }
        }
    }

    #[test]
    fn a_directory_has_one_runner_and_a_plan() {
        let directory = tempfile::tempdir().unwrap();
        let plan = plan(Value::Null, &["pytest a"]);
        let error = plan.resume(directory.path()).unwrap_err().to_string();
        assert!(error.contains("plan.json"), "{error}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let hold = plan.begin(directory.path()).unwrap();
        let error = plan.resume(directory.path()).unwrap_err().to_string();
        assert!(error.ends_with("another bench is at work in it"), "{error}");
        drop(hold);
        plan.resume(directory.path()).unwrap();
    }
}
