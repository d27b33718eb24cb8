//! An answer put together from its parts, whichever protocol they came by.
//!
//! Here an answer becomes what the loop may act on: finished, with ids that join each call to its
//! reply, with arguments that are JSON where they can be, and with its tokens counted.

use std::collections::{BTreeMap, BTreeSet};

use graph::count_tokens;
use serde_json::{Value, json};

use super::{ModelRequest, retry::ExchangeFailure};
use crate::message::{Answer, Message, TokenUsage, ToolCall};

/// An answer on its way.
#[derive(Debug, Default)]
pub struct PartialAnswer {
    /// Text.
    pub content: String,
    /// Thoughts.
    pub reasoning: String,
    /// Thoughts in the provider's own form, to be sent back.
    pub details: Vec<Value>,
    /// Tokens, where the provider told.
    pub usage: Option<TokenUsage>,
    /// Why it ended, once it did.
    pub finished: Option<String>,
    calls: BTreeMap<usize, PartialCall>,
}

/// A call on its way.
#[derive(Debug, Default)]
pub struct PartialCall {
    /// The id that the provider gave.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The text of the arguments.
    pub arguments: String,
}

impl PartialAnswer {
    /// The call at an index. Some servers give every call the same index and tell them apart by id.
    pub fn call(&mut self, index: usize, id: &str) -> &mut PartialCall {
        let other = |part: &PartialCall| !id.is_empty() && !part.id.is_empty() && part.id != id;
        let at = match self.calls.get(&index) {
            Some(part) if other(part) => {
                let same = self.calls.iter().find(|(_, part)| part.id == id);
                same.map_or(self.calls.len(), |(at, _)| *at)
            }
            _ => index,
        };
        let part = self.calls.entry(at).or_default();
        if part.id.is_empty() {
            id.clone_into(&mut part.id);
        }
        part
    }

    /// The answer, once it is whole.
    ///
    /// # Errors
    /// The provider never said that it is.
    pub fn finish(self) -> Result<Answer, ExchangeFailure> {
        let Some(reason) = self.finished else {
            return Err(ExchangeFailure::again("the answer was cut before its end".to_owned()));
        };
        let fault = match reason.as_str() {
            "length" | "max_tokens" => Some("it was cut at the limit of written tokens".to_owned()),
            "content_filter" | "refusal" => Some(format!("the provider withheld it ({reason})")),
            "model_context_window_exceeded" => return Err(ExchangeFailure::TooLong(reason)),
            _ => None,
        };
        let calls = match fault {
            // What was cut may be a part of a call.
            Some(_) => Vec::new(),
            None => self.calls.into_values().map(PartialCall::call).collect(),
        };
        Ok(Answer {
            content: self.content,
            calls,
            reasoning: self.reasoning,
            opaque: match self.details.is_empty() {
                true => Value::Null,
                false => json!({ "reasoning_details": self.details }),
            },
            fault,
            usage: self.usage.unwrap_or_default(),
            cost: None,
        })
    }
}

impl PartialCall {
    fn call(self) -> ToolCall {
        let text = self.arguments.trim();
        let arguments = match text {
            "" => json!({}),
            text => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
        };
        ToolCall { id: self.id, tool: self.tool, arguments }
    }
}

/// Gives each call an id that no other call of the conversation has, and counts tokens that the
/// provider did not.
pub fn settle(mut answer: Answer, request: ModelRequest<'_>) -> Answer {
    let mut known: BTreeSet<String> = request
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Assistant(answer) => Some(answer.calls.iter().map(|call| call.id.clone())),
            _ => None,
        })
        .flatten()
        .collect();
    for call in &mut answer.calls {
        let given = if call.id.is_empty() { "call" } else { &call.id };
        let fresh = (1..)
            .map(|n| if n == 1 { given.to_owned() } else { format!("{given}-{n}") })
            .find(|id| !known.contains(id))
            .unwrap_or_default();
        known.insert(fresh.clone());
        call.id = fresh;
    }
    if answer.usage.total() == 0 {
        let input: usize = request.messages.iter().map(tokens).sum();
        let input = input
            + request
                .tools
                .iter()
                .map(|tool| {
                    count_tokens(&tool.description) + count_tokens(&tool.parameters.to_string())
                })
                .sum::<usize>();
        let output = tokens(&Message::Assistant(answer.clone()));
        answer.usage.input = input as u64;
        answer.usage.output = output as u64;
        answer.usage.estimated = answer.usage.total();
    }
    answer
}

/// Detects a server that silently truncated a request, and returns a message with both sizes.
///
/// The server reports too few tokens for the bytes sent. `most` is the largest number of tokens
/// that it ever reported.
pub fn truncated(answer: &Answer, request: ModelRequest<'_>, most: u64) -> Option<String> {
    let TokenUsage { input, cached, estimated, .. } = answer.usage;
    // Some count what came from their cache beside the tokens read; those that do not tell of it read
    // less than before, which a window that is full never does.
    let read = input.saturating_add(cached);
    let sent: usize = request.messages.iter().map(bytes).sum();
    let known = estimated == 0 && read > 0 && input >= most / 10 * 9 && sent > NOTICED;
    (known && read.saturating_mul(BYTES) < sent as u64).then(|| {
        format!(
            "the server read {read} tokens of a request of {sent} bytes (its window is smaller)"
        )
    })
}

/// Bytes of a token at most, on the average of a text: of code it is three or four.
const BYTES: u64 = 8;
/// The least size in bytes of a request that can show a truncation.
const NOTICED: usize = 8_000;

fn bytes(message: &Message) -> usize {
    match message {
        Message::System { content } | Message::User { content } => content.len(),
        Message::Tool(reply) => reply.content.len(),
        Message::Assistant(answer) => answer.content.len(),
    }
}

/// Tokens of a message in the o200k vocabulary, without what a provider puts around it.
pub fn tokens(message: &Message) -> usize {
    match message {
        Message::System { content } | Message::User { content } => count_tokens(content),
        Message::Tool(reply) => count_tokens(&reply.content),
        Message::Assistant(answer) => {
            let calls = answer
                .calls
                .iter()
                .map(|call| count_tokens(&call.tool) + count_tokens(&call.arguments.to_string()));
            count_tokens(&answer.content) + count_tokens(&answer.reasoning) + calls.sum::<usize>()
        }
    }
}
