//! Tests the remains of a run that the user stops, and two runs started at once.

use std::{os::unix::process::ExitStatusExt, process::Child, thread, time::Duration};

use super::*;

const HANGING: &str = "\
#- slow.py
import subprocess, sys
def wait():
    child = 'import time; time.sleep(1000)  # child of ' + sys.argv[-1]
    subprocess.run([sys.executable, '-c', child])
#- test_slow.py
import slow
def test_wait():
    slow.wait()
";

/// A program that waits for ever where its data file is missing, as it is once its gist runs alone.
const WAITING: &str = "\
#- main.py
import subprocess, sys
CHILD = '''
import os, sys
if not os.path.exists(\"data.txt\"):
    later = \"import time; time.sleep(1000)  # waits for \" + sys.argv[1]
    os.execv(sys.executable, [sys.executable, \"-c\", later])
'''
code = subprocess.run([sys.executable, '-c', CHILD, sys.argv[1]]).returncode
print(code)
if len(sys.argv) > 2:
    raise ValueError(open('data.txt').read().strip())
print(open('data.txt').read())
#- data.txt
red
";

/// Runs a command on a program and interrupts it when the program waits.
fn interrupted_alone(user: &User, command: &str, more: &[&str]) -> Option<Ran> {
    let python = python()?;
    user.repository("waiting", WAITING);
    let name = user.home.path().file_name().unwrap().to_string_lossy().into_owned();
    let args = [command, "waiting", "--python", &python, "--", "python", "main.py", &name];
    let args = [&args[..], more].concat();
    let child = user.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while process_with(&format!("waits for {name}")).is_none() {
        thread::sleep(Duration::from_millis(20));
    }
    signal(&child, libc::SIGINT);
    Some(Ran::of(child.wait_with_output().unwrap(), user))
}

#[test]
fn a_repro_that_is_interrupted_has_its_data() {
    let user = User::new();
    let Some(ran) = interrupted_alone(&user, "repro", &["raise"]) else { return };
    assert_eq!(
        (ran.code, ran.last_error_line()),
        (130, "gistify: interrupted: the best so far is in repro.py")
    );
    assert!(ran.out.starts_with("not run again (interrupted): ValueError: red\n"), "{}", ran.out);
    assert!(
        ran.out.contains("0 trials, interrupted, a longer search may remove more\n"),
        "{}",
        ran.out
    );
    let text = read(&user.here().join("repro.py"));
    let empty = tempfile::tempdir().unwrap();
    fs::write(empty.path().join("repro.py"), &text).unwrap();
    let run = Command::new(python().unwrap()).arg("repro.py").current_dir(empty.path()).output();
    let told = String::from_utf8(run.unwrap().stderr).unwrap();
    assert!(told.ends_with("ValueError: red\n"), "{told}{text}");
}

#[test]
fn a_gist_whose_run_alone_is_interrupted_was_not_tried_alone() {
    let user = User::new();
    let Some(ran) = interrupted_alone(&user, "run", &[]) else { return };
    let alone = ran.out.lines().find_map(|line| line.strip_prefix("  in an empty directory "));
    assert_eq!(
        alone.map(str::trim),
        Some("it was not run there (interrupted)"),
        "{}{}",
        ran.out,
        ran.err
    );
    // Each run of the judge says that it begins.
    for run in
        ["original 1 of 3", "original 3 of 3", "original, traced", "gist", "gist, a second run"]
    {
        let line = format!("judge: {run}");
        assert!(ran.err.lines().any(|one| one == line), "{line}: {}", ran.err);
    }
}

/// Starts a run that hangs and waits until it does; gives the pid of what it started.
fn hanging(user: &User, python: &str) -> (Child, i32) {
    user.repository("hanging", HANGING);
    // Nothing that it writes is seen outside, and its pids are its own.
    let name = user.home.path().file_name().unwrap().to_string_lossy();
    let mark = format!("--junitxml={name}");
    let args = ["run", "hanging", "--python", python, "--", "pytest", "test_slow.py", &mark];
    let child = user.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Only as long as it takes; a run that never gets there is stopped by the test runner.
    loop {
        match process_with(&format!("child of {mark}")) {
            Some(pid) => return (child, pid),
            None => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// A process with this text in its command line.
fn process_with(text: &str) -> Option<i32> {
    let mut entries = fs::read_dir("/proc").unwrap().flatten();
    entries.find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(text).then_some(pid)
    })
}

fn signal(child: &Child, signal: i32) {
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

fn is_alive(pid: i32) -> bool {
    // A process that nobody has waited for yet is dead all the same.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
    })
}

