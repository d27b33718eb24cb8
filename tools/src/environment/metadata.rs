//! Reads the declared requirements of a repository from its files, without executing any of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::layout::{at, ini_section, ini_values, read, read_toml, strings};

/// The requirements of a repository, as PEP 508 lines with their markers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    /// The name under which it would be installed.
    pub(super) name: Option<String>,
    /// Its version, where it is known without a build.
    pub(super) version: Option<String>,
    /// Versions of Python, as a specifier.
    pub(super) requires_python: Option<String>,
    /// The requirements; those of extras with a marker on `extra`.
    pub(super) requires: Vec<String>,
    pub(super) extras: BTreeSet<String>,
    /// Lists that are no extras: dependency groups, environments of tools, by their names.
    pub(super) groups: BTreeMap<String, Vec<String>>,
    /// True if only executing its build can determine its requirements.
    pub(super) dynamic: bool,
}

/// Reads the metadata of the repository at `root`: as it was built into an archive where there is
/// such, else as its settings say.
pub(super) fn read_metadata(root: &Path) -> Metadata {
    let pyproject = read_toml(&root.join("pyproject.toml"));
    let mut metadata = built(root).unwrap_or_else(|| {
        let settings = read(&root.join("setup.cfg"));
        if let Some(Value::Table(project)) = pyproject.get("project") {
            of_project(project, &settings, root)
        } else if let Some(Value::Table(poetry)) = at(&pyproject, &["tool", "poetry"]) {
            of_poetry(poetry)
        } else {
            of_settings(&settings, root)
        }
    });
    metadata.groups = groups(&pyproject);
    metadata
}

/// Metadata that a build left: `PKG-INFO` in an sdist, `METADATA` in a wheel.
fn built(root: &Path) -> Option<Metadata> {
    let is_built = |path: &Path| {
        let text = read(path);
        (text.starts_with("Metadata-Version:")).then_some(text)
    };
    if let Some(text) = is_built(&root.join("PKG-INFO")) {
        let mut metadata = of_headers(&text);
        if metadata.requires.is_empty() {
            // Older builds wrote the requirements only beside it.
            for directory in [root.to_path_buf(), root.join("src")] {
                for egg in directories(&directory, ".egg-info") {
                    let (requires, extras) = of_requires_file(&read(&egg.join("requires.txt")));
                    metadata.requires.extend(requires);
                    metadata.extras.extend(extras);
                }
            }
        }
        return Some(metadata);
    }
    let mut wheels = directories(root, ".dist-info").into_iter();
    wheels.find_map(|directory| Some(of_headers(&is_built(&directory.join("METADATA"))?)))
}

fn of_headers(text: &str) -> Metadata {
    let mut metadata = Metadata::default();
    // A license may stand here as a whole, in lines that go on behind blanks: also its empty ones do.
    let headers = text.lines().take_while(|line| !line.is_empty());
    for line in headers.filter(|line| !line.starts_with([' ', '\t'])) {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim().to_owned();
        match key {
            "Name" => metadata.name = Some(value),
            "Version" => metadata.version = Some(value),
            "Requires-Python" => metadata.requires_python = Some(value),
            "Requires-Dist" => metadata.requires.push(value),
            "Provides-Extra" => {
                metadata.extras.insert(value);
            }
            _ => {}
        }
    }
    metadata
}

/// The `requires.txt` of an `egg-info` directory: sections `[extra:marker]`.
fn of_requires_file(text: &str) -> (Vec<String>, BTreeSet<String>) {
    let (mut extra, mut marker) = (String::new(), String::new());
    let (mut requires, mut extras) = (Vec::new(), BTreeSet::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let (name, condition) = section.split_once(':').unwrap_or((section, ""));
            (extra, marker) = (name.trim().to_owned(), condition.trim().to_owned());
            if !extra.is_empty() {
                extras.insert(extra.clone());
            }
        } else {
            requires.push(with_marker(line, &marker, &extra));
        }
    }
    (requires, extras)
}

