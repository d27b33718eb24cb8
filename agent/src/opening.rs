//! Builds the first two messages of a session: the rules, and the task with a description of the
//! repository.
//!
//! The kind of description is a setting, and so is its size; every sentence is a prompt.

use std::collections::BTreeMap;

use graph::{
    ContextOptions, Graph, Lookup, Need, Passage, Queries, Texts, count_tokens, module_list, needs,
    numbered, top_modules,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tools::{Query, Repair, Session, ToolError};

use crate::{
    chunks::{definition_chunks, definitions_of},
    config::{AnswerForm, Opening, SessionLimits, Strategy, WriterSettings},
    context::Context,
    message::Message,
    model::{ModelError, ToolSpec},
    outcome::Outcome,
    prompt::{PromptError, Prompts},
    ranking::SimilarityMeasure,
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
    /// The files that the command touched do not fit, and the scaffold takes only those that do.
    #[error(
        "the files that the command touches have {tokens} tokens, and writer.opening_tokens leaves {budget}"
    )]
    TooLarge {
        /// Tokens of the files.
        tokens: usize,
        /// Tokens that they may have.
        budget: usize,
    },
    /// A model that ranks the repository gave no answer.
    #[error("rank the repository: {0}")]
    Ranking(#[from] ModelError),
}

impl From<OpeningError> for Outcome {
    fn from(error: OpeningError) -> Self {
        match error {
            OpeningError::Ranking(error) => error.into(),
            OpeningError::TooLarge { .. } => Self::Unfit { message: error.to_string() },
            error => Self::Fatal { message: error.to_string() },
        }
    }
}

/// Tokens of one chunk.
const CHUNK: usize = 400;
/// Tokens of the ranked modules and classes beside what a test needs, and the least that is worth it.
const RANKED: [usize; 2] = [2_000, 400];

/// The repository as the first message shows it.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RepositoryText {
    /// A text.
    told: String,
    /// The needs of the tests, by file.
    files: Vec<ToldFile>,
    /// The number of needs, and the first that is not shown whole.
    found: usize,
    next: Option<usize>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ToldFile {
    path: String,
    text: String,
}

impl RepositoryText {
    fn text(told: String) -> Self {
        Self { told, ..Self::default() }
    }

    fn is_empty(&self) -> bool {
        self.told.is_empty() && self.files.is_empty()
    }
}

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
    if let Some(repair) = session.findings.chain.repair.clone() {
        return of_issue(session, prompts, writer, limits, (&names, &repair), context).await;
    }
    if let Some(query) = session.findings.query.clone() {
        return of_query(session, prompts, writer, limits, (&names, &query), context).await;
    }
    let guide = match writer.guide.as_str() {
        "" => String::new(),
        name => {
            let (opening, selects) = (writer.opening, context.selects());
            let execution = writer.execution;
            let values = json!({
                "tools": names,
                "opening": opening,
                "selects": selects,
                "execution": execution,
            });
            prompts.render(name, values)?
        }
    };
    let strategy = match writer.strategy {
        Strategy::Base => String::new(),
        Strategy::Reading => prompts.render("strategies/reading.md", ())?,
        Strategy::Tracing => prompts.render("strategies/tracing.md", ())?,
    };
    let tests: Vec<_> = session.command.tests().iter().map(ToString::to_string).collect();
    let bodies = test_bodies(session);
    let question = format!("{} {bodies}", session.command);
    let gist = session.gist_path();
    let ids = ids(session);
    let mut values = json!({
        "repository": session.repository.label,
        "command": session.command.to_string(),
        "tests": tests,
        "modules": top_modules(&session.graph(), &ids),
        "gist": gist,
        "gist_command": session.command.for_gist(&gist).to_string(),
        "steps": limits.steps,
        "tools": names,
        "guide": guide,
        "strategy": strategy,
        "answer": match writer.answer { AnswerForm::Calls => "calls", AnswerForm::File => "file" },
        "test_body": if writer.test_body { bodies.as_str() } else { "" },
        "opening": "",
    });
    let brief = prompts.render("task.md", &values)?;
    // The limit is one of the whole message.
    let budget = writer.opening_tokens.saturating_sub(count_tokens(&brief));
    if writer.only_fitting {
        let tokens = touched_files(session)?.iter().map(|file| count_tokens(file)).sum();
        if tokens > budget {
            return Err(OpeningError::TooLarge { tokens, budget });
        }
    }
    let told =
        repository_text(session, writer.opening, budget, &question, context.ranking()).await?;
    if !told.is_empty() {
        let mut shown = serde_json::to_value(&told).unwrap_or_default();
        shown["form"] = json!(writer.opening);
        shown["tools"] = json!(names);
        shown["test"] = json!(tests.first().cloned().unwrap_or_default());
        values["opening"] = Value::from(prompts.render("opening.md", shown)?);
    }
    let system = prompts.render("system.md", &values)?;
    let user = prompts.render("task.md", &values)?;
    context.about(&bodies, brief);
    Ok([Message::System { content: system }, Message::User { content: user }])
}

