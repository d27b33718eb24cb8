//! Lock files of each format that is read, as lines for an installer: requirements files, `pylock.toml` (PEP 751) and
//! `uv.lock`.
//!
//! A lock pins; nothing is resolved here. The repository's own package is left out: a run sees its copy.

use std::{collections::BTreeSet, fs, path::Path, str::FromStr};

use pep508_rs::{ExtraName, MarkerEnvironment, MarkerTree};
use toml::{Table, Value};

use super::{
    EnvironmentError,
    layout::strings,
    requirements::{is_for_development, is_for_tests},
};

/// A lock file.
#[derive(Debug)]
pub(super) struct LockFile {
    text: String,
    format: LockFormat,
}

#[derive(Debug)]
enum LockFormat {
    Requirements,
    Pylock(Table),
    Uv(Table),
}

/// The major version of `pylock.toml` that is understood.
const PYLOCK: &str = "1.";

impl LockFile {
    /// Reads a lock file and tells its format by its content.
    ///
    /// # Errors
    /// The file cannot be read, is of a format that is not read, or pins nothing.
    pub(super) fn read(path: &Path) -> Result<Self, EnvironmentError> {
        let text = fs::read_to_string(path).map_err(super::provision::at(path))?;
        Self::parse(text)
            .map_err(|reason| EnvironmentError::Lock { path: path.to_path_buf(), reason })
    }

    fn parse(text: String) -> Result<Self, String> {
        let tables = |table: &Table, key: &str| !each(table.get(key)).is_empty();
        let format = match text.parse::<Table>() {
            Ok(table) => match table.get("lock-version").and_then(Value::as_str) {
                Some(version) if version.starts_with(PYLOCK) => LockFormat::Pylock(table),
                Some(version) => {
                    return Err(format!("its lock-version is {version} (pylock.toml 1.0 is read)"));
                }
                None if table.get("version").is_some_and(Value::is_integer) => {
                    LockFormat::Uv(table)
                }
                // Comments alone are a table without keys.
                None if table.is_empty() => LockFormat::Requirements,
                None => return Err(unknown_format()),
            },
            Err(_) => LockFormat::Requirements,
        };
        let pins = match &format {
            LockFormat::Requirements => text.lines().any(is_requirement),
            LockFormat::Pylock(table) => tables(table, "packages"),
            LockFormat::Uv(table) => tables(table, "package"),
        };
        match pins {
            true => Ok(Self { text, format }),
            false if text.trim_start().starts_with(['{', '[']) => Err(unknown_format()),
            false => Err("it has no requirement".to_owned()),
        }
    }

