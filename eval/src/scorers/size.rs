//! Size (ours): how much shorter a gist is than what the command executed, and than the repository.

use serde::{Deserialize, Serialize};

use super::existence::rate;
use crate::{
    blocks::Outline,
    codebase::{Extent, starts},
    tokens,
};

/// Sizes and shares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// The gist.
    pub gist: Extent,
    /// Its physical lines, blank ones and comments included.
    pub physical_lines: u64,
    /// What the original run executed.
    pub executed: Extent,
    /// The repository.
    pub repository: Extent,
    /// Lines of the gist as a share of the executed ones.
    pub lines_of_executed: Option<f64>,
    /// Tokens of the gist as a share of the executed ones.
    pub tokens_of_executed: Option<f64>,
    /// Lines of the gist as a share of the repository's.
    pub lines_of_repository: Option<f64>,
    /// Tokens of the gist as a share of the repository's.
    pub tokens_of_repository: Option<f64>,
}

/// Measures a gist.
pub fn size(text: &str, gist: &Outline, executed: Extent, repository: Extent) -> Size {
    let own = Extent { lines: starts(gist).len() as u64, tokens: tokens::count(text) };
    Size {
        gist: own,
        physical_lines: u64::from(gist.physical),
        executed,
        repository,
        lines_of_executed: rate(own.lines, executed.lines),
        tokens_of_executed: rate(own.tokens, executed.tokens),
        lines_of_repository: rate(own.lines, repository.lines),
        tokens_of_repository: rate(own.tokens, repository.tokens),
    }
}
