//! An analyst that is a model: each phase is one request with a prompt of `prompts/find`, answered by one JSON object.
//!
//! An answer that cannot be read is asked for once more; then the rule decides that phase, which is logged. A model
//! names repositories only among those that it is shown.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{
    analyst::{
        Analyst, AnalystEffort, AnalystError, BrowsedRepository, NOT_SPECIFIED,
        RepositoryJudgement, RuleAnalyst, SearchJudgement,
    },
    intent::{TaskDefinition, TaskIntent},
    report::StarCount,
    search_log::SearchLog,
    source::{FoundRepository, ReadmeText},
};
use crate::{
    message::Message,
    model::{Model, ModelRequest, Spent},
    prompt::Prompts,
};

/// A model that decides.
pub struct ModelAnalyst<'a> {
    model: Box<dyn Model>,
    prompts: &'a Prompts,
    spent: std::sync::Arc<Spent>,
    runtime: Runtime,
    log: &'a SearchLog<'a>,
    /// Tokens of each README that it is shown.
    readme_tokens: usize,
    rule: RuleAnalyst,
    effort: AnalystEffort,
    task: String,
}

#[derive(Deserialize)]
struct Choice {
    browse: Vec<String>,
}

#[derive(Deserialize)]
struct Briefs {
    briefs: Vec<NamedBrief>,
}

#[derive(Deserialize)]
struct NamedBrief {
    name: String,
    brief: String,
}

/// Requests for one phase: one, and another where the answer cannot be read.
const ATTEMPTS: u32 = 2;

impl<'a> ModelAnalyst<'a> {
    /// An analyst that asks a model.
    ///
    /// # Errors
    /// The system refuses what waits for its answers.
    pub fn new(
        model: Box<dyn Model>,
        spent: std::sync::Arc<Spent>,
        prompts: &'a Prompts,
        log: &'a SearchLog<'a>,
        readme_tokens: usize,
    ) -> Result<Self, std::io::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (effort, task) = (AnalystEffort::default(), String::new());
        Ok(Self {
            model,
            prompts,
            spent,
            runtime,
            log,
            readme_tokens,
            rule: RuleAnalyst,
            effort,
            task,
        })
    }

    /// The object that answers a prompt; `None` if no answer can be read.
    fn ask<T: DeserializeOwned>(
        &mut self,
        template: &'static str,
        values: &Value,
    ) -> Result<Option<T>, AnalystError> {
        let system = self.prompts.render("find/system.md", json!({ "task": self.task }))?;
        let content = self.prompts.render(template, values)?;
        let mut messages =
            vec![Message::System { content: system }, Message::User { content }.without_hidden()];
        for _ in 0..ATTEMPTS {
            self.spent.check().map_err(|outcome| AnalystError::Model(outcome.to_string()))?;
            let request = ModelRequest { messages: &messages, tools: &[] };
            let answer = self.runtime.block_on(self.model.answer(request));
            let answer = answer.map_err(|error| AnalystError::Model(error.to_string()))?;
            self.effort.requests += 1;
            self.effort.usage += answer.usage;
            if let Some(cost) = answer.cost {
                *self.effort.cost.get_or_insert(0.0) += cost;
            }
            match object_of(&answer.content) {
                Ok(object) => return Ok(Some(object)),
                Err(message) => {
                    self.log.line(format!("the answer to {template} cannot be read: {message}"));
                    let content =
                        self.prompts.render("find/again.md", json!({ "message": message }))?;
                    messages.extend([Message::Assistant(answer), Message::User { content }]);
                }
            }
        }
        self.log.line(format!("{template} is decided by rule"));
        self.effort.by_rule.push(template);
        Ok(None)
    }

    fn shown(&self, one: &BrowsedRepository) -> Value {
        let readme = match &one.readme {
            ReadmeText::Text(text) => cut(text, self.readme_tokens),
            ReadmeText::Missing => "(the repository has none)".to_owned(),
            ReadmeText::Unavailable(reason) => format!("(not available: {reason})"),
        };
        let mut value = listed(&one.found);
        value["readme"] = readme.into();
        value["brief"] = one.brief.clone().into();
        value
    }
}

