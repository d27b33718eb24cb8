//! Whoever writes the gist: one trait, one file for each kind of model.
//!
//! A model sees messages and the tools' descriptions, and gives back one answer. It holds no
//! session, runs no tool and counts no limit.

use std::{future::Future, pin::Pin};

use serde::Serialize;
use serde_json::Value;

use crate::message::{Answer, Message};

mod offline;
mod scripted;

pub use offline::Offline;
pub use scripted::Scripted;

/// Answers conversations.
pub trait Model: Send {
    /// `provider/model`, as records name it.
    fn name(&self) -> &str;

    /// Continues a conversation.
    fn answer<'a>(&'a mut self, request: Request<'a>) -> Pending<'a>;
}

/// An answer under way.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Result<Answer, ModelError>> + Send + 'a>>;

/// All that a model sees.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The conversation so far.
    pub messages: &'a [Message],
    /// What it may call.
    pub tools: &'a [ToolSpec],
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, from the prompts.
    pub description: String,
    /// JSON schema of its arguments, with the prompts' descriptions.
    pub parameters: Value,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The answer came, and it cannot be read; asking again may help.
    #[error("{0}")]
    Format(String),
    /// No answer will come.
    #[error("{0}")]
    Failed(String),
}

/// The settings name a model that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no model {name:?} (there is {})", MODELS.join(", "))]
pub struct UnknownModel {
    /// What was asked for.
    pub name: String,
}

/// The models that settings can name.
const MODELS: [&str; 1] = ["offline"];

/// A model by the name that settings give it.
///
/// # Errors
/// There is none of this name.
pub fn model_named(name: &str) -> Result<Box<dyn Model>, UnknownModel> {
    match name {
        "offline" => Ok(Box::new(Offline)),
        _ => Err(UnknownModel { name: name.to_owned() }),
    }
}
