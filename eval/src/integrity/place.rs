//! Where a gist asks for the directory that it lies in, and for nothing else of its own file.

use ruff_python_ast::{
    CmpOp, Expr, Stmt,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};

use super::bindings::{Bindings, chain};

/// Where `__file__` stands for no more than the directory of the file, or for what pytest is to run when
/// the file is run by itself.
pub(super) fn places(body: &[Stmt], bindings: &Bindings<'_>) -> Vec<TextSize> {
    let mut placing = Placing { bindings, is_main: false, found: Vec::new() };
    for stmt in body {
        placing.visit_stmt(stmt);
    }
    placing.found
}

struct Placing<'a> {
    bindings: &'a Bindings<'a>,
    is_main: bool,
    found: Vec<TextSize>,
}

impl Placing<'_> {
    /// The full name of a function that nothing in the file could stand for as well.
    fn called(&self, expr: &Expr) -> Option<String> {
        let written = chain(expr)?;
        let is_sure = self.bindings.is_only_imported(written.split('.').next()?);
        let is_sure = is_sure || written == "str" && !self.bindings.is_imported("str");
        is_sure.then(|| self.bindings.resolve(&written)).flatten()
    }

    /// Where `__file__` stands in what is the same path, however it is written.
    fn same(&self, expr: &Expr) -> Option<TextSize> {
        match expr {
            Expr::Name(name) => (name.id.as_str() == "__file__").then(|| name.start()),
            Expr::Call(node) => {
                if let Expr::Attribute(method) = &*node.func
                    && matches!(&*method.attr, "resolve" | "absolute")
                    && node.arguments.args.is_empty()
                {
                    return self.same(&method.value);
                }
                let [argument] = &node.arguments.args[..] else { return None };
                let full = self.called(&node.func)?;
                let is_same = matches!(
                    &*full,
                    "os.path.abspath"
                        | "os.path.realpath"
                        | "os.path.normpath"
                        | "os.fspath"
                        | "pathlib.Path"
                        | "pathlib.PurePath"
                        | "str"
                );
                is_same.then(|| self.same(argument)).flatten()
            }
            _ => None,
        }
    }
}

fn is_zero(expr: &Expr) -> bool {
    matches!(expr, Expr::NumberLiteral(node) if node.value.as_int().and_then(|n| n.as_u8()) == Some(0))
}

fn asks_for_main(test: &Expr) -> bool {
    let Expr::Compare(node) = test else { return false };
    let is_main = |expr: &Expr| matches!(expr, Expr::StringLiteral(node) if node.value.to_str() == "__main__");
    matches!(&*node.left, Expr::Name(name) if name.id.as_str() == "__name__")
        && matches!(&node.ops[..], [CmpOp::Eq])
        && node.comparators.iter().all(is_main)
}

impl<'a> Visitor<'a> for Placing<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::If(node) if asks_for_main(&node.test) && node.elif_else_clauses.is_empty() => {
                let before = std::mem::replace(&mut self.is_main, true);
                walk_stmt(self, stmt);
                self.is_main = before;
            }
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {
                let before = std::mem::replace(&mut self.is_main, false);
                walk_stmt(self, stmt);
                self.is_main = before;
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let found = match expr {
            Expr::Attribute(node) if matches!(&*node.attr, "parent" | "parents" | "with_name") => {
                self.same(&node.value).filter(|_| !node.value.is_name_expr())
            }
            Expr::Subscript(node) if is_zero(&node.slice) => match &*node.value {
                Expr::Call(call) if self.called(&call.func).as_deref() == Some("os.path.split") => {
                    call.arguments.args.first().and_then(|path| self.same(path))
                }
                _ => None,
            },
            Expr::Call(node) => match self.called(&node.func).as_deref() {
                Some("os.path.dirname") => {
                    node.arguments.args.first().and_then(|path| self.same(path))
                }
                Some("pytest.main") if self.is_main => match node.arguments.args.first() {
                    Some(Expr::List(list)) => {
                        list.elts.iter().filter(|e| e.is_name_expr()).find_map(|e| self.same(e))
                    }
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        self.found.extend(found);
        walk_expr(self, expr);
    }
}
