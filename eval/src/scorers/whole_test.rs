//! Whole test score (ours): existence of the test function's lines, by the larger of both sides.
//!
//! Lines that were added and lines that were dropped both count. Imports that were dropped do not: they may
//! be adjusted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Facts, FormulaSource, MeasureTable, MeasureUnit, Scorer,
    vouched_existence::{Existence, of_blocks, rate, within},
};
use crate::{
    blocks::{Outline, Role},
    codebase::Codebase,
    source_map::SourceMap,
};

/// The share of the test's lines that both sides have.
pub struct WholeTestScore;

impl Scorer for WholeTestScore {
    type Evidence = WholeTest;
    const NAME: &'static str = "whole_test_score";
    const LABEL: &'static str = "whole test score";
    const DOC: &'static str =
        "the test score, with lines that the gist's test lost counted as missing";
    const SOURCE: FormulaSource = FormulaSource::Ours;
    const UNIT: MeasureUnit = MeasureUnit::Share;
    const SHOWN: MeasureTable = MeasureTable::Tests;

    fn evidence(facts: &Facts<'_>) -> Option<WholeTest> {
        let gist = facts.gist?;
        Some(whole_test(gist.outline, gist.tests, gist.codebase))
    }

    fn value(evidence: &WholeTest) -> Option<f64> {
        evidence.rate
    }
}

/// The score, with what it counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WholeTest {
    /// Share of lines that are the original's; nothing for a command without test functions.
    pub rate: Option<f64>,
    /// Blocks of the tests.
    pub blocks: Vec<String>,
    /// Blocks that the gist does not have.
    pub missing: Vec<String>,
    /// The lines of the gist's test functions.
    pub lines: Existence,
}

/// Scores the tests in these (path, block) places of the original.
pub(crate) fn whole_test(
    gist: &Outline,
    tests: &[(String, String)],
    codebase: &Codebase,
) -> WholeTest {
    let blocks: Vec<String> = tests.iter().map(|(_, block)| block.clone()).collect();
    let missing: Vec<String> =
        blocks.iter().filter(|block| !gist.functions.contains(block)).cloned().collect();
    let lines = of_blocks(gist, &blocks, codebase, &SourceMap::default());
    let imports = gist.lines.iter().filter(|line| {
        line.role == Role::Import
            && within(&line.block, &blocks)
            && codebase.places(line).next().is_some()
    });
    let original: usize = tests
        .iter()
        .filter_map(|(path, block)| Some((codebase.file(path)?, std::slice::from_ref(block))))
        .map(|(file, block)| {
            let lines = file.outline.lines.iter();
            lines.filter(|line| within(&line.block, block) && line.role != Role::Import).count()
        })
        .sum();
    let whole = lines.lines.max((original + imports.count()) as u64);
    WholeTest { rate: rate(lines.existing, whole), blocks, missing, lines }
}
