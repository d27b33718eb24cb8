//! Replaces the source lines that a program shows: with their numbers, or in a traceback.
//!
//! A gist is another file than the original: such lines have other numbers in it, and other
//! neighbours. Each side is compared to its files, so that other numbered text stays.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::{LazyLock, OnceLock},
};

use regex::Regex;

use super::pattern;

/// Stands for source lines that a run showed.
pub const SOURCE_LINES: &str = "<source lines>";

/// Fewest characters, without white space, of a line by which a display of source is recognised.
const TELLING: usize = 8;

/// A line number between the marks that tracebacks of libraries put around it, and the line.
static NUMBERED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[\s│|┃║>❱→*=-]*(\d{1,6})(?:\s*[│|┃║:]|\s|$)(.*)$"));
/// A row between two lines that points at a part of the upper one.
static POINTING: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[\s│|┃║^~]*$"));
/// The filling in front of the right side of a frame: its width follows from the names in the row.
static FILLING: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)[ ─]+([│|┃║╮╯])$"));

/// The lines of internal files by their numbers, read when a text needs them.
#[derive(Debug, Clone, Default)]
pub(super) struct SourceLines {
    directory: PathBuf,
    lines: OnceLock<HashMap<u32, BTreeSet<String>>>,
}

impl SourceLines {
    pub(super) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_path_buf(), lines: OnceLock::new() }
    }

    /// Returns a text with [`SOURCE_LINES`] in the place of each sequence of numbered lines that are
    /// those of one of `files`; `None` if it has none.
    ///
    /// ```text
    /// 11 |     # the next line raises        <source lines>
    /// 12 |     return items[n + 1]
    /// ```
    pub(super) fn replace(&self, text: &str, files: &BTreeSet<String>) -> Option<String> {
        let rows: Vec<&str> = text.split_inclusive('\n').collect();
        let numbered: Vec<Option<(u32, String)>> = rows.iter().map(|row| numbered(row)).collect();
        if !numbered.iter().flatten().any(|(_, shown)| shown.chars().count() >= TELLING) {
            return None;
        }
        let lines = self.lines.get_or_init(|| read(&self.directory, files));
        let mut out = String::with_capacity(text.len());
        let mut is_replaced = false;
        let mut at = 0;
        while at < rows.len() {
            match end_of_display(&rows, &numbered, at, lines) {
                Some(end) => {
                    out.push_str(SOURCE_LINES);
                    out.push('\n');
                    is_replaced = true;
                    at = end;
                }
                None => {
                    out.push_str(rows[at]);
                    at += 1;
                }
            }
        }
        is_replaced.then(|| FILLING.replace_all(&out, "$1").into_owned())
    }
}

/// Returns a text with [`SOURCE_LINES`] in the place of what tracebacks show of the code of frames: its line, or all
/// lines of its expression, and the rows that point at parts of it. `frame` begins the row of such a frame.
///
/// ```text
///   File "<internal>", line <n>, in f          File "<internal>", line <n>, in f
///     try: return g(x)                           <source lines>
///                 ^^^^
/// ```
///
/// Glue renames names in such lines, and a gist puts `try: f()` on two lines.
pub(super) fn without_frame_sources(text: &str, frame: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rows = text.split_inclusive('\n').peekable();
    while let Some(row) = rows.next() {
        out.push_str(row);
        // In a group of exceptions a frame of characters stands in front.
        let Some(margin) = row.find(frame).map(|at| &row[..at]) else { continue };
        if !margin.ends_with("  ") || margin.contains(|c: char| c.is_alphanumeric()) {
            continue;
        }
        let is_shown =
            |next: &str| next.strip_prefix(margin).is_some_and(|rest| rest.starts_with("  "));
        let mut is_masked = false;
        while rows.next_if(|next| is_shown(next)).is_some() {
            is_masked = true;
        }
        if is_masked {
            out.push_str(&format!("{margin}  {SOURCE_LINES}\n"));
        }
    }
    out
}

