//! Collects the changes that one function's executed statements make, and the functions that they
//! call.

use ruff_python_ast::{
    Expr, ExprAttribute, ExprCall, ExprSubscript, Stmt, StmtFunctionDef,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{CallChanges, Changed, Inner, Purity};
use crate::{module::ModuleId, resolve::Target, scope, slice::scan::path};

/// A call of something of the repository's, with what it is given.
pub(super) struct InternalCall {
    pub(super) callee: (ModuleId, Name),
    /// The target of each argument that is a name or an attribute of one.
    pub(super) given: Vec<Option<Changed>>,
    /// True if the callee is called by a plain name, false if by an attribute of its module.
    pub(super) is_named: bool,
}

/// Collects what executed statements change.
pub(super) struct Effects<'e, 'a, 'r> {
    purity: &'e Purity<'a, 'r>,
    home: ModuleId,
    pub(super) found: CallChanges,
    pub(super) calls: Vec<InternalCall>,
    /// Methods that are called for what they return, and the local or global name they are called on.
    pub(super) of_locals: Vec<(Name, Name)>,
    pub(super) of_globals: Vec<((ModuleId, Name), Name)>,
    /// The same of what their attributes hold.
    pub(super) of_parts: Vec<(Changed, Name)>,
    local: scope::Bound,
    /// The targets that local names, or their attributes, may be aliases of.
    aliases: FxHashMap<(Name, Option<Name>), Vec<Changed>>,
}

impl<'e, 'a, 'r> Effects<'e, 'a, 'r> {
    pub(super) fn new(
        purity: &'e Purity<'a, 'r>,
        home: ModuleId,
        function: &StmtFunctionDef,
    ) -> Self {
        let mut local = scope::bound(&function.body);
        let parameters = function.parameters.iter().map(|parameter| parameter.name().id.clone());
        local.local.extend(parameters);
        let (found, calls, of_locals) = Default::default();
        let (of_globals, of_parts, aliases) = Default::default();
        let mut effects =
            Self { purity, home, found, calls, of_locals, of_globals, of_parts, local, aliases };
        for parameter in function.parameters.iter() {
            if let Some(default) = parameter.default() {
                effects.alias((parameter.name().id.clone(), None), default);
            }
        }
        effects
    }

    /// Applies the changes of local names to the targets of their aliases.
    pub(super) fn follow_aliases(&mut self) {
        if self.aliases.is_empty() {
            return;
        }
        let inner = self.found.inner.iter();
        let changed: Vec<Changed> =
            inner.flat_map(|one| self.aliased(&one.name, one.attribute.as_ref())).collect();
        let names = self.found.parameters.iter();
        let stored: Vec<Changed> = names.flat_map(|name| self.aliased(name, None)).collect();
        let mut asked: Vec<(Changed, Name)> = Vec::new();
        for (name, method) in &self.of_locals {
            let same = self.aliased(name, None).into_iter();
            asked.extend(same.map(|one| (one, method.clone())));
        }
        for (changed, method) in &self.of_parts {
            if let Changed::Inner(inner) = changed {
                let same = self.aliased(&inner.name, inner.attribute.as_ref()).into_iter();
                asked.extend(same.map(|one| (one, method.clone())));
            }
        }
        for (changed, method) in asked {
            match changed {
                Changed::Part((global, None)) => self.of_globals.push((global, method)),
                Changed::Inner(Inner { name, attribute: None, .. }) => {
                    self.of_locals.push((name, method));
                }
                held => self.of_parts.push((held, method)),
            }
        }
        for one in changed.iter().chain(&stored) {
            match one {
                Changed::Part((global, _)) => drop(self.found.stored.insert(global.clone())),
                Changed::Inner(inner) => drop(self.found.parameters.insert(inner.name.clone())),
            }
        }
        changed.into_iter().for_each(|one| self.found.change(one));
    }

    /// Returns all targets that a local name, or an attribute of it, may be an alias of,
    /// transitively.
    fn aliased(&self, name: &Name, attribute: Option<&Name>) -> Vec<Changed> {
        let mut found = self.aliased_directly(name, attribute);
        let mut seen = FxHashSet::default();
        let mut at = 0;
        while let Some(one) = found.get(at) {
            at += 1;
            if let Changed::Inner(inner) = one
                && seen.insert((inner.name.clone(), inner.attribute.clone()))
            {
                let (name, attribute) = (inner.name.clone(), inner.attribute.clone());
                found.extend(self.aliased_directly(&name, attribute.as_ref()));
            }
        }
        found
    }

