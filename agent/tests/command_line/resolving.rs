//! `gistify issues build` and `gistify issues eval`: rows from two releases of a package, and patches of every class judged
//! by the tests of a row.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    Ran, User,
    fixing::{MODEL, analyze, assert_refused, call, edit, git},
    python, read,
    sharing::Serving,
};

/// A package with an issue, and its tests as they were.
const PACKAGE: &str = "\
#- pkg/__init__.py
def halve(value):
    return value // 2


def double(value):
    return value * 2
#- tests/test_double.py
from pkg import double


class TestDouble:
    def test_two(self):
        assert double(2) == 4


def test_three():
    assert double(3) == 6
#- tests/test_halve.py
from pkg import halve


def test_four():
    assert halve(4) == 2
";

const GOLD: &str = "\
--- a/pkg/__init__.py
+++ b/pkg/__init__.py
@@ -1,3 +1,3 @@
 def halve(value):
-    return value // 2
+    return value / 2
 
";

const TESTS: &str = "\
--- a/tests/test_halve.py
+++ b/tests/test_halve.py
@@ -5,1 +5,5 @@
     assert halve(4) == 2
+
+
+def test_three():
+    assert halve(3) == 1.5
";

/// A user with the row of the issue and a clone.
fn with_row() -> (User, Value) {
    let user = User::new();
    user.repository("repo", PACKAGE);
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "one"]] {
        git(&user, arguments);
    }
    let row = json!({
        "instance_id": "own__repo-1",
        "repo": "own/repo",
        "base_commit": git(&user, &["rev-parse", "HEAD"]).trim(),
        "problem_statement": "halve(3) is 1",
        "patch": GOLD,
        "test_patch": TESTS,
        "FAIL_TO_PASS": "[\"tests/test_halve.py::test_three\"]",
        "PASS_TO_PASS": [
            "tests/test_double.py::TestDouble::test_two",
            "tests/test_double.py::test_three",
            "tests/test_halve.py::test_four",
        ],
    });
    (user, row)
}

fn write_rows(user: &User, name: &str, rows: &[Value]) {
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    fs::write(user.here().join(name), text).unwrap();
}

fn eval(user: &User, python: &str, more: &[&str]) -> Ran {
    let args = ["issues", "eval", "rows.jsonl", "--repositories", ".", "--format", "csv"];
    user.gistify(&[&args[..], &["--python", python], more].concat())
}

