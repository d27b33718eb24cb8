//! The strict execution fidelity of this project (Gistify, arXiv 2510.26790, equation 1, with a
//! larger `out`).
//!
//! Beside the paper's pass, fail and streams it compares the collected cases, each phase of a case,
//! type and message of exceptions, reasons of expected failures, captured output and log by phase,
//! and the exit code.

use super::{Facts, Fidelity, FormulaSource, MeasureTable, MeasureUnit, Scorer};

/// 1 where a run of the gist cannot be told from the original's.
pub struct StrictFidelity;

impl Scorer for StrictFidelity {
    type Evidence = Fidelity;
    const NAME: &'static str = "execution_fidelity_strict";
    const LABEL: &'static str = "fidelity (strict)";
    const DOC: &'static str = "1 where also exception types and messages (those of causes and members of groups too), output and log of each phase, and the exit \
        code are the original's; *faithful* means this";
    const SOURCE: FormulaSource = FormulaSource::Ours;
    const UNIT: MeasureUnit = MeasureUnit::Success;
    const SHOWN: MeasureTable = MeasureTable::Main;

    fn evidence(facts: &Facts<'_>) -> Option<Fidelity> {
        Some(facts.strict.clone())
    }

    fn value(evidence: &Fidelity) -> Option<f64> {
        Some(f64::from(evidence.score))
    }
}
