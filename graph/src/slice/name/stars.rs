//! Imports of all names of a module from outside: whether they stay, or what is needed of them is imported name by name.
//! A name whose origin no run shows keeps the star.

use ruff_python_ast::{Stmt, name::Name};
use ruff_text_size::Ranged;
use rustc_hash::FxHashMap;

use super::Naming;
use crate::slice::{program::UnitId, select::Selection};

/// The owner of each name of the gist: the module of a star import, or `None` for any other
/// binding.
type Owners<'a> = FxHashMap<&'a Name, Option<&'a str>>;

/// The names that the gist's statements bind.
pub(crate) fn owners<'a>(naming: &'a Naming, selection: &'a Selection<'_>) -> Owners<'a> {
    let program = &selection.program;
    let own = selection.chosen.keys().flat_map(|unit| &program.get(*unit).binds);
    let own = own.chain(&naming.gist_names).chain(naming.objects.values());
    let mut owners: Owners<'a> = own.map(|name| (name, None)).collect();
    for ((unit, _), names) in &naming.imports {
        let star = starred(program.get(*unit).stmt);
        for (flat, _) in names {
            let owner = owners.entry(flat).or_insert(star);
            *owner = owner.filter(|owner| star == Some(*owner));
        }
    }
    owners
}

/// The module whose names a statement imports all.
pub(crate) fn starred(stmt: &Stmt) -> Option<&str> {
    let import = stmt.as_import_from_stmt()?;
    let is_star = import.names.iter().any(|alias| &alias.name == "*");
    import.module.as_ref().filter(|_| is_star).map(|module| module.as_str())
}

impl Naming {
    /// Returns true if explicit imports must replace a star import. The star would shadow another
    /// name of the gist, or a builtin.
    pub(crate) fn replaces_star(
        &self,
        selection: &Selection<'_>,
        unit: UnitId,
        names: &[(Name, Name)],
        owners: &Owners<'_>,
    ) -> bool {
        if names.iter().any(|(local, _)| local == "*") {
            return false;
        }
        let program = &selection.program;
        let unit = program.get(unit);
        let (star, at) = (starred(unit.stmt), unit.stmt.start());
        let bindings = |name: &str| program.resolver.bindings(unit.module, name);
        // What the module held and no statement of its binds may have come by this one.
        let held = program.trace.modules.get(&program.modules.get(unit.module).name);
        let mut brought = held.into_iter().flat_map(|held| held.names.keys()).filter(|name| {
            !name.starts_with('_')
                && bindings(name).is_none_or(|all| all.iter().any(|one| one.at == at))
        });
        let is_contested = |(local, flat): &(Name, Name)| {
            local != flat || self.collisions.contains_key(local.as_str())
        };
        let takes = |name: &String| {
            let owner = owners.get(&Name::new(name));
            owner.is_some_and(|owner| *owner != star) || program.is_builtin(name)
        };
        names.iter().any(is_contested) || brought.any(takes)
    }
}
