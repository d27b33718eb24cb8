//! The supervisor: a small process of ours between us and the program.
//!
//! It adopts every orphan of the program's tree, so it sees all of them end and knows what they
//! used together; it kills the tree when the program ends, when it is told to, and when we are
//! gone, however we went. It decides no limit: [`local`](super::local) does.
//!
//! The supervisor is forked and never executes another file, from a process that may have many
//! threads. So everything it does, and everything the program's process does before it is replaced,
//! keeps to system calls: no allocation, no lock, no panic.

use std::{
    ffi::{CString, c_char, c_int},
    fs::File,
    io::{self, Read},
    mem,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
    time::Duration,
};

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
    /// What the program runs behind, where it is ours.
    pub(super) walls: Option<Walls>,
}

/// What bubblewrap needs beside its arguments. While it waits for the text of its last file, the
/// supervisor sets the limits that it cannot set itself.
#[derive(Debug)]
pub(super) struct Boxed {
    /// Become the descriptors from [`FIRST_EXTRA`] on.
    pub(super) descriptors: Vec<OwnedFd>,
    /// How many processes there may be inside.
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

/// What the supervisor says at the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report {
    /// As `wait` gives it.
    pub(super) status: c_int,
    pub(super) cpu: Duration,
    /// Largest resident size of one process, where it is above the size that the process had as a
    /// copy of ours.
    pub(super) max_rss: Option<u64>,
    /// Whether the real program was started; bubblewrap may have failed before.
    pub(super) entered: bool,
    /// Whether the directories in memory were mounted again.
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
    let plan = Plan { launch, args: &pointers(&launch.args), env: &pointers(&launch.env), places };
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
    /// Tells the supervisor to kill the tree; it reports as usual when nothing is left.
    pub(super) fn kill(&mut self) {
        self.control = None;
    }

    /// Reads the report; blocks until the tree is gone. `None` when the supervisor itself was
    /// killed.
    pub(super) fn read_report(&mut self) -> io::Result<Option<Report>> {
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

/// How long a dropped supervisor is waited for.
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
/// Where control groups are entered.
const FIRST_GROUP: RawFd = 8;
/// The group in which the program is born.
const BIRTHPLACE: RawFd = 10;
/// The first descriptor that bubblewrap inherits.
const FIRST_INHERITED: RawFd = 11;
/// Bubblewrap tells here how it goes.
pub(super) const STATUS: RawFd = 11;
/// Bubblewrap reads here the text of its last file.
pub(super) const LAST_TEXT: RawFd = 12;
/// What it reads: as much as fills a pipe of the smallest size, so that reading it is seen.
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

/// Everything the supervisor needs, allocated before the fork.
struct Plan<'a> {
    launch: &'a Launch,
    args: &'a [*const c_char],
    env: &'a [*const c_char],
    /// What becomes descriptor 0, 1, 2 and so on; -1 for none.
    places: [RawFd; PLACES],
}

impl Plan<'_> {
    fn fork_supervisor(&self) -> io::Result<i32> {
        // SAFETY: the child runs `supervise` alone, which keeps to system calls and never returns.
        // Signals are blocked over the fork, so that no handler of ours runs in the child.
        unsafe {
            let mut all: libc::sigset_t = mem::zeroed();
            let mut before: libc::sigset_t = mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            let pid = libc::fork();
            if pid == 0 {
                self.supervise();
            }
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
            if pid < 0 { Err(error) } else { Ok(pid) }
        }
    }

