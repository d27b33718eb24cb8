//! The directories in which a run works.
//!
//! A workspace is one private directory, removed with everything in it when the workspace is
//! dropped. Nothing outside of it is written, and no repository is changed: runs use copies. The
//! next workspace beside it removes one whose process was killed.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

use crate::{
    ledger::Ledger,
    lock::Lock,
    repository::Repository,
    snapshot::{EntryKind, PathError, Snapshot, SnapshotEntry, in_parallel, open_regular},
};

/// A run's own directories.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    /// Held for the workspace's life, so that others see that it is in use.
    _lock: Lock,
    next: AtomicU32,
    kept: bool,
    /// Directories that programs ran in, and that can be made whole again.
    used: Mutex<Vec<Used>>,
}

/// A directory of the workspace that is made once and serves several runs, one after the other.
#[derive(Debug)]
struct Used {
    directory: PathBuf,
    /// The key of its source.
    key: String,
    ledger: Ledger,
    /// Further facts about it.
    note: Vec<String>,
    /// True while a run uses it.
    lent: bool,
}

/// The width of the names of directories, without their numbers.
const NAME_WIDTH: usize = 12;

/// The name of the directory of a process; with that of a directory in it, it is as wide as others.
const PROCESS: &str = "as";

/// The directories of the runs of one process, in a directory from [`Workspace::process_directory`]. Neither is made.
#[derive(Debug, Clone)]
pub struct RunDirectories {
    /// The working directory.
    pub directory: PathBuf,
    /// The scratch directory.
    pub scratch: PathBuf,
}

impl RunDirectories {
    /// The directories in the directory of a process.
    pub fn of(place: &Path) -> Self {
        Self { directory: place.join("directory"), scratch: place.join("scratch--") }
    }
}

/// Most directories of one kind that wait for a run: few runs of a workspace go on at once.
const WAITING: usize = 2;

