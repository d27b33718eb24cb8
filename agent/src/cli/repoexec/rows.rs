//! Files of rows: problems, generations and verdicts, read with what cannot be read told apart, and written whole.

use std::path::Path;

use ::eval::{
    CompletionProblem, Generation, MalformedRow, SampleVerdict, read_generations, read_problems,
    read_verdicts,
};
use serde::Serialize;

use super::super::{Exit, Failure, OrExit, input_file::InputFile, progress::ProgressLine};
use crate::record::replace;

/// A problem file; rows that are no problems are said.
pub fn problems(
    path: &Path,
    progress: &ProgressLine,
) -> Result<(Vec<CompletionProblem>, Vec<MalformedRow>), Failure> {
    let hint = "one JSON object a line, as `gistify repoexec build` writes them";
    InputFile { what: "problems", path, hint }.rows(read_problems, progress)
}

/// A file of generations; rows that are none are said.
pub fn generations(
    path: &Path,
    progress: &ProgressLine,
) -> Result<(Vec<Generation>, Vec<MalformedRow>), Failure> {
    let hint = "one JSON object a line, as `gistify repoexec generate` writes them";
    InputFile { what: "generations", path, hint }.rows(read_generations, progress)
}

/// The rows of a file of verdicts.
pub fn verdicts(path: &Path, progress: &ProgressLine) -> Result<Vec<SampleVerdict>, Failure> {
    let hint = "one JSON object a line, as `gistify repoexec eval` writes them";
    Ok(InputFile { what: "verdicts", path, hint }.rows(read_verdicts, progress)?.0)
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
