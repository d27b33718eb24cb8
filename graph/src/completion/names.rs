//! The names of a whole statement that its module's globals answer, by Python's scoping rules.
//!
//! A second scan beside the slicer's, which works on what a run left of a statement: here no run is needed and
//! nothing is cut away. Annotations are left out. It looks names up in scopes; what they mean is for the resolver.

use ruff_python_ast::{
    Comprehension, Expr, Parameters, Stmt, TypeParams,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::scope::{self, Bound};

/// A name that a statement uses and does not bind itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct UsedName {
    /// The name as written.
    pub name: Name,
    /// Attributes read from it, in order: `b`, `c` of `a.b.c`.
    pub attributes: Vec<Name>,
    /// The import inside the statement that binds it; nothing for a global name.
    pub import: Option<BodyImport>,
}

/// An import inside a function or class body.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct BodyImport {
    /// Dots of `from ..module import name`.
    pub level: u32,
    /// The module after the dots.
    pub module: Option<String>,
    /// The attribute of that module; nothing where the name is a module.
    pub attribute: Option<Name>,
}

/// Returns the names that a statement of a module's top level uses, in source order, each once.
///
/// ```text
/// def f(x: A):            global: LIMIT, helper (attribute `run`)
///     from .m import g    inner import: g of `.m`
///     return g(x, LIMIT) or helper.run()
/// ```
pub(super) fn used_names(stmt: &Stmt) -> Vec<UsedName> {
    let mut scanner = Scanner::default();
    scanner.visit_stmt(stmt);
    let mut seen = FxHashSet::default();
    scanner.found.retain(|used| seen.insert(used.clone()));
    scanner.found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Function,
    Class,
    /// Comprehensions and type parameters: they bind, but run where they stand.
    Inner,
}

struct Scope {
    kind: Kind,
    bound: Bound,
    imports: FxHashMap<Name, BodyImport>,
}

#[derive(Default)]
struct Scanner {
    scopes: Vec<Scope>,
    found: Vec<UsedName>,
}

impl Scanner {
    fn scoped(&mut self, kind: Kind, bound: Bound, body: &[Stmt], inside: impl FnOnce(&mut Self)) {
        let mut imports = FxHashMap::default();
        scope::for_each_statement(body, &mut |stmt| inner_imports(stmt, &mut imports));
        self.scopes.push(Scope { kind, bound, imports });
        inside(self);
        self.scopes.pop();
    }

    /// Enters the scope of type parameters, whose bounds are types; tells if there is one to leave.
    fn type_parameters(&mut self, parameters: Option<&TypeParams>) -> bool {
        let Some(parameters) = parameters else { return false };
        let mut bound = Bound::default();
        bound.local.extend(parameters.type_params.iter().map(|one| one.name().id.clone()));
        self.scopes.push(Scope { kind: Kind::Inner, bound, imports: FxHashMap::default() });
        true
    }

    fn defaults(&mut self, parameters: &Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = &parameter.default {
                self.visit_expr(default);
            }
        }
    }

    fn comprehension(&mut self, generators: &[Comprehension], elements: &[&Expr]) {
        let mut bound = Bound::default();
        for generator in generators {
            scope::target_names(&generator.target, &mut bound.local);
        }
        // The first iterable is evaluated in the scope around.
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        self.scoped(Kind::Inner, bound, &[], |scanner| {
            for (at, generator) in generators.iter().enumerate() {
                if at > 0 {
                    scanner.visit_expr(&generator.iter);
                }
                scanner.visit_expr(&generator.target);
                generator.ifs.iter().for_each(|test| scanner.visit_expr(test));
            }
            elements.iter().for_each(|element| scanner.visit_expr(element));
        });
    }

    fn name(&mut self, name: &Name, attributes: Vec<Name>, is_load: bool) {
        let innermost = self.scopes.len().wrapping_sub(1);
        let mut import = None;
        let mut declared = false;
        for (at, scope) in self.scopes.iter().enumerate().rev() {
            if scope.bound.global.contains(name) {
                declared = true;
                break;
            }
            // A class body is a scope of its own statements alone.
            if scope.kind == Kind::Class && at != innermost {
                continue;
            }
            if scope.bound.local.contains(name) {
                match scope.imports.get(name) {
                    Some(found) if is_load => import = Some(found.clone()),
                    _ => return,
                }
                break;
            }
        }
        if is_load || declared {
            self.found.push(UsedName { name: name.clone(), attributes, import });
        }
    }
}

