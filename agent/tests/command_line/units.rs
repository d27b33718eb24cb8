//! Benches in three parts: a plan, workers that share it in any way and may be killed, and who finishes.

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

use super::{
    User,
    benching::{finished, suite},
    collecting::MIXED,
    python, read,
};

/// A user with a suite of six tasks and its plan in `run`.
fn planned() -> Option<User> {
    let python = python()?;
    let user = User::new();
    user.repository("mixed", MIXED);
    suite(&user, "s.toml", &python, 6);
    let ran = user.gistify(&["bench", "plan", "s.toml", "--run-dir", "run"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("6 units, "), "{}", ran.out);
    Some(user)
}

fn work(user: &User, args: &[&str]) -> Child {
    let all = [&["bench", "work"], args].concat();
    user.command(&all).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn code(child: Child) -> Option<i32> {
    child.wait_with_output().unwrap().status.code()
}

fn ids(directory: &Path) -> Vec<String> {
    let units = read(&directory.join("units.jsonl"));
    let unit = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].to_string();
    units.lines().map(unit).map(|id| id.trim_matches('"').to_owned()).collect()
}

/// Directories of attempts that were not finished.
fn unfinished(directory: &Path) -> usize {
    let mut found = vec![directory.join("tasks")];
    for _ in 0..3 {
        let below = |path: &std::path::PathBuf| {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(below).collect();
    }
    let hidden = |path: &&std::path::PathBuf| {
        path.file_name().unwrap().to_string_lossy().starts_with('.') && path.is_dir()
    };
    found.iter().filter(hidden).count()
}

/// The rows of a summary, without times.
fn scores(directory: &Path) -> Vec<Value> {
    let summary: Value = serde_json::from_str(&read(&directory.join("summary.json"))).unwrap();
    let rows = summary["suites"].as_array().unwrap();
    rows.iter()
        .map(|row| serde_json::json!([row["solver"], row["attempts"], row["scores"]]))
        .collect()
}

#[test]
fn shards_of_a_killed_bench_come_to_what_one_process_does() {
    let Some(user) = planned() else { return };
    let run = user.here().join("run");
    assert_eq!(finished(&run).len(), 0);
    let again = user.gistify(&["bench", "plan", "s.toml", "--run-dir", "again"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(read(&run.join("units.jsonl")), read(&user.here().join("again/units.jsonl")));

    // One of two workers is killed once it has a result.
    let (mut one, two) =
        (work(&user, &["run", "--shard", "1/2"]), work(&user, &["run", "--shard", "2/2"]));
    while finished(&run).is_empty() {
        assert!(one.try_wait().unwrap().is_none() || !finished(&run).is_empty());
        thread::sleep(Duration::from_millis(20));
    }
    one.kill().unwrap();
    let killed = one.wait().unwrap();
    assert!(killed.signal() == Some(9) || killed.code() == Some(0), "{killed}");
    assert_eq!(code(two), Some(0));
    assert!(!run.join("index.sqlite").exists() && !run.join("summary.json").exists());

    // The rest is a line to paste.
    let finish = user.gistify(&["bench", "finish", "run"]);
    if finish.code == 75 {
        let line = finish.err.lines().last().unwrap().split_once("gistify ").unwrap();
        let args: Vec<&str> =
            line.1.split_once("gistify ").map_or(line.1, |(_, rest)| rest).split(' ').collect();
        let ran = user.gistify(&args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    }
    let finish = user.gistify(&["bench", "finish", "run"]);
    assert_eq!(finish.code, 0, "{}{}", finish.out, finish.err);
    assert_eq!((finished(&run).len(), unfinished(&run)), (6, 0));
    let whole = user.gistify(&["bench", "s.toml", "--run-dir", "whole"]);
    assert_eq!(whole.code, 0, "{}", whole.err);
    assert_eq!(scores(&run), scores(&user.here().join("whole")));
}

#[test]
fn a_worker_that_is_told_to_stop_leaves_nothing_half_done() {
    let Some(user) = planned() else { return };
    let run = user.here().join("run");
    let worker = work(&user, &["run", "--shard", "1/1"]);
    while unfinished(&run) == 0 {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(unsafe { libc::kill(worker.id() as i32, libc::SIGTERM) }, 0);
    assert_eq!(code(worker), Some(75));
    assert_eq!(unfinished(&run), 0);
    for path in finished(&run) {
        serde_json::from_str::<Value>(&read(&path)).unwrap();
    }
    // No time is left for a second unit.
    let ran = user.gistify(&["bench", "work", "run", "--shard", "1/1", "--until", "0.001"]);
    assert_eq!(ran.code, 75, "{}", ran.err);
    let all = ids(&run).len();
    assert!(finished(&run).len() < all);
    assert!(ran.err.contains(&format!("of {all} units left")), "{}", ran.err);
}

/// A worker says after each result how far it is, for programs that watch it; whoever only looks at its directory
/// leaves no index there.
#[test]
fn a_worker_is_watched_by_lines_of_json_and_by_its_directory() {
    let Some(user) = planned() else { return };
    let run = user.here().join("run");
    let work = ["bench", "work", "run", "--shard", "1/2", "--progress", "json"];
    let ran = user.gistify(&work);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<Value> =
        ran.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let results: Vec<&Value> = lines.iter().filter(|line| line["event"] == "finished").collect();
    assert_eq!(results.len(), 3, "{}", ran.err);
    for (at, line) in results.iter().enumerate() {
        assert_eq!((&line["done"], &line["total"]), (&(at + 1).into(), &3.into()), "{line}");
        assert!(line["per_minute"].as_f64().unwrap() > 0.0, "{line}");
        assert_eq!((&line["failure"], &line["spent"]), (&Value::Null, &0.0.into()), "{line}");
    }
    assert_eq!(results[2]["seconds_left"], 0.0);
    let report = user.gistify(&["report", "run", "-o", "pages"]);
    assert_eq!(report.code, 0, "{}", report.err);
    let index = read(&user.here().join("pages/data/index.js"));
    let data = index.trim().strip_prefix("gistify.index(").unwrap().strip_suffix(");").unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!((&data["planned"], data["rows"].as_array().unwrap().len()), (&6.into(), 3));
    assert_eq!(data["tasks"].as_array().unwrap().len(), 3);
    assert!(!run.join("index.sqlite").exists());
}

#[test]
fn units_are_made_once_whoever_takes_them_and_wherever() {
    let Some(user) = planned() else { return };
    let run = user.here().join("run");
    let ids = ids(&run);
    let (one, two) = (
        work(&user, &["run", "--unit", &ids[0], "--unit", &ids[1]]),
        work(&user, &["run", "--unit", &ids[0], "--unit", &ids[1]]),
    );
    assert_eq!((code(one), code(two)), (Some(0), Some(0)));
    assert_eq!((finished(&run).len(), unfinished(&run)), (2, 0));

    // A machine without a shared disk works on a copy.
    let other = user.here().join("other");
    fs::create_dir_all(&other).unwrap();
    for name in ["plan.json", "tasks.json", "units.jsonl"] {
        fs::copy(run.join(name), other.join(name)).unwrap();
    }
    let rest: Vec<&str> = ids[2..].iter().flat_map(|id| ["--unit", id]).collect();
    assert_eq!(code(work(&user, &[&["other"], &rest[..]].concat())), Some(0));
    let finish = user.gistify(&["bench", "finish", "run", "other"]);
    assert_eq!(finish.code, 0, "{}{}", finish.out, finish.err);
    assert_eq!((finished(&run).len(), finished(&other).len()), (6, 4));

    // All of it is refused that is no part of the plan.
    for (args, exit, part) in [
        (vec!["run", "--unit", "x"], 2, "no unit x in the plan"),
        (vec!["run", "--unit", &ids[0], "--unit", &ids[0]], 2, "is named twice"),
        (vec!["run", "--from-env"], 2, "none of GISTIFY_SHARD"),
        (vec!["run"], 2, "--shard"),
        (vec!["nowhere", "--shard", "1/1"], 3, "nowhere"),
    ] {
        let ran = user.gistify(&[&["bench", "work"], &args[..]].concat());
        assert_eq!(ran.code, exit, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
    let tasks = read(&run.join("tasks.json")).replace("task 0", "task 9");
    fs::write(run.join("tasks.json"), tasks).unwrap();
    let ran = user.gistify(&["bench", "work", "run", "--shard", "1/1"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("its tasks are not those of its plan"), "{}", ran.err);
    super::schemas::validate(&user.here());
}
