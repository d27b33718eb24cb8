//! The reference: the behaviour of a command on the original, measured before any candidate is
//! executed.
//!
//! The command runs several times on fresh copies, under different hash seeds; varying parts are
//! masked or quarantined. Results are stored by content, so that a second scoring costs no run.
//! Outcomes come from untraced runs alone; the traced run shows the executed lines and the modules.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use graph::{FailedImport, Trace};
use serde::{Deserialize, Serialize};
use tools::{
    Command, CommandProgram, Environment, Execution, Internal, Limits, Normalizer, Progress,
    Repository, RunSpec, Sandbox, Status, TestId, Workspace,
};

use crate::{
    codebase::{Codebase, Codebases, Extent},
    error::EvalError,
    expected::{Expected, Quarantine, expect},
    observation::Observation,
    scorers::Executed,
    store::{self, Record},
    task::Counts,
    tokens,
};

/// The first hash seeds of the untraced runs; the traced one has the first of all.
const SEEDS: [u32; 3] = [0, 1, 4_242];
/// The inputs of a reference.
#[derive(Clone, Copy)]
pub struct ReferenceSpec<'a> {
    /// The sandbox of the runs.
    pub sandbox: &'a dyn Sandbox,
    /// The original.
    pub repository: &'a Repository,
    /// The interpreter and packages of the command.
    pub environment: &'a Environment,
    /// The command.
    pub command: &'a Command,
    /// Bounds on each run.
    pub limits: Limits,
    /// Untraced runs of the original, each with another hash seed; at least 1.
    pub runs: u32,
    /// Environment variables of each run.
    pub variables: &'a BTreeMap<String, String>,
    /// The workspace of the runs.
    pub workspace: &'a Workspace,
    /// The directories in which measurements are stored by content. All are read, and the first one is written.
    pub caches: &'a [&'a Path],
    /// Receives the name of each run as it begins.
    pub signs: &'a (dyn Fn(Progress<'_>) + Sync),
}

impl ReferenceSpec<'_> {
    /// Reports the run that begins now.
    pub(crate) fn begins(&self, run: &str) {
        (self.signs)(Progress::Step(&format!("judge: {run}")));
    }

    /// Returns the measurement that is stored in a file of this name, and true; else what `measure` returns, which is stored.
    pub(crate) fn stored<T: Record>(
        &self,
        name: &str,
        measure: impl FnOnce() -> Result<T, EvalError>,
    ) -> Result<(T, bool), EvalError> {
        let mut paths = self.caches.iter().map(|cache| cache.join(name));
        let Some(own) = paths.next() else { return Ok((measure()?, false)) };
        if let Ok(known) = store::read::<T>(&own) {
            return Ok((known, true));
        }
        let known = paths.find_map(|path| store::read::<T>(&path).ok());
        let is_known = known.is_some();
        let measured = known.map_or_else(measure, Ok)?;
        store::write(&own, &measured)?;
        Ok((measured, is_known))
    }
}

/// The behaviour of a command on the original.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// The behaviour of a faithful run.
    pub expected: Expected,
    /// Tests that were collected, without parameters: path, then classes and function.
    pub tests: Vec<(String, Vec<String>)>,
    /// Outcomes of the first run.
    pub counts: Counts,
    /// Median wall-clock seconds of an untraced run.
    pub seconds: f64,
    /// Median CPU seconds of an untraced run.
    pub cpu_seconds: f64,
    /// Number of untraced runs.
    pub runs: u32,
    /// Why nothing can be scored against it, where that is so.
    pub quarantine: Option<Quarantine>,
    /// Lines and tokens that the command executed.
    pub executed: Extent,
    /// Lines and tokens of the repository.
    pub repository: Extent,
    /// The trace of the traced run.
    pub trace: Trace,
    /// The imports of functions and classes that failed in it.
    pub failed: Vec<FailedImport>,
    /// True if this came from the cache.
    #[serde(skip)]
    pub cached: bool,
}

impl Record for Reference {
    const VERSION: u32 = 32;
}

impl Reference {
    /// Returns the ids of the collected cases as pytest takes them, sorted. They are stored without their files, so a case
    /// is left out if several files have a test of its name.
    pub fn cases(&self) -> Vec<String> {
        let whole = |id: &String| {
            let names = TestId::parse(id).names;
            let mut files = self.tests.iter().filter(|(_, own)| *own == names);
            let (Some((file, _)), None) = (files.next(), files.next()) else { return None };
            Some(format!("{file}::{}", id.split_once("::")?.1))
        };
        self.expected.collected.iter().filter_map(whole).collect()
    }

