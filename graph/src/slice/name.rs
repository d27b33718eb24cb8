//! Gives everything in a gist its name in the one flat namespace.
//!
//! Modules with separate globals now share one namespace. If two things want one name, the cheaper
//! one keeps it. The other is still defined under it and gets an alias, and the references that
//! would see the wrong thing are renamed. Names inside tests and names in strings are never
//! renamed.
//!
//! The value of a name at each moment is simulated along the clock of the run, restores included.
//! `write` turns the result into text.

mod captured;
mod early;
mod gather;
mod stars;
mod write;

pub(crate) use stars::{owners, starred};

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Stmt, name::Name};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Adjustments,
    program::{Moment, UnitId},
    select::{Selection, is_definition},
};
use crate::{glue::Glue, module::ModuleId, resolve::Target, scope, syntax::is_identifier};

/// The object that a flat name can refer to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Referent {
    /// The gist itself, in the place of any internal module.
    Gist,
    /// An internal module that is an object of its own.
    Namespace(String),
    Own(ModuleId, Name),
    External(String, Option<Name>),
    Builtin(Name),
    /// A name that is looked up in a module which does not have it.
    Missing(ModuleId, Name),
}

impl Referent {
    fn is_module(&self) -> bool {
        matches!(self, Self::Gist | Self::Namespace(_))
    }
}

/// A glue statement, when it stands, and why.
#[derive(Debug, Clone)]
pub(crate) struct PlacedGlue {
    pub(crate) moment: Moment,
    pub(crate) glue: Glue,
    pub(crate) reason: String,
}

/// The names of a gist.
#[derive(Debug, Default)]
pub(crate) struct Naming {
    /// Replacements of text, by module and place.
    pub(crate) edits: FxHashMap<ModuleId, BTreeMap<TextRangeKey, String>>,
    /// Statements that stand nowhere in the original.
    pub(crate) glue: Vec<PlacedGlue>,
    /// Names of the gist module itself.
    pub(crate) gist_names: BTreeSet<Name>,
    /// External imports: (unit, local name) to the names under which they are emitted, and when.
    pub(crate) imports: BTreeMap<(UnitId, Name), Vec<(Name, Moment)>>,
    /// The local names that a function binds first, by module and start: the text of an expression in it is shown.
    pub(crate) locals: FxHashMap<(ModuleId, u32), Vec<Glue>>,
    /// The replacements of inner imports: (module, start) to assignments; empty if the import
    /// vanishes.
    pub(crate) inner: FxHashMap<(ModuleId, u32), Vec<Glue>>,
    pub(crate) collisions: BTreeMap<String, Vec<(String, String)>>,
    pub(crate) notes: Vec<String>,
    pub(crate) needs_types: bool,
    /// Modules that are objects of their own.
    pub(crate) namespaces: BTreeSet<String>,
    /// The names of these modules' objects in the gist.
    pub(crate) objects: BTreeMap<String, Name>,
    /// Names that mean something in the gist.
    pub(crate) taken: FxHashSet<Name>,
}

/// A range that sorts by its start.
pub(crate) type TextRangeKey = (u32, u32);

pub(crate) fn key(range: TextRange) -> TextRangeKey {
    (range.start().to_u32(), range.end().to_u32())
}

struct Use {
    unit: UnitId,
    range: Option<TextRange>,
    thing: Referent,
    late: bool,
    /// It stands in tests or in a text, and cannot be renamed.
    pinned: bool,
    /// The module whose attribute this is, where it is one.
    through: Option<String>,
    /// The function around an expression whose text is shown.
    shown: Option<TextSize>,
}

struct Event {
    moment: Moment,
    thing: Referent,
    pinned: bool,
    /// By an import inside a block, which stays as it is.
    nested: bool,
}

/// An import inside a function that leads into the repository.
struct Inner {
    module: ModuleId,
    start: u32,
    local: Name,
    /// The global name through which the thing is reached.
    wanted: Name,
    thing: Referent,
    /// The local name must be bound here all the same.
    stays: bool,
}

