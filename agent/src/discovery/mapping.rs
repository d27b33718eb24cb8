//! The map of an opened repository: its modules, classes and functions, the share of it that parses, and the words
//! of the task in its code.
//!
//! Nothing of it is executed.

use std::collections::BTreeSet;

use graph::{BuildOptions, EntityKind, Focus, GraphCache, History, RankOptions, Texts, rank};
use schemars::JsonSchema;
use serde::Serialize;
use tools::Repository;

use super::terms::{has_terms, terms};

/// The result of opening a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Validation {
    /// True if it could be opened.
    pub opened: bool,
    /// The reason why it does not serve, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Its map, if it could be opened.
    #[serde(flatten)]
    pub map: Option<RepositoryMap>,
}

/// The map of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RepositoryMap {
    /// Content hash over its files.
    pub fingerprint: String,
    /// Python files.
    pub modules: usize,
    /// Python files with syntax errors.
    pub broken: usize,
    /// Classes.
    pub classes: usize,
    /// Functions and methods.
    pub functions: usize,
    /// Lines of Python.
    pub lines: u64,
    /// The most important modules for the task, by path.
    pub top_modules: Vec<String>,
    /// The most important classes, by dotted name.
    pub top_classes: Vec<String>,
    /// Keywords of the task that its code has: in names, comments or texts.
    pub words_found: Vec<String>,
    /// Keywords that its code lacks.
    pub words_missing: Vec<String>,
}

const TOP: usize = 5;

impl Validation {
    /// The validation of a repository that cannot be opened.
    pub fn failed(reason: String) -> Self {
        Self { opened: false, problem: Some(reason), map: None }
    }

    /// Maps an opened repository. Graphs are stored in `cache`.
    pub fn of_repository(
        repository: &Repository,
        cache: &GraphCache,
        options: &BuildOptions,
        keywords: &[String],
    ) -> Self {
        let map = RepositoryMap::of_repository(repository, cache, options, keywords);
        Self { opened: true, problem: map.problem(), map: Some(map) }
    }

    /// A line about it.
    pub fn summary(&self) -> String {
        let Some(map) = &self.map else {
            return format!("not opened: {}", self.problem.as_deref().unwrap_or_default());
        };
        let parses = match map.broken {
            0 => "all parse".to_owned(),
            broken => format!("{broken} do not parse"),
        };
        let words = match (map.words_found.as_slice(), map.words_missing.as_slice()) {
            ([], _) => "no word of the task in its code".to_owned(),
            (found, []) => format!("{} in its code", found.join(", ")),
            (found, missing) => {
                format!("{} in its code, not {}", found.join(", "), missing.join(", "))
            }
        };
        format!(
            "{} modules ({parses}), {} classes, {} functions; {words}",
            map.modules, map.classes, map.functions
        )
    }
}

impl RepositoryMap {
    fn of_repository(
        repository: &Repository,
        cache: &GraphCache,
        options: &BuildOptions,
        keywords: &[String],
    ) -> Self {
        // A graph that cannot be stored is a graph all the same.
        let (graph, _, _) = cache.build(&repository.root, options);
        let texts = Texts::new(&repository.root, options.walk.clone());
        let mut there = BTreeSet::new();
        for module in &graph.modules {
            there.extend(terms(&module.path));
            there.extend(terms(&texts.of(&module.path)));
        }
        let (words_found, words_missing): (Vec<String>, Vec<String>) =
            keywords.iter().cloned().partition(|word| has_terms(&there, word));
        let focus = Focus { words: words_found.clone(), ..Focus::default() };
        let ranking =
            rank(&graph, &History::default(), &RankOptions { focus, ..RankOptions::default() });
        let count = |kind| graph.entities.iter().filter(|one| one.kind == kind).count();
        let path = |id| graph.module(id).path.clone();
        Self {
            fingerprint: repository.fingerprint.clone(),
            modules: graph.modules.len(),
            broken: graph.modules.iter().filter(|module| !module.errors.is_empty()).count(),
            classes: count(EntityKind::Class),
            functions: count(EntityKind::Function),
            lines: graph.modules.iter().map(|module| u64::from(module.measures.lines)).sum(),
            top_modules: ranking.modules.iter().take(TOP).map(|one| path(one.id)).collect(),
            top_classes: ranking
                .classes
                .iter()
                .take(TOP)
                .map(|one| graph.qualified(one.id))
                .collect(),
            words_found,
            words_missing,
        }
    }

    /// The reason why it does not serve, where there is one.
    fn problem(&self) -> Option<String> {
        if self.modules == 0 {
            return Some("it has no python file".to_owned());
        }
        // Python 2, or templates: what cannot be read cannot be worked with.
        if self.broken * 2 > self.modules {
            return Some(format!("{} of its {} modules do not parse", self.broken, self.modules));
        }
        if self.words_found.is_empty() && !self.words_missing.is_empty() {
            return Some("its code has no word of the task".to_owned());
        }
        None
    }
}
