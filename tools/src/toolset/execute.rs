//! The tool that runs the command on the gist and says how that differs from the original; of a gist that
//! was written by hand also what its writer may know of it: facts of the run and of its text, no scores.

use std::{cell::OnceCell, collections::BTreeSet};

use graph::{Gist, Trace, stated, undefined};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::outcomes::{Outcomes, agreeing, first_failure, tail};
use crate::{
    edit::listed,
    execute::Execution,
    normalize::INTERNAL,
    sandbox::Status,
    session::{Findings, GistRun, Session},
    slice::{
        AdviceInput, Compared, Difference, DifferenceKind, Learned, Probed, SliceRequest, Standing,
        advise, difference, restoring, varies,
    },
    tool::{Group, Reply, Tool, ToolError, arguments, schema},
};

/// Runs the gist.
#[derive(Debug, Default)]
pub struct ExecuteTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

/// The reply to the model.
#[derive(Serialize)]
struct Report {
    /// True if nothing differs.
    same: bool,
    /// Cases that ended as they did on the original.
    agreeing: usize,
    /// The similarity to the original, for comparing attempts.
    standing: Standing,
    /// True if the difference is the gist's own source, which it prints.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shows_source: bool,
    /// Cases that did not run, since the run ended before them.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_run: Option<usize>,
    #[serde(flatten)]
    outcomes: Outcomes,
    difference: Option<Difference>,
    advice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Of a gist that was written by hand.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    known: Option<Known>,
}

/// Facts of a gist that its writer may know, in its own line numbers.
#[derive(Serialize)]
struct Known {
    /// First lines of statements that the command did not execute; nothing where the run differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle: Option<String>,
    /// First lines of statements that stand nowhere in the files that the command executed.
    foreign: String,
    /// Names that nothing defines.
    undefined: Vec<String>,
    /// Fixtures that took part on the original and that it does not define.
    missing_fixtures: Vec<String>,
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
        let mut run = session.run_gist()?;
        let (original, trace) = session.traced()?;
        let mut found = difference(&original, None, &run.execution, &run.raw);
        if found.as_ref().is_some_and(Difference::is_of_text) {
            let again = session.once_more()?;
            found = difference(&original, Some(&again), &run.execution, &run.raw);
            // What a thread writes between two phases, when pytest captures nothing, is in neither.
            let of_thread = |found: &Difference| {
                let case = found.case.as_deref().filter(|_| found.what == DifferenceKind::Output);
                case.is_some_and(|case| varies(case, &original, &again))
            };
            if found.as_ref().is_some_and(of_thread) {
                run = session.run_gist()?;
                found = difference(&original, Some(&again), &run.execution, &run.raw);
            }
        }
        let is_skipped = |run: &GistRun, session: &Session| {
            let learned = run.learned.as_ref().filter(|_| found.is_none())?;
            skipped(&session.findings, learned)
        };
        if is_skipped(&run, session).is_some() {
            // A line that runs by chance, as one that waits does, may run now.
            let again = session.run_gist()?;
            found = is_skipped(&again, session);
        }
        let difference = found;
        let agreeing = agreeing(&original, &run.execution);
        let standing = standing(session, &original, &trace, &run, difference.is_none(), agreeing);
        // Nothing that a gist gets longer by makes its own source the original's.
        let shows_source = match &difference {
            Some(found) if found.what == DifferenceKind::Output && standing.failure.is_whole() => {
                shows_source(session, &trace, &run)?
            }
            _ => false,
        };
        session.findings.remember_standing(standing);
        let execution = run.execution;
        let early = match (&session.findings.slicer, &run.learned) {
            (Some(slicer), Some(learned)) => slicer.early(&learned.late),
            _ => Vec::new(),
        };
        let is_first = session.findings.slicer.as_ref().is_some_and(|slicer| !slicer.has_learned());
        let to_mend = difference.as_ref().filter(|_| !shows_source);
        let mut advice = advice(
            session,
            &trace,
            to_mend,
            execution.status,
            run.probed.as_ref().filter(|_| is_first),
            &early,
        )?;
        let Findings { slicer, gist, request, .. } = &mut session.findings;
        if let (None, Some(slicer), Some(learned), Some(gist)) =
            (to_mend, slicer, run.learned, gist)
        {
            if request.restore.is_active() {
                advice = Some(restoring(request, true, &slicer.left_out(request)));
            }
            if is_first {
                slicer.learn(learned);
            } else if !request.restore.is_active() && slicer.has_idle(gist, &learned) {
                slicer.learn(learned);
                advice = Some(SliceRequest { again: true, ..request.clone() });
            }
        }
        let is_by_hand = session.findings.plan.is_none();
        let known = match is_by_hand {
            true => Some(known(session, &trace, difference.is_none())?),
            false => None,
        };
        let gist_path = session.gist_path();
        let output = match (&difference, is_by_hand) {
            (None, _) => None,
            (Some(_), true) => Some(first_failure(&run.raw)),
            (Some(_), false) => Some(tail(&execution)),
        };
        let difference = difference.map(|mut difference| {
            if is_by_hand {
                // A name of a case is no secret of the package's.
                let own = |case: String| case.replacen(INTERNAL, &gist_path, 1);
                difference.case = difference.case.map(own);
            }
            difference
        });
        Reply::of(&Report {
            same: difference.is_none(),
            known,
            agreeing,
            standing,
            shows_source,
            not_run: execution
                .collected
                .len()
                .checked_sub(execution.cases.len())
                .filter(|&n| n > 0),
            outcomes: Outcomes::of(&execution),
            output,
            difference,
            advice: advice.map(|request| request.arguments()),
        })
    }
}

