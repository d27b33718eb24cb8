//! The tool that hands in the gist as it stands, or the outputs of a query.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    query::{Outputs, Query},
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
};

/// Ends the session; refused while there is no gist, or no output file.
#[derive(Debug, Default)]
pub struct SubmitTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

#[derive(Serialize)]
struct Report {
    lines: usize,
}

#[derive(Serialize)]
struct Answer {
    files: Vec<String>,
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
        if let Some(query) = &session.findings.query {
            return Ok(Reply { submitted: true, ..Reply::of(&answer(query)?)? });
        }
        let gist = session
            .findings
            .gist
            .as_ref()
            .ok_or_else(|| Problem::NoGist.because("there is no gist"))?;
        Ok(Reply { submitted: true, ..Reply::of(&Report { lines: gist.text.lines().count() })? })
    }
}

/// The output files of a query.
///
/// # Errors
/// A refusal: there is none that follows the rule of names, or an expected one is missing.
fn answer(query: &Query) -> Result<Answer, ToolError> {
    let outputs = Outputs::of(&query.work.outputs());
    let outputs = outputs.map_err(|error| Problem::Failed.because(format!("outputs: {error}")))?;
    let missing = outputs.missing(&query.expected);
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return Err(Problem::Failed.because(format!("there is no file outputs/{missing}")));
    }
    if outputs.named.is_empty() {
        let message = "outputs has no file output.EXT, and no files output_01.EXT and so on";
        return Err(Problem::Failed.because(message));
    }
    Ok(Answer { files: outputs.named })
}
