//! What a gist does with the table of all modules.

use ruff_python_ast::{
    Expr, Stmt,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};

use super::{
    bindings::{Bindings, chain},
    fold::texts,
};

/// What a statement seeks among all modules, or does to those of pytest and the interpreter.
pub(super) fn looks_through(
    statement: &str,
    is_internal: &dyn Fn(&str) -> bool,
) -> Option<&'static str> {
    let all = [".items", ".values", ".copy", ".keys"].map(|end| format!("sys.modules{end}"));
    if all.iter().any(|name| statement.contains(name)) {
        return Some("it looks through all modules");
    }
    let own = ["pytest", "_pytest", "pluggy", "builtins", "unittest", "sys"];
    let is_own = |text: &str| {
        own.contains(&text.split('.').next().unwrap_or_default()) && !is_internal(text)
    };
    let quoted = statement.split(['"', '\'']).skip(1).step_by(2);
    quoted.into_iter().any(is_own).then_some("it reaches for the modules of pytest or Python")
}

pub(super) fn is_registration(name: &str) -> bool {
    name == "sys.modules" || name.starts_with("sys.modules.") || name == "types.ModuleType"
}

/// Whether a statement changes `sys.modules`, and does not only look something up in it.
pub(super) fn registers(statement: &str) -> bool {
    statement.match_indices("sys.modules").any(|(at, name)| {
        let rest = statement[at + name.len()..].trim_start();
        if let Some(inside) = rest.strip_prefix('[') {
            let after = inside.split_once(']').map_or("", |(_, after)| after.trim_start());
            after.starts_with('=') && !after.starts_with("==")
        } else {
            [".setdefault", ".update", ".pop", ".__setitem__"].iter().any(|m| rest.starts_with(m))
        }
    })
}

/// The names of the modules that a file puts in place of others, where they can be told.
pub(super) fn registered(body: &[Stmt], bindings: &Bindings<'_>) -> Vec<(TextSize, String)> {
    let mut registering = Registering { bindings, found: Vec::new() };
    for stmt in body {
        registering.visit_stmt(stmt);
    }
    registering.found
}

struct Registering<'a> {
    bindings: &'a Bindings<'a>,
    found: Vec<(TextSize, String)>,
}

impl Registering<'_> {
    fn is_modules(&self, expr: &Expr) -> bool {
        let full = chain(expr).and_then(|written| self.bindings.resolve(&written));
        full.as_deref() == Some("sys.modules")
    }

    fn key(&mut self, key: &Expr, at: TextSize) {
        let names = texts(key, self.bindings).unwrap_or_default();
        self.found.extend(names.into_iter().map(|name| (at, name)));
    }

    fn given(&mut self, value: &Expr, at: TextSize) {
        let known = value.as_name_expr().and_then(|name| self.bindings.known(&name.id));
        for value in std::iter::once(value).chain(known.into_iter().flatten().copied()) {
            if let Expr::Dict(node) = value {
                node.items.iter().flat_map(|item| &item.key).for_each(|key| self.key(key, at));
            }
        }
    }
}

impl<'a> Visitor<'a> for Registering<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::AugAssign(node) = stmt
            && self.is_modules(&node.target)
        {
            self.given(&node.value, stmt.start());
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Subscript(node) if !node.ctx.is_load() && self.is_modules(&node.value) => {
                self.key(&node.slice, expr.start());
            }
            Expr::Call(node) => {
                if let Expr::Attribute(method) = &*node.func
                    && self.is_modules(&method.value)
                {
                    let first = node.arguments.args.first();
                    match (&*method.attr, first) {
                        ("setdefault" | "pop" | "__setitem__" | "__delitem__", Some(key)) => {
                            self.key(key, expr.start());
                        }
                        ("update" | "__ior__", _) => {
                            first.into_iter().for_each(|first| self.given(first, expr.start()));
                            let names = node.arguments.keywords.iter().flat_map(|k| &k.arg);
                            let names = names.map(|name| (expr.start(), name.to_string()));
                            self.found.extend(names);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}
