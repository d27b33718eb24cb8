//! What the names of a gist stand for: imports and plain aliases of them, under whatever name.

use ruff_python_ast::{
    ExceptHandler, Expr, ExprContext, Identifier, Parameter, Pattern, Stmt,
    visitor::{Visitor, walk_except_handler, walk_expr, walk_parameter, walk_pattern, walk_stmt},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Names of a file and what they stand for. Scopes are not told apart: what a name means anywhere, it may
/// mean everywhere.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    imported: FxHashMap<String, String>,
    own: FxHashSet<String>,
}

impl Bindings {
    /// Reads the statements of a file.
    pub(super) fn of(body: &[Stmt]) -> Self {
        let mut reader = Reader::default();
        for stmt in body {
            reader.visit_stmt(stmt);
        }
        let Reader { mut found, aliases } = reader;
        // An alias of an alias of an alias.
        for _ in 0..3 {
            for (name, chain) in &aliases {
                if let Some(full) = found.resolve(chain)
                    && (full != *chain || found.imported.contains_key(first(chain)))
                {
                    found.imported.entry(name.clone()).or_insert(full);
                }
            }
        }
        // Builtins under other names.
        for (name, chain) in aliases {
            if !chain.contains('.') && !found.own.contains(&chain) {
                found.imported.entry(name).or_insert(chain);
            }
        }
        found
    }

    /// The full name of a dotted one; nothing for what begins with a variable of the gist's own.
    pub(super) fn resolve(&self, chain: &str) -> Option<String> {
        let name = first(chain);
        match self.imported.get(name) {
            Some(full) => Some(format!("{full}{}", &chain[name.len()..])),
            None if self.own.contains(name) => None,
            None => Some(chain.to_owned()),
        }
    }

    /// Whether a name is that of something imported.
    pub(super) fn is_imported(&self, name: &str) -> bool {
        self.imported.contains_key(name)
    }
}

fn first(chain: &str) -> &str {
    chain.split('.').next().unwrap_or(chain)
}

/// A dotted name, written out.
pub(super) fn chain(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(node) => Some(format!("{}.{}", chain(&node.value)?, node.attr)),
        _ => None,
    }
}

#[derive(Default)]
struct Reader {
    found: Bindings,
    aliases: Vec<(String, String)>,
}

impl Reader {
    fn own(&mut self, name: Option<&Identifier>) {
        self.found.own.extend(name.map(ToString::to_string));
    }
}

impl<'a> Visitor<'a> for Reader {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(node) => {
                for alias in &node.names {
                    let full = alias.name.to_string();
                    let (name, full) = match &alias.asname {
                        Some(name) => (name.to_string(), full),
                        None => (first(&full).to_owned(), first(&full).to_owned()),
                    };
                    self.found.imported.insert(name, full);
                }
            }
            Stmt::ImportFrom(node) if node.level == 0 => {
                let module = node.module.as_ref().map(ToString::to_string).unwrap_or_default();
                for alias in &node.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                    self.found.imported.insert(name, format!("{module}.{}", alias.name));
                }
            }
            Stmt::FunctionDef(node) => {
                self.found.own.insert(node.name.to_string());
            }
            Stmt::ClassDef(node) => {
                self.found.own.insert(node.name.to_string());
            }
            Stmt::Assign(node) => {
                if let Some(value) = chain(&node.value) {
                    for target in &node.targets {
                        if let Expr::Name(name) = target {
                            self.aliases.push((name.id.to_string(), value.clone()));
                        }
                    }
                }
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Store => {
                self.found.own.insert(name.id.to_string());
            }
            Expr::Named(node) => {
                if let (Expr::Name(name), Some(value)) = (&*node.target, chain(&node.value)) {
                    self.aliases.push((name.id.to_string(), value));
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        self.own(node.name.as_ref());
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        self.own(match pattern {
            Pattern::MatchAs(node) => node.name.as_ref(),
            Pattern::MatchStar(node) => node.name.as_ref(),
            Pattern::MatchMapping(node) => node.rest.as_ref(),
            _ => None,
        });
        walk_pattern(self, pattern);
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.found.own.insert(parameter.name.to_string());
        walk_parameter(self, parameter);
    }
}
