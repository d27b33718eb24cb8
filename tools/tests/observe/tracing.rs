//! Tests the reports of `trace`: equal for both observers, under every supported version.

use std::collections::{BTreeMap, BTreeSet};

use gistify_tools::{Command, LocalSandbox, Observer, Status, TraceOptions, trace_with};
use graph::{FileTrace, Trace, TracePhase, Value};

use crate::{Project, pythons};

/// Something of everything that the language executes.
const PACKAGE: &str = r#"#- pkg/__init__.py
"""A package."""
from .shapes import Base, Square
from .flow import (
    loops,
    tries,
)
from .cycle_a import first
import sys

TABLE = {}
for name in ("a", "b", "c"):
    if name == "b":
        continue
    TABLE[name] = name * 2

while len(TABLE) < 5:
    TABLE[len(TABLE)] = (
        len(TABLE)
        + 1
    )

try:
    import nothing_of_this_name
except ImportError:
    nothing_of_this_name = None
else:
    unreached = 1
finally:
    reached = 2

with open(__file__) as own:
    pass

if sys.version_info >= (3, 10):
    from .matching import match
lambdas = [lambda: 1, lambda x: x]
squares = [n * n for n in range(3)]
#- pkg/shapes.py
import abc
import functools


def register(**options):
    def decorate(kind):
        kind.options = options
        return kind
    return decorate


class Base(abc.ABC):
    """Doc."""

    limit = 3
    names: list = []

    @abc.abstractmethod
    def area(self):
        ...

    @property
    @abc.abstractmethod
    def side(self): ...

    def unused(self):
        return self.limit


@register(
    a=1,
    b=2,
)
class Square(Base):
    def __init__(self, side):
        self._side = side

    def area(self):
        return self.side ** 2

    @property
    def side(self):
        return self._side

    @functools.lru_cache(
        maxsize=None
    )
    def cached(self): return [
        i
        for i in range(self._side)
        if i
    ]

    class Inner:
        x = 1

        def deep(self):
            def deeper():
                yield self.x
            return list(deeper())
#- pkg/flow.py
import contextlib


def loops(n):
    total = 0
    for i in range(n):
        if i % 2:
            continue
        elif i > 100:
            break
        total += i
    else:
        total += 1
    while total > 0:
        total -= 3
    return total


def tries(kind):
    try:
        if kind:
            raise kind("x")
    except KeyError as error:
        return str(error)
    except (ValueError,
            TypeError):
        return "value"
    else:
        result = 1
    finally:
        done = 1
    return result


@contextlib.contextmanager
def manager():
    yield 1
    after = 2


def withs():
    with manager() as a, \
            manager() as b:
        c = a + b
    return c


def generator(n):
    for i in range(n):
        received = yield i
        if received:
            print(received)
    return n


def delegating():
    result = yield from generator(2)
    return result


async def work(n):
    import asyncio
    await asyncio.sleep(0)
    async with Async() as x:
        pass
    return [i async for i in agen(n)]


async def agen(n):
    for i in range(n):
        yield i


class Async:
    async def __aenter__(self):
        return 1

    async def __aexit__(self, *args):
        return None


def oneliner(): return 1


def boolean(a, b, c):
    return (a and
            b or
            c)


def nested(x):
    y = {
        "k": [
            v
            for v in x
            if v
        ],
        "s": {v for v in x},
        "g": list(v for v in x),
    }
    assert y, "no"
    del y["s"]
    if x: return y; unreachable = 1
    return None


def threads():
    import threading
    found = []

    def target():
        found.append(1)
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    return found


def children():
    import os
    import subprocess
    import sys
    out = subprocess.run(
        [sys.executable, "-c", "import pkg.child; pkg.child.only_in_child()"],
        stdout=subprocess.PIPE, check=True)
    pid = os.fork()
    if pid == 0:
        forked_only()
        os._exit(0)
    os.waitpid(pid, 0)
    return out.stdout


def forked_only():
    a = 1
    return a


def executes(path):
    space = {"__name__": "config"}
    with open(path) as file:
        exec(compile(file.read(), path, "exec"), space)
    return space


def recursion(n):
    if n == 0:
        raise_deep()
    try:
        return recursion(n - 1)
    finally:
        n = 0


def raise_deep():
    raise RuntimeError("deep")
#- pkg/child.py
from . import flow

