//! Tests the reports of `execute`, and that a program cannot distinguish it from the interpreter.

use std::{
    fs,
    path::Path,
    process::{self, Stdio},
    time::Duration,
};

use gistify_tools::{
    CaseReport, Command, Environment, ExecuteError, Execution, LocalSandbox, RunSpec, Status,
    execute,
};

use crate::{Project, pythons};

/// Cases, a line a phase: what differs from a passed phase without output.
fn summary(cases: &[CaseReport]) -> String {
    let mut text = String::new();
    for case in cases {
        text += &format!("{}\n", case.id);
        for phase in &case.phases {
            text += &format!("  {} {}", phase.when, phase.outcome);
            let streams = [("out", &phase.stdout), ("err", &phase.stderr), ("log", &phase.log)];
            for (name, stream) in streams {
                if !stream.is_empty() {
                    text += &format!(" {name}={:?}", stream.trim_end());
                }
            }
            if let Some(reason) = &phase.wasxfail {
                text += &format!(" xfail={reason:?}");
            }
            if let Some(raised) = &phase.raised {
                let at = raised.frames.last().map(|(file, line, function)| {
                    format!("{}:{line} {function}", file.rsplit('/').next().unwrap())
                });
                let at = at.unwrap_or_default();
                let message = &raised.message;
                text += &format!(" {}.{} {message:?} at {at}", raised.module, raised.kind);
            }
            text.push('\n');
        }
    }
    text
}

fn each(check: impl Fn(u8, &Environment)) {
    for (minor, _) in pythons::VERSIONS {
        if let Some(environment) = pythons::environment(*minor) {
            check(*minor, &environment);
        }
    }
}

/// The newest interpreter that this machine has, and an old one.
fn both_ends(check: impl Fn(u8, &Environment)) {
    for minor in [9, 13] {
        if let Some(environment) = pythons::environment(minor) {
            check(minor, &environment);
        }
    }
}

const CASES: &str = r#"
#- tests/conftest.py
import pytest

@pytest.fixture
def noisy():
    print("up")
    yield 1
    import sys
    print("down", file=sys.stderr)

@pytest.fixture
def broken():
    raise LookupError("no fixture")

@pytest.fixture(scope="module", autouse=True)
def last():
    yield
    print("left")

@pytest.fixture
def late():
    yield
    raise OSError("late")
#- tests/test_a.py
import logging
import unittest
import pytest

class Odd(Exception):
    class Inner(Exception):
        def __str__(self):
            raise ValueError("never")

def deep(n):
    if n:
        deep(n - 1)
    raise Odd("deep \udc80")

@pytest.mark.parametrize("x", [1, 2])
def test_p(noisy, x):
    print("in", x)
    logging.getLogger("l").warning("careful")
    assert x == 1, "x is %d" % x

@pytest.mark.skip(reason="not now")
def test_s(): pass

def test_s2(): pytest.skip("inside")

@pytest.mark.xfail(reason="known")
def test_x(): raise KeyError("k")

@pytest.mark.xfail(reason="strict", strict=True)
def test_xs(): pass

@pytest.mark.xfail(reason="lax")
def test_xp(): pass

def test_b(broken): pass

def test_l(late): pass

def test_deep(): deep(50)

def test_inner(): raise Odd.Inner()

def test_f(): pytest.fail("plain")

class TestU(unittest.TestCase):
    def test_u(self): self.assertEqual(1, 2)
"#;

const CASES_EXPECTED: &str = r#"tests/test_a.py::test_p[1]
  setup passed out="up"
  call passed out="in 1" log="WARNING  l:test_a.py:18 careful"
  teardown passed err="down"
tests/test_a.py::test_p[2]
  setup passed out="up"
  call failed out="in 2" log="WARNING  l:test_a.py:18 careful" builtins.AssertionError "x is 2\nassert 2 == 1" at test_a.py:19 test_p
  teardown passed err="down"
tests/test_a.py::test_s
  setup skipped builtins.Skipped "not now" at 
  teardown passed
tests/test_a.py::test_s2
  setup passed
  call skipped builtins.Skipped "inside" at outcomes.py:0 skip
  teardown passed
