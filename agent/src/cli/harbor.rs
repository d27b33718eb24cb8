//! `gistify export --format harbor`: a gist as tasks of Harbor, one for each of its functions.
//!
//! A task is the gist without the body of one function, and its oracle is the gist itself. Runs in the sandbox decide which
//! functions are tasks: an unchanged file would earn the reward of one whose removal changes nothing.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use ::eval::{Evaluation, SourceMap, is_test_path, read};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tools::{Environment, Execution, GIST_NAME, Sandbox, Status, Workspace};

use super::{
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

const JUDGE: &str = include_str!("harbor/judge.py");
const FUNCTIONS: &str = include_str!("harbor/functions.py");
const TEST: &str = include_str!("harbor/test.sh");
const SOLVE: &str = include_str!("harbor/solve.sh");
/// The version of `task.toml`.
const SCHEMA: &str = "1.4";

/// An export of one run.
pub struct HarborExport<'a> {
    /// The record of `gistify run --standalone`.
    pub run: &'a Path,
    /// The directory of the tasks.
    pub output: &'a Path,
    /// An interpreter with the packages of the gist.
    pub python: Option<&'a Path>,
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

/// `task.toml`.
#[derive(Debug, Serialize)]
struct Manifest<'a> {
    schema_version: &'static str,
    artifacts: [&'static str; 1],
    task: Package<'a>,
    metadata: Metadata<'a>,
    agent: Limits,
    verifier: Verifier,
    environment: BuildLimits,
}

#[derive(Debug, Serialize)]
struct Package<'a> {
    name: String,
    description: String,
    keywords: [&'a str; 2],
}

#[derive(Debug, Serialize)]
struct Metadata<'a> {
    repository: &'a str,
    command: &'a str,
    function: &'a str,
    /// The place of the function in the repository.
    origin: String,
    lines: u32,
    gist_lines: usize,
    generator: String,
}

#[derive(Debug, Serialize)]
struct Limits {
    timeout_sec: f64,
    user: &'static str,
}

#[derive(Debug, Serialize)]
struct Verifier {
    timeout_sec: f64,
    environment_mode: &'static str,
}

