//! The measures of a gist: one file each, one trait, one list.
//!
//! A measure takes the [`Facts`] about one gist and returns evidence, from which its value is read. To add
//! one, write a file with a type that implements [`Scorer`] and name it in [`MEASURES`]: `scores.json`, rows,
//! tables, pages, the terminal and the table in the help follow from the list. Nothing here runs a gist.

mod alone_holds;
mod category;
mod changed_test;
mod effort;
mod extent;
mod fidelity;
mod glue;
mod glueless_existence;
mod line_execution;
mod line_existence;
mod original_execution;
mod paper_fidelity;
mod pass_rate;
mod sensitivity;
mod size;
mod strict_fidelity;
mod test_score;
mod verified;
mod vouched_existence;
mod whole_test;

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tools::Alone;

pub use alone_holds::AloneHolds;
pub use category::{Category, Cause, PaperCategory, category};
pub use changed_test::{ChangedLines, GuardAdded, MockPackage, TestMoved};
pub use effort::Effort;
pub use extent::{GistLines, GistTokens};
pub use fidelity::{Fidelity, OutcomeDifference, OutcomeDifferenceKind, fidelity};
pub use glue::{GlueLines, MarkedLines};
pub use glueless_existence::{ExistenceWithoutGlue, GluelessLines};
pub use line_execution::{LineExecution, PaperExecution};
pub use line_existence::{LineExistence, PaperExistence, paper_existence};
pub use original_execution::{
    Executed, ExecutionRate, Idle, IdleLine, OriginalExecution, execution,
};
pub use paper_fidelity::{PaperFidelity, PaperVerdict, paper_fidelity};
pub use pass_rate::{PassRate, PytestPassRate};
pub use sensitivity::Sensitivity;
pub use size::{LinesOfExecuted, Size};
pub use strict_fidelity::StrictFidelity;
pub use test_score::{PaperTest, TestLines, TestScore};
pub use verified::Verified;
pub use vouched_existence::{Existence, MissingLine, MissingReason, VouchedExistence, existence};
pub use whole_test::{WholeTest, WholeTestScore};

pub(crate) use whole_test::whole_test;

use crate::{
    blocks::Outline,
    codebase::{Codebase, Extent},
    expected::Expected,
    observation::Observation,
    sensitivity::SensitivityRuns,
    source_map::SourceMap,
    verify::Verification,
};

/// One measure of a gist.
pub trait Scorer {
    /// Every fact that the value was computed from, as `scores.json` has it.
    type Evidence: Serialize + DeserializeOwned + JsonSchema;
    /// Its key in `scores.json`, rows and summaries.
    const NAME: &'static str;
    /// The head of its column, and its name in the terminal.
    const LABEL: &'static str;
    /// One sentence for the table of measures.
    const DOC: &'static str;
    /// The source of its formula.
    const SOURCE: FormulaSource;
    /// Its unit.
    const UNIT: MeasureUnit;
    /// The table that has its column.
    const SHOWN: MeasureTable;

    /// Measures a gist; nothing where the measure does not apply to it.
    fn evidence(facts: &Facts<'_>) -> Option<Self::Evidence>;

    /// Returns the value in its unit, or `None` if there was nothing to measure.
    fn value(evidence: &Self::Evidence) -> Option<f64>;

    /// A few words for the terminal, such as `17 of 19 lines`; empty for none.
    fn remark(_evidence: &Self::Evidence) -> String {
        String::new()
    }
}

/// The measures, in the order in which they are shown.
pub const MEASURES: &[Measure] = &[
    Measure::of::<PaperFidelity>(),
    Measure::of::<StrictFidelity>(),
    Measure::of::<Verified>(),
    Measure::of::<LineExistence>(),
    Measure::of::<LineExecution>(),
    Measure::of::<TestScore>(),
    Measure::of::<PytestPassRate>(),
    Measure::of::<VouchedExistence>(),
    Measure::of::<ExistenceWithoutGlue>(),
    Measure::of::<OriginalExecution>(),
    Measure::of::<WholeTestScore>(),
    Measure::of::<Sensitivity>(),
    Measure::of::<AloneHolds>(),
    Measure::of::<GlueLines>(),
    Measure::of::<GistLines>(),
    Measure::of::<GistTokens>(),
    Measure::of::<LinesOfExecuted>(),
    Measure::of::<TestMoved>(),
    Measure::of::<GuardAdded>(),
    Measure::of::<MockPackage>(),
];

/// An entry of [`MEASURES`]: a [`Scorer`] without its type.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// [`Scorer::NAME`].
    pub name: &'static str,
    /// [`Scorer::LABEL`].
    pub label: &'static str,
    /// [`Scorer::DOC`].
    pub doc: &'static str,
    /// [`Scorer::SOURCE`].
    pub source: FormulaSource,
    /// [`Scorer::UNIT`].
    pub unit: MeasureUnit,
    /// [`Scorer::SHOWN`].
    pub shown: MeasureTable,
    score: fn(&Facts<'_>) -> Option<Score>,
    remark: fn(&Value) -> String,
    evidence: fn(&mut SchemaGenerator) -> Schema,
}

/// The source of a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormulaSource {
    /// A part of Gistify (arXiv 2510.26790), such as `equation 1`.
    Paper(&'static str),
    /// None but this project.
    Ours,
}

/// The unit of a value, which says how values of several tasks are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasureUnit {
    /// A share from 0 to 1; more is better. Tasks are averaged.
    Share,
    /// 0 or 1, and 1 is better. Tasks are averaged.
    Success,
    /// 0 or 1, and 0 is better. Tasks are averaged.
    Fault,
    /// A number of something; less is better. The median task counts.
    Count,
    /// A share of something else, that may be more than 1; less is better. The median task counts.
    Ratio,
}

