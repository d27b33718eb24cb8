//! The offline writer: drives the slicer through the same loop and the same tools as any model.
//!
//! Each answer follows from the messages alone: trace, slice, execute, then follow the advice of
//! each `execute` until it repeats. Once a gist agrees with the original, only a few more runs
//! follow. Then the writer returns to the best gist, minimizes it if allowed and if it agrees, and
//! submits it. It keeps no state, reads no file and cannot see the session.

use serde::Deserialize;
use serde_json::{Value, json};
use tools::Standing;

use super::{Model, ModelError, ModelRequest, Pending};
use crate::message::{Answer, Message, ToolCall, ToolReply};

/// Most runs after the first gist that does what the original does, whatever they come to: all are for smaller ones.
const MOST_VERIFYING: usize = 3;

/// Most runs after it where these look for the fewest statements that have to come back.
const MOST_RESTORING: usize = 10;

/// After this many runs at most one more attempt is made to shrink a gist that agrees with the
/// original. With the trace, one more run of a gist as long as its repository takes ten times the
/// command's own time.
const MANY: usize = 4;

/// The deterministic writer.
#[derive(Debug, Default)]
pub struct Offline;

impl Model for Offline {
    fn name(&self) -> &str {
        "offline"
    }

    fn answer<'a>(&'a mut self, request: ModelRequest<'a>) -> Pending<'a> {
        let minimizes = request.tools.iter().any(|tool| tool.name == "minimize");
        let next = next(&events(request.messages), minimizes);
        Box::pin(async { next })
    }
}

/// A call and its reply.
struct Event<'a> {
    call: &'a ToolCall,
    reply: &'a ToolReply,
}

/// A gist that was run: the request that made it, and how well it did.
struct Attempt<'a> {
    request: &'a Value,
    standing: Standing,
    advice: Value,
}

fn events(messages: &[Message]) -> Vec<Event<'_>> {
    let calls = messages.iter().filter_map(|message| match message {
        Message::Assistant(answer) => Some(&answer.calls),
        _ => None,
    });
    let calls: Vec<_> = calls.flatten().collect();
    let replies = messages.iter().filter_map(|message| match message {
        Message::Tool(reply) => Some(reply),
        _ => None,
    });
    replies
        .filter_map(|reply| {
            let call = calls.iter().find(|call| call.id == reply.id)?;
            Some(Event { call, reply })
        })
        .collect()
}

