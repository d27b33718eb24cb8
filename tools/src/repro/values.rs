//! The values that decide a failure. Without them a file that computes something else passes for the same failure, since
//! many exceptions have no message, or the same one for each wrong value.

use crate::pattern::Pattern;

/// Values that a failure has to be decided by, but for what varies between runs. Without any, all values match.
#[derive(Debug, Default)]
pub(super) struct DecidingValues(Vec<Pattern>);

impl DecidingValues {
    /// Returns the values of a run, of which nothing is known to vary.
    pub(super) fn of(values: &[String]) -> Self {
        Self(values.iter().map(|value| Pattern::of([value.as_str()])).collect())
    }

    /// Returns true if no values are known.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares with the values of another run of the same file, and accepts any lines where these differ from now on. A run
    /// with another number of values removes all.
    pub(super) fn widen(&mut self, values: &[String]) {
        if self.0.len() != values.len() {
            self.0.clear();
        }
        for (pattern, value) in self.0.iter_mut().zip(values) {
            *pattern = pattern.merged_with(value);
        }
    }

    /// Returns true if these values match those of a run.
    pub(super) fn match_values(&self, values: &[String]) -> bool {
        let mut pairs = self.0.iter().zip(values);
        self.0.is_empty()
            || self.0.len() == values.len() && pairs.all(|(wanted, value)| wanted.matches(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_run_has_otherwise_may_be_anything() {
        let texts = |all: &[&str]| Vec::from_iter(all.iter().map(ToString::to_string));
        let once = texts(&["at 10:59", "['a', 'b']"]);
        let mut values = DecidingValues::of(&once);
        assert!(values.match_values(&once));
        assert!(!values.match_values(&texts(&["at 11:00", "['a', 'b']"])));
        values.widen(&texts(&["at 11:00", "['a', 'b']"]));
        assert!(values.match_values(&texts(&["at 12:00", "['a', 'b']"])));
        assert!(!values.match_values(&texts(&["at 12:00", "['a']"])));
        // Nothing is known where their number varies.
        values.widen(&texts(&["at 12:00"]));
        assert!(values.is_empty() && values.match_values(&once));
    }
}
