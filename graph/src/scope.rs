//! Computes the names that a scope binds, by Python's scoping rules.
//!
//! Works on syntax only: it does not know modules and does not resolve names.

#[cfg(test)]
mod against_symtable;

use ruff_python_ast::{
    ExceptHandler, Expr, Identifier, Pattern, Stmt, StmtClassDef, StmtFunctionDef,
    name::Name,
    visitor::{Visitor, walk_expr, walk_pattern},
};
use rustc_hash::FxHashSet;

/// The names that a function or class body binds or declares.
#[derive(Debug, Clone, Default)]
pub struct Bound {
    /// Names that the scope binds itself.
    pub local: FxHashSet<Name>,
    /// Names that it declares `global`.
    pub global: FxHashSet<Name>,
    /// Names that it declares `nonlocal`.
    pub nonlocal: FxHashSet<Name>,
}

/// Returns the names that a body binds or declares. Includes nested blocks and excludes nested
/// scopes.
pub fn bound(body: &[Stmt]) -> Bound {
    let mut bound = Bound::default();
    for_each_statement(body, &mut |stmt| match stmt {
        Stmt::Global(global) => {
            bound.global.extend(global.names.iter().map(|name| name.id.clone()));
        }
        Stmt::Nonlocal(nonlocal) => {
            bound.nonlocal.extend(nonlocal.names.iter().map(|name| name.id.clone()));
        }
        Stmt::Import(import) => bound.local.extend(import.names.iter().map(local_of_import)),
        Stmt::ImportFrom(import) => bound.local.extend(
            import
                .names
                .iter()
                .filter(|alias| &alias.name != "*")
                .map(|alias| alias.asname.as_ref().unwrap_or(&alias.name).id.clone()),
        ),
        _ => bound.local.extend(bound_directly(stmt)),
    });
    for name in bound.global.iter().chain(&bound.nonlocal) {
        bound.local.remove(name);
    }
    bound
}

/// The name that one alias of an `import` statement binds.
pub fn local_of_import(alias: &ruff_python_ast::Alias) -> Name {
    match &alias.asname {
        Some(name) => name.id.clone(),
        None => Name::new(alias.name.as_str().split('.').next().unwrap_or_default()),
    }
}

/// Adds the names that a target binds.
pub fn target_names(target: &Expr, names: &mut FxHashSet<Name>) {
    match target {
        Expr::Name(name) => {
            names.insert(name.id.clone());
        }
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| target_names(element, names)),
        Expr::List(list) => list.elts.iter().for_each(|element| target_names(element, names)),
        Expr::Starred(starred) => target_names(&starred.value, names),
        _ => {}
    }
}

