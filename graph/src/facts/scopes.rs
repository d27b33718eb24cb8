//! Variables of scopes: read, written, captured and merged where branches meet.

use super::{
    Name, Op, Slot,
    draw::{Drawing, UNKNOWN},
    environment::{Branch, Owner, PendingRead, ScopeId, ScopeKind, Variable, join},
};

impl<'a> Drawing<'a> {
    /// The slot through which other scopes see a variable of a complete scope.
    pub(super) fn exported(&mut self, variable: Variable) -> Slot {
        let symbol = &self.environment.symbols[variable as usize];
        if !symbol.summary.is_none() {
            return symbol.summary;
        }
        let current = symbol.current;
        let slot = self.fresh();
        let symbol = &mut self.environment.symbols[variable as usize];
        symbol.summary = slot;
        if current.is_none() {
            for version in symbol.versions.clone() {
                self.copy(version, slot);
            }
        } else {
            self.copy(current, slot);
        }
        slot
    }

    /// All versions of a function's variable, for functions inside it.
    pub(super) fn captured(&mut self, variable: Variable) -> Slot {
        let symbol = &self.environment.symbols[variable as usize];
        match symbol.versions.as_slice() {
            [only] if symbol.summary.is_none() => *only,
            _ => self.summary(variable),
        }
    }

    /// A slot of its own for all versions of a function's variable.
    pub(super) fn summary(&mut self, variable: Variable) -> Slot {
        let symbol = &self.environment.symbols[variable as usize];
        if !symbol.summary.is_none() {
            return symbol.summary;
        }
        let versions = symbol.versions.clone();
        let slot = self.fresh();
        self.environment.symbols[variable as usize].summary = slot;
        for version in versions {
            self.copy(version, slot);
        }
        slot
    }

    /// Connects the reads that had to wait until a scope was complete.
    pub(super) fn settle(&mut self, scope: ScopeId) {
        let mut pending: Vec<(Name, PendingRead)> =
            std::mem::take(&mut self.environment.scopes[scope as usize].pending)
                .into_iter()
                .collect();
        pending.sort_unstable_by_key(|&(name, _)| name);
        for (name, PendingRead { slot, reads }) in pending {
            let own = self.environment.find(scope, name).filter(|&variable| {
                self.environment.symbols[variable as usize].owner == Owner::Own
            });
            if let Some(variable) = own {
                let seen =
                    if scope == 0 { self.exported(variable) } else { self.captured(variable) };
                self.copy(seen, slot);
                self.used(variable, reads);
                continue;
            }
            match self.outer(scope, name) {
                Some((source, variable)) => {
                    self.copy(source, slot);
                    self.used(variable, reads);
                }
                None => {
                    self.op(Op::Free(name, slot));
                    if let Err(at) = self.facts.free.binary_search(&name) {
                        self.facts.free.insert(at, name);
                    }
                }
            }
        }
    }

    /// A name of the complete scopes around `scope`.
    fn outer(&mut self, scope: ScopeId, name: Name) -> Option<(Slot, Variable)> {
        let mut next = self.environment.scopes[scope as usize].parent;
        while let Some(at) = next {
            let (kind, parent) = {
                let scope = &self.environment.scopes[at as usize];
                (scope.kind, scope.parent)
            };
            next = parent;
            if kind == ScopeKind::Class {
                continue;
            }
            let Some(variable) = self.environment.find(at, name) else { continue };
            match self.environment.symbols[variable as usize].owner {
                Owner::Own if kind == ScopeKind::Module => {
                    return Some((self.exported(variable), variable));
                }
                Owner::Own => return Some((self.captured(variable), variable)),
                Owner::Global => {
                    let variable = self.environment.find(0, name)?;
                    return Some((self.exported(variable), variable));
                }
                Owner::Nonlocal => {}
            }
        }
        None
    }

    /// Counts a read of what imports bound.
    pub(super) fn used(&mut self, variable: Variable, reads: u32) {
        let symbol = &self.environment.symbols[variable as usize];
        for &import in &symbol.imports {
            self.facts.uses[import as usize] += reads;
        }
    }

