//! Names that a gist had to change because of a collision, changed back before a line of it is judged. What
//! the gist gives such a name besides, anywhere and in whatever way, makes it no alias; so does its deletion,
//! an import of all names, and a meaning that it has without the gist.

use std::collections::{BTreeMap, BTreeSet};

use graph::Syntax;
use ruff_python_ast::{
    Alias, Comprehension, ExceptHandler, Expr, ExprAttribute, ExprCall, ExprContext, Parameters,
    Pattern, Stmt,
    visitor::{Visitor, walk_except_handler, walk_expr, walk_pattern, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use crate::codebase::Codebase;

use super::{
    bindings::{Bindings, captured},
    originals::Originals,
    tables::{is_itself, is_made},
};

/// Where aliases are changed back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// Where they are names of their own.
    Names,
    /// The same, and where a module from outside has another name than its own, or code goes by the object of its
    /// module to what are its globals.
    NamesAndImports,
    /// Where they are names of their own, and where a part of a module [has a longer one](Part).
    NamesAndParts,
    /// Behind a dot as well: an attribute of a module that the gist stands for is renamed with it.
    NamesAndAttributes,
}

/// A gist's text with what they stand for in the place of its aliases. Where the originals are given, who tell what is
/// a module of theirs, also those of the gist itself in a module's place, and attributes of packages that it stands
/// for.
pub fn without_aliases(text: &str, places: Places, originals: Option<&Originals<'_>>) -> String {
    changed_back(text, places, originals, &|_| false)
}

/// The same where modules from outside have other names, and by the object of a module; what the original
/// [imports](Codebase::imports) is given.
pub fn without_renamed(text: &str, codebase: &Codebase) -> String {
    changed_back(text, Places::NamesAndImports, None, &|import| codebase.imports(import))
}

fn changed_back(
    text: &str,
    places: Places,
    originals: Option<&Originals<'_>>,
    is_imported: &(dyn Fn(&str) -> bool + Sync),
) -> String {
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("gist", text));
        let bindings = Bindings::of(syntax.body());
        let all = syntax.body().iter().filter(|_| !bindings.has_star());
        let renamed = |stmt| match places {
            Places::NamesAndImports => renamed(stmt, &bindings, is_imported),
            _ => None,
        };
        let aliases = all.filter_map(|stmt| alias(stmt, &bindings).or_else(|| renamed(stmt)));
        let mut aliases: BTreeMap<&str, &str> = aliases.collect();
        if places == Places::NamesAndParts && !bindings.has_star() {
            let parts = parts(syntax.body(), &bindings);
            aliases.extend(parts.map(|(_, name, local)| (local, name)));
        }
        let gists = of_gist(syntax.body(), &bindings);
        let mut stores = Stores::default();
        syntax.body().iter().for_each(|stmt| stores.visit_stmt(stmt));
        aliases.retain(|name, _| !stores.0.contains(name));
        let outside = parts(syntax.body(), &bindings).filter(|_| !bindings.has_star());
        let outside = outside.filter(|(.., local)| !stores.0.contains(local));
        let outside: Vec<_> = outside.collect();
        let mut parts = BTreeMap::new();
        if let Some(originals) = originals {
            let names = gists.iter().filter(|name| bindings.once(name).is_some());
            let names = names.filter_map(|name| Some((*name, name.strip_suffix("_gist")?)));
            parts.extend(names.filter(|(_, name)| !name.is_empty() && !graph::is_builtin(name)));
            let modules = parts.iter().filter(|(_, name)| !originals.modules(name).is_empty());
            aliases.extend(modules.map(|(name, original)| (*name, *original)));
        }
        let (local, found) = (Vec::new(), Vec::new());
        let bindings = &bindings;
        let mut finder =
            Finder { bindings, aliases, gists, parts, originals, places, local, found };
        for stmt in syntax.body() {
            let lent = finder.lend(stmt, &text[stmt.range()], &outside);
            finder.visit_stmt(stmt);
            finder.aliases.retain(|local, _| !lent.contains(local));
        }
        let mut found = finder.found;
        found.sort_unstable_by_key(|(range, _)| range.start());
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for (range, value) in found {
            out.push_str(&text[done..range.start().to_usize()]);
            out.push_str(value);
            done = range.end().to_usize();
        }
        out.push_str(&text[done..]);
        out
    })
}

