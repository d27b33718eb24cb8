//! OpenAI's responses: items in, items out, with reasoning that can be sent back although nothing
//! is stored at the provider.
//!
//! Only the provider's final response counts; earlier streamed parts are not acted on.

use async_openai::Client;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{
    super::{
        Model, ModelRequest, Pending, ToolSpec,
        assemble::{PartialAnswer, settle},
        connection::Connection,
        object,
        retry::{ExchangeFailure, persist},
        wire::failure_of_error,
    },
    Endpoint, Form, client, failure,
};
use crate::message::{Answer, Message, TokenUsage, ToolCall};

/// A model behind responses.
pub struct OpenAiResponses {
    connection: Connection,
    client: Client<Endpoint>,
}

/// The key under which the items of an answer are stored, so that they can be sent back in their
/// order.
const ITEMS: &str = "output";

impl OpenAiResponses {
    /// A model of a provider.
    pub fn new(connection: Connection) -> Self {
        let client = client(&connection, Form::Events);
        Self { connection, client }
    }

    async fn ask(&self, body: &Value) -> Result<Answer, ExchangeFailure> {
        let mut events =
            self.client.responses().create_stream_byot::<_, Value>(body).await.map_err(failure)?;
        let mut heard = Heard::default();
        while let Some(event) = events.next().await {
            heard.add(event.map_err(failure)?)?;
        }
        heard.finish()
    }

    fn body(&self, request: ModelRequest<'_>) -> Value {
        let Connection { model, settings, parameters, .. } = &self.connection;
        let mut body = json!({
            "model": model,
            "input": request.messages.iter().flat_map(items).collect::<Value>(),
            "stream": true,
            // Nothing stays with the provider, so the reasoning that it wants back has to come along.
            "store": false,
            "include": ["reasoning.encrypted_content"],
        });
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        if settings.output_tokens > 0 {
            body["max_output_tokens"] = settings.output_tokens.into();
        }
        for (key, value) in parameters {
            body[key] = value.clone();
        }
        body
    }
}

impl Model for OpenAiResponses {
    fn name(&self) -> &str {
        &self.connection.name
    }

    fn answer<'a>(&'a mut self, request: ModelRequest<'a>) -> Pending<'a> {
        Box::pin(async move {
            let body = self.body(request);
            let answer = persist(&self.connection.settings, || self.ask(&body)).await?;
            Ok(settle(answer, request))
        })
    }
}

/// The items that a message is.
fn items(message: &Message) -> Vec<Value> {
    match message {
        Message::System { content } => vec![said("system", content)],
        Message::User { content } => vec![said("user", content)],
        Message::Tool(reply) => vec![json!({
            "type": "function_call_output",
            "call_id": reply.id,
            "output": reply.content,
        })],
        Message::Assistant(answer) => given(answer),
    }
}

/// An answer as it was given: thoughts belong right before what they led to.
fn given(answer: &Answer) -> Vec<Value> {
    let mut calls = answer.calls.iter().map(called);
    let mut all = Vec::new();
    match answer.opaque[ITEMS].as_array() {
        Some(items) => {
            for item in items {
                match item["type"].as_str() {
                    // Its id and arguments are those that the loop settled on.
                    Some("function_call") => all.extend(calls.next()),
                    _ => all.push(item.clone()),
                }
            }
        }
        None if answer.content.is_empty() => {}
        None => all.push(said("assistant", &answer.content)),
    }
    all.extend(calls);
    all
}

fn said(role: &str, content: &str) -> Value {
    json!({ "role": role, "content": content })
}

fn called(call: &ToolCall) -> Value {
    json!({
        "type": "function_call",
        "call_id": call.id,
        "name": call.tool,
        "arguments": object(&call.arguments).to_string(),
    })
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": false,
    })
}

