//! The sandboxes under attack: each row S of the threat list that is about them is a test in the row's
//! name, once for each sandbox. Where one cannot be had, the reason is printed.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use gistify_tools::{
    DockerOptions, DockerSandbox, Environment, Finished, Host, Interrupt, Limits, LocalSandbox,
    Network, Request, Sandbox, SandboxError, Status,
};

mod rows;

/// A test for each row in each sandbox.
macro_rules! in_each {
    ($kinds:tt $rows:tt) => { in_each! { @kinds $kinds $rows } };
    (@kinds { $($kind:ident)* } $rows:tt) => { $( in_each! { @rows $kind $rows } )* };
    (@rows $kind:ident { $($row:ident)* }) => {
        mod $kind {
            $(
                #[test]
                fn $row() {
                    if let Some(attack) = crate::Attack::by(stringify!($kind)) {
                        crate::rows::$row(&attack);
                    }
                }
            )*
        }
    };
}

in_each! {
    { bubblewrap namespaces docker }
    {
        programs_work_inside
        s01_write_scope
        s02_read_scope
        s03_network
        s04_vm_sockets
        s05_fork_bomb
        s06_independent_quotas
        s07_tree_memory
        s08_cpu_and_wall
        s09_output
        s10_whole_tree_kill
        s11_supervisor_killed
        s12_secrets
        s13_descriptors
        s14_privilege
        s15_terminal
        s18_disk
        s18_disk_of_the_whole_tree
        s19_unix_sockets
        s20_kernel_surface
        writable_places_are_not_chosen_by_links
        many_at_once_leave_nothing
    }
}

const MB: u64 = 1 << 20;

fn limits() -> Limits {
    Limits {
        wall: Duration::from_secs(60),
        cpu: Duration::from_secs(60),
        memory: 1024 * MB,
        processes: 64,
        output: MB,
        file: 64 * MB,
        disk: 8192 * MB,
    }
}

/// A sandbox, a python to attack it with, and a directory that it may write.
struct Attack {
    kind: &'static str,
    sandbox: Box<dyn Sandbox>,
    python: PathBuf,
    directory: tempfile::TempDir,
}

fn boxed(sandbox: impl Sandbox + 'static) -> Box<dyn Sandbox> {
    Box::new(sandbox)
}

impl Attack {
    fn by(kind: &'static str) -> Option<Attack> {
        let host = Host::from_variables(std::env::vars());
        let directory = tempfile::tempdir().unwrap();
        let sandbox: Result<Box<dyn Sandbox>, SandboxError> = match kind {
            "bubblewrap" => LocalSandbox::by_bubblewrap(&host, Interrupt::new()).map(boxed),
            "namespaces" => LocalSandbox::by_namespaces(Interrupt::new()).map(boxed),
            "docker" => {
                let options = DockerOptions {
                    host: std::env::var("DOCKER_HOST").ok(),
                    ..DockerOptions::default()
                };
                DockerSandbox::connect(options, directory.path(), Interrupt::new()).map(boxed)
            }
            kind => panic!("no sandbox {kind}"),
        };
        let sandbox = match sandbox {
            Ok(sandbox) => sandbox,
            Err(error) => {
                let named = kind == "docker" && std::env::var_os("DOCKER_HOST").is_some();
                assert!(!named, "{error}");
                println!("skipped: {error}");
                return None;
            }
        };
        assert_eq!(sandbox.name(), kind);
        let Some(python) = host.find("python3") else {
            println!("skipped: no python3 on the path");
            return None;
        };
        // A shim would not find anything inside.
        let script = "import sys; print(sys.executable)";
        let output = Command::new(python).args(["-c", script]).output().unwrap();
        let python = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        Some(Attack { kind, sandbox, python, directory })
    }

    /// The name of a row's test.
    fn row(&self, name: &str) -> String {
        format!("{}::{name}", self.kind)
    }

