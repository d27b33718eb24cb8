//! The length of a gist (ours), in lines of code and in tokens.

use super::{Facts, FormulaSource, MeasureTable, MeasureUnit, Scorer};
use crate::{
    codebase::{Extent, starts},
    tokens,
};

/// The lines of code of a gist.
pub struct GistLines;

/// The tokens of a gist.
pub struct GistTokens;

impl Scorer for GistLines {
    type Evidence = Extent;
    const NAME: &'static str = "lines";
    const LABEL: &'static str = "lines";
    const DOC: &'static str = "lines of the gist on which a statement or a header starts";
    const SOURCE: FormulaSource = FormulaSource::Ours;
    const UNIT: MeasureUnit = MeasureUnit::Count;
    const SHOWN: MeasureTable = MeasureTable::Main;

    fn evidence(facts: &Facts<'_>) -> Option<Extent> {
        extent(facts)
    }

    fn value(evidence: &Extent) -> Option<f64> {
        Some(evidence.lines as f64)
    }
}

impl Scorer for GistTokens {
    type Evidence = Extent;
    const NAME: &'static str = "tokens";
    const LABEL: &'static str = "tokens";
    const DOC: &'static str = "tokens of the gist, as o200k counts them";
    const SOURCE: FormulaSource = FormulaSource::Ours;
    const UNIT: MeasureUnit = MeasureUnit::Count;
    const SHOWN: MeasureTable = MeasureTable::Main;

    fn evidence(facts: &Facts<'_>) -> Option<Extent> {
        extent(facts)
    }

    fn value(evidence: &Extent) -> Option<f64> {
        Some(evidence.tokens as f64)
    }
}

/// The extent of a gist.
pub(super) fn extent(facts: &Facts<'_>) -> Option<Extent> {
    let gist = facts.gist?;
    let lines = starts(gist.outline).len() as u64;
    Some(Extent { lines, tokens: tokens::count(gist.text) })
}
