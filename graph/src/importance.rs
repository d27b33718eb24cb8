//! Ranks modules and classes by importance: RepoMaster's six features and its class score (arXiv
//! 2505.21577, 3.2.2 and appendix F).
//!
//! Dependency and Complexity follow the paper's formulas. The paper describes Usage, Semantic, Doc
//! and Git without formulas; here they are bounded to [0, 1] and documented on [`Features`].

use petgraph::graph::{DiGraph, NodeIndex};
use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    facts::EntityKind,
    graph::{EntityId, FileId, Graph},
    rank::PageRank,
};

/// File names that mark a module as central.
const FILE_NAMES: &[&str] = &["__init__", "app", "settings", "config", "utils", "constants"];
/// Words in a path that mark a module as central.
const KEYWORDS: &[&str] = &[
    "main",
    "core",
    "engine",
    "api",
    "service",
    "processor",
    "factory",
    "builder",
    "scheduler",
    "config",
];
/// Docstring length at which more adds nothing, in characters.
const FULL_DOC: f64 = 500.0;
/// Days in which the worth of a commit halves.
const HALF_LIFE: f64 = 180.0;

/// Weight of each feature; zero switches it off. The paper sets all to one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// Centrality among the imports.
    pub dependency: f64,
    /// Branches and nesting.
    pub complexity: f64,
    /// Imports of it and calls into it.
    pub usage: f64,
    /// Its name.
    pub semantic: f64,
    /// Its docstring.
    pub doc: f64,
    /// Its commits.
    pub git: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self { dependency: 1.0, complexity: 1.0, usage: 1.0, semantic: 1.0, doc: 1.0, git: 1.0 }
    }
}

/// The six features of a module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Features {
    /// 10 x personalized PageRank, damping 0.85, personalization 2 for the module and 1 for others.
    pub dependency: f64,
    /// min(branches / 50, 1) + 0.3 min(depth / 5, 1).
    pub complexity: f64,
    /// ln(1 + n) / ln(1 + max n), n = imports of the module + call sites that call into it.
    pub usage: f64,
    /// 0.5 for a telling file name + 0.5 for a telling word in it or in the name of a function.
    pub semantic: f64,
    /// 0.4 min(characters / 500, 1) + 0.2 each for parameters, returns and examples.
    pub doc: f64,
    /// 0.7 ln(1 + commits) / ln(1 + max commits) + 0.3 x 0.5 ^ (days since the last / 180).
    pub git: f64,
}

/// The version control history of the files; collected outside this crate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// By relative path: number of commits, and the time of the last in seconds since the epoch.
    pub commits: FxHashMap<String, (u32, i64)>,
}

/// The starting points of a ranking. An empty focus ranks from everywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Focus {
    /// Relative paths of modules; those that a test or a trace touches, for one.
    pub files: Vec<String>,
    /// Words looked for in names and paths.
    pub words: Vec<String>,
}

impl Focus {
    /// Returns true if the focus matches any module. Otherwise the ranking equals one without a
    /// focus.
    pub fn fits(&self, graph: &Graph) -> bool {
        focused(graph, self).is_some()
    }
}

/// A module with its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedModule {
    /// The module.
    pub id: FileId,
    /// I(m), in [0, 10]; with a focus, the share of attention times ten, plus I(m) / 100.
    pub score: f64,
    /// The features behind the score.
    pub features: Features,
}

/// A class with its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedClass {
    /// The class.
    pub id: EntityId,
    /// J(c) = score of its module + share of methods + share of calls to them.
    pub score: f64,
}

/// Modules and classes, most important first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// All modules.
    pub modules: Vec<RankedModule>,
    /// All classes.
    pub classes: Vec<RankedClass>,
}

/// The options of a ranking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RankOptions {
    /// Weight of each feature.
    pub weights: Weights,
    /// The PageRank iteration.
    pub page_rank: PageRank,
    /// The starting points.
    pub focus: Focus,
}

/// The module dependency graph in petgraph's form; node `n` is module `n`.
pub fn module_graph(graph: &Graph) -> DiGraph<FileId, f64> {
    let mut made = DiGraph::with_capacity(graph.modules.len(), graph.imports.len());
    for id in 0..u32::try_from(graph.modules.len()).unwrap_or(u32::MAX) {
        made.add_node(FileId(id));
    }
    for edge in &graph.imports {
        made.add_edge(
            NodeIndex::new(edge.from.0 as usize),
            NodeIndex::new(edge.to.0 as usize),
            f64::from(edge.weight),
        );
    }
    made
}

/// The function call graph in petgraph's form; node `n` is entity `n`, weights count call sites.
pub fn call_graph(graph: &Graph) -> DiGraph<EntityId, f64> {
    let mut made = DiGraph::with_capacity(graph.entities.len(), graph.calls.len());
    for id in graph.ids() {
        made.add_node(id);
    }
    for edge in &graph.calls {
        made.add_edge(
            NodeIndex::new(edge.caller.0 as usize),
            NodeIndex::new(edge.callee.0 as usize),
            f64::from(edge.weight),
        );
    }
    made
}

