//! The units of a planned bench: one attempt of one solver at one task each, named and ordered alike on every machine.
//!
//! It owns what `plan` writes besides the plan, the choice of units by a worker, and the union of directories of one plan.
//! It starts nothing: a worker hands its jobs to [`bench`](crate::bench()).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    bench::{Job, place},
    index::{RESULT, places},
    resume::BenchPlan,
    store::{self, Record, StoreError},
    task::Task,
};

/// One attempt that a worker makes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BenchUnit {
    /// Its name: the directory of its result below `tasks`.
    pub id: String,
    /// The suite of its task.
    pub suite: String,
    /// A guess of its wall-clock seconds, from the time that the command took when the suite was made.
    pub expected_seconds: f64,
    /// The attempt.
    #[serde(skip)]
    pub job: Job,
}

/// All that a worker needs of the suites.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTasks {
    tasks: Vec<Task>,
}

impl Record for PlannedTasks {
    const VERSION: u32 = 1;
}

/// The part of the units that a worker takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Share {
    /// Units by name.
    Named(Vec<String>),
    /// Every `of`th unit, beginning with the `own`th, counted from 1.
    Shard {
        /// The number of the shard, from 1.
        own: usize,
        /// The number of shards.
        of: usize,
    },
}

/// Why units cannot be planned, chosen or joined.
#[derive(Debug, thiserror::Error)]
pub enum UnitError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The tasks are not those of the plan.
    #[error("{path}: its tasks are not those of its plan")]
    OtherTasks {
        /// The run directory.
        path: PathBuf,
    },
    /// A name is no unit of the plan.
    #[error("no unit {id} in the plan of {path} (units.jsonl lists them)")]
    Unknown {
        /// The name.
        id: String,
        /// The run directory.
        path: PathBuf,
    },
    /// A unit was named twice.
    #[error("unit {id} is named twice")]
    Twice {
        /// The name.
        id: String,
    },
    /// A directory of another plan.
    #[error("{path}: its plan is another one ({})", .differences.join("; "))]
    OtherPlan {
        /// The directory.
        path: PathBuf,
        /// Each as `key: was A, is B`.
        differences: Vec<String>,
    },
    /// A result cannot be taken from a directory.
    #[error("take {path}: {source}")]
    Join {
        /// The result's directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

const TASKS: &str = "tasks.json";
const UNITS: &str = "units.jsonl";
/// Seconds of an attempt besides those of its runs.
const BESIDES: f64 = 1.0;
/// Runs of a command in an attempt: the reference's, the trace, the gist's while it is written and judged.
const RUNS: f64 = 12.0;

/// Writes the tasks of a plan, and a line for each unit, into its run directory.
///
/// # Errors
/// A file cannot be written.
pub fn write_units(
    directory: &Path,
    plan: &BenchPlan,
    tasks: &[Task],
) -> Result<Vec<BenchUnit>, UnitError> {
    store::write(&directory.join(TASKS), &PlannedTasks { tasks: tasks.to_vec() })?;
    let units = units(plan, tasks);
    let mut lines = Vec::new();
    for unit in &units {
        serde_json::to_writer(&mut lines, unit).expect("texts and numbers serialise");
        let _: io::Result<()> = writeln!(lines);
    }
    store::write_bytes(&directory.join(UNITS), &lines)?;
    Ok(units)
}

/// Reads the tasks of a planned bench.
///
/// # Errors
/// They cannot be read, or are not those of the plan.
pub fn planned_tasks(directory: &Path, plan: &BenchPlan) -> Result<Vec<Task>, UnitError> {
    let PlannedTasks { tasks } = match store::read(&directory.join(TASKS)) {
        Err(StoreError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Err(StoreError::NoBench { path: directory.to_path_buf(), name: TASKS })
        }
        read => read,
    }?;
    let solvers: Vec<&str> = plan.solvers.iter().map(String::as_str).collect();
    let same = BenchPlan::new(&solvers, plan.repetitions, plan.settings.clone(), &tasks) == *plan;
    match same {
        true => Ok(tasks),
        false => Err(UnitError::OtherTasks { path: directory.to_path_buf() }),
    }
}

/// Returns the units of a plan, in the order in which they should run: by task, then repetition, then solver.
pub fn units(plan: &BenchPlan, tasks: &[Task]) -> Vec<BenchUnit> {
    let mut units = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        for repetition in 1..=plan.repetitions {
            for (solver, name) in plan.solvers.iter().enumerate() {
                let place = place(task, name, repetition);
                let id = place.strip_prefix("tasks").unwrap_or(&place);
                units.push(BenchUnit {
                    id: id.to_string_lossy().into_owned(),
                    suite: task.suite.clone(),
                    expected_seconds: ((BESIDES + RUNS * task.seconds) * 10.0).round() / 10.0,
                    job: Job { task: at, solver, repetition },
                });
            }
        }
    }
    units
}

