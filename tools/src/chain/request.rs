//! The tool of the stage REQUEST: the files that the solution changes.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Stage, repair::requested};
use crate::{
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
    view::PassageView,
};

/// Names the files to edit.
#[derive(Debug, Default)]
pub struct RequestTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    files: Vec<String>,
}

/// The files that wait for their edits, and the first of them.
#[derive(Serialize)]
pub(super) struct Turn {
    next: &'static str,
    waiting: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PassageView>,
}

/// Files of one repair at most.
const FILES: usize = 100;

impl Turn {
    /// Returns the state of a session's edits.
    pub(super) fn of(session: &Session) -> Self {
        let repair = session.findings.chain.repair.as_ref();
        let files = repair.map_or(&[][..], |repair| &repair.requested).iter();
        let waiting = files.filter(|file| file.after.is_none()).map(|file| file.path.clone());
        let waiting: Vec<String> = waiting.collect();
        let next = if waiting.is_empty() { "nothing" } else { "edit_file" };
        Self { next, waiting, file: repair.and_then(super::Repair::shown) }
    }
}

impl Tool for RequestTool {
    fn name(&self) -> &'static str {
        "request"
    }

    fn group(&self) -> Group {
        Group::View
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let asked: Arguments = arguments(given)?;
        let root = &session.repository.root;
        let files = asked.files.iter().map(|path| requested(root, path));
        let mut files: Vec<_> = files.collect::<Result<_, _>>()?;
        let mut seen = BTreeSet::new();
        files.retain(|file| seen.insert(file.path.clone()));
        if files.is_empty() || files.len() > FILES {
            let message = format!("files has {} paths, not 1 to {FILES}", files.len());
            return Err(Problem::BadArguments.because(message));
        }
        let chain = &mut session.findings.chain;
        chain.repaired()?.requested = files;
        chain.stage = Stage::Edit;
        chain.unseen = Some(self.name());
        Reply::of(&Turn::of(session))
    }
}
