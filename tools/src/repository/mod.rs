//! Opens a repository by the user's name for it, read-only.
//!
//! The cache stores downloads and checkouts, complete or not at all. A directory of the user is
//! read in place. No code of a repository is executed here.

mod download;
mod git;
mod index;
mod release;
mod revalidate;
mod spec;

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use graph::{History, Texts, WalkOptions};
use serde::{Deserialize, Serialize};

use crate::{
    archive::ArchiveError,
    cache::{Cache, CacheError},
    host::Host,
    output_mark::{is_output, is_output_directory},
    progress::Progress,
    sandbox::{Interrupt, Sandbox, SandboxError},
    snapshot::{EntryKind, PathError, SkipReason, Skipped, Snapshot, in_parallel},
};
pub use download::{Downloader, HttpAnswer};
use git::GitSource;
pub use git::{GitRequest, PatchCheck, apply_patch, check_patch, normal_patch, patch_of};
pub use index::normal_name;
use spec::Spec;

/// A repository on disk, not to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Absolute root.
    pub root: PathBuf,
    /// The user's name for the repository: a path, `pypi:NAME==VERSION`, a git URL at a revision.
    pub label: String,
    /// Content hash over relative paths and bytes of what a run copies.
    pub fingerprint: String,
    /// The entries that runs do not see.
    pub skipped: Vec<Skipped>,
    /// The paths that do not belong to the repository, relative to the root: a gist, or records of
    /// its making.
    pub apart: BTreeSet<PathBuf>,
    /// The commit of a git repository of this machine that its files were checked out from; a work tree has none.
    pub checkout: Option<Checkout>,
}

/// A commit of a git repository of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The work tree or the bare repository.
    pub directory: PathBuf,
    /// The commit's full name.
    pub commit: String,
}

/// The resources for opening a repository.
#[derive(Clone, Copy)]
pub struct OpenOptions<'a> {
    /// The cache of downloads.
    pub cache: &'a Cache,
    /// Runs git, and the interpreter that knows the package index.
    pub sandbox: &'a dyn Sandbox,
    /// The user's machine.
    pub host: &'a Host,
    /// Ends downloads.
    pub interrupt: &'a Interrupt,
    /// For a release: the very file to take.
    pub artifact: Option<&'a Artifact>,
    /// For a release with wheels of several Python versions: the version that will be used.
    pub python: Option<(u8, u8)>,
    /// For a directory: the paths in it that do not belong to the repository, such as a gist.
    pub apart: &'a [&'a Path],
    /// For a directory: the words of its command. A file that they name belongs to the repository, whoever wrote it.
    pub command: &'a [String],
    /// Ask the index again although the answer is in the cache.
    pub refresh: bool,
    /// The receiver of progress messages.
    pub progress: &'a dyn Fn(Progress<'_>),
}

/// A file of a release, pinned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its name in the index.
    pub file: String,
    /// Its checksum, hexadecimal.
    pub sha256: String,
}

/// Why a repository cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// There is nothing of that name.
    #[error("open repository {path}: no such file or directory")]
    Missing {
        /// As it was named.
        path: PathBuf,
    },
    /// The name has no meaning.
    #[error("open repository {spec}: {reason}")]
    Malformed {
        /// As it was named.
        spec: String,
        /// The reason.
        reason: String,
    },
    /// Something of it cannot be read or written.
    #[error("read repository {path}: {}", crate::workspace::explain(.source))]
    Read {
        /// The unreadable path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The path names something else.
    #[error("read repository {path}: not a directory")]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// There is nothing in it.
    #[error("read repository {path}: it is empty")]
    Empty {
        /// The path.
        path: PathBuf,
    },
    /// There is no Python in it.
    #[error("read repository {path}: it has no python file")]
    NotPython {
        /// The path.
        path: PathBuf,
    },
    /// The settings of the package index cannot be determined.
    #[error("find the package index: {reason}")]
    Settings {
        /// The reason.
        reason: String,
    },
    /// A server cannot be reached, or does not answer as it should.
    #[error("download {url}: {reason}")]
    Network {
        /// The address, without secrets.
        url: String,
        /// The failure.
        reason: String,
    },
    /// The index has no such project.
    #[error("find project {project}: no index lists it ({indexes})")]
    NoProject {
        /// The project.
        project: String,
        /// The indexes that were searched.
        indexes: String,
    },
    /// The project has no such release, or none that can be used.
    #[error("find release {release}: {reason}")]
    NoRelease {
        /// The project and version.
        release: String,
        /// The available alternatives.
        reason: String,
    },
    /// A file is not the one that was pinned or promised.
    #[error("check {file}: its sha256 is {found}, not {expected}")]
    Checksum {
        /// The file's name.
        file: String,
        /// The checksum that it should have.
        expected: String,
        /// The checksum that it has.
        found: String,
    },
    /// Git is missing.
    #[error("open repository: there is no git on the path (install git)")]
    NoGit,
    /// Git failed.
    #[error("open repository {repository}: {reason}")]
    Git {
        /// The repository.
        repository: String,
        /// The message of git.
        reason: String,
    },
    /// There is no such revision.
    #[error("open repository {repository}: it has no revision {revision}")]
    NoRevision {
        /// The repository.
        repository: String,
        /// The revision.
        revision: String,
    },
    /// A revision is larger than allowed.
    #[error(
        "open repository {repository}: refused: it has more than {files} files or {bytes} bytes"
    )]
    TooLarge {
        /// The repository.
        repository: String,
        /// The limit.
        files: u64,
        /// The limit.
        bytes: u64,
    },
    /// The user stopped it.
    #[error("open repository: interrupted")]
    Interrupted,
    /// An archive is refused or damaged.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

