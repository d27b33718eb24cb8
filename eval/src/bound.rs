//! Tests if a test depends on its file: it executes the original's own test module under the gist's
//! name.
//!
//! Everything else of the original stays in place, so a difference comes from the module's name or
//! path and not from a gist. The module can still be imported by its old name, as a gist is, but no
//! source file has that name.

use std::fs;

use tools::{Command, Normalizer};

use crate::{
    error::EvalError,
    observation::Observation,
    reference::{Reference, ReferenceSpec},
    scorers::{OutcomeDifference, fidelity},
};

/// Runs the command on its own test module as `concise.py` beside it; returns the first difference,
/// or `None`. Also returns `None` for a command that does not name exactly one existing file.
///
/// # Errors
/// The run cannot be made, or is interrupted.
pub fn bound(
    spec: &ReferenceSpec<'_>,
    reference: &Reference,
) -> Result<Option<OutcomeDifference>, EvalError> {
    let directory = spec.workspace.copy(spec.repository)?;
    let scratch = spec.workspace.directory("scratch")?;
    let found = differs(spec, reference, &directory, &scratch);
    spec.workspace.discard(&directory);
    spec.workspace.discard(&scratch);
    found
}

fn differs(
    spec: &ReferenceSpec<'_>,
    reference: &Reference,
    directory: &std::path::Path,
    scratch: &std::path::Path,
) -> Result<Option<OutcomeDifference>, EvalError> {
    let internal = reference.internal(directory, spec.command)?;
    let named = spec.command.tests();
    let Some(first) = named.first().filter(|_| spec.command.is_pytest()) else { return Ok(None) };
    let original = directory.join(&first.path);
    if named.iter().any(|test| test.path != first.path) || !original.is_file() {
        return Ok(None);
    }
    let moved = match first.path.rsplit_once('/') {
        Some((parent, _)) => format!("{parent}/{}", tools::GIST_NAME),
        None => tools::GIST_NAME.to_owned(),
    };
    let execute = |command: &Command| {
        tools::execute(&tools::RunSpec {
            sandbox: spec.sandbox,
            environment: spec.environment,
            command,
            directory,
            scratch,
            limits: spec.limits,
            hash_seed: 0,
            variables: spec.variables,
            absent: &[],
            max_failures: None,
            link: None,
            around: tools::Around::default(),
        })
    };
    // Compiled code without its text beside it: what is no Python has none and is not imported.
    let words = ["python", "-m", "compileall", "-q", "-b", &first.path];
    if let Ok(compile) = Command::from_words(words.map(str::to_owned).to_vec()) {
        execute(&compile)?;
    }
    let failed = |source| crate::store::StoreError::Write { path: directory.join(&moved), source };
    fs::rename(&original, directory.join(&moved)).map_err(failed)?;
    let run = execute(&spec.command.for_gist(&moved))?;
    if run.status == tools::Status::Interrupted {
        return Err(EvalError::Interrupted);
    }
    let normalizer = Normalizer::of_run(directory, scratch, &internal, Some(&moved));
    let explained = |file: &str| {
        let file = std::path::Path::new(file);
        let file = file.strip_prefix(directory).unwrap_or(file).to_string_lossy();
        file == moved.as_str() || internal.support.contains(file.as_ref())
    };
    let found = Observation::of(&run, &normalizer, explained, true);
    Ok(fidelity(&reference.expected, &found).differences.into_iter().next())
}
