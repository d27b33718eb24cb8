//! Needs as text: the lines of each file with their numbers, as many needs as a budget of tokens holds.
//!
//! Docstrings, comments, empty lines and the methods of other parts are left out without a word; where a
//! definition is shown by its head, the number of its other lines is said. The needs before a part's `next` have
//! been shown whole.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Stmt, token::TokenKind};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{Need, is_text};
use crate::{
    context::count_tokens,
    scope::for_each_block,
    source::Source,
    syntax::{Syntax, with_deep_stack},
    tree::{Texts, numbered, with_number},
};

/// Some needs as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NeedsPage {
    /// The lines of each file, by its path.
    pub files: Vec<(String, String)>,
    /// The first need for which there was no room; those too large for any room are shown by their heads.
    pub next: Option<usize>,
    /// Tokens (o200k) of the lines.
    pub tokens: usize,
}

/// The lines of a file, and which of them hold code.
#[derive(Debug, Clone)]
pub struct NumberedFile {
    lines: Vec<String>,
    idle: BTreeSet<u32>,
}

impl NumberedFile {
    /// Reads a file; Python that does not parse keeps its docstrings.
    pub fn of(text: &str) -> Self {
        let lines: Vec<String> = numbered(text).map(|(_, line)| line.to_owned()).collect();
        let idle = with_deep_stack(|| idle(&Syntax::parse(Source::new("", text))));
        Self { lines, idle }
    }

    /// All of a file, docstrings and comments included.
    pub fn whole(text: &str) -> Self {
        let lines = numbered(text).map(|(_, line)| line.to_owned()).collect();
        Self { lines, idle: BTreeSet::new() }
    }

    /// The last line's number.
    pub fn len(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
    }

    /// Returns true if the file has no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The numbered lines of some spans; behind each line in `cuts` stands how many lines of code were left
    /// out there.
    pub fn numbered(&self, spans: &[(u32, u32)], cuts: &BTreeMap<u32, usize>) -> String {
        let wanted: BTreeSet<u32> = spans.iter().flat_map(|&(first, last)| first..=last).collect();
        let mut text = String::new();
        for line in wanted {
            let Some(content) = self.lines.get(line as usize - 1) else { break };
            if !self.idle.contains(&line) {
                text += &with_number(line, content);
                text.push('\n');
            }
            if let Some(count) = cuts.get(&line) {
                text += &format!("[{count} lines left out]\n");
            }
        }
        text
    }

    /// A line's text.
    pub fn line(&self, line: u32) -> Option<&str> {
        let at = (line as usize).checked_sub(1)?;
        self.lines.get(at).map(String::as_str)
    }

    /// The number of lines of code in a span.
    pub fn count(&self, first: u32, last: u32) -> usize {
        (first..=last.min(self.len())).filter(|line| !self.idle.contains(line)).count()
    }
}

/// The numbered lines of a text in some spans, without docstrings, comments and empty lines.
pub fn shown_lines(text: &str, spans: &[(u32, u32)]) -> String {
    NumberedFile::of(text).numbered(spans, &BTreeMap::new())
}

/// Lines that hold no code: empty ones, comments, docstrings and those of attributes that are not all of a body.
fn idle(syntax: &Syntax) -> BTreeSet<u32> {
    let source = syntax.source();
    let end = TextSize::of(source.text());
    let whole = TextRange::new(TextSize::new(0), end);
    let mut code: BTreeSet<u32> = BTreeSet::new();
    for token in syntax.tokens(whole) {
        let trivia = matches!(
            token.kind(),
            TokenKind::Comment
                | TokenKind::NonLogicalNewline
                | TokenKind::Newline
                | TokenKind::Indent
                | TokenKind::Dedent
                | TokenKind::EndOfFile
        );
        if !trivia {
            let (first, last) = source.line_span(token.range());
            code.extend(first..=last);
        }
    }
    // A string's middle lines belong to it, also those of an f-string.
    code.extend(syntax.lines_in_strings(whole));
    let mut docs = BTreeSet::new();
    documented(syntax.body(), source, &mut docs, true);
    (1..=source.line_count()).filter(|line| !code.contains(line) || docs.contains(line)).collect()
}

fn documented(body: &[Stmt], source: &Source, docs: &mut BTreeSet<u32>, is_definition: bool) {
    let is_only_text = body.iter().all(is_text);
    for stmt in body.iter().filter(|stmt| is_definition && !is_only_text && is_text(stmt)) {
        let (first, last) = source.line_span(stmt.range());
        docs.extend(first..=last);
    }
    for stmt in body {
        match stmt {
            Stmt::FunctionDef(function) => documented(&function.body, source, docs, true),
            Stmt::ClassDef(class) => documented(&class.body, source, docs, true),
            stmt => for_each_block(stmt, |block| documented(block, source, docs, false)),
        }
    }
}

