//! The tool of the stage SOLVE: the solution as a unified diff, which need not apply.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Stage;
use crate::{
    patch::UnifiedDiff,
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
};

/// Takes the solution of an issue.
#[derive(Debug, Default)]
pub struct SolveTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    diff: String,
}

#[derive(Serialize)]
struct Report {
    next: &'static str,
    files: Vec<String>,
}

impl Tool for SolveTool {
    fn name(&self) -> &'static str {
        "solve"
    }

    fn group(&self) -> Group {
        Group::Other
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let asked: Arguments = arguments(given)?;
        let chain = &mut session.findings.chain;
        let diff = UnifiedDiff::parse(&asked.diff).map_err(|error| {
            Problem::BadArguments.because(format!("diff is not a unified diff: {error}"))
        })?;
        chain.repaired()?.solution = asked.diff;
        chain.stage = Stage::Request;
        let files = diff.paths().into_iter().map(str::to_owned).collect();
        Reply::of(&Report { next: "request", files })
    }
}
