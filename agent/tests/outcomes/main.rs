//! Every way in which a session can end, brought about by a scripted model and tools made for it, and
//! what is on disk afterwards.

// The interpreters are those that the tools are tested with.
extern crate tools as gistify_tools;

#[allow(dead_code, reason = "some of it is for other tests")]
mod packages;
mod puppet;
#[path = "../../../tools/tests/observe/pythons.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod pythons;

use gistify::{
    Agent, Answer, Config, Context, End, Message, Model, ModelError, ModelRequest, Outcome,
    Pending, Prompts, Scripted, SessionLimits, SimilarityMeasure, Spent, TokenUsage, ToolCall,
    Trajectory, TrajectoryRecord, read_trajectory,
};
use puppet::{Puppet, limits, session, start};
use serde_json::{Value, json};
use tools::Toolset;

/// Never answers.
struct Silent;

impl Model for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn answer<'a>(&'a mut self, _: ModelRequest<'a>) -> Pending<'a> {
        Box::pin(std::future::pending())
    }
}

/// Runs a session; gives its end and the messages on disk after the first two.
fn play(model: &mut dyn Model, limits: &SessionLimits) -> (End, Vec<Message>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trajectory.jsonl");
    let trajectory = Trajectory::create(&path, start(), Box::new(|_| {})).unwrap();
    let mut session = session(directory.path(), limits);
    let toolset = Toolset::new(vec![Box::new(Puppet)]);
    let prompts = Prompts::load(None).unwrap();
    let settings = Config::defaults().settings().unwrap();
    let agent = Agent {
        model,
        toolset: &toolset,
        session: &mut session,
        prompts: &prompts,
        writer: &settings.writer,
        context: Context::new(settings.context.clone(), SimilarityMeasure::Words),
        limits,
        spent: &Spent::default(),
        trajectory,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let end = runtime.block_on(agent.run()).unwrap();
    packages::validate(directory.path());
    let records = read_trajectory(&path).unwrap();
    assert!(matches!(records.first(), Some(TrajectoryRecord::Start(_))), "{records:?}");
    assert_eq!(
        records.last(),
        Some(&TrajectoryRecord::End(end.clone())),
        "the outcome is the last line"
    );
    let messages = records.into_iter().filter_map(|record| match record {
        TrajectoryRecord::Message { message, .. } => Some(message),
        TrajectoryRecord::Start(_)
        | TrajectoryRecord::Condensed { .. }
        | TrajectoryRecord::End(_) => None,
    });
    (end, messages.skip(2).collect())
}

#[track_caller]
fn check(
    mut model: impl Model,
    limits: &SessionLimits,
    outcome: Outcome,
    steps: usize,
) -> Vec<Message> {
    let (end, messages) = play(&mut model, limits);
    assert_eq!((end.outcome, end.steps), (outcome, steps), "{messages:?}");
    messages
}

fn act(what: &str) -> Value {
    json!({ "do": what })
}

#[test]
fn submitted() {
    let model = Scripted::new().call("submit", act("")).call("submit", act("submit"));
    let messages = check(model, &limits(), Outcome::Submitted, 2);
    let Message::Tool(reply) = &messages[1] else { panic!("{messages:?}") };
    assert_eq!((reply.content.as_str(), reply.refused), (r#"{"nothing":"done"}"#, false));
}

#[test]
fn step_limit() {
    let model = (0..9).fold(Scripted::new(), |model, _| model.call("submit", act("")));
    check(model, &limits(), Outcome::StepLimit, 5);
}

#[test]
fn token_limit() {
    let usage = TokenUsage { input: 900, output: 200, ..TokenUsage::default() };
    let call = ToolCall { id: "1".to_owned(), tool: "submit".to_owned(), arguments: act("") };
    let answer = Answer { calls: vec![call], usage, ..Answer::default() };
    let model = Scripted::new().then(Ok(answer)).call("submit", act("submit"));
    check(model, &limits(), Outcome::TokenLimit, 1);
}

#[test]
fn time_limit_while_a_tool_works() {
    let model = Scripted::new().call("submit", act("sleep")).call("submit", act("submit"));
    let limits = SessionLimits { seconds: 0.2, ..limits() };
    check(model, &limits, Outcome::TimeLimit, 1);
}

#[test]
fn d09_time_in_which_the_program_stands_still_is_nobodys() {
    let model = Scripted::new().call("submit", act("stand still")).call("submit", act("submit"));
    let limits = SessionLimits { seconds: 0.2, ..limits() };
    check(model, &limits, Outcome::Submitted, 2);
}

#[test]
fn time_limit_while_the_model_thinks() {
    check(Silent, &SessionLimits { seconds: 0.2, ..limits() }, Outcome::TimeLimit, 0);
}

#[test]
fn repeated_format_errors() {
    let model = Scripted::new().say("what now?").say("and now?").call("submit", act("submit"));
    let messages = check(model, &limits(), Outcome::FormatErrors, 2);
    assert!(matches!(&messages[1], Message::User { content } if content.contains("submit")));
}

#[test]
fn a_call_between_format_errors_forgives_them() {
    let fault = Some("not JSON".to_owned());
    let unreadable = || Ok(Answer { fault: fault.clone(), ..Answer::default() });
    let model = Scripted::new()
        .say("hm")
        .call("submit", act(""))
        .then(unreadable())
        .call("submit", act("submit"));
    let messages = check(model, &limits(), Outcome::Submitted, 4);
    assert!(messages.iter().any(|message| {
        matches!(message, Message::User { content } if content.contains("not JSON"))
    }));
}

#[test]
fn model_failure() {
    let message = "the script is at its end".to_owned();
    check(Scripted::new(), &limits(), Outcome::ModelFailure { message }, 0);
}

#[test]
fn d07_paused_by_a_quota() {
    let message = "429: insufficient_quota".to_owned();
    let model = Scripted::new().then(Err(ModelError::Paused(message.clone())));
    check(model, &limits(), Outcome::Paused { message }, 0);
}

#[test]
fn context_limit() {
    let model = Scripted::new().then(Err(ModelError::TooLong("too long".to_owned())));
    check(model, &limits(), Outcome::ContextLimit { message: "too long".to_owned() }, 0);
}

#[test]
fn cost_limit() {
    let call = ToolCall { id: "1".to_owned(), tool: "submit".to_owned(), arguments: act("") };
    let answer = Answer { calls: vec![call], cost: Some(2.0), ..Answer::default() };
    let model = Scripted::new().then(Ok(answer)).call("submit", act("submit"));
    check(model, &SessionLimits { cost: 1.5, ..limits() }, Outcome::CostLimit, 1);
}

#[test]
fn fatal_tool() {
    let model = Scripted::new().call("submit", act("fail"));
    check(model, &limits(), Outcome::Fatal { message: "the disk is full".to_owned() }, 1);
}

#[test]
fn fatal_panic_of_a_tool() {
    let model = Scripted::new().call("submit", act("panic"));
    check(model, &limits(), Outcome::Fatal { message: "tool submit panicked".to_owned() }, 1);
}

#[test]
fn interrupted_while_a_tool_works() {
    let model = Scripted::new().call("submit", act("interrupt"));
    check(model, &limits(), Outcome::Interrupted, 1);
}

#[test]
fn refusals_are_read_by_the_model() {
    let model = Scripted::new()
        .call("submit", act("refuse"))
        .call("sumbit", json!({}))
        .call("submit", act("submit"));
    let messages = check(model, &limits(), Outcome::Submitted, 3);
    let replies = messages.iter().filter_map(|message| match message {
        Message::Tool(reply) if reply.refused => Some(reply.content.as_str()),
        _ => None,
    });
    assert_eq!(
        replies.collect::<Vec<_>>(),
        [
            "no file a.py. Check the name and call submit again.",
            "no tool \"sumbit\" (there are submit). Call one of these instead.",
        ]
    );
}

#[test]
fn a_dropped_session_leaves_an_outcome() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trajectory.jsonl");
    drop(Trajectory::create(&path, start(), Box::new(|_| {})).unwrap());
    let records = read_trajectory(&path).unwrap();
    assert!(matches!(
        records.last(),
        Some(TrajectoryRecord::End(End { outcome: Outcome::Fatal { .. }, .. }))
    ));
}

#[test]
fn a_torn_last_line_is_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trajectory.jsonl");
    let mut trajectory = Trajectory::create(&path, start(), Box::new(|_| {})).unwrap();
    trajectory.append(&Message::User { content: "a".repeat(50) }).unwrap();
    drop(trajectory);
    let whole = std::fs::read(&path).unwrap();
    let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    for end in 0..whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        let records = read_trajectory(&path).unwrap();
        let complete = lines(&whole[..end]);
        assert!(records.len() == complete || records.len() == complete + 1, "cut at {end}");
    }
    std::fs::write(&path, b"nonsense\n{}\n").unwrap();
    assert!(read_trajectory(&path).unwrap_err().to_string().contains("line 1"));
}
