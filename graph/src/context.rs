//! The description of a repository that a model receives before it starts, within a budget of
//! tokens. It holds RepoMaster's four blocks (3.2.3), the modules by directory, or a map of the
//! definitions around a focus.
//!
//! The text never exceeds the budget and names what was omitted. The sentences around the blocks
//! are prompts and live elsewhere.

use std::{collections::BTreeMap, sync::OnceLock};

use serde::{Deserialize, Serialize};

use crate::{
    graph::{EntityId, FileId, Graph},
    importance::{RankedModule, Ranking},
    needs::NumberedFile,
    passage::Passage,
    tree::{Level, Texts, TreeNode, module_tree, signature},
};

/// The options for building a context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextOptions {
    /// Tokens (o200k) of the whole text at most.
    pub budget: usize,
    /// Modules that are summarised.
    pub modules: usize,
    /// Classes whose source is shown.
    pub classes: usize,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self { budget: 8_000, modules: 20, classes: 10 }
    }
}

/// The text and what did not fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryContext {
    /// The text, in blocks with a heading each.
    pub text: String,
    /// Tokens of the text.
    pub tokens: usize,
    /// The parts that were omitted, one phrase each.
    pub omitted: Vec<String>,
}

/// Tokens that are reserved for saying what was left out.
const TAIL: usize = 60;
/// Bytes that are counted at a time: the tokenizer's patterns recurse over long runs.
const CHUNK: usize = 2_000;

/// Tokens of a text in the o200k vocabulary. Long texts are counted piecewise, which never counts less.
pub fn count_tokens(text: &str) -> usize {
    static VOCABULARY: OnceLock<Option<tiktoken_rs::CoreBPE>> = OnceLock::new();
    let vocabulary = VOCABULARY.get_or_init(|| tiktoken_rs::o200k_base().ok());
    let Some(vocabulary) = vocabulary else {
        // Every token is at least one byte.
        return text.len();
    };
    pieces(text).map(|piece| vocabulary.encode_ordinary(piece).len()).sum()
}

/// Lines of code of a core class beyond which the bodies of its methods are left out.
const CLASS_LINES: usize = 40;
/// Tokens of a core class beyond which its methods are only named.
const CLASS_TOKENS: usize = 500;
/// Names of modules of one directory that are listed, and names of methods in one line.
const NAMES: usize = 12;

/// Tokens of a block's heading and of the empty line below it, at most.
const HEADING: usize = 8;

/// The four blocks: README, summaries of the first modules, core classes, the other modules by directory.
/// `readme` is its text, `summaries` replaces those made from docstrings.
///
/// Of the budget the summaries may take a third, the classes three fifths of what these leave, the other
/// modules the rest; a quarter is held back for the README, which gets all that is left in the end. Where not all of
/// a block fits, an entry without room for its whole text is one line.
pub fn context(
    graph: &Graph,
    ranking: &Ranking,
    texts: &Texts,
    readme: &str,
    summaries: &BTreeMap<String, String>,
    options: &ContextOptions,
) -> RepositoryContext {
    let mut budget = Budget::new(options.budget);
    let held = cost_of(readme).min(options.budget / 4);
    budget.limit = budget.limit.saturating_sub(held);
    let first = ranking.modules.iter().take(options.modules);
    let described = first.map(|module| {
        let path = &graph.module(module.id).path;
        match summaries.get(path) {
            Some(summary) => ContextEntry::line(format!("{path}: {summary}")),
            None => {
                let whole = summary(graph, module.id, texts);
                ContextEntry { line: whole.lines().next().unwrap_or_default().to_owned(), whole }
            }
        }
    });
    let share = budget.tokens_left() / 3;
    budget.block("Modules", "module summaries", fill(described.collect(), share), share);
    let classes = ranking.classes.iter().take(options.classes).map(|class| {
        class_entry(graph, class.id, &texts.of(&graph.module(graph.entity(class.id).module).path))
    });
    let share = budget.tokens_left() * 3 / 5;
    budget.block("Core classes", "core classes", fill(classes.collect(), share), share);
    let others = directories(graph, ranking.modules.iter().skip(options.modules));
    budget.block("Other modules", "directories", others, usize::MAX);
    budget.limit = options.budget;
    budget.first_block("README", "readme", readme.lines().map(str::to_owned));
    budget.finish()
}

