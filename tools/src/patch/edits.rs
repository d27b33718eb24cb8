//! Edits of one text by line numbers, all of which count the lines of the text as it was before any edit.
//!
//! It keeps the text's own kind of line break, and refuses edits that overlap.

use std::ops::Range;

use graph::numbered;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The lines `first` to `last` of a text, from 1, that `text` replaces. A `last` before `first` replaces none: the text
/// goes before the line `first`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineEdit {
    /// The first line.
    pub first: usize,
    /// The last line.
    pub last: usize,
    /// The new lines; empty to remove.
    #[serde(default)]
    pub text: String,
}

/// The reason why edits cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// An edit names lines that do not exist.
    #[error("lines {first} to {last} are not in 1 to {lines}")]
    Range {
        /// The first line.
        first: usize,
        /// The last line.
        last: usize,
        /// The number of lines.
        lines: usize,
    },
    /// Two edits change the same line, or insert before the same line.
    #[error("the edits at lines {earlier} and {later} overlap (join them to one)")]
    Overlap {
        /// The first line of one.
        earlier: usize,
        /// The first line of the other.
        later: usize,
    },
}

/// Makes all edits of a text.
///
/// ```text
/// a                                   x
/// b    1 to 0: x, 2 to 2: y, z   ->   a
/// c                                   y
///                                     z
///                                     c
/// ```
///
/// # Errors
/// An edit names lines that do not exist, or two overlap.
pub fn apply_edits(text: &str, edits: &[LineEdit]) -> Result<String, EditError> {
    let starts = line_starts(text);
    let lines = starts.len() - 1;
    let mut sorted: Vec<&LineEdit> = edits.iter().collect();
    sorted.sort_by_key(|edit| (edit.first, edit.last));
    for edit in &sorted {
        let &LineEdit { first, last, .. } = *edit;
        if first == 0 || first > lines + 1 || last > lines || last + 1 < first {
            return Err(EditError::Range { first, last, lines });
        }
    }
    for pair in sorted.windows(2) {
        let (earlier, later) = (pair[0], pair[1]);
        if later.first <= earlier.last || later.first == earlier.first {
            return Err(EditError::Overlap { earlier: earlier.first, later: later.first });
        }
    }
    let line_break = line_break(text);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for edit in sorted {
        let range: Range<usize> = starts[edit.first - 1]..starts[edit.last.max(edit.first - 1)];
        out.push_str(&text[at..range.start]);
        let is_whole = out.is_empty() || out.ends_with(['\n', '\r']);
        if !edit.text.is_empty() && !is_whole {
            out.push_str(line_break);
        }
        for line in edit.text.lines() {
            out.push_str(line);
            out.push_str(line_break);
        }
        at = range.end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// The offset of each line as Python counts lines, and the end of the text.
fn line_starts(text: &str) -> Vec<usize> {
    let offset = |line: &str| line.as_ptr() as usize - text.as_ptr() as usize;
    let starts = numbered(text).map(|(_, line)| offset(line));
    starts.chain([text.len()]).collect()
}

/// The line break that most lines of a text have.
fn line_break(text: &str) -> &'static str {
    let (all, windows) = (text.matches('\n').count(), text.matches("\r\n").count());
    if windows * 2 > all { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edits as `first last text`.
    #[track_caller]
    fn check(text: &str, edits: &[(usize, usize, &str)], expected: Result<&str, &str>) {
        let edits: Vec<LineEdit> = edits
            .iter()
            .map(|&(first, last, text)| LineEdit { first, last, text: text.to_owned() })
            .collect();
        let edited = apply_edits(text, &edits).map_err(|error| error.to_string());
        assert_eq!(edited.as_deref().map_err(String::as_str), expected, "{text:?} {edits:?}");
    }

    #[test]
    fn numbers_are_those_before_any_edit() {
        let text = "a\nb\nc\nd\n";
        check(text, &[], Ok(text));
        check(text, &[(2, 2, "x\ny\nz"), (4, 4, "w")], Ok("a\nx\ny\nz\nc\nw\n"));
        check(text, &[(4, 4, "w"), (2, 3, "")], Ok("a\nw\n"));
        check(
            text,
            &[(1, 0, "x"), (1, 1, "y")],
            Err("the edits at lines 1 and 1 overlap (join them to one)"),
        );
        check(text, &[(1, 0, "x"), (5, 4, "y"), (2, 2, "z\n")], Ok("x\na\nz\nc\nd\ny\n"));
        check(text, &[(1, 4, "")], Ok(""));
        check("", &[(1, 0, "x\ny")], Ok("x\ny\n"));
    }

    #[test]
    fn impossible_edits_are_refused() {
        let text = "a\nb\n";
        check(text, &[(0, 1, "x")], Err("lines 0 to 1 are not in 1 to 2"));
        check(text, &[(2, 3, "x")], Err("lines 2 to 3 are not in 1 to 2"));
        check(text, &[(4, 3, "x")], Err("lines 4 to 3 are not in 1 to 2"));
        check(text, &[(2, 0, "x")], Err("lines 2 to 0 are not in 1 to 2"));
        check("", &[(1, 1, "x")], Err("lines 1 to 1 are not in 1 to 0"));
        check(
            text,
            &[(1, 2, "x"), (2, 2, "y")],
            Err("the edits at lines 1 and 2 overlap (join them to one)"),
        );
        check(
            text,
            &[(1, usize::MAX, "")],
            Err("lines 1 to 18446744073709551615 are not in 1 to 2"),
        );
    }

    #[test]
    fn line_breaks_stay_as_they_are() {
        check("a\r\nb\r\n", &[(2, 2, "x\ny")], Ok("a\r\nx\r\ny\r\n"));
        check("a\nb", &[(3, 2, "x")], Ok("a\nb\nx\n"));
        check("a\nb", &[(1, 1, "x")], Ok("x\nb"));
        check("a\nb", &[(2, 2, "x")], Ok("a\nx\n"));
        check("a\n\x0cb\n", &[(2, 2, "x")], Ok("a\nx\n"));
        check("a\rb\nc\n", &[(2, 2, "x")], Ok("a\rx\nc\n"));
    }
}
