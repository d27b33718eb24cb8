//! The first sentences of a README, and the one that names a result: what a reader without a model takes from it.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use super::terms::words;

/// Sentences of a brief at most, and characters of it.
const SENTENCES: usize = 2;
const SHOWN: usize = 300;

/// Words by which results are named.
const MEASURES: &[&str] = &[
    "accuracy",
    "acc",
    "auc",
    "auroc",
    "bleu",
    "dice",
    "error",
    "f1",
    "faster",
    "fps",
    "iou",
    "kappa",
    "leaderboard",
    "loss",
    "mae",
    "map",
    "medal",
    "mse",
    "place",
    "precision",
    "psnr",
    "rank",
    "recall",
    "rmse",
    "rouge",
    "score",
    "scored",
    "scores",
    "speedup",
    "ssim",
    "wer",
];

static IMAGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"!\[[^\]]*\]\([^)]*\)|<[^>]*>"));
static LINK: LazyLock<Regex> = LazyLock::new(|| pattern(r"\[([^\]]*)\]\([^)]*\)"));
static END: LazyLock<Regex> = LazyLock::new(|| pattern(r"[.!?]\s+"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern")
}

/// The first sentences of a README's text; empty if it has none.
pub fn first_sentences(readme: &str) -> String {
    let sentences: Vec<String> = sentences(readme).take(SENTENCES).collect();
    cut(&sentences.join(" "))
}

/// The first sentence that has a number and the name of a measure.
pub fn result_sentence(readme: &str) -> Option<String> {
    let measures: BTreeSet<&str> = MEASURES.iter().copied().collect();
    let named = |sentence: &String| {
        let has_number = sentence.chars().any(|c| c.is_ascii_digit());
        let lower = sentence.to_lowercase();
        let percent = lower.contains('%');
        // `f1` is one word here, and two parts of an identifier.
        let mut whole = lower.split(|c: char| !c.is_alphanumeric());
        let measure = whole.any(|word| measures.contains(word))
            || words(&lower).into_iter().any(|word| measures.contains(word));
        has_number && (measure || percent)
    };
    sentences(readme).find(named).map(|sentence| cut(&sentence))
}

/// The sentences of the paragraphs, without markup; headings, code, tables and images are left out.
fn sentences(readme: &str) -> impl Iterator<Item = String> {
    let text = IMAGE.replace_all(readme, " ");
    let text = LINK.replace_all(&text, "$1");
    let mut paragraphs = vec![String::new()];
    let mut fence = None;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        if fence.is_some() || mark.is_some() {
            fence = match (fence, mark) {
                (None, mark) => mark,
                (Some(open), Some(mark)) if open == mark => None,
                (open, _) => open,
            };
            continue;
        }
        // A heading has its line below, or its sign in front.
        let is_rule = |line: &str| line.len() > 2 && line.chars().all(|c| "=-~*_^#".contains(c));
        let below = lines.peek().is_some_and(|next| is_rule(next.trim()));
        let no_text = line.is_empty() || line.starts_with(['#', '|']) || is_rule(line) || below;
        if no_text || line.starts_with("..") {
            paragraphs.push(String::new());
            continue;
        }
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
        if item.is_some() {
            paragraphs.push(String::new());
        }
        let plain = item.unwrap_or(line).trim_start_matches("> ").replace(['*', '`'], "");
        let paragraph = paragraphs.last_mut().expect("there is one");
        paragraph.push_str(plain.trim());
        paragraph.push(' ');
    }
    paragraphs.into_iter().flat_map(|paragraph| {
        let mut all = Vec::new();
        let mut begin = 0;
        for end in END.find_iter(&paragraph) {
            all.push(paragraph[begin..end.start() + 1].to_owned());
            begin = end.end();
        }
        all.push(paragraph[begin..].trim().to_owned());
        // A word alone is a label.
        all.into_iter().filter(|sentence| sentence.split_whitespace().count() > 1)
    })
}

fn cut(text: &str) -> String {
    match text.chars().count() {
        0..=SHOWN => text.to_owned(),
        _ => format!("{}...", text.chars().take(SHOWN - 3).collect::<String>().trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(readme: &str, brief: &str, result: Option<&str>) {
        assert_eq!(first_sentences(readme), brief);
        assert_eq!(result_sentence(readme).as_deref(), result);
    }

    #[test]
    fn readmes_give_their_first_sentences_and_their_result() {
        check(
            "# Title of 2 scores\n\n[![build](https://x/b.svg)](https://x)\n\nAn *ensemble* of [nets](https://x). \
             It is\ntrained on images. More.\n\n```\naccuracy 1\n```\n\n- Kappa of 0.904 on the test set.\n",
            "An ensemble of nets. It is trained on images.",
            Some("Kappa of 0.904 on the test set."),
        );
        check(
            "Title\n=====\n\n.. image:: x.png\n\nCounts words in texts\n\n| accuracy | 0.9 |\n\nReaches an f1 of 0.8",
            "Counts words in texts Reaches an f1 of 0.8",
            Some("Reaches an f1 of 0.8"),
        );
        check(
            "<p align=center>Finds 12 of 13 edges, 92%.</p>",
            "Finds 12 of 13 edges, 92%.",
            Some("Finds 12 of 13 edges, 92%."),
        );
        check("# Only a title", "", None);
        let long = first_sentences(&"word ".repeat(100));
        assert!(long.ends_with("...") && long.len() <= SHOWN, "{long}");
    }
}
