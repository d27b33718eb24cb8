//! Tracks the side effects of creating objects and classes: an object that adds itself to a table,
//! a class that its base, its metaclass or a decorator registers.
//!
//! A statement with such an effect is kept when the changed global is kept and code other than the
//! registering functions reads it.

use std::rc::Rc;

use ruff_python_ast::{
    Arguments, Expr, Stmt, StmtClassDef, StmtFunctionDef, name::Name, visitor::Visitor,
};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;

use super::{
    super::changes::{CallChanges, CallKind, GlobalPart},
    Search,
    evaluated::{Evaluated, Made},
    family::{FamilyClass, bases, given_to_decorators, shared},
};
use crate::{module::ModuleId, resolve::Target, scope, slice::program::UnitId};

/// A class, how an object of it is made, and true if that is in a class body.
pub(super) type Making = (ModuleId, TextSize, CallKind, bool);

/// A global, how it is called, and true if that is in a class body.
pub(super) type OwnCall = (ModuleId, Name, CallKind, bool);

/// The kind of a call, and its arguments.
#[derive(Clone, Copy)]
struct How<'s> {
    kind: CallKind,
    in_class: bool,
    given: Option<(UnitId, &'s Arguments)>,
}

/// The changed parts of globals, and the functions that changed them.
#[derive(Default)]
pub(super) struct CallParts {
    parts: FxHashSet<GlobalPart>,
    through: FxHashSet<(ModuleId, TextRange)>,
}

impl CallParts {
    fn add_function(&mut self, changes: &CallChanges) {
        self.parts.extend(changes.parts.iter().cloned());
        self.through.extend(&changes.through);
    }

    fn add_all(&mut self, other: &Self) {
        self.parts.extend(other.parts.iter().cloned());
        self.through.extend(&other.through);
    }
}

/// The changes that a search has followed.
#[derive(Default)]
struct FollowedChanges {
    all: CallParts,
    seen: FxHashSet<(ModuleId, Name)>,
    /// The functions, the classes of objects, and the globals, whose changes are part of these: most calls lead to the same
    /// ones.
    functions: FxHashSet<(ModuleId, TextSize, CallKind)>,
    objects: FxHashSet<Making>,
    calls: FxHashSet<OwnCall>,
}

/// The changes by methods of classes, without those by what the methods call.
#[derive(Default)]
pub(super) struct MethodChanges {
    all: CallParts,
    /// The globals that they call.
    made: FxHashSet<(ModuleId, Name)>,
}

