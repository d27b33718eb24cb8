//! Selects the roots of the search: the tests of the command, the code that they executed, and
//! statements with side effects.
//!
//! A statement that only changes a global waits until that global is needed.

use std::rc::Rc;

use ruff_python_ast::{
    Expr, Stmt,
    name::Name,
    visitor::{Visitor, walk_expr},
};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use super::{
    super::{
        changes::{CallKind, GlobalPart},
        outside::OutsideEffect,
        program::LAZY_MODULES,
        setters::Classes,
    },
    CONFIGURATION, Search, is_definition,
};
use crate::{
    module::ModuleId,
    resolve::Target,
    scope,
    slice::{
        Adjustments, hooks,
        plan::{Place, Reason},
        program::UnitId,
    },
    trace::Fixture,
};

impl Search<'_, '_> {
    pub(super) fn roots(&mut self, named: &[(ModuleId, Name, bool)], examples: &[(String, Name)]) {
        let fixtures = self.fixtures();
        for id in self.program().unit_ids() {
            match self.root(id, named) {
                // pytest finds it by its name.
                Some(Reason::Called) if fixtures.contains(&id) => self.keep(id, Reason::Fixture),
                Some(Reason::Asked) if self.is_import(id) => self.ask_import(id),
                Some(Reason::Ends) if self.is_import(id) => self.fail_import(id),
                Some(reason) => self.keep(id, reason),
                None => {}
            }
        }
        for fixture in fixtures {
            self.keep(fixture, Reason::Fixture);
        }
        // Who asks a class for its module may look for that by its name.
        for place in &self.adjustments.homes {
            let home = self.program().modules.of_path(&place.path);
            self.selection.registered.extend(home.map(|(_, module)| module.name.clone()));
        }
        for (module, name) in self.adjustments.demands.clone() {
            self.demand(&module, &Name::new(name));
            self.selection.registered.insert(module);
        }
        for (module, hooks) in self.selection.hooks.clone() {
            let hooks = hooks.into_iter().map(|hook| (module.clone(), hook));
            self.selection.asked.extend(hooks);
        }
        for (module, name) in examples {
            self.demand(module, name);
        }
        if let Some(entry) = self.program().trace.entry.clone() {
            let name = entry.attribute.split('.').next().unwrap_or_default();
            self.demand(&entry.module, &Name::new(name));
        }
        let generated = self.program().trace.generated.clone();
        for module in &generated.imports {
            self.selection.registered.insert(module.clone());
            for name in &generated.names {
                let name = Name::new(name);
                let target = self.program().resolver.attribute(module, &name);
                // A function that never ran is something else of that name, a method say.
                if target.as_ref().is_some_and(|target| self.is_idle_function(target)) {
                    continue;
                }
                self.demand(module, &name);
                // `from package import module`.
                if let Some(Target::Module(inner)) = target {
                    self.selection.dotted.insert((module.clone(), name));
                    self.selection.registered.insert(inner);
                }
            }
        }
        self.generated.extend(generated.names);
    }

    fn is_import(&self, id: UnitId) -> bool {
        matches!(self.program().get(id).stmt, Stmt::Import(_) | Stmt::ImportFrom(_))
    }

    /// Returns true if pytest looks for names of its own in a module: one of the tests or of their support, or a plugin.
    fn is_read_by_pytest(&self, module: ModuleId) -> bool {
        let program = self.program();
        program.is_support(module)
            || program.is_helper(module)
            || self.selection.hooks.contains_key(&program.modules.get(module).name)
    }

    /// Returns true if an exception that ended the command passed a statement of the top level; if that imports something,
    /// only where the exception came from there.
    fn ends(&self, id: UnitId) -> bool {
        let program = self.program();
        let unit = program.get(id);
        let module = program.modules.get(unit.module);
        let source = module.syntax.source();
        if !program.ran(unit.module).ended(source, unit.stmt) {
            return false;
        }
        let (first, last) = source.line_span(unit.stmt.range());
        let is_here =
            |place: &Place| place.path == module.path() && (first..=last).contains(&place.line);
        !self.is_import(id) || program.trace.ends.iter().any(is_here)
    }

