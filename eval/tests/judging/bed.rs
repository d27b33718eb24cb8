//! The fixtures of these tests: interpreters with pytest, tiny repositories, and one judged gist.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command as Process,
    sync::{LazyLock, OnceLock},
    time::Duration,
};

use gistify_eval::{
    EvalError, EvaluateSpec, Evaluation, OriginalExecution, Reference, ReferenceSpec, SourceMap,
    Submission, VouchedExistence, WholeTestScore, WriterAbilities, evaluate,
};
use tools::{
    Command, Environment, GistPlace, Host, Interrupt, Limits, LocalSandbox, Repository, Workspace,
};

/// A repository of a few files and a command in it.
pub struct Original<'a> {
    /// Path and text of each file.
    pub files: &'a [(&'a str, &'a str)],
    /// The command.
    pub command: &'a str,
}

/// A repository on disk, ready to be judged against.
pub struct Bed {
    directory: tempfile::TempDir,
    pub repository: Repository,
    pub command: Command,
    pub environment: Environment,
    pub limits: Limits,
    pub runs: u32,
    pub mutants: u32,
    pub place: GistPlace,
}

/// Python with pytest, made once a machine; nothing where it cannot be had, which is said.
pub fn environment() -> Option<Environment> {
    static MADE: OnceLock<Option<Environment>> = OnceLock::new();
    MADE.get_or_init(make).clone()
}

fn make() -> Option<Environment> {
    let Some(base) = (9..=13).rev().find_map(interpreter) else {
        eprintln!("skipped: no python3 on this machine");
        return None;
    };
    let user = env::var("USER").unwrap_or_default();
    let cache = env::temp_dir().join(format!("gistify-test-judging-{user}"));
    fs::create_dir_all(&cache).unwrap();
    let lock = File::create(cache.join("lock")).unwrap();
    lock.lock().unwrap();
    let directory = cache.join("environment");
    let python = directory.join("bin/python");
    if !directory.join("ready").exists() {
        let _ = fs::remove_dir_all(&directory);
        let pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "pytest==8.4.2"];
        let made = run(&base, &["-m", "venv", directory.to_str().unwrap()]) && run(&python, &pip);
        if !made {
            eprintln!("skipped: no environment with pytest (no network?)");
            return None;
        }
        fs::write(directory.join("ready"), "").unwrap();
    }
    Some(Environment::of_interpreter(&python, &cache, &LocalSandbox::default()).unwrap())
}

/// The isolated sandbox, as programs are judged in; without it where it cannot be had, which is said.
pub fn sandbox() -> LocalSandbox {
    static MADE: OnceLock<LocalSandbox> = OnceLock::new();
    let make = || {
        let host = Host::from_variables(env::vars());
        LocalSandbox::isolated(&host, Interrupt::new()).unwrap_or_else(|error| {
            eprintln!("without isolation: {error}");
            LocalSandbox::default()
        })
    };
    MADE.get_or_init(make).clone()
}

fn interpreter(minor: u8) -> Option<PathBuf> {
    let name = format!("python3.{minor}");
    let mut places: Vec<PathBuf> =
        env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let root = env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".pyenv")));
    if let Some(versions) = root.and_then(|root| fs::read_dir(root.join("versions")).ok()) {
        places.extend(versions.flatten().map(|entry| entry.path().join("bin")));
    }
    places.into_iter().map(|place| place.join(&name)).find(|path| {
        let told = Process::new(path)
            .args(["-c", "import sys, venv; print(sys.version_info[1])"])
            .output();
        told.is_ok_and(|told| {
            told.status.success() && told.stdout == format!("{minor}\n").as_bytes()
        })
    })
}

fn run(program: &Path, args: &[&str]) -> bool {
    Process::new(program).args(args).status().is_ok_and(|status| status.success())
}

/// Returns the directory of all tests' references: each original is measured once.
fn references() -> &'static Path {
    static DIRECTORY: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());
    DIRECTORY.path()
}

