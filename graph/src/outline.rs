//! Syntax as it is looked at and edited, with tree-sitter: outlines of files in any state, a model's own
//! queries, and incremental re-parsing of a file while it is edited.
//!
//! Nothing is analysed here; exact syntax is the business of `syntax`. Work is bounded: input that would
//! take the parser too long gives a typed refusal.

use std::{
    ops::{ControlFlow, Range},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tree_sitter::{
    InputEdit, Node, ParseOptions, Parser, Point, Query, QueryCursor, QueryCursorOptions,
    StreamingIterator, Tree,
};

use crate::{facts::EntityKind, load::facts_of, pythons::Pythons};

/// A definition in an outline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlineItem {
    /// Nesting among definitions.
    pub depth: u32,
    /// `class` or `def`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// First line, 1-based.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// The text up to the colon, on one line; a very long one is cut.
    pub signature: String,
}

/// One capture of a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyntaxCapture {
    /// Name of the capture, without the `@`.
    pub name: String,
    /// Kind of the syntax node.
    pub kind: String,
    /// First line, 1-based.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// The bytes.
    pub bytes: Range<usize>,
}

/// The captures of a query in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captures {
    /// The number of captures; a lower bound if the query is not complete.
    pub count: usize,
    /// True if the query ran to its end.
    pub complete: bool,
    /// The first of them.
    pub first: Vec<SyntaxCapture>,
}

/// The place at which a text stops being Python.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyntaxProblem {
    /// Line, 1-based.
    pub line: u32,
    /// Column in bytes, 1-based.
    pub column: u32,
    /// The error message.
    pub message: String,
}

/// Why syntax could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutlineError {
    /// The query is no query.
    #[error(
        "parse query: {message} at line {line}, column {column} (see the tree-sitter-python node types)"
    )]
    Query {
        /// The error message.
        message: String,
        /// Line of the query, 1-based.
        line: usize,
        /// Column, 1-based.
        column: usize,
    },
    /// It would take too long.
    #[error("parse source: gave up after {0:?} (nested too deeply or too broken)")]
    TooLong(Duration),
    /// The grammar and the library do not fit.
    #[error("load the python grammar: {0}")]
    Grammar(String),
}

/// Classes and functions of a text in any state, in order; of one that tree-sitter takes too long for,
/// those that the exact parser finds.
pub fn outline(text: &str) -> Vec<OutlineItem> {
    match Document::new(text) {
        Ok(document) => document.outline(),
        Err(_) => recovered(text),
    }
}

/// Bytes of a signature that are kept.
const SIGNATURE: usize = 1_000;
/// Time that one parse or query may take.
const PATIENCE: Duration = Duration::from_millis(800);
/// Syntax trees deeper than this are not descended into any further.
const DEEPEST: usize = 2_000;

/// A text and its syntax tree, kept together through edits.
pub struct Document {
    parser: Parser,
    text: String,
    tree: Tree,
}

