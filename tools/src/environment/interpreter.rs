//! Finds Python interpreters. It looks at names and starts none.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::host::{Host, is_executable};

/// Interpreters on this machine: those on the path, pyenv's and uv's, each once, in that order.
pub fn find_interpreters(host: &Host) -> Vec<PathBuf> {
    let mut found = Vec::new();
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

/// The interpreter for a directory where the user names none: that of the virtual environment in
/// it, else the first `python3` on the path.
pub fn default_interpreter(root: &Path, host: &Host) -> Option<PathBuf> {
    let own = [".venv", "venv", "env"].map(|name| root.join(name));
    let own = own.into_iter().filter(|directory| directory.join("pyvenv.cfg").is_file());
    let mut own = own.map(|directory| directory.join("bin/python"));
    own.find(|python| is_executable(python)).or_else(|| host.find("python3"))
}

/// The interpreter that one of pyenv's shims starts for a repository. A shim finds it by the user's
/// environment, which a sandbox does not have.
pub(super) fn behind_shim(python: &Path, root: &Path) -> Option<PathBuf> {
    let name = python.file_name()?;
    let pyenv = shims_root(python.parent()?)?;
    let local = root.ancestors().map(|directory| directory.join(".python-version"));
    let files = local.chain([pyenv.join("version")]);
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let versions = text.split_whitespace().filter(|word| !word.contains('/'));
        let programs = versions.filter_map(|version| {
            let directory = version_directory(&pyenv.join("versions"), version)?;
            Some(directory.join("bin").join(name)).filter(|path| is_executable(path))
        });
        if let Some(program) = programs.into_iter().next() {
            return Some(program);
        }
    }
    None
}

/// The directory of a version; `3.11` stands for the newest 3.11.
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

/// pyenv's root, where a directory holds its shims.
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
        // A virtual environment that pyenv made is somebody's project.
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
