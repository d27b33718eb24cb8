//! Failures that end where nobody sees it: left behind by `finally`, by managers of contexts, by handlers
//! around a manager's `yield`.

use ruff_python_ast::{
    Expr, Stmt, StmtClassDef, StmtFunctionDef, StmtTry,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};

use super::{
    Rule,
    bindings::{Bindings, chain},
    shape::{NEVER, Suspect},
};

/// All such things in a file.
pub(super) fn endings(body: &[Stmt], bindings: &Bindings<'_>, text: &str) -> Vec<Suspect> {
    let has_stack = text.contains("ExitStack");
    let mut ending = Ending { bindings, has_stack, found: Vec::new() };
    for stmt in body {
        ending.visit_stmt(stmt);
    }
    ending.found
}

struct Ending<'a> {
    bindings: &'a Bindings<'a>,
    /// Whether the file names a stack of contexts.
    has_stack: bool,
    found: Vec<Suspect>,
}

impl Ending<'_> {
    fn add(&mut self, at: TextSize, word: &str) {
        let (what, word) = ("it swallows failures".to_owned(), word.to_owned());
        self.found.push(Suspect { at, rule: Rule::Tampering, what, word });
    }

    fn full(&self, expr: &Expr) -> Option<String> {
        chain(expr).and_then(|written| self.bindings.resolve(&written))
    }

    /// Statements after which a failure is gone: all that leave the `finally` they stand in.
    fn leaves(&mut self, body: &[Stmt], in_loop: bool) {
        for stmt in body {
            match stmt {
                Stmt::Return(_) => self.add(stmt.start(), NEVER),
                Stmt::Break(_) | Stmt::Continue(_) if !in_loop => self.add(stmt.start(), NEVER),
                Stmt::For(node) => {
                    self.leaves(&node.body, true);
                    self.leaves(&node.orelse, in_loop);
                }
                Stmt::While(node) => {
                    self.leaves(&node.body, true);
                    self.leaves(&node.orelse, in_loop);
                }
                Stmt::If(node) => {
                    self.leaves(&node.body, in_loop);
                    for clause in &node.elif_else_clauses {
                        self.leaves(&clause.body, in_loop);
                    }
                }
                Stmt::With(node) => self.leaves(&node.body, in_loop),
                Stmt::Match(node) => {
                    node.cases.iter().for_each(|case| self.leaves(&case.body, in_loop));
                }
                Stmt::Try(node) => {
                    self.leaves(&node.body, in_loop);
                    self.leaves(&node.orelse, in_loop);
                    for handler in &node.handlers {
                        let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = handler;
                        self.leaves(&handler.body, in_loop);
                    }
                }
                _ => {}
            }
        }
    }

    /// Handlers of a manager that is a generator.
    fn manages(&mut self, node: &StmtFunctionDef) {
        let is_manager = node.decorator_list.iter().any(|decorator| {
            let full = self.full(&decorator.expression).unwrap_or_default();
            matches!(full.rsplit('.').next(), Some("contextmanager" | "asynccontextmanager"))
        });
        if is_manager {
            let mut handlers = Handlers { bindings: self.bindings, found: Vec::new() };
            node.body.iter().for_each(|stmt| handlers.visit_stmt(stmt));
            for at in handlers.found {
                self.add(at, NEVER);
            }
        }
    }

    fn class(&mut self, node: &StmtClassDef) {
        for base in node.arguments.iter().flat_map(|arguments| &arguments.args) {
            if self.full(base).is_some_and(|full| full == "contextlib.suppress") {
                self.add(node.name.start(), "suppress");
            }
        }
    }
}

impl<'a> Visitor<'a> for Ending<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Try(StmtTry { finalbody, .. }) => self.leaves(finalbody, false),
            Stmt::FunctionDef(node) => self.manages(node),
            Stmt::ClassDef(node) => self.class(node),
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Attribute(node) = expr
            && self.has_stack
            && matches!(&*node.attr, "push" | "push_async_exit")
        {
            self.add(node.start(), &node.attr);
        }
        walk_expr(self, expr);
    }
}

/// Whether what is handled, or expected, is any failure.
pub(super) fn is_broad(kinds: &Expr, bindings: &Bindings<'_>) -> bool {
    match kinds {
        Expr::Tuple(node) => node.elts.iter().any(|kind| is_broad(kind, bindings)),
        kind => {
            let full = chain(kind).and_then(|written| bindings.resolve(&written));
            let name = full.as_deref().unwrap_or_default();
            let name = name.strip_prefix("builtins.").unwrap_or(name);
            matches!(name, "Exception" | "BaseException")
        }
    }
}

/// Where handlers of whatever happens at a `yield` begin, unless they raise.
struct Handlers<'b> {
    bindings: &'b Bindings<'b>,
    found: Vec<TextSize>,
}

impl<'a> Visitor<'a> for Handlers<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::Try(node) = stmt {
            let mut yields = Yields(false);
            node.body.iter().for_each(|stmt| yields.visit_stmt(stmt));
            for handler in &node.handlers {
                let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = handler;
                let is_broad =
                    handler.type_.as_ref().is_none_or(|kind| is_broad(kind, self.bindings));
                if yields.0 && is_broad && !handler.body.iter().any(Stmt::is_raise_stmt) {
                    self.found.push(handler.start());
                }
            }
        }
        if !stmt.is_function_def_stmt() {
            walk_stmt(self, stmt);
        }
    }
}

struct Yields(bool);

impl<'a> Visitor<'a> for Yields {
    fn visit_expr(&mut self, expr: &'a Expr) {
        self.0 |= expr.is_yield_expr() || expr.is_yield_from_expr();
        walk_expr(self, expr);
    }
}
