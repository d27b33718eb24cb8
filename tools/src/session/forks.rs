//! Runs of a session by fork: one waiting process for each kind of run, which serves all runs with the same
//! surroundings, also those of sessions after this one.
//!
//! It owns the processes. A run that cannot be made by fork, or does not end by itself, is made cold by whoever asked;
//! what a run means is the caller's.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use graph::Trace;

use super::{Pristine, Session};
use crate::{
    candidate::{CandidateSpec, lay_out},
    execute::{Execution, RunSpec, open_regular},
    sandbox::{Limits, Status},
    slice::PROBE_VARIABLE,
    tool::ToolError,
    trace::TraceOptions,
    warm::{Ends, WaitsAt, Warm, WarmError, WarmRan, WarmRun, WarmSpec},
    workspace::{RunDirectories, remove_tree},
};

/// The longest life of a process that waits.
const LIFETIME: Duration = Duration::from_secs(4 * 3600);

/// The processes that wait for runs of a session, or of several sessions in turn.
#[derive(Debug, Default)]
pub struct Forks {
    servers: BTreeMap<ForkKind, Server>,
    /// The keys of processes that could not be started or used.
    refused: BTreeSet<String>,
    /// Modules from outside of the repository that an original imported before its tests.
    imports: Vec<String>,
    /// Runs that were made by fork.
    made: usize,
}

/// The kinds of runs that need a process of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ForkKind {
    /// The original, observed.
    Original,
    /// A gist, observed.
    Observed,
    /// A gist as it is.
    Plain,
}

/// A process that waits, and the directories of its runs.
#[derive(Debug)]
struct Server {
    key: String,
    warm: Option<Warm>,
    place: PathBuf,
    /// The path of the gist in its directory; empty for the original.
    gist: String,
    /// True once it has served a run.
    is_proven: bool,
}

/// One run, by fork or cold, with its directories.
pub(super) struct MadeRun {
    pub(super) execution: Execution,
    pub(super) trace: Option<Trace>,
    /// The log of the probes.
    pub(super) log: String,
    pub(super) directory: PathBuf,
    pub(super) scratch: PathBuf,
    pub(super) gist: String,
}

/// The bounds of one run of a gist.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) limits: Limits,
    pub(super) max_failures: Option<usize>,
    /// True if probes write a log.
    pub(super) is_probed: bool,
}

impl Forks {
    /// Makes a run by the process of a kind, which is started first where none has this key. Returns `None` for a run
    /// that has to be made cold.
    fn run(
        &mut self,
        kind: ForkKind,
        key: &str,
        start: impl FnOnce() -> Result<Server, ToolError>,
        ask: impl FnOnce(&mut Warm, &str) -> Result<WarmRan, WarmError>,
    ) -> Result<Option<MadeRun>, ToolError> {
        if self.refused.contains(key) {
            return Ok(None);
        }
        if self.servers.get(&kind).is_none_or(|server| server.key != key) {
            // The directories of the former one go first.
            self.servers.remove(&kind);
            self.servers.insert(kind, start()?);
        }
        let Some(server) = self.servers.get_mut(&kind) else { return Ok(None) };
        let made = server.warm.as_mut().map(|warm| ask(warm, &server.gist));
        match made {
            Some(Ok(ran)) if ran.execution.complete && is_by_itself(&ran.execution) => {
                self.made += 1;
                server.is_proven = true;
                let scratch = server.scratch();
                let log = open_regular(&scratch.join(PROBE_LOG)).and_then(std::io::read_to_string);
                Ok(Some(MadeRun {
                    execution: ran.execution,
                    trace: ran.trace,
                    // Without a stub nothing is logged.
                    log: log.unwrap_or_default(),
                    directory: server.directory(),
                    scratch,
                    gist: server.gist.clone(),
                }))
            }
            Some(Err(WarmError::Interrupted)) => {
                Err(ToolError::Fatal("a run by fork was interrupted".to_owned()))
            }
            // A limit or a signal may have to do with the process that waits.
            Some(Ok(_)) => Ok(None),
            Some(Err(_)) | None => {
                if !server.is_proven {
                    self.refused.insert(key.to_owned());
                }
                self.servers.remove(&kind);
                Ok(None)
            }
        }
    }
}

/// The file of a scratch directory that probes write to.
pub(super) const PROBE_LOG: &str = "probe.log";

impl Server {
    fn directory(&self) -> PathBuf {
        RunDirectories::of(&self.place).directory
    }

    fn scratch(&self) -> PathBuf {
        RunDirectories::of(&self.place).scratch
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.warm.take();
        remove_tree(&self.place);
    }
}

impl Session {
    /// Makes runs by fork from here on, where they can be.
    pub fn allow_forks(&self, forks: Forks) {
        *self.forks() = Some(forks);
    }

    /// Makes every run cold from here on. Returns the processes that waited.
    pub fn end_forks(&self) -> Option<Forks> {
        self.forks().take()
    }

    /// Returns the number of runs that were made by fork, also by sessions before this one.
    pub fn forked_runs(&self) -> usize {
        self.forks().as_ref().map_or(0, |forks| forks.made)
    }