/// An entry of a block: a module or a class.
struct ContextEntry {
    whole: String,
    /// The form for a block that is full.
    line: String,
}

impl ContextEntry {
    fn line(line: String) -> Self {
        Self { whole: line.clone(), line }
    }
}

/// Returns each entry whole, in their order, as long as there is room for those and for the lines of the others.
fn fill(entries: Vec<ContextEntry>, room: usize) -> Vec<String> {
    let lines: usize = entries.iter().map(|entry| cost_of(&entry.line) + 1).sum();
    let mut left = room.saturating_sub(HEADING + lines);
    let chosen = entries.into_iter().map(|ContextEntry { whole, line }| {
        let more = cost_of(&whole).saturating_sub(cost_of(&line));
        if more > left {
            return line;
        }
        left -= more;
        whole
    });
    chosen.collect()
}

/// A class in the form that its size allows: whole, with the heads of its methods, or with their names.
fn class_entry(graph: &Graph, id: EntityId, text: &str) -> ContextEntry {
    let entity = graph.entity(id);
    let path = &graph.module(entity.module).path;
    let code = NumberedFile::of(text);
    let passage = Passage::of(text, &[(entity.line, entity.end_line)], CLASS_LINES);
    let lines = code.numbered(&passage.spans, &passage.cuts);
    let (first, last) = (entity.line, entity.end_line);
    let line = format!("{} ({path}, lines {first} to {last})", signature(graph, id, text));
    if count_tokens(&lines) <= CLASS_TOKENS {
        return ContextEntry { whole: format!("{path}:\n{lines}"), line };
    }
    let mut names: Vec<&str> = Vec::new();
    for method in graph.children(id).filter(|&inner| graph.is_method(inner)) {
        let name = graph.entity(method).name.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // Line by line, so that a small budget cuts between names.
    let names: Vec<String> = names.chunks(NAMES).map(|line| line.join(", ")).collect();
    let names = names.join(",\n    ");
    ContextEntry { whole: format!("{line}\n  methods: {names}\n"), line }
}

/// Modules by directory, both by importance; of many the first are named and the others counted.
fn directories<'r>(graph: &Graph, modules: impl Iterator<Item = &'r RankedModule>) -> Vec<String> {
    let mut order: Vec<(&str, Vec<&str>)> = Vec::new();
    for module in modules {
        let path = &graph.module(module.id).path;
        let (directory, name) = path.rsplit_once('/').unwrap_or((".", path));
        match order.iter_mut().find(|(known, _)| *known == directory) {
            Some((_, names)) => names.push(name),
            None => order.push((directory, vec![name])),
        }
    }
    let shown = order.into_iter().map(|(directory, names)| {
        let first = names.iter().take(NAMES).copied().collect::<Vec<_>>().join(" ");
        match names.len().saturating_sub(NAMES) {
            0 => format!("{directory}/: {first}"),
            more => format!("{directory}/: {first} (and {more} more)"),
        }
    });
    shown.collect()
}

/// All modules by directory, the most important first, as many directories as fit.
pub fn module_list(graph: &Graph, ranking: &Ranking, budget: usize) -> RepositoryContext {
    let mut budget = Budget::new(budget);
    budget.block("Modules", "directories", directories(graph, ranking.modules.iter()), usize::MAX);
    budget.finish()
}

/// A map of the highest-ranked modules: their definitions with signatures, as many as fit.
pub fn map(graph: &Graph, ranking: &Ranking, texts: &Texts, budget: usize) -> RepositoryContext {
    let mut budget = Budget::new(budget);
    let entries: Vec<String> = ranking
        .modules
        .iter()
        .map(|module| {
            let node = graph.module(module.id);
            let mut lines = vec![format!("{}:", node.path)];
            signatures(&module_tree(graph, module.id, &texts.of(&node.path)), 1, &mut lines);
            lines.join("\n")
        })
        .collect();
    budget.block("Map", "modules", entries, usize::MAX);
    budget.finish()
}

