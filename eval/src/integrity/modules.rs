//! What stands for the modules by which tests reach what they are helped by: `kit.check(x)`. A gist may be such a
//! module itself, or have an object in its place, and such an object holds what is called so.

use std::collections::{BTreeMap, BTreeSet};

use graph::Syntax;
use ruff_python_ast::{
    Comprehension, ExceptHandler, Expr, ExprCall, ExprContext, Pattern, Stmt,
    visitor::{Visitor, walk_except_handler, walk_expr, walk_pattern, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};

use super::{
    aliases::alias,
    bindings::{Bindings, captured, chain},
    hooks::is_late,
    tables::{is_itself, is_made},
};

/// The modules of tests, and the names of what they hold.
#[derive(Debug, Default)]
pub struct TestModules<'a> {
    /// The parts of their names, from the repository's root.
    all: Vec<Vec<&'a str>>,
    /// What tests call modules of theirs, each with the modules that it is.
    named: BTreeMap<String, BTreeSet<Vec<String>>>,
    /// Names that tests have, each with whether it is from outside.
    held: BTreeMap<&'a str, bool>,
    /// What names that tests give to others' things stand for.
    others: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> TestModules<'a> {
    /// Those of some files (path and text), with the names that these bind at their top level, each with
    /// whether it is from outside.
    pub fn of(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
        held: BTreeMap<&'a str, bool>,
        is_internal: &dyn Fn(&str) -> bool,
    ) -> Self {
        let files: Vec<(&str, &str)> = files.into_iter().collect();
        let all = files.iter().map(|(path, _)| dotted(path)).collect();
        let found = Self { all, held, ..Self::default() };
        let mut reader = Reader { found, is_internal, package: Vec::new() };
        for (path, text) in files {
            reader.package = dotted(path);
            if !path.ends_with("/__init__.py") {
                reader.package.pop();
            }
            let syntax = Syntax::parse(graph::Source::new(path, text));
            syntax.body().iter().for_each(|stmt| reader.visit_stmt(stmt));
        }
        reader.found
    }

    /// Whether tests call a module of theirs so.
    pub fn has(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }

    /// Whether this is a module of the tests, or a package around one, under whatever root.
    fn is_one<S: AsRef<str>>(&self, name: &[S]) -> bool {
        let is_part = |part: &[&str]| part.iter().zip(name).all(|(one, two)| *one == two.as_ref());
        !name.is_empty() && self.all.iter().any(|file| file.windows(name.len()).any(is_part))
    }

    fn is_kept(&self, name: &str) -> bool {
        self.has(name) || self.held.contains_key(name)
    }
}

/// Where a gist gives something else to what tests reach by a module, by the byte, with the name.
pub fn replaced(
    text: &str,
    modules: &TestModules<'_>,
    is_internal: &(dyn Fn(&str) -> bool + Sync),
) -> Vec<(usize, String)> {
    if modules.named.is_empty() {
        return Vec::new();
    }
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("gist", text));
        let bindings = &Bindings::of(syntax.body());
        let aliases = syntax.body().iter().filter_map(|stmt| alias(stmt, bindings)).collect();
        let (depth, found) = (0, Vec::new());
        let mut looking = Looking { modules, is_internal, bindings, aliases, depth, found };
        syntax.body().iter().for_each(|stmt| looking.visit_stmt(stmt));
        looking.found
    })
}

/// The parts of the name of a module, from its path.
fn dotted(path: &str) -> Vec<&str> {
    let stem = path.strip_suffix(".py").unwrap_or(path);
    stem.strip_suffix("/__init__").unwrap_or(stem).split('/').collect()
}

/// Reads what tests import.
struct Reader<'r, 'a> {
    found: TestModules<'a>,
    is_internal: &'r dyn Fn(&str) -> bool,
    /// The package of the file that is read.
    package: Vec<&'a str>,
}

impl Reader<'_, '_> {
    fn module(&mut self, local: &str, name: &[&str]) {
        if self.found.is_one(name) {
            let name = name.iter().map(ToString::to_string).collect();
            self.found.named.entry(local.to_owned()).or_default().insert(name);
        }
    }

    fn other(&mut self, local: &str, name: &str) {
        self.found.others.entry(local.to_owned()).or_default().insert(name.to_owned());
    }
}

