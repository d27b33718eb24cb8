//! The tasks of a gist, one for each of its functions, and their oracle.
//!
//! A task is the gist without the body of one function, and its oracle is the gist itself. Runs in the sandbox decide which
//! functions are tasks: an unchanged file would earn the reward of one whose removal changes nothing. The files of a task
//! are the affair of its layout.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use ::eval::{Evaluation, SourceMap, is_test_path, read};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tools::{Environment, Execution, GIST_NAME, GitRequest, Sandbox, Status, Workspace, patch_of};

use super::super::{
    Exit, Failure, OrExit,
    input_file::InputFile,
    one_file::{FilePlace, Needs, environment_of_file},
    progress::ProgressLine,
    run::STANDALONE,
    surroundings::Surroundings,
    target::of_environment,
};
use crate::{
    prompt::Prompts,
    record::{RunDirectory, replace},
    trajectory::{TrajectoryRecord, read_trajectory},
    writer::TRAJECTORY,
};

/// The oracle: a program that compares a file with the gist, of which the function alone may differ.
pub const JUDGE: &str = include_str!("judge.py");
const FUNCTIONS: &str = include_str!("functions.py");

/// Writes the tasks of a gist in one format: the texts of an export's files by their paths.
pub type TaskLayout = fn(&GistTasks<'_>) -> Result<Vec<(String, String)>, Failure>;

/// An export of one run as tasks.
pub struct TaskExport<'a> {
    /// The record of `gistify run --standalone`.
    pub run: &'a Path,
    /// The directory of the tasks.
    pub output: &'a Path,
    /// An interpreter with the packages of the gist.
    pub python: Option<&'a Path>,
    /// The format.
    pub layout: TaskLayout,
}

/// A gist and its tasks.
pub struct GistTasks<'a> {
    /// The tasks, in the order of the file; there is at least one.
    pub tasks: Vec<GistTask>,
    exported: Exported,
    trials: Trials<'a>,
    prompts: Prompts,
}

/// The gist without the body of one function.
pub struct GistTask {
    /// Its name among the tasks: small letters, digits and hyphens.
    pub name: String,
    /// The file that is given to a solver.
    pub emptied: String,
    /// The cases of the file that end as the gist's do.
    pub passed: Vec<String>,
    /// The cases of the file that end otherwise; `gist.py`, the whole, is always among them.
    pub failed: Vec<String>,
    function: TaskFunction,
}

impl GistTask {
    /// The dotted name of the function.
    pub fn function(&self) -> &str {
        &self.function.name
    }
}

/// A function that may be a task, as `functions.py` prints it.
#[derive(Debug, Deserialize)]
struct TaskFunction {
    name: String,
    /// Its lines in the gist.
    lines: u32,
    /// The line of its `def` in the gist without a head.
    line: u32,
}

/// The origin and size of a task.
#[derive(Debug, Serialize)]
pub struct TaskFacts<'a> {
    repository: String,
    command: &'a str,
    function: &'a str,
    /// The place of the function in the repository.
    origin: String,
    lines: u32,
    gist_lines: usize,
    generator: String,
}

/// The gist of a run, in all its forms.
struct Exported {
    evaluation: Evaluation,
    /// The file that runs by itself.
    file: String,
    /// The same without a head.
    gist: String,
    map: SourceMap,
}

/// Returns the message about a record without a verdict, with the command that makes one.
///
/// # Errors
/// The directory is no record of a run.
fn unjudged(run: &Path) -> Result<String, Failure> {
    let records = read_trajectory(&run.join(TRAJECTORY)).or_exit(Exit::Input)?;
    let Some(TrajectoryRecord::Start(start)) = records.first() else {
        return Ok("its trajectory has no start (it is no record of gistify)".to_owned());
    };
    Ok(format!(
        "its gist was not judged: the run was interrupted (take it up with `gistify run {} --standalone --resume {} -- {}`, \
         then export that record)",
        start.repository,
        run.display(),
        start.command
    ))
}

