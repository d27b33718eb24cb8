//! The tool that writes a file in the working directory of a query, or replaces one text in such a file. It refuses
//! inputs, symbolic links and paths outside of the directory.

use std::{
    fs,
    io::{ErrorKind, Read},
};

use graph::{Source, Syntax};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{INPUTS, QueryWork};
use crate::{
    patch::{is_inside, link_above},
    session::Session,
    snapshot::open_regular,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
};

/// The largest file, in bytes.
const LARGEST: usize = 4 << 20;

/// Writes a file.
#[derive(Debug, Default)]
pub struct WriteFileTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    text: String,
    old: Option<String>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Written {
    path: String,
    lines: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    syntax_error: Option<String>,
}

impl Tool for WriteFileTool {
    fn name(&self) -> &'static str {
        "write_file"
    }

    fn group(&self) -> Group {
        Group::Other
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let asked: Arguments = arguments(given)?;
        let query = session.findings.query.as_ref();
        let query = query.ok_or_else(|| Problem::WrongStage.because("the session has no query"))?;
        Reply::of(&write(&query.work, &asked)?)
    }
}

fn write(work: &QueryWork, asked: &Arguments) -> Result<Written, ToolError> {
    let path = asked.path.trim_start_matches("./");
    let refuse = |reason: String| Err(Problem::BadArguments.because(reason));
    if !is_inside(path) {
        return refuse(format!("{path:?} is no path within the working directory"));
    }
    if path == INPUTS || path.starts_with("inputs/") {
        return refuse(format!("{path}: inputs are not written"));
    }
    if let Some(link) = link_above(work.root(), path) {
        return refuse(format!(
            "{path}: {link} is a symbolic link (write to a directory that is not a link)"
        ));
    }
    let whole = work.root().join(path);
    match whole.symlink_metadata() {
        Ok(there) if !there.is_file() => return refuse(format!("{path} is no regular file")),
        _ => {}
    }
    let failed = |reason: String| Problem::Failed.because(format!("write {path}: {reason}"));
    let text = match &asked.old {
        None => asked.text.clone(),
        Some(old) if old.is_empty() => {
            return refuse("`old` is empty (leave it out to replace all)".to_owned());
        }
        Some(old) => {
            let mut before = String::new();
            let opened = open_regular(&whole).map_err(|error| match error.kind() {
                ErrorKind::NotFound => Problem::NotFound.because(format!("there is no {path}")),
                _ => failed(error.to_string()),
            })?;
            let read = opened.0.take(LARGEST as u64 + 1).read_to_string(&mut before);
            read.map_err(|error| failed(error.to_string()))?;
            if before.len() > LARGEST {
                return refuse(format!("{path} is larger than {LARGEST} bytes"));
            }
            match before.matches(old.as_str()).count() {
                1 => before.replacen(old.as_str(), &asked.text, 1),
                count => {
                    let message =
                        format!("`old` occurs {count} times in {path}, and has to occur once");
                    return refuse(message);
                }
            }
        }
    };
    if text.len() > LARGEST {
        return refuse(format!("{path} would be larger than {LARGEST} bytes"));
    }
    let parent = whole.parent().unwrap_or(work.root());
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(&whole, &text))
        .map_err(|error| failed(error.to_string()))?;
    let error = path.ends_with(".py").then(|| Syntax::parse(Source::new(path, text.as_str())));
    let error = error.and_then(|syntax| syntax.errors().into_iter().next());
    Ok(Written {
        path: path.to_owned(),
        lines: text.lines().count(),
        syntax_error: error.map(|(line, message)| format!("line {line}: {message}")),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn check(work: &QueryWork, (path, text, old): (&str, &str, Option<&str>), expected: &str) {
        let asked =
            Arguments { path: path.to_owned(), text: text.to_owned(), old: old.map(str::to_owned) };
        let told = match write(work, &asked) {
            Ok(Written { lines, syntax_error, .. }) => {
                format!("{lines} {}", syntax_error.unwrap_or_default())
            }
            Err(error) => error.to_string(),
        };
        assert!(told.starts_with(expected), "{path}: {told}");
    }

    #[test]
    fn files_of_the_work_alone_are_written() {
        let place = tempfile::tempdir().unwrap();
        let [root, inputs] = ["work", "inputs"].map(|name| place.path().join(name));
        for directory in [&root.join("outputs"), &inputs] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(inputs.join("a.csv"), "a\n").unwrap();
        std::os::unix::fs::symlink(&inputs, root.join("inputs")).unwrap();
        std::os::unix::fs::symlink(place.path(), root.join("away")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", root.join("outputs/output.txt")).unwrap();
        let work = QueryWork { root: root.clone(), inputs: inputs.clone() };
        for (asked, expected) in [
            (("solve.py", "x = 1\n", None), "1 "),
            (("./solve.py", "def f(:\n", None), "1 line 1: "),
            (("solve.py", "f():", Some("f(:")), "1 "),
            (("solve.py", "x", Some("y")), "`old` occurs 0 times in solve.py"),
            (("new/deep.txt", "a\nb", None), "2 "),
            (("none.py", "x", Some("y")), "there is no none.py"),
            (("inputs/a.csv", "b", None), "inputs/a.csv: inputs are not written"),
            (("../out.py", "", None), "\"../out.py\" is no path within the working directory"),
            (("/tmp/out.py", "", None), "\"/tmp/out.py\" is no path"),
            (("away/out.py", "", None), "away/out.py: away is a symbolic link"),
            (("outputs/output.txt", "", None), "outputs/output.txt is no regular file"),
            (("outputs", "", None), "outputs is no regular file"),
        ] {
            check(&work, asked, expected);
        }
        assert_eq!(fs::read_to_string(root.join("solve.py")).unwrap(), "def f():\n");
        assert_eq!(fs::read_to_string(inputs.join("a.csv")).unwrap(), "a\n");
        let read = |path: &str| {
            work.open(path).map(|mut file| {
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                text
            })
        };
        assert_eq!(read("inputs/a.csv").unwrap(), "a\n");
        assert!(read("inputs/../../work/solve.py").is_err());
        assert!(work.open("away").is_err() && !Path::new("/tmp/out.py").exists());
    }
}
