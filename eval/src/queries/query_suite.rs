//! Suites of tasks in natural language. A task names a repository, its inputs, the files of its answer, and the scripts by
//! which an answer is judged and the suite is checked.
//!
//! ```toml
//! python = "3.12"
//! lock = "locks/suite.txt"
//! modules = ["criteria/answer.py"]
//!
//! [[task]]
//! id = "totals"
//! repository = "pypi:pkg==1.0.0"
//! artifact = { file = "pkg-1.0.0.tar.gz", sha256 = "..." }
//! licence = "MIT"
//! domain = "office"
//! query = "Add a row of totals to the table."
//! inputs = [{ path = "inputs/table.csv", description = "A table of sales" }]
//! outputs = ["output.csv"]
//! criteria = "criteria/totals.py"
//! reference = "reference/totals.py"
//! wrong = "wrong/totals.py"
//! ```

use std::collections::BTreeSet;

use serde::Deserialize;
use tools::{Artifact, Outputs, is_inside};

use super::answer::CRITERIA;
use crate::task::TaskError;

/// Tasks in natural language.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuerySuite {
    /// The version of Python: `3.12`; without one it is the settings' choice.
    #[serde(default)]
    pub python: String,
    /// The lock file of the tasks, relative to the suite's file; without one the settings say what they run with.
    pub lock: Option<String>,
    /// Python files that the criteria scripts may import.
    #[serde(default)]
    pub modules: Vec<String>,
    /// The tasks.
    #[serde(rename = "task")]
    pub tasks: Vec<QueryTask>,
}

/// A task in natural language.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryTask {
    /// The id, which is also a name of directories.
    pub id: String,
    /// The repository, as a user names it.
    pub repository: String,
    /// For a release: its very file.
    pub artifact: Option<Artifact>,
    /// The licence of the repository.
    #[serde(default)]
    pub licence: String,
    /// The domain of the task.
    #[serde(default)]
    pub domain: String,
    /// A lock file in the place of the suite's.
    pub lock: Option<String>,
    /// The task in words.
    pub query: String,
    /// The input files.
    #[serde(default)]
    pub inputs: Vec<TaskInput>,
    /// The names of the output files; empty where any name of the rule will do.
    #[serde(default)]
    pub outputs: Vec<String>,
    /// The script that judges an answer.
    pub criteria: String,
    /// A script whose answer passes.
    pub reference: Option<String>,
    /// A script whose answer does not.
    pub wrong: Option<String>,
    /// The time limit of a solver; without one that of the settings.
    pub seconds: Option<f64>,
}

/// An input of a task.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskInput {
    /// The file, relative to the suite's.
    pub path: String,
    /// The description of its contents.
    #[serde(default)]
    pub description: String,
}

impl QuerySuite {
    /// Reads a suite from text.
    ///
    /// # Errors
    /// It is no suite.
    pub fn parse(name: &str, text: &str) -> Result<Self, TaskError> {
        let suite: Self = toml::from_str(text)
            .map_err(|source| TaskError::Syntax { name: name.to_owned(), source: source.into() })?;
        if suite.tasks.is_empty() {
            return Err(TaskError::Empty { name: name.to_owned() });
        }
        let mut ids = BTreeSet::new();
        for task in &suite.tasks {
            let twice = (!ids.insert(&task.id)).then(|| ("id", task.id.clone(), "is used twice"));
            // A fault of the whole suite is reported with its first task.
            if let Some((key, value, problem)) = suite.fault().or_else(|| task.fault()).or(twice) {
                let (suite, task) = (name.to_owned(), task.id.clone());
                return Err(TaskError::Value { suite, task, key, value, problem });
            }
        }
        Ok(suite)
    }

    /// Returns the modules of criteria scripts: the file name under which they are imported, and the path in the suite.
    pub fn named_modules(&self) -> impl Iterator<Item = (&str, &str)> {
        self.modules.iter().map(|path| (name_of(path), path.as_str()))
    }

    /// A key that all tasks share, its value, and the reason why that cannot be used.
    fn fault(&self) -> Option<(&'static str, String, &'static str)> {
        if let Some(lock) = self.lock.iter().find(|lock| !is_inside(lock)) {
            return Some(("lock", lock.clone(), "leads outside"));
        }
        let mut names = BTreeSet::from([CRITERIA]);
        self.modules.iter().find_map(|path| {
            let problem = match is_inside(path) {
                false => "leads outside",
                true if !names.insert(name_of(path)) => "has a name that is taken",
                true => return None,
            };
            Some(("modules", path.clone(), problem))
        })
    }
}

impl QueryTask {
    /// The lock file of its environment.
    pub fn lock<'a>(&'a self, suite: &'a QuerySuite) -> Option<&'a str> {
        self.lock.as_deref().or(suite.lock.as_deref())
    }

