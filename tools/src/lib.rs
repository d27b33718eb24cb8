//! What one step may do: run, trace, slice, view, search, edit, execute and submit, each in a
//! sandbox. This crate knows of no model and no score.

mod environment;
mod execute;
mod host;
mod repository;
mod sandbox;
mod session;
mod snapshot;
mod tool;
mod toolset;
mod workspace;

pub use environment::{Environment, EnvironmentError, default_interpreter, find_interpreters};
pub use execute::{CaseReport, Execution, PhaseReport, Raised};
pub use host::Host;
pub use repository::{Repository, RepositoryError};
pub use sandbox::{
    Captured, Finished, Interrupt, Limits, LocalSandbox, Network, Request, Sandbox, SandboxError,
    Status,
};
pub use session::Session;
pub use snapshot::{SkipReason, Skipped};
pub use tool::{Group, Problem, Refusal, Reply, Tool, ToolError, arguments};
pub use toolset::Toolset;
pub use workspace::{Workspace, WorkspaceError};
