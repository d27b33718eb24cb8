//! Creates environments in the cache: an interpreter of the user's, and the requirements of a
//! repository and its tests. `uv` creates them if it is installed, else `venv` and `pip`.
//!
//! Everything that installs or builds runs in the sandbox, with the network but with a temporary
//! home directory. The repository itself is not installed.

mod blame;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use pep508_rs::{
    MarkerEnvironment, PackageName,
    pep440_rs::{Version, VersionSpecifiers},
};
use serde::{Deserialize, Serialize};

use super::{
    Environment, EnvironmentError, NEWEST, OLDEST, find_interpreters, layout,
    lock::{LockFile, is_requirement},
    metadata::{self, Metadata},
    probe::{Probe, link_chain, probe},
    requirements::requirements,
};
use crate::{
    cache::{Cache, CacheKind, key},
    host::{Host, is_executable},
    pip::{self, PipError},
    progress::Progress,
    repository::Repository,
    sandbox::{Finished, Limits, Network, Request, Sandbox},
    snapshot::{EntryKind, Snapshot},
    workspace::copy_tree,
};

/// The inputs of an environment.
#[derive(Debug, Clone, Copy)]
pub struct ProvisionRequest<'a> {
    /// The repository; its metadata lists the requirements.
    pub repository: &'a Repository,
    /// The user's machine: interpreters, `uv`, and how the network is reached.
    pub host: &'a Host,
    /// The version of Python; else the newest that the repository allows.
    pub python: Option<(u8, u8)>,
    /// A complete list of pinned requirements, installed without looking for more.
    pub lock: Option<&'a Path>,
    /// Entries of `PYTHONPATH` relative to the root, where they are known; else they are found.
    pub pythonpath: Option<&'a [String]>,
    /// Make it anew although it is in the cache.
    pub rebuild: bool,
}

/// The newest version of Python that is chosen where an older one serves as well: packages take a year to come with
/// wheels for the one after it.
const SETTLED: (u8, u8) = (3, 14);
const NO_INDEX: &str = "PIP_NO_INDEX";
const FORMAT: u32 = 2;
const RECORD: &str = "environment.json";

/// The stored description of an environment, beside its files.
#[derive(Serialize, Deserialize)]
struct Record {
    format: u32,
    environment: Environment,
}

/// The environment for a request, from the cache where it is there.
#[tracing::instrument(name = "environment", level = "debug", skip_all)]
pub(super) fn provision(
    request: &ProvisionRequest<'_>,
    cache: &Cache,
    sandbox: &dyn Sandbox,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Environment, EnvironmentError> {
    let repository = request.repository;
    let lock = request.lock.map(LockFile::read).transpose()?;
    let metadata = metadata::read_metadata(&repository.root);
    let python = request.python.map(|(major, minor)| format!("{major}.{minor}"));
    let python = python.unwrap_or_default();
    let requires_python = metadata.requires_python.clone().unwrap_or_default();
    let name = metadata.name.clone().unwrap_or_default();
    let extensions = extension_suffixes(&repository.root).join(" ");
    let version = metadata.version.clone().unwrap_or_default();
    let entry = match &lock {
        Some(lock) => {
            let parts = [&python, &requires_python, &name, &version, &extensions];
            let parts = parts.map(String::as_str);
            key(&name, &[&[lock.text()][..], &parts].concat())
        }
        None => key(&name, &["resolved", &repository.fingerprint, &python]),
    };
    let short = repository.label.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let label = format!("{short} {python}").trim().to_owned();
    let make = |into: &Path| {
        let scratch = tempfile::Builder::new().prefix(".scratch-").tempdir_in(cache.root());
        let scratch = scratch.map_err(at(cache.root()))?;
        let provisioning = Provisioning {
            request,
            sandbox,
            progress,
            metadata: &metadata,
            extensions: &extensions,
            into,
            scratch: scratch.path(),
        };
        provisioning.make(lock.as_ref())
    };
    if request.rebuild {
        cache.remove(CacheKind::Environment, &entry)?;
    }
    for last in [false, true] {
        let content = cache.get_or_make(CacheKind::Environment, &entry, &label, make)?;
        if let Some(mut environment) = usable_record(&content) {
            environment.pythonpath = match request.pythonpath {
                Some(entries) => entries.to_vec(),
                None => layout::pythonpath(&repository.root),
            };
            return Ok(environment);
        }
        if last {
            return Err(at(&content.join(RECORD))(io::ErrorKind::InvalidData.into()));
        }
        // Made by an interpreter that is gone, or by another version of this program.
        cache.remove(CacheKind::Environment, &entry)?;
    }
    unreachable!("the second round returns")
}

/// One environment that is being made.
struct Provisioning<'a> {
    request: &'a ProvisionRequest<'a>,
    sandbox: &'a dyn Sandbox,
    progress: &'a dyn Fn(Progress<'_>),
    metadata: &'a Metadata,
    extensions: &'a str,
    into: &'a Path,
    scratch: &'a Path,
}

