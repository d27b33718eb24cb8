//! Finds effects that leave the program: writes to streams, files, the process or external objects.
//!
//! It follows the executed statements of a function and of the internal functions that it called. A
//! call that it cannot follow may have an effect. Changes of the repository's own globals belong to
//! `changes`.

use std::rc::Rc;

use ruff_python_ast::{
    Expr, ExprAttribute, ExprCall, ExprSubscript, Stmt, StmtClassDef, StmtFunctionDef,
    StmtImportFrom,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    changes::{CallKind, is_changing_method},
    inner::executed,
    purity::{Purity, is_pure_builtin, is_pure_method},
    select::is_own_module,
};
use crate::{
    module::{ModuleId, Modules},
    resolve::Target,
    scope::{self, Bound},
    trace::Value,
};

/// The share of a call that leaves the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OutsideEffect {
    /// Everything that ran is known to stay inside.
    #[default]
    Nothing,
    /// Something ran that cannot be followed.
    Unknown,
    /// It writes, ends or changes something that is not the repository's; or it calls something from outside and
    /// discards the result.
    Something,
}

/// Builtins that act on a stream, on the process or on names.
const ACTING_BUILTINS: &[&str] = &["breakpoint", "exec", "exit", "input", "print", "quit"];

/// Builtins that make an object, or go through one; all exceptions are of the same kind.
const MAKING_BUILTINS: &[&str] = &[
    "aiter",
    "anext",
    "bytearray",
    "classmethod",
    "memoryview",
    "next",
    "property",
    "staticmethod",
];

/// The methods that make an object of a class.
const MAKERS: &[&str] = &["__new__", "__init__", "__post_init__"];

/// Depth of names that stand for each other.
const DEPTH: u32 = 2;

/// A function with the module it stands in.
type Function<'a> = (ModuleId, &'a StmtFunctionDef);

/// The effects of one function or statement by itself, and the internal functions that it calls.
#[derive(Debug, Default)]
pub(crate) struct Acts<'a> {
    outside: OutsideEffect,
    calls: Vec<Function<'a>>,
    /// The called functions whose result is discarded.
    discarded: Vec<Function<'a>>,
}

impl<'a> Acts<'a> {
    fn add(&mut self, other: Acts<'a>) {
        self.outside = self.outside.max(other.outside);
        self.calls.extend(other.calls);
        self.discarded.extend(other.discarded);
    }
}

/// A function in a memo.
pub(crate) type FunctionKey = (ModuleId, TextSize, bool);

