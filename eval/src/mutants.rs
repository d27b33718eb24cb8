//! Mutates simple statements: lists the possible changes, and writes the text with a change.
//!
//! A change is an [`Operator`] and the number of its place, counted over the statement's syntax
//! tree. Statements with equal trees have the same changes in any layout, so that the mutant of an
//! original's line can be applied to a gist. No change adds or removes a physical line.
//!
//! ```text
//! value = rate(kind, 2) if x < y else "low"
//! drop the last argument: rate(kind)      flip: x >= y
//! constants: 2 + 1, "low" + "x"           drop the statement: if 0: value = ...
//! ```

use ruff_python_ast::{
    CmpOp, Expr, ExprCall, Stmt,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_source_file::LineIndex;
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of change.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// The first comparison of a chain becomes its opposite.
    FlipComparison,
    /// A literal becomes another one.
    ChangeConstant,
    /// `and` becomes `or`, and `or` `and`.
    SwapBoolean,
    /// A call loses its last argument.
    DropArgument,
    /// The value that is returned becomes `None`.
    ReturnNone,
    /// The statement is not executed; the names that it binds stay local.
    DropStatement,
}

/// One change of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its kind.
    pub operator: Operator,
    /// Its number among changes of this kind, over the syntax tree.
    pub index: u32,
    /// Byte range of the file that is replaced.
    range: TextRange,
    /// The text that replaces it.
    text: String,
}

/// The changes of the simple statements in functions of one file.
#[derive(Debug, Default)]
pub struct Changes {
    /// By byte range of the statement.
    by_statement: FxHashMap<(usize, usize), Vec<Change>>,
    /// Whole lines of the statements of the top level: byte range and 1-based first line.
    tops: Vec<(TextRange, u32)>,
}

impl Change {
    /// The file's text with this change.
    pub fn apply(&self, text: &str) -> String {
        let mut changed = text.to_owned();
        let range = self.range.start().to_usize()..self.range.end().to_usize();
        changed.replace_range(range, &self.text);
        changed
    }

    /// The statement of the top level that holds it, before and after, and its first line.
    pub fn within(&self, text: &str, changes: &Changes) -> Option<(u32, String, String)> {
        let (top, first) =
            changes.tops.iter().find(|(top, _)| top.contains_range(self.range)).copied()?;
        let before = &text[top];
        let inside = self.range - top.start();
        let mut after = before.to_owned();
        after.replace_range(inside.start().to_usize()..inside.end().to_usize(), &self.text);
        Some((first, before.to_owned(), after))
    }
}

impl Changes {
    /// Reads a file; nothing can be changed in one that is no Python.
    pub fn of(text: &str) -> Self {
        graph::with_deep_stack(|| {
            let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
            if graph::syntax_errors(&parsed).next().is_some() {
                return Self::default();
            }
            let Some(parsed) = parsed.try_into_module() else { return Self::default() };
            let index = LineIndex::from_source_text(text);
            let mut found = Self::default();
            for stmt in parsed.suite() {
                let first = index.line_index(stmt.start());
                let from = index.line_start(first, text);
                let to = index.line_end(index.line_index(stmt.end()), text);
                let first = u32::try_from(first.get()).unwrap_or(u32::MAX);
                found.tops.push((TextRange::new(from, to), first));
            }
            let mut reader =
                Reader { text, index: &index, functions: 0, found: &mut found.by_statement };
            reader.visit_body(parsed.suite());
            found
        })
    }

    /// The changes of the statement at a byte range.
    pub fn of_statement(&self, (from, to): (usize, usize)) -> &[Change] {
        self.by_statement.get(&(from, to)).map_or(&[], Vec::as_slice)
    }
}

/// Walks a file to its simple statements in functions.
struct Reader<'a> {
    text: &'a str,
    index: &'a LineIndex,
    functions: usize,
    found: &'a mut FxHashMap<(usize, usize), Vec<Change>>,
}

