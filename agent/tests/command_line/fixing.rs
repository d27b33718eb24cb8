//! `gistify fix`: from an issue to a patch that git accepts, with a scripted model in the place of a real one, and
//! everything that can be wrong with an issue, an answer or a true patch.

use serde_json::{Value, json};

use super::{Ran, User, python, read};

/// A package with a wrong function and a wrong constant.
const PACKAGE: &str = "\
#- pkg/__init__.py
from .numbers import halve
#- pkg/limits.py
LOWEST = 1
HIGHEST = 10
#- pkg/numbers.py
from .limits import HIGHEST


def double(value):
    return value * 2


def halve(value):
    if value > HIGHEST:
        raise ValueError(value)
    return value // 2
#- tests/test_halve.py
from pkg import halve


def test_halve():
    assert halve(3) == 1.5
";

const ISSUE: &str = "# halve(3) is 1\n\nIt should be 1.5, and halve(11) should not fail.\n";

/// The true patch, as a person writes it.
const GOLD: &str = "\
--- a/pkg/limits.py
+++ b/pkg/limits.py
@@ -2 +2 @@
-HIGHEST = 10
+HIGHEST = 100
--- a/pkg/numbers.py
+++ b/pkg/numbers.py
@@ -10,2 +10,2 @@
         raise ValueError(value)
-    return value // 2
+    return value / 2
";

/// Plays one answer after the other.
pub(super) const MODEL: &str = "\
import json, sys
request = json.load(sys.stdin)
script = json.load(open(sys.argv[1]))
step = sum(message['role'] == 'assistant' for message in request['messages'])
if step == 0:
    json.dump(request, open('first.json', 'w'))
print(json.dumps({'calls': script[step]}))
";

pub(super) fn call(tool: &str, arguments: Value) -> Value {
    json!({ "tool": tool, "arguments": arguments })
}

pub(super) fn analyze(text: &str, enough: bool) -> Value {
    call("analyze", json!({ "sub_task": text, "enough": enough }))
}

fn retrieve(kind: &str, name: &str) -> Value {
    call("retrieve", json!({ "kind": kind, "name": name }))
}

fn verify(relevant: bool) -> Value {
    call("verify", json!({ "relevant": relevant }))
}

pub(super) fn edit(path: &str, edits: Value) -> Value {
    call("edit_file", json!({ "path": path, "edits": edits }))
}

