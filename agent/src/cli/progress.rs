//! Reports progress on standard error: one redrawn line on a terminal, plain lines elsewhere, lines of JSON for
//! programs, nothing when quiet.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::json;
use tools::{Progress as Sign, Signs};

use super::surroundings::Talk;
use crate::{
    hidden::escaped,
    message::Message,
    trajectory::{TrajectoryRecord, TrajectoryWatch},
};

/// Reports the current step; clones share the same line.
#[derive(Clone)]
pub struct ProgressLine {
    talk: Talk,
    bar: Arc<ProgressBar>,
    last: Arc<Mutex<Option<Instant>>>,
}

/// Time between two lines of a search, where lines stay.
const BETWEEN: Duration = Duration::from_secs(5);

impl ProgressLine {
    /// Silent until the first [`ProgressLine::say`].
    pub fn new(talk: Talk) -> Self {
        let bar = match talk {
            Talk::Bar => ProgressBar::new_spinner(),
            _ => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { talk, bar: Arc::new(bar), last: Arc::default() }
    }

    /// The same, on a line of its own among others.
    pub fn among(talk: Talk, lines: &MultiProgress) -> Self {
        let own = Self::new(talk);
        match talk {
            Talk::Bar => Self { bar: Arc::new(lines.add((*own.bar).clone())), ..own },
            _ => own,
        }
    }

    /// Reports the step that begins now.
    pub fn say(&self, what: &str) {
        match self.talk {
            Talk::Quiet => {}
            Talk::Plain | Talk::Verbose => eprintln!("{}", printable(what)),
            Talk::Lines => self.json(&json!({ "event": "step", "text": what })),
            Talk::Bar => {
                self.bar.set_message(printable(what));
                self.bar.enable_steady_tick(Duration::from_millis(100));
            }
        }
    }

    /// Reports a step in one short line; a redrawn line is also cut to the width of the terminal.
    fn say_cut(&self, what: &str) {
        const SHOWN: usize = 160;
        match what.chars().count() > SHOWN {
            true => self.say(&format!("{}...", what.chars().take(SHOWN - 3).collect::<String>())),
            false => self.say(what),
        }
    }

    /// Says something that stays on the screen.
    pub fn line(&self, what: &str) {
        match self.talk {
            Talk::Quiet => {}
            Talk::Plain | Talk::Verbose => eprintln!("{}", printable(what)),
            Talk::Lines => self.json(&json!({ "event": "message", "text": what })),
            Talk::Bar => self.bar.println(printable(what)),
        }
    }

    /// Prints a value as a line of JSON.
    pub fn json(&self, value: &impl Serialize) {
        let line = serde_json::to_string(value).expect("texts and numbers serialise");
        // One write: lines of several workers stay apart. Nobody can be told that it failed.
        let _ = io::stderr().write_all(format!("{}\n", escaped(&line)).as_bytes());
    }

    /// Reports a detail of the current step, in verbose mode.
    pub fn detail(&self, what: &str) {
        if self.talk == Talk::Verbose {
            eprintln!("  {}", printable(what));
        }
    }

    /// Shows a progress message of a long step.
    pub fn sign(&self, sign: Sign<'_>) {
        match sign {
            Sign::Step(what) => self.say(what),
            // Lines for every part of a download would be all that one reads.
            Sign::Bytes { name, done, total } if self.talk == Talk::Bar => {
                let total = total.map(|total| format!(" of {}", size(total))).unwrap_or_default();
                self.say(&format!("{name}: {}{total}", size(done)));
            }
            Sign::Bytes { .. } => {}
            Sign::Reduced { tried, removed, lines, left } => {
                if self.talk == Talk::Bar || self.is_due() {
                    self.say(&reduced(tried, removed, lines, left));
                }
            }
        }
    }

    /// The same, as whoever works may keep it.
    pub fn signs(&self) -> Signs {
        let progress = self.clone();
        Arc::new(move |sign| progress.sign(sign))
    }

    /// Returns true where no line was said for a while, so that a search of many short steps does not say each.
    fn is_due(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|last| last.elapsed() >= BETWEEN);
        if due {
            *last = Some(Instant::now());
        }
        due
    }

    /// A watch over a session that says each call and how long it took.
    pub fn watch(&self) -> TrajectoryWatch {
        let progress = self.clone();
        Box::new(move |record| match record {
            TrajectoryRecord::Message { step, message: Message::Assistant(answer), .. } => {
                for call in &answer.calls {
                    progress.say(&format!("step {step}: {}", call.tool));
                    if !call.arguments.as_object().is_some_and(serde_json::Map::is_empty) {
                        progress.detail(&call.arguments.to_string());
                    }
                }
            }
            TrajectoryRecord::Message { step, message: Message::Tool(reply), .. } => {
                if let Some(refusal) = reply.refusal() {
                    progress.say_cut(&format!("step {step}: {} refused: {refusal}", reply.tool));
                }
                let text = &reply.content;
                let short: String = text.chars().take(300).collect();
                let cut = text.len() - short.len();
                let rest = if cut > 0 { format!(" ... {cut} bytes more") } else { String::new() };
                progress.detail(&format!("{:.2} s: {short}{rest}", reply.seconds));
            }
            TrajectoryRecord::Condensed { condensed, .. } => {
                progress.detail(&format!(
                    "condensed from {} to {} tokens",
                    condensed.before, condensed.after
                ));
            }
            TrajectoryRecord::Start(_)
            | TrajectoryRecord::Message { .. }
            | TrajectoryRecord::End(_) => {}
        })
    }

    /// Leaves no trace on the terminal.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Returns the line of progress of a search for a smaller file.
fn reduced(tried: usize, removed: usize, lines: usize, left: Duration) -> String {
    let all = lines + removed;
    let left = match left.as_secs() {
        seconds @ 0..=90 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    };
    format!("reduce: {all} lines are down to {lines} after {tried} trials (stops within {left})")
}

/// Bytes as people read them.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

/// Text from elsewhere without control characters, which a terminal may obey, and with escapes for those that nobody
/// sees.
pub fn printable(text: &str) -> String {
    escaped(text)
        .chars()
        .map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c })
        .collect()
}
