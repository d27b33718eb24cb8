//! The executed program as units: top-level statements of internal modules, each with its place on the
//! clock of the run and its pruned tree, made once and only when asked for.

use std::{
    cell::{OnceCell, RefCell},
    path::Path,
    rc::Rc,
};

use ruff_python_ast::{Expr, Stmt, StmtFunctionDef, name::Name};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Adjustments,
    changes::{CallChanges, CallKind},
    failed::{Failures, inner_imports},
    mentions::Mentions,
    prune::{Node, Pruner, WholeBodies, is_overload},
    purity::{self, Purity},
    ran::ModuleRun,
    scan::{GlobalUse, Scan},
    special_methods::GETATTR,
};
use crate::{
    module::{ModuleId, Modules},
    resolve::{BindingKind, Resolver, Target},
    scope,
    trace::{FileTrace, Trace, Value},
};

/// The global name by which a module makes its imports lazy (PEP 810).
pub(crate) const LAZY_MODULES: &str = "__lazy_modules__";

/// Index of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct UnitId(pub(crate) u32);

/// When something happens on the clock of the run: the end of a unit, its index, and a rank around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) end: u64,
    pub(crate) unit: u32,
    pub(crate) rank: i32,
}

impl Moment {
    /// Before everything.
    pub(crate) const START: Self = Self { end: 0, unit: 0, rank: -1 };

    /// Just after this moment, and before the next unit.
    pub(crate) fn after(self, by: i32) -> Self {
        Self { rank: self.rank + by, ..self }
    }
}

/// A top-level statement, or a statement of a flattened top-level block.
#[derive(Debug)]
pub(crate) struct Unit<'a> {
    pub(crate) module: ModuleId,
    pub(crate) stmt: &'a Stmt,
    pub(crate) moment: Moment,
    /// Global names it binds, imports included.
    pub(crate) binds: Vec<Name>,
    pub(crate) first_line: u32,
    /// A branch or a block was cut away around or in it at the top level.
    node: OnceCell<Vec<Node<'a>>>,
}

/// Modules, names, units and what ran.
pub(crate) struct Program<'a> {
    pub(crate) modules: &'a Modules,
    pub(crate) trace: &'a Trace,
    pub(crate) resolver: &'a Resolver<'a>,
    pub(crate) purity: Purity<'a, 'a>,
    pub(crate) units: Vec<Unit<'a>>,
    ran: &'a [ModuleRun],
    by_module: Vec<Vec<UnitId>>,
    support: FxHashSet<ModuleId>,
    helpers: &'a FxHashSet<ModuleId>,
    adjustments: &'a Adjustments,
    effects: RefCell<FxHashMap<(ModuleId, TextSize, CallKind), Rc<CallChanges>>>,
    mentions: OnceCell<Mentions>,
}

impl<'a> Program<'a> {
    pub(crate) fn new(
        resolver: &'a Resolver<'a>,
        trace: &'a Trace,
        ran: &'a [ModuleRun],
        (support, helpers): (FxHashSet<ModuleId>, &'a FxHashSet<ModuleId>),
        adjustments: &'a Adjustments,
    ) -> Self {
        let modules = resolver.modules();
        let mut program = Self {
            modules,
            trace,
            resolver,
            purity: Purity::new(resolver, ran),
            units: Vec::new(),
            ran,
            by_module: Vec::new(),
            support,
            helpers,
            adjustments,
            effects: RefCell::default(),
            mentions: OnceCell::new(),
        };
        for (id, module) in modules.iter() {
            let mut statements = Vec::new();
            program.flatten(id, module.syntax.body(), &mut statements);
            let mut ids = Vec::with_capacity(statements.len());
            let mut last = 0;
            for (stmt, node) in statements {
                let unit = program.unit(id, stmt, node, &mut last);
                ids.push(UnitId(unit.moment.unit));
                program.units.push(unit);
            }
            program.by_module.push(ids);
        }
        program
    }

    pub(crate) fn unit_ids(&self) -> impl Iterator<Item = UnitId> + use<> {
        (0..u32::try_from(self.units.len()).unwrap_or(u32::MAX)).map(UnitId)
    }

    pub(crate) fn get(&self, id: UnitId) -> &Unit<'a> {
        &self.units[id.0 as usize]
    }

    pub(crate) fn units_of(&self, module: ModuleId) -> &[UnitId] {
        &self.by_module[module.0 as usize]
    }

    pub(crate) fn ran(&self, module: ModuleId) -> &ModuleRun {
        &self.ran[module.0 as usize]
    }