/// Names that a gist gives to itself, as it stands for modules, and to nothing else.
pub fn gist_names(text: &str) -> BTreeSet<String> {
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("gist", text));
        let bindings = Bindings::of(syntax.body());
        of_gist(syntax.body(), &bindings).into_iter().map(str::to_owned).collect()
    })
}

/// `Name_mod = Name` at the top level.
pub(super) fn alias<'a>(stmt: &'a Stmt, bindings: &Bindings<'_>) -> Option<(&'a str, &'a str)> {
    let assign = stmt.as_assign_stmt()?;
    let [Expr::Name(name)] = assign.targets.as_slice() else { return None };
    let value = assign.value.as_name_expr()?;
    let is_own = bindings.once(&name.id).is_some() && !graph::is_builtin(&name.id);
    is_own.then(|| (name.id.as_str(), value.id.as_str()))
}

/// Names that are those of the gist [itself](is_itself) and of nothing else: `name = ... =
/// sys.modules.get(__name__)` at the top level.
fn of_gist<'a>(body: &'a [Stmt], bindings: &Bindings<'_>) -> FxHashSet<&'a str> {
    let is_sys = bindings.is_only_imported("sys")
        && bindings.resolve("sys.modules").is_some_and(|full| full == "sys.modules");
    if !is_sys || bindings.has_star() {
        return FxHashSet::default();
    }
    let assigns = body.iter().filter_map(Stmt::as_assign_stmt);
    let targets = assigns.filter(|assign| is_itself(&assign.value)).flat_map(|one| &one.targets);
    let names = targets.filter_map(|target| Some(target.as_name_expr()?.id.as_str()));
    let is_one = |name: &&str| bindings.known_at_top(name).is_some_and(|all| all.len() == 1);
    names.filter(is_one).collect()
}

/// `import name as name_mod` at the top level, or `import package.name as name_mod` where the original has
/// `import package.name as name`.
fn renamed<'a>(
    stmt: &'a Stmt,
    bindings: &Bindings<'_>,
    is_imported: &(dyn Fn(&str) -> bool + Sync),
) -> Option<(&'a str, &'a str)> {
    let [Alias { name, asname: Some(local), .. }] = stmt.as_import_stmt()?.names.as_slice() else {
        return None;
    };
    let own = name.rsplit('.').next().unwrap_or(name);
    let is_longer = local.strip_prefix(own).is_some_and(|rest| rest.starts_with('_'));
    let is_known = own == name.as_str() || is_imported(&format!("import {name} as {own}"));
    let is_one = is_longer && bindings.is_only_imported(local) && is_known;
    is_one.then_some((local.as_str(), own))
}

/// What is imported from a module under a longer name than it has there: `from module import name as
/// name_mod` at the top level.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it is from.
    pub module: String,
    /// What it is called there.
    pub name: String,
    /// What it is called here.
    pub local: String,
}

/// All of a text, each the only thing of its name.
pub fn renamed_parts(text: &str) -> Vec<Part> {
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("gist", text));
        let bindings = Bindings::of(syntax.body());
        let all = parts(syntax.body(), &bindings);
        let owned = all.map(|(module, name, local)| [module, name, local].map(str::to_owned));
        owned.map(|[module, name, local]| Part { module, name, local }).collect()
    })
}

/// Whether, at the top level of a text, an import gives a part of a module its own name, and nothing else does.
pub fn is_part(text: &str, module: &str, name: &str) -> bool {
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("original", text));
        let full = Bindings::of(syntax.body()).resolve_at_top(name);
        full.flatten().is_some_and(|full| full == format!("{module}.{name}"))
    })
}

/// The module, the name and the longer name of each.
fn parts<'a>(
    body: &'a [Stmt],
    bindings: &Bindings<'_>,
) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
    let imports = body.iter().filter_map(Stmt::as_import_from_stmt);
    let imports = imports.filter(|import| import.level == 0);
    let all = imports.filter_map(|import| Some((import.module.as_deref()?, &import.names)));
    let all = all.flat_map(|(module, names)| {
        let renamed =
            names.iter().filter_map(|alias| Some((&alias.name, alias.asname.as_deref()?)));
        renamed.map(move |(name, local)| (module, name.as_str(), local))
    });
    all.filter(|(_, name, local)| {
        let is_longer = local.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
        let is_one = || bindings.resolve_at_top(local).flatten().is_some();
        is_longer && bindings.is_only_imported(local) && is_one()
    })
}

