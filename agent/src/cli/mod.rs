//! The command line: parses the arguments and calls the subcommand.
//!
//! Only here is the environment read, are signals caught and is anything printed; everything below
//! gets its inputs as parameters.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{
    Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
    error::{ContextKind, ContextValue, ErrorKind},
};

#[macro_use]
mod output;

mod ask;
mod bar;
mod bench;
mod bisect;
mod board;
mod cache;
mod collect;
mod companions;
mod compare;
mod completion;
mod config;
mod destination;
mod doctor;
mod each;
mod eval;
mod exit;
mod explain;
mod export;
mod find;
mod fix;
mod flags;
mod formats;
mod graphs;
mod help;
mod image;
mod input_file;
mod issues;
mod log;
mod man;
mod mcp;
mod medals;
mod named_suite;
mod numbers;
mod one_file;
mod oracle;
mod predictions;
mod progress;
mod prompt;
mod queries;
mod reduce;
mod repoexec;
mod report;
mod repro;
mod row_work;
mod run;
mod scaffolds;
mod schema;
mod sharing;
mod signals;
mod solve;
mod solving;
mod suites;
mod surroundings;
mod tables;
mod target;
mod trace;
mod units;
mod verdict;
mod why;
mod writing;

pub use exit::Exit;
use exit::{Failure, OrExit};
use flags::Flags;
use progress::printable;

/// Writes one minimal file that does what a Python repository does under one command.
#[derive(Debug, Parser)]
#[command(
    name = "gistify",
    version,
    propagate_version = true,
    infer_subcommands = false,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    global: Global,
}

/// The options of every subcommand.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// Read settings from this file too; can be given more than once, the last wins.
    #[arg(long, global = true, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Set one setting, after all files; `gistify config` lists them.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print results as JSON.
    #[arg(long, global = true)]
    json: bool,
    /// Print no progress.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print each step as it ends.
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Form of the progress on standard error; JSON has a line for each step and each result of a bench.
    #[arg(long, global = true, value_name = "FORM", default_value = "auto", conflicts_with_all = ["quiet", "verbose"])]
    progress: ProgressChoice,
    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

