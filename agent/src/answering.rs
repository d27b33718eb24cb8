//! A model in a scaffold as a solver of tasks in natural language: it explores the repository, writes and runs code, and
//! leaves files (RepoMaster, section 3.3).
//!
//! The scaffold says which tools explore, how the session opens and what is selected; the loop is that of every session.

use std::sync::Arc;

use eval::{OUTPUTS, QueryAnswer, QueryContext, QuerySolver, Task, TaskContext};
use tools::{Command, Query, QueryWork, Sandbox};

use crate::{
    config::{AnswerForm, Minimize, Settings, Strategy},
    model::Access,
    outcome::Outcome,
    trajectory::TrajectoryWatch,
    writer::{TRAJECTORY, Writer, WriterError},
};

/// Solves tasks in natural language with a model.
pub struct QueryWriter {
    name: String,
    writer: Writer,
    watch: Box<dyn Fn() -> TrajectoryWatch + Send + Sync>,
}

/// The tools that look at a repository; a scaffold has some of them.
const EXPLORE: [&str; 6] = ["view", "search", "relate", "find_files", "find_tests", "think"];
/// The tools of every session: write, run and hand in.
const WORK: [&str; 3] = ["write_file", "bash", "submit"];

impl QueryWriter {
    /// A solver as the settings say, whose steps are watched.
    ///
    /// # Errors
    /// The settings name a model, tool or prompt that there is not.
    pub fn new(
        settings: &Settings,
        sandbox: Arc<dyn Sandbox>,
        access: &Access,
        watch: Box<dyn Fn() -> TrajectoryWatch + Send + Sync>,
    ) -> Result<Self, WriterError> {
        let writer = Writer::new(query_settings(settings), sandbox, access)?;
        let name = format!("{} {}", settings.writer.scaffold, writer.model());
        Ok(Self { name, writer, watch })
    }

    /// Its writer.
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    fn try_answer(&self, context: &QueryContext<'_>) -> Result<QueryAnswer, String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        // A session has a command; this one is the program that does nothing, and nothing executes it.
        let command = Command::parse("true").map_err(|error| text(&error))?;
        let task = Task::of_command(&context.repository.label, &command.to_string());
        let opened = TaskContext {
            task: &task,
            repository: context.repository,
            environment: context.environment,
            command: &command,
            cases: &[],
            place: self.writer.settings().gist.place,
            limits: context.limits,
            record: context.record,
            scratch: context.scratch,
            interrupt: context.interrupt,
        };
        let mut session = self.writer.session(&opened).map_err(|error| text(&error))?;
        session.deadline = context.interrupt.now() + context.time;
        let work = QueryWork::lay_out(&session.workspace, &session.repository, context.inputs)
            .map_err(|error| text(&error))?;
        session.findings.query = Some(Query {
            text: context.query.to_owned(),
            inputs: context.inputs.to_vec(),
            expected: context.expected.to_vec(),
            work,
        });
        let record = context.record.join(TRAJECTORY);
        let end = self.writer.write(&mut session, &record, Vec::new(), (self.watch)());
        let end = end.map_err(|error| text(&error))?;
        let kept = context.record.join(OUTPUTS);
        if let Some(query) = &session.findings.query {
            query.work.keep_outputs(&kept).map_err(|error| text(&error))?;
        }
        let is_interrupted = end.outcome == Outcome::Interrupted;
        Ok(QueryAnswer {
            outputs: Ok(kept),
            outcome: end.outcome.to_string(),
            infrastructure: is_interrupted || self.writer.is_infrastructure(&end.outcome),
            effort: Some(self.writer.effort(&end, &session)),
        })
    }
}

impl QuerySolver for QueryWriter {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, context: &QueryContext<'_>) -> QueryAnswer {
        self.try_answer(context).unwrap_or_else(QueryAnswer::failed)
    }
}

/// The settings of a scaffold with the tools that write and run in the place of those that write a gist.
fn query_settings(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    let explore = settings.writer.all_tools();
    let explore = explore.into_iter().filter(|tool| EXPLORE.contains(&tool.as_str()));
    settings.writer.tools = explore.chain(WORK.map(str::to_owned)).collect();
    settings.writer.with = Vec::new();
    settings.writer.execution = true;
    settings.writer.guide = String::new();
    settings.writer.strategy = Strategy::Base;
    settings.writer.test_body = false;
    settings.writer.minimize = Minimize::Learned;
    settings.writer.answer = AnswerForm::Calls;
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, scaffolds};

    /// The ablations of the paper switch what it switches: exploration takes the tools, selection the bound of a turn.
    #[test]
    fn scaffolds_and_ablations_have_the_tools_of_their_kind() {
        let work = WORK.join(" ");
        let settings = |scaffold: &str| {
            let mut config = Config::defaults();
            config.set(&format!("writer.scaffold={scaffold}")).unwrap();
            config.apply_scaffold().unwrap();
            query_settings(&config.settings().unwrap())
        };
        for (scaffold, explore, opening, selects) in [
            ("repomaster", "view search relate ", "Ranked", true),
            ("repomaster-no-analysis", "view search relate ", "Modules", true),
            ("repomaster-no-exploration", "", "Ranked", true),
            ("repomaster-no-selection", "view search relate ", "Ranked", false),
            ("repomaster-no-all", "", "None", false),
            ("mini-swe", "", "None", false),
        ] {
            let settings = settings(scaffold);
            assert_eq!(settings.writer.all_tools().join(" "), format!("{explore}{work}"));
            assert_eq!(format!("{:?}", settings.writer.opening), opening, "{scaffold}");
            assert_eq!(settings.context.turn_tokens > 0, selects, "{scaffold}");
        }
        for scaffold in scaffolds() {
            let settings = settings(&scaffold.name);
            assert!(settings.writer.execution && settings.writer.guide.is_empty());
            assert!(settings.writer.all_tools().join(" ").ends_with(&work), "{}", scaffold.name);
        }
    }
}
