//! Runs of completions by fork: a process waits behind pytest's configuration and becomes each run, so that no interpreter
//! starts and pytest is imported once.
//!
//! It decides nothing that a cold run would decide otherwise. A problem is run by fork only if its own function passes there
//! and one that raises does not: a module that was loaded before the fork would have kept the original. What does not end by
//! itself is left to a cold run, but for a run that goes over its time.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use tools::{
    Ends, RunDirectories, Status, WaitsAt, Warm, WarmError, WarmRun, WarmSpec, link_above,
};

use super::{
    completion_run::{
        CompletionBed, CompletionRun, contents, judged, limits, run_spec, splice, tests_command,
    },
    problem::{CompletionProblem, ProblemTests},
    sample::SampleClass,
};
use crate::error::EvalError;

/// The longest life of a process that waits.
const LIFETIME: Duration = Duration::from_secs(4 * 3600);
/// Runs of a problem from which forks pay: two more runs are made first, and a process is started.
pub(super) const FORKED: usize = 5;

/// The process of one worker.
#[derive(Default)]
pub(super) struct ForkedRuns {
    server: Option<Server>,
    /// The keys of processes that cannot be had.
    refused: BTreeSet<String>,
    /// Problems, and if they can be run by fork.
    fitting: BTreeMap<String, bool>,
}

/// A process that waits, with its directories.
struct Server {
    key: String,
    warm: Option<Warm>,
    place: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.warm.take();
        let _ = fs::remove_dir_all(&self.place);
    }
}

impl ForkedRuns {
    /// Runs a problem's tests with a function in its place; `None` where a cold run has to.
    ///
    /// # Errors
    /// The machine fails, or the user interrupts.
    pub(super) fn run(
        &mut self,
        bed: &CompletionBed<'_>,
        problem: &CompletionProblem,
        function: &str,
    ) -> Result<Option<CompletionRun>, EvalError> {
        let fits = match self.fitting.get(&problem.id) {
            Some(fits) => *fits,
            None => {
                let fits = self.fits(bed, problem)?;
                self.fitting.insert(problem.id.clone(), fits);
                fits
            }
        };
        if fits { self.fork(bed, problem, function) } else { Ok(None) }
    }

    /// Returns true if the original passes by fork, and a function that raises does not.
    fn fits(
        &mut self,
        bed: &CompletionBed<'_>,
        problem: &CompletionProblem,
    ) -> Result<bool, EvalError> {
        let solution = &problem.function.solution;
        let passes = |run: Option<CompletionRun>| run.map(|run| run.class == SampleClass::Passed);
        if passes(self.fork(bed, problem, solution)?) != Some(true) {
            return Ok(false);
        }
        let raising = format!("def {}(*_, **__):\n    raise AssertionError", problem.function.name);
        Ok(passes(self.fork(bed, problem, &raising)?) == Some(false))
    }

    fn fork(
        &mut self,
        bed: &CompletionBed<'_>,
        problem: &CompletionProblem,
        function: &str,
    ) -> Result<Option<CompletionRun>, EvalError> {
        let Some(tests) = &problem.tests else { return Ok(None) };
        let path = problem.function.path.as_str();
        let root = &bed.repository.root;
        // A cold run decides about a place that is a link, or behind one.
        let is_plain =
            |path: &str| link_above(root, path).is_none() && !root.join(path).is_symlink();
        let own = tests.file.as_ref().map(|file| (file.path.as_str(), file.text.as_str()));
        if problem.path_outside().is_some()
            || !is_plain(path)
            || !own.is_none_or(|(path, _)| is_plain(path))
        {
            return Ok(None);
        }
        let Some(spliced) = fs::read_to_string(root.join(path))
            .ok()
            .and_then(|text| splice(&problem.function, &text, function).ok())
        else {
            return Ok(None);
        };
        let files: Vec<(&str, &str)> = own.into_iter().chain([(path, spliced.as_str())]).collect();
        let Some(server) = self.server(bed, problem, tests)? else { return Ok(None) };
        let (key, directory) = (server.key.clone(), RunDirectories::of(&server.place).directory);
        let Some(warm) = &mut server.warm else { return Ok(None) };
        let wanted = WarmRun {
            files: &files,
            tests: &tests.cases,
            changes: &[],
            limits: limits(bed.limits, tests.seconds),
            ends: Ends::Tests,
        };
        let execution = match warm.run(&wanted) {
            Ok(ran) => ran.execution,
            Err(WarmError::Interrupted) => return Err(EvalError::Interrupted),
            Err(_) => {
                self.server = None;
                self.refused.insert(key);
                return Ok(None);
            }
        };
        let by_itself = matches!(execution.status, Status::Exited(_)) && execution.complete;
        if !by_itself && execution.status != Status::TimedOut {
            return Ok(None);
        }
        let of_run = |base: &Path| -> Vec<PathBuf> {
            tests.paths().iter().map(|path| base.join(path)).collect()
        };
        let mut before = contents(&of_run(root));
        for (path, before) in tests.paths().iter().zip(&mut before) {
            if let Some((_, text)) = files.iter().find(|(placed, _)| placed == path) {
                *before = Some(text.as_bytes().to_vec());
            }
        }
        let tampered = contents(&of_run(&directory)) != before;
        Ok(Some(judged(&execution, &tests.cases, &directory, tampered)))
    }

    /// The process for a problem: one of its repository whose tests have their configuration from the same directories.
    fn server(
        &mut self,
        bed: &CompletionBed<'_>,
        problem: &CompletionProblem,
        tests: &ProblemTests,
    ) -> Result<Option<&mut Server>, EvalError> {
        let places: BTreeSet<&str> = tests
            .paths()
            .into_iter()
            .map(|path| path.rsplit_once('/').map_or("", |(directory, _)| directory))
            .collect();
        let key = format!("{} {places:?}", problem.source.repository);
        if self.refused.contains(&key) {
            return Ok(None);
        }
        if self.server.as_ref().is_none_or(|server| server.key != key) {
            // The directories of the former one go first.
            self.server = None;
            let place = bed.workspace.process_directory()?;
            let mut server = Server { key: key.clone(), warm: None, place };
            server.warm = start(bed, tests, &server.place)?;
            if server.warm.is_none() {
                self.refused.insert(key);
                return Ok(None);
            }
            self.server = Some(server);
        }
        Ok(self.server.as_mut())
    }
}

/// Starts a process that waits behind the configuration of tests; `None` where it cannot wait.
fn start(
    bed: &CompletionBed<'_>,
    tests: &ProblemTests,
    place: &Path,
) -> Result<Option<Warm>, EvalError> {
    let RunDirectories { directory, scratch } = RunDirectories::of(place);
    bed.workspace.copy_to(bed.repository, &directory)?;
    if let Some(file) = &tests.file {
        crate::store::write_bytes(&directory.join(&file.path), file.text.as_bytes())?;
    }
    let command = tests_command(&tests.cases)?;
    let run = run_spec(bed, &command, &directory, &scratch);
    let waits_at = WaitsAt::Collection;
    let spec = WarmSpec { run, place, waits_at, imports: &[], trace: None, lifetime: LIFETIME };
    match Warm::start(&spec) {
        Ok(warm) => Ok(Some(warm)),
        Err(WarmError::Interrupted) => Err(EvalError::Interrupted),
        Err(_) => Ok(None),
    }
}
