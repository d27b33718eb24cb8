//! Software from PyPI that is not ours. It is large, so it is installed and asked only where
//! GISTIFY_TEST_OUTSIDE is set, once for each version, beside the test environments.
//!
//! Every trajectory that tests leave is one to the validator of the format as well.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use crate::pythons;

/// The installed packages.
const PACKAGES: [&str; 4] =
    ["atif==1.8.0", "litellm[proxy]==1.106.2", "mcp==2.3.0", "mini-swe-agent==2.4.6"];

/// Returns true if these tests were requested.
pub fn wanted() -> bool {
    env::var_os("GISTIFY_TEST_OUTSIDE").is_some()
}

/// The interpreter that has the packages, or `None` with a printed reason.
pub fn packages() -> Option<&'static Path> {
    static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
    if !wanted() {
        eprintln!("skipped: GISTIFY_TEST_OUTSIDE is not set");
        return None;
    }
    MADE.get_or_init(make).as_deref()
}

fn make() -> Option<PathBuf> {
    let Some(base) = [11, 12, 13].into_iter().find_map(pythons::interpreter) else {
        eprintln!("skipped: no python between 3.11 and 3.13 on this machine");
        return None;
    };
    let user = unsafe { libc::getuid() };
    let cache = env::temp_dir().join(format!("gistify-test-environments-{user}"));
    fs::create_dir_all(&cache).unwrap();
    let name = PACKAGES.join("-").replace(['=', '[', ']'], "");
    let lock = File::create(cache.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let directory = cache.join(&name);
    let (python, ready) = (directory.join("bin/python"), directory.join("ready"));
    if !ready.exists() {
        let _ = fs::remove_dir_all(&directory);
        let run = |program: &Path, args: &[&str]| {
            let status = Command::new(program).args(args).stdout(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        };
        let install = ["-m", "pip", "install", "-q", "--disable-pip-version-check"];
        let made = run(&base, &["-m", "venv", directory.to_str().unwrap()])
            && run(&python, &[&install[..], &PACKAGES].concat());
        if !made {
            eprintln!("skipped: {} cannot be installed (no network?)", PACKAGES.join(", "));
            return None;
        }
        fs::write(&ready, "").unwrap();
    }
    Some(python)
}

/// Validates each file named on the command line.
const VALIDATE: &str = "
import sys
from atif import Trajectory
for path in sys.argv[1:]:
    with open(path) as file:
        Trajectory.model_validate_json(file.read())
";

/// Validates all trajectories below a directory.
pub fn validate(home: &Path) {
    if !wanted() {
        return;
    }
    let Some(python) = packages() else { return };
    let mut exported = Vec::new();
    for path in below(home) {
        // What a test made unreadable, or cut before its first line, cannot be exported.
        let Ok(records) = gistify::read_trajectory(&path) else { continue };
        let Some(whole) = gistify::atif(&records) else { continue };
        let into = path.with_extension("atif.json");
        fs::write(&into, whole.to_string()).unwrap();
        exported.push(into);
    }
    if exported.is_empty() {
        return;
    }
    let output = Command::new(python).args(["-c", VALIDATE]).args(&exported).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "atif refuses a trajectory of {exported:?}: {told}");
    eprintln!("atif accepts {} trajectories", exported.len());
}

fn below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        match kind {
            Ok(kind) if kind.is_dir() => found.extend(below(&path)),
            Ok(kind) if kind.is_file() && entry.file_name() == "trajectory.jsonl" => {
                found.push(path);
            }
            _ => {}
        }
    }
    found
}