    /// Keeps an import that failed, so that it fails again: the gist lacks the requested name as
    /// well.
    fn fail_import(&mut self, id: UnitId) {
        let program = self.program();
        let unit = program.get(id);
        let names = unit.binds.clone();
        let from = match unit.stmt {
            Stmt::ImportFrom(import) => {
                let from = import.module.as_ref().map(|name| name.as_str());
                program.modules.absolute(unit.module, import.level, from)
            }
            Stmt::Import(import) => import.names.last().map(|alias| alias.name.to_string()),
            _ => None,
        };
        let Some(from) = from else { return };
        if !program.modules.is_internal(&from) {
            names.into_iter().for_each(|name| self.import(id, name));
            return;
        }
        if program.trace.broken.is_some() {
            return;
        }
        // The packages on the way are there, the last of them without what is asked for.
        let ends = from.match_indices('.').map(|(at, _)| at).chain([from.len()]);
        let there = ends.map(|end| &from[..end]);
        let there: Vec<String> =
            there.filter(|name| program.modules.find(name).is_some()).map(str::to_owned).collect();
        for module in there {
            self.stand_apart(&module);
        }
        self.selection.failed.insert(id);
    }

    /// Keeps an import for the names that it binds: other code reads them from its module.
    fn ask_import(&mut self, id: UnitId) {
        let program = self.program();
        let unit = program.get(id);
        let module = program.modules.get(unit.module).name.clone();
        for name in unit.binds.clone() {
            self.demand(&module, &name);
            // Code that is in no file calls a module so.
            if let Some(Target::Module(inner)) = self.program().resolver.attribute(&module, &name) {
                self.selection.dotted.insert((module.clone(), name));
                self.selection.escaped.insert(inner);
            }
        }
    }

    /// The units with fixtures that the tests request, and those that give them the names that tests ask for.
    fn fixtures(&self) -> Vec<UnitId> {
        let program = self.program();
        let units = |fixture: &Fixture| {
            let (id, module) = program.modules.of_path(&fixture.path)?;
            let source = module.syntax.source();
            let start = source.line_start(fixture.line);
            let mut body = module.syntax.body().iter();
            let at = body.find(|stmt| {
                stmt.range().contains(start) || source.line(stmt.start()) == fixture.line
            });
            let own = program.unit_at(id, at?.start())?;
            let mut units = vec![own];
            // `name = pytest.fixture()(function)`.
            if matches!(program.get(own).stmt, Stmt::FunctionDef(_)) {
                units.extend(program.binders(id, &Name::new(&fixture.name)).last());
            }
            Some(units)
        };
        program.trace.fixtures.iter().filter_map(units).flatten().collect()
    }

    /// Returns true if a name is bound only by functions that were never called.
    pub(super) fn is_idle_function(&self, target: &Target) -> bool {
        let Target::Own(module, name) = target else { return false };
        let program = self.program();
        let binders = program.binders(*module, name);
        let idle = |id: &UnitId| {
            let unit = program.get(*id);
            let ran = || program.ran(*module).function(unit.first_line).is_some();
            matches!(unit.stmt, Stmt::FunctionDef(_)) && !ran()
        };
        !binders.is_empty() && binders.iter().all(idle)
    }

