//! Files of verdicts: one line of JSON for each answer.

use std::{fs, path::Path};

use ::eval::{QueryVerdict, read_query_verdicts};

use super::super::{Exit, Failure};

/// The name of the verdicts of a run.
pub const VERDICTS: &str = "verdicts.jsonl";

/// Reads a file of verdicts; a missing one has none.
///
/// # Errors
/// It cannot be read.
pub fn read_verdict_file(path: &Path) -> Result<Vec<QueryVerdict>, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(Failure::new(Exit::Input, format!("read {}: {error}", path.display())));
        }
    };
    // A torn last line is of a run that was killed.
    Ok(read_query_verdicts(&text).0)
}
