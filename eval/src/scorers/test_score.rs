//! Test score (Gistify, arXiv 2510.26790, section 3.4 and B.5): how much of the test function, as the
//! writer left it, is the original's.
//!
//! Lines that were added and lines that were dropped both count, imports that were dropped do not: they may
//! be adjusted.

use serde::{Deserialize, Serialize};

use super::existence::{Existence, of_blocks, rate, within};
use crate::{
    blocks::{Outline, Role},
    codebase::Codebase,
    source_map::SourceMap,
};

/// The score, with what it counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TestScore {
    /// Share of lines that are the original's; nothing for a command without test functions.
    pub rate: Option<f64>,
    /// Blocks of the tests.
    pub blocks: Vec<String>,
    /// Blocks that the gist does not have.
    pub missing: Vec<String>,
    /// The lines of the gist's test functions.
    pub lines: Existence,
}

/// Scores the tests in these (path, block) places of the original.
pub fn test_score(gist: &Outline, tests: &[(String, String)], codebase: &Codebase) -> TestScore {
    let blocks: Vec<String> = tests.iter().map(|(_, block)| block.clone()).collect();
    let missing: Vec<String> =
        blocks.iter().filter(|block| !gist.functions.contains(block)).cloned().collect();
    let lines = of_blocks(gist, &blocks, codebase, &SourceMap::default());
    let imports = gist.lines.iter().filter(|line| {
        line.role == Role::Import
            && within(&line.block, &blocks)
            && codebase.places(line).next().is_some()
    });
    let original: usize = tests
        .iter()
        .filter_map(|(path, block)| Some((codebase.file(path)?, std::slice::from_ref(block))))
        .map(|(file, block)| {
            let lines = file.outline.lines.iter();
            lines.filter(|line| within(&line.block, block) && line.role != Role::Import).count()
        })
        .sum();
    let whole = lines.lines.max((original + imports.count()) as u64);
    TestScore { rate: rate(lines.existing, whole), blocks, missing, lines }
}
