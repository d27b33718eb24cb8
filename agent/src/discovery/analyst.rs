//! Decides in each phase of a search: a trait, and the analyst that works by rule, without a model.
//!
//! The rule ranks by BM25 over name, description and README, with the stars as a small bonus. It understands no
//! sentence; its briefs are a README's own first sentences.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    brief::{first_sentences, result_sentence},
    intent::{TaskDefinition, TaskIntent},
    source::{FoundRepository, ReadmeText},
    terms::{has_terms, normal_text, terms},
};
use crate::{chunks::ranked, message::TokenUsage};

/// A repository whose README was asked for.
#[derive(Debug, Clone)]
pub struct BrowsedRepository {
    /// The repository.
    pub found: FoundRepository,
    /// Its README.
    pub readme: ReadmeText,
    /// A brief description.
    pub brief: String,
}

/// The judgement on one repository, in the form of Listing 2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryJudgement {
    /// The repository.
    pub name: String,
    /// True if the task can be solved with it.
    pub can_solve_task: bool,
    /// The way in which it solves the task.
    pub solution_approach: String,
    /// Its published result.
    pub performance: String,
    /// The reason for its rank.
    pub reason: String,
}

/// A ranking, the best first, with a recommendation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchJudgement {
    /// The repositories.
    pub repositories: Vec<RepositoryJudgement>,
    /// The recommendation; empty for the one that follows from the ranking.
    #[serde(default)]
    pub recommendation: String,
}

/// The effort of an analyst.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct AnalystEffort {
    /// Requests to a model.
    pub requests: u32,
    /// Their tokens.
    pub usage: TokenUsage,
    /// Their price in US dollars, where it is known.
    pub cost: Option<f64>,
    /// The phases in which the rule took the place of an unreadable answer.
    pub by_rule: Vec<&'static str>,
}

/// Why an analyst cannot decide.
#[derive(Debug, thiserror::Error)]
pub enum AnalystError {
    /// A template of the user's is wrong.
    #[error(transparent)]
    Prompt(#[from] crate::prompt::PromptError),
    /// The model gives no answer, or a cap does not allow another.
    #[error("{0}")]
    Model(String),
}

/// Decides in the phases of a search.
pub trait Analyst {
    /// Its name in records: a model's, or `offline`.
    fn name(&self) -> &str;

    /// Task definition: the criteria for repositories.
    fn define(&mut self, task: &str) -> Result<TaskDefinition, AnalystError>;

    /// Intent analysis: names, keywords and queries.
    fn intent(&mut self, task: &TaskDefinition) -> Result<TaskIntent, AnalystError>;

    /// Searching: indices of the repositories whose READMEs are worth a look, `most` at most.
    fn choose(
        &mut self,
        intent: &TaskIntent,
        found: &[FoundRepository],
        most: usize,
    ) -> Result<Vec<usize>, AnalystError>;

    /// Browsing: fills in the briefs.
    fn brief(&mut self, browsed: &mut [BrowsedRepository]) -> Result<(), AnalystError>;

    /// Analysing: the ranking of what was browsed.
    fn judge(
        &mut self,
        task: &TaskDefinition,
        intent: &TaskIntent,
        browsed: &[BrowsedRepository],
    ) -> Result<SearchJudgement, AnalystError>;

    /// Returns the effort so far.
    fn effort(&self) -> AnalystEffort {
        AnalystEffort::default()
    }
}

/// The analyst without a model.
#[derive(Debug, Default)]
pub struct RuleAnalyst;

/// Weights of a name, a description and a README.
const FIELDS: [f64; 3] = [3.0, 2.0, 1.0];
/// The bonus of stars, times the logarithm of their number: a thousand are worth 0.35, less than a rare word in a
/// name (1 to 5).
const STARS: f64 = 0.05;
/// The text of Listing 2 for what is not described.
pub const NOT_SPECIFIED: &str = "Not specified.";

impl RuleAnalyst {
    /// Repositories by their likeness to a task, the most alike first: index and score, 0 for no word in common.
    fn order(intent: &TaskIntent, fields: &[[String; 3]]) -> Vec<(usize, f64)> {
        let question = normal_text(&Self::question(intent));
        let mut scores = vec![0.0; fields.len()];
        for (field, weight) in FIELDS.iter().enumerate() {
            let texts: Vec<&str> = fields.iter().map(|texts| texts[field].as_str()).collect();
            for (at, score) in ranked(&texts, &question) {
                scores[at] += weight * score;
            }
        }
        let mut order: Vec<(usize, f64)> = scores.into_iter().enumerate().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        order
    }

