//! Finds the import roots of a repository: the entries of `PYTHONPATH` that make its packages
//! importable without installing it. Reads its settings, and otherwise looks for its packages.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use toml::{Table, Value};

use super::metadata::read_metadata;

/// Entries of `PYTHONPATH`, relative to the root; `""` is the root itself.
pub(super) fn pythonpath(root: &Path) -> Vec<String> {
    let pyproject = read_toml(&root.join("pyproject.toml"));
    let declared = declared(root, &pyproject);
    let declared: Vec<String> =
        declared.into_iter().filter(|entry| root.join(entry).is_dir()).collect();
    let mut entries = if !declared.is_empty() { declared } else { observed(root) };
    for entry in pytest_entries(root, &pyproject) {
        if !entries.contains(&entry) && root.join(&entry).is_dir() {
            entries.push(entry);
        }
    }
    entries
}

/// Returns the roots that the build settings declare.
fn declared(root: &Path, pyproject: &Table) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut add = |entry: &str| found.extend(normal(entry));
    if let Some(setuptools) = at(pyproject, &["tool", "setuptools"]) {
        strings(at_value(setuptools, &["packages", "find", "where"])).for_each(&mut add);
        if let Some(Value::String(entry)) = at_value(setuptools, &["package-dir", ""]) {
            add(entry);
        }
    }
    if let Some(Value::Array(packages)) = at(pyproject, &["tool", "poetry", "packages"]) {
        let from = packages.iter().map(|package| package.get("from").and_then(Value::as_str));
        from.for_each(|from| add(from.unwrap_or("")));
    }
    if let Some(hatch) = at(pyproject, &["tool", "hatch", "build"]) {
        for place in [hatch.get("targets").and_then(|targets| targets.get("wheel")), Some(hatch)] {
            let Some(place) = place else { continue };
            match place.get("sources") {
                Some(Value::Table(sources)) => sources.keys().for_each(|entry| add(entry)),
                sources => strings(sources).for_each(&mut add),
            }
            for package in strings(place.get("packages")) {
                add(package.rsplit_once('/').map_or("", |(parent, _)| parent));
            }
        }
    }
    let single = [
        &["tool", "pdm", "build", "package-dir"][..],
        &["tool", "maturin", "python-source"],
        &["tool", "scikit-build", "wheel", "package-dir"],
        &["tool", "uv", "build-backend", "module-root"],
    ];
    for key in single {
        if let Some(Value::String(entry)) = at(pyproject, key) {
            add(entry);
        }
    }
    let settings = read(&root.join("setup.cfg"));
    for line in ini_values(&settings, "options", "package_dir") {
        if let Some((package, entry)) = line.split_once('=')
            && package.trim().is_empty()
        {
            add(entry.trim());
        }
    }
    ini_values(&settings, "options.packages.find", "where").iter().for_each(|entry| add(entry));
    script_entries(&read(&root.join("setup.py"))).iter().for_each(|entry| add(entry));
    found.into_iter().collect()
}

/// `package_dir={"": "x"}` and `where="x"` in a `setup.py`, which is read and not run.
fn script_entries(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    let squeezed: String = script.chars().filter(|char| !char.is_whitespace()).collect();
    let squeezed = squeezed.replace('\'', "\"");
    for mark in
        ["package_dir={\"\":\"", "package_dir=dict([(\"\",\"", "where=\"", "find_packages(\""]
    {
        for (at, _) in squeezed.match_indices(mark) {
            let rest = &squeezed[at + mark.len()..];
            found.extend(rest.split_once('"').map(|(entry, _)| entry.to_owned()));
        }
    }
    found
}

