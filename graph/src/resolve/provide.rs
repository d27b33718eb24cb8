//! Finds the statement that provides an attribute of a module. It is a statement of the module, one
//! of a star-imported module, or the import of a submodule.
//!
//! Both readers of modules share this rule: the slicer, which keeps trees and knows what was
//! executed, and the graphs, which keep facts. Each follows the binding of the statement by itself.

use ruff_python_ast::{Expr, Operator, Stmt};
use rustc_hash::FxHashSet;

use crate::module::ModuleId;

/// Modules as the rule sees them.
pub(crate) trait Namespaces {
    /// A name, as text or interned.
    type Name: PartialEq;
    /// A module or package, which need not have a file.
    type Module;

    /// Returns true if a statement of the module binds a global name.
    fn binds(&self, module: ModuleId, name: &Self::Name) -> bool;

    /// The modules that it imports everything from, in order.
    fn stars(&self, module: ModuleId) -> impl DoubleEndedIterator<Item = ModuleId>;

    /// Returns true if the module's `__all__` lists a name, or `None` without a readable `__all__`.
    fn lists(&self, module: ModuleId, name: &Self::Name) -> Option<bool>;

    /// Returns true if a name begins with an underscore.
    fn is_private(&self, name: &Self::Name) -> bool;

    /// A module inside a package.
    fn inner(&self, package: ModuleId, name: &Self::Name) -> Option<Self::Module>;
}

/// The provider of an attribute of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttributeProvider<M> {
    /// A statement of this module.
    Statement(ModuleId),
    /// The import system: a module inside a package.
    Inner(M),
}

/// Returns the provider of an attribute of a module, or `None` if no visible statement binds it.
pub(crate) fn provider<N: Namespaces>(
    spaces: &N,
    module: ModuleId,
    name: &N::Name,
) -> Option<AttributeProvider<N::Module>> {
    if spaces.binds(module, name) {
        return Some(AttributeProvider::Statement(module));
    }
    starred(spaces, module, name)
        .or_else(|| spaces.inner(module, name).map(AttributeProvider::Inner))
}

/// The same, of what star imports bring alone.
pub(crate) fn starred<N: Namespaces>(
    spaces: &N,
    module: ModuleId,
    name: &N::Name,
) -> Option<AttributeProvider<N::Module>> {
    let mut at = module;
    let mut seen = FxHashSet::default();
    while let Some(source) = star_source(spaces, at, name) {
        if spaces.binds(source, name) {
            return Some(AttributeProvider::Statement(source));
        }
        if !seen.insert(source) {
            break;
        }
        at = source;
    }
    // `__all__` may list a module inside the package, which the star then imports.
    if at == module { None } else { spaces.inner(at, name).map(AttributeProvider::Inner) }
}

/// The module whose star import brings a name; of several the last wins.
pub(crate) fn star_source<N: Namespaces>(
    spaces: &N,
    module: ModuleId,
    name: &N::Name,
) -> Option<ModuleId> {
    source(spaces, module, name, &mut FxHashSet::default())
}

fn source<N: Namespaces>(
    spaces: &N,
    module: ModuleId,
    name: &N::Name,
    seen: &mut FxHashSet<ModuleId>,
) -> Option<ModuleId> {
    if !seen.insert(module) {
        return None;
    }
    spaces.stars(module).rev().find(|&star| star != module && is_brought(spaces, star, name, seen))
}

/// Returns true if a star import of a module brings a name.
pub(crate) fn brings<N: Namespaces>(spaces: &N, star: ModuleId, name: &N::Name) -> bool {
    is_brought(spaces, star, name, &mut FxHashSet::default())
}

fn is_brought<N: Namespaces>(
    spaces: &N,
    star: ModuleId,
    name: &N::Name,
    seen: &mut FxHashSet<ModuleId>,
) -> bool {
    match spaces.lists(star, name) {
        Some(listed) => listed,
        None => {
            !spaces.is_private(name)
                && (spaces.binds(star, name) || source(spaces, star, name, seen).is_some())
        }
    }
}

/// The effect of a statement on `__all__`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exports<'a> {
    /// Sets it.
    Are(Vec<&'a str>),
    /// Adds to it.
    More(Vec<&'a str>),
    /// Makes it something that only running tells.
    Unknown,
}

/// Returns the effect of a statement on `__all__`, if it has one.
pub(crate) fn exports(stmt: &Stmt) -> Option<Exports<'_>> {
    let is_all = |target: &Expr| matches!(target, Expr::Name(name) if name.id == "__all__");
    let (value, adds) = match stmt {
        Stmt::Assign(assign) => match assign.targets.as_slice() {
            [target] if is_all(target) => (assign.value.as_ref(), false),
            _ => return None,
        },
        Stmt::AnnAssign(assign) if is_all(&assign.target) => (assign.value.as_deref()?, false),
        Stmt::AugAssign(assign) if is_all(&assign.target) && assign.op == Operator::Add => {
            (assign.value.as_ref(), true)
        }
        _ => return None,
    };
    Some(match (strings(value), adds) {
        (Some(names), false) => Exports::Are(names),
        (Some(names), true) => Exports::More(names),
        (None, _) => Exports::Unknown,
    })
}

