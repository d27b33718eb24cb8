//! `gistify graph`, `rank` and `context`: the repository as graphs, its most important parts, and
//! its description for a model.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use graph::{
    BuildOptions, ContextOptions, DrawnGraph, Focus, Graph, GraphCache, History, Lookup,
    PossibleCall, Pythons, Queries, RankOptions, Ranking, RepositoryContext, TRACE_VERSION, Texts,
    Trace, WalkOptions, Way,
};
use serde::Serialize;
use tools::{Environment, Repository, Sandbox, declared_version};

use super::{
    Exit, Failure, OrExit,
    destination::check_file,
    flags::Flags,
    input_file::InputFile,
    progress::{ProgressLine, printable},
    surroundings::Surroundings,
    target::{interpreter, of_environment, version},
};
use crate::record::replace;

/// A repository to look at.
#[derive(Debug, Args)]
pub struct RepositoryFlags {
    /// A directory, a git URL or path at a revision (PATH@REV, git+URL@REV), or pypi:NAME==VERSION.
    repository: String,
    /// The interpreter that it runs on, or its version: it decides what `sys.version_info` is and which modules are the
    /// standard library's [default: that of its .venv, else any].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
}

/// The starting points of a ranking.
#[derive(Debug, Args)]
pub struct FocusFlags {
    /// Rank by nearness to files, dotted names, tests (PATH::TEST, with what it calls), traces (a file of
    /// `gistify trace -o`) or words; can be given more than once.
    #[arg(long, value_name = "WHAT")]
    focus: Vec<String>,
}

/// Steps of calls that belong to a test in focus.
const CALLS: u32 = 16;
/// Newest commits that say how a file changes.
const COMMITS: u32 = 20_000;

impl RepositoryFlags {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--python", "environment.python", self.python.as_deref());
        flags
    }

    /// The versions of Python that a repository runs on, as far as that is known without starting its own interpreter.
    fn pythons(
        around: &Surroundings,
        root: &Path,
        sandbox: &dyn Sandbox,
    ) -> Result<Pythons, Failure> {
        let wanted = around.settings.environment.python.as_str();
        let version = match (wanted, version(wanted)) {
            ("", _) => declared_version(root),
            (_, Some(version)) if !Pythons::SUPPORTED.has(version) => {
                let message = format!("--python {wanted}: {} are supported", supported());
                return Err(Failure::new(Exit::Usage, message));
            }
            (_, Some(version)) => Some(version),
            (_, None) => {
                let python = interpreter(wanted, root, around)?;
                let found = Environment::of_interpreter(&python, root, sandbox);
                let (major, minor, _) = found.map_err(of_environment)?.version;
                Some((major, minor))
            }
        };
        Ok(version.map_or(Pythons::SUPPORTED, Pythons::only))
    }

    /// The repository and its graph, from the cache where it has it.
    ///
    /// # Errors
    /// The repository cannot be had.
    pub fn open(&self, around: &Surroundings) -> Result<(Repository, Graph), Failure> {
        let progress = ProgressLine::new(around.talk);
        let sandbox = around.sandbox()?;
        let repository = around.repository(&self.repository, &*sandbox, &progress)?;
        let pythons = Self::pythons(around, &repository.root, &*sandbox)?;
        progress.say("read the repository");
        let cache = GraphCache::new(around.cache.join("graphs"));
        let walk = walking(around, &repository);
        let options = BuildOptions { walk, threads: 0, pythons };
        let (graph, report, kept) = cache.build(&repository.root, &options);
        progress.clear();
        if let Err(error) = kept {
            progress.say(&format!("{error}"));
        }
        for skipped in &graph.skipped {
            progress.say(&format!("left out {}: {}", printable(&skipped.path), skipped.reason));
        }
        if !graph.complete {
            progress.say("values were not followed to the end: some calls are missing");
        }
        let cached = report.files.saturating_sub(report.parsed);
        progress.say(&format!("{} files, {cached} of them from the cache", report.files));
        progress.clear();
        Ok((repository, graph))
    }
}

/// The supported versions, as `3.9 to 3.15`.
fn supported() -> String {
    let (oldest, newest) = (Pythons::SUPPORTED.oldest(), Pythons::SUPPORTED.newest());
    format!("{}.{} to {}.{}", oldest.0, oldest.1, newest.0, newest.1)
}

/// Returns the options for walking the files of a repository, with the sizes of the settings.
pub fn walking(around: &Surroundings, repository: &Repository) -> WalkOptions {
    let largest = around.settings.graph.file_mib.saturating_mul(1 << 20);
    WalkOptions { largest, ..repository.walk() }
}

