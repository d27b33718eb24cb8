//! Programs that die, fork, replace what the tracer uses, or would run code if they were looked at.

use std::fs;

use gistify_tools::{ExecuteError, Observer, Status};
use graph::Trace;

use crate::{Project, pythons};

/// Runs the check under the oldest version, the newest before `sys.monitoring`, and the newest.
fn traced(project: &Project, command: &str, check: impl Fn(&str, Status, &Trace)) {
    for minor in [9, 11, 13] {
        let Some(environment) = pythons::environment(minor) else { continue };
        let (run, trace) = project.trace(&environment, command, Observer::Fastest);
        println!("3.{minor} {:?}\n{}\n{}", run.status, run.stdout, run.stderr);
        check(&format!("3.{minor}"), run.status, &trace);
    }
}

fn ran(trace: &Trace, path: &str, lines: impl IntoIterator<Item = u32>) {
    let file = trace.file(path).unwrap_or_else(|| panic!("{path} is not in the trace"));
    for line in lines {
        let found = file.test_lines.contains(&line);
        assert!(found, "{path}:{line} is not among {:?}", file.test_lines);
    }
}

#[test]
fn what_was_seen_survives_the_death_of_a_process() {
    let project = Project::new(
        r#"
#- lib.py
import os, signal, subprocess, sys, time
def dies(how):
    a = 1
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)
def serve():
    print("ready", flush=True)
    time.sleep(1000)
def child():
    code = "import lib; lib.serve()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.kill()
#- test_a.py
import os, lib
def test_first(): assert lib
def test_child():
    lib.child()
def test_dies():
    import json
    lib.dies(os.environ["HOW"])
"#,
    );
    for (how, status) in [("exit", Status::Exited(3)), ("kill", Status::Signaled(9))] {
        let command = format!("HOW={how} python -m pytest test_a.py");
        traced(&project, &command, |version, found, trace| {
            assert_eq!(found, status, "{version}");
            let last = if how == "exit" { 5 } else { 6 };
            ran(trace, "lib.py", [3, 4, last, 8, 11, 12, 13, 14]);
            ran(trace, "test_a.py", [2, 4, 6, 7]);
            // What is only told at the end was told at the change of the phases, too.
            assert_eq!(trace.modules["lib"].path, "lib.py");
            assert_eq!(trace.roots, [""]);
        });
    }
}

