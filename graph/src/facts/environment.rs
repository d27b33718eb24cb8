//! Tracks which version of a variable a read sees, by Python's scoping rules and the order of
//! statements.
//!
//! Each assignment creates a version; branches merge versions, loops feed them back. Nothing here
//! reads syntax.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Name, Slot};

/// Index of a scope.
pub(super) type ScopeId = u32;
/// Index of a variable of a scope.
pub(super) type Variable = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeKind {
    Module,
    Class,
    Function,
    Comprehension,
}

#[derive(Debug)]
pub(super) struct VersionScope {
    pub kind: ScopeKind,
    pub parent: Option<ScopeId>,
    pub variables: FxHashMap<Name, Variable>,
    /// Reads of names that were not bound yet: what they saw is settled when the scope is complete.
    pub pending: FxHashMap<Name, PendingRead>,
    /// Names that functions inside it declare as `nonlocal`: any call may have bound them anew.
    pub shared: Vec<Name>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct PendingRead {
    pub slot: Slot,
    pub reads: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Own,
    Global,
    Nonlocal,
}

#[derive(Debug)]
pub(super) struct ScopedVariable {
    pub owner: Owner,
    /// The version that a read sees now; none where it is unbound.
    pub current: Slot,
    /// All versions, for readers that run at an unknown time.
    pub summary: Slot,
    pub versions: SmallVec<[Slot; 4]>,
    /// Imports that bound it.
    pub imports: Vec<u32>,
    /// A `def` or `class` bound it.
    pub defined: bool,
}

/// Final versions of the variables that a branch changed, and whether its end is reached.
#[derive(Debug)]
pub(super) struct Branch {
    pub changes: Vec<(Variable, Slot)>,
    pub reached: bool,
}

#[derive(Debug, Default)]
pub(super) struct VersionTable {
    pub scopes: Vec<VersionScope>,
    pub symbols: Vec<ScopedVariable>,
    log: Vec<(Variable, Slot)>,
    assigned: Vec<(Variable, Slot)>,
}

/// Positions in the environment's logs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    log: usize,
    assigned: usize,
}

impl VersionTable {
    pub(super) fn open(&mut self, kind: ScopeKind, parent: Option<ScopeId>) -> ScopeId {
        let id = u32::try_from(self.scopes.len()).unwrap_or(u32::MAX);
        let (variables, pending) = (FxHashMap::default(), FxHashMap::default());
        self.scopes.push(VersionScope { kind, parent, variables, pending, shared: Vec::new() });
        id
    }

    /// The variable of a name in a scope, made if there is none.
    pub(super) fn variable(&mut self, scope: ScopeId, name: Name) -> Variable {
        let next = u32::try_from(self.symbols.len()).unwrap_or(u32::MAX);
        let variable = *self.scopes[scope as usize].variables.entry(name).or_insert(next);
        if variable == next {
            self.symbols.push(ScopedVariable {
                owner: Owner::Own,
                current: Slot::NONE,
                summary: Slot::NONE,
                versions: SmallVec::new(),
                imports: Vec::new(),
                defined: false,
            });
        }
        variable
    }

    pub(super) fn find(&self, scope: ScopeId, name: Name) -> Option<Variable> {
        self.scopes[scope as usize].variables.get(&name).copied()
    }

    pub(super) fn bind(&mut self, variable: Variable, slot: Slot) {
        let symbol = &mut self.symbols[variable as usize];
        self.log.push((variable, symbol.current));
        symbol.current = slot;
        symbol.versions.push(slot);
        self.assigned.push((variable, slot));
    }

    /// Replaces the visible version without counting as an assignment.
    pub(super) fn show(&mut self, variable: Variable, slot: Slot) {
        let symbol = &mut self.symbols[variable as usize];
        self.log.push((variable, symbol.current));
        symbol.current = slot;
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { log: self.log.len(), assigned: self.assigned.len() }
    }

    /// Undoes the changes since `mark` and returns them.
    pub(super) fn roll_back(&mut self, mark: Mark, reached: bool) -> Branch {
        let mut changes: Vec<(Variable, Slot)> = Vec::new();
        for (variable, old) in self.log.drain(mark.log..).rev() {
            let symbol = &mut self.symbols[variable as usize];
            changes.push((variable, symbol.current));
            symbol.current = old;
        }
        // Of the entries for one variable the first holds its final version.
        changes.sort_by_key(|&(variable, _)| variable);
        changes.dedup_by_key(|&mut (variable, _)| variable);
        Branch { changes, reached }
    }

    /// Everything assigned since `mark`, sorted by variable.
    pub(super) fn assigned_since(&self, mark: Mark) -> Vec<(Variable, Slot)> {
        let mut assigned = self.assigned[mark.assigned..].to_vec();
        assigned.sort_unstable();
        assigned.dedup();
        assigned
    }
}

/// Returns the versions that each changed variable may have after alternatives, sorted by variable.
/// `before` returns the version of a branch that did not change it.
pub(super) fn join(
    branches: &[Branch],
    before: impl Fn(Variable) -> Slot,
) -> Vec<(Variable, Vec<Slot>)> {
    let reached: Vec<&Branch> = branches.iter().filter(|branch| branch.reached).collect();
    // Where no branch ends normally what follows is unreachable, and any view will do.
    let live: Vec<&Branch> = if reached.is_empty() { branches.iter().collect() } else { reached };
    let mut touched: Vec<Variable> = live
        .iter()
        .flat_map(|branch| branch.changes.iter().map(|&(variable, _)| variable))
        .collect();
    touched.sort_unstable();
    touched.dedup();
    touched
        .into_iter()
        .map(|variable| {
            let mut versions: Vec<Slot> = live
                .iter()
                .map(|branch| {
                    match branch.changes.binary_search_by_key(&variable, |&(changed, _)| changed) {
                        Ok(at) => branch.changes[at].1,
                        Err(_) => before(variable),
                    }
                })
                .filter(|slot| !slot.is_none())
                .collect();
            versions.sort_unstable();
            versions.dedup();
            (variable, versions)
        })
        .collect()
}
