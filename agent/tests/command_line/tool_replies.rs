//! Tests what tools reply to a writer in a session of the program: calls of a scripted model, and the replies
//! as that model reads them.

use serde_json::{Value, json};

use super::*;

/// Makes the calls of a file in one answer, and hands in what there is.
const CALLER: &str = r#"
import json, sys
request = json.load(sys.stdin)
replies = [message["content"] for message in request["messages"] if message["role"] == "tool"]
if not replies:
    print(json.dumps({"calls": json.load(open(sys.argv[1]))}))
else:
    json.dump(replies, open("replies.json", "w"))
    print(json.dumps({"calls": [{"tool": "submit", "arguments": {}}]}))
"#;

/// Runs a test of a repository with a model that makes some calls; returns their replies.
fn replies(user: &User, python: &str, command: &[&str], calls: &Value) -> Vec<String> {
    fs::write(user.here().join("caller.py"), CALLER).unwrap();
    fs::write(user.here().join("calls.json"), calls.to_string()).unwrap();
    let model = format!("command/{python} caller.py calls.json");
    let more = ["--with", "relate,trace,execute", "--set", "session.steps=2"];
    let args = ["run", "small", "--force", "--python", python, "--scaffold", "ablation-base"];
    user.gistify(&[&args[..], &["-m", &model], &more, &["--"], command].concat());
    let replies: Vec<String> =
        serde_json::from_str(&read(&user.here().join("replies.json"))).unwrap();
    assert_eq!(replies.len(), calls.as_array().unwrap().len());
    replies
}

#[test]
fn any_command_is_traced() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let expected = [
        ("python -c \"from calc import shout; print(shout('a'))\"", "calc/words.py:[\"shout:1\"]"),
        ("pytest tests/test_numbers.py::test_fails", "calc/numbers.py:[\"double:4\"]"),
        ("python -m calc.words", ""),
    ];
    let calls: Vec<Value> = expected
        .iter()
        .map(|(command, _)| json!({ "tool": "trace", "arguments": { "command": command } }))
        .collect();
    let test = ["pytest", "tests/test_numbers.py::test_double"];
    let found = replies(&user, &python, &test, &calls.into());
    for ((command, entered), reply) in expected.into_iter().zip(found) {
        let reply: Value = serde_json::from_str(&reply).expect(&reply);
        let groups = reply["entered"].as_array().unwrap().iter();
        let shown = groups.filter(|group| group["path"].as_str().unwrap().starts_with("calc"));
        let shown: Vec<String> = shown
            .map(|group| format!("{}:{}", group["path"].as_str().unwrap(), group["functions"]))
            .collect();
        assert_eq!(shown.join(" "), entered, "{command}: {reply:#}");
        assert!(!reply.to_string().contains("inline"), "{reply:#}");
    }
}

const FIXTURED: &str = "\
#- calc.py
def double(value):
    if value is None:
        return None
    return value * 2
#- tests/conftest.py
import pytest


@pytest.fixture(autouse=True)
def clean():
    yield
#- tests/test_calc.py
from calc import double


def test_double():
    assert double(1) == 2
";

/// Facts of a gist, and no scores: lines that did not run, lines that are nowhere in the original, names without a
/// definition, and fixtures that are gone.
#[test]
fn execute_tells_a_writer_the_facts_of_its_gist() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", FIXTURED);
    let fixture = "import pytest\n@pytest.fixture(autouse=True)\ndef clean():\n    yield\n";
    let test = "def test_double():\n    assert double(1) == 2\n";
    let gone = "clean (tests/conftest.py:4)";
    // A gist, then its idle lines, its foreign lines, its undefined names and its missing fixtures.
    let rows = [
        (
            format!(
                "{fixture}def double(value):\n    if value is None:\n        return None\n    return value * 2\n{test}"
            ),
            json!({ "same": true, "idle": "7", "foreign": "", "undefined": [], "missing_fixtures": [] }),
        ),
        (
            format!("def double(value):\n    return value + value\n{test}"),
            json!({ "same": true, "idle": "", "foreign": "2", "undefined": [], "missing_fixtures": [gone] }),
        ),
        (
            format!("{fixture}{test}"),
            json!({ "same": false, "idle": null, "foreign": "", "undefined": ["double (line 6)"], "missing_fixtures": [] }),
        ),
    ];
    let calls = rows.iter().flat_map(|(gist, _)| {
        let edit = json!({ "action": "create", "text": gist });
        [
            json!({ "tool": "edit", "arguments": edit }),
            json!({ "tool": "execute", "arguments": {} }),
        ]
    });
    let test = ["pytest", "tests/test_calc.py::test_double"];
    let found = replies(&user, &python, &test, &calls.collect::<Vec<_>>().into());
    for ((gist, expected), reply) in rows.iter().zip(found.iter().skip(1).step_by(2)) {
        let reply: Value = serde_json::from_str(reply).expect(reply);
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&reply[key], value, "{key} of\n{gist}{reply:#}");
        }
    }
}
