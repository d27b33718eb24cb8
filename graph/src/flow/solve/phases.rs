//! The phases of the analysis: installs the flows of all files, solves, collects.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Ancestor, Key2, LATER, Solver, Watch};
use crate::{
    facts::{Container, FileFacts, Name, Op, Slot},
    flow::{LinkedEntity, LinkedName, LinkedSlot, Object, Site, SiteForm, Solution},
};

impl Solver<'_> {
    pub(super) fn first_phase(&mut self) {
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
    pub(super) fn link(&mut self, place: LinkedSlot, watch: Watch) {
        let next = u32::try_from(self.watches.len()).unwrap_or(u32::MAX);
        let before = self.slots.set_watch(place, next);
        self.watches.push((watch, before));
    }

    pub(super) fn second_phase(&mut self) {
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
                    Op::Without(from, name, to) => {
                        let watch = Watch::Without { name: symbol(name), to: place(to) };
                        self.watch(place(from), watch);
                    }
                    Op::Super(class, receiver, to) => {
                        let watch = Watch::Super { class: entity(class), to: place(to) };
                        self.watch(place(receiver), watch);
                    }
                    Op::Receiver(local, to) => self.receiver(entity(local), place(to)),
                    Op::Store(base, name, within, line) | Op::Delete(base, name, within, line) => {
                        let name = symbol(name);
                        if !self.properties.contains(&name) {
                            continue;
                        }
                        let form = SiteForm::Implicit;
                        let (caller, callee) = (entity(within), place(base));
                        let site = Site { caller, form, name, line, callee, call: None };
                        let site = self.add_site(site);
                        let deletes = matches!(op, Op::Delete(..));
                        self.watch(place(base), Watch::Store { site, deletes });
                    }
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
                let other = self.slots.held(held.key).any(|o| !self.is_constant(o));
                if !held.satisfied || other {
                    self.helds[at].satisfied = true;
                    let key = self.key_id(Key2::Unknown);
                    let watch = if held.store {
                        Watch::SetItem { key, from: held.other }
                    } else {
                        Watch::Item { key, to: held.other }
                    };
                    if self.joined.insert((held.base, u32::MAX - u32::try_from(at).unwrap_or(0))) {
                        self.watch(held.base, watch);
                        changed = true;
                    }
                }
            }
            let spent = self.steps >= self.allowed;
            if spent || (!changed && self.slots.is_quiet() && self.pending.is_empty()) {
                break;
            }
        }
    }

    pub(super) fn finish(mut self) -> Solution {
        let linked = self.linked;
        // Properties are called by whoever reads the attribute.
        if self.sites.iter().any(|site| site.caller == LATER) {
            let mut readers: FxHashMap<LinkedSlot, (LinkedEntity, u32)> = FxHashMap::default();
            let wanted: FxHashSet<LinkedSlot> =
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
                let place = linked.place(file, reference.slot);
                if self.slots.is_full(place) {
                    continue;
                }
                for object in self.slots.held(place) {
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
        let saturated = self.sites.iter().map(|site| self.slots.is_full(site.callee)).collect();
        let edges = by_site(self.sites.len(), &self.edges);
        let behind = self.behind();
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
            edges,
            outside: self.outside,
            strange: self.strange,
            saturated,
            behind,
            references,
            bases,
            foreign: self.foreign,
        }
    }
}

/// Slots that one callee may be a copy of at most; copies are gone back along no further.
const BACK: usize = 64;

impl Solver<'_> {
    /// For each site the attributes that its callee may be a copy of and that hold nothing.
    fn behind(&self) -> FxHashMap<u32, Vec<LinkedName>> {
        let linked = self.linked;
        let mut found = FxHashMap::default();
        let mut sites =
            (0u32..).zip(&self.sites).filter_map(|(at, site)| Some((at, site.call?))).peekable();
        let mut copies = Copies::default();
        // The attribute that each slot of a file holds nothing of.
        let mut unknown: Vec<Option<LinkedName>> = Vec::new();
        let mut open = Vec::new();
        for (file, facts) in (0u32..).zip(linked.program.files) {
            copies.read(facts);
            unknown.clear();
            unknown.resize(facts.slots as usize, None);
            for op in &facts.ops {
                if let Op::Attribute(_, name, to) = *op
                    && self.slots.count(linked.place(file, to)) == 0
                {
                    unknown[to.0 as usize] = Some(linked.symbol(file, name));
                }
            }
            while let Some((site, (_, call))) = sites.next_if(|&(_, (of, _))| of == file) {
                copies.of(facts.calls[call as usize].callee, &mut open);
                let mut names: Vec<LinkedName> =
                    open.iter().filter_map(|slot| unknown[slot.0 as usize]).collect();
                if !names.is_empty() {
                    names.sort_unstable();
                    names.dedup();
                    found.insert(site, names);
                }
            }
        }
        found
    }
}

/// The sources that each slot of a file copies from.
#[derive(Default)]
struct Copies {
    /// The start of each slot's sources; two more at the end.
    starts: Vec<u32>,
    sources: Vec<Slot>,
}

impl Copies {
    fn read(&mut self, facts: &FileFacts) {
        let copies = || {
            facts.ops.iter().filter_map(|op| match *op {
                Op::Copy(from, to) => Some((from, to)),
                _ => None,
            })
        };
        self.starts.clear();
        self.starts.resize(facts.slots as usize + 2, 0);
        for (_, to) in copies() {
            self.starts[to.0 as usize + 2] += 1;
        }
        for at in 1..self.starts.len() {
            self.starts[at] += self.starts[at - 1];
        }
        self.sources.clear();
        self.sources.resize(self.starts.last().map_or(0, |&count| count as usize), Slot::NONE);
        // Each start moves to its end, which is the next one's start.
        for (from, to) in copies() {
            let next = &mut self.starts[to.0 as usize + 1];
            self.sources[*next as usize] = from;
            *next += 1;
        }
    }

    /// Collects the slots that a slot copies from, nearest first.
    fn of(&self, slot: Slot, open: &mut Vec<Slot>) {
        open.clear();
        let (mut next, mut at) = (Some(slot), 0);
        while let Some(slot) = next {
            let slot = slot.0 as usize;
            let sources = &self.sources[self.starts[slot] as usize..self.starts[slot + 1] as usize];
            for &source in sources {
                if open.len() < BACK && !open.contains(&source) {
                    open.push(source);
                }
            }
            next = open.get(at).copied();
            at += 1;
        }
    }
}

/// Sorted and without repetition; a site has few callees, so each one's are sorted alone.
fn by_site(sites: usize, edges: &[(u32, LinkedEntity)]) -> Vec<(u32, LinkedEntity)> {
    let mut starts = vec![0u32; sites + 1];
    for &(site, _) in edges {
        starts[site as usize + 1] += 1;
    }
    for site in 0..sites {
        starts[site + 1] += starts[site];
    }
    let mut sorted = vec![(0, 0); edges.len()];
    let mut next = starts.clone();
    for &edge in edges {
        let at = &mut next[edge.0 as usize];
        sorted[*at as usize] = edge;
        *at += 1;
    }
    for site in 0..sites {
        sorted[starts[site] as usize..starts[site + 1] as usize].sort_unstable();
    }
    sorted.dedup();
    sorted
}
