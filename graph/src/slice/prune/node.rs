//! The kept part of a block, as a tree that points into the source.

use ruff_python_ast::{
    ElifElseClause, ExceptHandlerExceptHandler, Expr, MatchCase, Stmt, StmtClassDef, StmtFor,
    StmtFunctionDef, StmtIf, StmtMatch, StmtTry, StmtWhile, StmtWith, name::Name,
};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use crate::scope;

/// A kept statement.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    pub(crate) stmt: &'a Stmt,
    /// For a compound statement what is left of it; empty for a simple one, which is kept whole.
    pub(crate) clauses: Vec<Clause<'a>>,
    /// Why it is here.
    pub(crate) role: KeptAs,
}

/// Why a statement is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptAs {
    /// It ran.
    Ran,
    /// It fills a block that needs a statement, and did not run.
    Filler,
    /// It did not run, but belongs to something that is kept whole.
    Dead,
    /// An import of an internal module failed, and this handler caught it. The gist has no import
    /// that could fail, so the exception is raised explicitly.
    Failed(TextRange),
}

/// A header with its block.
#[derive(Debug, Clone)]
pub(crate) struct Clause<'a> {
    pub(crate) head: ClauseHeader<'a>,
    pub(crate) body: Vec<Node<'a>>,
    /// A docstring or `pass` of the original is not enough, or there is none: the block needs glue.
    pub(crate) needs_pass: bool,
}

/// The header of a clause.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ClauseHeader<'a> {
    If(&'a StmtIf),
    /// An `elif`, rendered as `if` where it comes first.
    Elif(&'a ElifElseClause),
    /// `else`, by the block that it opened in the original.
    Else(&'a [Stmt]),
    For(&'a StmtFor),
    While(&'a StmtWhile),
    With(&'a StmtWith),
    Try(&'a StmtTry),
    Except(&'a ExceptHandlerExceptHandler),
    Finally(&'a [Stmt]),
    Match(&'a StmtMatch),
    Case(&'a MatchCase),
    Function(&'a StmtFunctionDef, EnteredPhases),
    Class(&'a StmtClassDef),
}

/// The phases in which a function was entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct EnteredPhases {
    pub(crate) import: bool,
    pub(crate) test: bool,
}

impl EnteredPhases {
    pub(crate) fn any(self) -> bool {
        self.import || self.test
    }
}
pub(crate) fn leaf(stmt: &Stmt, role: KeptAs) -> Node<'_> {
    Node { stmt, clauses: Vec::new(), role }
}

/// Statements of a function without which what is left of it would mean something else: a generator
/// stays a generator, also when none of its yields ran, and a `nonlocal` below it needs its variable.
pub(super) fn missed(function: &StmtFunctionDef, body: &[Node<'_>]) -> Vec<TextRange> {
    let mut missed = Vec::new();
    if !body.iter().any(node_yields) {
        missed.extend(own_yields(&function.body).into_iter().min_by_key(|range| range.len()));
    }
    let mut names = Vec::new();
    nonlocals(body, false, &mut names);
    let mut kept = FxHashSet::default();
    bound_by(body, &mut kept);
    for name in names.into_iter().filter(|name| !kept.contains(name)) {
        let mut binders = Vec::new();
        scope::for_each_statement(&function.body, &mut |stmt| {
            if scope::bound_directly(stmt).contains(&name) {
                binders.push(stmt.range());
            }
        });
        missed.extend(binders.into_iter().min_by_key(|range| range.len()));
    }
    missed
}

/// Names that kept functions below these statements declare `nonlocal`.
fn nonlocals(nodes: &[Node<'_>], inner: bool, names: &mut Vec<Name>) {
    for node in nodes {
        if let Stmt::Nonlocal(declared) = node.stmt
            && inner
        {
            names.extend(declared.names.iter().map(|name| name.id.clone()));
        }
        let inner = inner || matches!(node.stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_));
        node.clauses.iter().for_each(|clause| nonlocals(&clause.body, inner, names));
    }
}

/// Names that kept statements of a scope bind otherwise than by imports.
pub(crate) fn bound_by(nodes: &[Node<'_>], names: &mut FxHashSet<Name>) {
    for node in nodes {
        names.extend(scope::bound_directly(node.stmt));
        if !matches!(node.stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            node.clauses.iter().for_each(|clause| bound_by(&clause.body, names));
        }
    }
}

pub(super) fn node_holds(node: &Node<'_>, range: TextRange) -> bool {
    node.stmt.range() == range
        || node.clauses.iter().any(|clause| clause.body.iter().any(|node| node_holds(node, range)))
}

/// Ranges of the statements of a function's own scope that yield.
pub(crate) fn own_yields(body: &[Stmt]) -> Vec<TextRange> {
    let mut found = Vec::new();
    scope::for_each_statement(body, &mut |stmt| {
        if statement_yields(stmt) {
            found.push(stmt.range());
        }
    });
    found
}

fn node_yields(node: &Node<'_>) -> bool {
    let nested = matches!(node.stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_));
    !nested
        && (statement_yields(node.stmt)
            || node.clauses.iter().any(|clause| clause.body.iter().any(node_yields)))
}

/// Returns true if a statement's expressions yield, without those of its blocks.
fn statement_yields(stmt: &Stmt) -> bool {
    use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
    struct Yields {
        found: bool,
        top: bool,
    }
    impl<'v> Visitor<'v> for Yields {
        fn visit_stmt(&mut self, stmt: &'v Stmt) {
            if std::mem::take(&mut self.top)
                && !matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_))
            {
                walk_stmt(self, stmt);
            }
        }
        fn visit_expr(&mut self, expr: &'v Expr) {
            match expr {
                Expr::Yield(_) | Expr::YieldFrom(_) => self.found = true,
                Expr::Lambda(_) => {}
                _ => walk_expr(self, expr),
            }
        }
    }
    let mut yields = Yields { found: false, top: true };
    yields.visit_stmt(stmt);
    yields.found
}
