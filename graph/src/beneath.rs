//! Opens files below a directory, whatever becomes of the path while it is walked: a link or `..` that
//! leads out, and one that is put there between a look and an opening, is refused by the kernel.
//!
//! It opens for reading only, and never waits for the other end of a pipe.

use std::{
    ffi::CString,
    fs::{self, File, OpenOptions},
    io,
    mem::zeroed,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::fs::OpenOptionsExt,
    },
    path::{Component, Path, PathBuf},
};

/// Opens a file or directory below `root`; links that stay below it are followed.
///
/// # Errors
/// When there is none, or the path leads out (`EXDEV`, `ELOOP`, or permission denied).
pub fn open_beneath(root: &Path, path: &Path) -> io::Result<File> {
    let top = directory(root)?;
    match open_in(&top, path) {
        // An absolute link may still lead to a place below: that place is opened, by its own path.
        Err(error) if error.raw_os_error() == Some(libc::EXDEV) => {
            let real = fs::canonicalize(root.join(path))?;
            let below = real.strip_prefix(fs::canonicalize(root)?).map_err(|_| error)?;
            open_in(&top, below)
        }
        opened => opened,
    }
}

fn directory(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_CLOEXEC).open(path)
}

fn open_in(top: &File, path: &Path) -> io::Result<File> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let name = CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: all zeroes are a valid value of this plain structure.
    let mut how: libc::open_how = unsafe { zeroed() };
    how.flags = (libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK) as u64;
    how.resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_MAGICLINKS;
    // SAFETY: the descriptor is open, the name ends in a null byte, and `how` is of the given size.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_openat2,
            top.as_raw_fd(),
            name.as_ptr(),
            &raw const how,
            size_of::<libc::open_how>(),
        )
    };
    if opened >= 0 {
        let number = i32::try_from(opened).map_err(io::Error::other)?;
        // SAFETY: the kernel just gave this descriptor to us.
        return Ok(File::from(unsafe { OwnedFd::from_raw_fd(number) }));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // Kernels before 5.6, and filters that do not know it.
        Some(libc::ENOSYS | libc::EPERM) => step_by_step(top, path),
        _ => Err(error),
    }
}

/// The same without the kernel's help: no part of the path may be a link.
fn step_by_step(top: &File, path: &Path) -> io::Result<File> {
    let mut at = top.try_clone()?;
    let mut parts: Vec<PathBuf> = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => parts.push(PathBuf::from(name)),
            Component::ParentDir if parts.pop().is_some() => {}
            _ => return Err(io::Error::from_raw_os_error(libc::EXDEV)),
        }
    }
    for part in parts {
        let name = CString::new(part.as_os_str().as_encoded_bytes())?;
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOFOLLOW;
        // SAFETY: the descriptor is open and the name ends in a null byte.
        let opened = unsafe { libc::openat(at.as_raw_fd(), name.as_ptr(), flags) };
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave this descriptor to us.
        at = File::from(unsafe { OwnedFd::from_raw_fd(opened) });
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        os::unix::fs::symlink,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir_all(root.join("inner")).unwrap();
        fs::create_dir(outer.path().join("out")).unwrap();
        fs::write(root.join("inner/file"), "own").unwrap();
        fs::write(outer.path().join("out/file"), "secret").unwrap();
        (outer, root)
    }

    fn text(file: io::Result<File>) -> Option<String> {
        let mut text = String::new();
        file.ok()?.read_to_string(&mut text).ok()?;
        Some(text)
    }

    #[test]
    fn s17_no_path_and_no_link_leads_out() {
        let (outer, root) = place();
        let out = outer.path().join("out");
        symlink(&out, root.join("away")).unwrap();
        symlink("../out/file", root.join("linked")).unwrap();
        symlink("inner/file", root.join("within")).unwrap();
        symlink(root.join("inner"), root.join("absolute")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let secret = out.join("file");
        for open in [open_beneath, |root: &Path, path: &Path| step_by_step(&directory(root)?, path)]
        {
            let read = |path: &str| text(open(&root, Path::new(path)));
            for path in [
                "../out/file",
                "inner/../../out/file",
                "away/file",
                "linked",
                "loop",
                "none",
                "/etc/passwd",
                "/proc/self/environ",
                &secret.to_string_lossy(),
            ] {
                assert_eq!(read(path), None, "{path}");
            }
            assert_eq!(read("inner/../inner/./file").as_deref(), Some("own"));
        }
        let read = |path: &str| text(open_beneath(&root, Path::new(path)));
        assert_eq!(read("within").as_deref(), Some("own"));
        assert_eq!(read("absolute/file").as_deref(), Some("own"));
    }

    #[test]
    fn s17_a_link_put_there_in_between_does_not_lead_out() {
        let (outer, root) = place();
        let (real, link) = (root.join("real"), root.join("inner"));
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    fs::rename(&link, &real).unwrap();
                    symlink(outer.path().join("out"), &link).unwrap();
                    fs::remove_file(&link).unwrap();
                    fs::rename(&real, &link).unwrap();
                }
            });
            for _ in 0..3000 {
                let read = text(open_beneath(&root, Path::new("inner/file")));
                assert_ne!(read.as_deref(), Some("secret"));
            }
            ended.store(true, Ordering::Relaxed);
        });
    }
}
