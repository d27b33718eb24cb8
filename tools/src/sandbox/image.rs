//! Writes an image of an environment, each file at its place on this machine.
//!
//! It contains the interpreter and its packages, the libraries and programs that they need, and the
//! settings that every program reads. It reads files and writes one archive; it does not know what
//! an engine does with that.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use super::view::{SandboxView, Seen, USER};

/// Prints where the programs are that tests expect, and what the dynamic linker loads for each program and
/// library below some places.
pub(super) const LOOK: &str = r#"
all() {
  for name in awk basename bash cat chmod cmp cp cut date dd df diff dirname du echo env expr false find \
    getconf git grep gzip head hostname id kill ln ls make mkdir mktemp mv nproc od patch printf ps pwd \
    readlink rm rmdir sed seq sh sleep sort stat stty tail tar tee test touch tr true tty uname uniq wc \
    which xargs; do
    command -v "$name"
  done | grep '^/'
  for place in "$@" /usr/lib/git-core; do
    find "$place" -type f \( -name '*.so' -o -name '*.so.*' -o -perm -100 ! -name '*.py' \)
  done
}
all "$@" 2>/dev/null | while read -r file; do
  printf 'program %s\n' "$file"
  ldd "$file"
done 2>/dev/null
true
"#;

/// Files of the system that programs open without being linked to them.
const SYSTEM: &[&str] = &[
    "/usr/lib/git-core",
    "/usr/lib/locale",
    "/usr/lib/ssl",
    "/usr/share/ca-certificates",
    "/usr/share/git-core/templates",
    "/usr/share/terminfo",
    "/usr/share/zoneinfo",
];

/// The paths in what [`LOOK`] printed.
pub(super) fn needed(printed: &str) -> impl Iterator<Item = &Path> {
    printed.lines().filter_map(|line| {
        let path = match line.strip_prefix("program ") {
            Some(path) => path,
            // `name => path (address)`, or `path (address)` for the linker itself.
            None => {
                let place = line.rsplit_once(" (0x")?.0;
                place.rsplit_once(" => ").map_or(place, |(_, path)| path).trim()
            }
        };
        path.starts_with('/').then(|| Path::new(path))
    })
}

/// Writes an archive of these paths, of their link targets, and of the files that every program
/// sees. Returns the digest of the written bytes, without Python's bytecode caches: any other
/// program may add to those.
///
/// # Errors
/// A file cannot be read, or the archive cannot be written; with its path.
pub(super) fn write(paths: &[PathBuf], view: &SandboxView, into: &File) -> io::Result<String> {
    let mut places = Places::default();
    for path in paths.iter().map(PathBuf::as_path).chain(SYSTEM.iter().map(Path::new)) {
        places.add(path)?;
    }
    for (place, seen) in view {
        // Directories such as `/usr` are there in parts.
        if *seen == Seen::ReadOnly && place.starts_with("/etc") {
            places.add(place)?;
        }
    }
    let hasher = blake3::Hasher::new();
    let mut archive = tar::Builder::new(Hashing { into, hasher, counts: true });
    let shown: SandboxView = view
        .iter()
        .filter(|(place, seen)| **seen != Seen::ReadOnly && !places.found.contains(*place))
        .map(|(place, seen)| (place.clone(), seen.clone()))
        .collect();
    append_view(&mut archive, &shown, &places.found)?;
    for place in &places.found {
        let is_cached = place.components().any(|part| part.as_os_str() == "__pycache__");
        archive.get_mut().counts = !is_cached;
        match append(&mut archive, place) {
            // It was written anew meanwhile.
            Err(error) if is_cached && error.kind() == io::ErrorKind::NotFound => {}
            other => other.map_err(at(place))?,
        }
    }
    archive.get_mut().counts = true;
    let written = archive.into_inner()?;
    Ok(written.hasher.finalize().to_hex()[..16].to_owned())
}

/// The root of a view without what is mounted there, as an archive.
pub(super) fn root_of(view: &SandboxView) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    append_view(&mut archive, view, &BTreeSet::new())?;
    archive.into_inner()
}

