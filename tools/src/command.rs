//! Parses the command of a task: its words, and the parts that a gist needs.
//!
//! It owns the grammar of commands and their mapping onto a gist. It reads no file, expands no
//! variable and executes nothing.

mod id;
mod options;
#[cfg(test)]
mod tests;

use std::fmt;

pub use self::id::TestId;
use self::{
    id::{example_of, node_id, unittest_id, whole},
    options::{DISCOVERY, DOCTEST_VALUED, PYTEST_VALUED, UNITTEST_VALUED},
};

/// A command that runs tests or a program of a repository.
///
/// ```
/// let command = gistify_tools::Command::parse("pytest -q tests/test_a.py::test_b[1-x]").unwrap();
/// assert_eq!(command.tests()[0].path, "tests/test_a.py");
/// assert_eq!(
///     command.for_gist("tests/concise.py").to_string(),
///     "pytest -q 'tests/concise.py::test_b[1-x]'"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    variables: Vec<(String, String)>,
    options: Vec<String>,
    program: CommandProgram,
    args: Vec<String>,
}

/// The program that a command starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandProgram {
    /// `pytest ...`, which leaves the current directory off `sys.path`.
    Pytest,
    /// `python -m pytest ...`, which puts it there.
    PytestModule,
    /// `python -m NAME ...`; `unittest` and `doctest` are modules like others.
    Module(String),
    /// `python PATH ...`.
    Script(String),
    /// A program that an installation puts beside the interpreter.
    Console(String),
}

/// Why a text is no command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// Nothing but blanks and variables.
    #[error("the command is empty (for example: pytest tests/test_x.py::test_y)")]
    Empty,
    /// A quote or a backslash at the end.
    #[error("the command `{0}` ends within a quotation")]
    Quotation(String),
    /// Something that only a shell could run.
    #[error("the command has the shell operator `{0}` (give one program and its arguments)")]
    Shell(String),
    /// An interpreter without a program.
    #[error("the command `{0}` names no module and no script")]
    NoProgram(String),
    /// `python -c`.
    #[error("`python -c` runs no file that a gist could stand for (put the code into a script)")]
    Inline,
    /// Two commands of different programs, or with different options.
    #[error(
        "`{first}` and `{other}` cannot be one run (both have to be pytest, unittest or doctest, with the same options)"
    )]
    Apart {
        /// The one.
        first: String,
        /// The other.
        other: String,
    },
    /// pytest without a file, a node id or an expression.
    #[error(
        "the command `{0}` names no test (for example: pytest tests/test_x.py::test_y, or a directory: pytest tests)"
    )]
    NoTest(String),
}

impl Command {
    /// Parses a command line. Splits words as a POSIX shell does; leading `NAME=value` words are
    /// variables; nothing is expanded.
    ///
    /// # Errors
    /// [`CommandError`] names the missing part.
    pub fn parse(text: &str) -> Result<Command, CommandError> {
        let words =
            shlex::split(text).ok_or_else(|| CommandError::Quotation(text.trim().to_string()))?;
        Command::from_words(words)
    }

    /// Parses a command line that may be `python -c CODE`: then the command runs a script of this name, and the code is
    /// returned beside it.
    ///
    /// # Errors
    /// [`CommandError`] names the missing part.
    pub(crate) fn with_inline(
        text: &str,
        script: &str,
    ) -> Result<(Command, Option<String>), CommandError> {
        match Command::parse(text) {
            Err(CommandError::Inline) => {}
            parsed => return parsed.map(|command| (command, None)),
        }
        let mut words = shlex::split(text).unwrap_or_default();
        // The parser has read up to this option, so none before it is another program's.
        let at = words.iter().position(|word| word.starts_with("-c"));
        let at = at.ok_or(CommandError::Inline)?;
        let code = match &words[at][2..] {
            "" if at + 1 < words.len() => words.remove(at + 1),
            "" => return Err(CommandError::NoProgram(text.trim().to_owned())),
            code => code.to_owned(),
        };
        script.clone_into(&mut words[at]);
        Command::from_words(words).map(|command| (command, Some(code)))
    }

