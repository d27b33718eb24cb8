//! Maps module names to files, and import statements to module names.
//!
//! A module is internal if the repository defines it. [`Modules`] has the module names of a run;
//! without a run `Layout` derives them from paths. Nothing here reads the code of a module;
//! `resolve` handles the names in it.

mod layout;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::syntax::Syntax;

pub(crate) use layout::{Layout, ModulePlace};

/// Index of a module in its [`Modules`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub u32);

/// One internal module.
#[derive(Debug)]
pub struct Module {
    /// Dotted name.
    pub name: String,
    /// True if the file is an `__init__.py`.
    pub is_package: bool,
    /// Its text and tree.
    pub syntax: Syntax,
}

/// The internal modules of a repository.
#[derive(Debug)]
pub struct Modules {
    list: Vec<Module>,
    by_name: FxHashMap<String, ModuleId>,
    /// Every internal dotted name, packages without a file included.
    names: FxHashSet<String>,
}

impl Module {
    /// A module whose kind follows from its file name.
    pub fn new(name: impl Into<String>, syntax: Syntax) -> Self {
        let path = syntax.source().path();
        let is_package = path == "__init__.py" || path.ends_with("/__init__.py");
        Self { name: name.into(), is_package, syntax }
    }

    /// Path of its file, relative to the repository.
    pub fn path(&self) -> &str {
        self.syntax.source().path()
    }
}

impl Modules {
    /// A table of modules; `others` are internal names without Python source here, such as compiled
    /// extensions. Of two modules with one name the first counts.
    pub fn new(list: Vec<Module>, others: impl IntoIterator<Item = String>) -> Self {
        let mut by_name = FxHashMap::default();
        let mut names = FxHashSet::default();
        for (at, module) in list.iter().enumerate() {
            let id = ModuleId(u32::try_from(at).expect("fewer than 2^32 modules"));
            by_name.entry(module.name.clone()).or_insert(id);
            add_with_parents(&mut names, &module.name);
        }
        for name in others {
            add_with_parents(&mut names, &name);
        }
        Self { list, by_name, names }
    }

    /// All modules, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (ModuleId, &Module)> {
        (0u32..).map(ModuleId).zip(&self.list)
    }

    /// Number of modules.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns true if there is no module.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// A module by its id.
    pub fn get(&self, id: ModuleId) -> &Module {
        &self.list[id.0 as usize]
    }

    /// A module by its dotted name.
    pub fn find(&self, name: &str) -> Option<ModuleId> {
        self.by_name.get(name).copied()
    }

    /// A module by the path of its file.
    pub fn of_path(&self, path: &str) -> Option<(ModuleId, &Module)> {
        self.iter().find(|(_, module)| module.path() == path)
    }

    /// Returns true if the repository defines a module or package of this dotted name.
    pub fn is_internal(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The absolute dotted name that `from <dots><module> import ...` in `from` refers to; `None` where
    /// the dots climb out of the top package.
    pub fn absolute(&self, from: ModuleId, level: u32, module: Option<&str>) -> Option<String> {
        if level == 0 {
            return module.map(str::to_owned);
        }
        let importer = self.get(from);
        let package = climb(&importer.name, '.', importer.is_package, level)?;
        match module.filter(|name| !name.is_empty()) {
            Some(module) if package.is_empty() => Some(module.to_owned()),
            Some(module) => Some(format!("{package}.{module}")),
            None => (!package.is_empty()).then(|| package.to_owned()),
        }
    }
}

/// The package that the dots of a relative import lead to, as a prefix of the importing module's name
/// (or of its path, by the separator); `None` where they climb out of the top.
pub(crate) fn climb(name: &str, separator: char, is_package: bool, level: u32) -> Option<&str> {
    let mut package = name;
    for _ in u32::from(is_package)..level {
        if package.is_empty() {
            return None;
        }
        package = package.rsplit_once(separator).map_or("", |(outer, _)| outer);
    }
    Some(package)
}

fn add_with_parents(names: &mut FxHashSet<String>, name: &str) {
    let mut rest = name;
    while !rest.is_empty() && names.insert(rest.to_owned()) {
        rest = rest.rsplit_once('.').map_or("", |(parent, _)| parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn check(importer: &str, path: &str, level: u32, module: Option<&str>, expected: Option<&str>) {
        let syntax = Syntax::parse(Source::new(path, ""));
        let modules = Modules::new(vec![Module::new(importer, syntax)], []);
        let absolute = modules.absolute(ModuleId(0), level, module);
        assert_eq!(absolute.as_deref(), expected);
    }

    #[test]
    fn relative_imports_climb_as_python_climbs() {
        check("a.b.c", "a/b/c.py", 1, Some("d"), Some("a.b.d"));
        check("a.b.c", "a/b/c.py", 1, None, Some("a.b"));
        check("a.b", "a/b/__init__.py", 1, Some("d"), Some("a.b.d"));
        check("a.b", "a/b/__init__.py", 2, None, Some("a"));
        check("a.b.c", "a/b/c.py", 0, Some("x.y"), Some("x.y"));
        check("a", "a.py", 2, Some("d"), None);
    }
}