/// A module in a few lines: its docstring's head and the signatures of what it defines.
pub fn summary(graph: &Graph, module: FileId, texts: &Texts) -> String {
    let node = graph.module(module);
    let tree = module_tree(graph, module, &texts.of(&node.path));
    let mut lines = vec![if tree.doc.is_empty() {
        node.path.clone()
    } else {
        format!("{}: {}", node.path, tree.doc)
    }];
    let shown = 12;
    for child in tree.children.iter().take(shown) {
        let methods = child.children.iter().filter(|inner| inner.level == Level::Function).count();
        let methods = if child.level == Level::Class {
            format!(" ({methods} methods)")
        } else {
            String::new()
        };
        let doc = if child.doc.is_empty() { String::new() } else { format!(": {}", child.doc) };
        lines.push(format!("  {}{methods}{doc}", child.signature));
    }
    if tree.children.len() > shown {
        lines.push(format!("  ... {} more definitions", tree.children.len() - shown));
    }
    lines.join("\n")
}

fn signatures(node: &TreeNode, depth: usize, lines: &mut Vec<String>) {
    for child in &node.children {
        lines.push(format!("{}{}", "  ".repeat(depth), child.signature));
        if child.level == Level::Class {
            signatures(child, depth + 1, lines);
        }
    }
}

struct Budget {
    limit: usize,
    text: String,
    tokens: usize,
    omitted: Vec<String>,
}

impl Budget {
    fn new(limit: usize) -> Self {
        Self { limit, text: String::new(), tokens: 0, omitted: Vec::new() }
    }

    fn tokens_left(&self) -> usize {
        self.limit.saturating_sub(TAIL).saturating_sub(self.tokens)
    }

    /// Adds a block, entry by entry, up to its share of tokens.
    fn block(
        &mut self,
        heading: &str,
        what: &str,
        entries: impl IntoIterator<Item = String>,
        share: usize,
    ) {
        let made = self.made(heading, what, entries, share);
        self.text.push_str(&made);
    }

    /// Adds a block before all others, of what is left.
    fn first_block(
        &mut self,
        heading: &str,
        what: &str,
        entries: impl IntoIterator<Item = String>,
    ) {
        let made = self.made(heading, what, entries, usize::MAX);
        self.text.insert_str(0, &made);
    }

    fn made(
        &mut self,
        heading: &str,
        what: &str,
        entries: impl IntoIterator<Item = String>,
        share: usize,
    ) -> String {
        let entries: Vec<String> = entries.into_iter().collect();
        if entries.iter().all(|entry| entry.trim().is_empty()) {
            return String::new();
        }
        let room = share.min(self.tokens_left());
        let mut block = format!("# {heading}\n");
        let bare = block.len();
        // The empty line after the block is one token.
        let mut cost = cost_of(&block) + 1;
        let mut shown = 0;
        for entry in &entries {
            let text = format!("{entry}\n");
            let price = cost_of(&text);
            if cost + price > room {
                // A large entry is cut at a line, if something of it fits.
                let cut = cut_to(&text, room.saturating_sub(cost));
                cost += cost_of(&cut);
                block.push_str(&cut);
                break;
            }
            block.push_str(&text);
            cost += price;
            shown += 1;
        }
        if shown < entries.len() {
            self.omitted.push(format!("{} of {} {what}", entries.len() - shown, entries.len()));
        }
        if block.len() == bare {
            return String::new();
        }
        block.push('\n');
        self.tokens += cost;
        block
    }

    /// The text with what was left out at its end, in the longest form that fits.
    fn finish(self) -> RepositoryContext {
        let Self { limit, mut text, omitted, .. } = self;
        let tail = match omitted.as_slice() {
            [] => String::new(),
            omitted => format!("[left out: {}]\n", omitted.join("; ")),
        };
        let mut tails = [tail.as_str(), "[more left out]\n", "...\n"].into_iter();
        let body = text.len();
        for tail in &mut tails {
            text.truncate(body);
            text.push_str(tail);
            let tokens = count_tokens(&text);
            if tokens <= limit {
                return RepositoryContext { text, tokens, omitted };
            }
        }
        RepositoryContext { text: String::new(), tokens: 0, omitted }
    }
}

/// Tokens of a text, line by line: never less than those of the lines together.
fn cost_of(text: &str) -> usize {
    text.split_inclusive('\n').map(count_tokens).sum()
}

