//! The tables of a summary: which there are, their heads and their cells.
//!
//! Formats only lay them out; no figure is computed here.

use std::{collections::BTreeSet, fmt};

use super::summary::{Comparison, Measure, SuiteRow, Summary, TaskRow};
use crate::statistics::Interval;

/// One table of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableName {
    /// Fidelity, existence and execution with intervals (Gistify, table 1), and how fast.
    Main,
    /// Error categories (table 2), and what was not scored.
    Errors,
    /// Each solver against the first, with intervals.
    Comparison,
    /// The same at a glance: what each way of working adds or takes away (table 3).
    Ablation,
    /// Pass rate and test score (table 6).
    Tests,
    /// Use of tools (table 7).
    Tools,
    /// Fidelity against the length of the trace and the number of files.
    Lengths,
    /// Steps, tokens, price and time.
    Effort,
    /// The main figures on the hard subset.
    Hard,
    /// What went wrong, attempt by attempt.
    Failures,
    /// References that differ from the suite's record.
    Unexpected,
}

impl TableName {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 11] = [
        Self::Main,
        Self::Comparison,
        Self::Ablation,
        Self::Errors,
        Self::Tests,
        Self::Tools,
        Self::Lengths,
        Self::Effort,
        Self::Hard,
        Self::Failures,
        Self::Unexpected,
    ];
    /// Those of interest at the end of a bench.
    pub const BRIEF: [Self; 5] =
        [Self::Main, Self::Comparison, Self::Errors, Self::Failures, Self::Unexpected];

    /// Its name on the command line and in labels.
    pub fn name(self) -> &'static str {
        match self {
            TableName::Main => "main",
            TableName::Errors => "errors",
            TableName::Comparison => "comparison",
            TableName::Ablation => "ablation",
            TableName::Tests => "tests",
            TableName::Tools => "tools",
            TableName::Lengths => "lengths",
            TableName::Effort => "effort",
            TableName::Hard => "hard",
            TableName::Failures => "failures",
            TableName::Unexpected => "unexpected",
        }
    }

    /// What stands above it.
    pub fn title(self) -> &'static str {
        match self {
            TableName::Main => "Main results",
            TableName::Errors => "Errors, and what was not scored",
            TableName::Comparison => "Compared on the same tasks",
            TableName::Ablation => "Ablation (* where p is below 0.05)",
            TableName::Tests => "Pass rate and test score",
            TableName::Tools => "Use of tools",
            TableName::Lengths => "Fidelity by what the command does",
            TableName::Effort => "Effort and cost",
            TableName::Hard => "Hard subset",
            TableName::Failures => "Failures",
            TableName::Unexpected => "References that differ from the suite's record",
        }
    }
}

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// To the left.
    Words,
    /// To the right.
    Figures,
}

impl Align {
    /// Whether it is that of figures.
    pub fn is_figures(self) -> bool {
        self == Align::Figures
    }
}

/// Cells of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Which one.
    pub name: TableName,
    /// Heads of its columns.
    pub heads: Vec<(String, Align)>,
    /// A cell for each head.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    fn new(name: TableName, words: &[&str], figures: &[&str], rows: Vec<Vec<String>>) -> Self {
        let words = words.iter().map(|head| ((*head).to_owned(), Align::Words));
        let figures = figures.iter().map(|head| ((*head).to_owned(), Align::Figures));
        Self { name, heads: words.chain(figures).collect(), rows }
    }

    /// The heads alone.
    pub fn names(&self) -> Vec<String> {
        self.heads.iter().map(|(head, _)| head.clone()).collect()
    }
}

/// The tables of these names that have a row.
pub fn tables(summary: &Summary, names: &[TableName]) -> Vec<Table> {
    let made = names.iter().map(|name| table(summary, *name));
    made.filter(|table| !table.rows.is_empty() || table.name == TableName::Main).collect()
}

