//! Questions to a graph: what a name denotes, who calls it, what it needs, how two things connect.
//!
//! Answers are data, sorted and complete; cutting them for a reader is the business of whoever shows
//! them.

use std::{cell::OnceCell, collections::VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::{
    facts::Kind,
    graph::{CallEdge, CallSite, EntityId, FileId, Graph, NameIndex, Tier, Use},
};

/// What a name denotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// One thing, by all definitions of it in one file: overloads, a property's functions, branches.
    Found(Vec<EntityId>),
    /// Several things, sorted.
    Ambiguous(Vec<EntityId>),
    /// Nothing.
    Missing,
}

/// Which way edges are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// From users to what they use.
    Forward,
    /// From what is used to its users.
    Backward,
}

/// Something reached, and from how far.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reached {
    /// Number of edges.
    pub depth: u32,
    /// What was reached.
    pub id: EntityId,
    /// How sure the way there is.
    pub tier: Tier,
    /// Line of each call that is the last step, in the file of what calls.
    pub lines: Vec<u32>,
}

/// A call that may happen: by name or by inheritance alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PossibleCall {
    /// The edge.
    #[serde(flatten)]
    pub edge: CallEdge,
    /// That it is not certain.
    pub tier: Tier,
}

/// A name that fits more definitions than this says nothing of any of them.
const FITTING: usize = 32;

/// A graph with what its queries need at hand.
#[derive(Debug)]
pub struct Queries<'g> {
    graph: &'g Graph,
    names: NameIndex,
    into: Vec<Vec<u32>>,
    /// Sites that may call more than they do for certain, by the names of what that is.
    doubtful: OnceCell<FxHashMap<&'g str, Vec<u32>>>,
}

impl<'g> Queries<'g> {
    /// Prepares a graph for queries.
    pub fn new(graph: &'g Graph) -> Self {
        let mut into = vec![Vec::new(); graph.entities.len()];
        for (at, edge) in (0u32..).zip(&graph.calls) {
            into[edge.callee.0 as usize].push(at);
        }
        Self { graph, names: NameIndex::new(graph), into, doubtful: OnceCell::new() }
    }

    /// The graph asked.
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Definitions by name.
    pub fn names(&self) -> &NameIndex {
        &self.names
    }

    /// Resolves a name: exactly first (dotted name, or path of a module), then by suffix.
    ///
    /// `path.py::Class::method` and `module:Class.method` are understood too.
    pub fn find(&self, name: &str) -> Lookup {
        let graph = self.graph;
        let module = graph.modules.iter().find(|module| module.path == name);
        if let Some(module) = module {
            return Lookup::Found(vec![module.entity]);
        }
        if let Some((path, inner)) = name.split_once("::") {
            let dotted = inner.replace("::", ".");
            let dotted = dotted.split('[').next().unwrap_or(&dotted).to_owned();
            let named = |fits: &dyn Fn(&str) -> bool| -> Vec<EntityId> {
                let last = dotted.rsplit('.').next().unwrap_or(&dotted);
                let alike = self.names.named(last).iter().copied();
                let fitting = alike.filter(|&id| {
                    let module = graph.module(graph.entity(id).module);
                    fits(&module.path) && graph.qualified(id) == format!("{}.{dotted}", module.name)
                });
                fitting.collect()
            };
            let exact = named(&|other| other == path);
            if !exact.is_empty() {
                return self.one_of(exact);
            }
            let suffix = format!("/{path}");
            return self.one_of(named(&|other| other.ends_with(&suffix)));
        }
        let dotted = name.replace(':', ".");
        let last = dotted.rsplit('.').next().unwrap_or(&dotted);
        let mut candidates: Vec<EntityId> = self.names.named(last).to_vec();
        candidates.extend(graph.modules.iter().filter_map(|module| {
            let fits = module.name == dotted
                || module.name.ends_with(&format!(".{dotted}"))
                || module.path.ends_with(&format!("/{name}"));
            fits.then_some(module.entity)
        }));
        let named: Vec<(EntityId, String)> =
            candidates.into_iter().map(|id| (id, graph.qualified(id))).collect();
        let exact: Vec<EntityId> =
            named.iter().filter(|(_, full)| *full == dotted).map(|&(id, _)| id).collect();
        if !exact.is_empty() {
            return self.one_of(exact);
        }
        let suffix = format!(".{dotted}");
        self.one_of(
            named.iter().filter(|(_, full)| full.ends_with(&suffix)).map(|&(id, _)| id).collect(),
        )
    }

