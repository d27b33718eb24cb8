//! The tool of the stage EDIT: changes the requested files by line numbers, one file after the other.
//!
//! All numbers of a call are those of the file as it is shown, whatever its other edits do. A Python file that
//! parsed has to parse afterwards. The last file ends the session.

use graph::{Source, Syntax};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::request::Turn;
use crate::{
    edit::LARGEST,
    patch::{LineEdit, apply_edits},
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
    view::counted,
};

/// Edits the file whose turn it is.
#[derive(Debug, Default)]
pub struct EditFileTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    #[serde(default)]
    edits: Vec<LineEdit>,
    first: Option<u32>,
    last: Option<u32>,
}

impl Tool for EditFileTool {
    fn name(&self) -> &'static str {
        "edit_file"
    }

    fn group(&self) -> Group {
        Group::Other
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let asked: Arguments = arguments(given)?;
        let chain = &mut session.findings.chain;
        let none = || Problem::WrongStage.because("no file waits for edits");
        let file = chain.repaired()?.current().ok_or_else(none)?;
        let path = asked.path.trim().trim_start_matches("./");
        if path != file.path {
            let message = format!("it is the turn of file {}, not of {path}", file.path);
            return Err(Problem::BadArguments.because(message));
        }
        let before = file.before.as_deref().unwrap_or_default();
        if asked.first.is_some() || asked.last.is_some() {
            if !asked.edits.is_empty() {
                let message = "first and last show lines, and edits change them (one at a time)";
                return Err(Problem::BadArguments.because(message));
            }
            let (first, last) = (asked.first.unwrap_or(1), asked.last.unwrap_or(u32::MAX));
            return Reply::of(&counted(path, before, |line| (first..=last).contains(&line)));
        }
        let after = edited(path, before, &asked.edits)
            .map_err(|message| Problem::BadArguments.because(message))?;
        file.after = Some(after);
        chain.unseen = Some(self.name());
        let submitted = chain.repaired()?.current().is_none();
        Ok(Reply { submitted, ..Reply::of(&Turn::of(session))? })
    }
}

/// The text of a file after its edits.
fn edited(path: &str, before: &str, edits: &[LineEdit]) -> Result<String, String> {
    let after = apply_edits(before, edits).map_err(|error| format!("{path}: {error}"))?;
    if after.len() > LARGEST.max(before.len()) {
        return Err(format!("{path} would be larger than {LARGEST} bytes"));
    }
    let is_python = path.ends_with(".py") || path.ends_with(".pyi");
    let error = |text: &str| Syntax::parse(Source::new(path, text)).errors().into_iter().next();
    match is_python.then(|| error(&after)).flatten() {
        Some((line, message)) if error(before).is_none() => {
            Err(format!("{path} would have a syntax error in its new line {line}: {message}"))
        }
        _ => Ok(after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, before: &str, edit: (usize, usize, &str), expected: Result<&str, &str>) {
        let edit = LineEdit { first: edit.0, last: edit.1, text: edit.2.to_owned() };
        let after = edited(path, before, &[edit]);
        assert_eq!(after.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn python_that_parsed_has_to_parse_afterwards() {
        check("a.py", "x = 1\n", (1, 1, "x = 2"), Ok("x = 2\n"));
        let error =
            edited("a.py", "x = 1\n", &[LineEdit { first: 1, last: 1, text: "x = (".into() }]);
        assert!(error.unwrap_err().starts_with("a.py would have a syntax error in its new line "));
        check("a.txt", "x = 1\n", (1, 1, "x = ("), Ok("x = (\n"));
        check("a.py", "print 'x'\n", (2, 1, "print 'y'"), Ok("print 'x'\nprint 'y'\n"));
        check("a.py", "x = 1\n", (2, 2, "y"), Err("a.py: lines 2 to 2 are not in 1 to 1"));
    }
}
