//! Tests the local sandbox: the ends of runs, their limits, and that no process survives.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use gistify_tools::{
    Finished, Interrupt, Limits, LocalSandbox, Network, Request, Sandbox, SandboxError, Status,
};

const MB: u64 = 1 << 20;

fn limits() -> Limits {
    Limits {
        wall: Duration::from_secs(60),
        cpu: Duration::from_secs(60),
        memory: 1024 * MB,
        processes: 64,
        output: MB,
        file: 64 * MB,
        disk: 256 * MB,
    }
}

fn shell(script: &str, directory: &Path) -> Request {
    Request {
        program: PathBuf::from("/bin/sh"),
        args: vec!["-c".into(), script.into()],
        cwd: directory.to_path_buf(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
        readable: vec![],
        writable: vec![directory.to_path_buf()],
        hidden: Vec::new(),
        network: Network::Loopback,
        limits: limits(),
    }
}

fn run(request: &Request) -> Finished {
    LocalSandbox::default().run(request).expect("the sandbox works")
}

/// A directory that is removed, and in it a script that is run.
fn run_script(script: &str, change: impl FnOnce(&mut Request)) -> (Finished, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let mut request = shell(script, directory.path());
    change(&mut request);
    (run(&request), directory)
}

fn check(script: &str, status: Status, stdout: &str, stderr: &str) {
    let (finished, _directory) = run_script(script, |_| {});
    assert_eq!(finished.stdout.text(), stdout, "{script}");
    assert_eq!(finished.stderr.text(), stderr, "{script}");
    assert_eq!(finished.status, status, "{script}");
}

#[test]
fn reports_how_it_ended() {
    check("echo out; echo err >&2; exit 3", Status::Exited(3), "out\n", "err\n");
    check("kill -TERM $$", Status::Signaled(15), "", "");
    check("cat; echo $?", Status::Exited(0), "0\n", "");
    check("umask", Status::Exited(0), "0022\n", "");
}

#[test]
fn gives_only_the_environment_asked_for() {
    let (finished, _directory) = run_script("", |request| {
        request.program = "/usr/bin/env".into();
        request.args = vec![];
        request.env = BTreeMap::from([("A".to_owned(), "b c".to_owned())]);
    });
    assert_eq!(finished.stdout.text(), "A=b c\n");
}

#[test]
fn names_what_cannot_be_started() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |change: fn(&mut Request)| {
        let mut request = shell("true", directory.path());
        change(&mut request);
        match LocalSandbox::default().run(&request) {
            Err(error @ SandboxError::Start { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let error = refused(|request| request.program = "/no/such/program".into());
    assert!(error.starts_with("start /no/such/program: No such file"), "{error}");
    let error = refused(|request| request.cwd = "/no/such/directory".into());
    assert!(error.starts_with("start /bin/sh: enter /no/such/directory: No such file"), "{error}");
    let error = refused(|request| request.program = "sh".into());
    assert_eq!(error, "start sh: sh is no absolute path");
}

#[test]
fn s08_cpu_and_wall() {
    let (limit, asleep) = (Duration::from_secs(1), Duration::from_secs(600));
    let (finished, _directory) = run_script("while :; do :; done", |request| {
        request.limits.cpu = limit;
        request.limits.wall = asleep;
    });
    assert_eq!(finished.status, Status::TimedOut);
    // It is no other limit that ended it.
    assert!(finished.cpu >= limit && finished.wall < asleep, "{finished:?}");
    let script = format!("trap '' TERM INT HUP; sleep {}", asleep.as_secs());
    let (finished, _directory) = run_script(&script, |request| {
        request.limits.wall = limit;
    });
    assert_eq!(finished.status, Status::TimedOut);
    assert!(finished.wall >= limit && finished.wall < asleep, "{:?}", finished.wall);
}

#[test]
fn cpu_time_is_that_of_the_whole_tree() {
    let spin = "(i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done)";
    let (alone, _directory) = run_script(spin, |_| {});
    let (both, _directory) = run_script(&format!("{spin} & {spin} & wait"), |_| {});
    assert!(both.cpu > alone.cpu, "{:?} {:?}", both.cpu, alone.cpu);
    let (orphan, _directory) = run_script(
        &format!("(setsid sh -c '{spin}; touch done' &); while ! [ -e done ]; do sleep 0.05; done"),
        |_| {},
    );
    assert!(orphan.cpu * 2 > alone.cpu, "{:?} {:?}", orphan.cpu, alone.cpu);
}

#[test]
fn s09_output() {
    let before = resident();
    let (finished, _directory) = run_script(
        "echo first; head -c 1000000000 /dev/zero; echo; echo last; head -c 500000000 /dev/zero >&2",
        |_| {},
    );
    let grown = resident().saturating_sub(before);
    assert_eq!(finished.status, Status::Exited(0));
    assert_eq!(finished.stdout.bytes.len() as u64, MB);
    assert_eq!(finished.stdout.dropped, 1_000_000_012 - MB);
    assert!(finished.stdout.bytes.starts_with(b"first\n"));
    assert!(finished.stdout.bytes.ends_with(b"\nlast\n"));
    assert_eq!(finished.stderr.dropped, 500_000_000 - MB);
    assert!(grown < 64 * MB, "{grown}");
}

#[test]
fn s07_tree_memory() {
    let Some(python) = python() else { return };
    // One after the other: the first holds all of its own before there is a second, so that the largest is
    // known however the processes are scheduled.
    let script = format!(
        "for i in 1 2 3 4; do {} -c 'x = b\"1\" * 200_000_000; open(\"up'$i'\", \"w\"); import time; time.sleep(60)' & \
         while ! [ -e up$i ]; do sleep 0.05; done; done; wait",
        python.display()
    );
    let (finished, _directory) = run_script(&script, |request| {
        request.limits.memory = 300 * MB;
    });
    assert_eq!(finished.status, Status::OutOfMemory);
    assert!(finished.max_rss > 150 * MB, "{}", finished.max_rss);
}

#[test]
fn s10_whole_tree_kill() {
    let script = "for i in 1 2 3; do setsid sh -c 'setsid sleep 1000 & setsid sleep 1000 & wait' & done; sleep 0.2; echo up";
    let (finished, directory) = run_script(script, |_| {});
    assert_eq!(finished.stdout.text(), "up\n");
    assert_eq!(processes_in(directory.path()), 0);
    let (finished, directory) = run_script(&format!("{script}; sleep 1000"), |request| {
        request.limits.wall = Duration::from_millis(700);
    });
    assert_eq!(finished.status, Status::TimedOut);
    assert_eq!(processes_in(directory.path()), 0);
}

#[test]
fn s13_descriptors() {
    // Inherited on purpose: no close-on-exec flag.
    let file = fs::File::open("/dev/null").unwrap();
    // SAFETY: duplicates a descriptor that is open.
    let leaked = unsafe { libc::dup(std::os::fd::AsRawFd::as_raw_fd(&file)) };
    assert!(leaked > 2);
    // The listing's own descriptor is 3.
    let (finished, _directory) = run_script("exec ls /proc/self/fd", |_| {});
    assert_eq!(finished.stdout.text(), "0\n1\n2\n3\n");
}

#[test]
fn file_size_is_limited() {
    let (finished, directory) = run_script("head -c 3000000 /dev/zero > big; echo $?", |request| {
        request.limits.file = MB;
    });
    assert_ne!(finished.stdout.text(), "0\n");
    assert_eq!(fs::metadata(directory.path().join("big")).unwrap().len(), MB);
}

#[test]
fn interruption_ends_every_run() {
    let interrupt = Interrupt::new();
    let sandbox = LocalSandbox::new(interrupt.clone());
    let directory = tempfile::tempdir().unwrap();
    let request = shell("touch up.$$; setsid sleep 1000 & sleep 1000", directory.path());
    thread::scope(|scope| {
        let runs: Vec<_> =
            (0..3).map(|_| scope.spawn(|| sandbox.run(&request).unwrap().status)).collect();
        while fs::read_dir(directory.path()).unwrap().count() < 3 {
            thread::sleep(Duration::from_millis(10));
        }
        interrupt.trigger();
        for run in runs {
            assert_eq!(run.join().unwrap(), Status::Interrupted);
        }
    });
    assert_eq!(processes_in(directory.path()), 0);
    assert_eq!(sandbox.run(&request).unwrap().status, Status::Interrupted);
}

#[test]
fn s11_supervisor_killed() {
    // The program that is killed is this test itself, run again.
    if let Some(directory) = std::env::var_os("GISTIFY_TEST_S11") {
        let script = "setsid sh -c 'setsid sleep 1000 & touch up; wait' & sleep 1000";
        run(&shell(script, Path::new(&directory)));
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut ours = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "s11_supervisor_killed"])
        .env("GISTIFY_TEST_S11", directory.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !directory.path().join("up").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    assert_ne!(processes_in(directory.path()), 0);
    ours.kill().unwrap();
    ours.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while processes_in(directory.path()) != 0 {
        assert!(Instant::now() < deadline, "processes survive");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn many_runs_leak_nothing() {
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let directory = tempfile::tempdir().unwrap();
    let request = shell("true", directory.path());
    run(&request);
    let before = descriptors();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    assert_eq!(run(&request).status, Status::Exited(0));
                }
            });
        }
    });
    // Other tests of this process hold some of their own.
    assert!(descriptors() < before + 60, "{before} {}", descriptors());
}

/// Returns the number of processes with their working directory there.
fn processes_in(directory: &Path) -> usize {
    let directory = directory.canonicalize().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == directory))
        .count()
}

/// Resident size of this process in bytes.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn python() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&path).map(|entry| entry.join("python3")).find(|p| p.is_file());
    if found.is_none() {
        println!("skipped: no python3 on PATH");
    }
    found
}
