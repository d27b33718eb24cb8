//! `gistify predictions`: the gists of a bench in the form that SWE-bench's harness reads: one JSON
//! object a line, with the gist as a patch that adds its file.

use std::{fs, path::PathBuf};

use ::eval::{TaskOutcome, read_result};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::Command;

use super::{Exit, Failure, OrExit, tables::rows};

#[derive(Debug, Args)]
pub struct Predictions {
    /// The bench's directory.
    directory: PathBuf,
    /// Only those of this solver.
    #[arg(long, value_name = "NAME")]
    solver: Option<String>,
    /// Attempt of each solver at each task.
    #[arg(long, value_name = "N", default_value_t = 1)]
    repetition: u32,
}

/// A prediction in SWE-bench's form.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct PredictionRow {
    /// The row, or the task.
    pub instance_id: String,
    /// The maker of the patch.
    pub model_name_or_path: String,
    /// The patch.
    pub model_patch: Option<String>,
}

impl Predictions {
    pub fn act(self) -> Result<Exit, Failure> {
        let (rows, _) = rows(&self.directory)?;
        let wanted = |solver: &str| self.solver.as_ref().is_none_or(|name| name == solver);
        for row in rows {
            if row.repetition != self.repetition || !wanted(&row.solver) {
                continue;
            }
            let record = self.directory.join(&row.place);
            let result = read_result(&record).or_exit(Exit::Input)?;
            let TaskOutcome::Judged(judged) = result.outcome else { continue };
            let Ok(text) = fs::read_to_string(record.join(tools::GIST_NAME)) else { continue };
            let command = Command::parse(&judged.command).or_exit(Exit::Input)?;
            let path = judged.place.gist_path(&command);
            let prediction = PredictionRow {
                instance_id: row.task,
                model_name_or_path: row.solver,
                model_patch: Some(patch(&path, &text)),
            };
            println!("{}", serde_json::to_string(&prediction).or_exit(Exit::Infrastructure)?);
        }
        Ok(Exit::Success)
    }
}

/// A patch that adds a file, as git writes it.
fn patch(path: &str, text: &str) -> String {
    let head = format!("diff --git a/{path} b/{path}\nnew file mode 100644\n");
    if text.is_empty() {
        return head;
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = format!("{head}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n", lines.len());
    for line in &lines {
        out.push('+');
        out.push_str(line);
    }
    if !text.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
    out
}
