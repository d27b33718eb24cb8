//! The facts of one file, as far as the graphs need them: its definitions, its imports and the
//! flows of values between its names.
//!
//! Facts own no syntax: the tree of a file is dropped once they are extracted. This keeps memory
//! flat and allows caching by the file's content. They refer to nothing outside their file; the
//! linker connects files.

mod annotation;
mod assignment;
mod definition;
mod draw;
mod environment;
mod expression;
mod scopes;
mod statement;
mod static_test;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

pub(crate) use draw::draw;

/// A name, as an index into [`FileFacts::names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Name(pub u32);

/// A place that holds values: a version of a variable or the result of an expression.
/// [`Slot::NONE`] holds nothing that the graphs care about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Slot(pub u32);

impl Slot {
    /// Holds nothing.
    pub(crate) const NONE: Slot = Slot(0);

    pub(crate) fn is_none(self) -> bool {
        self == Slot::NONE
    }
}

/// An index into [`FileFacts::definitions`]; 0 is the module itself.
pub(crate) type Local = u32;

/// A half-open byte range of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// True when it covers nothing; spans of absent parts are empty.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// The text it cuts out of `text`, empty where it does not fit.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// Everything that the graphs know of one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileFacts {
    pub names: Vec<CompactString>,
    pub definitions: Vec<Definition>,
    pub imports: Vec<ImportFact>,
    pub slots: u32,
    pub ops: Vec<Op>,
    pub calls: Vec<CallFact>,
    pub arguments: Vec<Argument>,
    /// The slot of each global name after the module's code was executed.
    pub exports: Vec<(Name, Slot)>,
    /// `__all__`, where it is a plain list of strings.
    pub all: Option<Vec<Name>>,
    /// Uses of names that may denote definitions: slot and line.
    pub references: Vec<NameUse>,
    pub measures: Measures,
    /// First few syntax errors: line and message.
    pub errors: Vec<(u32, String)>,
    /// Some expression was nested too deeply to be looked into.
    pub too_deep: bool,
    /// Some expression nests deeply enough to be freed with care.
    pub deep: bool,
    /// Uses of each import in the file, counted.
    pub uses: Vec<u32>,
    /// `name` is read in this file without a visible binding.
    pub free: Vec<Name>,
}

impl FileFacts {
    /// Gives back the memory that growing took in advance: facts of all files are held at once.
    fn shrink(&mut self) {
        self.definitions.shrink_to_fit();
        self.imports.shrink_to_fit();
        self.ops.shrink_to_fit();
        self.calls.shrink_to_fit();
        self.arguments.shrink_to_fit();
        self.references.shrink_to_fit();
    }

    /// The facts with all places and sizes set to nothing: equal for files that mean the same.
    pub(crate) fn without_places(&self) -> Self {
        let mut bare = self.clone();
        bare.measures = Measures::default();
        bare.errors.clear();
        for definition in &mut bare.definitions {
            (definition.line, definition.end_line, definition.keyword_line) = (0, 0, 0);
            (definition.span, definition.header, definition.doc) =
                (Span::default(), Span::default(), Span::default());
            definition.decorators.fill(Span::default());
            definition.bases.fill(Span::default());
        }
        for call in &mut bare.calls {
            call.line = 0;
        }
        for reference in &mut bare.references {
            reference.line = 0;
        }
        for import in &mut bare.imports {
            import.line = 0;
        }
        for op in &mut bare.ops {
            if let Some(line) = op.line_mut() {
                *line = 0;
            }
        }
        bare
    }
}

/// A use of a name or an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NameUse {
    pub slot: Slot,
    pub name: Name,
    pub line: u32,
    pub within: Local,
    /// The definition that it is written for: that of a signature, else the one it stands in.
    pub part_of: Local,
    /// An import statement names it.
    pub import: bool,
}

/// The numbers from which importance is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measures {
    /// Physical lines.
    pub lines: u32,
    /// The words `if`, `for`, `while` and `except` in the text, wherever they stand (RepoMaster, algorithm 2).
    pub branches: u32,
    /// Column of the most indented `def`.
    pub indentation: u32,
    /// Characters of the module's docstring.
    pub doc: u32,
    /// The docstring describes parameters.
    pub doc_parameters: bool,
    /// The docstring describes what is returned.
    pub doc_returns: bool,
    /// The docstring shows examples.
    pub doc_examples: bool,
}

/// The kind of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntityKind {
    /// A file.
    Module,
    /// A `class` statement.
    Class,
    /// A `def` statement, methods included.
    Function,
    /// A `lambda` expression.
    Lambda,
}

