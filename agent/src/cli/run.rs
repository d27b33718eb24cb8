//! `gistify run`: from a repository and a command to a gist, judged.

use std::path::{Path, PathBuf};

use ::eval::{Evaluation, Submission, VersionedRecord};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use tools::{Findings, GIST_NAME, Reuse, Session, ToolError, alone, standalone, with_mark};

use super::{
    Exit, Failure, OrExit,
    bar::Requirement,
    destination::{check_directory, check_file, check_new_directory},
    each::{DIRECTORY, Each, EachSelection},
    explain::explain,
    flags::Flags,
    formats::{Checked, FormatChoice, Printed},
    progress::ProgressLine,
    repro::head,
    surroundings::Surroundings,
    target::{Judged, MutantsFlag, TargetFlags, given_paths},
    verdict::{self, verdict},
    writing::Writing,
};
use crate::{
    message::{Answer, Message},
    outcome::Outcome,
    record::{RunDirectory, replace},
    trajectory::{End, TrajectoryRecord, read_trajectory},
    writer::{TRAJECTORY, Writer, matched_map, source_map},
};

/// The file of a record with the standalone gist.
pub const STANDALONE: &str = "standalone.py";

#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    mutants: MutantsFlag,
    #[command(flatten)]
    writing: Writing,
    /// File for the gist [default: concise.py]; the directory for those of --each.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output where it exists.
    #[arg(long)]
    force: bool,
    /// Write the gist as a file that runs by itself: with a head, the packages that it needs (PEP 723), the data files
    /// that it reads, and a last block that runs it.
    #[arg(long)]
    standalone: bool,
    /// Continue the run with this record: its answers are replayed, then the model is asked again.
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// Leave the run's record in this directory, which has to be empty.
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// Write a gist for each test that the command runs, or for each that fails, into a directory [default: gists];
    /// a run that was stopped goes on.
    #[arg(long, value_name = "WHICH", num_args = 0..=1, default_missing_value = "all", value_enum)]
    #[arg(conflicts_with_all = ["standalone", "resume", "run_dir", "explain", "require", "mutants"])]
    each: Option<EachSelection>,
    /// Gists that --each writes at the same time.
    #[arg(short, long, value_name = "N", requires = "each")]
    workers: Option<u32>,
    #[command(flatten)]
    required: Requirement,
    /// Print why each unit is in the gist, and why others are not.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    format: FormatChoice,
}

/// The result as JSON.
#[derive(Serialize, JsonSchema)]
pub struct RunOutput<'a> {
    outcome: &'a Outcome,
    gist: &'a Path,
    record: &'a Path,
    /// The lookup of an earlier trace: none, reused, or outdated.
    trace: Option<&'a Reuse>,
    scores: VersionedRecord<'a, Evaluation>,
}