/// Returns the metadata of `pyproject.toml`'s standard table. Fields that it leaves to setuptools
/// come from `setup.cfg`.
fn of_project(project: &Table, settings: &str, root: &Path) -> Metadata {
    let text = |key: &str| project.get(key).and_then(Value::as_str).map(str::to_owned);
    let dynamic: Vec<&str> = strings(project.get("dynamic")).collect();
    let left = of_settings(settings, root);
    let mut metadata = Metadata {
        name: text("name"),
        version: text("version"),
        requires_python: text("requires-python"),
        requires: strings(project.get("dependencies")).map(str::to_owned).collect(),
        ..Metadata::default()
    };
    if let Some(Value::Table(extras)) = project.get("optional-dependencies") {
        for (extra, list) in extras {
            metadata.extras.insert(extra.clone());
            let lines = strings(Some(list)).map(|line| with_marker(line, "", extra));
            metadata.requires.extend(lines);
        }
    }
    if dynamic.contains(&"requires-python") {
        metadata.requires_python = left.requires_python;
    }
    if dynamic.iter().any(|key| matches!(*key, "dependencies" | "optional-dependencies")) {
        let known = !left.requires.is_empty();
        metadata.requires.extend(left.requires);
        metadata.extras.extend(left.extras);
        metadata.dynamic = !known;
    }
    metadata
}

/// `setup.cfg`. A `setup.py` beside it may say more, or other things.
fn of_settings(settings: &str, root: &Path) -> Metadata {
    let one = |section, key| ini_values(settings, section, key).into_iter().next();
    let mut metadata = Metadata {
        name: one("metadata", "name"),
        // `attr:` and `file:` say where a build finds it.
        version: one("metadata", "version").filter(|version| !version.contains(':')),
        requires_python: one("options", "python_requires"),
        requires: ini_values(settings, "options", "install_requires"),
        ..Metadata::default()
    };
    for (extra, lines) in ini_section(settings, "options.extras_require") {
        metadata.requires.extend(lines.iter().map(|line| with_marker(line, "", &extra)));
        metadata.extras.insert(extra);
    }
    let tests = ini_values(settings, "options", "tests_require");
    metadata.requires.extend(tests.iter().map(|line| with_marker(line, "", "tests")));
    if !tests.is_empty() {
        metadata.extras.insert("tests".to_owned());
    }
    let script = read(&root.join("setup.py"));
    let says_more = ["install_requires", "extras_require", "requirements"];
    metadata.dynamic = says_more.iter().any(|key| script.contains(key));
    metadata
}

/// The table of poetry, from before it knew the standard one.
fn of_poetry(poetry: &Table) -> Metadata {
    let mut metadata = Metadata {
        name: poetry.get("name").and_then(Value::as_str).map(str::to_owned),
        version: poetry.get("version").and_then(Value::as_str).map(str::to_owned),
        ..Metadata::default()
    };
    if let Some(Value::Table(dependencies)) = poetry.get("dependencies") {
        metadata.requires_python =
            dependencies.get("python").and_then(Value::as_str).map(poetry_specifier);
        let needed = dependencies.iter().filter(|(name, value)| {
            *name != "python" && value.get("optional") != Some(&Value::Boolean(true))
        });
        metadata.requires = needed.flat_map(|(name, value)| of_poetry_entry(name, value)).collect();
        if let Some(Value::Table(extras)) = poetry.get("extras") {
            for (extra, names) in extras {
                metadata.extras.insert(extra.clone());
                for name in strings(Some(names)) {
                    let lines = dependencies.get(name).map(|value| of_poetry_entry(name, value));
                    let lines = lines.into_iter().flatten();
                    metadata.requires.extend(lines.map(|line| with_marker(&line, "", extra)));
                }
            }
        }
    }
    metadata
}

