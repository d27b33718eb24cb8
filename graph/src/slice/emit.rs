//! Puts the kept units, imports and glue in the order of the run and writes the gist and its plan.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{
    Alias, Expr, FString, Stmt, StmtFunctionDef, StringFlags as _,
    name::Name,
    str::Quote,
    visitor::{self, Visitor},
};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;

use super::{
    Adjustments,
    first_use::{self, FirstUse},
    hooks, loggers,
    name::{Naming, key, owners, starred},
    plan::{Gist, Place, Plan, PlannedUnit, Reason},
    program::{Moment, Program, UnitId},
    render::{HOME, RenderedLines, Renderer, import_text},
    scan::{GlobalUsage, GlobalUse},
    select::Selection,
    texts,
};
use crate::{
    deferred::postpones_annotations,
    documented::module_docstring,
    glue::{FilePath, Glue, GlueTarget, Imported, Spelling},
    module::{Module, ModuleId},
    resolve::Target,
    scope,
};

pub(crate) fn emit(
    selection: &Selection<'_>,
    naming: &Naming,
    gist_path: &str,
    adjustments: &Adjustments,
) -> (Plan, Gist) {
    let program = &selection.program;
    let mut edits = naming.edits.clone();
    special_names(selection, gist_path, adjustments, &mut edits);
    for (&id, chosen) in &selection.chosen {
        let module = program.get(id).module;
        if selection.writes_texts(module) {
            let syntax = &program.modules.get(module).syntax;
            texts::write(syntax, &chosen.nodes, edits.entry(module).or_default());
        }
    }
    let first_use = FirstUse::of(selection, naming, adjustments);
    let depth = |moment: Moment| usize::from(first_use.block_at(program, moment).is_some());
    let mut inner = naming.inner.clone();
    for (place, loads) in &first_use.loads {
        let lines = inner.entry(*place).or_default();
        lines.splice(0..0, loads.iter().cloned());
    }
    let inner = by_module(&inner);
    let locals = by_module(&naming.locals);
    let none = FxHashMap::default();

    let mut items: Vec<(Moment, RenderedLines)> = Vec::new();
    for (&id, chosen) in &selection.chosen {
        let unit = program.get(id);
        let module = program.modules.get(unit.module);
        let outside = |level: u32, from: Option<&str>, name: &str| {
            let absolute = program.modules.absolute(unit.module, level, from)?;
            let stays = !program.modules.is_internal(&absolute)
                || program.stays(unit.module, &absolute, &Name::new(name));
            stays.then_some(absolute)
        };
        let place = Place { path: module.path().to_owned(), line: unit.first_line };
        let home = Glue::ClassModule(module.name.clone());
        let is_told = adjustments.homes.contains(&place)
            || selection.homes.contains(&module.name) && program.is_of_itself(id);
        let renderer = Renderer {
            module,
            edits: edits.get(&unit.module),
            inner: inner.get(&unit.module).unwrap_or(&none),
            locals: locals.get(&unit.module).unwrap_or(&none),
            outside: &outside,
            // Those of tests stay as they are, and so do examples that the command runs.
            brief: !adjustments.docstrings && !program.is_support(unit.module),
            home: Some(&home).filter(|_| is_told),
            depth: depth(unit.moment),
        };
        let mut lines = RenderedLines::default();
        let depth = renderer.depth;
        for node in &chosen.nodes {
            renderer.node(node, depth, &mut lines);
        }
        if let Stmt::FunctionDef(StmtFunctionDef { name, .. }) = unit.stmt
            && is_told
        {
            let named = edits.get(&unit.module).and_then(|edits| edits.get(&key(name.range())));
            let function = named.map_or_else(|| name.to_string(), String::clone);
            let glue = Glue::FunctionModule { function, module: module.name.clone() };
            lines.glue(depth, &glue, HOME);
        }
        items.push((unit.moment, lines));
    }
    for &id in &selection.failed {
        items.push((program.get(id).moment, failed_import(selection, id)));
    }
    for glue in &naming.glue {
        let mut lines = RenderedLines::default();
        lines.glue(depth(glue.moment), &glue.glue, &glue.reason);
        items.push((glue.moment, lines));
    }
    for (module, flat) in &naming.objects {
        if let Some(glue) = place_of(selection, gist_path, module, flat) {
            let mut lines = RenderedLines::default();
            lines.glue(0, &glue, "code asks where this module's file is");
            items.push((Moment::START.after(1), lines));
        }
    }
    for (id, glue) in &first_use.early_loads {
        let mut lines = RenderedLines::default();
        let moment = program.get(*id).moment;
        lines.glue(depth(moment), glue, "imported here from inside the repository");
        items.push((moment, lines));
    }
    for &id in &first_use.lazy {
        let moment = program.get(id).moment;
        items.push((moment, announcement(program, id, depth(moment))));
    }
    let mut head = Head::new(selection, naming, &first_use);
    imports(selection, naming, &head, &depth, &mut items);
    items.sort_by(|(left, one), (right, other)| {
        left.cmp(right).then_with(|| one.text.cmp(&other.text))
    });

    let mut all = docstring(selection);
    all.append(head.write(selection, naming, adjustments, &first_use));
    let mut blocks: BTreeMap<ModuleId, RenderedLines> = BTreeMap::new();
    let mut order: Vec<Result<RenderedLines, ModuleId>> = Vec::new();
    for (moment, lines) in items {
        match first_use.block_at(program, moment) {
            Some(module) => {
                if !blocks.contains_key(&module) {
                    order.push(Err(module));
                }
                blocks.entry(module).or_default().append(lines);
            }
            None => order.push(Ok(lines)),
        }
    }
    for one in order {
        match one {
            Ok(lines) => all.append(lines),
            Err(module) => {
                let glue = Glue::Late(program.modules.get(module).name.clone());
                all.glue(0, &glue, "the code of this module runs when it is first used");
                all.append(blocks.remove(&module).unwrap_or_default());
            }
        }
    }
    let kept = program.unit_ids().filter(|id| selection.chosen.contains_key(id));
    let kept = kept.map(|id| program.get(id).stmt).filter(|stmt| hooks::names_plugins(stmt));
    let modules = hooks::outermost_first(program, &selection.hooks);
    let is_internal = |name: &str| program.modules.is_internal(name);
    if let Some(glue) = hooks::statement(modules, kept, is_internal) {
        all.glue(0, &glue, "hooks of conftests and plugins, which are none in a test module");
    }
    if let Some(entry) = &program.trace.entry {
        let reason = "the gist is run in the place of a console script";
        let (script, function) = (entry.script.clone(), entry.attribute.clone());
        all.glue(0, &Glue::EntryPoint { script, function }, reason);
    }
    let mut text = all.text.join("\n");
    text.push('\n');
    (plan(selection, naming), Gist { text, lines: all.origins })
}

