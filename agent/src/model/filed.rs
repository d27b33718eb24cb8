//! One answer in the place of calls: the block of Python in it becomes the gist, which is handed in.
//!
//! The loop and the tools are those of any other session; the model is told of no tool.

use std::sync::Arc;

use serde_json::json;

use super::{Model, ModelRequest, Pending, textual::plain};
use crate::{
    message::{Answer, Message, ToolCall},
    prompt::Prompts,
};

/// A model that writes the gist in one answer.
pub struct Filed {
    model: Box<dyn Model>,
    prompts: Arc<Prompts>,
}

impl Filed {
    /// A model that is asked for a file.
    pub fn new(model: Box<dyn Model>, prompts: Arc<Prompts>) -> Self {
        Self { model, prompts }
    }
}

impl Model for Filed {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn answer<'a>(&'a mut self, request: ModelRequest<'a>) -> Pending<'a> {
        Box::pin(async move {
            // It made no call that it knows of.
            let mut messages = request.messages.to_vec();
            for message in &mut messages {
                if let Message::Assistant(answer) = message {
                    answer.calls.clear();
                }
            }
            let messages = plain(&messages, &self.prompts)?;
            let asked = ModelRequest { messages: &messages, tools: &[] };
            let answer = self.model.answer(asked).await?;
            Ok(super::assemble::settle(filed(answer), request))
        })
    }
}

fn filed(mut answer: Answer) -> Answer {
    if answer.fault.is_some() || !answer.calls.is_empty() {
        return answer;
    }
    let Some(text) = block(&answer.content) else {
        answer.fault = Some("it has no whole block of python".to_owned());
        return answer;
    };
    let call =
        |tool: &str, arguments| ToolCall { id: String::new(), tool: tool.to_owned(), arguments };
    let create = json!({ "action": "create", "text": text });
    answer.calls = vec![call("edit", create), call("submit", json!({}))];
    answer
}

/// The longest block of Python that is whole.
fn block(text: &str) -> Option<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut open: Option<Vec<&str>> = None;
    for line in text.lines() {
        match (&mut open, line.trim_end()) {
            (None, "```python" | "```py") => open = Some(Vec::new()),
            (None, _) => {}
            (Some(lines), "```") => {
                blocks.push(lines.join("\n") + "\n");
                open = None;
            }
            (Some(lines), _) => lines.push(line),
        }
    }
    blocks.into_iter().max_by_key(String::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_handed_in() {
        let answer = |text: &str| filed(Answer { content: text.to_owned(), ..Answer::default() });
        let good = answer("Here:\n```python\na = 1\n```\nor\n```python\nb = 22\n```\n");
        assert_eq!(good.calls[0].arguments["text"], "b = 22\n");
        assert_eq!(good.calls[1].tool, "submit");
        assert_eq!(answer("```python\na = 1\n").fault.unwrap(), "it has no whole block of python");
    }
}
