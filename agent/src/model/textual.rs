//! Tools for models that call none by their protocol: the tools are described in a prompt, calls are
//! blocks of text in the answer, and replies are messages.
//!
//! Whether a model needs that is a setting of its provider or the user's, or is found out by asking
//! once with tools.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Model, ModelError, ModelRequest, Pending, ToolSpec};
use crate::{
    message::{Answer, Message, ToolCall},
    prompt::Prompts,
};

/// The way in which tools are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calling {
    /// By the provider's protocol.
    Protocol,
    /// By blocks of text.
    Text,
    /// By the protocol, unless the provider says that the model cannot.
    Probe,
}

/// A model that is asked in one of both ways.
pub struct Textual {
    model: Box<dyn Model>,
    calling: Calling,
    prompts: Arc<Prompts>,
}

/// The line that a call begins with, as models are told, and the line that ends it.
const FENCE: &str = "```tool";
const END: &str = "```";
/// Other forms that models know, each with its end.
const KNOWN: [(&str, &str); 3] =
    [("```json", END), ("<tool_call>", "</tool_call>"), ("```tool_call", END)];
/// The line that begins a command of the shell, in an answer that has no other call, as mini-SWE-agent has it.
const COMMAND: &str = "```bash";
/// The tool that takes such a command.
const SHELL: &str = "bash";
/// The line that begins a text which belongs to the call before it.
const CODE: &str = "```python";

impl Textual {
    /// A model and how it calls.
    pub fn new(model: Box<dyn Model>, calling: Calling, prompts: Arc<Prompts>) -> Self {
        Self { model, calling, prompts }
    }

    async fn by_text(&mut self, request: ModelRequest<'_>) -> Result<Answer, ModelError> {
        if request.tools.is_empty() {
            return self.model.answer(request).await;
        }
        let tool = |tool: &ToolSpec| {
            let schema = tool.parameters.to_string();
            json!({ "name": tool.name, "description": tool.description, "schema": schema })
        };
        let tools: Vec<Value> = request.tools.iter().map(tool).collect();
        let has_shell = request.tools.iter().any(|tool| tool.name == SHELL);
        let values = json!({ "tools": tools, "has_shell": has_shell });
        let rules = self
            .prompts
            .render("text_calls.md", &values)
            .map_err(|error| ModelError::Failed(error.to_string()))?;
        let mut messages = plain(request.messages, &self.prompts)?;
        if let Some(Message::System { content }) = messages.first_mut() {
            *content = format!("{content}\n\n{rules}");
        }
        let asked = ModelRequest { messages: &messages, tools: &[] };
        let answer = self.model.answer(asked).await?;
        Ok(super::assemble::settle(read(answer, has_shell), request))
    }
}

impl Model for Textual {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn calls_by_text(&self) -> bool {
        self.calling == Calling::Text
    }

    fn answer<'a>(&'a mut self, request: ModelRequest<'a>) -> Pending<'a> {
        Box::pin(async move {
            if self.calling == Calling::Text {
                return self.by_text(request).await;
            }
            match self.model.answer(request).await {
                Err(ModelError::Failed(message))
                    if self.calling == Calling::Probe && cannot_call(&message) =>
                {
                    self.calling = Calling::Text;
                    self.by_text(request).await
                }
                answer => {
                    // Whoever answered once with tools can do so again.
                    if answer.is_ok() {
                        self.calling = Calling::Protocol;
                    }
                    answer
                }
            }
        })
    }
}

/// Returns true if a refusal means that the model cannot call tools.
fn cannot_call(message: &str) -> bool {
    let message = message.to_lowercase();
    let refused = ["400", "404", "422", "501"].iter().any(|code| message.starts_with(code));
    refused && (message.contains("tool") || message.contains("function call"))
}

/// A conversation without calls by protocol: they stand in the texts, and so do the replies.
///
/// # Errors
/// The prompt that a reply is put in is wrong.
pub fn plain(messages: &[Message], prompts: &Prompts) -> Result<Vec<Message>, ModelError> {
    let plain = |message: &Message| -> Result<Message, ModelError> {
        Ok(match message {
            Message::Tool(reply) => {
                let values = json!({ "tool": reply.tool, "content": reply.content });
                let content = prompts.render("replies/text_reply.md", &values);
                Message::User {
                    content: content.map_err(|error| ModelError::Failed(error.to_string()))?,
                }
            }
            Message::Assistant(answer) => Message::Assistant(Answer {
                content: written(answer),
                calls: Vec::new(),
                ..answer.clone()
            }),
            Message::System { .. } | Message::User { .. } => message.clone(),
        })
    };
    Ok(joined(messages.iter().map(plain).collect::<Result<_, _>>()?))
}