/// A lazy import of the repository's, with all names that it binds.
fn announcement(program: &Program<'_>, id: UnitId, depth: usize) -> RenderedLines {
    let names = program.get(id).binds.iter().map(|name| (name.clone(), name.clone()));
    import_lines(program, id, depth, &names.collect::<Vec<_>>())
}

/// Returns the lines of an import that binds some of its names; each pair is a name there and here.
fn import_lines(
    program: &Program<'_>,
    id: UnitId,
    depth: usize,
    names: &[(Name, Name)],
) -> RenderedLines {
    let unit = program.get(id);
    let module = program.modules.get(unit.module);
    let absolute = match unit.stmt {
        Stmt::ImportFrom(import) if import.level > 0 => {
            let from = import.module.as_ref().map(|name| name.as_str());
            program.modules.absolute(unit.module, import.level, from)
        }
        _ => None,
    };
    let mut lines = RenderedLines::default();
    for (text, line, adapted) in import_text(module, unit.stmt, absolute.as_deref(), names) {
        lines.source(depth, &text, Place { path: module.path().to_owned(), line }, adapted);
    }
    lines
}

/// An import of the repository's that ended the command, as it stands there but for the module's name.
fn failed_import(selection: &Selection<'_>, id: UnitId) -> RenderedLines {
    let program = &selection.program;
    let unit = program.get(id);
    let from = match unit.stmt {
        Stmt::ImportFrom(import) => {
            let from = import.module.as_ref().map(|name| name.as_str());
            program.modules.absolute(unit.module, import.level, from)
        }
        _ => None,
    };
    let is_missing = |name: &&Name| {
        from.as_ref().is_some_and(|from| program.resolver.attribute(from, name).is_none())
    };
    let mut names: Vec<&Name> = unit.binds.iter().filter(is_missing).collect();
    if names.is_empty() {
        names = unit.binds.iter().collect();
    }
    let names: Vec<(Name, Name)> =
        names.into_iter().map(|name| (name.clone(), name.clone())).collect();
    import_lines(program, id, 0, &names)
}

