//! The stages of Chain-of-Context (the paper of that name, sections 2 and 3.3): ANALYZE names what is missing,
//! RETRIEVE fetches it, VERIFY keeps or drops it. Once nothing is missing a gist is written; or an issue is solved:
//! SOLVE says how, as a diff, REQUEST names the files, EDIT changes them by line numbers, one after the other.
//!
//! The stage is a part of the session: a tool of another stage is refused, whoever calls it. So is one that judges or
//! edits a text in the answer that fetches it: the model has not seen the text yet. The context
//! removes dropped snippets from the conversation. No file is written here.

use serde::Serialize;

use crate::tool::{Problem, ToolError};

mod analyze;
mod edit_file;
mod passages;
mod repair;
mod request;
mod retrieve;
mod solve;
mod verify;

pub(crate) use analyze::AnalyzeTool;
pub(crate) use edit_file::EditFileTool;
pub use repair::{Repair, Requested};
pub(crate) use request::RequestTool;
pub(crate) use retrieve::RetrieveTool;
pub(crate) use solve::SolveTool;
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
    /// To solve the issue, as a diff.
    Solve,
    /// To name the files that change.
    Request,
    /// To edit them.
    Edit,
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
    /// The tool whose reply shows a text for the current stage, while the model has not seen that reply.
    pub unseen: Option<&'static str>,
    /// The repair of an issue; without one the stages lead to a gist.
    pub repair: Option<Repair>,
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
    pub const fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Analyze => &["analyze"],
            Self::Retrieve => &["retrieve"],
            Self::Verify => &["verify"],
            Self::Write => &["edit", "edit_execute", "submit"],
            Self::Solve => &["solve"],
            Self::Request => &["request"],
            Self::Edit => &["edit_file"],
        }
    }

    const ALL: [Self; 7] = [
        Self::Analyze,
        Self::Retrieve,
        Self::Verify,
        Self::Write,
        Self::Solve,
        Self::Request,
        Self::Edit,
    ];
}

impl Chain {
    /// The state at the start of a repair.
    pub fn of_repair(repair: Repair) -> Self {
        let stage = if repair.rounds == 0 { Stage::Solve } else { Stage::Analyze };
        Self { stage, repair: Some(repair), ..Self::default() }
    }

    /// Checks that a tool may be called now.
    ///
    /// # Errors
    /// A refusal that names the tools of the current stage.
    pub fn admits(&self, tool: &str) -> Result<(), ToolError> {
        let of = Stage::ALL.into_iter().find(|stage| stage.tools().contains(&tool));
        match of {
            // While it writes a gist, a model may notice that something is missing after all.
            Some(Stage::Analyze) if self.stage == Stage::Write => Ok(()),
            Some(stage) if stage != self.stage => {
                let turn = self.stage.tools()[0];
                Err(Problem::WrongStage.because(format!("it is the turn of {turn}, not of {tool}")))
            }
            _ => match self.unseen {
                Some(shows) if matches!(tool, "verify" | "edit_file") => {
                    let message =
                        format!("{tool} needs the reply of {shows}: call it in the next answer");
                    Err(Problem::WrongStage.because(message))
                }
                _ => Ok(()),
            },
        }
    }

    /// The rounds that ended.
    fn rounds(&self) -> usize {
        self.kept.len() + self.dropped
    }

    /// The repair.
    ///
    /// # Errors
    /// A refusal: the session has none.
    fn repaired(&mut self) -> Result<&mut Repair, ToolError> {
        let none = || Problem::WrongStage.because("the session solves no issue");
        self.repair.as_mut().ok_or_else(none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_admits_its_tools_and_a_writer_may_analyze_again() {
        for (stage, tool, admitted) in [
            (Stage::Analyze, "analyze", true),
            (Stage::Analyze, "edit", false),
            (Stage::Retrieve, "analyze", false),
            (Stage::Write, "submit", true),
            (Stage::Write, "analyze", true),
            (Stage::Write, "retrieve", false),
            (Stage::Solve, "analyze", false),
            (Stage::Verify, "view", true),
        ] {
            let chain = Chain { stage, ..Chain::default() };
            assert_eq!(chain.admits(tool).is_ok(), admitted, "{stage:?} {tool}");
        }
    }
}
