//! Runs a file alone: in an empty directory, with a fresh home, an ordinary shell's environment and only some
//! packages.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use graph::{DataFile, FileTrace, Gist, imported_modules};

use super::{NAME, oracle::Oracle, script::ReproForm};
use crate::{
    command::Command,
    environment::{Environment, Inventory},
    execute::{Around, Execution, Raised, RunSpec, Shell, execute},
    normalize::Normalizer,
    sandbox::{Limits, Status},
    session::Session,
    slice::failures,
    tool::ToolError,
    trace::{Observer, PATIENCE, TraceOptions, trace_with},
    warm::{Ends, WaitsAt, Warm, WarmRun, WarmSpec},
    workspace::{RunDirectories, remove_tree},
};

/// A file is stopped after this many times what the original took, and this much more: of time, and of the
/// processor's time, which is what an endless loop takes.
const SLOWER: u32 = 5;
const GRACE: Duration = Duration::from_secs(20);
const CPU_GRACE: Duration = Duration::from_secs(2);
/// The bound of a fork's processor time, as a multiple of the last fork that failed in the right way. A removed statement may
/// leave an endless loop behind, and seldom makes a program slower.
const FORK_SLOWER: u32 = 2;
const FORK_GRACE: Duration = Duration::from_millis(50);
/// The same bound at the end of the search. A program without its cache is slower, and may fail in the right way.
const PATIENT_SLOWER: u32 = 5;
const PATIENT_GRACE: Duration = Duration::from_millis(100);
/// The grace of a proposal. Without what ends a wait it may hang, and one that is refused by mistake only stays longer.
const PROPOSAL_GRACE: Duration = Duration::from_secs(2);

/// The most proposals that are run at once: each needs a process that waits.
const MOST_AT_ONCE: usize = 8;
/// Runs after which another process is started.
const RUNS_FOR_ANOTHER: usize = 16;

/// The longest life of a process that waits for proposals.
const LIFETIME: Duration = Duration::from_secs(4 * 3600);

/// Packages to run a file with.
pub(super) struct Bed {
    environment: Environment,
    directory: PathBuf,
    /// True if runs record the values that decided their failures.
    records_values: bool,
    forks: RefCell<BedForks>,
    /// The time, and that of the processor, of the last run by fork that failed in the right way. It bounds the next ones.
    held: Cell<Option<(Duration, Duration)>>,
}

/// The processes that become proposals by forks.
enum BedForks {
    /// No proposal was run yet.
    Unused,
    /// They wait for the proposals of one command.
    Waiting(Vec<ProposalServer>),
    /// All runs are cold: none could be started, or one has ended.
    Ended,
}

/// A process with the modules that a file imports from outside, and the directories of its runs.
struct ProposalServer {
    // Ends before its directories are removed.
    warm: Option<Warm>,
    command: Command,
    place: PathBuf,
    /// The runs so far.
    runs: usize,
}

impl ProposalServer {
    fn directory(&self) -> PathBuf {
        RunDirectories::of(&self.place).directory
    }

    fn scratch(&self) -> PathBuf {
        RunDirectories::of(&self.place).scratch
    }
}

impl Drop for ProposalServer {
    fn drop(&mut self) {
        self.warm.take();
        remove_tree(&self.place);
    }
}

/// A run of a file.
pub(super) struct FileRun {
    /// The run, normalised.
    pub(super) execution: Execution,
    /// The same in its own words.
    pub(super) raw: Execution,
}

impl FileRun {
    pub(super) fn interrupted(&self) -> bool {
        self.execution.status == Status::Interrupted
    }

    /// Returns the end of the run, in a sentence.
    pub(super) fn describe_end(&self) -> String {
        let found = failures(&self.execution);
        match found.first().map(|failure| failure.raised.as_deref()) {
            None => "it does not fail".to_owned(),
            Some(Some(Raised { kind, message, .. })) => {
                let first = message.lines().next().unwrap_or_default();
                format!("it fails with {kind}: {first}")
            }
            Some(None) => {
                let told = [&self.execution.stderr, &self.execution.stdout];
                let last = told.iter().find_map(|text| text.trim().lines().last());
                format!(
                    "{}: {}",
                    self.execution.status.describe(),
                    last.unwrap_or("it prints nothing")
                )
            }
        }
    }
}

