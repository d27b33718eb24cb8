//! Collects the surroundings of the process: the environment, the terminal, the settings, the
//! directories for its own files, and the interrupt.
//!
//! It is the only reader of environment variables in the whole program.

use std::{
    env,
    fs::{self, DirBuilder},
    io::{self, IsTerminal},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use ::eval::EvalError;
use clap::ColorChoice;
use tools::{
    Artifact, Cache, CacheError, DockerOptions, DockerSandbox, Host, Interrupt, LocalSandbox,
    OpenOptions, Repository, RepositoryError, Sandbox, SandboxError, SkipReason,
};

use super::{
    Exit, Failure, Global, OrExit, ProgressChoice,
    companions::bubblewrap_beside,
    flags::Flags,
    help::nearest,
    log::RunLog,
    progress::{ProgressLine, printable},
    target,
};
use crate::{
    config::{Config, SandboxKind, Settings},
    model::{Access, Credentials},
};

/// The surroundings of one run of the program.
pub struct Surroundings {
    /// The merged settings.
    pub config: Config,
    /// The same, typed.
    pub settings: Settings,
    /// Results as JSON.
    pub json: bool,
    /// The amount of output on standard error.
    pub talk: Talk,
    /// Colours on standard output.
    pub color: bool,
    /// The directory of things that can be made again.
    pub cache: PathBuf,
    /// The cache there, once it is used: what it gave out is not removed while it lives.
    opened: OnceLock<Cache>,
    /// The directory of the records of runs.
    pub state: PathBuf,
    /// `DOCKER_HOST`.
    docker_host: Option<String>,
    /// The places of programs, and the sources of packages.
    pub host: Host,
    /// The log, beside a record when there is one.
    pub log: RunLog,
    /// Set when nothing more is to begin.
    pub drain: Interrupt,
    /// Set when everything is to stop.
    pub interrupt: Interrupt,
    /// The settings before those of a scaffold.
    plain: Config,
    /// Keys and addresses of models; the environment comes before the user's own file.
    credentials: Credentials,
}

/// The amount of output on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Talk {
    /// Nothing but errors.
    Quiet,
    /// Lines as things happen.
    Plain,
    /// Lines for each step.
    Verbose,
    /// Lines of JSON.
    Lines,
    /// A bar that is redrawn.
    Bar,
}

