//! A repository as the user names it, made available read-only.

use std::path::PathBuf;

/// A repository on disk, not to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Absolute root.
    pub root: PathBuf,
    /// How the user named it: a path, `pypi:NAME==VERSION`, a git URL at a revision.
    pub label: String,
    /// Content hash over relative paths and bytes of what a run copies.
    pub fingerprint: String,
}
