//! Whoever writes the gist: one trait, one file for each kind of model.
//!
//! A model sees messages and the tools' descriptions, and gives back one answer. It holds no
//! session, runs no tool and counts no limit.

use std::{future::Future, pin::Pin};

use serde::Serialize;
use serde_json::{Value, json};

use crate::message::{Answer, Message};

mod anthropic;
mod assemble;
mod command;
mod connection;
mod filed;
mod human;
mod offline;
mod openai;
mod pace;
mod prices;
mod provider;
mod resumed;
mod retry;
mod scripted;
mod supply;
mod tape;
mod textual;
mod wire;

pub use assemble::tokens;
pub use human::Ask;
pub use offline::Offline;
pub use openai::Embeddings;
pub use pace::Spent;
pub use provider::{Credentials, Provider, ProviderError};
pub use resumed::Resumed;
pub use retry::retry_after;
pub use scripted::Scripted;
pub use supply::{Access, ModelSupply, SupplyError};
pub use tape::Exchange;
pub use wire::said;

/// Answers conversations.
pub trait Model: Send {
    /// `provider/model`, as records name it.
    fn name(&self) -> &str;

    /// Returns true if calls are blocks in the model's text.
    fn calls_by_text(&self) -> bool {
        false
    }

    /// Continues a conversation.
    fn answer<'a>(&'a mut self, request: ModelRequest<'a>) -> Pending<'a>;
}

/// An answer under way.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Result<Answer, ModelError>> + Send + 'a>>;

/// All that a model sees.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The conversation so far.
    pub messages: &'a [Message],
    /// The tools that the model may call.
    pub tools: &'a [ToolSpec],
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// The description, from the prompts.
    pub description: String,
    /// JSON schema of its arguments, with the prompts' descriptions.
    pub parameters: Value,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No answer will come.
    #[error("{0}")]
    Failed(String),
    /// The quota is used up; later an answer may come.
    #[error("{0}")]
    Paused(String),
    /// The conversation is too long for it.
    #[error("{0}")]
    TooLong(String),
}

/// Arguments as providers take them: an object, whatever the model wrote.
fn object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        other => json!({ "unreadable": other }),
    }
}
