//! Runs requests on this machine, each in a new session under a supervisor.
//!
//! It enforces the request's limits on the whole process tree and leaves no process behind. The
//! constructor chooses the isolation, and no request gets less: if the isolation is unavailable,
//! nothing runs.

mod launch;
mod watch;

use std::{
    collections::BTreeMap,
    ffi::CString,
    io::{self},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use self::{
    launch::{launch, walled_launch},
    watch::RunningRequest,
};
use super::{
    Captured, Finished, Interrupt, Limits, Network, Promise, Request, Sandbox, SandboxError,
    Status,
    cgroup::{Groups, Hierarchy},
    filter, landlock,
    namespaces::Failed,
    supervise::{self, Launch, StartError, SupervisorReport},
    usage::ProcessTree,
};
use crate::host::{Host, is_executable};

/// Runs requests on this machine.
#[derive(Debug, Clone, Default)]
pub struct LocalSandbox {
    interrupt: Interrupt,
    isolation: Isolation,
}

/// The part of the machine that a program sees.
#[derive(Debug, Clone, Default)]
enum Isolation {
    /// All that the user sees.
    #[default]
    None,
    /// The paths that its request names, in namespaces.
    Walls(Arc<Walls>),
}

/// The state that all requests share.
#[derive(Debug)]
struct Walls {
    builder: Builder,
    filters: Vec<Vec<u8>>,
    groups: Option<Hierarchy>,
    /// True if the number of files in memory can be limited; known after the first run.
    limits_files: bool,
}

/// The program that creates the namespaces.
#[derive(Debug)]
enum Builder {
    /// The program at this path.
    Bubblewrap(PathBuf),
    /// This one.
    Ours(landlock::Version),
}

impl LocalSandbox {
    /// A sandbox without isolation: limits are enforced, but the program sees what the user sees.
    /// Its requests end when `interrupt` is triggered.
    pub fn new(interrupt: Interrupt) -> LocalSandbox {
        LocalSandbox { interrupt, isolation: Isolation::None }
    }

    /// Returns a sandbox whose programs see only the paths of their requests, besides the system's
    /// own files: other files, the network and other processes do not exist for them. Uses
    /// bubblewrap, or this program's own namespaces without it.
    ///
    /// # Errors
    /// Neither can create namespaces here; the error suggests a remedy.
    pub fn isolated(host: &Host, interrupt: Interrupt) -> Result<LocalSandbox, SandboxError> {
        LocalSandbox::by_bubblewrap(host, interrupt.clone()).or_else(|first| {
            LocalSandbox::by_namespaces(interrupt).map_err(|second| match (first, second) {
                (
                    SandboxError::Unavailable { program, reason },
                    SandboxError::Unavailable { reason: other, .. },
                ) => {
                    let reason = format!("{reason}; without bubblewrap: {other}");
                    SandboxError::Unavailable { program, reason }
                }
                (first, _) => first,
            })
        })
    }

    /// The same, by the machine's bubblewrap alone.
    ///
    /// # Errors
    /// When it is missing or cannot make namespaces here.
    pub fn by_bubblewrap(host: &Host, interrupt: Interrupt) -> Result<LocalSandbox, SandboxError> {
        let usual = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"].map(PathBuf::from);
        let found =
            usual.into_iter().find(|path| is_executable(path)).or_else(|| host.find("bwrap"));
        LocalSandbox::isolated_by(found.as_deref().unwrap_or(Path::new("bwrap")), interrupt)
    }

    /// The same, by this bubblewrap.
    ///
    /// # Errors
    /// When it is missing or cannot make namespaces here.
    pub fn isolated_by(
        bubblewrap: &Path,
        interrupt: Interrupt,
    ) -> Result<LocalSandbox, SandboxError> {
        if !is_executable(bubblewrap) {
            return Err(SandboxError::Unavailable {
                program: bubblewrap.to_path_buf(),
                reason: "there is no such program (install bubblewrap)".to_owned(),
            });
        }
        LocalSandbox::built_by(Builder::Bubblewrap(bubblewrap.to_path_buf()), interrupt)
    }

    /// The same, in namespaces that this program makes itself, with Landlock as a second layer.
    ///
    /// # Errors
    /// When the kernel has no Landlock, or does not let this user make namespaces.
    pub fn by_namespaces(interrupt: Interrupt) -> Result<LocalSandbox, SandboxError> {
        let landlock = landlock::Version::of_kernel().ok_or_else(|| SandboxError::Unavailable {
            program: PathBuf::from("namespaces"),
            reason: "the kernel has no landlock (Linux 5.13 or newer has it, where \
                     it is in the list of /sys/kernel/security/lsm)"
                .to_owned(),
        })?;
        LocalSandbox::built_by(Builder::Ours(landlock), interrupt)
    }

    fn built_by(builder: Builder, interrupt: Interrupt) -> Result<LocalSandbox, SandboxError> {
        let filters = filter::filters().map_err(|error| SandboxError::Unavailable {
            program: PathBuf::from("seccomp"),
            reason: error.to_string(),
        })?;
        let mut walls = Walls { builder, filters, groups: Hierarchy::find(), limits_files: false };
        walls.limits_files = try_out(&walls)?;
        Ok(LocalSandbox { interrupt, isolation: Isolation::Walls(Arc::new(walls)) })
    }
}

impl Sandbox for LocalSandbox {
    fn name(&self) -> &'static str {
        match &self.isolation {
            Isolation::None => "none",
            Isolation::Walls(walls) => match walls.builder {
                Builder::Bubblewrap(_) => "bubblewrap",
                Builder::Ours(_) => "namespaces",
            },
        }
    }

    fn promises(&self) -> Vec<Promise> {
        let walls = match &self.isolation {
            Isolation::None => None,
            Isolation::Walls(walls) => Some(walls),
        };
        let groups = walls.and_then(|walls| walls.groups.as_ref());
        // The kernel counts the processes of everyone but root.
        // SAFETY: geteuid has no preconditions.
        let counted = walls.is_some() && unsafe { libc::geteuid() } != 0
            || groups.is_some_and(Hierarchy::limits_processes);
        [
            ("other files, processes and sockets are hidden", walls.is_some()),
            ("there is no network besides a private loopback", walls.is_some()),
            ("dangerous system calls are refused", walls.is_some()),
            ("the kernel limits the number of processes", counted),
            ("the kernel limits the total memory", groups.is_some()),
            ("the disk space of a run is limited", true),
            (
                "the number of files in memory is limited",
                walls.is_some_and(|walls| walls.limits_files),
            ),
        ]
        .map(|(what, holds)| Promise { what, holds })
        .to_vec()
    }

    fn run(&self, request: &Request) -> Result<Finished, SandboxError> {
        let started = self.interrupt.now();
        if self.interrupt.is_triggered() {
            return Ok(Finished {
                status: Status::Interrupted,
                stdout: Captured::default(),
                stderr: Captured::default(),
                wall: Duration::ZERO,
                cpu: Duration::ZERO,
                max_rss: 0,
            });
        }
        let walls = match &self.isolation {
            Isolation::None => None,
            Isolation::Walls(walls) => Some(&**walls),
        };
        run_in(request, walls, &self.interrupt, started).map(|(finished, _)| finished)
    }

    fn stoppable(&self) -> Option<(Box<dyn Sandbox>, Interrupt)> {
        let interrupt = self.interrupt.narrowed();
        let sandbox = LocalSandbox { interrupt: interrupt.clone(), ..self.clone() };
        Some((Box::new(sandbox), interrupt))
    }
}

