//! A file with comments between its statements: it does the same as before, unless it shows its own source.

use std::collections::BTreeSet;

use ruff_python_ast::{
    Stmt,
    visitor::{Visitor, walk_stmt},
};
use ruff_text_size::Ranged;

use crate::{
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// The text with a comment above each statement that begins its line.
///
/// A program that prints the lines around an error, or numbers of its own lines, prints something else then.
pub fn commented(text: &str) -> String {
    let firsts = with_deep_stack(|| {
        let syntax = Syntax::parse(Source::new("gist", text));
        let mut finder = Finder { source: syntax.source(), firsts: BTreeSet::new() };
        syntax.body().iter().for_each(|stmt| finder.visit_stmt(stmt));
        finder.firsts
    });
    let mut longer = String::with_capacity(text.len() * 2);
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if u32::try_from(at + 1).is_ok_and(|line| firsts.contains(&line)) {
            longer.push_str(&line[..line.len() - line.trim_start().len()]);
            longer.push_str("# a comment\n");
        }
        longer.push_str(line);
    }
    longer
}

struct Finder<'s> {
    source: &'s Source,
    firsts: BTreeSet<u32>,
}

impl<'a> Visitor<'a> for Finder<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let line = self.source.line(stmt.start());
        let start = self.source.line_start(line).to_usize();
        let before = &self.source.text()[start..stmt.start().to_usize()];
        if before.trim().is_empty() {
            self.firsts.insert(line);
        }
        walk_stmt(self, stmt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stand_above_statements_and_within_none() {
        let text = "import a; import b\n@c\ndef f(x,\n      y):\n    if x: return '''\nz = 1\n'''\n    return (\n        y)\n";
        let expected = "# a comment\nimport a; import b\n# a comment\n@c\ndef f(x,\n      y):\n    # a comment\n    if x: return '''\nz = 1\n'''\n    # a comment\n    return (\n        y)\n";
        assert_eq!(commented(text), expected);
    }
}
