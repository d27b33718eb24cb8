//! Computes the common lines of several texts. A line that differs between runs of a command
//! becomes a wildcard.
//!
//! It compares lines and knows nothing of runs. The slicer's advice and the judge decide about a
//! text that does not match.

use serde::{Deserialize, Serialize};

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

    /// Returns a pattern that this text matches as well.
    #[must_use]
    pub fn merged_with(&self, text: &str) -> Self {
        Self(merge(self.0.clone(), &text.split('\n').collect::<Vec<_>>()))
    }

    /// Returns true if a text matches.
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

    /// The pattern of texts that follow one another.
    pub fn joined<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all: Vec<Piece> = vec![Piece::Line(String::new())];
        for part in parts {
            let mut pieces = part.0.iter().cloned();
            // The end of the one and the beginning of the other stand on one line.
            match (all.pop(), pieces.next()) {
                (Some(Piece::Line(end)), Some(Piece::Line(begin))) => {
                    all.push(Piece::Line(end + &begin));
                }
                (Some(Piece::Line(empty)), Some(any)) | (Some(any), Some(Piece::Line(empty)))
                    if empty.is_empty() =>
                {
                    all.push(any);
                }
                (Some(end), None) => all.push(end),
                _ => all.push(Piece::Any(None)),
            }
            all.extend(pieces);
        }
        Self(all)
    }

    /// Returns true if consecutive texts match as a whole, even if one of them fails its own
    /// pattern. A line at the end of one text may move to the beginning of the next, if a pattern
    /// has wildcards.
    pub fn fit_together<'a>(
        patterns: impl Iterator<Item = &'a Self> + Clone,
        texts: impl Iterator<Item = &'a str>,
    ) -> bool {
        let varies = patterns.clone().any(|pattern| !pattern.is_exact());
        varies && Self::joined(patterns).matches(&texts.collect::<String>())
    }

    /// Returns true if the pattern has no wildcard.
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

/// Returns the pattern that a pattern and another text share.
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

/// Returns the wildcard that replaces pieces aligned with `lines` lines, or `None` if both are
/// empty.
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
    fn patterns_follow_one_another() {
        let check = |parts: &[&[&str]], shown: &str, fits: &[&str], fails: &[&str]| {
            let parts: Vec<Pattern> =
                parts.iter().map(|texts| Pattern::of(texts.iter().copied())).collect();
            let pattern = Pattern::joined(&parts);
            assert_eq!(pattern.shown(), shown);
            fits.iter().for_each(|text| assert!(pattern.matches(text), "{text:?}"));
            fails.iter().for_each(|text| assert!(!pattern.matches(text), "{text:?}"));
        };
        check(&[&["a\n"], &["b\n"]], "a\nb\n", &["a\nb\n"], &["a\n", "b\na\n"]);
        check(&[&["a"], &["b"]], "ab", &["ab"], &["a\nb"]);
        check(&[&["1\n2\n", "3\n4\n"], &[""]], "…\n", &["5\n6\n"], &["5\n", "5\n6\n7\n"]);
        check(&[&["1\n", "2\n"], &["x\n"]], "…\nx\n", &["3\nx\n"], &["x\n"]);
        check(&[&["1", "2"], &["3\n", "4\n"]], "…\n", &["13\n", "a\nb\n"], &["a"]);
        check(&[], "", &[""], &["a"]);
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