/// Returns the units of a share.
///
/// # Errors
/// A name is unknown or given twice.
pub fn share_of(
    units: Vec<BenchUnit>,
    share: &Share,
    directory: &Path,
) -> Result<Vec<BenchUnit>, UnitError> {
    match share {
        Share::Shard { own, of } => {
            Ok(units.into_iter().skip(own.saturating_sub(1)).step_by((*of).max(1)).collect())
        }
        Share::Named(ids) => {
            let mut by_id: BTreeMap<String, BenchUnit> =
                units.into_iter().map(|unit| (unit.id.clone(), unit)).collect();
            let mut seen = BTreeSet::new();
            let mut chosen = Vec::new();
            for id in ids {
                if !seen.insert(id) {
                    return Err(UnitError::Twice { id: id.clone() });
                }
                let unknown =
                    || UnitError::Unknown { id: id.clone(), path: directory.to_path_buf() };
                chosen.push(by_id.remove(id).ok_or_else(unknown)?);
            }
            Ok(chosen)
        }
    }
}

/// Returns the units without a result in a run directory.
pub fn missing(directory: &Path, units: &[BenchUnit]) -> Vec<BenchUnit> {
    let is_missing =
        |unit: &&BenchUnit| !directory.join("tasks").join(&unit.id).join(RESULT).is_file();
    units.iter().filter(is_missing).cloned().collect()
}

/// Removes what workers that were killed left of attempts. Nobody may be at work in the directory.
///
/// # Errors
/// It cannot be removed.
pub fn remove_unfinished(directory: &Path) -> Result<(), UnitError> {
    let mut tasks = vec![directory.join("tasks")];
    for _ in 0..2 {
        tasks = tasks.iter().flat_map(|place| directories(place)).collect();
    }
    for left in tasks.iter().flat_map(|task| directories(task)) {
        if left.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
            fs::remove_dir_all(&left)
                .map_err(|source| StoreError::Write { path: left.clone(), source })?;
        }
    }
    Ok(())
}

fn directories(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    inner.map(|entry| entry.path()).collect()
}

/// Copies the results of another directory of the same plan that a directory lacks. The other is not modified. Returns the
/// number of results.
///
/// # Errors
/// It has another plan, or a file cannot be copied.
pub fn join_results(directory: &Path, plan: &BenchPlan, other: &Path) -> Result<usize, UnitError> {
    let differences = BenchPlan::read(other)?.differences(plan);
    if !differences.is_empty() {
        return Err(UnitError::OtherPlan { path: other.to_path_buf(), differences });
    }
    let mut joined = 0;
    for place in places(other) {
        let (from, to) = (other.join(&place), directory.join(&place));
        if !from.join(RESULT).is_file() || to.join(RESULT).is_file() {
            continue;
        }
        let failed = |source| UnitError::Join { path: from.clone(), source };
        let parent = to.parent().unwrap_or(directory);
        fs::create_dir_all(parent).map_err(failed)?;
        let copy = tempfile::Builder::new().prefix(".joining-").tempdir_in(parent);
        let copy = copy.map_err(failed)?;
        copy_files(&from, copy.path()).map_err(failed)?;
        if to.exists() {
            fs::remove_dir_all(&to).map_err(failed)?;
        }
        fs::rename(copy.path(), &to).map_err(failed)?;
        let _ = copy.keep();
        // Files that the attempts of a task share.
        if let Some(task) = from.parent() {
            copy_missing(task, parent).map_err(failed)?;
        }
        joined += 1;
    }
    let sources = other.join("sources");
    if sources.is_dir() {
        let failed = |source| UnitError::Join { path: sources.clone(), source };
        fs::create_dir_all(directory.join("sources")).map_err(failed)?;
        copy_missing(&sources, &directory.join("sources")).map_err(failed)?;
    }
    Ok(joined)
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()? {
            kind if kind.is_dir() => {
                fs::create_dir_all(&target)?;
                copy_files(&entry.path(), &target)?;
            }
            kind if kind.is_file() => drop(fs::copy(entry.path(), target)?),
            _ => {}
        }
    }
    Ok(())
}

