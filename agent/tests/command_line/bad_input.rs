//! PROTOCOL's list of bad input: each ends in a message that names the path and the cause, and in an
//! exit code that says whose fault it is.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// Runs on a repository and expects failure; `PYTHON` in the arguments stands for an interpreter.
#[track_caller]
fn check(user: &User, args: &[&str], code: i32, parts: &[&str]) {
    let Some(python) = python() else { return };
    let args: Vec<_> =
        args.iter().map(|arg| if *arg == "PYTHON" { &*python } else { arg }).collect();
    let ran = user.gistify(&args);
    assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
    for part in parts {
        assert!(ran.last_error_line().contains(part), "no {part:?} in {}", ran.err);
    }
    assert_eq!(user.leftovers(), Vec::<PathBuf>::new());
    assert!(!user.here().join("concise.py").exists(), "there is a gist");
}

fn run<'a>(repository: &'a str, command: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["run", repository, "--python", "PYTHON", "--"];
    args.extend(command);
    args
}

const TEST: [&str; 2] = ["pytest", "tests/test_numbers.py::test_double"];

#[test]
fn repositories_that_are_none() {
    let user = User::new();
    check(&user, &run("none", &TEST), 3, &["none", "no such file or directory"]);
    user.repository("empty", "");
    check(&user, &run("empty", &TEST), 3, &["empty", "empty"]);
    user.repository("text", "#- readme.txt\nhello\n");
    check(&user, &run("text", &TEST), 3, &["text", "no python file"]);
    check(&user, &run("text/readme.txt", &TEST), 3, &["readme.txt", "not a directory"]);
}

