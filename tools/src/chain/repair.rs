//! The repair of an issue: what was found out and decided, and the files as they would be.
//!
//! The repository stays as it is; a patch is made of the texts here.

use std::{collections::BTreeMap, io, io::Read, path::Path};

use graph::open_beneath;

use super::passages::passages;
use crate::{
    patch::{is_inside, link_above},
    tool::{Problem, ToolError},
    view::PassageView,
};

/// The largest file that is edited, in bytes.
const LARGEST: u64 = 16 << 20;

/// An issue in work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repair {
    /// The issue's text.
    pub issue: String,
    /// The gist of a test that shows the issue, where a model is shown one.
    pub gist: Option<String>,
    /// Rounds of ANALYZE, RETRIEVE and VERIFY at most; with none it begins with the solution.
    pub rounds: u32,
    /// The root cause, once it is found.
    pub root_cause: String,
    /// The solution, a diff, once it is given.
    pub solution: String,
    /// The requested files, in order.
    pub requested: Vec<Requested>,
}

/// A file that a repair may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested {
    /// Its path.
    pub path: String,
    /// Its text; `None` where there is no such file yet.
    pub before: Option<String>,
    /// Its text after its edits; `None` until they are made.
    pub after: Option<String>,
}

impl Repair {
    /// The file whose turn it is.
    pub(super) fn current(&mut self) -> Option<&mut Requested> {
        self.requested.iter_mut().find(|file| file.after.is_none())
    }

    /// The changed files with their new texts.
    pub fn changes(&self) -> BTreeMap<String, String> {
        let changed = self.requested.iter().filter_map(|file| {
            let after = file.after.as_ref()?;
            let before = file.before.as_deref().unwrap_or_default();
            (before != after).then(|| (file.path.clone(), after.clone()))
        });
        changed.collect()
    }

    /// The current file as a model sees it.
    pub(super) fn shown(&self) -> Option<PassageView> {
        let file = self.requested.iter().find(|file| file.after.is_none())?;
        Some(passages(file, &self.solution))
    }
}

/// The file that a path names; its text is `None` where there is none yet.
///
/// # Errors
/// A refusal: the path leads out of the repository, or no text can be edited there.
pub(super) fn requested(root: &Path, path: &str) -> Result<Requested, ToolError> {
    let path = path.trim().trim_start_matches("./");
    if !is_inside(path) {
        return Err(
            Problem::BadArguments.because(format!("{path:?} is no path within the repository"))
        );
    }
    let failed = |reason: String| Problem::Failed.because(format!("read {path}: {reason}"));
    let file = |before| Requested { path: path.to_owned(), before, after: None };
    if let Some(link) = link_above(root, path) {
        return Err(failed(format!("{link} is a symbolic link")));
    }
    let whole = root.join(path);
    match whole.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(file(None)),
        Err(error) => return Err(failed(error.to_string())),
        Ok(there) if there.is_symlink() => return Err(failed("it is a symbolic link".to_owned())),
        Ok(there) if !there.is_file() => return Err(failed("it is no file".to_owned())),
        Ok(there) if there.len() > LARGEST => return Err(failed("it is too large".to_owned())),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let opened = open_beneath(root, Path::new(path));
    opened
        .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes))
        .map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    Ok(file(Some(text.ok_or_else(|| failed("it is no text in UTF-8".to_owned()))?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_edited_are_refused() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("repo");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("a.py"), "x = 1\n").unwrap();
        std::fs::write(root.join("b.bin"), [0xff, 0]).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", root.join("link")).unwrap();
        std::os::unix::fs::symlink(outer.path(), root.join("out")).unwrap();
        let check = |path: &str, expected: Result<Option<&str>, &str>| {
            let found =
                requested(&root, path).map(|file| file.before).map_err(|error| error.to_string());
            assert_eq!(
                found.as_ref().map(Option::as_deref).map_err(String::as_str),
                expected,
                "{path}"
            );
        };
        check("./a.py", Ok(Some("x = 1\n")));
        check("new/c.py", Ok(None));
        check("../x", Err("\"../x\" is no path within the repository"));
        check("/etc/hostname", Err("\"/etc/hostname\" is no path within the repository"));
        check(".git/config", Err("\".git/config\" is no path within the repository"));
        check("b.bin", Err("read b.bin: it is no text in UTF-8"));
        check("link", Err("read link: it is a symbolic link"));
        check("out/new.py", Err("read out/new.py: out is a symbolic link"));
    }
}
