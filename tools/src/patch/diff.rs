//! Unified diffs, as git and others write them and as models do, whose counts are often wrong.
//!
//! It parses; whether a diff applies to files is for git to say.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

/// The changes of a patch, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnifiedDiff {
    /// The changed files.
    pub files: Vec<FileChange>,
}

/// The change of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChange {
    /// Its path before; `None` for a new file.
    pub old: Option<String>,
    /// Its path after; `None` for a removed one.
    pub new: Option<String>,
    /// The changed passages.
    pub hunks: Vec<Hunk>,
}

/// A passage of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The line before the change at which it begins, from 1.
    pub first: usize,
    /// Its lines: a blank for both sides, `-` for the one before, `+` for the one after, and the text.
    pub lines: Vec<(char, String)>,
}

/// A place of a file before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangedPlace {
    /// A line that is removed or replaced.
    Line(usize),
    /// New lines go after this line, and none is removed there.
    After(usize),
}

/// The reason why a text is no diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it names no file (a file begins with `--- a/PATH` and `+++ b/PATH`)")]
pub struct DiffError;

impl UnifiedDiff {
    /// Reads a diff. Lines outside of files and hunks do not count.
    ///
    /// # Errors
    /// It names no file.
    pub fn parse(text: &str) -> Result<Self, DiffError> {
        let lines: Vec<&str> = text.lines().collect();
        let mut diff = Self::default();
        let mut at = 0;
        while let Some(&line) = lines.get(at) {
            let next = lines.get(at + 1).copied().unwrap_or_default();
            if let Some(names) = line.strip_prefix("diff --git ") {
                let (old, new) = names_of_head(names);
                diff.files.push(FileChange { old, new, hunks: Vec::new() });
            } else if line.starts_with("--- ") && next.starts_with("+++ ") {
                let (old, new) = (name(&line[4..]), name(&next[4..]));
                match diff.files.last_mut() {
                    // The head of git's has announced it.
                    Some(file) if file.hunks.is_empty() && at > 0 && is_announced(&lines, at) => {
                        (file.old, file.new) = (old, new);
                    }
                    _ => diff.files.push(FileChange { old, new, hunks: Vec::new() }),
                }
                at += 1;
            } else if line.starts_with("@@") {
                let Some(file) = diff.files.last_mut() else { return Err(DiffError) };
                let (hunk, passed) = Head::of(line).read(&lines[at + 1..]);
                file.hunks.push(hunk);
                at += passed;
            } else if let Some(file) = diff.files.last_mut().filter(|file| file.hunks.is_empty()) {
                if line.starts_with("new file mode ") {
                    file.old = None;
                } else if line.starts_with("deleted file mode ") {
                    file.new = None;
                } else if let Some(path) = line.strip_prefix("rename from ") {
                    file.old = Some(unquoted(path));
                } else if let Some(path) = line.strip_prefix("rename to ") {
                    file.new = Some(unquoted(path));
                }
            }
            at += 1;
        }
        if diff.files.is_empty() {
            return Err(DiffError);
        }
        Ok(diff)
    }

    /// The paths of its files, before and after.
    pub fn paths(&self) -> BTreeSet<&str> {
        let both = self.files.iter().flat_map(|file| [file.old.as_deref(), file.new.as_deref()]);
        both.flatten().collect()
    }

    /// The changed places of each file, by its path before the change, or after it where it is new.
    pub fn places(&self) -> BTreeMap<&str, BTreeSet<ChangedPlace>> {
        let mut places: BTreeMap<&str, BTreeSet<ChangedPlace>> = BTreeMap::new();
        for file in &self.files {
            let Some(path) = file.old.as_deref().or(file.new.as_deref()) else { continue };
            let own = places.entry(path).or_default();
            own.extend(file.hunks.iter().flat_map(Hunk::places));
        }
        places
    }
}

impl Hunk {
    /// The places that it changes.
    fn places(&self) -> Vec<ChangedPlace> {
        let (mut places, mut removed, mut is_added) = (Vec::new(), Vec::new(), false);
        let mut line = self.first;
        let end = (' ', String::new());
        for (side, _) in self.lines.iter().chain([&end]) {
            match side {
                '-' => {
                    removed.push(ChangedPlace::Line(line));
                    line += 1;
                }
                '+' => is_added = true,
                _ => {
                    if removed.is_empty() && mem::take(&mut is_added) {
                        places.push(ChangedPlace::After(line - 1));
                    }
                    is_added = false;
                    places.append(&mut removed);
                    line += 1;
                }
            }
        }
        places
    }

