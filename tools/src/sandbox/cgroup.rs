//! Control groups, where this process may make them: the kernel's own account of a tree's memory
//! and processes. Where it may not, nothing is made, and limits are looked at from outside.

use std::{
    fs::{self, File},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use super::Limits;

/// The groups of one run; removed when dropped.
#[derive(Debug)]
pub(super) struct Groups {
    directories: Vec<PathBuf>,
    /// The file in which the kernel counts the processes that it killed for memory.
    events: PathBuf,
}

/// The cgroup hierarchy in which groups can be created, detected once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hierarchy {
    /// One hierarchy for all controllers.
    Unified(PathBuf),
    /// One for each.
    Separate { memory: PathBuf, pids: Option<PathBuf> },
}

static NEXT: AtomicU32 = AtomicU32::new(0);
/// Names that are tried where groups have them already.
const ATTEMPTS: u32 = 1000;

impl Hierarchy {
    /// Looks for a place where this process may make groups, and tries it.
    pub(super) fn find() -> Option<Hierarchy> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let try_limits = Limits {
            wall: std::time::Duration::ZERO,
            cpu: std::time::Duration::ZERO,
            memory: 1 << 30,
            processes: 64,
            output: 0,
            file: 0,
            disk: 0,
        };
        candidates(&mounts, &own)
            .into_iter()
            .find(|hierarchy| Groups::make(hierarchy, &try_limits).is_ok())
    }

    /// Returns true if its groups limit the number of processes.
    pub(super) fn limits_processes(&self) -> bool {
        !matches!(self, Hierarchy::Separate { pids: None, .. })
    }
}

impl Groups {
    /// Makes the groups of a run.
    pub(super) fn make(hierarchy: &Hierarchy, limits: &Limits) -> io::Result<Groups> {
        let mut attempts = 0..ATTEMPTS;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("gistify-{}-{number}", std::process::id());
            match Groups::named(&name, hierarchy, limits) {
                // A process that was killed, and had the number that is ours now, left it.
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists
                        && attempts.next().is_some() => {}
                made => return made,
            }
        }
    }

    fn named(name: &str, hierarchy: &Hierarchy, limits: &Limits) -> io::Result<Groups> {
        let mut groups = Groups { directories: Vec::new(), events: PathBuf::new() };
        let memory = limits.memory.to_string();
        // Bubblewrap has two processes of its own.
        let processes = limits.processes.saturating_add(2).to_string();
        match hierarchy {
            Hierarchy::Unified(parent) => {
                let directory = groups.directory(parent, name)?;
                set(&directory, "memory.max", &memory)?;
                set(&directory, "pids.max", &processes)?;
                // These are not everywhere.
                let _ = set(&directory, "memory.swap.max", "0");
                let _ = set(&directory, "memory.oom.group", "1");
                groups.events = directory.join("memory.events");
            }
            Hierarchy::Separate { memory: parent, pids } => {
                let directory = groups.directory(parent, name)?;
                set(&directory, "memory.limit_in_bytes", &memory)?;
                let _ = set(&directory, "memory.memsw.limit_in_bytes", &memory);
                groups.events = directory.join("memory.oom_control");
                if let Some(pids) = pids {
                    // Controllers may share one hierarchy.
                    let is_shared = pids == parent;
                    let directory =
                        if is_shared { directory } else { groups.directory(pids, name)? };
                    set(&directory, "pids.max", &processes)?;
                }
            }
        }
        Ok(groups)
    }

    /// Files in which a process of one thread writes `0` to enter.
    pub(super) fn doors(&self) -> io::Result<Vec<OwnedFd>> {
        let open = |directory: &PathBuf| {
            let open = |name| File::options().write(true).open(directory.join(name));
            // Whole processes are moved under a lock that takes all CPUs' consent, which is as long as
            // a start; a thread that moves itself needs none. Unified hierarchies have no such file.
            let file = open("tasks").or_else(|_| open("cgroup.procs"))?;
            Ok(OwnedFd::from(file))
        };
        self.directories.iter().map(open).collect()
    }

    /// The directory of the only group there is, where children can be born in it: moving a process later
    /// takes a lock that all CPUs have to consent to.
    pub(super) fn birthplace(&self) -> io::Result<Option<OwnedFd>> {
        match &self.directories[..] {
            [directory] if directory.join("cgroup.type").exists() => {
                Ok(Some(File::open(directory)?.into()))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.directories.iter().map(|directory| directory.as_os_str().as_bytes())
    }

    /// Returns true if the kernel killed a process for memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let text = fs::read_to_string(&self.events).unwrap_or_default();
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.any(|(key, count)| key == "oom_kill" && count.trim() != "0")
    }

    fn directory(&mut self, parent: &Path, name: &str) -> io::Result<PathBuf> {
        let directory = parent.join(name);
        fs::create_dir(&directory)?;
        self.directories.push(directory.clone());
        Ok(directory)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for directory in &self.directories {
            // A group is busy for a moment after its last process is gone.
            for _ in 0..50 {
                match fs::remove_dir(directory) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        std::thread::sleep(std::time::Duration::from_millis(2));
                    }
                    _ => break,
                }
            }
        }
    }
}

