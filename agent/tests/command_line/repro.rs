//! `gistify repro`: one file that fails as a command does, run as whoever gets it would run it.

use super::*;

const SHOP: &str = r#"#- pyproject.toml
[project]
name = 'shop'
version = '1.2'
#- shop/__init__.py
from .prices import total
#- shop/prices.py
from __future__ import annotations
import json
import os


def check(item: dict) -> None:
    if item['price'] < 0:
        raise ValueError(f'bad price of {item}')


def total(text: str, rate: float = 1.0) -> int:
    result = 0
    for item in json.loads(text):
        check(item)
        result += item['price']
    return result
#- tests/test_prices.py
import json
import pytest
from shop import total


@pytest.fixture
def text():
    return json.dumps([{'price': 1}, {'price': -1}])


@pytest.mark.parametrize('rate', [1, 2, 3])
def test_total(text, rate):
    assert total(text, rate) == 0


def test_patched(text, monkeypatch):
    monkeypatch.setattr('os.sep', ':')
    assert total(text) == 0


def test_passes():
    assert total('[]') == 0


def test_sum():
    assert total(json.dumps([{'price': 1}, {'price': 2}])) == 4
#- line_value.py
import sys

print('before')


def lines():
    return [sys._getframe().f_lineno]


print('line ' + lines())
#- encode.py
import sys


def main():
    'x'.encode(sys.argv[1])


main()
#- wrong_value.py
from shop import total

assert total('[{"price": 6}]') == 7
#- wrong_exit.py
from shop import total

result = total('[{"price": 6}]')
if result != 7:
    raise SystemExit('wrong result')
#- wrong_sum.py
from shop import total


class Mismatch(Exception):
    pass


def compare(text, limit):
    found = total(text)
    if limit and not found == limit:
        raise Mismatch('the sum is wrong')


compare('[{"price": 6}]', 7)
#- wrapped.py
from shop import total


class LoadError(Exception):
    pass


def load(text):
    try:
        return total(text)
    except Exception as error:
        raise LoadError('cannot load') from error


load('[{"price": -3}]')
#- grouped.py
import sys
from shop import total

errors = []
for text in ['[{"price": -4}]', '[]']:
    try:
        total(text)
    except Exception as error:
        errors.append(error)
raise (ExceptionGroup('failed', errors) if sys.version_info >= (3, 11) else errors[0])
#- main.py
import sys
from shop import total


def main():
    print('before')
    print(total(sys.argv[1]))


if __name__ == '__main__':
    main()
"#;

/// Writes a repro of a command and runs it in an empty directory with nothing but the interpreter; gives the file's
/// text and what Python prints.
#[track_caller]
fn check(options: &[&str], command: &[&str]) -> Option<(String, String)> {
    let python = python()?;
    let user = User::new();
    user.repository("shop", SHOP);
    let args = [&["repro", "shop", "--python", &python], options, &["--"], command].concat();
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("reproduced in 3 of 3 runs: "), "{}", ran.out);
    let text = read(&user.here().join("repro.py"));
    let empty = tempfile::tempdir().unwrap();
    fs::write(empty.path().join("repro.py"), &text).unwrap();
    let alone = Command::new(&python)
        .arg("repro.py")
        .current_dir(empty.path())
        .env_clear()
        .env("HOME", empty.path())
        .env("TERM", "xterm-256color")
        .output()
        .unwrap();
    assert_ne!(alone.status.code(), Some(0), "{text}");
    let printed = [alone.stdout, alone.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    Some((text, printed.join("")))
}

#[test]
fn a_message_in_the_head_declares_no_encoding() {
    let Some((text, printed)) = check(&[], &["python", "encode.py", "acsii"]) else { return };
    assert!(printed.ends_with("LookupError: unknown encoding: acsii\n"), "{printed}");
    assert!(text.starts_with("# -*- coding: utf-8 -*-\n# Expected: LookupError"), "{text}");
}