impl<'a> Visitor<'a> for Reader<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(_) => {
                self.functions += 1;
                walk_stmt(self, stmt);
                self.functions -= 1;
            }
            Stmt::Assign(_)
            | Stmt::AugAssign(_)
            | Stmt::AnnAssign(_)
            | Stmt::Expr(_)
            | Stmt::Return(_)
            | Stmt::Raise(_)
            | Stmt::Delete(_)
            | Stmt::Assert(_)
                if self.functions > 0 =>
            {
                let changes = changes(stmt, self.text, self.index);
                if !changes.is_empty() {
                    let range = stmt.range();
                    self.found.insert((range.start().to_usize(), range.end().to_usize()), changes);
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}

/// All changes of one statement.
fn changes(stmt: &Stmt, text: &str, index: &LineIndex) -> Vec<Change> {
    let mut finder = Finder { text, found: Vec::new(), suspends: false };
    match stmt {
        Stmt::Expr(node) if is_placeholder(&node.value) => return Vec::new(),
        Stmt::AnnAssign(node) => {
            // Nothing reads annotations of local names.
            finder.visit_expr(&node.target);
            node.value.iter().for_each(|value| finder.visit_expr(value));
        }
        _ => walk_stmt(&mut finder, stmt),
    }
    if let Stmt::Return(node) = stmt
        && let Some(value) = &node.value
        && !value.is_none_literal_expr()
    {
        finder.add(Operator::ReturnNone, value.range(), "None".to_owned());
    }
    let drops = match stmt {
        Stmt::Assign(_) | Stmt::AugAssign(_) | Stmt::Expr(_) | Stmt::Raise(_) | Stmt::Delete(_) => {
            true
        }
        Stmt::AnnAssign(node) => node.value.is_some(),
        _ => false,
    };
    if drops && !finder.suspends && is_alone(stmt, text, index) {
        finder.add(Operator::DropStatement, TextRange::empty(stmt.start()), "if 0: ".to_owned());
    }
    finder.found
}

/// Walks the expressions of one statement.
struct Finder<'a> {
    text: &'a str,
    found: Vec<Change>,
    /// Something in it is awaited or yielded.
    suspends: bool,
}

impl Finder<'_> {
    /// Notes a change whose text has as many lines as what it replaces.
    fn add(&mut self, operator: Operator, range: TextRange, mut text: String) {
        let lost = self.text[range].matches('\n').count();
        text.push_str(&"\n".repeat(lost.saturating_sub(text.matches('\n').count())));
        let index = self.found.iter().filter(|known| known.operator == operator).count();
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        self.found.push(Change { operator, index, range, text });
    }

    fn drop_argument(&mut self, call: &ExprCall) {
        let arguments = &call.arguments;
        let mut all: Vec<TextRange> = arguments.args.iter().map(Ranged::range).collect();
        all.extend(arguments.keywords.iter().map(Ranged::range));
        all.sort_unstable_by_key(|range| range.start());
        let last = arguments.args.last().map(Ranged::range);
        let Some(last) = last.or_else(|| arguments.keywords.last().map(Ranged::range)) else {
            return;
        };
        let at = all.iter().position(|range| *range == last).unwrap_or(0);
        let range = match (all.get(at + 1), at.checked_sub(1)) {
            (Some(next), _) => TextRange::new(last.start(), next.start()),
            (None, Some(before)) => TextRange::new(all[before].end(), last.end()),
            (None, None) => last,
        };
        self.add(Operator::DropArgument, range, String::new());
    }

    fn flip(&mut self, left: &Expr, operator: CmpOp, right: &Expr) {
        let (old, new) = match operator {
            CmpOp::Eq => ("==", "!="),
            CmpOp::NotEq => ("!=", "=="),
            CmpOp::Lt => ("<", ">="),
            CmpOp::LtE => ("<=", ">"),
            CmpOp::Gt => (">", "<="),
            CmpOp::GtE => (">=", "<"),
            CmpOp::Is => ("is", "is not"),
            CmpOp::IsNot => ("is not", "is"),
            CmpOp::In => ("in", "not in"),
            CmpOp::NotIn => ("not in", "in"),
        };
        let between = TextRange::new(left.end(), right.start());
        let space = &self.text[between];
        let Some(at) = space.find(old).filter(|_| !space.contains('#')) else { return };
        let start = between.start() + TextSize::try_from(at).unwrap_or_default();
        let range = TextRange::at(start, TextSize::try_from(old.len()).unwrap_or_default());
        self.add(Operator::FlipComparison, range, new.to_owned());
    }
}

