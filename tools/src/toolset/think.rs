//! The tool that does nothing: what it is given stands in the record, and the model goes on.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    session::Session,
    tool::{Group, Reply, Tool, ToolError, arguments, schema},
};

/// Takes down a thought.
#[derive(Debug, Default)]
pub struct ThinkTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(rename = "thought")]
    _thought: String,
}

impl Tool for ThinkTool {
    fn name(&self) -> &'static str {
        "think"
    }

    fn group(&self) -> Group {
        Group::Other
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, _: &mut Session) -> Result<Reply, ToolError> {
        let _: Arguments = arguments(given)?;
        Reply::of(&json!({}))
    }
}
