//! Prints figures, each on a line beside its bound, and measures the usage of a process.

#![allow(dead_code, reason = "each bench uses its part")]

use std::time::Duration;

/// Prints a figure and its bound; whether it is within it.
pub fn figure(name: &str, value: f64, bound: f64, detail: &str) -> bool {
    let kept = value <= bound;
    let verdict = if kept { "within" } else { "ABOVE" };
    println!("{name}: {value:.2}, {verdict} {bound} ({detail})");
    kept
}

/// Returns the quotient of two times.
pub fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

/// Memory of a process in KiB, by its name in the kernel's table: `VmRSS` or `VmHWM`.
pub fn memory(process: &str, name: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Times in CPU and largest memory, of this process or of those that it waited for.
pub fn used(of: libc::c_int) -> libc::rusage {
    // SAFETY: a structure of numbers, and a valid pointer to it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    assert_eq!(unsafe { libc::getrusage(of, &mut usage) }, 0);
    usage
}

/// CPU time, of this process or of those that it waited for, so far.
pub fn cpu(of: libc::c_int) -> Duration {
    let usage = used(of);
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}
