//! The tool of the stage RETRIEVE: one class, function or file, by its place in the syntax, or else the
//! one whose name comes closest.

use graph::{EntityId, EntityKind, Graph, Queries};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Chain, Stage};
use crate::{
    relate::resolve,
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
    view::counted,
};

/// Fetches a part of the repository.
#[derive(Debug, Default)]
pub struct RetrieveTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    kind: Sought,
    name: String,
    first: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Sought {
    Class,
    Function,
    File,
}

#[derive(Serialize)]
struct Report {
    name: String,
    /// True if its name equals the requested one.
    exact: bool,
    path: String,
    text: String,
    left_out: usize,
    /// The line to go on from, where it was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u32>,
}

impl Tool for RetrieveTool {
    fn name(&self) -> &'static str {
        "retrieve"
    }

    fn group(&self) -> Group {
        Group::Search
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let asked: Arguments = arguments(given)?;
        let graph = session.graph();
        let (id, exact) = find(&graph, &asked)?;
        let entity = graph.entity(id);
        let path = &graph.module(entity.module).path;
        let texts = session.repository.texts();
        let text = texts.of(path);
        let (first, last) = match entity.kind {
            EntityKind::Module => (1, u32::MAX),
            EntityKind::Class | EntityKind::Function | EntityKind::Lambda => {
                (entity.line, entity.end_line)
            }
        };
        let first = asked.first.unwrap_or(first).max(first);
        let view = counted(path, &text, |line| (first..=last).contains(&line));
        let name = match entity.kind {
            EntityKind::Module => path.clone(),
            EntityKind::Class | EntityKind::Function | EntityKind::Lambda => graph.qualified(id),
        };
        let Chain { stage, open, unseen, .. } = &mut session.findings.chain;
        *stage = Stage::Verify;
        *unseen = Some(self.name());
        if let Some(open) = open {
            name.clone_into(&mut open.name);
        }
        let (text, left_out, next) = (view.text, view.left_out, view.next);
        Reply::of(&Report { name, exact, path: path.clone(), text, left_out, next })
    }
}

/// Returns the definition of the requested name, or else the closest one; and true for an exact
/// match.
fn find(graph: &Graph, asked: &Arguments) -> Result<(EntityId, bool), ToolError> {
    let of_kind = |id: EntityId| match (asked.kind, graph.entity(id).kind) {
        (Sought::Class, EntityKind::Class) | (Sought::File, EntityKind::Module) => true,
        (Sought::Function, kind) => kind == EntityKind::Function,
        _ => false,
    };
    let name = asked.name.trim().trim_start_matches("./");
    let queries = Queries::new(graph);
    let mut exact = resolve(&queries, name).unwrap_or_default();
    exact.retain(|id| of_kind(*id));
    if let Some(id) = graph.meant(&exact) {
        return Ok((id, true));
    }
    let candidates = (0u32..).zip(&graph.entities).map(|(at, _)| EntityId(at));
    let scored = candidates.filter(|id| of_kind(*id)).map(|id| (likeness(graph, id, name), id));
    // Of equals the first counts, so that the same question has the same answer.
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let missing = || Problem::NotFound.because(format!("the repository has no {:?}", asked.kind));
    best.map(|(_, id)| (id, false)).ok_or_else(missing)
}

/// From 0 to 2: how close the own name is, and how close all of it is.
fn likeness(graph: &Graph, id: EntityId, name: &str) -> f64 {
    let entity = graph.entity(id);
    let whole = match entity.kind {
        EntityKind::Module => graph.module(entity.module).path.clone(),
        EntityKind::Class | EntityKind::Function | EntityKind::Lambda => graph.qualified(id),
    };
    let last = |name: &str| {
        name.trim_end_matches(".py")
            .rsplit(['.', '/', ':'])
            .next()
            .unwrap_or_default()
            .to_lowercase()
    };
    let own = strsim::jaro_winkler(&last(&whole), &last(name));
    own + strsim::jaro_winkler(&whole.to_lowercase(), &name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check(kind: Sought, name: &str, expected: &str, exact: bool) {
        let root = tempfile::tempdir().unwrap();
        let text =
            "class Reader:\n    def read(self): ...\nclass Writer:\n    def read(self): ...\n";
        fs::write(root.path().join("files.py"), text).unwrap();
        fs::write(root.path().join("words.py"), "def shout(text): ...\n").unwrap();
        let graph = Graph::build(root.path(), &graph::BuildOptions::default());
        let asked = Arguments { kind, name: name.to_owned(), first: None };
        let (id, found) = find(&graph, &asked).unwrap();
        assert_eq!((graph.qualified(id).as_str(), found), (expected, exact));
    }

    #[test]
    fn what_has_the_name_is_fetched_or_what_comes_closest() {
        check(Sought::Class, "files.Writer", "files.Writer", true);
        check(Sought::Class, "FileReader", "files.Reader", false);
        check(Sought::Function, "shout_loud", "words.shout", false);
        // Two have this name: the qualified one is closer.
        check(Sought::Function, "Writers.read", "files.Writer.read", false);
        check(Sought::File, "words.py", "words", true);
        check(Sought::File, "src/word.py", "words", false);
        // A class was asked for, and the name is a function's.
        check(Sought::Class, "read", "files.Reader", false);
    }

    #[test]
    fn of_several_definitions_the_one_that_runs_is_fetched() {
        let text = "@overload\ndef f(x: int): ...\n@overload\ndef f(x: str): ...\ndef f(x): pass\n\
                    class C:\n    @property\n    def p(self): ...\n    @p.setter\n    \
                    def p(self, to): ...\n\
                    def C(): ...\n";
        let graph = Graph::of_sources([("m.py", text)]);
        let check = |kind, name: &str, line| {
            let (id, exact) =
                find(&graph, &Arguments { kind, name: name.to_owned(), first: None }).unwrap();
            assert_eq!((graph.entity(id).keyword_line, exact), (line, true), "{name}");
        };
        check(Sought::Function, "m.f", 5);
        check(Sought::Function, "m.C.p", 8);
        check(Sought::Class, "m.C", 6);
        check(Sought::Function, "m.C", 11);
    }
}
