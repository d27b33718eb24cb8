//! The comparison of a gist's run with the original's behaviour behind [`StrictFidelity`](super::StrictFidelity).
//!
//! Compared are the exit code, the collected ids, and for each case every phase's outcome, exception and
//! captured streams; for commands other than pytest's the two streams. What pytest prints is no evidence.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{Pattern, Status, ends_alike, own_words};

use crate::{
    expected::{Expected, ExpectedFailure, ExpectedPhase},
    observation::{NormalizedException, Observation, Phase},
};

/// The verdict, with what differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fidelity {
    /// 0 or 1.
    pub score: u8,
    /// Cases compared.
    pub cases: u64,
    /// The differences, at most [`SHOWN`] entries.
    pub differences: Vec<OutcomeDifference>,
    /// The number of differences.
    pub different: u64,
}

impl Fidelity {
    /// Returns the number of runs that a gist may need before such a verdict is final.
    ///
    /// The order of threads may change a text by chance. Text that a thread writes between two
    /// phases, while pytest captures nothing, is in neither phase.
    pub(crate) fn tries(&self, expected: &Expected) -> usize {
        let varies = |id: &String| expected.cases.get(id).into_iter().flatten().any(|p| p.varies());
        match self.is_of_text() {
            true if self.differences.iter().all(|one| varies(&one.case)) => 5,
            true => 2,
            false => 1,
        }
    }

    /// Returns true if only captured texts differ.
    pub(crate) fn is_of_text(&self) -> bool {
        let of_text = |one: &OutcomeDifference| {
            matches!(
                one.what,
                OutcomeDifferenceKind::Stdout
                    | OutcomeDifferenceKind::Stderr
                    | OutcomeDifferenceKind::Log
            )
        };
        let shown = self.differences.len() as u64 == self.different;
        self.score == 0 && self.different > 0 && shown && self.differences.iter().all(of_text)
    }
}

/// One difference between a run of the gist and the original's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeDifference {
    /// Node id of the case; empty for the whole run.
    pub case: String,
    /// `setup`, `call` or `teardown`; empty for the whole run.
    pub phase: String,
    /// The kind of the difference.
    pub what: OutcomeDifferenceKind,
    /// The behaviour of the original, shortened.
    pub expected: String,
    /// The behaviour of the gist, shortened.
    pub found: String,
}

/// The kinds of differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeDifferenceKind {
    /// The run did not end by itself, or not where its recorder could see it.
    End,
    /// The exit code.
    ExitCode,
    /// The collected ids.
    Collected,
    /// An error while collecting.
    Collection,
    /// A case that did not run.
    Missing,
    /// The outcome of a phase.
    Outcome,
    /// Type of an exception.
    ExceptionType,
    /// Message of an exception.
    ExceptionMessage,
    /// Causes of an exception, or members of a group.
    ExceptionCause,
    /// Reason of an expected failure.
    Reason,
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// The log.
    Log,
}

impl fmt::Display for OutcomeDifferenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OutcomeDifferenceKind::End => "end",
            OutcomeDifferenceKind::ExitCode => "exit code",
            OutcomeDifferenceKind::Collected => "collected ids",
            OutcomeDifferenceKind::Collection => "error of collection",
            OutcomeDifferenceKind::Missing => "case",
            OutcomeDifferenceKind::Outcome => "outcome",
            OutcomeDifferenceKind::ExceptionType => "exception",
            OutcomeDifferenceKind::ExceptionMessage => "exception message",
            OutcomeDifferenceKind::ExceptionCause => "exception shown with it",
            OutcomeDifferenceKind::Reason => "reason",
            OutcomeDifferenceKind::Stdout => "standard output",
            OutcomeDifferenceKind::Stderr => "standard error",
            OutcomeDifferenceKind::Log => "log",
        })
    }
}

/// Most differences that are kept.
pub const SHOWN: usize = 20;
/// Longest text of a difference, in characters.
const TEXT: usize = 400;

