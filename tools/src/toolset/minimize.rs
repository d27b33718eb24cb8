//! The tool that removes unneeded statements from a gist, one after the other.
//!
//! It keeps the functions and assigned values of tests and their support. Every line of them that
//! is executed must be executed afterwards too.

use std::{cell::Cell, cmp::Reverse, collections::BTreeSet, time::Duration};

use graph::{Gist, GistLine, LineOrigin, Reduction, decides};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    execute::Execution,
    progress::Progress,
    session::{GistRun, Pristine, Session},
    slice::{Probed, Standing, difference},
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
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
        let pristine = session.pristine(&trace)?;
        // Where texts vary from run to run, `execute` has seen it.
        let again = session.findings.again.clone();
        let forks = session.end_forks();
        let are_lent = forks.is_some();
        session.allow_forks(forks.unwrap_or_default());
        let before = gist.lines.len();
        let minimizing = Minimizing {
            session: &*session,
            pristine: &pristine,
            original: &original,
            again: again.as_deref(),
            runs: Cell::new(0),
        };
        let reserve = original.wall * CONFIRMING;
        let found = minimizing.shrink(&gist, reserve);
        // Runs by fork propose, and cold ones decide.
        let forks = minimizing.session.end_forks();
        let found = found.and_then(|shrunk| {
            let is_shorter = shrunk.gist.lines.len() < before;
            match !is_shorter || minimizing.is_confirmed(&gist, &shrunk.gist)? {
                true => Ok(shrunk),
                false => minimizing.shrink(&gist, Duration::ZERO),
            }
        });
        if let Some(forks) = forks.filter(|_| are_lent) {
            minimizing.session.allow_forks(forks);
        }
        let (Shrunk { gist, ended }, runs) = (found?, minimizing.runs.get());
        let lines = gist.lines.len();
        let standing = session.findings.standing;
        session.findings.gist = Some(gist);
        if let Some(standing) = standing {
            session.findings.remember_standing(Standing { size: Reverse(lines), ..standing });
        }
        let complete = ended?;
        Reply::of(&Report { before, lines, runs, complete })
    }
}

/// A search for a shorter gist that does the same.
struct Minimizing<'a> {
    session: &'a Session,
    pristine: &'a Pristine,
    original: &'a Execution,
    again: Option<&'a Execution>,
    /// Runs so far.
    runs: Cell<usize>,
}

/// The shortest gist that was found, and what ended the search: true where nothing was left to try.
struct Shrunk {
    gist: Gist,
    ended: Result<bool, ToolError>,
}

impl Minimizing<'_> {
    /// Runs a gist; `None` where it does not do what the original does.
    fn run(&self, gist: &Gist, probed: Option<Probed>) -> Result<Option<GistRun>, ToolError> {
        self.runs.set(self.runs.get() + 1);
        let run = self.session.run_on(self.pristine, gist, probed)?;
        let agrees = difference(self.original, self.again, &run.execution, &run.raw).is_none();
        Ok(agrees.then_some(run))
    }

    /// Returns the lines of the tests that a gist executes; `None` where it does not do what the original does.
    fn traced(&self, gist: &Gist) -> Result<Option<Places>, ToolError> {
        let run = self.run(gist, Some(Probed::without(gist)))?;
        Ok(run.map(|run| places(&run, &self.pristine.internal.support)))
    }

    /// Returns the lines of the tests that a gist executes always, and those that it ever does: what runs now and then
    /// is no measure.
    fn measured(&self, gist: &Gist) -> Result<(Places, Places), ToolError> {
        match (self.traced(gist)?, self.traced(gist)?) {
            (Some(once), Some(twice)) => Ok((&once & &twice, &once | &twice)),
            _ => Err(Problem::Failed.because("the gist does not do what the original does")),
        }
    }

    /// Returns true if a gist does what the original does, and executes of the tests what it should.
    fn is_same(&self, gist: &Gist, (always, ever): &(Places, Places)) -> Result<bool, ToolError> {
        // A gist may agree once by chance, so it runs again under the tracer.
        if self.run(gist, None)?.is_none() {
            return Ok(false);
        }
        let ran = self.traced(gist)?;
        Ok(ran.is_some_and(|ran| always.is_subset(&ran) && ran.is_subset(ever)))
    }

    /// Returns true if cold runs say of a shorter gist what runs by fork said.
    fn is_confirmed(&self, gist: &Gist, shorter: &Gist) -> Result<bool, ToolError> {
        self.is_same(shorter, &self.measured(gist)?)
    }

    /// Takes one statement after the other out of a gist, as long as it does the same and more than `reserve` is left of
    /// the session.
    fn shrink(&self, gist: &Gist, reserve: Duration) -> Result<Shrunk, ToolError> {
        let Self { session, pristine, .. } = self;
        let measured = self.measured(gist)?;
        let is_support = |line: &GistLine| match &line.origin {
            LineOrigin::Source(place) => pristine.internal.support.contains(&place.path),
            LineOrigin::Glue(_) => false,
        };
        let stays =
            |line: &GistLine, name: Option<&str>| name.is_some_and(decides) || is_support(line);
        let before = gist.lines.len();
        let mut reduction = Reduction::new(gist.clone(), &stays);
        let mut tried = 0;
        // A limit or an interrupt keeps the shortest gist so far.
        let ended = loop {
            let left = session.deadline.saturating_duration_since(session.interrupt.now());
            if left <= reserve {
                break Ok(false);
            }
            let lines = reduction.gist().lines.len();
            (session.signs)(Progress::Reduced { tried, removed: before - lines, lines, left });
            let Some(proposal) = reduction.propose() else { break Ok(true) };
            tried += 1;
            match self.is_same(&proposal, &measured) {
                Ok(true) => reduction.accept(),
                Ok(false) => reduction.reject(),
                Err(error) => break Err(error),
            }
        };
        Ok(Shrunk { gist: reduction.gist().clone(), ended })
    }
}

/// The time kept for the cold confirmation, in runs of the original: it makes four runs, three of them traced.
const CONFIRMING: u32 = 6;

/// Lines of the original, by file.
type Places = BTreeSet<(String, u32)>;

/// Returns the lines of tests and their support that a traced run of a gist executed.
fn places(run: &GistRun, support: &BTreeSet<String>) -> Places {
    let executed = run.learned.iter().flat_map(|learned| &learned.executed);
    let files = executed.filter(|file| support.contains(&file.path));
    files.flat_map(|file| file.lines.iter().map(|line| (file.path.clone(), *line))).collect()
}