/// The six features of every module.
pub fn features(graph: &Graph, history: &History, page_rank: PageRank) -> Vec<Features> {
    let dependency = page_rank.each(&module_graph(graph));
    let mut used = vec![0u32; graph.modules.len()];
    for edge in &graph.imports {
        used[edge.to.0 as usize] += 1;
    }
    for edge in &graph.calls {
        let (from, to) = (graph.entity(edge.caller).module, graph.entity(edge.callee).module);
        if from != to {
            used[to.0 as usize] += edge.weight;
        }
    }
    let most_used = used.iter().copied().max().unwrap_or(0);
    let telling = telling(graph);
    let commits = |path: &str| history.commits.get(path).copied().unwrap_or((0, 0));
    let most_commits = history.commits.values().map(|&(count, _)| count).max().unwrap_or(0);
    let newest = history.commits.values().map(|&(_, last)| last).max().unwrap_or(0);
    graph
        .modules
        .iter()
        .zip(dependency)
        .zip(used)
        .zip(telling)
        .map(|(((module, rank), used), telling)| {
            let measures = &module.measures;
            let branches = f64::from(measures.branches);
            let depth = f64::from(measures.indentation) / 4.0;
            let flag = |present: bool| if present { 0.2 } else { 0.0 };
            let (count, last) = commits(&module.path);
            Features {
                dependency: 10.0 * rank,
                complexity: (branches / 50.0).min(1.0) + 0.3 * (depth / 5.0).min(1.0),
                usage: logarithmic(used, most_used),
                semantic: semantic(&module.path, telling),
                doc: 0.4 * (f64::from(measures.doc) / FULL_DOC).min(1.0)
                    + flag(measures.doc_parameters)
                    + flag(measures.doc_returns)
                    + flag(measures.doc_examples),
                git: if count == 0 {
                    0.0
                } else {
                    0.7 * logarithmic(count, most_commits)
                        + 0.3 * 0.5f64.powf(days(newest - last) / HALF_LIFE)
                },
            }
        })
        .collect()
}

/// Ranks all modules and classes.
#[tracing::instrument(level = "debug", skip_all)]
pub fn rank(graph: &Graph, history: &History, options: &RankOptions) -> Ranking {
    let features = features(graph, history, options.page_rank);
    let weights = &options.weights;
    let importance: Vec<f64> = features
        .iter()
        .map(|f| {
            let sum = weights.dependency * f.dependency
                + weights.complexity * f.complexity
                + weights.usage * f.usage
                + weights.semantic * f.semantic
                + weights.doc * f.doc
                + weights.git * f.git;
            sum.min(10.0)
        })
        .collect();
    let scores = match attention(graph, options) {
        Some(attention) => {
            attention.iter().zip(&importance).map(|(share, i)| 10.0 * share + i / 100.0).collect()
        }
        None => importance,
    };
    let mut modules: Vec<RankedModule> = (0u32..)
        .map(FileId)
        .zip(scores.iter().copied().zip(features))
        .map(|(id, (score, features))| RankedModule { id, score, features })
        .collect();
    modules.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    Ranking { modules, classes: classes(graph, &scores) }
}

/// Shares of attention under a focus: PageRank along imports and against them, half each.
fn attention(graph: &Graph, options: &RankOptions) -> Option<Vec<f64>> {
    let focus = focused(graph, &options.focus)?;
    let forward = module_graph(graph);
    let mut backward = forward.clone();
    backward.reverse();
    let forward = options.page_rank.focused(&forward, &focus);
    let backward = options.page_rank.focused(&backward, &focus);
    Some(
        forward
            .iter()
            .zip(backward)
            .map(|(forward, backward)| (forward + backward) / 2.0)
            .collect(),
    )
}

/// Personalization of a focus; nothing where it fits no module.
fn focused(graph: &Graph, focus: &Focus) -> Option<Vec<f64>> {
    let mut weights = vec![0.0; graph.modules.len()];
    let files: FxHashSet<&str> = focus.files.iter().map(String::as_str).collect();
    let words: Vec<String> = focus.words.iter().map(|word| word.to_lowercase()).collect();
    for (module, weight) in graph.modules.iter().zip(&mut weights) {
        let beside = |file: &&str| module.path.ends_with(&format!("/{file}"));
        if files.contains(module.path.as_str()) || files.iter().any(beside) {
            *weight += 10.0;
        }
        let path = module.path.to_lowercase();
        *weight += 2.0 * count(words.iter().filter(|word| path.contains(*word)).count());
    }
    for entity in &graph.entities {
        if entity.kind == EntityKind::Module {
            continue;
        }
        let name = entity.name.to_lowercase();
        let hits = words.iter().filter(|word| name.contains(*word)).count();
        weights[entity.module.0 as usize] += count(hits);
    }
    weights.iter().any(|&weight| weight > 0.0).then_some(weights)
}