/// Compares a run of a gist with what is expected.
pub fn fidelity(expected: &Expected, found: &Observation) -> Fidelity {
    let mut all = Differences { list: Vec::new(), count: 0 };
    let is_loaded = expected.collection.is_empty() || found.collection.is_empty();
    if let Some(status) = expected.status
        && status != found.status
        && (is_loaded || !ends_alike(status, found.status))
    {
        let what = match found.status {
            Status::Exited(_) => OutcomeDifferenceKind::ExitCode,
            _ => OutcomeDifferenceKind::End,
        };
        all.add("", "", what, &ending(status), &ending(found.status));
    }
    if expected.complete && !found.complete {
        all.add("", "", OutcomeDifferenceKind::End, "a run to its end", "no record of its end");
    }
    let known = |id: &String| !expected.unstable.contains_key(id.as_str());
    let collected: Vec<&String> = found.collected.iter().filter(|id| known(id)).collect();
    let wanted: Vec<&String> = expected.collected.iter().filter(|id| known(id)).collect();
    if collected != wanted {
        let missing: Vec<&str> =
            wanted.iter().filter(|id| !collected.contains(id)).map(|id| id.as_str()).collect();
        let extra: Vec<&str> =
            collected.iter().filter(|id| !wanted.contains(id)).map(|id| id.as_str()).collect();
        let expected = format!("{} cases, among them {}", wanted.len(), listed(&missing));
        let found = format!("{} cases, among them {}", collected.len(), listed(&extra));
        all.add("", "", OutcomeDifferenceKind::Collected, &expected, &found);
    }
    compare_collection(expected, found, &mut all);
    for (id, phases) in &expected.cases {
        if expected.unstable.contains_key(id) {
            continue;
        }
        match found.cases.get(id) {
            None => all.add(id, "", OutcomeDifferenceKind::Missing, "a case", "nothing"),
            Some(found) => compare_case(id, phases, found, &mut all),
        }
    }
    for id in found.cases.keys().filter(|id| known(id) && !expected.cases.contains_key(*id)) {
        all.add(id, "", OutcomeDifferenceKind::Collected, "nothing", "a case");
    }
    if let Some((stdout, stderr)) = &expected.streams {
        let (found_out, found_err) = found.streams.clone().unwrap_or_default();
        compare_text("", "", OutcomeDifferenceKind::Stdout, stdout, &found_out, &mut all);
        compare_text("", "", OutcomeDifferenceKind::Stderr, stderr, &found_err, &mut all);
    }
    compare_failure("", "", expected.raised.as_ref(), found.raised.as_ref(), &mut all);
    Fidelity {
        score: u8::from(all.count == 0),
        cases: expected.cases.keys().filter(|id| known(id)).count() as u64,
        differences: all.list,
        different: all.count,
    }
}

/// Differences that were found, the first [`SHOWN`] of them with their texts.
#[derive(Default)]
pub(super) struct Differences {
    pub(super) list: Vec<OutcomeDifference>,
    pub(super) count: u64,
}

impl Differences {
    pub(super) fn add(
        &mut self,
        case: &str,
        phase: &str,
        what: OutcomeDifferenceKind,
        expected: &str,
        found: &str,
    ) {
        self.count += 1;
        if self.list.len() < SHOWN {
            let (expected, found) = contrast(expected, found);
            let (case, phase) = (case.to_owned(), phase.to_owned());
            self.list.push(OutcomeDifference { case, phase, what, expected, found });
        }
    }
}

fn compare_collection(expected: &Expected, found: &Observation, all: &mut Differences) {
    let mut found_errors = found.collection.iter();
    for (id, failure) in &expected.collection {
        match found_errors.next() {
            Some((found_id, found)) if found_id == id => {
                compare_failure(id, "collection", Some(failure), Some(found), all);
            }
            other => {
                let found = other.map_or("nothing", |(id, _)| id.as_str());
                all.add(
                    id,
                    "collection",
                    OutcomeDifferenceKind::Collection,
                    &shown(failure),
                    found,
                );
            }
        }
    }
    for (id, failure) in found_errors {
        let text = format!("{}: {}", failure.kind, failure.message);
        all.add(id, "collection", OutcomeDifferenceKind::Collection, "nothing", &text);
    }
}

