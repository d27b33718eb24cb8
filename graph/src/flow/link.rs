//! Joins the facts of all files: one numbering for definitions, slots and names, and the way from an
//! import to what it brings.

use rustc_hash::FxHashMap;

use super::{Entity, Place, Program, Symbol, Symbols};
use crate::{
    facts::{Definition, Facts, Import, Kind, Name, Slot},
    module::{Found, ModuleId},
    resolve::{Namespaces, Provider, provider, starred},
};

/// All files under one numbering.
pub(crate) struct Linked<'a> {
    pub program: &'a Program<'a>,
    pub symbols: Symbols<'a>,
    /// First entity of each file; one more at the end.
    pub first_entity: Vec<u32>,
    /// First slot of each file; one more at the end.
    pub first_slot: Vec<u32>,
    /// File of each entity.
    pub file_by_entity: Vec<u32>,
    /// Symbols of each file's names.
    pub names: Vec<Vec<Symbol>>,
    /// The exported slot of each name of a module or class.
    pub members: FxHashMap<(Entity, Symbol), Place>,
    /// Modules that a module imports everything from, in order.
    pub stars: FxHashMap<u32, Vec<u32>>,
    /// The target of each import of each file.
    pub targets: Vec<Vec<Target>>,
}

/// The target of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The module itself.
    Module(Found),
    /// A name of a module, or a module inside it.
    Member(Found, Symbol),
    /// Not in the repository.
    Outside,
    /// The repository's own package, but nothing there has this name.
    Missing,
}

impl<'a> Linked<'a> {
    pub(crate) fn new(program: &'a Program<'a>) -> Self {
        let mut linked = Linked {
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
            let targets: Vec<Target> =
                facts.imports.iter().map(|import| linked.target(file, import)).collect();
            for (import, target) in facts.imports.iter().zip(&targets) {
                if import.star
                    && let Target::Module(Found::File(from)) = target
                {
                    linked.stars.entry(file).or_default().push(*from);
                }
            }
            linked.targets.push(targets);
        }
        linked
    }

    fn target(&self, file: u32, import: &Import) -> Target {
        let layout = self.program.layout;
        let module = match import.level {
            0 => layout.absolute(file, &import.module),
            level => layout.relative(file, level, &import.module),
        };
        match (module, import.name) {
            (Some(found), Some(name)) => Target::Member(found, self.symbol(file, name)),
            (Some(found), None) => Target::Module(found),
            (None, name) if import.level > 0 => {
                // `from . import x` beside files of the repository's own directory.
                let inner = match name {
                    Some(name) if import.module.is_empty() => {
                        let name = self.symbols.text(self.symbol(file, name));
                        layout.relative(file, import.level, name)
                    }
                    _ => None,
                };
                inner.map_or(Target::Missing, Target::Module)
            }
            (None, _) => {
                let top = import.module.split('.').next().unwrap_or(&import.module);
                match layout.absolute(file, top) {
                    Some(Found::File(_)) => Target::Missing,
                    _ => Target::Outside,
                }
            }
        }
    }

    pub(crate) fn symbol(&self, file: u32, name: Name) -> Symbol {
        self.names[file as usize][name.0 as usize]
    }

    pub(crate) fn place(&self, file: u32, slot: Slot) -> Place {
        self.first_slot[file as usize] + slot.0
    }

    /// The file that a definition stands in.
    pub(crate) fn file_of(&self, entity: Entity) -> u32 {
        self.file_by_entity[entity as usize]
    }

    pub(crate) fn facts(&self, file: u32) -> &'a Facts {
        &self.program.files[file as usize]
    }

    pub(crate) fn definition(&self, entity: Entity) -> &'a Definition {
        let file = self.file_of(entity);
        &self.facts(file).definitions[(entity - self.first_entity[file as usize]) as usize]
    }

    /// The class around a definition, if that is what is directly around it.
    pub(crate) fn class_of(&self, entity: Entity) -> Option<Entity> {
        let file = self.file_of(entity);
        let first = self.first_entity[file as usize];
        let facts = self.facts(file);
        let parent = facts.definitions[(entity - first) as usize].parent;
        (facts.definitions[parent as usize].kind == Kind::Class && entity != first)
            .then_some(first + parent)
    }

    /// Returns the attribute of a module, found through the module that provides it.
    pub(crate) fn attribute(&self, file: u32, name: Symbol) -> Option<Attribute> {
        provider(self, ModuleId(file), &name).and_then(|provider| self.found(provider, name))
    }

    /// The same, of what its star imports bring alone.
    pub(crate) fn starred(&self, file: u32, name: Symbol) -> Option<Attribute> {
        if !self.stars.contains_key(&file) {
            return None;
        }
        starred(self, ModuleId(file), &name).and_then(|provider| self.found(provider, name))
    }

    fn found(&self, provider: Provider<Found>, name: Symbol) -> Option<Attribute> {
        match provider {
            Provider::Statement(ModuleId(file)) => {
                let module = self.first_entity[file as usize];
                self.members.get(&(module, name)).copied().map(Attribute::Held)
            }
            Provider::Inner(found) => Some(Attribute::Module(found)),
        }
    }
}

/// The target of a name of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attribute {
    /// The value of a slot.
    Held(Place),
    /// A module inside it.
    Module(Found),
}

impl Namespaces for Linked<'_> {
    type Name = Symbol;
    type Module = Found;

    fn binds(&self, module: ModuleId, name: &Symbol) -> bool {
        self.members.contains_key(&(self.first_entity[module.0 as usize], *name))
    }

    fn stars(&self, module: ModuleId) -> impl DoubleEndedIterator<Item = ModuleId> {
        let stars = self.stars.get(&module.0).map_or(&[][..], Vec::as_slice);
        stars.iter().map(|&file| ModuleId(file))
    }

    fn lists(&self, module: ModuleId, name: &Symbol) -> Option<bool> {
        let all = self.facts(module.0).all.as_ref()?;
        Some(all.iter().any(|&listed| self.symbol(module.0, listed) == *name))
    }

    fn is_private(&self, name: &Symbol) -> bool {
        self.symbols.text(*name).starts_with('_')
    }

    fn inner(&self, package: ModuleId, name: &Symbol) -> Option<Found> {
        self.program.layout.inside(Found::File(package.0), self.symbols.text(*name))
    }
}
