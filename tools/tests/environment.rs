//! Tests environments of existing interpreters: their properties, and the refused ones.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use gistify_tools::{
    Environment, EnvironmentError, Host, Interrupt, LocalSandbox, declared_version,
    default_interpreter, find_interpreter, find_interpreters,
};

fn host() -> Host {
    Host::from_variables(std::env::vars())
}

fn of(python: &Path, root: &Path) -> Result<Environment, EnvironmentError> {
    Environment::of_interpreter(python, root, &LocalSandbox::default())
}

/// The interpreters of this machine that can be used.
fn usable() -> Vec<Environment> {
    let found = find_interpreters(&host());
    let usable: Vec<_> =
        found.iter().filter_map(|python| of(python, Path::new("/")).ok()).collect();
    if usable.is_empty() {
        println!("skipped: no python 3.9 or newer on this machine");
    }
    usable
}

#[test]
fn every_interpreter_says_what_it_is() {
    for environment in usable() {
        assert!(environment.python.is_absolute());
        assert!(environment.version >= (3, 9, 0));
        assert!(!environment.readable.is_empty());
        for path in &environment.readable {
            assert!(path.exists() && path.parent().is_some(), "{}", path.display());
        }
    }
}

#[test]
fn a_virtual_environment_is_taken_as_it_is() {
    let Some(base) = usable().pop() else { return };
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path().canonicalize().unwrap().join("repository");
    fs::create_dir_all(root.join("src/package")).unwrap();
    fs::write(root.join("src/package/__init__.py"), "").unwrap();
    let venv = root.join(".venv");
    let made = Command::new(&base.python).args(["-m", "venv", "--without-pip"]).arg(&venv).status();
    assert!(made.unwrap().success());
    let sites = venv.join(format!("lib/python{}.{}/site-packages", base.version.0, base.version.1));
    // An editable installation of the repository itself.
    fs::write(sites.join("own.pth"), root.join("src").display().to_string()).unwrap();
    let elsewhere = temporary.path().canonicalize().unwrap().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(sites.join("other.pth"), elsewhere.display().to_string()).unwrap();

    let python = default_interpreter(&root, &host()).unwrap();
    assert_eq!(python, venv.join("bin/python"));
    let before = fs::read_dir(&sites).unwrap().count();
    let environment = of(&python, &root).unwrap();
    assert_eq!(environment.python, python);
    assert_eq!(environment.version, base.version);
    assert_eq!(environment.pythonpath, ["src"]);
    assert!(environment.readable.contains(&venv));
    assert!(environment.readable.contains(&elsewhere));
    assert!(!environment.readable.iter().any(|path| root.join("src").starts_with(path)));
    assert_eq!(fs::read_dir(&sites).unwrap().count(), before);

    let error = environment.require_pytest().unwrap_err();
    assert!(matches!(error, EnvironmentError::NoPytest { .. }));
    let expected = format!("use interpreter {}: it has no pytest", python.display());
    assert!(error.to_string().starts_with(&expected), "{error}");
    let metadata = sites.join("pytest-9.8.7.dist-info");
    fs::create_dir(&metadata).unwrap();
    fs::write(metadata.join("METADATA"), "Name: pytest\nVersion: 9.8.7\n").unwrap();
    let environment = of(&python, &root).unwrap();
    assert_eq!(environment.pytest.as_deref(), Some("9.8.7"));
    environment.require_pytest().unwrap();
}

#[test]
fn says_why_an_interpreter_cannot_be_used() {
    let temporary = tempfile::tempdir().unwrap();
    let check = |python: PathBuf, expected: &str| {
        let error = of(&python, temporary.path()).unwrap_err().to_string();
        assert_eq!(error, format!("use interpreter {}: {expected}", python.display()));
    };
    check(temporary.path().join("python"), "no such file");
    check(temporary.path().to_path_buf(), "it is a directory");
    check("/bin/true".into(), "it is no python 3 interpreter");
    check("/bin/false".into(), "it does not report its version: it printed nothing");
}

