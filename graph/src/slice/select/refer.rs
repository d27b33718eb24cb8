//! Adds the needs of a reference or import of kept code: units of other modules, modules, external
//! imports.

use ruff_python_ast::{Stmt, name::Name};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use super::{
    super::emit::{asks_for_files, package_of},
    COMPILER, Search, calls_globals,
    exports::EXPORTS,
    is_definition, is_place,
};
use crate::{
    module::ModuleId,
    resolve::{self, BindingKind, Target},
    slice::{
        plan::Reason,
        program::UnitId,
        scan::{GlobalUsage, GlobalUse},
        special_methods::GETATTR,
    },
};

impl Search<'_, '_> {
    pub(super) fn refer(&mut self, id: UnitId, reference: &GlobalUse) {
        let program = self.program();
        let unit = program.get(id);
        let module = unit.module;
        if reference.name == EXPORTS
            && reference.usage != GlobalUsage::Load
            && !self.exports_asked(module)
        {
            return;
        }
        if reference.usage == GlobalUsage::Store && !reference.late {
            return;
        }
        if matches!(reference.name.as_str(), "__package__" | "__spec__")
            || asks_for_files(program, id, reference).is_some()
        {
            self.refer_to_package(module);
        }
        let program = self.program();
        let Some(target) = program.target(id, &reference.name, reference.late) else {
            // A name that only an external star import can bring.
            let stars = program.resolver.bindings(module, &reference.name).is_none()
                && !self.program().is_builtin(&reference.name);
            let from = program.imported_from(module, &reference.name);
            if stars {
                self.external_stars(module, &reference.name);
            }
            if let Some((home, name)) = from {
                self.refer_unwritten(home, &name);
                if self.answer(home, &name) {
                    for unit in self.program().binders(module, &reference.name) {
                        self.import(unit, reference.name.clone());
                    }
                }
            }
            return;
        };
        let place = self.place(id);
        match target {
            Target::Builtin(_) => {}
            Target::Module(name) => {
                self.keep_nested_import(module, &reference.name);
                self.module_chain(id, &name, reference);
            }
            Target::External(loaded, attribute) => {
                self.require_import(module, &reference.name, reference.late);
                let mut used = loaded;
                let chain = attribute.iter().chain(reference.chain.iter().map(|(name, _)| name));
                for name in chain {
                    let dotted = format!("{used}.{name}");
                    if !self.program().trace.external.contains_key(&dotted) {
                        break;
                    }
                    self.selection.external_submodules.insert(dotted.clone());
                    self.changing_outside(&used);
                    used = dotted;
                }
                self.changing_outside(&used);
            }
            Target::Own(home, own) => {
                self.keep_nested_import(module, &reference.name);
                self.ask_exports(home, &own);
                if self.program().binders(home, &own).is_empty() {
                    self.refer_unwritten(home, &own);
                }
                self.require(home, &own, Reason::Referenced(place, reference.name.to_string()));
            }
        }
    }

    /// Keeps what the annotations of a module come from: those of the statements of its top level.
    fn module_annotations(&mut self, module: &str) {
        let Some(home) = self.program().modules.find(module) else { return };
        for unit in self.program().units_of(home).to_vec() {
            if self.program().get(unit).stmt.is_ann_assign_stmt() {
                let reason = Reason::Demanded(module.to_owned(), "__annotations__".to_owned());
                self.keep(unit, reason);
            }
        }
    }

    /// A name of a module that no statement there binds: its code put it there by `globals()` or the like, and
    /// whatever that module does at its top level may have.
    fn refer_unwritten(&mut self, home: ModuleId, name: &Name) {
        let program = self.program();
        let module = program.modules.get(home);
        let held = program.trace.modules.get(&module.name);
        if !held.is_some_and(|held| held.names.contains_key(name.as_str()))
            || !resolve::may_fill_itself(module)
        {
            return;
        }
        let place = module.name.clone();
        for unit in program.units_of(home).to_vec() {
            let stmt = self.program().get(unit).stmt;
            let acts = matches!(stmt, Stmt::Expr(_) | Stmt::For(_) | Stmt::If(_) | Stmt::With(_));
            if acts || !is_definition(stmt) && calls_globals(stmt) {
                self.keep(unit, Reason::Demanded(place.clone(), name.to_string()));
            }
        }
    }

