//! Patches as data: unified diffs and their places, and edits by line numbers.
//!
//! Nothing here starts a process; git makes and checks patches (`repository/git/patch.rs`).

mod diff;
mod edits;

pub use diff::{ChangedPlace, DiffError, FileChange, Hunk, UnifiedDiff};
pub use edits::{EditError, LineEdit, apply_edits};

use std::{
    fs, io,
    path::{Component, Path},
};

/// Returns true if a relative path names a file of a work tree in its only spelling: no part of it is empty, a dot, leads up
/// or is git's own.
pub fn is_inside(path: &str) -> bool {
    let is_name = |part: Component<'_>| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    };
    !path.is_empty()
        && !path.split('/').any(|part| matches!(part, "" | "."))
        && !path.contains(['\0', '\n'])
        && Path::new(path).components().all(is_name)
}

/// Returns the directory above a file of a work tree that is a symbolic link, if there is one: git takes no file behind it.
pub fn link_above<'p>(root: &Path, path: &'p str) -> Option<&'p str> {
    let ends = path.match_indices('/').map(|(end, _)| &path[..end]);
    ends.into_iter().find(|above| root.join(above).is_symlink())
}

/// Puts a file or a symbolic link, or its absence, in the place of whatever is at `into`, a path below `root`. A directory
/// at `from` counts as absence: its files have paths of their own.
///
/// # Errors
/// A file cannot be read, written or removed.
pub fn replace_file(from: &Path, into: &Path, root: &Path) -> io::Result<()> {
    // Nothing is there either where a file is in the place of a directory above.
    match into.symlink_metadata() {
        Ok(there) if there.is_dir() => fs::remove_dir_all(into)?,
        Ok(_) => fs::remove_file(into)?,
        Err(_) => {}
    }
    let Ok(there) = from.symlink_metadata() else { return Ok(()) };
    if there.is_dir() {
        return Ok(());
    }
    let above = into.ancestors().skip(1).take_while(|above| *above != root);
    above.filter(|above| above.is_file()).try_for_each(fs::remove_file)?;
    if let Some(parent) = into.parent() {
        fs::create_dir_all(parent)?;
    }
    match there.is_symlink() {
        true => std::os::unix::fs::symlink(from.read_link()?, into),
        false => fs::copy(from, into).map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_directories_take_each_others_place() {
        let temporary = tempfile::tempdir().unwrap();
        let (from, into) = (temporary.path().join("from"), temporary.path().join("into"));
        fs::create_dir_all(from.join("a")).unwrap();
        fs::write(from.join("a/b"), "new").unwrap();
        fs::write(from.join("c"), "new").unwrap();
        fs::create_dir_all(into.join("c/d")).unwrap();
        fs::write(into.join("a"), "old").unwrap();
        for path in ["a", "a/b", "c", "c/d"] {
            replace_file(&from.join(path), &into.join(path), &into).unwrap();
        }
        for path in ["a/b", "c"] {
            assert_eq!(fs::read_to_string(into.join(path)).unwrap(), "new", "{path}");
        }
    }

    #[test]
    fn paths_that_lead_out_are_told() {
        for path in ["a.py", "a/b.py", "a b/é.py", "a/.gitignore", "..a/b"] {
            assert!(is_inside(path), "{path}");
        }
        for path in [
            "",
            "/etc/x",
            "../a",
            "a/../../b",
            ".git/config",
            "a/.GIT/x",
            "a/",
            "a\nb",
            "a//b",
            "./a",
        ] {
            assert!(!is_inside(path), "{path}");
        }
    }
}
