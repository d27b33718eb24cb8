//! Selects the packages to install for a repository: its own requirements, those of its tests, and
//! pytest.
//!
//! Conventional names decide which lists are for tests: extras, groups and files called `test` and
//! similar, or otherwise `dev`. Plugins that pytest's settings require are installed as well, as
//! pytest does not start without them.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
    str::FromStr,
};

use pep508_rs::{ExtraName, MarkerEnvironment, MarkerTree, PackageName, Requirement, VerbatimUrl};

use super::{
    layout::{ini_values, pytest_values, read, read_toml},
    metadata::Metadata,
};

/// Lines for an installer, for an interpreter with these markers; each once, in order.
pub(super) fn requirements(
    root: &Path,
    metadata: &Metadata,
    markers: &MarkerEnvironment,
) -> Vec<String> {
    let own = metadata.name.as_deref().and_then(|name| PackageName::from_str(name).ok());
    let mut resolving =
        Resolving { metadata, markers, own, extras: BTreeSet::new(), found: Vec::new() };
    resolving.extra(None);
    if metadata.requires.is_empty() {
        // Without any metadata this file is all that there is.
        for line in requirement_file(root, Path::new("requirements.txt")) {
            resolving.line(&line, None);
        }
    }
    if !resolving.lists(root, is_for_tests) {
        let lines = ini_values(&read(&root.join("tox.ini")), "testenv", "deps");
        if !resolving.take_lines(root, lines) {
            resolving.lists(root, is_for_development);
        }
    }
    resolving.line("pytest", None);
    let settings = read_toml(&root.join("pyproject.toml"));
    for plugin in pytest_values(root, &settings, "required_plugins") {
        resolving.line(&plugin, None);
    }
    resolving.found
}

/// One evaluation of all lists.
struct Resolving<'a> {
    metadata: &'a Metadata,
    markers: &'a MarkerEnvironment,
    own: Option<PackageName>,
    /// Extras of the repository's own that are taken already.
    extras: BTreeSet<ExtraName>,
    found: Vec<String>,
}

impl Resolving<'_> {
    /// Takes every list with such a name; says whether there was one.
    fn lists(&mut self, root: &Path, wanted: fn(&str) -> bool) -> bool {
        let mut any = false;
        let metadata = self.metadata;
        for extra in metadata.extras.iter().filter(|extra| wanted(extra)) {
            if let Ok(extra) = ExtraName::from_str(extra) {
                any = true;
                self.extra(Some(extra));
            }
        }
        for (_, lines) in metadata.groups.iter().filter(|(name, _)| wanted(name)) {
            any |= self.take_lines(root, lines.clone());
        }
        for file in requirement_files(root, wanted) {
            any |= self.take_lines(root, requirement_file(root, &file));
        }
        any
    }

    /// Takes lines, of which some may name files; says whether there was one.
    fn take_lines(&mut self, root: &Path, lines: Vec<String>) -> bool {
        let mut any = false;
        for line in lines {
            match included(&line) {
                Some(file) => {
                    let lines = requirement_file(root, Path::new(file));
                    any |= self.take_lines(
                        root,
                        lines.into_iter().filter(|l| included(l).is_none()).collect(),
                    );
                }
                None => any |= self.line(&line, None),
            }
        }
        any
    }

    /// Takes what the repository itself needs: always, or for an extra.
    fn extra(&mut self, extra: Option<ExtraName>) {
        if let Some(extra) = &extra
            && !self.extras.insert(extra.clone())
        {
            return;
        }
        let metadata = self.metadata;
        for line in &metadata.requires {
            self.line(line, extra.as_ref());
        }
    }

    /// Takes one line where its markers apply: with the extra, but not without it.
    fn line(&mut self, line: &str, extra: Option<&ExtraName>) -> bool {
        // Others are such as an option, a path or a template.
        let Some(requirement) = parsed(line) else { return false };
        let with: &[ExtraName] = extra.map_or(&[], std::slice::from_ref);
        let applies = |extras: &[ExtraName]| requirement.evaluate_markers(self.markers, extras);
        if !applies(with) || extra.is_some() && applies(&[]) {
            return true;
        }
        if Some(&requirement.name) == self.own.as_ref() {
            // The repository is not installed, but its extras may be meant.
            for extra in requirement.extras {
                self.extra(Some(extra));
            }
            return true;
        }
        let bare = Requirement { marker: MarkerTree::TRUE, ..requirement };
        let text = bare.to_string();
        if !self.found.contains(&text) {
            self.found.push(text);
        }
        true
    }
}

