//! From what was typed to a repository, an environment and a command, ready for a session.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use ::eval::{
    Effort, EvaluateSpec, Evaluation, ReferenceSpec, SourceMap, Submission, Task, TaskContext,
    evaluate,
};
use clap::Args;
use tools::{
    Command, Environment, EnvironmentError, Progress, ProvisionRequest, Repository, Sandbox,
    Workspace, default_interpreter, find_interpreter,
};

use super::{
    Exit, Failure, OrExit, flags::Flags, progress::ProgressLine, surroundings::Surroundings,
};

/// A repository and a command to run in it.
#[derive(Debug, Clone, Args)]
pub struct TargetFlags {
    /// A directory, a git URL or path at a revision (PATH@REV, git+URL@REV), or pypi:NAME==VERSION.
    #[arg(default_value = ".")]
    repository: String,
    /// The command, after `--`: `pytest tests/test_x.py::test_y`.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Another command that the gist has to serve as well, quoted as one word; can be given more than
    /// once. All are one run: the same program with the same options.
    #[arg(long, value_name = "COMMAND")]
    also: Vec<String>,
    /// The interpreter, or its version [default: the repository's own choice].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// A directory with interpreters that are not on the PATH; can be given more than once.
    #[arg(long, value_name = "DIR")]
    pythons: Vec<String>,
    /// A file that pins all dependencies: a requirements file, a pylock.toml or a uv.lock. An environment is made of it.
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Place of the gist when it is executed: `beside_test` or `root`.
    #[arg(long, value_name = "PLACE")]
    place: Option<String>,
}

/// The mutants of a judge.
#[derive(Debug, Clone, Args)]
pub struct MutantsFlag {
    /// Measure the sensitivity of a faithful gist by so many mutants of the original.
    #[arg(long, value_name = "N")]
    mutants: Option<u32>,
}

impl MutantsFlag {
    /// Adds the setting that the flag stands for.
    pub fn flags(&self, flags: &mut Flags) {
        flags.number("--mutants", "gist.mutants", self.mutants);
    }
}

/// A target, opened.
pub struct OpenedTarget {
    /// As the records name it.
    pub task: Task,
    /// The repository.
    pub repository: Repository,
    /// The interpreter and packages of its command.
    pub environment: Environment,
    /// The command.
    pub command: Command,
    /// The sandbox.
    pub sandbox: Arc<dyn Sandbox>,
    /// The directory for everything that is executed.
    pub scratch: PathBuf,
}

/// A gist to be judged, and what is known of its writing.
pub struct Judged<'a> {
    /// The gist.
    pub submission: Submission,
    /// The origins of its lines.
    pub source_map: Option<&'a SourceMap>,
    /// The abilities of its writer.
    pub writer: ::eval::WriterAbilities,
    /// The cost of writing it.
    pub effort: Option<Effort>,
}

