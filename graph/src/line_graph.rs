//! The line graph (RepoGraph): a node for each line that defines or uses something, an edge from a use
//! to the definition, and from a definition to the uses inside it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::{
    facts::EntityKind,
    graph::{EntityId, FileId, Graph},
};

/// A line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LineId {
    /// The file.
    pub module: FileId,
    /// The line, 1-based.
    pub line: u32,
}

/// The order in which [`LineGraph::ego`] explores a neighbourhood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Nearest first.
    Breadth,
    /// Along each chain first.
    Depth,
}

/// Definitions and uses, line by line.
#[derive(Debug, Default)]
pub struct LineGraph {
    defines: BTreeMap<LineId, Vec<EntityId>>,
    uses: BTreeMap<LineId, Vec<EntityId>>,
    neighbours: BTreeMap<LineId, BTreeSet<LineId>>,
}

impl LineGraph {
    /// The line graph of a repository.
    pub fn new(graph: &Graph) -> Self {
        let mut made = LineGraph::default();
        let home = |id: EntityId| {
            let entity = graph.entity(id);
            LineId { module: entity.module, line: entity.keyword_line }
        };
        for id in graph.ids() {
            if graph.entity(id).kind != EntityKind::Module {
                made.defines.entry(home(id)).or_default().push(id);
            }
        }
        for used in graph.uses.iter().filter(|used| !used.import) {
            let line = LineId { module: used.module, line: used.line };
            made.uses.entry(line).or_default().push(used.target);
            if graph.entity(used.target).kind != EntityKind::Module {
                made.connect(line, home(used.target));
            }
            if graph.entity(used.within).kind != EntityKind::Module {
                made.connect(line, home(used.within));
            }
        }
        made
    }

    /// Returns the entities that a line defines.
    pub fn defined_at(&self, line: LineId) -> &[EntityId] {
        self.defines.get(&line).map_or(&[], Vec::as_slice)
    }

    /// Returns the entities that a line uses.
    pub fn used_at(&self, line: LineId) -> &[EntityId] {
        self.uses.get(&line).map_or(&[], Vec::as_slice)
    }

    /// Number of lines that define or use something.
    pub fn len(&self) -> usize {
        self.defines.keys().chain(self.uses.keys()).collect::<BTreeSet<_>>().len()
    }

    /// Returns true if no line defines or uses anything.
    pub fn is_empty(&self) -> bool {
        self.defines.is_empty() && self.uses.is_empty()
    }

    /// Lines at most `hops` edges from the start, in the order of exploration, with their distance
    /// along it; the start itself comes first.
    pub fn ego(&self, start: LineId, hops: u32, order: Order) -> Vec<(u32, LineId)> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        let mut open = VecDeque::from([(0, start)]);
        loop {
            let next = match order {
                Order::Breadth => open.pop_front(),
                Order::Depth => open.pop_back(),
            };
            let Some((depth, at)) = next else { return found };
            if !seen.insert(at) {
                continue;
            }
            found.push((depth, at));
            if depth == hops {
                continue;
            }
            let near = self.neighbours.get(&at).into_iter().flatten();
            match order {
                Order::Breadth => open.extend(near.map(|&line| (depth + 1, line))),
                Order::Depth => open.extend(near.rev().map(|&line| (depth + 1, line))),
            }
        }
    }

    fn connect(&mut self, left: LineId, right: LineId) {
        if left != right {
            self.neighbours.entry(left).or_default().insert(right);
            self.neighbours.entry(right).or_default().insert(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbourhoods_grow_hop_by_hop() {
        let graph = Graph::of_sources([(
            "m.py",
            "def a():\n    b()\n\ndef b():\n    c()\n\ndef c(): pass\n",
        )]);
        let lines = LineGraph::new(&graph);
        let ego = |hops, order| -> Vec<u32> {
            let start = LineId { module: FileId(0), line: 1 };
            lines.ego(start, hops, order).into_iter().map(|(_, at)| at.line).collect()
        };
        assert_eq!(ego(1, Order::Breadth), [1, 2]);
        assert_eq!(ego(2, Order::Breadth), [1, 2, 4]);
        assert_eq!(ego(9, Order::Depth), [1, 2, 4, 5, 7]);
        assert_eq!(lines.len(), 5);
    }
}
