//! The rows: each attack, and its expected result.

use std::{
    fs,
    net::{TcpListener, UdpSocket},
    os::{linux::net::SocketAddrExt, unix::net::SocketAddr},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use bollard::{Docker, query_parameters::ListContainersOptionsBuilder};
use gistify_tools::{Interrupt, LocalSandbox, Sandbox, SandboxError, Status};

use crate::{Attack, MB, tries};

pub fn programs_work_inside(attack: &Attack) {
    let out = attack.output(
        "import getpass, multiprocessing, os, socket, subprocess, sys, tempfile, threading\n\
         print(os.getcwd() == sys.argv[0] or os.getuid(), getpass.getuser(), socket.gethostname())\n\
         s = socket.create_server(('localhost', 0)); c = socket.create_connection(s.getsockname())\n\
         a, _ = s.accept(); c.sendall(b'over loopback'); print(a.recv(99).decode())\n\
         print(subprocess.run(['sh', '-c', 'echo child'], capture_output=True, text=True).stdout.strip())\n\
         with tempfile.TemporaryFile() as f: print(f.write(b'x' * 1000))\n\
         t = threading.Thread(target=print, args=['thread']); t.start(); t.join()\n\
         with multiprocessing.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))\n\
         open('result', 'w').write('written')\n",
    );
    // An engine's files belong to who asks it, where that is not root.
    // SAFETY: geteuid has no preconditions.
    let user = match (attack.kind, unsafe { libc::geteuid() }) {
        ("docker", own @ 1..) => own,
        _ => 1000,
    };
    let rest = "user sandbox\nover loopback\nchild\n1000\nthread\n[1, 2]";
    assert_eq!(out, format!("{user} {rest}"));
    assert_eq!(fs::read_to_string(attack.directory().join("result")).unwrap(), "written");
    let finished =
        attack.run(&attack.request("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"));
    assert_eq!(finished.status, Status::Signaled(11));
    let finished =
        attack.run(&attack.request("import sys; print('x', file=sys.stderr); sys.exit(3)"));
    assert_eq!((finished.status, finished.stderr.text().as_str()), (Status::Exited(3), "x\n"));
    // An engine tells the memory and the time of what runs longer.
    let told = finished.max_rss > 4 * MB && finished.cpu > Duration::ZERO;
    assert!(told || attack.kind == "docker");
    let mut request = attack.request("");
    request.program = "/no/such/program".into();
    let error = attack.sandbox.run(&request).unwrap_err();
    assert!(matches!(error, SandboxError::Start { .. }), "{error}");
    let mut request = attack.request("");
    request.cwd = "/no/such/directory".into();
    let error = attack.sandbox.run(&request).unwrap_err();
    assert!(matches!(error, SandboxError::Start { .. }), "{error}");
}

pub fn s01_write_scope(attack: &Attack) {
    let places = [
        "/usr/x",
        "/x",
        "/etc/x",
        "/dev/x",
        "/etc/passwd",
        "/sys/x",
        "/proc/x",
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/proc/1/mem",
    ];
    let tries: Vec<String> = places.iter().map(|place| format!("open('{place}', 'w')")).collect();
    let tries: Vec<&str> = tries.iter().map(String::as_str).collect();
    let out = attack.output(&self::tries(&tries));
    for (place, found) in places.iter().zip(out.lines()) {
        let expected = match *place {
            "/proc/x" | "/proc/1/mem" if found == "ENOENT" => "ENOENT",
            // Not every kernel has it.
            "/proc/sysrq-trigger" if found == "ENOENT" => "ENOENT",
            _ => "EROFS",
        };
        // The first process of a container has the filter and the rights of all others.
        let same = *place == "/proc/1/mem" && attack.kind == "docker";
        assert!(found == expected || found == "EACCES" || same, "{place} {found}");
    }
    // What is readable is not writable.
    let readable = tempfile::tempdir().unwrap();
    let place = readable.path().canonicalize().unwrap();
    fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(place.join("file"), "text").unwrap();
    let mut request = attack.request(&self::tries(&[
        &format!("open('{}/file').read()", place.display()),
        &format!("open('{}/file', 'w')", place.display()),
        &format!("os.chmod('{}/file', 0)", place.display()),
    ]));
    request.readable.push(place);
    assert_eq!(attack.run(&request).stdout.text(), "text\nEROFS\nEROFS\n");
}

pub fn s02_read_scope(attack: &Attack) {
    let home = std::env::var("HOME").unwrap_or("/root".to_owned());
    let canary = tempfile::Builder::new().prefix("canary").tempfile_in(&home);
    let canary = canary.as_ref().map_or("/none".into(), |file| file.path().display().to_string());
    let other = tempfile::NamedTempFile::new().unwrap();
    let out = attack.output(&tries(&[
        "open('/etc/shadow')",
        &format!("open('{canary}')"),
        &format!("open('{}')", other.path().display()),
        "open('/var/log/dpkg.log')",
        "open('/root/.bashrc')",
        "open('/etc/ssl/private/x')",
        "sorted(os.listdir('/proc'))[:3]",
    ]));
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[..6].iter().all(|line| *line == "ENOENT"), "{out}");
    let numbers: Vec<u32> = attack
        .output("import os; print(*[p for p in os.listdir('/proc') if p.isdigit()])")
        .split(' ')
        .map(|pid| pid.parse().unwrap())
        .collect();
    // Its own and what started it, counted from the namespace's beginning.
    assert!(numbers.len() <= 5 && numbers.iter().all(|&pid| pid < 100), "{numbers:?}");
}

