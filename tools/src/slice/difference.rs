//! Compares the run of a gist with the run of the original.
//!
//! It reads facts of two runs. The `eval` crate judges the gist.

use std::collections::{BTreeMap, BTreeSet};

use graph::Place;
use serde::{Deserialize, Serialize};

use super::printed::printed;
use crate::{
    Status,
    execute::{CaseReport, Execution, PhaseReport, Raised, own_words},
    pattern::Pattern,
};

/// Most characters of a text that a difference shows.
const SHOWN: usize = 400;

/// Most further cases that a difference names.
const MORE: usize = 20;

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DifferenceKind {
    /// The end of the run.
    Status,
    /// The gist could not be collected.
    Collection,
    /// The gist has no such case.
    Missing,
    /// The gist alone has such a case.
    Added,
    /// The outcome of a test, or of a phase of it.
    Outcome,
    /// The exception.
    Exception,
    /// The printed or logged text.
    Output,
    /// A line of a test or its support that is no longer executed.
    Skipped,
}

/// The first way in which a gist's run differs from the original's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The kind of the difference.
    pub what: DifferenceKind,
    /// The case, where it is one's.
    pub case: Option<String>,
    /// Further cases that are missing like this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<String>,
    /// The behaviour of the original.
    pub original: String,
    /// The behaviour of the gist.
    pub gist: String,
    /// The exception of the gist, if the original did not raise the same one. Not normalised:
    /// modules of the repository have their own names in it.
    pub raised: Option<Raised>,
}

impl Difference {
    /// A line of the tests that does not run in the gist.
    pub(crate) fn skipped(place: &Place) -> Self {
        let line = format!("line {} of {} runs", place.line, place.path);
        new_difference(DifferenceKind::Skipped, None, &line, "it does not", None)
    }

    /// Returns true if only texts differ, which may vary from run to run.
    pub(crate) fn is_of_text(&self) -> bool {
        matches!(self.what, DifferenceKind::Output | DifferenceKind::Exception)
    }
}

/// Returns the first difference between two runs of a command, both with their texts
/// [normalised](crate::Normalizer::execution); `None` if they agree. `raw` is the run of the gist
/// before that; `again` is another run of the original, whose texts may vary from the first's.
///
/// The outcomes of tests precede missing tests, and those precede texts. If the ends of the runs
/// differ, they precede tests that were collected and not executed; otherwise such tests come last.
pub fn difference(
    original: &Execution,
    again: Option<&Execution>,
    gist: &Execution,
    raw: &Execution,
) -> Option<Difference> {
    if let Some((id, raised)) = gist.collection_errors.first()
        && original.collection_errors.is_empty()
    {
        let told = raw.collection_errors.first().map(|(_, raised)| raised);
        let raised = describe(Some(raised));
        return Some(new_difference(DifferenceKind::Collection, Some(id), "", &raised, told));
    }
    let left: BTreeMap<&str, &CaseReport> = by_name(original);
    let right: BTreeMap<&str, &CaseReport> = by_name(gist);
    let varied: BTreeMap<&str, &CaseReport> = again.map(by_name).unwrap_or_default();
    let told: BTreeMap<&str, &CaseReport> =
        gist.cases.iter().map(|case| case.id.as_str()).zip(&raw.cases).collect();
    let collected: BTreeSet<&str> = gist.collected.iter().map(String::as_str).collect();
    let (mut missing, mut of_text, mut stopped) = (Vec::new(), None, None);
    for (&name, case) in &left {
        let Some(&other) = right.get(name) else {
            if collected.contains(name) {
                stopped.get_or_insert(name);
            } else {
                missing.push(name);
            }
            continue;
        };
        let told = told.get(name).copied().unwrap_or(other);
        match between_cases(case, varied.get(name).copied(), other, told) {
            Some(found) if found.what == DifferenceKind::Outcome => return Some(found),
            found => of_text = of_text.or(found),
        }
    }
    let ends = || between_ends(original, again, gist, raw);
    // What ended the run before its time says why they did not.
    if stopped.is_some() && missing.is_empty() && original.status != gist.status {
        return ends();
    }
    let absent =
        |name| new_difference(DifferenceKind::Missing, Some(name), "ran", &tail(gist), None);
    let more = || missing.iter().skip(1).take(MORE).map(ToString::to_string).collect();
    let added = right.keys().find(|name| !left.contains_key(*name));
    missing
        .first()
        .map(|name| Difference { more: more(), ..absent(name) })
        .or(of_text)
        .or_else(|| {
            added.map(|name| {
                new_difference(DifferenceKind::Added, Some(name), "absent", "ran", None)
            })
        })
        .or_else(|| stopped.map(absent))
        .or_else(ends)
}