/// The docstring that a test of the command is: a module's comes first.
fn docstring(selection: &Selection<'_>) -> RenderedLines {
    let mut lines = RenderedLines::default();
    if let Some((module, stmt)) = selection.docstring {
        let renderer = Renderer {
            module: selection.program.modules.get(module),
            edits: None,
            inner: &FxHashMap::default(),
            locals: &FxHashMap::default(),
            outside: &|_, _, _| None,
            brief: false,
            home: None,
            depth: 0,
        };
        renderer.cut(stmt.range(), 0, None, &mut lines);
    }
    lines
}

/// The lines before everything else except a docstring.
struct Head {
    needs_sys: bool,
    needs_types: bool,
    gist_names: BTreeSet<Name>,
    registered: BTreeSet<String>,
}

impl Head {
    fn new(selection: &Selection<'_>, naming: &Naming, first_use: &FirstUse) -> Self {
        let modules = selection.program.modules;
        let mut registered = BTreeSet::new();
        for module in &selection.registered {
            let mut name = module.as_str();
            while modules.is_internal(name) && !selection.program.holds_extensions(name) {
                if !naming.namespaces.contains(name)
                    && !first_use.is_found(&selection.program, name)
                {
                    registered.insert(name.to_owned());
                }
                match name.rsplit_once('.') {
                    Some((parent, _)) => name = parent,
                    None => break,
                }
            }
        }
        let uses_sys = naming.glue.iter().any(|one| one.glue.needs_sys());
        let uses_sys = uses_sys || selection.program.trace.entry.is_some();
        let has_blocks = first_use.has_blocks();
        let announced = first_use.announced(&selection.program);
        let mut gist_names = naming.gist_names.clone();
        gist_names.retain(|name| !announced.contains(name));
        let needs_sys = uses_sys || has_blocks || !gist_names.is_empty() || !registered.is_empty();
        Self {
            needs_sys,
            needs_types: naming.needs_types || has_blocks || first_use.is_lazy,
            gist_names,
            registered,
        }
    }

    fn write(
        &mut self,
        selection: &Selection<'_>,
        naming: &Naming,
        adjustments: &Adjustments,
        first_use: &FirstUse,
    ) -> RenderedLines {
        let mut lines = RenderedLines::default();
        if selection.future {
            let names = vec![Imported { name: "annotations".to_owned(), asname: None }];
            let future = Glue::ImportFrom { module: "__future__".to_owned(), names };
            standing(selection, &mut lines, &future, |stmt| {
                postpones_annotations(std::slice::from_ref(stmt))
            });
        }
        for (needed, name) in [(self.needs_sys, "sys"), (self.needs_types, "types")] {
            if needed {
                plain_import(selection, &mut lines, name);
            }
        }
        if adjustments.quiet {
            let reason = "Python shows the warnings of a script that it hides of a module";
            lines.glue(0, &Glue::QuietScript, reason);
        }
        for module in &adjustments.imports {
            load(selection, naming, &mut lines, module);
        }
        if first_use.is_lazy {
            let reason = "whoever goes through the gist leaves lazy imports alone";
            lines.glue(0, &Glue::HiddenLazy, reason);
        }
        if first_use.has_blocks() {
            let reason = "the code of some modules runs when they are first used";
            lines.glue(0, &Glue::LateModules, reason);
        }
        let names = self.gist_names.iter().map(Name::to_string);
        let mut targets: Vec<GlueTarget> = names.map(GlueTarget::Name).collect();
        targets.extend(self.registered.iter().cloned().map(GlueTarget::Registered));
        if !targets.is_empty() {
            lines.glue(
                0,
                &Glue::GistModule(targets),
                "the gist stands for the modules of the repository",
            );
        }
        // A line of glue for all of them, however many there are.
        let children = self.registered.iter().filter_map(|module| {
            let (package, name) = module.rsplit_once('.')?;
            let stays = selection.program.holds_extensions(package);
            let (package, name) = (package.to_owned(), name.to_owned());
            stays.then_some(GlueTarget::Child { package, name })
        });
        let children: Vec<GlueTarget> = children.collect();
        if !children.is_empty() {
            let reason = "packages that are still there, for their compiled extensions";
            lines.glue(0, &Glue::GistModule(children), reason);
        }
        lines
    }