    /// Keeps an import of a name that a module's `__getattr__` provides, and returns true for such
    /// a name. The import finds the module by its name, as an object that has nothing else.
    fn answer(&mut self, home: ModuleId, name: &Name) -> bool {
        let program = self.program();
        let from = program.modules.get(home).name.clone();
        let is_answered = program.is_answered(&from, name);
        if is_answered {
            let reason = Reason::Demanded(from.clone(), name.to_string());
            self.require(home, &GETATTR, reason);
            let selection = &mut self.selection;
            selection.asked.insert((from.clone(), GETATTR));
            for modules in [&mut selection.escaped, &mut selection.named, &mut selection.registered]
            {
                modules.insert(from.clone());
            }
        }
        is_answered
    }

    /// Code that asks for its package's name wants to find the package by it, with the data that lie there.
    fn refer_to_package(&mut self, module: ModuleId) {
        let program = self.program();
        if program.is_support(module) {
            return;
        }
        let package = package_of(program.modules.get(module)).map(str::to_owned);
        let Some(package) = package.filter(|name| program.modules.find(name).is_some()) else {
            return;
        };
        self.stand_apart(&package);
    }

    /// Makes a module an object that can be found by its name, with its path.
    pub(super) fn stand_apart(&mut self, module: &str) {
        let selection = &mut self.selection;
        for modules in [
            &mut selection.escaped,
            &mut selection.named,
            &mut selection.placed,
            &mut selection.registered,
        ] {
            modules.insert(module.to_owned());
        }
    }

    /// An import nested in a kept block is part of that block; the block is kept with it.
    fn keep_nested_import(&mut self, module: ModuleId, name: &Name) {
        for binder in self.program().binders(module, name) {
            let stmt = self.program().get(binder).stmt;
            if !matches!(stmt, Stmt::Import(_) | Stmt::ImportFrom(_))
                && !is_definition(stmt)
                && self.program().resolver.bindings(module, name).is_some_and(|all| {
                    all.iter()
                        .any(|one| !matches!(one.kind, BindingKind::Own) && one.at != stmt.start())
                })
            {
                let place = self.place(binder);
                self.keep(binder, Reason::Referenced(place, name.to_string()));
            }
        }
    }

    /// Follows attributes of an internal module to what they name.
    pub(super) fn module_chain(&mut self, id: UnitId, module: &str, reference: &GlobalUse) {
        let mut current = module.to_owned();
        let place = self.place(id);
        for (attribute, _) in &reference.chain {
            match self.program().resolver.attribute(&current, attribute) {
                Some(Target::Module(inner)) => current = inner,
                Some(Target::Own(home, own)) => {
                    self.ask_exports(home, &own);
                    self.require(home, &own, Reason::Referenced(place, attribute.to_string()));
                    return;
                }
                Some(Target::External(..)) => {
                    if let Some(home) = self.program().modules.find(&current) {
                        self.require_import(home, attribute, true);
                    }
                    return;
                }
                Some(Target::Builtin(_)) => return,
                None if attribute == "__dict__" => {
                    self.listed(&current);
                    return;
                }
                None if matches!(attribute.as_str(), "__annotations__" | "__annotate__") => {
                    self.module_annotations(&current);
                    return;
                }
                None if is_place(attribute) => {
                    self.selection.named.insert(current.clone());
                    self.selection.placed.insert(current.clone());
                    break;
                }
                None => {
                    // A module's own `__getattr__` may answer.
                    if let Some(home) = self.program().modules.find(&current)
                        && self.program().resolver.bindings(home, &GETATTR).is_some()
                    {
                        self.require(
                            home,
                            &GETATTR,
                            Reason::Referenced(place, attribute.to_string()),
                        );
                        // Where the module is an object, that answers.
                        self.selection.asked.insert((current, GETATTR));
                    }
                    return;
                }
            }
        }
        if reference.listed {
            self.listed(&current);
        }
        self.selection.escaped.insert(current);
    }

    /// Needs an import from outside, by the local name that a module gives it.
    pub(super) fn require_import(&mut self, module: ModuleId, name: &Name, late: bool) {
        let Some((home, name)) = self.program().resolver.home(module, name) else {
            return self.external_stars(module, name);
        };
        let binders = self.program().binders(home, &name);
        let chosen: Vec<UnitId> =
            if late { binders.last().copied().into_iter().collect() } else { binders };
        for unit in chosen {
            if matches!(self.program().get(unit).stmt, Stmt::Import(_) | Stmt::ImportFrom(_)) {
                self.import(unit, name.clone());
            } else {
                let place = self.place(self.processed.unwrap_or(unit));
                self.keep(unit, Reason::Import(place, name.to_string()));
            }
        }
    }

