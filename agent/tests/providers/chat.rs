//! Chat completions: calls in parts, answers at once, models without calls.

use super::*;

#[test]
fn parallel_calls_are_put_together() {
    let chunks = [
        delta(json!({ "reasoning_content": "hm", "content": "I look" })),
        call(0, "a", "{\"tar"),
        call(1, "b", ""),
        delta(
            json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "get\":\"x\"}" } }] }),
        ),
        json!({ "choices": [] }),
        finish("tool_calls"),
    ];
    let (answer, seen) =
        ask("openai/gpt-4.1", vec![Does::Answer(200, EVENTS, events(&chunks))], &[]);
    assert_eq!(shown(&answer), r#"I look|a view {"target":"x"}|b view {}"#);
    let answer = answer.unwrap();
    assert_eq!(answer.reasoning, "hm");
    assert_eq!((answer.usage.input, answer.usage.output, answer.usage.cached), (100, 20, 60));
    // 40 plain, 60 cached and 20 written tokens at 2, 0.5 and 8 dollars a million.
    assert!((answer.cost.unwrap() - 270e-6).abs() < 1e-12);
    let body: Value = serde_json::from_str(&seen[0].body).unwrap();
    assert_eq!((&body["model"], &body["stream"]), (&json!("gpt-4.1"), &json!(true)));
    assert_eq!(body["tools"][0]["function"]["name"], "view");
    assert!(seen[0].head.contains("POST /v1/chat/completions"));
    assert!(seen[0].head.contains(&format!("authorization: Bearer {KEY}")));
}

#[test]
fn an_answer_that_does_not_stream_is_read_too() {
    let body = json!({ "choices": [{ "message": { "content": "hi" }, "finish_reason": "stop" }] });
    check(vec![Does::Answer(200, JSON, format!("{body:#}"))], "hi", 1);
}

#[test]
fn models_that_refuse_tools_are_asked_by_text() {
    let refusal = json!({ "error": { "message": "x does not support tools" } }).to_string();
    let text = "I look\n```tool\n{\"tool\": \"view\", \"arguments\": {\"target\": \"a\"}}\n```";
    let chunks = [delta(json!({ "content": text })), finish("stop")];
    let behaviours =
        vec![Does::Answer(400, JSON, refusal), Does::Answer(200, EVENTS, events(&chunks))];
    let (answer, seen) = ask("openai/x", behaviours, &[]);
    assert_eq!(shown(&answer), r#"I look|call view {"target":"a"}"#);
    let body: Value = serde_json::from_str(&seen[1].body).unwrap();
    assert_eq!(body.get("tools"), None);
    assert!(body["messages"][0]["content"].as_str().unwrap().contains("## view"));
}
