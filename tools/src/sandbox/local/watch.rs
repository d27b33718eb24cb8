//! Watches one program to its end: its streams, and the limits that the kernel does not hold.

use std::{
    fs::File,
    io::{self, Read},
    os::{fd::AsRawFd, unix::process::ExitStatusExt},
    process::ExitStatus,
    time::{Duration, Instant},
};

use crate::sandbox::{
    Finished, Interrupt, Limits, Request, Status,
    capture::StreamCapture,
    cgroup::Groups,
    disk::Disk,
    status_of_code,
    supervise::{Supervisor, SupervisorReport},
    usage::{self, ProcessTree},
};

/// The interval between two checks of the limits.
const TICK: Duration = Duration::from_millis(25);

/// The longest time for a killed process tree to end, before it is an error.
const GRACE: Duration = Duration::from_secs(20);

const READ_BYTES: usize = 64 * 1024;

/// One running request.
pub(super) struct RunningRequest<'a> {
    supervisor: Supervisor,
    tree: ProcessTree,
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

impl<'a> RunningRequest<'a> {
    pub(super) fn new(
        supervisor: Supervisor,
        tree: ProcessTree,
        request: &Request,
        groups: Option<Groups>,
        interrupt: &'a Interrupt,
        started: Instant,
    ) -> io::Result<RunningRequest<'a>> {
        let limits = request.limits;
        let stream = |source: &File| -> io::Result<Stream> {
            Ok(Stream {
                source: Some(unblocked(source)?),
                capture: StreamCapture::new(limits.output),
            })
        };
        Ok(RunningRequest {
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
    pub(super) fn finish(mut self) -> io::Result<(Finished, SupervisorReport)> {
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

    fn status(&self, report: SupervisorReport) -> Status {
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

/// One output stream: where it comes from while it is open, and what was kept.
struct Stream {
    source: Option<File>,
    capture: StreamCapture,
}

impl Stream {
    /// Reads the available bytes; returns true if there may be more.
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
