//! Terms, by which texts are compared: identifiers are split, put in lower case and stripped of common endings.
//!
//! `DetectingEdges`, `edge_detection` and "edges are detected" have the same two terms.

use std::collections::BTreeSet;

/// Words that do not distinguish tasks: function words, and words of any request for a repository.
const STOP_WORDS: &[&str] = &[
    "a",
    "about",
    "after",
    "all",
    "also",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "been",
    "best",
    "but",
    "by",
    "can",
    "code",
    "could",
    "do",
    "does",
    "each",
    "find",
    "for",
    "from",
    "get",
    "github",
    "give",
    "given",
    "good",
    "has",
    "have",
    "help",
    "how",
    "i",
    "if",
    "implementation",
    "in",
    "into",
    "is",
    "it",
    "its",
    "like",
    "me",
    "my",
    "need",
    "needs",
    "not",
    "of",
    "on",
    "one",
    "or",
    "our",
    "out",
    "package",
    "please",
    "project",
    "projects",
    "python",
    "related",
    "repo",
    "repos",
    "repositories",
    "repository",
    "search",
    "should",
    "so",
    "solution",
    "solve",
    "some",
    "such",
    "task",
    "that",
    "the",
    "their",
    "them",
    "there",
    "these",
    "they",
    "this",
    "to",
    "tool",
    "up",
    "use",
    "used",
    "uses",
    "using",
    "want",
    "was",
    "we",
    "what",
    "when",
    "where",
    "which",
    "who",
    "will",
    "with",
    "would",
    "you",
    "your",
];

/// Endings, longest first. [`term`] removes the first that leaves at least [`STEM`] letters.
const ENDINGS: [&str; 13] =
    ["ations", "ation", "ings", "ions", "ing", "ion", "ies", "ers", "es", "ed", "er", "s", "e"];
const STEM: usize = 4;

/// Returns true if a word is in the list of stop words, in any case.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word.to_lowercase().as_str())
}

/// Returns a word in lower case without its ending: `Detecting` gives `detect`.
pub fn term(word: &str) -> String {
    let lower = word.to_lowercase();
    let stem = ENDINGS.iter().find_map(|ending| {
        let stem = lower.strip_suffix(ending)?;
        // An `s` after an `s` is no plural: `class` keeps both.
        let whole = *ending == "s" && stem.ends_with('s');
        (!whole && stem.chars().count() >= STEM).then(|| stem.to_owned())
    });
    stem.unwrap_or(lower)
}

/// Returns true if `there`, the terms of a text, has all terms of a word: `yolov8` has two.
pub fn has_terms(there: &BTreeSet<String>, word: &str) -> bool {
    let mut own = terms(word).peekable();
    own.peek().is_some() && own.all(|term| there.contains(&term))
}

/// Splits a text at signs, drops stop words, then splits at capitals and between letters and digits.
/// A stop word inside an identifier stays: `getImage` gives `get` and `Image`.
pub fn words(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let whole = text.split(|c: char| !c.is_alphanumeric());
    for word in whole.filter(|word| !word.is_empty() && !is_stop_word(word)) {
        let mut begin = 0;
        let mut before: Option<char> = None;
        let mut rest = word.char_indices().peekable();
        while let Some((at, c)) = rest.next() {
            let next = rest.peek().map(|(_, next)| *next);
            if let Some(before) = before
                && splits(before, c, next)
            {
                all.push(&word[begin..at]);
                begin = at;
            }
            before = Some(c);
        }
        all.push(&word[begin..]);
    }
    all
}

/// Returns the terms of a text, in order, without stop words and single letters.
pub fn terms(text: &str) -> impl Iterator<Item = String> {
    let is_significant = |word: &&str| {
        let is_letter = word.chars().count() == 1 && word.starts_with(char::is_alphabetic);
        !is_letter && !is_stop_word(word)
    };
    words(text).into_iter().filter(is_significant).map(term)
}

/// Joins the terms of a text with spaces.
pub fn normal_text(text: &str) -> String {
    terms(text).collect::<Vec<_>>().join(" ")
}

/// Returns true if a new part of an identifier begins with `c`: `aB`, `ABc` at `B`, `a1`, `1a`.
fn splits(before: char, c: char, next: Option<char>) -> bool {
    let capital = c.is_uppercase()
        && (before.is_lowercase() || before.is_uppercase() && next.is_some_and(char::is_lowercase));
    capital || before.is_numeric() != c.is_numeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_one_term() {
        for (text, expected) in [
            ("DetectingEdges", "detect edge"),
            ("edge_detection", "edge detect"),
            ("the edges are detected", "edge detect"),
            ("aptos2019-blindness-detection", "apto 2019 blindness detect"),
            ("APTOS-2019-Blindness-Detection", "apto 2019 blindness detect"),
            ("HTTPServer parses a string", "http serv pars string"),
            ("restore an image, restoration of images", "restor imag restor imag"),
            ("classes of a class", "class class"),
            ("find a Python repository", ""),
            ("yolov8", "yolov 8"),
        ] {
            assert_eq!(normal_text(text), expected, "{text}");
        }
    }
}
