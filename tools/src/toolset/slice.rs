//! The tool that writes a gist from the trace.

use std::{collections::BTreeSet, time::Instant};

use graph::{Gist, Plan, Reason, Source};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    candidate::Internal,
    clock::process_cpu,
    normalize::INTERNAL,
    session::Session,
    slice::{SliceRequest, Slicer},
    tool::{Group, Problem, Reply, Tool, ToolError, arguments},
};

/// Slices the trace; the gist and its plan are then in the session.
#[derive(Debug, Default)]
pub struct SliceTool;

/// The reply to the model. The whole plan stays in the session: it is as long as the gist.
#[derive(Serialize)]
struct Report<'a> {
    lines: usize,
    glue: Vec<&'a str>,
    more_glue: usize,
    units: usize,
    left_out: usize,
    uncalled: usize,
    collisions: usize,
    notes: Vec<&'a str>,
    more_notes: usize,
}

/// Most entries of each list of a report.
const SHOWN: usize = 20;

impl Tool for SliceTool {
    fn name(&self) -> &'static str {
        "slice"
    }

    fn group(&self) -> Group {
        Group::Other
    }

    fn schema(&self) -> Value {
        let default = serde_json::to_value(SliceRequest::default()).unwrap_or_default();
        like(&default)
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let request: SliceRequest = arguments(given)?;
        let Some(trace) = session.findings.trace.clone() else {
            return Err(Problem::NoTrace.because("the command was not traced yet"));
        };
        if session.findings.slicer.is_none() {
            let root = &session.repository.root;
            let internal = Internal::of(&trace, root, &session.command)?;
            let tests = tests(session);
            let slicer = Slicer::new(trace, root, tests, &internal.support, session.gist_path());
            let mut slicer = slicer.map_err(|error| Problem::Failed.because(error))?;
            slicer.need(session.needs_of_extensions()?);
            session.findings.slicer = Some(slicer);
        }
        let Some(slicer) = &session.findings.slicer else {
            return Err(ToolError::Fatal("the slicer was lost".to_owned()));
        };
        let (began, cpu) = (Instant::now(), process_cpu());
        let (plan, gist) = slicer.slice(&request);
        // Other sessions may be at work in this process: neither clock alone tells what this one took.
        let took = process_cpu().saturating_sub(cpu).min(began.elapsed());
        let reply = report(&plan, &gist);
        let findings = &mut session.findings;
        *findings.slicing.get_or_insert_default() += took;
        // The writer goes back to an earlier gist by writing it anew; that one has run.
        findings.standing = findings.best.as_ref().and_then(|best| best.standing_of(&gist));
        (findings.plan, findings.gist, findings.request) = (Some(plan), Some(gist), request);
        reply
    }
}

/// Returns the path and names of the command's tests. For a file that the command names as a whole,
/// also those of each collected test, which may have been skipped or be defined elsewhere.
fn tests(session: &Session) -> Vec<(String, Vec<String>)> {
    let named: Vec<_> =
        session.command.tests().into_iter().map(|test| (test.path, test.names)).collect();
    let original = || session.findings.original.iter();
    let cases = original().flat_map(|original| &original.cases).map(|case| case.id.as_str());
    // What could not be collected is told by its id, or in the message of the error.
    let uncollected = original().flat_map(|original| &original.collection_errors);
    let uncollected = uncollected.flat_map(|(id, raised)| {
        let told = raised.message.split_whitespace().filter(|word| word.contains("::"));
        told.map(|word| word.trim_end_matches(':')).chain([id.as_str()])
    });
    let collected: BTreeSet<Vec<String>> = cases
        .chain(uncollected)
        .map(|id| {
            let id = id.split('[').next().unwrap_or_default();
            let names: Vec<&str> = id.split("::").skip(1).collect();
            // That of a doctest is its module's and the object's whose docstring it is.
            let object = names.first().and_then(|name| name.strip_prefix(INTERNAL));
            let names = object.map_or(names, |object| match object.strip_prefix('.') {
                Some(object) => object.split('.').collect(),
                None => vec![graph::DOCSTRING],
            });
            names.into_iter().map(str::to_owned).collect()
        })
        .filter(|names: &Vec<String>| !names.is_empty())
        .collect();
    let whole = named.iter().filter(|(_, names)| names.is_empty());
    let found =
        whole.flat_map(|(path, _)| collected.iter().map(|names| (path.clone(), names.clone())));
    let found: Vec<_> = found.chain(looked_at(session)).collect();
    named.into_iter().chain(found).collect()
}

/// Returns the objects that `python -m doctest` reports: those with examples, and with `-v` also
/// those without.
fn looked_at(session: &Session) -> Vec<(String, Vec<String>)> {
    let command = &session.command;
    if !command.is_doctest() {
        return Vec::new();
    }
    let is_verbose = command.args().iter().any(|arg| arg == "-v" || arg == "--verbose");
    let paths = command.tests().into_iter().map(|test| test.path);
    let read = |path: String| {
        // Where a file cannot be read, the run of the original says so.
        let bytes = std::fs::read(session.repository.root.join(&path)).ok()?;
        Some((Source::decode(path.as_str(), &bytes).ok()?, path))
    };
    let files = paths.filter(|path| path.ends_with(".py")).filter_map(read);
    let found = files.flat_map(|(source, path)| {
        let all = graph::documented(source).into_iter();
        let told = all.filter(|one| one.examples.is_some() || is_verbose);
        told.map(move |one| (path.clone(), one.names)).collect::<Vec<_>>()
    });
    found.collect()
}

fn report(plan: &Plan, gist: &Gist) -> Result<Reply, ToolError> {
    let glue: Vec<&str> = gist
        .text
        .lines()
        .zip(&gist.lines)
        .filter(|(_, line)| matches!(line.origin, graph::LineOrigin::Glue(_)))
        .map(|(text, _)| text)
        .collect();
    Reply::of(&Report {
        lines: gist.lines.len(),
        more_glue: glue.len().saturating_sub(SHOWN),
        glue: glue.into_iter().take(SHOWN).collect(),
        units: plan.kept.len(),
        left_out: plan.dropped.iter().filter(|kept| kept.reason == Reason::LeftOut).count(),
        uncalled: plan.stubs.len(),
        collisions: plan.collisions.len(),
        more_notes: plan.notes.len().saturating_sub(SHOWN),
        notes: plan.notes.iter().take(SHOWN).map(String::as_str).collect(),
    })
}

/// Returns the schema of records like this one. Every field has a default and is optional.
fn like(value: &Value) -> Value {
    match value {
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(_) => json!({ "type": "integer" }),
        Value::String(_) => json!({ "type": "string" }),
        // Nothing by default, else a list.
        Value::Array(_) | Value::Null => json!({ "type": "array" }),
        Value::Object(fields) => {
            let fields: Map<_, _> =
                fields.iter().map(|(key, value)| (key.clone(), like(value))).collect();
            json!({ "type": "object", "properties": fields, "additionalProperties": false })
        }
    }
}
