//! The tables of a summary: which there are, their heads and their cells.
//!
//! Formats only lay them out; no figure is computed here.

use std::{collections::BTreeSet, fmt};

use super::summary::{Comparison, Correlation, Figure, SECONDS, SuiteRow, Summary, TaskRow};
use crate::{
    scorers::{
        FormulaSource, MEASURES, Measure, MeasureTable, MeasureUnit, PaperCategory, PaperFidelity,
        Scorer, StrictFidelity,
    },
    statistics::Interval,
};

/// One table of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableName {
    /// Fidelity, existence and execution with intervals (Gistify, table 1), and how fast.
    Main,
    /// The same without execution and with it, side by side (table 1).
    Settings,
    /// Error categories (table 2), and what was not scored.
    Errors,
    /// Each solver against the first, with intervals.
    Comparison,
    /// The same at a glance: what each way of working adds or takes away (table 3).
    Ablation,
    /// Pass rate and test score (table 6).
    Tests,
    /// The measures of this project, beside those of the paper.
    Ours,
    /// Changes to tests (B.4).
    Changes,
    /// Test score against fidelity (3.4).
    Correlation,
    /// Use of tools (table 7).
    Tools,
    /// Fidelity against the length of the trace and the number of files.
    Lengths,
    /// Steps, tokens, price and time.
    Effort,
    /// The main figures on the hard subset.
    Hard,
    /// The failures, attempt by attempt.
    Failures,
    /// References that differ from the suite's record.
    Unexpected,
}

impl TableName {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 15] = [
        Self::Main,
        Self::Settings,
        Self::Comparison,
        Self::Ablation,
        Self::Errors,
        Self::Tests,
        Self::Ours,
        Self::Changes,
        Self::Correlation,
        Self::Tools,
        Self::Lengths,
        Self::Effort,
        Self::Hard,
        Self::Failures,
        Self::Unexpected,
    ];
    /// The tables that a bench prints at its end.
    pub const BRIEF: [Self; 6] =
        [Self::Main, Self::Ours, Self::Comparison, Self::Errors, Self::Failures, Self::Unexpected];

    /// Its name on the command line and in labels.
    pub fn name(self) -> &'static str {
        match self {
            TableName::Main => "main",
            TableName::Settings => "settings",
            TableName::Errors => "errors",
            TableName::Comparison => "comparison",
            TableName::Ablation => "ablation",
            TableName::Tests => "tests",
            TableName::Ours => "ours",
            TableName::Changes => "changes",
            TableName::Correlation => "correlation",
            TableName::Tools => "tools",
            TableName::Lengths => "lengths",
            TableName::Effort => "effort",
            TableName::Hard => "hard",
            TableName::Failures => "failures",
            TableName::Unexpected => "unexpected",
        }
    }

    /// Returns the title.
    pub fn title(self) -> &'static str {
        match self {
            TableName::Main => "Main results",
            TableName::Settings => "Without execution and with it",
            TableName::Errors => "Errors: % (attempts) by the paper's categories, then ours",
            TableName::Comparison => "Compared on the same tasks",
            TableName::Ablation => "Ablation (* where p is below 0.05)",
            TableName::Tests => "Pass rate and test score",
            TableName::Ours => "Measures of gistify",
            TableName::Changes => "Changes to tests: % (attempts)",
            TableName::Correlation => "Test score against fidelity",
            TableName::Tools => "Use of tools",
            TableName::Lengths => "Fidelity by what the command does",
            TableName::Effort => "Effort and cost",
            TableName::Hard => "Hard subset",
            TableName::Failures => "Failures",
            TableName::Unexpected => "References that differ from the suite's record",
        }
    }
}

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// To the left.
    Words,
    /// To the right.
    Figures,
}

impl Align {
    /// Returns true for a column of figures.
    pub fn is_figures(self) -> bool {
        self == Align::Figures
    }
}