impl Document {
    /// Parses a text, whatever its state.
    ///
    /// # Errors
    /// [`OutlineError::TooLong`] for input made to be slow.
    pub fn new(text: impl Into<String>) -> Result<Self, OutlineError> {
        let mut parser = Parser::new();
        parser
            .set_language(&tree_sitter_python::LANGUAGE.into())
            .map_err(|error| OutlineError::Grammar(error.to_string()))?;
        let text = text.into();
        let tree = parse(&mut parser, &text, None)?;
        Ok(Self { parser, text, tree })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Replaces a range of bytes and parses again, re-using what did not change.
    ///
    /// A range that is not on character boundaries of the text is moved to the nearest before it.
    ///
    /// # Errors
    /// [`OutlineError::TooLong`]; the document then is as before.
    pub fn edit(&mut self, range: Range<usize>, replacement: &str) -> Result<(), OutlineError> {
        let start = floor(&self.text, range.start);
        let end = floor(&self.text, range.end).max(start);
        let mut text = String::with_capacity(self.text.len() + replacement.len());
        text.push_str(&self.text[..start]);
        text.push_str(replacement);
        text.push_str(&self.text[end..]);
        let mut tree = self.tree.clone();
        tree.edit(&InputEdit {
            start_byte: start,
            old_end_byte: end,
            new_end_byte: start + replacement.len(),
            start_position: point(&self.text, start),
            old_end_position: point(&self.text, end),
            new_end_position: point(&text, start + replacement.len()),
        });
        self.tree = parse(&mut self.parser, &text, Some(&tree))?;
        self.text = text;
        Ok(())
    }

    /// The first place where the text stops being Python; tree-sitter accepts some that is none.
    pub fn problem(&self) -> Option<SyntaxProblem> {
        if !self.tree.root_node().has_error() {
            return None;
        }
        let mut at = self.tree.root_node();
        for _ in 0..DEEPEST {
            let mut cursor = at.walk();
            let inner =
                at.children(&mut cursor).find(|child| child.has_error() || child.is_missing());
            match inner {
                Some(child) if !child.is_error() || child.child_count() > 0 => at = child,
                Some(child) => {
                    at = child;
                    break;
                }
                None => break,
            }
        }
        let position = at.start_position();
        let message = if at.is_missing() {
            format!("expected {}", at.kind())
        } else {
            let text: String =
                self.text[at.byte_range()].lines().next().unwrap_or("").chars().take(40).collect();
            format!("unexpected {text:?}")
        };
        Some(SyntaxProblem {
            line: one_based(position.row),
            column: one_based(position.column),
            message,
        })
    }

    /// Classes and functions, in order.
    ///
    /// Where the text is broken, tree-sitter may swallow what follows; then the definitions are those
    /// that the exact parser recovers.
    pub fn outline(&self) -> Vec<OutlineItem> {
        if self.tree.root_node().has_error() {
            return recovered(&self.text);
        }
        let mut items = Vec::new();
        let mut cursor = self.tree.walk();
        let mut definitions: Vec<usize> = Vec::new();
        // By hand and in order: no recursion over syntax, however deep.
        'walk: loop {
            let node = cursor.node();
            while definitions.last().is_some_and(|&end| end <= node.start_byte()) {
                definitions.pop();
            }
            let kind = match node.kind() {
                "class_definition" => Some("class"),
                "function_definition" => Some("def"),
                _ => None,
            };
            if let Some(kind) = kind {
                let outer = node.parent().filter(|parent| parent.kind() == "decorated_definition");
                items.push(OutlineItem {
                    depth: u32::try_from(definitions.len()).unwrap_or(u32::MAX),
                    kind: kind.to_owned(),
                    name: field(node, "name", &self.text).to_owned(),
                    line: one_based(outer.unwrap_or(node).start_position().row),
                    end_line: last_line(node),
                    signature: self.signature(node),
                });
                definitions.push(node.end_byte());
            }
            // Expressions define nothing that an outline shows.
            let statement = !node.is_named() || !node.kind().ends_with("expression");
            if statement
                && cursor.depth() < u32::try_from(DEEPEST).unwrap_or(u32::MAX)
                && cursor.goto_first_child()
            {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    break 'walk;
                }
            }
        }
        items
    }

    /// Runs a query in tree-sitter's own language and lists the first `limit` captures.
    ///
    /// # Errors
    /// [`OutlineError::Query`] for what is no query.
    pub fn query(&self, query: &str, limit: usize) -> Result<Captures, OutlineError> {
        let query = Query::new(&tree_sitter_python::LANGUAGE.into(), query).map_err(|error| {
            OutlineError::Query {
                message: error.message,
                line: error.row + 1,
                column: error.column + 1,
            }
        })?;
        let names = query.capture_names();
        let started = Instant::now();
        let mut expired = false;
        let mut progress = |_: &tree_sitter::QueryCursorState| {
            expired = started.elapsed() > PATIENCE;
            if expired { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(1_024);
        let mut captures = Captures { count: 0, complete: true, first: Vec::new() };
        {
            let options = QueryCursorOptions::new().progress_callback(&mut progress);
            let root = self.tree.root_node();
            let mut found =
                cursor.captures_with_options(&query, root, self.text.as_bytes(), options);
            while let Some((matched, at)) = found.next() {
                captures.count += 1;
                if captures.count > limit {
                    continue;
                }
                let capture = matched.captures()[*at];
                captures.first.push(SyntaxCapture {
                    name: names[capture.index as usize].to_owned(),
                    kind: capture.node.kind().to_owned(),
                    line: one_based(capture.node.start_position().row),
                    end_line: last_line(capture.node),
                    bytes: capture.node.byte_range(),
                });
            }
        }
        captures.complete = !expired && !cursor.did_exceed_match_limit();
        Ok(captures)
    }

    /// The text from the keyword to the colon; comments before the body are no part of it.
    fn signature(&self, node: Node<'_>) -> String {
        let mut cursor = node.walk();
        let colon = node.children(&mut cursor).filter(|child| child.kind() == ":").last();
        let end = colon.map_or(node.end_byte(), |colon| colon.start_byte());
        one_line(self.text[node.start_byte()..end.max(node.start_byte())].trim_end())
    }
}

impl std::fmt::Debug for Document {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Document").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}

/// A signature in one line of bearable length.
fn one_line(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > SIGNATURE {
        line.truncate(line.floor_char_boundary(SIGNATURE));
        line.push_str(" ...");
    }
    line
}

fn recovered(text: &str) -> Vec<OutlineItem> {
    let facts = facts_of(text, Pythons::SUPPORTED);
    let mut depths = vec![0u32; facts.definitions.len()];
    let mut items = Vec::new();
    for (at, definition) in facts.definitions.iter().enumerate().skip(1) {
        let parent = definition.parent as usize;
        depths[at] = if parent == 0 { 0 } else { depths[parent] + 1 };
        let kind = match definition.kind {
            EntityKind::Class => "class",
            EntityKind::Function => "def",
            EntityKind::Module | EntityKind::Lambda => continue,
        };
        let signature = definition.header.of(text);
        items.push(OutlineItem {
            depth: depths[at],
            kind: kind.to_owned(),
            name: facts.names[definition.name.0 as usize].to_string(),
            line: definition.line,
            end_line: definition.end_line,
            signature: one_line(signature),
        });
    }
    items.sort_by_key(|item| (item.line, item.depth));
    items
}

/// The tokens of a text as tree-sitter has them: nodes of its tree without children, comments among them; 0 for input
/// made to be slow.
pub fn tree_tokens(text: &str) -> usize {
    let Ok(document) = Document::new(text) else { return 0 };
    let mut cursor = document.tree.walk();
    let mut count = 0;
    loop {
        if cursor.goto_first_child() {
            continue;
        }
        let node = cursor.node();
        count += usize::from(!node.byte_range().is_empty());
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return count;
            }
        }
    }
}

