//! `gistify fix`: from an issue to a git patch, by the stages of Chain-of-Context; and where the true patch is known, to
//! the places of it that are covered.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ::eval::{CorrectLocation, Effort, Task, correct_location};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;
use tools::{
    Chain, Command, Environment, GitRequest, PatchCheck, Repair, Repository, Sandbox, Session,
    UnifiedDiff, check_patch, normal_patch, patch_of,
};

use super::{
    Exit, Failure, OrExit,
    flags::Flags,
    progress::{ProgressLine, printable},
    run::{record, writable},
    surroundings::{Surroundings, of_repository},
    target::{OpenedTarget, Wanted, chosen_interpreter, environment, given_paths, of_environment},
};
use crate::{
    config::{AnswerForm, Minimize, Settings},
    outcome::Outcome,
    record::replace,
    trajectory::End,
    writer::{TRAJECTORY, Writer},
};

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
    /// The model: human, command/PROGRAM, or PROVIDER/MODEL.
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// The scaffold, whatever `writer.scaffold` says: chain-of-context, or the baselines self-planning-icr (one round of
    /// retrieval) and self-planning-rag (chunks like the issue, and no retrieval).
    #[arg(long, value_name = "NAME", default_value = "chain-of-context")]
    scaffold: String,
    /// The text about the repository that the first message has [default: that of the scaffold].
    #[arg(long, value_enum)]
    context: Option<OpeningContext>,
    /// The interpreter, or its version [default: the repository's own choice].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
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

/// The text about the repository with which a session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OpeningContext {
    /// The definitions that the command reaches by name, and the most important modules and classes.
    Map,
    /// Nothing.
    None,
}

/// The largest issue or patch that is read, in bytes.
const LARGEST: u64 = 4 << 20;
/// The stages of a repair.
const STAGES: [&str; 6] = ["analyze", "retrieve", "verify", "solve", "request", "edit_file"];
/// Version of the persisted form.
const FIX_VERSION: u32 = 1;
/// The names of a repair's files in its record.
const PATCH: &str = "fix.patch";
const RESULT: &str = "fix.json";
const EDITS: &str = "edits.json";

/// The result of a repair, as it is kept.
#[derive(Debug, Serialize)]
struct Fixed {
    version: u32,
    outcome: String,
    /// The class of the patch.
    #[serde(flatten)]
    patch: PatchCheck,
    files: Vec<String>,
    root_cause: String,
    /// The class of the diff of SOLVE, which need not apply.
    solution: PatchCheck,
    /// The places of the true patch.
    location: Option<CorrectLocation>,
    effort: Effort,
}