#[test]
fn old_interpreters_are_refused() {
    let found = find_interpreters(&host());
    let errors = found.iter().filter_map(|python| of(python, Path::new("/")).err());
    let mut unsupported =
        errors.filter(|error| matches!(error, EnvironmentError::Unsupported { .. }));
    match unsupported.next() {
        Some(error) => {
            assert!(error.to_string().ends_with("is not supported (CPython 3.9 to 3.15 is)"))
        }
        None => println!("skipped: no python 3.8 or older on this machine"),
    }
}

#[test]
fn the_interpreter_behind_a_shim_is_found() {
    let Some(base) = usable().pop() else { return };
    let temporary = tempfile::tempdir().unwrap();
    let pyenv = temporary.path().canonicalize().unwrap();
    let version = pyenv.join("versions/3.99.1/bin");
    fs::create_dir_all(&version).unwrap();
    fs::create_dir_all(pyenv.join("versions/3.99.10/bin")).unwrap();
    fs::create_dir_all(pyenv.join("shims")).unwrap();
    std::os::unix::fs::symlink(&base.python, version.join("python3")).unwrap();
    std::os::unix::fs::symlink(&base.python, pyenv.join("versions/3.99.10/bin/python3")).unwrap();
    fs::write(pyenv.join("shims/python3"), "#!/bin/sh\nexit 1\n").unwrap();
    fs::write(pyenv.join("version"), "3.99.1\n").unwrap();
    let shim = pyenv.join("shims/python3");
    let root = tempfile::tempdir().unwrap();
    assert_eq!(of(&shim, root.path()).unwrap().python, version.join("python3"));
    fs::write(root.path().join(".python-version"), "3.99\n").unwrap();
    let newest = pyenv.join("versions/3.99.10/bin/python3");
    assert_eq!(of(&shim, root.path()).unwrap().python, newest);
    let host = Host { path: vec![pyenv.join("shims")], ..Host::default() };
    assert_eq!(find_interpreters(&host).len(), 1);
}

/// A version that pyenv has, but does not select: its shim would refuse to start it.
#[test]
fn a_version_behind_a_shim_is_found_by_its_name() {
    let Some(base) = usable().pop() else { return };
    let temporary = tempfile::tempdir().unwrap();
    let pyenv = temporary.path().canonicalize().unwrap();
    let root = tempfile::tempdir().unwrap();
    let shims = pyenv.join("shims");
    fs::create_dir_all(&shims).unwrap();
    for (version, name) in
        [("3.98.2", "python3.98"), ("3.98.11", "python3.98"), ("3.99.1", "python3.99")]
    {
        let programs = pyenv.join("versions").join(version).join("bin");
        fs::create_dir_all(&programs).unwrap();
        for name in ["python3", name] {
            std::os::unix::fs::symlink(&base.python, programs.join(name)).unwrap();
        }
        fs::copy("/bin/false", shims.join(name)).unwrap();
    }
    fs::write(pyenv.join("version"), "3.99.1\n").unwrap();
    let program =
        |version: &str, name: &str| pyenv.join("versions").join(version).join("bin").join(name);
    // By the path of the shim the newest that has the program.
    let found = of(&shims.join("python3.98"), root.path()).unwrap().python;
    assert_eq!(found, program("3.98.11", "python3.98"));
    let mut host = Host { path: vec![shims.clone()], ..Host::default() };
    let find = |name: &str, host: &Host| find_interpreter(name, root.path(), host);
    assert_eq!(find("python3.99", &host), Some(program("3.99.1", "python3.99")));
    assert_eq!(find("python3.98", &host), Some(program("3.98.11", "python3.98")));
    assert_eq!(find("python3.97", &host), None);
    host.pyenv_version = Some("3.98.2:3.99.1".to_owned());
    assert_eq!(find("python3.98", &host), Some(program("3.98.2", "python3.98")));
}

