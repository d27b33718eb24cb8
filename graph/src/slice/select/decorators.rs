//! Computes the changes that decorators make when a function or class is defined.

use std::rc::Rc;

use ruff_python_ast::{Expr, Keyword, Stmt, StmtClassDef, StmtFunctionDef, name::Name};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use super::{
    super::changes::{CallChanges, CallKind},
    Search,
};
use crate::{module::ModuleId, resolve::Target, scope, slice::program::UnitId};

/// A call: its kind and its arguments, each with the statement that contains it.
struct Call<'s> {
    kind: CallKind,
    positional: Vec<(UnitId, &'s Expr)>,
    keywords: Vec<(UnitId, &'s Keyword)>,
}

impl<'s> Call<'s> {
    fn new(kind: CallKind) -> Self {
        Call { kind, positional: Vec::new(), keywords: Vec::new() }
    }

    fn with(kind: CallKind, id: UnitId, positional: &'s [Expr], keywords: &'s [Keyword]) -> Self {
        let positional = positional.iter().map(|given| (id, given)).collect();
        Call { kind, positional, keywords: keywords.iter().map(|given| (id, given)).collect() }
    }
}

/// The globals changed so far, and the statements whose values were followed.
#[derive(Default)]
struct Changed {
    globals: Vec<(ModuleId, Name)>,
    seen: FxHashSet<UnitId>,
}

impl Search<'_, '_> {
    /// A definition whose creation changes something internal waits until that is needed.
    pub(super) fn registers(&mut self, id: UnitId) {
        let program = self.program();
        let unit = program.get(id);
        let early = program.ran(unit.module).is_early();
        let mut changed = Changed::default();
        let decorators: &[ruff_python_ast::Decorator] = match unit.stmt {
            Stmt::FunctionDef(function) => &function.decorator_list,
            Stmt::ClassDef(class) => &class.decorator_list,
            _ => &[],
        };
        // What decorators return is called by those above them, if by anyone.
        let mut above = false;
        for decorator in decorators {
            let kind =
                |again| CallKind { early, again: if above { CallKind::OFTEN } else { again } };
            let (callee, call) = match &decorator.expression {
                Expr::Call(call) => {
                    let (args, keywords) = (&call.arguments.args, &call.arguments.keywords);
                    (call.func.as_ref(), Call::with(kind(1), id, args, keywords))
                }
                other => (other, Call::new(kind(0))),
            };
            changed.seen.clear();
            above |= self.called(id, callee, &call, &mut changed);
        }
        let mut globals = changed.globals;
        globals.sort_unstable();
        globals.dedup();
        for global in globals {
            if !(global.0 == self.program().get(id).module
                && self.program().get(id).binds.contains(&global.1))
            {
                self.waiting.entry(global).or_default().push(id);
            }
        }
    }

    /// Records the changes that a call makes to the function, class or object behind an expression.
    /// Returns true if that object is internal.
    fn called(&self, id: UnitId, callee: &Expr, call: &Call<'_>, changed: &mut Changed) -> bool {
        let program = self.program();
        let mut attributes = Vec::new();
        let mut base = callee;
        while let Expr::Attribute(attribute) = base {
            attributes.push(&attribute.attr.id);
            base = &attribute.value;
        }
        let Expr::Name(name) = base else { return false };
        let root = program.target(id, &name.id, false);
        let internal = matches!(root, Some(Target::Own(..) | Target::Module(_)));
        let target = self.behind(id, &name.id, &mut attributes);
        let Some(Target::Own(home, own)) = target else { return internal };
        if !attributes.is_empty() {
            // The receiver of a method.
            changed.globals.push((home, own));
            return internal;
        }
        for binder in program.binders(home, &own) {
            match program.get(binder).stmt {
                Stmt::FunctionDef(function) => {
                    self.applied((home, function, 0), call, changed);
                }
                Stmt::ClassDef(class) => {
                    for (home, method) in self.methods_of(home, class, &["__new__", "__init__"]) {
                        self.applied((home, method, 1), call, changed);
                    }
                    if call.kind.again > 0 && self.calls_change(home, class, call.kind, changed) {
                        self.all_given(call, changed);
                    }
                }
                Stmt::Assign(assign) => {
                    self.held(binder, (home, &own), &assign.value, call, changed);
                }
                Stmt::AnnAssign(assign) => {
                    if let Some(value) = &assign.value {
                        self.held(binder, (home, &own), value, call, changed);
                    }
                }
                _ => {}
            }
        }
        internal
    }

    /// Records the changes that a call makes to the value assigned to a global.
    fn held(
        &self,
        binder: UnitId,
        (home, name): (ModuleId, &Name),
        value: &Expr,
        call: &Call<'_>,
        changed: &mut Changed,
    ) {
        if !changed.seen.insert(binder) {
            return;
        }
        let Expr::Call(made) = value else {
            // Another name of it.
            self.called(binder, value, call, changed);
            return;
        };
        let (args, keywords) = (&made.arguments.args, &made.arguments.keywords);
        let kind = call.kind;
        match self.dotted_target(binder, &made.func) {
            Some(Target::Own(from, class)) => {
                for unit in self.program().binders(from, &class) {
                    let Stmt::ClassDef(class) = self.program().get(unit).stmt else { continue };
                    if self.calls_change(from, class, kind, changed) {
                        changed.globals.push((home, name.clone()));
                        self.all_given(&Call::with(kind, binder, args, keywords), changed);
                    }
                }
                // What a function made of its arguments is called in turn.
                let kind = CallKind { again: kind.again.saturating_add(1), ..kind };
                let call = Call::with(kind, binder, args, keywords);
                self.called(binder, &made.func, &call, changed);
            }
            Some(Target::External(module, Some(attribute)))
                if module == "functools" && &attribute == "partial" =>
            {
                let Some((function, rest)) = args.split_first() else { return };
                let mut partial = Call::with(kind, binder, rest, keywords);
                partial.positional.extend(&call.positional);
                partial.keywords.extend(&call.keywords);
                self.called(binder, function, &partial, changed);
            }
            _ => {}
        }
    }

    /// Returns true if calling an object of a class changes the object, or an argument that the
    /// object was created from.
    fn calls_change(
        &self,
        home: ModuleId,
        class: &StmtClassDef,
        kind: CallKind,
        changed: &mut Changed,
    ) -> bool {
        self.methods_of(home, class, &["__call__"]).into_iter().any(|(home, method)| {
            let changes = self.applied((home, method, 1), &Call::new(kind), changed);
            let own = method.parameters.iter().next();
            own.is_some_and(|own| changes.parameters.contains(&own.name().id))
        })
    }

    /// All that is given to a call is changed.
    fn all_given(&self, call: &Call<'_>, changed: &mut Changed) {
        let keywords = call.keywords.iter().map(|(id, keyword)| (*id, &keyword.value));
        for (id, given) in call.positional.iter().copied().chain(keywords) {
            self.base(id, given, &mut changed.globals);
        }
    }

    /// Records the changes of a call of a function whose first `bound` parameters Python passes
    /// itself.
    fn applied(
        &self,
        (home, function, bound): (ModuleId, &StmtFunctionDef, usize),
        call: &Call<'_>,
        changed: &mut Changed,
    ) -> Rc<CallChanges> {
        let changes = self.program().changes(home, function, call.kind);
        changed.globals.extend(changes.stored.iter().chain(&changes.asked).cloned());
        let parameters = function.parameters.iter().map(|parameter| &parameter.name().id);
        for (parameter, (id, given)) in parameters.skip(bound).zip(&call.positional) {
            if changes.parameters.contains(parameter) {
                self.base(*id, given, &mut changed.globals);
            }
        }
        for (id, keyword) in &call.keywords {
            if keyword.arg.as_ref().is_some_and(|name| changes.parameters.contains(&name.id)) {
                self.base(*id, &keyword.value, &mut changed.globals);
            }
        }
        changes
    }

    /// Returns the target of a name or of a path of attributes.
    pub(super) fn dotted_target(&self, id: UnitId, expr: &Expr) -> Option<Target> {
        let program = self.program();
        match expr {
            Expr::Name(name) => program.target(id, &name.id, false),
            Expr::Attribute(attribute) => match self.dotted_target(id, &attribute.value)? {
                Target::Module(module) => program.resolver.attribute(&module, &attribute.attr.id),
                Target::External(module, None) => {
                    Some(Target::External(module, Some(attribute.attr.id.clone())))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Methods of a class by their names: its own, or else those of the bases that are the repository's.
    fn methods_of(
        &self,
        home: ModuleId,
        class: &StmtClassDef,
        names: &[&str],
    ) -> Vec<(ModuleId, &StmtFunctionDef)> {
        let program = self.program();
        let mut found: Vec<(ModuleId, &StmtFunctionDef)> = Vec::new();
        let mut pending = vec![(home, class.start())];
        let mut at = 0;
        while let Some(&(home, start)) = pending.get(at) {
            at += 1;
            let stmt = program.unit_at(home, start).map(|unit| program.get(unit).stmt);
            let Some(Stmt::ClassDef(class)) = stmt else { continue };
            for method in scope::methods(class, names) {
                if !found.iter().any(|(_, other)| other.name.id == method.name.id) {
                    found.push((home, method));
                }
            }
            for base in class.arguments.iter().flat_map(|arguments| &arguments.args) {
                let Expr::Name(base) = base else { continue };
                let Some((home, base)) = self.own_target(home, &base.id) else { continue };
                for unit in program.binders(home, &base) {
                    let next = (home, program.get(unit).stmt.start());
                    if !pending.contains(&next) {
                        pending.push(next);
                    }
                }
            }
        }
        found
    }

    fn own_target(&self, module: ModuleId, name: &Name) -> Option<(ModuleId, Name)> {
        match self.program().resolver.resolve(module, name) {
            Some(Target::Own(home, own)) => Some((home, own)),
            _ => None,
        }
    }
}
