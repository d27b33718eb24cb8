//! A writer of gists: the loop with a model, tools and prompts, from the settings.
//!
//! It combines the parts and runs them once for each session, whether for one user or for the
//! bench. It judges nothing.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use eval::{Attempt, AttemptCount, Effort, Solver, SourceMap, StoreError, TaskContext};
use serde_json::Value;
use tools::{
    Command, Findings, Group, Host, Sandbox, Session, Tool, Toolset, UnknownTool, Workspace,
    WorkspaceError, alone,
};

use crate::{
    agent::Agent,
    config::{Opening, Settings},
    context::Context,
    message::{Answer, Message},
    model::{Access, Model, ModelSupply, Resumed, SupplyError, ToolSpec},
    opening::{OpeningError, opening},
    outcome::Outcome,
    prompt::{PromptError, Prompts, TaskKind},
    trajectory::{
        End, SHELL, Start, TRAJECTORY_VERSION, Trajectory, TrajectoryError, TrajectoryWatch, now,
    },
};

/// Writes gists, one session at a time; several threads may share it.
pub struct Writer {
    name: String,
    models: ModelSupply,
    settings: Settings,
    prompts: Arc<Prompts>,
    sandbox: Arc<dyn Sandbox>,
    graphs: Option<PathBuf>,
    host: Option<Host>,
}

/// The name of a session's record in its directory.
pub const TRAJECTORY: &str = "trajectory.jsonl";
/// The name of the plan of a session's gist, beside the record.
pub const PLAN: &str = "plan.json";

