//! Runs requests on this machine, each in a session of its own under a supervisor.
//!
//! It enforces the request's limits on the whole process tree and leaves no process behind. It does
//! not hide the machine's files or network from the program.

use std::{
    ffi::{CString, OsStr},
    fs::File,
    io::{self, Read},
    os::{
        fd::AsRawFd,
        unix::{ffi::OsStrExt, process::ExitStatusExt},
    },
    path::Path,
    process::ExitStatus,
    time::{Duration, Instant},
};

use super::{
    Captured, Finished, Interrupt, Limits, Request, Sandbox, SandboxError, Status,
    capture::Capture,
    supervise::{self, Launch, Report, StartError, Supervisor},
    usage,
};

/// Runs requests on this machine.
#[derive(Debug, Clone, Default)]
pub struct LocalSandbox {
    interrupt: Interrupt,
}

impl LocalSandbox {
    /// A sandbox whose requests end when `interrupt` is triggered.
    pub fn new(interrupt: Interrupt) -> LocalSandbox {
        LocalSandbox { interrupt }
    }
}

impl Sandbox for LocalSandbox {
    fn name(&self) -> &'static str {
        "local"
    }

    fn run(&self, request: &Request) -> Result<Finished, SandboxError> {
        let started = Instant::now();
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
        let start_error = |source| SandboxError::Start { program: request.program.clone(), source };
        let launch = launch(request).map_err(start_error)?;
        let supervisor = supervise::start(&launch).map_err(|error| match error {
            StartError::Program(source) => start_error(source),
            StartError::Directory(source) => start_error(io::Error::new(
                source.kind(),
                format!("enter {}: {source}", request.cwd.display()),
            )),
            StartError::Ours(source) => io_error(request, source),
        })?;
        Watch::new(supervisor, request.limits, &self.interrupt, started)
            .and_then(Watch::finish)
            .map_err(|source| io_error(request, source))
    }
}

/// How often limits are looked at.
const TICK: Duration = Duration::from_millis(25);
/// How long a killed tree may take to go, before that is an error.
const GRACE: Duration = Duration::from_secs(20);
const READ_BYTES: usize = 64 * 1024;

/// One running request.
struct Watch<'a> {
    supervisor: Supervisor,
    limits: Limits,
    interrupt: &'a Interrupt,
    started: Instant,
    stdout: Stream,
    stderr: Stream,
    /// Why it was killed, and when.
    stopped: Option<(Status, Instant)>,
    peak: u64,
    next_look: Instant,
}

/// One output stream: where it comes from while it is open, and what was kept.
struct Stream {
    source: Option<File>,
    capture: Capture,
}

impl<'a> Watch<'a> {
    fn new(
        supervisor: Supervisor,
        limits: Limits,
        interrupt: &'a Interrupt,
        started: Instant,
    ) -> io::Result<Watch<'a>> {
        let stream = |source: &File| -> io::Result<Stream> {
            Ok(Stream { source: Some(unblocked(source)?), capture: Capture::new(limits.output) })
        };
        Ok(Watch {
            stdout: stream(&supervisor.stdout)?,
            stderr: stream(&supervisor.stderr)?,
            supervisor,
            limits,
            interrupt,
            started,
            stopped: None,
            peak: 0,
            next_look: started,
        })
    }

    fn finish(mut self) -> io::Result<Finished> {
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
        let wall = self.started.elapsed();
        while self.stdout.read(&mut buffer)? {}
        while self.stderr.read(&mut buffer)? {}
        let Some(report) = report else {
            return Err(io::Error::other("the supervisor was killed"));
        };
        Ok(Finished {
            status: self.status(report),
            stdout: self.stdout.capture.finish(),
            stderr: self.stderr.capture.finish(),
            wall,
            cpu: report.cpu,
            max_rss: report.max_rss.unwrap_or(0).max(self.peak),
        })
    }

    fn status(&self, report: Report) -> Status {
        if let Some((status, _)) = self.stopped {
            return status;
        }
        if report.cpu > self.limits.cpu {
            return Status::TimedOut;
        }
        let status = ExitStatus::from_raw(report.status);
        match (status.code(), status.signal()) {
            (Some(code), _) => Status::Exited(code),
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
        let now = Instant::now();
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
        let usage = usage::sample(self.supervisor.pid);
        self.peak = self.peak.max(usage.peak);
        if usage.cpu > self.limits.cpu {
            return Some(Status::TimedOut);
        }
        // The sum counts shared pages once for each process, so it only raises the suspicion.
        let suspect = usage.resident > self.limits.memory;
        if suspect && usage::proportional(self.supervisor.pid) > self.limits.memory {
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
    })
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