impl<'a> Visitor<'a> for Scanner {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                function.decorator_list.iter().for_each(|one| self.visit_expr(&one.expression));
                let typed = self.type_parameters(function.type_params.as_deref());
                self.defaults(&function.parameters);
                let mut bound = scope::bound(&function.body);
                bound.local.extend(parameters_of(&function.parameters));
                self.scoped(Kind::Function, bound, &function.body, |scanner| {
                    function.body.iter().for_each(|stmt| scanner.visit_stmt(stmt));
                });
                if typed {
                    self.scopes.pop();
                }
            }
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|one| self.visit_expr(&one.expression));
                let typed = self.type_parameters(class.type_params.as_deref());
                if let Some(arguments) = &class.arguments {
                    arguments.args.iter().for_each(|base| self.visit_expr(base));
                    arguments.keywords.iter().for_each(|keyword| self.visit_expr(&keyword.value));
                }
                self.scoped(Kind::Class, scope::bound(&class.body), &class.body, |scanner| {
                    class.body.iter().for_each(|stmt| scanner.visit_stmt(stmt));
                });
                if typed {
                    self.scopes.pop();
                }
            }
            Stmt::AugAssign(assign) => {
                if let Expr::Name(name) = assign.target.as_ref() {
                    self.name(&name.id, Vec::new(), !self.scopes.is_empty());
                } else {
                    self.visit_expr(&assign.target);
                }
                self.visit_expr(&assign.value);
            }
            // The value of an alias is a type.
            Stmt::TypeAlias(_) | Stmt::Import(_) | Stmt::ImportFrom(_) => {}
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => self.name(&name.id, Vec::new(), name.ctx.is_load()),
            Expr::Attribute(_) => {
                let (mut base, mut attributes) = (expr, Vec::new());
                while let Expr::Attribute(attribute) = base {
                    attributes.push(attribute.attr.id.clone());
                    base = &attribute.value;
                }
                attributes.reverse();
                match base {
                    Expr::Name(name) => self.name(&name.id, attributes, true),
                    _ => self.visit_expr(base),
                }
            }
            Expr::Lambda(lambda) => {
                let mut bound = Bound::default();
                if let Some(parameters) = &lambda.parameters {
                    self.defaults(parameters);
                    bound.local.extend(parameters_of(parameters));
                }
                self.scoped(Kind::Function, bound, &[], |scanner| scanner.visit_expr(&lambda.body));
            }
            Expr::ListComp(node) => self.comprehension(&node.generators, &[&node.elt]),
            Expr::SetComp(node) => self.comprehension(&node.generators, &[&node.elt]),
            Expr::Generator(node) => self.comprehension(&node.generators, &[&node.elt]),
            Expr::DictComp(node) => {
                let mut elements: Vec<&Expr> = node.key.as_deref().into_iter().collect();
                elements.push(&node.value);
                self.comprehension(&node.generators, &elements);
            }
            _ => walk_expr(self, expr),
        }
    }
}

/// The names of a function's parameters.
pub(super) fn parameters_of(parameters: &Parameters) -> impl Iterator<Item = Name> {
    parameters.iter().map(|parameter| parameter.name().id.clone())
}

fn inner_imports(stmt: &Stmt, imports: &mut FxHashMap<Name, BodyImport>) {
    match stmt {
        Stmt::Import(import) => {
            for alias in &import.names {
                let local = scope::local_of_import(alias);
                let module = match &alias.asname {
                    Some(_) => alias.name.to_string(),
                    None => local.to_string(),
                };
                let import = BodyImport { level: 0, module: Some(module), attribute: None };
                imports.insert(local, import);
            }
        }
        Stmt::ImportFrom(import) => {
            for alias in import.names.iter().filter(|alias| &alias.name != "*") {
                let local = alias.asname.as_ref().unwrap_or(&alias.name).id.clone();
                let import = BodyImport {
                    level: import.level,
                    module: import.module.as_ref().map(ToString::to_string),
                    attribute: Some(alias.name.id.clone()),
                };
                imports.insert(local, import);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{source::Source, syntax::Syntax};

    /// `expected` has each name with its attributes; `<` before what an inner import binds.
    fn check(text: &str, expected: &str) {
        let syntax = Syntax::parse(Source::new("m.py", text));
        let told: Vec<String> = used_names(&syntax.body()[0])
            .into_iter()
            .map(|used| {
                let parts: Vec<&str> =
                    std::iter::once(&used.name).chain(&used.attributes).map(Name::as_str).collect();
                format!("{}{}", if used.import.is_some() { "<" } else { "" }, parts.join("."))
            })
            .collect();
        assert_eq!(told.join(" "), expected, "{text}");
    }

    #[test]
    fn names_are_those_that_globals_answer() {
        check("def f(x, y=D): return x + y + g(z)", "D g z");
        check("def f():\n    a = b\n    return a.c, m.n.o", "b m.n.o");
        check("def f():\n    global a\n    a = 1", "a");
        check("def f():\n    from .m import g\n    return g(h)", "<g h");
        check("def f():\n    import os.path\n    return os.path.join", "<os.path.join");
        check("def f():\n    def g(): return k\n    return g", "k");
        check("def f(): return [x for x in xs if x in ys]", "xs ys");
        check("def f(): return lambda x, y=D: x + z", "D z");
        check(
            "@deco(1)\nclass A(B, metaclass=M):\n    x = 1\n    y = x\n    def f(self): return x",
            "deco B M x",
        );
        check("X = Y + 1", "Y");
        check(
            "def f():\n    try:\n        pass\n    except E as e:\n        raise F from e",
            "E F",
        );
    }

    #[test]
    fn annotations_are_no_uses() {
        check("def f(x: A, *y: B) -> C:\n    z: D = e\n    return z", "e");
        check("def f[T: Bound](x): return T", "");
        check("class A:\n    x: B = c", "c");
    }
}
