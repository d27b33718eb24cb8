//! Suites by name, and what their tasks run on: releases from the index, environments from locks.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use ::eval::{Suite, Supplied, Supply, Task};
use include_dir::{Dir, include_dir};
use tools::{Artifact, Environment, LocalSandbox, ProvisionRequest};

use super::{
    Exit, Failure, OrExit, progress::Progress, surroundings::Surroundings, target::version,
};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../configs/suites");

/// Where the files of a suite are.
#[derive(Debug, Clone)]
enum Place {
    Embedded,
    Directory(PathBuf),
}

/// The suites of a bench.
pub struct Suites {
    /// Their tasks, in order.
    pub tasks: Vec<Task>,
    /// Where the files of each are, by name.
    places: Vec<(String, Place)>,
}

impl Suites {
    /// Reads suites: files by their path, others by name from the user's directory of suites, or else
    /// from those that the program has in it.
    ///
    /// # Errors
    /// There is none of one name, or it is no suite.
    pub fn read(names: &[String], directory: &Path) -> Result<Self, Failure> {
        let mut suites = Self { tasks: Vec::new(), places: Vec::new() };
        for name in names {
            let own = directory.join(format!("{name}.toml"));
            let (suite, place) = if name.ends_with(".toml") {
                of_file(Path::new(name))?
            } else if !directory.as_os_str().is_empty() && own.exists() {
                of_file(&own)?
            } else {
                let Some(text) = embedded(&format!("{name}.toml")) else {
                    let message =
                        format!("no suite {name:?} (there are {}, or name a file)", known());
                    return Err(Failure::new(Exit::Usage, message));
                };
                (Suite::parse(name, text).or_exit(Exit::Input)?, Place::Embedded)
            };
            suites.places.push((suite.name.clone(), place));
            suites.tasks.extend(suite.tasks);
        }
        Ok(suites)
    }

    /// The text of a file that a task names.
    fn text(&self, task: &Task, name: &str) -> Result<String, String> {
        let place = self.places.iter().find(|(suite, _)| *suite == task.suite);
        match place.map(|(_, place)| place) {
            Some(Place::Directory(directory)) => {
                let path = directory.join(name);
                fs::read_to_string(&path)
                    .map_err(|error| format!("read lock {}: {error}", path.display()))
            }
            _ => embedded(name)
                .map(str::to_owned)
                .ok_or_else(|| format!("no lock {name} among the embedded suites")),
        }
    }
}

/// Makes the repositories and environments of tasks available, in the cache.
pub struct Shelf<'a> {
    /// The suites.
    pub suites: &'a Suites,
    /// Whose cache it is.
    pub around: &'a Surroundings,
    /// Runs installers.
    pub sandbox: Arc<LocalSandbox>,
    /// Hears how it goes.
    pub progress: &'a Progress,
    /// A version of Python in the place of the tasks' own.
    pub python: Option<(u8, u8)>,
    /// Where lock files are put for the installer.
    pub locks: PathBuf,
}

impl Shelf<'_> {
    /// The lock of a task, as a file. For a Python that is not the task's own the file of that version
    /// counts, where there is one: `NAME-3.13.txt` beside `NAME.txt`.
    fn lock(&self, task: &Task) -> Result<Option<PathBuf>, String> {
        let Some(name) = &task.lock else { return Ok(None) };
        let stem = name.trim_end_matches(".txt");
        let special = self.python.map(|(major, minor)| format!("{stem}-{major}.{minor}.txt"));
        let special = special.and_then(|name| Some((self.suites.text(task, &name).ok()?, name)));
        let (text, name) = match special {
            Some(found) => found,
            None => (self.suites.text(task, name)?, name.clone()),
        };
        let path = self.locks.join(format!("{}-{}", task.suite, name.replace('/', "-")));
        crate::record::replace(&path, text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(Some(path))
    }
}

impl Supply for Shelf<'_> {
    fn supply(&self, task: &Task) -> Result<Supplied, String> {
        let told = |failure: Failure| failure.told();
        let python = self.python.or_else(|| version(&task.python));
        let artifact = Artifact { file: task.artifact.clone(), sha256: task.sha256.clone() };
        let artifact = Some(&artifact).filter(|artifact| !artifact.file.is_empty());
        let named = match task.version.as_str() {
            "" => task.repo.clone(),
            version => format!("pypi:{}=={version}", task.repo),
        };
        let repository = self
            .around
            .release(&named, artifact, python, &*self.sandbox, self.progress)
            .map_err(told)?;
        let lock = self.lock(task)?;
        let request = ProvisionRequest {
            repository: &repository,
            host: &self.around.host,
            python,
            lock: lock.as_deref(),
            pythonpath: Some(&task.pythonpath),
            rebuild: false,
        };
        let cache = self.around.store().map_err(told)?;
        let sign = |sign: tools::Progress<'_>| self.progress.sign(sign);
        let environment = Environment::provision(&request, cache, &*self.sandbox, &sign)
            .map_err(|error| error.to_string())?;
        Ok(Supplied { repository, environment })
    }
}

fn of_file(path: &Path) -> Result<(Suite, Place), Failure> {
    let suite = Suite::read(path).or_exit(Exit::Input)?;
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    Ok((suite, Place::Directory(directory)))
}

fn embedded(name: &str) -> Option<&'static str> {
    EMBEDDED.get_file(name)?.contents_utf8()
}

/// The names of the embedded suites, sorted.
fn known() -> String {
    let files = EMBEDDED.files().filter_map(|file| file.path().to_str()?.strip_suffix(".toml"));
    let mut names: Vec<_> = files.collect();
    names.sort_unstable();
    names.join(", ")
}
