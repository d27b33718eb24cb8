//! The tool that writes the gist by hand: create it, replace an exact text in it, insert or delete
//! lines. It touches nothing but the candidate; where the text stops being Python it says at once.

use graph::{Document, Gist, Source, Syntax};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments},
    toolset::schema,
};

/// The largest gist, in bytes.
pub(crate) const LARGEST: usize = 4 << 20;
/// Lines around a change that the reply shows.
const AROUND: usize = 3;
/// Lines of a reply at most.
const SHOWN: usize = 40;

/// Writes the gist.
#[derive(Debug, Default)]
pub struct EditTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    #[serde(default)]
    text: String,
    #[serde(default)]
    old: String,
    first: Option<usize>,
    last: Option<usize>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Create,
    Replace,
    Insert,
    Delete,
}

/// What the model reads.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Report {
    /// Lines of the gist now.
    lines: usize,
    /// The place of the change as it is now.
    shown: String,
    /// Where it is no Python.
    #[serde(skip_serializing_if = "Option::is_none")]
    syntax_error: Option<String>,
}

impl Tool for EditTool {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn group(&self) -> Group {
        Group::Other
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        Reply::of(&edit_gist(given, session)?)
    }
}

/// Changes a session's gist as the arguments say.
///
/// # Errors
/// A refusal that says what is wrong with them.
pub(crate) fn edit_gist(given: Value, session: &mut Session) -> Result<Report, ToolError> {
    let asked: Arguments = arguments(given)?;
    let old = session.findings.gist.as_ref().map(|gist| gist.text.as_str());
    let (text, report) = edit(old, &asked)?;
    session.findings.by_hand(text);
    Ok(report)
}

/// A gist whose lines nobody followed to their source.
pub(crate) fn by_hand(text: String) -> Gist {
    Gist { text, lines: Vec::new() }
}

fn edit(old: Option<&str>, asked: &Arguments) -> Result<(String, Report), ToolError> {
    let refuse = |message: String| Err(Problem::BadArguments.because(message));
    let (document, at) = match asked.action {
        Action::Create => {
            let text = ended(&asked.text);
            (Document::new(text).map_err(|error| Problem::Failed.because(error))?, 1)
        }
        action => {
            let Some(old) = old else {
                return Err(Problem::NoGist.because("there is no gist to edit (use create)"));
            };
            let mut document =
                Document::new(old).map_err(|error| Problem::Failed.because(error))?;
            let (range, replacement) = match action {
                Action::Replace => {
                    let mut found = old.match_indices(asked.old.as_str());
                    let first = found.next().filter(|_| !asked.old.is_empty());
                    let Some((at, _)) = first else {
                        return refuse(
                            "old does not stand in the gist (copy it exactly)".to_owned(),
                        );
                    };
                    let more = found.count();
                    if more > 0 {
                        let message = format!(
                            "old stands {} times in the gist (add lines around it)",
                            more + 1
                        );
                        return refuse(message);
                    }
                    (at..at + asked.old.len(), asked.text.clone())
                }
                Action::Insert => {
                    let after = asked.first.unwrap_or(usize::MAX);
                    let at = start_of(old, after.saturating_add(1));
                    (at..at, ended(&asked.text))
                }
                Action::Delete => {
                    let lines = old.lines().count();
                    let first = asked.first.unwrap_or(0);
                    let last = asked.last.unwrap_or(first);
                    if first == 0 || last < first || last > lines {
                        let message = format!("lines {first} to {last} are not in 1 to {lines}");
                        return refuse(message);
                    }
                    (start_of(old, first)..start_of(old, last + 1), String::new())
                }
                Action::Create => unreachable!("handled above"),
            };
            let line = old[..range.start].matches('\n').count() + 1;
            document.edit(range, &replacement).map_err(|error| Problem::Failed.because(error))?;
            (document, line)
        }
    };
    let text = document.text().to_owned();
    if text.len() > LARGEST {
        return refuse(format!("the gist would be larger than {LARGEST} bytes"));
    }
    let changed = asked.text.lines().count().max(1);
    let report = Report {
        lines: text.lines().count(),
        shown: shown(&text, at, changed),
        syntax_error: syntax_error(&document),
    };
    Ok((text, report))
}

