//! Runs a command by forking a process that has loaded the common modules: no interpreter starts,
//! and pytest, its plugins and libraries are imported once.
//!
//! A [`Warm`] holds a process in the sandbox that waits at a [`WaitsAt`] of the command, the later
//! the better. Each [`Warm::run`] has fresh memory, and a directory and a scratch directory in the
//! state that the process saw at its start. It has the limits and the observer of a cold run, so
//! that its [`Execution`] equals that of a [cold run](crate::execute()). If a fork would differ
//! from such a run it returns an error, and the caller runs cold.

mod channel;
mod restored;

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::ExitStatus,
    thread::{self, JoinHandle},
    time::Duration,
};

use graph::Trace;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::{
    channel::{Channel, Heard},
    restored::RestoredDirectory,
};
use crate::{
    command::Command,
    execute::{ExecuteError, Execution, RunRecording, RunSpec, make_empty, prepare, write},
    patch::link_above,
    sandbox::{Finished, Interrupt, Limits, SandboxError, Status, status_of_code},
    trace::{self, Observer, TraceOptions, TracedPlace},
};

const SERVE: &str = include_str!("serve.py");
const MUTATE: &str = include_str!("mutate.py");
/// Longest output of a run that is read back, in bytes, whatever the limits say.
const OUTPUT: u64 = 1 << 26;
/// Time that the process has beyond a run's own limit to tell how it ended.
const GRACE: Duration = Duration::from_secs(20);

/// The process that is started, and where it waits.
#[derive(Clone, Copy)]
pub struct WarmSpec<'a> {
    /// The command. Its directory is the state that each run finds; both directories lie in [`place`](Self::place).
    pub run: RunSpec<'a>,
    /// A directory of this run's alone, absolute, in which `run.directory` and `run.scratch` are.
    pub place: &'a Path,
    /// The point at which it waits.
    pub waits_at: WaitsAt,
    /// Modules from outside of the program that the runs will import, by name. Those that cannot be imported are
    /// left to the runs.
    pub imports: &'a [String],
    /// The parts of a trace that each run gets; without, runs are not observed.
    pub trace: Option<TraceOptions>,
    /// The longest life of the process.
    pub lifetime: Duration,
}

/// The point of a command at which a process waits to be forked. What comes before it is common to all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitsAt {
    /// Before the command does anything.
    Start,
    /// Behind pytest's configuration, its plugins and first conftests, before it collects.
    Collection,
    /// Behind pytest's collection, before the first test.
    Tests,
}

/// One run that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct WarmRun<'a> {
    /// Files of the directory with another text, by path relative to it. They have an effect where the process has not
    /// read them yet.
    pub files: &'a [(&'a str, &'a str)],
    /// Tests that pytest collects in the place of those that the command names; none for its own. They need a process
    /// that waits at [`WaitsAt::Collection`], and directories with the same configuration and conftests.
    pub tests: &'a [String],
    /// Functions with other code; they need a process that waits at [`WaitsAt::Tests`].
    pub changes: &'a [CodeChange],
    /// Its bounds; of these, wall-clock time, CPU time and output are its own, the others the process's.
    pub limits: Limits,
    /// The end of it.
    pub ends: Ends,
}

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    /// Its process ends by itself, as a cold one does.
    Process,
    /// The process ends after the last test, with the exit code that pytest has decided on. The
    /// shutdown of pytest and the interpreter takes ten times as long as a short test. It needs
    /// a process that waits behind [`WaitsAt::Start`].
    Tests,
}

/// Other code for functions that are loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodeChange {
    /// The file that defines them, relative to the run's directory.
    pub file: String,
    /// The first line of a statement of its top level, 1-based.
    pub first: u32,
    /// That statement's whole lines.
    pub before: String,
    /// The same with the change; it has as many lines.
    pub after: String,
}

/// One run that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct WarmRan {
    /// The result of the run.
    pub execution: Execution,
    /// The trace of the run, where it was observed.
    pub trace: Option<Trace>,
    /// The number of functions that got other code.
    pub changed: u64,
}

