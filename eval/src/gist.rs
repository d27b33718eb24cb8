//! A gist as it comes in: a file that may be anything, or none at all.
//!
//! Reading never follows a link and is bounded; what a gist is worth is decided elsewhere.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

/// A gist, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submission {
    /// Its text.
    Written(String),
    /// It was never written, or cannot be read; the reason.
    Absent(String),
}

/// Why a gist's file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GistError {
    /// There is none.
    #[error("read gist {path}: no such file")]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// It is a directory, a link or a device.
    #[error("read gist {path}: it is {kind} (a gist is a regular file)")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// The kind of the path.
        kind: &'static str,
    },
    /// It is empty.
    #[error("read gist {path}: it is empty")]
    Empty {
        /// The path.
        path: PathBuf,
    },
    /// It is larger than any gist.
    #[error("read gist {path}: {bytes} bytes (a gist has at most {limit})")]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// It is no UTF-8.
    #[error("read gist {path}: no valid utf-8 at byte {at}")]
    NotUtf8 {
        /// The path.
        path: PathBuf,
        /// The offset of the first invalid byte.
        at: usize,
    },
    /// It cannot be read.
    #[error("read gist {path}: {source}")]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// Largest gist that is read, in bytes.
const LARGEST: u64 = 8 << 20;

/// Reads a gist's file, never through a link and never more than 8 MiB.
///
/// # Errors
/// When it is missing, empty, no regular file, too large or no UTF-8.
pub fn read_gist(path: &Path) -> Result<String, GistError> {
    let path_buf = || path.to_path_buf();
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => GistError::Missing { path: path_buf() },
        _ => GistError::Read { path: path_buf(), source },
    };
    let metadata = fs::symlink_metadata(path).map_err(failed)?;
    let kind = metadata.file_type();
    if !kind.is_file() {
        let kind = if kind.is_dir() {
            "a directory"
        } else if kind.is_symlink() {
            "a link"
        } else {
            "a device"
        };
        return Err(GistError::NotAFile { path: path_buf(), kind });
    }
    if metadata.len() > LARGEST {
        let (bytes, limit) = (metadata.len(), LARGEST);
        return Err(GistError::TooLarge { path: path_buf(), bytes, limit });
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.is_empty() {
        return Err(GistError::Empty { path: path_buf() });
    }
    String::from_utf8(bytes).map_err(|error| GistError::NotUtf8 {
        path: path_buf(),
        at: error.utf8_error().valid_up_to(),
    })
}
