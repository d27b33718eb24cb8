//! The record of a session: one JSON line for each event, written when it happens.
//!
//! Lines are only ever appended, each is flushed before the loop continues, and the last one is the
//! outcome, also after a panic. A file without an outcome belongs to a process that still runs or was killed. Readers
//! skip a torn last line, which such a process may leave. The record decides nothing.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tools::group_of_script;

use crate::{
    context::Condensed,
    message::{Message, TokenUsage},
    outcome::Outcome,
};

/// Version of the persisted form; a reader refuses any other.
pub const TRAJECTORY_VERSION: u32 = 1;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TrajectoryRecord {
    /// The first line.
    Start(Start),
    /// A message that joined the conversation.
    Message {
        /// The step, from 1; messages before the model's first answer have 0.
        step: usize,
        /// Seconds since the start.
        seconds: f64,
        /// The message.
        message: Message,
    },
    /// The conversation was condensed.
    Condensed {
        /// The last step before the condensation.
        step: usize,
        /// Seconds since the start.
        seconds: f64,
        /// The condensation.
        #[serde(flatten)]
        condensed: Condensed,
    },
    /// The last line.
    End(End),
}

/// The beginning of a session's record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Start {
    /// Format version, [`TRAJECTORY_VERSION`].
    pub version: u32,
    /// Seconds since 1970.
    pub time: u64,
    /// The repository as the user named it.
    pub repository: String,
    /// Hash of the repository's files.
    pub fingerprint: String,
    /// The command.
    pub command: String,
    /// The model.
    pub model: String,
    /// The tools that it had.
    pub tools: Vec<String>,
    /// Versions of this program and of what it runs, by name.
    pub versions: BTreeMap<String, String>,
    /// The resolved settings.
    pub settings: Value,
}

/// The tool whose calls are of several kinds.
pub const SHELL: &str = "bash";

/// The end of a session, and its costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct End {
    /// The outcome.
    pub outcome: Outcome,
    /// Answers of the model.
    pub steps: usize,
    /// Calls, by tool.
    pub calls: BTreeMap<String, usize>,
    /// Calls of the shell, by the kind of step that their scripts are; none in older records.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shell: BTreeMap<String, usize>,
    /// Tokens of all answers.
    pub usage: TokenUsage,
    /// Price of all answers in US dollars; none if one price is unknown or there was no answer.
    #[serde(default)]
    pub cost: Option<f64>,
    /// Usage of the embeddings that ranking requested, if any. `cost` excludes their price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embeddings: Option<EmbeddingCost>,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// The calls that tools refused, if they refused any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusals: Option<Refusals>,
}

impl End {
    /// Returns the price of all answers and embeddings; none if one is unknown.
    pub fn total_cost(&self) -> Option<f64> {
        let vectors = self.embeddings.map_or(Some(0.0), |cost| cost.price);
        self.cost.zip(vectors).map(|(answers, vectors)| answers + vectors)
    }
}

/// Tokens and price of the embeddings that a session requested.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbeddingCost {
    /// Tokens of all texts.
    pub tokens: u64,
    /// Their price in US dollars, where it is known.
    pub price: Option<f64>,
}

/// The shared embedding usage of a session: ranking adds to it, the trajectory reads it.
pub type EmbeddingAccount = Arc<Mutex<EmbeddingCost>>;

/// The calls of a session that tools refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusals {
    /// All calls.
    pub calls: usize,
    /// Calls that were refused.
    pub refused: usize,
    /// The first line of the last refusal.
    pub last: String,
}

impl std::fmt::Display for Refusals {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { calls, refused, last } = self;
        write!(out, "{refused} of {calls} calls were refused, the last: {last}")
    }
}

/// An error of writing or reading a trajectory file.
#[derive(Debug, thiserror::Error)]
pub enum TrajectoryError {
    /// The file system refused.
    #[error("write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file system refused.
    #[error("read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A line before the last is no record, or the first has another version.
    #[error("read {path}: line {line}: {reason}")]
    Line {
        /// The file.
        path: PathBuf,
        /// 1-based.
        line: usize,
        /// The reason.
        reason: String,
    },
}

/// Receives every record just before it is written, to show progress.
pub type TrajectoryWatch = Box<dyn FnMut(&TrajectoryRecord) + Send>;

/// A record being written.
pub struct Trajectory {
    path: PathBuf,
    file: File,
    watch: TrajectoryWatch,
    began: Instant,
    steps: usize,
    calls: BTreeMap<String, usize>,
    shell: BTreeMap<String, usize>,
    usage: TokenUsage,
    cost: Option<f64>,
    embedded: Option<EmbeddingAccount>,
    refused: usize,
    refusal: String,
    ended: bool,
}

