//! Summarises results: figures of each suite and solver, and comparisons of solvers on the same
//! tasks.
//!
//! A solver's attempts at one task count as one value, their mean: tasks are the sample. Nothing
//! here reads a file.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    evaluate::WriterAbilities,
    row::{AttemptStanding, Row},
    scorers::{
        Category, MEASURES, Measure, MeasureTable, MeasureUnit, PaperCategory, PaperFidelity,
        Scorer, StrictFidelity, TestScore,
    },
    statistics::{
        Interval, Paired, bootstrap, mean, median, paired, pearson, permuted, ranks, wilson,
    },
};

/// The summary of a set of results.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// One row a suite and solver, then all suites of each solver where there are several.
    pub suites: Vec<SuiteRow>,
    /// The same for the tasks that are hardest: at most 30 by calls and 30 by files.
    pub hard: Vec<SuiteRow>,
    /// Fidelity by how much the command does.
    pub lengths: Vec<LengthRow>,
    /// Test score against fidelity (Gistify, section 3.4), by solver.
    pub correlations: Vec<Correlation>,
    /// Each solver against the first, on the tasks that both have scores for.
    pub comparisons: Vec<Comparison>,
    /// Every attempt without full fidelity, and every one that was not scored.
    pub failures: Vec<TaskRow>,
    /// Tasks whose reference differs from what the suite's author saw.
    pub unexpected: Vec<TaskRow>,
}

/// Figures of one solver on one suite.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteRow {
    /// The suite's name.
    pub suite: String,
    /// The solver's.
    pub solver: String,
    /// The abilities of the writer.
    pub writer: WriterAbilities,
    /// Tasks with a result.
    pub tasks: u64,
    /// Attempts with a result.
    pub attempts: u64,
    /// Tasks with a score.
    pub scored: u64,
    /// Attempts at tasks that are set aside by their reference runs.
    pub quarantined: u64,
    /// Attempts at tasks that cannot tell the original from an empty gist.
    pub unfit: u64,
    /// Attempts that failed for reasons besides the gist.
    pub infrastructure: u64,
    /// Every measure that has a value, by name.
    pub scores: BTreeMap<String, Figure>,
    /// In the hard subset: fidelities over all tasks, weighted as the subset is distributed over suites (Gistify,
    /// section 4.2).
    pub baseline: BTreeMap<String, f64>,
    /// Median seconds from start to submission.
    pub writing_seconds: Option<f64>,
    /// Median of these seconds by the plain command's.
    pub writing_ratio: Option<f64>,
    /// Largest of these ratios.
    pub slowest_ratio: Option<f64>,
    /// Median seconds of scoring, references excluded.
    pub scoring_seconds: Option<f64>,
    /// Median of these seconds by the plain command's.
    pub scoring_ratio: Option<f64>,
    /// Largest CPU seconds of slicing alone, where attempts say.
    pub slicing_cpu_seconds: Option<f64>,
    /// Mean steps.
    pub steps: Option<f64>,
    /// Mean tokens read.
    pub tokens_in: Option<f64>,
    /// Mean tokens written.
    pub tokens_out: Option<f64>,
    /// Mean tokens read from a cache.
    pub tokens_cached: Option<f64>,
    /// Price of all attempts in US dollars, where that of each is known.
    pub price: Option<f64>,
    /// Tool calls of all attempts by group.
    pub calls: BTreeMap<String, u64>,
    /// Share of attempts that met a limit.
    pub limited: Option<f64>,
    /// Share of attempts that met the limit on steps (Gistify, table 3).
    pub out_of_steps: Option<f64>,
    /// Attempts by error category.
    pub causes: BTreeMap<Category, u64>,
    /// Attempts that fail as the paper counts, by its categories (Gistify, table 2).
    pub paper_causes: BTreeMap<PaperCategory, u64>,
}

/// One measure over the tasks of a solver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The mean of a rate, the median of anything else.
    pub value: f64,
    /// Tasks with a value.
    pub tasks: u64,
    /// Bootstrap interval of a mean.
    pub interval: Option<Interval>,
    /// Score interval of a success rate, which has a width also where all are equal.
    pub wilson: Option<Interval>,
}

/// Test score against fidelity over the tasks of a solver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Correlation {
    /// The solver; `all` for all attempts of several.
    pub solver: String,
    /// The measure that is set against the test score.
    pub measure: String,
    /// Pairs of values.
    pub tasks: u64,
    /// Pearson's coefficient; nothing where one side never varies.
    pub pearson: Option<f64>,
    /// Its two-sided p-value by permutation.
    pub pearson_p: Option<f64>,
    /// Spearman's coefficient.
    pub spearman: Option<f64>,
    /// Its two-sided p-value by permutation.
    pub spearman_p: Option<f64>,
}