#[derive(Default)]
struct Book {
    uses: BTreeMap<Name, Vec<Use>>,
    events: BTreeMap<Name, Vec<Event>>,
    inner: Vec<Inner>,
    /// Inner imports of which nothing is left.
    vanished: Vec<(ModuleId, u32)>,
    /// The inner imports that failed, each with the import of an external module that raised.
    failed: Vec<((ModuleId, u32), String)>,
    namespaces: BTreeMap<String, BTreeMap<Name, Referent>>,
    /// The attributes that no statement binds and that are assigned to a module's object while the
    /// module is executed. The key is (module, attribute, name at the use); the value is the first
    /// use in the module itself.
    unwritten: BTreeMap<(String, Name, Name), Option<Moment>>,
    taken: FxHashSet<Name>,
    /// The names that imports inside blocks bind, with the moment of the import.
    nested: BTreeMap<Referent, (Moment, Name)>,
    /// Names that a unit adds to, and what other modules' things they stood for before.
    augmented: Vec<(UnitId, Name, Referent)>,
    /// Imported names that are variables separate from their source: the source, and the moment of the import.
    captured: BTreeMap<Referent, (Referent, Moment)>,
}

/// The names of a gist; or the fixtures that have to be held as hooks are first, since a test asks for something else by
/// their name.
pub(crate) fn name(
    selection: &Selection<'_>,
    adjustments: &Adjustments,
) -> Result<Naming, BTreeSet<(ModuleId, Name)>> {
    let mut namespaces: BTreeSet<String> = adjustments.namespaces.iter().cloned().collect();
    namespaces
        .extend(selection.escaped.iter().filter(|module| selection.is_namespace(module)).cloned());
    loop {
        let book = gather::gather(selection, &namespaces);
        let mut namer = Namer {
            selection,
            book: &book,
            naming: Naming::default(),
            flat: BTreeMap::new(),
            states: BTreeMap::new(),
            more: BTreeSet::new(),
            to_hold: BTreeSet::new(),
        };
        namer.assign();
        if !namer.to_hold.is_empty() {
            return Err(namer.to_hold);
        }
        if namer.more.iter().any(|module| !namespaces.contains(module)) {
            namespaces.extend(std::mem::take(&mut namer.more));
            continue;
        }
        namer.write();
        let mut naming = namer.naming;
        naming.taken = book.taken;
        naming.namespaces = namespaces;
        return Ok(naming);
    }
}

struct Namer<'n, 'a> {
    selection: &'n Selection<'a>,
    book: &'n Book,
    naming: Naming,
    /// The flat name of a thing that is wanted under a name.
    flat: BTreeMap<(Name, Referent), Name>,
    /// The things that a contested name refers to, from each moment on.
    states: BTreeMap<Name, Vec<(Moment, Referent)>>,
    /// Modules that must become objects of their own.
    more: BTreeSet<String>,
    /// Fixtures that must be held.
    to_hold: BTreeSet<(ModuleId, Name)>,
}

impl Namer<'_, '_> {
    fn assign(&mut self) {
        let names: BTreeSet<&Name> = self.book.uses.keys().chain(self.book.events.keys()).collect();
        for name in names {
            let uses = self.book.uses.get(name).map_or(&[][..], Vec::as_slice);
            let events = self.book.events.get(name).map_or(&[][..], Vec::as_slice);
            let things: BTreeSet<&Referent> = uses
                .iter()
                .map(|one| &one.thing)
                .chain(events.iter().map(|one| &one.thing))
                .collect();
            if uses.is_empty() && things.len() < 2 {
                for thing in things {
                    self.flat.insert((name.clone(), thing.clone()), name.clone());
                }
                continue;
            }
            self.spare_builtin(name, uses, &things);
            if things.len() == 1 {
                let thing =
                    uses.first().map_or_else(|| events[0].thing.clone(), |one| one.thing.clone());
                let gives_way = match &thing {
                    Referent::Namespace(module) => {
                        uses.iter().all(|one| !one.pinned)
                            && (self.is_of_tests(name, module)
                                || self.selection.program.is_builtin(name))
                    }
                    Referent::Gist => {
                        uses.iter().all(|one| !one.pinned)
                            && self.selection.program.is_builtin(name)
                    }
                    _ => false,
                };
                let flat = if gives_way { self.loser_name(name, &thing) } else { name.clone() };
                self.flat.insert((name.clone(), thing.clone()), flat);
                continue;
            }
            self.contest(name, uses, events, &things);
        }
    }

