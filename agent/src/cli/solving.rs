//! One repair: from an opened repository and an issue to a checked patch and its result, for one issue or many.

use std::{path::Path, sync::Arc};

use ::eval::{CorrectLocation, Effort, REPAIR_VERSION, RepairResult, Task, correct_location};
use clap::{Args, ValueEnum};
use graph::count_tokens;
use tools::{
    Artifact, Chain, Command, Environment, GitRequest, PatchCheck, Repair, Repository, Sandbox,
    Session, Stage, UnifiedDiff, check_patch, normal_patch, patch_of,
};

use super::{
    Exit, Failure, OrExit,
    flags::Flags,
    progress::ProgressLine,
    run::without_gist,
    surroundings::{Surroundings, of_repository},
    target::{OpenedTarget, Wanted, chosen_interpreter, environment, of_environment},
};
use crate::{
    config::{AnswerForm, Minimize, Opening, Settings},
    outcome::Outcome,
    record::RunDirectory,
    trajectory::{End, Refusals},
    writer::{TRAJECTORY, Writer},
};

/// The model that solves, and what it is told.
#[derive(Debug, Clone, Args)]
pub struct Solving {
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
}

/// The text about the repository with which a session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OpeningContext {
    /// The gist of the command, which the offline model writes.
    Gist,
    /// The definitions that the command reaches by name, and the most important modules and classes.
    Map,
    /// Nothing.
    None,
}

/// The stages of a repair: those of each round, and those after the last.
const ROUND: [Stage; 3] = [Stage::Analyze, Stage::Retrieve, Stage::Verify];
const LAST: [Stage; 3] = [Stage::Solve, Stage::Request, Stage::Edit];

/// The name of the files edited before an interrupt, in a repair's record.
const EDITS: &str = "edits.json";

/// Solves issues, one at a time; several threads may share it.
pub struct IssueSolver<'a> {
    around: &'a Surroundings,
    writer: Writer,
    sandbox: Arc<dyn Sandbox>,
    told: Option<OpeningContext>,
    name: String,
}

/// An issue of a repository.
pub struct IssueTask<'a> {
    /// The repository as the user names it.
    pub repository: &'a str,
    /// For a release: the very file to take.
    pub artifact: Option<Artifact>,
    /// A command that shows the issue, or nothing.
    pub command: &'a [String],
    /// The issue's text.
    pub text: String,
    /// The true patch: its name and its text.
    pub gold: Option<(String, String)>,
    /// Paths in the repository that are none of it.
    pub apart: &'a [&'a Path],
    /// A failing test whose gist is told in the place of the command's; it may lie in a copy with more tests.
    pub failing: Option<OpenedTarget>,
}

/// An issue whose repository is at hand.
pub struct OpenedIssue {
    target: OpenedTarget,
    failing: Option<OpenedTarget>,
    text: String,
    gold: Option<UnifiedDiff>,
}

/// A session that ended.
pub struct SolvedIssue {
    /// Its result.
    pub result: RepairResult,
    /// The patch; empty without a change.
    pub patch: String,
    /// The calls of the model that were refused.
    pub refusals: Option<Refusals>,
}

impl Solving {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--model", "writer.model", self.model.as_deref());
        flags.text("--scaffold", "writer.scaffold", Some(&self.scaffold));
        let opening = self.context.map(|told| match told.opening() {
            Opening::Ranked => "ranked",
            _ => "none",
        });
        flags.text("--context", "writer.opening", opening);
        flags.text("--python", "environment.python", self.python.as_deref());
        flags
    }

    /// The same, told another text about the repository.
    pub fn with_context(&self, context: OpeningContext) -> Self {
        Self { context: Some(context), ..self.clone() }
    }

    /// Returns true if the model is told the gist of a command.
    pub fn needs_command(&self) -> bool {
        self.context == Some(OpeningContext::Gist)
    }

    /// The solver of the settings.
    ///
    /// # Errors
    /// There is no such model, or no sandbox.
    pub fn solver<'a>(&self, around: &'a Surroundings) -> Result<IssueSolver<'a>, Failure> {
        let mut settings = settings_of_stages(around)?;
        if let Some(told) = self.context {
            settings.writer.opening = told.opening();
        }
        let sandbox = around.sandbox()?;
        let context =
            self.context.and_then(|told| Some(told.to_possible_value()?.get_name().to_owned()));
        let context = context.map(|context| format!(" {context}")).unwrap_or_default();
        let name = format!("{} {}{context}", settings.writer.scaffold, settings.writer.model);
        let writer =
            Writer::new(settings, sandbox.clone(), &around.access()).or_exit(Exit::Usage)?;
        Ok(IssueSolver { around, writer, sandbox, told: self.context, name })
    }
}

impl OpeningContext {
    /// The kind of opening that the session itself makes; a gist is told apart from it.
    fn opening(self) -> Opening {
        match self {
            Self::Map => Opening::Ranked,
            Self::Gist | Self::None => Opening::None,
        }
    }
}