    fn root(&mut self, id: UnitId, named: &[(ModuleId, Name, bool)]) -> Option<Reason> {
        let program = self.program();
        let unit = program.get(id);
        let place = self.place(id);
        if self.adjustments.drop.contains(&place) {
            return None;
        }
        if self.adjustments.keep.contains(&place) {
            return Some(Reason::Asked);
        }
        if self.ends(id) {
            return Some(Reason::Ends);
        }
        if named.iter().any(|(module, top, defined)| {
            let fits = !defined || is_definition(unit.stmt);
            *module == unit.module && unit.binds.contains(top) && fits
        }) {
            return Some(Reason::Test);
        }
        if self.adjustments.first_use && unit.binds.iter().any(|name| name == LAZY_MODULES) {
            return Some(Reason::Configuration);
        }
        let is_internal = |name: &str| program.modules.is_internal(name);
        if unit.binds.iter().any(|name| CONFIGURATION.contains(&name.as_str()))
            && !hooks::names_own_plugins(unit.stmt, is_internal)
            && self.is_read_by_pytest(unit.module)
        {
            return Some(Reason::Configuration);
        }
        match unit.stmt {
            Stmt::FunctionDef(function) => {
                let called = program.ran(unit.module).function(unit.first_line);
                let name = function.name.as_str();
                let module = &program.modules.get(unit.module).name;
                let hooks = self.selection.hooks.get(module);
                if hooks.is_some_and(|hooks| hooks.contains(&function.name.id)) {
                    return Some(Reason::Configuration);
                }
                if program.is_support(unit.module) && name.starts_with("pytest_") {
                    // A hook of a conftest is no hook in a test module, but for the one that makes
                    // parameters.
                    let is_kept = self.adjustments.side_effects && called.is_some();
                    return (is_kept && super::super::prune::is_hook(name))
                        .then_some(Reason::Configuration);
                }
                if called.is_some_and(|call| call.test) {
                    return Some(Reason::Called);
                }
                self.registers(id);
                self.leaves(id);
                self.acts_outside(id).then_some(Reason::SideEffect)
            }
            Stmt::ClassDef(class) => {
                let module = program.modules.get(unit.module);
                let ran = program.ran(unit.module);
                let mut called = false;
                each_method(&class.body, &mut |stmt| {
                    let line = module.syntax.source().line(stmt.start());
                    called |= ran.function(line).is_some_and(|call| call.test);
                });
                if called {
                    return Some(Reason::Called);
                }
                self.registers(id);
                self.leaves(id);
                self.acts_outside(id).then_some(Reason::SideEffect)
            }
            stmt => {
                self.leaves(id);
                let acts_outside = self.acts_outside(id);
                let program = self.program();
                let unit = program.get(id);
                if !acts(stmt) {
                    for class in self.set_by_name(id, stmt).iter() {
                        self.waiting.entry(class.clone()).or_default().push(id);
                    }
                    return acts_outside.then_some(Reason::SideEffect);
                }
                // A `raise` that ran ended its module, and whoever imported that went on without it.
                if !program.is_support(unit.module) && self.ends_module(unit.module, stmt) {
                    return None;
                }
                let is_root = self.adjustments.side_effects || self.program().is_main(unit.module);
                let mut globals = Vec::new();
                let is_all = self.collect_changes(id, stmt, &mut globals) && !acts_outside;
                globals.extend(self.set_by_name(id, stmt).iter().cloned());
                if is_all && globals.is_empty() {
                    return None;
                }
                // What tests call for its effect may change what they give it, a class of theirs above all.
                if !is_all || program.is_support(unit.module) {
                    globals.extend(self.given(id, stmt));
                }
                self.add_containing_globals(&mut globals);
                for global in globals {
                    self.waiting.entry(global).or_default().push(id);
                }
                if is_all {
                    return None;
                }
                if let Some(module) = self.outside_called(id, stmt) {
                    self.waiting_outside.entry(module).or_default().push(id);
                }
                is_root.then_some(Reason::SideEffect)
            }
        }
    }

    /// Returns true if executing a statement has an effect that leaves the program, where such effects are kept.
    fn acts_outside(&self, id: UnitId) -> bool {
        let program = self.program();
        let unit = program.get(id);
        if matches!(unit.stmt, Stmt::Import(_) | Stmt::ImportFrom(_)) {
            return false;
        }
        let Adjustments { side_effects, outside, .. } = self.adjustments;
        let is_kept = *side_effects && *outside || self.program().is_main(unit.module);
        let early = program.ran(unit.module).is_early();
        is_kept && program.purity.outside(unit.module, unit.stmt, early) == OutsideEffect::Something
    }

    /// Returns the classes to which a statement may add attributes by `setattr`. It does so by the
    /// call whose result it binds, or by a method call on an object of a module.
    fn set_by_name(&self, id: UnitId, stmt: &Stmt) -> Rc<Classes> {
        let value = match stmt {
            Stmt::Assign(assign) => Some(assign.value.as_ref()),
            Stmt::AnnAssign(assign) => assign.value.as_deref(),
            Stmt::Expr(expr) => Some(expr.value.as_ref()),
            _ => None,
        };
        let program = self.program();
        let called = value.and_then(Expr::as_call_expr).map(|call| call.func.as_ref());
        let (named, method) = match called {
            Some(Expr::Attribute(node)) => (node.value.as_name_expr(), Some(&node.attr)),
            called => (called.and_then(Expr::as_name_expr), None),
        };
        match (named.and_then(|name| program.target(id, &name.id, false)), method) {
            (Some(Target::Own(home, name)), None) => program.purity.set_by_name(home, &name),
            (Some(Target::Own(home, name)), Some(method)) => {
                program.purity.set_by_method(home, &name, method)
            }
            _ => Rc::default(),
        }
    }