/// The table in which a measure has its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasureTable {
    /// The main results and whatever compares solvers.
    Main,
    /// The measures of tests.
    Tests,
    /// The measures of this project.
    Ours,
    /// The changes to tests.
    Changes,
}

/// One value with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The value in the measure's unit, or `None` if there was nothing to measure.
    pub value: Option<f64>,
    /// The measure's own record.
    pub evidence: Value,
}

/// The scores of one gist by the names of their measures. A measure that does not apply has no entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scores(BTreeMap<String, Score>);

/// Everything that is known of one gist when its scores are computed.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The behaviour of the original.
    pub expected: &'a Expected,
    /// Lines of the original that its traced run executed.
    pub executed: &'a Executed,
    /// Their extent.
    pub executed_extent: Extent,
    /// The extent of the repository.
    pub repository: Extent,
    /// The gist; nothing where none was written.
    pub gist: Option<GistFacts<'a>>,
    /// The verdict on its run.
    pub strict: &'a Fidelity,
}

/// The text of a gist, and what its runs did.
#[derive(Clone, Copy)]
pub struct GistFacts<'a> {
    /// The text, as its writer left it.
    pub text: &'a str,
    /// Its lines.
    pub outline: &'a Outline,
    /// Its origins, as its writer names them.
    pub map: &'a SourceMap,
    /// The original's lines.
    pub codebase: &'a Codebase,
    /// The test functions of the command: path and block.
    pub tests: &'a [(String, String)],
    /// Blocks of tests whose every case is skipped or expected to fail.
    pub skipped: &'a [String],
    /// Returns true for names of modules of the repository.
    pub is_internal: &'a (dyn Fn(&str) -> bool + Sync),
    /// Its run with the original test; nothing where it could not be run.
    pub found: Option<&'a Observation>,
    /// Lines of [`outline`](Self::outline) that its traced run executed, by index; nothing where it was not traced.
    pub hits: Option<&'a [bool]>,
    /// Its runs with mutants; `None` if none were requested, or if it is not faithful.
    pub sensitivity: Option<&'a SensitivityRuns>,
    /// Its lines looked up, and the original tests run on it.
    pub verification: Option<&'a Verification>,
    /// Its behaviour away from the repository, if that was tried.
    pub alone: Option<&'a Alone>,
}

impl JsonSchema for Scores {
    fn schema_name() -> Cow<'static, str> {
        "Scores".into()
    }

    fn json_schema(schemas: &mut SchemaGenerator) -> Schema {
        let measures = MEASURES.iter().map(|measure| {
            let evidence = (measure.evidence)(schemas);
            let score = json_schema!({
                "description": measure.doc,
                "type": "object",
                "properties": { "value": { "type": ["number", "null"] }, "evidence": evidence },
                "required": ["value", "evidence"],
            });
            (measure.name.to_owned(), score.to_value())
        });
        let measures: serde_json::Map<String, Value> = measures.collect();
        json_schema!({ "type": "object", "properties": measures })
    }
}

