//! CPU time and memory of the graphs beside a bare parse and walk of the same files, and beside other tools.
//!
//! `graphs DIRECTORY...` runs itself once for each measurement, so that each has a process of its own.
//! With `--python PEERS`, an interpreter with what peers.txt lists, it also runs `ruff analyze graph`, whose
//! edges it looks for among its own, and networkx's PageRank once per module, as the paper has it. The
//! least CPU time and memory of five runs count; a process's start is part of both.
//!
//! `graphs hostile` does the same for sources and files that are made to take long; 2 s each is the aim.
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
    BuildOptions, Graph, History, ImportPlace, PageRank, RankOptions, WalkOptions, module_graph,
    rank, walk,
};
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use serde::Deserialize;

const RUNS: usize = 5;
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
            "hostile" => return hostile(),
            "--python" => python = arguments.next(),
            _ => directories.push(argument),
        }
    }
    if directories.is_empty() {
        println!("skipped: graphs [--python PEERS] DIRECTORY... (see benches/peers.txt)");
    }
    let mut said = Vec::new();
    for directory in &directories {
        let me = std::env::current_exe().expect("find this program");
        let [parse, graph] = ["parse", "graph"].map(|what| {
            let mut command = Command::new(&me);
            command.args([what, directory]);
            measure(&mut command)
        });
        println!("{directory}: {}", graph.said.trim());
        let show = |who: &str, run: &Run| {
            println!(
                "  {who:22} {:7.3} s  {:4.0} MB  {:5.2} x parse",
                run.seconds,
                run.megabytes,
                run.seconds / parse.seconds
            );
        };
        show("parse and walk", &parse);
        show("graphs and ranking", &graph);
        if let Some(python) = &python {
            let ruff = Path::new(python).with_file_name("ruff");
            let mut command = Command::new(ruff);
            command.args(["analyze", "graph", "--preview", "--quiet", "."]).current_dir(directory);
            let run = measure(&mut command);
            show("ruff analyze graph", &run);
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
    let report = |name: &str| {
        let mut command = Command::new(&me);
        let run = measure(command.arg("graph").arg(directory.path()));
        println!("{name:36} {:7.3} s  {:5.0} MB", run.seconds, run.megabytes);
    };
    for (name, text) in &texts {
        fs::write(&file, text).expect("write a source");
        report(name);
    }
    fs::File::create(&file).and_then(|file| file.set_len(1 << 30)).expect("make a large file");
    report("a file of 1 GB");
    fs::remove_file(&file).expect("remove it");
    std::os::unix::fs::symlink("/dev/zero", &file).expect("make a link");
    std::os::unix::fs::symlink("/", directory.path().join("root")).expect("make a link");
    report("links to /dev/zero and /");
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

/// Least CPU seconds and peak memory of some runs, and the last run's own words.
fn measure(command: &mut Command) -> Run {
    let mut best = Run { seconds: f64::MAX, megabytes: f64::MAX, said: String::new() };
    for _ in 0..RUNS {
        // It is waited for below, by the call that tells what it used.
        #[allow(clippy::zombie_processes)]
        let mut child = command.stdout(Stdio::piped()).spawn().expect("start the program");
        best.said.clear();
        child.stdout.take().unwrap().read_to_string(&mut best.said).expect("read its words");
        let id = i32::try_from(child.id()).expect("a process id");
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointers are valid, and the child is ours and not yet waited for.
        let (waited, usage) = unsafe {
            let waited = libc::wait4(id, std::ptr::null_mut(), 0, usage.as_mut_ptr());
            (waited, usage.assume_init())
        };
        assert_eq!(waited, id, "wait for the program");
        let time = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        best.seconds = best.seconds.min(time(usage.ru_utime) + time(usage.ru_stime));
        best.megabytes = best.megabytes.min(usage.ru_maxrss as f64 / 1024.0);
    }
    best
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
