//! The state that the tools of one task share: the task's parts, the findings so far, and the
//! current gist.
//!
//! A session executes everything on copies in its workspace, within its limits.

mod forks;
mod gist;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, Instant},
};

use graph::{
    BuildOptions, Gist, Graph, GraphCache, History, Plan, Pythons, RankOptions, Ranking, Trace,
    Weights, rank,
};

use crate::{
    candidate::{CandidateError, CandidateSpec, GIST_NAME, GistPlace, Internal, lay_out},
    chain::Chain,
    command::Command,
    edit::Parsed,
    environment::Environment,
    execute::{Around, ExecuteError, Execution, RunSpec, Unusable, execute, usable, usable_trace},
    host::Host,
    matched::Matched,
    normalize::Normalizer,
    progress::Progress,
    query::Query,
    repository::Repository,
    sandbox::{Interrupt, Limits, Sandbox, Status},
    slice::{PROBE_VARIABLE, SliceRequest, Slicer, Standing, extensions},
    tool::{Problem, ToolError},
    trace::{Observer, Reuse, TRACER, TraceOptions, TraceStore, trace_with},
    workspace::{Workspace, WorkspaceError},
};

pub use forks::Forks;
use forks::{MadeRun, PROBE_LOG};
pub use gist::GistRun;

/// The file that has the code of a `python -c` that is traced, in the copy that the command runs in.
const INLINE_SCRIPT: &str = "gistify_inline.py";

/// A copy of the repository that gists take their places in, and which of its files they replace.
#[derive(Debug)]
pub(crate) struct Pristine {
    pub(crate) directory: PathBuf,
    pub(crate) internal: Internal,
}

/// One task in work.
pub struct Session {
    /// The processes that runs are forked from; without, every run is cold. They end before their directories go.
    pub forks: Mutex<Option<Forks>>,
    /// The repository, never written.
    pub repository: Repository,
    /// The interpreter and packages of the command.
    pub environment: Environment,
    /// The command.
    pub command: Command,
    /// The place of the gist.
    pub place: GistPlace,
    /// The door through which everything runs.
    pub sandbox: Arc<dyn Sandbox>,
    /// The session's own directories.
    pub workspace: Workspace,
    /// Bounds on each run of the command.
    pub limits: Limits,
    /// `PYTHONHASHSEED` of each run.
    pub hash_seed: u32,
    /// Environment variables of each run, besides the fixed ones.
    pub variables: BTreeMap<String, String>,
    /// Set when the user wants everything to stop.
    pub interrupt: Interrupt,
    /// When the whole session is over.
    pub deadline: Instant,
    /// The directory in which graphs, and what follows from them, are kept between sessions.
    pub graphs: Option<PathBuf>,
    /// The directory in which traces are kept between sessions.
    pub traces: Option<PathBuf>,
    /// The number of lines of a function in a row without a new one, after which its trace on the
    /// original is given up. Then all of its lines count as executed. Applies only where tracing
    /// costs time; 0 for never.
    pub patience: u32,
    /// Hears how long steps go.
    pub signs: Signs,
    /// Shell commands may run Python.
    pub execution: bool,
    /// The weight of each feature of a module in its importance.
    pub weights: Weights,
    /// The user's machine, whose git counts the commits of each file; without it none count.
    pub host: Option<Host>,
    /// The findings so far.
    pub findings: Findings,
}

