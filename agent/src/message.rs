//! The one format in which a conversation is stored, for every model.
//!
//! Providers translate to and from it; nothing here belongs to one of them.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hidden::escaped;

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// The rules of the whole session.
    System {
        /// The text.
        content: String,
    },
    /// The task, and the loop's messages between calls.
    User {
        /// The text.
        content: String,
    },
    /// The answer of the model.
    Assistant(Answer),
    /// The reply to one call.
    Tool(ToolReply),
}

impl Message {
    /// The message with escapes for characters that nobody sees, where it is not the model's own.
    #[must_use]
    pub fn without_hidden(mut self) -> Self {
        let content = match &mut self {
            Self::System { content } | Self::User { content } => content,
            Self::Tool(reply) => &mut reply.content,
            Self::Assistant(_) => return self,
        };
        if let Cow::Owned(escaped) = escaped(content) {
            *content = escaped;
        }
        self
    }
}

/// One answer of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Answer {
    /// The text beside its calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// The calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// The reasoning, if the provider reveals it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The data that the provider expects back unchanged, such as signed reasoning.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub opaque: Value,
    /// Why the answer cannot be used as it is; then nothing that it calls is carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The tokens used.
    #[serde(default)]
    pub usage: TokenUsage,
    /// Its price in US dollars, where the price of its tokens is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Joins the call to its reply.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments; a string where the model's text was no JSON.
    pub arguments: Value,
}

/// The reply to one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ToolReply {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The text for the model.
    pub content: String,
    /// True if the tool refused the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Seconds that the tool took.
    pub seconds: f64,
}

impl ToolReply {
    /// Returns the reason of a refused call: the first line that is not empty, cut to 300 characters.
    pub fn refusal(&self) -> Option<String> {
        const SHOWN: usize = 300;
        let lines = || self.content.lines().map(str::trim);
        let first = lines().find(|line| !line.is_empty()).unwrap_or_default();
        self.refused.then(|| first.chars().take(SHOWN).collect())
    }
}

/// Tokens of one answer, or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// Tokens read, the cached ones included.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from the provider's cache.
    pub cached: u64,
    /// Tokens read that the provider put into its cache.
    #[serde(default)]
    pub stored: u64,
    /// The tokens among them that it keeps for an hour.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stored_hour: u64,
    /// Tokens in and out that we counted, for want of the provider's own count.
    #[serde(default)]
    pub estimated: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TokenUsage {
    /// Tokens in and out.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.stored = self.stored.saturating_add(other.stored);
        self.stored_hour = self.stored_hour.saturating_add(other.stored_hour);
        self.estimated = self.estimated.saturating_add(other.estimated);
    }
}
