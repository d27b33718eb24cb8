//! Stores artefacts between runs that can be made again: downloads, unpacked repositories,
//! environments.
//!
//! Any number of processes may use one cache directory. An entry is visible only when it is
//! complete. The process that holds its lock makes it once, while others wait. No entry is removed
//! while a [`Cache`] that returned it lives. The cache does not know the meaning of its entries.

use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use crate::{
    lock::Lock,
    sandbox::Interrupt,
    workspace::{explain, remove_tree},
};

/// A cache directory.
#[derive(Debug)]
pub struct Cache {
    root: PathBuf,
    interrupt: Interrupt,
    /// Shared locks of the entries that were given out.
    held: Mutex<BTreeMap<PathBuf, Lock>>,
}

/// The kind of an entry's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    /// A file as it was downloaded.
    Artifact,
    /// A repository, unpacked or checked out.
    Repository,
    /// An interpreter with packages.
    Environment,
    /// The index's answer of which file a release is.
    Release,
    /// An answer of a server, with the tag by which it is asked whether that still holds.
    Answer,
}

/// One entry, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CacheEntry {
    /// The kind of its content.
    pub kind: CacheKind,
    /// Its name within its kind.
    pub key: String,
    /// The name of the content, for people.
    pub label: String,
    /// Its directory.
    pub path: PathBuf,
    /// Bytes on disk.
    pub bytes: u64,
    /// When it was last given out.
    pub used: SystemTime,
    /// True if the entry is complete. A killed process leaves incomplete ones.
    pub complete: bool,
}

/// The entries that [`Cache::prune`] removes: those that match any rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prune {
    /// Entries not used for this long; zero means all.
    pub unused_for: Option<Duration>,
    /// The least recently used ones, until the cache has at most this many bytes.
    pub max_bytes: Option<u64>,
    /// Only entries of these kinds; empty means of all kinds.
    pub kinds: Vec<CacheKind>,
}

/// The result of [`Cache::prune`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Entries that are gone.
    pub removed: Vec<CacheEntry>,
    /// Entries that are in use and stay.
    pub in_use: Vec<CacheEntry>,
}

/// Why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// A file or directory of the cache cannot be read or written.
    #[error("use cache {path}: {}", explain(.source))]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The directory was made by another version of this program.
    #[error(
        "use cache {path}: it has format {found}, this program writes {FORMAT} (remove it, or name another one)"
    )]
    Format {
        /// The cache's directory.
        path: PathBuf,
        /// The format that the directory declares.
        found: String,
    },
    /// The user stopped it while it waited for another process.
    #[error("use cache {path}: interrupted")]
    Interrupted {
        /// The entry's directory.
        path: PathBuf,
    },
}

/// Of the directory's layout and of `entry.json`.
const FORMAT: u32 = 1;
const FORMAT_FILE: &str = "format";
const LOCKS: &str = "locks";
const CONTENT: &str = "content";
/// Written last, when the content is whole.
const MARK: &str = "entry.json";
/// Its time of change is when the entry was last used.
const USED: &str = "used";
const WAIT: Duration = Duration::from_millis(50);
/// Tells backup programs that everything here can be made again.
const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n";

#[derive(Serialize, Deserialize)]
struct Mark {
    format: u32,
    label: String,
}

impl CacheKind {
    const ALL: [CacheKind; 5] = [
        CacheKind::Artifact,
        CacheKind::Repository,
        CacheKind::Environment,
        CacheKind::Release,
        CacheKind::Answer,
    ];

    /// The name of its directory.
    fn directory(self) -> &'static str {
        match self {
            CacheKind::Artifact => "artifacts",
            CacheKind::Repository => "repositories",
            CacheKind::Environment => "environments",
            CacheKind::Release => "releases",
            CacheKind::Answer => "answers",
        }
    }
}

