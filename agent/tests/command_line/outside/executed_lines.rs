//! Compares the lines of our traces with those that coverage.py records in runs of its own, on a real package.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::Value;

use super::*;

/// A small package whose release has its tests.
const PACKAGE: &str = "pypi:sqlparse==0.5.5";
const TESTS: [&str; 3] = [
    "tests/test_tokenize.py::test_tokenize_simple",
    "tests/test_format.py::TestFormat::test_keywordcase",
    "tests/test_split.py::test_split_semicolon",
];
const COVERAGE: &str = "coverage==7.17.5";

/// Prints the lines of each file in a file of data, as coverage.py recorded them.
const LINES: &str = "
import json, os, sys
from coverage import CoverageData
data = CoverageData(sys.argv[1])
data.read()
root = os.getcwd() + os.sep
paths = [path for path in data.measured_files() if path.startswith(root)]
print(json.dumps({path[len(root):]: sorted(data.lines(path)) for path in paths}))
";

type LinesOfFiles = BTreeMap<String, Vec<u64>>;

/// The only entry of a kind in a cache.
fn entry(cache: &Path, kind: &str) -> PathBuf {
    let entries = fs::read_dir(cache.join(kind)).unwrap().flatten();
    let contents = entries.map(|entry| entry.path().join("content")).filter(|path| path.is_dir());
    contents.last().unwrap()
}

/// Runs a program to its end, and returns what it prints.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The executed lines of each file in a trace.
fn traced(trace: &Value) -> LinesOfFiles {
    let files = trace["files"].as_array().unwrap().iter();
    let lines = |file: &Value, key: &str| {
        let lines = file[key].as_array().unwrap().iter();
        lines.map(|line| line.as_u64().unwrap()).collect::<Vec<_>>()
    };
    files
        .map(|file| {
            let mut all = [lines(file, "import_lines"), lines(file, "test_lines")].concat();
            all.sort_unstable();
            all.dedup();
            (file["path"].as_str().unwrap().to_owned(), all)
        })
        .collect()
}

#[test]
fn traced_lines_are_those_of_coverage() {
    let Some(installer) = packages() else { return };
    let user = User::new();
    let (cache, tool) = (user.home.path().join("cache"), user.here().join("coverage"));
    // The wheel without compiled parts serves any interpreter.
    let mut install = Command::new(installer);
    install.args(["-m", "pip", "install", "-q", "--no-deps", "--only-binary=:all:"]);
    install.args(["--platform", "any", "--target"]).arg(&tool).arg(COVERAGE);
    if !install.status().unwrap().success() {
        eprintln!("skipped: {COVERAGE} cannot be installed");
        return;
    }
    let setting = format!("environment.cache={}", cache.display());
    for test in TESTS {
        let args = ["trace", PACKAGE, "--set", &setting, "--json", "--", "pytest", test];
        let ran = user.gistify(&args);
        assert_eq!(ran.code, 0, "{test}: {}", ran.err);
        let ours = traced(&serde_json::from_str(&ran.out).unwrap());
        let root = entry(&cache, "repositories");
        let root = fs::read_dir(root).unwrap().flatten().next().unwrap().path();
        let python = entry(&cache, "environments").join("venv/bin/python");
        let run = |args: &[&str]| {
            let mut command = Command::new(&python);
            command.args(args).current_dir(&root).env("PYTHONDONTWRITEBYTECODE", "1");
            // The tracer in Python is the one that all interpreters have.
            command.env("COVERAGE_CORE", "pytrace").env("PYTHONPATH", &tool);
            output(&mut command)
        };
        let data = user.here().join("lines.coverage");
        let data = data.to_str().unwrap();
        let file = format!("--data-file={data}");
        let cover = ["-m", "coverage", "run", "--rcfile=/dev/null", &file, "--source=."];
        let pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", test];
        run(&[&cover[..], &pytest].concat());
        let theirs: LinesOfFiles = serde_json::from_str(&run(&["-c", LINES, data])).unwrap();
        assert!(ours.len() > 10, "{test}: {}", ours.len());
        for (path, lines) in &ours {
            assert_eq!(Some(lines), theirs.get(path), "{test}: {path}");
        }
        // Files that nothing was executed of are known to coverage.py alone.
        let others =
            theirs.iter().filter(|(path, lines)| !lines.is_empty() && !ours.contains_key(*path));
        assert_eq!(others.count(), 0, "{test}");
    }
}
