//! Files of verdicts: one line of JSON for each answer.

use std::path::Path;

use ::eval::{QueryVerdict, read_query_verdicts};

use super::super::{Failure, input_file::InputFile};

/// The name of the verdicts of a run.
pub const VERDICTS: &str = "verdicts.jsonl";

/// Reads a file of verdicts.
///
/// # Errors
/// It cannot be read, or a line is no verdict of this version: a run that went on from the others would lose that one.
pub fn read_verdict_file(path: &Path) -> Result<Vec<QueryVerdict>, Failure> {
    let hint = "a file of `gistify queries solve` or `eval`";
    InputFile { what: "verdicts", path, hint }.all_rows(read_query_verdicts)
}
