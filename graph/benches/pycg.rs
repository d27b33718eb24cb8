//! Compares the certain call edges with the expected ones of PyCG's micro-benchmark, whose directory of
//! snippets is the argument. Edges to what the snippets do not define are not counted.
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use gistify_graph::{BuildOptions, EntityId, EntityKind, Graph};

fn main() {
    let root = std::env::args().nth(1).expect("the directory of snippets");
    let mut cases: Vec<PathBuf> = Vec::new();
    for category in fs::read_dir(&root).expect("read the snippets").flatten() {
        if let Ok(entries) = fs::read_dir(category.path()) {
            cases.extend(
                entries
                    .flatten()
                    .map(|entry| entry.path())
                    .filter(|p| p.join("callgraph.json").exists()),
            );
        }
    }
    cases.sort();
    let (mut hits, mut extra, mut missed, mut exact) = (0, 0, 0, 0);
    for case in &cases {
        let expected = expected(case);
        let found = graph_edges(case);
        let right = expected.intersection(&found).count();
        hits += right;
        extra += found.len() - right;
        missed += expected.len() - right;
        if expected == found {
            exact += 1;
        } else {
            println!("{}", case.strip_prefix(&root).unwrap_or(case).display());
            for (from, to) in found.difference(&expected) {
                println!("  extra  {from} -> {to}");
            }
            for (from, to) in expected.difference(&found) {
                println!("  missed {from} -> {to}");
            }
        }
    }
    let (hits, extra, missed) = (hits as f64, extra as f64, missed as f64);
    println!(
        "cases {} exact {exact} precision {:.3} recall {:.3}",
        cases.len(),
        hits / (hits + extra),
        hits / (hits + missed)
    );
}

fn expected(case: &Path) -> BTreeSet<(String, String)> {
    let text = fs::read_to_string(case.join("callgraph.json")).expect("read the expected edges");
    let graph: BTreeMap<String, Vec<String>> =
        serde_json::from_str(&text).expect("parse the expected edges");
    let own = |name: &str| {
        let top = name.split('.').next().unwrap_or(name);
        case.join(top).is_dir() || case.join(format!("{top}.py")).is_file()
    };
    graph
        .iter()
        .flat_map(|(from, to)| to.iter().map(move |to| (from.clone(), to.clone())))
        .filter(|(from, to)| own(to) && own(from))
        .collect()
}

fn graph_edges(case: &Path) -> BTreeSet<(String, String)> {
    let graph = Graph::build(case, &BuildOptions::default());
    let mut lambdas: BTreeMap<EntityId, usize> = BTreeMap::new();
    let mut seen: BTreeMap<EntityId, usize> = BTreeMap::new();
    for id in graph.ids() {
        if graph.entity(id).kind == EntityKind::Lambda {
            let count = seen.entry(graph.entity(id).parent).or_default();
            *count += 1;
            lambdas.insert(id, *count);
        }
    }
    let name = |id: EntityId| match lambdas.get(&id) {
        Some(number) => format!("{}.<lambda{number}>", graph.qualified(graph.entity(id).parent)),
        None => graph.qualified(id),
    };
    graph
        .calls
        .iter()
        .filter(|edge| graph.entity(edge.callee).kind != EntityKind::Class)
        .map(|edge| (name(edge.caller), name(edge.callee)))
        .collect()
}