    /// Parses words that are already split, such as a process's arguments.
    ///
    /// # Errors
    /// [`CommandError`] names the missing part.
    pub fn from_words(words: Vec<String>) -> Result<Command, CommandError> {
        if let Some(word) = words.iter().find(|word| SHELL_OPERATORS.contains(&word.as_str())) {
            return Err(CommandError::Shell(word.clone()));
        }
        let line = join(&words);
        let mut words = words.into_iter().peekable();
        let mut variables = Vec::new();
        while let Some((name, value)) = words.peek().and_then(|word| assignment(word)) {
            variables.push((name, value));
            words.next();
        }
        let first = words.next().filter(|word| !word.is_empty()).ok_or(CommandError::Empty)?;
        let name = first.rsplit('/').next().unwrap_or(&first);
        let mut options = Vec::new();
        let program = if is_interpreter(name) {
            interpreted(&mut words, &mut options, &line)?
        } else if matches!(name, "pytest" | "py.test") {
            CommandProgram::Pytest
        } else if name.ends_with(".py") {
            CommandProgram::Script(first)
        } else {
            CommandProgram::Console(name.to_string())
        };
        let args: Vec<String> = words.collect();
        let command = Command { variables, options, program, args };
        if command.is_pytest() && command.tests().is_empty() && !command.selects() {
            return Err(CommandError::NoTest(line));
        }
        Ok(command)
    }

    /// One command that runs the tests of this one and then those of another.
    ///
    /// # Errors
    /// [`CommandError::Apart`] where only two runs could do that.
    pub fn and(&self, other: &Command) -> Result<Command, CommandError> {
        let several = match &self.program {
            CommandProgram::Pytest | CommandProgram::PytestModule => true,
            CommandProgram::Module(name) => name == "unittest" || name == "doctest",
            CommandProgram::Script(_) | CommandProgram::Console(_) => false,
        };
        let alike = several
            && self.program == other.program
            && self.variables == other.variables
            && self.options == other.options
            && self.options() == other.options()
            && !self.positions().is_empty()
            && !other.positions().is_empty();
        if !alike {
            return Err(CommandError::Apart { first: self.to_string(), other: other.to_string() });
        }
        let mut both = self.clone();
        for at in other.positions() {
            let named = &other.args[at];
            if !both.args.contains(named) {
                both.args.push(named.clone());
            }
        }
        Ok(both)
    }

    /// Returns the program.
    pub fn program(&self) -> &CommandProgram {
        &self.program
    }

    /// Returns true if pytest runs the command, and so reports each test.
    pub fn is_pytest(&self) -> bool {
        matches!(self.program, CommandProgram::Pytest | CommandProgram::PytestModule)
    }

    /// Returns true if doctest runs the command, and so the examples of docstrings.
    pub fn is_doctest(&self) -> bool {
        matches!(&self.program, CommandProgram::Module(name) if name == "doctest")
    }

    /// Options of the interpreter itself, such as `-W error`.
    pub fn interpreter_options(&self) -> &[String] {
        &self.options
    }

    /// Arguments of the program.
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// Variables that it sets for itself.
    pub fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// The tests or files that it names, in order; none for a console script.
    pub fn tests(&self) -> Vec<TestId> {
        match &self.program {
            CommandProgram::Pytest | CommandProgram::PytestModule => {
                let dotted = self.args.iter().any(|arg| arg == "--pyargs");
                self.positions().into_iter().map(|at| node_id(&self.args[at], dotted)).collect()
            }
            CommandProgram::Module(name) if name == "unittest" => {
                self.positions().into_iter().map(|at| unittest_id(&self.args[at])).collect()
            }
            CommandProgram::Module(name) if name == "doctest" => {
                self.positions().into_iter().map(|at| whole(&self.args[at])).collect()
            }
            CommandProgram::Module(name) => vec![whole(&format!("{}.py", name.replace('.', "/")))],
            CommandProgram::Script(path) => vec![whole(path)],
            CommandProgram::Console(_) => Vec::new(),
        }
    }

