//! Which globals a call of a function changes.
//!
//! Decided by analysis of the statements that ran in it, and in the functions that it calls.

use ruff_python_ast::{
    Expr, ExprAttribute, ExprCall, Stmt, StmtFunctionDef,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange, TextSize};
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

/// A global by its home, and which of its attributes: all of it, where none is said.
pub(crate) type Part = ((ModuleId, Name), Option<Name>);

/// What a function changes of what it has under a local name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Inner {
    pub(crate) name: Name,
    /// An attribute, or all of it.
    pub(crate) attribute: Option<Name>,
    /// Whether the attribute is set, instead of changed.
    pub(crate) is_set: bool,
}

/// What a call may change; globals by their home.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes {
    /// Globals that are stored into, given to a call, or of which a method is called for its effect.
    pub(crate) stored: FxHashSet<(ModuleId, Name)>,
    /// Globals of which a method that changes them is called for what it returns.
    pub(crate) asked: FxHashSet<(ModuleId, Name)>,
    /// Parameters of the function whose arguments it changes in one of these ways.
    pub(crate) parameters: FxHashSet<Name>,
    /// Which parts of globals it changes.
    pub(crate) parts: FxHashSet<Part>,
    /// Which parts of what it has under local names.
    pub(crate) inner: FxHashSet<Inner>,
    /// Methods that it calls of that.
    pub(crate) methods: FxHashSet<Name>,
    /// The functions that do so.
    pub(crate) through: Vec<(ModuleId, TextRange)>,
    /// Whether everything that is called could be followed.
    pub(crate) told: bool,
}

enum Changed {
    Part(Part),
    Inner(Inner),
}

impl Changes {
    fn change(&mut self, changed: Changed) {
        match changed {
            Changed::Part(part) => {
                self.parts.insert(part);
            }
            Changed::Inner(inner) => {
                self.inner.insert(inner);
            }
        }
    }
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
        for (global, method) in effects.of_globals {
            if asked(&method) {
                let (attributes, through) = self.changed_by(&method);
                found.parts.extend(attributes.into_iter().map(|one| (global.clone(), one)));
                found.through.extend(through);
                found.asked.insert(global);
            }
        }
        let mut own = effects.found;
        for (changed, method) in effects.of_parts {
            if asked(&method) {
                own.change(changed);
            }
        }
        found.parts.extend(own.parts);
        found.through.push((home, function.range()));
        if depth == 0 {
            found.inner = own.inner;
            found.methods = effects.of_locals.iter().map(|(_, method)| method.clone()).collect();
            let local = effects.of_locals.into_iter().filter(|(_, method)| asked(method));
            found.parameters = own.parameters;
            found.parameters.extend(local.map(|(name, _)| name));
        }
        found.stored.extend(own.stored);
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
            of_parts: Vec::new(),
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

