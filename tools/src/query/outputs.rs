//! The files of an answer, by GitTaskBench's rule of names: `output.EXT` for one file, `output_01.EXT`, `output_02.EXT` and
//! so on for several, at the top of the directory of outputs (RepoMaster, appendices A and C).
//!
//! Names and kinds of entries are looked at, no contents. Links and special files are no answer.

use std::{fs, io, path::Path};

use crate::workspace::{WorkspaceError, copy_tree};

/// The names at the top of a directory of outputs, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outputs {
    /// Regular files that follow the rule.
    pub named: Vec<String>,
    /// All other entries.
    pub others: Vec<String>,
}

impl Outputs {
    /// The entries of a directory; one that is missing or a link has none.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn of(directory: &Path) -> io::Result<Self> {
        let mut found = Self::default();
        if !is_directory(directory) {
            return Ok(found);
        }
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.file_type()?.is_file() && Self::is_output(&name) {
                true => found.named.push(name),
                false => found.others.push(name),
            }
        }
        found.named.sort_unstable();
        found.others.sort_unstable();
        Ok(found)
    }

    /// Returns true if a name is `output.EXT` or `output_NN.EXT`.
    pub fn is_output(name: &str) -> bool {
        let Some((stem, ending)) =
            name.strip_prefix("output").and_then(|rest| rest.split_once('.'))
        else {
            return false;
        };
        let is_number =
            |digits: &str| digits.len() >= 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
        let is_numbered = stem.is_empty() || stem.strip_prefix('_').is_some_and(is_number);
        is_numbered && !ending.is_empty() && !ending.ends_with('.')
    }

    /// The names that are missing of those that a task expects.
    pub fn missing(&self, expected: &[String]) -> Vec<String> {
        expected.iter().filter(|name| !self.named.contains(name)).cloned().collect()
    }
}

/// Copies a directory of outputs into a new one, without links that lead out and special files.
///
/// # Errors
/// A file cannot be read or written; the error names it.
pub fn keep_outputs(from: &Path, into: &Path) -> Result<(), WorkspaceError> {
    fs::create_dir(into)
        .map_err(|source| WorkspaceError::Create { path: into.to_path_buf(), source })?;
    if !is_directory(from) {
        return Ok(());
    }
    copy_tree(from, into).map_err(|(path, source)| {
        let (from, to) = (from.to_path_buf(), into.to_path_buf());
        WorkspaceError::Copy { from, to, path, source }
    })
}

/// Returns true for a directory itself: programs may have put a link in its place, or nothing.
fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|there| there.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rule() {
        for (name, expected) in [
            ("output.csv", true),
            ("output.tar.gz", true),
            ("output_01.png", true),
            ("output_12.png", true),
            ("output", false),
            ("output.", false),
            ("output_1.png", false),
            ("output_.png", false),
            ("output_ab.png", false),
            ("outputs.csv", false),
            ("Output.csv", false),
            ("result.csv", false),
            ("output-01.csv", false),
        ] {
            assert_eq!(Outputs::is_output(name), expected, "{name}");
        }
    }

    #[test]
    fn only_regular_files_are_outputs() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("outputs");
        assert_eq!(Outputs::of(&root).unwrap(), Outputs::default());
        fs::create_dir_all(root.join("output.d")).unwrap();
        fs::write(root.join("output_02.csv"), "a").unwrap();
        fs::write(root.join("output_01.csv"), "a").unwrap();
        fs::write(root.join("notes.txt"), "a").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", root.join("output.txt")).unwrap();
        let found = Outputs::of(&root).unwrap();
        assert_eq!(found.named, ["output_01.csv", "output_02.csv"]);
        assert_eq!(found.others, ["notes.txt", "output.d", "output.txt"]);
        let expected = ["output_01.csv", "output.txt"].map(str::to_owned);
        assert_eq!(found.missing(&expected), ["output.txt"]);
        let kept = place.path().join("kept");
        keep_outputs(&root, &kept).unwrap();
        assert_eq!(Outputs::of(&kept).unwrap().named, found.named);
        assert!(!kept.join("output.txt").is_symlink());
        // Nothing is listed or copied of where a link leads.
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&root, &link).unwrap();
        assert_eq!(Outputs::of(&link).unwrap(), Outputs::default());
        for (at, gone) in ["none", "link"].into_iter().enumerate() {
            let into = place.path().join(at.to_string());
            keep_outputs(&place.path().join(gone), &into).unwrap();
            assert_eq!(fs::read_dir(&into).unwrap().count(), 0);
        }
    }
}
