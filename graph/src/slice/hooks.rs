//! Selects hooks of the repository's conftests and plugins, and overridden fixtures, that a gist
//! can contain as well.
//!
//! pytest reads hooks from conftests and plugins. From a test module it reads only the one that
//! generates parameters. In a gist an object with the module's name holds the hooks, and
//! `pytest_plugins` names it. This file lists the hooks and writes the glue; it does not look
//! inside a hook.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Expr, Stmt, StmtFunctionDef, name::Name};
use ruff_text_size::Ranged;

use super::program::Program;
use crate::{glue::Glue, module::ModuleId, trace::Trace};

/// The hooks that pytest calls after it has read the gist, or calls again for plugins that register
/// late. The hook that generates parameters works in the gist itself.
const HOOKS: &[&str] = &[
    "pytest_addoption",
    "pytest_assertion_pass",
    "pytest_assertrepr_compare",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_deselected",
    "pytest_exception_interact",
    "pytest_fixture_post_finalizer",
    "pytest_fixture_setup",
    "pytest_itemcollected",
    "pytest_make_parametrize_id",
    "pytest_pycollect_makeitem",
    "pytest_pyfunc_call",
    "pytest_runtest_call",
    "pytest_runtest_logfinish",
    "pytest_runtest_logreport",
    "pytest_runtest_logstart",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
    "pytest_runtestloop",
    "pytest_sessionfinish",
    START,
    "pytest_unconfigure",
    "pytest_warning_recorded",
];

/// The hook that was called before pytest has read the gist, and the next one that is told of the session.
const START: &str = "pytest_sessionstart";
const NEXT: &str = "pytest_collection_finish";

/// The name of the list of further plugins.
pub(crate) const PLUGINS: &str = "pytest_plugins";

/// Returns true if the run executed any hook that a gist can contain.
pub fn ran_hooks(trace: &Trace) -> bool {
    let is_hook = |name: &str| HOOKS.binary_search(&name).is_ok();
    trace.files.iter().flat_map(|file| &file.functions).any(|function| is_hook(&function.name))
}

/// The hooks that ran, by the module that defines them at its top level.
pub(crate) fn hooks(program: &Program<'_>) -> BTreeMap<String, Vec<Name>> {
    let mut found: BTreeMap<String, Vec<Name>> = BTreeMap::new();
    for id in program.unit_ids() {
        let unit = program.get(id);
        let Stmt::FunctionDef(function) = unit.stmt else { continue };
        let is_hook = HOOKS.binary_search(&function.name.as_str()).is_ok();
        if is_hook && program.ran(unit.module).function(unit.first_line).is_some() {
            let module = program.modules.get(unit.module).name.clone();
            found.entry(module).or_default().push(function.name.id.clone());
        }
    }
    for hooks in found.values_mut().filter(|hooks| hooks.iter().any(|hook| hook == NEXT)) {
        hooks.retain(|hook| hook != START);
    }
    found
}

/// Returns the fixtures that another fixture of the same name requests.
///
/// A module has each name once, so that objects hold all of them but the innermost. pytest searches
/// a plugin after a conftest. The order is unknown if a fixture is imported, or if two conftests
/// have one name.
pub(crate) fn overridden(
    program: &Program<'_>,
    is_test: impl Fn(ModuleId) -> bool,
) -> BTreeSet<(ModuleId, Name)> {
    let mut homes: BTreeMap<&str, BTreeSet<(usize, bool, ModuleId)>> = BTreeMap::new();
    for fixture in &program.trace.fixtures {
        if let Some((id, _)) = program.modules.of_path(&fixture.path) {
            let depth = depth(&fixture.path);
            homes.entry(&fixture.name).or_default().insert((depth, is_test(id), id));
        }
    }
    let directory =
        |id: ModuleId| program.modules.get(id).path().rsplit_once('/').map_or("", |(d, _)| d);
    let is_below = |inner: ModuleId, outer: ModuleId| {
        let rest = directory(inner).strip_prefix(directory(outer));
        rest.is_some_and(|rest| {
            rest.is_empty() || directory(outer).is_empty() || rest.starts_with('/')
        })
    };
    let is_conftest =
        |id: ModuleId| program.modules.get(id).path().rsplit('/').next() == Some("conftest.py");
    let mut found = BTreeSet::new();
    for (name, homes) in homes {
        let homes: Vec<ModuleId> = homes.into_iter().map(|(.., id)| id).collect();
        let stands = |pair: &[ModuleId]| {
            let asked = fixture(program, pair[1], name).map(|function| &function.parameters);
            is_conftest(pair[0])
                && is_holdable(program, pair[0], name)
                && is_below(pair[1], pair[0])
                && asked.is_some_and(|asked| asked.includes(name))
        };
        if homes.windows(2).all(stands) {
            let outer = homes.iter().rev().skip(1);
            found.extend(outer.map(|id| (*id, Name::new(name))));
        }
    }
    found
}