tests/test_a.py::test_x
  setup passed
  call skipped xfail="known" builtins.KeyError "'k'" at test_a.py:27 test_x
  teardown passed
tests/test_a.py::test_xs
  setup passed
  call failed
  teardown passed
tests/test_a.py::test_xp
  setup passed
  call passed xfail="lax"
  teardown passed
tests/test_a.py::test_b
  setup failed builtins.LookupError "no fixture" at conftest.py:12 broken
  teardown passed
tests/test_a.py::test_l
  setup passed
  call passed
  teardown failed builtins.OSError "late" at conftest.py:22 late
tests/test_a.py::test_deep
  setup passed
  call failed test_a.Odd "deep \\udc80" at test_a.py:13 deep
  teardown passed
tests/test_a.py::test_inner
  setup passed
  call failed test_a.Odd.Inner "<str() of the exception raised ValueError>" at test_a.py:41 test_inner
  teardown passed
tests/test_a.py::test_f
  setup passed
  call failed builtins.Failed "plain" at outcomes.py:0 fail
  teardown passed
tests/test_a.py::TestU::test_u
  setup passed
  call failed builtins.AssertionError "1 != 2" at case.py:0 _baseAssertEqual
  teardown passed out="left"
"#;

#[test]
fn cases_are_recorded_per_phase() {
    let project = Project::new(CASES);
    each(|minor, environment| {
        let run = project.execute(environment, "pytest tests/test_a.py").unwrap();
        assert_eq!(run.status, Status::Exited(1), "3.{minor} {run:?}");
        assert!(run.complete);
        assert_eq!(run.collected.len(), 13);
        assert!(run.stdout.contains("xpassed"), "{}", run.stdout);
        // Lines outside of the test's own files belong to the version.
        let mut found = String::new();
        for line in summary(&run.cases).lines() {
            let ours = line.contains("test_a.py:") || line.contains("conftest.py:");
            match line.rsplit_once(" at ") {
                Some((front, place)) if !ours && line.starts_with("  ") => {
                    let (file, rest) = place.split_once(':').unwrap_or(("", ""));
                    let function = rest.split_once(' ').map_or("", |(_, function)| function);
                    match (file, front.contains("skipped") && front.contains("setup")) {
                        // A mark's skip is raised within pytest, at a different place each version.
                        (_, true) => found += &format!("{front} at \n"),
                        (file, _) => found += &format!("{front} at {file}:0 {function}\n"),
                    }
                }
                _ => found += &format!("{line}\n"),
            }
        }
        let found = found.replace(" at outcomes.py:0 __call__", " at outcomes.py:0 skip");
        let found =
            found.replace("\"plain\" at outcomes.py:0 skip", "\"plain\" at outcomes.py:0 fail");
        assert_eq!(found, CASES_EXPECTED, "3.{minor}");
        let deep = run.cases.iter().find(|case| case.id.ends_with("test_deep")).unwrap();
        let frames = &deep.phases[1].raised.as_ref().unwrap().frames;
        assert_eq!(frames.len(), 20);
        let failed = &run.cases[1].phases[1].raised.as_ref().unwrap().frames;
        assert_eq!(failed.len(), 1, "pytest's own frames are dropped: {failed:?}");
    });
}

#[test]
fn a_run_stops_behind_the_test_with_which_enough_have_failed() {
    let project = Project::new(CASES);
    let command = Command::parse("pytest tests/test_a.py").unwrap();
    let sandbox = LocalSandbox::default();
    both_ends(|minor, environment| {
        let spec = project.spec(&sandbox, environment, &command);
        let all = execute(&spec).unwrap();
        let shows_source = |run: &Execution| run.stdout.contains("\n>   ");
        assert!(shows_source(&all), "3.{minor} {}", all.stdout);
        for (failed, last) in
            [(1, "test_p[2]"), (2, "test_xs"), (3, "test_b"), (4, "test_l"), (9, "TestU::test_u")]
        {
            let run = execute(&RunSpec { max_failures: Some(failed), ..spec }).unwrap();
            let case = run.cases.last().unwrap();
            assert!(case.id.ends_with(last), "3.{minor} {failed} {}", case.id);
            assert!(run.complete && run.collected == all.collected, "3.{minor} {run:?}");
            assert!(!shows_source(&run), "3.{minor} {}", run.stdout);
            // What the last test shows is what it shows where others follow.
            let whole = &all.cases[..run.cases.len()];
            assert_eq!(summary(&run.cases), summary(whole), "3.{minor} {failed}");
        }
    });
}

