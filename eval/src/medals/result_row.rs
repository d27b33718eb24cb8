//! The results of solvers on competitions, as lines of JSON:
//! `{"competition": "...", "score": 0.9, "valid": true, "solver": "..."}`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::competition::Competitions;
use crate::json_lines::{MalformedRow, read_json_lines};

/// The result of one solver on one competition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompetitionRow {
    /// The competition's name.
    pub competition: String,
    /// The score of a valid submission.
    #[serde(default)]
    pub score: Option<f64>,
    /// True if the competition's grader accepts the submission.
    pub valid: bool,
    /// True if there is a submission, valid or not; left out, it is as `valid`.
    #[serde(default)]
    pub made: Option<bool>,
    /// Tokens that the solver read and wrote, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The solver.
    #[serde(default)]
    pub solver: String,
}

impl CompetitionRow {
    /// Returns true if there is a submission.
    pub fn is_made(&self) -> bool {
        self.valid || self.made.unwrap_or(false)
    }
}

/// Returns the rows of results, and the malformed lines. A line is malformed if its competition is unknown, or if its
/// solver has a line for that competition already. So is a valid row without a score, and an invalid one with a score.
pub fn read_competition_rows(
    text: &str,
    competitions: &Competitions,
) -> (Vec<CompetitionRow>, Vec<MalformedRow>) {
    let mut known = BTreeSet::new();
    read_json_lines(text, |row: &CompetitionRow| {
        let name = &row.competition;
        if competitions.find(name).is_none() {
            return Some(format!("{} has no competition {name:?}", competitions.name));
        }
        if !known.insert((row.solver.clone(), name.clone())) {
            return Some(format!("{name} is there twice for solver {:?}", row.solver));
        }
        match (row.valid, row.score) {
            (true, None) => Some("a valid submission has a score".to_owned()),
            (false, Some(_)) => Some("an invalid submission has no score".to_owned()),
            (true, Some(_)) | (false, None) => None,
        }
    })
}
