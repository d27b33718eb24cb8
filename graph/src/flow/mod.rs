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
    facts::{CallForm, FileFacts},
    module::Layout,
    pythons::Pythons,
};

pub(crate) use foreign::{Foreign, ForeignName};
pub(crate) use link::{Attribute, ImportTarget, LinkedFiles};
pub(crate) use solve::solve;

/// A definition of any file.
pub(crate) type LinkedEntity = u32;
/// A slot of any file.
pub(crate) type LinkedSlot = u32;
/// A name of any file.
pub(crate) type LinkedName = u32;
/// An interned [`Object`].
pub(crate) type ObjectId = u32;

/// Something that a slot may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Object {
    /// A module, class, function or lambda of the repository.
    Definition(LinkedEntity),
    /// An instance of a class, or what a generator function returns.
    Made(LinkedEntity),
    /// A function with its receiver.
    Bound(LinkedEntity, ObjectId),
    /// A list, tuple, set or dictionary, by where it is made.
    Sequence(LinkedSlot),
    Mapping(LinkedSlot),
    /// A method of a container or a string.
    Method(ObjectId, LinkedName),
    /// A directory without `__init__.py`.
    Namespace(u32),
    /// Something from outside the repository that has a name.
    Outside(ForeignName),
    /// Something from outside, whatever it is.
    Stranger,
    /// `super()` of a class for a receiver.
    Super(LinkedEntity, ObjectId),
    /// A function that runs when an attribute is read, with its receiver.
    Getter(LinkedEntity, ObjectId),
    /// A property made by calling `property`.
    Property(LinkedEntity),
    Text(LinkedName),
    Integer(i32),
}

/// The origin of a call: a call expression, or a construct that calls without one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site {
    pub caller: LinkedEntity,
    pub form: SiteForm,
    pub name: LinkedName,
    pub line: u32,
    pub callee: LinkedSlot,
    /// Index of the call in its file's facts, where there is one.
    pub call: Option<(u32, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SiteForm {
    Written(CallForm),
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
    pub edges: Vec<(u32, LinkedEntity)>,
    /// Site to what it calls outside.
    pub outside: Vec<(u32, ForeignName)>,
    /// Sites whose callee may be something unknown from outside.
    pub strange: Vec<bool>,
    /// Sites whose callee set grew too large to be trusted.
    pub saturated: Vec<bool>,
    /// Site to the attributes behind its callee that nothing was seen to reach.
    pub behind: FxHashMap<u32, Vec<LinkedName>>,
    /// Uses: index of the reference in its file, file, and the definition it denotes.
    pub references: Vec<(u32, u32, LinkedEntity)>,
    /// Classes and their resolved bases, inside the repository.
    pub bases: Vec<(LinkedEntity, LinkedEntity)>,
    pub foreign: Foreign,
}

/// Everything that the analysis reads.
pub(crate) struct FlowInput<'a> {
    pub layout: &'a Layout,
    pub files: &'a [FileFacts],
    pub pythons: Pythons,
}

/// Interned names of all files.
#[derive(Debug, Default)]
pub(crate) struct Symbols<'a> {
    pub texts: Vec<&'a str>,
    ids: FxHashMap<&'a str, LinkedName>,
}

impl<'a> Symbols<'a> {
    pub(crate) fn intern(&mut self, text: &'a str) -> LinkedName {
        let next = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let id = *self.ids.entry(text).or_insert(next);
        if id == next {
            self.texts.push(text);
        }
        id
    }

    pub(crate) fn text(&self, symbol: LinkedName) -> &'a str {
        self.texts[symbol as usize]
    }
}
