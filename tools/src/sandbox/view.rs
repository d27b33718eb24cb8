//! Decides which files of the machine a program sees: the system's own, read-only; the paths that
//! the request names; and private directories in memory. It hides home directories, all of `/etc`
//! that programs do not need, and the sockets of services.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Component, Path, PathBuf},
};

use super::{Network, Request};

/// One thing at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// As on this machine.
    ReadOnly,
    /// As on this machine, and it may be changed there.
    Writable,
    /// A link with this target.
    Link(PathBuf),
    /// A file of ours with this text.
    Text(String),
    /// An empty directory in memory.
    Memory,
    /// A file that can neither be read nor executed.
    Hidden,
}

/// The visible files, by place.
pub(super) type SandboxView = BTreeMap<PathBuf, Seen>;

/// Directories in memory. Each may be filled with so many bytes and so many files.
const MEMORY: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/run"];
pub(super) const MEMORY_FILES: u64 = 65_536;

/// The file in the place of a hidden one.
pub(super) const NOTHING: &str = "/dev/null";

/// The entries of `/proc` that change the machine.
pub(super) const KERNEL: [&str; 6] = ["acpi", "bus", "fs", "irq", "sys", "sysrq-trigger"];

/// User and group of the program.
pub(super) const USER: u32 = 1000;

/// Bytes of each directory in memory.
pub(super) fn memory_bytes(request: &Request) -> u64 {
    (request.limits.memory / 4).clamp(16 << 20, 512 << 20)
}

/// Everything that is seen, each place after those above it.
pub(super) fn view(request: &Request) -> io::Result<SandboxView> {
    let mut view = SandboxView::new();
    for place in ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"] {
        add_system(Path::new(place), &mut view);
    }
    for name in SETTINGS {
        add_system(&Path::new("/etc").join(name), &mut view);
    }
    for place in ["/sys/devices/system/cpu", "/sys/devices/system/node"] {
        add_system(Path::new(place), &mut view);
    }
    if request.network == Network::Host {
        add_system(Path::new("/etc/resolv.conf"), &mut view);
        add_system(Path::new("/etc/hosts"), &mut view);
    } else {
        let hosts = "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost\n";
        view.insert(PathBuf::from("/etc/hosts"), Seen::Text(hosts.to_owned()));
    }
    let users = format!(
        "root:x:0:0:root:/root:/bin/sh\nuser:x:{USER}:{USER}:user:/tmp:/bin/sh\n\
         nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
    );
    view.insert(PathBuf::from("/etc/passwd"), Seen::Text(users));
    let groups = format!("root:x:0:\nuser:x:{USER}:\nnogroup:x:65534:\n");
    view.insert(PathBuf::from("/etc/group"), Seen::Text(groups));
    for place in MEMORY {
        view.insert(PathBuf::from(place), Seen::Memory);
    }
    for (path, seen) in readable(&request.readable, &view) {
        view.insert(path, seen);
    }
    for path in request.hidden.iter().filter_map(|path| path.canonicalize().ok()) {
        let is_shown =
            |(above, seen): (&PathBuf, &Seen)| *seen == Seen::ReadOnly && path.starts_with(above);
        if path.is_file() && view.iter().any(is_shown) {
            view.insert(path, Seen::Hidden);
        }
    }
    for path in &request.writable {
        // What a program left in a place where it could write must not choose what is opened here.
        let real = path.canonicalize().map_err(|error| {
            io::Error::new(error.kind(), format!("open {}: {error}", path.display()))
        })?;
        if real != *path {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} is reached through a link ({})", path.display(), real.display()),
            ));
        }
        view.insert(path.clone(), Seen::Writable);
    }
    Ok(view)
}

/// Returns the absolute target of one symbolic link, with `..` resolved; `None` if `link` is no link, or a directory
/// before a `..` cannot be resolved. The target may be a link itself.
pub(crate) fn link_target(link: &Path) -> Option<PathBuf> {
    let target = fs::read_link(link).ok()?;
    let target = link.parent()?.join(target);
    if !target.components().any(|part| part == Component::ParentDir) {
        return Some(target);
    }
    let mut path = PathBuf::new();
    for part in target.components() {
        if part == Component::ParentDir {
            path = path.canonicalize().ok()?;
            path.pop();
        } else {
            path.push(part);
        }
    }
    Some(path)
}

/// Returns the readable paths, without those inside another readable path. A link whose target is
/// visible too stays a link.
fn readable(wanted: &[PathBuf], system: &SandboxView) -> Vec<(PathBuf, Seen)> {
    let mut paths: Vec<&PathBuf> =
        wanted.iter().filter(|path| path.is_absolute() && path.exists()).collect();
    paths.sort();
    let mut found: Vec<(PathBuf, Seen)> = Vec::new();
    for path in paths {
        let is_above = |(above, seen): (&PathBuf, &Seen)| {
            // What a link that is shown leads to is seen.
            matches!(seen, Seen::ReadOnly | Seen::Link(_)) && path.starts_with(above)
        };
        if system.iter().any(is_above) || found.iter().any(|(above, seen)| is_above((above, seen)))
        {
            continue;
        }
        let target = link_target(path);
        let named = target
            .filter(|target| wanted.iter().any(|other| other != path && target.starts_with(other)));
        found.push((path.clone(), named.map_or(Seen::ReadOnly, Seen::Link)));
    }
    found
}

/// The files in `/etc` that programs need and that reveal nothing about the user.
const SETTINGS: &[&str] = &[
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "fonts",
    "gai.conf",
    "host.conf",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "pip.conf",
    "pki",
    "protocols",
    "rpc",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
];

fn add_system(place: &Path, view: &mut SandboxView) {
    match fs::read_link(place) {
        // A link into a directory that is seen anyway stays a link.
        Ok(target) if target.starts_with("usr") || target.starts_with("/usr") => {
            view.insert(place.to_path_buf(), Seen::Link(target));
        }
        _ if place.exists() => {
            view.insert(place.to_path_buf(), Seen::ReadOnly);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A program `bin/tool` that is a link to `target` stays a link where `readable` has what it names.
    fn check(target: &str, expected: &str) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for made in ["bin", "deep/er/bin", "opt/real/bin"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        fs::write(root.join("opt/real/bin/tool"), "").unwrap();
        symlink("deep/er", root.join("short")).unwrap();
        symlink(target.replace("ROOT", root.to_str().unwrap()), root.join("bin/tool")).unwrap();
        let wanted = [root.join("bin/tool"), root.join("opt/real")];
        let found: SandboxView = readable(&wanted, &SandboxView::new()).into_iter().collect();
        let seen = match expected {
            "" => Seen::ReadOnly,
            expected => Seen::Link(root.join(expected)),
        };
        assert_eq!(found[&root.join("bin/tool")], seen, "{target}");
    }

    #[test]
    fn links_to_what_is_seen_stay_links() {
        check("ROOT/opt/real/bin/tool", "opt/real/bin/tool");
        check("../opt/real/bin/tool", "opt/real/bin/tool");
        check("../bin/../opt/./real/bin/tool", "opt/real/bin/tool");
        // `..` of a link to a directory is the directory above the one that the link names.
        check("../short/../../opt/real/bin/tool", "opt/real/bin/tool");
    }
}