/// Cells of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name in labels and files.
    pub name: &'static str,
    /// The line above it.
    pub title: &'static str,
    /// Heads of its columns.
    pub heads: Vec<(String, Align)>,
    /// A cell for each head.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    fn new(name: TableName, words: &[&str], figures: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self::named(name.name(), name.title(), words, figures, rows)
    }

    /// A table of columns of words, then of figures.
    pub fn named(
        name: &'static str,
        title: &'static str,
        words: &[&str],
        figures: &[&str],
        rows: Vec<Vec<String>>,
    ) -> Self {
        let words = words.iter().map(|head| ((*head).to_owned(), Align::Words));
        let figures = figures.iter().map(|head| ((*head).to_owned(), Align::Figures));
        Self { name, title, heads: words.chain(figures).collect(), rows }
    }

    /// The heads alone.
    pub fn names(&self) -> Vec<String> {
        self.heads.iter().map(|(head, _)| head.clone()).collect()
    }
}

/// The tables of these names that have a row.
pub fn tables(summary: &Summary, names: &[TableName]) -> Vec<Table> {
    let made = names.iter().map(|name| table(summary, *name));
    made.filter(|table| !table.rows.is_empty() || table.name == TableName::Main.name()).collect()
}

fn table(summary: &Summary, name: TableName) -> Table {
    let rows = &summary.suites;
    match name {
        TableName::Main => main(name, rows),
        TableName::Settings => settings(rows),
        TableName::Hard => hard(&summary.hard),
        TableName::Errors => errors(rows),
        TableName::Comparison => comparison(&summary.comparisons),
        TableName::Ablation => ablation(&summary.comparisons, rows),
        TableName::Tests => measured(name, rows, |measure| {
            let of_paper = ["execution_fidelity_paper", "test_score"];
            measure.shown == MeasureTable::Tests || of_paper.contains(&measure.name)
        }),
        TableName::Ours => measured(name, rows, |measure| measure.shown == MeasureTable::Ours),
        TableName::Changes => changes(rows),
        TableName::Correlation => correlation(&summary.correlations),
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
                "max steps %",
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
                    percent(row.out_of_steps),
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

/// Columns of a measure: its value, and its intervals where it has them.
fn columns(measure: &Measure) -> Vec<&'static str> {
    match measure.unit {
        MeasureUnit::Success => vec![measure.label, "95%", "Wilson"],
        MeasureUnit::Share | MeasureUnit::Fault => vec![measure.label, "95%"],
        MeasureUnit::Count | MeasureUnit::Ratio => vec![measure.label],
    }
}

fn figures(row: &SuiteRow, measure: &Measure) -> Vec<String> {
    let figure = row.scores.get(measure.name);
    let value = figure.map(|figure| figure.value);
    let between = interval(figure.and_then(|figure| figure.interval));
    match measure.unit {
        MeasureUnit::Success => {
            vec![percent(value), between, interval(figure.and_then(|figure| figure.wilson))]
        }
        MeasureUnit::Share | MeasureUnit::Fault => vec![percent(value), between],
        MeasureUnit::Count => vec![number(value, 0)],
        MeasureUnit::Ratio => vec![percent(value)],
    }
}

/// A table of measures, with a row for each suite and solver.
fn measured(name: TableName, rows: &[SuiteRow], shown: fn(&Measure) -> bool) -> Table {
    let measures: Vec<&Measure> = MEASURES.iter().filter(|measure| shown(measure)).collect();
    let heads: Vec<&str> = measures.iter().flat_map(|measure| columns(measure)).collect();
    let rows = rows.iter().map(|row| {
        let cells = measures.iter().flat_map(|measure| figures(row, measure));
        [row.suite.clone(), row.solver.clone()].into_iter().chain(cells).collect()
    });
    Table::new(name, &["suite", "solver"], &heads, rows.collect())
}

fn main(name: TableName, rows: &[SuiteRow]) -> Table {
    let measures: Vec<&Measure> =
        MEASURES.iter().filter(|measure| measure.shown == MeasureTable::Main).collect();
    let mut heads = vec!["tasks"];
    heads.extend(measures.iter().flat_map(|measure| columns(measure)));
    heads.extend([
        "writing s",
        "writing x",
        "slowest x",
        "scoring s",
        "scoring x",
        "slicing cpu s",
    ]);
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
        let mut cells = vec![row.suite.clone(), row.solver.clone(), had.to_owned(), tasks];
        cells.extend(measures.iter().flat_map(|measure| figures(row, measure)));
        cells.extend([
            number(row.writing_seconds, 2),
            number(row.writing_ratio, 1),
            number(row.slowest_ratio, 1),
            number(row.scoring_seconds, 2),
            number(row.scoring_ratio, 1),
            number(row.slicing_cpu_seconds, 3),
        ]);
        cells
    });
    Table::new(name, &["suite", "solver", "had"], &heads, rows.collect())
}