impl FocusFlags {
    /// Returns the ranking, and the focuses that match nothing.
    fn rank(
        &self,
        around: &Surroundings,
        repository: &Repository,
        graph: &Graph,
    ) -> Result<(Ranking, Vec<String>), Failure> {
        let mut focus = Focus::default();
        let mut unmatched = Vec::new();
        for named in &self.focus {
            let part = focus_on(named, repository, graph)?;
            if !part.fits(graph) {
                let note = format!("nothing fits the focus on {named}");
                ProgressLine::new(around.talk).line(&printable(&note));
                unmatched.push(named.clone());
            }
            focus.files.extend(part.files);
            focus.words.extend(part.words);
        }
        focus.files.sort_unstable();
        focus.files.dedup();
        let weights = around.settings.graph.weights;
        let options = RankOptions { focus, weights, ..RankOptions::default() };
        Ok((graph::rank(graph, &history(around, repository)?, &options), unmatched))
    }
}

/// Returns the meaning of one focus.
fn focus_on(named: &str, repository: &Repository, graph: &Graph) -> Result<Focus, Failure> {
    let mut focus = Focus::default();
    let (path, test) = named.split_once("::").unwrap_or((named, ""));
    let path = below(&repository.root, path);
    let queries = Queries::new(graph);
    let file = |id| graph.module(graph.entity(id).module).path.clone();
    if graph.modules.iter().any(|module| module.path == path) {
        // One case stands for the whole test.
        let test = test.split('[').next().unwrap_or(test);
        if !test.is_empty() {
            let Lookup::Found(ids) = queries.find(&format!("{path}::{test}")) else {
                let message = format!("focus on {named}: {path} defines no {test}");
                return Err(Failure::new(Exit::Input, message));
            };
            let called = queries.calls(&ids, Way::Forward, CALLS);
            focus.files.extend(called.into_iter().map(|reached| file(reached.id)));
        }
        focus.files.push(path);
    } else if named.ends_with(".json") && Path::new(named).is_file() {
        let hint = "make one with `gistify trace -o FILE`";
        let file = InputFile { what: "trace", path: Path::new(named), hint };
        let trace: Trace = file.json()?;
        if trace.version != TRACE_VERSION {
            return Err(file.fault("another version of gistify made it"));
        }
        focus.files.extend(trace.files.into_iter().map(|file| file.path));
    } else if path.contains('.')
        && let Lookup::Found(ids) = queries.find(&path)
    {
        focus.files.extend(ids.into_iter().map(file));
    } else {
        let words: Vec<&str> = path.split_whitespace().collect();
        // Short words of a phrase stand in every path.
        let telling = |word: &&&str| words.len() == 1 || word.chars().count() > 2;
        let plain =
            |word: &&str| word.trim_matches([',', ';', ':', '?', '!', '"', '\'']).to_owned();
        focus.words.extend(words.iter().filter(telling).map(plain).filter(|word| !word.is_empty()));
    }
    Ok(focus)
}

/// A path as the graph has it, if it leads below the root; as it was given otherwise.
fn below(root: &Path, given: &str) -> String {
    let relative = given.trim_start_matches("./");
    let real = |path: &Path| fs::canonicalize(path).ok();
    let inner = match Path::new(given).is_absolute() {
        true => real(Path::new(given)).zip(real(root)),
        false => None,
    };
    let inner =
        inner.and_then(|(path, root)| path.strip_prefix(root).ok()?.to_str().map(str::to_owned));
    inner.unwrap_or_else(|| relative.to_owned())
}

/// The commits of each file; without git there are none, which is said.
fn history(around: &Surroundings, repository: &Repository) -> Result<History, Failure> {
    let (sandbox, scratch) = (around.sandbox()?, around.scratch()?);
    let found = repository.history(&around.host, &*sandbox, &scratch, COMMITS);
    found.or_else(|error| match around.interrupt.is_triggered() {
        true => Err(around.stopped(error)),
        false => {
            ProgressLine::new(around.talk).line(&format!("ranking without commits: {error}"));
            Ok(History::default())
        }
    })
}

/// Forms of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Everything, for programs.
    Json,
    /// Packages, modules, classes and functions with their sizes and signatures, for programs.
    Tree,
    /// Imports between modules, for Graphviz.
    Dot,
    /// Calls between definitions, for Graphviz.
    DotCalls,
    /// One page with a search, for people.
    Html,
}

