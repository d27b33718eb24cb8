//! The paper's figures from verdicts (RepoExec, figures 3 to 6, 8 and 9), each as a chart and the numbers behind it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{
    chart::{BarGroup, ChartPoint, bar_chart, point_chart},
    sample::{SampleClass, SampleVerdict},
    scores::{CompletionScores, completion_scores, mended},
};
use crate::report::Table;

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletionFigure {
    /// Its name in files.
    pub name: &'static str,
    /// The chart, as SVG.
    pub chart: String,
    /// The numbers behind it.
    pub table: Table,
}

/// The facts about a model besides its answers (RepoExec, figure 9).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFacts {
    /// Its name, as in verdicts.
    pub model: String,
    /// Tokens that it reads at once.
    pub context: f64,
    /// Billions of parameters.
    pub size: f64,
    /// Models of one kind.
    pub family: String,
}

/// The figures of verdicts; `after` are verdicts on the same generations by tests after coverage enhancement.
pub fn figures(
    verdicts: &[SampleVerdict],
    after: &[SampleVerdict],
    models: &[ModelFacts],
) -> Vec<CompletionFigure> {
    let scores = completion_scores(verdicts);
    let first: Vec<&CompletionScores> = scores.iter().filter(|row| row.round == 0).collect();
    let mut figures = similarity_figures(&first);
    figures.extend(distribution_figures(verdicts));
    figures.extend(enhancement_figure(&first, &completion_scores(after)));
    figures.push(empty_figure(&first));
    figures.extend(rounds_figure(&scores));
    figures.extend(mended_figure(verdicts));
    figures.extend(context_figures(&first, models));
    figures
}

fn percent(share: Option<f64>) -> Option<f64> {
    share.map(|share| share * 100.0)
}

