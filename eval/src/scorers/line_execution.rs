//! Line execution rate (Gistify, arXiv 2510.26790, equation 2 and A.1):
//!
//! ```text
//! execution(G) = 1/|E(G)| * sum over lines l of E(G) of 1[ l is executed ]
//! ```
//!
//! `E(G)` are the executable lines of the gist as it was written: physical lines on which a statement or a
//! header starts, without comments, docstrings, `global` and `nonlocal` (not executable), and without `except`
//! headers, their bodies and placeholders such as `pass` (potentially executable). It is measured for gists that
//! run, faithful or not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Facts, FormulaSource, Idle, IdleLine, MeasureTable, MeasureUnit, Scorer,
    vouched_existence::rate,
};
use crate::{
    blocks::{Class, Outline},
    codebase::starts,
};

/// The share of executable lines that are executed.
pub struct LineExecution;

impl Scorer for LineExecution {
    type Evidence = PaperExecution;
    const NAME: &'static str = "line_execution_rate";
    const LABEL: &'static str = "line execution";
    const DOC: &'static str =
        "share of the executable lines of a gist that runs which its run executes";
    const SOURCE: FormulaSource = FormulaSource::Paper("equation 2");
    const UNIT: MeasureUnit = MeasureUnit::Share;
    const SHOWN: MeasureTable = MeasureTable::Main;

    fn evidence(facts: &Facts<'_>) -> Option<PaperExecution> {
        let gist = facts.gist?;
        Some(line_execution(gist.outline, gist.hits?))
    }

    fn value(evidence: &PaperExecution) -> Option<f64> {
        evidence.rate
    }

    fn remark(evidence: &PaperExecution) -> String {
        format!("{} of {} lines", evidence.executed, evidence.executable)
    }
}

/// The rate, with what it counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaperExecution {
    /// Executable lines that were executed.
    pub executed: u64,
    /// Executable lines.
    pub executable: u64,
    /// `executed / executable`; nothing for no lines.
    pub rate: Option<f64>,
    /// Every executable line that was not executed.
    pub idle: Vec<IdleLine>,
}

/// Measures a gist; `hits` tells for each line of the outline if it was executed.
fn line_execution(gist: &Outline, hits: &[bool]) -> PaperExecution {
    let mut score = PaperExecution::default();
    for (first, at) in starts(gist) {
        let mut counted =
            at.iter().filter(|&&index| gist.lines[index].class == Class::Executable).peekable();
        let Some(&&shown) = counted.peek() else { continue };
        score.executable += 1;
        if counted.any(|&index| hits[index]) {
            score.executed += 1;
            continue;
        }
        let (block, text) = (gist.lines[shown].block.clone(), gist.lines[shown].text.clone());
        score.idle.push(IdleLine { line: first, block, text, reason: Idle::NotExecuted });
    }
    score.rate = rate(score.executed, score.executable);
    score
}
