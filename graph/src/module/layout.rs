//! Finds the file that an import statement loads, as Python's path finder would.
//!
//! Works on paths alone: regular packages before modules before namespace packages. It searches the
//! usual import roots of a repository (its own directory, `src`, nested projects). Then it searches
//! the directory of the importing file, as for scripts and tests.

use rustc_hash::{FxHashMap, FxHashSet};

use super::climb;
use crate::pythons::Pythons;

/// The target of a dotted name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ModulePlace {
    /// A file, by its index.
    File(u32),
    /// A directory without `__init__.py`, by its index.
    Namespace(u32),
}

/// The files of a repository as packages.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// Path without its suffix to file; `__init__` files stand under their directory.
    modules: FxHashMap<String, u32>,
    packages: FxHashMap<String, u32>,
    directories: FxHashMap<String, u32>,
    directory_names: Vec<String>,
    roots: Vec<String>,
    /// The top-level packages by name; several of one name are ambiguous.
    tops: FxHashMap<String, Vec<u32>>,
    paths: Vec<String>,
    pythons: Pythons,
}

impl Layout {
    /// Lays out sorted paths; `projects` are directories that hold a build configuration.
    pub(crate) fn new(paths: Vec<String>, projects: &[String], pythons: Pythons) -> Self {
        let mut layout = Layout { paths, pythons, ..Layout::default() };
        for (file, path) in (0u32..).zip(&layout.paths) {
            let stem = stem(path);
            match stem.strip_suffix("__init__") {
                Some(directory) if directory.is_empty() || directory.ends_with('/') => {
                    layout
                        .packages
                        .entry(directory.trim_end_matches('/').to_owned())
                        .or_insert(file);
                }
                _ => {
                    layout.modules.entry(stem.to_owned()).or_insert(file);
                }
            }
            let mut directory = parent(path);
            while !directory.is_empty() && !layout.directories.contains_key(directory) {
                let id = u32::try_from(layout.directory_names.len()).unwrap_or(u32::MAX);
                layout.directories.insert(directory.to_owned(), id);
                layout.directory_names.push(directory.to_owned());
                directory = parent(directory);
            }
        }
        layout.roots = layout.import_roots(projects);
        for (directory, &file) in &layout.packages {
            if !layout.packages.contains_key(parent(directory)) {
                let name = directory.rsplit('/').next().unwrap_or(directory);
                layout.tops.entry(name.to_owned()).or_default().push(file);
            }
        }
        layout
    }

    fn import_roots(&self, projects: &[String]) -> Vec<String> {
        let mut roots = Vec::new();
        let mut seen = FxHashSet::default();
        let tops = std::iter::once("").chain(projects.iter().map(String::as_str));
        for project in tops {
            for inner in ["src", "lib", "python", ""] {
                let root = join(project, inner);
                let exists = root.is_empty() || self.directories.contains_key(&root);
                let package = !root.is_empty() && self.packages.contains_key(&root);
                if exists && !package && seen.insert(root.clone()) {
                    roots.push(root);
                }
            }
        }
        roots
    }

    /// The dotted name under which a file is imported from its nearest root.
    pub(crate) fn name_of(&self, file: u32) -> String {
        let path = &self.paths[file as usize];
        let stem = stem(path);
        let root = self
            .roots
            .iter()
            .filter(|root| !root.is_empty() && below(stem, root))
            .max_by_key(|root| root.len());
        let stem = root.map_or(stem, |root| &stem[root.len() + 1..]);
        let stem = match stem.strip_suffix("/__init__") {
            Some(package) => package,
            None => stem,
        };
        stem.replace('/', ".")
    }

    pub(crate) fn path_of(&self, file: u32) -> &str {
        &self.paths[file as usize]
    }

    pub(crate) fn is_package(&self, file: u32) -> bool {
        let path = &self.paths[file as usize];
        let name = path.rsplit('/').next().unwrap_or(path);
        name == "__init__.py" || name == "__init__.pyi"
    }