    /// Returns true if a module-level `raise` was executed and no handler in its statement may have
    /// caught it.
    fn ends_module(&self, module: ModuleId, stmt: &Stmt) -> bool {
        let program = self.program();
        let source = program.modules.get(module).syntax.source();
        match stmt {
            Stmt::Raise(_) => program.ran(module).statement(source, stmt),
            Stmt::Try(attempt) => {
                let handlers = attempt.handlers.iter().map(|handler| {
                    let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = handler;
                    &handler.body
                });
                let tried = Some(&attempt.body).filter(|_| attempt.handlers.is_empty());
                let blocks = handlers.chain([&attempt.orelse, &attempt.finalbody]).chain(tried);
                blocks.flatten().any(|stmt| self.ends_module(module, stmt))
            }
            // It may suppress what is raised in it.
            Stmt::With(_) => false,
            _ => {
                let mut ends = false;
                scope::for_each_block(stmt, |block| {
                    ends |= block.iter().any(|stmt| self.ends_module(module, stmt));
                });
                ends
            }
        }
    }

    /// Adds each global whose attribute, item or method result another global holds. A change of that changes it:
    ///
    /// ```python
    /// lookup = etree.ElementNamespaceClassLookup()
    /// types = lookup.get_namespace("http://example.org/types")
    /// types["Override"] = Override                # changes `lookup`
    /// ```
    fn add_containing_globals(&self, globals: &mut Vec<(ModuleId, Name)>) {
        let program = self.program();
        let mut at = 0;
        while let Some((home, name)) = globals.get(at).cloned() {
            for id in program.binders(home, &name) {
                let mut value = match program.get(id).stmt {
                    Stmt::Assign(assign) => assign.value.as_ref(),
                    Stmt::AnnAssign(assign) => match assign.value.as_deref() {
                        Some(value) => value,
                        None => continue,
                    },
                    _ => continue,
                };
                let mut is_part = value.is_name_expr();
                loop {
                    value = match value {
                        Expr::Attribute(one) => &one.value,
                        Expr::Subscript(one) => &one.value,
                        Expr::Call(call) if call.func.is_attribute_expr() => &call.func,
                        _ => break,
                    };
                    is_part = true;
                }
                if is_part
                    && let Expr::Name(root) = value
                    && let Some(Target::Own(there, own)) = program.target(id, &root.id, false)
                    && !globals.contains(&(there, own.clone()))
                {
                    globals.push((there, own));
                }
            }
            at += 1;
        }
    }

    /// Homes of the globals that a call, made for its effect, is given or made on.
    fn given(&self, id: UnitId, stmt: &Stmt) -> Vec<(ModuleId, Name)> {
        let mut globals = Vec::new();
        scope::for_each_statement(std::slice::from_ref(stmt), &mut |stmt| {
            if let Stmt::Expr(expr) = stmt
                && let Expr::Call(call) = expr.value.as_ref()
            {
                for argument in call.arguments.args.iter() {
                    self.base(id, argument, &mut globals);
                }
                if let Expr::Attribute(method) = call.func.as_ref() {
                    self.base(id, &method.value, &mut globals);
                }
            }
        });
        globals
    }

    /// Returns the external module one of whose functions a statement of the tests calls for its
    /// effect. The tests' outcome may depend on the state that it leaves there (`random.seed(1)`).
    ///
    /// Calls of pytest are excluded: they refer to the removed file.
    fn outside_called(&self, id: UnitId, stmt: &Stmt) -> Option<String> {
        let program = self.program();
        let module = program.get(id).module;
        if !program.is_support(module) && !program.is_helper(module) {
            return None;
        }
        let mut expr = match stmt {
            Stmt::Expr(expr) => expr.value.as_call_expr()?.func.as_ref(),
            Stmt::With(with) => {
                with.items.iter().find_map(|item| item.context_expr.as_call_expr())?.func.as_ref()
            }
            _ => return None,
        };
        let mut attributes: Vec<&Name> = Vec::new();
        while let Expr::Attribute(attribute) = expr {
            attributes.push(&attribute.attr.id);
            expr = &attribute.value;
        }
        let name = expr.as_name_expr()?;
        let Some(Target::External(mut called, imported)) = program.target(id, &name.id, false)
        else {
            return None;
        };
        let mut chain: Vec<&Name> = imported.iter().chain(attributes.into_iter().rev()).collect();
        chain.pop()?;
        for name in chain {
            let dotted = format!("{called}.{name}");
            if !program.trace.external.contains_key(&dotted) {
                break;
            }
            called = dotted;
        }
        let is_pytest = called.split('.').next() == Some("pytest");
        (!is_pytest).then_some(called)
    }

