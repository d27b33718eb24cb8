//! Collects who uses which name, and which statements bind it.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Stmt, name::Name};
use ruff_text_size::{Ranged, TextRange};

use super::{Book, Event, Inner, Referent, Use, captured::CapturedGlobals};
use crate::{
    module::ModuleId,
    resolve::{BindingKind, Target},
    scope,
    slice::{
        plan::Reason,
        program::{Moment, Program, UnitId},
        scan::{GlobalUsage, GlobalUse, NestedImport, Scan},
        select::{Selection, is_definition},
    },
};

pub(super) fn gather(selection: &Selection<'_>, namespaces: &BTreeSet<String>) -> Book {
    let program = &selection.program;
    let mut book = Book::default();
    let module_thing = |module: &str| {
        if namespaces.contains(module) {
            Referent::Namespace(module.to_owned())
        } else {
            Referent::Gist
        }
    };
    let captures = CapturedGlobals::new(selection);
    let referent_of_target = |target: Target| match target {
        Target::Own(module, name) => Referent::Own(module, name),
        Target::Module(module) => module_thing(&module),
        Target::External(module, attribute) => Referent::External(module, attribute),
        Target::Builtin(name) => Referent::Builtin(name),
    };
    let referent_of_global = |module: ModuleId, name: &Name, target: Target| {
        referent_of_target(captures.variable(selection, module, name, target))
    };
    let referent_of_attribute =
        |module: &str, name: &Name, target: Target| match program.modules.find(module) {
            Some(module) => referent_of_global(module, name, target),
            None => referent_of_target(target),
        };
    let mut ids: Vec<UnitId> = selection.chosen.keys().copied().collect();
    ids.sort_by_key(|&id| program.get(id).moment);
    for &id in &ids {
        let unit = program.get(id);
        let chosen = &selection.chosen[&id];
        let inherited = selection.inherited_tests(unit);
        let is_pinned = |range: TextRange| {
            program.is_support(unit.module)
                || inherited.iter().any(|body| body.contains_range(range))
        };
        for reference in &chosen.scan.references {
            book.taken.insert(reference.name.clone());
            if reference.dead || reference.class_local {
                continue;
            }
            if reference.usage == GlobalUsage::Store && !reference.late {
                continue;
            }
            let target = program.target(id, &reference.name, reference.late);
            if &reference.name == "__all__" && !selection.exports(target.as_ref()) {
                continue;
            }
            let thing = match target.clone() {
                Some(Target::Own(home, own)) if program.is_unwritten(home, &own) => {
                    unwritten(&mut book, selection, (id, reference), namespaces);
                    continue;
                }
                Some(target) => referent_of_global(unit.module, &reference.name, target),
                None if program.is_builtin(&reference.name) => {
                    Referent::Builtin(reference.name.clone())
                }
                None if reference.on_demand && is_missing(selection, unit.module, reference) => {
                    Referent::Missing(unit.module, reference.name.clone())
                }
                None => {
                    unwritten(&mut book, selection, (id, reference), namespaces);
                    continue;
                }
            };
            let late = reference.late;
            let pinned = is_pinned(reference.range);
            if let Referent::Own(home, own) = &thing
                && reference.usage == GlobalUsage::Augment
                && !late
                && *home != unit.module
            {
                book.uses.entry(own.clone()).or_default().push(Use {
                    unit: id,
                    range: None,
                    thing: thing.clone(),
                    late: true,
                    pinned: false,
                    through: None,
                    shown: None,
                });
                book.augmented.push((id, reference.name.clone(), thing));
                continue;
            }
            book.uses.entry(reference.name.clone()).or_default().push(Use {
                unit: id,
                range: Some(reference.range),
                thing,
                late,
                pinned,
                through: None,
                shown: reference.shown,
            });
            if let Some(Target::Module(module)) = target {
                chain(
                    &mut book,
                    selection,
                    id,
                    module,
                    &reference.chain,
                    pinned,
                    namespaces,
                    &referent_of_attribute,
                );
            }
        }
        for import in chosen.scan.imports.iter() {
            let pinned = is_pinned(import.stmt.range());
            let mut import = import.clone();
            import.rebound.extend(bound_from_outside(program, unit.module, &import, &chosen.scan));
            inner(&mut book, selection, id, &import, pinned, &module_thing, &referent_of_attribute);
        }
        for (module, local) in program.asked_modules(unit.module, &chosen.scan) {
            let (path, pinned) = (&local.chain, is_pinned(local.range));
            chain(
                &mut book,
                selection,
                id,
                module,
                path,
                pinned,
                namespaces,
                &referent_of_attribute,
            );
        }
        book.taken.extend(chosen.scan.attributes.iter().cloned());
        for name in &unit.binds {
            let own = Target::Own(unit.module, name.clone());
            let nested = is_nested_import(selection, id, name);
            let thing = if nested {
                program
                    .resolver
                    .resolve(unit.module, name)
                    .map_or(Referent::Own(unit.module, name.clone()), |target| {
                        referent_of_global(unit.module, name, target)
                    })
            } else {
                referent_of_target(own)
            };
            let looked_up = match chosen.reason {
                Reason::Test => true,
                Reason::Fixture | Reason::Configuration => {
                    is_definition(unit.stmt) && !selection.is_held(unit.module, name)
                }
                _ => false,
            };
            book.taken.insert(name.clone());
            let nested = nested && matches!(thing, Referent::External(..));
            if nested {
                book.nested.entry(thing.clone()).or_insert((unit.moment, name.clone()));
            }
            book.events.entry(name.clone()).or_default().push(Event {
                moment: unit.moment,
                thing,
                pinned: looked_up,
                nested,
            });
        }
    }
    for (module, name) in &selection.dotted {
        let Some(target) = program.resolver.attribute(module, name) else { continue };
        if namespaces.contains(module) {
            let names = book.namespaces.entry(module.clone()).or_default();
            names.insert(name.clone(), referent_of_attribute(module, name, target));
            continue;
        }
        let unit = ids.first().copied().unwrap_or(UnitId(0));
        book.uses.entry(name.clone()).or_default().push(Use {
            unit,
            range: None,
            thing: referent_of_attribute(module, name, target),
            late: true,
            pinned: true,
            through: Some(module.clone()),
            shown: None,
        });
    }
    // Whoever finds one by its name, or asks for its place, may ask for no name of it.
    let is_found = |module: &&String| {
        selection.registered.contains(*module) || selection.placed.contains(*module)
    };
    for module in namespaces.iter().filter(is_found) {
        book.namespaces.entry(module.clone()).or_default();
    }
    for (module, name) in &selection.asked {
        if namespaces.contains(module)
            && let Some(target) = program.resolver.attribute(module, name)
        {
            let thing = referent_of_attribute(module, name, target);
            if let Referent::Namespace(inner) = &thing {
                book.namespaces.entry(inner.clone()).or_default();
            }
            let is_hook = selection.hooks.get(module).is_some_and(|hooks| hooks.contains(name));
            let held = if is_hook { super::super::hooks::held(name) } else { name.clone() };
            book.namespaces.entry(module.clone()).or_default().insert(held, thing);
        }
    }
    for module in selection.hooks.keys() {
        // pytest is told by this that it need not warn of a module that it did not load.
        let loader = Name::new_static("__loader__");
        let names = book.namespaces.entry(module.clone()).or_default();
        names.insert(loader.clone(), Referent::Builtin(loader));
    }
    // Code may use a module only as a value: it gets an object as well.
    let things = book.uses.values().flatten().map(|one| &one.thing);
    let used = things.filter_map(|thing| match thing {
        Referent::Namespace(module) => Some(module.clone()),
        _ => None,
    });
    for module in used.collect::<BTreeSet<_>>() {
        book.namespaces.entry(module).or_default();
    }
    imports(&mut book, selection);
    book.captured = captures.into_found();
    for (thing, (_, moment)) in &book.captured {
        let Referent::Own(_, name) = thing else { continue };
        let event = Event { moment: *moment, thing: thing.clone(), pinned: false, nested: false };
        book.events.entry(name.clone()).or_default().push(event);
    }
    let inside: Vec<(Name, Referent)> = book
        .namespaces
        .values()
        .flat_map(|names| names.iter().map(|(name, thing)| (name.clone(), thing.clone())))
        .collect();
    for (name, thing) in inside {
        let home = match &thing {
            Referent::Own(_, own) => own.clone(),
            _ => name,
        };
        let unit = ids.first().copied().unwrap_or(UnitId(0));
        book.uses.entry(home).or_default().push(Use {
            unit,
            range: None,
            thing,
            late: true,
            pinned: false,
            through: None,
            shown: None,
        });
    }
    book
}