pub fn s03_network(attack: &Attack) {
    let tcp = TcpListener::bind("0.0.0.0:0").unwrap();
    let udp = UdpSocket::bind("0.0.0.0:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let (tcp, port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    let out = attack.output(&format!(
        "import socket\n\
         for host in ['127.0.0.1', '192.0.2.1', '8.8.8.8']:\n\
         \x20   try: socket.create_connection((host, {tcp}), timeout=5); print('connected')\n\
         \x20   except (TimeoutError, socket.timeout): print('waited')\n\
         \x20   except OSError: print('failed')\n\
         \x20   try: print(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', (host, {port})))\n\
         \x20   except OSError: print('failed')\n\
         try: socket.getaddrinfo('example.com', 80); print('resolved')\n\
         except OSError: print('failed')\n"
    ));
    // Connections are refused at once: nothing waits for an answer that cannot come.
    for happened in ["connected", "waited", "resolved"] {
        assert!(!out.contains(happened), "{out}");
    }
    assert!(udp.recv_from(&mut [0; 8]).is_err());
}

pub fn s04_vm_sockets(attack: &Attack) {
    let out = attack.output(&tries(&[
        "socket.socket(40, 1)",
        "socket.socket(38, 5)",
        "socket.socket(17, 3)",
        "socket.socket(socket.AF_UNIX).close()",
    ]));
    assert_eq!(out, "EPERM\nEPERM\nEPERM\nNone");
}

pub fn s05_fork_bomb(attack: &Attack) {
    let mut request = attack.request(
        "import os, time\n\
         n = 0\n\
         try:\n\
         \x20   while n < 5000:\n\
         \x20       if os.fork() == 0: time.sleep(60); os._exit(0)\n\
         \x20       n += 1\n\
         except BlockingIOError: print('EAGAIN', flush=True)\n\
         os._exit(0)\n",
    );
    request.limits.processes = 30;
    let finished = attack.run(&request);
    if finished.status == Status::Signaled(9) {
        println!("nothing counts processes here: the bomb was killed instead");
        return;
    }
    assert_eq!(
        finished.stdout.text(),
        "EAGAIN\n",
        "{:?} {}",
        finished.status,
        finished.stderr.text()
    );
}

pub fn s06_independent_quotas(attack: &Attack) {
    let mut request = attack.request(
        "import os, time\n\
         for _ in range(30):\n\
         \x20   if os.fork() == 0: time.sleep(1); os._exit(0)\n\
         for _ in range(30): os.wait()\n",
    );
    request.limits.processes = 40;
    thread::scope(|scope| {
        let runs: Vec<_> = (0..2).map(|_| scope.spawn(|| attack.run(&request))).collect();
        for run in runs {
            let finished = run.join().unwrap();
            assert_eq!(finished.status, Status::Exited(0), "{}", finished.stderr.text());
        }
    });
}

pub fn s07_tree_memory(attack: &Attack) {
    for script in [
        "import os, time\n\
         for _ in range(4):\n\
         \x20   if os.fork() == 0: x = b'1' * 200_000_000; time.sleep(60); os._exit(0)\n\
         time.sleep(60)\n",
        "import os, time\n\
         f = os.memfd_create('x')\n\
         for _ in range(400): os.write(f, b'1' * 1_000_000)\n\
         time.sleep(60)\n",
    ] {
        let mut request = attack.request(script);
        request.limits.memory = 300 * MB;
        request.limits.file = 1000 * MB;
        let finished = attack.run(&request);
        assert_eq!(finished.status, Status::OutOfMemory, "{script}");
        assert!(finished.wall < Duration::from_secs(40));
    }
}

