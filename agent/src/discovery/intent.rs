//! The intent of a task in words: what it is about, and the queries that find it. By rule here; a model gives the
//! same in its own words.
//!
//! A word weighs by its length, as long words are rarer, and twice if it has the form of a name.

use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::terms::{is_stop_word, term, words};

/// A task with the criteria by which repositories are judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDefinition {
    /// The task.
    pub task: String,
    /// The criteria.
    pub criteria: Vec<String>,
}

/// The intent of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskIntent {
    /// Names in it.
    #[serde(default)]
    pub entities: Vec<String>,
    /// The words that tell most, the most telling first.
    pub keywords: Vec<String>,
    /// Queries, from the narrowest to the widest.
    pub queries: Vec<String>,
}

const KEYWORDS: usize = 8;
/// Queries at most: without a token GitHub takes ten in a minute.
const QUERIES: usize = 6;
/// Characters of a query at most (docs.github.com, "Limitations on query length").
const QUERY: usize = 256;

static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("[\"“`]([^\"“”`]+)[\"”`]").expect("a literal pattern"));

impl TaskIntent {
    /// The intent of a task by rule.
    pub fn of_task(task: &str) -> Self {
        let quoted: Vec<&str> = QUOTED
            .captures_iter(task)
            .filter_map(|found| Some(found.get(1)?.as_str().trim()))
            .filter(|text| !text.is_empty())
            .collect();
        let mut entities: Vec<String> = Vec::new();
        let plain = |word: &'_ str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        let names = task.split_whitespace().enumerate().filter_map(|(at, word)| {
            let word = plain(word);
            is_name(&word, at == 0).then_some(word)
        });
        for entity in quoted.iter().map(|text| (*text).to_owned()).chain(names) {
            let known = entities.iter().any(|other| other.contains(&entity));
            if !known && !is_stop_word(&entity) {
                entities.push(entity);
            }
        }
        let mut weighed: Vec<(String, String, f64)> = Vec::new();
        for word in words(task) {
            if word.chars().count() < 2 || is_stop_word(word) {
                continue;
            }
            let named = entities.iter().any(|entity| words(entity).contains(&word));
            let digits = word.chars().all(char::is_numeric);
            let weight = (1.0 + word.chars().count() as f64).ln()
                * if named { 2.0 } else { 1.0 }
                * if digits { 0.5 } else { 1.0 };
            let term = term(word);
            match weighed.iter_mut().find(|(other, ..)| *other == term) {
                Some((.., sum)) => *sum += weight,
                None => weighed.push((term, word.to_lowercase(), weight)),
            }
        }
        weighed.sort_by(|a, b| b.2.total_cmp(&a.2));
        let keywords: Vec<String> =
            weighed.into_iter().map(|(_, word, _)| word).take(KEYWORDS).collect();
        let queries = queries(&entities, &keywords);
        Self { entities, keywords, queries }
    }

    /// The same with other queries in front; none is there twice, and none is too long.
    #[must_use]
    pub fn with_queries(mut self, first: &[String]) -> Self {
        let all = first.iter().chain(&self.queries).map(|query| cut(query.trim()));
        let mut queries: Vec<String> = Vec::new();
        for query in all.filter(|query| !query.is_empty()) {
            if !queries.contains(&query) && queries.len() < QUERIES.max(first.len()) {
                queries.push(query);
            }
        }
        self.queries = queries;
        self
    }
}

/// Returns true for a word that has the form of a name: `a-b`, `a.b`, `x2`, `aB`, `AB`, or a capital within a
/// sentence.
fn is_name(word: &str, begins_sentence: bool) -> bool {
    let letters: Vec<char> = word.chars().collect();
    if letters.len() < 2 || !letters.iter().any(|c| c.is_alphabetic()) {
        return false;
    }
    let joined = letters.iter().any(|c| matches!(c, '-' | '_' | '.' | '/'));
    let digit = letters.iter().any(|c| c.is_numeric());
    let inner = letters[1..].iter().any(|c| c.is_uppercase());
    joined || digit || inner || letters[0].is_uppercase() && !begins_sentence
}

/// Queries of fewer and fewer words: a search asks for all words of a query.
fn queries(entities: &[String], keywords: &[String]) -> Vec<String> {
    let named = entities.iter().take(2).cloned().collect::<Vec<_>>();
    let counts = [4, 3, 2, 1].into_iter().filter(|count| *count <= keywords.len());
    let words = counts.map(|count| keywords[..count].join(" "));
    let mut all = Vec::new();
    for query in [named.join(" ")].into_iter().chain(words) {
        let query = cut(&query);
        if !query.is_empty() && !all.contains(&query) {
            all.push(query);
        }
    }
    all
}

fn cut(query: &str) -> String {
    query.chars().filter(|c| !c.is_control()).take(QUERY).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(task: &str, entities: &[&str], keywords: &[&str], queries: &[&str]) {
        let intent = TaskIntent::of_task(task);
        assert_eq!(intent.entities, entities);
        assert_eq!(intent.keywords, keywords);
        assert_eq!(intent.queries, queries);
    }

    #[test]
    fn tasks_have_names_keywords_and_queries() {
        check(
            "Search for GitHub repositories related to \"aptos2019-blindness-detection\".",
            &["aptos2019-blindness-detection"],
            &["blindness", "detection", "aptos", "2019"],
            &[
                "aptos2019-blindness-detection",
                "blindness detection aptos 2019",
                "blindness detection aptos",
                "blindness detection",
                "blindness",
            ],
        );
        check(
            "Restore an old photo by removing scratches from it.",
            &[],
            &["scratches", "removing", "restore", "photo", "old"],
            &[
                "scratches removing restore photo",
                "scratches removing restore",
                "scratches removing",
                "scratches",
            ],
        );
        check("Find it", &[], &[], &[]);
    }

    #[test]
    fn queries_of_the_user_come_first() {
        let own = ["photo  ".to_owned(), "x".repeat(300), " ".to_owned()];
        let long = "x".repeat(256);
        let intent = TaskIntent::of_task("restore a photo").with_queries(&own);
        assert_eq!(intent.queries, ["photo", long.as_str(), "restore photo", "restore"]);
    }
}
