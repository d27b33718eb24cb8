//! Measures CPU time and memory of the graphs, beside a bare parse and walk of the same files and
//! beside other tools.
//!
//! `graphs DIRECTORY...` starts itself once for each measurement, so that each has its own process.
//! With `--python PEERS`, an interpreter with the packages of peers.txt, it also executes two other
//! tools. It looks for the edges of `ruff analyze graph` among its own, and times networkx's
//! PageRank once per module, as in the paper.
//!
//! Each run is compared with the mean of the parses before and after it, since a machine's speed
//! may change from second to second. It prints the median of these ratios, and the least CPU time
//! and memory of all runs. The start of a process is part of each.
//!
//! `graphs hostile` does the same for sources and files that are made to take long; 2 s each is the
//! aim. `graphs again` times a cached second run after one of 10,000 files was touched, and after
//! one was edited.
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{Read, Write},
    mem::MaybeUninit,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use gistify_graph::{
    BuildOptions, Document, Graph, GraphCache, History, ImportPlace, PageRank, RankOptions,
    WalkOptions, module_graph, outline, rank, walk,
};
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use serde::Deserialize;

const RUNS: usize = 7;
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers.py");
/// networkx takes a second and more for each hundred modules.
const RANKED: usize = 120;

struct Count(u64);

impl<'a> Visitor<'a> for Count {
    fn visit_stmt(&mut self, statement: &'a ruff_python_ast::Stmt) {
        self.0 += 1;
        walk_stmt(self, statement);
    }
    fn visit_expr(&mut self, expr: &'a ruff_python_ast::Expr) {
        self.0 += 1;
        walk_expr(self, expr);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    let mut python = None;
    let mut directories = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "parse" => return println!("{}", parse(Path::new(&arguments.next().unwrap()))),
            "graph" => return println!("{}", build(Path::new(&arguments.next().unwrap()))),
            "cached" => return println!("{}", cached(&arguments.next().unwrap())),
            "look" => return look(Path::new(&arguments.next().unwrap())),
            "hostile" => return hostile(),
            "again" => return again(),
            // Found from other directories too; its links are left alone, or it would lose its packages.
            "--python" => {
                let given = arguments.next().expect("the interpreter");
                python = std::path::absolute(given)
                    .ok()
                    .and_then(|path| path.to_str().map(str::to_owned));
            }
            _ => directories.push(argument),
        }
    }
    if directories.is_empty() {
        println!("skipped: graphs [--python PEERS] DIRECTORY... (see benches/peers.txt)");
    }
    let mut said = Vec::new();
    for directory in &directories {
        let me = std::env::current_exe().expect("find this program");
        let [mut parse, mut graph] = ["parse", "graph"].map(|what| {
            let mut command = Command::new(&me);
            command.args([what, directory]);
            command
        });
        let show = |who: &str, run: &Run, ratio: f64| {
            let (seconds, megabytes) = (run.seconds, run.megabytes);
            println!("  {who:22} {seconds:7.3} s  {megabytes:4.0} MB  {ratio:5.2} x parse");
        };
        let (parsed, built, ratio) = beside(&mut parse, &mut graph);
        println!("{directory}: {}", built.said.trim());
        show("parse and walk", &parsed, 1.0);
        show("graphs and ranking", &built, ratio);
        if let Some(python) = &python {
            let ruff = Path::new(python).with_file_name("ruff");
            let mut command = Command::new(ruff);
            command.args(["analyze", "graph", "--preview", "--quiet", "."]).current_dir(directory);
            let (_, run, ratio) = beside(&mut parse, &mut command);
            show("ruff analyze graph", &run, ratio);
            said.push(run.said);
        }
    }
    // Only now, since a process inherits the peak of the one that starts it.
    for (directory, said) in directories.iter().zip(&said) {
        println!("{directory}");
        beside_ruff(directory, said);
        if let Some(python) = &python {
            beside_networkx(directory, python);
        }
    }
}

