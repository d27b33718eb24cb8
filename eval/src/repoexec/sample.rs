//! Samples: what a model answered to a problem, and what became of it.
//!
//! Owns both kinds of rows (JSONL): generations, which `generate` writes and anything else may write too, and verdicts,
//! which `eval` writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json_lines::{MalformedRow, read_json_lines};

/// The version of generation and verdict rows.
pub const SAMPLE_VERSION: u32 = 1;

/// One answer to one problem.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generation {
    /// [`SAMPLE_VERSION`].
    pub version: u32,
    /// The problem's id.
    pub problem: String,
    /// The number of the problem's sample, from 0.
    pub sample: u32,
    /// Rounds of debugging before it.
    #[serde(default)]
    pub round: u32,
    /// The model.
    pub model: String,
    /// The form of the prompt: `base/full`, `instruct-1/small`.
    pub prompt: String,
    /// The text of the answer.
    pub answer: String,
    /// Why there is no answer; then `answer` is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Tokens read.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
    /// The price in US dollars, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// The result of a sample.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SampleClass {
    /// All cases passed.
    Passed,
    /// A case failed, or could not be collected.
    Failed,
    /// The function does not parse in its place.
    SyntaxError,
    /// The answer has no function of that name.
    NoFunction,
    /// The answer has two that differ.
    SeveralFunctions,
    /// The answer is too long to look at.
    TooLong,
    /// It did not end within the limit.
    TimedOut,
    /// It used up its memory.
    OutOfMemory,
    /// The process ended before all cases had.
    EndedEarly,
    /// It changed or removed the tests.
    TamperedTests,
    /// The model gave no answer.
    NoAnswer,
    /// The machine failed: no verdict on the sample.
    Unscored,
}

impl SampleClass {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Passed,
        Self::Failed,
        Self::SyntaxError,
        Self::NoFunction,
        Self::SeveralFunctions,
        Self::TooLong,
        Self::TimedOut,
        Self::OutOfMemory,
        Self::EndedEarly,
        Self::TamperedTests,
        Self::NoAnswer,
        Self::Unscored,
    ];

    /// A phrase for tables.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::SyntaxError => "syntax error",
            Self::NoFunction => "no function",
            Self::SeveralFunctions => "several functions",
            Self::TooLong => "too long",
            Self::TimedOut => "timed out",
            Self::OutOfMemory => "out of memory",
            Self::EndedEarly => "ended early",
            Self::TamperedTests => "tampered with tests",
            Self::NoAnswer => "no answer",
            Self::Unscored => "unscored",
        }
    }

    /// Returns true if the sample counts among those of its problem.
    pub fn is_scored(self) -> bool {
        self != Self::Unscored
    }
}

/// A sample with its scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleVerdict {
    /// [`SAMPLE_VERSION`].
    pub version: u32,
    /// The problem's id.
    pub problem: String,
    /// The number of the problem's sample, from 0.
    pub sample: u32,
    /// Rounds of debugging before it.
    pub round: u32,
    /// The model.
    pub model: String,
    /// The form of the prompt.
    pub prompt: String,
    /// The result.
    pub class: SampleClass,
    /// The type of what was raised first, for a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The error, in a few lines.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log: String,
    /// The function that was run; empty where there was none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Returns true for a function that does nothing.
    pub empty: bool,
    /// Dependency Invocation Rate; nothing where the solution has no dependency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation: Option<f64>,
    /// The same over the repository's own definitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_invocation: Option<f64>,
    /// Similarities to the solution, from 0 to 100; nothing without a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<Similarity>,
    /// Wall-clock seconds of its run; 0 where nothing was run.
    pub seconds: f64,
    /// An equal function of the same problem was run before, and this is its verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

/// Similarities of a completion to its solution (RepoExec, appendix B).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Similarity {
    /// Edit similarity.
    pub edit: f64,
    /// BLEU.
    pub bleu: f64,
    /// CodeBLEU.
    pub code_bleu: f64,
}

/// Reads a file of generations: its rows, and those that are none.
pub fn read_generations(text: &str) -> (Vec<Generation>, Vec<MalformedRow>) {
    read_json_lines(text, |row: &Generation| other_version(row.version))
}

/// Reads a file of verdicts: its rows, and those that are none.
pub fn read_verdicts(text: &str) -> (Vec<SampleVerdict>, Vec<MalformedRow>) {
    read_json_lines(text, |row: &SampleVerdict| other_version(row.version))
}

fn other_version(version: u32) -> Option<String> {
    (version != SAMPLE_VERSION).then(|| format!("version {version}, not {SAMPLE_VERSION}"))
}