fn table(summary: &Summary, name: TableName) -> Table {
    let rows = &summary.suites;
    match name {
        TableName::Main => main(name, rows),
        TableName::Hard => main(name, &summary.hard),
        TableName::Errors => errors(rows),
        TableName::Comparison => comparison(&summary.comparisons),
        TableName::Ablation => ablation(&summary.comparisons),
        TableName::Tests => each(
            name,
            rows,
            &["pass rate", "95%", "test score", "95%", "existence w/o glue"],
            |row| {
                vec![
                    percent(row.pass_rate),
                    interval(row.pass_rate_interval),
                    percent(row.test),
                    interval(row.test_interval),
                    percent(row.existence_without_glue),
                ]
            },
        ),
        TableName::Tools => tools(rows),
        TableName::Effort => each(
            name,
            rows,
            &[
                "attempts",
                "steps",
                "tokens in",
                "cached",
                "tokens out",
                "cost $",
                "writing s",
                "at a limit %",
            ],
            |row| {
                vec![
                    row.attempts.to_string(),
                    number(row.steps, 1),
                    number(row.tokens_in, 0),
                    number(row.tokens_cached, 0),
                    number(row.tokens_out, 0),
                    number(row.price, 2),
                    number(row.writing_seconds, 2),
                    percent(row.limited),
                ]
            },
        ),
        TableName::Lengths => {
            let rows = summary.lengths.iter().map(|row| {
                let range = format!("{} to {}", row.from, row.to);
                let (solver, by) = (row.solver.clone(), row.by.clone());
                let tasks = row.tasks.to_string();
                vec![solver, by, range, tasks, percent(row.fidelity), interval(row.interval)]
            });
            let figures = ["range", "tasks", "fidelity", "95%"];
            Table::new(name, &["solver", "by"], &figures, rows.collect())
        }
        TableName::Failures => {
            let heads = ["suite", "task", "solver", "cause", "evidence"];
            Table::new(name, &heads, &[], attempts(&summary.failures))
        }
        TableName::Unexpected => {
            let heads = ["suite", "task", "solver", "what", "seen, not expected"];
            Table::new(name, &heads, &[], attempts(&summary.unexpected))
        }
    }
}

/// A table with a row for each suite and solver.
fn each(
    name: TableName,
    rows: &[SuiteRow],
    figures: &[&str],
    cells: fn(&SuiteRow) -> Vec<String>,
) -> Table {
    let rows = rows.iter().map(|row| {
        let mut all = vec![row.suite.clone(), row.solver.clone()];
        all.extend(cells(row));
        all
    });
    Table::new(name, &["suite", "solver"], figures, rows.collect())
}

fn main(name: TableName, rows: &[SuiteRow]) -> Table {
    let figures = [
        "tasks",
        "fidelity",
        "95%",
        "Wilson",
        "existence",
        "95%",
        "execution",
        "95%",
        "glue",
        "lines",
        "tokens",
        "% of run",
        "writing s",
        "writing x",
        "slowest x",
        "scoring s",
        "scoring x",
        "slicing cpu s",
    ];
    let rows = rows.iter().map(|row| {
        let mut tasks = row.scored.to_string();
        if row.scored != row.tasks {
            tasks = format!("{} of {}", row.scored, row.tasks);
        }
        let had = match (row.writer.trace, row.writer.execute) {
            (true, true) => "trace, runs",
            (true, false) => "trace",
            (false, true) => "runs",
            (false, false) => "nothing",
        };
        vec![
            row.suite.clone(),
            row.solver.clone(),
            had.to_owned(),
            tasks,
            percent(row.fidelity),
            interval(row.fidelity_interval),
            interval(row.fidelity_wilson),
            percent(row.existence),
            interval(row.existence_interval),
            percent(row.execution),
            interval(row.execution_interval),
            number(row.glue, 1),
            number(row.lines, 0),
            number(row.tokens, 0),
            percent(row.lines_of_executed),
            number(row.writing_seconds, 2),
            number(row.writing_ratio, 1),
            number(row.slowest_ratio, 1),
            number(row.scoring_seconds, 2),
            number(row.scoring_ratio, 1),
            number(row.slicing_cpu_seconds, 3),
        ]
    });
    Table::new(name, &["suite", "solver", "had"], &figures, rows.collect())
}

fn errors(rows: &[SuiteRow]) -> Table {
    let categories: BTreeSet<_> = rows.iter().flat_map(|row| row.causes.keys().copied()).collect();
    let names: Vec<String> = categories.iter().map(ToString::to_string).collect();
    let mut figures = vec!["attempts"];
    figures.extend(names.iter().map(String::as_str));
    figures.extend(["infrastructure", "quarantined", "unfit"]);
    let troubled = |row: &&SuiteRow| {
        !row.causes.is_empty() || row.infrastructure + row.quarantined + row.unfit > 0
    };
    // Where all is well for everybody there is nothing to show.
    let any = rows.iter().any(|row| troubled(&row));
    let rows = rows.iter().filter(|_| any).map(|row| {
        let mut cells = vec![row.suite.clone(), row.solver.clone(), row.attempts.to_string()];
        let count = |category| row.causes.get(category).copied().unwrap_or(0).to_string();
        cells.extend(categories.iter().map(count));
        cells.extend([row.infrastructure, row.quarantined, row.unfit].map(|n| n.to_string()));
        cells
    });
    Table::new(TableName::Errors, &["suite", "solver"], &figures, rows.collect())
}

