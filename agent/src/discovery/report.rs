//! The result of a search: the JSON of Listing 2 with what our search knows besides, and the same as text.

use std::{
    borrow::Cow,
    fmt::{self, Write},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::{
    analyst::{AnalystEffort, BrowsedRepository, RepositoryJudgement},
    intent::TaskIntent,
    mapping::Validation,
    search_log::PhaseLog,
};

/// The version of the JSON.
pub const REPORT_VERSION: u32 = 1;

/// The result of a search.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FindReport {
    /// The version of this form.
    pub version: u32,
    /// The task.
    pub task: String,
    /// The source of the repositories.
    pub source: String,
    /// The model that judged, or `offline`.
    pub analyst: String,
    /// The criteria.
    pub criteria: Vec<String>,
    /// The intent.
    pub intent: TaskIntent,
    /// Repositories that the source proposed.
    pub proposals: usize,
    /// The ranking, as in Listing 2.
    pub repositories: Vec<RankedRepository>,
    /// The recommendation, as in Listing 2.
    pub recommendation: String,
    /// The effort of the analyst.
    pub effort: AnalystEffort,
    /// The log, by phases.
    pub log: Vec<PhaseLog>,
}

/// One repository of the ranking. The first eight fields are those of Listing 2.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RankedRepository {
    /// Its rank, from 1.
    pub rank: usize,
    /// Its name.
    pub name: String,
    /// Its address.
    pub url: String,
    /// Its stars.
    pub stars: StarCount,
    /// True if the task can be solved with it.
    pub can_solve_task: bool,
    /// The way in which it solves the task.
    pub solution_approach: String,
    /// Its published result.
    pub performance: String,
    /// The reason for its rank.
    pub reason: String,
    /// A brief description.
    pub brief: String,
    /// The name by which it is opened.
    pub place: Option<String>,
    /// The result of opening it; `None` if it was not opened.
    pub validation: Option<Validation>,
}

/// Stars, or `N/A` where they are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StarCount(pub Option<u64>);

impl fmt::Display for StarCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(stars) => f.pad(&stars.to_string()),
            None => f.pad("N/A"),
        }
    }
}

impl Serialize for StarCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(stars) => serializer.serialize_u64(stars),
            None => serializer.serialize_str("N/A"),
        }
    }
}

impl JsonSchema for StarCount {
    fn schema_name() -> Cow<'static, str> {
        "StarCount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "N/A" }] })
    }
}

impl RankedRepository {
    /// A judged repository. One that does not serve when it is opened cannot solve the task, whatever was judged.
    pub fn new(
        browsed: &BrowsedRepository,
        judgement: RepositoryJudgement,
        validation: Option<Validation>,
    ) -> Self {
        let problem = validation.as_ref().and_then(|validation| validation.problem.clone());
        let reason = match &problem {
            Some(problem) => format!("Validation failed: {problem}. {}", judgement.reason),
            None => judgement.reason,
        };
        Self {
            rank: 0,
            name: judgement.name,
            url: browsed.found.url.clone(),
            stars: StarCount(browsed.found.stars),
            can_solve_task: judgement.can_solve_task && problem.is_none(),
            solution_approach: judgement.solution_approach,
            performance: judgement.performance,
            reason: reason.trim_end().to_owned(),
            brief: browsed.brief.clone(),
            place: browsed.found.place.clone(),
            validation,
        }
    }
}

/// The recommendation that follows from a ranking.
pub fn recommendation(ranked: &[RankedRepository]) -> String {
    match ranked.first() {
        Some(one) if one.can_solve_task => {
            let checked = match &one.validation {
                Some(validation) => format!(" It was opened: {}.", validation.summary()),
                None => String::new(),
            };
            format!("The repository '{}' is recommended. {}{checked}", one.name, one.reason)
        }
        Some(_) => "None of the repositories is recommended.".to_owned(),
        None => "The source has no repository for this task.".to_owned(),
    }
}

impl FindReport {
    /// Returns true if a repository can solve the task.
    pub fn is_solved(&self) -> bool {
        self.repositories.iter().any(|one| one.can_solve_task)
    }

    /// The ranking as a table, with the texts of each repository below.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if !self.repositories.is_empty() {
            let _ = writeln!(out, "rank  solves     stars  modules  classes  repository");
        }
        for one in &self.repositories {
            let map = one.validation.as_ref().and_then(|validation| validation.map.as_ref());
            let count = |number: Option<usize>| number.map_or("-".to_owned(), |n| n.to_string());
            let _ = writeln!(
                out,
                "{:>4}  {:<6}  {:>8}  {:>7}  {:>7}  {}",
                one.rank,
                if one.can_solve_task { "yes" } else { "no" },
                one.stars,
                count(map.map(|map| map.modules)),
                count(map.map(|map| map.classes)),
                one.url,
            );
        }
        for one in &self.repositories {
            let checked = one.validation.as_ref().map(Validation::summary);
            let top = one.validation.as_ref().and_then(|validation| validation.map.as_ref());
            let top = top.map(|map| map.top_modules.join(", "));
            let rows = [
                ("approach", Some(one.solution_approach.as_str())),
                ("performance", Some(one.performance.as_str())),
                ("reason", Some(one.reason.as_str())),
                ("opened", checked.as_deref()),
                ("modules", top.as_deref()),
                ("open as", one.place.as_deref()),
            ];
            let _ = writeln!(out, "\n{}. {}", one.rank, one.name);
            for (name, text) in rows {
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    let _ = writeln!(out, "   {name:<11}  {}", text.replace('\n', " "));
                }
            }
        }
        let gap = if self.repositories.is_empty() { "" } else { "\n" };
        let _ = writeln!(out, "{gap}{}", self.recommendation);
        let how = match self.analyst.as_str() {
            "offline" => {
                "Ranked by the task's words in name, description and README, with a small bonus for stars; no model judged."
                    .to_owned()
            }
            model => format!("Judged by {model}, asked {} times.", self.effort.requests),
        };
        let _ = writeln!(out, "{how}");
        out
    }
}