    /// What methods of a name change of their objects: attributes, or all of it. And the methods that do so.
    pub(crate) fn changed_by(
        &self,
        method: &Name,
    ) -> (FxHashSet<Option<Name>>, Vec<(ModuleId, TextRange)>) {
        let (mut found, mut through) = (FxHashSet::default(), Vec::new());
        let (mut pending, mut seen) = (vec![method.clone()], FxHashSet::default());
        while let Some(method) = pending.pop() {
            if !seen.insert(method.clone()) {
                continue;
            }
            let Some(entered) = self.entered.get(method.as_str()) else {
                let changes = CHANGING_METHODS.binary_search(&method.as_str()).is_ok();
                found.extend(changes.then_some(None));
                continue;
            };
            for &(home, function) in entered {
                let Some(own) = function.parameters.iter().next() else { continue };
                let own = &own.name().id;
                let effects = self.effects(home, function, CallKind::ANY);
                let mut changes = effects.found;
                for (changed, method) in effects.of_parts {
                    if self.changes_receiver(&method) {
                        changes.change(changed);
                    }
                }
                let inner = changes.inner.into_iter().filter(|inner| inner.name == *own);
                found.extend(inner.map(|inner| inner.attribute));
                let called = effects.of_locals.into_iter().filter(|(receiver, _)| receiver == own);
                pending.extend(called.map(|(_, method)| method));
                through.push((home, function.range()));
            }
        }
        (found, through)
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
    /// The same of what their attributes hold.
    of_parts: Vec<(Changed, Name)>,
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
                        self.part_of_receiver(method);
                    }
                    // Called for its effect, which may be on what it is given: `setattr(x, ...)`.
                    call.arguments.args.iter().for_each(|argument| self.base(argument));
                    self.parts_given(call);
                }
            }
            Stmt::Global(global) => {
                self.found
                    .stored
                    .extend(global.names.iter().map(|name| (self.home, name.id.clone())));
                let own = global.names.iter().map(|name| ((self.home, name.id.clone()), None));
                self.found.parts.extend(own);
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
        if !method.value.is_name_expr()
            && let Some(part) = self.part(&method.value, false)
        {
            self.of_parts.push((part, method.attr.id.clone()));
        }
        let method = method.attr.id.clone();
        if self.local.local.contains(&name.id) {
            self.of_locals.push((name.id.clone(), method));
        } else if let Some(Target::Own(home, own)) =
            self.purity.resolver.resolve(self.home, &name.id)
        {
            self.of_globals.push(((home, own), method));
        }
    }

    /// What is called for its effect changes more of a name than that, or what its methods do.
    fn part_of_receiver(&mut self, method: &ExprAttribute) {
        let of_global = match method.value.as_ref() {
            Expr::Name(name) => {
                !self.local.local.contains(&name.id)
                    && !self.purity.entered.contains_key(method.attr.as_str())
            }
            _ => true,
        };
        if of_global {
            self.change(&method.value, false);
        }
    }

    /// What a call for its effect is given.
    fn parts_given(&mut self, call: &ExprCall) {
        let changes = match call.func.as_ref() {
            Expr::Name(name) => match self.purity.resolver.resolve(self.home, &name.id) {
                Some(Target::Own(..)) => true,
                _ => matches!(name.id.as_str(), "setattr" | "delattr"),
            },
            Expr::Attribute(_) => false,
            _ => true,
        };
        for argument in call.arguments.args.iter().take(if changes { usize::MAX } else { 0 }) {
            self.change(argument, false);
        }
    }

    fn change(&mut self, expr: &Expr, is_set: bool) {
        if let Some(part) = self.part(expr, is_set) {
            self.found.change(part);
        }
    }

    /// The part of what stands under a name that is changed, or set.
    fn part(&self, expr: &Expr, is_set: bool) -> Option<Changed> {
        let (mut expr, mut attributes) = (expr, Vec::new());
        let name = loop {
            expr = match expr {
                Expr::Attribute(attribute) => {
                    attributes.push(&attribute.attr.id);
                    &attribute.value
                }
                Expr::Subscript(subscript) => &subscript.value,
                Expr::Call(call) => match (call.func.as_ref(), &*call.arguments.args) {
                    (Expr::Name(name), [of]) if &name.id == "type" => of,
                    (Expr::Attribute(_), _) => &call.func,
                    _ => return None,
                },
                Expr::Name(name) => break &name.id,
                _ => return None,
            }
        };
        let mut next = || loop {
            match attributes.pop() {
                Some(attribute) if attribute == "__class__" => {}
                other => return other.cloned(),
            }
        };
        if self.local.local.contains(name) {
            let inner = Inner { name: name.clone(), attribute: next(), is_set: false };
            let is_set = is_set && attributes.is_empty();
            return Some(Changed::Inner(Inner { is_set, ..inner }));
        }
        let mut target = self.purity.resolver.resolve(self.home, name);
        while let Some(Target::Module(module)) = &target {
            target = self.purity.resolver.attribute(module, &next()?);
        }
        match target? {
            Target::Own(home, own) => Some(Changed::Part(((home, own), next()))),
            _ => None,
        }
    }

    fn store(&mut self, target: &Expr) {
        match target {
            Expr::Attribute(attribute) => {
                self.base(&attribute.value);
                self.change(target, true);
            }
            Expr::Subscript(subscript) => {
                self.base(&subscript.value);
                self.change(&subscript.value, false);
            }
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
