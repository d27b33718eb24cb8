//! The conversation as the model sees it, kept within limits by rule (RepoMaster, section 3.3.3).
//!
//! Shown text stays unchanged: the conversation of one step begins with that of the step before, so
//! that a provider's cache hits. Only a condensation changes shown text. It happens when the window
//! is full, by a fixed rule, and is recorded.

use graph::{count_tokens, parse_numbered};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tools::Reply;

use crate::{
    config::ContextSettings,
    message::{Message, ToolCall},
    model::{ModelError, ToolSpec, tokens},
    prompt::{PromptError, Prompts},
    ranking::SimilarityMeasure,
    selection::{fitting, text, whole},
};

/// The conversation.
#[derive(Debug)]
pub struct Context {
    settings: ContextSettings,
    ranking: SimilarityMeasure,
    messages: Vec<Message>,
    /// Tokens of each message, once they were counted: what stays as it is is counted once.
    counts: Vec<Option<usize>>,
    bytes: usize,
    /// Tokens of the replies of this turn, and calls of it that have no reply yet.
    turn: usize,
    calls: usize,
    /// The terms that replies are chosen by: the task, the last words, the names that were asked for.
    topic: String,
    question: String,
    asked: Vec<String>,
    /// The task without what it tells of the repository, for when the window is full.
    brief: Option<String>,
}

/// A condensation, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Condensed {
    /// Replies that were cut down, by the ids of their calls.
    pub replies: Vec<String>,
    /// Tokens (o200k) of the conversation before.
    pub before: usize,
    /// And after.
    pub after: usize,
}

/// Replies of fewer bytes are never cut down.
const SMALL: usize = 1_000;
/// Tokens that a call leaves to each of those after it in the same answer.
const SHARE: usize = 300;
/// Names that were asked for last, of which replies are chosen by.
const ASKED: usize = 40;
/// The tools whose replies stay: what they say of a run is asked for once.
const KEPT: [&str; 3] = ["trace", "execute", "edit_execute"];

impl Context {
    /// An empty conversation.
    pub fn new(settings: ContextSettings, ranking: SimilarityMeasure) -> Self {
        Self {
            settings,
            ranking,
            messages: Vec::new(),
            counts: Vec::new(),
            bytes: 0,
            turn: 0,
            calls: 0,
            topic: String::new(),
            question: String::new(),
            asked: Vec::new(),
            brief: None,
        }
    }

    /// Says what the work is about: the source of the tests, and the task in short.
    pub fn about(&mut self, topic: &str, brief: String) {
        topic.clone_into(&mut self.topic);
        self.brief = Some(brief);
    }

    /// Returns true if long replies are reduced to their relevant parts.
    pub fn selects(&self) -> bool {
        self.settings.turn_tokens > 0
    }

    /// Returns the ranking of texts.
    pub fn ranking(&mut self) -> &mut SimilarityMeasure {
        &mut self.ranking
    }

    /// Returns the messages that the model sees.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds a message.
    pub fn push(&mut self, message: Message) {
        if let Message::Assistant(answer) = &message {
            self.turn = 0;
            self.calls = answer.calls.len();
            if !answer.content.is_empty() {
                answer.content.clone_into(&mut self.question);
            }
        }
        self.bytes += bytes(&message);
        self.messages.push(message);
        self.counts.push(None);
    }

    /// A reply as the model reads it: what fits into the turn, chosen by the task, by what the model said
    /// last and by the names that it asked for. Each later call of the same answer keeps a share.
    ///
    /// # Errors
    /// Texts are ranked by a model, and it gives no answer; a prompt is wrong.
    pub async fn select(
        &mut self,
        tool: &str,
        reply: &Reply,
        call: &Value,
        prompts: &Prompts,
    ) -> Result<String, ModelError> {
        self.calls = self.calls.saturating_sub(1);
        if !self.selects() {
            return Ok(text(&match self.settings.whole {
                true => whole(reply),
                false => reply.value.clone(),
            }));
        }
        let question = format!("{} {} {} {call}", self.topic, self.question, self.asked.join(" "));
        self.asked.extend(call.as_object().into_iter().flatten().map(|(_, value)| text(value)));
        let old = self.asked.len().saturating_sub(ASKED);
        self.asked.drain(..old);
        let left = self.settings.turn_tokens.saturating_sub(self.turn);
        let room = left.saturating_sub(SHARE * self.calls).max(left / (self.calls + 1));
        let shown = match fitting(reply, room, &question, &mut self.ranking).await? {
            Some(shown) => shown,
            None => {
                let values = json!({ "tool": tool, "tokens": self.settings.turn_tokens });
                let said = prompts.render("replies/no_room.md", &values);
                said.map_err(|error| ModelError::Failed(error.to_string()))?
            }
        };
        self.turn += count_tokens(&shown);
        Ok(shown)
    }

