//! Checks that a task can tell a good gist from a bad one: it has to accept the original and to
//! reject an empty gist.
//!
//! Both are executed like gists, after the reference and before any candidate; the results are
//! stored beside the reference. A task that fails here is unfit and is scored for no solver.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tools::{Candidate, CandidateSpec, Execution, GistPlace, Normalizer, RunSpec, Status};

use crate::{
    error::EvalError,
    observation::Observation,
    reference::{Reference, ReferenceSpec, key},
    scorers::{Fidelity, fidelity},
    store::Record,
};

/// The verdicts on both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The verdict on another run of the original.
    pub original: Fidelity,
    /// The verdict on an empty gist.
    pub empty: Fidelity,
}

impl Record for Baseline {
    const VERSION: u32 = 1;
}

impl Baseline {
    /// Measures both, or reads what was measured.
    ///
    /// # Errors
    /// Something besides the task fails.
    pub fn measure(
        spec: &ReferenceSpec<'_>,
        reference: &Reference,
        place: GistPlace,
    ) -> Result<Self, EvalError> {
        let name = format!("{}-baseline-{place:?}.json", key(spec));
        let measure = || {
            Ok(Self { original: original(spec, reference)?, empty: empty(spec, reference, place)? })
        };
        Ok(spec.stored(&name, measure)?.0)
    }

    /// Why the task is unfit; nothing where it is fit.
    pub fn unfit(&self) -> Option<String> {
        if self.empty.score == 1 {
            return Some("an empty gist is accepted".to_owned());
        }
        if self.original.score == 1 {
            return None;
        }
        let told = self.original.differences.first().map(|first| {
            format!(
                ": {} {} {}, expected {}, found {}",
                first.case, first.phase, first.what, first.expected, first.found
            )
        });
        Some(format!("the original is rejected{}", told.unwrap_or_default()))
    }
}

fn original(spec: &ReferenceSpec<'_>, reference: &Reference) -> Result<Fidelity, EvalError> {
    let mut verdict = Fidelity::default();
    // What differs once may have differed by chance.
    for _ in 0..2 {
        let directory = spec.workspace.copy(spec.repository)?;
        let scratch = spec.workspace.directory("scratch")?;
        let internal = reference.internal(&directory, spec.command)?;
        let run = run(spec, spec.command, &directory, &scratch, &[])?;
        let normalizer = Normalizer::of_run(&directory, &scratch, &internal, None);
        let explained = |file: &str| {
            let file = Path::new(file);
            let file = file.strip_prefix(&directory).unwrap_or(file);
            internal.support.contains(file.to_string_lossy().as_ref())
        };
        let found = Observation::of(&run, &normalizer, explained, spec.command.is_pytest());
        verdict = fidelity(&reference.expected, &found);
        spec.workspace.discard(&directory);
        spec.workspace.discard(&scratch);
        if verdict.score == 1 {
            break;
        }
    }
    Ok(verdict)
}

fn empty(
    spec: &ReferenceSpec<'_>,
    reference: &Reference,
    place: GistPlace,
) -> Result<Fidelity, EvalError> {
    let pristine = spec.workspace.copy(spec.repository)?;
    let scratch = spec.workspace.directory("scratch")?;
    let internal = reference.internal(&pristine, spec.command)?;
    let candidate = tools::lay_out_in(
        spec.workspace,
        &CandidateSpec {
            original: &pristine,
            internal: &internal,
            gist: "",
            place,
            command: spec.command,
        },
    )?;
    let Candidate { command, directory, absent, .. } = &candidate;
    let run = run(spec, command, directory, &scratch, absent)?;
    let gist = Some(candidate.gist.as_str());
    let normalizer = Normalizer::of_run(&candidate.directory, &scratch, &internal, gist);
    let found = Observation::of(&run, &normalizer, |_| true, spec.command.is_pytest());
    for path in [&pristine, &candidate.directory, &scratch] {
        spec.workspace.discard(path);
    }
    Ok(fidelity(&reference.expected, &found))
}

fn run(
    spec: &ReferenceSpec<'_>,
    command: &tools::Command,
    directory: &Path,
    scratch: &Path,
    absent: &[String],
) -> Result<Execution, EvalError> {
    let run = tools::execute(&RunSpec {
        sandbox: spec.sandbox,
        environment: spec.environment,
        command,
        directory,
        scratch,
        limits: spec.limits,
        hash_seed: 0,
        variables: spec.variables,
        absent,
        max_failures: None,
        link: None,
        around: tools::Around::default(),
    })
    .or_else(|error| Execution::spoiled(&error).ok_or(error))?;
    match run.status {
        Status::Interrupted => Err(EvalError::Interrupted),
        _ => Ok(run),
    }
}
