//! Results as tables: one summary, one file per format.
//!
//! Rates are averages over tasks. Infrastructure failures, quarantined tasks and tasks whose reference
//! differs from the suite's record are counted apart; what has no value is shown as such, never as 0.

mod json;
mod markdown;
mod text;

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{
    bench::{TaskOutcome, TaskResult},
    evaluate::Evaluation,
    scorers::Category,
};

/// How a summary is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Aligned columns.
    #[default]
    Text,
    /// Markdown tables.
    Markdown,
    /// JSON, with its version.
    Json,
}

/// What a set of results says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// One row a suite, then all of them where there are several.
    pub suites: Vec<SuiteRow>,
    /// Every task without full fidelity, and every one that was not scored.
    pub failures: Vec<TaskRow>,
    /// Tasks whose reference differs from what the suite's author saw.
    pub unexpected: Vec<TaskRow>,
}

/// Figures of one suite.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SuiteRow {
    /// Its name.
    pub suite: String,
    /// Tasks with a result.
    pub tasks: u64,
    /// Tasks that were scored.
    pub scored: u64,
    /// Tasks set aside by their reference runs.
    pub quarantined: u64,
    /// Tasks that failed for reasons besides the gist.
    pub infrastructure: u64,
    /// Mean execution fidelity.
    pub fidelity: Option<f64>,
    /// Mean line existence rate.
    pub existence: Option<f64>,
    /// The same without glue.
    pub existence_without_glue: Option<f64>,
    /// Mean line execution rate over faithful gists.
    pub execution: Option<f64>,
    /// Mean test score.
    pub test: Option<f64>,
    /// Mean pass rate over tasks with a passing case.
    pub pass_rate: Option<f64>,
    /// Median number of glue lines.
    pub glue: Option<f64>,
    /// Median lines of a gist.
    pub lines: Option<f64>,
    /// Median tokens of a gist.
    pub tokens: Option<f64>,
    /// Median lines as a share of the executed ones.
    pub lines_of_executed: Option<f64>,
    /// Median seconds from start to submission.
    pub writing_seconds: Option<f64>,
    /// Median of these seconds by the plain command's.
    pub writing_ratio: Option<f64>,
    /// Median seconds of scoring, references excluded.
    pub scoring_seconds: Option<f64>,
    /// Median of these seconds by the plain command's.
    pub scoring_ratio: Option<f64>,
    /// Largest CPU seconds of slicing alone, where attempts say.
    pub slicing_cpu_seconds: Option<f64>,
    /// Tasks by error category.
    pub causes: BTreeMap<Category, u64>,
}

/// One task that needs a word.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskRow {
    /// The suite.
    pub suite: String,
    /// The task.
    pub task: String,
    /// What is the matter, in two or three words.
    pub what: String,
    /// What was seen, on one line.
    pub evidence: String,
}

impl Summary {
    /// Writes it.
    pub fn to_string(&self, format: Format) -> String {
        match format {
            Format::Text => text::write(self),
            Format::Markdown => markdown::write(self),
            Format::Json => json::write(self),
        }
    }
}

/// Sums results up; the same results give the same summary in any order.
pub fn summarize(results: &[TaskResult]) -> Summary {
    let mut by_suite: BTreeMap<&str, Vec<&TaskResult>> = BTreeMap::new();
    for result in results {
        by_suite.entry(&result.suite).or_default().push(result);
    }
    let mut summary = Summary::default();
    for (suite, results) in &mut by_suite {
        results.sort_by(|a, b| a.task.cmp(&b.task));
        summary.suites.push(row(suite, results));
        for result in results.iter() {
            summary.failures.extend(failure(result));
            summary.unexpected.extend(unexpected(result));
        }
    }
    if by_suite.len() > 1 {
        let all: Vec<&TaskResult> = by_suite.into_values().flatten().collect();
        summary.suites.push(row("all", &all));
    }
    summary
}