/// Returns the similarity of a run of the current gist to the original's run.
fn standing(
    session: &Session,
    original: &Execution,
    trace: &Trace,
    run: &GistRun,
    same: bool,
    agreeing: usize,
) -> Standing {
    let Some(lines) = &session.findings.gist else { return Standing::default() };
    let compared = Compared {
        original,
        again: session.findings.again.as_deref(),
        gist: &run.execution,
        raw: &run.raw,
        trace,
        lines,
        gist_path: &session.gist_path(),
        probed: run.probed.as_ref(),
    };
    compared.standing(same, agreeing)
}

/// Returns true if the gist prints something else once comments stand between its statements: then it shows its own
/// source, as code does that prints the lines around an error.
fn shows_source(session: &Session, trace: &Trace, run: &GistRun) -> Result<bool, ToolError> {
    let Some(gist) = &session.findings.gist else { return Ok(false) };
    let text = run.probed.as_ref().map_or(&gist.text, |probed| &probed.text);
    let pristine = session.pristine(trace)?;
    let commented = Gist { text: graph::commented(text), ..Gist::default() };
    let other = session.run_on(&pristine, &commented, None)?;
    let found = difference(&run.execution, None, &other.execution, &other.raw);
    Ok(found.is_some_and(|found| found.what == DifferenceKind::Output))
}

/// Collects the facts of a gist that its writer may know.
fn known(session: &mut Session, trace: &Trace, same: bool) -> Result<Known, ToolError> {
    let text = session.findings.gist.as_ref().map(|gist| gist.text.clone()).unwrap_or_default();
    let idle = match same {
        true => {
            let executed = session.executed_lines(&text)?;
            let idle = stated(&text).into_iter().filter(|statement| {
                let mut lines = statement.line..=statement.end_line;
                statement.runs && !lines.any(|line| executed.contains(&line))
            });
            Some(ranges(idle.map(|statement| statement.line)))
        }
        false => None,
    };
    let defined: BTreeSet<String> =
        stated(&text).into_iter().filter_map(|one| function(&one.key)).collect();
    let missing = trace.fixtures.iter().filter(|fixture| !defined.contains(&fixture.name));
    Ok(Known {
        idle,
        foreign: ranges(session.matched(&text)?.foreign()),
        undefined: listed(undefined(&text)),
        missing_fixtures: missing
            .map(|fixture| format!("{} ({}:{})", fixture.name, fixture.path, fixture.line))
            .collect(),
    })
}

/// The name of the function that a statement is the head of.
fn function(key: &str) -> Option<String> {
    let rest = key.strip_prefix("async ").unwrap_or(key).strip_prefix("def ")?;
    rest.split_whitespace().next().map(str::to_owned)
}

/// Line numbers in short: `3 7-9 12`.
pub(super) fn ranges(lines: impl IntoIterator<Item = u32>) -> String {
    let lines: BTreeSet<u32> = lines.into_iter().collect();
    let mut found: Vec<(u32, u32)> = Vec::new();
    for line in lines {
        match found.last_mut() {
            Some((_, last)) if *last + 1 == line => *last = line,
            _ => found.push((line, line)),
        }
    }
    let shown = found.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// Returns the first test line that a gist no longer executes because a statement without visible
/// effect was dropped.
fn skipped(findings: &Findings, learned: &Learned) -> Option<Difference> {
    let Findings { slicer: Some(slicer), gist: Some(gist), request, .. } = findings else {
        return None;
    };
    let is_careful = request.adjustments.impure && request.adjustments.side_effects;
    let place = slicer.skipped(gist, learned).filter(|_| !is_careful)?;
    Some(Difference::skipped(&place))
}

/// The next slice to try, where the slicer wrote the gist.
fn advice(
    session: &Session,
    trace: &Trace,
    difference: Option<&Difference>,
    status: Status,
    probed: Option<&Probed>,
    early: &[String],
) -> Result<Option<SliceRequest>, ToolError> {
    let Findings { slicer: Some(slicer), request, plan: Some(plan), gist: Some(gist), .. } =
        &session.findings
    else {
        return Ok(None);
    };
    let gist_path = &session.gist_path();
    match difference {
        Some(difference) => {
            let text = probed.map_or(&gist.text, |probed| &probed.text);
            let heard = OnceCell::new();
            let listen = || match (heard.get(), status) {
                // It would be listened to for as long.
                (_, Status::TimedOut) => Ok(Vec::new()),
                (Some(heard), _) => Ok(Clone::clone(heard)),
                _ => session.caught(trace, text).inspect(|found| drop(heard.set(found.clone()))),
            };
            let mut request = request.clone();
            let left_out = |request: &SliceRequest| slicer.left_out(request);
            loop {
                let attempt = AdviceInput {
                    trace,
                    plan,
                    gist,
                    gist_path,
                    probed,
                    early,
                    request: &request,
                    left_out: &left_out,
                };
                match advise(difference, &attempt, listen)? {
                    // What ran would run again.
                    Some(next)
                        if next.unprobed == request.unprobed
                            && slicer.slice(&next).1.text == gist.text =>
                    {
                        request = next;
                    }
                    next => return Ok(next),
                }
            }
        }
        // What this run taught has not been made use of yet; a run will tell whether what only may
        // have an effect can go as well.
        None => Ok(probed.map(|_| {
            let mut next = SliceRequest { refine: true, ..request.clone() };
            next.adjustments.imports.extend(early.iter().cloned());
            next.adjustments.impure = false;
            next.adjustments.side_effects = false;
            next.adjustments.outside = false;
            next
        })),
    }
}
