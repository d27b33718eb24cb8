//! Where a file gives a name of its top level to something, in whatever way, or asks for it. Names that a function,
//! a class or a comprehension has of its own are left out.

use std::collections::BTreeMap;

use graph::Syntax;
use ruff_python_ast::{
    Comprehension, ExceptHandler, Expr, ExprContext, Identifier, Parameters, Pattern, Stmt,
    visitor::{Visitor, walk_except_handler, walk_expr, walk_pattern, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::FxHashSet;

use super::{
    aliases::Locals,
    bindings::{Bindings, captured, chain},
    tables::is_itself,
};

/// What happens to a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// It is given to something.
    Bound,
    Deleted,
    /// An import gives it, with the full name of what that leads to.
    Imported(String),
    /// It is asked for, as a name, a part of the file itself or of what is imported.
    Asked,
}

/// A name of the top level where it stands, by the byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    pub at: usize,
    pub name: String,
    pub usage: Use,
}

/// All of them, in the order of the text.
pub fn mentions(text: &str) -> Vec<Mention> {
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("gist", text));
        let bindings = Bindings::of(syntax.body());
        let mut reader = Reader { bindings: &bindings, scopes: Vec::new(), found: Vec::new() };
        syntax.body().iter().for_each(|stmt| reader.visit_stmt(stmt));
        let mut found = reader.found;
        found.sort_by_key(|mention| mention.at);
        found
    })
}

/// The full names that the imports of a file give, at its top level and in its functions.
pub fn imports(text: &str) -> BTreeMap<String, FxHashSet<String>> {
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("gist", text));
        let mut found = Imports::default();
        syntax.body().iter().for_each(|stmt| found.visit_stmt(stmt));
        found.0
    })
}

/// What imports load, whatever it is called.
pub fn loaded(text: &str) -> Loaded {
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("gist", text));
        let mut found = Loaded::default();
        syntax.body().iter().for_each(|stmt| found.visit_stmt(stmt));
        found
    })
}

/// Full names that imports load.
#[derive(Default)]
pub struct Loaded {
    /// Modules, and what is taken out of them.
    pub names: FxHashSet<String>,
    /// Packages around these: `import a.b` gives `a`, and loads both.
    pub packages: FxHashSet<String>,
}

impl<'a> Visitor<'a> for Loaded {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(node) => {
                for name in node.names.iter().map(|one| one.name.as_str()) {
                    let packages = name.match_indices('.').map(|(end, _)| name[..end].to_owned());
                    self.packages.extend(packages);
                    self.names.insert(name.to_owned());
                }
            }
            _ => self.names.extend(imported(stmt).into_iter().map(|(_, _, full, _)| full)),
        }
        walk_stmt(self, stmt);
    }
}

#[derive(Default)]
struct Imports(BTreeMap<String, FxHashSet<String>>);

impl<'a> Visitor<'a> for Imports {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        for (_, name, full, _) in imported(stmt) {
            self.0.entry(name).or_default().insert(full);
        }
        walk_stmt(self, stmt);
    }
}

/// What an import statement gives: where, the name, the full name of what that is, and what a module is asked for.
pub(super) fn imported(stmt: &Stmt) -> Vec<(TextSize, String, String, Option<&Identifier>)> {
    let mut found = Vec::new();
    match stmt {
        Stmt::Import(node) => {
            for alias in &node.names {
                let full = alias.name.as_str();
                let first = full.split('.').next().unwrap_or_default();
                let name = alias.asname.as_ref().map_or(first, |name| name.as_str());
                let full = if alias.asname.is_some() { full } else { first };
                found.push((alias.start(), name.to_owned(), full.to_owned(), None));
            }
        }
        Stmt::ImportFrom(node) => {
            let module = node.module.as_ref().map_or("", |module| module.as_str());
            let dots = ".".repeat(node.level as usize);
            for alias in &node.names {
                let name = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                let full = format!("{dots}{module}.{}", alias.name);
                found.push((alias.start(), name, full, Some(&alias.name)));
            }
        }
        _ => {}
    }
    found
}