/// The ending of a scaffold's name that says that it executes; the same without it does not.
const EXECUTION: &str = "-execution";

/// The rows of a solver without execution beside those of the same with it, on the same suite.
fn pairs(rows: &[SuiteRow]) -> Vec<(&SuiteRow, &SuiteRow)> {
    let with_execution = |solver: &str| match solver.split_once(' ') {
        Some((scaffold, model)) => format!("{scaffold}{EXECUTION} {model}"),
        None => format!("{solver}{EXECUTION}"),
    };
    let pairs = rows.iter().filter_map(|row| {
        let name = with_execution(&row.solver);
        let other = rows.iter().find(|other| other.suite == row.suite && other.solver == name)?;
        Some((row, other))
    });
    pairs.collect()
}

/// A row for each solver that is there without execution and with it.
fn settings(rows: &[SuiteRow]) -> Table {
    let measures: Vec<&Measure> =
        MEASURES.iter().filter(|measure| measure.shown == MeasureTable::Main).collect();
    let heads: Vec<String> = measures
        .iter()
        .flat_map(|measure| ["without", "with"].map(|how| format!("{} {how}", measure.label)))
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let rows = pairs(rows).into_iter().map(|(without, with)| {
        let cells = measures.iter().flat_map(|measure| {
            [without, with].map(|row| figures(row, measure).into_iter().next().unwrap_or_default())
        });
        [without.suite.clone(), without.solver.clone()].into_iter().chain(cells).collect()
    });
    Table::new(TableName::Settings, &["suite", "solver"], &heads, rows.collect())
}

/// The main figures of the hard subset, behind the fidelities that its suites have as a whole.
fn hard(rows: &[SuiteRow]) -> Table {
    let mut table = main(TableName::Hard, rows);
    for (name, values) in
        [("baseline (strict)", StrictFidelity::NAME), ("baseline (paper)", PaperFidelity::NAME)]
    {
        table.heads.insert(4, (name.to_owned(), Align::Figures));
        for (cells, row) in table.rows.iter_mut().zip(rows) {
            cells.insert(4, percent(row.baseline.get(values).copied()));
        }
    }
    table
}

fn changes(rows: &[SuiteRow]) -> Table {
    let measures = MEASURES.iter().filter(|measure| measure.shown == MeasureTable::Changes);
    let measures: Vec<&Measure> = measures.collect();
    let heads: Vec<&str> = measures.iter().map(|measure| measure.label).collect();
    let figure = |row: &SuiteRow, measure: &Measure| row.scores.get(measure.name).copied();
    let any = |row: &&SuiteRow| {
        measures.iter().any(|measure| figure(row, measure).is_some_and(|it| it.value > 0.0))
    };
    // Where nobody changes a test there is nothing to show.
    let shown = rows.iter().any(|row| any(&row));
    let rows = rows.iter().filter(|_| shown).map(|row| {
        let cells = measures.iter().map(|measure| {
            figure(row, measure).map_or("-".to_owned(), |Figure { value, tasks, .. }| {
                counted(value, (value * tasks as f64).round() as u64)
            })
        });
        [row.suite.clone(), row.solver.clone()].into_iter().chain(cells).collect()
    });
    Table::new(TableName::Changes, &["suite", "solver"], &heads, rows.collect())
}

