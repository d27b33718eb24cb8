//! Calls that are followed: what calls something or is called by it, to a depth, and how a chain of them
//! leads from one definition to another.
//!
//! Certain calls are edges of the graph; possible ones are made here, of names and of inheritance.

use std::{
    cell::{OnceCell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::{Queries, Reached, Way};
use crate::graph::{CallEdge, CallSite, EntityId, Tier, Unresolved};

/// A call that may happen: by name or by inheritance alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PossibleCall {
    /// The edge.
    #[serde(flatten)]
    pub edge: CallEdge,
    /// That it is not certain.
    pub tier: Tier,
}

/// The largest number of definitions that a name may fit: beyond it, the name is no evidence.
const FITTING: usize = 32;

/// A call that is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    /// The entity that the call leads to.
    to: EntityId,
    tier: Tier,
    caller: EntityId,
    line: u32,
}

/// The result of one level of the search.
#[derive(Debug, Default)]
struct SearchLevel {
    steps: Vec<Step>,
    /// Sites that were not followed.
    vague: FxHashSet<u32>,
}

/// The facts that determine the possible callees of a site: its certain callees, the unresolved
/// attributes, its name, true for an attribute, and true for an external callee.
type Deciding<'g> = (&'g [EntityId], &'g [String], &'g str, bool, bool);

/// The possible callees of sites, computed once for all equivalent sites and indexed by callee.
#[derive(Debug, Default)]
pub(super) struct Doubts<'g> {
    /// Nothing where that is too much.
    alike: RefCell<FxHashMap<Deciding<'g>, Option<Rc<[EntityId]>>>>,
    turned: OnceCell<Turned<'g>>,
}

#[derive(Debug, Default)]
struct Turned<'g> {
    /// Sites that may call a definition, but do not for certain.
    into: FxHashMap<EntityId, Vec<u32>>,
    /// Sites that are not followed, by the names that they say.
    vague: FxHashMap<&'g str, Vec<u32>>,
}

impl<'g> Queries<'g> {
    /// Everything that calls definitions (or is called by them), to a depth. A class stands for its
    /// methods as well.
    pub fn calls(&self, of: &[EntityId], way: Way, depth: u32) -> Vec<Reached> {
        self.follow(of, way, depth, Tier::Certain).0
    }

