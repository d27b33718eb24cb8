//! Summarises a run in a few words for a model.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::execute::{CaseReport, Execution};

/// The end of a run and its cases, counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Outcomes {
    /// The way in which the process ended.
    pub(super) ended: String,
    /// Cases by outcome.
    pub(super) cases: BTreeMap<String, usize>,
}

impl Outcomes {
    pub(super) fn of(execution: &Execution) -> Self {
        let mut cases = BTreeMap::new();
        for case in &execution.cases {
            *cases.entry(outcome(case).to_owned()).or_default() += 1;
        }
        Self { ended: execution.status.describe(), cases }
    }
}

/// The outcome of a case: that of its worst phase.
pub(super) fn outcome(case: &CaseReport) -> &str {
    let phase = |outcome: &str| case.phases.iter().find(|phase| phase.outcome == outcome);
    match (phase("failed"), phase("skipped")) {
        (Some(phase), _) if phase.when != "call" => "error",
        (Some(_), _) => "failed",
        (None, Some(phase)) if phase.wasxfail.is_some() => "xfailed",
        (None, Some(_)) => "skipped",
        (None, None) if case.phases.iter().any(|phase| phase.wasxfail.is_some()) => "xpassed",
        (None, None) => "passed",
    }
}

/// Cases that ended with the same outcome in two runs, whatever file they stood in.
pub(super) fn agreeing(original: &Execution, gist: &Execution) -> usize {
    let name =
        |case: &CaseReport| case.id.split_once("::").map_or_else(String::new, |id| id.1.to_owned());
    let outcomes: BTreeMap<String, &str> =
        gist.cases.iter().map(|case| (name(case), outcome(case))).collect();
    let agrees = |case: &&CaseReport| outcomes.get(&name(case)) == Some(&outcome(case));
    original.cases.iter().filter(agrees).count()
}

/// Returns the end of a run's output, and the number of bytes before it.
pub(super) fn tail(execution: &Execution) -> String {
    const SHOWN: usize = 4000;
    let text = [execution.stdout.trim_end(), execution.stderr.trim_end()].join("\n");
    let text = text.trim();
    let start = text.len().saturating_sub(SHOWN);
    let start = (start..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    match start {
        0 => text.to_owned(),
        cut => format!("[{cut} bytes before]\n{}", &text[start..]),
    }
}

/// The same of the first failure alone, where pytest tells of several.
///
/// ```text
/// ____ test_a ____
/// the first
/// ____ test_b ____
/// all others are left out
/// ```
pub(super) fn first_failure(execution: &Execution) -> String {
    let is_head = |line: &str| line.starts_with("____") && line.ends_with("____");
    let lines: Vec<&str> = execution.stdout.lines().collect();
    let mut heads = lines.iter().enumerate().filter(|(_, line)| is_head(line));
    let (Some(_), Some((second, _))) = (heads.next(), heads.next()) else {
        return tail(execution);
    };
    let summary = lines.iter().rposition(|line| line.starts_with("====")).unwrap_or(lines.len());
    let more = lines[second..].iter().filter(|line| is_head(line)).count();
    let cut = format!("[{more} more failures left out]");
    let kept = [&lines[..second], &[cut.as_str()], &lines[summary.max(second)..]].concat();
    tail(&Execution { stdout: kept.join("\n"), ..execution.clone() })
}
