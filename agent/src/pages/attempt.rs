//! One attempt as its page shows it: steps, verdict, and the gist line by line.

use std::{collections::BTreeMap, fs, path::Path};

use eval::{
    AttemptRecord, Evaluation, LineExecution, OriginalExecution, Row, SourceMap, Sources,
    TaskOutcome, Touched, VouchedExistence, read_result, read_shown,
};
use graph::LineOrigin;
use serde_json::{Value, json};

use crate::{
    message::{Message, TokenUsage},
    trajectory::{TrajectoryRecord, read_trajectory},
    writer::TRAJECTORY,
};

/// An attempt, and its facts about the task.
pub struct AttemptPage {
    /// The command.
    pub command: Option<String>,
    /// The files that the command touches.
    pub touched: Option<Touched>,
    /// Keys of the files that the gist's lines stand in.
    pub texts: Vec<String>,
    /// The rest.
    pub data: Value,
}

/// Longest text of a message that is shown, in characters.
const TEXT: usize = 20_000;

/// Reads the record of an attempt; unreadable parts are omitted.
pub fn attempt(record: &Path, row: &Row) -> AttemptPage {
    let result = read_result(record).ok();
    let (attempt, judged) = match result {
        Some(result) => {
            let judged = match result.outcome {
                TaskOutcome::Judged(judged) => Some(judged),
                TaskOutcome::Unfit(_) | TaskOutcome::Infrastructure(_) => None,
            };
            (result.attempt, judged)
        }
        None => (None, None),
    };
    let (touched, sources, map) = read_shown(record);
    let (said, started) = steps(&record.join(TRAJECTORY));
    let mut data = serde_json::to_value(row).unwrap_or_default();
    let more = json!({
        "standing": row.standing.name(),
        "what": row.what(),
        "outcome": attempt.map(|AttemptRecord { outcome, .. }| outcome),
        "steps": said,
        "differences": differences(judged.as_deref()),
        "different": judged.as_ref().and_then(|judged| Some(judged.strict()?.different)),
        "verification": judged.as_ref().map_or(json!(null), |judged| json!(judged.verification())),
        "notes": judged.as_ref().map_or(json!([]), |judged| json!(judged.notes)),
        "gist": gist(record, judged.as_deref(), map.as_ref(), sources.as_ref()),
        "mapped": map.is_some(),
        "judged_execution": judged.as_ref().is_some_and(|judged| {
            judged.scores.value::<LineExecution>().is_some()
        }),
        "sources": sources.as_ref().map(|sources| &sources.files),
    });
    if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
        data.extend(more);
    }
    let texts = sources.map(|sources| sources.files.into_values().collect()).unwrap_or_default();
    let command = judged.map(|judged| judged.command.clone()).or(started);
    AttemptPage { command, touched, texts, data }
}

fn differences(judged: Option<&Evaluation>) -> Vec<Value> {
    let found = judged.and_then(Evaluation::strict);
    let differences = found.map(|fidelity| fidelity.differences).unwrap_or_default();
    let shown = differences.iter().map(|one| {
        json!({
            "case": one.case,
            "phase": one.phase,
            "what": one.what.to_string(),
            "expected": one.expected,
            "found": one.found,
        })
    });
    shown.collect()
}

