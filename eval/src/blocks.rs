//! Python source as the scorers count it: blocks, and their lines normalised by syntax tree.
//!
//! A block is a function, a class or the top level, named by its place in the hierarchy
//! (`Class.method`, `outer.inner`, the empty string for the top level). A line is a statement or a
//! compound statement's header; its key is a hash of the syntax tree, so comments, layout, quotes and
//! redundant parentheses do not count (Gistify, arXiv 2510.26790, A.1). Nothing here compares two
//! files or runs anything; broken source gives the lines that could be read, and its errors.

use ruff_python_ast::{
    ExceptHandler, Expr, Stmt,
    comparable::{
        ComparableArguments, ComparableExpr, ComparableParameters, ComparablePattern,
        ComparableStmt, ComparableTypeParams, ComparableWithItem,
    },
    token::{Token, TokenKind},
};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_source_file::LineIndex;
use ruff_text_size::{Ranged, TextRange, TextSize};
use serde::{Deserialize, Serialize};

use crate::{
    key::{self, Key, digest},
    names::assigned,
};

/// Statements with more tokens than this that can nest are compared by their tokens, because code that
/// recurses over their tree could exhaust any stack.
const NESTING: usize = 20_000;

/// Longest text kept of a line, in characters; it is shown, never compared.
const SHOWN: usize = 160;

/// One line of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Qualified name of the block it belongs to; empty for the top level.
    pub block: String,
    /// The line that heads the suite it stands in, and which suite of that.
    pub parent: Option<(usize, Suite)>,
    /// Identity of its normalised form.
    pub key: Key,
    /// What it is.
    pub role: Role,
    /// Whether it counts for the line execution rate.
    pub class: Class,
    /// 1-based physical line on which it starts (for a decorated definition that of `def` or `class`).
    pub first: u32,
    /// Last physical line of the statement or of the header.
    pub last: u32,
    /// Physical lines, from the first decorator to the end of the body, whose execution proves that
    /// this line was executed.
    pub reach: (u32, u32),
    /// Byte range of the statement or header (of a definition from its name on).
    pub range: (usize, usize),
    /// Names that it binds where it stands.
    pub binds: Vec<String>,
    /// Whether it only gives another name to something: `A = B`, `m = sys.modules[...]`.
    pub alias: bool,
    /// Its text on one line, shortened, to be shown.
    pub text: String,
}

/// A suite of a statement. That of an `elif` is in the `otherwise` of the clause before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suite {
    /// What follows the header.
    Body,
    /// The handlers of a `try`.
    Handlers,
    /// `else`.
    Otherwise,
    /// `finally`.
    Finally,
}

/// What a line is in its statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A simple statement.
    Simple,
    /// One imported name of an import statement.
    Import,
    /// A decorator.
    Decorator,
    /// The header of a function or class.
    Definition,
    /// `if`.
    If,
    /// `elif`, or an `if` that is all of an `else`, which Python's own tree does not tell apart.
    Elif,
    /// `except` and its type.
    Except,
    /// Any other header: `for`, `while`, `with`, `try`, `match`, `case`.
    Header,
}

/// Part that a line plays in the line execution rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Counted.
    Executable,
    /// Excluded, because it may or may not run: handlers and placeholders.
    Potential,
    /// Never executed by itself: `global`, `nonlocal`, a bare annotation in a function, a decorator
    /// (its definition stands for it).
    Inert,
}

/// All lines of a file, in source order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// The lines.
    pub lines: Vec<Line>,
    /// Qualified names of the functions, with whether each is defined more than once.
    pub functions: Vec<String>,
    /// Syntax errors as (1-based line, message).
    pub errors: Vec<(u32, String)>,
    /// Number of physical lines.
    pub physical: u32,
}

impl Outline {
    /// Reads a file's text. Runs on a stack of its own, so that no nesting can exhaust it.
    pub fn of(text: &str) -> Self {
        graph::with_deep_stack(|| Self::of_shallow(text))
    }

    /// Reads a file's text on the caller's stack, which must come from [`graph::with_deep_stack`].
    pub fn of_shallow(text: &str) -> Self {
        let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
        let index = LineIndex::from_source_text(text);
        let Some(parsed) = parsed.try_into_module() else { return Self::default() };
        let line = |offset: TextSize| number(index.line_index(offset).get());
        let errors = parsed
            .errors()
            .iter()
            .map(|error| (line(error.location.start()), error.error.to_string()))
            .collect();
        let mut reader = Reader {
            text,
            index: &index,
            tokens: parsed.tokens(),
            outline: Self { errors, physical: physical(text), ..Self::default() },
        };
        let place =
            Place { block: "", parent: None, scope: Scope::Module, class: Class::Executable };
        reader.body(parsed.suite(), place);
        reader.outline
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Module,
    Class,
    Function,
}

#[derive(Clone, Copy)]
struct Place<'a> {
    block: &'a str,
    parent: Option<(usize, Suite)>,
    scope: Scope,
    class: Class,
}

