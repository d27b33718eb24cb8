//! The runs of one evaluation: what is laid out for each, and what is read from it.

use super::*;

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

    /// What an untraced run shows.
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

    /// Whether one of so many further traced runs does what is expected.
    pub(super) fn agrees_traced(
        &self,
        reference: &Reference,
        text: &str,
        tries: usize,
    ) -> Result<bool, EvalError> {
        for _ in 0..tries {
            let (candidate, scratch, run, _) = self.traced(text)?;
            let command = self.spec.original.command;
            let found = observe(&candidate, &scratch, &run, self.internal, command);
            self.spec.original.workspace.discard(&candidate.directory);
            if fidelity(&reference.expected, &found).score == 1 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The functions of test support in a gist, whose path and lines are known.
    pub(super) fn helpers<'a>(
        &self,
        gist: (&'a str, &'a str, &'a Outline),
        support: &Supported<'a>,
    ) -> Helpers<'a> {
        let Supported { codebase, executed, tests, originals } = *support;
        Helpers::of(gist, &self.internal.support, originals, (codebase, executed), tests)
    }

    /// A gist whose helpers fail where they would do what the original never does.
    pub(super) fn guarded(&self, text: &str, support: &Supported<'_>) -> String {
        self.helpers(("", text, &Outline::of(text)), support).guarded()
    }

    /// What a second account of the gist says against it.
    pub(super) fn witnessed(
        &self,
        reference: &Reference,
        account: &Account,
        text: &str,
        support: &Supported<'_>,
    ) -> Result<Vec<Finding>, EvalError> {
        let outline = Outline::of(text);
        let mut violations = Vec::new();
        // What differs once may have differed by chance.
        for _ in 0..2 {
            let (candidate, scratch) = self.lay_out(text)?;
            let helpers = self.helpers((&candidate.gist, text, &outline), support);
            let stands: Vec<Stand> = support
                .tests
                .iter()
                .filter_map(|block| Stand::of(block, &candidate.gist, &outline))
                .collect();
            let run = self.run_spec(&candidate, &scratch);
            let watch = watch(&stands, helpers.spans(), account.shift, self.internal);
            let (run, told) = tools::witness(&run, &watch).or_else(|error| {
                let run = Execution::spoiled(&error).ok_or(error)?;
                Ok::<_, ExecuteError>((run, Testimony::default()))
            })?;
            if run.status == Status::Interrupted {
                return Err(EvalError::Interrupted);
            }
            let normalizer = Normalizer::of_run(
                &candidate.directory,
                &scratch,
                self.internal,
                Some(&candidate.gist),
            );
            self.spec.original.workspace.discard(&candidate.directory);
            let told = normalized(told, &normalizer);
            let Supported { codebase, executed, tests, .. } = *support;
            let is_internal = |name: &str| self.internal.is_internal(name);
            let gist =
                Gist::new(&candidate.gist, text, &outline, codebase, executed, tests, &is_internal);
            violations = account.findings(&told, &gist);
            let difference = account.difference(&told, &stands, &helpers, &reference.expected);
            let unheard = account.unheard(&told);
            let differs = difference.is_some() || !unheard.is_empty();
            violations.extend(unheard);
            violations.extend(difference.map(|evidence| Finding {
                rule: Rule::Disagreement,
                line: 0,
                evidence,
            }));
            if !differs {
                break;
            }
        }
        Ok(violations)
    }

    pub(super) fn traced(
        &self,
        text: &str,
    ) -> Result<(Candidate, PathBuf, Execution, graph::Trace), EvalError> {
        let (candidate, scratch) = self.lay_out(text)?;
        let (run, trace) = tools::trace(&self.run_spec(&candidate, &scratch)).or_else(|error| {
            let run = Execution::spoiled(&error).ok_or(error)?;
            Ok::<_, ExecuteError>((run, graph::Trace::default()))
        })?;
        if run.status == Status::Interrupted {
            return Err(EvalError::Interrupted);
        }
        Ok((candidate, scratch, run, trace))
    }
}

/// What helps the tests of an original, and which those are.
pub(super) struct Supported<'a> {
    pub(super) codebase: &'a Codebase,
    pub(super) executed: &'a Executed,
    /// Their blocks.
    pub(super) tests: &'a [String],
    /// What the original's names stand for.
    pub(super) originals: &'a Originals<'a>,
}

/// A gist with lines at its end that nothing executes: whoever claims them lies about others, too.
pub(super) struct Canary {
    pub(super) text: String,
    /// The last line that may be executed.
    pub(super) last: u32,
}

impl Canary {
    /// Returns true if it was made of this very text.
    pub(super) fn is_of(&self, text: &str) -> bool {
        self.text.starts_with(text)
    }

    pub(super) fn of(text: &str) -> Canary {
        let lines = text.lines().count();
        // A name that no gist can know.
        let seed = format!("{:?} {}", std::time::SystemTime::now(), std::process::id());
        let name = &blake3::hash(seed.as_bytes()).to_hex()[..12];
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let text = format!("{text}{end}\n\ndef _{name}():\n    first = 1\n    return first\n");
        // The definition itself is executed.
        Canary { text, last: u32::try_from(lines + 3).unwrap_or(u32::MAX) }
    }
}
