//! Lists the files of a repository that a run sees, and hashes them.
//!
//! It reads and never writes. A snapshot omits version control, virtual environments and the caches
//! of tools. It omits and reports anything other than regular files, directories and links within
//! the repository. It follows no link and opens no pipe or device.

use std::{
    collections::BTreeSet,
    fmt,
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::archive::leads_inside;

/// Something in a repository that a run does not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Relative to the repository's root.
    pub path: PathBuf,
    /// Why it is left out.
    pub reason: SkipReason,
}

/// Why something in a repository is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// The data of git or another version control system.
    VersionControl,
    /// A virtual environment.
    VirtualEnvironment,
    /// A directory in which a tool keeps what it can make again.
    Cache,
    /// A link with an absolute target, or one outside of the repository.
    LinkOutside,
    /// A pipe, socket or device.
    Special,
    /// A gist, a repro or a record that gistify wrote.
    Output,
    /// It cannot be read.
    Unreadable(String),
}

impl SkipReason {
    /// Returns true if every repository omits such files, so that no report is needed.
    pub fn is_expected(&self) -> bool {
        match self {
            SkipReason::VersionControl | SkipReason::VirtualEnvironment | SkipReason::Cache => true,
            SkipReason::LinkOutside
            | SkipReason::Special
            | SkipReason::Output
            | SkipReason::Unreadable(_) => false,
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::VersionControl => f.write_str("version control"),
            SkipReason::VirtualEnvironment => f.write_str("virtual environment"),
            SkipReason::Cache => f.write_str("cache of a tool"),
            SkipReason::LinkOutside => f.write_str("link out of the repository"),
            SkipReason::Special => f.write_str("pipe, socket or device"),
            SkipReason::Output => f.write_str("written by gistify"),
            SkipReason::Unreadable(cause) => f.write_str(cause),
        }
    }
}

/// The entries of a directory that a run sees: sorted, each directory before its contents.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) entries: Vec<SnapshotEntry>,
    pub(crate) skipped: Vec<Skipped>,
}

/// One directory, file or link.
#[derive(Debug)]
pub(crate) struct SnapshotEntry {
    /// Relative to the root.
    pub(crate) path: PathBuf,
    pub(crate) kind: EntryKind,
}

#[derive(Debug)]
pub(crate) enum EntryKind {
    Directory,
    File { executable: bool },
    Link { target: PathBuf },
}

/// An error, and the path it is about.
pub(crate) type PathError = (PathBuf, io::Error);

impl Snapshot {
    /// Looks at everything below `root`.
    pub(crate) fn of(root: &Path) -> Result<Snapshot, PathError> {
        Self::without(root, &BTreeSet::new())
    }

    /// Returns the snapshot without the paths in `apart`, and without directories that hold nothing
    /// else.
    pub(crate) fn without(root: &Path, apart: &BTreeSet<PathBuf>) -> Result<Snapshot, PathError> {
        let mut snapshot = Snapshot { entries: Vec::new(), skipped: Vec::new() };
        let mut pending = vec![PathBuf::new()];
        while let Some(directory) = pending.pop() {
            let children = match children(&root.join(&directory)) {
                Ok(children) => children,
                Err(error) if directory.as_os_str().is_empty() => {
                    return Err((root.to_path_buf(), error));
                }
                Err(error) => {
                    snapshot.skip(directory, SkipReason::Unreadable(error.to_string()));
                    continue;
                }
            };
            if !directory.as_os_str().is_empty() {
                snapshot
                    .entries
                    .push(SnapshotEntry { path: directory.clone(), kind: EntryKind::Directory });
            }
            for name in children {
                let path = directory.join(name);
                if apart.contains(&path) {
                    continue;
                }
                match classify(root, &path) {
                    Ok(EntryKind::Directory) => pending.push(path),
                    Ok(kind) => snapshot.entries.push(SnapshotEntry { path, kind }),
                    Err(reason) => snapshot.skip(path, reason),
                }
            }
        }
        // Their own directories may have been made for them.
        for directory in apart.iter().flat_map(|path| path.ancestors().skip(1)) {
            let is_beneath = |entry: &SnapshotEntry| entry.path.starts_with(directory);
            if snapshot.entries.iter().filter(|entry| is_beneath(entry)).count() == 1 {
                snapshot.entries.retain(|entry| entry.path != directory);
            }
        }
        snapshot.entries.sort_by(|a, b| a.path.cmp(&b.path));
        snapshot.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(snapshot)
    }

    /// A hash over relative paths, kinds and bytes.
    pub(crate) fn fingerprint(&self, root: &Path) -> Result<String, PathError> {
        let hashes = self.contents(root)?;
        let mut hasher = blake3::Hasher::new();
        for (entry, hash) in self.entries.iter().zip(hashes) {
            let path = entry.path.as_os_str().as_encoded_bytes();
            hasher.update(&(path.len() as u64).to_le_bytes());
            hasher.update(path);
            hasher.update(&[match entry.kind {
                EntryKind::Directory => 0,
                EntryKind::File { executable: false } => 1,
                EntryKind::File { executable: true } => 2,
                EntryKind::Link { .. } => 3,
            }]);
            hasher.update(hash.as_bytes());
        }
        Ok(hasher.finalize().to_hex().to_string())
    }