impl<'a> Purity<'a, '_> {
    /// The effect of executing a module-level statement that leaves the program, with all that it calls in turn. Where
    /// `early`, it is executed before the first test.
    pub(crate) fn outside(&self, home: ModuleId, stmt: &'a Stmt, early: bool) -> OutsideEffect {
        let mut acts = Acts::default();
        self.acts_of(home, stmt, &mut acts);
        let calls = self.outside_of_calls(acts.calls, early);
        // Who discards a result called for an effect.
        let discarded = self.outside_of_calls(acts.discarded, early);
        let discarded =
            if discarded > OutsideEffect::Nothing { OutsideEffect::Something } else { discarded };
        acts.outside.max(calls).max(discarded)
    }

    fn outside_of_calls(&self, calls: Vec<Function<'a>>, early: bool) -> OutsideEffect {
        let mut found = OutsideEffect::Nothing;
        let (mut pending, mut seen) = (calls, FxHashSet::default());
        while let Some((home, function)) = pending.pop() {
            if found == OutsideEffect::Something {
                break;
            }
            if seen.insert((home, function.start())) {
                let acts = self.acts(home, function, early);
                found = found.max(acts.outside);
                pending.extend(acts.calls.iter().chain(&acts.discarded));
            }
        }
        found
    }

    /// Adds what the statement does that executes it: blocks and class bodies included, functions excluded.
    fn acts_of(&self, home: ModuleId, stmt: &'a Stmt, acts: &mut Acts<'a>) {
        let source = self.resolver.modules().get(home).syntax.source();
        let ran = &self.ran[home.0 as usize];
        let (local, inner) = (Bound::default(), FxHashSet::default());
        let mut search = Search::new(self, home, &local, &inner);
        search.is_module_code = true;
        let mut classes = Vec::new();
        scope::for_each_statement(std::slice::from_ref(stmt), &mut |stmt| {
            if ran.statement(source, stmt) {
                search.statement(stmt);
                classes.extend(stmt.as_class_def_stmt());
            }
        });
        acts.add(search.acts);
        for class in classes {
            acts.calls.extend(self.class_makers(home, class));
            class.body.iter().for_each(|stmt| self.acts_of(home, stmt, acts));
        }
    }

    fn acts(&self, home: ModuleId, function: &'a StmtFunctionDef, early: bool) -> Rc<Acts<'a>> {
        let key = (home, function.start(), early);
        if let Some(known) = self.acts.borrow().get(&key) {
            return Rc::clone(known);
        }
        let mut local = scope::bound(&function.body);
        local.local.extend(function.parameters.iter().map(|one| one.name().id.clone()));
        let mut inner = FxHashSet::default();
        scope::for_each_function(&function.body, &mut |_, one| {
            inner.insert(one.name.id.clone());
            local.local.extend(one.parameters.iter().map(|one| one.name().id.clone()));
            local.local.extend(scope::bound(&one.body).local);
        });
        local.local.retain(|name| !local.global.contains(name));
        let source = self.resolver.modules().get(home).syntax.source();
        let ran = &self.ran[home.0 as usize];
        let ran = |stmt: &Stmt, early: bool| match early {
            true => ran.statement_early(source, stmt),
            false => ran.statement(source, stmt),
        };
        let mut search = Search::new(self, home, &local, &inner);
        // Whatever decorates it is called with it.
        for decorator in &function.decorator_list {
            search.decorator(&decorator.expression);
        }
        // A function that is defined in it may be called by whoever gets hold of it.
        let kind = CallKind { early, again: CallKind::OFTEN };
        executed(&function.body, kind, &ran, &mut |stmt| search.statement(stmt));
        let acts = Rc::new(search.acts);
        self.acts.borrow_mut().insert(key, Rc::clone(&acts));
        acts
    }

    /// The methods that run where an object of a class is made, those of its bases included.
    fn makers(&self, home: ModuleId, class: &'a StmtClassDef) -> Vec<Function<'a>> {
        let of = |(home, class)| scope::methods(class, MAKERS).map(move |one| (home, one));
        self.with_bases(home, class).into_iter().flat_map(of).collect()
    }

    /// The methods of bases and metaclasses that run where a class is made.
    fn class_makers(&self, home: ModuleId, class: &'a StmtClassDef) -> Vec<Function<'a>> {
        let mut found = Vec::new();
        for (at, (home, one)) in self.with_bases(home, class).into_iter().enumerate() {
            if at > 0 {
                found.extend(scope::methods(one, &["__init_subclass__"]).map(|one| (home, one)));
            }
            for keyword in one.keywords() {
                let is_meta = keyword.arg.as_ref().is_some_and(|name| name == "metaclass");
                let value = std::slice::from_ref(&keyword.value);
                for (home, meta) in self.own_classes(home, value).filter(|_| is_meta) {
                    found.extend(self.makers(home, meta));
                }
            }
        }
        found
    }

    /// A class, and the classes of the repository that it comes from, each once.
    fn with_bases(
        &self,
        home: ModuleId,
        class: &'a StmtClassDef,
    ) -> Vec<(ModuleId, &'a StmtClassDef)> {
        let mut found = vec![(home, class)];
        let mut at = 0;
        while let Some(&(home, class)) = found.get(at) {
            at += 1;
            for base in self.own_classes(home, class.bases()) {
                if !found.iter().any(|one| std::ptr::eq(one.1, base.1)) {
                    found.push(base);
                }
            }
        }
        found
    }

    /// The classes of the repository that names stand for.
    fn own_classes(
        &self,
        home: ModuleId,
        names: &'a [Expr],
    ) -> impl Iterator<Item = (ModuleId, &'a StmtClassDef)> {
        names.iter().filter_map(Expr::as_name_expr).filter_map(move |name| {
            match self.resolver.resolve(home, &name.id) {
                Some(Target::Own(home, name)) => self.class(home, &name),
                _ => None,
            }
        })
    }

    /// Returns the external object that a global of the repository holds.
    fn foreign(&self, home: ModuleId, name: &Name, depth: u32) -> Option<Held> {
        let modules: &'a Modules = self.resolver.modules();
        let mut found = None;
        scope::for_each_statement(modules.get(home).syntax.body(), &mut |stmt| {
            let (target, value) = match stmt {
                Stmt::Assign(assign) => (assign.targets.first(), Some(&*assign.value)),
                Stmt::AnnAssign(assign) => (Some(&*assign.target), assign.value.as_deref()),
                _ => return,
            };
            if let (Some(Expr::Name(bound)), Some(value)) = (target, value)
                && bound.id == *name
            {
                let (local, inner) = (Bound::default(), FxHashSet::default());
                found = found.max(Search::new(self, home, &local, &inner).held(value, depth + 1));
            }
        });
        found
    }
}

/// An object from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    /// Made here, of a class from outside.
    Fresh,
    /// It was there before.
    Shared,
}

/// The root name of a chain of attributes, subscripts and calls.
fn root(mut expr: &Expr) -> &Expr {
    loop {
        expr = match expr {
            Expr::Attribute(node) => &node.value,
            Expr::Subscript(node) => &node.value,
            Expr::Call(node) => &node.func,
            Expr::Await(node) => &node.value,
            _ => return expr,
        };
    }
}

struct Search<'s, 'a, 'r> {
    purity: &'s Purity<'a, 'r>,
    home: ModuleId,
    /// Names of the function around, and of those that are defined in it.
    local: &'s Bound,
    /// Functions that are defined in it.
    inner: &'s FxHashSet<Name>,
    /// Local names that hold something from outside.
    foreign: FxHashMap<Name, Held>,
    acts: Acts<'a>,
    /// True if the result of the next visited call is discarded.
    discards: bool,
    is_module_code: bool,
}

