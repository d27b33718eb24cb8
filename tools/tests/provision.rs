//! Environments of our own: real virtual environments, made of packages that the tests build and of
//! pytest from the user's index. Each test runs once with pip and once with uv, where it is.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

use flate2::{Compression, write::GzEncoder};
use gistify_tools::{
    Cache, CacheKind, Environment, EnvironmentError, Host, Interrupt, LocalSandbox, Progress,
    ProvisionRequest, Repository,
};

struct Setting {
    directory: tempfile::TempDir,
    cache: Cache,
    host: Host,
    sandbox: LocalSandbox,
    interrupt: Interrupt,
    steps: Mutex<Vec<String>>,
}

impl Setting {
    /// With packages of our own beside the user's index.
    fn new(uv: Option<&Path>) -> Setting {
        let directory = tempfile::tempdir().unwrap();
        let mut host = Host::from_variables(std::env::vars());
        let links = directory.path().join("links");
        fs::create_dir(&links).unwrap();
        for name in ["PIP_FIND_LINKS", "UV_FIND_LINKS"] {
            host.network.insert(name.to_owned(), links.display().to_string());
        }
        host.path.retain(|path| !path.join("uv").exists());
        host.path.extend(uv.and_then(Path::parent).map(Path::to_path_buf));
        let interrupt = Interrupt::new();
        Setting {
            cache: Cache::open(&directory.path().join("cache"), interrupt.clone()).unwrap(),
            sandbox: sandbox(&interrupt),
            interrupt,
            host,
            directory,
            steps: Mutex::default(),
        }
    }

    /// With packages of our own alone.
    fn offline(uv: Option<&Path>) -> Setting {
        let mut setting = Setting::new(uv);
        setting.host.network.insert("PIP_NO_INDEX".to_owned(), "1".to_owned());
        setting.host.network.insert("PIP_INDEX_URL".to_owned(), "http://127.0.0.1:1/".to_owned());
        setting
    }

    fn repository(&self, files: &[(&str, &str)]) -> Repository {
        let root = self.directory.path().join("repository");
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Repository::of_directory(&root).unwrap()
    }

    fn lock(&self, text: &str) -> PathBuf {
        let path = self.directory.path().join("lock.txt");
        fs::write(&path, text).unwrap();
        path
    }

    fn wheel(&self, name: &str, requires: &[&str]) {
        self.wheel_with(name, requires, "");
    }

    fn wheel_with(&self, name: &str, requires: &[&str], entry_points: &str) {
        let path = self.directory.path().join(format!("links/{name}-1.0-py3-none-any.whl"));
        let mut writer = zip::ZipWriter::new(fs::File::create(path).unwrap());
        let requires: String =
            requires.iter().map(|line| format!("Requires-Dist: {line}\n")).collect();
        let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}");
        let tags =
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
        let info = format!("{name}-1.0.dist-info");
        let record = format!("{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n");
        for (path, text) in [
            (format!("{name}.py"), "x = 1\n".to_owned()),
            (format!("{info}/METADATA"), metadata),
            (format!("{info}/WHEEL"), tags.to_owned()),
            (format!("{info}/entry_points.txt"), entry_points.to_owned()),
            (format!("{info}/RECORD"), record),
        ] {
            writer.start_file(path, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        writer.finish().unwrap();
    }

    fn sdist(&self, name: &str, files: &[(&str, &str)]) {
        let path = self.directory.path().join(format!("links/{name}-1.0.tar.gz"));
        let file = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
        let mut builder = tar::Builder::new(file);
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            builder
                .append_data(&mut header, format!("{name}-1.0/{path}"), text.as_bytes())
                .unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap();
    }

    fn provision(
        &self,
        repository: &Repository,
        python: Option<(u8, u8)>,
        lock: Option<&Path>,
    ) -> Result<Environment, EnvironmentError> {
        let request = ProvisionRequest {
            repository,
            host: &self.host,
            python,
            lock,
            pythonpath: None,
            rebuild: false,
        };
        let hear = |progress: Progress<'_>| {
            if let Progress::Step(step) = progress {
                self.steps.lock().unwrap().push(step.to_owned());
            }
        };
        Environment::provision(&request, &self.cache, &self.sandbox, &hear)
    }

