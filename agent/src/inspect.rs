//! Converts a run's trajectory and its scores to a log of Inspect (`.eval`, version 2), for its readers and viewer.
//!
//! A run is a log with one sample. The file is an archive of JSON members; this page makes their texts and nothing else.

use serde_json::{Map, Value, json};

use crate::{
    atif::timestamp,
    message::{Answer, Message, TokenUsage},
    outcome::Outcome,
    trajectory::{End, Start, TrajectoryRecord},
};

/// Returns the members of the archive by their names; `None` where the records do not begin with a start.
///
/// `scores` is the run's `scores.json`, as far as it was judged.
pub fn inspect_log(
    records: &[TrajectoryRecord],
    scores: Option<&Value>,
) -> Option<Vec<(String, Value)>> {
    let Some(TrajectoryRecord::Start(start)) = records.first() else { return None };
    let end = match records.last() {
        Some(TrajectoryRecord::End(end)) => Some(end),
        _ => None,
    };
    let scores = scores.map(sample_scores).unwrap_or_default();
    let sample = sample(start, end, records, &scores);
    let summary = summary(&sample);
    let name = format!("samples/{SAMPLE}_epoch_1.json");
    Some(vec![
        (name, sample),
        ("summaries.json".to_owned(), json!([summary])),
        ("header.json".to_owned(), header(start, end, &scores)),
    ])
}

/// The id of the only sample.
const SAMPLE: &str = "1";

fn header(start: &Start, end: Option<&End>, scores: &Map<String, Value>) -> Value {
    let task =
        blake3::hash(format!("{}\n{}", start.fingerprint, start.command).as_bytes()).to_hex();
    let run = blake3::hash(format!("{task} {} {}", start.model, start.time).as_bytes()).to_hex();
    let metrics = scores.iter().filter_map(|(name, score)| {
        let value = score["value"].as_f64()?;
        let mean = json!({ "name": "mean", "value": value });
        Some(json!({ "name": name, "scorer": "gistify", "metrics": { "mean": mean } }))
    });
    let metrics: Vec<Value> = metrics.collect();
    let mut whole = json!({
        "version": 2,
        "status": status(end),
        "eval": {
            "created": timestamp(start, 0.0),
            "run_id": run[..22],
            "task_id": task[..22],
            "task": start.command,
            "dataset": { "name": start.repository, "samples": 1, "sample_ids": [SAMPLE] },
            "model": start.model,
            "config": { "epochs": 1 },
            "packages": start.versions,
            "metadata": { "fingerprint": start.fingerprint, "settings": start.settings },
        },
        "plan": { "name": "gistify", "steps": [{ "solver": "gistify", "params": { "tools": start.tools } }] },
    });
    if let Some(end) = end {
        whole["results"] = json!({
            "total_samples": 1,
            "completed_samples": usize::from(failure(&end.outcome).is_none()),
            "scores": metrics,
        });
        whole["stats"] = json!({
            "started_at": timestamp(start, 0.0),
            "completed_at": timestamp(start, end.seconds),
            "model_usage": { &start.model: usage(end.usage, end.cost) },
        });
        if let Some(error) = failure(&end.outcome).filter(|_| status(Some(end)) == "error") {
            whole["error"] = error;
        }
    }
    whole
}

/// Returns the status of a log. A limit ends a sample and no evaluation.
fn status(end: Option<&End>) -> &'static str {
    match end.map(|end| &end.outcome) {
        None => "started",
        Some(Outcome::Interrupted) => "cancelled",
        Some(Outcome::ModelFailure { .. } | Outcome::Paused { .. } | Outcome::Fatal { .. }) => {
            "error"
        }
        Some(_) => "success",
    }
}

fn failure(outcome: &Outcome) -> Option<Value> {
    match outcome {
        Outcome::ModelFailure { .. }
        | Outcome::Paused { .. }
        | Outcome::Fatal { .. }
        | Outcome::Interrupted => {
            let message = outcome.to_string();
            Some(json!({ "message": message, "traceback": message, "traceback_ansi": message }))
        }
        _ => None,
    }
}

fn sample(
    start: &Start,
    end: Option<&End>,
    records: &[TrajectoryRecord],
    scores: &Map<String, Value>,
) -> Value {
    let messages: Vec<Value> = records.iter().filter_map(|record| message(start, record)).collect();
    let input = messages.iter().find(|one| one["role"] == "user");
    let last = messages.iter().rfind(|one| one["role"] == "assistant");
    let choices: Vec<Value> =
        last.iter().map(|one| json!({ "message": one, "stop_reason": "stop" })).collect();
    let mut sample = json!({
        "id": SAMPLE,
        "epoch": 1,
        "input": input.map_or("", |one| one["content"].as_str().unwrap_or_default()),
        "target": "",
        "messages": messages,
        "output": { "model": start.model, "choices": choices },
        "scores": scores,
        "metadata": { "repository": start.repository, "command": start.command },
        "store": {},
        "events": [],
        "attachments": {},
    });
    if let Some(end) = end {
        sample["metadata"]["outcome"] = json!(end.outcome);
        sample["metadata"]["calls"] = json!(end.calls);
        sample["model_usage"] = json!({ &start.model: usage(end.usage, end.cost) });
        sample["started_at"] = timestamp(start, 0.0).into();
        sample["completed_at"] = timestamp(start, end.seconds).into();
        sample["total_time"] = end.seconds.into();
        if let Some(limit) = limit(start, &end.outcome) {
            sample["limit"] = limit;
        }
        if let Some(error) = failure(&end.outcome) {
            sample["error"] = error;
        }
    }
    sample
}

