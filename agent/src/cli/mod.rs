//! The command line: what was typed, and which subcommand does it.
//!
//! Only here is the environment read, are signals caught and is anything printed; everything below
//! gets what it needs as parameters.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

mod completion;
mod config;
mod exit;
mod man;
mod progress;
mod surroundings;

pub use exit::Exit;
use exit::{Failure, OrExit};

/// Writes one minimal file that does what a Python repository does under one command.
#[derive(Debug, Parser)]
#[command(name = "gistify", version, propagate_version = true, infer_subcommands = false)]
struct Cli {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    global: Global,
}

/// What every subcommand takes.
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
    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print all settings, and where each comes from.
    Config(config::Config),
    /// Print a completion script for a shell.
    Completion(completion::Completion),
    /// Print the manual page.
    Man(man::Man),
}

/// A repository and a command to run in it.
#[derive(Debug, Args)]
struct Target {
    /// A directory, a git URL or path at a revision (PATH@REV, git+URL@REV), or pypi:NAME==VERSION.
    repository: String,
    /// The command, after `--`: `pytest tests/test_x.py::test_y`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// The interpreter, or its version; left out, the repository's own choice.
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// Requirements that pin a package's dependencies.
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
}

/// Does what the arguments say, and says how it went.
pub fn command_line(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let exit = match parse(args) {
        Ok(cli) => act(cli).unwrap_or_else(|failure| {
            eprintln!("gistify: {:#}", failure.error);
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
    let matches = command().try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches)
}

fn act(cli: Cli) -> Result<Exit, Failure> {
    let around = surroundings::Surroundings::of_process(&cli.global)?;
    match cli.action {
        Action::Config(config) => config.act(&around),
        Action::Completion(completion) => completion.act(),
        Action::Man(man) => man.act(),
    }
}
