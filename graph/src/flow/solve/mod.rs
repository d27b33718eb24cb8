//! The fixpoint: objects flow along the slots until nothing new arrives anywhere.
//!
//! Two phases. The first follows definitions, imports and attributes of modules and classes, which
//! settles base classes; the second, knowing the order in which bases are searched, follows calls,
//! instances and containers.

mod attributes;
mod bases;
mod builtins;
mod calls;
mod containers;
mod names;
mod phases;
mod reactions;
mod slots;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Foreign, ForeignName, LinkedEntity, LinkedFiles, LinkedName, LinkedSlot, Object, ObjectId,
    Site, SiteForm, Solution,
};
use slots::{NO_WATCH, Slots};

use crate::facts::{EntityKind, Op};

/// Constants that a slot may hold.
const CONSTANTS: usize = 4;
/// Tuples and lists are followed item by item up to here when they are cut.
const CUT: i32 = 8;
/// The number of reactions per slot after which the analysis stops. Its results so far stay valid;
/// names decide the rest. The limit keeps hostile or wildly polymorphic sources from taking
/// quadratic time.
const STEPS: u64 = 6;
/// A caller that is found when the analysis is over.
const LATER: LinkedEntity = u32::MAX;

/// Reacts to what arrives in a slot.
#[derive(Debug, Clone, Copy)]
enum Watch {
    Copy(LinkedSlot),
    /// A member of a class, seen through an instance.
    Get {
        to: LinkedSlot,
        receiver: ObjectId,
    },
    /// A member of a class, seen through the class.
    GetClass {
        to: LinkedSlot,
        receiver: ObjectId,
    },
    /// An attribute of an object, on its way to one reader.
    Fetch(LinkedSlot),
    /// A descriptor's `__get__`.
    GetterOf {
        to: LinkedSlot,
        receiver: ObjectId,
    },
    Attribute {
        name: LinkedName,
        to: LinkedSlot,
    },
    SetAttribute {
        name: LinkedName,
        from: LinkedSlot,
    },
    Item {
        key: u32,
        to: LinkedSlot,
    },
    SetItem {
        key: u32,
        from: LinkedSlot,
    },
    HeldBase(u32),
    HeldKey(u32),
    Tail {
        from: u32,
        to: LinkedSlot,
    },
    Iterate {
        to: LinkedSlot,
        caller: LinkedEntity,
    },
    Next {
        to: LinkedSlot,
        caller: LinkedEntity,
    },
    Enter {
        to: LinkedSlot,
        caller: LinkedEntity,
    },
    Instances(LinkedSlot),
    /// Passes on what has no such attribute.
    Without {
        name: LinkedName,
        to: LinkedSlot,
    },
    Super {
        class: LinkedEntity,
        to: LinkedSlot,
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
    /// An attribute is stored or deleted, which its property may do.
    Store {
        site: u32,
        deletes: bool,
    },
    /// A member of the class of what it is stored in.
    Setter {
        site: u32,
        receiver: ObjectId,
        deletes: bool,
    },
    ClassOf(LinkedSlot),
    PropertyOf(LinkedSlot),
    /// A function passes; a constant is a setting of its wrapper.
    Wrapped {
        to: LinkedSlot,
        wrapper: ObjectId,
    },
}

/// A field of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Field {
    Named(LinkedName),
    Integer(i32),
    /// Stored under a key that is not known.
    Any,
    /// Whatever is stored under any key.
    All,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    base: LinkedSlot,
    key: LinkedSlot,
    other: LinkedSlot,
    store: bool,
    satisfied: bool,
}

/// A class in which attributes that a class does not define are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ancestor {
    Class(LinkedEntity),
    Outside(ForeignName),
    Unknown,
}