/// The rules and the task of an issue.
async fn of_issue(
    session: &mut Session,
    prompts: &Prompts,
    writer: &WriterSettings,
    limits: &SessionLimits,
    (names, repair): (&[&str], &Repair),
    context: &mut Context,
) -> Result<[Message; 2], OpeningError> {
    let (form, budget) = (writer.opening, writer.opening_tokens);
    let told = repository_text(session, form, budget, &repair.issue, context.ranking()).await?;
    let mut values = serde_json::to_value(&told).unwrap_or_default();
    let is_told = !told.is_empty() || repair.gist.is_some();
    let tests: Vec<_> = session.command.tests().iter().map(ToString::to_string).collect();
    let rules = json!({ "rounds": repair.rounds, "told": is_told });
    let more = json!({
        "repository": session.repository.label,
        "tests": tests,
        "steps": limits.steps,
        "tools": names,
        "issue": repair.issue.trim_end(),
        "gist": repair.gist.as_deref().unwrap_or_default().trim_end(),
        "form": writer.opening,
    });
    if let (Some(values), Value::Object(more)) = (values.as_object_mut(), more) {
        values.extend(more);
    }
    let system = prompts.render("fix/system.md", rules)?;
    let user = prompts.render("fix/task.md", &values)?;
    let nothing = serde_json::to_value(RepositoryText::default()).unwrap_or_default();
    let mut brief = values;
    for (key, value) in nothing.as_object().into_iter().flatten() {
        brief[key] = value.clone();
    }
    context.about(&repair.issue, prompts.render("fix/task.md", &brief)?);
    Ok([Message::System { content: system }, Message::User { content: user }])
}

/// The rules and the task of a query (RepoMaster, appendix C).
async fn of_query(
    session: &mut Session,
    prompts: &Prompts,
    writer: &WriterSettings,
    limits: &SessionLimits,
    (names, query): (&[&str], &Query),
    context: &mut Context,
) -> Result<[Message; 2], OpeningError> {
    let inputs: Vec<Value> = query
        .inputs
        .iter()
        .map(|input| json!({ "name": input.name, "description": input.description }))
        .collect();
    let mut values = json!({
        "query": query.text.trim_end(),
        "repository": session.repository.label,
        "inputs": inputs,
        "expected": query.expected,
        "steps": limits.steps,
        "tools": names,
        "form": writer.opening,
        "told": "",
    });
    let brief = prompts.render("query/task.md", &values)?;
    // The limit is one of the whole message.
    let budget = writer.opening_tokens.saturating_sub(count_tokens(&brief));
    let form = match writer.opening {
        // A query has no command whose files could be told.
        Opening::Files => Opening::Ranked,
        form => form,
    };
    let told = repository_text(session, form, budget, &query.text, context.ranking()).await?;
    values["told"] = Value::from(told.told);
    let rules = json!({ "tools": names, "opening": writer.opening, "selects": context.selects() });
    let system = prompts.render("query/system.md", rules)?;
    let user = prompts.render("query/task.md", &values)?;
    context.about(&query.text, brief);
    Ok([Message::System { content: system }, Message::User { content: user }])
}

