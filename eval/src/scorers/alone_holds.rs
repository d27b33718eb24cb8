//! A gist away from its repository (ours).
//!
//! It is run in an empty directory, in an ordinary shell's environment. Benches measure it if `bench.alone` is set.

use tools::Alone;

use super::{Facts, FormulaSource, MeasureTable, MeasureUnit, Scorer};

/// 1 where a gist ends as the original does in an empty directory.
pub struct AloneHolds;

impl Scorer for AloneHolds {
    type Evidence = Alone;
    const NAME: &'static str = "alone_holds";
    const LABEL: &'static str = "alone";
    const DOC: &'static str = "1 where the gist ends as the original does in an empty directory and an ordinary shell, \
        with only the packages that it imports; with `bench --alone`";
    const SOURCE: FormulaSource = FormulaSource::Ours;
    const UNIT: MeasureUnit = MeasureUnit::Success;
    const SHOWN: MeasureTable = MeasureTable::Ours;

    fn evidence(facts: &Facts<'_>) -> Option<Alone> {
        facts.gist?.alone.filter(|alone| !alone.interrupted).cloned()
    }

    fn value(evidence: &Alone) -> Option<f64> {
        Some(f64::from(u8::from(evidence.holds)))
    }

    fn remark(evidence: &Alone) -> String {
        if evidence.holds { String::new() } else { evidence.to_string() }
    }
}