    /// Returns true if the interpreter of the run provides a name to every module.
    pub(crate) fn is_builtin(&self, name: &str) -> bool {
        self.trace.pythons().has_builtin(name)
    }

    /// Returns true if a module is a test module or a conftest. Statements of such modules are
    /// never changed.
    pub(crate) fn is_support(&self, module: ModuleId) -> bool {
        self.support.contains(&module)
    }

    /// Returns true if a module was executed as `__main__`.
    pub(crate) fn is_main(&self, module: ModuleId) -> bool {
        let file = self.trace.file(self.modules.get(module).path());
        file.is_some_and(|file| file.modules.iter().any(|name| name == "__main__"))
    }

    /// Returns true if the gist is executed as `__main__`.
    pub(crate) fn is_script(&self) -> bool {
        let mut names = self.trace.files.iter().flat_map(|file| &file.modules);
        self.trace.entry.is_some() || names.any(|name| name == "__main__")
    }

    /// Returns true if a statement imports a module of the repository, or a name of one.
    pub(crate) fn imports_internal(&self, module: ModuleId, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Import(import) => {
                import.names.iter().any(|alias| self.modules.is_internal(&alias.name))
            }
            Stmt::ImportFrom(import) => {
                let from = import.module.as_ref().map(|name| name.as_str());
                let from = self.modules.absolute(module, import.level, from);
                from.is_some_and(|from| self.modules.is_internal(&from))
            }
            _ => false,
        }
    }

    /// The module that a name is imported from, by whatever import of it comes last.
    pub(crate) fn imported_from(&self, module: ModuleId, name: &Name) -> Option<(ModuleId, Name)> {
        let bindings = self.resolver.bindings(module, name)?;
        bindings.iter().rev().find_map(|one| match &one.kind {
            BindingKind::From { module, name } => Some((self.modules.find(module)?, name.clone())),
            _ => None,
        })
    }

    /// Returns true if a module held a name at the end that none of its statements binds.
    pub(crate) fn is_unwritten(&self, module: ModuleId, name: &Name) -> bool {
        let held = self.trace.modules.get(&self.modules.get(module).name);
        held.is_some_and(|held| held.names.contains_key(name.as_str()))
            && self.binders(module, name).is_empty()
    }

    /// Returns true if the name of a definition was bound at the end to a class or function of the
    /// same module.
    pub(crate) fn is_of_itself(&self, unit: UnitId) -> bool {
        let unit = self.get(unit);
        let home = &self.modules.get(unit.module).name;
        let held = self.trace.modules.get(home);
        let mut held = unit.binds.iter().filter_map(|name| held?.names.get(name.as_str()));
        held.any(
            |value| matches!(value, Value::Class(of, _) | Value::Function(of, _) if of == home),
        )
    }

    /// Returns true if a module supports the tests without being a test module or a conftest.
    pub(crate) fn is_helper(&self, module: ModuleId) -> bool {
        self.helpers.contains(&module)
    }

    /// The unit that holds the statement starting at an offset.
    pub(crate) fn unit_at(&self, module: ModuleId, at: TextSize) -> Option<UnitId> {
        let ids = self.units_of(module);
        let after = ids.partition_point(|&id| self.get(id).stmt.start() <= at);
        let id = *ids.get(after.checked_sub(1)?)?;
        self.get(id).stmt.range().contains_inclusive(at).then_some(id)
    }

    /// The units whose executed statements bind a name in a module, in source order.
    pub(crate) fn binders(&self, module: ModuleId, name: &str) -> Vec<UnitId> {
        let mut units: Vec<UnitId> = self
            .resolver
            .bindings(module, name)
            .unwrap_or_default()
            .iter()
            .filter_map(|binding| self.unit_at(module, binding.at))
            .collect();
        units.dedup();
        units
    }

    /// Returns the kept nodes of a unit, with a stub for every uncalled method.
    pub(crate) fn pruned(&self, id: UnitId) -> &[Node<'a>] {
        let unit = self.get(id);
        unit.node.get_or_init(|| self.prune(unit.module, unit.stmt))
    }

    /// Returns the changes that a call of a module's function or class makes.
    pub(crate) fn changes(
        &self,
        home: ModuleId,
        function: &StmtFunctionDef,
        call: CallKind,
    ) -> Rc<CallChanges> {
        let key = (home, function.start(), call);
        if let Some(known) = self.effects.borrow().get(&key) {
            return Rc::clone(known);
        }
        let changes = Rc::new(self.purity.changes(home, function, call));
        self.effects.borrow_mut().insert(key, Rc::clone(&changes));
        changes
    }

    /// Returns the mentions of names in executed code.
    pub(crate) fn mentions(&self) -> &Mentions {
        self.mentions.get_or_init(|| Mentions::new(self.modules, self.ran))
    }

    /// Returns the target of a global name in a unit. Early code sees only the bindings before it.
    pub(crate) fn target(&self, unit: UnitId, name: &Name, late: bool) -> Option<Target> {
        let unit = self.get(unit);
        if late {
            return self.resolver.resolve(unit.module, name);
        }
        let bindings = self.resolver.bindings(unit.module, name);
        let earlier = bindings.is_some_and(|all| all.iter().any(|one| one.at < unit.stmt.start()));
        if bindings.is_some() && !earlier && self.is_builtin(name) {
            let inside = bindings.is_some_and(|all| {
                all.iter()
                    .any(|one| unit.stmt.range().contains(one.at) && one.at != unit.stmt.start())
            });
            if !inside {
                return Some(Target::Builtin(name.clone()));
            }
        }
        self.resolver.resolve_before(unit.module, name, unit.stmt.start())
    }

    fn prune(&self, module: ModuleId, stmt: &'a Stmt) -> Vec<Node<'a>> {
        let syntax = &self.modules.get(module).syntax;
        let pure = |expr: &Expr| self.is_pure(module, expr);
        let pure_in_loops =
            |expr: &Expr| !self.adjustments.conditions && self.purity.is_pure(module, expr);
        let vanishes = |stmt: &Stmt| self.is_internal_import(module, stmt);
        let path = syntax.source().path();
        let mut lines: Vec<u32> = self
            .adjustments
            .whole
            .iter()
            .filter(|place| place.path == path)
            .map(|place| place.line)
            .collect();
        // Whoever goes through a gist, as pytest does, asks it for names that nobody asked the original for: of the
        // gist itself, and of its objects until a run tells what of their class's `__getattr__` that takes.
        let is_heard = self.ran(module).is_heard;
        scope::for_each_function(std::slice::from_ref(stmt), &mut |inner, function| {
            let is_module = inner.start() == stmt.start();
            if function.name.id == GETATTR && (is_module || !is_heard) {
                lines.push(syntax.source().line(inner.start()));
            }
        });
        let whole = if self.is_support(module) {
            WholeBodies::Support(&lines)
        } else if self.is_helper(module) {
            WholeBodies::Helper(&lines)
        } else {
            WholeBodies::Lines(&lines)
        };
        let docstrings = self.adjustments.docstrings;
        Pruner::new(syntax, self.ran(module), &pure, &vanishes, docstrings, whole)
            .with_pure_in_loops(&pure_in_loops)
            .with_unseen(stmt.is_function_def_stmt() && runs_unseen(self.trace))
            .with_generators(self.adjustments.impure && self.purity.generates)
            .statement(stmt)
    }

    /// Returns true if a package contains compiled extensions and therefore stays importable.
    pub(crate) fn holds_extensions(&self, package: &str) -> bool {
        self.trace
            .compiled
            .keys()
            .any(|name| name.strip_prefix(package).is_some_and(|rest| rest.starts_with('.')))
    }

    fn is_internal_import(&self, module: ModuleId, stmt: &Stmt) -> bool {
        let internal =
            |name: &str| self.modules.is_internal(name) && !self.trace.compiled.contains_key(name);
        match stmt {
            _ if self.failure(module, stmt).is_some() => false,
            Stmt::Import(import) => import.names.iter().all(|alias| internal(&alias.name)),
            Stmt::ImportFrom(import) => {
                let from = import.module.as_ref().map(|name| name.as_str());
                let from = self.modules.absolute(module, import.level, from);
                from.is_some_and(|from| {
                    internal(&from)
                        && !self.is_failed_import(module, stmt)
                        && !import.names.iter().any(|one| self.stays(module, &from, &one.name.id))
                })
            }
            _ => false,
        }
    }

    /// Returns true if a function or class imports a name that an internal module lacks.
    pub(crate) fn is_failed_import(&self, module: ModuleId, stmt: &Stmt) -> bool {
        let Stmt::ImportFrom(import) = stmt else { return false };
        let from = import.module.as_ref().map(|name| name.as_str());
        let Some(from) = self.modules.absolute(module, import.level, from) else { return false };
        import.names.iter().any(|alias| self.fails(&from, &alias.name.id))
            && self.is_inside(module, stmt)
    }

    /// Returns the import that made the import in a function or class [fail](Failures).
    pub(crate) fn failure(&self, module: ModuleId, stmt: &Stmt) -> Option<&'a str> {
        let failures = Failures { modules: self.modules, ran: self.ran, trace: self.trace };
        failures.of(module, stmt).filter(|_| self.is_inside(module, stmt))
    }

    /// Returns true if a statement is an import inside a function or class.
    fn is_inside(&self, module: ModuleId, stmt: &Stmt) -> bool {
        let body = self.modules.get(module).syntax.body();
        let inner = inner_imports(body).into_iter();
        inner.map(Ranged::start).any(|start| start == stmt.start())
    }

    /// Returns true if importing a name from an internal module failed: no statement binds it, and
    /// the module did not hold it at the end. The same import fails in the gist.
    fn fails(&self, from: &str, name: &Name) -> bool {
        let Some(held) = self.trace.modules.get(from) else { return false };
        !held.path.is_empty() && self.lacks(from, name) && !self.answers(from)
    }

    /// Returns true if a name remains importable from an internal module, through its compiled
    /// extensions. Outside of tests, the module's `__getattr__` may provide it as well.
    pub(crate) fn stays(&self, module: ModuleId, from: &str, name: &Name) -> bool {
        let compiled = &self.trace.compiled;
        compiled.contains_key(from)
            || compiled.contains_key(&format!("{from}.{name}"))
            || !self.is_support(module) && self.is_answered(from, name)
    }

    /// Returns true if the `__getattr__` of an internal module provides a name.
    pub(crate) fn is_answered(&self, from: &str, name: &Name) -> bool {
        self.modules.find(from).is_some() && self.answers(from) && self.lacks(from, name)
    }

    fn answers(&self, from: &str) -> bool {
        self.resolver.attribute(from, &GETATTR).is_some()
    }

    /// Returns true if no statement of a module binds a name and the module did not hold it at the
    /// end.
    fn lacks(&self, from: &str, name: &Name) -> bool {
        let held = self.trace.modules.get(from);
        name != "*"
            && !held.is_some_and(|held| held.names.contains_key(name.as_str()))
            && !self.trace.modules.contains_key(&format!("{from}.{name}"))
            && !self.trace.compiled.contains_key(&format!("{from}.{name}"))
            && self.resolver.attribute(from, name).is_none()
    }

    /// Returns the attributes that functions read from imported internal modules, each with its
    /// module. Omits a local name that is bound to different modules in different functions.
    pub(crate) fn asked_modules<'s>(
        &self,
        module: ModuleId,
        scan: &'s Scan<'a>,
    ) -> Vec<(String, &'s GlobalUse)> {
        let mut bound: FxHashMap<Name, FxHashSet<String>> = FxHashMap::default();
        for import in scan.imports.iter().filter(|import| !import.dead) {
            for (local, module) in self.imported_modules(module, import.stmt) {
                bound.entry(local).or_default().insert(module);
            }
        }
        let uses = scan.locals.iter().filter(|one| !one.dead);
        let only = |local: &GlobalUse| {
            let mut modules = bound.get(&local.name)?.iter();
            modules.next().filter(|_| modules.len() == 0).cloned()
        };
        uses.filter_map(|local| Some((only(local)?, local))).collect()
    }

    /// The internal modules that an import statement gives names to.
    fn imported_modules(&self, module: ModuleId, stmt: &Stmt) -> Vec<(Name, String)> {
        match stmt {
            Stmt::Import(import) => {
                let internal =
                    import.names.iter().filter(|one| self.modules.is_internal(&one.name));
                let bound = internal.map(|alias| match &alias.asname {
                    Some(local) => (local.id.clone(), alias.name.to_string()),
                    None => {
                        let local = scope::local_of_import(alias);
                        (local.clone(), local.to_string())
                    }
                });
                bound.collect()
            }
            Stmt::ImportFrom(import) => {
                let from = import.module.as_ref().map(|name| name.as_str());
                let Some(from) = self.modules.absolute(module, import.level, from) else {
                    return Vec::new();
                };
                let bound = import.names.iter().filter_map(|alias| {
                    let target = self.resolver.attribute(&from, &alias.name.id)?;
                    let Target::Module(inner) = target else { return None };
                    Some((alias.asname.as_ref().unwrap_or(&alias.name).id.clone(), inner))
                });
                bound.collect()
            }
            _ => Vec::new(),
        }
    }

    fn is_pure(&self, module: ModuleId, expr: &Expr) -> bool {
        if self.adjustments.conditions {
            return false;
        }
        if !self.adjustments.impure {
            // A run that went well without the wait for another thread may only have been lucky.
            return !purity::waits(expr);
        }
        self.purity.is_pure(module, expr)
    }

    /// Statements of the top level that ran, blocks flattened where only one of their branches did.
    fn flatten(
        &self,
        module: ModuleId,
        body: &'a [Stmt],
        out: &mut Vec<(&'a Stmt, Option<Vec<Node<'a>>>)>,
    ) {
        let source = self.modules.get(module).syntax.source();
        for stmt in body {
            match stmt {
                Stmt::FunctionDef(_) if is_overload(stmt, body) => {}
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {
                    if self.ran(module).statement(source, stmt) {
                        out.push((stmt, None));
                    }
                }
                Stmt::If(_)
                | Stmt::Try(_)
                | Stmt::For(_)
                | Stmt::While(_)
                | Stmt::With(_)
                | Stmt::Match(_) => {
                    for node in self.prune(module, stmt) {
                        out.push((node.stmt, Some(vec![node])));
                    }
                }
                Stmt::Global(_) | Stmt::Nonlocal(_) => {}
                _ => {
                    if self.ran(module).statement(source, stmt) {
                        out.push((stmt, None));
                    }
                }
            }
        }
    }

    fn unit(
        &self,
        module: ModuleId,
        stmt: &'a Stmt,
        node: Option<Vec<Node<'a>>>,
        last: &mut u64,
    ) -> Unit<'a> {
        let source = self.modules.get(module).syntax.source();
        let (first_line, last_line) = source.line_span(stmt.range());
        let ran = self.ran(module);
        let end = ran.clock(first_line, last_line).map_or(*last, |(_, end)| end.max(1));
        *last = end;
        let at = u32::try_from(self.units.len()).expect("fewer than 2^32 units");
        let mut binds = Vec::new();
        scope::for_each_statement(std::slice::from_ref(stmt), &mut |stmt| {
            if !ran.statement(source, stmt) {
                return;
            }
            match stmt {
                Stmt::Delete(_) => {}
                Stmt::Import(import) => {
                    binds.extend(import.names.iter().map(scope::local_of_import))
                }
                Stmt::ImportFrom(import) => binds.extend(
                    import
                        .names
                        .iter()
                        .map(|alias| alias.asname.as_ref().unwrap_or(&alias.name).id.clone()),
                ),
                _ => binds.extend(scope::bound_directly(stmt)),
            }
        });
        binds.sort_unstable();
        binds.dedup();
        let moment = Moment { end, unit: at, rank: 0 };
        Unit {
            module,
            stmt,
            moment,
            binds,
            first_line,
            node: node.map_or_else(OnceCell::new, OnceCell::from),
        }
    }
}

