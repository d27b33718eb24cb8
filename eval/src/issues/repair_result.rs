//! Results of repairs, as they are kept, and the tables over them.
//!
//! A repair that a failure of the machine or the provider ended is counted apart: it is no patch that failed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tools::PatchCheck;

use super::CorrectLocation;
use crate::{json_lines::MalformedRow, report::Table, scorers::Effort, statistics::mean};

/// The version of results.
pub const REPAIR_VERSION: u32 = 2;

/// The result of one repair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
pub fn issue_tables(results: &[IssueResult], unread: &[MalformedRow]) -> Vec<Table> {
    let mut by_solver: BTreeMap<&str, Vec<&IssueResult>> = BTreeMap::new();
    for result in results {
        by_solver.entry(&result.solver).or_default().push(result);
    }
    let (mut locations, mut classes) = (Vec::new(), Vec::new());
    for (solver, results) in by_solver {
        let repairs: Vec<&RepairResult> =
            results.iter().filter_map(|result| result.repair.as_ref()).collect();
        let share = |of: usize, all: usize| match all {
            0 => "-".to_owned(),
            all => format!("{:.2}", 100.0 * of as f64 / all as f64),
        };
        let applies = repairs.iter().filter(|one| one.patch == PatchCheck::Applies).count();
        let found: Vec<_> = repairs.iter().filter_map(|one| one.location.as_ref()).collect();
        let files = found.iter().filter(|location| location.file).count();
        let lines = found.iter().filter(|location| location.line).count();
        let average = |of: &dyn Fn(&RepairResult) -> Option<f64>, digits: usize| {
            let values: Vec<f64> = repairs.iter().filter_map(|one| of(one)).collect();
            mean(&values).map_or_else(|| "-".to_owned(), |mean| format!("{mean:.digits$}"))
        };
        locations.push(vec![
            solver.to_owned(),
            repairs.len().to_string(),
            share(applies, repairs.len()),
            share(files, found.len()),
            share(lines, found.len()),
            average(&|one| one.effort.price, 4),
            average(&|one| one.effort.embedding_price, 4),
            average(&|one| Some(one.effort.tokens_in as f64), 0),
            average(&|one| Some(one.effort.tokens_out as f64), 0),
            average(&|one| Some(one.effort.steps as f64), 1),
        ]);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for result in results {
            let class = result.repair.as_ref().map_or("failed", |repair| repair.patch.name());
            *counts.entry(class).or_default() += 1;
        }
        let rows = counts.into_iter().map(|(class, count)| {
            vec![solver.to_owned(), class.replace('_', " "), count.to_string()]
        });
        classes.extend(rows);
    }
    let mut tables = vec![
        Table::named(
            "location",
            "Patches, and those whose places cover all of the true patch",
            &["solver"],
            &[
                "issues",
                "patch %",
                "correct file %",
                "correct line %",
                "mean $",
                "embedding $",
                "tokens in",
                "tokens out",
                "steps",
            ],
            locations,
        ),
        Table::named("classes", "Patches by class", &["solver", "class"], &["issues"], classes),
    ];
    if !unread.is_empty() {
        let rows = unread.iter().map(|row| vec![row.line.to_string(), row.reason.clone()]);
        let rows = rows.collect();
        tables.push(Table::named("unread", "Rows that are none", &["line", "reason"], &[], rows));
    }
    tables
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
            [["s", "4", "75.00", "66.67", "33.33", "-", "-", "100", "0", "4.0"]]
        );
        let classes = [["s", "applies", "3"], ["s", "empty", "1"], ["s", "failed", "1"]];
        assert_eq!(tables[1].rows, classes);
        let written = serde_json::to_string(&results[0]).unwrap();
        assert_eq!(serde_json::from_str::<IssueResult>(&written).unwrap(), results[0]);
    }
}
