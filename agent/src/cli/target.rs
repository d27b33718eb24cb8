//! From what was typed to a repository, an environment and a command, ready for a session.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use ::eval::{
    Effort, EvalError, EvaluateSpec, Evaluation, ReferenceSpec, SourceMap, Submission, evaluate,
};
use clap::Args;
use tools::{
    Command, Environment, Findings, LocalSandbox, Repository, Session, Workspace,
    default_interpreter, find_interpreters,
};

use super::{Exit, Failure, OrExit, flags::Flags, progress::Progress, surroundings::Surroundings};

/// A repository and a command to run in it.
#[derive(Debug, Args)]
pub struct Target {
    /// A directory, a git URL or path at a revision (PATH@REV, git+URL@REV), or pypi:NAME==VERSION.
    repository: String,
    /// The command, after `--`: `pytest tests/test_x.py::test_y`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// The interpreter, or its version [default: the repository's own choice].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// Requirements that pin a package's dependencies.
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Where the gist stands when it runs: `beside_test` or `root`.
    #[arg(long, value_name = "PLACE")]
    place: Option<String>,
}

/// What a target stands for.
pub struct Opened {
    /// The repository.
    pub repository: Repository,
    /// What its command runs with.
    pub environment: Environment,
    /// The command.
    pub command: Command,
    /// What runs things.
    pub sandbox: Arc<LocalSandbox>,
}

impl Target {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--python", "environment.python", self.python.as_deref());
        flags.path("--lock", "environment.lock", self.lock.as_deref());
        flags.text("--place", "gist.place", self.place.as_deref());
        flags
    }

    /// Finds the repository and its environment, and understands the command.
    ///
    /// # Errors
    /// Either cannot be had, or the command is none.
    pub fn open(&self, around: &Surroundings, progress: &Progress) -> Result<Opened, Failure> {
        // A command in one word was quoted as a whole.
        let command = match self.command.as_slice() {
            [line] => Command::parse(line),
            words => Command::from_words(words.to_vec()),
        };
        let command = command.or_exit(Exit::Input)?;
        let sandbox = Arc::new(around.sandbox());
        progress.say(&format!("open {}", self.repository));
        let repository = around.repository(&self.repository, &*sandbox, progress)?;
        let python = match around.settings.environment.python.as_str() {
            "" => default_interpreter(&repository.root, &around.host).ok_or_else(|| {
                Failure::new(
                    Exit::Environment,
                    "no interpreter: the repository has no .venv and the PATH no python3 \
                     (name one with --python)",
                )
            })?,
            wanted => interpreter(wanted, around)?,
        };
        let environment = Environment::of_interpreter(&python, &repository.root, &*sandbox)
            .or_exit(Exit::Environment)?;
        if command.is_pytest() {
            environment.require_pytest().or_exit(Exit::Environment)?;
        }
        Ok(Opened { repository, environment, command, sandbox })
    }
}

impl Opened {
    /// Judges a gist of it.
    ///
    /// # Errors
    /// The command is no task, or the machine fails; a gist that does is a verdict.
    pub fn judge(
        &self,
        around: &Surroundings,
        workspace: &Workspace,
        judged: &Judged<'_>,
    ) -> Result<Evaluation, Failure> {
        let references = around.cache.join("references");
        let spec = EvaluateSpec {
            original: ReferenceSpec {
                sandbox: &*self.sandbox,
                repository: &self.repository,
                environment: &self.environment,
                command: &self.command,
                limits: around.settings.command.limits(),
                variables: &BTreeMap::new(),
                workspace,
                cache: Some(&references),
            },
            task: &self.command.to_string(),
            place: around.settings.gist.place,
            submission: &judged.submission,
            source_map: judged.source_map,
            writer: judged.writer,
            effort: judged.effort.as_ref(),
            codebases: None,
        };
        evaluate(&spec).map_err(|error| match error {
            EvalError::Interrupted => Failure::new(Exit::Interrupted, "interrupted"),
            EvalError::Command(_)
            | EvalError::Task(_)
            | EvalError::Unusable(_)
            | EvalError::CannotStart { .. } => Failure { exit: Exit::Input, error: error.into() },
            error => around.stopped(error),
        })
    }

    /// A session on it.
    ///
    /// # Errors
    /// There is no place for its directories.
    pub fn session(&self, around: &Surroundings) -> Result<Session, Failure> {
        let settings = &around.settings;
        let workspace = Workspace::create(&around.scratch()?).or_exit(Exit::Infrastructure)?;
        Ok(Session {
            repository: self.repository.clone(),
            environment: self.environment.clone(),
            command: self.command.clone(),
            place: settings.gist.place,
            sandbox: Arc::clone(&self.sandbox) as _,
            workspace,
            limits: settings.command.limits(),
            hash_seed: 0,
            variables: Default::default(),
            interrupt: around.interrupt.clone(),
            deadline: Instant::now() + Duration::from_secs_f64(settings.session.seconds),
            findings: Findings::default(),
        })
    }
}

/// A gist to be judged, and what is known of its writing.
pub struct Judged<'a> {
    /// The gist.
    pub submission: Submission,
    /// Where its lines come from.
    pub source_map: Option<&'a SourceMap>,
    /// What its writer had.
    pub writer: ::eval::Writer,
    /// What writing it cost.
    pub effort: Option<Effort>,
}

/// The interpreter that a path, a version or a program's name means.
fn interpreter(wanted: &str, around: &Surroundings) -> Result<PathBuf, Failure> {
    if wanted.contains('/') {
        // Not resolved: a virtual environment's interpreter is a link.
        return std::path::absolute(wanted).or_exit(Exit::Environment);
    }
    let name = match wanted.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("python{wanted}"),
        false => wanted.to_owned(),
    };
    let elsewhere = || {
        find_interpreters(&around.host)
            .into_iter()
            .find(|path| path.file_name().is_some_and(|file| *file == *name))
    };
    around.host.find(&name).or_else(elsewhere).ok_or_else(|| {
        let message =
            format!("no interpreter {name} on the PATH (name one by its path with --python)");
        Failure::new(Exit::Environment, message)
    })
}
