//! Landlock: the kernel's second opinion on which files a program may change.
//!
//! It is asked by its system calls, since it is in a process just forked from one with many threads;
//! which places are writable is not decided here.

use std::{
    ffi::{CString, c_int},
    mem, ptr,
};

/// The version of Landlock that this kernel supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u32);

/// The rules of a ruleset, as `landlock_create_ruleset` takes them.
#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct Below {
    allowed: u64,
    parent: c_int,
}

// From <linux/landlock.h>.
const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIRECTORY: u64 = 1 << 3;
const MAKE_DEVICES: u64 = 1 << 6 | 1 << 11;
const FIRST_RIGHTS: u64 = (1 << 13) - 1;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const DEVICE_IOCTL: u64 = 1 << 15;
/// Abstract sockets and signals.
const SCOPES: u64 = 3;
const ASK_VERSION: u32 = 1;
const PATH_BENEATH: c_int = 1;

impl Version {
    /// That of the running kernel, where it has Landlock and uses it.
    pub(super) fn of_kernel() -> Option<Version> {
        // SAFETY: without attributes the call only tells the version.
        let told = unsafe {
            let none = ptr::null::<Ruleset>();
            libc::syscall(libc::SYS_landlock_create_ruleset, none, 0, ASK_VERSION)
        };
        u32::try_from(told).ok().filter(|version| *version > 0).map(Version)
    }

    fn rights(self) -> u64 {
        let later = [(2, REFER), (3, TRUNCATE), (5, DEVICE_IOCTL)];
        let known = later.iter().filter(|(since, _)| self.0 >= *since).map(|(_, right)| right);
        known.fold(FIRST_RIGHTS, |rights, right| rights | right)
    }

    /// Bytes of [`Ruleset`] that it knows.
    fn size(self) -> usize {
        match self.0 {
            ..4 => 8,
            4..6 => 16,
            _ => mem::size_of::<Ruleset>(),
        }
    }
}

/// Lets this process and its children read everything that there is, and change only what is below
/// these places; whether each is a directory is said with it.
///
/// # Safety
/// In a process that may not gain privileges. It keeps to system calls.
pub(super) unsafe fn restrict(version: Version, writable: &[(CString, bool)]) -> bool {
    unsafe {
        let rights = version.rights();
        let ruleset = Ruleset { files: rights, network: 0, scoped: SCOPES };
        let create = libc::SYS_landlock_create_ruleset;
        let ruleset = libc::syscall(create, &raw const ruleset, version.size(), 0) as c_int;
        if ruleset < 0 {
            return false;
        }
        let reading = EXECUTE | READ_FILE | READ_DIRECTORY;
        let mut done = allow(ruleset, c"/".as_ptr(), reading);
        for (place, is_directory) in writable {
            let all = rights & !MAKE_DEVICES;
            let of_files = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_IOCTL;
            let allowed = if *is_directory { all } else { all & of_files };
            done &= allow(ruleset, place.as_ptr(), allowed);
        }
        done &= libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) == 0;
        libc::close(ruleset);
        done
    }
}

unsafe fn allow(ruleset: c_int, place: *const libc::c_char, allowed: u64) -> bool {
    unsafe {
        let parent = libc::open(place, libc::O_PATH | libc::O_CLOEXEC);
        if parent < 0 {
            return false;
        }
        let rule = Below { allowed, parent };
        let add = libc::SYS_landlock_add_rule;
        let done = libc::syscall(add, ruleset, PATH_BENEATH, &raw const rule, 0) == 0;
        libc::close(parent);
        done
    }
}
