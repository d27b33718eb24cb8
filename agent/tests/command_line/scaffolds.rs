//! Tests every scaffold, from its first prompt to a judged gist, with a scripted program in the
//! place of a model. No test shows how a real model would do.

use super::*;

/// Plays one scripted answer after the other: which one is next follows from the conversation.
const MODEL: &str = r#"
import json, sys
request = json.load(sys.stdin)
script = json.load(open(sys.argv[1]))
step = sum(1 for message in request["messages"] if message["role"] == "assistant")
for name in ("last", "first")[:2 if step == 0 else 1]:
    json.dump(request, open(name + ".json", "w"))
answer = script[step]
print(answer if isinstance(answer, str) else json.dumps(answer))
"#;

fn call(tool: &str, arguments: serde_json::Value) -> serde_json::Value {
    serde_json::json!({ "tool": tool, "arguments": arguments })
}

/// Returns the answers of a model for a scaffold with these tools: each tool once, several calls in
/// one answer.
fn script(tools: &[String], file: bool) -> serde_json::Value {
    use serde_json::json;
    if file {
        return json!([format!("A plan.\n\n```python\n{GIST_OF_SMALL}```\n")]);
    }
    let has = |name: &str| tools.iter().any(|tool| tool == name);
    if has("analyze") {
        let analyze = |enough| {
            call("analyze", json!({ "sub_task": "where double is defined", "enough": enough }))
        };
        let retrieve = |name| call("retrieve", json!({ "kind": "function", "name": name }));
        let verify = |relevant| call("verify", json!({ "relevant": relevant, "reason": "seen" }));
        let write = call("edit", json!({ "action": "create", "text": GIST_OF_SMALL }));
        return json!([
            { "content": "I write at once.", "calls": [write, verify(true)] },
            { "calls": [analyze(false)] },
            { "calls": [analyze(false), retrieve("calc.words.shout")] },
            { "calls": [verify(false)] },
            { "calls": [analyze(false)] },
            { "calls": [retrieve("numbers.doubles")] },
            { "calls": [write, verify(true)] },
            { "calls": [analyze(true)] },
            { "calls": [retrieve("shout"), write] },
            { "calls": [call("submit", json!({}))] },
        ]);
    }
    let mut looks = Vec::new();
    let uses = [
        ("view", json!({ "target": "calc/numbers.py" })),
        ("search", json!({ "pattern": "double" })),
        ("relate", json!({ "relation": "callers", "of": "calc.numbers.double" })),
        ("trace", json!({})),
        ("slice", json!({})),
        ("sumbit", json!("{\"no\": ")),
    ];
    for (tool, arguments) in uses {
        if has(tool) || tool == "sumbit" {
            looks.push(call(tool, arguments));
        }
    }
    let shell = format!(
        "cat > tests/concise.py <<'E'\n{GIST_OF_SMALL}E\npython -m pytest -q tests/concise.py"
    );
    let edits = ["edit", "edit_execute"].into_iter().find(|name| has(name));
    let write = match edits {
        Some(name) => call(name, json!({ "action": "create", "text": GIST_OF_SMALL })),
        None if has("bash") => call("bash", json!({ "command": shell })),
        None => call("execute", json!({})),
    };
    json!([
        { "content": "I look.", "calls": looks },
        { "content": "I write.", "calls": [write], "usage": { "input": 10, "output": 5 } },
        { "calls": [call("submit", json!({}))] },
    ])
}

/// Runs the small repository's test under a scaffold; gives the run, and what the model saw first.
fn play(user: &User, python: &str, name: &str, more: &[&str]) -> (Ran, serde_json::Value) {
    let model = user.here().join("model.py");
    fs::write(&model, MODEL).unwrap();
    let listed: serde_json::Value =
        serde_json::from_str(&user.gistify(&["scaffolds", "--json"]).out).unwrap();
    let scaffolds = listed.as_array().unwrap();
    let settings = &scaffolds.iter().find(|scaffold| scaffold["name"] == name).unwrap()["settings"];
    let tools = settings["writer"]["tools"].as_array().unwrap().iter();
    let tools: Vec<String> = tools.map(|tool| tool.as_str().unwrap().to_owned()).collect();
    let file = settings["writer"]["answer"] == "file";
    let path = user.here().join("script.json");
    fs::write(&path, script(&tools, file).to_string()).unwrap();
    let model = format!("command/{python} {} {}", model.display(), path.display());
    let record = user.here().join(format!("record-{name}"));
    let record = record.to_str().unwrap();
    let args = ["run", "small", "--force", "--run-dir", record, "--python", python];
    let model = ["--scaffold", name, "-m", &model];
    let command = ["--", "pytest", "tests/test_numbers.py::test_double"];
    let ran = user.gistify(&[&args[..], &model, more, &command].concat());
    (ran, seen(user, "first"))
}

