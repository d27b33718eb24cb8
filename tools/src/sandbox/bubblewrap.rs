//! Translates a request into arguments of bubblewrap. It starts nothing itself.

use std::{
    ffi::CString,
    fs::File,
    io::{self, Seek, Write},
    os::{
        fd::{FromRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use super::{
    Network, Request,
    supervise::{Boxed, FIRST_EXTRA, LAST_TEXT, MOST_EXTRAS, STATUS},
    view::{KERNEL, MEMORY_FILES, NOTHING, SandboxView, Seen, USER, memory_bytes},
};

/// The last file that bubblewrap makes; while it does, all directories in memory are there.
const LAST_FILE: &str = "/etc/sandbox";

/// Bubblewrap's arguments for a request, and the descriptors that they name.
pub(super) fn arguments(
    request: &Request,
    view: &SandboxView,
    filters: &[Vec<u8>],
) -> io::Result<(Vec<CString>, Boxed)> {
    let mut words = Words::default();
    let mut descriptors: Vec<OwnedFd> = Vec::new();
    let mut number = |file: OwnedFd| -> io::Result<String> {
        // The first one is for the words themselves.
        let number = FIRST_EXTRA + 1 + descriptors.len() as i32;
        descriptors.push(file);
        if descriptors.len() >= MOST_EXTRAS {
            return Err(io::Error::other("too many descriptors"));
        }
        Ok(number.to_string())
    };
    words.add(&["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]);
    words.add(&["--unshare-cgroup-try", "--disable-userns", "--new-session", "--die-with-parent"]);
    if request.network == Network::Loopback {
        words.add(&["--unshare-net"]);
    }
    let user = USER.to_string();
    words.add(&["--uid", &user, "--gid", &user, "--hostname", "sandbox", "--cap-drop", "ALL"]);
    words.add(&["--dev", "/dev", "--remount-ro", "/dev", "--proc", "/proc"]);
    // Bubblewrap leaves them writable where the user is the machine's root.
    for name in KERNEL {
        let place = Path::new("/proc").join(name);
        words.paths("--ro-bind-try", &place, &place);
    }
    // Bubblewrap's own process inside has the same user and no filter: its memory must not be written.
    words.add(&["--tmpfs", "/proc/1", "--remount-ro", "/proc/1"]);
    let size = memory_bytes(request).to_string();
    for (place, seen) in view {
        match seen {
            Seen::ReadOnly => words.paths("--ro-bind", place, place),
            Seen::Writable => words.paths("--bind", place, place),
            Seen::Link(target) => words.paths("--symlink", target, place),
            Seen::Text(text) => {
                let file = number(in_memory(text.as_bytes())?)?;
                words.paths("--ro-bind-data", Path::new(&file), place);
            }
            Seen::Hidden => words.paths("--ro-bind", Path::new(NOTHING), place),
            Seen::Memory => {
                words.add(&["--perms", "1777", "--size", &size, "--tmpfs"]);
                words.path(place);
            }
        }
    }
    words.add(&["--ro-bind-data", &LAST_TEXT.to_string(), LAST_FILE]);
    words.add(&["--remount-ro", "/", "--chdir"]);
    words.path(&request.cwd);
    words.add(&["--clearenv"]);
    for (name, value) in &request.env {
        words.add(&["--setenv", name, value]);
    }
    for filter in filters {
        let file = number(in_memory(filter)?)?;
        words.add(&["--add-seccomp-fd", &file]);
    }
    words.add(&["--json-status-fd", &STATUS.to_string()]);
    descriptors.insert(0, in_memory(&words.bytes)?);
    let mut args = vec![c"bwrap".to_owned(), c"--args".to_owned()];
    args.push(CString::new(FIRST_EXTRA.to_string())?);
    args.push(c"--".to_owned());
    args.push(CString::new(request.program.as_os_str().as_bytes())?);
    for arg in &request.args {
        args.push(CString::new(arg.as_bytes())?);
    }
    let options = CString::new(format!("size={size},nr_inodes={MEMORY_FILES}"))?;
    let in_memory = view.iter().filter(|(_, seen)| **seen == Seen::Memory);
    // While bubblewrap sets up, what will be the root is a directory.
    let remounts = in_memory.map(|(place, _)| {
        let place = Path::new("/newroot").join(place.strip_prefix("/").unwrap_or(place));
        Ok((CString::new(place.as_os_str().as_bytes())?, options.clone()))
    });
    Ok((
        args,
        Boxed {
            descriptors,
            // Bubblewrap's own process inside counts too.
            processes: request.limits.processes.saturating_add(1),
            remounts: remounts.collect::<io::Result<_>>()?,
        },
    ))
}

/// Words for `--args`, each ended by a zero byte.
#[derive(Default)]
struct Words {
    bytes: Vec<u8>,
}

impl Words {
    fn add(&mut self, words: &[&str]) {
        for word in words {
            self.bytes.extend_from_slice(word.as_bytes());
            self.bytes.push(0);
        }
    }

    fn path(&mut self, path: &Path) {
        self.bytes.extend_from_slice(path.as_os_str().as_bytes());
        self.bytes.push(0);
    }

    fn paths(&mut self, option: &str, from: &Path, to: &Path) {
        self.add(&[option]);
        self.path(from);
        self.path(to);
    }
}

/// A file without a name that holds these bytes.
fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    // SAFETY: the name is a string; the descriptor is new and ours.
    let mut file = unsafe {
        let descriptor = libc::memfd_create(c"sandbox".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor)
    };
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}
