//! Tests the cgroup in which a supervised program starts, in a cgroup hierarchy made by the test.

use super::*;
use std::{fs, os::unix::ffi::OsStrExt, path::Path};

/// A hierarchy of groups, mounted for a test.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new() -> Option<Mounted> {
        let place = Mounted(tempfile::tempdir().unwrap());
        let at = CString::new(place.0.path().as_os_str().as_bytes()).unwrap();
        let kind = c"cgroup2".as_ptr();
        // SAFETY: all are strings.
        let done = unsafe { libc::mount(kind, at.as_ptr(), kind, 0, ptr::null()) };
        if done != 0 {
            println!("skipped: mount cgroup2: {}", io::Error::last_os_error());
            std::mem::forget(place);
            return None;
        }
        Some(place)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let at = CString::new(self.0.path().as_os_str().as_bytes()).unwrap();
        // SAFETY: it is a string.
        unsafe { libc::umount2(at.as_ptr(), libc::MNT_DETACH) };
    }
}

fn told_group(birthplace: Option<&Path>, door: &Path) -> String {
    let launch = Launch {
        program: c"/bin/cat".to_owned(),
        args: vec![c"cat".to_owned(), c"/proc/self/cgroup".to_owned()],
        env: vec![],
        cwd: c"/".to_owned(),
        rlimits: vec![],
        groups: vec![File::options().write(true).open(door).unwrap().into()],
        birthplace: birthplace.map(|place| File::open(place).unwrap().into()),
        group_paths: vec![],
        boxed: None,
        walls: None,
    };
    let mut supervisor = start(&launch).map_err(|error| format!("{error:?}")).unwrap();
    let mut text = String::new();
    supervisor.stdout.read_to_string(&mut text).unwrap();
    supervisor.read_report().unwrap().unwrap();
    text
}

#[test]
fn programs_are_born_in_their_group() {
    let Some(mounted) = Mounted::new() else { return };
    let name = format!("gistify-test-{}", std::process::id());
    let group = mounted.0.path().join(&name);
    fs::create_dir(&group).unwrap();
    let door = group.join("cgroup.procs");
    // Whoever enters writes into the door: where nobody does, any file is one.
    let none = tempfile::NamedTempFile::new().unwrap();
    let told = [told_group(Some(&group), none.path()), told_group(None, &door)];
    fs::remove_dir(&group).unwrap();
    for told in told {
        assert!(told.lines().any(|line| line.ends_with(&format!("/{name}"))), "{told}");
    }
    assert_eq!(fs::read(none.path()).unwrap(), b"");
}
