//! Answers questions about definitions: callers, callees, chains of calls, dependencies, uses,
//! subclasses.
//!
//! Queries the graph and limits the answer; the graph itself belongs to its own crate. With
//! `source`, dependencies come as the lines that a reader needs, part by part.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use graph::{
    EntityId, EntityKind, FileId, Graph, LineGraph, LineId, Lookup, Need, NumberedFile, Order,
    Passage, Queries, Texts, Tier, Use, Way, needs, numbered, statement,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
};

/// A question about a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// Its callers.
    Callers,
    /// Its callees.
    Callees,
    /// A shortest chain of calls to something else.
    Path,
    /// The definitions that it uses; for a module, its imports.
    Dependencies,
    /// The definitions that use it; for a module, its importers.
    Dependents,
    /// Modules that its module imports.
    Imports,
    /// Modules that import its module.
    Importers,
    /// Lines that use it.
    References,
    /// Classes derived from it.
    Subclasses,
    /// Lines that hang together with it by definitions and uses, nearest first.
    Lines,
    /// The same, along each chain first.
    Chains,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Related {
    /// Dotted name.
    pub name: String,
    /// Relative path of its file.
    pub path: String,
    /// Its line, or the line of the use.
    pub line: u32,
    /// Steps from the start.
    pub depth: u32,
    /// The certainty of the relation.
    pub tier: Tier,
    /// The line's text, where a line is the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The calls that are the last step, by who makes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Calls>,
    /// Number of those calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<usize>,
}

/// All answers to a question, nearest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    /// They.
    pub related: Vec<Related>,
    /// Call sites on the way that were not followed: what they name fits too many definitions.
    pub not_followed: usize,
}

/// Calls of one definition by another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// Dotted name of who calls.
    pub caller: String,
    /// Relative path of their file.
    pub path: String,
    /// Line of each call in that file.
    pub lines: Vec<u32>,
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RelateError {
    /// Nothing has this name.
    #[error("nothing is named {name} ({})", suggest(.near))]
    Missing {
        /// The name.
        name: String,
        /// Names that are like it.
        near: Vec<String>,
    },
    /// Several things have.
    #[error("{name} is ambiguous (it may be {})", .candidates.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// Some of what it may mean.
        candidates: Vec<String>,
    },
    /// A path needs both ends.
    #[error("missing argument `to`: a path query needs a destination")]
    NoGoal,
    /// Its name is bound by a statement that is no definition.
    #[error(
        "{name} is no definition: {path}:{line} has {text} (`references` lists the lines that import and use it)"
    )]
    Statement {
        /// The name.
        name: String,
        /// Relative path of the file.
        path: String,
        /// First line of the statement.
        line: u32,
        /// That line.
        text: String,
    },
}

/// Names that are offered for one that is not there.
const NEAR: usize = 5;
/// Calls that the tool lists for one answer; their number is told.
const LISTED: usize = 20;
/// Candidates that are listed for an ambiguous name.
const CANDIDATES: usize = 12;
/// The largest number of steps that the tool follows; the reply notes a larger request.
const DEEPEST: u32 = 16;
/// Tokens of the source that one reply holds.
const SOURCE: usize = 7_000;
/// Bytes of a line's text that are shown.
const TEXT: usize = 160;

/// Resolves a name to the definitions that have it in one file.
///
/// # Errors
/// It denotes nothing, or several things.
pub fn resolve(queries: &Queries<'_>, name: &str) -> Result<Vec<EntityId>, RelateError> {
    match queries.find(name) {
        Lookup::Found(ids) => Ok(ids),
        Lookup::Missing => {
            Err(RelateError::Missing { name: name.to_owned(), near: near(queries.graph(), name) })
        }
        Lookup::Ambiguous(ids) => {
            let (mut candidates, others) = told_apart(queries.graph(), &ids);
            if others > 0 {
                candidates.push(format!("{others} others"));
            }
            Err(RelateError::Ambiguous { name: name.to_owned(), candidates })
        }
    }
}