    /// The lines that it expects to find.
    pub fn before(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(|(side, _)| *side != '+').map(|(_, text)| text.as_str())
    }
}

/// The places and sizes of a hunk, as its first line has them.
struct Head {
    first: usize,
    before: Option<usize>,
    after: Option<usize>,
}

impl Head {
    /// Reads `@@ -1,2 +3,4 @@`; a size of 1 may be left out, and models leave out all of it.
    fn of(line: &str) -> Self {
        Self::exact(line).unwrap_or(Self { first: 1, before: None, after: None })
    }

    fn exact(line: &str) -> Option<Self> {
        let mut sides = line.trim_start_matches('@').split_whitespace();
        let before = sides.next()?.strip_prefix('-')?;
        let after = sides.next()?.strip_prefix('+')?;
        let size = |side: &str| side.split_once(',').map_or(Some(1), |(_, size)| size.parse().ok());
        let start: usize = before.split(',').next()?.parse().ok()?;
        let (before, after) = (size(before)?, size(after)?);
        // New lines alone stand after the line that is named.
        let first = if before == 0 { start + 1 } else { start };
        Some(Self { first, before: Some(before), after: Some(after) })
    }

    /// Reads its lines, and how many those were. Its sizes decide what belongs to it, unless they are wrong.
    fn read(self, lines: &[&str]) -> (Hunk, usize) {
        let mut hunk = Hunk { first: self.first, lines: Vec::new() };
        let (mut before, mut after) = (self.before.unwrap_or(0), self.after.unwrap_or(0));
        let mut passed = 0;
        while let Some(&line) = lines.get(passed) {
            let is_due = before > 0 || after > 0;
            let begins = |at: usize, text: &str| {
                lines.get(passed + at).is_some_and(|line| line.starts_with(text))
            };
            let begins_file = begins(0, "--- ") && begins(1, "+++ ");
            // Sizes that are too large reach into the next file.
            let is_next =
                begins_file && (!is_due || begins(2, "@@ -") && (before, after) != (1, 1));
            // A mail ends with its signature.
            let is_end = is_next || !is_due && line == "-- ";
            let (side, text) = match line.chars().next() {
                Some(side @ (' ' | '-' | '+')) if !is_end => (side, &line[1..]),
                // Trailing blanks are lost easily.
                None if is_due => (' ', line),
                Some('\\') => {
                    passed += 1;
                    continue;
                }
                _ => break,
            };
            before = before.saturating_sub(usize::from(side != '+'));
            after = after.saturating_sub(usize::from(side != '-'));
            hunk.lines.push((side, text.to_owned()));
            passed += 1;
        }
        (hunk, passed)
    }
}

/// Returns true if git's head of the same file stands before a line.
fn is_announced(lines: &[&str], at: usize) -> bool {
    let before = lines[..at].iter().rev();
    before.take_while(|line| !line.starts_with("@@")).any(|line| line.starts_with("diff --git "))
}

/// The path after `--- ` or `+++ `.
fn name(text: &str) -> Option<String> {
    let text = text.split('\t').next().unwrap_or(text).trim_end();
    (text != "/dev/null").then(|| without_side(&unquoted(text)))
}

/// The two paths after `diff --git `, which are the same but for renames, whose own lines follow.
fn names_of_head(text: &str) -> (Option<String>, Option<String>) {
    let text = text.trim_end();
    if text.starts_with('"') {
        let end = text.rfind(" \"").unwrap_or(text.len());
        let (old, new) = text.split_at(end);
        return (name(old), name(new.trim_start()));
    }
    let middle = text.len() / 2;
    match text.is_char_boundary(middle) && text[middle..].starts_with(' ') {
        true => (name(&text[..middle]), name(&text[middle + 1..])),
        false => match text.split_once(' ') {
            Some((old, new)) => (name(old), name(new)),
            None => (name(text), name(text)),
        },
    }
}

