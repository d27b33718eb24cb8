//! Lists the Python files of a repository, and the files that had to be skipped.
//!
//! The only limit is the size of one file. Unusable files are reported and never fatal: pipes,
//! devices, links that leave the repository, unreadable files.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
    sync::Mutex,
    time::UNIX_EPOCH,
};

use ignore::{DirEntry, WalkBuilder, WalkState};
use serde::{Deserialize, Serialize};

use crate::beneath::open_beneath;

/// The options of the walker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WalkOptions {
    /// Larger files are skipped and reported, in bytes.
    pub largest: u64,
    /// True if `.gitignore` and similar files are obeyed.
    pub obey_ignore_files: bool,
    /// True if names that start with a dot are entered.
    pub hidden: bool,
    /// The paths below the root that do not belong to the repository, relative to the root.
    pub apart: BTreeSet<PathBuf>,
}

impl Default for WalkOptions {
    fn default() -> Self {
        let apart = BTreeSet::new();
        Self { largest: 64 << 20, obey_ignore_files: true, hidden: false, apart }
    }
}

impl WalkOptions {
    /// Returns true if a relative path is, or is below, one of [`apart`](Self::apart).
    pub fn is_apart(&self, path: &str) -> bool {
        let mut plain = PathBuf::new();
        for part in Path::new(path).components() {
            match part {
                Component::Normal(name) => plain.push(name),
                Component::ParentDir => drop(plain.pop()),
                _ => {}
            }
        }
        self.apart.iter().any(|one| plain.starts_with(one))
    }
}

/// A Python file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Relative path, with `/`.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Modification time, nanoseconds since the epoch.
    pub modified: i128,
}

/// A file that was left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SkippedFile {
    /// Relative path, with `/`.
    pub path: String,
    /// Why.
    pub reason: FileSkipReason,
}

/// Why a file was left out or used only in part.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
)]
#[serde(rename_all = "kebab-case")]
pub enum FileSkipReason {
    /// It is larger than the limit.
    #[error("larger than {0} bytes")]
    TooLarge(u64),
    /// It is a pipe, a device or a socket.
    #[error("not a regular file")]
    NotRegular,
    /// It is a link to nothing, to itself, or out of the repository.
    #[error("a link that leads nowhere inside the repository")]
    Link,
    /// Its name is not Unicode.
    #[error("a name that is not unicode")]
    Name,
    /// The system refused.
    #[error("{0}")]
    Unreadable(String),
}

/// Finds the Python files below a directory, sorted by path.
///
/// Stubs (`.pyi`) count only where no source stands beside them.
pub fn walk(root: &Path, options: &WalkOptions) -> (Vec<FoundFile>, Vec<SkippedFile>) {
    let found = Mutex::new((Vec::new(), Vec::new()));
    let real = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let walker = WalkBuilder::new(root)
        .hidden(!options.hidden)
        .ignore(options.obey_ignore_files)
        .git_ignore(options.obey_ignore_files)
        .git_exclude(options.obey_ignore_files)
        .git_global(false)
        .parents(false)
        .follow_links(false)
        .filter_entry(enters)
        .threads(std::thread::available_parallelism().map_or(1, |count| count.get().min(4)))
        .build_parallel();
    walker.run(|| {
        Box::new(|entry| {
            let outcome = match entry {
                Ok(entry) if is_python(entry.path()) => examine(root, &real, &entry, options),
                Ok(_) => return WalkState::Continue,
                Err(error) => Some(Err(skipped_walk(root, &error))),
            };
            let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match outcome {
                Some(Ok(file)) => found.0.push(file),
                Some(Err(skipped)) => found.1.push(skipped),
                None => {}
            }
            WalkState::Continue
        })
    });
    let (mut files, mut skipped) =
        found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    files.retain(|file: &FoundFile| !options.is_apart(&file.path));
    skipped.retain(|file: &SkippedFile| !options.is_apart(&file.path));
    files.sort_unstable_by(|left: &FoundFile, right| left.path.cmp(&right.path));
    skipped.sort_unstable();
    let sources: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    files.retain(|file| match file.path.strip_suffix('i') {
        Some(source) if source.ends_with(".py") => {
            sources.binary_search_by(|path| path.as_str().cmp(source)).is_err()
        }
        _ => true,
    });
    (files, skipped)
}

/// Reads a file of the walk. Refuses a path that has become something else since.
pub(crate) fn read(
    root: &Path,
    path: &str,
    options: &WalkOptions,
) -> Result<Vec<u8>, FileSkipReason> {
    use std::io::Read;
    let unreadable = |error: std::io::Error| FileSkipReason::Unreadable(error.to_string());
    if options.is_apart(path) {
        return Err(FileSkipReason::Unreadable("no part of the repository".to_owned()));
    }
    let file = open_beneath(root, Path::new(path)).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(FileSkipReason::NotRegular);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.take(options.largest.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > options.largest {
        return Err(FileSkipReason::TooLarge(options.largest));
    }
    Ok(bytes)
}

/// Directories that hold no source of the repository itself: caches and virtual environments.
fn enters(entry: &DirEntry) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    if !is_directory || entry.depth() == 0 {
        return true;
    }
    let name = entry.file_name();
    name != "__pycache__" && name != "node_modules" && !entry.path().join("pyvenv.cfg").exists()
}

fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "py" || extension == "pyi")
}

fn examine(
    root: &Path,
    real: &Path,
    entry: &DirEntry,
    options: &WalkOptions,
) -> Option<Result<FoundFile, SkippedFile>> {
    let full = entry.path();
    let Some(path) = relative(root, full) else {
        let path = full.strip_prefix(root).unwrap_or(full).to_string_lossy().into_owned();
        return Some(Err(SkippedFile { path, reason: FileSkipReason::Name }));
    };
    let refuse = |reason| Some(Err(SkippedFile { path: path.clone(), reason }));
    let kind = entry.file_type()?;
    if kind.is_dir() {
        return None;
    }
    let metadata = if kind.is_symlink() {
        match fs::canonicalize(full) {
            Ok(target) if target.starts_with(real) => fs::metadata(full),
            _ => return refuse(FileSkipReason::Link),
        }
    } else {
        fs::symlink_metadata(full)
    };
    let metadata = match metadata {
        Ok(metadata) => metadata,
        Err(error) => return refuse(FileSkipReason::Unreadable(error.to_string())),
    };
    if metadata.is_dir() {
        return None;
    }
    if !metadata.is_file() {
        return refuse(FileSkipReason::NotRegular);
    }
    if metadata.len() > options.largest {
        return refuse(FileSkipReason::TooLarge(options.largest));
    }
    let modified = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .and_then(|age| i128::try_from(age.as_nanos()).ok())
        .unwrap_or(0);
    Some(Ok(FoundFile { path, size: metadata.len(), modified }))
}

fn relative(root: &Path, full: &Path) -> Option<String> {
    let relative: PathBuf = full.strip_prefix(root).ok()?.to_owned();
    let parts: Option<Vec<&str>> =
        relative.components().map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

fn skipped_walk(root: &Path, error: &ignore::Error) -> SkippedFile {
    fn path_of(error: &ignore::Error) -> Option<&Path> {
        match error {
            ignore::Error::WithPath { path, .. } => Some(path),
            ignore::Error::WithLineNumber { err, .. } | ignore::Error::WithDepth { err, .. } => {
                path_of(err)
            }
            _ => None,
        }
    }
    let path = path_of(error).map_or_else(String::new, |path| {
        path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
    });
    SkippedFile { path, reason: FileSkipReason::Unreadable(error.to_string()) }
}