impl Fix {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--model", "writer.model", self.model.as_deref());
        flags.text("--scaffold", "writer.scaffold", Some(&self.scaffold));
        let opening = self.context.map(|told| match told {
            OpeningContext::Map => "ranked",
            OpeningContext::None => "none",
        });
        flags.text("--context", "writer.opening", opening);
        flags.text("--python", "environment.python", self.python.as_deref());
        flags.path("--output", "fix.output", self.output.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let issue = text_of("issue", &self.issue)?;
        let gold = self.gold.as_deref().map(|path| text_of("patch", path)).transpose()?;
        let settings = settings_of_stages(around)?;
        let output = settings.fix.output.clone();
        writable(&output, self.force)?;
        let sandbox = around.sandbox()?;
        let rounds = settings.fix.rounds;
        let writer =
            Writer::new(settings, sandbox.clone(), &around.access()).or_exit(Exit::Usage)?;
        let progress = ProgressLine::new(around.talk);
        let own = given_paths(&[Some(&output), self.run_dir.as_ref()]);
        let opened = self.open(around, sandbox, &progress, &own)?;
        let request = GitRequest {
            root: &opened.repository.root,
            host: &around.host,
            sandbox: &*opened.sandbox,
            scratch: &opened.scratch,
        };
        let gold = match (&self.gold, gold) {
            (Some(path), Some(text)) => Some(true_diff(&request, path, &text, &self.repository)?),
            _ => None,
        };
        let record = record(self.run_dir.as_deref(), around)?;
        let context = opened.context(around, record.path());
        let mut session = writer.session(&context).or_exit(Exit::Infrastructure)?;
        session.findings.chain = Chain::of_repair(Repair { issue, rounds, ..Repair::default() });
        let trajectory = record.path().join(TRAJECTORY);
        let end = writer.write(&mut session, &trajectory, Vec::new(), progress.watch());
        progress.clear();
        let end = end.or_exit(Exit::Infrastructure)?;
        if end.outcome == Outcome::Interrupted {
            // An interrupted sandbox runs no git: the texts are kept without a patch.
            let changes = session.findings.chain.repair.as_ref().map(Repair::changes);
            record.write_json(EDITS, &changes.unwrap_or_default()).or_exit(Exit::Infrastructure)?;
            let place = record.path().join(EDITS);
            let message =
                format!("interrupted: the files edited so far are in {}", place.display());
            return Err(Failure::new(Exit::Interrupted, message));
        }
        let (fixed, patch) =
            fixed(&request, &session, &end, gold.as_ref(), writer.effort(&end, &session))?;
        record.write_json(RESULT, &fixed).or_exit(Exit::Infrastructure)?;
        if fixed.patch == PatchCheck::Applies {
            record.write(PATCH, patch.as_bytes()).or_exit(Exit::Infrastructure)?;
            replace(&output, patch.as_bytes()).or_exit(Exit::Infrastructure)?;
        }
        let place = record.path().display();
        match &end.outcome {
            outcome @ (Outcome::Fatal { .. }
            | Outcome::ModelFailure { .. }
            | Outcome::Paused { .. })
                if fixed.patch != PatchCheck::Applies =>
            {
                let message = format!("no patch: {outcome} (record: {place})");
                return Err(Failure::new(Exit::Infrastructure, message));
            }
            _ => {}
        }
        let kept = (fixed.patch == PatchCheck::Applies).then_some(&output);
        if around.json {
            let printed = json!({ "fix": fixed, "patch": kept, "record": record.path() });
            println!("{printed:#}");
        } else {
            print!("{}", printable(&fix_message(&fixed)));
            if let Some(output) = kept {
                println!("  patch       {}", output.display());
            }
            println!("  record      {place}");
        }
        Ok(if kept.is_some() { Exit::Success } else { Exit::NotFaithful })
    }

    /// Opens the repository, with the environment of its command where there is one.
    fn open(
        &self,
        around: &Surroundings,
        sandbox: std::sync::Arc<dyn Sandbox>,
        progress: &ProgressLine,
        apart: &[&Path],
    ) -> Result<OpenedTarget, Failure> {
        let command = match self.command.as_slice() {
            // A session has a command; this one is the program that does nothing, and nothing executes it.
            [] => Command::parse("true"),
            [line] => Command::parse(line),
            words => Command::from_words(words.to_vec()),
        };
        let command = command.or_exit(Exit::Input)?;
        let scratch = around.scratch()?;
        progress.say(&format!("open {}", self.repository));
        let repository = around.repository_without(&self.repository, &*sandbox, progress, apart)?;
        let environment = match self.command.is_empty() {
            true => bare_environment(&repository, around, &*sandbox)?,
            false => {
                let wanted = Wanted::of_settings(around, &self.repository);
                environment(&repository, wanted, around, &*sandbox, progress)?
            }
        };
        let task = Task::of_command(&self.repository, &command.to_string());
        Ok(OpenedTarget { task, repository, environment, command, sandbox, scratch })
    }
}

/// The settings with the tools of the stages alone.
fn settings_of_stages(around: &Surroundings) -> Result<Settings, Failure> {
    let mut settings = around.settings.clone();
    if settings.writer.model == "offline" {
        let message = "the offline model solves no issues (name one with -m)";
        return Err(Failure::new(Exit::Usage, message));
    }
    let skipped = if settings.fix.rounds == 0 { 3 } else { 0 };
    settings.writer.tools = STAGES[skipped..].iter().map(|name| (*name).to_owned()).collect();
    settings.writer.with = Vec::new();
    settings.writer.minimize = Minimize::Learned;
    settings.writer.answer = AnswerForm::Calls;
    Ok(settings)
}