VALUE = 3


def only_in_child():
    print("child", VALUE, end="")
#- pkg/cycle_a.py
from . import cycle_b

first = 1


def use():
    return cycle_b.second()
#- pkg/cycle_b.py
import pkg.cycle_a as a


def second():
    return a.first
#- pkg/matching.py
def match(value):
    match value:
        case 1 | 2:
            return "small"
        case {"k": v} if v:
            return v
        case [first, *_]:
            return first
        case _:
            return None
#- pkg/fails.py
before = 1
raise ImportError("never")
after = 2
#- data/config.cfg
KEY = 1
def helper():
    return KEY
OTHER = helper()
#- data/text.txt
words
#- tests/conftest.py
import pytest


@pytest.fixture
def base():
    return 1


@pytest.fixture(autouse=True)
def always(base):
    yield
    ended = 1


@pytest.fixture
def unused():
    return 1
#- tests/test_all.py
import asyncio
import os
import pytest
import pkg
from pkg import flow, shapes

try:
    import pkg.fails
except ImportError:
    fails = None

DATA = os.path.join(os.path.dirname(__file__), "..", "data")


@pytest.fixture
def base(base):
    return base + 1


@pytest.mark.parametrize("n", [0, 3])
def test_loops(n):
    flow.loops(n)


@pytest.mark.parametrize("kind", [None, KeyError, ValueError])
def test_tries(kind):
    assert flow.tries(kind)


def test_flow():
    assert flow.withs() == 2
    assert list(flow.generator(2)) == [0, 1]
    assert list(flow.delegating()) == [0, 1]
    assert asyncio.run(flow.work(2)) == [0, 1]
    assert flow.oneliner() == 1
    assert flow.boolean(1, 0, 3) == 3
    assert flow.nested([1])
    assert flow.threads() == [1]
    assert flow.children() == b"child 3"
    with pytest.raises(RuntimeError):
        flow.recursion(3)


def test_shapes():
    square = shapes.Square(2)
    assert square.area() == 4
    assert square.cached() == [1]
    assert shapes.Square.Inner().deep() == [1]


def test_data():
    assert flow.executes(os.path.join(DATA, "config.cfg"))["OTHER"] == 1
    assert os.listdir(DATA)
    with open(os.path.join(DATA, "text.txt")) as file:
        assert file.read()


def test_generated():
    space = {"pkg": pkg}
    exec("import pkg.cycle_b\nx = pkg.cycle_a.use", space)
    assert space["x"]() == 1


@pytest.mark.skipif(not hasattr(pkg, "match"), reason="old")
def test_match():
    assert pkg.match(2) == "small"
    assert pkg.match({"k": 3}) == 3
    assert pkg.match([7, 8]) == 7
"#;

/// Lines that only versions with `match` execute.
const NEEDS_MATCH: [(&str, &[u32]); 3] =
    [("pkg/__init__.py", &[35]), ("pkg/matching.py", &[]), ("tests/test_all.py", &[66, 67, 68])];

/// The parts of a trace that are equal between versions: the order in which module lines started,
/// without positions of the clock. The versions differ in the number of events for a decorated
/// definition.
#[derive(Debug, PartialEq)]
struct Seen {
    modules: Vec<String>,
    phase: TracePhase,
    import: Vec<u32>,
    test: Vec<u32>,
    functions: Vec<(u32, String, bool, bool)>,
    order: Vec<u32>,
}

fn seen(trace: &Trace, with_match: bool) -> BTreeMap<String, Seen> {
    let mut all = BTreeMap::new();
    for file in &trace.files {
        let skipped = NEEDS_MATCH.iter().find(|(path, _)| *path == file.path && !with_match);
        if skipped.is_some_and(|(_, lines)| lines.is_empty()) {
            continue;
        }
        let keep = |line: &u32| !skipped.is_some_and(|(_, lines)| lines.contains(line));
        let mut order: Vec<_> = file.module_lines.iter().collect();
        order.sort_by_key(|line| line.start);
        let functions = file
            .functions
            .iter()
            .filter(|function| with_match || function.name != "test_match")
            .map(|f| (f.line, f.name.clone(), f.import, f.test))
            .collect();
        let seen = Seen {
            modules: file.modules.clone(),
            phase: file.phase,
            import: file.import_lines.iter().copied().filter(keep).collect(),
            test: file.test_lines.iter().copied().filter(keep).collect(),
            functions,
            order: order.iter().map(|line| line.line).filter(keep).collect(),
        };
        all.insert(file.path.clone(), seen);
    }
    all
}

