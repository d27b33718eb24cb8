//! A tool's reply as far as a turn has room for it (RepoMaster, section 3.3.3): code by its definitions,
//! documents by their parts, lists by their beginning, other texts by their ends.
//!
//! A reply that is cut is still JSON, and says how much of it is missing. Which parts stay is decided by
//! what is asked, in the order of a ranking; nothing is summarised.

use graph::{Document, NumberedFile, count_tokens, parse_numbered};
use serde_json::{Value, json};
use tools::Reply;

use crate::{
    chunks::{chunks, ranked},
    model::ModelError,
    ranking::SimilarityMeasure,
};

/// Tokens of one part of a document (RepoMaster, 3.3.3).
const CHUNK: usize = 1_000;
/// Parts of a document that are kept.
const CHUNKS: usize = 4;
/// Tokens that no cut text is smaller than.
const LEAST: usize = 60;

/// A reply within so many tokens; nothing where there is no room for any of it.
///
/// # Errors
/// Texts are ranked by a model, and it gives no answer.
pub async fn fitting(
    reply: &Reply,
    room: usize,
    question: &str,
    ranking: &mut SimilarityMeasure,
) -> Result<Option<String>, ModelError> {
    let mut value = whole(reply);
    let all = text(&value);
    if count_tokens(&all) <= room {
        return Ok(Some(all));
    }
    if room < LEAST {
        return Ok(None);
    }
    if let Some(inner) = value.get("text").and_then(Value::as_str) {
        let path = value["path"].as_str().unwrap_or_default();
        let around = count_tokens(&text(&value)).saturating_sub(count_tokens(inner));
        // Quotes and line breaks cost more inside JSON.
        let budget = room.saturating_sub(around.min(room / 4)) * 9 / 10;
        let (cut, hidden) = cut(path, inner, budget, question, ranking).await?;
        value["text"] = cut.into();
        let before = value["left_out"].as_u64().unwrap_or(0);
        value["left_out"] = (before + hidden as u64).into();
    }
    Ok(shorten(value, room))
}

/// A reply with all of its text, where the tool's own bound cut it blindly.
pub fn whole(reply: &Reply) -> Value {
    let mut value = reply.value.clone();
    if let (Some(whole), Value::Object(fields)) = (&reply.whole, &mut value) {
        fields.insert("text".to_owned(), whole.as_str().into());
        fields.insert("left_out".to_owned(), 0.into());
        fields.remove("next");
    }
    value
}

/// A reply as it stands.
pub fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Takes entries off the end of the largest list, or cuts the largest text, until a value fits.
fn shorten(mut value: Value, room: usize) -> Option<String> {
    loop {
        let all = text(&value);
        let excess = count_tokens(&all).checked_sub(room).filter(|&excess| excess > 0);
        let Some(excess) = excess else { return Some(all) };
        let Value::Object(fields) = &mut value else {
            return Some(ends(&all, room)).filter(|cut| count_tokens(cut) <= room);
        };
        let size = |value: &Value| match value {
            Value::Array(list) if list.len() > 1 => value.to_string().len(),
            Value::String(text) if text.len() > 200 => text.len(),
            _ => 0,
        };
        let largest = fields.iter().filter(|(key, _)| *key != "no_room");
        let largest = largest.max_by_key(|(_, value)| size(value)).filter(|(_, v)| size(v) > 0);
        let key = largest.map(|(key, _)| key.clone())?;
        let mut dropped = Vec::new();
        match fields.get_mut(&key) {
            Some(Value::Array(list)) => {
                let mut saved = 0;
                while list.len() > 1 && saved <= excess {
                    let last = list.pop().unwrap_or_default();
                    saved += count_tokens(&last.to_string());
                    dropped.push(last);
                }
            }
            Some(Value::String(inner)) => {
                // Quotes and line breaks cost more inside JSON than in the text.
                let (own, cost) = (count_tokens(inner), count_tokens(&json!(inner).to_string()));
                let allowed = cost.saturating_sub(excess + 8);
                *inner = ends(inner, allowed * own / cost.max(1) * 7 / 8);
            }
            _ => return None,
        }
        note(fields, dropped);
    }
}

/// Says in a reply what was taken out of a list: the targets, or the number.
fn note(fields: &mut serde_json::Map<String, Value>, dropped: Vec<Value>) {
    if dropped.is_empty() {
        return;
    }
    let count = dropped.len() as u64;
    let targets = dropped.iter().rev().filter_map(|entry| entry["target"].as_str());
    let targets: Vec<&str> = targets.collect();
    if targets.is_empty() {
        let before = fields.get("left_out").and_then(Value::as_u64).unwrap_or(0);
        fields.insert("left_out".to_owned(), (before + count).into());
        return;
    }
    let known = fields.get("no_room").and_then(Value::as_array).cloned().unwrap_or_default();
    let all: Vec<Value> = targets.into_iter().map(Value::from).chain(known).collect();
    fields.insert("no_room".to_owned(), json!(all));
}

