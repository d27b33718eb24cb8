//! Existence by multiset (ours): each line of the original vouches for one line of the gist.
//!
//! It counts over all files that have a block of the line's name, so repeating a line gains nothing.
//! Docstrings are no lines.

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Facts, FormulaSource, MeasureTable, MeasureUnit, Scorer};
use crate::{
    blocks::{Line, Outline},
    codebase::Codebase,
    key::Key,
    source_map::SourceMap,
};

/// The share of lines that a line of the original vouches for.
pub struct VouchedExistence;

impl Scorer for VouchedExistence {
    type Evidence = Existence;
    const NAME: &'static str = "vouched_existence_rate";
    const LABEL: &'static str = "existence by multiset";
    const DOC: &'static str = "line existence where each line of the original vouches for one line of the gist, and \
        docstrings are no lines";
    const SOURCE: FormulaSource = FormulaSource::Ours;
    const UNIT: MeasureUnit = MeasureUnit::Share;
    const SHOWN: MeasureTable = MeasureTable::Ours;

    fn evidence(facts: &Facts<'_>) -> Option<Existence> {
        let gist = facts.gist?;
        Some(existence(gist.outline, gist.codebase, gist.map))
    }

    fn value(evidence: &Existence) -> Option<f64> {
        evidence.rate
    }

    fn remark(evidence: &Existence) -> String {
        match evidence.glue {
            0 if evidence.rate == Some(1.0) => "no glue".to_owned(),
            0 => "no line is marked as glue".to_owned(),
            1 => "1 line of glue".to_owned(),
            lines => format!("{lines} lines of glue"),
        }
    }
}

/// The rate, with what it counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Existence {
    /// Lines that exist in the original.
    pub existing: u64,
    /// All lines.
    pub lines: u64,
    /// Missing lines that the writer marked as glue.
    pub glue: u64,
    /// `existing / lines`; nothing for no lines.
    pub rate: Option<f64>,
    /// The rate over lines that are no glue.
    pub rate_without_glue: Option<f64>,
    /// Every missing line.
    pub missing: Vec<MissingLine>,
}

/// A line that does not stand in the original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingLine {
    /// 1-based line of the gist.
    pub line: u32,
    /// Its block; empty for the top level.
    pub block: String,
    /// Its text, shortened.
    pub text: String,
    /// Why it counts as missing.
    pub reason: MissingReason,
}

/// Why a line counts as missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingReason {
    /// The original has no block of this name.
    NoBlock,
    /// The block has no such line.
    NoLine,
    /// The block has such a line, but not as often.
    TooOften,
    /// The block has no such line, and the writer says so.
    Glue,
}

/// Scores a whole gist.
pub fn existence(gist: &Outline, codebase: &Codebase, map: &SourceMap) -> Existence {
    of_lines(gist.lines.iter(), codebase, map)
}

/// Scores the lines of some blocks, inner blocks included.
pub fn of_blocks(
    gist: &Outline,
    blocks: &[String],
    codebase: &Codebase,
    map: &SourceMap,
) -> Existence {
    let chosen = gist.lines.iter().filter(|line| within(&line.block, blocks));
    of_lines(chosen, codebase, map)
}

/// Returns true if a block is one of some blocks, or inside of one.
pub fn within(block: &str, blocks: &[String]) -> bool {
    blocks.iter().any(|outer| {
        block
            .strip_prefix(outer.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

fn of_lines<'a>(
    lines: impl Iterator<Item = &'a Line>,
    codebase: &Codebase,
    map: &SourceMap,
) -> Existence {
    let mut used: FxHashMap<(&str, Key), usize> = FxHashMap::default();
    let mut score = Existence::default();
    for line in lines {
        score.lines += 1;
        let places = codebase.places(line).count();
        let taken = used.entry((&line.block, line.key)).or_default();
        if *taken < places {
            *taken += 1;
            score.existing += 1;
            continue;
        }
        let reason = if map.is_glue(line.first) {
            score.glue += 1;
            MissingReason::Glue
        } else if places > 0 {
            MissingReason::TooOften
        } else if codebase.has_block(&line.block) {
            MissingReason::NoLine
        } else {
            MissingReason::NoBlock
        };
        let (block, text) = (line.block.clone(), line.text.clone());
        score.missing.push(MissingLine { line: line.first, block, text, reason });
    }
    score.rate = rate(score.existing, score.lines);
    score.rate_without_glue = rate(score.existing, score.lines - score.glue);
    score
}

/// Returns a share, or `None` if the whole is zero.
pub(crate) fn rate(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
