//! Issues and their repairs: rows in SWE-bench's form, correct location, results and tables.
//!
//! No test is run here, so a located patch may still not resolve its issue.

mod issue_row;
mod location;
mod repair_result;

pub use issue_row::{IssueRow, read_issue_rows};
pub use location::{CorrectLocation, correct_location};
pub use repair_result::{IssueResult, REPAIR_VERSION, RepairResult, issue_tables};
