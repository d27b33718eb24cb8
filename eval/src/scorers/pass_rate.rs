//! Pytest pass rate (Gistify, arXiv 2510.26790, B.5): the share of a task's cases that pass with the gist.
//!
//! It is averaged over tasks with at least one passing case; a task without is left out there.

use serde::{Deserialize, Serialize};

use super::existence::rate;
use crate::{expected::Expected, observation::Observation};

/// The rate, with what it counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PassRate {
    /// Cases of the original that pass with the gist.
    pub passed: u64,
    /// Cases of the original.
    pub cases: u64,
    /// `passed / cases`; nothing for a command without cases.
    pub rate: Option<f64>,
}

/// Counts the original's cases that pass in a run of the gist.
pub fn pass_rate(expected: &Expected, found: &Observation) -> PassRate {
    let cases = expected.cases.len() as u64;
    let passes = |id: &&String| {
        found.cases.get(*id).is_some_and(|phases| {
            !phases.is_empty() && phases.iter().all(|phase| phase.outcome == "passed")
        })
    };
    let passed = expected.cases.keys().filter(passes).count() as u64;
    PassRate { passed, cases, rate: rate(passed, cases) }
}
