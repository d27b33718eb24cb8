//! A provider on a bad day: each fault, and what comes of it.

use super::*;

#[test]
fn d05_retry_after_is_bounded() {
    for value in [
        "1",
        "2.5",
        "-4",
        "0",
        "1e9",
        "1e400",
        "",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Tue, 31 Dec 2199 23:59:59 GMT",
        "soon",
    ] {
        let head: &'static str = format!("retry-after: {value}\r\n").leak();
        let (answer, seen) =
            ask("openai/x", vec![Does::Answer(429, head, "{}".to_owned()), hello()], &[]);
        assert_eq!(shown(&answer), "hello", "{value}");
        // Far below what was asked for, far above the bound: no clock decides this.
        assert!(seen[1].at - seen[0].at < Duration::from_secs(60), "{value}");
    }
}

#[test]
fn d05_retry_after_is_obeyed() {
    let date = || {
        // A date has whole seconds: two from now are at least one.
        let date = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(2);
        jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&date).unwrap()
    };
    for (name, value, seconds) in [
        ("retry-after", "0.3", 0.3),
        ("retry-after", "1", 1.0),
        ("retry-after-ms", "300", 0.3),
        ("retry-after", "", 0.5),
    ] {
        let value = if value.is_empty() { date() } else { value.to_owned() };
        let form = format!("{name}: {value}");
        let head: &'static str = format!("{form}\r\n").leak();
        let behaviours = vec![Does::Answer(429, head, "{}".to_owned()), hello()];
        let (answer, seen) = ask("openai/x", behaviours, &["model.wait_seconds=30"]);
        assert_eq!(shown(&answer), "hello", "{form}");
        let waited = (seen[1].at - seen[0].at).as_secs_f64();
        assert!(waited >= seconds, "{form}: {waited}");
    }
}

#[test]
fn d06_failures_that_pass_are_repeated() {
    for status in [408, 409, 429, 500, 502, 503, 529] {
        check(vec![Does::Answer(status, "", "oops".to_owned()), hello()], "hello", 2);
    }
    let page = "<html>a proxy</html>".to_owned();
    check(vec![Does::Answer(200, "content-type: text/html\r\n", page), hello()], "hello", 2);
    let error = Does::Answer(503, "", "down".to_owned());
    check(vec![error], "failed: 503 Service Unavailable: down", 3);
}

#[test]
fn d06_a_cut_answer_is_never_acted_on() {
    let part = events(&[call(0, "a", "{}")]);
    check(vec![Does::Cut(part.clone()), hello()], "hello", 2);
    // Cut where a reader that only looks at the transport sees nothing.
    check(vec![Does::Answer(200, EVENTS, part.clone()), hello()], "hello", 2);
    let silent = ["model.silence_seconds=0.2"];
    let (answer, seen) = ask("openai/x", vec![Does::Silence(part), hello()], &silent);
    assert_eq!((shown(&answer).as_str(), seen.len()), ("hello", 2));
}

#[test]
fn d06_what_was_cut_at_the_limit_of_tokens_is_a_fault() {
    let chunks = [delta(json!({ "content": "so" })), call(0, "a", "{}"), finish("length")];
    let body = events(&chunks);
    check(vec![Does::Answer(200, EVENTS, body)], "so!it was cut at the limit of written tokens", 1);
}

#[test]
fn d06_an_answer_byte_by_byte_has_a_bound_too() {
    // Never silent for as long as that counts, and never at its end: a byte each 20 ms, for a minute.
    let slow = Does::Dribble(" ".repeat(3_000), Duration::from_millis(20));
    let sets = ["model.silence_seconds=10", "model.request_seconds=0.3"];
    let (answer, seen) = ask("openai/x", vec![slow, hello()], &sets);
    assert_eq!((shown(&answer).as_str(), seen.len()), ("hello", 2));
    let Does::Answer(_, _, text) = hello() else { unreachable!() };
    let (answer, seen) = ask("openai/x", vec![Does::Dribble(text, Duration::ZERO)], &[]);
    assert_eq!((shown(&answer).as_str(), seen.len()), ("hello", 1));
}