    fn one_of(&self, mut candidates: Vec<EntityId>) -> Lookup {
        candidates.sort_unstable();
        candidates.dedup();
        let graph = self.graph;
        let place = |id: EntityId| (graph.entity(id).module, graph.qualified(id));
        match candidates.as_slice() {
            [] => Lookup::Missing,
            [first, others @ ..] if others.iter().all(|&id| place(id) == place(*first)) => {
                Lookup::Found(candidates)
            }
            _ => Lookup::Ambiguous(candidates),
        }
    }

    /// Call edges that leave a definition.
    pub fn calls_from(&self, id: EntityId) -> impl Iterator<Item = &'g CallEdge> + use<'g> {
        let calls = &self.graph.calls;
        let from = calls.partition_point(|edge| edge.caller < id);
        calls[from..].iter().take_while(move |edge| edge.caller == id)
    }

    /// Call edges that reach a definition.
    pub fn calls_to(&self, id: EntityId) -> impl Iterator<Item = &'g CallEdge> + '_ {
        self.into[id.0 as usize].iter().map(|&at| &self.graph.calls[at as usize])
    }

    /// Everything that calls definitions (or is called by them), to a depth. A class stands for its
    /// methods as well.
    pub fn calls(&self, of: &[EntityId], way: Way, depth: u32) -> Vec<Reached> {
        self.follow(of, way, depth, Tier::Certain)
    }

    /// What else may call them (or be called by them), to a depth: of calls that were not followed,
    /// whatever has the name; of those that were, what overrides the method found, or what that overrides
    /// if it is abstract, since an annotation promises no more than a base class.
    pub fn possible_calls(&self, of: &[EntityId], way: Way, depth: u32) -> Vec<Reached> {
        let certain = self.calls(of, way, depth);
        let certain: FxHashSet<EntityId> = certain.into_iter().map(|reached| reached.id).collect();
        let mut found = self.follow(of, way, depth, Tier::Possible);
        found.retain(|reached| !certain.contains(&reached.id));
        found.iter_mut().for_each(|reached| reached.tier = Tier::Possible);
        found
    }

    /// All calls that may happen, sorted by both ends, and the number of call sites that were left out
    /// because their names fit too many definitions.
    pub fn possible_edges(&self) -> (Vec<PossibleCall>, usize) {
        let mut edges = Vec::new();
        let mut left_out = 0;
        for sites in self.graph.sites.chunk_by(|left, right| left.caller == right.caller) {
            let caller = sites[0].caller;
            let mut made: Vec<(EntityId, u32)> = Vec::new();
            for site in sites {
                let possible = self.possible_at(site);
                match possible.len() > FITTING {
                    true => left_out += 1,
                    false => made.extend(possible.into_iter().map(|callee| (callee, site.line))),
                }
            }
            made.retain(|&(callee, _)| !self.calls_from(caller).any(|edge| edge.callee == callee));
            made.sort_unstable();
            edges.extend(made.chunk_by(|left, right| left.0 == right.0).map(|calls| {
                let (callee, line) = calls[0];
                let weight = u32::try_from(calls.len()).unwrap_or(u32::MAX);
                let edge = CallEdge { caller, callee, weight, line };
                PossibleCall { edge, tier: Tier::Possible }
            }));
        }
        (edges, left_out)
    }

    fn sites_of(&self, id: EntityId) -> impl Iterator<Item = &'g CallSite> + use<'g> {
        let sites = &self.graph.sites;
        let from = sites.partition_point(|site| site.caller < id);
        sites[from..].iter().take_while(move |site| site.caller == id)
    }