    fn directory(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    fn request(&self, script: &str) -> Request {
        let prefix = self.python.canonicalize().unwrap();
        Request {
            program: self.python.clone(),
            args: vec!["-I".into(), "-c".into(), script.into()],
            cwd: self.directory(),
            env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
            readable: vec![
                prefix.parent().unwrap().parent().unwrap().to_path_buf(),
                self.python.parent().unwrap().parent().unwrap().to_path_buf(),
            ],
            writable: vec![self.directory()],
            hidden: Vec::new(),
            network: Network::Loopback,
            limits: limits(),
        }
    }

    fn run(&self, request: &Request) -> Finished {
        self.sandbox.run(request).unwrap()
    }

    /// Runs a script that must end well; gives its output.
    fn output(&self, script: &str) -> String {
        let finished = self.run(&self.request(script));
        let (stdout, stderr) = (finished.stdout.text(), finished.stderr.text());
        assert_eq!(finished.status, Status::Exited(0), "{script}\n{stdout}{stderr}");
        stdout.trim().to_owned()
    }
}

/// Prints the name of the error that each expression raises, or its value.
fn tries(expressions: &[&str]) -> String {
    let mut script = "import ctypes, errno, os, socket\nlibc = ctypes.CDLL(None, use_errno=True)\n\
        def call(*args):\n    r = libc.syscall(*args)\n    \
        if r < 0: raise OSError(ctypes.get_errno(), '')\n    return r\n"
        .to_owned();
    for expression in expressions {
        script += &format!(
            "try: print({expression})\nexcept OSError as e: print(errno.errorcode.get(e.errno, e))\n"
        );
    }
    script
}

/// An image that was made of an environment has all that it needs: nothing of the system is shown to its
/// containers.
#[test]
fn images_are_made_of_environments() {
    let Some(attack) = Attack::by("docker") else { return };
    let options = |image: Option<String>| DockerOptions {
        host: std::env::var("DOCKER_HOST").ok(),
        image,
        ..DockerOptions::default()
    };
    let place = attack.directory();
    let connect =
        |image| DockerSandbox::connect(options(image), &place, Interrupt::new()).map(boxed);
    let engine = DockerSandbox::connect(options(None), &place, Interrupt::new()).unwrap();
    let environment = Environment::of_interpreter(&attack.python, &place, &engine).unwrap();
    let readable = environment.readable.clone();
    let image = engine.make_image(&readable, &place).unwrap();
    assert_eq!(engine.make_image(&readable, &place).unwrap(), image);
    let made = Attack { sandbox: connect(Some(image)).unwrap(), ..attack };
    let script = "import ctypes, getpass, json, os, socket, sqlite3, ssl, subprocess, sys, zlib\n\
         mounts = [line.split()[4] for line in open('/proc/self/mountinfo')]\n\
         print([m for m in mounts if m.startswith(('/usr', '/lib', '/bin', '/etc/ssl', sys.prefix))])\n\
         print(subprocess.run(['sh', '-c', 'echo child | grep child'], capture_output=True, text=True).stdout.strip())\n\
         print(getpass.getuser(), socket.gethostname(), os.path.exists('/usr/share/doc'))\n\
         open('result', 'w').write('written')\n";
    let request = Request { readable, ..made.request(script) };
    let finished = made.run(&request);
    let told = format!("{}{}", finished.stdout.text(), finished.stderr.text());
    assert_eq!(told, "[]\nchild\nuser sandbox False\n");
    assert_eq!(fs::read_to_string(made.directory().join("result")).unwrap(), "written");
    let error = connect(Some("gistify-environment:none".to_owned())).err().unwrap();
    assert!(error.to_string().contains("make one with `gistify image`"), "{error}");
}

/// Installs a program at the place from which it is started.
///
/// Another process writes it. A file that this process has open for writing stays open in each
/// child that another test's thread forks, and cannot be executed until that child calls `exec`.
fn install(program: &Path, at: &Path) {
    let done = Command::new("install").args(["-m", "755"]).arg(program).arg(at).status();
    assert!(done.unwrap().success());
}

#[test]
fn s21_fail_closed() {
    let directory = tempfile::tempdir().unwrap();
    let (text, broken) = (directory.path().join("text"), directory.path().join("bwrap"));
    fs::write(
        &text,
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n",
    )
    .unwrap();
    install(&text, &broken);
    let error = LocalSandbox::isolated_by(&broken, Interrupt::new()).unwrap_err();
    assert!(matches!(error, SandboxError::Unavailable { .. }));
    assert!(error.to_string().contains("No permissions to create new namespace"), "{error}");
    let missing = directory.path().join("none");
    let error = LocalSandbox::isolated_by(&missing, Interrupt::new()).unwrap_err();
    assert!(matches!(error, SandboxError::Unavailable { .. }), "{error}");
    // Even a bubblewrap that claims success is not believed when it started nothing.
    fs::write(&text, "#!/bin/sh\nexit 0\n").unwrap();
    install(&text, &broken);
    let error = LocalSandbox::isolated_by(&broken, Interrupt::new()).unwrap_err();
    assert!(matches!(error, SandboxError::Unavailable { .. }), "{error}");
}

/// All rows once more, as a user who may do nothing special.
#[test]
fn as_an_unprivileged_user() {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: the other tests are run by such a user");
        return;
    }
    const NOBODY: u32 = 65534;
    let place = tempfile::tempdir().unwrap();
    let own = place.path().join("own");
    let program = place.path().join("rows");
    fs::create_dir(&own).unwrap();
    std::os::unix::fs::chown(&own, Some(NOBODY), Some(NOBODY)).unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    install(&std::env::current_exe().unwrap(), &program);
    let mut command = Command::new(&program);
    // Who may ask an engine is in the group of its socket.
    let host = std::env::var("DOCKER_HOST").unwrap_or("unix:///var/run/docker.sock".to_owned());
    let socket = host.strip_prefix("unix://").map(PathBuf::from);
    // Others have to be let through to it.
    let open = |path: &Path| fs::metadata(path).is_ok_and(|place| place.mode() & 0o001 != 0);
    let socket = socket.filter(|path| path.ancestors().skip(1).all(open));
    let socket = socket.and_then(|path| fs::metadata(path).ok());
    let group = socket.filter(|socket| socket.mode() & 0o060 == 0o060).map(|socket| socket.gid());
    let group = group.filter(|group| *group != 0);
    if group.is_none() {
        println!("skipped in containers: no engine whose socket has a group of its own");
        command.args(["--skip", "docker::"]);
    }
    let groups = group.into_iter().collect::<Vec<_>>();
    let become_nobody = move || {
        // SAFETY: the array is as long as is said; the others have no preconditions.
        let failed = unsafe {
            libc::setgroups(groups.len(), groups.as_ptr()) != 0
                || libc::setgid(NOBODY) != 0
                || libc::setuid(NOBODY) != 0
        };
        if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: it keeps to system calls.
    unsafe { command.pre_exec(become_nobody) };
    let output = command
        .args(["--skip", "as_an_unprivileged_user", "--test-threads", "2", "--nocapture"])
        .current_dir(&own)
        .env("HOME", &own)
        .env("TMPDIR", &own)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    println!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success());
}