/// Lists that are no extras.
fn groups(pyproject: &Table) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if let Some(Value::Table(groups)) = pyproject.get("dependency-groups") {
        for name in groups.keys() {
            let mut lines = Vec::new();
            expand_group(groups, name, &mut BTreeSet::new(), &mut lines);
            found.entry(name.clone()).or_default().extend(lines);
        }
    }
    if let Some(poetry) = at(pyproject, &["tool", "poetry"]) {
        let mut add = |name: &str, dependencies: Option<&Value>| {
            let Some(Value::Table(dependencies)) = dependencies else { return };
            let lines = dependencies.iter().flat_map(|(name, value)| of_poetry_entry(name, value));
            found.entry(name.to_owned()).or_default().extend(lines);
        };
        add("dev", poetry.get("dev-dependencies"));
        if let Some(Value::Table(groups)) = poetry.get("group") {
            groups.iter().for_each(|(name, group)| add(name, group.get("dependencies")));
        }
    }
    let mut add = |name: &str, lines: Option<&Value>| {
        let lines = strings(lines).map(str::to_owned);
        found.entry(name.to_owned()).or_default().extend(lines);
    };
    if let Some(Value::Table(groups)) = at(pyproject, &["tool", "pdm", "dev-dependencies"]) {
        groups.iter().for_each(|(name, lines)| add(name, Some(lines)));
    }
    if let Some(lines) = at(pyproject, &["tool", "uv", "dev-dependencies"]) {
        add("dev", Some(lines));
    }
    if let Some(Value::Table(environments)) = at(pyproject, &["tool", "hatch", "envs"]) {
        for (name, environment) in environments {
            add(name, environment.get("dependencies"));
            add(name, environment.get("extra-dependencies"));
        }
    }
    found
}

/// A group of PEP 735, with the groups that it includes.
fn expand_group(groups: &Table, name: &str, seen: &mut BTreeSet<String>, lines: &mut Vec<String>) {
    if !seen.insert(name.to_lowercase()) {
        return;
    }
    let found = groups.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
    for entry in found.and_then(|(_, group)| group.as_array()).into_iter().flatten() {
        match entry {
            Value::String(line) => lines.push(line.clone()),
            entry => {
                if let Some(included) = entry.get("include-group").and_then(Value::as_str) {
                    expand_group(groups, included, seen, lines);
                }
            }
        }
    }
}

/// A dependency of poetry as requirements; those on paths have none.
fn of_poetry_entry(name: &str, value: &Value) -> Vec<String> {
    if name == "python" {
        return Vec::new();
    }
    match value {
        Value::String(version) => vec![format!("{name}{}", poetry_specifier(version))],
        Value::Array(list) => list.iter().flat_map(|value| of_poetry_entry(name, value)).collect(),
        Value::Table(table) => {
            let text = |key: &str| table.get(key).and_then(Value::as_str);
            if text("path").is_some() {
                return Vec::new();
            }
            let extras = strings(table.get("extras")).collect::<Vec<_>>().join(",");
            let extras = if extras.is_empty() { extras } else { format!("[{extras}]") };
            let place = match (text("git"), text("url"), text("version")) {
                (Some(git), ..) => {
                    let revision = ["rev", "tag", "branch"].iter().find_map(|key| text(key));
                    let revision = revision.map(|revision| format!("@{revision}"));
                    format!(" @ git+{git}{}", revision.unwrap_or_default())
                }
                (None, Some(url), _) => format!(" @ {url}"),
                (None, None, version) => poetry_specifier(version.unwrap_or("*")),
            };
            let mut markers: Vec<String> = text("markers").map(str::to_owned).into_iter().collect();
            let pythons = text("python").map(poetry_specifier).unwrap_or_default();
            for part in pythons.split(',').filter(|part| !part.is_empty()) {
                let digits = part.find(|char: char| char.is_ascii_digit()).unwrap_or(part.len());
                let (operator, version) = part.split_at(digits);
                markers.push(format!("python_version {operator} '{version}'"));
            }
            let marker = markers.iter().map(|marker| format!("({marker})")).collect::<Vec<_>>();
            vec![with_marker(&format!("{name}{extras}{place}"), &marker.join(" and "), "")]
        }
        _ => Vec::new(),
    }
}

