//! A bench of tiny tasks with a scripted solver: what is recorded, counted and left out.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use gistify_eval::{
    Attempt, AttemptCount, AttemptStanding, BenchEvent, BenchSpec, Counts, Effort, Format, Index,
    Mutation, Retry, Row, Scorer, Solver, StrictFidelity, Supplied, Supply, Task, TaskContext,
    WriterAbilities, bench, remaining, summarize,
};
use tools::{GistPlace, Interrupt, LocalSandbox};

use super::{
    bed::{Bed, edited},
    shop::{GIST, SHOP},
};

/// A solver that does what the task's name requests.
struct Scripted(&'static str);

impl Solver for Scripted {
    fn name(&self) -> &str {
        self.0
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
            counts: match context.task.id.as_str() {
                "down" => AttemptCount::Infrastructure,
                "too-large" => AttemptCount::Unfit,
                _ => AttemptCount::Scored,
            },
            trajectory: Some(trajectory),
            effort: Effort { wall_seconds: 2.0, ..Effort::default() },
            writer: WriterAbilities { trace: true, execute: false },
            alone: None,
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
        Ok(Supplied { repository, environment, script: None })
    }
}

fn task(id: &str, suite: &str) -> Task {
    let command = match id {
        // It says nothing, whoever runs it.
        "silent" => "python src/shop/silent.py",
        _ => SHOP.command,
    };
    let mut task = Task::of_command("shop", command);
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

/// The settings of a bench, beside its tasks.
struct BenchOptions<'a> {
    solvers: &'a [Scripted],
    repetitions: u32,
    directory: &'a Path,
    drain: Interrupt,
    interrupt: Interrupt,
    /// After so many results nothing more begins.
    most: usize,
}

impl<'a> BenchOptions<'a> {
    fn of(directory: &'a Path) -> Self {
        Self {
            solvers: &[Scripted("scripted")],
            repetitions: 1,
            directory,
            drain: Interrupt::new(),
            interrupt: Interrupt::new(),
            most: usize::MAX,
        }
    }

    /// Does what is left to do; gives all rows, and how many results are new.
    fn run(&self, bed: &Bed, tasks: &[Task]) -> (Vec<Row>, usize) {
        let finished = Mutex::new(Vec::new());
        let scratch = tempfile::tempdir().unwrap();
        let references = self.directory.join("references");
        let (index, unread) = Index::open(self.directory).unwrap();
        assert!(unread.is_empty(), "{unread:?}");
        let solvers: Vec<&dyn Solver> = self.solvers.iter().map(|s| s as &dyn Solver).collect();
        let names: Vec<&str> = solvers.iter().map(|solver| solver.name()).collect();
        let before = index.rows().unwrap();
        let retry = [Retry::Infrastructure];
        let jobs = remaining(tasks, &names, self.repetitions, &before, &retry);
        let made = bench(&BenchSpec {
            tasks,
            solvers: &solvers,
            jobs: &jobs,
            supply: &Local(bed),
            sandbox: &LocalSandbox::default(),
            limits: bed.limits,
            reference_runs: 3,
            mutants: 0,
            variables: &BTreeMap::new(),
            place: GistPlace::BesideTest,
            workers: 2,
            directory: self.directory,
            index: Some(&index),
            until: None,
            references: &[&references],
            scratch: &scratch.path().join("work"),
            drain: &self.drain,
            interrupt: &self.interrupt,
            progress: &|event| {
                if let BenchEvent::Finished { done, total, .. } = event {
                    finished.lock().unwrap().push((done, total));
                    if done >= self.most {
                        self.drain.trigger();
                    }
                }
            },
        });
        let finished = finished.into_inner().unwrap();
        let left: Vec<PathBuf> = match fs::read_dir(scratch.path().join("work")) {
            Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
            Err(_) => Vec::new(),
        };
        assert_eq!(left, Vec::<PathBuf>::new(), "working directories are left");
        assert_eq!(made.unwrap(), finished.len());
        (index.rows().unwrap(), finished.len())
    }
}

#[test]
fn every_task_has_its_result_on_disk() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let names = ["good", "wrong", "absent", "failing", "gone", "down", "surprising", "too-large"];
    let tasks: Vec<Task> = names.iter().map(|name| task(name, "tiny")).collect();
    let directory = tempfile::tempdir().unwrap();
    let (found, finished) = BenchOptions::of(directory.path()).run(&bed, &tasks);
    assert_eq!(finished, tasks.len());
    let told: Vec<String> = found
        .iter()
        .map(|row| match row.standing {
            AttemptStanding::Scored => format!(
                "{}: {} {}",
                row.task,
                row.value::<StrictFidelity>().unwrap(),
                row.what().unwrap_or_else(|| "-".to_owned())
            ),
            standing => format!("{}: {}: {}", row.task, standing.name(), row.evidence),
        })
        .collect();
    assert_eq!(
        told,
        [
            "absent: 0 file creation failure",
            "down: infrastructure: submitted",
            "failing: 1 -",
            "gone: infrastructure: the index has no such release",
            "good: 1 -",
            "surprising: 1 -",
            "too-large: unfit: submitted",
            "wrong: 0 run-time error",
        ]
    );
    // The index can be lost: the files say everything.
    fs::remove_file(directory.path().join("index.sqlite")).unwrap();
    assert_eq!(Index::open(directory.path()).unwrap().0.rows().unwrap(), found);
    let good = directory.path().join(&found[4].place);
    assert!(good.join("trajectory.jsonl").is_file() && good.join("concise.py").is_file());

    let summary = summarize(&found, &[]);
    let row = &summary.suites[0];
    assert_eq!((row.tasks, row.scored, row.infrastructure), (8, 5, 2));
    assert_eq!(row.scores[StrictFidelity::NAME].value, 0.6);
    assert_eq!(summary.failures.len(), 5);
    let unexpected: Vec<&str> = summary.unexpected.iter().map(|row| row.task.as_str()).collect();
    assert_eq!(unexpected, ["surprising"]);
    let text = summary.to_string(Format::Text);
    assert!(text.contains("5 of 8") && text.contains("60.0"), "{text}");

    // What the machine failed at is tried again, and nothing else.
    let (again, finished) = BenchOptions::of(directory.path()).run(&bed, &tasks);
    assert_eq!(finished, 2);
    assert_eq!(again.len(), found.len());
}

