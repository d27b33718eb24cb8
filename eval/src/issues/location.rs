//! Correct location (Chain-of-Context, section 3.5, after Agentless): whether a patch covers all places that the true
//! one edits. It may edit more.
//!
//! Both are diffs of the same files. What a patch does there is not looked at.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{ChangedPlace, UnifiedDiff};

/// The places of the true patch, and those that another one covers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CorrectLocation {
    /// All its files are edited.
    pub file: bool,
    /// All its lines are edited.
    pub line: bool,
    /// Its files.
    pub files: usize,
    /// The edited files among them.
    pub covered_files: usize,
    /// Its places: lines that it changes or removes, and gaps into which it only adds.
    pub lines: usize,
    /// The edited places among them.
    pub covered_lines: usize,
    /// The files and places that are not edited.
    pub missed: Vec<String>,
}

/// Compares the places of a patch with those of the true one.
///
/// A line is covered where the patch changes or removes it. A gap is covered where the patch adds into it, or changes
/// the line before or after it:
///
/// ```text
/// true patch    covered by          not by
///  a             a                   a
/// -b            -b                  +x
///  c             c                   b
///                                    c
/// ```
///
/// A file without a place, such as a new empty one, is covered where the patch has it.
pub fn correct_location(truth: &UnifiedDiff, patch: &UnifiedDiff) -> CorrectLocation {
    let (wanted, given): (BTreeMap<_, _>, BTreeMap<_, _>) = (truth.places(), patch.places());
    let mut found = CorrectLocation { files: wanted.len(), ..CorrectLocation::default() };
    let nothing = BTreeSet::new();
    for (path, places) in &wanted {
        match given.contains_key(path) {
            true => found.covered_files += 1,
            false => found.missed.push((*path).to_owned()),
        }
        let edited = given.get(path).unwrap_or(&nothing);
        for &place in places {
            found.lines += 1;
            match covers(edited, place) {
                true => found.covered_lines += 1,
                false => found.missed.push(match place {
                    ChangedPlace::Line(line) => format!("{path}:{line}"),
                    ChangedPlace::After(line) => format!("{path}: after line {line}"),
                }),
            }
        }
    }
    found.file = found.covered_files == found.files;
    found.line = found.file && found.covered_lines == found.lines;
    found
}

/// Returns true if edited places cover one of the true patch.
fn covers(edited: &BTreeSet<ChangedPlace>, place: ChangedPlace) -> bool {
    match place {
        ChangedPlace::Line(_) => edited.contains(&place),
        ChangedPlace::After(line) => {
            let beside = [ChangedPlace::Line(line), ChangedPlace::Line(line + 1)];
            edited.contains(&place) || beside.iter().any(|place| edited.contains(place))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replaces line 2 of a file and adds after line 9 of it, and adds a file.
    const TRUTH: &str = "\
--- a/a.py
+++ b/a.py
@@ -2,1 +2,1 @@
-b
+B
@@ -9,1 +9,2 @@
 i
+j
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+x
";

    #[track_caller]
    fn check(patch: &str, expected: (bool, bool), missed: &[&str]) {
        let truth = UnifiedDiff::parse(TRUTH).unwrap();
        let patch = UnifiedDiff::parse(patch).unwrap_or_default();
        let found = correct_location(&truth, &patch);
        assert_eq!((found.file, found.line), expected, "{found:?}");
        assert_eq!(found.missed, missed);
        assert_eq!((found.files, found.lines), (2, 3));
        let told = found.missed.len();
        let not_covered = found.files - found.covered_files + found.lines - found.covered_lines;
        assert_eq!(told, not_covered);
    }

    #[test]
    fn all_places_have_to_be_covered() {
        let new = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+y\n+z\n";
        check(TRUTH, (true, true), &[]);
        // More than the true patch is right as well, and another text in the same place.
        let more = format!(
            "--- a/a.py\n+++ b/a.py\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n@@ -10 +8 @@\n-k\n+K\n{new}--- a/c.py\n+++ b/c.py\n@@ -1 +1 \
             @@\n-x\n+y\n"
        );
        check(&more, (true, true), &[]);
        let one_line = format!("--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-b\n+C\n{new}");
        check(&one_line, (true, false), &["a.py: after line 9"]);
        let beside =
            format!("--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,2 @@\n a\n+x\n@@ -9 +9 @@\n-i\n+j\n{new}");
        check(&beside, (true, false), &["a.py:2"]);
        check(new, (false, false), &["a.py", "a.py:2", "a.py: after line 9"]);
        let none = ["a.py", "a.py:2", "a.py: after line 9", "new.py", "new.py: after line 0"];
        check("", (false, false), &none);
    }
}
