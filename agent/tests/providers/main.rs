//! Tests models behind a loopback server. No test shows the answers of a real model.

mod anthropic;
mod chat;
mod embeddings;
mod faults;
mod programs;
mod responses;
mod server;
mod sharing;

use std::{path::Path, sync::Arc, thread, time::Duration};

use gistify::{
    Access, Answer, Config, Credentials, Message, Model, ModelError, ModelRequest, ModelSupply,
    Outcome, Prompts, ToolReply, ToolSpec,
};
use serde_json::{Value, json};
use server::{Does, EVENTS, JSON, Seen, Server, delta, events, finish};

const KEY: &str = "sk-canary-1234567890";

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
        ("LITELLM_BASE_URL", server.address.as_str()),
        ("LITELLM_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", server.address.as_str()),
        ("ANTHROPIC_API_KEY", KEY),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let credentials = Credentials::new(variables);
    Access { credentials, ask: Arc::new(|_| Ok(None)), graphs: None, host: None }
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

/// A model of a session whose record goes nowhere.
fn open(supply: &ModelSupply) -> Box<dyn Model> {
    supply.open(Path::new("")).unwrap().0
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
    runtime.block_on(model.answer(ModelRequest { messages, tools: &tools() }))
}

/// Sends one request; returns the answer and the requests that the server received.
fn ask(
    model: &str,
    behaviours: Vec<Does>,
    sets: &[&str],
) -> (Result<Answer, ModelError>, Vec<Seen>) {
    let server = Server::start(behaviours);
    let mut model = open(&supply(&server, model, sets));
    let answer = ask_with(&mut *model, &opening());
    (answer, server.seen())
}

/// Formats an answer and its calls in one line.
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
