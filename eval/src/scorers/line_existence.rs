//! Line existence rate (Gistify, arXiv 2510.26790, equation 3 and A.1):
//!
//! ```text
//! existence(G) = sum over blocks b of G, lines l of b, of 1[ l is a line of C's block b ]
//!                / sum over blocks b of G of |lines of b|
//! ```
//!
//! The paper's text has the formula; the symbols here are ours. Blocks are functions, classes and the top level,
//! matched by name and place in the hierarchy; a line without such a block in the codebase `C` does not exist.
//! Lines are compared by syntax tree: comments go, docstrings stay, imports are split, statements over several
//! lines are one. Where the paper is silent the choice is ours: the headers of a block are its lines, `elif` may
//! appear as `if`, and blocks of one name in several files are one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Facts, FormulaSource, MeasureTable, MeasureUnit, MissingLine, MissingReason, Scorer,
    vouched_existence::rate,
};
use crate::{
    blocks::{Line, Outline},
    codebase::Codebase,
};

/// The share of lines that stand in the block of the same name in the original.
pub struct LineExistence;

impl Scorer for LineExistence {
    type Evidence = PaperExistence;
    const NAME: &'static str = "line_existence_rate";
    const LABEL: &'static str = "line existence";
    const DOC: &'static str = "share of the gist's lines that stand in the repository, in the function or class of \
        the same name; glue is missing";
    const SOURCE: FormulaSource = FormulaSource::Paper("equation 3");
    const UNIT: MeasureUnit = MeasureUnit::Share;
    const SHOWN: MeasureTable = MeasureTable::Main;

    fn evidence(facts: &Facts<'_>) -> Option<PaperExistence> {
        let gist = facts.gist?;
        Some(paper_existence(gist.outline, gist.codebase, |_| true))
    }

    fn value(evidence: &PaperExistence) -> Option<f64> {
        evidence.rate
    }

    fn remark(evidence: &PaperExistence) -> String {
        format!("{} of {} lines", evidence.existing, evidence.lines)
    }
}

/// The rate, with what it counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaperExistence {
    /// Lines that exist in the original.
    pub existing: u64,
    /// All lines.
    pub lines: u64,
    /// `existing / lines`; nothing for no lines.
    pub rate: Option<f64>,
    /// Every missing line.
    pub missing: Vec<MissingLine>,
}

/// Measures the lines, docstrings included, of those blocks of a gist that `counts` accepts.
pub fn paper_existence(
    gist: &Outline,
    codebase: &Codebase,
    counts: impl Fn(&str) -> bool,
) -> PaperExistence {
    let mut score = PaperExistence::default();
    let code = gist.lines.iter().map(|line| (line, codebase.places(line).next().is_some()));
    let texts = gist.texts.iter().map(|line| (line, codebase.has_text(line)));
    let mut lines: Vec<(&Line, bool)> =
        code.chain(texts).filter(|(line, _)| counts(&line.block)).collect();
    lines.sort_by_key(|(line, _)| line.range);
    for (line, exists) in lines {
        score.lines += 1;
        if exists {
            score.existing += 1;
            continue;
        }
        let known = codebase.has_block(&line.block);
        let reason = if known { MissingReason::NoLine } else { MissingReason::NoBlock };
        let (block, text) = (line.block.clone(), line.text.clone());
        score.missing.push(MissingLine { line: line.first, block, text, reason });
    }
    score.rate = rate(score.existing, score.lines);
    score
}