#[test]
fn both_tracers_see_the_same_under_every_version() {
    let project = Project::new(PACKAGE);
    let command = "python -m pytest tests";
    let mut reference: Option<(u8, Trace)> = None;
    for (minor, _) in pythons::VERSIONS.iter().rev() {
        let Some(environment) = pythons::environment(*minor) else { continue };
        let (run, mut settrace) = project.trace(&environment, command, Observer::Settrace);
        assert_eq!(run.status, Status::Exited(0), "3.{minor}: {}{}", run.stdout, run.stderr);
        assert_eq!(settrace.tracer, "settrace");
        if *minor >= 12 {
            let (run, mut monitoring) = project.trace(&environment, command, Observer::Fastest);
            assert_eq!(run.status, Status::Exited(0), "3.{minor}: {}{}", run.stdout, run.stderr);
            assert_eq!(monitoring.tracer, "monitoring");
            check_branches(&monitoring);
            settrace.tracer = monitoring.tracer.clone();
            for file in &mut monitoring.files {
                file.branches.clear();
            }
            // Children start when the machine lets them; all else is equal to the last position.
            assert_eq!(monitoring, settrace, "3.{minor}");
        }
        check_facts(&settrace);
        let with_match = *minor >= 10;
        match &reference {
            None => reference = Some((*minor, settrace)),
            Some((newest, trace)) => {
                let (ours, theirs) = (seen(&settrace, with_match), seen(trace, with_match));
                assert_eq!(ours, theirs, "3.{minor} (left) and 3.{newest}");
            }
        }
    }
}

fn file<'a>(trace: &'a Trace, path: &str) -> &'a FileTrace {
    trace.file(path).unwrap_or_else(|| panic!("{path} is not in the trace"))
}

fn check_branches(trace: &Trace) {
    let branches = &file(trace, "pkg/flow.py").branches;
    let targets = |line: u32| -> BTreeSet<u32> {
        branches.iter().filter(|(from, _)| *from == line).map(|(_, to)| *to).collect()
    };
    // `if i % 2` goes both ways, `elif i > 100` only past its body.
    assert_eq!(targets(7), BTreeSet::from([8, 9]));
    assert_eq!(targets(9), BTreeSet::from([11]));
    assert_eq!(targets(14), BTreeSet::from([15, 16]));
}

fn check_facts(trace: &Trace) {
    // Threads, children that run Python, forks, functions of executed files.
    assert!(file(trace, "pkg/child.py").test_lines.contains(&7));
    let flow = file(trace, "pkg/flow.py");
    let entered = |name: &str| flow.functions.iter().any(|f| f.name == name && f.test);
    for name in ["target", "forked_only", "agen", "__aexit__", "generator", "raise_deep"] {
        assert!(entered(name), "{name}");
    }
    assert!(!flow.functions.iter().any(|function| function.name.starts_with('<')));
    let threaded: Vec<&str> =
        flow.functions.iter().filter(|f| f.threaded).map(|f| f.name.as_str()).collect();
    assert_eq!(threaded, ["target"]);
    assert_eq!(file(trace, "data/config.cfg").modules, ["config"]);
    assert_eq!(file(trace, "data/config.cfg").phase, TracePhase::Test);

    // The clock: a definition before the import that needs it, the import around its module.
    let line = |path: &str, line: u32| {
        let lines = &file(trace, path).module_lines;
        *lines.iter().find(|known| known.line == line).unwrap()
    };
    let import = line("pkg/__init__.py", 7);
    let inside = line("pkg/cycle_b.py", 4);
    assert!(import.start < inside.start && inside.end < import.end);
    let table = line("pkg/__init__.py", 14);
    let last = line("pkg/__init__.py", 13);
    assert!(table.start < last.start && last.start < table.end, "{table:?} {last:?}");
    // A module that raised: its last line ends before the next line of who imported it.
    let raised = line("pkg/fails.py", 2);
    assert!(raised.end <= line("tests/test_all.py", 9).start);

    assert_eq!(trace.roots, ["tests", ""], "as pytest and `python -m` put them in front");
    let data: Vec<&str> = trace.data.iter().map(String::as_str).collect();
    assert_eq!(data, ["data", "data/config.cfg", "data/text.txt", "pkg/__init__.py"]);
    assert_eq!(trace.generated.imports, ["pkg", "pkg.cycle_b"]);
    for name in ["cycle_a", "use", "pkg"] {
        assert!(trace.generated.names.iter().any(|known| known == name), "{:?}", trace.generated);
    }
    let fixtures: Vec<(&str, &str, u32)> =
        trace.fixtures.iter().map(|f| (f.name.as_str(), f.path.as_str(), f.line)).collect();
    assert_eq!(
        fixtures,
        [
            ("always", "tests/conftest.py", 9),
            ("base", "tests/conftest.py", 4),
            ("base", "tests/test_all.py", 15),
        ]
    );
    let overrides: Vec<_> = trace.abstract_overrides.iter().collect();
    assert_eq!(overrides.len(), 1);
    assert_eq!(overrides[0].0, "pkg.shapes:Square");
    assert_eq!(overrides[0].1, &["area", "side"]);
    let names = &trace.modules["pkg"].names;
    assert_eq!(names["Square"], Value::Class("pkg.shapes".into(), "Square".into()));
    assert_eq!(names["loops"], Value::Function("pkg.flow".into(), "loops".into()));
    assert_eq!(names["sys"], Value::Module("sys".into()));
    assert_eq!(names["TABLE"], Value::Other("dict".into()));
    assert_eq!(trace.modules["pkg.shapes"].path, "pkg/shapes.py");
    assert!(trace.external["json"].ends_with("json/__init__.py"));
    assert_eq!(trace.external["sys"], "");
    assert!(!trace.external.contains_key("pkg"));
}

