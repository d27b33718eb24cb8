//! Computes which values reach which names in a whole repository: an inclusion-based,
//! field-sensitive analysis of assignments that ignores the order between functions.
//!
//! Owns the linking of all files' facts and the fixpoint. It decides which definitions a call may
//! reach; `calls` decides how they are presented.

mod foreign;
mod link;
mod solve;

use rustc_hash::FxHashMap;

use crate::{
    facts::{Facts, Form},
    module::Layout,
    pythons::Pythons,
};

pub(crate) use foreign::{Foreign, Outside};
pub(crate) use link::{Attribute, Linked, Target};
pub(crate) use solve::solve;

/// A definition of any file.
pub(crate) type Entity = u32;
/// A slot of any file.
pub(crate) type Place = u32;
/// A name of any file.
pub(crate) type Symbol = u32;
/// An interned [`Object`].
pub(crate) type ObjectId = u32;

/// Something that a slot may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Object {
    /// A module, class, function or lambda of the repository.
    Definition(Entity),
    /// An instance of a class, or what a generator function returns.
    Made(Entity),
    /// A function with its receiver.
    Bound(Entity, ObjectId),
    /// A list, tuple, set or dictionary, by where it is made.
    Sequence(Place),
    Mapping(Place),
    /// A method of a container or a string.
    Method(ObjectId, Symbol),
    /// A directory without `__init__.py`.
    Namespace(u32),
    /// Something from outside the repository that has a name.
    Outside(Outside),
    /// Something from outside, whatever it is.
    Stranger,
    /// `super()` of a class for a receiver.
    Super(Entity, ObjectId),
    /// A function that runs when an attribute is read, with its receiver.
    Getter(Entity, ObjectId),
    /// A property made by calling `property`.
    Property(Entity),
    Text(Symbol),
    Integer(i32),
}

/// The origin of a call: a call expression, or a construct that calls without one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site {
    pub caller: Entity,
    pub form: SiteForm,
    pub name: Symbol,
    pub line: u32,
    pub callee: Place,
    /// Index of the call in its file's facts, where there is one.
    pub call: Option<(u32, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SiteForm {
    Written(Form),
    /// Iteration, `with`, `raise`, a property, a descriptor, an operator.
    Implicit,
}

/// The result of the analysis.
#[derive(Debug, Default)]
pub(crate) struct Solution {
    /// True if the fixpoint was reached.
    pub complete: bool,
    pub sites: Vec<Site>,
    /// Site to callee, sorted, without repetition.
    pub edges: Vec<(u32, Entity)>,
    /// Site to what it calls outside.
    pub outside: Vec<(u32, Outside)>,
    /// Sites whose callee may be something unknown from outside.
    pub strange: Vec<bool>,
    /// Sites whose callee set grew too large to be trusted.
    pub saturated: Vec<bool>,
    /// Site to the attributes behind its callee that nothing was seen to reach.
    pub behind: FxHashMap<u32, Vec<Symbol>>,
    /// Uses: index of the reference in its file, file, and the definition it denotes.
    pub references: Vec<(u32, u32, Entity)>,
    /// Classes and their resolved bases, inside the repository.
    pub bases: Vec<(Entity, Entity)>,
    pub foreign: Foreign,
}

/// Everything that the analysis reads.
pub(crate) struct Program<'a> {
    pub layout: &'a Layout,
    pub files: &'a [Facts],
    pub pythons: Pythons,
}

/// Interned names of all files.
#[derive(Debug, Default)]
pub(crate) struct Symbols<'a> {
    pub texts: Vec<&'a str>,
    ids: FxHashMap<&'a str, Symbol>,
}

impl<'a> Symbols<'a> {
    pub(crate) fn intern(&mut self, text: &'a str) -> Symbol {
        let next = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let id = *self.ids.entry(text).or_insert(next);
        if id == next {
            self.texts.push(text);
        }
        id
    }

    pub(crate) fn text(&self, symbol: Symbol) -> &'a str {
        self.texts[symbol as usize]
    }
}
