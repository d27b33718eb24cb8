//! The directory of a run's record: its trajectory, trace, gist, source map and scores.
//!
//! It owns names and places, and that a file is complete or absent. Each file's writer owns its
//! format.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use eval::without_temporary_path;
use serde::Serialize;

/// A run's directory.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    path: PathBuf,
}

/// Why a run cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system refused.
    #[error("write {path}: {source}")]
    Write {
        /// The path that was to be written.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The directory that was asked for has files already.
    #[error("use run directory {path}: it is not empty (name another one)")]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
}

impl RunDirectory {
    /// Creates a directory of a new name below `parent`: the time, and a unique suffix.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create_in(parent: &Path) -> Result<Self, RecordError> {
        fs::create_dir_all(parent).map_err(refused(parent))?;
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ-").to_string();
        let made =
            tempfile::Builder::new().prefix(&time).tempdir_in(parent).map_err(refused(parent))?;
        Ok(Self { path: made.keep() })
    }

    /// Makes the directory that the user named, or uses it where it is empty.
    ///
    /// # Errors
    /// It cannot be made, or has files.
    pub fn create_at(path: &Path) -> Result<Self, RecordError> {
        fs::create_dir_all(path).map_err(refused(path))?;
        // Whoever reads the record from elsewhere needs a path that does not depend on where we are.
        let path = fs::canonicalize(path).map_err(refused(path))?;
        match fs::read_dir(&path).map_err(refused(&path))?.next() {
            Some(_) => Err(RecordError::NotEmpty { path }),
            None => Ok(Self { path }),
        }
    }

    /// The directory of a run that is to go on.
    ///
    /// # Errors
    /// There is none.
    pub fn reopen(path: &Path) -> Result<Self, RecordError> {
        Ok(Self { path: fs::canonicalize(path).map_err(refused(path))? })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, whole or not at all.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), RecordError> {
        replace(&self.path.join(name), bytes)
    }

    /// Writes a value as JSON, whole or not at all.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), RecordError> {
        let bytes = serde_json::to_vec_pretty(value).map_err(io::Error::other);
        self.write(name, &bytes.map_err(refused(&self.path.join(name)))?)
    }
}

/// Writes a file beside its place and moves it there; a link in that place is replaced, not followed.
///
/// # Errors
/// The file system refuses.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let written = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(parent.unwrap_or(Path::new(".")))
        .and_then(|mut file| file.write_all(bytes).map(|()| file));
    let file = written.map_err(refused(path))?;
    file.persist(path).map_err(|error| refused(path)(error.error))?;
    Ok(())
}

fn refused(path: &Path) -> impl Fn(io::Error) -> RecordError {
    let path = path.to_owned();
    move |source| RecordError::Write { path: path.clone(), source: without_temporary_path(source) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_named_alone() {
        let error = replace(Path::new("/proc/gist.py"), b"").unwrap_err();
        assert_eq!(
            error.to_string(),
            "write /proc/gist.py: No such file or directory (os error 2)"
        );
    }
}
