//! Which globals a call of a function changes.
//!
//! Decided by analysis of the statements that ran in it, and in the functions that it calls.

use ruff_python_ast::{
    Expr, ExprAttribute, Stmt, StmtFunctionDef,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::FxHashSet;

use super::{
    inner::executed,
    purity::{DEPTH, Purity},
};
use crate::{
    module::{ModuleId, Modules},
    resolve::Target,
    scope,
};

/// How a function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallKind {
    /// Before the first test: what ran in tests alone is no part of it.
    pub(crate) early: bool,
    /// How often what it returns is called in turn, at once: once for a decorator that is given arguments.
    pub(crate) again: u32,
}

impl CallKind {
    /// That what is returned is called in turn no one knows how often.
    pub(crate) const OFTEN: u32 = u32::MAX;
    /// At any time, and whatever becomes of what it returns.
    pub(crate) const ANY: CallKind = CallKind { early: false, again: CallKind::OFTEN };
}

/// Methods of the builtin types and of the standard library's containers and registries that change what they
/// are called on.
const CHANGING_METHODS: &[&str] = &[
    "add",
    "append",
    "appendleft",
    "clear",
    "difference_update",
    "discard",
    "extend",
    "extendleft",
    "insert",
    "intersection_update",
    "move_to_end",
    "pop",
    "popitem",
    "popleft",
    "put",
    "put_nowait",
    "register",
    "remove",
    "reverse",
    "rotate",
    "setdefault",
    "sort",
    "symmetric_difference_update",
    "update",
];

/// What a call may change; globals by their home.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes {
    /// Globals that are stored into, given to a call, or of which a method is called for its effect.
    pub(crate) stored: FxHashSet<(ModuleId, Name)>,
    /// Globals of which a method that changes them is called for what it returns.
    pub(crate) asked: FxHashSet<(ModuleId, Name)>,
    /// Parameters of the function whose arguments it changes in one of these ways.
    pub(crate) parameters: FxHashSet<Name>,
    /// Whether everything that is called could be followed.
    pub(crate) told: bool,
}

impl<'a> Purity<'a, '_> {
    /// What a call of a function of a module, or of a class of it, may change.
    pub(crate) fn changes(
        &self,
        home: ModuleId,
        function: &StmtFunctionDef,
        call: CallKind,
    ) -> Changes {
        let (mut found, mut seen) = (Changes::default(), FxHashSet::default());
        found.told = self.changes_of((home, function), call, &mut found, &mut seen, 0);
        let parameters = function.parameters.iter().map(|parameter| &parameter.name().id);
        let parameters: FxHashSet<&Name> = parameters.collect();
        found.parameters.retain(|name| parameters.contains(name));
        found
    }

    /// The function of a module that has a name.
    pub(crate) fn function(&self, home: ModuleId, name: &Name) -> Option<&'a StmtFunctionDef> {
        let modules: &'a Modules = self.resolver.modules();
        modules.get(home).syntax.body().iter().find_map(|stmt| match stmt {
            Stmt::FunctionDef(function) if &function.name.id == name => Some(function),
            _ => None,
        })
    }

    fn changes_of(
        &self,
        (home, function): (ModuleId, &StmtFunctionDef),
        call: CallKind,
        found: &mut Changes,
        seen: &mut FxHashSet<(ModuleId, TextSize, CallKind)>,
        depth: u32,
    ) -> bool {
        if !seen.insert((home, function.start(), call)) {
            return true;
        }
        if depth > DEPTH {
            return false;
        }
        let effects = self.effects(home, function, call);
        let asked = |method: &Name| self.changes_receiver(method);
        let globals = effects.of_globals.into_iter().filter(|(_, method)| asked(method));
        found.asked.extend(globals.map(|(global, _)| global));
        if depth == 0 {
            let local = effects.of_locals.into_iter().filter(|(_, method)| asked(method));
            found.parameters = effects.found.parameters;
            found.parameters.extend(local.map(|(name, _)| name));
        }
        found.stored.extend(effects.found.stored);
        let calls = effects.calls;
        // What becomes of their results is not followed.
        let inner = CallKind { again: CallKind::OFTEN, ..call };
        let mut told = true;
        for (home, name) in calls {
            // A class or a value that is called: only functions can be followed.
            let followed = self.function(home, &name).is_some_and(|function| {
                self.changes_of((home, function), inner, found, seen, depth + 1)
            });
            told &= followed || depth > 0;
        }
        told
    }

    /// What a function changes itself.
    fn effects(
        &self,
        home: ModuleId,
        function: &StmtFunctionDef,
        call: CallKind,
    ) -> Effects<'_, 'a, '_> {
        let mut effects = Effects {
            purity: self,
            home,
            found: Changes::default(),
            calls: Vec::new(),
            of_locals: Vec::new(),
            of_globals: Vec::new(),
            local: scope::bound(&function.body),
        };
        effects
            .local
            .local
            .extend(function.parameters.iter().map(|parameter| parameter.name().id.clone()));
        let source = self.resolver.modules().get(home).syntax.source();
        let ran = &self.ran[home.0 as usize];
        let ran = |stmt: &Stmt, early: bool| match early {
            true => ran.statement_early(source, stmt),
            false => ran.statement(source, stmt),
        };
        // Decorators of its own are called with it, and may do anything with what it returns.
        let decorated = !function.decorator_list.is_empty();
        let kind = if decorated { CallKind { again: CallKind::OFTEN, ..call } } else { call };
        executed(&function.body, kind, &ran, &mut |stmt| effects.statement(stmt));
        effects
    }

    /// Whether a method of this name, of a builtin type or of any class of the repository, changes what it is
    /// called on: itself, or by another method that it calls on that.
    fn changes_receiver(&self, method: &Name) -> bool {
        if let Some(&known) = self.changing.borrow().get(method) {
            return known;
        }
        let (mut pending, mut seen) = (vec![method.clone()], FxHashSet::default());
        let mut changing = false;
        while let Some(method) = pending.pop() {
            if changing || !seen.insert(method.clone()) {
                continue;
            }
            changing |= CHANGING_METHODS.binary_search(&method.as_str()).is_ok();
            for &(home, function) in self.entered.get(method.as_str()).into_iter().flatten() {
                let Some(own) = function.parameters.iter().next() else { continue };
                let own = &own.name().id;
                let effects = self.effects(home, function, CallKind::ANY);
                changing |= effects.found.parameters.contains(own);
                let called = effects.of_locals.into_iter().filter(|(receiver, _)| receiver == own);
                pending.extend(called.map(|(_, method)| method));
            }
        }
        self.changing.borrow_mut().insert(method.clone(), changing);
        changing
    }
}

