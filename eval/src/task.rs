//! Tasks and the suites that name them, read from TOML.
//!
//! A task says what is run and on what; where its repository and environment come from is for the
//! caller. Reading is strict: an unknown key is an error, so that a misspelt one is never ignored.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// Tasks that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suite {
    /// Its name: the file's, without extension.
    pub name: String,
    /// Its tasks, in the file's order.
    pub tasks: Vec<Task>,
}

/// One command on one snapshot of a repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Unique in its suite.
    pub id: String,
    /// The suite's name; empty for a task that comes from the command line.
    pub suite: String,
    /// What is opened in place of a release: a directory, absolute, or a git repository at a revision.
    pub source: Option<String>,
    /// The package, as its index names it.
    pub repo: String,
    /// Its version.
    pub version: String,
    /// File name of the archive that holds it.
    pub artifact: String,
    /// Hex SHA-256 of the archive.
    pub sha256: String,
    /// Directory inside the unpacked archive; `.` for its top.
    pub root: String,
    /// Interpreter version: `3.11`.
    pub python: String,
    /// Entries of `PYTHONPATH` relative to the root; `""` is the root itself.
    pub pythonpath: Vec<String>,
    /// Lock file, relative to the suite's file.
    pub lock: Option<String>,
    /// Base test: its node id without parameters.
    pub test: String,
    /// The command, run in the root.
    pub command: String,
    /// Outcomes over all cases of the test, as the suite's author saw them.
    pub expected: Counts,
    /// How hard the author measured it to be.
    pub difficulty: Difficulty,
    /// Seconds that the command took when the suite was made.
    pub seconds: f64,
    /// Changes to the repository's files before anything is run.
    pub mutations: Vec<Mutation>,
}

/// Numbers of cases by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Passed.
    pub passed: u32,
    /// Skipped.
    pub skipped: u32,
    /// Failed, or with an error in setup or teardown.
    pub failed: u32,
    /// Expected to fail, and did.
    pub xfailed: u32,
}

/// Measured below the repository's root, import time excluded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difficulty {
    /// Function calls.
    pub calls: u64,
    /// Different functions called.
    pub functions: u64,
    /// Files executed.
    pub files: u64,
    /// Lines executed.
    pub lines: u64,
    /// Calls outside test files.
    pub src_calls: u64,
    /// Functions outside test files.
    pub src_functions: u64,
    /// Files that are no test files.
    pub src_files: u64,
    /// Files, import time included.
    pub files_with_imports: u64,
    /// Lines, import time included.
    pub lines_with_imports: u64,
}

/// One exact replacement in a file of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    /// Path relative to the root.
    pub file: String,
    /// Text that stands in it exactly once.
    pub old: String,
    /// What replaces it.
    pub new: String,
}

/// Why a suite or task cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The suite's file cannot be read.
    #[error("read suite {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The suite's file is not what a suite is.
    #[error("read suite {name}: {source}")]
    Syntax {
        /// The suite.
        name: String,
        /// The cause, with its position.
        source: Box<toml::de::Error>,
    },
    /// A key that neither the task nor its suite gives.
    #[error("suite {suite}, task {task}: no {key} (give it in the task or at the top)")]
    Missing {
        /// The suite.
        suite: String,
        /// The task.
        task: String,
        /// The key.
        key: &'static str,
    },
    /// There is nothing to do.
    #[error("suite {name}: it has no task (a draw from which all was dropped leaves such a file)")]
    Empty {
        /// The suite.
        name: String,
    },
    /// A value that cannot be used.
    #[error("suite {suite}, task {task}: {key} {value:?} {problem}")]
    Value {
        /// The suite.
        suite: String,
        /// The task.
        task: String,
        /// The key.
        key: &'static str,
        /// What it says.
        value: String,
        /// Why that is wrong.
        problem: &'static str,
    },
    /// A file to change cannot be read or written.
    #[error("mutate {path}: {source}")]
    Mutate {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The text to change does not stand in the file exactly once.
    #[error("mutate {path}: the old text stands in it {found} times, not once")]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// How often.
        found: usize,
    },
}