impl Trajectory {
    /// Starts a record in a new file.
    ///
    /// # Errors
    /// The file exists already or cannot be written.
    pub fn create(
        path: &Path,
        start: Start,
        watch: TrajectoryWatch,
    ) -> Result<Self, TrajectoryError> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        let file =
            file.map_err(|source| TrajectoryError::Write { path: path.to_owned(), source })?;
        let mut trajectory = Self {
            path: path.to_owned(),
            file,
            watch,
            began: Instant::now(),
            steps: 0,
            calls: BTreeMap::new(),
            shell: BTreeMap::new(),
            usage: TokenUsage::default(),
            cost: Some(0.0),
            embedded: None,
            refused: 0,
            refusal: String::new(),
            ended: false,
        };
        trajectory.write(&TrajectoryRecord::Start(start))?;
        Ok(trajectory)
    }

    /// Sets the account whose embedding usage is added to [`Self::cost`] and the end record.
    pub fn count_embeddings(&mut self, account: Option<EmbeddingAccount>) {
        self.embedded = account;
    }

    /// Returns the embedding usage so far, if there is any.
    fn embeddings(&self) -> Option<EmbeddingCost> {
        let account = self.embedded.as_ref()?;
        let cost = *account.lock().unwrap_or_else(PoisonError::into_inner);
        (cost.tokens > 0).then_some(cost)
    }

    /// Appends a message; each answer of the model begins a step.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, message: &Message) -> Result<(), TrajectoryError> {
        if let Message::Assistant(answer) = message {
            self.steps += 1;
            self.usage += answer.usage;
            self.cost = self.cost.zip(answer.cost).map(|(sum, cost)| sum + cost);
            for call in &answer.calls {
                *self.calls.entry(call.tool.clone()).or_default() += 1;
                if call.tool == SHELL {
                    let script = call.arguments["command"].as_str().unwrap_or_default();
                    let group = group_of_script(script).name().to_owned();
                    *self.shell.entry(group).or_default() += 1;
                }
            }
        }
        if let Message::Tool(reply) = message
            && let Some(refusal) = reply.refusal()
        {
            self.refused += 1;
            self.refusal = refusal;
        }
        let (step, seconds) = (self.steps, self.seconds());
        self.write(&TrajectoryRecord::Message { step, seconds, message: message.clone() })
    }

    /// Adds a condensation.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn condensed(&mut self, condensed: &Condensed) -> Result<(), TrajectoryError> {
        let (step, seconds, condensed) = (self.steps, self.seconds(), condensed.clone());
        self.write(&TrajectoryRecord::Condensed { step, seconds, condensed })
    }

    /// Appends the outcome as the last record and returns the totals.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn end(&mut self, outcome: Outcome) -> Result<End, TrajectoryError> {
        let seconds = self.seconds();
        let (steps, calls, usage) = (self.steps, self.calls.clone(), self.usage);
        let shell = self.shell.clone();
        let cost = self.cost.filter(|_| steps > 0);
        let refusals = (self.refused > 0).then(|| Refusals {
            calls: calls.values().sum(),
            refused: self.refused,
            last: self.refusal.clone(),
        });
        let embeddings = self.embeddings();
        let end = End { outcome, steps, calls, shell, usage, cost, embeddings, seconds, refusals };
        self.ended = true;
        self.write(&TrajectoryRecord::End(end.clone()))?;
        Ok(end)
    }

    /// Answers so far.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Tokens so far.
    pub fn usage(&self) -> TokenUsage {
        self.usage
    }

    /// Price of all answers and vectors so far, where that of each is known.
    pub fn cost(&self) -> Option<f64> {
        let vectors = self.embeddings().map_or(Some(0.0), |cost| cost.price);
        self.cost.zip(vectors).map(|(answers, vectors)| answers + vectors)
    }

    /// Seconds so far.
    pub fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn write(&mut self, record: &TrajectoryRecord) -> Result<(), TrajectoryError> {
        (self.watch)(record);
        let mut line = serde_json::to_vec(record).map_err(io::Error::other);
        if let Ok(line) = &mut line {
            line.push(b'\n');
        }
        // One write for the whole line, so that a concurrent reader sees no half of it.
        line.and_then(|line| self.file.write_all(&line))
            .map_err(|source| TrajectoryError::Write { path: self.path.clone(), source })
    }
}

impl Drop for Trajectory {
    fn drop(&mut self) {
        if !self.ended {
            let message =
                "the session was dropped before its end (a panic or an earlier error)".to_owned();
            // `drop` has no caller to return a write error to.
            let _ = self.end(Outcome::Fatal { message });
        }
    }
}

/// Reads the records of a file; skips a last line that does not parse.
///
/// # Errors
/// The file cannot be read, its version differs, or a line before the last is no record.
pub fn read_trajectory(path: &Path) -> Result<Vec<TrajectoryRecord>, TrajectoryError> {
    let unreadable = |source| TrajectoryError::Read { path: path.to_owned(), source };
    let lines: Vec<Vec<u8>> = BufReader::new(File::open(path).map_err(unreadable)?)
        .split(b'\n')
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    let mut records = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let wrong = |reason| TrajectoryError::Line { path: path.to_owned(), line: at + 1, reason };
        match serde_json::from_slice(line) {
            Ok(TrajectoryRecord::Start(start)) if start.version != TRAJECTORY_VERSION => {
                return Err(wrong(format!(
                    "version {} (this program reads {TRAJECTORY_VERSION})",
                    start.version
                )));
            }
            Ok(record) => records.push(record),
            Err(_) if at + 1 == lines.len() => {}
            Err(error) => return Err(wrong(error.to_string())),
        }
    }
    Ok(records)
}

/// Seconds since 1970, for [`Start::time`].
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