#[test]
fn processes_and_threads_are_merged() {
    let functions: String =
        (0..40).map(|at| format!("def f{at}(x):\n    y = x\n    z = y\n    return z\n")).collect();
    let project = Project::new(&format!(
        r#"
#- many.py
{functions}
#- work.py
def square(x):
    return x * x
def inherited():
    return 1
if __name__ == "__main__":
    print(inherited())
#- test_a.py
import multiprocessing, subprocess, sys, threading
import many, work
def pool(method):
    with multiprocessing.get_context(method).Pool(2) as pool:
        return pool.map(work.square, range(4))
def test_fork(): assert pool("fork") == [0, 1, 4, 9]
def test_spawn(): assert pool("spawn") == [0, 1, 4, 9]
def test_script():
    out = subprocess.run([sys.executable, "work.py"], stdout=subprocess.PIPE, check=True).stdout
    assert out == b"1\n"
def test_threads():
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    def call(begin):
        for at in range(begin, 40, 4):
            assert getattr(many, "f%d" % at)(at) == at
    threads = [threading.Thread(target=call, args=(begin,)) for begin in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    sys.setswitchinterval(switch)
"#
    ));
    traced(&project, "pytest test_a.py", |version, status, trace| {
        assert_eq!(status, Status::Exited(0), "{version}");
        ran(trace, "work.py", [2, 4, 5, 6]);
        assert_eq!(
            trace.file("work.py").unwrap().modules,
            ["work", "__mp_main__", "__main__"][..1]
                .iter()
                .chain(["__main__"].iter())
                .copied()
                .collect::<Vec<_>>()
        );
        ran(trace, "many.py", (0..40).flat_map(|at| [at * 4 + 2, at * 4 + 3, at * 4 + 4]));
    });
}

#[test]
fn what_runs_in_an_audit_hook_is_seen() {
    let project = Project::new(
        r#"
#- heard.py
events = []
class Listener:
    def hear(self, event, args):
        if event == "own.event":
            for one in args:
                events.append(one)
        elif event == "own.other":
            events.clear()
#- test_a.py
import sys
import heard
def test_hook():
    assert sys.addaudithook(heard.Listener().hear) is None
    sys.audit("own.event", 1, 2)
    assert heard.events == [1, 2]
"#,
    );
    traced(&project, "pytest test_a.py", |version, status, trace| {
        assert_eq!(status, Status::Exited(0), "{version}");
        ran(trace, "heard.py", [4, 5, 6, 7]);
        assert!(!trace.file("heard.py").unwrap().test_lines.contains(&8), "{version}");
    });
}

#[test]
fn a_child_keeps_its_own_hook() {
    let project = Project::new(
        r#"
#- hook/sitecustomize.py
import builtins
builtins.hooked = 1
#- lib.py
def report():
    import os, sys
    print(hooked, [entry for entry in sys.path if entry.endswith("hook")])
#- test_a.py
import os, subprocess, sys
def test_a():
    variables = dict(os.environ)
    variables["PYTHONPATH"] += os.pathsep + os.path.abspath("hook")
    words = [sys.executable, "-c", "import lib; lib.report()"]
    out = subprocess.run(words, env=variables, stdout=subprocess.PIPE, check=True).stdout
    assert out.decode() == "1 ['%s']\n" % os.path.abspath("hook")
"#,
    );
    traced(&project, "python -m pytest test_a.py", |version, status, trace| {
        assert_eq!(status, Status::Exited(0), "{version}");
        ran(trace, "lib.py", [1, 2, 3]);
    });
}

#[test]
fn objects_are_never_asked_for_anything() {
    let project = Project::new(
        r#"
#- evil.py
import os, types
def die(*args, **options):
    os.write(2, b"TOUCHED\n")
    os._exit(66)
class Meta(type):
    __hash__ = __eq__ = __repr__ = __getattribute__ = __instancecheck__ = __subclasscheck__ = die
class Evil:
    __hash__ = __eq__ = __repr__ = __str__ = __getattribute__ = __bool__ = __len__ = die
    __iter__ = __contains__ = __fspath__ = __call__ = __getitem__ = None
    __class__ = property(die)
class Named(str):
    __hash__ = __eq__ = die
class Module(types.ModuleType):
    __getattribute__ = __getattr__ = __repr__ = die
Typed = type.__new__(Meta, "Typed", (), {})
object_ = Evil()
lazy = Module("lazy")
class Space(dict):
    __getitem__ = __missing__ = get = keys = items = values = __iter__ = die
strange = {"__name__": object_, "__package__": object_, "__file__": object_, "x": 1}
def use():
    exec("y = x", strange)
    exec(compile("z = x", __file__, "exec"), strange)
    exec("w = 1", Space(__builtins__={}))
    function = types.FunctionType(use_global.__code__, {"object_": 1, "__name__": object_})
    return function()
def use_global():
    return object_
globals()["never"] = object_
#- test_a.py
import sys
import evil
def test_a():
    sys.modules["evil_entry"] = evil.object_
    sys.modules["evil_lazy"] = evil.lazy
    assert evil.use() == 1
"#,
    );
    traced(&project, "python -m pytest test_a.py -p no:terminal", |version, status, trace| {
        assert_eq!(status, Status::Exited(0), "{version}");
        ran(trace, "evil.py", [22, 26, 28]);
        let names = &trace.modules["evil"].names;
        assert_eq!(names["object_"], graph::Value::Other("Evil".into()), "{version}");
        assert_eq!(names["Typed"], graph::Value::Class("evil".into(), "Typed".into()));
        assert_eq!(names["lazy"], graph::Value::Module("lazy".into()));
    });
}

#[test]
fn replaced_functions_neither_mislead_nor_hear_of_the_tracer() {
    let project = Project::new(
        r#"
#- late.py
def f():
    return 1
#- test_a.py
import builtins, json, os, sys, time, threading
from unittest import mock
import pytest

def test_mocks():
    import importlib
    names = ["os.stat", "os.lstat", "os.getcwd", "os.open", "os.write", "os.path.isfile",
             "os.path.exists", "os.path.realpath", "json.dumps", "time.time_ns", "os.getpid",
             "os.readlink", "os.fsencode", "threading.get_ident", "sys.gettrace"]
    with open("late.py") as file:
        source = file.read()
    patches = [mock.patch(name) for name in names]
    mocks = [patch.start() for patch in patches]
    space = {"__name__": "late"}
    try:
        exec(compile(source, os.path.join(os.path.dirname(__file__), "late.py"), "exec"), space)
        result = space["f"]()
        called = [name for name, one in zip(names, mocks) if one.called]
    finally:
        for patch in patches: patch.stop()
    assert result == 1 and not called, called

def test_ends_tracing():
    sys.settrace(None)
    threading.settrace(None)

def deep(n):
    return deep(n + 1)

def test_recursion():
    with pytest.raises(RecursionError):
        deep(0)
    after = __import__("os")
    os.listdir(".")
    reached()

def reached():
    done = 1

def test_last():
    reached()
"#,
    );
    traced(&project, "pytest test_a.py", |version, status, trace| {
        assert_eq!(status, Status::Exited(0), "{version}");
        ran(trace, "late.py", [1, 2]);
        ran(trace, "test_a.py", [24, 28, 32, 35, 38, 41]);
    });
}

#[test]
fn environments_and_templates_are_no_code_of_the_repository() {
    let project = Project::new(
        r#"
#- env/pyvenv.cfg
home = /
#- env/lib/inside.py
x = 1
#- vendor/site-packages/packaged.py
x = 1
#- tool
import own
print(own.value)
#- own.py
value = 1
def shown(): return value
#- page.txt
Hello reader
#- test_a.py
import pkgutil, runpy, sys
import own
sys.path += ["env/lib", "vendor/site-packages"]
def test_a():
    import inside, packaged
    runpy.run_path("tool")
    template = "import own\ndef root(context):\n    yield own.shown()\n"
    space = {}
    exec(compile(template, "page.txt", "exec"), space)
    assert list(space["root"](None)) == [1]
    from collections import namedtuple
    assert namedtuple("N", "a b")(1, 2).a == 1
    assert pkgutil.get_data("own", "page.txt")
"#,
    );
    traced(&project, "python -m pytest test_a.py", |version, status, trace| {
        assert_eq!(status, Status::Exited(0), "{version}");
        let paths: Vec<&str> = trace.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["own.py", "test_a.py", "tool"], "{version}");
        assert_eq!(trace.generated.imports, ["own"]);
        assert!(trace.generated.names.contains(&"shown".to_string()), "{:?}", trace.generated);
        assert_eq!(trace.data, ["page.txt"], "{version}");
        assert!(trace.external.contains_key("inside") && trace.external.contains_key("packaged"));
    });
}

