//! A model that is a program of the user's: it reads a request as JSON on its standard input and
//! writes an answer as JSON on its standard output, once for each step.
//!
//! The request is `{"messages": [...], "tools": [...]}` in our own form; the answer `{"content": "...",
//! "calls": [{"tool": "...", "arguments": {...}}], "usage": {"input": 1, "output": 2}}`, in which
//! everything may be left out, or plain text. The program is the user's as their shell's commands are,
//! and runs outside of the sandbox. A program that gives no answer in time is asked again; one that ends with an error is
//! not.

use std::{process::Stdio, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, process::Command};

use super::{
    Model, ModelRequest, Pending,
    assemble::settle,
    retry::{ExchangeFailure, persist},
};
use crate::{
    config::ModelSettings,
    message::{Answer, TokenUsage, ToolCall},
};

/// A program that answers.
pub struct CommandModel {
    name: String,
    words: Vec<String>,
    settings: ModelSettings,
}

#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    content: String,
    #[serde(default)]
    calls: Vec<WrittenCall>,
    #[serde(default)]
    usage: WrittenUsage,
}

#[derive(Deserialize)]
struct WrittenCall {
    #[serde(default)]
    id: String,
    tool: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WrittenUsage {
    input: u64,
    output: u64,
    cached: u64,
}

impl CommandModel {
    /// A program and its arguments.
    pub fn new(name: String, words: Vec<String>, settings: ModelSettings) -> Self {
        Self { name, words, settings }
    }

    async fn ask(&self, request: &[u8]) -> Result<Answer, ExchangeFailure> {
        let program = &self.words[0];
        let failed = |what: &str, error: std::io::Error| {
            ExchangeFailure::Refused(format!("{what} {program}: {error}"))
        };
        let mut child = Command::new(program)
            .args(&self.words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed("start", error))?;
        let mut input = child.stdin.take();
        let feeding = async {
            if let Some(input) = &mut input {
                // A program that reads nothing has its reasons.
                let _ = input.write_all(request).await;
                let _ = input.shutdown().await;
            }
            drop(input);
        };
        let longest = Duration::from_secs_f64(self.settings.request_seconds);
        let both = async { tokio::join!(feeding, child.wait_with_output()).1 };
        let output = tokio::time::timeout(longest, both).await;
        let output = output
            .map_err(|_| {
                ExchangeFailure::again(format!("{program} gave no answer within {longest:?}"))
            })?
            .map_err(|error| failed("read from", error))?;
        if !output.status.success() {
            // The program retries its own requests, so a second run would repeat the fault.
            return Err(ExchangeFailure::Refused(format!(
                "{program} ended with {}",
                output.status
            )));
        }
        Ok(read(&output.stdout))
    }
}

impl Model for CommandModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer<'a>(&'a mut self, request: ModelRequest<'a>) -> Pending<'a> {
        Box::pin(async move {
            let body = json!({ "messages": request.messages, "tools": request.tools }).to_string();
            let answer = persist(&self.settings, || self.ask(body.as_bytes())).await?;
            Ok(settle(answer, request))
        })
    }
}

fn read(bytes: &[u8]) -> Answer {
    let Ok(text) = std::str::from_utf8(bytes) else {
        let fault = Some("it is not UTF-8".to_owned());
        return Answer { fault, ..Answer::default() };
    };
    if !text.trim_start().starts_with('{') {
        return Answer { content: text.trim().to_owned(), ..Answer::default() };
    }
    match serde_json::from_str::<Written>(text) {
        Ok(written) => Answer {
            content: written.content,
            calls: written.calls.into_iter().map(WrittenCall::call).collect(),
            usage: TokenUsage {
                input: written.usage.input,
                output: written.usage.output,
                cached: written.usage.cached,
                ..TokenUsage::default()
            },
            ..Answer::default()
        },
        Err(error) => Answer {
            content: text.trim().to_owned(),
            fault: Some(format!("it is no answer: {error}")),
            ..Answer::default()
        },
    }
}

impl WrittenCall {
    fn call(self) -> ToolCall {
        ToolCall { id: self.id, tool: self.tool, arguments: self.arguments }
    }
}
