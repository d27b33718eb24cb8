//! The trait of the tools that a model may call, and the two ways in which a call can fail.
//!
//! A tool declares its arguments and does one thing in a [`Session`]. Its description for a model,
//! and the advice after a refusal, are prompts.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::session::Session;

/// One thing that a step may do.
pub trait Tool: Send + Sync {
    /// The name by which it is called.
    fn name(&self) -> &'static str;

    /// Returns the kind of step, for the account of effort.
    fn group(&self) -> Group;

    /// JSON schema of its arguments: an object, without descriptions.
    fn schema(&self) -> Value;

    /// Carries out one call.
    ///
    /// # Errors
    /// [`ToolError::Refused`] where other arguments or another order of calls would help,
    /// [`ToolError::Fatal`] where nothing that a model does would.
    fn call(&self, arguments: Value, session: &mut Session) -> Result<Reply, ToolError>;
}

/// Kinds of tools (Gistify, appendix C.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Reads files or parts of them.
    View,
    /// Finds things in the repository.
    Search,
    /// Runs something.
    Execute,
    /// All the rest.
    Other,
}

impl Group {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Other => "other",
        }
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The text for the model: a string unchanged, anything else as JSON. The tool bounds it and
    /// notes every cut in it.
    pub value: Value,
    /// True if the call submitted the current gist, which ends the session.
    pub submitted: bool,
    /// The tool whose last reply is to be shown no more.
    pub retracts: Option<&'static str>,
    /// All of the text that the value has a part of, for a reader that chooses by itself what it shows.
    pub whole: Option<String>,
}

impl Reply {
    /// A reply after which the session goes on.
    ///
    /// # Errors
    /// A value that JSON cannot hold is a defect of the tool, hence fatal.
    pub fn of(value: &impl Serialize) -> Result<Self, ToolError> {
        let value =
            serde_json::to_value(value).map_err(|error| ToolError::Fatal(error.to_string()))?;
        Ok(Self { value, submitted: false, retracts: None, whole: None })
    }
}

/// The reason why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The model can mend it.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// The run has to stop.
    #[error("{0}")]
    Fatal(String),
}

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The problem, which selects the advice for the model.
    pub problem: Problem,
    /// The fact: lowercase, naming the path or key.
    pub message: String,
}

/// The problems of a call; each has a prompt template of this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// No tool has this name.
    UnknownTool,
    /// The arguments do not fit the tool's schema.
    BadArguments,
    /// The call needs a trace of the original, and there is none yet.
    NoTrace,
    /// The call needs a gist, and none was written yet.
    NoGist,
    /// The call belongs to another stage of the work.
    WrongStage,
    /// The arguments name something that does not exist.
    NotFound,
    /// The call was right and what it tried did not work.
    Failed,
}

impl Problem {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::UnknownTool,
        Self::BadArguments,
        Self::NoTrace,
        Self::NoGist,
        Self::WrongStage,
        Self::NotFound,
        Self::Failed,
    ];

    /// Its name in records and among the prompts.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::BadArguments => "bad_arguments",
            Self::NoTrace => "no_trace",
            Self::NoGist => "no_gist",
            Self::WrongStage => "wrong_stage",
            Self::NotFound => "not_found",
            Self::Failed => "failed",
        }
    }

    /// A refusal for this reason.
    pub fn because(self, message: impl ToString) -> ToolError {
        ToolError::Refused(Refusal { problem: self, message: message.to_string() })
    }
}

/// Arguments as a tool's own type.
///
/// # Errors
/// A refusal that names the argument.
pub fn arguments<T: DeserializeOwned>(value: Value) -> Result<T, ToolError> {
    // Some providers send no arguments as null.
    let value = match value {
        Value::Null => Value::Object(Default::default()),
        // This is how a model's text arrives that is no JSON.
        Value::String(text) => {
            let start: String = text.chars().take(80).collect();
            let message = format!("they are no JSON object: {start:?}");
            return Err(Problem::BadArguments.because(message));
        }
        value => value,
    };
    serde_json::from_value(value).map_err(|error| Problem::BadArguments.because(error))
}

/// The schema of a tool's arguments, complete in itself and without descriptions.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    schema.into()
}