#[test]
fn d06_an_error_without_end_is_only_an_error() {
    let (answer, seen) = ask("openai/x", vec![Does::Flood(503, 500 << 20), hello()], &[]);
    assert_eq!((shown(&answer).as_str(), seen.len()), ("hello", 2));
}

#[test]
fn d06_an_answer_without_end_is_refused() {
    let sets = ["model.answer_mib=1"];
    let (answer, seen) = ask("openai/x", vec![Does::Flood(200, 500 << 20)], &sets);
    assert_eq!(shown(&answer), "failed: the answer is larger than 1048576 bytes");
    assert_eq!(seen.len(), 1);
}

#[test]
fn d07_a_quota_pauses() {
    let error = json!({ "error": { "message": "no money", "code": "insufficient_quota" } });
    let body = error.to_string();
    check(vec![Does::Answer(429, "", body)], "paused: 429 Too Many Requests: no money", 1);
    // As some say it in the middle of an answer.
    let body = events(&[delta(json!({ "content": "so" })), error]);
    check(vec![Does::Answer(200, EVENTS, body)], "paused: no money", 1);
}

#[test]
fn d08_bad_calls_are_kept_for_the_model_to_mend() {
    let chunks =
        [call(0, "a", "{\"target\": "), call(1, "a", "{}"), call(2, "", "[1]"), finish("stop")];
    let expected = r#"|a view "{\"target\":"|a-2 view {}|call view [1]"#;
    let behaviours = vec![Does::Answer(200, EVENTS, events(&chunks)), hello()];
    let server = Server::start(behaviours);
    let mut model = open(&supply(&server, "openai/x", &[]));
    let mut messages = opening();
    let answer = ask_with(&mut *model, &messages);
    assert_eq!(shown(&answer), expected);
    messages.push(Message::Assistant(answer.unwrap()));
    assert_eq!(shown(&ask_with(&mut *model, &messages)), "hello");
    let body: Value = serde_json::from_str(&server.seen()[1].body).unwrap();
    for call in body["messages"][2]["tool_calls"].as_array().unwrap() {
        let arguments = call["function"]["arguments"].as_str().unwrap();
        assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{arguments}");
    }
}

#[test]
fn d08_invalid_utf8_is_read_with_marks() {
    let mut body = b"data: {\"choices\":[{\"delta\":{\"content\":\"a".to_vec();
    body.extend(b"\xff\"},\"finish_reason\":\"stop\"}]}\n\n");
    check(vec![Does::Bytes(EVENTS, body)], "a\u{fffd}", 1);
}

#[test]
fn l02_a_key_that_is_echoed_is_taken_out() {
    let body = json!({ "error": { "message": format!("bad request with key {KEY}") } }).to_string();
    let expected = "failed: 422 Unprocessable Entity: bad request with key [key]";
    check(vec![Does::Answer(422, JSON, body)], expected, 1);
    let chunks = [delta(json!({ "content": KEY })), finish("stop")];
    check(vec![Does::Answer(200, EVENTS, events(&chunks))], "[key]", 1);
}

#[test]
fn too_long_a_conversation_is_told_apart() {
    let error = json!({ "error": { "message": "too many", "code": "context_length_exceeded" } });
    let body = error.to_string();
    check(vec![Does::Answer(400, JSON, body)], "too long: 400 Bad Request: too many", 1);
}

#[test]
fn a_server_that_silently_leaves_out_a_part_is_found_out() {
    // The server says that it read 100 tokens, 60 of them from its cache.
    let server = Server::start(vec![hello()]);
    let mut model = open(&supply(&server, "openai/x", &[]));
    let mut messages = opening();
    messages.push(Message::User { content: "def f(): ...\n".repeat(2_000) });
    let expected = "too long: the server read 160 tokens of a request of 26009 bytes (its window is \
                    smaller)";
    assert_eq!(shown(&ask_with(&mut *model, &messages)), expected);
}