#[test]
fn every_class_of_patch_is_told_apart() {
    let Some(python) = python() else { return };
    let (user, row) = with_row();
    write_rows(&user, "rows.jsonl", &[row]);
    let with = |patch: &str, from: &str, to: &str| {
        assert!(patch.contains(from), "{from}");
        patch.replace(from, to)
    };
    let head = "--- a/pkg/__init__.py\n+++ b/pkg/__init__.py\n";
    let link = "diff --git a/up b/up\nnew file mode 120000\n--- /dev/null\n+++ b/up\n@@ -0,0 +1 @@\n+/tmp\n\\ No newline at end of file\n";
    let removed = |path: &str, text: &str| {
        let lines: Vec<String> = text.lines().map(|line| format!("-{line}\n")).collect();
        let (count, lines) = (lines.len(), lines.concat());
        format!("--- a/{path}\n+++ /dev/null\n@@ -1,{count} +0,0 @@\n{lines}")
    };
    let file = |name: &str| read(&user.here().join("repo/tests").join(name));
    let patches = [
        ("resolved", GOLD.to_owned()),
        ("not resolved", with(GOLD, "+    return value / 2", "+    return value // 3")),
        (
            "breaks tests",
            format!(
                "{head}@@ -1,6 +1,6 @@\n def halve(value):\n-    return value // 2\n+    return value / 2\n \n \n def \
                 double(value):\n-    return value * 2\n+    return value * 3\n"
            ),
        ),
        ("timed out", with(GOLD, "+    return value / 2", "+    while True: pass")),
        ("empty", String::new()),
        ("malformed", "Divide by two.\n".to_owned()),
        ("outside", "--- /dev/null\n+++ b/../x.py\n@@ -0,0 +1 @@\n+x\n".to_owned()),
        ("does not apply", with(GOLD, "-    return value // 2", "-    return value % 2")),
        ("removes tests", format!("{GOLD}{}", removed("tests/test_double.py", &file("test_double.py")))),
        (
            "removes tests",
            format!("{GOLD}--- a/tests/test_double.py\n+++ b/tests/test_double.py\n@@ -7,4 +7,2 @@\n \n \n-def test_three():\n-    assert double(3) == 6\n"),
        ),
        // The tests are the row's own, whatever a patch does to them, and pytest is told nothing by it.
        (
            "not resolved",
            "--- a/tests/test_halve.py\n+++ b/tests/test_halve.py\n@@ -5,1 +5,5 @@\n     assert halve(4) == 2\n+\n+\n+def test_three():\n+    pass\n"
                .to_owned(),
        ),
        (
            "not resolved",
            "--- /dev/null\n+++ b/conftest.py\n@@ -0,0 +1,3 @@\n+import pkg\n+\n+pkg.halve = lambda value: value / 2\n".to_owned(),
        ),
        ("resolved", format!("{GOLD}{link}")),
        // A directory in the place of a file of the tests, and a link in the place of one.
        (
            "removes tests",
            format!(
                "{GOLD}{}--- /dev/null\n+++ b/tests/test_double.py/x.py\n@@ -0,0 +1 @@\n+x = 1\n",
                removed("tests/test_double.py", &file("test_double.py"))
            ),
        ),
        (
            "resolved",
            format!(
                "{GOLD}--- /dev/null\n+++ b/pytest.ini/x.py\n@@ -0,0 +1 @@\n+x = 1\n"
            ),
        ),
    ];
    let predictions: Vec<Value> = patches
        .iter()
        .enumerate()
        .map(|(at, (_, patch))| {
            json!({
                "instance_id": "own__repo-1",
                "model_name_or_path": format!("{at:02}"),
                "model_patch": patch,
            })
        })
        .collect();
    write_rows(&user, "predictions.jsonl", &predictions);
    let more = ["predictions.jsonl", "-o", "verdicts.jsonl"];
    let limit = ["--set", "command.seconds=20"];
    let ran = eval(&user, &python, &[&more[..], &limit].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for (at, (class, patch)) in patches.iter().enumerate() {
        assert!(ran.out.contains(&format!("\n{at:02},{class},1")), "{class}: {patch}\n{}", ran.out);
    }
    assert!(ran.out.contains("\n00,1,1,100.00,100.00,100.00,"), "{}", ran.out);
    assert!(ran.out.contains("\n10,1,0,0.00,0.00,0.00,"), "{}", ran.out);
    let verdicts = read(&user.here().join("verdicts.jsonl"));
    let broken: Value = serde_json::from_str(verdicts.lines().nth(2).unwrap()).unwrap();
    assert_eq!(broken["fail_to_pass"], json!({ "passed": 1, "all": 1 }));
    assert_eq!(broken["pass_to_pass"], json!({ "passed": 1, "all": 3 }));
    assert_eq!(git(&user, &["status", "--porcelain"]), "");
    assert!(user.leftovers().is_empty(), "{:?}", user.leftovers());
}

#[test]
fn rows_and_predictions_that_fit_nothing_are_told() {
    let Some(python) = python() else { return };
    let (user, row) = with_row();
    let with = |id: &str, key: &str, value: Value| {
        let mut row = row.clone();
        row["instance_id"] = json!(id);
        row[key] = value;
        row
    };
    let rows = [
        row.clone(),
        with("own__repo-2", "FAIL_TO_PASS", json!("[]")),
        with("own__repo-3", "FAIL_TO_PASS", json!(["test_x (app.tests.TestX)"])),
        with("own__repo-4", "repo", json!("own/gone")),
        with("own__repo-5", "test_patch", json!(TESTS.replace("halve(4)", "halve(5)"))),
        with("own__repo-6", "FAIL_TO_PASS", json!("no list")),
        json!({ "instance_id": "own__repo-7" }),
    ];
    write_rows(&user, "rows.jsonl", &rows);
    let prediction = |id: &str, model: &str| json!({ "instance_id": id, "model_name_or_path": model, "model_patch": GOLD });
    let rows = [prediction("own__repo-9", "m"), prediction("own__repo-2", "m"), json!({})];
    write_rows(&user, "predictions.jsonl", &rows);
    let ran = eval(&user, &python, &["gold", "predictions.jsonl"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for part in [
        "\ngold,1,1,100.00,100.00,100.00,",
        "\nm,2,0,0.00,0.00,0.00,",
        "\ngold,no tests,2",
        "\ngold,failed,2",
        "\nm,no prediction,2",
        "\nm,no tests,2",
        "\nm,failed,1",
        "\nrows.jsonl,\"a list of tests: it is no JSON",
        "\nrows.jsonl,missing field `repo`,7",
        "\npredictions.jsonl,missing field `instance_id`,3",
    ] {
        assert!(ran.out.contains(part), "{part}: {}{}", ran.out, ran.err);
    }
    for part in [
        "no clone of own/gone in .",
        "its test_patch: does not apply",
        "there is no row own__repo-9 (left out)",
        "predictions.jsonl:3: left out: missing field `instance_id`",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    fs::write(user.here().join("none.jsonl"), "\n{}\n").unwrap();
    let ran = eval(&user, &python, &["none.jsonl"]);
    assert_refused(&ran, 3, "read predictions none.jsonl: line 2: missing field `instance_id`");
}

#[test]
fn task_directories_are_rows() {
    let Some(python) = python() else { return };
    let (user, row) = with_row();
    let place = |path: &str| user.here().join("tasks/tasks").join(path);
    for name in ["own__repo-1", "own__repo-2"] {
        fs::create_dir_all(place(name)).unwrap();
        let commit = row["base_commit"].as_str().unwrap();
        let facts = format!(
            "instance_id: {name}\nrepo: own/repo\nbase_commit: \"{commit}\"\nversion: '1'\n"
        );
        fs::write(place(name).join("task.yaml"), facts).unwrap();
    }
    let write = |name: &str, text: &str| fs::write(place("own__repo-1").join(name), text).unwrap();
    write("problem_statement.md", "halve(3) is 1\n");
    write("gold.patch", GOLD);
    write("test.patch", TESTS);
    let tests = json!({
        "FAIL_TO_PASS": ["tests/test_halve.py::test_three"], "PASS_TO_PASS": row["PASS_TO_PASS"],
    });
    write("tests.json", &tests.to_string());
    let args = ["issues", "eval", "tasks", "gold", "--repositories", ".", "--format", "csv"];
    let ran = user.gistify(&[&args[..], &["--python", &python]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("\ngold,1,1,100.00,100.00,100.00,"), "{}{}", ran.out, ran.err);
    let lacking = "\ntasks,own__repo-2: missing field `problem_statement`,2";
    assert!(ran.out.contains(lacking), "{}", ran.out);
    fs::create_dir(user.here().join("empty")).unwrap();
    let ran = user.gistify(&["issues", "eval", "empty", "gold"]);
    assert_refused(&ran, 3, "read rows empty: it has no task.yaml");
}

#[test]
fn contexts_are_compared_in_one_table() {
    let Some(python) = python() else { return };
    let (user, row) = with_row();
    let mut without = row.clone();
    without["instance_id"] = json!("own__repo-2");
    without["FAIL_TO_PASS"] = json!([]);
    write_rows(&user, "rows.jsonl", &[row, without]);
    let edits = json!([{ "first": 2, "last": 2, "text": "    return value / 2" }]);
    let answers = json!([
        [
            analyze("It divides by //.", true),
            call("solve", json!({ "diff": GOLD })),
            call("request", json!({ "files": ["pkg/__init__.py"] })),
        ],
        [edit("pkg/__init__.py", edits)],
    ]);
    fs::write(user.here().join("script.json"), answers.to_string()).unwrap();
    fs::write(user.here().join("model.py"), MODEL).unwrap();
    let model = format!("command/{python} model.py script.json");
    let args = ["issues", "solve", "rows.jsonl", "--each-context", "--eval", "-o", "out"];
    let more = ["--repositories", ".", "--format", "csv", "--python", &python, "-m", &model];
    let args = [&args[..], &more].concat();
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let solver = format!("chain-of-context {model}");
    for context in ["gist", "map", "none"] {
        let line = format!("\n{solver} {context},1,1,100.00,100.00,100.00,");
        assert!(ran.out.contains(&line), "{}{}", ran.out, ran.err);
        let gist = user.here().join("out").join(context).join("own__repo-1/gist.jsonl");
        assert_eq!(gist.exists(), context == "gist");
    }
    // A row without a failing test has no gist to tell, and no test that says if it is resolved.
    assert!(ran.err.contains("no failing test: FAIL_TO_PASS is empty"), "{}", ran.err);
    assert!(ran.out.contains(&format!("\n{solver} gist,no tests,1")), "{}", ran.out);
    let gist = read(&user.here().join("out/gist/own__repo-1/trajectory.jsonl"));
    assert!(gist.contains("def test_three") && !gist.contains("TestDouble"), "{gist}");
    let none = read(&user.here().join("out/none/own__repo-1/trajectory.jsonl"));
    assert!(!none.contains("def test_three"), "{none}");
    assert_eq!(git(&user, &["status", "--porcelain"]), "");
    // A second run judges what is there, and solves the row that could not be tried.
    let again = user.gistify(&args);
    assert_eq!((again.code, &again.out), (0, &ran.out), "{}", again.err);
    assert!(again.err.contains("0 solved now, 2 before"), "{}", again.err);
    let judged = ["issues", "eval", "rows.jsonl", "out/map", "--repositories", "."];
    let ran = user.gistify(&[&judged[..], &["--python", &python, "--format", "csv"]].concat());
    assert!(ran.out.contains(&format!("\n{solver} map,1,1,100.00,")), "{}{}", ran.out, ran.err);
    assert!(user.leftovers().is_empty(), "{:?}", user.leftovers());
}

/// Serves two releases of a package, and prints the port and the checksums.
const INDEX: &str = "\
import functools, hashlib, http.server, io, os, sys, tarfile

os.makedirs('simple/pkg')
page, sums = '', []
for version, sign, more in [('1.0', '//', ''), ('1.1', '/', '\\n\\ndef test_three():\\n    assert halve(3) == 1.5\\n')]:
    name = f'pkg-{version}.tar.gz'
    files = {
        'PKG-INFO': f'Metadata-Version: 2.1\\nName: pkg\\nVersion: {version}\\nLicense: MIT\\n',
        'pkg.py': f'def halve(value):\\n    return value {sign} 2\\n',
        'tests/test_halve.py': 'from pkg import halve\\n\\n\\ndef test_four():\\n    assert halve(4) == 2\\n' + more,
    }
    with tarfile.open(f'simple/pkg/{name}', 'w:gz') as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f'pkg-{version}/{path}')
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    sums.append(hashlib.sha256(open(f'simple/pkg/{name}', 'rb').read()).hexdigest())
    page += f'<a href=\"{name}\">{name}</a>\\n'
open('simple/pkg/index.html', 'w').write(page)
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=os.getcwd())
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
print(server.server_port, *sums, flush=True)
server.serve_forever()
";

const SUITE: &str = r#"
python = "3.12"
lock = "lock.txt"

[[issue]]
id = "pypi__pkg-1.0"
package = "pkg"
licence = "MIT"
before = { version = "1.0", artifact = "pkg-1.0.tar.gz", sha256 = "BEFORE" }
after = { version = "1.1", artifact = "pkg-1.1.tar.gz", sha256 = "AFTER" }
patch = ["pkg.py"]
tests = ["tests/test_halve.py"]
fail_to_pass = ["tests/test_halve.py::test_three"]
pass_to_pass = 1
problem_statement = "halve(3) is 1"
"#;

#[test]
fn rows_are_made_from_two_releases() {
    let Some(python) = python() else { return };
    let user = User::new();
    let directory = tempfile::tempdir().unwrap();
    let mut serving = Command::new(&python);
    serving.args(["-c", INDEX]).current_dir(directory.path());
    let child = serving.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut serving = Serving(child);
    let mut line = String::new();
    BufReader::new(serving.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let index = format!("http://127.0.0.1:{}/simple", words[0]);
    let suite = SUITE.replace("BEFORE", words[1]).replace("AFTER", words[2]);
    fs::write(user.here().join("suite.toml"), &suite).unwrap();
    fs::write(user.here().join("lock.txt"), "pytest==8.4.2\n").unwrap();
    let gistify = |args: &[&str]| {
        let mut command = user.command(&[args, &["--python", &python, "--format", "csv"]].concat());
        Ran::of(command.env("PIP_INDEX_URL", &index).output().unwrap(), &user)
    };
    let build = ["issues", "build", "suite.toml", "-o", "rows.jsonl"];
    let ran = gistify(&build);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("\npypi__pkg-1.0,1.1,MIT,good,1,2,1,1"), "{}", ran.out);
    let row: Value = serde_json::from_str(&read(&user.here().join("rows.jsonl"))).unwrap();
    assert_eq!(row["FAIL_TO_PASS"], json!("[\"tests/test_halve.py::test_three\"]"));
    assert_eq!(row["release"]["requirements"], json!("pytest==8.4.2\n"));
    assert!(row["patch"].as_str().unwrap().contains("+    return value / 2\n"), "{row}");
    assert_refused(&gistify(&build), 3, "output rows.jsonl exists");
    let ran = gistify(&["issues", "eval", "rows.jsonl", "gold"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("\ngold,1,1,100.00,100.00,100.00,"), "{}{}", ran.out, ran.err);
    // A suite that says something else than the runs makes no row.
    let again = [&build[..], &["--force"]].concat();
    for (from, to, told) in [
        ("test_three\"", "test_four\"", "fail_to_pass is [\"tests/test_halve.py::test_three\"]"),
        ("pass_to_pass = 1", "pass_to_pass = 2", "pass_to_pass is 1, not 2"),
        ("patch = [\"pkg.py\"]", "patch = [\"gone.py\"]", "gone.py"),
        (words[2], words[1], "its sha256 is"),
    ] {
        fs::write(user.here().join("suite.toml"), suite.replace(from, to)).unwrap();
        let ran = gistify(&again);
        assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    for (from, to, told) in [
        ("[\"pkg.py\"]", "[\"../pkg.py\"]", "patch \"../pkg.py\" leads outside"),
        ("[\"pkg.py\"]", "[]", "patch \"\" names no file"),
        ("licence", "license", "unknown field `license`"),
    ] {
        fs::write(user.here().join("suite.toml"), suite.replace(from, to)).unwrap();
        let ran = gistify(&again);
        assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    assert_refused(&gistify(&["issues", "build", "none", "-o", "x"]), 2, "no suite \"none\"");
}