/// Returns the root that contains the packages: `src` if it holds packages and is none itself, else
/// the root. A package with the project's name takes precedence over all others.
fn observed(root: &Path) -> Vec<String> {
    let own = read_metadata(root).name.unwrap_or_default();
    let own = own.to_lowercase().replace(['-', '.'], "_");
    let below = ["src", "lib", "python"].map(|name| (name, root.join(name)));
    let below = || below.iter().filter(|(_, place)| !place.join("__init__.py").exists());
    let files = [format!("{own}/__init__.py"), format!("{own}.py")];
    for file in files.iter().filter(|_| !own.is_empty()) {
        let holds_own = |(_, place): &&(&str, PathBuf)| place.join(file).is_file();
        if root.join(file).is_file() {
            return vec![String::new()];
        } else if let Some((name, _)) = below().find(holds_own) {
            return vec![(*name).to_owned()];
        }
    }
    let in_root = code_in(root);
    // Modules beside `src` may be scripts.
    let entry = below().find_map(|(name, place)| match (code_in(place), in_root) {
        (CodeIn::Nothing, _) | (_, CodeIn::Packages) => None,
        (_, CodeIn::Nothing) => Some(vec![(*name).to_owned()]),
        (code, CodeIn::Modules) => {
            (code == CodeIn::Packages).then(|| vec![String::new(), (*name).to_owned()])
        }
    });
    entry.unwrap_or_else(|| vec![String::new()])
}

/// The code of a directory, other than tests, documents and scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CodeIn {
    Nothing,
    /// Files alone.
    Modules,
    Packages,
}

fn code_in(directory: &Path) -> CodeIn {
    const OTHERS: [&str; 14] = [
        "bench",
        "benchmarks",
        "ci",
        "conftest",
        "doc",
        "docs",
        "example",
        "examples",
        "noxfile",
        "scripts",
        "setup",
        "test",
        "tests",
        "tools",
    ];
    let Ok(entries) = fs::read_dir(directory) else { return CodeIn::Nothing };
    let code = entries.flatten().map(|entry| {
        let path = entry.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_module = path.is_file() && path.extension().is_some_and(|end| end == "py");
        match OTHERS.contains(&stem.as_str()) || stem.starts_with("test_") {
            true => CodeIn::Nothing,
            false if path.join("__init__.py").is_file() => CodeIn::Packages,
            false if is_module => CodeIn::Modules,
            false => CodeIn::Nothing,
        }
    });
    code.max().unwrap_or(CodeIn::Nothing)
}

/// Returns the entries of pytest's `pythonpath` setting, for commands that do not use pytest.
fn pytest_entries(root: &Path, pyproject: &Table) -> Vec<String> {
    pytest_values(root, pyproject, "pythonpath").iter().filter_map(|entry| normal(entry)).collect()
}

/// The words of a setting of pytest's, wherever it may stand.
pub(super) fn pytest_values(root: &Path, pyproject: &Table, key: &str) -> Vec<String> {
    let value = at(pyproject, &["tool", "pytest", "ini_options", key]);
    let mut found: Vec<String> = strings(value).map(str::to_owned).collect();
    for (file, section) in
        [("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")]
    {
        found.extend(ini_values(&read(&root.join(file)), section, key));
    }
    found.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect()
}

/// A relative path within the root, without `.` and trailing slashes.
fn normal(entry: &str) -> Option<String> {
    let mut parts = Vec::new();
    for component in Path::new(entry).components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

/// The lines of a value in an ini file, continuation lines included, without comments.
pub(super) fn ini_values(text: &str, section: &str, key: &str) -> Vec<String> {
    let mut inside = false;
    let mut taken = false;
    let mut values = Vec::new();
    for line in text.lines() {
        let content = line.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if !line.starts_with([' ', '\t']) {
            taken = false;
            if let Some(name) = content.strip_prefix('[') {
                inside = name.split(']').next() == Some(section);
            } else if inside && let Some((name, value)) = content.split_once(['=', ':']) {
                taken = name.trim() == key;
                if taken && !value.trim().is_empty() {
                    values.push(value.trim().to_owned());
                }
            }
        } else if inside && taken {
            values.push(content.to_owned());
        }
    }
    values
}

/// The entries of a section of an ini file, in order: keys and the lines of their values.
pub(super) fn ini_section(text: &str, section: &str) -> Vec<(String, Vec<String>)> {
    let mut inside = false;
    let mut keys: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            inside = name.split(']').next() == Some(section);
        } else if inside
            && !line.starts_with([' ', '\t', '#', ';'])
            && let Some((key, _)) = line.split_once(['=', ':'])
        {
            keys.push(key.trim().to_owned());
        }
    }
    let values = |key: String| {
        let lines = ini_values(text, section, &key);
        (key, lines)
    };
    keys.into_iter().map(values).collect()
}