    /// What a site may call beside what it calls for certain.
    fn possible_at(&self, site: &CallSite) -> Vec<EntityId> {
        let graph = self.graph;
        if site.callees.is_empty() {
            return graph.possible(site, &self.names);
        }
        let mut found: Vec<EntityId> = graph.behind(site, &self.names).collect();
        for &callee in &site.callees {
            let alike = self.names.named(&graph.entity(callee).name);
            found.extend(alike.iter().copied().filter(|&other| self.replaces(callee, other)));
        }
        found.retain(|id| !site.callees.contains(id));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Sites that may call a definition, but do not for certain.
    fn doubtful(&self, id: EntityId) -> impl Iterator<Item = &'g CallSite> {
        let graph = self.graph;
        let sites = self.doubtful.get_or_init(|| {
            let mut sites: FxHashMap<&'g str, Vec<u32>> = FxHashMap::default();
            for (at, site) in (0u32..).zip(&graph.sites) {
                let behind = site.behind.iter().map(String::as_str);
                let callees = site.callees.iter().map(|&callee| graph.entity(callee).name.as_str());
                let own = site.callees.is_empty().then_some(site.name.as_str());
                let mut names: Vec<&str> = behind.chain(callees).chain(own).collect();
                names.sort_unstable();
                names.dedup();
                for name in names {
                    sites.entry(name).or_default().push(at);
                }
            }
            sites
        });
        let entity = graph.entity(id);
        let class = graph.entity(entity.parent);
        let constructor =
            matches!(entity.name.as_str(), "__init__" | "__new__") && class.kind == Kind::Class;
        let name = if constructor { &class.name } else { &entity.name };
        let listed = sites.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        listed
            .iter()
            .map(|&at| &graph.sites[at as usize])
            .filter(move |site| self.possible_at(site).contains(&id))
    }

    /// One step along calls that are at least as sure as `doubt`, with the line of each call.
    fn step(&self, at: EntityId, way: Way, doubt: Tier, found: &mut Vec<(EntityId, Tier, u32)>) {
        match way {
            Way::Forward => {
                for site in self.sites_of(at) {
                    let certain =
                        site.callees.iter().map(|&callee| (callee, Tier::Certain, site.line));
                    found.extend(certain);
                    if doubt == Tier::Possible {
                        let possible = self.possible_at(site).into_iter();
                        found.extend(possible.map(|callee| (callee, Tier::Possible, site.line)));
                    }
                }
            }
            Way::Backward => {
                for edge in self.calls_to(at) {
                    let sites =
                        self.sites_of(edge.caller).filter(|site| site.callees.contains(&at));
                    found.extend(sites.map(|site| (site.caller, Tier::Certain, site.line)));
                }
                if doubt == Tier::Possible {
                    let sites = self.doubtful(at);
                    found.extend(sites.map(|site| (site.caller, Tier::Possible, site.line)));
                }
            }
        }
    }

    fn follow(&self, of: &[EntityId], way: Way, depth: u32, doubt: Tier) -> Vec<Reached> {
        let mut seen: FxHashSet<EntityId> = of.iter().copied().collect();
        let mut reached = Vec::new();
        let mut edge = of.to_vec();
        for depth in 1..=depth {
            let mut found = Vec::new();
            for member in edge.iter().flat_map(|&at| self.with_members(at)) {
                self.step(member, way, doubt, &mut found);
            }
            found.retain(|(id, ..)| !seen.contains(id));
            found.sort_unstable();
            edge.clear();
            for calls in found.chunk_by(|left, right| left.0 == right.0) {
                let (id, tier, _) = calls[0];
                let surest = calls.iter().take_while(|call| call.1 == tier);
                let lines = surest.map(|&(.., line)| line).collect();
                reached.push(Reached { depth, id, tier, lines });
                edge.push(id);
            }
            if edge.is_empty() {
                break;
            }
            seen.extend(&edge);
        }
        reached
    }

    /// Whether one method may run where another of its name was found. A constructor may not: classes
    /// are called by their own names.
    fn replaces(&self, found: EntityId, other: EntityId) -> bool {
        let graph = self.graph;
        if !graph.is_method(found) || !graph.is_method(other) {
            return false;
        }
        let name = graph.entity(found).name.as_str();
        if matches!(name, "__init__" | "__new__") {
            return false;
        }
        let (class, another) = (graph.entity(found).parent, graph.entity(other).parent);
        self.derives(another, class)
            || graph.entity(other).is_abstract && self.derives(class, another)
    }

