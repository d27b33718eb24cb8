//! `gistify mcp`: the tools of one task for a client of the Model Context Protocol, and one that writes the gist of
//! any test, which is all that there is where no command was given.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use ::eval::{Submission, VersionedRecord, WriterAbilities as Abilities};
use clap::Args;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tools::{Session, ToolError, Toolset};

use super::{
    Exit, Failure, OrExit,
    flags::Flags,
    progress::ProgressLine,
    surroundings::Surroundings,
    target::{Judged, MutantsFlag, OpenedTarget, TargetFlags},
};
use crate::{
    hidden::escaped,
    mcp::{QueuedCall, Speaker},
    prompt::{Prompts, TaskKind},
    writer::{TRAJECTORY, Writer, session, source_map},
};

#[derive(Debug, Args)]
pub struct Mcp {
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    mutants: MutantsFlag,
    /// Serve HTTP at this port, below /mcp, in the place of standard input and output; 0 for any.
    #[arg(long, value_name = "PORT")]
    http: Option<u16>,
    /// The address to listen at; others than this machine's own let anyone there run things.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
}

/// The tools of sessions that clients have, besides `graph` and `evaluate`.
const TOOLS: [&str; 7] = ["search", "view", "relate", "trace", "slice", "edit", "execute"];
/// The interval between two checks for the user's interrupt.
const TICK: Duration = Duration::from_millis(100);
/// Tokens of the map that `graph` gives.
const MAP: usize = 8_000;

impl Mcp {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = self.target.flags();
        self.mutants.flags(&mut flags);
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let sandbox = around.sandbox()?;
        let prompts = Prompts::load(None).or_exit(Exit::Usage)?;
        let mut tools = Vec::new();
        let scratch = around.scratch()?;
        let opened = match self.target.has_command() {
            true => {
                let progress = ProgressLine::new(around.talk);
                let opened = self.target.open(around, sandbox.clone(), &progress, &[]);
                progress.clear();
                Some(opened?)
            }
            false => None,
        };
        let mut work = Work { around, target: &self.target, prompts: &prompts, task: None };
        if let Some(opened) = &opened {
            let mut settings = around.settings.clone();
            // A client may stay for as long as it likes; each run has its own bounds.
            settings.session.seconds = 1e9;
            let context = opened.context(around, &scratch);
            let host = Some(around.host.clone());
            let session = session(&context, &settings, sandbox, around.graphs(), host)
                .or_exit(Exit::Infrastructure)?;
            let toolset =
                Toolset::named(&TOOLS.map(str::to_owned)).or_exit(Exit::Infrastructure)?;
            for tool in toolset.iter() {
                tools.push(prompts.describe(tool, TaskKind::Gist).or_exit(Exit::Usage)?);
            }
            for (name, properties) in
                [("graph", json!({})), ("evaluate", json!({ "gist": { "type": "string" } }))]
            {
                let schema = json!({ "type": "object", "properties": properties });
                tools.push(prompts.specify(name, schema).or_exit(Exit::Usage)?);
            }
            work.task = Some(GivenTask { opened, toolset, session });
        }
        let test = json!({ "test": { "type": "string" } });
        let schema = json!({ "type": "object", "properties": test, "required": ["test"] });
        tools.push(prompts.specify("gist", schema).or_exit(Exit::Usage)?);
        let (jobs, arrived) = channel();
        let speaker = Speaker::new(tools, jobs);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .or_exit(Exit::Infrastructure)?;
        let serving = match self.http {
            None => runtime.spawn(speaker.stdio()),
            Some(port) => {
                let address = SocketAddr::new(self.host, port);
                let listener =
                    runtime.block_on(TcpListener::bind(address)).or_exit(Exit::Infrastructure)?;
                let local = listener.local_addr().or_exit(Exit::Infrastructure)?;
                eprintln!("listening at http://{local}/mcp");
                runtime.spawn(speaker.http(listener))
            }
        };
        work.until_the_end(&arrived);
        // Without an interrupt the last sender of calls is gone: the server is ending, and its error is still to come.
        let ended = (!around.interrupt.is_triggered()).then(|| runtime.block_on(serving));
        // A read of standard input cannot be called off, and nobody waits for it.
        runtime.shutdown_background();
        match ended {
            Some(Ok(Err(error))) => Err(Failure::new(Exit::Infrastructure, error.to_string())),
            _ if around.interrupt.is_triggered() => {
                Err(Failure::new(Exit::Interrupted, "interrupted"))
            }
            _ => Ok(Exit::Success),
        }
    }
}

/// The place that calls are carried out on.
struct Work<'a> {
    around: &'a Surroundings,
    target: &'a TargetFlags,
    prompts: &'a Prompts,
    task: Option<GivenTask<'a>>,
}

