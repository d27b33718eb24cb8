//! The repository and the environment of a row: a pinned release with its lock, or a commit of a clone.

use std::path::{Path, PathBuf};

use ::eval::{IssueRow, MalformedRow, RowRelease, Task, read_issue_rows};
use tools::{
    Artifact, Command, Environment, GitRequest, Repository, Sandbox, Workspace, apply_patch,
};

use super::{
    super::{
        Exit, Failure, OrExit,
        input_file::InputFile,
        progress::ProgressLine,
        surroundings::{Surroundings, of_repository},
        target::{OpenedTarget, Wanted, environment},
    },
    task_directories::{task_directories, task_row},
};
use crate::record::replace;

/// The file of rows that the user names.
pub fn issue_rows(path: &Path) -> InputFile<'_> {
    let hint = "one JSON object a line, as `gistify issues build` or SWE-bench writes them, or a directory of tasks";
    InputFile { what: "rows", path, hint }
}

/// The rows of a file or of a directory of tasks, and what is none there: of a directory with the number and the name of
/// the task.
///
/// # Errors
/// It cannot be read, or nothing in it is a row.
pub fn read_rows(
    path: &Path,
    progress: &ProgressLine,
) -> Result<(Vec<IssueRow>, Vec<MalformedRow>), Failure> {
    let source = issue_rows(path);
    if !path.is_dir() {
        return source.rows(read_issue_rows, progress);
    }
    let tasks = task_directories(path);
    if tasks.is_empty() {
        return Err(source.fault("it has no task.yaml, nor has a directory in it or in its tasks"));
    }
    let text: String = tasks.iter().map(|task| format!("{}\n", task_row(task))).collect();
    let named = |text: &str| {
        let (rows, mut malformed) = read_issue_rows(text);
        for row in &mut malformed {
            let name = tasks[row.line - 1].file_name().unwrap_or_default().to_string_lossy();
            row.reason = format!("{name}: {}", row.reason);
        }
        (rows, malformed)
    };
    source.rows_of(&text, named, progress)
}

/// A row's repository as the user would name it, and the very file for a release.
pub struct RowSource {
    /// The name.
    pub named: String,
    /// The file.
    pub artifact: Option<Artifact>,
}

impl RowSource {
    /// The source of a row; a commit is one of a clone in `clones`, or else of github.com.
    ///
    /// # Errors
    /// There is no such clone.
    pub fn of(row: &IssueRow, clones: Option<&Path>) -> Result<Self, Failure> {
        let named = match (&row.release, clones) {
            (Some(release), _) => return Ok(Self::of_release(release)),
            (None, Some(clones)) => {
                format!("{}@{}", clone_of(clones, row)?.display(), row.base_commit)
            }
            (None, None) => format!("git+https://github.com/{}@{}", row.repo, row.base_commit),
        };
        Ok(Self { named, artifact: None })
    }

    fn of_release(release: &RowRelease) -> Self {
        let RowRelease { package, version, artifact, sha256, .. } = release;
        let artifact = Artifact { file: artifact.clone(), sha256: sha256.to_ascii_lowercase() };
        Self { named: format!("pypi:{package}=={version}"), artifact: Some(artifact) }
    }

    /// Opens the repository.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn open(
        &self,
        around: &Surroundings,
        sandbox: &dyn Sandbox,
        progress: &ProgressLine,
    ) -> Result<Repository, Failure> {
        progress.say(&format!("open {}", self.named));
        around.repository_of(&self.named, self.artifact.as_ref(), sandbox, progress)
    }
}

/// The tests of a row that must change, in a copy of its repository that has them.
pub struct FailingTests {
    /// The copy, and the command of these tests.
    pub target: OpenedTarget,
    /// The place of the copy.
    pub workspace: Workspace,
}

impl FailingTests {
    /// Opens the repository of a row again, with the tests' patch.
    ///
    /// # Errors
    /// The row has no tests of pytest's, its patch does not apply, or the environment cannot be had.
    pub fn of(
        row: &IssueRow,
        source: &RowSource,
        around: &Surroundings,
        progress: &ProgressLine,
    ) -> Result<Self, Failure> {
        let unfit =
            |reason: String| Failure::new(Exit::Input, format!("no failing test: {reason}"));
        if let Some(reason) = row.without_tests() {
            return Err(unfit(reason));
        }
        let sandbox = around.sandbox()?;
        let scratch = around.scratch()?;
        let base = source.open(around, &*sandbox, progress)?;
        let environment = row_environment(row, &base, around, &*sandbox, progress)?;
        let workspace = Workspace::create(&scratch).or_exit(Exit::Infrastructure)?;
        let copy = workspace.copy(&base).or_exit(Exit::Infrastructure)?;
        let request = GitRequest {
            root: &base.root,
            host: &around.host,
            sandbox: &*sandbox,
            scratch: workspace.root(),
        };
        if !row.test_patch.trim().is_empty()
            && let Err(class) =
                apply_patch(&request, &row.test_patch, &copy).map_err(of_repository)?
        {
            return Err(unfit(format!("its test_patch: {}", class.name().replace('_', " "))));
        }
        let words = ["pytest".to_owned()].into_iter().chain(row.fail_to_pass.iter().cloned());
        let command = Command::from_words(words.collect()).or_exit(Exit::Input)?;
        let task = Task::of_command(&source.named, &command.to_string());
        let repository = Repository::of_directory(&copy).map_err(of_repository)?;
        let target = OpenedTarget { task, repository, environment, command, sandbox, scratch };
        Ok(Self { target, workspace })
    }
}

/// The environment of a row's tests: that of its release, or that of the settings.
///
/// # Errors
/// It cannot be had.
pub fn row_environment(
    row: &IssueRow,
    repository: &Repository,
    around: &Surroundings,
    sandbox: &dyn Sandbox,
    progress: &ProgressLine,
) -> Result<Environment, Failure> {
    match &row.release {
        Some(RowRelease { python, requirements, .. }) => {
            pinned_environment(python, requirements, repository, around, sandbox, progress)
        }
        None => {
            let wanted = Wanted::of_settings(around, &repository.label);
            environment(repository, wanted, around, sandbox, progress)
        }
    }
}

/// The environment of a version of Python and the text of a lock, unless the settings name an interpreter.
///
/// # Errors
/// It cannot be had.
pub fn pinned_environment(
    python: &str,
    requirements: &str,
    repository: &Repository,
    around: &Surroundings,
    sandbox: &dyn Sandbox,
    progress: &ProgressLine,
) -> Result<Environment, Failure> {
    let settings = Wanted::of_settings(around, &repository.label);
    if !settings.python.is_empty() {
        return environment(repository, settings, around, sandbox, progress);
    }
    let place = tempfile::tempdir_in(around.scratch()?).or_exit(Exit::Infrastructure)?;
    let lock = place.path().join("requirements.txt");
    replace(&lock, requirements.as_bytes()).or_exit(Exit::Infrastructure)?;
    let wanted = Wanted { python, lock: Some(&lock), release: true, pythonpath: None };
    environment(repository, wanted, around, sandbox, progress)
}

/// The clone of a row's repository.
fn clone_of(clones: &Path, row: &IssueRow) -> Result<PathBuf, Failure> {
    let name = row.repo.rsplit('/').next().unwrap_or_default();
    let places = [row.repo.replace('/', "__"), row.repo.clone(), name.to_owned()];
    let found = places.iter().map(|place| clones.join(place)).find(|place| place.is_dir());
    found.ok_or_else(|| {
        let message =
            format!("no clone of {} in {} ({})", row.repo, clones.display(), places.join(", "));
        Failure::new(Exit::Input, message)
    })
}
