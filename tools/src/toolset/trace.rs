//! The tool that runs the command on the original, observed, and says what it touched.

use graph::{FileTrace, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{outcomes::Outcomes, schema};
use crate::{
    session::Session,
    tool::{Group, Reply, Tool, ToolError, arguments},
};

/// Traces the original; its trace and execution are then in the session.
#[derive(Debug, Default)]
pub struct TraceTool;

#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Arguments {
    files: usize,
    functions: usize,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { files: 40, functions: 20 }
    }
}

/// What the model reads.
#[derive(Serialize)]
struct Report<'a> {
    python: String,
    #[serde(flatten)]
    outcomes: Outcomes,
    files: Vec<FileReport<'a>>,
    more_files: usize,
}

#[derive(Serialize)]
struct FileReport<'a> {
    path: &'a str,
    lines: usize,
    functions: Vec<&'a str>,
    more_functions: usize,
}

impl Tool for TraceTool {
    fn name(&self) -> &'static str {
        "trace"
    }

    fn group(&self) -> Group {
        Group::Execute
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let bounds: Arguments = arguments(given)?;
        let (execution, trace) = session.traced()?;
        let mut files: Vec<&FileTrace> = trace.files.iter().collect();
        files.sort_by_key(|file| first_touched(file));
        let more_files = files.len().saturating_sub(bounds.files);
        files.truncate(bounds.files);
        Reply::of(&Report {
            python: python(&trace),
            outcomes: Outcomes::of(&execution),
            files: files.into_iter().map(|file| report(file, bounds.functions)).collect(),
            more_files,
        })
    }
}

fn report(file: &FileTrace, most: usize) -> FileReport<'_> {
    let mut lines: Vec<u32> = file.import_lines.iter().chain(&file.test_lines).copied().collect();
    lines.sort_unstable();
    lines.dedup();
    let functions: Vec<&str> =
        file.functions.iter().filter(|function| function.test).map(|f| f.name.as_str()).collect();
    FileReport {
        path: &file.path,
        lines: lines.len(),
        more_functions: functions.len().saturating_sub(most),
        functions: functions.into_iter().take(most).collect(),
    }
}

/// Where on the clock of the run the file's own code began.
fn first_touched(file: &FileTrace) -> u64 {
    file.module_lines.iter().map(|line| line.start).min().unwrap_or(u64::MAX)
}

fn python(trace: &Trace) -> String {
    let (major, minor, micro) = trace.python;
    format!("{major}.{minor}.{micro}")
}