impl<'s> Visitor<'s> for Reader<'_, '_> {
    fn visit_stmt(&mut self, stmt: &'s Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for one in import.names.iter().filter(|one| (self.is_internal)(&one.name)) {
                    let name: Vec<&str> = one.name.split('.').collect();
                    match &one.asname {
                        Some(local) => self.module(local, &name),
                        None if self.found.is_one(&name) => self.module(name[0], &name[..1]),
                        None => {}
                    }
                }
                for one in &import.names {
                    if let Some(local) = &one.asname {
                        self.other(local, one.name.rsplit('.').next().unwrap_or_default());
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                let from = import.module.as_ref().map_or("", |from| from.as_str());
                let is_ours = import.level > 0 || (self.is_internal)(from);
                let up = (import.level as usize).saturating_sub(1);
                let base =
                    if import.level == 0 { 0 } else { self.package.len().saturating_sub(up) };
                let package = self.package[..base].to_vec();
                for one in &import.names {
                    let local = one.asname.as_ref().unwrap_or(&one.name);
                    let parts = from.split('.').filter(|part| !part.is_empty());
                    let name: Vec<&str> =
                        package.iter().copied().chain(parts).chain([one.name.as_str()]).collect();
                    if is_ours {
                        self.module(local, &name);
                    }
                    self.other(local, &one.name);
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }
}

struct Looking<'a> {
    modules: &'a TestModules<'a>,
    is_internal: &'a (dyn Fn(&str) -> bool + Sync),
    bindings: &'a Bindings<'a>,
    aliases: BTreeMap<&'a str, &'a str>,
    /// Of functions, classes and lambdas.
    depth: usize,
    found: Vec<(usize, String)>,
}

impl<'a> Looking<'a> {
    fn add(&mut self, at: TextSize, name: &str) {
        self.found.push((at.to_usize(), name.to_owned()));
    }

    fn full(&self, expr: &Expr) -> Option<String> {
        let written = chain(expr)?;
        if self.depth == 0
            && let Some(full) = self.bindings.resolve_at_top(&written)
        {
            return full;
        }
        let first = written.split('.').next().unwrap_or_default();
        let is_plain = !self.bindings.is_imported(first) || self.bindings.is_only_imported(first);
        is_plain.then(|| self.bindings.resolve(&written)).flatten()
    }

