//! Lays out a run's scratch directory, starts the launcher in the sandbox and reads its record.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{
    ExecuteError, Execution, RunSpec, Shell,
    record::{Records, Untouched},
};
use crate::{
    candidate::Link,
    command::{Command, CommandProgram},
    environment::Environment,
    sandbox::{Captured, Finished, Network, Request, Status},
    workspace::remove_tree,
};

const LAUNCHER: &str = include_str!("launch.py");
/// The package that the launcher takes modules from, file by file.
const PACKAGE: [(&str, &str); 4] = [
    ("__init__.py", include_str!("../../python/gistify_run/__init__.py")),
    ("decided.py", include_str!("../../python/gistify_run/decided.py")),
    ("linked.py", include_str!("../../python/gistify_run/linked.py")),
    ("tolerant.py", include_str!("../../python/gistify_run/tolerant.py")),
];
/// The record of a run, in its scratch directory.
pub(crate) const RESULTS: &str = "results.jsonl";
/// The search path for programs, beside the interpreter's directory.
pub(crate) const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The settings of the launcher, which reads them from a file beside itself.
#[derive(Serialize)]
struct Settings<'a, T> {
    kind: &'static str,
    target: Option<&'a str>,
    args: &'a [String],
    entry: Option<String>,
    orig_argv: Vec<String>,
    absent: &'a [String],
    max_failures: Option<usize>,
    link: Option<&'a Link>,
    opens: bool,
    decides: bool,
    trace: Option<&'a T>,
    serving: Option<&'a serde_json::Value>,
}

/// Runs a command, with a tracer's settings or without.
pub(crate) fn run<T: Serialize>(
    spec: &RunSpec<'_>,
    trace: Option<&T>,
) -> Result<Execution, ExecuteError> {
    let (request, recorded) = prepare(spec, trace, None)?;
    let finished = spec.sandbox.run(&request)?;
    let (execution, _) = recorded.read(finished, spec.command, &spec.environment.python)?;
    Ok(execution)
}

/// Writes the scratch directory of a run. Returns the request that starts it, and the place of its
/// record. `serving` are the settings of a process that serves runs.
pub(crate) fn prepare<T: Serialize>(
    spec: &RunSpec<'_>,
    trace: Option<&T>,
    serving: Option<&serde_json::Value>,
) -> Result<(Request, RunRecording), ExecuteError> {
    let launcher = lay_out(spec, trace, serving)?;
    let recorded = RunRecording::prepare(spec.scratch)?;
    Ok((request(spec, &launcher), recorded))
}

/// The record of a run that is to be made.
pub(crate) struct RunRecording {
    results: PathBuf,
    before: Untouched,
}

impl RunRecording {
    /// Makes the file of a record, in the place of an earlier one.
    pub(crate) fn prepare(scratch: &Path) -> Result<Self, ExecuteError> {
        let results = scratch.join(RESULTS);
        remove(&results)?;
        let before = Records::prepare(&results).map_err(scratch_error(&results))?;
        Ok(Self { results, before })
    }

    /// Reads it once the run has ended, with the number of functions that it changed.
    pub(crate) fn read(
        self,
        finished: Finished,
        command: &Command,
        python: &Path,
    ) -> Result<(Execution, u64), ExecuteError> {
        let Self { results, before } = self;
        let records = Records::read(&results, before).map_err(scratch_error(&results))?;
        let python = || python.to_path_buf();
        if let Some(name) = records.missing {
            return Err(match command.is_pytest() {
                true => ExecuteError::NoPytest { python: python() },
                false => ExecuteError::NoProgram { name, python: python() },
            });
        }
        let by_itself = matches!(finished.status, Status::Exited(_) | Status::Signaled(_));
        if !records.began && by_itself {
            let reason = last_line(&finished.stderr, finished.status);
            return Err(ExecuteError::Interpreter { python: python(), reason });
        }
        let execution = Execution {
            status: finished.status,
            collected: records.collected,
            checks: records.checks,
            collection_errors: records.collection_errors,
            cases: records.cases,
            complete: records.complete,
            dropped: finished.stdout.dropped + finished.stderr.dropped,
            stdout: text(finished.stdout),
            stderr: text(finished.stderr),
            raised: records.raised,
            caught: records.caught,
            ended: records.ended,
            opened: records.opened,
            decided: records.decided,
            wall: finished.wall,
            cpu: finished.cpu,
        };
        Ok((execution, records.changed))
    }
}