#[test]
fn collection_errors_are_recorded_with_their_cause() {
    let project = Project::new(
        r#"
#- good/test_g.py
def test_g(): pass
#- bad/test_i.py
import nothing_of_this_name
#- bad/test_s.py
def broken(:
#- bad/test_v.py
raise ValueError("at import")
#- conf/conftest.py
import nothing_else_of_this_name
#- conf/test_c.py
def test_c(): pass
"#,
    );
    each(|minor, environment| {
        let run = project.execute(environment, "pytest good bad").unwrap();
        let found: Vec<_> = run
            .collection_errors
            .iter()
            .map(|(id, raised)| (id.as_str(), raised.kind.as_str(), raised.message.as_str()))
            .collect();
        assert_eq!(run.status, Status::Exited(2), "3.{minor}");
        assert_eq!(found.len(), 3, "3.{minor} {found:?}");
        let missing = "No module named 'nothing_of_this_name'";
        assert_eq!(found[0], ("bad/test_i.py", "ModuleNotFoundError", missing));
        assert_eq!((found[1].0, found[1].1), ("bad/test_s.py", "SyntaxError"));
        assert_eq!(found[2], ("bad/test_v.py", "ValueError", "at import"));

        let run = project.execute(environment, "pytest conf/test_c.py").unwrap();
        assert_eq!(run.status, Status::Exited(4), "3.{minor} {}", run.stdout);
        assert_eq!(run.collection_errors.len(), 1, "3.{minor} {run:?}");
        let (id, raised) = &run.collection_errors[0];
        assert_eq!(id, "conf/conftest.py");
        assert_eq!(raised.message, "No module named 'nothing_else_of_this_name'");
        assert!(run.complete);

        let run = project.execute(environment, "pytest good/none.py").unwrap();
        assert_eq!(run.status, Status::Exited(4));
        assert!(run.collected.is_empty() && run.cases.is_empty());
    });
}

#[test]
fn a_run_that_dies_leaves_what_it_did() {
    let mut project = Project::new(
        r#"
#- test_a.py
import os, sys, time
from pathlib import Path

def test_first(): print("seen")

def test_second():
    how = os.environ["HOW"]
    record = Path(os.environ["HOME"]).parent / "results.jsonl"
    if how == "exit":
        os._exit(0)
    if how == "abort":
        os.abort()
    if how == "sleep":
        time.sleep(1000)
    if how == "garbage":
        with open(record, "ab") as file:
            file.write(b'\xff\x00{"record": "phase"}\n{"record": "case", "id"')
    if how == "link":
        record.unlink()
        record.symlink_to("/etc/passwd")
    if how == "remove":
        record.unlink()
    if how == "count":
        held = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
        assert not [name for name in held if name.endswith("results.jsonl")], held
    if how == "fork" and os.fork() == 0:
        raise SystemExit(7)
"#,
    );
    project.limits.wall = Duration::from_secs(5);
    both_ends(|minor, environment| {
        let run = |how: &str| -> Execution {
            project.execute(environment, &format!("HOW={how} pytest -q test_a.py")).unwrap()
        };
        let started = |run: &Execution| {
            assert_eq!(run.cases.len(), 2, "3.{minor} {run:?}");
            assert_eq!(run.cases[0].phases[1].stdout, "seen\n");
            assert_eq!(run.cases[1].phases.len(), 1);
            assert!(!run.complete);
        };
        for (how, status) in [
            ("exit", Status::Exited(0)),
            ("abort", Status::Signaled(libc::SIGABRT)),
            ("sleep", Status::TimedOut),
        ] {
            let run = run(how);
            assert_eq!(run.status, status, "3.{minor} {how} {run:?}");
            started(&run);
        }
        // What garbles one record leaves the others.
        let garbled = run("garbage");
        assert!(garbled.complete);
        assert_eq!(garbled.cases[0].phases.len(), 3);
        for how in ["link", "remove"] {
            let run = run(how);
            assert!(run.cases.len() < 2 && !run.stdout.contains("root:"), "{how} {run:?}");
        }
        assert!(!run("link").complete);
        for how in ["count", "fork"] {
            let run = run(how);
            assert!(run.complete && run.cases.len() == 2, "3.{minor} {how} {run:?}");
            assert_eq!(run.cases[1].phases.len(), 3);
        }
    });
}

const PROGRAMS: &str = r#"
#- probe.py
import json, sys
main = sys.modules["__main__"]
if main.__dict__ is globals():
    print("main", sorted(name for name in globals() if name not in ("json", "sys", "main")))
print(__name__, __package__, __file__, __spec__ and __spec__.name, type(__loader__).__name__)
print(sys.argv, sys.path, sys.flags.optimize, sys.warnoptions, sys.dont_write_bytecode)
print(__builtins__ is sys.modules["builtins"], "probe" in sys.modules)
#- pkg/__init__.py
import sys
print("package", sys.argv)
#- pkg/__main__.py
from probe import *
import sys
print(__name__, __package__, __spec__.name, sys.argv)
#- pkg/mod.py
from probe import *
print(__name__, __package__, __spec__.name, sys.argv)
#- app/__main__.py
import sys
print(__name__, repr(__package__), sys.argv, sys.path)
#- raises.py
import atexit
atexit.register(print, "at exit")
def f():
    raise KeyError("top")
try:
    f()
except KeyError:
    raise ValueError("second")
#- exits.py
import sys
print("out"); sys.exit("a message")
#- code.py
import sys
sys.exit(3)
#- broken.py
print("never"
#- interrupted.py
raise KeyboardInterrupt
#- threads.py
import threading, time
def late():
    time.sleep(0.1)
    print("late")
threading.Thread(target=late).start()
#- hooked.py
import sys
sys.excepthook = lambda kind, error, trace: print("hook", kind, error, trace.tb_frame.f_code.co_filename)
1 / 0
"#;

#[test]
fn starts_programs_as_the_interpreter_does() {
    let project = Project::new(PROGRAMS);
    both_ends(|minor, environment| {
        for command in [
            "python probe.py a -b",
            "python ./pkg/../probe.py",
            "python -W ignore -O probe.py",
            "python -m probe a",
            "python -m pkg x",
            "python -m pkg.mod y",
            "python app z",
            "python raises.py",
            "python -m raises",
            "python exits.py",
            "python code.py",
            "python broken.py",
            "python -m broken",
            "python interrupted.py",
            "python threads.py",
            "python hooked.py",
            "python missing.py",
            "python -m missing",
            "python -m missing.mod",
            "python -m json.missing",
        ] {
            let ours = project.execute(environment, command).unwrap();
            let theirs = plainly(&project, environment, command);
            let streams = (ours.stdout.clone(), ours.stderr.clone());
            // Python 3.9 reads a script line by line, and points behind its end.
            if !(minor == 9 && command == "python broken.py") {
                assert_eq!(streams, (theirs.1, theirs.2), "3.{minor} {command}");
            }
            assert_eq!(ours.status, theirs.0, "3.{minor} {command}");
            assert!(ours.complete || command.contains("interrupted"), "3.{minor} {command}");
        }
        let run = project.execute(environment, "python raises.py").unwrap();
        let raised = run.raised.unwrap();
        assert_eq!((raised.kind.as_str(), raised.message.as_str()), ("ValueError", "second"));
        let file = project.root.join("raises.py").to_string_lossy().into_owned();
        assert_eq!(raised.frames, [(file, 8, "<module>".to_string())]);
        assert_eq!(project.execute(environment, "python code.py").unwrap().raised, None);
    });
}

#[test]
fn starts_pytest_as_its_script_and_its_module_do() {
    let project = Project::new(
        r#"
#- src/lib.py
#- tests/test_a.py
import os, sys
def test_a():
    main = sys.modules["__main__"]
    print("PATH", sys.path, os.getcwd())
    print("ARGV", [os.path.basename(sys.argv[0])] + sys.argv[1:], main.__file__, main.__package__)
    print("SPEC", main.__spec__ and main.__spec__.name)
"#,
    );
    each(|minor, environment| {
        let environment = Environment { pythonpath: vec!["src".into()], ..environment.clone() };
        for (command, here) in [("pytest tests/test_a.py", false), ("python -m pytest tests", true)]
        {
            let run = project.execute(&environment, &format!("{command} -s")).unwrap();
            let theirs = plainly(&project, &environment, &format!("{command} -s"));
            let lines = |text: &str| -> Vec<String> {
                let starts = |line: &&str| ["PATH", "SPEC"].iter().any(|word| line.contains(word));
                text.lines().filter(starts).map(str::to_string).collect()
            };
            assert_eq!(lines(&run.stdout), lines(&theirs.1), "3.{minor} {command}");
            assert_eq!(lines(&run.stdout).len(), 2);
            let root = format!("'{}'", project.root.display());
            assert_eq!(run.stdout.contains(&format!("{root}, ")), here, "{}", run.stdout);
        }
    });
}

/// Runs a command without us, with the same variables.
fn plainly(
    project: &Project,
    environment: &Environment,
    command: &str,
) -> (Status, String, String) {
    use std::os::unix::process::ExitStatusExt;

    let words = Command::parse(command).unwrap().words(&environment.python.to_string_lossy());
    let mut program = Path::new(&words[0]).to_path_buf();
    if words[0] == "pytest" {
        program = environment.python.with_file_name("pytest");
    }
    let mut process = process::Command::new(program);
    process.args(&words[1..]).current_dir(&project.root).env_clear().stdin(Stdio::null());
    process.envs([("LANG", "C.UTF-8"), ("LC_ALL", "C.UTF-8"), ("PYTHONDONTWRITEBYTECODE", "1")]);
    process.env("PATH", "/usr/bin:/bin");
    if let [entry] = environment.pythonpath.as_slice() {
        process.env("PYTHONPATH", project.root.join(entry));
    }
    let output = process.output().unwrap();
    let status = match (output.status.code(), output.status.signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, signal) => Status::Signaled(signal.unwrap()),
    };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status, text(output.stdout), text(output.stderr))
}