/// Names that a statement itself binds in its scope: targets, definitions, walruses in its own
/// expressions; not imports, and not the statements of its blocks.
pub fn bound_directly(stmt: &Stmt) -> Vec<Name> {
    let mut names = Names::default();
    match stmt {
        Stmt::FunctionDef(function) => {
            names.found.push(function.name.id.clone());
            for decorator in &function.decorator_list {
                names.visit_expr(&decorator.expression);
            }
        }
        Stmt::ClassDef(class) => {
            names.found.push(class.name.id.clone());
            for decorator in &class.decorator_list {
                names.visit_expr(&decorator.expression);
            }
        }
        Stmt::For(stmt) => {
            names.visit_expr(&stmt.target);
            names.visit_expr(&stmt.iter);
        }
        Stmt::While(stmt) => names.visit_expr(&stmt.test),
        Stmt::If(stmt) => {
            names.visit_expr(&stmt.test);
            for clause in &stmt.elif_else_clauses {
                if let Some(test) = &clause.test {
                    names.visit_expr(test);
                }
            }
        }
        Stmt::With(stmt) => {
            for item in &stmt.items {
                names.visit_expr(&item.context_expr);
                if let Some(vars) = &item.optional_vars {
                    names.visit_expr(vars);
                }
            }
        }
        Stmt::Match(stmt) => {
            names.visit_expr(&stmt.subject);
            for case in &stmt.cases {
                names.visit_pattern(&case.pattern);
                if let Some(guard) = &case.guard {
                    names.visit_expr(guard);
                }
            }
        }
        Stmt::Try(stmt) => {
            for ExceptHandler::ExceptHandler(handler) in &stmt.handlers {
                if let Some(name) = &handler.name {
                    names.found.push(name.id.clone());
                }
            }
        }
        Stmt::TypeAlias(stmt) => {
            if let Expr::Name(name) = stmt.name.as_ref() {
                names.found.push(name.id.clone());
            }
        }
        Stmt::AnnAssign(stmt) => {
            // A bare annotation makes a name local but binds no value; both matter to scoping.
            // In brackets it is only looked at, and not even that in a function.
            if stmt.simple || stmt.value.is_some() || !stmt.target.is_name_expr() {
                names.visit_expr(&stmt.target);
            }
            if let Some(value) = &stmt.value {
                names.visit_expr(value);
            }
        }
        Stmt::Import(_)
        | Stmt::ImportFrom(_)
        | Stmt::Global(_)
        | Stmt::Nonlocal(_)
        | Stmt::Pass(_)
        | Stmt::Break(_)
        | Stmt::Continue(_)
        | Stmt::IpyEscapeCommand(_) => {}
        Stmt::Return(_)
        | Stmt::Delete(_)
        | Stmt::Assign(_)
        | Stmt::AugAssign(_)
        | Stmt::Raise(_)
        | Stmt::Assert(_)
        | Stmt::Expr(_) => ruff_python_ast::visitor::walk_stmt(&mut names, stmt),
    }
    names.found
}

/// Calls `visit` with each block of a statement that belongs to the same scope.
pub fn for_each_block<'a>(stmt: &'a Stmt, mut visit: impl FnMut(&'a [Stmt])) {
    match stmt {
        Stmt::For(stmt) => {
            visit(&stmt.body);
            visit(&stmt.orelse);
        }
        Stmt::While(stmt) => {
            visit(&stmt.body);
            visit(&stmt.orelse);
        }
        Stmt::If(stmt) => {
            visit(&stmt.body);
            for clause in &stmt.elif_else_clauses {
                visit(&clause.body);
            }
        }
        Stmt::With(stmt) => visit(&stmt.body),
        Stmt::Match(stmt) => {
            for case in &stmt.cases {
                visit(&case.body);
            }
        }
        Stmt::Try(stmt) => {
            visit(&stmt.body);
            for ExceptHandler::ExceptHandler(handler) in &stmt.handlers {
                visit(&handler.body);
            }
            visit(&stmt.orelse);
            visit(&stmt.finalbody);
        }
        _ => {}
    }
}

/// Calls `visit` with each statement of a scope, nested blocks included, nested scopes excluded.
pub fn for_each_statement<'a>(body: &'a [Stmt], visit: &mut impl FnMut(&'a Stmt)) {
    for stmt in body {
        visit(stmt);
        for_each_block(stmt, |block| for_each_statement(block, visit));
    }
}

/// Calls `visit` with each function below, those inside functions and classes included, and its statement.
pub fn for_each_function<'a>(
    body: &'a [Stmt],
    visit: &mut impl FnMut(&'a Stmt, &'a StmtFunctionDef),
) {
    for_each_statement(body, &mut |stmt| match stmt {
        Stmt::FunctionDef(function) => {
            visit(stmt, function);
            for_each_function(&function.body, visit);
        }
        Stmt::ClassDef(class) => for_each_function(&class.body, visit),
        _ => {}
    });
}

