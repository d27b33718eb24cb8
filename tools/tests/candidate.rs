//! Tests the files of a candidate directory: tiny repositories and traces in, listings out.

use std::{fs, path::Path};

use gistify_tools::{CandidateSpec, Command, GistPlace, Internal, lay_out};
use graph::{FileTrace, Trace};

/// A repository, what a run of a command touched, and the files that a candidate has.
struct Case<'a> {
    command: &'a str,
    /// Relative paths, with a text after `=` where it matters.
    files: &'a [&'a str],
    /// Entries of `sys.path`.
    roots: &'a [&'a str],
    /// Files that ran, each with its module name.
    ran: &'a [(&'a str, &'a str)],
    /// Compiled modules that were loaded, with their files.
    compiled: &'a [(&'a str, &'a str)],
    /// Files that were read.
    data: &'a [&'a str],
    place: GistPlace,
    expected: &'a [&'a str],
    /// The files of the tests, if the case is about them.
    support: Option<&'a [&'a str]>,
}

impl Default for Case<'_> {
    fn default() -> Self {
        Self {
            command: "pytest tests/test_a.py::test_x",
            files: &[],
            roots: &["tests"],
            ran: &[],
            compiled: &[],
            data: &[],
            place: GistPlace::BesideTest,
            expected: &[],
            support: None,
        }
    }
}

fn check(case: &Case<'_>) {
    let directory = tempfile::tempdir().unwrap();
    let (original, into) = (directory.path().join("original"), directory.path().join("candidate"));
    for file in case.files {
        let (path, text) = file.split_once('=').unwrap_or((file, ""));
        let path = original.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let strings = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    let mut files: Vec<FileTrace> = case
        .ran
        .iter()
        .map(|(path, module)| FileTrace {
            path: (*path).to_owned(),
            modules: vec![(*module).to_owned()],
            ..FileTrace::default()
        })
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let pairs = |(name, path): &(&str, &str)| ((*name).to_owned(), (*path).to_owned());
    let trace = Trace {
        files,
        roots: strings(case.roots),
        data: strings(case.data),
        compiled: case.compiled.iter().map(pairs).collect(),
        ..Trace::default()
    };
    let command = Command::parse(case.command).unwrap();
    let internal = Internal::of(&trace, &original, &command).unwrap();
    if let Some(support) = case.support {
        assert!(internal.support.iter().eq(support), "{:?}", internal.support);
    }
    let spec = CandidateSpec {
        original: &original,
        internal: &internal,
        gist: "gist\n",
        place: case.place,
        command: &command,
    };
    let candidate = lay_out(&spec, &into).unwrap();
    assert_eq!(fs::read_to_string(into.join(&candidate.gist)).unwrap(), "gist\n");
    let mut found = Vec::new();
    list(&into, &into, &mut found);
    found.sort();
    assert_eq!(found, case.expected, "{}", case.command);
    assert!(candidate.command.to_string().contains(&candidate.gist));
}

fn list(root: &Path, directory: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(root, &path, found);
        } else {
            found.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
        }
    }
}

#[test]
fn a_package_under_src_goes_whole() {
    check(&Case {
        files: &[
            "src/pkg/__init__.py",
            "src/pkg/used.py",
            "src/pkg/unused.py",
            "src/pkg/py.typed",
            "src/pkg.egg-info/PKG-INFO",
            "tests/test_a.py",
            "tests/test_b.py",
            "tests/conftest.py",
            "tests/helpers.py",
            "tests/data.json",
            "tests/apps/cli/app.py",
            "setup.py",
            "docs/conf.py",
            "pyproject.toml",
        ],
        roots: &["src", "tests"],
        ran: &[
            ("src/pkg/__init__.py", "pkg"),
            ("src/pkg/used.py", "pkg.used"),
            ("tests/test_a.py", "test_a"),
            ("tests/conftest.py", "conftest"),
            ("tests/helpers.py", "helpers"),
            ("tests/apps/cli/app.py", "cli.app"),
        ],
        // What is left of the package cannot be imported: its directory gets an `__init__` that says so.
        expected: &[
            "docs/conf.py",
            "pyproject.toml",
            "setup.py",
            "src/pkg.egg-info/PKG-INFO",
            "src/pkg/__init__.py",
            "src/pkg/py.typed",
            "tests/apps/cli/app.py",
            "tests/concise.py",
            "tests/data.json",
        ],
        ..Case::default()
    });
}

/// Paths may lead through it. Its `__init__.py` makes sure that it cannot be imported.
#[test]
fn a_package_without_data_leaves_its_directory() {
    check(&Case {
        files: &[
            "pkg/__init__.py",
            "pkg/a.py",
            "tests/test_a.py",
            "pkg/__pycache__/a.pyc",
            "pkg/old.pyc",
        ],
        roots: &["", "tests"],
        ran: &[("pkg/__init__.py", "pkg"), ("tests/test_a.py", "test_a")],
        expected: &["pkg/__init__.py", "tests/concise.py"],
        ..Case::default()
    });
}

