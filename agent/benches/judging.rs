//! Measures the cost of judging: CPU time of a mutant, and wall-clock time of scoring beside the
//! plain run of the command, part by part, with references and environments in the cache.
//!
//! `judging [--tasks N] [--mutants N] [--former PROGRAM] SUITE...`: the first N tasks of suites of
//! configs/suites, by the offline model. PROGRAM is an earlier build of gistify, which does the
//! same tasks in the same run. Prints one line for each figure and its bound, and fails if a figure
//! exceeds it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use serde_json::Value;

mod figure;

use figure::figure;

/// CPU milliseconds of a mutant, in the median.
const MUTANT: f64 = 50.0;
/// Wall-clock time of scoring by that of the plain run, in the median of tasks.
const SCORING: f64 = 2.0;
/// The run of the candidate alone by the plain run.
const ALONE: f64 = 1.5;
/// Scoring by that of the former build.
const FORMER: f64 = 0.8;

fn main() -> ExitCode {
    // `cargo bench` adds this to what is given.
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let (mut tasks, mut mutants, mut former, mut suites) = (5, 20, None, Vec::new());
    while let Some(arg) = args.next() {
        let mut number = |otherwise| args.next().and_then(|n| n.parse().ok()).unwrap_or(otherwise);
        match arg.as_str() {
            "--tasks" => tasks = number(tasks),
            "--mutants" => mutants = number(mutants),
            "--former" => former = args.next().map(PathBuf::from),
            _ => suites.push(arg),
        }
    }
    if suites.is_empty() {
        println!("nothing is measured (name suites)");
        return ExitCode::FAILURE;
    }
    let ours = PathBuf::from(env!("CARGO_BIN_EXE_gistify"));
    let here = tempfile::tempdir().expect("a directory");
    let mut kept = true;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for suite in &suites {
        let bench = |program: &Path, name: &str, more: &[&str]| {
            let directory = here.path().join(format!("{suite}-{name}"));
            run(program, suite, tasks, &directory, more);
            results(&directory)
        };
        // The first run fills the caches.
        let mutated = bench(&ours, "mutants", &["--mutants", &mutants.to_string()]);
        let runs = || mutated.iter().map(|one| &one["scores"]["sensitivity"]["evidence"]);
        let cpu: Vec<f64> =
            runs().filter_map(|one| one["cpu_seconds"].as_f64()).map(|cpu| cpu * 1000.0).collect();
        let cold = runs().filter(|one| one["forked"] == Value::Bool(false)).count();
        let detail = format!("{} tasks, {cold} of them with a process for each", cpu.len());
        kept &= figure(&format!("{suite}: CPU of a mutant, ms"), median(cpu), MUTANT, &detail);
        kept &= cold == 0;
        let scored = bench(&ours, "scored", &["--mutants", "0"]);
        after.extend(ratios(&scored, "all"));
        for part in parts(&scored) {
            let own = ratios(&scored, &part);
            let bound = if part == "candidate" { ALONE } else { f64::INFINITY };
            let detail = format!("{} tasks", own.len());
            kept &=
                figure(&format!("{suite}: {part} by the plain run"), median(own), bound, &detail);
        }
        if let Some(former) = &former {
            bench(former, "former-first", &[]);
            before.extend(ratios(&bench(former, "former", &[]), "all"));
        }
    }
    let detail = format!("{} tasks", after.len());
    let scoring = median(after);
    kept &= figure("scoring by the plain run", scoring, SCORING, &detail);
    if former.is_some() {
        let detail = format!("{} tasks", before.len());
        let ratio = scoring / median(before);
        kept &= figure("scoring by that of the former build", ratio, FORMER, &detail);
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(program: &Path, suite: &str, tasks: usize, directory: &Path, more: &[&str]) {
    let status = Command::new(program)
        .args(["-q", "bench", suite, "-w", "1", "--first", &tasks.to_string(), "--run-dir"])
        .arg(directory)
        .args(more)
        .stdout(Stdio::null())
        .status();
    // A gist that is not faithful takes its time like any other.
    let code = status.expect("it runs").code();
    assert!(matches!(code, Some(0 | 1)), "{suite}: {code:?}");
}

/// The evaluations of a bench.
fn results(directory: &Path) -> Vec<Value> {
    let mut found = Vec::new();
    let mut pending = vec![directory.join("tasks")];
    while let Some(place) = pending.pop() {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.ends_with("result.json") {
                let text = fs::read_to_string(&path).expect("a result");
                let result: Value = serde_json::from_str(&text).expect("a result");
                found.extend(result["outcome"].get("judged").cloned());
            }
        }
    }
    found
}

/// Parts of scoring that results have times of.
fn parts(results: &[Value]) -> Vec<String> {
    let mut names: Vec<String> = results
        .iter()
        .filter_map(|one| one["timings"].as_object())
        .flat_map(|timings| timings.keys().cloned())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Seconds of a part of scoring, or of all of it, by those of the plain run.
fn ratios(results: &[Value], part: &str) -> Vec<f64> {
    let ratio = |one: &Value| {
        let plain = one["reference"]["seconds"].as_f64().filter(|seconds| *seconds > 0.0)?;
        let seconds = if part == "all" { &one["seconds"] } else { &one["timings"][part] };
        Some(seconds.as_f64()? / plain)
    };
    results.iter().filter_map(ratio).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