/// Why a workspace cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// A directory cannot be made.
    #[error("create directory {path}: {}", explain(.source))]
    Create {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Something of the repository cannot be copied.
    #[error("copy repository {from} to {to}: {path}: {}", explain(.source))]
    Copy {
        /// The repository's root.
        from: PathBuf,
        /// The destination of the copy.
        to: PathBuf,
        /// The file or directory that failed.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

const PREFIX: &str = "work-";
/// A workspace has this prefix until its lock is held, so that nobody takes it for abandoned.
const NEW_PREFIX: &str = ".new-";
const LOCK: &str = ".lock";
const KEPT: &str = ".kept";

impl Workspace {
    /// Makes a workspace in the directory `parent`, which is made where it is missing.
    ///
    /// # Errors
    /// When a directory cannot be made.
    pub fn create(parent: &Path) -> Result<Workspace, WorkspaceError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| WorkspaceError::Create { path, source }
        };
        fs::create_dir_all(parent).map_err(failed(parent))?;
        let parent = parent.canonicalize().map_err(failed(parent))?;
        remove_abandoned(&parent);
        // Until the new directory has its name, none is removed for being left: its age would not do, as
        // clocks jump. Where directories cannot be locked, no new one is removed at all.
        let making = File::open(&parent).ok().map(Lock::new);
        let lock = || making.as_ref().map_or(Ok(()), |making| making.lock_shared());
        while lock().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
        let directory = tempfile::Builder::new()
            .prefix(NEW_PREFIX)
            .tempdir_in(&parent)
            .map_err(failed(&parent))?;
        let lock_path = directory.path().join(LOCK);
        let lock = File::create(&lock_path).map(Lock::new).map_err(failed(&lock_path))?;
        lock.lock().map_err(failed(&lock_path))?;
        let name = directory.path().file_name().unwrap_or_default().to_string_lossy();
        let root = parent.join(name.replacen(NEW_PREFIX, PREFIX, 1));
        fs::rename(directory.path(), &root).map_err(failed(&root))?;
        let _ = directory.keep();
        spread(&root);
        Ok(Workspace {
            root,
            _lock: lock,
            next: AtomicU32::new(1),
            kept: false,
            used: Mutex::default(),
        })
    }

    /// The workspace's own directory, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes a fresh empty directory whose name has `name` in it. The paths of all directories are equally long: programs
    /// wrap, align and cut what they print by the length of a path.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn directory(&self, name: &str) -> Result<PathBuf, WorkspaceError> {
        self.create_directory(&format!("{name:-<0$}", NAME_WIDTH))
    }

    /// Makes a directory for [`RunDirectories`], which one process owns. They are as long as those of
    /// [`directory`](Self::directory).
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn process_directory(&self) -> Result<PathBuf, WorkspaceError> {
        self.create_directory(PROCESS)
    }

    fn create_directory(&self, name: &str) -> Result<PathBuf, WorkspaceError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.root.join(format!("{number:04}-{name}"));
        match fs::create_dir(&path) {
            Ok(()) => Ok(path),
            Err(source) => Err(WorkspaceError::Create { path, source }),
        }
    }

    /// Creates a fresh, writable copy of the files of a repository that a run sees.
    ///
    /// # Errors
    /// A file cannot be read or written; the error names it. Nothing of the copy remains.
    pub fn copy(&self, repository: &Repository) -> Result<PathBuf, WorkspaceError> {
        let key = format!("{} {}", repository.root.display(), repository.fingerprint);
        let root = &repository.root;
        let restored = self.take(&key, |into, ledger| {
            ledger.restore(into, &mut |path, mode| {
                let from = root.join(path);
                let read = |error| (from.clone(), error);
                let kind = match fs::symlink_metadata(&from).map_err(read)? {
                    there if there.is_symlink() => {
                        EntryKind::Link { target: fs::read_link(&from).map_err(read)? }
                    }
                    _ => EntryKind::File { executable: mode & 0o111 != 0 },
                };
                let entry = SnapshotEntry { path: path.to_path_buf(), kind };
                copy_entry(root, into, &entry).map_err(read)
            })
        });
        if let Some((directory, _)) = restored {
            return Ok(directory);
        }
        let into = self.directory("copy")?;
        let copied = repository.snapshot();
        let copied = copied.and_then(|snapshot| copy_snapshot(&snapshot, &repository.root, &into));
        copied.map_err(|(path, source)| {
            remove_tree(&into);
            let (from, to) = (repository.root.clone(), into.clone());
            WorkspaceError::Copy { from, to, path, source }
        })?;
        self.lend(&into, key, None, Vec::new());
        Ok(into)
    }

    /// Copies what a run sees of a repository into a directory that is made for it, which serves one process alone.
    ///
    /// # Errors
    /// As for [`copy`](Self::copy).
    pub fn copy_to(&self, repository: &Repository, into: &Path) -> Result<(), WorkspaceError> {
        fs::create_dir(into)
            .map_err(|source| WorkspaceError::Create { path: into.to_path_buf(), source })?;
        let copied = repository.snapshot();
        let copied = copied.and_then(|snapshot| copy_snapshot(&snapshot, &repository.root, into));
        copied.map_err(|(path, source)| {
            let (from, to) = (repository.root.clone(), into.to_path_buf());
            WorkspaceError::Copy { from, to, path, source }
        })
    }

    /// Takes a directory that stands for `key` and that no run has, once it is whole again, with its note; nothing
    /// where there is none. One that cannot be made whole is removed.
    pub(crate) fn take(
        &self,
        key: &str,
        restore: impl FnOnce(&Path, &mut Ledger) -> Result<(), PathError>,
    ) -> Option<(PathBuf, Vec<String>)> {
        let mut found = {
            let mut used = self.used();
            let at = used.iter().position(|one| one.key == key && !one.lent)?;
            used.swap_remove(at)
        };
        match restore(&found.directory, &mut found.ledger) {
            Ok(()) => {
                let taken = (found.directory.clone(), found.note.clone());
                self.used().push(Used { lent: true, ..found });
                Some(taken)
            }
            Err(_) => {
                remove_tree(&found.directory);
                None
            }
        }
    }

    /// Remembers the state of a directory that a run gets now, but for one file of it.
    pub(crate) fn lend(
        &self,
        directory: &Path,
        key: String,
        but: Option<&Path>,
        note: Vec<String>,
    ) {
        // Without a ledger it serves one run alone.
        if let Ok(ledger) = Ledger::of(directory, but) {
            let directory = directory.to_path_buf();
            self.used().push(Used { directory, key, ledger, note, lent: true });
        }
    }

    fn used(&self) -> MutexGuard<'_, Vec<Used>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a directory of this workspace back that is no longer needed. It is removed, unless it may serve another
    /// run.
    pub fn discard(&self, directory: &Path) {
        if directory == self.root || !directory.starts_with(&self.root) {
            return;
        }
        let mut used = self.used();
        if let Some(at) = used.iter().position(|one| one.directory == directory) {
            let key = &used[at].key;
            if used.iter().filter(|one| !one.lent && one.key == *key).count() < WAITING {
                used[at].lent = false;
                return;
            }
            used.swap_remove(at);
        }
        drop(used);
        remove_tree(directory);
    }

    /// Leaves the workspace on disk; gives its directory.
    pub fn keep(mut self) -> PathBuf {
        self.kept = true;
        // Without a mark the directory would look abandoned.
        let _ = fs::rename(self.root.join(LOCK), self.root.join(KEPT));
        self.root.clone()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if !self.kept {
            remove_tree(&self.root);
        }
    }
}