/// A text within so many tokens, and the number of lines that it lost.
async fn cut(
    path: &str,
    text: &str,
    budget: usize,
    question: &str,
    ranking: &mut SimilarityMeasure,
) -> Result<(String, usize), ModelError> {
    let ending = path.rsplit('.').next().unwrap_or_default();
    let selected = match ending {
        "py" | "pyi" => code(text, budget, question),
        "md" | "rst" | "txt" | "csv" => {
            let kept = document(text, ending == "csv", question, ranking).await?;
            let hidden = text.lines().count().saturating_sub(kept.lines().count());
            (kept, hidden)
        }
        _ => (text.to_owned(), 0),
    };
    let shown = ends(&selected.0, budget);
    let lost = selected.0.lines().count().saturating_sub(shown.lines().count());
    Ok((shown, selected.1 + lost))
}

/// Code without docstrings and comments, and, where that is still too much, the definitions that are most
/// like the question whole and the others by their first line. Also the number of lines of code left out.
pub fn code(text: &str, budget: usize, question: &str) -> (String, usize) {
    // A view has the number before each line; other lines say what is missing.
    let is_numbered = |line: &str| parse_numbered(line).is_some();
    let bare_text = |line: &&str| parse_numbered(line).map_or("", |(_, text)| text).to_owned();
    let all: Vec<&str> = text.lines().collect();
    let bare: Vec<String> = all.iter().map(bare_text).collect();
    let code = NumberedFile::of(&bare.join("\n"));
    let lines: Vec<&str> = (1u32..)
        .zip(&all)
        .filter(|(number, line)| !is_numbered(line) || code.count(*number, *number) > 0)
        .map(|(_, line)| *line)
        .collect();
    let text = lines.join("\n");
    if count_tokens(&text) <= budget {
        return (text, 0);
    }
    let bare: Vec<String> = lines.iter().map(bare_text).collect();
    let Ok(parsed) = Document::new(bare.join("\n")) else { return (text, 0) };
    let items = parsed.outline();
    let top = items.iter().map(|item| item.depth).min().unwrap_or(0);
    // Methods are chosen one by one: a class is rarely needed whole.
    let units: Vec<(usize, usize)> = items
        .iter()
        .filter(|item| item.depth == top && item.kind == "def" || item.depth == top + 1)
        .map(|item| (item.line as usize - 1, (item.end_line as usize).min(lines.len())))
        // What says that lines were left out is itself a line.
        .filter(|(first, last)| *last > first + 2)
        .collect();
    let bodies: Vec<String> =
        units.iter().map(|(first, last)| lines[*first..*last].join("\n")).collect();
    let texts: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let mut hidden = vec![false; lines.len()];
    for (first, last) in &units {
        hidden[first + 1..*last].fill(true);
    }
    let mut size = count_tokens(&marked(&lines, &hidden));
    for (at, _) in ranked(&texts, question) {
        let (first, last) = units[at];
        let more = count_tokens(&bodies[at]);
        if size + more <= budget {
            hidden[first..last].fill(false);
            size += more;
        }
    }
    (marked(&lines, &hidden), hidden.iter().filter(|hidden| **hidden).count())
}

/// Lines without the hidden ones, whose number stands in their place.
fn marked(lines: &[&str], hidden: &[bool]) -> String {
    let mut all = Vec::new();
    let mut cut = 0;
    for (line, hidden) in lines.iter().zip(hidden).chain([(&"", &false)]) {
        if *hidden {
            cut += 1;
            continue;
        }
        if cut > 0 {
            all.push(format!("[{cut} lines left out]"));
            cut = 0;
        }
        all.push((*line).to_owned());
    }
    all.join("\n").trim_end().to_owned()
}

/// The parts of a document that are most like the question, in their order; of a table also its first
/// line.
async fn document(
    text: &str,
    is_table: bool,
    question: &str,
    ranking: &mut SimilarityMeasure,
) -> Result<String, ModelError> {
    let parts = chunks("", text, CHUNK);
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    let mut kept: Vec<usize> =
        ranking.order(&texts, question).await?.into_iter().take(CHUNKS).map(|(at, _)| at).collect();
    kept.sort_unstable();
    let mut all = String::new();
    if is_table && !kept.contains(&0) {
        all.extend(text.lines().next().into_iter().flat_map(|line| [line, "\n"]));
    }
    let mut next = 0;
    for at in kept.into_iter().chain([parts.len()]) {
        if at > next {
            all += &format!("[{} of {} parts left out]\n", at - next, parts.len());
        }
        next = at + 1;
        all += parts.get(at).map_or("", |part| part.text.as_str());
    }
    Ok(all)
}