/// A name for each of the first of several things that selects it alone: dotted, or with its path where
/// files share that. And how many others there are.
fn told_apart(graph: &Graph, ids: &[EntityId]) -> (Vec<String>, usize) {
    let mut named: Vec<(String, FileId)> =
        ids.iter().map(|&id| (graph.qualified(id), graph.entity(id).module)).collect();
    named.sort_unstable();
    named.dedup();
    // Sorted, so that those who share a name are neighbours.
    let shared = |at: usize| {
        let same = |other: usize| named.get(other).is_some_and(|(name, _)| *name == named[at].0);
        at.checked_sub(1).is_some_and(same) || same(at + 1)
    };
    let select = |(at, (name, file)): (usize, &(String, FileId))| {
        let module = graph.module(*file);
        let inner = name.strip_prefix(&module.name).and_then(|rest| rest.strip_prefix('.'));
        match inner {
            _ if !shared(at) => name.clone(),
            Some(inner) => format!("{}::{}", module.path, inner.replace('.', "::")),
            None => module.path.clone(),
        }
    };
    let first: Vec<String> = named.iter().enumerate().take(CANDIDATES).map(select).collect();
    let others = named.len() - first.len();
    (first, others)
}

fn suggest(near: &[String]) -> String {
    match near {
        [] => "names are dotted; search for symbols to find one".to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    }
}

/// The outermost function that a definition stands in, where it is local to one.
fn local_to(graph: &Graph, id: EntityId) -> Option<EntityId> {
    let (mut at, mut found) = (graph.entity(id).parent, None);
    loop {
        let entity = graph.entity(at);
        if matches!(entity.kind, EntityKind::Function | EntityKind::Lambda) {
            found = Some(at);
        }
        if entity.parent == at {
            return found;
        }
        at = entity.parent;
    }
}

/// Returns true if code that begins in `start` can reach a definition: one that is local to another
/// function only where its file is imported.
///
/// ```text
/// def test_a(): client.get("/")            # never calls
/// def test_b():
///     class View:
///         def get(self): ...               # this
/// ```
fn is_in_reach(
    graph: &Graph,
    start: EntityId,
    id: EntityId,
    imported: impl FnOnce(FileId) -> bool,
) -> bool {
    let Some(outer) = local_to(graph, id) else { return true };
    let file = graph.entity(id).module;
    outer == start
        || local_to(graph, start) == Some(outer)
        || file != graph.entity(start).module && imported(file)
}

/// Definitions whose last name is that of a name in another spelling, or holds it.
fn near(graph: &Graph, name: &str) -> Vec<String> {
    let plain = |text: &str| text.replace('_', "").to_lowercase();
    let last = name.trim_end_matches(".py").rsplit(['.', ':', '/']).next().unwrap_or(name);
    let wanted = plain(last);
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(bool, usize, String)> = graph
        .ids()
        .filter_map(|id| {
            let entity = graph.entity(id);
            let own = plain(entity.name.rsplit('.').next().unwrap_or(&entity.name));
            let equal = own == wanted;
            let holds = wanted.len() >= 4 && own.contains(&wanted);
            let is_local = local_to(graph, id).is_some();
            let shown = entity.kind != EntityKind::Lambda && !is_local && (equal || holds);
            shown.then(|| (!equal, own.len(), graph.qualified(id)))
        })
        .collect();
    found.sort_unstable();
    found.truncate(NEAR);
    found.into_iter().map(|(.., name)| name).collect()
}