#[test]
fn a_test_becomes_a_program_without_pytest() {
    let Some((text, printed)) = check(&[], &["pytest", "tests/test_prices.py::test_total"]) else {
        return;
    };
    assert!(printed.ends_with("ValueError: bad price of {'price': -1}\n"), "{printed}");
    let body = text.split("# ///\n\n").nth(1).unwrap();
    assert_eq!(
        body,
        "import json\n\n\ndef check(item):\n    if item['price'] < 0:\n        raise ValueError(f'bad price of {item}')\n\n\ndef total(text):\n    for item in json.loads(text):\n        check(item)\n    raise NotImplementedError(\"left out by gistify: shop/prices.py:16\")\n\n\ndef test_total():\n    text = json.dumps([{'price': 1}, {'price': -1}])\n    assert total(text) == 0\n\n\nif __name__ == \"__main__\":\n    test_total()\n"
    );
    let head = text.split("# ///\n\n").next().unwrap();
    assert!(
        head.starts_with(
            "# Expected: ValueError: bad price of {'price': -1} (shop/prices.py:8)\n# Project:  shop 1.2\n# Source:   content "
        ),
        "{head}"
    );
    assert!(head.contains("# /// script\n# requires-python = \"==3."), "{head}");
    assert!(head.contains("# dependencies = []\n"), "{head}");
}

#[test]
fn of_several_failures_the_first_is_kept_and_another_named() {
    let Some(python) = python() else { return };
    let user = User::new();
    let tests = "def test_one():\n    assert 1 == 2\n\n\ndef test_two():\n    assert 3 == 4\n\n\ndef test_three():\n    assert 5 == 6\n";
    user.repository("small", &format!("#- test_sums.py\n{tests}"));
    let ran =
        user.gistify(&["repro", "small", "--python", &python, "--", "pytest", "test_sums.py"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("the failure of test_two and 1 more"), "{}", ran.out);
    let text = read(&user.here().join("repro.py"));
    assert!(text.contains("test_one") && !text.contains("test_three"), "{text}");
}

#[test]
fn a_failed_assertion_keeps_the_values_that_it_compares() {
    let command = ["pytest", "tests/test_prices.py::test_sum"];
    let Some((text, printed)) = check(&[], &command) else { return };
    assert!(printed.contains("AssertionError"), "{printed}");
    // The message of a plain program is empty: the values show when its own code computes them.
    let python = python().unwrap();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("repro.py"), &text).unwrap();
    let args = ["-m", "pytest", "-q", "repro.py"];
    let run = Command::new(&python).args(args).current_dir(directory.path()).output().unwrap();
    let told = String::from_utf8(run.stdout).unwrap();
    assert!(told.contains("assert 3 == 4"), "{told}{text}");
    assert!(!text.contains("import pytest") && !text.contains("def check"), "{text}");
}

#[test]
fn a_test_that_needs_pytest_runs_pytest_on_itself() {
    let Some((text, printed)) = check(&[], &["pytest", "tests/test_prices.py::test_patched"])
    else {
        return;
    };
    // Without what it patches it would fail alike: the parameter goes.
    assert!(printed.contains("ValueError: bad price of {'price': -1}"), "{printed}");
    assert!(!text.contains("monkeypatch"), "{text}");
}

#[test]
fn values_that_decide_a_failure_stay() {
    // Each of these fails as well without the sum, and with the same message.
    for script in ["wrong_value.py", "wrong_exit.py", "wrong_sum.py"] {
        let Some((text, _)) = check(&[], &["python", script]) else { return };
        assert!(text.contains("result += item['price']"), "{text}");
    }
}

#[test]
fn a_value_with_a_line_number_of_the_file_may_change() {
    let Some((text, printed)) = check(&[], &["python", "line_value.py"]) else { return };
    assert!(printed.contains("can only concatenate str"), "{printed}");
    assert!(!text.contains("before"), "{text}");
}

#[test]
fn what_a_failure_comes_of_and_its_members_stay() {
    for (script, message) in [("wrapped.py", "-3"), ("grouped.py", "-4")] {
        let Some((_, printed)) = check(&[], &["python", script]) else { return };
        let cause = format!("ValueError: bad price of {{'price': {message}}}");
        assert!(printed.contains(&cause), "{printed}");
    }
}

#[test]
fn a_script_keeps_its_arguments() {
    let Some((text, printed)) = check(&[], &["python", "main.py", "[{\"price\": -2}]"]) else {
        return;
    };
    assert!(printed.ends_with("ValueError: bad price of {'price': -2}\n"), "{printed}");
    assert!(text.contains("__import__(\"sys\").argv[1:] = [\"[{\\\"price\\\": -2}]\"]"), "{text}");
    assert!(!text.contains("before"), "{text}");
    let Some((text, printed)) =
        check(&["--same", "output"], &["python", "main.py", "[{\"price\": -2}]"])
    else {
        return;
    };
    assert!(printed.starts_with("before\n") && text.contains("before"), "{printed}{text}");
}

