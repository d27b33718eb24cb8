//! `gistify fix`: from an issue to a git patch, by the stages of Chain-of-Context; and where the true patch is known, to
//! the places of it that are covered.

use std::path::PathBuf;

use ::eval::{CorrectLocation, Effort};
use clap::Args;
use serde_json::json;
use tools::PatchCheck;

use super::{
    Exit, Failure, OrExit,
    destination::{check_file, check_new_directory},
    flags::Flags,
    input_file::InputFile,
    progress::{ProgressLine, printable},
    run::record,
    solving::{IssueTask, SolvedIssue, Solving},
    surroundings::Surroundings,
    target::given_paths,
};
use crate::{outcome::Outcome, record::replace};

#[derive(Debug, Args)]
pub struct Fix {
    /// A directory, a git URL or path at a revision (PATH@REV, git+URL@REV), or pypi:NAME==VERSION.
    #[arg(default_value = ".")]
    repository: String,
    /// A command that shows the issue, after `--`: `pytest tests/test_x.py::test_y`.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// The file with the issue's text.
    #[arg(long, value_name = "FILE")]
    issue: PathBuf,
    /// The true patch: reports if the new patch changes all its files and lines.
    #[arg(long, value_name = "FILE")]
    gold: Option<PathBuf>,
    #[command(flatten)]
    solving: Solving,
    /// File for the patch [default: fix.patch].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output where it exists.
    #[arg(long)]
    force: bool,
    /// Leave the run's record in this directory, which has to be empty.
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
}

/// The names of a repair's files in its record.
pub const PATCH: &str = "fix.patch";
pub const RESULT: &str = "fix.json";

impl Fix {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = self.solving.flags();
        flags.path("--output", "fix.output", self.output.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let hint = "a file with the words of the issue";
        let text = InputFile { what: "issue", path: &self.issue, hint }.text()?;
        let gold = self.gold.as_deref();
        let gold =
            gold.map(|path| InputFile { what: "patch", path, hint: "" }.text()).transpose()?;
        let gold = self.gold.iter().map(|path| path.display().to_string()).zip(gold).next();
        if self.solving.needs_command() && self.command.is_empty() {
            let message = "--context gist needs a command \
                           (write it after `--`: -- pytest tests/test_x.py::test_y)";
            return Err(Failure::new(Exit::Usage, message));
        }
        let solver = self.solving.solver(around)?;
        let output = &around.settings.fix.output;
        check_file(output, self.force)?;
        self.run_dir.as_deref().map_or(Ok(()), check_new_directory)?;
        let progress = ProgressLine::new(around.talk);
        let own = given_paths(&[Some(output), self.run_dir.as_ref()]);
        let (repository, command) = (self.repository.as_str(), self.command.as_slice());
        let issue = IssueTask {
            repository,
            artifact: None,
            command,
            text,
            gold,
            apart: &own,
            failing: None,
        };
        let opened = solver.open(issue, &progress)?;
        let record = record(self.run_dir.as_deref(), around)?;
        let solved = solver.solve(opened, &record, &progress);
        progress.clear();
        let solved = solved?;
        record.write_json(RESULT, &solved.result).or_exit(Exit::Infrastructure)?;
        let is_made = solved.result.patch == PatchCheck::Applies;
        if is_made {
            record.write(PATCH, solved.patch.as_bytes()).or_exit(Exit::Infrastructure)?;
            replace(output, solved.patch.as_bytes()).or_exit(Exit::Infrastructure)?;
        }
        let kept = is_made.then_some(output);
        if around.json {
            let printed = json!({ "fix": solved.result, "patch": kept, "record": record.path() });
            println!("{printed:#}");
        } else {
            print!("{}", printable(&fix_message(&solved)));
            if let Some(output) = kept {
                println!("  patch       {}", output.display());
            }
            println!("  record      {}", record.path().display());
        }
        Ok(if is_made { Exit::Success } else { Exit::NotFaithful })
    }
}

/// The lines for a reader.
fn fix_message(solved: &SolvedIssue) -> String {
    let SolvedIssue { result, refusals, .. } = solved;
    let mut out = match &result.patch {
        PatchCheck::Applies => format!("patch of {}\n", result.files.join(", ")),
        class => match class.reason() {
            Some(reason) => format!("no patch: {}: {reason}\n", class.name()),
            None => match refusals {
                Some(refusals) => {
                    format!("no patch: nothing changed ({}: {refusals})\n", result.outcome)
                }
                None => format!("no patch: nothing changed ({})\n", result.outcome),
            },
        },
    };
    let mut line = |name: &str, text: String| out.push_str(&format!("  {name:<11} {text}\n"));
    if result.outcome != Outcome::Submitted.to_string() {
        line("outcome", result.outcome.clone());
    }
    if !result.root_cause.is_empty() {
        let first = result.root_cause.lines().next().unwrap_or_default();
        line("root cause", first.chars().take(200).collect());
    }
    if let Some(found) = &result.location {
        let answer = |all: bool| if all { "correct" } else { "not correct" };
        let CorrectLocation { files, covered_files, lines, covered_lines, .. } = found;
        line("files", format!("{}: {covered_files} of {files} covered", answer(found.file)));
        line("lines", format!("{}: {covered_lines} of {lines} covered", answer(found.line)));
    }
    let Effort { steps, tokens_in, tokens_out, price, .. } = &result.effort;
    let price = price.map_or_else(String::new, |price| format!(", ${price:.4}"));
    line("effort", format!("{steps} steps, {tokens_in} tokens in, {tokens_out} out{price}"));
    out
}
