//! Finds Python interpreters. It looks at names and files, and starts none.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::host::{Host, is_executable};

/// Interpreters on this machine: those of the directories that the user names, those on the path, pyenv's and uv's,
/// each once, in that order.
pub fn find_interpreters(host: &Host) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in &host.pythons {
        found.extend(interpreters_in(directory));
        found.extend(interpreters_in(&directory.join("bin")));
        found.extend(versions(directory));
    }
    for directory in host.path.iter().filter(|directory| directory.is_absolute()) {
        match shims_root(directory) {
            Some(root) => found.extend(versions(&root.join("versions"))),
            None => found.extend(interpreters_in(directory)),
        }
    }
    if let Some(home) = &host.home {
        found.extend(versions(&home.join(".pyenv/versions")));
        found.extend(versions(&home.join(".local/share/uv/python")));
    }
    if let Some(directory) = host.variable("UV_PYTHON_INSTALL_DIR") {
        found.extend(versions(Path::new(directory)));
    }
    let mut seen = BTreeSet::new();
    found.retain(|python| seen.insert(python.canonicalize().unwrap_or_else(|_| python.clone())));
    found
}

/// Returns the interpreter of the virtual environment in `root`, else the `python3` of [`find_interpreter`].
pub fn default_interpreter(root: &Path, host: &Host) -> Option<PathBuf> {
    let own = virtual_environments(root).map(|directory| directory.join("bin/python"));
    let mut own = own.filter(|python| is_executable(python));
    own.next().or_else(|| find_interpreter("python3", root, host))
}

/// Returns the first program called `name`, such as `python3.12`: in the directories of `host.pythons`, on `PATH`, or
/// beside any other interpreter. Replaces a pyenv shim by the program that it starts in `root`.
pub fn find_interpreter(name: &str, root: &Path, host: &Host) -> Option<PathBuf> {
    let beside =
        |python: PathBuf| Some(python.parent()?.join(name)).filter(|one| is_executable(one));
    let named = Host { pythons: host.pythons.clone(), ..Host::default() };
    let named = || find_interpreters(&named).into_iter().find_map(beside);
    let on_path = || {
        let mut entries = host.path.iter().filter(|entry| entry.is_absolute());
        entries.find_map(|directory| match shims_root(directory) {
            Some(pyenv) => selected(&pyenv, name, root, host.pyenv_version.as_deref()),
            None => Some(directory.join(name)).filter(|path| is_executable(path)),
        })
    };
    let elsewhere = || find_interpreters(host).into_iter().find_map(beside);
    named().or_else(on_path).or_else(elsewhere)
}

/// Returns the Python version that the virtual environment in `root` records in its `pyvenv.cfg`.
pub fn declared_version(root: &Path) -> Option<(u8, u8)> {
    virtual_environments(root).find_map(|directory| {
        let text = fs::read_to_string(directory.join("pyvenv.cfg")).ok()?;
        // `version` is what venv writes, `version_info` what uv and virtualenv do.
        let mut pairs = text.lines().filter_map(|line| line.split_once('='));
        let (_, version) =
            pairs.find(|(key, _)| matches!(key.trim(), "version" | "version_info"))?;
        let mut parts = version.trim().split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })
}

/// The directories in a repository that hold a virtual environment of its own.
fn virtual_environments(root: &Path) -> impl Iterator<Item = PathBuf> {
    let own = [".venv", "venv", "env"].map(|name| root.join(name));
    own.into_iter().filter(|directory| directory.join("pyvenv.cfg").is_file())
}

/// Returns the program that the pyenv shim `python` starts in `root`: that of the selected version, else of the newest
/// version that has it. Returns `None` if `python` is no shim. A shim itself cannot run in a sandbox, because it reads
/// the user's environment.
pub(super) fn behind_shim(python: &Path, root: &Path) -> Option<PathBuf> {
    let name = python.file_name()?.to_str()?;
    let pyenv = shims_root(python.parent()?)?;
    let newest = || {
        let having = versions(&pyenv.join("versions")).into_iter().filter_map(|python| {
            let program = python.parent()?.join(name);
            let version = python.parent()?.parent()?.file_name()?.to_str()?.to_owned();
            let parts: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
            is_executable(&program).then_some((parts, program))
        });
        having.max().map(|(_, program)| program)
    };
    selected(&pyenv, name, root, None).or_else(newest)
}

/// Returns the program `name` of the first selected version that has it. The selection is `variable` (`PYENV_VERSION`),
/// else the nearest `.python-version` in `root` or above, else pyenv's file `version`.
fn selected(pyenv: &Path, name: &str, root: &Path, variable: Option<&str>) -> Option<PathBuf> {
    let files = root.ancestors().map(|directory| directory.join(".python-version"));
    let mut files = files.chain([pyenv.join("version")]);
    let text = match variable {
        Some(text) => text.replace(':', " "),
        None => files.find_map(|file| fs::read_to_string(file).ok())?,
    };
    let versions = text.split_whitespace().filter(|word| !word.contains('/'));
    let mut programs = versions.filter_map(|version| {
        let directory = version_directory(&pyenv.join("versions"), version)?;
        Some(directory.join("bin").join(name)).filter(|path| is_executable(path))
    });
    programs.next()
}

/// Returns the directory of a version; `3.11` selects the newest `3.11.x`.
fn version_directory(versions: &Path, version: &str) -> Option<PathBuf> {
    let exact = versions.join(version);
    if exact.is_dir() {
        return Some(exact);
    }
    let prefix = format!("{version}.");
    let mut matching: Vec<(u32, PathBuf)> = fs::read_dir(versions)
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_prefix(&prefix)?.parse().ok()?, entry.path()))
        })
        .collect();
    matching.sort();
    matching.pop().map(|(_, path)| path)
}

/// Returns pyenv's root if `directory` is its directory of shims.
fn shims_root(directory: &Path) -> Option<PathBuf> {
    let root = directory.parent()?;
    let is_shims = directory.file_name()? == "shims" && root.join("versions").is_dir();
    is_shims.then(|| root.to_path_buf())
}

/// The interpreters of a directory with one installation in each subdirectory.
fn versions(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        // A virtual environment among pyenv's versions belongs to a project.
        .filter(|entry| !entry.path().join("pyvenv.cfg").exists())
        .map(|entry| entry.path().join("bin/python3"))
        .filter(|python| is_executable(python))
        .collect();
    found.sort();
    found
}

/// `python3` and `python3.*` in a directory of programs.
fn interpreters_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let is_python = |name: &str| {
        let version =
            name.strip_prefix("python3").map(|rest| rest.strip_prefix('.').unwrap_or(rest));
        version.is_some_and(|minor| minor.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| is_python(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .filter(|python| is_executable(python))
        .collect();
    found.sort();
    found
}
