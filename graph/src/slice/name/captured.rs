//! Finds the imported names that are variables separate from the one that they were imported from:
//!
//! ```python
//! from .state import counter     # `bump` rebinds the `counter` of state, not this one
//! from .state import bump
//! ```
//!
//! In one file both would be the same global.

use std::{cell::RefCell, collections::BTreeMap};

use ruff_python_ast::{Stmt, name::Name};
use rustc_hash::FxHashSet;

use super::Referent;
use crate::{
    module::ModuleId,
    resolve::{BindingKind, Target},
    slice::{program::Moment, scan::GlobalUsage, select::Selection},
};

/// A global of a module.
type Global = (ModuleId, Name);

/// The imported names that stay separate variables, each with the global that it copies and the moment of the import.
#[derive(Debug, Default)]
pub(super) struct CapturedGlobals {
    rebound: FxHashSet<Global>,
    found: RefCell<BTreeMap<Referent, (Referent, Moment)>>,
}

impl CapturedGlobals {
    /// Collects the globals that kept functions rebind.
    pub(super) fn new(selection: &Selection<'_>) -> Self {
        let mut rebound = FxHashSet::default();
        for (id, chosen) in &selection.chosen {
            let module = selection.program.get(*id).module;
            let stores = chosen.scan.references.iter().filter(|one| {
                one.late
                    && !one.dead
                    && matches!(one.usage, GlobalUsage::Store | GlobalUsage::Augment)
            });
            rebound.extend(stores.map(|one| (module, one.name.clone())));
        }
        Self { rebound, found: RefCell::default() }
    }

    /// Returns the variable that a module's global names. It is the import's own variable if a function rebinds it or
    /// its source, else `target`.
    pub(super) fn variable(
        &self,
        selection: &Selection<'_>,
        module: ModuleId,
        name: &Name,
        target: Target,
    ) -> Target {
        let Target::Own(home, own) = &target else { return target };
        if self.rebound.is_empty() || (*home, own) == (module, name) {
            return target;
        }
        let program = &selection.program;
        let Some([binding]) = program.resolver.bindings(module, name) else { return target };
        let BindingKind::From { module: from, name: attribute } = &binding.kind else {
            return target;
        };
        let Some(unit) = program.unit_at(module, binding.at).map(|id| program.get(id)) else {
            return target;
        };
        let Some(from) = program.modules.find(from).filter(|from| *from != module) else {
            return target;
        };
        if !matches!(unit.stmt, Stmt::ImportFrom(_)) {
            return target;
        }
        let source = self.variable(selection, from, attribute, target.clone());
        let Target::Own(there, theirs) = &source else { return target };
        let is_rebound = |global: &Global| self.rebound.contains(global);
        if !is_rebound(&(module, name.clone())) && !is_rebound(&(*there, theirs.clone())) {
            return source;
        }
        let source = Referent::Own(*there, theirs.clone());
        self.found.borrow_mut().insert(Referent::Own(module, name.clone()), (source, unit.moment));
        Target::Own(module, name.clone())
    }

    /// Returns the separate variables that [`Self::variable`] recorded, each with its source and the moment
    /// of the import.
    pub(super) fn into_found(self) -> BTreeMap<Referent, (Referent, Moment)> {
        self.found.into_inner()
    }
}
