//! Tests the limits of gists, each with a repository in one file: code that a gist still
//! reproduces, and code out of reach. Each is a class of failures seen in real packages, as small
//! as possible.

use super::*;

/// The expected verdict.
enum Expected<'a> {
    /// It is faithful and verified, and has this in it.
    Faithful(&'a str),
    /// It is not, and this is said of it.
    OutOfReach(&'a str),
}

use Expected::{Faithful, OutOfReach};

/// Writes the gist of a repository under its one test.
#[track_caller]
fn check(files: &str, test: &str, expected: &Expected<'_>) {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("limit", files);
    let args = ["run", "limit", "--require", "verified", "--python", &python, "--", "pytest", test];
    let ran = user.gistify(&args);
    let gist = read_gist(&user.here().join("concise.py"));
    let (is_so, told) = (ran.code == 0, format!("{}{}{gist}", ran.out, ran.err));
    match expected {
        Faithful(text) => assert!(is_so && gist.contains(text), "{told}"),
        OutOfReach(text) => assert!(ran.code == 1 && ran.out.contains(text), "{told}"),
    }
}

#[test]
fn tests_whose_names_are_made_of_modules_find_them() {
    // Where a metaclass reads it, a class has to know its module before it is made.
    const MADE: &str = "\
#- pkg/__init__.py
#- pkg/kinds.py
from __future__ import annotations
import dataclasses
class Kind(type):
    all = []
    def __init__(cls, name, bases, names):
        cls.all.append((names['__module__'], cls))
class First(metaclass=Kind):
    pass
@dataclasses.dataclass
class Second(metaclass=Kind):
    size: int = 2
#- tests/__init__.py
#- tests/test_kinds.py
from pkg.kinds import First, Kind
class TestKinds:
    pass
for module, kind in Kind.all:
    def test(self, kind=kind):
        assert kind.__module__ == First.__module__
        assert kind.__name__ == 'First' or kind().size == 2
    setattr(TestKinds, 'test_' + module.replace('.', '_') + '_' + kind.__name__, test)
";
    let test = "tests/test_kinds.py::TestKinds::test_pkg_kinds_Second";
    check(MADE, test, &Faithful("    __module__ = \"pkg.kinds\"\n"));
}

#[test]
fn a_module_is_asked_by_texts_for_a_name_that_another_has_as_well() {
    const ASKED: &str = "\
#- pkg/__init__.py
from pkg.inner import size as _size
def size(text):
    return _size(text) + 1
#- pkg/inner.py
try:
    from json import dumps
except ImportError:
    dumps = None
def size(text):
    return len(text)
def show(text):
    return dumps(text)
#- tests/test_size.py
import pkg
from pkg import inner
def replaced(module, **names):
    return {name: getattr(module, name) for name in names}
def test_size():
    assert getattr(pkg, 'size')('ab') == 3
    assert inner.size('ab') == 2
    assert replaced(inner, dumps=1)['dumps'](1) == '1'
";
    check(ASKED, "tests/test_size.py", &Faithful("types.ModuleType(\"pkg.inner\")"));
}

#[test]
fn modules_that_are_found_by_listing_their_directory_are_out_of_reach() {
    // One file has no directory of modules to list, and a table in its place would be a fake.
    const LISTING: &str = "\
#- pkg/__init__.py
import os, runpy
def steps():
    here = os.path.join(os.path.dirname(__file__), 'steps')
    return [runpy.run_path(os.path.join(here, name))['step'] for name in sorted(os.listdir(here))]
#- pkg/steps/double.py
def step(value):
    return value * 2
#- tests/test_steps.py
from pkg import steps
def test_steps():
    assert [step(1) for step in steps()] == [2]
";
    check(LISTING, "tests/test_steps.py", &OutOfReach("assert [] == [2]"));
}

#[test]
fn a_module_that_changes_all_others_and_not_itself_is_out_of_reach() {
    // In one file all have the same globals, whatever that file is called.
    const PATCHING: &str = "\
#- pkg.py
import sys
from time import time
real_time = time
def fake_time():
    return real_time() * 0 + 3
def freeze():
    for name, module in list(sys.modules.items()):
        if name != __name__ and name.startswith('test'):
            for key, value in list(vars(module).items()):
                if value is real_time:
                    setattr(module, key, fake_time)
#- tests/__init__.py
#- tests/clock.py
from time import time
def now():
    return time()
#- tests/test_freeze.py
import pkg
from tests.clock import now
def test_freeze():
    pkg.freeze()
    assert now() == 3
";
    check(PATCHING, "tests/test_freeze.py", &OutOfReach(" = now()"));
}

#[test]
fn a_source_file_that_tests_open_as_data_is_out_of_reach() {
    // Data lie beside a gist, sources do not: to copy them would be to ship the repository.
    const OPENING: &str = "\
#- pkg.py
def size(text):
    return len(text)
#- tests/conftest.py
LIMIT = 3
#- tests/test_size.py
import pathlib
import pkg
def test_size():
    text = pathlib.Path(__file__).with_name('conftest.py').read_text()
    assert pkg.size(text) == 10
";
    check(OPENING, "tests/test_size.py", &OutOfReach("/conftest.py'"));
}

#[test]
fn filters_of_warnings_for_the_package_s_own_are_out_of_reach() {
    // pytest reads them before there is a gist, and imports what they name.
    const FILTERED: &str = "\
#- pytest.ini
[pytest]
filterwarnings =
    error
    ignore::pkg.OddWarning
#- pkg.py
import warnings
class OddWarning(UserWarning):
    pass
def size(text):
    if len(text) % 2:
        warnings.warn('odd', OddWarning)
    return len(text)
#- tests/test_size.py
import pkg
def test_size():
    assert pkg.size('abc') == 3
";
    check(FILTERED, "tests/test_size.py", &OutOfReach("OddWarning: odd"));
}

#[test]
fn a_message_of_the_package_s_own_assertion_that_is_read_is_out_of_reach() {
    // pytest explains assertions of test modules, and a gist is one.
    const READ: &str = "\
#- pkg.py
def root(value):
    assert value >= 0
    return value ** 0.5
def told(value):
    try:
        return root(value)
    except AssertionError as error:
        return str(error)
#- tests/test_root.py
import pkg
def test_told():
    assert pkg.told(-3) == ''
def test_raised():
    assert pkg.root(-3) == 0
";
    check(READ, "tests/test_root.py::test_told", &OutOfReach("assert -3 >= 0"));
    // What is only raised has the package's own words.
    check(READ, "tests/test_root.py::test_raised", &Faithful("    assert value >= 0\n"));
}

#[test]
fn a_function_that_its_decorator_compiles_anew_is_one_that_ran() {
    // What is compiled without its decorator begins at its `def`.
    const ANEW: &str = "\
#- checks.py
import ast
import inspect
import sys
import types

def checked(function):
    tree = ast.parse(inspect.getsource(sys.modules[function.__module__]))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            node.decorator_list.clear()
    code = compile(tree, function.__code__.co_filename, 'exec')
    parts = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    while parts:
        part = parts.pop()
        if part.co_name == function.__name__:
            return types.FunctionType(part, function.__globals__)
        parts += [inner for inner in part.co_consts if isinstance(inner, types.CodeType)]
#- pkg/__init__.py
#- pkg/engine.py
from checks import checked

class Engine:
    def __init__(self):
        self.words = []

    @checked
    def define(self, word):
        self.check(word)
        self.words.append(word)
        return 1

    def check(self, word):
        if not word:
            raise ValueError(word)
#- tests/test_engine.py
from pkg.engine import Engine

def test_define():
    engine = Engine()
    assert engine.define('a') == 1
    assert engine.words == ['a']
";
    check(ANEW, "tests/test_engine.py::test_define", &Faithful("        return 1\n"));
}

#[test]
fn a_condition_that_raised_what_the_test_waits_for_stays() {
    const RAISING: &str = "\
#- pkg.py
def total(rows):
    for name, value in rows.items():
        print(name, value)
    return 0
#- tests/test_total.py
import pytest
import pkg
def test_total():
    assert pkg.total({}) == 0
    with pytest.raises(AttributeError):
        pkg.total(None)
";
    check(RAISING, "tests/test_total.py", &Faithful("in rows.items():"));
}

#[test]
fn another_process_that_runs_the_package_is_out_of_reach() {
    const RUNNING: &str = "\
#- pkg/__init__.py
#- pkg/tool.py
print('done')
#- tests/test_tool.py
import subprocess, sys
import pkg
def test_tool():
    assert subprocess.check_output([sys.executable, '-m', 'pkg.tool']) == b'done\\n'
";
    check(RUNNING, "tests/test_tool.py", &OutOfReach("CalledProcessError"));
}

#[test]
fn modules_of_a_directory_whose_docstrings_are_tests_have_one_file() {
    const DOCUMENTED: &str = "\
#- pytest.ini
[pytest]
addopts = --doctest-modules
#- pkg/__init__.py
#- pkg/one.py
'>>> 1\\n1'
#- pkg/two.py
'>>> 2\\n2'
";
    check(DOCUMENTED, "pkg", &OutOfReach("<internal>::<internal> missing"));
}

#[test]
fn modules_that_are_found_among_the_names_of_a_package_are_objects_that_have_theirs() {
    // Nothing but the names of what holds them leads to the classes.
    const LISTED: &str = "\
#- pkg/__init__.py
from pkg.registry import load
from pkg import shapes
#- pkg/base.py
class Shape: pass
#- pkg/shapes/__init__.py
from pkg.shapes.round import Circle
#- pkg/shapes/round.py
from pkg.base import Shape
class Circle(Shape): pass
#- pkg/registry.py
import types
from pkg.base import Shape

def load():
    package = __import__('pkg')
    values = [getattr(package, name) for name in dir(package)]
    found = []
    for module in [value for value in values if isinstance(value, types.ModuleType)]:
        for name in dir(module):
            value = getattr(module, name)
            if isinstance(value, type) and issubclass(value, Shape) and value is not Shape:
                found.append(value.__name__)
    return found
#- tests/test_load.py
from pkg import load

def test_load():
    assert load() == ['Circle']
";
    check(LISTED, "tests/test_load.py", &Faithful("class Circle(Shape):\n"));
}

#[test]
fn what_the_package_runs_tests_by_goes_on_running_them() {
    // No outcome tells that a condition went which calls the test: it passes all the more.
    const RUNNER: &str = "\
#- pkg/__init__.py
import unittest

class RunTest:
    def __init__(self, case):
        self.case = case
        self.caught = object()
    def run(self, result):
        result.startTest(self.case)
        failed = False
        try:
            if self.caught == self._run_user(self.case._method()):
                failed = True
        finally:
            if not failed:
                result.addSuccess(self.case)
            result.stopTest(self.case)
        return result
    def _run_user(self, function):
        try:
            return function()
        except Exception:
            return self.caught

class Case(unittest.TestCase):
    def _method(self):
        return getattr(self, self._testMethodName)
    def run(self, result=None):
        return RunTest(self).run(result)

def double(value):
    return value * 2
#- tests/test_double.py
from pkg import Case, double

class TestDouble(Case):
    def test_double(self):
        self.assertEqual(double(1), 2)
";
    let condition = "if self.caught == self._run_user(self.case._method()):";
    check(RUNNER, "tests/test_double.py", &Faithful(condition));
}

#[test]
fn classes_whose_metaclass_looks_for_others_in_their_module_are_told_it() {
    const ALONE: &str = "\
#- pkg/__init__.py
#- pkg/base.py
import sys

class Alone(type):
    def __new__(mcs, name, bases, names):
        cls = super().__new__(mcs, name, bases, names)
        for value in vars(sys.modules[cls.__module__]).values():
            if isinstance(value, Alone) and value.__module__ == cls.__module__:
                raise RuntimeError('one of them in a module')
        return cls
#- pkg/first.py
from pkg.base import Alone
class First(metaclass=Alone):
    size = 1
#- pkg/second.py
from pkg.first import First
class Second(First):
    size = 2
#- tests/test_sizes.py
from pkg.second import Second

def test_sizes():
    assert [kind.size for kind in Second.__mro__[:2]] == [2, 1]
";
    check(ALONE, "tests/test_sizes.py", &Faithful("    __module__ = \"pkg.second\"\n"));
}

#[test]
fn names_that_a_module_puts_together_to_look_them_up_are_kept_with_their_like() {
    const BUILT: &str = "\
#- pkg/__init__.py
from pkg.makers import TABLE
#- pkg/makers.py
KINDS = 'one two'
def make_one():
    return 1
def make_two():
    return 2
def table():
    return {kind: globals()['make_' + kind]() for kind in KINDS.split()}
TABLE = table()
#- tests/test_table.py
from pkg import TABLE

def test_table():
    assert TABLE == {'one': 1, 'two': 2}
";
    check(BUILT, "tests/test_table.py", &Faithful("def make_two():\n"));
}

#[test]
fn objects_whose_number_shows_in_the_next_are_kept() {
    // Nothing but what counts them reads the number.
    const COUNTED: &str = "\
#- pkg.py
COUNT = 0
class Event:
    def __init__(self):
        global COUNT
        COUNT += 1
        self.id = COUNT
FIRST = Event()
SECOND = Event()
#- tests/test_events.py
from pkg import SECOND, Event

def test_events():
    assert (SECOND.id, Event().id) == (2, 3)
";
    check(COUNTED, "tests/test_events.py", &Faithful("FIRST = Event()\n"));
}

#[test]
fn fixtures_that_others_of_their_name_ask_for_are_there_for_them() {
    const LAYERS: &str = "\
#- pkg.py
def plain():
    return ['plain']
#- tests/__init__.py
#- tests/api/__init__.py
#- tests/conftest.py
import pytest
from pkg import plain

LOG = []

@pytest.fixture
def app():
    return plain()

@pytest.fixture(autouse=True)
def logged():
    LOG.append('outer')
    yield LOG
    LOG.append('end')

@pytest.fixture
def client(app):
    return {'of': app}
#- tests/api/conftest.py
import pytest

@pytest.fixture
def app(app):
    return [*app, 'deep']
#- tests/api/test_app.py
import pytest

@pytest.fixture
def app(app):
    return [*app, 'own']

@pytest.fixture(autouse=True)
def logged(logged):
    return [*logged, 'inner']

def test_app(app, client, logged):
    assert app == ['plain', 'deep', 'own'] and client['of'] is app
    assert logged == ['outer', 'inner']
";
    check(LAYERS, "tests/api/test_app.py", &Faithful("pytest_plugins = ["));
}

#[test]
fn a_fixture_may_have_the_name_of_what_it_patches() {
    const PATCHED: &str = "\
#- pkg/__init__.py
#- pkg/core.py
field = None

def label():
    return field or 'none'
#- tests/__init__.py
#- tests/conftest.py
import pytest

@pytest.fixture(autouse=True)
def no_field(monkeypatch):
    monkeypatch.setattr('pkg.core.field', None)

@pytest.fixture
def field(monkeypatch, no_field):
    monkeypatch.setattr('pkg.core.field', 'id')
    return 'id'
#- tests/test_label.py
from pkg.core import label

def test_label(field):
    assert label() == field

def test_none():
    assert label() == 'none'
";
    check(PATCHED, "tests/test_label.py", &Faithful("update(__loader__=__loader__, field="));
}

#[test]
fn definitions_of_the_tests_may_have_a_name_that_the_package_gets_back() {
    const OWN: &str = "\
#- pkg/__init__.py
#- pkg/core.py
def name():
    return 'original'

def greet():
    return 'hello ' + name()
#- tests/test_greet.py
import pytest
from pkg.core import greet

@pytest.fixture
def name(monkeypatch):
    monkeypatch.setattr('pkg.core.name', lambda: 'patched')

def test_greet(name):
    assert greet() == 'hello patched'
";
    check(OWN, "tests/test_greet.py", &Faithful("name = name_core"));
    const MOCKED: &str = "\
#- pkg.py
class Sender:
    def send(self, url):
        return 'real ' + url

def get(url, sender=None):
    return (sender or Sender()).send(url)
#- tests/__init__.py
#- tests/mocks.py
import pkg

class Sender(pkg.Sender):
    def send(self, url):
        return super().send('mock ' + url)
#- tests/test_get.py
from pkg import Sender, get
from . import mocks

def test_get():
    assert get('u', mocks.Sender()) == 'real mock u'
    assert type(mocks.Sender()) is not Sender
";
    check(MOCKED, "tests/test_get.py", &Faithful("Sender = Sender_pkg"));
}

#[test]
fn patches_of_two_modules_that_differ_in_a_name_are_out_of_reach() {
    // One of them is the gist, where its code reads what is patched; the other is an object beside its code.
    const PATCHED: &str = "\
#- pkg/__init__.py
#- pkg/base.py
from json import dumps

class Channel:
    def write(self, value):
        return dumps(value)
#- pkg/store.py
from json import loads
from pkg import base

class Channel(base.Channel):
    def read(self, text):
        return loads(text)
#- tests/test_channel.py
from unittest.mock import patch
from pkg import base, store

def test_channels():
    with patch('pkg.store.loads', int), patch('pkg.base.dumps', str):
        assert store.Channel().read('4') == 4
        assert base.Channel().write('4') == '4'
";
    check(PATCHED, "tests/test_channel.py", &OutOfReach("AssertionError: assert '\"4\"' == '4'"));
    let one =
        PATCHED.replace(", patch('pkg.base.dumps', str):", ":").replace("'4') == '4'", "4) == '4'");
    check(&one, "tests/test_channel.py", &Faithful("types.ModuleType(\"pkg.base\")"));
}

#[test]
fn plugins_of_the_repository_are_the_gist_itself() {
    const PLUGGED: &str = "\
#- pkg/__init__.py
#- pkg/testing.py
import pytest

@pytest.fixture
def answer():
    return 42
#- conftest.py
pytest_plugins = ['pkg.testing']
#- tests/test_answer.py
def test_answer(answer):
    assert answer == 42
";
    check(PLUGGED, "tests/test_answer.py", &Faithful("def answer():\n"));
    let both = PLUGGED.replace("['pkg.testing']", "['pkg.testing', 'pytester']");
    check(&both, "tests/test_answer.py", &Faithful("pytest_plugins = [\"pytester\"]\n"));
}