    /// The value that a name has here, and whether it may denote a definition.
    pub(super) fn read(&mut self, name: Name) -> (Slot, bool) {
        let mut scope = self.scope;
        loop {
            let kind = self.environment.scopes[scope as usize].kind;
            if let Some(variable) = self.environment.find(scope, name) {
                let symbol = &self.environment.symbols[variable as usize];
                let notable =
                    kind != ScopeKind::Function || symbol.defined || !symbol.imports.is_empty();
                match symbol.owner {
                    Owner::Own => {
                        let (current, summary) = (symbol.current, symbol.summary);
                        if !current.is_none() {
                            let shared =
                                self.environment.scopes[scope as usize].shared.contains(&name);
                            self.used(variable, 1);
                            return (if shared { summary } else { current }, notable);
                        }
                    }
                    Owner::Global => {
                        let variable = self.environment.variable(0, name);
                        self.used(variable, 1);
                        return (self.exported(variable), true);
                    }
                    Owner::Nonlocal => {}
                }
            }
            let parent = self.environment.scopes[scope as usize].parent;
            match (kind, parent) {
                // These run where they stand, so they see what the code around them sees now.
                (ScopeKind::Comprehension, Some(around)) => scope = around,
                (ScopeKind::Class, Some(around)) => {
                    scope = around;
                    while self.environment.scopes[scope as usize].kind == ScopeKind::Class {
                        match self.environment.scopes[scope as usize].parent {
                            Some(further) => scope = further,
                            None => break,
                        }
                    }
                }
                _ => break,
            }
        }
        let next = self.facts.slots;
        let pending = self.environment.scopes[scope as usize]
            .pending
            .entry(name)
            .or_insert(PendingRead { slot: Slot(next), reads: 0 });
        pending.reads += 1;
        let slot = pending.slot;
        if slot.0 == next {
            self.facts.slots += 1;
        }
        (slot, true)
    }

    /// Binds a name in the current scope.
    pub(super) fn write(&mut self, name: Name, slot: Slot) -> Variable {
        let mut scope = self.scope;
        // Walrus targets inside a comprehension belong to the code around it; its own targets are
        // bound with `write_in`.
        while self.environment.scopes[scope as usize].kind == ScopeKind::Comprehension {
            match self.environment.scopes[scope as usize].parent {
                Some(around) => scope = around,
                None => break,
            }
        }
        self.write_in(scope, name, slot)
    }

    pub(super) fn write_in(&mut self, scope: ScopeId, name: Name, slot: Slot) -> Variable {
        let variable = self.environment.variable(scope, name);
        match self.environment.symbols[variable as usize].owner {
            Owner::Own => {
                if self.environment.scopes[scope as usize].shared.contains(&name) {
                    let summary = self.summary(variable);
                    self.copy(slot, summary);
                }
                self.environment.bind(variable, slot);
                variable
            }
            Owner::Global => {
                let global = self.environment.variable(0, name);
                let export = self.exported(global);
                self.copy(slot, export);
                global
            }
            Owner::Nonlocal => {
                if let Some((_, outer)) = self.outer(scope, name) {
                    let summary = self.summary(outer);
                    self.copy(slot, summary);
                }
                variable
            }
        }
    }

    /// Makes the versions after alternatives visible.
    pub(super) fn merge(&mut self, branches: &[Branch]) {
        let merged = join(branches, |v| self.environment.symbols[v as usize].current);
        for (variable, versions) in merged {
            let slot = self.union(&versions);
            self.environment.show(variable, slot);
        }
        self.unreachable = branches.iter().all(|branch| !branch.reached);
    }

    /// One slot that holds what all of these hold.
    pub(super) fn union(&mut self, versions: &[Slot]) -> Slot {
        match versions {
            [] => UNKNOWN,
            [only] => *only,
            _ => {
                let slot = self.fresh();
                for &version in versions {
                    self.copy(version, slot);
                }
                slot
            }
        }
    }
}
