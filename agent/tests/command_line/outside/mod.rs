//! Software that is not ours, from PyPI: a proxy before the models, a client of the tools, a validator of
//! trajectories. It is large, so it is installed and asked only where GISTIFY_TEST_OUTSIDE is set, once
//! for each version, beside the test environments.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use super::{GIST_OF_SMALL, Ran, SMALL, User, python, pythons, read, server};

mod clients;
mod proxy;
mod tasks;
pub mod trajectories;

/// What is installed.
const PACKAGES: [&str; 3] = ["atif==1.8.0", "litellm[proxy]==1.106.2", "mcp==2.3.0"];

/// Whether any of it is asked.
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
