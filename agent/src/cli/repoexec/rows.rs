//! Files of rows: problems, generations and verdicts, read with what cannot be read told apart, and written whole.

use std::{fs, path::Path};

use ::eval::{CompletionProblem, Generation, MalformedRow, read_generations, read_problems};
use serde::Serialize;

use super::super::{Exit, Failure, OrExit, progress::ProgressLine};
use crate::record::replace;

/// A problem file; rows that are no problems are said.
pub fn problems(
    path: &Path,
    progress: &ProgressLine,
) -> Result<(Vec<CompletionProblem>, Vec<MalformedRow>), Failure> {
    let (problems, malformed) = read_problems(&text(path)?);
    said(path, &malformed, progress);
    match problems.is_empty() {
        true => Err(Failure::new(Exit::Input, format!("{} has no problem", path.display()))),
        false => Ok((problems, malformed)),
    }
}

/// A file of generations; rows that are none are said.
pub fn generations(
    path: &Path,
    progress: &ProgressLine,
) -> Result<(Vec<Generation>, Vec<MalformedRow>), Failure> {
    let (generations, malformed) = read_generations(&text(path)?);
    said(path, &malformed, progress);
    Ok((generations, malformed))
}

/// Writes rows, one a line.
pub fn write<T: Serialize>(path: &Path, rows: &[T]) -> Result<(), Failure> {
    let mut text = String::new();
    for row in rows {
        text.push_str(&serde_json::to_string(row).or_exit(Exit::Infrastructure)?);
        text.push('\n');
    }
    replace(path, text.as_bytes()).or_exit(Exit::Input)
}

/// Refuses a file that exists, unless it may be replaced.
pub fn unused(path: &Path, force: bool) -> Result<(), Failure> {
    match path.symlink_metadata().is_ok() && !force {
        true => {
            let message = format!("output {} exists (replace it with --force)", path.display());
            Err(Failure::new(Exit::Input, message))
        }
        false => Ok(()),
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path)
        .map_err(|error| Failure::new(Exit::Input, format!("read {}: {error}", path.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn said(path: &Path, malformed: &[MalformedRow], progress: &ProgressLine) {
    for row in malformed {
        progress.line(&format!("{}:{}: {} (left out)", path.display(), row.line, row.reason));
    }
}
