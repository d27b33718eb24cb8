//! Observes the errors that a file raises, whether or not its program catches them.

use std::path::Path;

use serde::Serialize;

use crate::execute::{self, ExecuteError, Raised, RunSpec};

const LISTENER: &str = include_str!("caught.py");

/// The settings of the listener.
#[derive(Serialize)]
struct Settings {
    /// The file whose errors are noted.
    file: String,
    /// The record of the run, to which they are added.
    results: String,
}

/// Runs a command and lists the errors that a file below its directory raised in the process that was
/// started, in order, each once a line: names, attributes, modules and keys that there are not, and wrong
/// types. Their module is `builtins`, their frames are those in the file.
///
/// # Errors
/// As for [`execute`](crate::execute).
pub fn caught(spec: &RunSpec<'_>, file: &Path) -> Result<Vec<Raised>, ExecuteError> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let settings = Settings {
        file: text(&spec.directory.join(file)),
        results: text(&spec.scratch.join(execute::RESULTS)),
    };
    std::fs::create_dir_all(spec.scratch).map_err(execute::scratch_error(spec.scratch))?;
    execute::write(&spec.scratch.join("tracer.py"), LISTENER)?;
    Ok(execute::run(spec, Some(&settings))?.caught)
}
