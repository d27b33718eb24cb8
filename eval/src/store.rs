//! Versioned JSON files, written whole or not at all.
//!
//! A file that is damaged or of another version reads as a typed error, never as half a record.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::json_lines::json_fault;

/// Why a record cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be read.
    #[error("read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The directory has no such file.
    #[error("{path} is no directory of a bench: it has no {name}")]
    NoBench {
        /// The directory.
        path: PathBuf,
        /// The missing file.
        name: &'static str,
    },
    /// The file cannot be written.
    #[error("write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is no such record.
    #[error("read {path}: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The cause, with its position.
        reason: String,
    },
    /// The file is gone, or not the one that was scored.
    #[error("read {path}: it was changed or removed after it was scored")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file is of another version of this program.
    #[error("read {path}: format version {found}, not {expected}")]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that can be read.
        expected: u32,
    },
}

/// A record with a version of its format.
pub trait Record: Serialize + DeserializeOwned {
    /// The version that is written, and the only one that is read.
    const VERSION: u32;
}

/// The plan of a gist, as a run's record has it.
impl Record for graph::Plan {
    const VERSION: u32 = 1;
}

/// A record as it is written: beside its content it has the version of its format.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(inline, rename = "{T}")]
pub struct VersionedRecord<'a, T: Record> {
    #[schemars(extend("const" = T::VERSION))]
    version: u32,
    #[serde(flatten)]
    record: &'a T,
}

impl<'a, T: Record> VersionedRecord<'a, T> {
    /// A record with the version of its type.
    pub fn of(record: &'a T) -> Self {
        Self { version: T::VERSION, record }
    }
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

/// Writes a record: beside its place first, then moved there, so that no reader and no crash ever meets
/// a part of it. Missing directories are made.
///
/// # Errors
/// When the file cannot be written; an older record is then still there.
pub fn write<T: Record>(path: &Path, record: &T) -> Result<(), StoreError> {
    let text = serde_json::to_string_pretty(&VersionedRecord::of(record))
        .map_err(|error| damaged(path, &error))?;
    write_bytes(path, text.as_bytes())
}

/// Returns an error of a temporary file without that file's path, which its users never asked for.
pub fn without_temporary_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path \"").filter(|_| error.raw_os_error().is_none()) {
        Some((cause, _)) => io::Error::new(error.kind(), cause.to_owned()),
        None => error,
    }
}

/// Writes a file whole or not at all.
///
/// # Errors
/// When it cannot be written; an older file is then still there.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let failed = |source| StoreError::Write { path: path.to_path_buf(), source };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    let mut file = tempfile::Builder::new()
        .prefix(".writing-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(parent)
        .map_err(|error| failed(without_temporary_path(error)))?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Reads a record.
///
/// # Errors
/// When it is missing, damaged or of another version.
pub fn read<T: Record>(path: &Path) -> Result<T, StoreError> {
    let text = fs::read_to_string(path)
        .map_err(|source| StoreError::Read { path: path.to_path_buf(), source })?;
    let head: Head = serde_json::from_str(&text).map_err(|error| damaged(path, &error))?;
    if head.version != T::VERSION {
        let (found, expected) = (head.version, T::VERSION);
        return Err(StoreError::Version { path: path.to_path_buf(), found, expected });
    }
    serde_json::from_str(&text).map_err(|error| damaged(path, &error))
}

fn damaged(path: &Path, error: &serde_json::Error) -> StoreError {
    StoreError::Damaged { path: path.to_path_buf(), reason: json_fault(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Number {
        value: u32,
    }

    impl Record for Number {
        const VERSION: u32 = 3;
    }

    #[test]
    fn records_are_read_back_or_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b.json");
        write(&path, &Number { value: 7 }).unwrap();
        assert_eq!(read::<Number>(&path).unwrap(), Number { value: 7 });
        let text = fs::read_to_string(&path).unwrap();
        for (text, part) in [
            (text.replace("\"version\": 3", "\"version\": 2"), "format version 2, not 3"),
            (text[..text.len() - 4].to_owned(), "its JSON is cut off"),
            (String::new(), "its JSON is cut off"),
        ] {
            fs::write(&path, text).unwrap();
            let message = read::<Number>(&path).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
