//! Sensitivity (ours): mutants of the package that the original's test notices, and the gist notices, too.
//!
//! ```text
//! sensitivity(G) = |mutants noticed by both| / |mutants noticed by the original|
//! ```
//!
//! An answer at hand does not change with the code that would compute it, so a cheat misses mutants that an honest gist
//! notices. Below [`LEAST`] noticed mutants there is no figure.

use super::{Facts, FormulaSource, MeasureTable, MeasureUnit, Scorer};
use crate::sensitivity::SensitivityRuns;

/// Fewest noticed mutants that give a figure.
const LEAST: u64 = 5;

/// The share of noticed mutants that the gist notices.
pub struct Sensitivity;

impl Scorer for Sensitivity {
    type Evidence = SensitivityRuns;
    const NAME: &'static str = "sensitivity";
    const LABEL: &'static str = "sensitivity";
    const DOC: &'static str = "of mutants of executed package statements that the original's test notices, the share \
        that the gist with the same mutant notices, too; with `--mutants N`, and at least five noticed";
    const SOURCE: FormulaSource = FormulaSource::Ours;
    const UNIT: MeasureUnit = MeasureUnit::Share;
    const SHOWN: MeasureTable = MeasureTable::Ours;

    fn evidence(facts: &Facts<'_>) -> Option<SensitivityRuns> {
        facts.gist?.sensitivity.cloned()
    }

    fn value(evidence: &SensitivityRuns) -> Option<f64> {
        let sound = evidence.failed.is_none() && evidence.unstable_controls == 0;
        (sound && evidence.noticed >= LEAST)
            .then(|| evidence.noticed_too as f64 / evidence.noticed as f64)
    }

    fn remark(evidence: &SensitivityRuns) -> String {
        let SensitivityRuns { drawn, noticed, noticed_too, .. } = evidence;
        format!("{noticed_too} of the {noticed} mutants that the test notices, of {drawn} tried")
    }
}