    /// Requests a package's object if a module with the name of a builtin is used through the
    /// package. The gist's own code need not call the builtin.
    fn spare_builtin(&mut self, name: &Name, uses: &[Use], things: &BTreeSet<&Referent>) {
        if self.selection.program.is_builtin(name) && things.iter().any(|thing| thing.is_module()) {
            let through = uses.iter().filter(|one| one.thing.is_module());
            self.more.extend(through.filter_map(|one| one.through.clone()));
        }
    }

    fn contest(
        &mut self,
        name: &Name,
        uses: &[Use],
        events: &[Event],
        things: &BTreeSet<&Referent>,
    ) {
        let lines = |thing: &Referent| {
            let mut lines: Vec<(UnitId, u32)> = uses
                .iter()
                .filter(|one| &one.thing == thing && one.late)
                .filter_map(|one| Some((one.unit, self.line(one.unit, one.range?))))
                .collect();
            lines.sort_unstable();
            lines.dedup();
            lines.len()
        };
        let pinned: BTreeSet<&Referent> = uses
            .iter()
            .filter(|one| one.pinned && !self.is_taken_over(name, &one.thing))
            .map(|one| &one.thing)
            .chain(events.iter().filter(|one| one.pinned).map(|one| &one.thing))
            .collect();
        let last = |thing: &Referent| {
            events.iter().filter(|one| &one.thing == thing).map(|one| one.moment).max()
        };
        let restore = |winner: &Referent| {
            let after = match winner {
                Referent::Gist | Referent::Namespace(_) | Referent::Builtin(_) => {
                    Some(Moment::START)
                }
                _ => last(winner),
            };
            let late = events
                .iter()
                .any(|one| &one.thing != winner && after.is_some_and(|at| one.moment > at));
            match winner {
                _ if !late => 0,
                Referent::Own(..) => 4,
                _ => 2,
            }
        };
        let cost = |winner: &Referent| {
            let renamed: usize =
                things.iter().filter(|thing| **thing != winner).map(|thing| 2 * lines(thing)).sum();
            renamed + restore(winner)
        };
        let is_there = |thing: &&Referent| !matches!(thing, Referent::Missing(..));
        let candidates: Vec<&Referent> = if pinned.iter().any(is_there) {
            pinned.iter().copied().filter(is_there).collect()
        } else if self.selection.program.is_builtin(name)
            && !things.iter().all(|thing| thing.is_module())
        {
            // A module does not take it from what else has it.
            things.iter().copied().filter(|one| is_there(one) && !one.is_module()).collect()
        } else {
            things.iter().copied().filter(is_there).collect()
        };
        let Some(winner) = candidates
            .into_iter()
            .min_by_key(|thing| (cost(thing), std::cmp::Reverse(last(thing)), (*thing).clone()))
        else {
            return;
        };
        // All of these but one have to be reached through an object of their own.
        let through = |thing: &Referent| -> BTreeSet<&String> {
            let pinned = uses.iter().filter(|one| &one.thing == thing && one.pinned);
            pinned.filter_map(|one| one.through.as_ref()).collect()
        };
        self.hold_fixtures(&pinned);
        for loser in pinned.iter().filter(|thing| **thing != winner) {
            let mut objects = through(loser);
            if objects.is_empty() {
                objects = through(winner);
            }
            if objects.is_empty() {
                self.naming.notes.push(format!("`{name}` has two meanings inside a test"));
            }
            self.more.extend(objects.into_iter().cloned());
        }
        self.flat.insert((name.clone(), winner.clone()), name.clone());
        let mut record = vec![(self.describe(winner), name.to_string())];
        for loser in things.iter().filter(|thing| **thing != winner) {
            // An import that only early code uses can stand as it is, before the winner takes over.
            let early = matches!(loser, Referent::External(..))
                && uses.iter().filter(|one| one.thing == **loser).all(|one| !one.late)
                || self.is_taken_over(name, loser)
                || self.is_held_before(loser, uses, last(loser), last(winner));
            let flat = if early { name.clone() } else { self.loser_name(name, loser) };
            record.push((self.describe(loser), flat.to_string()));
            self.flat.insert((name.clone(), (*loser).clone()), flat);
        }
        self.naming.collisions.insert(name.to_string(), record);
        self.states.insert(name.clone(), vec![(Moment::START, winner.clone())]);
    }

