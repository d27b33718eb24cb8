//! The repository and the environment of a row: a pinned release with its lock, or a commit of a clone.

use std::path::{Path, PathBuf};

use ::eval::{IssueRow, RowRelease};
use tools::{Artifact, Environment, Repository, Sandbox};

use super::super::{
    Exit, Failure, OrExit,
    progress::ProgressLine,
    surroundings::Surroundings,
    target::{Wanted, environment},
};
use crate::record::replace;

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
    let wanted = Wanted { python, lock: Some(&lock), release: true };
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