/// Runs a program that does nothing; returns true if the number of files in memory is limited.
fn try_out(walls: &Walls) -> Result<bool, SandboxError> {
    let program = ["/bin/true", "/usr/bin/true", "/bin/sh"].map(PathBuf::from);
    let request = Request {
        program: program.into_iter().find(|path| path.exists()).unwrap_or_default(),
        args: vec![],
        cwd: PathBuf::from("/"),
        env: BTreeMap::new(),
        readable: vec![],
        writable: vec![],
        hidden: Vec::new(),
        network: Network::Loopback,
        limits: Limits {
            wall: Duration::from_secs(30),
            cpu: Duration::from_secs(10),
            memory: 256 << 20,
            processes: 8,
            output: 4096,
            file: 4096,
            disk: 1 << 20,
        },
    };
    let (_, report) = run_in(&request, Some(walls), &Interrupt::new(), Instant::now())?;
    // Ours are made with the limit from the beginning.
    Ok(report.remounted || matches!(walls.builder, Builder::Ours(_)))
}

fn run_in(
    request: &Request,
    walls: Option<&Walls>,
    interrupt: &Interrupt,
    started: Instant,
) -> Result<(Finished, SupervisorReport), SandboxError> {
    let start_error = |source| SandboxError::Start { program: request.program.clone(), source };
    let (launch, groups) = match walls {
        None => (launch(request), None),
        Some(walls) => {
            let groups = walls.groups.as_ref().map(|place| Groups::make(place, &request.limits));
            let groups = groups.transpose().map_err(|source| io_error(request, source))?;
            (walled_launch(request, walls), groups)
        }
    };
    let mut launch = launch.map_err(start_error)?;
    if let Some(groups) = &groups {
        launch.groups = groups.doors().map_err(|source| io_error(request, source))?;
        launch.birthplace = groups.birthplace().map_err(|source| io_error(request, source))?;
        launch.group_paths = groups.paths().filter_map(|path| CString::new(path).ok()).collect();
    }
    let supervisor = supervise::start(&launch).map_err(|error| match error {
        StartError::Program(source) => start_error(source),
        StartError::Directory(source) => start_error(io::Error::new(
            source.kind(),
            format!("enter {}: {source}", request.cwd.display()),
        )),
        StartError::Walls(failed, source) => not_walled(request, &launch, failed, &source),
        StartError::Ours(source) => io_error(request, source),
    })?;
    let tree = ProcessTree { root: supervisor.pid, first_is_ours: launch.walls.is_some() };
    // What the supervisor borrowed is its own now; open copies would keep memory alive.
    drop(launch);
    let watch = RunningRequest::new(supervisor, tree, request, groups, interrupt, started);
    let (finished, report) =
        watch.and_then(RunningRequest::finish).map_err(|source| io_error(request, source))?;
    let by_itself = matches!(finished.status, Status::Exited(_) | Status::Signaled(_));
    if by_itself && !report.entered {
        return Err(not_entered(request, &finished));
    }
    Ok((finished, report))
}