impl Place<'_> {
    /// Another suite of the same statement.
    fn within(self, suite: Suite) -> Self {
        Place { parent: self.parent.map(|(line, _)| (line, suite)), ..self }
    }

    fn otherwise(self) -> Self {
        self.within(Suite::Otherwise)
    }
}

struct Reader<'a> {
    text: &'a str,
    index: &'a LineIndex,
    tokens: &'a [Token],
    outline: Outline,
}

impl Reader<'_> {
    fn body(&mut self, body: &[Stmt], place: Place<'_>) {
        for stmt in body {
            self.stmt(stmt, place, Role::If);
        }
    }

    /// `role` is what an `if` statement is here: an `if` that is all of an `else` is an `elif`.
    fn stmt(&mut self, stmt: &Stmt, place: Place<'_>, role: Role) {
        match stmt {
            Stmt::FunctionDef(def) => {
                let name = qualified(place.block, &def.name);
                self.outline.functions.push(name.clone());
                let inner = Place { block: &name, ..place };
                for decorator in &def.decorator_list {
                    let key = self.key(decorator.range(), || {
                        digest("@", &ComparableExpr::from(&decorator.expression))
                    });
                    self.decorator(decorator.range(), key, inner);
                }
                let header = self.header(def.name.start(), &def.body, stmt.end());
                let key = self.key(header, || {
                    digest(
                        "def",
                        &(
                            def.is_async,
                            def.name.as_str(),
                            def.type_params.as_ref().map(ComparableTypeParams::from),
                            ComparableParameters::from(&def.parameters),
                            def.returns.as_ref().map(ComparableExpr::from),
                        ),
                    )
                });
                self.definition(header, stmt, key, inner);
                self.body(&def.body, Place { scope: Scope::Function, ..self.below(inner) });
            }
            Stmt::ClassDef(def) => {
                let name = qualified(place.block, &def.name);
                let inner = Place { block: &name, ..place };
                for decorator in &def.decorator_list {
                    let key = self.key(decorator.range(), || {
                        digest("@", &ComparableExpr::from(&decorator.expression))
                    });
                    self.decorator(decorator.range(), key, inner);
                }
                let header = self.header(def.name.start(), &def.body, stmt.end());
                let key = self.key(header, || {
                    let arguments = def.arguments.as_ref().map(ComparableArguments::from);
                    digest(
                        "class",
                        &(
                            def.name.as_str(),
                            def.type_params.as_ref().map(ComparableTypeParams::from),
                            arguments.unwrap_or_default(),
                        ),
                    )
                });
                self.definition(header, stmt, key, inner);
                self.body(&def.body, Place { scope: Scope::Class, ..self.below(inner) });
            }
            Stmt::If(node) => {
                let header = self.header(stmt.start(), &node.body, stmt.end());
                let key = self.key(header, || digest("if", &ComparableExpr::from(&node.test)));
                self.push(header, stmt.range(), key, role, place);
                let mut clause = self.below(place);
                self.body(&node.body, clause);
                for next in &node.elif_else_clauses {
                    let otherwise = clause.otherwise();
                    match &next.test {
                        Some(test) => {
                            let header = self.header(next.start(), &next.body, next.end());
                            let key =
                                self.key(header, || digest("if", &ComparableExpr::from(test)));
                            // Later clauses prove this one: the chain is tried in order.
                            let reach = TextRange::new(next.start(), stmt.end());
                            self.push(header, reach, key, Role::Elif, otherwise);
                            clause = self.below(place);
                            self.body(&next.body, clause);
                        }
                        None => match next.body.as_slice() {
                            [only @ Stmt::If(_)] => self.stmt(only, otherwise, Role::Elif),
                            body => self.body(body, otherwise),
                        },
                    }
                }
            }
            Stmt::For(node) => {
                let header = self.header(stmt.start(), &node.body, stmt.end());
                let key = self.key(header, || {
                    let target = ComparableExpr::from(&node.target);
                    digest("for", &(node.is_async, target, ComparableExpr::from(&node.iter)))
                });
                self.push(header, stmt.range(), key, Role::Header, place);
                let inner = self.below(place);
                self.body(&node.body, inner);
                self.body(&node.orelse, inner.otherwise());
            }
            Stmt::While(node) => {
                let header = self.header(stmt.start(), &node.body, stmt.end());
                let key = self.key(header, || digest("while", &ComparableExpr::from(&node.test)));
                self.push(header, stmt.range(), key, Role::Header, place);
                let inner = self.below(place);
                self.body(&node.body, inner);
                self.body(&node.orelse, inner.otherwise());
            }
            Stmt::With(node) => {
                let header = self.header(stmt.start(), &node.body, stmt.end());
                let key = self.key(header, || {
                    let items: Vec<_> = node.items.iter().map(ComparableWithItem::from).collect();
                    digest("with", &(node.is_async, items))
                });
                self.push(header, stmt.range(), key, Role::Header, place);
                self.body(&node.body, self.below(place));
            }
            Stmt::Try(node) => {
                let header = self.header(stmt.start(), &node.body, stmt.end());
                self.push(header, stmt.range(), digest("try", &()), Role::Header, place);
                let whole = self.below(place);
                self.body(&node.body, whole);
                for handler in &node.handlers {
                    let ExceptHandler::ExceptHandler(handler) = handler;
                    let header = self.header(handler.start(), &handler.body, handler.end());
                    let key = self.key(header, || {
                        let kind = handler.type_.as_ref().map(ComparableExpr::from);
                        let name = handler.name.as_ref().map(|name| name.as_str());
                        digest("except", &(node.is_star, kind, name))
                    });
                    let inner = Place { class: Class::Potential, ..whole.within(Suite::Handlers) };
                    self.push(header, handler.range(), key, Role::Except, inner);
                    self.body(&handler.body, self.below(inner));
                }
                self.body(&node.orelse, whole.otherwise());
                self.body(&node.finalbody, whole.within(Suite::Finally));
            }
            Stmt::Match(node) => {
                let header = TextRange::new(stmt.start(), node.subject.end());
                let key =
                    self.key(header, || digest("match", &ComparableExpr::from(&node.subject)));
                self.push(header, stmt.range(), key, Role::Header, place);
                let whole = self.below(place);
                for case in &node.cases {
                    let header = self.header(case.range.start(), &case.body, case.range.end());
                    let key = self.key(header, || {
                        let guard = case.guard.as_ref().map(ComparableExpr::from);
                        digest("case", &(ComparablePattern::from(&case.pattern), guard))
                    });
                    // A later case proves an earlier one, as in an `elif` chain.
                    let reach = TextRange::new(case.range.start(), stmt.end());
                    self.push(header, reach, key, Role::Header, whole);
                    self.body(&case.body, self.below(whole));
                }
            }
            Stmt::Import(node) => {
                for alias in &node.names {
                    let name = alias.asname.as_ref().map(|name| name.as_str());
                    let key = digest("import", &(node.is_lazy, alias.name.as_str(), name));
                    self.push(stmt.range(), stmt.range(), key, Role::Import, place);
                    let top = alias.name.split('.').next().unwrap_or_default();
                    self.bind(vec![name.unwrap_or(top).to_owned()], false);
                }
            }
            Stmt::ImportFrom(node) => {
                let module = node.module.as_ref().map_or("", |name| name.as_str());
                for alias in &node.names {
                    let name = alias.asname.as_ref().map(|name| name.as_str());
                    let from = (node.is_lazy, node.level, module);
                    let key = digest("from", &(from, alias.name.as_str(), name));
                    self.push(stmt.range(), stmt.range(), key, Role::Import, place);
                    self.bind(vec![name.unwrap_or(alias.name.as_str()).to_owned()], false);
                }
            }
            Stmt::Expr(node) if is_text(&node.value) => {}
            _ => {
                let class = match stmt {
                    Stmt::Pass(_) => Class::Potential,
                    Stmt::Expr(node) if node.value.is_ellipsis_literal_expr() => Class::Potential,
                    Stmt::Global(_) | Stmt::Nonlocal(_) => Class::Inert,
                    Stmt::AnnAssign(node)
                        if node.value.is_none() && place.scope == Scope::Function =>
                    {
                        Class::Inert
                    }
                    _ => place.class,
                };
                let key = self.key(stmt.range(), || digest("", &ComparableStmt::from(stmt)));
                let place = Place { class, ..place };
                self.push(stmt.range(), stmt.range(), key, Role::Simple, place);
                let (binds, alias) = assigned(stmt);
                self.bind(binds, alias);
            }
        }
    }

    /// The body of the line read last.
    fn below<'a>(&self, place: Place<'a>) -> Place<'a> {
        let parent = self.outline.lines.len().checked_sub(1).map(|last| (last, Suite::Body));
        Place { parent, ..place }
    }

    /// Says of the line read last what names it binds.
    fn bind(&mut self, binds: Vec<String>, alias: bool) {
        if let Some(line) = self.outline.lines.last_mut() {
            line.binds = binds;
            line.alias = alias;
        }
    }

    fn decorator(&mut self, range: TextRange, key: Key, place: Place<'_>) {
        let place = Place { class: Class::Inert, ..place };
        self.push(range, range, key, Role::Decorator, place);
    }

    fn definition(&mut self, header: TextRange, stmt: &Stmt, key: Key, place: Place<'_>) {
        self.push(header, stmt.range(), key, Role::Definition, place);
        let name = place.block.rsplit('.').next().unwrap_or_default().to_owned();
        self.bind(vec![name], false);
    }

    fn push(&mut self, range: TextRange, reach: TextRange, key: Key, role: Role, place: Place<'_>) {
        let shown = if role == Role::Definition {
            let keyword = self.text[..range.start().to_usize()]
                .rfind(['\n', '\r', ';'])
                .map_or(0, |at| at + 1);
            &self.text[keyword..range.end().to_usize()]
        } else {
            &self.text[range]
        };
        self.outline.lines.push(Line {
            block: place.block.to_owned(),
            parent: place.parent,
            key,
            role,
            class: place.class,
            first: self.line(range.start()),
            last: self.last_line(range),
            reach: (self.line(reach.start()), self.last_line(reach)),
            range: (range.start().to_usize(), range.end().to_usize()),
            binds: Vec::new(),
            alias: false,
            text: folded(shown),
        });
    }

    /// From a keyword (or a definition's name) to the end of the colon before the body.
    fn header(&self, start: TextSize, body: &[Stmt], end: TextSize) -> TextRange {
        let limit = body.first().map_or(end, Ranged::start);
        let from = self.tokens.partition_point(|token| token.start() < start);
        let to = self.tokens.partition_point(|token| token.start() < limit);
        let colon = self.tokens[from..to.max(from)]
            .iter()
            .rev()
            .find(|token| token.kind() == TokenKind::Colon);
        TextRange::new(start, colon.map_or(limit, Ranged::end).max(start))
    }

    /// The key of a range: that of its tree, unless the tree may be too deep to walk.
    fn key(&self, range: TextRange, tree: impl FnOnce() -> Key) -> Key {
        let from = self.tokens.partition_point(|token| token.start() < range.start());
        let to = self.tokens.partition_point(|token| token.start() < range.end());
        let tokens = &self.tokens[from..to.max(from)];
        if tokens.len() <= NESTING || tokens.iter().filter(|token| nests(token)).count() <= NESTING
        {
            return tree();
        }
        let telling = tokens.iter().filter(|token| !token.kind().is_trivia());
        key::of_texts(telling.map(|token| &self.text[token.range()]))
    }

    fn line(&self, offset: TextSize) -> u32 {
        number(self.index.line_index(offset).get())
    }

    fn last_line(&self, range: TextRange) -> u32 {
        let end = if range.is_empty() { range.end() } else { range.end() - TextSize::from(1) };
        self.line(end)
    }
}