/// Answers a question in full, nearest first.
///
/// # Errors
/// A name denotes nothing or several things.
pub fn relation(
    graph: &Graph,
    relation: Relation,
    of: &str,
    to: Option<&str>,
    depth: u32,
) -> Result<Answers, RelateError> {
    let queries = Queries::new(graph);
    let ids = resolve(&queries, of)?;
    let first = ids[0];
    let meant = graph.meant(&ids).unwrap_or(first);
    let certain = |depth: u32, id: EntityId| related(graph, depth, id, Tier::Certain);
    let reached = |found: Vec<graph::Reached>| -> Vec<Related> {
        let answer = |reached: graph::Reached| Related {
            weight: Some(reached.calls.len()).filter(|&calls| calls > 0),
            calls: calls(graph, &reached.calls),
            ..related(graph, reached.depth, reached.id, reached.tier)
        };
        found.into_iter().map(answer).collect()
    };
    let mut not_followed = 0;
    let mut with_possible = |way: Way| {
        let mut found = reached(queries.calls(&ids, way, depth));
        let (mut possible, vague) = queries.possible_calls(&ids, way, depth);
        if way == Way::Forward {
            let files = OnceCell::new();
            let imported = |file: FileId| {
                let files: &BTreeSet<FileId> = files.get_or_init(|| {
                    let all = queries.modules(graph.entity(first).module, way, u32::MAX);
                    all.into_iter().map(|(_, file)| file).collect()
                });
                files.contains(&file)
            };
            possible.retain(|reached| is_in_reach(graph, first, reached.id, imported));
        }
        found.extend(reached(possible));
        not_followed = vague;
        found
    };
    let modules = |way: Way| -> Vec<Related> {
        let found = queries.modules(graph.entity(first).module, way, depth);
        found.into_iter().map(|(depth, at)| certain(depth, graph.module(at).entity)).collect()
    };
    let module = graph.entity(first).kind == EntityKind::Module;
    let related = match relation {
        Relation::Dependencies if module => modules(Way::Forward),
        Relation::Dependents if module => modules(Way::Backward),
        Relation::Callers => with_possible(Way::Backward),
        Relation::Callees => with_possible(Way::Forward),
        Relation::Path => {
            let goals = resolve(&queries, to.ok_or(RelateError::NoGoal)?)?;
            let (chain, vague) = queries.path(&ids, &goals);
            not_followed = vague;
            let chain = (0u32..).zip(chain);
            chain.map(|(at, (id, tier))| related(graph, at, id, tier)).collect()
        }
        Relation::Dependencies => reached(queries.dependencies(&ids, Way::Forward, depth)),
        Relation::Dependents => reached(queries.dependencies(&ids, Way::Backward, depth)),
        Relation::Imports => modules(Way::Forward),
        Relation::Importers => modules(Way::Backward),
        Relation::References => {
            let mut uses: Vec<Use> = ids.iter().flat_map(|&id| queries.uses(id)).collect();
            uses.sort_unstable_by_key(|used| (used.module, used.line, used.within));
            uses.dedup_by_key(|used| (used.module, used.line, used.within));
            let listed = uses.into_iter();
            listed.map(|used| Related { line: used.line, ..certain(1, used.within) }).collect()
        }
        Relation::Subclasses => {
            let mut found: Vec<EntityId> =
                ids.iter().flat_map(|&id| queries.subclasses(id)).collect();
            found.sort_unstable();
            found.dedup();
            found.into_iter().map(|id| certain(1, id)).collect()
        }
        Relation::Lines => lines_around(&queries, meant, depth, Order::Breadth),
        Relation::Chains => lines_around(&queries, meant, depth, Order::Depth),
    };
    Ok(Answers { related, not_followed })
}

/// Calls, sorted, by who makes them.
fn calls(graph: &Graph, made: &[(EntityId, u32)]) -> Vec<Calls> {
    let of_one = made.chunk_by(|left, right| left.0 == right.0);
    let shown = of_one.map(|made| {
        let caller = made[0].0;
        Calls {
            caller: graph.qualified(caller),
            path: graph.module(graph.entity(caller).module).path.clone(),
            lines: made.iter().map(|&(_, line)| line).collect(),
        }
    });
    shown.collect()
}

/// Cuts a list of calls to the first few.
fn shorten(calls: &mut Vec<Calls>) {
    let mut left = LISTED;
    for of_one in calls.iter_mut() {
        of_one.lines.truncate(left);
        left -= of_one.lines.len();
    }
    calls.retain(|of_one| !of_one.lines.is_empty());
}