    /// Condenses old replies if the window would be exceeded; returns `None` otherwise. The result
    /// has the new size, which may still be too large.
    ///
    /// # Errors
    /// The prompt that replaces a reply is wrong.
    pub fn condense(
        &mut self,
        tools: &[ToolSpec],
        prompts: &Prompts,
    ) -> Result<Option<Condensed>, PromptError> {
        // A token is at least a byte: most conversations need not be counted.
        if self.bytes <= self.settings.window_tokens {
            return Ok(None);
        }
        let before = self.tokens(tools);
        if before <= self.settings.window_tokens {
            return Ok(None);
        }
        let mut replies = Vec::new();
        // What the task told of the repository goes first: it was there to begin with.
        if let (Some(brief), Some(Message::User { content })) =
            (self.brief.take(), self.messages.get_mut(1))
            && brief.len() < content.len()
        {
            *content = brief;
            self.counts[1] = None;
            replies.push("task".to_owned());
        }
        let calls: Vec<ToolCall> = self
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::Assistant(answer) => Some(answer.calls.clone()),
                _ => None,
            })
            .flatten()
            .collect();
        let steps = self.messages.iter().enumerate().rev();
        let steps = steps.filter(|(_, message)| matches!(message, Message::Assistant(_)));
        let recent = steps.take(self.settings.keep_steps).last().map_or(0, |(at, _)| at);
        for (message, count) in self.messages[..recent].iter_mut().zip(&mut self.counts) {
            let Message::Tool(reply) = message else { continue };
            if reply.content.len() < SMALL || KEPT.contains(&reply.tool.as_str()) {
                continue;
            }
            let call = calls.iter().find(|call| call.id == reply.id);
            let values = json!({
                "tool": reply.tool,
                "arguments": call.map(|call| short_arguments(&call.arguments)).unwrap_or_default(),
                "names": names(&reply.content),
                "bytes": reply.content.len(),
            });
            let short = prompts.render("replies/condensed.md", &values)?;
            if short.len() < reply.content.len() {
                reply.content = short;
                *count = None;
                replies.push(reply.id.clone());
            }
        }
        self.bytes = self.messages.iter().map(bytes).sum();
        Ok(Some(Condensed { replies, before, after: self.tokens(tools) }))
    }

    /// Replaces the last reply of a tool by a note; returns `None` without one.
    ///
    /// # Errors
    /// The prompt that replaces it is wrong.
    pub fn retract(
        &mut self,
        tool: &str,
        tools: &[ToolSpec],
        prompts: &Prompts,
    ) -> Result<Option<Condensed>, PromptError> {
        let before = self.tokens(tools);
        let replies = self.messages.iter_mut().zip(&mut self.counts).rev();
        let mut replies = replies.filter_map(|(message, count)| match message {
            Message::Tool(reply) if reply.tool == tool && !reply.refused => Some((reply, count)),
            _ => None,
        });
        let Some((reply, count)) = replies.next() else { return Ok(None) };
        *count = None;
        reply.content = prompts.render("replies/dropped.md", json!({ "tool": tool }))?;
        let replies = vec![reply.id.clone()];
        self.bytes = self.messages.iter().map(bytes).sum();
        Ok(Some(Condensed { replies, before, after: self.tokens(tools) }))
    }

    /// Checks that a conversation of this size fits the window.
    ///
    /// # Errors
    /// The sizes of both, if it does not.
    pub fn check(&self, condensed: &Condensed) -> Result<(), String> {
        let (tokens, window) = (condensed.after, self.settings.window_tokens);
        match tokens <= window {
            true => Ok(()),
            false => Err(format!("{tokens} tokens (context.window_tokens is {window})")),
        }
    }

    fn tokens(&mut self, tools: &[ToolSpec]) -> usize {
        let tools = tools.iter().map(|tool| {
            count_tokens(&tool.description) + count_tokens(&tool.parameters.to_string())
        });
        let counted = self.messages.iter().zip(&mut self.counts);
        let messages =
            counted.map(|(message, count)| *count.get_or_insert_with(|| tokens(message)));
        messages.sum::<usize>() + tools.sum::<usize>()
    }
}

/// The arguments of a call in short: long texts are dropped.
fn short_arguments(arguments: &Value) -> String {
    let mut arguments = arguments.clone();
    if let Some(fields) = arguments.as_object_mut() {
        fields.retain(|_, value| value.as_str().is_none_or(|text| text.len() < 200));
    }
    arguments.to_string()
}

/// Returns the subject of a reply: the files of a JSON reply and the definitions in its lines.
fn names(content: &str) -> Vec<String> {
    const MOST: usize = 30;
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if found.len() < MOST && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    };
    fn walk(value: &Value, add: &mut impl FnMut(&str)) {
        match value {
            Value::Array(list) => list.iter().for_each(|inner| walk(inner, add)),
            Value::Object(fields) => {
                for key in ["path", "name"] {
                    if let Some(text) = fields.get(key).and_then(Value::as_str) {
                        add(text);
                    }
                }
                if let Some(text) = fields.get("text").and_then(Value::as_str) {
                    for line in text.lines() {
                        let line = parse_numbered(line).map_or("", |(_, text)| text).trim_start();
                        let head = ["def ", "async def ", "class "];
                        let rest = head.iter().find_map(|word| line.strip_prefix(word));
                        let name = rest.and_then(|rest| rest.split(['(', ':']).next());
                        name.into_iter().for_each(&mut *add);
                    }
                }
                fields.values().for_each(|inner| walk(inner, add));
            }
            _ => {}
        }
    }
    if let Ok(value) = serde_json::from_str(content) {
        walk(&value, &mut add);
    }
    found
}

