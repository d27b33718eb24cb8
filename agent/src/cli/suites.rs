//! Suites and their locks by name: those that are in the program, and files of the user's.

use std::path::{Path, PathBuf};

use ::eval::{Suite, Task};

use super::{
    Exit, Failure, OrExit,
    named_suite::{SuiteKind, is_path_of_suite},
};
use crate::record::replace;

/// The suites of the program.
const EMBEDDED: SuiteKind = SuiteKind::Commands;

/// The suites of a bench.
pub struct Suites {
    /// Their tasks, in order.
    pub tasks: Vec<Task>,
    /// The directories with the user's suites.
    directories: Vec<PathBuf>,
}

impl Suites {
    /// Reads suites: files by their path, others by name from the user's directory of suites, or else
    /// from those that the program has in it.
    ///
    /// # Errors
    /// There is none of one name, or it is no suite.
    pub fn read(names: &[String], directory: &Path) -> Result<Self, Failure> {
        let mut suites = Self { tasks: Vec::new(), directories: Vec::new() };
        for name in names {
            let own = directory.join(format!("{name}.toml"));
            let file = match is_path_of_suite(name) {
                true => Some(PathBuf::from(name)),
                false => Some(own).filter(|own| own.exists() && !directory.as_os_str().is_empty()),
            };
            let suite = match (&file, EMBEDDED.text(&format!("{name}.toml"))) {
                (Some(path), _) => Suite::read(path),
                (None, Some(text)) => Suite::parse(name, text),
                (None, None) => return Err(EMBEDDED.no_suite(name)),
            };
            suites.directories.extend(file.and_then(|path| Some(path.parent()?.to_owned())));
            suites.tasks.extend(suite.or_exit(Exit::Input)?.tasks);
        }
        Ok(suites)
    }

    /// A lock or a script by its name in a suite: the embedded ones are put into a directory first.
    pub fn file(&self, name: &str, directory: &Path) -> Option<PathBuf> {
        let own = self.directories.iter().map(|directory| directory.join(name));
        if let Some(path) = own.into_iter().find(|path| path.is_file()) {
            return Some(path);
        }
        let path = directory.join(name.replace('/', "-"));
        replace(&path, EMBEDDED.text(name)?.as_bytes()).ok()?;
        Some(path)
    }
}
