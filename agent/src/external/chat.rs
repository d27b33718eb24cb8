//! Serves OpenAI's chat completions: reads requests, writes answers.
//!
//! A client's other fields are ignored; the settings decide the sampling.

use serde_json::{Map, Value, json};

use crate::{
    message::{Answer, Message, ToolCall, ToolReply},
    model::ToolSpec,
};

/// The request of a client.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools that may be called.
    pub tools: Vec<ToolSpec>,
    /// True if the answer is streamed.
    pub stream: bool,
}

/// Reads a request's body.
///
/// # Errors
/// What is wrong with it.
pub fn read_request(body: &[u8]) -> Result<ChatRequest, String> {
    let body: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let given = body["messages"].as_array().ok_or("there are no messages")?;
    let mut messages = Vec::with_capacity(given.len());
    for message in given {
        messages.push(read(message, &messages)?);
    }
    let tools = body["tools"].as_array().into_iter().flatten().map(|tool| {
        let function = &tool["function"];
        ToolSpec {
            name: words(&function["name"]),
            description: words(&function["description"]),
            parameters: function["parameters"].clone(),
        }
    });
    Ok(ChatRequest { tools: tools.collect(), stream: body["stream"] == true, messages })
}

fn read(message: &Value, before: &[Message]) -> Result<Message, String> {
    let content = words(&message["content"]);
    match message["role"].as_str() {
        Some("system" | "developer") => Ok(Message::System { content }),
        Some("user") => Ok(Message::User { content }),
        Some("assistant") => {
            let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
                let written = words(&call["function"]["arguments"]);
                let arguments = serde_json::from_str(&written).unwrap_or(Value::String(written));
                ToolCall {
                    id: words(&call["id"]),
                    tool: words(&call["function"]["name"]),
                    arguments,
                }
            });
            Ok(Message::Assistant(Answer { content, calls: calls.collect(), ..Answer::default() }))
        }
        Some("tool") => {
            let id = words(&message["tool_call_id"]);
            let made = before.iter().rev().find_map(|message| match message {
                Message::Assistant(answer) => answer.calls.iter().find(|call| call.id == id),
                _ => None,
            });
            let tool = made.map(|call| call.tool.clone()).unwrap_or_default();
            Ok(Message::Tool(ToolReply { id, tool, content, refused: false, seconds: 0.0 }))
        }
        other => Err(format!("no role of a message: {other:?}")),
    }
}

/// A text, or the texts of its parts.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// An answer's body; `number` tells it from others.
pub fn answered(answer: &Answer, model: &str, number: usize) -> Value {
    let usage = json!({
        "prompt_tokens": answer.usage.input,
        "completion_tokens": answer.usage.output,
        "total_tokens": answer.usage.total(),
        "prompt_tokens_details": { "cached_tokens": answer.usage.cached },
    });
    json!({
        "id": format!("gistify-{number}"),
        "object": "chat.completion",
        "created": crate::trajectory::now(),
        "model": model,
        "choices": [{ "index": 0, "message": message(answer), "finish_reason": reason(answer) }],
        "usage": usage,
    })
}

/// The same as a stream of events.
pub fn streamed(answer: &Answer, model: &str, number: usize) -> String {
    let mut whole = answered(answer, model, number);
    whole["object"] = "chat.completion.chunk".into();
    let mut delta = message(answer);
    for (at, call) in delta["tool_calls"].as_array_mut().into_iter().flatten().enumerate() {
        call["index"] = at.into();
    }
    whole["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": reason(answer) }]);
    format!("data: {whole}\n\ndata: [DONE]\n\n")
}

fn message(answer: &Answer) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    message.insert("content".to_owned(), answer.content.clone().into());
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().map(|call| {
            let arguments = match &call.arguments {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let function = json!({ "name": call.tool, "arguments": arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        });
        message.insert("tool_calls".to_owned(), calls.collect());
    }
    Value::Object(message)
}

fn reason(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() { "stop" } else { "tool_calls" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_answered_is_read_back() {
        let call =
            ToolCall { id: "c1".to_owned(), tool: "bash".to_owned(), arguments: json!({ "a": 1 }) };
        let answer = Answer { content: "so".to_owned(), calls: vec![call], ..Answer::default() };
        let said = answered(&answer, "m", 1)["choices"][0]["message"].clone();
        let reply = json!({ "role": "tool", "tool_call_id": "c1", "content": [{ "text": "ok" }] });
        let body = json!({ "messages": [said, reply], "stream": true }).to_string();
        let read = read_request(body.as_bytes()).unwrap();
        assert_eq!(read.messages[0], Message::Assistant(answer.clone()));
        let Message::Tool(reply) = &read.messages[1] else { panic!("{:?}", read.messages) };
        assert_eq!((reply.tool.as_str(), reply.content.as_str()), ("bash", "ok"));
        assert!(read.stream && streamed(&answer, "m", 1).ends_with("data: [DONE]\n\n"));
        assert!(
            read_request(b"{}").is_err()
                && read_request(b"{\"messages\": [{\"role\": \"x\"}]}").is_err()
        );
    }
}
