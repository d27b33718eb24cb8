//! The values that decide a failure. Without them a file that computes something else passes for the same failure, since
//! many exceptions have no message, or the same one for each wrong value.

use crate::{execute::Execution, pattern::Pattern, slice::RunFailure};

/// Values that a failure has to be decided by, but for what varies between two runs.
#[derive(Debug, Default)]
pub(super) struct DecidingValues(Vec<Pattern>);

impl DecidingValues {
    /// Returns the values of a failure in two runs of the same file; none where the runs have different numbers of them.
    pub(super) fn of(failure: &RunFailure<'_>, once: &Execution, again: &Execution) -> Self {
        let (values, others) = (values(once, failure), values(again, failure));
        if values.len() != others.len() {
            return Self::default();
        }
        let pairs = values.iter().zip(others);
        Self(pairs.map(|(one, other)| Pattern::of([one.as_str(), other])).collect())
    }

    /// Returns true if these values decided a failure of a run.
    pub(super) fn match_failure(&self, failure: &RunFailure<'_>, run: &Execution) -> bool {
        let values = values(run, failure);
        let mut pairs = self.0.iter().zip(values);
        self.0.is_empty()
            || self.0.len() == values.len() && pairs.all(|(wanted, value)| wanted.matches(value))
    }
}

/// Returns the values that decided a failure of a run; none where nothing recorded them.
fn values<'a>(run: &'a Execution, failure: &RunFailure<'_>) -> &'a [String] {
    let its = |values: &&crate::execute::DecidedFailure| {
        values.case == failure.case && values.when == failure.when
    };
    run.decided.iter().find(its).map_or(&[][..], |decided| &decided.values)
}
