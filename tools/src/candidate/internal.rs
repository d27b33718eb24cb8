//! Splits the files of a repository: those that a gist replaces (modules and tests), and its data.
//!
//! Decides from one traced run and the files: by resolving module names on the run's `sys.path`,
//! never by the names of packages.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use graph::Trace;

use super::pytest_config;

/// The modules of a repository that a run used, and the files that go with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Internal {
    /// Internal modules that ran: dotted name to relative path.
    pub modules: BTreeMap<String, String>,
    /// Top-level names of library packages and modules.
    pub tops: BTreeSet<String>,
    /// Library packages: relative directory to the top-level name.
    pub packages: BTreeMap<String, String>,
    /// Relative paths of all Python files that no candidate has, sorted.
    pub removed: BTreeSet<String>,
    /// The removed files that belong to the tests: test modules, conftests and executed helper
    /// modules.
    pub support: BTreeSet<String>,
    /// Internal modules that the command itself names, by their files.
    pub named: BTreeSet<String>,
}

impl Internal {
    /// Splits the files of `original`, a copy of the traced repository. `entries` are the files that the
    /// command itself names: its test modules, or, where `are_tests` is false, the program that it runs.
    ///
    /// # Errors
    /// When a directory of the copy cannot be read; with its path.
    pub fn of_entries(
        trace: &Trace,
        original: &Path,
        entries: &[String],
        are_tests: bool,
    ) -> Result<Self, (std::path::PathBuf, io::Error)> {
        let files = files(original)?;
        let patterns = pytest_config::python_files(original);
        let is_entry = |path: &str| entries.iter().any(|entry| entry == path);
        let is_test = |path: &str| {
            are_tests && is_entry(path)
                || name(path) == "conftest.py"
                || pytest_config::matches(&patterns, path)
        };

        let mut internal = Self::default();
        let mut tops: BTreeSet<Top> = BTreeSet::new();
        let mut ran: BTreeSet<&str> = BTreeSet::new();
        for file in &trace.files {
            for module in &file.modules {
                if module == "__main__" {
                    if is_entry(&file.path) {
                        internal.modules.insert(module.clone(), file.path.clone());
                        ran.insert(&file.path);
                    }
                    continue;
                }
                let Some(root) = root_of(&trace.roots, module, &file.path) else {
                    // Test modules may be imported under names that lead nowhere (importlib mode), and so are
                    // those whose examples `python -m doctest` runs.
                    if is_test(&file.path) || is_entry(&file.path) {
                        internal.modules.insert(module.clone(), file.path.clone());
                        ran.insert(&file.path);
                    }
                    continue;
                };
                internal.modules.insert(module.clone(), file.path.clone());
                ran.insert(&file.path);
                tops.insert(Top::of(root, module, &file.path));
            }
        }
        for (module, path) in &trace.compiled {
            if let Some(root) = compiled_root_of(&trace.roots, module, path) {
                tops.insert(Top::of(root, module, path));
            }
        }

        let named = internal.modules.iter().filter(|(_, path)| is_entry(path));
        internal.named = named.map(|(module, _)| module.clone()).collect();

        let test_files: Vec<&str> = if entries.is_empty() || !are_tests {
            ran.iter().copied().filter(|path| is_test(path)).collect()
        } else {
            entries.iter().map(String::as_str).collect()
        };
        let holds_test = |top: &Top| test_files.iter().any(|path| top.contains(path));
        let is_library = |top: &Top| !top.is_file || !is_test(&top.path);
        let others = |top: &Top| {
            tops.iter().any(|other| {
                other != top
                    && is_library(other)
                    && !holds_test(other)
                    && !top.contains(&other.path)
            })
        };
        // A package that keeps its tests in a directory of its own is none of them, whatever lies beside it.
        let keeps = |top: &Top| {
            let is_inside = |path: &&str| {
                let below = path.strip_prefix(&top.path).and_then(|below| below.rsplit_once('/'));
                below.is_some_and(|(directory, _)| is_for_tests(directory))
            };
            let is_test = |path: &&&str| top.contains(path) && name(path) != "conftest.py";
            let mut held = test_files.iter().filter(is_test);
            !top.name.split('_').any(is_for_tests) && held.all(is_inside)
        };
        let is_tree = |top: &Top| !top.is_file && holds_test(top) && others(top) && !keeps(top);
        let (trees, libraries): (Vec<&Top>, Vec<&Top>) = tops.iter().partition(|top| is_tree(top));
        for top in &libraries {
            if top.is_file {
                if !is_test(&top.path) {
                    internal.tops.insert(top.name.clone());
                }
            } else {
                internal.tops.insert(top.name.clone());
                internal.packages.insert(top.path.clone(), top.name.clone());
            }
        }

        let data: BTreeSet<&str> = trace.data.iter().map(String::as_str).collect();
        let mut for_tests: Vec<&String> = Vec::new();
        for path in &files {
            if !path.ends_with(".py") {
                continue;
            }
            let executed = ran.contains(path.as_str());
            let in_library = libraries.iter().any(|top| !top.is_file && top.contains(path));
            let in_tests = trees.iter().any(|top| top.contains(path));
            // A test module that something reads and nothing runs is data, as a linter's tests have it.
            let test =
                is_test(path) && (executed || !data.contains(path.as_str()) || is_entry(path));
            if executed || in_library || test || is_entry(path) {
                internal.removed.insert(path.clone());
            }
            let is_beside = (in_tests || beside_tests(path, &test_files)) && !in_library;
            let top = libraries.iter().find(|top| top.contains(path));
            let mut named = libraries.iter().filter(|top| is_library(top));
            let is_only = named.all(|top| is_for_tests(&top.name));
            let inside = top.filter(|_| is_only).map_or(0, |top| top.path.len());
            if test || executed && is_beside {
                internal.support.insert(path.clone());
            } else if executed && (is_for_tests(&path[inside..]) || asks_for_pytest(original, path))
            {
                for_tests.push(path);
            }
        }
        // A file that the package imports is a part of it, whatever its name, and so are that file's imports.
        let others = ran.iter().filter(|path| {
            !internal.support.contains(**path) && !for_tests.iter().any(|one| one == *path)
        });
        let mut needed: Vec<String> = match for_tests.is_empty() {
            true => Vec::new(),
            false => others.map(|path| read(original, path)).collect(),
        };
        while let Some(text) = needed.pop() {
            let parts = for_tests.extract_if(.., |path| imports(&text, stem(path)));
            needed.extend(parts.map(|path| read(original, path)));
        }
        internal.support.extend(for_tests.into_iter().cloned());
        Ok(internal)
    }

