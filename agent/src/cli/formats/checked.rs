//! A gist that was judged, in the words that all formats share.

use std::path::Path;

use ::eval::{AttemptStanding, Evaluation, LinesOfExecuted, MEASURES, Row};
use tools::Repro;

use crate::cli::verdict;

/// The result for one gist.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The command of the gist, such as `pytest tests/test_a.py::test_b`.
    pub name: String,
    /// The repository, or the suite and the solver.
    pub group: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// The verdict in one line.
    pub headline: String,
    /// The problems, the most severe first, and the notes.
    pub problems: Vec<CheckedProblem>,
    /// Measures, as they are printed.
    pub measures: Vec<(&'static str, String)>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// The verdict on a gist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It does what the original does.
    Passed,
    /// It does not.
    Failed,
    /// Nothing can be said of it.
    Skipped,
    /// The machine failed.
    Broken,
}

/// A finding at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedProblem {
    /// The rule, a word with dashes.
    pub rule: &'static str,
    /// The severity.
    pub level: ProblemLevel,
    /// The message, in one line.
    pub message: String,
    /// The gist, relative to the current directory where it lies below it.
    pub file: String,
    /// 1-based line, where there is one.
    pub line: Option<u32>,
}

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemLevel {
    /// It makes the verdict.
    Error,
    /// It is only said.
    Note,
}

impl Checked {
    /// The verdict on a gist that lies in a file.
    pub fn of_evaluation(evaluation: &Evaluation, gist: &Path) -> Checked {
        let file = gist.to_string_lossy().into_owned();
        let (head, rest) = verdict::headline(evaluation, gist);
        let headline = format!("{head}: {rest}");
        let judged = match evaluation.strict() {
            _ if evaluation.quarantine.is_some() => Verdict::Skipped,
            Some(fidelity) if fidelity.score == 1 => Verdict::Passed,
            Some(_) => Verdict::Failed,
            None => Verdict::Skipped,
        };
        let mut problems = Vec::new();
        if judged == Verdict::Failed {
            problems.push(CheckedProblem {
                rule: "not-faithful",
                level: ProblemLevel::Error,
                message: headline.clone(),
                file: file.clone(),
                line: None,
            });
        }
        let differences = evaluation.strict().map(|fidelity| fidelity.differences);
        problems.extend(differences.iter().flatten().map(|difference| CheckedProblem {
            rule: "difference",
            level: ProblemLevel::Error,
            message: verdict::difference(difference),
            file: file.clone(),
            line: None,
        }));
        let note = |rule, line: u32, message: &str| CheckedProblem {
            rule,
            level: ProblemLevel::Note,
            message: message.to_owned(),
            file: file.clone(),
            line: Some(line).filter(|line| *line > 0),
        };
        let verification = evaluation.verification();
        let foreign = verification.iter().flat_map(|found| &found.grounded.foreign);
        problems.extend(foreign.map(|line| note("foreign", line.line, &line.reason)));
        let notes = evaluation.notes.iter();
        problems.extend(notes.map(|found| note("note", found.line, &found.evidence)));
        let scores = evaluation.scores.iter();
        let mut measures: Vec<_> = scores
            .filter_map(|(measure, score)| Some((measure.label, measure.shown(score.value?))))
            .collect();
        if let Some(size) = evaluation.scores.evidence::<LinesOfExecuted>() {
            measures.push(("lines in the repository", size.repository.lines.to_string()));
        }
        Checked {
            name: evaluation.command.clone(),
            group: evaluation.repository.clone(),
            verdict: judged,
            headline,
            problems,
            measures,
            seconds: evaluation.seconds
                + evaluation.effort.as_ref().map_or(0.0, |effort| effort.wall_seconds),
        }
    }

    /// A repro of a command on a repository, in a file.
    pub fn of_repro(repro: &Repro, (command, repository): (String, &str), file: &Path) -> Checked {
        let (reproduced, runs) = (repro.reproduced, repro.runs);
        let headline = repro.headline();
        let holds = runs > 0 && reproduced == runs;
        let problem = CheckedProblem {
            rule: "not-reproduced",
            level: ProblemLevel::Error,
            message: match &repro.otherwise {
                Some(otherwise) => format!("{headline} ({otherwise})"),
                None => headline.clone(),
            },
            file: file.to_string_lossy().into_owned(),
            line: None,
        };
        Checked {
            name: command,
            group: repository.to_owned(),
            verdict: if holds { Verdict::Passed } else { Verdict::Failed },
            headline,
            problems: if holds { Vec::new() } else { vec![problem] },
            measures: vec![
                ("lines", repro.text.lines().count().to_string()),
                ("reproduced", format!("{reproduced} of {runs}")),
            ],
            seconds: 0.0,
        }
    }

    /// An attempt of a bench, whose files lie below `directory`.
    pub fn of_attempt(row: &Row, directory: &Path) -> Checked {
        let judged = match row.standing {
            AttemptStanding::Scored if row.is_faithful() => Verdict::Passed,
            AttemptStanding::Scored => Verdict::Failed,
            AttemptStanding::Quarantined | AttemptStanding::Unfit => Verdict::Skipped,
            AttemptStanding::Infrastructure => Verdict::Broken,
        };
        let head = match judged {
            Verdict::Passed => "faithful",
            Verdict::Failed => "not faithful",
            Verdict::Skipped | Verdict::Broken => row.standing.name(),
        };
        let category = row.category.map(|category| format!(": {category}")).unwrap_or_default();
        let evidence = Some(row.evidence.as_str()).filter(|evidence| !evidence.is_empty());
        let headline = evidence.map_or_else(
            || format!("{head}{category}"),
            |evidence| format!("{head}{category}: {evidence}"),
        );
        let gist = directory.join(&row.place).join(tools::GIST_NAME);
        let rule = match judged {
            Verdict::Failed => Some("not-faithful"),
            Verdict::Broken => Some("infrastructure"),
            Verdict::Passed | Verdict::Skipped => None,
        };
        let problems = rule.map(|rule| CheckedProblem {
            rule,
            level: ProblemLevel::Error,
            message: format!("{} ({}): {headline}", row.task, row.solver),
            file: gist.to_string_lossy().into_owned(),
            line: None,
        });
        let measures = MEASURES.iter().filter_map(|measure| {
            let value = row.scores.get(measure.name)?;
            Some((measure.label, measure.shown(value)))
        });
        Checked {
            name: match row.repetition {
                1 => row.task.clone(),
                repetition => format!("{} (attempt {repetition})", row.task),
            },
            group: format!("{}.{}", row.suite, row.solver),
            verdict: judged,
            headline,
            problems: problems.into_iter().collect(),
            measures: measures.collect(),
            seconds: row.seconds,
        }
    }
}
