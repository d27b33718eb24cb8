//! OpenAI's chat completions, through async-openai with types of our own: whoever speaks the protocol
//! nearly is understood as far as possible.
//!
//! An answer counts only once the provider said that it is finished; until then nothing of it is
//! carried out. Retries, rates and records are below, in `wire` and `retry`.

use std::sync::Arc;

use async_openai::{Client, config::Config, error::OpenAIError, middleware::HttpRequestFactory};
use futures_util::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::{
    Model, Pending, Request, ToolSpec,
    assemble::{Draft, settle},
    provider::Provider,
    retry::{Failure, persist},
    wire::{Received, Wire, said},
};
use crate::{
    config::ModelSettings,
    message::{Answer, Message, Usage},
};

/// A model behind chat completions.
pub struct OpenAiChat {
    name: String,
    model: String,
    provider: Provider,
    settings: ModelSettings,
    parameters: Map<String, Value>,
    client: Client<Endpoint>,
}

impl OpenAiChat {
    /// A model of a provider.
    pub fn new(
        name: String,
        model: String,
        provider: Provider,
        settings: ModelSettings,
        parameters: Map<String, Value>,
        key: Option<SecretString>,
        wire: Wire,
    ) -> Self {
        let http = wire.client().clone();
        let wire = Arc::new(wire);
        // This replaces the library's own retries too: there is one policy, and it is ours.
        let service = tower::service_fn(move |request: HttpRequestFactory| {
            let wire = Arc::clone(&wire);
            async move {
                let received = wire.exchange(request.build().await?).await;
                received.map(response).map_err(|failure| OpenAIError::Boxed(Box::new(failure)))
            }
        });
        let endpoint = Endpoint::new(&provider, key);
        let client = Client::build(http, endpoint).with_http_service(service);
        Self { name, model, provider, settings, parameters, client }
    }

    async fn ask(&self, body: &Value) -> Result<Answer, Failure> {
        let mut chunks =
            self.client.chat().create_stream_byot::<_, Value>(body).await.map_err(failure)?;
        let mut draft = Draft::default();
        while let Some(chunk) = chunks.next().await {
            add(&mut draft, &chunk.map_err(failure)?)?;
        }
        draft.finish()
    }

    fn body(&self, request: Request<'_>) -> Value {
        let messages: Vec<Value> =
            request.messages.iter().map(|message| self.message(message)).collect();
        let mut body = json!({
            "messages": messages,
            "model": self.model,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        if self.settings.output_tokens > 0 {
            body[&self.provider.output_limit] = self.settings.output_tokens.into();
        }
        for (key, value) in &self.parameters {
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
                            let arguments = super::object(&call.arguments).to_string();
                            let function = json!({ "name": call.tool, "arguments": arguments });
                            json!({ "id": call.id, "type": "function", "function": function })
                        })
                        .collect();
                }
                if self.provider.returns_reasoning && !answer.reasoning.is_empty() {
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
        &self.name
    }

    fn answer<'a>(&'a mut self, request: Request<'a>) -> Pending<'a> {
        Box::pin(async move {
            let body = self.body(request);
            let answer = persist(&self.settings, || self.ask(&body)).await?;
            Ok(settle(answer, request))
        })
    }
}

/// Where the library sends requests, and with which headers.
struct Endpoint {
    base_url: String,
    headers: HeaderMap,
    key: SecretString,
}

impl Endpoint {
    fn new(provider: &Provider, key: Option<SecretString>) -> Self {
        let mut headers = HeaderMap::new();
        for (name, value) in &provider.headers {
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
                headers.insert(name, value);
            }
        }
        if let Some(key) = &key {
            let (name, value) = match provider.key_header.as_str() {
                "bearer" => (header::AUTHORIZATION, format!("Bearer {}", key.expose_secret())),
                name => {
                    (name.parse().unwrap_or(header::AUTHORIZATION), key.expose_secret().to_owned())
                }
            };
            if let Ok(mut value) = HeaderValue::try_from(value) {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        Self { base_url: provider.base_url.clone(), headers, key: key.unwrap_or_default() }
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base_url
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

/// A body as the library reads it: a server that does not stream is made one that does at once.
fn response(received: Received) -> reqwest::Response {
    let body = match received.kind == "application/json" {
        true => {
            // A line break would end the event.
            let text = String::from_utf8_lossy(&received.body);
            format!("data: {}\n\n", text.replace(['\r', '\n'], " ")).into_bytes()
        }
        // Bytes that are no text become marks, which whoever reads the answer sees.
        false => String::from_utf8_lossy(&received.body).into_owned().into_bytes(),
    };
    http::Response::new(body).into()
}

fn failure(error: OpenAIError) -> Failure {
    match error {
        OpenAIError::Boxed(error) => match error.downcast::<Failure>() {
            Ok(failure) => *failure,
            Err(error) => Failure::again(error.to_string()),
        },
        OpenAIError::JSONDeserialize(error, _) => {
            Failure::again(format!("a part of the answer is no JSON: {error}"))
        }
        OpenAIError::StreamError(error) => Failure::again(error.to_string()),
        error => Failure::Refused(error.to_string()),
    }
}

/// Adds one part of an answer. What a part lacks, or has in another form, says nothing.
fn add(draft: &mut Draft, chunk: &Value) -> Result<(), Failure> {
    if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
        return Err(Failure::again(said(&json!({ "error": error }).to_string())));
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

fn used(usage: &Value) -> Usage {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let cached = number(&usage["prompt_tokens_details"]["cached_tokens"])
        .max(number(&usage["prompt_cache_hit_tokens"]));
    Usage {
        input: number(&usage["prompt_tokens"]),
        output: number(&usage["completion_tokens"]),
        cached,
        ..Usage::default()
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
