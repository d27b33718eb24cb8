//! Tests workspaces: the copied files of a repository, and that nothing remains.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
    time::UNIX_EPOCH,
};

use gistify_tools::{Repository, RepositoryError, Workspace, WorkspaceError};
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

/// Files and links below a directory, and what they hold.
fn contents(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_symlink() {
                found.insert(name, format!("-> {}", fs::read_link(&path).unwrap().display()));
            } else if metadata.is_dir() {
                found.insert(name, "directory".to_owned());
                pending.push(path);
            } else {
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn fifo(path: &Path) {
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the path is a valid string.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o644) }, 0);
}

#[test]
fn copies_what_belongs_to_the_repository() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path().join("repository");
    write(
        &root,
        &[
            ("a.py", "x = 1\n"),
            ("data/table.csv", "1,2\n"),
            (".git/config", "[core]\n"),
            ("sub/.git", "gitdir: elsewhere\n"),
            ("env/pyvenv.cfg", "home = /usr\n"),
            ("env/lib/x.py", ""),
            ("conda/conda-meta/history", ""),
            ("__pycache__/a.pyc", ""),
            ("sub/.pytest_cache/v", ""),
            (".hypothesis/x", ""),
            ("run.sh", "true\n"),
            ("../outside.txt", "secret\n"),
        ],
    );
    fs::create_dir(root.join("empty")).unwrap();
    fs::set_permissions(root.join("run.sh"), PermissionsExt::from_mode(0o555)).unwrap();
    fifo(&root.join("pipe.py"));
    let _listener = UnixListener::bind(root.join("socket.py")).unwrap();
    symlink("data/table.csv", root.join("inner")).unwrap();
    symlink("../a.py", root.join("sub/up.py")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("missing", root.join("dangling")).unwrap();
    symlink("../outside.txt", root.join("outer")).unwrap();
    symlink("/dev/zero", root.join("zero.py")).unwrap();
    symlink(root.join("a.py"), root.join("absolute")).unwrap();
    symlink("data/../../outside.txt", root.join("sneaky")).unwrap();

    let repository = Repository::of_directory(&root).unwrap();
    let workspace = Workspace::create(&temporary.path().join("work")).unwrap();
    let copy = workspace.copy(&repository).unwrap();
    let expected = [
        ("a.py", "x = 1\n"),
        ("dangling", "-> missing"),
        ("data", "directory"),
        ("data/table.csv", "1,2\n"),
        ("empty", "directory"),
        ("inner", "-> data/table.csv"),
        ("loop", "-> loop"),
        ("run.sh", "true\n"),
        ("sub", "directory"),
        ("sub/up.py", "-> ../a.py"),
    ];
    let expected: BTreeMap<String, String> =
        expected.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
    assert_eq!(contents(&copy), expected);
    assert_eq!(fs::metadata(copy.join("run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(
        fs::metadata(copy.join("a.py")).unwrap().modified().unwrap(),
        fs::metadata(root.join("a.py")).unwrap().modified().unwrap()
    );

    let skipped: Vec<String> = repository
        .skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.path.display(), skipped.reason))
        .collect();
    assert_eq!(
        skipped,
        [
            ".git: version control",
            ".hypothesis: cache of a tool",
            "__pycache__: cache of a tool",
            "absolute: link out of the repository",
            "conda: virtual environment",
            "env: virtual environment",
            "outer: link out of the repository",
            "pipe.py: pipe, socket or device",
            "sneaky: link out of the repository",
            "socket.py: pipe, socket or device",
            "sub/.git: version control",
            "sub/.pytest_cache: cache of a tool",
            "zero.py: link out of the repository",
        ]
    );
}

#[test]
fn the_fingerprint_stands_for_what_is_copied() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    write(root, &[("a.py", "x = 1\n"), ("b/c.txt", "1")]);
    let fingerprint = || Repository::of_directory(root).unwrap().fingerprint;
    let first = fingerprint();
    write(root, &[("b/__pycache__/c.pyc", "x"), (".git/HEAD", "x")]);
    assert_eq!(fingerprint(), first);
    write(root, &[("b/c.txt", "2")]);
    let second = fingerprint();
    assert_ne!(second, first);
    fs::set_permissions(root.join("a.py"), PermissionsExt::from_mode(0o755)).unwrap();
    assert_ne!(fingerprint(), second);
    fs::set_permissions(root.join("a.py"), PermissionsExt::from_mode(0o644)).unwrap();
    fs::rename(root.join("b/c.txt"), root.join("b/d.txt")).unwrap();
    assert_ne!(fingerprint(), second);
    fs::rename(root.join("b/d.txt"), root.join("b/c.txt")).unwrap();
    assert_eq!(fingerprint(), second);
}

#[test]
fn large_trees_are_copied_whole() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path().join("repository");
    for directory in 0..20 {
        for file in 0..40 {
            write(&root, &[(&format!("d{directory}/f{file}.py"), &format!("{directory} {file}"))]);
        }
    }
    let repository = Repository::of_directory(&root).unwrap();
    let workspace = Workspace::create(temporary.path()).unwrap();
    let copy = workspace.copy(&repository).unwrap();
    assert_eq!(contents(&copy), contents(&root));
    assert_eq!(Repository::of_directory(&copy).unwrap().fingerprint, repository.fingerprint);
}

