//! Execution fidelity as the paper has it (Gistify, arXiv 2510.26790, equation 1, 2.3 and A.1):
//!
//! ```text
//! fidelity(G) = 1[ runs(c, G) and out(c, G) = out(c, C) ]
//! ```
//!
//! `c` is the command with the original test in the gist `G`, `C` the codebase. `out` is the outcome of every
//! case (passed, failed, skipped, expected to fail) and the two output streams: of a case where pytest runs it,
//! whose own streams hold times and paths; else of the process. Exceptions and phases are not compared: that is
//! [`StrictFidelity`](super::StrictFidelity).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{Pattern, Status};

use super::{
    Facts, FormulaSource, MeasureTable, MeasureUnit, OutcomeDifference, OutcomeDifferenceKind,
    Scorer,
    fidelity::{Differences, ending},
};
use crate::{
    expected::{Expected, ExpectedPhase},
    observation::{Observation, Phase},
};

/// 1 where a gist runs, with the outcomes and output of the original.
pub struct PaperFidelity;

impl Scorer for PaperFidelity {
    type Evidence = PaperVerdict;
    const NAME: &'static str = "execution_fidelity_paper";
    const LABEL: &'static str = "fidelity (paper)";
    const DOC: &'static str = "1 where the gist, with the original test in it, runs and passes or fails every case as \
        the original does, with the same stdout and stderr";
    const SOURCE: FormulaSource = FormulaSource::Paper("equation 1");
    const UNIT: MeasureUnit = MeasureUnit::Success;
    const SHOWN: MeasureTable = MeasureTable::Main;

    fn evidence(facts: &Facts<'_>) -> Option<PaperVerdict> {
        let found = facts.gist.and_then(|gist| gist.found);
        // A run that cannot be told from the original's by more cannot be told by less.
        if facts.strict.score == 1 {
            return Some(PaperVerdict { score: 1, runs: true, ..PaperVerdict::default() });
        }
        Some(found.map_or_else(PaperVerdict::default, |run| paper_fidelity(facts.expected, run)))
    }

    fn value(evidence: &PaperVerdict) -> Option<f64> {
        Some(f64::from(evidence.score))
    }
}

/// The verdict, with its reasons.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PaperVerdict {
    /// 0 or 1.
    pub score: u8,
    /// `runs(c, G)`: the gist ends without crashing, or as the original ends.
    pub runs: bool,
    /// The differences of `out`, the first ones.
    pub differences: Vec<OutcomeDifference>,
    /// The number of differences.
    pub different: u64,
}

/// Compares a run of a gist with the original's behaviour, as the paper does.
pub fn paper_fidelity(expected: &Expected, found: &Observation) -> PaperVerdict {
    let mut all = Differences::default();
    let runs = runs(expected, found);
    if !runs {
        all.add("", "", OutcomeDifferenceKind::End, "a run to its end", &ending(found.status));
    }
    for (id, phases) in &expected.cases {
        if expected.unstable.contains_key(id) {
            continue;
        }
        match found.cases.get(id) {
            None => all.add(id, "", OutcomeDifferenceKind::Missing, "a case", "nothing"),
            Some(found) => compare_case(id, phases, found, &mut all),
        }
    }
    for id in found.cases.keys() {
        if !expected.cases.contains_key(id) && !expected.unstable.contains_key(id) {
            all.add(id, "", OutcomeDifferenceKind::Collected, "nothing", "a case");
        }
    }
    if let Some((stdout, stderr)) = &expected.streams {
        let (out, err) = found.streams.clone().unwrap_or_default();
        for (what, wanted, seen) in [
            (OutcomeDifferenceKind::Stdout, stdout, out),
            (OutcomeDifferenceKind::Stderr, stderr, err),
        ] {
            if !wanted.matches(&seen) {
                all.add("", "", what, &wanted.shown(), &seen);
            }
        }
        let fails = |status| status != Status::Exited(0);
        if let Some(status) = expected.status
            && fails(status) != fails(found.status)
        {
            all.add(
                "",
                "",
                OutcomeDifferenceKind::ExitCode,
                &ending(status),
                &ending(found.status),
            );
        }
    }
    let score = u8::from(runs && all.count == 0);
    PaperVerdict { score, runs, differences: all.list, different: all.count }
}