fn classes(graph: &Graph, scores: &[f64]) -> Vec<RankedClass> {
    let mut methods: FxHashMap<EntityId, (u32, u32)> = FxHashMap::default();
    for id in graph.ids() {
        let entity = graph.entity(id);
        if entity.kind == EntityKind::Class {
            methods.entry(id).or_default();
        }
        if graph.is_method(id) {
            methods.entry(entity.parent).or_default().0 += 1;
        }
    }
    for edge in &graph.calls {
        if graph.is_method(edge.callee) {
            let class = graph.entity(edge.callee).parent;
            methods.entry(class).or_default().1 += edge.weight;
        }
    }
    let most_methods = methods.values().map(|&(count, _)| count).max().unwrap_or(0).max(1);
    let most_calls = methods.values().map(|&(_, calls)| calls).max().unwrap_or(0).max(1);
    let mut ranked: Vec<RankedClass> = methods
        .into_iter()
        .map(|(id, (count, calls))| RankedClass {
            id,
            score: scores[graph.entity(id).module.0 as usize]
                + f64::from(count) / f64::from(most_methods)
                + f64::from(calls) / f64::from(most_calls),
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    ranked
}

/// For each module, true if a function in it has a telling word in its name.
fn telling(graph: &Graph) -> Vec<bool> {
    let mut found = vec![false; graph.modules.len()];
    for entity in graph.entities.iter().filter(|entity| entity.kind == EntityKind::Function) {
        found[entity.module.0 as usize] |= has_keyword(&entity.name.to_lowercase());
    }
    found
}

fn has_keyword(name: &str) -> bool {
    KEYWORDS.iter().any(|word| name.contains(word))
}

fn semantic(path: &str, has_telling_function: bool) -> f64 {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name).to_lowercase();
    let named = if FILE_NAMES.contains(&stem.as_str()) { 0.5 } else { 0.0 };
    let telling = if has_telling_function || has_keyword(&stem) { 0.5 } else { 0.0 };
    named + telling
}

fn logarithmic(value: u32, most: u32) -> f64 {
    if most == 0 { 0.0 } else { f64::from(value).ln_1p() / f64::from(most).ln_1p() }
}

#[allow(clippy::cast_precision_loss)]
fn days(seconds: i64) -> f64 {
    seconds.max(0) as f64 / 86_400.0
}

#[allow(clippy::cast_precision_loss)]
fn count(value: usize) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_follow_the_paper() {
        let deep = "def f():\n    def g():\n        if x:\n            for y in z:\n                pass\n";
        let graph = Graph::of_sources([
            ("pkg/__init__.py", "from .core import run\n"),
            ("pkg/core.py", "'''Core.\n\nReturns nothing. Example.'''\ndef run(): pass\n"),
            ("pkg/deep.py", deep),
            ("main.py", "import pkg\npkg.run()\npkg.run()\n"),
            ("helper.py", "# for if\ndef engine_start(): return [x for x in 'while']\n"),
        ]);
        let features = features(&graph, &History::default(), PageRank::default());
        let of = |path: &str| {
            let at = graph.modules.iter().position(|module| module.path == path).unwrap();
            features[at]
        };
        assert!((of("pkg/deep.py").complexity - (2.0 / 50.0 + 0.3 / 5.0)).abs() < 1e-12);
        assert!((of("pkg/core.py").semantic - 0.5).abs() < 1e-12);
        assert!(of("pkg/deep.py").semantic.abs() < 1e-12);
        assert!((of("helper.py").semantic - 0.5).abs() < 1e-12);
        // A comprehension, a comment and a string count as the paper's words do.
        assert!((of("helper.py").complexity - 4.0 / 50.0).abs() < 1e-12);
        assert!(of("pkg/core.py").doc > 0.4 && of("pkg/core.py").usage > 0.9);
        let total: f64 = graph.modules.iter().map(|m| of(&m.path).dependency).sum();
        assert!(total > 9.0, "{total}");
    }

    #[test]
    fn a_focus_draws_attention() {
        let graph = Graph::of_sources([
            ("a.py", "import b\n"),
            ("b.py", "class Target: pass\n"),
            ("c.py", "import d\n"),
            ("d.py", ""),
        ]);
        let focus = Focus { words: vec!["target".to_owned()], files: Vec::new() };
        let options = RankOptions { focus, ..RankOptions::default() };
        let ranking = rank(&graph, &History::default(), &options);
        let first: Vec<&str> =
            ranking.modules.iter().take(2).map(|m| graph.module(m.id).path.as_str()).collect();
        assert_eq!(first, ["b.py", "a.py"]);
    }
}