impl<'s, 'a, 'r> Search<'s, 'a, 'r> {
    fn new(
        purity: &'s Purity<'a, 'r>,
        home: ModuleId,
        local: &'s Bound,
        inner: &'s FxHashSet<Name>,
    ) -> Self {
        let (foreign, acts) = (FxHashMap::default(), Acts::default());
        let (discards, is_module_code) = (false, false);
        Self { purity, home, local, inner, foreign, acts, discards, is_module_code }
    }

    fn statement(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                function.decorator_list.iter().for_each(|one| self.decorator(&one.expression));
                let defaults = function.parameters.iter().filter_map(|one| one.default());
                return defaults.for_each(|default| self.visit_expr(default));
            }
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|one| self.decorator(&one.expression));
                return;
            }
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.store(target));
                assign.targets.iter().for_each(|target| self.bind(target, &assign.value));
            }
            Stmt::AugAssign(assign) => self.store(&assign.target),
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.store(&assign.target);
                    self.bind(&assign.target, value);
                    self.visit_expr(value);
                }
                return;
            }
            Stmt::Delete(delete) => delete.targets.iter().for_each(|target| self.store(target)),
            Stmt::For(each) => {
                self.store(&each.target);
                self.bind(&each.target, &each.iter);
            }
            Stmt::With(with) => {
                for item in &with.items {
                    if let Some(target) = &item.optional_vars {
                        self.bind(target, &item.context_expr);
                    }
                }
            }
            Stmt::ImportFrom(import) => self.bind_imports(import),
            Stmt::Expr(expr) => {
                self.discards = expr.value.is_call_expr() || expr.value.is_await_expr();
            }
            _ => {}
        }
        walk_stmt(self, stmt);
        self.discards = false;
    }

    fn note(&mut self, outside: OutsideEffect) {
        self.acts.outside = self.acts.outside.max(outside);
    }

    fn follow(&mut self, calls: impl IntoIterator<Item = Function<'a>>, discards: bool) {
        let list = if discards { &mut self.acts.discarded } else { &mut self.acts.calls };
        list.extend(calls);
    }

    fn is_local(&self, name: &Name) -> bool {
        self.local.local.contains(name)
    }

    fn target(&self, name: &Name) -> Option<Target> {
        if self.is_local(name) { None } else { self.purity.resolver.resolve(self.home, name) }
    }

    /// Returns the external object that an expression is, or is part of.
    fn held(&self, expr: &Expr, depth: u32) -> Option<Held> {
        if let Expr::Call(call) = expr
            && matches!(call.func.as_ref(), Expr::Name(_) | Expr::Attribute(_))
            && self.is_class(&call.func)
        {
            return Some(Held::Fresh);
        }
        let Expr::Name(name) = root(expr) else { return None };
        if self.is_local(&name.id) {
            return self.foreign.get(&name.id).copied();
        }
        match self.resolved(expr)? {
            Target::External(..) => Some(Held::Shared),
            Target::Own(home, name) if depth < DEPTH && !self.calls(expr) => {
                self.purity.foreign(home, &name, depth)
            }
            _ => None,
        }
    }

    /// Returns true if an expression is the result of calling a global, or part of that.
    fn calls(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Call(call) if call.func.is_name_expr())
    }

    /// Returns true if an expression is a class from outside, by what the module held, or else by its spelling.
    fn is_class(&self, expr: &Expr) -> bool {
        if !matches!(self.resolved(expr), Some(Target::External(..))) {
            return false;
        }
        if let Expr::Name(name) = expr
            && let Some(value) = self.purity.resolver.value(self.home, &name.id)
        {
            return matches!(value, Value::Class(..));
        }
        let name = match expr {
            Expr::Name(name) => &name.id,
            Expr::Attribute(node) => &node.attr.id,
            _ => return false,
        };
        name.trim_start_matches('_').starts_with(char::is_uppercase)
    }

    /// The first thing outside of modules of the repository on the way of a chain of attributes.
    fn resolved(&self, expr: &Expr) -> Option<Target> {
        match expr {
            Expr::Name(name) => self.target(&name.id),
            Expr::Attribute(node) => match self.resolved(&node.value)? {
                Target::Module(module) => self.purity.resolver.attribute(&module, &node.attr.id),
                other => Some(other),
            },
            Expr::Subscript(node) => self.resolved(&node.value),
            Expr::Call(node) => self.resolved(&node.func),
            Expr::Await(node) => self.resolved(&node.value),
            _ => None,
        }
    }

    /// Local names that an assignment gives something from outside.
    fn bind(&mut self, target: &Expr, value: &Expr) {
        match target {
            Expr::Name(name) if self.is_local(&name.id) => {
                if let Some(held) = self.held(value, 0) {
                    self.foreign.insert(name.id.clone(), held);
                }
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|one| self.bind(one, value)),
            Expr::List(list) => list.elts.iter().for_each(|one| self.bind(one, value)),
            _ => {}
        }
    }

    fn bind_imports(&mut self, import: &StmtImportFrom) {
        let modules = self.purity.resolver.modules();
        let from = import.module.as_ref().map(|name| name.as_str());
        let from = modules.absolute(self.home, import.level, from);
        if from.is_none_or(|from| !modules.is_internal(&from)) {
            let names = import.names.iter().map(|one| one.asname.as_ref().unwrap_or(&one.name));
            self.foreign.extend(names.map(|name| (name.id.clone(), Held::Shared)));
        }
    }

    /// A change of an attribute, or of an item, of something from outside.
    fn store(&mut self, target: &Expr) {
        match target {
            Expr::Subscript(node) if is_own_module(node) => {}
            Expr::Attribute(ExprAttribute { value, .. })
            | Expr::Subscript(ExprSubscript { value, .. })
                if self.held(value, 0) == Some(Held::Shared) =>
            {
                self.note(OutsideEffect::Something);
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|one| self.store(one)),
            Expr::List(list) => list.elts.iter().for_each(|one| self.store(one)),
            _ => {}
        }
    }

    fn decorator(&mut self, expr: &'a Expr) {
        let callee = if let Expr::Call(call) = expr {
            self.visit_expr(expr);
            &call.func
        } else {
            expr
        };
        match self.resolved(callee) {
            Some(Target::Own(home, name)) => self.call_own(home, &name, false),
            // What it makes of the function may do anything where that is called.
            Some(Target::External(..)) => self.note(OutsideEffect::Unknown),
            _ => {}
        }
    }

    fn call_own(&mut self, home: ModuleId, name: &Name, discards: bool) {
        if let Some(function) = self.purity.function(home, name) {
            self.follow([(home, function)], discards);
        } else if let Some((_, class)) = self.purity.class(home, name) {
            let makers = self.purity.makers(home, class);
            self.follow(makers, discards);
        } else {
            self.note_called(discards);
        }
    }

    /// A call of what cannot be followed.
    fn note_called(&mut self, discards: bool) {
        self.note(if discards { OutsideEffect::Something } else { OutsideEffect::Unknown });
    }

    fn call(&mut self, call: &'a ExprCall, discards: bool) {
        match call.func.as_ref() {
            Expr::Name(name) => match self.target(&name.id) {
                _ if self.foreign.contains_key(&name.id) => self.note_called(discards),
                _ if self.inner.contains(&name.id) => {}
                _ if self.is_local(&name.id) => self.note(OutsideEffect::Unknown),
                Some(Target::Own(home, name)) => self.call_own(home, &name, discards),
                Some(Target::Builtin(name)) => self.builtin(&name, call),
                None => self.builtin(&name.id, call),
                Some(Target::Module(_) | Target::External(..)) => self.note_called(discards),
            },
            Expr::Attribute(method) => self.method(&call.func, method, discards),
            // What a call gives is called in turn.
            Expr::Call(_) => self.note(OutsideEffect::Unknown),
            _ => self.note_called(discards),
        }
    }

    fn method(&mut self, callee: &'a Expr, method: &'a ExprAttribute, discards: bool) {
        let name = method.attr.as_str();
        // A function of a module of the repository.
        if let Some(Target::Own(home, own)) = self.resolved(callee)
            && matches!(self.resolved(&method.value), Some(Target::Module(_)))
        {
            return self.call_own(home, &own, discards);
        }
        let is_known = is_pure_method(name) || is_changing_method(name);
        match self.held(&method.value, 0) {
            Some(Held::Fresh) if is_known => return,
            Some(Held::Fresh) => return self.note_called(discards && self.is_module_code),
            Some(Held::Shared) if !is_pure_method(name) => return self.note_called(discards),
            _ => {}
        }
        if MAKERS.contains(&name) {
            // Those of bases are followed with the class.
            return;
        }
        match self.purity.entered.get(name) {
            Some(candidates) => {
                let candidates = candidates.clone();
                self.follow(candidates, discards);
            }
            None if is_known || is_own(&method.value) || method.value.is_literal_expr() => {}
            None => self.note_called(discards),
        }
    }

    fn builtin(&mut self, name: &Name, call: &ExprCall) {
        match name.as_str() {
            "setattr" | "delattr" => {
                let given = call.arguments.args.first();
                if given.is_some_and(|given| self.held(given, 0) == Some(Held::Shared)) {
                    self.note(OutsideEffect::Something);
                }
            }
            "open" => {
                let mode = call.arguments.find_argument_value("mode", 1);
                let reads = |mode: &Expr| {
                    let text = mode.as_string_literal_expr();
                    text.is_some_and(|text| !text.value.to_str().contains(['w', 'a', 'x', '+']))
                };
                let outside = if mode.is_none_or(reads) {
                    OutsideEffect::Unknown
                } else {
                    OutsideEffect::Something
                };
                self.note(outside);
            }
            name if ACTING_BUILTINS.binary_search(&name).is_ok() => {
                self.note(OutsideEffect::Something)
            }
            name if is_pure_builtin(name) || MAKING_BUILTINS.binary_search(&name).is_ok() => {}
            name if name.starts_with(char::is_uppercase)
                && self.purity.resolver.pythons().has_builtin(name) => {}
            _ => self.note(OutsideEffect::Unknown),
        }
    }

    /// Functions of the repository that a call is given may be called by it.
    fn given(&mut self, call: &'a ExprCall) {
        let values = call.arguments.keywords.iter().map(|keyword| &keyword.value);
        for value in call.arguments.args.iter().chain(values) {
            if matches!(value, Expr::Name(_) | Expr::Attribute(_))
                && let Some(Target::Own(home, name)) = self.resolved(value)
                && let Some(function) = self.purity.function(home, &name)
            {
                self.follow([(home, function)], false);
            }
        }
    }
}

/// Returns true if an expression is the object that a method is called on, or what `super()` gives of it.
fn is_own(expr: &Expr) -> bool {
    match expr {
        Expr::Name(name) => matches!(name.id.as_str(), "self" | "cls"),
        Expr::Call(call) => call.func.as_name_expr().is_some_and(|name| &name.id == "super"),
        _ => false,
    }
}

impl<'a> Visitor<'a> for Search<'_, 'a, '_> {
    // Statements in blocks are visited where they ran.
    fn visit_stmt(&mut self, _: &'a Stmt) {}

    fn visit_expr(&mut self, expr: &'a Expr) {
        let discards = std::mem::take(&mut self.discards);
        match expr {
            Expr::Call(call) => {
                self.call(call, discards);
                self.given(call);
            }
            Expr::Await(node) => {
                self.discards = discards;
                return self.visit_expr(&node.value);
            }
            Expr::Lambda(_) => return,
            _ => {}
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_for_the_search() {
        assert!(ACTING_BUILTINS.is_sorted() && MAKING_BUILTINS.is_sorted());
    }
}