#[test]
fn a_repository_that_cannot_be_read() {
    let user = User::new();
    let root = user.repository("closed", SMALL);
    fs::set_permissions(&root, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&root).is_ok() {
        eprintln!("skipped: this user may read everything");
    } else {
        check(&user, &run("closed", &TEST), 3, &["closed", "Permission denied"]);
    }
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn commands_that_are_none() {
    let user = User::new();
    user.repository("small", SMALL);
    check(&user, &run("small", &[""]), 3, &["command is empty"]);
    check(&user, &run("small", &["pytest"]), 3, &["names no test"]);
    check(&user, &run("small", &["pytest 'tests"]), 3, &["ends within a quotation"]);
    let none = ["pytest", "tests/test_numbers.py::test_none"];
    check(&user, &run("small", &none), 3, &["test_none", "collects no test"]);
    check(
        &user,
        &run("small", &["pytest", "tests/none.py"]),
        3,
        &["tests/none.py", "collects no test"],
    );
}

#[test]
fn commands_that_do_not_end() {
    let user = User::new();
    let text = "#- test_a.py\nimport os, time\ndef test_hangs():\n    time.sleep(600)\n\
                def test_dies():\n    os.kill(os.getpid(), 9)\n";
    user.repository("odd", text);
    let mut args = run("odd", &["pytest", "test_a.py::test_hangs"]);
    args.splice(1..1, ["--set", "command.seconds=3"]);
    check(&user, &args, 3, &["test_hangs", "does not end within 3 s"]);
    check(&user, &run("odd", &["pytest", "test_a.py::test_dies"]), 3, &["test_dies", "signal 9"]);
}

#[test]
fn commands_that_cannot_start() {
    let user = User::new();
    user.repository("small", SMALL);
    check(&user, &run("small", &["no-such-tool", "x"]), 3, &["no-such-tool", "cannot start"]);
    for command in [
        &["python", "none.py"][..],
        &["python", "-m", "none"],
        &["python", "-m", "json.tool", "-h"],
    ] {
        check(&user, &run("small", command), 3, &[command[1], "runs no file of the repository"]);
    }
}

#[test]
fn interpreters_that_are_none() {
    let user = User::new();
    user.repository("small", SMALL);
    for (python, parts) in [
        ("/no/such/python", &["/no/such/python"][..]),
        ("/bin/true", &["/bin/true"]),
        ("9.9", &["python9.9", "--python"]),
    ] {
        let args = ["run", "small", "--python", python, "--", TEST[0], TEST[1]];
        check(&user, &args, 4, parts);
    }
}

#[test]
fn an_interpreter_without_pytest() {
    let user = User::new();
    user.repository("small", SMALL);
    let Some(base) = (9..=13).rev().find_map(pythons::interpreter) else { return };
    let bare = user.here().join("bare");
    let made = Command::new(base).args(["-m", "venv", "--without-pip"]).arg(bare).status();
    assert!(made.unwrap().success());
    let args = ["run", "small", "--python", "bare/bin/python", "--", TEST[0], TEST[1]];
    check(&user, &args, 4, &["HERE/bare/bin/python", "no pytest", "pip install pytest"]);
}

#[test]
fn an_output_that_exists_stays() {
    let user = User::new();
    user.repository("small", SMALL);
    let mine = user.here().join("mine.py");
    fs::write(&mine, "mine").unwrap();
    symlink(&mine, user.here().join("link.py")).unwrap();
    for output in ["mine.py", "link.py"] {
        let args = ["run", "small", "--python", "PYTHON", "-o", output, "--", TEST[0], TEST[1]];
        check(&user, &args, 3, &[output, "exists", "--force"]);
    }
    assert_eq!(read(&mine), "mine");
}

#[test]
fn an_output_that_cannot_be_written() {
    let user = User::new();
    user.repository("small", SMALL);
    let args = ["run", "small", "--python", "PYTHON", "-o", "no/such/x.py", "--", TEST[0], TEST[1]];
    check(&user, &args, 3, &["no/such", "there is no directory"]);
}

#[test]
fn a_run_directory_that_is_in_use() {
    let user = User::new();
    user.repository("small", SMALL);
    let args = ["run", "small", "--python", "PYTHON", "--run-dir", "small", "--", TEST[0], TEST[1]];
    check(&user, &args, 3, &["HERE/small", "not empty"]);
}

#[test]
fn tools_and_models_that_there_are_not() {
    let user = User::new();
    user.repository("small", SMALL);
    for (set, part) in [
        ("writer.model=oracle", "no model \"oracle\" (there are offline, human, "),
        ("writer.tools=[\"slise\"]", "no tool \"slise\" (there are trace, "),
        ("writer.prompts=none", "read prompt none: No such file or directory"),
    ] {
        let args = ["run", "small", "--set", set, "--python", "PYTHON", "--", TEST[0], TEST[1]];
        check(&user, &args, 2, &[part]);
    }
}
#[test]
fn gists_that_are_none() {
    let user = User::new();
    user.repository("small", SMALL);
    fs::write(user.here().join("empty.py"), "").unwrap();
    fs::write(user.here().join("bytes.py"), b"x = '\xff'\n").unwrap();
    fs::File::create(user.here().join("huge.py")).unwrap().set_len(1 << 30).unwrap();
    symlink("empty.py", user.here().join("link.py")).unwrap();
    for (gist, parts) in [
        ("none.py", &["none.py", "no such file"][..]),
        ("empty.py", &["empty.py", "empty"]),
        ("bytes.py", &["bytes.py", "utf-8"]),
        ("small", &["small", "directory"]),
        ("link.py", &["link.py", "link"]),
        ("huge.py", &["huge.py", "1073741824 bytes"]),
    ] {
        let args = ["eval", "small", "--gist", gist, "--python", "PYTHON", "--", TEST[0], TEST[1]];
        check(&user, &args, 3, parts);
    }
}

#[test]
fn a_package_index_that_cannot_be_reached() {
    let user = User::new();
    // Nothing listens on the discard port of this machine.
    let mut command = user.command(&["run", "pypi:six==1.16.0", "--", "pytest", "test_six.py"]);
    let ran =
        Ran::of(command.env("PIP_INDEX_URL", "http://127.0.0.1:9/simple").output().unwrap(), &user);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(
        ran.last_error_line().contains("http://127.0.0.1:9/simple/six/"),
        "{}",
        ran.last_error_line()
    );
}

#[test]
fn d04_a_full_disk() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    // A namespace of its own, in which the records go to a disk of a few pages.
    let full = user.here().join("full");
    fs::create_dir(&full).unwrap();
    let mut inside = Command::new("bwrap");
    inside.args(["--dev-bind", "/", "/", "--size", "8192", "--tmpfs"]).arg(&full);
    let record = full.join("record");
    let args = ["run", "small", "--python", &python, "--run-dir", record.to_str().unwrap(), "--"];
    let args: Vec<_> = args.into_iter().chain(TEST).collect();
    let command = user.command(&args);
    inside.arg(command.get_program()).args(command.get_args()).current_dir(user.here());
    inside.env_clear();
    for (name, value) in command.get_envs() {
        inside.env(name, value.unwrap_or_default());
    }
    let ran = match inside.output() {
        Ok(output) => Ran::of(output, &user),
        Err(error) => return eprintln!("skipped: no bwrap ({error})"),
    };
    if ran.err.contains("bwrap:") {
        return eprintln!("skipped: {}", ran.err);
    }
    assert_eq!(ran.code, 5, "{}{}", ran.out, ran.err);
    assert!(ran.last_error_line().contains("HERE/full/record/"), "{}", ran.last_error_line());
    assert!(ran.last_error_line().contains("No space left on device"), "{}", ran.last_error_line());
    assert!(!user.here().join("concise.py").exists());
    assert_eq!(user.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn s24_keys_planted_in_a_repository_are_never_read() {
    let user = User::new();
    let root = user.repository("small", SMALL);
    let planted = "OPENAI_API_KEY=sk-planted\nOPENAI_BASE_URL=http://127.0.0.1:9/v1\n";
    fs::write(root.join(".env"), planted).unwrap();
    fs::write(user.here().join(".env"), planted).unwrap();
    let args = ["run", "small", "-m", "openai/x", "--python", "PYTHON", "--", TEST[0], TEST[1]];
    check(&user, &args, 2, &["provider openai wants a key (set OPENAI_API_KEY in the environment"]);
    // The user's own file is.
    let own = user.home.path().join(".config/gistify");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join(".env"), planted).unwrap();
    let args = ["prompt", "nowhere", "-m", "openai/x", "--", TEST[0], TEST[1]];
    check(&user, &args, 3, &["nowhere"]);
}
