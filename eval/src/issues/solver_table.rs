//! The tables over issues by solver: Chain-of-Context's table 1, patches by class, and the lines that are no rows.

use std::collections::BTreeMap;

use super::CorrectLocation;
use crate::{
    json_lines::{MalformedRow, malformed_table},
    report::Table,
    scorers::Effort,
    statistics::mean,
};

/// One issue of one solver.
pub(super) struct SolvedRow<'a> {
    pub solver: &'a str,
    /// Its class, and the place of the class in the table.
    pub class: (usize, String),
    /// True if it counts; a failure of the machine does not.
    pub is_scored: bool,
    /// True if it has what the table counts.
    pub is_good: bool,
    pub location: Option<&'a CorrectLocation>,
    pub effort: Option<&'a Effort>,
}

/// The head of the first table.
pub(super) struct SolverTableHead {
    pub name: &'static str,
    pub title: &'static str,
    /// The head for the number of good rows; with a `%` that for their share.
    pub good: &'static str,
}

/// The tables of all solvers, by name.
pub(super) fn solver_tables(
    rows: &[SolvedRow<'_>],
    head: &SolverTableHead,
    malformed: &[(String, Vec<MalformedRow>)],
) -> Vec<Table> {
    let mut by_solver: BTreeMap<&str, Vec<&SolvedRow<'_>>> = BTreeMap::new();
    for row in rows {
        by_solver.entry(row.solver).or_default().push(row);
    }
    let (mut solvers, mut classes) = (Vec::new(), Vec::new());
    for (solver, rows) in by_solver {
        solvers.push(cells_of(solver, &rows));
        let mut counts: BTreeMap<&(usize, String), usize> = BTreeMap::new();
        for row in rows {
            *counts.entry(&row.class).or_default() += 1;
        }
        let counts = counts.into_iter();
        classes.extend(
            counts.map(|((_, class), count)| {
                vec![solver.to_owned(), class.clone(), count.to_string()]
            }),
        );
    }
    let share = format!("{} %", head.good);
    let heads = [
        "issues",
        head.good,
        &share,
        "correct file %",
        "correct line %",
        "mean $",
        "embedding $",
        "tokens in",
        "tokens out",
        "steps",
    ];
    let mut tables = vec![
        Table::named(head.name, head.title, &["solver"], &heads, solvers),
        Table::named("classes", "Patches by class", &["solver", "class"], &["issues"], classes),
    ];
    tables.extend(Some(malformed_table(malformed)).filter(|table| !table.rows.is_empty()));
    tables
}

/// The cells of a solver: counts and shares of the rows that count, and means of their effort.
fn cells_of(solver: &str, rows: &[&SolvedRow<'_>]) -> Vec<String> {
    let scored: Vec<_> = rows.iter().filter(|row| row.is_scored).collect();
    let found: Vec<_> = scored.iter().filter_map(|row| row.location).collect();
    let share = |of: usize, all: usize| match all {
        0 => "-".to_owned(),
        all => format!("{:.2}", 100.0 * of as f64 / all as f64),
    };
    let average = |of: &dyn Fn(&Effort) -> Option<f64>, digits: usize| {
        let values: Vec<f64> = scored.iter().filter_map(|row| of(row.effort?)).collect();
        mean(&values).map_or_else(|| "-".to_owned(), |mean| format!("{mean:.digits$}"))
    };
    let good = scored.iter().filter(|row| row.is_good).count();
    vec![
        solver.to_owned(),
        scored.len().to_string(),
        good.to_string(),
        share(good, scored.len()),
        share(found.iter().filter(|one| one.file).count(), found.len()),
        share(found.iter().filter(|one| one.line).count(), found.len()),
        average(&|effort| effort.price, 4),
        average(&|effort| effort.embedding_price, 4),
        average(&|effort| Some(effort.tokens_in as f64), 0),
        average(&|effort| Some(effort.tokens_out as f64), 0),
        average(&|effort| Some(effort.steps as f64), 1),
    ]
}
