//! A table in Markdown, for a comment on a pull request or the summary of a job.

use std::fmt::Write;

use super::{Checked, Verdict};

/// Writes a row for each gist, and the problems of those that have some.
pub fn write(results: &[Checked]) -> String {
    let mut text = "| gist of | verdict | measures |\n|---|---|---|\n".to_owned();
    for result in results {
        let sign = match result.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed => "**failed**",
            Verdict::Skipped => "not scored",
            Verdict::Broken => "**the machine failed**",
        };
        let measures: Vec<_> =
            result.measures.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let _ = writeln!(
            text,
            "| `{}` | {sign} | {} |",
            cell(&result.name),
            cell(&measures.join(", "))
        );
    }
    for result in results.iter().filter(|result| !result.problems.is_empty()) {
        let _ = writeln!(text, "\n`{}` ({}):\n", cell(&result.name), escaped(&result.group));
        for problem in &result.problems {
            let line = problem.line.map(|line| format!(" line {line}:")).unwrap_or_default();
            let _ = writeln!(text, "- {}:{line} {}", problem.rule, escaped(&problem.message));
        }
    }
    text
}

/// A text inside of a table's cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r', '`'], " ")
}

/// A text that is no markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '#' | '|' | '~' | '&' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
