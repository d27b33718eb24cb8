//! Personalized PageRank equals networkx's, run once per module, on the imports of real repositories.
//! The values are written by page_rank_reference.py.

use gistify_graph::PageRank;
use petgraph::graph::DiGraph;
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    count: usize,
    edges: Vec<(u32, u32, f64)>,
    scores: Vec<f64>,
}

fn check(json: &str) {
    let reference: Reference = serde_json::from_str(json).unwrap();
    let mut graph = DiGraph::new();
    for _ in 0..reference.count {
        graph.add_node(());
    }
    for (from, to, weight) in reference.edges {
        graph.add_edge(from.into(), to.into(), weight);
    }
    let scores = PageRank::default().each(&graph);
    for (module, (ours, theirs)) in scores.iter().zip(&reference.scores).enumerate() {
        assert!((ours - theirs).abs() < 1e-9, "module {module}: {ours} is not {theirs}");
    }
}

#[test]
fn the_first_ranks_as_networkx_ranks_it() {
    check(include_str!("data/page_rank_first.json"));
}

#[test]
fn the_second_ranks_as_networkx_ranks_it() {
    check(include_str!("data/page_rank_second.json"));
}