    /// The module of the repository that a call makes an object for.
    fn made<'e>(&self, value: &'e Expr) -> Option<&'e str> {
        let call = value.as_call_expr()?;
        let name = call.arguments.args.first()?.as_string_literal_expr()?.value.to_str();
        let is_made = call.arguments.len() == 1 && (self.is_internal)(name);
        (is_made && self.full(&call.func)? == "types.ModuleType").then_some(name)
    }

    /// Whether a value is a module of the repository as a gist has them: itself, or an object under a
    /// module's name that is one of those that `is_it`.
    fn is_module(&self, value: &Expr, names: u32, is_it: &dyn Fn(&[&str]) -> bool) -> bool {
        if let Expr::Name(name) = value {
            let values = self.bindings.known_at_top(&name.id).unwrap_or_default();
            return names > 0
                && !values.is_empty()
                && values.iter().all(|value| self.is_module(value, names - 1, is_it));
        }
        let itself = is_itself(value) && self.bindings.is_only_method("sys");
        let made = self.made(value).map(|name| name.split('.').collect::<Vec<_>>());
        itself || made.is_some_and(|name| is_it(&name))
    }

    /// Whether a value is the module of the tests that these call so.
    fn is_named(&self, name: &str, value: &Expr) -> bool {
        let Some(all) = self.modules.named.get(name) else { return false };
        self.is_module(value, 3, &|found| {
            all.iter().any(|one| {
                let shared = one.iter().rev().zip(found.iter().rev());
                shared.into_iter().all(|(one, two)| one == two)
            })
        })
    }

    /// Whether a name is that of a module of the tests, or of the gist itself.
    fn is_of_tests(&self, expr: &Expr, names: u32) -> bool {
        match expr {
            Expr::Name(name) if self.modules.has(&name.id) => true,
            Expr::Name(name) => {
                let values = self.bindings.values(&name.id);
                names > 0 && values.iter().any(|value| self.is_of_tests(value, names - 1))
            }
            Expr::Subscript(node) => {
                let key = node.slice.as_string_literal_expr();
                let key = key.map(|key| key.value.to_str().split('.').collect::<Vec<_>>());
                is_itself(expr)
                    || chain(&node.value).as_deref() == Some("sys.modules")
                        && key.is_some_and(|name| self.modules.is_one(&name))
            }
            _ => {
                let made = self.made(expr).map(|name| name.split('.').collect::<Vec<_>>());
                is_itself(expr) || made.is_some_and(|name| self.modules.is_one(&name))
            }
        }
    }

    /// Whether a value is what is called so.
    fn is_what(&self, name: &str, value: &Expr) -> bool {
        if self.modules.has(name) && self.is_named(name, value)
            || self.is_module(value, 3, &|_| true)
        {
            return true;
        }
        let Expr::Name(value) = value else { return false };
        let others = self.modules.others.get(name);
        if is_late(name, &value.id) {
            return true;
        }
        let is_it = |found: &str| found == name || others.is_some_and(|all| all.contains(found));
        let mut found = value.id.as_str();
        for _ in 0..3 {
            let full = self.bindings.is_imported(found).then(|| self.bindings.resolve(found));
            let last = full.flatten();
            let last = last.as_deref().and_then(|full| full.rsplit('.').next());
            if is_it(found) || last.is_some_and(is_it) {
                return true;
            }
            match self.aliases.get(found) {
                Some(other) => found = other,
                None => return false,
            }
        }
        false
    }

    /// `vars(kit).update(name=name)`, as a statement of the top level; whether it is that.
    fn filled(&mut self, call: &'a ExprCall) -> bool {
        let Expr::Attribute(method) = &*call.func else { return false };
        let Some(table) = method.value.as_call_expr() else { return false };
        let is_table = chain(&table.func).as_deref() == Some("vars") && table.arguments.len() == 1;
        let Some(of) = table.arguments.args.first().filter(|_| is_table) else { return false };
        let of_tests = self.is_of_tests(of, 3);
        if self.depth > 0 || &method.attr != "update" || !of_tests && !is_made(of, self.bindings) {
            return false;
        }
        for hidden in &call.arguments.args {
            match of_tests {
                true => self.add(hidden.start(), "what a module"),
                false => self.visit_expr(hidden),
            }
        }
        for keyword in &call.arguments.keywords {
            let name = keyword.arg.as_ref().map_or("what a module", |name| name.as_str());
            let tells = name.starts_with("__") && name.ends_with("__");
            if of_tests && !tells && !self.is_what(name, &keyword.value) {
                self.add(keyword.start(), name);
            }
        }
        true
    }

    /// One target of an assignment.
    fn assigned(&mut self, target: &'a Expr, value: &'a Expr) {
        match target {
            Expr::Name(name) if self.depth == 0 && self.modules.has(&name.id) => {
                if !self.is_named(&name.id, value) && !self.is_held(&name.id, value) {
                    self.add(target.start(), &name.id);
                }
            }
            // What is no module's is told by the statement.
            Expr::Name(name) if &name.id != "__getattr__" => {}
            Expr::Subscript(node) if self.is_of_tests(target, 0) => {
                if !self.is_module(value, 3, &|_| true) {
                    self.add(node.start(), "what a module");
                }
            }
            other => self.visit_expr(other),
        }
    }

    /// Whether a value is what the tests define under this name.
    fn is_held(&self, name: &str, value: &Expr) -> bool {
        let is_it = value.as_name_expr().and_then(|value| self.aliases.get(value.id.as_str()));
        self.modules.held.contains_key(name) && is_it == Some(&name)
    }

    fn bound(&mut self, at: TextSize, name: &str) {
        if self.depth == 0 && (self.modules.is_kept(name) || name == "__getattr__") {
            self.add(at, name);
        }
    }

    /// What an import of something outside gives a name to; `name` is what it is called there.
    fn imported(&mut self, at: TextSize, local: &str, full: &str, name: &str) {
        let others = self.modules.others.get(local);
        let is_outside = self.modules.held.get(local) == Some(&true);
        let is_called = name == local || others.is_some_and(|others| others.contains(name));
        let is_it = is_outside && is_called && !self.modules.has(local);
        if !is_it && !(self.is_internal)(full) {
            self.bound(at, local);
        }
    }

    /// Targets of a comprehension are its own, if they are names.
    fn loops(&mut self, target: &'a Expr) {
        match target {
            Expr::Name(_) => {}
            Expr::Tuple(node) => node.elts.iter().for_each(|part| self.loops(part)),
            Expr::List(node) => node.elts.iter().for_each(|part| self.loops(part)),
            other => self.visit_expr(other),
        }
    }

    fn inside(&mut self, walk: impl FnOnce(&mut Self)) {
        self.depth += 1;
        walk(self);
        self.depth -= 1;
    }
}

