//! The fixpoint: objects flow along the slots until nothing new arrives anywhere.
//!
//! Two phases. The first follows definitions, imports and attributes of modules and classes, which
//! settles base classes; the second, knowing the order in which bases are searched, follows calls,
//! instances and containers.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Entity, Foreign, Linked, Object, ObjectId, Outside, Place, Site, SiteForm, Solution, Symbol,
    foreign::Behaviour, link::Target,
};
use crate::{
    facts::{ArgumentKind, Container, Form, Key, Kind, Name, Op, ParameterKind, Slot},
    layout::Found,
    scope::is_builtin,
};

/// A slot that would hold more is given up on: its callees would be guesses.
const FULL: usize = 8;
/// Constants that a slot may hold.
const CONSTANTS: usize = 8;
/// Tuples and lists are followed item by item up to here when they are cut.
const CUT: i64 = 8;
/// Reactions per slot after which the analysis stops where it is: what was found stays true, the rest is
/// left to the names. Keeps hostile or wildly polymorphic sources from taking quadratic time.
const STEPS: u64 = 6;
/// A caller that is found when the analysis is over.
const LATER: Entity = u32::MAX;

/// Reacts to what arrives in a slot.
#[derive(Debug, Clone, Copy)]
enum Watch {
    Copy(Place),
    /// A member of a class, seen through an instance.
    Get {
        to: Place,
        receiver: ObjectId,
    },
    /// A member of a class, seen through the class.
    GetClass {
        to: Place,
        receiver: ObjectId,
    },
    /// What an object has under a name, on its way to one reader.
    Fetch(Place),
    /// A descriptor's `__get__`.
    GetterOf {
        to: Place,
        receiver: ObjectId,
    },
    Attribute {
        name: Symbol,
        to: Place,
    },
    SetAttribute {
        name: Symbol,
        from: Place,
    },
    Item {
        key: u32,
        to: Place,
    },
    SetItem {
        key: u32,
        from: Place,
    },
    HeldBase(u32),
    HeldKey(u32),
    Tail {
        from: u32,
        to: Place,
    },
    Iterate {
        to: Place,
        caller: Entity,
    },
    Next {
        to: Place,
        caller: Entity,
    },
    Enter {
        to: Place,
        caller: Entity,
    },
    Instances(Place),
    Super {
        class: Entity,
        to: Place,
    },
    Call(u32),
    /// A member that is called with a receiver.
    CallWith {
        site: u32,
        receiver: ObjectId,
    },
    /// The same, for what makes an instance: its result is dropped.
    CallInit {
        site: u32,
        receiver: ObjectId,
    },
    Raise {
        site: u32,
    },
    ClassOf(Place),
    PropertyOf(Place),
}

/// A field of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Field {
    Named(Symbol),
    Integer(i64),
    /// Stored under a key that is not known.
    Any,
    /// Whatever is stored under any key.
    All,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    base: Place,
    key: Place,
    other: Place,
    store: bool,
    satisfied: bool,
}

/// Where a class looks for what it does not define itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ancestor {
    Class(Entity),
    Outside(Outside),
    Unknown,
}

struct Solver<'l> {
    linked: &'l Linked<'l>,
    entities: u32,
    objects: Vec<Object>,
    ids: FxHashMap<Object, ObjectId>,
    held: Vec<Vec<ObjectId>>,
    done: Vec<u32>,
    full: Vec<bool>,
    queued: Vec<bool>,
    queue: Vec<Place>,
    /// Reactions to what had arrived before their watch.
    pending: Vec<(Watch, ObjectId)>,
    heads: Vec<u32>,
    watches: Vec<(Watch, u32)>,
    copies: FxHashSet<(Place, Place)>,
    fields: FxHashMap<(ObjectId, Field), Place>,
    /// What instances and classes have under a name, ancestors included.
    loaded: FxHashMap<(ObjectId, Symbol), Place>,
    keys: Vec<Key2>,
    helds: Vec<Held>,
    sites: Vec<Site>,
    results: Vec<Place>,
    synthetic: FxHashMap<u32, Place>,
    edges: Vec<(u32, Entity)>,
    outside: Vec<(u32, Outside)>,
    strange: Vec<bool>,
    bound: FxHashSet<(u32, Entity, bool)>,
    implicit: FxHashMap<(u8, Place), u32>,
    foreign: Foreign,
    ancestors: Vec<Vec<Ancestor>>,
    deferred: Vec<(ObjectId, Symbol, Place)>,
    second: bool,
    stored: FxHashSet<Symbol>,
    /// Reactions so far, and when to give up.
    steps: u64,
    allowed: u64,
    stranger: ObjectId,
    special: Special,
    /// For calls through builtins: the values that the callee is given.
    pairs: FxHashMap<(u8, Place), Place>,
}

/// A key with global numbering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key2 {
    Field(Field),
    Unknown,
}

/// Names that mean something to Python itself.
#[derive(Debug, Clone, Copy)]
struct Special {
    init: Symbol,
    new: Symbol,
    call: Symbol,
    iter: Symbol,
    aiter: Symbol,
    next: Symbol,
    anext: Symbol,
    enter: Symbol,
    aenter: Symbol,
    exit: Symbol,
    aexit: Symbol,
    getitem: Symbol,
    getattr: Symbol,
    get: Symbol,
    key: Symbol,
}

const NO_WATCH: u32 = u32::MAX;

/// Runs the analysis.
pub(crate) fn solve(linked: &mut Linked<'_>) -> Solution {
    let special = {
        let mut name = |text: &str| linked.symbols.intern(text);
        Special {
            init: name("__init__"),
            new: name("__new__"),
            call: name("__call__"),
            iter: name("__iter__"),
            aiter: name("__aiter__"),
            next: name("__next__"),
            anext: name("__anext__"),
            enter: name("__enter__"),
            aenter: name("__aenter__"),
            exit: name("__exit__"),
            aexit: name("__aexit__"),
            getitem: name("__getitem__"),
            getattr: name("__getattr__"),
            get: name("__get__"),
            key: name("key"),
        }
    };
    let mut solver = Solver::new(linked, special);
    solver.first_phase();
    solver.order_bases();
    solver.second_phase();
    solver.finish()
}

impl<'l> Solver<'l> {
    fn new(linked: &'l Linked<'l>, special: Special) -> Self {
        let entities = u32::try_from(linked.file_by_entity.len()).unwrap_or(u32::MAX);
        let slots = linked.first_slot.last().copied().unwrap_or(0) as usize;
        let mut stored = FxHashSet::default();
        for (file, facts) in (0u32..).zip(linked.program.files) {
            for op in &facts.ops {
                if let Op::SetAttribute(_, name, _) = op {
                    stored.insert(linked.symbol(file, *name));
                }
            }
        }
        let mut solver = Solver {
            linked,
            entities,
            objects: Vec::new(),
            ids: FxHashMap::default(),
            held: vec![Vec::new(); slots],
            done: vec![0; slots],
            full: vec![false; slots],
            queued: vec![false; slots],
            queue: Vec::new(),
            pending: Vec::new(),
            heads: vec![NO_WATCH; slots],
            watches: Vec::new(),
            copies: FxHashSet::default(),
            fields: FxHashMap::default(),
            loaded: FxHashMap::default(),
            keys: Vec::new(),
            helds: Vec::new(),
            sites: Vec::new(),
            results: Vec::new(),
            synthetic: FxHashMap::default(),
            edges: Vec::new(),
            outside: Vec::new(),
            strange: Vec::new(),
            bound: FxHashSet::default(),
            implicit: FxHashMap::default(),
            foreign: Foreign::default(),
            ancestors: Vec::new(),
            deferred: Vec::new(),
            second: false,
            stored,
            steps: 0,
            allowed: (slots as u64 * STEPS).max(1 << 20),
            stranger: 0,
            special,
            pairs: FxHashMap::default(),
        };
        solver.stranger = solver.object(Object::Stranger);
        solver
    }

    // Objects.