/// Lines around the one that defines something, each with the definition that it stands in.
fn lines_around(queries: &Queries<'_>, id: EntityId, hops: u32, order: Order) -> Vec<Related> {
    let graph = queries.graph();
    let entity = graph.entity(id);
    let start = LineId { module: entity.module, line: entity.keyword_line };
    let found = LineGraph::new(graph).ego(start, hops, order);
    found
        .into_iter()
        .map(|(depth, LineId { module, line })| {
            let within = queries.at_line(module, line);
            Related { line, ..related(graph, depth, within, Tier::Certain) }
        })
        .collect()
}

fn related(graph: &Graph, depth: u32, id: EntityId, tier: Tier) -> Related {
    let entity = graph.entity(id);
    Related {
        name: graph.qualified(id),
        path: graph.module(entity.module).path.clone(),
        line: entity.keyword_line,
        depth,
        tier,
        text: None,
        calls: Vec::new(),
        weight: None,
    }
}

/// Asks how things relate.
#[derive(Debug, Default)]
pub struct RelateTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    relation: Relation,
    of: String,
    to: Option<String>,
    depth: Option<u32>,
    limit: Option<usize>,
    #[serde(default)]
    source: bool,
    first: Option<usize>,
}

/// Lines of a file.
#[derive(Debug, Serialize)]
struct FileLines {
    path: String,
    text: String,
}

/// The dependencies of a definition, as source.
#[derive(Debug, Serialize)]
struct Sources {
    /// Definitions and statements that there are.
    found: usize,
    sources: Vec<FileLines>,
    /// The first of them that is not shown whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
}

#[derive(Serialize)]
struct Report {
    found: usize,
    left_out: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_followed: Option<usize>,
    /// The depth that was followed, where a greater one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_to_depth: Option<u32>,
    answers: Vec<Related>,
    /// Fixtures that pytest gives it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixtures: Vec<Related>,
    /// The imports that its names come through.
    #[serde(skip_serializing_if = "Option::is_none")]
    imports: Option<FileLines>,
}

impl Tool for RelateTool {
    fn name(&self) -> &'static str {
        "relate"
    }

    fn group(&self) -> Group {
        Group::Search
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let mut asked: Arguments = arguments(given)?;
        let graph = session.graph();
        let texts = session.repository.texts();
        let refused = |error: RelateError| match error {
            RelateError::NoGoal => Problem::BadArguments.because(error),
            RelateError::Statement { .. } => Problem::Failed.because(error),
            error => Problem::NotFound.because(error),
        };
        asked.of = match handed_on(&graph, &texts, &asked.of) {
            Err(RelateError::Statement { .. }) if has_bound_uses(asked.relation) => {
                let mut report =
                    report_of(uses_of(&graph, &texts, asked.relation, &asked.of), &asked);
                quote(&mut report.answers, &texts);
                return Reply::of(&report);
            }
            found => found.map_err(refused)?,
        };
        if asked.source {
            if asked.relation != Relation::Dependencies {
                return Err(Problem::BadArguments.because("`source` is for dependencies alone"));
            }
            return Reply::of(&sources(&graph, &texts, &asked).map_err(refused)?);
        }
        let mut report = report(&graph, &asked).map_err(refused)?;
        let is_of_lines =
            matches!(asked.relation, Relation::References | Relation::Lines | Relation::Chains);
        if is_of_lines {
            quote(&mut report.answers, &texts);
        }
        if asked.relation == Relation::Dependencies {
            with_surroundings(&mut report, &graph, &texts, &asked.of);
        }
        Reply::of(&report)
    }
}

