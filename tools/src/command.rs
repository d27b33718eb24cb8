//! The command of a task: what was typed, split into words and understood as far as a gist needs it.
//!
//! It owns the grammar of commands and their mapping onto a gist. It reads no file, expands no
//! variable and runs nothing.

use std::fmt;

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
    program: Program,
    args: Vec<String>,
}

/// What a command starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
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

/// A test, or the file that a command names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestId {
    /// Path as it was given, without a leading `./`; for a module, the file that its name suggests.
    pub path: String,
    /// Classes and the function, outermost first; empty for a whole file.
    pub names: Vec<String>,
    /// What stands between the brackets of a parametrised case.
    pub param: Option<String>,
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
    #[error("the command `{0}` names no test (for example: pytest tests/test_x.py::test_y)")]
    NoTest(String),
}

impl Command {
    /// Understands a command line. Words are split as a POSIX shell splits them; `NAME=value` words
    /// in front are variables; nothing is expanded.
    ///
    /// # Errors
    /// [`CommandError`] says what is missing.
    pub fn parse(text: &str) -> Result<Command, CommandError> {
        let words =
            shlex::split(text).ok_or_else(|| CommandError::Quotation(text.trim().to_string()))?;
        Command::from_words(words)
    }

    /// The same from words that are already split, such as a process's arguments.
    ///
    /// # Errors
    /// [`CommandError`] says what is missing.
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
            Program::Pytest
        } else if name.ends_with(".py") {
            Program::Script(first)
        } else {
            Program::Console(name.to_string())
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
        let options = |command: &Command| {
            let named = command.positions();
            let args = command.args.iter().enumerate().filter(|(at, _)| !named.contains(at));
            args.map(|(_, arg)| arg.clone()).collect::<Vec<_>>()
        };
        let several = match &self.program {
            Program::Pytest | Program::PytestModule => true,
            Program::Module(name) => name == "unittest" || name == "doctest",
            Program::Script(_) | Program::Console(_) => false,
        };
        let alike = several
            && self.program == other.program
            && self.variables == other.variables
            && self.options == other.options
            && options(self) == options(other)
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

    /// What it starts.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Whether pytest runs it, and so reports on each case.
    pub fn is_pytest(&self) -> bool {
        matches!(self.program, Program::Pytest | Program::PytestModule)
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
            Program::Pytest | Program::PytestModule => {
                let dotted = self.args.iter().any(|arg| arg == "--pyargs");
                self.positions().into_iter().map(|at| node_id(&self.args[at], dotted)).collect()
            }
            Program::Module(name) if name == "unittest" => {
                self.positions().into_iter().map(|at| unittest_id(&self.args[at])).collect()
            }
            Program::Module(name) if name == "doctest" => {
                self.positions().into_iter().map(|at| whole(&self.args[at])).collect()
            }
            Program::Module(name) => vec![whole(&format!("{}.py", name.replace('.', "/")))],
            Program::Script(path) => vec![whole(path)],
            Program::Console(_) => Vec::new(),
        }
    }

    /// The command that runs a gist at this relative path in place of the file that this one names.
    ///
    /// Several files become the one gist; modules, scripts and console scripts become
    /// `python <gist>`. A command without a file (`pytest -k name`) gets the gist as its file.
    pub fn for_gist(&self, gist: &str) -> Command {
        let mut command = self.clone();
        match &self.program {
            Program::Pytest | Program::PytestModule => {
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
            Program::Module(name) if name == "unittest" => {
                command.args = self.replaced(gist, |arg| {
                    let id = unittest_id(arg);
                    if id.names.is_empty() {
                        return gist.to_string();
                    }
                    let module = gist.strip_suffix(".py").unwrap_or(gist).replace('/', ".");
                    format!("{module}.{}", id.names.join("."))
                });
            }
            Program::Module(name) if name == "doctest" => {
                command.args = self.replaced(gist, |_| gist.to_string());
            }
            Program::Module(_) | Program::Script(_) | Program::Console(_) => {
                command.program = Program::Script(gist.to_string());
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
            Program::Pytest => words.push("pytest".into()),
            Program::PytestModule => {
                interpreter(&mut words);
                words.extend(["-m".into(), "pytest".into()]);
            }
            Program::Module(name) => {
                interpreter(&mut words);
                words.extend(["-m".into(), name.clone()]);
            }
            Program::Script(path) => {
                interpreter(&mut words);
                words.push(path.clone());
            }
            Program::Console(name) => words.push(name.clone()),
        }
        words.extend(self.args.iter().cloned());
        words
    }

    /// Indices of the arguments that are neither options nor their values.
    fn positions(&self) -> Vec<usize> {
        let valued: &[&str] = match &self.program {
            Program::Pytest | Program::PytestModule => PYTEST_VALUED,
            Program::Module(name) if name == "unittest" => UNITTEST_VALUED,
            Program::Module(name) if name == "doctest" => DOCTEST_VALUED,
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
                    && matches!(&self.program, Program::Module(name) if name == "unittest"))
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

impl TestId {
    /// Reads a node id: `path::Class::function[param]`. A parameter may hold anything.
    pub fn parse(text: &str) -> TestId {
        node_id(text, false)
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        for name in &self.names {
            write!(f, "::{name}")?;
        }
        match &self.param {
            Some(param) => write!(f, "[{param}]"),
            None => Ok(()),
        }
    }
}

const SHELL_OPERATORS: &[&str] = &["|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"];

/// Options of pytest that take the next word as their value.
const PYTEST_VALUED: &[&str] = &[
    "-k",
    "-m",
    "-c",
    "-p",
    "-o",
    "-W",
    "-r",
    "-n",
    "--config-file",
    "--rootdir",
    "--confcutdir",
    "--basetemp",
    "--maxfail",
    "--deselect",
    "--ignore",
    "--ignore-glob",
    "--tb",
    "--capture",
    "--color",
    "--code-highlight",
    "--durations",
    "--durations-min",
    "--junitxml",
    "--junit-xml",
    "--junit-prefix",
    "--junitprefix",
    "--import-mode",
    "--log-level",
    "--log-format",
    "--log-date-format",
    "--log-cli-level",
    "--log-cli-format",
    "--log-cli-date-format",
    "--log-file",
    "--log-file-mode",
    "--log-file-level",
    "--log-file-format",
    "--log-file-date-format",
    "--log-auto-indent",
    "--log-disable",
    "--override-ini",
    "--pythonwarnings",
    "--assert",
    "--pastebin",
    "--show-capture",
    "--verbosity",
    "--debug",
    "--doctest-report",
    "--doctest-glob",
    "--last-failed-no-failures",
    "--lfnf",
    "--cache-show",
    "--pdbcls",
    "--dist",
    "--numprocesses",
    "--timeout",
    "--timeout-method",
    "--cov-report",
    "--cov-config",
    "--reruns",
    "--count",
];
const UNITTEST_VALUED: &[&str] = &[
    "-k",
    "-s",
    "-p",
    "-t",
    "--start-directory",
    "--pattern",
    "--top-level-directory",
    "--durations",
];
const DOCTEST_VALUED: &[&str] = &["-o", "--option"];
/// Options that only `unittest discover` knows.
const DISCOVERY: &[&str] =
    &["-s", "-p", "-t", "--start-directory", "--pattern", "--top-level-directory"];

/// Reads the interpreter's options up to `-m NAME` or a script.
fn interpreted(
    words: &mut impl Iterator<Item = String>,
    options: &mut Vec<String>,
    line: &str,
) -> Result<Program, CommandError> {
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
            _ => return Ok(Program::Script(word)),
        }
    }
    Err(missing())
}

fn module(name: String) -> Program {
    if matches!(name.as_str(), "pytest" | "py.test") {
        Program::PytestModule
    } else {
        Program::Module(name)
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

fn node_id(text: &str, dotted: bool) -> TestId {
    let (path, rest) = text.split_once("::").unwrap_or((text, ""));
    let (names, param) = match rest.split_once('[') {
        Some((names, param)) => (names, Some(param.strip_suffix(']').unwrap_or(param).to_string())),
        None => (rest, None),
    };
    let mut path = path.strip_prefix("./").unwrap_or(path).to_string();
    if dotted && !path.contains('/') && !path.ends_with(".py") {
        path = format!("{}.py", path.replace('.', "/"));
    }
    let names = names.split("::").filter(|name| !name.is_empty()).map(str::to_string).collect();
    TestId { path, names, param }
}

/// `pkg.mod.Class.method`: modules are lower case up to the first class, which the convention of the
/// language tells apart; a path is a whole file.
fn unittest_id(text: &str) -> TestId {
    if text.ends_with(".py") || text.contains('/') {
        return whole(text);
    }
    let parts: Vec<&str> = text.split('.').collect();
    let is_class = |part: &&str| part.trim_start_matches('_').starts_with(char::is_uppercase);
    let at = parts.iter().position(is_class).filter(|at| *at > 0).unwrap_or(parts.len());
    TestId {
        path: format!("{}.py", parts[..at].join("/")),
        names: parts[at..].iter().map(|part| part.to_string()).collect(),
        param: None,
    }
}

fn whole(path: &str) -> TestId {
    let path = path.strip_prefix("./").unwrap_or(path).to_string();
    TestId { path, names: Vec::new(), param: None }
}

fn join(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// Quotes what a shell would not take as it stands.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r#"'"'"'"#))
}

/// The name of a docstring's examples in a gist: they begin with the name of the module.
fn example_of(gist: &str, path: &str, name: &str) -> String {
    let dotted = path.trim_end_matches(".py").trim_end_matches("/__init__").replace('/', ".");
    let starts = dotted.match_indices('.').map(|(at, _)| at + 1);
    for module in std::iter::once(0).chain(starts).map(|at| &dotted[at..]) {
        if let Some(rest) = name.strip_prefix(module)
            && (rest.starts_with('.') || rest.is_empty() && module.contains('.'))
        {
            let stem = gist.rsplit('/').next().unwrap_or(gist).trim_end_matches(".py");
            return format!("{stem}{rest}");
        }
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row: a command, the tests that it names, and the same command for `t/concise.py`.
    const UNDERSTOOD: &[[&str; 3]] = &[
        ["pytest t/a.py::f", "t/a.py::f", "pytest t/concise.py::f"],
        ["pytest ./t/a.py::A::f", "t/a.py::A::f", "pytest t/concise.py::A::f"],
        ["/venv/bin/pytest t/a.py", "t/a.py", "pytest t/concise.py"],
        ["py.test 't/a.py::f[a b]'", "t/a.py::f[a b]", "pytest 't/concise.py::f[a b]'"],
        ["pytest t/a.py::f[x::y]", "t/a.py::f[x::y]", "pytest 't/concise.py::f[x::y]'"],
        [
            "pytest 't/a.py::f[[1]-a[b]]'",
            "t/a.py::f[[1]-a[b]]",
            "pytest 't/concise.py::f[[1]-a[b]]'",
        ],
        ["pytest t/a.py::f[]", "t/a.py::f[]", "pytest 't/concise.py::f[]'"],
        [r#"pytest "t/a.py::f[it's]""#, "t/a.py::f[it's]", r#"pytest 't/concise.py::f[it'"'"'s]'"#],
        [
            "pytest t/a.py::f t/a.py::g",
            "t/a.py::f t/a.py::g",
            "pytest t/concise.py::f t/concise.py::g",
        ],
        ["pytest t/a.py t/b.py -q", "t/a.py t/b.py", "pytest t/concise.py -q"],
        ["pytest t/a.py::f t/b.py", "t/a.py::f t/b.py", "pytest t/concise.py"],
        ["pytest -k 'a or b' t/a.py", "t/a.py", "pytest -k 'a or b' t/concise.py"],
        ["pytest -kname t", "t", "pytest -kname t/concise.py"],
        ["pytest -k name", "", "pytest -k name t/concise.py"],
        ["pytest -m slow -q", "", "pytest -m slow -q t/concise.py"],
        [
            "pytest -p no:randomly -o x=1 t/a.py",
            "t/a.py",
            "pytest -p no:randomly -o x=1 t/concise.py",
        ],
        ["pytest --tb short -x t/a.py::f", "t/a.py::f", "pytest --tb short -x t/concise.py::f"],
        ["pytest --tb=short t/a.py -- -x.py", "t/a.py -x.py", "pytest --tb=short t/concise.py --"],
        [
            "pytest t/a.py --deselect t/a.py::f --deselect=t/a.py::g",
            "t/a.py",
            "pytest t/concise.py --deselect t/concise.py::f --deselect=t/concise.py::g",
        ],
        ["pytest --pyargs pkg.t.test_a::f", "pkg/t/test_a.py::f", "pytest t/concise.py::f"],
        ["pytest --doctest-modules pkg/a.py", "pkg/a.py", "pytest --doctest-modules t/concise.py"],
        [
            "pytest --doctest-modules src/pkg/a.py::pkg.a.C.f",
            "src/pkg/a.py::pkg.a.C.f",
            "pytest --doctest-modules t/concise.py::concise.C.f",
        ],
        ["python -m pytest t/a.py::f", "t/a.py::f", "python -m pytest t/concise.py::f"],
        [
            "python3.11 -W error -m pytest t/a.py",
            "t/a.py",
            "python -W error -m pytest t/concise.py",
        ],
        [".venv/bin/python -mpytest t/a.py", "t/a.py", "python -m pytest t/concise.py"],
        ["A=1 B='x y' pytest t/a.py", "t/a.py", "A=1 B='x y' pytest t/concise.py"],
        ["python -m unittest t/test_a.py", "t/test_a.py", "python -m unittest t/concise.py"],
        ["python -m unittest t.test_a", "t/test_a.py", "python -m unittest t/concise.py"],
        [
            "python -m unittest -v t.test_a.TestA.test_b",
            "t/test_a.py::TestA::test_b",
            "python -m unittest -v t.concise.TestA.test_b",
        ],
        ["python -m unittest -k x t.a.A", "t/a.py::A", "python -m unittest -k x t.concise.A"],
        ["python -m unittest discover -s t -v", "", "python -m unittest -v t/concise.py"],
        [
            "python -m doctest -o ELLIPSIS -v a.py",
            "a.py",
            "python -m doctest -o ELLIPSIS -v t/concise.py",
        ],
        ["python -m pkg.mod --flag x", "pkg/mod.py", "python t/concise.py --flag x"],
        ["python ./run.py -m 3", "run.py", "python t/concise.py -m 3"],
        ["./run.py a", "run.py", "python t/concise.py a"],
        ["tool sub --x=1", "", "python t/concise.py sub --x=1"],
    ];

    #[test]
    fn joins_commands() {
        for (first, other, both) in [
            ("pytest a.py::f", "pytest b.py::g a.py::f", Ok("pytest a.py::f b.py::g")),
            ("pytest -q a.py", "pytest b.py -q", Ok("pytest -q a.py b.py")),
            (
                "python -m unittest a.A",
                "python -m unittest b.B.g",
                Ok("python -m unittest a.A b.B.g"),
            ),
            ("pytest a.py", "pytest b.py -x", Err(())),
            ("pytest a.py", "python -m pytest b.py", Err(())),
            ("pytest a.py", "pytest -k name", Err(())),
            ("python a.py", "python b.py", Err(())),
            ("A=1 pytest a.py", "pytest b.py", Err(())),
        ] {
            let parse = |text| Command::parse(text).unwrap();
            let found = parse(first).and(&parse(other));
            let found = found.map(|command| command.to_string()).map_err(|error| {
                assert!(matches!(error, CommandError::Apart { .. }), "{error}");
            });
            assert_eq!(found, both.map(str::to_owned), "{first} and {other}");
        }
    }

    #[test]
    fn understands_commands() {
        for [text, tests, gist] in UNDERSTOOD {
            let command = Command::parse(text).unwrap();
            let named: Vec<String> = command.tests().iter().map(TestId::to_string).collect();
            assert_eq!(named.join(" "), *tests, "tests of {text}");
            assert_eq!(command.for_gist("t/concise.py").to_string(), *gist, "gist of {text}");
            let again = Command::parse(&command.to_string()).unwrap();
            // An installed script has no other form; everything else survives being printed.
            assert_eq!(again.to_string(), command.to_string());
            assert_eq!(again.tests(), command.tests());
        }
    }

    #[test]
    fn says_what_is_missing() {
        let rows = [
            ("", "the command is empty"),
            ("   ", "the command is empty"),
            ("A=1", "the command is empty"),
            ("''", "the command is empty"),
            ("pytest 't/a.py", "ends within a quotation"),
            ("pytest t/a.py | tail", "shell operator `|`"),
            ("cd x && pytest t/a.py", "shell operator `&&`"),
            ("pytest", "names no test"),
            ("pytest -q --tb short", "names no test"),
            ("python", "names no module and no script"),
            ("python -m", "names no module and no script"),
            ("python -X", "names no module and no script"),
            ("python -c 'import x'", "`python -c`"),
        ];
        for (text, expected) in rows {
            let error = Command::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn keeps_what_it_does_not_understand() {
        let command = Command::parse("pytest --plugin-option value t/a.py::f").unwrap();
        // Without knowing the plugin, `value` may be a directory of tests.
        assert_eq!(command.tests().len(), 2);
        assert_eq!(command.args()[0], "--plugin-option");
        let id = TestId::parse("t/a.py::A::f[x]");
        assert_eq!((id.names.len(), id.param.as_deref()), (2, Some("x")));
    }
}
