//! Texts in chunks, and which of them are most like a question: BM25 over tokens that know code.
//!
//! Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), formula 3.15, with the usual
//! k1 = 1.2 and b = 0.75. An identifier counts as a whole and by its parts.

use std::collections::{BTreeMap, BTreeSet};

use graph::count_tokens;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The path of the file.
    pub path: String,
    /// Its first line, 1-based.
    pub line: usize,
    /// Itself.
    pub text: String,
}

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// A text in parts of at most so many tokens, cut at lines and, where there are any, at empty ones.
pub fn chunks(path: &str, text: &str, tokens: usize) -> Vec<Chunk> {
    let mut all: Vec<Chunk> = Vec::new();
    let (mut part, mut begins, mut size) = (String::new(), 1, 0);
    for (line, content) in (1..).zip(text.lines()) {
        let cost = count_tokens(content) + 1;
        let full = size + cost > tokens;
        // A paragraph's end is a good place once a part is half full.
        let gap = content.trim().is_empty() && size * 2 > tokens;
        if (full || gap) && !part.trim().is_empty() {
            let text = std::mem::take(&mut part);
            all.push(Chunk { path: path.to_owned(), line: begins, text });
            (begins, size) = (line, 0);
        }
        part.push_str(content);
        part.push('\n');
        size += cost;
    }
    if !part.trim().is_empty() {
        all.push(Chunk { path: path.to_owned(), line: begins, text: part });
    }
    all
}

/// Texts by their likeness to a question, the most alike first: index and score. Equals keep their order.
pub fn ranked(texts: &[&str], question: &str) -> Vec<(usize, f64)> {
    let counted: Vec<BTreeMap<String, f64>> = texts.iter().map(|text| counts(text)).collect();
    let lengths: Vec<f64> = counted.iter().map(|counts| counts.values().sum()).collect();
    let average = (lengths.iter().sum::<f64>() / lengths.len().max(1) as f64).max(1.0);
    let asked: BTreeSet<String> = counts(question).into_keys().collect();
    let mut scores = vec![0.0; texts.len()];
    for term in &asked {
        let having = counted.iter().filter(|counts| counts.contains_key(term)).count() as f64;
        let rarity = (1.0 + (texts.len() as f64 - having + 0.5) / (having + 0.5)).ln();
        for ((score, counts), length) in scores.iter_mut().zip(&counted).zip(&lengths) {
            let count = counts.get(term).copied().unwrap_or(0.0);
            *score += rarity * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / average));
        }
    }
    let mut order: Vec<(usize, f64)> = scores.into_iter().enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order
}

/// Identifiers, and their parts between underscores and at capitals.
fn counts(text: &str) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    let mut add = |word: &str| {
        if word.len() > 1 {
            *counts.entry(word.to_lowercase()).or_insert(0.0) += 1.0;
        }
    };
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        add(word);
        let mut part = String::new();
        let mut parts = 0;
        for c in word.chars() {
            let boundary = c == '_' || c.is_uppercase() && !part.ends_with(char::is_uppercase);
            if boundary && !part.is_empty() {
                add(&part);
                parts += 1;
                part.clear();
            }
            if c != '_' {
                part.push(c);
            }
        }
        if parts > 0 {
            add(&part);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_most_alike_comes_first() {
        let texts = ["def parse_header(line): ...", "class HttpAdapter: ...", "import os"];
        let first = |question: &str| ranked(&texts, question)[0].0;
        assert_eq!(first("test_parse_header"), 0);
        assert_eq!(first("an adapter for http"), 1);
        assert_eq!(
            ranked(&texts, "nothing alike").iter().map(|r| r.0).collect::<Vec<_>>(),
            [0, 1, 2]
        );
    }

    #[test]
    fn chunks_hold_every_line_once() {
        let text: String =
            (0..200).map(|n| format!("line {n}\n{}", if n % 7 == 0 { "\n" } else { "" })).collect();
        let all = chunks("a.md", &text, 60);
        assert!(all.len() > 5);
        assert_eq!(all.iter().map(|chunk| chunk.text.as_str()).collect::<String>(), text);
        assert!(all.iter().all(|chunk| count_tokens(&chunk.text) <= 70));
        let second = text.lines().nth(all[1].line - 1).unwrap();
        assert!(all[1].text.starts_with(second));
    }
}