/// Copies what a run sees of `from` into the empty directory `to`. Everything can be written, and
/// files keep their time of change.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<(), PathError> {
    copy_snapshot(&Snapshot::of(from)?, from, to)
}

fn copy_snapshot(snapshot: &Snapshot, from: &Path, to: &Path) -> Result<(), PathError> {
    for entry in &snapshot.entries {
        if matches!(entry.kind, EntryKind::Directory) {
            let path = to.join(&entry.path);
            fs::create_dir(&path).map_err(|error| (path, error))?;
        }
    }
    in_parallel(&snapshot.entries, |entry| {
        copy_entry(from, to, entry).map_err(|error| (from.join(&entry.path), error))
    })?;
    Ok(())
}

/// Removes a directory even where programs took the permission to do so away. A failure leaves
/// something behind, which the next run's clean-up tries again.
pub(crate) fn remove_tree(directory: &Path) {
    if fs::remove_dir_all(directory).is_err() {
        open_up(directory);
        let _ = fs::remove_dir_all(directory);
    }
}

fn copy_entry(from: &Path, to: &Path, entry: &SnapshotEntry) -> io::Result<()> {
    let into = to.join(&entry.path);
    match &entry.kind {
        EntryKind::Directory => Ok(()),
        EntryKind::Link { target } => symlink(target, into),
        EntryKind::File { executable } => {
            let (mut source, metadata) = open_regular(&from.join(&entry.path))?;
            let mode = if *executable { 0o755 } else { 0o644 };
            let mut copy = File::options().write(true).create_new(true).mode(mode).open(into)?;
            // On Linux this is copy_file_range, which shares blocks where the file system can.
            io::copy(&mut source, &mut copy)?;
            copy.set_modified(metadata.modified()?)
        }
    }
}

/// Asks the file system to put the directories that are made in this one far from each other. Copies of
/// repositories come and go, and without a journal ext4 looks at each inode that was freed near by in the last
/// minutes before it takes one: to make thousands of files took many times as long after as many were removed.
fn spread(directory: &Path) {
    let flagged = File::open(directory).and_then(|directory| {
        let flags = ioctl_getflags(&directory)?;
        Ok(ioctl_setflags(&directory, flags | IFlags::TOPDIR)?)
    });
    // Most file systems know no such hint, and need none.
    drop(flagged);
}

/// Removes the workspaces in `parent` that nobody uses any more.
fn remove_abandoned(parent: &Path) {
    let directories = || {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        directories.map(|entry| entry.path()).filter(|path| !path.join(KEPT).exists())
    };
    let has_prefix = |path: &Path, prefix: &str| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
    };
    // Nobody makes anything while this is held, so what is new was left by a process that was killed.
    let making = File::open(parent)
        .map(Lock::new)
        .and_then(|making| making.try_lock().map(|()| making).map_err(Into::into));
    if let Ok(_none_is_made) = making {
        directories()
            .filter(|path| has_prefix(path, NEW_PREFIX))
            .for_each(|path| remove_tree(&path));
    }
    for path in directories().filter(|path| has_prefix(path, PREFIX)) {
        let Ok(lock) = File::open(path.join(LOCK)).map(Lock::new) else { continue };
        // One that is kept is so before its lock is let go.
        if lock.try_lock().is_ok() && !path.join(KEPT).exists() {
            remove_tree(&path);
        }
    }
}

fn open_up(directory: &Path) {
    give_permissions(directory, None);
}

/// Sets a directory and those below it to mode 0700 and regular files to 0600, so that the owner can read all of them.
pub(crate) fn make_readable(directory: &Path) {
    give_permissions(directory, Some(0o600));
}

/// Sets a directory and those below it to mode 0700, and regular files to the mode `of_files`, if one is given.
fn give_permissions(directory: &Path, of_files: Option<u32>) {
    let mut pending = vec![directory.to_path_buf()];
    while let Some(directory) = pending.pop() {
        let _ = fs::set_permissions(&directory, Permissions::from_mode(0o700));
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            match (entry.file_type(), of_files) {
                (Ok(kind), _) if kind.is_dir() => pending.push(entry.path()),
                (Ok(kind), Some(mode)) if kind.is_file() => {
                    let _ = fs::set_permissions(entry.path(), Permissions::from_mode(mode));
                }
                _ => {}
            }
        }
    }
}

/// Describes a cause in words that suggest a remedy, if one is known.
pub(crate) fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up".to_owned(),
        _ => error.to_string(),
    }
}
