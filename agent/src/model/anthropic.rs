//! Anthropic's messages, through reqwest: tools, server-sent events and marks for the provider's cache.
//!
//! Blocks of signed reasoning are sent back as they came. An answer that the provider pauses is sent back and goes
//! on. Retries, rates and records are below, in `wire` and `retry`.

use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{
    Model, ModelRequest, Pending,
    assemble::{PartialAnswer, settle},
    connection::Connection,
    retry::{ExchangeFailure, persist},
    wire::{Received, said},
};
use crate::message::{Answer, Message, TokenUsage};

/// A model behind the messages interface.
pub struct Anthropic {
    connection: Connection,
}

/// The header with the version of the interface that is spoken; a provider's entry may have another.
const VERSION: (&str, &str) = ("anthropic-version", "2026-10-21");
/// Times that one answer may be paused.
const PAUSES: usize = 8;
/// Written tokens where the settings leave them to the provider, which wants a number.
const OUTPUT_TOKENS: u64 = 16_384;

impl Anthropic {
    /// A model of a provider.
    pub fn new(connection: Connection) -> Self {
        Self { connection }
    }

    /// Asks once; the answer, and whether the provider paused it.
    async fn ask(&self, body: &Value) -> Result<(Answer, bool), ExchangeFailure> {
        let client = self.connection.wire.client();
        let mut request =
            client.post(format!("{}/messages", self.connection.provider.base_url)).json(body);
        if !self.connection.provider.headers.keys().any(|name| name.eq_ignore_ascii_case(VERSION.0))
        {
            request = request.header(VERSION.0, VERSION.1);
        }
        for (name, value) in &self.connection.provider.headers {
            request = request.header(name, value);
        }
        if let Some(key) = self.connection.key.as_ref().map(ExposeSecret::expose_secret) {
            request = match self.connection.provider.key_header.as_str() {
                "bearer" => request.bearer_auth(key),
                name => request.header(name, key),
            };
        }
        let request = request.build().map_err(|error| {
            ExchangeFailure::Refused(format!("build the request: {}", error.without_url()))
        })?;
        let received = self.connection.wire.exchange(request).await?;
        read(&received)
    }

    fn body(&self, request: ModelRequest<'_>) -> Value {
        let mut system = Vec::new();
        let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
        for message in request.messages {
            let (role, blocks) = match message {
                Message::System { content } => {
                    system.push(json!({ "type": "text", "text": content }));
                    continue;
                }
                Message::User { content } => ("user", vec![text(content)]),
                Message::Tool(reply) => (
                    "user",
                    vec![json!({
                        "type": "tool_result",
                        "tool_use_id": reply.id,
                        "content": reply.content,
                        "is_error": reply.refused,
                    })],
                ),
                Message::Assistant(answer) => ("assistant", blocks(answer)),
            };
            // All replies to one answer have to stand in one message.
            match messages.last_mut() {
                Some((last, there)) if *last == role => there.extend(blocks),
                _ if blocks.is_empty() => {}
                _ => messages.push((role, blocks)),
            }
        }
        // What stands before these marks is read from the cache the next time.
        if let Some(last) = system.last_mut() {
            last["cache_control"] = json!({ "type": "ephemeral" });
        }
        if let Some(last) = messages.last_mut().and_then(|(_, blocks)| blocks.last_mut()) {
            last["cache_control"] = json!({ "type": "ephemeral" });
        }
        let messages: Vec<Value> = messages
            .into_iter()
            .map(|(role, content)| json!({ "role": role, "content": content }))
            .collect();
        let limit = match self.connection.settings.output_tokens {
            0 => OUTPUT_TOKENS,
            limit => limit,
        };
        let mut body = json!({
            "model": self.connection.model,
            "messages": messages,
            "system": system,
            "stream": true,
        });
        body[&self.connection.provider.output_limit] = limit.into();
        if !request.tools.is_empty() {
            let tool = |tool: &super::ToolSpec| {
                let (name, description) = (&tool.name, &tool.description);
                json!({ "name": name, "description": description, "input_schema": tool.parameters })
            };
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        for (key, value) in &self.connection.parameters {
            body[key] = value.clone();
        }
        body
    }
}

impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.connection.name
    }

    fn answer<'a>(&'a mut self, request: ModelRequest<'a>) -> Pending<'a> {
        Box::pin(async move {
            let mut body = self.body(request);
            let mut whole = Answer::default();
            for _ in 0..=PAUSES {
                let (part, is_paused) =
                    persist(&self.connection.settings, || self.ask(&body)).await?;
                if is_paused && let Some(messages) = body["messages"].as_array_mut() {
                    messages.push(json!({ "role": "assistant", "content": blocks(&part) }));
                }
                join(&mut whole, part);
                if !is_paused {
                    break;
                }
            }
            Ok(settle(whole, request))
        })
    }
}

