//! What is said on standard error while something works: one redrawn line on a terminal, plain lines
//! elsewhere, nothing when asked for quiet.

use std::{sync::Arc, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

use super::surroundings::Talk;
use crate::{
    message::Message,
    trajectory::{Record, Watch},
};

/// Says what is being done; clones speak on the same line.
#[derive(Clone)]
pub struct Progress {
    talk: Talk,
    bar: Arc<ProgressBar>,
}

impl Progress {
    /// Silent until the first [`Progress::say`].
    pub fn new(talk: Talk) -> Self {
        let bar = match talk {
            Talk::Bar => ProgressBar::new_spinner(),
            _ => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { talk, bar: Arc::new(bar) }
    }

    /// Says what begins now.
    pub fn say(&self, what: &str) {
        match self.talk {
            Talk::Quiet => {}
            Talk::Plain | Talk::Verbose => eprintln!("{}", printable(what)),
            Talk::Bar => {
                self.bar.set_message(printable(what));
                self.bar.enable_steady_tick(Duration::from_millis(100));
            }
        }
    }

    /// Says something about what is being done, for those who asked for it.
    pub fn detail(&self, what: &str) {
        if self.talk == Talk::Verbose {
            eprintln!("  {}", printable(what));
        }
    }

    /// A watch over a session that says each call and how long it took.
    pub fn watch(&self) -> Watch {
        let progress = self.clone();
        Box::new(move |record| match record {
            Record::Message { step, message: Message::Assistant(answer), .. } => {
                for call in &answer.calls {
                    progress.say(&format!("step {step}: {}", call.tool));
                    if !call.arguments.as_object().is_some_and(serde_json::Map::is_empty) {
                        progress.detail(&call.arguments.to_string());
                    }
                }
            }
            Record::Message { message: Message::Tool(reply), .. } => {
                let text = &reply.content;
                let short: String = text.chars().take(300).collect();
                let cut = text.len() - short.len();
                let rest = if cut > 0 { format!(" ... {cut} bytes more") } else { String::new() };
                progress.detail(&format!("{:.2} s: {short}{rest}", reply.seconds));
            }
            Record::Start(_) | Record::Message { .. } | Record::End(_) => {}
        })
    }

    /// Leaves no trace on the terminal.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Text from elsewhere without control characters: a terminal obeys some of them.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c })
        .collect()
}