#[test]
fn directories_are_asked_to_be_put_far_apart() {
    let temporary = tempfile::tempdir().unwrap();
    let open = |path: &Path| fs::File::open(path).unwrap();
    let workspace = Workspace::create(&temporary.path().join("work")).unwrap();
    let flags = |path: &Path| ioctl_getflags(open(path));
    let set = |flags| ioctl_setflags(open(temporary.path()), flags | IFlags::TOPDIR);
    if let Err(error) = flags(temporary.path()).and_then(set) {
        println!("skipped: the file system has no such hint ({error})");
        return;
    }
    assert!(flags(workspace.root()).unwrap().contains(IFlags::TOPDIR));
}

#[test]
fn nothing_stays_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let work = temporary.path().join("deep/work");
    let workspace = Workspace::create(&work).unwrap();
    let directory = workspace.directory("scratch").unwrap();
    write(&directory, &[("a/b/c.txt", "x")]);
    fs::set_permissions(directory.join("a/b"), PermissionsExt::from_mode(0o000)).unwrap();
    let other = workspace.directory("scratch").unwrap();
    assert_ne!(directory, other);
    workspace.discard(&other);
    assert!(!other.exists());
    workspace.discard(temporary.path());
    assert!(temporary.path().exists());
    drop(workspace);
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
}

#[test]
fn abandoned_workspaces_are_removed_and_others_are_not() {
    let temporary = tempfile::tempdir().unwrap();
    let work = temporary.path();
    let used = Workspace::create(work).unwrap();
    let kept = Workspace::create(work).unwrap().keep();
    write(work, &[("work-of-a-killed-process/.lock", ""), ("work-of-a-killed-process/x", "")]);
    write(work, &[(".new-one/x", ""), ("mine/x", "")]);
    // As one that is being made by another process, however old it says it is.
    let making = fs::File::open(work).unwrap();
    making.lock_shared().unwrap();
    let new = fs::File::open(work.join(".new-one")).unwrap();
    new.set_modified(UNIX_EPOCH).unwrap();
    let another = Workspace::create(work).unwrap();
    assert!(!work.join("work-of-a-killed-process").exists());
    for path in [used.root(), another.root(), &kept, &work.join(".new-one"), &work.join("mine")] {
        assert!(path.exists(), "{}", path.display());
    }
    making.unlock().unwrap();
    let _yet_another = Workspace::create(work).unwrap();
    assert!(!work.join(".new-one").exists());
}

#[test]
fn says_why_a_repository_cannot_be_used() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    write(root, &[("file.py", ""), ("text/readme.md", ""), ("cached/__pycache__/a.pyc", "")]);
    fs::create_dir(root.join("empty")).unwrap();
    let check = |path: &str, expected: &str| {
        let error = Repository::of_directory(&root.join(path)).unwrap_err();
        let expected = format!("read repository {}: {expected}", root.join(path).display());
        assert_eq!(error.to_string(), expected);
        error
    };
    check("missing", "No such file or directory (os error 2)");
    check("file.py", "not a directory");
    assert!(matches!(check("empty", "it is empty"), RepositoryError::Empty { .. }));
    check("cached", "it is empty");
    check("text", "it has no python file");
}

#[test]
fn says_why_a_copy_failed() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path().join("repository");
    write(&root, &[("a.py", "")]);
    let repository = Repository::of_directory(&root).unwrap();
    fs::remove_dir_all(&root).unwrap();
    let workspace = Workspace::create(&temporary.path().join("work")).unwrap();
    let error = workspace.copy(&repository).unwrap_err();
    assert!(matches!(error, WorkspaceError::Copy { .. }));
    assert!(error.to_string().contains(&root.display().to_string()), "{error}");
    let blocked = temporary.path().join("blocked");
    fs::write(&blocked, "").unwrap();
    let error = Workspace::create(&blocked.join("work")).unwrap_err();
    assert!(error.to_string().starts_with("create directory "), "{error}");
}

#[test]
fn a_full_disk_is_said() {
    let temporary = tempfile::tempdir().unwrap();
    let small = temporary.path().join("small");
    fs::create_dir(&small).unwrap();
    let root = temporary.path().join("repository");
    write(&root, &[("a.py", ""), ("big.txt", &"x".repeat(1 << 20))]);
    let repository = Repository::of_directory(&root).unwrap();
    let mount = |args: &[&str]| {
        let output = std::process::Command::new(args[0]).args(&args[1..]).arg(&small).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=256k", "none"]) {
        println!("skipped: no small disk can be mounted here");
        return;
    }
    let result = Workspace::create(&small).map(|workspace| {
        let error = workspace.copy(&repository).unwrap_err().to_string();
        let left = fs::read_dir(workspace.root()).unwrap().count();
        (error, left)
    });
    let left = fs::read_dir(&small).unwrap().count();
    assert!(mount(&["umount"]));
    let (error, left_inside) = result.unwrap();
    assert!(error.ends_with("big.txt: the disk is full"), "{error}");
    // Only its lock.
    assert_eq!((left_inside, left), (1, 0));
}
