//! CPU time of a traced run over the plain one, beside coverage.py on the same command.
//!
//! `cargo bench -p gistify-tools --bench tracer --profile dev -- SUITE.toml TESTS [--python 3.11]...
//! [--rounds N]` opens the suite's release, makes its environment and installs coverage.py beside it,
//! all in the cache below cargo's target directory. The programs take turns, so that a busy machine
//! hits all of them; a median over the rounds is printed, and whether the limits hold: below 3.12 at
//! most 1.5 times coverage's C tracer, from 3.12 on no slower than its sysmon core.

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use gistify_tools::{
    Artifact, Cache, Command, Environment, Host, Interrupt, Limits, LocalSandbox, Network,
    Observer, OpenOptions, ProvisionRequest, Repository, Request, RunSpec, Sandbox, Status,
    TraceOptions, Workspace, execute, trace_with,
};

type Failure = Box<dyn Error>;

const USAGE: &str = "usage: cargo bench -p gistify-tools --bench tracer --profile dev -- \
    SUITE.toml TESTS [--python 3.11]... [--rounds N]";

fn main() -> Result<(), Failure> {
    // `cargo bench` itself adds its own flag; without a suite there is nothing to measure.
    let mut words = env::args().skip(1).filter(|word| word != "--bench");
    let (mut named, mut pythons, mut rounds) = (Vec::new(), Vec::new(), 7);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--python" => pythons.push(words.next().ok_or(USAGE)?),
            "--rounds" => rounds = words.next().ok_or(USAGE)?.parse()?,
            _ => named.push(word),
        }
    }
    let [suite, tests] = named.as_slice() else {
        println!("{USAGE}");
        return Ok(());
    };
    if pythons.is_empty() {
        pythons = ["3.11", "3.12", "3.13"].map(String::from).to_vec();
    }
    // Cargo runs a bench in the package's directory, whoever types a path is above it.
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no workspace")?;
    let suite = if Path::new(suite).exists() { PathBuf::from(suite) } else { above.join(suite) };
    for python in pythons {
        let (major, minor) = python.split_once('.').ok_or(USAGE)?;
        measure(&suite, tests, (major.parse()?, minor.parse()?), rounds)?;
    }
    Ok(())
}

/// One way to run the tests.
struct Contestant {
    name: &'static str,
    how: How,
}

enum How {
    /// The interpreter with these arguments and this core of coverage's.
    Plainly(Vec<String>, Option<&'static str>),
    /// Under the recorder alone.
    Recorded,
    /// Under our tracer.
    Traced(Observer),
}

struct Bench<'a> {
    sandbox: &'a LocalSandbox,
    environment: &'a Environment,
    command: &'a Command,
    directory: PathBuf,
    scratch: PathBuf,
    peers: PathBuf,
}

fn measure(suite: &Path, tests: &str, python: (u8, u8), rounds: usize) -> Result<(), Failure> {
    let settings: toml::Table = fs::read_to_string(suite)?.parse()?;
    let text =
        |key: &str| settings.get(key).and_then(|value| value.as_str()).ok_or(key.to_string());
    let interrupt = Interrupt::default();
    let cache =
        Cache::open(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"), interrupt.clone())?;
    let sandbox = LocalSandbox::default();
    let host = Host::from_variables(env::vars());
    let artifact = Artifact { file: text("artifact")?.into(), sha256: text("sha256")?.into() };
    let repository = Repository::open(
        &format!("pypi:{}=={}", text("repo")?, text("version")?),
        &OpenOptions {
            cache: &cache,
            sandbox: &sandbox,
            host: &host,
            interrupt: &interrupt,
            artifact: Some(&artifact),
            python: Some(python),
            apart: &[],
            command: &[],
            refresh: false,
            progress: &|_| {},
        },
    )?;
    let pythonpath = [text("pythonpath")?.to_string()];
    let lock = suite.parent().ok_or("no directory")?.join(text("lock")?);
    let request = ProvisionRequest {
        repository: &repository,
        host: &host,
        python: Some(python),
        lock: Some(&lock),
        pythonpath: Some(&pythonpath),
        rebuild: false,
    };
    let environment = Environment::provision(&request, &cache, &sandbox, &|_| {})?;
    let peers = install_peers(&cache, &environment)?;
    let workspace = Workspace::create(&cache.root().join("bench"))?;
    let directory = workspace.copy(&repository)?;
    let command = Command::parse(&format!("python -m pytest -q {tests}"))?;
    let bench = Bench {
        sandbox: &sandbox,
        environment: &environment,
        command: &command,
        scratch: directory.with_extension("scratch"),
        directory,
        peers,
    };
    println!("\n{} on Python {}.{}, {rounds} rounds", command, python.0, python.1);
    let contestants = contestants(&environment, &command, tests, python);
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); contestants.len()];
    for _ in 0..rounds {
        for (contestant, times) in contestants.iter().zip(&mut times) {
            times.push(bench.run(contestant)?);
        }
    }
    report(&contestants, &mut times);
    Ok(())
}

