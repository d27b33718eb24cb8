//! Writes the glue for the names of a gist: aliases, restores, imports under their names, and the
//! objects of modules.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Stmt, name::Name};
use ruff_text_size::Ranged;

use super::{super::failed::on_one_line, Event, Namer, Referent, key, variable_name};
use crate::{
    glue::{Glue, GlueTarget, Held, Imported, Spelling},
    module::ModuleId,
    resolve::{BindingKind, Target},
    slice::{
        program::{Moment, UnitId},
        scan::GlobalUse,
        select::goes_through_globals,
    },
    trace::Value,
};

/// An attribute of an object in the place of a module with its value, and when that is bound.
type BoundHeld = (Moment, (String, Held));

impl Namer<'_, '_> {
    /// Keeps a thing reachable under its other name once the contested one may hold something else.
    pub(super) fn alias(&mut self, name: &Name, thing: &Referent) {
        if self.book.captured.contains_key(thing) {
            return;
        }
        let flat = self.flat(name, thing);
        let reason = format!("`{name}` also stands for something else");
        match thing {
            Referent::Own(_, own) if own == name => {
                let alias = if &flat == name { self.alias_of_winner(name, thing) } else { flat };
                if let Some(defined) = self.definition(thing) {
                    self.glue(defined.after(1), Glue::alias(alias, name.as_str()), reason);
                }
            }
            Referent::Builtin(_) if &flat != name => {
                self.glue(Moment::START, Glue::alias(flat, name.as_str()), reason);
            }
            Referent::Gist if &flat != name => {
                self.naming.gist_names.insert(flat);
            }
            Referent::External(..) if &flat == name => {
                let alias = self.alias_of_winner(name, thing);
                if let Some(unit) = self.import_of(name, thing) {
                    let moment = self.selection.program.get(unit).moment;
                    let key = (unit, name.clone());
                    self.naming.imports.entry(key).or_default().push((alias, moment));
                } else if let Some((moment, own)) = self.book.nested.get(thing) {
                    self.glue(moment.after(1), Glue::alias(alias, own.as_str()), reason);
                }
            }
            Referent::Own(..)
            | Referent::Gist
            | Referent::Builtin(_)
            | Referent::Namespace(_)
            | Referent::External(..)
            | Referent::Missing(..) => {}
        }
    }

    /// Gives contested names back to their winners.
    pub(super) fn restores(&mut self, contested: &[Name]) {
        for name in contested {
            let states = self.states[name].clone();
            let winner = states[0].1.clone();
            for (moment, thing) in &states[1..] {
                if thing != &winner || moment.rank < 3 {
                    continue;
                }
                let reason = format!("`{name}` stands for something else in between");
                match &winner {
                    Referent::Builtin(_) => {
                        self.glue(*moment, Glue::Delete(name.to_string()), reason)
                    }
                    Referent::Missing(..) => {}
                    Referent::Gist => {
                        let targets = vec![GlueTarget::Name(name.to_string())];
                        self.glue(*moment, Glue::GistModule(targets), reason)
                    }
                    Referent::Namespace(_) => {
                        // The object has another name from the start, asked for under one that no code has.
                        let key = (Name::new(format!("{name}.")), winner.clone());
                        if !self.flat.contains_key(&key) {
                            let alias = self.alias_of_winner(name, &winner);
                            self.flat.insert(key.clone(), alias);
                        }
                        let glue = Glue::alias(name.as_str(), self.flat[&key].as_str());
                        self.glue(*moment, glue, reason);
                    }
                    Referent::Own(_, own) => {
                        let alias = if own == name {
                            self.alias_of_winner(name, &winner)
                        } else {
                            self.flat(own, &winner)
                        };
                        if own == name
                            && let Some(defined) = self.definition(&winner)
                        {
                            self.glue(
                                defined.after(1),
                                Glue::alias(alias.as_str(), name.as_str()),
                                reason.clone(),
                            );
                        }
                        self.glue(*moment, Glue::alias(name.as_str(), alias), reason);
                    }
                    Referent::External(..) => {
                        let unit = self.import_of(name, &winner);
                        if let Some(unit) = unit {
                            self.naming
                                .imports
                                .entry((unit, name.clone()))
                                .or_default()
                                .push((name.clone(), *moment));
                        } else if let Some((bound, own)) = self.book.nested.get(&winner) {
                            let alias = self.alias_of_winner(name, &winner);
                            let saved = Glue::alias(alias.as_str(), own.as_str());
                            self.glue(bound.after(1), saved, reason.clone());
                            self.glue(*moment, Glue::alias(name.as_str(), alias), reason);
                        }
                    }
                }
            }
        }
    }