impl Surroundings {
    /// Reads the environment and the settings.
    ///
    /// # Errors
    /// Settings that cannot be had; no directory for files of our own.
    pub fn of_process(global: &Global, flags: Flags) -> Result<Self, Failure> {
        let home = directory("HOME");
        let mut config = Config::defaults();
        let user = base("XDG_CONFIG_HOME", home.as_deref(), ".config")
            .map(|base| base.join("config.toml"));
        for path in user.filter(|path| path.exists()).iter().chain(&global.config) {
            config.file(path).or_exit(Exit::Usage)?;
        }
        for setting in &global.set {
            config.set(setting).or_exit(Exit::Usage)?;
        }
        flags.apply(&mut config).or_exit(Exit::Usage)?;
        let plain = config.clone();
        config.apply_scaffold().or_exit(Exit::Usage)?;
        let settings = config.settings().or_exit(Exit::Usage)?;
        let cache = match settings.environment.cache.as_os_str().is_empty() {
            true => base("XDG_CACHE_HOME", home.as_deref(), ".cache"),
            false => Some(settings.environment.cache.clone()),
        };
        let state = base("XDG_STATE_HOME", home.as_deref(), ".local/state");
        let variables: Vec<(String, String)> = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        // The user's own file: one in a repository or in the current directory is never read.
        let own = base("XDG_CONFIG_HOME", home.as_deref(), ".config")
            .and_then(|base| fs::read_to_string(base.join(".env")).ok());
        let own = own.map(|text| Credentials::parse(&text)).unwrap_or_default();
        let lost = |what: &str, name: &str| {
            let message = format!("no directory for {what} (set HOME or {name})");
            Failure::new(Exit::Usage, message)
        };
        let log = RunLog::start(env::var("GISTIFY_LOG").ok().as_deref()).map_err(|reason| {
            let message =
                format!("read GISTIFY_LOG: {reason} (as in debug or gistify_tools=trace)");
            Failure::new(Exit::Usage, message)
        })?;
        let credentials = Credentials::new(variables.iter().cloned().chain(own));
        let mut host = Host::from_variables(variables);
        host.pythons.clone_from(&settings.environment.pythons);
        host.path.extend(env::current_exe().ok().as_deref().and_then(bubblewrap_beside));
        Ok(Self {
            json: global.json,
            talk: talk(global),
            color: colored(global.color),
            opened: OnceLock::new(),
            cache: cache.ok_or_else(|| lost("the cache", "XDG_CACHE_HOME"))?,
            state: state.ok_or_else(|| lost("records", "XDG_STATE_HOME"))?,
            credentials,
            log,
            docker_host: env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty()),
            host,
            drain: Interrupt::new(),
            interrupt: Interrupt::new(),
            plain,
            config,
            settings,
        })
    }

    /// The settings with another model and scaffold.
    ///
    /// # Errors
    /// There is no such scaffold.
    pub fn settings_with(&self, model: &str, scaffold: &str) -> Result<Settings, Failure> {
        let mut config = self.plain.clone();
        config.flag("--model", "writer.model", model).or_exit(Exit::Usage)?;
        config.flag("--scaffold", "writer.scaffold", scaffold).or_exit(Exit::Usage)?;
        config.apply_scaffold().or_exit(Exit::Usage)?;
        config.settings().or_exit(Exit::Usage)
    }

    /// Returns an environment variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<String> {
        env::var(name).ok().filter(|value| !value.is_empty())
    }

    /// Returns the surroundings that models need.
    pub fn access(&self) -> Access {
        let credentials = self.credentials.clone();
        let host = Some(self.host.clone());
        Access { credentials, ask: Arc::new(ask), graphs: self.graphs(), host }
    }

    /// The variables whose names say that their values are secrets.
    pub fn secret_variables(
        &self,
        is_secret: fn(&str) -> bool,
    ) -> impl Iterator<Item = (String, String)> {
        env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(move |(name, _)| is_secret(name))
    }

    /// The releases of a package from one to another, in this order; both are among them.
    ///
    /// # Errors
    /// The index cannot be asked, or does not have both.
    pub fn releases(
        &self,
        package: &str,
        ends: [&str; 2],
        sandbox: &dyn Sandbox,
        progress: &ProgressLine,
    ) -> Result<Vec<String>, Failure> {
        let sign = |sign: tools::Progress<'_>| progress.sign(sign);
        let options = self.opening(sandbox, &sign)?;
        Repository::releases(package, ends, &options).map_err(of_repository)
    }

    /// Returns the directory of stored graphs.
    pub fn graphs(&self) -> Option<PathBuf> {
        Some(self.cache.join("graphs"))
    }

    /// A failure of what was running: the user's wish where there is one, else the machine's.
    pub fn stopped(&self, error: impl Into<anyhow::Error>) -> Failure {
        match self.interrupt.is_triggered() {
            true => Failure::new(Exit::Interrupted, "interrupted"),
            false => Failure { exit: Exit::Infrastructure, error: error.into() },
        }
    }

    /// The failure of an evaluation: of the input where that is wrong, else of the machine.
    pub fn unevaluated(&self, error: EvalError) -> Failure {
        match error {
            EvalError::Interrupted => Failure::new(Exit::Interrupted, "interrupted"),
            EvalError::Command(_)
            | EvalError::Task(_)
            | EvalError::Unusable(_)
            | EvalError::CannotStart { .. }
            | EvalError::Problem { .. } => Failure { exit: Exit::Input, error: error.into() },
            error => self.stopped(error),
        }
    }

    /// The cache.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn store(&self) -> Result<&Cache, Failure> {
        if let Some(cache) = self.opened.get() {
            return Ok(cache);
        }
        let cache =
            Cache::open(&self.cache, self.interrupt.clone()).or_exit(Exit::Infrastructure)?;
        Ok(self.opened.get_or_init(|| cache))
    }

    /// Returns the directory of stored reference runs.
    pub fn references(&self) -> PathBuf {
        self.cache.join("references")
    }

    /// A repository as the user names it.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn repository(
        &self,
        named: &str,
        sandbox: &dyn Sandbox,
        progress: &ProgressLine,
    ) -> Result<Repository, Failure> {
        self.repository_without(named, sandbox, progress, (&[], &[]))
    }

    /// The same, but for what lies `apart` in a directory, and for earlier outputs of gistify that no word of the command
    /// names. They are named on standard error.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn repository_without(
        &self,
        named: &str,
        sandbox: &dyn Sandbox,
        progress: &ProgressLine,
        (apart, command): (&[&Path], &[String]),
    ) -> Result<Repository, Failure> {
        let sign = |sign: tools::Progress<'_>| progress.sign(sign);
        let options = OpenOptions { apart, command, ..self.opening(sandbox, &sign)? };
        let repository = Repository::open(named, &options).map_err(of_repository)?;
        let outputs = repository.skipped.iter().filter(|one| one.reason == SkipReason::Output);
        let outputs: Vec<String> = outputs.map(|one| one.path.display().to_string()).collect();
        match outputs.as_slice() {
            [] => {}
            [one] => progress.line(&format!("left out: {one} (gistify wrote it)")),
            [one, rest @ ..] => progress
                .line(&format!("left out: {one} and {} more (gistify wrote them)", rest.len())),
        }
        Ok(repository)
    }

    /// A repository as a suite or a row names it: of a release the very file.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn repository_of(
        &self,
        named: &str,
        artifact: Option<&Artifact>,
        sandbox: &dyn Sandbox,
        progress: &ProgressLine,
    ) -> Result<Repository, Failure> {
        let sign = |sign: tools::Progress<'_>| progress.sign(sign);
        let options = OpenOptions { artifact, ..self.opening(sandbox, &sign)? };
        Repository::open(named, &options).map_err(of_repository)
    }

    /// Returns the file of a release that was opened.
    ///
    /// # Errors
    /// It cannot be determined, or the name refers to no release.
    pub fn artifact(&self, named: &str, sandbox: &dyn Sandbox) -> Result<Artifact, Failure> {
        let artifact = Repository::artifact(named, &self.opening(sandbox, &|_| {})?);
        artifact
            .map_err(of_repository)?
            .ok_or_else(|| Failure::new(Exit::Input, format!("repository {named} is no release")))
    }

    fn opening<'a>(
        &'a self,
        sandbox: &'a dyn Sandbox,
        progress: &'a dyn Fn(tools::Progress<'_>),
    ) -> Result<OpenOptions<'a>, Failure> {
        Ok(OpenOptions {
            cache: self.store()?,
            sandbox,
            host: &self.host,
            interrupt: &self.interrupt,
            artifact: None,
            python: target::version(&self.settings.environment.python),
            apart: &[],
            command: &[],
            refresh: false,
            progress,
        })
    }

    /// Returns the directory for everything that is executed: a private one within the directory
    /// for temporary files, to which others may write as well.
    ///
    /// # Errors
    /// It cannot be created, or belongs to another user.
    pub fn scratch(&self) -> Result<PathBuf, Failure> {
        // The owner of the process's own entry is its effective user.
        let user = fs::metadata("/proc/self").or_exit(Exit::Infrastructure)?.uid();
        let path = env::temp_dir().join(format!("gistify-{user}"));
        let refused = |reason: String| {
            let message =
                format!("use scratch directory {}: {reason} (set TMPDIR)", path.display());
            Failure::new(Exit::Infrastructure, message)
        };
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(refused(error.to_string()));
            }
            Ok(()) | Err(_) => {}
        }
        match fs::symlink_metadata(&path) {
            Ok(there) if there.is_dir() && there.uid() == user => Ok(path),
            Ok(_) => Err(refused("it is not a directory of yours".to_owned())),
            Err(error) => Err(refused(error.to_string())),
        }
    }

    /// The sandbox of the settings, which ends what runs when the user interrupts.
    ///
    /// # Errors
    /// It cannot be had here. Never is anything less taken in its place.
    pub fn sandbox(&self) -> Result<Arc<dyn Sandbox>, Failure> {
        let sandbox = self.sandbox_of(self.settings.sandbox.kind);
        sandbox.map_err(anyhow::Error::from).map_err(|error| Failure {
            exit: Exit::Infrastructure,
            error: error.context("no sandbox (see `gistify doctor`)"),
        })
    }

    /// Returns the configured engine with an image, or with this machine's own files if `image` is
    /// empty.
    ///
    /// # Errors
    /// It is unavailable here; the error suggests a remedy.
    pub fn docker(&self, image: &str) -> Result<DockerSandbox, SandboxError> {
        let settings = &self.settings.sandbox;
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let options = DockerOptions {
            host: given(&settings.docker_host).or_else(|| self.docker_host.clone()),
            image: given(image),
            runtime: given(&settings.docker_runtime),
        };
        let scratch = self.scratch().map_err(|failure| SandboxError::Unavailable {
            program: PathBuf::from("docker"),
            reason: failure.message(),
        })?;
        DockerSandbox::connect(options, &scratch, self.interrupt.clone())
    }

    /// Returns the sandbox of a kind.
    ///
    /// # Errors
    /// It is unavailable here; the error suggests a remedy.
    pub fn sandbox_of(&self, kind: SandboxKind) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let (host, interrupt) = (&self.host, self.interrupt.clone());
        let settings = &self.settings.sandbox;
        Ok(match kind {
            SandboxKind::Local => Arc::new(LocalSandbox::isolated(host, interrupt)?),
            SandboxKind::Bubblewrap => Arc::new(LocalSandbox::by_bubblewrap(host, interrupt)?),
            SandboxKind::Namespaces => Arc::new(LocalSandbox::by_namespaces(interrupt)?),
            SandboxKind::Docker => Arc::new(self.docker(&settings.docker_image)?),
            SandboxKind::None => Arc::new(LocalSandbox::new(interrupt)),
        })
    }
}