/// Copies the files, and no directories, that `to` lacks.
fn copy_missing(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_file() && !target.exists() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn planned() -> (BenchPlan, Vec<Task>) {
        let tasks: Vec<Task> = ["pytest a", "pytest b", "pytest c"]
            .iter()
            .map(|command| Task::of_command("r", command))
            .collect();
        (BenchPlan::new(&["one", "two"], 2, Value::Null, &tasks), tasks)
    }

    #[test]
    fn shards_share_all_units_and_names_are_checked() {
        let (plan, tasks) = planned();
        let all = units(&plan, &tasks);
        assert_eq!(all.len(), 12);
        let directory = Path::new("run");
        let mut shared: Vec<String> = Vec::new();
        for own in 1..=5 {
            let own = share_of(all.clone(), &Share::Shard { own, of: 5 }, directory).unwrap();
            shared.extend(own.into_iter().map(|unit| unit.id));
        }
        let mut ids: Vec<String> = all.iter().map(|unit| unit.id.clone()).collect();
        shared.sort();
        ids.sort();
        assert_eq!(shared, ids);
        let named = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            share_of(all.clone(), &Share::Named(names), directory)
        };
        assert_eq!(named(&[&ids[3], &ids[0]]).unwrap().len(), 2);
        let twice = named(&[&ids[3], &ids[3]]).unwrap_err().to_string();
        assert!(twice.ends_with("is named twice"), "{twice}");
        let unknown = named(&["x"]).unwrap_err().to_string();
        assert!(unknown.starts_with("no unit x in the plan of run"), "{unknown}");
    }

    #[test]
    fn a_planned_directory_gives_its_tasks_back_and_joins_its_likes_alone() {
        let (plan, tasks) = planned();
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for directory in [one.path(), two.path()] {
            drop(plan.begin(directory).unwrap());
            write_units(directory, &plan, &tasks).unwrap();
        }
        assert_eq!(planned_tasks(one.path(), &plan).unwrap(), tasks);
        let all = units(&plan, &tasks);
        let result = two.path().join("tasks").join(&all[4].id);
        fs::create_dir_all(&result).unwrap();
        fs::write(result.join(RESULT), "{}").unwrap();
        assert_eq!(missing(one.path(), &all).len(), 12);
        assert_eq!(join_results(one.path(), &plan, two.path()).unwrap(), 1);
        assert_eq!(join_results(one.path(), &plan, two.path()).unwrap(), 0);
        assert_eq!(missing(one.path(), &all).len(), 11);
        let other = BenchPlan::new(&["one"], 2, Value::Null, &tasks);
        let three = tempfile::tempdir().unwrap();
        drop(other.begin(three.path()).unwrap());
        let error = join_results(one.path(), &plan, three.path()).unwrap_err().to_string();
        assert!(error.contains("solvers: were one, are one, two"), "{error}");
        let error = planned_tasks(three.path(), &other).unwrap_err().to_string();
        assert!(error.contains("it has no tasks.json"), "{error}");
    }
}