    fn object(&mut self, object: Object) -> ObjectId {
        match object {
            Object::Definition(entity) => entity,
            Object::Made(entity) => self.entities + entity,
            other => {
                let next =
                    u32::try_from(self.objects.len()).unwrap_or(u32::MAX) + 2 * self.entities;
                let id = *self.ids.entry(other).or_insert(next);
                if id == next {
                    self.objects.push(other);
                }
                id
            }
        }
    }

    fn what(&self, id: ObjectId) -> Object {
        if id < self.entities {
            Object::Definition(id)
        } else if id < 2 * self.entities {
            Object::Made(id - self.entities)
        } else {
            self.objects[(id - 2 * self.entities) as usize]
        }
    }

    fn kind(&self, entity: Entity) -> Kind {
        self.linked.definition(entity).kind
    }

    // Slots.

    fn fresh(&mut self) -> Place {
        let place = u32::try_from(self.held.len()).unwrap_or(u32::MAX);
        self.held.push(Vec::new());
        self.done.push(0);
        self.full.push(false);
        self.queued.push(false);
        self.heads.push(NO_WATCH);
        place
    }

    fn insert(&mut self, place: Place, object: ObjectId) {
        let at = place as usize;
        if self.full[at] {
            return;
        }
        let held = &self.held[at];
        if held.contains(&object) {
            return;
        }
        if object >= 2 * self.entities
            && matches!(self.what(object), Object::Text(_) | Object::Integer(_))
            && held.iter().filter(|&&other| self.is_constant(other)).count() >= CONSTANTS
        {
            return;
        }
        if held.len() >= FULL {
            self.full[at] = true;
            return;
        }
        self.held[at].push(object);
        if !self.queued[at] {
            self.queued[at] = true;
            self.queue.push(place);
        }
    }

    fn is_constant(&self, object: ObjectId) -> bool {
        object >= 2 * self.entities
            && matches!(self.what(object), Object::Text(_) | Object::Integer(_))
    }

    fn watch(&mut self, place: Place, watch: Watch) {
        let next = u32::try_from(self.watches.len()).unwrap_or(u32::MAX);
        self.watches.push((watch, self.heads[place as usize]));
        self.heads[place as usize] = next;
        for at in 0..self.done[place as usize] as usize {
            let object = self.held[place as usize][at];
            self.pending.push((watch, object));
        }
    }

    fn copy(&mut self, from: Place, to: Place) {
        if from != to && self.copies.insert((from, to)) {
            self.watch(from, Watch::Copy(to));
        }
    }

    fn fetch(&mut self, from: Place, to: Place) {
        if self.copies.insert((from, to)) {
            self.watch(from, Watch::Fetch(to));
        }
    }

    fn run(&mut self) {
        while self.steps < self.allowed {
            // What came before a watch was set is caught up with here, never by recursion.
            while let Some((watch, object)) = self.pending.pop() {
                self.steps += 1;
                self.react(watch, object);
                if self.steps >= self.allowed {
                    return;
                }
            }
            let Some(place) = self.queue.pop() else { break };
            let at = place as usize;
            self.queued[at] = false;
            while (self.done[at] as usize) < self.held[at].len() {
                let object = self.held[at][self.done[at] as usize];
                self.done[at] += 1;
                let mut next = self.heads[at];
                while next != NO_WATCH {
                    let (watch, following) = self.watches[next as usize];
                    next = following;
                    self.steps += 1;
                    self.react(watch, object);
                }
            }
        }
    }

    fn field(&mut self, object: ObjectId, field: Field) -> Place {
        if let Some(&place) = self.fields.get(&(object, field)) {
            return place;
        }
        let place = self.fresh();
        self.fields.insert((object, field), place);
        place
    }

    // Phases.

    fn first_phase(&mut self) {
        let linked = self.linked;
        for (file, facts) in (0u32..).zip(linked.program.files) {
            let place = |slot: Slot| linked.place(file, slot);
            let symbol = |name: Name| linked.symbol(file, name);
            for op in &facts.ops {
                match *op {
                    Op::Copy(from, to) => self.link(place(from), Watch::Copy(place(to))),
                    Op::Define(local, to) => {
                        let entity = linked.first_entity[file as usize] + local;
                        self.insert(place(to), entity);
                    }
                    Op::Attribute(base, name, to) => {
                        self.link(
                            place(base),
                            Watch::Attribute { name: symbol(name), to: place(to) },
                        );
                    }
                    Op::Free(name, to) => self.free(file, symbol(name), place(to)),
                    Op::Imported(import, to) => self.imported(file, import, place(to)),
                    _ => {}
                }
            }
        }
        self.run();
    }

    /// A watch that is set before anything has moved.
    fn link(&mut self, place: Place, watch: Watch) {
        let next = u32::try_from(self.watches.len()).unwrap_or(u32::MAX);
        self.watches.push((watch, self.heads[place as usize]));
        self.heads[place as usize] = next;
    }

    fn second_phase(&mut self) {
        self.second = true;
        for (object, name, to) in std::mem::take(&mut self.deferred) {
            self.load(object, name, to);
        }
        let linked = self.linked;
        for (file, facts) in (0u32..).zip(linked.program.files) {
            let place = |slot: Slot| linked.place(file, slot);
            let symbol = |name: Name| linked.symbol(file, name);
            let entity = |local: u32| linked.first_entity[file as usize] + local;
            for op in &facts.ops {
                match *op {
                    Op::Copy(..)
                    | Op::Define(..)
                    | Op::Attribute(..)
                    | Op::Free(..)
                    | Op::Imported(..) => {}
                    Op::SetAttribute(base, name, from) => self.watch(
                        place(base),
                        Watch::SetAttribute { name: symbol(name), from: place(from) },
                    ),
                    Op::Item(base, key, to) => self.item(file, place(base), key, place(to), false),
                    Op::SetItem(base, key, from) => {
                        self.item(file, place(base), key, place(from), true);
                    }
                    Op::Tail(base, from, to) => {
                        self.watch(place(base), Watch::Tail { from, to: place(to) });
                    }
                    Op::New(kind, to) => {
                        let to = place(to);
                        let object = self.object(match kind {
                            Container::Sequence => Object::Sequence(to),
                            Container::Mapping => Object::Mapping(to),
                        });
                        self.insert(to, object);
                    }
                    Op::Text(name, to) => {
                        let object = self.object(Object::Text(symbol(name)));
                        self.insert(place(to), object);
                    }
                    Op::Integer(number, to) => {
                        let object = self.object(Object::Integer(number));
                        self.insert(place(to), object);
                    }
                    Op::Iterate(from, to, within) => {
                        let caller = entity(within);
                        self.watch(place(from), Watch::Iterate { to: place(to), caller });
                    }
                    Op::Enter(from, to, within) => {
                        let caller = entity(within);
                        self.watch(place(from), Watch::Enter { to: place(to), caller });
                    }
                    Op::Instances(from, to) => {
                        self.watch(place(from), Watch::Instances(place(to)));
                    }
                    Op::Super(class, receiver, to) => {
                        let watch = Watch::Super { class: entity(class), to: place(to) };
                        self.watch(place(receiver), watch);
                    }
                    Op::Receiver(local, to) => self.receiver(entity(local), place(to)),
                    Op::Raise(from, within, line) => {
                        let site = self.add_site(Site {
                            caller: entity(within),
                            form: SiteForm::Implicit,
                            name: self.special.init,
                            line,
                            callee: place(from),
                            call: None,
                        });
                        self.watch(place(from), Watch::Raise { site });
                    }
                }
            }
            for (index, call) in (0u32..).zip(&facts.calls) {
                let site = self.add_site(Site {
                    caller: entity(call.caller),
                    form: SiteForm::Written(call.form),
                    name: symbol(call.name),
                    line: call.line,
                    callee: place(call.callee),
                    call: Some((file, index)),
                });
                self.results[site as usize] = place(call.result);
                if call.callee.0 > 1 {
                    self.watch(place(call.callee), Watch::Call(site));
                }
            }
        }
        loop {
            self.run();
            // Keys that turned out to hold no constant may be any key.
            let mut changed = false;
            for at in 0..self.helds.len() {
                let held = self.helds[at];
                let other = self.held[held.key as usize].iter().any(|&o| !self.is_constant(o));
                if !held.satisfied || other {
                    self.helds[at].satisfied = true;
                    let key = self.key_id(Key2::Unknown);
                    let watch = if held.store {
                        Watch::SetItem { key, from: held.other }
                    } else {
                        Watch::Item { key, to: held.other }
                    };
                    if self.copies.insert((held.base, u32::MAX - u32::try_from(at).unwrap_or(0))) {
                        self.watch(held.base, watch);
                        changed = true;
                    }
                }
            }
            let spent = self.steps >= self.allowed;
            if spent || (!changed && self.queue.is_empty() && self.pending.is_empty()) {
                break;
            }
        }
    }