/// `^1.2` and the like as PEP 440 has them. What has no such form is no restriction.
fn poetry_specifier(version: &str) -> String {
    if version.contains('|') {
        return String::new();
    }
    let one = |part: &str| -> Option<String> {
        let part = part.trim();
        if part.is_empty() || part == "*" {
            return None;
        }
        if let Some(lower) = part.strip_prefix('^') {
            return Some(format!(">={lower},<{}", next(lower.trim(), true)?));
        }
        if let Some(lower) = part.strip_prefix('~').filter(|rest| !rest.starts_with('=')) {
            return Some(format!(">={lower},<{}", next(lower.trim(), false)?));
        }
        let bare = part.starts_with(|char: char| char.is_ascii_digit());
        Some(if bare { format!("=={part}") } else { part.replace(' ', "") })
    };
    version.split(',').filter_map(one).collect::<Vec<_>>().join(",")
}

/// The first version that `^version` (or `~version`) excludes.
fn next(version: &str, caret: bool) -> Option<String> {
    let numbers: Vec<u64> = version.split('.').map_while(|part| part.parse().ok()).collect();
    let place = if caret {
        numbers.iter().position(|&number| number > 0).unwrap_or(numbers.len().checked_sub(1)?)
    } else {
        usize::from(numbers.len() > 1)
    };
    let mut next = numbers[..=place].to_vec();
    next[place] += 1;
    Some(next.iter().map(u64::to_string).collect::<Vec<_>>().join("."))
}

/// A requirement with further conditions.
fn with_marker(line: &str, marker: &str, extra: &str) -> String {
    let (requirement, own) = match line.split_once(" ;").or_else(|| {
        // In an address a `;` needs a space before it to begin a marker.
        line.split_once(';').filter(|_| !line.contains(" @ "))
    }) {
        Some((requirement, own)) => (requirement.trim(), own.trim()),
        None => (line.trim(), ""),
    };
    let of_extra = if extra.is_empty() { String::new() } else { format!("extra == '{extra}'") };
    let markers: Vec<String> = [own, marker, &of_extra]
        .iter()
        .filter(|marker| !marker.is_empty())
        .map(|marker| format!("({marker})"))
        .collect();
    if markers.is_empty() {
        return requirement.to_owned();
    }
    format!("{requirement} ; {}", markers.join(" and "))
}