    fn import_of(&self, name: &Name, thing: &Referent) -> Option<UnitId> {
        let mut units: Vec<UnitId> = self
            .selection
            .imports
            .keys()
            .filter(|(unit, local)| {
                local == name && self.import_thing(*unit, local).as_ref() == Some(thing)
            })
            .map(|(unit, _)| *unit)
            .collect();
        units.sort_by_key(|&unit| self.selection.program.get(unit).moment);
        units.first().copied()
    }

    fn import_thing(&self, unit: UnitId, local: &Name) -> Option<Referent> {
        let program = &self.selection.program;
        let entry = program.get(unit);
        let all = program.resolver.bindings(entry.module, local)?;
        match &all.iter().find(|one| one.at == entry.stmt.start())?.kind {
            BindingKind::Import { bound, .. } => Some(Referent::External(bound.clone(), None)),
            BindingKind::From { module, name } => {
                Some(Referent::External(module.clone(), Some(name.clone())))
            }
            BindingKind::Own => None,
        }
    }

    /// Aliases for things that are wanted under a name that no text of theirs binds.
    pub(super) fn provide(&mut self) {
        for (name, uses) in &self.book.uses {
            let wanted: BTreeSet<&Referent> = uses.iter().map(|one| &one.thing).collect();
            for thing in wanted {
                self.provide_imported(name, thing);
                if self.flat.get(&(name.clone(), thing.clone())) != Some(name) {
                    continue;
                }
                match thing {
                    Referent::Gist => {
                        self.naming.gist_names.insert(name.clone());
                    }
                    Referent::Own(home, own)
                        if own != name && !self.is_replaced(*home, own, name) =>
                    {
                        let Some(defined) = self.definition(thing) else { continue };
                        // Right after the definition its own name still holds it.
                        let source = match self.book.captured.contains_key(thing) {
                            true => self.flat(own, thing),
                            false => own.clone(),
                        };
                        let glue = Glue::alias(name.as_str(), source);
                        self.glue(defined.after(2), glue, "imported under another name".to_owned());
                    }
                    Referent::External(package, Some(own)) => {
                        self.provide_extension(name, package, own, thing);
                        self.provide_answered(name, package, own, thing);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Returns true if a module held its definition under another name, and something else under
    /// the definition's own. A decorator may do so; then the gist gets both.
    fn is_replaced(&self, home: ModuleId, own: &Name, name: &Name) -> bool {
        let program = &self.selection.program;
        let module = &program.modules.get(home).name;
        let held = program.trace.modules.get(module);
        let is_it = |name: &Name| {
            let value = held?.names.get(name.as_str())?;
            Some(match value {
                Value::Class(of, called) | Value::Function(of, called) => {
                    of == module && called == own.as_str()
                }
                Value::Module(_) | Value::Other(_) => false,
            })
        };
        is_it(name) == Some(true) && is_it(own) == Some(false)
    }

    /// Binds what an import of another module brought in under another name, in a block or not.
    fn provide_imported(&mut self, name: &Name, thing: &Referent) {
        if !matches!(thing, Referent::External(..)) || self.import_of(name, thing).is_some() {
            return;
        }
        let flat = self.flat(name, thing);
        let (moment, own) = match self.book.nested.get(thing) {
            Some((moment, own)) => (*moment, own.clone()),
            None => {
                let others = self.selection.imports.keys().filter(|(unit, local)| {
                    local != name && self.import_thing(*unit, local).as_ref() == Some(thing)
                });
                let moment = |unit: &UnitId| self.selection.program.get(*unit).moment;
                let first = others.min_by_key(|(unit, local)| (moment(unit), local.clone()));
                let Some((unit, local)) = first else { return };
                (moment(unit), self.flat(local, thing))
            }
        };
        if flat != own {
            let glue = Glue::alias(flat, own);
            self.glue(moment.after(2), glue, "imported under another name".to_owned());
        }
    }

    /// Gives packages that stay importable the names that are asked of them.
    pub(super) fn provide_packages(&mut self) {
        let program = &self.selection.program;
        let mut asked: Vec<&(String, Name)> = self.selection.dotted.iter().collect();
        asked.sort_unstable();
        for (package, name) in asked {
            let target = program.resolver.attribute(package, name);
            let Some(Target::Own(home, own)) = target.filter(|_| program.holds_extensions(package))
            else {
                continue;
            };
            let thing = Referent::Own(home, own.clone());
            let Some(defined) = self.definition(&thing) else { continue };
            let source = self.flat(&own, &thing).to_string();
            let (package, name) = (package.clone(), name.to_string());
            let reason = format!("`{package}` is still there, for its compiled extensions");
            self.glue(defined.after(3), Glue::PackageName { package, name, source }, reason);
        }
    }

    /// Imports what a module answers for where a test does, whose own imports of it go.
    fn provide_answered(&mut self, name: &Name, package: &str, own: &Name, thing: &Referent) {
        let program = &self.selection.program;
        if !program.is_answered(package, own) {
            return;
        }
        let uses = self.book.uses.get(name).into_iter().flatten();
        let pinned = uses.filter(|one| one.pinned && one.thing == *thing);
        let Some(moment) = pinned.map(|one| program.get(one.unit).moment).min() else { return };
        let asname = (own != name).then(|| name.to_string());
        let names = vec![Imported { name: own.to_string(), asname }];
        let glue = Glue::ImportFrom { module: package.to_owned(), names };
        self.glue(moment, glue, format!("the `__getattr__` of `{package}` gives it"));
    }

    /// Binds a compiled extension that the original reaches as an attribute of its package.
    fn provide_extension(&mut self, name: &Name, package: &str, own: &Name, thing: &Referent) {
        let program = &self.selection.program;
        let extension = format!("{package}.{own}");
        let bound = |event: &Event| &event.thing == thing;
        if !program.trace.compiled.contains_key(&extension)
            || self.book.events.get(name).is_some_and(|events| events.iter().any(bound))
        {
            return;
        }
        let loads = |stmt: &Stmt| match stmt {
            Stmt::Import(import) => import.names.iter().any(|alias| alias.name == *extension),
            _ => false,
        };
        let moments = program.unit_ids().map(|id| program.get(id));
        let moment = moments.filter(|unit| loads(unit.stmt)).map(|unit| unit.moment).min();
        let names = vec![Imported { name: own.to_string(), asname: None }];
        let glue = Glue::ImportFrom { module: package.to_owned(), names };
        let reason = format!("`{extension}` is compiled and stays importable");
        self.glue(moment.unwrap_or(Moment::START), glue, reason);
    }

    pub(super) fn write_imports(&mut self) {
        let mut seen: BTreeSet<(Referent, String, Name)> = BTreeSet::new();
        let mut chosen: Vec<&(UnitId, Name)> = self.selection.imports.keys().collect();
        chosen.sort_by_key(|(unit, name)| (self.selection.program.get(*unit).moment, name.clone()));
        for (unit, local) in chosen {
            let moment = self.selection.program.get(*unit).moment;
            let Some(thing) = self.import_thing(*unit, local) else {
                self.naming
                    .imports
                    .entry((*unit, local.clone()))
                    .or_default()
                    .push((local.clone(), moment));
                continue;
            };
            let flat = self.flat(local, &thing);
            let loaded = self.loaded(*unit, local);
            if seen.insert((thing, loaded, flat.clone())) {
                self.naming.imports.entry((*unit, local.clone())).or_default().push((flat, moment));
            }
        }
    }

    fn loaded(&self, unit: UnitId, local: &Name) -> String {
        let program = &self.selection.program;
        let entry = program.get(unit);
        let binding = program
            .resolver
            .bindings(entry.module, local)
            .and_then(|all| all.iter().find(|one| one.at == entry.stmt.start()));
        match binding.map(|one| &one.kind) {
            Some(BindingKind::Import { loaded, .. }) => loaded.clone(),
            _ => String::new(),
        }
    }

    pub(super) fn write_inner(&mut self) {
        for &key in &self.book.vanished {
            self.naming.inner.entry(key).or_default();
        }
        for (key, text) in &self.book.failed {
            let text = on_one_line(text);
            // A function can have no star: its module is what cannot be loaded.
            let star = text.strip_prefix("from ").and_then(|rest| rest.strip_suffix(" import *"));
            let glue = star.map(Glue::import).or_else(|| Glue::parse_text(&text));
            self.naming.inner.insert(*key, glue.into_iter().collect());
        }
        for inner in &self.book.inner {
            let flat = self.flat(&inner.wanted, &inner.thing);
            let lines = self.naming.inner.entry((inner.module, inner.start)).or_default();
            if flat != inner.local {
                lines.push(Glue::alias(inner.local.as_str(), flat));
            } else if inner.stays {
                // Local to the function, so that the global of this name is out of sight.
                lines.push(Glue::Global(inner.local.to_string()));
            }
        }
    }

    /// `name += value` adds to what another module has under its own name.
    pub(super) fn write_augmented(&mut self) {
        for (unit, name, thing) in &self.book.augmented {
            let Referent::Own(_, own) = thing else { continue };
            let unit = self.selection.program.get(*unit);
            let here = self.flat(name, &Referent::Own(unit.module, name.clone()));
            let there = self.flat(own, thing);
            let reason = "added to here, and bound anew";
            self.glue(unit.moment.after(-1), Glue::alias(here, there), reason.to_owned());
        }
    }

    /// Binds imported names that are variables separate from their source, when they were imported.
    pub(super) fn write_captured(&mut self) {
        for (thing, (source, moment)) in &self.book.captured {
            let (Referent::Own(_, name), Referent::Own(_, own)) = (thing, source) else { continue };
            let glue = Glue::alias(self.flat(name, thing), self.flat(own, source));
            let reason = format!("`{own}` is rebound after this import of it");
            self.glue(*moment, glue, reason);
        }
    }

    pub(super) fn write_namespaces(&mut self) {
        let mut unnamed = BTreeSet::new();
        for (module, names) in &self.book.namespaces {
            let thing = Referent::Namespace(module.clone());
            let mut flats: Vec<Name> = self
                .flat
                .iter()
                .filter(|((_, other), _)| other == &thing)
                .map(|(_, flat)| flat.clone())
                .collect();
            flats.sort_unstable();
            flats.dedup();
            if flats.is_empty() {
                flats.push(self.unclaimed(&variable_name(module), &unnamed));
                unnamed.insert(flats[0].clone());
            }
            let mut targets: Vec<GlueTarget> =
                flats.iter().map(|flat| GlueTarget::Name(flat.to_string())).collect();
            // Who finds a module by its name looks for its package first.
            let holds = |name: &String| {
                name.strip_prefix(module.as_str()).is_some_and(|rest| rest.starts_with('.'))
            };
            let registered = &self.selection.registered;
            if registered.contains(module) || registered.iter().any(holds) {
                targets.push(GlueTarget::Registered(module.clone()));
            }
            // One that always stands for it.
            let certain = flats.iter().position(|flat| !self.states.contains_key(flat));
            let flat = flats.swap_remove(certain.unwrap_or(0));
            let reason = format!("`{module}` is used as an object of its own");
            self.redirect_globals(module, &flat);
            self.naming.objects.insert(module.clone(), flat.clone());
            self.naming.needs_types = true;
            self.glue(
                Moment::START,
                Glue::ModuleObject { targets, module: module.clone() },
                reason.clone(),
            );
            let stops = self.fill_stops(module, names);
            let mut filled: BTreeMap<usize, (Moment, Vec<BoundHeld>)> = BTreeMap::new();
            let fill = |held| Glue::Fill { object: flat.to_string(), held };
            for (name, thing) in names {
                let value = match thing {
                    Referent::Own(_, own) => Held::Name(self.flat(own, thing).to_string()),
                    Referent::Gist => Held::Gist,
                    other => Held::Name(self.flat(name, other).to_string()),
                };
                let defined = self.definition(thing).unwrap_or(Moment::START);
                if name == "__all__" {
                    // The next module has one as well.
                    let glue = fill(vec![(name.to_string(), value)]);
                    self.glue(defined.after(4), glue, reason.clone());
                    continue;
                }
                let imported =
                    self.import_of(name, thing).map(|unit| self.selection.program.get(unit).moment);
                // An import in a block binds it where that stands.
                let nested = self.book.nested.get(thing).map(|(moment, _)| *moment);
                let nested = nested.filter(|_| imported.is_none());
                let executed = self.bound_by_import(module, name, thing);
                let bound =
                    [imported, nested, executed].into_iter().flatten().fold(defined, Moment::max);
                let before = stops.partition_point(|stop| *stop <= bound);
                let (end, pairs) = filled.entry(before).or_insert((Moment::START, Vec::new()));
                *end = bound.max(*end);
                pairs.push((bound, (name.to_string(), value)));
            }
            for (end, mut pairs) in filled.into_values() {
                pairs.sort_by_key(|(bound, _)| *bound);
                let glue = fill(pairs.into_iter().map(|(_, pair)| pair).collect());
                self.glue(end.after(4), glue, reason.clone());
            }
        }
    }

    /// Returns the moments at which a module's object needs all names that are bound by then. Code of the module may go
    /// through its globals. If other code goes through them, each submodule and the end of the module count as well.
    fn fill_stops(&self, module: &str, names: &BTreeMap<Name, Referent>) -> Vec<Moment> {
        let program = &self.selection.program;
        let home = program.modules.find(module);
        let chosen = self.selection.chosen.keys().map(|id| program.get(*id));
        let mut stops: Vec<Moment> = chosen
            .filter(|unit| Some(unit.module) == home)
            .filter(|unit| goes_through_globals(std::slice::from_ref(unit.stmt)))
            .map(|unit| unit.moment)
            .collect();
        // It may ask for one of them as well.
        let asking = self.selection.chosen.iter().filter(|(id, chosen)| {
            let mut references = chosen.scan.references.iter();
            Some(program.get(**id).module) == home
                && references.any(|one| &one.name == "globals" && !one.late)
        });
        stops.extend(asking.map(|(id, _)| program.get(*id).moment));
        stops.extend(self.early_reads(module));
        if self.selection.listed.contains(module) {
            let inner = names.iter().map(|(name, thing)| self.bound_by_import(module, name, thing));
            let ends = inner.chain([self.end_of(module)]).flatten();
            stops.extend(ends.map(|end| end.after(1)));
        }
        stops.sort_unstable();
        stops
    }

    /// Returns when other modules read names of a module that has not come to its end, as those that it imports may do.
    ///
    /// ```python
    /// from .marks import mark   # pkg/__init__.py
    /// from . import run         # pkg/run.py: `@pkg.mark` of the half imported package
    /// ```
    fn early_reads(&self, module: &str) -> impl Iterator<Item = Moment> {
        let program = &self.selection.program;
        let end = self.end_of(module);
        let reads = move |id: &UnitId, one: &GlobalUse| {
            let Some(Target::Module(mut current)) = program.target(*id, &one.name, one.late) else {
                return false;
            };
            one.chain.iter().any(|(attribute, _)| {
                let is_read = current == module;
                match program.resolver.attribute(&current, attribute) {
                    Some(Target::Module(inner)) => current = inner,
                    _ => return is_read,
                }
                false
            })
        };
        let chosen = self.selection.chosen.iter();
        let early = chosen.filter(move |(id, chosen)| {
            end.is_none_or(|end| program.get(**id).moment < end)
                && chosen.scan.references.iter().any(|one| !one.late && reads(id, one))
        });
        early.map(move |(id, _)| program.get(*id).moment)
    }

    /// Returns when the import system binds a submodule in its package, which is once it has been executed. The moment
    /// counts if code goes through the names of the package.
    fn bound_by_import(&self, package: &str, name: &Name, thing: &Referent) -> Option<Moment> {
        let Referent::Namespace(inner) = thing else { return None };
        let is_it =
            self.selection.listed.contains(package) && *inner == format!("{package}.{name}");
        is_it.then(|| self.end_of(inner))?
    }

    /// Returns when the last statement of a module that is in the gist has been executed.
    fn end_of(&self, module: &str) -> Option<Moment> {
        let program = &self.selection.program;
        let home = program.modules.find(module)?;
        let chosen = self.selection.chosen.keys().map(|id| program.get(*id));
        chosen.filter(|unit| unit.module == home).map(|unit| unit.moment).max()
    }

    /// Names for what the code of such modules gives their objects.
    pub(super) fn write_unwritten(&mut self) {
        for ((module, name, local), first) in &self.book.unwritten {
            let program = &self.selection.program;
            let (Some(flat), Some(home)) =
                (self.naming.objects.get(module), program.modules.find(module))
            else {
                continue;
            };
            let chosen = self.selection.chosen.keys().map(|id| program.get(*id));
            let own = chosen.filter(|unit| unit.module == home).map(|unit| unit.moment);
            let moment = own.filter(|moment| first.is_none_or(|first| *moment < first)).max();
            let (target, object, name) = (local.to_string(), flat.to_string(), name.to_string());
            let reason = format!("what runs of `{module}` gives it this");
            let glue = Glue::Attribute { target, object, name };
            self.glue(moment.unwrap_or(Moment::START).after(5), glue, reason);
        }
    }

    /// In the code of a module that is an object of its own, `globals()` means that object's.
    fn redirect_globals(&mut self, module: &str, flat: &Name) {
        let program = &self.selection.program;
        let Some(id) = program.modules.find(module) else { return };
        let text = program.modules.get(id).syntax.source().text();
        let chosen = self.selection.chosen.iter();
        for (_, chosen) in chosen.filter(|(unit, _)| program.get(**unit).module == id) {
            for reference in chosen.scan.references.iter().filter(|one| &one.name == "globals") {
                if text[usize::from(reference.range.end())..].starts_with("()") {
                    let range = reference.range.add_end(2.into());
                    let edits = self.naming.edits.entry(id).or_default();
                    edits.insert(key(range), Spelling::Globals(flat.to_string()).render());
                }
            }
        }
    }
}