    fn question(intent: &TaskIntent) -> String {
        let all = intent.entities.iter().chain(&intent.keywords);
        all.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// The same, with the bonus of stars for those that have a word in common.
    fn order_with_stars(
        intent: &TaskIntent,
        all: &[(&FoundRepository, &str)],
    ) -> Vec<(usize, f64)> {
        let fields: Vec<[String; 3]> = all
            .iter()
            .map(|(found, readme)| {
                [found.name.as_str(), found.description.as_str(), readme].map(normal_text)
            })
            .collect();
        let mut order = Self::order(intent, &fields);
        for (at, score) in order.iter_mut().filter(|(_, score)| *score > 0.0) {
            let stars = all[*at].0.stars.unwrap_or(0) as f64;
            *score += STARS * stars.ln_1p();
        }
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        order
    }
}

impl Analyst for RuleAnalyst {
    fn name(&self) -> &'static str {
        "offline"
    }

    fn define(&mut self, task: &str) -> Result<TaskDefinition, AnalystError> {
        let criteria = [
            "its name, description or README has the words of the task",
            "it has a README",
            "it opens, and most of its modules parse",
            "its code has words of the task",
        ];
        Ok(TaskDefinition { task: task.to_owned(), criteria: criteria.map(str::to_owned).into() })
    }

    fn intent(&mut self, task: &TaskDefinition) -> Result<TaskIntent, AnalystError> {
        Ok(TaskIntent::of_task(&task.task))
    }

    fn choose(
        &mut self,
        intent: &TaskIntent,
        found: &[FoundRepository],
        most: usize,
    ) -> Result<Vec<usize>, AnalystError> {
        let text = |one: &'_ FoundRepository| one.readme.clone().unwrap_or_default();
        let readmes: Vec<String> = found.iter().map(text).collect();
        let all: Vec<(&FoundRepository, &str)> =
            found.iter().zip(&readmes).map(|(found, readme)| (found, readme.as_str())).collect();
        let order = Self::order_with_stars(intent, &all);
        Ok(order.into_iter().map(|(at, _)| at).take(most).collect())
    }

    fn brief(&mut self, browsed: &mut [BrowsedRepository]) -> Result<(), AnalystError> {
        for one in browsed {
            one.brief = match &one.readme {
                ReadmeText::Text(text) => first_sentences(text),
                ReadmeText::Missing | ReadmeText::Unavailable(_) => String::new(),
            };
            if one.brief.is_empty() {
                one.brief.clone_from(&one.found.description);
            }
        }
        Ok(())
    }

    fn judge(
        &mut self,
        _: &TaskDefinition,
        intent: &TaskIntent,
        browsed: &[BrowsedRepository],
    ) -> Result<SearchJudgement, AnalystError> {
        let readme = |one: &'_ BrowsedRepository| match &one.readme {
            ReadmeText::Text(text) => text.clone(),
            ReadmeText::Missing | ReadmeText::Unavailable(_) => String::new(),
        };
        let readmes: Vec<String> = browsed.iter().map(readme).collect();
        let all: Vec<(&FoundRepository, &str)> = browsed
            .iter()
            .zip(&readmes)
            .map(|(one, readme)| (&one.found, readme.as_str()))
            .collect();
        let order = Self::order_with_stars(intent, &all);
        let judged = order.into_iter().map(|(at, _)| judgement(intent, &browsed[at], &readmes[at]));
        let mut repositories: Vec<RepositoryJudgement> = judged.collect();
        repositories.sort_by_key(|one| !one.can_solve_task);
        Ok(SearchJudgement { repositories, recommendation: String::new() })
    }
}

