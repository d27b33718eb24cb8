//! The tool that hands in the gist as it stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
};

/// Ends the session; refused while there is no gist.
#[derive(Debug, Default)]
pub struct SubmitTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

#[derive(Serialize)]
struct Report {
    lines: usize,
}

impl Tool for SubmitTool {
    fn name(&self) -> &'static str {
        "submit"
    }

    fn group(&self) -> Group {
        Group::Other
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let Arguments {} = arguments(given)?;
        let gist = session
            .findings
            .gist
            .as_ref()
            .ok_or_else(|| Problem::NoGist.because("there is no gist"))?;
        Ok(Reply { submitted: true, ..Reply::of(&Report { lines: gist.text.lines().count() })? })
    }
}