impl Cache {
    /// Opens a cache directory, and makes it where it is missing. Waiting for another process ends
    /// when `interrupt` is triggered.
    ///
    /// # Errors
    /// When it cannot be written, or has another format.
    pub fn open(root: &Path, interrupt: Interrupt) -> Result<Cache, CacheError> {
        let directories = CacheKind::ALL.map(CacheKind::directory).into_iter().chain([LOCKS]);
        for directory in directories {
            let path = root.join(directory);
            fs::create_dir_all(&path).map_err(at(&path))?;
        }
        let root = root.canonicalize().map_err(at(root))?;
        let format = root.join(FORMAT_FILE);
        match fs::read_to_string(&format) {
            Ok(text) if text.trim() == FORMAT.to_string() => {}
            Ok(text) => {
                return Err(CacheError::Format { path: root, found: text.trim().to_owned() });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                write_whole(&root.join("CACHEDIR.TAG"), TAG.as_bytes())?;
                write_whole(&format, format!("{FORMAT}\n").as_bytes())?;
            }
            Err(error) => return Err(at(&format)(error)),
        }
        Ok(Cache { root, interrupt, held: Mutex::default() })
    }

    /// The cache's directory, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The content of an entry, if it is there.
    ///
    /// # Errors
    /// When its lock cannot be taken.
    pub fn find(&self, kind: CacheKind, key: &str) -> Result<Option<PathBuf>, CacheError> {
        let directory = self.root.join(kind.directory()).join(key);
        if !directory.join(MARK).is_file() {
            return Ok(None);
        }
        self.held_content(kind, key, &directory)
    }

    /// The content of an entry; `make` fills the empty directory that it is given where there is
    /// none yet. The directory is the final one, so it may be written into the content.
    ///
    /// # Errors
    /// When `make` fails, after which nothing is left of the entry, or when the cache cannot be
    /// used.
    pub fn get_or_make<E: From<CacheError>>(
        &self,
        kind: CacheKind,
        key: &str,
        label: &str,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let directory = self.root.join(kind.directory()).join(key);
        if let Some(content) = self.find(kind, key)? {
            return Ok(content);
        }
        // A lock of ours on an entry that somebody removed by hand would be waited for for ever.
        self.let_go(&directory);
        let lock = self.lock_file(kind, key)?;
        let mark = directory.join(MARK);
        // Whoever made it meanwhile holds on to it, and then there is nothing to wait for.
        self.wait(&directory, || if mark.is_file() { Ok(()) } else { lock.try_lock() })?;
        if !mark.is_file() {
            // A process that was killed may have left a part.
            remove_tree(&directory);
            let content = directory.join(CONTENT);
            fs::create_dir_all(&content).map_err(at(&content))?;
            let made = make(&content).and_then(|()| {
                let entry = Mark { format: FORMAT, label: label.to_owned() };
                let entry =
                    serde_json::to_vec(&entry).map_err(|error| at(&directory)(error.into()))?;
                Ok(write_whole(&mark, &entry)?)
            });
            if let Err(error) = made {
                remove_tree(&directory);
                return Err(error);
            }
        }
        // Whoever prunes between the two locks takes the entry away: then it is made again by the
        // next request, and this one fails with a path that is missing.
        lock.unlock().map_err(at(&directory))?;
        match self.held_content(kind, key, &directory)? {
            Some(content) => Ok(content),
            None => Err(at(&directory)(io::Error::from(io::ErrorKind::NotFound)).into()),
        }
    }

    /// Removes one entry, unless another process uses it; returns true if it is gone.
    ///
    /// # Errors
    /// Its lock cannot be opened.
    pub fn remove(&self, kind: CacheKind, key: &str) -> Result<bool, CacheError> {
        self.let_go(&self.root.join(kind.directory()).join(key));
        self.remove_unused(kind, key)
    }

    fn remove_unused(&self, kind: CacheKind, key: &str) -> Result<bool, CacheError> {
        let directory = self.root.join(kind.directory()).join(key);
        let lock = self.lock_file(kind, key)?;
        match lock.try_lock() {
            Ok(()) => {
                // Without its mark the entry is gone, even if the rest cannot be removed at once.
                let _ = fs::remove_file(directory.join(MARK));
                remove_tree(&directory);
                Ok(true)
            }
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(at(&directory)(error)),
        }
    }