fn bytes(message: &Message) -> usize {
    match message {
        Message::System { content } | Message::User { content } => content.len(),
        Message::Tool(reply) => reply.content.len(),
        Message::Assistant(answer) => {
            let calls = answer.calls.iter().map(|call| call.arguments.to_string().len());
            answer.content.len() + answer.reasoning.len() + calls.sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Config,
        message::{Answer, ToolCall, ToolReply},
    };

    fn empty(turn_tokens: usize, window_tokens: usize) -> Context {
        Context::new(settings(turn_tokens, window_tokens), SimilarityMeasure::Words)
    }

    fn settings(turn_tokens: usize, window_tokens: usize) -> ContextSettings {
        let defaults = Config::defaults().settings().unwrap().context;
        ContextSettings { turn_tokens, window_tokens, keep_steps: 1, ..defaults }
    }

    fn step(context: &mut Context, id: &str, content: &str) {
        let call = ToolCall { id: id.to_owned(), tool: "view".to_owned(), arguments: json!({}) };
        context.push(Message::Assistant(Answer { calls: vec![call], ..Answer::default() }));
        context.push(Message::Tool(ToolReply {
            id: id.to_owned(),
            tool: "view".to_owned(),
            content: content.to_owned(),
            refused: false,
            seconds: 0.0,
        }));
    }

    #[test]
    fn a_turn_holds_no_more_than_its_tokens() {
        let code: String = (0..400)
            .map(|n| format!("{} def f{n}(a):\n{}     return {n}\n", 2 * n + 1, 2 * n + 2))
            .collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for path in ["a.py", "a.md", "a.log"] {
            let mut context = empty(1_000, 100_000);
            let reply = Reply::of(&json!({ "path": path, "text": code })).unwrap();
            let call = json!({ "target": "f123" });
            let one =
                ToolCall { id: "1".to_owned(), tool: "view".to_owned(), arguments: call.clone() };
            let calls = vec![one.clone(), one.clone(), one];
            context.push(Message::Assistant(Answer { calls, ..Answer::default() }));
            let prompts = Prompts::load(None).unwrap();
            let mut sum = 0;
            for _ in 0..3 {
                let selected = context.select("view", &reply, &call, &prompts);
                let shown = runtime.block_on(selected).unwrap();
                sum += count_tokens(&shown);
                // The last call has its share, whatever the first took.
                assert!(shown.contains("left out") && shown.len() > 500, "{path}: {shown}");
            }
            assert!(sum <= 1_000, "{path}: {sum}");
        }
    }

    #[test]
    fn a_condensed_reply_says_what_it_was_about() {
        let prompts = Prompts::load(None).unwrap();
        let mut context = empty(0, 1_000);
        context.push(Message::System { content: "rules".to_owned() });
        context.push(Message::User { content: "words of the task\n".repeat(400) });
        context.about("", "the task".to_owned());
        let text = "1 class A:\n2     def f(self): pass\n".repeat(60);
        step(&mut context, "1", &json!({ "path": "pkg/a.py", "text": text }).to_string());
        step(&mut context, "2", &"later\n".repeat(300));
        let condensed = context.condense(&[], &prompts).unwrap().unwrap();
        assert_eq!(condensed.replies, ["task", "1"]);
        let shown = serde_json::to_string(context.messages()).unwrap();
        assert!(shown.contains("pkg/a.py, A, f"), "{shown}");
        assert!(shown.contains("later\\nlater"));
    }

    #[test]
    fn what_was_shown_stays_but_for_condensations() {
        let prompts = Prompts::load(None).unwrap();
        let mut context = empty(0, 3_000);
        context.push(Message::System { content: "rules".to_owned() });
        let mut before = serde_json::to_string(context.messages()).unwrap();
        let mut condensations = 0;
        for n in 0..12 {
            step(&mut context, &n.to_string(), &"some words of a reply\n".repeat(80));
            if let Some(condensed) = context.condense(&[], &prompts).unwrap() {
                condensations += 1;
                assert!(context.check(&condensed).is_ok() && condensed.after < condensed.before);
            } else {
                let now = serde_json::to_string(context.messages()).unwrap();
                assert!(now.starts_with(before.trim_end_matches(']')), "step {n}");
            }
            before = serde_json::to_string(context.messages()).unwrap();
        }
        assert!(condensations > 1);
        let mut context = empty(0, 1_000);
        step(&mut context, "1", &"some words of a reply\n".repeat(800));
        let condensed = context.condense(&[], &prompts).unwrap().unwrap();
        assert!(context.check(&condensed).is_err());
    }
}
