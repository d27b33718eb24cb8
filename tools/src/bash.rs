//! The tool that runs a shell command in a copy of the repository, in the sandbox; in the work on a query, in its directory.
//!
//! The copy lasts as long as the session. The gist is a file in it: what stands there after a command
//! is the gist from then on. No repository of git is in it, and nothing of the user's is written. Commands
//! have the environment that the task's command has; in a session that executes nothing they find no
//! interpreter and nothing of the repository's environment.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    edit::LARGEST,
    execute::{SYSTEM_PATH, open_regular, pythonpath},
    query::QueryProgram,
    sandbox::{Captured, Finished, Network, Request, Status},
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
};

/// Bytes of each stream that a reply shows: so many of its beginning and of its end.
const SHOWN: usize = 5_000;
/// The same in the work on a query, whose logs are reduced by the selection alone.
const LOG: usize = 100_000;

/// Runs shell commands.
#[derive(Debug, Default)]
pub struct BashTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
}

#[derive(Serialize)]
struct Report {
    ended: String,
    stdout: String,
    stderr: String,
    /// Lines of the gist, where there is one; nothing in the work on a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    gist_lines: Option<usize>,
}

impl Tool for BashTool {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn group(&self) -> Group {
        Group::Execute
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let asked: Arguments = arguments(given)?;
        if let Some(query) = &session.findings.query {
            let scratch = session.workspace.directory("shell")?;
            let request = query.work.request(&QueryProgram {
                program: Path::new("/bin/bash"),
                args: &["-c".to_owned(), asked.command],
                environment: &session.environment,
                scratch: &scratch,
                limits: session.limits(),
                hash_seed: session.hash_seed,
                variables: &session.variables,
            });
            let finished = run_to_end(session, &request, &scratch)?;
            // Paths are shown as they are named elsewhere, and are the same in each session.
            let root = format!("{}/", query.work.root().display());
            let log = |stream| ends(stream, LOG).replace(&root, "");
            return Reply::of(&Report {
                ended: finished.status.describe(),
                // The selection decides how much of it a model reads.
                stdout: log(&finished.stdout),
                stderr: log(&finished.stderr),
                gist_lines: None,
            });
        }
        let directory = directory(session)?;
        let gist = directory.join(session.gist_path());
        if let Some(text) = session.findings.gist.as_ref().map(|gist| gist.text.clone()) {
            put(&directory, &gist, &text)?;
        }
        let scratch = session.workspace.directory("shell")?;
        let request = request(session, &asked.command, &directory, &scratch)?;
        let finished = run_to_end(session, &request, &scratch)?;
        let text = taken(&directory, &gist)?;
        let before = session.findings.gist.as_ref().map(|gist| &gist.text);
        if let Some(text) = text.filter(|text| before != Some(text)) {
            session.findings.by_hand(text);
        }
        Reply::of(&Report {
            ended: finished.status.describe(),
            stdout: ends(&finished.stdout, SHOWN),
            stderr: ends(&finished.stderr, SHOWN),
            gist_lines: session.findings.gist.as_ref().map(|gist| gist.text.lines().count()),
        })
    }
}

/// Runs a command to its end, and removes its temporary files.
fn run_to_end(session: &Session, request: &Request, scratch: &Path) -> Result<Finished, ToolError> {
    let finished = session.sandbox.run(request);
    session.workspace.discard(scratch);
    let finished = finished.map_err(|error| ToolError::Fatal(error.to_string()))?;
    match finished.status {
        Status::Interrupted => Err(ToolError::Fatal("the command was interrupted".to_owned())),
        _ => Ok(finished),
    }
}

/// The session's copy, made for the first command.
fn directory(session: &mut Session) -> Result<PathBuf, ToolError> {
    if let Some(directory) = &session.findings.shell {
        return Ok(directory.clone());
    }
    let directory = session.workspace.copy(&session.repository)?;
    session.findings.shell = Some(directory.clone());
    Ok(directory)
}