    fn aliased_directly(&self, name: &Name, attribute: Option<&Name>) -> Vec<Changed> {
        let attribute = attribute.cloned();
        let of = |key| self.aliases.get(&key).into_iter().flatten().cloned();
        let of_name = of((name.clone(), None)).map(|one| match one {
            Changed::Part((global, held)) => {
                Changed::Part((global, held.or_else(|| attribute.clone())))
            }
            Changed::Inner(inner) => {
                let attribute = inner.attribute.or_else(|| attribute.clone());
                Changed::Inner(Inner { attribute, ..inner })
            }
        });
        let held = attribute.clone().into_iter().flat_map(|held| of((name.clone(), Some(held))));
        of_name.chain(held).collect()
    }

    /// Local names, or their attributes, that are given what a global has.
    fn alias(&mut self, local: (Name, Option<Name>), value: &Expr) {
        let values = match value {
            Expr::Tuple(node) => &node.elts[..],
            Expr::List(node) => &node.elts,
            Expr::BoolOp(node) => &node.values,
            Expr::If(node) => {
                self.alias(local.clone(), &node.body);
                return self.alias(local, &node.orelse);
            }
            one => std::slice::from_ref(one),
        };
        for value in values {
            let same = match self.same(value) {
                // What is set there is no more than that.
                Some(Changed::Inner(inner)) => Changed::Inner(Inner { is_set: true, ..inner }),
                Some(part) => part,
                None => continue,
            };
            self.aliases.entry(local.clone()).or_default().push(same);
        }
    }

    /// Returns the target that an expression is, or is part of. Results of method calls have no
    /// target.
    fn same(&self, value: &Expr) -> Option<Changed> {
        let mut base = value;
        while let Expr::Attribute(ExprAttribute { value, .. })
        | Expr::Subscript(ExprSubscript { value, .. }) = base
        {
            base = value;
        }
        let is_plain = match base {
            Expr::Call(call) => call.func.is_name_expr(),
            _ => true,
        };
        is_plain.then(|| self.part(value, false)).flatten()
    }

    fn aliases_of(&mut self, target: &Expr, value: &Expr) {
        match target {
            Expr::Name(name) if self.local.local.contains(&name.id) => {
                self.alias((name.id.clone(), None), value);
            }
            Expr::Attribute(node) => {
                if let Some(of) = node.value.as_name_expr()
                    && self.local.local.contains(&of.id)
                {
                    self.alias((of.id.clone(), Some(node.attr.id.clone())), value);
                }
            }
            _ => {}
        }
    }

