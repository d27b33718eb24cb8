//! Tests runs with a provider, here the loopback server: their records, a replay, and the effect of
//! a quota on a bench.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    GIST_OF_SMALL, Ran, SMALL, User, python, read,
    server::{Does, EVENTS, JSON, Server, delta, events, finish},
};

const KEY: &str = "sk-canary-1234567890";

/// Tools and arguments of a session, answer by answer.
pub fn session() -> [Vec<(&'static str, Value)>; 3] {
    [
        vec![
            ("view", json!({ "target": "calc/numbers.py" })),
            ("search", json!({ "pattern": "double" })),
        ],
        vec![("edit", json!({ "action": "create", "text": GIST_OF_SMALL }))],
        vec![("submit", json!({}))],
    ]
}

/// The session as chat completions, each call in two parts.
pub fn chats() -> Vec<Does> {
    let chat = |calls: Vec<(&str, Value)>| {
        let mut chunks = Vec::new();
        for (index, (tool, arguments)) in calls.into_iter().enumerate() {
            let arguments = arguments.to_string();
            let (first, second) = arguments.split_at(arguments.len() / 2);
            let part = |mut call: Value| {
                call["index"] = index.into();
                let mut chunk = delta(json!({ "role": "assistant", "tool_calls": [call] }));
                chunk["id"] = "c".into();
                chunk["object"] = "chat.completion.chunk".into();
                chunk
            };
            let function = json!({ "name": tool, "arguments": first });
            let id = format!("call_{index}");
            chunks.push(part(json!({ "id": id, "type": "function", "function": function })));
            chunks.push(part(json!({ "function": { "arguments": second } })));
        }
        chunks.push(finish("tool_calls"));
        Does::Answer(200, EVENTS, events(&chunks))
    };
    session().into_iter().map(chat).collect()
}

/// A run of the small repository's test with a model of a server.
fn run(user: &User, server: &Server, record: &str, sets: &[&str]) -> Ran {
    let python = python().unwrap();
    let output = format!("{record}.py");
    let args = ["run", "small", "--run-dir", record, "-o", &output, "--python", &python];
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    let command = ["-m", "openai/gpt-4.1", "--", "pytest", "tests/test_numbers.py::test_double"];
    let mut command = user.command(&[&args[..], &sets, &command].concat());
    command.env("OPENAI_BASE_URL", &server.address).env("OPENAI_API_KEY", KEY);
    Ran::of(command.output().unwrap(), user)
}

/// Lines of a trajectory without the time, and without how the exchanges were had.
fn timeless(path: &Path) -> Vec<Value> {
    let lines = read(path);
    let mut lines: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        for part in ["", "/message"] {
            if let Some(part) = line.pointer_mut(part).and_then(Value::as_object_mut) {
                part.remove("seconds");
                part.remove("time");
            }
        }
        for key in ["model", "gist"] {
            if let Some(settings) = line.pointer_mut("/settings").and_then(Value::as_object_mut) {
                settings.remove(key);
            }
        }
    }
    lines
}

#[test]
fn a_recorded_run_replays_to_the_same_trajectory_and_gist() {
    if python().is_none() {
        return;
    }
    let user = User::new();
    user.repository("small", SMALL);
    // The first exchange fails, which a record has no trace of.
    let down = Does::Answer(503, "", "down".to_owned());
    let server = Server::start([vec![down], chats()].concat());
    let quick = "model.pause_seconds=0.01";
    let first = run(&user, &server, "first", &["model.record=true", quick]);
    assert_eq!(first.code, 0, "{}{}", first.out, first.err);
    let here = user.here();
    let exchanges = read(&here.join("first/exchanges.jsonl"));
    assert_eq!(exchanges.lines().count(), 3);
    let told = read(&here.join("first/trajectory.jsonl"));
    assert!(!format!("{exchanges}{told}{}{}", first.out, first.err).contains(KEY));
    // What each request has said before is a part of the next, byte for byte.
    let requests: Vec<String> = exchanges
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["request"].clone())
        .map(|request| request.as_str().unwrap().to_owned())
        .collect();
    for pair in requests.windows(2) {
        let shared = pair[0].find("],\"model\"").expect("where the messages end");
        assert_eq!(pair[1][..shared], pair[0][..shared]);
    }

    let asked = server.seen().len();
    let replay = format!("model.replay={}", here.join("first/exchanges.jsonl").display());
    let second = run(&user, &server, "second", &[&replay]);
    assert_eq!(second.code, 0, "{}{}", second.out, second.err);
    assert_eq!(server.seen().len(), asked, "a replay asks nobody");
    let lines = |record: &str| timeless(&here.join(record).join("trajectory.jsonl"));
    assert_eq!(lines("first"), lines("second"));
    assert_eq!(read(&here.join("first.py")), read(&here.join("second.py")));

    // Another conversation is no replay.
    let third = run(&user, &server, "third", &[&replay, "writer.strategy=reading"]);
    assert_eq!(third.code, 5, "{}", third.out);
    assert!(
        third.err.contains("the request differs from the recorded one at byte"),
        "{}",
        third.err
    );
}

#[test]
fn d07_a_quota_pauses_a_bench_until_it_is_resumed() {
    let Some(python) = python() else { return };
    let user = User::new();
    let root = user.repository("small", SMALL);
    let task = |at: usize| {
        let test = "tests/test_numbers.py::test_double";
        format!("[[task]]\nid = 'task {at}'\ntest = '{test}'\ncommand = 'pytest {test}'\n")
    };
    let head = format!("source = '{}'\npython = '{python}'\n", root.display());
    let suite = head + &(0..3).map(task).collect::<String>();
    std::fs::write(user.here().join("s.toml"), suite).unwrap();
    let bench = |server: &Server, how: &str| {
        let args = ["bench", "s.toml", how, "run", "--json", "-m", "openai/gpt-4.1"];
        let mut command = user.command(&args);
        command.env("OPENAI_BASE_URL", &server.address).env("OPENAI_API_KEY", KEY);
        Ran::of(command.output().unwrap(), &user)
    };
    let summary = |ran: &Ran| -> Value { serde_json::from_str(&ran.out).unwrap() };
    let error = json!({ "error": { "message": "no money", "code": "insufficient_quota" } });
    let refusal = vec![Does::Answer(429, JSON, error.to_string())];
    let server = Server::start([refusal, chats(), chats(), chats()].concat());
    let ran = bench(&server, "--run-dir");
    assert_eq!(ran.code, 5, "{}{}", ran.out, ran.err);
    let suite = &summary(&ran)["suites"][0];
    assert_eq!((&suite["tasks"], &suite["scored"]), (&json!(3), &json!(0)), "{suite}");
    assert_eq!(server.seen().len(), 1, "one session is told for all of them");

    let other = Server::start(chats());
    let ran = bench(&other, "--resume");
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("address: was"), "{}", ran.err);
    let ran = bench(&server, "--resume");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let suite = &summary(&ran)["suites"][0];
    assert_eq!(
        (&suite["scored"], &suite["scores"]["execution_fidelity_strict"]["value"]),
        (&json!(3), &json!(1.0)),
        "{suite}"
    );
}
