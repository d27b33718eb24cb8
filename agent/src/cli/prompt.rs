//! `gistify prompt`: what a model would see first for a task and a scaffold.

use clap::Args;
use serde_json::json;

use super::{
    Exit, Failure, OrExit,
    flags::Flags,
    progress::{ProgressLine, printable},
    surroundings::Surroundings,
    target::TargetFlags,
    writing::Writing,
};
use crate::{message::Message, model::tokens, writer::Writer};

#[derive(Debug, Args)]
pub struct Prompt {
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    writing: Writing,
}

impl Prompt {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = self.target.flags();
        self.writing.flags(&mut flags);
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let sandbox = around.sandbox()?;
        let writer = Writer::new(around.settings.clone(), sandbox.clone(), &around.access())
            .or_exit(Exit::Usage)?;
        let progress = ProgressLine::new(around.talk);
        let opened = self.target.open(around, sandbox, &progress, &[])?;
        let scratch = around.scratch()?;
        let context = opened.context(around, &scratch);
        let mut session = writer.session(&context).or_exit(Exit::Infrastructure)?;
        let first = writer.first(&mut session);
        progress.clear();
        let (messages, tools) = first.or_exit(Exit::Input)?;
        let told: usize = messages.iter().map(tokens).sum();
        let tool_tokens: usize =
            tools.iter().map(|tool| graph::count_tokens(&json!(tool).to_string())).sum();
        if around.json {
            let opening = tokens(&messages[1]);
            let printed = json!({
                "messages": messages,
                "tools": tools,
                "tokens": { "messages": told, "tools": tool_tokens, "opening": opening },
            });
            println!("{printed:#}");
            return Ok(Exit::Success);
        }
        for message in &messages {
            let (role, content) = match message {
                Message::System { content } => ("system", content.as_str()),
                Message::User { content } => ("user", content.as_str()),
                Message::Assistant(_) | Message::Tool(_) => continue,
            };
            println!("--- {role}, {} tokens\n\n{}\n", tokens(message), printable(content));
        }
        for tool in &tools {
            println!("--- tool {}\n\n{}\n\n{:#}\n", tool.name, tool.description, tool.parameters);
        }
        println!("--- {told} tokens of messages, {tool_tokens} of tools (o200k)");
        Ok(Exit::Success)
    }
}
