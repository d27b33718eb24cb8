//! A person in the place of a model, in the terminal that the command line hands down.
//!
//! Each step shows what is new. A line `TOOL {ARGUMENTS}` is a call, any other line is text, and an
//! empty line sends the answer.

use std::{io, sync::Arc};

use serde_json::{Value, json};

use super::{Model, ModelError, ModelRequest, Pending, ToolSpec, assemble::settle};
use crate::message::{Answer, Message, ToolCall};

/// Shows a text and waits for lines, up to an empty one; nothing at the end of the input.
pub type Ask = Arc<dyn Fn(&str) -> io::Result<Option<String>> + Send + Sync>;

/// A person.
pub struct Human {
    ask: Ask,
    shown: usize,
}

impl Human {
    /// Whoever answers.
    pub fn new(ask: Ask) -> Self {
        Self { ask, shown: 0 }
    }
}

impl Model for Human {
    fn name(&self) -> &str {
        "human"
    }

    fn answer<'a>(&'a mut self, request: ModelRequest<'a>) -> Pending<'a> {
        let new = request.messages.get(self.shown..).unwrap_or(request.messages);
        let texts: Vec<&str> = new.iter().filter_map(text).collect();
        // Their own answer is the next message, and they know it.
        self.shown = request.messages.len() + 1;
        let (ask, text) = (Arc::clone(&self.ask), texts.join("\n\n"));
        Box::pin(async move {
            // Limits on time hold while a person thinks.
            let asked = tokio::task::spawn_blocking(move || ask(&text)).await;
            let failed = |error: String| ModelError::Failed(format!("read the answer: {error}"));
            let line = asked
                .map_err(|error| failed(error.to_string()))?
                .map_err(|error| failed(error.to_string()))?;
            let line = line.ok_or_else(|| failed("the input is at its end".to_owned()))?;
            Ok(settle(read(&line, request.tools), request))
        })
    }
}

fn text(message: &Message) -> Option<&str> {
    match message {
        Message::System { content } | Message::User { content } => Some(content),
        Message::Tool(reply) => Some(&reply.content),
        Message::Assistant(_) => None,
    }
}

fn read(text: &str, tools: &[ToolSpec]) -> Answer {
    let mut answer = Answer::default();
    let mut said = Vec::new();
    for line in text.lines() {
        let (name, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match tools.iter().find(|tool| tool.name == name) {
            Some(tool) => {
                let arguments = match rest.trim() {
                    "" => json!({}),
                    rest => serde_json::from_str(rest).unwrap_or_else(|_| Value::from(rest)),
                };
                answer.calls.push(ToolCall {
                    id: String::new(),
                    tool: tool.name.clone(),
                    arguments,
                });
            }
            None => said.push(line),
        }
    }
    answer.content = said.join("\n").trim().to_owned();
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_begin_with_a_tool_are_calls() {
        let tool = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            parameters: Value::Null,
        };
        let tools = [tool("view"), tool("submit")];
        let answer = read("let me look\nview {\"target\": \"a.py\"}\nsubmit\nview {", &tools);
        assert_eq!(answer.content, "let me look");
        let calls: Vec<_> =
            answer.calls.iter().map(|call| format!("{} {}", call.tool, call.arguments)).collect();
        assert_eq!(calls, [r#"view {"target":"a.py"}"#, "submit {}", r#"view "{""#]);
    }
}
