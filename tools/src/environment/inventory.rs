//! Lists the packages of an environment, and creates environments with some of them.
//!
//! Such an environment consists of links into the whole one: nothing is downloaded, installed or
//! changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{Environment, EnvironmentError, probe::limits};
use crate::sandbox::{Network, Request, Sandbox, Status};

/// The installed packages of an environment.
#[derive(Debug, Clone, Deserialize)]
pub struct Inventory {
    /// The interpreter that the environment's own is a link to.
    base: PathBuf,
    distributions: Vec<Distribution>,
    /// For each module that was asked for and is installed, the name of its distribution.
    owners: BTreeMap<String, String>,
}

/// An installed distribution.
#[derive(Debug, Clone, Deserialize)]
pub struct Distribution {
    /// Its name, in lower case with dashes.
    pub name: String,
    /// Its version.
    pub version: String,
    pub(super) site: PathBuf,
    tops: Vec<String>,
    requires: Vec<String>,
    /// True if pytest loads a part of it as a plugin by itself.
    pub plugin: bool,
    /// True if it is a directory of the user's that is installed in place.
    pub editable: bool,
    /// Its licence, as its metadata name it in a line; empty where they do not.
    pub licence: String,
    /// The files with the text of the licence, as its metadata name them.
    pub licence_files: Vec<String>,
}

impl Distribution {
    /// The requirement that pins it.
    pub fn pinned(&self) -> String {
        format!("{}=={}", self.name, self.version)
    }

    /// The files and directories of its site directory that hold its modules and data.
    pub(super) fn sources(&self) -> impl Iterator<Item = &str> {
        let is_metadata =
            |top: &str| [".dist-info", ".egg-info", ".pth"].iter().any(|end| top.ends_with(end));
        self.tops.iter().map(String::as_str).filter(move |top| !is_metadata(top))
    }
}

impl Inventory {
    /// The distribution of a name.
    pub fn get(&self, name: &str) -> Option<&Distribution> {
        self.distributions.iter().find(|one| one.name == name)
    }

    /// All distributions, by name.
    pub fn distributions(&self) -> &[Distribution] {
        &self.distributions
    }

    /// The names of the distributions that these modules belong to, as far as they were asked for.
    pub fn owners_of(&self, modules: &BTreeSet<String>) -> BTreeSet<String> {
        let owners = modules.iter().filter_map(|module| self.owners.get(module));
        owners.cloned().collect()
    }

    /// Requirements that pin these distributions to the versions that are installed.
    pub fn pinned(&self, names: &BTreeSet<String>) -> Vec<String> {
        let found = names.iter().filter_map(|name| self.get(name));
        found.map(Distribution::pinned).collect()
    }

    /// These distributions and all that they require, as far as that is installed.
    pub(super) fn closure(&self, names: &BTreeSet<String>) -> Vec<&Distribution> {
        let mut pending: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        while let Some(name) = pending.pop() {
            if let Some(one) = self.get(name).filter(|_| seen.insert(name)) {
                pending.extend(one.requires.iter().map(String::as_str));
                found.push(one);
            }
        }
        found
    }
}

impl Environment {
    /// Returns the installed distributions, and the owners of these modules (dotted names).
    ///
    /// # Errors
    /// The interpreter cannot be queried.
    pub fn inventory(
        &self,
        modules: &BTreeSet<String>,
        sandbox: &dyn Sandbox,
    ) -> Result<Inventory, EnvironmentError> {
        let unusable =
            |reason: String| EnvironmentError::Interpreter { python: self.python.clone(), reason };
        let program = include_str!("inventory.py");
        let mut args: Vec<OsString> = ["-I", "-B", "-c", program].map(OsString::from).into();
        args.extend(modules.iter().map(OsString::from));
        let request = Request {
            program: self.python.clone(),
            args,
            cwd: PathBuf::from("/"),
            env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
            readable: self.readable.clone(),
            writable: Vec::new(),
            hidden: Vec::new(),
            network: Network::Loopback,
            limits: crate::sandbox::Limits { output: 64 << 20, ..limits() },
        };
        let finished = sandbox.run(&request)?;
        match finished.status {
            Status::Exited(0) => {}
            Status::Interrupted => return Err(EnvironmentError::Interrupted),
            _ => {
                let told = finished.stderr.text();
                let last = told.trim().lines().last().unwrap_or("it printed nothing");
                return Err(unusable(format!("it cannot say what is installed: {last}")));
            }
        }
        serde_json::from_slice(&finished.stdout.bytes)
            .map_err(|error| unusable(format!("it cannot say what is installed: {error}")))
    }

    /// An environment in an empty directory that has these distributions and what they require, and nothing else:
    /// links into this one.
    ///
    /// # Errors
    /// When a link cannot be made.
    pub fn part(
        &self,
        inventory: &Inventory,
        names: &BTreeSet<String>,
        into: &Path,
    ) -> Result<Environment, EnvironmentError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source: io::Error| EnvironmentError::Io { path, source }
        };
        let (major, minor, micro) = self.version;
        let bin = into.join("bin");
        let site = into.join(format!("lib/python{major}.{minor}/site-packages"));
        for directory in [&bin, &site] {
            fs::create_dir_all(directory).map_err(failed(directory))?;
        }
        let home = inventory.base.parent().unwrap_or(Path::new("/")).display();
        let settings = into.join("pyvenv.cfg");
        let text = format!(
            "home = {home}\ninclude-system-site-packages = false\nversion = {major}.{minor}.{micro}\n"
        );
        fs::write(&settings, text).map_err(failed(&settings))?;
        let python = bin.join("python");
        symlink(&inventory.base, &python).map_err(failed(&python))?;
        for one in inventory.closure(names) {
            for top in &one.tops {
                let (from, to) = (one.site.join(top), site.join(top));
                // A directory that several of them share is linked once, as a whole.
                if !from.exists() || to.symlink_metadata().is_ok() {
                    continue;
                }
                symlink(&from, &to).map_err(failed(&to))?;
            }
        }
        let mut readable = self.readable.clone();
        readable.extend(super::link_chain(&python));
        readable.push(into.to_path_buf());
        readable.sort();
        readable.dedup();
        let pytest = self.pytest.clone().filter(|_| site.join("pytest").exists());
        Ok(Environment { python, version: self.version, readable, pythonpath: Vec::new(), pytest })
    }
}

/// The name and version of the project at `root`, as far as its files say them.
pub fn project(root: &Path) -> (Option<String>, Option<String>) {
    let metadata = super::metadata::read_metadata(root);
    (metadata.name, metadata.version)
}