    /// Measures a command, or reads an earlier measurement.
    ///
    /// # Errors
    /// The command is no valid task (it collects nothing, cannot start or does not end), or
    /// something besides the command fails.
    pub fn measure(spec: &ReferenceSpec<'_>) -> Result<Self, EvalError> {
        Self::measure_in(spec, &Codebases::default())
    }

    /// The same, with repositories that were read already.
    #[tracing::instrument(name = "reference", level = "debug", skip_all)]
    pub(crate) fn measure_in(
        spec: &ReferenceSpec<'_>,
        codebases: &Codebases,
    ) -> Result<Self, EvalError> {
        let name = format!("{}.json", key(spec));
        let (reference, cached) = spec.stored(&name, || run_all(spec, codebases))?;
        Ok(Self { cached, ..reference })
    }

    /// Splits the files of the original into modules and data.
    ///
    /// # Errors
    /// The original cannot be listed.
    pub fn internal(&self, original: &Path, command: &Command) -> Result<Internal, EvalError> {
        Ok(Internal::of(&self.trace, original, command)?)
    }
}

/// Returns the observation of a run of the original.
fn observe(
    (directory, scratch, run): (&Path, &Path, &Execution),
    internal: &Internal,
    command: &Command,
) -> Observation {
    let normalizer = Normalizer::of_run(directory, scratch, internal, None);
    let explained = |file: &str| {
        let file = Path::new(file);
        let file = file.strip_prefix(directory).unwrap_or(file);
        internal.support.contains(file.to_string_lossy().as_ref())
    };
    Observation::of(run, &normalizer, explained, command.is_pytest())
}

fn run_all(spec: &ReferenceSpec<'_>, codebases: &Codebases) -> Result<Reference, EvalError> {
    let mut runs: Vec<(PathBuf, PathBuf, Execution)> = Vec::new();
    for (at, seed) in (1..).zip(seeds(spec.runs)) {
        spec.begins(&format!("original {at} of {}", spec.runs));
        let directory = spec.workspace.copy(spec.repository)?;
        let scratch = spec.workspace.directory("scratch")?;
        let run = tools::execute(&run_spec(spec, &directory, &scratch, seed))?;
        check(spec, &directory, &run, runs.is_empty())?;
        runs.push((directory, scratch, run));
    }
    spec.begins("original, traced");
    let directory = spec.workspace.copy(spec.repository)?;
    let scratch = spec.workspace.directory("scratch")?;
    let (traced, trace) = tools::trace(&run_spec(spec, &directory, &scratch, SEEDS[0]))?;
    if traced.status == Status::Interrupted {
        return Err(EvalError::Interrupted);
    }
    // A run may leave files behind, so files are told apart in a copy that nothing ran in.
    let pristine = spec.workspace.copy(spec.repository)?;
    let internal = Internal::of(&trace, &pristine, spec.command)?;
    let observations: Vec<Observation> =
        runs.iter().map(|(d, s, run)| observe((d, s, run), &internal, spec.command)).collect();
    let over_time = runs.iter().any(|(_, _, run)| run.status == Status::TimedOut);
    let (expected, quarantine) = expect(&observations);
    let quarantine = if over_time { Some(Quarantine::OverTime) } else { quarantine };
    let codebase = codebases.get(&spec.repository.fingerprint, &pristine);
    let executed = executed_extent(&codebase, &Executed::of_trace(&trace));
    let wall = runs.iter().map(|(_, _, run)| run.wall).collect();
    let cpu = runs.iter().map(|(_, _, run)| run.cpu).collect();
    let counts = counts(&runs[0].2);
    let collected: BTreeSet<(String, Vec<String>)> = runs[0]
        .2
        .collected
        .iter()
        .map(|id| TestId::parse(id))
        .map(|id| (id.path, id.names))
        .collect();
    for path in runs.iter().flat_map(|(a, b, _)| [a, b]).chain([&directory, &scratch, &pristine]) {
        spec.workspace.discard(path);
    }
    let tests: Vec<_> = collected.into_iter().collect();
    let files = codebase.files().iter().filter(|file| trace.file(&file.path).is_some());
    let sources = || files.map(|file| graph::Source::new(&*file.path, &*file.text)).collect();
    let failed = graph::failed_imports(&trace, &tests, sources);
    Ok(Reference {
        expected,
        tests,
        counts,
        seconds: median(wall),
        cpu_seconds: median(cpu),
        runs: spec.runs,
        quarantine,
        executed,
        repository: codebase.extent(),
        trace,
        failed,
        cached: false,
    })
}