/// A requirement, where a line is one. The library panics at names that end in the middle, as `name- {rest}` and
/// `name[extra-]` do.
pub(super) fn parsed(line: &str) -> Option<Requirement<VerbatimUrl>> {
    let is_whole = |name: &str| name.ends_with(|c: char| c.is_ascii_alphanumeric());
    let line = line.trim();
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c));
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let extras = rest.trim_start().strip_prefix('[').and_then(|rest| rest.split(']').next());
    let mut extras =
        extras.unwrap_or("").split(',').filter_map(|one| one.split_whitespace().next());
    (is_whole(name) && extras.all(is_whole)).then(|| Requirement::from_str(line).ok()).flatten()
}

pub(super) fn is_for_tests(name: &str) -> bool {
    let name = name.to_lowercase().replace(['_', '.'], "-");
    name.split('-').any(|word| matches!(word, "test" | "tests" | "testing" | "unittest" | "pytest"))
}

pub(super) fn is_for_development(name: &str) -> bool {
    let name = name.to_lowercase().replace(['_', '.'], "-");
    name.split('-').any(|word| matches!(word, "dev" | "devel" | "develop" | "development"))
}

/// Returns the requirement files for a purpose, by their names, relative to the root.
fn requirement_files(root: &Path, wanted: fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in ["", "requirements", "reqs", "test", "tests", "testing"] {
        let Ok(entries) = root.join(directory).read_dir() else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".txt") else { continue };
            // Either the file or its directory says `requirements`, and one of them what for.
            let whole = format!("{directory}-{stem}");
            let is_list = whole.contains("requirements") || whole.contains("reqs");
            if is_list && wanted(&whole) && entry.path().is_file() {
                found.push(Path::new(directory).join(name));
            }
        }
    }
    found.sort();
    found
}

/// The lines of a requirement file and of those that it includes, without options.
fn requirement_file(root: &Path, file: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut seen = BTreeSet::new();
    let mut pending = vec![file.to_path_buf()];
    while let Some(file) = pending.pop() {
        let inside = file.components().all(|part| matches!(part, Component::Normal(_)));
        if !inside || !seen.insert(file.clone()) {
            continue;
        }
        let text = read(&root.join(&file)).replace("\\\n", " ");
        for line in text.lines().map(str::trim) {
            let line = line.split(" #").next().unwrap_or_default();
            let line = line.split(" --").next().unwrap_or_default().trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match included(line) {
                Some(other) => {
                    let parent = file.parent().unwrap_or(Path::new(""));
                    pending.extend(normal(&parent.join(other)));
                }
                None if line.starts_with('-') => {}
                None => lines.push(line.to_owned()),
            }
        }
    }
    lines
}

/// The file that a line includes.
fn included(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("--requirement").or_else(|| line.strip_prefix("-r"))?;
    Some(rest.trim_start_matches('=').trim()).filter(|file| !file.is_empty())
}