async fn repository_text(
    session: &mut Session,
    form: Opening,
    budget: usize,
    question: &str,
    ranking: &mut SimilarityMeasure,
) -> Result<RepositoryText, OpeningError> {
    let texts = session.repository.texts();
    Ok(match form {
        Opening::None => RepositoryText::default(),
        Opening::Modules => {
            let (graph, ranking) = (session.graph(), session.ranking());
            RepositoryText::text(module_list(&graph, &ranking, budget).text)
        }
        Opening::Ranked => match session.graphs.clone() {
            None => by_need(session, budget),
            // Following names and counting tokens take longer than all else that comes before a request.
            Some(directory) => {
                let Session { repository, command, weights, .. } = &*session;
                let key = format!(
                    "ranked\n{budget}\n{}\n{command}\n{weights:?}",
                    repository.fingerprint,
                );
                let made = || serde_json::to_string(&by_need(session, budget)).unwrap_or_default();
                serde_json::from_str(&remembered(&directory, &key, made)).unwrap_or_default()
            }
        },
        Opening::Chunks => {
            let graph = session.graph();
            let definitions = definitions_of(&graph);
            let cut = |path: &str| {
                let lines = definitions.get(path).map_or(&[][..], Vec::as_slice);
                definition_chunks(path, &texts.of(path), lines, CHUNK)
            };
            let all: Vec<_> = graph.modules.iter().flat_map(|module| cut(&module.path)).collect();
            let contents: Vec<&str> = all.iter().map(|chunk| chunk.text.as_str()).collect();
            let order = ranking.order_all(&contents, question).await?;
            let order = order.into_iter().filter(|(_, score)| *score > 0.0);
            let parts = order.map(|(at, _)| {
                let chunk = &all[at];
                format!("# {}, line {}\n{}\n", chunk.path, chunk.line, chunk.text)
            });
            RepositoryText::text(fitting(parts, budget))
        }
        Opening::Files => {
            RepositoryText::text(fitting(touched_files(session)?.into_iter(), budget))
        }
    })
}

/// The files that the command touches, each below its path.
fn touched_files(session: &mut Session) -> Result<Vec<String>, ToolError> {
    let (_, trace) = session.traced()?;
    let texts = session.repository.texts();
    let file = |path: &str| format!("# {path}\n{}\n", texts.of(path));
    Ok(trace.files.iter().map(|touched| file(&touched.path)).collect())
}

/// Returns what the tests need, and the most important modules and classes (RepoMaster, section 3.2.3) where that
/// leaves room.
fn by_need(session: &mut Session, budget: usize) -> RepositoryText {
    let ids = ids(session);
    let (graph, ranking) = (session.graph(), session.ranking());
    let texts = session.repository.texts();
    let all = needs(&graph, &texts, &ids);
    // Paths and the sentences around cost a little, too.
    let part = Need::part(&all, &texts, 0, budget * 19 / 20);
    let left = budget.saturating_sub(part.tokens + budget / 20);
    let limit = if all.is_empty() { budget } else { left.min(RANKED[0]) };
    let ranked = match limit >= RANKED[1] {
        true => {
            let readme = if all.is_empty() { texts.readme() } else { String::new() };
            let options = ContextOptions { budget: limit, ..ContextOptions::default() };
            graph::context(&graph, &ranking, &texts, &readme, &BTreeMap::new(), &options).text
        }
        false => String::new(),
    };
    let files = part.files.into_iter().map(|(path, text)| ToldFile { path, text });
    RepositoryText {
        told: ranked.trim_end().to_owned(),
        files: files.collect(),
        found: all.len(),
        next: part.next,
    }
}

/// The tests that the command names: paths, and names in them.
fn ids(session: &Session) -> Vec<(String, Vec<String>)> {
    session.command.tests().into_iter().map(|test| (test.path, test.names)).collect()
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
    // A method is read below the heads of its classes.
    let passage = Passage::of(&text, &[(entity.line, entity.end_line)], usize::MAX);
    let is_shown = |line: u32| {
        let mut spans = passage.around.iter().chain(&passage.spans);
        spans.any(|(first, last)| (*first..=*last).contains(&line))
    };
    let lines = numbered(&text).filter(|(line, _)| is_shown(*line)).map(|(_, text)| text);
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_shown_below_the_heads_of_its_classes() {
        let root = tempfile::tempdir().unwrap();
        let text = "@mark\nclass TestA(Base):\n    limit = 3\n\n    def other(self): pass\n\n    @given\n    \
                    def test_it(\n        self,\n    ):\n        pass\n\ndef test_plain():\n    pass\n";
        std::fs::write(root.path().join("test_a.py"), text).unwrap();
        let graph = Graph::build(root.path(), &graph::BuildOptions::default());
        let texts = Texts::new(root.path(), graph::WalkOptions::default());
        let check = |names: &[&str], expected: &str| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(body(&graph, &texts, "test_a.py", &names).as_deref(), Some(expected));
        };
        let method = "@mark\nclass TestA(Base):\n    @given\n    def test_it(\n        self,\n    ):\n        pass";
        check(&["TestA", "test_it"], method);
        check(&["test_plain"], "def test_plain():\n    pass");
    }
}
