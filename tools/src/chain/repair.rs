//! The repair of an issue: what was found out and decided, and the files as they would be.
//!
//! The repository stays as it is; a patch is made of the texts here.

use std::{cmp::Reverse, collections::BTreeMap, io, io::Read, path::Path};

use graph::{numbered, open_beneath};

use crate::{
    patch::{Hunk, UnifiedDiff, is_inside},
    tool::{Problem, ToolError},
    view::{LINES, PassageView, counted},
};

/// The largest file that is edited, in bytes.
const LARGEST: u64 = 16 << 20;
/// Lines around each passage of the solution that are shown of a large file.
const AROUND: u32 = 40;
/// Lines of a hunk that are looked for, and hunks of a file.
const SOUGHT: usize = 60;

/// An issue in work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repair {
    /// The issue's text.
    pub issue: String,
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
            (file.before.as_ref() != Some(after)).then(|| (file.path.clone(), after.clone()))
        });
        changed.collect()
    }

    /// The current file as a model sees it: whole, or of a large one what lies around the solution's passages.
    pub(super) fn shown(&self) -> Option<PassageView> {
        let file = self.requested.iter().find(|file| file.after.is_none())?;
        let text = file.before.as_deref().unwrap_or_default();
        let lines: Vec<&str> = numbered(text).map(|(_, line)| line).collect();
        let diff = UnifiedDiff::parse(&self.solution).unwrap_or_default();
        let of_file = |path: &Option<String>| path.as_deref() == Some(&file.path);
        let changes = diff.files.iter().filter(|one| of_file(&one.old) || of_file(&one.new));
        let hunks = changes.flat_map(|change| &change.hunks).take(SOUGHT);
        let spans: Vec<(u32, u32)> = hunks
            .map(|hunk| {
                let first = u32::try_from(place_of(hunk, &lines)).unwrap_or(u32::MAX);
                let size = u32::try_from(hunk.before().count()).unwrap_or(u32::MAX);
                let last = first.saturating_add(size).saturating_add(AROUND);
                (first.saturating_sub(AROUND), last)
            })
            .collect();
        let is_whole = lines.len() <= LINES || spans.is_empty();
        let is_near = |line: u32| spans.iter().any(|&(first, last)| (first..=last).contains(&line));
        let mut view = counted(&file.path, text, |line| is_whole || is_near(line));
        if !is_whole {
            let shown = (1..).zip(&lines).filter(|&(line, _)| is_near(line)).count();
            view.left_out += lines.len() - shown;
        }
        Some(view)
    }
}

/// The line, from 1, at which most lines of a hunk stand; of equally good ones the nearest to that which it names.
fn place_of(hunk: &Hunk, lines: &[&str]) -> usize {
    let sought: Vec<&str> = hunk.before().take(SOUGHT).map(str::trim).collect();
    let likeness = |at: usize| {
        let pairs = sought.iter().zip(lines[at..].iter());
        pairs.filter(|(sought, line)| !sought.is_empty() && **sought == line.trim()).count()
    };
    let places = (0..lines.len()).map(|at| (likeness(at), at + 1));
    let best =
        places.max_by_key(|&(likeness, line)| (likeness, Reverse(line.abs_diff(hunk.first))));
    match best {
        Some((likeness, line)) if likeness > 0 => line,
        _ => hunk.first,
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
    fn of_a_large_file_the_passages_of_the_solution_are_shown() {
        let text: String = (1..=2_000).map(|line| format!("line_{line} = {line}\n")).collect();
        // The hunk names a wrong place.
        let solution = "--- a/a.py\n+++ b/a.py\n@@ -3,2 +3,2 @@\n line_1500 = 1500\n-line_1501 = 1501\n+x = 1\n";
        let file = Requested { path: "a.py".to_owned(), before: Some(text), after: None };
        let repair =
            Repair { solution: solution.to_owned(), requested: vec![file], ..Repair::default() };
        let view = repair.shown().unwrap();
        assert!(view.text.starts_with(" 1460 line_1460"), "{}", view.text);
        assert_eq!((view.text.lines().count(), view.left_out), (83, 1_917));
        let other = Repair { solution: solution.replace("a.py", "b.py"), ..repair };
        let view = other.shown().unwrap();
        assert_eq!((view.text.lines().count(), view.left_out, view.next), (400, 1_600, Some(401)));
    }

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
    }
}
