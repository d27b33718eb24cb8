//! A candidate directory: the repository without its modules and tests, and a gist in their place.
//!
//! The repository's package is neither installed nor importable there. Data files, pytest's
//! configuration and compiled extensions stay; whether the gist is any good is for `eval` to judge.

mod internal;
mod linked;
mod pytest_config;

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Component, Path, PathBuf},
};

use graph::Trace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use internal::Internal;
pub use linked::{Link, LinkedModule, LinkedSpec, lay_out_linked};

use crate::{
    command::{Command, CommandProgram},
    snapshot::in_parallel,
    workspace::Workspace,
};

/// The inputs of a candidate directory.
#[derive(Debug, Clone, Copy)]
pub struct CandidateSpec<'a> {
    /// A copy of the repository, as the original run found it; it is only read.
    pub original: &'a Path,
    /// The files that are removed.
    pub internal: &'a Internal,
    /// Text of the gist.
    pub gist: &'a str,
    /// The place of the gist.
    pub place: GistPlace,
    /// The command of the original.
    pub command: &'a Command,
}

/// The place of a gist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GistPlace {
    /// In the directory of the test, so that relative paths from `__file__` still work. The gist of a script has the
    /// script's name as well, which usage texts show and the script may read.
    #[default]
    BesideTest,
    /// In the repository's root.
    Root,
}

/// A directory in which a gist can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The directory.
    pub directory: PathBuf,
    /// Path of the gist, relative to it.
    pub gist: String,
    /// The command that runs the gist.
    pub command: Command,
    /// Top-level packages that it has to do without.
    pub absent: Vec<String>,
}

