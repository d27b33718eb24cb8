//! `gistify collect`: a suite made of a repository's tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ::eval::{
    CollectEvent, CollectSpec, Collected, ReferenceSpec, SuiteDraft, SuiteOrigin, collect, hardest,
};
use clap::Args;
use serde_json::json;
use tools::{Command, Environment, Repository, Workspace};

use super::{
    Exit, Failure, OrExit,
    destination::{check_file, make_directory},
    flags::Flags,
    progress::{ProgressLine, printable},
    sharing::licence_name,
    surroundings::Surroundings,
    target::{Wanted, environment, of_environment},
};
use crate::record::replace;

#[derive(Debug, Args)]
pub struct Collect {
    /// A directory, a git URL or path at a revision (PATH@REV, git+URL@REV), or pypi:NAME==VERSION.
    repository: String,
    /// Files, directories or node ids to collect from [default: what pytest takes by itself].
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Number of tests to draw; dropped tests are replaced by other ones.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 25)]
    tests: usize,
    /// Seed of the draw, besides the tests' ids.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Count calls as well, which takes each test a run more.
    #[arg(long)]
    calls: bool,
    /// Write two suites more: NAME-dev with this share of the tasks, and NAME-test with the others.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    split: Option<f64>,
    /// Write one suite more: NAME-hard with the 30 tasks of most files, and with --calls of most calls too.
    #[arg(long)]
    hard: bool,
    /// The interpreter, or its version [default: the repository's own choice].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// The suite's file [default: the repository's name, in the current directory].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that exists.
    #[arg(long)]
    force: bool,
}

impl Collect {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--python", "environment.python", self.python.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let sandbox = around.sandbox()?;
        let progress = ProgressLine::new(around.talk);
        let label = label(&self.repository);
        let output = self.output.clone().unwrap_or_else(|| format!("{label}.toml").into());
        if output.extension().is_none_or(|extension| extension != "toml") {
            let message = format!("output {} does not end in .toml", output.display());
            return Err(Failure::new(Exit::Usage, message));
        }
        let asked =
            [("dev", self.split.is_some()), ("test", self.split.is_some()), ("hard", self.hard)];
        let more =
            asked.into_iter().filter(|(_, asked)| *asked).map(|(part, _)| beside(&output, part));
        for path in more.chain([output.clone()]) {
            check_file(&path, self.force)?;
        }
        progress.say(&format!("open {}", self.repository));
        let repository = around.repository(&self.repository, &*sandbox, &progress)?;
        let wanted = Wanted::of_settings(around, &self.repository);
        let (release, python) = (wanted.release, wanted.python);
        let environment = environment(&repository, wanted, around, &*sandbox, &progress)?;
        environment.require_pytest().map_err(of_environment)?;
        let workspace = Workspace::create(&around.scratch()?).or_exit(Exit::Infrastructure)?;
        progress.say("collect");
        let references = around.references();
        // Each test is run by a command of its own.
        let command = Command::from_words(vec!["pytest".to_owned(), ".".to_owned()]);
        let collected = collect(&CollectSpec {
            original: ReferenceSpec {
                sandbox: &*sandbox,
                repository: &repository,
                environment: &environment,
                command: &command.or_exit(Exit::Infrastructure)?,
                limits: around.settings.command.limits(),
                runs: around.settings.reference.runs,
                variables: &Default::default(),
                workspace: &workspace,
                caches: &[&references],
                signs: &|_| (),
            },
            paths: &self.paths,
            tests: self.tests,
            seed: self.seed,
            calls: self.calls,
            progress: &|event| tell(&progress, event),
        });
        progress.clear();
        let collected = collected.map_err(|error| around.unevaluated(error))?;
        let name = output.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let origin = match release {
            true => {
                let lock = format!("locks/requirements-{name}.txt");
                self.release(around, &*sandbox, &repository, &environment, lock)?
            }
            false => {
                SuiteOrigin::Source { source: self.source()?, label, python: python.to_owned() }
            }
        };
        let license = licence_name(&repository.root);
        let text_of = |collected: &Collected| {
            let (seed, license) = (self.seed, license.as_deref());
            let draft = SuiteDraft { name: &name, origin: &origin, seed, collected, license };
            draft.text().or_exit(Exit::Infrastructure)
        };
        let text = text_of(&collected)?;
        write(&output, &origin, &text, &environment)?;
        let dev = self.split.map(|share| {
            let count = (share * collected.drawn.len() as f64).round() as usize;
            collected.drawn.split_at(count.min(collected.drawn.len()))
        });
        let parts = dev
            .into_iter()
            .flat_map(|(dev, test)| [("dev", dev.to_vec()), ("test", test.to_vec())]);
        let hard = self.hard.then(|| ("hard", hardest(&collected.drawn, HARDEST)));
        for (part, drawn) in parts.chain(hard) {
            let path = beside(&output, part);
            let collected = Collected { tests: collected.tests, drawn, dropped: Vec::new() };
            replace(&path, text_of(&collected)?.as_bytes()).or_exit(Exit::Input)?;
        }
        self.show(around, &output, &collected);
        match collected.drawn.is_empty() {
            true => Err(Failure::new(Exit::Input, "no test can be a task")),
            false => Ok(Exit::Success),
        }
    }

    /// A repository of the user's as others find it from anywhere.
    fn source(&self) -> Result<String, Failure> {
        let path = Path::new(&self.repository);
        match path.is_dir() {
            true => {
                let path = fs::canonicalize(path).or_exit(Exit::Input)?;
                Ok(path.to_string_lossy().into_owned())
            }
            false => Ok(self.repository.clone()),
        }
    }

    /// A release with everything that pins it.
    fn release(
        &self,
        around: &Surroundings,
        sandbox: &dyn tools::Sandbox,
        repository: &Repository,
        environment: &Environment,
        lock: String,
    ) -> Result<SuiteOrigin, Failure> {
        let artifact = around.artifact(&self.repository, sandbox)?;
        let named = self.repository.trim_start_matches("pypi:");
        let (repo, version) = named.split_once("==").unwrap_or((named, ""));
        // Without a version the newest was taken, and its file says which that is.
        let wheel = artifact.file.ends_with(".whl");
        let stem = artifact.file.trim_end_matches(".tar.gz").trim_end_matches(".zip");
        let told = if wheel { stem.split('-').nth(1) } else { stem.rsplit('-').next() };
        let told = told.unwrap_or_default();
        let root = repository.root.file_name().unwrap_or_default().to_string_lossy();
        let (major, minor, _) = environment.version;
        Ok(SuiteOrigin::Release {
            repo: repo.to_owned(),
            version: if version.is_empty() { told.to_owned() } else { version.to_owned() },
            root: if wheel { ".".to_owned() } else { root.into_owned() },
            artifact,
            python: format!("{major}.{minor}"),
            pythonpath: environment.pythonpath.clone(),
            lock,
        })
    }

    fn show(&self, around: &Surroundings, output: &Path, collected: &Collected) {
        if around.json {
            let dropped = collected.dropped.iter();
            let dropped: Vec<_> =
                dropped.map(|one| json!({ "test": one.test, "reason": one.reason })).collect();
            let drawn: Vec<_> = collected.drawn.iter().map(|task| &task.test).collect();
            println!(
                "{:#}",
                json!({ "suite": output, "tests": collected.tests, "drawn": drawn, "dropped": dropped })
            );
            return;
        }
        println!(
            "{}: {} tasks of {} tests, {} dropped",
            output.display(),
            collected.drawn.len(),
            collected.tests,
            collected.dropped.len()
        );
        for dropped in &collected.dropped {
            println!("  dropped {}", printable(&format!("{}: {}", dropped.test, dropped.reason)));
        }
    }
}

