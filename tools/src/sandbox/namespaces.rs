//! Our own isolation, for machines without bubblewrap: namespaces that a user may create, a mounted
//! view, Landlock as a second layer, no capabilities, and filters of system calls.
//!
//! The request is translated before the fork; [`Walls::enter`] and the functions after it run in a
//! process just forked from one with many threads. They keep to system calls: no allocation, no
//! lock, no panic. The limits are decided elsewhere.

use std::{
    collections::BTreeSet,
    ffi::{CStr, CString, c_int},
    fs, io, mem,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr,
};

use super::{
    Network, Request, landlock,
    view::{KERNEL, MEMORY_FILES, NOTHING, SandboxView, Seen, USER, memory_bytes},
};

/// Everything that makes the walls of one request.
#[derive(Debug)]
pub(super) struct Walls {
    /// Flags of `clone`.
    flags: c_int,
    uid_map: CString,
    gid_map: CString,
    steps: Vec<Step>,
    /// The writable paths below the new root, each with true for a directory.
    writable: Vec<(CString, bool)>,
    landlock: landlock::Version,
    filters: Vec<Vec<u8>>,
    /// The largest number of processes inside.
    processes: u64,
    /// Memory of this process that tells of the user: its arguments and environment.
    told: Vec<(usize, usize)>,
}

/// One thing that is put into the new root.
#[derive(Debug)]
enum Step {
    Directory(CString),
    /// An empty file, to put another one over it.
    File(CString),
    Text(CString, String),
    Link {
        target: CString,
        at: CString,
    },
    Bind {
        from: CString,
        at: CString,
        attributes: u64,
    },
    Memory {
        at: CString,
        options: CString,
    },
    Terminals(CString),
    Processes(CString),
    /// Makes a place read-only, except for mounts below it.
    Seal(CString),
}

/// The step that failed, for the error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failed(pub(super) c_int);

const MAP: Failed = Failed(0);
const ROOT: Failed = Failed(1);
const LOOPBACK: Failed = Failed(2);
const NAME: Failed = Failed(3);
const CAPABILITIES: Failed = Failed(4);
const LANDLOCK: Failed = Failed(5);
const FILTER: Failed = Failed(6);
const FORK: Failed = Failed(7);
/// Plus the number of the step.
const FIRST_STEP: c_int = 16;

const OLD: &str = "/old";
const NEW: &str = "/new";
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

impl Walls {
    /// The walls of a request.
    pub(super) fn new(
        request: &Request,
        view: &SandboxView,
        filters: &[Vec<u8>],
        landlock: landlock::Version,
    ) -> io::Result<Walls> {
        let mut flags = libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWCGROUP;
        if request.network == Network::Loopback {
            flags |= libc::CLONE_NEWNET;
        }
        // SAFETY: neither has preconditions.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let mut steps = Steps::default();
        steps.devices()?;
        let options = format!("size={},nr_inodes={MEMORY_FILES},mode=1777", memory_bytes(request));
        let options = CString::new(options)?;
        let mut writable = vec![(c_string(Path::new("/dev"))?, true)];
        for (place, seen) in view {
            steps.see(place, seen, &options)?;
            if matches!(seen, Seen::Writable | Seen::Memory) {
                writable.push((c_string(place)?, *seen == Seen::Memory || place.is_dir()));
            }
        }
        for sealed in ["/dev", "/"] {
            steps.all.push(Step::Seal(below(NEW, Path::new(sealed))?));
        }
        Ok(Walls {
            flags,
            uid_map: CString::new(format!("{USER} {user} 1"))?,
            gid_map: CString::new(format!("{USER} {group} 1"))?,
            steps: steps.all,
            writable,
            landlock,
            filters: filters.to_vec(),
            // Our own process inside counts too.
            processes: request.limits.processes.saturating_add(1),
            told: argument_ranges(),
        })
    }

    /// Returns the name of the failed step.
    pub(super) fn explain(&self, failed: Failed) -> String {
        let step = usize::try_from(failed.0 - FIRST_STEP).ok().and_then(|at| self.steps.get(at));
        match (failed, step) {
            (MAP, _) => "map the user".to_owned(),
            (ROOT, _) => "make a root".to_owned(),
            (LOOPBACK, _) => "start the loopback".to_owned(),
            (NAME, _) => "name the machine".to_owned(),
            (CAPABILITIES, _) => "drop capabilities".to_owned(),
            (LANDLOCK, _) => "restrict files by landlock".to_owned(),
            (FILTER, _) => "filter system calls".to_owned(),
            (FORK, _) => "start a process inside".to_owned(),
            (_, Some(step)) => step.explain(),
            (_, None) => "make namespaces".to_owned(),
        }
    }

