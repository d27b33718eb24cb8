//! The tool that removes unneeded statements from a gist, one after the other.
//!
//! It keeps the functions and assigned values of tests and their support. Every line of them that
//! is executed must be executed afterwards too.

use std::{cell::Cell, cmp::Reverse, collections::BTreeSet};

use graph::{Gist, GistLine, Origin, Reduction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema;
use crate::{
    progress::Progress,
    session::{GistRun, Session},
    slice::{Probed, Standing, difference},
    tool::{Group, Problem, Reply, Tool, ToolError, arguments},
};

/// Makes the gist 1-minimal.
#[derive(Debug, Default)]
pub struct MinimizeTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

/// The reply to the model.
#[derive(Serialize)]
struct Report {
    /// Lines before and now.
    before: usize,
    lines: usize,
    /// Runs of the command that it took.
    runs: usize,
    /// True if no remaining statement can be removed; false if time ran out.
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
        let run = |gist: &Gist, probed: Option<Probed>| -> Result<Option<GistRun>, ToolError> {
            runs.set(runs.get() + 1);
            let run = session.run_on(&pristine, gist, probed)?;
            let agrees =
                difference(&original, again.as_deref(), &run.execution, &run.raw).is_none();
            Ok(agrees.then_some(run))
        };
        let support = &pristine.internal.support;
        let traced = |gist: &Gist| -> Result<Option<Places>, ToolError> {
            let run = run(gist, Some(Probed::without(gist)))?;
            Ok(run.map(|run| places(&run, support)))
        };
        let (Some(once), Some(twice)) = (traced(&gist)?, traced(&gist)?) else {
            return Err(Problem::Failed.because("the gist does not do what the original does"));
        };
        // What of the tests runs now and then is no measure.
        let (always, ever): (Places, Places) = (&once & &twice, &once | &twice);
        let same = |gist: &Gist| -> Result<bool, ToolError> {
            // What agrees by chance once may not again.
            if run(gist, None)?.is_none() {
                return Ok(false);
            }
            let ran = traced(gist)?;
            Ok(ran.is_some_and(|ran| always.is_subset(&ran) && ran.is_subset(&ever)))
        };
        let is_support = |line: &GistLine| match &line.origin {
            Origin::Source(place) => support.contains(&place.path),
            Origin::Glue(_) => false,
        };
        let before = gist.lines.len();
        let mut reduction = Reduction::new(gist, &is_support);
        let mut tried = 0;
        // What was found out until a limit or an interrupt is kept.
        let ended = loop {
            let left = session.deadline.saturating_duration_since(session.interrupt.now());
            if left.is_zero() {
                break Ok(false);
            }
            let lines = reduction.gist().lines.len();
            (session.signs)(Progress::Reduced { tried, removed: before - lines, lines, left });
            let Some(proposal) = reduction.propose() else { break Ok(true) };
            tried += 1;
            match same(&proposal) {
                Ok(true) => reduction.accept(proposal),
                Ok(false) => reduction.reject(),
                Err(error) => break Err(error),
            }
        };
        let gist = reduction.gist().clone();
        let lines = gist.lines.len();
        let standing = session.findings.standing;
        session.findings.gist = Some(gist);
        if let Some(standing) = standing {
            session.findings.stands(Standing { size: Reverse(lines), ..standing });
        }
        let complete = ended?;
        Reply::of(&Report { before, lines, runs: runs.get(), complete })
    }
}

/// Lines of the original, by file.
type Places = BTreeSet<(String, u32)>;

/// Returns the lines of tests and their support that a traced run of a gist executed.
fn places(run: &GistRun, support: &BTreeSet<String>) -> Places {
    let executed = run.learned.iter().flat_map(|learned| &learned.executed);
    let files = executed.filter(|file| support.contains(&file.path));
    files.flat_map(|file| file.lines.iter().map(|line| (file.path.clone(), *line))).collect()
}