/// A form of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProgressChoice {
    /// A line that is redrawn on a terminal, lines of text elsewhere.
    Auto,
    /// Lines of JSON.
    Json,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write the gist of a repository under a command, and judge it.
    Run(run::Run),
    /// Write a short file that fails alone, in the same way as a command.
    Repro(repro::ReproCommand),
    /// Find the first release of a package with which a file fails.
    Bisect(bisect::BisectCommand),
    /// Write a script by which other reducers check that a file fails like a repro.
    Oracle(oracle::OracleCommand),
    /// Solve an issue of a repository by a git patch, with a model.
    Fix(fix::Fix),
    /// Issues in SWE-bench's form: make rows from releases, solve them, and judge the patches by their tests.
    Issues(issues::Issues),
    /// Solve a task in natural language by using a repository, with a model.
    Solve(solve::Solve),
    /// Suites of tasks in natural language: solve them, judge the answers, check the suites.
    Queries(queries::QueriesCommand),
    /// Judge a gist that exists.
    Eval(eval::Eval),
    /// Show why a gist has a line of the repository, or why it was removed.
    Why(why::Why),
    /// Show the files and functions that a command executes.
    Trace(trace::TraceCommand),
    /// Show the repository as graphs: JSON, dot, or a page of HTML.
    Graph(graphs::GraphCommand),
    /// Rank modules and classes by importance.
    Rank(graphs::Rank),
    /// Describe the repository within a number of tokens.
    Context(graphs::ContextCommand),
    /// List what calls a definition.
    Callers(ask::RelatedCommand),
    /// List what a definition calls.
    Callees(ask::RelatedCommand),
    /// Show a shortest chain of calls between two definitions.
    Path(ask::PathBetween),
    /// List what a definition or module needs.
    Deps(ask::Deps),
    /// List the lines that use a definition.
    Refs(ask::Refs),
    /// Show the definitions of a file, even if it does not parse.
    Outline(ask::OutlineCommand),
    /// Find texts, definitions or syntax.
    Search(ask::Search),
    /// Search repositories for a task in words, and open the best.
    Find(find::Find),
    /// Run suites of tasks and print the tables.
    Bench(bench::BenchCommand),
    /// Grade results on competitions by their medals (MLE-R), and print the shares.
    Medals(medals::Medals),
    /// Print the tables of a bench.
    Tables(tables::Tables),
    /// Write the pages of a bench, which open without a network.
    Report(report::ReportCommand),
    /// Serve the pages of a bench on loopback, also while it goes on.
    View(report::ViewCommand),
    /// Compare two benches, or two solvers of one, on the tasks that they share.
    Compare(compare::Compare),
    /// Print the gists of a bench as predictions in SWE-bench's form.
    Predictions(predictions::Predictions),
    /// Print a run's trajectory in the Agent Trajectory Interchange Format.
    Export(export::ExportCommand),
    /// Serve the tools to a client of the Model Context Protocol.
    Mcp(mcp::Mcp),
    /// List the scaffolds: prompts, tools and strategies for models.
    Scaffolds(scaffolds::Scaffolds),
    /// Print the first messages that a model would see, and count their tokens.
    Prompt(prompt::Prompt),
    /// Propose smaller files to Shrink Ray, or to whatever speaks the protocol of its --reduce-with.
    Reduce(reduce::Reduce),
    /// Make a suite of a repository's tests.
    Collect(collect::Collect),
    /// Complete single functions of repositories: build problems, generate, run and score.
    #[command(name = "repoexec")]
    RepoExec(repoexec::RepoExec),
    /// Print all settings with their origins.
    Config(config::ConfigCommand),
    /// Show which sandboxes work on this machine, and what each guarantees.
    Doctor(doctor::Doctor),
    /// Make an image for the Docker sandbox of a repository's environment.
    Image(image::Image),
    /// List or delete the files of the cache.
    Cache(cache::CacheCommand),
    /// Print the JSON schema of a file that gistify writes.
    Schema(schema::SchemaCommand),
    /// Print a completion script for a shell.
    Completion(completion::Completion),
    /// Print the manual page.
    Man(man::Man),
    /// Explain a command or a topic.
    Help(help::Help),
}

/// Executes the command line, and returns the exit code.
pub fn command_line(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let exit = match parse(args) {
        Ok(cli) => act(cli).unwrap_or_else(|failure| {
            tracing::error!("{}", failure.message());
            eprintln!("gistify: {}", printable(&failure.message()));
            failure.exit
        }),
        Err(error) => {
            // Help and version are errors to the parser, and no errors to the user.
            let _ = error.print();
            if error.use_stderr() { Exit::Usage } else { Exit::Success }
        }
    };
    ExitCode::from(exit.code())
}

/// The whole command line, with the table of exit codes below the help of each part.
fn command() -> clap::Command {
    let after = format!("Exit codes:\n{}", exit::table());
    Cli::command().after_help(after)
}

fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let args = gathered(args);
    let matches = command().try_get_matches_from(&args);
    Cli::from_arg_matches(&matches.map_err(|error| with_separator(error, &args))?)
}

