//! Definitions and imports whose names no other line has.

use std::collections::{BTreeMap, BTreeSet};

use super::{Block, Draft, Group, LineId, Node, NodeKind, Part};

/// Returns the functions, classes, methods and imports of a gist that no line outside of them mentions, those included that
/// only such ones mention; nothing where there are none. Texts and comments count as mentions. `reached` are needed all
/// the same.
///
/// ```python
/// def parse(text):      # nobody calls it: both go
///     return split(text)
/// def split(text): ...
/// ```
pub(super) fn unmentioned(
    draft: &Draft,
    tree: &Block,
    reached: &BTreeSet<LineId>,
) -> Option<Group> {
    let lines: Vec<&str> = draft.gist.text.lines().collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    lines.iter().flat_map(|line| words(line)).for_each(|word| {
        *counts.entry(word).or_default() += 1;
    });
    let mut candidates = Vec::new();
    add_candidates(tree, &mut candidates);
    candidates.retain(|node| !reached.contains(&node.part.id));
    let mut gone: Vec<Part> = Vec::new();
    loop {
        let is_gone =
            |part: &Part| gone.iter().any(|one| one.first <= part.first && part.last <= one.last);
        let next = candidates.iter().find(|node| {
            let own = |name: &str| {
                let inside = lines[node.part.first..=node.part.last].iter();
                inside.flat_map(|line| words(line)).filter(|word| *word == name).count()
            };
            let is_mentioned = |name: &&str| counts.get(name).copied().unwrap_or(0) > own(name);
            let names = node.names();
            !names.is_empty() && !is_gone(&node.part) && !names.iter().any(is_mentioned)
        });
        let Some(node) = next else { break };
        // Words of a method that went before its class are no longer counted.
        let its_lines = (node.part.first..).zip(&lines[node.part.first..=node.part.last]);
        let is_left = |at: usize| !gone.iter().any(|one| one.first <= at && at <= one.last);
        for (_, line) in its_lines.filter(|(at, _)| is_left(*at)) {
            for word in words(line) {
                if let Some(count) = counts.get_mut(word) {
                    *count = count.saturating_sub(1);
                }
            }
        }
        gone.push(node.part);
    }
    let group: Group = gone.iter().map(|part| part.id).collect();
    (!group.is_empty()).then_some(group)
}

impl Node {
    /// Returns the names by which others use it; none where it may be used without.
    fn names(&self) -> Vec<&str> {
        match &self.kind {
            NodeKind::Function(name) if is_called_by_python(name) => Vec::new(),
            NodeKind::Function(name) | NodeKind::Class(name) => vec![name],
            NodeKind::Import(names) if names.iter().any(|name| name == "*") => Vec::new(),
            NodeKind::Import(names) => names.iter().map(String::as_str).collect(),
            NodeKind::Other => Vec::new(),
        }
    }
}

fn is_called_by_python(name: &str) -> bool {
    name.starts_with("__") && name.ends_with("__")
}

/// Adds the statements of the file and of its classes.
fn add_candidates<'t>(block: &'t Block, found: &mut Vec<&'t Node>) {
    for node in &block.nodes {
        found.push(node);
        if matches!(node.kind, NodeKind::Class(_)) {
            node.inner.iter().for_each(|block| add_candidates(block, found));
        }
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}