    /// Collects the homes of the globals that a module-level statement is seen to change, and tells whether that is all
    /// that it may do.
    fn collect_changes(
        &self,
        id: UnitId,
        stmt: &Stmt,
        globals: &mut Vec<(ModuleId, Name)>,
    ) -> bool {
        match stmt {
            Stmt::Expr(expr) => match expr.value.as_ref() {
                Expr::Call(call) => match call.func.as_ref() {
                    Expr::Attribute(method) => self.base(id, &method.value, globals),
                    Expr::Name(name) => match self.program().target(id, &name.id, false) {
                        Some(Target::Own(home, own)) => {
                            let program = self.program();
                            let Some(function) = program.purity.function(home, &own) else {
                                return false;
                            };
                            let changes = program.changes(home, function, CallKind::ANY);
                            let told = changes.told && !changes.stored.is_empty();
                            globals.extend(changes.stored.iter().filter(|_| told).cloned());
                            told
                        }
                        _ => false,
                    },
                    _ => false,
                },
                value => self.program().purity.is_pure(self.program().get(id).module, value),
            },
            Stmt::Assign(assign) => {
                assign.targets.iter().all(|target| self.target_changes(id, target, globals))
            }
            Stmt::Delete(delete) => {
                delete.targets.iter().all(|target| self.target_changes(id, target, globals))
            }
            Stmt::AugAssign(assign) => self.target_changes(id, &assign.target, globals),
            Stmt::AnnAssign(assign) => self.target_changes(id, &assign.target, globals),
            Stmt::If(_) | Stmt::For(_) | Stmt::While(_) | Stmt::With(_) => {
                // What is entered may do anything, and what is done to it as well.
                let mut all = !stmt.as_with_stmt().is_some_and(|with| {
                    with.items.iter().any(|item| item.context_expr.is_call_expr())
                });
                let before = globals.len();
                scope::for_each_block(stmt, |block| {
                    for stmt in block {
                        all &= self.collect_changes(id, stmt, globals);
                    }
                });
                self.collect_stands(id, stmt, before, globals);
                all
            }
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => true,
            Stmt::Pass(_) | Stmt::Continue(_) | Stmt::Break(_) => true,
            _ => false,
        }
    }

    /// Collects globals that are changed through the target of a loop or a `with` block. In `for
    /// one in [first, second]: one.done()` both `first` and `second` change. The changed globals
    /// are those from index `from` on.
    fn collect_stands(
        &self,
        id: UnitId,
        stmt: &Stmt,
        from: usize,
        globals: &mut Vec<(ModuleId, Name)>,
    ) {
        let pairs: Vec<(&Expr, &Expr)> = match stmt {
            Stmt::For(each) => vec![(&*each.target, &*each.iter)],
            Stmt::With(with) => {
                let named = with
                    .items
                    .iter()
                    .filter_map(|item| Some((item.optional_vars.as_deref()?, &item.context_expr)));
                named.collect()
            }
            _ => return,
        };
        let module = self.program().get(id).module;
        for (target, value) in pairs {
            let mut names = FxHashSet::default();
            scope::target_names(target, &mut names);
            let is_it = |(home, name): &(ModuleId, Name)| *home == module && names.contains(name);
            if !globals[from..].iter().any(is_it) {
                continue;
            }
            // Who needs the variable itself needs the statement.
            let kept: Vec<_> = globals.drain(from..).filter(|global| !is_it(global)).collect();
            globals.extend(kept);
            let mut mentioned = Mentioned::default();
            mentioned.visit_expr(value);
            for one in mentioned.0 {
                self.base(id, one, globals);
            }
        }
    }

    fn target_changes(
        &self,
        id: UnitId,
        target: &Expr,
        globals: &mut Vec<(ModuleId, Name)>,
    ) -> bool {
        match target {
            Expr::Name(_) => true,
            Expr::Attribute(_) => self.base(id, target, globals),
            Expr::Subscript(subscript) => self.base(id, &subscript.value, globals),
            Expr::Tuple(tuple) => {
                tuple.elts.iter().all(|element| self.target_changes(id, element, globals))
            }
            _ => false,
        }
    }

