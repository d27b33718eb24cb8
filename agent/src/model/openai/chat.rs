//! OpenAI's chat completions, which most providers and servers implement.
//!
//! An answer counts only once the provider has marked it as finished; until then none of its calls
//! is executed. A missing or malformed part is ignored.

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
use crate::message::{Answer, Message, TokenUsage};

/// A model behind chat completions.
pub struct OpenAiChat {
    connection: Connection,
    client: Client<Endpoint>,
}

impl OpenAiChat {
    /// A model of a provider.
    pub fn new(connection: Connection) -> Self {
        let client = client(&connection, Form::Events);
        Self { connection, client }
    }

    async fn ask(&self, body: &Value) -> Result<Answer, ExchangeFailure> {
        let mut chunks =
            self.client.chat().create_stream_byot::<_, Value>(body).await.map_err(failure)?;
        let mut draft = PartialAnswer::default();
        while let Some(chunk) = chunks.next().await {
            add(&mut draft, &chunk.map_err(failure)?)?;
        }
        draft.finish()
    }

    fn body(&self, request: ModelRequest<'_>) -> Value {
        let messages: Vec<Value> =
            request.messages.iter().map(|message| self.message(message)).collect();
        let mut body = json!({
            "messages": messages,
            "model": self.connection.model,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        if self.connection.settings.output_tokens > 0 {
            body[&self.connection.provider.output_limit] =
                self.connection.settings.output_tokens.into();
        }
        for (key, value) in &self.connection.parameters {
            body[key] = value.clone();
        }
        body
    }

    fn message(&self, message: &Message) -> Value {
        match message {
            Message::System { content } => json!({ "role": "system", "content": content }),
            Message::User { content } => json!({ "role": "user", "content": content }),
            Message::Tool(reply) => {
                json!({ "role": "tool", "tool_call_id": reply.id, "content": reply.content })
            }
            Message::Assistant(answer) => {
                let mut said = json!({ "role": "assistant", "content": answer.content });
                if !answer.calls.is_empty() {
                    said["tool_calls"] = answer
                        .calls
                        .iter()
                        .map(|call| {
                            let arguments = object(&call.arguments).to_string();
                            let function = json!({ "name": call.tool, "arguments": arguments });
                            json!({ "id": call.id, "type": "function", "function": function })
                        })
                        .collect();
                }
                if self.connection.provider.returns_reasoning && !answer.reasoning.is_empty() {
                    said["reasoning_content"] = answer.reasoning.as_str().into();
                }
                if let Value::Object(opaque) = &answer.opaque {
                    opaque.iter().for_each(|(key, value)| said[key] = value.clone());
                }
                said
            }
        }
    }
}

impl Model for OpenAiChat {
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

/// Adds one part of an answer. A missing or malformed field is ignored.
fn add(draft: &mut PartialAnswer, chunk: &Value) -> Result<(), ExchangeFailure> {
    if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
        return Err(failure_of_error(error));
    }
    if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
        draft.usage = Some(used(usage));
    }
    let Some(choice) = chunk["choices"].get(0) else { return Ok(()) };
    let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
    draft.content.push_str(delta["content"].as_str().unwrap_or_default());
    draft.content.push_str(delta["refusal"].as_str().unwrap_or_default());
    let thought = delta["reasoning_content"].as_str().or_else(|| delta["reasoning"].as_str());
    draft.reasoning.push_str(thought.unwrap_or_default());
    if let Some(details) = delta["reasoning_details"].as_array() {
        draft.details.extend(details.iter().cloned());
    }
    for (at, call) in delta["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let id = call["id"].as_str().unwrap_or_default();
        let index = call["index"].as_u64().map(|index| index as usize);
        let function = &call["function"];
        let part = draft.call(index.unwrap_or(at), id);
        if let Some(name) = function["name"].as_str() {
            part.tool.push_str(name);
        }
        match &function["arguments"] {
            Value::String(text) => part.arguments.push_str(text),
            Value::Null => {}
            other => part.arguments.push_str(&other.to_string()),
        }
    }
    if let Some(reason) = choice["finish_reason"].as_str() {
        draft.finished = Some(reason.to_owned());
    }
    Ok(())
}

fn used(usage: &Value) -> TokenUsage {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let cached = number(&usage["prompt_tokens_details"]["cached_tokens"])
        .max(number(&usage["prompt_cache_hit_tokens"]));
    TokenUsage {
        input: number(&usage["prompt_tokens"]),
        output: number(&usage["completion_tokens"]),
        cached,
        stored: number(&usage["prompt_tokens_details"]["cache_write_tokens"]),
        ..TokenUsage::default()
    }
}

fn tool(tool: &ToolSpec) -> Value {
    let function = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    });
    json!({ "type": "function", "function": function })
}