/// The part of a need that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    Head,
    Whole,
}

struct Files<'t> {
    texts: &'t Texts,
    shown: BTreeMap<String, NumberedFile>,
}

impl Files<'_> {
    fn of(&mut self, path: &str) -> &NumberedFile {
        let texts = self.texts;
        self.shown.entry(path.to_owned()).or_insert_with(|| NumberedFile::of(&texts.of(path)))
    }

    fn cost(&mut self, path: &str, spans: &[(u32, u32)]) -> usize {
        count_tokens(&self.of(path).numbered(spans, &BTreeMap::new()))
    }
}

impl Need {
    /// The lines of a definition's head, or those of a statement.
    fn brief(&self) -> Vec<(u32, u32)> {
        self.head.map_or_else(|| self.lines.clone(), |head| vec![head])
    }

    /// Shows as many needs as fit, from one on; of the first part also the heads of all that the tests ask
    /// for themselves. A need too large for half of the budget is shown by its head.
    pub fn part(needs: &[Self], texts: &Texts, from: usize, budget: usize) -> NeedsPage {
        let mut files = Files { texts, shown: BTreeMap::new() };
        let mut chosen: BTreeMap<usize, Extent> = BTreeMap::new();
        let mut spent = 0;
        /// Tokens of the line that says that something was left out.
        const CUT: usize = 8;
        let brief = |files: &mut Files<'_>, at: usize| {
            let need: &Need = &needs[at];
            files.cost(&need.path, &need.brief()) + CUT
        };
        if from == 0 {
            for (at, need) in needs.iter().enumerate() {
                let more = brief(&mut files, at);
                if need.distance <= 1 && spent + more <= budget {
                    chosen.insert(at, Extent::Head);
                    spent += more;
                }
            }
        }
        let mut next = None;
        for (at, need) in needs.iter().enumerate().skip(from) {
            let imports: usize = need
                .imports
                .iter()
                .map(|(path, first, last)| files.cost(path, &[(*first, *last)]))
                .sum();
            let mut more = imports + files.cost(&need.path, &need.lines);
            if chosen.contains_key(&at) {
                more = more.saturating_sub(brief(&mut files, at));
            }
            if more > budget / 2 && need.head.is_some() && need.distance > 0 {
                if !chosen.contains_key(&at) && spent + brief(&mut files, at) <= budget {
                    spent += brief(&mut files, at);
                    chosen.insert(at, Extent::Head);
                }
                continue;
            }
            if spent + more > budget && need.distance > 0 {
                next = Some(at);
                break;
            }
            spent += more;
            chosen.insert(at, Extent::Whole);
        }
        let files = text(needs, &chosen, &mut files);
        let tokens = files.iter().map(|(_, text)| count_tokens(text)).sum();
        NeedsPage { files, next, tokens }
    }
}

fn text(
    needs: &[Need],
    chosen: &BTreeMap<usize, Extent>,
    files: &mut Files<'_>,
) -> Vec<(String, String)> {
    let mut spans: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
    let mut cuts: BTreeMap<&str, BTreeMap<u32, usize>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for (&at, &extent) in chosen {
        let need = &needs[at];
        if !order.contains(&need.path.as_str()) {
            order.push(&need.path);
        }
        let own = spans.entry(&need.path).or_default();
        if let Some(class) = need.class {
            own.extend(needs[class].brief());
        }
        match extent {
            Extent::Whole => own.extend(&need.lines),
            Extent::Head => {
                own.extend(need.brief());
                let end = need.lines.iter().map(|(_, last)| *last).max().unwrap_or(0);
                if let Some((_, last)) = need.head.filter(|(_, last)| *last < end) {
                    let count = files.of(&need.path).count(last + 1, end);
                    cuts.entry(&need.path).or_default().insert(last, count);
                }
            }
        }
        if extent == Extent::Whole {
            for (path, first, last) in &need.imports {
                if !order.contains(&path.as_str()) {
                    order.push(path);
                }
                spans.entry(path).or_default().push((*first, *last));
            }
        }
    }
    let none = BTreeMap::new();
    let shown = order.into_iter().map(|path| {
        let cuts = cuts.get(path).unwrap_or(&none);
        (path.to_owned(), files.of(path).numbered(&spans[path], cuts))
    });
    shown.collect()
}