    fn assert_clean(&self) {
        for entry in fs::read_dir(self.cache.root()).unwrap() {
            assert!(!entry.unwrap().file_name().to_string_lossy().starts_with(".scratch"));
        }
        assert!(self.cache.list().unwrap().iter().all(|entry| entry.complete));
    }
}

/// The isolated sandbox where it can be had: then nothing of the user's home is there to build with.
fn sandbox(interrupt: &Interrupt) -> LocalSandbox {
    let host = Host::from_variables(std::env::vars());
    LocalSandbox::isolated(&host, interrupt.clone()).unwrap_or_else(|error| {
        println!("without isolation: {error}");
        LocalSandbox::new(interrupt.clone())
    })
}

/// Calls a test with pip, and with uv where it is installed.
fn with_each_installer(test: impl Fn(Option<&Path>)) {
    test(None);
    match Host::from_variables(std::env::vars()).find("uv") {
        Some(uv) => test(Some(&uv)),
        None => println!("skipped: no uv on the path"),
    }
}

/// Installed distributions, as the environment itself sees them.
fn installed(environment: &Environment) -> Vec<String> {
    let script = "import importlib.metadata as m\n\
                  print(*sorted({d.metadata['Name'].lower() for d in m.distributions()}))";
    let output = Command::new(&environment.python).args(["-I", "-c", script]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace()
        .filter(|name| !matches!(*name, "pip" | "setuptools"))
        .map(str::to_owned)
        .collect()
}

/// Returns true if the error only means that this machine has no network.
fn no_network(result: &Result<Environment, EnvironmentError>) -> bool {
    let none = matches!(result, Err(EnvironmentError::Install { reason, .. }) if reason.contains("not reached"));
    if none {
        println!("skipped: no package index is reached");
    }
    none
}

const CODE: (&str, &str) = ("src/own/__init__.py", "");

#[test]
fn a_lock_is_installed_as_it_is() {
    with_each_installer(|uv| {
        let setting = Setting::offline(uv);
        setting.wheel("first", &["never-there"]);
        setting.wheel("second", &[]);
        let repository = setting.repository(&[CODE]);
        let lock = setting.lock("# pinned\nfirst==1.0\n");
        let environment = setting.provision(&repository, None, Some(&lock)).unwrap();
        assert_eq!(installed(&environment), ["first"]);
        assert_eq!(environment.pythonpath, ["src"]);
        assert_eq!(environment.pytest, None);
        assert!(environment.python.starts_with(setting.cache.root()));
        assert!(environment.readable.iter().any(|path| environment.python.starts_with(path)));
        let steps = setting.steps.lock().unwrap().clone();
        assert_eq!(steps.last().unwrap(), "installing 1 requirements");
        // The second time nothing is made, whatever the repository's contents are.
        let changed = setting.repository(&[("src/own/more.py", "")]);
        assert_eq!(setting.provision(&changed, None, Some(&lock)).unwrap(), environment);
        assert_eq!(*setting.steps.lock().unwrap(), steps);
        let lock = setting.lock("first==1.0\nsecond==1.0\n");
        let other = setting.provision(&repository, None, Some(&lock)).unwrap();
        assert_eq!(installed(&other), ["first", "second"]);
        let environments =
            setting.cache.list().unwrap().into_iter().filter(|e| e.kind == CacheKind::Environment);
        assert_eq!(environments.count(), 2);
        setting.assert_clean();
    });
}

/// PEP 751; the checksum is that of the file.
#[test]
fn a_pylock_is_installed() {
    with_each_installer(|uv| {
        let setting = Setting::offline(uv);
        setting.wheel("first", &["never-there"]);
        setting.wheel("second", &[]);
        let repository = setting.repository(&[CODE]);
        let lock = setting.lock(
            "lock-version = '1.0'\ncreated-by = 'test'\n\
             [[packages]]\nname = 'first'\nversion = '1.0'\n\
             [[packages]]\nname = 'second'\nversion = '1.0'\nmarker = \"python_version < '3.1'\"\n",
        );
        let environment = setting.provision(&repository, None, Some(&lock)).unwrap();
        assert_eq!(installed(&environment), ["first"]);
        let lock = setting.lock("lock-version = '9.0'\n");
        let error = setting.provision(&repository, None, Some(&lock)).unwrap_err().to_string();
        assert!(error.ends_with("its lock-version is 9.0 (pylock.toml 1.0 is read)"), "{error}");
    });
}

#[test]
fn requirements_are_resolved_with_pytest() {
    with_each_installer(|uv| {
        let setting = Setting::new(uv);
        setting.wheel("gistify_first", &["gistify_second"]);
        setting.wheel("gistify_second", &[]);
        setting.wheel("gistify_tested", &["own"]);
        setting.wheel("own", &[]);
        let repository = setting.repository(&[
            CODE,
            (
                "pyproject.toml",
                "[project]\nname = 'own'\nversion = '1'\nrequires-python = '>=3.9,<3.13'\n\
                 dependencies = ['gistify_first']\n[dependency-groups]\ntest = ['gistify_tested']\n",
            ),
        ]);
        let environment = setting.provision(&repository, None, None);
        if no_network(&environment) {
            return;
        }
        let environment = environment.unwrap();
        let installed = installed(&environment);
        for name in ["gistify_first", "gistify_second", "gistify_tested", "pytest", "pluggy"] {
            assert!(installed.contains(&name.to_owned()), "{name} {installed:?}");
        }
        // Its version is known, its code is not there.
        assert!(installed.contains(&"own".to_owned()), "{installed:?}");
        let script = "import importlib.metadata as m, importlib.util as u\n\
                      print(m.version('own'), u.find_spec('own'), bool(u.find_spec('gistify_tested')))";
        let output = Command::new(&environment.python).args(["-I", "-c", script]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "1 None True\n");
        assert!(environment.version < (3, 13, 0));
        environment.require_pytest().unwrap();
        setting.assert_clean();
    });
}

#[test]
fn what_a_plugin_of_pytest_needs_stays() {
    with_each_installer(|uv| {
        let setting = Setting::new(uv);
        let plugin = "[pytest11]\ngistify_plugin = gistify_plugin\n";
        setting.wheel_with("gistify_plugin", &["gistify_between"], plugin);
        setting.wheel("gistify_between", &["own"]);
        setting.wheel("own", &[]);
        let repository = setting.repository(&[
            CODE,
            (
                "pyproject.toml",
                "[project]\nname = 'own'\nversion = '1'\n\
                 [dependency-groups]\ntest = ['gistify_plugin']\n",
            ),
        ]);
        let environment = setting.provision(&repository, None, None);
        if no_network(&environment) {
            return;
        }
        let script = "import importlib.util as u\nprint(bool(u.find_spec('own')))";
        let python = environment.unwrap().python;
        let output = Command::new(&python).args(["-I", "-c", script]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "True\n");
    });
}

/// A build backend, as it stands in the repository or sdist itself.
const BACKEND: (&str, &str) = (
    "pyproject.toml",
    "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n\
     [project]\nname = 'own'\ndynamic = ['version', 'dependencies']\n",
);

#[test]
fn a_build_says_what_is_needed() {
    with_each_installer(|uv| {
        let setting = Setting::new(uv);
        setting.wheel("gistify_first", &[]);
        let backend = "import os\n\
            def prepare_metadata_for_build_wheel(directory, settings=None):\n\
            \x20   open('written-by-the-build', 'w').close()\n\
            \x20   path = os.path.join(directory, 'own-1.dist-info')\n\
            \x20   os.mkdir(path)\n\
            \x20   with open(os.path.join(path, 'METADATA'), 'w') as file:\n\
            \x20       file.write('Metadata-Version: 2.1\\nName: own\\nVersion: 1\\n'\n\
            \x20                  'Requires-Dist: gistify_first\\n')\n\
            \x20   return 'own-1.dist-info'\n\
            def build_wheel(*args): raise SystemExit('never built')\n";
        let repository = setting.repository(&[CODE, BACKEND, ("backend.py", backend)]);
        let environment = setting.provision(&repository, None, None);
        if no_network(&environment) {
            return;
        }
        let installed = installed(&environment.unwrap());
        assert!(installed.contains(&"gistify_first".to_owned()), "{installed:?}");
        assert!(!repository.root.join("written-by-the-build").exists());
        setting.assert_clean();
    });
}

#[test]
fn a_build_sees_nothing_of_the_user() {
    let setting = Setting::offline(None);
    let isolated = LocalSandbox::isolated(&setting.host, Interrupt::new());
    if let Err(error) = isolated {
        println!("skipped: {error}");
        return;
    }
    let home = std::env::var("HOME").unwrap_or("/root".to_owned());
    let Ok(canary) = tempfile::Builder::new().prefix(".canary").tempfile_in(&home) else {
        println!("skipped: the home directory cannot be written");
        return;
    };
    let backend = format!(
        "import os\n\
         home = os.path.expanduser('~')\n\
         raise Exception('seen %s %s %s' % (\n\
         \x20   os.path.exists('{}'), home == '{home}', os.environ.get('GISTIFY_TEST_SECRET')))\n",
        canary.path().display()
    );
    let metadata = ("PKG-INFO", "Metadata-Version: 2.1\nName: curious\nVersion: 1.0\n");
    setting.sdist("curious", &[BACKEND, ("backend.py", &backend), metadata]);
    let repository = setting.repository(&[CODE]);
    let lock = setting.lock("curious==1.0\n");
    let error = setting.provision(&repository, None, Some(&lock)).unwrap_err().to_string();
    assert!(error.contains("seen False False None"), "{error}");
}

#[test]
fn a_dependency_that_does_not_build_is_named() {
    with_each_installer(|uv| {
        let setting = Setting::offline(uv);
        setting.sdist(
            "broken",
            &[
                BACKEND,
                ("backend.py", "raise Exception('the compiler is missing')\n"),
                ("PKG-INFO", "Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n"),
            ],
        );
        let repository = setting.repository(&[CODE]);
        let lock = setting.lock("broken==1.0\n");
        let error = setting.provision(&repository, None, Some(&lock)).unwrap_err();
        let EnvironmentError::Install { what, log, .. } = &error else { panic!("{error}") };
        assert!(what.starts_with("broken"), "{what}\n{log}");
        assert!(log.contains("the compiler is missing"), "{log}");
        let lock = setting.lock("nowhere==1.0\n");
        let error = setting.provision(&repository, None, Some(&lock)).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("install nowhere"), "{text}");
        assert_eq!(setting.cache.list().unwrap(), []);
        setting.assert_clean();
    });
}