/// Hears what long steps say of themselves.
pub type Signs = Arc<dyn Fn(Progress<'_>) + Send + Sync>;

/// The newest commits that count for a ranking.
const COMMITS: u32 = 10_000;

/// The findings of a session's tools.
#[derive(Debug, Default)]
pub struct Findings {
    /// The trace of the command on the original, once traced.
    pub trace: Option<Arc<Trace>>,
    /// The result of looking for an earlier session's trace, if traces are stored.
    pub reuse: Option<Reuse>,
    /// The repository as graphs, once something asked for them.
    pub graph: Option<Arc<Graph>>,
    /// The importance of its modules, once something asked for it.
    pub ranking: Option<Arc<Ranking>>,
    /// The run of the command on the original, once executed; normalised.
    pub original: Option<Arc<Execution>>,
    /// A second run under another hash seed, if one was needed; normalised.
    pub again: Option<Arc<Execution>>,
    /// Why the command gives nothing to reproduce, where that was seen.
    pub unusable: Option<Unusable>,
    /// The parsed sources of what ran, once something was sliced.
    pub slicer: Option<Slicer>,
    /// CPU time that slicing took, parsing excluded, once something was sliced.
    pub slicing: Option<Duration>,
    /// The request behind the gist, if the slicer wrote it.
    pub request: SliceRequest,
    /// The plan of the gist: kept and dropped units with their reasons.
    pub plan: Option<Plan>,
    /// The gist as it stands.
    pub gist: Option<Gist>,
    /// The same with its syntax tree, where it was edited.
    pub parsed: Parsed,
    /// The standing of the current gist; `None` if it was not executed yet.
    pub standing: Option<Standing>,
    /// The best gist that ran so far.
    pub best: Option<Best>,
    /// The copy of the repository in which gists are executed, once one was.
    pub(crate) pristine: OnceLock<Arc<Pristine>>,
    /// The copy of the repository that shell commands run in, once there was one.
    pub shell: Option<PathBuf>,
    /// The stage of the work and what was gathered in it, where the work has stages.
    pub chain: Chain,
    /// The query that the session answers, in the place of writing a gist.
    pub query: Option<Query>,
}

/// A gist that ran, and how it did.
#[derive(Debug, Clone)]
pub struct Best {
    /// Its standing.
    pub standing: Standing,
    gist: Gist,
    plan: Option<Plan>,
    request: SliceRequest,
}

impl Best {
    /// Returns its standing for a gist with the same text.
    pub(crate) fn standing_of(&self, gist: &Gist) -> Option<Standing> {
        (self.gist.text == gist.text).then_some(self.standing)
    }
}

impl Findings {
    /// Puts a gist that the slicer did not write in the place of what there is.
    pub(crate) fn by_hand(&mut self, text: String) {
        self.gist = Some(crate::edit::by_hand(text));
        self.plan = None;
        self.standing = None;
    }

    /// Remembers how the gist did that stands, and the gist itself where none before did better. One that has no
    /// failure of a command that fails is never the best.
    pub(crate) fn remember_standing(&mut self, standing: Standing) {
        self.standing = Some(standing);
        let Some(gist) = self.gist.as_ref().filter(|_| !standing.failure.is_lost()) else { return };
        if self.best.as_ref().is_none_or(|best| best.standing <= standing) {
            let (plan, request) = (self.plan.clone(), self.request.clone());
            self.best = Some(Best { standing, gist: gist.clone(), plan, request });
        }
    }

    /// Puts the best gist that ran in the place of the one that stands, for a session that ended early. One that
    /// has no failure of a command that fails goes, with nothing in its place.
    pub fn settle(&mut self) {
        if let Some(best) = self.best.clone() {
            (self.gist, self.plan, self.request) = (Some(best.gist), best.plan, best.request);
            self.standing = Some(best.standing);
        } else if self.standing.is_some_and(|standing| standing.failure.is_lost()) {
            (self.gist, self.plan) = (None, None);
        }
    }
}

impl Session {
    /// Returns the limits of one run, reduced to the remaining time of the session but at least a
    /// second: a run that cannot start has no result.
    pub fn limits(&self) -> Limits {
        let left = self.deadline.saturating_duration_since(self.interrupt.now());
        let wall = self.limits.wall.min(left.max(Duration::from_secs(1)));
        Limits { wall, ..self.limits }
    }

    /// Path of the gist, relative to the repository.
    pub fn gist_path(&self) -> String {
        self.place.gist_path(&self.command)
    }

    /// A run of a command in a directory of the session's.
    fn spec<'a>(
        &'a self,
        environment: &'a Environment,
        command: &'a Command,
        directory: &'a Path,
        scratch: &'a Path,
    ) -> RunSpec<'a> {
        RunSpec {
            sandbox: &*self.sandbox,
            environment,
            command,
            directory,
            scratch,
            limits: self.limits(),
            hash_seed: self.hash_seed,
            variables: &self.variables,
            absent: &[],
            max_failures: None,
            link: None,
            around: Around::default(),
        }
    }

    /// Begins an answer of the model, which has seen all replies to earlier ones.
    pub fn begin_answer(&mut self) {
        self.findings.chain.unseen = None;
    }

    /// The repository as graphs; they are built once, since the repository never changes.
    pub fn graph(&mut self) -> Arc<Graph> {
        let root = &self.repository.root;
        let (major, minor, _) = self.environment.version;
        let pythons = Pythons::only((major, minor));
        let options = BuildOptions { walk: self.repository.walk(), pythons, threads: 0 };
        let build = || match &self.graphs {
            // Whether it could be kept is no matter of the session's.
            Some(directory) => GraphCache::new(directory).build(root, &options).0,
            None => Graph::build(root, &options),
        };
        Arc::clone(self.findings.graph.get_or_insert_with(|| Arc::new(build())))
    }

    /// Finds the statements of a text in the files that the command executed.
    ///
    /// # Errors
    /// The command cannot be run.
    pub fn matched(&mut self, text: &str) -> Result<Matched, ToolError> {
        let (_, trace) = self.traced()?;
        let files = trace.files.iter().map(|file| file.path.clone()).collect();
        let graph = self.graph();
        Ok(Matched::of(text, &graph, &self.repository.texts(), &files))
    }

    /// The modules and classes of the repository by importance, with its commits where it is a work tree of
    /// git; a tree whose commits cannot be read has none.
    pub fn ranking(&mut self) -> Arc<Ranking> {
        if let Some(ranking) = &self.findings.ranking {
            return Arc::clone(ranking);
        }
        let graph = self.graph();
        let options = RankOptions { weights: self.weights, ..RankOptions::default() };
        let ranking = Arc::new(rank(&graph, &self.commits(), &options));
        Arc::clone(self.findings.ranking.insert(ranking))
    }

    /// The commits of each file.
    fn commits(&self) -> History {
        let (Some(host), Ok(scratch)) = (&self.host, self.workspace.directory("commits")) else {
            return History::default();
        };
        let found = self.repository.history(host, &*self.sandbox, &scratch, COMMITS);
        let found = found.unwrap_or_default();
        self.workspace.discard(&scratch);
        found
    }

    /// Returns the run of the original and its trace. Executes the command once for both.
    ///
    /// # Errors
    /// The command cannot be executed.
    pub fn traced(&mut self) -> Result<(Arc<Execution>, Arc<Trace>), ToolError> {
        if let (Some(original), Some(trace)) = (&self.findings.original, &self.findings.trace) {
            return Ok((Arc::clone(original), Arc::clone(trace)));
        }
        let kept = self.traces.clone().and_then(|directory| {
            // Without their state nothing is kept.
            Some((self.trace_key(), TraceStore::files(&self.repository).ok()?, directory))
        });
        if let Some((key, files, directory)) = &kept {
            let (reuse, found) = TraceStore::new(directory).get(key, files);
            self.findings.reuse = Some(reuse);
            if let Some((original, trace)) = found {
                return Ok(self.remember_original(original, trace));
            }
        }
        let options = TraceOptions { patience: self.patience, ..TraceOptions::default() };
        let (original, trace) = match self.forked_original(options)? {
            Some(MadeRun { execution, trace: Some(trace), directory, scratch, .. }) => {
                self.normalized(execution, trace, &directory, &scratch)?
            }
            _ => self.traced_cold(options)?,
        };
        if original.status == Status::Interrupted {
            return Err(ToolError::Fatal("the traced run was interrupted".to_owned()));
        }
        let limit = self.limits.wall;
        if let Err(unusable) = usable_trace(&original, &trace, &self.command, limit) {
            return Err(self.refuse(unusable));
        }
        if let Some((key, files, directory)) = kept {
            TraceStore::new(&directory).put(&key, files, &original, &trace);
        }
        Ok(self.remember_original(original, trace))
    }

    /// Runs the original under the tracer, in a process of its own.
    fn traced_cold(&mut self, options: TraceOptions) -> Result<(Execution, Trace), ToolError> {
        let directory = self.workspace.copy(&self.repository)?;
        let scratch = self.workspace.directory("trace")?;
        let spec = self.spec(&self.environment, &self.command, &directory, &scratch);
        let run = trace_with(&spec, Observer::default(), options);
        let unusable =
            run.as_ref().err().and_then(|error| Unusable::of_error(error, &self.command));
        let result = run
            .map_err(ToolError::from)
            .and_then(|(original, trace)| self.normalized(original, trace, &directory, &scratch));
        self.workspace.discard(&directory);
        self.workspace.discard(&scratch);
        match unusable {
            Some(unusable) => Err(self.refuse(unusable)),
            None => result,
        }
    }

    /// Normalises a run of the original.
    fn normalized(
        &self,
        execution: Execution,
        trace: Trace,
        directory: &Path,
        scratch: &Path,
    ) -> Result<(Execution, Trace), ToolError> {
        let internal = Internal::of(&trace, directory, &self.command)?;
        let normalizer = Normalizer::of_run(directory, scratch, &internal, None);
        Ok((normalizer.execution(&execution), trace))
    }

    /// Runs the command on the original as it is, once: nothing is normalised, and the session keeps nothing of it.
    ///
    /// # Errors
    /// The command cannot be executed, or gives nothing to reproduce.
    pub fn plain(&mut self) -> Result<Execution, ToolError> {
        let directory = self.workspace.copy(&self.repository)?;
        let scratch = self.workspace.directory("plain")?;
        let run = execute(&self.spec(&self.environment, &self.command, &directory, &scratch));
        self.workspace.discard(&directory);
        self.workspace.discard(&scratch);
        let run = match run {
            Ok(run) => run,
            Err(error) => {
                return Err(match Unusable::of_error(&error, &self.command) {
                    Some(unusable) => self.refuse(unusable),
                    None => error.into(),
                });
            }
        };
        match usable(&run, &self.command, self.limits.wall) {
            Ok(()) => Ok(run),
            Err(unusable) => Err(self.refuse(unusable)),
        }
    }

    /// Forgets all findings but the graph of the repository, as if the session had just begun.
    pub fn forget(&mut self) {
        let graph = self.findings.graph.take();
        let mut findings =
            std::mem::replace(&mut self.findings, Findings { graph, ..Findings::default() });
        if let Some(pristine) = findings.pristine.take() {
            self.workspace.discard(&pristine.directory);
        }
    }

    /// Gives what other sessions can use after this one: the workspace, and the processes that wait.
    pub fn into_parts(mut self) -> (Workspace, Option<Forks>) {
        self.forget();
        let forks = self.end_forks();
        (self.workspace, forks)
    }

    /// Traces another command on the original, which may be `python -c CODE`; the session keeps nothing of it.
    ///
    /// # Errors
    /// The command cannot be run.
    pub fn trace_of(&mut self, text: &str) -> Result<(Arc<Execution>, Arc<Trace>), ToolError> {
        let (command, code) = Command::with_inline(text, INLINE_SCRIPT)
            .map_err(|error| Problem::BadArguments.because(error))?;
        if command.to_string() == self.command.to_string() {
            return self.traced();
        }
        let directory = self.workspace.copy(&self.repository)?;
        let scratch = self.workspace.directory("trace")?;
        if let Some(code) = code {
            let written = std::fs::write(directory.join(INLINE_SCRIPT), code);
            written.map_err(|error| ToolError::Fatal(format!("write {INLINE_SCRIPT}: {error}")))?;
        }
        let spec = self.spec(&self.environment, &command, &directory, &scratch);
        let options = TraceOptions { patience: self.patience, ..TraceOptions::default() };
        let run = trace_with(&spec, Observer::default(), options);
        self.workspace.discard(&directory);
        self.workspace.discard(&scratch);
        let (execution, mut trace) =
            run.map_err(|error| match Unusable::of_error(&error, &command) {
                Some(unusable) => Problem::Failed.because(unusable),
                None => ToolError::from(error),
            })?;
        trace.files.retain(|file| file.path != INLINE_SCRIPT);
        if execution.status == Status::Interrupted {
            return Err(ToolError::Fatal("the traced run was interrupted".to_owned()));
        }
        Ok((Arc::new(execution), Arc::new(trace)))
    }

    fn remember_original(
        &mut self,
        original: Execution,
        trace: Trace,
    ) -> (Arc<Execution>, Arc<Trace>) {
        let (original, trace) = (Arc::new(original), Arc::new(trace));
        self.findings.original = Some(Arc::clone(&original));
        self.findings.trace = Some(Arc::clone(&trace));
        (original, trace)
    }

    /// Returns the key of a trace: its inputs other than the files of the repository.
    fn trace_key(&self) -> String {
        let environment = &self.environment;
        let parts = [
            env!("CARGO_PKG_VERSION").to_owned(),
            // Another tracer may see more.
            TRACER.to_owned(),
            self.sandbox.name().to_owned(),
            self.repository.root.to_string_lossy().into_owned(),
            // Texts may depend on the length of a path.
            self.workspace.root().as_os_str().len().to_string(),
            self.command.to_string(),
            format!("{:?} {} {:?}", self.limits, self.hash_seed, self.variables),
            self.patience.to_string(),
            format!("{:?} {:?}", environment.python, environment.version),
            format!("{:?} {:?}", environment.pythonpath, environment.distributions()),
        ];
        blake3::hash(parts.join("\0").as_bytes()).to_hex()[..32].to_owned()
    }

    /// Remembers that there is nothing to reproduce.
    fn refuse(&mut self, unusable: Unusable) -> ToolError {
        let unusable = unusable.with_near_tests(&self.repository, &self.command);
        let refusal = Problem::Failed.because(&unusable);
        self.findings.unusable = Some(unusable);
        refusal
    }

    /// Returns another run of the original, under another hash seed, to detect varying output.
    pub(crate) fn once_more(&mut self) -> Result<Arc<Execution>, ToolError> {
        if let Some(again) = &self.findings.again {
            return Ok(Arc::clone(again));
        }
        let (_, trace) = self.traced()?;
        let directory = self.workspace.copy(&self.repository)?;
        let scratch = self.workspace.directory("again")?;
        let internal = Internal::of(&trace, &directory, &self.command)?;
        let normalizer = Normalizer::of_run(&directory, &scratch, &internal, None);
        let spec = self.spec(&self.environment, &self.command, &directory, &scratch);
        let result = execute(&RunSpec { hash_seed: self.hash_seed + 1, ..spec });
        self.workspace.discard(&directory);
        self.workspace.discard(&scratch);
        let again = Arc::new(normalizer.execution(&result?));
        self.findings.again = Some(Arc::clone(&again));
        Ok(again)
    }

    /// Returns the modules and names that loaded compiled extensions import from internal modules.
    pub(crate) fn needs_of_extensions(&mut self) -> Result<Vec<(String, String)>, ToolError> {
        let (_, trace) = self.traced()?;
        let Some(program) = extensions::program(&trace) else { return Ok(Vec::new()) };
        let original = self.workspace.copy(&self.repository)?;
        let into = self.workspace.directory("extensions")?;
        let scratch = self.workspace.directory("scratch")?;
        let internal = Internal::of(&trace, &original, &self.command)?;
        let log = self.ask_extensions(&program, &internal, &original, &into, &scratch);
        for directory in [&original, &into, &scratch] {
            self.workspace.discard(directory);
        }
        Ok(extensions::read(&log?))
    }

    fn ask_extensions(
        &self,
        program: &str,
        internal: &Internal,
        original: &Path,
        into: &Path,
        scratch: &Path,
    ) -> Result<String, ToolError> {
        let command = Command::parse(&format!("python {GIST_NAME}"))
            .map_err(|error| ToolError::Fatal(error.to_string()))?;
        let (place, gist) = (GistPlace::Root, program);
        let spec = CandidateSpec { original, internal, gist, place, command: &command };
        let candidate = lay_out(&spec, into)?;
        let log = scratch.join(PROBE_LOG);
        let mut variables = self.variables.clone();
        variables.insert(PROBE_VARIABLE.to_owned(), log.to_string_lossy().into_owned());
        execute(&RunSpec {
            variables: &variables,
            ..self.spec(&self.environment, &candidate.command, &candidate.directory, scratch)
        })?;
        // An extension that ends the process has asked for nothing that could be read.
        Ok(std::fs::read_to_string(&log).unwrap_or_default())
    }
}

impl From<CandidateError> for ToolError {
    fn from(error: CandidateError) -> Self {
        Self::Fatal(error.to_string())
    }
}

impl From<WorkspaceError> for ToolError {
    fn from(error: WorkspaceError) -> Self {
        Self::Fatal(error.to_string())
    }
}

impl From<ExecuteError> for ToolError {
    fn from(error: ExecuteError) -> Self {
        Self::Fatal(error.to_string())
    }
}