/// The definition that a name means which an import hands on; the name itself where it is one.
fn handed_on(graph: &Graph, texts: &Texts, name: &str) -> Result<String, RelateError> {
    let queries = Queries::new(graph);
    if !matches!(queries.find(name), Lookup::Missing) {
        return Ok(name.to_owned());
    }
    let Some(found) = statement(graph, texts, name) else { return Ok(name.to_owned()) };
    let (first, last) = found.spans.last().copied().unwrap_or_default();
    let module = graph.modules.iter().position(|module| module.path == found.path);
    let within = module.and_then(|at| {
        let id = queries.at_line(FileId(u32::try_from(at).ok()?), last);
        (graph.entity(id).line == first && graph.entity(id).kind != EntityKind::Module)
            .then_some(id)
    });
    if let Some(id) = within {
        let name = graph.qualified(id);
        let inner = name.strip_prefix(&graph.module(graph.entity(id).module).name);
        let inner = inner.unwrap_or(&name).trim_start_matches('.').replace('.', "::");
        return Ok(format!("{}::{inner}", found.path));
    }
    let text = texts.of(&found.path);
    let text = numbered(&text).find(|(line, _)| *line == first).map_or("", |(_, text)| text);
    Err(RelateError::Statement {
        name: name.to_owned(),
        path: found.path,
        line: first,
        text: text.trim().to_owned(),
    })
}

/// Returns true if `uses_of` answers the relation for a name without a definition.
fn has_bound_uses(relation: Relation) -> bool {
    matches!(relation, Relation::References | Relation::Importers | Relation::Dependents)
}

/// The lines that import a name without a definition from the module that binds it, and those that use it.
fn uses_of(graph: &Graph, texts: &Texts, relation: Relation, name: &str) -> Answers {
    let queries = Queries::new(graph);
    let uses = graph::bound_uses(graph, texts, name).into_iter();
    let is_wanted = |used: &graph::BoundUse| relation != Relation::Importers || used.is_import;
    let uses = uses.filter(is_wanted).map(|used| {
        let tier = if used.is_import { Tier::Certain } else { Tier::Possible };
        let within = queries.at_line(used.module, used.line);
        Related { line: used.line, ..related(graph, 1, within, tier) }
    });
    Answers { related: uses.collect(), not_followed: 0 }
}

/// Adds the text of the line that an answer is.
fn quote(answers: &mut [Related], texts: &Texts) {
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for answer in answers {
        let lines = known.entry(answer.path.clone()).or_insert_with(|| {
            numbered(&texts.of(&answer.path)).map(|(_, line)| line.to_owned()).collect()
        });
        let mut text =
            lines.get(answer.line as usize - 1).map_or("", |line| line.trim()).to_owned();
        text.truncate(text.floor_char_boundary(TEXT));
        answer.text = Some(text);
    }
}

/// The path of a definition's file, and its names in it.
fn place_of(graph: &Graph, of: &str) -> Result<(String, Vec<String>, EntityId), RelateError> {
    let queries = Queries::new(graph);
    let ids = resolve(&queries, of)?;
    let id = graph.meant(&ids).unwrap_or(ids[0]);
    let module = graph.module(graph.entity(id).module);
    let name = graph.qualified(id);
    let inner = name.strip_prefix(&module.name).unwrap_or(&name).trim_start_matches('.');
    let names = inner.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Ok((module.path.clone(), names, id))
}

/// Returns the dependencies of a definition as source, from one need on.
fn sources(graph: &Graph, texts: &Texts, asked: &Arguments) -> Result<Sources, RelateError> {
    let (path, names, _) = place_of(graph, &asked.of)?;
    let all = needs(graph, texts, &[(path, names)]);
    let part = Need::part(&all, texts, asked.first.unwrap_or(0), SOURCE);
    let sources = part.files.into_iter().map(|(path, text)| FileLines { path, text }).collect();
    Ok(Sources { found: all.len(), sources, next: part.next })
}

/// Adds the fixtures that pytest gives a test, and the imports that its names come through.
fn with_surroundings(report: &mut Report, graph: &Graph, texts: &Texts, of: &str) {
    let Ok((path, names, id)) = place_of(graph, of) else { return };
    if names.is_empty() {
        return;
    }
    let queries = Queries::new(graph);
    let fixtures = needs(graph, texts, &[(path.clone(), names)]).into_iter();
    let fixtures = fixtures.filter(|need| need.is_fixture).filter_map(|need| {
        let name = format!("{}::{}", need.path, need.name.replace('.', "::"));
        let Lookup::Found(ids) = queries.find(&name) else { return None };
        ids.last().map(|id| related(graph, 1, *id, Tier::Certain))
    });
    report.fixtures = fixtures.collect();
    let entity = graph.entity(id);
    let text = texts.of(&path);
    let found = Passage::of(&text, &[(entity.line, entity.end_line)], usize::MAX);
    if !found.imports.is_empty() {
        let text = NumberedFile::of(&text).numbered(&found.imports, &BTreeMap::new());
        report.imports = Some(FileLines { path, text });
    }
}

