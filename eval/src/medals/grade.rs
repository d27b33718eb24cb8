//! Grades one competition result, and computes for each solver the percentage of competitions with each grade.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    competition::{Competition, Competitions},
    result_row::CompetitionRow,
};
use crate::report::Table;

/// A medal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Medal {
    /// The score reaches the bronze threshold.
    Bronze,
    /// The score reaches the silver threshold.
    Silver,
    /// The score reaches the gold threshold.
    Gold,
}

/// The grade of one result. A medal excludes the lesser ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Grade {
    /// There is a submission.
    pub made: bool,
    /// It is valid.
    pub valid: bool,
    /// Its score is strictly better than the competition's median (lower, where lower is better).
    pub above_median: bool,
    /// Its medal.
    pub medal: Option<Medal>,
}

/// The shares of a solver's grades over all competitions of a set, in percent (RepoMaster, table 1). A competition
/// without a result counts as one without a submission.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MedalShares {
    /// Submissions.
    pub made: f64,
    /// Valid submissions.
    pub valid: f64,
    /// Scores above the median.
    pub above_median: f64,
    /// Bronze medals.
    pub bronze: f64,
    /// Silver medals.
    pub silver: f64,
    /// Gold medals.
    pub gold: f64,
    /// Medals.
    pub any_medal: f64,
    /// Mean tokens of a result, over those that are known (RepoMaster, table 4).
    pub tokens: Option<f64>,
}

impl Competition {
    /// Grades a result. A medal needs a score equal to its threshold or better; `above_median` needs a strictly better one.
    /// An invalid result has neither.
    pub fn grade(&self, row: &CompetitionRow) -> Grade {
        let Some(score) = row.score.filter(|_| row.valid) else {
            return Grade { made: row.is_made(), valid: row.valid, ..Grade::default() };
        };
        let medals =
            [(Medal::Gold, self.gold), (Medal::Silver, self.silver), (Medal::Bronze, self.bronze)];
        let medal = medals.into_iter().find(|(_, least)| self.better.reaches(score, *least));
        Grade {
            made: true,
            valid: true,
            above_median: self.better.exceeds(score, self.median),
            medal: medal.map(|(medal, _)| medal),
        }
    }
}

/// The shares of each solver, by its name.
pub fn medal_shares(
    competitions: &Competitions,
    rows: &[CompetitionRow],
) -> BTreeMap<String, MedalShares> {
    let mut grades: BTreeMap<String, (Vec<Grade>, Vec<u64>)> = BTreeMap::new();
    for (row, competition) in graded(competitions, rows) {
        let (grades, tokens) = grades.entry(row.solver.clone()).or_default();
        grades.push(competition.grade(row));
        tokens.extend(row.tokens);
    }
    let shares = |(grades, tokens): (Vec<Grade>, Vec<u64>)| {
        let share = |is: &dyn Fn(&Grade) -> bool| {
            100.0 * grades.iter().filter(|grade| is(grade)).count() as f64
                / competitions.all.len() as f64
        };
        let medal = |medal: Medal| share(&|grade| grade.medal == Some(medal));
        MedalShares {
            made: share(&|grade| grade.made),
            valid: share(&|grade| grade.valid),
            above_median: share(&|grade| grade.above_median),
            bronze: medal(Medal::Bronze),
            silver: medal(Medal::Silver),
            gold: medal(Medal::Gold),
            any_medal: share(&|grade| grade.medal.is_some()),
            tokens: (!tokens.is_empty())
                .then(|| tokens.iter().sum::<u64>() as f64 / tokens.len() as f64),
        }
    };
    grades.into_iter().map(|(solver, grades)| (solver, shares(grades))).collect()
}

/// The table of shares by solver, and that of single results.
pub fn medal_tables(competitions: &Competitions, rows: &[CompetitionRow]) -> Vec<Table> {
    let share = |share: f64| format!("{share:.2}");
    let shares = medal_shares(competitions, rows);
    // Results without tokens have no such column.
    let has_tokens = shares.values().any(|shares| shares.tokens.is_some());
    let shares = shares.into_iter().map(|(solver, shares)| {
        let MedalShares { made, valid, above_median, bronze, silver, gold, any_medal, tokens } =
            shares;
        let figures = [made, valid, above_median, bronze, silver, gold, any_medal].map(share);
        let tokens = tokens.map_or_else(|| "-".to_owned(), |tokens| format!("{tokens:.0}"));
        [solver].into_iter().chain(figures).chain(has_tokens.then_some(tokens)).collect()
    });
    let mut heads = vec!["made", "valid", "above median", "bronze", "silver", "gold", "any medal"];
    heads.extend(has_tokens.then_some("tokens"));
    let single = graded(competitions, rows).map(|(row, competition)| {
        let Grade { made, valid, above_median, medal } = competition.grade(row);
        let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
        let medal = match medal {
            Some(Medal::Gold) => "gold",
            Some(Medal::Silver) => "silver",
            Some(Medal::Bronze) => "bronze",
            None => "-",
        };
        let score = row.score.map_or_else(|| "-".to_owned(), |score| score.to_string());
        let name = row.competition.clone();
        vec![
            row.solver.clone(),
            name,
            medal.to_owned(),
            yes(made),
            yes(valid),
            yes(above_median),
            score,
        ]
    });
    vec![
        Table::named(
            "medals",
            "Shares of all competitions, in percent (RepoMaster, table 1)",
            &["solver"],
            &heads,
            shares.collect(),
        ),
        Table::named(
            "competitions",
            "Results on single competitions",
            &["solver", "competition", "medal", "made", "valid", "above median"],
            &["score"],
            single.collect(),
        ),
    ]
}

fn graded<'a>(
    competitions: &'a Competitions,
    rows: &'a [CompetitionRow],
) -> impl Iterator<Item = (&'a CompetitionRow, &'a Competition)> {
    rows.iter().filter_map(|row| Some((row, competitions.find(&row.competition)?)))
}