/// Adds a tip to the error for a command without `--` before it.
fn with_separator(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    let words: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg)
        && let Some(line) = separated(&words, unknown)
    {
        let tip = format!("the command comes after `--`: {line}");
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

/// Returns the command line with `--` before the command that begins with `unknown`; `None` for a subcommand that takes
/// none.
fn separated(words: &[String], unknown: &str) -> Option<String> {
    let command = Cli::command();
    let subcommand = words.iter().skip(1).find_map(|word| command.find_subcommand(word))?;
    let takes_command = subcommand.get_arguments().any(clap::Arg::is_last_set);
    if !takes_command || words.iter().any(|word| word == "--") || unknown.starts_with('-') {
        return None;
    }
    let at = words.iter().position(|word| word == unknown)?;
    let (before, after) = match words[at - 1].as_str() {
        // Without a repository, the program was taken for it.
        program if target::is_test_program(program) => (&words[..at - 1], &words[at - 1..]),
        _ => (&words[..at], &words[at..]),
    };
    let place = (before.len() < at).then_some(".");
    let before = ["gistify"].into_iter().chain(before.iter().skip(1).map(String::as_str));
    let line = before.chain(place).chain(["--"]);
    shlex::try_join(line.chain(after.iter().map(String::as_str))).ok()
}

/// Moves settings and their files from before a subcommand to behind it. The parser drops the first
/// ones of an option that is given on both sides.
fn gathered(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args = args.into_iter().peekable();
    let mut all: Vec<_> = args.next().into_iter().collect();
    let mut early = Vec::new();
    let mut at = Cli::command();
    while at.has_subcommands()
        && let Some(arg) = args.next()
    {
        let text = arg.to_string_lossy();
        if let Some(inner) = at.find_subcommand(&*text).cloned() {
            at = inner;
            all.push(arg);
            continue;
        }
        let option = ["--set", "--config"].iter().find_map(|name| text.strip_prefix(name));
        match option {
            // What looks like an option is no value to the parser: its complaint is better than ours.
            Some("") => match args.next_if(|value| !value.to_string_lossy().starts_with('-')) {
                Some(value) => early.extend([arg, value]),
                None => all.push(arg),
            },
            Some(value) if value.starts_with('=') => early.push(arg),
            _ => all.push(arg),
        }
    }
    all.extend(early);
    all.extend(args);
    all
}

fn act(cli: Cli) -> Result<Exit, Failure> {
    let flags = match &cli.action {
        Action::Run(run) => run.flags(),
        Action::Repro(repro) => repro.flags(),
        Action::Fix(fix) => fix.flags(),
        Action::Find(find) => find.flags(),
        Action::Issues(issues) => issues.flags(),
        Action::Solve(solve) => solve.flags(),
        Action::Queries(queries) => queries.flags(),
        Action::Bench(bench) => bench.flags(),
        Action::Collect(collect) => collect.flags(),
        Action::Eval(eval) => eval.flags(),
        Action::Trace(trace) => trace.flags(),
        Action::Prompt(prompt) => prompt.flags(),
        Action::Mcp(mcp) => mcp.flags(),
        Action::Image(image) => image.flags(),
        Action::RepoExec(repoexec) => repoexec.flags(),
        Action::Graph(asked) => asked.source.flags(),
        Action::Rank(asked) => asked.source.flags(),
        Action::Context(asked) => asked.source.flags(),
        Action::Callers(asked) | Action::Callees(asked) => asked.source.flags(),
        Action::Path(asked) => asked.source.flags(),
        Action::Deps(asked) => asked.source.flags(),
        Action::Refs(asked) => asked.source.flags(),
        Action::Outline(asked) => asked.source.flags(),
        Action::Search(asked) => asked.source.flags(),
        _ => Flags::default(),
    };
    let mut around = surroundings::Surroundings::of_process(&cli.global, flags)?;
    let mut wishes = vec![around.interrupt.clone()];
    if matches!(cli.action, Action::Bench(_)) {
        wishes.insert(0, around.drain.clone());
    }
    signals::watch(wishes).or_exit(Exit::Infrastructure)?;
    match cli.action {
        Action::Run(run) => run.act(&around),
        Action::Repro(repro) => repro.act(&around),
        Action::Bisect(bisect) => bisect.act(&around),
        Action::Fix(fix) => fix.act(&around),
        Action::Issues(issues) => issues.act(&around),
        Action::Solve(solve) => solve.act(&around),
        Action::Queries(queries) => queries.act(&around),
        Action::Oracle(oracle) => oracle.act(),
        Action::Bench(bench) => bench.act(&mut around),
        Action::Tables(tables) => tables.act(&around),
        Action::Medals(medals) => medals.act(&around),
        Action::Report(report) => report.act(&around),
        Action::View(view) => view.act(&around),
        Action::Compare(compare) => compare.act(&around),
        Action::Predictions(predictions) => predictions.act(),
        Action::Reduce(reduce) => reduce.act(),
        Action::Collect(collect) => collect.act(&around),
        Action::Eval(eval) => eval.act(&around),
        Action::Why(why) => why.act(&around),
        Action::Trace(trace) => trace.act(&around),
        Action::Graph(graph) => graph.act(&around),
        Action::Rank(rank) => rank.act(&around),
        Action::Context(context) => context.act(&around),
        Action::Callers(ask) => ask.act(&around, tools::Relation::Callers),
        Action::Callees(ask) => ask.act(&around, tools::Relation::Callees),
        Action::Path(ask) => ask.act(&around),
        Action::Deps(ask) => ask.act(&around),
        Action::Refs(ask) => ask.act(&around),
        Action::Outline(ask) => ask.act(&around),
        Action::Search(ask) => ask.act(&around),
        Action::Find(find) => find.act(&around),
        Action::Export(export) => export.act(&around),
        Action::Mcp(mcp) => mcp.act(&around),
        Action::Scaffolds(scaffolds) => scaffolds.act(&around),
        Action::Prompt(prompt) => prompt.act(&around),
        Action::RepoExec(repoexec) => repoexec.act(&around),
        Action::Config(config) => config.act(&around),
        Action::Doctor(doctor) => doctor.act(&around),
        Action::Image(image) => image.act(&around),
        Action::Cache(cache) => cache.act(&around),
        Action::Schema(schema) => schema.act(&around),
        Action::Completion(completion) => completion.act(),
        Action::Man(man) => man.act(),
        Action::Help(help) => help.act(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_its_separator_has_a_tip() {
        for (line, tip) in [
            ("gistify run . pytest tests/x.py", Some("gistify run . -- pytest tests/x.py")),
            ("gistify run pytest tests/x.py", Some("gistify run . -- pytest tests/x.py")),
            ("gistify repro -q . pytest -x a.py", Some("gistify repro -q . -- pytest -x a.py")),
            ("gistify run . --none", None),
            ("gistify doctor . pytest", None),
        ] {
            let error = parse(line.split(' ').map(OsString::from)).unwrap_err().to_string();
            match tip {
                Some(tip) => assert!(error.contains(&format!("after `--`: {tip}\n")), "{error}"),
                None => assert!(!error.contains("after `--`"), "{error}"),
            }
        }
    }

    #[test]
    fn settings_count_on_both_sides_of_the_subcommand() {
        let given = |line: &str| {
            let words = line.split(' ').map(OsString::from);
            parse(words).map(|cli| (cli.global.set, cli.global.config))
        };
        let all = |set: &[&str], config: &[&str]| {
            (
                set.iter().copied().map(str::to_owned).collect::<Vec<_>>(),
                config.iter().map(PathBuf::from).collect::<Vec<_>>(),
            )
        };
        for (line, expected) in [
            ("gistify config", all(&[], &[])),
            ("gistify --set a=1 config", all(&["a=1"], &[])),
            ("gistify --set a=1 config --set=b=2 --set a=3", all(&["a=1", "b=2", "a=3"], &[])),
            ("gistify --config x -q config --config=y", all(&[], &["x", "y"])),
            ("gistify --set a=1 trace . --set b=2 -- p --set c=3", all(&["a=1", "b=2"], &[])),
            ("gistify --set a=1 cache --set b=2 list --set c=3", all(&["a=1", "b=2", "c=3"], &[])),
        ] {
            assert_eq!(given(line).unwrap(), expected, "{line}");
        }
        for wrong in
            ["gistify config --set", "gistify trace . --set -- p", "gistify --sets a=1 config"]
        {
            assert!(given(wrong).is_err(), "{wrong}");
        }
    }
}