impl Bed {
    /// A bed with these packages of the session's environment.
    pub(super) fn new(
        session: &Session,
        inventory: &Inventory,
        packages: &BTreeSet<String>,
    ) -> Result<Self, ToolError> {
        let directory = session.workspace.directory("packages")?;
        let environment = session
            .environment
            .part(inventory, packages, &directory)
            .map_err(|error| ToolError::Fatal(error.to_string()))?;
        let forks = RefCell::new(BedForks::Unused);
        Ok(Self { environment, directory, records_values: false, forks, held: Cell::new(None) })
    }

    /// The same bed, whose runs record the values that decided their failures if `records_values`.
    pub(super) fn with_values(mut self, records_values: bool) -> Self {
        self.records_values = records_values;
        self
    }

    /// Notes the times of a run by fork that failed in the right way. A search makes its file shorter, and what takes long at
    /// first may go.
    pub(super) fn note_held(&self, run: &FileRun) {
        self.held.set(Some((run.execution.wall, run.execution.cpu)));
    }

    /// Returns the number of proposals to run at once. It grows by one with each [`RUNS_FOR_ANOTHER`] runs: a short search is
    /// over before another process has started. [`MOST_AT_ONCE`] and the number of processors bound it.
    pub(super) fn parallel_runs(&self) -> usize {
        let BedForks::Waiting(servers) = &*self.forks.borrow() else { return 1 };
        let runs: usize = servers.iter().map(|server| server.runs).sum();
        let most = thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_AT_ONCE));
        most.min((1 + runs / RUNS_FOR_ANOTHER).min(servers.len() + 1))
    }

    /// Runs gists as their form says, all at once, by forks of processes that have loaded what they import. Returns one run
    /// for each of the first gists, as many as there are processes; `None` is one that has to be run cold.
    pub(super) fn run_forked(
        &self,
        session: &Session,
        gists: &[Gist],
        form: &ReproForm,
        is_patient: bool,
    ) -> Result<Vec<Option<FileRun>>, ToolError> {
        let command = form.command(session);
        let mut forks = self.forks.borrow_mut();
        self.serve_all(session, gists, &command, &mut forks)?;
        let BedForks::Waiting(servers) = &mut *forks else { return Ok(vec![None]) };
        let ends = if command.is_pytest() { Ends::Tests } else { Ends::Process };
        let mut limits = limits(session, PROPOSAL_GRACE);
        if let Some((wall, cpu)) = self.held.get() {
            limits.wall = limits.wall.min(wall * SLOWER + PROPOSAL_GRACE);
            let (slower, grace) = match is_patient {
                true => (PATIENT_SLOWER, PATIENT_GRACE),
                false => (FORK_SLOWER, FORK_GRACE),
            };
            limits.cpu = limits.cpu.min(cpu * slower + grace);
        }
        let run = |(server, gist): (&mut ProposalServer, &Gist)| {
            let files = [(NAME, gist.text.as_str())];
            let order = WarmRun { files: &files, tests: &[], changes: &[], limits, ends };
            server.warm.as_mut().and_then(|warm| warm.run(&order).ok())
        };
        let ran: Vec<_> = thread::scope(|scope| {
            let begun = servers.iter_mut().zip(gists).map(|pair| scope.spawn(move || run(pair)));
            let begun: Vec<_> = begun.collect();
            begun.into_iter().map(|thread| thread.join().ok().flatten()).collect()
        });
        let is_ended = ran.iter().any(Option::is_none);
        let mut runs = Vec::new();
        for (server, ran) in servers.iter_mut().zip(ran) {
            server.runs += 1;
            // A program that leaves without its end is judged by a cold run.
            let execution = ran
                .map(|ran| ran.execution)
                .filter(|execution| execution.complete || execution.status == Status::TimedOut);
            let Some(execution) = execution else {
                runs.push(None);
                continue;
            };
            let (directory, scratch) = (server.directory(), server.scratch());
            runs.push(Some(read(session, execution, &directory, &scratch, NAME)?));
        }
        if is_ended {
            *forks = BedForks::Ended;
        }
        Ok(runs)
    }

    /// Makes sure that a process waits for each gist, as far as that many can wait.
    fn serve_all(
        &self,
        session: &Session,
        gists: &[Gist],
        command: &Command,
        forks: &mut BedForks,
    ) -> Result<(), ToolError> {
        match forks {
            BedForks::Ended => return Ok(()),
            BedForks::Waiting(servers) if servers.iter().all(|one| one.command == *command) => {}
            _ => *forks = BedForks::Waiting(Vec::new()),
        }
        let BedForks::Waiting(servers) = forks else { return Ok(()) };
        while servers.len() < gists.len().min(MOST_AT_ONCE) {
            match self.serve(session, &gists[0], command)? {
                Some(server) => servers.push(server),
                None => break,
            }
        }
        if servers.is_empty() {
            *forks = BedForks::Ended;
        }
        Ok(())
    }

    /// Starts a process that waits for proposals; `None` where it cannot wait.
    fn serve(
        &self,
        session: &Session,
        gist: &Gist,
        command: &Command,
    ) -> Result<Option<ProposalServer>, ToolError> {
        let place = session.workspace.process_directory()?;
        let mut server = ProposalServer { warm: None, command: command.clone(), place, runs: 0 };
        let (directory, scratch) = (server.directory(), server.scratch());
        let trial = Trial::of(&gist.text, command);
        write_files(&trial, &directory)?;
        let imports: Vec<String> = imported_modules(&gist.text).into_iter().collect();
        let waits_at = if command.is_pytest() { WaitsAt::Collection } else { WaitsAt::Start };
        let spec = WarmSpec {
            run: self.spec(session, &trial, [&directory, &scratch]),
            place: &server.place,
            waits_at,
            imports: &imports,
            trace: None,
            lifetime: LIFETIME,
        };
        match Warm::start(&spec) {
            Ok(warm) => server.warm = Some(warm),
            Err(_) => return Ok(None),
        }
        Ok(Some(server))
    }

    /// Returns the environment of the file.
    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Runs a gist as its form says.
    pub(super) fn run(
        &self,
        session: &Session,
        gist: &Gist,
        form: &ReproForm,
    ) -> Result<FileRun, ToolError> {
        self.runs(session, &Trial::of(&gist.text, &form.command(session)))
    }

    /// Runs a proposal as its form says, for no longer than a run that does not hang.
    pub(super) fn try_out(
        &self,
        session: &Session,
        gist: &Gist,
        form: &ReproForm,
    ) -> Result<FileRun, ToolError> {
        let command = form.command(session);
        self.runs(session, &Trial { grace: PROPOSAL_GRACE, ..Trial::of(&gist.text, &command) })
    }

    /// Returns the trace of a gist that runs as its form says; `None` if the run cannot be traced.
    pub(super) fn trace_gist(
        &self,
        session: &Session,
        gist: &Gist,
        form: &ReproForm,
    ) -> Result<Option<FileTrace>, ToolError> {
        let command = form.command(session);
        let trial = Trial { grace: PROPOSAL_GRACE, ..Trial::of(&gist.text, &command) };
        let options = TraceOptions { patience: PATIENCE, ..TraceOptions::default() };
        self.with_directories(session, |directories| {
            write_files(&trial, directories[0])?;
            let spec = self.spec(session, &trial, directories);
            match trace_with(&spec, Observer::default(), options) {
                Ok((_, trace)) => Ok(trace.file(NAME).cloned()),
                Err(error) => match Execution::spoiled(&error) {
                    Some(_) => Ok(None),
                    None => Err(ToolError::Fatal(error.to_string())),
                },
            }
        })
    }

    /// Returns true if the finished file fails as `python FILE`, and says so.
    pub(super) fn runs_by_itself(
        &self,
        session: &Session,
        gist: &Gist,
        oracle: &Oracle,
        form: &ReproForm,
    ) -> Result<bool, ToolError> {
        // What is no pytest's runs in no other way.
        if !form.is_pytest() {
            return Ok(true);
        }
        let program = form.as_program();
        let run = self.runs(session, &Trial::of(&gist.text, &program.command(session)))?;
        let says = |text: &str| oracle.kind().is_none_or(|kind| text.contains(kind));
        let is_failed = matches!(run.execution.status, Status::Exited(code) if code != 0);
        Ok(is_failed && says(&format!("{}{}", run.execution.stdout, run.execution.stderr)))
    }

    /// Runs a file in a directory that holds nothing else than what the trial names.
    pub(super) fn runs(&self, session: &Session, trial: &Trial<'_>) -> Result<FileRun, ToolError> {
        self.with_directories(session, |directories| self.runs_in(session, trial, directories))
    }

    /// Runs something in a directory and a scratch directory that are empty, and removes them.
    fn with_directories<T>(
        &self,
        session: &Session,
        run: impl FnOnce([&Path; 2]) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let directory = session.workspace.directory("alone")?;
        let scratch = session.workspace.directory("scratch")?;
        let ran = run([&directory, &scratch]);
        for directory in [&directory, &scratch] {
            session.workspace.discard(directory);
        }
        ran
    }

    fn runs_in(
        &self,
        session: &Session,
        trial: &Trial<'_>,
        [directory, scratch]: [&Path; 2],
    ) -> Result<FileRun, ToolError> {
        write_files(trial, directory)?;
        let spec = self.spec(session, trial, [directory, scratch]);
        let raw = match execute(&spec) {
            Ok(raw) => raw,
            // A package that the form needs may be what was taken away.
            Err(error) => {
                Execution::spoiled(&error).ok_or_else(|| ToolError::Fatal(error.to_string()))?
            }
        };
        read(session, raw, directory, scratch, trial.path)
    }

    fn spec<'a>(
        &'a self,
        session: &'a Session,
        trial: &Trial<'a>,
        [directory, scratch]: [&'a Path; 2],
    ) -> RunSpec<'a> {
        RunSpec {
            sandbox: &*session.sandbox,
            environment: &self.environment,
            command: trial.command,
            directory,
            scratch,
            limits: limits(session, trial.grace),
            hash_seed: session.hash_seed,
            variables: trial.variables,
            absent: &[],
            max_failures: None,
            link: None,
            around: Around { shell: trial.shell, opens: false, decides: self.records_values },
        }
    }
}

