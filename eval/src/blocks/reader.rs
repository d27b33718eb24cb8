//! Reads the lines of a syntax tree, block by block.

use ruff_python_ast::{
    ExceptHandler, Expr, Stmt,
    comparable::{
        ComparableArguments, ComparableExpr, ComparableParameters, ComparablePattern,
        ComparableStmt, ComparableTypeParams, ComparableWithItem,
    },
    token::{Token, TokenKind},
};
use ruff_source_file::LineIndex;
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{Class, Line, NESTING, Outline, Role, StatementSuite, folded, number};
use crate::{
    key::{self, Key, digest},
    names::assigned,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockScope {
    Module,
    Class,
    Function,
}

#[derive(Clone, Copy)]
pub(super) struct BlockPlace<'a> {
    pub(super) block: &'a str,
    pub(super) parent: Option<(usize, StatementSuite)>,
    pub(super) scope: BlockScope,
    pub(super) class: Class,
}

impl BlockPlace<'_> {
    /// Another suite of the same statement.
    fn within(self, suite: StatementSuite) -> Self {
        BlockPlace { parent: self.parent.map(|(line, _)| (line, suite)), ..self }
    }

    fn otherwise(self) -> Self {
        self.within(StatementSuite::Otherwise)
    }
}

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) index: &'a LineIndex,
    pub(super) tokens: &'a [Token],
    pub(super) outline: Outline,
}

impl Reader<'_> {
    pub(super) fn body(&mut self, body: &[Stmt], place: BlockPlace<'_>) {
        for stmt in body {
            self.stmt(stmt, place);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, place: BlockPlace<'_>) {
        match stmt {
            Stmt::FunctionDef(def) => {
                let name = qualified(place.block, &def.name);
                self.outline.functions.push(name.clone());
                let inner = BlockPlace { block: &name, ..place };
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
                self.body(
                    &def.body,
                    BlockPlace { scope: BlockScope::Function, ..self.below(inner) },
                );
            }
            Stmt::ClassDef(def) => {
                let name = qualified(place.block, &def.name);
                let inner = BlockPlace { block: &name, ..place };
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
                self.body(&def.body, BlockPlace { scope: BlockScope::Class, ..self.below(inner) });
            }
            Stmt::If(node) => {
                let header = self.header(stmt.start(), &node.body, stmt.end());
                let key = self.key(header, || digest("if", &ComparableExpr::from(&node.test)));
                self.push(header, stmt.range(), key, Role::If, place);
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
                        None => self.body(&next.body, otherwise),
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
                    let inner = BlockPlace {
                        class: Class::Potential,
                        ..whole.within(StatementSuite::Handlers)
                    };
                    self.push(header, handler.range(), key, Role::Except, inner);
                    self.body(&handler.body, self.below(inner));
                }
                self.body(&node.orelse, whole.otherwise());
                self.body(&node.finalbody, whole.within(StatementSuite::Finally));
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
            Stmt::Expr(node) if is_text(&node.value) => {
                let key = self.key(stmt.range(), || digest("", &ComparableStmt::from(stmt)));
                let place = BlockPlace { class: Class::Inert, ..place };
                let line = self.read(stmt.range(), stmt.range(), key, Role::Simple, place);
                self.outline.texts.push(line);
            }
            _ => {
                let class = match stmt {
                    Stmt::Pass(_) => Class::Potential,
                    Stmt::Expr(node) if node.value.is_ellipsis_literal_expr() => Class::Potential,
                    Stmt::Global(_) | Stmt::Nonlocal(_) => Class::Inert,
                    Stmt::AnnAssign(node)
                        if node.value.is_none() && place.scope == BlockScope::Function =>
                    {
                        Class::Inert
                    }
                    _ => place.class,
                };
                let key = self.key(stmt.range(), || digest("", &ComparableStmt::from(stmt)));
                let place = BlockPlace { class, ..place };
                self.push(stmt.range(), stmt.range(), key, Role::Simple, place);
                let (binds, alias) = assigned(stmt);
                self.bind(binds, alias);
            }
        }
    }

    /// The body of the line read last.
    fn below<'a>(&self, place: BlockPlace<'a>) -> BlockPlace<'a> {
        let parent =
            self.outline.lines.len().checked_sub(1).map(|last| (last, StatementSuite::Body));
        BlockPlace { parent, ..place }
    }

    /// Sets the names that the last line binds.
    fn bind(&mut self, binds: Vec<String>, alias: bool) {
        if let Some(line) = self.outline.lines.last_mut() {
            line.binds = binds;
            line.alias = alias;
        }
    }

    fn decorator(&mut self, range: TextRange, key: Key, place: BlockPlace<'_>) {
        let place = BlockPlace { class: Class::Inert, ..place };
        self.push(range, range, key, Role::Decorator, place);
    }

    fn definition(&mut self, header: TextRange, stmt: &Stmt, key: Key, place: BlockPlace<'_>) {
        self.push(header, stmt.range(), key, Role::Definition, place);
        let name = place.block.rsplit('.').next().unwrap_or_default().to_owned();
        self.bind(vec![name], false);
    }

    fn push(
        &mut self,
        range: TextRange,
        reach: TextRange,
        key: Key,
        role: Role,
        place: BlockPlace<'_>,
    ) {
        let line = self.read(range, reach, key, role, place);
        self.outline.lines.push(line);
    }

    fn read(
        &self,
        range: TextRange,
        reach: TextRange,
        key: Key,
        role: Role,
        place: BlockPlace<'_>,
    ) -> Line {
        let from = self.tokens.partition_point(|token| token.start() < range.start());
        let own = self.tokens[from..].iter().take_while(|token| token.start() < range.end());
        let assignments = own.filter(|token| token.kind() == TokenKind::ColonEqual).count();
        let shown = if role == Role::Definition {
            let keyword = self.text[..range.start().to_usize()]
                .rfind(['\n', '\r', ';'])
                .map_or(0, |at| at + 1);
            &self.text[keyword..range.end().to_usize()]
        } else {
            &self.text[range]
        };
        Line {
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
            assignments: number(assignments),
            text: folded(shown),
        }
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

/// Returns true if a token can add a level to the tree.
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
