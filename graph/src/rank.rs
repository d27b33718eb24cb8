//! Personalized PageRank, sparse, for one focus or for every node's own at once.
//!
//! The iteration is that of networkx 3 (`pagerank`): start uniform, follow edges in proportion to their
//! weights, let nodes without edges jump by the personalization, stop when the change is below
//! `tolerance` per node. Results therefore agree with it to rounding. Graphs come as petgraph's.

use petgraph::{
    Direction,
    graph::{DiGraph, NodeIndex},
    visit::EdgeRef,
};
use serde::{Deserialize, Serialize};

/// The parameters of the PageRank iteration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageRank {
    /// Probability of following an edge.
    pub damping: f64,
    /// Change per node below which the iteration stops.
    pub tolerance: f64,
    /// Rounds at most.
    pub rounds: u32,
}

impl Default for PageRank {
    fn default() -> Self {
        Self { damping: 0.85, tolerance: 1e-6, rounds: 100 }
    }
}

/// Columns that are iterated side by side, so that one pass over the edges serves all of them.
const LANES: usize = 16;

/// The personalizations of some columns: the same for all of them, but that each may prefer a node.
struct Personal<'p, Common> {
    /// The weight of a node that all columns share.
    common: Common,
    /// The extra weight of a preferred node.
    more: f64,
    /// The nodes preferred, sorted, the first by the first column, and so on.
    preferred: &'p [usize],
}

/// Edges by their target, with the share of the source's weight.
struct Sparse {
    /// Start of each node's incoming edges; one more at the end.
    starts: Vec<usize>,
    sources: Vec<u32>,
    shares: Vec<f64>,
    dangling: Vec<usize>,
}

impl PageRank {
    /// Rank of every node under one personalization, which is scaled to sum up to one.
    ///
    /// An all-zero personalization counts as uniform.
    pub fn focused<N>(&self, graph: &DiGraph<N, f64>, personalization: &[f64]) -> Vec<f64> {
        let sum: f64 = personalization.iter().sum();
        let count = graph.node_count();
        let uniform = sum <= 0.0;
        let column = |node: usize| {
            if uniform { 1.0 / as_float(count) } else { personalization[node] / sum }
        };
        let sparse = Sparse::new(graph);
        let personal = Personal { common: column, more: 0.0, preferred: &[] };
        let ranks = self.columns::<1>(&sparse, count, &personal);
        ranks.into_iter().map(|[rank]| rank).collect()
    }

    /// For every node, its rank under a personalization of 2 for itself and 1 for all others
    /// (RepoMaster, appendix F, algorithm 1, without the final factor of ten).
    pub fn each<N>(&self, graph: &DiGraph<N, f64>) -> Vec<f64> {
        let count = graph.node_count();
        let sparse = Sparse::new(graph);
        let share = 1.0 / as_float(count + 1);
        // Nodes without any edge are all alike: the first stands for them.
        let (alone, mut nodes): (Vec<usize>, Vec<usize>) = graph
            .node_indices()
            .map(NodeIndex::index)
            .partition(|&node| graph.neighbors_undirected(NodeIndex::new(node)).next().is_none());
        nodes.extend(alone.first());
        nodes.sort_unstable();
        let mut own = vec![0.0; count];
        for preferred in nodes.chunks(LANES) {
            let personal = Personal { common: |_| share, more: share, preferred };
            let ranks = self.columns::<LANES>(&sparse, count, &personal);
            for (lane, &node) in preferred.iter().enumerate() {
                own[node] = ranks[node][lane];
            }
        }
        for &node in &alone {
            own[node] = own[alone[0]];
        }
        own
    }