/// A repository of 10,000 modules in 100 packages, each importing and calling others.
fn plant(root: &Path) {
    const PACKAGES: usize = 100;
    for package in 0..PACKAGES {
        let directory = root.join(format!("package_{package}"));
        fs::create_dir_all(&directory).expect("make a package");
        fs::write(directory.join("__init__.py"), "").expect("write a package");
        for module in 1..PACKAGES {
            let other = (package * 7 + module * 3) % PACKAGES;
            let near = (module * 11) % (PACKAGES - 1) + 1;
            let text = format!(
                "'''Module {module} of package {package}.'''\n\
                 from . import module_{near}\n\
                 from package_{other}.module_{near} import Part, work as other_work\n\n\n\
                 class Part:\n    '''A part.'''\n\n    def __init__(self, size=1):\n        self.size = size\n\n    \
                 def grow(self, by):\n        if by > 0:\n            self.size += by\n        return self.check()\n\n    \
                 def check(self):\n        return self.size >= 0\n\n\n\
                 def work(items):\n    total = 0\n    for item in items:\n        part = Part(item)\n        \
                 part.grow(len(items))\n        total += part.size\n    return other_work([]) or total\n\n\n\
                 def near(value):\n    return module_{near}.work([value])\n"
            );
            fs::write(directory.join(format!("module_{module}.py")), text).expect("write a module");
        }
    }
}

/// Builds through a cache beside a repository, and returns a line about the work done.
fn cached(root: &str) -> String {
    let cache = GraphCache::new(format!("{root}.cache"));
    let (graph, report, kept) = cache.build(Path::new(root), &BuildOptions::default());
    kept.expect("keep the graph");
    // Freeing it is not the work that is timed.
    std::mem::forget(graph);
    format!("{} files, {} read, {} parsed", report.files, report.read, report.parsed)
}

/// A second run beside the first one, on a repository that changed in one file.
fn again() {
    let outer = tempfile::tempdir().expect("make a directory");
    let root = outer.path().join("repository");
    plant(&root);
    let me = std::env::current_exe().expect("find this program");
    let run = |prepare: &dyn Fn()| {
        let mut command = Command::new(&me);
        command.arg("cached").arg(&root);
        let mut best: Option<Run> = None;
        for _ in 0..RUNS {
            prepare();
            let run = measure_once(&mut command);
            if best.as_ref().is_none_or(|best| run.seconds < best.seconds) {
                best = Some(run);
            }
        }
        best.expect("some runs")
    };
    let cache = outer.path().join("repository.cache");
    let file = root.join("package_50/module_50.py");
    let text = fs::read_to_string(&file).expect("read a module");
    let count = std::cell::Cell::new(0);
    let cold = run(&|| drop(fs::remove_dir_all(&cache)));
    let show = |what: &str, run: &Run| {
        let share = 100.0 * run.seconds / cold.seconds;
        let (seconds, megabytes, said) = (run.seconds, run.megabytes, run.said.trim());
        println!("{what:26} {seconds:7.3} s  {megabytes:4.0} MB  {share:5.1}% of cold  {said}");
    };
    show("cold", &cold);
    show("nothing changed", &run(&|| {}));
    let edit = |what: &str, added: &dyn Fn(u32) -> String| {
        let run = run(&|| {
            count.set(count.get() + 1);
            fs::write(&file, format!("{text}{}", added(count.get()))).expect("write a module");
        });
        show(what, &run);
    };
    edit("a comment was added", &|count| format!("# {count}\n"));
    edit("a function was added", &|count| {
        format!("\n\ndef new_{count}():\n    return near({count})\n")
    });
}

/// Runs tree-sitter over a file: its outline, and one query.
fn look(root: &Path) {
    let text = fs::read_to_string(root.join("m.py")).expect("read the source");
    let items = outline(&text).len();
    let found = Document::new(text).and_then(|document| document.query("(call) @call", 100));
    println!("{items} definitions, {:?}", found.map(|found| found.first.len()));
}

