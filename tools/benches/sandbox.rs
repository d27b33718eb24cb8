//! Measures the cost of the local sandbox, and checks that it leaves nothing behind.
//!
//! `cargo bench -p gistify-tools --bench sandbox [-- --starts N] [--row N]` prints each figure
//! beside its limit and fails if one is missed:
//!
//! - a start beside bubblewrap's own with the same binds: at most 1.5 times (in turns, medians)
//! - 1 GB of output: less than 64 MB of our memory
//! - 32 sandboxes at once: no process, directory or group is left
//! - 1,000 in a row: no descriptor is left
//! - a script that spins or ignores signals: dead 2 s after its limit
//! - the network: fails within 1 s

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use gistify_tools::{Host, Interrupt, Limits, LocalSandbox, Network, Request, Sandbox, Status};

type Failure = Box<dyn Error>;

const MB: u64 = 1 << 20;

fn main() -> Result<(), Failure> {
    let mut words = env::args().skip(1).filter(|word| word != "--bench");
    let (mut starts, mut row) = (60, 1000);
    while let Some(word) = words.next() {
        let number =
            words.next().and_then(|word| word.parse().ok()).ok_or("a number is missing")?;
        match word.as_str() {
            "--starts" => starts = number,
            "--row" => row = number,
            _ => return Err(format!("unknown option {word}").into()),
        }
    }
    let host = Host::from_variables(env::vars());
    let place = tempfile::tempdir()?;
    let place = place.path().canonicalize()?;
    let mut missed = 0;
    let mut told = |what: &str, found: f64, limit: f64, unit: &str| {
        let holds = found <= limit;
        missed += usize::from(!holds);
        let word = if holds { "holds" } else { "MISSED" };
        println!("{what:44} {found:9.2} {unit:9} at most {limit:7.2}  {word}");
    };
    let local = LocalSandbox::by_bubblewrap(&host, Interrupt::new())?;
    told("start, times bubblewrap's own", start(&local, &place, starts)?, 1.5, "x");
    told("memory for 1 GB of output", output(&local, &place)?, 64.0, "MB");
    told("S08: after its limit, what spins", overtime(&local, &place, SPINS, false)?, 2.0, "s");
    told("S08: what ignores signals", overtime(&local, &place, IGNORES, true)?, 2.0, "s");
    told("S03: the slowest of TCP, UDP and DNS", network(&local, &place)?, 1.0, "s");
    let before = count_leftovers(&place);
    at_once(&local, &place)?;
    told("left by 32 at once", (count_leftovers(&place) - before) as f64, 0.0, "things");
    let before = descriptors();
    for _ in 0..row {
        run(&local, &request(&place, "/bin/true", &[]))?;
    }
    told(&format!("descriptors left by {row} in a row"), (descriptors() - before) as f64, 0.0, "");
    match LocalSandbox::by_namespaces(Interrupt::new()) {
        Ok(ours) => {
            let before = count_leftovers(&place);
            at_once(&ours, &place)?;
            told(
                "left by 32 at once, namespaces",
                (count_leftovers(&place) - before) as f64,
                0.0,
                "things",
            );
            told("memory for 1 GB of output, namespaces", output(&ours, &place)?, 64.0, "MB");
            told("S08: what spins, namespaces", overtime(&ours, &place, SPINS, false)?, 2.0, "s");
            let late = overtime(&ours, &place, IGNORES, true)?;
            told("S08: what ignores signals, namespaces", late, 2.0, "s");
            told("S03: the network, namespaces", network(&ours, &place)?, 1.0, "s");
        }
        Err(error) => println!("skipped: {error}"),
    }
    if missed > 0 { Err(format!("{missed} limits are missed").into()) } else { Ok(()) }
}

fn request(place: &Path, program: &str, args: &[&str]) -> Request {
    Request {
        program: PathBuf::from(program),
        args: args.iter().map(Into::into).collect(),
        cwd: place.to_path_buf(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        readable: vec![],
        writable: vec![place.to_path_buf()],
        hidden: Vec::new(),
        network: Network::Loopback,
        limits: Limits {
            wall: Duration::from_secs(300),
            cpu: Duration::from_secs(300),
            memory: 1024 * MB,
            processes: 64,
            output: 4 * MB,
            file: 64 * MB,
            disk: 1024 * MB,
        },
    }
}

fn run(sandbox: &LocalSandbox, request: &Request) -> Result<(), Failure> {
    let finished = sandbox.run(request)?;
    match finished.status {
        Status::Exited(0) => Ok(()),
        status => Err(format!("{status:?}: {}", finished.stderr.text()).into()),
    }
}

/// Medians of our start and of bubblewrap's, which take turns on a busy machine.
fn start(sandbox: &LocalSandbox, place: &Path, rounds: usize) -> Result<f64, Failure> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let request = request(place, "/bin/true", &[]);
    let words = bubblewrap(place);
    for _ in 0..rounds {
        let began = Instant::now();
        run(sandbox, &request)?;
        ours.push(began.elapsed());
        let began = Instant::now();
        let status = Command::new("bwrap")
            .args(&words)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null())
            .status()?;
        theirs.push(began.elapsed());
        if !status.success() {
            return Err("bubblewrap by itself fails".into());
        }
    }
    ours.sort();
    theirs.sort();
    let (ours, theirs) = (ours[rounds / 2].as_secs_f64(), theirs[rounds / 2].as_secs_f64());
    println!("start: {:.1} ms, bubblewrap by itself {:.1} ms", ours * 1e3, theirs * 1e3);
    Ok(ours / theirs)
}