fn correlation(rows: &[Correlation]) -> Table {
    let coefficient = |value: Option<f64>| number(value, 2);
    let rows = rows.iter().map(|row| {
        vec![
            row.solver.clone(),
            label(&row.measure).to_owned(),
            row.tasks.to_string(),
            coefficient(row.pearson),
            number(row.pearson_p, 4),
            coefficient(row.spearman),
            number(row.spearman_p, 4),
        ]
    });
    let heads = ["tasks", "Pearson", "p", "Spearman", "p"];
    Table::new(TableName::Correlation, &["solver", "test score and"], &heads, rows.collect())
}

fn errors(rows: &[SuiteRow]) -> Table {
    let categories: BTreeSet<_> = rows.iter().flat_map(|row| row.causes.keys().copied()).collect();
    let of_paper = PaperCategory::ALL.map(|category| category.to_string());
    let names: Vec<String> = categories.iter().map(ToString::to_string).collect();
    let mut heads = vec!["attempts"];
    heads.extend(of_paper.iter().map(String::as_str));
    heads.extend(names.iter().map(String::as_str));
    heads.extend(["infrastructure", "quarantined", "unfit"]);
    let troubled = |row: &&SuiteRow| {
        !row.causes.is_empty() || row.infrastructure + row.quarantined + row.unfit > 0
    };
    // Where all is well for everybody there is nothing to show.
    let any = rows.iter().any(|row| troubled(&row));
    let rows = rows.iter().filter(|_| any).map(|row| {
        let mut cells = vec![row.suite.clone(), row.solver.clone(), row.attempts.to_string()];
        let all: u64 = row.paper_causes.values().sum();
        cells.extend(PaperCategory::ALL.iter().map(|category| {
            let count = row.paper_causes.get(category).copied().unwrap_or(0);
            if all == 0 { "-".to_owned() } else { counted(count as f64 / all as f64, count) }
        }));
        let count = |category| row.causes.get(category).copied().unwrap_or(0).to_string();
        cells.extend(categories.iter().map(count));
        cells.extend([row.infrastructure, row.quarantined, row.unfit].map(|n| n.to_string()));
        cells
    });
    Table::new(TableName::Errors, &["suite", "solver"], &heads, rows.collect())
}