impl Analyst for ModelAnalyst<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn define(&mut self, task: &str) -> Result<TaskDefinition, AnalystError> {
        task.clone_into(&mut self.task);
        match self.ask("find/define.md", &json!({ "task": task }))? {
            Some(definition) => Ok(definition),
            None => self.rule.define(task),
        }
    }

    fn intent(&mut self, task: &TaskDefinition) -> Result<TaskIntent, AnalystError> {
        let values = json!({ "task": task.task, "criteria": task.criteria });
        let rule = TaskIntent::of_task(&self.task);
        let mut intent: TaskIntent = match self.ask("find/intent.md", &values)? {
            Some(intent) => intent,
            None => return Ok(rule),
        };
        // Nothing could be searched, or looked for in code, without them.
        if intent.keywords.is_empty() {
            intent.keywords = rule.keywords;
        }
        if intent.queries.is_empty() {
            intent.queries = rule.queries;
        }
        Ok(intent.with_queries(&[]))
    }

    fn choose(
        &mut self,
        intent: &TaskIntent,
        found: &[FoundRepository],
        most: usize,
    ) -> Result<Vec<usize>, AnalystError> {
        if found.len() <= most {
            // Nothing is to be left out.
            return Ok((0..found.len()).collect());
        }
        let by_rule = self.rule.choose(intent, found, most)?;
        let all: Vec<Value> = found.iter().map(listed).collect();
        let choice: Option<Choice> =
            self.ask("find/choose.md", &json!({ "repositories": all, "most": most }))?;
        let Some(choice) = choice else { return Ok(by_rule) };
        let mut chosen: Vec<usize> = Vec::new();
        for name in &choice.browse {
            match found.iter().position(|one| one.name.eq_ignore_ascii_case(name.trim())) {
                Some(at) if !chosen.contains(&at) && chosen.len() < most => chosen.push(at),
                Some(_) => {}
                None => self.log.line(format!("{name:?} was not among the repositories")),
            }
        }
        if chosen.is_empty() {
            self.log.line("no repository was chosen: the rule chooses");
            return Ok(by_rule);
        }
        Ok(chosen)
    }

    fn brief(&mut self, browsed: &mut [BrowsedRepository]) -> Result<(), AnalystError> {
        self.rule.brief(browsed)?;
        let all: Vec<Value> = browsed.iter().map(|one| self.shown(one)).collect();
        let briefs: Option<Briefs> = self.ask("find/brief.md", &json!({ "repositories": all }))?;
        for NamedBrief { name, brief } in briefs.into_iter().flat_map(|briefs| briefs.briefs) {
            let one =
                browsed.iter_mut().find(|one| one.found.name.eq_ignore_ascii_case(name.trim()));
            if let Some(one) = one {
                one.brief = brief;
            }
        }
        Ok(())
    }

    fn judge(
        &mut self,
        task: &TaskDefinition,
        intent: &TaskIntent,
        browsed: &[BrowsedRepository],
    ) -> Result<SearchJudgement, AnalystError> {
        let all: Vec<Value> = browsed.iter().map(|one| self.shown(one)).collect();
        let values = json!({ "criteria": task.criteria, "repositories": all });
        let judgement: Option<SearchJudgement> = self.ask("find/judge.md", &values)?;
        let Some(SearchJudgement { repositories, recommendation }) = judgement else {
            return self.rule.judge(task, intent, browsed);
        };
        let mut kept: Vec<RepositoryJudgement> = Vec::new();
        for mut one in repositories {
            let known =
                browsed.iter().find(|other| other.found.name.eq_ignore_ascii_case(one.name.trim()));
            match known {
                Some(known) if !kept.iter().any(|other| other.name == known.found.name) => {
                    one.name.clone_from(&known.found.name);
                    kept.push(one);
                }
                Some(_) => {}
                None => self.log.line(format!("{:?} was not among the repositories", one.name)),
            }
        }
        for one in browsed {
            if !kept.iter().any(|other| other.name == one.found.name) {
                kept.push(RepositoryJudgement {
                    name: one.found.name.clone(),
                    can_solve_task: false,
                    solution_approach: NOT_SPECIFIED.to_owned(),
                    performance: NOT_SPECIFIED.to_owned(),
                    reason: "The model did not judge it.".to_owned(),
                });
            }
        }
        Ok(SearchJudgement { repositories: kept, recommendation })
    }

    fn effort(&self) -> AnalystEffort {
        self.effort.clone()
    }
}

/// A repository as a model sees it in a list.
fn listed(found: &FoundRepository) -> Value {
    json!({
        "name": found.name,
        "stars": StarCount(found.stars),
        "description": found.description,
    })
}

/// The first lines of a text within so many tokens, with a note of what was cut.
fn cut(text: &str, tokens: usize) -> String {
    let mut kept = String::new();
    let mut used = 0;
    for line in text.split_inclusive('\n') {
        used += graph::count_tokens(line);
        if used > tokens {
            let left = text.len() - kept.len();
            return format!("{}\n[{left} bytes more]", kept.trim_end());
        }
        kept.push_str(line);
    }
    kept
}

/// The first JSON object in an answer that has the wanted form: in a block, or anywhere in the text.
fn object_of<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut message = "it has no JSON object".to_owned();
    for (at, _) in text.match_indices('{') {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { continue };
        match serde_json::from_value(value) {
            Ok(object) => return Ok(object),
            // The first object is the outermost: its fault is the one to mend.
            Err(error) if message.starts_with("it has no") => message = error.to_string(),
            Err(_) => {}
        }
    }
    Err(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_in_whatever_is_around_them() {
        let read = |text: &str| object_of::<Choice>(text).map(|choice| choice.browse.join(" "));
        assert_eq!(read("{\"browse\": [\"a\"]}"), Ok("a".to_owned()));
        assert_eq!(
            read("Like {this}:\n```json\n{\"browse\": [\"a\", \"b\"]}\n```\nDone."),
            Ok("a b".to_owned())
        );
        assert_eq!(read("none"), Err("it has no JSON object".to_owned()));
        assert_eq!(read("{\"brows\": {}}"), Err("missing field `browse`".to_owned()));
    }

    #[test]
    fn long_readmes_are_cut_at_lines_and_say_so() {
        assert_eq!(cut("one\ntwo\n", 100), "one\ntwo\n");
        let text = "word word word\n".repeat(10);
        let short = cut(&text, 9);
        assert!(
            short.starts_with("word word word\n") && short.ends_with(" bytes more]"),
            "{short}"
        );
    }
}
