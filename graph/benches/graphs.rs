//! CPU time and memory of the graphs beside a bare parse and walk of the same files.
//!
//! Each measurement runs in a process of its own: `graphs DIRECTORY...` starts itself once for each.
use std::{fs, path::Path, process::Command};

use gistify_graph::{BuildOptions, Graph, History, RankOptions, WalkOptions, rank, walk};
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};

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
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["parse", directory] => measured(|| parse(Path::new(directory))),
        ["graph", directory] => measured(|| build(Path::new(directory))),
        directories => {
            for directory in directories {
                let [parse, graph] = ["parse", "graph"].map(|what| run(what, directory));
                println!(
                    "{directory}: parse {:.3} s {:.0} MB, graphs {:.3} s {:.0} MB, ratio {:.2}; {}",
                    parse.0,
                    parse.1,
                    graph.0,
                    graph.1,
                    graph.0 / parse.0,
                    graph.2
                );
            }
        }
    }
}

/// Best CPU seconds of three runs, peak memory in MB, and the last run's own words.
fn run(what: &str, directory: &str) -> (f64, f64, String) {
    let me = std::env::current_exe().expect("find this program");
    let mut best = (f64::MAX, f64::MAX, String::new());
    for _ in 0..3 {
        let output = Command::new(&me).args([what, directory]).output().expect("run this program");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text.splitn(3, ' ');
        let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN);
        let (seconds, megabytes) = (number(), number());
        best = (
            best.0.min(seconds),
            best.1.min(megabytes),
            words.next().unwrap_or("").trim().to_owned(),
        );
    }
    best
}

fn measured(work: impl FnOnce() -> String) {
    let said = work();
    let stat = fs::read_to_string("/proc/self/stat").expect("read the process's own times");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks: f64 =
        fields[11].parse::<f64>().unwrap_or(0.0) + fields[12].parse::<f64>().unwrap_or(0.0);
    let status = fs::read_to_string("/proc/self/status").expect("read the process's own memory");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    let kilobytes: f64 = peak.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0);
    println!("{} {} {said}", ticks / 100.0, kilobytes / 1024.0);
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