    /// The whole text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The lines for an installer that resolves nothing, for an interpreter with these markers.
    pub(super) fn requirements(&self, markers: &MarkerEnvironment) -> String {
        let pins = match &self.format {
            LockFormat::Requirements => return self.text.clone(),
            LockFormat::Pylock(table) => of_pylock(table, markers),
            LockFormat::Uv(table) => of_uv(table, markers),
        };
        // An installer that sees one hash wants one for each.
        let hashed = pins.iter().all(|pin| !pin.hashes.is_empty());
        let lines = pins.into_iter().map(|pin| match hashed {
            true => pin.hashes.iter().fold(pin.line, |line, hash| format!("{line} --hash={hash}")),
            false => pin.line,
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Returns true if a line of a requirements file names a requirement.
pub(super) fn is_requirement(line: &str) -> bool {
    line.trim().starts_with(|char: char| char.is_ascii_alphanumeric())
}

fn unknown_format() -> String {
    "its format is not known (requirements files, pylock.toml and uv.lock are read)".to_owned()
}

/// One package as it is installed.
struct Pin {
    line: String,
    /// `sha256:...` of each file that the lock allows.
    hashes: BTreeSet<String>,
}

fn each(tables: Option<&Value>) -> Vec<&Table> {
    let list = tables.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_table).collect()
}

fn text<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Value::as_str)
}

/// The packages of a `pylock.toml` whose markers apply, with the extras and groups that are for tests.
fn of_pylock(lock: &Table, markers: &MarkerEnvironment) -> Vec<Pin> {
    let all = |key: &str| strings(lock.get(key)).map(str::to_owned).collect::<Vec<_>>();
    let (extras, groups) = (all("extras"), all("dependency-groups"));
    let wanted: Vec<String> = [&extras, &groups]
        .into_iter()
        .flat_map(|names| for_tests(names))
        .chain(all("default-groups"))
        .collect();
    let applies = |package: &&Table| {
        let marker = text(package, "marker").map(|marker| decided(marker, &wanted));
        marker.is_none_or(|marker| holds(&marker, markers, None))
    };
    let packages = each(lock.get("packages"));
    packages.into_iter().filter(applies).filter_map(pylock_pin).collect()
}

fn pylock_pin(package: &Table) -> Option<Pin> {
    let name = text(package, "name")?;
    let part = |key: &str| package.get(key).and_then(Value::as_table);
    // A directory is the repository itself, or a part of it.
    if part("directory").is_some() {
        return None;
    }
    let files = each(package.get("wheels")).into_iter().chain(part("sdist")).chain(part("archive"));
    let hashes = files.filter_map(|file| file.get("hashes")?.get("sha256")?.as_str());
    let hashes = hashes.map(|hash| format!("sha256:{hash}")).collect();
    let line = match (part("vcs"), part("archive").and_then(|archive| text(archive, "url"))) {
        (Some(vcs), _) => {
            let (kind, url) = (text(vcs, "type")?, text(vcs, "url")?);
            let below = text(vcs, "subdirectory").map(|path| format!("#subdirectory={path}"));
            let below = below.unwrap_or_default();
            format!("{name} @ {kind}+{url}@{}{below}", text(vcs, "commit-id")?)
        }
        (None, Some(url)) => format!("{name} @ {url}"),
        (None, None) => format!("{name}=={}", text(package, "version")?),
    };
    Some(Pin { line, hashes })
}

/// A marker of PEP 751 without its conditions on extras and groups, which installers do not know of: `'test' in
/// dependency_groups` becomes a condition that always, or never, holds.
fn decided(marker: &str, wanted: &[String]) -> String {
    let mut text = marker.replace('"', "'");
    for list in ["dependency_groups", "extras"] {
        let (is, is_not) = (format!("' in {list}"), format!("' not in {list}"));
        for (condition, inside) in [(is, true), (is_not, false)] {
            while let Some(at) = text.find(&condition) {
                let Some(open) = text[..at].rfind('\'') else { return text };
                let known = wanted.iter().any(|name| *name == text[open + 1..at]);
                let fixed = match known == inside {
                    true => "python_version >= '0'",
                    false => "python_version < '0'",
                };
                text.replace_range(open..at + condition.len(), fixed);
            }
        }
    }
    text
}

fn holds(marker: &str, markers: &MarkerEnvironment, extra: Option<&ExtraName>) -> bool {
    let extras: &[ExtraName] = extra.map_or(&[], std::slice::from_ref);
    // A marker that makes no sense excludes nothing.
    MarkerTree::from_str(marker).map_or(true, |marker| marker.evaluate(markers, extras))
}

/// Returns the names that are for tests; where none is, those for development.
fn for_tests(names: &[String]) -> Vec<String> {
    let those = |wanted: fn(&str) -> bool| -> Vec<String> {
        names.iter().filter(|name| wanted(name)).cloned().collect()
    };
    Some(those(is_for_tests))
        .filter(|some| !some.is_empty())
        .unwrap_or_else(|| those(is_for_development))
}

/// The packages of a `uv.lock` that its own projects need: always, for tests, or for development.
fn of_uv(lock: &Table, markers: &MarkerEnvironment) -> Vec<Pin> {
    let packages = each(lock.get("package"));
    let source =
        |package: &Table, kind: &str| Some(package.get("source")?.get(kind)?.as_str()?.to_owned());
    let is_own = |package: &Table| {
        ["editable", "virtual", "directory"].iter().any(|kind| source(package, kind).is_some())
    };
    let mut seen: BTreeSet<(usize, Option<String>)> = BTreeSet::new();
    let mut pending: Vec<(usize, Option<String>)> = Vec::new();
    for (at, package) in packages.iter().enumerate().filter(|(_, package)| is_own(package)) {
        pending.push((at, None));
        for key in ["optional-dependencies", "dev-dependencies"] {
            let names = package.get(key).and_then(Value::as_table);
            let names: Vec<String> = names.into_iter().flat_map(Table::keys).cloned().collect();
            pending.extend(for_tests(&names).into_iter().map(|name| (at, Some(name))));
        }
    }
    while let Some((at, list)) = pending.pop() {
        if !seen.insert((at, list.clone())) {
            continue;
        }
        let package = packages[at];
        let needed = match &list {
            None => each(package.get("dependencies")),
            Some(name) => ["optional-dependencies", "dev-dependencies"]
                .iter()
                .flat_map(|key| each(package.get(*key).and_then(|lists| lists.get(name))))
                .collect(),
        };
        for wanted in needed {
            if !text(wanted, "marker").is_none_or(|marker| holds(marker, markers, None)) {
                continue;
            }
            let is_it = |other: &&Table| {
                text(other, "name") == text(wanted, "name")
                    && text(wanted, "version").is_none_or(|own| text(other, "version") == Some(own))
            };
            let fits = |other: &&Table| {
                let forks: Vec<&str> = strings(other.get("resolution-markers")).collect();
                forks.is_empty() || forks.iter().any(|marker| holds(marker, markers, None))
            };
            let found = packages.iter().position(|other| is_it(other) && fits(other));
            let Some(found) = found else { continue };
            pending.push((found, None));
            let extras = strings(wanted.get("extra")).map(|extra| (found, Some(extra.to_owned())));
            pending.extend(extras);
        }
    }
    let chosen: BTreeSet<usize> = seen.into_iter().map(|(at, _)| at).collect();
    let chosen = chosen.into_iter().map(|at| packages[at]).filter(|package| !is_own(package));
    let pin = |package: &Table| {
        let name = text(package, "name")?;
        let files = each(package.get("wheels")).into_iter();
        let files = files.chain(package.get("sdist").and_then(Value::as_table));
        let hashes = files.filter_map(|file| text(file, "hash")).map(str::to_owned).collect();
        let line = match (source(package, "git"), source(package, "url")) {
            // `URL?rev=NAME#COMMIT`
            (Some(git), _) => {
                let (url, commit) = git.split_once('#').unwrap_or((&git, "HEAD"));
                format!("{name} @ git+{}@{commit}", url.split('?').next().unwrap_or(url))
            }
            (None, Some(url)) => format!("{name} @ {url}"),
            (None, None) => format!("{name}=={}", text(package, "version")?),
        };
        Some(Pin { line, hashes })
    };
    chosen.filter_map(pin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lock: &str, expected: Result<&str, &str>) {
        let markers: MarkerEnvironment = serde_json::from_str(
            r#"{"implementation_name": "cpython", "implementation_version": "3.14.0",
                "os_name": "posix", "platform_machine": "x86_64",
                "platform_python_implementation": "CPython", "platform_release": "6",
                "platform_system": "Linux", "platform_version": "6",
                "python_full_version": "3.14.0", "python_version": "3.14", "sys_platform": "linux"}"#,
        )
        .unwrap();
        let found = LockFile::parse(lock.to_owned()).map(|lock| lock.requirements(&markers));
        let found = found.as_ref().map(String::as_str).map_err(String::as_str);
        assert_eq!(found, expected, "{lock}");
    }

