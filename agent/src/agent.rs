//! The loop: calls the model, executes its tool calls, shows it the replies, until one of the ends.
//! Start reading here.
//!
//! It knows no provider, no particular tool and no score. Every sentence that it adds comes from
//! `prompts/`, every limit from the settings, and every message is on disk before the next request.

use std::time::Instant;

use serde_json::{Value, json};
use tools::{Session, ToolError, Toolset};

use crate::{
    config::{SessionLimits, WriterSettings},
    context::Context,
    limits::{self, Step},
    message::{Answer, Message, ToolCall, ToolReply},
    model::{Model, ModelRequest, Spent, ToolSpec},
    opening::opening,
    outcome::Outcome,
    prompt::{Prompts, TaskKind},
    trajectory::{End, Trajectory, TrajectoryError},
};

/// A model at work on one task.
pub struct Agent<'a> {
    /// The model that decides.
    pub model: &'a mut dyn Model,
    /// The tools that it may call.
    pub toolset: &'a Toolset,
    /// The session on which the tools act.
    pub session: &'a mut Session,
    /// The prompts.
    pub prompts: &'a Prompts,
    /// The settings of the writer.
    pub writer: &'a WriterSettings,
    /// The messages that the model sees.
    pub context: Context,
    /// When it has to stop.
    pub limits: &'a SessionLimits,
    /// The account of all sessions together.
    pub spent: &'a Spent,
    /// The record of the session.
    pub trajectory: Trajectory,
}

impl Agent<'_> {
    /// Works on the task to its end; the gist, where there is one, is then in the session.
    ///
    /// # Errors
    /// Only where the outcome cannot be written down.
    pub async fn run(self) -> Result<End, TrajectoryError> {
        let mut conversation = Conversation { agent: self, tools: Vec::new(), format_errors: 0 };
        let mut outcome = conversation.open().await;
        while outcome.is_ok() {
            outcome = conversation.step().await;
        }
        conversation.agent.trajectory.end(outcome.unwrap_err())
    }
}

/// The state of the loop between steps.
struct Conversation<'a> {
    agent: Agent<'a>,
    tools: Vec<ToolSpec>,
    format_errors: usize,
}

impl Conversation<'_> {
    /// Adds the opening messages: the rules and the task.
    async fn open(&mut self) -> Step {
        let Agent { prompts, toolset, session, writer, limits, context, .. } = &mut self.agent;
        let kind = TaskKind::of(session);
        let tools = toolset.iter().map(|tool| prompts.describe(tool, kind));
        self.tools = tools.collect::<Result<_, _>>().map_err(fatal)?;
        let messages = opening(session, prompts, writer, limits, &self.tools, context).await?;
        messages.into_iter().try_for_each(|message| self.append(message))
    }

    async fn step(&mut self) -> Step {
        let Agent { limits, trajectory, session, spent, .. } = &self.agent;
        limits::check(limits, trajectory, session, spent)?;
        self.fit()?;
        let answer = self.ask().await?;
        self.act(answer).await
    }

    /// Keeps what the model sees within its window.
    fn fit(&mut self) -> Step {
        let Agent { context, prompts, trajectory, .. } = &mut self.agent;
        let Some(condensed) = context.condense(&self.tools, prompts).map_err(fatal)? else {
            return Ok(());
        };
        trajectory.condensed(&condensed).map_err(fatal)?;
        context.check(&condensed).map_err(|message| Outcome::ContextLimit { message })
    }

    #[tracing::instrument(name = "model", level = "debug", skip_all)]
    async fn ask(&mut self) -> Result<Answer, Outcome> {
        let Agent { model, session, context, .. } = &mut self.agent;
        let request = ModelRequest { messages: context.messages(), tools: &self.tools };
        limits::within(session, model.answer(request)).await
    }

    /// Carries out the calls of an answer, in order.
    async fn act(&mut self, answer: Answer) -> Step {
        let (calls, fault) = (answer.calls.clone(), answer.fault.clone());
        self.append(Message::Assistant(answer))?;
        if let Some(fault) = fault {
            return self.object("replies/unreadable.md", &fault);
        }
        if calls.is_empty() {
            return self.object("replies/no_call.md", "");
        }
        self.format_errors = 0;
        self.agent.session.begin_answer();
        let last = calls.len();
        for (at, call) in (1..).zip(calls) {
            self.dispatch(call, at == last).await?;
        }
        Ok(())
    }

    async fn dispatch(&mut self, call: ToolCall, is_last: bool) -> Step {
        limits::check_time(self.agent.session)?;
        let began = Instant::now();
        let ToolCall { id, tool, arguments } = call;
        let result = self.agent.toolset.call(&tool, arguments.clone(), self.agent.session);
        let submitted = result.as_ref().is_ok_and(|reply| reply.submitted);
        let refused = matches!(result, Err(ToolError::Refused(_)));
        let content = match result {
            Ok(mut reply) => {
                let Agent { limits, trajectory, .. } = &self.agent;
                limits::count_down(limits, trajectory, is_last, &mut reply.value);
                self.retract(reply.retracts)?;
                let Agent { session, context, prompts, .. } = &mut self.agent;
                let selected = context.select(&tool, &reply, &arguments, prompts);
                limits::within(session, selected).await?
            }
            Err(ToolError::Refused(refusal)) => {
                let values = json!({ "tool": tool, "message": refusal.message });
                self.render(&format!("replies/{}.md", refusal.problem.name()), &values)?
            }
            Err(ToolError::Fatal(message)) => {
                // An interrupt ends whatever runs, and what is said of that is no cause.
                limits::check_time(self.agent.session)?;
                return Err(Outcome::Fatal { message });
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        self.append(Message::Tool(ToolReply { id, tool, content, refused, seconds }))?;
        if submitted { Err(Outcome::Submitted) } else { Ok(()) }
    }

    /// Stops showing the last reply of a tool.
    fn retract(&mut self, tool: Option<&str>) -> Step {
        let Agent { context, prompts, trajectory, .. } = &mut self.agent;
        let condensed = tool.map(|tool| context.retract(tool, &self.tools, prompts)).transpose();
        match condensed.map_err(fatal)?.flatten() {
            Some(condensed) => trajectory.condensed(&condensed).map_err(fatal),
            None => Ok(()),
        }
    }

    /// Tells the model that its answer was of no use; too often in a row ends the session.
    fn object(&mut self, prompt: &str, message: &str) -> Step {
        self.format_errors += 1;
        if self.format_errors >= self.agent.limits.format_errors {
            return Err(Outcome::FormatErrors);
        }
        let text = self.agent.model.calls_by_text();
        let values = json!({ "tools": self.names(), "message": message, "text": text });
        let content = self.render(prompt, &values)?;
        self.append(Message::User { content })
    }

    fn append(&mut self, message: Message) -> Step {
        let message = message.without_hidden();
        self.agent.trajectory.append(&message).map_err(fatal)?;
        self.agent.context.push(message);
        Ok(())
    }

    fn render(&self, prompt: &str, values: &Value) -> Result<String, Outcome> {
        self.agent.prompts.render(prompt, values).map_err(fatal)
    }

    fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }
}

fn fatal(error: impl std::error::Error) -> Outcome {
    Outcome::Fatal { message: error.to_string() }
}
