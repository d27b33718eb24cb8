//! Names asked of modules whose objects are passed around: by strings, `globals()` or code from no file.

use std::collections::BTreeMap;

use ruff_python_ast::{
    Comprehension, Expr, Stmt,
    name::Name,
    visitor::{Visitor, walk_comprehension, walk_expr, walk_stmt},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{COMPILER, Chosen, Search, calls_globals, is_definition, is_place};
use crate::{
    module::ModuleId,
    resolve::Target,
    scope,
    slice::{
        by_name,
        plan::{Place, Reason},
        program::UnitId,
        scan::Scan,
    },
    trace::Value,
};

/// The names of what puts something in the place of an attribute.
const REPLACING: [&str; 4] = ["delattr", "object", "patch", "setattr"];

impl Search<'_, '_> {
    /// Makes a module an object with all its names, because code iterates over them.
    pub(super) fn listed(&mut self, module: &str) {
        for modules in
            [&mut self.selection.escaped, &mut self.selection.named, &mut self.selection.listed]
        {
            modules.insert(module.to_owned());
        }
    }

    /// A unit asks for the globals of its module: by a name, or to go through them all.
    pub(super) fn asks_for_globals(&mut self, id: UnitId) {
        let program = self.program();
        let (stmt, module) = (program.get(id).stmt, program.get(id).module);
        let home = program.modules.get(module);
        let (source, ran) = (home.syntax.source(), program.ran(module));
        let mut goes = goes_through_globals(std::slice::from_ref(stmt));
        scope::for_each_function(std::slice::from_ref(stmt), &mut |_, function| {
            let mut body = function.body.iter();
            // What runs while modules do, runs before its object has what comes later.
            goes |= goes_through_globals(&function.body)
                && body.clone().any(|stmt| ran.statement(source, stmt))
                && !body.any(|stmt| ran.statement_early(source, stmt));
        });
        if goes && !program.is_support(module) {
            let name = home.name.clone();
            self.listed(&name);
        }
        self.asking.insert(module);
    }

    /// A unit lists the names of what a variable holds: that may be any module that it imports by name.
    pub(super) fn lists_values(&mut self, id: UnitId, scan: &Scan<'_>) {
        let says = |name: &str| {
            let mut references = scan.references.iter().filter(|one| !one.dead);
            scan.attributes.contains(name) || references.any(|one| one.name == name)
        };
        self.modules_shown |= says("ModuleType") || says("ismodule");
        // What is a module's own has come from what has the module's name.
        self.lists_modules |= scan.asked_of_values.contains("__module__")
            && scan.listed_values.iter().any(|name| scan.named_values.contains(name));
        let leads = says("__import__");
        if !leads && !says("import_module") {
            return;
        }
        let program = self.program();
        let unit = program.get(id);
        let module = program.modules.get(unit.module);
        let source = module.syntax.source();
        let is_here = |place: &Place| {
            place.path == module.path() && by_name::stands_in(source, unit.stmt, place.line)
        };
        let names = scan.strings.iter().map(|(text, _)| text.as_str());
        let named = names.filter(|text| program.modules.find(text).is_some());
        let computed = program.modules.iter().filter(|(_, module)| {
            let importer =
                program.trace.file(module.path()).and_then(|file| file.importer.as_ref());
            importer.is_some_and(is_here)
        });
        let computed = computed.map(|(_, module)| module.name.as_str());
        for module in named.chain(computed).map(str::to_owned).collect::<Vec<_>>() {
            self.listed(&module);
            if leads {
                self.lead_to(&module);
            }
            self.selection.registered.insert(module);
        }
    }

    /// `__import__("package.module")` gives the package, by whose attributes code goes on.
    fn lead_to(&mut self, module: &str) {
        for (at, _) in module.match_indices('.') {
            let package = module[..at].to_owned();
            let name = module[at + 1..].split('.').next().unwrap_or_default();
            for modules in [
                &mut self.selection.escaped,
                &mut self.selection.named,
                &mut self.selection.registered,
            ] {
                modules.insert(package.clone());
            }
            self.selection.dotted.insert((package, Name::new(name)));
        }
    }

    /// Fills the object of a module: every name of the module that kept code mentions, and every
    /// name that the module's own code binds through `globals()`.
    fn fill_namespace(&mut self, id: ModuleId, module: &str) {
        let held = self.program().trace.modules.get(module);
        let all = self.selection.listed.contains(module);
        let names: Vec<Name> = held
            .iter()
            .flat_map(|held| held.names.keys())
            .map(Name::new)
            .filter(|name| all || self.attributes.contains(name) || self.mentions(id, name))
            .collect();
        for name in names {
            match self.program().resolver.attribute(module, &name) {
                Some(Target::Own(home, own)) => {
                    let reason = Reason::Demanded(module.to_owned(), name.to_string());
                    self.selection.asked.insert((module.to_owned(), name.clone()));
                    self.require(home, &own, reason);
                }
                Some(Target::Module(inner)) if all && self.modules_shown => self.listed(&inner),
                Some(Target::Module(inner)) => {
                    // Nothing tells what is asked of it through such an object, either.
                    self.selection.named.insert(inner.clone());
                    self.selection.escaped.insert(inner);
                }
                Some(Target::External(from, _)) if from == COMPILER => continue,
                Some(Target::External(..)) => {
                    // Without a statement that binds it, its own code put it there.
                    if self.program().resolver.home(id, &name).is_none() {
                        continue;
                    }
                    self.require_import(id, &name, true);
                }
                Some(Target::Builtin(_)) | None => continue,
            }
            self.selection.asked.insert((module.to_owned(), name));
        }
        for unit in self.program().units_of(id).to_vec() {
            let stmt = self.program().get(unit).stmt;
            if !is_definition(stmt) && calls_globals(stmt) {
                self.keep(unit, Reason::Demanded(module.to_owned(), "globals()".to_owned()));
            }
        }
    }

    /// Returns true if a string of kept code equals this name of a module, or exec'd code mentions
    /// the name. Ignores exec'd code for a function that was never called: it probably mentions a
    /// method.
    fn mentions(&self, module: ModuleId, name: &Name) -> bool {
        let target = || self.program().resolver.resolve(module, name);
        self.strings.contains(name.as_str())
            || self.generated.contains(name.as_str())
                && !target().is_some_and(|target| self.is_idle_function(&target))
    }

    /// Finds modules whose objects escape, and which bind one name to different kept things, if
    /// code reads that name from an unknown module. Each gets an object of its own. So do all of
    /// them if code reads the path of an unknown module.
    pub(super) fn tell_apart(&mut self) {
        let program = self.program();
        let is_kept = |home: ModuleId, own: &Name| {
            let mut binders = program.binders(home, own).into_iter();
            binders.any(|unit| self.selection.chosen.contains_key(&unit))
        };
        let mut holders: BTreeMap<&Name, Vec<(Target, &String)>> = BTreeMap::new();
        for module in &self.selection.escaped {
            let Some(id) = program.modules.find(module) else { continue };
            let names = program.resolver.names(id).into_iter();
            for name in names.filter(|name| self.asked_of_values.contains(*name)) {
                if let Some(Target::Own(home, own)) = program.resolver.resolve(id, name)
                    && is_kept(home, &own)
                {
                    holders.entry(name).or_default().push((Target::Own(home, own), module));
                }
            }
        }
        let modules = self.selection.escaped.iter();
        let modules: Vec<String> =
            modules.filter(|module| program.modules.find(module).is_some()).cloned().collect();
        if self.asked_of_values.iter().any(is_place) {
            self.selection.named.extend(modules.iter().cloned());
            self.selection.placed.extend(modules.iter().cloned());
        }
        let contended = holders.into_values().filter(|all| all.iter().any(|one| one.0 != all[0].0));
        let contended: Vec<String> =
            contended.flatten().map(|(_, module)| module.clone()).collect();
        self.selection.named.extend(contended);
        self.replaced_names();
        if self.lists_modules {
            modules.iter().for_each(|module| self.listed(module));
        }
        if self.asked_of_values.contains("__module__") {
            let listed = self.selection.listed.clone();
            self.selection.registered.extend(listed.iter().cloned());
            self.selection.homes = listed;
        }
    }

    /// Finds modules in which kept code replaces a name, as `monkeypatch.setattr(module, "name",
    /// fake)` does.
    ///
    /// Such a module gets an object of its own if another kept module has the same thing and must
    /// keep the original. If the module's own functions use the name, they would miss the
    /// replacement, so it gets none.
    fn replaced_names(&mut self) {
        let program = self.program();
        let replaces = |chosen: &&Chosen<'_>| {
            let mut references = chosen.scan.references.iter().map(|one| &one.name);
            let is_one = |name: &Name| REPLACING.contains(&name.as_str());
            chosen.scan.attributes.iter().any(is_one) || references.any(is_one)
        };
        let replacing = self.selection.chosen.values().filter(replaces);
        let strings: FxHashSet<&str> =
            replacing.flat_map(|one| &one.scan.strings).map(|(text, _)| text.as_str()).collect();
        if strings.is_empty() {
            return;
        }
        let mut users: FxHashMap<(ModuleId, &Name), FxHashSet<ModuleId>> = FxHashMap::default();
        for (id, chosen) in &self.selection.chosen {
            let user = program.get(*id).module;
            for reference in chosen.scan.references.iter().filter(|one| one.late && !one.dead) {
                if let Some(Target::Own(home, own)) = program.target(*id, &reference.name, true)
                    && own == reference.name
                {
                    users.entry((home, &reference.name)).or_default().insert(user);
                }
            }
        }
        let named = |module: &str, name: &Name| {
            strings.contains(&*format!("{module}.{name}"))
                || strings.contains(name.as_str()) && self.selection.escaped.contains(module)
        };
        let replaced = users.into_iter().filter_map(|((home, name), users)| {
            let module = &program.modules.get(home).name;
            let is_apart = !users.contains(&home) && !program.is_support(home);
            (is_apart && named(module, name)).then(|| module.clone())
        });
        let replaced: Vec<String> = replaced.collect();
        for module in replaced {
            self.selection.escaped.insert(module.clone());
            self.selection.named.insert(module);
        }
    }

    /// Names that kept code asks of a module whose object it holds: strings it mentions.
    pub(super) fn asked_by_name(&mut self) {
        let escaped: Vec<String> = self.selection.escaped.iter().cloned().collect();
        let held = escaped.iter().filter_map(|module| self.program().modules.find(module));
        let asking: FxHashSet<ModuleId> = held.chain(self.asking.iter().copied()).collect();
        for id in asking {
            let module = self.program().modules.get(id).name.clone();
            if self.shows_exports(id) {
                self.selection.named.insert(module.clone());
            }
            // What holds hooks is there for pytest alone.
            let asked = self.adjustments.namespaces.contains(&module);
            if self.selection.hooks.contains_key(&module) && !asked {
                continue;
            }
            if self.selection.is_namespace(&module) {
                self.fill_namespace(id, &module);
                continue;
            }
            let mut asked: Vec<Name> = self
                .program()
                .resolver
                .names(id)
                .into_iter()
                .filter(|name| !name.starts_with("__") && self.mentions(id, name))
                .cloned()
                .collect();
            // What a module held without a statement that binds it may be asked for as an attribute.
            if let Some(held) = self.program().trace.modules.get(&module) {
                let dynamic =
                    held.names.iter().filter(|(_, value)| !matches!(value, Value::Module(_)));
                asked.extend(
                    dynamic.map(|(name, _)| Name::new(name)).filter(|name| self.mentions(id, name)),
                );
            }
            for name in asked {
                if let Some(Target::Own(home, own)) = self.program().resolver.resolve(id, &name) {
                    self.require(home, &own, Reason::Demanded(module.clone(), name.to_string()));
                }
            }
        }
    }
}