    /// The command that runs a gist at this relative path in place of the file that this one names.
    ///
    /// Several files become the one gist; modules, scripts and console scripts become
    /// `python <gist>`. A command without a file (`pytest -k name`) gets the gist as its file.
    pub fn for_gist(&self, gist: &str) -> Command {
        let mut command = self.clone();
        match &self.program {
            CommandProgram::Pytest | CommandProgram::PytestModule => {
                let dotted = self.args.iter().any(|arg| arg == "--pyargs");
                let named = |arg: &str| {
                    let mut id = node_id(arg, dotted);
                    if let [name] = id.names.as_mut_slice() {
                        *name = example_of(gist, &id.path, name);
                    }
                    TestId { path: gist.into(), ..id }
                };
                command.args = self.replaced(gist, |arg| named(arg).to_string());
                command.args.retain(|arg| arg != "--pyargs");
            }
            CommandProgram::Module(name) if name == "unittest" => {
                command.args = self.replaced(gist, |arg| {
                    let id = unittest_id(arg);
                    if id.names.is_empty() {
                        return gist.to_string();
                    }
                    let module = gist.strip_suffix(".py").unwrap_or(gist).replace('/', ".");
                    format!("{module}.{}", id.names.join("."))
                });
            }
            CommandProgram::Module(name) if name == "doctest" => {
                command.args = self.replaced(gist, |_| gist.to_string());
            }
            CommandProgram::Module(_) | CommandProgram::Script(_) | CommandProgram::Console(_) => {
                command.program = CommandProgram::Script(gist.to_string());
            }
        }
        command
    }

    /// The command without the pytest plugins (`-p NAME`) that `is_gone` names: a gist has them in it, and pytest would
    /// import them before the gist.
    pub(crate) fn without_plugins(&self, is_gone: impl Fn(&str) -> bool) -> Command {
        let mut command = self.clone();
        if !self.is_pytest() {
            return command;
        }
        command.args.clear();
        let mut args = self.args.iter();
        while let Some(arg) = args.next() {
            if arg == "--" {
                command.args.push(arg.clone());
                command.args.extend(args.cloned());
                break;
            }
            let value = match arg.strip_prefix("-p") {
                Some("") => args.next(),
                _ => None,
            };
            let name = value.map(String::as_str).or_else(|| arg.strip_prefix("-p"));
            if name.is_some_and(|name| is_gone(name.trim())) {
                continue;
            }
            command.args.push(arg.clone());
            command.args.extend(value.cloned());
            // The value of another option may look like this one.
            if value.is_none() && PYTEST_VALUED.contains(&arg.as_str()) {
                command.args.extend(args.next().cloned());
            }
        }
        command
    }

    /// The words as a process would get them, the interpreter given by the caller.
    pub fn words(&self, python: &str) -> Vec<String> {
        let mut words = Vec::new();
        let interpreter = |words: &mut Vec<String>| {
            words.push(python.to_string());
            words.extend(self.options.iter().cloned());
        };
        match &self.program {
            CommandProgram::Pytest => words.push("pytest".into()),
            CommandProgram::PytestModule => {
                interpreter(&mut words);
                words.extend(["-m".into(), "pytest".into()]);
            }
            CommandProgram::Module(name) => {
                interpreter(&mut words);
                words.extend(["-m".into(), name.clone()]);
            }
            CommandProgram::Script(path) => {
                interpreter(&mut words);
                words.push(path.clone());
            }
            CommandProgram::Console(name) => words.push(name.clone()),
        }
        words.extend(self.args.iter().cloned());
        words
    }

    /// The same command for one test, whatever this one names; its options stay, of which some select tests.
    pub fn for_test(&self, id: &str) -> Command {
        let mut command = self.clone();
        command.args = self.options();
        command.args.retain(|arg| arg != "--pyargs");
        command.args.push(id.to_owned());
        command
    }

    /// The files and tests that it names, as it spells them.
    pub(crate) fn named(&self) -> Vec<String> {
        self.positions().into_iter().map(|at| self.args[at].clone()).collect()
    }

    /// The arguments without the files and tests that it names.
    pub(crate) fn options(&self) -> Vec<String> {
        let named = self.positions();
        let args = self.args.iter().enumerate().filter(|(at, _)| !named.contains(at));
        args.map(|(_, arg)| arg.clone()).collect()
    }