/// The parts of an answer received so far.
#[derive(Default)]
struct Heard {
    /// Items that are finished, for servers whose last word does not repeat them.
    items: Vec<Value>,
    last: Option<Value>,
}

impl Heard {
    fn add(&mut self, mut event: Value) -> Result<(), ExchangeFailure> {
        let kind = event["type"].as_str().unwrap_or_default();
        match kind {
            "response.output_item.done" => self.items.push(event["item"].take()),
            "response.completed" | "response.incomplete" => {
                self.last = Some(event["response"].take());
            }
            "response.failed" => return Err(failure_of_error(&event["response"]["error"])),
            "error" if event["error"].is_object() => return Err(failure_of_error(&event["error"])),
            "error" => return Err(failure_of_error(&event)),
            // An answer that did not stream is its own last word.
            "" if event["object"] == "response" => self.last = Some(event),
            "" if !event["error"].is_null() => return Err(failure_of_error(&event["error"])),
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<Answer, ExchangeFailure> {
        let mut draft = PartialAnswer::default();
        let last = self.last.unwrap_or_default();
        if !last["error"].is_null() {
            return Err(failure_of_error(&last["error"]));
        }
        let items = match last["output"].as_array() {
            Some(items) if !items.is_empty() => items,
            _ => &self.items,
        };
        draft.finished = match last["status"].as_str() {
            Some("completed") => Some("stop".to_owned()),
            Some("incomplete") => Some(reason(&last["incomplete_details"]["reason"]).to_owned()),
            _ => None,
        };
        draft.usage = last["usage"].is_object().then(|| used(&last["usage"]));
        for (at, item) in items.iter().enumerate() {
            add(&mut draft, at, item);
        }
        let kept: Vec<Value> = items.iter().map(stored_item).collect();
        // Thoughts, compactions, phases and whatever comes next are given back as they came.
        let plain = |item: &Value| match item["type"].as_str() {
            Some("function_call") => true,
            Some("message") => item["phase"].is_null(),
            _ => false,
        };
        let is_plain = kept.iter().all(plain);
        let answer = draft.finish()?;
        // Of plain items the order says nothing, and with a fault the calls are gone.
        let opaque = match !is_plain && answer.fault.is_none() {
            true => json!({ ITEMS: kept }),
            false => Value::Null,
        };
        Ok(Answer { opaque, ..answer })
    }
}

fn reason(given: &Value) -> &str {
    match given.as_str() {
        Some("content_filter") => "content_filter",
        _ => "length",
    }
}

fn add(draft: &mut PartialAnswer, at: usize, item: &Value) {
    let texts = |parts: &Value, key: &str| -> String {
        let parts = parts.as_array().into_iter().flatten();
        parts.filter_map(|part| part[key].as_str()).collect()
    };
    match item["type"].as_str().unwrap_or_default() {
        "message" => {
            draft.content += &texts(&item["content"], "text");
            draft.content += &texts(&item["content"], "refusal");
        }
        "reasoning" => {
            draft.reasoning += &texts(&item["summary"], "text");
            draft.reasoning += &texts(&item["content"], "text");
        }
        "function_call" => {
            let part = draft.call(at, item["call_id"].as_str().unwrap_or_default());
            part.tool = item["name"].as_str().unwrap_or_default().to_owned();
            part.arguments = match &item["arguments"] {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
        }
        _ => {}
    }
}

/// An item as it is kept: of a call only that there was one.
fn stored_item(item: &Value) -> Value {
    match item["type"].as_str() {
        Some("function_call") => json!({ "type": "function_call" }),
        _ => item.clone(),
    }
}

fn used(usage: &Value) -> TokenUsage {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    TokenUsage {
        input: number(&usage["input_tokens"]),
        output: number(&usage["output_tokens"]),
        cached: number(&usage["input_tokens_details"]["cached_tokens"]),
        stored: number(&usage["input_tokens_details"]["cache_write_tokens"]),
        ..TokenUsage::default()
    }
}
