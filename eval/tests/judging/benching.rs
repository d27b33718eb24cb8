//! A bench of tiny tasks with a scripted solver: what is recorded, counted and left out.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use gistify_eval::{
    Attempt, BenchEvent, BenchSpec, Counts, Effort, Format, Mutation, Solver, Supplied, Supply,
    Task, TaskContext, TaskOutcome, TaskResult, Writer, bench, results, summarize,
};
use tools::{Interrupt, LocalSandbox, Place};

use super::{
    bed::{Bed, edited},
    shop::{GIST, SHOP},
};

/// Does what the task's name says.
struct Scripted;

impl Solver for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn attempt(&self, context: &TaskContext<'_>) -> Attempt {
        let trajectory = context.record.join("trajectory.jsonl");
        fs::write(&trajectory, "{}\n").unwrap();
        let gist = match context.task.id.as_str() {
            "absent" => Err("the step limit was reached".to_owned()),
            "wrong" => Ok(edited(GIST, &[("\"std\": 2", "\"std\": 3")])),
            // The mutation of the task makes the original fail in this way.
            "failing" => Ok(edited(GIST, &[("\"std\": 2", "\"std\": 5")])),
            _ => Ok(GIST.to_owned()),
        };
        Attempt {
            gist,
            source_map: None,
            outcome: "submitted".to_owned(),
            infrastructure: context.task.id == "down",
            trajectory: Some(trajectory),
            effort: Effort { wall_seconds: 2.0, ..Effort::default() },
            writer: Writer { trace: true, execute: false },
        }
    }
}

struct Local<'a>(&'a Bed);

impl Supply for Local<'_> {
    fn supply(&self, task: &Task) -> Result<Supplied, String> {
        if task.id == "gone" {
            return Err("the index has no such release".to_owned());
        }
        let (repository, environment) = (self.0.repository.clone(), self.0.environment.clone());
        Ok(Supplied { repository, environment })
    }
}

fn task(id: &str, suite: &str) -> Task {
    let mut task = Task::of_command("shop", SHOP.command);
    task.id = id.to_owned();
    task.suite = suite.to_owned();
    task.expected = Counts { passed: 2, ..Counts::default() };
    if id == "failing" {
        task.mutations = vec![Mutation {
            file: "src/shop/price.py".to_owned(),
            old: "\"std\": 2".to_owned(),
            new: "\"std\": 5".to_owned(),
        }];
        task.expected = Counts { failed: 2, ..Counts::default() };
    }
    if id == "surprising" {
        task.expected = Counts { passed: 7, ..Counts::default() };
    }
    task
}

fn run(
    bed: &Bed,
    tasks: &[Task],
    directory: &Path,
    interrupt: &Interrupt,
) -> (Vec<TaskResult>, usize) {
    let finished = Mutex::new(Vec::new());
    let scratch = tempfile::tempdir().unwrap();
    let references = scratch.path().join("references");
    let found = bench(&BenchSpec {
        tasks,
        solver: &Scripted,
        supply: &Local(bed),
        sandbox: &LocalSandbox::default(),
        limits: bed.limits,
        variables: &BTreeMap::new(),
        place: Place::BesideTest,
        workers: 2,
        directory,
        references: &references,
        scratch: &scratch.path().join("work"),
        interrupt,
        progress: &|event| {
            if let BenchEvent::Finished { done, total, .. } = event {
                finished.lock().unwrap().push((done, total));
            }
        },
    });
    let finished = finished.into_inner().unwrap();
    let left: Vec<PathBuf> = match fs::read_dir(scratch.path().join("work")) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    };
    assert_eq!(left, Vec::<PathBuf>::new(), "working directories are left");
    (found.unwrap(), finished.len())
}

#[test]
fn every_task_has_its_result_on_disk() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let names = ["good", "wrong", "absent", "failing", "gone", "down", "surprising"];
    let tasks: Vec<Task> = names.iter().map(|name| task(name, "tiny")).collect();
    let directory = tempfile::tempdir().unwrap();
    let (found, finished) = run(&bed, &tasks, directory.path(), &Interrupt::new());
    assert_eq!(finished, tasks.len());
    let told: Vec<String> = found
        .iter()
        .map(|result| match &result.outcome {
            TaskOutcome::Infrastructure(message) => format!("{}: {message}", result.task),
            TaskOutcome::Judged(judged) => format!(
                "{}: {} {}",
                result.task,
                judged.fidelity.as_ref().unwrap().score,
                judged.cause.as_ref().map_or("-".to_owned(), |cause| cause.category.to_string())
            ),
        })
        .collect();
    assert_eq!(
        told,
        [
            "good: 1 -",
            "wrong: 0 run-time error",
            "absent: 0 file creation failure",
            "failing: 1 -",
            "gone: the index has no such release",
            "down: submitted",
            "surprising: 1 -",
        ]
    );
    let (read, errors) = results(directory.path());
    assert!(errors.is_empty(), "{errors:?}");
    let mut sorted = found.clone();
    sorted.sort_by(|a, b| a.task.cmp(&b.task));
    assert!(read == sorted, "results are not read back as they were");
    let attempt = found[0].attempt.as_ref().unwrap();
    assert!(directory.path().join(attempt.trajectory.as_ref().unwrap()).is_file());

    let summary = summarize(&found);
    let row = &summary.suites[0];
    assert_eq!((row.tasks, row.scored, row.infrastructure), (7, 5, 2));
    assert_eq!(row.fidelity, Some(0.6));
    assert_eq!(summary.failures.len(), 4);
    let unexpected: Vec<&str> = summary.unexpected.iter().map(|row| row.task.as_str()).collect();
    assert_eq!(unexpected, ["surprising"]);
    let text = summary.to_string(Format::Text);
    assert!(text.contains("5 of 7") && text.contains("60.0"), "{text}");
}

#[test]
fn damaged_results_are_told_apart() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let directory = tempfile::tempdir().unwrap();
    let tasks = [task("good", "tiny"), task("gone", "tiny")];
    let (found, _) = run(&bed, &tasks, directory.path(), &Interrupt::new());
    let suite = directory.path().join("tasks/tiny");
    let first = fs::read_dir(&suite)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("good"))
        .unwrap();
    let path = first.join("result.json");
    let whole = fs::read(&path).unwrap();
    for length in [0, 1, whole.len() / 2, whole.len() - 2] {
        fs::write(&path, &whole[..length]).unwrap();
        let (read, errors) = results(directory.path());
        assert_eq!((read.len(), errors.len()), (1, 1), "{length} bytes");
        assert_eq!(read[0], found[1]);
    }
}

#[test]
fn an_interrupt_leaves_no_half_results() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let directory = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::new();
    interrupt.trigger();
    let (found, finished) = run(&bed, &[task("good", "tiny")], directory.path(), &interrupt);
    assert_eq!((found.len(), finished), (0, 0));
    assert_eq!(results(directory.path()).0, Vec::new());
}
