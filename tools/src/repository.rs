//! A repository as the user names it, made available read-only.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::snapshot::{Kind, Skipped, Snapshot};

/// A repository on disk, not to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Absolute root.
    pub root: PathBuf,
    /// How the user named it: a path, `pypi:NAME==VERSION`, a git URL at a revision.
    pub label: String,
    /// Content hash over relative paths and bytes of what a run copies.
    pub fingerprint: String,
    /// What runs do not see of it.
    pub skipped: Vec<Skipped>,
}

/// Why a repository cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// There is no such directory, or it cannot be read.
    #[error("read repository {path}: {source}")]
    Read {
        /// What cannot be read.
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
}

impl Repository {
    /// The repository in a directory.
    ///
    /// # Errors
    /// When it is missing, unreadable, empty or has no Python file.
    pub fn of_directory(directory: &Path) -> Result<Repository, RepositoryError> {
        let path = directory.to_path_buf();
        let read = |(path, source)| RepositoryError::Read { path, source };
        let root = directory.canonicalize().map_err(|source| read((path.clone(), source)))?;
        if !root.is_dir() {
            return Err(RepositoryError::NotADirectory { path });
        }
        let snapshot = Snapshot::of(&root).map_err(read)?;
        if snapshot.entries.is_empty() {
            return Err(RepositoryError::Empty { path });
        }
        let is_python = |path: &Path| path.extension().is_some_and(|extension| extension == "py");
        let mut files =
            snapshot.entries.iter().filter(|entry| matches!(entry.kind, Kind::File { .. }));
        if !files.any(|entry| is_python(&entry.path)) {
            return Err(RepositoryError::NotPython { path });
        }
        let fingerprint = snapshot.fingerprint(&root).map_err(read)?;
        let label = directory.display().to_string();
        Ok(Repository { root, label, fingerprint, skipped: snapshot.skipped })
    }
}
