//! Results of repairs, as they are kept, and the tables over them.
//!
//! A repair that a failure of the machine or the provider ended is counted apart: it is no patch that failed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::PatchCheck;

use super::{
    CorrectLocation,
    solver_table::{SolvedRow, SolverTableHead, solver_tables},
};
use crate::{json_lines::MalformedRow, report::Table, scorers::Effort};

/// The version of results.
pub const REPAIR_VERSION: u32 = 2;

/// The result of one repair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepairResult {
    /// [`REPAIR_VERSION`].
    pub version: u32,
    /// The end of the session.
    pub outcome: String,
    /// The class of the patch.
    #[serde(flatten)]
    pub patch: PatchCheck,
    /// The changed files.
    pub files: Vec<String>,
    /// The root cause that was given.
    pub root_cause: String,
    /// The class of the diff of SOLVE, which need not apply.
    pub solution: PatchCheck,
    /// The covered places of the true patch, where it is known.
    pub location: Option<CorrectLocation>,
    /// The cost.
    pub effort: Effort,
}

/// The result of one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IssueResult {
    /// The id of the row.
    pub instance_id: String,
    /// The scaffold and the model.
    pub solver: String,
    /// The repair; nothing where it failed for another reason than its patch.
    pub repair: Option<RepairResult>,
    /// That reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The tables of results, by solver: Chain-of-Context's table 1 without the resolved, which is for tests to say, and
/// the classes of patches.
pub fn issue_tables(
    results: &[IssueResult],
    malformed: &[(String, Vec<MalformedRow>)],
) -> Vec<Table> {
    let rows = results.iter().map(|result| {
        let repair = result.repair.as_ref();
        let class = repair.map_or("failed", |repair| repair.patch.name()).replace('_', " ");
        SolvedRow {
            solver: &result.solver,
            class: (0, class),
            is_scored: repair.is_some(),
            is_good: repair.is_some_and(|repair| repair.patch == PatchCheck::Applies),
            location: repair.and_then(|repair| repair.location.as_ref()),
            effort: repair.map(|repair| &repair.effort),
        }
    });
    let head = SolverTableHead {
        name: "location",
        title: "Patches, and those whose places cover all of the true patch",
        good: "patches",
    };
    solver_tables(&rows.collect::<Vec<_>>(), &head, malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_the_machine_are_counted_apart() {
        let result = |patch: PatchCheck, places: Option<(bool, bool)>| IssueResult {
            instance_id: "a".to_owned(),
            solver: "s".to_owned(),
            repair: Some(RepairResult {
                version: REPAIR_VERSION,
                outcome: "submitted".to_owned(),
                patch,
                files: Vec::new(),
                root_cause: String::new(),
                solution: PatchCheck::Empty,
                location: places.map(|(file, line)| CorrectLocation {
                    file,
                    line,
                    ..CorrectLocation::default()
                }),
                effort: Effort { steps: 4, tokens_in: 100, ..Effort::default() },
            }),
            failure: None,
        };
        let failed = IssueResult {
            repair: None,
            failure: Some("no network".to_owned()),
            ..result(PatchCheck::Empty, None)
        };
        let results = [
            result(PatchCheck::Applies, Some((true, true))),
            result(PatchCheck::Applies, Some((true, false))),
            result(PatchCheck::Empty, Some((false, false))),
            result(PatchCheck::Applies, None),
            failed,
        ];
        let tables = issue_tables(&results, &[]);
        assert_eq!(
            tables[0].rows,
            [["s", "4", "3", "75.00", "66.67", "33.33", "-", "-", "100", "0", "4.0"]]
        );
        let classes = [["s", "applies", "3"], ["s", "empty", "1"], ["s", "failed", "1"]];
        assert_eq!(tables[1].rows, classes);
        let written = serde_json::to_string(&results[0]).unwrap();
        assert_eq!(serde_json::from_str::<IssueResult>(&written).unwrap(), results[0]);
    }
}