/// CPU time and memory for repositories of one hostile file each.
fn hostile() {
    let deep = 100_000;
    let texts = [
        ("100k nested brackets", format!("x = {}1{}", "(".repeat(deep), ")".repeat(deep))),
        ("100k not", format!("x = {}1", "not ".repeat(deep))),
        ("100k attributes", format!("x = a{}", ".b".repeat(deep))),
        ("100k calls", format!("x = f{}", "()".repeat(deep))),
        ("200k sums", format!("x = {}1", "1+".repeat(2 * deep))),
        ("200k unclosed (", "(".repeat(2 * deep)),
        ("200k unclosed f(", "f(".repeat(2 * deep)),
        ("200k unclosed x[", "x[".repeat(2 * deep)),
        ("20k lambdas", format!("x = {}1", "lambda: ".repeat(deep / 5))),
        ("10k methods called from everywhere", {
            let methods =
                |at: usize| format!("class C{at}:\n    def f(self, o): return o.f(self)\n");
            let all: String = (0..deep / 10).map(methods).collect();
            let calls: String =
                (0..deep / 10).map(|at| format!("C{at}().f(x)\nx = C{at}()\n")).collect();
            format!("{all}x = 1\n{calls}")
        }),
    ];
    let me = std::env::current_exe().expect("find this program");
    let directory = tempfile::tempdir().expect("make a directory");
    let file = directory.path().join("m.py");
    let report = |what: &str, name: &str| {
        let mut command = Command::new(&me);
        let run = measure(command.arg(what).arg(directory.path()));
        println!("{name:36} {what:6} {:7.3} s  {:5.0} MB", run.seconds, run.megabytes);
    };
    for (name, text) in &texts {
        fs::write(&file, text).expect("write a source");
        report("graph", name);
        report("look", name);
    }
    fs::File::create(&file).and_then(|file| file.set_len(1 << 30)).expect("make a large file");
    report("graph", "a file of 1 GB");
    fs::remove_file(&file).expect("remove it");
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, directory.path().join(name)).expect("make a link");
    };
    let pipe = Command::new("mkfifo").arg(&file).status().expect("make a pipe");
    assert!(pipe.success(), "make a pipe");
    report("graph", "a FIFO");
    fs::remove_file(&file).expect("remove it");
    link("m.py", "m.py");
    link(".", "here");
    link("..", "above");
    link("two.py", "one.py");
    link("one.py", "two.py");
    report("graph", "link loops");
    fs::remove_file(&file).expect("remove it");
    link("/dev/zero", "m.py");
    link("/", "root");
    report("graph", "links to /dev/zero and /");
    fs::remove_file(&file).expect("remove it");
    for at in 0..100_000 {
        fs::write(directory.path().join(format!("m{at}.py")), "").expect("write a source");
    }
    report("graph", "100k empty files");
}

/// Module edges that ruff finds and we do not, and the other way round.
fn beside_ruff(directory: &str, said: &str) {
    let theirs: BTreeMap<String, Vec<String>> =
        serde_json::from_str(said).expect("parse ruff's edges");
    let theirs: BTreeSet<(&str, &str)> = theirs
        .iter()
        .flat_map(|(from, to)| to.iter().map(move |to| (from.as_str(), to.as_str())))
        .filter(|(from, to)| from != to)
        .collect();
    let graph = Graph::build(Path::new(directory), &BuildOptions::default());
    let path = |id| graph.module(id).path.as_str();
    let ours: BTreeSet<(&str, &str)> =
        graph.imports.iter().map(|edge| (path(edge.from), path(edge.to))).collect();
    println!("  {} of ruff's {} edges found", ours.intersection(&theirs).count(), theirs.len());
    for (from, to) in theirs.difference(&ours).take(5) {
        println!("    not found: {from} -> {to}");
    }
    let mut places: BTreeMap<ImportPlace, usize> = BTreeMap::new();
    for edge in &graph.imports {
        if !theirs.contains(&(path(edge.from), path(edge.to))) {
            *places.entry(edge.place).or_default() += 1;
        }
    }
    for (place, count) in places {
        println!("    {count} more here, imported at {place:?}");
    }
}

#[derive(Deserialize)]
struct Ranked {
    seconds: f64,
    scores: Vec<f64>,
}