    pub(super) fn base(
        &self,
        id: UnitId,
        expr: &Expr,
        globals: &mut Vec<(ModuleId, Name)>,
    ) -> bool {
        let part = self.part(id, expr);
        globals.extend(part.iter().map(|part| part.0.clone()));
        part.is_some()
    }

    /// The part of a global that an expression is, or is found in.
    pub(super) fn part(&self, id: UnitId, mut expr: &Expr) -> Option<GlobalPart> {
        let mut attributes: Vec<&Name> = Vec::new();
        let name = loop {
            expr = match expr {
                Expr::Attribute(attribute) => {
                    attributes.push(&attribute.attr.id);
                    &attribute.value
                }
                Expr::Subscript(subscript) => {
                    attributes.clear();
                    &subscript.value
                }
                Expr::Name(name) => break &name.id,
                _ => return None,
            }
        };
        match self.behind(id, name, &mut attributes)? {
            Target::Own(home, own) => Some(((home, own), attributes.pop().cloned())),
            _ => None,
        }
    }

    /// Returns the target of a name after following its attributes through internal modules.
    /// Removes these attributes from the end of `attributes`, which lists the last one first.
    pub(super) fn behind(
        &self,
        id: UnitId,
        name: &Name,
        attributes: &mut Vec<&Name>,
    ) -> Option<Target> {
        let program = self.program();
        let mut target = program.target(id, name, false);
        while let Some(Target::Module(module)) = &target
            && let Some(attribute) = attributes.pop()
        {
            target = program.resolver.attribute(module, attribute);
        }
        target
    }
}

/// Names and attributes of them that an expression mentions.
#[derive(Default)]
struct Mentioned<'v>(Vec<&'v Expr>);

impl<'v> Visitor<'v> for Mentioned<'v> {
    fn visit_expr(&mut self, expr: &'v Expr) {
        match expr {
            Expr::Name(_) | Expr::Attribute(_) => self.0.push(expr),
            _ => walk_expr(self, expr),
        }
    }
}

/// Returns true if a module-level statement does more than bind names.
fn acts(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Expr(expr) => {
            !matches!(expr.value.as_ref(), Expr::StringLiteral(_) | Expr::EllipsisLiteral(_))
                && !is_internal_dunder_import(&expr.value)
        }
        Stmt::Assert(_) | Stmt::Raise(_) => true,
        Stmt::Delete(delete) => delete.targets.iter().any(is_place),
        Stmt::Assign(assign) => assign.targets.iter().any(is_place),
        Stmt::AugAssign(assign) => is_place(&assign.target),
        Stmt::AnnAssign(assign) => is_place(&assign.target),
        Stmt::If(_)
        | Stmt::For(_)
        | Stmt::While(_)
        | Stmt::With(_)
        | Stmt::Try(_)
        | Stmt::Match(_) => {
            let mut acting = false;
            scope::for_each_block(stmt, |block| acting |= block.iter().any(acts));
            acting
        }
        _ => false,
    }
}

fn is_internal_dunder_import(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(call) if matches!(call.func.as_ref(), Expr::Name(name) if &name.id == "__import__"))
}

fn is_place(target: &Expr) -> bool {
    match target {
        // Whatever a module puts in its own place, a gist has no such place.
        Expr::Subscript(subscript) if is_own_module(subscript) => false,
        Expr::Attribute(_) | Expr::Subscript(_) => true,
        Expr::Tuple(tuple) => tuple.elts.iter().any(is_place),
        _ => false,
    }
}

/// `sys.modules[__name__]`.
pub(crate) fn is_own_module(subscript: &ruff_python_ast::ExprSubscript) -> bool {
    let modules = matches!(subscript.value.as_ref(), Expr::Attribute(attribute)
        if &attribute.attr == "modules"
            && matches!(attribute.value.as_ref(), Expr::Name(name) if &name.id == "sys"));
    modules && matches!(subscript.slice.as_ref(), Expr::Name(name) if &name.id == "__name__")
}

fn each_method<'a>(body: &'a [Stmt], visit: &mut impl FnMut(&'a Stmt)) {
    scope::for_each_statement(body, &mut |stmt| match stmt {
        Stmt::FunctionDef(function) => {
            visit(stmt);
            each_method(&function.body, visit);
        }
        Stmt::ClassDef(class) => each_method(&class.body, visit),
        _ => {}
    });
}