    fn forks(&self) -> MutexGuard<'_, Option<Forks>> {
        self.forks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the original by fork, observed; `None` where it has to be run cold.
    pub(super) fn forked_original(
        &self,
        options: TraceOptions,
    ) -> Result<Option<MadeRun>, ToolError> {
        let mut forks = self.forks();
        let Some(forks) = forks.as_mut().filter(|_| self.command.is_pytest()) else {
            return Ok(None);
        };
        let imports = forks.imports.clone();
        let key = self.fork_key(&format!("original {options:?} {imports:?}"));
        let start = || {
            self.server(&key, String::new(), |place, directory, scratch| {
                self.workspace.copy_to(&self.repository, directory)?;
                let run = self.spec(&self.environment, &self.command, directory, scratch);
                Ok(Warm::start(&waiting(run, place, &imports, Some(options))))
            })
        };
        let (tests, limits) = (self.command.named(), self.limits());
        let found = forks.run(ForkKind::Original, &key, start, |warm, _| {
            // The trace includes the end of the process: handlers of `atexit` and finalizers.
            let ends = Ends::Process;
            warm.run(&WarmRun { files: &[], tests: &tests, changes: &[], limits, ends })
        })?;
        if let Some(trace) = found.as_ref().and_then(|found| found.trace.as_ref())
            && forks.imports.is_empty()
        {
            forks.imports = early_imports(trace);
        }
        Ok(found)
    }

    /// Runs the command on a gist by fork; `None` where it has to be run cold.
    pub(super) fn forked_candidate(
        &self,
        pristine: &Pristine,
        text: &str,
        bounds: Bounds,
        observed: Option<TraceOptions>,
    ) -> Result<Option<MadeRun>, ToolError> {
        let mut forks = self.forks();
        let Some(forks) = forks.as_mut().filter(|_| self.command.is_pytest()) else {
            return Ok(None);
        };
        let Pristine { directory: original, internal, .. } = pristine;
        let kind = if observed.is_some() { ForkKind::Observed } else { ForkKind::Plain };
        let key = self.fork_key(&format!(
            "{} {internal:?} {observed:?} {:?} {}",
            original.display(),
            bounds.max_failures,
            bounds.is_probed
        ));
        let start = || {
            let gist = self.gist_path();
            self.server(&key, gist, |place, directory, scratch| {
                let (place_of_gist, command) = (self.place, &self.command);
                let spec =
                    CandidateSpec { original, internal, gist: text, place: place_of_gist, command };
                let candidate = lay_out(&spec, directory)?;
                let mut variables = self.variables.clone();
                if bounds.is_probed {
                    let log = scratch.join(PROBE_LOG).to_string_lossy().into_owned();
                    variables.insert(PROBE_VARIABLE.to_owned(), log);
                }
                let run = RunSpec {
                    variables: &variables,
                    absent: &candidate.absent,
                    max_failures: bounds.max_failures,
                    ..self.spec(&self.environment, &candidate.command, directory, scratch)
                };
                let trace = self.findings.trace.as_deref();
                let imports = trace.map(early_imports).unwrap_or_default();
                Ok(Warm::start(&waiting(run, place, &imports, observed)))
            })
        };
        let tests = self.command.for_gist(&self.gist_path()).named();
        forks.run(kind, &key, start, |warm, gist| {
            let files = [(gist, text)];
            let (limits, ends) = (bounds.limits, Ends::Tests);
            warm.run(&WarmRun { files: &files, tests: &tests, changes: &[], limits, ends })
        })
    }

    /// A process in directories of its own; without a process where it cannot wait.
    fn server(
        &self,
        key: &str,
        gist: String,
        start: impl FnOnce(&Path, &Path, &Path) -> Result<Result<Warm, WarmError>, ToolError>,
    ) -> Result<Server, ToolError> {
        let place = self.workspace.process_directory()?;
        let mut server = Server { key: key.to_owned(), warm: None, place, gist, is_proven: false };
        let (directory, scratch) = (server.directory(), server.scratch());
        match start(&server.place, &directory, &scratch)? {
            Ok(warm) => server.warm = Some(warm),
            Err(WarmError::Interrupted) => {
                return Err(ToolError::Fatal("a run by fork was interrupted".to_owned()));
            }
            Err(_) => {}
        }
        Ok(server)
    }

    /// A hash of all that a waiting process has in common with its runs, and of `more`.
    fn fork_key(&self, more: &str) -> String {
        let parts = [
            self.repository.fingerprint.clone(),
            self.gist_path(),
            format!("{:?} {:?}", self.command.program(), self.command.interpreter_options()),
            format!("{:?} {:?}", self.command.options(), self.command.variables()),
            format!("{:?} {} {:?}", self.environment.python, self.hash_seed, self.variables),
            more.to_owned(),
        ];
        blake3::hash(parts.join("\0").as_bytes()).to_hex().to_string()
    }
}

fn waiting<'a>(
    run: RunSpec<'a>,
    place: &'a Path,
    imports: &'a [String],
    trace: Option<TraceOptions>,
) -> WarmSpec<'a> {
    let waits_at = WaitsAt::Collection;
    WarmSpec { run, place, waits_at, imports, trace, lifetime: LIFETIME }
}

/// Modules from outside of the repository that a run had loaded when its tests began.
fn early_imports(trace: &Trace) -> Vec<String> {
    let loaded = trace.external.keys();
    loaded.filter(|name| trace.late.binary_search(name).is_err()).cloned().collect()
}

/// Returns true if no limit and no signal ended a run.
fn is_by_itself(execution: &Execution) -> bool {
    matches!(execution.status, Status::Exited(_))
}
