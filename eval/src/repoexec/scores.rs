//! Scores of samples, by model and prompt: pass@k, the Dependency Invocation Rate, empty functions, similarities, and
//! what each round of debugging mended (RepoExec, tables 4 and 5, figures 3, 4, 6 and 8).
//!
//! A problem's samples that the machine failed at count for nothing. pass@k is a mean over problems; the
//! Dependency Invocation Rate, the rate of empty functions and the similarities are means over samples.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    estimate::mean_pass_at_k,
    problem::CompletionProblem,
    sample::{SampleClass, SampleVerdict},
};
use crate::{
    json_lines::{MalformedRow, malformed_table},
    report::Table,
    statistics::{mean, pearson, quantiles},
};

/// The k of pass@k that are reported (RepoExec reports 1 and 5 of ten samples).
pub const KS: [u64; 3] = [1, 5, 10];

/// Scores of one model with one prompt after one round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompletionScores {
    /// The model.
    pub model: String,
    /// The form of the prompt.
    pub prompt: String,
    /// Rounds of debugging.
    pub round: u32,
    /// Problems with a scored sample.
    pub problems: u64,
    /// Scored samples.
    pub samples: u64,
    /// Samples that the machine failed at.
    pub unscored: u64,
    /// pass@1, pass@5 and pass@10, from 0 to 1; nothing where a problem has too few samples.
    pub pass: [Option<f64>; 3],
    /// Mean Dependency Invocation Rate over samples whose problem has dependencies.
    pub invocation: Option<f64>,
    /// The same over the repository's own definitions.
    pub own_invocation: Option<f64>,
    /// Share of samples that are empty functions.
    pub empty: Option<f64>,
    /// Mean edit similarity.
    pub edit: Option<f64>,
    /// Mean BLEU.
    pub bleu: Option<f64>,
    /// Mean CodeBLEU.
    pub code_bleu: Option<f64>,
    /// Samples by class.
    pub classes: BTreeMap<SampleClass, u64>,
}

/// The scores of verdicts, by model, prompt and round. A sample that passed stays so in later rounds.
pub fn completion_scores(verdicts: &[SampleVerdict]) -> Vec<CompletionScores> {
    let mut groups: BTreeMap<(&str, &str), Vec<&SampleVerdict>> = BTreeMap::new();
    for verdict in verdicts {
        groups.entry((&verdict.model, &verdict.prompt)).or_default().push(verdict);
    }
    let mut scores = Vec::new();
    for ((model, prompt), verdicts) in groups {
        let rounds: BTreeSet<u32> = verdicts.iter().map(|verdict| verdict.round).collect();
        for round in rounds {
            let standing = standing(&verdicts, round);
            scores.push(scored(model, prompt, round, &standing));
        }
    }
    scores
}

/// The last verdict on each sample up to a round.
fn standing<'v>(verdicts: &[&'v SampleVerdict], round: u32) -> Vec<&'v SampleVerdict> {
    let mut last: BTreeMap<(&str, u32), &SampleVerdict> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.round <= round) {
        let entry = last.entry((&verdict.problem, verdict.sample)).or_insert(verdict);
        if verdict.round >= entry.round {
            *entry = verdict;
        }
    }
    last.into_values().collect()
}

fn scored(model: &str, prompt: &str, round: u32, verdicts: &[&SampleVerdict]) -> CompletionScores {
    let mut classes = BTreeMap::new();
    for verdict in verdicts {
        *classes.entry(verdict.class).or_insert(0) += 1;
    }
    let counted: Vec<&&SampleVerdict> =
        verdicts.iter().filter(|verdict| verdict.class.is_scored()).collect();
    let problems = by_problem(counted.iter().map(|verdict| **verdict));
    let pairs: Vec<(u64, u64)> = problems.values().copied().collect();
    let mean_of = |value: &dyn Fn(&SampleVerdict) -> Option<f64>| {
        mean(&counted.iter().filter_map(|verdict| value(verdict)).collect::<Vec<f64>>())
    };
    CompletionScores {
        model: model.to_owned(),
        prompt: prompt.to_owned(),
        round,
        problems: pairs.len() as u64,
        samples: counted.len() as u64,
        unscored: (verdicts.len() - counted.len()) as u64,
        pass: KS.map(|k| mean_pass_at_k(&pairs, k)),
        invocation: mean_of(&|verdict| verdict.invocation),
        own_invocation: mean_of(&|verdict| verdict.own_invocation),
        empty: mean_of(&|verdict| Some(f64::from(u8::from(verdict.empty)))),
        edit: mean_of(&|verdict| verdict.similarity.map(|similarity| similarity.edit)),
        bleu: mean_of(&|verdict| verdict.similarity.map(|similarity| similarity.bleu)),
        code_bleu: mean_of(&|verdict| verdict.similarity.map(|similarity| similarity.code_bleu)),
        classes,
    }
}

/// Samples and passing samples of each problem.
fn by_problem<'v>(
    verdicts: impl Iterator<Item = &'v SampleVerdict>,
) -> BTreeMap<&'v str, (u64, u64)> {
    let mut problems: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for verdict in verdicts {
        let (samples, passed) = problems.entry(&verdict.problem).or_default();
        *samples += 1;
        *passed += u64::from(verdict.class == SampleClass::Passed);
    }
    problems
}