fn comparison(rows: &[Comparison]) -> Table {
    let rows = rows.iter().map(|row| {
        let paired = &row.paired;
        let value = |value: f64| match Measure::named(&row.measure) {
            Some(measure) if measure.unit.is_rate() => percent(Some(value)),
            None if row.measure == SECONDS => number(Some(value), 2),
            Some(_) | None => number(Some(value), 0),
        };
        vec![
            row.second.clone(),
            row.first.clone(),
            label(&row.measure).to_owned(),
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

/// A row for the solver that all are compared with, and one for each other, in the paper's measures.
fn ablation(rows: &[Comparison], suites: &[SuiteRow]) -> Table {
    let by_solver: Vec<&[Comparison]> = rows.chunk_by(|a, b| a.second == b.second).collect();
    let measures: Vec<&Measure> = MEASURES
        .iter()
        .filter(|one| {
            one.shown == MeasureTable::Main && matches!(one.source, FormulaSource::Paper(_))
        })
        .collect();
    let of = |rows: &[Comparison], cells: &dyn Fn(&Comparison) -> [String; 2]| {
        let found = |measure: &&Measure| rows.iter().find(|row| row.measure == measure.name);
        let cells = |measure| found(measure).map_or(["-".to_owned(), "-".to_owned()], cells);
        measures.iter().flat_map(cells).collect::<Vec<_>>()
    };
    let tasks = |rows: &[Comparison]| {
        rows.iter().map(|row| row.paired.tasks).max().unwrap_or(0).to_string()
    };
    // The row over all suites comes last.
    let steps = |solver: &str| {
        let row = suites.iter().rev().find(|row| row.solver == solver);
        percent(row.and_then(|row| row.out_of_steps))
    };
    let mut made = Vec::new();
    if let Some((rows, first)) = by_solver.first().and_then(|rows| Some((*rows, rows.first()?))) {
        let mut cells = vec![first.first.clone(), tasks(rows)];
        cells.extend(of(rows, &|row| [percent(Some(row.paired.first)), "-".to_owned()]));
        cells.push(steps(&first.first));
        made.push(cells);
    }
    for rows in by_solver {
        let mut cells = vec![rows[0].second.clone(), tasks(rows)];
        cells.extend(of(rows, &|row| {
            let star = if row.paired.p < 0.05 { "*" } else { "" };
            let difference = signed(percent(Some(row.paired.difference)));
            [percent(Some(row.paired.second)), difference + star]
        }));
        cells.push(steps(&rows[0].second));
        made.push(cells);
    }
    let mut figures = vec!["tasks"];
    figures.extend(measures.iter().flat_map(|measure| [measure.label, "difference"]));
    figures.push("max steps %");
    Table::new(TableName::Ablation, &["solver"], &figures, made)
}

fn tools(rows: &[SuiteRow]) -> Table {
    let groups: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.calls.keys().map(String::as_str)).collect();
    let heads: Vec<String> = groups.iter().map(|group| format!("{group} %")).collect();
    let mut figures = vec!["calls an attempt"];
    figures.extend(heads.iter().map(String::as_str));
    figures.push("at a limit %");
    // The mean of the figures of some rows, each of them known.
    let mean = |rows: &[&SuiteRow], figure: &dyn Fn(&SuiteRow) -> Option<f64>| {
        let found: Option<Vec<f64>> = rows.iter().map(|row| figure(row)).collect();
        found.map(|found| found.iter().sum::<f64>() / found.len() as f64)
    };
    let all = |row: &SuiteRow| row.calls.values().sum::<u64>();
    let cells = |solver: String, rows: &[&SuiteRow]| {
        let of_attempt = |row: &SuiteRow| {
            let tried = row.attempts - row.quarantined - row.unfit - row.infrastructure;
            (tried > 0).then(|| all(row) as f64 / tried as f64)
        };
        let mut cells = vec![rows[0].suite.clone(), solver, number(mean(rows, &of_attempt), 1)];
        cells.extend(groups.iter().map(|group| {
            percent(mean(rows, &|row| {
                let own = row.calls.get(*group).copied().unwrap_or(0);
                (all(row) > 0).then(|| own as f64 / all(row) as f64)
            }))
        }));
        cells.push(percent(mean(rows, &|row| row.limited)));
        cells
    };
    let called = |row: &&SuiteRow| !row.calls.is_empty();
    let single = rows.iter().filter(called).map(|row| cells(row.solver.clone(), &[row]));
    // The paper's table has the means over both settings.
    let both = pairs(rows).into_iter().filter(|(without, with)| called(without) && called(with));
    let both = both.map(|(without, with)| {
        cells(format!("{} (both settings)", without.solver), &[without, with])
    });
    Table::new(TableName::Tools, &["suite", "solver"], &figures, single.chain(both).collect())
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

/// A share and the number that it comes from, as the paper's table 2 has them: `32.5 (13)`.
fn counted(share: f64, count: u64) -> String {
    format!("{} ({count})", percent(Some(share)))
}

/// The head of a measure, or the name of an effort.
fn label(name: &str) -> &str {
    Measure::named(name).map_or(name, |measure| measure.label)
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
