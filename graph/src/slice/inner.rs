//! Finds the inner functions of a function that a call of it may execute.

use ruff_python_ast::{
    Expr, Stmt,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use rustc_hash::FxHashSet;

use super::changes::CallKind;
use crate::scope;

/// Executed statements of a function, and of those functions defined in it that may run for this call of it:
/// while it is called, or later where something else than its caller holds them.
pub(super) fn executed<'s>(
    body: &'s [Stmt],
    call: CallKind,
    ran: &impl Fn(&Stmt, bool) -> bool,
    visit: &mut impl FnMut(&'s Stmt),
) {
    let (mut inner, mut global, mut entered) = (Vec::new(), Vec::new(), false);
    scope::for_each_statement(body, &mut |stmt| {
        if matches!(stmt, Stmt::Global(_)) {
            global.push(stmt);
        } else if ran(stmt, call.early) {
            entered = true;
            visit(stmt);
        }
        if let Stmt::FunctionDef(function) = stmt {
            inner.push(function);
        }
    });
    global.into_iter().filter(|_| entered).for_each(&mut *visit);
    if inner.is_empty() {
        return;
    }
    let mut uses = Uses::default();
    body.iter().for_each(|stmt| uses.visit_stmt(stmt));
    for function in inner {
        let name = &function.name.id;
        let held = function.decorator_list.iter().any(|decorator| !wraps(&decorator.expression));
        if held || uses.otherwise.contains(name) {
            executed(&function.body, CallKind::ANY, ran, visit);
        } else if uses.wrapped.contains(name) {
            executed(&function.body, CallKind { again: CallKind::OFTEN, ..call }, ran, visit);
        } else if call.again > 0 && uses.returned.contains(name) {
            let once = if call.again == CallKind::OFTEN { 0 } else { 1 };
            executed(&function.body, CallKind { again: call.again - once, ..call }, ran, visit);
        }
    }
}

/// Returns true if a decorator is a call of `wraps`, which only copies a function's metadata.
fn wraps(decorator: &Expr) -> bool {
    let Expr::Call(call) = decorator else { return false };
    is_named(&call.func, "wraps")
}

fn is_named(expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::Name(found) => found.id == name,
        Expr::Attribute(attribute) => &attribute.attr == name,
        _ => false,
    }
}

/// The names that a function only returns, those that it wraps by `functools.wraps`, and those that
/// it or an inner function uses otherwise. Assigning an attribute of a name is not a use.
#[derive(Default)]
struct Uses<'s> {
    returned: FxHashSet<&'s Name>,
    wrapped: FxHashSet<&'s Name>,
    otherwise: FxHashSet<&'s Name>,
    /// True inside of an inner function or class.
    below: bool,
}

impl<'s> Visitor<'s> for Uses<'s> {
    fn visit_stmt(&mut self, stmt: &'s Stmt) {
        match stmt {
            Stmt::Return(node) if !self.below => match node.value.as_deref() {
                Some(Expr::Name(name)) => {
                    self.returned.insert(&name.id);
                }
                _ => walk_stmt(self, stmt),
            },
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {
                let below = std::mem::replace(&mut self.below, true);
                walk_stmt(self, stmt);
                self.below = below;
            }
            Stmt::Global(node) => self.otherwise.extend(node.names.iter().map(|name| &name.id)),
            Stmt::Nonlocal(node) => self.otherwise.extend(node.names.iter().map(|name| &name.id)),
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'s Expr) {
        match expr {
            Expr::Attribute(node) if node.ctx.is_store() && node.value.is_name_expr() => {}
            Expr::Call(call) if wraps(&call.func) || is_named(&call.func, "update_wrapper") => {
                match call.arguments.args.first() {
                    Some(Expr::Name(name)) => {
                        self.wrapped.insert(&name.id);
                        call.arguments.args[1..].iter().for_each(|value| self.visit_expr(value));
                    }
                    _ => walk_expr(self, expr),
                }
            }
            Expr::Name(name) if name.ctx.is_load() => {
                self.otherwise.insert(&name.id);
            }
            _ => walk_expr(self, expr),
        }
    }
}
