//! What the tools of one task share: the task's parts, what was found out so far, and the gist as it
//! stands.
//!
//! Whatever runs for a session runs on copies in its workspace, within its bounds.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use graph::{Gist, Plan, Trace};

use crate::{
    candidate::{Candidate, CandidateError, CandidateSpec, Internal, Place, lay_out},
    command::Command,
    environment::Environment,
    execute::{ExecuteError, Execution, RunSpec, execute},
    repository::Repository,
    sandbox::{Interrupt, Limits, Sandbox, Status},
    slice::{PROBE_VARIABLE, Probed, SliceRequest, Slicer},
    tool::{Problem, ToolError},
    trace::trace as trace_run,
    workspace::{Workspace, WorkspaceError},
};

/// One task in work.
pub struct Session {
    /// The repository, never written.
    pub repository: Repository,
    /// What the command runs with.
    pub environment: Environment,
    /// The command.
    pub command: Command,
    /// Where the gist stands.
    pub place: Place,
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
    /// What was found out so far.
    pub findings: Findings,
}

/// What the tools of a session found out.
#[derive(Debug, Default)]
pub struct Findings {
    /// What the command touched on the original, once traced.
    pub trace: Option<Arc<Trace>>,
    /// What the command did on the original, once run.
    pub original: Option<Arc<Execution>>,
    /// The parsed sources of what ran, once something was sliced.
    pub slicer: Option<Slicer>,
    /// What the gist was asked to be, where the slicer wrote it.
    pub request: SliceRequest,
    /// What it keeps, and why.
    pub plan: Option<Plan>,
    /// The gist as it stands.
    pub gist: Option<Gist>,
}

impl Session {
    /// The bounds of one run, cut to what is left of the session's time, but never to less than a
    /// second: a run that cannot start tells nothing.
    pub fn limits(&self) -> Limits {
        let left = self.deadline.saturating_duration_since(Instant::now());
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
        }
    }

    /// What the command did on the original and what it touched there; it runs for that once.
    ///
    /// # Errors
    /// The command cannot be run.
    pub fn traced(&mut self) -> Result<(Arc<Execution>, Arc<Trace>), ToolError> {
        if let (Some(original), Some(trace)) = (&self.findings.original, &self.findings.trace) {
            return Ok((Arc::clone(original), Arc::clone(trace)));
        }
        let directory = self.workspace.copy(&self.repository)?;
        let scratch = self.workspace.directory("trace")?;
        let spec = self.spec(&self.environment, &self.command, &directory, &scratch);
        let result = trace_run(&spec);
        self.workspace.discard(&directory);
        self.workspace.discard(&scratch);
        let (original, trace) = result?;
        if original.status == Status::Interrupted {
            return Err(ToolError::Fatal("the traced run was interrupted".to_owned()));
        }
        let (original, trace) = (Arc::new(original), Arc::new(trace));
        self.findings.original = Some(Arc::clone(&original));
        self.findings.trace = Some(Arc::clone(&trace));
        Ok((original, trace))
    }

    /// What the command does on the gist as it stands.
    ///
    /// The first run of a gist that the slicer wrote is observed, so that the next slice can leave out
    /// what it shows to be needless.
    ///
    /// # Errors
    /// There is no gist, or the command cannot be run.
    pub fn run_gist(&mut self) -> Result<Execution, ToolError> {
        let (_, trace) = self.traced()?;
        let Some(gist) = self.findings.gist.clone() else {
            return Err(Problem::NoGist.because("there is no gist to run"));
        };
        let probed = match (&self.findings.slicer, &self.findings.plan) {
            (Some(slicer), Some(plan)) if !slicer.has_learned() => Some(Probed::new(&gist, plan)),
            _ => None,
        };
        let original = self.workspace.copy(&self.repository)?;
        let into = self.workspace.directory("gist")?;
        let scratch = self.workspace.directory("scratch")?;
        let text = probed.as_ref().map_or(&gist.text, |probed| &probed.text);
        let result = self.lay_out(&trace, &original, text, &into).and_then(|candidate| {
            let log = scratch.join("probe.log");
            let mut variables = self.variables.clone();
            if probed.is_some() {
                variables.insert(PROBE_VARIABLE.to_owned(), log.to_string_lossy().into_owned());
            }
            let spec = RunSpec {
                variables: &variables,
                ..self.spec(&self.environment, &candidate.command, &candidate.directory, &scratch)
            };
            let Some(probed) = &probed else { return Ok((execute(&spec)?, None)) };
            let (execution, trace) = trace_run(&spec)?;
            // Without a stub nothing is logged.
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            Ok((execution, Some(probed.learn(&gist, &trace, &candidate.gist, &log))))
        });
        for directory in [&original, &into, &scratch] {
            self.workspace.discard(directory);
        }
        let (execution, learned) = result?;
        if execution.status == Status::Interrupted {
            return Err(ToolError::Fatal("the run of the gist was interrupted".to_owned()));
        }
        if let (Some(slicer), Some(learned)) = (&mut self.findings.slicer, learned) {
            slicer.learn(learned);
        }
        Ok(execution)
    }

    fn lay_out(
        &self,
        trace: &Trace,
        original: &Path,
        gist: &str,
        into: &Path,
    ) -> Result<Candidate, ToolError> {
        let internal = Internal::of(trace, original, &self.command)?;
        let (place, command) = (self.place, &self.command);
        Ok(lay_out(&CandidateSpec { original, internal: &internal, gist, place, into, command })?)
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
