//! Queries the properties of an interpreter. Changes nothing.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use graph::Pythons;
use serde::Deserialize;

use super::EnvironmentError;
use crate::{
    host::is_executable,
    sandbox::{Limits, Network, Request, Sandbox, Status, link_target},
};

/// The properties that an interpreter reports.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Probe {
    pub(crate) executable: PathBuf,
    pub(crate) version: (u8, u8, u8),
    pub(crate) prefixes: Vec<PathBuf>,
    pub(crate) path: Vec<PathBuf>,
    /// The directory in which packages are installed.
    pub(crate) packages: PathBuf,
    pub(crate) libraries: PathBuf,
    /// The suffix of its compiled modules, such as `.cpython-311-x86_64-linux-gnu.so`.
    pub(crate) extension_suffix: String,
    /// True for a build without the global interpreter lock.
    pub(crate) free_threaded: bool,
    pub(crate) pytest: Option<String>,
    /// The environment of PEP 508 markers.
    pub(crate) markers: BTreeMap<String, String>,
}

impl Probe {
    /// The words for an interpreter that is none of those that are supported: another implementation, a version outside
    /// of the range, or a free-threaded build, in which `sys.monitoring` misses events.
    pub(crate) fn unsupported(&self) -> Option<String> {
        let (major, minor, micro) = self.version;
        let implementation = self.markers.get("implementation_name").map_or("", String::as_str);
        if !Pythons::SUPPORTED.has((major, minor)) {
            Some(format!("python {major}.{minor}.{micro}"))
        } else if !matches!(implementation, "" | "cpython") {
            Some(implementation.to_owned())
        } else {
            self.free_threaded
                .then(|| format!("a free-threaded build of python {major}.{minor}.{micro}"))
        }
    }
}

/// Runs the interpreter at `python` in isolated mode.
pub(crate) fn probe(python: &Path, sandbox: &dyn Sandbox) -> Result<Probe, EnvironmentError> {
    let unusable =
        |reason: String| EnvironmentError::Interpreter { python: python.to_path_buf(), reason };
    if !python.exists() {
        return Err(unusable("no such file".to_owned()));
    }
    if python.is_dir() {
        return Err(unusable("it is a directory".to_owned()));
    }
    let request = Request {
        program: python.to_path_buf(),
        args: ["-I", "-B", "-c", include_str!("probe.py")].map(OsString::from).into(),
        cwd: PathBuf::from("/"),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
        readable: link_chain(python),
        writable: vec![],
        hidden: Vec::new(),
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
            // A program that is no interpreter may print all of its arguments.
            let last: String = last.chars().take(120).collect();
            return Err(unusable(format!("it does not report its version: {last}")));
        }
    }
    let text = finished.stdout.text();
    let line = text.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(|_| unusable("it is no python 3 interpreter".to_owned()))
}

/// Returns the paths that starting an interpreter reads: each link up to the real file, and its
/// prefix.
///
/// A virtual environment adds the paths of its parent, a script those of the programs that it
/// names.
pub(crate) fn link_chain(python: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    follow(python, &mut found);
    for program in programs_named_by(python) {
        follow(&program, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

fn follow(python: &Path, found: &mut Vec<PathBuf>) {
    /// The kernel follows no more links either.
    const LINKS: usize = 40;
    let mut current = python.to_path_buf();
    for _ in 0..LINKS {
        let Some(directory) = current.parent().map(Path::to_path_buf) else { break };
        found.push(current.clone());
        add_prefix(&directory, found);
        match link_target(&current) {
            Some(target) => current = target,
            None => break,
        }
    }
    if let Ok(real) = python.canonicalize()
        && let Some(directory) = real.parent()
    {
        add_prefix(directory, found);
        found.push(real.clone());
    }
}

/// The programs that a script names by absolute paths; none for a binary.
fn programs_named_by(python: &Path) -> Vec<PathBuf> {
    const SCRIPT_BYTES: u64 = 64 << 10;
    let mut text = Vec::new();
    let file = fs::File::open(python);
    if file.and_then(|file| file.take(SCRIPT_BYTES).read_to_end(&mut text)).is_err()
        || !text.starts_with(b"#!")
    {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    let ends = |char: char| char.is_whitespace() || "\"'`;#!$(){}=".contains(char);
    let words = text.split(ends).filter(|word| word.starts_with('/')).map(PathBuf::from);
    words.filter(|path| is_executable(path)).collect()
}

/// Adds a directory of programs and, where it is that of an interpreter, what of the prefix around
/// it is the interpreter's.
fn add_prefix(directory: &Path, found: &mut Vec<PathBuf>) {
    let Some(prefix) = directory.parent() else { return };
    if let Some(home) = home_of_virtual_environment(prefix) {
        found.extend(parts(prefix));
        found.extend(home.parent().map(parts).unwrap_or_default());
    }
    let Ok(libraries) = fs::read_dir(prefix.join("lib")) else { return };
    // A directory `python3.x` alone may hold packages that a user installed.
    let has_library = |entry: &fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("libpython3")
            || name.starts_with("python3") && entry.path().join("os.py").exists()
    };
    if libraries.flatten().any(|entry| has_library(&entry)) {
        found.extend(parts(prefix));
    }
}

/// Returns true if a directory is the system's own, where only some files belong to an interpreter.
pub(super) fn is_system(directory: &Path) -> bool {
    ["/", "/lib", "/lib64", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64"]
        .iter()
        .any(|system| directory == Path::new(system))
}

/// Returns the interpreter's entries in its prefix. The prefix may be any directory, even a home
/// directory.
pub(super) fn parts(prefix: &Path) -> Vec<PathBuf> {
    const PARTS: [&str; 12] = [
        "bin",
        "conda-meta",
        "etc",
        "include",
        "lib",
        "lib32",
        "lib64",
        "libexec",
        "openssl",
        "pyvenv.cfg",
        "share",
        "ssl",
    ];
    // What the root holds is the system's, which is shown anyway, and more; so it is in `/usr`.
    if is_system(prefix) {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir(prefix) else { return Vec::new() };
    let all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let own = |path: &PathBuf| PARTS.contains(&&*name(path));
    let of_tools = |path: &PathBuf| matches!(&*name(path), ".gitignore" | ".lock" | "CACHEDIR.TAG");
    if all.iter().all(|path| own(path) || of_tools(path)) {
        return vec![prefix.to_path_buf()];
    }
    all.into_iter().filter(own).collect()
}

fn home_of_virtual_environment(prefix: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(prefix.join("pyvenv.cfg")).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.find(|(key, _)| key.trim() == "home").map(|(_, value)| PathBuf::from(value.trim()))
}

pub(super) fn limits() -> Limits {
    Limits {
        wall: Duration::from_secs(60),
        cpu: Duration::from_secs(30),
        memory: 1 << 30,
        processes: 32,
        output: 1 << 20,
        file: 1 << 20,
        disk: 16 << 30,
    }
}
