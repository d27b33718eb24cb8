//! Imports of all names of a module from outside: whether they stay, or what is needed of them is imported name by name.
//! A name whose origin no run shows keeps the star.

use super::*;

impl Naming {
    /// Whether such an import gives way: it would take a name from something else that the gist has, or a builtin's from
    /// everybody.
    pub(crate) fn replaces_star(
        &self,
        selection: &Selection<'_>,
        (module, stmt): (ModuleId, &Stmt),
        names: &[(Name, Name)],
    ) -> bool {
        if names.iter().any(|(local, _)| local == "*") {
            return false;
        }
        let program = &selection.program;
        let comes = |name: &&Name| {
            let bindings = program.resolver.bindings(module, name);
            bindings.is_some_and(|all| all.iter().any(|one| one.at == stmt.start()))
        };
        let own = selection.chosen.keys().flat_map(|unit| &program.get(*unit).binds);
        let taken: FxHashSet<&Name> =
            own.chain(&self.gist_names).chain(self.objects.values()).collect();
        let mut brought = program.resolver.names(module).into_iter().filter(comes);
        let is_contested = |(local, flat): &(Name, Name)| {
            local != flat || self.collisions.contains_key(local.as_str())
        };
        names.iter().any(is_contested)
            || brought.any(|name| taken.contains(name) || scope::is_builtin(name))
    }
}
