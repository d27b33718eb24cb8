//! The supervisor: a small process of ours between us and the program.
//!
//! It adopts every orphan of the program's tree, so it sees all of them end and measures their
//! common usage. It kills the tree when the program ends, when it is asked to, and when our process
//! ends in any way. It decides no limit: [`local`](super::local) does.
//!
//! The supervisor is forked from a process that may have many threads, and never executes another
//! file. So the supervisor, and the program's process before `exec`, keep to system calls: no
//! allocation, no lock, no panic.

mod calls;
mod forked;
#[cfg(test)]
mod tests;

use std::{
    ffi::{CString, c_char, c_int},
    fs::File,
    io::{self, Read},
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
    time::Duration,
};

use self::forked::LaunchPlan;
use super::namespaces::{Failed, Walls};

/// A program in the form that the kernel takes it.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) program: CString,
    /// With the program's name.
    pub(super) args: Vec<CString>,
    /// `NAME=value`, the whole environment.
    pub(super) env: Vec<CString>,
    pub(super) cwd: CString,
    /// Limits of each process: resource and value.
    pub(super) rlimits: Vec<(u32, u64)>,
    /// Files in which the program writes a `0` to enter a control group, before it starts.
    pub(super) groups: Vec<OwnedFd>,
    /// The directory of a group in which the program is born, where the kernel can do that; else it
    /// enters by the files.
    pub(super) birthplace: Option<OwnedFd>,
    /// Directories of those groups, removed here when nobody else is left to do so.
    pub(super) group_paths: Vec<CString>,
    /// For bubblewrap as the program.
    pub(super) boxed: Option<Boxed>,
    /// The namespaces and filters around the program, if it runs in ours.
    pub(super) walls: Option<Walls>,
}

/// The inputs of bubblewrap beside its arguments. The supervisor sets the limits that bubblewrap
/// cannot set, while bubblewrap waits for the text of its last file.
#[derive(Debug)]
pub(super) struct Boxed {
    /// Become the descriptors from [`FIRST_EXTRA`] on.
    pub(super) descriptors: Vec<OwnedFd>,
    /// The largest number of processes inside.
    pub(super) processes: u64,
    /// Directories in memory, as they are called while bubblewrap sets up, and the options that
    /// they are mounted with again.
    pub(super) remounts: Vec<(CString, CString)>,
}

/// A running supervisor. Dropping it kills whatever still runs.
#[derive(Debug)]
pub(super) struct Supervisor {
    pub(super) pid: i32,
    control: Option<OwnedFd>,
    pub(super) report: File,
    pub(super) stdout: File,
    pub(super) stderr: File,
}

/// The final report of the supervisor.
#[derive(Debug, Clone, Copy)]
pub(super) struct SupervisorReport {
    /// As `wait` gives it.
    pub(super) status: c_int,
    pub(super) cpu: Duration,
    /// Largest resident size of one process, where it is above the size that the process had as a
    /// copy of ours.
    pub(super) max_rss: Option<u64>,
    /// True if the real program was started; bubblewrap may have failed before.
    pub(super) entered: bool,
    /// True if the directories in memory were mounted again.
    pub(super) remounted: bool,
}

/// Why a program did not start.
#[derive(Debug)]
pub(super) enum StartError {
    /// Its working directory cannot be entered.
    Directory(io::Error),
    /// It cannot be executed.
    Program(io::Error),
    /// Its walls cannot be made.
    Walls(Failed, io::Error),
    /// Something of ours failed.
    Ours(io::Error),
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> StartError {
        StartError::Ours(error)
    }
}

/// Starts a program under a supervisor of its own; returns when the program is executed.
pub(super) fn start(launch: &Launch) -> Result<Supervisor, StartError> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let (stdout, stdout_write) = pipe()?;
    let (stderr, stderr_write) = pipe()?;
    let (report, report_write) = pipe()?;
    let (control_read, control) = pipe()?;
    let (started, started_write) = pipe()?;
    let pointers = |strings: &[CString]| -> Vec<*const c_char> {
        strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
    };
    let mut places = [-1; PLACES];
    let mut put = |place: RawFd, file: RawFd| places[place as usize] = file;
    put(0, null.as_raw_fd());
    put(1, stdout_write.as_raw_fd());
    put(2, stderr_write.as_raw_fd());
    put(REPORT, report_write.as_raw_fd());
    put(CONTROL, control_read.as_raw_fd());
    put(STARTED, started_write.as_raw_fd());
    let mut pipes = Vec::new();
    if launch.boxed.is_some() || launch.walls.is_some() {
        let (status, status_write) = pipe()?;
        put(STATUS_READ, status.as_raw_fd());
        put(STATUS, status_write.as_raw_fd());
        pipes.extend([status, status_write]);
    }
    if let Some(boxed) = &launch.boxed {
        let (text_read, text) = pipe()?;
        put(LAST_TEXT, text_read.as_raw_fd());
        put(TEXT_WRITE, text.as_raw_fd());
        for (place, file) in (FIRST_EXTRA..).zip(&boxed.descriptors) {
            put(place, file.as_raw_fd());
        }
        pipes.extend([text_read, text]);
    }
    for (place, file) in (FIRST_GROUP..).zip(&launch.groups) {
        put(place, file.as_raw_fd());
    }
    if let Some(directory) = &launch.birthplace {
        put(BIRTHPLACE, directory.as_raw_fd());
    }
    let plan =
        LaunchPlan { launch, args: &pointers(&launch.args), env: &pointers(&launch.env), places };
    let pid = plan.fork_supervisor()?;
    drop((stdout_write, stderr_write, report_write, control_read, started_write, pipes));
    let supervisor = Supervisor {
        pid,
        control: Some(control),
        report: File::from(report),
        stdout: File::from(stdout),
        stderr: File::from(stderr),
    };
    let mut failure = [0; 8];
    let mut started = File::from(started);
    match started.read_exact(&mut failure) {
        Ok(()) => Err(decode_failure(failure)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(supervisor),
        Err(error) => Err(error.into()),
    }
}