#[test]
fn damaged_results_are_told_apart() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let directory = tempfile::tempdir().unwrap();
    let tasks = [task("good", "tiny"), task("gone", "tiny")];
    let (found, _) = BenchOptions::of(directory.path()).run(&bed, &tasks);
    let good = found.iter().find(|row| row.task == "good").unwrap();
    let path = directory.path().join(&good.place).join("result.json");
    let whole = fs::read(&path).unwrap();
    for length in [0, 1, whole.len() / 2, whole.len() - 2] {
        fs::write(&path, &whole[..length]).unwrap();
        let (index, errors) = Index::open(directory.path()).unwrap();
        let rows = index.rows().unwrap();
        assert_eq!((rows.len(), errors.len()), (1, 1), "{length} bytes");
        assert_eq!(rows[0].task, "gone");
    }
}

#[test]
fn d02_an_index_is_made_good_wherever_it_is_cut_off() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let directory = tempfile::tempdir().unwrap();
    let (found, _) = BenchOptions::of(directory.path()).run(&bed, &[task("gone", "tiny")]);
    let path = directory.path().join("index.sqlite");
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(97) {
        for (name, bytes) in [("index.sqlite", &whole[..length]), ("index.sqlite-wal", b"junk")] {
            fs::write(directory.path().join(name), bytes).unwrap();
        }
        let (index, errors) = Index::open(directory.path()).unwrap();
        assert!(errors.is_empty());
        assert_eq!(index.rows().unwrap(), found, "{length} bytes");
    }
}

#[test]
fn solvers_share_what_the_original_does() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let directory = tempfile::tempdir().unwrap();
    let tasks = [task("good", "tiny"), task("wrong", "tiny")];
    let one = BenchOptions::of(directory.path());
    let (first, _) = one.run(&bed, &tasks);
    // Both tasks have one command; whoever came second found what the first one measured.
    assert_eq!(first.iter().filter(|row| !row.reference_cached).count(), 1);
    let solvers = [Scripted("scripted"), Scripted("other one")];
    let both =
        BenchOptions { solvers: &solvers, repetitions: 2, ..BenchOptions::of(directory.path()) };
    let (rows, finished) = both.run(&bed, &tasks);
    // What the first one did is not done again.
    assert_eq!((rows.len(), finished), (8, 6));
    let added: Vec<&Row> =
        rows.iter().filter(|row| row.solver == "other one" || row.repetition == 2).collect();
    assert!(added.iter().all(|row| row.reference_cached), "a reference was measured again");
    let summary = summarize(&rows, &["scripted", "other one"]);
    let told: Vec<_> = summary
        .suites
        .iter()
        .map(|row| (row.solver.as_str(), row.attempts, row.scores[StrictFidelity::NAME].value))
        .collect();
    assert_eq!(told, [("scripted", 4, 0.5), ("other one", 4, 0.5)]);
    assert_eq!(summary.comparisons[0].paired.difference, 0.0);
}

#[test]
fn a_task_that_cannot_tell_the_original_from_nothing_is_unfit() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    fs::write(bed.repository.root.join("src/shop/silent.py"), "value = 1\n").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let tasks = [task("silent", "tiny"), task("good", "tiny")];
    let (rows, _) = BenchOptions::of(directory.path()).run(&bed, &tasks);
    let told: Vec<_> = rows.iter().map(|row| (row.standing, row.evidence.as_str())).collect();
    assert_eq!(
        told,
        [(AttemptStanding::Scored, ""), (AttemptStanding::Unfit, "an empty gist is accepted")]
    );
    let summary = summarize(&rows, &[]);
    assert_eq!((summary.suites[0].scored, summary.suites[0].unfit), (1, 1));
    assert_eq!(summary.suites[0].scores[StrictFidelity::NAME].value, 1.0);
    // Nobody was asked to attempt it.
    assert!(!directory.path().join(&rows[1].place).join("trajectory.jsonl").exists());
}

#[test]
fn an_interrupt_leaves_no_half_results_and_a_drain_whole_ones() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let directory = tempfile::tempdir().unwrap();
    let asked = BenchOptions::of(directory.path());
    asked.interrupt.trigger();
    let (found, finished) = asked.run(&bed, &[task("good", "tiny")]);
    assert_eq!((found.len(), finished), (0, 0));
    let tasks: Vec<Task> = (0..8).map(|at| task(&format!("good {at}"), "tiny")).collect();
    let asked = BenchOptions { most: 1, ..BenchOptions::of(directory.path()) };
    let (found, finished) = asked.run(&bed, &tasks);
    // Two workers: what the other one had begun is ended, and nothing more is begun.
    assert!((1..=2).contains(&finished), "{finished} results");
    assert!(found.iter().all(|row| row.is_faithful()));
    let (found, _) = BenchOptions::of(directory.path()).run(&bed, &tasks);
    assert_eq!(found.len(), tasks.len());
}
