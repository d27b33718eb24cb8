//! Decides which units a gist needs: roots from the run, then everything that these refer to, through
//! internal imports, to a fixpoint.
//!
//! It chooses; it does not name, order or cut.

mod decorators;
mod evaluated;
mod exports;
mod family;
mod namespaces;
mod refer;
mod registering;
mod roots;
mod strings;
mod stubs;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use ruff_python_ast::{Expr, Stmt, name::Name};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use exports::EXPORTS;
pub(crate) use namespaces::goes_through_globals;
use registering::{CallParts, Making, MethodChanges, OwnCall};
pub(crate) use roots::is_own_module;
use strings::fills_templates;

use super::{
    Adjustments, hooks,
    on_demand::{OnDemandFacts, When},
    plan::{Place, Reason},
    program::{Program, Unit, UnitId},
    prune::Node,
    scan::{Scan, scan},
};
use crate::{
    deferred::postpones_annotations,
    documented::{self, DOCSTRING},
    module::ModuleId,
    resolve::Target,
    scope,
    syntax::{Syntax, is_identifier},
};

/// Names of a test module that pytest itself reads.
const CONFIGURATION: &[&str] = &["pytestmark", "pytest_plugins", "collect_ignore"];

/// A kept unit: its remaining nodes, and the names in them.
pub(crate) struct Chosen<'a> {
    pub(crate) reason: Reason,
    pub(crate) nodes: Vec<Node<'a>>,
    pub(crate) scan: Scan<'a>,
}

/// The units of a gist.
pub(crate) struct Selection<'a> {
    pub(crate) program: Program<'a>,
    pub(crate) chosen: FxHashMap<UnitId, Chosen<'a>>,
    /// Imports from outside that are needed: (unit, local name), each with the unit that first used it.
    pub(crate) imports: FxHashMap<(UnitId, Name), Option<UnitId>>,
    /// Internal modules whose object is used as a value.
    pub(crate) escaped: FxHashSet<String>,
    /// Modules that are looked up by their name at run time.
    pub(crate) registered: FxHashSet<String>,
    /// Dotted strings that name something internal.
    pub(crate) dotted: FxHashSet<(String, Name)>,
    /// Internal modules whose dotted name is a string of kept code, or whose object must be
    /// distinguished from another module's with the same attribute.
    pub(crate) named: FxHashSet<String>,
    /// The modules whose `__file__` or `__path__` is read.
    pub(crate) placed: FxHashSet<String>,
    /// Modules all of whose names something goes through.
    pub(crate) listed: FxHashSet<String>,
    /// The listed modules whose definitions must have the right `__module__`, because something
    /// reads it.
    pub(crate) homes: FxHashSet<String>,
    /// Attributes of a module that may be read from its object.
    pub(crate) asked: FxHashSet<(String, Name)>,
    /// Imports of the repository's modules that ended the command.
    pub(crate) failed: BTreeSet<UnitId>,
    /// External submodules reached by attributes of a module.
    pub(crate) external_submodules: FxHashSet<String>,
    pub(crate) stubs: FxHashSet<Place>,
    pub(crate) dropped_stubs: FxHashMap<Place, String>,
    pub(crate) notes: Vec<String>,
    /// Hooks of conftests and plugins that take part, and [fixtures that others of their name ask for]
    /// (hooks::overridden), by their module.
    pub(crate) hooks: BTreeMap<String, Vec<Name>>,
    /// Names of methods that are tests of the command, whether or not they were entered.
    methods: FxHashSet<Name>,
    /// A docstring of a module that is a test of the command.
    pub(crate) docstring: Option<(ModuleId, &'a Stmt)>,
    /// True if the names in annotations are needed, whoever evaluates them.
    every_annotation: bool,
    /// True for each module that has `from __future__ import annotations`.
    futures: Vec<bool>,
    /// True if the gist needs `from __future__ import annotations`.
    pub(crate) future: bool,
}