fn row(suite: &str, results: &[&TaskResult]) -> SuiteRow {
    let judged: Vec<&Evaluation> = results.iter().filter_map(|result| evaluation(result)).collect();
    let scored: Vec<&Evaluation> =
        judged.iter().copied().filter(|judged| judged.quarantine.is_none()).collect();
    let mean_of = |value: &dyn Fn(&Evaluation) -> Option<f64>| {
        mean(scored.iter().filter_map(|judged| value(judged)).collect())
    };
    let median_of = |value: &dyn Fn(&Evaluation) -> Option<f64>| {
        median(scored.iter().filter_map(|judged| value(judged)).collect())
    };
    let plain = |judged: &Evaluation| Some(judged.reference.seconds).filter(|&s| s > 0.0);
    let writing = |judged: &Evaluation| judged.effort.as_ref().map(|effort| effort.wall_seconds);
    let slicing = scored
        .iter()
        .filter_map(|judged| judged.effort.as_ref()?.slicing_cpu_seconds)
        .max_by(f64::total_cmp);
    let mut causes = BTreeMap::new();
    for cause in scored.iter().filter_map(|judged| judged.cause.as_ref()) {
        *causes.entry(cause.category).or_default() += 1;
    }
    SuiteRow {
        suite: suite.to_owned(),
        tasks: results.len() as u64,
        scored: scored.len() as u64,
        quarantined: (judged.len() - scored.len()) as u64,
        infrastructure: (results.len() - judged.len()) as u64,
        fidelity: mean_of(&|judged| judged.fidelity.as_ref().map(|f| f64::from(f.score))),
        existence: mean_of(&|judged| judged.existence.as_ref()?.rate),
        existence_without_glue: mean_of(&|judged| judged.existence.as_ref()?.rate_without_glue),
        execution: mean_of(&|judged| judged.execution.as_ref()?.rate),
        test: mean_of(&|judged| judged.test.as_ref()?.rate),
        pass_rate: mean_of(&|judged| judged.pass_rate?.rate.filter(|&rate| rate > 0.0)),
        glue: median_of(&|judged| judged.existence.as_ref().map(|e| e.glue as f64)),
        lines: median_of(&|judged| judged.size.map(|size| size.gist.lines as f64)),
        tokens: median_of(&|judged| judged.size.map(|size| size.gist.tokens as f64)),
        lines_of_executed: median_of(&|judged| judged.size?.lines_of_executed),
        writing_seconds: median_of(&writing),
        writing_ratio: median_of(&|judged| Some(writing(judged)? / plain(judged)?)),
        scoring_seconds: median_of(&|judged| Some(judged.seconds)),
        scoring_ratio: median_of(&|judged| Some(judged.seconds / plain(judged)?)),
        slicing_cpu_seconds: slicing,
        causes,
    }
}

fn evaluation(result: &TaskResult) -> Option<&Evaluation> {
    match &result.outcome {
        TaskOutcome::Judged(evaluation) => Some(evaluation),
        TaskOutcome::Infrastructure(_) => None,
    }
}

fn failure(result: &TaskResult) -> Option<TaskRow> {
    let (what, evidence) = match &result.outcome {
        TaskOutcome::Infrastructure(message) => ("infrastructure".to_owned(), message.clone()),
        TaskOutcome::Judged(judged) => match (&judged.quarantine, &judged.cause) {
            (Some(quarantine), _) => ("quarantined".to_owned(), format!("{quarantine:?}")),
            (None, Some(cause)) => (cause.category.to_string(), cause.evidence.clone()),
            (None, None) => return None,
        },
    };
    Some(task_row(result, what, evidence))
}

fn unexpected(result: &TaskResult) -> Option<TaskRow> {
    let (expected, seen) = (result.expected?, evaluation(result)?.reference.counts);
    Some(task_row(result, "reference".to_owned(), format!("{seen}, not {expected}")))
}

fn task_row(result: &TaskResult, what: String, evidence: String) -> TaskRow {
    let (suite, task) = (result.suite.clone(), result.task.clone());
    let evidence: String = crate::blocks::folded(&evidence);
    TaskRow { suite, task, what, evidence }
}

