//! The reactions to an object that arrives in a watched slot.

use super::{Field, LATER, Solver, Watch};
use crate::{
    facts::EntityKind,
    flow::{Object, ObjectId},
};

impl Solver<'_> {
    pub(super) fn react(&mut self, watch: Watch, object: ObjectId) {
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
                for index in 0..self.slots.done(held.key) {
                    let key = self.slots.get(held.key, index);
                    self.apply_held(held, object, key);
                }
            }
            Watch::HeldKey(at) => {
                if self.is_constant(object) {
                    self.helds[at as usize].satisfied = true;
                    let held = self.helds[at as usize];
                    for index in 0..self.slots.done(held.base) {
                        let base = self.slots.get(held.base, index);
                        self.apply_held(held, base, object);
                    }
                }
            }
            Watch::Tail { from, to } => self.tail(object, from, to),
            Watch::Iterate { to, caller } => self.iterate(object, to, caller),
            Watch::Next { to, caller } => self.next(object, to, caller),
            Watch::Enter { to, caller } => self.enter(object, to, caller),
            Watch::Instances(to) => match self.what(object) {
                Object::Definition(entity) if self.kind(entity) == EntityKind::Class => {
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
            Watch::Without { name, to } => {
                let has = match self.what(object) {
                    Object::Made(class) if self.kind(class) == EntityKind::Class => {
                        self.lookup(class, name, None).is_ok()
                    }
                    _ => false,
                };
                if !has {
                    self.insert(to, object);
                }
            }
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
                    && self.kind(entity) == EntityKind::Class
                {
                    self.construct(site, entity);
                }
            }
            Watch::Store { site, deletes } => {
                if let Object::Made(class) = self.what(object)
                    && self.kind(class) == EntityKind::Class
                    && let Ok(place) = self.lookup(class, self.sites[site as usize].name, None)
                {
                    self.watch(place, Watch::Setter { site, receiver: object, deletes });
                }
            }
            Watch::Setter { site, receiver, deletes } => {
                if let Object::Definition(entity) = self.what(object) {
                    let traits = self.linked.definition(entity).traits;
                    if if deletes { traits.deleter } else { traits.setter } {
                        self.invoke(site, entity, Some(receiver), false);
                    }
                }
            }
            Watch::ClassOf(to) => {
                if let Object::Made(entity) = self.what(object)
                    && self.kind(entity) == EntityKind::Class
                {
                    self.insert(to, entity);
                }
            }
            Watch::Wrapped { to, wrapper } => {
                let passed = if self.is_constant(object) { wrapper } else { object };
                self.insert(to, passed);
            }
            Watch::PropertyOf(to) => {
                if let Object::Definition(entity) = self.what(object) {
                    let object = self.object(Object::Property(entity));
                    self.insert(to, object);
                }
            }
        }
    }
}
