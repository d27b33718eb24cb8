//! The conversation as the model sees it, kept within bounds by rule (RepoMaster, section 3.3.3).
//!
//! What is shown once stays as it is: the conversation of one step begins with that of the step before,
//! so that a provider's cache hits. Only a condensation changes what was shown; it happens when the
//! window is full, by a fixed rule, and is recorded.

use graph::{Document, count_tokens};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    chunks::{chunks, ranked},
    config::ContextSettings,
    message::Message,
    model::{ModelError, ToolSpec, tokens},
    prompt::{PromptError, Prompts},
    ranking::Ranking,
};

/// The conversation.
#[derive(Debug)]
pub struct Context {
    settings: ContextSettings,
    ranking: Ranking,
    messages: Vec<Message>,
    /// Tokens of each message, once they were counted: what stays as it is is counted once.
    counts: Vec<Option<usize>>,
    bytes: usize,
    turn: usize,
    question: String,
}

/// A condensation, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condensed {
    /// Replies that were cut down, by the ids of their calls.
    pub replies: Vec<String>,
    /// Tokens (o200k) of the conversation before.
    pub before: usize,
    /// And after.
    pub after: usize,
}

/// Tokens of one part of a document (RepoMaster, 3.3.3).
const CHUNK: usize = 1_000;
/// Parts of a document that are kept.
const CHUNKS: usize = 4;
/// Lines of an old reply that stay.
const HEAD: usize = 4;
/// Bytes of each of them.
const WIDTH: usize = 200;

impl Context {
    /// An empty conversation.
    pub fn new(settings: ContextSettings, ranking: Ranking) -> Self {
        let (messages, counts, question) = (Vec::new(), Vec::new(), String::new());
        Self { settings, ranking, messages, counts, bytes: 0, turn: 0, question }
    }

    /// Whether long replies are cut down to what matters.
    pub fn selects(&self) -> bool {
        self.settings.turn_tokens > 0
    }

    /// How its texts are ordered.
    pub fn ranking(&mut self) -> &mut Ranking {
        &mut self.ranking
    }

    /// What the model sees.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds a message.
    pub fn push(&mut self, message: Message) {
        if let Message::Assistant(answer) = &message {
            self.turn = 0;
            if !answer.content.is_empty() {
                answer.content.clone_into(&mut self.question);
            }
        }
        self.bytes += bytes(&message);
        self.messages.push(message);
        self.counts.push(None);
    }

    /// A reply as the model reads it: what fits into the turn, chosen by what it asked for last.
    ///
    /// # Errors
    /// Texts are ranked by a model, and it gives no answer.
    pub async fn select(&mut self, value: &Value, call: &Value) -> Result<String, ModelError> {
        let mut whole = text(value);
        if !self.selects() {
            return Ok(whole);
        }
        let left = self.settings.turn_tokens.saturating_sub(self.turn);
        if count_tokens(&whole) > left {
            if let Some(inner) = value.get("text").and_then(Value::as_str) {
                let question = format!("{} {call}", self.question);
                let path = value["path"].as_str().unwrap_or_default();
                let mut value = value.clone();
                // The rest of the reply has its share.
                value["text"] = self.cut(path, inner, left * 9 / 10, &question).await?.into();
                whole = text(&value);
            }
            whole = ends(&whole, left);
        }
        self.turn += count_tokens(&whole);
        Ok(whole)
    }

    /// A text within so many tokens: code by its definitions, documents by their parts, others by their
    /// ends.
    async fn cut(
        &mut self,
        path: &str,
        text: &str,
        budget: usize,
        question: &str,
    ) -> Result<String, ModelError> {
        let ending = path.rsplit('.').next().unwrap_or_default();
        let selected = match ending {
            "py" | "pyi" => code(text, budget, question),
            "md" | "rst" | "txt" => document(text, question, &mut self.ranking).await?,
            _ => text.to_owned(),
        };
        Ok(ends(&selected, budget))
    }