/// The gist's lines: text, origin, and what each scorer has against it.
fn gist(
    record: &Path,
    judged: Option<&Evaluation>,
    map: Option<&SourceMap>,
    sources: Option<&Sources>,
) -> Option<Vec<Value>> {
    let text = fs::read_to_string(record.join(tools::GIST_NAME)).ok()?;
    let words = |reason: Value| reason.as_str().unwrap_or_default().replace('_', " ");
    let missing: BTreeMap<u32, String> = judged
        .and_then(|judged| judged.scores.evidence::<VouchedExistence>())
        .map(|existence| {
            let lines = existence.missing.iter();
            lines.map(|line| (line.line, words(json!(line.reason)))).collect()
        })
        .unwrap_or_default();
    let idle: BTreeMap<u32, String> = judged
        .and_then(|judged| {
            let scores = &judged.scores;
            let own = scores.evidence::<OriginalExecution>().map(|own| own.idle);
            own.or_else(|| Some(scores.evidence::<LineExecution>()?.idle))
        })
        .map(|idle| {
            let lines = idle.iter();
            lines.map(|line| (line.line, words(json!(line.reason)))).collect()
        })
        .unwrap_or_default();
    let line = |(at, text): (usize, &str)| {
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let known = map.and_then(|map| map.lines.get(at)).map(|line| &line.origin);
        let glue = match known {
            Some(LineOrigin::Glue(why)) => Some(why),
            Some(LineOrigin::Source(_)) | None => None,
        };
        let origin = sources.and_then(|sources| sources.lines.get(at)).cloned().flatten();
        json!({
            "text": cut(text),
            "origin": origin,
            "glue": glue,
            "missing": missing.get(&number),
            "idle": idle.get(&number),
        })
    };
    Some(text.lines().enumerate().map(line).collect())
}

/// Returns the tokens of each step of an attempt; none if its trajectory cannot be read.
pub fn usage_by_step(record: &Path) -> Vec<(usize, TokenUsage)> {
    let records = read_trajectory(&record.join(TRAJECTORY)).unwrap_or_default();
    let used = records.into_iter().filter_map(|record| match record {
        TrajectoryRecord::Message { step, message: Message::Assistant(answer), .. } => {
            Some((step, answer.usage))
        }
        _ => None,
    });
    used.collect()
}

/// The steps of a trajectory, each call with its reply, and the command that it began with.
fn steps(path: &Path) -> (Vec<Value>, Option<String>) {
    let mut steps: Vec<Value> = Vec::new();
    let mut command = None;
    for record in read_trajectory(path).unwrap_or_default() {
        match record {
            TrajectoryRecord::Start(start) => command = Some(start.command),
            TrajectoryRecord::Message { step, seconds, message } => match message {
                Message::System { content } => {
                    steps.push(said(step, seconds, "rules", &content));
                }
                Message::User { content } => steps.push(said(step, seconds, "task", &content)),
                Message::Assistant(answer) => {
                    let mut shown = said(step, seconds, "assistant", &answer.content);
                    let usage = answer.usage;
                    shown["tokens"] = json!([usage.input, usage.output, usage.cached]);
                    shown["fault"] = json!(answer.fault);
                    shown["reasoning"] = json!(cut(&answer.reasoning));
                    let calls = answer.calls.iter().map(|call| {
                        let arguments = match &call.arguments {
                            Value::String(text) => text.clone(),
                            other => serde_json::to_string_pretty(other).unwrap_or_default(),
                        };
                        json!({
                            "id": call.id,
                            "tool": call.tool,
                            "arguments": cut(&arguments),
                            "content": "",
                            "seconds": null,
                            "refused": false,
                        })
                    });
                    shown["calls"] = calls.collect();
                    steps.push(shown);
                }
                Message::Tool(reply) => {
                    // Replies follow the answer that made their calls.
                    let calls =
                        steps.iter_mut().rev().filter_map(|step| step["calls"].as_array_mut());
                    let call = calls
                        .flatten()
                        .find(|call| call["id"] == json!(reply.id) && call["seconds"].is_null());
                    if let Some(call) = call {
                        call["content"] = json!(cut(&reply.content));
                        call["seconds"] = json!(reply.seconds);
                        call["refused"] = json!(reply.refused);
                    }
                }
            },
            TrajectoryRecord::Condensed { step, seconds, condensed } => {
                let text = format!(
                    "the conversation was condensed from {} to {} tokens",
                    condensed.before, condensed.after
                );
                steps.push(said(step, seconds, "loop", &text));
            }
            TrajectoryRecord::End(_) => {}
        }
    }
    (steps, command)
}

fn said(step: usize, seconds: f64, role: &str, content: &str) -> Value {
    json!({ "step": step, "seconds": seconds, "role": role, "content": cut(content), "calls": [] })
}

/// Returns a text of limited length, with the number of removed bytes.
fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}\n({} bytes more)", &text[..at], text.len() - at),
    }
}
