//! The state of a directory that each run finds: a copy beside it, from which whatever a run changed is restored.
//!
//! The kernel alone sets the time of a file's last change, so that no program can change one unseen.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
};

/// A directory, its copy and its state.
#[derive(Debug)]
pub(super) struct RestoredDirectory {
    pub(super) root: PathBuf,
    copy: PathBuf,
    state: BTreeMap<PathBuf, State>,
}

/// The state of a file: inode, mode, size, time of the last change. A directory changes with its
/// entries, which are compared by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    inode: u64,
    mode: u32,
    size: u64,
    changed: (i64, i64),
}

impl RestoredDirectory {
    /// Copies a directory.
    pub(super) fn of(root: &Path, copy: &Path) -> io::Result<Self> {
        let _ = fs::remove_dir_all(copy);
        fs::create_dir_all(copy)?;
        let state = states(root)?;
        for (path, state) in &state {
            copy_entry(&root.join(path), &copy.join(path), state.mode)?;
        }
        Ok(Self { root: root.to_path_buf(), copy: copy.to_path_buf(), state })
    }

    /// Puts everything back that is not as it was.
    pub(super) fn restore(&mut self) -> io::Result<()> {
        let now = states(&self.root)?;
        // Contents go before their directories.
        for path in now.keys().rev().filter(|path| !self.is_same(path, &now)) {
            remove(&self.root.join(path))?;
        }
        let changed: Vec<PathBuf> =
            self.state.keys().filter(|path| !self.is_same(path, &now)).cloned().collect();
        for path in changed {
            let there = self.root.join(&path);
            let mode = self.state[&path].mode;
            copy_entry(&self.copy.join(&path), &there, mode)?;
            let state = State::of(&fs::symlink_metadata(&there)?);
            self.state.insert(path, state);
        }
        Ok(())
    }

    /// Removes the copy.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.copy);
    }

    fn is_same(&self, path: &Path, now: &BTreeMap<PathBuf, State>) -> bool {
        now.get(path).is_some_and(|state| self.state.get(path) == Some(state))
    }
}

impl State {
    fn of(metadata: &fs::Metadata) -> Self {
        let is_directory = metadata.is_dir();
        State {
            inode: metadata.ino(),
            mode: metadata.mode(),
            size: if is_directory { 0 } else { metadata.size() },
            changed: match is_directory {
                true => (0, 0),
                false => (metadata.ctime(), metadata.ctime_nsec()),
            },
        }
    }
}

/// Everything below a directory, by relative path.
fn states(root: &Path) -> io::Result<BTreeMap<PathBuf, State>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(root.join(&directory))? {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if metadata.is_dir() {
                pending.push(path.clone());
            }
            found.insert(path, State::of(&metadata));
        }
    }
    Ok(found)
}

/// Copies a file, a link or an empty directory; anything else was made by a program and stays away.
fn copy_entry(from: &Path, to: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let metadata = fs::symlink_metadata(from)?;
    if metadata.is_dir() {
        match fs::create_dir(to) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => fs::set_permissions(to, fs::Permissions::from_mode(mode & 0o7777))?,
        }
    } else if metadata.is_symlink() {
        symlink(fs::read_link(from)?, to)?;
    } else if metadata.is_file() {
        fs::copy(from, to)?;
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    let gone = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match gone {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_run_does_is_undone() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "text").unwrap();
        fs::write(root.join("other"), "other").unwrap();
        symlink("other", root.join("link")).unwrap();
        let mut kept = RestoredDirectory::of(&root, &place.path().join("copy")).unwrap();
        let told = |root: &Path| -> Vec<(PathBuf, Option<String>)> {
            let read = |path: &PathBuf| fs::read_to_string(root.join(path)).ok();
            states(root).unwrap().into_keys().map(|path| (path.clone(), read(&path))).collect()
        };
        let before = told(&root);
        for _ in 0..2 {
            fs::write(root.join("a/b/file"), "TEXT").unwrap();
            fs::remove_file(root.join("other")).unwrap();
            fs::remove_file(root.join("link")).unwrap();
            fs::create_dir_all(root.join("other/deep/er")).unwrap();
            fs::write(root.join("new"), "").unwrap();
            kept.restore().unwrap();
            assert_eq!(told(&root), before);
        }
        fs::remove_dir_all(root.join("a")).unwrap();
        kept.restore().unwrap();
        assert_eq!(told(&root), before);
    }
}