fn cell(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

fn name_of(row: &CompletionScores) -> String {
    format!("{} {}", row.model, row.prompt)
}

/// Figure 3: similarity against pass@1.
fn similarity_figures(scores: &[&CompletionScores]) -> Vec<CompletionFigure> {
    type Measure = fn(&CompletionScores) -> Option<f64>;
    let measures: [(&str, &str, Measure); 3] = [
        ("figure-3-edit-similarity", "Edit similarity against pass@1 (figure 3)", |row| row.edit),
        ("figure-3-bleu", "BLEU against pass@1 (figure 3)", |row| row.bleu),
        ("figure-3-code-bleu", "CodeBLEU against pass@1 (figure 3)", |row| row.code_bleu),
    ];
    let figure = |(name, title, measure): (&'static str, &'static str, Measure)| {
        let points = scores.iter().filter_map(|row| {
            Some(ChartPoint {
                x: measure(row)?,
                y: percent(row.pass[0])?,
                size: 1.0,
                series: row.prompt.clone(),
                label: name_of(row),
            })
        });
        let points: Vec<ChartPoint> = points.collect();
        let rows = points
            .iter()
            .map(|point| vec![point.label.clone(), cell(Some(point.x)), cell(Some(point.y))]);
        let table =
            Table::named(name, title, &["model"], &["similarity", "pass@1"], rows.collect());
        CompletionFigure {
            name,
            chart: point_chart(title, ("similarity", "pass@1"), &points),
            table,
        }
    };
    measures.into_iter().map(figure).filter(|figure| !figure.table.rows.is_empty()).collect()
}

/// Figure 4: how similar correct and incorrect samples are, in tenths.
fn distribution_figures(verdicts: &[SampleVerdict]) -> Vec<CompletionFigure> {
    type Measure = fn(&SampleVerdict) -> Option<f64>;
    let measures: [(&str, &str, Measure); 3] = [
        ("figure-4-edit-similarity", "Edit similarity of samples (figure 4)", |one| {
            one.similarity.map(|similarity| similarity.edit)
        }),
        ("figure-4-bleu", "BLEU of samples (figure 4)", |one| {
            one.similarity.map(|similarity| similarity.bleu)
        }),
        ("figure-4-code-bleu", "CodeBLEU of samples (figure 4)", |one| {
            one.similarity.map(|similarity| similarity.code_bleu)
        }),
    ];
    let figure = |(name, title, measure): (&'static str, &'static str, Measure)| {
        let mut counts = [[0_u32; 10]; 2];
        for verdict in verdicts.iter().filter(|one| one.class.is_scored()) {
            if let Some(value) = measure(verdict) {
                let tenth = ((value / 10.0).floor() as usize).min(9);
                counts[usize::from(verdict.class != SampleClass::Passed)][tenth] += 1;
            }
        }
        let groups = (0..10).map(|tenth| {
            let values = counts.iter().map(|series| Some(f64::from(series[tenth]))).collect();
            (format!("{}-{}", tenth * 10, tenth * 10 + 10), values)
        });
        let groups: Vec<BarGroup> = groups.collect();
        bars(name, title, "samples", &["correct", "incorrect"], groups)
    };
    measures.into_iter().map(figure).collect()
}

/// Figure 5: pass@1 before and after the tests were enhanced.
fn enhancement_figure(
    before: &[&CompletionScores],
    after: &[CompletionScores],
) -> Option<CompletionFigure> {
    let groups = before.iter().filter_map(|row| {
        let same = |one: &&CompletionScores| {
            one.round == 0 && (&one.model, &one.prompt) == (&row.model, &row.prompt)
        };
        let after = after.iter().find(same)?;
        Some((name_of(row), vec![percent(row.pass[0]), percent(after.pass[0])]))
    });
    let groups: Vec<BarGroup> = groups.collect();
    let title = "pass@1 before and after coverage enhancement (figure 5)";
    let figure = bars("figure-5", title, "pass@1", &["before", "after"], groups);
    (!figure.table.rows.is_empty()).then_some(figure)
}

/// Figure 6: the share of empty functions.
fn empty_figure(scores: &[&CompletionScores]) -> CompletionFigure {
    let prompts: BTreeSet<&str> = scores.iter().map(|row| row.prompt.as_str()).collect();
    let models: BTreeSet<&str> = scores.iter().map(|row| row.model.as_str()).collect();
    let groups = models.iter().map(|model| {
        let values = prompts.iter().map(|prompt| {
            let row = scores
                .iter()
                .find(|row| (row.model.as_str(), row.prompt.as_str()) == (*model, *prompt));
            percent(row.and_then(|row| row.empty))
        });
        ((*model).to_owned(), values.collect())
    });
    let series: Vec<&str> = prompts.iter().copied().collect();
    bars("figure-6", "Empty functions (figure 6)", "%", &series, groups.collect())
}

/// Figure 7: pass@1 and DIR after each round of debugging.
fn rounds_figure(scores: &[CompletionScores]) -> Option<CompletionFigure> {
    let groups = scores.iter().map(|row| {
        let name = format!("{} round {}", row.model, row.round);
        (name, vec![percent(row.pass[0]), percent(row.invocation)])
    });
    let figure = bars(
        "figure-7",
        "pass@1 and DIR by round of debugging (figure 7)",
        "%",
        &["pass@1", "DIR"],
        groups.collect(),
    );
    scores.iter().any(|row| row.round > 0).then_some(figure)
}

/// Figure 8: what each round mended, by error.
fn mended_figure(verdicts: &[SampleVerdict]) -> Option<CompletionFigure> {
    let found = mended(verdicts);
    let rounds: BTreeSet<u32> = found.keys().map(|(_, round)| *round).collect();
    let errors: BTreeSet<&String> = found.keys().map(|(error, _)| error).collect();
    let groups = errors.into_iter().map(|error| {
        let values = rounds.iter().map(|round| {
            let (mended, _) = found.get(&(error.clone(), *round)).copied().unwrap_or_default();
            Some(mended as f64)
        });
        (error.clone(), values.collect())
    });
    let groups: Vec<BarGroup> = groups.collect();
    let series: Vec<String> = rounds.iter().map(|round| format!("round {round}")).collect();
    let series: Vec<&str> = series.iter().map(String::as_str).collect();
    let title = "Errors mended by round (figure 8)";
    (!rounds.is_empty()).then(|| bars("figure-8", title, "samples", &series, groups))
}

/// Figure 9: the tokens that a model reads at once against pass@1 and DIR.
fn context_figures(scores: &[&CompletionScores], models: &[ModelFacts]) -> Vec<CompletionFigure> {
    let facts: BTreeMap<&str, &ModelFacts> =
        models.iter().map(|facts| (facts.model.as_str(), facts)).collect();
    type Measure = fn(&CompletionScores) -> Option<f64>;
    let measures: [(&str, &str, &str, Measure); 2] = [
        ("figure-9-pass", "Context length against pass@1 (figure 9)", "pass@1", |row| row.pass[0]),
        ("figure-9-dir", "Context length against DIR (figure 9)", "DIR", |row| row.invocation),
    ];
    let figure =
        |(name, title, axis, measure): (&'static str, &'static str, &'static str, Measure)| {
            let points = scores.iter().filter_map(|row| {
                let facts = facts.get(row.model.as_str())?;
                Some(ChartPoint {
                    x: facts.context,
                    y: percent(measure(row))?,
                    size: facts.size,
                    series: facts.family.clone(),
                    label: name_of(row),
                })
            });
            let points: Vec<ChartPoint> = points.collect();
            let rows = points.iter().map(|point| {
                vec![
                    point.label.clone(),
                    point.series.clone(),
                    format!("{:.0}", point.x),
                    cell(Some(point.size)),
                    cell(Some(point.y)),
                ]
            });
            let table = Table::named(
                name,
                title,
                &["model", "family"],
                &["context", "size", axis],
                rows.collect(),
            );
            CompletionFigure {
                name,
                chart: point_chart(title, ("tokens of context", axis), &points),
                table,
            }
        };
    measures.into_iter().map(figure).filter(|figure| !figure.table.rows.is_empty()).collect()
}

fn bars(
    name: &'static str,
    title: &'static str,
    unit: &str,
    series: &[&str],
    groups: Vec<BarGroup>,
) -> CompletionFigure {
    let rows = groups.iter().map(|(label, values)| {
        std::iter::once(label.clone()).chain(values.iter().map(|value| cell(*value))).collect()
    });
    let table = Table::named(name, title, &["group"], series, rows.collect());
    CompletionFigure { name, chart: bar_chart(title, unit, series, &groups), table }
}
