//! The judgement of one answer: a directory of outputs, by GitTaskBench's completion criteria, then by the task's own
//! script (RepoMaster, appendix A).
//!
//! Files of an answer are data of others: they are read in the sandbox alone, as copies. An answer that is of no use is a
//! class, never an error.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{
    Environment, Finished, Limits, Network, Outputs, QueryInput, Request, Sandbox, Status,
    Workspace, WorkspaceError, copy_inputs, keep_outputs,
};

use crate::error::EvalError;

/// Bytes of a reason.
const REASON: usize = 500;
/// The script that reads files as what their names say they are.
const READABLE: &str = include_str!("readable.py");

/// The machine on which answers are judged.
#[derive(Clone, Copy)]
pub struct QueryBed<'a> {
    /// The sandbox.
    pub sandbox: &'a dyn Sandbox,
    /// The interpreter of the scripts.
    pub environment: &'a Environment,
    /// The workspace of the runs.
    pub workspace: &'a Workspace,
    /// Bounds on each run.
    pub limits: Limits,
}

/// The part of a task by which an answer is judged.
#[derive(Debug, Clone, Copy)]
pub struct JudgedTask<'a> {
    /// The inputs.
    pub inputs: &'a [QueryInput],
    /// The names of the output files; empty where any name of the rule will do.
    pub expected: &'a [String],
    /// The criteria script; without one completion is all that is judged.
    pub criteria: Option<&'a CriteriaScript>,
}

/// The name of a criteria script while it runs.
pub(super) const CRITERIA: &str = "criteria.py";

/// A script that judges an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CriteriaScript {
    /// Its text.
    pub text: String,
    /// The names and texts of Python files beside it, which it may import.
    pub modules: Vec<(String, String)>,
}

/// The class of an answer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AnswerClass {
    /// The criteria say that it is complete and right.
    Passed,
    /// The criteria say that it is complete and not right.
    NotPassed,
    /// All files are there and can be read; there are no criteria.
    Completed,
    /// The criteria say that it is not complete.
    NotCompleted,
    /// There is no file.
    NoOutput,
    /// There are files, and none of the name, or one of the expected is missing.
    Misnamed,
    /// A file is empty, or is not what its name says.
    Unreadable,
    /// The criteria script ends by an error on this answer.
    CriteriaRaised,
    /// It does not end in time.
    CriteriaTimedOut,
    /// It needs too much memory.
    CriteriaOutOfMemory,
    /// Its last line is no verdict.
    CriteriaNonsense,
    /// There is no answer to the task.
    NoAnswer,
    /// The machine or the provider failed; it does not count.
    Failed,
}

/// The judgement of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerJudgement {
    /// The class.
    pub class: AnswerClass,
    /// The reason, in few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The measures of the criteria.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, f64>,
    /// The output files.
    pub files: Vec<String>,
    /// Wall-clock seconds of the judgement.
    pub seconds: f64,
}

/// The last line of a criteria script.
#[derive(Deserialize)]
struct CriteriaReply {
    completed: bool,
    passed: bool,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    metrics: BTreeMap<String, f64>,
}

impl AnswerClass {
    /// Its name in tables.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::NotPassed => "not passed",
            Self::Completed => "completed",
            Self::NotCompleted => "not completed",
            Self::NoOutput => "no output",
            Self::Misnamed => "misnamed",
            Self::Unreadable => "unreadable",
            Self::CriteriaRaised => "criteria raised",
            Self::CriteriaTimedOut => "criteria timed out",
            Self::CriteriaOutOfMemory => "criteria out of memory",
            Self::CriteriaNonsense => "criteria nonsense",
            Self::NoAnswer => "no answer",
            Self::Failed => "failed",
        }
    }

    /// Returns true if it is a verdict on an answer.
    pub fn is_scored(self) -> bool {
        self != Self::Failed
    }

    /// Returns true if the answer is complete: its files are there, have their names, and can be read. One that the
    /// criteria script fails at is complete and does not pass.
    pub fn is_completed(self) -> bool {
        match self {
            Self::Passed
            | Self::NotPassed
            | Self::Completed
            | Self::CriteriaRaised
            | Self::CriteriaTimedOut
            | Self::CriteriaOutOfMemory
            | Self::CriteriaNonsense => true,
            Self::NotCompleted
            | Self::NoOutput
            | Self::Misnamed
            | Self::Unreadable
            | Self::NoAnswer
            | Self::Failed => false,
        }
    }
}

impl AnswerJudgement {
    /// A judgement that needs no run.
    pub fn of_class(class: AnswerClass, reason: impl Into<String>) -> Self {
        let (metrics, files) = (BTreeMap::new(), Vec::new());
        Self { class, reason: shortened(&reason.into()), metrics, files, seconds: 0.0 }
    }
}

