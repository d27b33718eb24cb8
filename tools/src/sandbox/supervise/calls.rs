//! Single steps of the forked processes, by system calls alone.

use std::{
    ffi::{CString, c_int},
    io, mem,
    os::fd::RawFd,
};

use super::{CONTROL, STARTED, TEXT_WRITE, last_errno};

/// `CLONE_INTO_CGROUP` of <linux/sched.h>.
const INTO_GROUP: u64 = 0x2_0000_0000;

/// Forks into new namespaces, as `fork` does, and into a group where a directory of one is given: by
/// `clone3` then, which kernels before 5.7 do not have.
///
/// # Safety
/// In a process with one thread.
pub(super) unsafe fn fork_into(namespaces: c_int, group: Option<RawFd>) -> i32 {
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
pub(super) unsafe fn read_child(status: RawFd) -> i32 {
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

/// Returns true if bubblewrap reports the program's exit code, which it does only for a program
/// that was started.
pub(super) unsafe fn says_exit_code(status: RawFd) -> bool {
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

/// Waits until bubblewrap reads the text that filled the pipe. Returns false if bubblewrap is gone,
/// or if we are to stop.
pub(super) unsafe fn text_is_read() -> bool {
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
pub(super) unsafe fn remount(inside: i32, remounts: &[(CString, CString)]) -> bool {
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
pub(super) unsafe fn watch(ended: RawFd, program: i32) -> Option<c_int> {
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

/// Kills the remaining processes and waits until all are gone; orphans become our children, so in
/// the end all of them are. Returns the program's status.
pub(super) unsafe fn end_tree(program: i32, status: Option<c_int>) -> c_int {
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
pub(super) unsafe fn prefer_for_the_kernels_killer() {
    unsafe {
        let file =
            libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, b"500".as_ptr().cast(), 3);
            libc::close(file);
        }
    }
}

pub(super) unsafe fn limit(resource: u32, value: u64) {
    unsafe {
        let mut now: libc::rlimit = mem::zeroed();
        libc::getrlimit(resource as _, &mut now);
        let value = value.min(now.rlim_max);
        let wanted = libc::rlimit { rlim_cur: value, rlim_max: value };
        libc::setrlimit(resource as _, &wanted);
    }
}

/// Gives every signal its default effect; ignored ones would stay ignored in the program.
pub(super) unsafe fn reset_signals() {
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

pub(super) unsafe fn close_from(first: c_int) {
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
pub(super) unsafe fn fail(step: c_int) -> ! {
    unsafe {
        let message = [step, last_errno()];
        libc::write(STARTED, message.as_ptr().cast(), mem::size_of_val(&message));
        libc::_exit(127)
    }
}