    /// A module inside a package or namespace.
    pub(crate) fn inside(&self, package: ModulePlace, name: &str) -> Option<ModulePlace> {
        let directory = match package {
            ModulePlace::File(file) if self.is_package(file) => parent(&self.paths[file as usize]),
            ModulePlace::File(_) => return None,
            ModulePlace::Namespace(directory) => &self.directory_names[directory as usize],
        };
        self.step(directory, name)
    }

    /// Returns the last module that `import dotted` in a file loads, or `None` if any part is
    /// missing.
    pub(crate) fn absolute(&self, from: u32, dotted: &str) -> Option<ModulePlace> {
        let mut parts = dotted.split('.');
        let mut found = self.top(from, parts.next()?)?;
        for part in parts {
            found = self.inside(found, part)?;
        }
        Some(found)
    }

    /// Returns the module that `from <level dots><module>` in a file refers to.
    pub(crate) fn relative(&self, from: u32, level: u32, module: &str) -> Option<ModulePlace> {
        let path = &self.paths[from as usize];
        let stem = stem(path);
        let (name, is_package) = match stem.strip_suffix("__init__") {
            Some(package) if self.is_package(from) => (package.trim_end_matches('/'), true),
            _ => (stem, false),
        };
        let directory = climb(name, '/', is_package, level)?;
        let mut found = match self.packages.get(directory) {
            Some(&file) => ModulePlace::File(file),
            None => match self.directories.get(directory) {
                Some(&id) => ModulePlace::Namespace(id),
                // The repository's own directory has no entry, but files beside each other do.
                None if module.is_empty() => return None,
                None => {
                    let mut parts = module.split('.');
                    let mut found = self.step(directory, parts.next()?)?;
                    for part in parts {
                        found = self.inside(found, part)?;
                    }
                    return Some(found);
                }
            },
        };
        for part in module.split('.').filter(|part| !part.is_empty()) {
            found = self.inside(found, part)?;
        }
        Some(found)
    }

    fn top(&self, from: u32, name: &str) -> Option<ModulePlace> {
        let path = &self.paths[from as usize];
        // The root that holds the importing file comes first, then the others in their order.
        let nearest =
            self.roots.iter().filter(|root| below(path, root)).max_by_key(|root| root.len());
        let roots = || nearest.into_iter().chain(self.roots.iter().filter(|r| Some(*r) != nearest));
        let regular = roots().find_map(|root| match self.step(root, name) {
            Some(ModulePlace::File(file)) => Some(ModulePlace::File(file)),
            _ => None,
        });
        if regular.is_some() {
            return regular;
        }
        // Scripts and tests import what lies beside them; a module of the standard library wins.
        if !self.pythons.has_module(name) {
            let mut directory = parent(path);
            while !directory.is_empty() {
                if !self.packages.contains_key(directory)
                    && let Some(found @ ModulePlace::File(_)) = self.step(directory, name)
                {
                    return Some(found);
                }
                directory = parent(directory);
            }
        }
        let namespace = roots().find_map(|root| self.step(root, name));
        if self.pythons.has_module(name) {
            return None;
        }
        // Somebody may put its directory on the path at run time, as tests do with their samples.
        let alone = || match self.tops.get(name).map(Vec::as_slice) {
            Some(&[file]) => Some(ModulePlace::File(file)),
            _ => None,
        };
        namespace.or_else(alone)
    }

    fn step(&self, directory: &str, name: &str) -> Option<ModulePlace> {
        let path = join(directory, name);
        if let Some(&file) = self.packages.get(&path).or_else(|| self.modules.get(&path)) {
            return Some(ModulePlace::File(file));
        }
        self.directories.get(&path).map(|&id| ModulePlace::Namespace(id))
    }
}

fn stem(path: &str) -> &str {
    path.strip_suffix(".pyi").or_else(|| path.strip_suffix(".py")).unwrap_or(path)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn join(directory: &str, name: &str) -> String {
    match (directory.is_empty(), name.is_empty()) {
        (true, _) => name.to_owned(),
        (false, true) => directory.to_owned(),
        (false, false) => format!("{directory}/{name}"),
    }
}

fn below(path: &str, root: &str) -> bool {
    root.is_empty() || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
}
