//! Benches of several solvers: stopped, killed and resumed, and what is printed of them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use super::{GIST_OF_SMALL, Ran, SMALL, User, collecting::MIXED, python, read};

/// Answers with a gist at once; a wrong one where the command says so.
pub const MODEL: &str = r#"
import json, sys
request = json.load(sys.stdin)
gist = open(sys.argv[1]).read()
calls = [{"tool": "edit", "arguments": {"action": "create", "text": gist}},
         {"tool": "submit", "arguments": {}}]
step = sum(1 for message in request["messages"] if message["role"] == "assistant")
print(json.dumps({"calls": [calls[step]], "usage": {"input": 100, "output": 20}}))
"#;

/// A suite with so many tasks, all of one test.
pub fn suite(user: &User, name: &str, python: &str, tasks: usize) {
    let task = |at: usize| {
        format!(
            "[[task]]\nid = 'task {at}'\ntest = 't'\ncommand = \
             'pytest tests/test_good.py::test_good[{}]'\ncalls = {}\nfiles = {}\n",
            at % 3 + 1,
            at + 1,
            tasks - at
        )
    };
    let source = user.here().join("mixed");
    let head = format!("source = '{}'\npython = '{python}'\n", source.display());
    let text = head + &(0..tasks).map(task).collect::<String>();
    fs::write(user.here().join(name), text).unwrap();
}

/// All that pytest needs, with an older version of one package.
const LOCK: &str =
    "iniconfig==2.1.0\npackaging==25.0\npluggy==1.6.0\nPygments==2.19.2\npytest==8.4.2\n";

/// A suite may take its repository from git: its lock and version of Python then make the environment.
#[test]
fn a_git_repository_of_a_suite_has_an_environment_of_its_lock() {
    let Some(python) = python() else { return };
    let user = User::new();
    let files = "\
#- code/calc.py
def double(value):
    return value * 2
#- checks/test_calc.py
from importlib.metadata import version

from calc import double


def test_double():
    assert version('iniconfig') == '2.1.0'
    assert double(2) == 4
";
    let root = user.repository("repo", files);
    let name = ["-c", "user.name=x", "-c", "user.email=x@x.example"];
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "one"]] {
        let mut git = Command::new("git");
        git.args(name).args(arguments).current_dir(&root).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(git.status().unwrap().success(), "{arguments:?}");
    }
    // What is not committed is not there.
    fs::write(root.join("code/calc.py"), "").unwrap();
    fs::write(user.here().join("lock.txt"), LOCK).unwrap();
    let version = Command::new(&python)
        .args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
        .output()
        .unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let suite = format!(
        "source = 'git+file://{}@HEAD'\npython = '{}'\nlock = 'lock.txt'\npythonpath = 'code'\n[[task]]\nid = \
         'double'\ntest = 't'\ncommand = 'pytest checks/test_calc.py::test_double'\n",
        root.display(),
        version.trim()
    );
    fs::write(user.here().join("suite.toml"), suite).unwrap();
    let ran = user.gistify(&["bench", "./suite.toml", "--run-dir", "record"]);
    if ran.code == 5 && ran.out.contains("pip") {
        eprintln!("skipped: {}", ran.out);
        return;
    }
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let results = finished(&user.here().join("record"));
    let result: Value = serde_json::from_str(&read(&results[0])).unwrap();
    assert!(result.to_string().contains("\"passed\":1"), "{result:#}");
}

/// Result files below a run's directory, sorted.
pub fn finished(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.join("tasks")];
    for _ in 0..3 {
        let below = |path: &PathBuf| {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(below).collect();
    }
    found = found.iter().map(|place| place.join("result.json")).collect();
    found.retain(|path| path.exists());
    found.sort();
    found
}