impl Bed {
    /// Lays an original out; nothing without an interpreter.
    pub fn new(original: &Original<'_>) -> Option<Self> {
        let environment = environment()?;
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("original");
        for (path, text) in original.files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let source = if root.join("src").is_dir() { "src" } else { "" };
        Some(Self {
            repository: Repository::of_directory(&root).unwrap(),
            command: Command::parse(original.command).unwrap(),
            environment: Environment { pythonpath: vec![source.to_owned()], ..environment },
            limits: Limits {
                wall: Duration::from_secs(60),
                cpu: Duration::from_secs(60),
                memory: 2 << 30,
                processes: 256,
                output: 4 << 20,
                file: 64 << 20,
                disk: 1 << 30,
            },
            runs: 3,
            mutants: 0,
            place: GistPlace::BesideTest,
            directory,
        })
    }

    /// Judges a text, or the lack of one.
    pub fn judge(
        &self,
        submission: Submission,
        map: Option<&SourceMap>,
    ) -> Result<Evaluation, EvalError> {
        let workspace = Workspace::create(&self.directory.path().join("work")).unwrap();
        let (sandbox, variables) = (sandbox(), BTreeMap::new());
        evaluate(&EvaluateSpec {
            original: ReferenceSpec {
                sandbox: &sandbox,
                repository: &self.repository,
                environment: &self.environment,
                command: &self.command,
                limits: self.limits,
                runs: self.runs,
                variables: &variables,
                workspace: &workspace,
                caches: &[references()],
                signs: &|_| (),
            },
            task: "t",
            place: self.place,
            submission: &submission,
            source_map: map,
            writer: WriterAbilities::default(),
            effort: None,
            alone: None,
            mutants: self.mutants,
            codebases: None,
        })
    }

    /// Returns the reference of the original.
    pub fn reference(&self) -> Reference {
        let workspace = Workspace::create(&self.directory.path().join("work")).unwrap();
        Reference::measure(&ReferenceSpec {
            sandbox: &sandbox(),
            repository: &self.repository,
            environment: &self.environment,
            command: &self.command,
            limits: self.limits,
            runs: self.runs,
            variables: &BTreeMap::new(),
            workspace: &workspace,
            caches: &[references()],
            signs: &|_| (),
        })
        .unwrap()
    }

    /// Judges a text that must have a verdict.
    pub fn verdict(&self, gist: &str) -> Evaluation {
        self.judge(Submission::Written(gist.to_owned()), None).unwrap()
    }
}

/// Returns true if a gist is faithful and verified.
pub fn is_sound(evaluation: &Evaluation) -> bool {
    evaluation.is_faithful() && evaluation.is_verified()
}

/// The scores of an evaluation on one line, as the tables of expectations write them.
pub fn score_line(evaluation: &Evaluation) -> String {
    let scores = &evaluation.scores;
    let fidelity = evaluation.strict().map_or("-".to_owned(), |f| f.score.to_string());
    let existence = scores
        .evidence::<VouchedExistence>()
        .map_or("-".to_owned(), |e| format!("{}/{}", e.existing, e.lines));
    let execution = scores
        .evidence::<OriginalExecution>()
        .map_or("-".to_owned(), |e| format!("{}/{}", e.executed, e.executable));
    let test = scores.value::<WholeTestScore>();
    let test = test.map_or("-".to_owned(), |rate| format!("{:.0}", rate * 100.0));
    let cause =
        evaluation.cause.as_ref().map_or("-".to_owned(), |cause| cause.category.to_string());
    format!(
        "fidelity {fidelity}, existence {existence}, execution {execution}, test {test}, {cause}"
    )
}

/// A text with exact replacements, each of a part that stands in it once.
pub fn edited(text: &str, edits: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (old, new) in edits {
        assert_eq!(text.matches(old).count(), 1, "{old:?} stands in the gist not once");
        text = text.replacen(old, new, 1);
    }
    text
}
