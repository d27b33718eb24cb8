//! The tool that runs a command on the original, observed, and says what it touched: functions in the order
//! in which they were first entered, with their classes, and the lines that were executed in each file.

use std::collections::BTreeSet;

use graph::{EntityKind, FileTrace, FunctionTrace, Graph, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{execute::ranges, outcomes::Outcomes};
use crate::{
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
};

/// Traces the original; its trace and execution are then in the session.
#[derive(Debug, Default)]
pub struct TraceTool;

#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Arguments {
    command: String,
    path: String,
    files: usize,
    functions: usize,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { command: String::new(), path: String::new(), files: 40, functions: 400 }
    }
}

/// The reply to the model.
#[derive(Serialize)]
struct Report {
    python: String,
    #[serde(flatten)]
    outcomes: Outcomes,
    /// Functions in the order in which they were first entered, those in a row of one file together.
    entered: Vec<Entered>,
    more_functions: usize,
    /// Files in the order in which they were first touched.
    files: Vec<FileReport>,
    more_files: usize,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Entered {
    path: String,
    /// `Class.method:line`; entered before the first test and not in it: `Class.method:line (import)`.
    functions: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct FileReport {
    path: String,
    /// Lines executed from the first test on.
    lines: String,
    /// Lines executed before it, by imports and collection, and not in it.
    import_lines: String,
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
        let asked: Arguments = arguments(given)?;
        let graph = session.graph();
        if asked.command.is_empty() {
            let (execution, trace) = session.traced()?;
            return Reply::of(&report(&graph, &trace, Outcomes::of(&execution), &asked)?);
        }
        let (execution, trace) = session.trace_of(&asked.command)?;
        Reply::of(&report(&graph, &trace, Outcomes::of(&execution), &asked)?)
    }
}

fn report(
    graph: &Graph,
    trace: &Trace,
    outcomes: Outcomes,
    asked: &Arguments,
) -> Result<Report, ToolError> {
    let is_shown = |file: &&FileTrace| asked.path.is_empty() || file.path == asked.path;
    let mut files: Vec<&FileTrace> = trace.files.iter().filter(is_shown).collect();
    if files.is_empty() && !asked.path.is_empty() {
        let message = format!("not found: the command executes nothing of {}", asked.path);
        return Err(Problem::NotFound.because(message));
    }
    files.sort_by_key(|file| first_touched(file));
    let (entered, more_functions) = entered(graph, &files, asked.functions);
    let more_files = files.len().saturating_sub(asked.files);
    files.truncate(asked.files);
    let (major, minor, micro) = trace.python;
    Ok(Report {
        python: format!("{major}.{minor}.{micro}"),
        outcomes,
        entered,
        more_functions,
        files: files.into_iter().map(file_report).collect(),
        more_files,
    })
}

/// The functions of files in the order in which they were first entered, at most so many, and the number of
/// others.
fn entered(graph: &Graph, files: &[&FileTrace], most: usize) -> (Vec<Entered>, usize) {
    let mut all: Vec<(&FileTrace, &FunctionTrace)> = files
        .iter()
        .flat_map(|file| file.functions.iter().map(move |function| (*file, function)))
        .collect();
    all.sort_by_key(|(file, function)| (function.order, &file.path, function.line));
    let more = all.len().saturating_sub(most);
    let mut groups: Vec<Entered> = Vec::new();
    for (file, function) in all.into_iter().take(most) {
        let phase = if function.test { "" } else { " (import)" };
        let name = format!("{}:{}{phase}", named(graph, &file.path, function), function.line);
        match groups.last_mut().filter(|group| group.path == file.path) {
            Some(group) => group.functions.push(name),
            None => groups.push(Entered { path: file.path.clone(), functions: vec![name] }),
        }
    }
    (groups, more)
}

/// The name of a function within its file, with the classes and functions that it stands in.
fn named(graph: &Graph, path: &str, function: &FunctionTrace) -> String {
    let module = graph.modules.iter().find(|module| module.path == path);
    let within = module.and_then(|module| {
        let first = module.entity.0 as usize;
        let own = graph.entities[first..].iter().enumerate();
        let own = own.take_while(|(_, entity)| graph.module(entity.module).path == path);
        let mut found = own.filter(|(_, entity)| {
            entity.kind == EntityKind::Function
                && entity.line == function.line
                && entity.name == function.name
        });
        let (at, _) = found.next()?;
        let id = graph::EntityId(u32::try_from(first + at).ok()?);
        graph.qualified(id).strip_prefix(&format!("{}.", module.name)).map(str::to_owned)
    });
    within.unwrap_or_else(|| function.name.clone())
}

fn file_report(file: &FileTrace) -> FileReport {
    let test: BTreeSet<u32> = file.test_lines.iter().copied().collect();
    let import = file.import_lines.iter().copied().filter(|line| !test.contains(line));
    FileReport {
        path: file.path.clone(),
        import_lines: ranges(import),
        lines: ranges(test.iter().copied()),
    }
}

/// When a file's own code began, or its first function was entered where that was not seen.
fn first_touched(file: &FileTrace) -> (u64, u64) {
    let module = file.module_lines.iter().map(|line| line.start).min().unwrap_or(u64::MAX);
    let function = file.functions.iter().map(|function| function.order).min().unwrap_or(u64::MAX);
    (module, function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_come_in_the_order_of_their_first_call() {
        let graph = Graph::of_sources([
            ("a.py", "class A:\n    def last(self): pass\n    def first(self): pass\n"),
            ("b.py", "def z(): pass\ndef y(): pass\n"),
        ]);
        let function = |line, name: &str, order| FunctionTrace {
            line,
            name: name.to_owned(),
            test: order > 0,
            import: order == 0,
            order,
            ..FunctionTrace::default()
        };
        let file = |path: &str, functions| FileTrace {
            path: path.to_owned(),
            functions,
            test_lines: vec![1, 2, 3, 5],
            import_lines: vec![1, 9],
            ..FileTrace::default()
        };
        let a = file("a.py", vec![function(2, "last", 4), function(3, "first", 1)]);
        let b =
            file("b.py", vec![function(1, "z", 2), function(2, "y", 3), function(9, "gone", 0)]);
        let (groups, more) = entered(&graph, &[&a, &b], 10);
        let shown: Vec<String> = groups
            .iter()
            .map(|group| format!("{} {}", group.path, group.functions.join(" ")))
            .collect();
        let expected = ["b.py gone:9 (import)", "a.py A.first:3", "b.py z:1 y:2", "a.py A.last:2"];
        assert_eq!((shown, more), (expected.map(str::to_owned).to_vec(), 0));
        assert_eq!(file_report(&a).lines, "1-3 5");
        assert_eq!(file_report(&a).import_lines, "9");
    }
}
