//! Suites by name: files of the user's, and those that are in the program; each with the files that it names.

use std::{
    fs,
    path::{Path, PathBuf},
};

use include_dir::Dir;

use super::{Exit, Failure, input_file::InputFile};

/// A suite's text, and the place of the files that it names.
pub struct NamedSuite {
    /// The text, TOML.
    pub text: String,
    /// The files that it names.
    pub files: SuiteFiles,
}

/// The files that a suite names: those beside it, or those of the program.
pub struct SuiteFiles {
    /// The directory of the user's suite.
    pub directory: Option<PathBuf>,
    embedded: &'static Dir<'static>,
}

impl NamedSuite {
    /// Reads a suite: a file by its path, or one of `embedded` by its name.
    ///
    /// # Errors
    /// There is no such file, it is no text, or no suite has that name.
    pub fn read(name: &str, embedded: &'static Dir<'static>) -> Result<Self, Failure> {
        if is_path_of_suite(name) {
            let path = Path::new(name);
            let text = InputFile { what: "suite", path, hint: "" }.text()?;
            let directory = Some(path.parent().unwrap_or(Path::new("")).to_owned());
            return Ok(Self { text, files: SuiteFiles { directory, embedded } });
        }
        let text = embedded_text(embedded, &format!("{name}.toml"));
        let text = text.ok_or_else(|| no_suite(name, embedded))?.to_owned();
        Ok(Self { text, files: SuiteFiles { directory: None, embedded } })
    }
}

impl SuiteFiles {
    /// Returns the bytes of a file of the suite.
    ///
    /// # Errors
    /// There is no such file.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, Failure> {
        let read = match &self.directory {
            Some(directory) => fs::read(directory.join(name)).map_err(|error| error.to_string()),
            None => self
                .embedded
                .get_file(name)
                .map(|file| file.contents().to_vec())
                .ok_or_else(|| "the program has no such file".to_owned()),
        };
        read.map_err(|reason| Failure::new(Exit::Input, format!("read {name} of suite: {reason}")))
    }

    /// Returns the text of a file of the suite.
    ///
    /// # Errors
    /// There is no such file, or it is no text.
    pub fn text(&self, name: &str) -> Result<String, Failure> {
        String::from_utf8(self.bytes(name)?)
            .map_err(|_| Failure::new(Exit::Input, format!("read {name} of suite: it is no text")))
    }
}

/// True for a path of a suite, false for a name: `./mine`, `mine.toml`.
pub fn is_path_of_suite(name: &str) -> bool {
    name.ends_with(".toml") || name.contains(std::path::MAIN_SEPARATOR)
}

/// Returns the text of a file of the program's, or None where it has no such text.
pub fn embedded_text(embedded: &'static Dir<'static>, name: &str) -> Option<&'static str> {
    embedded.get_file(name)?.contents_utf8()
}

/// Returns the failure for a name that no suite has, which lists the names.
pub fn no_suite(name: &str, embedded: &Dir<'_>) -> Failure {
    let files = embedded.files().filter_map(|file| file.path().to_str()?.strip_suffix(".toml"));
    let mut names: Vec<_> = files.collect();
    names.sort_unstable();
    let names = names.join(", ");
    let message = format!("no suite {name:?} (there are {names}, or name a file as ./{name})");
    Failure::new(Exit::Usage, message)
}
