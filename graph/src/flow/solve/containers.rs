//! Solves lists, dictionaries, iteration and `with`: a value stored under a key is read under it.

use super::{Ancestor, CUT, Field, Held, Key2, LATER, Solver, Special, Watch};
use crate::{
    facts::{ContainerKey, EntityKind},
    flow::{LinkedEntity, LinkedSlot, Object, ObjectId},
};

impl Solver<'_> {
    pub(super) fn key_id(&mut self, key: Key2) -> u32 {
        let id = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        self.keys.push(key);
        id
    }

    pub(super) fn item(
        &mut self,
        file: u32,
        base: LinkedSlot,
        key: ContainerKey,
        other: LinkedSlot,
        store: bool,
    ) {
        let key = match key {
            ContainerKey::Text(name) => Key2::Field(Field::Named(self.linked.symbol(file, name))),
            ContainerKey::Integer(number) if number >= 0 => Key2::Field(Field::Integer(number)),
            ContainerKey::Integer(_) | ContainerKey::Unknown => Key2::Unknown,
            ContainerKey::Held(slot) => {
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

    pub(super) fn apply_held(&mut self, held: Held, base: ObjectId, key: ObjectId) {
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

    pub(super) fn load_item(&mut self, object: ObjectId, key: Key2, to: LinkedSlot) {
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
            Object::Made(class) if self.kind(class) == EntityKind::Class => {
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
            Object::Definition(class) if self.kind(class) == EntityKind::Class => {
                self.insert(to, object)
            }
            Object::Outside(_) | Object::Stranger => self.insert(to, self.stranger),
            _ => {}
        }
    }

    pub(super) fn store_item(&mut self, object: ObjectId, key: Key2, from: LinkedSlot) {
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

    pub(super) fn tail(&mut self, object: ObjectId, from: u32, to: LinkedSlot) {
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
                let source = self.field(
                    object,
                    Field::Integer(i32::try_from(from).unwrap_or(i32::MAX).saturating_add(at)),
                );
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

    pub(super) fn iterate(&mut self, object: ObjectId, to: LinkedSlot, caller: LinkedEntity) {
        match self.what(object) {
            Object::Sequence(_) => {
                let all = self.field(object, Field::All);
                self.copy(all, to);
            }
            Object::Made(entity) if self.kind(entity) == EntityKind::Class => {
                let method = self
                    .lookup(entity, self.special.iter, None)
                    .or_else(|_| self.lookup(entity, self.special.aiter, None));
                match method {
                    Ok(place) => {
                        let iterator = self.pair(0, to);
                        let site = self.implicit_site(3, iterator, caller, self.special.iter);
                        self.watch(place, Watch::CallWith { site, receiver: object });
                        if self.joined.insert((iterator, to)) {
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

    pub(super) fn next(&mut self, object: ObjectId, to: LinkedSlot, caller: LinkedEntity) {
        match self.what(object) {
            Object::Made(entity) if self.kind(entity) == EntityKind::Class => {
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

    pub(super) fn enter(&mut self, object: ObjectId, to: LinkedSlot, caller: LinkedEntity) {
        match self.what(object) {
            Object::Made(entity) if self.kind(entity) == EntityKind::Class => {
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

    pub(super) fn yields(&mut self, function: LinkedEntity, to: LinkedSlot) {
        let file = self.linked.file_of(function);
        let yielded = self.linked.definition(function).yielded;
        // An annotation such as `Iterator[X]` says what is yielded, too.
        let returned = self.linked.definition(function).returned;
        let (yielded, returned) =
            (self.linked.place(file, yielded), self.linked.place(file, returned));
        self.copy(yielded, to);
        if self.joined.insert((returned, to)) {
            self.watch(returned, Watch::Iterate { to, caller: function });
        }
    }

    /// A slot that belongs to another one.
    pub(super) fn pair(&mut self, tag: u8, of: LinkedSlot) -> LinkedSlot {
        if let Some(&place) = self.pairs.get(&(tag, of)) {
            return place;
        }
        let place = self.fresh();
        self.pairs.insert((tag, of), place);
        place
    }
}
