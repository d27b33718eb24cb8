//! The first two messages of a session: the rules, and the task with what is told of the repository.
//!
//! What is told is a setting, and so is its size; every sentence is a prompt.

use std::collections::BTreeMap;

use graph::{
    ContextOptions, Graph, History, Lookup, Queries, RankOptions, Texts, count_tokens, rank,
};
use serde_json::json;
use tools::{Session, ToolError};

use crate::{
    chunks::chunks,
    config::{AnswerForm, Opening, SessionLimits, Strategy, WriterSettings},
    context::Context,
    message::Message,
    model::{ModelError, ToolSpec},
    outcome::Outcome,
    prompt::{PromptError, Prompts},
    ranking::Ranking,
    remembered::remembered,
};

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    /// A prompt is wrong.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The command could not be traced.
    #[error("trace the command: {0}")]
    Trace(#[from] ToolError),
    /// What is shown is ranked by a model, and it gives no answer.
    #[error("rank the repository: {0}")]
    Ranking(#[from] ModelError),
}

impl From<OpeningError> for Outcome {
    fn from(error: OpeningError) -> Self {
        match error {
            OpeningError::Ranking(error) => error.into(),
            error => Self::Fatal { message: error.to_string() },
        }
    }
}

/// Tokens of one chunk.
const CHUNK: usize = 400;

/// The rules and the task.
///
/// # Errors
/// A prompt is wrong, or the command cannot be traced where its files are to be shown.
pub async fn opening(
    session: &mut Session,
    prompts: &Prompts,
    writer: &WriterSettings,
    limits: &SessionLimits,
    tools: &[ToolSpec],
    context: &mut Context,
) -> Result<[Message; 2], OpeningError> {
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let guide = match writer.guide.as_str() {
        "" => String::new(),
        name => {
            let (opening, selects) = (writer.opening, context.selects());
            let values = json!({ "tools": names, "opening": opening, "selects": selects });
            prompts.render(name, values)?
        }
    };
    let strategy = match writer.strategy {
        Strategy::Base => String::new(),
        Strategy::Reading => prompts.render("strategies/reading.md", ())?,
        Strategy::Tracing => prompts.render("strategies/tracing.md", ())?,
    };
    let tests: Vec<_> = session.command.tests().iter().map(ToString::to_string).collect();
    let bodies = match writer.test_body || writer.opening == Opening::Chunks {
        true => test_bodies(session),
        false => String::new(),
    };
    let told = told(session, writer, &bodies, context.ranking()).await?;
    let opening = match told.is_empty() {
        true => String::new(),
        false => prompts.render("opening.md", json!({ "form": writer.opening, "told": told }))?,
    };
    let values = json!({
        "repository": session.repository.label,
        "command": session.command.to_string(),
        "tests": tests,
        "gist": session.gist_path(),
        "steps": limits.steps,
        "tools": names,
        "guide": guide,
        "strategy": strategy,
        "answer": match writer.answer { AnswerForm::Calls => "calls", AnswerForm::File => "file" },
        "test_body": if writer.test_body { bodies.as_str() } else { "" },
        "opening": opening,
    });
    let system = prompts.render("system.md", &values)?;
    let user = prompts.render("task.md", &values)?;
    Ok([Message::System { content: system }, Message::User { content: user }])
}

async fn told(
    session: &mut Session,
    writer: &WriterSettings,
    tests: &str,
    ranking: &mut Ranking,
) -> Result<String, OpeningError> {
    let budget = writer.opening_tokens;
    let texts = session.repository.texts();
    Ok(match writer.opening {
        Opening::None => String::new(),
        Opening::Modules => {
            let graph = session.graph();
            let paths = graph.modules.iter().map(|module| format!("{}\n", module.path));
            fitting(paths, budget)
        }
        Opening::Ranked => match session.graphs.clone() {
            None => by_rank(session, budget),
            // Ranking and counting tokens take longer than all else that comes before a request.
            Some(directory) => {
                let key = format!("ranked\n{budget}\n{}", session.repository.fingerprint);
                remembered(&directory, &key, || by_rank(session, budget))
            }
        },
        Opening::Chunks => {
            let graph = session.graph();
            let all: Vec<_> = graph
                .modules
                .iter()
                .flat_map(|module| chunks(&module.path, &texts.of(&module.path), CHUNK))
                .collect();
            let question = format!("{} {tests}", session.command);
            let contents: Vec<&str> = all.iter().map(|chunk| chunk.text.as_str()).collect();
            let order = ranking.order(&contents, &question).await?;
            let order = order.into_iter().filter(|(_, score)| *score > 0.0);
            let parts = order.map(|(at, _)| {
                let chunk = &all[at];
                format!("# {}, line {}\n{}\n", chunk.path, chunk.line, chunk.text)
            });
            fitting(parts, budget)
        }
        Opening::Files => {
            let (_, trace) = session.traced()?;
            let files = trace
                .files
                .iter()
                .map(|file| format!("# {}\n{}\n", file.path, texts.of(&file.path)));
            fitting(files, budget)
        }
    })
}

/// RepoMaster's four blocks (section 3.2.2).
fn by_rank(session: &mut Session, budget: usize) -> String {
    let graph = session.graph();
    let texts = session.repository.texts();
    let ranking = rank(&graph, &History::default(), &RankOptions::default());
    let options = ContextOptions { budget, ..ContextOptions::default() };
    graph::context(&graph, &ranking, &texts, &texts.readme(), &BTreeMap::new(), &options).text
}

/// As many parts as fit, and how many did not.
fn fitting(parts: impl Iterator<Item = String>, budget: usize) -> String {
    let (mut all, mut size, mut left_out) = (String::new(), 0, 0);
    for part in parts {
        let cost = count_tokens(&part);
        match size + cost <= budget {
            true => {
                size += cost;
                all += &part;
            }
            false => left_out += 1,
        }
    }
    if left_out > 0 {
        all += &format!("[{left_out} more left out]\n");
    }
    all.trim_end().to_owned()
}

/// The source of the tests that the command names.
fn test_bodies(session: &mut Session) -> String {
    let graph = session.graph();
    let texts = session.repository.texts();
    let tests = session.command.tests();
    let bodies = tests.iter().filter_map(|test| body(&graph, &texts, &test.path, &test.names));
    let mut bodies: Vec<String> = bodies.collect();
    bodies.dedup();
    bodies.join("\n\n")
}

fn body(graph: &Graph, texts: &Texts, path: &str, names: &[String]) -> Option<String> {
    let queries = Queries::new(graph);
    let wanted = [&[path.to_owned()], names].concat().join("::");
    let Lookup::Found(ids) = queries.find(&wanted) else { return None };
    // Of several definitions the last is the one that runs.
    let entity = graph.entity(*ids.last()?);
    let text = texts.of(path);
    let lines = text.lines().skip(entity.line as usize - 1);
    let lines: Vec<&str> = lines.take((entity.end_line + 1 - entity.line) as usize).collect();
    Some(lines.join("\n"))
}
