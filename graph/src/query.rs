//! Queries of a graph: the definitions of a name, callers and callees, dependencies, paths.
//!
//! Answers are data, sorted and complete; the callers limit them for a reader.

mod calls;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::{
    facts::EntityKind,
    graph::{CallEdge, EntityId, FileId, Graph, NameIndex, Tier, Use},
};

use calls::Doubts;

pub use calls::PossibleCall;

/// The result of looking a name up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// One thing, by all definitions of it in one file: overloads, a property's functions, branches.
    Found(Vec<EntityId>),
    /// Several things, sorted.
    Ambiguous(Vec<EntityId>),
    /// Nothing.
    Missing,
}

/// The direction in which edges are followed.
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
    /// The entity that was reached.
    pub id: EntityId,
    /// `Certain` if a path of certain calls leads to it, otherwise `Possible`.
    pub tier: Tier,
    /// Each call that is the last step: who calls, and on which line of their file.
    pub calls: Vec<(EntityId, u32)>,
}

/// A graph with what its queries need at hand.
#[derive(Debug)]
pub struct Queries<'g> {
    graph: &'g Graph,
    names: NameIndex,
    into: Vec<Vec<u32>>,
    doubts: Doubts<'g>,
}

impl<'g> Queries<'g> {
    /// Prepares a graph for queries.
    pub fn new(graph: &'g Graph) -> Self {
        let mut into = vec![Vec::new(); graph.entities.len()];
        for (at, edge) in (0u32..).zip(&graph.calls) {
            into[edge.callee.0 as usize].push(at);
        }
        Self { graph, names: NameIndex::new(graph), into, doubts: Doubts::default() }
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

    /// Returns the uses of a definition, in order of place.
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
        if self.graph.entity(id).kind == EntityKind::Class {
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
            let (tier, calls) = (Tier::Certain, Vec::new());
            let near = found.iter().map(|&id| Reached { depth, id, tier, calls: calls.clone() });
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
                let (path, _) = q.path(&all(q, "app.py"), &all(q, "square"));
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
