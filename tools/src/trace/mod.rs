//! Runs a command under the tracer: the same run as [`execute`](crate::execute), observed.
//!
//! It owns the tracer's settings and the reading of its logs. The `graph` crate interprets a trace.
//! Nothing is installed in the traced interpreter.
//!
//! The tracer does not see:
//!
//! - child processes started without their parent's environment, or with `-I`, `-E` or `-S`
//! - below 3.12: threads that `threading` did not start
//! - below 3.12: code after a recursion limit, which may end all tracing of the process. Tracing
//!   resumes when the program
//!   imports, opens or lists something, or when the next phase of a test begins.
//!
//! On 3.12 and 3.13 a condition that went one way 64 times is no longer watched. Its other way
//! counts as taken if the lines there were executed.

mod caught;
mod log;
mod store;

use std::path::Path;

use graph::{ConsoleScript, FileTrace, Place, Trace};
use serde::Serialize;

use crate::{
    command::{Command, CommandProgram},
    execute::{self, ExecuteError, Execution, RunSpec},
};

pub use caught::caught;
pub use store::Reuse;
pub(crate) use store::TraceStore;

/// The program that traces a command, inside of its process.
pub(crate) const TRACER: &str = concat!(
    include_str!("facts.py"),
    "\n\n",
    include_str!("tracer.py"),
    "\n\n",
    include_str!("settrace.py"),
    "\n\n",
    include_str!("monitoring.py")
);
/// Lines of a function, none of them new, after which a slice takes all of its lines for executed: each line
/// costs a call, a test may run millions, and a line too many does a slice no harm.
pub const PATIENCE: u32 = 1 << 15;
const HOOK: &str = include_str!("sitecustomize.py");

/// The mechanism that observes lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Observer {
    /// `sys.monitoring` where the interpreter has it, else `sys.settrace`.
    #[default]
    Fastest,
    /// `sys.settrace`, everywhere.
    Settrace,
}

/// The parts that a trace omits for speed; none by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TraceOptions {
    /// Below 3.12, a function of which so many lines in a row were none that was new is given up, and all of
    /// its lines count as executed; with 0, none is.
    pub patience: u32,
    /// Below 3.12, the process that runs the tests is observed no more from the first of them on.
    pub imports_only: bool,
}

/// The settings of the tracer.
#[derive(Serialize)]
pub(crate) struct TracerSettings {
    /// The directory whose code is observed.
    root: String,
    /// The directory for the logs.
    directory: String,
    /// The entry that is appended to `PYTHONPATH`, so that child processes are traced as well.
    hook: String,
    /// This record as a file, for children.
    settings: String,
    /// The tracer as a file, for children.
    tracer: String,
    settrace: bool,
    /// True if tests begin at some point, from which lines are recorded anew.
    phases: bool,
    patience: u32,
    imports_only: bool,
}

/// Runs a command, and records its result and its trace of the directory.
///
/// # Errors
/// As for [`execute`](crate::execute).
pub fn trace(spec: &RunSpec<'_>) -> Result<(Execution, Trace), ExecuteError> {
    trace_with(spec, Observer::default(), TraceOptions::default())
}

/// The same, with a choice of how lines are observed, and what of.
///
/// # Errors
/// As for [`execute`](crate::execute).
#[tracing::instrument(name = "trace", level = "debug", skip_all)]
pub fn trace_with(
    spec: &RunSpec<'_>,
    observer: Observer,
    options: TraceOptions,
) -> Result<(Execution, Trace), ExecuteError> {
    let settings = lay_out(spec, observer, options)?;
    let execution = execute::run(spec, Some(&settings))?;
    let version = spec.environment.version;
    let place = TracedPlace { directory: spec.directory, scratch: spec.scratch, version };
    let trace = read(place, spec.command, &execution)?;
    Ok((execution, trace))
}

/// The directories of a traced run, and the version of its interpreter.
#[derive(Clone, Copy)]
pub(crate) struct TracedPlace<'a> {
    /// The directory whose code was observed.
    pub(crate) directory: &'a Path,
    /// The scratch directory, which has the logs.
    pub(crate) scratch: &'a Path,
    /// The version that the environment says.
    pub(crate) version: (u8, u8, u8),
}