    /// The ranks of all nodes in each column.
    fn columns<const COLUMNS: usize>(
        &self,
        sparse: &Sparse,
        count: usize,
        personal: &Personal<'_, impl Fn(usize) -> f64>,
    ) -> Vec<[f64; COLUMNS]> {
        let mut ranks = vec![[1.0 / as_float(count.max(1)); COLUMNS]; count];
        let mut next = vec![[0.0; COLUMNS]; count];
        let mut stopped = [false; COLUMNS];
        let limit = as_float(count) * self.tolerance;
        for _ in 0..self.rounds {
            // What the personalization is multiplied with: jumps from nodes without edges, and the others.
            let mut jump = [0.0; COLUMNS];
            for &node in &sparse.dangling {
                for lane in 0..COLUMNS {
                    jump[lane] += ranks[node][lane];
                }
            }
            let jump = jump.map(|sum| self.damping * sum + (1.0 - self.damping));
            let mut change = [0.0; COLUMNS];
            let mut preferred = personal.preferred.iter().enumerate().peekable();
            for node in 0..count {
                let mut sum = [0.0; COLUMNS];
                for at in sparse.starts[node]..sparse.starts[node + 1] {
                    let from = &ranks[sparse.sources[at] as usize];
                    let share = sparse.shares[at];
                    for lane in 0..COLUMNS {
                        sum[lane] += share * from[lane];
                    }
                }
                let common = (personal.common)(node);
                let mut rank: [f64; COLUMNS] =
                    std::array::from_fn(|lane| self.damping * sum[lane] + jump[lane] * common);
                if let Some((lane, _)) = preferred.next_if(|&(_, &own)| own == node) {
                    rank[lane] += jump[lane] * personal.more;
                }
                let before = &ranks[node];
                for lane in 0..COLUMNS {
                    change[lane] += (rank[lane] - before[lane]).abs();
                }
                next[node] = rank;
            }
            if stopped.contains(&true) {
                for (next, ranks) in next.iter_mut().zip(&ranks) {
                    for lane in (0..COLUMNS).filter(|&lane| stopped[lane]) {
                        next[lane] = ranks[lane];
                    }
                }
            }
            std::mem::swap(&mut ranks, &mut next);
            for lane in 0..COLUMNS {
                stopped[lane] |= change[lane] < limit;
            }
            if !stopped.contains(&false) {
                break;
            }
        }
        ranks
    }
}

impl Sparse {
    fn new<N>(graph: &DiGraph<N, f64>) -> Self {
        let count = graph.node_count();
        let mut totals = vec![0.0; count];
        for edge in graph.edge_references() {
            totals[edge.source().index()] += edge.weight();
        }
        let mut sparse = Sparse {
            starts: vec![0],
            sources: Vec::with_capacity(graph.edge_count()),
            shares: Vec::with_capacity(graph.edge_count()),
            dangling: (0..count).filter(|&node| totals[node] <= 0.0).collect(),
        };
        for node in graph.node_indices() {
            let mut incoming: Vec<(usize, f64)> = graph
                .edges_directed(node, Direction::Incoming)
                .map(|edge| (edge.source().index(), *edge.weight()))
                .filter(|&(source, _)| totals[source] > 0.0)
                .collect();
            // A fixed order of addition gives the same bits every time.
            incoming.sort_by_key(|&(source, _)| source);
            for (source, weight) in incoming {
                sparse.sources.push(u32::try_from(source).unwrap_or(u32::MAX));
                sparse.shares.push(weight / totals[source]);
            }
            sparse.starts.push(sparse.sources.len());
        }
        sparse
    }
}

#[allow(clippy::cast_precision_loss)]
fn as_float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(count: usize, edges: &[(u32, u32, f64)]) -> DiGraph<(), f64> {
        let mut graph = DiGraph::new();
        for _ in 0..count {
            graph.add_node(());
        }
        for &(from, to, weight) in edges {
            graph.add_edge(from.into(), to.into(), weight);
        }
        graph
    }

    #[test]
    fn ranks_sum_up_to_one_and_favour_the_focus() {
        let graph = graph(4, &[(0, 1, 2.0), (1, 2, 1.0), (2, 0, 1.0), (0, 3, 1.0)]);
        let ranks = PageRank::default().focused(&graph, &[0.0, 0.0, 0.0, 1.0]);
        assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(ranks[3] > 0.9, "{ranks:?}");
    }

    #[test]
    fn each_equals_one_run_per_node() {
        let edges: Vec<(u32, u32, f64)> = (0..40u32)
            .flat_map(|n| [(n, n * 7 % 40, 1.0), (n, n * n % 40, f64::from(n + 1))])
            .collect();
        let graph = graph(41, &edges);
        let rank = PageRank::default();
        let each = rank.each(&graph);
        for node in 0..41 {
            let mut personalization = vec![1.0; 41];
            personalization[node] = 2.0;
            let alone = rank.focused(&graph, &personalization)[node];
            assert!((each[node] - alone).abs() < 1e-12, "{node}");
        }
    }

    #[test]
    fn no_nodes_and_no_edges_are_fine() {
        assert!(PageRank::default().each(&graph(0, &[])).is_empty());
        let alone = PageRank::default().each(&graph(1, &[]));
        assert!((alone[0] - 1.0).abs() < 1e-12);
    }
}