impl<'a> Search<'a, '_> {
    /// A statement waits for what it leaves elsewhere.
    pub(super) fn leaves(&mut self, id: UnitId) {
        let program = self.program();
        let unit = program.get(id);
        let (home, stmt) = (unit.module, unit.stmt);
        let mut evaluated = Evaluated::new(|stmt| {
            program.ran(home).statement(program.modules.get(home).syntax.source(), stmt)
        });
        evaluated.visit_stmt(stmt);
        let mut left = FollowedChanges::default();
        let early = program.ran(home).is_early();
        for called in evaluated.calls {
            left.seen.clear();
            let kind = CallKind { early, again: called.again };
            let given = called.arguments.map(|arguments| (id, arguments));
            let how = How { kind, in_class: called.in_class, given };
            self.of_call(id, called.callee, how, &mut left);
        }
        for class in evaluated.classes {
            left.seen.clear();
            self.of_class(home, class, early, &mut left);
        }
        if left.all.parts.is_empty() {
            return;
        }
        let mut parts = Vec::from_iter(left.all.parts);
        parts.sort_unstable();
        left.all.through.insert((home, stmt.range()));
        let mut through = Vec::from_iter(left.all.through);
        through.sort_unstable_by_key(|(home, range)| (*home, range.start(), range.end()));
        let mentions = program.mentions();
        let is_own = |global: &(ModuleId, Name)| {
            global.0 == home && program.get(id).binds.contains(&global.1)
        };
        let read = parts.into_iter().filter(|(global, attribute)| {
            let name = attribute.as_ref().unwrap_or(&global.1);
            // Who makes the next may show what the last one left: a counter.
            let is_read = self.adjustments.conditions || mentions.is_read_outside(name, &through);
            !is_own(global) && is_read
        });
        let globals: Vec<_> = read.map(|(global, _)| global).collect();
        for global in globals {
            self.waiting.entry(global).or_default().push(id);
        }
    }

    /// Records the changes of a call of an expression.
    fn of_call(&self, id: UnitId, callee: &Expr, how: How<'_>, left: &mut FollowedChanges) {
        let program = self.program();
        let mut attributes = Vec::new();
        let mut base = callee;
        while let Expr::Attribute(attribute) = base {
            attributes.push(&attribute.attr.id);
            base = &attribute.value;
        }
        let Expr::Name(name) = base else {
            // A method of what a call of the repository's gives.
            if let ([method, ..], Expr::Call(call)) = (&attributes[..], base)
                && let Some(Target::Own(..)) = self.dotted_target(id, &call.func)
            {
                for &(home, function) in
                    program.purity.entered.get(method.as_str()).into_iter().flatten()
                {
                    self.of_function((home, function, 1), how, left);
                }
            }
            return;
        };
        let target = self.behind(id, &name.id, &mut attributes);
        let Some(Target::Own(home, own)) = target else { return };
        if let [method, ..] = attributes[..] {
            let held = (attributes.len() > 1).then(|| attributes[attributes.len() - 1].clone());
            self.of_method((home, own), held, method, how, left);
        } else {
            self.of_own((home, own), how, left);
        }
    }

    /// Records the changes of a call of a global.
    fn of_own(&self, (home, own): (ModuleId, Name), how: How<'_>, left: &mut FollowedChanges) {
        if !left.seen.is_empty() {
            if left.seen.insert((home, own.clone())) {
                self.follow_own((home, own), how, left);
            }
            return;
        }
        // `seen` is empty: the result is complete, and can be remembered.
        let call = (home, own.clone(), how.kind, how.in_class);
        let known = self.called.borrow().get(&call).cloned();
        let whole = known.unwrap_or_else(|| {
            let mut found = FollowedChanges::default();
            found.seen.insert((home, own.clone()));
            self.follow_own((home, own.clone()), How { given: None, ..how }, &mut found);
            let whole = Rc::new(found.all);
            self.called.borrow_mut().insert(call.clone(), Rc::clone(&whole));
            whole
        });
        if left.calls.insert(call) {
            left.all.add_all(&whole);
        }
        if how.given.is_some() {
            left.seen.insert((home, own.clone()));
            self.record_given_to_own((home, own), how, left);
        }
    }

    /// Records the changes of a call of a global to its arguments.
    fn record_given_to_own(
        &self,
        (home, own): (ModuleId, Name),
        how: How<'_>,
        left: &mut FollowedChanges,
    ) {
        for (binder, stmt) in self.bindings(home, &own) {
            match stmt {
                Stmt::FunctionDef(function) => self.of_given((home, function, 0), how, left),
                Stmt::ClassDef(class) => self.record_given_to_object(home, class, how, left),
                Stmt::Assign(assign) if self.passes_arguments(binder, &assign.value) => {
                    self.of_value((home, &own), binder, &assign.value, how, left);
                }
                Stmt::AnnAssign(assign) => {
                    let value = assign.value.as_ref();
                    if let Some(value) = value.filter(|value| self.passes_arguments(binder, value))
                    {
                        self.of_value((home, &own), binder, value, how, left);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns false for a lambda and a partial: they do not hand their arguments on unchanged.
    ///
    /// ```python
    /// add = lambda row: TABLE.append(row)
    /// add_first = functools.partial(insert, 0)
    /// ```
    fn passes_arguments(&self, binder: UnitId, value: &Expr) -> bool {
        match value {
            Expr::Lambda(_) => false,
            Expr::Call(call) => !self.is_partial(binder, &call.func),
            _ => true,
        }
    }

    fn is_partial(&self, binder: UnitId, callee: &Expr) -> bool {
        matches!(self.dotted_target(binder, callee), Some(Target::External(module, Some(attribute)))
            if module == "functools" && &attribute == "partial")
    }

    fn follow_own(&self, (home, own): (ModuleId, Name), how: How<'_>, left: &mut FollowedChanges) {
        for (binder, stmt) in self.bindings(home, &own) {
            match stmt {
                Stmt::FunctionDef(function) => {
                    self.of_function((home, function, 0), how, left);
                    // Classes that it makes.
                    let source = self.program().modules.get(home).syntax.source();
                    let ran = |stmt: &Stmt| self.program().ran(home).statement(source, stmt);
                    scope::for_each_statement(&function.body, &mut |stmt| {
                        if let Stmt::ClassDef(class) = stmt
                            && ran(stmt)
                        {
                            self.of_class(home, Made::Class(class), how.kind.early, left);
                        }
                    });
                }
                Stmt::ClassDef(class) => self.of_object(home, class, how, left),
                Stmt::Assign(assign) => {
                    self.of_value((home, &own), binder, &assign.value, how, left)
                }
                Stmt::AnnAssign(assign) => {
                    if let Some(value) = &assign.value {
                        self.of_value((home, &own), binder, value, how, left);
                    }
                }
                _ => {}
            }
        }
    }

    /// Records the changes of instantiating a class.
    fn of_object(
        &self,
        home: ModuleId,
        class: &'a StmtClassDef,
        how: How<'_>,
        left: &mut FollowedChanges,
    ) {
        let key = (home, class.start(), how.kind, how.in_class);
        if left.objects.insert(key) {
            let known = self.made.borrow().get(&key).cloned();
            let changes = known.unwrap_or_else(|| {
                let changes = Rc::new(self.by_makers(home, class, how));
                self.made.borrow_mut().insert(key, Rc::clone(&changes));
                changes
            });
            self.of_methods(&changes, how.kind, left);
        }
        self.record_given_to_object(home, class, how, left);
    }

    /// Records the changes that the methods which make an object do to their arguments.
    fn record_given_to_object(
        &self,
        home: ModuleId,
        class: &'a StmtClassDef,
        how: How<'_>,
        left: &mut FollowedChanges,
    ) {
        if how.given.is_none() {
            return;
        }
        let family = self.family(home, class);
        for name in ["__new__", "__init__"] {
            let first = family
                .iter()
                .filter(|one| !one.is_meta)
                .find_map(|one| Some((one.home, scope::methods(one.class, &[name]).next()?)));
            if let Some((home, method)) = first {
                self.of_given((home, method, 1), how, left);
            }
        }
    }

    /// Returns the changes by the methods that make an object.
    fn by_makers(&self, home: ModuleId, class: &'a StmtClassDef, how: How<'_>) -> MethodChanges {
        let kind = how.kind;
        let mut changes = MethodChanges::default();
        let family = self.family(home, class);
        self.follow(&family, MAKERS, false, kind, &mut changes);
        let makers = family.iter().filter(|one| one.is_meta).copied();
        let makers: Vec<_> = makers.collect();
        self.follow(&makers, &["__call__"], false, kind, &mut changes);
        if how.in_class {
            // What it tells the class around it is told to that alone.
            self.follow(&family, &["__set_name__"], true, kind, &mut changes);
        }
        changes
    }

    /// Records the changes of methods, and those of what they call.
    fn of_methods(&self, changes: &MethodChanges, kind: CallKind, left: &mut FollowedChanges) {
        left.all.add_all(&changes.all);
        for made in &changes.made {
            self.of_own(made.clone(), How { kind, in_class: false, given: None }, left);
        }
    }

    /// Records the changes of calling the value that was assigned to a global.
    fn of_value(
        &self,
        (home, own): (ModuleId, &Name),
        binder: UnitId,
        value: &'a Expr,
        how: How<'_>,
        left: &mut FollowedChanges,
    ) {
        match value {
            Expr::Call(call) if self.is_partial(binder, &call.func) => {
                let Some((callee, _)) = call.arguments.args.split_first() else { return };
                self.of_call(binder, callee, How { given: None, ..how }, left);
            }
            Expr::Call(call) => {
                let target = self.dotted_target(binder, &call.func);
                let Some(Target::Own(there, class)) = target else { return };
                let bindings = self.bindings(there, &class);
                let is_class = |(_, stmt): &(UnitId, &Stmt)| stmt.is_class_def_stmt();
                if bindings.iter().any(is_class) {
                    let call = Name::new("__call__");
                    self.of_method((home, own.clone()), None, &call, how, left);
                }
            }
            Expr::Lambda(lambda) => {
                let mut evaluated = Evaluated::new(|_: &Stmt| true);
                evaluated.visit_expr(&lambda.body);
                for called in evaluated.calls {
                    self.of_call(binder, called.callee, How { given: None, ..how }, left);
                }
            }
            // Another name of it.
            _ => self.of_call(binder, value, how, left),
        }
    }

    /// Records the changes of a call of a function whose first `bound` parameters Python passes
    /// itself.
    fn of_function(
        &self,
        (home, function, bound): (ModuleId, &StmtFunctionDef, usize),
        how: How<'_>,
        left: &mut FollowedChanges,
    ) {
        let changes = self.program().changes(home, function, how.kind);
        if left.functions.insert((home, function.start(), how.kind)) {
            left.all.add_function(&changes);
        }
        self.of_given((home, function, bound), how, left);
        for made in &changes.made {
            self.of_own(made.clone(), How { given: None, in_class: false, ..how }, left);
        }
    }

    /// Records the changes that a function makes to its arguments.
    fn of_given(
        &self,
        (home, function, bound): (ModuleId, &StmtFunctionDef, usize),
        how: How<'_>,
        left: &mut FollowedChanges,
    ) {
        let Some((id, arguments)) = how.given else { return };
        let changes = self.program().changes(home, function, how.kind);
        let mut change = |parameter: &Name, given: &Expr| {
            let changed = changes.given.iter().filter(|(name, _)| name == parameter);
            for (_, attribute) in changed {
                if let Some((global, held)) = self.part(id, given) {
                    left.all.parts.insert((global, held.or(attribute.clone())));
                }
            }
        };
        let parameters = function.parameters.iter().map(|parameter| &parameter.name().id);
        for (parameter, given) in parameters.skip(bound).zip(&arguments.args) {
            change(parameter, given);
        }
        for keyword in &arguments.keywords {
            keyword.arg.iter().for_each(|name| change(&name.id, &keyword.value));
        }
        left.all.through.extend(&changes.through);
    }

    /// Records the changes that a method makes to a global, class or object, or to one of its
    /// attributes.
    fn of_method(
        &self,
        (home, own): (ModuleId, Name),
        held: Option<Name>,
        method: &Name,
        how: How<'_>,
        left: &mut FollowedChanges,
    ) {
        let program = self.program();
        let bindings = self.bindings(home, &own);
        let class = bindings.iter().find_map(|(_, stmt)| stmt.as_class_def_stmt());
        if let Some(class) = class.filter(|_| held.is_none()) {
            let mut changes = MethodChanges::default();
            self.follow(&self.family(home, class), &[method], false, how.kind, &mut changes);
            self.of_methods(&changes, how.kind, left);
            return;
        }
        let changed = program.purity.changed_by(method);
        left.all.through.extend(&changed.1);
        let parts = changed.0.iter();
        left.all
            .parts
            .extend(parts.map(|one| ((home, own.clone()), held.clone().or_else(|| one.clone()))));
        for &(home, function) in program.purity.entered.get(method.as_str()).into_iter().flatten() {
            self.of_function((home, function, 1), how, left);
        }
    }

    /// Records the changes by the hooks of bases and of the metaclass when a class is created.
    fn of_class(&self, home: ModuleId, class: Made<'a>, early: bool, left: &mut FollowedChanges) {
        let kind = CallKind { early, again: 0 };
        let mut family = Vec::new();
        let mut mentioned = match class {
            Made::Class(class) => {
                bases(class).into_iter().chain(given_to_decorators(class)).collect()
            }
            Made::Of(bases) => vec![(bases, false)],
        };
        self.join(home, &mut mentioned, &mut family);
        // What a metaclass changes of a class may be what its bases have.
        let hooks = ["__init_subclass__", "__prepare__", "__new__", "__init__", "__call__"];
        let mut changes = MethodChanges::default();
        self.follow(&family, &hooks, true, kind, &mut changes);
        self.of_methods(&changes, kind, left);
        let globals = family.iter().map(|one| (one.home, one.class.name.id.clone()));
        left.all.parts.extend(globals.map(|global| (global, Some(Name::new("__subclasses__")))));
    }

    /// Adds the changes that methods of classes make, and the methods that they call: to
    /// globals, and to the classes.
    fn follow(
        &self,
        family: &[FamilyClass<'a>],
        methods: &[&str],
        makes_class: bool,
        kind: CallKind,
        left: &mut MethodChanges,
    ) {
        let program = self.program();
        let mut pending: Vec<Name> = methods.iter().map(|name| Name::new(*name)).collect();
        let mut seen = FxHashSet::default();
        while let Some(name) = pending.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            for member in family {
                // An object of a base is not made where a class is.
                let makes_object = matches!(name.as_str(), "__new__" | "__init__" | "__call__");
                if makes_class && makes_object && !member.is_meta {
                    continue;
                }
                for method in scope::methods(member.class, &[name.as_str()]) {
                    let line =
                        program.modules.get(member.home).syntax.source().line(method.start());
                    if program.ran(member.home).function(line).is_none() {
                        continue;
                    }
                    let changes = program.changes(member.home, method, kind);
                    left.all.add_function(&changes);
                    pending.extend(changes.methods.iter().cloned());
                    left.made.extend(changes.made.iter().cloned());
                    // `cls(name)`
                    let own = method.parameters.iter().next();
                    if own.is_some_and(|own| changes.called.contains(&own.name().id)) {
                        let makers = ["__new__", "__init__", "__call__"];
                        pending.extend(makers.into_iter().map(Name::new_static));
                    }
                    for attribute in shared(method, &changes) {
                        let has = |one: &&FamilyClass<'_>| {
                            // A new class may be told what no class had yet.
                            makes_class || scope::bound(&one.class.body).local.contains(&attribute)
                        };
                        left.all.parts.extend(family.iter().filter(has).map(|one| {
                            ((one.home, one.class.name.id.clone()), Some(attribute.clone()))
                        }));
                    }
                }
            }
        }
    }
}

/// Methods that make an object, those among them that are called by what others made.
const MAKERS: &[&str] = &["__new__", "__init__", "__post_init__", "__attrs_post_init__"];