    fn describe(&self, thing: &Referent) -> String {
        match thing {
            Referent::Gist => "the gist".to_owned(),
            Referent::Namespace(module) => module.clone(),
            Referent::Own(module, name) => {
                format!("{}.{name}", self.selection.program.modules.get(*module).name)
            }
            Referent::External(module, None) => module.clone(),
            Referent::External(module, Some(name)) => format!("{module}.{name}"),
            Referent::Builtin(name) => format!("builtins.{name}"),
            Referent::Missing(module, name) => {
                format!("no {name} of {}", self.selection.program.modules.get(*module).name)
            }
        }
    }

    fn loser_name(&self, name: &Name, thing: &Referent) -> Name {
        // Under another name at home: that one serves.
        if let Referent::Own(_, own) = thing
            && own != name
        {
            return own.clone();
        }
        let suffix = match thing {
            Referent::Gist => "gist",
            Referent::Namespace(module) | Referent::External(module, _) => &variable_name(module),
            Referent::Own(module, _) | Referent::Missing(module, _) => {
                &variable_name(&self.selection.program.modules.get(*module).name)
            }
            Referent::Builtin(_) => "builtin",
        };
        self.unclaimed(&format!("{name}_{suffix}"), &BTreeSet::new())
    }

    /// Returns true if any test or support module binds a name to something other than `module`,
    /// needed or not.
    fn is_of_tests(&self, name: &Name, module: &str) -> bool {
        let program = &self.selection.program;
        program.modules.iter().any(|(id, _)| {
            program.is_support(id)
                && program.resolver.bindings(id, name).is_some()
                && program.resolver.resolve(id, name) != Some(Target::Module(module.to_owned()))
        })
    }

    /// Returns an unused name that resembles another.
    fn unclaimed(&self, like: &str, others: &BTreeSet<Name>) -> Name {
        let mut name = Name::new(like);
        while self.book.taken.contains(&name)
            || others.contains(&name)
            || self.is_of_tests(&name, like)
            || self.flat.values().any(|other| other == &name)
        {
            name = Name::new(format!("{name}_"));
        }
        name
    }

    fn line(&self, unit: UnitId, range: TextRange) -> u32 {
        let module = self.selection.program.get(unit).module;
        self.selection.program.modules.get(module).syntax.source().line(range.start())
    }

    /// The flat name of a thing that is wanted under a name, through its own name where that differs.
    fn flat(&self, name: &Name, thing: &Referent) -> Name {
        let wanted =
            self.flat.get(&(name.clone(), thing.clone())).cloned().unwrap_or_else(|| name.clone());
        match thing {
            Referent::Own(_, own) if own != name && &wanted == own => self.flat(own, thing),
            _ => wanted,
        }
    }

    // Writing ----------------------------------------------------------------------------------

    fn write(&mut self) {
        let contested: Vec<Name> = self.states.keys().cloned().collect();
        let mut aliased: BTreeSet<(Name, Referent)> = BTreeSet::new();
        for name in &contested {
            self.simulate(name);
        }
        self.edit_uses(&mut aliased);
        for (name, thing) in &aliased {
            self.alias(name, thing);
        }
        self.restores(&contested);
        self.write_captured();
        self.provide();
        self.provide_packages();
        self.write_imports();
        self.write_inner();
        self.write_augmented();
        self.write_namespaces();
        self.write_unwritten();
    }

