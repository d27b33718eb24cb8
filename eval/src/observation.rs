//! What a run did, normalised, and what several reference runs say that a faithful run must do.
//!
//! Lines of output that vary between reference runs are masked; outcomes that vary make a case
//! unusable. This module compares texts and outcomes; it runs nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tools::{Execution, Raised, Status};

use crate::normalize::Normalizer;

/// One run, normalised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// How the process ended.
    pub status: Status,
    /// Whether the recorder saw the run to its end.
    pub complete: bool,
    /// Collected node ids, sorted.
    pub collected: Vec<String>,
    /// Errors of collection by node.
    pub collection: Vec<(String, Failure)>,
    /// Phases of each case by node id; reruns append.
    pub cases: BTreeMap<String, Vec<Phase>>,
    /// The process's own streams, for commands other than pytest's.
    pub streams: Option<(String, String)>,
    /// What a command other than pytest's raised at its top level.
    pub raised: Option<Failure>,
}

/// One phase of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// `setup`, `call` or `teardown`.
    pub when: String,
    /// `passed`, `failed` or `skipped`.
    pub outcome: String,
    /// Reason of an expected failure.
    pub wasxfail: Option<String>,
    /// What was raised.
    pub raised: Option<Failure>,
    /// Captured standard output.
    pub stdout: String,
    /// Captured standard error.
    pub stderr: String,
    /// Captured log.
    pub log: String,
}

/// An exception, normalised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Qualified name of its type.
    pub kind: String,
    /// Module of its type; all internal modules are one.
    pub module: String,
    /// Its message.
    pub message: String,
    /// Whether it was raised in a file whose assertions pytest explains.
    pub explained: bool,
}

/// A text of which some lines may be anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Piece {
    Line(String),
    /// Any lines: exactly so many, or any number.
    Any(Option<usize>),
}

impl Observation {
    /// Normalises a run. `explained` tells files whose assertions pytest explains; `pytest` whether the
    /// command is pytest's, whose own streams are no evidence.
    pub fn of(
        run: &Execution,
        normalizer: &Normalizer,
        explained: impl Fn(&str) -> bool,
        pytest: bool,
    ) -> Self {
        let failure = |raised: &Raised| {
            let innermost = raised.frames.iter().rev().map(|(file, _, _)| file);
            let inside = innermost.into_iter().find(|file| normalizer.is_internal_file(file));
            Failure {
                kind: raised.kind.clone(),
                module: normalizer.module(&raised.module),
                message: normalizer.text(&raised.message),
                explained: inside.is_some_and(|file| explained(file)),
            }
        };
        let mut cases: BTreeMap<String, Vec<Phase>> = BTreeMap::new();
        for case in &run.cases {
            let phases = cases.entry(normalizer.node(&case.id)).or_default();
            phases.extend(case.phases.iter().map(|phase| Phase {
                when: phase.when.clone(),
                outcome: phase.outcome.clone(),
                wasxfail: phase.wasxfail.as_deref().map(|reason| normalizer.text(reason)),
                raised: phase.raised.as_ref().map(failure),
                stdout: normalizer.text(&phase.stdout),
                stderr: normalizer.text(&phase.stderr),
                log: normalizer.text(&phase.log),
            }));
        }
        let mut collected: Vec<String> =
            run.collected.iter().map(|id| normalizer.node(id)).collect();
        collected.sort();
        Self {
            status: run.status,
            complete: run.complete,
            collected,
            collection: run
                .collection_errors
                .iter()
                .map(|(id, raised)| (normalizer.node(id), failure(raised)))
                .collect(),
            cases,
            streams: (!pytest)
                .then(|| (normalizer.text(&run.stdout), normalizer.text(&run.stderr))),
            raised: run.raised.as_ref().map(failure),
        }
    }
}

impl Pattern {
    /// The lines that all texts share, in order; where they differ, anything may stand.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut texts = texts.into_iter();
        let Some(first) = texts.next() else { return Self(Vec::new()) };
        let mut pattern: Vec<Piece> =
            first.split('\n').map(|line| Piece::Line(line.to_owned())).collect();
        for text in texts {
            pattern = merge(pattern, &text.split('\n').collect::<Vec<_>>());
        }
        Self(pattern)
    }

    /// Whether a text fits.
    pub fn matches(&self, text: &str) -> bool {
        let lines: Vec<&str> = text.split('\n').collect();
        // Greedy matching with one point to come back to, as for shell patterns.
        let (mut p, mut l) = (0, 0);
        let mut resume: Option<(usize, usize)> = None;
        loop {
            let step = match self.0.get(p) {
                None if l == lines.len() => return true,
                None => None,
                Some(Piece::Any(None)) => {
                    resume = Some((p + 1, l));
                    Some((p + 1, l))
                }
                Some(Piece::Any(Some(count))) if l + count <= lines.len() => {
                    Some((p + 1, l + count))
                }
                Some(Piece::Line(line)) if lines.get(l) == Some(&line.as_str()) => {
                    Some((p + 1, l + 1))
                }
                Some(_) => None,
            };
            match (step, resume) {
                (Some(next), _) => (p, l) = next,
                (None, Some((after, taken))) if taken < lines.len() => {
                    resume = Some((after, taken + 1));
                    (p, l) = (after, taken + 1);
                }
                (None, _) => return false,
            }
        }
    }

    /// Whether nothing in it is masked.
    pub fn is_exact(&self) -> bool {
        self.0.iter().all(|piece| matches!(piece, Piece::Line(_)))
    }

    /// The text, with `…` for what is masked.
    pub fn shown(&self) -> String {
        let lines: Vec<&str> = self
            .0
            .iter()
            .map(|piece| match piece {
                Piece::Line(line) => line.as_str(),
                Piece::Any(_) => "…",
            })
            .collect();
        lines.join("\n")
    }
}