/// Returns true if what evaluates a reference on demand finds nothing: no statement of its module binds the name, no star
/// brings it, and the module did not hold it at the end.
fn is_missing(selection: &Selection<'_>, module: ModuleId, reference: &GlobalUse) -> bool {
    let program = &selection.program;
    let home = program.modules.get(module);
    let held = program.trace.modules.get(&home.name);
    held.is_some_and(|held| !held.names.contains_key(reference.name.as_str()))
}

/// Records a name that a module's code binds at run time without a binding statement. Only an
/// object of that module can hold it.
fn unwritten(
    book: &mut Book,
    selection: &Selection<'_>,
    (id, reference): (UnitId, &GlobalUse),
    namespaces: &BTreeSet<String>,
) {
    let program = &selection.program;
    let (unit, name) = (program.get(id), &reference.name);
    let (home, own) =
        program.imported_from(unit.module, name).unwrap_or((unit.module, name.clone()));
    let from = program.modules.get(home).name.clone();
    if program.is_unwritten(home, &own) && namespaces.contains(&from) {
        book.namespaces.entry(from.clone()).or_default();
        // The module itself may ask for it as soon as it is there.
        let early = (home == unit.module && !reference.late).then_some(unit.moment);
        let first = book.unwritten.entry((from, own, name.clone())).or_default();
        *first = first.iter().copied().chain(early).min();
    }
}

