//! The versions of Python that a repository may run on, and the names that each version provides.
//!
//! The names are data (`python/names.txt`, printed by `.ci/names-of-pythons` from the interpreters themselves), so that
//! neither the Python of whoever builds this nor a list in code decides them.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// A version of Python as (major, minor).
type Version = (u8, u8);

/// A range of versions of Python: one version where the target is known, else all that are supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pythons {
    oldest: Version,
    newest: Version,
}

/// The versions that have a name.
type Names = FxHashMap<&'static str, Pythons>;

/// Names that every module has without a statement that binds them.
const OF_MODULES: [&str; 8] = [
    "__builtins__",
    "__doc__",
    "__file__",
    "__loader__",
    "__name__",
    "__package__",
    "__path__",
    "__spec__",
];

static NAMES: LazyLock<(Names, Names)> = LazyLock::new(|| read(include_str!("python/names.txt")));

impl Pythons {
    /// All versions that gistify supports.
    pub const SUPPORTED: Self = Self { oldest: (3, 9), newest: (3, 15) };

    /// The one version that a command runs on; all supported ones where that is outside of them.
    pub fn only(version: Version) -> Self {
        let one = Self { oldest: version, newest: version };
        if Self::SUPPORTED.has(version) { one } else { Self::SUPPORTED }
    }

    /// The oldest version.
    pub const fn oldest(self) -> Version {
        self.oldest
    }

    /// The newest version.
    pub const fn newest(self) -> Version {
        self.newest
    }

    /// Returns true if a version lies in the range.
    pub fn has(self, version: Version) -> bool {
        (self.oldest..=self.newest).contains(&version)
    }

    /// Returns true if the newest of these versions finds a name without any binding in the module.
    ///
    /// `frozendict` is a builtin of 3.15 and a name like any other before.
    pub fn has_builtin(self, name: &str) -> bool {
        OF_MODULES.contains(&name)
            || NAMES.0.get(name).is_some_and(|versions| versions.has(self.newest))
    }

    /// Returns true if the standard library of the newest of these versions has a top-level module of this name.
    pub(crate) fn has_module(self, name: &str) -> bool {
        NAMES.1.get(name).is_some_and(|versions| versions.has(self.newest))
    }
}

impl Default for Pythons {
    fn default() -> Self {
        Self::SUPPORTED
    }
}

/// Reads lines such as `builtin abs`, `module tomllib from 3.11` and `module imp to 3.11`.
fn read(text: &'static str) -> (Names, Names) {
    let mut names = (Names::default(), Names::default());
    for line in text.lines() {
        let mut words = line.split(' ');
        let (Some(kind), Some(name)) = (words.next(), words.next()) else { continue };
        let mut versions = Pythons::SUPPORTED;
        while let (Some(bound), Some(version)) = (words.next(), words.next().and_then(version)) {
            match bound {
                "from" => versions.oldest = version,
                _ => versions.newest = version,
            }
        }
        let list = if kind == "builtin" { &mut names.0 } else { &mut names.1 };
        list.insert(name, versions);
    }
    names
}

fn version(text: &str) -> Option<Version> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_version() {
        let on = |minor| Pythons::only((3, minor));
        for (name, minor, expected) in [
            ("isinstance", 9, true),
            ("numpy", 15, false),
            ("__file__", 9, true),
            ("aiter", 9, false),
            ("aiter", 10, true),
            ("frozendict", 14, false),
            ("frozendict", 15, true),
            ("sentinel", 15, true),
        ] {
            assert_eq!(on(minor).has_builtin(name), expected, "{name} on 3.{minor}");
        }
        for (name, minor, expected) in [
            ("imp", 11, true),
            ("imp", 12, false),
            ("tomllib", 10, false),
            ("annotationlib", 14, true),
            ("profiling", 14, false),
            ("profiling", 15, true),
            ("test", 15, false),
        ] {
            assert_eq!(on(minor).has_module(name), expected, "{name} on 3.{minor}");
        }
    }

    #[test]
    fn a_version_outside_of_the_range_decides_nothing() {
        assert_eq!(Pythons::only((3, 8)), Pythons::SUPPORTED);
        assert_eq!(Pythons::only((0, 0)), Pythons::SUPPORTED);
        assert_eq!(Pythons::only((3, 14)).newest(), (3, 14));
    }

    /// Interpreters of this machine, where it has any of the range, have what the data says.
    #[test]
    fn interpreters_agree() {
        let ask = "import builtins, sys\nprint(*sys.version_info[:2])\nprint(*dir(builtins))\n\
                   print(*getattr(sys, 'stdlib_module_names', ()))";
        let mut asked = 0;
        for minor in 9..=15 {
            let program = format!("python3.{minor}");
            let Ok(output) = std::process::Command::new(program).args(["-c", ask]).output() else {
                continue;
            };
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut lines = text.lines();
            if lines.next() != Some(&format!("3 {minor}")) {
                continue;
            }
            asked += 1;
            let python = Pythons::only((3, minor));
            let mut names = lines.map(|line| line.split(' ').collect::<Vec<_>>());
            let (builtins, modules) = (names.next().unwrap(), names.next().unwrap());
            let unknown = builtins.iter().filter(|name| !python.has_builtin(name));
            assert_eq!(unknown.count(), 0, "builtins of 3.{minor}");
            let public = modules.iter().filter(|name| !name.starts_with('_') && !name.is_empty());
            let unknown: Vec<_> = public.filter(|name| !python.has_module(name)).collect();
            assert!(unknown.is_empty(), "modules of 3.{minor}: {unknown:?}");
        }
        if asked == 0 {
            println!("skipped: no python3.9 to python3.15 on the PATH");
        }
    }
}