/// Adds the next part of an answer that was paused.
fn join(whole: &mut Answer, part: Answer) {
    whole.content += &part.content;
    whole.reasoning += &part.reasoning;
    whole.calls.extend(part.calls);
    whole.fault = part.fault;
    whole.usage += part.usage;
    match (&mut whole.opaque["reasoning_details"], &part.opaque["reasoning_details"]) {
        (Value::Array(known), Value::Array(more)) => known.extend(more.iter().cloned()),
        (Value::Null, Value::Array(_)) => whole.opaque = part.opaque,
        _ => {}
    }
    if whole.opaque["reasoning_details"].is_null() {
        whole.opaque = Value::Null;
    }
}

fn text(content: &str) -> Value {
    json!({ "type": "text", "text": content })
}

fn blocks(answer: &Answer) -> Vec<Value> {
    let mut blocks: Vec<Value> =
        answer.opaque["reasoning_details"].as_array().cloned().unwrap_or_default();
    if !answer.content.trim().is_empty() {
        blocks.push(text(answer.content.trim_end()));
    }
    blocks.extend(answer.calls.iter().map(|call| {
        let input = super::object(&call.arguments);
        json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": input })
    }));
    blocks
}

fn read(received: &Received) -> Result<(Answer, bool), ExchangeFailure> {
    let paused = |draft: &PartialAnswer| draft.finished.as_deref() == Some("pause_turn");
    let body = String::from_utf8_lossy(&received.body);
    let mut draft = PartialAnswer::default();
    if received.kind == "application/json" {
        let answer: Value = serde_json::from_str(&body)
            .map_err(|error| ExchangeFailure::again(format!("the answer is no JSON: {error}")))?;
        whole(&mut draft, &answer)?;
        let is_paused = paused(&draft);
        return Ok((draft.finish()?, is_paused));
    }
    let mut thoughts = Thoughts::default();
    // An event's data may stand on several lines; an empty line ends it.
    for event in body.replace("\r\n", "\n").split("\n\n") {
        let data: Vec<&str> = event
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(|data| data.strip_prefix(' ').unwrap_or(data))
            .collect();
        if data.is_empty() {
            continue;
        }
        let event: Value = serde_json::from_str(&data.join("\n")).map_err(|error| {
            ExchangeFailure::again(format!("a part of the answer is no JSON: {error}"))
        })?;
        add(&mut draft, &mut thoughts, &event)?;
    }
    draft.details = thoughts.blocks;
    let is_paused = paused(&draft);
    Ok((draft.finish()?, is_paused))
}

/// Blocks of reasoning, whole as they are to be sent back.
#[derive(Default)]
struct Thoughts {
    blocks: Vec<Value>,
    open: Option<u64>,
}

