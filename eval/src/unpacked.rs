//! Writes one statement a line in a gist, for its traced run: a trace reports lines, and cannot
//! distinguish the statements of one line.
//!
//! ```text
//! if rare: a(); b()
//! ```
//!
//! becomes
//!
//! ```text
//! if rare:
//! a()
//! b()
//! ```
//!
//! Nothing but the space between statements changes. A text without shared lines, or one that does
//! not parse, is unchanged.

use std::borrow::Cow;

use ruff_python_ast::{
    MatchCase, Stmt,
    visitor::{Visitor, walk_match_case, walk_stmt},
};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_source_file::LineIndex;
use ruff_text_size::{Ranged, TextRange, TextSize};

/// The text with one statement a line.
pub fn unpacked(text: &str) -> Cow<'_, str> {
    graph::with_deep_stack(|| {
        let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
        if graph::syntax_errors(&parsed).next().is_some() {
            return Cow::Borrowed(text);
        }
        let Some(parsed) = parsed.try_into_module() else { return Cow::Borrowed(text) };
        let index = LineIndex::from_source_text(text);
        let mut gaps = Gaps { text, index: &index, outer: String::new(), found: Vec::new() };
        gaps.visit_body(parsed.suite());
        if gaps.found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len() * 2);
        let mut at = 0;
        for (range, indent) in gaps.found {
            out.push_str(&text[at..range.start().to_usize()]);
            out.push('\n');
            out.push_str(&indent);
            at = range.end().to_usize();
        }
        out.push_str(&text[at..]);
        Cow::Owned(out)
    })
}

/// Collects the space before each statement that shares its first line with something before it.
struct Gaps<'a> {
    text: &'a str,
    index: &'a LineIndex,
    /// Indentation of the statement whose body is visited.
    outer: String,
    /// In source order: the space, and the indentation that replaces it.
    found: Vec<(TextRange, String)>,
}

impl<'a> Gaps<'a> {
    /// The indentation of the line on which something starts.
    fn indent(&self, offset: TextSize) -> &'a str {
        let line = self.index.line_index(offset);
        let line = &self.text[self.index.line_start(line, self.text).to_usize()..];
        &line[..line.len() - line.trim_start_matches([' ', '\t', '\u{c}']).len()]
    }

    /// Returns true if the text between two statements puts them on one line.
    fn shares_line(&self, between: TextRange) -> bool {
        let between = &self.text[between];
        between.contains(';') && (!between.contains('\n') || between.contains('\\'))
    }

    /// The end of the last token before an offset, but for semicolons.
    fn end_before(&self, offset: TextSize) -> TextSize {
        let before = &self.text[..offset.to_usize()];
        let space = |c: char| c.is_whitespace() || c == ';' || c == '\\';
        TextSize::try_from(before.trim_end_matches(space).len()).unwrap_or(offset)
    }
}

impl<'a> Visitor<'a> for Gaps<'a> {
    /// A case is a block of its own, further in than its `match`.
    fn visit_match_case(&mut self, case: &'a MatchCase) {
        let own = self.indent(case.start()).to_owned();
        let outer = std::mem::replace(&mut self.outer, own);
        walk_match_case(self, case);
        self.outer = outer;
    }

    fn visit_body(&mut self, body: &'a [Stmt]) {
        let Some(first) = body.first() else { return };
        // The first statement of a body is packed where its header ends on its line.
        let from = self.end_before(first.start());
        let colon = self.text[..from.to_usize()].ends_with(':');
        let between = &self.text[from.to_usize()..first.start().to_usize()];
        let packed = colon && (!between.contains('\n') || between.contains('\\'));
        let indent = match packed {
            true => format!("{}    ", self.outer),
            false => self.indent(first.start()).to_owned(),
        };
        if packed {
            self.found.push((TextRange::new(from, first.start()), indent.clone()));
        }
        let mut last: Option<&Stmt> = None;
        for stmt in body {
            if let Some(last) = last
                && self.shares_line(TextRange::new(last.end(), stmt.start()))
            {
                self.found.push((TextRange::new(last.end(), stmt.start()), indent.clone()));
            }
            last = Some(stmt);
            let outer = std::mem::replace(&mut self.outer, indent.clone());
            walk_stmt(self, stmt);
            self.outer = outer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_statement_gets_its_line() {
        let check = |packed: &str, expected: &str| {
            assert_eq!(unpacked(packed), expected, "{packed:?}");
            assert_eq!(unpacked(expected), expected);
        };
        check("a = 1\nb = 2\n", "a = 1\nb = 2\n");
        check("a = 1; b = 2 ; c = 3\n", "a = 1\nb = 2\nc = 3\n");
        check("a = 1;\nb = 2\n", "a = 1;\nb = 2\n");
        check("if x: a(); b()\nelse: c()\n", "if x:\n    a()\n    b()\nelse:\n    c()\n");
        check(
            "def f():\n  if x: return 1\n  y(); z()\n",
            "def f():\n  if x:\n      return 1\n  y()\n  z()\n",
        );
        check("class A: pass\n", "class A:\n    pass\n");
        check("a = ''';\n'''; b = 1\n", "a = ''';\n'''\nb = 1\n");
        check(
            "try: a()\nexcept E: b()\nfinally: c()\n",
            "try:\n    a()\nexcept E:\n    b()\nfinally:\n    c()\n",
        );
        check("if x: \\\n  a()\n", "if x:\n    a()\n");
        check(
            "match x:\n    case 1: a(); b()\n",
            "match x:\n    case 1:\n        a()\n        b()\n",
        );
    }
}