    fn has(&self, name: &Name, module: &str) -> bool {
        name == module
            && ((self.needs_sys && module == "sys") || (self.needs_types && module == "types"))
    }
}

/// `import name`, as a line of the original where one has it.
fn plain_import(selection: &Selection<'_>, lines: &mut RenderedLines, name: &str) {
    standing(selection, lines, &Glue::import(name), |stmt| match stmt {
        Stmt::Import(import) => {
            import.names.iter().any(|alias| &alias.name == name && alias.asname.is_none())
        }
        _ => false,
    });
}

/// Whatever import of a module the original has that binds no name of the gist, else `import module`.
fn load(selection: &Selection<'_>, naming: &Naming, lines: &mut RenderedLines, module: &str) {
    let free = |alias: &Alias| {
        let local = alias.asname.as_ref().unwrap_or(&alias.name);
        !naming.taken.contains(&local.id)
    };
    for (_, home) in selection.program.modules.iter() {
        for stmt in home.syntax.body() {
            let found = match stmt {
                Stmt::Import(import) => import
                    .names
                    .iter()
                    .find(|alias| alias.name == *module && (alias.asname.is_none() || free(alias))),
                Stmt::ImportFrom(import) if import.level == 0 => {
                    let from = import.module.as_ref().map_or("", |name| name.as_str());
                    import.names.iter().find(|alias| {
                        let inner =
                            module.strip_prefix(from).and_then(|rest| rest.strip_prefix('.'));
                        let loads = from == module || inner == Some(alias.name.as_str());
                        loads && &alias.name != "*" && free(alias)
                    })
                }
                _ => None,
            };
            let Some(alias) = found else { continue };
            let names = [(scope::local_of_import(alias), scope::local_of_import(alias))];
            for (text, line, adapted) in import_text(home, stmt, None, &names) {
                lines.source(0, &text, Place { path: home.path().to_owned(), line }, adapted);
            }
            return;
        }
    }
    lines.glue(0, &Glue::import(module), "the original loads it before its tests");
}

/// A statement that the gist needs, marked as the original's where some module has it.
fn standing(
    selection: &Selection<'_>,
    lines: &mut RenderedLines,
    glue: &Glue,
    is: impl Fn(&Stmt) -> bool,
) {
    let found = selection.program.modules.iter().find_map(|(_, module)| {
        let stmt = module.syntax.body().iter().find(|stmt| is(stmt))?;
        let line = module.syntax.source().line(stmt.start());
        Some(Place { path: module.path().to_owned(), line })
    });
    match found {
        Some(place) => lines.source(0, &glue.render(), place, false),
        None => lines.glue(0, glue, "needed by the lines below"),
    }
}

