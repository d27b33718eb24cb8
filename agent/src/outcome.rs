//! The ways in which a session ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::ModelError;

/// The end of a session; each session has exactly one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// The gist was handed in.
    Submitted,
    /// The steps were used up.
    StepLimit,
    /// The tokens were used up.
    TokenLimit,
    /// The money was used up.
    CostLimit,
    /// The time was used up.
    TimeLimit,
    /// The conversation does not fit the model's window, however much is condensed.
    ContextLimit {
        /// The sizes of both, as far as known.
        #[serde(default)]
        message: String,
    },
    /// Too many answers in a row that call no tool or cannot be read.
    FormatErrors,
    /// The task is none for this writer; no request was made.
    Unfit {
        /// The cause.
        message: String,
    },
    /// The model gave no answer.
    ModelFailure {
        /// The cause.
        message: String,
    },
    /// The provider's quota is used up: the session can be taken up again later.
    Paused {
        /// The message of the provider.
        message: String,
    },
    /// A tool or the record failed, or the program did.
    Fatal {
        /// The cause.
        message: String,
    },
    /// The user stopped it.
    Interrupted,
}

impl Outcome {
    /// Returns true if a limit ended the session.
    pub fn is_limit(&self) -> bool {
        matches!(
            self,
            Self::StepLimit
                | Self::TokenLimit
                | Self::CostLimit
                | Self::TimeLimit
                | Self::ContextLimit { .. }
        )
    }
}

impl From<ModelError> for Outcome {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Failed(message) => Self::ModelFailure { message },
            ModelError::Paused(message) => Self::Paused { message },
            ModelError::TooLong(message) => Self::ContextLimit { message },
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Submitted => out.write_str("submitted"),
            Self::StepLimit => out.write_str("step limit reached"),
            Self::TokenLimit => out.write_str("token limit reached"),
            Self::CostLimit => out.write_str("cost limit reached"),
            Self::ContextLimit { message } => write!(out, "context limit reached: {message}"),
            Self::TimeLimit => out.write_str("time limit reached"),
            Self::FormatErrors => out.write_str("repeated format errors"),
            Self::Unfit { message } => write!(out, "unfit: {message}"),
            Self::ModelFailure { message } => write!(out, "model failure: {message}"),
            Self::Paused { message } => write!(out, "paused: {message}"),
            Self::Fatal { message } => write!(out, "fatal: {message}"),
            Self::Interrupted => out.write_str("interrupted"),
        }
    }
}