struct Solver<'l> {
    linked: &'l LinkedFiles<'l>,
    entities: u32,
    objects: Vec<Object>,
    ids: FxHashMap<Object, ObjectId>,
    slots: Slots,
    /// Reactions to what had arrived before their watch.
    pending: Vec<(Watch, ObjectId)>,
    /// Reactions, each with the one listed before it for the same slot.
    watches: Vec<(Watch, u32)>,
    /// Pairs of slots that were joined by what must not be joined twice.
    joined: FxHashSet<(LinkedSlot, LinkedSlot)>,
    fields: FxHashMap<(ObjectId, Field), LinkedSlot>,
    /// The slot of each attribute of instances and classes, ancestors included.
    loaded: FxHashMap<(ObjectId, LinkedName), LinkedSlot>,
    keys: Vec<Key2>,
    helds: Vec<Held>,
    sites: Vec<Site>,
    results: Vec<LinkedSlot>,
    synthetic: FxHashMap<u32, LinkedSlot>,
    edges: Vec<(u32, LinkedEntity)>,
    outside: Vec<(u32, ForeignName)>,
    strange: Vec<bool>,
    bound: FxHashSet<(u32, LinkedEntity, bool)>,
    implicit: FxHashMap<(u8, LinkedSlot), u32>,
    foreign: Foreign,
    builtins: FxHashMap<LinkedName, Option<ObjectId>>,
    ancestors: Vec<Vec<Ancestor>>,
    deferred: Vec<(ObjectId, LinkedName, LinkedSlot)>,
    second: bool,
    stored: FxHashSet<LinkedName>,
    /// Names of properties that can be stored or deleted.
    properties: FxHashSet<LinkedName>,
    /// Reactions so far, and when to give up.
    steps: u64,
    allowed: u64,
    stranger: ObjectId,
    special: Special,
    /// For calls through builtins: the values that the callee is given.
    pairs: FxHashMap<(u8, LinkedSlot), LinkedSlot>,
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
    init: LinkedName,
    post_init: LinkedName,
    new: LinkedName,
    call: LinkedName,
    iter: LinkedName,
    aiter: LinkedName,
    next: LinkedName,
    anext: LinkedName,
    enter: LinkedName,
    aenter: LinkedName,
    exit: LinkedName,
    aexit: LinkedName,
    getitem: LinkedName,
    getattr: LinkedName,
    get: LinkedName,
    key: LinkedName,
}

/// Runs the analysis.
pub(crate) fn solve(linked: &mut LinkedFiles<'_>) -> Solution {
    let special = {
        let mut name = |text: &'static str| linked.symbols.intern(text);
        Special {
            init: name("__init__"),
            post_init: name("__post_init__"),
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
    fn new(linked: &'l LinkedFiles<'l>, special: Special) -> Self {
        let entities = u32::try_from(linked.file_by_entity.len()).unwrap_or(u32::MAX);
        let slots = linked.first_slot.last().copied().unwrap_or(0) as usize;
        let mut stored = FxHashSet::default();
        let mut properties = FxHashSet::default();
        for (file, facts) in (0u32..).zip(linked.program.files) {
            for definition in &facts.definitions {
                if definition.traits.setter || definition.traits.deleter {
                    properties.insert(linked.symbol(file, definition.name));
                }
            }
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
            slots: Slots::new(slots),
            pending: Vec::new(),
            watches: Vec::new(),
            joined: FxHashSet::default(),
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
            builtins: FxHashMap::default(),
            ancestors: Vec::new(),
            deferred: Vec::new(),
            second: false,
            stored,
            properties,
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

    fn kind(&self, entity: LinkedEntity) -> EntityKind {
        self.linked.definition(entity).kind
    }

    // Slots.

    fn fresh(&mut self) -> LinkedSlot {
        self.slots.fresh()
    }

    fn insert(&mut self, place: LinkedSlot, object: ObjectId) {
        if self.slots.is_full(place) || self.slots.holds(place, object) {
            return;
        }
        if self.is_constant(object)
            && self.slots.held(place).filter(|&other| self.is_constant(other)).count() >= CONSTANTS
        {
            return;
        }
        self.slots.add(place, object);
    }

    fn is_constant(&self, object: ObjectId) -> bool {
        object >= 2 * self.entities
            && matches!(self.what(object), Object::Text(_) | Object::Integer(_))
    }

    fn watch(&mut self, place: LinkedSlot, watch: Watch) {
        self.link(place, watch);
        for at in 0..self.slots.done(place) {
            let object = self.slots.get(place, at);
            self.pending.push((watch, object));
        }
    }

    fn copy(&mut self, from: LinkedSlot, to: LinkedSlot) {
        // A copy that is there already does no harm, and is rarer than a look for it would pay.
        if from != to {
            self.watch(from, Watch::Copy(to));
        }
    }

    fn fetch(&mut self, from: LinkedSlot, to: LinkedSlot) {
        if self.joined.insert((from, to)) {
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
            let Some(place) = self.slots.next() else { break };
            while let Some(object) = self.slots.news(place) {
                let mut next = self.slots.watch(place);
                while next != NO_WATCH {
                    let (watch, following) = self.watches[next as usize];
                    next = following;
                    self.steps += 1;
                    self.react(watch, object);
                }
            }
        }
    }

    fn field(&mut self, object: ObjectId, field: Field) -> LinkedSlot {
        if let Some(&place) = self.fields.get(&(object, field)) {
            return place;
        }
        let place = self.fresh();
        self.fields.insert((object, field), place);
        place
    }

    fn add_site(&mut self, site: Site) -> u32 {
        let id = u32::try_from(self.sites.len()).unwrap_or(u32::MAX);
        self.sites.push(site);
        self.results.push(0);
        self.strange.push(false);
        id
    }

    /// The one call without an expression of this kind that feeds a slot.
    fn implicit_site(
        &mut self,
        tag: u8,
        to: LinkedSlot,
        caller: LinkedEntity,
        name: LinkedName,
    ) -> u32 {
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
}