impl Suite {
    /// Reads a suite's file.
    ///
    /// # Errors
    /// When it cannot be read, or is no suite.
    pub fn read(path: &Path) -> Result<Self, TaskError> {
        let text = fs::read_to_string(path)
            .map_err(|source| TaskError::Read { path: path.to_path_buf(), source })?;
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
        let mut suite = Self::parse(&name, &text).map_err(|error| match error {
            TaskError::Syntax { source, .. } => {
                TaskError::Syntax { name: path.display().to_string(), source }
            }
            other => other,
        })?;
        let beside = path.parent().unwrap_or(Path::new(""));
        for source in suite.tasks.iter_mut().filter_map(|task| task.source.as_mut()) {
            // A directory is named from where the suite is, as a lock is; anything else is no path.
            let there = beside.join(source.as_str());
            if there.is_dir() {
                *source = there.to_string_lossy().into_owned();
            }
        }
        Ok(suite)
    }

    /// Reads a suite from text.
    ///
    /// # Errors
    /// When it is no suite.
    pub fn parse(name: &str, text: &str) -> Result<Self, TaskError> {
        let mut file: SuiteFile = toml::from_str(text)
            .map_err(|source| TaskError::Syntax { name: name.to_owned(), source: source.into() })?;
        let entries = std::mem::take(&mut file.task);
        if entries.is_empty() {
            return Err(TaskError::Empty { name: name.to_owned() });
        }
        let mut tasks = Vec::with_capacity(entries.len());
        let mut ids = BTreeSet::new();
        for entry in entries {
            let task = entry.resolve(name, &file)?;
            if !ids.insert(task.id.clone()) {
                return Err(value_error(name, &task.id, "id", &task.id, "is used twice"));
            }
            tasks.push(task);
        }
        Ok(Self { name: name.to_owned(), tasks })
    }
}

impl Task {
    /// A task from the command line: no suite, nothing known of it beforehand.
    pub fn of_command(repository: &str, command: &str) -> Self {
        Self {
            id: command.to_owned(),
            suite: String::new(),
            source: None,
            repo: repository.to_owned(),
            version: String::new(),
            artifact: String::new(),
            sha256: String::new(),
            root: ".".to_owned(),
            python: String::new(),
            pythonpath: Vec::new(),
            lock: None,
            test: String::new(),
            command: command.to_owned(),
            expected: Counts::default(),
            difficulty: Difficulty::default(),
            seconds: 0.0,
            mutations: Vec::new(),
        }
    }

