//! Modules whose code runs when they are first used: those that a function imports, and those of
//! lazy imports (PEP 810).
//!
//! ```python
//! lazy from pkg.heavy import compute       # of the original; nothing runs here
//! if _Late("pkg.heavy"):                   # the import system runs this block
//!     print("heavy loaded")
//!     def compute(x): return x * x
//! ```
//!
//! By default a gist runs such code while it is loaded itself, which is shorter. A run decides that
//! the time matters.

use std::collections::BTreeSet;

use ruff_python_ast::{
    Expr, Stmt,
    name::Name,
    visitor::{Visitor, walk_expr},
};
use ruff_text_size::Ranged;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Adjustments,
    name::Naming,
    plan::Reason,
    program::{LAZY_MODULES, Moment, Program, UnitId},
    select::Selection,
};
use crate::{
    glue::Glue,
    module::{ModuleId, Modules},
    scope,
    trace::Trace,
};

/// The modules of a gist whose code runs at their first use.
#[derive(Debug, Default)]
pub(crate) struct FirstUse {
    /// Each has a block of its own.
    modules: FxHashSet<ModuleId>,
    /// Imports of the top level that only announce what they import, and stay.
    pub(crate) lazy: BTreeSet<UnitId>,
    /// The modules that an import inside a function loads, by module and start of the import.
    pub(crate) loads: FxHashMap<(ModuleId, u32), Vec<Glue>>,
    /// The modules that an import of the top level of such a module loads.
    pub(crate) early_loads: Vec<(UnitId, Glue)>,
    /// True if some name of the gist is bound by a lazy import.
    pub(crate) is_lazy: bool,
}

impl FirstUse {
    /// Returns the modules that run at their first use, and the imports that lead to them; none
    /// unless the request asks for it.
    pub(crate) fn of(
        selection: &Selection<'_>,
        naming: &Naming,
        adjustments: &Adjustments,
    ) -> Self {
        if !adjustments.first_use {
            return Self::default();
        }
        let program = &selection.program;
        let mut modules = candidates(program);
        modules.retain(|id| !naming.namespaces.contains(&program.modules.get(*id).name));
        loop {
            let found = Self::among(selection, &modules);
            let has_lines: FxHashSet<ModuleId> = selection
                .chosen
                .keys()
                .chain(found.early_loads.iter().map(|(id, _)| id))
                .map(|id| program.get(*id).module)
                .collect();
            // A name that stands for several things cannot wait for one of them.
            let contested = found.lazy.iter().flat_map(|id| {
                let unit = program.get(*id);
                let is_contested =
                    unit.binds.iter().any(|name| naming.collisions.contains_key(name.as_str()));
                let names = if is_contested {
                    targets(program, unit.module, unit.stmt)
                } else {
                    Vec::new()
                };
                names.into_iter().filter_map(|name| program.modules.find(&name))
            });
            let contested: FxHashSet<ModuleId> = contested.collect();
            let before = modules.len();
            modules.retain(|id| has_lines.contains(id) && !contested.contains(id));
            if modules.len() == before {
                return found;
            }
        }
    }

    fn among(selection: &Selection<'_>, modules: &FxHashSet<ModuleId>) -> Self {
        let program = &selection.program;
        let mut found = Self { modules: modules.clone(), ..Self::default() };
        let asks_for_lazy = mentions(selection, &["lazy_modules"]);
        for id in program.unit_ids() {
            let unit = program.get(id);
            let is_lazy = is_lazy(unit.stmt);
            let home = program.modules.get(unit.module);
            let (first, last) = home.syntax.source().line_span(unit.stmt.range());
            for name in targets(program, unit.module, unit.stmt) {
                let target = program.modules.find(&name);
                let Some(target) = target.filter(|target| modules.contains(target)) else {
                    // Nothing loaded it: only the interpreter's list of lazy modules shows it.
                    let top = name.split('.').next().unwrap_or_default();
                    let is_own = program.modules.is_internal(top);
                    let is_loaded = program.trace.modules.contains_key(&name);
                    if is_lazy && asks_for_lazy && is_own && !is_loaded {
                        found.lazy.insert(id);
                    }
                    continue;
                };
                let importer = program.trace.file(program.modules.get(target).path());
                let importer = importer.and_then(|file| file.importer.as_ref());
                let loads = importer.is_some_and(|place| {
                    place.path == home.path() && (first..=last).contains(&place.line)
                });
                if loads && modules.contains(&unit.module) {
                    found.early_loads.push((id, Glue::Load(name)));
                } else if !loads && began(program, target).is_some_and(|at| unit.moment < at) {
                    found.lazy.insert(id);
                }
            }
        }
        for (id, chosen) in &selection.chosen {
            let module = program.get(*id).module;
            for import in chosen.scan.imports.iter().filter(|import| !import.dead) {
                let names = targets(program, module, import.stmt).into_iter();
                let names = names.filter(|name| {
                    program.modules.find(name).is_some_and(|target| modules.contains(&target))
                });
                let loads: Vec<Glue> = names.map(Glue::Load).collect();
                if !loads.is_empty() {
                    found.loads.insert((module, import.stmt.start().to_u32()), loads);
                }
            }
        }
        let imports = selection.imports.keys().map(|(id, _)| id);
        found.is_lazy = found.lazy.iter().chain(imports).any(|id| announces(program, *id));
        found
    }

