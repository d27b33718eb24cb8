//! The stages of Chain-of-Context (the paper of that name, sections 2 and 3.3): ANALYZE names what is missing,
//! RETRIEVE fetches it, VERIFY keeps or drops it, and only once nothing is missing the gist is written.
//!
//! The stage is a part of the session: a tool of another stage is refused, whoever calls it. What is
//! shown of something dropped is for whoever keeps the conversation.

use serde::Serialize;

use crate::tool::{Problem, ToolError};

mod analyze;
mod retrieve;
mod verify;

pub(crate) use analyze::AnalyzeTool;
pub(crate) use retrieve::RetrieveTool;
pub(crate) use verify::VerifyTool;

/// The stage of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// The missing parts are named.
    #[default]
    Analyze,
    /// To fetch it.
    Retrieve,
    /// To say whether it is relevant.
    Verify,
    /// To write the gist and hand it in.
    Write,
}

/// The state of a session with stages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chain {
    /// The stage that it is in.
    pub stage: Stage,
    /// The fetched snippet that is neither accepted nor dropped yet.
    pub open: Option<Snippet>,
    /// The accepted snippets, in order.
    pub kept: Vec<Snippet>,
    /// The number of dropped snippets.
    pub dropped: usize,
}

/// A part of the repository that was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// Its dotted name, or the path of a file.
    pub name: String,
    /// The sub-task that it was fetched for.
    pub sub_task: String,
}

impl Stage {
    /// The tools of the stage; those that are of none may be called at any time.
    const fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Analyze => &["analyze"],
            Self::Retrieve => &["retrieve"],
            Self::Verify => &["verify"],
            Self::Write => &["edit", "edit_execute", "submit"],
        }
    }

    const ALL: [Self; 4] = [Self::Analyze, Self::Retrieve, Self::Verify, Self::Write];
}

impl Chain {
    /// Checks that a tool may be called now.
    ///
    /// # Errors
    /// A refusal that names the tools of the current stage.
    pub fn admits(&self, tool: &str) -> Result<(), ToolError> {
        let of = Stage::ALL.into_iter().find(|stage| stage.tools().contains(&tool));
        match of {
            Some(stage) if stage != self.stage => {
                let turn = self.stage.tools()[0];
                Err(Problem::WrongStage.because(format!("it is the turn of {turn}, not of {tool}")))
            }
            _ => Ok(()),
        }
    }
}
