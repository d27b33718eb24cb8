//! Imports of the original that failed, and what may stand in the place of each in a gist.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    blocks::{Line, Outline, Role},
    codebase::CodeFile,
    key::Key,
    support::Support,
};

/// What the failed imports of a block asked for, each with the lines of the statement around it.
pub struct Failing(Vec<(Key, BTreeSet<Key>)>);

impl Failing {
    /// Those of a block's lines.
    pub fn of(support: &Support<'_>, file: &CodeFile, original: &[&Line]) -> Self {
        let of_file = support.failed.iter().filter(|one| one.place.path == file.path);
        let mut found = Vec::new();
        for one in of_file {
            let is_it = |line: &&&Line| line.role == Role::Import && line.first == one.place.line;
            let Some(import) = original.iter().find(is_it) else { continue };
            let around = around(import, file.outline.lines.iter().enumerate());
            let texts = Outline::of(&one.text).lines;
            found.extend(texts.iter().map(|line| (line.key, around.clone())));
        }
        Self(found)
    }

    /// Whether a line of a gist's block stands in the place of one of them: what is around it is around that.
    pub fn allows(&self, line: &Line, lines: &[(usize, &Line)]) -> bool {
        let around = || around(line, lines.iter().copied());
        line.role == Role::Import
            && self.0.iter().any(|(key, there)| *key == line.key && around().is_subset(there))
    }
}

/// What stands in the statement in which a line does, but for imports and what is left of them.
fn around<'a>(line: &Line, lines: impl Iterator<Item = (usize, &'a Line)>) -> BTreeSet<Key> {
    let Some((head, _)) = line.parent else { return BTreeSet::new() };
    let mut inside = BTreeMap::from([(head, None)]);
    for (at, line) in lines {
        if line.parent.is_some_and(|(head, _)| inside.contains_key(&head)) {
            let is_idle = line.role == Role::Import || line.text == "pass";
            inside.insert(at, Some(line.key).filter(|_| !is_idle));
        }
    }
    inside.into_values().flatten().collect()
}
