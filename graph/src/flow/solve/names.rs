//! Solves the names of files: imports, star imports and builtins, and the receivers of methods.

use super::Solver;
use crate::{
    flow::{Attribute, LinkedEntity, LinkedName, LinkedSlot, Object, ObjectId, link::ImportTarget},
    module::ModulePlace,
};

impl Solver<'_> {
    pub(super) fn free(&mut self, file: u32, name: LinkedName, to: LinkedSlot) {
        if let Some(found) = self.linked.starred(file, name) {
            self.take(found, to);
            return;
        }
        let builtin = match self.builtins.get(&name) {
            Some(&known) => known,
            None => {
                let text = self.linked.symbols.text(name);
                let object = self.linked.program.pythons.has_builtin(text).then(|| {
                    let id = self.foreign.root(&format!("builtins.{text}"));
                    self.object(Object::Outside(id))
                });
                self.builtins.insert(name, object);
                object
            }
        };
        if let Some(object) = builtin {
            self.insert(to, object);
        } else if self.linked.facts(file).imports.iter().any(|import| import.star) {
            self.insert(to, self.stranger);
        }
    }

    pub(super) fn imported(&mut self, file: u32, import: u32, to: LinkedSlot) {
        let linked = self.linked;
        let facts = &linked.facts(file).imports[import as usize];
        match linked.targets[file as usize][import as usize] {
            ImportTarget::Module(found) => {
                let bound = if facts.binds_root {
                    let top = facts.module.split('.').next().unwrap_or(&facts.module);
                    linked.program.layout.absolute(file, top).unwrap_or(found)
                } else {
                    found
                };
                let object = self.module(bound);
                self.insert(to, object);
            }
            ImportTarget::Member(found, name) => {
                let object = self.module(found);
                self.load(object, name, to);
                // A package that takes its own submodule finds only the name that it binds here.
                if found == ModulePlace::File(file)
                    && let Some(inner) =
                        linked.program.layout.inside(found, linked.symbols.text(name))
                {
                    let inner = self.module(inner);
                    self.insert(to, inner);
                }
            }
            ImportTarget::Outside => {
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
            ImportTarget::Missing => {}
        }
    }

    /// A slot gets what an attribute of a module leads to.
    pub(super) fn take(&mut self, found: Attribute, to: LinkedSlot) {
        match found {
            Attribute::Held(from) => self.copy(from, to),
            Attribute::Module(found) => {
                let module = self.module(found);
                self.insert(to, module);
            }
        }
    }

    pub(super) fn module(&mut self, found: ModulePlace) -> ObjectId {
        match found {
            ModulePlace::File(file) => self.linked.first_entity[file as usize],
            ModulePlace::Namespace(directory) => self.object(Object::Namespace(directory)),
        }
    }

    pub(super) fn receiver(&mut self, method: LinkedEntity, to: LinkedSlot) {
        let Some(class) = self.linked.class_of(method) else { return };
        let definition = self.linked.definition(method);
        let file = self.linked.file_of(method);
        let name = self.linked.symbols.text(self.linked.symbol(file, definition.name));
        let of_class = definition.traits.class_method
            || matches!(name, "__new__" | "__init_subclass__" | "__class_getitem__");
        let object = if of_class { class } else { self.object(Object::Made(class)) };
        self.insert(to, object);
    }
}
