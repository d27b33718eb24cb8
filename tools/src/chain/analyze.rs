//! The tool of the stage ANALYZE: the next sub-task, or that nothing is missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Snippet, Stage};
use crate::{
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
};

/// Names the missing parts.
#[derive(Debug, Default)]
pub struct AnalyzeTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    sub_task: String,
    #[serde(default)]
    enough: bool,
}

#[derive(Serialize)]
struct Report {
    next: &'static str,
}

impl Tool for AnalyzeTool {
    fn name(&self) -> &'static str {
        "analyze"
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
        if asked.sub_task.trim().is_empty() {
            return Err(Problem::BadArguments.because("sub_task is empty"));
        }
        let most = chain.repair.as_ref().map(|repair| repair.rounds);
        if let Some(most) = most.filter(|&most| !asked.enough && chain.rounds() >= most as usize) {
            let message = format!("no round is left ({most} at most): conclude with enough=true");
            return Err(Problem::WrongStage.because(message));
        }
        let next = match asked.enough {
            true => match &mut chain.repair {
                Some(repair) => {
                    repair.root_cause = asked.sub_task;
                    chain.stage = Stage::Solve;
                    "solve"
                }
                None => {
                    chain.stage = Stage::Write;
                    "write"
                }
            },
            false => {
                chain.stage = Stage::Retrieve;
                // What is fetched for it is told apart by it.
                chain.open = Some(Snippet { name: String::new(), sub_task: asked.sub_task });
                "retrieve"
            }
        };
        Reply::of(&Report { next })
    }
}