impl<'a> Visitor<'a> for Looking<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(node) => {
                node.targets.iter().for_each(|target| self.assigned(target, &node.value));
                // Another name of a module is none the less one.
                if !self.is_module(&node.value, 0, &|_| true) && !node.value.is_name_expr() {
                    self.visit_expr(&node.value);
                }
            }
            Stmt::Expr(node) if node.value.as_call_expr().is_some_and(|call| self.filled(call)) => {
            }
            Stmt::Import(import) => {
                for one in &import.names {
                    let first = one.name.split('.').next().unwrap_or_default();
                    let (local, name) = match &one.asname {
                        Some(local) => (local.as_str(), one.name.as_str()),
                        None => (first, first),
                    };
                    self.imported(stmt.start(), local, name, name);
                }
            }
            Stmt::ImportFrom(import) => {
                for one in &import.names {
                    let local = one.asname.as_ref().unwrap_or(&one.name);
                    let from = import.module.as_ref().map_or("", |from| from.as_str());
                    self.imported(stmt.start(), local, from, &one.name);
                }
            }
            Stmt::Global(node) => {
                let shared = node.names.iter().filter(|name| self.modules.has(name));
                let shared: Vec<&str> = shared.map(|name| name.as_str()).collect();
                shared.into_iter().for_each(|name| self.add(stmt.start(), name));
            }
            Stmt::FunctionDef(node) => {
                // What answers for names that a module has not.
                if self.modules.has(&node.name) || &node.name == "__getattr__" {
                    self.bound(node.name.start(), &node.name);
                }
                self.inside(|this| walk_stmt(this, stmt));
            }
            Stmt::ClassDef(node) => {
                if self.modules.has(&node.name) {
                    self.bound(node.name.start(), &node.name);
                }
                self.inside(|this| walk_stmt(this, stmt));
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(node) if node.ctx == ExprContext::Store => {
                self.bound(expr.start(), &node.id);
            }
            // Handed on, whoever has it may change it.
            Expr::Name(node) if self.is_of_tests(expr, 3) => self.add(expr.start(), &node.id),
            Expr::Attribute(node) => {
                let mut root = &*node.value;
                while let Expr::Attribute(inner) = root {
                    root = &inner.value;
                }
                let is_stored = node.ctx == ExprContext::Store;
                match root {
                    Expr::Name(_) if !self.is_of_tests(root, 3) => {}
                    Expr::Name(_) if !is_stored && !node.attr.starts_with("__") => {}
                    // A name of the gist's own may be set where it is no name of the tests.
                    Expr::Name(name)
                        if !self.modules.has(&name.id) && !self.modules.is_kept(&node.attr) => {}
                    Expr::Name(_) => self.add(expr.start(), &node.attr),
                    _ => self.visit_expr(root),
                }
                return;
            }
            Expr::Subscript(_) | Expr::Call(_) if self.is_of_tests(expr, 0) => {
                return self.add(expr.start(), "a module");
            }
            Expr::Lambda(_) => return self.inside(|this| walk_expr(this, expr)),
            _ => {}
        }
        walk_expr(self, expr);
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        self.visit_expr(&comprehension.iter);
        self.loops(&comprehension.target);
        comprehension.ifs.iter().for_each(|test| self.visit_expr(test));
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = captured(pattern);
        if let Some(name) = name {
            self.bound(name.start(), name);
        }
        walk_pattern(self, pattern);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        if let Some(name) = &node.name {
            self.bound(name.start(), name);
        }
        walk_except_handler(self, handler);
    }
}
