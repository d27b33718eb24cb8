//! Recognises the random generators of Python's standard library.

use ruff_python_ast::{Expr, ExprCall, Stmt, name::Name};
use rustc_hash::FxHashMap;

use crate::{
    module::{Module, Modules},
    scope,
    slice::scan::path,
};

/// Returns true if a text may import a random generator.
pub(super) fn may_draw(text: &str) -> bool {
    ["random", "secrets", "uuid"].iter().any(|word| text.contains(word))
}

/// Names that a module's external imports bind, with their dotted targets.
#[derive(Debug, Default)]
pub(super) struct ExternalImports(FxHashMap<Name, String>);

impl ExternalImports {
    pub(super) fn of(module: &Module, modules: &Modules) -> Self {
        let mut found = Self::default();
        let syntax = &module.syntax;
        let mut add = |stmt: &Stmt| found.add(stmt, modules);
        scope::for_each_statement(syntax.body(), &mut add);
        scope::for_each_function(syntax.body(), &mut |_, function| {
            scope::for_each_statement(&function.body, &mut add);
        });
        found
    }

    fn add(&mut self, stmt: &Stmt, modules: &Modules) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    if modules.is_internal(&alias.name) {
                        continue;
                    }
                    let local = scope::local_of_import(alias);
                    let dotted = if alias.asname.is_some() { &alias.name.id } else { &local };
                    let dotted = dotted.to_string();
                    self.0.insert(local, dotted);
                }
            }
            Stmt::ImportFrom(import) if import.level == 0 => {
                let Some(module) = import.module.as_ref().filter(|one| !modules.is_internal(one))
                else {
                    return;
                };
                for alias in &import.names {
                    let local = scope::local_of_import(alias);
                    self.0.insert(local, format!("{module}.{}", alias.name));
                }
            }
            _ => {}
        }
    }

    /// The dotted name of what an expression mentions.
    fn dotted(&self, expr: &Expr) -> Option<String> {
        let (root, chain) = path(expr);
        let mut dotted = self.0.get(&root.as_name_expr()?.id)?.clone();
        for (attribute, _) in chain {
            dotted.push('.');
            dotted.push_str(&attribute);
        }
        Some(dotted)
    }

    /// Returns true if an expression is an external module, or an attribute of one.
    pub(super) fn knows(&self, expr: &Expr) -> bool {
        path(expr).0.as_name_expr().is_some_and(|root| self.0.contains_key(&root.id))
    }

    /// Returns true if an expression is, or returns, a random function. `seeded` is true if the
    /// shared generator has a seed.
    pub(super) fn draws(&self, expr: &Expr, seeded: bool) -> bool {
        // A generator without a seed.
        if let Expr::Call(call) = expr {
            return call.arguments.is_empty()
                && self.dotted(&call.func).is_some_and(|dotted| dotted == "random.Random");
        }
        let Some(dotted) = self.dotted(expr) else { return false };
        match dotted.as_str() {
            "os.urandom" | "os.getrandom" | "uuid.uuid1" | "uuid.uuid4" => true,
            "random.SystemRandom" => true,
            "random" => !seeded,
            dotted => match dotted.split_once('.') {
                Some(("secrets", name)) => name != "compare_digest",
                // Its functions; what its classes give depends on what they are given.
                Some(("random", name)) => {
                    !seeded
                        && !matches!(name, "seed" | "getstate" | "setstate")
                        && name.starts_with(|first: char| first.is_ascii_lowercase())
                }
                _ => false,
            },
        }
    }

    /// Returns true if a call seeds the shared generator.
    pub(super) fn seeds(&self, call: &ExprCall) -> bool {
        let seed = call.arguments.args.first();
        seed.is_some_and(|seed| !seed.is_none_literal_expr())
            && self.dotted(&call.func).is_some_and(|dotted| dotted == "random.seed")
    }
}