/// Returns true if code may have run in a subinterpreter, which no trace covers.
fn runs_unseen(trace: &Trace) -> bool {
    const MODULES: [&str; 3] =
        ["_xxsubinterpreters", "concurrent.futures.interpreter", "concurrent.interpreters"];
    MODULES.iter().any(|module| trace.external.contains_key(*module))
}

/// The dotted name of a traced file when it is an internal module: one whose name leads to its path
/// through an entry of the initial `sys.path`, or one of `always` (tests and conftests).
pub(crate) fn module_name(trace: &Trace, file: &FileTrace, always: bool) -> Option<String> {
    let from_roots = || {
        let mut roots: Vec<&str> = trace.roots.iter().map(String::as_str).collect();
        roots.sort_by_key(|root| std::cmp::Reverse(root.len()));
        roots.into_iter().find_map(|root| {
            let inner = Path::new(&file.path).strip_prefix(root).ok()?.with_extension("");
            let mut parts: Vec<&str> = inner.iter().filter_map(|part| part.to_str()).collect();
            if parts.last() == Some(&"__init__") {
                parts.pop();
            }
            (!parts.is_empty()).then(|| parts.join("."))
        })
    };
    let leads = |name: &str| {
        let inner = name.replace('.', "/");
        trace.roots.iter().any(|root| {
            let base = if root.is_empty() { inner.clone() } else { format!("{root}/{inner}") };
            file.path == format!("{base}.py") || file.path == format!("{base}/__init__.py")
        })
    };
    if let Some(name) = file.modules.iter().find(|name| leads(name)) {
        return Some(name.clone());
    }
    if file.modules.iter().any(|name| name == "__main__") {
        return from_roots().or_else(|| Some("__main__".to_owned()));
    }
    if always {
        return file.modules.first().cloned().or_else(from_roots);
    }
    None
}