    fn winner(&self, name: &Name) -> Option<Referent> {
        self.states.get(name).and_then(|states| states.first()).map(|(_, thing)| thing.clone())
    }

    /// Events of a name that text under that very name brings about, in order.
    fn bindings(&self, name: &Name) -> Vec<(Moment, Referent)> {
        let winner = self.winner(name);
        let mut bindings: Vec<(Moment, Referent)> = self
            .book
            .events
            .get(name)
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .filter(|event| match &event.thing {
                Referent::Own(..) if self.book.captured.contains_key(&event.thing) => {
                    self.flat(name, &event.thing) == *name
                }
                Referent::Own(..) | Referent::Builtin(_) => true,
                // An import that lost is emitted under its other name, if it has one.
                Referent::External(..) => event.nested || self.flat(name, &event.thing) == *name,
                thing => Some(thing) == winner.as_ref(),
            })
            .map(|event| (event.moment, event.thing.clone()))
            .collect();
        bindings.sort();
        bindings
    }

    fn simulate(&mut self, name: &Name) {
        let Some(winner) = self.winner(name) else { return };
        let bindings = self.bindings(name);
        let mut states = Vec::new();
        match &winner {
            Referent::Gist | Referent::Namespace(_) | Referent::Builtin(_) => {
                states.push((Moment::START, winner.clone()))
            }
            Referent::Own(_, own) if own != name => {
                let defined = self.definition(&winner).unwrap_or(Moment::START);
                states.push((defined.after(2), winner.clone()));
            }
            _ => {}
        }
        let builtin =
            self.selection.program.is_builtin(name) && !matches!(winner, Referent::Builtin(_));
        if builtin {
            states.push((Moment::START, Referent::Builtin(name.clone())));
        }
        for ((wanted, thing), flat) in &self.flat {
            if wanted == name && flat == name && thing != &winner && self.is_taken_over(name, thing)
            {
                let defined = self.definition(thing).unwrap_or(Moment::START);
                states.push((defined.after(2), thing.clone()));
            }
        }
        for (at, (moment, thing)) in bindings.iter().enumerate() {
            states.push((*moment, thing.clone()));
            if thing == &winner {
                continue;
            }
            let next = bindings.get(at + 1).map(|(_, next)| next);
            let again = bindings[at + 1..].iter().any(|(_, later)| later == &winner);
            let before = states.iter().any(|(when, state)| state == &winner && when < moment);
            if before && !again && next != Some(thing) {
                states.push((moment.after(3), winner.clone()));
            }
        }
        states.sort();
        states.insert(0, (Moment::START, winner));
        self.states.insert(name.clone(), states);
    }

    /// Returns the thing that a contested name refers to just before a moment.
    fn active(&self, name: &Name, moment: Moment) -> Option<&Referent> {
        let states = self.states.get(name)?;
        states[1..].iter().rfind(|(when, _)| *when < moment).map(|(_, thing)| thing)
    }

    /// When the last statement that defines a thing has run.
    fn definition(&self, thing: &Referent) -> Option<Moment> {
        if let Some((_, moment)) = self.book.captured.get(thing) {
            return Some(*moment);
        }
        let Referent::Own(module, own) = thing else { return None };
        self.selection
            .program
            .binders(*module, own)
            .into_iter()
            .filter(|id| self.selection.chosen.contains_key(id))
            .map(|id| self.selection.program.get(id).moment)
            .max()
    }