/// The failure of a repository that cannot be had, with its exit code.
pub fn of_repository(error: RepositoryError) -> Failure {
    let exit = match &error {
        RepositoryError::Interrupted | RepositoryError::Cache(CacheError::Interrupted { .. }) => {
            Exit::Interrupted
        }
        RepositoryError::Settings { .. }
        | RepositoryError::Network { .. }
        | RepositoryError::NoGit => Exit::Environment,
        RepositoryError::Cache(_) | RepositoryError::Sandbox(_) => Exit::Infrastructure,
        _ => Exit::Input,
    };
    let hint = match &error {
        RepositoryError::Missing { path } => near_directory(path),
        RepositoryError::NotADirectory { .. } => {
            Some("name the directory of the repository; a test comes after `--`".to_owned())
        }
        _ => None,
    };
    match hint {
        Some(hint) => Failure::new(exit, format!("{error} ({hint})")),
        None => Failure { exit, error: error.into() },
    }
}

/// Returns the hint for a missing directory: the most similar one beside it, or else the form of a command line.
fn near_directory(path: &Path) -> Option<String> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let entries = fs::read_dir(parent.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.path().is_dir());
    let names: Vec<String> =
        directories.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let wanted = path.file_name()?.to_str()?;
    Some(match nearest(wanted, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {}?", path.with_file_name(near).display()),
        None => {
            "name a directory, a commit or a release, see `gistify help repositories`".to_owned()
        }
    })
}

