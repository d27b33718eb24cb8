//! Files of problems, generations and verdicts; lines that are none are named on standard error.

use std::path::Path;

use ::eval::{
    CompletionProblem, Generation, MalformedRow, SampleVerdict, read_generations, read_problems,
    read_verdicts,
};

use super::super::{Failure, input_file::InputFile, progress::ProgressLine};

/// The rows of a problem file, and the lines that are none.
pub fn problems(
    path: &Path,
    progress: &ProgressLine,
) -> Result<(Vec<CompletionProblem>, Vec<MalformedRow>), Failure> {
    let hint = "one JSON object a line, as `gistify repoexec build` writes them";
    InputFile { what: "problems", path, hint }.rows(read_problems, progress)
}

/// The rows of a file of generations, and the lines that are none.
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
