//! Tests OpenAI's responses: requests, answers, and items that are sent back.

use super::*;

const RESPONSES: [&str; 1] = ["model.protocol=openai-responses"];

/// Events as responses send them.
fn stream(all: &[Value]) -> Does {
    let all = all.iter().map(|event| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    });
    Does::Answer(200, EVENTS, all.collect())
}

fn message(text: &str) -> Value {
    let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
    json!({ "type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": content })
}

fn thought(id: &str) -> Value {
    let summary = json!([{ "type": "summary_text", "text": "hm" }]);
    json!({ "type": "reasoning", "id": id, "summary": summary, "encrypted_content": "SECRET" })
}

fn function(id: &str, arguments: &str) -> Value {
    json!({ "type": "function_call", "id": "fc", "call_id": id, "name": "view", "arguments": arguments })
}

fn whole(status: &str, output: &[Value]) -> Value {
    let usage = json!({
        "input_tokens": 100,
        "output_tokens": 20,
        "input_tokens_details": { "cached_tokens": 60 },
    });
    json!({ "object": "response", "status": status, "output": output, "usage": usage, "error": null })
}

fn completed(output: &[Value]) -> Value {
    json!({ "type": "response.completed", "response": whole("completed", output) })
}

fn good() -> Does {
    stream(&[completed(&[message("hello")])])
}

#[track_caller]
fn check(behaviours: Vec<Does>, expected: &str, requests: usize) {
    let (answer, seen) = ask("openai/gpt-4.1", behaviours, &RESPONSES);
    assert_eq!((shown(&answer).as_str(), seen.len()), (expected, requests));
}

#[test]
fn items_are_read_and_given_back() {
    let items = [
        thought("rs_1"),
        message("I look"),
        function("a", "{\"target\":\"x\"}"),
        thought("rs_2"),
        function("a", "{\"tar"),
    ];
    let part = json!({ "type": "response.output_text.delta", "delta": "I l" });
    let server = Server::start(vec![stream(&[part, completed(&items)]), good()]);
    let mut model = open(&supply(&server, "openai/gpt-4.1", &RESPONSES));
    let mut messages = opening();
    let answer = ask_with(&mut *model, &messages);
    assert_eq!(shown(&answer), r#"I look|a view {"target":"x"}|a-2 view "{\"tar""#);
    let answer = answer.unwrap();
    assert_eq!(answer.reasoning, "hmhm");
    assert_eq!((answer.usage.input, answer.usage.output, answer.usage.cached), (100, 20, 60));
    assert!((answer.cost.unwrap() - 270e-6).abs() < 1e-12);
    // What is on record is enough to go on with.
    let answer: Answer = serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap();
    messages.push(Message::Assistant(answer));
    messages.push(Message::Tool(ToolReply {
        id: "a".to_owned(),
        tool: "view".to_owned(),
        content: "text".to_owned(),
        refused: false,
        seconds: 0.0,
    }));
    assert_eq!(shown(&ask_with(&mut *model, &messages)), "hello");
    let seen = server.seen();
    assert!(seen[0].head.contains("POST /v1/responses"));
    assert!(seen[0].head.contains(&format!("authorization: Bearer {KEY}")));
    let body = |at: usize| -> Value { serde_json::from_str(&seen[at].body).unwrap() };
    let (first, second) = (body(0), body(1));
    assert_eq!((&first["stream"], &first["store"]), (&json!(true), &json!(false)));
    assert_eq!(first["tools"][0]["name"], "view");
    let kinds: Vec<&str> = second["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().or(item["role"].as_str()).unwrap())
        .collect();
    let expected = [
        "system",
        "user",
        "reasoning",
        "message",
        "function_call",
        "reasoning",
        "function_call",
        "function_call_output",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(second["input"][2], thought("rs_1"));
    assert_eq!(second["input"][6]["call_id"], "a-2");
    let arguments = second["input"][6]["arguments"].as_str().unwrap();
    assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
    assert_eq!(second["input"][7]["call_id"], "a");
}

#[test]
fn an_answer_that_does_not_stream_is_read_too() {
    let body = format!("{:#}", whole("completed", &[message("hi")]));
    check(vec![Does::Answer(200, JSON, body)], "hi", 1);
}

#[test]
fn items_count_where_the_last_word_does_not_repeat_them() {
    let done = json!({ "type": "response.output_item.done", "item": message("hi") });
    check(vec![stream(&[done, completed(&[])])], "hi", 1);
}

#[test]
fn d06_a_cut_answer_is_never_acted_on() {
    let done = json!({ "type": "response.output_item.done", "item": function("a", "{}") });
    check(vec![stream(&[done]), good()], "hello", 2);
}

#[test]
fn d06_what_was_cut_at_the_limit_of_tokens_is_a_fault() {
    let mut response = whole("incomplete", &[message("so"), function("a", "{}")]);
    response["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    let event = json!({ "type": "response.incomplete", "response": response });
    check(vec![stream(&[event])], "so!it was cut at the limit of written tokens", 1);
}

#[test]
fn failures_in_an_answer_are_told_apart() {
    let failed = |code: &str| {
        let error = json!({ "code": code, "message": "no" });
        stream(&[json!({ "type": "response.failed", "response": { "error": error } })])
    };
    check(vec![failed("server_error"), good()], "hello", 2);
    check(vec![failed("insufficient_quota")], "paused: no", 1);
    check(vec![failed("context_length_exceeded")], "too long: no", 1);
    let error = json!({ "type": "error", "code": "server_error", "message": "no" });
    check(vec![stream(&[error]), good()], "hello", 2);
}

#[test]
fn models_that_refuse_tools_are_asked_by_text() {
    let refusal = json!({ "error": { "message": "x does not support tools" } }).to_string();
    let text = "I look\n```tool\n{\"tool\": \"view\", \"arguments\": {\"target\": \"a\"}}\n```";
    let behaviours = vec![
        Does::Answer(400, JSON, refusal),
        stream(&[completed(&[thought("r"), message(text)])]),
    ];
    check(behaviours, r#"I look|call view {"target":"a"}"#, 2);
}

#[test]
fn items_that_nobody_knows_and_phases_are_given_back() {
    let compaction = json!({ "type": "compaction", "id": "c", "encrypted_content": "SMALL" });
    let mut told = message("I look");
    told["phase"] = json!("commentary");
    let mut response = whole("completed", &[compaction.clone(), told.clone(), function("a", "{}")]);
    response["usage"]["input_tokens_details"]["cache_write_tokens"] = json!(30);
    let response = json!({ "type": "response.completed", "response": response });
    let server = Server::start(vec![stream(&[response]), good()]);
    let mut model = open(&supply(&server, "openai/gpt-4.1", &RESPONSES));
    let mut messages = opening();
    let answer = ask_with(&mut *model, &messages).unwrap();
    assert_eq!(answer.usage.stored, 30);
    messages.push(Message::Assistant(answer));
    let _ = ask_with(&mut *model, &messages);
    let sent: Value = serde_json::from_str(&server.seen()[1].body).unwrap();
    let input = sent["input"].as_array().unwrap();
    assert!(input.contains(&compaction) && input.contains(&told), "{input:?}");
}
