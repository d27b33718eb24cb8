//! Verdicts on answers to tasks in natural language, as they are kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AnswerJudgement;
use crate::{
    json_lines::{MalformedRow, read_json_lines},
    scorers::Effort,
};

/// The version of verdicts.
pub const QUERY_VERDICT_VERSION: u32 = 1;

/// The verdict on one answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueryVerdict {
    /// [`QUERY_VERDICT_VERSION`].
    pub version: u32,
    /// The id of the task.
    pub task: String,
    /// The maker of the answer.
    pub solver: String,
    /// The scaffold of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaffold: Option<String>,
    /// The model of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The end of the work, in words.
    pub outcome: String,
    /// The judgement.
    #[serde(flatten)]
    pub judgement: AnswerJudgement,
    /// The cost of the answer, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// Reads verdicts, one a line; lines that are none are returned with their reasons.
pub fn read_query_verdicts(text: &str) -> (Vec<QueryVerdict>, Vec<MalformedRow>) {
    read_json_lines(text, |verdict: &QueryVerdict| {
        (verdict.version != QUERY_VERDICT_VERSION)
            .then(|| format!("its version is {}", verdict.version))
    })
}
