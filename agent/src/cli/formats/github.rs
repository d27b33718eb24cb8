//! Annotations of GitHub's workflows: one workflow command a line.
//!
//! Form: "Workflow commands for GitHub Actions", `::error file={name},line={line},title={title}::{message}`.

use std::fmt::Write;

use super::{Checked, ProblemLevel, Verdict};

/// Writes a command for each problem; a gist without problems has none.
pub fn write(results: &[Checked]) -> String {
    let mut text = String::new();
    for result in results {
        for problem in &result.problems {
            let command = match problem.level {
                ProblemLevel::Error => "error",
                ProblemLevel::Note => "notice",
            };
            let _ = write!(text, "::{command} file={}", property(&problem.file));
            if let Some(line) = problem.line {
                let _ = write!(text, ",line={line}");
            }
            let title = format!("gistify {}", problem.rule);
            let _ = writeln!(text, ",title={}::{}", property(&title), message(&problem.message));
        }
        if result.verdict == Verdict::Skipped {
            let _ = writeln!(
                text,
                "::warning title=gistify::{}",
                message(&format!("{}: {}", result.name, result.headline))
            );
        }
    }
    text
}

/// A message as the runner decodes it.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property's value as the runner decodes it.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