    fn finish(mut self) -> Solution {
        let linked = self.linked;
        // Properties are called by whoever reads the attribute.
        if self.sites.iter().any(|site| site.caller == LATER) {
            let mut readers: FxHashMap<Place, (Entity, u32)> = FxHashMap::default();
            let wanted: FxHashSet<Place> =
                self.sites.iter().filter(|s| s.caller == LATER).map(|s| s.callee).collect();
            for (file, facts) in (0u32..).zip(linked.program.files) {
                for reference in &facts.references {
                    let place = linked.place(file, reference.slot);
                    if wanted.contains(&place) {
                        let reader = linked.first_entity[file as usize] + reference.within;
                        readers.insert(place, (reader, reference.line));
                    }
                }
            }
            for site in &mut self.sites {
                if site.caller == LATER {
                    let (caller, line) = readers.get(&site.callee).copied().unwrap_or((0, 0));
                    (site.caller, site.line) = (caller, line);
                    if line == 0 {
                        site.caller = LATER;
                    }
                }
            }
        }
        let mut references = Vec::new();
        for (file, facts) in (0u32..).zip(linked.program.files) {
            for (index, reference) in (0u32..).zip(&facts.references) {
                let place = linked.place(file, reference.slot) as usize;
                if self.full[place] {
                    continue;
                }
                for &object in &self.held[place] {
                    let entity = match self.what(object) {
                        Object::Definition(entity) | Object::Bound(entity, _) => entity,
                        _ => continue,
                    };
                    references.push((index, file, entity));
                }
            }
        }
        references.sort_unstable_by_key(|&(index, file, entity)| (file, index, entity));
        references.dedup();
        let saturated = self.sites.iter().map(|site| self.full[site.callee as usize]).collect();
        self.edges.sort_unstable();
        self.edges.dedup();
        self.outside.sort_unstable();
        self.outside.dedup();
        let mut bases = Vec::new();
        for (entity, ancestors) in (0u32..).zip(&self.ancestors) {
            for ancestor in ancestors.iter().skip(1) {
                if let Ancestor::Class(base) = ancestor {
                    bases.push((entity, *base));
                }
            }
        }
        Solution {
            complete: self.steps < self.allowed,
            sites: self.sites,
            edges: self.edges,
            outside: self.outside,
            strange: self.strange,
            saturated,
            references,
            bases,
            foreign: self.foreign,
        }
    }

    fn add_site(&mut self, site: Site) -> u32 {
        let id = u32::try_from(self.sites.len()).unwrap_or(u32::MAX);
        self.sites.push(site);
        self.results.push(0);
        self.strange.push(false);
        id
    }

    /// The one call without an expression of this kind that feeds a slot.
    fn implicit_site(&mut self, tag: u8, to: Place, caller: Entity, name: Symbol) -> u32 {
        if let Some(&site) = self.implicit.get(&(tag, to)) {
            return site;
        }
        let line = if caller == LATER { 0 } else { self.linked.definition(caller).line };
        let form = SiteForm::Implicit;
        let site = self.add_site(Site { caller, form, name, line, callee: to, call: None });
        self.results[site as usize] = to;
        self.implicit.insert((tag, to), site);
        site
    }

    fn free(&mut self, file: u32, name: Symbol, to: Place) {
        if let Some(from) = self.linked.starred(file, name, &mut FxHashSet::default()) {
            self.copy(from, to);
            return;
        }
        let text = self.linked.symbols.text(name);
        if is_builtin(text) {
            let id = self.foreign.root(&format!("builtins.{text}"));
            let object = self.object(Object::Outside(id));
            self.insert(to, object);
        } else if self.linked.facts(file).imports.iter().any(|import| import.star) {
            self.insert(to, self.stranger);
        }
    }

    fn imported(&mut self, file: u32, import: u32, to: Place) {
        let linked = self.linked;
        let facts = &linked.facts(file).imports[import as usize];
        match linked.targets[file as usize][import as usize] {
            Target::Module(found) => {
                let bound = if facts.binds_root {
                    let top = facts.module.split('.').next().unwrap_or(&facts.module);
                    linked.program.layout.absolute(file, top).unwrap_or(found)
                } else {
                    found
                };
                let object = self.module(bound);
                self.insert(to, object);
            }
            Target::Member(found, name) => {
                let object = self.module(found);
                self.load(object, name, to);
            }
            Target::Outside => {
                let id = match facts.name {
                    Some(name) => {
                        let base = self.foreign.root(&facts.module);
                        let name = linked.symbol(file, name);
                        self.foreign.attribute(base, name, linked.symbols.text(name))
                    }
                    None if facts.binds_root => {
                        let top = facts.module.split('.').next().unwrap_or(&facts.module);
                        Some(self.foreign.root(top))
                    }
                    None => Some(self.foreign.root(&facts.module)),
                };
                let object = match id {
                    Some(id) => self.object(Object::Outside(id)),
                    None => self.stranger,
                };
                self.insert(to, object);
            }
            Target::Missing => {}
        }
    }

    fn module(&mut self, found: Found) -> ObjectId {
        match found {
            Found::File(file) => self.linked.first_entity[file as usize],
            Found::Namespace(directory) => self.object(Object::Namespace(directory)),
        }
    }

    fn receiver(&mut self, method: Entity, to: Place) {
        let Some(class) = self.linked.class_of(method) else { return };
        let definition = self.linked.definition(method);
        let file = self.linked.file_of(method);
        let name = self.linked.symbols.text(self.linked.symbol(file, definition.name));
        let of_class = definition.traits.class_method
            || matches!(name, "__new__" | "__init_subclass__" | "__class_getitem__");
        let object = if of_class { class } else { self.object(Object::Made(class)) };
        self.insert(to, object);
    }

    // Bases.

    /// The order in which each class is searched (C3; where bases contradict it, depth first).
    fn order_bases(&mut self) {
        let linked = self.linked;
        let mut direct: Vec<Vec<Ancestor>> = vec![Vec::new(); self.entities as usize];
        for entity in 0..self.entities {
            let definition = linked.definition(entity);
            if definition.kind != Kind::Class {
                continue;
            }
            let file = linked.file_of(entity);
            for &slot in &definition.base_slots {
                let place = linked.place(file, slot) as usize;
                let found = self.held[place].iter().find_map(|&object| match self.what(object) {
                    Object::Definition(base)
                        if base != entity && self.kind(base) == Kind::Class =>
                    {
                        Some(Ancestor::Class(base))
                    }
                    Object::Outside(outside) => Some(Ancestor::Outside(outside)),
                    _ => None,
                });
                let ancestor = found.unwrap_or(Ancestor::Unknown);
                if !direct[entity as usize].contains(&ancestor) {
                    direct[entity as usize].push(ancestor);
                }
            }
        }
        self.ancestors = vec![Vec::new(); self.entities as usize];
        let mut state = vec![0u8; self.entities as usize];
        for entity in 0..self.entities {
            if linked.definition(entity).kind == Kind::Class {
                self.linearise(entity, &direct, &mut state);
            }
        }
    }

