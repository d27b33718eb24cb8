//! Suites by name: files of the user's, and those that are in the program; each with the files that it names.

use std::{
    fs,
    path::{Path, PathBuf},
};

use include_dir::{Dir, include_dir};

use super::{Exit, Failure, input_file::InputFile};

/// The kind of a suite; each has its own directory in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuiteKind {
    /// Commands of which gists are written.
    Commands,
    /// Issues that are fixed.
    Issues,
    /// Tasks in natural language.
    Queries,
    /// Repositories whose functions are completed.
    Functions,
}

static COMMANDS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../configs/suites");
static ISSUES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../configs/issues");
static QUERIES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../configs/queries");
static FUNCTIONS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../configs/repoexec");

impl SuiteKind {
    const ALL: [Self; 4] = [Self::Commands, Self::Issues, Self::Queries, Self::Functions];

    /// Returns the directory of the program's suites.
    pub fn directory(self) -> &'static Dir<'static> {
        match self {
            Self::Commands => &COMMANDS,
            Self::Issues => &ISSUES,
            Self::Queries => &QUERIES,
            Self::Functions => &FUNCTIONS,
        }
    }

    /// Returns the text of a file of the program's, or None where it has no such text.
    pub fn text(self, name: &str) -> Option<&'static str> {
        self.directory().get_file(name)?.contents_utf8()
    }

    /// Returns the command that takes a suite of this kind.
    fn command_of(self, name: &str) -> String {
        match self {
            Self::Commands => format!("gistify bench {name}"),
            Self::Issues => format!("gistify issues build {name}"),
            Self::Queries => format!("gistify queries solve {name}"),
            Self::Functions => format!("gistify repoexec build --suite {name}"),
        }
    }

    /// Returns the failure for a name that no suite of this kind has. It names the command for a suite of another kind, or
    /// else lists the names.
    pub fn no_suite(self, name: &str) -> Failure {
        let file = format!("{name}.toml");
        let message = match Self::ALL.into_iter().find(|kind| kind.text(&file).is_some()) {
            Some(kind) => {
                format!("suite {name} is for another command (run {})", kind.command_of(name))
            }
            None => {
                let files = self.directory().files();
                let names = files.filter_map(|file| file.path().to_str()?.strip_suffix(".toml"));
                let mut names: Vec<_> = names.collect();
                names.sort_unstable();
                let names = names.join(", ");
                format!("no suite {name:?} (there are {names}, or name a file as ./{name})")
            }
        };
        Failure::new(Exit::Usage, message)
    }
}

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
    kind: SuiteKind,
}

impl NamedSuite {
    /// Reads a suite: a file by its path, or one of the program's by its name.
    ///
    /// # Errors
    /// There is no such file, it is no text, or no suite has that name.
    pub fn read(name: &str, kind: SuiteKind) -> Result<Self, Failure> {
        if is_path_of_suite(name) {
            let path = Path::new(name);
            let text = InputFile { what: "suite", path, hint: "" }.text()?;
            let directory = Some(path.parent().unwrap_or(Path::new("")).to_owned());
            return Ok(Self { text, files: SuiteFiles { directory, kind } });
        }
        let text = kind.text(&format!("{name}.toml")).ok_or_else(|| kind.no_suite(name))?;
        Ok(Self { text: text.to_owned(), files: SuiteFiles { directory: None, kind } })
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
                .kind
                .directory()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_of_another_kind_names_its_command() {
        for (kind, name, told) in [
            (SuiteKind::Commands, "twenty-fixes", "(run gistify issues build twenty-fixes)"),
            (SuiteKind::Commands, "eighteen-tasks", "(run gistify queries solve eighteen-tasks)"),
            (
                SuiteKind::Commands,
                "ten-packages",
                "(run gistify repoexec build --suite ten-packages)",
            ),
            (
                SuiteKind::Queries,
                "requests",
                "suite requests is for another command (run gistify bench requests)",
            ),
            (
                SuiteKind::Issues,
                "none",
                "no suite \"none\" (there are twenty-fixes, or name a file as ./none)",
            ),
        ] {
            let message = kind.no_suite(name).message();
            assert!(message.ends_with(told), "{message}");
        }
    }
}