/// Judges a directory of outputs.
///
/// # Errors
/// The machine fails or the user interrupts.
pub fn judge_answer(
    bed: &QueryBed<'_>,
    task: &JudgedTask<'_>,
    outputs: &Path,
) -> Result<AnswerJudgement, EvalError> {
    let place = bed.workspace.directory("answer")?;
    let judged = judge_in(bed, task, outputs, &place);
    bed.workspace.discard(&place);
    judged
}

fn judge_in(
    bed: &QueryBed<'_>,
    task: &JudgedTask<'_>,
    outputs: &Path,
    place: &Path,
) -> Result<AnswerJudgement, EvalError> {
    let kept = place.join("outputs");
    keep_outputs(outputs, &kept)?;
    let found = Outputs::of(&kept).map_err(failed(&kept))?;
    let of_class = |class, reason: String, seconds: f64| {
        let files = found.named.clone();
        Ok(AnswerJudgement { files, seconds, ..AnswerJudgement::of_class(class, reason) })
    };
    let missing = found.missing(task.expected);
    if found.named.is_empty() && found.others.is_empty() {
        return of_class(
            AnswerClass::NoOutput,
            "the directory of outputs is empty".to_owned(),
            0.0,
        );
    }
    if !missing.is_empty() || found.named.is_empty() {
        let missing = match missing.as_slice() {
            [] => "output.EXT".to_owned(),
            names => names.join(", "),
        };
        let there = [found.named.clone(), found.others.clone()].concat().join(", ");
        return of_class(
            AnswerClass::Misnamed,
            format!("there is no {missing} (but {there})"),
            0.0,
        );
    }
    // Files beside those that are expected are not part of the answer.
    let names = if task.expected.is_empty() { &found.named } else { task.expected };
    let paths: Vec<PathBuf> = names.iter().map(|name| kept.join(name)).collect();
    let reader = CriteriaScript { text: READABLE.to_owned(), modules: Vec::new() };
    let read = bed.run(&reader, &paths, place)?;
    let seconds = read.wall.as_secs_f64();
    if let Some(reason) = unreadable(&read, names, &paths) {
        return of_class(AnswerClass::Unreadable, reason, seconds);
    }
    let Some(criteria) = task.criteria else {
        return of_class(AnswerClass::Completed, String::new(), seconds);
    };
    let inputs = place.join("inputs");
    fs::create_dir(&inputs).map_err(failed(&inputs))?;
    copy_inputs(task.inputs, &inputs)?;
    let ran = bed.run(criteria, &[inputs, kept], place)?;
    let seconds = seconds + ran.wall.as_secs_f64();
    let judged = judgement_of(&ran);
    Ok(AnswerJudgement { files: found.named, seconds, ..judged })
}