fn judgement(intent: &TaskIntent, one: &BrowsedRepository, readme: &str) -> RepositoryJudgement {
    let found = &one.found;
    let name = found.name.clone();
    if let ReadmeText::Unavailable(reason) = &one.readme {
        return RepositoryJudgement {
            name,
            can_solve_task: false,
            solution_approach: format!("Information unavailable: {reason}."),
            performance: "Information unavailable.".to_owned(),
            reason: "Unable to retrieve information.".to_owned(),
        };
    }
    let there: BTreeSet<String> =
        terms(&format!("{} {} {readme}", found.name, found.description)).collect();
    let (has, lacks): (Vec<&str>, Vec<&str>) =
        intent.keywords.iter().map(String::as_str).partition(|word| has_terms(&there, word));
    let list = |words: &[&str]| match words {
        [] => "none of the task's words".to_owned(),
        words => words.join(", "),
    };
    let stars = found.stars.map(|stars| format!("; {stars} stars")).unwrap_or_default();
    let missing = match lacks.as_slice() {
        [] => String::new(),
        words => format!("; without {}", words.join(", ")),
    };
    RepositoryJudgement {
        name,
        // Half of the words is a rule of thumb: a task has words that no repository needs.
        can_solve_task: !has.is_empty() && has.len() * 2 >= intent.keywords.len(),
        solution_approach: match one.brief.is_empty() {
            true => NOT_SPECIFIED.to_owned(),
            false => one.brief.clone(),
        },
        performance: result_sentence(readme).unwrap_or_else(|| NOT_SPECIFIED.to_owned()),
        reason: format!("Has {} in name, description or README{missing}{stars}.", list(&has)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn browsed(name: &str, stars: u64, readme: ReadmeText) -> BrowsedRepository {
        let found =
            FoundRepository { name: name.to_owned(), stars: Some(stars), ..Default::default() };
        BrowsedRepository { found, readme, brief: String::new() }
    }

    #[test]
    fn words_decide_and_stars_decide_between_equals() {
        let readme = |text: &str| ReadmeText::Text(text.to_owned());
        let mut all = [
            browsed("a/one", 5, readme("Detects edges in images.")),
            browsed("a/two", 900, readme("Detects edges in images.")),
            browsed("a/famous", 90_000, readme("Counts words.")),
            browsed("a/edge-detection", 0, readme("Finds edges in images, with an f1 of 0.8.")),
            browsed("a/gone", 10, ReadmeText::Unavailable("no answer".to_owned())),
        ];
        let mut analyst = RuleAnalyst;
        let task = analyst.define("detect edges in images").unwrap();
        let intent = analyst.intent(&task).unwrap();
        analyst.brief(&mut all).unwrap();
        let judged = analyst.judge(&task, &intent, &all).unwrap().repositories;
        let names: Vec<(&str, bool)> =
            judged.iter().map(|one| (one.name.as_str(), one.can_solve_task)).collect();
        assert_eq!(
            names,
            [
                ("a/edge-detection", true),
                ("a/two", true),
                ("a/one", true),
                ("a/famous", false),
                ("a/gone", false),
            ]
        );
        assert_eq!(judged[0].performance, "Finds edges in images, with an f1 of 0.8.");
        assert_eq!(
            judged[1].reason,
            "Has detect, images, edges in name, description or README; 900 stars."
        );
        assert_eq!(judged[4].reason, "Unable to retrieve information.");
        let found: Vec<FoundRepository> = all.into_iter().map(|one| one.found).collect();
        assert_eq!(analyst.choose(&intent, &found, 2).unwrap(), [3, 0]);
    }
}