/// The program that installs packages.
enum Installer {
    Uv(PathBuf),
    Pip,
}

impl Provisioning<'_> {
    fn make(&self, lock: Option<&LockFile>) -> Result<(), EnvironmentError> {
        let (base, base_probe) = self.choose_interpreter()?;
        let installer = match self.find_uv() {
            Some(uv) => Installer::Uv(uv),
            None => Installer::Pip,
        };
        let venv = self.into.join("venv");
        let python = venv.join("bin/python");
        let (major, minor, micro) = base_probe.version;
        self.say(&format!("making an environment with python {major}.{minor}.{micro}"));
        match &installer {
            Installer::Uv(uv) => {
                let mut args = strings(&["venv", "--quiet", "--no-project", "--python"]);
                args.extend([base.clone().into_os_string(), venv.clone().into_os_string()]);
                self.run(uv, args, &base)
            }
            Installer::Pip => {
                let mut args = strings(&["-I", "-m", "venv"]);
                args.push(venv.clone().into_os_string());
                self.run(&base, args, &base)
            }
        }
        .and_then(|finished| self.checked(finished, "the virtual environment"))?;
        let built = match (lock, self.metadata.dynamic) {
            (None, true) => Some(self.build_metadata(&installer, &python, &base)?),
            _ => None,
        };
        let metadata = built.as_ref().unwrap_or(self.metadata);
        let wanted = match lock {
            Some(lock) => lock.requirements(&markers(&base, &base_probe)?),
            None => {
                let markers = markers(&base, &base_probe)?;
                requirements(&self.request.repository.root, metadata, &markers).join("\n")
            }
        };
        self.install(&installer, &python, &base, &wanted, lock.is_some())?;
        let kept = self.remove_own_package(&installer, &python, &base)?;
        let made = probe(&python, self.sandbox)?;
        if !kept {
            tell_version(&made.packages, metadata)?;
        }
        let environment = Environment {
            readable: super::readable(&python, &made, self.scratch),
            python,
            version: made.version,
            pythonpath: Vec::new(),
            pytest: made.pytest,
        };
        let record = Record { format: FORMAT, environment };
        let path = self.into.join(RECORD);
        let text = serde_json::to_vec_pretty(&record).map_err(|error| at(&path)(error.into()))?;
        fs::write(&path, text).map_err(at(&path))
    }

    /// Returns uv from the path, else from beside the interpreters that the user names.
    fn find_uv(&self) -> Option<PathBuf> {
        let host = self.request.host;
        let beside = host.pythons.iter().flat_map(|one| [one.join("uv"), one.join("bin/uv")]);
        let mut found = host.find("uv").into_iter().chain(beside);
        // A version manager's shim calls what the sandbox does not show; uv itself is no script.
        let uv = found.find(|uv| is_executable(uv) && !super::is_script(uv))?;
        // The sandbox shows the program, and not the links that lead to it.
        Some(uv.canonicalize().unwrap_or(uv))
    }

    /// The newest interpreter that the user, the repository and its compiled modules allow.
    fn choose_interpreter(&self) -> Result<(PathBuf, Probe), EnvironmentError> {
        let required = self.metadata.requires_python.as_deref();
        // A specifier that makes no sense restricts nothing.
        let required = required.and_then(|text| VersionSpecifiers::from_str(text).ok());
        let mut known: Vec<(PathBuf, Probe)> = Vec::new();
        let mut unusable = Vec::new();
        for python in find_interpreters(self.request.host) {
            match probe(&python, self.sandbox) {
                Ok(probe) if probe.unsupported().is_none() => known.push((python, probe)),
                Ok(_) => {}
                // The user wants to know about those that the user named.
                Err(error)
                    if self.request.host.pythons.iter().any(|own| python.starts_with(own)) =>
                {
                    unusable.push(error.to_string());
                }
                Err(_) => {}
            }
        }
        let is_settled = |probe: &Probe| (probe.version.0, probe.version.1) <= SETTLED;
        known.sort_by_key(|(_, probe)| std::cmp::Reverse((is_settled(probe), probe.version)));
        let seen: Vec<String> =
            known.iter().map(|(_, probe)| version_text(probe.version)).collect();
        let fits = |probe: &Probe| {
            let (major, minor, micro) = probe.version;
            let by_user = match self.request.python {
                Some(wanted) => wanted == (major, minor),
                None => {
                    let version = Version::new([u64::from(major), minor.into(), micro.into()]);
                    required.as_ref().is_none_or(|spec| spec.contains(&version))
                }
            };
            let extensions: Vec<&str> = self.extensions.split(' ').collect();
            by_user
                && (self.extensions.is_empty() || extensions.contains(&&*probe.extension_suffix))
        };
        known.into_iter().find(|(_, probe)| fits(probe)).ok_or_else(|| {
            let mut wanted = match (self.request.python, &self.metadata.requires_python) {
                (Some((major, minor)), _) => format!("python {major}.{minor}"),
                (None, Some(required)) => {
                    format!("python {required}, at most {}.{}", NEWEST.0, NEWEST.1)
                }
                (None, None) => {
                    format!("python {}.{} to {}.{}", OLDEST.0, OLDEST.1, NEWEST.0, NEWEST.1)
                }
            };
            if !self.extensions.is_empty() {
                wanted += &format!(", for compiled modules {}", self.extensions);
            }
            let mut found = if seen.is_empty() { "none".to_owned() } else { seen.join(", ") };
            for error in unusable {
                found += &format!("; {error}");
            }
            EnvironmentError::NoInterpreter { wanted, found }
        })
    }

    /// Returns the metadata that the repository's own build reports; the build works on a copy.
    fn build_metadata(
        &self,
        installer: &Installer,
        python: &Path,
        base: &Path,
    ) -> Result<Metadata, EnvironmentError> {
        #[derive(Deserialize)]
        struct Report {
            install: Vec<Installed>,
        }
        #[derive(Deserialize)]
        struct Installed {
            metadata: Built,
        }
        #[derive(Deserialize)]
        struct Built {
            name: String,
            version: String,
            #[serde(default)]
            requires_dist: Vec<String>,
            #[serde(default)]
            provides_extra: Vec<String>,
        }
        self.say("asking the repository's build what it needs");
        let copy = self.scratch.join("repository");
        fs::create_dir_all(&copy).map_err(at(&copy))?;
        copy_tree(&self.request.repository.root, &copy)
            .map_err(|(path, source)| at(&path)(source))?;
        if let Installer::Uv(uv) = installer {
            // Only pip tells the metadata that a build gives.
            let args = ["pip", "install", "--quiet", "--no-config", "pip", "--python"];
            let mut args = strings(&args);
            args.push(python.as_os_str().to_owned());
            let finished = self.run(uv, args, base)?;
            self.checked(finished, "pip")?;
        }
        let file = self.scratch.join("report.json");
        let mut args = strings(&["-I", "-m", "pip", "install", "--quiet", "--dry-run"]);
        args.extend(strings(&["--ignore-installed", "--no-deps", "--report"]));
        args.extend([file.clone().into_os_string(), copy.clone().into_os_string()]);
        let finished = self.run(python, args, base)?;
        self.checked(finished, "the repository's own metadata")?;
        let text = fs::read(&file).map_err(at(&file))?;
        let report: Report =
            serde_json::from_slice(&text).map_err(|error| at(&file)(error.into()))?;
        let mut metadata = self.metadata.clone();
        if let Some(installed) = report.install.into_iter().next() {
            metadata.name = Some(installed.metadata.name);
            metadata.version = Some(installed.metadata.version);
            metadata.requires = installed.metadata.requires_dist;
            metadata.extras = installed.metadata.provides_extra.into_iter().collect();
        }
        Ok(metadata)
    }

    fn install(
        &self,
        installer: &Installer,
        python: &Path,
        base: &Path,
        wanted: &str,
        locked: bool,
    ) -> Result<(), EnvironmentError> {
        let count = wanted.lines().filter(|line| is_requirement(line)).count();
        self.say(&format!("installing {count} requirements"));
        let file = self.scratch.join("requirements.txt");
        fs::write(&file, wanted).map_err(at(&file))?;
        let (program, mut args) = match installer {
            Installer::Uv(uv) => {
                let args = ["pip", "install", "--no-config", "--compile-bytecode", "--python"];
                let mut args = strings(&args);
                args.push(python.as_os_str().to_owned());
                // It has no variable for this.
                if self.index_variables()?.contains_key(NO_INDEX) {
                    args.push("--no-index".into());
                }
                (uv.as_path(), args)
            }
            Installer::Pip => (python, strings(&["-I", "-m", "pip", "install"])),
        };
        if locked {
            args.push("--no-deps".into());
        }
        args.extend(["-r".into(), file.into_os_string()]);
        let finished = self.run(program, args, base)?;
        self.installed(finished, wanted)
    }

    /// A dependency may have brought the repository's own package with it. A run must see only the
    /// copy, unless pytest itself or a plugin of it is made of it. Says whether it stays.
    fn remove_own_package(
        &self,
        installer: &Installer,
        python: &Path,
        base: &Path,
    ) -> Result<bool, EnvironmentError> {
        #[derive(Deserialize)]
        struct OwnPackage {
            installed: bool,
            needed: bool,
        }
        let Some(name) = &self.metadata.name else { return Ok(false) };
        let Ok(name) = PackageName::from_str(name) else { return Ok(false) };
        let mut args = strings(&["-I", "-c", include_str!("own_package.py")]);
        args.push(name.to_string().into());
        let finished = self.run(python, args, base)?;
        match serde_json::from_slice(&finished.stdout.bytes) {
            Ok(OwnPackage { installed: true, needed: false }) => {}
            Ok(OwnPackage { installed, needed: _ }) => return Ok(installed),
            Err(_) => return Ok(false),
        }
        self.say(&format!("removing {name}, which a dependency brought"));
        let (program, mut args) = match installer {
            Installer::Uv(uv) => {
                let mut args = strings(&["pip", "uninstall", "--quiet", "--no-config", "--python"]);
                args.push(python.as_os_str().to_owned());
                (uv.as_path(), args)
            }
            Installer::Pip => (python, strings(&["-I", "-m", "pip", "uninstall", "--yes"])),
        };
        args.push(name.to_string().into());
        let finished = self.run(program, args, base)?;
        self.checked(finished, &format!("the environment without {name}"))?;
        Ok(false)
    }

    /// Runs a program with the network, and with only those variables of the user that downloads
    /// need.
    fn run(
        &self,
        program: &Path,
        args: Vec<OsString>,
        base: &Path,
    ) -> Result<Finished, EnvironmentError> {
        let host = self.request.host;
        let mut env = host.download_variables();
        env.extend(self.index_variables()?);
        let directories = ["home", "tmp"].map(|name| self.scratch.join(name));
        for directory in &directories {
            fs::create_dir_all(directory).map_err(at(directory))?;
        }
        let [home, temporary] = directories;
        let own = [
            ("HOME", home.display().to_string()),
            ("TMPDIR", temporary.display().to_string()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("LC_ALL", "C.UTF-8".to_owned()),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1".to_owned()),
            ("PIP_NO_INPUT", "1".to_owned()),
            // A build could plant something there for others.
            ("PIP_NO_CACHE_DIR", "1".to_owned()),
            ("PIP_ROOT_USER_ACTION", "ignore".to_owned()),
            ("UV_CACHE_DIR", self.scratch.join("uv").display().to_string()),
            ("UV_LINK_MODE", "copy".to_owned()),
            ("UV_NO_PROGRESS", "1".to_owned()),
            ("UV_PYTHON_DOWNLOADS", "never".to_owned()),
        ];
        env.extend(own.map(|(name, value)| (name.to_owned(), value)));
        let mut readable = host.named_paths();
        readable.extend(link_chain(base));
        if !program.starts_with(self.into) {
            readable.extend(program.parent().map(Path::to_path_buf));
        }
        Ok(self.sandbox.run(&Request {
            program: program.to_path_buf(),
            args,
            cwd: self.scratch.to_path_buf(),
            env,
            readable,
            writable: vec![self.into.to_path_buf(), self.scratch.to_path_buf()],
            hidden: Vec::new(),
            network: Network::Host,
            limits: Limits {
                wall: Duration::from_secs(3600),
                cpu: Duration::from_secs(7200),
                memory: 16 << 30,
                processes: 1024,
                output: 4 << 20,
                file: 16 << 30,
                disk: 64 << 30,
            },
        })?)
    }

    /// The user's settings of pip, as variables: its files are in a home that is not visible.
    fn index_variables(&self) -> Result<BTreeMap<String, String>, EnvironmentError> {
        let path = self.scratch.join("pip.json");
        if let Ok(text) = fs::read(&path)
            && let Ok(variables) = serde_json::from_slice(&text)
        {
            return Ok(variables);
        }
        let mut variables = BTreeMap::new();
        match pip::settings(self.request.host, self.sandbox) {
            Ok(settings) => {
                let mut add = |name: &str, value: String| {
                    if !value.is_empty() {
                        variables.insert(name.to_owned(), value);
                    }
                };
                add("PIP_EXTRA_INDEX_URL", settings.more.join(" "));
                add("UV_INDEX", settings.more.join(" "));
                add("PIP_FIND_LINKS", settings.links.join(" "));
                add("UV_FIND_LINKS", settings.links.join(","));
                add("PIP_TRUSTED_HOST", settings.trusted.join(" "));
                add("UV_INSECURE_HOST", settings.trusted.join(" "));
                add("PIP_CERT", settings.certificates.clone());
                add("SSL_CERT_FILE", settings.certificates);
                add("PIP_PROXY", settings.proxy);
                if settings.no_index {
                    add(NO_INDEX, "1".to_owned());
                }
                add("PIP_INDEX_URL", settings.index.clone());
                add("UV_DEFAULT_INDEX", settings.index);
            }
            // Then each installer knows best.
            Err(PipError::Unknown) => {}
            Err(PipError::Interrupted) => return Err(EnvironmentError::Interrupted),
            Err(PipError::Sandbox(error)) => return Err(error.into()),
        }
        let text = serde_json::to_vec(&variables).map_err(|error| at(&path)(error.into()))?;
        fs::write(&path, text).map_err(at(&path))?;
        Ok(variables)
    }

    fn say(&self, step: &str) {
        (self.progress)(Progress::Step(step));
    }
}

