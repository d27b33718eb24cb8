//! Stores facts about an original for readers of the results: the modules that the command touches,
//! and their imports of each other.
//!
//! No score depends on them.

use std::collections::{BTreeMap, BTreeSet};

use graph::{Graph, Trace};
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
}

impl Record for Touched {
    const VERSION: u32 = 1;
}

/// Modules that are kept at most: those with the most lines that ran.
const DRAWN: usize = 200;
/// Modules up to which those are kept as well that only run while they are imported.
const FILLED: usize = 40;
impl Touched {
    /// The modules of a trace, without how they import each other.
    pub(crate) fn of_trace(trace: &Trace) -> (Self, Vec<String>) {
        let module = |file: &graph::FileTrace| TouchedModule {
            path: file.path.clone(),
            lines: 0,
            import_lines: file.import_lines.len(),
            test_lines: file.test_lines.len(),
        };
        let mut modules: Vec<_> = trace.files.iter().map(module).collect();
        let all = modules.len();
        modules.sort_by_key(|module| std::cmp::Reverse((module.test_lines, module.import_lines)));
        let tested = modules.iter().filter(|module| module.test_lines > 0).count();
        modules.truncate(tested.clamp(FILLED, DRAWN));
        let left_out = all - modules.len();
        modules.sort_by(|a, b| a.path.cmp(&b.path));
        (Self { modules, imports: Vec::new(), left_out }, trace.roots.clone())
    }

    /// Adds how they import each other; `roots` are the directories that modules are found in.
    pub(crate) fn relate(&mut self, codebase: &Codebase, roots: &[String]) {
        let mut sources = BTreeMap::new();
        for (at, module) in self.modules.iter_mut().enumerate() {
            let Some(file) = codebase.file(&module.path) else { continue };
            module.lines = file.text.lines().count();
            let inside = |root: &&String| {
                !root.is_empty()
                    && module.path.strip_prefix(root.as_str()).is_some_and(|p| p.starts_with('/'))
            };
            let root = roots.iter().filter(inside).map(String::len).max().unwrap_or(0);
            let name = module.path[root..].trim_start_matches('/').to_owned();
            sources.insert(name, (at, file.text.as_str()));
        }
        let texts = sources.iter().map(|(name, (_, text))| (name.as_str(), *text));
        let graph = Graph::of_sources(texts);
        let place = |id| sources.get(&graph.module(id).path).map(|(at, _)| *at);
        let edges = graph.imports.iter().filter_map(|edge| {
            let (from, to) = (place(edge.from)?, place(edge.to)?);
            (from != to).then_some((from, to))
        });
        self.imports = edges.collect::<BTreeSet<_>>().into_iter().collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_related_below_their_roots() {
        let codebase = Codebase::of_texts([
            ("src/shop/__init__.py", "from .price import cost\n"),
            (
                "src/shop/price.py",
                "from shop.tax import rate\n\n\ndef cost():\n    return rate()\n",
            ),
            ("src/shop/tax.py", "def rate():\n    return 2\n"),
            ("tests/test_shop.py", "from shop import cost\n"),
        ]);
        let module = |path: &str| TouchedModule {
            path: path.to_owned(),
            test_lines: 1,
            ..TouchedModule::default()
        };
        let paths = codebase.files().iter().map(|file| module(&file.path));
        let mut touched = Touched { modules: paths.collect(), ..Touched::default() };
        touched.relate(&codebase, &["src".to_owned(), String::new()]);
        assert_eq!(touched.imports, [(0, 1), (1, 2), (3, 0)]);
        assert_eq!(touched.modules[1].lines, 5);
    }
}