    /// The supervisor's life.
    ///
    /// # Safety
    /// Runs in a process just forked, with all signals blocked.
    unsafe fn supervise(&self) -> ! {
        unsafe {
            libc::setsid();
            reset_signals();
            if !self.place_descriptors() {
                libc::_exit(1);
            }
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
            let mut own: libc::rusage = mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut own);
            let mut signals: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut signals);
            libc::sigaddset(&mut signals, libc::SIGCHLD);
            let ended = libc::signalfd(-1, &signals, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            // Out of the way of the places that are closed below.
            let ended = libc::fcntl(ended, libc::F_DUPFD_CLOEXEC, PLACES as c_int);
            if ended < 0 {
                fail(STEP_SUPERVISOR);
            }
            let supervisor = libc::getpid();
            let namespaces = self.launch.walls.as_ref().map_or(0, Walls::namespaces);
            let mut born_inside = self.launch.birthplace.is_some();
            let mut program =
                if born_inside { fork_into(namespaces, Some(BIRTHPLACE)) } else { -1 };
            if program < 0 {
                born_inside = false;
                program = fork_into(namespaces, None);
            }
            if program == 0 {
                match &self.launch.walls {
                    None => self.become_program(supervisor, born_inside),
                    Some(walls) => self.become_first(walls, born_inside),
                }
            }
            if program < 0 {
                fail(match self.launch.walls {
                    None => STEP_SUPERVISOR,
                    Some(_) => STEP_NAMESPACES,
                });
            }
            libc::close(STARTED);
            for place in FIRST_GROUP..PLACES as c_int {
                // Our first process inside knows by this one that we are there.
                if place != STATUS || self.launch.walls.is_none() {
                    libc::close(place);
                }
            }
            let remounted = match &self.launch.boxed {
                Some(boxed) => self.complete(boxed),
                None => false,
            };
            // The streams end when the program's tree has closed them, not when we do.
            libc::dup2(0, 1);
            libc::dup2(0, 2);
            let status = watch(ended, program);
            let status = end_tree(program, status);
            let mut used: libc::rusage = mem::zeroed();
            libc::getrusage(libc::RUSAGE_CHILDREN, &mut used);
            let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
            let entered = self.launch.boxed.is_none() || says_exit_code(STATUS_READ);
            let report: [i64; 6] = [
                i64::from(status),
                micros(used.ru_utime) + micros(used.ru_stime),
                used.ru_maxrss,
                own.ru_maxrss,
                i64::from(entered),
                i64::from(remounted),
            ];
            if libc::write(REPORT, report.as_ptr().cast(), REPORT_BYTES) < 0 {
                for path in &self.launch.group_paths {
                    libc::rmdir(path.as_ptr());
                }
            }
            libc::_exit(0)
        }
    }

    /// Puts the descriptors in their places and closes all others.
    unsafe fn place_descriptors(&self) -> bool {
        unsafe {
            let mut raised = [-1; PLACES];
            let above = PLACES as c_int;
            for (descriptor, raised) in self.places.iter().zip(&mut raised) {
                if *descriptor >= 0 {
                    *raised = libc::fcntl(*descriptor, libc::F_DUPFD_CLOEXEC, above);
                    if *raised < 0 {
                        return false;
                    }
                }
            }
            for (place, &descriptor) in raised.iter().enumerate() {
                let place = place as c_int;
                let inherited = place <= 2 || place >= FIRST_INHERITED;
                let flags = if inherited { 0 } else { libc::O_CLOEXEC };
                if descriptor < 0 {
                    libc::close(place);
                } else if libc::dup3(descriptor, place, flags) < 0 {
                    return false;
                }
            }
            close_from(above);
            true
        }
    }

    /// Sets what bubblewrap cannot set, then lets it go on. Says whether the directories in memory
    /// were mounted again.
    unsafe fn complete(&self, boxed: &Boxed) -> bool {
        unsafe {
            let mut done = false;
            let inside = read_child(STATUS_READ);
            if inside > 0 {
                let limit = libc::rlimit { rlim_cur: boxed.processes, rlim_max: boxed.processes };
                libc::prlimit(inside, libc::RLIMIT_NPROC, &limit, ptr::null_mut());
                if libc::fcntl(TEXT_WRITE, libc::F_SETPIPE_SZ, TEXT.len()) == TEXT.len() as c_int
                    && libc::write(TEXT_WRITE, TEXT.as_ptr().cast(), TEXT.len()) > 0
                    && text_is_read()
                {
                    done = remount(inside, &boxed.remounts);
                }
            }
            libc::close(TEXT_WRITE);
            done
        }
    }

    /// The program's process, up to the point where it is replaced.
    unsafe fn become_program(&self, supervisor: i32, born_inside: bool) -> ! {
        unsafe {
            libc::setsid();
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
            if libc::getppid() != supervisor {
                libc::_exit(1);
            }
            libc::close(REPORT);
            libc::close(CONTROL);
            if !born_inside {
                self.enter_groups();
            }
            prefer_for_the_kernels_killer();
            self.execute()
        }
    }

    /// The first process behind our walls: it makes them, starts the program and outlives it. When it
    /// ends, the kernel kills all others there.
    unsafe fn become_first(&self, walls: &Walls, born_inside: bool) -> ! {
        unsafe {
            libc::setsid();
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
            // Only the supervisor holds the other end now.
            libc::close(STATUS);
            let mut gone = libc::pollfd { fd: STATUS_READ, events: 0, revents: 0 };
            if libc::poll(&mut gone, 1, 0) != 0 {
                libc::_exit(1);
            }
            libc::close(REPORT);
            libc::close(CONTROL);
            if !born_inside {
                self.enter_groups();
            }
            prefer_for_the_kernels_killer();
            libc::umask(0o022);
            if let Err(Failed(what)) = walls.enter() {
                fail(STEP_WALLS + what);
            }
            let program = libc::fork();
            if program == 0 {
                libc::setsid();
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                if let Err(Failed(what)) = walls.confine() {
                    fail(STEP_WALLS + what);
                }
                self.execute();
            }
            if program < 0 {
                fail(STEP_SUPERVISOR);
            }
            close_from(0);
            loop {
                let mut status = 0;
                let pid = libc::waitpid(-1, &mut status, 0);
                if pid == program || pid < 0 && last_errno() == libc::ECHILD {
                    // As shells tell it.
                    libc::_exit(match libc::WIFSIGNALED(status) {
                        true => 128 + libc::WTERMSIG(status),
                        false => libc::WEXITSTATUS(status),
                    });
                }
            }
        }
    }

    unsafe fn enter_groups(&self) {
        unsafe {
            for place in 0..self.launch.groups.len() as c_int {
                if libc::write(FIRST_GROUP + place, b"0".as_ptr().cast(), 1) != 1 {
                    fail(STEP_SUPERVISOR);
                }
            }
        }
    }

    /// Replaces this process by the program.
    unsafe fn execute(&self) -> ! {
        unsafe {
            libc::umask(0o022);
            for &(resource, value) in &self.launch.rlimits {
                limit(resource, value);
            }
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            if libc::chdir(self.launch.cwd.as_ptr()) != 0 {
                fail(STEP_DIRECTORY);
            }
            let mut none: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
            libc::execve(self.launch.program.as_ptr(), self.args.as_ptr(), self.env.as_ptr());
            fail(STEP_PROGRAM)
        }
    }
}

