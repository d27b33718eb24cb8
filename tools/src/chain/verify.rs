//! The tool of the stage VERIFY: whether what was fetched is kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Snippet, Stage};
use crate::{
    session::Session,
    tool::{Group, Reply, Tool, ToolError, arguments, schema},
};

/// Keeps or drops what was fetched last.
#[derive(Debug, Default)]
pub struct VerifyTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    relevant: bool,
    #[serde(default)]
    #[expect(dead_code, reason = "written for whoever reads the conversation")]
    reason: String,
}

#[derive(Serialize)]
struct Report<'a> {
    kept: &'a [Snippet],
    dropped: usize,
}

impl Tool for VerifyTool {
    fn name(&self) -> &'static str {
        "verify"
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
        chain.stage = Stage::Analyze;
        let open = chain.open.take();
        match asked.relevant {
            true => chain.kept.extend(open),
            false => chain.dropped += 1,
        }
        let reply = Reply::of(&Report { kept: &chain.kept, dropped: chain.dropped })?;
        Ok(Reply { retracts: (!asked.relevant).then_some("retrieve"), ..reply })
    }
}
