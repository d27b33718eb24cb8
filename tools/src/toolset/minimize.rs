//! The tool that takes out of a gist whatever changes nothing, one statement after the other.
//!
//! Tests and their support are not its business: functions of theirs stay, and so do their values.

use std::{cell::Cell, time::Instant};

use graph::{Gist, GistLine, Origin, Reduction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema;
use crate::{
    session::Session,
    slice::difference,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments},
};

/// Makes the gist 1-minimal.
#[derive(Debug, Default)]
pub struct MinimizeTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

/// What the model reads.
#[derive(Serialize)]
struct Report {
    /// Lines before and now.
    before: usize,
    lines: usize,
    /// Runs of the command that it took.
    runs: usize,
    /// Whether none of the statements that are left can go; false where the time was up.
    complete: bool,
}

impl Tool for MinimizeTool {
    fn name(&self) -> &'static str {
        "minimize"
    }

    fn group(&self) -> Group {
        Group::Execute
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let Arguments {} = arguments(given)?;
        let Some(gist) = session.findings.gist.clone() else {
            return Err(Problem::NoGist.because("there is no gist"));
        };
        if session.findings.plan.is_none() {
            let why =
                "the gist was not written by the slicer: what of it is the test's is not known";
            return Err(Problem::Failed.because(why));
        }
        let (original, trace) = session.traced()?;
        // Where texts vary from run to run, `execute` has seen it.
        let again = session.findings.again.clone();
        let pristine = session.pristine(&trace)?;
        let runs = Cell::new(0);
        let same = |gist: &Gist| -> Result<bool, ToolError> {
            runs.set(runs.get() + 1);
            let run = session.run_on(&pristine, gist, None)?;
            Ok(difference(&original, again.as_deref(), &run.execution, &run.raw).is_none())
        };
        if !same(&gist)? {
            return Err(Problem::Failed.because("the gist does not do what the original does"));
        }
        let is_support = |line: &GistLine| match &line.origin {
            Origin::Source(place) => pristine.internal.support.contains(&place.path),
            Origin::Glue(_) => false,
        };
        let before = gist.lines.len();
        let mut reduction = Reduction::new(gist, &is_support);
        let mut complete = true;
        while let Some(proposal) = reduction.propose() {
            if Instant::now() >= session.deadline {
                complete = false;
                break;
            }
            // What agrees by chance once may not again.
            if same(&proposal)? && same(&proposal)? {
                reduction.accept(proposal);
            } else {
                reduction.reject();
            }
        }
        let gist = reduction.gist().clone();
        drop(pristine);
        let reply =
            Reply::of(&Report { before, lines: gist.lines.len(), runs: runs.get(), complete });
        session.findings.gist = Some(gist);
        reply
    }
}