    pub(super) fn statement(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.store(target));
                assign.targets.iter().for_each(|target| self.aliases_of(target, &assign.value));
            }
            Stmt::For(each) => self.aliases_of(&each.target, &each.iter),
            Stmt::ImportFrom(import) => {
                let from = import.module.as_ref().map(|name| name.as_str());
                let modules = self.purity.resolver.modules();
                let from = modules.absolute(self.home, import.level, from);
                for alias in import.names.iter().filter(|_| from.is_some()) {
                    let from = from.as_deref().unwrap_or_default();
                    let target = self.purity.resolver.attribute(from, &alias.name.id);
                    if let Some(Target::Own(home, own)) = target {
                        let local = alias.asname.as_ref().unwrap_or(&alias.name).id.clone();
                        let same = Changed::Part(((home, own), None));
                        self.aliases.entry((local, None)).or_default().push(same);
                    }
                }
            }
            Stmt::AugAssign(assign) => self.store(&assign.target),
            Stmt::AnnAssign(assign) => self.store(&assign.target),
            Stmt::Delete(delete) => delete.targets.iter().for_each(|target| self.store(target)),
            Stmt::Expr(expr) => {
                if let Expr::Call(call) = expr.value.as_ref() {
                    if let Expr::Attribute(method) = call.func.as_ref() {
                        self.base(&method.value);
                        if self.of_base(method, call).is_none() {
                            self.part_of_receiver(method);
                        }
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
        for call in calls.0 {
            match call.func.as_ref() {
                Expr::Attribute(method) => {
                    match self.of_base(method, call) {
                        Some(own) => self.of_locals.push((own, method.attr.id.clone())),
                        None => self.ask(method),
                    }
                    if let Some(callee) = self.of_module(method) {
                        self.call(callee, call, false);
                    }
                }
                Expr::Name(name) if self.local.local.contains(&name.id) => {
                    let local = (name.id.clone(), None);
                    let aliased = self.aliases.get(&local).into_iter().flatten();
                    let callees = aliased.filter_map(|one| match one {
                        Changed::Part((global, None)) => Some(global.clone()),
                        _ => None,
                    });
                    let callees: Vec<_> = callees.collect();
                    callees.into_iter().for_each(|callee| self.call(callee, call, false));
                    self.found.called.insert(name.id.clone());
                }
                Expr::Name(name) => {
                    if let Some(Target::Own(home, name)) =
                        self.purity.resolver.resolve(self.home, &name.id)
                    {
                        self.call((home, name), call, true);
                    }
                }
                _ => {}
            }
        }
    }

    fn call(&mut self, callee: (ModuleId, Name), call: &ExprCall, is_named: bool) {
        let given = call.arguments.args.iter().map(|argument| self.same(argument)).collect();
        self.calls.push(InternalCall { callee, given, is_named });
    }

    /// The object on which a method of a class is called that it is given: `Base.__init__(self)`. Methods of the class
    /// itself are given something else.
    fn of_base(&self, method: &ExprAttribute, call: &ExprCall) -> Option<Name> {
        let own = &call.arguments.args.first()?.as_name_expr()?.id;
        let Changed::Part(((home, class), None)) = self.same(&method.value)? else { return None };
        let is_base = self.local.local.contains(own)
            && self.purity.class(home, &class).is_some_and(|(_, class)| {
                scope::methods(class, &[method.attr.as_str()]).all(|method| !is_of_class(method))
            });
        is_base.then(|| own.clone())
    }

    /// Returns the target of an attribute of an internal module.
    fn of_module(&self, node: &ExprAttribute) -> Option<(ModuleId, Name)> {
        let resolver = self.purity.resolver;
        let (root, chain) = path(&node.value);
        let name = &root.as_name_expr()?.id;
        let mut target =
            resolver.resolve(self.home, name).filter(|_| !self.local.local.contains(name));
        for (attribute, _) in &chain {
            let Some(Target::Module(module)) = target else { return None };
            target = resolver.attribute(&module, attribute);
        }
        let Some(Target::Module(module)) = target else { return None };
        match resolver.attribute(&module, &node.attr.id) {
            Some(Target::Own(home, own)) => Some((home, own)),
            _ => None,
        }
    }

    /// Records a method call whose result is used: it may change its receiver as well.
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

    /// Records a change of the receiver of a call whose result is discarded. Skips a local name,
    /// and a global whose method is a function of the repository: its own statements tell the
    /// change.
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

    /// Records changes of the arguments of a call whose result is discarded.
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

    /// Returns the part of a name's object that is changed or assigned.
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
                    (Expr::Name(name), []) => return self.returned(&name.id),
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

    /// The global that a function only gives back.
    fn returned(&self, name: &Name) -> Option<Changed> {
        let resolver = self.purity.resolver;
        let Target::Own(home, own) = resolver.resolve(self.home, name)? else { return None };
        let function = self.purity.function(home, &own)?;
        let value = function.body.iter().find_map(|stmt| stmt.as_return_stmt()?.value.as_deref());
        let name = &value?.as_name_expr()?.id;
        let is_local = scope::bound(&function.body).local.contains(name)
            || function.parameters.iter().any(|parameter| parameter.name().id == *name);
        match resolver.resolve(home, name).filter(|_| !is_local)? {
            Target::Own(home, own) => Some(Changed::Part(((home, own), None))),
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

/// Returns true if a method is a `classmethod` or a `staticmethod`.
fn is_of_class(method: &StmtFunctionDef) -> bool {
    let mut decorators = method.decorator_list.iter().map(|one| &one.expression);
    decorators.any(|one| {
        one.as_name_expr().is_some_and(|name| matches!(&*name.id, "classmethod" | "staticmethod"))
    })
}

/// All calls in a statement, but for those in statements within it.
#[derive(Default)]
struct Calls<'v>(Vec<&'v ExprCall>);

impl<'v> Visitor<'v> for Calls<'v> {
    fn visit_stmt(&mut self, _: &'v Stmt) {}
    fn visit_expr(&mut self, expr: &'v Expr) {
        if let Expr::Call(call) = expr {
            self.0.push(call);
        }
        walk_expr(self, expr);
    }
}