    /// Indices of the arguments that are neither options nor their values.
    fn positions(&self) -> Vec<usize> {
        let valued: &[&str] = match &self.program {
            CommandProgram::Pytest | CommandProgram::PytestModule => PYTEST_VALUED,
            CommandProgram::Module(name) if name == "unittest" => UNITTEST_VALUED,
            CommandProgram::Module(name) if name == "doctest" => DOCTEST_VALUED,
            _ => &[],
        };
        let mut found = Vec::new();
        let mut skip = false;
        let mut only_positions = false;
        for (at, arg) in self.args.iter().enumerate() {
            if std::mem::take(&mut skip) {
                continue;
            }
            if only_positions || !arg.starts_with('-') || arg == "-" {
                let discover = at == 0 && arg == "discover";
                if !(discover
                    && matches!(&self.program, CommandProgram::Module(name) if name == "unittest"))
                {
                    found.push(at);
                }
            } else if arg == "--" {
                only_positions = true;
            } else {
                skip = valued.contains(&arg.as_str());
            }
        }
        found
    }

    /// The arguments with each position replaced, repetitions of one result dropped, and the gist
    /// added where there was no position.
    fn replaced(&self, gist: &str, replace: impl Fn(&str) -> String) -> Vec<String> {
        let positions = self.positions();
        let discovers = self.args.first().is_some_and(|arg| arg == "discover");
        let mut args = Vec::new();
        let mut seen = Vec::new();
        let mut skip = false;
        for (at, arg) in self.args.iter().enumerate() {
            if std::mem::take(&mut skip) {
                continue;
            }
            if positions.contains(&at) {
                let new = replace(arg);
                if !seen.contains(&new) {
                    seen.push(new.clone());
                    args.push(new);
                }
            } else if self.is_pytest() && arg == "--deselect" {
                args.push(arg.clone());
            } else if let Some(id) = arg.strip_prefix("--deselect=").filter(|_| self.is_pytest()) {
                args.push(format!("--deselect={}", replace(id)));
            } else if at > 0 && self.is_pytest() && self.args[at - 1] == "--deselect" {
                args.push(replace(arg));
            } else if discovers && at == 0 {
                continue;
            } else if discovers && DISCOVERY.contains(&arg.as_str()) {
                skip = true;
            } else {
                args.push(arg.clone());
            }
        }
        if seen.is_empty() {
            args.push(gist.to_string());
        }
        // The whole of a gist has each of its tests in it, and once is enough.
        if self.is_pytest() && seen.iter().any(|arg| arg == gist) {
            let tests = format!("{gist}::");
            args.retain(|arg| !(arg.starts_with(&tests) && seen.contains(arg)));
        }
        args
    }

    fn selects(&self) -> bool {
        let expression = |arg: &String| {
            matches!(arg.as_str(), "-k" | "-m")
                || (arg.len() > 2 && (arg.starts_with("-k") || arg.starts_with("-m")))
        };
        self.args.iter().any(expression)
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(f, "{name}={} ", quote(value))?;
        }
        f.write_str(&join(&self.words("python")))
    }
}

const SHELL_OPERATORS: &[&str] = &["|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"];

/// Reads the interpreter's options up to `-m NAME` or a script.
fn interpreted(
    words: &mut impl Iterator<Item = String>,
    options: &mut Vec<String>,
    line: &str,
) -> Result<CommandProgram, CommandError> {
    let missing = || CommandError::NoProgram(line.to_string());
    while let Some(word) = words.next() {
        match word.as_str() {
            "-m" => {
                let name = words.next().ok_or_else(missing)?;
                return Ok(module(name));
            }
            "-c" => return Err(CommandError::Inline),
            "-W" | "-X" | "--check-hash-based-pycs" => {
                options.push(word);
                options.push(words.next().ok_or_else(missing)?);
            }
            "-" | "--" => return Err(missing()),
            _ if word.starts_with("-m") && word.len() > 2 => return Ok(module(word[2..].into())),
            _ if word.starts_with("-c") => return Err(CommandError::Inline),
            _ if word.starts_with('-') => options.push(word),
            _ => return Ok(CommandProgram::Script(word)),
        }
    }
    Err(missing())
}

fn module(name: String) -> CommandProgram {
    if matches!(name.as_str(), "pytest" | "py.test") {
        CommandProgram::PytestModule
    } else {
        CommandProgram::Module(name)
    }
}

fn is_interpreter(name: &str) -> bool {
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    version.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let mut letters = name.chars();
    let first = letters.next()?;
    let is_name = (first.is_ascii_alphabetic() || first == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name.to_string(), value.to_string()))
}

fn join(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a shell, if it needs quotes.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r#"'"'"'"#))
}