/// Messages of which no two of the user's stand side by side: some models take no such conversation.
fn joined(messages: Vec<Message>) -> Vec<Message> {
    let mut all: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match (all.last_mut(), message) {
            (Some(Message::User { content }), Message::User { content: more }) => {
                content.push_str("\n\n");
                content.push_str(&more);
            }
            (_, message) => all.push(message),
        }
    }
    all
}

/// An answer as its model wrote it.
fn written(answer: &Answer) -> String {
    let mut text = answer.content.clone();
    for call in &answer.calls {
        let call = json!({ "tool": call.tool, "arguments": call.arguments });
        let gap = if text.is_empty() { "" } else { "\n\n" };
        text = format!("{text}{gap}{FENCE}\n{call}\n{END}");
    }
    text
}

/// An answer with the calls that its text has; without any, and where there is a shell, with its commands.
fn read(answer: Answer, has_shell: bool) -> Answer {
    let answer = read_calls(answer);
    match has_shell && answer.calls.is_empty() && answer.fault.is_none() {
        true => read_commands(answer),
        false => answer,
    }
}

/// An answer whose blocks of commands are calls of the shell.
fn read_commands(mut answer: Answer) -> Answer {
    let (mut said, mut calls) = (Vec::new(), Vec::new());
    let mut lines = answer.content.lines();
    while let Some(line) = lines.next() {
        if line.trim_end() != COMMAND {
            said.push(line);
            continue;
        }
        let (command, is_ended) = block(&mut lines, END);
        if !is_ended {
            answer.fault = Some("a command has no end".to_owned());
            return answer;
        }
        let arguments = json!({ "command": command });
        calls.push(ToolCall { id: String::new(), tool: SHELL.to_owned(), arguments });
    }
    if !calls.is_empty() {
        answer.content = said.join("\n").trim().to_owned();
        answer.calls = calls;
    }
    answer
}

/// An answer with the calls that its text has.
fn read_calls(mut answer: Answer) -> Answer {
    let mut said = Vec::new();
    let mut calls: Vec<ToolCall> = Vec::new();
    let mut fault = answer.fault.take();
    let mut lines = answer.content.lines();
    // A block of code right behind a call is its text.
    let mut is_behind_call = false;
    while let Some(line) = lines.next() {
        let start = line.trim_end();
        let other = KNOWN.iter().find(|(begin, _)| *begin == start);
        if start == CODE && is_behind_call && calls.last().is_some_and(takes_text) {
            let (block, _) = block(&mut lines, END);
            if let Some(fields) = calls.last_mut().and_then(|call| call.arguments.as_object_mut()) {
                fields.insert("text".to_owned(), format!("{block}\n").into());
            }
            is_behind_call = false;
        } else if start == FENCE || other.is_some() {
            let (block, is_ended) = block(&mut lines, other.map_or(END, |(_, end)| *end));
            match parse(&block) {
                _ if !is_ended => fault = fault.or_else(|| Some("a call has no end".to_owned())),
                Ok(call) => {
                    calls.push(call);
                    is_behind_call = true;
                }
                Err(reason) if start == FENCE => fault = fault.or(Some(reason)),
                // Not every block of JSON is meant as a call.
                Err(_) => said.extend([start.to_owned(), block, END.to_owned()]),
            }
        } else {
            is_behind_call &= start.is_empty();
            said.push(line.to_owned());
        }
    }
    if fault.is_none() {
        answer.content = said.join("\n").trim().to_owned();
        answer.calls = calls;
    }
    answer.fault = fault;
    answer
}

/// The lines up to one that ends a block, and whether there is one.
fn block(lines: &mut std::str::Lines<'_>, end: &str) -> (String, bool) {
    let mut found = Vec::new();
    for line in lines {
        if line.trim_end() == end {
            return (found.join("\n"), true);
        }
        found.push(line);
    }
    (found.join("\n"), false)
}

/// Returns true if a call that writes has no text yet.
fn takes_text(call: &ToolCall) -> bool {
    call.tool.starts_with("edit") && call.arguments.get("text").is_none()
}