    #[test]
    fn requirements_files_stay_as_they_are() {
        check(
            "# pins\na==1\nb==2 ; os_name == 'nt'\n",
            Ok("# pins\na==1\nb==2 ; os_name == 'nt'\n"),
        );
        check("# nothing\n", Err("it has no requirement"));
        check("", Err("it has no requirement"));
    }

    #[test]
    fn other_formats_are_refused_in_a_sentence() {
        let unknown =
            "its format is not known (requirements files, pylock.toml and uv.lock are read)";
        check("[[package]]\nname = 'a'\n[metadata]\nlock-version = '2.1'\n", Err(unknown));
        check("{\"_meta\": {}}", Err(unknown));
        let newer = "its lock-version is 2.0 (pylock.toml 1.0 is read)";
        check("lock-version = '2.0'\n", Err(newer));
    }

    #[test]
    fn a_pylock_is_read() {
        check(
            "lock-version = '1.0'\ncreated-by = 'x'\ndependency-groups = ['test', 'docs']\nextras = ['fast']\n\
             [[packages]]\nname = 'a'\nversion = '1'\n\
             sdist = {name = 'a-1.tar.gz', hashes = {sha256 = '11'}}\n\
             wheels = [{name = 'a-1-py3-none-any.whl', hashes = {sha256 = '22'}}]\n\
             [[packages]]\nname = 'old'\nversion = '1'\nmarker = \"python_version < '3.12'\"\n\
             [[packages]]\nname = 'b'\nversion = '2'\nmarker = \"'test' in dependency_groups and os_name == 'posix'\"\n\
             wheels = [{name = 'b-2-py3-none-any.whl', hashes = {sha256 = '33'}}]\n\
             [[packages]]\nname = 'd'\nversion = '4'\nmarker = \"'docs' in dependency_groups or 'fast' in extras\"\n\
             [[packages]]\nname = 'own'\ndirectory = {path = '.', editable = true}\n",
            Ok("a==1 --hash=sha256:11 --hash=sha256:22\nb==2 --hash=sha256:33"),
        );
        check(
            "lock-version = '1.0'\n[[packages]]\nname = 'a'\nversion = '1'\n\
             wheels = [{hashes = {sha256 = '22'}}]\n\
             [[packages]]\nname = 'v'\nvcs = {type = 'git', url = 'https://x/v', commit-id = 'c0', subdirectory = 's'}\n\
             [[packages]]\nname = 'z'\narchive = {url = 'https://x/z.zip', hashes = {sha256 = '44'}}\n",
            Ok("a==1\nv @ git+https://x/v@c0#subdirectory=s\nz @ https://x/z.zip"),
        );
        check("lock-version = '1.0'\n", Err("it has no requirement"));
    }

