//! Computes which globals a call of a function changes.
//!
//! Analyses the executed statements of the function and of the functions that it calls.

mod effects;

use std::rc::Rc;

use effects::Effects;
use ruff_python_ast::{Stmt, StmtFunctionDef, name::Name};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;

use super::{
    inner::executed,
    purity::{DEPTH, Purity},
};
use crate::module::{ModuleId, Modules};

/// The circumstances of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallKind {
    /// Before the first test: what ran in tests alone is no part of it.
    pub(crate) early: bool,
    /// The number of times that the result is called at once in turn: once for a decorator with
    /// arguments.
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

pub(super) fn is_changing_method(name: &str) -> bool {
    CHANGING_METHODS.binary_search(&name).is_ok()
}

/// A global by its home, and which of its attributes: all of it, where none is said.
pub(crate) type GlobalPart = ((ModuleId, Name), Option<Name>);

/// A change that a function makes to the object behind a local name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Inner {
    pub(crate) name: Name,
    /// An attribute, or all of it.
    pub(crate) attribute: Option<Name>,
    /// True if the attribute is assigned, false if its value is changed.
    pub(crate) is_set: bool,
}

/// The changes that a call may make. A global is identified by its home module.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallChanges {
    /// Globals that are stored into, given to a call, or of which a method is called for its effect.
    pub(crate) stored: FxHashSet<(ModuleId, Name)>,
    /// Globals of which a method that changes them is called for what it returns.
    pub(crate) asked: FxHashSet<(ModuleId, Name)>,
    /// Parameters of the function whose arguments it changes in one of these ways.
    pub(crate) parameters: FxHashSet<Name>,
    /// The parts of globals that it changes.
    pub(crate) parts: FxHashSet<GlobalPart>,
    /// The parts of local names' objects that it changes.
    pub(crate) inner: FxHashSet<Inner>,
    /// The same, and what methods change that it calls of that: attributes by the local name, or all of it.
    pub(crate) given: FxHashSet<(Name, Option<Name>)>,
    /// Methods that it calls of that.
    pub(crate) methods: FxHashSet<Name>,
    /// Local names that it calls.
    pub(crate) called: FxHashSet<Name>,
    /// The callees that are not functions: classes, and globals that hold an object.
    pub(crate) made: FxHashSet<(ModuleId, Name)>,
    /// The functions that do so.
    pub(crate) through: Vec<(ModuleId, TextRange)>,
    /// True if every call could be followed.
    pub(crate) told: bool,
}

/// A part of a global, or of the object behind a local name.
#[derive(Debug, Clone)]
enum Changed {
    Part(GlobalPart),
    Inner(Inner),
}

/// The changes that methods of one name make to their objects, and the functions that make them. A
/// change is an attribute, or `None` for the whole object.
pub(crate) type OfObject = (FxHashSet<Option<Name>>, Vec<(ModuleId, TextRange)>);

impl CallChanges {
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
    /// Returns the changes that a call of a module's function or class may make.
    pub(crate) fn changes(
        &self,
        home: ModuleId,
        function: &StmtFunctionDef,
        call: CallKind,
    ) -> CallChanges {
        let (mut found, mut seen) = (CallChanges::default(), FxHashSet::default());
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
        found: &mut CallChanges,
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
                let changed = self.changed_by(&method);
                found.parts.extend(changed.0.iter().map(|one| (global.clone(), one.clone())));
                found.through.extend(&changed.1);
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
            found.given = self.given(&own.inner, &effects.of_locals);
            found.inner = own.inner;
            found.called = own.called;
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
        for call in calls {
            let (home, name) = call.callee;
            // A class or a value that is called: only functions can be followed here.
            let Some(function) = self.function(home, &name) else {
                told &= depth > 0 || !call.is_named;
                found.made.insert((home, name));
                continue;
            };
            self.change_given((home, function), &call.given, inner, found, depth);
            let followed = self.changes_of((home, function), inner, found, seen, depth + 1);
            told &= followed || depth > 0 || !call.is_named;
        }
        told
    }

    /// Returns the changes to local names' objects, including those by methods called on them.
    fn given(
        &self,
        inner: &FxHashSet<Inner>,
        of_locals: &[(Name, Name)],
    ) -> FxHashSet<(Name, Option<Name>)> {
        let mut given: FxHashSet<_> =
            inner.iter().map(|one| (one.name.clone(), one.attribute.clone())).collect();
        for (name, method) in of_locals.iter().filter(|(_, method)| self.changes_receiver(method)) {
            let changed = self.changed_by(method);
            given.extend(changed.0.iter().map(|one| (name.clone(), one.clone())));
        }
        given
    }

    /// Records the changes that a function itself makes to its arguments.
    fn change_given(
        &self,
        (home, function): (ModuleId, &StmtFunctionDef),
        given: &[Option<Changed>],
        call: CallKind,
        found: &mut CallChanges,
        depth: u32,
    ) {
        if given.iter().all(Option::is_none) {
            return;
        }
        let effects = self.effects(home, function, call);
        let changes = self.given(&effects.found.inner, &effects.of_locals);
        let parameters = function.parameters.iter().map(|parameter| &parameter.name().id);
        for (parameter, given) in parameters.zip(given) {
            for (_, attribute) in changes.iter().filter(|(name, _)| name == parameter) {
                match given {
                    Some(Changed::Part((global, held))) => {
                        let held = held.clone().or(attribute.clone());
                        found.parts.insert((global.clone(), held));
                    }
                    Some(Changed::Inner(inner)) if depth == 0 => {
                        let held = inner.attribute.clone().or(attribute.clone());
                        found.given.insert((inner.name.clone(), held));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Returns the effects of a function's own statements.
    fn effects(
        &self,
        home: ModuleId,
        function: &StmtFunctionDef,
        call: CallKind,
    ) -> Effects<'_, 'a, '_> {
        let mut effects = Effects::new(self, home, function);
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
        effects.follow_aliases();
        effects
    }

    /// Returns the changes that methods of a name make to their objects, directly or through
    /// methods called on these.
    pub(crate) fn changed_by(&self, name: &Name) -> Rc<OfObject> {
        if let Some(known) = self.changed.borrow().get(name) {
            return Rc::clone(known);
        }
        let found = Rc::new(self.follow_changed(name));
        self.changed.borrow_mut().insert(name.clone(), Rc::clone(&found));
        found
    }

    fn follow_changed(&self, method: &Name) -> OfObject {
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

    /// Returns true if a method of this name, of a builtin type or a repository class, changes its
    /// receiver. It may do so directly or through another method that it calls on the receiver.
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
                if changing {
                    break;
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_for_the_search() {
        assert!(CHANGING_METHODS.is_sorted());
    }
}
