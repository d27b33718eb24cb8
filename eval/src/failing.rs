//! Imports of the original that failed, and what may stand in the place of each in a gist.

use std::collections::BTreeSet;

use crate::{
    blocks::{Line, Outline, Role, Suite},
    codebase::CodeFile,
    key::Key,
    support::Support,
};

/// What the failed imports of a block asked for, each with its place.
pub struct Failing(Vec<(Key, Place)>);

impl Failing {
    /// Those of a block's lines.
    pub fn of(support: &Support<'_>, file: &CodeFile, original: &[&Line]) -> Self {
        let all = || file.outline.lines.iter().enumerate();
        let mut found = Vec::new();
        for one in support.failed.iter().filter(|one| one.place.path == file.path) {
            let is_it = |line: &Line| line.role == Role::Import && line.first == one.place.line;
            if !original.iter().any(|line| is_it(line)) {
                continue;
            }
            let place = all().find(|(_, line)| is_it(line)).map(|(at, _)| Place::of(at, all()));
            let texts = Outline::of(&one.text).lines;
            found.extend(texts.iter().filter_map(|line| Some((line.key, place.clone()?))));
        }
        Self(found)
    }

    /// Whether a line of a gist's block stands in the place of one of them, which then has its own.
    pub fn take(&mut self, (at, line): (usize, &Line), lines: &[(usize, &Line)]) -> bool {
        if line.role != Role::Import || self.0.is_empty() {
            return false;
        }
        let here = Place::of(at, lines.iter().copied());
        let found = self.0.iter().position(|(key, there)| *key == line.key && here.fits(there));
        found.map(|number| self.0.remove(number)).is_some()
    }
}

/// Where an import stands, but for other imports and what is left of them.
#[derive(Clone, Default)]
struct Place {
    /// The statement around it, and which suite of that.
    head: Option<(Key, Suite)>,
    /// What stands before it in its suite.
    before: BTreeSet<Key>,
    /// What stands behind it there.
    behind: BTreeSet<Key>,
    /// All that stands in the statement.
    around: BTreeSet<Key>,
}

impl Place {
    /// Of the line of a number; lines come in their order.
    fn of<'a>(at: usize, lines: impl Iterator<Item = (usize, &'a Line)> + Clone) -> Self {
        let mut place = Self::default();
        let line = |number| lines.clone().find(|(at, _)| *at == number).map(|(_, line)| line);
        let Some((head, suite)) = line(at).and_then(|line| line.parent) else { return place };
        place.head = line(head).map(|head| (head.key, suite));
        let mut inside = BTreeSet::from([head]);
        for (number, line) in lines {
            if !line.parent.is_some_and(|(head, _)| inside.contains(&head)) {
                continue;
            }
            inside.insert(number);
            if line.role == Role::Import || line.text == "pass" {
                continue;
            }
            place.around.insert(line.key);
            if line.parent == Some((head, suite)) {
                let side = if number < at { &mut place.before } else { &mut place.behind };
                side.insert(line.key);
            }
        }
        place
    }

    /// Whether it is that of the original with things left out.
    fn fits(&self, original: &Self) -> bool {
        self.head == original.head
            && self.before.is_subset(&original.before)
            && self.behind.is_subset(&original.behind)
            && self.around.is_subset(&original.around)
    }
}