    fn derives(&self, class: EntityId, base: EntityId) -> bool {
        let bases = &self.graph.bases;
        let from = bases.partition_point(|&(of, _)| of < class);
        bases[from..].iter().take_while(|&&(of, _)| of == class).any(|&(_, found)| found == base)
    }

    /// A shortest chain of calls from one of some definitions to one of others, both included, each with
    /// how sure the call of it is; empty without one. A chain that is certain goes before any other.
    /// Classes stand for their methods at both ends.
    pub fn path(&self, from: &[EntityId], to: &[EntityId]) -> Vec<(EntityId, Tier)> {
        match self.chain(from, to, Tier::Certain) {
            chain if chain.is_empty() => self.chain(from, to, Tier::Possible),
            chain => chain,
        }
    }

    fn chain(&self, from: &[EntityId], to: &[EntityId], doubt: Tier) -> Vec<(EntityId, Tier)> {
        let goals: FxHashSet<EntityId> = to.iter().flat_map(|&id| self.with_members(id)).collect();
        let mut before: FxHashMap<EntityId, (EntityId, Tier)> = FxHashMap::default();
        let mut queue: VecDeque<EntityId> =
            from.iter().flat_map(|&id| self.with_members(id)).collect();
        let starts: FxHashSet<EntityId> = queue.iter().copied().collect();
        while let Some(at) = queue.pop_front() {
            let mut steps = Vec::new();
            self.step(at, Way::Forward, doubt, &mut steps);
            steps.sort_unstable_by_key(|&(id, tier, _)| (tier, id));
            for (next, tier, _) in steps {
                if starts.contains(&next) || before.contains_key(&next) {
                    continue;
                }
                before.insert(next, (at, tier));
                if goals.contains(&next) {
                    let mut path = Vec::new();
                    let mut step = next;
                    while let Some(&(earlier, tier)) = before.get(&step) {
                        path.push((step, tier));
                        step = earlier;
                    }
                    path.push((step, Tier::Certain));
                    path.reverse();
                    return path;
                }
                queue.push_back(next);
            }
        }
        Vec::new()
    }

    /// Modules that a module imports (or that import it), to a depth.
    pub fn modules(&self, of: FileId, way: Way, depth: u32) -> Vec<(u32, FileId)> {
        let graph = self.graph;
        let reached = self.reach(&[graph.module(of).entity], depth, |at, found| {
            let module = graph.entity(at).module;
            found.extend(graph.imports.iter().filter_map(|edge| {
                let (near, far) = match way {
                    Way::Forward => (edge.from, edge.to),
                    Way::Backward => (edge.to, edge.from),
                };
                (near == module).then(|| graph.module(far).entity)
            }));
        });
        reached.into_iter().map(|r| (r.depth, graph.entity(r.id).module)).collect()
    }

    /// Everything that definitions need: what they use or call, bases included, to a depth.
    pub fn dependencies(&self, of: &[EntityId], way: Way, depth: u32) -> Vec<Reached> {
        let graph = self.graph;
        let mut within: FxHashMap<EntityId, Vec<EntityId>> = FxHashMap::default();
        for used in graph.uses.iter().filter(|used| !used.import) {
            let (near, far) = match way {
                Way::Forward => (used.within, used.target),
                Way::Backward => (used.target, used.within),
            };
            within.entry(near).or_default().push(far);
        }
        self.reach(of, depth, |at, found| {
            for member in self.with_members(at) {
                if let Some(used) = within.get(&member) {
                    found.extend(used.iter().copied().filter(|&far| !self.inside(far, at)));
                }
                match way {
                    Way::Forward => found.extend(self.calls_from(member).map(|edge| edge.callee)),
                    Way::Backward => found.extend(self.calls_to(member).map(|edge| edge.caller)),
                }
            }
            for &(class, base) in &graph.bases {
                match way {
                    Way::Forward if class == at => found.push(base),
                    Way::Backward if base == at => found.push(class),
                    _ => {}
                }
            }
        })
    }

