//! The values that decide a failure. Without them a file that computes something else passes for the same failure, since
//! many exceptions have no message, or the same one for each wrong value.

use crate::{execute::Execution, pattern::Pattern, slice::failures};

/// Values that a failure has to be decided by, but for what varies between two runs.
#[derive(Debug, Default)]
pub(super) struct DecidingValues(Vec<Pattern>);

impl DecidingValues {
    /// The values of the first failure of two runs of the same file.
    pub(super) fn of(once: &Execution, again: &Execution) -> Self {
        let first = |run| values(run).next().unwrap_or_default();
        let (values, others) = (first(once), first(again));
        let others = others.iter().map(|(_, value)| value.as_str()).chain(std::iter::repeat(""));
        let pairs = values.iter().zip(others);
        Self(pairs.map(|((_, one), other)| Pattern::of([one.as_str(), other])).collect())
    }

    /// Returns true if a run has none: then nothing is to be compared.
    pub(super) fn are_none(run: &Execution) -> bool {
        values(run).next().is_none_or(<[_]>::is_empty)
    }

    /// Returns true if these values decided a failure of a run.
    pub(super) fn match_a_failure(&self, run: &Execution) -> bool {
        let fits = |found: &[(String, String)]| {
            let mut pairs = self.0.iter().zip(found);
            self.0.len() == found.len() && pairs.all(|(wanted, (_, value))| wanted.matches(value))
        };
        self.0.is_empty() || values(run).any(fits)
    }
}

/// Returns the values of each failure of a run.
fn values(run: &Execution) -> impl Iterator<Item = &[(String, String)]> {
    let failures = failures(run).into_iter().map(|failure| failure.case.to_owned());
    failures.map(|case| {
        let found = run.decided.iter().find(|decided| decided.case == case);
        found.map_or(&[][..], |decided| &decided.values)
    })
}