/// Attributes that are given something, or nothing any more: any object may be the gist itself.
#[derive(Default)]
struct Stores<'a>(FxHashSet<&'a str>);

impl<'a> Visitor<'a> for Stores<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Attribute(node) = expr
            && node.ctx != ExprContext::Load
        {
            self.0.insert(&node.attr);
        }
        walk_expr(self, expr);
    }
}

struct Finder<'a> {
    bindings: &'a Bindings<'a>,
    aliases: BTreeMap<&'a str, &'a str>,
    /// Names of the gist itself.
    gists: FxHashSet<&'a str>,
    /// Those of them that stand for the names of modules.
    parts: BTreeMap<&'a str, &'a str>,
    originals: Option<&'a Originals<'a>>,
    places: Places,
    /// Names that functions and comprehensions around give to things of their own.
    local: Vec<FxHashSet<&'a str>>,
    found: Vec<(TextRange, &'a str)>,
}

impl<'a> Finder<'a> {
    /// What a statement of the originals that gives a name has from outside has its own name within it, too; gives what is so there.
    fn lend(
        &mut self,
        stmt: &Stmt,
        text: &str,
        outside: &[(&'a str, &'a str, &'a str)],
    ) -> Vec<&'a str> {
        let name = match stmt {
            Stmt::FunctionDef(node) => &node.name.id,
            Stmt::ClassDef(node) => &node.name.id,
            Stmt::Assign(node) => match &node.targets[..] {
                [Expr::Name(name)] => &name.id,
                _ => return Vec::new(),
            },
            _ => return Vec::new(),
        };
        let Some(originals) = self.originals else { return Vec::new() };
        let is_asked = |local: &str| text.contains(local) && !self.aliases.contains_key(local);
        let all = outside.iter().filter(|(.., local)| is_asked(local));
        let lent = all.filter(|(module, part, _)| originals.import_part(name, module, part));
        let lent: Vec<_> = lent.map(|(_, part, local)| (*local, *part)).collect();
        self.aliases.extend(lent.iter().copied());
        lent.into_iter().map(|(local, _)| local).collect()
    }

    /// Changes a name back, unless what it stands for is another thing here.
    fn replace(&mut self, range: TextRange, name: &str, is_name: bool) {
        let Some(&value) = self.aliases.get(name) else { return };
        if !(is_name && self.local.iter().any(|local| local.contains(value))) {
            self.found.push((range, value));
        }
    }

    /// The package of the originals that an expression is where the gist stands for it.
    fn package(&self, expr: &Expr, originals: &Originals<'_>) -> Option<String> {
        let original = |name: &'a str| self.parts.get(name).copied().unwrap_or(name);
        let gist = |name: &str| self.gists.get(name).copied();
        match expr {
            Expr::Name(name) => {
                let name = gist(&name.id)?;
                let is_local = self.local.iter().any(|local| local.contains(name));
                let found = Some(originals.modules(original(name))).filter(|_| !is_local)?;
                found.first().filter(|_| found.len() == 1).cloned()
            }
            Expr::Attribute(node) => {
                let name = gist(&node.attr)?;
                originals.part(&self.package(&node.value, originals)?, original(name))
            }
            _ => None,
        }
    }

    /// Changes back what the gist has under another name, where an attribute of a package asks the gist for it.
    fn attribute(&mut self, node: &'a ExprAttribute) {
        let (range, name) = (node.attr.range(), node.attr.as_str());
        if self.places == Places::NamesAndAttributes {
            return self.replace(range, name, false);
        }
        // What the gist has by its own object are its globals.
        let asks = node.ctx == ExprContext::Load;
        if asks && self.places == Places::NamesAndImports && self.is_gist(&node.value) {
            return self.replace(range, name, false);
        }
        let part = self.parts.get(name).copied();
        let Some(originals) =
            self.originals.filter(|_| part.is_some() || self.aliases.contains_key(name))
        else {
            return;
        };
        let Some(package) = self.package(&node.value, originals) else { return };
        match part {
            Some(part) if originals.part(&package, part).is_some() => {
                self.found.push((range, part))
            }
            Some(_) => {}
            None => self.replace(range, name, false),
        }
    }

    fn is_gist(&self, expr: &Expr) -> bool {
        let name = expr.as_name_expr().and_then(|name| self.gists.get(name.id.as_str()));
        name.is_some_and(|name| !self.local.iter().any(|local| local.contains(name)))
    }

    /// Whether a call gives the names of an object that stands for a module.
    fn are_globals(&self, call: &ExprCall) -> bool {
        let is_vars = call.func.as_name_expr().is_some_and(|name| &name.id == "vars");
        let [object] = &*call.arguments.args else { return false };
        self.places == Places::NamesAndImports
            && is_vars
            && call.arguments.keywords.is_empty()
            && is_made(object, self.bindings)
    }

    fn inside(&mut self, local: &Locals<'a>, walk: impl FnOnce(&mut Self)) {
        self.local.push(local.names());
        walk(self);
        self.local.pop();
    }

    fn comprehension(&mut self, parts: &[&'a Expr], loops: &'a [Comprehension]) {
        let mut local = Locals::default();
        loops.iter().for_each(|each| local.visit_expr(&each.target));
        // The first loop goes through what its surroundings have.
        if let Some(first) = loops.first() {
            self.visit_expr(&first.iter);
        }
        self.inside(&local, |this| {
            parts.iter().for_each(|part| this.visit_expr(part));
            for (number, each) in loops.iter().enumerate() {
                this.visit_expr(&each.target);
                let iter = std::iter::once(&each.iter).filter(|_| number > 0);
                iter.chain(&each.ifs).for_each(|expr| this.visit_expr(expr));
            }
        });
    }
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let Stmt::FunctionDef(node) = stmt else { return walk_stmt(self, stmt) };
        node.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        node.type_params.iter().for_each(|parameters| self.visit_type_params(parameters));
        self.visit_parameters(&node.parameters);
        node.returns.iter().for_each(|annotation| self.visit_annotation(annotation));
        let mut local = Locals::of(Some(&node.parameters));
        local.visit_body(&node.body);
        self.inside(&local, |this| this.visit_body(&node.body));
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => self.replace(name.range(), &name.id, true),
            Expr::Attribute(node) => self.attribute(node),
            Expr::Call(call) if self.are_globals(call) => {
                self.found.push((call.range(), "globals()"));
                return;
            }
            Expr::Lambda(node) => {
                node.parameters.iter().for_each(|parameters| self.visit_parameters(parameters));
                let local = Locals::of(node.parameters.as_deref());
                return self.inside(&local, |this| this.visit_expr(&node.body));
            }
            Expr::ListComp(node) => return self.comprehension(&[&node.elt], &node.generators),
            Expr::SetComp(node) => return self.comprehension(&[&node.elt], &node.generators),
            Expr::Generator(node) => return self.comprehension(&[&node.elt], &node.generators),
            Expr::DictComp(node) => {
                let key = node.key.as_deref().unwrap_or(&node.value);
                return self.comprehension(&[key, &node.value], &node.generators);
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// Names that a function gives to things of its own, those of functions and classes within it left out.
#[derive(Default)]
pub(super) struct Locals<'a> {
    own: FxHashSet<&'a str>,
    /// Those that are not its own.
    shared: FxHashSet<&'a str>,
}

impl<'a> Locals<'a> {
    /// Those of its parameters.
    pub(super) fn of(parameters: Option<&'a Parameters>) -> Self {
        let names = parameters.into_iter().flat_map(Parameters::iter);
        let own = names.map(|parameter| parameter.name().as_str()).collect();
        Locals { own, shared: FxHashSet::default() }
    }

    /// Those that are its own.
    pub(super) fn names(&self) -> FxHashSet<&'a str> {
        self.own.difference(&self.shared).copied().collect()
    }
}

impl<'a> Visitor<'a> for Locals<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(node) => drop(self.own.insert(&node.name)),
            Stmt::ClassDef(node) => drop(self.own.insert(&node.name)),
            Stmt::Global(node) => self.shared.extend(node.names.iter().map(|name| name.as_str())),
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
        self.own.insert(name.split('.').next().unwrap_or(name));
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx != ExprContext::Load => drop(self.own.insert(&name.id)),
            Expr::Lambda(_) => {}
            _ => walk_expr(self, expr),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        self.own.extend(node.name.as_ref().map(|name| name.as_str()));
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = captured(pattern);
        self.own.extend(name.map(|name| name.as_str()));
        walk_pattern(self, pattern);
    }
}

#[cfg(test)]
#[path = "aliases_tests.rs"]
mod tests;