fn compare_case(id: &str, expected: &[ExpectedPhase], found: &[Phase], all: &mut Differences) {
    let order = |phases: &[(&str, &str)]| {
        phases.iter().map(|(when, outcome)| format!("{when} {outcome}")).collect::<Vec<_>>()
    };
    let wanted =
        order(&expected.iter().map(|p| (p.when.as_str(), p.outcome.as_str())).collect::<Vec<_>>());
    let seen =
        order(&found.iter().map(|p| (p.when.as_str(), p.outcome.as_str())).collect::<Vec<_>>());
    if wanted != seen {
        let raised = found.iter().filter_map(|phase| phase.raised.as_ref()).next_back();
        let why = raised.map_or(String::new(), |r| format!(" ({}: {})", r.kind, r.message));
        let phase = wanted.iter().zip(&seen).position(|(a, b)| a != b);
        let phase = phase.map_or("", |at| expected[at].when.as_str());
        all.add(
            id,
            phase,
            OutcomeDifferenceKind::Outcome,
            &wanted.join(", "),
            &format!("{}{why}", seen.join(", ")),
        );
        return;
    }
    let moved = texts().map(|(wanted, seen)| {
        Pattern::fit_together(expected.iter().map(wanted), found.iter().map(seen))
    });
    for (expected, found) in expected.iter().zip(found) {
        let when = expected.when.as_str();
        compare_failure(id, when, expected.raised.as_ref(), found.raised.as_ref(), all);
        if expected.wasxfail != found.wasxfail {
            let reason = |reason: &Option<String>| {
                reason.as_deref().unwrap_or("no expected failure").to_owned()
            };
            all.add(
                id,
                when,
                OutcomeDifferenceKind::Reason,
                &reason(&expected.wasxfail),
                &reason(&found.wasxfail),
            );
        }
        let kinds = [
            OutcomeDifferenceKind::Stdout,
            OutcomeDifferenceKind::Stderr,
            OutcomeDifferenceKind::Log,
        ];
        for (what, ((wanted, seen), moved)) in kinds.into_iter().zip(texts().into_iter().zip(moved))
        {
            if !moved {
                compare_text(id, when, what, wanted(expected), seen(found), all);
            }
        }
    }
}

/// One of the texts that a phase writes, as expected and as found.
type Text = (fn(&ExpectedPhase) -> &Pattern, fn(&Phase) -> &str);

fn texts() -> [Text; 3] {
    [
        (|phase| &phase.stdout, |phase| &phase.stdout),
        (|phase| &phase.stderr, |phase| &phase.stderr),
        (|phase| &phase.log, |phase| &phase.log),
    ]
}

fn compare_failure(
    id: &str,
    when: &str,
    expected: Option<&ExpectedFailure>,
    found: Option<&NormalizedException>,
    all: &mut Differences,
) {
    match (expected, found) {
        (None, None) => {}
        (Some(expected), Some(found)) => {
            if (&expected.kind, &expected.module) != (&found.kind, &found.module) {
                let (left, right) = (
                    format!("{}.{}", expected.module, expected.kind),
                    format!("{}.{}: {}", found.module, found.kind, found.message),
                );
                all.add(id, when, OutcomeDifferenceKind::ExceptionType, &left, &right);
            } else if !message_matches(expected, found) {
                let wanted = expected.message.shown();
                all.add(id, when, OutcomeDifferenceKind::ExceptionMessage, &wanted, &found.message);
            } else if !expected.shown.matches(&found.shown) {
                let kind = OutcomeDifferenceKind::ExceptionCause;
                all.add(id, when, kind, &expected.shown.shown(), &found.shown);
            }
        }
        (expected, found) => {
            let left = expected.map_or("no exception".to_owned(), shown);
            let right = found.map_or("no exception".to_owned(), |found| {
                format!("{}: {}", found.kind, found.message)
            });
            all.add(id, when, OutcomeDifferenceKind::ExceptionType, &left, &right);
        }
    }
}

/// Returns true if the messages of two exceptions match. If pytest explains only the gist's, its
/// [own words](own_words) are compared.
fn message_matches(expected: &ExpectedFailure, found: &NormalizedException) -> bool {
    if expected.message.matches(&found.message) {
        return true;
    }
    if expected.kind != "AssertionError" || expected.explained || !found.explained {
        return false;
    }
    expected.message.matches(own_words(&found.message))
}

fn compare_text(
    id: &str,
    when: &str,
    what: OutcomeDifferenceKind,
    expected: &Pattern,
    found: &str,
    all: &mut Differences,
) {
    if !expected.matches(found) {
        all.add(id, when, what, &expected.shown(), found);
    }
}

