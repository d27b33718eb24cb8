//! A bench that goes on after it was stopped: what it set out to do, who works on it, and what is left.
//!
//! It owns the plan of a run's directory and the lock on it; results are the bench's own.

use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    bench::{TaskOutcome, TaskResult},
    store::{Record, StoreError, read, write},
    task::Task,
};

/// What a bench sets out to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Who writes the gists.
    pub solver: String,
    /// All settings.
    pub settings: Value,
    /// Suite, id and digest of each task, in order.
    pub tasks: Vec<(String, String, String)>,
}

impl Record for Plan {
    const VERSION: u32 = 1;
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
    _lock: File,
}

const PLAN: &str = "plan.json";
const LOCK: &str = ".lock";
/// Settings that change nothing about a result.
const FREE: [&str; 3] = ["bench.workers", "model.total_cost", "model.total_tokens"];
/// Differences that are told.
const TOLD: usize = 8;

impl Plan {
    /// The plan for tasks.
    pub fn new(solver: &str, settings: Value, tasks: &[Task]) -> Self {
        let digest = |task: &Task| {
            let text = serde_json::to_vec(task).expect("texts and numbers serialise");
            blake3::hash(&text).to_hex()[..16].to_owned()
        };
        let tasks =
            tasks.iter().map(|task| (task.suite.clone(), task.id.clone(), digest(task))).collect();
        Self { solver: solver.to_owned(), settings, tasks }
    }

    /// Takes a fresh directory and leaves the plan there.
    ///
    /// # Errors
    /// The directory cannot be locked or written to.
    pub fn begin(&self, directory: &Path) -> Result<Hold, ResumeError> {
        let hold = hold(directory)?;
        write(&directory.join(PLAN), self)?;
        Ok(hold)
    }

    /// Takes a directory in which the same was begun.
    ///
    /// # Errors
    /// Nothing was begun there, something else was, or somebody is at work in it.
    pub fn resume(&self, directory: &Path) -> Result<Hold, ResumeError> {
        // The plan comes first: nothing is made in a directory that is none of ours.
        let begun: Plan = read(&directory.join(PLAN))?;
        let hold = hold(directory)?;
        let differences = begun.differences(self);
        match differences.is_empty() {
            true => Ok(hold),
            false => Err(ResumeError::Changed { path: directory.to_path_buf(), differences }),
        }
    }

    fn differences(&self, now: &Plan) -> Vec<String> {
        let mut found = Vec::new();
        if self.solver != now.solver {
            found.push(format!("solver: was {}, is {}", self.solver, now.solver));
        }
        compare("", &self.settings, &now.settings, &mut found);
        if self.tasks.len() != now.tasks.len() {
            found.push(format!("tasks: were {}, are {}", self.tasks.len(), now.tasks.len()));
        }
        let other = self.tasks.iter().zip(&now.tasks).find(|(was, is)| was != is);
        if let Some(((_, was, _), (_, is, _))) = other {
            found.push(match was == is {
                true => format!("task {was}: its suite says something else of it"),
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

/// The tasks that have no result yet. A failure of the machine is none.
pub fn remaining(tasks: &[Task], results: &[TaskResult]) -> Vec<Task> {
    let done: BTreeSet<(&str, &str)> = results
        .iter()
        .filter(|result| matches!(result.outcome, TaskOutcome::Judged(_)))
        .map(|result| (result.suite.as_str(), result.task.as_str()))
        .collect();
    let open = tasks.iter().filter(|task| !done.contains(&(task.suite.as_str(), task.id.as_str())));
    open.cloned().collect()
}

fn hold(directory: &Path) -> Result<Hold, ResumeError> {
    let path = directory.join(LOCK);
    let failed = |source| ResumeError::Lock { path: path.clone(), source };
    let lock =
        OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(Hold { _lock: lock }),
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
        _ if was == is || FREE.contains(&key) => {}
        _ => found.push(format!("{key}: was {was}, is {is}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plan(settings: Value, tasks: &[&str]) -> Plan {
        let task = |command: &&str| Task::of_command("r", command);
        Plan::new("offline", settings, &tasks.iter().map(task).collect::<Vec<_>>())
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