impl Exported {
    /// Reads a record.
    fn of(run: &Path) -> Result<Self, Failure> {
        let wrong =
            |why: &str| Failure::new(Exit::Input, format!("export {}: {why}", run.display()));
        let scores = run.join("scores.json");
        if !scores.exists() {
            return Err(wrong(&unjudged(run)?));
        }
        let evaluation: Evaluation = read(&scores).or_exit(Exit::Input)?;
        if !evaluation.is_faithful() {
            return Err(wrong("its gist is not faithful, so it can judge nobody"));
        }
        let file = fs::read_to_string(run.join(STANDALONE)).map_err(|_| {
            wrong("it has no file that runs by itself (make one with `gistify run --standalone`)")
        })?;
        if !evaluation.alone.as_ref().is_some_and(|alone| alone.holds) {
            return Err(wrong("its gist does not do the same alone"));
        }
        let gist = InputFile { what: "gist", path: &run.join(GIST_NAME), hint: "" }.text()?;
        let map = read(&run.join("source-map.json")).or_exit(Exit::Input)?;
        Ok(Self { evaluation, file, gist, map })
    }

    /// Lines of the gist that are of files other than tests.
    fn package_lines(&self) -> Vec<u32> {
        let count = u32::try_from(self.map.lines.len()).unwrap_or(u32::MAX);
        let is_code =
            |line: &u32| self.map.origin(*line).is_some_and(|origin| !is_test_path(&origin.path));
        (1..=count).filter(is_code).collect()
    }
}

impl TaskExport<'_> {
    /// Writes the files, and prints the number of tasks.
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let exported = Exported::of(self.run)?;
        let output = RunDirectory::create_at(self.output).or_exit(Exit::Input)?;
        let own = Some(around.settings.writer.prompts.as_path());
        let own = own.filter(|directory| !directory.as_os_str().is_empty());
        let prompts = Prompts::load(own).or_exit(Exit::Usage)?;
        let sandbox = around.sandbox()?;
        let progress = ProgressLine::new(around.talk);
        let mut trials = Trials::new(&exported, self.python, around, &*sandbox, &progress)?;
        let (mut tasks, mut names, mut idle) = (Vec::new(), BTreeSet::new(), Vec::new());
        for function in trials.functions()? {
            progress.say(&format!("run it without {}", function.name));
            let emptied = trials.emptied(&function.name)?;
            let OracleVerdict { is_same, passed, failed } =
                trials.judge(&emptied, &function.name)?;
            if is_same {
                idle.push(function.name);
                continue;
            }
            let name = unused_name(&exported.evaluation.repository, &function.name, &names);
            names.insert(name.clone());
            tasks.push(GistTask { name, emptied, passed, failed, function });
        }
        progress.clear();
        if tasks.is_empty() {
            let message = format!(
                "export {}: its gist has no function without which it does anything else",
                self.run.display()
            );
            return Err(Failure::new(Exit::Input, message));
        }
        let gist = GistTasks { tasks, exported, trials, prompts };
        for (path, text) in (self.layout)(&gist)? {
            let path = output.path().join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).or_exit(Exit::Infrastructure)?;
            }
            replace(&path, text.as_bytes()).or_exit(Exit::Infrastructure)?;
        }
        let functions: BTreeMap<&str, &str> =
            gist.tasks.iter().map(|task| (task.name.as_str(), task.function())).collect();
        match around.json {
            true => println!(
                "{:#}",
                json!({ "directory": output.path(), "tasks": functions, "without_effect": idle })
            ),
            false => {
                let directory = output.path().display();
                println!("{} tasks in {directory}", functions.len());
                if !idle.is_empty() {
                    println!("  no task     {} (it does the same without)", idle.join(", "));
                }
            }
        }
        Ok(Exit::Success)
    }
}