    /// A hash of each entry: of its bytes, or where it leads.
    pub(crate) fn hashes(&self, root: &Path) -> Result<Vec<String>, PathError> {
        Ok(self.contents(root)?.iter().map(|hash| hash.to_hex().to_string()).collect())
    }

    fn contents(&self, root: &Path) -> Result<Vec<blake3::Hash>, PathError> {
        in_parallel(&self.entries, |entry| match &entry.kind {
            EntryKind::File { .. } => {
                let path = root.join(&entry.path);
                hash_file(&path).map_err(|error| (path, error))
            }
            EntryKind::Link { target } => Ok(blake3::hash(target.as_os_str().as_encoded_bytes())),
            EntryKind::Directory => Ok(blake3::hash(b"")),
        })
    }

    fn skip(&mut self, path: PathBuf, reason: SkipReason) {
        self.skipped.push(Skipped { path, reason });
    }
}

/// Opens a file that was a regular one when it was looked at, and only if it still is.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("no regular file any more"));
    }
    Ok((file, metadata))
}

/// Applies `work` to each item on a few threads; results are in order, the first error wins.
pub(crate) fn in_parallel<T: Sync, R: Send, E: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    /// Items taken at once; small enough that one slow directory does not hold all threads up.
    const CHUNK: usize = 32;
    let threads = thread::available_parallelism().map_or(1, usize::from).min(8);
    if items.len() <= CHUNK || threads == 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let one_thread = || {
        let mut done = Vec::new();
        loop {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            if start >= items.len() {
                return done;
            }
            let chunk = &items[start..items.len().min(start + CHUNK)];
            let results: Result<Vec<R>, E> = chunk.iter().map(&work).collect();
            let failed = results.is_err();
            done.push((start, results));
            if failed {
                next.store(items.len(), Ordering::Relaxed);
                return done;
            }
        }
    };
    let mut chunks = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(one_thread)).collect();
        let mut chunks = Vec::new();
        for thread in running {
            match thread.join() {
                Ok(done) => chunks.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        chunks
    });
    chunks.sort_by_key(|(start, _)| *start);
    let mut results = Vec::with_capacity(items.len());
    for (_, chunk) in chunks {
        results.extend(chunk?);
    }
    Ok(results)
}

fn children(directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect()
}

fn classify(root: &Path, path: &Path) -> Result<EntryKind, SkipReason> {
    let unreadable = |error: io::Error| SkipReason::Unreadable(error.to_string());
    let full = root.join(path);
    let metadata = full.symlink_metadata().map_err(unreadable)?;
    let kind = metadata.file_type();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if is_version_control(&name) {
        return Err(SkipReason::VersionControl);
    }
    if kind.is_dir() {
        if is_virtual_environment(&full) {
            return Err(SkipReason::VirtualEnvironment);
        }
        if is_cache(&name) {
            return Err(SkipReason::Cache);
        }
        return Ok(EntryKind::Directory);
    }
    if kind.is_symlink() {
        let target = fs::read_link(&full).map_err(unreadable)?;
        if !leads_inside(path, &target) {
            return Err(SkipReason::LinkOutside);
        }
        return Ok(EntryKind::Link { target });
    }
    let special =
        kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device();
    if special || !kind.is_file() {
        return Err(SkipReason::Special);
    }
    if !may_read(&full, &metadata) {
        return Err(SkipReason::Unreadable("permission denied".to_owned()));
    }
    Ok(EntryKind::File { executable: metadata.permissions().mode() & 0o111 != 0 })
}

fn is_version_control(name: &str) -> bool {
    matches!(name, ".git" | ".hg" | ".svn" | ".bzr" | ".jj")
}

fn is_virtual_environment(directory: &Path) -> bool {
    directory.join("pyvenv.cfg").is_file() || directory.join("conda-meta/history").is_file()
}

fn is_cache(name: &str) -> bool {
    const CACHES: [&str; 10] = [
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".pytype",
        ".hypothesis",
        ".tox",
        ".nox",
        ".ipynb_checkpoints",
        // Of `pytest --gist`.
        ".gists",
    ];
    CACHES.contains(&name)
}

fn may_read(path: &Path, metadata: &Metadata) -> bool {
    // SAFETY: geteuid has no preconditions.
    let owned = metadata.uid() == unsafe { libc::geteuid() };
    if owned && metadata.mode() & 0o400 != 0 {
        return true;
    }
    open_regular(path).is_ok()
}

fn hash_file(path: &Path) -> io::Result<blake3::Hash> {
    let (mut file, _) = open_regular(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 128 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
    }
}