/// Returns the error behind a message of bubblewrap.
fn not_entered(request: &Request, finished: &Finished) -> SandboxError {
    let text = finished.stderr.text();
    let line = text.lines().rev().find_map(|line| line.strip_prefix("bwrap: "));
    let line = line.unwrap_or("bwrap failed");
    let program = request.program.clone();
    if line.starts_with("execvp ") {
        let reason = line.rsplit(": ").next().unwrap_or(line);
        return SandboxError::Start { program, source: io::Error::other(reason.to_owned()) };
    }
    if line.starts_with("Can't chdir") {
        return SandboxError::Start { program, source: io::Error::other(line.to_owned()) };
    }
    let reason = format!("bubblewrap fails: {line} ({ALLOW})");
    SandboxError::Unavailable { program, reason }
}

/// Returns the error behind a failure to create our own namespaces.
fn not_walled(
    request: &Request,
    launch: &Launch,
    failed: Failed,
    source: &io::Error,
) -> SandboxError {
    let what = launch.walls.as_ref().map_or_else(String::new, |walls| walls.explain(failed));
    let reason = format!("{what}: {source} ({ALLOW})");
    SandboxError::Unavailable { program: request.program.clone(), reason }
}

const ALLOW: &str = "namespaces for users must be allowed: see \
    kernel.unprivileged_userns_clone, user.max_user_namespaces and, on Ubuntu, \
    kernel.apparmor_restrict_unprivileged_userns";

fn io_error(request: &Request, source: io::Error) -> SandboxError {
    SandboxError::Io { program: request.program.clone(), source }
}
