//! Converts trajectories to the Agent Trajectory Interchange Format, version 1.8, for other
//! programs.
//!
//! An answer, its calls and their replies are one step there. Nothing is omitted; facts without a
//! field in the format are in `extra`.

use serde_json::{Map, Value, json};

use crate::{
    message::{Answer, Message},
    trajectory::{End, Start, TrajectoryRecord},
};

/// A trajectory in that format; `None` where the records do not begin with a start.
pub fn atif(records: &[TrajectoryRecord]) -> Option<Value> {
    let Some(TrajectoryRecord::Start(start)) = records.first() else { return None };
    let mut steps: Vec<Value> = Vec::new();
    for record in &records[1..] {
        let at = steps.len() + 1;
        match record {
            TrajectoryRecord::Message { seconds, message, .. } => match message {
                Message::System { content } => {
                    steps.push(said(at, start, *seconds, "system", content))
                }
                Message::User { content } => steps.push(said(at, start, *seconds, "user", content)),
                Message::Assistant(answer) => {
                    steps.push(answered(at, start, *seconds, answer));
                }
                Message::Tool(reply) => {
                    let result = json!({
                        "source_call_id": reply.id,
                        "content": reply.content,
                        "extra": { "refused": reply.refused, "seconds": reply.seconds },
                    });
                    let Some(step) = steps.last_mut() else { continue };
                    match step["observation"]["results"].as_array_mut() {
                        Some(results) => results.push(result),
                        None => step["observation"] = json!({ "results": [result] }),
                    }
                }
            },
            TrajectoryRecord::Condensed { condensed, seconds, .. } => {
                let mut step = said(at, start, *seconds, "system", "");
                step["extra"] = json!({ "condensed": condensed });
                steps.push(step);
            }
            TrajectoryRecord::Start(_) | TrajectoryRecord::End(_) => {}
        }
    }
    let mut whole = json!({
        "schema_version": "ATIF-v1.8",
        "agent": {
            "name": "gistify",
            "version": start.versions.get("gistify").map_or("", String::as_str),
            "model_name": start.model,
            "extra": { "tools": start.tools, "versions": start.versions, "settings": start.settings },
        },
        "steps": steps,
        "extra": {
            "repository": start.repository,
            "fingerprint": start.fingerprint,
            "command": start.command,
        },
    });
    if let Some(TrajectoryRecord::End(end)) = records.last() {
        whole["final_metrics"] = totals(end, steps_of(&whole));
        whole["extra"]["outcome"] = json!(end.outcome);
    }
    Some(whole)
}

fn steps_of(whole: &Value) -> usize {
    whole["steps"].as_array().map_or(0, Vec::len)
}

fn said(at: usize, start: &Start, seconds: f64, source: &str, content: &str) -> Value {
    json!({
        "step_id": at,
        "timestamp": timestamp(start, seconds),
        "source": source,
        "message": content,
    })
}

fn answered(at: usize, start: &Start, seconds: f64, answer: &Answer) -> Value {
    let mut step = said(at, start, seconds, "agent", &answer.content);
    if !answer.calls.is_empty() {
        step["tool_calls"] = answer
            .calls
            .iter()
            .map(|call| {
                let arguments = match &call.arguments {
                    Value::Object(_) => call.arguments.clone(),
                    other => json!({ "unreadable": other }),
                };
                json!({ "tool_call_id": call.id, "function_name": call.tool, "arguments": arguments })
            })
            .collect();
    }
    if answer.usage.total() > 0 {
        let mut metrics = json!({
            "prompt_tokens": answer.usage.input,
            "completion_tokens": answer.usage.output,
            "cached_tokens": answer.usage.cached,
        });
        if let Some(cost) = answer.cost {
            metrics["cost_usd"] = cost.into();
        }
        step["metrics"] = metrics;
        if !answer.reasoning.is_empty() {
            step["reasoning_content"] = answer.reasoning.as_str().into();
        }
    } else if start.model == "offline" {
        step["llm_call_count"] = 0.into();
    }
    if let Some(fault) = &answer.fault {
        step["extra"] = json!({ "fault": fault });
    }
    step
}

fn totals(end: &End, steps: usize) -> Value {
    let mut totals = Map::new();
    totals.insert("total_prompt_tokens".into(), end.usage.input.into());
    totals.insert("total_completion_tokens".into(), end.usage.output.into());
    totals.insert("total_cached_tokens".into(), end.usage.cached.into());
    totals.insert("total_steps".into(), steps.into());
    if let Some(cost) = end.cost {
        totals.insert("total_cost_usd".into(), cost.into());
    }
    Value::Object(totals)
}

/// The moment some seconds after a start, in RFC 3339.
pub(crate) fn timestamp(start: &Start, seconds: f64) -> String {
    let whole = i64::try_from(start.time).unwrap_or(0);
    let span = jiff::SignedDuration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default();
    let time = jiff::Timestamp::from_second(whole).and_then(|time| time.checked_add(span));
    time.map(|time| time.to_string()).unwrap_or_default()
}
