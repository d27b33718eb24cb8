//! Scaffolds: overlays of settings, one file each, embedded from `configs/scaffolds`.
//!
//! A scaffold selects the tools of a model, its instructions and its context; the loop is the same
//! for all.

use include_dir::{Dir, include_dir};
use toml::Table;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../configs/scaffolds");

/// One scaffold.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaffold {
    /// The name of its file.
    pub name: String,
    /// The comment that its file begins with.
    pub description: String,
    /// The settings.
    pub settings: Table,
}

impl Scaffold {
    /// Returns true if it has the tool that slices, without which the offline model can write nothing.
    pub fn has_slicer(&self) -> bool {
        let tools = self.settings.get("writer").and_then(|writer| writer.get("tools")?.as_array());
        tools.is_some_and(|tools| tools.iter().any(|tool| tool.as_str() == Some("slice")))
    }
}

/// All scaffolds, sorted by name.
pub fn scaffolds() -> Vec<Scaffold> {
    let mut all: Vec<Scaffold> = EMBEDDED
        .files()
        .filter_map(|file| {
            let text = file.contents_utf8()?;
            Some(Scaffold {
                name: file.path().file_stem()?.to_str()?.to_owned(),
                description: text.lines().next()?.trim_start_matches("# ").to_owned(),
                settings: text.parse().expect("configs/scaffolds is checked by a test"),
            })
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}
