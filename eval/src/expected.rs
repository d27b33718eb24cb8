//! Computes the behaviour that several runs of the original share: a faithful gist has to show all
//! of it.
//!
//! Varying text is masked, a test with a varying outcome is ignored, and a task without a stable
//! test is quarantined. Candidates have no influence on it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{Pattern, Status};

use crate::observation::{NormalizedException, Observation, Phase};

/// The behaviour of a faithful run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// The end of the process, unless it varies.
    pub status: Option<Status>,
    /// True if the recorder observes its end.
    pub complete: bool,
    /// Collected node ids, sorted.
    pub collected: Vec<String>,
    /// Errors of collection by node.
    pub collection: Vec<(String, ExpectedFailure)>,
    /// Phases of each case.
    pub cases: BTreeMap<String, Vec<ExpectedPhase>>,
    /// Cases that are not compared, with the reason.
    pub unstable: BTreeMap<String, String>,
    /// Standard output and error, for commands other than pytest's.
    pub streams: Option<(Pattern, Pattern)>,
    /// The exception of a command other than pytest's.
    pub raised: Option<ExpectedFailure>,
}

/// One phase of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedPhase {
    /// `setup`, `call` or `teardown`.
    pub when: String,
    /// `passed`, `failed` or `skipped`.
    pub outcome: String,
    /// Reason of an expected failure.
    pub wasxfail: Option<String>,
    /// The exception.
    pub raised: Option<ExpectedFailure>,
    /// Captured standard output.
    pub stdout: Pattern,
    /// Captured standard error.
    pub stderr: Pattern,
    /// Captured log.
    pub log: Pattern,
}

impl ExpectedPhase {
    /// Returns true if any of its texts varies between runs of the original.
    pub(crate) fn varies(&self) -> bool {
        ![&self.stdout, &self.stderr, &self.log].into_iter().all(Pattern::is_exact)
    }
}

/// An exception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedFailure {
    /// Qualified name of its type.
    pub kind: String,
    /// Module of its type.
    pub module: String,
    /// Its message.
    pub message: Pattern,
    /// True if it is raised in a file whose assertions pytest explains.
    pub explained: bool,
    /// The exceptions that its traceback shows besides it: their types and messages.
    pub shown: Pattern,
}

/// Why a task is set aside, decided by reference runs alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quarantine {
    /// No case has the same outcome in all runs.
    Unstable(String),
    /// It asks for the network beyond loopback.
    Network(String),
    /// It goes over its time limit in some run.
    OverTime,
}

/// Returns the behaviour on which all runs agree, and the reason for a quarantine.
pub(crate) fn expect(runs: &[Observation]) -> (Expected, Option<Quarantine>) {
    let first = &runs[0];
    let mut unstable: BTreeMap<String, String> = BTreeMap::new();
    let ids: BTreeSet<&String> = runs.iter().flat_map(|run| run.cases.keys()).collect();
    let mut cases = BTreeMap::new();
    for id in ids {
        let all: Vec<Option<&Vec<Phase>>> = runs.iter().map(|run| run.cases.get(id)).collect();
        let Some(all) = all.into_iter().collect::<Option<Vec<_>>>() else {
            unstable.insert(id.clone(), "it does not run every time".to_owned());
            continue;
        };
        match merge_case(&all) {
            Ok(phases) => {
                cases.insert(id.clone(), phases);
            }
            Err(why) => {
                unstable.insert(id.clone(), why);
            }
        }
    }
    for run in runs {
        for id in &run.collected {
            if runs.iter().any(|other| !other.collected.contains(id)) {
                unstable.insert(id.clone(), "it is not collected every time".to_owned());
            }
        }
    }
    let agree = |part: fn(&Observation) -> String| runs.iter().all(|run| part(run) == part(first));
    let same_status = agree(|run| format!("{:?}", run.status));
    let raised = merge_failures(runs.iter().map(|run| run.raised.as_ref()));
    let mut quarantine = None;
    if let Some((id, why)) = unstable.first_key_value()
        && cases.is_empty()
    {
        quarantine = Some(Quarantine::Unstable(format!("{id}: {why}")));
    }
    if first.streams.is_some() && (!same_status || raised.is_err()) {
        quarantine = Some(Quarantine::Unstable("runs end in different ways".to_owned()));
    }
    let network = runs.iter().find_map(network);
    let quarantine = network.map(Quarantine::Network).or(quarantine);
    let streams = first.streams.is_some().then(|| {
        let each = |part: fn(&(String, String)) -> &str| {
            Pattern::of(runs.iter().filter_map(|run| run.streams.as_ref()).map(part))
        };
        (each(|streams| &streams.0), each(|streams| &streams.1))
    });
    let expected = Expected {
        status: same_status.then_some(first.status),
        complete: runs.iter().all(|run| run.complete),
        collected: first.collected.clone(),
        collection: first.collection.iter().map(|(id, f)| (id.clone(), exact(f))).collect(),
        cases,
        unstable,
        streams,
        raised: raised.unwrap_or_default(),
    };
    (expected, quarantine)
}