    /// All entries, by kind and key.
    ///
    /// # Errors
    /// When the cache's directory cannot be read.
    pub fn list(&self) -> Result<Vec<CacheEntry>, CacheError> {
        let mut entries = Vec::new();
        for kind in CacheKind::ALL {
            let directory = self.root.join(kind.directory());
            for entry in fs::read_dir(&directory).map_err(at(&directory))? {
                let path = entry.map_err(at(&directory))?.path();
                let mark = fs::read(path.join(MARK)).ok();
                let mark: Option<Mark> = mark.and_then(|mark| serde_json::from_slice(&mark).ok());
                let used = [path.join(USED), path.join(MARK), path.clone()];
                let mut used = used.iter().filter_map(|path| path.metadata().ok()?.modified().ok());
                entries.push(CacheEntry {
                    kind,
                    key: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                    complete: mark.is_some(),
                    label: mark.map(|mark| mark.label).unwrap_or_default(),
                    bytes: size(&path),
                    used: used.next().unwrap_or(SystemTime::UNIX_EPOCH),
                    path,
                });
            }
        }
        entries.sort_by(|a, b| (a.kind, &a.key).cmp(&(b.kind, &b.key)));
        Ok(entries)
    }

    /// Removes entries that nobody uses.
    ///
    /// # Errors
    /// When the cache's directory cannot be read.
    pub fn prune(&self, rules: &Prune) -> Result<Pruned, CacheError> {
        let mut entries = self.list()?;
        entries.sort_by_key(|entry| entry.used);
        let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        let mut pruned = Pruned::default();
        for entry in entries {
            let of_kind = rules.kinds.is_empty() || rules.kinds.contains(&entry.kind);
            let age = entry.used.elapsed().unwrap_or_default();
            let unused = rules.unused_for.is_some_and(|limit| age >= limit);
            let too_much = rules.max_bytes.is_some_and(|limit| total > limit);
            if !of_kind || !(unused || too_much || !entry.complete) {
                continue;
            }
            if self.remove_unused(entry.kind, &entry.key)? {
                total -= entry.bytes;
                pruned.removed.push(entry);
            } else {
                pruned.in_use.push(entry);
            }
        }
        Ok(pruned)
    }

    /// Takes the shared lock of an entry, and gives its content if it is whole.
    fn held_content(
        &self,
        kind: CacheKind,
        key: &str,
        directory: &Path,
    ) -> Result<Option<PathBuf>, CacheError> {
        let mut held = self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !held.contains_key(directory) {
            let lock = self.lock_file(kind, key)?;
            self.wait(directory, || lock.try_lock_shared())?;
            if !directory.join(MARK).is_file() {
                return Ok(None);
            }
            held.insert(directory.to_path_buf(), lock);
        }
        // That it was used is a hint for pruning; a cache that cannot be written still serves.
        if let Ok(used) = File::create(directory.join(USED)) {
            let _ = used.set_modified(SystemTime::now());
        }
        Ok(Some(directory.join(CONTENT)))
    }

    /// Gives up the shared lock of an entry.
    fn let_go(&self, directory: &Path) {
        self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(directory);
    }

    fn lock_file(&self, kind: CacheKind, key: &str) -> Result<Lock, CacheError> {
        let path = self.root.join(LOCKS).join(format!("{}-{key}", kind.directory()));
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        file.map(Lock::new).map_err(at(&path))
    }

    fn wait(
        &self,
        path: &Path,
        take: impl Fn() -> Result<(), TryLockError>,
    ) -> Result<(), CacheError> {
        loop {
            match take() {
                Ok(()) => return Ok(()),
                Err(TryLockError::Error(error)) => return Err(at(path)(error)),
                Err(TryLockError::WouldBlock) => {}
            }
            if self.interrupt.is_triggered() {
                return Err(CacheError::Interrupted { path: path.to_path_buf() });
            }
            thread::sleep(WAIT);
        }
    }
}

/// A key that is a file name: what it is about, for people, and a hash over all that it depends on.
pub(crate) fn key(about: &str, parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let plain =
        |char: char| if char.is_ascii_alphanumeric() || ".-_".contains(char) { char } else { '-' };
    let about: String = about.chars().map(plain).take(60).collect();
    format!("{}-{}", about.trim_matches(['-', '.']), &hasher.finalize().to_hex()[..20])
}

/// Writes a file that is never seen in part.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), CacheError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        io::Write::write_all(&mut file, bytes)?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(at(path))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_path_buf();
    move |source| CacheError::Io { path, source }
}

/// Returns the bytes on disk of everything below a path; an unreadable entry counts zero.
fn size(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut total = 0;
    let mut pending = vec![path.to_path_buf()];
    while let Some(path) = pending.pop() {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        total += metadata.blocks() * 512;
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            pending.extend(entries.map(|entry| entry.path()));
        }
    }
    total
}
