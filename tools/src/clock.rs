//! The CPU time of this process, for the account of what a step costs.

use std::time::Duration;

/// CPU time that all threads of this process took so far; not that of its children.
pub(crate) fn process_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing, and nothing else is touched.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    match done {
        0 => Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32),
        _ => Duration::ZERO,
    }
}