/// Writes the file of a trial, and those beside it, into its directory.
fn write_files(trial: &Trial<'_>, directory: &Path) -> Result<(), ToolError> {
    let beside = trial.files.iter().map(|file| (file.path.as_str(), &file.contents[..]));
    for (path, contents) in beside.chain([(trial.path, trial.text.as_bytes())]) {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap_or(directory))
            .and_then(|()| fs::write(&path, contents))
            .map_err(|error| ToolError::Fatal(format!("write {}: {error}", path.display())))?;
    }
    Ok(())
}

/// Returns the limits of a file that runs alone. They follow from a run of the original, without a tracer where there was
/// one.
fn limits(session: &Session, grace: Duration) -> Limits {
    let findings = &session.findings;
    let original = findings.again.as_deref().or(findings.original.as_deref());
    let most = |limit: Duration, usual: Option<Duration>, grace: Duration| {
        usual.map_or(limit, |usual| limit.min(usual * SLOWER + grace))
    };
    Limits {
        wall: most(session.limits.wall, original.map(|run| run.wall), grace),
        cpu: most(session.limits.cpu, original.map(|run| run.cpu), CPU_GRACE),
        ..session.limits
    }
}

/// Returns a run of a file, and the same normalised.
fn read(
    session: &Session,
    raw: Execution,
    directory: &Path,
    scratch: &Path,
    path: &str,
) -> Result<FileRun, ToolError> {
    let Some(trace) = &session.findings.trace else {
        return Err(ToolError::Fatal("the trace was lost".to_owned()));
    };
    let internal = &session.pristine(trace)?.internal;
    let normalizer = Normalizer::of_run(directory, scratch, internal, Some(path));
    Ok(FileRun { execution: normalizer.execution(&raw), raw })
}

/// A file to run alone, and what else there is.
pub(super) struct Trial<'a> {
    /// Its text.
    pub(super) text: &'a str,
    /// The path of the file.
    pub(super) path: &'a str,
    /// The command that runs it.
    pub(super) command: &'a Command,
    /// Files beside it.
    pub(super) files: &'a [DataFile],
    /// The environment variables.
    pub(super) shell: Shell,
    /// Variables besides those.
    pub(super) variables: &'a BTreeMap<String, String>,
    /// The time that it may take besides a multiple of the original's.
    pub(super) grace: Duration,
}

/// No variables.
static NONE: BTreeMap<String, String> = BTreeMap::new();

impl<'a> Trial<'a> {
    /// A file with nothing beside it.
    pub(super) fn of(text: &'a str, command: &'a Command) -> Self {
        let (path, files, shell) = (NAME, &[][..], Shell::Ordinary);
        Self { text, path, command, files, shell, variables: &NONE, grace: GRACE }
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        *self.forks.borrow_mut() = BedForks::Ended;
        remove_tree(&self.directory);
    }
}
