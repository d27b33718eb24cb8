//! Prints the verdict on a gist: a few lines, with all details in `scores.json`.

use std::{fmt::Write, path::Path};

use ::eval::{
    Evaluation, ForeignLine, LinesOfExecuted, Measure, MeasureUnit, OutcomeDifference,
    OutcomeDifferenceKind, Quarantine, Score, SyntaxFault,
};

use super::{Exit, bar::Requirement, progress::printable};

/// Most differences and findings that are shown.
const SHOWN: usize = 5;

/// A verdict on the gist of a file as text, with colours or without.
pub fn verdict(evaluation: &Evaluation, gist: &Path, color: bool) -> String {
    let mut text = String::new();
    opening(&mut text, evaluation, gist, color);
    for (measure, score) in evaluation.scores.iter() {
        if let Some(value) = shown(measure, score) {
            row(&mut text, measure.label, &value);
        }
    }
    if let Some(size) = evaluation.scores.evidence::<LinesOfExecuted>() {
        let (gist, executed, whole) = (size.gist, size.executed, size.repository);
        let line = |name: &str, after: u64, ran: u64, all: u64| {
            format!("{after} {name}  (of {ran} that ran, {all} in the repository)")
        };
        row(&mut text, "size", &line("lines", gist.lines, executed.lines, whole.lines));
        row(&mut text, "", &line("tokens", gist.tokens, executed.tokens, whole.tokens));
    }
    if let Some(effort) = &evaluation.effort {
        let scoring = evaluation.seconds + evaluation.reference.took;
        let tokens = match (effort.tokens_in, effort.tokens_out) {
            (0, 0) => String::new(),
            (read, written) => format!(", {read} tokens read and {written} written"),
        };
        let effort = format!("{} steps in {:.1} s{tokens}", effort.steps, effort.wall_seconds);
        row(&mut text, "effort", &format!("{effort}  (judged in {scoring:.1} s)"));
    }
    if let Some(found) = evaluation.verification() {
        foreign(&mut text, &found.grounded.foreign);
    }
    for note in evaluation.notes.iter().take(SHOWN) {
        row(&mut text, "note", &note.to_string());
    }
    if let Some(alone) = &evaluation.alone {
        row(&mut text, "in an empty directory", &alone.to_string());
    }
    text
}

/// The verdict on the gist of a file in a word or two, and its evidence, in one line.
pub fn headline(evaluation: &Evaluation, gist: &Path) -> (&'static str, String) {
    let strict = evaluation.strict();
    let (head, rest) = match (&evaluation.quarantine, &strict) {
        (Some(quarantine), _) => ("not scored", set_aside(quarantine)),
        (None, Some(fidelity)) if fidelity.score == 1 => {
            let cases = match fidelity.cases {
                0 => "the run ends as on the original".to_owned(),
                1 => "its one case ends as on the original".to_owned(),
                cases => format!("all {cases} cases end as on the original"),
            };
            ("faithful", cases)
        }
        (None, _) => {
            let cause = evaluation.cause.as_ref();
            let cause = cause.map(|cause| match &cause.syntax {
                None => format!("{}: {}", cause.category, cause.evidence),
                Some(SyntaxFault { line, column, message }) => format!(
                    "{}:{line}:{column}: syntax error: {message} ({}: {})",
                    gist.display(),
                    cause.category,
                    cause.evidence
                ),
            });
            ("not faithful", cause.unwrap_or_else(|| "no cause is known".to_owned()))
        }
    };
    (head, one_line(&rest))
}

/// A difference in one line.
pub fn difference(difference: &OutcomeDifference) -> String {
    let place = [&*difference.case, &*difference.phase].join(" ");
    let (expected, found) = (&difference.expected, &difference.found);
    let told =
        format!("{} {}: original {expected}, gist {found}", place.trim(), what(difference.what));
    one_line(told.trim())
}

