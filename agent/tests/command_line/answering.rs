//! `gistify solve` and `gistify queries`: tasks in natural language, solved by a scripted model and by programs, and
//! answers of every class.

use std::fs;

use serde_json::{Value, json};

use super::{
    Ran, User,
    fixing::{MODEL, assert_refused, call},
    python, read,
};

/// A package that adds up a column.
const PACKAGE: &str = "\
#- repo/README.md
# tally

Adds up columns of tables.
#- repo/tally/__init__.py
from .core import total
#- repo/tally/core.py
def total(rows, column):
    '''Adds up a column of rows.'''
    return sum(float(row[column]) for row in rows)
#- sales.csv
product,amount
bolt,2.5
nut,4
#- criteria.py
import csv, json, pathlib, sys

inputs, outputs = map(pathlib.Path, sys.argv[1:])
rows = csv.DictReader(open(inputs / 'sales.csv'))
expected = sum(float(row['amount']) for row in rows)
told = json.load(open(outputs / 'output.json'))
passed = told == {'total': expected}
print('a note')
print(json.dumps({'completed': True, 'passed': passed, 'reason': f'it is {told}', 'metrics': {'total': told['total']}}))
";

/// The script of a solver, with the name of a column that the table does not have.
const SCRIPT: &str = "\
import csv, json, sys
from tally import total

for line in range(int(sys.argv[1])):
    print('line', line, 'of the log')
rows = list(csv.DictReader(open('inputs/sales.csv')))
told = {'total': total(rows, 'sum')}
json.dump(told, open('outputs/output.json', 'w'))
";

fn user() -> User {
    let user = User::new();
    user.repository("files", PACKAGE);
    fs::write(user.here().join("model.py"), MODEL).unwrap();
    user
}

fn bash(command: &str) -> Value {
    call("bash", json!({ "command": command }))
}

/// The answers of a model that looks, writes, sees an error, mends and submits.
fn answers(lines: usize) -> Value {
    let view = |target: &str| call("view", json!({ "target": target }));
    json!([
        [
            view("tally/core.py"),
            view("inputs/sales.csv"),
            view("inputs"),
            call("submit", json!({}))
        ],
        [
            call("write_file", json!({ "path": "inputs/sales.csv", "text": "" })),
            bash(
                "rm -f inputs/sales.csv; echo x > inputs/more.csv; test -e inputs/more.csv && printf 'it %s' came"
            ),
            call("write_file", json!({ "path": "solve.py", "text": SCRIPT })),
            bash(&format!("python solve.py {lines}")),
        ],
        [
            call("write_file", json!({ "path": "solve.py", "text": "'amount'", "old": "'sum'" })),
            bash("python solve.py 0 && cat outputs/output.json"),
        ],
        [call("submit", json!({}))],
    ])
}

fn model(user: &User, python: &str, answers: &Value) -> String {
    fs::write(user.here().join("script.json"), answers.to_string()).unwrap();
    format!("command/{python} model.py script.json")
}

fn solve(user: &User, python: &str, model: &str, more: &[&str]) -> Ran {
    let args = [
        "-q",
        "solve",
        "files/repo",
        "Add up the amounts, as an object with the key total.",
        "--input",
        "files/sales.csv=A table of sales",
        "-m",
        model,
        "--python",
        python,
    ];
    user.gistify(&[&args[..], more].concat())
}

