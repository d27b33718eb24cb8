//! Runs of the command on a gist, each on a copy of the repository that the gist takes its place in.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use graph::{Gist, Trace};

use super::{
    Pristine, Session,
    forks::{Bounds, MadeRun, PROBE_LOG},
};
use crate::{
    candidate::{Candidate, CandidateSpec, Internal, configuration, lay_out_in},
    command::Command,
    execute::{
        Around, ExecuteError, Execution, OpenedFile, Raised, RunSpec, execute, open_regular,
    },
    normalize::Normalizer,
    sandbox::{Limits, Status},
    slice::{Difference, Learned, PROBE_VARIABLE, Probed, difference},
    tool::{Problem, ToolError},
    trace::{Observer, PATIENCE, TraceOptions, caught, trace_with},
};

/// One run of the command on the gist.
#[derive(Debug)]
pub struct GistRun {
    /// The run, normalised.
    pub execution: Execution,
    /// The run, as recorded.
    pub raw: Execution,
    /// The text that ran in the gist's place, where it was observed.
    pub probed: Option<Probed>,
    /// The facts learned from the run; usable only if it agrees with the original's run.
    pub learned: Option<Learned>,
}

/// A gist is stopped after this many times what the original took under the tracer, and this much more.
const SLOWER: u32 = 5;
const GRACE: Duration = Duration::from_secs(20);

/// The same of the CPU's time, which does not depend on what runs beside it: a loop without an end stops soon.
const CPU_GRACE: Duration = Duration::from_secs(2);

/// Phases of tests that may fail besides as many as the original's, where a run is to be learned from: what it
/// agrees in is then the least that it would.
const MORE_FAILURES: usize = 10;

/// The purpose of a run of a gist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To verify the gist.
    Verify,
    /// To learn the needs of the next gist: probes are read, and the run stops early if many tests
    /// fail.
    Learn,
    /// The same of what is caught on the way: that is seen by a tracer that may take many times as long.
    Listen,
}

impl Session {
    /// Executes the command on the current gist.
    ///
    /// The first run of a gist by the slicer is observed: the next slice can then drop code that it
    /// shows to be unnecessary.
    ///
    /// # Errors
    /// There is no gist, or the command cannot be executed.
    pub fn run_gist(&mut self) -> Result<GistRun, ToolError> {
        let (_, trace) = self.traced()?;
        let Some(gist) = self.findings.gist.clone() else {
            return Err(Problem::NoGist.because("there is no gist to run"));
        };
        let probed = match (&self.findings.slicer, &self.findings.plan) {
            (Some(slicer), Some(plan)) if slicer.has_to_learn(&self.findings.request, &gist) => {
                Some(if self.findings.request.unprobed || slicer.has_learned() {
                    Probed::without(&gist)
                } else {
                    Probed::new(&gist, plan)
                })
            }
            _ => None,
        };
        let pristine = self.pristine(&trace)?;
        self.run_on(&pristine, &gist, probed)
    }

    /// The lines of a gist that the command executes, from a run under the tracer.
    pub(crate) fn executed_lines(&mut self, text: &str) -> Result<BTreeSet<u32>, ToolError> {
        let (_, trace) = self.traced()?;
        let pristine = self.pristine(&trace)?;
        self.in_its_place(&pristine, text, Purpose::Verify, |candidate, spec, _| {
            let options = TraceOptions { patience: PATIENCE, ..TraceOptions::default() };
            let (_, trace) = trace_with(spec, Observer::default(), options)?;
            let file = trace.file(&candidate.gist);
            let lines =
                file.into_iter().flat_map(|file| file.import_lines.iter().chain(&file.test_lines));
            Ok(lines.copied().collect())
        })
    }

    /// The errors that a gist raises under the command, those included that it catches.
    pub(crate) fn caught(&self, trace: &Trace, text: &str) -> Result<Vec<Raised>, ToolError> {
        let pristine = self.pristine(trace)?;
        self.in_its_place(&pristine, text, Purpose::Listen, |candidate, spec, _| {
            match caught(spec, Path::new(&candidate.gist)) {
                // The same text ran before: what is told is a hint, and its lack no failure.
                Err(error) => Execution::spoiled(&error).map(|_| Vec::new()).ok_or(error),
                found => found,
            }
        })
    }

