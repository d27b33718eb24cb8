//! Tests the exchange of a run with other programs: its trajectory in their format, its
//! continuation, and its tools over the Model Context Protocol.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use super::*;

const TEST: [&str; 2] = ["pytest", "tests/test_numbers.py::test_double"];

fn read_lines(path: &Path) -> Vec<Value> {
    read(path).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Messages of a trajectory without how long things took.
fn messages(path: &Path) -> Vec<Value> {
    let mut all: Vec<Value> = read_lines(path).iter().map(|line| line["message"].clone()).collect();
    for message in &mut all {
        if let Some(fields) = message.as_object_mut() {
            fields.remove("seconds");
        }
    }
    all
}

/// Writes the gist of the small repository's test, with more options.
fn run_small(user: &User, python: &str, more: &[&str]) -> Ran {
    let args = ["run", "small", "--force", "--python", python];
    user.gistify(&[&args[..], more, &["--"], &TEST].concat())
}

#[test]
fn a_run_is_taken_up_and_replayed() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let run = |more: &[&str]| run_small(&user, &python, more);
    let first = run(&["--run-dir", "first", "--set", "session.steps=2"]);
    assert_eq!(first.code, 0, "{}", first.err);
    let second = run(&["--run-dir", "second", "--resume", "first"]);
    assert_eq!(second.code, 0, "{}", second.err);
    let third = run(&["--run-dir", "third", "--resume", "second"]);
    assert_eq!(third.code, 0, "{}", third.err);
    let path = |name: &str| user.here().join(name).join("trajectory.jsonl");
    assert_eq!(read_lines(&path("first")).last().unwrap()["outcome"]["kind"], "step_limit");
    assert_eq!(read_lines(&path("second")).last().unwrap()["outcome"]["kind"], "submitted");
    assert_eq!(messages(&path("second")), messages(&path("third")));
    let gist = |name: &str| read(&user.here().join(name).join("concise.py"));
    assert_eq!(gist("second"), gist("third"));
    fs::write(user.here().join("small/calc/words.py"), "").unwrap();
    let other = run(&["--resume", "first"]);
    assert_eq!(other.code, 3);
    assert!(other.err.contains("on another repository or state"), "{}", other.err);

    let exported: Value = serde_json::from_str(&user.gistify(&["export", "third"]).out).unwrap();
    assert_eq!(exported["schema_version"], "ATIF-v1.8");
    let steps = exported["steps"].as_array().unwrap();
    assert_eq!(steps.len() as u64, exported["final_metrics"]["total_steps"].as_u64().unwrap());
    let traced = steps.iter().find(|step| step["source"] == "agent").unwrap();
    assert_eq!(traced["tool_calls"][0]["function_name"], "trace");
    let id = &traced["tool_calls"][0]["tool_call_id"];
    assert_eq!(&traced["observation"]["results"][0]["source_call_id"], id);
    check_inspect_log(&user, "third", "success", Some(1.0));
    check_inspect_log(&user, "first", "success", Some(1.0));
    assert_eq!(user.gistify(&["export", "third", "--format", "inspect"]).code, 2);
}

/// Exports a run as a log of Inspect, and compares its status and its fidelity.
fn check_inspect_log(user: &User, run: &str, status: &str, fidelity: Option<f64>) {
    let log = format!("{run}.eval");
    let done = user.gistify(&["export", run, "--format", "inspect", "-o", &log]);
    assert_eq!((done.code, done.out.as_str()), (0, ""), "{}", done.err);
    let file = fs::File::open(user.here().join(log)).unwrap();
    let mut archive = zip::ZipArchive::new(file).unwrap();
    let mut member =
        |name: &str| -> Value { serde_json::from_reader(archive.by_name(name).unwrap()).unwrap() };
    let (header, sample) = (member("header.json"), member("samples/1_epoch_1.json"));
    assert_eq!(header["status"], status);
    assert_eq!(sample["scores"]["execution_fidelity_strict"]["value"].as_f64(), fidelity);
    assert_eq!(member("summaries.json")[0]["completed"], true);
    let said = sample["messages"].as_array().unwrap();
    let call = &said.iter().find(|one| one["role"] == "assistant").unwrap()["tool_calls"][0];
    let reply = said.iter().find(|one| one["role"] == "tool").unwrap();
    assert_eq!(call["id"], reply["tool_call_id"]);
    let is_limited = read_lines(&user.here().join(run).join("trajectory.jsonl")).last().unwrap()["outcome"]
        ["kind"]
        == "step_limit";
    assert_eq!(sample["limit"]["type"] == "message", is_limited);
}