#[test]
fn the_log_does_not_grow_with_calls() {
    let project = Project::new(
        r#"
#- test_a.py
import os
def leaf(x):
    if x:
        return x
    return None
for at in range(int(os.environ["N"])):
    leaf(at)
def test_a():
    for at in range(int(os.environ["N"])):
        leaf(at + 1)
"#,
    );
    let size = |calls: u32, observer| {
        let environment = pythons::environment(13)?;
        let command = format!("N={calls} pytest test_a.py");
        let (_, trace) = project.trace(&environment, &command, observer);
        ran(&trace, "test_a.py", [3, 4, 9, 10]);
        let logs = std::fs::read_dir(project.scratch.join("trace")).unwrap();
        let text = |path| String::from_utf8(std::fs::read(path).unwrap()).unwrap();
        // Snapshots name the environment's modules and are as long as that.
        let records = logs.flatten().flat_map(|log| {
            let text = text(log.path());
            let lines = text.lines().filter(|line| !line.starts_with('s'));
            lines.map(|line| line.trim_end_matches('\0').len()).collect::<Vec<_>>()
        });
        Some(records.sum::<usize>())
    };
    for observer in [Observer::Fastest, Observer::Settrace] {
        let (Some(few), Some(many)) = (size(100, observer), size(20_000, observer)) else { return };
        // Only the digits of the clock are more.
        assert!(many < few + 100, "{observer:?}: {few} bytes for few calls, {many} for many");
    }
}