impl GistTasks<'_> {
    /// The gist as a file that runs by itself: the solution of each task.
    pub fn original(&self) -> &str {
        &self.exported.file
    }

    /// The version of Python of the gist: `3.12`.
    pub fn python(&self) -> String {
        let (major, minor, _) = self.trials.environment.version;
        format!("{major}.{minor}")
    }

    /// A name for all tasks together: `gists-shop`.
    pub fn collection(&self) -> String {
        hyphenated(&format!("gists {}", project(&self.exported.evaluation.repository)))
    }

    /// Returns the facts of a task, for its metadata.
    pub fn facts<'b>(&'b self, task: &'b GistTask) -> TaskFacts<'b> {
        let origin = self.exported.map.origin(task.function.line);
        TaskFacts {
            repository: public_name(&self.exported.evaluation.repository),
            command: &self.exported.evaluation.command,
            function: task.function(),
            origin: origin
                .map(|place| format!("{}:{}", place.path, place.line))
                .unwrap_or_default(),
            lines: task.function.lines,
            gist_lines: self.exported.gist.lines().count(),
            generator: format!("gistify {}", env!("CARGO_PKG_VERSION")),
        }
    }

    /// Returns the words of a task. `directory` has the file, or is empty where the file is part of an answer.
    pub fn instruction(&self, task: &GistTask, directory: &str) -> Result<String, Failure> {
        let facts = self.facts(task);
        let variables = json!({
            "repository": facts.repository,
            "command": facts.command,
            "function": facts.function,
            "directory": directory,
        });
        self.prompts.render("gist_task.md", variables).or_exit(Exit::Infrastructure)
    }

    /// Returns the patch by which files with the texts of `before` get those of `after`.
    ///
    /// # Errors
    /// git is missing.
    pub fn patch(
        &self,
        before: &[(&str, &str)],
        after: &[(&str, &str)],
    ) -> Result<String, Failure> {
        let Trials { around, sandbox, workspace, .. } = &self.trials;
        let root = workspace.directory("patched").or_exit(Exit::Infrastructure)?;
        for (path, text) in before {
            fs::write(root.join(path), text).or_exit(Exit::Infrastructure)?;
        }
        let scratch = around.scratch()?;
        let host = &around.host;
        let request = GitRequest { root: &root, host, sandbox: *sandbox, scratch: &scratch };
        let texts = after.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        patch_of(&request, &texts.collect()).map_err(|error| around.stopped(error))
    }

    /// Returns the packages of the gist as arguments of an installer.
    pub fn packages(&self) -> String {
        let quoted = |one: &String| format!("'{}'", one.replace('\'', ""));
        let packages: Vec<String> = self.trials.needs.dependencies.iter().map(quoted).collect();
        packages.join(" ")
    }

    /// Returns an image's file: the version of Python of the gist, its packages, and `last`.
    pub fn image(&self, directory: &str, last: &str) -> String {
        let (python, packages) = (self.python(), self.packages());
        let install = match packages.is_empty() {
            true => String::new(),
            false => format!("RUN pip install --no-cache-dir {packages}\n"),
        };
        format!("FROM python:{python}-slim\n{install}WORKDIR {directory}\n{last}")
    }
}

/// The oracle's verdict on a file.
struct OracleVerdict {
    is_same: bool,
    /// The names of the cases that end as the gist's do.
    passed: Vec<String>,
    /// The names of the others; `gist.py`, the whole, is among them unless the file does the same.
    failed: Vec<String>,
}

/// Runs of a gist without one of its functions.
struct Trials<'a> {
    around: &'a Surroundings,
    sandbox: &'a dyn Sandbox,
    environment: Environment,
    workspace: Workspace,
    directory: PathBuf,
    needs: Needs,
}

impl<'a> Trials<'a> {
    /// Makes an environment for the gist.
    fn new(
        exported: &Exported,
        python: Option<&Path>,
        around: &'a Surroundings,
        sandbox: &'a dyn Sandbox,
        progress: &ProgressLine,
    ) -> Result<Self, Failure> {
        let needs = Needs::of(&exported.file);
        let workspace = Workspace::create(&around.scratch()?).or_exit(Exit::Infrastructure)?;
        let directory = workspace.directory("tasks").or_exit(Exit::Infrastructure)?;
        let own = workspace.directory("environment").or_exit(Exit::Infrastructure)?;
        fs::write(own.join("gist.py"), &exported.file).or_exit(Exit::Infrastructure)?;
        progress.say("make an environment");
        let environment = match python {
            Some(python) => {
                Environment::of_interpreter(python, &own, sandbox).map_err(of_environment)?
            }
            None => {
                let version = needs.python.as_deref();
                environment_of_file(&own, &needs.dependencies, version, around, sandbox, progress)?
            }
        };
        let lines = json!(exported.package_lines()).to_string();
        for (name, text) in [
            ("judge.py", JUDGE),
            ("functions.py", FUNCTIONS),
            ("original.py", &exported.file),
            (GIST_NAME, &exported.gist),
            ("lines.json", &lines),
        ] {
            fs::write(directory.join(name), text).or_exit(Exit::Infrastructure)?;
        }
        Ok(Self { around, sandbox, environment, workspace, directory, needs })
    }

    /// Returns the functions of the gist that are no test's, after two runs of the gist that do the same.
    fn functions(&mut self) -> Result<Vec<TaskFunction>, Failure> {
        let run = self.run("python functions.py original.py concise.py lines.json")?;
        let found: Option<Vec<TaskFunction>> = serde_json::from_str(&run.stdout).ok();
        let found = found.ok_or_else(|| failed("list the functions of the gist", &run))?;
        if let Some(first) = found.first() {
            let original = fs::read_to_string(self.directory.join("original.py"));
            if !self.judge(&original.or_exit(Exit::Infrastructure)?, &first.name)?.is_same {
                let message = "the gist does not do twice the same here (see --python)";
                return Err(Failure::new(Exit::Input, message));
            }
        }
        Ok(found)
    }