pub fn s08_cpu_and_wall(attack: &Attack) {
    let mut request = attack.request("while True: pass");
    request.limits.cpu = Duration::from_secs(1);
    assert_eq!(attack.run(&request).status, Status::TimedOut);
    let mut request = attack.request(
        "import signal, time\n\
         for s in range(1, 32):\n\
         \x20   try: signal.signal(s, signal.SIG_IGN)\n\
         \x20   except OSError: pass\n\
         time.sleep(60)\n",
    );
    request.limits.wall = Duration::from_secs(1);
    assert_eq!(attack.run(&request).status, Status::TimedOut);
}

pub fn s09_output(attack: &Attack) {
    let finished = attack.run(&attack.request(
        "import os\n\
         x = b'x' * 1_000_000\n\
         for _ in range(1000): os.write(1, x)\n",
    ));
    assert_eq!(finished.stdout.bytes.len() as u64, MB);
    assert!(finished.stdout.dropped > 900_000_000);
}

pub fn s10_whole_tree_kill(attack: &Attack) {
    let mut request = attack.request(
        "import os, time\n\
         for _ in range(3):\n\
         \x20   if os.fork() == 0:\n\
         \x20       os.setsid()\n\
         \x20       if os.fork() == 0: time.sleep(1000)\n\
         \x20       os._exit(0)\n\
         print('up', flush=True)\n\
         time.sleep(float(os.environ['WAIT']))\n",
    );
    for (wait, status) in [("0", Status::Exited(0)), ("1000", Status::TimedOut)] {
        request.env.insert("WAIT".to_owned(), wait.to_owned());
        // A container may take seconds to start on a busy machine.
        request.limits.wall = Duration::from_secs(if wait == "0" { 60 } else { 8 });
        let finished = attack.run(&request);
        assert_eq!((finished.status, finished.stdout.text().as_str()), (status, "up\n"));
        assert_eq!(processes_in(&attack.directory()), 0);
    }
}

pub fn s11_supervisor_killed(attack: &Attack) {
    let script = "import os, time\n\
        if os.fork() == 0: os.setsid(); time.sleep(1000)\n\
        open('up', 'w').close()\n\
        time.sleep(1000)\n";
    // The program that is killed is this test itself, run again.
    if let Some(directory) = std::env::var_os("GISTIFY_TEST_S11") {
        let mut request = attack.request(script);
        request.cwd = directory.into();
        request.writable.push(request.cwd.clone());
        attack.run(&request);
        return;
    }
    let directory = attack.directory();
    let mut ours = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &attack.row("s11_supervisor_killed")])
        .env("GISTIFY_TEST_S11", &directory)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !directory.join("up").exists() {
        assert_eq!(ours.try_wait().unwrap(), None);
        thread::sleep(Duration::from_millis(10));
    }
    assert_ne!(processes_in(&directory), 0);
    ours.kill().unwrap();
    ours.wait().unwrap();
    if attack.kind == "docker" {
        // What an engine still runs is ended at the next start.
        drop(Attack::by(attack.kind));
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while processes_in(&directory) != 0 {
        assert!(Instant::now() < deadline, "processes survive");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(containers_in(attack, &directory), 0);
}

pub fn s12_secrets(attack: &Attack) {
    // Set for this process and its children only.
    if std::env::var_os("GISTIFY_TEST_S12").is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &attack.row("s12_secrets")])
            .env("GISTIFY_TEST_S12", "canary-7d1f")
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let mut request = attack.request(
        "import glob\n\
         seen = 0\n\
         for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):\n\
         \x20   try: text = open(path, 'rb').read()\n\
         \x20   except OSError: continue\n\
         \x20   seen += 1\n\
         \x20   if b'canary-' + b'7d1f' in text: print(path)\n\
         \x20   if b'a-value-' + b'given' in text and '/1/' in path: print(path)\n\
         print(seen > 2)\n",
    );
    if attack.kind != "docker" {
        // The first process of a container has the environment of the program.
        request.env.insert("GIVEN".to_owned(), "a-value-given".to_owned());
    }
    assert_eq!(attack.run(&request).stdout.text(), "True\n");
}