impl IssueSolver<'_> {
    /// Its scaffold, model and context.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The settings of its sessions.
    pub fn settings(&self) -> &Settings {
        self.writer.settings()
    }

    /// Opens an issue's repository, and reads the places of the true patch.
    ///
    /// # Errors
    /// Either is no usable input, or the machine fails.
    pub fn open(
        &self,
        issue: IssueTask<'_>,
        progress: &ProgressLine,
    ) -> Result<OpenedIssue, Failure> {
        let target = self.target(&issue, progress)?;
        let request = self.request(&target);
        let gold = issue.gold.as_ref();
        let gold = gold.map(|(name, text)| true_diff(&request, name, text, issue.repository));
        let gold = gold.transpose()?;
        Ok(OpenedIssue { text: issue.text, gold, target, failing: issue.failing })
    }

    /// Solves an issue, with the session's record in an existing directory.
    ///
    /// # Errors
    /// The machine or the provider fails. A session without a patch is a result.
    pub fn solve(
        &self,
        issue: OpenedIssue,
        record: &RunDirectory,
        progress: &ProgressLine,
    ) -> Result<SolvedIssue, Failure> {
        let around = self.around;
        let OpenedIssue { target: opened, failing, text, gold } = issue;
        let request = self.request(&opened);
        let gist = match self.told {
            Some(OpeningContext::Gist) => {
                let failing = failing.as_ref().unwrap_or(&opened);
                Some(self.gist_of(failing, record.path(), progress)?)
            }
            _ => None,
        };
        let context = opened.context(around, record.path());
        let mut session = self.writer.session(&context).or_exit(Exit::Infrastructure)?;
        let rounds = self.writer.settings().fix.rounds;
        let repair = Repair { issue: text, gist, rounds, ..Repair::default() };
        session.findings.chain = Chain::of_repair(repair);
        let end = self.writer.write(
            &mut session,
            &record.path().join(TRAJECTORY),
            Vec::new(),
            progress.watch(),
        );
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
        let effort = self.writer.effort(&end, &session);
        let (result, patch) = result_of(&request, &session, &end, gold.as_ref(), effort)?;
        let is_made = result.patch == PatchCheck::Applies;
        match &end.outcome {
            outcome @ (Outcome::Fatal { .. }
            | Outcome::ModelFailure { .. }
            | Outcome::Paused { .. })
                if !is_made =>
            {
                let place = record.path().display();
                let message = format!("no patch: {outcome} (record: {place})");
                Err(Failure::new(Exit::Infrastructure, message))
            }
            _ => Ok(SolvedIssue { result, patch, refusals: end.refusals }),
        }
    }

    /// The request for patches of an opened repository.
    fn request<'b>(&'b self, opened: &'b OpenedTarget) -> GitRequest<'b> {
        GitRequest {
            root: &opened.repository.root,
            host: &self.around.host,
            sandbox: &*opened.sandbox,
            scratch: &opened.scratch,
        }
    }

    /// Opens the repository, with the environment of its command where there is one.
    fn target(
        &self,
        issue: &IssueTask<'_>,
        progress: &ProgressLine,
    ) -> Result<OpenedTarget, Failure> {
        let around = self.around;
        let command = match issue.command {
            // A session has a command; this one is the program that does nothing, and nothing executes it.
            [] => Command::parse("true"),
            [line] => Command::parse(line),
            words => Command::from_words(words.to_vec()),
        };
        let command = command.or_exit(Exit::Input)?;
        let scratch = around.scratch()?;
        progress.say(&format!("open {}", issue.repository));
        let sandbox = &*self.sandbox;
        let repository = match &issue.artifact {
            Some(file) => around.repository_of(issue.repository, Some(file), sandbox, progress),
            None => {
                let words = (issue.apart, issue.command);
                around.repository_without(issue.repository, sandbox, progress, words)
            }
        }?;
        let environment = match issue.command.is_empty() {
            true => bare_environment(&repository, around, sandbox)?,
            false => {
                let wanted = Wanted::of_settings(around, issue.repository);
                environment(&repository, wanted, around, sandbox, progress)?
            }
        };
        let task = Task::of_command(issue.repository, &command.to_string());
        let sandbox = Arc::clone(&self.sandbox);
        Ok(OpenedTarget { task, repository, environment, command, sandbox, scratch })
    }

    /// Writes the gist of the command with the offline model, which executes the command. Returns its end, within
    /// `writer.opening_tokens`; fails without a gist.
    fn gist_of(
        &self,
        opened: &OpenedTarget,
        record: &Path,
        progress: &ProgressLine,
    ) -> Result<String, Failure> {
        const GIST: &str = "gist.jsonl";
        let around = self.around;
        let settings = around.settings_with("offline", "offline")?;
        let writer = Writer::new(settings, Arc::clone(&self.sandbox), &around.access());
        let writer = writer.or_exit(Exit::Usage)?;
        let context = opened.context(around, record);
        let mut session = writer.session(&context).or_exit(Exit::Infrastructure)?;
        session.traces = Some(around.cache.join("traces"));
        let end = writer.write(&mut session, &record.join(GIST), Vec::new(), progress.watch());
        let end = end.or_exit(Exit::Infrastructure)?;
        match &session.findings.gist {
            Some(gist) => Ok(tail_of(&gist.text, self.writer.settings().writer.opening_tokens)),
            None => Err(without_gist(&session, &end)),
        }
    }
}