#[test]
fn a_test_tree_keeps_the_python_files_that_are_data() {
    check(&Case {
        command: "pytest tests/lint/test_a.py::test_x",
        files: &[
            "lib/__init__.py",
            "lib/core.py",
            "tests/__init__.py",
            "tests/lint/__init__.py",
            "tests/lint/test_a.py",
            "tests/lint/helper.py",
            "tests/lint/input/bad_code.py",
            "tests/lint/input/test_read.py",
            "tests/lint/input/test_other.py",
        ],
        roots: &[""],
        ran: &[
            ("lib/__init__.py", "lib"),
            ("tests/__init__.py", "tests"),
            ("tests/lint/__init__.py", "tests.lint"),
            ("tests/lint/test_a.py", "tests.lint.test_a"),
            ("tests/lint/helper.py", "tests.lint.helper"),
        ],
        data: &["tests/lint/input/test_read.py"],
        expected: &[
            "lib/__init__.py",
            "tests/lint/concise.py",
            "tests/lint/input/bad_code.py",
            "tests/lint/input/test_read.py",
        ],
        ..Case::default()
    });
}

#[test]
fn tests_inside_the_only_package_go_with_it_and_extensions_stay() {
    check(&Case {
        command: "pytest pkg/sub/tests/test_a.py::test_x",
        files: &[
            "pkg/__init__.py",
            "pkg/conftest.py",
            "pkg/_fast.cpython-311-x86_64-linux-gnu.so",
            "pkg/sub/__init__.py",
            "pkg/sub/tests/__init__.py",
            "pkg/sub/tests/test_a.py",
            "pkg/sub/data.csv",
            "pkg/other.py",
        ],
        roots: &[""],
        ran: &[
            ("pkg/__init__.py", "pkg"),
            ("pkg/conftest.py", "pkg.conftest"),
            ("pkg/sub/__init__.py", "pkg.sub"),
            ("pkg/sub/tests/__init__.py", "pkg.sub.tests"),
            ("pkg/sub/tests/test_a.py", "pkg.sub.tests.test_a"),
        ],
        compiled: &[("pkg._fast", "pkg/_fast.cpython-311-x86_64-linux-gnu.so")],
        expected: &[
            "pkg/_fast.cpython-311-x86_64-linux-gnu.so",
            "pkg/sub/data.csv",
            "pkg/sub/tests/concise.py",
        ],
        ..Case::default()
    });
}

#[test]
fn a_package_that_keeps_its_tests_inside_is_no_tree_of_tests_beside_another() {
    check(&Case {
        command: "pytest pkg/tests/test_a.py::test_x",
        files: &[
            "other/__init__.py",
            "pkg/__init__.py=import other",
            "pkg/core.py",
            "pkg/tests/__init__.py",
            "pkg/tests/near.py",
            "pkg/tests/test_a.py",
            "pkg/words.txt",
        ],
        roots: &[""],
        ran: &[
            ("other/__init__.py", "other"),
            ("pkg/__init__.py", "pkg"),
            ("pkg/core.py", "pkg.core"),
            ("pkg/tests/__init__.py", "pkg.tests"),
            ("pkg/tests/near.py", "pkg.tests.near"),
            ("pkg/tests/test_a.py", "pkg.tests.test_a"),
        ],
        expected: &["other/__init__.py", "pkg/tests/concise.py", "pkg/words.txt"],
        support: Some(&["pkg/tests/__init__.py", "pkg/tests/near.py", "pkg/tests/test_a.py"]),
        ..Case::default()
    });
}

#[test]
fn single_modules_and_scripts() {
    check(&Case {
        command: "pytest test_a.py::test_x",
        files: &["mod.py", "other.py", "test_a.py", "conftest.py", "notes.txt"],
        roots: &[""],
        ran: &[("mod.py", "mod"), ("test_a.py", "test_a"), ("conftest.py", "conftest")],
        expected: &["concise.py", "notes.txt", "other.py"],
        ..Case::default()
    });
    check(&Case {
        command: "python tools/run.py --fast",
        files: &["tools/run.py", "tools/part.py", "tools/other.py", "tools/child.py", "in.txt"],
        roots: &["tools"],
        ran: &[
            ("tools/run.py", "__main__"),
            ("tools/part.py", "part"),
            // A process of its own that the script starts.
            ("tools/child.py", "__main__"),
        ],
        expected: &["in.txt", "tools/child.py", "tools/other.py", "tools/run.py"],
        ..Case::default()
    });
    check(&Case {
        command: "python -m pkg",
        files: &["src/pkg/__init__.py", "src/pkg/__main__.py", "src/pkg/a.py", "test_z.py"],
        roots: &["", "src"],
        ran: &[("src/pkg/__init__.py", "pkg"), ("src/pkg/__main__.py", "__main__")],
        expected: &["concise.py", "src/pkg/__init__.py"],
        ..Case::default()
    });
}