/// A path without the side of the diff that it begins with.
fn without_side(path: &str) -> String {
    path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path).to_owned()
}

/// A path as git quotes it where it has odd bytes.
fn unquoted(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return text.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(digit) = rest.next_if(|byte| (b'0'..=b'7').contains(byte)) {
                        value = value * 8 + u32::from(digit - b'0');
                    }
                }
                bytes.push(value as u8);
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a diff with their places: `path: line 2, after 4`.
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let diff = UnifiedDiff::parse(text).unwrap();
        let told: Vec<String> = diff
            .places()
            .into_iter()
            .map(|(path, places)| {
                let places = places.into_iter().map(|place| match place {
                    ChangedPlace::Line(line) => format!("line {line}"),
                    ChangedPlace::After(line) => format!("after {line}"),
                });
                format!("{path}: {}", places.collect::<Vec<_>>().join(", "))
            })
            .collect();
        assert_eq!(told, expected, "{text}");
    }

    #[test]
    fn places_are_lines_before_the_change() {
        check(
            "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -2,4 +2,5 @@ def f():\n b\n-c\n+C\n+D\n d\n \
             e\n@@ -9 +10,2 @@\n i\n+j\n",
            &["a.py: line 3, after 9"],
        );
        // Replaced lines count, and new ones beside them have no place of their own.
        check(
            "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,2 @@\n+x\n-a\n-b\n c\n",
            &["a.py: line 1, line 2"],
        );
        check("--- a/a.py\n+++ b/a.py\n@@ -0,0 +1 @@\n+x\n", &["a.py: after 0"]);
        check("--- a/a.py\n+++ b/a.py\n@@ -3,0 +4 @@\n+x\n", &["a.py: after 3"]);
    }

    #[test]
    fn files_have_the_paths_of_their_heads() {
        check("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n", &["new.py: after 0"]);
        check(
            "--- a/old.py\t2026-01-01\n+++ /dev/null\t2026-01-01\n@@ -1 +0,0 @@\n-x\n",
            &["old.py: line 1"],
        );
        check("--- plain.py\n+++ plain.py\n@@ -1 +1 @@\n-x\n+y\n", &["plain.py: line 1"]);
        check("diff --git a/x y.py b/x y.py\nnew file mode 100644\nindex 0..0\n", &["x y.py: "]);
        check(
            "diff --git a/a.py b/b.py\nsimilarity index 100%\nrename from a.py\nrename to b.py\n",
            &["a.py: "],
        );
        check(
            "--- \"a/\\303\\251.py\"\n+++ \"b/\\303\\251.py\"\n@@ -1 +1 @@\n-x\n+y\n",
            &["é.py: line 1"],
        );
        let two = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\ndiff --git a/b.py b/b.py\n--- \
                   a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-x\n+y\n";
        check(two, &["a.py: line 1", "b.py: line 1"]);
    }

    #[test]
    fn lines_like_heads_stay_within_their_hunk() {
        check(
            "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1 @@\n--- x\n-y\n+++ z\n",
            &["a.py: line 1, line 2"],
        );
        check(
            "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n",
            &["a.py: line 1"],
        );
    }

    #[test]
    fn wrong_counts_of_models_are_tolerated() {
        check(
            "```diff\n--- a/a.py\n+++ b/a.py\n@@ -1,9 +1,9 @@\n a\n-b\n+c\n\n d\n-e\n```\n",
            &["a.py: line 2, line 5"],
        );
        check("--- a/a.py\n+++ b/a.py\n@@ ... @@\n-a\n", &["a.py: line 1"]);
        let two = "--- a/a.py\n+++ b/a.py\n@@ -1,9 +1,9 @@\n-a\n--- a/b.py\n+++ b/b.py\n@@ -4 +4 @@\n-b\n+c\n-- \n2.47\n";
        check(two, &["a.py: line 1", "b.py: line 4"]);
    }

    #[test]
    fn other_texts_are_no_diffs() {
        let error = |text: &str| UnifiedDiff::parse(text).unwrap_err().to_string();
        assert!(error("").starts_with("it names no file"));
        assert!(error("Change line 3.\n--- nothing\n").starts_with("it names no file"));
        assert!(error("@@ -1 +1 @@\n-a\n").starts_with("it names no file"));
    }
}