#[test]
fn a_program_decides_what_is_of_interest() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("shop", SHOP);
    let oracle = user.here().join("oracle");
    // It sees a file with the name of the repro, in a directory of its own.
    let script = "#!/bin/sh\npython \"$1\" 2>&1 | grep -q 'ValueError'\n";
    fs::write(&oracle, script).unwrap();
    let run = |force: &str| {
        let command = ["--", "pytest", "tests/test_prices.py::test_total"];
        let args = ["repro", "shop", "--python", &python, "--oracle", "oracle", force];
        user.gistify(&[&args[..], &command[..]].concat())
    };
    let ran = run("-q");
    assert_eq!(
        (ran.code, ran.last_error_line()),
        (2, "gistify: oracle oracle: it is no program (make it executable with chmod +x)")
    );
    fs::set_permissions(&oracle, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ran = run("-q");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    // One that exists stays.
    let ran = run("-q");
    assert_eq!(
        (ran.code, ran.last_error_line()),
        (3, "gistify: output repro.py exists (replace it with --force)")
    );
    assert_eq!(run("--force").code, 0);
}

#[test]
fn a_command_that_passes_has_nothing_to_reproduce() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("shop", SHOP);
    let test = "tests/test_prices.py::test_passes";
    let ran = user.gistify(&["repro", "shop", "--python", &python, "-q", "--", "pytest", test]);
    let message =
        "gistify: the command does not fail (`gistify run` writes the gist of one that passes; ";
    assert_eq!(ran.code, 3);
    assert!(ran.last_error_line().starts_with(message), "{}", ran.err);
    assert!(!user.here().join("repro.py").exists());
}

/// A package that reads a file beside itself, and looks at the terminal.
const LOOKING: &str = "\
#- pkg/__init__.py
import os

PATH = os.path.join(os.path.dirname(__file__), 'table.txt')


def load():
    if os.path.isfile(PATH):
        return dict(line.split('=') for line in open(PATH))
    raise RuntimeError('no table beside the package')


def number(name):
    return int(load()[name])


def width():
    if os.environ.get('TERM') in ('dumb', 'unknown', None):
        return 80
    columns = os.environ.get('COLUMNS', '100')
    return int(columns)


def shorten(text):
    return text[: width() // 20]
#- pkg/table.txt
red=1
#- tests/test_looking.py
from pkg import number, shorten


def test_number():
    assert number('red') == 2


def test_shorten():
    assert shorten('abcdefgh').endswith('...')
";

#[test]
fn a_verdict_names_what_a_gist_needs_alone() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("looking", LOOKING);
    for (test, needs) in
        [("test_number", "pkg/table.txt"), ("test_shorten", "an environment that has no TERM")]
    {
        let test = format!("tests/test_looking.py::{test}");
        let args = ["run", "looking", "--python", &python, "--force", "--", "pytest", &test];
        let ran = user.gistify(&args);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let told = ran.out.lines().find_map(|line| line.strip_prefix("  in an empty directory "));
        let needed = format!("it needs {needs}");
        assert_eq!(told.map(str::trim), Some(needed.as_str()), "{}", ran.out);
    }
}

#[test]
fn a_repro_has_its_data_and_the_ends_that_did_not_run() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("looking", LOOKING);
    for (test, has) in [
        ("test_number", "    raise RuntimeError('no table beside the package')\n"),
        ("test_shorten", "    return int(columns)\n"),
    ] {
        let test = format!("tests/test_looking.py::{test}");
        let args = ["repro", "looking", "--python", &python, "--force", "--", "pytest", &test];
        let ran = user.gistify(&args);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let text = read(&user.here().join("repro.py"));
        assert!(text.contains(has), "{text}");
    }
}