/// Leaves metadata of the repository, and no code, among the packages: many a package asks for its
/// own version when it is imported.
fn tell_version(packages: &Path, metadata: &Metadata) -> Result<(), EnvironmentError> {
    let (Some(name), Some(version)) = (&metadata.name, &metadata.version) else { return Ok(()) };
    let (Ok(name), Ok(version)) = (PackageName::from_str(name), Version::from_str(version)) else {
        return Ok(());
    };
    let file_name = name.to_string().replace('-', "_");
    let directory = packages.join(format!("{file_name}-{version}.dist-info"));
    if directory.exists() {
        return Ok(());
    }
    fs::create_dir(&directory).map_err(at(&directory))?;
    let mut text = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
    let one_line = |line: &&String| !line.contains(['\n', '\r']);
    for line in metadata.requires.iter().filter(one_line) {
        text += &format!("Requires-Dist: {line}\n");
    }
    for (file, text) in [("METADATA", &*text), ("INSTALLER", "gistify\n"), ("RECORD", "")] {
        let path = directory.join(file);
        fs::write(&path, text).map_err(at(&path))?;
    }
    Ok(())
}

/// Returns the distinct suffixes of a repository's compiled modules that name an interpreter and
/// can be loaded. Ignores files in test directories: they are test data.
fn extension_suffixes(root: &Path) -> Vec<String> {
    let Ok(snapshot) = Snapshot::of(root) else { return Vec::new() };
    let files =
        snapshot.entries.iter().filter(|entry| matches!(entry.kind, EntryKind::File { .. }));
    let mut found: Vec<String> = files
        .filter_map(|entry| {
            let name = entry.path.file_name()?.to_str()?;
            let (_, suffix) = name.split_once('.')?;
            let own = suffix.starts_with("cpython-") && suffix.ends_with(".so");
            let is_data = entry.path.iter().any(|part| part == "test" || part == "tests");
            (own && !is_data && is_shared_object(&root.join(&entry.path)))
                .then(|| format!(".{suffix}"))
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Returns true if a file begins with the ELF magic number.
fn is_shared_object(path: &Path) -> bool {
    let mut magic = [0; 4];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == *b"\x7fELF"
}

/// Returns the stored description of an environment if its interpreter still exists.
fn usable_record(content: &Path) -> Option<Environment> {
    let record: Record = serde_json::from_slice(&fs::read(content.join(RECORD)).ok()?).ok()?;
    let whole = record.format == FORMAT && record.environment.python.exists();
    whole.then_some(record.environment)
}

/// The environment of PEP 508 markers of an interpreter.
fn markers(python: &Path, probe: &Probe) -> Result<MarkerEnvironment, EnvironmentError> {
    let markers =
        serde_json::to_value(&probe.markers).and_then(serde_json::from_value::<MarkerEnvironment>);
    markers.map_err(|error| EnvironmentError::Interpreter {
        python: python.to_path_buf(),
        reason: error.to_string(),
    })
}

fn version_text((major, minor, micro): (u8, u8, u8)) -> String {
    format!("{major}.{minor}.{micro}")
}

fn strings(args: &[&str]) -> Vec<OsString> {
    args.iter().map(OsString::from).collect()
}

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> EnvironmentError {
    let path = path.to_path_buf();
    move |source| EnvironmentError::Io { path, source }
}