/// Returns true if code iterates over all globals of its module. Ignores functions and classes in
/// it.
pub(crate) fn goes_through_globals(body: &[Stmt]) -> bool {
    let mut finder = Through(false);
    finder.visit_body(body);
    finder.0
}

struct Through(bool);

impl Through {
    const TAKE_ALL: [&str; 11] = [
        "dict",
        "enumerate",
        "filter",
        "frozenset",
        "iter",
        "list",
        "map",
        "set",
        "sorted",
        "tuple",
        "zip",
    ];

    fn note(&mut self, gone_through: &Expr) {
        let call = gone_through.as_call_expr();
        let name = call.and_then(|call| call.func.as_name_expr());
        self.0 |= name.is_some_and(|name| &name.id == "globals");
    }
}

impl<'v> Visitor<'v> for Through {
    fn visit_stmt(&mut self, stmt: &'v Stmt) {
        match stmt {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return,
            Stmt::For(node) => self.note(&node.iter),
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_comprehension(&mut self, node: &'v Comprehension) {
        self.note(&node.iter);
        walk_comprehension(self, node);
    }

    fn visit_expr(&mut self, expr: &'v Expr) {
        match expr {
            Expr::Starred(all) => self.note(&all.value),
            Expr::Dict(dict) => {
                let unpacked = dict.items.iter().filter(|item| item.key.is_none());
                unpacked.for_each(|item| self.note(&item.value));
            }
            Expr::Call(call) => match call.func.as_ref() {
                Expr::Attribute(method)
                    if matches!(method.attr.as_str(), "copy" | "items" | "keys" | "values") =>
                {
                    self.note(&method.value);
                }
                Expr::Name(name) if Self::TAKE_ALL.contains(&name.id.as_str()) => {
                    call.arguments.args.iter().for_each(|argument| self.note(argument));
                }
                _ => {}
            },
            _ => {}
        }
        walk_expr(self, expr);
    }
}
