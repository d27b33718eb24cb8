//! Error category (Gistify, arXiv 2510.26790, B.2, and two of ours): the one reason why a gist is not
//! faithful.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::Status;

use super::fidelity::{Fidelity, OutcomeDifferenceKind};
use crate::blocks::SyntaxFault;
use crate::observation::{NormalizedException, Observation};

/// Why a gist is not faithful.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// It imports the repository's own modules.
    ImportError,
    /// It was never written, or not by the step limit, or cannot be read.
    FileCreation,
    /// It does not have the test.
    MissingTest,
    /// Its run fails where the original's does not.
    RuntimeError,
    /// Its run has the same outcomes, and other messages or output (ours).
    OutputMismatch,
    /// Its run does not end in time (ours).
    Timeout,
}

/// A category, with what it was decided by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The category.
    pub category: Category,
    /// The evidence, on one line.
    pub evidence: String,
    /// The first syntax error of the gist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syntax: Option<SyntaxFault>,
}

/// The four categories of the paper (Gistify, arXiv 2510.26790, section 3.3 and B.2).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PaperCategory {
    /// The gist imports the original codebase.
    ImportError,
    /// No gist was written.
    FileCreationFailure,
    /// The gist does not have the test function.
    MissingTestFunction,
    /// The run of the gist fails, or its output is not the original's.
    PytestRuntimeError,
}

impl PaperCategory {
    /// All of them, in the order of the paper's table 2.
    pub const ALL: [Self; 4] = [
        Self::ImportError,
        Self::FileCreationFailure,
        Self::MissingTestFunction,
        Self::PytestRuntimeError,
    ];
}

impl fmt::Display for PaperCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PaperCategory::ImportError => "Import Error",
            PaperCategory::FileCreationFailure => "File Creation Failure",
            PaperCategory::MissingTestFunction => "Missing Test Function",
            PaperCategory::PytestRuntimeError => "Pytest Runtime Error",
        })
    }
}

impl Category {
    /// The category of the paper that such a failure belongs to.
    pub fn of_paper(self) -> PaperCategory {
        match self {
            Category::ImportError => PaperCategory::ImportError,
            Category::FileCreation => PaperCategory::FileCreationFailure,
            Category::MissingTest => PaperCategory::MissingTestFunction,
            Category::RuntimeError | Category::OutputMismatch | Category::Timeout => {
                PaperCategory::PytestRuntimeError
            }
        }
    }

    /// All of them, in the order of tables.
    pub const ALL: [Self; 6] = [
        Self::ImportError,
        Self::FileCreation,
        Self::MissingTest,
        Self::RuntimeError,
        Self::OutputMismatch,
        Self::Timeout,
    ];
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Category::ImportError => "import error",
            Category::FileCreation => "file creation failure",
            Category::MissingTest => "missing test",
            Category::RuntimeError => "run-time error",
            Category::OutputMismatch => "output mismatch",
            Category::Timeout => "timeout",
        })
    }
}

/// Returns the reason why a run is not faithful, or `None` for a faithful one. `is_internal`
/// returns true for names of internal modules.
pub fn category(
    fidelity: &Fidelity,
    found: &Observation,
    is_internal: impl Fn(&str) -> bool,
) -> Option<Cause> {
    let cause = |category, evidence: String| Some(Cause { category, evidence, syntax: None });
    if fidelity.score == 1 {
        return None;
    }
    if found.status == Status::TimedOut {
        return cause(Category::Timeout, "the run does not end in time".to_owned());
    }
    let raised = found.collection.iter().map(|(id, failure)| (id, failure));
    let failed = found.cases.iter().flat_map(|(id, phases)| {
        phases.iter().filter_map(move |phase| phase.raised.as_ref().map(|raised| (id, raised)))
    });
    let top = String::new();
    let own = found.raised.iter().map(|raised| (&top, raised));
    let mut all = raised.chain(failed).chain(own);
    if let Some((id, failure)) = all.find(|(_, failure)| imports_internal(failure, &is_internal)) {
        let evidence = format!("{id}: {}: {}", failure.kind, first_line(&failure.message));
        return cause(Category::ImportError, evidence);
    }
    let first = fidelity.differences.iter().min_by_key(|difference| rank(difference.what))?;
    let only_text = fidelity.differences.iter().all(|difference| {
        matches!(
            difference.what,
            OutcomeDifferenceKind::ExceptionMessage
                | OutcomeDifferenceKind::ExceptionCause
                | OutcomeDifferenceKind::Reason
                | OutcomeDifferenceKind::Stdout
                | OutcomeDifferenceKind::Stderr
                | OutcomeDifferenceKind::Log
        )
    });
    let category = if only_text { Category::OutputMismatch } else { Category::RuntimeError };
    let place = [first.case.as_str(), first.phase.as_str()].join(" ").trim().to_owned();
    let (expected, seen) = first_difference(&first.expected, &first.found);
    let place = if place.is_empty() { "the run".to_owned() } else { place };
    cause(category, format!("{place}: {} is {seen:?}, not {expected:?}", first.what))
}

/// Returns the rank of a difference, the most informative kind first: an exit code is the least
/// specific.
fn rank(what: OutcomeDifferenceKind) -> u8 {
    match what {
        OutcomeDifferenceKind::Collection => 0,
        OutcomeDifferenceKind::Outcome | OutcomeDifferenceKind::ExceptionType => 1,
        OutcomeDifferenceKind::ExceptionMessage
        | OutcomeDifferenceKind::ExceptionCause
        | OutcomeDifferenceKind::Reason
        | OutcomeDifferenceKind::Stdout
        | OutcomeDifferenceKind::Stderr
        | OutcomeDifferenceKind::Log => 2,
        OutcomeDifferenceKind::End => 3,
        OutcomeDifferenceKind::Collected => 4,
        OutcomeDifferenceKind::Missing => 5,
        OutcomeDifferenceKind::ExitCode => 6,
    }
}

/// Returns true if an exception reports that an internal module could not be imported. Its message
/// is normalised, so that all internal names are equal.
fn imports_internal(failure: &NormalizedException, is_internal: &impl Fn(&str) -> bool) -> bool {
    if !matches!(failure.kind.as_str(), "ImportError" | "ModuleNotFoundError") {
        return false;
    }
    failure.message.contains(tools::INTERNAL)
        || failure
            .message
            .split(['\'', '"', ' ', '(', ')'])
            .any(|word| !word.is_empty() && is_internal(word))
}

/// Returns the first lines in which two texts differ.
fn first_difference<'t>(expected: &'t str, seen: &'t str) -> (&'t str, &'t str) {
    let equal = expected.lines().zip(seen.lines()).take_while(|(one, other)| one == other).count();
    let from = |text: &'t str| {
        text.lines().skip(equal).find(|line| !line.trim().is_empty()).unwrap_or("").trim()
    };
    (from(expected), from(seen))
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim()
}