/// Longest part compared line by line; longer texts that differ are masked between their common ends.
const ALIGNED: usize = 2_000;

/// What a pattern and one more text share.
fn merge(pattern: Vec<Piece>, lines: &[&str]) -> Vec<Piece> {
    let equal = |piece: &Piece, line: &str| matches!(piece, Piece::Line(known) if known == line);
    let head = pattern.iter().zip(lines).take_while(|(piece, line)| equal(piece, line)).count();
    let most = pattern.len().min(lines.len()) - head;
    let tail = pattern
        .iter()
        .rev()
        .zip(lines.iter().rev())
        .take(most)
        .take_while(|(piece, line)| equal(piece, line))
        .count();
    let inner = &pattern[head..pattern.len() - tail];
    let others = &lines[head..lines.len() - tail];
    let mut merged: Vec<Piece> = pattern[..head].to_vec();
    let pairs =
        if inner.len().max(others.len()) <= ALIGNED { common(inner, others) } else { Vec::new() };
    let (mut p, mut l) = (0, 0);
    for (at, line) in pairs.into_iter().chain([(inner.len(), others.len())]) {
        merged.extend(gap(&inner[p..at], line - l));
        merged.extend(inner.get(at).cloned());
        (p, l) = (at + 1, line + 1);
    }
    merged.extend_from_slice(&pattern[pattern.len() - tail..]);
    merged
}

/// What stands for pieces that face so many lines.
fn gap(pieces: &[Piece], lines: usize) -> Option<Piece> {
    if pieces.is_empty() && lines == 0 {
        return None;
    }
    let mut count = Some(0);
    for piece in pieces {
        let size = match piece {
            Piece::Line(_) => Some(1),
            Piece::Any(size) => *size,
        };
        count = count.zip(size).map(|(sum, size)| sum + size);
    }
    Some(Piece::Any(count.filter(|&count| count == lines)))
}

/// A longest common subsequence, as pairs of positions.
fn common(pieces: &[Piece], lines: &[&str]) -> Vec<(usize, usize)> {
    let equal = |p: usize, l: usize| matches!(&pieces[p], Piece::Line(line) if line == lines[l]);
    let width = lines.len() + 1;
    let mut length = vec![0u32; (pieces.len() + 1) * width];
    for p in (0..pieces.len()).rev() {
        for l in (0..lines.len()).rev() {
            length[p * width + l] = if equal(p, l) {
                length[(p + 1) * width + l + 1] + 1
            } else {
                length[(p + 1) * width + l].max(length[p * width + l + 1])
            };
        }
    }
    let mut pairs = Vec::new();
    let (mut p, mut l) = (0, 0);
    while p < pieces.len() && l < lines.len() {
        if equal(p, l) {
            pairs.push((p, l));
            (p, l) = (p + 1, l + 1);
        } else if length[(p + 1) * width + l] >= length[p * width + l + 1] {
            p += 1;
        } else {
            l += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &[&str], shown: &str, fits: &[&str], fails: &[&str]) {
        let pattern = Pattern::of(texts.iter().copied());
        assert_eq!(pattern.shown(), shown);
        for text in texts.iter().chain(fits) {
            assert!(pattern.matches(text), "{text:?} does not fit {shown:?}");
        }
        for text in fails {
            assert!(!pattern.matches(text), "{text:?} fits {shown:?}");
        }
    }

    #[test]
    fn lines_that_vary_are_masked() {
        check(&["a\nb", "a\nb", "a\nb"], "a\nb", &[], &["a", "a\nc", "a\nb\n", ""]);
        check(&["", ""], "", &[], &["x", "\n"]);
        check(&["a\n1\nb", "a\n2\nb", "a\n3\nb"], "a\n…\nb", &["a\n4\nb"], &["a\nb", "a\n1\n2\nb"]);
        check(&["a\n1\nb", "a\n2\n3\nb"], "a\n…\nb", &["a\nb", "a\n7\n8\n9\nb"], &["a\n1\nc"]);
        check(&["1\nx\n2\ny", "3\nx\n4\ny"], "…\nx\n…\ny", &["9\nx\n9\ny"], &["9\nz\n9\ny"]);
        check(&["x", ""], "…", &["y"], &["a\nb"]);
    }
}