/// Returns the row behind a display of source lines that begins at a row; `None` if none does.
fn end_of_display(
    rows: &[&str],
    numbered: &[Option<(u32, String)>],
    start: usize,
    lines: &HashMap<u32, BTreeSet<String>>,
) -> Option<usize> {
    let (mut at, mut is_telling) = (start, false);
    let mut next: Option<u32> = None;
    let mut end = start;
    while let Some(row) = rows.get(at) {
        let Some((number, shown)) = &numbered[at] else {
            if next.is_none() || !POINTING.is_match(row.trim_end()) {
                break;
            }
            at += 1;
            continue;
        };
        if next.is_some_and(|next| next != *number) {
            break;
        }
        // A narrow frame breaks a long line, and the rest of it has no number; or it cuts the line off.
        let mut whole = shown.clone();
        let mut taken = at + 1;
        let known = lines.get(number);
        let is_line = |text: &str| known.is_some_and(|known| known.contains(text));
        let begins = |text: &str| known.is_some_and(|known| begins_line(known, text));
        let is_cut = row.trim_end().ends_with(['│', '|', '┃', '║'])
            && whole.chars().count() >= TELLING
            && begins(&whole);
        while !whole.is_empty() && !is_line(&whole) && begins(&whole) {
            let Some((row, None)) = rows.get(taken).zip(numbered.get(taken)) else { break };
            whole.push_str(&compact(row));
            taken += 1;
        }
        if !whole.is_empty() && !is_line(&whole) {
            if !is_cut {
                break;
            }
            (whole, taken) = (shown.clone(), at + 1);
        }
        is_telling |= whole.chars().count() >= TELLING;
        (next, at, end) = (Some(number + 1), taken, taken);
    }
    (is_telling && end > start).then_some(end)
}

fn begins_line(known: &BTreeSet<String>, text: &str) -> bool {
    known.range(text.to_owned()..).next().is_some_and(|line| line.starts_with(text))
}

fn numbered(row: &str) -> Option<(u32, String)> {
    let found = NUMBERED.captures(row.trim_end())?;
    Some((found[1].parse().ok()?, compact(&found[2])))
}

/// A line without white space and the sides of a frame.
fn compact(line: &str) -> String {
    let line = line.trim().trim_matches(['│', '|', '┃', '║']);
    line.chars().filter(|c| !c.is_whitespace()).collect()
}

fn read(directory: &Path, files: &BTreeSet<String>) -> HashMap<u32, BTreeSet<String>> {
    let mut lines: HashMap<u32, BTreeSet<String>> = HashMap::default();
    for file in files {
        let Ok(bytes) = fs::read(directory.join(file)) else { continue };
        for (number, line) in (1..).zip(String::from_utf8_lossy(&bytes).lines()) {
            let line = compact(line);
            if !line.is_empty() {
                lines.entry(number).or_default().insert(line);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "import os\n\ndef pick(items, n):\n    # the report is about this line\n    return items[n + 1]\n";

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("core.py"), SOURCE).expect("a file");
        let files = BTreeSet::from(["core.py".to_owned(), "lost.py".to_owned()]);
        let found = SourceLines::new(directory.path()).replace(text, &files);
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn displays_of_source_are_replaced() {
        check(
            "error\n2 | \n3 | def pick(items, n):\n4 |     # the report is about this line\nend\n",
            Some("error\n<source lines>\nend\n"),
        );
        // With a frame, a mark, and a row that points.
        check(
            "│ core.py:5 in pick   │\n│   4     # the report is about this line │\n│ ❱ 5     return items[n + 1]             │\n│         ~~~~~^^^^^^^    │\n│ more    │\n",
            Some("│ core.py:5 in pick│\n<source lines>\n│         ~~~~~^^^^^^^│\n│ more│\n"),
        );
        check("---> 5     return items[n + 1]\n", Some("<source lines>\n"));
        // A line that a narrow frame cuts off.
        check("│ 4     # the report is │\n│ more │\n", Some("<source lines>\n│ more│\n"));
        // A line that a narrow frame breaks.
        check("│ 4     # the report is │\n│ about this line       │\n", Some("<source lines>\n"));
    }

    #[test]
    fn other_numbered_text_stays() {
        check("1 | import sys and more\n", None);
        check("4 | return items[n + 1]\n", None);
        check("no number\n", None);
        check("", None);
    }
}