/// Fidelity of a solver on tasks of about one length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LengthRow {
    /// The solver.
    pub solver: String,
    /// The counted unit: calls or files.
    pub by: String,
    /// The fewest in this part.
    pub from: u64,
    /// The most in this part.
    pub to: u64,
    /// Tasks in it.
    pub tasks: u64,
    /// Mean fidelity.
    pub fidelity: Option<f64>,
    /// Its score interval.
    pub interval: Option<Interval>,
}

/// Two solvers on the same tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The one that is compared with.
    pub first: String,
    /// The one that is compared.
    pub second: String,
    /// The name of the measure, or of an effort.
    pub measure: String,
    /// The paired difference.
    pub paired: Paired,
    /// Tasks on which the first is better.
    pub worse: u64,
    /// Tasks on which the second is better.
    pub better: u64,
}

/// One attempt that needs a word.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRow {
    /// The suite.
    pub suite: String,
    /// The task.
    pub task: String,
    /// The solver.
    pub solver: String,
    /// The failure, in two or three words.
    pub what: String,
    /// The evidence, on one line.
    pub evidence: String,
}

/// Tasks of the hard subset, by calls and by files each (Gistify, section 4.2).
const HARDEST: usize = 30;
/// Parts into which tasks are split by length.
const PARTS: usize = 4;
/// Tokens that a solver read and wrote.
pub(super) const SPENT: &str = "tokens spent";
/// Seconds from start to submission.
pub(super) const SECONDS: &str = "writing s";

/// A measure or an effort that solvers are compared by.
struct Compared {
    name: &'static str,
    is_gain: bool,
    value: fn(&Row, &str) -> Option<f64>,
}

/// Measures of the main table and of tests, then two efforts.
fn compared() -> impl Iterator<Item = Compared> {
    let shown = |measure: &&Measure| {
        matches!(measure.shown, MeasureTable::Main | MeasureTable::Tests)
            && measure.unit != MeasureUnit::Ratio
    };
    let measures = MEASURES.iter().filter(shown).map(|measure| Compared {
        name: measure.name,
        is_gain: measure.unit.is_gain(),
        value: |row, name| row.scores.get(name),
    });
    let spent = |row: &Row, _: &str| {
        row.effort.as_ref().map(|effort| (effort.tokens_in + effort.tokens_out) as f64)
    };
    let seconds = |row: &Row, _: &str| row.effort.as_ref().map(|effort| effort.wall_seconds);
    let efforts = [
        Compared { name: SPENT, is_gain: false, value: spent },
        Compared { name: SECONDS, is_gain: false, value: seconds },
    ];
    measures.chain(efforts)
}

/// Sums results up; the same results give the same summary in any order. Solvers stand in this order,
/// those that it does not name after them.
pub fn summarize(rows: &[Row], solvers: &[&str]) -> Summary {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    let order = |row: &Row| solvers.iter().position(|name| *name == row.solver);
    let place = |row: &Row| (order(row).unwrap_or(usize::MAX), row.solver.clone());
    sorted.sort_by_cached_key(|row| {
        (row.suite.clone(), place(row), row.task.clone(), row.repetition)
    });
    let mut names: Vec<&str> = Vec::new();
    let mut by_place: Vec<&Row> = sorted.clone();
    by_place.sort_by_cached_key(|row| place(row));
    for row in by_place {
        if !names.contains(&row.solver.as_str()) {
            names.push(&row.solver);
        }
    }
    let mut summary = Summary { suites: figures(&sorted, &names), ..Summary::default() };
    let hard = hardest(&sorted);
    if !hard.is_empty() {
        let of_hard: Vec<&Row> = sorted
            .iter()
            .copied()
            .filter(|row| hard.contains(&(row.suite.as_str(), row.task.as_str())))
            .collect();
        summary.hard = figures(&of_hard, &names);
        for row in &mut summary.hard {
            row.baseline = baseline(row, &of_hard, &summary.suites);
        }
    }
    summary.correlations = correlations(&sorted, &names);
    for name in &names {
        let own: Vec<&Row> = sorted.iter().copied().filter(|row| row.solver == *name).collect();
        summary.lengths.extend(lengths(name, "calls", &own, |row| row.calls));
        summary.lengths.extend(lengths(name, "files", &own, |row| row.files));
    }
    for other in names.iter().skip(1) {
        summary.comparisons.extend(between(&sorted, names[0], &sorted, other));
    }
    for row in &sorted {
        if let Some(what) = row.what() {
            summary.failures.push(task_row(row, what, row.evidence.clone()));
        }
        if let Some(seen) = &row.unexpected {
            let told = task_row(row, "reference".to_owned(), seen.clone());
            let known = |other: &TaskRow| (&other.suite, &other.task) == (&told.suite, &told.task);
            if !summary.unexpected.iter().any(known) {
                summary.unexpected.push(told);
            }
        }
    }
    summary
}