/// Bubblewrap's own options for the namespaces and binds that a request without files of its own has.
fn bubblewrap(place: &Path) -> Vec<String> {
    let mut words: Vec<String> = [
        "--unshare-all --unshare-user --disable-userns --new-session --die-with-parent --uid 1000",
        "--gid 1000 --hostname sandbox --cap-drop ALL --dev /dev --remount-ro /dev --proc /proc",
    ]
    .iter()
    .flat_map(|words| words.split(' '))
    .map(str::to_owned)
    .collect();
    let mut bind = |option: &str, place: &str| {
        words.extend([option.to_owned(), place.to_owned(), place.to_owned()]);
    };
    for name in ["acpi", "bus", "fs", "irq", "sys", "sysrq-trigger"] {
        bind("--ro-bind-try", &format!("/proc/{name}"));
    }
    for name in ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"] {
        bind("--ro-bind-try", name);
    }
    let settings = "alternatives ca-certificates ca-certificates.conf fonts gai.conf host.conf \
        ld.so.cache ld.so.conf ld.so.conf.d locale.alias localtime magic mime.types nsswitch.conf \
        os-release pip.conf protocols rpc services ssl/certs ssl/openssl.cnf terminfo timezone";
    for name in settings.split_whitespace() {
        bind("--ro-bind-try", &format!("/etc/{name}"));
    }
    for name in ["/sys/devices/system/cpu", "/sys/devices/system/node"] {
        bind("--ro-bind-try", name);
    }
    for name in ["/tmp", "/var/tmp", "/dev/shm", "/run"] {
        words.extend(["--tmpfs".to_owned(), name.to_owned()]);
    }
    let place = place.to_string_lossy().into_owned();
    words.extend(["--bind".to_owned(), place.clone(), place.clone()]);
    words.extend(["--remount-ro", "/", "--chdir", &place, "--clearenv", "--"].map(str::to_owned));
    words.push("/bin/true".to_owned());
    words
}

/// By how much our peak grows while a program writes 1 GB, in MB.
fn output(sandbox: &LocalSandbox, place: &Path) -> Result<f64, Failure> {
    // The peak so far is forgotten.
    fs::write("/proc/self/clear_refs", "5")?;
    let before = status("VmRSS:");
    let finished =
        sandbox.run(&request(place, "/bin/sh", &["-c", "head -c 1073741824 /dev/zero"]))?;
    let kept = finished.stdout.bytes.len() as u64;
    if finished.status != Status::Exited(0) || kept + finished.stdout.dropped != 1024 * MB {
        return Err(format!("{:?}, {kept} bytes kept", finished.status).into());
    }
    Ok(status("VmHWM:").saturating_sub(before) as f64 / 1024.0)
}

const SPINS: &str = "while :; do :; done";
const IGNORES: &str = "trap '' HUP INT QUIT TERM; while :; do sleep 1; done";

/// Returns the seconds from a limit of one second (wall or CPU time) to the end of the script.
fn overtime(
    sandbox: &LocalSandbox,
    place: &Path,
    script: &str,
    of_wall: bool,
) -> Result<f64, Failure> {
    let mut request = request(place, "/bin/sh", &["-c", script]);
    let limit = Duration::from_secs(1);
    *if of_wall { &mut request.limits.wall } else { &mut request.limits.cpu } = limit;
    let began = Instant::now();
    let finished = sandbox.run(&request)?;
    match finished.status {
        Status::TimedOut => Ok(began.elapsed().saturating_sub(limit).as_secs_f64()),
        status => Err(format!("{status:?}: {}", finished.stderr.text()).into()),
    }
}

/// Returns the seconds that the slowest of several connection attempts takes to fail.
fn network(sandbox: &LocalSandbox, place: &Path) -> Result<f64, Failure> {
    const TRIES: &str = "
import socket, time
took = []
def attempt(call):
    began = time.monotonic()
    try: call()
    except OSError: took.append(time.monotonic() - began)
for host in ['192.0.2.1', '8.8.8.8']:
    attempt(lambda: socket.create_connection((host, 80), timeout=5))
    attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', (host, 53)))
attempt(lambda: socket.getaddrinfo('example.com', 80))
print(len(took), max(took))
";
    let finished = sandbox.run(&request(place, "/usr/bin/python3", &["-c", TRIES]))?;
    let text = finished.stdout.text();
    match text.split_once(' ') {
        Some(("5", slowest)) => Ok(slowest.trim().parse()?),
        _ => Err(format!("{:?}: {text}{}", finished.status, finished.stderr.text()).into()),
    }
}

/// A figure of this process, in KiB.
fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn at_once(sandbox: &LocalSandbox, place: &Path) -> Result<(), Failure> {
    let script = "sleep 100 & (setsid sleep 100 &) ; echo x > /tmp/x";
    let request = request(place, "/bin/sh", &["-c", script]);
    thread::scope(|scope| {
        let runs: Vec<_> = (0..32)
            .map(|_| scope.spawn(|| run(sandbox, &request).map_err(|error| error.to_string())))
            .collect();
        runs.into_iter().try_for_each(|run| run.join().unwrap_or_else(|_| Err("panic".to_owned())))
    })
    .map_err(Into::into)
}

/// Children of ours, processes in the place, entries of the place and control groups of ours.
fn count_leftovers(place: &Path) -> usize {
    let own = std::process::id();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().filter(|entry| {
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let child = status.lines().any(|line| line == format!("PPid:\t{own}"));
        child || fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == place)
    });
    let groups = walk(Path::new("/sys/fs/cgroup"), &format!("gistify-{own}-"));
    processes.count() + fs::read_dir(place).into_iter().flatten().count() + groups
}

fn walk(directory: &Path, prefix: &str) -> usize {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| {
            let ours = entry.file_name().to_string_lossy().starts_with(prefix);
            usize::from(ours) + walk(&entry.path(), prefix)
        })
        .sum()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").into_iter().flatten().count()
}
