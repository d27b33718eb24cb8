//! Personalized PageRank, sparse, for one focus or for every node's own at once.
//!
//! The iteration is that of networkx 3 (`pagerank`): start uniform, follow edges in proportion to their
//! weights, let nodes without edges jump by the personalization, stop when the change is below
//! `tolerance` per node. Results therefore agree with it to rounding. Graphs come as petgraph's.

use petgraph::{Direction, graph::DiGraph, visit::EdgeRef};
use serde::{Deserialize, Serialize};

/// How PageRank iterates.
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
        let mut ranks = vec![0.0; count];
        self.columns(&sparse, count, 1, |node, _| column(node), |node, _, rank| ranks[node] = rank);
        ranks
    }

    /// For every node, its rank under a personalization of 2 for itself and 1 for all others
    /// (RepoMaster, appendix F, algorithm 1, without the final factor of ten).
    pub fn each<N>(&self, graph: &DiGraph<N, f64>) -> Vec<f64> {
        let count = graph.node_count();
        let sparse = Sparse::new(graph);
        let total = as_float(count + 1);
        let mut own = vec![0.0; count];
        for first in (0..count).step_by(LANES) {
            let lanes = LANES.min(count - first);
            self.columns(
                &sparse,
                count,
                lanes,
                |node, lane| if node == first + lane { 2.0 / total } else { 1.0 / total },
                |node, lane, rank| {
                    if node == first + lane {
                        own[node] = rank;
                    }
                },
            );
        }
        own
    }

    fn columns(
        &self,
        sparse: &Sparse,
        count: usize,
        lanes: usize,
        personalization: impl Fn(usize, usize) -> f64,
        mut take: impl FnMut(usize, usize, f64),
    ) {
        if count == 0 {
            return;
        }
        let personal: Vec<[f64; LANES]> = (0..count)
            .map(|node| {
                std::array::from_fn(
                    |lane| if lane < lanes { personalization(node, lane) } else { 0.0 },
                )
            })
            .collect();
        let mut ranks = vec![[1.0 / as_float(count); LANES]; count];
        let mut next = vec![[0.0; LANES]; count];
        let mut stopped = [false; LANES];
        let limit = as_float(count) * self.tolerance;
        for _ in 0..self.rounds {
            let mut jump = [0.0; LANES];
            for &node in &sparse.dangling {
                for lane in 0..LANES {
                    jump[lane] += ranks[node][lane];
                }
            }
            let mut change = [0.0; LANES];
            for node in 0..count {
                let mut sum = [0.0; LANES];
                for at in sparse.starts[node]..sparse.starts[node + 1] {
                    let from = &ranks[sparse.sources[at] as usize];
                    let share = sparse.shares[at];
                    for lane in 0..LANES {
                        sum[lane] += share * from[lane];
                    }
                }
                for lane in 0..LANES {
                    let personal = personal[node][lane];
                    let rank = self.damping * (sum[lane] + jump[lane] * personal)
                        + (1.0 - self.damping) * personal;
                    let rank = if stopped[lane] { ranks[node][lane] } else { rank };
                    change[lane] += (rank - ranks[node][lane]).abs();
                    next[node][lane] = rank;
                }
            }
            std::mem::swap(&mut ranks, &mut next);
            for lane in 0..LANES {
                stopped[lane] |= change[lane] < limit;
            }
            if stopped[..lanes].iter().all(|&stopped| stopped) {
                break;
            }
        }
        for (node, ranks) in ranks.iter().enumerate() {
            for (lane, &rank) in ranks.iter().enumerate().take(lanes) {
                take(node, lane, rank);
            }
        }
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