pub fn s13_descriptors(attack: &Attack) {
    let file = fs::File::open("/dev/null").unwrap();
    // SAFETY: duplicates a descriptor that is open, without the flag that closes it.
    assert!(unsafe { libc::dup(std::os::fd::AsRawFd::as_raw_fd(&file)) } > 2);
    // The listing's own descriptor is 3.
    assert_eq!(
        attack.output("import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"),
        "[0, 1, 2, 3]"
    );
}

pub fn s14_privilege(attack: &Attack) {
    let out = attack.output(
        "import re, subprocess\n\
         status = open('/proc/self/status').read()\n\
         print(*re.findall(r'(?:NoNewPrivs|CapEff|CapPrm|CapBnd|Seccomp):\\s*(\\w+)', status))\n\
         for command in ['su -c true', 'mount -t tmpfs x /tmp']:\n\
         \x20   try: print(subprocess.run(command.split(), capture_output=True).returncode != 0)\n\
         \x20   except FileNotFoundError: print(True)\n",
    );
    let zero = "0000000000000000";
    assert_eq!(out, format!("{zero} {zero} {zero} 1 2\nTrue\nTrue"));
}

pub fn s15_terminal(attack: &Attack) {
    let out = attack.output(&tries(&[
        "open('/dev/tty')",
        "__import__('fcntl').ioctl(0, 0x5412, b'x')",
        "__import__('fcntl').ioctl(os.openpty()[1], 0x5412, b'x')",
        "__import__('fcntl').ioctl(os.openpty()[1], 0x541c, b'x')",
    ]));
    assert_eq!(out.replace("ENOENT", "ENXIO"), "ENXIO\nEPERM\nEPERM\nEPERM");
}

pub fn s18_disk(attack: &Attack) {
    let mut request = attack.request(
        "import errno, os\n\
         for place in ['/tmp', '/dev/shm', '/run', '/var/tmp']:\n\
         \x20   written = 0\n\
         \x20   try:\n\
         \x20       with open(place + '/x', 'wb') as f:\n\
         \x20           while written < 600: f.write(b'x' * 1_000_000); f.flush(); written += 1\n\
         \x20   except OSError as e: print(errno.errorcode[e.errno], end=' ')\n\
         \x20   os.remove(place + '/x')\n\
         \x20   files = 0\n\
         \x20   try:\n\
         \x20       while files < 80_000: os.mkdir(f'{place}/{files}'); files += 1\n\
         \x20   except OSError as e: print(errno.errorcode[e.errno])\n",
    );
    request.limits.memory = 400 * MB;
    request.limits.file = 1000 * MB;
    let finished = attack.run(&request);
    assert_eq!(
        finished.stdout.text(),
        "ENOSPC ENOSPC\n".repeat(4),
        "{:?} {}",
        finished.status,
        finished.stderr.text()
    );
}

/// The places that it may write are the machine's: all files together have a limit, whoever writes them.
pub fn s18_disk_of_the_whole_tree(attack: &Attack) {
    let mut request = attack.request(
        "import os, time\n\
         for child in range(3): os.fork()\n\
         for number in range(100):\n\
         \x20   with open(f'{os.getpid()}-{number}', 'wb') as file: file.write(b'x' * 4_000_000)\n\
         \x20   time.sleep(0.05)\n",
    );
    request.limits.disk = 100 * MB;
    let finished = attack.run(&request);
    assert_eq!(finished.status, Status::Signaled(libc::SIGXFSZ), "{}", finished.stderr.text());
    let entries = fs::read_dir(attack.directory()).unwrap().flatten();
    let held: u64 = entries.map(|entry| entry.metadata().unwrap().len()).sum();
    assert!(held < 3000 * MB, "{held} bytes");
    fs::read_dir(attack.directory()).unwrap().flatten().for_each(|entry| {
        fs::remove_file(entry.path()).unwrap();
    });
    let mut request = attack.request(
        "import time\n\
         for number in range(100_000):\n\
         \x20   open(f'empty-{number}', 'w').close()\n\
         \x20   if number % 1000 == 0: time.sleep(0.05)\n",
    );
    request.limits.disk = 8 * MB;
    let finished = attack.run(&request);
    assert_eq!(finished.status, Status::Signaled(libc::SIGXFSZ), "{}", finished.stderr.text());
    fs::read_dir(attack.directory()).unwrap().flatten().for_each(|entry| {
        fs::remove_file(entry.path()).unwrap();
    });
    let small = attack.run(&attack.request("print(open('small', 'w').write('text'))"));
    assert_eq!(small.stdout.text(), "4\n");
}