fn comparison(rows: &[Comparison]) -> Table {
    let rows = rows.iter().map(|row| {
        let paired = &row.paired;
        let rate = row.measure.is_rate();
        let value = |value: f64| match (rate, row.measure) {
            (true, _) => percent(Some(value)),
            (false, Measure::Seconds) => number(Some(value), 2),
            (false, _) => number(Some(value), 0),
        };
        vec![
            row.second.clone(),
            row.first.clone(),
            row.measure.name().to_owned(),
            paired.tasks.to_string(),
            value(paired.second),
            value(paired.first),
            signed(value(paired.difference)),
            format!("{} to {}", value(paired.interval.low), value(paired.interval.high)),
            format!("{:.4}", paired.p),
            row.better.to_string(),
            row.worse.to_string(),
        ]
    });
    let figures = ["tasks", "mean", "of the other", "difference", "95%", "p", "better", "worse"];
    let words = ["solver", "against", "measure"];
    Table::new(TableName::Comparison, &words, &figures, rows.collect())
}

/// A row for the solver that all are compared with, and one for each other.
fn ablation(rows: &[Comparison]) -> Table {
    let by_solver: Vec<&[Comparison]> = rows.chunk_by(|a, b| a.second == b.second).collect();
    let measures = [Measure::Fidelity, Measure::Existence, Measure::Execution, Measure::Test];
    let of = |rows: &[Comparison], cells: &dyn Fn(&Comparison) -> [String; 2]| {
        let found = |measure| rows.iter().find(|row| row.measure == measure);
        let cells = |measure| found(measure).map_or(["-".to_owned(), "-".to_owned()], cells);
        measures.into_iter().flat_map(cells).collect::<Vec<_>>()
    };
    let tasks = |rows: &[Comparison]| {
        rows.iter().map(|row| row.paired.tasks).max().unwrap_or(0).to_string()
    };
    let mut made = Vec::new();
    if let Some((rows, first)) = by_solver.first().and_then(|rows| Some((*rows, rows.first()?))) {
        let mut cells = vec![first.first.clone(), tasks(rows)];
        cells.extend(of(rows, &|row| [percent(Some(row.paired.first)), "-".to_owned()]));
        made.push(cells);
    }
    for rows in by_solver {
        let mut cells = vec![rows[0].second.clone(), tasks(rows)];
        cells.extend(of(rows, &|row| {
            let star = if row.paired.p < 0.05 { "*" } else { "" };
            let difference = signed(percent(Some(row.paired.difference)));
            [percent(Some(row.paired.second)), difference + star]
        }));
        made.push(cells);
    }
    let names = measures.map(Measure::name);
    let mut figures = vec!["tasks"];
    figures.extend(names.into_iter().flat_map(|name| [name, "difference"]));
    Table::new(TableName::Ablation, &["solver"], &figures, made)
}

fn tools(rows: &[SuiteRow]) -> Table {
    let groups: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.calls.keys().map(String::as_str)).collect();
    let heads: Vec<String> = groups.iter().map(|group| format!("{group} %")).collect();
    let mut figures = vec!["calls an attempt"];
    figures.extend(heads.iter().map(String::as_str));
    figures.push("at a limit %");
    let rows = rows.iter().filter(|row| !row.calls.is_empty()).map(|row| {
        let all: u64 = row.calls.values().sum();
        let tried = row.attempts - row.quarantined - row.unfit - row.infrastructure;
        let mean = (tried > 0).then(|| all as f64 / tried as f64);
        let mut cells = vec![row.suite.clone(), row.solver.clone(), number(mean, 1)];
        let share = |group: &&str| {
            let own = row.calls.get(*group).copied().unwrap_or(0);
            percent((all > 0).then(|| own as f64 / all as f64))
        };
        cells.extend(groups.iter().map(share));
        cells.push(percent(row.limited));
        cells
    });
    Table::new(TableName::Tools, &["suite", "solver"], &figures, rows.collect())
}

fn attempts(rows: &[TaskRow]) -> Vec<Vec<String>> {
    let cells = |row: &TaskRow| {
        let TaskRow { suite, task, solver, what, evidence } = row.clone();
        vec![suite, task, solver, what, evidence]
    };
    rows.iter().map(cells).collect()
}

fn percent(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{:.1}", value * 100.0))
}

/// A difference, with its sign.
fn signed(shown: String) -> String {
    if shown.starts_with('-') { shown } else { format!("+{shown}") }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

fn interval(interval: Option<Interval>) -> String {
    interval.map_or("-".to_owned(), |Interval { low, high }| {
        format!("{:.1} to {:.1}", low * 100.0, high * 100.0)
    })
}

impl fmt::Display for crate::task::Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, skipped, failed, xfailed } = self;
        write!(f, "{passed} passed, {skipped} skipped, {failed} failed, {xfailed} xfailed")
    }
}