    /// Star imports from outside that may bring a name, also through stars of internal modules.
    fn external_stars(&mut self, module: ModuleId, name: &Name) {
        let program = self.program();
        let (mut seen, mut open) = (FxHashSet::default(), vec![module]);
        let mut found = Vec::new();
        while let Some(module) = open.pop() {
            let held = program.trace.modules.get(&program.modules.get(module).name);
            let holds = held.is_some_and(|held| held.names.contains_key(name.as_str()));
            if !holds || !seen.insert(module) {
                continue;
            }
            for &unit in program.units_of(module) {
                let Stmt::ImportFrom(import) = program.get(unit).stmt else { continue };
                let from = import.module.as_ref().map(|name| name.as_str());
                let from = program.modules.absolute(module, import.level, from);
                let star = import.names.iter().any(|alias| &alias.name == "*");
                match from.filter(|_| star) {
                    Some(from) if !program.modules.is_internal(&from) => found.push(unit),
                    Some(from) => open.extend(program.modules.find(&from)),
                    None => {}
                }
            }
        }
        found.into_iter().for_each(|unit| self.import(unit, Name::new_static("*")));
    }

    pub(super) fn inner_import(&mut self, id: UnitId, stmt: &Stmt) {
        let module = self.program().get(id).module;
        match stmt {
            Stmt::ImportFrom(import) => {
                let from = import.module.as_ref().map(|name| name.as_str());
                let Some(from) = self.program().modules.absolute(module, import.level, from) else {
                    return;
                };
                if !self.program().modules.is_internal(&from) {
                    return;
                }
                for alias in &import.names {
                    self.demand_from(id, &from, &alias.name.id);
                }
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    if !self.program().modules.is_internal(&alias.name) {
                        continue;
                    }
                    if alias.asname.is_some() {
                        self.selection.escaped.insert(alias.name.to_string());
                    } else {
                        self.inner_path(id, &alias.name);
                    }
                }
            }
            _ => {}
        }
    }

    /// After `import a.b` in a block the code says `a.b.name`.
    fn inner_path(&mut self, id: UnitId, path: &str) {
        for (at, _) in path.match_indices('.') {
            let rest = path[at + 1..].split('.').next().unwrap_or_default();
            self.selection.dotted.insert((path[..at].to_owned(), Name::new(rest)));
        }
        let program = self.program();
        let unit = program.get(id);
        let text = program.modules.get(unit.module).syntax.source().slice(unit.stmt);
        let names = text.match_indices(path).filter_map(|(at, _)| {
            let rest = text[at + path.len()..].strip_prefix('.')?;
            rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
        });
        let names: FxHashSet<Name> = names.map(Name::new).collect();
        for name in names {
            self.demand(path, &name);
        }
    }

    fn demand_from(&mut self, id: UnitId, from: &str, name: &Name) {
        let place = self.place(id);
        match self.program().resolver.attribute(from, name) {
            Some(Target::Own(home, own)) => {
                self.ask_exports(home, &own);
                self.require(home, &own, Reason::Referenced(place, name.to_string()));
            }
            Some(Target::External(..)) => {
                if let Some(home) = self.program().modules.find(from) {
                    self.require_import(home, name, true);
                }
            }
            Some(Target::Module(inner)) => {
                self.selection.escaped.insert(inner);
            }
            Some(Target::Builtin(_)) => {}
            None => {
                if let Some(home) = self.program().modules.find(from) {
                    self.answer(home, name);
                }
            }
        }
    }

    /// Something outside the gist asks a registered module for a name.
    pub(super) fn demand(&mut self, module: &str, name: &Name) {
        match self.program().resolver.attribute(module, name) {
            Some(Target::Own(home, own)) => {
                self.ask_exports(home, &own);
                self.require(home, &own, Reason::Demanded(module.to_owned(), name.to_string()));
                self.selection.dotted.insert((module.to_owned(), name.clone()));
            }
            Some(Target::External(from, _)) if from == COMPILER => {}
            None if is_place(name) => self.stand_apart(module),
            Some(Target::External(..)) => {
                if let Some(home) = self.program().modules.find(module)
                    && let Some((home, name)) = self.program().resolver.home(home, name)
                {
                    for unit in self.program().binders(home, &name) {
                        self.import(unit, name.clone());
                    }
                }
                self.selection.dotted.insert((module.to_owned(), name.clone()));
            }
            _ => {}
        }
    }
}