/// Git in a directory, with a user of its own.
pub(super) fn git(user: &User, arguments: &[&str]) -> String {
    let settings = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
    let output = std::process::Command::new("git")
        .args(settings)
        .args(arguments)
        .current_dir(user.here().join("repo"))
        .env("HOME", user.home.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A user with a git repository, whose newest commit differs from the tag `reported`, and an issue.
fn reporting() -> User {
    let user = User::new();
    let root = user.repository("repo", PACKAGE);
    git(&user, &["init", "-q"]);
    git(&user, &["add", "-A"]);
    git(&user, &["commit", "-qm", "one"]);
    git(&user, &["tag", "reported"]);
    std::fs::write(root.join("pkg/numbers.py"), "newer = True\n").unwrap();
    git(&user, &["commit", "-qam", "two"]);
    std::fs::write(user.here().join("issue.md"), ISSUE).unwrap();
    std::fs::write(user.here().join("gold.patch"), GOLD).unwrap();
    std::fs::write(user.here().join("model.py"), MODEL).unwrap();
    user
}

/// Solves the issue with these answers.
fn fix(user: &User, python: &str, answers: &Value, more: &[&str]) -> Ran {
    std::fs::write(user.here().join("script.json"), answers.to_string()).unwrap();
    let model = format!("command/{python} model.py script.json");
    let args =
        ["-q", "fix", "repo@reported", "--issue", "issue.md", "-m", &model, "--python", python];
    user.gistify(&[&args[..], more].concat())
}

/// The answers of a model that solves the issue.
fn solving() -> Value {
    json!([
        [verify(true), call("solve", json!({ "diff": GOLD })), analyze("where halve is", false)],
        [retrieve("function", "numbers.halves"), analyze("too early", true)],
        [verify(true), analyze("where the limit is", false), retrieve("file", "pkg/limits.py")],
        [verify(true), analyze("double is like it", false), retrieve("function", "double")],
        [verify(false), analyze("It divides by //, and the limit is too low.", true)],
        [retrieve("function", "double"), call("request", json!({ "files": ["pkg/limits.py"] }))],
        [call("solve", json!({ "diff": "Divide." }))],
        [call("solve", json!({ "diff": GOLD.replace("-10,2 +10,2", "-1,9 +1,9") }))],
        [call("request", json!({ "files": ["../outside.py"] }))],
        [call("request", json!({ "files": ["pkg/limits.py", "pkg/numbers.py", "pkg/new.py"] }))],
        [edit("pkg/numbers.py", json!([]))],
        [edit("pkg/limits.py", json!([{ "first": 2, "last": 2, "text": "HIGHEST = 100" }]))],
        [call("edit_file", json!({ "path": "pkg/numbers.py", "first": 8, "last": 11 }))],
        [edit("pkg/numbers.py", json!([{ "first": 11, "last": 11, "text": "    return (value" }]))],
        [edit(
            "pkg/numbers.py",
            json!([
                { "first": 11, "last": 11, "text": "    return value / 2" },
                { "first": 1, "last": 0, "text": "'''Numbers.'''\n\n" },
            ])
        )],
        [edit("pkg/new.py", json!([{ "first": 1, "last": 0, "text": "x = 1" }]))],
    ])
}

#[test]
fn an_issue_becomes_a_patch_that_git_accepts() {
    let Some(python) = python() else { return };
    let user = reporting();
    let before =
        git(&user, &["status", "--porcelain", "--ignored"]) + &git(&user, &["stash", "list"]);
    let more = ["--gold", "gold.patch", "--run-dir", "run", "--json"];
    let ran = fix(&user, &python, &solving(), &more);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let fixed = &told["fix"];
    assert_eq!(fixed["class"], "applies");
    assert_eq!(fixed["files"], json!(["pkg/limits.py", "pkg/new.py", "pkg/numbers.py"]));
    // The diff of SOLVE has wrong counts; the edits do not depend on it.
    assert_eq!(fixed["solution"]["class"], "malformed", "{fixed}");
    assert_eq!(fixed["root_cause"], "It divides by //, and the limit is too low.");
    let location = &fixed["location"];
    assert_eq!((&location["file"], &location["line"]), (&json!(true), &json!(true)), "{location}");
    assert_eq!(location["lines"], 2);
    let kept: Value = serde_json::from_str(&read(&user.here().join("run/fix.json"))).unwrap();
    assert_eq!(&kept, fixed);
    let patch = user.here().join("fix.patch");
    assert_eq!(read(&patch), read(&user.here().join("run/fix.patch")));
    // The clone is as it was, and takes the patch at the commit that was named.
    let after =
        git(&user, &["status", "--porcelain", "--ignored"]) + &git(&user, &["stash", "list"]);
    assert_eq!(before, after);
    git(&user, &["checkout", "-q", "reported"]);
    git(&user, &["apply", "--check", "../fix.patch"]);
    git(&user, &["apply", "../fix.patch"]);
    let numbers = read(&user.here().join("repo/pkg/numbers.py"));
    assert!(numbers.starts_with("'''Numbers.'''\n\nfrom .limits"), "{numbers}");
    assert!(numbers.ends_with("    return value / 2\n"), "{numbers}");
    let trajectory = read(&user.here().join("run/trajectory.jsonl"));
    for refused in [
        "it is the turn of analyze, not of verify",
        "it is the turn of analyze, not of solve",
        "it is the turn of verify, not of analyze",
        "it is the turn of solve, not of retrieve",
        "it is the turn of solve, not of request",
        "diff is not a unified diff: it names no file",
        "is no path within the repository",
        "it is the turn of file pkg/limits.py, not of pkg/numbers.py",
        "pkg/numbers.py would have a syntax error in its new line",
        r#""type":"condensed""#,
    ] {
        assert!(trajectory.contains(refused), "{refused}");
    }
    let first = read(&user.here().join("first.json"));
    for told in ["halve(3) is 1", "ANALYZE", "numbers"] {
        assert!(first.contains(told), "{told}");
    }
    assert_eq!(user.leftovers(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn baselines_have_one_round_or_none() {
    let Some(python) = python() else { return };
    let user = reporting();
    let edits = json!([{ "first": 11, "last": 11, "text": "    return value / 2" }]);
    let edit = edit("pkg/numbers.py", edits);
    let end = [
        json!([
            call("solve", json!({ "diff": GOLD })),
            call("request", json!({ "files": ["pkg/numbers.py"] })),
            edit,
        ]),
        json!([edit]),
    ];
    let mut once = vec![
        json!([analyze("halve", false), retrieve("function", "halve"), verify(true)]),
        json!([verify(true), analyze("more", false)]),
        json!([analyze("It divides by //.", true)]),
    ];
    once.extend(end.clone());
    let more = ["--scaffold", "self-planning-icr", "--gold", "gold.patch", "--run-dir", "once"];
    let ran = fix(&user, &python, &json!(once), &more);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("files       not correct: 1 of 2 covered"), "{}", ran.out);
    assert!(ran.out.contains("lines       not correct: 1 of 2 covered"), "{}", ran.out);
    let trajectory = read(&user.here().join("once/trajectory.jsonl"));
    for refused in [
        "no round is left (1 at most)",
        "verify needs the reply of retrieve: call it in the next answer",
        "edit_file needs the reply of request: call it in the next answer",
    ] {
        assert!(trajectory.contains(refused), "{refused}");
    }
    let more = ["--scaffold", "self-planning-rag", "--force", "--run-dir", "none"];
    let ran = fix(&user, &python, &json!(end), &more);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let first: Value = serde_json::from_str(&read(&user.here().join("first.json"))).unwrap();
    let tools: Vec<&str> = first["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["solve", "request", "edit_file"]);
    assert!(first["messages"].to_string().contains("most like the issue"), "{first}");
}

#[test]
fn a_repair_without_a_change_is_no_patch() {
    let Some(python) = python() else { return };
    let user = reporting();
    let answers = json!([
        [analyze("Nothing is wrong.", true), call("solve", json!({ "diff": GOLD }))],
        [call("request", json!({ "files": ["pkg/numbers.py", "pkg/new.py"] }))],
        [edit("pkg/numbers.py", json!([])), edit("pkg/new.py", json!([]))],
        [edit("pkg/new.py", json!([]))],
    ]);
    let ran = fix(&user, &python, &answers, &["--gold", "gold.patch"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("no patch: nothing changed"), "{}", ran.out);
    assert!(ran.out.contains("files       not correct: 0 of 2 covered"), "{}", ran.out);
    let limited =
        fix(&user, &python, &json!([[analyze("x", false)]]), &["--set", "session.steps=1"]);
    assert_eq!(limited.code, 1, "{}{}", limited.out, limited.err);
    assert!(limited.out.contains("step limit reached"), "{}", limited.out);
    assert!(!user.here().join("fix.patch").exists());
}

#[test]
fn bad_issues_and_patches_name_path_and_cause() {
    let Some(python) = python() else { return };
    let user = reporting();
    let write = |name: &str, bytes: &[u8]| std::fs::write(user.here().join(name), bytes).unwrap();
    write("empty", b" \n");
    write("bytes", &[0xff, 0xfe]);
    write("prose", b"Divide by two.\n");
    write("away", GOLD.replace("pkg/limits.py", "../limits.py").as_bytes());
    write("other", GOLD.replace("HIGHEST = 10\n", "HIGHEST = 11\n").as_bytes());
    write("taken", b"");
    let issue = |path: &str| {
        vec!["fix".to_owned(), "repo".to_owned(), "--issue".to_owned(), path.to_owned()]
    };
    let gold = |path: &str| {
        let mut args = issue("issue.md");
        args[1] = "repo@reported".to_owned();
        args.extend(["--gold".to_owned(), path.to_owned()]);
        args
    };
    let with = |mut args: Vec<String>, more: &[&str]| {
        args.extend(more.iter().map(|&arg| arg.to_owned()));
        args
    };
    let cases = [
        (issue("none.md"), 3, "read issue none.md: there is no such file"),
        (issue("empty"), 3, "read issue empty: it is empty"),
        (issue("bytes"), 3, "read issue bytes: it is no text in UTF-8"),
        (issue("repo"), 3, "read issue repo: it is a directory"),
        (gold("none.patch"), 3, "read patch none.patch: there is no such file"),
        (gold("empty"), 3, "read patch empty: it is empty"),
        (gold("prose"), 3, "patch prose on repo@reported: malformed: it names no file"),
        (gold("away"), 3, "patch away on repo@reported: outside: ../limits.py"),
        (
            gold("other"),
            3,
            "patch other on repo@reported: does not apply: patch failed: pkg/limits.py:2",
        ),
        (with(issue("issue.md"), &["-o", "taken"]), 3, "output taken exists"),
        (with(issue("issue.md"), &["-m", "offline"]), 2, "the offline model solves no issues"),
    ];
    for (args, code, told) in cases {
        let mut all: Vec<&str> = vec!["-q"];
        all.extend(args.iter().map(String::as_str));
        if !args.iter().any(|arg| arg == "-m") {
            all.extend(["-m", "command/false"]);
        }
        all.extend(["--python", &python]);
        let ran = user.gistify(&all);
        assert_eq!(
            (ran.code, ran.last_error_line().contains(told)),
            (code, true),
            "{all:?}: {}",
            ran.err
        );
    }
    let silent = user.gistify(&["-q", "fix", "repo", "-m", "command/false"]);
    assert_eq!(silent.code, 2, "{}", silent.err);
    assert!(silent.err.contains("--issue <FILE>"), "{}", silent.err);
}

#[test]
fn a_model_is_told_the_gist_of_the_failing_test_or_the_map() {
    let Some(python) = python() else { return };
    let user = reporting();
    let answers = json!([
        [
            analyze("It divides by //.", true),
            call("solve", json!({ "diff": GOLD })),
            call("request", json!({ "files": ["pkg/numbers.py"] })),
        ],
        [edit(
            "pkg/numbers.py",
            json!([{ "first": 11, "last": 11, "text": "    return value / 2" }])
        )],
    ]);
    for (context, told, untold) in [
        ("gist", "in one file", "def double"),
        ("map", "by rank", "in one file"),
        ("none", "halve(3) is 1", "return value // 2"),
    ] {
        let more = ["--context", context, "--force", "--", "pytest", "tests/test_halve.py"];
        let ran = fix(&user, &python, &answers, &more);
        assert_eq!(ran.code, 0, "{context}: {}{}", ran.out, ran.err);
        let first = read(&user.here().join("first.json"));
        assert!(first.contains(told) && !first.contains(untold), "{context}: {first}");
        assert_eq!(first.contains("return value // 2"), context != "none", "{context}: {first}");
    }
    let ran = fix(&user, &python, &answers, &["--context", "gist", "--force"]);
    assert_refused(&ran, 2, "--context gist needs a command");
}

pub(super) fn assert_refused(ran: &Ran, code: i32, message: &str) {
    assert_eq!(ran.code, code, "{}", ran.err);
    assert!(ran.last_error_line().contains(message), "{}", ran.err);
}

#[test]
fn rows_become_predictions_and_tables() {
    let Some(python) = python() else { return };
    let user = reporting();
    let commit = git(&user, &["rev-parse", "reported"]).trim().to_owned();
    let row = |id: &str, repo: &str, gold: &str| {
        json!({
            "instance_id": id, "repo": repo, "base_commit": commit, "problem_statement": ISSUE,
            "patch": gold, "test_patch": "", "version": "1.0",
        })
    };
    let numbers = &GOLD[GOLD.find("--- a/pkg/numbers").unwrap()..];
    let rows = [
        row("own__repo-1", "own/repo", GOLD),
        row("own__repo-2", "own/repo", numbers),
        row("own__gone-3", "own/gone", numbers),
        json!({ "instance_id": "own__repo-4" }),
    ];
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(user.here().join("rows.jsonl"), text).unwrap();
    let answers = json!([
        [
            analyze("It divides by //.", true),
            call("solve", json!({ "diff": GOLD })),
            call("request", json!({ "files": ["pkg/numbers.py"] })),
        ],
        [edit(
            "pkg/numbers.py",
            json!([{ "first": 11, "last": 11, "text": "    return value / 2" }])
        )],
    ]);
    std::fs::write(user.here().join("script.json"), answers.to_string()).unwrap();
    let model = format!("command/{python} model.py script.json");
    let args = [
        "issues",
        "solve",
        "rows.jsonl",
        "-m",
        &model,
        "--repositories",
        ".",
        "-o",
        "out",
        "--format",
        "csv",
        "-w",
        "2",
        "--python",
        &python,
    ];
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let solver = format!("chain-of-context {model}");
    assert!(ran.out.contains(&format!("{solver},2,2,100.00,50.00,50.00,")), "{}", ran.out);
    assert!(ran.out.contains(&format!("{solver},failed,1")), "{}", ran.out);
    assert!(ran.out.contains("rows.jsonl,missing field `repo`,4"), "{}", ran.out);
    assert!(ran.err.contains("own__gone-3: no clone of own/gone in ."), "{}", ran.err);
    let predictions = read(&user.here().join("out/predictions.jsonl"));
    let predictions: Vec<Value> =
        predictions.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(predictions.len(), 2);
    for prediction in &predictions {
        assert_eq!(prediction["model_name_or_path"], json!(solver));
        let patch = prediction["model_patch"].as_str().unwrap();
        assert!(patch.contains("-    return value // 2\n+    return value / 2\n"), "{patch}");
    }
    // A second run takes up the results, and tries again what failed for another reason than its patch.
    let again = user.gistify(&args);
    assert_eq!((again.code, &again.out), (0, &ran.out), "{}", again.err);
    assert!(again.err.contains("1 solved now, 2 before"), "{}", again.err);
    let other = [&args[..], &["--scaffold", "self-planning-icr"]].concat();
    let ran = user.gistify(&other);
    assert_refused(&ran, 3, "name another directory");
}

#[test]
fn refused_calls_are_shown() {
    let Some(python) = python() else { return };
    let user = reporting();
    let answers = json!(vec![[call("analyze", json!({ "task": "?" }))]; 3]);
    std::fs::write(user.here().join("script.json"), answers.to_string()).unwrap();
    let model = format!("command/{python} model.py script.json");
    let args = ["--set", "session.steps=3", "fix", "repo@reported", "--issue", "issue.md"];
    let ran = user.gistify(&[&args[..], &["-m", &model, "--python", &python]].concat());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let head =
        "no patch: nothing changed (step limit reached: 3 of 3 calls were refused, the last: ";
    assert!(ran.out.starts_with(head), "{}", ran.out);
    assert!(ran.err.contains("\nstep 3: analyze refused: "), "{}", ran.err);
}