impl Run {
    /// Returns the settings that its flags set.
    pub fn flags(&self) -> Flags {
        let mut flags = self.target.flags();
        self.mutants.flags(&mut flags);
        self.writing.flags(&mut flags);
        flags.path("--output", "gist.output", self.output.as_deref());
        flags.number("--workers", "bench.workers", self.workers);
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        self.target.command()?;
        if let Some(selection) = self.each {
            let directory = self.output.unwrap_or_else(|| PathBuf::from(DIRECTORY));
            check_directory(&directory)?;
            let each = Each { target: &self.target, selection, directory, force: self.force };
            return each.act(around, self.format.printed(around));
        }
        let output = &around.settings.gist.output;
        let printed = self.format.printed(around);
        check_file(output, self.force)?;
        self.run_dir.as_deref().map_or(Ok(()), check_new_directory)?;
        let sandbox = around.sandbox()?;
        let writer = Writer::for_gists(around.settings.clone(), sandbox.clone(), &around.access())
            .or_exit(Exit::Usage)?;
        let progress = ProgressLine::new(around.talk);
        // What lies in the repository of this making is no part of it.
        let own = given_paths(&[Some(output), self.run_dir.as_ref(), self.resume.as_ref()]);
        let opened = self.target.open(around, sandbox, &progress, &own)?;
        let record = record(self.run_dir.as_deref(), around)?;
        let context = opened.context(around, record.path());
        let mut session = writer.session(&context).or_exit(Exit::Infrastructure)?;
        session.traces = Some(around.cache.join("traces"));
        session.signs = progress.signs();
        let before = match &self.resume {
            Some(path) => answers(path, &session)?,
            None => Vec::new(),
        };
        let trajectory = record.path().join(TRAJECTORY);
        let end = writer.write(&mut session, &trajectory, before, progress.watch());
        progress.clear();
        let end = end.or_exit(Exit::Infrastructure)?;
        if self.standalone && end.outcome != Outcome::Interrupted {
            // A writer without the tool has not traced the command; where that fails, the judge says why.
            let _ = session.traced();
        }
        write_reasons(&record, &mut session)?;
        let findings = &session.findings;
        let Some(gist) = &findings.gist else {
            let failure = without_gist(&session, &end);
            if !matches!(failure.exit, Exit::NotFaithful | Exit::Infrastructure) {
                return Err(failure);
            }
            let kept = format!("{} (record: {})", failure.message(), record.path().display());
            return Err(Failure::new(failure.exit, kept));
        };
        let source_map = source_map(&session);
        let interrupted = end.outcome == Outcome::Interrupted;
        if interrupted && findings.best.is_none() {
            return Err(Failure::new(Exit::Interrupted, "interrupted"));
        }
        let gist_text = gist.text.clone();
        write_gist(output, &gist_text, &session)?;
        if interrupted {
            let message =
                format!("interrupted: {}; it was not judged", best_so_far(findings, output));
            return Err(Failure::new(Exit::Interrupted, message));
        }
        if end.outcome != Outcome::Submitted {
            let gist = match &findings.best {
                Some(_) => best_so_far(findings, output),
                None => format!("the gist as it was last written is in {}", output.display()),
            };
            progress.line(&format!("{}: {gist}", end.outcome));
        }
        if self.explain
            && let Some(plan) = &findings.plan
        {
            let explained = explain(plan, gist);
            // Machine-readable stdout stays parseable: the explanation goes to stderr.
            match printed {
                Printed::Full => print!("{explained}"),
                Printed::Json | Printed::Checked(_) => eprint!("{explained}"),
            }
        }
        progress.say("judge");
        let judged = opened.judge(
            around,
            &session.workspace,
            &Judged {
                submission: Submission::Written(gist_text),
                source_map: source_map.as_ref(),
                writer: writer.abilities(),
                effort: Some(writer.effort(&end, &session)),
            },
            &|sign| progress.sign(sign),
        );
        progress.clear();
        let mut evaluation = judged?;
        if evaluation.quarantine.is_none() && findings.trace.is_some() {
            progress.say("run the gist in an empty directory");
            let found = match self.standalone {
                true => standalone(&session, &head(&session, &session.repository.root, output))
                    .map(|(whole, alone)| ((!alone.interrupted).then_some(whole.text), alone)),
                false => alone(&session).map(|alone| (None, alone)),
            };
            progress.clear();
            let (whole, alone) = found.map_err(|error| match error {
                ToolError::Refused(refusal) => Failure::new(Exit::Infrastructure, refusal.message),
                ToolError::Fatal(message) => around.stopped(anyhow::Error::msg(message)),
            })?;
            if let Some(whole) = whole {
                replace(output, whole.as_bytes()).or_exit(Exit::Infrastructure)?;
                record.write(STANDALONE, whole.as_bytes()).or_exit(Exit::Infrastructure)?;
            }
            evaluation.alone = Some(alone);
        }
        ::eval::write(&record.path().join("scores.json"), &evaluation)
            .or_exit(Exit::Infrastructure)?;
        match printed {
            Printed::Json => {
                super::output::json(&RunOutput {
                    outcome: &end.outcome,
                    gist: output,
                    record: record.path(),
                    trace: findings.reuse.as_ref(),
                    scores: VersionedRecord::of(&evaluation),
                });
            }
            Printed::Checked(format) => {
                print!("{}", format.write(&[Checked::of_evaluation(&evaluation, output)]));
            }
            Printed::Full => {
                super::output::styled(&verdict(&evaluation, output, around.color));
                if let Some(message) = findings.reuse.as_ref().and_then(reuse_message) {
                    println!("  trace       {message}");
                }
                println!("  gist        {}", output.display());
                println!("  record      {}", record.path().display());
            }
        }
        Ok(verdict::exit(&evaluation, self.required))
    }
}

/// Writes a gist, with the comment by which later runs recognise it.
pub fn write_gist(path: &Path, gist: &str, session: &Session) -> Result<(), Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let marked = with_mark(gist, version, &session.command.to_string());
    replace(path, marked.as_bytes()).or_exit(Exit::Infrastructure)
}

/// A sentence on the gist of a session that ended early.
fn best_so_far(findings: &Findings, output: &Path) -> String {
    let standing = findings.standing.unwrap_or_default();
    let does = match (standing.same, standing.failure.is_whole()) {
        (true, _) => "behaves as the original does",
        (false, true) => "fails as the original does, but prints something else",
        (false, false) => "does not behave as the original does",
    };
    format!("the best gist so far is in {} (it {does})", output.display())
}

