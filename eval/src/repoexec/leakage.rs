//! The share of n-grams of a set of functions that a model continues word by word: a sign that it was trained on them
//! (RepoExec, table 7, after BenBench, arXiv 2404.18824).
//!
//! A function is cut at several places. The model goes on from each, and the first words count where all of them are those
//! of the function. The other measure of the paper, perplexity, needs the probabilities of tokens and is not here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::CompletionProblem;
use crate::{report::Table, statistics::mean};

/// The version of rows of continuations.
pub const CONTINUATION_VERSION: u32 = 1;

/// A place of a function from which a model goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutPlace {
    /// The text before it.
    pub prefix: String,
    /// The first words behind it.
    pub expected: Vec<String>,
    /// The text from it on.
    pub rest: String,
}

/// A continuation, and if it is that of the function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Continuation {
    /// [`CONTINUATION_VERSION`].
    pub version: u32,
    /// The problem's id.
    pub problem: String,
    /// The number of its place, from 0.
    pub place: usize,
    /// The model.
    pub model: String,
    /// The first words of the function behind the place.
    pub expected: Vec<String>,
    /// The first words of the answer.
    pub found: Vec<String>,
    /// Why there is no answer; then it counts for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Continuation {
    /// Returns true if the answer goes on as the function does.
    pub fn is_known(&self) -> bool {
        self.found == self.expected
    }
}

/// The places of a function at which it is cut: as many as `count`, evenly spread behind its second word, each with `n`
/// words behind it. A function that is too short for that has fewer, or none.
pub fn cut_places(problem: &CompletionProblem, n: usize, count: usize) -> Vec<CutPlace> {
    let text = problem.function.solution.as_str();
    let words = words(text);
    let Some(last) = words.len().checked_sub(n).filter(|last| *last >= 2 && n > 0) else {
        return Vec::new();
    };
    let step = |at: usize| 2 + (last - 2) * at / (count.max(2) - 1);
    let mut places: Vec<usize> = (0..count).map(step).collect();
    places.dedup();
    let cut = places.into_iter().map(|place| CutPlace {
        prefix: text[..words[place].start].to_owned(),
        rest: text[words[place].start..].to_owned(),
        expected: words[place..place + n]
            .iter()
            .map(|word| text[word.clone()].to_owned())
            .collect(),
    });
    cut.collect()
}

/// The first `n` words of an answer, which may begin with a fence or with the text before the place again.
pub fn continued_words(prefix: &str, answer: &str, n: usize) -> Vec<String> {
    let answer = answer.rsplit_once("</think>").map_or(answer, |(_, rest)| rest);
    let fenced = answer.trim_start().strip_prefix("```");
    let answer = fenced.and_then(|rest| rest.split_once('\n')).map_or(answer, |(_, rest)| rest);
    let answer = answer.strip_prefix(prefix).unwrap_or(answer);
    words(answer).into_iter().take(n).map(|word| answer[word].to_owned()).collect()
}

/// The words of a text: runs of letters, digits and underscores, and each other character that is no space.
fn words(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let mut open = false;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match found.last_mut() {
            Some(last) if open && is_letter(c) => last.end = end,
            _ if c.is_whitespace() => {}
            _ => found.push(at..end),
        }
        open = is_letter(c);
    }
    found
}

/// The table of continuations by model: the mean over functions of the share of places that it knows.
pub fn leakage_table(continuations: &[Continuation]) -> Table {
    let mut models: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    let mut failed: BTreeMap<&str, usize> = BTreeMap::new();
    for one in continuations {
        let problems = models.entry(&one.model).or_default();
        if one.failure.is_some() {
            *failed.entry(&one.model).or_default() += 1;
            continue;
        }
        problems.entry(&one.problem).or_default().push(f64::from(u8::from(one.is_known())));
    }
    let rows = models.into_iter().map(|(model, problems)| {
        let failed = failed.get(model).copied().unwrap_or(0);
        let places: usize = problems.values().map(Vec::len).sum();
        let shares: Vec<f64> = problems.values().filter_map(|known| mean(known)).collect();
        let share = mean(&shares).map_or("-".to_owned(), |share| format!("{share:.2}"));
        vec![
            model.to_owned(),
            shares.len().to_string(),
            places.to_string(),
            failed.to_string(),
            share,
        ]
    });
    Table::named(
        "leakage",
        "N-grams that models continue (RepoExec, table 7; perplexity needs probabilities of tokens)",
        &["model"],
        &["functions", "places", "without an answer", "n-gram"],
        rows.collect(),
    )
}

#[cfg(test)]
mod tests {
    use graph::{ExtractionOptions, extract_of_sources};

    use super::*;
    use crate::repoexec::ProblemSource;

    fn problem(source: &str) -> CompletionProblem {
        let found = extract_of_sources([("m.py", source)], &ExtractionOptions::default());
        let function = found.functions.into_iter().next().unwrap();
        CompletionProblem::new("p", ProblemSource::default(), function)
    }

    #[test]
    fn a_function_is_cut_at_even_places() {
        let problem = problem("def f(x):\n    return x + 1\n");
        let places = |n, count| -> Vec<String> {
            let all = cut_places(&problem, n, count).into_iter();
            all.map(|place| format!("{}|{}", place.prefix, place.expected.join(" "))).collect()
        };
        assert_eq!(
            places(3, 3),
            ["def f|( x )", "def f(x|) : return", "def f(x):\n    return |x + 1"]
        );
        assert_eq!(places(3, 1), ["def f|( x )"]);
        assert_eq!(places(8, 5).len(), 1, "one place has so many words behind it");
        assert!(places(9, 5).is_empty() && places(0, 5).is_empty());
    }

    #[test]
    fn an_answer_goes_on_or_begins_again() {
        let found = |answer: &str| continued_words("def f(x", answer, 3).join(" ");
        assert_eq!(found("): return x"), ") : return");
        assert_eq!(found("def f(x): return x"), ") : return");
        assert_eq!(found("```python\n): return x\n```"), ") : return");
        assert_eq!(found("<think>no</think>)"), ")");
        assert_eq!(found(""), "");
    }

    #[test]
    fn shares_are_means_over_functions() {
        let one = |problem: &str, place, found: &str, failure: Option<&str>| Continuation {
            version: CONTINUATION_VERSION,
            problem: problem.to_owned(),
            place,
            model: "m".to_owned(),
            expected: vec!["a".to_owned()],
            found: vec![found.to_owned()],
            failure: failure.map(str::to_owned),
        };
        let rows = [
            one("p", 0, "a", None),
            one("p", 1, "b", None),
            one("q", 0, "a", None),
            one("q", 1, "b", Some("down")),
        ];
        assert_eq!(leakage_table(&rows).rows, [["m", "2", "3", "1", "0.75"]]);
        assert!(leakage_table(&[]).rows.is_empty());
    }
}
