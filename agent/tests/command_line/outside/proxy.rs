//! LiteLLM's proxy before the models: a real server between us and answers that are made up, with its own
//! streaming, errors and limits. Behind it stands the loopback server of the other tests.

use std::{
    net::{TcpListener, TcpStream},
    process::Child,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use server::{Does, EVENTS, JSON, Server, delta, events, finish};

use super::{
    super::exchanges::{chats, session},
    *,
};

const KEY: &str = "sk-proxy-canary-1234";
const COMMAND: [&str; 3] = ["--", "pytest", "tests/test_numbers.py::test_double"];

/// The proxy; it ends with this.
struct Proxy {
    child: Child,
    address: String,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Proxy {
    fn start(user: &User, packages: &Path, upstream: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let model = |name: &str, more: Value| {
            let mut parameters = json!({ "model": format!("openai/{name}"), "api_key": "none" });
            for (key, value) in more.as_object().unwrap() {
                parameters[key] = value.clone();
            }
            json!({ "model_name": name, "litellm_params": parameters })
        };
        let config = json!({
            "model_list": [
                model("mock", json!({ "mock_response": "Hello from a mock." })),
                model("limited", json!({ "mock_response": "litellm.RateLimitError" })),
                model("broken", json!({ "mock_response": "litellm.InternalServerError" })),
                model("scripted", json!({ "api_base": upstream })),
            ],
            "general_settings": { "master_key": KEY },
            "litellm_settings": { "num_retries": 0 },
            "router_settings": { "num_retries": 0, "disable_cooldowns": true },
        });
        let path = user.here().join("proxy.json");
        fs::write(&path, config.to_string()).unwrap();
        let log = File::create(user.here().join("proxy.log")).unwrap();
        let child = Command::new(packages)
            .args(["-c", "from litellm import run_server; run_server()", "--config"])
            .arg(&path)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .env("HOME", user.home.path())
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut proxy = Self { child, address: format!("http://127.0.0.1:{port}/v1") };
        let until = Instant::now() + Duration::from_secs(300);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let told = || read(&user.here().join("proxy.log"));
            assert!(proxy.child.try_wait().unwrap().is_none(), "the proxy ended: {}", told());
            assert!(Instant::now() < until, "the proxy does not listen: {}", told());
            thread::sleep(Duration::from_millis(200));
        }
        proxy
    }

    /// A run with one of its models; gives it with the records of its trajectory.
    fn run(&self, user: &User, model: &str, key: &str, sets: &[&str]) -> (Ran, String) {
        let record = user.here().join("record");
        let _ = fs::remove_dir_all(&record);
        let python = python().unwrap();
        let args = ["run", "small", "--force", "--run-dir", "record", "--python", &python];
        let quick = ["--set", "model.pause_seconds=0.01", "--set", "model.retries=1"];
        let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
        let args = [&args[..], &quick, &["-m", model], &sets, &COMMAND].concat();
        let mut command = user.command(&args);
        command.env("LITELLM_BASE_URL", &self.address).env("LITELLM_API_KEY", key);
        let ran = Ran::of(command.output().unwrap(), user);
        let trajectory = read(&record.join("trajectory.jsonl"));
        assert!(!format!("{}{}{trajectory}", ran.out, ran.err).contains(KEY));
        (ran, trajectory)
    }
}

/// The session as responses.
fn responses() -> Vec<Does> {
    let response = |calls: Vec<(&str, Value)>| {
        let items: Vec<Value> = calls
            .into_iter()
            .enumerate()
            .map(|(at, (tool, arguments))| {
                json!({ "type": "function_call", "id": format!("fc_{at}"), "status": "completed",
                    "call_id": format!("call_{at}"), "name": tool, "arguments": arguments.to_string() })
            })
            .collect();
        let base = json!({ "id": "resp_1", "object": "response", "created_at": 1, "model": "scripted",
            "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "error": null });
        let mut created = base.clone();
        (created["status"], created["output"]) = ("in_progress".into(), json!([]));
        let mut done = base;
        (done["status"], done["output"]) = ("completed".into(), json!(items));
        done["usage"] = json!({ "input_tokens": 1000, "output_tokens": 50, "total_tokens": 1050,
            "input_tokens_details": { "cached_tokens": 600 },
            "output_tokens_details": { "reasoning_tokens": 0 } });
        let all = [
            json!({ "type": "response.created", "sequence_number": 0, "response": created }),
            json!({ "type": "response.completed", "sequence_number": 1, "response": done }),
        ];
        let all = all.iter().map(|event| {
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
        });
        Does::Answer(200, EVENTS, all.collect())
    };
    session().into_iter().map(response).collect()
}

#[test]
fn a_proxy_of_others_stands_between() {
    let (Some(packages), Some(_)) = (packages(), python()) else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let upstream = Server::start([chats(), responses()].concat());
    let proxy = Proxy::start(&user, packages, &upstream.address);

    // Streaming and parallel calls, in both protocols, to a faithful gist.
    for protocol in ["model.protocol=openai-chat", "model.protocol=openai-responses"] {
        let (ran, trajectory) = proxy.run(&user, "litellm/scripted", KEY, &[protocol]);
        assert_eq!(ran.code, 0, "{protocol}: {}{}{trajectory}", ran.out, ran.err);
        assert!(ran.out.starts_with("faithful: all 2 cases"), "{}", ran.out);
        assert!(trajectory.contains(r#""tool":"search""#), "{trajectory}");
        let end: Value = serde_json::from_str(trajectory.lines().last().unwrap()).unwrap();
        assert_eq!((&end["outcome"]["kind"], &end["steps"]), (&json!("submitted"), &json!(3)));
        assert!(end["usage"]["input"].as_u64().unwrap() > 0, "{end}");
        assert!(end["cost"].is_null(), "{end}");
    }
    let heads: Vec<String> = upstream.seen().into_iter().map(|seen| seen.head).collect();
    assert!(heads[0].contains("/chat/completions") && heads[5].contains("/responses"), "{heads:?}");

    // Text streams, and answers that call nothing end the session in order.
    let (ran, trajectory) = proxy.run(&user, "litellm/mock", KEY, &[]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(trajectory.contains("Hello from a mock."), "{trajectory}");
    assert!(trajectory.contains(r#""outcome":{"kind":"format_errors"}"#), "{trajectory}");

    // Its errors are told, after they were tried again.
    for (model, key, told) in [
        ("litellm/limited", KEY, "429"),
        ("litellm/broken", KEY, "500"),
        // It looks unknown keys up in a database, and has none here.
        ("litellm/mock", "sk-wrong", "400"),
        ("litellm/nobody", KEY, "nobody"),
    ] {
        let (ran, trajectory) = proxy.run(&user, model, key, &[]);
        assert_eq!(ran.code, 5, "{model}: {}", ran.err);
        assert!(ran.last_error_line().starts_with("gistify: model failure: "), "{}", ran.err);
        assert!(ran.last_error_line().contains(told), "{}", ran.err);
        assert!(trajectory.contains(r#""outcome":{"kind":"model_failure""#), "{trajectory}");
    }
}

#[test]
fn a_proxy_of_others_passes_embeddings_on() {
    let (Some(packages), Some(_)) = (packages(), python()) else { return };
    let user = User::new();
    user.repository("small", SMALL);
    // Four files, and the question.
    let data: Vec<Value> = (0..5)
        .map(|at| json!({ "object": "embedding", "index": at, "embedding": [1.0, at as f64] }))
        .collect();
    let usage = json!({ "prompt_tokens": 9, "total_tokens": 9 });
    let body = json!({ "object": "list", "model": "scripted", "data": data, "usage": usage });
    let file = format!("```python\n{GIST_OF_SMALL}```");
    let answer = events(&[delta(json!({ "content": file })), finish("stop")]);
    let upstream = Server::start(vec![
        Does::Answer(200, JSON, body.to_string()),
        Does::Answer(200, EVENTS, answer),
    ]);
    let proxy = Proxy::start(&user, packages, &upstream.address);
    let sets = [
        "writer.scaffold=self-planning-rag",
        "context.ranking=embeddings",
        "context.embeddings=litellm/scripted",
    ];
    let (ran, trajectory) = proxy.run(&user, "litellm/scripted", KEY, &sets);
    let seen = upstream.seen();
    let asked: Vec<_> = seen.iter().map(|seen| format!("{}{}", seen.head, seen.body)).collect();
    assert_eq!(ran.code, 0, "{}{}{trajectory}{asked:#?}", ran.out, ran.err);
    assert!(seen[0].head.contains("/embeddings") && seen[0].body.contains("test_double"));
}
