//! Measures the overhead of the agent itself, beside its unavoidable costs.
//!
//! - the start of the program, beside the start of a program that does nothing
//! - the time to the first request, beside reading the cached graph
//! - CPU and memory of the loop, with a model and a tool that take none
//!
//! `figures [--python PYTHON] [DIRECTORY]`, where DIRECTORY is a large repository. It is copied and
//! gets a test; none of its code is executed before the first request. Prints one line for each
//! figure and its bound, and fails if a figure exceeds it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use gistify::{
    Agent, Config, Context, Prompts, Scripted, SessionLimits, SimilarityMeasure, Spent, Trajectory,
};
use graph::{BuildOptions, GraphCache};
use serde_json::json;
use tools::Toolset;

mod figure;
#[path = "../tests/outcomes/puppet.rs"]
mod puppet;
#[path = "../tests/providers/server.rs"]
#[allow(dead_code, reason = "most of what it does is for tests")]
mod server;

use figure::{figure, memory, ratio};

/// Steps of the session whose CPU and memory are measured.
const STEPS: usize = 500;
/// Steps after which everything that is made once has been made.
const SETTLED: usize = 100;
/// Starts of each program.
const STARTS: usize = 40;
/// Ways to the first request, and readings of the cache.
const TIMES: usize = 7;

fn main() -> ExitCode {
    // `cargo bench` adds this to what is given.
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let (mut python, mut repository) = (String::from("python3"), None);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--python" => python = args.next().unwrap_or(python),
            _ => repository = Some(PathBuf::from(arg)),
        }
    }
    let mut all = vec![start()];
    all.extend(steps());
    match repository {
        Some(repository) => all.push(first_request(&repository, &python)),
        None => println!("the way to the first request is not measured (name a repository)"),
    }
    match all.into_iter().all(|kept| kept) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// The middle one of several times of something.
fn median(times: usize, mut once: impl FnMut() -> Duration) -> Duration {
    let mut all: Vec<Duration> = (0..times).map(|_| once()).collect();
    all.sort();
    all[times / 2]
}

fn start() -> bool {
    let run = |program: &str, args: &[&str]| {
        let began = Instant::now();
        let status = Command::new(program).args(args).stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|status| status.success()), "{program} fails");
        began.elapsed()
    };
    let ours = median(STARTS, || run(env!("CARGO_BIN_EXE_gistify"), &["--version"]));
    let nothing = median(STARTS, || run("true", &[]));
    let detail = format!("{ours:.1?} beside {nothing:.1?}, medians of {STARTS}");
    figure("--version, times a program that does nothing", ratio(ours, nothing), 5.0, &detail)
}

/// CPU and memory of a session in which neither the model nor the tool takes any.
fn steps() -> [bool; 2] {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("trajectory.jsonl");
    let limits = SessionLimits { steps: STEPS, tokens: u64::MAX, ..puppet::limits() };
    let limits = SessionLimits { seconds: 600.0, ..limits };
    let mut session = puppet::session(directory.path(), &limits);
    let mut model = (0..STEPS).fold(Scripted::new(), |model, _| {
        model.call("submit", json!({ "do": "tell", "lines": 40 }))
    });
    let (sizes, settled) = std::sync::mpsc::channel();
    let mut seen = 0;
    let watch = move |record: &gistify::TrajectoryRecord| {
        if matches!(
            record,
            gistify::TrajectoryRecord::Message { message: gistify::Message::Tool(_), .. }
        ) {
            seen += 1;
            if seen == SETTLED || seen == STEPS {
                let _ = sizes.send(memory("self", "VmRSS").expect("its memory"));
            }
        }
    };
    let trajectory = Trajectory::create(&path, puppet::start(), Box::new(watch)).expect("a record");
    let mut config = Config::defaults();
    config.set("context.turn_tokens=8000").expect("a setting");
    let settings = config.settings().expect("settings");
    let prompts = Prompts::load(None).expect("prompts");
    let toolset = Toolset::new(vec![Box::new(puppet::Puppet)]);
    let agent = Agent {
        model: &mut model,
        toolset: &toolset,
        session: &mut session,
        prompts: &prompts,
        writer: &settings.writer,
        context: Context::new(settings.context.clone(), SimilarityMeasure::Words),
        limits: &limits,
        spent: &Spent::default(),
        trajectory,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    // The vocabulary is loaded once for a process.
    graph::count_tokens("once");
    let (began, wall) = (figure::cpu(libc::RUSAGE_SELF), Instant::now());
    let end = runtime.block_on(agent.run()).expect("an end");
    let (took, wall) = (figure::cpu(libc::RUSAGE_SELF) - began, wall.elapsed());
    assert_eq!(end.steps, STEPS, "{:?}", end.outcome);
    let each = took.as_secs_f64() * 1e3 / STEPS as f64;
    let detail = format!("{STEPS} steps, {wall:.1?} by the clock");
    let cpu = figure("CPU of a step in milliseconds", each, 2.0, &detail);
    let (early, late) = (settled.recv().expect("a size"), settled.recv().expect("a size"));
    // The conversation is kept, which is what a session is about; all else has to stay as it is.
    let kept = fs::metadata(&path).map_or(0, |file| file.len()) as f64 / 1024.0;
    let detail = format!(
        "{:.0} MiB resident at step {SETTLED}, {:.0} MiB at step {STEPS}, with {kept:.0} KiB on record",
        early / 1024.0,
        late / 1024.0
    );
    let flat = figure("memory at the end, times that when settled", late / early, 1.1, &detail);
    [cpu, flat]
}

/// From the start of the program to its first request, beside reading the graph from the cache.
fn first_request(repository: &Path, python: &str) -> bool {
    let home = tempfile::tempdir().expect("a directory");
    let copy = home.path().join("repository");
    let copied = Command::new("cp").arg("-r").arg(repository).arg(&copy).status();
    assert!(copied.is_ok_and(|copied| copied.success()), "{} is copied", repository.display());
    fs::create_dir_all(copy.join("tests")).expect("a directory");
    fs::write(copy.join("tests/test_nothing.py"), "def test_nothing(): pass\n").expect("a file");
    let repository = copy.as_path();
    let down = server::Does::Answer(401, server::JSON, "{}".to_owned());
    let cache = home.path().join(".cache/gistify/graphs");
    let once = || {
        let server = server::Server::start(vec![down.clone()]);
        let began = Instant::now();
        let _ = Command::new(env!("CARGO_BIN_EXE_gistify"))
            .args(["run", "--force", "-q", "-m", "openai/x", "--python", python])
            .arg(repository)
            .args(["--", "pytest", "tests/test_nothing.py"])
            .current_dir(home.path())
            .env("HOME", home.path())
            .env("OPENAI_BASE_URL", &server.address)
            .env("OPENAI_API_KEY", "none")
            .stderr(Stdio::null())
            .status();
        server.seen().first().expect("a request").at - began
    };
    // The first one fills the cache.
    once();
    let ours = median(TIMES, once);
    let cache = GraphCache::new(cache);
    let reading = median(TIMES, || {
        let began = Instant::now();
        let (_, report, _) = cache.build(repository, &BuildOptions::default());
        assert_eq!(report.read, 0, "the cache is not that of the runs");
        began.elapsed()
    });
    let detail = format!("{ours:.1?} beside {reading:.1?}, medians of {TIMES}");
    figure("start to first request, times reading the cache", ratio(ours, reading), 3.0, &detail)
}