impl Repository {
    /// Returns the directory of this machine that a name means, also where the repository is one of its revisions
    /// (`PATH@REV`); nothing for other addresses and releases.
    pub fn local_directory(spec: &str) -> Option<PathBuf> {
        match spec::parse(spec).ok()? {
            Spec::Directory(path) | Spec::Git { origin: GitSource::Local(path), .. } => Some(path),
            Spec::Git { .. } | Spec::Release { .. } => None,
        }
    }

    /// Checks what the user names without opening it.
    ///
    /// # Errors
    /// It is malformed, or a directory of this machine that is not there.
    pub fn check_name(spec: &str) -> Result<(), RepositoryError> {
        spec::parse(spec).map(|_| ())
    }

    /// Opens what the user names: a directory, `PATH@REVISION` or an address of git at a revision,
    /// `pypi:NAME==VERSION` or `pypi:NAME` for the newest release.
    ///
    /// Of a release the sdist is taken; a wheel where only that has tests, where there is no sdist,
    /// or where the release has compiled modules and the wheel has tests.
    ///
    /// # Errors
    /// When there is no such thing, it cannot be had, or it is no Python repository.
    #[tracing::instrument(name = "repository", level = "debug", skip(options))]
    pub fn open(spec: &str, options: &OpenOptions<'_>) -> Result<Repository, RepositoryError> {
        let root = match spec::parse(spec)? {
            Spec::Directory(path) => {
                return Repository::without(&path, options.apart, options.command);
            }
            Spec::Git { origin, revision } => {
                let (root, commit) = git::checked_out(&origin, &revision, options)?;
                let checkout = match origin {
                    GitSource::Local(directory) => Some(Checkout { directory, commit }),
                    GitSource::Remote(_) => None,
                };
                let label = spec.to_owned();
                return Ok(Repository { label, checkout, ..Repository::of_directory(&root)? });
            }
            Spec::Release { project, version } => {
                release::unpacked(&project, version.as_ref(), options)?
            }
        };
        Ok(Repository { label: spec.to_owned(), ..Repository::of_directory(&root)? })
    }

    /// Returns the file that [`Repository::open`] uses for a release, or `None` for anything else.
    ///
    /// # Errors
    /// As for opening it.
    pub fn artifact(
        spec: &str,
        options: &OpenOptions<'_>,
    ) -> Result<Option<Artifact>, RepositoryError> {
        match spec::parse(spec)? {
            Spec::Directory(_) | Spec::Git { .. } => Ok(None),
            Spec::Release { project, version } => {
                release::chosen(&project, version.as_ref(), options).map(Some)
            }
        }
    }

    /// The releases of a project from one to another, in this order; both are among them. Of preliminary ones
    /// only ends count, and none that was withdrawn.
    ///
    /// # Errors
    /// The index cannot be asked, or does not have both.
    pub fn releases(
        project: &str,
        ends: [&str; 2],
        options: &OpenOptions<'_>,
    ) -> Result<Vec<String>, RepositoryError> {
        release::between(project, ends, options)
    }

    /// The repository in a directory.
    ///
    /// # Errors
    /// When it is missing, unreadable, empty or has no Python file.
    pub fn of_directory(directory: &Path) -> Result<Repository, RepositoryError> {
        Self::without(directory, &[], &[])
    }