/// Returns the message about an earlier trace.
fn reuse_message(reuse: &Reuse) -> Option<String> {
    let files = |paths: &[String]| match paths {
        [one] => one.clone(),
        [one, rest @ ..] => format!("{one} and {} more", rest.len()),
        [] => "nothing".to_owned(),
    };
    match reuse {
        Reuse::None => None,
        Reuse::Held(changed) if changed.is_empty() => {
            Some("reused from the last run: nothing has changed".to_owned())
        }
        Reuse::Held(changed) => Some(format!(
            "reused from the last run: only {} changed, which the command does not read",
            files(changed)
        )),
        Reuse::Outdated(changed) => {
            Some(format!("traced again: {} changed since the last run", files(changed)))
        }
    }
}

/// Reads the model's answers from the trajectory in `directory`; fails if it is of another repository state or command.
fn answers(directory: &Path, session: &Session) -> Result<Vec<Answer>, Failure> {
    let records = read_trajectory(&directory.join(TRAJECTORY)).or_exit(Exit::Input)?;
    let Some(TrajectoryRecord::Start(start)) = records.first() else {
        let message = format!(
            "resume {}: its trajectory has no start (give the directory that a run prints as its record)",
            directory.display()
        );
        return Err(Failure::new(Exit::Input, message));
    };
    let same = start.fingerprint == session.repository.fingerprint
        && start.command == session.command.to_string();
    if !same {
        let message = format!(
            "resume {}: it is a run of {} on another repository or state (or another command)",
            directory.display(),
            start.command
        );
        return Err(Failure::new(Exit::Input, message));
    }
    let answer = |record: &TrajectoryRecord| match record {
        TrajectoryRecord::Message { message: Message::Assistant(answer), .. } => {
            Some(answer.clone())
        }
        _ => None,
    };
    Ok(records.iter().filter_map(answer).collect())
}

/// Makes the directory that keeps the run's record, with its log.
pub fn record(wanted: Option<&Path>, around: &Surroundings) -> Result<RunDirectory, Failure> {
    let record = match wanted {
        Some(path) => RunDirectory::create_at(path).or_exit(Exit::Input)?,
        None => {
            RunDirectory::create_in(&around.state.join("runs")).or_exit(Exit::Infrastructure)?
        }
    };
    around.log.continue_beside(record.path()).or_exit(Exit::Infrastructure)?;
    Ok(record)
}

/// Writes the parts of a record that `gistify why` reads beside the plan: the trace, the gist and the origins of its
/// lines, as far as the session has them.
pub fn write_reasons(record: &RunDirectory, session: &mut Session) -> Result<(), Failure> {
    if let Some(trace) = &session.findings.trace {
        record.write_json("trace.json", &**trace).or_exit(Exit::Infrastructure)?;
    }
    if let Some(gist) = &session.findings.gist {
        record.write(GIST_NAME, gist.text.as_bytes()).or_exit(Exit::Infrastructure)?;
    }
    // For a gist that a model wrote, the map is matched by text; no score uses it.
    match source_map(session).or_else(|| matched_map(session)) {
        Some(map) => {
            let path = record.path().join("source-map.json");
            ::eval::write(&path, &map).or_exit(Exit::Infrastructure)
        }
        None => Ok(()),
    }
}

/// Returns the failure, with its exit code, of a session that has no gist.
pub fn without_gist(session: &Session, end: &End) -> Failure {
    match (&end.outcome, &session.findings.unusable) {
        (Outcome::Interrupted, _) => Failure::new(Exit::Interrupted, "interrupted"),
        (_, Some(unusable)) => Failure { exit: Exit::Input, error: unusable.clone().into() },
        (Outcome::ModelFailure { .. }, _)
            if session.findings.standing.is_some_and(|standing| standing.failure.is_lost()) =>
        {
            let message =
                "no gist: the command fails, and no gist that was tried fails in the same way";
            Failure::new(Exit::NotFaithful, message)
        }
        (outcome @ Outcome::Unfit { .. }, _) => {
            Failure::new(Exit::Input, format!("no gist: {outcome}"))
        }
        (Outcome::Fatal { message }, _) => Failure::new(Exit::Infrastructure, message.clone()),
        (outcome @ (Outcome::ModelFailure { .. } | Outcome::Paused { .. }), _) => {
            Failure::new(Exit::Infrastructure, outcome.to_string())
        }
        (outcome, _) => {
            let refusals = end.refusals.as_ref();
            let refusals = refusals.map_or_else(String::new, |refusals| format!(" ({refusals})"));
            Failure::new(Exit::NotFaithful, format!("no gist: {outcome}{refusals}"))
        }
    }
}