#[test]
fn a_task_is_solved_by_writing_running_and_mending() {
    let Some(python) = python() else { return };
    let user = user();
    let model = model(&user, &python, &answers(4_000));
    let criteria = ["--criteria", "files/criteria.py", "--expect", "output.json"];
    let more = ["-o", "out", "--run-dir", "run", "--scaffold", "repomaster", "--json"];
    let ran = solve(&user, &python, &model, &[&criteria[..], &more].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let solved = &told["solve"];
    assert_eq!(solved["judgement"]["class"], "passed", "{solved}");
    assert_eq!((&solved["completed"], &solved["passed"]), (&json!(true), &json!(true)));
    assert_eq!(solved["judgement"]["metrics"], json!({ "total": 6.5 }));
    assert_eq!(solved["effort"]["steps"], 4);
    assert_eq!(read(&user.here().join("out/output.json")), "{\"total\": 6.5}");
    let kept: Value = serde_json::from_str(&read(&user.here().join("run/answer.json"))).unwrap();
    assert_eq!(&kept, solved);
    assert!(user.here().join("run/outputs/output.json").exists());
    // The repository and the inputs of the user are as they were.
    assert!(read(&user.here().join("files/sales.csv")).ends_with("nut,4\n"));
    assert!(!user.here().join("files/repo/solve.py").exists());
    let first: Value = serde_json::from_str(&read(&user.here().join("first.json"))).unwrap();
    let tools =
        first["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    let tools: Vec<&str> = tools.collect();
    assert_eq!(tools, ["view", "search", "relate", "write_file", "bash", "submit"]);
    let messages = first["messages"].to_string();
    for part in ["Add up the amounts", "`inputs/sales.csv`: A table of sales", "Files: output.json"]
    {
        assert!(messages.contains(part), "{part}: {messages}");
    }
    // What the repository is about is told at the start, and no gist is spoken of.
    assert!(messages.contains("Adds up columns of tables."), "{messages}");
    assert!(!first.to_string().contains("gist"), "{first}");
    let trajectory = read(&user.here().join("run/trajectory.jsonl"));
    for part in [
        "there is no file outputs/output.json",
        "inputs are not written",
        "KeyError: 'sum'",
        r#"File \\\"repository/tally/core.py\\\", line 3"#,
        "bolt,2.5",
        // Of a long log both ends are shown.
        "line 0 of the log",
        "line 3999 of the log",
        "left out",
    ] {
        assert!(trajectory.contains(part), "{part}: {trajectory}");
    }
    assert!(!trajectory.contains("line 2000 of the log"));
    assert!(!trajectory.contains("it came"), "{trajectory}");
    assert_eq!(user.leftovers(), Vec::<std::path::PathBuf>::new());
    // A directory that has files is not written into unasked.
    let again = solve(&user, &python, &model, &["-o", "out"]);
    assert_refused(&again, 3, "output out is not empty");
    super::schemas::validate(&user.here());
}

#[test]
fn an_answer_that_is_none_has_a_class_and_an_exit_code() {
    let Some(python) = python() else { return };
    let user = user();
    let wrong =
        json!([[bash("echo '{\"total\": 7}' > outputs/output.json"), call("submit", json!({})),]]);
    let model = model(&user, &python, &wrong);
    let criteria = ["--criteria", "files/criteria.py"];
    let ran = solve(&user, &python, &model, &[&["-o", "wrong"], &criteria[..]].concat());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("class       not passed\n"), "{}", ran.out);
    assert!(ran.out.contains("reason      it is {'total': 7}\n"), "{}", ran.out);
    // Without criteria it is complete, and nobody says if it is right.
    let ran = solve(&user, &python, &model, &["-o", "unjudged"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("class       completed\n"), "{}", ran.out);
    let nothing = self::model(&user, &python, &json!(vec![[bash("true")]; 3]));
    let ran = solve(&user, &python, &nothing, &["-o", "none", "--set", "session.steps=1"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("class       no output\n"), "{}", ran.out);
    assert!(ran.out.contains("outcome     step limit reached\n"), "{}", ran.out);
    assert!(!user.here().join("none").exists());
    let fails = ["-o", "failed", "--set", "model.retries=0"];
    let fails = solve(&user, &python, "command/false", &fails);
    assert_eq!(fails.code, 5, "{}{}", fails.out, fails.err);
    assert!(fails.last_error_line().contains("no answer: "), "{}", fails.err);
}

#[test]
fn bad_tasks_name_path_and_cause() {
    let Some(python) = python() else { return };
    let user = user();
    let to = |output: &str, more: &[&str]| {
        let args = ["-q", "solve", "files/repo", "Add.", "-o", output, "--python", &python];
        user.gistify(&[&args[..], more].concat())
    };
    let with = |more: &[&str]| to("out", &[&["-m", "command/false"], more].concat());
    fs::write(user.here().join("file"), "x").unwrap();
    for (ran, code, told) in [
        (with(&["--input", "none.csv=A table"]), 3, "read input none.csv: No such file"),
        (with(&["--input", "files"]), 3, "read input files: it is no file"),
        (with(&["--criteria", "none.py"]), 3, "read criteria none.py: there is no such file"),
        (with(&["--expect", "total.json"]), 2, "--expect total.json: no name of an output"),
        (to("out", &[]), 2, "the offline model solves no tasks"),
        (to("file", &["-m", "command/false"]), 3, "write file: file is not a directory"),
    ] {
        assert_eq!(ran.code, code, "{told}: {}", ran.err);
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    let ran = user.gistify(&["queries", "solve", "none", "-m", "command/false", "-o", "out"]);
    assert_refused(
        &ran,
        2,
        "no suite \"none\" (there are eighteen-tasks, or name a file as ./none)",
    );
    let ran = user.gistify(&["queries", "check", "none.toml"]);
    assert_refused(&ran, 3, "read suite none.toml: there is no such file");
    fs::write(user.here().join("bad.toml"), "task = 1\n").unwrap();
    let ran = user.gistify(&["queries", "check", "bad.toml"]);
    assert_eq!((ran.code, ran.err.contains("read suite bad.toml: ")), (3, true), "{}", ran.err);
    let ran = user.gistify(&["queries", "eval", "--answers", "none"]);
    assert_refused(&ran, 3, "read answers none: no such directory");
    let ran = user.gistify(&["queries", "plot", "file", "-o", "figures"]);
    assert_refused(&ran, 3, "read verdicts file: line 1: it is no JSON");
}

/// A task of a suite with a criteria script.
fn task(id: &str, more: &str) -> String {
    format!(
        "[[task]]\nid = \"{id}\"\nrepository = \"files/repo\"\nquery = \"Add up the amounts.\"\n\
         inputs = [{{ path = \"files/sales.csv\" }}]\ncriteria = \"{id}.py\"\n{more}\n"
    )
}

#[test]
fn every_class_of_answer_is_told_apart() {
    let Some(python) = python() else { return };
    let user = user();
    let reply = |completed: bool, passed: bool| {
        let reply = json!({ "completed": completed, "passed": passed });
        format!(
            "import json\nprint(json.dumps({}))\n",
            reply.to_string().replace("true", "True").replace("false", "False")
        )
    };
    let good = reply(true, true);
    // The class, the criteria, the file of the answer and its bytes.
    let cases: [(&str, String, &str, &[u8]); 16] = [
        ("passed", good.clone(), "output.json", b"{}"),
        ("passed", "import sys, pathlib\nassert sorted(p.name for p in pathlib.Path(sys.argv[1]).iterdir()) == ['sales.csv']\n".to_owned() + &good, "output.txt", b"x"),
        ("not passed", reply(true, false), "output.json", b"{}"),
        ("not completed", reply(false, false), "output.json", b"{}"),
        ("no output", good.clone(), "", b""),
        ("misnamed", good.clone(), "total.json", b"{}"),
        ("unreadable", good.clone(), "output.json", b""),
        ("unreadable", good.clone(), "output.json", b"{"),
        ("unreadable", good.clone(), "output.png", b"\x89PNG\r\n\x1a\nrest"),
        ("unreadable", good.clone(), "output.csv", b"\xff\xfe"),
        ("criteria raised", "import json\nraise KeyError('total')\n".to_owned(), "output.json", b"{}"),
        ("criteria raised", "import os\nos.kill(os.getpid(), 11)\n".to_owned(), "output.json", b"{}"),
        ("criteria timed out", "while True: pass\n".to_owned(), "output.json", b"{}"),
        ("criteria nonsense", "print('fine')\n".to_owned(), "output.json", b"{}"),
        ("criteria nonsense", String::new(), "output.json", b"{}"),
        ("no answer", good, "", b"absent"),
    ];
    let mut suite = String::new();
    for (at, (class, criteria, name, bytes)) in cases.iter().enumerate() {
        let id = format!("{at:02}");
        suite += &task(&id, "");
        fs::write(user.here().join(format!("{id}.py")), criteria).unwrap();
        let place = user.here().join("answers").join(&id);
        if *class != "no answer" {
            fs::create_dir_all(&place).unwrap();
        }
        if !name.is_empty() {
            fs::write(place.join(name), bytes).unwrap();
        }
    }
    fs::write(user.here().join("suite.toml"), suite).unwrap();
    let args =
        ["queries", "eval", "suite.toml", "--answers", "mine=answers", "-o", "verdicts.jsonl"];
    let more = ["--python", &python, "--format", "csv", "--set", "command.seconds=10"];
    let ran = user.gistify(&[&args[..], &more].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let verdicts = read(&user.here().join("verdicts.jsonl"));
    for ((class, ..), line) in cases.iter().zip(verdicts.lines()) {
        let verdict: Value = serde_json::from_str(line).unwrap();
        assert_eq!(verdict["class"], class.replace(' ', "_"), "{verdict}");
    }
    assert!(verdicts.contains("KeyError: 'total'"), "{verdicts}");
    // 16 tasks: 8 are complete, 2 of them pass.
    assert!(ran.out.contains("\nmine,16,8,2,50.00,12.50,"), "{}", ran.out);
    assert!(user.leftovers().is_empty(), "{:?}", user.leftovers());
}

/// A suite of two tasks with good solutions.
fn suite(user: &User) {
    let solutions =
        "outputs = [\"output.json\"]\nreference = \"reference.py\"\nwrong = \"wrong.py\"";
    let text = task("one", solutions) + &task("two", solutions);
    fs::write(user.here().join("suite.toml"), text).unwrap();
    let criteria = read(&user.here().join("files/criteria.py"));
    for name in ["one.py", "two.py"] {
        fs::write(user.here().join(name), &criteria).unwrap();
    }
    let right = SCRIPT.replace("int(sys.argv[1])", "0").replace("'sum'", "'amount'");
    fs::write(user.here().join("reference.py"), &right).unwrap();
    fs::write(user.here().join("wrong.py"), right.replace("rows, 'a", "rows[1:], 'a")).unwrap();
}

#[test]
fn suites_are_solved_by_models_and_programs() {
    let Some(python) = python() else { return };
    let user = user();
    suite(&user);
    let model = model(&user, &python, &answers(3_000));
    let program =
        "prog=python -c \"open('outputs/output.json', 'w').write('{\\\"total\\\": 6.5}')\"";
    let lazy = "lazy=false {query}";
    let args = ["queries", "solve", "suite.toml", "-o", "out", "--each-ablation", "-w", "2"];
    let more = ["-m", &model, "--program", program, "--program", lazy];
    let form = ["--python", &python, "--format", "csv"];
    let args = [&args[..], &more, &form].concat();
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for scaffold in ["repomaster", "repomaster-no-analysis", "repomaster-no-selection"] {
        let line = format!("\n{scaffold} {model},2,2,2,100.00,100.00,");
        assert!(ran.out.contains(&line), "{scaffold}: {}{}", ran.out, ran.err);
    }
    assert!(ran.out.contains("\nprog,2,2,2,100.00,100.00,"), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("\nlazy,2,0,0,0.00,0.00,"), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("\nlazy,no output,2"), "{}", ran.out);
    let full = format!("\n{model},RepoMaster (Full),100.00,100.00,");
    assert!(ran.out.contains(&full), "{}", ran.out);
    let row = "- w/o Information Selection,100.00 (+0.00),100.00 (+0.00),";
    assert!(ran.out.contains(row), "{}", ran.out);
    // Without selection a log is shown whole.
    let places = fs::read_dir(user.here().join("out")).unwrap().map(|entry| entry.unwrap().path());
    let mut logs = 0;
    for place in places.filter(|place| place.is_dir()) {
        let name = place.file_name().unwrap().to_string_lossy().into_owned();
        let record = place.join("one/trajectory.jsonl");
        if name.starts_with("repomaster-no-selection-") || name.starts_with("repomaster-command") {
            let is_whole = read(&record).contains("line 1500 of the log");
            assert_eq!(is_whole, name.contains("selection"), "{name}");
            logs += 1;
        }
    }
    assert_eq!(logs, 2);
    let again = user.gistify(&args);
    assert_eq!((again.code, &again.out), (0, &ran.out), "{}", again.err);
    assert!(again.err.contains("0 solved now, 14 before"), "{}", again.err);
    let other = user.gistify(&[&args[..], &["--set", "session.steps=7"]].concat());
    assert_refused(&other, 3, "name another directory");
    let judged = ["queries", "eval", "suite.toml", "--answers", "out", "--format", "csv"];
    let judged = user.gistify(&[&judged[..], &["--python", &python]].concat());
    assert_eq!((judged.code, &judged.out), (0, &ran.out), "{}", judged.err);
    let plot = user.gistify(&["queries", "plot", "out", "-o", "figures"]);
    assert_eq!(plot.code, 0, "{}", plot.err);
    assert!(read(&user.here().join("figures/query-rates.svg")).starts_with("<svg "));
    let numbers = read(&user.here().join("figures/query-rates.csv"));
    assert!(numbers.contains("\nlazy,0.00,0.00"), "{numbers}");
    assert!(user.leftovers().is_empty(), "{:?}", user.leftovers());
}

#[test]
fn suites_are_checked_by_their_solutions() {
    let Some(python) = python() else { return };
    let user = user();
    suite(&user);
    let check = || {
        let args = ["queries", "check", "suite.toml", "--python", &python, "--format", "csv"];
        user.gistify(&args)
    };
    let ran = check();
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("\none,files/repo,,,passed,not passed,good"), "{}", ran.out);
    let reference = read(&user.here().join("reference.py"));
    // Criteria that pass everything, or fail at what is wrong, are none.
    for (name, text, row, told) in [
        ("wrong.py", reference.as_str(), "passed,passed,bad", "its wrong solution is passed"),
        ("wrong.py", "import nothing_of_the_name\n", "passed,no output,good", ""),
        (
            "two.py",
            "raise SystemExit('no')\n",
            "criteria raised,criteria raised,bad",
            "two: its wrong solution is criteria raised: no",
        ),
        (
            "reference.py",
            "import nothing_of_the_name\n",
            "no output,not passed,bad",
            "ModuleNotFoundError: No module named 'nothing_of_the_name'",
        ),
    ] {
        let path = user.here().join(name);
        let before = read(&path);
        fs::write(&path, text).unwrap();
        let ran = check();
        fs::write(&path, before).unwrap();
        assert_eq!(ran.code, i32::from(row.ends_with("bad")), "{row}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(row), "{row}: {}", ran.out);
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    fs::remove_file(user.here().join("files/sales.csv")).unwrap();
    let ran = check();
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("sales.csv of suite: it is no file"), "{}", ran.err);
}
