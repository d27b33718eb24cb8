//! Competitions with their thresholds, as a TOML file has them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The direction of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BetterScore {
    /// More is better, as of an accuracy.
    Higher,
    /// Less is better, as of an error.
    Lower,
}

impl BetterScore {
    /// Returns true if a score is as good as a threshold, or better.
    pub fn reaches(self, score: f64, threshold: f64) -> bool {
        match self {
            Self::Higher => score >= threshold,
            Self::Lower => score <= threshold,
        }
    }

    /// Returns true if a score is better than a threshold.
    pub fn exceeds(self, score: f64, threshold: f64) -> bool {
        match self {
            Self::Higher => score > threshold,
            Self::Lower => score < threshold,
        }
    }
}

/// One competition: the scores that are enough for each medal, and that of the median participant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Competition {
    /// Its name.
    pub name: String,
    /// The direction of its measure.
    pub better: BetterScore,
    /// The lowest gold medal.
    pub gold: f64,
    /// The lowest silver medal.
    pub silver: f64,
    /// The lowest bronze medal.
    pub bronze: f64,
    /// The median of the leaderboard.
    pub median: f64,
}

/// A set of competitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Competitions {
    /// The version of the form.
    version: u32,
    /// The name of the set.
    pub name: String,
    /// The competitions, in order.
    #[serde(rename = "competition")]
    pub all: Vec<Competition>,
}

const VERSION: u32 = 1;

/// Why competitions or results cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MedalError {
    /// A set of competitions is not as it has to be.
    #[error("read competitions {path}: {reason}")]
    Competitions {
        /// The file.
        path: PathBuf,
        /// The competition and the cause.
        reason: String,
    },
}

impl Competitions {
    /// Reads a set from the text of a file; `path` is for messages.
    ///
    /// # Errors
    /// It is no such file, a name is there twice, or thresholds are not in the order of their direction.
    pub fn parse(path: &str, text: &str) -> Result<Self, MedalError> {
        let failed = |reason: String| MedalError::Competitions { path: path.into(), reason };
        let set: Self = toml::from_str(text).map_err(|error| failed(error.message().to_owned()))?;
        if set.version != VERSION {
            return Err(failed(format!("version {}, not {VERSION}", set.version)));
        }
        for (at, one) in set.all.iter().enumerate() {
            let wrong = |reason: &str| failed(format!("competition {}: {reason}", one.name));
            if set.all[..at].iter().any(|other| other.name == one.name) {
                return Err(wrong("it is there twice"));
            }
            let steps = [one.gold, one.silver, one.bronze, one.median];
            if !steps.iter().all(|step| step.is_finite()) {
                return Err(wrong("a threshold is no finite number"));
            }
            if !steps.windows(2).all(|pair| one.better.reaches(pair[0], pair[1])) {
                return Err(wrong(
                    "gold, silver, bronze and median are not in the order of `better`",
                ));
            }
        }
        match set.all.is_empty() {
            true => Err(failed("it has no competition".to_owned())),
            false => Ok(set),
        }
    }

    /// Returns the competition of a name.
    pub fn find(&self, name: &str) -> Option<&Competition> {
        self.all.iter().find(|one| one.name == name)
    }
}