#[test]
fn an_interrupt_leaves_nothing_but_the_record() {
    let Some(python) = python() else { return };
    for number in [libc::SIGINT, libc::SIGTERM] {
        let user = User::new();
        let (child, inner) = hanging(&user, &python);
        signal(&child, number);
        let ran = Ran::of(child.wait_with_output().unwrap(), &user);
        assert_eq!((ran.code, ran.last_error_line()), (130, "gistify: interrupted"), "{}", ran.err);
        assert!(!is_alive(inner), "a child is left");
        assert_eq!(user.leftovers(), Vec::<PathBuf>::new());
        assert!(!user.here().join("concise.py").exists());
        let trajectory = read(&user.record().join("trajectory.jsonl"));
        let last = trajectory.lines().last().unwrap();
        assert!(last.contains(r#""outcome":{"kind":"interrupted"}"#), "{last}");
        let record = user.record().display().to_string();
        let ran = user.gistify(&["export", &record, "--format", "harbor", "-o", "tasks"]);
        let message = format!(
            "gistify: export {record}: its gist was not judged: the run was interrupted (take it up with `gistify run \
             hanging --standalone --resume {record} -- pytest test_slow.py --junitxml="
        );
        assert!(ran.code == 3 && ran.last_error_line().starts_with(&message), "{}", ran.err);
    }
}

#[test]
fn d09_a_run_that_is_stopped_goes_on_when_it_is_continued() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let args = ["bench", "s.toml", "--run-dir", "run"];
    let task = |at: usize| {
        let test = "tests/test_numbers.py::test_double";
        format!("[[task]]\nid = 'task {at}'\ntest = '{test}'\ncommand = 'pytest {test}'\n")
    };
    let head = format!("source = '{}'\npython = '{python}'\n", user.here().join("small").display());
    fs::write(user.here().join("s.toml"), head + &task(0) + &task(1)).unwrap();
    let child = user.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !user.here().join("run/plan.json").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    // At several points, one after the other.
    for _ in 0..3 {
        signal(&child, libc::SIGTSTP);
        // It may have come to its end before.
        while !['T', 'Z'].contains(&state(child.id())) {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(300));
        signal(&child, libc::SIGCONT);
        while state(child.id()) == 'T' {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(200));
    }
    let ran = Ran::of(child.wait_with_output().unwrap(), &user);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(user.leftovers(), Vec::<PathBuf>::new());
}

/// The state of a process as the kernel calls it: `T` where it is stopped, `Z` where it has ended.
fn state(pid: u32) -> char {
    let stat = read(Path::new(&format!("/proc/{pid}/stat")));
    stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next()).unwrap()
}

#[test]
fn d02_a_killed_run_leaves_a_record_that_can_be_read() {
    let Some(python) = python() else { return };
    let user = User::new();
    let (mut child, inner) = hanging(&user, &python);
    signal(&child, libc::SIGKILL);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    let records = gistify::read_trajectory(&user.record().join("trajectory.jsonl")).unwrap();
    assert!(matches!(records.first(), Some(gistify::TrajectoryRecord::Start(_))));
    assert!(!matches!(records.last(), Some(gistify::TrajectoryRecord::End(_))));
    while is_alive(inner) {
        thread::sleep(Duration::from_millis(20));
    }
    // The next run removes what this one could not.
    assert!(!user.leftovers().is_empty());
    user.repository("small", SMALL);
    let command = ["pytest", "tests/test_numbers.py::test_double"];
    let ran = user.gistify(&["run", "small", "--python", &python, "--", command[0], command[1]]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(user.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn two_runs_at_once_in_one_repository() {
    let Some(python) = python() else { return };
    let user = User::new();
    let root = user.repository("small", SMALL);
    let start = |output: &str| {
        let command = ["pytest", "tests/test_numbers.py"];
        let args =
            ["run", "small", "--python", &python, "-o", output, "--", command[0], command[1]];
        let mut command = user.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let before = tree(&root);
    let children: Vec<_> = ["a.py", "b.py"].map(start).into();
    for child in children {
        let ran = Ran::of(child.wait_with_output().unwrap(), &user);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    }
    assert_eq!(read(&user.here().join("a.py")), read(&user.here().join("b.py")));
    assert_eq!(tree(&root), before, "the repository changed");
    assert_eq!(user.leftovers(), Vec::<PathBuf>::new());
}

/// Paths and bytes below a directory.
fn tree(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push((path.clone(), fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}