impl TargetFlags {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--python", "environment.python", self.python.as_deref());
        flags.names("--pythons", "environment.pythons", &self.pythons);
        flags.path("--lock", "environment.lock", self.lock.as_deref());
        flags.text("--place", "gist.place", self.place.as_deref());
        flags
    }

    /// Returns true if a command was given.
    pub fn has_command(&self) -> bool {
        !self.command.is_empty()
    }

    /// Returns the command.
    ///
    /// # Errors
    /// There is none, or it cannot be understood.
    pub fn command(&self) -> Result<Command, Failure> {
        // A command in one word was quoted as a whole.
        let command = match self.command.as_slice() {
            [] => return Err(self.without_command()),
            [line] => Command::parse(line),
            words => Command::from_words(words.to_vec()),
        };
        let mut command = command.or_exit(Exit::Input)?;
        for also in &self.also {
            let also = Command::parse(also).or_exit(Exit::Input)?;
            command = command.and(&also).or_exit(Exit::Input)?;
        }
        Ok(command)
    }

    /// The failure for a missing command, with an example that has the test which was given in its place.
    fn without_command(&self) -> Failure {
        let given = self.repository.as_str();
        let is_test = given.contains("::") || given.ends_with(".py");
        let (place, test) = match is_test {
            true => (".", given),
            false if is_test_program(given) => (".", "tests/test_x.py::test_y"),
            false => (given, "tests/test_x.py::test_y"),
        };
        let message =
            format!("there is no command (write it after `--`: {place} -- pytest {test})");
        Failure::new(Exit::Usage, message)
    }

    /// The same repository with the command of a test, or with a whole command line.
    pub fn with_test(&self, test: &str) -> Self {
        let first = test.split_whitespace().next().unwrap_or_default();
        let is_test = first.contains("::") || first.ends_with(".py");
        let line = if is_test { format!("pytest {test}") } else { test.to_owned() };
        Self { command: vec![line], also: Vec::new(), ..self.clone() }
    }

    /// Finds the repository and its environment, and understands the command. What lies `apart` in the repository is
    /// none of it, as a gist of it is not.
    ///
    /// # Errors
    /// Either cannot be had, or the command is none.
    pub fn open(
        &self,
        around: &Surroundings,
        sandbox: Arc<dyn Sandbox>,
        progress: &ProgressLine,
        apart: &[&Path],
    ) -> Result<OpenedTarget, Failure> {
        let command = self.command()?;
        let scratch = around.scratch()?;
        progress.say(&format!("open {}", self.repository));
        let words = command.words("python");
        let repository =
            around.repository_without(&self.repository, &*sandbox, progress, (apart, &words))?;
        let wanted = Wanted::of_settings(around, &self.repository);
        let mut environment = environment(&repository, wanted, around, &*sandbox, progress)?;
        let given = command.variables().iter().find(|(name, _)| name == "PYTHONPATH");
        environment.put_roots_first(match given {
            Some((_, value)) => roots_below(&repository.root, &repository.root, value),
            None => {
                let value = around.variable("PYTHONPATH").unwrap_or_default();
                let directory = Repository::local_directory(&self.repository);
                directory.map_or_else(Vec::new, |root| roots_below(Path::new("."), &root, &value))
            }
        });
        if command.is_pytest() {
            environment.require_pytest().map_err(of_environment)?;
        }
        let task = Task::of_command(&self.repository, &command.to_string());
        Ok(OpenedTarget { task, repository, environment, command, sandbox, scratch })
    }
}

/// Returns true for the name of a program that runs tests.
pub fn is_test_program(word: &str) -> bool {
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '.');
    matches!(word, "pytest" | "py.test") || word.strip_prefix("python").is_some_and(is_version)
}

/// Returns the directories of a `PYTHONPATH` that lie in a repository, relative to it. `current` is the directory that
/// relative ones start from.
fn roots_below(current: &Path, root: &Path, value: &str) -> Vec<String> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    // An empty entry is the current directory, an empty value is none.
    let entries = value.split(':').filter(|_| !value.is_empty());
    let inside = entries.filter_map(|entry| {
        let path = current.join(entry).canonicalize().ok().filter(|path| path.is_dir())?;
        Some(path.strip_prefix(&root).ok()?.to_str()?.to_owned())
    });
    inside.collect()
}

impl OpenedTarget {
    /// Returns the task for a writer.
    pub fn context<'a>(&'a self, around: &'a Surroundings, record: &'a Path) -> TaskContext<'a> {
        TaskContext {
            task: &self.task,
            repository: &self.repository,
            environment: &self.environment,
            command: &self.command,
            cases: &[],
            place: around.settings.gist.place,
            limits: around.settings.command.limits(),
            record,
            scratch: &self.scratch,
            interrupt: &around.interrupt,
        }
    }

    /// Judges a gist of it.
    ///
    /// # Errors
    /// The command is no task, or the machine fails; a gist that does is a verdict.
    pub fn judge(
        &self,
        around: &Surroundings,
        workspace: &Workspace,
        judged: &Judged<'_>,
        signs: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Result<Evaluation, Failure> {
        let references = around.references();
        let spec = EvaluateSpec {
            original: ReferenceSpec {
                sandbox: &*self.sandbox,
                repository: &self.repository,
                environment: &self.environment,
                command: &self.command,
                limits: around.settings.command.limits(),
                runs: around.settings.reference.runs,
                variables: &BTreeMap::new(),
                workspace,
                caches: &[&references],
                signs,
            },
            task: &self.task.id,
            place: around.settings.gist.place,
            submission: &judged.submission,
            source_map: judged.source_map,
            writer: judged.writer,
            effort: judged.effort.as_ref(),
            alone: None,
            mutants: around.settings.gist.mutants,
            codebases: None,
        };
        evaluate(&spec).map_err(|error| around.unevaluated(error))
    }
}

/// The request for an environment.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// It is for a release of the package index.
    pub release: bool,
    /// A version of Python, the name of a program or a path; empty for the repository's own choice.
    pub python: &'a str,
    /// The file that pins all dependencies.
    pub lock: Option<&'a Path>,
    /// Entries of `PYTHONPATH` in an environment of ours, relative to the root; by default those of its layout.
    pub pythonpath: Option<&'a [String]>,
}