/// Appends the entries of a view that are not appended otherwise.
fn append_view(
    archive: &mut tar::Builder<impl Write>,
    view: &SandboxView,
    others: &BTreeSet<PathBuf>,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_mtime(0);
    let (user, group) = user();
    // An engine gives directories that it makes itself to nobody but root.
    let above: BTreeSet<&Path> = view.keys().flat_map(|place| place.ancestors().skip(1)).collect();
    for place in above {
        let Ok(inside) = place.strip_prefix("/") else { continue };
        let hidden = place.ancestors().any(|above| view.contains_key(above));
        if !inside.as_os_str().is_empty() && !hidden && !others.contains(place) {
            header.set_entry_type(tar::EntryType::Directory);
            header.set_mode(0o755);
            header.set_size(0);
            archive.append_data(&mut header, inside, io::empty())?;
        }
    }
    for (place, seen) in view {
        let Ok(inside) = place.strip_prefix("/") else { continue };
        match seen {
            Seen::Link(target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_mode(0o777);
                header.set_size(0);
                archive.append_link(&mut header, inside, target)?;
            }
            Seen::Text(text) => {
                let own = format!(":{user}:{group}:");
                let text = text.replace(&format!(":{USER}:{USER}:"), &own);
                header.set_entry_type(tar::EntryType::Regular);
                header.set_mode(0o644);
                header.set_size(text.len() as u64);
                archive.append_data(&mut header, inside, text.as_bytes())?;
            }
            // What is mounted there takes the mode of what it hides.
            Seen::Memory => {
                header.set_entry_type(tar::EntryType::Directory);
                header.set_mode(0o1777);
                header.set_size(0);
                archive.append_data(&mut header, inside, io::empty())?;
            }
            Seen::ReadOnly | Seen::Writable | Seen::Hidden => {}
        }
    }
    Ok(())
}

/// User and group of the program: nobody special, but one who owns what is written.
pub(super) fn user() -> (u32, u32) {
    // SAFETY: neither has preconditions.
    match unsafe { (libc::geteuid(), libc::getegid()) } {
        (0, _) => (USER, USER),
        own => own,
    }
}

/// The places of files, with every link on the way resolved.
#[derive(Default)]
struct Places {
    found: BTreeSet<PathBuf>,
    /// The directories whose whole content is included.
    whole: BTreeSet<PathBuf>,
}

impl Places {
    /// A path with the links on the way to it, all that is below it, and what links in it lead to.
    fn add(&mut self, path: &Path) -> io::Result<()> {
        let mut pending = vec![path.to_path_buf()];
        while let Some(path) = pending.pop() {
            let Some((above, name)) = path.parent().zip(path.file_name()) else { continue };
            // What a link leads to may not be there.
            let Ok(above_really) = above.canonicalize() else { continue };
            let place = above_really.join(name);
            let Ok(there) = place.symlink_metadata() else { continue };
            for link in above.ancestors().filter(|above| above.is_symlink()) {
                if let Some((above, name)) = link.parent().zip(link.file_name()) {
                    self.found.insert(above.canonicalize()?.join(name));
                }
            }
            self.found.insert(place.clone());
            if !self.whole.insert(place.clone()) {
                continue;
            }
            if there.is_symlink() {
                pending.push(above_really.join(fs::read_link(&place)?));
            } else if there.is_dir()
                && let Some(entries) = permitted(fs::read_dir(&place)).map_err(at(&place))?
            {
                for entry in entries {
                    pending.push(entry?.path());
                }
            }
            // Directories above are there for what is below them.
            self.found.extend(
                place
                    .ancestors()
                    .skip(1)
                    .filter(|above| above.parent().is_some())
                    .map(Path::to_path_buf),
            );
        }
        Ok(())
    }
}