#[test]
fn runs_unittest_doctest_and_console_scripts() {
    let project = Project::new(
        r#"
#- pyproject.toml
[project]
name = "x"
[project.scripts]
tool = "lib.cli:main.run"
#- setup.cfg
[options.entry_points]
console_scripts =
    other = lib.cli:other
#- lib/cli.py
import sys
class main:
    def run():
        print("tool", sys.argv[1:])
        return 4
def other():
    raise RuntimeError("other")
#- lib/documented.py
"""
>>> 1 + 1
3
"""
#- t/test_u.py
import unittest
class TestU(unittest.TestCase):
    def test_a(self): print("ran a")
    def test_b(self): self.fail("b")
"#,
    );
    both_ends(|minor, environment| {
        let environment = Environment { pythonpath: vec![String::new()], ..environment.clone() };
        let run = |command: &str| project.execute(&environment, command).unwrap();
        let good = run("python -m unittest t.test_u.TestU.test_a");
        assert_eq!(
            (good.status, good.stdout.as_str()),
            (Status::Exited(0), "ran a\n"),
            "3.{minor}"
        );
        let bad = run("python -m unittest t/test_u.py");
        assert_eq!(bad.status, Status::Exited(1));
        assert!(bad.stderr.contains("AssertionError: b") && bad.complete);
        let document = run("python -m doctest lib/documented.py");
        assert_eq!(document.status, Status::Exited(1));
        assert!(document.stdout.contains("Expected:\n    3\nGot:\n    2"), "{}", document.stdout);
        let document = run("pytest --doctest-modules lib/documented.py");
        assert_eq!(document.cases[0].phases[1].outcome, "failed");
        assert!(document.cases[0].phases[1].raised.is_some());
        let tool = run("tool a -b");
        assert_eq!((tool.status, tool.stdout.as_str()), (Status::Exited(4), "tool ['a', '-b']\n"));
        let other = run("other");
        assert_eq!(other.raised.unwrap().message, "other");
        assert_eq!(other.status, Status::Exited(1));
        let installed = run("pip --version");
        assert!(installed.stdout.starts_with("pip "), "{installed:?}");
    });
}

