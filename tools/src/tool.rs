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
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, reason) = (error.path().to_string(), error.inner().to_string());
        // Of a key that is missing or unknown, the reason has the name already.
        let is_named = path == "." || reason.contains(&format!("`{path}`"));
        let message = if is_named { reason } else { format!("{path}: {reason}") };
        Problem::BadArguments.because(message)
    })
}

/// The schema of a tool's arguments, complete in itself and without descriptions.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    schema.remove("title");
    let mut schema = schema.into();
    without_descriptions(&mut schema);
    schema
}

/// Removes descriptions, which the prompts have; a choice between described constants becomes a list of them.
fn without_descriptions(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(without_descriptions),
        Value::Object(fields) => {
            // A property may have this name.
            if fields.get("description").is_some_and(Value::is_string) {
                fields.remove("description");
            }
            fields.values_mut().for_each(without_descriptions);
            let constants = fields.get("oneOf").and_then(Value::as_array).and_then(|parts| {
                let of_part = |part: &Value| match (part.get("const"), part.get("enum")) {
                    (Some(one), _) => Some(vec![one.clone()]),
                    (None, Some(Value::Array(some))) => Some(some.clone()),
                    _ => None,
                };
                parts.iter().map(of_part).collect::<Option<Vec<_>>>()
            });
            if let Some(constants) = constants {
                fields.remove("oneOf");
                fields.insert("type".to_owned(), "string".into());
                fields.insert("enum".to_owned(), constants.concat().into());
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_name_each_choice_once() {
        /// Kinds.
        #[derive(JsonSchema)]
        #[serde(rename_all = "lowercase")]
        #[expect(dead_code, reason = "read by the derived code alone")]
        enum Kind {
            /// The first.
            First,
            /// The second.
            Second,
            Third,
        }
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "read by the derived code alone")]
        struct Arguments {
            /// Which.
            kind: Kind,
            description: Option<String>,
        }
        let kinds = json!({ "type": "string", "enum": ["third", "first", "second"] });
        let schema = schema::<Arguments>();
        assert_eq!(schema["properties"]["kind"], kinds, "{schema:#}");
        assert!(schema["properties"]["description"].is_object(), "{schema:#}");
    }

    #[test]
    fn refusals_name_the_argument() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "read by the derived code alone")]
        struct Arguments {
            target: String,
            #[serde(default)]
            lines: Vec<u32>,
            #[serde(default)]
            source: bool,
        }
        let check = |given: Value, expected: &str| {
            let error = arguments::<Arguments>(given).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        let given = json!({ "target": "a", "source": "yes", "lines": [] });
        check(given, "source: invalid type: string \"yes\", expected a boolean");
        check(json!({ "target": "a", "lines": [1, "2"] }), "lines[1]: invalid type: string \"2\"");
        check(json!({ "source": true }), "missing field `target`");
        check(json!({ "target": "a", "form": 1 }), "unknown field `form`, expected one of");
    }
}
