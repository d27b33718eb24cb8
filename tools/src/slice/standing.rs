//! Measures the similarity of a gist's run to the original's run, as one value that can be
//! compared.
//!
//! It orders attempts. The `eval` crate judges the gist.

use std::{borrow::Cow, cmp::Reverse};

use graph::{Gist, LineOrigin, Place, Trace};
use serde::{Deserialize, Serialize};

use super::{
    difference::{fits, raises},
    printed::printed,
    probe::Probed,
};
use crate::{
    execute::{CaseReport, Execution, PhaseReport, Raised},
    sandbox::Status,
};

/// The order of attempts at one gist; the larger one is better. Fields count in their order: the failure first,
/// then everything else that the command does, then the size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Standing {
    /// The failures of the original that the gist has.
    #[serde(default)]
    pub failure: FailureMatch,
    /// Nothing at all differs.
    #[serde(default)]
    pub same: bool,
    /// Cases with the outcome of the original.
    #[serde(default)]
    pub agreeing: usize,
    /// Captured texts that are the original's.
    #[serde(default)]
    pub texts: usize,
    /// Lines; fewer are better.
    #[serde(default = "longest")]
    pub size: Reverse<usize>,
}

/// Failures of the original that a gist has as well, counted by how much of each is the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FailureMatch {
    /// The failures of the same type.
    pub types: usize,
    /// The failures that also have the same message.
    pub messages: usize,
    /// The failures that are also raised by the same line.
    pub places: usize,
    /// The failures at which the gist fails too, in any way.
    pub failing: usize,
    /// All failures of the original.
    pub wanted: usize,
}

impl FailureMatch {
    /// Returns true if the original fails and the gist has each of its failures: type, message and line.
    pub fn is_whole(&self) -> bool {
        self.wanted > 0 && self.places == self.wanted
    }

    /// Returns true if the original fails and the gist has none of its failures.
    pub fn is_lost(&self) -> bool {
        self.wanted > 0 && self.failing == 0
    }
}

fn longest() -> Reverse<usize> {
    Reverse(usize::MAX)
}

/// Two runs of one command: the original's and a gist's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared<'a> {
    /// The run of the original, normalised.
    pub(crate) original: &'a Execution,
    /// Another run of the original, normalised, where its texts may vary.
    pub(crate) again: Option<&'a Execution>,
    /// The run of the gist, normalised.
    pub(crate) gist: &'a Execution,
    /// The same before that.
    pub(crate) raw: &'a Execution,
    /// The trace of the original.
    pub(crate) trace: &'a Trace,
    /// Origins of the gist's lines.
    pub(crate) lines: &'a Gist,
    /// The path of the gist.
    pub(crate) gist_path: &'a str,
    /// The text that ran in the gist's place, where it was another one.
    pub(crate) probed: Option<&'a Probed>,
}

/// One way in which a run failed.
#[derive(Debug, Clone)]
pub(crate) struct RunFailure<'a> {
    /// The case and the phase of it; empty for what ended the whole run.
    pub(crate) case: &'a str,
    pub(crate) when: &'a str,
    /// The exception, if known.
    pub(crate) raised: Option<Cow<'a, Raised>>,
    status: Status,
}

