//! Resolves a module's global names: follows bindings through imports to one canonical target.
//!
//! The rule for which statement provides an attribute of a module is in `provide`; slices and
//! graphs share it. This resolver applies the rule to syntax trees. Given the executed statements,
//! it also settles names with several bindings. `flow` applies the same rule to facts. Names inside
//! functions and classes belong to `scope`. An unresolved name is `None`, a value like any other.

mod provide;

use std::cell::RefCell;

use ruff_python_ast::{Expr, Stmt, name::Name};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    module::{Module, ModuleId, Modules},
    pythons::Pythons,
    scope,
    trace::{ModuleSnapshot, Trace, Value},
};

pub(crate) use provide::{AttributeProvider, Exports, Namespaces, exports, provider, starred};

/// The one thing that a name stands for, wherever it was imported through.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// Something that a statement of this internal module binds to this name.
    Own(ModuleId, Name),
    /// An internal module or package.
    Module(String),
    /// A module from outside the repository, or an attribute of one.
    External(String, Option<Name>),
    /// A builtin, where a module only re-binds it to itself.
    Builtin(Name),
}

/// The way in which a statement binds a module's global name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindingKind {
    /// By definition, assignment, loop, `with`, `except`, `global` in a function.
    Own,
    /// `import a.b` (binds `a`) or `import a.b as c` (binds the whole).
    Import {
        /// The module that the name is bound to.
        bound: String,
        /// The module that is loaded.
        loaded: String,
    },
    /// `from module import name`.
    From {
        /// The absolute module.
        module: String,
        /// The attribute.
        name: Name,
    },
}

/// One binding of a global name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The way in which it binds.
    pub kind: BindingKind,
    /// Start of the binding statement, nested statements included.
    pub at: TextSize,
}

/// Global bindings of all modules, and the way from a name to its target.
#[derive(Debug)]
pub struct Resolver<'a> {
    modules: &'a Modules,
    tables: Vec<Table>,
    snapshots: Option<&'a Trace>,
    pythons: Pythons,
    memo: RefCell<FxHashMap<(ModuleId, Name), Option<Target>>>,
}

#[derive(Debug, Default)]
struct Table {
    bindings: FxHashMap<Name, Vec<Binding>>,
    stars: Vec<String>,
    /// The positions of the star imports.
    places: Vec<TextSize>,
    exported: Option<Vec<Name>>,
}

impl Table {
    /// Binds the names that external star imports provided, as far as the trace shows their origin.
    /// A single star import provided every name that no statement binds. Among several, the one
    /// from the value's package did.
    fn bind_stars(&mut self, modules: &Modules, module: &Module, held: &ModuleSnapshot) {
        let top =
            |name: &str| name.split('.').next().unwrap_or(name).trim_start_matches('_').to_owned();
        let stars = self.stars.iter().zip(&self.places);
        let stars: Vec<_> = stars.filter(|(star, _)| !modules.is_internal(star)).collect();
        let is_only = self.stars.len() == 1 && !may_fill_itself(module);
        let mut found = Vec::new();
        for (name, value) in &held.names {
            if name.starts_with('_') || self.bindings.contains_key(name.as_str()) {
                continue;
            }
            let is_from = |star: &str| match value {
                Value::Class(from, _) | Value::Function(from, _) => {
                    !modules.is_internal(from) && (is_only || top(star) == top(from))
                }
                Value::Other(_) => is_only,
                Value::Module(_) => false,
            };
            let mut stars = stars.iter().filter(|(star, _)| is_from(star));
            if let (Some((star, at)), None) = (stars.next(), stars.next()) {
                let kind = BindingKind::From { module: (*star).clone(), name: Name::new(name) };
                found.push((Name::new(name), vec![Binding { kind, at: **at }]));
            }
        }
        self.bindings.extend(found);
    }
}

