//! The tool that runs the command on the gist and says how that differs from the original.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    outcomes::{Outcomes, agreeing, tail},
    schema,
};
use crate::{
    session::Session,
    slice::{Difference, SliceRequest, advise, difference},
    tool::{Group, Reply, Tool, ToolError, arguments},
};

/// Runs the gist.
#[derive(Debug, Default)]
pub struct ExecuteTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

/// What the model reads.
#[derive(Serialize)]
struct Report {
    /// Whether nothing differs.
    same: bool,
    /// Cases that ended as they did on the original.
    agreeing: usize,
    #[serde(flatten)]
    outcomes: Outcomes,
    difference: Option<Difference>,
    advice: Option<SliceRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

impl Tool for ExecuteTool {
    fn name(&self) -> &'static str {
        "execute"
    }

    fn group(&self) -> Group {
        Group::Execute
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let Arguments {} = arguments(given)?;
        let execution = session.run_gist()?;
        let (original, _) = session.traced()?;
        let difference = difference(&original, &execution);
        let request = &session.findings.request;
        let advice = match (&difference, &session.findings.slicer) {
            (_, None) => None,
            (Some(difference), Some(_)) => advise(difference, request),
            // What this run taught has not been made use of yet.
            (None, Some(slicer)) => (slicer.has_learned() && !request.refine)
                .then(|| SliceRequest { refine: true, ..request.clone() }),
        };
        Reply::of(&Report {
            same: difference.is_none(),
            agreeing: agreeing(&original, &execution),
            outcomes: Outcomes::of(&execution),
            output: difference.is_some().then(|| tail(&execution)),
            difference,
            advice,
        })
    }
}