    /// Cuts old replies down where the window would be exceeded; nothing where it is not.
    ///
    /// # Errors
    /// The prompt that stands for a reply is wrong. Whether the result fits, it says.
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
        let steps = self.messages.iter().enumerate().rev();
        let steps = steps.filter(|(_, message)| matches!(message, Message::Assistant(_)));
        let recent = steps.take(self.settings.keep_steps).last().map_or(0, |(at, _)| at);
        let mut replies = Vec::new();
        for (message, count) in self.messages[..recent].iter_mut().zip(&mut self.counts) {
            let Message::Tool(reply) = message else { continue };
            let lines: Vec<&str> = reply.content.lines().collect();
            let head: Vec<String> =
                lines.iter().take(HEAD).map(|line| line.chars().take(WIDTH).collect()).collect();
            let values = json!({
                "tool": reply.tool,
                "head": head.join("\n"),
                "bytes": reply.content.len(),
                "lines": lines.len(),
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

    /// Cuts the last reply of a tool down to a word that it is gone; nothing where there is none.
    ///
    /// # Errors
    /// The prompt that stands for it is wrong.
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

    /// Whether the window holds a conversation of this size.
    ///
    /// # Errors
    /// How large both are, where it does not.
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

/// A reply as it stands.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
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

/// Definitions that are most like the question whole, the others by their first line.
fn code(text: &str, budget: usize, question: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    // A view has the number before each line.
    let bare: Vec<&str> = lines.iter().map(|line| line.get(6..).unwrap_or("")).collect();
    let Ok(parsed) = Document::new(bare.join("\n")) else { return text.to_owned() };
    let items = parsed.outline();
    let top = items.iter().map(|item| item.depth).min().unwrap_or(0);
    // Methods are chosen one by one: a class is rarely needed whole.
    let units: Vec<(usize, usize)> = items
        .iter()
        .filter(|item| item.depth == top && item.kind == "def" || item.depth == top + 1)
        .map(|item| (item.line as usize - 1, (item.end_line as usize).min(lines.len())))
        // What says that lines were left out is itself a line.
        .filter(|(first, last)| *last > first + 2)
        .collect();
    let bodies: Vec<String> =
        units.iter().map(|(first, last)| lines[*first..*last].join("\n")).collect();
    let texts: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let mut hidden = vec![false; lines.len()];
    for (first, last) in &units {
        hidden[first + 1..*last].fill(true);
    }
    let shown = |hidden: &[bool]| {
        let mut all = Vec::new();
        let mut cut = 0;
        for (line, hidden) in lines.iter().zip(hidden).chain([(&"", &false)]) {
            if *hidden {
                cut += 1;
                continue;
            }
            if cut > 0 {
                all.push(format!("      [{cut} lines left out]"));
                cut = 0;
            }
            all.push((*line).to_owned());
        }
        all.join("\n").trim_end().to_owned()
    };
    let mut size = count_tokens(&shown(&hidden));
    for (at, _) in ranked(&texts, question) {
        let (first, last) = units[at];
        let more = count_tokens(&bodies[at]);
        if size + more <= budget {
            hidden[first..last].fill(false);
            size += more;
        }
    }
    shown(&hidden)
}

/// The parts of a document that are most like the question, in their order.
async fn document(text: &str, question: &str, ranking: &mut Ranking) -> Result<String, ModelError> {
    let parts = chunks("", text, CHUNK);
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    let mut kept: Vec<usize> =
        ranking.order(&texts, question).await?.into_iter().take(CHUNKS).map(|(at, _)| at).collect();
    kept.sort_unstable();
    let mut all = String::new();
    let mut next = 0;
    for at in kept.into_iter().chain([parts.len()]) {
        if at > next {
            all += &format!("[{} of {} parts left out]\n", at - next, parts.len());
        }
        next = at + 1;
        all += parts.get(at).map_or("", |part| part.text.as_str());
    }
    Ok(all)
}

/// The beginning and the end of a text, and how much stands between them.
fn ends(text: &str, budget: usize) -> String {
    if count_tokens(text) <= budget {
        return text.to_owned();
    }
    // A token of code has three to four bytes; the loop makes up for texts where it has fewer.
    let mut half = budget * 2;
    loop {
        let head =
            (0..=half.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let tail = text.len() - half.min(text.len() - head);
        let tail = (tail..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        let cut = format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..]);
        if half < 16 || count_tokens(&cut) <= budget {
            return cut;
        }
        half = half * 3 / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Config,
        message::{Answer, Call, ToolReply},
    };

    fn empty(turn_tokens: usize, window_tokens: usize) -> Context {
        Context::new(settings(turn_tokens, window_tokens), Ranking::Words)
    }

    fn settings(turn_tokens: usize, window_tokens: usize) -> ContextSettings {
        let defaults = Config::defaults().settings().unwrap().context;
        ContextSettings { turn_tokens, window_tokens, keep_steps: 1, ..defaults }
    }

    fn step(context: &mut Context, id: &str, content: &str) {
        let call = Call { id: id.to_owned(), tool: "view".to_owned(), arguments: json!({}) };
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
            .map(|n| format!("{:5} def f{n}(a):\n{:5}     return {n}\n", 2 * n + 1, 2 * n + 2))
            .collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for path in ["a.py", "a.md", "a.log"] {
            let mut context = empty(1_000, 100_000);
            let value = json!({ "path": path, "text": code });
            let mut sum = 0;
            for _ in 0..3 {
                let call = json!({ "target": "f123" });
                let shown = runtime.block_on(context.select(&value, &call)).unwrap();
                sum += count_tokens(&shown);
                assert!(shown.contains("left out"), "{path}: {shown}");
            }
            assert!(sum <= 1_100, "{path}: {sum}");
        }
    }

    #[test]
    fn code_is_cut_to_what_was_asked_for() {
        let method = |name: &str, at: usize| {
            let body = (1..6).map(|n| format!("{:5}         self.{name}_{n}()\n", at + n));
            format!("{at:5}     def {name}(self):\n") + &body.collect::<String>()
        };
        let (alpha, beta) = (method("alpha", 2), method("beta", 8));
        let text = format!("    1 class A:\n{alpha}{beta}");
        let cut = code(&text, count_tokens(&text) - 9, "where is beta");
        let left_out = "    2     def alpha(self):\n      [5 lines left out]\n";
        assert_eq!(cut, format!("    1 class A:\n{left_out}{beta}").trim_end());
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
