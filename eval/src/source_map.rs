//! Where each line of a gist comes from, as its writer says.
//!
//! The map is a claim: scorers use it to choose among places that fit, and to tell glue from invention,
//! never to make a line exist.

use graph::{Gist, GistLine, Origin, Place};
use serde::{Deserialize, Serialize};

/// Version of the persisted form.
pub const SOURCE_MAP_VERSION: u32 = 1;

/// Origins of a gist's physical lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceMap {
    /// Format version, [`SOURCE_MAP_VERSION`].
    pub version: u32,
    /// One entry a line of the gist.
    pub lines: Vec<GistLine>,
}

impl Default for SourceMap {
    fn default() -> Self {
        Self { version: SOURCE_MAP_VERSION, lines: Vec::new() }
    }
}

impl SourceMap {
    /// The map of a gist that the slicer wrote.
    pub fn of(gist: &Gist) -> Self {
        Self { lines: gist.lines.clone(), ..Self::default() }
    }

    /// Whether the writer calls a 1-based line glue.
    pub fn is_glue(&self, line: u32) -> bool {
        matches!(self.entry(line), Some(GistLine { origin: Origin::Glue(_), .. }))
    }

    /// Where the writer says that a 1-based line comes from.
    pub fn origin(&self, line: u32) -> Option<&Place> {
        match &self.entry(line)?.origin {
            Origin::Source(place) => Some(place),
            Origin::Glue(_) => None,
        }
    }

    fn entry(&self, line: u32) -> Option<&GistLine> {
        self.lines.get(usize::try_from(line).ok()?.checked_sub(1)?)
    }
}
