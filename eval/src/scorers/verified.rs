//! The second answer (ours), beside fidelity: a gist is grounded and linked.
//!
//! A paraphrase may be faithful and is not verified; the evidence has its foreign lines.

use super::{Facts, FormulaSource, MeasureTable, MeasureUnit, Scorer};
use crate::verify::Verification;

/// 1 where a gist is grounded and linked.
pub struct Verified;

impl Scorer for Verified {
    type Evidence = Verification;
    const NAME: &'static str = "verified";
    const LABEL: &'static str = "verified";
    const DOC: &'static str = "1 where every line of a faithful gist is the original's in the same block and order, or \
        glue, and the original, unchanged tests hold on it";
    const SOURCE: FormulaSource = FormulaSource::Ours;
    const UNIT: MeasureUnit = MeasureUnit::Success;
    const SHOWN: MeasureTable = MeasureTable::Main;

    fn evidence(facts: &Facts<'_>) -> Option<Verification> {
        match facts.gist {
            Some(gist) => gist.verification.cloned(),
            None => Some(Verification::refused("there is no gist")),
        }
    }

    fn value(evidence: &Verification) -> Option<f64> {
        Some(f64::from(u8::from(evidence.verified)))
    }

    fn remark(evidence: &Verification) -> String {
        evidence.reason.clone().unwrap_or_default()
    }
}