#[test]
fn interpreters_are_found_in_directories_that_the_user_names() {
    let Some(base) = usable().pop() else { return };
    let temporary = tempfile::tempdir().unwrap();
    let named = temporary.path().canonicalize().unwrap();
    let root = named.join("root");
    for directory in ["bin", "3.99/bin", "root/.venv"] {
        fs::create_dir_all(named.join(directory)).unwrap();
    }
    for place in ["bin/python3.98", "3.99/bin/python3", "3.99/bin/python3.99"] {
        // Each is a program of its own, as links to one count once.
        let text = format!("#!/bin/sh\nexec {} \"$@\"\n", base.python.display());
        fs::write(named.join(place), text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(named.join(place), mode).unwrap();
    }
    let host = Host { pythons: vec![named.clone()], ..Host::default() };
    let found = find_interpreters(&host);
    assert_eq!(found, [named.join("bin/python3.98"), named.join("3.99/bin/python3")]);
    let find = |name: &str| find_interpreter(name, &root, &host);
    assert_eq!(find("python3.98"), Some(named.join("bin/python3.98")));
    assert_eq!(find("python3.99"), Some(named.join("3.99/bin/python3.99")));
    assert_eq!(declared_version(&root), None);
    for text in ["home = /x\nversion = 3.14.2\n", "version_info = 3.14.2.final.0\nhome = /x\n"] {
        fs::write(root.join(".venv/pyvenv.cfg"), text).unwrap();
        assert_eq!(declared_version(&root), Some((3, 14)), "{text}");
    }
}

#[test]
fn a_requirement_that_is_not_met_is_told() {
    let Some(environment) = usable().pop() else { return };
    let root = tempfile::tempdir().unwrap();
    let unmet = |text: &str| {
        let text = format!("[project]\nname = 'own'\n{text}\n");
        fs::write(root.path().join("pyproject.toml"), text).unwrap();
        environment.unmet_requirement(root.path())
    };
    assert_eq!(unmet("requires-python = '>=3.99'").as_deref(), Some(">=3.99"));
    assert_eq!(unmet("requires-python = '>=3.5'"), None);
    assert_eq!(unmet("requires-python = 'whatever'"), None);
    assert_eq!(unmet(""), None);
}

/// Interpreters may be in home directories, behind links and scripts: the user's files there are
/// hidden, and the interpreter works with the rest.
#[test]
fn nothing_beside_an_interpreter_is_shown() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let Some(base) = usable().pop() else { return };
    let isolated = LocalSandbox::isolated(&host(), Interrupt::new());
    if let Err(error) = &isolated {
        println!("skipped in part: {error}");
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let (major, minor, _) = base.version;
    let sites = home.join(format!(".local/lib/python{major}.{minor}/site-packages"));
    for directory in [&sites, &home.join(".local/share"), &home.join(".local/bin")] {
        fs::create_dir_all(directory).unwrap();
    }
    let linked = home.join(".local/bin/python3");
    symlink(&base.python, &linked).unwrap();
    let twice = home.join("python");
    symlink(&linked, &twice).unwrap();
    let relative = home.join(".local/bin/python");
    symlink("../../python", &relative).unwrap();
    let script = home.join("wrapped");
    fs::write(&script, format!("#!/bin/sh\nexec {} \"$@\"\n", base.python.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let made = Command::new(&base.python).args(["-m", "venv", "--without-pip"]).arg(&home).status();
    assert!(made.unwrap().success());
    let venv = home.join("bin/python");
    let secrets = [".ssh/id", ".local/share/keys", "notes", ".local/secret", "wrapped-too"];
    for secret in secrets.map(|name| home.join(name)) {
        fs::create_dir_all(secret.parent().unwrap()).unwrap();
        fs::write(&secret, "secret").unwrap();
    }
    for python in [linked, twice, relative, script, venv] {
        let sandboxes = [Some(LocalSandbox::default()), isolated.as_ref().ok().cloned()];
        for sandbox in sandboxes.into_iter().flatten() {
            let found = Environment::of_interpreter(&python, Path::new("/nowhere"), &sandbox);
            let found = found.unwrap_or_else(|error| panic!("{}: {error}", python.display()));
            assert_eq!(found.version, base.version);
            for secret in secrets.map(|name| home.join(name)) {
                let shown = found.readable.iter().find(|path| secret.starts_with(path));
                assert_eq!(shown, None, "{} {}", python.display(), secret.display());
            }
            assert!(!found.readable.iter().any(|path| Path::new("/etc/shadow").starts_with(path)));
        }
    }
}