/// The texts that a phase of a test writes.
const TEXTS: [fn(&PhaseReport) -> &str; 3] =
    [|phase| &phase.stdout, |phase| &phase.stderr, |phase| &phase.log];

/// The first difference between two runs of a case; `told` is the gist's in its own words.
fn between_cases(
    case: &CaseReport,
    varied: Option<&CaseReport>,
    other: &CaseReport,
    told: &CaseReport,
) -> Option<Difference> {
    let name = Some(case.id.as_str());
    if case.phases.len() != other.phases.len() {
        let raised = other.phases.iter().find_map(|phase| phase.raised.as_ref());
        let told = told.phases.iter().find_map(|phase| phase.raised.as_ref());
        let phases = |case: &CaseReport| {
            let all: Vec<String> = case
                .phases
                .iter()
                .map(|phase| format!("{} {}", phase.when, phase.outcome))
                .collect();
            all.join(", ")
        };
        let gist = format!("{}: {}", phases(other), describe(raised));
        return Some(new_difference(DifferenceKind::Outcome, name, &phases(case), &gist, told));
    }
    let phases = || case.phases.iter().zip(&other.phases).zip(&told.phases);
    if let Some(((one, two), told)) = phases().find(|((one, two), _)| one.outcome != two.outcome) {
        let describe = |phase: &PhaseReport| {
            format!("{} {}: {}", phase.when, phase.outcome, describe(phase.raised.as_ref()))
        };
        let told = told.raised.as_ref();
        return Some(new_difference(
            DifferenceKind::Outcome,
            name,
            &describe(one),
            &describe(two),
            told,
        ));
    }
    let gist = other;
    let moved = |text: fn(&PhaseReport) -> &str| {
        let wanted = wanted(case, varied, text);
        Pattern::fit_together(wanted.iter(), gist.phases.iter().map(text))
    };
    for (at, ((one, two), told)) in phases().enumerate() {
        let varied = varied.and_then(|case| case.phases.get(at));
        let told = told.raised.as_ref();
        let other = varied.and_then(|phase| phase.raised.as_ref());
        if !raises(one.raised.as_ref(), other, two.raised.as_ref()) {
            let (one, two) = (describe(one.raised.as_ref()), describe(two.raised.as_ref()));
            return Some(new_difference(DifferenceKind::Exception, name, &one, &two, told));
        }
        for text in TEXTS {
            if !fits(text(one), varied.map(text), text(two)) && !moved(text) {
                return Some(new_difference(
                    DifferenceKind::Output,
                    name,
                    text(one),
                    text(two),
                    None,
                ));
            }
        }
    }
    None
}

/// Returns the pattern of each phase's text, with wildcards where two runs of the original differ.
fn wanted(
    case: &CaseReport,
    varied: Option<&CaseReport>,
    text: fn(&PhaseReport) -> &str,
) -> Vec<Pattern> {
    let again = |at| varied.and_then(|case: &CaseReport| case.phases.get(at)).map(text);
    let runs = case.phases.iter().enumerate().map(|(at, phase)| (text(phase), again(at)));
    runs.map(|(one, again)| Pattern::of([one].into_iter().chain(again))).collect()
}

/// Returns true if a test's texts vary between two runs of the original.
pub(crate) fn varies(id: &str, original: &Execution, again: &Execution) -> bool {
    let case = |run| by_name(run).get(id).copied();
    let (Some(case), varied) = (case(original), case(again)) else { return false };
    let exact = |text| wanted(case, varied, text).iter().all(Pattern::is_exact);
    !TEXTS.into_iter().all(exact)
}

