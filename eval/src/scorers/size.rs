//! Size (ours): the length of a gist as a share of the lines that the command executed.
//!
//! The rates alone reward keeping code that only an import executes; this one does not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Facts, FormulaSource, MeasureTable, MeasureUnit, Scorer, extent::extent,
    vouched_existence::rate,
};
use crate::codebase::Extent;

/// The lines of a gist as a share of those that ran.
pub struct LinesOfExecuted;

impl Scorer for LinesOfExecuted {
    type Evidence = Size;
    const NAME: &'static str = "lines_of_executed";
    const LABEL: &'static str = "% of run";
    const DOC: &'static str =
        "lines of the gist as a share of the lines that the command executed in the original";
    const SOURCE: FormulaSource = FormulaSource::Ours;
    const UNIT: MeasureUnit = MeasureUnit::Ratio;
    const SHOWN: MeasureTable = MeasureTable::Main;

    fn evidence(facts: &Facts<'_>) -> Option<Size> {
        let (gist, executed, repository) =
            (extent(facts)?, facts.executed_extent, facts.repository);
        let physical_lines = u64::from(facts.gist?.outline.physical);
        Some(Size {
            gist,
            physical_lines,
            executed,
            repository,
            lines_of_executed: rate(gist.lines, executed.lines),
            tokens_of_executed: rate(gist.tokens, executed.tokens),
            lines_of_repository: rate(gist.lines, repository.lines),
            tokens_of_repository: rate(gist.tokens, repository.tokens),
        })
    }

    fn value(evidence: &Size) -> Option<f64> {
        evidence.lines_of_executed
    }
}

/// Sizes and shares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Size {
    /// The gist.
    pub gist: Extent,
    /// Its physical lines, blank ones and comments included.
    pub physical_lines: u64,
    /// Lines and tokens that the original run executed.
    pub executed: Extent,
    /// The repository.
    pub repository: Extent,
    /// Lines of the gist as a share of the executed ones.
    pub lines_of_executed: Option<f64>,
    /// Tokens of the gist as a share of the executed ones.
    pub tokens_of_executed: Option<f64>,
    /// Lines of the gist as a share of the repository's.
    pub lines_of_repository: Option<f64>,
    /// Tokens of the gist as a share of the repository's.
    pub tokens_of_repository: Option<f64>,
}
