//! CodeBLEU (Ren et al. 2020, arXiv 2009.10297) of a completion against its solution, component by component as the
//! library `codebleu` 0.7.0 defines it: n-grams, n-grams with keywords weighted, subtrees, and data flow.
//!
//! Two things differ from that library. Where it numbers variables in the order of a set, which changes from process to
//! process, they are numbered as they come. And a data-flow match of 0 counts as 1 only where the reference has no data
//! flow at all; there it counts so for a completion that gets everything wrong, too.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use graph::{Source, Syntax, with_deep_stack};
use ruff_python_ast::token::TokenKind;
use ruff_text_size::{Ranged, TextRange, TextSize};
use tree_sitter::{Node, Parser, Tree};

/// The longest n-grams.
const ORDER: usize = 4;
/// The value that replaces a count of zero n-grams (method 1 of Chen and Cherry 2014).
const EPSILON: f64 = 0.1;
/// The weight of a token that is no keyword.
const OTHER: f64 = 0.2;
/// The length of any reference in the brevity penalty of weighted n-grams: the library takes that of a pair, the reference
/// with its weights, for that of the reference.
const PAIR: usize = 2;
/// Bytes of each text that are compared; trees of longer ones have too many subtrees.
const LONGEST: usize = 50_000;
const KEYWORDS: [&str; 38] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield", "match", "case", "type",
];

/// The parts of CodeBLEU, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CodeBleu {
    /// BLEU over words.
    pub ngrams: f64,
    /// The same by the reference's words, keywords weighted.
    pub weighted: f64,
    /// The reference's subtrees that the hypothesis has.
    pub syntax: f64,
    /// The reference's data flow that the hypothesis has; nothing where the reference has none.
    pub dataflow: Option<f64>,
}

impl CodeBleu {
    /// The sum of the parts, a quarter each, from 0 to 100; a reference without data flow counts as matched.
    pub fn score(&self) -> f64 {
        25.0 * (self.ngrams + self.weighted + self.syntax + self.dataflow.unwrap_or(1.0))
    }
}

/// Compares a hypothesis with a reference.
pub fn code_bleu(hypothesis: &str, reference: &str) -> CodeBleu {
    let cut = |text: &str| text[..text.floor_char_boundary(LONGEST)].trim().to_owned();
    let (hypothesis, reference) = (cut(hypothesis), cut(reference));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (ours, theirs) = (words(&hypothesis), words(&reference));
    with_deep_stack(|| {
        let (hypothesis, reference) = (bare(&hypothesis), bare(&reference));
        let (Some(left), Some(right)) = (parsed(&hypothesis), parsed(&reference)) else {
            let (ngrams, weighted) = (precision(&ours, &theirs), recall(&ours, &theirs));
            return CodeBleu { ngrams, weighted, syntax: 0.0, dataflow: None };
        };
        CodeBleu {
            ngrams: precision(&ours, &theirs),
            weighted: recall(&ours, &theirs),
            syntax: subtrees(&left, &right),
            dataflow: dataflow((&left, &hypothesis), (&right, &reference)),
        }
    })
}

fn counts(tokens: &[String], n: usize) -> HashMap<&[String], usize> {
    let mut counts = HashMap::new();
    for gram in tokens.windows(n) {
        *counts.entry(gram).or_insert(0) += 1;
    }
    counts
}

/// The brevity penalty times the geometric mean of counts by totals.
fn mean_of(parts: [(f64, f64); ORDER], ours: usize, theirs: usize) -> f64 {
    if parts[0].0 == 0.0 || ours == 0 {
        return 0.0;
    }
    let brevity = if ours > theirs { 1.0 } else { (1.0 - theirs as f64 / ours as f64).exp() };
    let smoothed = parts.map(|(count, total)| if count == 0.0 { EPSILON } else { count } / total);
    brevity * (smoothed.iter().map(|share| share.ln()).sum::<f64>() / ORDER as f64).exp()
}