#[derive(Debug, Args)]
pub struct GraphCommand {
    #[command(flatten)]
    pub source: RepositoryFlags,
    /// Format of the output.
    #[arg(short, long, value_enum, default_value = "json")]
    format: Form,
    /// Write there instead of to standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl GraphCommand {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        self.output.as_deref().map_or(Ok(()), |path| check_file(path, true))?;
        let (repository, graph) = self.source.open(around)?;
        let text = match self.format {
            Form::Json => {
                let (possible, left_out) = Queries::new(&graph).possible_edges();
                json(&WithPossible { graph: &graph, possible, left_out })?
            }
            Form::Tree => {
                let texts = Texts::new(&repository.root, walking(around, &repository));
                json(&graph::tree(&graph, &texts))?
            }
            Form::Dot => graph::dot(&graph, DrawnGraph::Modules),
            Form::DotCalls => graph::dot(&graph, DrawnGraph::Calls),
            Form::Html => {
                let looking = FocusFlags { focus: Vec::new() };
                let (ranking, _) = looking.rank(around, &repository, &graph)?;
                graph::page(&graph, &ranking)
            }
        };
        match &self.output {
            Some(path) => replace(path, text.as_bytes()).or_exit(Exit::Infrastructure)?,
            None => println!("{}", printable(text.trim_end())),
        }
        Ok(Exit::Success)
    }
}

/// Version of what programs read.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Versioned<'a, T> {
    version: u32,
    #[serde(flatten)]
    value: &'a T,
}

/// A graph with the calls that are not certain, and the number of call sites whose names fit too much
/// to tell them.
#[derive(Serialize)]
struct WithPossible<'a> {
    #[serde(flatten)]
    graph: &'a Graph,
    possible: Vec<PossibleCall>,
    #[serde(rename = "possible_left_out")]
    left_out: usize,
}

fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(&Versioned { version: FORMAT, value }).or_exit(Exit::Infrastructure)
}

#[derive(Debug, Args)]
pub struct Rank {
    #[command(flatten)]
    pub source: RepositoryFlags,
    #[command(flatten)]
    looking: FocusFlags,
    /// Number of modules and classes to list.
    #[arg(short, long, default_value_t = 20)]
    limit: usize,
}

impl Rank {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let (repository, graph) = self.source.open(around)?;
        let (mut ranking, unmatched) = self.looking.rank(around, &repository, &graph)?;
        let (modules, classes) = (ranking.modules.len(), ranking.classes.len());
        ranking.modules.truncate(self.limit);
        ranking.classes.truncate(self.limit);
        let path = |id| printable(&graph.module(id).path);
        let name = |id| printable(&graph.qualified(id));
        if around.json {
            let named = serde_json::json!({
                "modules": ranking.modules.iter().map(|m| serde_json::json!({
                    "path": graph.module(m.id).path, "score": m.score, "features": m.features,
                })).collect::<Vec<_>>(),
                "classes": ranking.classes.iter().map(|c| serde_json::json!({
                    "name": graph.qualified(c.id), "score": c.score,
                })).collect::<Vec<_>>(),
                "unmatched": unmatched,
            });
            println!("{named}");
            return Ok(Exit::Success);
        }
        println!("modules ({} of {modules})", ranking.modules.len());
        for module in &ranking.modules {
            println!("{:8.4}  {}", module.score, path(module.id));
        }
        println!("classes ({} of {classes})", ranking.classes.len());
        for class in &ranking.classes {
            println!("{:8.4}  {}", class.score, name(class.id));
        }
        Ok(Exit::Success)
    }
}

#[derive(Debug, Args)]
pub struct ContextCommand {
    #[command(flatten)]
    pub source: RepositoryFlags,
    #[command(flatten)]
    looking: FocusFlags,
    /// Tokens at most (o200k).
    #[arg(long, default_value_t = 8_000, value_name = "N")]
    token_budget: usize,
    /// A map of signatures in the place of the four blocks.
    #[arg(long)]
    map: bool,
}

impl ContextCommand {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let (repository, graph) = self.source.open(around)?;
        let (ranking, unmatched) = self.looking.rank(around, &repository, &graph)?;
        let texts = Texts::new(&repository.root, walking(around, &repository));
        let made = if self.map {
            graph::map(&graph, &ranking, &texts, self.token_budget)
        } else {
            let options = ContextOptions { budget: self.token_budget, ..ContextOptions::default() };
            graph::context(&graph, &ranking, &texts, &texts.readme(), &BTreeMap::new(), &options)
        };
        if around.json {
            let made = Focused { made, unmatched };
            println!("{}", serde_json::to_string(&made).or_exit(Exit::Infrastructure)?);
        } else {
            print!("{}", printable(&made.text));
        }
        Ok(Exit::Success)
    }
}

#[derive(Serialize)]
struct Focused {
    #[serde(flatten)]
    made: RepositoryContext,
    unmatched: Vec<String>,
}