fn imports(
    selection: &Selection<'_>,
    naming: &Naming,
    head: &Head,
    depth: &dyn Fn(Moment) -> usize,
    items: &mut Vec<(Moment, RenderedLines)>,
) {
    let program = &selection.program;
    let owners = owners(naming, selection);
    let mut grouped: BTreeMap<(Moment, UnitId), Vec<(Name, Name)>> = BTreeMap::new();
    for ((unit, local), names) in &naming.imports {
        for (flat, moment) in names {
            grouped.entry((*moment, *unit)).or_default().push((local.clone(), flat.clone()));
        }
    }
    for ((moment, id), names) in grouped {
        let unit = program.get(id);
        let names: Vec<(Name, Name)> = names
            .into_iter()
            .filter(|(local, flat)| match unit.stmt {
                Stmt::Import(_) => !(local == flat && head.has(local, local)),
                _ => true,
            })
            .collect();
        // A star that stays brings all that is needed of it, but for what has another name here.
        let stays =
            starred(unit.stmt).is_some() && !naming.replaces_star(selection, id, &names, &owners);
        let star = Name::new_static("*");
        let parts = match stays {
            true => {
                let renamed = names.into_iter().filter(|(local, flat)| local != flat).collect();
                vec![vec![(star.clone(), star)], renamed]
            }
            false => vec![names],
        };
        let mut lines = RenderedLines::default();
        for names in parts.iter().filter(|names| !names.is_empty()) {
            lines.append(import_lines(program, id, depth(moment), names));
        }
        if !lines.text.is_empty() {
            items.push((moment, lines));
        }
    }
}

/// `__file__` of another module, its `__builtins__`, and `__name__` where it shows.
fn special_names(
    selection: &Selection<'_>,
    gist_path: &str,
    adjustments: &Adjustments,
    edits: &mut FxHashMap<ModuleId, BTreeMap<super::name::TextRangeKey, String>>,
) {
    let program = &selection.program;
    let loggers = loggers::named_by_tests(selection);
    for (&id, chosen) in &selection.chosen {
        let unit = program.get(id);
        let module = program.modules.get(unit.module);
        let directory =
            |path: &str| path.rsplit_once('/').map_or(String::new(), |(dir, _)| dir.to_owned());
        // Where the gist stands, tests say of themselves what they are.
        let support = program.is_support(unit.module);
        let stands_there = support && directory(module.path()) == directory(gist_path);
        let names = &chosen.scan.references;
        for reference in names.iter().filter(|_| !support) {
            if let Some(range) = asks_for_files(program, id, reference)
                && let Some(package) = package_of(module)
            {
                edits.entry(unit.module).or_default().insert(key(range), format!("({package:?})"));
            }
        }
        for reference in names.iter().filter(|one| !stands_there || one.name == "__doc__") {
            if reference.usage != GlobalUsage::Load
                || program.resolver.bindings(unit.module, &reference.name).is_some()
            {
                continue;
            }
            let mut range = reference.range;
            let spelling = match reference.name.as_str() {
                "__package__" | "__spec__" if !support => {
                    let Some(package) = package_of(module) else { continue };
                    let mut name = package;
                    if &reference.name == "__spec__" {
                        let Some((part, Some(place))) = reference
                            .chain
                            .first()
                            .filter(|(part, _)| matches!(part.as_str(), "parent" | "name"))
                        else {
                            continue;
                        };
                        range = range.cover(*place);
                        name = if part == "name" { &module.name } else { package };
                    }
                    Spelling::ModuleName(name.to_owned())
                }
                // In the body of a class it is the class's.
                "__doc__" if !reference.late && unit.stmt.is_class_def_stmt() => continue,
                "__doc__" if !inside_double_quotes(unit.stmt, range) => {
                    let python = program.trace.pythons().newest();
                    let body = module.syntax.body();
                    let Some(text) = module_docstring(body, python) else { continue };
                    Spelling::Docstring(text)
                }
                "__file__" => Spelling::File(FilePath::between(gist_path, module.path())),
                _ if support => continue,
                "__builtins__" if program.is_script() && !program.is_main(unit.module) => {
                    Spelling::Builtins
                }
                "__path__" if module.is_package => {
                    let directory = module.path().trim_end_matches("/__init__.py");
                    Spelling::Directory(FilePath::between(gist_path, directory))
                }
                "__name__" if module.name != "__main__" => {
                    // Code that takes a name apart means the one that its module had.
                    let text = module.syntax.source().text();
                    let apart = text[usize::from(reference.range.end())..].starts_with('.');
                    let is_logger =
                        || loggers::is_named(&loggers, &module.name, text, reference.range);
                    if !apart && !adjustments.module_names && !is_logger() {
                        continue;
                    }
                    Spelling::ModuleName(module.name.clone())
                }
                _ => continue,
            };
            let mut text = spelling.render();
            if matches!(spelling, Spelling::File(_)) && is_operand(unit.stmt, reference.range) {
                text = format!("({text})");
            }
            if inside_double_quotes(unit.stmt, range) {
                text = text.replace('"', "'");
            }
            edits.entry(unit.module).or_default().insert(key(range), text);
        }
    }
}