/// Returns true if a gist ends without crashing. An end that the original has, too, is no crash.
fn runs(expected: &Expected, found: &Observation) -> bool {
    let ends = matches!(found.status, Status::Exited(_)) || expected.status == Some(found.status);
    let complete = found.complete || !expected.complete;
    let collects = found.collection.is_empty() || !expected.collection.is_empty();
    let raises = found.raised.is_some() && expected.raised.is_none();
    ends && complete && collects && !raises
}

fn compare_case(id: &str, expected: &[ExpectedPhase], found: &[Phase], all: &mut Differences) {
    let wanted = outcome(expected.iter().map(|one| (&*one.outcome, one.wasxfail.is_some())));
    let seen = outcome(found.iter().map(|one| (&*one.outcome, one.wasxfail.is_some())));
    if wanted != seen {
        let raised = found.iter().filter_map(|phase| phase.raised.as_ref()).next_back();
        let why = raised.map_or(String::new(), |r| format!(" ({}: {})", r.kind, r.message));
        all.add(id, "", OutcomeDifferenceKind::Outcome, wanted, &format!("{seen}{why}"));
        return;
    }
    let mut compare = |what: OutcomeDifferenceKind, wanted: Vec<&Pattern>, seen: String| {
        let wanted = Pattern::joined(wanted);
        if !wanted.matches(&seen) {
            all.add(id, "", what, &wanted.shown(), &seen);
        }
    };
    let wanted = expected.iter().map(|phase| &phase.stdout).collect();
    compare(
        OutcomeDifferenceKind::Stdout,
        wanted,
        found.iter().map(|phase| &*phase.stdout).collect(),
    );
    let wanted = expected.iter().map(|phase| &phase.stderr).collect();
    compare(
        OutcomeDifferenceKind::Stderr,
        wanted,
        found.iter().map(|phase| &*phase.stderr).collect(),
    );
}

/// The outcome of a case, as pytest counts it, from the outcomes of its phases.
fn outcome<'a>(phases: impl Iterator<Item = (&'a str, bool)> + Clone) -> &'static str {
    let any = |wanted: &str, xfail: bool| {
        let mut phases = phases.clone();
        phases.any(|(outcome, wasxfail)| outcome == wanted && (!xfail || wasxfail))
    };
    if any("failed", false) {
        "failed"
    } else if any("skipped", true) {
        "xfailed"
    } else if any("skipped", false) {
        "skipped"
    } else {
        "passed"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::NormalizedException;

    fn phase(when: &str, outcome: &str, stdout: &str) -> Phase {
        let raised = (outcome == "failed").then(|| NormalizedException {
            kind: "ValueError".to_owned(),
            module: "builtins".to_owned(),
            message: "a message".to_owned(),
            explained: false,
            shown: String::new(),
        });
        Phase {
            when: when.to_owned(),
            outcome: outcome.to_owned(),
            wasxfail: None,
            raised,
            stdout: stdout.to_owned(),
            stderr: String::new(),
            log: String::new(),
        }
    }

    fn run(phases: &[(&str, &str, &str)]) -> Observation {
        let phases = phases.iter().map(|(when, outcome, out)| phase(when, outcome, out)).collect();
        Observation {
            status: Status::Exited(0),
            complete: true,
            collected: vec!["t".to_owned()],
            collection: Vec::new(),
            cases: [("t".to_owned(), phases)].into(),
            streams: None,
            raised: None,
        }
    }

    #[test]
    fn outcome_and_streams_of_a_case_are_compared_and_nothing_else() {
        let original = run(&[("setup", "passed", "a\n"), ("call", "failed", "b\n")]);
        let (expected, _) = crate::expected::expect(&[original.clone(), original.clone()]);
        let check = |what: &str, found: Observation, score: u8| {
            let verdict = paper_fidelity(&expected, &found);
            assert_eq!(verdict.score, score, "{what}: {verdict:?}");
        };
        check("the same", original.clone(), 1);
        let mut other = original.clone();
        other.cases.get_mut("t").unwrap()[1].raised.as_mut().unwrap().kind = "KeyError".to_owned();
        check("another exception", other, 1);
        check("in another phase", run(&[("setup", "failed", "a\nb\n")]), 1);
        check("it passes", run(&[("setup", "passed", "a\n"), ("call", "passed", "b\n")]), 0);
        check("another output", run(&[("setup", "passed", "a\n"), ("call", "failed", "c\n")]), 0);
        check("killed", Observation { status: Status::Signaled(9), ..original.clone() }, 0);
        check("no end", Observation { complete: false, ..original.clone() }, 0);
        check("another exit code", Observation { status: Status::Exited(1), ..original }, 1);
    }
}