    fn edit_uses(&mut self, aliased: &mut BTreeSet<(Name, Referent)>) {
        for (name, uses) in &self.book.uses {
            for one in uses {
                let flat = self.flat(name, &one.thing);
                let contested = self.states.contains_key(name);
                let mut text = flat.clone();
                if contested && !one.late && self.bound_before(name, one) {
                    text = name.clone();
                } else if contested && !one.late {
                    let moment = self.selection.program.get(one.unit).moment;
                    match self.active(name, moment) {
                        Some(active) if active == &one.thing => text = name.clone(),
                        // Nothing else has the name yet where its own statement gives it.
                        None if matches!(&one.thing, Referent::Own(_, own) if own == name) => {
                            text = name.clone();
                        }
                        Some(_) if &flat == name => {
                            // The winner, before it was bound again: only its alias still leads there.
                            text = self.alias_of_winner(name, &one.thing);
                        }
                        Some(_) | None => {}
                    }
                }
                if &text == name {
                    continue;
                }
                match &one.thing {
                    Referent::Own(_, own) if own != name => {
                        if &self.flat(own, &one.thing) != own {
                            aliased.insert((own.clone(), one.thing.clone()));
                        }
                    }
                    thing => {
                        aliased.insert((name.clone(), thing.clone()));
                    }
                }
                let Some(range) = one.range else { continue };
                if let Some(function) = one.shown.filter(|_| one.late && !one.pinned) {
                    let module = self.selection.program.get(one.unit).module;
                    let key = (module, function.to_u32());
                    let locals = self.naming.locals.entry(key).or_default();
                    let alias = Glue::alias(name.as_str(), text.as_str());
                    if !locals.contains(&alias) {
                        locals.push(alias);
                    }
                    continue;
                }
                if one.pinned {
                    self.naming.notes.push(format!("`{name}` in a test should be `{text}`"));
                    continue;
                }
                let module = self.selection.program.get(one.unit).module;
                self.naming.edits.entry(module).or_default().insert(key(range), text.to_string());
            }
        }
    }

    /// Returns true if the statement of a use binds the name before the use, as a loop binds its
    /// target.
    fn bound_before(&self, name: &Name, one: &Use) -> bool {
        let program = &self.selection.program;
        let unit = program.get(one.unit);
        let Some(range) = one.range else { return false };
        if one.thing != Referent::Own(unit.module, name.clone()) || is_definition(unit.stmt) {
            return false;
        }
        let mut bound = false;
        scope::for_each_statement(std::slice::from_ref(unit.stmt), &mut |stmt| {
            let block = matches!(stmt, Stmt::For(_) | Stmt::With(_) | Stmt::Match(_));
            bound |= (block || stmt.end() <= range.start())
                && stmt.start() < range.start()
                && scope::bound_directly(stmt).contains(name);
        });
        bound
    }

    /// Returns the alias for the owner of a name, used while another thing has that name.
    fn alias_of_winner(&self, name: &Name, thing: &Referent) -> Name {
        let mut flat = self.loser_name(name, thing);
        if &flat == name {
            flat = Name::new(format!("{name}_"));
        }
        // Others that have the name in their time may be called after a module of the same name.
        let others = self.flat.iter().filter(|((wanted, _), flat)| wanted == name && *flat == name);
        let before = others.map(|((_, other), _)| other).filter(|other| *other < thing);
        let like = format!("{flat}_");
        let mut theirs = BTreeSet::new();
        for _ in before.filter(|other| self.loser_name(name, other) == like[..like.len() - 1]) {
            theirs.insert(flat);
            flat = self.unclaimed(&like, &theirs);
        }
        flat
    }

    fn glue(&mut self, moment: Moment, glue: Glue, reason: String) {
        if !self.naming.glue.iter().any(|one| one.glue == glue && one.moment == moment) {
            self.naming.glue.push(PlacedGlue { moment, glue, reason });
        }
    }
}

/// Returns a variable's name for a module, like the last part of its own: a file `as.py` or `my-mod.py`, which only
/// `importlib` imports, gives `as_` and `my_mod`.
fn variable_name(module: &str) -> String {
    let last = module.rsplit('.').next().unwrap_or(module);
    let mut name: String =
        last.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(char::is_numeric) {
        name.insert(0, '_');
    }
    if !is_identifier(&name) {
        name.push('_');
    }
    name
}