/// Whether a token can add a level to the tree.
fn nests(token: &Token) -> bool {
    !matches!(
        token.kind(),
        TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::Comma
            | TokenKind::Comment
            | TokenKind::Newline
            | TokenKind::NonLogicalNewline
            | TokenKind::Rpar
            | TokenKind::Rsqb
            | TokenKind::Rbrace
            | TokenKind::True
            | TokenKind::False
            | TokenKind::None
    )
}

/// A string that stands as a statement: a docstring, or a comment in all but name.
fn is_text(value: &Expr) -> bool {
    value.is_string_literal_expr()
}

fn qualified(block: &str, name: &str) -> String {
    if block.is_empty() { name.to_owned() } else { format!("{block}.{name}") }
}

/// A text on one line, runs of white space folded, shortened for display.
pub(crate) fn folded(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > SHOWN * 4 {
            break;
        }
    }
    match out.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &out[..at]),
        None => out,
    }
}

fn physical(text: &str) -> u32 {
    number(text.lines().count())
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        let outline = Outline::of(text);
        let mut out = String::new();
        for line in &outline.lines {
            let mark = match line.class {
                Class::Executable => ' ',
                Class::Potential => '?',
                Class::Inert => '-',
            };
            out.push_str(&format!(
                "{}{mark} {}-{} [{}] {}\n",
                line.first, line.reach.0, line.reach.1, line.block, line.text
            ));
        }
        out
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(show(text), expected);
    }

    #[test]
    fn lines_are_statements_and_headers() {
        check(
            "'''doc'''\nimport a, b as c\nfrom .m import (x,\n  y)\n\nclass C(B):\n    '''doc'''\n    n: int\n\n    @p\n    @q(\n      1)\n    def f(self,\n          a=1):\n        global g\n        z: int\n        if a: # why\n            pass\n        elif b:\n            return (\n              1)\n        else:\n            x()\n",
            "2  2-2 [] import a, b as c\n2  2-2 [] import a, b as c\n3  3-4 [] from .m import (x, y)\n3  3-4 [] from .m import (x, y)\n6  6-23 [C] class C(B):\n8  8-8 [C] n: int\n10- 10-10 [C.f] @p\n11- 11-12 [C.f] @q( 1)\n13  10-23 [C.f] def f(self, a=1):\n15- 15-15 [C.f] global g\n16- 16-16 [C.f] z: int\n17  17-23 [C.f] if a:\n18? 18-18 [C.f] pass\n19  19-23 [C.f] elif b:\n20  20-21 [C.f] return ( 1)\n23  23-23 [C.f] x()\n",
        );
        check(
            "try:\n    a()\nexcept E as e:\n    b()\nelse:\n    c()\nfinally:\n    d()\nwith a as b, c: e()\nfor x in y: ...\nwhile 1:\n    break\nmatch x:\n    case 1 if y:\n        f()\n    case _:\n        g()\n",
            "1  1-8 [] try:\n2  2-2 [] a()\n3? 3-4 [] except E as e:\n4? 4-4 [] b()\n6  6-6 [] c()\n8  8-8 [] d()\n9  9-9 [] with a as b, c:\n9  9-9 [] e()\n10  10-10 [] for x in y:\n10? 10-10 [] ...\n11  11-12 [] while 1:\n12  12-12 [] break\n13  13-17 [] match x\n14  14-17 [] case 1 if y:\n15  15-15 [] f()\n16  16-17 [] case _:\n17  17-17 [] g()\n",
        );
    }

    fn same(left: &str, right: &str, expected: bool) {
        let keys = |text| -> Vec<Key> { Outline::of(text).lines.iter().map(|l| l.key).collect() };
        assert_eq!(keys(left) == keys(right), expected, "{left:?} and {right:?}");
    }

    #[test]
    fn layout_does_not_count() {
        same("f(a,\n  b,\n)", "f( a, b )  # why", true);
        same("x = ('a'\n 'b')", "x = \"ab\"", true);
        same("x = (1)", "x = 1", true);
        same("x = 0x10", "x = 16", true);
        same("class A(): pass", "class A: pass", true);
        same("import a, b", "import a\nimport b", true);
        same("from m import (a, b)", "from m import a\nfrom m import b", true);
        same("def f(a): return a", "def f(b): return b", false);
        same("if a: pass", "if b: pass", false);
        same("x = 1", "x = 2", false);
        same("x = f'{a}b'", "x = f'{a}c'", false);
        same("async def f(): pass", "def f(): pass", false);
        same("except_ = 1", "except_ = 1; ", true);
    }

    #[test]
    fn an_else_of_one_if_is_an_elif() {
        let roles =
            |text| -> Vec<Role> { Outline::of(text).lines.iter().map(|l| l.role).collect() };
        let chain = roles("if a:\n  x()\nelif b:\n  y()\n");
        assert_eq!(chain, roles("if a:\n  x()\nelse:\n  if b:\n    y()\n"));
        assert_eq!(chain[2], Role::Elif);
    }

    #[test]
    fn p01_deep_nesting_is_read_without_recursion_limits() {
        for text in [
            format!("x = {}1", "1+".repeat(200_000)),
            format!("x = {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
            format!("x = {}1", "not ".repeat(100_000)),
            format!("x = a{}", ".b".repeat(100_000)),
        ] {
            assert_eq!(Outline::of(&text).lines.len(), 1, "{}…", &text[..20]);
        }
    }

    #[test]
    fn broken_source_gives_what_could_be_read() {
        let outline = Outline::of("def f(:\n    return 1\n\ndef g():\n    return 2\n");
        assert!(!outline.errors.is_empty());
        assert!(outline.lines.iter().any(|line| line.block == "g" && line.text == "return 2"));
    }
}
