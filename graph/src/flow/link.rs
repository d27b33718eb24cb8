//! Joins the facts of all files: one numbering for definitions, slots and names, and the way from an
//! import to what it brings.

use rustc_hash::FxHashMap;

use super::{FlowInput, LinkedEntity, LinkedName, LinkedSlot, Symbols};
use crate::{
    facts::{Definition, EntityKind, FileFacts, ImportFact, Name, Slot},
    module::{ModuleId, ModulePlace},
    resolve::{AttributeProvider, Namespaces, provider, starred},
};

/// All files under one numbering.
pub(crate) struct LinkedFiles<'a> {
    pub program: &'a FlowInput<'a>,
    pub symbols: Symbols<'a>,
    /// First entity of each file; one more at the end.
    pub first_entity: Vec<u32>,
    /// First slot of each file; one more at the end.
    pub first_slot: Vec<u32>,
    /// File of each entity.
    pub file_by_entity: Vec<u32>,
    /// Symbols of each file's names.
    pub names: Vec<Vec<LinkedName>>,
    /// The exported slot of each name of a module or class.
    pub members: FxHashMap<(LinkedEntity, LinkedName), LinkedSlot>,
    /// Modules that a module imports everything from, in order.
    pub stars: FxHashMap<u32, Vec<u32>>,
    /// The target of each import of each file.
    pub targets: Vec<Vec<ImportTarget>>,
}

/// The target of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImportTarget {
    /// The module itself.
    Module(ModulePlace),
    /// A name of a module, or a module inside it.
    Member(ModulePlace, LinkedName),
    /// Not in the repository.
    Outside,
    /// The repository's own package, but nothing there has this name.
    Missing,
}

impl<'a> LinkedFiles<'a> {
    pub(crate) fn new(program: &'a FlowInput<'a>) -> Self {
        let mut linked = LinkedFiles {
            program,
            symbols: Symbols::default(),
            first_entity: vec![0],
            first_slot: vec![0],
            file_by_entity: Vec::new(),
            names: Vec::with_capacity(program.files.len()),
            members: FxHashMap::default(),
            stars: FxHashMap::default(),
            targets: Vec::with_capacity(program.files.len()),
        };
        let (mut entities, mut slots) = (0, 0);
        for (file, facts) in (0u32..).zip(program.files) {
            linked.file_by_entity.extend(facts.definitions.iter().map(|_| file));
            let names = facts.names.iter().map(|name| linked.symbols.intern(name)).collect();
            linked.names.push(names);
            entities += u32::try_from(facts.definitions.len()).unwrap_or(u32::MAX);
            slots += facts.slots;
            linked.first_entity.push(entities);
            linked.first_slot.push(slots);
        }
        let expected = program
            .files
            .iter()
            .map(|facts| {
                facts.exports.len()
                    + facts.definitions.iter().map(|d| d.members.len()).sum::<usize>()
            })
            .sum();
        linked.members.reserve(expected);
        for (file, facts) in (0u32..).zip(program.files) {
            let module = linked.first_entity[file as usize];
            for &(name, slot) in &facts.exports {
                linked
                    .members
                    .insert((module, linked.symbol(file, name)), linked.place(file, slot));
            }
            for (local, definition) in (0u32..).zip(&facts.definitions) {
                for &(name, slot) in &definition.members {
                    linked.members.insert(
                        (module + local, linked.symbol(file, name)),
                        linked.place(file, slot),
                    );
                }
            }
            let targets: Vec<ImportTarget> =
                facts.imports.iter().map(|import| linked.target(file, import)).collect();
            for (import, target) in facts.imports.iter().zip(&targets) {
                if import.star
                    && let ImportTarget::Module(ModulePlace::File(from)) = target
                {
                    linked.stars.entry(file).or_default().push(*from);
                }
            }
            linked.targets.push(targets);
        }
        linked
    }