/// Why no candidate can be made.
#[derive(Debug, thiserror::Error)]
pub enum CandidateError {
    /// A file of the original cannot be read.
    #[error("read {path}: {source}")]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file of the candidate cannot be written.
    #[error("write {path}: {source}")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Name of a gist's file.
pub const GIST_NAME: &str = "concise.py";

impl Internal {
    /// Splits the files of `original`, a copy of the traced repository, into modules and data.
    ///
    /// # Errors
    /// When a directory of the copy cannot be read.
    pub fn of(trace: &Trace, original: &Path, command: &Command) -> Result<Self, CandidateError> {
        let entries = entries(trace, original, command);
        Self::of_entries(trace, original, &entries, are_tests(command))
            .map_err(|(path, source)| CandidateError::Read { path, source })
    }
}

impl GistPlace {
    /// Returns the path of the gist for a command, relative to the repository.
    pub fn gist_path(self, command: &Command) -> String {
        let tests = command.tests();
        let directory = match (self, tests.first()) {
            (GistPlace::BesideTest, Some(test)) => match test.path.rsplit_once('/') {
                Some((directory, _)) if test.path.ends_with(".py") => directory,
                None if test.path.ends_with(".py") => "",
                // The command names a directory.
                _ => test.path.trim_end_matches('/'),
            },
            _ => "",
        };
        let name = match (self, command.program()) {
            (GistPlace::BesideTest, CommandProgram::Script(path)) if path.ends_with(".py") => {
                split(path).1
            }
            _ => GIST_NAME,
        };
        if directory.is_empty() || directory == "." {
            name.to_owned()
        } else {
            format!("{directory}/{name}")
        }
    }
}

/// Makes a candidate directory of a workspace, or takes one up that an earlier run left, once it is whole again.
///
/// # Errors
/// When a file cannot be read or written; the error names it.
pub fn lay_out_in(
    workspace: &Workspace,
    spec: &CandidateSpec<'_>,
) -> Result<Candidate, CandidateError> {
    let gist = spec.place.gist_path(spec.command);
    let key = format!("{} {gist} {:?}", spec.original.display(), spec.internal);
    let key = blake3::hash(key.as_bytes()).to_hex().to_string();
    let taken = workspace.take(&key, |directory, ledger| {
        // Its other files are not copies alone: where one of them is gone, all are laid out again.
        let mut damaged =
            |path: &Path, _| Err((path.to_path_buf(), io::ErrorKind::NotFound.into()));
        ledger.restore(directory, &mut damaged)?;
        let path = directory.join(&gist);
        fs::write(&path, spec.gist).map_err(|error| (path, error))
    });
    if let Some((directory, absent)) = taken {
        return Ok(Candidate { directory, command: command_for(spec, &gist), gist, absent });
    }
    let into = workspace.directory("candidate").map_err(|error| CandidateError::Write {
        path: workspace.root().to_path_buf(),
        source: io::Error::other(error),
    })?;
    let candidate = lay_out(spec, &into)?;
    workspace.lend(&into, key, Some(Path::new(&candidate.gist)), candidate.absent.clone());
    Ok(candidate)
}

/// Makes a candidate directory in one that is empty or missing.
///
/// # Errors
/// When a file cannot be read or written; the error names it.
pub fn lay_out(spec: &CandidateSpec<'_>, into: &Path) -> Result<Candidate, CandidateError> {
    let gist = spec.place.gist_path(spec.command);
    let directory = into.to_path_buf();
    let write = |path: &Path| {
        let path = path.to_path_buf();
        move |source| CandidateError::Write { path, source }
    };
    fs::create_dir_all(&directory).map_err(write(&directory))?;
    let kept = files_kept(spec, &gist, into)?;
    let mut absent = spec.internal.tops.clone();
    for (package, name) in &spec.internal.packages {
        // A directory without `__init__.py` could still be imported, as an empty namespace package.
        let inside = |path: &&String| {
            path.strip_prefix(package.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        let compiled = kept.iter().filter(inside).any(|path| is_compiled(path));
        if compiled {
            absent.remove(name);
        }
        let holds_gist = gist.strip_prefix(package.as_str()).is_some_and(|r| r.starts_with('/'));
        if !compiled && !holds_gist {
            let path = directory.join(package).join("__init__.py");
            let message = format!("No module named {name:?}").replace('"', "'");
            let text = format!("raise ModuleNotFoundError({message:?}, name={name:?})\n");
            fs::write(&path, text).map_err(write(&path))?;
        }
    }
    let path = directory.join(&gist);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(write(parent))?;
    }
    fs::write(&path, spec.gist).map_err(write(&path))?;
    let command = command_for(spec, &gist);
    Ok(Candidate { directory, command, gist, absent: absent.into_iter().collect() })
}

/// The command that runs a gist at a path, where nothing internal can be imported.
fn command_for(spec: &CandidateSpec<'_>, gist: &str) -> Command {
    spec.command.without_plugins(|name| spec.internal.is_internal(name)).for_gist(gist)
}

/// Copies what a candidate keeps of the repository; gives the relative paths.
fn files_kept(
    spec: &CandidateSpec<'_>,
    gist: &str,
    into: &Path,
) -> Result<Vec<String>, CandidateError> {
    let mut files = internal::files(spec.original)
        .map_err(|(path, source)| CandidateError::Read { path, source })?;
    files.retain(|path| !is_bytecode(path));
    // Directories of removed files stay: `dirname(__file__) + "/../data"` leads through one.
    let directories: BTreeSet<&str> = files.iter().map(|path| split(path).0).collect();
    for directory in directories {
        let path = into.join(directory);
        fs::create_dir_all(&path).map_err(|source| CandidateError::Write { path, source })?;
    }
    files.retain(|path| !spec.internal.removed.contains(path) && path != gist);
    let gone = gone(spec);
    in_parallel(&files, |path| {
        let (from, to) = (spec.original.join(path), into.join(path));
        let name = split(path).1;
        let text = pytest_config::is_config(name).then(|| fs::read_to_string(&from).ok());
        match text.flatten().and_then(|text| gone.cleaned(name, &text)) {
            Some(text) => {
                fs::write(&to, text).map_err(|source| CandidateError::Write { path: to, source })
            }
            None => copy(&from, &to, path),
        }
    })?;
    Ok(files)
}

/// The directory of a relative path, and the name in it.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Files that the command names: test modules, or the script or module that it starts.
fn entries(trace: &Trace, original: &Path, command: &Command) -> Vec<String> {
    let mut entries = Vec::new();
    let roots = std::iter::once("").chain(trace.roots.iter().map(String::as_str));
    for test in command.tests() {
        for root in roots.clone() {
            let stem =
                if root.is_empty() { test.path.clone() } else { format!("{root}/{}", test.path) };
            // `python -m package` runs the package's `__main__`.
            let package = stem.trim_end_matches(".py").to_owned() + "/__main__.py";
            let found = [stem, package].into_iter().find(|path| original.join(path).is_file());
            if let Some(path) = found {
                if !entries.contains(&path) {
                    entries.push(path);
                }
                break;
            }
        }
    }
    entries
}

/// Returns true if the files that a command names hold tests; the modules of doctests are the
/// library itself.
fn are_tests(command: &Command) -> bool {
    match command.program() {
        CommandProgram::Pytest | CommandProgram::PytestModule => {
            command.args().iter().all(|arg| arg != "--doctest-modules")
        }
        CommandProgram::Module(name) => name == "unittest",
        CommandProgram::Script(_) | CommandProgram::Console(_) => false,
    }
}

fn gone<'a>(spec: &CandidateSpec<'a>) -> pytest_config::Gone<'a> {
    let mut gone = pytest_config::Gone {
        tops: spec.internal.tops.iter().map(String::as_str).collect(),
        ..Default::default()
    };
    let support = spec.internal.support.iter().chain(spec.internal.modules.values());
    for path in support.collect::<BTreeSet<_>>() {
        if spec.internal.removed.contains(path)
            && let Ok(bytes) = fs::read(spec.original.join(path))
        {
            gone.note(&String::from_utf8_lossy(&bytes));
        }
    }
    let modules = spec.internal.modules.keys();
    gone.tops.extend(modules.map(|name| name.split('.').next().unwrap_or(name)));
    gone
}