fn mean(values: Vec<f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.into_iter().sum::<f64>() / count as f64)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 { Some(upper) } else { Some((values[middle - 1] + upper) / 2.0) }
}

/// Cells of one table: its heads, then its rows.
struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

fn figures(summary: &Summary) -> Table {
    let heads = vec![
        "suite",
        "tasks",
        "fidelity",
        "existence",
        "w/o glue",
        "execution",
        "test",
        "pass rate",
        "glue",
        "lines",
        "tokens",
        "% of run",
        "writing s",
        "writing x",
        "scoring s",
        "scoring x",
        "slicing cpu s",
    ];
    let rows = summary.suites.iter().map(|row| {
        let mut tasks = row.scored.to_string();
        if row.scored != row.tasks {
            tasks = format!("{} of {}", row.scored, row.tasks);
        }
        vec![
            row.suite.clone(),
            tasks,
            percent(row.fidelity),
            percent(row.existence),
            percent(row.existence_without_glue),
            percent(row.execution),
            percent(row.test),
            percent(row.pass_rate),
            number(row.glue, 1),
            number(row.lines, 0),
            number(row.tokens, 0),
            percent(row.lines_of_executed),
            number(row.writing_seconds, 2),
            number(row.writing_ratio, 1),
            number(row.scoring_seconds, 2),
            number(row.scoring_ratio, 1),
            number(row.slicing_cpu_seconds, 3),
        ]
    });
    Table { heads, rows: rows.collect() }
}

fn tasks(heads: Vec<&'static str>, rows: &[TaskRow]) -> Table {
    let rows = rows.iter().map(|row| {
        vec![row.suite.clone(), row.task.clone(), row.what.clone(), row.evidence.clone()]
    });
    Table { heads, rows: rows.collect() }
}

/// The tables of a summary with their titles; empty ones are left out.
fn titled(summary: &Summary) -> Vec<(&'static str, Table)> {
    let mut tables = vec![("", figures(summary))];
    if !summary.failures.is_empty() {
        let heads = vec!["suite", "task", "cause", "evidence"];
        tables.push(("Failures", tasks(heads, &summary.failures)));
    }
    if !summary.unexpected.is_empty() {
        let heads = vec!["suite", "task", "what", "seen, not expected"];
        tables.push((
            "References that differ from the suite's record",
            tasks(heads, &summary.unexpected),
        ));
    }
    tables
}

fn percent(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{:.1}", value * 100.0))
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

impl fmt::Display for crate::task::Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, skipped, failed, xfailed } = self;
        write!(f, "{passed} passed, {skipped} skipped, {failed} failed, {xfailed} xfailed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(task: &str, outcome: TaskOutcome) -> TaskResult {
        TaskResult {
            suite: "s".to_owned(),
            task: task.to_owned(),
            solver: "offline".to_owned(),
            attempt: None,
            outcome,
            expected: None,
            seconds: 1.0,
        }
    }

    #[test]
    fn what_was_not_scored_is_no_zero() {
        let failed = |task| result(task, TaskOutcome::Infrastructure("disk | full".to_owned()));
        let summary = summarize(&[failed("b"), failed("a")]);
        let row = &summary.suites[0];
        assert_eq!((row.tasks, row.scored, row.infrastructure), (2, 0, 2));
        assert_eq!((row.fidelity, row.existence), (None, None));
        assert_eq!(summary.failures[0].task, "a");
        let text = summary.to_string(Format::Text);
        assert!(text.contains("0 of 2") && text.contains("disk | full"), "{text}");
        let markdown = summary.to_string(Format::Markdown);
        assert!(markdown.contains("disk \\| full"), "{markdown}");
        let json: serde_json::Value =
            serde_json::from_str(&summary.to_string(Format::Json)).unwrap();
        assert_eq!(json["version"], 1);
        assert!(json["suites"][0]["fidelity"].is_null());
    }

    #[test]
    fn medians_and_means_are_those_of_the_books() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
        assert_eq!(mean(vec![1.0, 2.0]), Some(1.5));
        assert_eq!(mean(vec![]), None);
    }
}