/// Compares one solver with another on the tasks that both have scores for, whichever run they are from.
pub fn compare(
    first: (&[Row], &str),
    second: (&[Row], &str),
    names: (&str, &str),
) -> Vec<Comparison> {
    let a: Vec<&Row> = first.0.iter().collect();
    let b: Vec<&Row> = second.0.iter().collect();
    let mut found = between(&a, first.1, &b, second.1);
    for comparison in &mut found {
        names.0.clone_into(&mut comparison.first);
        names.1.clone_into(&mut comparison.second);
    }
    found
}

fn figures(rows: &[&Row], solvers: &[&str]) -> Vec<SuiteRow> {
    let mut suites: Vec<&str> = rows.iter().map(|row| row.suite.as_str()).collect();
    suites.dedup();
    let mut found = Vec::new();
    for suite in &suites {
        for solver in solvers {
            let own = rows.iter().filter(|row| row.suite == *suite && row.solver == *solver);
            found.extend(figure(suite, solver, &own.copied().collect::<Vec<_>>()));
        }
    }
    if suites.len() > 1 {
        for solver in solvers {
            let own = rows.iter().filter(|row| row.solver == *solver);
            found.extend(figure("all", solver, &own.copied().collect::<Vec<_>>()));
        }
    }
    found
}

fn figure(suite: &str, solver: &str, rows: &[&Row]) -> Option<SuiteRow> {
    let first = rows.first()?;
    let count = |standing| rows.iter().filter(|row| row.standing == standing).count() as u64;
    let scored: Vec<&Row> =
        rows.iter().copied().filter(|row| row.standing == AttemptStanding::Scored).collect();
    let of = |value: &dyn Fn(&Row) -> Option<f64>| by_task(&scored, value);
    let mean_of = |value: &dyn Fn(&Row) -> Option<f64>| mean(&of(value));
    let median_of = |value: &dyn Fn(&Row) -> Option<f64>| median(&of(value));
    let scores = MEASURES.iter().filter_map(|measure| {
        let values = of(&|row| row.scores.get(measure.name));
        Some((measure.name.to_owned(), Figure::of(measure, &values)?))
    });
    let effort =
        |value: fn(&crate::Effort) -> f64| mean_of(&|row: &Row| row.effort.as_ref().map(value));
    let plain = |row: &Row| row.reference_seconds.filter(|&seconds| seconds > 0.0);
    let writing = |row: &Row| row.effort.as_ref().map(|effort| effort.wall_seconds);
    let writing_ratios = of(&|row| Some(writing(row)? / plain(row)?));
    let slicing = scored.iter().filter_map(|row| row.effort.as_ref()?.slicing_cpu_seconds);
    let mut calls = BTreeMap::new();
    let mut causes = BTreeMap::new();
    let mut paper_causes = BTreeMap::new();
    for row in &scored {
        for (group, count) in row.effort.iter().flat_map(|effort| &effort.calls) {
            *calls.entry(group.clone()).or_default() += *count;
        }
        if let Some(category) = row.category {
            *causes.entry(category).or_default() += 1;
            if row.value::<PaperFidelity>() == Some(0.0) {
                *paper_causes.entry(category.of_paper()).or_default() += 1;
            }
        }
    }
    let tried: Vec<_> = rows.iter().filter_map(|row| row.effort.as_ref()).collect();
    let prices: Option<Vec<f64>> = tried.iter().map(|effort| effort.price).collect();
    Some(SuiteRow {
        suite: suite.to_owned(),
        solver: solver.to_owned(),
        writer: scored.first().unwrap_or(first).writer,
        tasks: tasks(rows),
        attempts: rows.len() as u64,
        scored: tasks(&scored),
        quarantined: count(AttemptStanding::Quarantined),
        unfit: count(AttemptStanding::Unfit),
        infrastructure: count(AttemptStanding::Infrastructure),
        scores: scores.collect(),
        baseline: BTreeMap::new(),
        writing_seconds: median_of(&writing),
        writing_ratio: median(&writing_ratios),
        slowest_ratio: writing_ratios.into_iter().max_by(f64::total_cmp),
        scoring_seconds: median_of(&|row| row.scoring_seconds),
        scoring_ratio: median_of(&|row| Some(row.scoring_seconds? / plain(row)?)),
        slicing_cpu_seconds: slicing.max_by(f64::total_cmp),
        steps: effort(|effort| effort.steps as f64),
        tokens_in: effort(|effort| effort.tokens_in as f64),
        tokens_out: effort(|effort| effort.tokens_out as f64),
        tokens_cached: effort(|effort| effort.tokens_cached as f64),
        price: prices.filter(|prices| !prices.is_empty()).map(|prices| prices.iter().sum()),
        calls,
        limited: effort(|effort| f64::from(u8::from(effort.limit.is_some()))),
        out_of_steps: effort(|effort| {
            let limit = effort.limit.as_deref().unwrap_or_default();
            f64::from(u8::from(limit.starts_with("step limit")))
        }),
        causes,
        paper_causes,
    })
}