    /// The data files of the repository that a gist reads where it stands in the repository's place, relative to that.
    pub(crate) fn data_read(&self, trace: &Trace, text: &str) -> Result<Vec<String>, ToolError> {
        let pristine = self.pristine(trace)?;
        let gist = self.gist_path();
        let opened = self.in_its_place(&pristine, text, Purpose::Verify, |_, spec, _| {
            let around = Around { opens: true, ..spec.around };
            match execute(&RunSpec { around, ..*spec }) {
                Err(error) => Execution::spoiled(&error).map(|_| Vec::new()).ok_or(error),
                Ok(run) => Ok(run.opened),
            }
        })?;
        let is_data = |opened: &OpenedFile| {
            let path = pristine.directory.join(&opened.path);
            let is_file = path.symlink_metadata().is_ok_and(|there| there.is_file());
            opened.found && is_file && opened.path != gist && !opened.path.ends_with(".pyc")
        };
        Ok(opened.into_iter().filter(is_data).map(|opened| opened.path).collect())
    }

    /// The repository as it is, for any number of gists to take their places in: none of them sees this copy,
    /// so that one does for the whole session.
    pub(crate) fn pristine(&self, trace: &Trace) -> Result<Arc<Pristine>, ToolError> {
        if let Some(pristine) = self.findings.pristine.get() {
            return Ok(pristine.clone());
        }
        let directory = self.workspace.copy(&self.repository)?;
        let internal = Internal::of(trace, &directory, &self.command)?;
        let pristine = Arc::new(Pristine { directory, internal });
        Ok(self.findings.pristine.get_or_init(|| pristine).clone())
    }

    /// The command without the plugins of the repository that it names; before it was traced, the command.
    pub(crate) fn command_without_plugins(&self) -> Result<Command, ToolError> {
        let Some(trace) = &self.findings.trace else { return Ok(self.command.clone()) };
        let pristine = self.pristine(trace)?;
        Ok(self.command.without_plugins(|name| pristine.internal.is_internal(name)))
    }

    /// The configuration of pytest that gists keep, as options; nothing before the command was traced.
    pub(crate) fn configuration(&self) -> Result<Vec<Vec<String>>, ToolError> {
        let Some(trace) = &self.findings.trace else { return Ok(Vec::new()) };
        let pristine = self.pristine(trace)?;
        Ok(configuration(&CandidateSpec {
            original: &pristine.directory,
            internal: &pristine.internal,
            gist: "",
            place: self.place,
            command: &self.command,
        }))
    }

    /// Executes the command on a gist. Stops a run that takes far longer than the original: it will
    /// not end.
    pub(crate) fn run_on(
        &self,
        pristine: &Pristine,
        gist: &Gist,
        probed: Option<Probed>,
    ) -> Result<GistRun, ToolError> {
        let text = probed.as_ref().map_or(&gist.text, |probed| &probed.text).clone();
        let purpose = if probed.is_some() { Purpose::Learn } else { Purpose::Verify };
        // A run with too many calls is not observed twice. The gist is assumed to execute all lines of the original:
        // one line too many does no harm.
        let busy = self.findings.trace.as_deref().filter(|trace| trace.busy);
        let observed = probed
            .as_ref()
            .map(|_| TraceOptions { patience: PATIENCE, imports_only: busy.is_some() });
        let told = |ran: MadeRun| {
            let learned = probed.as_ref().map(|probed| {
                let trace = ran.trace.unwrap_or_default();
                let mut learned = probed.learn(gist, &trace, &ran.gist, &ran.log);
                busy.iter().for_each(|original| learned.assume(original));
                learned
            });
            let (internal, gist) = (&pristine.internal, Some(ran.gist.as_str()));
            let normalizer = Normalizer::of_run(&ran.directory, &ran.scratch, internal, gist);
            let execution = normalizer.execution(&ran.execution);
            GistRun { execution, raw: ran.execution, probed: None, learned }
        };
        let bounds = self.bounds(purpose);
        let run = match self.forked_candidate(pristine, &text, bounds, observed)? {
            Some(ran) => told(ran),
            None => self.in_its_place(pristine, &text, purpose, |candidate, spec, log| {
                // The original was traced with the same interpreter.
                let spoiled = |error: ExecuteError| Execution::spoiled(&error).ok_or(error);
                let (execution, trace) = match observed {
                    None => (execute(spec).or_else(spoiled)?, None),
                    Some(options) => trace_with(spec, Observer::default(), options)
                        .map(|(run, trace)| (run, Some(trace)))
                        .or_else(|error| spoiled(error).map(|run| (run, None)))?,
                };
                // Without a stub nothing is logged.
                let log = open_regular(log).and_then(std::io::read_to_string).unwrap_or_default();
                let (directory, scratch) = (spec.directory.into(), spec.scratch.into());
                let gist = candidate.gist.clone();
                Ok(told(MadeRun { execution, trace, log, directory, scratch, gist }))
            })?,
        };
        if run.execution.status == Status::Interrupted {
            return Err(ToolError::Fatal("the run of the gist was interrupted".to_owned()));
        }
        Ok(GistRun { probed, ..run })
    }