/// Returns true if an exit code of a gist means what another means of the original, where both failed to collect. pytest
/// ends with 4 if a conftest raises and with 2 if a test module does: what a gist has of a conftest is in a test module.
pub fn ends_alike(original: Status, gist: Status) -> bool {
    original == gist || original == Status::Exited(4) && gist == Status::Exited(2)
}

/// The first difference between how two runs ended, and what they printed where they have no cases.
fn between_ends(
    original: &Execution,
    again: Option<&Execution>,
    gist: &Execution,
    raw: &Execution,
) -> Option<Difference> {
    if original.status != gist.status
        && ends_alike(original.status, gist.status)
        && let ([(_, one), ..], [(_, two), ..]) =
            (&original.collection_errors[..], &gist.collection_errors[..])
    {
        let first = |run: &'_ Execution| run.collection_errors.first().map(|(_, one)| one.clone());
        let again = again.and_then(first);
        let differs = !raises(Some(one), again.as_ref(), Some(two));
        let (one, two) = (describe(Some(one)), describe(Some(two)));
        return differs.then(|| {
            new_difference(DifferenceKind::Exception, None, &one, &two, first(raw).as_ref())
        });
    }
    if original.status != gist.status {
        let told =
            raw.raised.clone().or_else(|| printed(&raw.stderr)).or_else(|| printed(&raw.stdout));
        let (one, two) =
            (format!("{:?}", original.status), format!("{:?}: {}", gist.status, tail(gist)));
        return Some(new_difference(DifferenceKind::Status, None, &one, &two, told.as_ref()));
    }
    if !original.cases.is_empty() || !original.collected.is_empty() {
        return None;
    }
    let other = again.and_then(|again| again.raised.as_ref());
    if !raises(original.raised.as_ref(), other, gist.raised.as_ref()) {
        let (one, two) = (describe(original.raised.as_ref()), describe(gist.raised.as_ref()));
        return Some(new_difference(
            DifferenceKind::Exception,
            None,
            &one,
            &two,
            raw.raised.as_ref(),
        ));
    }
    if !fits(&original.stdout, again.map(|again| again.stdout.as_str()), &gist.stdout) {
        return Some(new_difference(
            DifferenceKind::Output,
            None,
            &original.stdout,
            &gist.stdout,
            None,
        ));
    }
    if !fits(&original.stderr, again.map(|again| again.stderr.as_str()), &gist.stderr) {
        return Some(new_difference(
            DifferenceKind::Output,
            None,
            &original.stderr,
            &gist.stderr,
            None,
        ));
    }
    None
}

fn new_difference(
    what: DifferenceKind,
    case: Option<&str>,
    original: &str,
    gist: &str,
    raised: Option<&Raised>,
) -> Difference {
    let same = shared_lines(original, gist);
    Difference {
        what,
        case: case.map(str::to_owned),
        more: Vec::new(),
        original: shown(&original[same..]),
        gist: shown(&gist[same..]),
        raised: raised.cloned(),
    }
}

/// Returns true if a text equals the original's, apart from the lines that vary between its two
/// runs.
pub(super) fn fits(one: &str, other: Option<&str>, two: &str) -> bool {
    one == two || other.is_some_and(|other| Pattern::of([one, other]).matches(two))
}

pub(super) fn raises(one: Option<&Raised>, other: Option<&Raised>, two: Option<&Raised>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => {
            let message = other.map(|raised| raised.message.as_str());
            let fits = |two: &str| fits(&one.message, message, two);
            let is_bare = || one.kind == "AssertionError" && own_words(&one.message) == one.message;
            let others = other.map(Raised::shown_text);
            one.kind == two.kind
                && self::fits(&one.shown_text(), others.as_deref(), &two.shown_text())
                && (fits(&two.message) || is_bare() && fits(own_words(&two.message)))
        }
        (one, two) => one.is_none() && two.is_none(),
    }
}

/// Cases by their normalised ids.
fn by_name(execution: &Execution) -> BTreeMap<&str, &CaseReport> {
    execution.cases.iter().map(|case| (case.id.as_str(), case)).collect()
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