/// The paths of all files below a directory, sorted, in one text.
fn files_below(directory: &Path) -> String {
    let paths = walk(directory).into_iter();
    let mut paths: Vec<String> = paths
        .map(|path| path.strip_prefix(directory).unwrap().to_string_lossy().into_owned())
        .collect();
    paths.sort();
    paths.join(" ")
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// Each function of a gist without which its test fails is a task: its file lacks the body, its oracle accepts the
/// solution and no other file.
#[test]
fn a_gist_is_exported_as_tasks() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let run = |more: &[&str]| run_small(&user, &python, more);
    assert_eq!(run(&["--run-dir", "bare"]).code, 0);
    let bare = user.gistify(&["export", "bare", "--format", "harbor", "-o", "none"]);
    assert_eq!(bare.code, 3, "{}", bare.err);
    assert!(bare.err.contains("gistify run --standalone"), "{}", bare.err);
    let made = run(&["--run-dir", "run", "--standalone"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let args = ["export", "run", "--format", "harbor", "-o", "tasks", "--python", &python];
    let exported = user.gistify(&args);
    assert_eq!((exported.code, exported.out.lines().count()), (0, 1), "{}", exported.err);
    assert_eq!(user.gistify(&args).code, 3, "the directory has files");
    check_openenv_and_swe_bench(&user, &python);

    let task = user.here().join("tasks/small-double");
    let manifest: toml::Table = read(&task.join("task.toml")).parse().unwrap();
    assert_eq!(manifest["task"]["name"].as_str(), Some("gistify/small-double"));
    assert_eq!(manifest["verifier"]["environment_mode"].as_str(), Some("separate"));
    assert_eq!(manifest["metadata"]["command"].as_str(), Some(&*TEST.join(" ")));
    assert!(manifest["metadata"]["origin"].as_str().unwrap().starts_with("calc/numbers.py:"));
    assert!(read(&task.join("instruction.md")).contains("`double`"));
    let (original, emptied) =
        (read(&task.join("solution/gist.py")), read(&task.join("environment/gist.py")));
    assert_eq!(original, read(&task.join("tests/original.py")));
    assert!(emptied.contains("def double(") && emptied.contains("    raise NotImplementedError\n"));

    let judged = |text: &str| -> (Option<i32>, Value) {
        fs::write(task.join("candidate.py"), text).unwrap();
        let judge =
            ["-B", "tests/judge.py", "tests/original.py", "candidate.py", "double", "reward"];
        let status = Command::new(&python).args(judge).current_dir(&task).output().unwrap().status;
        (status.code(), serde_json::from_str(&read(&task.join("reward"))).unwrap())
    };
    assert_eq!(judged(&original), (Some(0), json!({ "reward": 1, "cases": 1.0 })));
    // Of a candidate the function counts and nothing else.
    assert_eq!(judged(&original.replace("assert ", "assert not ")).0, Some(0));
    for wrong in [
        emptied.clone(),
        emptied.replace("raise NotImplementedError", "import os; os._exit(0)"),
        emptied.replace("def test_", "def no_test_"),
        String::new(),
        "def double(".to_owned(),
    ] {
        assert_eq!(judged(&wrong).0, Some(4), "{wrong}");
        assert_eq!(judged(&wrong).1["reward"], 0, "{wrong}");
    }
}

/// Exports the record `run` in the other two formats of tasks, and compares their files with those of `tasks`.
fn check_openenv_and_swe_bench(user: &User, python: &str) {
    let harbor = |path: &str| read(&user.here().join("tasks/small-double").join(path));
    let (original, emptied) = (harbor("solution/gist.py"), harbor("environment/gist.py"));
    let task = "tasks/gistify__small-double";
    for (format, files, parts) in [
        (
            "openenv",
            "Dockerfile README.md __init__.py client.py models.py openenv.yaml pyproject.toml server/__init__.py \
             server/app.py server/judge.py server/original.py server/tasks.json solution/solve.py \
             validation/runtime.json"
                .to_owned(),
            [
                ("openenv.yaml", "\nname: gists_small\n"),
                ("openenv.yaml", "\n      test: 1\n"),
                ("pyproject.toml", "server = \"gists_small.server.app:main\""),
                ("server/app.py", "env_name=\"gists_small\""),
                ("server/original.py", &original),
                ("Dockerfile", "--python /opt/gist/bin/python 'pytest=="),
            ],
        ),
        (
            "swe-bench",
            ["Dockerfile", "eval.sh", "gist.py", "gold.patch", "problem_statement.md", "task.yaml", "test.patch", "tests.json"]
                .map(|name| format!("{task}/{name}"))
                .join(" ")
                .replacen("tasks", "sweb.yaml tasks", 1),
            [
                ("sweb.yaml", "datasets: [\"gistify/gists-small\"]\nsplits: [\"test\"]\n"),
                ("TASK/task.yaml", "\nimage: \"swebench/sweb.eval.x86_64.gistify_1776_small-double:latest\"\n"),
                ("TASK/task.yaml", "\nrepo: \"small\"\n"),
                ("TASK/problem_statement.md", "`/testbed/gist.py`"),
                ("TASK/gist.py", &emptied),
                ("TASK/eval.sh", "\npython3 -B judge/judge.py judge/original.py gist.py double\n"),
            ],
        ),
    ] {
        let args = ["export", "run", "--format", format, "-o", format, "--python", python];
        let exported = user.gistify(&args);
        assert_eq!(exported.code, 0, "{}", exported.err);
        let root = user.here().join(format);
        assert_eq!(files_below(&root), files);
        for (path, part) in parts {
            let text = read(&root.join(path.replace("TASK", task)));
            assert!(text.contains(part), "{path} has no {part}: {text}");
        }
        for path in walk(&root) {
            let marks = ["@NAME@", "@COUNT@", "@PYTHON@", "@INSTALL@", "@FUNCTION@", "@TEST_PATCH@"];
            assert!(!marks.iter().any(|mark| read(&path).contains(mark)), "{}", path.display());
        }
    }
    let tasks: Value =
        serde_json::from_str(&read(&user.here().join("openenv/server/tasks.json"))).unwrap();
    assert_eq!(tasks[0]["gist"], emptied);
    assert_eq!(tasks[0]["facts"]["function"], "double");
    assert!(tasks[0]["instruction"].as_str().unwrap().ends_with("the text of the whole file."));

    let task = user.here().join("swe-bench").join(task);
    let cases: Value = serde_json::from_str(&read(&task.join("tests.json"))).unwrap();
    let failing = ["gist.py::test_double[1]", "gist.py::test_double[2]", "gist.py"];
    assert_eq!(cases, json!({ "FAIL_TO_PASS": failing, "PASS_TO_PASS": [] }));
    for (patch, path, expected) in
        [("gold.patch", "gist.py", &original), ("test.patch", "judge/original.py", &original)]
    {
        let apply = Command::new("git").args(["apply", patch]).current_dir(&task).output().unwrap();
        assert!(apply.status.success(), "{patch}: {}", String::from_utf8_lossy(&apply.stderr));
        assert_eq!(&read(&task.join(path)), expected);
    }
}

#[test]
fn a_candidate_does_what_both_runs_of_the_original_do() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let judge = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli/export/judge.py");
    let judged = |rest: &str, own: &str, candidate: &str| {
        let file = |body: &str| format!("def f():\n    return {body}\n");
        fs::write(directory.path().join("original.py"), file(own) + rest).unwrap();
        fs::write(directory.path().join("candidate.py"), file(candidate)).unwrap();
        let args = ["-B", judge, "original.py", "candidate.py", "f"];
        let run = Command::new(&python).args(args).current_dir(directory.path()).output();
        run.unwrap().status.code()
    };
    // What differs between two runs may differ, and nothing that only looks like it.
    for (rest, own, candidate, expected) in [
        ("print(hex(f()))\n", "255", "254 + 1", 0),
        ("print(hex(f()))\n", "255", "1", 4),
        ("print(object(), f())\n", "255", "254 + 1", 0),
        ("print(object(), f())\n", "255", "1", 4),
        ("print(__file__, f())\n", "'/a/b'", "'/a/b'[:]", 0),
        ("print(__file__, f())\n", "'/a/b'", "'/a/c'", 4),
        ("raise SystemExit(f())\n", "1", "2", 4),
        ("import os; print(os.getpid() + f())\n", "1", "2", 0),
    ] {
        assert_eq!(judged(rest, own, candidate), Some(expected), "{rest}{own} {candidate}");
    }
}

#[test]
fn tools_are_served_over_standard_streams() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let mut command =
        user.command(&[&["mcp", "small", "--python", &python, "--"][..], &TEST].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut say = |message: Value| writeln!(input, "{message}").unwrap();
    let mut hear = || -> Value { serde_json::from_str(&output.next().unwrap().unwrap()).unwrap() };
    let client = json!({ "name": "test", "version": "0" });
    say(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client } }));
    assert_eq!(hear()["result"]["serverInfo"]["name"], "gistify");
    say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    say(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    let listed = hear();
    let names: Vec<_> = listed["result"]["tools"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 10, "{listed}");
    let mut id = 1;
    let mut call = |tool: &str, arguments: Value| {
        id += 1;
        say(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } }));
        let result = hear()["result"].clone();
        let failed = result["isError"] == true;
        (result["content"][0]["text"].as_str().unwrap().to_owned(), failed)
    };
    let (told, failed) = call("nosuch", json!({}));
    let missing = names.iter().find(|tool| !told.contains(tool["name"].as_str().unwrap()));
    assert!(failed && missing.is_none(), "{told}");
    assert_eq!(call("evaluate", json!({})), ("there is no gist to evaluate".to_owned(), true));
    assert!(call("slice", json!({})).1);
    for (tool, arguments, part) in [
        ("graph", json!({}), "calc/numbers.py"),
        ("search", json!({ "pattern": "FACTOR" }), "FACTOR = 2"),
        ("view", json!({ "target": "calc/numbers.py" }), "def double"),
        ("relate", json!({ "relation": "callers", "of": "calc.numbers.double" }), "test_double"),
        ("trace", json!({}), "passed"),
        ("slice", json!({}), "lines"),
        ("execute", json!({}), "\"same\":true"),
        ("evaluate", json!({}), "\"score\":1"),
        ("edit", json!({ "action": "create", "text": "x = 1" }), "\"lines\":1"),
        ("view", json!({ "target": "tests/concise.py" }), "x = 1"),
    ] {
        let (text, failed) = call(tool, arguments);
        assert!(!failed && text.contains(part), "{tool}: {text}");
    }
    assert!(call("view", json!({ "target": "../canary" })).1);
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// A server without a command has one tool, which writes the gist of any test; it is spoken to without a handshake, as
/// the protocol has it since 2026-07-28.
#[test]
fn a_gist_of_any_test_is_served_without_a_command() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let mut command = user.command(&["mcp", "small", "--python", &python]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |id: u64, method: &str, mut params: Value| -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(input, "{request}").unwrap();
        serde_json::from_str(&output.next().unwrap().unwrap()).unwrap()
    };
    let found = ask(1, "server/discover", json!({}));
    let versions = found["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2026-07-28") && versions.contains("2025-11-25"), "{found}");
    let listed = ask(2, "tools/list", json!({}));
    assert_eq!(listed["result"]["tools"][0]["name"], "gist", "{listed}");
    let test = json!({ "name": "gist", "arguments": { "test": TEST[1] } });
    let reply = ask(3, "tools/call", test);
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    let told: Value = serde_json::from_str(text).unwrap();
    assert!(told["gist"].as_str().unwrap().contains("def test_double"), "{told}");
    assert_eq!(told["scores"]["scores"]["execution_fidelity_strict"]["value"], 1.0, "{told}");
    let missing =
        ask(4, "tools/call", json!({ "name": "gist", "arguments": { "test": "x.py::y" } }));
    assert_eq!(missing["result"]["isError"], true, "{missing}");
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn input_that_no_client_sends_is_reported() {
    let user = User::new();
    let run = |input: &str| {
        let mut command = user.command(&["mcp", "."]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Ran::of(child.wait_with_output().unwrap(), &user)
    };
    let ended = "gistify: the input ended before a client sent `initialize`";
    let ran = run("");
    assert_eq!((ran.err.as_str(), ran.out.as_str()), (&*format!("{ended}\n"), ""));
    let ran = run("no json\n");
    let head = "gistify: a line of the input is no JSON and is ignored: ";
    // Two threads write the two lines.
    let has = |is_it: &dyn Fn(&str) -> bool| ran.err.lines().any(is_it);
    assert!(has(&|line| line.starts_with(head) && line.ends_with(": \"no json\"")), "{}", ran.err);
    assert!(has(&|line| line == ended), "{}", ran.err);
}
