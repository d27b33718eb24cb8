//! Stores the origins of a gist's lines and the whole source files, for readers of the results.
//!
//! Files are stored once for all attempts of a bench, by their contents. No score depends on them.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::Path,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    blocks::Outline,
    codebase::{Codebase, CodebaseLine},
    source_map::SourceMap,
    store::{self, Record, StoreError},
};

/// The origins of a gist's lines in the original.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sources {
    /// Path and line of each physical line of the gist: from its writer, or else from the scorers.
    pub lines: Vec<Option<(String, u32)>>,
    /// The files of those places: path, and the key of the text.
    pub files: BTreeMap<String, String>,
}

impl Record for Sources {
    const VERSION: u32 = 2;
}

/// Name of the directory of texts in that of a bench.
const TEXTS: &str = "sources";

impl Sources {
    /// Finds the lines of a gist, and keeps the files in a bench's directory.
    ///
    /// # Errors
    /// A file cannot be kept.
    pub(crate) fn keep(
        bench: &Path,
        gist: &str,
        map: Option<&SourceMap>,
        codebase: &Codebase,
    ) -> Result<Self, StoreError> {
        let lines = match map {
            Some(map) => said(gist, map),
            None => line_places(gist, codebase),
        };
        let mut files = BTreeMap::new();
        for (path, _) in lines.iter().flatten() {
            let Some(file) = codebase.file(path) else { continue };
            if files.contains_key(path) {
                continue;
            }
            let key = key_of(&file.text);
            // One that was changed is written again.
            if read_text(bench, &key).is_none() {
                store::write_bytes(&bench.join(TEXTS).join(&key), file.text.as_bytes())?;
            }
            files.insert(path.clone(), key);
        }
        Ok(Self { lines, files })
    }
}

/// The text of a file that was kept; nothing where it is gone or was changed.
pub fn read_text(bench: &Path, key: &str) -> Option<String> {
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    let text = is_key.then(|| fs::read_to_string(bench.join(TEXTS).join(key)).ok()).flatten();
    text.filter(|text| key_of(text) == key)
}

fn key_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

fn said(gist: &str, map: &SourceMap) -> Vec<Option<(String, u32)>> {
    let origin = |(number, _)| map.origin(number).map(|place| (place.path.clone(), place.line));
    (1..).zip(gist.lines()).map(origin).collect()
}

/// The places of lines that stand in a block of their name: each once, in the file of the line before it
/// where that has one.
fn line_places(gist: &str, codebase: &Codebase) -> Vec<Option<(String, u32)>> {
    let mut lines = vec![None; gist.lines().count()];
    let mut used: HashSet<CodebaseLine> = HashSet::new();
    let mut near: Option<String> = None;
    for line in &Outline::of(gist).lines {
        let mut places: Vec<CodebaseLine> =
            codebase.places(line).filter(|place| !used.contains(place)).collect();
        places.sort_by_key(|place| Some(codebase.path(*place)) != near.as_deref());
        let Some(place) = places.first() else { continue };
        used.insert(*place);
        let (path, original) = (codebase.path(*place), codebase.line(*place));
        near = Some(path.to_owned());
        for (offset, number) in (line.first..=line.last).enumerate() {
            let there = original.first + offset as u32;
            // What is laid out otherwise has its beginning only.
            let fits = there <= original.last && (offset == 0 || same(line, original));
            if let Some(slot) = lines.get_mut(number as usize - 1)
                && slot.is_none()
                && fits
            {
                *slot = Some((path.to_owned(), there));
            }
        }
    }
    lines
}

fn same(one: &crate::blocks::Line, other: &crate::blocks::Line) -> bool {
    one.last - one.first == other.last - other.first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_a_map_are_found_in_blocks_of_their_name() {
        let codebase = Codebase::of_texts([
            ("a.py", "import os\n\n\ndef f(x):\n    return g(\n        x,\n    )\n"),
            ("b.py", "import os\n\n\ndef g(x):\n    return x\n"),
        ]);
        let gist = "import os\n\ndef g(x):\n    return x\n\ndef f(x):\n    return g(\n        x,\n    \
                    )\n\nprint(f(1))\nimport os\n";
        let directory = tempfile::tempdir().unwrap();
        let sources = Sources::keep(directory.path(), gist, None, &codebase).unwrap();
        let shown: Vec<String> = sources
            .lines
            .iter()
            .map(|place| place.as_ref().map_or("-".to_owned(), |(path, at)| format!("{path}:{at}")))
            .collect();
        let expected = [
            "a.py:1", "-", "b.py:4", "b.py:5", "-", "a.py:4", "a.py:5", "a.py:6", "a.py:7", "-",
            "-", "b.py:1",
        ];
        assert_eq!(shown, expected);
        let text = read_text(directory.path(), &sources.files["b.py"]).unwrap();
        assert!(text.starts_with("import os\n"));
        for key in ["", "../plan.json", "zz"] {
            assert_eq!(read_text(directory.path(), key), None);
        }
    }
}
