//! Compares what a gist did with what the original did, and says what to change in the slice.
//!
//! It reads facts of two runs. Whether a gist is good is for the `eval` crate to judge.

use std::collections::BTreeMap;

use graph::{Gist, Plan, Trace};
use serde::{Deserialize, Serialize};

use super::{Probed, SliceRequest, mend, mend::add, printed::printed};
use crate::{
    execute::{CaseReport, Execution, PhaseReport, Raised},
    pattern::Pattern,
};

/// Most characters of a text that a difference shows.
const SHOWN: usize = 400;

/// What differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// How the run ended.
    Status,
    /// The gist could not be collected.
    Collection,
    /// The gist has no such case.
    Missing,
    /// The gist alone has such a case.
    Added,
    /// How a case, or a phase of it, ended.
    Outcome,
    /// What was raised.
    Exception,
    /// What was printed or logged.
    Output,
}

/// The first way in which a gist's run differs from the original's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What differs.
    pub what: What,
    /// The case, where it is one's.
    pub case: Option<String>,
    /// What the original did.
    pub original: String,
    /// What the gist did.
    pub gist: String,
    /// What the gist raised, where it raised something the original did not; in its own words, in which
    /// the modules of the repository have their names.
    pub raised: Option<Raised>,
}

impl Difference {
    /// Whether only texts differ, which may vary from run to run.
    pub(crate) fn is_of_text(&self) -> bool {
        matches!(self.what, What::Output | What::Exception)
    }
}

/// The first difference between two runs of a command, both with their texts
/// [normalised](crate::Normalizer::execution); `None` where they agree. `raw` is the run of the gist
/// before that; `again` is another run of the original, whose texts may vary from the first's.
pub fn difference(
    original: &Execution,
    again: Option<&Execution>,
    gist: &Execution,
    raw: &Execution,
) -> Option<Difference> {
    let found =
        |what: What, case: Option<&str>, left: String, right: String, raised: Option<&Raised>| {
            let same = shared_lines(&left, &right);
            Some(Difference {
                what,
                case: case.map(str::to_owned),
                original: shown(&left[same..]),
                gist: shown(&right[same..]),
                raised: raised.cloned(),
            })
        };
    let fits = |one: &str, other: Option<&str>, two: &str| {
        one == two || other.is_some_and(|other| Pattern::of([one, other]).matches(two))
    };
    let raises =
        |one: &Option<Raised>, other: Option<&Raised>, two: &Option<Raised>| match (one, two) {
            (Some(one), Some(two)) => {
                let other = other.map(|raised| raised.message.as_str());
                one.kind == two.kind && fits(&one.message, other, &two.message)
            }
            (one, two) => one.is_none() && two.is_none(),
        };
    if let Some((id, raised)) = gist.collection_errors.first()
        && original.collection_errors.is_empty()
    {
        let told = raw.collection_errors.first().map(|(_, raised)| raised);
        return found(What::Collection, Some(id), String::new(), describe(Some(raised)), told);
    }
    let left: BTreeMap<String, &CaseReport> = by_name(original);
    let right: BTreeMap<String, &CaseReport> = by_name(gist);
    let varied: BTreeMap<String, &CaseReport> = again.map(by_name).unwrap_or_default();
    let told: BTreeMap<&str, &CaseReport> =
        gist.cases.iter().map(|case| case.id.as_str()).zip(&raw.cases).collect();
    for (name, case) in &left {
        let Some(other) = right.get(name) else {
            return found(What::Missing, Some(name), "ran".to_owned(), tail(gist), None);
        };
        let told = told.get(name.as_str()).map_or(&other.phases, |case| &case.phases);
        if case.phases.len() != other.phases.len() {
            let raised = other.phases.iter().find_map(|phase| phase.raised.as_ref());
            let told = told.iter().find_map(|phase| phase.raised.as_ref());
            let phases = |case: &CaseReport| {
                let all: Vec<String> = case
                    .phases
                    .iter()
                    .map(|phase| format!("{} {}", phase.when, phase.outcome))
                    .collect();
                all.join(", ")
            };
            return found(
                What::Outcome,
                Some(name),
                phases(case),
                format!("{}: {}", phases(other), describe(raised)),
                told,
            );
        }
        for (at, ((one, two), told)) in case.phases.iter().zip(&other.phases).zip(told).enumerate()
        {
            let varied = varied.get(name).and_then(|case| case.phases.get(at));
            if one.outcome != two.outcome {
                let describe_phase = |phase: &PhaseReport| {
                    format!("{} {}: {}", phase.when, phase.outcome, describe(phase.raised.as_ref()))
                };
                return found(
                    What::Outcome,
                    Some(name),
                    describe_phase(one),
                    describe_phase(two),
                    told.raised.as_ref(),
                );
            }
            let other = varied.and_then(|phase| phase.raised.as_ref());
            if !raises(&one.raised, other, &two.raised) {
                return found(
                    What::Exception,
                    Some(name),
                    describe(one.raised.as_ref()),
                    describe(two.raised.as_ref()),
                    told.raised.as_ref(),
                );
            }
            let texts: [fn(&PhaseReport) -> &str; 3] =
                [|phase| &phase.stdout, |phase| &phase.stderr, |phase| &phase.log];
            for text in texts {
                if !fits(text(one), varied.map(text), text(two)) {
                    let (one, two) = (text(one).to_owned(), text(two).to_owned());
                    return found(What::Output, Some(name), one, two, None);
                }
            }
        }
    }
    if let Some(name) = right.keys().find(|name| !left.contains_key(*name)) {
        return found(What::Added, Some(name), "absent".to_owned(), "ran".to_owned(), None);
    }
    if original.status != gist.status {
        return found(
            What::Status,
            None,
            format!("{:?}", original.status),
            format!("{:?}: {}", gist.status, tail(gist)),
            raw.raised
                .clone()
                .or_else(|| printed(&raw.stderr))
                .or_else(|| printed(&raw.stdout))
                .as_ref(),
        );
    }
    if original.cases.is_empty() && original.collected.is_empty() {
        let other = again.and_then(|again| again.raised.as_ref());
        if !raises(&original.raised, other, &gist.raised) {
            return found(
                What::Exception,
                None,
                describe(original.raised.as_ref()),
                describe(gist.raised.as_ref()),
                raw.raised.as_ref(),
            );
        }
        if !fits(&original.stdout, again.map(|again| again.stdout.as_str()), &gist.stdout) {
            return found(What::Output, None, original.stdout.clone(), gist.stdout.clone(), None);
        }
    }
    None
}