fn report(graph: &Graph, asked: &Arguments) -> Result<Report, RelateError> {
    let wanted = asked.depth.unwrap_or(1);
    let depth = wanted.min(DEEPEST);
    let answers = relation(graph, asked.relation, &asked.of, asked.to.as_deref(), depth)?;
    let cut_to_depth = Some(depth).filter(|&depth| depth < wanted);
    Ok(Report { cut_to_depth, ..report_of(answers, asked) })
}

fn report_of(answers: Answers, asked: &Arguments) -> Report {
    let Answers { related: mut answers, not_followed } = answers;
    let found = answers.len();
    answers.truncate(asked.limit.unwrap_or(60).min(500));
    answers.iter_mut().for_each(|answer| shorten(&mut answer.calls));
    Report {
        found,
        left_out: found - answers.len(),
        not_followed: Some(not_followed).filter(|&sites| sites > 0),
        cut_to_depth: None,
        answers,
        fixtures: Vec::new(),
        imports: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &[(&str, &str)] = &[
        ("a.py", "from b import f\ndef g():\n    return f()\ng()\n"),
        ("b.py", "def f():\n    return h()\ndef h(): pass\nclass C:\n    def g(self): pass\n"),
    ];

    fn check(kind: Relation, of: &str, to: Option<&str>, expected: &[&str]) {
        check_in(SMALL, kind, of, to, expected);
    }

    fn check_in(
        sources: &[(&str, &str)],
        kind: Relation,
        of: &str,
        to: Option<&str>,
        expected: &[&str],
    ) {
        let graph = Graph::of_sources(sources.iter().copied());
        let lines = match relation(&graph, kind, of, to, 2) {
            Ok(found) => {
                let shown = |r: &Related| format!("{} {}:{}", r.name, r.path, r.line);
                found.related.iter().map(shown).collect()
            }
            Err(error) => vec![error.to_string()],
        };
        assert_eq!(lines, expected);
    }

    #[test]
    fn relations_are_answered() {
        check(Relation::Callers, "f", None, &["a.g a.py:2", "a a.py:1"]);
        check(Relation::Path, "a.g", Some("h"), &["a.g a.py:2", "b.f b.py:1", "b.h b.py:3"]);
        check(Relation::References, "b.f", None, &["a a.py:1", "a.g a.py:3"]);
        check(Relation::Importers, "b.py", None, &["a a.py:1"]);
        check(Relation::Callees, "g", None, &["g is ambiguous (it may be a.g, b.C.g)"]);
        check(Relation::Callees, "b.F", None, &["nothing is named b.F (did you mean b.f?)"]);
        let hint = "names are dotted; search for symbols to find one";
        check(Relation::Callees, "zz", None, &[&format!("nothing is named zz ({hint})")]);
        check(Relation::Dependencies, "a", None, &["b b.py:1"]);
        check(Relation::Dependencies, "a.g", None, &["b.f b.py:1", "b.h b.py:3"]);
        check(Relation::Lines, "h", None, &["b.h b.py:3", "b.f b.py:2", "b.f b.py:1"]);
        let said = "missing argument `to`: a path query needs a destination";
        check(Relation::Path, "a.g", None, &[said]);
    }

    #[test]
    fn calls_are_cut_to_the_first_few() {
        let made = |count: u32| (0..count).map(|at| (EntityId(at / 15), at)).collect::<Vec<_>>();
        let names: String = (0..9).map(|at| format!("def f{at}(): pass\n")).collect();
        let graph = Graph::of_sources([("m.py", names.as_str())]);
        for (count, expected) in [(3, vec![3]), (18, vec![15, 3]), (60, vec![15, 5])] {
            let mut calls = calls(&graph, &made(count));
            shorten(&mut calls);
            let lines: Vec<usize> = calls.iter().map(|of_one| of_one.lines.len()).collect();
            assert_eq!(lines, expected, "{count}");
        }
    }

    #[test]
    fn a_reply_says_what_was_not_followed() {
        let chain = (0..40).map(|at| format!("def f{at}(): f{}()\n", at + 1));
        let alike = (0..33).map(|at| format!("class C{at}:\n    def get(self): pass\n"));
        let source = chain.chain(alike).chain(["def many(x): x.get()\n".to_owned()]);
        let graph = Graph::of_sources([("m.py", source.collect::<String>().as_str())]);
        let check = |of: &str, depth, expected| {
            let (relation, of) = (Relation::Callees, of.to_owned());
            let asked = Arguments {
                relation,
                of,
                to: None,
                depth,
                limit: None,
                source: false,
                first: None,
            };
            let report = report(&graph, &asked).unwrap();
            assert_eq!((report.found, report.not_followed, report.cut_to_depth), expected);
        };
        check("m.f0", None, (1, None, None));
        check("m.f0", Some(16), (16, None, None));
        check("m.f0", Some(99), (16, None, Some(16)));
        check("m.many", None, (0, Some(1), None));
    }

    /// `client.get` of one test is no `get` of a class that another test makes for itself.
    #[test]
    fn local_classes_of_other_tests_are_out_of_reach() {
        let sources = [
            ("pkg.py", "class Client:\n    def get(self): pass\n"),
            (
                "tests/test_a.py",
                "def test_a(client):\n    client.get()\n\ndef test_c():\n    class Mine:\n        \
                 def get(self): pass\n",
            ),
            ("tests/test_b.py", "def test_b():\n    class View:\n        def get(self): pass\n"),
        ];
        let test = "tests/test_a.py::test_a";
        check_in(&sources, Relation::Callees, test, None, &["pkg.Client.get pkg.py:2"]);
    }

    fn repository(files: &[(&str, &str)]) -> (tempfile::TempDir, Graph, Texts) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let graph = Graph::build(root.path(), &graph::BuildOptions::default());
        let texts = Texts::new(root.path(), graph::WalkOptions::default());
        (root, graph, texts)
    }

    #[test]
    fn dependencies_of_a_test_have_its_fixtures_imports_and_source() {
        let (_root, graph, texts) = repository(&[
            ("pkg/__init__.py", "from .core import double, LIMIT\nfrom os import sep\n"),
            ("pkg/core.py", "LIMIT = 3\ndef double(n):\n    '''Doc.'''\n    return n + n\n"),
            (
                "tests/conftest.py",
                "import pytest\n@pytest.fixture(autouse=True)\ndef clean(): pass\n",
            ),
            (
                "tests/test_m.py",
                "from pkg import double, LIMIT\ndef test_it():\n    double(LIMIT)\n",
            ),
        ]);
        let of = "tests/test_m.py::test_it".to_owned();
        let relation = Relation::Dependencies;
        let asked = Arguments {
            relation,
            of,
            to: None,
            depth: None,
            limit: None,
            source: true,
            first: None,
        };
        let mut report = report(&graph, &asked).unwrap();
        with_surroundings(&mut report, &graph, &texts, &asked.of);
        assert_eq!(report.fixtures[0].name, "tests.conftest.clean");
        assert_eq!(report.imports.unwrap().text, "1 from pkg import double, LIMIT\n");
        let found = sources(&graph, &texts, &asked).unwrap();
        let core = found.sources.iter().find(|lines| lines.path == "pkg/core.py").unwrap();
        assert_eq!(core.text, "1 LIMIT = 3\n2 def double(n):\n4     return n + n\n");
        assert_eq!(handed_on(&graph, &texts, "pkg.double").unwrap(), "pkg/core.py::double");
        let said = "pkg.sep is no definition: pkg/__init__.py:2 has from os import sep ";
        let error = handed_on(&graph, &texts, "pkg.sep").unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }

    #[test]
    fn names_from_outside_are_followed_to_the_lines_of_their_importers() {
        let (_root, graph, texts) = repository(&[
            ("pkg/__init__.py", ""),
            ("pkg/compat.py", "from urllib.parse import urlparse\nLIMIT = 3\n"),
            (
                "pkg/utils.py",
                "from .compat import LIMIT, urlparse as parse\ndef f(url): return parse(url)\n",
            ),
            ("pkg/api.py", "def g(url):\n    from .utils import parse\n    parse(url)\n"),
            ("pkg/whole.py", "from . import compat\nurlparse = 1\ncompat.urlparse(urlparse)\n"),
            ("pkg/other.py", "from urllib.parse import urlparse\nurlparse('')\n"),
        ]);
        let check = |name: &str, expected: &[&str]| {
            let found = uses_of(&graph, &texts, Relation::References, name).related.into_iter();
            let shown = found.map(|one| format!("{}:{} {:?}", one.path, one.line, one.tier));
            assert_eq!(shown.collect::<Vec<_>>(), expected);
        };
        check(
            "pkg.compat.urlparse",
            &[
                "pkg/api.py:2 Certain",
                "pkg/api.py:3 Possible",
                "pkg/compat.py:1 Possible",
                "pkg/utils.py:1 Certain",
                "pkg/utils.py:2 Possible",
                "pkg/whole.py:3 Possible",
            ],
        );
        check("pkg/compat.py::LIMIT", &["pkg/compat.py:2 Possible", "pkg/utils.py:1 Certain"]);
    }

    #[test]
    fn definitions_of_one_name_answer_together() {
        let twice = "import x\nif x.y:\n    def f(): g()\nelse:\n    def f(): h()\n\
                     def g(): pass\ndef h(): pass\ndef k(): f()\n";
        let check = |kind, of: &str, expected: &[&str]| {
            let sources = [
                ("deep/src/m.py", "def f(): pass"),
                ("lib/m.py", twice),
                ("one.py", twice),
                ("src/m.py", twice),
            ];
            check_in(&sources, kind, of, None, expected);
        };
        check(Relation::Callees, "one.f", &["one.g one.py:6", "one.h one.py:7"]);
        check(Relation::Callers, "one.f", &["one.k one.py:8"]);
        check(Relation::References, "one.f", &["one.k one.py:8"]);
        check(Relation::Callees, "src/m.py::f", &["m.g src/m.py:6", "m.h src/m.py:7"]);
        check(
            Relation::Lines,
            "one.f",
            &["one.f one.py:5", "one.h one.py:7", "one.k one.py:8", "one.f one.py:3"],
        );
        let said = "m.f is ambiguous (it may be lib/m.py::f, src/m.py::f)";
        check(Relation::Callees, "m.f", &[said]);
    }

    #[test]
    fn of_many_candidates_the_first_are_told_apart() {
        let sources: Vec<(String, &str)> = (10..23)
            .map(|at| (format!("a{at}.py"), "def f(): pass\n"))
            .chain(["lib/p.py", "src/p.py"].map(|path| (path.to_owned(), "def f(): pass\n")))
            .collect();
        let check = |range: std::ops::Range<usize>, expected: &str| {
            let sources: Vec<(&str, &str)> =
                sources[range].iter().map(|(path, text)| (path.as_str(), *text)).collect();
            check_in(&sources, Relation::Callees, "f", None, &[expected]);
        };
        let first: Vec<String> = (10..22).map(|at| format!("a{at}.f")).collect();
        let first = first.join(", ");
        check(0..15, &format!("f is ambiguous (it may be {first}, 3 others)"));
        check(0..12, &format!("f is ambiguous (it may be {first})"));
        check(12..15, "f is ambiguous (it may be a22.f, lib/p.py::f, src/p.py::f)");
    }
}
