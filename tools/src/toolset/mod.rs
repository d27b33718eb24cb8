//! The tools of one session, by name.
//!
//! It finds the tool, carries out the call and turns a defect of a tool into a fatal error; it adds
//! no behaviour of its own to any tool.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use crate::{
    session::Session,
    tool::{Problem, Reply, Tool, ToolError},
};

/// The tools that a writer has, in the order in which they are offered.
pub struct Toolset {
    tools: Vec<Box<dyn Tool>>,
}

impl Toolset {
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
        catch_unwind(AssertUnwindSafe(|| tool.call(arguments, session)))
            .unwrap_or_else(|_| Err(ToolError::Fatal(format!("tool {name} panicked"))))
    }
}
