//! What bears the names by which tests reach their helpers where that is by a module: `helpers.check(x)`. A
//! gist may be such a module itself, or have an object in its place, and such an object holds the originals.

use std::collections::{BTreeMap, BTreeSet};

use graph::Syntax;
use ruff_python_ast::{
    Expr, ExprContext, Stmt,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};

use super::{
    aliases::alias,
    bindings::{Bindings, chain},
    tables::is_itself,
};

/// The names that matter.
#[derive(Debug, Default)]
pub struct Helpers<'a> {
    /// What tests call modules of theirs, and of their helpers.
    modules: BTreeSet<String>,
    /// What tests have from outside or define at their top level, each with what else it may be called.
    held: BTreeMap<&'a str, BTreeSet<String>>,
}

impl<'a> Helpers<'a> {
    /// Those of some files (path and text), besides the names that these have from outside or define.
    pub fn of<'f>(
        files: impl IntoIterator<Item = (&'f str, &'f str)>,
        held: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let files: Vec<(Vec<&str>, &str)> =
            files.into_iter().map(|(path, text)| (dotted(path), text)).collect();
        let held = held.into_iter().map(|name| (name, BTreeSet::new())).collect();
        let mut reader = Reader { files: &files, at: &[], found: Self { held, ..Self::default() } };
        for (at, text) in &files {
            reader.at = at;
            let syntax = Syntax::parse(graph::Source::new("tests", *text));
            syntax.body().iter().for_each(|stmt| reader.visit_stmt(stmt));
        }
        reader.found
    }

    /// Whether tests call a module of theirs so.
    pub fn is_module(&self, name: &str) -> bool {
        self.modules.contains(name)
    }
}

/// The parts of the name of a module, from its path.
fn dotted(path: &str) -> Vec<&str> {
    let stem = path.strip_suffix(".py").unwrap_or(path);
    stem.strip_suffix("/__init__").unwrap_or(stem).split('/').collect()
}

/// Reads what tests import.
struct Reader<'r, 'a> {
    files: &'r [(Vec<&'r str>, &'r str)],
    at: &'r [&'r str],
    found: Helpers<'a>,
}

impl Reader<'_, '_> {
    /// Whether this is a module of the tests, or a package around one, under whatever root.
    fn is_module(&self, name: &[&str]) -> bool {
        !name.is_empty()
            && self.files.iter().any(|(file, _)| file.windows(name.len()).any(|part| part == name))
    }
}

impl<'s> Visitor<'s> for Reader<'_, '_> {
    fn visit_stmt(&mut self, stmt: &'s Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for one in &import.names {
                    let name: Vec<&str> = one.name.split('.').collect();
                    if self.is_module(&name) {
                        let bound = one.asname.as_ref().map_or(name[0], |local| local.as_str());
                        self.found.modules.insert(bound.to_owned());
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                let level = import.level as usize;
                let base = self.at.len().saturating_sub(level);
                let mut name = if level == 0 { Vec::new() } else { self.at[..base].to_vec() };
                name.extend(import.module.iter().flat_map(|from| from.split('.')));
                for one in &import.names {
                    let bound = one.asname.as_ref().unwrap_or(&one.name);
                    name.push(&one.name);
                    if self.is_module(&name) {
                        self.found.modules.insert(bound.to_string());
                    }
                    name.pop();
                    if let Some(others) = self.found.held.get_mut(bound.as_str()) {
                        others.insert(one.name.to_string());
                    }
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }
}

/// Where a gist gives something else to such a name, by the byte, with the name.
pub fn replaced(
    text: &str,
    helpers: &Helpers<'_>,
    is_internal: &(dyn Fn(&str) -> bool + Sync),
) -> Vec<(usize, String)> {
    if helpers.modules.is_empty() {
        return Vec::new();
    }
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("gist", text));
        let bindings = Bindings::of(syntax.body());
        let aliases = syntax.body().iter().filter_map(|stmt| alias(stmt, &bindings)).collect();
        let (depth, found) = (0, Vec::new());
        let bindings = &bindings;
        let mut looking = Looking { helpers, is_internal, bindings, aliases, depth, found };
        syntax.body().iter().for_each(|stmt| looking.visit_stmt(stmt));
        looking.found
    })
}

