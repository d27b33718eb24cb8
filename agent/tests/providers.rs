//! Models behind a loopback server that does what a provider does on a bad day: each fault, and what
//! comes of it. Nothing here says what a real model would answer.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use gistify::{
    Access, Answer, Config, Credentials, Message, Model, ModelError, ModelSupply, Prompts, Request,
    ToolSpec,
};
use serde_json::{Value, json};

/// What the server does with one request.
#[derive(Clone)]
enum Does {
    /// Answers with a status, headers and a body.
    Answer(u16, &'static str, String),
    /// Answers with bytes.
    Bytes(&'static str, Vec<u8>),
    /// Promises more than it sends.
    Cut(String),
    /// Sends a part and then nothing more.
    Silence(String),
    /// Sends so many bytes.
    Flood(usize),
}

/// A request as it came, with the time.
#[derive(Clone)]
struct Seen {
    head: String,
    body: String,
    at: Instant,
}

struct Server {
    address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Serves one behaviour after the other, then the last one forever.
    fn start(behaviours: Vec<Does>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&seen);
        thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let does = behaviours[at.min(behaviours.len() - 1)].clone();
                let all = Arc::clone(&all);
                thread::spawn(move || serve(stream.unwrap(), &does, &all));
            }
        });
        Self { address, seen }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, does: &Does, all: &Mutex<Vec<Seen>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    all.lock().unwrap().push(Seen { head, body, at: Instant::now() });
    let head = |status: u16, headers: &str, length: usize| {
        format!(
            "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
        )
    };
    // The client may have gone, which is what some of the tests are about.
    let _ = match does {
        Does::Answer(status, headers, body) => {
            stream.write_all((head(*status, headers, body.len()) + body).as_bytes())
        }
        Does::Bytes(headers, body) => stream
            .write_all(head(200, headers, body.len()).as_bytes())
            .and_then(|()| stream.write_all(body)),
        Does::Cut(body) => stream.write_all((head(200, EVENTS, body.len() + 1) + body).as_bytes()),
        Does::Silence(body) => {
            let sent = stream.write_all((head(200, EVENTS, body.len() + 1) + body).as_bytes());
            let _ = stream.read(&mut [0]);
            sent
        }
        Does::Flood(bytes) => {
            let block = vec![b' '; 1 << 20];
            let sent = stream.write_all(head(200, EVENTS, *bytes).as_bytes());
            sent.and_then(|()| (0..bytes / block.len()).try_for_each(|_| stream.write_all(&block)))
        }
    };
}

const EVENTS: &str = "content-type: text/event-stream\r\n";
const JSON: &str = "content-type: application/json\r\n";
const KEY: &str = "sk-canary-1234567890";

/// Events as chat completions send them.
fn events(chunks: &[Value]) -> String {
    let chunks = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    chunks.collect::<String>() + "data: [DONE]\n\n"
}

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta }] })
}

fn finish(reason: &str) -> Value {
    json!({
        "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "prompt_tokens_details": { "cached_tokens": 60 },
        },
    })
}

fn call(index: usize, id: &str, arguments: &str) -> Value {
    let function = json!({ "name": "view", "arguments": arguments });
    delta(json!({ "tool_calls": [{ "index": index, "id": id, "function": function }] }))
}

/// An answer that works.
fn hello() -> Does {
    Does::Answer(200, EVENTS, events(&[delta(json!({ "content": "hello" })), finish("stop")]))
}

fn access(server: &Server) -> Access {
    let variables = [
        ("OPENAI_BASE_URL", server.address.as_str()),
        ("OPENAI_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", server.address.as_str()),
        ("ANTHROPIC_API_KEY", KEY),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Access { credentials: Credentials::new(variables), ask: Arc::new(|_| Ok(None)) }
}

fn supply(server: &Server, model: &str, sets: &[&str]) -> ModelSupply {
    let mut config = Config::defaults();
    let quick = ["model.pause_seconds=0.001", "model.wait_seconds=0.05", "model.retries=2"];
    let model = format!("writer.model={model}");
    for set in quick.iter().chain([&model.as_str()]).chain(sets) {
        config.set(set).unwrap();
    }
    let prompts = Arc::new(Prompts::load(None).unwrap());
    ModelSupply::new(&config.settings().unwrap(), prompts, &access(server)).unwrap()
}

fn tools() -> Vec<ToolSpec> {
    vec![ToolSpec {
        name: "view".to_owned(),
        description: "Shows a part of the repository.".to_owned(),
        parameters: json!({ "type": "object", "properties": { "target": { "type": "string" } } }),
    }]
}

fn opening() -> Vec<Message> {
    vec![
        Message::System { content: "rules".to_owned() },
        Message::User { content: "task".to_owned() },
    ]
}

fn ask_with(model: &mut dyn Model, messages: &[Message]) -> Result<Answer, ModelError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(model.answer(Request { messages, tools: &tools() }))
}

/// Asks once; gives the answer and what the server saw.
fn ask(
    model: &str,
    behaviours: Vec<Does>,
    sets: &[&str],
) -> (Result<Answer, ModelError>, Vec<Seen>) {
    let server = Server::start(behaviours);
    let mut model = supply(&server, model, sets).open(Path::new("")).unwrap();
    let answer = ask_with(&mut *model, &opening());
    (answer, server.seen())
}

/// How an answer and its calls look in one line.
fn shown(answer: &Result<Answer, ModelError>) -> String {
    match answer {
        Err(ModelError::Failed(message)) => format!("failed: {message}"),
        Err(ModelError::Paused(message)) => format!("paused: {message}"),
        Err(ModelError::TooLong(message)) => format!("too long: {message}"),
        Ok(answer) => {
            let mut text = answer.content.clone();
            for call in &answer.calls {
                text += &format!("|{} {} {}", call.id, call.tool, call.arguments);
            }
            text + &answer.fault.as_ref().map(|fault| format!("!{fault}")).unwrap_or_default()
        }
    }
}

