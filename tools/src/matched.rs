//! Finds the lines of a gist that somebody wrote by hand in the repository: by their text, in the function
//! or class of the same name where there is one.
//!
//! Text decides, not meaning: of equal lines in one block the first that is free counts.

use std::collections::{BTreeMap, BTreeSet};

use graph::{GistLine, Graph, LineOrigin, Place, Stated, Texts, stated};

/// The reason that a source map has for a line whose text stands nowhere in the repository.
const WRITTEN: &str = "written by hand";

/// The statements of a gist, each with its place in the repository where its text stands there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matched {
    /// In the order of the gist.
    pub statements: Vec<(Stated, Option<Place>)>,
}

impl Matched {
    /// Looks for the statements of a gist in these files of the repository.
    pub fn of(text: &str, graph: &Graph, texts: &Texts, files: &BTreeSet<String>) -> Self {
        let mut known: BTreeMap<String, Vec<(Stated, Place)>> = BTreeMap::new();
        let modules = graph.modules.iter().filter(|module| files.contains(&module.path));
        for module in modules {
            for statement in stated(&texts.of(&module.path)) {
                let place = Place { path: module.path.clone(), line: statement.line };
                known.entry(statement.key.clone()).or_default().push((statement, place));
            }
        }
        let mut used: BTreeSet<Place> = BTreeSet::new();
        let mut find = |statement: &Stated| -> Option<Place> {
            let alike = known.get(&statement.key)?;
            let here = |(other, _): &&(Stated, Place)| other.block == statement.block;
            let free = |(_, place): &&(Stated, Place)| !used.contains(place);
            let found = alike.iter().filter(here).find(free);
            let found = found.or_else(|| alike.iter().find(here)).or_else(|| alike.first())?;
            used.insert(found.1.clone());
            Some(found.1.clone())
        };
        let statements = stated(text).into_iter().map(|statement| {
            let place = find(&statement);
            (statement, place)
        });
        Self { statements: statements.collect() }
    }

    /// The first lines of statements that stand nowhere in the repository.
    pub fn foreign(&self) -> Vec<u32> {
        let mut lines: Vec<u32> = self
            .statements
            .iter()
            .filter(|(_, place)| place.is_none())
            .map(|(statement, _)| statement.line)
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// Each line of a gist with its origin, as a source map has them; nothing for a text without a line.
    pub fn gist_lines(&self, text: &str) -> Vec<GistLine> {
        let count = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
        let mut origins: BTreeMap<u32, Option<Place>> = BTreeMap::new();
        for (statement, place) in &self.statements {
            for line in statement.line..=statement.end_line {
                let at = place.as_ref().map(|place| Place {
                    path: place.path.clone(),
                    line: place.line + (line - statement.line),
                });
                origins.entry(line).or_insert(at);
            }
        }
        // Comments and empty lines belong to what stands before them.
        let mut last: Option<Place> = None;
        let line = |line: u32| {
            if let Some(found) = origins.get(&line) {
                last.clone_from(found);
            }
            let origin = match &last {
                Some(place) => LineOrigin::Source(place.clone()),
                None => LineOrigin::Glue(WRITTEN.to_owned()),
            };
            GistLine { origin, adapted: false }
        };
        (1..=count).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_found_in_their_block() {
        let root = tempfile::tempdir().unwrap();
        let source = "import os, sys\n\ndef f(a):\n    return a\n\ndef g(a):\n    if a:\n        pass\n    elif not a:\n        return a\n";
        std::fs::write(root.path().join("m.py"), source).unwrap();
        let graph = Graph::build(root.path(), &graph::BuildOptions::default());
        let texts = Texts::new(root.path(), graph::WalkOptions::default());
        let files = BTreeSet::from(["m.py".to_owned()]);
        let gist = "import sys\ndef g(a):\n    if not a:\n        return a\nx = 1\n";
        let matched = Matched::of(gist, &graph, &texts, &files);
        let lines: Vec<Option<u32>> = matched
            .statements
            .iter()
            .map(|(_, place)| place.as_ref().map(|place| place.line))
            .collect();
        assert_eq!(lines, [Some(1), Some(6), Some(9), Some(10), None]);
        assert_eq!(matched.foreign(), [5]);
    }
}
