//! Suites that are made of a repository, and benched.

use std::fs;

use super::{User, python, read};

/// One test that is a task, and one of each kind that is none.
pub const MIXED: &str = "\
#- conftest.py
import pytest
class Style(pytest.Item):
    def runtest(self):
        pass
class Checked(pytest.File):
    def collect(self):
        return [Style.from_parent(self, name=name) for name in ('spelling', 'style')]
def pytest_collect_file(file_path, parent):
    if file_path.name == 'calc.py':
        return Checked.from_parent(parent, path=file_path)
#- calc.py
def double(value):
    return value * 2
#- tests/test_good.py
import pytest
from calc import double

@pytest.mark.parametrize('value', [1, 2, 3])
def test_good(value):
    assert double(value) == value * 2
#- tests/test_other.py
from calc import double

def test_other():
    assert double(4) == 8
#- tests/test_unstable.py
import os
def test_unstable():
    assert os.environ['PYTHONHASHSEED'] == '0'
#- tests/test_placed.py
import os
def test_placed():
    assert os.path.basename(__file__) == 'test_placed.py'
#- tests/test_broken.py
import a_module_that_there_is_not
#- tests/test_networked.py
import socket
def test_networked():
    socket.create_connection(('192.0.2.1', 80), timeout=1)
";