#[test]
fn says_which_interpreter_is_needed() {
    let setting = Setting::offline(None);
    let repository = setting.repository(&[CODE]);
    let lock = setting.lock("first==1.0\n");
    let error = setting.provision(&repository, Some((3, 99)), Some(&lock)).unwrap_err().to_string();
    assert!(
        error.starts_with("find an interpreter: python 3.99 is needed, this machine has "),
        "{error}"
    );
    let repository = setting.repository(&[
        CODE,
        ("pyproject.toml", "[project]\nname = 'own'\nrequires-python = '>=3.99'\n"),
    ]);
    let error = setting.provision(&repository, None, Some(&lock)).unwrap_err().to_string();
    assert!(error.contains("python >=3.99, at most 3.15 is needed"), "{error}");
    let repository = setting.repository(&[
        ("src/own/_c.cpython-399-x86_64-linux-gnu.so", "\x7fELF"),
        ("tests/data/_d.cpython-398-x86_64-linux-gnu.so", "\x7fELF"),
        ("pyproject.toml", ""),
    ]);
    let error = setting.provision(&repository, None, Some(&lock)).unwrap_err().to_string();
    assert!(
        error.contains("for compiled modules .cpython-399-x86_64-linux-gnu.so is needed"),
        "{error}"
    );
    let error = setting.provision(&repository, None, Some(Path::new("/no/lock"))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "make an environment: /no/lock: No such file or directory (os error 2)"
    );
    let empty = setting.lock("# nothing\n");
    let error = setting.provision(&repository, None, Some(&empty)).unwrap_err();
    assert!(error.to_string().ends_with("it has no requirement"));
    setting.assert_clean();
}

#[test]
fn an_interruption_leaves_nothing() {
    let setting = Setting::offline(None);
    setting.wheel("first", &[]);
    let repository = setting.repository(&[CODE]);
    let lock = setting.lock("first==1.0\n");
    setting.interrupt.trigger();
    let error = setting.provision(&repository, None, Some(&lock)).unwrap_err();
    assert!(
        matches!(error, EnvironmentError::Interrupted | EnvironmentError::NoInterpreter { .. }),
        "{error}"
    );
    assert_eq!(setting.cache.list().unwrap(), []);
    setting.assert_clean();
}
