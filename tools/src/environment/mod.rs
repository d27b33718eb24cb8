//! The interpreter and packages that a command runs with.
//!
//! The user's interpreter is only queried and never changed; missing packages are installed into
//! environments of our own. The repository itself is never installed: a copy of it is put on the
//! path.

mod inline;
mod interpreter;
mod inventory;
mod layout;
mod lock;
mod metadata;
mod probe;
mod provision;
mod requirements;

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    str::FromStr,
};

use graph::Pythons;
use pep508_rs::pep440_rs::{Version, VersionSpecifiers};
use serde::{Deserialize, Serialize};

use crate::{
    cache::{Cache, CacheError},
    progress::Progress,
    sandbox::{Sandbox, SandboxError},
};
use probe::Probe;

pub use inline::{InlineError, InlineSpec, InlinedPackages, inline_packages, is_inlined_from};
pub use interpreter::{declared_version, default_interpreter, find_interpreter, find_interpreters};
pub use inventory::{Distribution, Inventory, project};
pub(crate) use probe::{link_chain, probe};
pub use provision::ProvisionRequest;

/// The oldest and the newest version that is supported.
const OLDEST: (u8, u8) = Pythons::SUPPORTED.oldest();
const NEWEST: (u8, u8) = Pythons::SUPPORTED.newest();

/// A Python interpreter with the packages of a task, without the repository's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Absolute path of the interpreter, not resolved through links (a virtual environment's
    /// interpreter is a link).
    pub python: PathBuf,
    /// Its version: major, minor, micro.
    pub version: (u8, u8, u8),
    /// Directories that the interpreter reads: its prefix, base prefix and site directories.
    pub readable: Vec<PathBuf>,
    /// Entries of `PYTHONPATH`, relative to the repository's root: `""`, `"src"`.
    pub pythonpath: Vec<String>,
    /// The version of pytest, where it has one.
    pub pytest: Option<String>,
}