    #[test]
    fn a_uv_lock_is_read_from_its_own_projects_on() {
        check(
            "version = 1\nrevision = 3\nrequires-python = '>=3.9'\n\
             [[package]]\nname = 'own'\nversion = '0'\nsource = { editable = '.' }\n\
             dependencies = [{ name = 'a' }, { name = 'old', marker = \"python_full_version < '3.12'\" }]\n\
             [package.optional-dependencies]\nfast = [{ name = 'fast' }]\n\
             [package.dev-dependencies]\ndev = [{ name = 'lint' }]\ntest = [{ name = 'pytest', extra = ['x'] }]\n\
             [[package]]\nname = 'a'\nversion = '1'\nsource = { registry = 'https://x/simple' }\n\
             sdist = { url = 'u', hash = 'sha256:11' }\n\
             [[package]]\nname = 'old'\nversion = '1'\nsource = { registry = 'r' }\n\
             [[package]]\nname = 'lint'\nversion = '1'\nsource = { registry = 'r' }\n\
             [[package]]\nname = 'fast'\nversion = '1'\nsource = { registry = 'r' }\n\
             [[package]]\nname = 'more'\nversion = '5'\nsource = { registry = 'r' }\n\
             wheels = [{ url = 'u', hash = 'sha256:55' }]\n\
             [[package]]\nname = 'pytest'\nversion = '9'\nsource = { registry = 'r' }\n\
             wheels = [{ url = 'u', hash = 'sha256:99' }]\n\
             [package.optional-dependencies]\nx = [{ name = 'more' }]\n",
            Ok("a==1 --hash=sha256:11\nmore==5 --hash=sha256:55\npytest==9 --hash=sha256:99"),
        );
    }
}
