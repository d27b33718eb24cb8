//! Similarity of a completion to its solution by their texts (RepoExec, appendix B): edit similarity and BLEU, by the
//! definitions of rapidfuzz and sacrebleu.
//!
//! Both lie between 0 and 100.

use std::collections::HashMap;

/// Characters of each text that are compared; longer ones are cut.
const LONGEST: usize = 20_000;
/// The longest n-grams of BLEU.
const ORDER: usize = 4;

/// The normalized indel similarity of two texts, as `rapidfuzz.fuzz.ratio` has it: 200 times the length of a longest
/// common subsequence of characters by the length of both.
pub fn edit_similarity(a: &str, b: &str) -> f64 {
    let a: Vec<char> = a.chars().take(LONGEST).collect();
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    match a.len() + b.len() {
        0 => 100.0,
        both => 200.0 * common_subsequence(&a, &b) as f64 / both as f64,
    }
}

/// Length of a longest common subsequence, 64 characters at once (Hyyrö 2004).
fn common_subsequence(a: &[char], b: &[char]) -> usize {
    let words = a.len().div_ceil(64);
    let mut places: HashMap<char, Vec<u64>> = HashMap::new();
    for (at, one) in a.iter().enumerate() {
        places.entry(*one).or_insert_with(|| vec![0; words])[at / 64] |= 1 << (at % 64);
    }
    let mut row = vec![u64::MAX; words];
    for one in b {
        let Some(matches) = places.get(one) else { continue };
        let mut carry = false;
        for (word, matched) in row.iter_mut().zip(matches) {
            let hit = *word & matched;
            let (sum, first) = word.overflowing_add(hit);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            *word = sum | (*word & !matched);
        }
    }
    let zeros: u32 = row.iter().map(|word| word.count_zeros()).sum();
    // Bits beyond the text stay set.
    zeros as usize
}

/// BLEU of one hypothesis against one reference, as `sacrebleu.sentence_bleu` has it: tokenizer 13a, exponential
/// smoothing, effective order.
pub fn bleu(hypothesis: &str, reference: &str) -> f64 {
    let (hypothesis, reference) = (tokens_13a(hypothesis), tokens_13a(reference));
    let (ours, theirs) = (hypothesis.len() as f64, reference.len() as f64);
    if hypothesis.is_empty() {
        return 0.0;
    }
    let mut log_sum = 0.0;
    let mut smooth = 1.0;
    let mut orders = 0;
    let mut any = false;
    for n in 1..=ORDER {
        let counts = ngrams(&hypothesis, n);
        let total: usize = counts.values().sum();
        if total == 0 {
            break;
        }
        orders = n;
        let known = ngrams(&reference, n);
        let clipped = counts.iter().map(|(gram, count)| count.min(known.get(gram).unwrap_or(&0)));
        let correct: usize = clipped.sum();
        any |= correct > 0;
        let precision = match correct {
            0 => {
                smooth *= 2.0;
                100.0 / (smooth * total as f64)
            }
            correct => 100.0 * correct as f64 / total as f64,
        };
        log_sum += precision.ln();
    }
    if !any {
        return 0.0;
    }
    let brevity = if ours < theirs { (1.0 - theirs / ours).exp() } else { 1.0 };
    brevity * (log_sum / orders as f64).exp()
}

fn ngrams(tokens: &[String], n: usize) -> HashMap<&[String], usize> {
    let mut counts = HashMap::new();
    for gram in tokens.windows(n) {
        *counts.entry(gram).or_insert(0) += 1;
    }
    counts
}

/// The tokens of mteval-v13a: punctuation apart, but for points and commas within numbers.
fn tokens_13a(text: &str) -> Vec<String> {
    let text = text.trim_end().replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    let text = match text.contains('&') {
        true => text
            .replace("&quot;", "\"")
            .replace("&amp;", "&")
            .replace("&lt;", "<")
            .replace("&gt;", ">"),
        false => text,
    };
    let apart =
        |c: char| matches!(c, '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/');
    let mut spaced = String::new();
    for c in format!(" {text} ").chars() {
        match apart(c) {
            true => spaced.extend([' ', c, ' ']),
            false => spaced.push(c),
        }
    }
    let is_mark = |c: char| matches!(c, '.' | ',');
    // A mark goes apart from what is no digit before it, then from what is no digit behind it, then a dash from a
    // digit before it; each rule takes two characters at once, as its expression does.
    let spaced =
        pairs(&spaced, |a, b| !a.is_ascii_digit() && is_mark(b), |a, b| format!("{a} {b} "));
    let spaced =
        pairs(&spaced, |a, b| is_mark(a) && !b.is_ascii_digit(), |a, b| format!(" {a} {b}"));
    let spaced = pairs(&spaced, |a, b| a.is_ascii_digit() && b == '-', |a, b| format!("{a} {b} "));
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// Replaces pairs of neighbours from left to right; a character is part of one pair at most.
fn pairs(
    text: &str,
    fits: impl Fn(char, char) -> bool,
    replaced: impl Fn(char, char) -> String,
) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    while at < chars.len() {
        match chars.get(at + 1) {
            Some(&next) if fits(chars[at], next) => {
                out.push_str(&replaced(chars[at], next));
                at += 2;
            }
            _ => {
                out.push(chars[at]);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (hypothesis, reference, `rapidfuzz.fuzz.ratio`, `sacrebleu.sentence_bleu`), as rapidfuzz 3.14.6 and sacrebleu
    /// 2.6.0 print them; the same script is `eval/tests/repoexec/similarity.py`.
    const PRINTED: &[(&str, &str, f64, f64)] = &[
        ("return x + 1", "return x + 1", 100.0, 100.0),
        ("return x + 1", "return 1 + x", 83.333_333, 22.590_05),
        ("", "return 1", 0.0, 0.0),
        (
            "if not is_text(value):\n    raise Bad(value)\nreturn value.lower()",
            "return value.lower() if is_text(value) else None",
            44.642_857,
            48.130_447,
        ),
        ("a = 1.5, 2,5\nb = x.y-3", "a = 1.5, 2.5\nb = x.y - 3", 91.304_348, 43.014_638),
        (
            "return [w for w in words if w]",
            "words = [word for word in words if word]\nreturn words\n",
            59.523_81,
            14.301_399,
        ),
        ("&quot;x&amp;", "\"x&", 26.666_667, 100.0),
        ("pass", "return 1", 0.0, 0.0),
        ("e\u{301}té", "été", 57.142_857, 0.0),
    ];

    #[test]
    fn similarities_are_those_of_the_libraries() {
        for (hypothesis, reference, ratio, score) in PRINTED {
            let edit = edit_similarity(hypothesis, reference);
            assert!((edit - ratio).abs() < 1e-5, "{hypothesis}: {edit}, not {ratio}");
            let bleu = bleu(hypothesis, reference);
            assert!((bleu - score).abs() < 1e-5, "{hypothesis}: {bleu}, not {score}");
        }
    }

    #[test]
    fn long_texts_are_compared_word_by_word() {
        let a = "abcdefgh".repeat(40);
        let b = a.replace('c', "");
        assert!((edit_similarity(&a, &b) - 200.0 * 280.0 / 600.0).abs() < 1e-9);
    }
}