pub(super) fn ending(status: Status) -> String {
    match status {
        Status::Exited(code) => format!("exit code {code}"),
        Status::Signaled(signal) => format!("ended by signal {signal}"),
        Status::TimedOut => "over its time".to_owned(),
        Status::OutOfMemory => "over its memory".to_owned(),
        Status::Interrupted => "interrupted".to_owned(),
    }
}

fn shown(failure: &ExpectedFailure) -> String {
    format!("{}: {}", failure.kind, failure.message.shown())
}

fn listed(ids: &[&str]) -> String {
    match ids {
        [] => "no other".to_owned(),
        [first] => (*first).to_owned(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// Two texts shortened around the first place where they differ.
fn contrast(left: &str, right: &str) -> (String, String) {
    let same = left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b).count();
    let cut = |text: &str| {
        let from = text.floor_char_boundary(same.saturating_sub(TEXT / 4).min(text.len()));
        let to = text.floor_char_boundary((from + TEXT).min(text.len()));
        let head = if from > 0 { "…" } else { "" };
        let tail = if to < text.len() { "…" } else { "" };
        format!("{head}{}{tail}", &text[from..to])
    };
    if left.len().max(right.len()) <= TEXT {
        (left.to_owned(), right.to_owned())
    } else {
        (cut(left), cut(right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_write_may_come_in_the_next_phase() {
        // Runs of the original, then one of a gist: what its call and its teardown write.
        let check = |runs: &[[&str; 2]], gist: [&str; 2], different: u64| {
            let names = ["call", "teardown"];
            let expected: Vec<ExpectedPhase> = (0..2)
                .map(|at| ExpectedPhase {
                    when: names[at].to_owned(),
                    outcome: "passed".to_owned(),
                    wasxfail: None,
                    raised: None,
                    stdout: Pattern::of([""]),
                    stderr: Pattern::of(runs.iter().map(|run| run[at])),
                    log: Pattern::of([""]),
                })
                .collect();
            let found: Vec<Phase> = (0..2)
                .map(|at| Phase {
                    when: names[at].to_owned(),
                    outcome: "passed".to_owned(),
                    wasxfail: None,
                    raised: None,
                    stdout: String::new(),
                    stderr: gist[at].to_owned(),
                    log: String::new(),
                })
                .collect();
            let mut all = Differences { list: Vec::new(), count: 0 };
            compare_case("a case", &expected, &found, &mut all);
            assert_eq!(all.count, different, "{gist:?}: {:?}", all.list);
        };
        let varies = [["1 get\n1 post\n", ""], ["2 get\n2 post\n", ""]];
        check(&varies, ["3 get\n3 post\n", ""], 0);
        check(&varies, ["3 get\n", "3 post\n"], 0);
        check(&varies, ["3 get\n", ""], 1);
        check(&varies, ["3 get\n", "3 post\nmore\n"], 2);
        // Without a thread nothing moves.
        let same = [["get\npost\n", ""], ["get\npost\n", ""]];
        check(&same, ["get\n", "post\n"], 2);
    }

    #[test]
    fn what_may_be_a_threads_text_is_run_for_more_than_twice() {
        let check = |runs: [&str; 2], what: OutcomeDifferenceKind, tries: usize| {
            let phase = ExpectedPhase {
                when: "call".to_owned(),
                outcome: "passed".to_owned(),
                wasxfail: None,
                raised: None,
                stdout: Pattern::of([""]),
                stderr: Pattern::of(runs),
                log: Pattern::of([""]),
            };
            let expected = Expected {
                status: Some(Status::Exited(0)),
                complete: true,
                collected: Vec::new(),
                collection: Vec::new(),
                cases: [("a case".to_owned(), vec![phase])].into(),
                unstable: [].into(),
                streams: None,
                raised: None,
            };
            let mut all = Differences { list: Vec::new(), count: 0 };
            all.add("a case", "call", what, "1 get", "");
            let verdict = Fidelity { score: 0, cases: 1, differences: all.list, different: 1 };
            assert_eq!(verdict.tries(&expected), tries, "{runs:?} {what}");
        };
        check(["1 get\n", "2 get\n"], OutcomeDifferenceKind::Stderr, 5);
        check(["1 get\n", "1 get\n"], OutcomeDifferenceKind::Stderr, 2);
        check(["1 get\n", "2 get\n"], OutcomeDifferenceKind::Outcome, 1);
    }
}