/// A module, class, function or lambda.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Definition {
    pub kind: EntityKind,
    pub name: Name,
    pub parent: Local,
    /// Whole statement, decorators included.
    pub span: Span,
    pub line: u32,
    pub end_line: u32,
    /// Line of the `def` or `class` keyword.
    pub keyword_line: u32,
    /// From the keyword to the colon.
    pub header: Span,
    /// The content of the docstring.
    pub doc: Span,
    /// Decorator expressions.
    pub decorators: Vec<Span>,
    /// Base class expressions.
    pub bases: Vec<Span>,
    pub base_slots: Vec<Slot>,
    pub parameters: Vec<Parameter>,
    pub returned: Slot,
    /// Parameters that are returned as they came, by index: what each call gives, it alone gets back.
    pub passed: Vec<u32>,
    pub yielded: Slot,
    /// Namespace of a class body at its end.
    pub members: Vec<(Name, Slot)>,
    pub traits: Traits,
}

/// The properties of a definition that change how it is called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Traits {
    pub is_async: bool,
    pub generator: bool,
    pub property: bool,
    /// It is the part of a property that runs when the attribute is stored, or deleted.
    pub setter: bool,
    pub deleter: bool,
    /// A class whose `__init__` is generated.
    pub dataclass: bool,
    pub static_method: bool,
    pub class_method: bool,
    pub overload: bool,
    /// It only says that it is there to be overridden.
    pub abstract_method: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parameter {
    pub name: Name,
    pub slot: Slot,
    /// The values of its default and its annotation, independent of any argument.
    pub own: Slot,
    pub kind: ParameterKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ParameterKind {
    PositionalOnly,
    Positional,
    Rest,
    KeywordOnly,
    Keywords,
}

/// One imported name, or one imported module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImportFact {
    pub level: u32,
    /// Dotted module, empty for `from . import x`.
    pub module: Box<str>,
    /// The name taken from the module: `None` for `import module`.
    pub name: Option<Name>,
    pub star: bool,
    /// `import a.b` binds `a`, `import a.b as c` binds `a.b`.
    pub binds_root: bool,
    pub line: u32,
    pub place: ImportPlace,
    pub within: Local,
}

/// The place of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImportPlace {
    /// Runs when the module is imported.
    Module,
    /// Inside a function.
    Function,
    /// Under `if TYPE_CHECKING`.
    TypeChecking,
}

/// A key of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum ContainerKey {
    Text(Name),
    Integer(i32),
    /// Whatever constants this slot holds.
    Held(Slot),
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Container {
    Sequence,
    Mapping,
}

/// One flow of values. The last slot is the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Op {
    Copy(Slot, Slot),
    Define(Local, Slot),
    Attribute(Slot, Name, Slot),
    SetAttribute(Slot, Name, Slot),
    Item(Slot, ContainerKey, Slot),
    SetItem(Slot, ContainerKey, Slot),
    /// The items of a sequence from an index on, as a new sequence.
    Tail(Slot, u32, Slot),
    New(Container, Slot),
    Text(Name, Slot),
    Integer(i32, Slot),
    Free(Name, Slot),
    Imported(u32, Slot),
    Iterate(Slot, Slot, Local),
    Enter(Slot, Slot, Local),
    /// Instances of the classes in the first slot: annotations.
    Instances(Slot, Slot),
    /// Copies only the objects without an attribute of this name.
    Without(Slot, Name, Slot),
    /// `super()` in a class, with the receiver's slot.
    Super(Local, Slot, Slot),
    /// The default value of `self` or `cls`.
    Receiver(Local, Slot),
    /// Raising a class makes an instance of it.
    Raise(Slot, Local, u32),
    /// An attribute is stored in the code of a definition, on a line.
    Store(Slot, Name, Local, u32),
    /// The same, deleted.
    Delete(Slot, Name, Local, u32),
}

impl Op {
    /// The line that it keeps, if it keeps one.
    pub(crate) fn line(mut self) -> Option<u32> {
        self.line_mut().copied()
    }

    fn line_mut(&mut self) -> Option<&mut u32> {
        match self {
            Op::Raise(.., line) | Op::Store(.., line) | Op::Delete(.., line) => Some(line),
            _ => None,
        }
    }
}

/// The syntax through which a callee is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum CallForm {
    /// `name(...)`
    Name,
    /// `value.name(...)`
    Attribute,
    /// Anything else that is called.
    Other,
    /// `@name`
    Decorator,
}

/// A call site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallFact {
    pub callee: Slot,
    pub result: Slot,
    pub caller: Local,
    pub form: CallForm,
    pub name: Name,
    pub line: u32,
    pub first_argument: u32,
    pub argument_count: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Argument {
    pub slot: Slot,
    pub kind: ArgumentKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ArgumentKind {
    Positional,
    Starred,
    Keyword(Name),
    Keywords,
}