/// Turns an I/O error of the scratch directory into ours.
pub(crate) fn scratch_error(path: &Path) -> impl Fn(io::Error) -> ExecuteError + use<> {
    let path = path.to_path_buf();
    move |source| ExecuteError::Scratch { path: path.clone(), source }
}

/// Writes a file of the scratch directory, in the place of whatever an earlier run left there: never
/// through a link.
pub(crate) fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), ExecuteError> {
    remove(path)?;
    let mut file = fs::File::create_new(path).map_err(scratch_error(path))?;
    file.write_all(contents.as_ref()).map_err(scratch_error(path))
}

/// Makes a directory of the scratch directory that holds nothing of an earlier run.
pub(crate) fn make_empty(path: &Path) -> Result<(), ExecuteError> {
    remove(path)?;
    fs::create_dir_all(path).map_err(scratch_error(path))
}

/// Removes what is there, of whatever kind a program made it.
fn remove(path: &Path) -> Result<(), ExecuteError> {
    let removed = match path.symlink_metadata() {
        Ok(there) if there.is_dir() => {
            remove_tree(path);
            match path.symlink_metadata() {
                Ok(_) => fs::remove_dir_all(path),
                Err(_) => Ok(()),
            }
        }
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(scratch_error(path)(error)),
        _ => Ok(()),
    }
}

fn lay_out<T: Serialize>(
    spec: &RunSpec<'_>,
    trace: Option<&T>,
    serving: Option<&serde_json::Value>,
) -> Result<PathBuf, ExecuteError> {
    for directory in ["home", "tmp"] {
        make_empty(&spec.scratch.join(directory))?;
    }
    let (kind, target) = match spec.command.program() {
        CommandProgram::Pytest => ("pytest", None),
        CommandProgram::PytestModule => ("pytest-module", None),
        CommandProgram::Module(name) => ("module", Some(name.as_str())),
        CommandProgram::Script(path) => ("script", Some(path.as_str())),
        CommandProgram::Console(name) => ("console", Some(name.as_str())),
    };
    let settings = Settings {
        kind,
        target,
        args: spec.command.args(),
        entry: match spec.command.program() {
            CommandProgram::Console(name) => entry_point(spec.directory, name),
            _ => None,
        },
        orig_argv: spec.command.words(&spec.environment.python.to_string_lossy()),
        absent: spec.absent,
        max_failures: spec.max_failures,
        link: spec.link,
        opens: spec.around.opens,
        decides: spec.around.decides,
        trace,
        serving,
    };
    let settings = serde_json::to_vec(&settings).expect("strings and options serialise");
    write(&spec.scratch.join("run.json"), settings)?;
    if spec.link.is_some() || spec.around.decides {
        let package = spec.scratch.join("gistify_run");
        make_empty(&package)?;
        for (name, text) in PACKAGE {
            write(&package.join(name), text)?;
        }
    }
    let launcher = spec.scratch.join("launch.py");
    write(&launcher, LAUNCHER)?;
    Ok(launcher)
}

fn request(spec: &RunSpec<'_>, launcher: &Path) -> Request {
    let mut args: Vec<OsString> =
        spec.command.interpreter_options().iter().map(OsString::from).collect();
    args.push(launcher.into());
    let mut readable = spec.environment.readable.clone();
    readable.extend([spec.directory.to_path_buf(), spec.scratch.to_path_buf()]);
    Request {
        program: spec.environment.python.clone(),
        args,
        cwd: spec.directory.to_path_buf(),
        env: variables(spec),
        readable,
        writable: vec![spec.directory.to_path_buf(), spec.scratch.to_path_buf()],
        hidden: Vec::new(),
        network: Network::Loopback,
        limits: spec.limits,
    }
}

