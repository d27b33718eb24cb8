//! Asks an interpreter what it is. Changes nothing.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;

use super::EnvironmentError;
use crate::sandbox::{Limits, Network, Request, Sandbox, Status};

/// What an interpreter says of itself.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Probe {
    pub(crate) executable: PathBuf,
    pub(crate) version: (u8, u8, u8),
    pub(crate) prefixes: Vec<PathBuf>,
    pub(crate) path: Vec<PathBuf>,
    /// Where packages are installed.
    pub(crate) packages: PathBuf,
    pub(crate) libraries: PathBuf,
    /// How its compiled modules end, such as `.cpython-311-x86_64-linux-gnu.so`.
    pub(crate) extension_suffix: String,
    pub(crate) pytest: Option<String>,
    /// The environment of PEP 508 markers.
    pub(crate) markers: BTreeMap<String, String>,
}

/// Runs the interpreter at `python` in isolated mode.
pub(crate) fn probe(python: &Path, sandbox: &dyn Sandbox) -> Result<Probe, EnvironmentError> {
    let unusable =
        |reason: String| EnvironmentError::Interpreter { python: python.to_path_buf(), reason };
    if !python.exists() {
        return Err(unusable("no such file".to_owned()));
    }
    let request = Request {
        program: python.to_path_buf(),
        args: ["-I", "-B", "-c", include_str!("probe.py")].map(OsString::from).into(),
        cwd: PathBuf::from("/"),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
        readable: link_chain(python),
        writable: vec![],
        network: Network::Loopback,
        limits: limits(),
    };
    let finished = sandbox.run(&request)?;
    match finished.status {
        Status::Exited(0) => {}
        Status::Interrupted => return Err(EnvironmentError::Interrupted),
        Status::Exited(_) | Status::Signaled(_) | Status::TimedOut | Status::OutOfMemory => {
            let stderr = finished.stderr.text();
            let last = stderr.trim().lines().last().unwrap_or("it printed nothing");
            return Err(unusable(format!("it cannot be asked what it is: {last}")));
        }
    }
    let text = finished.stdout.text();
    let line = text.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(|_| unusable("it is no python 3 interpreter".to_owned()))
}

/// What starting an interpreter reads: for each link on the way to the real file its directory,
/// and the prefix where there is one; for a virtual environment also that of its parent.
pub(crate) fn link_chain(python: &Path) -> Vec<PathBuf> {
    /// The kernel follows no more links either.
    const LINKS: usize = 40;
    let mut found = Vec::new();
    let mut current = python.to_path_buf();
    for _ in 0..LINKS {
        let Some(directory) = current.parent().map(Path::to_path_buf) else { break };
        add_prefix(&directory, &mut found);
        match fs::read_link(&current) {
            Ok(target) => current = directory.join(target),
            Err(_) => break,
        }
    }
    if let Some(directory) = python.canonicalize().ok().as_deref().and_then(Path::parent) {
        add_prefix(directory, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

/// Adds a directory of programs and, where it is that of an interpreter, the prefix around it.
fn add_prefix(directory: &Path, found: &mut Vec<PathBuf>) {
    found.push(directory.to_path_buf());
    let Some(prefix) = directory.parent() else { return };
    if let Some(home) = home_of_virtual_environment(prefix) {
        found.push(prefix.to_path_buf());
        found.extend(home.parent().map(Path::to_path_buf));
    }
    let Ok(libraries) = fs::read_dir(prefix.join("lib")) else { return };
    let is_python = |name: &str| name.starts_with("python3") || name.starts_with("libpython3");
    if libraries.flatten().any(|entry| is_python(&entry.file_name().to_string_lossy())) {
        found.push(prefix.to_path_buf());
    }
}

fn home_of_virtual_environment(prefix: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(prefix.join("pyvenv.cfg")).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.find(|(key, _)| key.trim() == "home").map(|(_, value)| PathBuf::from(value.trim()))
}

fn limits() -> Limits {
    Limits {
        wall: Duration::from_secs(60),
        cpu: Duration::from_secs(30),
        memory: 1 << 30,
        processes: 32,
        output: 1 << 20,
        file: 1 << 20,
    }
}