    /// Returns the module in whose block something of a moment stands.
    pub(crate) fn block_at(&self, program: &Program<'_>, moment: Moment) -> Option<ModuleId> {
        let module = (moment.end > 0).then(|| program.get(UnitId(moment.unit)).module);
        module.filter(|module| self.modules.contains(module))
    }

    /// Returns true if some module has a block.
    pub(crate) fn has_blocks(&self) -> bool {
        !self.modules.is_empty()
    }

    /// Returns true if a name is that of a module with a block, or of a parent package of one. The
    /// gist is not registered under such a name.
    pub(crate) fn is_found(&self, program: &Program<'_>, name: &str) -> bool {
        self.modules.iter().any(|id| {
            let rest = program.modules.get(*id).name.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// Returns the names that imports which stay bind, so that the gist need not bind them.
    pub(crate) fn announced(&self, program: &Program<'_>) -> FxHashSet<Name> {
        self.lazy.iter().flat_map(|id| program.get(*id).binds.iter().cloned()).collect()
    }
}

/// Returns true if the time at which a module runs may matter to a command: a module that is first
/// used by a function acts while it runs, something asks which modules are loaded, or an import is
/// lazy.
pub(crate) fn may_matter(selection: &Selection<'_>) -> bool {
    let program = &selection.program;
    let is_announced = program.unit_ids().any(|id| announces(program, id));
    if is_announced && mentions(selection, &["lazy_modules"])
        || selection.imports.keys().any(|(id, _)| announces(program, *id))
    {
        return true;
    }
    let candidates = candidates(program);
    if candidates.is_empty() {
        return false;
    }
    is_announced
        || mentions(selection, &["modules"])
        || selection.chosen.iter().any(|(id, chosen)| {
            let unit = program.get(*id);
            candidates.contains(&unit.module)
                && (chosen.reason == Reason::SideEffect || acts(unit.stmt))
        })
}

/// Returns the modules that an import statement names: `a.b` and `a.b.c` of `from a.b import c`.
fn targets(program: &Program<'_>, module: ModuleId, stmt: &Stmt) -> Vec<String> {
    match stmt {
        Stmt::Import(import) => import.names.iter().map(|alias| alias.name.to_string()).collect(),
        Stmt::ImportFrom(import) => {
            let from = import.module.as_ref().map(|name| name.as_str());
            let Some(from) = program.modules.absolute(module, import.level, from) else {
                return Vec::new();
            };
            let inner = import.names.iter().map(|alias| format!("{from}.{}", alias.name));
            let mut all: Vec<String> = inner.collect();
            all.push(from);
            all
        }
        _ => Vec::new(),
    }
}

/// Returns true if a module is first used by a function, though an import of the top level names it.
pub(super) fn is_announced(modules: &Modules, trace: &Trace, name: &str) -> bool {
    trace.python >= (3, 15, 0)
        && modules.iter().any(|(id, module)| {
            let Some(file) = trace.file(module.path()) else { return false };
            let source = module.syntax.source();
            let mut found = false;
            scope::for_each_statement(module.syntax.body(), &mut |stmt| {
                let names_it = match stmt {
                    Stmt::Import(import) => import.names.iter().any(|alias| &alias.name == name),
                    Stmt::ImportFrom(import) => {
                        let from = import.module.as_ref().map(|name| name.as_str());
                        let from = modules.absolute(id, import.level, from);
                        from.is_some_and(|from| {
                            let inner = name.strip_prefix(from.as_str());
                            let inner = inner.and_then(|rest| rest.strip_prefix('.'));
                            from == name
                                || import.names.iter().any(|one| Some(one.name.as_str()) == inner)
                        })
                    }
                    _ => false,
                };
                found |= names_it && file.executed(source.line(stmt.start()));
            });
            found
        })
}

/// Returns the modules that a function used first, and those that these load.
fn candidates(program: &Program<'_>) -> FxHashSet<ModuleId> {
    let by_path: FxHashMap<&str, ModuleId> =
        program.modules.iter().map(|(id, module)| (module.path(), id)).collect();
    let importers: Vec<(ModuleId, ModuleId, u32)> = program
        .modules
        .iter()
        .filter(|(id, _)| !program.is_support(*id))
        .filter_map(|(id, module)| {
            let place = program.trace.file(module.path())?.importer.as_ref()?;
            Some((id, *by_path.get(place.path.as_str())?, place.line))
        })
        .collect();
    let mut found = FxHashSet::default();
    loop {
        let before = found.len();
        for (id, by, line) in &importers {
            if found.contains(by) || is_in_function(program, *by, *line) {
                found.insert(*id);
            }
        }
        if found.len() == before {
            break;
        }
    }
    let names: BTreeSet<String> =
        found.iter().map(|id| program.modules.get(*id).name.clone()).collect();
    // A package stays as it is where modules in it are found by the import system.
    found.retain(|id| {
        let inside = format!("{}.", program.modules.get(*id).name);
        !names.range(inside.clone()..).next().is_some_and(|name| name.starts_with(&inside))
    });
    found
}

fn is_in_function(program: &Program<'_>, module: ModuleId, line: u32) -> bool {
    let syntax = &program.modules.get(module).syntax;
    let mut found = false;
    scope::for_each_function(syntax.body(), &mut |_, function| {
        let Some(first) = function.body.first() else { return };
        let first = syntax.source().line(first.start());
        let (_, last) = syntax.source().line_span(function.range);
        found |= (first..=last).contains(&line);
    });
    found
}

/// Returns the moment at which the first statement of a module ran.
fn began(program: &Program<'_>, module: ModuleId) -> Option<Moment> {
    program.units_of(module).iter().map(|id| program.get(*id).moment).min()
}

fn is_lazy(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Import(import) => import.is_lazy,
        Stmt::ImportFrom(import) => import.is_lazy,
        _ => false,
    }
}

/// Returns true if an import has the keyword `lazy`, or if its module binds `__lazy_modules__` on 3.15.
fn announces(program: &Program<'_>, id: UnitId) -> bool {
    let unit = program.get(id);
    let names = || program.resolver.bindings(unit.module, LAZY_MODULES).is_some();
    is_lazy(unit.stmt) || program.trace.python >= (3, 15, 0) && names()
}

fn mentions(selection: &Selection<'_>, names: &[&str]) -> bool {
    let mut scans = selection.chosen.values().map(|chosen| &chosen.scan);
    scans.any(|scan| names.iter().any(|name| scan.attributes.contains(*name)))
}

/// Returns true if a statement of a module may do more than define names, or may see another state of the program when it
/// runs at another time.
fn acts(stmt: &Stmt) -> bool {
    let value = match stmt {
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::Import(_) | Stmt::ImportFrom(_) => {
            return false;
        }
        Stmt::Assign(assign) => Some(&*assign.value),
        Stmt::AnnAssign(assign) => assign.value.as_deref(),
        Stmt::Expr(stmt) => Some(&*stmt.value),
        _ => return true,
    };
    let mut looks = Looks(false);
    value.into_iter().for_each(|value| looks.visit_expr(value));
    looks.0
}

/// True once an expression calls something or reads an attribute.
struct Looks(bool);

impl<'a> Visitor<'a> for Looks {
    fn visit_expr(&mut self, expr: &'a Expr) {
        self.0 |= matches!(expr, Expr::Call(_) | Expr::Attribute(_));
        walk_expr(self, expr);
    }
}
