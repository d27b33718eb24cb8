//! Pytest pass rate (Gistify, arXiv 2510.26790, B.5): the share of a task's cases that pass with the gist.
//!
//! The paper averages it over tasks with at least one passing case, so a task without has no value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Facts, FormulaSource, MeasureTable, MeasureUnit, Scorer, vouched_existence::rate};
use crate::{expected::Expected, observation::Observation};

/// The share of cases that pass.
pub struct PytestPassRate;

impl Scorer for PytestPassRate {
    type Evidence = PassRate;
    const NAME: &'static str = "pytest_pass_rate";
    const LABEL: &'static str = "pass rate";
    const DOC: &'static str =
        "share of the original's cases that pass with the gist, over tasks with at least one";
    const SOURCE: FormulaSource = FormulaSource::Paper("B.5");
    const UNIT: MeasureUnit = MeasureUnit::Share;
    const SHOWN: MeasureTable = MeasureTable::Tests;

    fn evidence(facts: &Facts<'_>) -> Option<PassRate> {
        let gist = facts.gist?;
        Some(PassRate::of(facts.expected, gist.found))
    }

    fn value(evidence: &PassRate) -> Option<f64> {
        evidence.rate
    }

    fn remark(evidence: &PassRate) -> String {
        format!("{} of {} cases", evidence.passed, evidence.cases)
    }
}

/// The rate, with what it counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassRate {
    /// Cases of the original that pass with the gist.
    pub passed: u64,
    /// Cases of the original.
    pub cases: u64,
    /// `passed / cases`; nothing where none passes.
    pub rate: Option<f64>,
}

impl PassRate {
    /// Counts the original's cases that pass in a run of the gist; none where it did not run.
    pub fn of(expected: &Expected, found: Option<&Observation>) -> Self {
        let cases = expected.cases.len() as u64;
        let passes = |id: &&String| {
            found.and_then(|found| found.cases.get(*id)).is_some_and(|phases| {
                !phases.is_empty() && phases.iter().all(|phase| phase.outcome == "passed")
            })
        };
        let passed = expected.cases.keys().filter(passes).count() as u64;
        Self { passed, cases, rate: rate(passed, cases).filter(|_| passed > 0) }
    }
}