/// The task whose command was given.
struct GivenTask<'a> {
    opened: &'a OpenedTarget,
    toolset: Toolset,
    session: Session,
}

impl Work<'_> {
    /// Carries calls out, in order, until nobody can call any more or the user wants an end.
    fn until_the_end(&mut self, arrived: &Receiver<QueuedCall>) {
        while !self.around.interrupt.is_triggered() {
            let job = match arrived.recv_timeout(TICK) {
                Ok(job) => job,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => continue,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
            };
            let QueuedCall { tool, arguments, reply } = job;
            let result = match (tool.as_str(), &mut self.task) {
                ("gist", _) => gist(self.around, self.target, &arguments),
                (tool, None) => Err(format!("no tool {tool:?} without a command")),
                ("graph", Some(own)) => Ok(map(&mut own.session)),
                ("evaluate", Some(own)) => {
                    evaluate(self.around, own.opened, &own.session, &arguments)
                }
                (tool, Some(own)) => {
                    call(&own.toolset, self.prompts, &mut own.session, tool, arguments)
                }
            };
            // A client hands the text to a model, which reads what nobody sees.
            let result = result.map(|text| escaped(&text).into_owned());
            // A client that went away wants no reply.
            let _ = reply.send(result);
        }
    }
}

/// The gist of a test, written without a model, with its scores.
fn gist(around: &Surroundings, target: &TargetFlags, arguments: &Value) -> Result<String, String> {
    let test = arguments["test"].as_str().ok_or("the argument test is missing")?;
    write_gist(around, &target.with_test(test)).map_err(|failure| failure.message())
}

fn write_gist(around: &Surroundings, target: &TargetFlags) -> Result<String, Failure> {
    let sandbox = around.sandbox()?;
    let settings = around.settings_with("offline", "offline")?;
    let writer = Writer::new(settings, sandbox.clone(), &around.access()).or_exit(Exit::Usage)?;
    let opened = target.open(around, sandbox, &ProgressLine::new(around.talk), &[])?;
    let record = tempfile::tempdir_in(around.scratch()?).or_exit(Exit::Infrastructure)?;
    let context = opened.context(around, record.path());
    let mut session = writer.session(&context).or_exit(Exit::Infrastructure)?;
    session.traces = Some(around.cache.join("traces"));
    let trajectory = record.path().join(TRAJECTORY);
    let end = writer
        .write(&mut session, &trajectory, Vec::new(), Box::new(|_| {}))
        .or_exit(Exit::Infrastructure)?;
    let Some(gist) = &session.findings.gist else {
        return Err(Failure::new(Exit::NotFaithful, format!("no gist: {}", end.outcome)));
    };
    let map = source_map(&session);
    let judged = Judged {
        submission: Submission::Written(gist.text.clone()),
        source_map: map.as_ref(),
        writer: writer.abilities(),
        effort: Some(writer.effort(&end, &session)),
    };
    let evaluation = opened.judge(around, &session.workspace, &judged, &|_| ())?;
    Ok(json!({ "gist": gist.text, "scores": VersionedRecord::of(&evaluation) }).to_string())
}

fn call(
    toolset: &Toolset,
    prompts: &Prompts,
    session: &mut Session,
    tool: &str,
    arguments: Value,
) -> Result<String, String> {
    // A client has the reply of each call before the next one.
    session.begin_answer();
    match toolset.call(tool, arguments, session) {
        Ok(reply) => {
            Ok(reply.value.as_str().map_or_else(|| reply.value.to_string(), str::to_owned))
        }
        Err(ToolError::Refused(refusal)) => {
            let name = format!("replies/{}.md", refusal.problem.name());
            let values = json!({ "tool": tool, "message": refusal.message });
            Err(prompts.render(&name, values).unwrap_or(refusal.message))
        }
        Err(ToolError::Fatal(message)) => Err(message),
    }
}

fn map(session: &mut Session) -> String {
    let graph = session.graph();
    let texts = session.repository.texts();
    let ranking = session.ranking();
    graph::map(&graph, &ranking, &texts, MAP).text
}

fn evaluate(
    around: &Surroundings,
    opened: &OpenedTarget,
    session: &Session,
    arguments: &Value,
) -> Result<String, String> {
    let standing = session.findings.gist.as_ref().map(|gist| gist.text.clone());
    let given = arguments["gist"].as_str().map(str::to_owned);
    let gist = given.or(standing).ok_or("there is no gist to evaluate")?;
    let judged = Judged {
        submission: Submission::Written(gist),
        source_map: None,
        writer: Abilities { trace: true, execute: true },
        effort: None,
    };
    match opened.judge(around, &session.workspace, &judged, &|_| ()) {
        Ok(evaluation) => Ok(json!(VersionedRecord::of(&evaluation)).to_string()),
        Err(failure) => Err(failure.message()),
    }
}