#[test]
fn the_environment_is_ours() {
    let project = Project::new(
        r#"
#- show.py
import os, sys, tempfile
for name in sorted(os.environ):
    print(name)
assert os.path.isdir(os.environ["HOME"]) and tempfile.gettempdir() == os.environ["TMPDIR"]
assert os.environ["GIVEN"] == "command", os.environ["GIVEN"]
assert hash("x") == hash("x") and os.environ["PYTHONHASHSEED"] == "0"
"#,
    );
    let mut project = project;
    project.variables.insert("GIVEN".into(), "spec".into());
    let Some(environment) = pythons::environment(11) else { return };
    let run = project.execute(&environment, "GIVEN=command python show.py").unwrap();
    assert_eq!(run.status, Status::Exited(0), "{}", run.stderr);
    let expected = "GIVEN HOME LANG LC_ALL PATH PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHON_DISABLE_REMOTE_DEBUG TMPDIR TZ";
    let names: Vec<&str> = run.stdout.split_whitespace().collect();
    assert_eq!(names.join(" "), expected.split_whitespace().collect::<Vec<_>>().join(" "));
}

#[test]
fn strict_configurations_do_not_notice_the_recorder() {
    let project = Project::new(
        r#"
#- pytest.ini
[pytest]
filterwarnings = error
addopts = --strict-markers --strict-config --lf
cache_dir = .elsewhere
#- test_a.py
import gc, os
def test_a(pytestconfig, cache):
    gc.collect()
    assert not os.path.exists(".elsewhere") and not os.path.exists(".pytest_cache")
"#,
    );
    each(|minor, environment| {
        let run = project.execute(environment, "pytest test_a.py").unwrap();
        assert_eq!(run.status, Status::Exited(0), "3.{minor} {}{}", run.stdout, run.stderr);
        assert_eq!(run.cases.len(), 1);
        let left: Vec<_> = fs::read_dir(&project.root).unwrap().flatten().collect();
        assert_eq!(left.len(), 2, "nothing is left behind: {left:?}");
    });
}

