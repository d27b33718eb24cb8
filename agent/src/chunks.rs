//! Texts in chunks, and which of them are most like a question: BM25 over tokens that know code.
//!
//! Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), formula 3.15, with the usual
//! k1 = 1.2 and b = 0.75. An identifier counts as a whole and by its parts.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use graph::{Entity, EntityKind, Graph, count_tokens};

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

/// A Python file in parts of at most so many tokens, cut at definitions, whose ranges of lines are 1-based and nested
/// or apart.
///
/// A definition that fits is a part by itself, with the comments directly above it. A larger one is cut at the
/// definitions within; lines beside definitions are cut as other texts are.
///
/// ```text
/// import os         1
/// LIMIT = 3         1
/// def small(): ...  2
/// class Large:      3
///     size = 1      3
///     def a(): ...  4
///     def b(): ...  5
/// ```
pub fn definition_chunks(
    path: &str,
    text: &str,
    definitions: &[RangeInclusive<usize>],
    tokens: usize,
) -> Vec<Chunk> {
    let file = CutFile { path, lines: text.lines().collect(), tokens };
    let mut sorted: Vec<_> = definitions.iter().filter(|one| !one.is_empty()).cloned().collect();
    // The outer one of two that begin together comes first.
    sorted.sort_by_key(|one| (*one.start(), std::cmp::Reverse(*one.end())));
    let mut all = Vec::new();
    file.cut(1..=file.lines.len(), &sorted, &mut all);
    all
}

/// The lines of each definition of a repository, lambdas left out, by the path of its file.
pub fn definitions_of(graph: &Graph) -> BTreeMap<&str, Vec<RangeInclusive<usize>>> {
    let mut all: BTreeMap<&str, Vec<RangeInclusive<usize>>> = BTreeMap::new();
    let entities = graph.entities.iter();
    let is_definition =
        |one: &&Entity| matches!(one.kind, EntityKind::Class | EntityKind::Function);
    for entity in entities.filter(is_definition) {
        let lines = entity.line as usize..=entity.end_line as usize;
        all.entry(graph.module(entity.module).path.as_str()).or_default().push(lines);
    }
    all
}

/// A file on its way to parts.
struct CutFile<'a> {
    path: &'a str,
    lines: Vec<&'a str>,
    tokens: usize,
}

impl CutFile<'_> {
    /// Adds the parts of some lines, with the definitions that begin there.
    fn cut(
        &self,
        lines: RangeInclusive<usize>,
        definitions: &[RangeInclusive<usize>],
        all: &mut Vec<Chunk>,
    ) {
        let (mut from, last) = (*lines.start(), (*lines.end()).min(self.lines.len()));
        let mut at = 0;
        while let Some(outer) = definitions.get(at) {
            at += 1;
            let (begins, end) = (*outer.start(), (*outer.end()).min(last));
            if begins < from || begins > end {
                continue;
            }
            let inner = definitions[at..].iter().take_while(|one| *one.start() <= end).count();
            let comments = (from..begins).rev();
            let is_comment = |line: &usize| self.lines[line - 1].trim_start().starts_with('#');
            let begins = begins - comments.take_while(is_comment).count();
            self.add(from..=begins - 1, all);
            let cost: usize = (begins..=end).map(|line| self.cost(line)).sum();
            match cost <= self.tokens || inner == 0 {
                true => self.add(begins..=end, all),
                false => self.cut(begins..=end, &definitions[at..at + inner], all),
            }
            (at, from) = (at + inner, end + 1);
        }
        self.add(from..=last, all);
    }

    fn cost(&self, line: usize) -> usize {
        count_tokens(self.lines[line - 1]) + 1
    }

    /// Adds lines as parts; empty ones go to the part before.
    fn add(&self, lines: RangeInclusive<usize>, all: &mut Vec<Chunk>) {
        if lines.is_empty() {
            return;
        }
        let first = *lines.start();
        let text: String = lines.flat_map(|line| [self.lines[line - 1], "\n"]).collect();
        match all.last_mut() {
            Some(before) if text.trim().is_empty() => before.text.push_str(&text),
            _ => all.extend(
                chunks(self.path, &text, self.tokens)
                    .into_iter()
                    .map(|chunk| Chunk { line: chunk.line + first - 1, ..chunk }),
            ),
        }
    }
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

    /// Cuts a file at its definitions into parts of 30 tokens, and shows each by the numbers of its lines.
    #[track_caller]
    fn check_cuts(source: &str, expected: &[RangeInclusive<usize>]) {
        let graph = graph::Graph::of_sources([("m.py", source)]);
        let ranges = definitions_of(&graph).remove("m.py").unwrap_or_default();
        let all = definition_chunks("m.py", source, &ranges, 30);
        let lines = |chunk: &Chunk| chunk.line..=chunk.line + chunk.text.lines().count() - 1;
        assert_eq!(all.iter().map(lines).collect::<Vec<_>>(), expected, "{all:#?}");
        assert_eq!(all.iter().map(|chunk| chunk.text.as_str()).collect::<String>(), source);
    }

    #[test]
    fn python_is_cut_at_definitions() {
        check_cuts(
            "import os\n\nLIMIT = 3\n\n\n# It is small.\n@decorated\ndef small():\n    def inner(): pass\n    return inner\n\n\ndef other(): ...\n",
            &[1..=5, 6..=12, 13..=13],
        );
        let method =
            |name: &str| format!("    def {name}(self):\n        return self.{name}_value + 1\n\n");
        let large = format!(
            "class Large:\n    size = 1\n\n{}{}{}print(Large)\n",
            method("first"),
            method("second"),
            method("third")
        );
        check_cuts(&large, &[1..=3, 4..=6, 7..=9, 10..=11, 12..=13]);
        // A function that is too large is cut at lines.
        let long: String = (0..12).map(|at| format!("    value_{at} = {at}\n")).collect();
        check_cuts(&format!("def long():\n{long}"), &[1..=4, 5..=7, 8..=10, 11..=13]);
        check_cuts("x = 1\n", &[1..=1]);
        check_cuts("def broken(:\n    pass\n", &[1..=2]);
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