    /// Returns the file in which the body of a function is gone.
    fn emptied(&mut self, function: &str) -> Result<String, Failure> {
        let run = self.run(&format!("python functions.py original.py {function}"))?;
        match run.status {
            Status::Exited(0) => Ok(run.stdout),
            _ => Err(failed(&format!("empty the function {function}"), &run)),
        }
    }

    /// Asks the oracle if a file with this function does what the gist does.
    fn judge(&mut self, text: &str, function: &str) -> Result<OracleVerdict, Failure> {
        fs::write(self.directory.join("candidate.py"), text).or_exit(Exit::Infrastructure)?;
        let run = self.run(&format!("python judge.py original.py candidate.py {function}"))?;
        let is_same = match run.status {
            Status::Exited(0) => true,
            Status::Exited(4) => false,
            _ => return Err(failed(&format!("judge the gist without {function}"), &run)),
        };
        let cases = |sign: &str| {
            let names = run.stdout.lines().filter_map(|line| line.strip_prefix(sign));
            names.map(str::to_owned).collect()
        };
        Ok(OracleVerdict { is_same, passed: cases("PASSED "), failed: cases("FAILED ") })
    }

    fn run(&mut self, command: &str) -> Result<Execution, Failure> {
        let Self { environment, sandbox, directory, workspace, around, .. } = self;
        FilePlace { environment, sandbox: *sandbox, directory }.run(command, workspace, around)
    }
}

fn failed(what: &str, run: &Execution) -> Failure {
    let last = run.stderr.trim_end().lines().last().unwrap_or_default();
    Failure::new(Exit::Infrastructure, format!("{what}: {:?} {last}", run.status))
}

/// Returns a repository's name for others: an address without user and query, a package, or the last directory of a path.
fn public_name(repository: &str) -> String {
    if repository.starts_with("pypi:") {
        return repository.to_owned();
    }
    let (kind, address) = match repository.split_once('+') {
        Some((kind, address)) if address.contains("://") => (format!("{kind}+"), address),
        _ => (String::new(), repository),
    };
    match Url::parse(address) {
        Ok(mut url) if url.has_host() => {
            let _ = (url.set_username(""), url.set_password(None));
            url.set_query(None);
            format!("{kind}{url}")
        }
        _ => {
            let last = repository.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            last.trim_matches('.').to_owned()
        }
    }
}

/// Returns the last part of a repository's name.
fn project(repository: &str) -> String {
    let public = public_name(repository);
    public.rsplit([':', '/']).next().unwrap_or_default().to_owned()
}

/// Returns a text in small letters, digits and single hyphens.
fn hyphenated(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let text: String = text.chars().map(plain).collect();
    text.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Returns the name of a task, which no other task has.
fn unused_name(repository: &str, function: &str, others: &BTreeSet<String>) -> String {
    let name = hyphenated(&format!("{} {function}", project(repository)));
    let name = if name.is_empty() { "function".to_owned() } else { name };
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !others.contains(name)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_repositories_have_no_secrets() {
        for (repository, expected) in [
            ("pypi:pkg==1.0", "pypi:pkg==1.0"),
            ("/home/me/secret/shop@v1", "shop@v1"),
            ("git+https://me:token@example.org/a/b?key=1@c", "git+https://example.org/a/b"),
            ("https://me@example.org/a.tar.gz", "https://example.org/a.tar.gz"),
        ] {
            assert_eq!(public_name(repository), expected, "{repository}");
        }
    }

    #[test]
    fn names_tasks_apart() {
        let mut others = BTreeSet::new();
        let mut check = |repository: &str, function: &str, expected: &str| {
            let name = unused_name(repository, function, &others);
            assert_eq!(name, expected, "{repository} {function}");
            others.insert(name);
        };
        check("pypi:pkg==1.0", "Cart.total", "pkg-1-0-cart-total");
        check("/home/me/Shop", "Cart.__init__", "shop-cart-init");
        check("/home/me/Shop", "Cart.init", "shop-cart-init-2");
        check("git+https://x.org/a/b@c", "é", "b-c");
        check(".", "Cart.total", "cart-total");
        check("..", "é", "function");
    }
}
