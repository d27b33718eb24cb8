//! Issues and their repairs: rows in SWE-bench's form, correct location, results and tables.
//!
//! Whether a patch resolves its issue is not judged here.

mod issue_row;
mod location;
mod repair_result;

pub use issue_row::{IssueRow, read_issue_rows};
pub use location::{CorrectLocation, correct_location};
pub use repair_result::{IssueResult, REPAIR_VERSION, RepairResult, issue_tables};
