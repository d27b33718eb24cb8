//! Issues and their repairs: rows in SWE-bench's form and suites of them, correct location, the tests that a patch has to
//! pass, results, verdicts and tables.
//!
//! No model is asked here, and no solver sees a row's patches or tests from here.

mod fix_row;
mod fix_suite;
mod issue_row;
mod location;
mod repair_result;
mod solver_table;
mod test_run;
mod verdict;

pub use fix_row::{BuiltRow, build_issue_row};
pub use fix_suite::{FixSuite, PinnedFix, PinnedRelease};
pub use issue_row::{IssueRow, RowRelease, read_issue_rows};
pub use location::{CorrectLocation, correct_location};
pub use repair_result::{IssueResult, REPAIR_VERSION, RepairResult, issue_tables};
pub use test_run::IssueBed;
pub use verdict::{
    ISSUE_VERDICT_VERSION, IssueVerdict, ResolvedClass, TestShare, judge_absent, judge_patch,
    verdict_tables,
};