/// Why a writer cannot work.
#[derive(Debug, thiserror::Error)]
pub enum WriterError {
    /// The settings name a model that there is not.
    #[error(transparent)]
    Model(#[from] SupplyError),
    /// The settings name a tool that there is not.
    #[error(transparent)]
    Tool(#[from] UnknownTool),
    /// A prompt is wrong.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The first messages cannot be made.
    #[error(transparent)]
    Opening(#[from] OpeningError),
    /// The session's record cannot be written.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
    /// The plan of the gist cannot be written.
    #[error(transparent)]
    Plan(#[from] StoreError),
    /// The offline model has no tool that writes a gist.
    #[error(
        "scaffold {0} needs a model (name one with -m; `gistify scaffolds` lists those that need none)"
    )]
    NoModel(String),
    /// The system refuses what a loop needs.
    #[error("start the loop: {0}")]
    Runtime(#[from] std::io::Error),
}

impl Writer {
    /// A writer as the settings say.
    ///
    /// # Errors
    /// The settings name a model, tool or prompt that there is not.
    pub fn new(
        settings: Settings,
        sandbox: Arc<dyn Sandbox>,
        access: &Access,
    ) -> Result<Self, WriterError> {
        let directory = &settings.writer.prompts;
        let directory = Some(directory.as_path()).filter(|path| *path != Path::new(""));
        let prompts = Arc::new(Prompts::load(directory)?);
        let toolset = Toolset::named(&settings.writer.all_tools())?;
        for (tool, kind) in toolset.iter().flat_map(|tool| TaskKind::ALL.map(|kind| (tool, kind))) {
            prompts.describe(tool, kind)?;
        }
        let models = ModelSupply::new(&settings, Arc::clone(&prompts), access)?;
        let (scaffold, model) = (settings.writer.scaffold.as_str(), models.name());
        let name = match scaffold == model {
            true => model.to_owned(),
            false => format!("{scaffold} {model}"),
        };
        let (graphs, host) = (access.graphs.clone(), access.host.clone());
        Ok(Self { name, models, settings, prompts, sandbox, graphs, host })
    }

    /// Makes a writer that can write a gist: the offline model needs the tool that slices.
    ///
    /// # Errors
    /// The settings cannot be used, or name a scaffold that needs a model.
    pub fn for_gists(
        settings: Settings,
        sandbox: Arc<dyn Sandbox>,
        access: &Access,
    ) -> Result<Self, WriterError> {
        let writer = Self::new(settings, sandbox, access)?;
        let own = &writer.settings.writer;
        if writer.model() == "offline" && !own.all_tools().iter().any(|tool| tool == "slice") {
            return Err(WriterError::NoModel(own.scaffold.clone()));
        }
        Ok(writer)
    }

    /// Takes part in the rate and the caps of other writers.
    pub fn share<'a>(&mut self, others: impl Iterator<Item = &'a Self>) {
        self.models.share(others.map(|other| &other.models));
    }

    /// Its model's name.
    pub fn model(&self) -> &str {
        self.models.name()
    }

    /// Its prompts.
    pub fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    /// Returns the account of all its sessions so far.
    pub fn spent(&self) -> Arc<crate::model::Spent> {
        self.models.spent()
    }

    /// Its model, for a session whose record is in this directory.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn open_model(
        &self,
        record: &Path,
    ) -> Result<(Box<dyn Model>, crate::ranking::SimilarityMeasure), SupplyError> {
        self.models.open(record)
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns a session on a task, without any findings.
    ///
    /// # Errors
    /// Its directories cannot be created.
    pub fn session(&self, context: &TaskContext<'_>) -> Result<Session, WorkspaceError> {
        let (graphs, host) = (self.graphs.clone(), self.host.clone());
        session(context, &self.settings, Arc::clone(&self.sandbox), graphs, host)
    }

    /// Works on a session to its end, after the answers of an earlier one, and records it in a new file, with the
    /// plan of a gist of the slicer beside it; the gist, where there is one, is then in the session: the one that was handed in, or the best that ran.
    ///
    /// # Errors
    /// The record cannot be written. Everything else is an outcome.
    #[tracing::instrument(level = "info", skip_all, fields(command = %session.command))]
    pub fn write(
        &self,
        session: &mut Session,
        record: &Path,
        before: Vec<Answer>,
        watch: TrajectoryWatch,
    ) -> Result<End, WriterError> {
        let (mut model, ranking) = self.models.open(record.parent().unwrap_or(Path::new("")))?;
        if !before.is_empty() {
            model = Box::new(Resumed::new(self.models.name(), before, Some(model)));
        }
        let toolset = Toolset::named(&self.settings.writer.all_tools())?;
        let mut trajectory = Trajectory::create(record, self.start(session, &*model), watch)?;
        trajectory.count_embeddings(ranking.account());
        // One thread for one session: a tool blocks it, and nothing else is to be done meanwhile.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let agent = Agent {
            model: &mut *model,
            toolset: &toolset,
            session,
            prompts: &self.prompts,
            writer: &self.settings.writer,
            context: Context::new(self.settings.context.clone(), ranking),
            limits: &self.settings.session,
            spent: &self.models.spent(),
            trajectory,
        };
        let end = runtime.block_on(agent.run())?;
        if end.outcome != Outcome::Submitted {
            session.findings.settle();
        }
        if let Some(plan) = &session.findings.plan {
            eval::write(&record.with_file_name(PLAN), plan)?;
        }
        Ok(end)
    }

    /// Returns the first request to a model: the messages, and its tools.
    ///
    /// # Errors
    /// A prompt is wrong, or the scaffold shows a trace and the command cannot be traced.
    pub fn first(
        &self,
        session: &mut Session,
    ) -> Result<([Message; 2], Vec<ToolSpec>), WriterError> {
        let toolset = Toolset::named(&self.settings.writer.all_tools())?;
        let kind = TaskKind::of(session);
        let tools = toolset.iter().map(|tool| self.prompts.describe(tool, kind));
        let tools = tools.collect::<Result<Vec<_>, _>>()?;
        let Settings { writer, session: limits, .. } = &self.settings;
        let scratch = tempfile::tempdir()?;
        let (_, ranking) = self.models.open(scratch.path())?;
        let mut context = Context::new(self.settings.context.clone(), ranking);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let opening = opening(session, &self.prompts, writer, limits, &tools, &mut context);
        let messages = runtime.block_on(opening)?;
        Ok((messages, tools))
    }

    /// Returns the abilities that its tools give the writer.
    pub fn abilities(&self) -> eval::WriterAbilities {
        let tools = self.settings.writer.all_tools();
        let trace = tools.iter().any(|tool| tool == "trace");
        let files = self.settings.writer.opening == Opening::Files;
        // The trace tool executes the command once; what it gives is a trace. A shell may have no interpreter.
        let runs = |name: &str| match name {
            "trace" => false,
            "bash" => self.settings.writer.execution,
            _ => true,
        };
        let execute = Toolset::named(&tools).is_ok_and(|set| {
            set.iter().any(|tool| tool.group() == Group::Execute && runs(tool.name()))
        });
        eval::WriterAbilities { trace: trace || files, execute }
    }

    /// Returns the cost of a session.
    pub fn effort(&self, end: &End, session: &Session) -> Effort {
        let toolset = Toolset::named(&self.settings.writer.all_tools()).ok();
        let mut calls = BTreeMap::new();
        for (group, count) in &end.shell {
            *calls.entry(group.clone()).or_default() += *count as u64;
        }
        for (name, count) in &end.calls {
            if name == SHELL && !end.shell.is_empty() {
                continue;
            }
            let group =
                toolset.as_ref().and_then(|set| set.get(name)).map_or(Group::Other, Tool::group);
            *calls.entry(group.name().to_owned()).or_default() += *count as u64;
        }
        Effort {
            steps: end.steps as u64,
            tokens_in: end.usage.input,
            tokens_out: end.usage.output,
            tokens_cached: end.usage.cached,
            price: end.total_cost(),
            embedding_price: end.embeddings.and_then(|cost| cost.price),
            wall_seconds: end.seconds,
            cpu_seconds: None,
            slicing_cpu_seconds: session.findings.slicing.map(|time| time.as_secs_f64()),
            calls,
            limit: end.outcome.is_limit().then(|| end.outcome.to_string()),
        }
    }

    /// Returns true if an end does not count against the gist. Then the machine or the provider
    /// failed, or other sessions reached the common limits.
    pub fn is_infrastructure(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Fatal { .. } | Outcome::Paused { .. } => true,
            Outcome::StepLimit | Outcome::TokenLimit | Outcome::CostLimit | Outcome::TimeLimit => {
                self.models.spent().check().is_err()
            }
            // The offline model fails for what it finds in the task.
            Outcome::ModelFailure { .. } => self.models.name() != "offline",
            _ => false,
        }
    }

