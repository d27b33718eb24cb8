//! Verdicts on patches for issues, by the tests that must change and those that must stay, and the table over them.
//!
//! A patch that is of no use is a class of its own, never an error; a failure of the machine is not the patch's and does
//! not count.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{PatchCheck, Status, UnifiedDiff, normal_patch};

use super::{
    CorrectLocation, IssueRow, correct_location,
    fix_row::end_of,
    solver_table::{SolvedRow, SolverTableHead, solver_tables},
    test_run::{IssueBed, IssueTests, TestRun, file_of, of_git},
};
use crate::{error::EvalError, json_lines::MalformedRow, report::Table, scorers::Effort};

/// The version of verdicts.
pub const ISSUE_VERDICT_VERSION: u32 = 2;

/// Tests of a verdict that are named.
const NAMED: usize = 10;

/// The class of a patch for an issue.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedClass {
    /// All tests that must change pass, and so do those that must stay.
    Resolved,
    /// A test that must change does not pass.
    NotResolved,
    /// The tests that must change pass, and one that must stay does not.
    BreaksTests,
    /// The tests do not end in time.
    TimedOut,
    /// The tests need too much memory.
    OutOfMemory,
    /// It removes a test that must stay.
    RemovesTests,
    /// It has no change.
    Empty,
    /// It is no patch.
    Malformed,
    /// It touches a file outside of the repository.
    Outside,
    /// The files are not those that it expects.
    DoesNotApply,
    /// There is no patch for the issue.
    NoPrediction,
    /// The row has no tests that must change, or none of pytest's; it does not count.
    NoTests,
    /// The machine failed; it does not count.
    Failed,
}

impl ResolvedClass {
    /// Its name in tables.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Resolved => "resolved",
            Self::NotResolved => "not resolved",
            Self::BreaksTests => "breaks tests",
            Self::TimedOut => "timed out",
            Self::OutOfMemory => "out of memory",
            Self::RemovesTests => "removes tests",
            Self::Empty => "empty",
            Self::Malformed => "malformed",
            Self::Outside => "outside",
            Self::DoesNotApply => "does not apply",
            Self::NoPrediction => "no prediction",
            Self::NoTests => "no tests",
            Self::Failed => "failed",
        }
    }

    /// Returns true if it is a verdict on a patch.
    pub fn is_scored(self) -> bool {
        !matches!(self, Self::NoTests | Self::Failed)
    }

    fn of_patch(class: &PatchCheck) -> Self {
        match class {
            PatchCheck::Applies => Self::NotResolved,
            PatchCheck::Empty => Self::Empty,
            PatchCheck::Malformed { .. } => Self::Malformed,
            PatchCheck::Outside { .. } => Self::Outside,
            PatchCheck::DoesNotApply { .. } => Self::DoesNotApply,
        }
    }
}

/// The number of tests that pass, and of all. Tests that were not run have neither passed nor failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestShare {
    /// Tests that pass; `None` if they were not run.
    pub passed: Option<usize>,
    /// All of them.
    pub all: usize,
}

impl TestShare {
    /// Returns true if the tests were run and some of them do not pass.
    fn is_missed(self) -> bool {
        self.passed.is_some_and(|passed| passed < self.all)
    }
}

/// The verdict on one patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IssueVerdict {
    /// [`ISSUE_VERDICT_VERSION`].
    pub version: u32,
    /// The id of the row.
    pub instance_id: String,
    /// The maker of the patch.
    pub solver: String,
    /// The class.
    pub class: ResolvedClass,
    /// The reason, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Tests that must change.
    pub fail_to_pass: TestShare,
    /// Tests that must stay.
    pub pass_to_pass: TestShare,
    /// The first tests that should pass and do not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// The covered places of the true patch, where it is known.
    pub location: Option<CorrectLocation>,
    /// The cost of the patch, where it is known.
    pub effort: Option<Effort>,
    /// Wall-clock seconds of the tests.
    pub seconds: f64,
}

impl IssueVerdict {
    /// A verdict that needs no run.
    pub fn unmeasured(row: &IssueRow, class: ResolvedClass, reason: Option<String>) -> Self {
        let not_run = |tests: &[String]| TestShare { passed: None, all: tests.len() };
        Self {
            version: ISSUE_VERDICT_VERSION,
            instance_id: row.instance_id.clone(),
            solver: String::new(),
            class,
            reason,
            fail_to_pass: not_run(&row.fail_to_pass),
            pass_to_pass: not_run(&row.pass_to_pass),
            failing: Vec::new(),
            location: None,
            effort: None,
            seconds: 0.0,
        }
    }
}

/// The verdict on a row for which a solver has no patch: of a true patch that is known it covers no place.
///
/// # Errors
/// The machine fails, or the row's own patch does not fit its repository.
pub fn judge_absent(bed: &IssueBed<'_>, row: &IssueRow) -> Result<IssueVerdict, EvalError> {
    let location = location_of(bed, row, "")?;
    let class = ResolvedClass::NoPrediction;
    Ok(IssueVerdict { location, ..IssueVerdict::unmeasured(row, class, None) })
}