    /// Flags of `clone` for the namespaces; who is forked into them is the first process there, and has
    /// entered nothing else yet.
    pub(super) fn namespaces(&self) -> c_int {
        self.flags
    }

    /// Mounts the view of the program and makes it the root. Afterwards only starting a process and
    /// [confining](Walls::confine) it remain.
    ///
    /// # Safety
    /// In a process just forked into the [namespaces](Walls::namespaces).
    pub(super) unsafe fn enter(&self) -> Result<(), Failed> {
        unsafe {
            // Whoever has the same user inside could look into a copy of our memory.
            libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
            self.map_user()?;
            libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
            for &(from, length) in &self.told {
                ptr::write_bytes(from as *mut u8, 0, length);
            }
            self.make_root()?;
            for (at, step) in self.steps.iter().enumerate() {
                if !step.take() {
                    return Err(Failed(FIRST_STEP + at as c_int));
                }
            }
            if self.flags & libc::CLONE_NEWNET != 0 && !raise_loopback() {
                return Err(LOOPBACK);
            }
            let name = b"sandbox";
            if libc::sethostname(name.as_ptr().cast(), name.len()) != 0 {
                return Err(NAME);
            }
            leave_old_root().ok_or(ROOT)
        }
    }

    /// Takes from this process what it does not need to run the program.
    ///
    /// # Safety
    /// In a process that [entered](Walls::enter), or in a child of it.
    pub(super) unsafe fn confine(&self) -> Result<(), Failed> {
        unsafe {
            let limit = libc::rlimit { rlim_cur: self.processes, rlim_max: self.processes };
            libc::setrlimit(libc::RLIMIT_NPROC, &limit);
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            if !landlock::restrict(self.landlock, &self.writable) {
                return Err(LANDLOCK);
            }
            if !drop_capabilities() {
                return Err(CAPABILITIES);
            }
            for filter in &self.filters {
                let program = libc::sock_fprog {
                    len: (filter.len() / 8) as u16,
                    filter: filter.as_ptr().cast_mut().cast(),
                };
                let mode = libc::SECCOMP_MODE_FILTER;
                if libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program, 0, 0) != 0 {
                    return Err(FILTER);
                }
            }
            Ok(())
        }
    }

    unsafe fn map_user(&self) -> Result<(), Failed> {
        unsafe {
            // Without it nobody may map groups.
            write_file(c"/proc/self/setgroups", b"deny", 0);
            let users = write_file(c"/proc/self/uid_map", self.uid_map.as_bytes(), 0);
            let groups = write_file(c"/proc/self/gid_map", self.gid_map.as_bytes(), 0);
            if users && groups { Ok(()) } else { Err(MAP) }
        }
    }

    /// Makes a root in memory with the old one below it, and an empty one beside that.
    unsafe fn make_root(&self) -> Result<(), Failed> {
        unsafe {
            let none = ptr::null();
            let private = libc::MS_REC | libc::MS_PRIVATE;
            let plain = libc::MS_NOSUID | libc::MS_NODEV;
            let options = c"mode=0755,size=16m".as_ptr().cast();
            let kind = c"tmpfs".as_ptr();
            let done = libc::mount(none, c"/".as_ptr(), none, private, none.cast()) == 0
                && libc::mount(kind, c"/tmp".as_ptr(), kind, plain, options) == 0
                && libc::chdir(c"/tmp".as_ptr()) == 0
                && libc::mkdir(c"old".as_ptr(), 0o755) == 0
                && libc::mkdir(c"new".as_ptr(), 0o755) == 0
                && libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c"old".as_ptr()) == 0
                && libc::chdir(c"/".as_ptr()) == 0
                && libc::mount(kind, c"/new".as_ptr(), kind, plain, options) == 0;
            if done { Ok(()) } else { Err(ROOT) }
        }
    }
}