    /// A key, its value, and the reason why that cannot be used.
    fn fault(&self) -> Option<(&'static str, String, &'static str)> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if !self.id.chars().all(is_plain) || self.id.starts_with('.') || self.id.is_empty() {
            return Some(("id", self.id.clone(), "is no name of letters, digits and ._-"));
        }
        let texts = [("repository", &self.repository), ("query", &self.query)];
        if let Some((key, text)) = texts.into_iter().find(|(_, text)| text.trim().is_empty()) {
            return Some((key, text.clone(), "is empty"));
        }
        if let Some(artifact) = &self.artifact {
            let digits = &artifact.sha256;
            if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Some(("artifact", digits.clone(), "is no hex sha-256"));
            }
        }
        let own = [
            ("criteria", Some(&self.criteria)),
            ("reference", self.reference.as_ref()),
            ("wrong", self.wrong.as_ref()),
            ("lock", self.lock.as_ref()),
        ];
        let own = own.into_iter().filter_map(|(key, path)| Some((key, path?)));
        let files = own.chain(self.inputs.iter().map(|input| ("inputs", &input.path)));
        if let Some((key, path)) = files.into_iter().find(|(_, path)| !is_inside(path)) {
            return Some((key, path.clone(), "leads outside"));
        }
        let mut names = BTreeSet::new();
        if let Some(input) = self.inputs.iter().find(|input| !names.insert(input.name())) {
            return Some(("inputs", input.path.clone(), "has the name of another input"));
        }
        let numbered = |at: usize, name: &str| name.starts_with(&format!("output_{:02}.", at + 1));
        let follows = |(at, name): (usize, &String)| match self.outputs.len() {
            1 => name.starts_with("output."),
            _ => numbered(at, name),
        };
        let wrong = self.outputs.iter().enumerate().find(|(at, name)| {
            !Outputs::is_output(name) || !follows((*at, name)) || name.contains('/')
        });
        if let Some((_, name)) = wrong {
            let problem = "is not output.EXT, or output_01.EXT and so on of several";
            return Some(("outputs", name.clone(), problem));
        }
        let is_time = |seconds: f64| seconds > 0.0 && seconds < 1e9;
        let seconds = self.seconds.filter(|seconds| !is_time(*seconds));
        seconds.map(|seconds| ("seconds", seconds.to_string(), "is no time"))
    }
}

impl TaskInput {
    /// Its name among the inputs.
    pub fn name(&self) -> &str {
        name_of(&self.path)
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str = "\
[[task]]
id = \"a\"
repository = \"repo\"
query = \"Do it.\"
inputs = [{ path = \"inputs/a.csv\" }]
outputs = [\"output_01.csv\", \"output_02.csv\"]
criteria = \"a.py\"
";

    fn check(from: &str, to: &str, expected: &str) {
        assert!(SUITE.contains(from), "{from}");
        let parsed = QuerySuite::parse("s", &SUITE.replace(from, to));
        let told = parsed.map_or_else(|error| error.to_string(), |_| "good".to_owned());
        assert!(told.contains(expected), "{to}: {told}");
    }

    #[test]
    fn suites_are_checked() {
        check("Do it.", "Do that.", "good");
        check("\"a\"", "\"a/b\"", "id \"a/b\" is no name of letters");
        check("Do it.", " ", "query \" \" is empty");
        check("inputs/a.csv", "../a.csv", "inputs \"../a.csv\" leads outside");
        check("[[task]]", "modules = [\"../a.py\"]\n[[task]]", "modules \"../a.py\" leads outside");
        check(
            "[[task]]",
            "modules = ['a/b.py', 'c/b.py']\n[[task]]",
            "modules \"c/b.py\" has a name",
        );
        check("[[task]]", "modules = ['criteria.py']\n[[task]]", "has a name that is taken");
        check("[[task]]", "lock = '../l.txt'\n[[task]]", "lock \"../l.txt\" leads outside");
        check("criteria", "wrong = '/w.py'\ncriteria", "wrong \"/w.py\" leads outside");
        check("a.py", "/a.py", "criteria \"/a.py\" leads outside");
        check(
            "{ path = \"inputs/a.csv\" }",
            "{ path = \"x/a.csv\" }, { path = \"y/a.csv\" }",
            "inputs \"y/a.csv\" has the name of another input",
        );
        check("output_02.csv", "output_03.csv", "outputs \"output_03.csv\" is not output.EXT");
        check("output_02.csv", "output.csv", "outputs \"output.csv\" is not output.EXT");
        check(", \"output_02.csv\"", "", "outputs \"output_01.csv\" is not output.EXT");
        check("[\"output_01.csv\", \"output_02.csv\"]", "[]", "good");
        check("criteria", "seconds = -1\ncriteria", "seconds \"-1\" is no time");
        check("criteria", "colour = 1\ncriteria", "unknown field `colour`");
        check(
            "criteria",
            "artifact = { file = \"a\", sha256 = \"1\" }\ncriteria",
            "artifact \"1\" is no hex sha-256",
        );
        let twice = QuerySuite::parse("s", &format!("{SUITE}{SUITE}")).unwrap_err().to_string();
        assert!(twice.contains("id \"a\" is used twice"), "{twice}");
        assert!(QuerySuite::parse("s", "task = []").is_err());
    }
}