impl Selection<'_> {
    /// Returns true if the annotations of a module are texts that the gist has to write as such.
    pub(crate) fn writes_texts(&self, module: ModuleId) -> bool {
        !self.future && self.futures[module.0 as usize]
    }

    /// Returns true if some of the gist's modules defer their annotations by the future import, and others do not.
    pub(crate) fn mixes_futures(&self) -> bool {
        let modules = self.chosen.keys().map(|id| self.program.get(*id).module);
        let kinds: BTreeSet<bool> = modules.map(|module| self.futures[module.0 as usize]).collect();
        kinds.len() > 1
    }

    /// Returns the facts about a module's annotations and other expressions that are evaluated on demand.
    fn evaluation(&self, module: ModuleId) -> OnDemandFacts<'_> {
        let trace = self.program.trace;
        let monitored = trace.tracer == "monitoring";
        let on_demand = monitored && trace.python >= (3, 14, 0);
        let deferred = self.future || self.futures[module.0 as usize];
        let annotations = match (deferred, on_demand) {
            _ if self.every_annotation && (deferred || on_demand) => When::Later,
            (true, _) => When::Never,
            (false, true) => When::Asked,
            (false, false) => When::AtOnce,
        };
        OnDemandFacts {
            annotations,
            knows_bounds: monitored && trace.python >= (3, 12, 0),
            knows_aliases: on_demand,
            ran: self.program.ran(module),
            source: self.program.modules.get(module).syntax.source(),
            generated: &trace.generated.names,
        }
    }

    /// Returns true if an object that holds a module's hooks for pytest has a name of the module.
    pub(crate) fn is_held(&self, module: ModuleId, name: &Name) -> bool {
        let held = self.hooks.get(&self.program.modules.get(module).name);
        held.is_some_and(|held| held.contains(name))
    }

    /// Tests in the classes of a unit that the command runs as those of a test module, which inherits them: they
    /// are as unchangeable as if they stood there.
    pub(crate) fn inherited_tests(&self, unit: &Unit<'_>) -> Vec<TextRange> {
        let helps = self.program.is_helper(unit.module);
        let is_test =
            |name: &Name| self.methods.contains(name) || helps && name.starts_with("test");
        let mut found = Vec::new();
        let mut classes: Vec<&Stmt> = vec![unit.stmt];
        while let Some(stmt) = classes.pop() {
            let Stmt::ClassDef(class) = stmt else { continue };
            for inner in &class.body {
                match inner {
                    Stmt::FunctionDef(def) if is_test(&def.name.id) => found.push(def.range()),
                    _ => classes.push(inner),
                }
            }
        }
        found
    }
}

