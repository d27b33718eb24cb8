//! Handles `__all__`: the code that reads it, and the attributes that a module reads from its own
//! object.

use ruff_python_ast::{
    Expr, Stmt,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use rustc_hash::FxHashSet;

use super::{Search, roots::is_own_module};
use crate::{module::ModuleId, resolve::Target, slice::program::UnitId};

pub(super) const EXPORTS: Name = Name::new_static("__all__");

impl Search<'_, '_> {
    /// Returns true if kept code reads a module's `__all__`, so that the list is kept like any
    /// other value.
    pub(super) fn exports_asked(&self, module: ModuleId) -> bool {
        let name = &self.program().modules.get(module).name;
        self.selection.asked.contains(&(name.clone(), EXPORTS))
    }

    /// A list of exports is none of what a module needs, but for those who read it.
    pub(super) fn ask_exports(&mut self, module: ModuleId, name: &Name) {
        if *name != EXPORTS {
            return;
        }
        let name = self.program().modules.get(module).name.clone();
        self.selection.asked.insert((name, EXPORTS));
    }

    /// Returns true if kept code may read `__all__` of a module whose object escapes. In a single
    /// file it would read the list of another module.
    pub(super) fn shows_exports(&self, id: ModuleId) -> bool {
        self.selection.escaped.contains(&self.program().modules.get(id).name)
            && (self.exports_shown || self.strings.contains(EXPORTS.as_str()))
            && self.program().resolver.bindings(id, &EXPORTS).is_some()
    }

    /// Notes a statement that reads `__all__` of an object which may be any module.
    pub(super) fn note_shown_exports(&mut self, id: UnitId) {
        let mut finder = Readers::default();
        finder.visit_stmt(self.program().get(id).stmt);
        let unknown =
            |expr: &&Expr| !matches!(self.dotted_target(id, expr), Some(Target::Module(_)));
        self.exports_shown |= finder.of.iter().any(unknown);
    }

    /// Demands the names that a statement reads from its own module's object.
    pub(super) fn asked_of_itself(&mut self, id: UnitId) {
        let unit = self.program().get(id);
        let module = unit.module;
        let mut finder = Finder::default();
        finder.visit_stmt(unit.stmt);
        for name in finder.asked {
            let target = self.program().resolver.resolve(module, &name);
            if let Some(Target::Own(..)) = target {
                let module = self.program().modules.get(module).name.clone();
                self.demand(&module, &name);
            }
        }
    }
}

/// Finds that of which `__all__` is read.
#[derive(Default)]
struct Readers<'a> {
    of: Vec<&'a Expr>,
}

impl<'a> Visitor<'a> for Readers<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Attribute(attribute) = expr
            && attribute.attr.id == EXPORTS
        {
            self.of.push(&attribute.value);
        }
        walk_expr(self, expr);
    }
}

/// Finds attributes of `sys.modules[__name__]`, and of names that stand for it.
#[derive(Default)]
struct Finder<'a> {
    stand: FxHashSet<&'a str>,
    asked: Vec<Name>,
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::Assign(assign) = stmt
            && let [Expr::Name(name)] = assign.targets.as_slice()
            && let Expr::Subscript(subscript) = assign.value.as_ref()
            && is_own_module(subscript)
        {
            self.stand.insert(name.id.as_str());
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Attribute(attribute) = expr {
            let own = match attribute.value.as_ref() {
                Expr::Name(name) => self.stand.contains(name.id.as_str()),
                Expr::Subscript(subscript) => is_own_module(subscript),
                _ => false,
            };
            if own {
                self.asked.push(attribute.attr.id.clone());
            }
        }
        walk_expr(self, expr);
    }
}