/// The lines at the beginning and the end of a text, and how much stands between them.
pub fn ends(text: &str, budget: usize) -> String {
    if count_tokens(text) <= budget {
        return text.to_owned();
    }
    // A token of code has three to four bytes; the loop makes up for texts where it has fewer.
    let mut half = budget * 2;
    loop {
        let head = text.floor_char_boundary(half.min(text.len()));
        let tail = text.ceil_char_boundary(text.len() - half.min(text.len() - head));
        // Whole lines, where the text has any.
        let head = text[..head].rfind('\n').map_or(head, |at| at + 1);
        let tail = text[tail..].find('\n').map_or(tail, |at| tail + at + 1).min(text.len());
        let gap = if text[..head].ends_with('\n') || head == 0 { "" } else { "\n" };
        let cut =
            format!("{}{gap}[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..]);
        if half < 16 || count_tokens(&cut) <= budget {
            return cut;
        }
        half = half * 3 / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reply: &Reply, room: usize, question: &str) -> Option<Value> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut ranking = SimilarityMeasure::Words;
        let fitted = fitting(reply, room, question, &mut ranking);
        let shown = runtime.block_on(fitted).unwrap()?;
        assert!(count_tokens(&shown) <= room, "{} > {room}: {shown}", count_tokens(&shown));
        Some(serde_json::from_str(&shown).unwrap_or(Value::String(shown)))
    }

    #[test]
    fn code_is_cut_to_what_was_asked_for() {
        let method = |name: &str, at: usize| {
            let body = (1..6).map(|n| format!("{}         self.{name}_{n}()\n", at + n));
            format!("{at}     def {name}(self):\n") + &body.collect::<String>()
        };
        let (alpha, beta) = (method("alpha", 2), method("beta", 8));
        let text = format!("1 class A:\n{alpha}{beta}");
        let (cut, hidden) = code(&text, count_tokens(&text) - 9, "where is beta");
        let left_out = "2     def alpha(self):\n[5 lines left out]\n";
        assert_eq!(
            (cut, hidden),
            (format!("1 class A:\n{left_out}{beta}").trim_end().to_owned(), 5)
        );
    }

    #[test]
    fn docstrings_go_first() {
        let text = "1 def f():\n2     '''Some words that say little.'''\n3     # nor this\n4     return 1\n";
        let (cut, hidden) = code(text, count_tokens(text) - 1, "f");
        assert_eq!((cut.as_str(), hidden), ("1 def f():\n4     return 1", 0));
    }

    #[test]
    fn a_cut_reply_is_json_and_says_what_is_missing() {
        let entry = |n: usize| json!({ "target": format!("m.f{n}"), "text": "x = 1\n".repeat(20) });
        let views: Vec<Value> = (0..20).map(entry).collect();
        let reply = Reply::of(&json!({ "views": views, "left_out": 0 })).unwrap();
        let cut = check(&reply, 900, "").unwrap();
        let (shown, missing) =
            (cut["views"].as_array().unwrap(), cut["no_room"].as_array().unwrap());
        assert_eq!(shown.len() + missing.len(), 20);
        assert_eq!(missing.last().unwrap(), "m.f19");
        let hit = |n: u32| json!({ "line": n, "text": "x = 1\n".repeat(20) });
        let hits: Vec<Value> = (0..20).map(hit).collect();
        let reply = Reply::of(&json!({ "hits": hits, "left_out": 3 })).unwrap();
        let cut = check(&reply, 900, "").unwrap();
        assert_eq!(
            cut["hits"].as_array().unwrap().len() as u64 + cut["left_out"].as_u64().unwrap(),
            23
        );
        let reply = Reply::of(&json!({ "stdout": "line\n".repeat(900), "stderr": "" })).unwrap();
        assert!(
            check(&reply, 200, "").unwrap()["stdout"]
                .as_str()
                .unwrap()
                .contains("bytes left out]\nline\n")
        );
        assert_eq!(check(&reply, 20, ""), None);
    }

    /// The answer stood on line 2,001 of 3,000, and a view showed 400.
    #[test]
    fn documents_are_ranked_as_a_whole() {
        for path in ["notes.txt", "table.csv"] {
            let lines: Vec<String> = (0..3_000)
                .map(|n| {
                    if n == 2_001 {
                        "the zebra is striped".to_owned()
                    } else {
                        format!("row {n}, words")
                    }
                })
                .collect();
            let mut reply =
                Reply::of(&json!({ "path": path, "text": "row 0", "left_out": 2_600 })).unwrap();
            reply.whole = Some(lines.join("\n"));
            let cut = check(&reply, 6_000, "zebra").unwrap();
            let text = cut["text"].as_str().unwrap();
            assert!(text.contains("zebra") && text.starts_with("row 0"), "{path}");
        }
    }
}