impl Compared<'_> {
    /// Returns how many of the original's failures the gist has, by similarity.
    pub(crate) fn failure(&self) -> FailureMatch {
        let (wanted, found) = (failures(self.original), failures(self.gist));
        let raw = failures(self.raw);
        let varied = self.again.map(failures).unwrap_or_default();
        let mut matched = FailureMatch { wanted: wanted.len(), ..FailureMatch::default() };
        for one in &wanted {
            let is_its = |other: &&RunFailure<'_>| other.case == one.case && other.when == one.when;
            let Some(at) = found.iter().position(|other| is_its(&other)) else { continue };
            let (two, raw) = (&found[at], raw.get(at));
            matched.failing += 1;
            let (Some(left), Some(right)) = (&one.raised, &two.raised) else {
                let is_same =
                    one.raised.is_none() && two.raised.is_none() && one.status == two.status;
                let count = usize::from(is_same);
                matched.types += count;
                matched.messages += count;
                matched.places += count;
                continue;
            };
            if left.kind != right.kind || left.module != right.module {
                continue;
            }
            matched.types += 1;
            let other = varied.iter().find(is_its).and_then(|other| other.raised.as_deref());
            if !raises(Some(left), other, Some(right)) {
                continue;
            }
            matched.messages += 1;
            let place = raw.and_then(|raw| self.place_in_gist(raw.raised.as_deref()?));
            let wanted = place_in_original(left, self.trace);
            // A printed traceback has no lines left once it is normalised.
            matched.places += usize::from(wanted.is_none() || wanted == place);
        }
        matched
    }

    /// The standing of the gist. `same` says that nothing differs, `agreeing` counts cases with their outcome.
    pub(crate) fn standing(&self, same: bool, agreeing: usize) -> Standing {
        Standing {
            failure: self.failure(),
            same,
            agreeing,
            texts: self.texts(),
            size: Reverse(self.lines.lines.len()),
        }
    }

    /// Captured texts of phases, or of a program without cases, that are the original's.
    fn texts(&self) -> usize {
        let (original, gist) = (self.original, self.gist);
        if original.cases.is_empty() {
            let varied = |text: fn(&Execution) -> &str| self.again.map(text);
            let streams: [fn(&Execution) -> &str; 2] = [|run| &run.stdout, |run| &run.stderr];
            let fit =
                |text: &&fn(&Execution) -> &str| fits(text(original), varied(**text), text(gist));
            return streams.iter().filter(fit).count();
        }
        let phases = |run: &Execution| -> Vec<(String, PhaseReport)> {
            let of_case = |case: &CaseReport| {
                let phases = case.phases.iter().cloned();
                phases
                    .map(|phase| (format!("{} {}", case.id, phase.when), phase))
                    .collect::<Vec<_>>()
            };
            run.cases.iter().flat_map(of_case).collect()
        };
        let (found, varied) = (phases(gist), self.again.map(phases).unwrap_or_default());
        let named = |all: &[(String, PhaseReport)], name: &str| {
            all.iter().find(|(other, _)| other == name).map(|(_, phase)| phase.clone())
        };
        let of_phase = |(name, one): &(String, PhaseReport)| {
            let Some(two) = named(&found, name) else { return 0 };
            let again = named(&varied, name);
            let texts: [fn(&PhaseReport) -> &str; 3] =
                [|phase| &phase.stdout, |phase| &phase.stderr, |phase| &phase.log];
            let fit = |text: &&fn(&PhaseReport) -> &str| {
                fits(text(one), again.as_ref().map(**text), text(&two))
            };
            texts.iter().filter(fit).count()
        };
        phases(original).iter().map(of_phase).sum()
    }

    /// The line of the original that raised what a gist raised.
    fn place_in_gist(&self, raised: &Raised) -> Option<Place> {
        raised.frames.iter().rev().find_map(|(file, line, _)| {
            if !file.ends_with(self.gist_path) {
                return None;
            }
            let line = self.probed.map_or(Some(*line), |probed| probed.gist_line(*line))?;
            match &self.lines.lines.get((line as usize).checked_sub(1)?)?.origin {
                LineOrigin::Source(place) => Some(place.clone()),
                LineOrigin::Glue(_) => None,
            }
        })
    }
}

/// The line of the repository that raised an error of the original.
pub(crate) fn place_in_original(raised: &Raised, trace: &Trace) -> Option<Place> {
    raised.frames.iter().rev().find_map(|(file, line, _)| {
        let of_file = |path: &&str| {
            file.strip_suffix(*path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let paths = trace.files.iter().map(|file| file.path.as_str());
        let path = paths.filter(of_file).max_by_key(|path| path.len())?;
        Some(Place { path: path.to_owned(), line: *line })
    })
}

/// All failures of a run: of its cases, of collection, or of the program as a whole.
pub(crate) fn failures(run: &Execution) -> Vec<RunFailure<'_>> {
    let status = run.status;
    let mut all: Vec<RunFailure<'_>> = run
        .collection_errors
        .iter()
        .map(|(_, raised)| RunFailure {
            case: "",
            when: "collection",
            raised: Some(Cow::Borrowed(raised)),
            status,
        })
        .collect();
    for case in &run.cases {
        let failed = case.phases.iter().filter(|phase| phase.outcome == "failed");
        all.extend(failed.map(|phase| RunFailure {
            case: &case.id,
            when: &phase.when,
            raised: phase.raised.as_ref().map(Cow::Borrowed),
            status,
        }));
    }
    if all.is_empty() && status != Status::Exited(0) {
        let told = || printed(&run.stderr).or_else(|| printed(&run.stdout)).map(Cow::Owned);
        let raised = run.raised.as_ref().map(Cow::Borrowed).or_else(told);
        all.push(RunFailure { case: "", when: "", raised, status });
    }
    all
}