/// The fields of a sample that a list of samples shows.
fn summary(sample: &Value) -> Value {
    let shown = [
        "id",
        "epoch",
        "input",
        "target",
        "metadata",
        "model_usage",
        "started_at",
        "completed_at",
        "total_time",
    ];
    let mut summary: Map<String, Value> = Map::new();
    for field in shown {
        if let Some(value) = sample.get(field) {
            summary.insert(field.to_owned(), value.clone());
        }
    }
    let scores = sample["scores"].as_object().into_iter().flatten();
    let values = scores.map(|(name, score)| (name.clone(), json!({ "value": score["value"] })));
    summary.insert("scores".to_owned(), Value::Object(values.collect()));
    summary.insert("completed".to_owned(), sample.get("completed_at").is_some().into());
    if let Some(message) = sample["error"].get("message") {
        summary.insert("error".to_owned(), message.clone());
    }
    if let Some(kind) = sample["limit"].get("type") {
        summary.insert("limit".to_owned(), kind.clone());
    }
    Value::Object(summary)
}

/// The limit that ended a session, with its value in the settings.
fn limit(start: &Start, outcome: &Outcome) -> Option<Value> {
    let (kind, value) = match outcome {
        Outcome::StepLimit => ("message", &start.settings["session"]["steps"]),
        Outcome::TokenLimit => ("token", &start.settings["session"]["tokens"]),
        Outcome::CostLimit => ("cost", &start.settings["session"]["cost"]),
        Outcome::TimeLimit => ("time", &start.settings["session"]["seconds"]),
        Outcome::ContextLimit { .. } => ("context", &start.settings["context"]["window_tokens"]),
        _ => return None,
    };
    Some(
        json!({ "type": kind, "limit": value.as_f64().unwrap_or(0.0), "reason": outcome.to_string() }),
    )
}

fn message(start: &Start, record: &TrajectoryRecord) -> Option<Value> {
    Some(match record {
        TrajectoryRecord::Message { message, .. } => match message {
            Message::System { content } => json!({ "role": "system", "content": content }),
            Message::User { content } => json!({ "role": "user", "content": content }),
            Message::Assistant(answer) => assistant(start, answer),
            Message::Tool(reply) => {
                let mut told = json!({
                    "role": "tool",
                    "content": reply.content,
                    "tool_call_id": reply.id,
                    "function": reply.tool,
                    "metadata": { "seconds": reply.seconds },
                });
                if reply.refused {
                    told["error"] = json!({ "type": "unknown", "message": reply.content });
                }
                told
            }
        },
        TrajectoryRecord::Condensed { condensed, .. } => {
            json!({ "role": "system", "content": "", "metadata": { "condensed": condensed } })
        }
        TrajectoryRecord::Start(_) | TrajectoryRecord::End(_) => return None,
    })
}

fn assistant(start: &Start, answer: &Answer) -> Value {
    let calls = answer.calls.iter().map(|call| {
        let mut told = json!({ "id": call.id, "function": call.tool, "arguments": {} });
        match &call.arguments {
            Value::Object(_) => told["arguments"] = call.arguments.clone(),
            other => told["parse_error"] = format!("no JSON object: {other}").into(),
        }
        told
    });
    let content = match answer.reasoning.as_str() {
        "" => json!(answer.content),
        reasoning => json!([
            { "type": "reasoning", "reasoning": reasoning },
            { "type": "text", "text": answer.content },
        ]),
    };
    let mut told = json!({
        "role": "assistant",
        "content": content,
        "source": "generate",
        "model": start.model,
        "tool_calls": calls.collect::<Vec<_>>(),
    });
    if let Some(fault) = &answer.fault {
        told["metadata"] = json!({ "fault": fault });
    }
    told
}

fn usage(usage: TokenUsage, cost: Option<f64>) -> Value {
    json!({
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "total_tokens": usage.total(),
        "input_tokens_cache_read": usage.cached,
        "input_tokens_cache_write": usage.stored,
        "total_cost": cost,
    })
}

/// Each measure that has a value, with its evidence. What is not scored is left out: it is no zero.
fn sample_scores(scores: &Value) -> Map<String, Value> {
    let measures = scores["scores"].as_object().into_iter().flatten();
    let scored = measures.filter(|(_, measure)| measure["value"].is_number());
    scored
        .map(|(name, measure)| {
            let score = json!({ "value": measure["value"], "metadata": { "evidence": measure["evidence"] } });
            (name.clone(), score)
        })
        .collect()
}
