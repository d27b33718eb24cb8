//! Bad input: gists and commands that end in a message.

use std::{fs, os::unix::fs::symlink, path::Path};

use gistify_eval::{Submission, read_gist};

use super::bed::{Bed, Original};

fn check_gist(path: &Path, expected: &str) {
    let message = read_gist(path).unwrap_err().to_string();
    let path = path.display().to_string();
    assert_eq!(message.replace(&path, "PATH"), expected);
}

#[test]
fn gists_that_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("empty.py"), "").unwrap();
    fs::write(at("latin.py"), b"x = '\xe9'\n").unwrap();
    fs::write(at("good.py"), "x = 1\n").unwrap();
    symlink(at("good.py"), at("link.py")).unwrap();
    symlink("/dev/zero", at("zero.py")).unwrap();
    // Sparse: a gigabyte that takes no space.
    fs::File::create(at("large.py")).unwrap().set_len(1 << 30).unwrap();
    check_gist(&at("missing.py"), "read gist PATH: no such file");
    check_gist(&at("missing/x.py"), "read gist PATH: no such file");
    check_gist(&at("empty.py"), "read gist PATH: it is empty");
    check_gist(&at("latin.py"), "read gist PATH: no valid utf-8 at byte 5");
    check_gist(directory.path(), "read gist PATH: it is a directory (a gist is a regular file)");
    check_gist(&at("link.py"), "read gist PATH: it is a link (a gist is a regular file)");
    check_gist(&at("zero.py"), "read gist PATH: it is a link (a gist is a regular file)");
    check_gist(Path::new("/dev/null"), "read gist PATH: it is a device (a gist is a regular file)");
    check_gist(&at("large.py"), "read gist PATH: 1073741824 bytes (a gist has at most 8388608)");
    assert_eq!(read_gist(&at("good.py")).unwrap(), "x = 1\n");
}

const FILES: &[(&str, &str)] = &[
    ("pkg.py", "def f():\n    return 1\n"),
    (
        "test_pkg.py",
        "import os, signal, time\nfrom pkg import f\n\n\ndef test_f():\n    assert f() == 1\n\n\ndef test_hang():\n    time.sleep(600)\n\n\ndef test_kill():\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    ),
    ("test_none.py", "x = 1\n"),
];

fn check_command(command: &str, seconds: u64, expected: &str) {
    let Some(mut bed) = Bed::new(&Original { files: FILES, command }) else { return };
    bed.limits.wall = std::time::Duration::from_secs(seconds);
    let error = bed.judge(Submission::Written("x = 1\n".to_owned()), None).unwrap_err();
    let message = error.to_string();
    assert!(message.contains(expected), "{message:?} lacks {expected:?}");
}

#[test]
fn commands_that_are_no_task() {
    check_command("pytest test_none.py", 60, "collects no test");
    check_command("pytest test_pkg.py::test_missing", 60, "collects no test");
    check_command("pytest missing.py::test_f", 60, "collects no test");
    let unknown = "no test: unrecognized arguments: --nothing";
    check_command("pytest --nothing test_pkg.py", 60, unknown);
    check_command("python -m pytest --nothing test_pkg.py", 60, unknown);
    check_command("pytest test_pkg.py::test_hang", 4, "does not end within 4 s");
    check_command("pytest test_pkg.py::test_kill", 60, "is killed by signal 9");
    check_command("python missing.py", 60, "cannot start: the repository has no missing.py");
    check_command("python -m missing", 60, "No module named missing");
}

#[test]
fn nothing_of_the_original_is_changed() {
    let files = [
        ("pkg.py", "def f():\n    return 1\n"),
        (
            "test_pkg.py",
            "import pathlib\nfrom pkg import f\n\n\ndef test_f():\n    pathlib.Path(__file__).with_name('left.txt').write_text('x')\n    assert f() == 1\n",
        ),
    ];
    let Some(bed) = Bed::new(&Original { files: &files, command: "pytest test_pkg.py::test_f" })
    else {
        return;
    };
    let gist = "import pathlib\n\n\ndef f():\n    return 1\n\n\ndef test_f():\n    pathlib.Path(__file__).with_name('left.txt').write_text('x')\n    assert f() == 1\n";
    assert_eq!(bed.verdict(gist).strict().unwrap().score, 1);
    let mut left: Vec<String> = fs::read_dir(&bed.repository.root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["pkg.py", "test_pkg.py"]);
}