/// Judges a patch by the tests of its row, in the environment of `bed`.
///
/// # Errors
/// The machine fails or the user interrupts, or the row's own patches do not fit its repository.
pub fn judge_patch(
    bed: &IssueBed<'_>,
    row: &IssueRow,
    patch: &str,
) -> Result<IssueVerdict, EvalError> {
    if let Some(reason) = row.without_tests() {
        return Ok(IssueVerdict::unmeasured(row, ResolvedClass::NoTests, Some(reason)));
    }
    let tests = row.fail_to_pass.iter().chain(&row.pass_to_pass);
    let paths: BTreeSet<&str> = tests.clone().map(|test| file_of(test)).collect();
    let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
    let given =
        IssueTests { patch: &row.test_patch, paths: &paths, kept: row.pass_to_pass.as_slice() };
    let location = location_of(bed, row, patch)?;
    let ran = match bed.run(&given, Some(patch), 0)? {
        TestRun::Ran(ran) => ran,
        TestRun::NotApplied(class) => {
            let reason = class.reason().map(str::to_owned);
            let class = ResolvedClass::of_patch(&class);
            return Ok(IssueVerdict { location, ..IssueVerdict::unmeasured(row, class, reason) });
        }
        TestRun::Removed { test } => {
            let class = ResolvedClass::RemovesTests;
            let verdict = IssueVerdict::unmeasured(row, class, Some(test));
            return Ok(IssueVerdict { location, ..verdict });
        }
    };
    let share = |tests: &[String]| TestShare {
        passed: Some(tests.iter().filter(|test| ran.passing.contains(*test)).count()),
        all: tests.len(),
    };
    let (fail_to_pass, pass_to_pass) = (share(&row.fail_to_pass), share(&row.pass_to_pass));
    let class = match ran.status {
        Status::TimedOut => ResolvedClass::TimedOut,
        Status::OutOfMemory => ResolvedClass::OutOfMemory,
        _ if fail_to_pass.is_missed() || !ran.complete => ResolvedClass::NotResolved,
        _ if pass_to_pass.is_missed() => ResolvedClass::BreaksTests,
        _ => ResolvedClass::Resolved,
    };
    let failing = tests.filter(|test| !ran.passing.contains(*test)).take(NAMED).cloned().collect();
    let ended = || ran.failure.clone().unwrap_or_else(|| end_of(ran.status).to_owned());
    Ok(IssueVerdict {
        fail_to_pass,
        pass_to_pass,
        failing,
        location,
        seconds: (ran.seconds * 1000.0).round() / 1000.0,
        ..IssueVerdict::unmeasured(row, class, (class != ResolvedClass::Resolved).then(ended))
    })
}

/// The places of the true patch that a patch covers; one that does not apply covers none.
fn location_of(
    bed: &IssueBed<'_>,
    row: &IssueRow,
    patch: &str,
) -> Result<Option<CorrectLocation>, EvalError> {
    if row.patch.trim().is_empty() {
        return Ok(None);
    }
    let request = bed.request();
    let gold = normal_patch(&request, &row.patch).map_err(of_git)?.map_err(|class| {
        let reason = format!("its true patch: {}", class.name().replace('_', " "));
        EvalError::Problem { problem: row.instance_id.clone(), reason }
    })?;
    let given = normal_patch(&request, patch).map_err(of_git)?.unwrap_or_default();
    let diff = |text: &str| UnifiedDiff::parse(text).unwrap_or_default();
    Ok(Some(correct_location(&diff(&gold), &diff(&given))))
}