/// Returns the exit code after a verdict.
pub fn exit(evaluation: &Evaluation, required: Requirement) -> Exit {
    match evaluation.strict() {
        Some(fidelity) if fidelity.score == 1 && required.is_met(evaluation) => Exit::Success,
        Some(_) => Exit::NotFaithful,
        // Nothing can be said of the gist, because nothing can be said of the command.
        None => Exit::Input,
    }
}

fn opening(text: &mut String, evaluation: &Evaluation, gist: &Path, color: bool) {
    let (head, rest) = headline(evaluation, gist);
    let code = match head {
        "faithful" => "32",
        "not faithful" => "31",
        _ => "33",
    };
    let head = match color {
        true => format!("\x1b[1;{code}m{head}\x1b[0m"),
        false => head.to_owned(),
    };
    let _ = writeln!(text, "{head}: {rest}");
    let Some(fidelity) = evaluation.strict() else { return };
    for difference in fidelity.differences.iter().take(SHOWN) {
        let place = [&*difference.case, &*difference.phase].join(" ");
        let _ = writeln!(text, "  {} {}", one_line(place.trim()), what(difference.what));
        let _ = writeln!(text, "    original  {}", one_line(&difference.expected));
        let _ = writeln!(text, "    gist      {}", one_line(&difference.found));
    }
    if fidelity.different > SHOWN as u64 {
        let _ = writeln!(text, "  and {} more differences", fidelity.different - SHOWN as u64);
    }
}

/// The lines that are neither the original's nor glue.
fn foreign(text: &mut String, foreign: &[ForeignLine]) {
    for line in foreign.iter().take(SHOWN) {
        // A fault of the whole file quotes no line.
        let shown = if line.text.is_empty() { &line.reason } else { &line.text };
        row(text, "foreign", &format!("line {}: {shown}", line.line));
    }
    if foreign.len() > SHOWN {
        row(text, "foreign", &format!("and {} more", foreign.len() - SHOWN));
    }
}

fn row(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<25}  {}", one_line(value));
}

/// Returns the value of a score with a short remark; `None` for a value that needs no mention.
fn shown(measure: &Measure, score: &Score) -> Option<String> {
    let value = score.value?;
    let remark = match measure.remark(score) {
        words if words.is_empty() => words,
        words => format!("  ({words})"),
    };
    match measure.unit {
        MeasureUnit::Success | MeasureUnit::Share => {
            Some(format!("{}{remark}", measure.shown(value)))
        }
        MeasureUnit::Fault => (value > 0.0).then(|| format!("yes{remark}")),
        // The row on size has them.
        MeasureUnit::Count | MeasureUnit::Ratio => None,
    }
}

fn one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

fn what(what: OutcomeDifferenceKind) -> &'static str {
    match what {
        OutcomeDifferenceKind::End => "end of the run",
        OutcomeDifferenceKind::ExitCode => "exit code",
        OutcomeDifferenceKind::Collected => "collected tests",
        OutcomeDifferenceKind::Collection => "error of collection",
        OutcomeDifferenceKind::Missing => "missing",
        OutcomeDifferenceKind::Outcome => "outcome",
        OutcomeDifferenceKind::ExceptionType => "type of the exception",
        OutcomeDifferenceKind::ExceptionMessage => "message of the exception",
        OutcomeDifferenceKind::ExceptionCause => "exception shown with it",
        OutcomeDifferenceKind::Reason => "reason",
        OutcomeDifferenceKind::Stdout => "standard output",
        OutcomeDifferenceKind::Stderr => "standard error",
        OutcomeDifferenceKind::Log => "log",
    }
}

fn set_aside(quarantine: &Quarantine) -> String {
    match quarantine {
        Quarantine::Unstable(reason) => format!("the command has no stable outcome: {reason}"),
        Quarantine::Network(reason) => format!("the command uses the network: {reason}"),
        Quarantine::OverTime => "in some runs the command exceeds its time limit".to_owned(),
    }
}