    fn linearise(&mut self, class: Entity, direct: &[Vec<Ancestor>], state: &mut [u8]) {
        // Bases first, without recursion: chains of classes may be long.
        let mut stack = vec![class];
        while let Some(&top) = stack.last() {
            let at = top as usize;
            if state[at] == 2 {
                stack.pop();
                continue;
            }
            if state[at] == 0 {
                state[at] = 1;
                let before = stack.len();
                for ancestor in &direct[at] {
                    if let Ancestor::Class(base) = ancestor
                        && state[*base as usize] == 0
                    {
                        stack.push(*base);
                    }
                }
                if stack.len() > before {
                    continue;
                }
            }
            let mut lists: Vec<Vec<Ancestor>> = direct[at]
                .iter()
                .map(|ancestor| match ancestor {
                    // A class that is its own ancestor is nobody's.
                    Ancestor::Class(base) if state[*base as usize] == 2 => {
                        self.ancestors[*base as usize].clone()
                    }
                    other => vec![*other],
                })
                .collect();
            lists.push(direct[at].clone());
            let mut order = vec![Ancestor::Class(top)];
            order.extend(merge(lists));
            self.ancestors[at] = order;
            state[at] = 2;
            stack.pop();
        }
    }

    /// The slot of a class member, found along the ancestors; else what lies outside.
    fn lookup(
        &self,
        class: Entity,
        name: Symbol,
        after: Option<Entity>,
    ) -> Result<Place, Ancestor> {
        let mut outside = Ancestor::Class(class);
        let mut skipping = after.is_some();
        for ancestor in &self.ancestors[class as usize] {
            match *ancestor {
                Ancestor::Class(base) => {
                    if skipping {
                        skipping = Some(base) != after;
                        continue;
                    }
                    if let Some(&place) = self.linked.members.get(&(base, name)) {
                        return Ok(place);
                    }
                }
                other => {
                    if !skipping && matches!(outside, Ancestor::Class(_)) {
                        outside = other;
                    }
                }
            }
        }
        Err(outside)
    }

    // Reactions.

    fn react(&mut self, watch: Watch, object: ObjectId) {
        match watch {
            Watch::Copy(to) => self.insert(to, object),
            Watch::Get { to, receiver } => self.get(object, to, receiver, false),
            Watch::GetClass { to, receiver } => self.get(object, to, receiver, true),
            Watch::Fetch(to) => match self.what(object) {
                Object::Getter(entity, receiver) => {
                    let site = self.implicit_site(0, to, LATER, self.special.get);
                    self.invoke(site, entity, Some(receiver), true);
                }
                _ => self.insert(to, object),
            },
            Watch::GetterOf { to, receiver } => {
                if let Object::Definition(entity) = self.what(object) {
                    let getter = self.object(Object::Getter(entity, receiver));
                    self.insert(to, getter);
                }
            }
            Watch::Attribute { name, to } => self.load(object, name, to),
            Watch::SetAttribute { name, from } => self.store(object, name, from),
            Watch::Item { key, to } => self.load_item(object, self.keys[key as usize], to),
            Watch::SetItem { key, from } => self.store_item(object, self.keys[key as usize], from),
            Watch::HeldBase(at) => {
                let held = self.helds[at as usize];
                for index in 0..self.done[held.key as usize] as usize {
                    let key = self.held[held.key as usize][index];
                    self.apply_held(held, object, key);
                }
            }
            Watch::HeldKey(at) => {
                if self.is_constant(object) {
                    self.helds[at as usize].satisfied = true;
                    let held = self.helds[at as usize];
                    for index in 0..self.done[held.base as usize] as usize {
                        let base = self.held[held.base as usize][index];
                        self.apply_held(held, base, object);
                    }
                }
            }
            Watch::Tail { from, to } => self.tail(object, from, to),
            Watch::Iterate { to, caller } => self.iterate(object, to, caller),
            Watch::Next { to, caller } => self.next(object, to, caller),
            Watch::Enter { to, caller } => self.enter(object, to, caller),
            Watch::Instances(to) => match self.what(object) {
                Object::Definition(entity) if self.kind(entity) == Kind::Class => {
                    let made = self.object(Object::Made(entity));
                    self.insert(to, made);
                }
                Object::Outside(_) => self.insert(to, object),
                Object::Sequence(_) => {
                    // `except (A, B)`: any of them.
                    let all = self.field(object, Field::All);
                    self.watch(all, Watch::Instances(to));
                }
                _ => {}
            },
            Watch::Super { class, to } => {
                let object = self.object(Object::Super(class, object));
                self.insert(to, object);
            }
            Watch::Call(site) => self.call(site, object, true),
            Watch::CallWith { site, receiver } => {
                let bound = self.bind(object, receiver);
                self.call(site, bound, true);
            }
            Watch::CallInit { site, receiver } => {
                let bound = self.bind_always(object, receiver);
                self.call(site, bound, false);
            }
            Watch::Raise { site } => {
                if let Object::Definition(entity) = self.what(object)
                    && self.kind(entity) == Kind::Class
                {
                    self.construct(site, entity);
                }
            }
            Watch::ClassOf(to) => {
                if let Object::Made(entity) = self.what(object)
                    && self.kind(entity) == Kind::Class
                {
                    self.insert(to, entity);
                }
            }
            Watch::PropertyOf(to) => {
                if let Object::Definition(entity) = self.what(object) {
                    let object = self.object(Object::Property(entity));
                    self.insert(to, object);
                }
            }
        }
    }

    /// What a class member becomes when it is read through a receiver.
    fn bind(&mut self, object: ObjectId, receiver: ObjectId) -> ObjectId {
        let Object::Definition(entity) = self.what(object) else { return object };
        let definition = self.linked.definition(entity);
        if !matches!(definition.kind, Kind::Function | Kind::Lambda)
            || definition.traits.static_method
        {
            return object;
        }
        if definition.traits.class_method {
            let class = match self.what(receiver) {
                Object::Made(class) => class,
                _ => receiver,
            };
            return self.object(Object::Bound(entity, class));
        }
        self.object(Object::Bound(entity, receiver))
    }

    fn bind_always(&mut self, object: ObjectId, receiver: ObjectId) -> ObjectId {
        match self.what(object) {
            Object::Definition(entity)
                if matches!(self.kind(entity), Kind::Function | Kind::Lambda) =>
            {
                self.object(Object::Bound(entity, receiver))
            }
            _ => object,
        }
    }

    fn get(&mut self, object: ObjectId, to: Place, receiver: ObjectId, of_class: bool) {
        let property = match self.what(object) {
            Object::Definition(entity) => {
                let definition = self.linked.definition(entity);
                (definition.kind == Kind::Function && definition.traits.property).then_some(entity)
            }
            Object::Property(entity) => Some(entity),
            Object::Made(class) if self.kind(class) == Kind::Class => {
                if self.second
                    && let Ok(place) = self.lookup(class, self.special.get, None)
                {
                    self.watch(place, Watch::GetterOf { to, receiver: object });
                    return;
                }
                None
            }
            _ => None,
        };
        if let Some(entity) = property {
            if !of_class {
                let getter = self.object(Object::Getter(entity, receiver));
                self.insert(to, getter);
            }
            return;
        }
        if of_class {
            let Object::Definition(entity) = self.what(object) else {
                self.insert(to, object);
                return;
            };
            let definition = self.linked.definition(entity);
            let bound = if definition.traits.class_method && definition.kind == Kind::Function {
                self.object(Object::Bound(entity, receiver))
            } else {
                object
            };
            self.insert(to, bound);
            return;
        }
        let bound = self.bind(object, receiver);
        self.insert(to, bound);
    }