pub(crate) fn select<'a>(
    mut program: Program<'a>,
    tests: &[(String, Vec<String>)],
    data: &'a [Syntax],
    adjustments: &Adjustments,
    held: &BTreeSet<(ModuleId, Name)>,
) -> Selection<'a> {
    let tests = &within_modules(&program, tests);
    let named = named_tests(&program, tests);
    let docstring = docstring(&program, tests);
    let methods = tests.iter().filter_map(|(_, names)| names.get(1..)?.last());
    let mut methods: FxHashSet<Name> = methods.map(Name::new).collect();
    methods.extend(uncollected(&program, tests));
    let examples = examples(&program, tests);
    let futures: Vec<bool> = program
        .modules
        .iter()
        .map(|(_, module)| postpones_annotations(module.syntax.body()))
        .collect();
    // A test's own annotations stay as they are.
    let is_free = |(at, _): &(usize, &bool)| {
        !program.is_support(ModuleId(u32::try_from(*at).unwrap_or(u32::MAX)))
    };
    let deferred = || futures.iter().enumerate().filter(|(_, future)| **future);
    let apart = adjustments.apart && deferred().all(|one| is_free(&one));
    let future = !apart && deferred().next().is_some();
    let abstracts = program
        .trace
        .abstract_overrides
        .iter()
        .map(|(class, names)| (class.clone(), names.iter().cloned().collect()))
        .collect();
    let imports_by_name = program.modules.iter().any(|(_, module)| {
        let text = module.syntax.source().text();
        text.contains("import_module(") || text.contains("__import__(")
    });
    let mut hooks = if adjustments.hooks { hooks::hooks(&program) } else { BTreeMap::new() };
    let is_test = |module| named.iter().any(|(home, ..)| *home == module);
    for (module, fixture) in hooks::overridden(&program, is_test).union(held) {
        let module = program.modules.get(*module).name.clone();
        hooks.entry(module).or_default().push(fixture.clone());
    }
    let objects = || adjustments.namespaces.iter().chain(hooks.keys()).cloned();
    let mut stubs: FxHashSet<Place> = FxHashSet::default();
    loop {
        let mut search = Search {
            selection: Selection {
                program,
                chosen: FxHashMap::default(),
                imports: FxHashMap::default(),
                escaped: objects().collect(),
                registered: adjustments.register.iter().chain(hooks.keys()).cloned().collect(),
                dotted: FxHashSet::default(),
                named: objects().collect(),
                placed: FxHashSet::default(),
                listed: FxHashSet::default(),
                homes: FxHashSet::default(),
                asked: FxHashSet::default(),
                failed: BTreeSet::new(),
                external_submodules: FxHashSet::default(),
                stubs: stubs.clone(),
                dropped_stubs: FxHashMap::default(),
                notes: Vec::new(),
                hooks: hooks.clone(),
                methods: methods.clone(),
                docstring,
                every_annotation: adjustments.annotations,
                futures: futures.clone(),
                future,
            },
            adjustments,
            abstracts: &abstracts,
            work: Vec::new(),
            needed: FxHashSet::default(),
            waiting: FxHashMap::default(),
            waiting_outside: FxHashMap::default(),
            attributes: FxHashSet::default(),
            asked_of_values: FxHashSet::default(),
            strings: FxHashSet::default(),
            dotted_strings: FxHashSet::default(),
            generated: FxHashSet::default(),
            class_locals: FxHashSet::default(),
            made: RefCell::default(),
            called: RefCell::default(),
            asking: FxHashSet::default(),
            exports_shown: false,
            modules_shown: false,
            lists_modules: false,
            imports_by_name,
            processed: None,
        };
        search.roots(&named, &examples);
        search.foreign(data);
        search.run();
        let more = search.wanted_stubs();
        if more.is_subset(&stubs) {
            return search.selection;
        }
        stubs.extend(more);
        program = search.selection.program;
    }
}

/// Tests by their names inside their modules. That of a doctest begins with its module; its examples may all be
/// skipped, and it still is a case.
fn within_modules(
    program: &Program<'_>,
    tests: &[(String, Vec<String>)],
) -> Vec<(String, Vec<String>)> {
    let inside = |path: &str, names: &[String]| {
        let [name] = names else { return None };
        let (_, module) = program.modules.of_path(path)?;
        let body = module.syntax.body();
        if *name == module.name && !body.iter().any(|stmt| defines(stmt, name)) {
            return Some(vec![DOCSTRING.to_owned()]);
        }
        let inner = name.strip_prefix(&module.name)?.strip_prefix('.')?;
        Some(inner.split('.').map(str::to_owned).collect())
    };
    let within = tests.iter().map(|(path, names)| {
        let names = inside(path, names).unwrap_or_else(|| names.clone());
        (path.clone(), names)
    });
    within.collect()
}

