//! The code of the forked processes: the supervisor, the first process in our namespaces, and the
//! program's process up to `exec`.

use std::{
    ffi::{c_char, c_int},
    io, mem,
    os::fd::RawFd,
    ptr,
};

use super::{
    BIRTHPLACE, Boxed, CONTROL, FIRST_GROUP, FIRST_INHERITED, Launch, PLACES, REPORT, REPORT_BYTES,
    STARTED, STATUS, STATUS_READ, STEP_DIRECTORY, STEP_NAMESPACES, STEP_PROGRAM, STEP_SUPERVISOR,
    STEP_WALLS, TEXT, TEXT_WRITE,
    calls::{
        close_from, end_tree, fail, fork_into, limit, prefer_for_the_kernels_killer, read_child,
        remount, reset_signals, says_exit_code, text_is_read, watch,
    },
    last_errno,
};
use crate::sandbox::namespaces::{Failed, Walls};

/// Everything the supervisor needs, allocated before the fork.
pub(super) struct LaunchPlan<'a> {
    pub(super) launch: &'a Launch,
    pub(super) args: &'a [*const c_char],
    pub(super) env: &'a [*const c_char],
    /// The descriptors that become 0, 1, 2 and so on; -1 for none.
    pub(super) places: [RawFd; PLACES],
}

impl LaunchPlan<'_> {
    pub(super) fn fork_supervisor(&self) -> io::Result<i32> {
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

    /// Sets the limits that bubblewrap cannot set, then lets it continue. Returns true if the
    /// directories in memory were mounted again.
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
