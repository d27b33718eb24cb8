//! Stores facts about an original for readers of the results: the modules that the command touches,
//! their imports of each other, and the definitions that it executes.
//!
//! No score depends on them.

use std::collections::{BTreeMap, BTreeSet};

use graph::{EntityId, EntityKind, FileTrace, Graph, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{codebase::Codebase, store::Record};

/// The modules that a command touches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Touched {
    /// The executed modules, by path; if there are many, those that the tests executed.
    pub modules: Vec<TouchedModule>,
    /// Imports between them: places in `modules`, from and to.
    pub imports: Vec<(usize, usize)>,
    /// The number of further executed modules.
    pub left_out: usize,
}

/// One module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TouchedModule {
    /// Its path.
    pub path: String,
    /// Physical lines of the file; 0 where it is not to be had.
    pub lines: usize,
    /// Lines that run while it is imported.
    pub import_lines: usize,
    /// Lines that run from the first test on.
    pub test_lines: usize,
    /// Lines that run at any time. Records of earlier versions do not have it.
    #[serde(default)]
    pub executed: usize,
    /// The classes and functions in which lines are executed, sorted by line: an outer one comes first.
    #[serde(default)]
    pub definitions: Vec<TouchedDefinition>,
}

/// A class or function with executed lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TouchedDefinition {
    /// Its name.
    pub name: String,
    /// The line of its `def` or `class`.
    pub first: u32,
    /// Its last line.
    pub last: u32,
    /// The executed lines of its body that are in no definition inside it.
    pub executed: usize,
}

impl Record for Touched {
    const VERSION: u32 = 1;
}

/// Modules that are kept at most: those with the most lines that ran.
const DRAWN: usize = 200;
/// Modules up to which those are kept as well that only run while they are imported.
const FILLED: usize = 40;
/// Definitions that are kept at most, those with the most executed lines.
const DEFINITIONS: usize = 4_000;

impl Touched {
    /// Returns the modules of a trace, as the texts of an original have them.
    pub(crate) fn of_trace(trace: &Trace, codebase: &Codebase) -> Self {
        let mut files: Vec<_> = trace.files.iter().collect();
        files.sort_by_key(|file| {
            std::cmp::Reverse((file.test_lines.len(), file.import_lines.len()))
        });
        let tested = files.iter().filter(|file| !file.test_lines.is_empty()).count();
        files.truncate(tested.clamp(FILLED, DRAWN));
        files.sort_by(|a, b| a.path.cmp(&b.path));

        let mut touched = Self { left_out: trace.files.len() - files.len(), ..Self::default() };
        let mut sources = BTreeMap::new();
        for (at, file) in files.iter().enumerate() {
            let source = codebase.file(&file.path);
            touched.modules.push(TouchedModule {
                path: file.path.clone(),
                lines: source.map_or(0, |source| source.text.lines().count()),
                import_lines: file.import_lines.len(),
                test_lines: file.test_lines.len(),
                executed: executed(file).len(),
                definitions: Vec::new(),
            });
            if let Some(source) = source {
                sources.insert(below_root(&file.path, &trace.roots), (at, source.text.as_str()));
            }
        }
        let texts = sources.iter().map(|(name, (_, text))| (name.as_str(), *text));
        let graph = Graph::of_sources(texts);
        touched.relate(&graph, &sources);
        for (module, node) in graph.modules.iter().enumerate() {
            let Some((at, _)) = sources.get(&node.path) else { continue };
            let lines = executed(files[*at]);
            touched.modules[*at].definitions = definitions(&graph, module, &lines);
        }
        touched.limit_definitions(DEFINITIONS);
        touched
    }

    /// Adds how the modules import each other. `sources` are their places by their paths in the graph.
    fn relate(&mut self, graph: &Graph, sources: &BTreeMap<String, (usize, &str)>) {
        let place = |id| sources.get(&graph.module(id).path).map(|(at, _)| *at);
        let edges = graph.imports.iter().filter_map(|edge| {
            let (from, to) = (place(edge.from)?, place(edge.to)?);
            (from != to).then_some((from, to))
        });
        self.imports = edges.collect::<BTreeSet<_>>().into_iter().collect();
    }