/// Why a run cannot be made by fork. The caller runs cold.
#[derive(Debug, thiserror::Error)]
pub enum WarmError {
    /// The sandbox cannot hold a process that waits.
    #[error("fork runs in a {sandbox} sandbox: it cannot be spoken with while it runs")]
    Unsupported {
        /// Name of the sandbox.
        sandbox: &'static str,
    },
    /// A fork would not be the process that it is a copy of.
    #[error("fork a run: {reason}")]
    Unsafe {
        /// The reason.
        reason: String,
    },
    /// The process ended before it waited, or between two runs.
    #[error("fork a run: the process that waits ended ({status:?})")]
    Ended {
        /// The way in which it ended.
        status: Status,
    },
    /// The process does not answer.
    #[error("fork a run: the process that waits does not answer")]
    Silent,
    /// The user interrupted everything.
    #[error("interrupted")]
    Interrupted,
    /// It could not be started.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// It was started by a sandbox that failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The directories of a run cannot be used.
    #[error("use {path}: {source}")]
    Directory {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// A process that waits to be forked. Dropping it ends the process.
#[derive(Debug)]
pub struct Warm {
    channel: Option<Channel>,
    stop: Interrupt,
    process: Option<JoinHandle<Result<Finished, SandboxError>>>,
    server: PathBuf,
    scratch: PathBuf,
    directory: PathBuf,
    /// States of directories, restored before each run.
    kept: Vec<RestoredDirectory>,
    waits_at: WaitsAt,
    command: Command,
    python: PathBuf,
    /// The version of the interpreter, where runs are observed.
    traced: Option<(u8, u8, u8)>,
    /// The result of the process, once it has ended.
    finished: Option<Finished>,
    is_used: bool,
}

/// A request to the process.
#[derive(Serialize)]
struct RunOrder<'a> {
    wall: f64,
    cpu: f64,
    output: u64,
    ends: Ends,
    tests: &'a [String],
    changes: &'a [CodeChange],
}

/// A message of the waiting process.
#[derive(Debug, Deserialize)]
struct WarmMessage {
    #[serde(default)]
    ready: bool,
    #[serde(default)]
    r#unsafe: Option<String>,
    #[serde(default)]
    status: i32,
    #[serde(default)]
    timed_out: bool,
    #[serde(default)]
    wall: f64,
    #[serde(default)]
    cpu: f64,
    #[serde(default)]
    dropped: u64,
}

impl Warm {
    /// Starts a process and waits until it waits.
    ///
    /// # Errors
    /// When it cannot be started, ends before it waits, or is not safe to fork.
    #[tracing::instrument(name = "warm start", level = "debug", skip_all)]
    pub fn start(spec: &WarmSpec<'_>) -> Result<Warm, WarmError> {
        let run = &spec.run;
        let Some((sandbox, stop)) = run.sandbox.stoppable() else {
            return Err(WarmError::Unsupported { sandbox: run.sandbox.name() });
        };
        let server = spec.place.join("server");
        make_empty(&server)?;
        let channel = Channel::make(&server).map_err(at(&server))?;
        let serving = json!({
            "at": spec.waits_at,
            "directory": server.to_string_lossy(),
            "imports": spec.imports,
            "isolated": run.sandbox.name() != "none",
        });
        let traced = spec.trace.map(|options| trace::lay_out(run, Observer::default(), options));
        let traced = traced.transpose()?;
        let (mut request, recorded) = prepare(run, traced.as_ref(), Some(&serving))?;
        write(&run.scratch.join("serve.py"), SERVE)?;
        write(&run.scratch.join("mutate.py"), MUTATE)?;
        request.readable.push(spec.place.to_path_buf());
        request.writable = vec![spec.place.to_path_buf()];
        request.limits = Limits { wall: spec.lifetime, cpu: spec.lifetime, ..run.limits };
        let process = thread::spawn(move || sandbox.run(&request));
        let mut warm = Warm {
            channel: Some(channel),
            stop,
            process: Some(process),
            server,
            scratch: run.scratch.to_path_buf(),
            directory: run.directory.to_path_buf(),
            kept: Vec::new(),
            waits_at: spec.waits_at,
            command: run.command.clone(),
            python: run.environment.python.clone(),
            traced: traced.map(|_| run.environment.version),
            finished: None,
            is_used: false,
        };
        let told = match warm.hear(run.limits.wall + GRACE) {
            // The program may have ended before the point at which it would have waited.
            Err(error @ WarmError::Ended { .. }) => {
                if let Some(finished) = warm.finished.take() {
                    recorded.read(finished, &warm.command, &warm.python)?;
                }
                return Err(error);
            }
            told => told?,
        };
        if let Some(reason) = told.r#unsafe {
            return Err(WarmError::Unsafe { reason });
        }
        if !told.ready {
            return Err(WarmError::Silent);
        }
        // From here on everybody but us has what they need of the names.
        warm.channel.iter().for_each(Channel::hide);
        for root in [warm.directory.clone(), warm.scratch.clone()] {
            let name = root.file_name().unwrap_or_default().to_string_lossy();
            let copy = spec.place.with_file_name(format!(
                "{}-kept-{name}",
                spec.place.file_name().unwrap_or_default().to_string_lossy()
            ));
            warm.kept.push(RestoredDirectory::of(&root, &copy).map_err(at(&root))?);
        }
        Ok(warm)
    }

    /// The point at which the process waits.
    pub fn waits_at(&self) -> WaitsAt {
        self.waits_at
    }

