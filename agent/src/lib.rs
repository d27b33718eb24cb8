//! The agent: the loop that drives the tools, its models, its settings and the command line.
//!
//! `agent.rs` is the loop and the page to read first. Every writer of a gist is a [`Model`]; the
//! offline one, which needs no network, drives the same loop and the same tools as any other.
//!
//! ```
//! use gistify::{Config, Prompts};
//! use std::collections::BTreeMap;
//!
//! let mut config = Config::defaults();
//! config.set("session.steps=7")?;
//! assert_eq!(config.settings()?.session.steps, 7);
//! assert!(config.set("session.step=7").is_err());
//!
//! let prompts = Prompts::load(None)?;
//! let values = BTreeMap::from([("query", false)]);
//! assert!(prompts.render("tools/submit.md", values).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate judges nothing: scores come from `eval`.

mod agent;
mod answering;
mod atif;
mod chunks;
mod cli;
mod config;
mod context;
mod discovery;
mod external;
mod hidden;
mod inspect;
mod limits;
mod mcp;
mod message;
mod model;
mod opening;
mod outcome;
mod pages;
mod prompt;
mod ranking;
mod record;
mod remembered;
mod repoexec;
mod secrets;
mod selection;
mod trajectory;
mod writer;

pub use agent::Agent;
pub use atif::atif;
pub use cli::{Exit, command_line};
pub use config::{
    AnswerForm, BenchSettings, CommandSettings, Config, ConfigError, ContextSettings, DEFAULTS,
    EnvironmentSettings, FixSettings, GistSettings, GraphSettings, ModelSettings, Opening,
    ProtocolChoice, RankedBy, ReferenceSettings, SandboxKind, SandboxSettings, Scaffold,
    SessionLimits, Settings, Strategy, ToolCalls, WriterSettings, scaffolds,
};
pub use context::{Condensed, Context};
pub use message::{Answer, Message, TokenUsage, ToolCall, ToolReply};
pub use model::{
    Access, Ask, Credentials, Embeddings, Model, ModelError, ModelRequest, ModelSupply, Offline,
    Pending, Provider, ProviderError, Resumed, Scripted, Spent, SupplyError, ToolSpec,
};
pub use outcome::Outcome;
pub use prompt::{PromptError, Prompts, TaskKind};
pub use ranking::SimilarityMeasure;
pub use trajectory::{
    End, Refusals, Start, TRAJECTORY_VERSION, Trajectory, TrajectoryError, TrajectoryRecord,
    TrajectoryWatch, read_trajectory,
};