fn merge_case(runs: &[&Vec<Phase>]) -> Result<Vec<ExpectedPhase>, String> {
    let first = runs[0];
    let shape = |run: &Vec<Phase>| -> Vec<(String, String)> {
        run.iter().map(|phase| (phase.when.clone(), phase.outcome.clone())).collect()
    };
    if runs.iter().any(|run| shape(run) != shape(first)) {
        return Err("its outcome varies between runs".to_owned());
    }
    (0..first.len())
        .map(|at| {
            let phases: Vec<&Phase> = runs.iter().map(|run| &run[at]).collect();
            if phases.iter().any(|phase| phase.wasxfail != phases[0].wasxfail) {
                return Err("its reason varies between runs".to_owned());
            }
            let raised = merge_failures(phases.iter().map(|phase| phase.raised.as_ref()))
                .map_err(|()| "its exception varies between runs".to_owned())?;
            let text = |part: fn(&Phase) -> &str| Pattern::of(phases.iter().map(|p| part(p)));
            Ok(ExpectedPhase {
                when: phases[0].when.clone(),
                outcome: phases[0].outcome.clone(),
                wasxfail: phases[0].wasxfail.clone(),
                raised,
                stdout: text(|phase| &phase.stdout),
                stderr: text(|phase| &phase.stderr),
                log: text(|phase| &phase.log),
            })
        })
        .collect()
}

/// One exception of several runs, with what varies in its message masked; an error where even its type
/// varies.
fn merge_failures<'a>(
    runs: impl Iterator<Item = Option<&'a NormalizedException>>,
) -> Result<Option<ExpectedFailure>, ()> {
    let runs: Vec<Option<&NormalizedException>> = runs.collect();
    let Some(first) = runs[0] else {
        return if runs.iter().all(Option::is_none) { Ok(None) } else { Err(()) };
    };
    let same = |run: &Option<&NormalizedException>| {
        run.is_some_and(|run| run.kind == first.kind && run.module == first.module)
    };
    if !runs.iter().all(same) {
        return Err(());
    }
    let messages = runs.iter().flatten().map(|run| run.message.as_str());
    let shown = runs.iter().flatten().map(|run| run.shown.as_str());
    let (message, shown) = (Pattern::of(messages), Pattern::of(shown));
    Ok(Some(ExpectedFailure { message, shown, ..exact(first) }))
}

fn exact(failure: &NormalizedException) -> ExpectedFailure {
    ExpectedFailure {
        kind: failure.kind.clone(),
        module: failure.module.clone(),
        message: Pattern::of([failure.message.as_str()]),
        explained: failure.explained,
        shown: Pattern::of([failure.shown.as_str()]),
    }
}

/// A failure for want of the network, which no run has beyond loopback.
fn network(run: &Observation) -> Option<String> {
    const SIGNS: [&str; 5] = [
        "Name or service not known",
        "Temporary failure in name resolution",
        "Network is unreachable",
        "No address associated with hostname",
        "nodename nor servname provided",
    ];
    let mut failures = run.cases.iter().flat_map(|(id, phases)| {
        phases
            .iter()
            .filter(|phase| phase.outcome == "failed")
            .filter_map(move |phase| phase.raised.as_ref().map(|raised| (id, raised)))
    });
    failures.find_map(|(id, raised)| {
        let sign = SIGNS.iter().find(|sign| raised.message.contains(**sign))?;
        Some(format!("{id}: {sign}"))
    })
}