    /// Writes a gist's text into a candidate, and calls `run` with it. The arguments are the
    /// candidate, the run's settings, and the file that its probes write to.
    fn in_its_place<T>(
        &self,
        pristine: &Pristine,
        text: &str,
        purpose: Purpose,
        run: impl FnOnce(&Candidate, &RunSpec<'_>, &Path) -> Result<T, ExecuteError>,
    ) -> Result<T, ToolError> {
        let scratch = self.workspace.directory("scratch")?;
        let result = self.laid_out(pristine, text, purpose, &scratch, run);
        self.workspace.discard(&scratch);
        result
    }

    /// Returns the bounds of a run of a gist, by what the original took.
    fn bounds(&self, purpose: Purpose) -> Bounds {
        let original = self.findings.original.as_deref();
        let is_probed = purpose != Purpose::Verify;
        let failures = original.filter(|_| is_probed).map(Execution::failures);
        let usual = original.map_or(self.limits.wall, |run| run.wall);
        let wall = self.limits().wall.min(usual * SLOWER + GRACE);
        let cpu = match original {
            Some(run) if purpose != Purpose::Listen => run.cpu * SLOWER + CPU_GRACE,
            _ => self.limits.cpu,
        };
        let limits = Limits { wall, cpu: cpu.min(self.limits.cpu), ..self.limits };
        let max_failures = failures.map(|failures| failures + MORE_FAILURES);
        Bounds { limits, max_failures, is_probed }
    }

    /// Runs the current gist in a process of its own, which decides whatever runs by fork said. Returns its first
    /// difference from the original.
    ///
    /// # Errors
    /// There is no gist, or the command cannot be executed.
    pub fn confirm(&mut self) -> Result<Option<Difference>, ToolError> {
        let forks = self.end_forks();
        let found = self.cold_difference();
        if let Some(forks) = forks {
            self.allow_forks(forks);
        }
        found
    }

    fn cold_difference(&mut self) -> Result<Option<Difference>, ToolError> {
        let (original, trace) = self.traced()?;
        let Some(gist) = self.findings.gist.clone() else {
            return Err(Problem::NoGist.because("there is no gist to run"));
        };
        let pristine = self.pristine(&trace)?;
        let run = self.run_on(&pristine, &gist, None)?;
        let compare =
            |again: Option<&Execution>| difference(&original, again, &run.execution, &run.raw);
        match compare(self.findings.again.as_deref()) {
            // Texts may vary from run to run.
            Some(found) if found.is_of_text() => {
                let again = self.once_more()?;
                Ok(compare(Some(&again)))
            }
            found => Ok(found),
        }
    }

    fn laid_out<T>(
        &self,
        pristine: &Pristine,
        text: &str,
        purpose: Purpose,
        scratch: &Path,
        run: impl FnOnce(&Candidate, &RunSpec<'_>, &Path) -> Result<T, ExecuteError>,
    ) -> Result<T, ToolError> {
        let Pristine { directory: original, internal, .. } = pristine;
        let (place, command, gist) = (self.place, &self.command, text);
        let spec = CandidateSpec { original, internal, gist, place, command };
        let candidate = lay_out_in(&self.workspace, &spec)?;
        let log = scratch.join(PROBE_LOG);
        let mut variables = self.variables.clone();
        let bounds = self.bounds(purpose);
        if bounds.is_probed {
            variables.insert(PROBE_VARIABLE.to_owned(), log.to_string_lossy().into_owned());
        }
        let spec = RunSpec {
            variables: &variables,
            absent: &candidate.absent,
            max_failures: bounds.max_failures,
            limits: bounds.limits,
            ..self.spec(&self.environment, &candidate.command, &candidate.directory, scratch)
        };
        let result = run(&candidate, &spec, &log);
        self.workspace.discard(&candidate.directory);
        Ok(result?)
    }
}
