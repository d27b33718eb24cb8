//! How figures are printed: each on a line, beside its bound.

use std::time::Duration;

/// Prints a figure and its bound; whether it is within it.
pub fn figure(name: &str, value: f64, bound: f64, detail: &str) -> bool {
    let kept = value <= bound;
    let verdict = if kept { "within" } else { "ABOVE" };
    println!("{name}: {value:.2}, {verdict} {bound} ({detail})");
    kept
}

/// How often one time goes into another.
pub fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

/// Memory of a process in KiB, by its name in the kernel's table: `VmRSS` or `VmHWM`.
pub fn memory(process: &str, name: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