#[expect(clippy::too_many_arguments, reason = "one step of a walk, called in one place")]
fn chain(
    book: &mut Book,
    selection: &Selection<'_>,
    unit: UnitId,
    module: String,
    chain: &[(Name, Option<TextRange>)],
    pinned: bool,
    namespaces: &BTreeSet<String>,
    referent_of_attribute: &impl Fn(&str, &Name, Target) -> Referent,
) {
    let mut current = module;
    for (attribute, range) in chain {
        let Some(target) = selection.program.resolver.attribute(&current, attribute) else {
            return;
        };
        let thing = referent_of_attribute(&current, attribute, target.clone());
        if namespaces.contains(&current) {
            book.namespaces.entry(current.clone()).or_default().insert(attribute.clone(), thing);
        } else {
            book.uses.entry(attribute.clone()).or_default().push(Use {
                unit,
                range: *range,
                thing,
                late: true,
                // What a text says stays.
                pinned: pinned || range.is_none(),
                through: Some(current.clone()),
                shown: None,
            });
        }
        match target {
            Target::Module(inner) => current = inner,
            _ => return,
        }
    }
}

/// The names that other imports of the same function bind: such an import stays, so that they are local.
///
/// ```python
/// def dump(x):
///     try:
///         from fast import dumps
///     except ImportError:
///         from .slow import dumps
/// ```
fn bound_from_outside(
    program: &Program<'_>,
    module: ModuleId,
    import: &NestedImport<'_>,
    scan: &Scan<'_>,
) -> Vec<Name> {
    let is_beside = |one: &&NestedImport<'_>| {
        import.function.is_some()
            && one.function == import.function
            && !program.imports_internal(module, one.stmt)
    };
    let beside = scan.imports.iter().filter(is_beside);
    beside.flat_map(|one| scope::bound(std::slice::from_ref(one.stmt)).local).collect()
}

