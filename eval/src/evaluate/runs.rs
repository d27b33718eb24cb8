//! Executes the runs of one evaluation: writes each candidate, and reads its record.

use std::path::{Path, PathBuf};

use tools::{Candidate, CandidateSpec, ExecuteError, Execution, Internal, RunSpec, Status};

use super::{EvaluateSpec, observe};
use crate::{
    blocks::Outline,
    error::EvalError,
    observation::Observation,
    reference::Reference,
    scorers::{Executed, Fidelity, fidelity},
    unpacked::unpacked,
};

/// Runs of a candidate.
pub(super) struct Runs<'a> {
    pub(super) spec: &'a EvaluateSpec<'a>,
    pub(super) pristine: &'a Path,
    pub(super) internal: &'a Internal,
}

impl Runs<'_> {
    pub(super) fn lay_out(&self, text: &str) -> Result<(Candidate, PathBuf), EvalError> {
        let original = &self.spec.original;
        let scratch = original.workspace.directory("scratch")?;
        let candidate = tools::lay_out_in(
            original.workspace,
            &CandidateSpec {
                original: self.pristine,
                internal: self.internal,
                gist: text,
                place: self.spec.place,
                command: original.command,
            },
        )?;
        Ok((candidate, scratch))
    }

    pub(super) fn run_spec<'a>(
        &'a self,
        candidate: &'a Candidate,
        scratch: &'a Path,
    ) -> RunSpec<'a> {
        let original = &self.spec.original;
        RunSpec {
            sandbox: original.sandbox,
            environment: original.environment,
            command: &candidate.command,
            directory: &candidate.directory,
            scratch,
            limits: original.limits,
            hash_seed: 0,
            variables: original.variables,
            absent: &candidate.absent,
            max_failures: None,
            link: None,
            around: tools::Around::default(),
        }
    }

    /// Returns the observation of an untraced run.
    pub(super) fn observed(&self, text: &str) -> Result<Observation, EvalError> {
        let (candidate, scratch) = self.lay_out(text)?;
        // The reference ran with the same interpreter.
        let run = tools::execute(&self.run_spec(&candidate, &scratch))
            .or_else(|error| Execution::spoiled(&error).ok_or(error))?;
        if run.status == Status::Interrupted {
            return Err(EvalError::Interrupted);
        }
        let original = &self.spec.original;
        let found = observe(&candidate, &scratch, &run, self.internal, original.command);
        original.workspace.discard(&candidate.directory);
        Ok(found)
    }

    /// The verdict of a run, or of the last of several where nothing but captured text differs.
    pub(super) fn judged(
        &self,
        reference: &Reference,
        text: &str,
    ) -> Result<(Observation, Fidelity), EvalError> {
        let mut found = self.observed(text)?;
        let mut verdict = fidelity(&reference.expected, &found);
        for _ in 1..verdict.tries(&reference.expected) {
            found = self.observed(text)?;
            verdict = fidelity(&reference.expected, &found);
            if !verdict.is_of_text() {
                break;
            }
        }
        Ok((found, verdict))
    }

    /// The lines of a gist that its traced run executes.
    pub(super) fn hits(&self, outline: &Outline, text: &str) -> Result<Vec<bool>, EvalError> {
        // A trace names lines: what is packed on one cannot be told apart.
        let text = unpacked(text);
        let (candidate, scratch) = self.lay_out(&text)?;
        let (run, trace) = tools::trace(&self.run_spec(&candidate, &scratch)).or_else(|error| {
            let run = Execution::spoiled(&error).ok_or(error)?;
            Ok::<_, ExecuteError>((run, graph::Trace::default()))
        })?;
        if run.status == Status::Interrupted {
            return Err(EvalError::Interrupted);
        }
        self.spec.original.workspace.discard(&candidate.directory);
        Ok(Executed::of_trace(&trace).hits(outline, &text, &candidate.gist))
    }
}
