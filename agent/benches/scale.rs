//! Measures the cost of writing a gist for much executed code: packages of many modules and tests
//! of many calls. Compares time and memory with the plain run of the same test and with a package
//! of half the size. Waits for the runs that judge the gist without counting their time: a bench
//! has a separate column for them.
//!
//! `scale [--python PYTHON] [--calls N] [--modules N]`, where PYTHON has pytest. Prints one line
//! for each figure and its bound, and fails if a figure exceeds it.

use std::{
    fmt::Write,
    fs,
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

mod figure;

use figure::{figure, ratio};

/// Modules of the package whose test makes many calls.
const FEW: usize = 20;
/// The largest factor that twice the size may cost: linear, and a tenth for the noise of these
/// machines.
const LINEAR: f64 = 2.2;
/// The largest cost of writing a gist, as a multiple of the plain run.
const PLAIN: f64 = 10.0;
/// Memory of the largest process, in MB.
const MEMORY: f64 = 500.0;

fn main() -> ExitCode {
    // `cargo bench` adds this to what is given.
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let (mut python, mut calls, mut modules) = ("python3".to_owned(), 3_000_000_usize, 1_500_usize);
    while let Some(arg) = args.next() {
        let mut number = |otherwise| args.next().and_then(|n| n.parse().ok()).unwrap_or(otherwise);
        match arg.as_str() {
            "--calls" => calls = number(calls),
            "--modules" => modules = number(modules),
            "--python" => python = args.next().unwrap_or(python),
            other => panic!("{other}: what is that?"),
        }
    }
    let mut kept = true;
    for (what, half, whole) in [
        (format!("{calls} calls"), (FEW, calls / 2), (FEW, calls)),
        (format!("{modules} modules"), (modules.div_ceil(2), modules), (modules, 2 * modules)),
    ] {
        let ([_, half], [plain, whole]) = (times(&python, half), times(&python, whole));
        let detail = format!("{whole:.1?} beside {plain:.1?}");
        kept &=
            figure(&format!("{what}: times the plain run"), ratio(whole, plain), PLAIN, &detail);
        let detail = format!("{whole:.1?} beside {half:.1?}");
        kept &= figure(&format!("{what}: times half as many"), ratio(whole, half), LINEAR, &detail);
    }
    kept &= figure("memory of the largest process, in MB", peak(), MEMORY, "ours and Python's");
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The time of the plain test, and that in which its gist was written.
fn times(python: &str, (modules, calls): (usize, usize)) -> [Duration; 2] {
    let home = tempfile::tempdir().expect("a directory");
    let source = home.path().join("source");
    write(&source, modules, calls / modules);
    let run = |mut command: Command| {
        command.env("HOME", home.path()).stderr(Stdio::null());
        let began = Instant::now();
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{command:?}: {}", output.status);
        (began.elapsed(), output.stdout)
    };
    let mut plain = Command::new(python);
    plain.args(["-B", "-m", "pytest", "-q", "test_large.py"]).current_dir(&source);
    let (plain, _) = run(plain);
    let mut ours = Command::new(env!("CARGO_BIN_EXE_gistify"));
    ours.args([
        "run",
        "-q",
        "--json",
        "--python",
        python,
        "source",
        "--",
        "pytest",
        "test_large.py",
    ]);
    ours.current_dir(home.path());
    let (_, printed) = run(ours);
    let printed: serde_json::Value = serde_json::from_slice(&printed).expect("JSON");
    let seconds = printed["scores"]["effort"]["wall_seconds"].as_f64().expect("seconds");
    [plain, Duration::from_secs_f64(seconds)]
}

/// Writes a package whose modules import each other as a tree, each with called and uncalled
/// functions, and a test that calls all of them.
fn write(source: &Path, modules: usize, rounds: usize) {
    let package = source.join("large");
    fs::create_dir_all(&package).expect("a directory");
    let mut all = String::new();
    for module in 0..modules {
        let mut text = String::from("import math\n");
        if module > 0 {
            let parent = (module - 1) / 2;
            writeln!(text, "from large.m{parent} import Counter as Parent").expect("a string");
        } else {
            text.push_str("Parent = object\n");
        }
        write!(
            text,
            "\nSIZE = {module}\nUNUSED = [SIZE] * 3\n\n\nclass Counter:\n    parent = Parent\n\n    \
             def __init__(self):\n        self.count = SIZE\n\n    \
             def unused(self):\n        return math.sqrt(self.count)\n\n\n\
             COUNTER = Counter()\n\n\n\
             def step(value):\n    if value < 0:\n        return unused(value)\n    \
             return value + 1\n\n\n\
             def unused(value):\n    return [value, UNUSED]\n"
        )
        .expect("a string");
        fs::write(package.join(format!("m{module}.py")), text).expect("a file");
        writeln!(all, "from large.m{module} import step as step_{module}").expect("a string");
    }
    all.push_str("\nSTEPS = [\n");
    for module in 0..modules {
        writeln!(all, "    step_{module},").expect("a string");
    }
    all.push_str("]\n");
    fs::write(package.join("__init__.py"), all).expect("a file");
    let test = format!(
        "from large import STEPS\n\n\ndef test_steps():\n    value = 0\n    \
         for _ in range({rounds}):\n        for step in STEPS:\n            value = step(value)\n    \
         assert value == {}\n",
        rounds * modules
    );
    fs::write(source.join("test_large.py"), test).expect("a file");
}

/// The memory of the largest process of all that were run and waited for, the judging ones among them, in MB.
fn peak() -> f64 {
    figure::used(libc::RUSAGE_CHILDREN).ru_maxrss as f64 / 1024.0
}