fn append(archive: &mut tar::Builder<impl Write>, place: &Path) -> io::Result<()> {
    let there = place.symlink_metadata()?;
    let inside = place.strip_prefix("/").unwrap_or(place);
    let mut header = tar::Header::new_gnu();
    // Compiled modules are told to be current by the time of their sources. That of a directory is when one was
    // first compiled there, perhaps.
    let time = if there.is_dir() { 0 } else { there.mtime() };
    header.set_mtime(u64::try_from(time).unwrap_or(0));
    header.set_size(0);
    if there.is_symlink() {
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_mode(0o777);
        return archive.append_link(&mut header, inside, fs::read_link(place)?);
    }
    // Whoever runs there is another user than the one whose files they are.
    let runs = there.is_dir() || there.permissions().mode() & 0o111 != 0;
    header.set_mode(if runs { 0o755 } else { 0o644 });
    if there.is_dir() {
        header.set_entry_type(tar::EntryType::Directory);
        return archive.append_data(&mut header, inside, io::empty());
    }
    if there.is_file() {
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(there.len());
        let Some(file) = permitted(File::open(place))? else { return Ok(()) };
        return archive.append_data(&mut header, inside, file);
    }
    Ok(())
}

/// Returns `None` for a file that this user may not read: programs of the environment, run by this
/// user, may not either.
fn permitted<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        opened => opened.map(Some),
    }
}

fn at(place: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("read {}: {error}", place.display()))
}

struct Hashing<'a> {
    into: &'a File,
    hasher: blake3::Hasher,
    /// True if the bytes written count for the digest.
    counts: bool,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.into.write(bytes)?;
        if self.counts {
            self.hasher.update(&bytes[..count]);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_linker_tells_is_read() {
        let printed = "program /usr/bin/env\n\tlinux-vdso.so.1 (0x1)\n\
            \tlibc.so.6 => /lib/x/libc.so.6 (0x2)\n\t/lib64/ld.so.2 (0x3)\n\
            \tlibgone.so => not found\n\tstatically linked\n";
        let found: Vec<&Path> = needed(printed).collect();
        assert_eq!(found, ["/usr/bin/env", "/lib/x/libc.so.6", "/lib64/ld.so.2"].map(Path::new));
    }

    #[test]
    fn what_python_keeps_compiled_is_there_and_changes_no_digest() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("one.py"), "x").unwrap();
        let digest = || {
            let file = tempfile::tempfile().unwrap();
            let digest = write(&[root.path().to_owned()], &SandboxView::default(), &file).unwrap();
            (digest, file.metadata().unwrap().len())
        };
        let (bare, size) = digest();
        fs::create_dir(root.path().join("__pycache__")).unwrap();
        fs::write(root.path().join("__pycache__/one.pyc"), "y").unwrap();
        let (cached, grown) = digest();
        assert_eq!(cached, bare);
        assert!(grown > size);
        fs::write(root.path().join("two.py"), "x").unwrap();
        assert_ne!(digest().0, bare);
    }

    #[test]
    fn links_are_followed_and_kept() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/bin")).unwrap();
        fs::create_dir(root.join("other")).unwrap();
        fs::write(root.join("real/bin/python"), "x").unwrap();
        fs::write(root.join("other/file"), "x").unwrap();
        fs::write(root.join("beside"), "x").unwrap();
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, root.join(at)).unwrap();
        link("real", "named");
        link("../../other/file", "real/bin/link");
        link("nowhere", "real/bin/broken");
        link(".", "real/bin/here");
        fs::write(root.join("other/second"), "x").unwrap();
        let mut places = Places::default();
        let mut check = |path: &str, expected: &[&str]| {
            places.add(&root.join(path)).unwrap();
            let found = places.found.iter().filter_map(|place| place.strip_prefix(&root).ok());
            let found: Vec<&str> = found.filter_map(Path::to_str).collect();
            assert_eq!(
                found.iter().filter(|path| !path.is_empty()).collect::<Vec<_>>(),
                expected.iter().collect::<Vec<_>>()
            );
        };
        let linked = [
            "named",
            "other",
            "other/file",
            "real",
            "real/bin",
            "real/bin/broken",
            "real/bin/here",
            "real/bin/link",
            "real/bin/python",
        ];
        check("named/bin", &linked);
        // A directory that was there for one of its files is added whole.
        let all: Vec<&str> = [&linked[..3], &["other/second"], &linked[3..]].concat();
        check("other", &all);
    }
}