/// Writes the tracer and its settings into the scratch directory of a run.
pub(crate) fn lay_out(
    spec: &RunSpec<'_>,
    observer: Observer,
    options: TraceOptions,
) -> Result<TracerSettings, ExecuteError> {
    let path = |name: &str| spec.scratch.join(name);
    let text = |name: &str| path(name).to_string_lossy().into_owned();
    execute::make_empty(&path("trace"))?;
    execute::make_empty(&path("hook"))?;
    execute::write(&path("tracer.py"), TRACER)?;
    execute::write(&path("hook").join("sitecustomize.py"), HOOK)?;
    let settings = TracerSettings {
        root: spec.directory.to_string_lossy().into_owned(),
        directory: text("trace"),
        hook: text("hook"),
        settings: text("trace.json"),
        tracer: text("tracer.py"),
        settrace: observer == Observer::Settrace,
        phases: spec.command.is_pytest(),
        patience: options.patience,
        imports_only: options.imports_only,
    };
    let json = serde_json::to_vec(&settings).expect("strings serialise");
    execute::write(&path("trace.json"), json)?;
    Ok(settings)
}

/// Reads the trace of a run that has ended.
pub(crate) fn read(
    place: TracedPlace<'_>,
    command: &Command,
    execution: &Execution,
) -> Result<Trace, ExecuteError> {
    let TracedPlace { directory, scratch, version } = place;
    let logs = scratch.join("trace");
    let mut trace = log::read(&logs).map_err(execute::scratch_error(&logs))?;
    if trace.python == (0, 0, 0) {
        trace.python = version;
    }
    mark_raised(&mut trace, execution, directory);
    mark_ended(&mut trace, execution, directory);
    if let CommandProgram::Console(script) = command.program()
        && let Some(entry) = execute::entry_point(directory, script)
        && let Some((module, attribute)) = entry.split_once(':')
    {
        let (module, attribute) = (module.trim().to_owned(), attribute.trim().to_owned());
        trace.entry = Some(ConsoleScript { script: script.clone(), module, attribute });
    }
    Ok(trace)
}

/// Reads a directory of logs.
///
/// # Errors
/// When the directory cannot be read.
#[cfg(feature = "fuzzing")]
pub fn parse_logs(directory: &Path) -> std::io::Result<Trace> {
    log::read(directory)
}

/// Notes the lines that the exceptions of a run came from: on them a condition may have raised, which
/// no line event tells.
fn mark_raised(trace: &mut Trace, execution: &Execution, root: &Path) {
    let phases = execution.cases.iter().flat_map(|case| &case.phases);
    let ended = phases.filter_map(|phase| phase.raised.as_ref()).chain(&execution.raised);
    for (path, line, _) in ended.flat_map(|raised| &raised.frames) {
        let Ok(path) = Path::new(path).strip_prefix(root) else { continue };
        let file = trace.files.iter_mut().find(|file| Path::new(&file.path) == path);
        if let Some(file) = file
            && let Err(at) = file.raised.binary_search(line)
        {
            file.raised.insert(at, *line);
        }
    }
}

/// Notes the lines that exceptions passed which ended the command, and the file that could not be compiled.
fn mark_ended(trace: &mut Trace, execution: &Execution, root: &Path) {
    let real = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let relative = |path: &str| {
        let path = root.join(path);
        let inside = path.strip_prefix(root).or_else(|_| path.strip_prefix(&real)).ok()?;
        Some(inside.to_str()?.trim_start_matches("./").to_owned())
    };
    for ended in &execution.ended {
        let mut last = None;
        for (path, line) in &ended.lines {
            let path = relative(path);
            let file = path.and_then(|path| trace.files.iter_mut().find(|file| file.path == path));
            let Some(file) = file else { continue };
            for list in [&mut file.ended, &mut file.raised] {
                if let Err(at) = list.binary_search(line) {
                    list.insert(at, *line);
                }
            }
            last = Some(Place { path: file.path.clone(), line: *line });
        }
        trace.ends.extend(last.filter(|last| !trace.ends.contains(last)));
        let source = ended.source.as_ref().and_then(|(path, line)| Some((relative(path)?, *line)));
        let Some((path, line)) = source.filter(|(path, _)| root.join(path).is_file()) else {
            continue;
        };
        // Code that ran was compiled: what could not be was made of a text later.
        if trace.broken.is_some() || trace.files.iter().any(|file| file.path == path) {
            continue;
        }
        let modules = vec![module_of(&path, &trace.roots)];
        trace.files.push(FileTrace { path: path.clone(), modules, ..FileTrace::default() });
        trace.files.sort_by(|one, other| one.path.cmp(&other.path));
        trace.broken = Some(Place { path, line });
    }
}

/// The dotted name of a file, by the longest root that it is below.
fn module_of(path: &str, roots: &[String]) -> String {
    let inside = |root: &String| match root.as_str() {
        "" => Some(path),
        root => path.strip_prefix(root)?.strip_prefix('/'),
    };
    let inside = roots.iter().filter_map(inside).min_by_key(|inside| inside.len()).unwrap_or(path);
    let stem = inside.strip_suffix(".py").unwrap_or(inside);
    stem.strip_suffix("/__init__").unwrap_or(stem).replace('/', ".")
}
