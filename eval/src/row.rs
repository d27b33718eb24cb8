//! A result in short: what tables and indexes need of it, and nothing that grows with a gist.
//!
//! Rows are made from results and can be made again; they judge nothing.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{
    bench::{TaskOutcome, TaskResult},
    evaluate::Writer,
    scorers::{Category, Effort},
};

/// One attempt of a solver at a task, in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The suite.
    pub suite: String,
    /// The task.
    pub task: String,
    /// The solver.
    pub solver: String,
    /// Which of its attempts, from 1.
    pub repetition: u32,
    /// Where everything of it is, relative to the run's directory.
    pub place: PathBuf,
    /// Whether it counts, and why not.
    pub standing: Standing,
    /// What was seen where something is the matter, on one line.
    pub evidence: String,
    /// Why it is not faithful.
    pub category: Option<Category>,
    /// What the suite's author saw otherwise.
    pub unexpected: Option<String>,
    /// What the writer could use.
    pub writer: Writer,
    /// Execution fidelity, 0 or 1.
    pub fidelity: Option<f64>,
    /// Line existence rate.
    pub existence: Option<f64>,
    /// The same without glue.
    pub existence_without_glue: Option<f64>,
    /// Line execution rate.
    pub execution: Option<f64>,
    /// Test score.
    pub test: Option<f64>,
    /// Share of cases that pass.
    pub pass_rate: Option<f64>,
    /// Glue lines.
    pub glue: Option<f64>,
    /// Lines of the gist.
    pub lines: Option<f64>,
    /// Tokens of the gist.
    pub tokens: Option<f64>,
    /// Lines as a share of those that ran.
    pub lines_of_executed: Option<f64>,
    /// What writing cost.
    pub effort: Option<Effort>,
    /// Whether what the original does was measured before.
    pub reference_cached: bool,
    /// Median wall-clock seconds of the plain command.
    pub reference_seconds: Option<f64>,
    /// Seconds of scoring, the reference excluded.
    pub scoring_seconds: Option<f64>,
    /// Calls that the command makes, as the suite says; 0 where it does not.
    pub calls: u64,
    /// Files that the command executes, as the suite says; 0 where it does not.
    pub files: u64,
    /// Wall-clock seconds of everything.
    pub seconds: f64,
}

/// Whether an attempt counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It was scored.
    Scored,
    /// Its task is set aside by the reference runs.
    Quarantined,
    /// Its task cannot tell the original from nothing.
    Unfit,
    /// Something besides the gist failed.
    Infrastructure,
}

impl Standing {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Scored => "scored",
            Standing::Quarantined => "quarantined",
            Standing::Unfit => "unfit",
            Standing::Infrastructure => "infrastructure",
        }
    }
}

impl Row {
    /// A result in short; `place` is the directory of its record, relative to the run's.
    pub fn of(result: &TaskResult, place: &Path) -> Self {
        let attempt = result.attempt.as_ref();
        let mut row = Row {
            suite: result.suite.clone(),
            task: result.task.clone(),
            solver: result.solver.clone(),
            repetition: result.repetition,
            place: place.to_path_buf(),
            standing: Standing::Infrastructure,
            evidence: String::new(),
            category: None,
            unexpected: None,
            writer: attempt.map(|attempt| attempt.writer).unwrap_or_default(),
            fidelity: None,
            existence: None,
            existence_without_glue: None,
            execution: None,
            test: None,
            pass_rate: None,
            glue: None,
            lines: None,
            tokens: None,
            lines_of_executed: None,
            effort: attempt.map(|attempt| attempt.effort.clone()),
            reference_cached: false,
            reference_seconds: None,
            scoring_seconds: None,
            calls: result.difficulty.calls,
            files: result.difficulty.files,
            seconds: result.seconds,
        };
        let judged = match &result.outcome {
            TaskOutcome::Judged(judged) => judged,
            TaskOutcome::Unfit(why) | TaskOutcome::Infrastructure(why) => {
                if matches!(result.outcome, TaskOutcome::Unfit(_)) {
                    row.standing = Standing::Unfit;
                }
                row.evidence = crate::blocks::folded(why);
                return row;
            }
        };
        row.standing = Standing::Scored;
        row.reference_cached = judged.reference.cached;
        row.unexpected =
            result.expected.map(|other| format!("{}, not {other}", judged.reference.counts));
        if let Some(quarantine) = &judged.quarantine {
            row.standing = Standing::Quarantined;
            row.evidence = crate::blocks::folded(&format!("{quarantine:?}"));
            return row;
        }
        if let Some(cause) = &judged.cause {
            row.category = Some(cause.category);
            row.evidence = crate::blocks::folded(&cause.evidence);
        }
        let existence = judged.existence.as_ref();
        row.fidelity = judged.fidelity.as_ref().map(|fidelity| f64::from(fidelity.score));
        row.existence = existence.and_then(|existence| existence.rate);
        row.existence_without_glue = existence.and_then(|existence| existence.rate_without_glue);
        row.execution = judged.execution.as_ref().and_then(|execution| execution.rate);
        row.test = judged.test.as_ref().and_then(|test| test.rate);
        row.pass_rate = judged.pass_rate.and_then(|passes| passes.rate);
        row.glue = existence.map(|existence| existence.glue as f64);
        row.lines = judged.size.map(|size| size.gist.lines as f64);
        row.tokens = judged.size.map(|size| size.gist.tokens as f64);
        row.lines_of_executed = judged.size.and_then(|size| size.lines_of_executed);
        row.reference_seconds = Some(judged.reference.seconds);
        row.scoring_seconds = Some(judged.seconds);
        row
    }

    /// What is the matter, in two or three words; nothing where all is well.
    pub fn what(&self) -> Option<String> {
        match (self.standing, self.category) {
            (Standing::Scored, None) => None,
            (Standing::Scored, Some(category)) => Some(category.to_string()),
            (standing, _) => Some(standing.name().to_owned()),
        }
    }
}
