//! Runs requests on this machine, each in a session of its own under a supervisor.
//!
//! It enforces the request's limits on the whole process tree and leaves no process behind. How much
//! of the machine a program sees is chosen when the sandbox is made, and is never less than that:
//! where the isolation cannot be had, nothing runs.

use std::{
    collections::BTreeMap,
    ffi::{CString, OsStr},
    fs::File,
    io::{self, Read},
    os::{
        fd::AsRawFd,
        unix::{ffi::OsStrExt, process::ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Captured, Finished, Interrupt, Limits, Network, Promise, Request, Sandbox, SandboxError,
    Status, bubblewrap,
    capture::Capture,
    cgroup::{Groups, Hierarchy},
    disk::Disk,
    filter, landlock,
    namespaces::{self, Failed},
    status_of_code,
    supervise::{self, Launch, Report, StartError, Supervisor},
    usage::{self, Tree},
    view::view,
};
use crate::host::{Host, is_executable};

/// Runs requests on this machine.
#[derive(Debug, Clone, Default)]
pub struct LocalSandbox {
    interrupt: Interrupt,
    isolation: Isolation,
}

/// How much of the machine a program sees.
#[derive(Debug, Clone, Default)]
enum Isolation {
    /// All that the user sees.
    #[default]
    None,
    /// What its request names, in namespaces.
    Walls(Arc<Walls>),
}

/// What is the same for every request.
#[derive(Debug)]
struct Walls {
    builder: Builder,
    filters: Vec<Vec<u8>>,
    groups: Option<Hierarchy>,
    /// Whether the number of files in memory can be limited; known after the first run.
    limits_files: bool,
}

/// What makes the namespaces.
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

    /// A sandbox whose programs see only what their requests name, besides the system's own files:
    /// other files, the network and other processes do not exist for them. Bubblewrap makes it, or
    /// this program itself where there is none.
    ///
    /// # Errors
    /// When neither can make namespaces here; the error says what to do.
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
            ("there is no network but a loopback of its own", walls.is_some()),
            ("dangerous system calls are refused", walls.is_some()),
            ("the kernel refuses too many processes", counted),
            ("the kernel limits the memory of all processes together", groups.is_some()),
            ("what a run may hold on disk is limited, all its files together", true),
            (
                "files in memory are limited in number",
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
}

/// Runs a program that does nothing; says whether the number of files in memory is limited.
fn try_out(walls: &Walls) -> Result<bool, SandboxError> {
    let program = ["/bin/true", "/usr/bin/true", "/bin/sh"].map(PathBuf::from);
    let request = Request {
        program: program.into_iter().find(|path| path.exists()).unwrap_or_default(),
        args: vec![],
        cwd: PathBuf::from("/"),
        env: BTreeMap::new(),
        readable: vec![],
        writable: vec![],
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
) -> Result<(Finished, Report), SandboxError> {
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
    let tree = Tree { root: supervisor.pid, first_is_ours: launch.walls.is_some() };
    // What the supervisor borrowed is its own now; open copies would keep memory alive.
    drop(launch);
    let watch = Watch::new(supervisor, tree, request, groups, interrupt, started);
    let (finished, report) =
        watch.and_then(Watch::finish).map_err(|source| io_error(request, source))?;
    let by_itself = matches!(finished.status, Status::Exited(_) | Status::Signaled(_));
    if by_itself && !report.entered {
        return Err(not_entered(request, &finished));
    }
    Ok((finished, report))
}

/// What bubblewrap's complaint means.
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

/// What an error behind our own walls means.
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

/// How often limits are looked at.
const TICK: Duration = Duration::from_millis(25);
/// How long a killed tree may take to go, before that is an error.
const GRACE: Duration = Duration::from_secs(20);
const READ_BYTES: usize = 64 * 1024;

/// One running request.
struct Watch<'a> {
    supervisor: Supervisor,
    tree: Tree,
    limits: Limits,
    disk: Disk,
    interrupt: &'a Interrupt,
    started: Instant,
    stdout: Stream,
    stderr: Stream,
    /// Why it was killed, and when.
    stopped: Option<(Status, Instant)>,
    peak: u64,
    next_look: Instant,
    groups: Option<Groups>,
}

/// One output stream: where it comes from while it is open, and what was kept.
struct Stream {
    source: Option<File>,
    capture: Capture,
}

impl<'a> Watch<'a> {
    fn new(
        supervisor: Supervisor,
        tree: Tree,
        request: &Request,
        groups: Option<Groups>,
        interrupt: &'a Interrupt,
        started: Instant,
    ) -> io::Result<Watch<'a>> {
        let limits = request.limits;
        let stream = |source: &File| -> io::Result<Stream> {
            Ok(Stream { source: Some(unblocked(source)?), capture: Capture::new(limits.output) })
        };
        Ok(Watch {
            stdout: stream(&supervisor.stdout)?,
            stderr: stream(&supervisor.stderr)?,
            supervisor,
            tree,
            limits,
            disk: Disk::of(request),
            interrupt,
            started,
            stopped: None,
            peak: 0,
            next_look: interrupt.now() + TICK,
            groups,
        })
    }

    /// Sees it to its end.
    fn finish(mut self) -> io::Result<(Finished, Report)> {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let ready = self.wait()?;
            if ready.stdout {
                self.stdout.read(&mut buffer)?;
            }
            if ready.stderr {
                self.stderr.read(&mut buffer)?;
            }
            if ready.report {
                break;
            }
            self.look()?;
        }
        let report = self.supervisor.read_report()?;
        let wall = self.interrupt.now().saturating_duration_since(self.started);
        while self.stdout.read(&mut buffer)? {}
        while self.stderr.read(&mut buffer)? {}
        let Some(mut report) = report else {
            return Err(io::Error::other("the supervisor was killed"));
        };
        // What we end does not come to tell how it ended.
        report.entered |= self.stopped.is_some();
        let finished = Finished {
            status: self.status(report),
            stdout: self.stdout.capture.finish(),
            stderr: self.stderr.capture.finish(),
            wall,
            cpu: report.cpu,
            max_rss: report.max_rss.unwrap_or(0).max(self.peak),
        };
        Ok((finished, report))
    }

    fn status(&self, report: Report) -> Status {
        if let Some((status, _)) = self.stopped {
            return status;
        }
        if self.groups.as_ref().is_some_and(Groups::ran_out_of_memory) {
            return Status::OutOfMemory;
        }
        if report.cpu > self.limits.cpu {
            return Status::TimedOut;
        }
        let status = ExitStatus::from_raw(report.status);
        match (status.code(), status.signal()) {
            (Some(code), _) => status_of_code(code),
            (None, signal) => Status::Signaled(signal.unwrap_or(0)),
        }
    }

    /// Waits for output, for the report or for the next look at the limits.
    fn wait(&self) -> io::Result<Ready> {
        let entry = |file: Option<&File>| libc::pollfd {
            fd: file.map_or(-1, AsRawFd::as_raw_fd),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut events = [
            entry(self.stdout.source.as_ref()),
            entry(self.stderr.source.as_ref()),
            entry(Some(&self.supervisor.report)),
        ];
        // SAFETY: `events` holds three entries.
        let count = unsafe { libc::poll(events.as_mut_ptr(), 3, TICK.as_millis() as i32) };
        if count < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
            return Ok(Ready::default());
        }
        let [stdout, stderr, report] = events.map(|event| event.revents != 0);
        Ok(Ready { stdout, stderr, report })
    }

    /// Kills the tree when a limit is passed.
    fn look(&mut self) -> io::Result<()> {
        let now = self.interrupt.now();
        if let Some((_, since)) = self.stopped {
            if now.duration_since(since) > GRACE {
                return Err(io::Error::other("killed processes do not end"));
            }
            return Ok(());
        }
        let reason = if self.interrupt.is_triggered() {
            Some(Status::Interrupted)
        } else if now.duration_since(self.started) >= self.limits.wall {
            Some(Status::TimedOut)
        } else if now >= self.next_look {
            self.next_look = now + TICK;
            self.over_limit()
        } else {
            None
        };
        if let Some(status) = reason {
            self.stopped = Some((status, now));
            self.supervisor.kill();
        }
        Ok(())
    }

    fn over_limit(&mut self) -> Option<Status> {
        if self.groups.as_ref().is_some_and(Groups::ran_out_of_memory) {
            return Some(Status::OutOfMemory);
        }
        if self.disk.is_over() {
            return Some(Status::Signaled(libc::SIGXFSZ));
        }
        let usage = usage::sample(self.tree);
        self.peak = self.peak.max(usage.peak);
        if usage.cpu > self.limits.cpu {
            return Some(Status::TimedOut);
        }
        // Where the kernel counts processes it refuses more than that.
        if usage.processes > self.limits.processes.saturating_mul(2).saturating_add(16) {
            return Some(Status::Signaled(libc::SIGKILL));
        }
        // The sum counts shared pages once for each process, so it only raises the suspicion.
        let files = if self.groups.is_none() { usage::open_in_memory(self.tree) } else { 0 };
        let suspect = usage.resident + files > self.limits.memory;
        if suspect && usage::proportional(self.tree) > self.limits.memory {
            return Some(Status::OutOfMemory);
        }
        None
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Ready {
    stdout: bool,
    stderr: bool,
    report: bool,
}

impl Stream {
    /// Takes what is there; says whether there may be more.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let Some(source) = &mut self.source else { return Ok(false) };
        match source.read(buffer) {
            Ok(0) => {
                self.source = None;
                Ok(false)
            }
            Ok(count) => {
                self.capture.push(&buffer[..count]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }
}

/// The same stream, read without waiting.
fn unblocked(file: &File) -> io::Result<File> {
    let file = file.try_clone()?;
    // SAFETY: changes the flags of a descriptor that is ours.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(file) }
}

fn launch(request: &Request) -> io::Result<Launch> {
    let program = absolute(&request.program)?;
    let mut args = vec![program.clone()];
    for arg in &request.args {
        args.push(c_string(arg)?);
    }
    let mut env = Vec::new();
    for (name, value) in &request.env {
        env.push(c_string(OsStr::new(&format!("{name}={value}")))?);
    }
    Ok(Launch {
        program,
        args,
        env,
        cwd: absolute(&request.cwd)?,
        rlimits: rlimits(&request.limits),
        groups: Vec::new(),
        birthplace: None,
        group_paths: Vec::new(),
        boxed: None,
        walls: None,
    })
}

/// Starts the program behind walls.
fn walled_launch(request: &Request, walls: &Walls) -> io::Result<Launch> {
    let plain = launch(request)?;
    let view = view(request)?;
    match &walls.builder {
        Builder::Ours(landlock) => {
            let walls = namespaces::Walls::new(request, &view, &walls.filters, *landlock)?;
            Ok(Launch { walls: Some(walls), ..plain })
        }
        Builder::Bubblewrap(program) => {
            let (args, boxed) = bubblewrap::arguments(request, &view, &walls.filters)?;
            Ok(Launch {
                program: c_string(program.as_os_str())?,
                args,
                // Bubblewrap itself gets no environment: it could be read from inside.
                env: Vec::new(),
                cwd: CString::from(c"/"),
                boxed: Some(boxed),
                ..plain
            })
        }
    }
}

/// Limits that the kernel keeps for each process; those of the tree are looked at by [`Watch`].
fn rlimits(limits: &Limits) -> Vec<(u32, u64)> {
    // Interpreters and numeric libraries reserve far more addresses than they use.
    let addresses = limits.memory.saturating_mul(4).max(limits.memory.saturating_add(16 << 30));
    vec![
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_CPU, limits.cpu.as_secs() + 2),
        (libc::RLIMIT_FSIZE, limits.file),
        (libc::RLIMIT_AS, addresses),
        (libc::RLIMIT_NOFILE, 4096),
    ]
}

fn absolute(path: &Path) -> io::Result<CString> {
    if !path.is_absolute() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is no absolute path", path.display()),
        ));
    }
    c_string(path.as_os_str())
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(io::Error::from)
}

fn io_error(request: &Request, source: io::Error) -> SandboxError {
    SandboxError::Io { program: request.program.clone(), source }
}