fn inner(
    book: &mut Book,
    selection: &Selection<'_>,
    unit: UnitId,
    import: &NestedImport<'_>,
    pinned: bool,
    module_thing: &impl Fn(&str) -> Referent,
    referent_of_attribute: &impl Fn(&str, &Name, Target) -> Referent,
) {
    let program = &selection.program;
    let module = program.get(unit).module;
    let start = import.stmt.start().to_u32();
    if let Some(failure) = program.failure(module, import.stmt) {
        book.failed.push(((module, start), failure.to_owned()));
        return;
    }
    if program.is_failed_import(module, import.stmt) {
        return;
    }
    let mut internal = false;
    let mut found: Vec<(Name, Option<Referent>)> = Vec::new();
    match import.stmt {
        Stmt::Import(statement) => {
            for alias in &statement.names {
                if program.modules.is_internal(&alias.name) {
                    internal = true;
                    let bound = match &alias.asname {
                        Some(_) => alias.name.to_string(),
                        None => scope::local_of_import(alias).to_string(),
                    };
                    found.push((scope::local_of_import(alias), Some(module_thing(&bound))));
                }
            }
        }
        Stmt::ImportFrom(statement) => {
            let from = statement.module.as_ref().map(|name| name.as_str());
            let Some(from) = program.modules.absolute(module, statement.level, from) else {
                return;
            };
            if !program.modules.is_internal(&from) {
                return;
            }
            // Compiled extensions stay importable, by their absolute names.
            internal = true;
            for alias in &statement.names {
                let compiled = format!("{from}.{}", alias.name);
                if [&from, &compiled].iter().any(|name| program.trace.compiled.contains_key(*name))
                {
                    continue;
                }
                let local = alias.asname.as_ref().unwrap_or(&alias.name).id.clone();
                let name = &alias.name.id;
                let thing = program.resolver.attribute(&from, name);
                let thing = thing.map(|target| referent_of_attribute(&from, name, target));
                // Outside of tests the import itself stays.
                let is_given = thing.is_none() && pinned && program.is_answered(&from, name);
                let given = is_given.then(|| Referent::External(from.clone(), Some(name.clone())));
                found.push((local, thing.or(given)));
            }
        }
        _ => {}
    }
    for (local, thing) in found {
        book.taken.insert(local.clone());
        let Some(thing) = thing.filter(|_| !import.dead) else { continue };
        let stays = import.in_class || import.rebound.contains(&local);
        let home = match &thing {
            Referent::Own(_, own) => own.clone(),
            _ => local.clone(),
        };
        // In a test the import goes without a trace, so that the name itself must be global; elsewhere
        // an assignment can take its place.
        let wanted = if pinned && !stays { local.clone() } else { home };
        book.uses.entry(wanted.clone()).or_default().push(Use {
            unit,
            range: None,
            thing: thing.clone(),
            late: true,
            pinned: pinned && !stays,
            through: None,
            shown: None,
        });
        book.inner.push(Inner { module, start, local, wanted, thing, stays });
    }
    if book.inner.iter().all(|inner| (inner.module, inner.start) != (module, start)) && internal {
        book.vanished.push((module, start));
    }
}

/// Returns true if a unit binds a name by an import inside a block.
fn is_nested_import(selection: &Selection<'_>, id: UnitId, name: &Name) -> bool {
    let program = &selection.program;
    let unit = program.get(id);
    program.resolver.bindings(unit.module, name).is_some_and(|all| {
        all.iter()
            .any(|one| !matches!(one.kind, BindingKind::Own) && unit.stmt.range().contains(one.at))
    })
}

fn imports(book: &mut Book, selection: &Selection<'_>) {
    let program = &selection.program;
    let mut first: BTreeMap<(Name, Referent), Moment> = BTreeMap::new();
    for (unit, local) in selection.imports.keys() {
        let module = program.get(*unit).module;
        let at = program.get(*unit).stmt.start();
        let binding = program
            .resolver
            .bindings(module, local)
            .and_then(|all| all.iter().find(|one| one.at == at));
        let thing = match binding.map(|one| &one.kind) {
            Some(BindingKind::Import { bound, .. }) => Referent::External(bound.clone(), None),
            Some(BindingKind::From { module, name }) => {
                Referent::External(module.clone(), Some(name.clone()))
            }
            _ => continue,
        };
        let moment = program.get(*unit).moment;
        let entry = first.entry((local.clone(), thing)).or_insert(moment);
        *entry = (*entry).min(moment);
        book.taken.insert(local.clone());
    }
    for ((local, thing), moment) in first {
        book.events.entry(local).or_default().push(Event {
            moment,
            thing,
            pinned: false,
            nested: false,
        });
    }
}