/// The end of a gist, where its test is, within a number of tokens.
fn tail_of(text: &str, budget: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (mut left, mut first) = (budget, lines.len());
    while let Some(line) = first.checked_sub(1).map(|at| lines[at]) {
        let cost = count_tokens(line) + 1;
        if cost > left {
            break;
        }
        left -= cost;
        first -= 1;
    }
    match first {
        0 => text.to_owned(),
        cut => format!("# [{cut} lines left out]\n{}\n", lines[first..].join("\n")),
    }
}

/// Returns the tools of the stages of a repair with a number of rounds.
fn names_of_tools(rounds: u32) -> Vec<String> {
    let round = ROUND.iter().filter(|_| rounds > 0);
    let tools = round.chain(&LAST).flat_map(|stage| stage.tools());
    tools.map(|name| (*name).to_owned()).collect()
}

/// The settings with the tools of the stages alone.
fn settings_of_stages(around: &Surroundings) -> Result<Settings, Failure> {
    let mut settings = around.settings.clone();
    if settings.writer.model == "offline" {
        let message = "the offline model solves no issues (name one with -m)";
        return Err(Failure::new(Exit::Usage, message));
    }
    settings.writer.tools = names_of_tools(settings.fix.rounds);
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

/// The places of the true patch.
fn true_diff(
    request: &GitRequest<'_>,
    name: &str,
    text: &str,
    repository: &str,
) -> Result<UnifiedDiff, Failure> {
    let refused = |class: &PatchCheck| {
        let reason = class.reason().map_or_else(String::new, |reason| format!(": {reason}"));
        let class = class.name().replace('_', " ");
        Failure::new(Exit::Input, format!("patch {name} on {repository}: {class}{reason}"))
    };
    let normal = normal_patch(request, text).map_err(of_repository)?;
    let normal = normal.map_err(|class| refused(&class))?;
    UnifiedDiff::parse(&normal).or_exit(Exit::Infrastructure)
}

/// The result of a session, and its patch.
fn result_of(
    request: &GitRequest<'_>,
    session: &Session,
    end: &End,
    gold: Option<&UnifiedDiff>,
    effort: Effort,
) -> Result<(RepairResult, String), Failure> {
    let repair = session.findings.chain.repair.clone().unwrap_or_default();
    let changes = repair.changes();
    let patch = patch_of(request, &changes).map_err(of_repository)?;
    // An empty patch covers nothing.
    let diff = UnifiedDiff::parse(&patch).unwrap_or_default();
    let location: Option<CorrectLocation> = gold.map(|gold| correct_location(gold, &diff));
    let result = RepairResult {
        version: REPAIR_VERSION,
        outcome: end.outcome.to_string(),
        patch: check_patch(request, &patch).map_err(of_repository)?,
        files: changes.into_keys().collect(),
        root_cause: repair.root_cause,
        solution: check_patch(request, &repair.solution).map_err(of_repository)?,
        location,
        effort,
    };
    Ok((result, patch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topic_has_the_arguments_of_each_stage() {
        let topic = include_str!("../../help/issues.md");
        let stages = tools::Toolset::named(&names_of_tools(1)).unwrap();
        for stage in stages.iter() {
            let schema = stage.schema();
            let head = format!("| `{}` | ", stage.name());
            let row = topic.lines().find_map(|line| line.strip_prefix(&head)).unwrap();
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let properties = schema["properties"].as_object().unwrap();
            let told: std::collections::BTreeSet<&str> =
                row.split(" | ").next().unwrap().split(", ").collect();
            let names =
                properties.keys().map(|name| match required.contains(&name.as_str().into()) {
                    true => format!("`{name}`"),
                    false => format!("[`{name}`]"),
                });
            let names: Vec<String> = names.collect();
            assert_eq!(told, names.iter().map(String::as_str).collect(), "{}", stage.name());
        }
    }

    #[test]
    fn of_a_long_gist_the_end_is_told() {
        assert_eq!(tail_of("a = 1\nb = 2\n", 100), "a = 1\nb = 2\n");
        let text = "a = 1\n".repeat(100) + "b = 2\n";
        let told = tail_of(&text, 10);
        assert!(
            told.starts_with("# [99 lines left out]\n") && told.ends_with("a = 1\nb = 2\n"),
            "{told}"
        );
    }
}