fn run_spec<'a>(
    spec: &ReferenceSpec<'a>,
    directory: &'a Path,
    scratch: &'a Path,
    hash_seed: u32,
) -> RunSpec<'a> {
    RunSpec {
        sandbox: spec.sandbox,
        environment: spec.environment,
        command: spec.command,
        directory,
        scratch,
        limits: spec.limits,
        hash_seed,
        variables: spec.variables,
        absent: &[],
        max_failures: None,
        link: None,
        around: tools::Around::default(),
    }
}

/// Rejects a run that does not end, was killed, or collected nothing: the command is no task.
fn check(
    spec: &ReferenceSpec<'_>,
    directory: &Path,
    run: &Execution,
    first: bool,
) -> Result<(), EvalError> {
    match run.status {
        Status::Interrupted => return Err(EvalError::Interrupted),
        // Only a first run that does not end says that the command never does.
        Status::TimedOut if !first => return Ok(()),
        _ => tools::usable(run, spec.command, spec.limits.wall)
            .map_err(|unusable| unusable.with_near_tests(spec.repository, spec.command))?,
    }
    let missing = match spec.command.program() {
        CommandProgram::Script(path) => {
            (!directory.join(path).exists()).then(|| format!("the repository has no {path}"))
        }
        CommandProgram::Module(name) => {
            let message = format!("No module named {}", name.split('.').next().unwrap_or(name));
            let last = run.stderr.lines().last().unwrap_or("");
            let unstarted = !run.stderr.contains("Traceback") && last.contains(&message);
            unstarted.then(|| last.to_owned())
        }
        _ => None,
    };
    match missing {
        Some(why) => Err(EvalError::CannotStart { command: spec.command.to_string(), why }),
        None => Ok(()),
    }
}

/// Numbers of cases by outcome, as pytest counts them.
pub(crate) fn counts(run: &Execution) -> Counts {
    let mut counts = Counts::default();
    for case in &run.cases {
        let phases = &case.phases;
        if phases.iter().any(|phase| phase.outcome == "failed") {
            counts.failed += 1;
        } else if phases.iter().any(|phase| phase.outcome == "skipped" && phase.wasxfail.is_some())
        {
            counts.xfailed += 1;
        } else if phases.iter().any(|phase| phase.outcome == "skipped") {
            counts.skipped += 1;
        } else {
            counts.passed += 1;
        }
    }
    counts
}

fn executed_extent(codebase: &Codebase, executed: &Executed) -> Extent {
    let mut extent = Extent::default();
    for file in codebase.files() {
        let code = executed.code(file);
        if code.is_empty() {
            continue;
        }
        let lines: Vec<&str> = file.text.lines().collect();
        let mut text = String::new();
        let mut done = 0;
        for (first, last) in &code {
            for number in (*first).max(done + 1)..=*last {
                text.push_str(lines.get(number as usize - 1).copied().unwrap_or(""));
                text.push('\n');
            }
            done = done.max(*last);
        }
        extent.lines += code.len() as u64;
        extent.tokens += tokens::count(&text);
    }
    extent
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(0.0, Duration::as_secs_f64)
}

/// Hash seeds of so many runs, no two alike.
fn seeds(runs: u32) -> impl Iterator<Item = u32> {
    let more = (SEEDS[2] + 1..).map(Some);
    SEEDS.into_iter().map(Some).chain(more).flatten().take(runs.max(1) as usize)
}

/// Returns the key of a reference: a hash of all its inputs.
pub(crate) fn key(spec: &ReferenceSpec<'_>) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    add(&Reference::VERSION.to_string());
    add(env!("CARGO_PKG_VERSION"));
    add(spec.sandbox.name());
    add(&spec.runs.to_string());
    add(&spec.repository.fingerprint);
    add(&spec.command.to_string());
    add(&format!("{:?}", spec.limits));
    add(&format!("{:?}", spec.variables));
    // Texts may depend on the length of a path.
    add(&spec.workspace.root().as_os_str().len().to_string());
    let environment = spec.environment;
    add(&environment.python.to_string_lossy());
    add(&format!("{:?} {:?}", environment.version, environment.pythonpath));
    for name in environment.distributions() {
        add(&name);
    }
    hasher.finalize().to_hex()[..32].to_owned()
}