#[derive(Debug, Serialize)]
struct BuildLimits {
    build_timeout_sec: f64,
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

impl HarborExport<'_> {
    /// Writes the directories, and prints their number.
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let exported = Exported::of(self.run)?;
        let output = RunDirectory::create_at(self.output).or_exit(Exit::Input)?;
        let own = Some(around.settings.writer.prompts.as_path());
        let own = own.filter(|directory| !directory.as_os_str().is_empty());
        let prompts = Prompts::load(own).or_exit(Exit::Usage)?;
        let sandbox = around.sandbox()?;
        let progress = ProgressLine::new(around.talk);
        let mut trials = Trials::new(&exported, self.python, around, &*sandbox, &progress)?;
        let (mut written, mut idle) = (BTreeMap::new(), Vec::new());
        for function in trials.functions()? {
            progress.say(&format!("run it without {}", function.name));
            let text = trials.emptied(&function.name)?;
            if trials.is_same(&text, &function.name)? {
                idle.push(function.name);
                continue;
            }
            let name = unused_name(&exported.evaluation.repository, &function.name, &written);
            let files = task_files(&exported, &trials, (&function, text), &name, &prompts)?;
            for (path, text) in files {
                let path = output.path().join(&name).join(path);
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent).or_exit(Exit::Infrastructure)?;
                }
                replace(&path, text.as_bytes()).or_exit(Exit::Infrastructure)?;
            }
            written.insert(name, function.name);
        }
        progress.clear();
        if written.is_empty() {
            let message = format!(
                "export {}: its gist has no function without which it does anything else",
                self.run.display()
            );
            return Err(Failure::new(Exit::Input, message));
        }
        match around.json {
            true => println!(
                "{:#}",
                json!({ "directory": output.path(), "tasks": written, "without_effect": idle })
            ),
            false => {
                let directory = output.path().display();
                println!("{} tasks in {directory}", written.len());
                if !idle.is_empty() {
                    println!("  no task     {} (it does the same without)", idle.join(", "));
                }
            }
        }
        Ok(Exit::Success)
    }
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
            if !self.is_same(&original.or_exit(Exit::Infrastructure)?, &first.name)? {
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

    /// Returns true if a file with this function does what the gist does.
    fn is_same(&mut self, text: &str, function: &str) -> Result<bool, Failure> {
        fs::write(self.directory.join("candidate.py"), text).or_exit(Exit::Infrastructure)?;
        let run = self.run(&format!("python judge.py original.py candidate.py {function}"))?;
        match run.status {
            Status::Exited(0) => Ok(true),
            Status::Exited(4) => Ok(false),
            _ => Err(failed(&format!("judge the gist without {function}"), &run)),
        }
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

/// Returns the files of a task by their paths.
fn task_files(
    exported: &Exported,
    trials: &Trials<'_>,
    (function, emptied): (&TaskFunction, String),
    name: &str,
    prompts: &Prompts,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let evaluation = &exported.evaluation;
    let (repository, command) = (&*public_name(&evaluation.repository), &*evaluation.command);
    let origin = exported.map.origin(function.line);
    let manifest = Manifest {
        schema_version: SCHEMA,
        artifacts: ["/app/gist.py"],
        task: Package {
            name: format!("gistify/{name}"),
            description: format!("The function {} of a gist", function.name),
            keywords: ["python", "gist"],
        },
        metadata: Metadata {
            repository,
            command,
            function: &function.name,
            origin: origin
                .map(|place| format!("{}:{}", place.path, place.line))
                .unwrap_or_default(),
            lines: function.lines,
            gist_lines: exported.gist.lines().count(),
            generator: format!("gistify {}", env!("CARGO_PKG_VERSION")),
        },
        agent: Limits { timeout_sec: 900.0, user: "agent" },
        // The judge runs files three times, each for at most five minutes.
        verifier: Verifier { timeout_sec: 960.0, environment_mode: "separate" },
        environment: BuildLimits { build_timeout_sec: 600.0 },
    };
    let instruction =
        json!({ "repository": repository, "command": command, "function": function.name });
    let instruction = prompts.render("harbor.md", instruction).or_exit(Exit::Infrastructure)?;
    let environment = image(
        trials,
        "COPY gist.py /app/gist.py\nRUN useradd --create-home agent && chown -R agent /app\n",
    );
    Ok(vec![
        ("task.toml", toml::to_string(&manifest).or_exit(Exit::Infrastructure)?),
        ("instruction.md", instruction),
        ("environment/Dockerfile", environment),
        ("environment/gist.py", emptied),
        ("solution/solve.sh", SOLVE.to_owned()),
        ("solution/gist.py", exported.file.clone()),
        ("tests/Dockerfile", image(trials, "COPY . /tests/\n")),
        ("tests/test.sh", TEST.replace("@FUNCTION@", &function.name)),
        ("tests/judge.py", JUDGE.to_owned()),
        ("tests/original.py", exported.file.clone()),
    ])
}

/// Returns an image's file: the version of Python of the gist, its packages, and `last`.
fn image(trials: &Trials<'_>, last: &str) -> String {
    let (major, minor, _) = trials.environment.version;
    let quoted = |one: &String| format!("'{}'", one.replace('\'', ""));
    let packages: Vec<String> = trials.needs.dependencies.iter().map(quoted).collect();
    let install = match packages.is_empty() {
        true => String::new(),
        false => format!("RUN pip install --no-cache-dir {}\n", packages.join(" ")),
    };
    format!("FROM python:{major}.{minor}-slim\n{install}WORKDIR /app\n{last}")
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

/// Returns the name of a task's directory: small letters, digits and hyphens, and no name that another task has.
fn unused_name(repository: &str, function: &str, others: &BTreeMap<String, String>) -> String {
    let public = public_name(repository);
    let project = public.rsplit([':', '/']).next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let text: String = format!("{project} {function}").chars().map(plain).collect();
    let parts: Vec<&str> = text.split('-').filter(|part| !part.is_empty()).collect();
    let name = if parts.is_empty() { "function".to_owned() } else { parts.join("-") };
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !others.contains_key(name)).unwrap_or(name)
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
        let mut others = BTreeMap::new();
        let mut check = |repository: &str, function: &str, expected: &str| {
            let name = unused_name(repository, function, &others);
            assert_eq!(name, expected, "{repository} {function}");
            others.insert(name, function.to_owned());
        };
        check("pypi:pkg==1.0", "Cart.total", "pkg-1-0-cart-total");
        check("/home/me/Shop", "Cart.__init__", "shop-cart-init");
        check("/home/me/Shop", "Cart.init", "shop-cart-init-2");
        check("git+https://x.org/a/b@c", "é", "b-c");
        check(".", "Cart.total", "cart-total");
        check("..", "é", "function");
    }
}