/// The configuration of pytest that a candidate keeps, as options for a file in an empty directory.
pub(crate) fn configuration(spec: &CandidateSpec<'_>) -> Vec<Vec<String>> {
    let gone = gone(spec);
    let text_of = |name: &str| {
        let text = fs::read_to_string(spec.original.join(name)).ok()?;
        Some(gone.cleaned(name, &text).unwrap_or(text))
    };
    pytest_config::as_options(&text_of)
}

/// Copies a file or a link. A link that leads out of the repository is left out: nothing there may
/// reach the original.
fn copy(from: &Path, to: &Path, path: &str) -> Result<(), CandidateError> {
    let read = |source| CandidateError::Read { path: from.to_path_buf(), source };
    let write = |source| CandidateError::Write { path: to.to_path_buf(), source };
    let metadata = fs::symlink_metadata(from).map_err(read)?;
    if metadata.is_symlink() {
        let target = fs::read_link(from).map_err(read)?;
        if stays_inside(path, &target) {
            std::os::unix::fs::symlink(target, to).map_err(write)?;
        }
    } else if metadata.is_file() {
        fs::copy(from, to).map_err(write)?;
    }
    Ok(())
}

/// Returns true if a link at a relative path has a target below the same root. Compares the text of
/// the paths only.
fn stays_inside(path: &str, target: &Path) -> bool {
    let mut depth = path.matches('/').count();
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::CurDir => {}
            _ => return false,
        }
    }
    true
}

fn is_bytecode(path: &str) -> bool {
    path.ends_with(".pyc") || path.ends_with(".pyo")
}

/// Returns true for the path of a compiled module or library.
pub(crate) fn is_compiled(path: &str) -> bool {
    [".so", ".pyd", ".dylib", ".dll"].iter().any(|ending| path.ends_with(ending))
}
