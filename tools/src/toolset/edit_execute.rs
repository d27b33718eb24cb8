//! The tool that writes the gist and runs it at once, without a word about the original (Edit-and-Execute
//! of Gistify, section 4.1 and appendix C.1).

use serde::Serialize;
use serde_json::{Value, json};

use super::outcomes::{Outcomes, tail};
use crate::{
    edit::{EditReport, EditTool, edit_gist},
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError},
};

/// Writes the gist and runs it.
#[derive(Debug, Default)]
pub struct EditExecuteTool;

/// The argument that says whether it is run.
const EXECUTE: &str = "execute";

#[derive(Serialize)]
struct Executed {
    #[serde(flatten)]
    edited: EditReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
}

#[derive(Serialize)]
struct Run {
    #[serde(flatten)]
    outcomes: Outcomes,
    output: String,
}

impl Tool for EditExecuteTool {
    fn name(&self) -> &'static str {
        "edit_execute"
    }

    fn group(&self) -> Group {
        Group::Execute
    }

    fn schema(&self) -> Value {
        let mut schema = EditTool.schema();
        schema["properties"][EXECUTE] = json!({ "type": "boolean", "default": true });
        schema
    }

    fn call(&self, mut given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let executes = given.as_object_mut().and_then(|given| given.remove(EXECUTE));
        let executes = match executes {
            None | Some(Value::Null) => true,
            Some(Value::Bool(executes)) => executes,
            Some(other) => {
                let message = format!("{EXECUTE} is no boolean: {other}");
                return Err(Problem::BadArguments.because(message));
            }
        };
        let edited = edit_gist(given, session)?;
        let run = match executes {
            false => None,
            true => {
                let run = session.run_gist()?;
                let outcomes = Outcomes::of(&run.execution);
                Some(Run { outcomes, output: tail(&run.execution) })
            }
        };
        Reply::of(&Executed { edited, run })
    }
}
