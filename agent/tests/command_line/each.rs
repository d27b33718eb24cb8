//! `gistify run --each`: a gist for each test, by forks of waiting processes, and a cold run that decides.

use serde_json::Value;

use super::*;

/// Tests of two files: with cases, with a failure, in a class, and two of which one leaves something to the other.
const SEVERAL: &str = "\
#- pkg/__init__.py
#- pkg/work.py
import json

SEEN = []


def double(value):
    return value * 2


def dumped(value):
    return json.dumps(value)


def see(value):
    SEEN.append(value)
    return len(SEEN)
#- tests/conftest.py
import pytest
from pkg.work import dumped


@pytest.fixture
def text():
    return dumped([1])
#- tests/test_one.py
import pytest
from pkg.work import double, see


@pytest.mark.parametrize('value', [1, 2])
def test_double(value):
    assert double(value) == 2 * value


class TestSeen:
    def test_first(self):
        assert see(1) == 1

    def test_second(self):
        assert see(1) == 2
#- tests/test_two.py
from pkg.work import double


def test_text(text, tmp_path):
    (tmp_path / 'a').write_text(text)
    assert (tmp_path / 'a').read_text() == '[1]'


def test_fails():
    assert double(1) == 3, 'three'
";

/// The rows of an index behind its first line, by test.
fn rows(directory: &Path) -> std::collections::BTreeMap<String, Value> {
    let text = read(&directory.join("index.jsonl"));
    let rows = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.map(|row| (row["test"].as_str().unwrap().to_owned(), row)).collect()
}

#[test]
fn each_test_has_a_gist_and_a_row() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("several", SEVERAL);
    let begin = ["run", "several", "--each", "--python", &python, "-w", "2", "-o", "out"];
    let ran = user.gistify(&[&begin[..], &["--", "pytest", "tests"]].concat());
    let out = user.here().join("out");
    let rows_of_all = rows(&out);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(
        ran.out.starts_with("5 tests: 5 gists behave as their test, 0 do not, 0 tests"),
        "{}",
        ran.out
    );
    for (test, defines, lacks) in [
        ("tests/test_one.py::test_double", "def double", "def see"),
        ("tests/test_one.py::TestSeen::test_first", "def see", "def double"),
        ("tests/test_one.py::TestSeen::test_second", "def see", "def test_first"),
        ("tests/test_two.py::test_text", "def dumped", "def double"),
        ("tests/test_two.py::test_fails", "'three'", "def dumped"),
    ] {
        let row = &rows_of_all[test];
        assert_eq!(row["outcome"], "same", "{row}");
        let gist = read_gist(&out.join(row["gist"].as_str().unwrap()));
        assert!(gist.contains(defines) && !gist.contains(lacks), "{test}: {gist}");
        let is_alone = test.ends_with("test_second");
        let notes = row["notes"].to_string();
        assert_eq!(notes.contains("depends on tests before it"), is_alone, "{row}");
        assert_eq!(row["forked"].as_u64().unwrap() > 1, !is_alone, "{row}");
        // The record answers for the gist.
        let record = out.join(row["record"].as_str().unwrap());
        let record = record.to_string_lossy();
        let asked =
            user.gistify(&["why", &record, &format!("concise.py:{}", gist.lines().count())]);
        assert_eq!(asked.code, 0, "{test}: {}{}", asked.out, asked.err);
    }
    assert_eq!(user.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_directory_of_gists_goes_on_and_takes_no_others() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("several", SEVERAL);
    let each = |more: &[&str], command: &str| {
        let begin = ["--json", "run", "several", "--python", &python, "--each"];
        user.gistify(&[&begin[..], more, &["--", "pytest", command]].concat())
    };
    let ran = each(&["failed"], "tests");
    let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    assert_eq!((&told["tests"], &told["same"], &told["made"]), (&1.into(), &1.into(), &1.into()));
    // The last row was being written when the program was killed.
    let index = user.here().join("gists/index.jsonl");
    let text = read(&index);
    fs::write(&index, format!("{text}{{\"test\": \"te")).unwrap();
    let ran = each(&["failed"], "tests");
    let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    assert_eq!((&told["tests"], &told["made"]), (&1.into(), &0.into()), "{}", ran.err);
    assert_eq!(read(&index), text);
    let ran = each(&[], "tests/test_one.py");
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.last_error_line().contains("it has gists of another command"), "{}", ran.err);
    for (args, code, told) in [
        (&["run", "several", "--each", "--standalone"][..], 2, "cannot be used with"),
        (&["run", "several", "-w", "2"], 2, "--each"),
        (&["run", "several", "--each", "-o", "several"], 3, "it has other files"),
    ] {
        let ran = user.gistify(&[args, &["--python", &python, "--", "pytest", "tests"]].concat());
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(told), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_gist_that_the_writer_goes_back_to_has_run() {
    const LATE: &str = "\
#- pkg/__init__.py
#- pkg/core.py
def go(x):
    from .heavy import compute

    return compute(x)
#- pkg/heavy.py
print('loaded')


def compute(x):
    return x * x
#- pkg/light.py
def compute(x):
    return 9
#- tests/test_go.py
from pkg import light
from pkg.core import go


def test_go():
    print('before')
    assert go(3) == light.compute(3)
";
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("late", LATE);
    let args = ["run", "late", "--each", "--python", &python, "--", "pytest", "tests"];
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let row = &rows(&user.here().join("gists"))["tests/test_go.py::test_go"];
    assert_eq!((&row["outcome"], &row["notes"]), (&"same".into(), &Value::Array(Vec::new())));
}