/// Collects what executed statements change.
struct Effects<'e, 'a, 'r> {
    purity: &'e Purity<'a, 'r>,
    home: ModuleId,
    found: Changes,
    calls: Vec<(ModuleId, Name)>,
    /// Methods that are called for what they return, and the local or global name they are called on.
    of_locals: Vec<(Name, Name)>,
    of_globals: Vec<((ModuleId, Name), Name)>,
    local: scope::Bound,
}

impl Effects<'_, '_, '_> {
    fn statement(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.store(target)),
            Stmt::AugAssign(assign) => self.store(&assign.target),
            Stmt::AnnAssign(assign) => self.store(&assign.target),
            Stmt::Delete(delete) => delete.targets.iter().for_each(|target| self.store(target)),
            Stmt::Expr(expr) => {
                if let Expr::Call(call) = expr.value.as_ref() {
                    if let Expr::Attribute(method) = call.func.as_ref() {
                        self.base(&method.value);
                    }
                    // Called for its effect, which may be on what it is given: `setattr(x, ...)`.
                    call.arguments.args.iter().for_each(|argument| self.base(argument));
                }
            }
            Stmt::Global(global) => {
                self.found
                    .stored
                    .extend(global.names.iter().map(|name| (self.home, name.id.clone())));
            }
            _ => {}
        }
        let mut calls = Calls::default();
        if !matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            walk_stmt(&mut calls, stmt);
        }
        for method in calls.methods {
            self.ask(method);
        }
        for name in calls.found {
            if !self.local.local.contains(&name)
                && let Some(Target::Own(home, name)) =
                    self.purity.resolver.resolve(self.home, &name)
            {
                self.calls.push((home, name));
            }
        }
    }

    /// A method that is called for what it returns may change what it is called on all the same.
    fn ask(&mut self, method: &ExprAttribute) {
        let mut base = method.value.as_ref();
        while let Expr::Attribute(attribute) = base {
            base = &attribute.value;
        }
        let Expr::Name(name) = base else { return };
        let method = method.attr.id.clone();
        if self.local.local.contains(&name.id) {
            self.of_locals.push((name.id.clone(), method));
        } else if let Some(Target::Own(home, own)) =
            self.purity.resolver.resolve(self.home, &name.id)
        {
            self.of_globals.push(((home, own), method));
        }
    }

    fn store(&mut self, target: &Expr) {
        match target {
            Expr::Attribute(attribute) => self.base(&attribute.value),
            Expr::Subscript(subscript) => self.base(&subscript.value),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.store(element)),
            _ => {}
        }
    }

    fn base(&mut self, mut expr: &Expr) {
        loop {
            match expr {
                Expr::Attribute(attribute) => expr = &attribute.value,
                Expr::Subscript(subscript) => expr = &subscript.value,
                Expr::Call(call) => expr = &call.func,
                Expr::Name(name) => {
                    if self.local.local.contains(&name.id) {
                        self.found.parameters.insert(name.id.clone());
                    } else if let Some(home) = self.purity.resolver.home(self.home, &name.id) {
                        self.found.stored.insert(home);
                    }
                    return;
                }
                _ => return,
            }
        }
    }
}

#[derive(Default)]
struct Calls<'v> {
    found: Vec<Name>,
    methods: Vec<&'v ExprAttribute>,
}

impl<'v> Visitor<'v> for Calls<'v> {
    fn visit_stmt(&mut self, _: &'v Stmt) {}
    fn visit_expr(&mut self, expr: &'v Expr) {
        if let Expr::Call(call) = expr {
            match call.func.as_ref() {
                Expr::Name(name) => self.found.push(name.id.clone()),
                Expr::Attribute(method) => self.methods.push(method),
                _ => {}
            }
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_for_the_search() {
        assert!(CHANGING_METHODS.is_sorted());
    }
}