impl Supervisor {
    /// Asks the supervisor to kill the tree; it reports as usual when all processes are gone.
    pub(super) fn kill(&mut self) {
        self.control = None;
    }

    /// Reads the report; blocks until the tree is gone. `None` when the supervisor itself was
    /// killed.
    pub(super) fn read_report(&mut self) -> io::Result<Option<SupervisorReport>> {
        let mut bytes = [0; REPORT_BYTES];
        match self.report.read_exact(&mut bytes) {
            Ok(()) => Ok(Some(decode_report(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.kill();
        let mut gone =
            libc::pollfd { fd: self.report.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: polls a descriptor of ours and waits for a child of ours. A process that the
        // kernel does not let die is left to the supervisor, which stays until it is gone.
        unsafe {
            if libc::poll(&mut gone, 1, GRACE_MILLISECONDS) == 0 {
                return;
            }
            while libc::waitpid(self.pid, ptr::null_mut(), 0) == -1 && last_errno() == libc::EINTR {
            }
        }
    }
}

/// The longest time to wait for a dropped supervisor.
const GRACE_MILLISECONDS: c_int = 20_000;
const REPORT_BYTES: usize = 6 * 8;
const STEP_DIRECTORY: c_int = 1;
const STEP_PROGRAM: c_int = 2;
const STEP_SUPERVISOR: c_int = 3;
const STEP_NAMESPACES: c_int = 4;
/// Plus what failed.
const STEP_WALLS: c_int = 16;

// The supervisor's descriptors beside 0, 1 and 2.
const REPORT: RawFd = 3;
const CONTROL: RawFd = 4;
const STARTED: RawFd = 5;
const STATUS_READ: RawFd = 6;
const TEXT_WRITE: RawFd = 7;
/// The first descriptor of the control groups to enter.
const FIRST_GROUP: RawFd = 8;
/// The group in which the program is born.
const BIRTHPLACE: RawFd = 10;
/// The first descriptor that bubblewrap inherits.
const FIRST_INHERITED: RawFd = 11;
/// The descriptor on which bubblewrap reports its status.
pub(super) const STATUS: RawFd = 11;
/// Bubblewrap reads here the text of its last file.
pub(super) const LAST_TEXT: RawFd = 12;
/// The text that bubblewrap reads. It fills a pipe of the smallest size, so that the supervisor
/// notices the read.
static TEXT: [u8; 4096] = {
    let mut text = [b'\n'; 4096];
    let words = b"gistify: a program runs here that sees only what it was given";
    let mut at = 0;
    while at < words.len() {
        text[at] = words[at];
        at += 1;
    }
    text
};
/// The first of [`Boxed::descriptors`].
pub(super) const FIRST_EXTRA: RawFd = 13;
pub(super) const MOST_EXTRAS: usize = 16;
const PLACES: usize = FIRST_EXTRA as usize + MOST_EXTRAS;

fn last_errno() -> c_int {
    // SAFETY: the location is valid for the calling thread.
    unsafe { *libc::__errno_location() }
}

fn decode_failure(bytes: [u8; 8]) -> StartError {
    let (step, errno) = bytes.split_at(4);
    let number = |bytes: &[u8]| c_int::from_ne_bytes(bytes.try_into().unwrap_or_default());
    let error = io::Error::from_raw_os_error(number(errno));
    match number(step) {
        STEP_DIRECTORY => StartError::Directory(error),
        STEP_PROGRAM => StartError::Program(error),
        STEP_NAMESPACES => StartError::Walls(Failed(-1), error),
        step @ STEP_WALLS.. => StartError::Walls(Failed(step - STEP_WALLS), error),
        _ => StartError::Ours(error),
    }
}

fn decode_report(bytes: &[u8; REPORT_BYTES]) -> SupervisorReport {
    let mut numbers = [0_i64; 6];
    for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
        *number = i64::from_ne_bytes(bytes.try_into().unwrap_or_default());
    }
    let [status, cpu, max_rss, before, entered, remounted] = numbers;
    SupervisorReport {
        status: status as c_int,
        cpu: Duration::from_micros(cpu.max(0) as u64),
        max_rss: (max_rss > before).then_some(max_rss as u64 * 1024),
        entered: entered != 0,
        remounted: remounted != 0,
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors, which are new and ours.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}
