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
    check(
        &user,
        &run("none", &TEST),
        3,
        &["none", "no such file or directory", "gistify help repositories"],
    );
    user.repository("empty", "");
    check(&user, &run("empty", &TEST), 3, &["empty", "empty"]);
    user.repository("text", "#- readme.txt\nhello\n");
    check(&user, &run("text", &TEST), 3, &["text", "no python file"]);
    check(&user, &run("txt", &TEST), 3, &["txt", "(did you mean text?)"]);
    let parts = ["readme.txt", "not a directory", "name the directory of the repository"];
    check(&user, &run("text/readme.txt", &TEST), 3, &parts);
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
fn a_scaffold_without_a_slicer_needs_a_model() {
    let user = User::new();
    user.repository("small", SMALL);
    let scaffold = ["run", "small", "--scaffold", "swe-agent", "--"];
    check(&user, &[&scaffold[..], &TEST].concat(), 2, &["scaffold swe-agent needs a model", "-m"]);
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
    let near = ["pytest", "tests/test_numbers.py::test_duble"];
    let question = "(did you mean tests/test_numbers.py::test_double";
    check(&user, &run("small", &near), 3, &["test_duble", "collects no test", question]);
    let elsewhere = ["pytest", "test_numbers.py::test_double"];
    check(&user, &run("small", &elsewhere), 3, &["collects no test", question]);
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

/// Nothing is searched, run or judged before an output is refused: no message of a step comes first.
#[test]
fn outputs_that_cannot_be_written_are_refused_before_the_work() {
    let user = User::new();
    user.repository("small", SMALL);
    for name in ["rows.jsonl", "gist.py"] {
        fs::write(user.here().join(name), "{}\n").unwrap();
    }
    let test = ["--", TEST[0], TEST[1]];
    let no_file = "no file can be made in /proc";
    for (args, part) in [
        (&["run", "small", "-o", "/proc/x.py"][..], no_file),
        (&["run", "small", "--run-dir", "/proc/x"], no_file),
        (&["run", "small", "--each", "-o", "/proc/x"], no_file),
        (&["run", "small", "-o", "none/x.py"], "there is no directory none (make it first)"),
        (&["run", "small", "-o", "rows.jsonl/x.py"], "rows.jsonl is not a directory"),
        (&["repro", "small", "-o", "/proc/x.py"], no_file),
        (&["repro", "small", "--run-dir", "small"], "is not empty"),
        (&["eval", "small", "--gist", "gist.py", "-o", "/dev/null"], "it is no regular file"),
        (&["trace", "small", "-o", "/proc/x.json"], no_file),
        (&["graph", "small", "-o", "/proc/x.json"], no_file),
        (&["collect", "small", "-o", "/proc/x.toml"], no_file),
        (&["bench", "requests", "--run-dir", "/proc/x"], no_file),
        (&["issues", "build", "-o", "/proc/x"], no_file),
        (&["issues", "solve", "rows.jsonl", "-o", "/proc/x"], no_file),
        (&["issues", "eval", "rows.jsonl", "gold", "-o", "/proc/x"], no_file),
        (&["repoexec", "build", "small", "-o", "/proc/x"], no_file),
        (&["repoexec", "generate", "rows.jsonl", "-o", "/proc/x"], no_file),
        (&["repoexec", "eval", "rows.jsonl", "rows.jsonl", "-o", "/proc/x"], no_file),
    ] {
        let takes_command = matches!(args[0], "run" | "repro" | "eval" | "trace");
        let ran = user.gistify(&[args, if takes_command { &test[..] } else { &[] }].concat());
        assert_eq!(ran.code, 3, "{args:?}: {}{}", ran.out, ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
    assert!(Path::new("/dev/null").symlink_metadata().is_ok_and(|null| !null.is_file()));
}

#[test]
fn files_of_json_that_are_none() {
    let user = User::new();
    user.repository("small", SMALL);
    let record = user.here().join("record");
    fs::create_dir(&record).unwrap();
    fs::write(record.join("scores.json"), "hello\n").unwrap();
    for (name, text) in [("text.jsonl", "hello\n\nhello\n"), ("cut.json", "{\n"), ("empty", "\n")] {
        fs::write(user.here().join(name), text).unwrap();
    }
    let row = "{\"instance_id\":\"a__b-1\",\"repo\":\"a/b\",\"base_commit\":\"1f\",\
               \"problem_statement\":\"x\"}\n";
    fs::write(user.here().join("rows.jsonl"), row).unwrap();
    let all_lines = "text.jsonl: none of 2 lines fits; line 1: it is no JSON (column 1)";
    for (args, parts) in [
        (&["issues", "eval", "text.jsonl", "gold"][..], &["read rows", all_lines, "SWE-bench"][..]),
        (
            &["issues", "eval", "rows.jsonl", "text.jsonl"],
            &["read predictions", all_lines, "model_patch"],
        ),
        (&["issues", "eval", "rows.jsonl", "empty"], &["read predictions empty: it is empty"]),
        (&["issues", "eval", "small", "gold"], &["read rows small: it has no task.yaml"]),
        (&["issues", "solve", "none", "-o", "x"], &["read rows none: there is no such file"]),
        (
            &["repoexec", "generate", "text.jsonl", "-o", "x"],
            &["read problems", all_lines, "repoexec build"],
        ),
        (
            &["repoexec", "plot", "cut.json", "-o", "x"],
            &["read verdicts cut.json: line 1: its JSON is cut off", "repoexec eval"],
        ),
        (
            &["oracle", "record"],
            &["read record record/scores.json: it is no JSON (line 1, column 1)", "gistify repro"],
        ),
        (
            &["context", "small", "--focus", "cut.json"],
            &["read trace cut.json: its JSON is cut off (line 2", "gistify trace"],
        ),
    ] {
        let ran = user.gistify(args);
        assert_eq!(ran.code, 3, "{args:?}: {}{}", ran.out, ran.err);
        for part in parts {
            assert!(ran.last_error_line().contains(part), "{args:?}: no {part:?} in {}", ran.err);
        }
    }
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