/// A path without `.` and `..`; `None` where it leads out.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut parts = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part),
            Component::CurDir => {}
            Component::ParentDir if parts.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{super::metadata::read_metadata, *};

    fn markers() -> MarkerEnvironment {
        serde_json::from_str(
            r#"{"implementation_name": "cpython", "implementation_version": "3.11.7",
                "os_name": "posix", "platform_machine": "x86_64",
                "platform_python_implementation": "CPython", "platform_release": "6",
                "platform_system": "Linux", "platform_version": "6",
                "python_full_version": "3.11.7", "python_version": "3.11", "sys_platform": "linux"}"#,
        )
        .unwrap()
    }

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let metadata = read_metadata(root.path());
        assert_eq!(requirements(root.path(), &metadata, &markers()), expected, "{files:?}");
    }

    #[test]
    fn markers_decide() {
        check(
            &[(
                "PKG-INFO",
                "Metadata-Version: 2.1\nName: a\nRequires-Dist: b (>=1,<2)\n\
                 Requires-Dist: old; python_version < '3.8'\nRequires-Dist: new; python_version >= '3.8'\n\
                 Requires-Dist: c; extra == 'test' and os_name == 'posix'\n\
                 Requires-Dist: d; extra == 'test' and os_name == 'nt'\n\
                 Requires-Dist: e; extra == 'docs'\n\
                 Provides-Extra: test\nProvides-Extra: docs\n",
            )],
            &["b>=1,<2", "new", "c", "pytest"],
        );
    }

    #[test]
    fn tests_come_before_development() {
        let project = |rest: &str| format!("[project]\nname = 'a'\ndependencies = ['b']\n{rest}");
        let both = "[project.optional-dependencies]\ndev = ['c']\nTesting = ['d', 'pytest>=7']\n";
        check(&[("pyproject.toml", &project(both))], &["b", "d", "pytest>=7", "pytest"]);
        let groups = "[dependency-groups]\ndev = ['c']\nlint = ['x']\n";
        check(&[("pyproject.toml", &project(groups))], &["b", "c", "pytest"]);
        let tests = "[dependency-groups]\ndev = ['c']\nunit-test = ['d']\n";
        check(&[("pyproject.toml", &project(tests))], &["b", "d", "pytest"]);
        check(
            &[
                ("pyproject.toml", &project("")),
                ("tox.ini", "[testenv]\ndeps =\n    d>1\n    py: x\n"),
            ],
            &["b", "d>1", "pytest"],
        );
    }

    #[test]
    fn plugins_are_needed_that_settings_require() {
        let settings = "[tool.pytest.ini_options]\nrequired_plugins = 'pytest-a>=2 pytest-b'\n";
        check(&[("pyproject.toml", settings)], &["pytest", "pytest-a>=2", "pytest-b"]);
        let settings = "[pytest]\nrequired_plugins =\n    pytest-a\n    pytest-b\n";
        check(&[("pytest.ini", settings)], &["pytest", "pytest-a", "pytest-b"]);
        check(&[("setup.cfg", "[tool:pytest]\naddopts = --strict-markers\n")], &["pytest"]);
    }

    #[test]
    fn an_extra_may_name_the_repository_itself() {
        check(
            &[(
                "pyproject.toml",
                "[project]\nname = 'A.b'\n[project.optional-dependencies]\n\
                 test = ['a-b[x, test]', 'c']\nx = ['d']\ny = ['e']\n",
            )],
            &["d", "c", "pytest"],
        );
    }

    #[test]
    fn files_are_read() {
        check(
            &[
                (
                    "requirements.txt",
                    "b==1 --hash=sha256:00 \\\n    --hash=sha256:11\n# no\n\nc # why\n",
                ),
                ("requirements-dev.txt", "x\n"),
                (
                    "requirements/tests.txt",
                    "-r more/base.txt\n-e .[socks]\n-c limits.txt\n--index-url z\nd>=1\n../local\n",
                ),
                (
                    "requirements/more/base.txt",
                    "-r ../tests.txt\n-r ../../../outside.txt\ne ; os_name == 'posix'\n",
                ),
                ("tests/requirements.txt", "f\n"),
            ],
            &["b==1", "c", "d>=1", "e", "f", "pytest"],
        );
        check(&[("requirements-dev.txt", "x\n")], &["x", "pytest"]);
        // What is no requirement, some of it by its beginning alone.
        let none =
            "default- {x}\n  a-\nb. >=1\n-\n{x}\n\u{e9}\nc_[d]\nd[e-]\nf [g, h_ ]\ni[j- k]\nl[m-\n";
        check(&[("requirements-test.txt", none)], &["pytest"]);
        check(&[("docs/requirements-test.txt", "x\n")], &["pytest"]);
    }
}