/// Names of methods that are tests, of files and classes that the command names, where nobody collected what they have:
/// `unittest` runs none of a class whose setup fails, and still looks for them.
fn uncollected(program: &Program<'_>, tests: &[(String, Vec<String>)]) -> Vec<Name> {
    let is_collected =
        |path: &str| tests.iter().any(|(other, names)| other == path && names.len() > 1);
    let mut found = Vec::new();
    for (path, _) in tests.iter().filter(|(path, _)| !is_collected(path)) {
        let Some((_, module)) = program.modules.of_path(path) else { continue };
        for class in module.syntax.body().iter().filter_map(Stmt::as_class_def_stmt) {
            let methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
            let tests = methods.filter(|one| one.name.starts_with("test"));
            found.extend(tests.map(|one| one.name.id.clone()));
        }
    }
    found
}

/// Top-level names of the command's tests: (module, name, whether a definition has it). A call may make a
/// test class, too.
fn named_tests(
    program: &Program<'_>,
    tests: &[(String, Vec<String>)],
) -> Vec<(ModuleId, Name, bool)> {
    let mut found = Vec::new();
    for (path, names) in tests {
        let module = program.modules.of_path(path);
        if let (Some((id, module)), Some(top)) = (module, names.first()) {
            let defined = module.syntax.body().iter().any(|stmt| defines(stmt, top));
            found.push((id, Name::new(top), defined));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns true if a name is the path of a module, of which the gist has another.
fn is_place(name: &Name) -> bool {
    matches!(name.as_str(), "__file__" | "__path__")
}

/// The first docstring of a module that is a test and has examples: a gist has one.
fn docstring<'a>(
    program: &Program<'a>,
    tests: &[(String, Vec<String>)],
) -> Option<(ModuleId, &'a Stmt)> {
    tests.iter().filter(|(_, names)| names.iter().eq([DOCSTRING])).find_map(|(path, _)| {
        let (id, module) = program.modules.of_path(path)?;
        let body = module.syntax.body();
        Some((id, body.first().filter(|_| documented::examples(body).is_some())?))
    })
}

/// Returns the modules that the command names as a whole, or by their docstrings, each with the
/// names that exec'd code mentions, such as the docstrings' examples.
fn examples(program: &Program<'_>, tests: &[(String, Vec<String>)]) -> Vec<(String, Name)> {
    let is_whole = |names: &[String]| names.is_empty() || names.iter().eq([DOCSTRING]);
    let whole = tests.iter().filter(|(_, names)| is_whole(names));
    let modules =
        whole.filter_map(|(path, _)| program.modules.of_path(path).map(|(_, module)| module));
    let names = &program.trace.generated.names;
    modules
        .flat_map(|module| names.iter().map(|name| (module.name.clone(), Name::new(name))))
        .collect()
}

fn defines(stmt: &Stmt, name: &str) -> bool {
    match stmt {
        Stmt::FunctionDef(function) => function.name.as_str() == name,
        Stmt::ClassDef(class) => class.name.as_str() == name,
        _ => false,
    }
}

/// The module of compiler directives: no code uses the names that they bind.
const COMPILER: &str = "__future__";

struct Search<'a, 's> {
    selection: Selection<'a>,
    adjustments: &'s Adjustments,
    abstracts: &'s FxHashMap<String, FxHashSet<String>>,
    work: Vec<UnitId>,
    needed: FxHashSet<(ModuleId, Name)>,
    /// Units that only change a global, kept once that global is needed.
    waiting: FxHashMap<(ModuleId, Name), Vec<UnitId>>,
    /// Calls of a tests' module that may change the state of a module from outside, kept once that is used.
    waiting_outside: FxHashMap<String, Vec<UnitId>>,
    attributes: FxHashSet<Name>,
    asked_of_values: FxHashSet<Name>,
    strings: FxHashSet<String>,
    /// Dotted names in strings that begin in the repository.
    dotted_strings: FxHashSet<String>,
    /// Names in code that comes from no file.
    generated: FxHashSet<String>,
    class_locals: FxHashSet<(ModuleId, u32, Name)>,
    /// The side effects of instantiating a class.
    made: RefCell<FxHashMap<Making, Rc<MethodChanges>>>,
    /// The parts of globals that a call of a global changes, apart from its arguments, which differ at each call.
    called: RefCell<FxHashMap<OwnCall, Rc<CallParts>>>,
    /// Modules whose code looks its own globals up by strings.
    asking: FxHashSet<ModuleId>,
    /// True if kept code reads `__all__` of an object that may be any module.
    exports_shown: bool,
    /// True if code that iterates over the names of a module also checks which of them are modules.
    modules_shown: bool,
    /// True if kept code lists the names of an object that may be any module, and filters them by
    /// origin.
    lists_modules: bool,
    /// True if something imports modules by strings.
    imports_by_name: bool,
    /// The kept unit whose needs are being followed.
    processed: Option<UnitId>,
}

impl<'a> Search<'a, '_> {
    fn program(&self) -> &Program<'a> {
        &self.selection.program
    }

    fn place(&self, id: UnitId) -> Place {
        let unit = self.program().get(id);
        Place {
            path: self.program().modules.get(unit.module).path().to_owned(),
            line: unit.first_line,
        }
    }

    // Fixpoint ---------------------------------------------------------------------------------

    fn run(&mut self) {
        loop {
            while let Some(id) = self.work.pop() {
                self.process(id);
            }
            self.processed = None;
            let held =
                |selection: &Selection<'_>| (selection.escaped.len(), selection.listed.len());
            let before = held(&self.selection);
            self.gone_through();
            self.tell_apart();
            self.asked_by_name();
            if self.work.is_empty() && held(&self.selection) == before {
                return;
            }
        }
    }

    fn keep(&mut self, id: UnitId, reason: Reason) {
        if self.selection.chosen.contains_key(&id) {
            return;
        }
        let unit = self.program().get(id);
        if matches!(unit.stmt, Stmt::Import(_) | Stmt::ImportFrom(_)) {
            return;
        }
        let place = self.place(id);
        if self.adjustments.drop.contains(&place) {
            return;
        }
        let chosen = Chosen { reason, nodes: Vec::new(), scan: Scan::default() };
        self.selection.chosen.insert(id, chosen);
        self.work.push(id);
    }

    /// Needs an import from outside under a local name, for the unit that is being processed.
    fn import(&mut self, unit: UnitId, name: Name) {
        let user = self.processed;
        self.selection.imports.entry((unit, name)).or_insert(user);
    }

    fn process(&mut self, id: UnitId) {
        self.processed = Some(id);
        let nodes = self.settle(id);
        let unit = self.program().get(id);
        let scan = scan(&nodes, self.selection.evaluation(unit.module));
        // Whatever it is kept for: a test is asked for by no name.
        let (module, binds) = (unit.module, unit.binds.clone());
        for name in &binds {
            self.changing(module, name);
        }
        let only_exports = !binds.is_empty()
            && binds.iter().all(|name| name == "__all__")
            && !calls_globals(self.program().get(id).stmt);
        // Whoever reads it asks for all that it names.
        if !only_exports || self.exports_asked(module) {
            for reference in scan.references.iter().filter(|reference| !reference.dead) {
                self.refer(id, reference);
            }
            let imports: Vec<&Stmt> = scan
                .imports
                .iter()
                .filter(|import| !import.dead)
                .map(|import| import.stmt)
                .collect();
            for stmt in imports {
                self.inner_import(id, stmt);
            }
            for (asked, local) in self.program().asked_modules(module, &scan) {
                self.module_chain(id, &asked, local);
            }
            for (text, _) in &scan.strings {
                self.dotted_string(id, text);
            }
            // `globals()[name]` finds what the module binds.
            if scan.references.iter().any(|one| &one.name == "globals" && !one.dead) {
                self.asks_for_globals(id);
            }
            if fills_templates(self.program().get(id).stmt, &scan) {
                self.template_names(id, &scan);
            }
            if scan.references.iter().any(|one| &one.name == "__name__" && !one.dead) {
                self.asked_of_itself(id);
            }
            if scan.attributes.contains(&EXPORTS) {
                self.note_shown_exports(id);
            }
            if !scan.listed_values.is_empty() {
                self.lists_values(id, &scan);
            }
            self.attributes.extend(scan.attributes.iter().cloned());
            self.asked_of_values.extend(scan.asked_of_values.iter().cloned());
            if self.program().is_support(module) {
                self.attributes.extend(scan.parameters.iter().cloned());
            }
            self.strings.extend(
                scan.strings
                    .iter()
                    .filter(|(text, _)| is_identifier(text))
                    .map(|(text, _)| text.clone()),
            );
            let source = self.program().modules.get(module).syntax.source();
            let locals: Vec<(ModuleId, u32, Name)> = scan
                .class_locals
                .iter()
                .map(|(start, name)| (module, source.line(*start), name.clone()))
                .collect();
            self.class_locals.extend(locals);
        }
        if let Some(chosen) = self.selection.chosen.get_mut(&id) {
            chosen.nodes = nodes;
            chosen.scan = scan;
        }
    }

    fn require(&mut self, home: ModuleId, name: &Name, reason: Reason) {
        let module = self.program().modules.get(home).name.clone();
        let asked = || self.selection.asked.contains(&(module.clone(), name.clone()));
        if *name == EXPORTS && !asked() || !self.needed.insert((home, name.clone())) {
            return;
        }
        for unit in self.program().binders(home, name) {
            self.keep(unit, reason.clone());
        }
        self.changing(home, name);
    }

    /// Keeps what only changes a global that is in the gist.
    fn changing(&mut self, home: ModuleId, name: &Name) {
        let Some(units) = self.waiting.remove(&(home, name.clone())) else { return };
        let module = self.program().modules.get(home).name.clone();
        for unit in units {
            self.keep(unit, Reason::Changes(module.clone(), name.to_string()));
        }
    }

    /// Keeps what may have changed the state of a module from outside that the gist uses.
    fn changing_outside(&mut self, module: &str) {
        for unit in self.waiting_outside.remove(module).into_iter().flatten() {
            self.keep(unit, Reason::SideEffect);
        }
    }
}