    fn target(&self, file: u32, import: &ImportFact) -> ImportTarget {
        let layout = self.program.layout;
        let module = match import.level {
            0 => layout.absolute(file, &import.module),
            level => layout.relative(file, level, &import.module),
        };
        match (module, import.name) {
            (Some(found), Some(name)) => ImportTarget::Member(found, self.symbol(file, name)),
            (Some(found), None) => ImportTarget::Module(found),
            (None, name) if import.level > 0 => {
                // `from . import x` beside files of the repository's own directory.
                let inner = match name {
                    Some(name) if import.module.is_empty() => {
                        let name = self.symbols.text(self.symbol(file, name));
                        layout.relative(file, import.level, name)
                    }
                    _ => None,
                };
                inner.map_or(ImportTarget::Missing, ImportTarget::Module)
            }
            (None, _) => {
                let top = import.module.split('.').next().unwrap_or(&import.module);
                match layout.absolute(file, top) {
                    Some(ModulePlace::File(_)) => ImportTarget::Missing,
                    _ => ImportTarget::Outside,
                }
            }
        }
    }

    pub(crate) fn symbol(&self, file: u32, name: Name) -> LinkedName {
        self.names[file as usize][name.0 as usize]
    }

    pub(crate) fn place(&self, file: u32, slot: Slot) -> LinkedSlot {
        self.first_slot[file as usize] + slot.0
    }

    /// The file that a definition stands in.
    pub(crate) fn file_of(&self, entity: LinkedEntity) -> u32 {
        self.file_by_entity[entity as usize]
    }

    pub(crate) fn facts(&self, file: u32) -> &'a FileFacts {
        &self.program.files[file as usize]
    }

    pub(crate) fn definition(&self, entity: LinkedEntity) -> &'a Definition {
        let file = self.file_of(entity);
        &self.facts(file).definitions[(entity - self.first_entity[file as usize]) as usize]
    }

    /// The class around a definition, if that is what is directly around it.
    pub(crate) fn class_of(&self, entity: LinkedEntity) -> Option<LinkedEntity> {
        let file = self.file_of(entity);
        let first = self.first_entity[file as usize];
        let facts = self.facts(file);
        let parent = facts.definitions[(entity - first) as usize].parent;
        (facts.definitions[parent as usize].kind == EntityKind::Class && entity != first)
            .then_some(first + parent)
    }

    /// Returns the attribute of a module, found through the module that provides it.
    pub(crate) fn attribute(&self, file: u32, name: LinkedName) -> Option<Attribute> {
        provider(self, ModuleId(file), &name)
            .and_then(|provider| self.provided_attribute(provider, name))
    }

    /// The same, of what its star imports bring alone.
    pub(crate) fn starred(&self, file: u32, name: LinkedName) -> Option<Attribute> {
        if !self.stars.contains_key(&file) {
            return None;
        }
        starred(self, ModuleId(file), &name)
            .and_then(|provider| self.provided_attribute(provider, name))
    }

    fn provided_attribute(
        &self,
        provider: AttributeProvider<ModulePlace>,
        name: LinkedName,
    ) -> Option<Attribute> {
        match provider {
            AttributeProvider::Statement(ModuleId(file)) => {
                let module = self.first_entity[file as usize];
                self.members.get(&(module, name)).copied().map(Attribute::Held)
            }
            AttributeProvider::Inner(found) => Some(Attribute::Module(found)),
        }
    }
}

/// The target of a name of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attribute {
    /// The value of a slot.
    Held(LinkedSlot),
    /// A module inside it.
    Module(ModulePlace),
}

impl Namespaces for LinkedFiles<'_> {
    type Name = LinkedName;
    type Module = ModulePlace;

    fn binds(&self, module: ModuleId, name: &LinkedName) -> bool {
        self.members.contains_key(&(self.first_entity[module.0 as usize], *name))
    }

    fn stars(&self, module: ModuleId) -> impl DoubleEndedIterator<Item = ModuleId> {
        let stars = self.stars.get(&module.0).map_or(&[][..], Vec::as_slice);
        stars.iter().map(|&file| ModuleId(file))
    }

    fn lists(&self, module: ModuleId, name: &LinkedName) -> Option<bool> {
        let all = self.facts(module.0).all.as_ref()?;
        Some(all.iter().any(|&listed| self.symbol(module.0, listed) == *name))
    }

    fn is_private(&self, name: &LinkedName) -> bool {
        self.symbols.text(*name).starts_with('_')
    }

    fn inner(&self, package: ModuleId, name: &LinkedName) -> Option<ModulePlace> {
        self.program.layout.inside(ModulePlace::File(package.0), self.symbols.text(*name))
    }
}
