//! A short result: the fields for tables and indexes, and nothing that grows with a gist.
//!
//! Rows are derived from results and can be rebuilt; they judge nothing.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, Serializer};

use crate::{
    bench::{TaskOutcome, TaskResult},
    evaluate::WriterAbilities,
    scorers::{Category, Effort, MEASURES, Scorer, StrictFidelity, Verified},
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
    /// The number of its attempt, from 1.
    pub repetition: u32,
    /// The directory of the attempt, relative to the run's directory.
    pub place: PathBuf,
    /// The standing: it counts, or the reason why it does not.
    pub standing: AttemptStanding,
    /// The evidence of a failure, on one line.
    pub evidence: String,
    /// Why it is not faithful.
    pub category: Option<Category>,
    /// The author's outcomes, if they differ.
    pub unexpected: Option<String>,
    /// The abilities of the writer.
    pub writer: WriterAbilities,
    /// The values of [`MEASURES`](crate::MEASURES) by name; a measure without a value is missing.
    pub scores: MeasuredValues,
    /// The cost of writing.
    pub effort: Option<Effort>,
    /// True if the reference was measured before.
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

/// Values by the names of measures. A bench of 100,000 attempts keeps all rows in memory: names that
/// [`MEASURES`](crate::MEASURES) has are not copied.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(from = "BTreeMap<String, f64>")]
pub struct MeasuredValues(Box<[(Cow<'static, str>, f64)]>);

impl MeasuredValues {
    /// The value of a measure.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
    }

    /// Returns true if no measure has a value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<BTreeMap<String, f64>> for MeasuredValues {
    fn from(values: BTreeMap<String, f64>) -> Self {
        let known = |name: String| match MEASURES.iter().find(|measure| measure.name == name) {
            Some(measure) => Cow::Borrowed(measure.name),
            None => Cow::Owned(name),
        };
        Self(values.into_iter().map(|(name, value)| (known(name), value)).collect())
    }
}

impl Serialize for MeasuredValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// The standing of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStanding {
    /// It was scored.
    Scored,
    /// Its task is set aside by the reference runs.
    Quarantined,
    /// Its task cannot tell the original from an empty gist.
    Unfit,
    /// Something besides the gist failed.
    Infrastructure,
}

impl AttemptStanding {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            AttemptStanding::Scored => "scored",
            AttemptStanding::Quarantined => "quarantined",
            AttemptStanding::Unfit => "unfit",
            AttemptStanding::Infrastructure => "infrastructure",
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
            standing: AttemptStanding::Infrastructure,
            evidence: String::new(),
            category: None,
            unexpected: None,
            writer: attempt.map(|attempt| attempt.writer).unwrap_or_default(),
            scores: MeasuredValues::default(),
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
                    row.standing = AttemptStanding::Unfit;
                }
                row.evidence = crate::blocks::folded(why);
                return row;
            }
        };
        row.standing = AttemptStanding::Scored;
        row.reference_cached = judged.reference.cached;
        row.unexpected =
            result.expected.map(|other| format!("{}, not {other}", judged.reference.counts));
        if let Some(quarantine) = &judged.quarantine {
            row.standing = AttemptStanding::Quarantined;
            row.evidence = crate::blocks::folded(&format!("{quarantine:?}"));
            return row;
        }
        if let Some(cause) = &judged.cause {
            row.category = Some(cause.category);
            row.evidence = crate::blocks::folded(&cause.evidence);
        } else if let Some(reason) = judged.verification().and_then(|found| found.reason) {
            row.evidence = crate::blocks::folded(&reason);
        }
        row.scores = judged.scores.values().into();
        row.reference_seconds = Some(judged.reference.seconds);
        row.scoring_seconds = Some(judged.seconds);
        row
    }

    /// The value of a scorer.
    pub fn value<S: Scorer>(&self) -> Option<f64> {
        self.scores.get(S::NAME)
    }

    /// Returns true if the gist was scored and is faithful.
    pub fn is_faithful(&self) -> bool {
        self.standing == AttemptStanding::Scored && self.value::<StrictFidelity>() == Some(1.0)
    }

    /// Returns true if the gist was scored and is verified.
    pub fn is_verified(&self) -> bool {
        self.standing == AttemptStanding::Scored && self.value::<Verified>() == Some(1.0)
    }

    /// Returns the failure in two or three words; `None` for a success.
    pub fn what(&self) -> Option<String> {
        match (self.standing, self.category) {
            (AttemptStanding::Scored, None) => {
                (self.value::<Verified>() == Some(0.0)).then(|| "not verified".to_owned())
            }
            (AttemptStanding::Scored, Some(category)) => Some(category.to_string()),
            (standing, _) => Some(standing.name().to_owned()),
        }
    }
}
