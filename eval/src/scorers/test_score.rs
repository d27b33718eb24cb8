//! Test score (Gistify, arXiv 2510.26790, section 3.4 and B.5): existence, as in equation 3, of the lines of the
//! test function as the writer left it.
//!
//! A test function that the gist does not have scores 0 (B.2). Of several test functions the mean counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Facts, FormulaSource, MeasureTable, MeasureUnit, PaperExistence, Scorer, paper_existence,
    vouched_existence::within,
};

/// The share of the test function's lines that are the original's.
pub struct TestScore;

impl Scorer for TestScore {
    type Evidence = PaperTest;
    const NAME: &'static str = "test_score";
    const LABEL: &'static str = "test score";
    const DOC: &'static str = "line existence of the test function, as the writer left it";
    const SOURCE: FormulaSource = FormulaSource::Paper("3.4");
    const UNIT: MeasureUnit = MeasureUnit::Share;
    const SHOWN: MeasureTable = MeasureTable::Main;

    fn evidence(facts: &Facts<'_>) -> Option<PaperTest> {
        let gist = facts.gist?;
        let tests: Vec<TestLines> = gist
            .tests
            .iter()
            .map(|(_, block)| {
                let own = std::slice::from_ref(block);
                let lines =
                    paper_existence(gist.outline, gist.codebase, |block| within(block, own));
                let missing = !gist.outline.functions.contains(block);
                TestLines { block: block.clone(), missing, lines }
            })
            .collect();
        let shares = tests
            .iter()
            .map(|test| if test.missing { 0.0 } else { test.lines.rate.unwrap_or(0.0) });
        let rate = (!tests.is_empty()).then(|| shares.sum::<f64>() / tests.len() as f64);
        Some(PaperTest { rate, tests })
    }

    fn value(evidence: &PaperTest) -> Option<f64> {
        evidence.rate
    }
}

/// The score, with what it counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaperTest {
    /// The mean over test functions; nothing for a command without.
    pub rate: Option<f64>,
    /// Every test function of the command.
    pub tests: Vec<TestLines>,
}

/// The lines of one test function in the gist.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestLines {
    /// Its qualified name.
    pub block: String,
    /// The gist does not have it.
    pub missing: bool,
    /// Its lines.
    pub lines: PaperExistence,
}