/// A class's own methods of these names.
pub fn methods<'s>(
    class: &'s StmtClassDef,
    names: &[&str],
) -> impl Iterator<Item = &'s StmtFunctionDef> {
    class.body.iter().filter_map(move |stmt| match stmt {
        Stmt::FunctionDef(method) if names.contains(&method.name.as_str()) => Some(method),
        _ => None,
    })
}

/// Names that functions anywhere below declare `global`.
pub fn declared_global(body: &[Stmt]) -> FxHashSet<Name> {
    declared_below(body, &|stmt| match stmt {
        Stmt::Global(global) => &global.names,
        _ => &[],
    })
}

/// Names that functions anywhere below declare `nonlocal`.
pub fn declared_nonlocal(body: &[Stmt]) -> FxHashSet<Name> {
    declared_below(body, &|stmt| match stmt {
        Stmt::Nonlocal(nonlocal) => &nonlocal.names,
        _ => &[],
    })
}

fn declared_below(body: &[Stmt], names: &impl Fn(&Stmt) -> &[Identifier]) -> FxHashSet<Name> {
    let mut found = FxHashSet::default();
    for_each_statement(body, &mut |stmt| {
        found.extend(names(stmt).iter().map(|name| name.id.clone()));
        match stmt {
            Stmt::FunctionDef(function) => found.extend(declared_below(&function.body, names)),
            Stmt::ClassDef(class) => found.extend(declared_below(&class.body, names)),
            _ => {}
        }
    });
    found
}

#[derive(Default)]
struct Names {
    found: Vec<Name>,
    comprehensions: usize,
}

impl<'a> Visitor<'a> for Names {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                if !name.ctx.is_load() && self.comprehensions == 0 {
                    self.found.push(name.id.clone());
                }
            }
            // A walrus binds in the scope around its comprehensions.
            Expr::Named(named) => {
                if let Expr::Name(name) = named.target.as_ref() {
                    self.found.push(name.id.clone());
                }
                self.visit_expr(&named.value);
            }
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    for parameter in parameters.iter_non_variadic_params() {
                        if let Some(default) = &parameter.default {
                            self.visit_expr(default);
                        }
                    }
                }
            }
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                self.comprehensions += 1;
                walk_expr(self, expr);
                self.comprehensions -= 1;
            }
            _ => walk_expr(self, expr),
        }
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        match pattern {
            Pattern::MatchAs(named) => {
                self.found.extend(named.name.iter().map(|name| name.id.clone()));
            }
            Pattern::MatchStar(star) => {
                self.found.extend(star.name.iter().map(|name| name.id.clone()));
            }
            Pattern::MatchMapping(mapping) => {
                self.found.extend(mapping.rest.iter().map(|name| name.id.clone()));
            }
            _ => {}
        }
        walk_pattern(self, pattern);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{source::Source, syntax::Syntax};

    fn check(text: &str, expected: &str) {
        let syntax = Syntax::parse(Source::new("f.py", text));
        let mut local: Vec<Name> = bound(syntax.body()).local.into_iter().collect();
        local.sort_unstable();
        assert_eq!(local.join(" "), expected, "{text}");
    }

    #[test]
    fn scopes_bind_what_python_binds() {
        check("a = b = c", "a b");
        check("a.b, c[0], *d = e", "d");
        check("for i in x:\n    y = 1\nelse:\n    z = 2", "i y z");
        check("[x for x in y if (w := x)]", "w");
        check("f = lambda x: (y := 1)", "f");
        check("import a.b, c as d\nfrom e import f as g, h", "a d g h");
        check("try:\n    pass\nexcept E as e:\n    r = 1", "e r");
        check("match x:\n    case {'a': b, **rest}: pass\n    case [c, *d]: pass", "b c d rest");
        check("global g\ng = 1\nh = 2", "h");
        check("def f(a=(b := 1)): c = 1\nclass D: e = 1", "D f");
        check("with a as b, c as (d, e): pass", "b d e");
        check("x: int\ny: int = 1", "x y");
        check("(x): int\n(y): int = 1", "y");
    }
}