/// As many whole lines as fit.
fn cut_to(text: &str, room: usize) -> String {
    let mut cut = String::new();
    let mut cost = 0;
    for line in text.split_inclusive('\n') {
        cost += count_tokens(line);
        if cost > room {
            break;
        }
        cut.push_str(line);
    }
    cut
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len().min(CHUNK);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        // Between lines where that is possible, so that lines counted alone never count less.
        if end < rest.len() {
            end = memchr::memrchr(b'\n', &rest.as_bytes()[..end]).map_or(end, |at| at + 1);
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::BuildOptions,
        importance::{History, RankOptions, rank},
        walk::WalkOptions,
    };

    fn check(budget: usize) -> [RepositoryContext; 2] {
        let directory = tempfile::tempdir().unwrap();
        let body: String =
            (0..200).map(|n| format!("    def method_{n}(self):\n        '''Doc.'''\n")).collect();
        std::fs::write(
            directory.path().join("core.py"),
            format!("'''The core.'''\nclass Core:\n{body}"),
        )
        .unwrap();
        for n in 0..30 {
            std::fs::write(
                directory.path().join(format!("m{n}.py")),
                "from core import Core\nCore()\n",
            )
            .unwrap();
        }
        let graph = Graph::build(directory.path(), &BuildOptions::default());
        assert_eq!(graph.entities.len(), 201 + graph.modules.len());
        let ranking = rank(&graph, &History::default(), &RankOptions::default());
        let texts = Texts::new(directory.path(), WalkOptions::default());
        let options = ContextOptions { budget, ..ContextOptions::default() };
        let made = context(&graph, &ranking, &texts, "Read me.\n", &BTreeMap::new(), &options);
        assert!(
            made.tokens <= budget && count_tokens(&made.text) <= budget,
            "{} > {budget}",
            made.tokens
        );
        let mapped = map(&graph, &ranking, &texts, budget);
        assert!(count_tokens(&mapped.text) <= budget);
        [made, mapped]
    }

    #[test]
    fn budgets_are_kept_and_omissions_said() {
        for budget in [0, 1, 50, 100, 500, 2_000] {
            check(budget);
        }
        let [small, _] = check(200);
        assert!(small.text.contains("left out") && !small.omitted.is_empty(), "{}", small.text);
        let [large, _] = check(50_000);
        assert!(large.omitted.is_empty(), "{:?}", large.omitted);
        for block in ["# README", "# Modules", "# Core classes", "# Other modules"] {
            assert!(large.text.contains(block), "{block}");
        }
    }

    /// The first class that does not fit used to end the block.
    #[test]
    fn core_classes_too_large_are_shown_by_their_heads() {
        for (budget, form) in [(1_500, "\n\n"), (4_000, "\n  methods: method_0, method_1, ")] {
            let [made, _] = check(budget);
            let head = format!("class Core (core.py, lines 2 to 402){form}");
            assert!(made.text.contains(&head), "{}", made.text);
            assert!(made.text.starts_with("# README\nRead me.\n"), "{}", made.text);
            // Each module has a line, if not more.
            assert!(!made.text.contains("module summaries"), "{}", made.text);
        }
    }

    #[test]
    fn a_larger_budget_never_shows_less() {
        let mut before = [0, 0];
        for budget in (0..1_200).step_by(60).chain([1_201, 1_202, 1_203, 4_000, 8_000]) {
            let lengths = check(budget).map(|made| made.text.matches('\n').count());
            assert!(lengths[0] + 1 >= before[0], "{budget}: {lengths:?} after {before:?}");
            assert!(lengths[1] + 1 >= before[1], "{budget}: {lengths:?} after {before:?}");
            before = lengths;
        }
    }

    #[test]
    fn a_tiny_budget_says_that_something_is_left_out() {
        for (budget, expected) in [
            (30, "[left out: 31 of 31 modules]\n"),
            (7, "[more left out]\n"),
            (2, "...\n"),
            (0, ""),
        ] {
            let [_, mapped] = check(budget);
            assert_eq!(mapped.text, expected, "{budget}");
            assert!(!mapped.omitted.is_empty());
        }
    }

    #[test]
    fn long_runs_are_counted() {
        assert!(count_tokens(&" ".repeat(1_000_000)) > 0);
    }
}