fn parse(parser: &mut Parser, text: &str, old: Option<&Tree>) -> Result<Tree, OutlineError> {
    let started = Instant::now();
    let mut progress = |_: &tree_sitter::ParseState| {
        if started.elapsed() > PATIENCE {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    let mut read = |at: usize, _: Point| bytes.get(at..).unwrap_or(&[]);
    let tree = parser.parse_with_options(&mut read, old, Some(options));
    if tree.is_none() {
        parser.reset();
    }
    tree.ok_or(OutlineError::TooLong(PATIENCE))
}

fn field<'t>(node: Node<'_>, name: &str, text: &'t str) -> &'t str {
    node.child_by_field_name(name).map_or("", |child| &text[child.byte_range()])
}

fn point(text: &str, at: usize) -> Point {
    let before = &text.as_bytes()[..at];
    let row = memchr::memchr_iter(b'\n', before).count();
    let column = at - memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    Point { row, column }
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn one_based(zero_based: usize) -> u32 {
    u32::try_from(zero_based + 1).unwrap_or(u32::MAX)
}

fn last_line(node: Node<'_>) -> u32 {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row {
        one_based(end.row - 1)
    } else {
        one_based(end.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let document = Document::new(text).unwrap();
        let items: Vec<String> = document
            .outline()
            .iter()
            .map(|item| {
                let indent = "  ".repeat(item.depth as usize);
                format!("{indent}{} {}-{}", item.signature, item.line, item.end_line)
            })
            .collect();
        assert_eq!(items, expected);
    }

    #[test]
    fn outlines_nest() {
        check(
            "@d\nclass A(B):\n    def f(self,\n          x): pass\n\ndef g() -> int:\n    def h(): pass\n",
            &["class A(B) 1-4", "  def f(self, x) 3-4", "def g() -> int 6-7", "  def h() 7-7"],
        );
    }

    #[test]
    fn a_signature_ends_before_comments() {
        check(
            "def f(\n    x: int = 1,\n) -> dict[str, int]:\n    #: Why.\n    return {}\n",
            &["def f( x: int = 1, ) -> dict[str, int] 1-5"],
        );
    }

    #[test]
    fn long_signatures_are_cut() {
        for broken in ["", "x = (1,\n"] {
            let items = outline(&format!("def f(x='{}'): pass\n{broken}", "é".repeat(9_000)));
            assert!(items[0].signature.ends_with("é ..."), "{}", items[0].signature.len());
            assert!(items[0].signature.len() <= SIGNATURE + 4);
        }
    }

    #[test]
    fn broken_files_have_outlines() {
        check("def a(): pass\nx = (1,\ndef b(): pass\n", &["def a() 1-1", "def b() 3-3"]);
    }

    #[test]
    fn edits_parse_again_and_tell_the_error() {
        let mut document = Document::new("def f():\n    return 1\n").unwrap();
        assert_eq!(document.problem(), None);
        document.edit(20..21, "(1").unwrap();
        let problem = document.problem().unwrap();
        assert_eq!(document.text(), "def f():\n    return (1\n");
        assert_eq!(problem.line, 2, "{problem:?}");
        document.edit(22..22, ")").unwrap();
        assert_eq!(document.problem(), None);
        assert_eq!(document.outline(), Document::new(document.text()).unwrap().outline());
    }

    #[test]
    fn queries_find_what_they_ask_for() {
        let document = Document::new("def f(x): pass\ndef g(): pass\n").unwrap();
        let found = document.query("(function_definition name: (identifier) @name)", 1).unwrap();
        assert_eq!((found.first.len(), found.first[0].line), (1, 1));
        assert_eq!((found.count, found.complete), (2, true));
        let error = document.query("(nonsense) @x", 9).unwrap_err();
        assert!(matches!(error, OutlineError::Query { .. }), "{error}");
    }

    #[test]
    fn p02_unclosed_brackets_end_soon() {
        let text = "(".repeat(200_000);
        let started = Instant::now();
        if let Ok(document) = Document::new(text) {
            let _ = document.outline();
            let _ = document.query("(call) @call", 10);
        }
        // Generous: the promise is two seconds, on a machine that does nothing else.
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}