    /// The same, but for `others` and for earlier outputs of gistify that no word of `command` names.
    fn without(
        directory: &Path,
        others: &[&Path],
        command: &[String],
    ) -> Result<Repository, RepositoryError> {
        let path = directory.to_path_buf();
        let root = directory.canonicalize().map_err(|source| read((path.clone(), source)))?;
        if !root.is_dir() {
            return Err(RepositoryError::NotADirectory { path });
        }
        let places = others.iter().flat_map(|path| places(path));
        let inside = places.filter_map(|path| Some(path.strip_prefix(&root).ok()?.to_owned()));
        let mut apart: BTreeSet<PathBuf> =
            inside.filter(|path| !path.as_os_str().is_empty()).collect();
        let mut snapshot = Snapshot::without(&root, &apart).map_err(read)?;
        let outputs = outputs(&root, &snapshot, command);
        if !outputs.is_empty() {
            apart.extend(outputs.iter().cloned());
            snapshot = Snapshot::without(&root, &apart).map_err(read)?;
            let skipped = |path| Skipped { path, reason: SkipReason::Output };
            snapshot.skipped.extend(outputs.into_iter().map(skipped));
        }
        if snapshot.entries.is_empty() {
            return Err(RepositoryError::Empty { path });
        }
        let is_python = |path: &Path| path.extension().is_some_and(|extension| extension == "py");
        let mut files =
            snapshot.entries.iter().filter(|entry| matches!(entry.kind, EntryKind::File { .. }));
        if !files.any(|entry| is_python(&entry.path)) {
            return Err(RepositoryError::NotPython { path });
        }
        let fingerprint = snapshot.fingerprint(&root).map_err(read)?;
        let label = path.display().to_string();
        let skipped = snapshot.skipped;
        Ok(Repository { root, label, fingerprint, skipped, apart, checkout: None })
    }

    /// The same repository in another directory, which has a copy of its files, and more.
    pub(crate) fn moved_to(&self, root: PathBuf) -> Result<Repository, RepositoryError> {
        let snapshot = Snapshot::of(&root).map_err(read)?;
        let fingerprint = snapshot.fingerprint(&root).map_err(read)?;
        Ok(Repository { root, fingerprint, apart: BTreeSet::new(), ..self.clone() })
    }

    /// Returns the commits of each Python file, and the time of the last: of the newest `commits` all but merges. A
    /// directory without git has none, nor has a revision of another machine.
    ///
    /// # Errors
    /// Git is missing or fails, or its files cannot be read.
    pub fn history(
        &self,
        host: &Host,
        sandbox: &dyn Sandbox,
        scratch: &Path,
        commits: u32,
    ) -> Result<History, RepositoryError> {
        let (root, revision) = match &self.checkout {
            Some(Checkout { directory, commit }) => (directory.as_path(), commit.as_str()),
            None if self.root.join(".git").exists() => (self.root.as_path(), "HEAD"),
            None => return Ok(History::default()),
        };
        git::history(&GitRequest { root, host, sandbox, scratch }, revision, commits)
    }

    /// Returns the options for walking its files.
    pub fn walk(&self) -> WalkOptions {
        WalkOptions { apart: self.apart.clone(), ..WalkOptions::default() }
    }

    /// The texts of its files.
    pub fn texts(&self) -> Texts {
        Texts::new(&self.root, self.walk())
    }

    /// Returns the files of the repository that a run sees.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, PathError> {
        Snapshot::without(&self.root, &self.apart)
    }
}

/// Returns the outputs of gistify in a directory: files, and directories without what is in them. Those that a word of
/// the command names, or a file in them, are none.
fn outputs(root: &Path, snapshot: &Snapshot, command: &[String]) -> Vec<PathBuf> {
    let named: Vec<&Path> = command
        .iter()
        .map(|word| word.split("::").next().unwrap_or_default())
        .map(|word| Path::new(word.trim_start_matches("./")))
        .collect();
    let tested = in_parallel(&snapshot.entries, |entry| {
        let is_named = named.iter().any(|path| path.starts_with(&entry.path));
        Ok::<_, std::convert::Infallible>(match entry.kind {
            _ if is_named => false,
            EntryKind::Directory => is_output_directory(&root.join(&entry.path)),
            EntryKind::File { .. } => {
                entry.path.extension().is_some_and(|extension| extension == "py")
                    && is_output(&root.join(&entry.path))
            }
            EntryKind::Link { .. } => false,
        })
    });
    let Ok(tested) = tested;
    let mut found: Vec<PathBuf> = Vec::new();
    // A directory comes before its contents.
    for (entry, _) in snapshot.entries.iter().zip(tested).filter(|(_, is_output)| *is_output) {
        if !found.iter().any(|above| entry.path.starts_with(above)) {
            found.push(entry.path.clone());
        }
    }
    found
}

/// Returns the real path behind `path`, and the path itself with only its parents resolved. The
/// second exists even if `path` is a link or nothing is there yet.
fn places(path: &Path) -> Vec<PathBuf> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let standing = path.ancestors().skip(1).find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    path.canonicalize().ok().into_iter().chain(standing).collect()
}

fn read((path, source): PathError) -> RepositoryError {
    RepositoryError::Read { path, source }
}

/// A directory in the cache for work in progress.
fn scratch(cache: &Cache) -> Result<tempfile::TempDir, RepositoryError> {
    let made = tempfile::Builder::new().prefix(".scratch-").tempdir_in(cache.root());
    made.map_err(|source| read((cache.root().to_path_buf(), source)))
}