#[test]
fn a_suite_is_collected_and_benched() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("mixed", MIXED);
    let args =
        ["collect", "mixed", "--seed", "7", "--calls", "--python", &python, "-o", "mine.toml"];
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let suite = read(&user.here().join("mine.toml"));
    let table: toml::Table = suite.parse().unwrap();
    let texts = |name: &str, key: &str| -> Vec<String> {
        let entries = table[name].as_array().unwrap().iter();
        entries.map(|entry| entry[key].as_str().unwrap().to_owned()).collect()
    };
    let mut tests = texts("task", "test");
    tests.sort();
    assert_eq!(tests, ["tests/test_good.py::test_good", "tests/test_other.py::test_other"]);
    for task in table["task"].as_array().unwrap() {
        let cases = if task["test"].as_str().unwrap().ends_with("good") { 3 } else { 1 };
        assert_eq!(task["passed"].as_integer(), Some(cases), "{suite}");
        assert_eq!(task["src_calls"].as_integer(), Some(cases), "{suite}");
        assert_eq!(task["calls"].as_integer(), Some(2 * cases), "{suite}");
        assert_eq!(task["src_files"].as_integer(), Some(1), "{suite}");
    }
    let dropped: Vec<(String, String)> =
        texts("dropped", "test").into_iter().zip(texts("dropped", "reason")).collect();
    for (test, reason) in [
        ("calc.py::spelling", "a plugin's check, neither a function nor an example, as 1 more"),
        ("tests/test_broken.py", "cannot be collected: ModuleNotFoundError"),
        ("tests/test_networked.py::test_networked", "networked: "),
        ("tests/test_placed.py::test_placed", "bound to its file: "),
        ("tests/test_unstable.py::test_unstable", "unstable: "),
    ] {
        let found = dropped.iter().find(|(name, _)| name == test);
        assert!(found.is_some_and(|(_, told)| told.starts_with(reason)), "{test}: {dropped:?}");
        assert!(ran.out.contains(&format!("dropped {test}: {reason}")), "{}", ran.out);
    }
    assert_eq!(dropped.len(), 5, "{dropped:?}");

    // What exists stays, and the same draw is the same bytes but for what is measured by a clock.
    let again = user.gistify(&args);
    assert_eq!(again.code, 3, "{}", again.err);
    let ran = user.gistify(&[&args[..], &["--force", "--split", "0.5", "--hard"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let tasks = |name: &str| read(&user.here().join(name)).matches("[[task]]").count();
    let parts = ["mine.toml", "mine-dev.toml", "mine-test.toml", "mine-hard.toml"];
    assert_eq!(parts.map(tasks), [2, 1, 1, 2]);
    let timeless = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with("seconds")).map(str::to_owned).collect()
    };
    assert_eq!(timeless(&read(&user.here().join("mine.toml"))), timeless(&suite));

    let ran = user.gistify(&["bench", "mine.toml", "--shard", "1/2", "--alone", "--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let summary: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["suites"][0]["scored"], 1);
    for measure in ["execution_fidelity_strict", "alone_holds"] {
        assert_eq!(summary["suites"][0]["scores"][measure]["value"], 1.0, "{measure}");
    }
}

#[test]
fn a_test_that_reads_its_own_text_by_name_is_bound_and_one_that_is_imported_by_name_is_not() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository(
        "placed",
        "\
#- calc.py
def double(value):
    return value * 2
#- tests/test_read.py
import os
from calc import double

def test_read():
    with open(os.path.join(os.path.dirname(__file__), 'test_read.py')) as text:
        assert text.read() and double(1) == 2
#- tests/test_named.py
from unittest import mock
from calc import double

def test_named():
    with mock.patch('test_named.double', return_value=3):
        import test_named
        assert (test_named.double(1), test_named.double.__class__) == (3, mock.MagicMock)
",
    );
    let ran = user.gistify(&["collect", "placed", "--python", &python, "-o", "mine.toml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let suite: toml::Table = read(&user.here().join("mine.toml")).parse().unwrap();
    let tests = |key: &str| -> Vec<&str> {
        let entries = suite[key].as_array().unwrap().iter();
        entries.map(|entry| entry["test"].as_str().unwrap()).collect()
    };
    assert_eq!(tests("task"), ["tests/test_named.py::test_named"], "{}", ran.out);
    assert_eq!(tests("dropped"), ["tests/test_read.py::test_read"], "{}", ran.out);
    let told = "dropped tests/test_read.py::test_read: bound to its file: ";
    assert!(ran.out.contains(told), "{}", ran.out);
}

#[test]
fn a_test_of_which_no_case_runs_is_dropped_and_a_file_is_told_once() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository(
        "strict",
        "\
#- setup.cfg
[tool:pytest]
addopts = --doctest-modules --strict-config --strict-markers
timeout = 180
#- calc.py
def double(value):
    return value * 2
#- tests/test_good.py
from calc import double

def test_good():
    assert double(1) == 2
#- tests/test_marked.py
import pytest

@pytest.mark.unheard
def test_marked():
    pass
",
    );
    let ran = user.gistify(&["collect", "strict", "--python", &python, "-o", "mine.toml"]);
    let suite: toml::Table = read(&user.here().join("mine.toml")).parse().unwrap();
    let dropped: Vec<&str> = suite["dropped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["test"].as_str().unwrap())
        .collect();
    let told = format!("{}{}", ran.out, ran.err);
    assert_eq!(dropped, ["tests/test_marked.py", "tests/test_good.py::test_good"], "{told}");
    assert!(told.contains("dropped tests/test_good.py::test_good: no case of it runs"), "{told}");
}

#[test]
fn a_bench_may_ask_for_less_than_everything() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("mixed", MIXED);
    // The suite says nothing of the place, so the test that is bound to its file is not reproduced.
    let source = user.here().join("mixed");
    let task = |test: &str| {
        format!("[[task]]\nid = '{test}'\ntest = '{test}'\ncommand = 'pytest tests/{test}.py'\n")
    };
    let head = format!("source = '{}'\npython = '{python}'\n", source.display());
    let suite = head + &task("test_good") + &task("test_placed");
    fs::write(user.here().join("half.toml"), suite).unwrap();
    for (least, code) in [
        (&["100"][..], 1),
        (&["50"], 0),
        (&["51"], 1),
        (&["0"], 0),
        (&["half=50"], 0),
        (&["0", "half=51"], 1),
        (&["other=50"], 2),
    ] {
        let bars = least.iter().flat_map(|bar| ["--at-least", bar]);
        let words: Vec<_> = ["bench", "half.toml"].into_iter().chain(bars).collect();
        let ran = user.gistify(&words);
        assert_eq!(ran.code, code, "at least {least:?}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn a_suite_without_tasks_says_so() {
    let user = User::new();
    fs::write(user.here().join("none.toml"), "list = 'collected'\nseed = 0\n").unwrap();
    let ran = user.gistify(&["bench", "none.toml"]);
    let told = "gistify: suite none: it has no task (a draw from which all was dropped leaves such a file)";
    assert_eq!((ran.code, ran.last_error_line()), (3, told));
}