    /// Applies the task's mutations to a writable copy of its repository.
    ///
    /// # Errors
    /// When a file cannot be changed, or the old text does not stand in it exactly once.
    pub fn mutate(&self, copy: &Path) -> Result<(), TaskError> {
        for mutation in &self.mutations {
            let path = copy.join(&mutation.file);
            let text = fs::read_to_string(&path)
                .map_err(|source| TaskError::Mutate { path: path.clone(), source })?;
            let found = text.matches(&mutation.old).count();
            if found != 1 {
                return Err(TaskError::Ambiguous { path, found });
            }
            fs::write(&path, text.replacen(&mutation.old, &mutation.new, 1))
                .map_err(|source| TaskError::Mutate { path, source })?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    /// What the suite is for; shown nowhere.
    #[serde(rename = "list")]
    _list: Option<String>,
    /// What its draw depended on, for a suite that was collected.
    #[serde(rename = "seed")]
    _seed: Option<u64>,
    /// What its draw left out, and why.
    #[serde(rename = "dropped", default)]
    _dropped: Vec<DroppedFile>,
    source: Option<String>,
    repo: Option<String>,
    version: Option<String>,
    artifact: Option<String>,
    sha256: Option<String>,
    root: Option<String>,
    python: Option<String>,
    pythonpath: Option<String>,
    lock: Option<String>,
    #[serde(default)]
    task: Vec<TaskFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DroppedFile {
    #[serde(rename = "test")]
    _test: String,
    #[serde(rename = "reason")]
    _reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    id: String,
    source: Option<String>,
    repo: Option<String>,
    version: Option<String>,
    artifact: Option<String>,
    sha256: Option<String>,
    root: Option<String>,
    python: Option<String>,
    pythonpath: Option<String>,
    lock: Option<String>,
    test: String,
    command: String,
    #[serde(default)]
    passed: u32,
    #[serde(default)]
    skipped: u32,
    #[serde(default)]
    failed: u32,
    #[serde(default)]
    xfailed: u32,
    #[serde(default)]
    calls: u64,
    #[serde(default)]
    functions: u64,
    #[serde(default)]
    files: u64,
    #[serde(default)]
    lines: u64,
    #[serde(default)]
    src_calls: u64,
    #[serde(default)]
    src_functions: u64,
    #[serde(default)]
    src_files: u64,
    #[serde(default)]
    files_with_imports: u64,
    #[serde(default)]
    lines_with_imports: u64,
    #[serde(default)]
    seconds: f64,
    #[serde(default)]
    mutation: Vec<Mutation>,
}

impl TaskFile {
    fn resolve(self, suite: &str, shared: &SuiteFile) -> Result<Task, TaskError> {
        let id = self.id;
        let source = self.source.or_else(|| shared.source.clone());
        // Only a release has to be pinned.
        let unpinned = source.as_ref().map(|_| String::new());
        let given = |own: Option<String>, shared: &Option<String>, key: &'static str| {
            let found = own.or_else(|| shared.clone()).or_else(|| unpinned.clone());
            found.ok_or_else(|| TaskError::Missing {
                suite: suite.to_owned(),
                task: id.clone(),
                key,
            })
        };
        let repo = given(self.repo, &shared.repo, "repo")?;
        let version = given(self.version, &shared.version, "version")?;
        let artifact = given(self.artifact, &shared.artifact, "artifact")?;
        let sha256 = given(self.sha256, &shared.sha256, "sha256")?;
        let root = given(self.root, &shared.root, "root")?;
        let python = given(self.python, &shared.python, "python")?;
        let pythonpath = given(self.pythonpath, &shared.pythonpath, "pythonpath")?;
        let lock = self.lock.or_else(|| shared.lock.clone());
        let wrong = |key, value: &str, problem| Err(value_error(suite, &id, key, value, problem));
        let pinned = source.is_none() || !sha256.is_empty();
        if pinned && (sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            return wrong("sha256", &sha256, "is no hex sha-256");
        }
        if self.command.trim().is_empty() {
            return wrong("command", &self.command, "is empty");
        }
        let inside = [("root", &root), ("pythonpath", &pythonpath)];
        let files = self.mutation.iter().map(|mutation| ("mutation.file", &mutation.file));
        let lock_path = lock.iter().map(|lock| ("lock", lock));
        for (key, path) in inside.into_iter().chain(files).chain(lock_path) {
            for part in path.split(':') {
                if !stays_inside(part) {
                    return wrong(key, path, "leads outside");
                }
            }
        }
        if self.mutation.iter().any(|mutation| mutation.old == mutation.new) {
            return wrong("mutation.new", &self.mutation[0].new, "changes nothing");
        }
        Ok(Task {
            suite: suite.to_owned(),
            source,
            repo,
            version,
            artifact,
            sha256: sha256.to_ascii_lowercase(),
            root,
            python,
            pythonpath: pythonpath
                .split(':')
                .map(|entry| if entry == "." { String::new() } else { entry.to_owned() })
                .collect(),
            lock,
            test: self.test,
            command: self.command,
            expected: Counts {
                passed: self.passed,
                skipped: self.skipped,
                failed: self.failed,
                xfailed: self.xfailed,
            },
            difficulty: Difficulty {
                calls: self.calls,
                functions: self.functions,
                files: self.files,
                lines: self.lines,
                src_calls: self.src_calls,
                src_functions: self.src_functions,
                src_files: self.src_files,
                files_with_imports: self.files_with_imports,
                lines_with_imports: self.lines_with_imports,
            },
            seconds: self.seconds,
            mutations: self.mutation,
            id,
        })
    }
}

fn stays_inside(path: &str) -> bool {
    Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn value_error(
    suite: &str,
    task: &str,
    key: &'static str,
    value: &str,
    problem: &'static str,
) -> TaskError {
    TaskError::Value {
        suite: suite.to_owned(),
        task: task.to_owned(),
        key,
        value: value.to_owned(),
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "repo = 'r'\nversion = '1'\nartifact = 'r-1.tar.gz'\nroot = 'r-1'\n\
        python = '3.11'\npythonpath = 'src'\n\
        sha256 = '0123456789012345678901234567890123456789012345678901234567890123'\n";

    fn check(text: &str, expected: Result<usize, &str>) {
        match (Suite::parse("s", &format!("{TOP}{text}")), expected) {
            (Ok(suite), Ok(count)) => assert_eq!(suite.tasks.len(), count, "{text}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (result, _) => panic!("{result:?} is not {expected:?} for {text}"),
        }
    }

    #[test]
    fn suites_are_read_strictly() {
        let task = "[[task]]\nid = 'a'\ntest = 't'\ncommand = 'pytest t'\n";
        check(task, Ok(1));
        check(&format!("{task}{task}"), Err("id \"a\" is used twice"));
        check(&format!("{task}color = 1\n"), Err("unknown field `color`"));
        check(&format!("extra = 1\n{task}"), Err("unknown field `extra`"));
        check("[[task]]\nid = 'a'\ntest = 't'\n", Err("missing field `command`"));
        check("[[task]]\nid = 'a'\ntest = 't'\ncommand = ' '\n", Err("is empty"));
        check(&format!("{task}root = '../x'\n"), Err("root \"../x\" leads outside"));
        check(&format!("{task}lock = '/etc/x'\n"), Err("leads outside"));
        check(&format!("{task}sha256 = 'abc'\n"), Err("is no hex sha-256"));
        check("", Err("suite s: it has no task"));
        let change = "[[task.mutation]]\nfile = 'f.py'\nold = 'a'\nnew = ";
        check(&format!("{task}{change}'b'\n"), Ok(1));
        check(&format!("{task}{change}'a'\n"), Err("changes nothing"));
    }

    #[test]
    fn a_key_may_stand_in_the_task_alone() {
        let error = Suite::parse("s", "[[task]]\nid = 'a'\ntest = 't'\ncommand = 'c'\n");
        let message = error.unwrap_err().to_string();
        assert_eq!(message, "suite s, task a: no repo (give it in the task or at the top)");
    }

    #[test]
    fn mutations_replace_exactly_one_place() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f.py");
        let mut task = Task::of_command("r", "pytest t");
        let change = |old: &str| Mutation { file: "f.py".into(), old: old.into(), new: "z".into() };
        fs::write(&file, "a = 1\nb = 1\n").unwrap();
        task.mutations = vec![change("a = 1")];
        task.mutate(directory.path()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "z\nb = 1\n");
        task.mutations = vec![change("q")];
        let message = task.mutate(directory.path()).unwrap_err().to_string();
        assert!(message.ends_with("the old text stands in it 0 times, not once"), "{message}");
    }

    #[test]
    fn the_suites_of_this_repository_can_be_read() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/suites");
        let mut suites = 0;
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            suites += 1;
            for task in Suite::read(&path).unwrap().tasks {
                let lock = task.lock.expect("a task of a suite has a lock");
                assert!(directory.join(&lock).is_file(), "{lock}");
            }
        }
        assert!(suites >= 5, "{suites}");
    }
}