    fn load(&mut self, object: ObjectId, name: Symbol, to: Place) {
        let linked = self.linked;
        match self.what(object) {
            Object::Definition(entity) => match linked.definition(entity).kind {
                Kind::Module => self.load_module(entity, name, to),
                Kind::Class => self.load_class(entity, name, to),
                Kind::Function | Kind::Lambda => {
                    let place = self.field(object, Field::Named(name));
                    self.copy(place, to);
                }
            },
            Object::Made(entity) if linked.definition(entity).kind == Kind::Class => {
                self.load_instance(entity, object, name, to);
            }
            Object::Made(_) => self.insert(to, self.stranger),
            Object::Namespace(directory) => {
                let text = linked.symbols.text(name);
                if let Some(found) = linked.program.layout.inside(Found::Namespace(directory), text)
                {
                    let module = self.module(found);
                    self.insert(to, module);
                }
            }
            Object::Outside(outside) => {
                let text = linked.symbols.text(name);
                let object = match self.foreign.attribute(outside, name, text) {
                    Some(inner) => self.object(Object::Outside(inner)),
                    None => self.stranger,
                };
                self.insert(to, object);
            }
            Object::Stranger => self.insert(to, object),
            Object::Sequence(_) | Object::Mapping(_) | Object::Text(_) => {
                let method = self.object(Object::Method(object, name));
                self.insert(to, method);
            }
            Object::Super(class, receiver) => self.load_super(class, receiver, name, to),
            Object::Bound(entity, _) => {
                let place = self.field(entity, Field::Named(name));
                self.copy(place, to);
            }
            // `@x.setter` and its like are read off a property; the property remains.
            Object::Property(_) => self.insert(to, object),
            Object::Method(..) | Object::Integer(_) | Object::Getter(..) => {}
        }
    }

    fn load_module(&mut self, module: Entity, name: Symbol, to: Place) {
        let linked = self.linked;
        let file = linked.file_of(module);
        if let Some(place) = linked.export(file, name) {
            self.copy(place, to);
            return;
        }
        let text = linked.symbols.text(name);
        if let Some(found) = linked.program.layout.inside(Found::File(file), text) {
            let module = self.module(found);
            self.insert(to, module);
            return;
        }
        if self.stored.contains(&name) {
            let place = self.field(module, Field::Named(name));
            self.copy(place, to);
        }
        if linked.facts(file).imports.iter().any(|import| import.star) {
            self.insert(to, self.stranger);
        }
        if let Some(place) = linked.export(file, self.special.getattr) {
            let site = self.implicit_site(1, to, LATER, self.special.getattr);
            self.watch(place, Watch::Call(site));
        }
    }

    fn load_class(&mut self, class: Entity, name: Symbol, to: Place) {
        if !self.second {
            match self.linked.members.get(&(class, name)) {
                Some(&place) => self.watch(place, Watch::GetClass { to, receiver: class }),
                None => self.deferred.push((class, name, to)),
            }
            return;
        }
        if let Some(&known) = self.loaded.get(&(class, name)) {
            self.fetch(known, to);
            return;
        }
        let reader = to;
        let to = self.fresh();
        self.loaded.insert((class, name), to);
        self.fetch(to, reader);
        if self.stored.contains(&name) {
            for at in 0..self.ancestors[class as usize].len() {
                if let Ancestor::Class(base) = self.ancestors[class as usize][at] {
                    let place = self.field(base, Field::Named(name));
                    self.watch(place, Watch::GetClass { to, receiver: class });
                }
            }
        }
        match self.lookup(class, name, None) {
            Ok(place) => self.watch(place, Watch::GetClass { to, receiver: class }),
            Err(ancestor) => self.load_ancestor(ancestor, name, to),
        }
    }

    fn load_ancestor(&mut self, ancestor: Ancestor, name: Symbol, to: Place) {
        match ancestor {
            Ancestor::Outside(outside) => {
                let outside = self.object(Object::Outside(outside));
                self.load(outside, name, to);
            }
            Ancestor::Unknown => self.insert(to, self.stranger),
            Ancestor::Class(_) => {}
        }
    }

    fn load_instance(&mut self, class: Entity, object: ObjectId, name: Symbol, to: Place) {
        if let Some(&known) = self.loaded.get(&(object, name)) {
            self.fetch(known, to);
            return;
        }
        let reader = to;
        let to = self.fresh();
        self.loaded.insert((object, name), to);
        self.fetch(to, reader);
        let stored = self.stored.contains(&name);
        if stored {
            for at in 0..self.ancestors[class as usize].len() {
                if let Ancestor::Class(base) = self.ancestors[class as usize][at] {
                    let made = self.object(Object::Made(base));
                    let place = self.field(made, Field::Named(name));
                    self.copy(place, to);
                }
            }
        }
        match self.lookup(class, name, None) {
            Ok(place) => self.watch(place, Watch::Get { to, receiver: object }),
            Err(ancestor) => {
                if let Ok(place) = self.lookup(class, self.special.getattr, None)
                    && !stored
                {
                    let site = self.implicit_site(1, to, LATER, self.special.getattr);
                    self.watch(place, Watch::CallWith { site, receiver: object });
                }
                if !stored {
                    self.load_ancestor(ancestor, name, to);
                }
            }
        }
    }

    fn load_super(&mut self, class: Entity, receiver: ObjectId, name: Symbol, to: Place) {
        let (own, of_class) = match self.what(receiver) {
            Object::Made(own) => (own, false),
            Object::Definition(own) => (own, true),
            _ => (class, false),
        };
        if self.linked.definition(own).kind != Kind::Class {
            return;
        }
        let knows = self.ancestors[own as usize].contains(&Ancestor::Class(class));
        let start = if knows { own } else { class };
        match self.lookup(start, name, Some(class)) {
            Ok(place) if of_class => self.watch(place, Watch::GetClass { to, receiver }),
            Ok(place) => {
                let own = self.fresh();
                self.watch(place, Watch::Get { to: own, receiver });
                self.fetch(own, to);
            }
            Err(Ancestor::Class(_)) => {
                let object = self.foreign.root("builtins.object");
                let object = self.object(Object::Outside(object));
                self.load(object, name, to);
            }
            Err(ancestor) => self.load_ancestor(ancestor, name, to),
        }
    }

    fn store(&mut self, object: ObjectId, name: Symbol, from: Place) {
        match self.what(object) {
            Object::Definition(entity) => {
                let member = self.linked.members.get(&(entity, name)).copied();
                match (self.kind(entity), member) {
                    (Kind::Module, Some(place)) => self.copy(from, place),
                    (Kind::Class, _) => {
                        let place = self.field(object, Field::Named(name));
                        self.copy(from, place);
                        // Instances see it as well, functions as methods.
                        let receiver = self.object(Object::Made(entity));
                        let place = self.field(receiver, Field::Named(name));
                        self.watch(from, Watch::Get { to: place, receiver });
                    }
                    _ => {
                        let place = self.field(object, Field::Named(name));
                        self.copy(from, place);
                    }
                }
            }
            Object::Made(_) => {
                let place = self.field(object, Field::Named(name));
                self.copy(from, place);
            }
            Object::Bound(entity, _) => {
                let place = self.field(entity, Field::Named(name));
                self.copy(from, place);
            }
            _ => {}
        }
    }

    // Containers.

    fn key_id(&mut self, key: Key2) -> u32 {
        let id = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        self.keys.push(key);
        id
    }

    fn item(&mut self, file: u32, base: Place, key: Key, other: Place, store: bool) {
        let key = match key {
            Key::Text(name) => Key2::Field(Field::Named(self.linked.symbol(file, name))),
            Key::Integer(number) if number >= 0 => Key2::Field(Field::Integer(number)),
            Key::Integer(_) | Key::Unknown => Key2::Unknown,
            Key::Held(slot) => {
                let key = self.linked.place(file, slot);
                let at = u32::try_from(self.helds.len()).unwrap_or(u32::MAX);
                self.helds.push(Held { base, key, other, store, satisfied: false });
                self.watch(base, Watch::HeldBase(at));
                self.watch(key, Watch::HeldKey(at));
                return;
            }
        };
        let key = self.key_id(key);
        let watch = if store {
            Watch::SetItem { key, from: other }
        } else {
            Watch::Item { key, to: other }
        };
        self.watch(base, watch);
    }

    fn apply_held(&mut self, held: Held, base: ObjectId, key: ObjectId) {
        let key = match self.what(key) {
            Object::Text(symbol) => Key2::Field(Field::Named(symbol)),
            Object::Integer(number) if number >= 0 => Key2::Field(Field::Integer(number)),
            Object::Integer(_) => Key2::Unknown,
            _ => return,
        };
        if held.store {
            self.store_item(base, key, held.other);
        } else {
            self.load_item(base, key, held.other);
        }
    }

