//! Runs by fork: each is the cold run, and leaves nothing to the next.

use std::{env, fs, path::Path, time::Duration};

use gistify_tools::{
    CodeChange, Command, Ends, Environment, Execution, Host, Interrupt, LocalSandbox, RunSpec,
    Sandbox, Status, TraceOptions, WaitsAt, Warm, WarmError, WarmRun, WarmSpec, execute,
};
use graph::Trace;

use crate::{Project, pythons};

/// Everything but times, with the places of directories and the numbers of objects by one name.
fn without_times(execution: &Execution, places: &[&Path]) -> String {
    let mut execution = execution.clone();
    (execution.wall, execution.cpu) = (Duration::ZERO, Duration::ZERO);
    let mut text = format!("{execution:#?}");
    for place in places {
        text = text.replace(&*place.to_string_lossy(), "<place>");
    }
    let text = regex_lite(&text, " in ", "s ===");
    regex_lite(&text, "0x", ">")
}

/// Returns the text without the part between two words on one line.
fn regex_lite(text: &str, from: &str, to: &str) -> String {
    let line = |line: &str| match line.find(from) {
        Some(at) => match line[at..].find(to) {
            Some(end) => format!("{}{}", &line[..at], &line[at + end..]),
            None => line.to_owned(),
        },
        None => line.to_owned(),
    };
    text.lines().map(|one| line(one) + "\n").collect()
}

/// A process that waits for runs of a project, and the project itself.
struct Waiting<'a> {
    warm: Warm,
    project: &'a Project,
}

impl Waiting<'_> {
    fn run(&mut self, files: &[(&str, &str)], changes: &[CodeChange], ends: Ends) -> Execution {
        let limits = self.project.limits;
        self.warm.run(&WarmRun { files, tests: &[], changes, limits, ends }).unwrap().execution
    }
}

fn start<'a>(
    project: &'a Project,
    environment: &Environment,
    sandbox: &dyn Sandbox,
    command: &str,
    waits_at: WaitsAt,
) -> Result<Waiting<'a>, WarmError> {
    let command = Command::parse(command).unwrap();
    let run = spec(project, environment, sandbox, &command);
    let place = project.root.parent().unwrap();
    let imports = ["decimal".to_owned(), "no_such_module".to_owned()];
    let lifetime = Duration::from_secs(300);
    let spec = WarmSpec { run, place, waits_at, imports: &imports, trace: None, lifetime };
    let warm = Warm::start(&spec)?;
    Ok(Waiting { warm, project })
}

fn spec<'a>(
    project: &'a Project,
    environment: &'a Environment,
    sandbox: &'a dyn Sandbox,
    command: &'a Command,
) -> RunSpec<'a> {
    RunSpec {
        sandbox,
        environment,
        command,
        directory: &project.root,
        scratch: &project.scratch,
        limits: project.limits,
        hash_seed: 0,
        variables: &project.variables,
        absent: &[],
        max_failures: None,
        link: None,
        around: gistify_tools::Around::default(),
    }
}

fn isolated() -> Box<dyn Sandbox> {
    let host = Host::from_variables(env::vars());
    match LocalSandbox::isolated(&host, Interrupt::new()) {
        Ok(sandbox) => Box::new(sandbox),
        Err(error) => {
            eprintln!("without isolation: {error}");
            Box::new(LocalSandbox::default())
        }
    }
}

/// An old and a new interpreter.
fn each(check: impl Fn(&Environment)) {
    for minor in [9, 13] {
        if let Some(environment) = pythons::environment(minor) {
            check(&environment);
        }
    }
}

const TESTS: &str = r#"
#- pkg.py
def double(x):
    y = x * 2
    return y
#- test_a.py
import logging
import os
import subprocess
import sys
import tempfile

import pytest

from pkg import double

@pytest.mark.parametrize("x", [1, 2])
def test_p(x, tmp_path):
    print("in", x)
    print("err", x, file=sys.stderr)
    logging.getLogger("l").warning("careful")
    (tmp_path / "file").write_text("text")
    assert double(x) == 2 * x

@pytest.mark.skip(reason="not now")
def test_s(): pass

@pytest.mark.xfail(reason="known")
def test_x(): assert 0

def test_f(): raise ValueError("message")

def test_child():
    code = "import os; print(sorted(os.environ)); print(os.listdir('/proc/self/fd'))"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)

def test_files():
    print(sorted(os.listdir(tempfile.gettempdir())), sorted(os.listdir(".")))
    with open("left.txt", "w") as file:
        file.write("left")
    tempfile.mkstemp()
    print(sorted(int(name) for name in os.listdir("/proc/self/fd")))

def test_state(recwarn):
    import random, warnings
    assert "LEFT" not in os.environ and not hasattr(sys, "left")
    os.environ["LEFT"] = "1"
    sys.left = 1
    warnings.simplefilter("error")
    sys.modules["left"] = sys
    os.chdir("/")
    os.dup2(1, 77)
"#;

