//! Renders a graph for other programs and for people: Graphviz's dot, and one self-contained page
//! of HTML.
//!
//! Names come from the repository and are hostile until escaped. Dot strings are quoted. The page
//! has its data as JSON in which nothing can end the script, and shows it as text only.

use std::fmt::Write;

use serde::Serialize;

use crate::{
    graph::{EntityId, Graph},
    importance::Ranking,
};

/// The page; its one placeholder takes the data.
const PAGE: &str = include_str!("page.html");

/// The graph to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawnGraph {
    /// The import graph.
    Modules,
    /// The call graph.
    Calls,
}

/// A graph in Graphviz's language.
pub fn dot(graph: &Graph, drawn: DrawnGraph) -> String {
    let mut text = String::from("digraph repository {\n  rankdir=LR;\n  node [shape=box];\n");
    let mut line = |from: &str, to: &str, weight: u32| {
        let _ = writeln!(text, "  {} -> {} [weight={weight}];", quoted(from), quoted(to));
    };
    match drawn {
        DrawnGraph::Modules => {
            for edge in &graph.imports {
                line(&graph.module(edge.from).path, &graph.module(edge.to).path, edge.weight);
            }
        }
        DrawnGraph::Calls => {
            for edge in &graph.calls {
                line(&graph.qualified(edge.caller), &graph.qualified(edge.callee), edge.weight);
            }
        }
    }
    text.push_str("}\n");
    text
}

#[derive(Serialize)]
struct Data<'g> {
    modules: Vec<(&'g str, f64, EntityId)>,
    entities: Vec<(&'g str, EntityId, u32, crate::facts::EntityKind, u32)>,
    imports: Vec<(u32, u32, u32)>,
    calls: Vec<(u32, u32, u32)>,
}

/// The whole graph as one page of HTML, with a search and the neighbourhood of each thing.
pub fn page(graph: &Graph, ranking: &Ranking) -> String {
    let mut scores = vec![0.0; graph.modules.len()];
    for module in &ranking.modules {
        scores[module.id.0 as usize] = (module.score * 1_000.0).round() / 1_000.0;
    }
    let data = Data {
        modules: graph
            .modules
            .iter()
            .zip(scores)
            .map(|(module, score)| (module.path.as_str(), score, module.entity))
            .collect(),
        entities: graph
            .entities
            .iter()
            .map(|e| (e.name.as_str(), e.parent, e.module.0, e.kind, e.keyword_line))
            .collect(),
        imports: graph.imports.iter().map(|e| (e.from.0, e.to.0, e.weight)).collect(),
        calls: graph.calls.iter().map(|e| (e.caller.0, e.callee.0, e.weight)).collect(),
    };
    // Strings and numbers always encode.
    let json = serde_json::to_string(&data).unwrap_or_default();
    PAGE.replacen("@DATA@", &json.replace('<', "\\u003c"), 1)
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::importance::{History, RankOptions, rank};

    fn graph() -> Graph {
        Graph::of_sources([
            ("a.py", "import b\nb.f()\n"),
            ("b.py", "def f(): pass\n"),
            ("</script><img onerror=x>.py", "import a\n"),
        ])
    }

    #[test]
    fn dot_has_each_edge() {
        let modules = dot(&graph(), DrawnGraph::Modules);
        assert!(modules.contains("\"a.py\" -> \"b.py\" [weight=1];"), "{modules}");
        assert!(dot(&graph(), DrawnGraph::Calls).contains("\"a\" -> \"b.f\" [weight=1];"));
    }

    #[test]
    fn l04_names_do_not_leave_the_data() {
        let graph = graph();
        let page = page(&graph, &rank(&graph, &History::default(), &RankOptions::default()));
        assert!(!page.contains("<img") && page.matches("</script>").count() == 2);
        assert!(!page.contains("http://") || page.matches("http://").count() == 1);
    }
}