/// The first or the last request that the model saw.
fn seen(user: &User, which: &str) -> serde_json::Value {
    serde_json::from_str(&read(&user.here().join(format!("{which}.json")))).unwrap()
}

#[test]
fn every_scaffold_comes_to_its_end() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let listed = user.gistify(&["scaffolds"]);
    let names: Vec<&str> =
        listed.out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 12, "{}", listed.out);
    // The ablations differ in what another test looks at; all of them are run on a real task elsewhere.
    let ablation = |name: &str| name.starts_with("ablation-") && name != "ablation-edit-execute";
    for name in names.into_iter().filter(|name| !ablation(name)) {
        let (ran, told) = play(&user, &python, name, &[]);
        assert_eq!(ran.code, 0, "{name}: {}{}", ran.out, ran.err);
        assert!(ran.out.starts_with("faithful: all 2 cases"), "{name}: {}", ran.out);
        let text = told["messages"].to_string();
        let knows = |what: &str| text.contains(what);
        match name {
            "repomaster" => {
                assert!(knows("return value * FACTOR") && knows("tests/test_numbers.py:"))
            }
            "repomaster-no-analysis" => assert!(knows("The modules of") && !knows("by rank")),
            "static" => assert!(knows("return value * FACTOR") && knows("```python")),
            "self-planning-rag" => assert!(knows("most like the test")),
            "chain-of-context" => assert!(knows("VERIFY") && knows("print('doubling')")),
            _ => {}
        }
        let trajectory = read(&user.here().join(format!("record-{name}/trajectory.jsonl")));
        assert!(trajectory.contains(r#""outcome":{"kind":"submitted"}"#), "{name}");
    }
    assert_eq!(user.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn stages_are_held_to_their_turn() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let (ran, _) = play(&user, &python, "chain-of-context", &[]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let trajectory = read(&user.here().join("record-chain-of-context/trajectory.jsonl"));
    for refused in [
        "it is the turn of analyze, not of edit",
        "it is the turn of analyze, not of verify",
        "it is the turn of retrieve, not of analyze",
        "it is the turn of verify, not of edit",
        "it is the turn of edit, not of retrieve",
    ] {
        assert!(trajectory.contains(refused), "{refused}");
    }
    // The closest match of a name that nothing has.
    let closest = r#"\"exact\":false,\"left_out\":0,\"name\":\"calc.numbers.double\""#;
    assert!(trajectory.contains(closest), "{trajectory}");
    assert!(trajectory.contains(r#""type":"condensed""#));
    let seen = seen(&user, "last").to_string();
    assert!(seen.contains("return value * FACTOR"));
    assert!(!seen.contains("return text.upper()") && seen.contains("was dropped as not relevant"));
}

#[test]
fn ablations_change_what_is_offered_and_what_is_told() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let told = |scaffold: &str| {
        let args = ["prompt", "small", "--python", &python, "--scaffold", scaffold];
        let command = ["-m", "command/true", "--json", "--", "pytest", "tests/test_numbers.py"];
        let ran = user.gistify(&[&args[..], &command].concat());
        assert_eq!(ran.code, 0, "{scaffold}: {}", ran.err);
        let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let tools = told["tools"].as_array().unwrap().iter();
        let tools: Vec<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
        (tools.join(" "), told["messages"].to_string())
    };
    for (scaffold, tools, ranked, cut) in [
        ("repomaster", "view search relate edit submit", true, true),
        ("repomaster-no-analysis", "view search relate edit submit", false, true),
        ("repomaster-no-exploration", "bash edit submit", true, true),
        ("repomaster-no-selection", "view search relate edit submit", true, false),
        ("repomaster-no-all", "bash edit submit", false, false),
        ("ablation-base", "view search edit submit", false, false),
        ("ablation-repograph", "view search relate edit submit", false, false),
        ("ablation-trace-tool", "view search trace edit submit", false, false),
        ("ablation-bash", "view search edit bash submit", false, false),
        ("ablation-edit-execute", "view search edit_execute submit", false, false),
    ] {
        let (offered, text) = told(scaffold);
        assert_eq!(offered, tools, "{scaffold}");
        assert_eq!(text.contains("What the test reaches by name"), ranked, "{scaffold}");
        assert_eq!(text.contains("classes of the repository by rank"), ranked, "{scaffold}");
        assert_eq!(text.contains("share one bound"), cut, "{scaffold}");
    }
    let phrases = ["print('doubling')", "Before you write, read", "follow the command's execution"];
    for (scaffold, expected) in [
        ("ablation-base", [false, false, false]),
        ("ablation-test-body", [true, false, false]),
        ("ablation-reading", [false, true, false]),
        ("ablation-tracing", [false, false, true]),
    ] {
        let (_, text) = told(scaffold);
        assert_eq!(phrases.map(|phrase| text.contains(phrase)), expected, "{scaffold}");
    }
}

#[test]
fn the_limit_of_the_opening_is_one_of_the_whole_message() {
    let Some(python) = python() else { return };
    let user = User::new();
    let mut source = String::from("def number_400():\n    return 0\n\n\n");
    for at in (0..400).rev() {
        let next = at + 1;
        source += &format!(
            "def number_{at}():\n    value = {at}\n    return value + number_{next}()\n\n\n"
        );
    }
    let test = "from many import number_0\n\n\ndef test_all():\n    assert number_0() == 79800\n";
    user.repository("many", &format!("#- many.py\n{source}#- test_many.py\n{test}"));
    for limit in [3_000, 8_000] {
        let setting = format!("writer.opening_tokens={limit}");
        let args =
            ["prompt", "many", "--python", &python, "--scaffold", "repomaster", "--set", &setting];
        let command = ["-m", "command/true", "--json", "--", "pytest", "test_many.py"];
        let ran = user.gistify(&[&args[..], &command].concat());
        assert_eq!(ran.code, 0, "{limit}: {}", ran.err);
        let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let size = told["tokens"]["opening"].as_u64().unwrap();
        assert!((limit * 3 / 4..=limit).contains(&size), "{limit}: {size}");
    }
}

#[test]
fn a_task_whose_files_do_not_fit_is_unfit_for_the_static_scaffold() {
    let Some(python) = python() else { return };
    let user = User::new();
    let root = user.repository("small", SMALL);
    let lines = (0..400).map(|at| format!("# one of the {at} lines that say nothing\n"));
    let long = read(&root.join("calc/numbers.py")) + &lines.collect::<String>();
    fs::write(root.join("calc/numbers.py"), long).unwrap();
    let answer = serde_json::json!([format!("```python\n{GIST_OF_SMALL}```\n")]);
    fs::write(user.here().join("model.py"), MODEL).unwrap();
    fs::write(user.here().join("script.json"), answer.to_string()).unwrap();
    let model = format!("command/{python} model.py script.json");
    let check = |more: &[&str], code: i32, told: &str| {
        let args = ["run", "small", "--force", "--python", &python, "--scaffold", "static"];
        let command = ["--", "pytest", "tests/test_numbers.py::test_double"];
        let ran = user.gistify(&[&args[..], &["-m", &model], more, &command].concat());
        assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
        assert!((ran.out + &ran.err).contains(told), "{told}: {}", ran.err);
    };
    let small = "writer.opening_tokens=2000";
    let told = "no gist: unfit: the files that the command touches have ";
    check(&["--set", small], 3, told);
    assert!(!user.here().join("first.json").exists(), "the model was asked");
    check(&["--set", small, "--set", "writer.only_fitting=false"], 0, "faithful");
    assert!(seen(&user, "first").to_string().contains("more left out]"));
}

#[test]
fn selection_cuts_long_replies_and_its_ablation_does_not() {
    let Some(python) = python() else { return };
    let user = User::new();
    let root = user.repository("small", SMALL);
    let lines =
        (0..400).map(|n| format!("def other_{n}(a, b, c): return [a, b, c, 'no {n}', {n}]\n"));
    let long = read(&root.join("calc/numbers.py")) + &lines.collect::<String>();
    fs::write(root.join("calc/numbers.py"), long).unwrap();
    for (scaffold, cut) in [("repomaster", true), ("repomaster-no-selection", false)] {
        let (ran, _) = play(&user, &python, scaffold, &[]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let seen = seen(&user, "last");
        let messages = seen["messages"].as_array().unwrap();
        let view = messages.iter().find(|message| message["tool"] == "view").unwrap();
        let content = view["content"].as_str().unwrap();
        let is_cut = content.contains("bytes left out") || content.contains("lines left out");
        assert_eq!(is_cut, cut, "{scaffold}: {content}");
        // The tool's own bound is no selection, and the ablation loses nothing to it.
        assert_eq!(content.contains(r#""left_out":0"#), !cut, "{scaffold}: {content}");
    }
}

#[test]
fn tools_and_strategies_are_added() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let more = ["--with", "trace,execute", "--strategy", "tracing"];
    let (ran, told) = play(&user, &python, "mini-swe", &more);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let names: Vec<&str> = told["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["bash", "trace", "execute", "submit"]);
    assert!(told["messages"].to_string().contains("follow the command's execution"));
    let unknown = user.gistify(&["config", "--set", "writer.scaffold=repomastr"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("no scaffold"), "{}", unknown.err);
}

/// The task's command, as it stands, died of a missing module in the shell; and the paper's default, no execution,
/// could not be had.
#[test]
fn a_shell_has_the_environment_of_the_command_or_no_interpreter() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    fs::write(user.here().join("model.py"), MODEL).unwrap();
    let path = user.here().join("script.json");
    let bash = |command: &str| call("bash", serde_json::json!({ "command": command }));
    let script = serde_json::json!([{ "calls": [
        bash("pytest -q tests/test_numbers.py::test_double"),
        bash("ls calc; command -v python python3 pytest pip || echo none of these"),
        // Nor by its path, nor as a copy.
        bash("cp /usr/bin/python3 here; ./here -c 'print(6 * 7)'; /usr/bin/python3 -c 'print(6 * 7)'; echo tried"),
        bash(&format!("cat > tests/concise.py <<'E'\n{GIST_OF_SMALL}E")),
        call("submit", serde_json::json!({})),
    ] }]);
    fs::write(&path, script.to_string()).unwrap();
    let model = format!("command/{python} model.py {}", path.display());
    for (scaffold, ended, none) in
        [("mini-swe-execution", "exit code 0", false), ("mini-swe", "exit code 127", true)]
    {
        let record = format!("record-{scaffold}");
        let args = ["run", "small", "--force", "--run-dir", &record, "--python", &python];
        let command = [
            "--scaffold",
            scaffold,
            "-m",
            &model,
            "--",
            "pytest",
            "tests/test_numbers.py::test_double",
        ];
        let ran = user.gistify(&[&args[..], &command].concat());
        assert_eq!(ran.code, 0, "{scaffold}: {}{}", ran.out, ran.err);
        let scores = read(&user.here().join(&record).join("scores.json"));
        let trajectory = read(&user.here().join(record).join("trajectory.jsonl"));
        assert!(
            trajectory.contains(&format!(r#"\"ended\":\"{ended}\""#)),
            "{scaffold}: {trajectory}"
        );
        assert_eq!(trajectory.contains("none of these\\\\n"), none, "{scaffold}");
        assert!(trajectory.contains("tried\\\\n"), "{scaffold}: {trajectory}");
        let has_python = Path::new("/usr/bin/python3").exists() && !none;
        assert_eq!(trajectory.contains("42\\\\n"), has_python, "{scaffold}: {trajectory}");
        // A shell call counts by what its script does.
        let scores: serde_json::Value = serde_json::from_str(&scores).unwrap();
        let calls = serde_json::json!({ "execute": 2, "view": 1, "other": 2 });
        assert_eq!(scores["effort"]["calls"], calls, "{scaffold}");
        assert!(trajectory.contains("numbers.py"), "{scaffold}");
    }
}

#[test]
fn s17_shell_commands_change_nothing_but_the_copy() {
    let Some(python) = python() else { return };
    let user = User::new();
    let root = user.repository("small", SMALL);
    fs::write(user.here().join("canary"), "secret").unwrap();
    fs::write(user.here().join("model.py"), MODEL).unwrap();
    let canary = user.here().join("canary");
    let bash = |command: String| call("bash", serde_json::json!({ "command": command }));
    let script = serde_json::json!([
        { "calls": [
            bash("rm -rf calc; git log; echo gone > calc".to_owned()),
            bash(format!("ln -s {} tests/concise.py", canary.display())),
            call("submit", serde_json::json!({})),
            bash(format!("rm tests/concise.py; cat > tests/concise.py <<'E'\n{GIST_OF_SMALL}E")),
            call("submit", serde_json::json!({})),
        ] },
    ]);
    let path = user.here().join("script.json");
    fs::write(&path, script.to_string()).unwrap();
    let model = format!("command/{python} model.py {}", path.display());
    let args =
        ["run", "small", "--run-dir", "record", "--python", &python, "--scaffold", "mini-swe"];
    let command = ["-m", &model, "--", "pytest", "tests/test_numbers.py::test_double"];
    let ran = user.gistify(&[&args[..], &command].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(root.join("calc/numbers.py").is_file());
    let trajectory = read(&user.here().join("record/trajectory.jsonl"));
    assert!(trajectory.contains("the gist is no regular file"), "{trajectory}");
    assert!(!trajectory.contains("secret"));
}