#[test]
fn a_module_is_known_with_the_line_that_asked_for_it() {
    let project = Project::new(
        "#- pkg/__init__.py\n\
         #- pkg/load.py\n\
         import importlib\n\
         load = __import__\n\
         def one():\n\
         \x20   return load(\n\
         \x20       'pkg.' + 'one'\n\
         \x20   )\n\
         def inner():\n\
         \x20   return importlib.import_module('.inner.two', 'pkg')\n\
         def others():\n\
         \x20   from . import three, four\n\
         \x20   import json, pkg.five\n\
         def spec():\n\
         \x20   from importlib import util\n\
         \x20   spec = util.find_spec('pkg.six')\n\
         \x20   spec.loader.exec_module(util.module_from_spec(spec))\n\
         #- pkg/one.py\n1\n\
         #- pkg/inner/__init__.py\n1\n\
         #- pkg/inner/two.py\nfrom .three import *\n\
         #- pkg/inner/three.py\n1\n\
         #- pkg/three.py\n1\n#- pkg/four.py\n1\n#- pkg/five.py\n1\n#- pkg/six.py\n1\n\
         #- test_load.py\n\
         import pytest\n\
         from pkg import load\n\
         def test_load():\n\
         \x20   load.one(), load.inner(), load.others(), load.spec()\n\
         \x20   exec('import pkg.generated')\n\
         \x20   pytest.importorskip('pkg.foreign')\n\
         #- pkg/generated.py\n1\n#- pkg/foreign.py\n1\n",
    );
    for (minor, _) in pythons::VERSIONS {
        let Some(environment) = pythons::environment(*minor) else { continue };
        for observer in [Observer::Fastest, Observer::Settrace] {
            let (run, trace) =
                project.trace(&environment, "python -m pytest test_load.py", observer);
            assert_eq!(run.status, Status::Exited(0), "3.{minor}: {}{}", run.stdout, run.stderr);
            let shown: Vec<String> = trace
                .files
                .iter()
                .filter_map(|file| {
                    let asked = file.importer.as_ref()?;
                    Some(format!("{} {:?} {}:{}", file.path, file.phase, asked.path, asked.line))
                })
                .collect();
            assert_eq!(
                shown,
                [
                    "pkg/__init__.py Import test_load.py:2",
                    "pkg/five.py Test pkg/load.py:11",
                    "pkg/four.py Test pkg/load.py:10",
                    "pkg/inner/three.py Test pkg/inner/two.py:1",
                    "pkg/inner/two.py Test pkg/load.py:8",
                    "pkg/load.py Import test_load.py:2",
                    "pkg/one.py Test pkg/load.py:4",
                    "pkg/three.py Test pkg/load.py:10",
                ],
                "3.{minor} {observer:?}"
            );
        }
    }
}

