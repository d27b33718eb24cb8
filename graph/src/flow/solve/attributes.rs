//! Solves attributes: the slots of modules, classes and instances, and the effects of reading them.

use super::{Ancestor, Field, LATER, Solver, Watch};
use crate::{
    facts::EntityKind,
    flow::{Attribute, LinkedEntity, LinkedName, LinkedSlot, Object, ObjectId},
    module::ModulePlace,
};

impl Solver<'_> {
    /// Returns the object that reading a class member through a receiver gives: a bound method for
    /// a function.
    pub(super) fn bind(&mut self, object: ObjectId, receiver: ObjectId) -> ObjectId {
        let Object::Definition(entity) = self.what(object) else { return object };
        let definition = self.linked.definition(entity);
        if !matches!(definition.kind, EntityKind::Function | EntityKind::Lambda)
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

    pub(super) fn bind_always(&mut self, object: ObjectId, receiver: ObjectId) -> ObjectId {
        match self.what(object) {
            Object::Definition(entity)
                if matches!(self.kind(entity), EntityKind::Function | EntityKind::Lambda) =>
            {
                self.object(Object::Bound(entity, receiver))
            }
            _ => object,
        }
    }

    pub(super) fn get(
        &mut self,
        object: ObjectId,
        to: LinkedSlot,
        receiver: ObjectId,
        of_class: bool,
    ) {
        let property = match self.what(object) {
            Object::Definition(entity) => {
                let definition = self.linked.definition(entity);
                if definition.traits.setter || definition.traits.deleter {
                    return;
                }
                (definition.kind == EntityKind::Function && definition.traits.property)
                    .then_some(entity)
            }
            Object::Property(entity) => Some(entity),
            Object::Made(class) if self.kind(class) == EntityKind::Class => {
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
            let bound = if definition.traits.class_method && definition.kind == EntityKind::Function
            {
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

    pub(super) fn load(&mut self, object: ObjectId, name: LinkedName, to: LinkedSlot) {
        let linked = self.linked;
        match self.what(object) {
            Object::Definition(entity) => match linked.definition(entity).kind {
                EntityKind::Module => self.load_module(entity, name, to),
                EntityKind::Class => self.load_class(entity, name, to),
                EntityKind::Function | EntityKind::Lambda => {
                    let place = self.field(object, Field::Named(name));
                    self.copy(place, to);
                }
            },
            Object::Made(entity) if linked.definition(entity).kind == EntityKind::Class => {
                self.load_instance(entity, object, name, to);
            }
            Object::Made(_) => self.insert(to, self.stranger),
            Object::Namespace(directory) => {
                let text = linked.symbols.text(name);
                if let Some(found) =
                    linked.program.layout.inside(ModulePlace::Namespace(directory), text)
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

    pub(super) fn load_module(&mut self, module: LinkedEntity, name: LinkedName, to: LinkedSlot) {
        let linked = self.linked;
        let file = linked.file_of(module);
        if self.stored.contains(&name) {
            let place = self.field(module, Field::Named(name));
            self.copy(place, to);
        }
        if let Some(found) = linked.attribute(file, name) {
            self.take(found, to);
            return;
        }
        if linked.facts(file).imports.iter().any(|import| import.star) {
            self.insert(to, self.stranger);
        }
        if let Some(Attribute::Held(place)) = linked.attribute(file, self.special.getattr) {
            let site = self.implicit_site(1, to, LATER, self.special.getattr);
            self.watch(place, Watch::Call(site));
        }
    }

    pub(super) fn load_class(&mut self, class: LinkedEntity, name: LinkedName, to: LinkedSlot) {
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

    pub(super) fn load_ancestor(&mut self, ancestor: Ancestor, name: LinkedName, to: LinkedSlot) {
        match ancestor {
            Ancestor::Outside(outside) => {
                let outside = self.object(Object::Outside(outside));
                self.load(outside, name, to);
            }
            Ancestor::Unknown => self.insert(to, self.stranger),
            Ancestor::Class(_) => {}
        }
    }

    pub(super) fn load_instance(
        &mut self,
        class: LinkedEntity,
        object: ObjectId,
        name: LinkedName,
        to: LinkedSlot,
    ) {
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

    pub(super) fn load_super(
        &mut self,
        class: LinkedEntity,
        receiver: ObjectId,
        name: LinkedName,
        to: LinkedSlot,
    ) {
        let (own, of_class) = match self.what(receiver) {
            Object::Made(own) => (own, false),
            Object::Definition(own) => (own, true),
            _ => (class, false),
        };
        if self.linked.definition(own).kind != EntityKind::Class {
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

    /// Returns true if a slot holds functions or classes of the repository.
    fn defines(&self, place: LinkedSlot) -> bool {
        self.slots.held(place).any(|object| match self.what(object) {
            Object::Definition(entity) => self.kind(entity) != EntityKind::Module,
            _ => false,
        })
    }

    pub(super) fn store(&mut self, object: ObjectId, name: LinkedName, from: LinkedSlot) {
        match self.what(object) {
            Object::Definition(entity) => {
                let member = self.linked.members.get(&(entity, name)).copied();
                match (self.kind(entity), member) {
                    // A definition that is replaced from elsewhere is another one to those who look
                    // there; the module's own code is mostly left with its own.
                    (EntityKind::Module, Some(place)) if !self.defines(place) => {
                        self.copy(from, place)
                    }
                    (EntityKind::Class, _) => {
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
}
