//! Existence without glue (ours): multiset existence over the lines that the writer did not mark as glue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Existence, Facts, FormulaSource, MeasureTable, MeasureUnit, Scorer, VouchedExistence};

/// The share of lines, but for glue, that a line of the original vouches for.
pub struct ExistenceWithoutGlue;

impl Scorer for ExistenceWithoutGlue {
    type Evidence = GluelessLines;
    const NAME: &'static str = "existence_without_glue";
    const LABEL: &'static str = "existence without glue";
    const DOC: &'static str = "existence by multiset over the lines that are not marked as glue";
    const SOURCE: FormulaSource = FormulaSource::Ours;
    const UNIT: MeasureUnit = MeasureUnit::Share;
    const SHOWN: MeasureTable = MeasureTable::Ours;

    fn evidence(facts: &Facts<'_>) -> Option<GluelessLines> {
        let Existence { existing, lines, glue, rate_without_glue, .. } =
            VouchedExistence::evidence(facts)?;
        Some(GluelessLines { existing, lines: lines - glue, rate: rate_without_glue })
    }

    fn value(evidence: &GluelessLines) -> Option<f64> {
        evidence.rate
    }
}

/// The rate, with what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GluelessLines {
    /// Lines that exist in the original.
    pub existing: u64,
    /// Lines that are not marked as glue.
    pub lines: u64,
    /// `existing / lines`; nothing for no lines.
    pub rate: Option<f64>,
}
