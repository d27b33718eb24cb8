//! Repositories and environments of published suites: opened from the package index, pinned by
//! checksum, and installed from the suite's lock, all through the cache.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use tools::{
    Artifact, Cache, Environment, Host, Interrupt, OpenOptions, Progress, ProvisionRequest,
    Repository, Sandbox,
};

use crate::{
    bench::{Supplied, Supply},
    task::Task,
};

/// Supplies tasks through a cache; several threads may share it.
pub struct CachedSupply<'a> {
    /// The cache of downloads and environments.
    pub cache: &'a Cache,
    /// Runs interpreters and installers.
    pub sandbox: &'a dyn Sandbox,
    /// The user's machine.
    pub host: &'a Host,
    /// Ends downloads.
    pub interrupt: &'a Interrupt,
    /// The Python version of all tasks, in place of the suite's own.
    pub python: Option<(u8, u8)>,
    /// Finds a lock or a script by its name in a suite.
    pub files: &'a (dyn Fn(&str) -> Option<PathBuf> + Sync),
    /// Supplies what is no release: a directory or a revision, and the user's interpreter.
    pub elsewhere: &'a (dyn Fn(&Task) -> Result<Supplied, String> + Sync),
    /// The receiver of progress messages.
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
    /// The repositories supplied so far; start with an empty one.
    pub known: Known,
}

/// The repositories and environments that a supply has made available.
#[derive(Debug, Default)]
pub struct Known(Mutex<BTreeMap<String, Supplied>>);

impl Supply for CachedSupply<'_> {
    fn supply(&self, task: &Task) -> Result<Supplied, String> {
        let key = format!(
            "{:?} {} {} {} {:?} {:?} {:?}",
            task.source,
            task.artifact,
            task.sha256,
            task.root,
            task.pythonpath,
            task.lock,
            task.python
        );
        let find = |script: &String| {
            let found = (self.files)(script);
            found.ok_or_else(|| format!("task {}: no script {script}", task.id))
        };
        let script = task.script.as_ref().map(find).transpose()?;
        // Held while supplying: tasks of one suite wait for the one that makes what they share.
        let mut known = self.known.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(supplied) = known.get(&key) {
            return Ok(Supplied { script, ..supplied.clone() });
        }
        let supplied = match &task.source {
            Some(_) => (self.elsewhere)(task)?,
            None => self.make(task)?,
        };
        known.insert(key, supplied.clone());
        Ok(Supplied { script, ..supplied })
    }
}

impl CachedSupply<'_> {
    fn make(&self, task: &Task) -> Result<Supplied, String> {
        let own = version(&task.python)
            .ok_or_else(|| format!("task {}: python {:?} is no version", task.id, task.python))?;
        let python = self.python.unwrap_or(own);
        let lock = task
            .lock
            .as_deref()
            .map(|lock| {
                lock_for(lock, python, own, self.files)
                    .ok_or_else(|| format!("task {}: no lock file {lock}", task.id))
            })
            .transpose()?;
        let artifact = Artifact { file: task.artifact.clone(), sha256: task.sha256.clone() };
        let options = OpenOptions {
            cache: self.cache,
            sandbox: self.sandbox,
            host: self.host,
            interrupt: self.interrupt,
            artifact: Some(&artifact),
            python: Some(python),
            apart: &[],
            command: &[],
            refresh: false,
            progress: &|progress| (self.progress)(progress),
        };
        let spec = format!("pypi:{}=={}", task.repo, task.version);
        let repository = Repository::open(&spec, &options).map_err(|error| error.to_string())?;
        let request = ProvisionRequest {
            repository: &repository,
            host: self.host,
            python: Some(python),
            lock: lock.as_deref(),
            pythonpath: Some(&task.pythonpath),
            rebuild: false,
        };
        let environment = Environment::provision(&request, self.cache, self.sandbox, &|progress| {
            (self.progress)(progress)
        })
        .map_err(|error| error.to_string())?;
        Ok(Supplied { repository, environment, script: None })
    }
}

/// The lock of a version other than the suite's own is a file of its own, where it has to differ:
/// `requirements-x-313.txt` beside `requirements-x.txt`. It serves newer versions as well, up to one that has its own.
fn lock_for(
    lock: &str,
    python: (u8, u8),
    own: (u8, u8),
    find: &dyn Fn(&str) -> Option<PathBuf>,
) -> Option<PathBuf> {
    let (stem, extension) = lock.rsplit_once('.').unwrap_or((lock, "txt"));
    let other = |minor: u8| find(&format!("{stem}-{}{minor}.{extension}", python.0));
    let own_lock = || find(lock);
    match python.1.cmp(&own.1) {
        Ordering::Equal => own_lock(),
        Ordering::Less => other(python.1).or_else(own_lock),
        Ordering::Greater => (own.1 + 1..=python.1).rev().find_map(other).or_else(own_lock),
    }
}

fn version(text: &str) -> Option<(u8, u8)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_another_version_is_found_first() {
        let files = ["locks/a.txt", "locks/a-313.txt", "locks/b.txt"];
        let find = |name: &str| files.contains(&name).then(|| PathBuf::from(name));
        for (lock, python, expected) in [
            ("locks/a.txt", (3, 11), Some("locks/a.txt")),
            ("locks/a.txt", (3, 13), Some("locks/a-313.txt")),
            ("locks/a.txt", (3, 12), Some("locks/a.txt")),
            ("locks/a.txt", (3, 10), Some("locks/a.txt")),
            ("locks/a.txt", (3, 15), Some("locks/a-313.txt")),
            ("locks/b.txt", (3, 13), Some("locks/b.txt")),
            ("locks/c.txt", (3, 13), None),
        ] {
            let found = lock_for(lock, python, (3, 11), &find);
            assert_eq!(found.as_deref(), expected.map(std::path::Path::new));
        }
        assert_eq!(version("3.11"), Some((3, 11)));
        assert_eq!(version("3"), None);
    }
}