/// The first place where a text is no Python, by the parser that knows all of it where the one that
/// follows edits sees nothing wrong.
fn syntax_error(document: &Document) -> Option<String> {
    let exact = || {
        let syntax = Syntax::parse(Source::new("gist", document.text()));
        let (line, message) = syntax.errors().into_iter().next()?;
        Some(format!("line {line}: {message}"))
    };
    exact().or_else(|| {
        let problem = document.problem()?;
        Some(format!("line {}, column {}: {}", problem.line, problem.column, problem.message))
    })
}

/// Where a 1-based line begins; the end of the text where there are fewer.
fn start_of(text: &str, line: usize) -> usize {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    before.map(str::len).sum()
}

/// A text that ends in a line break, unless it is empty.
fn ended(text: &str) -> String {
    match text.is_empty() || text.ends_with('\n') {
        true => text.to_owned(),
        false => format!("{text}\n"),
    }
}

fn shown(text: &str, line: usize, changed: usize) -> String {
    let first = line.saturating_sub(AROUND).max(1);
    let wanted = (line - first) + changed + AROUND;
    let mut lines: Vec<String> = (1..)
        .zip(text.lines())
        .skip(first - 1)
        .take(wanted.min(SHOWN))
        .map(|(line, text)| format!("{line:5} {text}"))
        .collect();
    if wanted > SHOWN {
        lines.push(format!("[{} lines more]", wanted - SHOWN));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(old: Option<&str>, asked: Value, expected: Result<(&str, Option<&str>), &str>) {
        let asked: Arguments = serde_json::from_value(asked).unwrap();
        let made = edit(old, &asked).map_err(|error| error.to_string());
        let made =
            made.as_ref().map(|(text, report)| (text.as_str(), report.syntax_error.as_deref()));
        assert_eq!(made.map_err(String::as_str), expected);
    }

    #[test]
    fn the_gist_is_written_and_changed() {
        check(None, json!({"action": "create", "text": "a = 1"}), Ok(("a = 1\n", None)));
        let old = Some("a = 1\nb = 2\nc = 3\n");
        let replace = json!({"action": "replace", "old": "b = 2", "text": "b = é"});
        check(old, replace, Ok(("a = 1\nb = é\nc = 3\n", None)));
        let insert = |first| json!({"action": "insert", "first": first, "text": "x"});
        check(old, insert(0), Ok(("x\na = 1\nb = 2\nc = 3\n", None)));
        check(old, insert(9), Ok(("a = 1\nb = 2\nc = 3\nx\n", None)));
        let delete = |first, last| json!({"action": "delete", "first": first, "last": last});
        check(old, delete(1, 2), Ok(("c = 3\n", None)));
        check(old, delete(3, 4), Err("lines 3 to 4 are not in 1 to 3"));
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let replace = |old| json!({"action": "replace", "old": old, "text": ""});
        check(None, replace("a"), Err("there is no gist to edit (use create)"));
        check(
            Some("a a\n"),
            replace("a"),
            Err("old stands 2 times in the gist (add lines around it)"),
        );
        check(Some("a\n"), replace("b"), Err("old does not stand in the gist (copy it exactly)"));
        check(Some("a\n"), replace(""), Err("old does not stand in the gist (copy it exactly)"));
    }

    #[test]
    fn syntax_errors_have_their_line() {
        let asked: Arguments = serde_json::from_value(
            json!({"action": "create", "text": "a = 1\ndef f(:\n    pass\n"}),
        )
        .unwrap();
        let (_, report) = edit(None, &asked).unwrap();
        assert!(report.syntax_error.unwrap().starts_with("line 2: "));
    }
}
