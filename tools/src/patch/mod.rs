//! Patches as data: unified diffs and their places, and edits by line numbers.
//!
//! Nothing here starts a process or writes a file; git makes and checks patches (`repository/git/patch.rs`).

mod diff;
mod edits;

pub use diff::{ChangedPlace, DiffError, FileChange, Hunk, UnifiedDiff};
pub use edits::{EditError, LineEdit, apply_edits};

use std::path::{Component, Path};

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

#[cfg(test)]
mod tests {
    use super::*;

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