#[test]
fn the_root_is_a_place_as_well() {
    check(&Case {
        files: &["pkg/__init__.py", "tests/test_a.py", "tests/data.txt"],
        roots: &["", "tests"],
        ran: &[("pkg/__init__.py", "pkg"), ("tests/test_a.py", "test_a")],
        place: GistPlace::Root,
        expected: &["concise.py", "pkg/__init__.py", "tests/data.txt"],
        ..Case::default()
    });
}

#[test]
fn configured_test_modules_go_and_other_configuration_stays() {
    check(&Case {
        command: "pytest checks/check_a.py::test_x",
        files: &[
            "pytest.ini=[pytest]\npython_files = check_*.py\n",
            "checks/check_a.py",
            "checks/check_b.py",
            "checks/plain.py",
            "tox.ini",
        ],
        roots: &["checks"],
        ran: &[("checks/check_a.py", "check_a")],
        expected: &["checks/concise.py", "checks/plain.py", "pytest.ini", "tox.ini"],
        ..Case::default()
    });
}

#[test]
fn links_that_lead_out_do_not_come_along() {
    let directory = tempfile::tempdir().unwrap();
    let original = directory.path().join("original");
    fs::create_dir_all(original.join("tests")).unwrap();
    fs::write(original.join("tests/test_a.py"), "").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", original.join("tests/out")).unwrap();
    std::os::unix::fs::symlink("../../../x", original.join("tests/up")).unwrap();
    std::os::unix::fs::symlink("test_a.py", original.join("tests/in")).unwrap();
    let command = Command::parse("pytest tests/test_a.py::test_x").unwrap();
    let trace = Trace {
        roots: vec!["tests".to_owned()],
        files: vec![FileTrace {
            path: "tests/test_a.py".to_owned(),
            modules: vec!["test_a".to_owned()],
            ..FileTrace::default()
        }],
        ..Trace::default()
    };
    let internal = Internal::of(&trace, &original, &command).unwrap();
    let into = directory.path().join("candidate");
    let spec = CandidateSpec {
        original: &original,
        internal: &internal,
        gist: "",
        place: GistPlace::BesideTest,
        command: &command,
    };
    lay_out(&spec, &into).unwrap();
    assert!(into.join("tests/out").symlink_metadata().is_err());
    assert!(into.join("tests/up").symlink_metadata().is_err());
    assert!(into.join("tests/in").symlink_metadata().unwrap().is_symlink());
}

#[test]
fn what_a_package_keeps_for_tests_belongs_to_them_unless_it_needs_it_itself() {
    let files = [
        "lib/__init__.py=from lib.core import f\n",
        "lib/core.py=def f():\n    from .testing import Client\n",
        "lib/testing.py=class Client: pass\n",
        "lib/_testing.py=def same(): pass\n",
        "lib/tests/near.py=def near(): pass\n",
        "lib/given.py=import pytest\n",
        "lib/later.py=def f():\n    import pytest\n",
        "lib/testimony.py=",
        "testlib/kit.py=",
        "tests/test_a.py=",
    ];
    let ran = [
        ("lib/__init__.py", "lib"),
        ("lib/core.py", "lib.core"),
        ("lib/testing.py", "lib.testing"),
        ("lib/_testing.py", "lib._testing"),
        ("lib/tests/near.py", "lib.tests.near"),
        ("lib/given.py", "lib.given"),
        ("lib/later.py", "lib.later"),
        ("lib/testimony.py", "lib.testimony"),
        ("testlib/kit.py", "testlib.kit"),
        ("tests/test_a.py", "test_a"),
    ];
    check(&Case {
        files: &files,
        roots: &["", "tests"],
        ran: &ran,
        expected: &["lib/__init__.py", "testlib/__init__.py", "tests/concise.py"],
        support: Some(&[
            "lib/_testing.py",
            "lib/given.py",
            "lib/tests/near.py",
            "testlib/kit.py",
            "tests/test_a.py",
        ]),
        ..Case::default()
    });
    // A package that is for tests itself is not all support.
    check(&Case {
        files: &["testlib/__init__.py=", "testlib/kit.py=", "tests/test_a.py="],
        roots: &["", "tests"],
        ran: &[("testlib/kit.py", "testlib.kit"), ("tests/test_a.py", "test_a")],
        expected: &["testlib/__init__.py", "tests/concise.py"],
        support: Some(&["tests/test_a.py"]),
        ..Case::default()
    });
}
