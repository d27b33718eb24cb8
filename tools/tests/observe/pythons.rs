//! Interpreters to test with: each version that this machine has, with a pytest in a virtual
//! environment that is made once and kept in the system's temporary directory.

use std::{
    collections::HashMap,
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, OnceLock},
};

use gistify_tools::{Environment, LocalSandbox};

/// A version of Python, and the pytest that is tried with it: between them the supported range.
pub const VERSIONS: &[(u8, &str)] = &[
    (9, "pytest==6.2.5"),
    (10, "pytest==7.4.4"),
    (11, "pytest==8.4.2"),
    (12, "pytest==8.4.2"),
    (13, "pytest==9.0.1"),
    (14, "pytest==9.0.1"),
    (15, "pytest==9.2.0"),
];

/// The environment of Python 3.`minor`, or `None` with a printed reason.
pub fn environment(minor: u8) -> Option<Environment> {
    static KNOWN: OnceLock<Mutex<HashMap<u8, Option<Environment>>>> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap();
    known.entry(minor).or_insert_with(|| make(minor)).clone()
}

/// The interpreter of Python 3.`minor` itself: on the path, among pyenv's, or where `.ci/get-pythons` put it, which
/// `GISTIFY_TEST_PYTHONS` names.
pub fn interpreter(minor: u8) -> Option<PathBuf> {
    let name = format!("python3.{minor}");
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = env::split_paths(&path).collect();
    places.extend(
        env::var_os("GISTIFY_TEST_PYTHONS").map(|brought| PathBuf::from(brought).join("bin")),
    );
    let pyenv = env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".pyenv")));
    if let Some(versions) = pyenv.and_then(|root| fs::read_dir(root.join("versions")).ok()) {
        let mut versions: Vec<_> = versions.flatten().map(|entry| entry.path()).collect();
        versions.sort();
        places.extend(versions.into_iter().map(|path| path.join("bin")));
    }
    places.into_iter().map(|place| place.join(&name)).find(|path| {
        // A shim of a version manager has the name, but need not have the version.
        let told =
            Command::new(path).args(["-c", "import sys; print(sys.version_info[1])"]).output();
        told.is_ok_and(|told| {
            told.status.success() && told.stdout == format!("{minor}\n").as_bytes()
        })
    })
}

fn make(minor: u8) -> Option<Environment> {
    let pytest = VERSIONS.iter().find(|(known, _)| *known == minor)?.1;
    let Some(base) = interpreter(minor) else {
        eprintln!("skipped: no python3.{minor} on this machine");
        return None;
    };
    let user = unsafe { libc::getuid() };
    let cache = env::temp_dir().join(format!("gistify-test-environments-{user}"));
    fs::create_dir_all(&cache).unwrap();
    let name = format!("3.{minor}-{}", pytest.replace("==", "-"));
    let lock = File::create(cache.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let directory = cache.join(&name);
    let ready = directory.join("ready");
    if !ready.exists() {
        let _ = fs::remove_dir_all(&directory);
        let python = directory.join("bin/python");
        let uv = base.with_file_name("uv");
        let (base_text, directory_text) = (base.to_str().unwrap(), directory.to_str().unwrap());
        // What was brought beside it makes environments without the wheels of pip.
        let made = if uv.exists() {
            let python = python.to_str().unwrap();
            run(&uv, &["venv", "-q", "--python", base_text, directory_text])
                && run(&uv, &["pip", "install", "-q", "--python", python, pytest])
        } else {
            run(&base, &["-m", "venv", directory_text])
                && run(
                    &python,
                    &["-m", "pip", "install", "-q", "--disable-pip-version-check", pytest],
                )
        };
        if !made {
            eprintln!("skipped: no environment with {pytest} for python3.{minor} (no network?)");
            return None;
        }
        fs::write(&ready, "").unwrap();
    }
    let python = directory.join("bin/python");
    let found = Environment::of_interpreter(&python, &cache, &LocalSandbox::default()).unwrap();
    Some(Environment { pythonpath: Vec::new(), ..found })
}

fn run(program: &Path, args: &[&str]) -> bool {
    Command::new(program).args(args).status().is_ok_and(|status| status.success())
}