/// The strings of a display, all of them literal.
fn strings(value: &Expr) -> Option<Vec<&str>> {
    let elements = match value {
        Expr::List(list) => &list.elts,
        Expr::Tuple(tuple) => &tuple.elts,
        _ => return None,
    };
    elements
        .iter()
        .map(|element| match element {
            Expr::StringLiteral(text) => Some(text.value.to_str()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use ruff_python_ast::name::Name;

    use super::*;
    use crate::{
        flow::{FlowInput, LinkedFiles},
        load::facts_of,
        module::{Layout, Module, ModulePlace, Modules},
        pythons::Pythons,
        resolve::Resolver,
        source::Source,
        syntax::Syntax,
    };

    const SOURCES: &[(&str, &str)] = &[
        (
            "pkg/__init__.py",
            "from .base import *\nfrom .more import *\nfrom . import sub as renamed\n",
        ),
        (
            "pkg/base.py",
            "__all__ = ['f', 'hidden']\n__all__ += ['i']\ni = 1\ndef f(): pass\ndef g(): pass\n",
        ),
        ("pkg/more.py", "from .deep import *\ndef f(): pass\ndef _private(): pass\n"),
        ("pkg/deep.py", "from .more import *\nx = 1\n__all__ = unknown + ['x']\n"),
        ("pkg/sub.py", "y = 1\n"),
        ("lib/__init__.py", "__all__ = ['inner']\nouter = 1\n"),
        ("lib/inner.py", ""),
        ("use.py", "from lib import *\nfrom pkg import *\n"),
    ];

    /// Both readers of modules name the same provider.
    fn check(module: &str, name: &str, expected: &str) {
        let list = SOURCES.iter().map(|(path, text)| {
            let dotted = path.trim_end_matches(".py").trim_end_matches("/__init__");
            Module::new(dotted.replace('/', "."), Syntax::parse(Source::new(*path, *text)))
        });
        let modules = Modules::new(list.collect(), []);
        let resolver = Resolver::new(&modules, None, |_, _| true);
        let id = modules.find(module).expect("the module is one of the sources");
        let told = |module: ModuleId| modules.get(module).name.clone();
        let by_trees = match provider(&resolver, id, &Name::new(name)) {
            Some(AttributeProvider::Statement(module)) => told(module),
            Some(AttributeProvider::Inner(inner)) => format!("module {inner}"),
            None => String::new(),
        };
        let facts: Vec<_> =
            SOURCES.iter().map(|(_, text)| facts_of(text, Pythons::SUPPORTED)).collect();
        let paths = SOURCES.iter().map(|(path, _)| (*path).to_owned()).collect();
        let layout = Layout::new(paths, &[], Pythons::SUPPORTED);
        let program = FlowInput { layout: &layout, files: &facts, pythons: Pythons::SUPPORTED };
        let mut linked = LinkedFiles::new(&program);
        let symbol = linked.symbols.intern(name);
        let by_facts = match provider(&linked, id, &symbol) {
            Some(AttributeProvider::Statement(module)) => told(module),
            Some(AttributeProvider::Inner(ModulePlace::File(file))) => {
                format!("module {}", told(ModuleId(file)))
            }
            Some(AttributeProvider::Inner(ModulePlace::Namespace(_))) => "a namespace".to_owned(),
            None => String::new(),
        };
        assert_eq!((by_trees.as_str(), by_facts.as_str()), (expected, expected), "{module}.{name}");
    }

    #[test]
    fn trees_and_facts_name_the_same_provider() {
        check("pkg", "f", "pkg.more");
        check("pkg", "g", "");
        check("pkg", "x", "pkg.deep");
        check("pkg", "hidden", "");
        check("pkg", "_private", "");
        check("pkg", "renamed", "pkg");
        check("pkg", "sub", "module pkg.sub");
        check("pkg", "i", "pkg.base");
        check("use", "inner", "module lib.inner");
        check("use", "outer", "");
        check("use", "x", "pkg.deep");
        check("pkg.deep", "f", "pkg.more");
        check("pkg.sub", "x", "");
    }
}