fn usage_of(context: ExprContext) -> Use {
    match context {
        ExprContext::Load => Use::Asked,
        ExprContext::Del => Use::Deleted,
        ExprContext::Store | ExprContext::Invalid => Use::Bound,
    }
}

/// The names that something has of its own.
enum Scope<'a> {
    Function(FxHashSet<&'a str>),
    /// Which its methods do not see.
    Class(FxHashSet<&'a str>),
}

struct Reader<'r, 'a> {
    bindings: &'r Bindings<'a>,
    scopes: Vec<Scope<'a>>,
    found: Vec<Mention>,
}

impl<'a> Reader<'_, 'a> {
    fn is_local(&self, name: &str) -> bool {
        let has = |(number, scope): (usize, &Scope<'_>)| match scope {
            Scope::Function(own) => own.contains(name),
            Scope::Class(own) => number == 0 && own.contains(name),
        };
        self.scopes.iter().rev().enumerate().any(has)
    }

    fn add(&mut self, at: TextSize, name: &str, usage: Use) {
        if !self.is_local(name) {
            self.found.push(Mention { at: at.to_usize(), name: name.to_owned(), usage });
        }
    }

    fn inside(&mut self, scope: Scope<'a>, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(scope);
        walk(self);
        self.scopes.pop();
    }

    fn function(
        &mut self,
        parameters: Option<&'a Parameters>,
        walk: impl FnOnce(&mut Self, &mut Locals<'a>),
    ) {
        parameters.iter().for_each(|parameters| self.visit_parameters(parameters));
        let mut local = Locals::of(parameters);
        walk(self, &mut local);
    }

    fn comprehension(&mut self, parts: &[&'a Expr], loops: &'a [Comprehension]) {
        let mut own = FxHashSet::default();
        for each in loops {
            let mut local = Locals::default();
            local.visit_expr(&each.target);
            own.extend(local.names());
        }
        if let Some(first) = loops.first() {
            self.visit_expr(&first.iter);
        }
        self.inside(Scope::Function(own), |this| {
            parts.iter().for_each(|part| this.visit_expr(part));
            for (number, each) in loops.iter().enumerate() {
                this.visit_expr(&each.target);
                let iter = std::iter::once(&each.iter).filter(|_| number > 0);
                iter.chain(&each.ifs).for_each(|expr| this.visit_expr(expr));
            }
        });
    }

    /// Whether a value is the file itself, or a name of the top level that a module found by its name is given.
    fn is_itself(&self, value: &Expr) -> bool {
        match value {
            Expr::Name(name) => {
                let root = name.id.as_str();
                !self.is_local(root)
                    && self.bindings.values(root).iter().any(|value| is_found_module(value))
            }
            _ => is_itself(value),
        }
    }
}

/// Whether a module is asked for by its name.
fn is_found_module(value: &Expr) -> bool {
    match value {
        Expr::Subscript(node) => chain(&node.value).is_some_and(|name| name == "sys.modules"),
        Expr::Call(node) => chain(&node.func).is_some_and(|name| {
            matches!(name.as_str(), "sys.modules.get" | "__import__" | "importlib.import_module")
        }),
        _ => false,
    }
}

impl<'a> Visitor<'a> for Reader<'_, 'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(node) => {
                self.add(node.name.start(), &node.name, Use::Bound);
                node.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                node.returns.iter().for_each(|annotation| self.visit_annotation(annotation));
                self.function(Some(&node.parameters), |this, local| {
                    local.visit_body(&node.body);
                    this.inside(Scope::Function(local.names()), |this| this.visit_body(&node.body));
                });
            }
            Stmt::ClassDef(node) => {
                self.add(node.name.start(), &node.name, Use::Bound);
                node.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                node.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                let mut local = Locals::default();
                local.visit_body(&node.body);
                self.inside(Scope::Class(local.names()), |this| this.visit_body(&node.body));
            }
            Stmt::Import(_) | Stmt::ImportFrom(_) => {
                for (at, name, full, part) in imported(stmt) {
                    if let Some(part) = part.filter(|part| part.as_str() != name) {
                        self.add(part.start(), part, Use::Asked);
                    }
                    self.add(at, &name, Use::Imported(full));
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(node) => {
                self.add(node.start(), &node.id, usage_of(node.ctx));
            }
            Expr::Attribute(node) => {
                if self.is_itself(&node.value) {
                    let (at, name) = (node.attr.start().to_usize(), node.attr.to_string());
                    self.found.push(Mention { at, name, usage: usage_of(node.ctx) });
                }
                walk_expr(self, expr);
            }
            Expr::Lambda(node) => self.function(node.parameters.as_deref(), |this, local| {
                this.inside(Scope::Function(local.names()), |this| this.visit_expr(&node.body));
            }),
            Expr::ListComp(node) => self.comprehension(&[&node.elt], &node.generators),
            Expr::SetComp(node) => self.comprehension(&[&node.elt], &node.generators),
            Expr::Generator(node) => self.comprehension(&[&node.elt], &node.generators),
            Expr::DictComp(node) => {
                let key = node.key.as_deref().unwrap_or(&node.value);
                self.comprehension(&[key, &node.value], &node.generators);
            }
            _ => walk_expr(self, expr),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        if let Some(name) = &node.name {
            self.add(name.start(), name, Use::Bound);
        }
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        if let Some(name) = captured(pattern) {
            self.add(name.start(), name, Use::Bound);
        }
        walk_pattern(self, pattern);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of one name.
    #[track_caller]
    fn check(text: &str, name: &str, expected: &[Use]) {
        let all = mentions(text).into_iter().filter(|mention| mention.name == name);
        assert_eq!(all.map(|mention| mention.usage).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn whatever_gives_a_name_binds_it() {
        for text in [
            "a = 1",
            "a += 1",
            "a: int = 1",
            "for a in b: pass",
            "with b as (a, c): pass",
            "(a := 1)",
            "[a := b for b in c]",
            "match b:\n    case [a, *c]: pass",
            "match b:\n    case {**a}: pass",
            "try: pass\nexcept E as a: pass",
            "def a(): pass",
            "class a: pass",
            "def f():\n    global a\n    a = 1",
            "def f():\n    global a\n    for a in b: pass",
            "class C:\n    global a\n    a = 1",
            "import sys\nm = sys.modules[__name__]\nm.a = 1",
            "import sys\nsys.modules[__name__].a = 1",
            "import sys\nsys.modules.get(__name__).a = 1",
        ] {
            check(text, "a", &[Use::Bound]);
        }
        check("del a", "a", &[Use::Deleted]);
        check("import sys\nm = sys.modules[__name__]\ndel m.a", "a", &[Use::Deleted]);
        check("import a", "a", &[Use::Imported("a".to_owned())]);
        check("import a.b", "a", &[Use::Imported("a".to_owned())]);
        check("from m.n import b as a", "a", &[Use::Imported("m.n.b".to_owned())]);
        check("from .m import a", "a", &[Use::Imported(".m.a".to_owned())]);
    }

    #[test]
    fn names_that_others_have_of_their_own_are_left_out() {
        for text in [
            "def f(a): return a",
            "def f():\n    a = 1\n    return lambda: a",
            "def f():\n    for a in b: pass",
            "def f():\n    import a",
            "x = [a for a in b]",
            "x = lambda a: a",
            "class C:\n    a = 1\n    b = a",
            "x = b.a",
            "f(a=1)",
        ] {
            check(text, "a", &[]);
        }
    }

    #[test]
    fn whatever_asks_for_a_name_is_told() {
        for text in [
            "b(a)",
            "a.append(1)",
            "a[0] = 1",
            "a.b = 1",
            "class C:\n    a = 1\n    def f(self): return a",
            "def f(b=a): pass",
            "x = [b for b in a]",
            "x = {b: a for b in c}",
            "from m import a as b",
            "import sys\nm = sys.modules[__name__]\nb(m.a)",
            "@a\ndef f(): pass",
        ] {
            check(text, "a", &[Use::Asked]);
        }
    }
}
