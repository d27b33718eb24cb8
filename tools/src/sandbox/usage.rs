//! Measures the resource usage of a process tree, from `/proc`.
//!
//! A sample observes running processes. A process that ends meanwhile is omitted: its CPU time is
//! in its parent's.

use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt, time::Duration};

/// The usage of all processes below a root. The root itself does not count.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessUsage {
    /// CPU time, that of ended processes included.
    pub(super) cpu: Duration,
    /// Resident memory in bytes; shared pages count once for each process.
    pub(super) resident: u64,
    /// The largest resident size that one of the processes ever had, in bytes.
    pub(super) peak: u64,
    /// Number of processes.
    pub(super) processes: u64,
}

/// The processes of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessTree {
    /// The supervisor.
    pub(super) root: i32,
    /// True if the root's direct children are ours too: copies of this process, not part of the
    /// program's usage.
    pub(super) first_is_ours: bool,
}

impl ProcessTree {
    /// The root and all its descendants; each with whether it is ours.
    fn processes(self) -> Vec<(i32, bool)> {
        let mut found = vec![(self.root, true)];
        let mut next = 0;
        while let Some(&(pid, _)) = found.get(next) {
            next += 1;
            let ours = self.first_is_ours && pid == self.root;
            // A child is listed under the thread that started it.
            let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
            for thread in threads.flatten() {
                let children = fs::read_to_string(thread.path().join("children"));
                let children = children.unwrap_or_default();
                let children = children.split_whitespace();
                found.extend(children.filter_map(|pid| Some((pid.parse().ok()?, ours))));
            }
        }
        found
    }

    fn programs(self) -> impl Iterator<Item = i32> {
        self.processes().into_iter().filter(|(_, ours)| !ours).map(|(pid, _)| pid)
    }
}

/// Looks at a tree.
pub(super) fn sample(tree: ProcessTree) -> ProcessUsage {
    let ticks = clock_ticks();
    let mut usage = ProcessUsage::default();
    let mut cpu_ticks = 0;
    for (pid, ours) in tree.processes() {
        let Some(stat) = Stat::of(pid) else { continue };
        cpu_ticks += stat.children_ticks;
        if ours {
            continue;
        }
        cpu_ticks += stat.own_ticks;
        usage.processes += 1;
        let (resident, peak) = memory(pid);
        usage.resident += resident;
        usage.peak = usage.peak.max(peak);
    }
    usage.cpu = Duration::from_secs_f64(cpu_ticks as f64 / ticks as f64);
    usage
}

/// Memory of a tree in bytes, each shared page counted once, and files in memory
/// that are open but not mapped counted too.
pub(super) fn proportional(tree: ProcessTree) -> u64 {
    let (mut own, mut shared) = (0, 0);
    let mut files = BTreeMap::new();
    for pid in tree.programs() {
        match fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
            Ok(text) => {
                let of_files = kilobytes(&text, "Pss_Shmem:");
                own += kilobytes(&text, "Pss:").saturating_sub(of_files);
                shared += of_files;
            }
            Err(_) => own += memory(pid).0,
        }
        files.extend(files_in_memory(pid));
    }
    own + shared.max(files.values().sum())
}

/// Bytes of the nameless files in memory that a tree has open.
pub(super) fn open_in_memory(tree: ProcessTree) -> u64 {
    tree.programs().flat_map(files_in_memory).collect::<BTreeMap<_, _>>().values().sum()
}

/// By device and inode, so that one file in several processes counts once.
fn files_in_memory(pid: i32) -> Vec<((u64, u64), u64)> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let in_memory = paths.filter(|path| {
        let target = fs::read_link(path).unwrap_or_default();
        target.as_os_str().as_encoded_bytes().starts_with(b"/memfd:")
    });
    let sizes = in_memory.filter_map(|path| {
        let data = fs::metadata(path).ok()?;
        Some(((data.dev(), data.ino()), data.blocks() * 512))
    });
    sizes.collect()
}

struct Stat {
    own_ticks: u64,
    children_ticks: u64,
}

impl Stat {
    fn of(pid: i32) -> Option<Stat> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The program's name may hold anything, parentheses too; the fields begin after the last.
        let end = text.iter().rposition(|&byte| byte == b')')?;
        let text = std::str::from_utf8(&text[end + 1..]).ok()?;
        let fields: Vec<&str> = text.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Stat {
            own_ticks: number(11)? + number(12)?,
            children_ticks: number(13)? + number(14)?,
        })
    }
}

/// Resident size now, and the largest it ever was.
fn memory(pid: i32) -> (u64, u64) {
    match fs::read(format!("/proc/{pid}/status")) {
        Ok(text) => {
            let text = String::from_utf8_lossy(&text);
            (kilobytes(&text, "VmRSS:"), kilobytes(&text, "VmHWM:"))
        }
        Err(_) => (0, 0),
    }
}

fn kilobytes(text: &str, key: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(key));
    let number = value.and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

fn clock_ticks() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(100).max(1)
}