impl Step {
    /// # Safety
    /// In a process just forked.
    unsafe fn take(&self) -> bool {
        let plain = libc::MS_NOSUID | libc::MS_NODEV;
        unsafe {
            match self {
                Step::Directory(at) => {
                    libc::mkdir(at.as_ptr(), 0o755) == 0 || errno() == libc::EEXIST
                }
                Step::File(at) => write_file(at, b"", libc::O_CREAT),
                Step::Text(at, text) => write_file(at, text.as_bytes(), libc::O_CREAT),
                Step::Link { target, at } => libc::symlink(target.as_ptr(), at.as_ptr()) == 0,
                Step::Bind { from, at, attributes } => {
                    let bind = libc::MS_BIND | libc::MS_REC;
                    libc::mount(from.as_ptr(), at.as_ptr(), ptr::null(), bind, ptr::null()) == 0
                        && set_attributes(at, *attributes, libc::AT_RECURSIVE)
                }
                Step::Memory { at, options } => {
                    let kind = c"tmpfs".as_ptr();
                    libc::mount(kind, at.as_ptr(), kind, plain, options.as_ptr().cast()) == 0
                }
                Step::Terminals(at) => {
                    let kind = c"devpts".as_ptr();
                    let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
                    let options = c"newinstance,ptmxmode=0666,mode=620".as_ptr().cast();
                    libc::mount(kind, at.as_ptr(), kind, flags, options) == 0
                }
                Step::Processes(at) => {
                    let kind = c"proc".as_ptr();
                    let flags = plain | libc::MS_NOEXEC;
                    libc::mount(kind, at.as_ptr(), kind, flags, ptr::null()) == 0
                }
                Step::Seal(at) => set_attributes(at, libc::MOUNT_ATTR_RDONLY, 0),
            }
        }
    }

    fn explain(&self) -> String {
        let (what, at) = match self {
            Step::Directory(at) => ("make directory", at),
            Step::File(at) | Step::Text(at, _) => ("make file", at),
            Step::Link { at, .. } => ("make link", at),
            Step::Bind { at, .. } => ("show", at),
            Step::Memory { at, .. } => ("make memory at", at),
            Step::Terminals(at) | Step::Processes(at) => ("mount", at),
            Step::Seal(at) => ("seal", at),
        };
        let path = at.to_string_lossy();
        format!("{what} {}", path.strip_prefix(NEW).filter(|p| !p.is_empty()).unwrap_or("/"))
    }
}

/// The steps in order, each after the steps that it depends on.
#[derive(Default)]
struct Steps {
    all: Vec<Step>,
    made: BTreeSet<PathBuf>,
    /// Directories of this machine that are shown: what is below them is there.
    shown: Vec<PathBuf>,
}

impl Steps {
    fn devices(&mut self) -> io::Result<()> {
        let (devices, options) = (Path::new("/dev"), CString::new("mode=0755,size=1m")?);
        self.directory(devices)?;
        self.all.push(Step::Memory { at: below(NEW, devices)?, options });
        for device in DEVICES.map(|name| devices.join(name)) {
            if device.exists() {
                self.file(&device)?;
                let (from, at) = (below(OLD, &device)?, below(NEW, &device)?);
                self.all.push(Step::Bind { from, at, attributes: libc::MOUNT_ATTR_NOSUID });
            }
        }
        let links = [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ];
        for (name, target) in links {
            let at = below(NEW, &devices.join(name))?;
            self.all.push(Step::Link { target: CString::new(target)?, at });
        }
        self.directory(&devices.join("pts"))?;
        self.all.push(Step::Terminals(below(NEW, &devices.join("pts"))?));
        self.directory(Path::new("/proc"))?;
        self.all.push(Step::Processes(below(NEW, Path::new("/proc"))?));
        for name in KERNEL.map(|name| Path::new("/proc").join(name)) {
            if name.exists() {
                let (from, at) = (below(NEW, &name)?, below(NEW, &name)?);
                self.all.push(Step::Bind { from, at, attributes: libc::MOUNT_ATTR_RDONLY });
            }
        }
        self.made.insert(PathBuf::from("/proc"));
        Ok(())
    }