fn start(user: &User, args: &[&str]) -> Child {
    user.command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_writer_that_gets_one_case_is_judged_on_all() {
    let Some(python) = python() else { return };
    let user = User::new();
    let source = user.repository(
        "sign",
        "#- sign.py\ndef sign(value):\n    if value < 0:\n        return '-'\n    return '+'\n#- test_sign.py\nimport pytest\nfrom sign import sign\n\n\n@pytest.mark.parametrize('value, expected', [(1, '+'), (-1, '-')])\ndef test_sign(value, expected):\n    assert sign(value) == expected\n",
    );
    let suite = format!(
        "source = '{}'\npython = '{python}'\n[[task]]\nid = 'sign'\ntest = 't'\ncommand = 'pytest test_sign.py::test_sign'\n",
        source.display()
    );
    fs::write(user.here().join("s.toml"), suite).unwrap();
    let scaffolds = ["--scaffold", "offline", "--scaffold", "offline-one-case"];
    let ran = user.gistify(&[&["bench", "s.toml", "--run-dir", "run"][..], &scaffolds].concat());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let ran = user.gistify(&["tables", "run", "--json"]);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    let rows = summary["suites"].as_array().unwrap().iter();
    let scores = rows.map(|row| {
        let fidelity = row["scores"]["execution_fidelity_strict"]["value"].as_f64();
        (row["solver"].as_str().unwrap(), fidelity.unwrap())
    });
    assert_eq!(scores.collect::<Vec<_>>(), [("offline", 1.0), ("offline-one-case offline", 0.0)]);
    // Both wrote a gist: that for one case lacks the statement of the other.
    for path in finished(&user.here().join("run")) {
        let result: Value = serde_json::from_str(&read(&path)).unwrap();
        assert!(result["attempt"]["gist"].is_string(), "{result:#}");
    }
}

#[test]
fn solvers_are_benched_on_the_same_tasks() {
    let Some(python) = python() else { return };
    let user = User::new();
    let source = user.repository("small", SMALL);
    fs::write(user.here().join("model.py"), MODEL).unwrap();
    fs::write(user.here().join("good.py"), GIST_OF_SMALL).unwrap();
    fs::write(user.here().join("bad.py"), GIST_OF_SMALL.replace("value * FACTOR", "value"))
        .unwrap();
    let suite = format!(
        "source = '{}'\npython = '{python}'\n[[task]]\nid = 'small::double'\ntest = 't'\ncommand = \
         'pytest tests/test_numbers.py::test_double'\n",
        source.display()
    );
    fs::write(user.here().join("s.toml"), suite).unwrap();
    let model = |gist: &str| format!("command/{python} model.py {gist}");
    let (good, bad) = (model("good.py"), model("bad.py"));
    let args = [
        "bench",
        "s.toml",
        "-m",
        "offline",
        "-m",
        &good,
        "-m",
        &bad,
        "--scaffold",
        "repomaster",
        "--scaffold",
        "swe-agent",
        "--with",
        "edit",
        "--repeat",
        "2",
        "--run-dir",
        "run",
        "-w",
        "2",
    ];
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("[10/10]") && ran.err.contains(" a minute"), "{}", ran.err);
    let ran = user.gistify(&["tables", "run", "--json"]);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    let rows = summary["suites"].as_array().unwrap();
    let told: Vec<(String, f64, u64)> = rows
        .iter()
        .map(|row| {
            let name = row["solver"].as_str().unwrap();
            let name = name.replace(&good, "GOOD").replace(&bad, "BAD");
            (
                name,
                row["scores"]["execution_fidelity_strict"]["value"].as_f64().unwrap(),
                row["attempts"].as_u64().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("offline", 1.0),
        ("repomaster GOOD", 1.0),
        ("swe-agent GOOD", 1.0),
        ("repomaster BAD", 0.0),
        ("swe-agent BAD", 0.0),
    ];
    assert_eq!(told, expected.map(|(name, fidelity)| (name.to_owned(), fidelity, 2)));
    assert_eq!(rows[0]["writer"]["trace"], true);
    assert_eq!(rows[2]["tokens_in"], 200.0);
    // Whoever comes later finds what the original does.
    let results: Vec<Value> = finished(&user.here().join("run"))
        .iter()
        .map(|path| serde_json::from_str(&read(path)).unwrap())
        .collect();
    let cached = |result: &&Value| result["outcome"]["judged"]["reference"]["cached"] == true;
    assert_eq!((results.len(), results.iter().filter(cached).count()), (10, 9));

    for (format, parts) in [
        ("text", ["Compared on the same tasks", "run-time error"]),
        ("markdown", ["### Main results", "| suite | solver | had | tasks |"]),
        ("csv", ["comparison\nsolver,against,measure,tasks", "s,offline,\"trace, runs\",1,100.0"]),
        ("latex", ["\\begin{tabular}{lll", "\\label{tab:tools}"]),
    ] {
        let ran = user.gistify(&["tables", "run", "--format", format]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        for part in parts {
            assert!(ran.out.contains(part), "{format}: {part}: {}", ran.out);
        }
    }
    let bad = format!("repomaster {bad}");
    let args = ["compare", "run", "run", "--solver", "offline", "--against", &bad];
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("fidelity") && ran.out.contains("-100.0"), "{}", ran.out);
    assert!(ran.out.contains("small::double: faithful to run-time error"), "{}", ran.out);
    let ran = user.gistify(&["compare", "run", "run"]);
    assert!(
        ran.code == 2 && ran.last_error_line().contains("several solvers are in it"),
        "{}",
        ran.err
    );

    // A patch that git applies, and that holds the gist.
    let ran = user.gistify(&["predictions", "run", "--solver", "offline"]);
    let prediction: Value = serde_json::from_str(ran.out.trim_end()).unwrap();
    assert_eq!(prediction["instance_id"], "small::double");
    let patch = user.here().join("gist.patch");
    fs::write(&patch, prediction["model_patch"].as_str().unwrap()).unwrap();
    let applied = Command::new("git").arg("apply").arg(&patch).current_dir(&source).status();
    assert!(applied.unwrap().success());
    let record = finished(&user.here().join("run")).remove(0);
    let gist = read(&source.join("tests/concise.py"));
    assert_eq!(gist, read(&record.with_file_name("concise.py")));
}

#[test]
fn d09_an_interrupt_drains_and_a_second_one_stops() {
    let Some(python) = python() else { return };
    for signals in [1, 2] {
        let user = User::new();
        user.repository("mixed", MIXED);
        suite(&user, "s.toml", &python, 30);
        let child = start(&user, &["bench", "s.toml", "--run-dir", "run"]);
        let run = user.here().join("run");
        while finished(&run).is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let before = finished(&run).len();
        for _ in 0..signals {
            assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
            // Two signals of one kind that wait are one.
            std::thread::sleep(Duration::from_millis(100));
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(said.contains("ending what has begun (interrupt again to stop it)"), "{said}");
        assert!(said.contains("of 30 attempts left (see --resume)"), "{said}");
        let after = finished(&run).len();
        // What had begun is ended; one more may have, before the signal came.
        assert!(after >= before && after <= before + 2, "{before} results, then {after}");
        assert_eq!(user.leftovers(), Vec::<PathBuf>::new());
    }
}

#[test]
fn d11_a_gist_that_changed_after_it_was_scored_does_not_count() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("mixed", MIXED);
    suite(&user, "s.toml", &python, 2);
    let ran = user.gistify(&["bench", "s.toml", "--run-dir", "run"]);
    assert!([0, 1].contains(&ran.code), "{}{}", ran.out, ran.err);
    let attempts = finished(&user.here().join("run"));
    let gists: Vec<PathBuf> = attempts
        .iter()
        .map(|result| result.with_file_name("concise.py"))
        .filter(|gist| gist.exists())
        .collect();
    let before = read(&gists[0]);
    fs::write(&gists[0], "").unwrap();
    let report = user.gistify(&["report", "run"]);
    assert!(
        report.err.contains("concise.py: it was changed or removed after it was scored"),
        "{}",
        report.err
    );
    let ran = user.gistify(&["bench", "s.toml", "--resume", "run"]);
    assert!(ran.err.contains("it was changed or removed after it was scored"), "{}", ran.err);
    assert_eq!(read(&gists[0]), before, "it is made again");
    let ran = user.gistify(&["report", "run"]);
    assert!(!ran.err.contains("changed"), "{}", ran.err);
}

#[test]
fn d12_a_source_or_program_that_changed_is_refused_with_the_difference() {
    let Some(python) = python() else { return };
    let user = User::new();
    let root = user.repository("mixed", MIXED);
    suite(&user, "s.toml", &python, 1);
    fs::write(user.here().join("gist.py"), GIST_OF_SMALL).unwrap();
    fs::write(user.here().join("model.py"), MODEL).unwrap();
    let model = format!("command/{python} model.py gist.py");
    let bench = |how: &str| {
        user.gistify(&["bench", "s.toml", how, "run", "-m", &model, "--scaffold", "repomaster"])
    };
    let ran = bench("--run-dir");
    assert!([0, 1].contains(&ran.code), "{}{}", ran.out, ran.err);
    assert!([0, 1].contains(&bench("--resume").code));
    for (path, told) in [
        (user.here().join("model.py"), "program model.py: was "),
        (root.join("tests/test_good.py"), "/mixed: was "),
    ] {
        let before = read(&path);
        fs::write(&path, format!("{before}\n")).unwrap();
        let ran = bench("--resume");
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(
            ran.last_error_line().contains(told) && ran.last_error_line().contains("inputs."),
            "{}",
            ran.err
        );
        fs::write(&path, before).unwrap();
    }
}

#[test]
fn d13_a_bench_whose_directory_is_removed_stops_with_a_message() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("mixed", MIXED);
    suite(&user, "s.toml", &python, 30);
    let run = user.here().join("run");
    let child = start(&user, &["-q", "bench", "s.toml", "--run-dir", "run"]);
    while finished(&run).is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    // What is written meanwhile may stand in the way of one attempt to remove it.
    while run.join("plan.json").exists() {
        let _ = fs::remove_dir_all(&run);
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{said}");
}

#[test]
fn d10_a_directory_has_one_bench() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("mixed", MIXED);
    suite(&user, "s.toml", &python, 30);
    let mut child = start(&user, &["-q", "bench", "s.toml", "--run-dir", "run"]);
    while finished(&user.here().join("run")).is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = user.gistify(&["bench", "s.toml", "--resume", "run"]);
    assert_eq!(second.code, 3, "{}", second.err);
    assert!(second.last_error_line().ends_with("another bench is at work in it"), "{}", second.err);
    // Whoever only reads is let in.
    let ran = user.gistify(&["tables", "run"]);
    assert!(ran.code == 0 && ran.out.contains("offline"), "{}{}", ran.out, ran.err);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn d01_a_bench_that_is_killed_again_and_again_loses_nothing() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("mixed", MIXED);
    suite(&user, "s.toml", &python, 6);
    loses_nothing(&user, &["s.toml"], 6, 12, 4_001);
}

/// A bench of so many tasks, killed so often after at most so many milliseconds, and resumed each time.
pub fn loses_nothing(user: &User, what: &[&str], tasks: usize, kills: u64, longest: u64) {
    let bench = |quiet: &[&str], how: &str, run: &str, more: &[&str]| {
        let args = [quiet, &["bench"], what, &[how, run, "-w", "2"], more].concat();
        args.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let run = user.here().join("run");
    let read_all = || -> Vec<(PathBuf, String)> {
        finished(&run).into_iter().map(|path| (path.clone(), read(&path))).collect()
    };
    // A bench that was killed before it had a plan is begun again.
    let next = || match run.join("plan.json").exists() {
        true => "--resume",
        false => {
            let _ = fs::remove_dir_all(&run);
            "--run-dir"
        }
    };
    let mut made = 0;
    for kill in 0..kills {
        let mut before = read_all();
        if before.len() == tasks {
            // All is done: from the beginning, so that kills meet every point.
            fs::remove_dir_all(&run).unwrap();
            before.clear();
            made += 1;
        }
        let args = bench(&["-q"], next(), "run", &[]);
        let mut child = start(user, &args.iter().map(String::as_str).collect::<Vec<_>>());
        // No test depends on where the kills fall; they only fall all over.
        std::thread::sleep(Duration::from_millis(kill * 7_919 % longest));
        child.kill().unwrap();
        child.wait().unwrap();
        let now = read_all();
        assert!(before.iter().all(|one| now.contains(one)), "a finished result was lost");
        let tables = user.gistify(&["tables", "run"]);
        assert!(!run.join("plan.json").exists() || tables.code == 0, "{}", tables.err);
    }
    let finish = |how: &str, run: &str| {
        let args = bench(&[], how, run, &["--json"]);
        user.gistify(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let ran = finish(next(), "run");
    assert_eq!(ran.code, 0, "{}{} after {made} whole benches", ran.out, ran.err);
    assert_eq!(finished(&run).len(), tasks);
    // The same tables as a bench that nobody killed, but for what a clock measures.
    let whole = finish("--run-dir", "whole");
    let timeless = |text: &str| -> Value {
        let mut summary: Value = serde_json::from_str(text).unwrap();
        for row in summary["suites"].as_array_mut().unwrap() {
            let row = row.as_object_mut().unwrap();
            row.retain(|key, _| !["seconds", "ratio"].iter().any(|end| key.ends_with(end)));
        }
        summary
    };
    assert_eq!(timeless(&ran.out), timeless(&whole.out));
    eprintln!("{kills} kills, {made} benches that came to their end between them: nothing lost");
}

#[test]
fn d04_a_bench_on_a_full_disk_ends_in_order_and_goes_on_elsewhere() {
    let Some(python) = python() else { return };
    for kib in [64, 256] {
        let user = User::new();
        user.repository("mixed", MIXED);
        suite(&user, "s.toml", &python, 6);
        let full = user.here().join("full");
        fs::create_dir(&full).unwrap();
        // A namespace of its own, in which the directory is small; what is in it is saved at the end.
        let mut inside = Command::new("bwrap");
        let size = (kib << 10).to_string();
        inside.args(["--dev-bind", "/", "/", "--size", &size, "--tmpfs"]).arg(&full);
        inside.args([
            "sh",
            "-c",
            "\"$@\"; code=$?; cp -a full/run saved || exit 99; exit $code",
            "-",
        ]);
        let command = user.command(&["bench", "s.toml", "--run-dir", "full/run"]);
        inside.arg(command.get_program()).args(command.get_args()).current_dir(user.here());
        inside.env_clear();
        for (name, value) in command.get_envs() {
            inside.env(name, value.unwrap_or_default());
        }
        let ran = match inside.output() {
            Ok(output) => Ran::of(output, &user),
            Err(error) => return eprintln!("skipped: no bwrap ({error})"),
        };
        if ran.err.contains("bwrap:") {
            return eprintln!("skipped: {}", ran.err);
        }
        assert_eq!(ran.code, 5, "{kib} KiB: {}{}", ran.out, ran.err);
        let told = ran.last_error_line().contains("No space left")
            || ran.last_error_line().contains("disk is full");
        assert!(told && !ran.err.contains("panicked"), "{kib} KiB: {}", ran.err);
        assert_eq!(user.leftovers(), Vec::<PathBuf>::new());
        // Elsewhere it is finished, and what was whole stays as it is.
        let saved = user.here().join("saved");
        let whole = |path: &PathBuf| read(path).contains("\"judged\"");
        let before: Vec<_> = finished(&saved).into_iter().filter(whole).collect();
        let before: Vec<_> = before.into_iter().map(|path| (path.clone(), read(&path))).collect();
        eprintln!("{kib} KiB held {} of 6 results: {}", before.len(), ran.last_error_line());
        let how = if saved.join("plan.json").exists() { "--resume" } else { "--run-dir" };
        if how == "--run-dir" {
            fs::remove_dir_all(&saved).unwrap();
        }
        let ran = user.gistify(&["bench", "s.toml", how, "saved"]);
        assert_eq!(ran.code, 0, "{kib} KiB: {}{}", ran.out, ran.err);
        assert_eq!(finished(&saved).len(), 6);
        assert!(before.iter().all(|(path, text)| read(path) == *text), "a result was lost");
    }
}

/// A wall clock that is a day early and a day late by turns; all other clocks go as they do.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long turn(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now.tv_sec % 2 ? 86400 : -86400;
}
int clock_gettime(clockid_t clock, struct timespec *time) {
  int failed = syscall(SYS_clock_gettime, clock, time);
  if (!failed && clock == CLOCK_REALTIME) time->tv_sec += turn();
  return failed;
}
int gettimeofday(struct timeval *time, void *zone) {
  struct timespec now;
  int failed = clock_gettime(CLOCK_REALTIME, &now);
  if (!failed && time) { time->tv_sec = now.tv_sec; time->tv_usec = now.tv_nsec / 1000; }
  return failed;
}
time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
"#;

#[test]
fn d10_a_wall_clock_that_jumps_by_days_changes_nothing() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("mixed", MIXED);
    suite(&user, "s.toml", &python, 4);
    let (source, library) = (user.here().join("clock.c"), user.here().join("clock.so"));
    fs::write(&source, CLOCK).unwrap();
    let made =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    if !made.is_ok_and(|made| made.success()) {
        return eprintln!("skipped: no C compiler");
    }
    // Bounds that a jump of a day would exceed many times over.
    let bounds = ["--set", "session.seconds=3000", "--set", "model.total_seconds=3000"];
    let args = ["bench", "s.toml", "--run-dir", "run", "-w", "2", "--json"];
    let mut command = user.command(&[&args[..], &bounds].concat());
    let ran = Ran::of(command.env("LD_PRELOAD", &library).output().unwrap(), &user);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    let suite = &summary["suites"][0];
    assert_eq!(
        (&suite["scored"], &suite["scores"]["execution_fidelity_strict"]["value"]),
        (&4.into(), &1.0.into()),
        "{suite}"
    );
    for path in finished(&user.here().join("run")) {
        let result: Value = serde_json::from_str(&read(&path)).unwrap();
        let wall = &result["attempt"]["effort"]["wall_seconds"];
        for seconds in [&result["seconds"], wall] {
            assert!((0.0..3_000.0).contains(&seconds.as_f64().unwrap()), "{result}");
        }
    }
}

#[test]
fn what_was_begun_otherwise_is_refused() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("mixed", MIXED);
    suite(&user, "s.toml", &python, 1);
    let ran = user.gistify(&["bench", "s.toml", "--run-dir", "run"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for (more, told) in [
        (&["--set", "session.steps=9"][..], "session.steps: was 50, is 9"),
        (&["--repeat", "2"], "repetitions: were 1, are 2"),
        (&["-m", "human"], "solvers: were offline, are repomaster human"),
    ] {
        let args = [&["bench", "s.toml", "--resume", "run"][..], more].concat();
        let changed = user.gistify(&args);
        assert_eq!(changed.code, 3, "{}", changed.err);
        assert!(changed.last_error_line().contains(told), "{}", changed.err);
    }
    let missing = user.gistify(&["bench", "s.toml", "--resume", "mixed"]);
    assert_eq!(missing.code, 3, "{}", missing.err);
    let missing = user.gistify(&["tables", "mixed"]);
    assert!(
        missing.code == 3 && missing.last_error_line().contains("plan.json"),
        "{}",
        missing.err
    );
}