struct Looking<'a> {
    helpers: &'a Helpers<'a>,
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

    /// Whether a name is one that only what bears it in the tests may have.
    fn is_kept(&self, name: &str) -> bool {
        self.helpers.is_module(name) || self.helpers.held.contains_key(name)
    }

    /// Whether a value is a module of the repository as a gist has them: itself, an object under the
    /// module's name, or what is still there of it.
    fn is_a_module(&self, value: &Expr) -> bool {
        let is_internal = |expr: Option<&Expr>| {
            expr.and_then(Expr::as_string_literal_expr)
                .is_some_and(|name| (self.is_internal)(name.value.to_str()))
        };
        let full = |expr: &Expr| chain(expr).and_then(|name| self.bindings.resolve(&name));
        match value {
            Expr::Name(name) => self.bindings.known_at_top(&name.id).is_some_and(|values| {
                values.iter().all(|value| !value.is_name_expr() && self.is_a_module(value))
            }),
            Expr::Subscript(node) => {
                full(&node.value).as_deref() == Some("sys.modules")
                    && (is_itself(value) || is_internal(Some(&node.slice)))
            }
            Expr::Call(node) => match full(&node.func).as_deref() {
                Some("sys.modules.get") => is_itself(value),
                Some("types.ModuleType") => {
                    node.arguments.len() == 1 && is_internal(node.arguments.args.first())
                }
                Some("__import__") => is_internal(node.arguments.args.first()),
                _ => false,
            },
            Expr::Attribute(node) => self.is_a_module(&node.value),
            _ => false,
        }
    }

    /// Whether a value is what the tests call so.
    fn is_what(&self, name: &str, value: &Expr) -> bool {
        if self.helpers.is_module(name) && self.is_a_module(value) {
            return true;
        }
        let Some(others) = self.helpers.held.get(name) else { return false };
        let Expr::Name(value) = value else { return false };
        let is_it = |found: &str| found == name || others.contains(found);
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

    /// One name that an assignment gives a value.
    fn assigned(&mut self, target: &'a Expr, value: &'a Expr) {
        match target {
            Expr::Name(name) if &name.id == "__getattr__" => self.visit_expr(target),
            Expr::Name(name) if self.depth == 0 && self.helpers.is_module(&name.id) => {
                if !self.is_what(&name.id, value) {
                    self.add(target.start(), &name.id);
                }
            }
            // What is no module's is told by the statement.
            Expr::Name(_) => {}
            Expr::Attribute(node) if self.is_kept(&node.attr) => {
                if !self.is_what(&node.attr, value) {
                    self.add(target.start(), &node.attr);
                }
                self.visit_expr(&node.value);
            }
            other => self.visit_expr(other),
        }
    }

    fn imported(&mut self, at: TextSize, local: &str, full: &str, is_from: bool) {
        let others = self.helpers.held.get(local);
        let is_called = |last: &str| last == local || others.is_some_and(|all| all.contains(last));
        let last = full.rsplit('.').next().unwrap_or(full);
        let is_it =
            !self.helpers.is_module(local) && if is_from { is_called(last) } else { full == local };
        if self.depth == 0 && self.is_kept(local) && !is_it && !(self.is_internal)(full) {
            self.add(at, local);
        }
    }
}

impl<'a> Visitor<'a> for Looking<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(node) => {
                node.targets.iter().for_each(|target| self.assigned(target, &node.value));
                self.visit_expr(&node.value);
            }
            Stmt::Import(import) => {
                for one in &import.names {
                    let first = one.name.split('.').next().unwrap_or_default();
                    let local = one.asname.as_ref().map_or(first, |local| local.as_str());
                    let full = if one.asname.is_some() { one.name.as_str() } else { first };
                    self.imported(stmt.start(), local, full, false);
                }
            }
            Stmt::ImportFrom(import) => {
                for one in &import.names {
                    let local = one.asname.as_ref().unwrap_or(&one.name);
                    let from = import.module.as_ref().map_or("", |from| from.as_str());
                    let full = format!("{from}.{}", one.name);
                    self.imported(stmt.start(), local, &full, true);
                }
            }
            Stmt::Global(node) => {
                let shared = node.names.iter().filter(|name| self.helpers.is_module(name));
                shared.for_each(|name| self.add(stmt.start(), name));
            }
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {
                let (name, at) = match stmt {
                    Stmt::FunctionDef(node) => (&node.name, node.name.start()),
                    Stmt::ClassDef(node) => (&node.name, node.name.start()),
                    _ => return,
                };
                // What answers for names that a module has not.
                if self.depth == 0 && (self.helpers.is_module(name) || name == "__getattr__") {
                    self.add(at, name);
                }
                self.depth += 1;
                walk_stmt(self, stmt);
                self.depth -= 1;
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(node) => {
                let is_bound = node.ctx == ExprContext::Store && self.depth == 0;
                let is_set = matches!(node.id.as_str(), "setattr" | "delattr");
                if is_bound && (self.is_kept(&node.id) || &node.id == "__getattr__") || is_set {
                    self.add(expr.start(), &node.id);
                }
            }
            // By which it may be set, in whatever way; those of modules and of tables are looked at elsewhere.
            Expr::StringLiteral(node) if self.is_kept(node.value.to_str()) => {
                self.add(expr.start(), node.value.to_str());
            }
            Expr::Subscript(node) => return self.visit_expr(&node.value),
            Expr::Call(_) if self.is_a_module(expr) => return,
            Expr::Attribute(node) => {
                if node.ctx == ExprContext::Store && self.is_kept(&node.attr) {
                    self.add(expr.start(), &node.attr);
                }
            }
            Expr::Call(node) => {
                let is_table = |of: &Expr| chain(of).is_some_and(|name| name == "vars");
                if let Expr::Attribute(method) = &*node.func
                    && method.attr.as_str() == "update"
                    && method.value.as_call_expr().is_some_and(|call| is_table(&call.func))
                {
                    for keyword in &node.arguments.keywords {
                        let Some(name) = &keyword.arg else { continue };
                        if self.is_kept(name) && !self.is_what(name, &keyword.value) {
                            self.add(keyword.start(), name);
                        }
                    }
                }
            }
            Expr::Lambda(_) => {
                self.depth += 1;
                walk_expr(self, expr);
                self.depth -= 1;
                return;
            }
            // Their targets are their own.
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                self.depth += 1;
                walk_expr(self, expr);
                self.depth -= 1;
                return;
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}