/// Sets a limit. The file is the kernel's: where it is missing, this is no control group.
fn set(directory: &Path, name: &str, value: &str) -> io::Result<()> {
    let mut file = File::options().write(true).open(directory.join(name))?;
    io::Write::write_all(&mut file, value.as_bytes())
}

/// Returns the candidate hierarchies, from the kernel's lists of mounts and of this process's
/// groups.
fn candidates(mounts: &str, own: &str) -> Vec<Hierarchy> {
    let mut found = Vec::new();
    let mut memory = None;
    let mut pids = None;
    for line in mounts.lines() {
        let Some((mount, kind)) = line.split_once(" - ") else { continue };
        let mut fields = mount.split(' ').skip(3);
        let (Some(root), Some(place)) = (fields.next(), fields.next()) else { continue };
        let mut kind = kind.split(' ');
        let (name, options) = (kind.next().unwrap_or_default(), kind.nth(1).unwrap_or_default());
        let below = |controller: &str| -> PathBuf {
            let path = own.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                let controllers = parts.next()?;
                let listed = controllers.split(',').any(|other| other == controller);
                if listed { parts.next() } else { None }
            });
            let path = path.unwrap_or("/");
            let inside = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
            Path::new(place).join(inside)
        };
        match name {
            "cgroup" => {
                let has = |controller| options.split(',').any(|option| option == controller);
                if has("memory") {
                    memory = Some(below("memory"));
                }
                if has("pids") {
                    pids = Some(below("pids"));
                }
            }
            "cgroup2" => {
                let own = below("");
                // A group with processes in it has no limited children, but its parent may.
                let parent = own.parent().filter(|parent| parent.starts_with(place));
                found.extend(parent.map(|parent| Hierarchy::Unified(parent.to_path_buf())));
                found.push(Hierarchy::Unified(own));
            }
            _ => {}
        }
    }
    found.extend(memory.map(|memory| Hierarchy::Separate { memory, pids }));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_found() {
        let mounts = "30 25 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n\
            31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
            32 30 0:28 /docker/x /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
        let own = "5:pids:/docker/x/y\n4:memory:/user\n0::/z\n";
        let memory = PathBuf::from("/sys/fs/cgroup/memory/user");
        let pids = Some(PathBuf::from("/sys/fs/cgroup/pids/y"));
        assert_eq!(candidates(mounts, own), [Hierarchy::Separate { memory, pids }]);
        let mounts = "30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
        assert_eq!(
            candidates(mounts, "0::/user.slice/a.scope\n"),
            ["/sys/fs/cgroup/user.slice", "/sys/fs/cgroup/user.slice/a.scope"]
                .map(|path| Hierarchy::Unified(PathBuf::from(path)))
        );
        assert_eq!(candidates("", ""), []);
    }

    #[test]
    fn names_that_are_taken_are_passed_over() {
        let parent = tempfile::tempdir().unwrap();
        let limits = Limits {
            wall: std::time::Duration::ZERO,
            cpu: std::time::Duration::ZERO,
            memory: 1,
            processes: 1,
            output: 0,
            file: 0,
            disk: 0,
        };
        // What is made there is no group, so that it ends with the first limit.
        let kind = |hierarchy| Groups::make(&hierarchy, &limits).unwrap_err().kind();
        let next = NEXT.load(Ordering::Relaxed);
        for number in next..next + 100 {
            let name = format!("gistify-{}-{number}", std::process::id());
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        let memory = parent.path().to_path_buf();
        assert_eq!(kind(Hierarchy::Unified(memory.clone())), io::ErrorKind::NotFound);
        assert!(NEXT.load(Ordering::Relaxed) > next + 100);
        // Nor is it tried for ever.
        let next = NEXT.load(Ordering::Relaxed);
        for number in next..next + 2 * ATTEMPTS {
            let name = format!("gistify-{}-{number}", std::process::id());
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        assert_eq!(kind(Hierarchy::Unified(memory)), io::ErrorKind::AlreadyExists);
    }
}