#[test]
fn a_run_by_fork_is_the_cold_run_at_every_point() {
    each(|environment| {
        let project = Project::new(TESTS);
        let sandbox = isolated();
        let command = Command::parse("pytest test_a.py").unwrap();
        let cold = execute(&spec(&project, environment, &*sandbox, &command)).unwrap();
        fs::remove_file(project.root.join("left.txt")).unwrap();
        let places = [project.root.parent().unwrap()];
        for waits_at in [WaitsAt::Start, WaitsAt::Collection, WaitsAt::Tests] {
            let mut waiting =
                start(&project, environment, &*sandbox, "pytest test_a.py", waits_at).unwrap();
            for turn in 0..2 {
                let found = waiting.run(&[], &[], Ends::Process);
                let what = format!("{waits_at:?}, turn {turn}");
                assert_eq!(without_times(&found, &places), without_times(&cold, &places), "{what}");
            }
            drop(waiting);
            let _ = fs::remove_file(project.root.join("left.txt"));
        }
    });
}

/// Everything of a trace but the clock of the run, which a fork's goes on from.
fn timeless(trace: &Trace) -> Trace {
    let mut trace = trace.clone();
    for file in &mut trace.files {
        file.module_lines.clear();
        file.functions.iter_mut().for_each(|function| function.order = 0);
    }
    trace
}

#[test]
fn an_observed_fork_has_the_trace_of_a_cold_run_of_the_test_that_it_names() {
    each(|environment| {
        let project = Project::new(TESTS);
        let sandbox = isolated();
        let command = Command::parse("pytest -q test_a.py::test_s").unwrap();
        let run = spec(&project, environment, &*sandbox, &command);
        let place = project.root.parent().unwrap();
        let (waits_at, lifetime) = (WaitsAt::Collection, Duration::from_secs(300));
        let trace = Some(TraceOptions::default());
        let warm = WarmSpec { run, place, waits_at, imports: &[], trace, lifetime };
        let mut warm = Warm::start(&warm).unwrap();
        for test in ["test_a.py::test_p", "test_a.py::test_f", "test_a.py::test_p"] {
            let tests = [test.to_owned()];
            let limits = project.limits;
            let ends = Ends::Tests;
            let wanted = WarmRun { files: &[], tests: &tests, changes: &[], limits, ends };
            let found = warm.run(&wanted).unwrap();
            let other = Project::new(TESTS);
            let command = Command::parse(&format!("pytest -q {test}")).unwrap();
            let run = spec(&other, environment, &*sandbox, &command);
            let (cold, trace) = gistify_tools::trace(&run).unwrap();
            assert_eq!(timeless(&found.trace.unwrap()), timeless(&trace), "{test}");
            let outcomes = |run: &Execution| -> Vec<(String, String)> {
                let phases = run.cases.iter().flat_map(|case| {
                    case.phases.iter().map(|phase| (case.id.clone(), phase.outcome.clone()))
                });
                phases.collect()
            };
            assert_eq!(found.execution.collected, cold.collected, "{test}");
            assert_eq!(outcomes(&found.execution), outcomes(&cold), "{test}");
        }
    });
}

#[test]
fn functions_get_other_code_and_the_next_run_has_theirs() {
    each(|environment| {
        let project = Project::new(TESTS);
        let sandbox = isolated();
        let mut waiting =
            start(&project, environment, &*sandbox, "pytest test_a.py", WaitsAt::Tests).unwrap();
        let before = "def double(x):\n    y = x * 2\n    return y\n".to_owned();
        let change = CodeChange {
            file: "pkg.py".to_owned(),
            first: 1,
            after: before.replace("y = x * 2", "y = x * (2 + 1)"),
            before,
        };
        let failed = |run: &Execution| {
            let failed = |phase: &gistify_tools::PhaseReport| phase.outcome == "failed";
            run.cases.iter().filter(|case| case.phases.iter().any(failed)).count()
        };
        for ends in [Ends::Tests, Ends::Process] {
            let same = waiting.run(&[], &[], ends);
            assert_eq!((same.status, failed(&same), same.complete), (Status::Exited(1), 1, true));
            let limits = project.limits;
            let changes = std::slice::from_ref(&change);
            let ran = waiting
                .warm
                .run(&WarmRun { files: &[], tests: &[], changes, limits, ends })
                .unwrap();
            assert_eq!((ran.changed, failed(&ran.execution)), (1, 3), "{ends:?}");
        }
    });
}

#[test]
fn a_file_that_was_not_read_may_have_another_text() {
    each(|environment| {
        let project = Project::new(TESTS);
        let sandbox = isolated();
        let mut waiting =
            start(&project, environment, &*sandbox, "pytest test_a.py", WaitsAt::Collection)
                .unwrap();
        let one = waiting.run(&[("test_a.py", "def test_one(): pass\n")], &[], Ends::Process);
        assert_eq!(one.collected, ["test_a.py::test_one"]);
        let none = waiting.run(&[("test_a.py", "import gone\n")], &[], Ends::Process);
        assert_eq!(none.collection_errors.len(), 1);
        let all = waiting.run(&[], &[], Ends::Process);
        assert_eq!(all.collected.len(), 8);
    });
}