impl<'a> Visitor<'a> for Finder<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Compare(node) => {
                if let (Some(operator), Some(right)) = (node.ops.first(), node.comparators.first())
                {
                    self.flip(&node.left, *operator, right);
                }
            }
            Expr::BoolOp(node) => {
                let (old, new) = match node.op {
                    ruff_python_ast::BoolOp::And => ("and", "or"),
                    ruff_python_ast::BoolOp::Or => ("or", "and"),
                };
                let mut text = String::from("(");
                let mut at = node.range.start();
                let mut whole = true;
                for pair in node.values.windows(2) {
                    let space = &self.text[TextRange::new(pair[0].end(), pair[1].start())];
                    whole &= space.contains(old) && !space.contains('#');
                    text.push_str(&self.text[TextRange::new(at, pair[0].end())]);
                    text.push_str(&space.replacen(old, new, 1));
                    at = pair[1].start();
                }
                text.push_str(&self.text[TextRange::new(at, node.range.end())]);
                text.push(')');
                if whole {
                    self.add(Operator::SwapBoolean, node.range, text);
                }
            }
            Expr::Call(node) if !node.arguments.is_empty() => self.drop_argument(node),
            Expr::NumberLiteral(node) => {
                let text = format!("({} + 1)", &self.text[node.range]);
                self.add(Operator::ChangeConstant, node.range, text);
            }
            Expr::StringLiteral(node) => {
                let text = format!("({} + \"x\")", &self.text[node.range]);
                self.add(Operator::ChangeConstant, node.range, text);
            }
            Expr::BytesLiteral(node) => {
                let text = format!("({} + b\"x\")", &self.text[node.range]);
                self.add(Operator::ChangeConstant, node.range, text);
            }
            Expr::BooleanLiteral(node) => {
                let text = if node.value { "False" } else { "True" };
                self.add(Operator::ChangeConstant, node.range, text.to_owned());
            }
            Expr::Await(_) | Expr::Yield(_) | Expr::YieldFrom(_) => self.suspends = true,
            // Text of formats is compared as a whole.
            Expr::FString(_) | Expr::TString(_) => return,
            _ => {}
        }
        walk_expr(self, expr);
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}
}

/// Returns true for docstrings and `...`.
fn is_placeholder(value: &Expr) -> bool {
    value.is_string_literal_expr() || value.is_ellipsis_literal_expr()
}

/// Returns true if the lines of a statement contain no other code; a comment is allowed.
fn is_alone(stmt: &Stmt, text: &str, index: &LineIndex) -> bool {
    let from = index.line_start(index.line_index(stmt.start()), text);
    let to = index.line_end(index.line_index(stmt.end()), text);
    let before = text[TextRange::new(from, stmt.start())].trim();
    let behind = text[TextRange::new(stmt.end(), to)].trim();
    before.is_empty() && (behind.is_empty() || behind.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let changes = Changes::of(text);
        let mut found: Vec<(&(usize, usize), &Vec<Change>)> = changes.by_statement.iter().collect();
        found.sort_by_key(|(range, _)| **range);
        let changed = found.into_iter().flat_map(|(_, changes)| changes);
        changed
            .map(|change| {
                let whole = change.apply(text);
                assert_eq!(whole.lines().count(), text.lines().count(), "{whole}");
                let (first, before, after) = change.within(text, &changes).unwrap();
                assert_eq!(text.replacen(&before, &after, 1), whole);
                assert!(text.lines().nth(first as usize - 1).unwrap().starts_with("def"));
                assert!(
                    parse_unchecked(&whole, ParseOptions::from(Mode::Module)).errors().is_empty(),
                    "{whole}"
                );
                let body = whole.strip_prefix("def f():\n    ").unwrap_or(&whole);
                format!("{:?} {}: {}", change.operator, change.index, body.trim_end())
            })
            .collect()
    }

    #[test]
    fn each_kind_of_change_is_made() {
        let check = |body: &str, expected: &[&str]| {
            assert_eq!(all(&format!("def f():\n    {body}\n")), expected, "{body}");
        };
        check(
            "return g(a, b) == 2",
            &[
                "FlipComparison 0: return g(a, b) != 2",
                "DropArgument 0: return g(a) == 2",
                "ChangeConstant 0: return g(a, b) == (2 + 1)",
                "ReturnNone 0: return None",
            ],
        );
        check(
            "x = a and (b or c)",
            &[
                "SwapBoolean 0: x = (a or (b or c))",
                "SwapBoolean 1: x = a and ((b and c))",
                "DropStatement 0: if 0: x = a and (b or c)",
            ],
        );
        check(
            "g(k='v', *a)",
            &[
                "DropArgument 0: g(k='v')",
                "ChangeConstant 0: g(k=('v' + \"x\"), *a)",
                "DropStatement 0: if 0: g(k='v', *a)",
            ],
        );
        check("x = yield 1", &["ChangeConstant 0: x = yield (1 + 1)"]);
        check("x: 'T' = None", &["DropStatement 0: if 0: x: 'T' = None"]);
        check("x = f'{1}'", &["DropStatement 0: if 0: x = f'{1}'"]);
        check("pass", &[]);
        check("'a docstring'", &[]);
        check("g(); h()", &[]);
        check("if a < b: pass", &[]);
        assert_eq!(all("x = 1\n"), Vec::<String>::new());
    }

    #[test]
    fn statements_over_several_lines_keep_their_lines() {
        let text = "def f():\n    return g(\n        a,\n        b,  # last\n    )\n\n\ndef h():\n    pass\n";
        assert_eq!(all(text).len(), 2);
    }
}
