//! `gistify trace`: what a command touches in a repository.

use std::path::{Path, PathBuf};

use clap::Args;
use graph::{FileTrace, Trace as Traced};

use super::{
    Exit, Failure, OrExit,
    destination::check_file,
    flags::Flags,
    progress::{ProgressLine, printable},
    surroundings::Surroundings,
    target::TargetFlags,
};
use crate::{record::replace, writer::session};

#[derive(Debug, Args)]
pub struct TraceCommand {
    #[command(flatten)]
    target: TargetFlags,
    /// Write the whole trace there, as JSON.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// List the functions of each file, too.
    #[arg(long)]
    functions: bool,
}

impl TraceCommand {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        self.target.flags()
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        self.target.command()?;
        self.output.as_deref().map_or(Ok(()), |path| check_file(path, true))?;
        let progress = ProgressLine::new(around.talk);
        let apart: Vec<&Path> = self.output.as_deref().into_iter().collect();
        let opened = self.target.open(around, around.sandbox()?, &progress, &apart)?;
        let context = opened.context(around, &opened.scratch);
        let mut session =
            session(&context, &around.settings, opened.sandbox.clone(), around.graphs(), None)
                .or_exit(Exit::Infrastructure)?;
        // What is shown ran; a slice would be content with less.
        session.patience = 0;
        progress.say("trace");
        let traced = session.traced();
        progress.clear();
        let (_, trace) = traced.map_err(|error| match session.findings.unusable.take() {
            Some(unusable) => Failure { exit: Exit::Input, error: unusable.into() },
            None => around.stopped(error),
        })?;
        if let Some(path) = &self.output {
            let json = serde_json::to_vec(&*trace).or_exit(Exit::Infrastructure)?;
            replace(path, &json).or_exit(Exit::Infrastructure)?;
        }
        if around.json {
            println!("{}", serde_json::to_string(&*trace).or_exit(Exit::Infrastructure)?);
        } else {
            self.print(&trace);
        }
        Ok(Exit::Success)
    }

    fn print(&self, trace: &Traced) {
        let wide = trace.files.iter().map(|file| file.path.len()).max().unwrap_or(0);
        for file in &trace.files {
            let called = file.functions.iter().filter(|function| function.test).count();
            let (lines, tests) = (count_executed_lines(file), file.test_lines.len());
            let path = printable(&file.path);
            println!("{path:wide$}  {lines:5} lines, {tests:5} in tests, {called:4} functions");
            if self.functions {
                for function in &file.functions {
                    let when = if function.test { "test" } else { "import" };
                    println!("    {:5} {} ({when})", function.line, printable(&function.name));
                }
            }
        }
        let all: usize = trace.files.iter().map(count_executed_lines).sum();
        println!("{} files, {all} lines executed", trace.files.len());
    }
}

/// Different lines that ran.
fn count_executed_lines(file: &FileTrace) -> usize {
    let mut lines: Vec<_> = file.import_lines.iter().chain(&file.test_lines).collect();
    lines.sort_unstable();
    lines.dedup();
    lines.len()
}