fn add(
    draft: &mut PartialAnswer,
    thoughts: &mut Thoughts,
    event: &Value,
) -> Result<(), ExchangeFailure> {
    let index = event["index"].as_u64().unwrap_or(0);
    match event["type"].as_str().unwrap_or_default() {
        "message_start" => draft.usage = Some(used(&event["message"]["usage"], None)),
        "content_block_start" => {
            let block = &event["content_block"];
            match block["type"].as_str().unwrap_or_default() {
                "text" => draft.content.push_str(block["text"].as_str().unwrap_or_default()),
                "tool_use" => {
                    let part = draft.call(index as usize, block["id"].as_str().unwrap_or_default());
                    part.tool = block["name"].as_str().unwrap_or_default().to_owned();
                }
                "thinking" | "redacted_thinking" => {
                    thoughts.blocks.push(block.clone());
                    thoughts.open = Some(index);
                }
                _ => {}
            }
        }
        "content_block_delta" => {
            let delta = &event["delta"];
            let said = |key: &str| delta[key].as_str().unwrap_or_default();
            match said("type") {
                "text_delta" => draft.content.push_str(said("text")),
                "input_json_delta" => {
                    draft.call(index as usize, "").arguments.push_str(said("partial_json"));
                }
                "thinking_delta" => draft.reasoning.push_str(said("thinking")),
                _ => {}
            }
            if let Some(block) = thoughts.blocks.last_mut().filter(|_| thoughts.open == Some(index))
            {
                for key in ["thinking", "signature"] {
                    let longer =
                        format!("{}{}", block[key].as_str().unwrap_or_default(), said(key));
                    if !longer.is_empty() {
                        block[key] = longer.into();
                    }
                }
            }
        }
        "message_delta" => {
            if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                draft.finished = Some(reason.to_owned());
            }
            draft.usage = Some(used(&event["usage"], draft.usage));
        }
        "error" => return Err(failure(event)),
        _ => {}
    }
    Ok(())
}

/// An answer that did not come as events.
fn whole(draft: &mut PartialAnswer, answer: &Value) -> Result<(), ExchangeFailure> {
    if answer["type"] == "error" {
        return Err(failure(answer));
    }
    for (at, block) in answer["content"].as_array().into_iter().flatten().enumerate() {
        match block["type"].as_str().unwrap_or_default() {
            "text" => draft.content.push_str(block["text"].as_str().unwrap_or_default()),
            "tool_use" => {
                let part = draft.call(at, block["id"].as_str().unwrap_or_default());
                part.tool = block["name"].as_str().unwrap_or_default().to_owned();
                part.arguments = block["input"].to_string();
            }
            "thinking" | "redacted_thinking" => {
                draft.reasoning.push_str(block["thinking"].as_str().unwrap_or_default());
                draft.details.push(block.clone());
            }
            _ => {}
        }
    }
    draft.finished = answer["stop_reason"].as_str().map(str::to_owned);
    draft.usage = Some(used(&answer["usage"], None));
    Ok(())
}

fn failure(event: &Value) -> ExchangeFailure {
    let message = said(&event.to_string());
    match event["error"]["type"].as_str().unwrap_or_default() {
        "overloaded_error" | "api_error" | "rate_limit_error" | "timeout_error" => {
            ExchangeFailure::again(message)
        }
        "billing_error" => ExchangeFailure::Quota(message),
        _ => ExchangeFailure::Refused(message),
    }
}

/// Tokens, those of the cache included in what was read. The last report of written tokens counts.
fn used(usage: &Value, before: Option<TokenUsage>) -> TokenUsage {
    let before = before.unwrap_or_default();
    let number = |key: &str| usage[key].as_u64();
    let cached = number("cache_read_input_tokens").unwrap_or(before.cached);
    let stored = number("cache_creation_input_tokens").unwrap_or(before.stored);
    let plain = number("input_tokens").unwrap_or(before.input - before.cached - before.stored);
    TokenUsage {
        input: plain + cached + stored,
        output: number("output_tokens").unwrap_or(before.output),
        cached,
        stored,
        stored_hour: usage["cache_creation"]["ephemeral_1h_input_tokens"]
            .as_u64()
            .unwrap_or(before.stored_hour),
        estimated: 0,
    }
}