impl QueryBed<'_> {
    /// Runs a script with paths, which it may only read.
    fn run(
        &self,
        script: &CriteriaScript,
        paths: &[PathBuf],
        place: &Path,
    ) -> Result<Finished, EvalError> {
        let scratch = self.workspace.directory("criteria")?;
        let program = scratch.join(CRITERIA);
        let write = |path: PathBuf, text: &str| fs::write(&path, text).map_err(failed(&path));
        let mut modules = script.modules.iter();
        let written = modules
            .try_for_each(|(name, text)| write(scratch.join(name), text))
            .and_then(|()| write(program.clone(), &script.text));
        let ran = written.and_then(|()| {
            let text = |path: &Path| path.to_string_lossy().into_owned();
            let env: BTreeMap<String, String> = [
                ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
                ("HOME", text(&scratch)),
                ("TMPDIR", text(&scratch)),
                ("LANG", "C.UTF-8".to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
            // Isolated from variables and the user's packages, not from the modules beside the script.
            let mut args =
                vec!["-E".into(), "-s".into(), "-B".into(), program.clone().into_os_string()];
            args.extend(paths.iter().map(|path| path.clone().into_os_string()));
            let mut readable = vec![place.to_path_buf(), scratch.clone()];
            readable.extend(self.environment.readable.clone());
            let request = Request {
                program: self.environment.python.clone(),
                args,
                cwd: scratch.clone(),
                env,
                readable,
                writable: vec![scratch.clone()],
                hidden: Vec::new(),
                network: Network::Loopback,
                limits: self.limits,
            };
            self.sandbox
                .run(&request)
                .map_err(|error| EvalError::Execute(tools::ExecuteError::Sandbox(error)))
        });
        self.workspace.discard(&scratch);
        match ran? {
            Finished { status: Status::Interrupted, .. } => Err(EvalError::Interrupted),
            finished => Ok(finished),
        }
    }
}

/// The first file that cannot be read, and why.
fn unreadable(read: &Finished, names: &[String], paths: &[PathBuf]) -> Option<String> {
    let told: Option<BTreeMap<PathBuf, Option<String>>> =
        serde_json::from_slice(&read.stdout.bytes).ok();
    let Some(told) = told.filter(|_| read.status == Status::Exited(0)) else {
        return Some(format!("reading the files: {}", read.status.describe()));
    };
    names.iter().zip(paths).find_map(|(name, path)| {
        let reason = told.get(path).cloned().unwrap_or_else(|| Some("it was not read".to_owned()));
        reason.map(|reason| format!("{name}: {reason}"))
    })
}

/// The judgement that a run of a criteria script gives.
fn judgement_of(ran: &Finished) -> AnswerJudgement {
    let stderr = ran.stderr.text();
    let last = |text: &str| {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.next_back().unwrap_or_default().to_owned()
    };
    let class = match ran.status {
        Status::Exited(0) => None,
        Status::TimedOut => Some(AnswerClass::CriteriaTimedOut),
        Status::OutOfMemory => Some(AnswerClass::CriteriaOutOfMemory),
        _ => Some(AnswerClass::CriteriaRaised),
    };
    if let Some(class) = class {
        let reason = match last(&stderr) {
            line if line.is_empty() || class != AnswerClass::CriteriaRaised => {
                ran.status.describe()
            }
            line => line,
        };
        return AnswerJudgement::of_class(class, reason);
    }
    let line = last(&ran.stdout.text());
    let reply: CriteriaReply = match serde_json::from_str(&line) {
        Ok(reply) => reply,
        Err(error) => {
            let reason = format!("its last line is {line:?}: {error}");
            return AnswerJudgement::of_class(AnswerClass::CriteriaNonsense, reason);
        }
    };
    let class = match (reply.completed, reply.passed) {
        (true, true) => AnswerClass::Passed,
        (true, false) => AnswerClass::NotPassed,
        (false, false) => AnswerClass::NotCompleted,
        (false, true) => {
            let reason = "it says that the answer passes and is not complete";
            return AnswerJudgement::of_class(AnswerClass::CriteriaNonsense, reason);
        }
    };
    AnswerJudgement { metrics: reply.metrics, ..AnswerJudgement::of_class(class, reply.reason) }
}

/// A reason on one line of bounded length.
fn shortened(reason: &str) -> String {
    let line: Vec<&str> = reason.split_whitespace().collect();
    let line = line.join(" ");
    match line.len() > REASON {
        true => format!("{}...", &line[..line.floor_char_boundary(REASON)]),
        false => line,
    }
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> EvalError {
    let path = path.to_path_buf();
    move |source| EvalError::Workspace(WorkspaceError::Create { path: path.clone(), source })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tools::Captured;

    use super::*;

    fn finished(status: Status, stdout: &str, stderr: &str) -> Finished {
        let captured =
            |text: &str| Captured { bytes: text.as_bytes().to_vec(), ..Captured::default() };
        Finished {
            status,
            stdout: captured(stdout),
            stderr: captured(stderr),
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
            max_rss: 0,
        }
    }

    #[test]
    fn every_end_of_a_criteria_script_is_a_class() {
        let exited = Status::Exited(0);
        let good = r#"{"completed": true, "passed": true, "metrics": {"share": 1}}"#;
        let noisy = format!("checking\n{good}\n\n");
        let many = format!("{}\n", "x".repeat(10_000));
        for (status, stdout, stderr, expected, told) in [
            (exited, good, "", "passed", ""),
            (exited, noisy.as_str(), "a warning", "passed", ""),
            (
                exited,
                r#"{"completed": true, "passed": false, "reason": "two rows\nare missing"}"#,
                "",
                "not passed",
                "two rows are missing",
            ),
            (exited, r#"{"completed": false, "passed": false}"#, "", "not completed", ""),
            (exited, r#"{"completed": false, "passed": true}"#, "", "criteria nonsense", "passes"),
            (exited, "", "", "criteria nonsense", "its last line is \"\""),
            (exited, "fine", "", "criteria nonsense", "its last line is \"fine\""),
            (exited, "[true]", "", "criteria nonsense", "its last line"),
            (exited, r#"{"completed": 1, "passed": true}"#, "", "criteria nonsense", "boolean"),
            (exited, many.as_str(), "", "criteria nonsense", "xxx..."),
            (
                exited,
                r#"{"completed": true, "passed": true, "metrics": {"a": "b"}}"#,
                "",
                "criteria nonsense",
                "f64",
            ),
            (Status::Exited(1), good, "Traceback\nKeyError: 'x'\n", "criteria raised", "KeyError"),
            (Status::Exited(3), "", "", "criteria raised", "exit code 3"),
            (Status::Signaled(11), good, "", "criteria raised", "signal 11"),
            (Status::TimedOut, good, "half", "criteria timed out", "time limit"),
            (Status::OutOfMemory, "", "", "criteria out of memory", "memory limit"),
        ] {
            let judged = judgement_of(&finished(status, stdout, stderr));
            assert_eq!(judged.class.phrase(), expected, "{stdout}");
            assert!(judged.reason.contains(told), "{stdout}: {}", judged.reason);
            assert!(judged.reason.len() <= REASON + 3 && !judged.reason.contains('\n'));
            let is_good = expected == "passed";
            assert_eq!(judged.metrics.contains_key("share"), is_good, "{stdout}");
            assert!(judged.class.is_completed() || expected == "not completed");
        }
    }
}