    /// Returns true if a dotted name is an internal module or belongs to one.
    pub fn is_internal(&self, module: &str) -> bool {
        let top = module.split('.').next().unwrap_or(module);
        self.tops.contains(top)
            || self.modules.contains_key(module)
            || self
                .modules
                .keys()
                .any(|known| known.strip_prefix(module).is_some_and(|rest| rest.starts_with('.')))
    }
}

/// A top-level package or module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Top {
    name: String,
    /// Relative path of the package's directory or of the module's file.
    path: String,
    is_file: bool,
}

impl Top {
    fn of(root: &str, module: &str, path: &str) -> Self {
        let name = module.split('.').next().unwrap_or(module).to_owned();
        let directory = join(root, &name);
        if path.starts_with(&format!("{directory}/")) {
            Self { name, path: directory, is_file: false }
        } else {
            Self { name, path: path.to_owned(), is_file: true }
        }
    }

    fn contains(&self, path: &str) -> bool {
        path == self.path || path.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// All files of a directory, relative, sorted; links are files.
pub(super) fn files(root: &Path) -> Result<Vec<String>, (std::path::PathBuf, io::Error)> {
    let mut files = Vec::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        let entries = fs::read_dir(&directory).map_err(|error| (directory.clone(), error))?;
        for entry in entries {
            let entry = entry.map_err(|error| (directory.clone(), error))?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name() != "__pycache__" && entry.file_name() != ".git" {
                    pending.push(path);
                }
            } else if let Ok(relative) = path.strip_prefix(root) {
                files.push(relative.to_string_lossy().into_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The first root from which a module's name leads to its file.
fn root_of<'a>(roots: &'a [String], module: &str, path: &str) -> Option<&'a str> {
    let tail = module.replace('.', "/");
    roots.iter().map(String::as_str).find(|root| {
        let stem = join(root, &tail);
        path == format!("{stem}.py") || path == format!("{stem}/__init__.py")
    })
}

fn compiled_root_of<'a>(roots: &'a [String], module: &str, path: &str) -> Option<&'a str> {
    let tail = module.replace('.', "/");
    roots.iter().map(String::as_str).find(|root| {
        path.strip_prefix(&join(root, &tail)).is_some_and(|rest| rest.starts_with('.'))
    })
}

/// Returns true if a file is in or below the directory of a test file.
fn beside_tests(path: &str, tests: &[&str]) -> bool {
    tests.iter().any(|test| match test.rsplit_once('/') {
        Some((directory, _)) => {
            path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
        }
        None => false,
    })
}

/// Returns true if a file imports pytest at its top level: only tests need such a file.
fn asks_for_pytest(original: &Path, path: &str) -> bool {
    let text = read(original, path);
    text.lines().any(|line| line.starts_with("import pytest") || line.starts_with("from pytest "))
}

fn read(original: &Path, path: &str) -> String {
    String::from_utf8_lossy(&fs::read(original.join(path)).unwrap_or_default()).into_owned()
}

/// The last name of a file's module.
fn stem(path: &str) -> &str {
    let path = path.strip_suffix(".py").unwrap_or(path);
    name(path.strip_suffix("/__init__").unwrap_or(path))
}

/// Returns true if an import line of a text contains a name.
fn imports(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let has = |line: &str| line.split(|c| !is_word(c)).any(|word| word == name);
    let lines = text.lines().map(str::trim_start);
    let mut lines = lines.filter(|line| line.starts_with("import ") || line.starts_with("from "));
    lines.any(has)
}

/// Returns true if a part of a path marks its file as test support.
fn is_for_tests(path: &str) -> bool {
    const KINDS: [&str; 9] = ["", "s", "ing", "lib", "util", "utils", "kit", "support", "helpers"];
    let is_one = |part: &str| {
        let name = part.strip_suffix(".py").unwrap_or(part).trim_start_matches('_');
        let rest = name.strip_prefix("test").map(|rest| rest.trim_start_matches('_'));
        rest.is_some_and(|rest| KINDS.contains(&rest))
    };
    path.split('/').any(is_one)
}

fn join(root: &str, tail: &str) -> String {
    if root.is_empty() { tail.to_owned() } else { format!("{root}/{tail}") }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