/// The empty parentheses of `importlib.resources.files()`, which asks for the files of the module that calls it from 3.12
/// on. Before, the call raises a `TypeError` and stays as it is.
pub(super) fn asks_for_files(
    program: &Program<'_>,
    unit: UnitId,
    reference: &GlobalUse,
) -> Option<TextRange> {
    if program.trace.pythons().newest() < (3, 12) {
        return None;
    }
    let Target::External(module, attribute) =
        program.target(unit, &reference.name, reference.late)?
    else {
        return None;
    };
    let chain = attribute.iter().chain(reference.chain.iter().map(|(name, _)| name));
    let dotted = chain.fold(module, |dotted, name| format!("{dotted}.{name}"));
    if dotted != "importlib.resources.files" {
        return None;
    }
    let end = match reference.chain.last() {
        Some((_, place)) => (*place)?.end(),
        None => reference.range.end(),
    };
    let source = program.modules.get(program.get(unit).module).syntax.source();
    let is_empty = source.text()[usize::from(end)..].starts_with("()");
    is_empty.then(|| TextRange::at(end, 2.into()))
}

/// The package that a module is, or is in.
pub(super) fn package_of(module: &Module) -> Option<&str> {
    match module.is_package {
        true => Some(&module.name),
        false => module.name.rsplit_once('.').map(|(package, _)| package),
    }
}

/// Returns the glue that gives a module's object the path of the module's file, if code reads that.
fn place_of(selection: &Selection<'_>, gist_path: &str, module: &str, flat: &Name) -> Option<Glue> {
    let modules = selection.program.modules;
    let found = modules.find(module).filter(|_| selection.placed.contains(module));
    let registered = selection.registered.contains(module);
    let module = modules.get(found?);
    let directory = module.path().strip_suffix("/__init__.py").filter(|_| module.is_package);
    Some(Glue::Located {
        object: flat.to_string(),
        file: FilePath::between(gist_path, module.path()),
        directory: directory.map(|path| FilePath::between(gist_path, path)),
        // Whoever finds it by its name asks its spec for a loader.
        spec: registered.then(|| module.name.clone()),
    })
}

/// Returns true if an expression is a part of another one that binds its parts as tightly as an addition, or more.
///
/// ```python
/// __file__.split("/")   # and `__file__[1:]`, `"%s" % __file__`
/// ```
fn is_operand(stmt: &Stmt, range: TextRange) -> bool {
    struct Finder(TextRange, bool);
    impl<'v> Visitor<'v> for Finder {
        fn visit_expr(&mut self, expr: &'v Expr) {
            let is_it = |part: &Expr| part.range() == self.0;
            self.1 |= match expr {
                Expr::Attribute(attribute) => is_it(&attribute.value),
                Expr::Subscript(subscript) => is_it(&subscript.value),
                Expr::BinOp(operation) => is_it(&operation.left) || is_it(&operation.right),
                Expr::Call(call) => is_it(&call.func),
                _ => false,
            };
            visitor::walk_expr(self, expr);
        }
    }
    let mut finder = Finder(range, false);
    finder.visit_stmt(stmt);
    finder.1
}