    /// Drops the definitions with the fewest executed lines, if there are more than `most`.
    fn limit_definitions(&mut self, most: usize) {
        let all = self.modules.iter().flat_map(|module| &module.definitions);
        let mut sizes: Vec<usize> = all.map(|definition| definition.executed).collect();
        if sizes.len() <= most {
            return;
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let least = sizes[most];
        // So many of those with this size have room.
        let mut room = sizes[..most].iter().filter(|size| **size == least).count();
        for module in &mut self.modules {
            module.definitions.retain(|definition| {
                let fits = definition.executed == least && room > 0;
                room -= usize::from(fits);
                fits || definition.executed > least
            });
        }
    }
}

/// Returns the lines of a file that ran at any time.
fn executed(file: &FileTrace) -> BTreeSet<u32> {
    file.import_lines.iter().chain(&file.test_lines).copied().collect()
}

/// Returns a path relative to the longest of the directories that modules are imported from.
fn below_root(path: &str, roots: &[String]) -> String {
    let inside = |root: &&String| {
        !root.is_empty() && path.strip_prefix(root.as_str()).is_some_and(|p| p.starts_with('/'))
    };
    let root = roots.iter().filter(inside).map(String::len).max().unwrap_or(0);
    path[root..].trim_start_matches('/').to_owned()
}

/// Returns the classes and functions of a module whose bodies have executed lines.
///
/// A line counts for the innermost definition around it; the lines of a `def` up to its keyword count for what is
/// around that.
fn definitions(graph: &Graph, module: usize, lines: &BTreeSet<u32>) -> Vec<TouchedDefinition> {
    let ids = (0..graph.entities.len() as u32).map(EntityId);
    let mut all: Vec<TouchedDefinition> = ids
        .map(|id| graph.entity(id))
        .filter(|entity| entity.module.0 as usize == module)
        .filter(|entity| matches!(entity.kind, EntityKind::Class | EntityKind::Function))
        .map(|entity| TouchedDefinition {
            name: entity.name.clone(),
            first: entity.keyword_line,
            last: entity.end_line,
            executed: 0,
        })
        .collect();
    all.sort_by_key(|definition| (definition.first, std::cmp::Reverse(definition.last)));
    for line in lines {
        let begun = all.partition_point(|definition| definition.first < *line);
        if let Some(innermost) =
            all[..begun].iter_mut().rev().find(|definition| definition.last >= *line)
        {
            innermost.executed += 1;
        }
    }
    // A class may have executed lines in its methods only.
    let ran: Vec<u32> = all.iter().filter(|one| one.executed > 0).map(|one| one.first).collect();
    all.retain(|one| ran.iter().any(|first| (one.first..=one.last).contains(first)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the touched modules of sources in which the lines of each file are executed.
    fn touched(files: &[(&str, &str, &[u32])], roots: &[&str]) -> Touched {
        let codebase = Codebase::of_texts(files.iter().map(|(path, text, _)| (*path, *text)));
        let file = |(path, _, lines): &(&str, &str, &[u32])| FileTrace {
            path: (*path).to_owned(),
            test_lines: lines.to_vec(),
            ..FileTrace::default()
        };
        let trace = Trace {
            files: files.iter().map(file).collect(),
            roots: roots.iter().map(|root| (*root).to_owned()).collect(),
            ..Trace::default()
        };
        Touched::of_trace(&trace, &codebase)
    }

    #[test]
    fn modules_are_related_below_their_roots() {
        let files: [(&str, &str, &[u32]); 4] = [
            ("src/shop/__init__.py", "from .price import cost\n", &[1]),
            (
                "src/shop/price.py",
                "from shop.tax import rate\n\n\ndef cost():\n    return rate()\n",
                &[1, 5],
            ),
            ("src/shop/tax.py", "def rate():\n    return 2\n", &[2]),
            ("tests/test_shop.py", "from shop import cost\n", &[1]),
        ];
        let touched = touched(&files, &["src", ""]);
        assert_eq!(touched.imports, [(0, 1), (1, 2), (3, 0)]);
        assert_eq!(touched.modules[1].lines, 5);
        assert_eq!(touched.modules[1].executed, 2);
    }

    #[test]
    fn a_line_counts_for_the_innermost_definition() {
        let text = "import os\n\n\nclass Cart:\n    size = 2\n\n    def add(self):\n        def inner():\n            \
                    return 1\n        return inner()\n\n    def unused(self):\n        return 2\n\n\nclass Empty:\n    \
                    def run(self):\n        return 3\n";
        let touched = touched(&[("cart.py", text, &[1, 4, 5, 7, 8, 9, 10, 16, 18])], &[""]);
        let found: Vec<_> = touched.modules[0]
            .definitions
            .iter()
            .map(|one| (one.name.as_str(), one.first, one.last, one.executed))
            .collect();
        assert_eq!(
            found,
            [
                ("Cart", 4, 13, 2),
                ("add", 7, 10, 2),
                ("inner", 8, 9, 1),
                ("Empty", 16, 18, 0),
                ("run", 17, 18, 1)
            ]
        );
    }

    #[test]
    fn the_smallest_definitions_are_dropped() {
        let text = "def one():\n    pass\n\n\ndef two():\n    pass\n    pass\n";
        let mut touched = touched(&[("a.py", text, &[2, 6, 7])], &[""]);
        touched.limit_definitions(1);
        let names: Vec<_> = touched.modules[0].definitions.iter().map(|one| &one.name).collect();
        assert_eq!(names, ["two"]);
        let text = "def one():\n    pass\n\n\ndef two():\n    pass\n";
        let mut equal = super::tests::touched(&[("a.py", text, &[2, 6])], &[""]);
        equal.limit_definitions(1);
        assert_eq!(equal.modules[0].definitions.len(), 1);
    }
}
