//! A model with scripted answers, for tests and for replays.
//!
//! It reads nothing of the conversation.

use std::collections::VecDeque;

use serde_json::Value;

use super::{Model, ModelError, ModelRequest, Pending};
use crate::message::{Answer, ToolCall};

/// Plays answers in order; after the last one it fails.
#[derive(Debug, Default)]
pub struct Scripted {
    answers: VecDeque<Result<Answer, ModelError>>,
    calls: usize,
}

impl Scripted {
    /// Returns a model without answers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an answer that is one call.
    pub fn call(self, tool: &str, arguments: Value) -> Self {
        let id = format!("call-{}", self.calls + 1);
        let call = ToolCall { id, tool: tool.to_owned(), arguments };
        self.then(Ok(Answer { calls: vec![call], ..Answer::default() }))
    }

    /// Adds an answer without a call.
    pub fn say(self, content: &str) -> Self {
        self.then(Ok(Answer { content: content.to_owned(), ..Answer::default() }))
    }

    /// Adds any answer, or a failure.
    pub fn then(mut self, answer: Result<Answer, ModelError>) -> Self {
        self.calls += answer.as_ref().map_or(0, |answer| answer.calls.len());
        self.answers.push_back(answer);
        self
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn answer<'a>(&'a mut self, _: ModelRequest<'a>) -> Pending<'a> {
        let end = || Err(ModelError::Failed("the script is at its end".to_owned()));
        let answer = self.answers.pop_front().unwrap_or_else(end);
        Box::pin(async { answer })
    }
}