pub fn s19_unix_sockets(attack: &Attack) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let name = format!("gistify-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
    let _abstract = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let connect = |to: String| format!("socket.socket(socket.AF_UNIX).connect({to})");
    let out = attack.output(&tries(&[
        &connect(format!("'{}'", path.display())),
        &connect(format!("'\\0{name}'")),
        &connect("'/var/run/docker.sock'".to_owned()),
    ]));
    assert_eq!(out, "ENOENT\nECONNREFUSED\nENOENT");
}

pub fn s20_kernel_surface(attack: &Attack) {
    let calls = [
        libc::SYS_unshare,
        libc::SYS_io_uring_setup,
        libc::SYS_userfaultfd,
        libc::SYS_ptrace,
        libc::SYS_bpf,
        libc::SYS_keyctl,
        libc::SYS_clock_settime,
        libc::SYS_mount,
        libc::SYS_setns,
        libc::SYS_perf_event_open,
    ];
    let mut expressions: Vec<String> =
        calls.iter().map(|number| format!("call({number}, 0x10000000, 0, 0, 0, 0)")).collect();
    // clone with a new user namespace, and numbers that nobody knows.
    expressions.push(format!("call({}, 0x10000000 | 17, 0, 0, 0, 0)", libc::SYS_clone));
    let expressions: Vec<&str> = expressions.iter().map(String::as_str).collect();
    assert_eq!(attack.output(&tries(&expressions)), ["EPERM"; 11].join("\n"));
    let unknown = [&*format!("call({}, 0, 0)", libc::SYS_clone3), "call(9999)"];
    assert_eq!(attack.output(&tries(&unknown)), ["ENOSYS"; 2].join("\n"));
    // By another convention: refused or fatal.
    let finished = attack.run(&attack.request(&tries(&["call(0x40000000 | 39)"])));
    let refused = finished.stdout.text() == "ENOSYS\n";
    assert!(refused || finished.status == Status::Signaled(libc::SIGSYS), "{finished:?}");
}

pub fn writable_places_are_not_chosen_by_links(attack: &Attack) {
    attack.output("import os; os.symlink('/etc', 'evil')");
    let mut request = attack.request("");
    request.writable.push(attack.directory().join("evil"));
    let error = attack.sandbox.run(&request).unwrap_err().to_string();
    assert!(error.contains("is reached through a link"), "{error}");
}

pub fn many_at_once_leave_nothing(attack: &Attack) {
    for promise in attack.sandbox.promises() {
        println!("{}: {}", promise.what, promise.holds);
    }
    assert!(attack.sandbox.promises().iter().filter(|promise| promise.holds).count() >= 3);
    let bare = LocalSandbox::new(Interrupt::new()).promises();
    // Room on disk is looked at from outside, walls or not.
    assert!(bare.iter().all(|promise| !promise.holds || promise.what.contains("disk")));
    let request = attack.request("import os; os.fork(); print(1)");
    thread::scope(|scope| {
        let runs: Vec<_> = (0..32).map(|_| scope.spawn(|| attack.run(&request))).collect();
        for run in runs {
            assert_eq!(run.join().unwrap().status, Status::Exited(0));
        }
    });
    assert_eq!(processes_in(&attack.directory()), 0);
    assert_eq!(containers_in(attack, &attack.directory()), 0);
}

/// Returns the number of an engine's containers that see a directory, running or not.
fn containers_in(attack: &Attack, directory: &Path) -> usize {
    if attack.kind != "docker" {
        return 0;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let containers = runtime.block_on(async {
        let engine = match std::env::var("DOCKER_HOST") {
            Ok(host) => Docker::connect_with_host(&host).unwrap(),
            Err(_) => Docker::connect_with_unix_defaults().unwrap(),
        };
        let engine = engine.negotiate_version().await.unwrap();
        let options = ListContainersOptionsBuilder::new().all(true).build();
        engine.list_containers(Some(options)).await.unwrap()
    });
    let mounts = containers.into_iter().map(|container| container.mounts.unwrap_or_default());
    let sees =
        |source: Option<String>| source.is_some_and(|source| Path::new(&source) == directory);
    mounts.filter(|mounts| mounts.iter().any(|mount| sees(mount.source.clone()))).count()
}

/// Returns the number of processes with their working directory there.
fn processes_in(directory: &Path) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == directory))
        .count()
}