#[test]
fn names_of_test_modules_lead_to_their_helpers() {
    let project = Project::new(
        "#- pytest.ini\n[pytest]\naddopts = --import-mode=importlib\n\
         #- tests/__init__.py\n\
         #- tests/helper.py\ndef make():\n    return 1\n\
         #- tests/test_a.py\nfrom .helper import make\ndef test_f():\n    assert make() == 1\n",
    );
    let Some(environment) =
        pythons::VERSIONS.iter().rev().find_map(|(minor, _)| pythons::environment(*minor))
    else {
        return;
    };
    let command = "pytest tests/test_a.py::test_f";
    let (run, trace) = project.trace(&environment, command, Observer::Fastest);
    assert_eq!(run.status, Status::Exited(0), "{}{}", run.stdout, run.stderr);
    assert_eq!(file(&trace, "tests/helper.py").modules, ["tests.helper"]);
    assert_eq!(trace.roots, [""], "no entry of `sys.path` leads there");
}

#[test]
fn a_slice_takes_what_runs_very_often_for_executed_as_a_whole() {
    let project = Project::new(
        "#- hot.py
def often(x):
    if x < 0:
        return never()
    return x


def never():
    return 1


def seldom(x):
    if x < 0:
        return never()
    return x


def plain(x): return (lambda: x)()
def late(x): return x


def loop(times):
    for x in range(times):
        if x < 0:
            never()
        often(x)
        plain(x)
    late(x)
    return seldom(x)
#- test_a.py
from hot import loop


def test_f():
    assert loop(600) == 599
",
    );
    let Some(environment) =
        pythons::VERSIONS.iter().find_map(|(minor, _)| pythons::environment(*minor))
    else {
        return;
    };
    let command = Command::parse("pytest test_a.py::test_f").unwrap();
    let sandbox = LocalSandbox::default();
    let spec = project.spec(&sandbox, &environment, &command);
    for (patience, lines) in [
        (0, &[2, 4, 12, 14, 17, 18, 22, 23, 25, 26, 27, 28][..]),
        (100, &[2, 3, 4, 12, 14, 17, 18, 22, 23, 24, 25, 26, 27, 28]),
    ] {
        let options = TraceOptions { patience, ..TraceOptions::default() };
        let (run, trace) = trace_with(&spec, Observer::Settrace, options).unwrap();
        assert!(!trace.busy);
        assert_eq!(run.status, Status::Exited(0), "{}{}", run.stdout, run.stderr);
        let hot = file(&trace, "hot.py");
        assert_eq!(hot.test_lines, lines, "patience {patience}");
        let functions: Vec<&str> = hot.functions.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(functions, ["often", "seldom", "plain", "late", "loop"], "patience {patience}");
    }
}

#[test]
fn a_run_of_very_many_calls_is_told_and_can_be_spared() {
    let project = Project::new(
        "#- hot.py
ONE = 1
def often(x):
    return x

def early():
    return often(1)

FIRST = early()
#- test_a.py
from hot import often

def test_f():
    for x in range(300_000):
        often(x)
#- main.py
import test_a
test_a.test_f()
",
    );
    let Some(environment) =
        pythons::VERSIONS.iter().find_map(|(minor, _)| pythons::environment(*minor))
    else {
        return;
    };
    let sandbox = LocalSandbox::default();
    for command in ["pytest test_a.py", "python main.py"] {
        let command = Command::parse(command).unwrap();
        let spec = project.spec(&sandbox, &environment, &command);
        let traced = |imports_only| {
            let options = TraceOptions { imports_only, ..TraceOptions::default() };
            let (run, trace) = trace_with(&spec, Observer::Settrace, options).unwrap();
            assert_eq!(run.status, Status::Exited(0), "{}{}", run.stdout, run.stderr);
            trace
        };
        assert!(traced(false).busy, "{command}");
        let spared = traced(true);
        let lines = spared.file("hot.py").map(|hot| (&*hot.import_lines, &*hot.test_lines));
        // Without pytest there is nothing in front of what the command does.
        let expected = command.is_pytest().then_some((&[1, 2, 3, 5, 6, 8][..], &[][..]));
        assert_eq!(lines, expected, "{command}");
    }
}