impl<'a> Wanted<'a> {
    /// Returns what the settings want for a repository that is named so.
    pub fn of_settings(around: &'a Surroundings, named: &str) -> Self {
        let settings = &around.settings.environment;
        Self {
            release: named.starts_with("pypi:"),
            python: &settings.python,
            lock: Some(settings.lock.as_path()).filter(|lock| !lock.as_os_str().is_empty()),
            pythonpath: None,
        }
    }
}

/// Returns what the commands of a repository run with: an environment of ours for a release or a lock, else an
/// interpreter of the user's.
///
/// # Errors
/// There is no such interpreter, or an environment cannot be made.
pub fn environment(
    repository: &Repository,
    wanted: Wanted<'_>,
    around: &Surroundings,
    sandbox: &dyn Sandbox,
    progress: &ProgressLine,
) -> Result<Environment, Failure> {
    let version = version(wanted.python);
    let is_path = !wanted.python.is_empty() && version.is_none();
    if is_path && wanted.lock.is_some() {
        let message = format!(
            "--python {}: a lock needs an environment of its own (name a version such as 3.13)",
            wanted.python
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let found = if !is_path && (wanted.release || wanted.lock.is_some()) {
        let request = ProvisionRequest {
            repository,
            host: &around.host,
            python: version,
            lock: wanted.lock,
            pythonpath: wanted.pythonpath,
            rebuild: false,
        };
        let sign = |sign: tools::Progress<'_>| progress.sign(sign);
        Environment::provision(&request, around.store()?, sandbox, &sign)
    } else {
        let python = chosen_interpreter(wanted.python, &repository.root, around)?;
        Environment::of_interpreter(&python, &repository.root, sandbox)
    };
    let found = found.map_err(of_environment)?;
    if let Some(required) = found.unmet_requirement(&repository.root) {
        let (major, minor, micro) = found.version;
        progress.line(&format!(
            "the repository does not allow python {major}.{minor}.{micro} (requires-python {required})"
        ));
    }
    Ok(found)
}

/// A version of Python, where that is what was given: `3.12`.
pub fn version(wanted: &str) -> Option<(u8, u8)> {
    let (major, minor) = wanted.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns the paths of `paths` that the user gave. They are no part of a repository that they lie in.
pub fn given_paths<'a>(paths: &[Option<&'a PathBuf>]) -> Vec<&'a Path> {
    paths.iter().flatten().map(|path| path.as_path()).collect()
}

/// Returns the interpreter that the settings name for a repository, or its default one for an empty name.
///
/// # Errors
/// There is none.
pub fn chosen_interpreter(
    wanted: &str,
    root: &Path,
    around: &Surroundings,
) -> Result<PathBuf, Failure> {
    match wanted {
        "" => default_interpreter(root, &around.host).ok_or_else(|| {
            let message = "no interpreter: the repository has no .venv and the PATH no python3 \
                           (name one with --python)";
            Failure::new(Exit::Environment, message)
        }),
        python => interpreter(python, root, around),
    }
}

/// The interpreter that a path, a version or a program's name means for a repository.
///
/// # Errors
/// There is none.
pub fn interpreter(wanted: &str, root: &Path, around: &Surroundings) -> Result<PathBuf, Failure> {
    if wanted.contains('/') {
        // Not resolved: a virtual environment's interpreter is a link.
        return std::path::absolute(wanted).or_exit(Exit::Environment);
    }
    let name = match wanted.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("python{wanted}"),
        false => wanted.to_owned(),
    };
    find_interpreter(&name, root, &around.host).ok_or_else(|| {
        let message =
            format!("no interpreter {name} on the PATH (name one by its path with --python)");
        Failure::new(Exit::Environment, message)
    })
}

pub fn of_environment(error: EnvironmentError) -> Failure {
    let exit = match &error {
        EnvironmentError::Interrupted
        | EnvironmentError::Cache(tools::CacheError::Interrupted { .. }) => Exit::Interrupted,
        EnvironmentError::Io { .. } | EnvironmentError::Cache(_) | EnvironmentError::Sandbox(_) => {
            Exit::Infrastructure
        }
        _ => Exit::Environment,
    };
    match exit {
        Exit::Interrupted => Failure::new(exit, "interrupted"),
        exit => Failure { exit, error: error.into() },
    }
}
