//! A linked directory: the repository with its tests as they are, and a gist in the place of its package.
//!
//! The files of the package are gone, but for its data and compiled extensions; a finder in the process of the command
//! gives the tests the gist wherever they ask for one of its modules. Which name of a module is which of the gist is for
//! the caller to say.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde::Serialize;

use super::{CandidateError, Internal, copy, internal, is_bytecode, pytest_config, split};
use crate::snapshot::in_parallel;

/// The modules that a gist takes the place of, as the finder is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Path of the gist.
    pub gist: String,
    /// The modules by dotted name.
    pub modules: BTreeMap<String, LinkedModule>,
    /// Paths of the test files, in which statements that only other tests need may fail.
    pub tests: Vec<String>,
    /// True if they may fail; false if the original fails while it is loaded.
    pub tolerant: bool,
}

/// One module of the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LinkedModule {
    /// Path of its file; empty for a namespace package.
    pub path: String,
    /// Directories of a package.
    pub directories: Option<Vec<String>>,
    /// Its names, each with the gist's: the first is read, all are written.
    pub names: BTreeMap<String, Vec<String>>,
    /// Names that stand for modules of the repository.
    pub internal: BTreeMap<String, String>,
    /// Names that stand for something from outside: the module, and the name there.
    pub outside: BTreeMap<String, (String, Option<String>)>,
    /// The names that a star import provides, if `__all__` does not list them.
    pub stars: Option<Vec<String>>,
    /// The gist's own object in the place of this module.
    pub object: Option<String>,
}

/// The inputs of a linked directory.
#[derive(Debug, Clone, Copy)]
pub struct LinkedSpec<'a> {
    /// A copy of the repository, as the original run found it; it is only read.
    pub original: &'a Path,
    /// The split of its files into the package's and others.
    pub internal: &'a Internal,
    /// Text of the gist, without the tests.
    pub gist: &'a str,
    /// The modules.
    pub link: &'a Link,
    /// Dotted names that the original's modules have and the gist lacks.
    pub lacking: &'a BTreeSet<String>,
    /// An empty or missing directory.
    pub into: &'a Path,
}

/// Makes a linked directory.
///
/// # Errors
/// When a file cannot be read or written; the error names it.
pub fn lay_out_linked(spec: &LinkedSpec<'_>) -> Result<(), CandidateError> {
    let mut files = internal::files(spec.original)
        .map_err(|(path, source)| CandidateError::Read { path, source })?;
    let is_test = |path: &String| spec.internal.support.contains(path);
    let is_gone = |path: &String| spec.internal.removed.contains(path) && !is_test(path);
    let stubs: Vec<String> = files
        .iter()
        .filter(|path| is_gone(path) && split(path).1 == "__init__.py")
        .cloned()
        .collect();
    files.retain(|path| !is_gone(path) && !is_bytecode(path) && *path != spec.link.gist);
    let paths = files.iter().chain(&stubs).chain([&spec.link.gist]);
    let directories: BTreeSet<&str> = paths.map(|path| split(path).0).collect();
    let write = |path: &Path| {
        let path = path.to_path_buf();
        move |source| CandidateError::Write { path, source }
    };
    for directory in directories {
        let path = spec.into.join(directory);
        fs::create_dir_all(&path).map_err(write(&path))?;
    }
    let gone = pytest_config::Gone { names: spec.lacking.clone(), ..Default::default() };
    in_parallel(&files, |path| {
        let (from, to) = (spec.original.join(path), spec.into.join(path));
        let name = split(path).1;
        let text = pytest_config::is_config(name).then(|| fs::read_to_string(&from).ok());
        match text.flatten().and_then(|text| gone.cleaned(name, &text)) {
            Some(text) => fs::write(&to, text).map_err(write(&to)),
            None => copy(&from, &to, path),
        }
    })?;
    // pytest tells packages by these files. The finder comes before them.
    for path in stubs {
        let path = spec.into.join(path);
        fs::write(&path, "raise ModuleNotFoundError(__name__)\n").map_err(write(&path))?;
    }
    let path = spec.into.join(&spec.link.gist);
    fs::write(&path, spec.gist).map_err(write(&path))
}
