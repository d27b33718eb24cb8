//! The program as a user meets it: real runs on small repositories, and everything that can be wrong
//! with what is given to it, each with its message and exit code.

// The interpreters are those that the tools are tested with.
extern crate tools as gistify_tools;

mod answering;
mod asking;
mod bad_input;
mod benching;
mod browser;
mod collecting;
mod completing;
mod confined;
mod copies;
mod each;
mod ends;
mod exchanges;
mod externals;
mod finding;
mod fixing;
mod importing;
mod interchange;
mod interrupt;
mod limits;
mod medals;
mod outside;
#[path = "../outcomes/packages.rs"]
mod packages;
mod pages;
#[path = "../../../tools/tests/observe/pythons.rs"]
mod pythons;
mod reader;
mod reports;
mod repro;
mod resolving;
mod scaffolds;
mod schemas;
#[path = "../providers/server.rs"]
#[allow(dead_code, reason = "some of what it does is for other tests")]
mod server;
mod sharing;
mod tool_replies;
mod units;
mod versions;
mod whole;
mod why;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// A user with a home of their own, and a directory to be in.
struct User {
    home: tempfile::TempDir,
}

impl User {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        for name in ["here", "tmp"] {
            fs::create_dir(home.path().join(name)).unwrap();
        }
        Self { home }
    }

    /// The directory that commands are run in.
    fn here(&self) -> PathBuf {
        self.home.path().join("here")
    }

    /// Writes files from one text, each after a line `#- path`, into a new directory below `here`.
    fn repository(&self, name: &str, text: &str) -> PathBuf {
        let root = self.here().join(name);
        fs::create_dir(&root).unwrap();
        for part in text.split("#- ").skip(1) {
            let (path, contents) = part.split_once('\n').unwrap();
            let path = root.join(path.trim());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
        root
    }

    /// The program, with nothing of the real user's in reach.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gistify"));
        command
            .args(args)
            .current_dir(self.here())
            .env_clear()
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path().join("tmp"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null());
        command
    }

    fn gistify(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap(), self)
    }

    /// Returns the files that runs left in the directory for temporary files, without their own
    /// empty directory.
    fn leftovers(&self) -> Vec<PathBuf> {
        let roofs = fs::read_dir(self.home.path().join("tmp")).unwrap();
        let below = roofs.flat_map(|roof| fs::read_dir(roof.unwrap().path()).unwrap());
        below.map(|entry| entry.unwrap().path()).collect()
    }

    /// The record of the only run.
    fn record(&self) -> PathBuf {
        let runs = fs::read_dir(self.home.path().join(".local/state/gistify/runs")).unwrap();
        let runs: Vec<_> = runs.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            packages::validate(self.home.path());
        }
    }
}

/// The result of the program.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: Output, user: &User) -> Self {
        // Where the user is differs from run to run.
        let text = |bytes| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(&*user.here().to_string_lossy(), "HERE")
        };
        let code = output.status.code().expect("ends by itself");
        Self { code, out: text(output.stdout), err: text(output.stderr) }
    }

    /// The last line on standard error, where failures are told.
    fn last_error_line(&self) -> &str {
        self.err.lines().last().unwrap_or_default()
    }
}

/// A repository with a function, a test of it, and much that the test does not need.
const SMALL: &str = "\
#- calc/__init__.py
from .numbers import double, halve
from .words import shout
#- calc/numbers.py
FACTOR = 2


def double(value):
    if value is None:
        return None
    return value * FACTOR


def halve(value):
    return value / FACTOR
#- calc/words.py
def shout(text):
    return text.upper()
#- tests/test_numbers.py
import pytest

from calc import double


@pytest.mark.parametrize('value', [1, 2])
def test_double(value):
    print('doubling')
    assert double(value) == value * 2


def test_fails():
    assert double(3) == 7, 'seven'
";

/// A gist of its test as a careful model would write it.
const GIST_OF_SMALL: &str = "\
import pytest

FACTOR = 2


def double(value):
    return value * FACTOR


@pytest.mark.parametrize('value', [1, 2])
def test_double(value):
    print('doubling')
    assert double(value) == value * 2
";

/// An interpreter with pytest, or `None` with a printed reason.
fn python() -> Option<String> {
    let found = [11, 12, 13, 10, 9].into_iter().find_map(pythons::environment)?;
    Some(found.python.to_string_lossy().into_owned())
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of a gist that the program wrote, without the comment at its end.
fn read_gist(path: &Path) -> String {
    gistify_tools::without_mark(&read(path)).to_owned()
}