/// The interpreter that says which Python the repository is read as; nothing is executed with it.
fn bare_environment(
    repository: &Repository,
    around: &Surroundings,
    sandbox: &dyn Sandbox,
) -> Result<Environment, Failure> {
    let wanted = around.settings.environment.python.as_str();
    let python = chosen_interpreter(wanted, &repository.root, around)?;
    Environment::of_interpreter(&python, &repository.root, sandbox).map_err(of_environment)
}

/// The text of a file of the user's.
fn text_of(what: &str, path: &Path) -> Result<String, Failure> {
    let refused = |reason: String| {
        Failure::new(Exit::Input, format!("read {what} {}: {reason}", path.display()))
    };
    let there = fs::metadata(path).map_err(|error| refused(error.to_string()))?;
    if there.len() > LARGEST {
        return Err(refused(format!("it is larger than {LARGEST} bytes")));
    }
    let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
    match text.trim().is_empty() {
        true => Err(refused("it is empty".to_owned())),
        false => Ok(text),
    }
}

/// The places of the true patch.
fn true_diff(
    request: &GitRequest<'_>,
    path: &Path,
    text: &str,
    repository: &str,
) -> Result<UnifiedDiff, Failure> {
    let refused = |class: &PatchCheck| {
        let reason = class.reason().map_or_else(String::new, |reason| format!(": {reason}"));
        let class = class.name().replace('_', " ");
        let message = format!("patch {} on {repository}: {class}{reason}", path.display());
        Failure::new(Exit::Input, message)
    };
    let normal = normal_patch(request, text).map_err(of_repository)?;
    let normal = normal.map_err(|class| refused(&class))?;
    UnifiedDiff::parse(&normal).or_exit(Exit::Infrastructure)
}

/// The result of a session, and its patch.
fn fixed(
    request: &GitRequest<'_>,
    session: &Session,
    end: &End,
    gold: Option<&UnifiedDiff>,
    effort: Effort,
) -> Result<(Fixed, String), Failure> {
    let repair = session.findings.chain.repair.clone().unwrap_or_default();
    let changes = repair.changes();
    let patch = patch_of(request, &changes).map_err(of_repository)?;
    let location = gold.map(|gold| {
        // An empty patch covers nothing.
        correct_location(gold, &UnifiedDiff::parse(&patch).unwrap_or_default())
    });
    let fixed = Fixed {
        version: FIX_VERSION,
        outcome: end.outcome.to_string(),
        patch: check_patch(request, &patch).map_err(of_repository)?,
        files: changes.into_keys().collect(),
        root_cause: repair.root_cause,
        solution: check_patch(request, &repair.solution).map_err(of_repository)?,
        location,
        effort,
    };
    Ok((fixed, patch))
}

/// The lines for a reader.
fn fix_message(fixed: &Fixed) -> String {
    let mut out = match &fixed.patch {
        PatchCheck::Applies => format!("patch of {}\n", fixed.files.join(", ")),
        class => match class.reason() {
            Some(reason) => format!("no patch: {}: {reason}\n", class.name()),
            None => format!("no patch: nothing changed ({})\n", fixed.outcome),
        },
    };
    let mut line = |name: &str, text: String| out.push_str(&format!("  {name:<11} {text}\n"));
    if fixed.outcome != Outcome::Submitted.to_string() {
        line("outcome", fixed.outcome.clone());
    }
    if !fixed.root_cause.is_empty() {
        let first = fixed.root_cause.lines().next().unwrap_or_default();
        line("root cause", first.chars().take(200).collect());
    }
    if let Some(found) = &fixed.location {
        let answer = |all: bool| if all { "correct" } else { "not correct" };
        let CorrectLocation { files, covered_files, lines, covered_lines, .. } = found;
        line("files", format!("{}: {covered_files} of {files} covered", answer(found.file)));
        line("lines", format!("{}: {covered_lines} of {lines} covered", answer(found.line)));
    }
    let Effort { steps, tokens_in, tokens_out, price, .. } = &fixed.effort;
    let price = price.map_or_else(String::new, |price| format!(", ${price:.4}"));
    line("effort", format!("{steps} steps, {tokens_in} tokens in, {tokens_out} out{price}"));
    out
}
