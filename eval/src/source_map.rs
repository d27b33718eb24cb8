//! Where each line of a gist comes from, as its writer says.
//!
//! The map is a claim: scorers use it to choose among places that fit, and to tell glue from invention,
//! never to make a line exist.

use graph::{Gist, GistLine, Origin, Place};
use serde::{Deserialize, Serialize};

use crate::store::Record;

/// Origins of a gist's physical lines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceMap {
    /// One entry a line of the gist.
    pub lines: Vec<GistLine>,
}

impl Record for SourceMap {
    const VERSION: u32 = 1;
}

impl SourceMap {
    /// The map of a gist that the slicer wrote.
    pub fn of(gist: &Gist) -> Self {
        Self { lines: gist.lines.clone() }
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