/// Returns the modules whose objects have hooks or fixtures, the outermost first: pytest registers
/// conftests in this order.
pub(crate) fn outermost_first<'s>(
    program: &Program<'_>,
    hooks: &'s BTreeMap<String, Vec<Name>>,
) -> Vec<&'s String> {
    let mut modules: Vec<&String> = hooks.keys().collect();
    let path = |module: &str| program.modules.find(module).map(|id| program.modules.get(id).path());
    modules.sort_by_key(|module| path(module).map_or(0, depth));
    modules
}

fn depth(path: &str) -> usize {
    path.matches('/').count()
}

/// Returns true if an object can hold a fixture: a function of a module with a unique name.
pub(crate) fn is_holdable(program: &Program<'_>, module: ModuleId, name: &str) -> bool {
    program.modules.find(&program.modules.get(module).name) == Some(module)
        && fixture(program, module, name).is_some()
}

/// The function of a module's top level that has a name.
fn fixture<'a>(program: &Program<'a>, module: ModuleId, name: &str) -> Option<&'a StmtFunctionDef> {
    let body = program.modules.get(module).syntax.body().iter();
    let mut functions = body.filter_map(Stmt::as_function_def_stmt);
    functions.find(|function| *function.name == *name)
}

/// The name under which an object has a hook of its module: one whose time has passed has the next.
pub(crate) fn held(hook: &Name) -> Name {
    if hook == START { Name::new_static(NEXT) } else { hook.clone() }
}

/// The names of plugins that a statement gives, where it is plain.
pub(crate) fn plugins(stmt: &Stmt) -> Option<Vec<String>> {
    let Stmt::Assign(node) = stmt else { return None };
    let text = |expr: &Expr| match expr {
        Expr::StringLiteral(text) => Some(text.value.to_str().to_owned()),
        _ => None,
    };
    match node.value.as_ref() {
        Expr::List(list) => list.elts.iter().map(text).collect(),
        Expr::Tuple(list) => list.elts.iter().map(text).collect(),
        one => text(one).map(|one| vec![one]),
    }
}

/// The statement that has pytest take the hooks, besides the plugins from outside that kept statements name.
pub(crate) fn statement<'s>(
    modules: Vec<&String>,
    kept: impl Iterator<Item = &'s Stmt>,
    is_internal: impl Fn(&str) -> bool,
) -> Option<Glue> {
    let mut said: Vec<String> = Vec::new();
    for stmt in kept {
        said.extend(plugins(stmt)?);
    }
    // What the repository has is the gist's own, but for what objects hold.
    let mut names = said.clone();
    names.retain(|name| !is_internal(name) || modules.contains(&name));
    names.extend(modules.into_iter().filter(|module| !said.contains(module)).cloned());
    (names != said).then_some(Glue::Plugins(names))
}

/// Returns true if all plugins that a statement names are internal. The gist contains their
/// fixtures, and objects hold their hooks.
pub(crate) fn names_own_plugins(stmt: &Stmt, is_internal: impl Fn(&str) -> bool) -> bool {
    names_plugins(stmt)
        && plugins(stmt).is_some_and(|names| names.iter().all(|name| is_internal(name)))
}

/// Returns true if a statement assigns `pytest_plugins`.
pub(crate) fn names_plugins(stmt: &Stmt) -> bool {
    let Stmt::Assign(node) = stmt else { return false };
    node.targets.iter().any(|target| {
        matches!(target, Expr::Name(name) if name.id.as_str() == PLUGINS && name.start() == node.start())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_found_by_their_names() {
        assert!(HOOKS.is_sorted());
    }
}