fn precision(ours: &[String], theirs: &[String]) -> f64 {
    let parts = std::array::from_fn(|at| {
        let (mine, known) = (counts(ours, at + 1), counts(theirs, at + 1));
        let clipped = mine.iter().map(|(gram, count)| *count.min(known.get(gram).unwrap_or(&0)));
        (clipped.sum::<usize>() as f64, mine.values().sum::<usize>().max(1) as f64)
    });
    mean_of(parts, ours.len(), theirs.len())
}

fn recall(ours: &[String], theirs: &[String]) -> f64 {
    let parts = std::array::from_fn(|at| {
        let (mine, known) = (counts(ours, at + 1), counts(theirs, at + 1));
        let weight = |gram: &[String]| match at {
            0 if !KEYWORDS.contains(&gram[0].as_str()) => OTHER,
            _ => 1.0,
        };
        let clipped = known
            .iter()
            .map(|(gram, count)| weight(gram) * *count.min(mine.get(gram).unwrap_or(&0)) as f64);
        let all = known.iter().map(|(gram, count)| weight(gram) * *count as f64);
        (clipped.sum::<f64>(), all.sum::<f64>().max(1.0))
    });
    mean_of(parts, ours.len(), PAIR)
}

/// A text without comments, docstrings and empty lines.
fn bare(text: &str) -> String {
    let syntax = Syntax::parse(Source::new("text", text));
    let mut kept = String::new();
    let mut at = 0;
    let mut begins = true;
    for token in syntax.tokens(TextRange::up_to(TextSize::of(text))) {
        let (from, to) = (token.start().to_usize(), token.end().to_usize());
        let column = from - text[..from].rfind('\n').map_or(0, |newline| newline + 1);
        let drops = match token.kind() {
            TokenKind::Comment => true,
            TokenKind::String => begins || column == 0,
            _ => false,
        };
        if drops {
            kept.push_str(&text[at..from]);
            at = to;
        }
        if token.kind() != TokenKind::NonLogicalNewline && token.kind() != TokenKind::Comment {
            begins = matches!(token.kind(), TokenKind::Newline | TokenKind::Indent);
        }
    }
    kept.push_str(&text[at.min(text.len())..]);
    kept.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

fn parsed(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok()?;
    parser.parse(text, None)
}

fn subtrees(ours: &Tree, theirs: &Tree) -> f64 {
    let mine: BTreeSet<String> = forms(ours).into_iter().collect();
    let known = forms(theirs);
    known.iter().filter(|form| mine.contains(*form)).count() as f64 / known.len() as f64
}

/// The forms of a tree's root and of all its nodes that have children.
fn forms(tree: &Tree) -> Vec<String> {
    let mut forms = Vec::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        forms.push(node.to_sexp());
        pending.extend(children(node).filter(|child| child.child_count() > 0));
    }
    forms
}

fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    (0..node.child_count()).filter_map(move |at| node.child(at))
}

/// A value that a variable gets: the variable, its token, how, and from which variables and tokens.
#[derive(Debug, Clone)]
struct Flow {
    name: String,
    token: usize,
    computed: bool,
    sources: Vec<String>,
    tokens: Vec<usize>,
}

/// Tokens that hold a variable's last values.
type States = BTreeMap<String, Vec<usize>>;

struct Flows<'t> {
    text: &'t str,
    tokens: HashMap<(usize, usize), usize>,
}

/// The reference's data flow that the hypothesis has; nothing where the reference has none.
fn dataflow(ours: (&Tree, &str), theirs: (&Tree, &str)) -> Option<f64> {
    let (mut mine, known) = (normalized(ours), normalized(theirs));
    let mut matched = 0;
    for flow in &known {
        if let Some(at) = mine.iter().position(|one| one == flow) {
            mine.remove(at);
            matched += 1;
        }
    }
    (!known.is_empty()).then(|| f64::from(matched) / known.len() as f64)
}