fn contestants(
    environment: &Environment,
    command: &Command,
    tests: &str,
    python: (u8, u8),
) -> Vec<Contestant> {
    let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    let mut pytest = words("-m pytest -p no:cacheprovider");
    pytest.extend(command.args().iter().cloned());
    let top = tests.split('/').next().unwrap_or(tests);
    let mut coverage = words("-m coverage run --data-file=.coverage-of-the-bench");
    coverage.push(format!("--source={},{top}", environment.pythonpath.join(",")));
    coverage.extend(pytest.iter().cloned());
    let mut all = vec![
        Contestant { name: "plain", how: How::Plainly(pytest, None) },
        Contestant {
            name: "coverage, C tracer",
            how: How::Plainly(coverage.clone(), Some("ctrace")),
        },
    ];
    if python >= (3, 12) {
        let how = How::Plainly(coverage, Some("sysmon"));
        all.push(Contestant { name: "coverage, sysmon", how });
    }
    all.push(Contestant { name: "recorded", how: How::Recorded });
    all.push(Contestant { name: "traced", how: How::Traced(Observer::Fastest) });
    if python >= (3, 12) {
        let how = How::Traced(Observer::Settrace);
        all.push(Contestant { name: "traced, settrace", how });
    }
    all
}

fn report(contestants: &[Contestant], times: &mut [Vec<Duration>]) {
    let medians: BTreeMap<&str, f64> = contestants
        .iter()
        .zip(times)
        .map(|(contestant, times)| {
            times.sort();
            (contestant.name, times[times.len() / 2].as_secs_f64())
        })
        .collect();
    for contestant in contestants {
        let median = medians[contestant.name];
        let ratio = median / medians["plain"];
        println!("  {:<22} {median:>6.2} s CPU  {ratio:>5.2} x plain", contestant.name);
    }
    let (peer, most) = match medians.get("coverage, sysmon") {
        Some(sysmon) => (sysmon, 1.0),
        None => (&medians["coverage, C tracer"], 1.5),
    };
    let ratio = medians["traced"] / peer;
    let verdict = if ratio <= most { "holds" } else { "is exceeded" };
    println!("  traced over its peer: {ratio:.2}; the limit of {most:.1} {verdict}");
}

impl Bench<'_> {
    fn run(&self, contestant: &Contestant) -> Result<Duration, Failure> {
        let limits = Limits {
            wall: Duration::from_secs(600),
            cpu: Duration::from_secs(600),
            memory: 4 << 30,
            processes: 200,
            output: 1 << 20,
            file: 1 << 30,
            disk: 16 << 30,
        };
        let (args, core) = match &contestant.how {
            How::Plainly(args, core) => (args, core),
            How::Recorded => return self.run_ours(limits, None),
            How::Traced(observer) => return self.run_ours(limits, Some(*observer)),
        };
        let entry = |path: PathBuf| path.to_string_lossy().into_owned();
        let own = self.environment.pythonpath.iter().map(|path| self.directory.join(path));
        let path: Vec<String> = own.chain([self.peers.clone()]).map(entry).collect();
        let mut variables: BTreeMap<String, String> = BTreeMap::from([
            ("PYTHONPATH".into(), path.join(":")),
            ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
            ("PYTHONHASHSEED".into(), "0".into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("HOME".into(), entry(self.directory.clone())),
        ]);
        if let Some(core) = core {
            variables.insert("COVERAGE_CORE".into(), core.to_string());
        }
        let finished = self.sandbox.run(&Request {
            program: self.environment.python.clone(),
            args: args.iter().map(Into::into).collect(),
            cwd: self.directory.clone(),
            env: variables,
            readable: vec![self.directory.clone(), self.peers.clone()],
            writable: vec![self.directory.clone()],
            hidden: Vec::new(),
            network: Network::Loopback,
            limits,
        })?;
        if finished.status != Status::Exited(0) {
            let output = String::from_utf8_lossy(&finished.stdout.bytes).into_owned();
            let errors = String::from_utf8_lossy(&finished.stderr.bytes).into_owned();
            return Err(format!("{}: {output}{errors}", contestant.name).into());
        }
        Ok(finished.cpu)
    }

    fn run_ours(&self, limits: Limits, observer: Option<Observer>) -> Result<Duration, Failure> {
        let variables = BTreeMap::new();
        let spec = RunSpec {
            sandbox: self.sandbox,
            environment: self.environment,
            command: self.command,
            directory: &self.directory,
            scratch: &self.scratch,
            limits,
            hash_seed: 0,
            variables: &variables,
            absent: &[],
            max_failures: None,
            link: None,
            around: gistify_tools::Around::default(),
        };
        let run = match observer {
            None => execute(&spec)?,
            Some(observer) => trace_with(&spec, observer, TraceOptions::default())?.0,
        };
        if run.status != Status::Exited(0) {
            return Err(format!("ours: {}{}", run.stdout, run.stderr).into());
        }
        Ok(run.cpu)
    }
}

/// Installs coverage.py into a directory of its own: the environment stays as it is.
fn install_peers(cache: &Cache, environment: &Environment) -> Result<PathBuf, Failure> {
    let (major, minor, _) = environment.version;
    let peers = cache.root().join(format!("bench-peers-{major}.{minor}"));
    if !peers.join("coverage").exists() {
        // The environment has no pip of its own; any interpreter's can install for another version.
        let status = std::process::Command::new("python3")
            .args(["-m", "pip", "install", "-q", "--only-binary", ":all:", "--target"])
            .arg(&peers)
            .args(["--python-version", &format!("{major}.{minor}"), "coverage"])
            .status()?;
        if !status.success() {
            return Err("pip cannot install coverage".into());
        }
    }
    Ok(peers)
}
