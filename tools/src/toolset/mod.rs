//! The tools of one session, by name.
//!
//! It finds the tool, checks the stage of the work if there are stages, executes the call and turns
//! a panic of a tool into a fatal error; it adds no behaviour to any tool.

mod edit_execute;
mod execute;
mod minimize;
mod outcomes;
mod slice;
mod submit;
mod think;
mod trace;

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use crate::{
    bash::BashTool,
    chain::{AnalyzeTool, EditFileTool, RequestTool, RetrieveTool, SolveTool, VerifyTool},
    edit::EditTool,
    find::{FindFilesTool, FindTestsTool},
    query::WriteFileTool,
    relate::RelateTool,
    search::SearchTool,
    session::Session,
    tool::{Problem, Reply, Tool, ToolError},
    view::ViewTool,
};

/// The tools that a writer has, in the order in which they are offered.
pub struct Toolset {
    tools: Vec<Box<dyn Tool>>,
}

/// There is no such tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tool {name:?} (there are {known})")]
pub struct UnknownTool {
    /// The requested name.
    pub name: String,
    /// The names there are.
    pub known: String,
}

/// A constructor of a tool.
type Make = fn() -> Box<dyn Tool>;

/// Every tool there is; which of them a writer has is a setting.
const TOOLS: [(&str, Make); 21] = [
    ("trace", || Box::new(trace::TraceTool)),
    ("slice", || Box::new(slice::SliceTool)),
    ("view", || Box::new(ViewTool)),
    ("search", || Box::new(SearchTool)),
    ("relate", || Box::new(RelateTool)),
    ("find_files", || Box::new(FindFilesTool)),
    ("find_tests", || Box::new(FindTestsTool)),
    ("think", || Box::new(think::ThinkTool)),
    ("edit", || Box::new(EditTool)),
    ("edit_execute", || Box::new(edit_execute::EditExecuteTool)),
    ("analyze", || Box::new(AnalyzeTool)),
    ("retrieve", || Box::new(RetrieveTool)),
    ("verify", || Box::new(VerifyTool)),
    ("solve", || Box::new(SolveTool)),
    ("request", || Box::new(RequestTool)),
    ("edit_file", || Box::new(EditFileTool)),
    ("bash", || Box::new(BashTool)),
    ("write_file", || Box::new(WriteFileTool)),
    ("execute", || Box::new(execute::ExecuteTool)),
    ("minimize", || Box::new(minimize::MinimizeTool)),
    ("submit", || Box::new(submit::SubmitTool)),
];

impl Toolset {
    /// The tools of these names, in this order.
    ///
    /// # Errors
    /// There is none of one name.
    pub fn named(names: &[String]) -> Result<Self, UnknownTool> {
        let make = |name: &String| match TOOLS.iter().find(|(known, _)| known == name) {
            Some((_, make)) => Ok(make()),
            None => Err(UnknownTool {
                name: name.clone(),
                known: TOOLS.map(|(name, _)| name).join(", "),
            }),
        };
        names.iter().map(make).collect::<Result<_, _>>().map(Self::new)
    }

    /// A set of tools; of two with one name, the first counts.
    pub fn new(tools: Vec<Box<dyn Tool>>) -> Self {
        Self { tools }
    }

    /// The tools, in order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Tool> {
        self.tools.iter().map(AsRef::as_ref)
    }

    /// A tool by its name.
    pub fn get(&self, name: &str) -> Option<&dyn Tool> {
        self.iter().find(|tool| tool.name() == name)
    }

    /// Carries out a call.
    ///
    /// # Errors
    /// Those of the tool; an unknown name is refused, a tool that panics is fatal.
    #[tracing::instrument(name = "tool", level = "debug", skip_all, fields(name = name))]
    pub fn call(
        &self,
        name: &str,
        arguments: Value,
        session: &mut Session,
    ) -> Result<Reply, ToolError> {
        let Some(tool) = self.get(name) else {
            let known = self.iter().map(Tool::name).collect::<Vec<_>>().join(", ");
            return Err(
                Problem::UnknownTool.because(format!("no tool {name:?} (there are {known})"))
            );
        };
        // Stages hold for whoever has the tool that begins them, or an issue to solve.
        let chain = &session.findings.chain;
        if self.get("analyze").is_some() || chain.repair.is_some() {
            session.findings.chain.admits(name)?;
        }
        catch_unwind(AssertUnwindSafe(|| tool.call(arguments, session)))
            .unwrap_or_else(|_| Err(ToolError::Fatal(format!("tool {name} panicked"))))
    }
}