    /// Where a definition is used, in order of place.
    pub fn uses(&self, of: EntityId) -> Vec<Use> {
        let uses = &self.graph.uses;
        let from = uses.partition_point(|used| used.target < of);
        uses[from..].iter().take_while(|used| used.target == of).copied().collect()
    }

    /// Classes that derive from a class, directly or not.
    pub fn subclasses(&self, of: EntityId) -> Vec<EntityId> {
        let mut found: Vec<EntityId> = self
            .graph
            .bases
            .iter()
            .filter(|&&(_, base)| base == of)
            .map(|&(class, _)| class)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The definition that a line stands in, the innermost.
    pub fn at_line(&self, module: FileId, line: u32) -> EntityId {
        let graph = self.graph;
        let mut best = graph.module(module).entity;
        let end = graph
            .modules
            .get(module.0 as usize + 1)
            .map_or(graph.entities.len(), |m| m.entity.0 as usize);
        for at in best.0 as usize..end {
            let entity = &graph.entities[at];
            let size = entity.end_line - entity.line;
            let known = graph.entity(best);
            if entity.line <= line && line <= entity.end_line && size <= known.end_line - known.line
            {
                best = EntityId(u32::try_from(at).unwrap_or(u32::MAX));
            }
        }
        best
    }

    fn with_members(&self, id: EntityId) -> Vec<EntityId> {
        let mut members = vec![id];
        if self.graph.entity(id).kind == Kind::Class {
            members.extend(self.graph.children(id));
        }
        members
    }

    fn inside(&self, id: EntityId, around: EntityId) -> bool {
        let mut at = id;
        loop {
            if at == around {
                return true;
            }
            let parent = self.graph.entity(at).parent;
            if parent == at {
                return false;
            }
            at = parent;
        }
    }

    fn reach(
        &self,
        from: &[EntityId],
        depth: u32,
        next: impl Fn(EntityId, &mut Vec<EntityId>),
    ) -> Vec<Reached> {
        let mut seen: FxHashSet<EntityId> = from.iter().copied().collect();
        let mut reached = Vec::new();
        let mut edge = from.to_vec();
        for depth in 1..=depth {
            let mut found = Vec::new();
            for &at in &edge {
                next(at, &mut found);
            }
            found.sort_unstable();
            found.dedup();
            found.retain(|&id| seen.insert(id));
            if found.is_empty() {
                break;
            }
            let (tier, lines) = (Tier::Certain, Vec::new());
            let near = found.iter().map(|&id| Reached { depth, id, tier, lines: lines.clone() });
            reached.extend(near);
            edge = found;
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: &[(&str, &str)] = &[
        (
            "app.py",
            "from shapes import Square\n\ndef main():\n    return Square(2).area()\n\nmain()\n",
        ),
        (
            "shapes.py",
            "class Shape:\n    def area(self):\n        return self.size()\n    def size(self): pass\n\n\
             class Square(Shape):\n    def __init__(self, side):\n        self.side = side\n    \
             def size(self):\n        return square(self.side)\n\ndef square(x):\n    return x * x\n",
        ),
    ];

    fn check(ask: impl Fn(&Queries<'_>) -> Vec<EntityId>, expected: &[&str]) {
        let graph = Graph::of_sources(SHAPES.iter().copied());
        let queries = Queries::new(&graph);
        let names: Vec<String> = ask(&queries).into_iter().map(|id| graph.qualified(id)).collect();
        assert_eq!(names, expected);
    }

    fn all(queries: &Queries<'_>, name: &str) -> Vec<EntityId> {
        match queries.find(name) {
            Lookup::Found(ids) => ids,
            other => panic!("{name}: {other:?}"),
        }
    }

    fn find(queries: &Queries<'_>, name: &str) -> EntityId {
        all(queries, name)[0]
    }

    fn ids(reached: Vec<Reached>) -> Vec<EntityId> {
        reached.into_iter().map(|reached| reached.id).collect()
    }

    #[test]
    fn names_resolve_exactly_then_by_suffix() {
        check(|q| vec![find(q, "shapes.Square.size")], &["shapes.Square.size"]);
        check(|q| vec![find(q, "Square.size")], &["shapes.Square.size"]);
        check(|q| vec![find(q, "shapes.py::Square::size")], &["shapes.Square.size"]);
        check(|q| vec![find(q, "app.py")], &["app"]);
        check(
            |q| match q.find("size") {
                Lookup::Ambiguous(ids) => ids,
                other => panic!("{other:?}"),
            },
            &["shapes.Shape.size", "shapes.Square.size"],
        );
        check(|q| if q.find("nothing") == Lookup::Missing { vec![] } else { panic!() }, &[]);
    }

    #[test]
    fn calls_are_followed_both_ways() {
        check(
            |q| ids(q.calls(&all(q, "main"), Way::Forward, 1)),
            &["shapes.Shape.area", "shapes.Square.__init__"],
        );
        check(
            |q| ids(q.calls(&all(q, "square"), Way::Backward, 9)),
            &["shapes.Square.size", "shapes.Shape.area", "app.main", "app"],
        );
        check(
            |q| {
                let path = q.path(&all(q, "app.py"), &all(q, "square"));
                path.into_iter().map(|(id, _)| id).collect()
            },
            &["app", "app.main", "shapes.Shape.area", "shapes.Square.size", "shapes.square"],
        );
    }

    #[test]
    fn classes_modules_and_uses_are_known() {
        check(|q| q.subclasses(find(q, "Shape")), &["shapes.Square"]);
        check(
            |q| {
                let graph = q.graph();
                let app = graph.entity(find(q, "app.py")).module;
                q.modules(app, Way::Forward, 1)
                    .into_iter()
                    .map(|(_, m)| graph.module(m).entity)
                    .collect()
            },
            &["shapes"],
        );
        check(
            |q| q.uses(find(q, "square")).into_iter().map(|u| u.within).collect(),
            &["shapes.Square.size"],
        );
        check(
            |q| ids(q.dependencies(&all(q, "Square"), Way::Forward, 1)),
            &["shapes.Shape", "shapes.square"],
        );
    }

    #[test]
    fn imports_of_a_name_are_uses_of_it() {
        let graph = Graph::of_sources([
            ("pkg/__init__.py", ""),
            ("pkg/a.py", "def base(): pass\n"),
            ("m.py", "import pkg.a\nfrom pkg.a import (\n    base as bb,\n)\n\nbb()\n"),
            ("n.py", "def f():\n    from pkg import a\n    from pkg.a import *\n"),
        ]);
        let queries = Queries::new(&graph);
        let used = |name| -> Vec<String> {
            let uses = queries.uses(find(&queries, name)).into_iter();
            uses.map(|used| format!("{}:{}", graph.qualified(used.within), used.line)).collect()
        };
        assert_eq!(used("pkg.a.base"), ["m:3", "m:6"]);
        assert_eq!(used("pkg.a"), ["m:1", "m:2", "n.f:2", "n.f:3"]);
        let base = all(&queries, "pkg.a.base");
        assert_eq!(ids(queries.dependencies(&base, Way::Backward, 1)), all(&queries, "m.py"));
    }

    #[test]
    fn what_a_signature_names_is_needed() {
        let source = "def deco(f): return f\nclass Ty: pass\nclass Ret: pass\ndef default(): pass\n\
                      class Of: pass\n\
                      @deco\ndef user(a: Ty, b=default(), *c: 'Of') -> Ret:\n    def inner(x: Ty): pass\n";
        let graph = Graph::of_sources([("m.py", source)]);
        let queries = Queries::new(&graph);
        let needed = |name, way| -> Vec<String> {
            let found = queries.dependencies(&all(&queries, name), way, 1);
            found.into_iter().map(|reached| graph.qualified(reached.id)).collect()
        };
        let named = ["m.deco", "m.Ty", "m.Ret", "m.default", "m.Of"];
        assert_eq!(needed("user", Way::Forward), named);
        assert_eq!(needed("Ret", Way::Backward), ["m.user"]);
        assert_eq!(needed("user.inner", Way::Forward), ["m.Ty"]);
    }
}