/// `CLONE_INTO_CGROUP` of <linux/sched.h>.
const INTO_GROUP: u64 = 0x2_0000_0000;

/// Forks into new namespaces, as `fork` does, and into a group where a directory of one is given: by
/// `clone3` then, which kernels before 5.7 do not have.
///
/// # Safety
/// In a process with one thread.
unsafe fn fork_into(namespaces: c_int, group: Option<RawFd>) -> i32 {
    unsafe {
        let Some(group) = group else {
            // Without a stack of its own the child goes on with a copy of ours.
            return libc::syscall(libc::SYS_clone, namespaces | libc::SIGCHLD, 0, 0, 0, 0) as i32;
        };
        let mut wanted: libc::clone_args = mem::zeroed();
        wanted.flags = namespaces as u64 | INTO_GROUP;
        wanted.exit_signal = libc::SIGCHLD as u64;
        wanted.cgroup = group as u64;
        let size = mem::size_of_val(&wanted);
        libc::syscall(libc::SYS_clone3, &raw const wanted, size) as i32
    }
}

/// The process that bubblewrap names first, inside its namespaces. Zero if it fails before.
unsafe fn read_child(status: RawFd) -> i32 {
    unsafe {
        let mut pid = 0;
        let mut byte = 0_u8;
        while libc::read(status, (&raw mut byte).cast(), 1) == 1 {
            if byte.is_ascii_digit() {
                pid = pid * 10 + i32::from(byte - b'0');
            } else if pid > 0 {
                return pid;
            }
        }
        0
    }
}

/// Whether bubblewrap tells how the program ended; it does so only for one that was started.
unsafe fn says_exit_code(status: RawFd) -> bool {
    unsafe {
        const MARK: &[u8] = b"\"exit-code\"";
        let mut matched = 0;
        let mut byte = 0_u8;
        while libc::read(status, (&raw mut byte).cast(), 1) == 1 {
            matched =
                if byte == MARK[matched] { matched + 1 } else { usize::from(byte == MARK[0]) };
            if matched == MARK.len() {
                return true;
            }
        }
        false
    }
}

/// Waits until bubblewrap reads what was written for it, which filled the pipe. Says no when it is
/// gone, or when we are to stop.
unsafe fn text_is_read() -> bool {
    unsafe {
        loop {
            let mut events = [
                libc::pollfd { fd: TEXT_WRITE, events: libc::POLLOUT, revents: 0 },
                libc::pollfd { fd: CONTROL, events: libc::POLLIN, revents: 0 },
            ];
            if libc::poll(events.as_mut_ptr(), 2, -1) > 0 {
                return events[0].revents == libc::POLLOUT && events[1].revents == 0;
            }
        }
    }
}

/// Mounts directories in memory again with other options, inside the namespaces of a process.
unsafe fn remount(inside: i32, remounts: &[(CString, CString)]) -> bool {
    unsafe {
        let mut path = [0_u8; 40];
        let mut rest: &mut [u8] = &mut path;
        let _ = io::Write::write_fmt(&mut rest, format_args!("/proc/{inside}/ns/mnt\0"));
        let helper = libc::fork();
        if helper == 0 {
            // From <linux/nsfs.h>.
            const NS_GET_USERNS: libc::c_ulong = 0xb701;
            let mounts = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
            let user = libc::ioctl(mounts, NS_GET_USERNS as _);
            if libc::setns(user, libc::CLONE_NEWUSER) != 0
                || libc::setns(mounts, libc::CLONE_NEWNS) != 0
            {
                libc::_exit(1);
            }
            for (place, options) in remounts {
                let flags = libc::MS_REMOUNT | libc::MS_NOSUID | libc::MS_NODEV;
                let kind = c"tmpfs".as_ptr();
                let options = options.as_ptr().cast();
                if libc::mount(kind, place.as_ptr(), kind, flags, options) != 0 {
                    libc::_exit(2);
                }
            }
            libc::_exit(0);
        }
        let mut status = -1;
        if helper > 0 {
            libc::waitpid(helper, &mut status, 0);
        }
        status == 0
    }
}