/// What is known when advice is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// The run of the original.
    pub trace: &'a Trace,
    /// What was sliced.
    pub plan: &'a Plan,
    /// What was run.
    pub gist: &'a Gist,
    /// Its path.
    pub gist_path: &'a str,
    /// The text that ran in the gist's place, where it was another one.
    pub probed: Option<&'a Probed>,
    /// Modules from outside to load before the tests, as the original does.
    pub early: &'a [String],
    /// What had been asked for.
    pub request: &'a SliceRequest,
}

/// What to change in a slice whose gist differs; `None` when nothing more is known to help.
///
/// First what the error itself asks for, then what those do that the gist caught, which are listened for
/// where the one that was seen names nothing; last the rungs of a ladder, each more conservative than the
/// last request, so that the search ends.
///
/// # Errors
/// Those of listening.
pub fn advise<E>(
    difference: &Difference,
    attempt: &Attempt<'_>,
    caught: impl FnOnce() -> Result<Vec<Raised>, E>,
) -> Result<Option<SliceRequest>, E> {
    let request = attempt.request;
    let mut next = request.clone();
    for module in attempt.early {
        add(&mut next.adjustments.imports, module.clone());
    }
    if let Some(raised) = &difference.raised {
        mend::named(raised, attempt, &mut next.adjustments);
    }
    if let Some(case) = difference.case.as_ref().filter(|_| difference.what == What::Missing) {
        // An example of a docstring may be skipped, and still is a case.
        let object = case.rsplit("::").next().unwrap_or_default();
        for name in object.split('.').filter(|name| !name.is_empty()) {
            mend::keep_binders(attempt, name, &mut next.adjustments);
        }
    }
    // Listening costs a run. What was left out for being thought of no effect comes back first.
    let careful = request.adjustments.impure && request.adjustments.side_effects;
    if next == *request && careful {
        for raised in caught()? {
            mend::named(&raised, attempt, &mut next.adjustments);
        }
    }
    if next == *request
        && let Some(raised) = &difference.raised
    {
        mend::placed(raised, attempt, &mut next);
    }
    let more = next != *request || climb(difference, attempt, &mut next);
    Ok(more.then_some(next))
}

/// The next rung of the ladder; whether there is one.
fn climb(difference: &Difference, attempt: &Attempt<'_>, next: &mut SliceRequest) -> bool {
    let shows = difference.is_of_text();
    let adjustments = &mut next.adjustments;
    if !adjustments.impure || !adjustments.side_effects {
        adjustments.impure = true;
        adjustments.side_effects = true;
    } else if shows && !adjustments.module_names {
        adjustments.module_names = true;
    } else if shows && !adjustments.docstrings {
        adjustments.docstrings = true;
    } else if attempt.probed.is_some() && !next.unprobed {
        next.unprobed = true;
    } else if next.refine {
        next.refine = false;
    } else if !adjustments.docstrings {
        adjustments.docstrings = true;
    } else if !adjustments.annotations {
        adjustments.annotations = true;
    } else {
        return false;
    }
    true
}

/// Cases by their normalised ids.
fn by_name(execution: &Execution) -> BTreeMap<String, &CaseReport> {
    execution.cases.iter().map(|case| (case.id.clone(), case)).collect()
}

/// Bytes of the lines with which two texts begin alike, if both go on behind them.
fn shared_lines(left: &str, right: &str) -> usize {
    let same = left.bytes().zip(right.bytes()).take_while(|(one, other)| one == other).count();
    if same == left.len() && same == right.len() {
        return 0;
    }
    left.as_bytes()[..same].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)
}

fn describe(raised: Option<&Raised>) -> String {
    raised.map_or_else(
        || "nothing raised".to_owned(),
        |raised| format!("{}: {}", raised.kind, raised.message),
    )
}

fn tail(execution: &Execution) -> String {
    let text =
        if execution.stderr.trim().is_empty() { &execution.stdout } else { &execution.stderr };
    let at = text.char_indices().rev().nth(SHOWN).map_or(0, |(at, _)| at);
    text[at..].to_owned()
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => {
            format!("{} ... ({} more characters)", &text[..at], text[at..].chars().count())
        }
        None => text.to_owned(),
    }
}
