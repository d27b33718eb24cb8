//! Restores dropped statements if a run of the gist misses something and no text names it.
//!
//! It searches the executed statements that no kept code seems to need, nearest to the command
//! first. It adds more of them until a run agrees, then removes as many of these as possible. It
//! executes nothing: each step is a request, and its run decides.

use std::collections::BTreeMap;

use graph::{Place, Plan, Reason, Trace};
use serde::{Deserialize, Serialize};

/// Each step without success tries so many times more.
const GROWTH: usize = 8;

/// The state of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Restore {
    /// The number of restored statements, nearest first; none before the search.
    pub tried: usize,
    /// So many are too few, or one less than that where nothing is known.
    pub too_few: usize,
    /// So many are enough.
    pub enough: Option<usize>,
    /// The further statements that are known to be needed.
    pub needed: Vec<Place>,
    /// True if the search has ended.
    pub over: bool,
}

impl Restore {
    /// Returns true if a search is going on.
    pub fn is_active(&self) -> bool {
        !self.over && (self.tried > 0 || self.enough.is_some())
    }

    /// The first step of a search, if there is anything to bring back.
    pub(crate) fn begun(all: usize) -> Option<Self> {
        (all > 0).then(|| Self { tried: all.min(GROWTH), too_few: 1, ..Self::default() })
    }

    /// The next step, after a run; `None` where the search is over, with the last run that agreed as its result.
    pub(crate) fn next(&self, agrees: bool, order: &[Place]) -> Option<Self> {
        let mut next = self.clone();
        match agrees {
            true => next.enough = Some(self.tried),
            false => next.too_few = self.tried + 1,
        }
        let Some(enough) = next.enough else {
            // None was enough so far.
            next.tried = (self.tried * GROWTH).min(order.len());
            return (self.tried < order.len()).then_some(next);
        };
        if next.too_few < enough {
            next.tried = (next.too_few + enough) / 2;
            return Some(next);
        }
        // The last of them is needed; are those before it?
        let last = enough.checked_sub(1)?;
        next.needed.push(order.get(last)?.clone());
        (next.enough, next.too_few, next.tried) = (Some(last), 0, 0);
        (last > 0).then_some(next)
    }

    /// The end of the search, after the run of its last step, with the statements that it found to be enough.
    pub(crate) fn ended(&self, agrees: bool, order: &[Place]) -> (Self, Vec<Place>) {
        let enough = if agrees { Some(self.tried) } else { self.enough };
        let over = Self { over: true, enough, ..Self::default() };
        let found = order.iter().take(enough.unwrap_or(0)).chain(&self.needed);
        (over, found.cloned().collect())
    }

    /// The statements that this step brings back.
    pub(crate) fn places<'o>(&'o self, order: &'o [Place]) -> impl Iterator<Item = &'o Place> {
        order.iter().take(self.tried).chain(&self.needed)
    }
}

/// The executed statements that a slice leaves out, those of the files that the command names first, then those of the
/// files that these import, and so on.
pub(crate) fn order(plan: &Plan, trace: &Trace, entries: &[&str]) -> Vec<Place> {
    let mut distances: BTreeMap<&str, usize> = BTreeMap::new();
    for file in &trace.files {
        let (mut path, mut distance) = (file.path.as_str(), 0);
        // A file is asked for once, so that no chain is longer than there are files.
        while !entries.contains(&path) && distance <= trace.files.len() {
            let Some(importer) = trace.file(path).and_then(|file| file.importer.as_ref()) else {
                distance += trace.files.len();
                break;
            };
            path = importer.path.as_str();
            distance += 1;
        }
        distances.insert(file.path.as_str(), distance);
    }
    let left_out = plan.dropped.iter().filter(|unit| unit.reason == Reason::Unreferenced);
    let mut places: Vec<&Place> = left_out.map(|unit| &unit.place).collect();
    places.sort_by_key(|place| {
        let distance = distances.get(place.path.as_str()).copied().unwrap_or(usize::MAX);
        (distance, &place.path, place.line)
    });
    places.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches for missing statements, by line, among so many; returns the result, and the number
    /// of runs.
    #[track_caller]
    fn check(all: u32, missing: &[u32], expected: (Option<&[u32]>, usize)) {
        let place = |line| Place { path: "m.py".to_owned(), line };
        let order: Vec<Place> = (1..=all).map(place).collect();
        let (mut found, mut runs) = (None, 0);
        let mut step = Restore::begun(order.len());
        while let Some(now) = step {
            let back: Vec<u32> = now.places(&order).map(|place| place.line).collect();
            let agrees = missing.iter().all(|line| back.contains(line));
            runs += 1;
            if agrees {
                found = Some(back);
            }
            step = now.next(agrees, &order);
        }
        found.iter_mut().for_each(|lines| lines.sort_unstable());
        assert_eq!((found.as_deref(), runs), expected);
    }

    #[test]
    fn the_fewest_statements_come_back_in_few_runs() {
        check(0, &[], (None, 0));
        check(1, &[1], (Some(&[1]), 1));
        check(5, &[3], (Some(&[3]), 4));
        check(100, &[1], (Some(&[1]), 4));
        check(100, &[60], (Some(&[60]), 9));
        check(100, &[2, 5], (Some(&[2, 5]), 8));
        // All of them are too few.
        check(100, &[101], (None, 3));
    }
}