    fn load_item(&mut self, object: ObjectId, key: Key2, to: Place) {
        match self.what(object) {
            Object::Sequence(_) | Object::Mapping(_) => match key {
                Key2::Field(field) => {
                    let exact = self.field(object, field);
                    let any = self.field(object, Field::Any);
                    self.copy(exact, to);
                    self.copy(any, to);
                }
                Key2::Unknown => {
                    let all = self.field(object, Field::All);
                    self.copy(all, to);
                }
            },
            Object::Made(class) if self.kind(class) == Kind::Class => {
                match self.lookup(class, self.special.getitem, None) {
                    Ok(place) => {
                        let site = self.implicit_site(2, to, LATER, self.special.getitem);
                        self.watch(place, Watch::CallWith { site, receiver: object });
                    }
                    Err(Ancestor::Class(_)) => {}
                    Err(_) => self.insert(to, self.stranger),
                }
            }
            // `Base[int]` is the class still.
            Object::Definition(class) if self.kind(class) == Kind::Class => self.insert(to, object),
            Object::Outside(_) | Object::Stranger => self.insert(to, self.stranger),
            _ => {}
        }
    }

    fn store_item(&mut self, object: ObjectId, key: Key2, from: Place) {
        if matches!(self.what(object), Object::Sequence(_) | Object::Mapping(_)) {
            let place = match key {
                Key2::Field(field) => self.field(object, field),
                Key2::Unknown => self.field(object, Field::Any),
            };
            let all = self.field(object, Field::All);
            self.copy(from, place);
            self.copy(from, all);
        }
    }

    fn tail(&mut self, object: ObjectId, from: u32, to: Place) {
        let Object::Sequence(_) = self.what(object) else {
            let strange = matches!(self.what(object), Object::Outside(_) | Object::Stranger);
            self.insert(to, if strange { self.stranger } else { object });
            return;
        };
        if from == 0 {
            self.insert(to, object);
            return;
        }
        let cut = self.object(Object::Sequence(to));
        if from < u32::MAX {
            for at in 0..CUT {
                let source = self.field(object, Field::Integer(i64::from(from) + at));
                let target = self.field(cut, Field::Integer(at));
                self.copy(source, target);
                let all = self.field(cut, Field::All);
                self.copy(source, all);
            }
            let source = self.field(object, Field::Any);
            self.store_item(cut, Key2::Unknown, source);
        } else {
            let source = self.field(object, Field::All);
            self.store_item(cut, Key2::Unknown, source);
        }
        self.insert(to, cut);
    }

    fn iterate(&mut self, object: ObjectId, to: Place, caller: Entity) {
        match self.what(object) {
            Object::Sequence(_) => {
                let all = self.field(object, Field::All);
                self.copy(all, to);
            }
            Object::Made(entity) if self.kind(entity) == Kind::Class => {
                let method = self
                    .lookup(entity, self.special.iter, None)
                    .or_else(|_| self.lookup(entity, self.special.aiter, None));
                match method {
                    Ok(place) => {
                        let iterator = self.pair(0, to);
                        let site = self.implicit_site(3, iterator, caller, self.special.iter);
                        self.watch(place, Watch::CallWith { site, receiver: object });
                        if self.copies.insert((iterator, to)) {
                            self.watch(iterator, Watch::Next { to, caller });
                        }
                    }
                    Err(Ancestor::Class(_)) => self.load_item(object, Key2::Unknown, to),
                    Err(_) => self.insert(to, self.stranger),
                }
            }
            Object::Made(function) => self.yields(function, to),
            Object::Outside(_) | Object::Stranger => self.insert(to, self.stranger),
            _ => {}
        }
    }

    fn next(&mut self, object: ObjectId, to: Place, caller: Entity) {
        match self.what(object) {
            Object::Made(entity) if self.kind(entity) == Kind::Class => {
                let method = self
                    .lookup(entity, self.special.next, None)
                    .or_else(|_| self.lookup(entity, self.special.anext, None));
                if let Ok(place) = method {
                    let site = self.implicit_site(4, to, caller, self.special.next);
                    self.watch(place, Watch::CallWith { site, receiver: object });
                }
            }
            _ => self.iterate(object, to, caller),
        }
    }

    fn enter(&mut self, object: ObjectId, to: Place, caller: Entity) {
        match self.what(object) {
            Object::Made(entity) if self.kind(entity) == Kind::Class => {
                let Special { enter, aenter, exit, aexit, .. } = self.special;
                for (tag, names) in [(5, [enter, aenter]), (6, [exit, aexit])] {
                    for name in names {
                        let Ok(place) = self.lookup(entity, name, None) else { continue };
                        let result = if tag == 5 { to } else { self.pair(1, to) };
                        let site = self.implicit_site(tag, result, caller, name);
                        self.watch(place, Watch::CallWith { site, receiver: object });
                    }
                }
                if self.lookup(entity, enter, None).is_err()
                    && self.lookup(entity, aenter, None).is_err()
                {
                    self.insert(to, object);
                }
            }
            Object::Made(function) => self.yields(function, to),
            _ => self.insert(to, object),
        }
    }

    fn yields(&mut self, function: Entity, to: Place) {
        let file = self.linked.file_of(function);
        let yielded = self.linked.definition(function).yielded;
        // An annotation such as `Iterator[X]` says what is yielded, too.
        let returned = self.linked.definition(function).returned;
        let (yielded, returned) =
            (self.linked.place(file, yielded), self.linked.place(file, returned));
        self.copy(yielded, to);
        if self.copies.insert((returned, to)) {
            self.watch(returned, Watch::Iterate { to, caller: function });
        }
    }

    /// A slot that belongs to another one.
    fn pair(&mut self, tag: u8, of: Place) -> Place {
        if let Some(&place) = self.pairs.get(&(tag, of)) {
            return place;
        }
        let place = self.fresh();
        self.pairs.insert((tag, of), place);
        place
    }

    // Calls.

    fn call(&mut self, site: u32, object: ObjectId, keep: bool) {
        match self.what(object) {
            Object::Definition(entity) => match self.kind(entity) {
                Kind::Function | Kind::Lambda => self.invoke(site, entity, None, keep),
                Kind::Class => self.construct(site, entity),
                Kind::Module => {}
            },
            Object::Bound(entity, receiver) => self.invoke(site, entity, Some(receiver), keep),
            Object::Made(class) if self.kind(class) == Kind::Class => {
                match self.lookup(class, self.special.call, None) {
                    Ok(place) => self.watch(place, Watch::CallWith { site, receiver: object }),
                    Err(Ancestor::Class(_)) => {}
                    Err(_) => self.stranger_called(site),
                }
            }
            Object::Method(container, name) => self.method(site, container, name),
            Object::Outside(outside) => {
                self.outside.push((site, outside));
                self.foreign_called(site, outside);
            }
            Object::Stranger => self.stranger_called(site),
            _ => {}
        }
    }

    fn result(&self, site: u32) -> Option<Place> {
        Some(self.results[site as usize]).filter(|&place| place > 1)
    }

    fn is_decorator(&self, site: u32) -> bool {
        self.sites[site as usize].form == SiteForm::Written(Form::Decorator)
    }

    fn stranger_called(&mut self, site: u32) {
        self.strange[site as usize] = true;
        let Some(result) = self.result(site) else { return };
        // Decorators from outside mostly give back what they decorate, or a wrapper of it.
        if self.is_decorator(site) {
            if let Some(decorated) = self.positional(site, 0) {
                self.copy(decorated, result);
            }
        } else {
            self.insert(result, self.stranger);
        }
    }

    /// The slot of a positional argument.
    fn positional(&self, site: u32, at: usize) -> Option<Place> {
        let (file, call) = self.sites[site as usize].call?;
        let facts = self.linked.facts(file);
        let call = &facts.calls[call as usize];
        let first = call.first_argument as usize;
        let arguments = &facts.arguments[first..first + call.argument_count as usize];
        let argument = arguments.get(at)?;
        (argument.kind == ArgumentKind::Positional && argument.slot.0 > 1)
            .then(|| self.linked.place(file, argument.slot))
    }