    /// Returns possible callers (or callees) up to a depth, and the number of skipped call sites.
    ///
    /// An unresolved call may reach every definition of the name. A resolved call may reach
    /// overrides of the callee, and the methods that the callee overrides if those are abstract: an
    /// annotation promises no more than a base class. A call site is skipped if it is unresolved
    /// and its name fits too many definitions.
    pub fn possible_calls(&self, of: &[EntityId], way: Way, depth: u32) -> (Vec<Reached>, usize) {
        let certain = self.calls(of, way, depth);
        let certain: FxHashSet<EntityId> = certain.into_iter().map(|reached| reached.id).collect();
        let (mut found, vague) = self.follow(of, way, depth, Tier::Possible);
        found.retain(|reached| !certain.contains(&reached.id));
        found.iter_mut().for_each(|reached| reached.tier = Tier::Possible);
        (found, vague)
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
                match self.plausible_at(site) {
                    None => left_out += 1,
                    Some(possible) => made.extend(possible.iter().map(|&to| (to, site.line))),
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

    /// The sites in a definition, with their indices.
    fn sites_of(&self, id: EntityId) -> impl Iterator<Item = (u32, &'g CallSite)> + use<'g> {
        let sites = &self.graph.sites;
        let from = sites.partition_point(|site| site.caller < id);
        let all = (u32::try_from(from).unwrap_or(u32::MAX)..).zip(&sites[from..]);
        all.take_while(move |(_, site)| site.caller == id)
    }

    /// Returns the possible callees of a site, without the certain ones.
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

    /// The same, unless it is too much to say anything.
    fn plausible_at(&self, site: &'g CallSite) -> Option<Rc<[EntityId]>> {
        let outside = matches!(site.unresolved, Some(Unresolved::Outside(_)));
        let deciding = (&*site.callees, &*site.behind, &*site.name, site.attribute, outside);
        let mut alike = self.doubts.alike.borrow_mut();
        let one = alike.entry(deciding).or_insert_with(|| {
            let possible = self.possible_at(site);
            (possible.len() <= FITTING).then(|| possible.into())
        });
        one.clone()
    }

    fn turned(&self) -> &Turned<'g> {
        self.doubts.turned.get_or_init(|| {
            let mut turned = Turned::default();
            for (at, site) in (0u32..).zip(&self.graph.sites) {
                match self.plausible_at(site) {
                    Some(possible) => {
                        for &to in possible.iter() {
                            turned.into.entry(to).or_default().push(at);
                        }
                    }
                    None => {
                        for name in self.said_at(site) {
                            turned.vague.entry(name).or_default().push(at);
                        }
                    }
                }
            }
            turned
        })
    }

    /// The names of what a site may call, as they are said there.
    fn said_at(&self, site: &'g CallSite) -> Vec<&'g str> {
        let graph = self.graph;
        let behind = site.behind.iter().map(String::as_str);
        let callees = site.callees.iter().map(|&callee| graph.entity(callee).name.as_str());
        let own = site.callees.is_empty().then_some(site.name.as_str());
        let mut names: Vec<&str> = behind.chain(callees).chain(own).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The names that may mean a definition: its own, and those of the classes that it makes.
    fn names_of(&self, id: EntityId) -> Vec<&'g str> {
        let graph = self.graph;
        let entity = graph.entity(id);
        let mut names = vec![entity.name.as_str()];
        if graph.is_method(id) && matches!(names[0], "__init__" | "__new__") {
            let below = graph.bases.iter().filter(|&&(_, base)| base == entity.parent);
            let classes = below.map(|&(class, _)| class).chain([entity.parent]);
            let made = classes.filter(|&class| self.names.constructor(class).contains(&id));
            names.extend(made.map(|class| graph.entity(class).name.as_str()));
        }
        names
    }

    /// One step along calls that are at least as sure as `doubt`.
    fn step(&self, at: EntityId, way: Way, doubt: Tier, found: &mut SearchLevel) {
        let made =
            |site: &CallSite, to, tier| Step { to, tier, caller: site.caller, line: site.line };
        let SearchLevel { steps, vague } = found;
        match way {
            Way::Forward => {
                for (index, site) in self.sites_of(at) {
                    steps.extend(site.callees.iter().map(|&to| made(site, to, Tier::Certain)));
                    if doubt == Tier::Certain {
                        continue;
                    }
                    match self.plausible_at(site) {
                        Some(possible) => {
                            steps.extend(possible.iter().map(|&to| made(site, to, doubt)));
                        }
                        None => {
                            vague.insert(index);
                        }
                    }
                }
            }
            Way::Backward => {
                for edge in self.calls_to(at) {
                    let sites = self.sites_of(edge.caller).map(|(_, site)| site);
                    let calling = sites.filter(|site| site.callees.contains(&at));
                    steps.extend(calling.map(|site| made(site, site.caller, Tier::Certain)));
                }
                if doubt == Tier::Certain {
                    return;
                }
                let turned = self.turned();
                let sites = turned.into.get(&at).into_iter().flatten();
                let sites = sites.map(|&index| &self.graph.sites[index as usize]);
                steps.extend(sites.map(|site| made(site, site.caller, doubt)));
                for name in self.names_of(at) {
                    vague.extend(turned.vague.get(name).into_iter().flatten());
                }
            }
        }
    }

    /// Returns the entities that are reached, and the number of call sites that were not followed.
    fn follow(&self, of: &[EntityId], way: Way, depth: u32, doubt: Tier) -> (Vec<Reached>, usize) {
        let mut seen: FxHashSet<EntityId> = of.iter().copied().collect();
        let mut reached = Vec::new();
        let mut edge = of.to_vec();
        let mut found = SearchLevel::default();
        for depth in 1..=depth {
            // A method may stand here beside its class, which is called itself if it has no constructor.
            let mut members: Vec<EntityId> =
                edge.iter().flat_map(|&at| self.with_members(at)).collect();
            members.sort_unstable();
            members.dedup();
            found.steps.clear();
            for member in members {
                self.step(member, way, doubt, &mut found);
            }
            found.steps.retain(|step| !seen.contains(&step.to));
            found.steps.sort_unstable();
            edge.clear();
            for steps in found.steps.chunk_by(|left, right| left.to == right.to) {
                let Step { to: id, tier, .. } = steps[0];
                let surest = steps.iter().take_while(|step| step.tier == tier);
                let calls = surest.map(|step| (step.caller, step.line)).collect();
                reached.push(Reached { depth, id, tier, calls });
                edge.push(id);
            }
            if edge.is_empty() {
                break;
            }
            seen.extend(&edge);
        }
        (reached, found.vague.len())
    }

    /// Returns true if the method `other` may be executed at a call that resolves to `found`. A
    /// constructor never replaces another one: classes are called by their own names.
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

    /// Returns a shortest chain of calls between two sets of definitions, both ends included, each
    /// with the certainty of the call; empty without one. A certain chain precedes any other.
    ///
    /// A class includes its methods at both ends. Also returns the number of call sites that were
    /// not followed because their names fit too many definitions.
    pub fn path(&self, from: &[EntityId], to: &[EntityId]) -> (Vec<(EntityId, Tier)>, usize) {
        match self.chain(from, to, Tier::Certain) {
            (chain, _) if chain.is_empty() => self.chain(from, to, Tier::Possible),
            certain => certain,
        }
    }

    fn chain(
        &self,
        from: &[EntityId],
        to: &[EntityId],
        doubt: Tier,
    ) -> (Vec<(EntityId, Tier)>, usize) {
        let goals: FxHashSet<EntityId> = to.iter().flat_map(|&id| self.with_members(id)).collect();
        let mut before: FxHashMap<EntityId, (EntityId, Tier)> = FxHashMap::default();
        let mut queue: VecDeque<EntityId> =
            from.iter().flat_map(|&id| self.with_members(id)).collect();
        let starts: FxHashSet<EntityId> = queue.iter().copied().collect();
        let mut found = SearchLevel::default();
        while let Some(at) = queue.pop_front() {
            found.steps.clear();
            self.step(at, Way::Forward, doubt, &mut found);
            found.steps.sort_unstable_by_key(|step| (step.tier, step.to));
            for &Step { to: next, tier, .. } in &found.steps {
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
                    return (path, found.vague.len());
                }
                queue.push_back(next);
            }
        }
        (Vec::new(), found.vague.len())
    }
}