    /// Makes one run.
    ///
    /// # Errors
    /// When it could not be made; whatever the program does is an [`Execution`].
    #[tracing::instrument(name = "warm run", level = "debug", skip_all)]
    pub fn run(&mut self, wanted: &WarmRun<'_>) -> Result<WarmRan, WarmError> {
        if self.is_used {
            for kept in &mut self.kept {
                kept.restore().map_err(at(&kept.root))?;
            }
        }
        self.is_used = true;
        for (path, text) in wanted.files {
            // Code of the repository ran before the directory was recorded, and may have made links.
            let place = self.directory.join(path);
            if link_above(&self.directory, path).is_some() || place.is_symlink() {
                let reason = format!("{path} is a symbolic link, or behind one");
                return Err(WarmError::Unsafe { reason });
            }
            let path = place;
            fs::write(&path, text).map_err(at(&path))?;
        }
        let recorded = RunRecording::prepare(&self.scratch)?;
        let asked = RunOrder {
            wall: wanted.limits.wall.as_secs_f64(),
            cpu: wanted.limits.cpu.as_secs_f64(),
            output: wanted.limits.output,
            ends: wanted.ends,
            tests: wanted.tests,
            changes: wanted.changes,
        };
        let text = serde_json::to_vec(&asked).expect("texts and numbers serialise");
        let channel = self.channel.as_mut().ok_or(WarmError::Silent)?;
        channel.ask(&text).map_err(at(&self.server))?;
        let told = self.hear(wanted.limits.wall + GRACE)?;
        if let Some(reason) = told.r#unsafe {
            return Err(WarmError::Unsafe { reason });
        }
        let finished = Finished {
            status: status(&told, wanted.limits),
            stdout: channel::captured(&self.server.join("run-stdout"), OUTPUT),
            stderr: channel::captured(&self.server.join("run-stderr"), OUTPUT),
            wall: Duration::try_from_secs_f64(told.wall).unwrap_or_default(),
            cpu: Duration::try_from_secs_f64(told.cpu).unwrap_or_default(),
            max_rss: 0,
        };
        let (mut execution, changed) = recorded.read(finished, &self.command, &self.python)?;
        execution.dropped = told.dropped;
        let trace = self.traced.map(|version| {
            let place = TracedPlace { directory: &self.directory, scratch: &self.scratch, version };
            trace::read(place, &self.command, &execution)
        });
        Ok(WarmRan { execution, trace: trace.transpose()?, changed })
    }

    /// Waits for the next message of the process.
    fn hear(&mut self, patience: Duration) -> Result<WarmMessage, WarmError> {
        let until = self.stop.now() + patience;
        loop {
            let channel = self.channel.as_mut().ok_or(WarmError::Silent)?;
            let heard = channel.hear(Duration::from_millis(50)).map_err(at(&self.server))?;
            if let Heard::Line(line) = heard {
                return serde_json::from_slice(&line).map_err(|_| WarmError::Silent);
            }
            if self.process.as_ref().is_none_or(JoinHandle::is_finished) {
                return Err(self.ended());
            }
            if self.stop.now() > until {
                self.end();
                return Err(WarmError::Silent);
            }
        }
    }

    /// Returns the error for a process that ended.
    fn ended(&mut self) -> WarmError {
        self.channel = None;
        let ended = self.process.take().map(JoinHandle::join);
        match ended {
            Some(Ok(Ok(finished))) if finished.status == Status::Interrupted => {
                WarmError::Interrupted
            }
            Some(Ok(Ok(finished))) => {
                let status = finished.status;
                self.finished = Some(finished);
                WarmError::Ended { status }
            }
            Some(Ok(Err(error))) => WarmError::Sandbox(error),
            Some(Err(_)) | None => WarmError::Silent,
        }
    }

    /// Ends the process, and everything that it started.
    fn end(&mut self) {
        // It ends by itself when nobody can ask any more.
        self.channel = None;
        for _ in 0..20 {
            if self.process.as_ref().is_none_or(JoinHandle::is_finished) {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.stop.trigger();
        if let Some(process) = self.process.take() {
            let _ = process.join();
        }
        for kept in &self.kept {
            kept.remove();
        }
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns the status of a run, by the same rules as for a cold run.
fn status(told: &WarmMessage, limits: Limits) -> Status {
    if told.timed_out || told.cpu > limits.cpu.as_secs_f64() {
        return Status::TimedOut;
    }
    let status = ExitStatus::from_raw(told.status);
    match (status.code(), status.signal()) {
        (_, Some(libc::SIGXCPU)) => Status::TimedOut,
        (Some(code), _) => status_of_code(code),
        (None, signal) => Status::Signaled(signal.unwrap_or(0)),
    }
}

fn at(path: &Path) -> impl Fn(std::io::Error) -> WarmError + use<> {
    let path = path.to_path_buf();
    move |source| WarmError::Directory { path: path.clone(), source }
}