#[test]
fn an_unusable_interpreter_is_told_apart() {
    let project = Project::new(
        "#- test_a.py\ndef test_a(): pass\n#- false.sh\n#!/bin/sh\necho no python here >&2\nexit 3\n",
    );
    let Some(environment) = pythons::environment(11) else { return };
    let bare = project.root.join("bare");
    let made = process::Command::new(&environment.python)
        .args(["-m", "venv", "--without-pip"])
        .arg(&bare)
        .status()
        .unwrap();
    assert!(made.success());
    let with =
        |python: &str| Environment { python: project.root.join(python), ..environment.clone() };
    let error = |python: &str, command: &str| {
        let command = Command::parse(command).unwrap();
        let sandbox = LocalSandbox::default();
        let environment = with(python);
        execute(&project.spec(&sandbox, &environment, &command)).unwrap_err()
    };
    let found = error("bare/bin/python", "pytest test_a.py");
    assert!(matches!(found, ExecuteError::NoPytest { .. }), "{found}");
    let found = error("bare/bin/python", "python -m pytest test_a.py");
    assert!(matches!(found, ExecuteError::NoPytest { .. }), "{found}");
    let found = error("bare/bin/python", "nothing-of-this-name");
    assert!(matches!(found, ExecuteError::NoProgram { .. }), "{found}");
    let found = error("missing/python", "pytest test_a.py");
    assert!(matches!(found, ExecuteError::Sandbox(_)), "{found}");
    let script = project.root.join("false.sh");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(script, executable).unwrap();
    let found = error("false.sh", "pytest test_a.py");
    assert!(matches!(found, ExecuteError::Interpreter { .. }), "{found}");
    assert!(found.to_string().ends_with("does not start: no python here"), "{found}");
}