fn request(
    session: &Session,
    command: &str,
    directory: &Path,
    scratch: &Path,
) -> Result<Request, ToolError> {
    let environment = &session.environment;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let programs = match session.execution {
        true => {
            let beside = environment.python.parent().map(text).unwrap_or_default();
            format!("{beside}:{SYSTEM_PATH}")
        }
        false => text(&lay_out_programs(scratch)?),
    };
    let mut env: BTreeMap<String, String> = [
        ("PATH", programs),
        ("HOME", text(scratch)),
        ("TMPDIR", text(scratch)),
        ("LANG", "C.UTF-8".to_owned()),
        ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ("PYTHONHASHSEED", session.hash_seed.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let mut readable = vec![directory.to_path_buf(), scratch.to_path_buf()];
    if session.execution {
        let entries = pythonpath(environment, directory);
        env.extend((!entries.is_empty()).then(|| ("PYTHONPATH".to_owned(), entries)));
        env.extend(session.command.variables().iter().cloned());
        readable.extend(environment.readable.clone());
    }
    env.extend(session.variables.clone());
    Ok(Request {
        program: PathBuf::from("/bin/bash"),
        args: ["-c", command].map(Into::into).into(),
        cwd: directory.to_path_buf(),
        env,
        readable,
        writable: vec![directory.to_path_buf(), scratch.to_path_buf()],
        hidden: if session.execution { Vec::new() } else { interpreters() },
        network: Network::Loopback,
        limits: session.limits(),
    })
}

/// Beginnings of the names of programs that run Python, or that could fetch one.
const INTERPRETERS: [&str; 10] =
    ["python", "pypy", "pytest", "py.test", "ipython", "pip", "uv", "conda", "tox", "nox"];

/// Returns the system's programs; those of the first directory on the path come first.
fn system_programs() -> impl Iterator<Item = fs::DirEntry> {
    SYSTEM_PATH.split(':').filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten()
}

fn is_interpreter(program: &fs::DirEntry) -> bool {
    let name = program.file_name();
    name.to_str().is_none_or(|name| INTERPRETERS.iter().any(|start| name.starts_with(start)))
}

/// Returns the system's programs that run Python.
fn interpreters() -> Vec<PathBuf> {
    system_programs().filter(is_interpreter).map(|program| program.path()).collect()
}

/// Makes a directory of links to the system's other programs, and returns its path: a shell does not find what is not
/// there.
fn lay_out_programs(scratch: &Path) -> Result<PathBuf, ToolError> {
    let failed = |error: std::io::Error| ToolError::Fatal(format!("lay out programs: {error}"));
    let links = scratch.join("programs");
    fs::create_dir_all(&links).map_err(failed)?;
    for program in system_programs().filter(|program| !is_interpreter(program)) {
        let link = links.join(program.file_name());
        if fs::symlink_metadata(&link).is_err() {
            std::os::unix::fs::symlink(program.path(), &link).map_err(failed)?;
        }
    }
    Ok(links)
}

/// Returns true if the real directory of a path is below another one. Commands may have created
/// links anywhere.
fn is_inside(directory: &Path, path: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    match (path.parent().and_then(real), real(directory)) {
        (Some(parent), Some(directory)) => parent.starts_with(directory),
        _ => false,
    }
}

fn put(directory: &Path, gist: &Path, text: &str) -> Result<(), ToolError> {
    if !is_inside(directory, gist) {
        return Err(Problem::Failed.because("the gist's directory is gone or is a link"));
    }
    if fs::symlink_metadata(gist).is_ok_and(|there| !there.is_dir()) {
        // A link is replaced, never followed.
        let _ = fs::remove_file(gist);
    }
    fs::write(gist, text)
        .map_err(|error| Problem::Failed.because(format!("write the gist: {error}")))
}

/// The gist's text, where it is a file of text below the directory.
fn taken(directory: &Path, gist: &Path) -> Result<Option<String>, ToolError> {
    if fs::symlink_metadata(gist).is_err() {
        return Ok(None);
    }
    let failed = |what: &str| Err(Problem::Failed.because(format!("the gist {what}")));
    if !is_inside(directory, gist) {
        return failed("stands behind a link");
    }
    let Ok(file) = open_regular(gist) else { return failed("is no regular file") };
    let mut bytes = Vec::new();
    let read = file.take(LARGEST as u64 + 1).read_to_end(&mut bytes);
    match (read, String::from_utf8(bytes)) {
        (Err(_), _) => failed("cannot be read"),
        (_, Ok(text)) if text.len() > LARGEST => failed("is too large"),
        (_, Ok(text)) => Ok(Some(text)),
        (_, Err(_)) => failed("is not UTF-8"),
    }
}

/// A stream's beginning and end of so many bytes each, and how much stands between them.
fn ends(captured: &Captured, shown: usize) -> String {
    let text = captured.text();
    if text.len() <= 2 * shown {
        return text;
    }
    let head = (0..=shown).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let tail = (text.len() - shown..).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..])
}