fn beside_networkx(directory: &str, python: &str) {
    let graph = Graph::build(Path::new(directory), &BuildOptions::default());
    if graph.modules.len() > RANKED {
        return;
    }
    let edges: Vec<(u32, u32, u32)> =
        graph.imports.iter().map(|edge| (edge.from.0, edge.to.0, edge.weight)).collect();
    let given = serde_json::json!({ "count": graph.modules.len(), "edges": edges });
    let mut child = Command::new(python)
        .args([SCRIPT, "networkx"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start networkx");
    child.stdin.take().unwrap().write_all(given.to_string().as_bytes()).expect("write to it");
    let output = child.wait_with_output().expect("wait for it");
    let theirs: Ranked = serde_json::from_slice(&output.stdout).expect("parse its scores");
    let started = Instant::now();
    let ours = PageRank::default().each(&module_graph(&graph));
    let seconds = started.elapsed().as_secs_f64();
    let apart = ours.iter().zip(&theirs.scores).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    println!(
        "  networkx, each module  {:7.3} s, here {seconds:.6} s ({:.0} times faster), {apart:.1e} apart",
        theirs.seconds,
        theirs.seconds / seconds
    );
}

struct Run {
    seconds: f64,
    megabytes: f64,
    said: String,
}

impl Run {
    fn keep_least(&mut self, other: Run) {
        self.seconds = self.seconds.min(other.seconds);
        self.megabytes = self.megabytes.min(other.megabytes);
    }
}

/// Least figures of one command and of another that runs between its runs, and the median of what the
/// second takes beside the runs around it.
fn beside(one: &mut Command, other: &mut Command) -> (Run, Run, f64) {
    let (mut ones, mut others, mut ratios) = (measure_once(one), None::<Run>, Vec::new());
    let mut before = ones.seconds;
    for _ in 0..RUNS {
        let run = measure_once(other);
        let after = measure_once(one);
        ratios.push(2.0 * run.seconds / (before + after.seconds));
        before = after.seconds;
        ones.keep_least(after);
        match &mut others {
            Some(others) => others.keep_least(run),
            None => others = Some(run),
        }
    }
    ratios.sort_by(f64::total_cmp);
    (ones, others.expect("some runs"), ratios[RUNS / 2])
}

/// Least CPU seconds and peak memory of some runs, and the last run's own words.
fn measure(command: &mut Command) -> Run {
    let mut best = measure_once(command);
    for _ in 1..RUNS {
        best.keep_least(measure_once(command));
    }
    best
}

fn measure_once(command: &mut Command) -> Run {
    let mut said = String::new();
    // It is waited for below, by the call that tells what it used.
    #[allow(clippy::zombie_processes)]
    let mut child = command.stdout(Stdio::piped()).spawn().expect("start the program");
    child.stdout.take().unwrap().read_to_string(&mut said).expect("read its words");
    let id = i32::try_from(child.id()).expect("a process id");
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointers are valid, and the child is ours and not yet waited for.
    let (waited, usage) = unsafe {
        let waited = libc::wait4(id, std::ptr::null_mut(), 0, usage.as_mut_ptr());
        (waited, usage.assume_init())
    };
    assert_eq!(waited, id, "wait for the program");
    let time = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let seconds = time(usage.ru_utime) + time(usage.ru_stime);
    Run { seconds, megabytes: usage.ru_maxrss as f64 / 1024.0, said }
}

fn parse(root: &Path) -> String {
    let (files, _) = walk(root, &WalkOptions::default());
    let mut nodes = 0;
    for file in &files {
        let text = fs::read_to_string(root.join(&file.path)).unwrap_or_default();
        let parsed = parse_unchecked(&text, ParseOptions::from(Mode::Module));
        let mut count = Count(0);
        if let Some(module) = parsed.try_into_module() {
            count.visit_body(module.suite());
        }
        nodes += count.0;
    }
    format!("{} files {nodes} nodes", files.len())
}

fn build(root: &Path) -> String {
    let graph = Graph::build(root, &BuildOptions::default());
    let ranking = rank(&graph, &History::default(), &RankOptions::default());
    format!(
        "{} modules {} entities {} imports {} calls {} sites {} uses; first {}",
        graph.modules.len(),
        graph.entities.len(),
        graph.imports.len(),
        graph.calls.len(),
        graph.sites.len(),
        graph.uses.len(),
        ranking.modules.first().map_or("", |first| graph.module(first.id).path.as_str())
    )
}
