//! The tool that writes the gist by hand: create it, replace an exact text or lines in it, insert or delete
//! lines. It touches nothing but the candidate; where the text stops being Python, or takes a name that
//! nothing defines, it says so at once.

use std::{fmt, ops::Range};

use graph::{Document, Gist, OutlineError, Source, Syntax, undefined, with_number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    session::{Findings, Session},
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
};

/// The largest gist, in bytes.
pub(crate) const LARGEST: usize = 4 << 20;
/// Lines around a change that the reply shows.
const AROUND: usize = 3;
/// Lines of a reply at most.
const SHOWN: usize = 40;
/// Undefined names that a reply lists at most.
const NAMES: usize = 30;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Create,
    Replace,
    Insert,
    Delete,
}

/// The reply to the model.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct EditReport {
    /// Lines of the gist now.
    lines: usize,
    /// The place of the change as it is now; nothing of a gist that was just written whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    shown: String,
    /// The syntax error, if the gist does not parse.
    #[serde(skip_serializing_if = "Option::is_none")]
    syntax_error: Option<String>,
    /// Names that it takes from its module and does not define, each with its first line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    undefined: Vec<String>,
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

/// Changes a session's gist as its arguments request.
///
/// # Errors
/// A refusal with the reason.
pub(crate) fn edit_gist(given: Value, session: &mut Session) -> Result<EditReport, ToolError> {
    let asked: Arguments = arguments(given)?;
    let Findings { gist, parsed, .. } = &mut session.findings;
    let old = gist.as_ref().map(|gist| gist.text.as_str());
    let report = edit(old, parsed, &asked)?;
    let text = parsed.0.as_ref().map(|document| document.text().to_owned());
    session.findings.by_hand(text.unwrap_or_default());
    Ok(report)
}

/// The gist with its syntax tree, so that the next edit re-parses only the changed part. It is
/// obsolete once another tool wrote the gist.
#[derive(Default)]
pub struct Parsed(Option<Document>);

impl fmt::Debug for Parsed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.is_some() { "Parsed" } else { "Unparsed" })
    }
}

/// A gist whose lines nobody followed to their source.
pub(crate) fn by_hand(text: String) -> Gist {
    Gist { text, lines: Vec::new() }
}

fn edit(
    old: Option<&str>,
    parsed: &mut Parsed,
    asked: &Arguments,
) -> Result<EditReport, ToolError> {
    let failed = |error: OutlineError| Problem::Failed.because(error);
    let refuse = |message: String| Err(Problem::BadArguments.because(message));
    let too_large = |bytes: usize| {
        (bytes > LARGEST).then(|| format!("the gist would be larger than {LARGEST} bytes"))
    };
    let (document, at) = if asked.action == Action::Create {
        if let Some(message) = too_large(asked.text.len()) {
            return refuse(message);
        }
        (Document::new(ended(&asked.text)).map_err(failed)?, 1)
    } else {
        let Some(old) = old else {
            return Err(Problem::NoGist.because("there is no gist to edit (use create)"));
        };
        let (range, replacement) = change(old, asked)?;
        if let Some(message) = too_large(old.len() - range.len() + replacement.len()) {
            return refuse(message);
        }
        let known = parsed.0.take().filter(|document| document.text() == old);
        let mut document = known.map_or_else(|| Document::new(old), Ok).map_err(failed)?;
        let line = old[..range.start].matches('\n').count() + 1;
        document.edit(range, &replacement).map_err(failed)?;
        (document, line)
    };
    let changed = asked.text.lines().count().max(1);
    let syntax_error = syntax_error(&document);
    let report = EditReport {
        lines: document.text().lines().count(),
        shown: match asked.action {
            Action::Create => String::new(),
            _ => shown(document.text(), at, changed),
        },
        undefined: match &syntax_error {
            Some(_) => Vec::new(),
            None => listed(undefined(document.text())),
        },
        syntax_error,
    };
    parsed.0 = Some(document);
    Ok(report)
}

/// Undefined names as they are told; of many the first, and how many there are.
pub(crate) fn listed(names: Vec<(u32, String)>) -> Vec<String> {
    let more = names.len().saturating_sub(NAMES);
    let first = names.into_iter().take(NAMES).map(|(line, name)| format!("{name} (line {line})"));
    first.chain((more > 0).then(|| format!("and {more} more"))).collect()
}

/// The bytes of a gist that change, and what they become.
fn change(old: &str, asked: &Arguments) -> Result<(Range<usize>, String), ToolError> {
    let refuse = |message: String| Err(Problem::BadArguments.because(message));
    match asked.action {
        Action::Create => Ok((0..old.len(), ended(&asked.text))),
        Action::Replace if asked.first.is_some() => {
            if !asked.old.is_empty() {
                return refuse("old and first are two ways to say what is replaced".to_owned());
            }
            Ok((line_bytes(old, asked)?, ended(&asked.text)))
        }
        Action::Replace => {
            let mut found = old.match_indices(asked.old.as_str());
            let Some((at, _)) = found.next().filter(|_| !asked.old.is_empty()) else {
                return refuse("old does not stand in the gist (copy it exactly)".to_owned());
            };
            match found.count() {
                0 => Ok((at..at + asked.old.len(), asked.text.clone())),
                more => refuse(format!(
                    "old stands {} times in the gist (add lines around it)",
                    more + 1
                )),
            }
        }
        Action::Insert => {
            let lines = old.lines().count();
            let after = asked.first.unwrap_or(lines);
            if after > lines {
                return refuse(format!("line {after} is not in 0 to {lines}"));
            }
            let at = start_of(old, after + 1);
            Ok((at..at, ended(&asked.text)))
        }
        Action::Delete => Ok((line_bytes(old, asked)?, String::new())),
    }
}