impl Measure {
    /// The entry of a scorer.
    pub const fn of<S: Scorer>() -> Self {
        Self {
            name: S::NAME,
            label: S::LABEL,
            doc: S::DOC,
            source: S::SOURCE,
            unit: S::UNIT,
            shown: S::SHOWN,
            score: score::<S>,
            remark: remark::<S>,
            evidence: |schemas| schemas.subschema_for::<S::Evidence>(),
        }
    }

    /// The measure of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        MEASURES.iter().find(|measure| measure.name == name)
    }

    /// A value as people read it: `97.3%`, `1`, `36`.
    pub fn shown(&self, value: f64) -> String {
        match self.unit {
            MeasureUnit::Share | MeasureUnit::Ratio => format!("{:.1}%", value * 100.0),
            MeasureUnit::Success | MeasureUnit::Fault | MeasureUnit::Count => format!("{value:.0}"),
        }
    }

    /// A few words on a score of this measure, for the terminal.
    pub fn remark(&self, score: &Score) -> String {
        (self.remark)(&score.evidence)
    }
}

impl MeasureUnit {
    /// Returns true for values between 0 and 1 that are shown in percent and averaged.
    pub fn is_rate(self) -> bool {
        match self {
            MeasureUnit::Share | MeasureUnit::Success | MeasureUnit::Fault => true,
            MeasureUnit::Count | MeasureUnit::Ratio => false,
        }
    }

    /// Returns true where a larger value is the better one.
    pub fn is_gain(self) -> bool {
        match self {
            MeasureUnit::Share | MeasureUnit::Success => true,
            MeasureUnit::Fault | MeasureUnit::Count | MeasureUnit::Ratio => false,
        }
    }
}

impl Scores {
    /// Applies every measure.
    pub fn of(facts: &Facts<'_>) -> Self {
        let scores = MEASURES.iter().filter_map(|measure| {
            let score = (measure.score)(facts)?;
            Some((measure.name.to_owned(), score))
        });
        Self(scores.collect())
    }

    /// The score of this name.
    pub fn get(&self, name: &str) -> Option<&Score> {
        self.0.get(name)
    }

    /// The scores in the order of [`MEASURES`].
    pub fn iter(&self) -> impl Iterator<Item = (&'static Measure, &Score)> {
        MEASURES.iter().filter_map(|measure| Some((measure, self.0.get(measure.name)?)))
    }

    /// The value of a scorer.
    pub fn value<S: Scorer>(&self) -> Option<f64> {
        self.0.get(S::NAME)?.value
    }

    /// The evidence of a scorer.
    pub fn evidence<S: Scorer>(&self) -> Option<S::Evidence> {
        serde_json::from_value(self.0.get(S::NAME)?.evidence.clone()).ok()
    }

    /// All values by name.
    pub fn values(&self) -> BTreeMap<String, f64> {
        let values = self.0.iter();
        values.filter_map(|(name, score)| Some((name.clone(), score.value?))).collect()
    }
}

/// The table of measures, as the help has it.
pub fn measures_table() -> String {
    let mut text =
        "| measure | in `scores.json` | source | in short |\n|---|---|---|---|\n".to_owned();
    for Measure { label, name, source, doc, .. } in MEASURES {
        let source = match source {
            FormulaSource::Paper(part) => part,
            FormulaSource::Ours => "ours",
        };
        text.push_str(&format!("| {label} | `{name}` | {source} | {doc} |\n"));
    }
    text
}

fn score<S: Scorer>(facts: &Facts<'_>) -> Option<Score> {
    let evidence = S::evidence(facts)?;
    let value = S::value(&evidence);
    let evidence = serde_json::to_value(&evidence).expect("evidence is plain data");
    Some(Score { value, evidence })
}

fn remark<S: Scorer>(evidence: &Value) -> String {
    serde_json::from_value(evidence.clone()).map_or_else(|_| String::new(), |it| S::remark(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_has_the_table_of_measures() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../agent/help/measures.md");
        let table = measures_table();
        let readme = std::fs::read_to_string(path).unwrap();
        assert!(
            readme.contains(&table),
            "agent/help/measures.md has to have this table:\n\n{table}"
        );
    }

    #[test]
    fn names_and_labels_of_measures_are_unique() {
        for part in [|measure: &Measure| measure.name, |measure: &Measure| measure.label] {
            let all: std::collections::BTreeSet<&str> = MEASURES.iter().map(part).collect();
            assert_eq!(all.len(), MEASURES.len());
        }
    }
}
