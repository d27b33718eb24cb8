//! Compares predicted call edges with real ones.
//!
//! It executes the tests of a repository. It compares each executed call site with the certain
//! edges, with the possible edges, and with jedi's inference.
//!
//! `calls --python PEERS DIRECTORY...`, where PEERS is an interpreter with the packages of
//! peers.txt. Call sites in tests are left out: they call by name, which is easy.
use std::{
    collections::BTreeMap,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use gistify_graph::{BuildOptions, CallSite, EntityId, EntityKind, Graph, NameIndex};
use serde::Deserialize;

#[derive(Deserialize)]
struct Executed {
    /// Path, line and column of the callee's name, and the name.
    place: (String, u32, u32, String),
    /// Path and first line of what was called, and whether the site names it.
    callees: Vec<(String, u32, bool)>,
}

#[derive(Deserialize)]
struct Answers {
    seconds: f64,
    answers: Vec<Vec<(String, u32)>>,
}

/// The real callees of a call site, each with true if the site names it, and the callees that jedi
/// guesses.
#[derive(Default)]
struct Seen {
    real: Vec<(EntityId, bool)>,
    guessed: Vec<EntityId>,
}

/// The number of predicted edges, of the right ones among them, and of real edges whose site names
/// the callee.
#[derive(Default)]
struct Score {
    predicted: usize,
    right: usize,
    named: usize,
}

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers.py");

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut python = None;
    let mut directories = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--python" => python = arguments.next(),
            _ => directories.push(argument),
        }
    }
    let Some(python) = python else {
        println!("skipped: calls --python PEERS DIRECTORY... (see benches/peers.txt)");
        return;
    };
    for directory in directories {
        compare(&python, &directory);
    }
}

fn compare(python: &str, directory: &str) {
    let text = ask(python, &["runtime", directory, "--", "tests"], "");
    let mut executed: Vec<Executed> = serde_json::from_str(&text).expect("parse what ran");
    executed.retain(|site| !site.place.0.starts_with("tests/"));
    let started = Instant::now();
    let graph = Graph::build(Path::new(directory), &BuildOptions::default());
    let ours = started.elapsed().as_secs_f64();
    let names = NameIndex::new(&graph);
    let mut by_line: BTreeMap<(&str, u32), EntityId> = BTreeMap::new();
    let mut by_keyword: BTreeMap<(&str, u32), EntityId> = BTreeMap::new();
    for id in graph.ids() {
        let entity = graph.entity(id);
        let path = graph.module(entity.module).path.as_str();
        if matches!(entity.kind, EntityKind::Function | EntityKind::Lambda) {
            by_line.entry((path, entity.line)).or_insert(id);
        }
        if matches!(entity.kind, EntityKind::Function | EntityKind::Class) {
            by_keyword.entry((path, entity.keyword_line)).or_insert(id);
        }
    }
    let mut sites: BTreeMap<(&str, u32, &str), Vec<&CallSite>> = BTreeMap::new();
    for site in graph.sites.iter().filter(|site| site.written) {
        let path = graph.module(graph.entity(site.caller).module).path.as_str();
        sites.entry((path, site.line, &site.name)).or_default().push(site);
    }
    let places: Vec<_> = executed.iter().map(|site| &site.place).collect();
    let places = serde_json::to_string(&places).expect("places are plain");
    let answers: Answers =
        serde_json::from_str(&ask(python, &["jedi", directory], &places)).expect("parse answers");

    let mut happened = 0;
    let mut named = 0;
    let (mut certain, mut possible, mut jedi) =
        (Score::default(), Score::default(), Score::default());
    // Sites of one name on one line are one to all of them.
    let mut merged: BTreeMap<(&str, u32, &str), Seen> = BTreeMap::new();
    for (site, answers) in executed.iter().zip(&answers.answers) {
        let (path, line, _, name) = &site.place;
        let Seen { real, guessed } = merged.entry((path, *line, name)).or_default();
        for (path, line, named) in &site.callees {
            let known = by_line.get(&(path.as_str(), *line));
            let &id = known.unwrap_or_else(|| panic!("{path}:{line} defines nothing here"));
            real.push((id, *named));
        }
        for (path, line) in answers {
            let Some(&id) = by_keyword.get(&(path.as_str(), *line)) else { continue };
            match graph.entity(id).kind {
                EntityKind::Class => guessed.extend(names.constructor(id)),
                _ => guessed.push(id),
            }
        }
    }
    let verbose = std::env::var_os("SHOW").is_some();
    for (place, Seen { mut real, guessed }) in merged {
        real.sort_unstable();
        real.dedup();
        happened += real.len();
        named += real.iter().filter(|(_, named)| *named).count();
        let here = sites.get(&place).map_or(&[][..], Vec::as_slice);
        let function = |id: &EntityId| graph.entity(*id).kind != EntityKind::Class;
        let sure: Vec<EntityId> =
            here.iter().flat_map(|site| site.callees.iter().copied()).filter(function).collect();
        let mut perhaps = sure.clone();
        perhaps.extend(here.iter().flat_map(|site| graph.possible(site, &names)));
        if verbose {
            let missed: Vec<_> = real
                .iter()
                .filter(|(id, named)| *named && !sure.contains(id))
                .map(|(id, _)| graph.qualified(*id))
                .collect();
            let wrong: Vec<_> = sure
                .iter()
                .filter(|id| !real.iter().any(|(real, _)| real == *id))
                .map(|id| graph.qualified(*id))
                .collect();
            for (id, _) in real.iter().filter(|(id, named)| *named && !perhaps.contains(id)) {
                let why: Vec<_> = here.iter().map(|site| &site.unresolved).collect();
                println!("  not possible: {place:?} {} {why:?}", graph.qualified(*id));
            }
            if !missed.is_empty() || !wrong.is_empty() {
                println!("  {}:{} {} missed {missed:?} wrong {wrong:?}", place.0, place.1, place.2);
            }
        }
        certain.add(sure, &real);
        possible.add(perhaps, &real);
        jedi.add(guessed, &real);
    }
    println!("{directory}: {} sites ran, {happened} edges, {named} named", executed.len());
    certain.print("certain", ours, happened, named);
    possible.print("possible", ours, happened, named);
    jedi.print("jedi", answers.seconds, happened, named);
}

impl Score {
    fn add(&mut self, mut predicted: Vec<EntityId>, real: &[(EntityId, bool)]) {
        predicted.sort_unstable();
        predicted.dedup();
        self.predicted += predicted.len();
        for (id, named) in real {
            if predicted.binary_search(id).is_ok() {
                self.right += 1;
                self.named += usize::from(*named);
            }
        }
    }

    fn print(&self, who: &str, seconds: f64, happened: usize, named: usize) {
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        println!(
            "  {who:9} precision {:.3}  recall {:.3}  of named {:.3}  {seconds:8.3} s",
            share(self.right, self.predicted),
            share(self.right, happened),
            share(self.named, named),
        );
    }
}

fn ask(python: &str, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(python)
        .arg(SCRIPT)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("start the interpreter");
    child.stdin.take().expect("its input").write_all(input.as_bytes()).expect("write to it");
    let output = child.wait_with_output().expect("wait for it");
    assert!(output.status.success(), "{arguments:?} failed");
    String::from_utf8(output.stdout).expect("read its answer")
}
