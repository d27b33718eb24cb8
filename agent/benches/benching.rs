//! Measures the overhead of a bench: the time of a suite's tasks in a bench beside that of the same
//! tasks executed one by one by hand; and its memory after few and after many tasks.
//!
//! `benching [--python PYTHON] [--many M] [--tasks N] [SUITE]`: M tasks of a small repository made
//! here, for which PYTHON has pytest, and the first N tasks of SUITE, one of configs/suites, whose
//! packages come from the cache. Prints one line for each figure and its bound, and fails if a
//! figure exceeds it.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use eval::{Suite, Task};

mod figure;

use figure::{figure, memory, ratio};

/// Times that all is run; the middle one counts.
const TIMES: usize = 3;
/// The share of the tasks of the bench whose memory is looked at, after which everything that is made once
/// has been made.
const SETTLED: usize = 4;

fn main() -> ExitCode {
    // `cargo bench` adds this to what is given.
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let (mut python, mut many, mut tasks, mut suite) = ("python3".to_owned(), 100, 6, None);
    while let Some(arg) = args.next() {
        let mut number = |otherwise| args.next().and_then(|n| n.parse().ok()).unwrap_or(otherwise);
        match arg.as_str() {
            "--many" => many = number(many),
            "--tasks" => tasks = number(tasks),
            "--python" => python = args.next().unwrap_or(python),
            _ => suite = Some(arg),
        }
    }
    let mut kept = flat(&python, many);
    match suite {
        Some(suite) => kept &= overhead(&suite, tasks),
        None => println!("the overhead over tasks by hand is not measured (name a suite)"),
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The time of a bench of one worker beside that of its tasks run by hand.
fn overhead(name: &str, tasks: usize) -> bool {
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/suites");
    let suite = Suite::read(&suites.join(format!("{name}.toml"))).expect("a suite");
    let tasks = &suite.tasks[..tasks.min(suite.tasks.len())];
    let here = tempfile::tempdir().expect("a directory");
    let count = tasks.len().to_string();
    let cache = here.path().join("cache");
    let run = |args: &[String]| {
        // Runs by hand take up earlier traces, a bench never does.
        let _ = fs::remove_dir_all(cache.join("traces"));
        let (began, before) = (Instant::now(), figure::cpu(libc::RUSAGE_CHILDREN));
        let status = Command::new(env!("CARGO_BIN_EXE_gistify"))
            .arg("--set")
            .arg(format!("environment.cache={}", cache.display()))
            .args(args)
            .current_dir(here.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        // A gist that is not faithful takes its time like any other.
        let code = status.expect("it runs").code();
        assert!(matches!(code, Some(0 | 1)), "{args:?}: {code:?}");
        assert!(cache.join("references").exists(), "{args:?}: it works in another cache");
        (began.elapsed(), figure::cpu(libc::RUSAGE_CHILDREN) - before)
    };
    let mut benches = 0;
    let mut bench = || {
        benches += 1;
        let directory = here.path().join(format!("bench-{benches}"));
        let args = ["-q", "bench", name, "-w", "1", "--first", &count, "--run-dir"];
        let args = args.into_iter().map(str::to_owned);
        run(&args.chain([directory.display().to_string()]).collect::<Vec<_>>())
    };
    let mut runs = 0;
    let mut by_hand = || {
        let one = |task: &Task| {
            runs += 1;
            run(&alone(task, &suites, &here.path().join(format!("run-{runs}"))))
        };
        let all: Vec<_> = tasks.iter().map(one).collect();
        (all.iter().map(|(wall, _)| wall).sum(), all.iter().map(|(_, cpu)| cpu).sum())
    };
    // The first ones fill the cache.
    bench();
    by_hand();
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..TIMES {
        // By turns, so that whatever else the machine does meets both.
        let (ours, theirs): (_, (Duration, Duration)) = (bench(), by_hand());
        for (all, time) in times.iter_mut().zip([ours.0, theirs.0, ours.1, theirs.1]) {
            all.push(time);
        }
    }
    let [wall, wall_by_hand, cpu, cpu_by_hand] = times.map(|mut all| {
        all.sort();
        all[TIMES / 2]
    });
    let over = |name: &str, ours, theirs| {
        let detail =
            format!("{ours:.1?} beside {theirs:.1?} for {count} tasks, medians of {TIMES}");
        let name = format!("overhead of a bench over its tasks by hand, percent of {name}");
        figure(&name, (ratio(ours, theirs) - 1.0) * 100.0, 5.0, &detail)
    };
    let kept = over("time", wall, wall_by_hand);
    // Others at work on the machine move the one, and not the other.
    over("CPU", cpu, cpu_by_hand) && kept
}

/// A task of a suite as a user would run it.
fn alone(task: &Task, suites: &Path, record: &Path) -> Vec<String> {
    let mut args: Vec<String> = ["-q", "run", "--force", "--run-dir"].map(str::to_owned).into();
    args.push(record.display().to_string());
    args.extend(["--python".to_owned(), task.python.clone()]);
    if let Some(lock) = &task.lock {
        let lock: PathBuf = suites.join(lock);
        args.extend(["--set".to_owned(), format!("environment.lock={}", lock.display())]);
    }
    args.extend([format!("pypi:{}=={}", task.repo, task.version), "--".to_owned()]);
    args.extend(task.command.split_whitespace().map(str::to_owned));
    args
}

/// Resident memory after many tasks beside that after few.
fn flat(python: &str, many: usize) -> bool {
    let few = (many / SETTLED).max(1);
    let home = tempfile::tempdir().expect("a directory");
    let source = home.path().join("small");
    fs::create_dir(&source).expect("a directory");
    let (code, test) = (
        "def double(value):\n    return value * 2\n",
        "from calc import double\n\n\ndef test_double():\n    assert double(2) == 4\n",
    );
    fs::write(source.join("calc.py"), code).expect("a file");
    fs::write(source.join("test_calc.py"), test).expect("a file");
    let task = |at: usize| {
        let test = "test_calc.py::test_double";
        format!("[[task]]\nid = 'task {at}'\ntest = '{test}'\ncommand = 'pytest {test}'\n")
    };
    let head = format!("source = '{}'\npython = '{python}'\n", source.display());
    let suite = head + &(0..many).map(task).collect::<String>();
    fs::write(home.path().join("s.toml"), suite).expect("a file");
    let mut child = Command::new(env!("CARGO_BIN_EXE_gistify"))
        .args(["bench", "s.toml", "-w", "2", "--run-dir", "run"])
        .current_dir(home.path())
        .env("HOME", home.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let process = child.id().to_string();
    let (mut done, mut settled, mut last) = (0, 0.0, 0.0);
    let mut said = String::new();
    for line in BufReader::new(child.stderr.take().expect("a pipe")).lines() {
        let line = line.expect("text");
        // One line for each result.
        if line.starts_with('[') {
            done += 1;
            last = memory(&process, "VmRSS").unwrap_or(last);
            if done == few {
                settled = last;
            }
        }
        said = line;
    }
    let status = child.wait().expect("an end");
    assert!(status.success() && done == many, "{status}: {said}");
    let (early, late) = (settled / 1024.0, last / 1024.0);
    let detail = format!("{early:.0} MiB after {few} tasks, {late:.0} MiB after {many}");
    figure("memory of a bench at its end, times that when settled", last / settled, 1.1, &detail)
}