/// `minimizes` tells whether there is a tool for that.
fn next(events: &[Event<'_>], minimizes: bool) -> Result<Answer, ModelError> {
    let Some(last) = events.last() else { return call(events, "trace", json!({})) };
    let attempts = attempts(events);
    let settle = || settle(events, &attempts, minimizes);
    match (last.call.tool.as_str(), last.reply.refused) {
        ("trace", false) => call(events, "slice", json!({})),
        ("slice", false) => {
            let known = attempts.iter().any(|attempt| *attempt.request == last.call.arguments);
            if known { settle() } else { call(events, "execute", json!({})) }
        }
        ("execute", false) => match attempts.last().map(|attempt| &attempt.advice) {
            Some(advice)
                if !advice.is_null() && !tried(events, advice) && !is_enough(&attempts) =>
            {
                call(events, "slice", advice.clone())
            }
            _ => settle(),
        },
        // Whatever it came to, the gist is no worse than before.
        ("minimize", _) => call(events, "submit", json!({})),
        // An advice that does not work leaves what worked before.
        ("slice" | "execute", true) if !attempts.is_empty() => settle(),
        _ => Err(ModelError::Failed(last.reply.content.clone())),
    }
}

/// Submits the best gist, once it is the current one and as small as requested.
fn settle(
    events: &[Event<'_>],
    attempts: &[Attempt<'_>],
    minimizes: bool,
) -> Result<Answer, ModelError> {
    // Of equals the latest: each step of advice makes a gist smaller, or else repairs it.
    let best = attempts.iter().max_by_key(|attempt| attempt.standing);
    if best.is_some_and(|best| best.standing.failure.is_lost()) {
        let message = "the command fails, and none of the gists that were tried does";
        return Err(ModelError::Failed(message.to_owned()));
    }
    let standing =
        events.iter().rev().find(|event| event.call.tool == "slice" && !event.reply.refused);
    match (best, standing) {
        (Some(best), Some(standing)) if *best.request != standing.call.arguments => {
            call(events, "slice", best.request.clone())
        }
        (Some(best), _) if best.standing.same && minimizes => call(events, "minimize", json!({})),
        _ => call(events, "submit", json!({})),
    }
}

fn attempts<'a>(events: &'a [Event<'a>]) -> Vec<Attempt<'a>> {
    let mut attempts = Vec::new();
    let mut request = None;
    for event in events.iter().filter(|event| !event.reply.refused) {
        match (event.call.tool.as_str(), request) {
            ("slice", _) => request = Some(&event.call.arguments),
            ("execute", Some(request)) => {
                let reply: Value = serde_json::from_str(&event.reply.content).unwrap_or_default();
                attempts.push(Attempt {
                    request,
                    standing: Standing::deserialize(&reply["standing"]).unwrap_or_default(),
                    advice: reply["advice"].clone(),
                });
            }
            _ => {}
        }
    }
    attempts
}

/// Returns true if enough attempts were made to shrink a gist that already agrees with the
/// original.
fn is_enough(attempts: &[Attempt<'_>]) -> bool {
    let first = attempts.iter().position(|attempt| attempt.standing.same);
    first.is_some_and(|first| {
        let verifying = attempts.len() - first - 1;
        let advice = attempts.last().map(|attempt| &attempt.advice["restore"]["enough"]);
        if advice.is_some_and(|enough| !enough.is_null()) {
            return verifying >= MOST_RESTORING;
        }
        verifying >= MOST_VERIFYING || verifying >= 1 && attempts.len() >= MANY
    })
}

fn tried(events: &[Event<'_>], request: &Value) -> bool {
    events.iter().any(|event| event.call.tool == "slice" && event.call.arguments == *request)
}

fn call(events: &[Event<'_>], tool: &str, arguments: Value) -> Result<Answer, ModelError> {
    let id = format!("call-{}", events.len() + 1);
    let call = ToolCall { id, tool: tool.to_owned(), arguments };
    Ok(Answer { calls: vec![call], ..Answer::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays replies (tool, content, refused) and checks the calls, in order.
    #[track_caller]
    fn check(replies: &[(&str, Value, bool)], expected: &[&str]) {
        let minimizes = expected.contains(&"minimize {}");
        let mut messages = Vec::new();
        let mut called = Vec::new();
        for turn in 0..=replies.len() {
            let answer = match next(&events(&messages), minimizes) {
                Ok(answer) => answer,
                Err(error) => {
                    called.push(format!("fails: {error}"));
                    break;
                }
            };
            let call = answer.calls[0].clone();
            called.push(format!("{} {}", call.tool, call.arguments));
            messages.push(Message::Assistant(answer));
            let Some((tool, content, refused)) = replies.get(turn) else { break };
            assert_eq!(*tool, call.tool, "after {called:?}");
            let content = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
            let (tool, refused) = ((*tool).to_owned(), *refused);
            messages.push(Message::Tool(ToolReply {
                id: call.id,
                tool,
                content,
                refused,
                seconds: 0.0,
            }));
        }
        assert_eq!(called, expected);
    }

    #[test]
    fn submits_what_agrees_at_once() {
        check(
            &[
                ("trace", json!({}), false),
                ("slice", json!({}), false),
                ("execute", json!({"standing": {"same": true}, "advice": null}), false),
            ],
            &["trace {}", "slice {}", "execute {}", "submit {}"],
        );
    }

    #[test]
    fn minimizes_what_agrees_where_it_may() {
        let begin = [("trace", json!({}), false), ("slice", json!({}), false)];
        let agreeing = json!({"standing": {"same": true}, "advice": null});
        let runs = [("execute", agreeing, false), ("minimize", json!({}), false)];
        check(
            &[begin.clone(), runs].concat(),
            &["trace {}", "slice {}", "execute {}", "minimize {}", "submit {}"],
        );
        let differing = json!({"standing": {"same": false}, "advice": null});
        check(
            &[&begin[..], &[("execute", differing, false)]].concat(),
            &["trace {}", "slice {}", "execute {}", "submit {}"],
        );
    }

    #[test]
    fn follows_advice_until_there_is_none() {
        check(
            &[
                ("trace", json!({}), false),
                ("slice", json!({}), false),
                ("execute", json!({"standing": {"same": false}, "advice": {"keep": ["a"]}}), false),
                ("slice", json!({}), false),
                ("execute", json!({"standing": {"same": true}, "advice": null}), false),
            ],
            &[
                "trace {}",
                "slice {}",
                "execute {}",
                r#"slice {"keep":["a"]}"#,
                "execute {}",
                "submit {}",
            ],
        );
    }

    #[test]
    fn goes_back_to_the_best() {
        check(
            &[
                ("trace", json!({}), false),
                ("slice", json!({}), false),
                ("execute", json!({"standing": {"same": true}, "advice": {"drop": ["a"]}}), false),
                ("slice", json!({}), false),
                ("execute", json!({"standing": {"same": false}, "advice": {}}), false),
                ("slice", json!({}), false),
            ],
            &[
                "trace {}",
                "slice {}",
                "execute {}",
                r#"slice {"drop":["a"]}"#,
                "execute {}",
                "slice {}",
                "submit {}",
            ],
        );
    }

    #[test]
    fn does_not_try_for_ever_to_make_a_gist_smaller() {
        /// Checks the number of runs, given the outcome of each run.
        fn check(outcomes: &str, expected: usize) {
            let run = |at: usize, outcome| Attempt {
                request: &Value::Null,
                standing: Standing { same: outcome == '+', ..Standing::default() },
                advice: json!({"keep": [at]}),
            };
            let attempts: Vec<_> =
                outcomes.chars().enumerate().map(|(at, outcome)| run(at, outcome)).collect();
            let runs = (1..=attempts.len()).find(|runs| is_enough(&attempts[..*runs]));
            assert_eq!(runs, Some(expected), "{outcomes}");
        }
        check("+-------", 4);
        check("-+------", 4);
        check("--+-----", 4);
        check("---+----", 5);
        check("-----+--", 7);
        check("--++++++", 4);
    }

    #[test]
    fn goes_back_to_what_worked_when_enough_was_tried() {
        let advised = |same: bool, advice: &str| json!({"standing": {"same": same}, "advice": {"keep": [advice]}});
        let sliced = || ("slice", json!({}), false);
        let run = |same, advice| ("execute", advised(same, advice), false);
        check(
            &[
                ("trace", json!({}), false),
                sliced(),
                run(false, "a"),
                sliced(),
                run(true, "b"),
                sliced(),
                run(false, "c"),
                sliced(),
                run(false, "d"),
                sliced(),
            ],
            &[
                "trace {}",
                "slice {}",
                "execute {}",
                r#"slice {"keep":["a"]}"#,
                "execute {}",
                r#"slice {"keep":["b"]}"#,
                "execute {}",
                r#"slice {"keep":["c"]}"#,
                "execute {}",
                r#"slice {"keep":["a"]}"#,
                "submit {}",
            ],
        );
    }

    #[test]
    fn says_why_it_cannot_go_on() {
        check(
            &[("trace", json!("collects nothing"), true)],
            &["trace {}", "fails: collects nothing"],
        );
    }

    #[test]
    fn keeps_what_worked_when_advice_is_refused() {
        check(
            &[
                ("trace", json!({}), false),
                ("slice", json!({}), false),
                ("execute", json!({"standing": {"agreeing": 1}, "advice": {"drop": ["a"]}}), false),
                ("slice", json!("no such unit"), true),
            ],
            &["trace {}", "slice {}", "execute {}", r#"slice {"drop":["a"]}"#, "submit {}"],
        );
    }
}
