//! The interpreter and packages that a command runs with.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A Python interpreter with the packages of a task, without the repository's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Absolute path of the interpreter, not resolved through links (a virtual environment's
    /// interpreter is a link).
    pub python: PathBuf,
    /// Its version: major, minor, micro.
    pub version: (u8, u8, u8),
    /// Directories that the interpreter reads: its prefix, base prefix and site directories.
    pub readable: Vec<PathBuf>,
    /// Entries of `PYTHONPATH`, relative to the repository's root: `""`, `"src"`.
    pub pythonpath: Vec<String>,
}
