//! Imports of all names of a module from outside: which of them stay, and what is imported name by name instead.

use super::*;
use crate::resolve::Resolver;

impl Naming {
    /// Whether such an import stays, and which names of it are imported one by one: those that something else has as
    /// well, and all of them where one would take a builtin's name from everybody.
    pub(crate) fn by_star(
        &self,
        resolver: &Resolver<'_>,
        (module, stmt): (ModuleId, &Stmt),
        names: Vec<(Name, Name)>,
    ) -> (bool, Vec<(Name, Name)>) {
        let is_alone = |(local, flat): &&(Name, Name)| {
            local == flat && !self.collisions.contains_key(local.as_str())
        };
        let comes = |name: &&Name| {
            let bindings = resolver.bindings(module, name);
            bindings.is_some_and(|all| all.iter().any(|one| one.at == stmt.start()))
        };
        let hides = || {
            let mut brought = resolver.names(module).into_iter().filter(comes);
            brought.any(|name| scope::is_builtin(name))
        };
        let (stay, single): (Vec<_>, Vec<_>) = names.iter().partition(is_alone);
        let asked = stay.iter().any(|(local, _)| local == "*");
        if asked || single.is_empty() && !hides() {
            return (true, single.into_iter().cloned().collect());
        }
        (false, names)
    }
}
