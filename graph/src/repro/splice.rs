//! Replaces ranges of a gist's text and keeps track of where its lines come from.

use std::ops::Range;

use ruff_text_size::TextRange;

use crate::slice::{Gist, GistLine, LineOrigin};

/// A range of the old text, and the text in its place.
pub(super) type Edit = (TextRange, String);

/// The reason of lines that a rewrite adds.
const ADDED: &str = "a repro calls what pytest would call";

/// The gist with all edits made. A line is the old line of which it has the first letter; one that has none is glue.
/// Edits that overlap an earlier one are left out.
pub(super) fn spliced(gist: &Gist, mut edits: Vec<Edit>) -> Gist {
    edits.sort_by_key(|(range, _)| range.start());
    let mut writer = Writer::new(gist);
    let mut at = 0;
    for (range, text) in &edits {
        let range: Range<usize> = (*range).into();
        if range.start < at {
            continue;
        }
        writer.keep(at..range.start);
        writer.insert(text);
        at = range.end;
    }
    writer.keep(at..gist.text.len());
    writer.finish()
}

struct Writer<'a> {
    gist: &'a Gist,
    old: Vec<&'a str>,
    starts: Vec<usize>,
    line: String,
    /// The old line of the first letter of this line, or else of its end.
    from: Option<usize>,
    blank: Option<usize>,
    text: String,
    lines: Vec<GistLine>,
}

impl<'a> Writer<'a> {
    fn new(gist: &'a Gist) -> Self {
        let starts = std::iter::once(0).chain(gist.text.match_indices('\n').map(|(at, _)| at + 1));
        Self {
            gist,
            old: gist.text.lines().collect(),
            starts: starts.collect(),
            line: String::new(),
            from: None,
            blank: None,
            text: String::with_capacity(gist.text.len()),
            lines: Vec::new(),
        }
    }

    fn keep(&mut self, range: Range<usize>) {
        let gist = self.gist;
        for (offset, c) in gist.text[range.clone()].char_indices() {
            let old = self.starts.partition_point(|start| *start <= range.start + offset) - 1;
            if c == '\n' {
                self.blank = self.blank.or(Some(old));
                self.end();
                continue;
            }
            if !c.is_whitespace() {
                self.from = self.from.or(Some(old));
            }
            self.line.push(c);
        }
    }

    fn insert(&mut self, text: &str) {
        for c in text.chars() {
            if c == '\n' { self.end() } else { self.line.push(c) }
        }
    }

    fn end(&mut self) {
        let line = std::mem::take(&mut self.line);
        let (from, blank) = (self.from.take(), self.blank.take());
        let old = from.or(blank.filter(|_| line.trim().is_empty()));
        let entry = old.and_then(|old| {
            let entry = self.gist.lines.get(old)?;
            let is_same = self.old.get(old)?.trim() == line.trim();
            Some(GistLine { origin: entry.origin.clone(), adapted: entry.adapted || !is_same })
        });
        let added = || GistLine { origin: LineOrigin::Glue(ADDED.to_owned()), adapted: false };
        self.lines.push(entry.unwrap_or_else(added));
        // A blank at the end of a line may belong to a text.
        let is_untouched = old.is_some_and(|old| self.old.get(old) == Some(&line.as_str()));
        self.text.push_str(if is_untouched { &line } else { line.trim_end() });
        self.text.push('\n');
    }

    fn finish(mut self) -> Gist {
        if !self.line.is_empty() {
            self.end();
        }
        Gist { text: self.text, lines: self.lines }
    }
}

/// A line that a rewrite adds.
pub(super) fn added(reason: &str) -> GistLine {
    GistLine { origin: LineOrigin::Glue(reason.to_owned()), adapted: false }
}

/// A gist of these lines.
pub(super) fn joined(lines: impl IntoIterator<Item = (String, GistLine)>) -> Gist {
    let mut gist = Gist::default();
    for (text, line) in lines {
        gist.text.push_str(&text);
        gist.text.push('\n');
        gist.lines.push(line);
    }
    gist
}

/// The lines of a gist, each with its origin.
pub(super) fn lines_with_origins(gist: &Gist) -> Vec<(String, GistLine)> {
    gist.text.lines().map(str::to_owned).zip(gist.lines.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::{gist, shown};

    #[test]
    fn lines_keep_their_origin_where_a_letter_of_them_stays() {
        let old = gist("def f(a: int,\n      b):\n    return a\n");
        let range = |start: u32, end: u32| TextRange::new(start.into(), end.into());
        let new = spliced(&old, vec![(range(7, 12), String::new())]);
        assert_eq!(shown(&new), "1~|def f(a,\n2|      b):\n3|    return a\n");
        let new = spliced(&old, vec![(range(5, 22), "()".to_owned())]);
        assert_eq!(shown(&new), "1~|def f():\n3|    return a\n");
        let new = spliced(&old, vec![(range(24, 24), "    x = 1\n".to_owned())]);
        assert_eq!(shown(&new), "1|def f(a: int,\n2|      b):\n+|    x = 1\n3|    return a\n");
    }
}