#[track_caller]
fn check(behaviours: Vec<Does>, expected: &str, requests: usize) {
    let (answer, seen) = ask("openai/gpt-4.1", behaviours, &[]);
    assert_eq!((shown(&answer).as_str(), seen.len()), (expected, requests));
}

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
fn d05_retry_after_is_bounded() {
    for value in ["1", "2.5", "-4", "1e9", "Tue, 31 Dec 2199 23:59:59 GMT", "soon"] {
        let head: &'static str = format!("retry-after: {value}\r\n").leak();
        let (answer, seen) =
            ask("openai/x", vec![Does::Answer(429, head, "{}".to_owned()), hello()], &[]);
        assert_eq!(shown(&answer), "hello", "{value}");
        // Far below what was asked for, far above the bound: no clock decides this.
        assert!(seen[1].at - seen[0].at < Duration::from_secs(60), "{value}");
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
fn d06_an_answer_without_end_is_refused() {
    let sets = ["model.answer_mib=1"];
    let (answer, seen) = ask("openai/x", vec![Does::Flood(500 << 20)], &sets);
    assert_eq!(shown(&answer), "failed: the answer is larger than 1048576 bytes");
    assert_eq!(seen.len(), 1);
}

#[test]
fn d07_a_quota_pauses() {
    let error = json!({ "error": { "message": "no money", "code": "insufficient_quota" } });
    let body = error.to_string();
    check(vec![Does::Answer(429, "", body)], "paused: 429 Too Many Requests: no money", 1);
}

#[test]
fn d08_bad_calls_are_kept_for_the_model_to_mend() {
    let chunks =
        [call(0, "a", "{\"target\": "), call(1, "a", "{}"), call(2, "", "[1]"), finish("stop")];
    let expected = r#"|a view "{\"target\":"|a-2 view {}|call view [1]"#;
    let behaviours = vec![Does::Answer(200, EVENTS, events(&chunks)), hello()];
    let server = Server::start(behaviours);
    let mut model = supply(&server, "openai/x", &[]).open(Path::new("")).unwrap();
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
    let mut model =
        supply(&server, "anthropic/claude-sonnet-4-5", &[]).open(Path::new("")).unwrap();
    let mut messages = opening();
    let answer = ask_with(&mut *model, &messages);
    assert_eq!(shown(&answer), r#"I look|t view {"target":"x"}"#);
    let answer = answer.unwrap();
    assert_eq!((answer.usage.input, answer.usage.cached, answer.usage.stored), (100, 60, 30));
    messages.push(Message::Assistant(answer));
    let _ = ask_with(&mut *model, &messages);
    let seen = server.seen();
    assert!(seen[0].head.contains(&format!("x-api-key: {KEY}")));
    let body: Value = serde_json::from_str(&seen.last().unwrap().body).unwrap();
    assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
    let blocks = &body["messages"][1]["content"];
    assert_eq!(blocks[0], json!({ "type": "thinking", "thinking": "hm", "signature": "S" }));
    assert_eq!((&blocks[1]["type"], &blocks[2]["type"]), (&json!("text"), &json!("tool_use")));
}

#[test]
fn all_workers_keep_one_rate() {
    let server = Server::start(vec![hello()]);
    // 1200 a minute: one in 50 ms.
    let supply = supply(&server, "openai/x", &["model.requests_per_minute=1200"]);
    thread::scope(|scope| {
        for _ in 0..16 {
            let mut model = supply.open(Path::new("")).unwrap();
            scope.spawn(move || assert_eq!(shown(&ask_with(&mut *model, &opening())), "hello"));
        }
    });
    let mut times: Vec<_> = server.seen().iter().map(|seen| seen.at).collect();
    times.sort();
    assert_eq!(times.len(), 16);
    // A request may be late, which brings it nearer to the next one; all 16 together cannot be early.
    assert!(times[15] - times[0] >= Duration::from_millis(600), "{:?}", times[15] - times[0]);
}

#[test]
fn recorded_exchanges_are_played_without_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(vec![Does::Answer(500, "", String::new()), hello()]);
    let mut model =
        supply(&server, "openai/x", &["model.record=true"]).open(directory.path()).unwrap();
    let first = ask_with(&mut *model, &opening());
    let recorded = std::fs::read_to_string(directory.path().join("exchanges.jsonl")).unwrap();
    assert!(!recorded.contains(KEY));
    let replay = format!("model.replay={}", directory.path().join("exchanges.jsonl").display());
    let nobody = Server::start(vec![Does::Answer(418, "", String::new())]);
    let mut model = supply(&nobody, "openai/x", &[&replay]).open(directory.path()).unwrap();
    assert_eq!(ask_with(&mut *model, &opening()), first);
    assert!(nobody.seen().is_empty());
}

#[test]
fn a_program_can_be_the_model() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("model.sh");
    let write = |text: &str| std::fs::write(&script, text).unwrap();
    let server = Server::start(vec![hello()]);
    let supply = supply(&server, &format!("command/sh {}", script.display()), &[]);
    let check = |text: &str, expected: &str| {
        write(text);
        let mut model = supply.open(Path::new("")).unwrap();
        assert_eq!(shown(&ask_with(&mut *model, &opening())), expected);
    };
    check(
        r#"read x; echo '{"calls": [{"tool": "view", "arguments": {"target": ""}}]}'"#,
        r#"|call view {"target":""}"#,
    );
    check("echo no call", "no call");
    check("printf '\\377'", "!it is not UTF-8");
    check("exit 3", "failed: sh ended with exit status: 3");
}
