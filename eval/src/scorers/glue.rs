//! Glue (ours): lines of the gist that stand nowhere in the original and that its writer marked as glue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Facts, FormulaSource, MeasureTable, MeasureUnit, MissingLine, MissingReason, Scorer,
    VouchedExistence,
};

/// The number of glue lines.
pub struct GlueLines;

impl Scorer for GlueLines {
    type Evidence = MarkedLines;
    const NAME: &'static str = "glue_lines";
    const LABEL: &'static str = "glue";
    const DOC: &'static str = "lines that stand nowhere in the original and are marked as glue";
    const SOURCE: FormulaSource = FormulaSource::Ours;
    const UNIT: MeasureUnit = MeasureUnit::Count;
    const SHOWN: MeasureTable = MeasureTable::Main;

    fn evidence(facts: &Facts<'_>) -> Option<MarkedLines> {
        let mut lines = VouchedExistence::evidence(facts)?.missing;
        lines.retain(|line| line.reason == MissingReason::Glue);
        Some(MarkedLines { lines })
    }

    fn value(evidence: &MarkedLines) -> Option<f64> {
        Some(evidence.lines.len() as f64)
    }
}

/// Every line of glue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MarkedLines {
    /// The lines.
    pub lines: Vec<MissingLine>,
}
