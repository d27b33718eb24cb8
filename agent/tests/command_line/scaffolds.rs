//! Every scaffold, from its first prompt to a gist that was judged, with a program in the place of a
//! model: it says what it was told to say, and nothing here tells how a real model would do.

use super::*;

/// Plays one scripted answer after the other: which one is next follows from the conversation.
const MODEL: &str = r#"
import json, sys
request = json.load(sys.stdin)
script = json.load(open(sys.argv[1]))
step = sum(1 for message in request["messages"] if message["role"] == "assistant")
answer = script[step]
print(answer if isinstance(answer, str) else json.dumps(answer))
"#;

/// A gist as a careful model would write it.
const GIST: &str = "\
import pytest

FACTOR = 2


def double(value):
    return value * FACTOR


@pytest.mark.parametrize('value', [1, 2])
def test_double(value):
    print('doubling')
    assert double(value) == value * 2
";

fn call(tool: &str, arguments: serde_json::Value) -> serde_json::Value {
    serde_json::json!({ "tool": tool, "arguments": arguments })
}

/// What the model says under a scaffold with these tools: each tool once, several calls in one answer.
fn script(tools: &[String], file: bool) -> serde_json::Value {
    use serde_json::json;
    if file {
        return json!([format!("A plan.\n\n```python\n{GIST}```\n")]);
    }
    let has = |name: &str| tools.iter().any(|tool| tool == name);
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
    let shell =
        format!("cat > tests/concise.py <<'E'\n{GIST}E\npython -m pytest -q tests/concise.py");
    let write = match has("edit") {
        true => call("edit", json!({ "action": "create", "text": GIST })),
        false if has("bash") => call("bash", json!({ "command": shell })),
        false => call("execute", json!({})),
    };
    json!([
        { "content": "I look.", "calls": looks },
        { "content": "I write.", "calls": [write], "usage": { "input": 10, "output": 5 } },
        { "calls": [call("submit", json!({}))] },
    ])
}

/// Runs the small repository's test under a scaffold; gives the run's record.
fn play(user: &User, python: &str, name: &str, more: &[&str]) -> (Ran, serde_json::Value) {
    let model = user.here().join("model.py");
    fs::write(&model, MODEL).unwrap();
    let told = ["prompt", "small", "--python", python, "--scaffold", name, "-m", "command/true"];
    let command = ["--", "pytest", "tests/test_numbers.py::test_double"];
    let told = user.gistify(&[&told[..], more, &["--json"], &command].concat());
    assert_eq!(told.code, 0, "{name}: {}", told.err);
    let told: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    let tools = told["tools"].as_array().unwrap().iter();
    let tools: Vec<String> = tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    let file = ["static", "self-planning-rag"].contains(&name);
    let path = user.here().join("script.json");
    fs::write(&path, script(&tools, file).to_string()).unwrap();
    let model = format!("command/{python} {} {}", model.display(), path.display());
    let record = user.here().join(format!("record-{name}"));
    let record = record.to_str().unwrap();
    let args = ["run", "small", "--force", "--run-dir", record, "--python", python];
    let model = ["--scaffold", name, "-m", &model];
    let ran = user.gistify(&[&args[..], &model, more, &command].concat());
    (ran, told)
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
    for name in names {
        let (ran, told) = play(&user, &python, name, &[]);
        assert_eq!(ran.code, 0, "{name}: {}{}", ran.out, ran.err);
        assert!(ran.out.starts_with("faithful: all 2 cases"), "{name}: {}", ran.out);
        let text = told["messages"].to_string();
        let knows = |what: &str| text.contains(what);
        match name {
            "repomaster" => assert!(knows("by rank") && knows("class") || knows("calc/numbers.py")),
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
            bash(format!("rm tests/concise.py; cat > tests/concise.py <<'E'\n{GIST}E")),
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