/// Returns true if a place is inside an f-string in double quotes. Interpreters below 3.12 allow no
/// double quotes there.
fn inside_double_quotes(stmt: &Stmt, range: TextRange) -> bool {
    struct Finder(TextRange, bool);
    impl<'v> Visitor<'v> for Finder {
        fn visit_f_string(&mut self, string: &'v FString) {
            let double = string.flags.quote_style() == Quote::Double;
            self.1 |= double && string.range.contains_range(self.0);
            visitor::walk_f_string(self, string);
        }
    }
    let mut finder = Finder(range, false);
    finder.visit_stmt(stmt);
    finder.1
}

/// Returns the facts by module and place, module by module.
fn by_module(
    all: &FxHashMap<(ModuleId, u32), Vec<Glue>>,
) -> FxHashMap<ModuleId, FxHashMap<u32, Vec<Glue>>> {
    let mut found: FxHashMap<ModuleId, FxHashMap<u32, Vec<Glue>>> = FxHashMap::default();
    for ((module, start), lines) in all {
        found.entry(*module).or_default().insert(*start, lines.clone());
    }
    found
}

fn plan(selection: &Selection<'_>, naming: &Naming) -> Plan {
    let program = &selection.program;
    let mut kept: Vec<(Moment, PlannedUnit)> = Vec::new();
    let mut dropped: Vec<PlannedUnit> = Vec::new();
    let mut lengths = BTreeMap::new();
    let imported: BTreeSet<UnitId> = naming.imports.keys().map(|(unit, _)| *unit).collect();
    for id in program.unit_ids() {
        let unit = program.get(id);
        let source = program.modules.get(unit.module).syntax.source();
        if !lengths.contains_key(source.path()) {
            let lines = source.text().lines().count().try_into().unwrap_or(u32::MAX);
            lengths.insert(source.path().to_owned(), lines);
        }
        let entry = |reason| PlannedUnit {
            place: Place { path: source.path().to_owned(), line: unit.first_line },
            last_line: source.line_span(unit.stmt.range()).1,
            binds: unit.binds.iter().map(Name::to_string).collect(),
            reason,
        };
        match selection.chosen.get(&id) {
            Some(chosen) => kept.push((unit.moment, entry(chosen.reason.clone()))),
            None if imported.contains(&id) => {
                kept.push((unit.moment, entry(import_reason(selection, id))));
            }
            None if selection.failed.contains(&id) => {
                kept.push((unit.moment, entry(Reason::Ends)));
            }
            None if program.imports_internal(unit.module, unit.stmt) => {
                dropped.push(entry(Reason::InternalImport))
            }
            None => dropped.push(entry(Reason::Unreferenced)),
        }
    }
    kept.sort_by_key(|(moment, _)| *moment);
    let mut stubs: Vec<Place> = selection.stubs.iter().cloned().collect();
    stubs.sort_unstable();
    let mut dropped_stubs: Vec<(Place, String)> =
        selection.dropped_stubs.iter().map(|(place, name)| (place.clone(), name.clone())).collect();
    dropped_stubs.sort_unstable();
    let mut notes: Vec<String> = selection.notes.iter().chain(&naming.notes).cloned().collect();
    notes.sort_unstable();
    notes.dedup();
    Plan {
        kept: kept.into_iter().map(|(_, kept)| kept).collect(),
        dropped,
        stubs,
        dropped_stubs,
        collisions: naming.collisions.clone(),
        imported: Vec::new(),
        mixed: selection.future && selection.mixes_futures(),
        late: first_use::may_matter(selection),
        notes,
        lengths,
    }
}

/// Returns the reason for an import from outside: its first user among the kept units, in their order. An import without
/// one is its own reason.
fn import_reason(selection: &Selection<'_>, import: UnitId) -> Reason {
    let program = &selection.program;
    let users = selection.imports.iter().filter(|((unit, _), _)| *unit == import);
    let users = users.map(|((_, name), user)| (user.unwrap_or(import), name));
    let (user, name) =
        users.min().map_or((import, String::new()), |(user, name)| (user, name.to_string()));
    let unit = program.get(user);
    let path = program.modules.get(unit.module).path().to_owned();
    Reason::Import(Place { path, line: unit.first_line }, name)
}
