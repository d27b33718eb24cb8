//! The normalised behaviour of a run.
//!
//! `expected` derives the requirements for a candidate from several runs; nothing is executed here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tools::{Execution, Normalizer, Raised, SOURCE_LINES, Status};

/// One run, normalised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The end of the process.
    pub status: Status,
    /// True if the recorder observed the run to its end.
    pub complete: bool,
    /// Collected node ids, sorted.
    pub collected: Vec<String>,
    /// Errors of collection by node.
    pub collection: Vec<(String, NormalizedException)>,
    /// Phases of each case by node id; reruns append.
    pub cases: BTreeMap<String, Vec<Phase>>,
    /// The process's own streams, for commands other than pytest's.
    pub streams: Option<(String, String)>,
    /// The exception that a command other than pytest's raised at its top level.
    pub raised: Option<NormalizedException>,
}

/// One phase of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// `setup`, `call` or `teardown`.
    pub when: String,
    /// `passed`, `failed` or `skipped`.
    pub outcome: String,
    /// Reason of an expected failure.
    pub wasxfail: Option<String>,
    /// The exception.
    pub raised: Option<NormalizedException>,
    /// Captured standard output.
    pub stdout: String,
    /// Captured standard error.
    pub stderr: String,
    /// Captured log.
    pub log: String,
}

/// An exception, normalised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NormalizedException {
    /// Qualified name of its type.
    pub kind: String,
    /// Module of its type; all internal modules are one.
    pub module: String,
    /// Its message.
    pub message: String,
    /// True if it was raised in a file whose assertions pytest explains.
    pub explained: bool,
    /// The exceptions that its traceback shows besides it: their types and messages.
    pub shown: String,
}

impl Observation {
    /// Returns true if the run wrote source lines with their numbers, which no comparison counts.
    pub fn shows_sources(&self) -> bool {
        let phases = self.cases.values().flatten();
        let captured = phases.flat_map(|phase| [&phase.stdout, &phase.stderr, &phase.log]);
        let streams = self.streams.iter().flat_map(|(stdout, stderr)| [stdout, stderr]);
        captured.chain(streams).any(|text| text.contains(SOURCE_LINES))
    }

    /// Normalises a run. `explained` tells files whose assertions pytest explains; `pytest` whether the
    /// command is pytest's, whose own streams are no evidence.
    pub fn of(
        run: &Execution,
        normalizer: &Normalizer,
        explained: impl Fn(&str) -> bool,
        pytest: bool,
    ) -> Self {
        let failure = |raised: &Raised| {
            let innermost = raised.frames.iter().rev().map(|(file, _, _)| file);
            let inside = innermost.into_iter().find(|file| normalizer.is_internal_file(file));
            NormalizedException {
                kind: raised.kind.clone(),
                module: normalizer.module(&raised.module),
                message: normalizer.text(&raised.message),
                explained: inside.is_some_and(|file| explained(file)),
                shown: normalizer.text(&raised.shown_text()),
            }
        };
        let mut cases: BTreeMap<String, Vec<Phase>> = BTreeMap::new();
        for case in &run.cases {
            let phases = cases.entry(normalizer.node(&case.id)).or_default();
            phases.extend(case.phases.iter().map(|phase| Phase {
                when: phase.when.clone(),
                outcome: phase.outcome.clone(),
                wasxfail: phase.wasxfail.as_deref().map(|reason| normalizer.text(reason)),
                raised: phase.raised.as_ref().map(failure),
                stdout: normalizer.text(&phase.stdout),
                stderr: normalizer.text(&phase.stderr),
                log: normalizer.text(&phase.log),
            }));
        }
        let mut collected: Vec<String> =
            run.collected.iter().map(|id| normalizer.node(id)).collect();
        collected.sort();
        Self {
            status: run.status,
            complete: run.complete,
            collected,
            collection: run
                .collection_errors
                .iter()
                .map(|(id, raised)| (normalizer.node(id), failure(raised)))
                .collect(),
            cases,
            streams: (!pytest)
                .then(|| (normalizer.text(&run.stdout), normalizer.text(&run.stderr))),
            raised: run.raised.as_ref().map(failure),
        }
    }
}