/// Waits until the program ends, we are gone or the order to kill comes. Gives the program's
/// status where it ended by itself.
unsafe fn watch(ended: RawFd, program: i32) -> Option<c_int> {
    unsafe {
        loop {
            let mut events = [
                libc::pollfd { fd: CONTROL, events: libc::POLLIN, revents: 0 },
                libc::pollfd { fd: ended, events: libc::POLLIN, revents: 0 },
            ];
            if libc::poll(events.as_mut_ptr(), 2, -1) < 0 {
                continue;
            }
            if events[1].revents != 0 {
                let mut information: libc::signalfd_siginfo = mem::zeroed();
                let size = mem::size_of::<libc::signalfd_siginfo>();
                libc::read(ended, (&raw mut information).cast(), size);
                let mut status = 0;
                loop {
                    let pid = libc::waitpid(-1, &mut status, libc::WNOHANG);
                    if pid == program {
                        return Some(status);
                    }
                    if pid <= 0 {
                        break;
                    }
                }
            }
            if events[0].revents != 0 {
                return None;
            }
        }
    }
}

/// Kills what is left and waits until nothing is; orphans come to us, so in the end all of them are
/// our children. Gives the program's status.
unsafe fn end_tree(program: i32, status: Option<c_int>) -> c_int {
    unsafe {
        let mut seen = status;
        loop {
            if seen.is_none() {
                libc::kill(program, libc::SIGKILL);
            }
            kill_children();
            let mut status = 0;
            let pid = libc::waitpid(-1, &mut status, 0);
            if pid == program {
                seen = Some(status);
            }
            if pid < 0 && last_errno() == libc::ECHILD {
                return seen.unwrap_or(libc::SIGKILL);
            }
        }
    }
}

/// Sends SIGKILL to each child of this process.
unsafe fn kill_children() {
    unsafe {
        let path = c"/proc/thread-self/children";
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return;
        }
        let mut buffer = [0_u8; 4096];
        let mut pid = 0;
        loop {
            let count = libc::read(file, buffer.as_mut_ptr().cast(), buffer.len());
            if count <= 0 {
                break;
            }
            for &byte in buffer.iter().take(count as usize) {
                if byte.is_ascii_digit() {
                    pid = pid * 10 + i32::from(byte - b'0');
                } else if pid > 0 {
                    libc::kill(pid, libc::SIGKILL);
                    pid = 0;
                }
            }
        }
        if pid > 0 {
            libc::kill(pid, libc::SIGKILL);
        }
        libc::close(file);
    }
}

/// When the machine runs out of memory, the program goes before we do.
unsafe fn prefer_for_the_kernels_killer() {
    unsafe {
        let file =
            libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, b"500".as_ptr().cast(), 3);
            libc::close(file);
        }
    }
}

unsafe fn limit(resource: u32, value: u64) {
    unsafe {
        let mut now: libc::rlimit = mem::zeroed();
        libc::getrlimit(resource as _, &mut now);
        let value = value.min(now.rlim_max);
        let wanted = libc::rlimit { rlim_cur: value, rlim_max: value };
        libc::setrlimit(resource as _, &wanted);
    }
}

/// Gives every signal its default effect; ignored ones would stay ignored in the program.
unsafe fn reset_signals() {
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

unsafe fn close_from(first: c_int) {
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) == 0 {
            return;
        }
        let mut limit: libc::rlimit = mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        for descriptor in first..limit.rlim_cur.min(1 << 20) as c_int {
            libc::close(descriptor);
        }
    }
}

/// Says which step failed with the current `errno`, and ends the process.
unsafe fn fail(step: c_int) -> ! {
    unsafe {
        let message = [step, last_errno()];
        libc::write(STARTED, message.as_ptr().cast(), mem::size_of_val(&message));
        libc::_exit(127)
    }
}

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

fn decode_report(bytes: &[u8; REPORT_BYTES]) -> Report {
    let mut numbers = [0_i64; 6];
    for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
        *number = i64::from_ne_bytes(bytes.try_into().unwrap_or_default());
    }
    let [status, cpu, max_rss, before, entered, remounted] = numbers;
    Report {
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

#[cfg(test)]
#[path = "supervise_tests.rs"]
mod tests;