/// The whole environment of the program: two runs differ only where they are told to.
fn variables(spec: &RunSpec<'_>) -> BTreeMap<String, String> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let mut all = BTreeMap::new();
    let mut set = |name: &str, value: String| {
        all.insert(name.to_string(), value);
    };
    let programs = spec.environment.python.parent().map(path).unwrap_or_default();
    set("PATH", format!("{programs}:{SYSTEM_PATH}"));
    set("HOME", path(&spec.scratch.join("home")));
    set("LANG", "C.UTF-8".into());
    match spec.around.shell {
        Shell::Fixed => {
            set("TMPDIR", path(&spec.scratch.join("tmp")));
            set("LC_ALL", "C.UTF-8".into());
            set("TZ", "UTC".into());
            set("PYTHONHASHSEED", spec.hash_seed.to_string());
            set("PYTHONDONTWRITEBYTECODE", "1".into());
            // PEP 768: no other process runs code in this one.
            set("PYTHON_DISABLE_REMOTE_DEBUG", "1".into());
        }
        shell @ (Shell::Ordinary | Shell::Bare) => {
            if shell == Shell::Ordinary {
                set("TERM", "xterm-256color".into());
            }
            set("SHELL", "/bin/sh".into());
            set("USER", "user".into());
        }
    }
    all.extend(spec.variables.clone());
    all.extend(spec.command.variables().iter().cloned());
    let given = all.get("PYTHONPATH").filter(|value| !value.is_empty()).cloned();
    let entries = Some(pythonpath(spec.environment, spec.directory)).filter(|all| !all.is_empty());
    let values: Vec<String> = given.into_iter().chain(entries).collect();
    if !values.is_empty() {
        all.insert("PYTHONPATH".to_owned(), values.join(":"));
    }
    all
}

/// The value of `PYTHONPATH` in a copy of the repository.
pub(crate) fn pythonpath(environment: &Environment, directory: &Path) -> String {
    let entries = environment.pythonpath.iter().map(|entry| match entry.as_str() {
        // Joining an empty path would leave a slash at the end.
        "" | "." => directory.to_string_lossy().into_owned(),
        entry => directory.join(entry).to_string_lossy().into_owned(),
    });
    entries.collect::<Vec<_>>().join(":")
}

/// A console script that the repository itself declares, as `module:attribute`: it is not installed.
pub(crate) fn entry_point(directory: &Path, name: &str) -> Option<String> {
    let declared = || {
        let text = fs::read_to_string(directory.join("pyproject.toml")).ok()?;
        let project: toml::Table = text.parse().ok()?;
        let scripts = |keys: &[&str]| {
            let mut table = &project;
            for key in keys {
                table = table.get(*key)?.as_table()?;
            }
            Some(table.get(name)?.as_str()?.to_string())
        };
        scripts(&["project", "scripts"]).or_else(|| scripts(&["tool", "poetry", "scripts"]))
    };
    let configured = || {
        let text = fs::read_to_string(directory.join("setup.cfg")).ok()?;
        let mut lines = text.lines().skip_while(|line| line.trim() != "console_scripts =");
        lines.next()?;
        lines
            .take_while(|line| line.starts_with([' ', '\t']) || line.trim().is_empty())
            .filter_map(|line| line.split_once('='))
            .find(|(key, _)| key.trim() == name)
            .map(|(_, value)| value.trim().to_string())
    };
    declared().or_else(configured)
}

fn text(captured: Captured) -> String {
    String::from_utf8_lossy(&captured.bytes).into_owned()
}

fn last_line(stderr: &Captured, status: Status) -> String {
    let text = String::from_utf8_lossy(&stderr.bytes);
    match (text.lines().rev().find(|line| !line.trim().is_empty()), status) {
        (Some(line), _) => line.trim().chars().take(300).collect(),
        (None, Status::Signaled(signal)) => format!("killed by signal {signal}"),
        (None, Status::Exited(code)) => format!("exit code {code}"),
        (None, _) => "it was stopped".into(),
    }
}