/// Why there is no environment.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// The interpreter cannot be used.
    #[error("use interpreter {python}: {reason}")]
    Interpreter {
        /// Its path.
        python: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The interpreter is none of those that are supported.
    #[error(
        "use interpreter {python}: {what} is not supported (CPython {}.{} to {}.{} is)",
        OLDEST.0, OLDEST.1, NEWEST.0, NEWEST.1
    )]
    Unsupported {
        /// Its path.
        python: PathBuf,
        /// Its version, implementation or kind of build.
        what: String,
    },
    /// The interpreter has no pytest.
    #[error(
        "use interpreter {python}: it has no pytest \
         (install it with `{python} -m pip install pytest`, or name another one with --python)"
    )]
    NoPytest {
        /// Its path.
        python: PathBuf,
    },
    /// No interpreter of this machine is allowed.
    #[error(
        "find an interpreter: {wanted} is needed, this machine has {found} (install it, or name a version with --python)"
    )]
    NoInterpreter {
        /// The requested versions.
        wanted: String,
        /// The versions that there are.
        found: String,
    },
    /// The lock file cannot be used.
    #[error("read lock {path}: {reason}")]
    Lock {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Something cannot be installed.
    #[error("install {what}: {reason}; the end of the log:\n{log}")]
    Install {
        /// The requirement, or the step.
        what: String,
        /// The fault.
        reason: String,
        /// The last lines that the installer printed.
        log: String,
    },
    /// A file cannot be read or written.
    #[error("make an environment: {path}: {}", crate::workspace::explain(.source))]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The user stopped it.
    #[error("make an environment: interrupted")]
    Interrupted,
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

impl Environment {
    /// Puts entries of `PYTHONPATH` before all others. They are relative to the repository's root.
    pub fn put_roots_first(&mut self, entries: Vec<String>) {
        let others = std::mem::take(&mut self.pythonpath);
        for entry in entries.into_iter().chain(others) {
            if !self.pythonpath.contains(&entry) {
                self.pythonpath.push(entry);
            }
        }
    }

    /// Names of what is installed, versions included: the metadata of its site directories.
    pub fn distributions(&self) -> BTreeSet<String> {
        let version = format!("python{}.{}", self.version.0, self.version.1);
        let mut names = BTreeSet::new();
        for directory in &self.readable {
            let site = directory.join("lib").join(&version).join("site-packages");
            for place in [site.as_path(), directory.as_path()] {
                let Ok(entries) = fs::read_dir(place) else { continue };
                for entry in entries.flatten() {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    let ends = [".dist-info", ".egg-info", ".egg-link", ".pth"];
                    if ends.iter().any(|end| name.ends_with(end)) {
                        names.insert(name);
                    }
                }
            }
        }
        names
    }

    /// The environment that an interpreter has, for a repository at `root`. The interpreter is not
    /// changed; packages in the user's own site directory are no part of it.
    ///
    /// # Errors
    /// When the interpreter is missing, is none that is supported, or cannot be started.
    pub fn of_interpreter(
        python: &Path,
        root: &Path,
        sandbox: &dyn Sandbox,
    ) -> Result<Environment, EnvironmentError> {
        let python = std::path::absolute(python).map_err(|source| {
            EnvironmentError::Interpreter { python: python.into(), reason: source.to_string() }
        })?;
        let python = interpreter::behind_shim(&python, root).unwrap_or(python);
        let probe = probe(&python, sandbox)?;
        if let Some(what) = probe.unsupported() {
            return Err(EnvironmentError::Unsupported { python, what });
        }
        Ok(Environment {
            readable: readable(&python, &probe, root),
            python: if is_script(&python) { probe.executable } else { python },
            version: probe.version,
            pythonpath: layout::pythonpath(root),
            pytest: probe.pytest,
        })
    }

    /// Returns an environment for a repository, from the cache or newly created there.
    ///
    /// # Errors
    /// No interpreter fits, or something cannot be installed; the error names it, with the end of
    /// the installer's log.
    pub fn provision(
        request: &ProvisionRequest<'_>,
        cache: &Cache,
        sandbox: &dyn Sandbox,
        progress: &dyn Fn(Progress<'_>),
    ) -> Result<Environment, EnvironmentError> {
        provision::provision(request, cache, sandbox, progress)
    }

    /// The versions that a repository allows, where this one is none of them: it may run nevertheless.
    pub fn unmet_requirement(&self, root: &Path) -> Option<String> {
        let required = metadata::read_metadata(root).requires_python?;
        let (major, minor, micro) = self.version;
        let version = Version::new([major, minor, micro].map(u64::from));
        // A specifier that makes no sense restricts nothing.
        let allowed = VersionSpecifiers::from_str(&required).ok()?.contains(&version);
        (!allowed).then_some(required)
    }

    /// Fails where a command that needs pytest cannot run.
    ///
    /// # Errors
    /// When the interpreter has no pytest; the error names it.
    pub fn require_pytest(&self) -> Result<(), EnvironmentError> {
        match self.pytest {
            Some(_) => Ok(()),
            None => Err(EnvironmentError::NoPytest { python: self.python.clone() }),
        }
    }
}

/// Returns the paths that the interpreter reads, without those below the repository's root.
///
/// An editable installation adds the original there, which a run must not see. The interpreter's
/// own prefix is the exception.
fn readable(python: &Path, probe: &Probe, root: &Path) -> Vec<PathBuf> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let mut found = link_chain(python);
    found.extend(probe.prefixes.iter().flat_map(|prefix| probe::parts(prefix)));
    let inside = |path: &PathBuf| probe.prefixes.iter().any(|prefix| path.starts_with(prefix));
    let seen = |path: &PathBuf| inside(path) || !path.starts_with(&root);
    found.extend(probe.path.iter().chain([&probe.libraries]).filter(|path| seen(path)).cloned());
    let shown = |path: &PathBuf| !root.starts_with(path) && !probe::is_system(path);
    found.retain(|path| path.is_absolute() && shown(path) && path.exists());
    found.sort();
    found.dedup();
    let mut outermost: Vec<PathBuf> = Vec::new();
    for path in found {
        if !outermost.last().is_some_and(|outer| path.starts_with(outer)) {
            outermost.push(path);
        }
    }
    outermost
}

/// Returns true if the interpreter is a script that starts another one.
fn is_script(python: &Path) -> bool {
    let mut start = [0; 2];
    let read = std::fs::File::open(python)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    read.is_ok() && &start == b"#!"
}
