//! The results of slicing as values: what is kept and why, and the text with its origins.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A statement in a source file, by its first line.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Relative path.
    pub path: String,
    /// 1-based line, of the first decorator for a decorated definition.
    pub line: u32,
}

/// The kept and dropped units of a slice with their reasons, in the order of the gist.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Kept units, in order.
    pub kept: Vec<PlannedUnit>,
    /// Executed units that are left out.
    pub dropped: Vec<PlannedUnit>,
    /// Uncalled methods that stay as stubs.
    pub stubs: Vec<Place>,
    /// Uncalled methods that are left out, by name.
    pub dropped_stubs: Vec<(Place, String)>,
    /// Contested names: the owner of each name, and the aliases of the others.
    pub collisions: BTreeMap<String, Vec<(String, String)>>,
    /// Modules that are objects of their own because a function that runs imports them by a computed name.
    #[serde(default)]
    pub imported: Vec<String>,
    /// True if modules with and without `from __future__ import annotations` are in one file, which has it.
    #[serde(default)]
    pub mixed: bool,
    /// True if it may matter when modules run that a function used first.
    #[serde(default)]
    pub late: bool,
    /// The undecided questions, in words.
    pub notes: Vec<String>,
    /// The number of lines of each file that has a unit.
    #[serde(default)]
    pub lengths: BTreeMap<String, u32>,
}

/// A unit and the reason for its fate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedUnit {
    /// The place of the unit.
    pub place: Place,
    /// Its last line.
    pub last_line: u32,
    /// Global names that it binds.
    pub binds: Vec<String>,
    /// Why it is kept or left out.
    pub reason: Reason,
}

/// Why a unit is kept or left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The command names it.
    Test,
    /// A function of it ran during the tests.
    Called,
    /// A fixture that the tests request.
    Fixture,
    /// An exception passed it that ended the command.
    Ends,
    /// It acts on something besides its own names when it runs.
    SideEffect,
    /// It changes something that is kept: (module, name).
    Changes(String, String),
    /// A kept unit refers to it: (place of that unit, name).
    Referenced(Place, String),
    /// A compiled extension, generated code or a data file asks for it: (module, name).
    Demanded(String, String),
    /// The caller asked for it.
    Asked,
    /// pytest reads it by its name.
    Configuration,
    /// An import from outside that a kept unit uses: (place of that unit, name).
    Import(Place, String),
    /// Nothing kept refers to it.
    Unreferenced,
    /// It imports what the gist itself contains.
    InternalImport,
    /// Dropped because the caller requested it, or because no kept code seems to need its effect.
    LeftOut,
}

/// A finished gist.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Gist {
    /// Its text, ending in a newline.
    pub text: String,
    /// One entry a line of the text.
    pub lines: Vec<GistLine>,
}

/// The origin of a line of a gist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GistLine {
    /// Its source.
    pub origin: LineOrigin,
    /// True if the text differs from the original's in more than indentation.
    pub adapted: bool,
}

/// The source of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineOrigin {
    /// A line of the repository.
    Source(Place),
    /// A line that stands nowhere in the repository, and why it is needed.
    Glue(String),
}

impl Gist {
    /// Number of lines that stand nowhere in the repository.
    pub fn glue(&self) -> usize {
        self.lines.iter().filter(|line| matches!(line.origin, LineOrigin::Glue(_))).count()
    }
}