/// One value a task: the mean over its attempts that have one.
fn by_task(rows: &[&Row], value: &dyn Fn(&Row) -> Option<f64>) -> Vec<f64> {
    means(rows, value).into_values().collect()
}

fn means<'a>(
    rows: &[&'a Row],
    value: &dyn Fn(&Row) -> Option<f64>,
) -> BTreeMap<(&'a str, &'a str), f64> {
    let mut found: BTreeMap<(&str, &str), (f64, f64)> = BTreeMap::new();
    for row in rows {
        if let Some(value) = value(row) {
            let entry = found.entry((&row.suite, &row.task)).or_default();
            *entry = (entry.0 + value, entry.1 + 1.0);
        }
    }
    found.into_iter().map(|(task, (sum, count))| (task, sum / count)).collect()
}

fn tasks(rows: &[&Row]) -> u64 {
    rows.iter().map(|row| (&row.suite, &row.task)).collect::<BTreeSet<_>>().len() as u64
}

/// The tasks that are hardest by calls and by files; none where that would be all.
fn hardest<'a>(rows: &[&'a Row]) -> BTreeSet<(&'a str, &'a str)> {
    let known: BTreeMap<(&str, &str), (u64, u64)> = rows
        .iter()
        .filter(|row| row.calls > 0 || row.files > 0)
        .map(|row| ((row.suite.as_str(), row.task.as_str()), (row.calls, row.files)))
        .collect();
    if known.len() <= HARDEST {
        return BTreeSet::new();
    }
    let mut hard = BTreeSet::new();
    for by in [|difficulty: &(u64, u64)| difficulty.0, |difficulty: &(u64, u64)| difficulty.1] {
        let mut order: Vec<_> = known.iter().collect();
        order.sort_by_key(|(task, difficulty)| (std::cmp::Reverse(by(difficulty)), **task));
        hard.extend(order.into_iter().take(HARDEST).map(|(task, _)| *task));
    }
    hard
}

/// Fidelity by length: tasks in parts of about one number, shortest first.
fn lengths(solver: &str, by: &str, rows: &[&Row], length: fn(&Row) -> u64) -> Vec<LengthRow> {
    let scored: Vec<&Row> =
        rows.iter().copied().filter(|row| row.standing == AttemptStanding::Scored).collect();
    let known: BTreeMap<(&str, &str), u64> = scored
        .iter()
        .filter(|row| length(row) > 0)
        .map(|row| ((row.suite.as_str(), row.task.as_str()), length(row)))
        .collect();
    let fidelities = means(&scored, &|row| row.value::<StrictFidelity>());
    let mut order: Vec<(u64, f64)> =
        known.iter().filter_map(|(task, length)| Some((*length, *fidelities.get(task)?))).collect();
    order.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    if order.len() < PARTS {
        return Vec::new();
    }
    let part = |at: usize| &order[order.len() * at / PARTS..order.len() * (at + 1) / PARTS];
    let rows = (0..PARTS).map(part).map(|part| {
        let values: Vec<f64> = part.iter().map(|(_, fidelity)| *fidelity).collect();
        LengthRow {
            solver: solver.to_owned(),
            by: by.to_owned(),
            from: part[0].0,
            to: part[part.len() - 1].0,
            tasks: part.len() as u64,
            fidelity: mean(&values),
            interval: wilson(values.iter().sum(), values.len() as f64),
        }
    });
    rows.collect()
}