/// Shows a text and reads lines up to an empty one.
fn ask(text: &str) -> io::Result<Option<String>> {
    eprintln!("\n{}\n", printable(text));
    eprint!("> ");
    let mut lines = Vec::new();
    for line in io::stdin().lines() {
        match line? {
            line if line.trim().is_empty() && !lines.is_empty() => {
                return Ok(Some(lines.join("\n")));
            }
            line if line.trim().is_empty() => {}
            line => lines.push(line),
        }
    }
    Ok((!lines.is_empty()).then(|| lines.join("\n")))
}

/// A directory that a variable names; relative ones count for nothing (XDG base directory
/// specification).
fn directory(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Our part of an XDG base directory.
fn base(variable: &str, home: Option<&Path>, below_home: &str) -> Option<PathBuf> {
    directory(variable)
        .or_else(|| home.map(|home| home.join(below_home)))
        .map(|base| base.join("gistify"))
}

fn talk(global: &Global) -> Talk {
    match (global.quiet, global.verbose) {
        (true, _) => Talk::Quiet,
        (_, true) => Talk::Verbose,
        _ if global.progress == ProgressChoice::Json => Talk::Lines,
        _ if io::stderr().is_terminal() => Talk::Bar,
        _ => Talk::Plain,
    }
}

fn colored(choice: ColorChoice) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        // https://no-color.org: any value but the empty one.
        ColorChoice::Auto => {
            io::stdout().is_terminal()
                && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    }
}