/// The tables of verdicts, by solver: Chain-of-Context's table 1, and the classes of patches.
pub fn verdict_tables(
    verdicts: &[IssueVerdict],
    malformed: &[(String, Vec<MalformedRow>)],
) -> Vec<Table> {
    let rows = verdicts.iter().map(|verdict| SolvedRow {
        solver: &verdict.solver,
        class: (verdict.class as usize, verdict.class.phrase().to_owned()),
        is_scored: verdict.class.is_scored(),
        is_good: verdict.class == ResolvedClass::Resolved,
        location: verdict.location.as_ref(),
        effort: verdict.effort.as_ref(),
    });
    let head = SolverTableHead {
        name: "resolved",
        title: "Issues that patches resolve, and patches whose places cover all of the true patch",
        good: "resolved",
    };
    solver_tables(&rows.collect::<Vec<_>>(), &head, malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_were_not_run_have_no_count_of_passes() {
        let tests: Vec<String> = (0..101).map(|at| format!("t.py::test_{at}")).collect();
        let row = IssueRow { pass_to_pass: tests, ..IssueRow::default() };
        let verdict = IssueVerdict::unmeasured(&row, ResolvedClass::DoesNotApply, None);
        let written = serde_json::to_value(&verdict).unwrap();
        assert_eq!(written["pass_to_pass"], serde_json::json!({ "passed": null, "all": 101 }));
    }

    /// Chain-of-Context, table 1, its own rows: resolved, correct files and correct lines are counts of 500 issues of
    /// SWE-bench Verified, or of 300 of Lite; then the mean price of an issue, and of its embeddings.
    const PUBLISHED: [(&str, usize, [usize; 3], [&str; 5]); 12] = [
        ("RAG GPT-4o", 500, [17, 263, 60], ["3.40", "52.60", "12.00", "0.0700", "0.0500"]),
        ("RAG O3-mini", 500, [6, 277, 60], ["1.20", "55.40", "12.00", "0.0600", "0.0500"]),
        ("ICR GPT-4o", 500, [57, 304, 129], ["11.40", "60.80", "25.80", "0.1600", "-"]),
        ("ICR O3-mini", 500, [63, 319, 169], ["12.60", "63.80", "33.80", "0.1000", "-"]),
        ("CoC GPT-4o", 500, [70, 320, 135], ["14.00", "64.00", "27.00", "0.2800", "-"]),
        ("CoC O3-mini", 500, [72, 342, 184], ["14.40", "68.40", "36.80", "0.1600", "-"]),
        ("RAG GPT-4o", 300, [11, 206, 55], ["3.67", "68.67", "18.33", "0.0700", "0.0500"]),
        ("RAG O3-mini", 300, [4, 208, 56], ["1.33", "69.33", "18.67", "0.0600", "0.0500"]),
        ("ICR GPT-4o", 300, [27, 191, 84], ["9.00", "63.67", "28.00", "0.1600", "-"]),
        ("ICR O3-mini", 300, [32, 202, 97], ["10.67", "67.33", "32.33", "0.0900", "-"]),
        ("CoC GPT-4o", 300, [28, 196, 74], ["9.33", "65.33", "24.67", "0.2600", "-"]),
        ("CoC O3-mini", 300, [32, 211, 107], ["10.67", "70.33", "35.67", "0.1500", "-"]),
    ];

    #[test]
    fn published_shares_follow_from_counts_of_issues() {
        let row = IssueRow { fail_to_pass: vec!["t.py::a".to_owned()], ..IssueRow::default() };
        for (solver, issues, [resolved, files, lines], printed) in PUBLISHED {
            let verdict = |at: usize| {
                let class = match at {
                    at if at < resolved => ResolvedClass::Resolved,
                    // An issue without a patch is one that is neither resolved nor located.
                    at if at + 1 == issues => ResolvedClass::NoPrediction,
                    _ => ResolvedClass::NotResolved,
                };
                let (file, line) = (at < files, at < lines);
                IssueVerdict {
                    solver: solver.to_owned(),
                    location: Some(CorrectLocation { file, line, ..CorrectLocation::default() }),
                    effort: Some(Effort {
                        price: printed[3].parse().ok(),
                        embedding_price: printed[4].parse().ok(),
                        ..Effort::default()
                    }),
                    ..IssueVerdict::unmeasured(&row, class, None)
                }
            };
            let verdicts: Vec<IssueVerdict> = (0..issues).map(verdict).collect();
            let cells = &verdict_tables(&verdicts, &[])[0].rows[0];
            assert_eq!(cells[1..3], [issues.to_string(), resolved.to_string()], "{solver}");
            assert_eq!(cells[3..8], printed, "{solver}");
        }
    }

    #[test]
    fn verdicts_that_do_not_count_are_in_no_share() {
        let row = IssueRow { fail_to_pass: vec!["t.py::a".to_owned()], ..IssueRow::default() };
        let verdict = |class, places: Option<(bool, bool)>, price: Option<f64>| IssueVerdict {
            solver: "s".to_owned(),
            location: places.map(|(file, line)| CorrectLocation {
                file,
                line,
                ..CorrectLocation::default()
            }),
            effort: price.map(|price| Effort {
                price: Some(price),
                tokens_in: 100,
                ..Effort::default()
            }),
            ..IssueVerdict::unmeasured(&row, class, None)
        };
        let verdicts = [
            verdict(ResolvedClass::Resolved, Some((true, true)), Some(0.25)),
            verdict(ResolvedClass::BreaksTests, Some((true, false)), Some(0.75)),
            verdict(ResolvedClass::Empty, Some((false, false)), None),
            verdict(ResolvedClass::NoPrediction, Some((false, false)), None),
            verdict(ResolvedClass::Failed, None, None),
            verdict(ResolvedClass::NoTests, None, None),
        ];
        let tables = verdict_tables(&verdicts, &[]);
        let expected = ["s", "4", "1", "25.00", "50.00", "25.00", "0.5000", "-", "100", "0", "0.0"];
        assert_eq!(tables[0].rows, [expected]);
        assert_eq!(tables[1].rows.len(), 6);
        let written = serde_json::to_string(&verdicts[0]).unwrap();
        assert_eq!(serde_json::from_str::<IssueVerdict>(&written).unwrap(), verdicts[0]);
    }
}