impl<'a> Resolver<'a> {
    /// Reads the bindings of all modules. `ran` returns true for a statement that counts (a static
    /// analysis passes `|_, _| true`). `trace` adds the values of module globals at the end of a
    /// run.
    pub fn new(
        modules: &'a Modules,
        trace: Option<&'a Trace>,
        ran: impl Fn(ModuleId, &Stmt) -> bool,
    ) -> Self {
        let tables = modules
            .iter()
            .map(|(id, module)| {
                let mut table = Table::default();
                let mut collect = Collect { modules, id, table: &mut table, ran: &ran };
                collect.block(module.syntax.body());
                for name in scope::declared_global(module.syntax.body()) {
                    table.bindings.entry(name).or_default();
                }
                let held = trace.and_then(|trace| trace.modules.get(&module.name));
                if let Some(held) = held.filter(|_| !table.stars.is_empty()) {
                    table.bind_stars(modules, module, held);
                }
                table
            })
            .collect();
        let pythons = trace.map_or(Pythons::SUPPORTED, Trace::pythons);
        let mut resolver =
            Self { modules, tables, snapshots: trace, pythons, memo: RefCell::default() };
        let rebound = resolver.rebound_by_stars();
        resolver.memo.borrow_mut().clear();
        for (module, name, binding) in rebound {
            let bindings = &mut resolver.tables[module.0 as usize].bindings;
            bindings.entry(name).or_default().push(binding);
        }
        resolver
    }

    /// Returns the bindings of names that a module binds before a star import of the repository binds them anew:
    ///
    /// ```python
    /// State = None
    /// from .state import *      # has a class `State`
    /// ```
    ///
    /// A name that the other module imported from here stays what it is.
    fn rebound_by_stars(&self) -> Vec<(ModuleId, Name, Binding)> {
        let mut found = Vec::new();
        for (module, _) in self.modules.iter() {
            let table = &self.tables[module.0 as usize];
            for (star, at) in table.stars.iter().zip(&table.places) {
                let Some(source) = self.modules.find(star).filter(|source| *source != module)
                else {
                    continue;
                };
                let is_before =
                    |bindings: &[Binding]| bindings.last().is_some_and(|last| last.at < *at);
                let names = table.bindings.iter().filter(|(_, bindings)| is_before(bindings));
                let is_other = |name: &Name| {
                    let target = self.resolve(source, name);
                    target.is_some_and(|target| Some(target) != self.resolve(module, name))
                };
                let names = names.filter(|(name, _)| provide::brings(self, source, name));
                for (name, _) in names.filter(|(name, _)| is_other(name)) {
                    let kind = BindingKind::From { module: star.clone(), name: name.clone() };
                    found.push((module, name.clone(), Binding { kind, at: *at }));
                }
            }
        }
        found
    }

    /// The versions of Python that the command may run on.
    pub(crate) const fn pythons(&self) -> Pythons {
        self.pythons
    }