    fn try_attempt(&self, context: &TaskContext<'_>) -> Result<Attempt, String> {
        let mut session = self.session(context).map_err(|error| error.to_string())?;
        let record = context.record.join(TRAJECTORY);
        let end = self
            .write(&mut session, &record, Vec::new(), Box::new(|_| {}))
            .map_err(|error| error.to_string())?;
        let tries_alone = self.settings.bench.alone && session.findings.gist.is_some();
        // A failure of this run leaves the gist and its other measures.
        let found = tries_alone.then(|| alone(&session).ok()).flatten();
        let gist = session.findings.gist.as_ref();
        Ok(Attempt {
            gist: gist.map(|gist| gist.text.clone()).ok_or_else(|| end.outcome.to_string()),
            source_map: source_map(&session),
            outcome: end.outcome.to_string(),
            counts: match &end.outcome {
                Outcome::Unfit { .. } => AttemptCount::Unfit,
                outcome if self.is_infrastructure(outcome) => AttemptCount::Infrastructure,
                _ => AttemptCount::Scored,
            },
            trajectory: Some(record),
            effort: self.effort(&end, &session),
            writer: self.abilities(),
            alone: found,
        })
    }

    /// Returns the beginning of a session's record.
    pub fn start(&self, session: &Session, model: &dyn Model) -> Start {
        let (major, minor, micro) = session.environment.version;
        let versions = BTreeMap::from([
            ("gistify".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("python".to_owned(), format!("{major}.{minor}.{micro}")),
            ("sandbox".to_owned(), session.sandbox.name().to_owned()),
        ]);
        Start {
            version: TRAJECTORY_VERSION,
            time: now(),
            repository: session.repository.label.clone(),
            fingerprint: session.repository.fingerprint.clone(),
            command: session.command.to_string(),
            model: model.name().to_owned(),
            tools: self.settings.writer.all_tools(),
            versions,
            settings: serde_json::to_value(&self.settings).unwrap_or(Value::Null),
        }
    }
}

impl Solver for Writer {
    fn name(&self) -> &str {
        &self.name
    }

    fn attempt(&self, context: &TaskContext<'_>) -> Attempt {
        let one = self.settings.writer.one_case.then(|| first_case(context)).flatten();
        let context = &TaskContext { command: one.as_ref().unwrap_or(context.command), ..*context };
        self.try_attempt(context).unwrap_or_else(|reason| Attempt {
            gist: Err(reason.clone()),
            source_map: None,
            outcome: reason,
            counts: AttemptCount::Infrastructure,
            trajectory: None,
            effort: Effort::default(),
            writer: self.abilities(),
            alone: None,
        })
    }
}

/// Returns the command of the first case by id of a task that has several; `None` for one that has no choice.
fn first_case(context: &TaskContext<'_>) -> Option<Command> {
    match context.cases {
        [first, _, ..] if context.command.is_pytest() => Some(context.command.for_test(first)),
        _ => None,
    }
}

/// Returns the origins of a gist's lines, if the slicer wrote it and nobody changed it.
pub fn source_map(session: &Session) -> Option<SourceMap> {
    let Findings { plan: Some(_), gist: Some(gist), .. } = &session.findings else { return None };
    Some(SourceMap::of(gist))
}

/// Maps the lines of a gist to the repository, by their text.
pub fn matched_map(session: &mut Session) -> Option<SourceMap> {
    let text = session.findings.gist.as_ref()?.text.clone();
    let lines = session.matched(&text).ok()?.gist_lines(&text);
    Some(SourceMap::of(&graph::Gist { text, lines }))
}

/// A session on a task, within the bounds of the settings.
///
/// # Errors
/// There is no place for its directories.
pub fn session(
    context: &TaskContext<'_>,
    settings: &Settings,
    sandbox: Arc<dyn Sandbox>,
    graphs: Option<PathBuf>,
    host: Option<Host>,
) -> Result<Session, WorkspaceError> {
    Ok(Session {
        forks: Mutex::default(),
        workspace: Workspace::create(context.scratch)?,
        repository: context.repository.clone(),
        environment: context.environment.clone(),
        command: context.command.clone(),
        place: context.place,
        sandbox,
        limits: context.limits,
        hash_seed: 0,
        variables: BTreeMap::new(),
        interrupt: context.interrupt.clone(),
        deadline: context.interrupt.now() + Duration::from_secs_f64(settings.session.seconds),
        graphs,
        traces: None,
        patience: tools::PATIENCE,
        signs: Arc::new(|_| {}),
        execution: settings.writer.execution,
        weights: settings.graph.weights,
        host,
        findings: Findings::default(),
    })
}
