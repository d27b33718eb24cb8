//! Medals of machine learning competitions (RepoMaster, MLE-R; the rules are those of MLE-bench): thresholds, the
//! grade of a score, and the seven shares of a solver.
//!
//! It compares numbers. How a score was computed from a submission is not known here.

mod competition;
mod grade;
mod result_row;
#[cfg(test)]
mod tests;

pub use competition::{BetterScore, Competition, Competitions, MedalError};
pub use grade::{Grade, Medal, MedalShares, medal_shares, medal_tables};
pub use result_row::{CompetitionRow, read_competition_rows};