/// Tasks of the hard subset by each measure (Gistify, section 4.2).
const HARDEST: usize = 30;

/// The path of another suite beside one.
fn beside(output: &Path, part: &str) -> PathBuf {
    let stem = output.file_stem().unwrap_or_default().to_string_lossy();
    output.with_file_name(format!("{stem}-{part}.toml"))
}

fn share(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|share| *share > 0.0 && *share < 1.0);
    value.ok_or_else(|| "not a number between 0 and 1".to_owned())
}

/// Writes the lock first: a suite without its lock is of no use.
fn write(
    output: &Path,
    origin: &SuiteOrigin,
    text: &str,
    environment: &Environment,
) -> Result<(), Failure> {
    if let SuiteOrigin::Release { repo, lock, .. } = origin {
        let path = output.parent().unwrap_or(Path::new("")).join(lock);
        make_directory(path.parent().unwrap_or(Path::new(".")))?;
        replace(&path, SuiteDraft::lock(repo, environment).as_bytes()).or_exit(Exit::Input)?;
    }
    replace(output, text.as_bytes()).or_exit(Exit::Input)
}

/// Returns the name of a repository in ids and files.
fn label(repository: &str) -> String {
    let named = repository.trim_start_matches("pypi:").replace("==", "-");
    let path = named.trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or(path);
    let last = last.split('@').next().unwrap_or(last).trim_end_matches(".git");
    let absolute = fs::canonicalize(path).ok();
    let of_path = absolute.as_deref().and_then(Path::file_name);
    match last {
        "" | "." | ".." => of_path.map_or("suite".to_owned(), |name| name.to_string_lossy().into()),
        last => last.to_owned(),
    }
}

fn tell(progress: &ProgressLine, event: CollectEvent<'_>) {
    match event {
        CollectEvent::Found { tests, cases } => {
            progress.line(&format!("{tests} tests of {cases} cases"));
        }
        CollectEvent::Kept { task, done } => progress.line(&format!("[{done}] {}", task.test)),
        CollectEvent::Dropped(dropped) => {
            progress.line(&format!("dropped {}: {}", dropped.test, dropped.reason));
        }
    }
}
