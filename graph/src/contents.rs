//! The contents of a module line by line: its definitions, with their decorators, and the statements of its
//! top level and of its classes.
//!
//! Statements within functions are none of them; definitions are, wherever they are nested.

use ruff_python_ast::{Decorator, Stmt, token::TokenKind};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::{
    needs::is_text,
    scope::for_each_block,
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// A line of a module's contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentLine {
    /// First line, that of a decorator where there is one.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// Number of definitions and compound statements around it.
    pub depth: u32,
    /// A definition up to its colon, the head of a compound statement, or a statement: on one line, without
    /// comments; a long one is cut.
    pub text: String,
}

/// Bytes of a line that are kept.
const LONGEST: usize = 400;

/// Returns the contents of a text in any state, in their order; strings that stand alone are left out.
///
/// ```
/// let text = "X = {\n    'a': 1,  # one\n}\n@cache\ndef f(\n    x,  # the x\n):\n    y = x\n    return y\n";
/// let lines: Vec<String> = gistify_graph::contents(text)
///     .iter()
///     .map(|line| format!("{}-{} {}", line.line, line.end_line, line.text))
///     .collect();
/// assert_eq!(lines, ["1-3 X = { 'a': 1, }", "4-9 @cache def f( x, )"]);
/// ```
pub fn contents(text: &str) -> Vec<ContentLine> {
    with_deep_stack(|| {
        let syntax = Syntax::parse(Source::new("", text));
        let mut lines = Vec::new();
        collect(&syntax, syntax.body(), 0, false, &mut lines);
        lines
    })
}

fn collect(
    syntax: &Syntax,
    body: &[Stmt],
    depth: u32,
    is_in_function: bool,
    lines: &mut Vec<ContentLine>,
) {
    for stmt in body {
        let mut add = |text: String| {
            let (line, end_line) = syntax.source().line_span(stmt.range());
            lines.push(ContentLine { line, end_line, depth, text });
        };
        match stmt {
            Stmt::FunctionDef(function) => {
                add(definition(syntax, stmt, &function.decorator_list, &function.body));
                collect(syntax, &function.body, depth + 1, true, lines);
            }
            Stmt::ClassDef(class) => {
                add(definition(syntax, stmt, &class.decorator_list, &class.body));
                collect(syntax, &class.body, depth + 1, false, lines);
            }
            stmt if is_in_function => {
                for_each_block(stmt, |body| collect(syntax, body, depth, true, lines));
            }
            stmt if is_text(stmt) => {}
            stmt => {
                let mut first = None;
                for_each_block(stmt, |body| first = first.or(Some(body).filter(|b| !b.is_empty())));
                match first {
                    Some(body) => add(head(syntax, stmt.start(), body)),
                    None => add(one_line(syntax, stmt.range())),
                }
                for_each_block(stmt, |body| collect(syntax, body, depth + 1, false, lines));
            }
        }
    }
}

/// A definition's decorators and its head.
fn definition(syntax: &Syntax, stmt: &Stmt, decorators: &[Decorator], body: &[Stmt]) -> String {
    let start = match decorators.last() {
        Some(last) => syntax.keyword_after(last.end()),
        None => stmt.start(),
    };
    let decorators = decorators.iter().map(|decorator| one_line(syntax, decorator.range()));
    let parts: Vec<String> = decorators.chain([head(syntax, start, body)]).collect();
    parts.join(" ")
}

fn head(syntax: &Syntax, start: TextSize, body: &[Stmt]) -> String {
    let mut text = one_line(syntax, syntax.header(start, body));
    text.truncate(text.trim_end_matches(':').trim_end().len());
    text
}

/// The text of a range with single blanks between its words, without comments.
fn one_line(syntax: &Syntax, range: TextRange) -> String {
    let source = syntax.source();
    let (mut text, mut at) = (String::new(), range.start());
    for token in syntax.tokens(range).iter().filter(|token| token.kind() == TokenKind::Comment) {
        text.push_str(source.slice(TextRange::new(at, token.start().max(at))));
        at = token.end();
    }
    text.push_str(source.slice(TextRange::new(at, range.end().max(at))));
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > LONGEST {
        line.truncate(line.floor_char_boundary(LONGEST));
        line.push_str(" ...");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let shown = contents(text).into_iter().map(|line| {
            let indent = "  ".repeat(line.depth as usize);
            format!("{}-{} {indent}{}", line.line, line.end_line, line.text)
        });
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn statements_decorators_and_nested_definitions_are_listed() {
        check(
            "'''Doc.'''\nimport os\nif os.sep:\n    A = 1\nelse:\n    A = 2\nclass C(B):\n    '''Doc.'''\n    \
             x: int = 3\n    @property\n    def debug(self):\n        y = 1\n        if y:\n            \
             def inner(): pass\n    @debug.setter\n    def debug(self, value): ...\n",
            &[
                "2-2 import os",
                "3-6 if os.sep",
                "4-4   A = 1",
                "6-6   A = 2",
                "7-16 class C(B)",
                "9-9   x: int = 3",
                "10-14   @property def debug(self)",
                "14-14     def inner()",
                "15-16   @debug.setter def debug(self, value)",
            ],
        );
    }

    #[test]
    fn comments_are_no_part_of_a_signature() {
        check(
            "def f(\n    a,  # first: one\n    b='#',\n):\n    #: Why.\n    return a\n",
            &["1-6 def f( a, b='#', )"],
        );
    }

    #[test]
    fn broken_texts_have_contents() {
        check(
            "def a(): pass\nx = (1,\ndef b(): pass\n",
            &["1-1 def a()", "2-2 x = (1,", "3-3 def b()"],
        );
    }
}