impl Selection<'_> {
    /// Returns true if a module needs an object of its own. Its object escapes and kept code knows
    /// its name, or it must be [told apart](Search::tell_apart).
    pub(crate) fn is_namespace(&self, module: &str) -> bool {
        self.escaped.contains(module) && self.named.contains(module)
    }

    /// Returns true if a target is a list of exports that is kept like any other value.
    pub(crate) fn exports(&self, target: Option<&Target>) -> bool {
        let Some(Target::Own(home, name)) = target else { return false };
        let module = self.program.modules.get(*home).name.clone();
        self.asked.contains(&(module, name.clone()))
    }
}

/// Returns true if a statement calls `globals()`.
pub(crate) fn calls_globals(stmt: &Stmt) -> bool {
    use ruff_python_ast::visitor::{Visitor, walk_expr};
    struct Finder(bool);
    impl<'v> Visitor<'v> for Finder {
        fn visit_expr(&mut self, expr: &'v Expr) {
            if let Expr::Call(call) = expr
                && let Expr::Name(callee) = call.func.as_ref()
            {
                self.0 |= &callee.id == "globals";
            }
            walk_expr(self, expr);
        }
    }
    let mut finder = Finder(false);
    finder.visit_stmt(stmt);
    finder.0
}

pub(crate) fn is_definition(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_))
}

fn each_statement<'a>(body: &'a [Stmt], visit: &mut impl FnMut(&'a Stmt)) {
    scope::for_each_statement(body, &mut |stmt| {
        visit(stmt);
        match stmt {
            Stmt::FunctionDef(function) => each_statement(&function.body, visit),
            Stmt::ClassDef(class) => each_statement(&class.body, visit),
            _ => {}
        }
    });
}