/// The flows of a text, variables numbered as they come.
fn normalized((tree, text): (&Tree, &str)) -> Vec<(usize, bool, Vec<usize>)> {
    let mut tokens = HashMap::new();
    number(tree.root_node(), &mut tokens);
    let flows = Flows { text, tokens };
    let mut found = flows.of(tree.root_node(), &mut States::new()).unwrap_or_default();
    found.sort_by_key(|flow| flow.token);
    let mut used = BTreeSet::new();
    for flow in found.iter().filter(|flow| !flow.tokens.is_empty()) {
        used.insert(flow.token);
        used.extend(&flow.tokens);
    }
    let mut merged: Vec<Flow> = Vec::new();
    for flow in found.into_iter().filter(|flow| used.contains(&flow.token)) {
        match merged.iter_mut().find(|one| one.token == flow.token) {
            Some(one) => {
                add(&mut one.sources, &flow.sources);
                add(&mut one.tokens, &flow.tokens);
            }
            None => merged.push(flow),
        }
    }
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut number_of = |name: &String| {
        let next = numbers.len();
        *numbers.entry(name.clone()).or_insert(next)
    };
    let each = merged.iter().map(|flow| {
        let sources = flow.sources.iter().map(&mut number_of).collect();
        (number_of(&flow.name), flow.computed, sources)
    });
    each.collect()
}

