//! Definitions and imports whose names no other line has.

use std::collections::{BTreeMap, BTreeSet};

use super::{Block, Draft, Group, LineId, Node, NodeKind};

/// Returns the functions, classes, methods and imports of a gist that no statement can reach by a name: those that nothing
/// mentions, or only each other. Texts and comments count as mentions. Those in `needed` are reached all the same. Returns
/// nothing where all are reached.
///
/// ```python
/// def parse(text):      # nobody else calls them: both go
///     return split(text)
/// def split(text): ...
/// ```
pub(super) fn unmentioned(draft: &Draft, tree: &Block, needed: &BTreeSet<LineId>) -> Option<Group> {
    let lines: Vec<&str> = draft.gist.text.lines().collect();
    let mut definitions = Vec::new();
    add_definitions(tree, None, &mut definitions);
    // Each line belongs to the innermost definition around it.
    let mut owners: Vec<Option<usize>> = vec![None; lines.len()];
    for (at, definition) in definitions.iter().enumerate() {
        let part = definition.node.part;
        owners[part.first..=part.last].fill(Some(at));
    }
    let mut words_of: BTreeMap<Option<usize>, BTreeSet<&str>> = BTreeMap::new();
    for (line, owner) in lines.iter().zip(&owners) {
        words_of.entry(*owner).or_default().extend(words(line));
    }
    let mut reached = vec![false; definitions.len()];
    for (at, definition) in definitions.iter().enumerate() {
        let mut around = needed.contains(&definition.node.part.id).then_some(at);
        while let Some(one) = around {
            reached[one] = true;
            around = definitions[one].class;
        }
    }
    let first = [None].into_iter().chain((0..reached.len()).filter(|at| reached[*at]).map(Some));
    let mut mentioned: BTreeSet<&str> =
        first.filter_map(|owner| words_of.get(&owner)).flatten().copied().collect();
    let mut is_changed = true;
    while std::mem::take(&mut is_changed) {
        for (at, Definition { names, class, .. }) in definitions.iter().enumerate() {
            // A method is in the gist only with its class.
            let is_next = !reached[at]
                && class.is_none_or(|class| reached[class])
                && names.iter().any(|name| mentioned.contains(name));
            if is_next {
                (reached[at], is_changed) = (true, true);
                mentioned.extend(words_of.get(&Some(at)).into_iter().flatten());
            }
        }
    }
    let group: Group = (0..definitions.len())
        .filter(|at| !reached[*at])
        .map(|at| definitions[at].node.part.id)
        .collect();
    (!group.is_empty()).then_some(group)
}

/// A function, class, method or import that others use by a name.
struct Definition<'t> {
    node: &'t Node,
    names: Vec<&'t str>,
    /// The index of the class that it is in.
    class: Option<usize>,
}

impl Node {
    /// Returns the names by which others use it; none where it may be used without.
    fn names(&self) -> Vec<&str> {
        match &self.kind {
            NodeKind::Function(name) if is_called_by_python(name) => Vec::new(),
            NodeKind::Function(name) | NodeKind::Class(name) => vec![name],
            NodeKind::Import(names) if names.iter().any(|name| name == "*") => Vec::new(),
            NodeKind::Import(names) => names.iter().map(String::as_str).collect(),
            NodeKind::Declaration | NodeKind::Other => Vec::new(),
        }
    }
}

fn is_called_by_python(name: &str) -> bool {
    name.starts_with("__") && name.ends_with("__")
}

/// Adds the definitions of the file and of its classes.
fn add_definitions<'t>(block: &'t Block, class: Option<usize>, found: &mut Vec<Definition<'t>>) {
    for node in &block.nodes {
        let names = node.names();
        if names.is_empty() {
            continue;
        }
        found.push(Definition { node, names, class });
        if matches!(node.kind, NodeKind::Class(_)) {
            let class = Some(found.len() - 1);
            node.inner.iter().for_each(|block| add_definitions(block, class, found));
        }
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}