    /// The modules it knows.
    pub fn modules(&self) -> &'a Modules {
        self.modules
    }

    /// Returns the value of a module's global at the end of the run, if the trace recorded it.
    pub(crate) fn value(&self, module: ModuleId, name: &str) -> Option<&'a Value> {
        let held = self.snapshots?.modules.get(&self.modules.get(module).name)?;
        held.names.get(name)
    }

    /// The bindings of a name in a module, in source order; empty for a name that only a function's
    /// `global` declares.
    pub fn bindings(&self, module: ModuleId, name: &str) -> Option<&[Binding]> {
        self.tables[module.0 as usize].bindings.get(name).map(Vec::as_slice)
    }

    /// All names that a module's statements bind, sorted.
    pub fn names(&self, module: ModuleId) -> Vec<&Name> {
        let mut names: Vec<&Name> = self.tables[module.0 as usize].bindings.keys().collect();
        names.sort_unstable();
        names
    }

    /// Modules that a module imports everything from.
    pub fn stars(&self, module: ModuleId) -> &[String] {
        &self.tables[module.0 as usize].stars
    }

    /// Returns the target of a module's global name after the module's code has been executed.
    pub fn resolve(&self, module: ModuleId, name: &Name) -> Option<Target> {
        let key = (module, name.clone());
        if let Some(known) = self.memo.borrow().get(&key) {
            return known.clone();
        }
        let target = self.follow(module, name, &mut Vec::new());
        self.memo.borrow_mut().insert(key, target.clone());
        target
    }

    /// Returns the target of a name in a module-level statement at `at`: the last binding before
    /// it.
    pub fn resolve_before(&self, module: ModuleId, name: &Name, at: TextSize) -> Option<Target> {
        let earlier = self
            .bindings(module, name)
            .and_then(|bindings| bindings.iter().rfind(|binding| binding.at < at));
        match earlier {
            Some(binding) => self.target(module, name, binding, &mut Vec::new()),
            None => self.resolve(module, name),
        }
    }

    /// Returns the target of each statement that binds a module's global name, in source order.
    pub fn targets(&self, module: ModuleId, name: &Name) -> Vec<Target> {
        let bindings = self.bindings(module, name).into_iter().flatten();
        bindings.filter_map(|binding| self.target(module, name, binding, &mut Vec::new())).collect()
    }

    /// An attribute of a module, by the module's dotted name.
    pub fn attribute(&self, module: &str, name: &Name) -> Option<Target> {
        if let Some(id) = self.modules.find(module)
            && let Some(target) = self.resolve(id, name)
        {
            return Some(target);
        }
        self.submodule(module, name)
    }

    /// The module whose statement finally binds a name, following internal imports.
    pub fn home(&self, module: ModuleId, name: &Name) -> Option<(ModuleId, Name)> {
        let mut seen = FxHashSet::default();
        let (mut module, mut name) = (module, name.clone());
        loop {
            if !seen.insert((module, name.clone())) {
                return None;
            }
            let table = &self.tables[module.0 as usize];
            let next = match table.bindings.get(&name) {
                Some(bindings) => match bindings.last().map(|binding| &binding.kind) {
                    Some(BindingKind::From { module: from, name: attribute }) => {
                        match self.modules.find(from) {
                            Some(id)
                                if self.resolve(id, attribute).is_some()
                                    && !self.is_compiled(&format!("{from}.{attribute}")) =>
                            {
                                Some((id, attribute.clone()))
                            }
                            _ => None,
                        }
                    }
                    _ => return Some((module, name)),
                },
                None => self.star_source(module, &name).map(|id| (id, name.clone())),
            };
            match next {
                Some(step) => (module, name) = step,
                None => return table.bindings.contains_key(&name).then_some((module, name)),
            }
        }
    }

    /// Names that `from module import *` brings, by `__all__` or by the absence of an underscore.
    pub fn star_names(&self, module: ModuleId) -> Vec<Name> {
        let mut names = FxHashSet::default();
        self.collect_star_names(module, &mut names, &mut FxHashSet::default());
        let mut names: Vec<Name> = names.into_iter().collect();
        names.sort_unstable();
        names
    }

    fn collect_star_names(
        &self,
        module: ModuleId,
        names: &mut FxHashSet<Name>,
        seen: &mut FxHashSet<ModuleId>,
    ) {
        if !seen.insert(module) {
            return;
        }
        let table = &self.tables[module.0 as usize];
        if let Some(exported) = &table.exported {
            names.extend(exported.iter().cloned());
            return;
        }
        names.extend(table.bindings.keys().filter(|name| !name.starts_with('_')).cloned());
        for star in &table.stars {
            if let Some(id) = self.modules.find(star) {
                self.collect_star_names(id, names, seen);
            }
        }
    }

    fn star_source(&self, module: ModuleId, name: &Name) -> Option<ModuleId> {
        provide::star_source(self, module, name)
    }

    fn follow(
        &self,
        module: ModuleId,
        name: &Name,
        path: &mut Vec<(ModuleId, Name)>,
    ) -> Option<Target> {
        if path.iter().any(|(id, seen)| *id == module && seen == name) {
            return None;
        }
        path.push((module, name.clone()));
        let entry = self.modules.get(module);
        let target = match self.tables[module.0 as usize].bindings.get(name) {
            Some(bindings) => match bindings.last() {
                Some(binding) => self.target(module, name, binding, path),
                None => Some(Target::Own(module, name.clone())),
            },
            None => self
                .star_source(module, name)
                .and_then(|id| self.follow(id, name, path))
                .or_else(|| entry.is_package.then(|| self.submodule(&entry.name, name))?)
                .or_else(|| self.snapshot(module, name)),
        };
        path.pop();
        target
    }

    fn target(
        &self,
        module: ModuleId,
        name: &Name,
        binding: &Binding,
        path: &mut Vec<(ModuleId, Name)>,
    ) -> Option<Target> {
        match &binding.kind {
            BindingKind::Own => {
                let own = Target::Own(module, name.clone());
                let alone = self.bindings(module, name).is_some_and(|all| all.len() == 1);
                let same = alone
                    && self.pythons.has_builtin(name)
                    && rebinds_itself(self.modules.get(module).syntax.body(), name, binding.at);
                Some(if same { Target::Builtin(name.clone()) } else { own })
            }
            BindingKind::Import { bound, .. } => Some(if self.is_source(bound) {
                Target::Module(bound.clone())
            } else {
                Target::External(bound.clone(), None)
            }),
            BindingKind::From { module: from, name: attribute } => {
                if !self.is_source(from) {
                    return Some(Target::External(from.clone(), Some(attribute.clone())));
                }
                let found = self.modules.find(from).and_then(|id| {
                    let itself = id == module && attribute == name;
                    if itself { None } else { self.follow(id, attribute, path) }
                });
                found.or_else(|| self.submodule(from, attribute))
            }
        }
    }

    fn submodule(&self, package: &str, name: &Name) -> Option<Target> {
        let inner = format!("{package}.{name}");
        if self.is_compiled(&inner) {
            return Some(Target::External(package.to_owned(), Some(name.clone())));
        }
        self.modules.is_internal(&inner).then_some(Target::Module(inner))
    }

    /// Returns true if a module is internal and has Python source. Compiled extensions stay
    /// importable and do not count.
    fn is_source(&self, module: &str) -> bool {
        self.modules.is_internal(module) && !self.is_compiled(module)
    }

    fn is_compiled(&self, module: &str) -> bool {
        self.snapshots.is_some_and(|trace| trace.compiled.contains_key(module))
    }

    /// Returns the target of a global that no statement binds, from the values at the end of the
    /// run.
    fn snapshot(&self, module: ModuleId, name: &Name) -> Option<Target> {
        let held = self.snapshots?.modules.get(&self.modules.get(module).name)?;
        let value = held.names.get(name.as_str())?;
        if name.starts_with("__") && name.ends_with("__") {
            return None;
        }
        match value {
            Value::Module(other) if self.modules.is_internal(other) => {
                Some(Target::Module(other.clone()))
            }
            Value::Module(other) => Some(Target::External(other.clone(), None)),
            Value::Class(other, qualified) | Value::Function(other, qualified) => {
                let top = !qualified.contains('.');
                let own = self.modules.find(other).filter(|_| top);
                match own {
                    Some(id) if id != module || name.as_str() != qualified => {
                        self.resolve(id, &Name::new(qualified))
                    }
                    _ if top && !self.modules.is_internal(other) => {
                        Some(Target::External(other.clone(), Some(Name::new(qualified))))
                    }
                    _ => None,
                }
            }
            Value::Other(_) => None,
        }
    }
}