fn directories(parent: &Path, suffix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && path.to_string_lossy().ends_with(suffix))
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line for each thing that is known.
    fn shown(metadata: &Metadata) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(metadata.name.iter().map(|name| format!("name {name}")));
        lines.extend(metadata.version.iter().map(|version| format!("version {version}")));
        lines.extend(metadata.requires_python.iter().map(|text| format!("python {text}")));
        lines.extend(metadata.requires.iter().cloned());
        lines.extend(metadata.extras.iter().map(|extra| format!("extra {extra}")));
        for (name, group) in &metadata.groups {
            lines.push(format!("group {name}: {}", group.join(", ")));
        }
        lines.extend(metadata.dynamic.then(|| "dynamic".to_owned()));
        lines
    }

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(shown(&read_metadata(root.path())), expected, "{files:?}");
    }

    #[test]
    fn archives_carry_metadata() {
        let headers = "Metadata-Version: 2.1\nName: a\nVersion: 1\nRequires-Python: >=3.8\n\
                       License: Free\n        \n        Name: of all\n\
                       Requires-Dist: b>=1; extra == \"x\"\nRequires-Dist: c\nProvides-Extra: x\n\n\
                       Requires-Dist: text\n";
        let expected =
            ["name a", "version 1", "python >=3.8", "b>=1; extra == \"x\"", "c", "extra x"];
        check(&[("PKG-INFO", headers)], &expected);
        check(&[("a-1.dist-info/METADATA", headers), ("a/PKG-INFO", "x")], &expected);
        check(
            &[
                ("PKG-INFO", "Metadata-Version: 1.2\nName: a\n"),
                (
                    "src/a.egg-info/requires.txt",
                    "b\n\n[:python_version < '3']\nc>=1\n\n[t]\nd\n[t:os_name == 'nt']\ne ; x",
                ),
                ("pyproject.toml", "[dependency-groups]\ndev = ['z']\n"),
            ],
            &[
                "name a",
                "b",
                "c>=1 ; (python_version < '3')",
                "d ; (extra == 't')",
                "e ; (x) and (os_name == 'nt') and (extra == 't')",
                "extra t",
                "group dev: z",
            ],
        );
    }

    #[test]
    fn settings_carry_metadata() {
        check(
            &[(
                "pyproject.toml",
                "[project]\nname = 'a'\nrequires-python = '>=3.9'\ndependencies = ['b>1']\n\
                 [project.optional-dependencies]\ntest = ['c', 'd;os_name==\"nt\"']\n\
                 [dependency-groups]\ndev = ['e', {include-group = 'Test'}]\ntest = ['f', {include-group = 'dev'}]\n",
            )],
            &[
                "name a",
                "python >=3.9",
                "b>1",
                "c ; (extra == 'test')",
                "d ; (os_name==\"nt\") and (extra == 'test')",
                "extra test",
                "group dev: e, f",
                "group test: f, e",
            ],
        );
        let project = "[project]\nname = 'a'\ndynamic = ['dependencies']\n";
        check(&[("pyproject.toml", project)], &["name a", "dynamic"]);
        let settings = "[metadata]\nname = a\n[options]\npython_requires = >=3.9\n\
                        install_requires =\n    b>1\n    # why\n    c\n\
                        [options.extras_require]\ntest =\n    d\ndocs = e\n";
        let known = ["b>1", "c", "d ; (extra == 'test')", "e ; (extra == 'docs')"];
        let extras = ["extra docs", "extra test"];
        let expected = [&["name a"], &known[..], &extras[..]].concat();
        check(&[("pyproject.toml", project), ("setup.cfg", settings)], &expected);
        let expected = [&["name a", "python >=3.9"], &known[..], &extras[..]].concat();
        check(&[("setup.cfg", settings), ("setup.py", "setup()")], &expected);
        check(&[("setup.py", "setup(install_requires=x)")], &["dynamic"]);
        check(&[], &[]);
    }

    #[test]
    fn tools_carry_metadata() {
        check(
            &[(
                "pyproject.toml",
                "[tool.poetry]\nname = 'a'\n[tool.poetry.dependencies]\npython = '^3.8'\n\
                 b = '^1.2.3'\nc = {version = '~0.3', extras = ['x'], markers = \"os_name == 'nt'\"}\n\
                 d = {version = '*', optional = true}\ne = {path = '../e'}\nf = {git = 'https://h/f', tag = 'v1'}\n\
                 g = [{version = '1.0', python = '<3.9'}, {version = '>=2', python = '^3.9'}]\n\
                 [tool.poetry.extras]\nfull = ['d']\n\
                 [tool.poetry.dev-dependencies]\nh = '>=1 , <2'\n\
                 [tool.poetry.group.test.dependencies]\ni = '1.*'\nj = '^1 || ^2'\n",
            )],
            &[
                "name a",
                "python >=3.8,<4",
                "b>=1.2.3,<2",
                "c[x]>=0.3,<0.4 ; ((os_name == 'nt'))",
                "f @ git+https://h/f@v1",
                "g==1.0 ; ((python_version < '3.9'))",
                "g>=2 ; ((python_version >= '3.9') and (python_version < '4'))",
                "d ; (extra == 'full')",
                "extra full",
                "group dev: h>=1,<2",
                "group test: i==1.*, j",
            ],
        );
        check(
            &[(
                "pyproject.toml",
                "[tool.pdm.dev-dependencies]\ntest = ['b']\n[tool.uv]\ndev-dependencies = ['c']\n\
                 [tool.hatch.envs.test]\nextra-dependencies = ['d']\n",
            )],
            &["group dev: c", "group test: b, d"],
        );
    }

    #[test]
    fn carets_and_tildes() {
        for (version, expected) in [
            ("^0.2.3", ">=0.2.3,<0.3"),
            ("^0.0.3", ">=0.0.3,<0.0.4"),
            ("^0", ">=0,<1"),
            ("~1", ">=1,<2"),
            ("~=1.4", "~=1.4"),
            ("*", ""),
            ("!=1.5", "!=1.5"),
        ] {
            assert_eq!(poetry_specifier(version), expected);
        }
    }
}