#[test]
fn source_context_does_not_let_a_gist_grow() {
    // No gist prints the lines around the original's error: its own stand there.
    const SHOWING: &str = "\
#- pkg/__init__.py
import sys
from .core import pick
from .show import show
def run(items, n):
    try:
        return pick(items, n)
    except IndexError as error:
        show(error, sys.stderr)
        raise
#- pkg/core.py
def pick(items, n):
    \"\"\"Give one of the items.

    It has many lines.
    \"\"\"
    # The error is about this line.
    return items[n + 1]
#- pkg/show.py
import linecache
def show(error, stream):
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    name = trace.tb_frame.f_code.co_filename
    for n in range(trace.tb_lineno - 2, trace.tb_lineno + 3):
        print(linecache.getline(name, n).rstrip(), file=stream)
#- tests/test_last.py
from pkg import run
def test_last():
    assert run([1, 2], 1) == 2
";
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("showing", SHOWING);
    let ran = user.gistify(&[
        "run",
        "showing",
        "--python",
        &python,
        "--",
        "pytest",
        "tests/test_last.py",
    ]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let gist = read_gist(&user.here().join("concise.py"));
    assert!(gist.lines().count() < 22 && !gist.contains("many lines"), "{gist}");
}

#[test]
fn a_package_is_inlined_with_its_licence() {
    let Some(python) = python() else { return };
    let user = User::new();
    let script = "#- newest.py\nfrom packaging.version import Version\n\n\n\
                  def newest(names):\n    return max(Version(name) for name in names)\n\n\n\
                  print(newest(['1.0', 'two']))\n";
    user.repository("repo", script);
    let run = |more: &[&str]| {
        let args = ["repro", "repo", "--python", &python, "--force"];
        user.gistify(&[&args, more, &["--", "python", "newest.py"]].concat())
    };
    let ran = run(&["--inline", "packaging"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let text = read(&user.here().join("repro.py"));
    assert!(text.contains("class InvalidVersion(ValueError):"), "{text}");
    assert!(text.contains("# dependencies = []\n") && !text.contains("import packaging"), "{text}");
    assert!(text.contains("# Project:  repo with packaging "), "{text}");
    assert!(
        ran.out.contains("has in it   packaging ") && ran.out.contains("LICENSE"),
        "{}",
        ran.out
    );
    let ran = run(&["--inline", "packaging", "--markdown"]);
    assert!(ran.out.contains("Its code is copied from `repo with packaging "), "{}", ran.out);
    assert!(run(&[]).code == 0 && read(&user.here().join("repro.py")).contains("packaging=="));
    super::schemas::validate(&user.here());
}

/// Packages of an environment: one reads its own metadata, one has a compiled module, and two share a directory.
const INSTALLED: &str = "\
#- stamped.py
from importlib.metadata import version


def stamp():
    raise ValueError(version('stamped'))
#- stamped-1.5.dist-info/METADATA
Metadata-Version: 2.1
Name: stamped
Version: 1.5
#- stamped-1.5.dist-info/RECORD
stamped.py,,
stamped-1.5.dist-info/METADATA,,
#- quick/fast.so
#- quick-1.0.dist-info/METADATA
Metadata-Version: 2.1
Name: quick
Version: 1.0
#- quick-1.0.dist-info/RECORD
quick/fast.so,,
#- common/one.py
#- one-1.0.dist-info/METADATA
Metadata-Version: 2.1
Name: one
Version: 1.0
#- one-1.0.dist-info/RECORD
common/one.py,,
#- two-1.0.dist-info/METADATA
Metadata-Version: 2.1
Name: two
Version: 1.0
#- two-1.0.dist-info/RECORD
common/two.py,,
";

#[test]
fn a_package_that_cannot_be_inlined_is_refused() {
    let Some(base) = python() else { return };
    let user = User::new();
    let script = "#- pyproject.toml\n[project]\nname = 'Two'\n#- run.py\nimport stamped\n\nstamped.stamp()\n";
    user.repository("repo", script);
    let place = user.here().join("env");
    let made = Command::new(&base).args(["-m", "venv", "--without-pip"]).arg(&place).status();
    assert!(made.unwrap().success());
    let site = fs::read_dir(place.join("lib")).unwrap().next().unwrap().unwrap().file_name();
    let site = format!("env/lib/{}/site-packages", site.to_string_lossy());
    fs::remove_dir_all(user.here().join(&site)).unwrap();
    user.repository(&site, INSTALLED);
    let python = place.join("bin/python").display().to_string();
    let run = |package: &str, command: &[&str]| {
        let args = ["repro", "repo", "--python", &python, "--inline", package, "--"];
        user.gistify(&[&args, command].concat())
    };
    for (package, reason) in [
        (
            "nothing",
            "HERE/env/bin/python has no such package (install it with `HERE/env/bin/python -m pip install nothing`)",
        ),
        ("run", "it is the repository's own, which is cut anyway"),
        ("quick", "it is not of Python alone (fast.so)"),
        ("one", "it shares common with two"),
        ("two", "it is the repository itself, or installed in place"),
    ] {
        let ran = run(package, &["python", "run.py"]);
        let expected = format!("gistify: inline {package}: {reason}");
        assert_eq!((ran.code, ran.last_error_line()), (3, expected.as_str()));
    }
    // What a failure needs the metadata of is a dependency all the same.
    let ran = run("stamped", &["python", "run.py"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let text = read(&user.here().join("repro.py"));
    assert!(text.contains("\"stamped==1.5\"") && text.contains("raise ValueError"), "{text}");
    assert!(ran.out.contains("it has to be installed as well"), "{}", ran.out);
}