    fn keyword(&self, site: u32, name: Symbol) -> Option<Place> {
        let (file, call) = self.sites[site as usize].call?;
        let facts = self.linked.facts(file);
        let call = &facts.calls[call as usize];
        let first = call.first_argument as usize;
        facts.arguments[first..first + call.argument_count as usize].iter().find_map(|argument| {
            match argument.kind {
                ArgumentKind::Keyword(keyword)
                    if self.linked.symbol(file, keyword) == name && argument.slot.0 > 1 =>
                {
                    Some(self.linked.place(file, argument.slot))
                }
                _ => None,
            }
        })
    }

    fn construct(&mut self, site: u32, class: Entity) {
        let made = self.object(Object::Made(class));
        if let Some(result) = self.result(site) {
            self.insert(result, made);
        }
        if let Ok(place) = self.lookup(class, self.special.new, None) {
            self.watch(place, Watch::CallInit { site, receiver: class });
        }
        match self.lookup(class, self.special.init, None) {
            Ok(place) => self.watch(place, Watch::CallInit { site, receiver: made }),
            Err(ancestor) => {
                self.edges.push((site, class));
                if let Ancestor::Outside(outside) = ancestor {
                    let text = self.linked.symbols.text(self.special.init);
                    if let Some(init) = self.foreign.attribute(outside, self.special.init, text) {
                        self.outside.push((site, init));
                    }
                }
                // Data classes and named tuples store what they are given by name.
                self.store_keywords(site, made);
            }
        }
    }

    fn store_keywords(&mut self, site: u32, made: ObjectId) {
        let Some((file, call)) = self.sites[site as usize].call else { return };
        let facts = self.linked.facts(file);
        let call = &facts.calls[call as usize];
        let first = call.first_argument as usize;
        for argument in &facts.arguments[first..first + call.argument_count as usize] {
            if let ArgumentKind::Keyword(name) = argument.kind
                && argument.slot.0 > 1
            {
                let name = self.linked.symbol(file, name);
                let from = self.linked.place(file, argument.slot);
                let place = self.field(made, Field::Named(name));
                self.copy(from, place);
            }
        }
    }

    /// A function of the repository is called.
    fn invoke(&mut self, site: u32, function: Entity, receiver: Option<ObjectId>, keep: bool) {
        let linked = self.linked;
        let file = linked.file_of(function);
        let definition = linked.definition(function);
        let parameters = &definition.parameters;
        if let Some(receiver) = receiver
            && let Some(first) = parameters.first()
            && matches!(first.kind, ParameterKind::Positional | ParameterKind::PositionalOnly)
        {
            self.insert(linked.place(file, first.slot), receiver);
        }
        if !self.bound.insert((site, function, receiver.is_some())) {
            return;
        }
        self.edges.push((site, function));
        if keep && let Some(result) = self.result(site) {
            if definition.traits.generator {
                let generator = self.object(Object::Made(function));
                self.insert(result, generator);
            } else {
                self.copy(linked.place(file, definition.returned), result);
            }
        }
        let skip = usize::from(receiver.is_some());
        if let Some(&items) = self.synthetic.get(&site) {
            for parameter in parameters.iter().skip(skip) {
                if matches!(
                    parameter.kind,
                    ParameterKind::Positional | ParameterKind::PositionalOnly
                ) {
                    self.copy(items, linked.place(file, parameter.slot));
                }
            }
            return;
        }
        let Some((from, call)) = self.sites[site as usize].call else { return };
        let facts = linked.facts(from);
        let call = &facts.calls[call as usize];
        let first = call.first_argument as usize;
        let arguments = &facts.arguments[first..first + call.argument_count as usize];
        let ordered: Vec<Place> = parameters
            .iter()
            .take_while(|p| {
                matches!(p.kind, ParameterKind::Positional | ParameterKind::PositionalOnly)
            })
            .map(|parameter| linked.place(file, parameter.slot))
            .collect();
        let rest = parameters.iter().find(|p| p.kind == ParameterKind::Rest);
        let rest = rest.map(|parameter| linked.place(file, parameter.slot));
        let keywords = parameters.iter().find(|p| p.kind == ParameterKind::Keywords);
        let keywords = keywords.map(|parameter| linked.place(file, parameter.slot));
        let mut at = skip;
        for argument in arguments {
            if argument.slot.0 <= 1 {
                if argument.kind == ArgumentKind::Positional {
                    at += 1;
                }
                continue;
            }
            let value = linked.place(from, argument.slot);
            match argument.kind {
                ArgumentKind::Positional => {
                    if let Some(&parameter) = ordered.get(at) {
                        self.copy(value, parameter);
                    } else if let Some(rest) = rest {
                        let container = self.object(Object::Sequence(rest));
                        let index = i64::try_from(at - ordered.len()).unwrap_or(i64::MAX);
                        self.store_item(container, Key2::Field(Field::Integer(index)), value);
                    }
                    at += 1;
                }
                ArgumentKind::Starred => {
                    for (index, &parameter) in (0..).zip(ordered.iter().skip(at)) {
                        let key = self.key_id(Key2::Field(Field::Integer(index)));
                        self.watch(value, Watch::Item { key, to: parameter });
                    }
                    if let Some(rest) = rest {
                        if at == ordered.len() {
                            self.copy(value, rest);
                        } else {
                            let key = self.key_id(Key2::Unknown);
                            let items = self.pair(2, value);
                            self.watch(value, Watch::Item { key, to: items });
                            let container = self.object(Object::Sequence(rest));
                            self.store_item(container, Key2::Unknown, items);
                        }
                    }
                }
                ArgumentKind::Keyword(name) => {
                    let name = linked.symbol(from, name);
                    let parameter = parameters.iter().find(|parameter| {
                        linked.symbol(file, parameter.name) == name
                            && matches!(
                                parameter.kind,
                                ParameterKind::Positional | ParameterKind::KeywordOnly
                            )
                    });
                    if let Some(parameter) = parameter {
                        self.copy(value, linked.place(file, parameter.slot));
                    } else if let Some(keywords) = keywords {
                        let container = self.object(Object::Mapping(keywords));
                        self.store_item(container, Key2::Field(Field::Named(name)), value);
                    }
                }
                ArgumentKind::Keywords => {
                    for parameter in parameters.iter().skip(skip) {
                        if matches!(
                            parameter.kind,
                            ParameterKind::Positional | ParameterKind::KeywordOnly
                        ) {
                            let name = linked.symbol(file, parameter.name);
                            let key = self.key_id(Key2::Field(Field::Named(name)));
                            let to = linked.place(file, parameter.slot);
                            self.watch(value, Watch::Item { key, to });
                        }
                    }
                    if let Some(keywords) = keywords {
                        self.copy(value, keywords);
                    }
                }
            }
        }
    }