/// A program that damages the files of its record counts as started, and the next run in the same
/// place ignores the remains.
#[test]
fn records_that_are_spoiled_are_the_programs_doing() {
    let project = Project::new(
        r#"
#- test_a.py
import os, pathlib, shutil
def test_spoils():
    record = next(pathlib.Path(os.environ["HOME"]).parent.glob("results.jsonl"))
    place = record.parent
    exec(os.environ["HOW"])
    os._exit(0)
#- test_b.py
def test_well(): pass
"#,
    );
    let outside = project.root.parent().unwrap().join("outside");
    fs::write(&outside, "mine").unwrap();
    let link = |name: &str| {
        let path = format!("(place / '{name}')");
        format!("{path}.unlink(missing_ok=True); {path}.symlink_to('{}')", outside.display())
    };
    let hows = [
        "record.unlink()".to_owned(),
        "open(record, 'w').close()".to_owned(),
        "record.write_bytes(bytes(100))".to_owned(),
        "record.unlink(); record.mkdir()".to_owned(),
        "record.unlink(); os.mkfifo(record)".to_owned(),
        link("results.jsonl"),
        link("run.json"),
        link("launch.py"),
        link("tracer.py"),
        "shutil.rmtree(place, ignore_errors=True)".to_owned(),
        "(place / 'tmp').rmdir(); (place / 'tmp').write_text('')".to_owned(),
        "d = place / 'home/a/b'; d.mkdir(parents=True); d.chmod(0); d.parent.chmod(0)".to_owned(),
    ];
    let Some(environment) = pythons::environment(11) else { return };
    for how in hows {
        let command = format!("HOW={} pytest test_a.py", shlex::try_quote(&how).unwrap());
        let run = project.execute(&environment, &command).unwrap();
        assert!(!run.complete, "{how}");
        let (run, _) = project.trace(&environment, &command, Observer::Fastest);
        assert!(!run.complete, "{how}");
        let run = project.execute(&environment, "pytest test_b.py").unwrap();
        assert!(run.complete && run.cases.len() == 1, "{how}\n{}", run.stderr);
        assert_eq!(fs::read_to_string(&outside).unwrap(), "mine", "{how}");
    }
    // Such a record is not believed where the interpreter is known to start.
    let forged =
        r#"record.write_text('{"record":"begin"}\n{"record":"missing","module":"pytest"}\n')"#;
    let command = format!("HOW={} pytest test_a.py", shlex::try_quote(forged).unwrap());
    let error = project.execute(&environment, &command).unwrap_err();
    assert!(matches!(error, ExecuteError::NoPytest { .. }), "{error}");
    let run = gistify_tools::Execution::spoiled(&error).unwrap();
    assert!(!run.complete && run.cases.is_empty());
}

#[test]
fn what_a_pickle_names_is_told() {
    let project = Project::new(
        r#"
#- own.py
class Kept:
    pass
class Other:
    pass
class OrderedDict:
    pass
#- test_a.py
import pickle
import own
def test_a():
    assert pickle.loads(b"cown\nKept\n.").__name__ == "Kept"
    assert pickle.loads(b"\x80\x04\x8c\x0bcollections\x8c\x0bOrderedDict\x93.")() == {}
"#,
    );
    traced(&project, "python -m pytest test_a.py", |version, status, trace| {
        assert_eq!(status, Status::Exited(0), "{version}");
        assert_eq!(trace.generated.imports, ["own"], "{version}");
        assert_eq!(trace.generated.names, ["Kept"], "{version}");
    });
}