#[test]
fn ends_of_programs_are_those_of_cold_runs() {
    each(|environment| {
        let project = Project::new("#- s.py\nprint('hello')\n");
        let sandbox = isolated();
        let mut waiting =
            start(&project, environment, &*sandbox, "python s.py", WaitsAt::Start).unwrap();
        let mut run = |text: &str, wall: u64| {
            let mut limits = project.limits;
            limits.wall = Duration::from_secs(wall);
            let files = [("s.py", text)];
            let ends = Ends::Process;
            waiting
                .warm
                .run(&WarmRun { files: &files, tests: &[], changes: &[], limits, ends })
                .unwrap()
        };
        for (text, status, out) in [
            ("print('a')\n", Status::Exited(0), "a\n"),
            ("raise SystemExit(3)\n", Status::Exited(3), ""),
            ("import os\nos._exit(4)\n", Status::Exited(4), ""),
            ("import os\nos.kill(os.getpid(), 9)\n", Status::Signaled(9), ""),
            ("import os\nos.abort()\n", Status::Signaled(6), ""),
            ("print('x' * 10)\n1 / 0\n", Status::Exited(1), "xxxxxxxxxx\n"),
            ("import atexit\natexit.register(print, 'late')\n", Status::Exited(0), "late\n"),
        ] {
            let ran = run(text, 60).execution;
            assert_eq!((ran.status, &*ran.stdout), (status, out), "{text}: {}", ran.stderr);
        }
        let endless = run("while True: pass\n", 1).execution;
        assert_eq!(endless.status, Status::TimedOut);
        // A process that it leaves behind ends with it, and holds nobody up.
        let child = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\nprint('gone')\n";
        let ran = run(child, 60).execution;
        assert_eq!((ran.status, &*ran.stdout), (Status::Exited(0), "gone\n"));
        let long = run("print('x' * 3_000_000)\n", 60).execution;
        assert!(long.dropped > 0 && long.stdout.len() <= 1 << 20, "{}", long.stdout.len());
        // Nothing of all that is left.
        assert_eq!(run("import os\nprint(os.listdir('.'))\n", 60).execution.stdout, "['s.py']\n");
    });
}

#[test]
fn threads_and_early_ends_are_told_and_nothing_is_forked() {
    let Some(environment) = pythons::environment(13) else { return };
    let sandbox = isolated();
    let threads = Project::new(
        "#- test_a.py\nimport threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\ndef test_a(): pass\n",
    );
    let error = start(&threads, &environment, &*sandbox, "pytest test_a.py", WaitsAt::Tests).err();
    assert!(
        matches!(&error, Some(WarmError::Unsafe { reason }) if reason.contains("threads")),
        "{error:?}"
    );
    let ends = Project::new("#- test_a.py\nimport os\nos._exit(7)\n");
    let error = start(&ends, &environment, &*sandbox, "pytest test_a.py", WaitsAt::Tests).err();
    assert!(matches!(error, Some(WarmError::Ended { .. })), "{error:?}");
}

#[test]
fn a_run_that_ends_the_process_that_waits_is_an_error() {
    let Some(environment) = pythons::environment(13) else { return };
    let project = Project::new("#- s.py\nimport os\nos.kill(os.getppid(), 9)\n");
    let sandbox = isolated();
    let mut waiting =
        start(&project, &environment, &*sandbox, "python s.py", WaitsAt::Start).unwrap();
    let limits = project.limits;
    let ends = Ends::Process;
    let error =
        waiting.warm.run(&WarmRun { files: &[], tests: &[], changes: &[], limits, ends }).err();
    assert!(matches!(error, Some(WarmError::Ended { .. })), "{error:?}");
}

/// Code of the repository runs before the directory is recorded: a link that it makes led to files of the machine.
#[test]
fn a_file_is_not_written_behind_a_link_that_code_has_made() {
    let Some(environment) = pythons::environment(13) else { return };
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    std::fs::write(&canary, "whole").unwrap();
    let project = Project::new(&format!(
        "#- conftest.py\nimport os\nos.remove('m.py')\nos.symlink({:?}, 'm.py')\n#- m.py\nx = 1\n#- test_a.py\ndef test_a(): pass\n",
        canary.to_string_lossy()
    ));
    let sandbox = isolated();
    let mut waiting =
        start(&project, &environment, &*sandbox, "pytest test_a.py", WaitsAt::Tests).unwrap();
    let (limits, ends) = (project.limits, Ends::Process);
    let files = [("m.py", "x = 2\n")];
    let error =
        waiting.warm.run(&WarmRun { files: &files, tests: &[], changes: &[], limits, ends }).err();
    assert!(
        matches!(&error, Some(WarmError::Unsafe { reason }) if reason.contains("link")),
        "{error:?}"
    );
    assert_eq!(std::fs::read_to_string(&canary).unwrap(), "whole");
}