/// The bytes of the lines that are asked for.
fn line_bytes(old: &str, asked: &Arguments) -> Result<Range<usize>, ToolError> {
    let lines = old.lines().count();
    let first = asked.first.unwrap_or(0);
    let last = asked.last.unwrap_or(first);
    if first == 0 || last < first || last > lines {
        let message = format!("lines {first} to {last} are not in 1 to {lines}");
        return Err(Problem::BadArguments.because(message));
    }
    Ok(start_of(old, first)..start_of(old, last + 1))
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

/// Returns the offset of a 1-based line, or the end of the text if it has fewer lines.
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
    let there = text.lines().count().saturating_sub(first - 1);
    let wanted = ((line - first) + changed + AROUND).min(there);
    let mut lines: Vec<String> = (1..)
        .zip(text.lines())
        .skip(first - 1)
        .take(wanted.min(SHOWN))
        .map(|(line, text)| with_number(line, text))
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
        let mut parsed = Parsed::default();
        let made = edit(old, &mut parsed, &asked).map_err(|error| error.to_string());
        let text = parsed.0.as_ref().map_or("", Document::text);
        let made = made.as_ref().map(|report| (text, report.syntax_error.as_deref()));
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
        check(old, insert(9), Err("line 9 is not in 0 to 3"));
        let append = json!({"action": "insert", "text": "x"});
        check(old, append, Ok(("a = 1\nb = 2\nc = 3\nx\n", None)));
        let lines = json!({"action": "replace", "first": 2, "last": 3, "text": "d = 4"});
        check(old, lines, Ok(("a = 1\nd = 4\n", None)));
        let both = json!({"action": "replace", "first": 2, "old": "b = 2", "text": "d = 4"});
        check(old, both, Err("old and first are two ways to say what is replaced"));
        let delete = |first, last| json!({"action": "delete", "first": first, "last": last});
        check(old, delete(1, 2), Ok(("c = 3\n", None)));
        check(old, delete(3, 4), Err("lines 3 to 4 are not in 1 to 3"));
    }

    /// There is nothing but the gist to be named, so no path can be.
    #[test]
    fn s17_no_other_file_is_named() {
        for path in ["../../x", "/etc/passwd", "away/x", "concise.py"] {
            for key in ["path", "file", "target"] {
                let asked = json!({ "action": "create", "text": "x", key: path });
                let refused = arguments::<Arguments>(asked).err().expect("a refusal");
                assert!(matches!(refused, ToolError::Refused(_)), "{refused}");
            }
        }
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
    fn an_edit_re_parses_what_stands_and_nothing_that_is_gone() {
        let asked = |value: Value| -> Arguments { serde_json::from_value(value).unwrap() };
        let mut parsed = Parsed::default();
        let create = asked(json!({"action": "create", "text": "def f():\n    return 1\n"}));
        edit(None, &mut parsed, &create).unwrap();
        let replace =
            |old: &str, text: &str| asked(json!({"action": "replace", "old": old, "text": text}));
        let text = |parsed: &Parsed| parsed.0.as_ref().unwrap().text().to_owned();
        let mut now = text(&parsed);
        for (old, new, error) in
            [("return 1", "return (1", true), ("(1", "(1)", false), ("f()", "f(a)", false)]
        {
            let report = edit(Some(&now), &mut parsed, &replace(old, new)).unwrap();
            assert_eq!(report.syntax_error.is_some(), error, "{old}");
            now = text(&parsed);
        }
        assert_eq!(now, "def f(a):\n    return (1)\n");
        // Somebody else wrote the gist meanwhile, and a refusal changes nothing.
        let theirs = "x = 1\n";
        assert!(edit(Some(theirs), &mut parsed, &replace("def", "")).is_err());
        edit(Some(theirs), &mut parsed, &replace("1", "2")).unwrap();
        assert_eq!(text(&parsed), "x = 2\n");
    }

    #[test]
    fn undefined_names_are_told() {
        let asked: Arguments = serde_json::from_value(
            json!({"action": "create", "text": "import os\n\ndef f():\n    return os.sep + LIMIT\n"}),
        )
        .unwrap();
        let report = edit(None, &mut Parsed::default(), &asked).unwrap();
        assert_eq!(
            (report.undefined, report.shown),
            (vec!["LIMIT (line 4)".to_owned()], String::new())
        );
    }

    #[test]
    fn syntax_errors_have_their_line() {
        let asked: Arguments = serde_json::from_value(
            json!({"action": "create", "text": "a = 1\ndef f(:\n    pass\n"}),
        )
        .unwrap();
        let report = edit(None, &mut Parsed::default(), &asked).unwrap();
        assert!(report.syntax_error.unwrap().starts_with("line 2: "));
    }
}