fn between(a: &[&Row], first: &str, b: &[&Row], second: &str) -> Vec<Comparison> {
    let mut found = Vec::new();
    for Compared { name: measure, is_gain, value } in compared() {
        let of = |rows: &[&'_ Row], solver: &str| -> BTreeMap<(String, String), f64> {
            let own = rows.iter().copied();
            let own =
                own.filter(|row| row.solver == solver && row.standing == AttemptStanding::Scored);
            let found = means(&own.collect::<Vec<_>>(), &|row| value(row, measure));
            found.into_iter().map(|((suite, task), v)| ((suite.into(), task.into()), v)).collect()
        };
        let (first_of, second_of) = (of(a, first), of(b, second));
        let both = first_of.iter().filter_map(|(task, x)| Some((*x, *second_of.get(task)?)));
        let (x, y): (Vec<f64>, Vec<f64>) = both.unzip();
        let Some(paired) = paired(&x, &y) else { continue };
        let count = |better: fn(f64, f64) -> bool| {
            x.iter().zip(&y).filter(|(x, y)| better(**x, **y)).count() as u64
        };
        let (up, down) = (count(|x, y| y > x), count(|x, y| y < x));
        let (better, worse) = if is_gain { (up, down) } else { (down, up) };
        let (first, second) = (first.to_owned(), second.to_owned());
        let measure = measure.to_owned();
        found.push(Comparison { first, second, measure, paired, worse, better });
    }
    found
}

/// Fidelities of a solver over all its tasks, weighted by suite as a row of the hard subset is made up.
fn baseline(row: &SuiteRow, hard: &[&Row], all: &[SuiteRow]) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for name in [PaperFidelity::NAME, StrictFidelity::NAME] {
        let (mut sum, mut weight) = (0.0, 0.0);
        for whole in all.iter().filter(|one| one.solver == row.solver) {
            let own = hard.iter().copied().filter(|one| {
                (&one.suite, &one.solver) == (&whole.suite, &row.solver)
                    && one.standing == AttemptStanding::Scored
                    && (row.suite == "all" || row.suite == one.suite)
            });
            let count = tasks(&own.collect::<Vec<_>>()) as f64;
            let Some(figure) = whole.scores.get(name).filter(|_| count > 0.0) else { continue };
            sum += count * figure.value;
            weight += count;
        }
        if weight > 0.0 {
            found.insert(name.to_owned(), sum / weight);
        }
    }
    found
}

/// Test score against fidelity, for each solver and, where there are several, for all of them.
fn correlations(rows: &[&Row], solvers: &[&str]) -> Vec<Correlation> {
    let names = solvers.iter().copied().chain((solvers.len() > 1).then_some("all"));
    let mut found = Vec::new();
    for name in names {
        for measure in [PaperFidelity::NAME, StrictFidelity::NAME] {
            let of = |solver: &str| -> Vec<(f64, f64)> {
                let own = rows.iter().copied();
                let own: Vec<&Row> = own
                    .filter(|row| row.solver == solver && row.standing == AttemptStanding::Scored)
                    .collect();
                let tests = means(&own, &|row| row.value::<TestScore>());
                let measured = means(&own, &|row| row.scores.get(measure));
                tests.iter().filter_map(|(task, x)| Some((*x, *measured.get(task)?))).collect()
            };
            let pairs: Vec<(f64, f64)> = match name {
                "all" if solvers.len() > 1 => solvers.iter().flat_map(|one| of(one)).collect(),
                one => of(one),
            };
            let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let (ranked_x, ranked_y) = (ranks(&x), ranks(&y));
            found.push(Correlation {
                solver: name.to_owned(),
                measure: measure.to_owned(),
                tasks: x.len() as u64,
                pearson: pearson(&x, &y),
                pearson_p: permuted(&x, &y),
                spearman: pearson(&ranked_x, &ranked_y),
                spearman_p: permuted(&ranked_x, &ranked_y),
            });
        }
    }
    found.retain(|row| row.tasks > 0);
    found
}

impl Figure {
    /// One measure over values of tasks; nothing for no values.
    fn of(measure: &Measure, values: &[f64]) -> Option<Self> {
        let tasks = values.len() as u64;
        if !measure.unit.is_rate() {
            return Some(Self { value: median(values)?, tasks, ..Self::default() });
        }
        let wilson = match measure.unit {
            MeasureUnit::Success | MeasureUnit::Fault => {
                wilson(values.iter().sum(), values.len() as f64)
            }
            MeasureUnit::Share | MeasureUnit::Count | MeasureUnit::Ratio => None,
        };
        Some(Self { value: mean(values)?, tasks, interval: bootstrap(values), wilson })
    }
}

fn task_row(row: &Row, what: String, evidence: String) -> TaskRow {
    let (suite, task) = (row.suite.clone(), row.task.clone());
    TaskRow { suite, task, solver: row.solver.clone(), what, evidence }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
