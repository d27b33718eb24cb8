//! Anthropic's messages, as that provider sends them.

use super::*;

#[test]
fn anthropic_is_spoken() {
    let events = [
        json!({ "type": "message_start", "message": { "usage": {
            "input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "hm" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": "S" } }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "I look" } }),
        json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "tool_use", "id": "t", "name": "view" } }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": "{\"target\":" } }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": "\"x\"}" } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 20 } }),
        json!({ "type": "message_stop" }),
    ];
    let body: String =
        events.iter().map(|event| format!("event: x\r\ndata: {event}\r\n\r\n")).collect();
    let cut = body.split("event: x").take(9).collect::<Vec<_>>().join("event: x");
    let overloaded =
        json!({ "type": "error", "error": { "type": "overloaded_error" } }).to_string();
    let server = Server::start(vec![
        Does::Answer(529, JSON, overloaded),
        Does::Answer(200, EVENTS, cut),
        Does::Answer(200, EVENTS, body),
    ]);
    let mut model = open(&supply(&server, "anthropic/claude-sonnet-4-5", &[]));
    let mut messages = opening();
    let answer = ask_with(&mut *model, &messages);
    assert_eq!(shown(&answer), r#"I look|t view {"target":"x"}"#);
    let answer = answer.unwrap();
    assert_eq!((answer.usage.input, answer.usage.cached, answer.usage.stored), (100, 60, 30));
    messages.push(Message::Assistant(answer));
    let _ = ask_with(&mut *model, &messages);
    let seen = server.seen();
    assert!(seen[0].head.contains(&format!("x-api-key: {KEY}")));
    assert!(seen[0].head.contains("anthropic-version: 2026-10-21"), "{}", seen[0].head);
    let sent: Value = serde_json::from_str(&seen[0].body).unwrap();
    for refused in ["temperature", "top_p", "top_k"] {
        assert!(sent[refused].is_null());
    }
    let body: Value = serde_json::from_str(&seen.last().unwrap().body).unwrap();
    assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
    let blocks = &body["messages"][1]["content"];
    assert_eq!(blocks[0], json!({ "type": "thinking", "thinking": "hm", "signature": "S" }));
    assert_eq!((&blocks[1]["type"], &blocks[2]["type"]), (&json!("text"), &json!("tool_use")));
}

/// A turn that the provider paused ended in "no call".
#[test]
fn a_paused_turn_goes_on_and_hours_of_cache_are_priced() {
    let answer = |content: Value, reason: &str| {
        let usage = json!({
            "input_tokens": 10,
            "output_tokens": 5,
            "cache_creation_input_tokens": 1_000_000,
            "cache_creation": { "ephemeral_1h_input_tokens": 1_000_000 },
        });
        let answer = json!({ "content": content, "stop_reason": reason, "usage": usage });
        Does::Answer(200, JSON, answer.to_string())
    };
    let call = json!({ "type": "tool_use", "id": "t", "name": "view", "input": {} });
    let server = Server::start(vec![
        answer(json!([{ "type": "text", "text": "I wait. " }]), "pause_turn"),
        answer(json!([{ "type": "text", "text": "I look" }, call]), "tool_use"),
    ]);
    let mut model = open(&supply(&server, "anthropic/claude-sonnet-4-5", &[]));
    let answer = ask_with(&mut *model, &opening());
    assert_eq!(shown(&answer), "I wait. I look|t view {}");
    let answer = answer.unwrap();
    assert_eq!((answer.usage.input, answer.usage.stored_hour), (2_000_020, 2_000_000));
    // Two million tokens at twice three dollars, 20 read and 10 written.
    let expected = 12.0 + (20.0 * 3.0 + 10.0 * 15.0) / 1e6;
    assert!((answer.cost.unwrap() - expected).abs() < 1e-9, "{:?}", answer.cost);
    let body: Value = serde_json::from_str(&server.seen()[1].body).unwrap();
    let last = body["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["role"], &last["content"][0]["text"]),
        (&json!("assistant"), &json!("I wait."))
    );
}