/// Adds what is not there yet; what was there twice stays once.
fn add<T: Clone + PartialEq>(to: &mut Vec<T>, more: &[T]) {
    let mut all = Vec::new();
    for one in to.iter().chain(more) {
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
    *to = all;
}

fn is_token(node: Node<'_>) -> bool {
    let whole = matches!(node.kind(), "string_literal" | "string" | "character_literal");
    (node.child_count() == 0 || whole) && node.kind() != "comment"
}

fn number(node: Node<'_>, tokens: &mut HashMap<(usize, usize), usize>) {
    if is_token(node) {
        let next = tokens.len();
        tokens.entry((node.start_byte(), node.end_byte())).or_insert(next);
    } else {
        children(node).for_each(|child| number(child, tokens));
    }
}

impl Flows<'_> {
    fn text_of(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    fn token(&self, node: Node<'_>) -> Option<usize> {
        self.tokens.get(&(node.start_byte(), node.end_byte())).copied()
    }

    /// The variables of a node: its tokens that are no keywords or signs.
    fn variables(&self, node: Node<'_>, found: &mut Vec<(usize, String)>) {
        if is_token(node) {
            let text = self.text_of(node);
            if let Some(token) = self.token(node).filter(|_| node.kind() != text) {
                found.push((token, text.to_owned()));
            }
        } else {
            children(node).for_each(|child| self.variables(child, found));
        }
    }

    fn variables_of(&self, node: Node<'_>) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        self.variables(node, &mut found);
        found
    }

    /// The flows of a node, which changes what variables hold; nothing for a tree that has not the form it should.
    fn of(&self, node: Node<'_>, states: &mut States) -> Option<Vec<Flow>> {
        let mut flows = match node.kind() {
            _ if is_token(node) => return Some(self.of_token(node, states)),
            "default_parameter" => self.of_default(node, states)?,
            "assignment" | "augmented_assignment" | "for_in_clause" => {
                self.of_assignment(node, states)?
            }
            "if_statement" => self.of_branches(node, states)?,
            "for_statement" => {
                let mut flows = Vec::new();
                for _ in 0..2 {
                    let (left, right) =
                        (node.child_by_field_name("left")?, node.child_by_field_name("right")?);
                    flows.extend(self.of_pairs(&paired(left, right), states)?);
                    let last = children(node).last()?;
                    if last.kind() == "block" {
                        flows.extend(self.of(last, states)?);
                    }
                }
                merged(flows)
            }
            "while_statement" => {
                let mut flows = Vec::new();
                for _ in 0..2 {
                    for child in children(node) {
                        flows.extend(self.of(child, states)?);
                    }
                }
                merged(flows)
            }
            _ => {
                let mut flows = Vec::new();
                let first = |child: &Node<'_>| child.kind() == "for_in_clause";
                for child in children(node).filter(first) {
                    flows.extend(self.of(child, states)?);
                }
                for child in children(node).filter(|child| !first(child)) {
                    flows.extend(self.of(child, states)?);
                }
                flows
            }
        };
        flows.sort_by_key(|flow| flow.token);
        Some(flows)
    }

    fn of_token(&self, node: Node<'_>, states: &mut States) -> Vec<Flow> {
        let text = self.text_of(node);
        let Some(token) = self.token(node).filter(|_| node.kind() != text) else {
            return Vec::new();
        };
        let (name, computed) = (text.to_owned(), false);
        if let Some(tokens) = states.get(text) {
            let (sources, tokens) = (vec![name.clone()], tokens.clone());
            return vec![Flow { name, token, computed, sources, tokens }];
        }
        if node.kind() == "identifier" {
            states.insert(name.clone(), vec![token]);
        }
        vec![Flow { name, token, computed, sources: Vec::new(), tokens: Vec::new() }]
    }

    fn of_default(&self, node: Node<'_>, states: &mut States) -> Option<Vec<Flow>> {
        let names = self.variables_of(node.child_by_field_name("name")?);
        let mut flows = Vec::new();
        let value = node.child_by_field_name("value");
        let values = value.map(|value| self.variables_of(value)).unwrap_or_default();
        if let Some(value) = value {
            flows = self.of(value, states)?;
        }
        for (token, name) in names {
            match value {
                None => flows.push(Flow {
                    name: name.clone(),
                    token,
                    computed: false,
                    sources: Vec::new(),
                    tokens: Vec::new(),
                }),
                Some(_) => flows.extend(values.iter().map(|(from, source)| Flow {
                    name: name.clone(),
                    token,
                    computed: false,
                    sources: vec![source.clone()],
                    tokens: vec![*from],
                })),
            }
            states.insert(name, vec![token]);
        }
        Some(flows)
    }

    fn of_assignment(&self, node: Node<'_>, states: &mut States) -> Option<Vec<Flow>> {
        let left = node.child_by_field_name("left")?;
        let pairs = match node.kind() {
            "for_in_clause" => vec![(left, children(node).last()?)],
            _ => match node.child_by_field_name("right") {
                Some(right) => paired(left, right),
                None => return Some(Vec::new()),
            },
        };
        self.of_pairs(&pairs, states)
    }

    /// Targets that get values: first all values are read.
    fn of_pairs(&self, pairs: &[(Node<'_>, Node<'_>)], states: &mut States) -> Option<Vec<Flow>> {
        let mut flows = Vec::new();
        for (_, right) in pairs {
            flows.extend(self.of(*right, states)?);
        }
        for (left, right) in pairs {
            let values = self.variables_of(*right);
            for (token, name) in self.variables_of(*left) {
                flows.push(Flow {
                    name: name.clone(),
                    token,
                    computed: true,
                    sources: values.iter().map(|(_, name)| name.clone()).collect(),
                    tokens: values.iter().map(|(token, _)| *token).collect(),
                });
                states.insert(name, vec![token]);
            }
        }
        Some(flows)
    }

    fn of_branches(&self, node: Node<'_>, states: &mut States) -> Option<Vec<Flow>> {
        let before = states.clone();
        let mut current = states.clone();
        let mut ends = Vec::new();
        let mut flows = Vec::new();
        let mut has_else = false;
        for child in children(node) {
            has_else |= child.kind().contains("else");
            if matches!(child.kind(), "elif_clause" | "else_clause") {
                let mut own = before.clone();
                flows.extend(self.of(child, &mut own)?);
                ends.push(own);
            } else {
                flows.extend(self.of(child, &mut current)?);
            }
        }
        ends.push(current);
        if !has_else {
            ends.push(before);
        }
        let mut joined = States::new();
        for (name, tokens) in ends.into_iter().flatten() {
            joined.entry(name).or_default().extend(tokens);
        }
        for tokens in joined.values_mut() {
            tokens.sort_unstable();
            tokens.dedup();
        }
        *states = joined;
        Some(flows)
    }
}

/// Targets with their values: one by one where there are as many of both, else as wholes.
fn paired<'t>(left: Node<'t>, right: Node<'t>) -> Vec<(Node<'t>, Node<'t>)> {
    let parts = |node: Node<'t>| -> Vec<Node<'t>> {
        children(node).filter(|child| child.kind() != ",").collect()
    };
    let (lefts, rights) = (parts(left), parts(right));
    match lefts.len() == rights.len() && !lefts.is_empty() {
        true => lefts.into_iter().zip(rights).collect(),
        false => vec![(left, right)],
    }
}