/// The tables of verdicts and of rows that could not be read, by file.
pub fn completion_tables(
    verdicts: &[SampleVerdict],
    malformed: &[(String, Vec<MalformedRow>)],
) -> Vec<Table> {
    let scores = completion_scores(verdicts);
    let tables = vec![
        main_table(&scores),
        class_table(&scores),
        similarity_table(verdicts),
        correlation_table(&scores),
        mended_table(verdicts),
        malformed_table(malformed),
    ];
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

fn main_table(scores: &[CompletionScores]) -> Table {
    let rows = scores.iter().map(|row| {
        let [one, five, ten] = row.pass.map(percent);
        let mut cells = vec![row.model.clone(), row.prompt.clone(), row.round.to_string()];
        cells.extend([row.problems.to_string(), row.samples.to_string(), one, five, ten]);
        cells.extend([row.invocation, row.own_invocation, row.empty].map(percent));
        cells.push(row.unscored.to_string());
        cells
    });
    Table::named(
        "completion",
        "Completion (RepoExec, tables 4 and 5)",
        &["model", "prompt"],
        &[
            "round", "problems", "samples", "pass@1", "pass@5", "pass@10", "DIR", "own DIR",
            "empty %", "unscored",
        ],
        rows.collect(),
    )
}

fn class_table(scores: &[CompletionScores]) -> Table {
    let used: BTreeSet<SampleClass> =
        scores.iter().flat_map(|row| row.classes.keys().copied()).collect();
    let rows = scores.iter().map(|row| {
        let mut cells = vec![row.model.clone(), row.prompt.clone(), row.round.to_string()];
        cells.extend(used.iter().map(|class| row.classes.get(class).unwrap_or(&0).to_string()));
        cells
    });
    let heads: Vec<&str> =
        std::iter::once("round").chain(used.iter().map(|class| class.phrase())).collect();
    Table::named("classes", "Samples by class", &["model", "prompt"], &heads, rows.collect())
}

/// Similarities of samples that passed and that did not: quartiles (RepoExec, figure 4).
fn similarity_table(verdicts: &[SampleVerdict]) -> Table {
    let mut rows = Vec::new();
    for (name, value) in SIMILARITIES {
        for (phrase, passed) in [("correct", true), ("incorrect", false)] {
            let values = verdicts.iter().filter(|one| {
                one.class.is_scored() && (one.class == SampleClass::Passed) == passed
            });
            let values: Vec<f64> = values.filter_map(|one| one.similarity.map(value)).collect();
            let Some([low, middle, high]) = quantiles(&values, [0.25, 0.5, 0.75]) else { continue };
            let figures = [low, middle, high].map(|value| format!("{value:.1}"));
            let mut cells = vec![name.to_owned(), phrase.to_owned(), values.len().to_string()];
            cells.extend(figures);
            rows.push(cells);
        }
    }
    Table::named(
        "similarity",
        "Similarity of correct and incorrect samples (RepoExec, figure 4)",
        &["measure", "samples are"],
        &["samples", "25%", "median", "75%"],
        rows,
    )
}

/// A figure of a sample's similarities, of which each has a name.
type SimilarityFigure = fn(super::sample::Similarity) -> f64;

const SIMILARITIES: [(&str, SimilarityFigure); 3] = [
    ("edit similarity", |similarity| similarity.edit),
    ("BLEU", |similarity| similarity.bleu),
    ("CodeBLEU", |similarity| similarity.code_bleu),
];

/// Correlation of each model's mean similarity with its pass@1 (RepoExec, figure 3).
fn correlation_table(scores: &[CompletionScores]) -> Table {
    type Measured = fn(&CompletionScores) -> Option<f64>;
    let measures: [(&str, Measured); 5] = [
        ("edit similarity", |row| row.edit),
        ("BLEU", |row| row.bleu),
        ("CodeBLEU", |row| row.code_bleu),
        ("DIR", |row| row.invocation),
        ("own DIR", |row| row.own_invocation),
    ];
    let rows = measures.into_iter().filter_map(|(name, value)| {
        let pairs = scores.iter().filter_map(|row| Some((value(row)?, row.pass[0]?)));
        let (values, passes): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let coefficient = pearson(&values, &passes)?;
        Some(vec![name.to_owned(), values.len().to_string(), format!("{coefficient:.2}")])
    });
    Table::named(
        "correlation",
        "Correlation with pass@1 (RepoExec, figure 3)",
        &["measure"],
        &["rows", "Pearson"],
        rows.collect(),
    )
}

/// Failures of a round that the next one mended, by the type of what was raised (RepoExec, figure 8).
pub fn mended(verdicts: &[SampleVerdict]) -> BTreeMap<(String, u32), (u64, u64)> {
    let mut by_sample: BTreeMap<_, Vec<&SampleVerdict>> = BTreeMap::new();
    for verdict in verdicts {
        let key = (&verdict.model, &verdict.prompt, &verdict.problem, verdict.sample);
        by_sample.entry(key).or_default().push(verdict);
    }
    let mut found: BTreeMap<(String, u32), (u64, u64)> = BTreeMap::new();
    for mut verdicts in by_sample.into_values() {
        verdicts.sort_by_key(|verdict| verdict.round);
        for pair in verdicts.windows(2) {
            let error = pair[0].error.clone().unwrap_or(pair[0].class.phrase().to_owned());
            let (mended, tried) = found.entry((error, pair[1].round)).or_default();
            *tried += 1;
            *mended += u64::from(pair[1].class == SampleClass::Passed);
        }
    }
    found
}

fn mended_table(verdicts: &[SampleVerdict]) -> Table {
    let rows = mended(verdicts).into_iter().map(|((error, round), (mended, tried))| {
        vec![error, round.to_string(), tried.to_string(), mended.to_string()]
    });
    Table::named(
        "mended",
        "Errors that each round of debugging mended (RepoExec, figure 8)",
        &["error"],
        &["round", "samples", "mended"],
        rows.collect(),
    )
}

/// The attributes of a set of problems (RepoExec, table 1).
pub fn problem_table(problems: &[CompletionProblem]) -> Table {
    let count = problems.len() as f64;
    let share = problems.iter().filter(|one| one.function.is_cross_file()).count() as f64 / count;
    let tested: Vec<_> = problems.iter().filter_map(|one| one.tests.as_ref()).collect();
    let mean_of =
        |values: Vec<f64>| mean(&values).map_or("-".to_owned(), |value| format!("{value:.2}"));
    let coverage = tested.iter().map(|tests| tests.coverage() * 100.0).collect();
    let cases = tested.iter().map(|tests| tests.cases.len() as f64).collect();
    let tokens = |text: &dyn Fn(&CompletionProblem) -> String| {
        mean_of(problems.iter().map(|one| graph::tree_tokens(&text(one)) as f64).collect())
    };
    let prompt = |size| {
        tokens(&|one: &CompletionProblem| {
            format!("{}\n\n{}", one.function.context.of(size), one.function.prompt)
        })
    };
    let solution = tokens(&|one: &CompletionProblem| one.function.body().to_owned());
    let rows = graph::ContextSize::ALL.map(|size| {
        vec![
            size.name().to_owned(),
            problems.len().to_string(),
            format!("{:.1}", share * 100.0),
            mean_of(Vec::clone(&coverage)),
            mean_of(Vec::clone(&cases)),
            prompt(size),
            solution.clone(),
        ]
    });
    Table::named(
        "problems",
        "Problems (RepoExec, table 1; tokens are tree-sitter's)",
        &["context"],
        &["problems", "cross-file %", "coverage %", "cases", "prompt tokens", "solution tokens"],
        if problems.is_empty() { Vec::new() } else { rows.into() },
    )
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.2}", share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repoexec::SAMPLE_VERSION;

    /// The verdicts of one greedy sample of each problem over rounds of debugging, with so many passing after each.
    fn debugged(model: &str, problems: usize, passing: &[usize]) -> Vec<SampleVerdict> {
        let mut verdicts = Vec::new();
        for problem in 0..problems {
            for (round, &passed) in (0..).zip(passing) {
                let class =
                    if problem < passed { SampleClass::Passed } else { SampleClass::Failed };
                verdicts.push(SampleVerdict {
                    version: SAMPLE_VERSION,
                    problem: format!("p{problem}"),
                    sample: 0,
                    round,
                    model: model.to_owned(),
                    prompt: "base/full".to_owned(),
                    class,
                    error: None,
                    log: String::new(),
                    function: String::new(),
                    empty: false,
                    invocation: None,
                    own_invocation: None,
                    similarity: None,
                    seconds: 0.0,
                    repeated: false,
                });
                // A completion that passes goes into no further round.
                if class == SampleClass::Passed {
                    break;
                }
            }
        }
        verdicts
    }

    #[test]
    fn published_rounds_of_debugging_follow_from_counts() {
        // RepoExec, table 5 and section 6.2: over 10% and over 7%.
        for (model, passing, printed, gain) in [
            ("GPT-3.5", [96, 129, 142, 149], ["27.04", "36.34", "40.00", "41.97"], "14.93"),
            ("WizardCoder", [122, 145, 148, 151], ["34.37", "40.85", "41.69", "42.54"], "8.17"),
            ("CodeLlama-13b-Python", [140; 4], ["39.44"; 4], "0.00"),
        ] {
            let scores = completion_scores(&debugged(model, 355, &passing));
            let shown: Vec<String> = scores.iter().map(|row| percent(row.pass[0])).collect();
            assert_eq!(shown, printed, "{model}");
            let [first, last] = [0, 3].map(|round| scores[round].pass[0].unwrap());
            assert_eq!(percent(Some(last - first)), gain, "{model}");
            let mended: u64 =
                mended(&debugged(model, 355, &passing)).values().map(|one| one.0).sum();
            assert_eq!(mended as usize, passing[3] - passing[0], "{model}");
        }
    }
}
