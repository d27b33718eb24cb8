//! The state of a directory when it was made, and what it takes to bring it back to that after a program ran in it.
//!
//! The kernel alone sets the time of a file's last change, so what was changed and put back is known as changed. A
//! directory that is whole again is as good as a fresh copy, at the cost of looking at each of its entries once.

use std::{
    collections::BTreeMap,
    fs::{self, Metadata, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::{snapshot::PathError, workspace::remove_tree};

/// The entries of a directory, by their relative paths.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: BTreeMap<PathBuf, Stamp>,
}

/// An entry as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    kind: u32,
    mode: u32,
    /// Of a file or link: which it is, and when it was changed for the last time.
    own: Option<(u64, u64, i64, i64)>,
}

impl Stamp {
    fn of(entry: &Metadata) -> Self {
        const KIND: u32 = libc::S_IFMT;
        let own = (entry.dev(), entry.ino(), entry.ctime(), entry.ctime_nsec());
        Self {
            kind: entry.mode() & KIND,
            mode: entry.mode() & !KIND,
            own: (!entry.is_dir()).then_some(own),
        }
    }

    fn is_dir(self) -> bool {
        self.kind == libc::S_IFDIR
    }
}

impl Ledger {
    /// The state of a directory, but for one file that is written anew each time.
    pub(crate) fn of(directory: &Path, but: Option<&Path>) -> Result<Self, PathError> {
        let mut ledger = Self::default();
        each(directory, &mut |path, entry| {
            if but != Some(path) {
                ledger.entries.insert(path.to_path_buf(), Stamp::of(entry));
            }
            Ok(true)
        })?;
        Ok(ledger)
    }

    /// Removes what was added since and has `write` make again what was changed or removed, given the path and
    /// the permissions of a file.
    pub(crate) fn restore(
        &mut self,
        directory: &Path,
        write: &mut dyn FnMut(&Path, u32) -> Result<(), PathError>,
    ) -> Result<(), PathError> {
        let mut whole = Vec::new();
        let entries = &self.entries;
        allow(directory);
        each(directory, &mut |path, entry| {
            let at = directory.join(path);
            let found = Stamp::of(entry);
            let known = entries.get(path);
            match known {
                Some(known) if *known == found => {}
                Some(known) if known.is_dir() && found.is_dir() => {
                    set_mode(&at, known.mode).map_err(|error| (at, error))?;
                }
                _ if found.is_dir() => {
                    remove_tree(&at);
                    return Ok(false);
                }
                _ => {
                    fs::remove_file(&at).map_err(|error| (at, error))?;
                    return Ok(false);
                }
            }
            whole.push(path.to_path_buf());
            Ok(true)
        })?;
        whole.sort();
        let is_missing = |path: &&PathBuf| whole.binary_search(path).is_err();
        let missing: Vec<PathBuf> = self.entries.keys().filter(is_missing).cloned().collect();
        // A directory comes before what is in it.
        for path in missing {
            let at = directory.join(&path);
            let stamp = self.entries[&path];
            if stamp.is_dir() {
                let made = fs::create_dir(&at).and_then(|()| set_mode(&at, stamp.mode));
                made.map_err(|error| (at, error))?;
                continue;
            }
            write(&path, stamp.mode)?;
            let entry = at.symlink_metadata().map_err(|error| (at, error))?;
            self.entries.insert(path, Stamp::of(&entry));
        }
        Ok(())
    }
}

/// Visits what is below a directory, each directory before its contents; a visit that says false goes no deeper.
fn each(
    directory: &Path,
    visit: &mut dyn FnMut(&Path, &Metadata) -> Result<bool, PathError>,
) -> Result<(), PathError> {
    let mut pending = vec![PathBuf::new()];
    while let Some(below) = pending.pop() {
        let at = directory.join(&below);
        let failed = |error: io::Error| (at.clone(), error);
        // A visit may remove the entry, which a list that is being read might mind.
        let entries = fs::read_dir(&at).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        for entry in entries.map_err(failed)? {
            let path = below.join(entry.file_name());
            let metadata = entry.metadata().map_err(failed)?;
            if metadata.is_dir() {
                allow(&directory.join(&path));
            }
            if visit(&path, &metadata)? && metadata.is_dir() {
                pending.push(path);
            }
        }
    }
    Ok(())
}

/// Lets us look into a directory even where a program took the permission away.
fn allow(directory: &Path) {
    const OWN: u32 = 0o700;
    if let Ok(metadata) = directory.symlink_metadata()
        && metadata.mode() & OWN != OWN
    {
        // Who may not do that fails where it counts, at reading it.
        let _ = set_mode(directory, metadata.mode() | OWN);
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn list(directory: &Path) -> Vec<String> {
        let mut found = Vec::new();
        each(directory, &mut |path, entry| {
            let at = directory.join(path);
            let text = match () {
                () if entry.is_symlink() => fs::read_link(&at).unwrap().display().to_string(),
                () if entry.is_file() => fs::read_to_string(&at).unwrap(),
                () => String::new(),
            };
            found.push(format!("{} {:o} {text}", path.display(), entry.mode()));
            Ok(true)
        })
        .unwrap();
        found.sort();
        found
    }

    #[test]
    fn a_directory_is_as_it_was_whatever_a_program_did_in_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        for path in ["same", "changed", "put_back", "gone", "a/b/deep", "mode", "kind"] {
            fs::write(root.join(path), path).unwrap();
        }
        symlink("same", root.join("link")).unwrap();
        let before = list(root);
        let mut ledger = Ledger::of(root, None).unwrap();
        // The clock of the file system is a coarse one.
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(root.join("changed"), "changeD").unwrap();
        fs::write(root.join("put_back"), "x").unwrap();
        fs::write(root.join("put_back"), "put_back").unwrap();
        fs::remove_file(root.join("gone")).unwrap();
        fs::remove_dir_all(root.join("a")).unwrap();
        set_mode(&root.join("mode"), 0o600).unwrap();
        fs::remove_file(root.join("kind")).unwrap();
        fs::create_dir_all(root.join("kind/more")).unwrap();
        fs::remove_file(root.join("link")).unwrap();
        symlink("/etc/passwd", root.join("link")).unwrap();
        fs::create_dir_all(root.join("new/shut")).unwrap();
        fs::write(root.join("new/shut/file"), "x").unwrap();
        set_mode(&root.join("new/shut"), 0).unwrap();
        let mut written = Vec::new();
        let mut write = |path: &Path, mode: u32| {
            let (at, name) = (root.join(path), path.display().to_string());
            if name == "link" {
                symlink("same", &at).unwrap();
            } else {
                fs::write(&at, &name).unwrap();
                set_mode(&at, mode).unwrap();
            }
            written.push(name);
            Ok(())
        };
        ledger.restore(root, &mut write).unwrap();
        assert_eq!(list(root), before);
        assert_eq!(written, ["a/b/deep", "changed", "gone", "kind", "link", "mode", "put_back"]);
        ledger.restore(root, &mut |path, _| panic!("{path:?} is whole")).unwrap();
    }
}