/// Flows of a loop's two rounds: those of one token as one.
fn merged(flows: Vec<Flow>) -> Vec<Flow> {
    let mut all: Vec<Flow> = Vec::new();
    for flow in flows {
        let same = |one: &&mut Flow| {
            (&one.name, one.token, one.computed) == (&flow.name, flow.token, flow.computed)
        };
        match all.iter_mut().find(same) {
            Some(one) => {
                add(&mut one.sources, &flow.sources);
                add(&mut one.tokens, &flow.tokens);
                one.tokens.sort_unstable();
            }
            None => all.push(flow),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (hypothesis, reference, n-grams, weighted n-grams, syntax, data flow), as codebleu 0.7.0 prints them with
    /// PYTHONHASHSEED=0; without data flow in the reference it prints 0.
    type Row = (&'static str, &'static str, [f64; 3], Option<f64>);

    const PRINTED: &[Row] = &[
        ("return x + 1", "return x + 1", [1.0, 1.0, 1.0], None),
        ("return x + 1", "return 1 + x", [0.113_622, 0.113_622, 0.0], None),
        (
            "if not is_text(value):\n    raise Bad(value)\nreturn value.lower()",
            "return value.lower() if is_text(value) else None",
            [0.077_306, 0.095_544, 0.625],
            Some(1.0),
        ),
        (
            "return [w for w in words if w]",
            "words = [word for word in words if word]\nreturn words\n",
            [0.107_353, 0.121_238, 0.428_571],
            Some(0.666_667),
        ),
        (
            "for a in b:\n    if a:\n        c = a + d\n    else:\n        c = d\nreturn c",
            "c = 0\nfor x in b:\n    if x:\n        c = x + d\n        e = c\n    else:\n        c = d + e\nreturn c + e",
            [0.153_787, 0.181_003, 0.526_316],
            Some(0.4),
        ),
        (
            "while n:\n    n = n - k\n    t = n * k + t\nreturn t",
            "while n > 0:\n    n = n - k\n    t = t + n * k\nreturn t",
            [0.460_552, 0.465_197, 0.416_667],
            // 1.0 with other seeds.
            Some(0.888_889),
        ),
        (
            "'''doc'''\nx = 'a'  # c\nreturn x",
            "x = 'b'\nreturn x",
            [0.083_07, 0.164_974, 1.0],
            Some(1.0),
        ),
        ("pass", "return 1", [0.0, 0.0, 0.0], None),
        ("return (", "return 1", [0.149_535, 0.169_904, 0.0], None),
        ("", "return 1", [0.0, 0.0, 0.0], None),
    ];

    #[test]
    fn parts_are_those_of_the_library() {
        for (hypothesis, reference, [ngrams, weighted, syntax], dataflow) in PRINTED {
            let told = code_bleu(hypothesis, reference);
            for (ours, theirs) in
                [(told.ngrams, ngrams), (told.weighted, weighted), (told.syntax, syntax)]
            {
                assert!((ours - theirs).abs() < 1e-5, "{hypothesis}: {told:?}, not {theirs}");
            }
            match (told.dataflow, dataflow) {
                (Some(ours), Some(theirs)) => {
                    assert!((ours - theirs).abs() < 1e-5, "{hypothesis}: {told:?}, not {theirs}");
                }
                (ours, theirs) => {
                    assert_eq!(ours.is_none(), theirs.is_none(), "{hypothesis}: {told:?}")
                }
            }
        }
    }

    #[test]
    fn the_sum_counts_what_does_not_match_as_nothing() {
        let reference = "a = b\nc = d + a\nreturn c";
        let wrong = code_bleu("pass", reference);
        assert_eq!((wrong.dataflow, wrong.score()), (Some(0.0), 0.0));
        assert_eq!(code_bleu(reference, reference).score(), 100.0);
    }
}