fn parse(text: &str) -> Result<ToolCall, String> {
    let value: Value = serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&with_escapes(text)).map_err(|_| error))
        .map_err(|error| format!("a call is no JSON: {error}"))?;
    let tool = value["tool"].as_str().or(value["name"].as_str()).ok_or("a call names no tool")?;
    let arguments = match &value["arguments"] {
        Value::Null => json!({}),
        arguments => arguments.clone(),
    };
    Ok(ToolCall { id: String::new(), tool: tool.to_owned(), arguments })
}

/// A JSON text with its raw line breaks and tabs inside strings escaped.
fn with_escapes(text: &str) -> String {
    let (mut all, mut in_string, mut is_escaped) = (String::new(), false, false);
    for letter in text.chars() {
        match letter {
            '\n' if in_string => all.push_str("\\n"),
            '\t' if in_string => all.push_str("\\t"),
            '\r' if in_string => {}
            letter => all.push(letter),
        }
        in_string ^= letter == '"' && !is_escaped;
        is_escaped = in_string && letter == '\\' && !is_escaped;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, content: &str, calls: &[&str], fault: Option<&str>) {
        let answer = read(Answer { content: text.to_owned(), ..Answer::default() }, false);
        let called: Vec<_> =
            answer.calls.iter().map(|call| format!("{} {}", call.tool, call.arguments)).collect();
        assert_eq!(
            (answer.content.as_str(), called),
            (content, calls.iter().map(|c| (*c).to_owned()).collect())
        );
        assert_eq!(answer.fault.as_deref(), fault);
    }

    #[test]
    fn calls_are_read_from_text() {
        let call = "```tool\n{\"tool\": \"view\", \"arguments\": {\"target\": \"\"}}\n```";
        check(call, "", &[r#"view {"target":""}"#], None);
        let two = format!("I look.\n{call}\n```tool\n{{\"tool\": \"submit\"}}\n```\n");
        check(&two, "I look.", &[r#"view {"target":""}"#, "submit {}"], None);
        check("no call", "no call", &[], None);
        let other = "<tool_call>\n{\"name\": \"submit\", \"arguments\": {}}\n</tool_call>";
        check(other, "", &["submit {}"], None);
        let data = "```json\n{\"a\": 1}\n```";
        check(data, data, &[], None);
        let raw = "```tool\n{\"tool\": \"edit\", \"arguments\": {\"text\": \"a = 'b'\n\tc\"}}\n```";
        check(raw, "", &[r#"edit {"text":"a = 'b'\n\tc"}"#], None);
        let behind = "```tool\n{\"tool\": \"edit\", \"arguments\": {\"action\": \"create\"}}\n```\n\n```python\nx = 1\n```";
        check(behind, "", &[r#"edit {"action":"create","text":"x = 1\n"}"#], None);
        check("```python\nx\n```", "```python\nx\n```", &[], None);
    }

    #[test]
    fn commands_are_read_where_there_is_a_shell_and_no_other_call() {
        let text = "I look.\n\n```bash\nls -la\ncat a.py\n```\n";
        let submit = "```tool\n{\"tool\": \"submit\"}\n```";
        let both = format!("{text}{submit}");
        for (text, has_shell, content, called) in [
            (text, true, "I look.", vec!["bash ls -la\ncat a.py"]),
            (text, false, text.trim_end(), vec![]),
            (both.as_str(), true, text.trim_end(), vec!["submit "]),
        ] {
            let answer = read(Answer { content: text.to_owned(), ..Answer::default() }, has_shell);
            let calls = answer.calls.iter().map(|call| {
                format!("{} {}", call.tool, call.arguments["command"].as_str().unwrap_or(""))
            });
            assert_eq!(
                (answer.content.trim_end(), calls.collect::<Vec<_>>()),
                (content, called.iter().map(|one| (*one).to_owned()).collect())
            );
        }
        let half = read(Answer { content: "```bash\nls".to_owned(), ..Answer::default() }, true);
        assert_eq!(half.fault.as_deref(), Some("a command has no end"));
    }

    #[test]
    fn d08_what_is_no_call_is_a_fault() {
        let half = "```tool\n{\"tool\": \"vi";
        check(half, half, &[], Some("a call has no end"));
        let nameless = "```tool\n{}\n```";
        check(nameless, nameless, &[], Some("a call names no tool"));
    }
}
