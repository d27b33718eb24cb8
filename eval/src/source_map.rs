//! The origin of each line of a gist, as its writer claims.
//!
//! Scorers use this claim to choose among places that match, and to distinguish glue from
//! invention. They never use it to count a line as existing.

use graph::{Gist, GistLine, LineOrigin, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::store::Record;

/// Origins of a gist's physical lines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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

    /// Returns true if the writer calls a 1-based line glue.
    pub fn is_glue(&self, line: u32) -> bool {
        matches!(self.entry(line), Some(GistLine { origin: LineOrigin::Glue(_), .. }))
    }

    /// Returns the origin that the writer claims for a 1-based line.
    pub fn origin(&self, line: u32) -> Option<&Place> {
        match &self.entry(line)?.origin {
            LineOrigin::Source(place) => Some(place),
            LineOrigin::Glue(_) => None,
        }
    }

    fn entry(&self, line: u32) -> Option<&GistLine> {
        self.lines.get(usize::try_from(line).ok()?.checked_sub(1)?)
    }
}