impl Namespaces for Resolver<'_> {
    type Name = Name;
    type Module = String;

    fn binds(&self, module: ModuleId, name: &Name) -> bool {
        self.tables[module.0 as usize].bindings.contains_key(name)
    }

    fn stars(&self, module: ModuleId) -> impl DoubleEndedIterator<Item = ModuleId> {
        self.tables[module.0 as usize].stars.iter().filter_map(|star| self.modules.find(star))
    }

    fn lists(&self, module: ModuleId, name: &Name) -> Option<bool> {
        let exported = self.tables[module.0 as usize].exported.as_ref()?;
        Some(exported.contains(name))
    }

    fn is_private(&self, name: &Name) -> bool {
        name.starts_with('_')
    }

    fn inner(&self, package: ModuleId, name: &Name) -> Option<String> {
        let package = self.modules.get(package);
        let inner = format!("{}.{name}", package.name);
        (package.is_package && self.modules.is_internal(&inner)).then_some(inner)
    }
}

struct Collect<'c, F> {
    modules: &'c Modules,
    id: ModuleId,
    table: &'c mut Table,
    ran: &'c F,
}

impl<F: Fn(ModuleId, &Stmt) -> bool> Collect<'_, F> {
    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.statement(stmt);
        }
    }

    fn statement(&mut self, stmt: &Stmt) {
        if !(self.ran)(self.id, stmt) {
            return;
        }
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let loaded = alias.name.to_string();
                    let (local, bound) = match &alias.asname {
                        Some(local) => (local.id.clone(), loaded.clone()),
                        None => {
                            let top = loaded.split('.').next().unwrap_or(&loaded).to_owned();
                            (Name::new(&top), top)
                        }
                    };
                    self.bind(local, BindingKind::Import { bound, loaded }, stmt);
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map(|name| name.as_str());
                let Some(module) = self.modules.absolute(self.id, import.level, module) else {
                    return;
                };
                for alias in &import.names {
                    if &alias.name == "*" {
                        self.table.stars.push(module.clone());
                        self.table.places.push(stmt.start());
                        continue;
                    }
                    let local = alias.asname.as_ref().unwrap_or(&alias.name).id.clone();
                    let name = alias.name.id.clone();
                    self.bind(local, BindingKind::From { module: module.clone(), name }, stmt);
                }
            }
            // Deleting a name makes it a function's local, but gives a module nothing.
            Stmt::Delete(_) => {}
            _ => {
                match exports(stmt) {
                    Some(Exports::Are(names)) => {
                        self.table.exported = Some(names.into_iter().map(Name::new).collect());
                    }
                    Some(Exports::More(names)) => {
                        if let Some(exported) = &mut self.table.exported {
                            exported.extend(names.into_iter().map(Name::new));
                        }
                    }
                    Some(Exports::Unknown) => self.table.exported = None,
                    None => {}
                }
                for name in scope::bound_directly(stmt) {
                    self.bind(name, BindingKind::Own, stmt);
                }
                scope::for_each_block(stmt, |block| self.block(block));
            }
        }
    }

    fn bind(&mut self, name: Name, kind: BindingKind, stmt: &Stmt) {
        let binding = Binding { kind, at: stmt.start() };
        self.table.bindings.entry(name).or_default().push(binding);
    }
}

/// Returns true if a module's code may bind globals without a binding statement (`globals()`,
/// `vars(`, `__dict__`).
pub(crate) fn may_fill_itself(module: &Module) -> bool {
    let text = module.syntax.source().text();
    ["globals()", "vars(", "locals()", "sys.modules[", "__dict__"]
        .iter()
        .any(|by| text.contains(by))
}

/// Returns true if the statement at `at` is `name = name`.
fn rebinds_itself(body: &[Stmt], name: &Name, at: TextSize) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Assign(assign) if stmt.start() == at => {
            assign.targets.len() == 1
                && matches!(assign.value.as_ref(), Expr::Name(value) if &value.id == name)
        }
        _ => false,
    })
}