    /// A method of a list, a dictionary or a string.
    fn method(&mut self, site: u32, container: ObjectId, name: Symbol) {
        let linked = self.linked;
        let text = linked.symbols.text(name);
        let kind = match self.what(container) {
            Object::Sequence(_) => "list",
            Object::Mapping(_) => "dict",
            _ => "str",
        };
        let id = self.foreign.root(&format!("builtins.{kind}.{text}"));
        self.outside.push((site, id));
        if kind == "str" {
            return;
        }
        let caller = self.sites[site as usize].caller;
        let all = self.field(container, Field::All);
        let result = self.result(site);
        match text {
            "append" | "add" | "appendleft" => {
                if let Some(value) = self.positional(site, 0) {
                    self.store_item(container, Key2::Unknown, value);
                }
            }
            "insert" => {
                if let Some(value) = self.positional(site, 1) {
                    self.store_item(container, Key2::Unknown, value);
                }
            }
            "extend" | "extendleft" | "union" | "update" if kind == "list" => {
                if let Some(value) = self.positional(site, 0) {
                    let items = self.pair(3, value);
                    self.watch(value, Watch::Iterate { to: items, caller });
                    self.store_item(container, Key2::Unknown, items);
                }
                if let (Some(result), "union") = (result, text) {
                    self.insert(result, container);
                }
            }
            "update" => {
                if let Some(value) = self.positional(site, 0) {
                    let items = self.pair(4, value);
                    let key = self.key_id(Key2::Unknown);
                    self.watch(value, Watch::Item { key, to: items });
                    self.store_item(container, Key2::Unknown, items);
                }
                let Some((file, call)) = self.sites[site as usize].call else { return };
                let facts = linked.facts(file);
                let call = &facts.calls[call as usize];
                let first = call.first_argument as usize;
                for argument in &facts.arguments[first..first + call.argument_count as usize] {
                    if let ArgumentKind::Keyword(name) = argument.kind
                        && argument.slot.0 > 1
                    {
                        let key = Key2::Field(Field::Named(linked.symbol(file, name)));
                        self.store_item(container, key, linked.place(file, argument.slot));
                    }
                }
            }
            "get" | "pop" | "setdefault" if kind == "dict" => {
                let Some(result) = result else { return };
                let default = self.positional(site, 1);
                if let Some(default) = default {
                    self.copy(default, result);
                    if text == "setdefault" {
                        self.store_item(container, Key2::Unknown, default);
                    }
                }
                match self.positional(site, 0) {
                    Some(key) => {
                        let base = self.fresh();
                        let at = u32::try_from(self.helds.len()).unwrap_or(u32::MAX);
                        let other = result;
                        let held = Held { base, key, other, store: false, satisfied: false };
                        self.helds.push(held);
                        self.insert(base, container);
                        self.watch(base, Watch::HeldBase(at));
                        self.watch(key, Watch::HeldKey(at));
                    }
                    None => self.copy(all, result),
                }
            }
            "pop" | "popleft" | "popitem" => {
                if let Some(result) = result {
                    self.copy(all, result);
                }
            }
            "copy" | "keys" | "difference" | "intersection" => {
                if let Some(result) = result {
                    self.insert(result, container);
                }
            }
            "values" => {
                if let Some(result) = result {
                    let values = self.object(Object::Sequence(result));
                    self.store_item(values, Key2::Unknown, all);
                    self.insert(result, values);
                }
            }
            "items" => {
                if let Some(result) = result {
                    let inner = self.pair(5, result);
                    let pair = self.object(Object::Sequence(inner));
                    self.store_item(pair, Key2::Field(Field::Integer(1)), all);
                    self.insert(inner, pair);
                    let items = self.object(Object::Sequence(result));
                    self.store_item(items, Key2::Unknown, inner);
                    self.insert(result, items);
                }
            }
            "sort" => self.call_key(site, all),
            _ => {}
        }
    }

    /// The function given as `key=` is called with items.
    fn call_key(&mut self, site: u32, items: Place) {
        if let Some(function) = self.keyword(site, self.special.key) {
            self.call_with_items(site, function, items);
        }
    }

    /// A function is called by something outside on behalf of a site; the slot of its result.
    fn call_with_items(&mut self, site: u32, function: Place, items: Place) -> Place {
        let result = self.pair(6, function);
        let Site { caller, name, line, .. } = self.sites[site as usize];
        if !self.implicit.contains_key(&(7, function)) {
            let form = SiteForm::Implicit;
            let called =
                self.add_site(Site { caller, form, name, line, callee: function, call: None });
            self.implicit.insert((7, function), called);
            self.results[called as usize] = result;
            self.synthetic.insert(called, items);
            self.watch(function, Watch::Call(called));
        }
        result
    }

    #[allow(clippy::too_many_lines)]
    fn foreign_called(&mut self, site: u32, outside: Outside) {
        let Some(result) = self.result(site) else { return };
        let caller = self.sites[site as usize].caller;
        let behaviour = self.foreign.behaviour(outside);
        let first = self.positional(site, 0);
        if self.is_decorator(site) && behaviour != Behaviour::Property {
            if let Some(first) = first {
                self.copy(first, result);
            }
            return;
        }
        match behaviour {
            Behaviour::Opaque => self.insert(result, self.stranger),
            Behaviour::Class => {
                let object = self.object(Object::Outside(outside));
                self.insert(result, object);
            }
            Behaviour::First | Behaviour::Partial => match first {
                Some(first) => self.copy(first, result),
                None if behaviour == Behaviour::First => {
                    // `list()` and its like begin empty.
                    let name = self.foreign.name(outside);
                    if name.starts_with("builtins.") || name == "collections.deque" {
                        let container = self.object(Object::Sequence(result));
                        self.insert(result, container);
                    }
                }
                None => {}
            },
            Behaviour::Cast => {
                if let Some(class) = first {
                    self.watch(class, Watch::Instances(result));
                }
                if let Some(value) = self.positional(site, 1) {
                    self.copy(value, result);
                }
            }
            Behaviour::Item => {
                if let Some(first) = first {
                    self.watch(first, Watch::Next { to: result, caller });
                    self.call_key(site, result);
                }
            }
            Behaviour::Enumerate | Behaviour::Zip => {
                let inner = self.pair(5, result);
                let tuple = self.object(Object::Sequence(inner));
                self.insert(inner, tuple);
                let from = i64::from(behaviour == Behaviour::Enumerate);
                for at in 0..6 {
                    let Some(argument) = self.positional(site, at) else { break };
                    let items = self.pair(3, argument);
                    self.watch(argument, Watch::Iterate { to: items, caller });
                    let index = from + i64::try_from(at).unwrap_or(0);
                    self.store_item(tuple, Key2::Field(Field::Integer(index)), items);
                }
                let pairs = self.object(Object::Sequence(result));
                self.store_item(pairs, Key2::Unknown, inner);
                self.insert(result, pairs);
            }
            Behaviour::Map => {
                let items = self.pair(3, result);
                let list = self.object(Object::Sequence(result));
                self.insert(result, list);
                for at in 0..4 {
                    let Some(argument) = self.positional(site, at) else { continue };
                    self.watch(argument, Watch::Iterate { to: items, caller });
                    let made = self.call_with_items(site, argument, items);
                    self.store_item(list, Key2::Unknown, made);
                }
            }
            Behaviour::Sorted => {
                if let Some(first) = first {
                    self.copy(first, result);
                    let items = self.pair(3, first);
                    self.watch(first, Watch::Iterate { to: items, caller });
                    self.call_key(site, items);
                }
            }
            Behaviour::Type => {
                if let Some(first) = first {
                    self.watch(first, Watch::ClassOf(result));
                }
            }
            Behaviour::Property => {
                if let Some(first) = first {
                    self.watch(first, Watch::PropertyOf(result));
                }
            }
            Behaviour::Mapping => {
                let mapping = self.object(Object::Mapping(result));
                self.insert(result, mapping);
                if let Some(first) = first {
                    self.copy(first, result);
                }
                let Some((file, call)) = self.sites[site as usize].call else { return };
                let linked = self.linked;
                let facts = linked.facts(file);
                let call = &facts.calls[call as usize];
                let start = call.first_argument as usize;
                for argument in &facts.arguments[start..start + call.argument_count as usize] {
                    if let ArgumentKind::Keyword(name) = argument.kind
                        && argument.slot.0 > 1
                    {
                        let key = Key2::Field(Field::Named(linked.symbol(file, name)));
                        self.store_item(mapping, key, linked.place(file, argument.slot));
                    }
                }
            }
            Behaviour::WithMetaclass => {
                for at in 1..8 {
                    let Some(base) = self.positional(site, at) else { break };
                    self.copy(base, result);
                }
            }
        }
    }
}

/// C3's merge; where no candidate is left, the first of the rest is taken.
fn merge(mut lists: Vec<Vec<Ancestor>>) -> Vec<Ancestor> {
    let mut order: Vec<Ancestor> = Vec::new();
    loop {
        lists.retain(|list| !list.is_empty());
        let Some(fallback) = lists.first().map(|list| list[0]) else { return order };
        let good = lists
            .iter()
            .map(|list| list[0])
            .find(|candidate| !lists.iter().any(|list| list[1..].contains(candidate)));
        let chosen = good.unwrap_or(fallback);
        for list in &mut lists {
            list.retain(|other| *other != chosen);
        }
        if !order.contains(&chosen) {
            order.push(chosen);
        }
    }
}