    fn see(&mut self, place: &Path, seen: &Seen, options: &CStr) -> io::Result<()> {
        match seen {
            Seen::ReadOnly | Seen::Writable => {
                // Links in the path of the source would lead somewhere else from the new root.
                let real = place.canonicalize()?;
                match real.is_dir() {
                    true => self.directory(place)?,
                    false => self.file(place)?,
                }
                let mut attributes = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
                if *seen == Seen::ReadOnly {
                    attributes |= libc::MOUNT_ATTR_RDONLY;
                }
                let (from, at) = (below(OLD, &real)?, below(NEW, place)?);
                self.all.push(Step::Bind { from, at, attributes });
                self.shown.push(place.to_path_buf());
            }
            Seen::Hidden => {
                let attributes =
                    libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_RDONLY;
                let (from, at) = (below(OLD, Path::new(NOTHING))?, below(NEW, place)?);
                self.all.push(Step::Bind { from, at, attributes });
            }
            Seen::Link(target) => {
                self.parents(place)?;
                self.all.push(Step::Link { target: c_string(target)?, at: below(NEW, place)? });
            }
            Seen::Text(text) => {
                self.parents(place)?;
                self.all.push(Step::Text(below(NEW, place)?, text.clone()));
            }
            Seen::Memory => {
                self.directory(place)?;
                let options = options.to_owned();
                self.all.push(Step::Memory { at: below(NEW, place)?, options });
                // It hides what was made there.
                self.made.retain(|made| made == place || !made.starts_with(place));
            }
        }
        Ok(())
    }

    fn directory(&mut self, place: &Path) -> io::Result<()> {
        let is_there = self.shown.iter().any(|shown| place.starts_with(shown));
        if place.parent().is_none() || is_there || self.made.contains(place) {
            return Ok(());
        }
        self.parents(place)?;
        self.made.insert(place.to_path_buf());
        self.all.push(Step::Directory(below(NEW, place)?));
        Ok(())
    }

    fn file(&mut self, place: &Path) -> io::Result<()> {
        if self.shown.iter().any(|shown| place.starts_with(shown)) {
            return Ok(());
        }
        self.parents(place)?;
        self.all.push(Step::File(below(NEW, place)?));
        Ok(())
    }

    fn parents(&mut self, place: &Path) -> io::Result<()> {
        place.parent().map_or(Ok(()), |parent| self.directory(parent))
    }
}

/// Returns the memory ranges of this process's arguments and environment.
fn argument_ranges() -> Vec<(usize, usize)> {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields 48 to 51 of proc(5); the program's name, in parentheses, is the second.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<usize> =
        rest.split_whitespace().skip(45).take(4).filter_map(|field| field.parse().ok()).collect();
    let ranges = fields.chunks_exact(2).filter(|range| range[0] != 0 && range[0] < range[1]);
    ranges.map(|range| (range[0], range[1] - range[0])).collect()
}

fn below(root: &str, place: &Path) -> io::Result<CString> {
    let relative = place.strip_prefix("/").unwrap_or(place);
    match relative.as_os_str().is_empty() {
        true => c_string(Path::new(root)),
        false => c_string(&Path::new(root).join(relative)),
    }
}

fn c_string(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

unsafe fn set_attributes(at: &CStr, attributes: u64, flags: c_int) -> bool {
    unsafe {
        let wanted =
            libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
        let size = mem::size_of::<libc::mount_attr>();
        let call = libc::SYS_mount_setattr;
        libc::syscall(call, libc::AT_FDCWD, at.as_ptr(), flags, &raw const wanted, size) == 0
    }
}

unsafe fn write_file(path: &CStr, bytes: &[u8], flags: c_int) -> bool {
    unsafe {
        let flags = libc::O_WRONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW | flags;
        let file = libc::open(path.as_ptr(), flags, 0o644);
        if file < 0 {
            return false;
        }
        let written = libc::write(file, bytes.as_ptr().cast(), bytes.len());
        libc::close(file);
        written == bytes.len() as isize
    }
}

unsafe fn raise_loopback() -> bool {
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        let mut request: libc::ifreq = mem::zeroed();
        for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
            *place = *byte as _;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as _;
        let done = libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const request) == 0;
        libc::close(socket);
        done
    }
}

/// Makes the new root the only one.
unsafe fn leave_old_root() -> Option<()> {
    unsafe {
        let here = c".".as_ptr();
        let done = libc::umount2(c"/old".as_ptr(), libc::MNT_DETACH) == 0
            && libc::chdir(c"/new".as_ptr()) == 0
            && libc::syscall(libc::SYS_pivot_root, here, here) == 0
            && libc::umount2(here, libc::MNT_DETACH) == 0
            && libc::chdir(c"/".as_ptr()) == 0;
        done.then_some(())
    }
}

unsafe fn drop_capabilities() -> bool {
    // From <linux/capability.h>.
    const VERSION: u32 = 0x2008_0522;
    unsafe {
        for capability in 0..64 {
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        let header = [VERSION, 0];
        let none = [0_u32; 6];
        libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) == 0
    }
}

fn errno() -> c_int {
    // SAFETY: the location is valid for the calling thread.
    unsafe { *libc::__errno_location() }
}
