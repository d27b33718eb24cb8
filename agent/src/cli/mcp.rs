//! `gistify mcp`: the tools of one task for a client of the Model Context Protocol.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use ::eval::{Submission, Writer as Abilities};
use clap::Args;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tools::{Session, ToolError, Toolset};

use super::{
    Exit, Failure, OrExit,
    flags::Flags,
    progress::Progress,
    surroundings::Surroundings,
    target::{Judged, Opened, Target},
};
use crate::{
    hidden::escaped,
    mcp::{Job, Speaker},
    prompt::Prompts,
    writer::session,
};

#[derive(Debug, Args)]
pub struct Mcp {
    #[command(flatten)]
    target: Target,
    /// Serve HTTP at this port, below /mcp, in the place of standard input and output; 0 for any.
    #[arg(long, value_name = "PORT")]
    http: Option<u16>,
    /// The address to listen at; others than this machine's own let anyone there run things.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
}

/// The tools of sessions that clients have, besides `graph` and `evaluate`.
const TOOLS: [&str; 7] = ["search", "view", "relate", "trace", "slice", "edit", "execute"];
/// How often is looked whether the user wants an end.
const TICK: Duration = Duration::from_millis(100);
/// Tokens of the map that `graph` gives.
const MAP: usize = 8_000;

impl Mcp {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        self.target.flags()
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let sandbox = around.sandbox()?;
        let progress = Progress::new(around.talk);
        let opened = self.target.open(around, sandbox.clone(), &progress, &[])?;
        progress.clear();
        let scratch = around.scratch()?;
        let context = opened.context(around, &scratch);
        let mut settings = around.settings.clone();
        // A client may stay for as long as it likes; each run has its own bounds.
        settings.session.seconds = 1e9;
        let mut session =
            session(&context, &settings, sandbox, around.graphs()).or_exit(Exit::Infrastructure)?;
        let prompts = Prompts::load(None).or_exit(Exit::Usage)?;
        let toolset = Toolset::named(&TOOLS.map(str::to_owned)).or_exit(Exit::Infrastructure)?;
        let mut tools: Vec<_> = toolset
            .iter()
            .map(|tool| prompts.describe(tool))
            .collect::<Result<_, _>>()
            .or_exit(Exit::Usage)?;
        for (name, properties) in
            [("graph", json!({})), ("evaluate", json!({ "gist": { "type": "string" } }))]
        {
            let schema = json!({ "type": "object", "properties": properties });
            tools.push(prompts.specify(name, schema).or_exit(Exit::Usage)?);
        }
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
        work(&arrived, around, &opened, &toolset, &prompts, &mut session);
        let ended = serving.is_finished().then(|| runtime.block_on(serving));
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

/// Carries calls out, in order, until nobody can call any more or the user wants an end.
fn work(
    arrived: &Receiver<Job>,
    around: &Surroundings,
    opened: &Opened,
    toolset: &Toolset,
    prompts: &Prompts,
    session: &mut Session,
) {
    while !around.interrupt.is_triggered() {
        let job = match arrived.recv_timeout(TICK) {
            Ok(job) => job,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => continue,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
        };
        let Job { tool, arguments, reply } = job;
        let result = match tool.as_str() {
            "graph" => Ok(map(session)),
            "evaluate" => evaluate(around, opened, session, &arguments),
            tool => call(toolset, prompts, session, tool, arguments),
        };
        // A client hands the text to a model, which reads what nobody sees.
        let result = result.map(|text| escaped(&text).into_owned());
        // A client that went away wants no reply.
        let _ = reply.send(result);
    }
}

fn call(
    toolset: &Toolset,
    prompts: &Prompts,
    session: &mut Session,
    tool: &str,
    arguments: Value,
) -> Result<String, String> {
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
    let ranking = graph::rank(&graph, &graph::History::default(), &graph::RankOptions::default());
    graph::map(&graph, &ranking, &texts, MAP).text
}

fn evaluate(
    around: &Surroundings,
    opened: &Opened,
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
    match opened.judge(around, &session.workspace, &judged) {
        Ok(evaluation) => Ok(super::verdict::scores(&evaluation).to_string()),
        Err(failure) => Err(failure.told()),
    }
}