/// The text of a file; what cannot be read is as good as empty.
pub(super) fn read(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// A file of settings; what does not parse is as good as empty.
pub(super) fn read_toml(path: &Path) -> Table {
    read(path).parse().unwrap_or_default()
}

pub(super) fn at<'a>(table: &'a Table, keys: &[&str]) -> Option<&'a Value> {
    let (first, rest) = keys.split_first()?;
    at_value(table.get(*first)?, rest)
}

fn at_value<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(value, |value, key| value.get(key))
}

/// A string, or the strings of a list.
pub(super) fn strings(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = match value {
        Some(Value::Array(list)) => list.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[],
    };
    list.iter().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `files`: a path and its text, one after the other.
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(pythonpath(root.path()), expected, "{files:?}");
    }

    const SRC: (&str, &str) = ("src/a/__init__.py", "");
    const FLAT: (&str, &str) = ("a/__init__.py", "");
    const TESTS: (&str, &str) = ("tests/__init__.py", "");

    #[test]
    fn finds_packages_by_where_they_are() {
        check(&[], &[""]);
        check(&[FLAT], &[""]);
        check(&[SRC], &["src"]);
        check(&[SRC, TESTS, ("setup.py", ""), ("docs/conf.py", "")], &["src"]);
        let named = ("PKG-INFO", "Metadata-Version: 2.1\nName: A\n");
        let script = ("show.py", "");
        check(&[SRC, script], &["", "src"]);
        check(&[SRC, script, named], &["src"]);
        check(&[SRC, ("a.py", ""), named], &["src"]);
        check(&[FLAT, ("src/b.py", ""), named], &[""]);
        check(&[("src/gen.py", ""), ("python/a/__init__.py", ""), named], &["python"]);
        check(&[("src/__init__.py", ""), SRC], &[""]);
        check(&[("src/module.py", ""), TESTS], &["src"]);
        check(&[("module.py", ""), SRC], &["", "src"]);
        check(&[("module.py", ""), ("src/other.py", "")], &[""]);
        check(&[("lib/a/__init__.py", "")], &["lib"]);
    }

    #[test]
    fn finds_packages_by_settings() {
        let pyproject = |text, expected: &[&str]| {
            check(&[("pyproject.toml", text), ("code/a/__init__.py", ""), FLAT], expected);
        };
        pyproject("[tool.setuptools.packages.find]\nwhere = ['code']", &["code"]);
        pyproject("[tool.setuptools]\npackage-dir = {'' = './code/'}", &["code"]);
        pyproject("[tool.setuptools.packages.find]\nwhere = ['../code', 'missing']", &[""]);
        pyproject("[[tool.poetry.packages]]\ninclude = 'a'\nfrom = 'code'", &["code"]);
        pyproject("[tool.hatch.build.targets.wheel]\npackages = ['code/a']", &["code"]);
        pyproject("[tool.hatch.build.targets.wheel.sources]\ncode = ''", &["code"]);
        pyproject("[tool.pdm.build]\npackage-dir = 'code'", &["code"]);
        pyproject("[tool.maturin]\npython-source = 'code'", &["code"]);
        pyproject("[tool.pytest.ini_options]\npythonpath = ['.', 'code']", &["", "code"]);
        pyproject("not toml [", &[""]);
        let file = |name, text, expected: &[&str]| {
            check(&[(name, text), ("code/a/__init__.py", ""), FLAT], expected);
        };
        file("setup.cfg", "[options]\npackage_dir =\n  # where\n  = code\n", &["code"]);
        file("setup.cfg", "[options.packages.find]\nwhere = code\n", &["code"]);
        file("setup.cfg", "[tool:pytest]\npythonpath = code", &["", "code"]);
        file("pytest.ini", "[pytest]\npythonpath = code\n", &["", "code"]);
        file("setup.py", "setup(package_dir = {'': 'code'},)", &["code"]);
        file("setup.py", "setup(packages=find_packages(where=\"code\"))", &["code"]);
        file("setup.py", "setup(packages=find_packages('code'))", &["code"]);
    }
}
