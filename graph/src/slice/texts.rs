//! Annotations below `from __future__ import annotations` as the texts that they are: `x: list[int]` becomes
//! `x: 'list[int]'`, for a gist that cannot have the import since others of its modules do without.

use std::collections::BTreeMap;

use ruff_python_ast::{
    Expr, Stmt, StringLiteral,
    str::{Quote, TripleQuotes},
    visitor::transformer::Transformer,
};
use ruff_python_codegen::{Generator, Stylist};
use ruff_text_size::{Ranged, TextRange};

use super::{
    name::{TextRangeKey, key},
    prune::{ClauseHeader, Node},
};
use crate::syntax::Syntax;

/// Adds what replaces the annotations of kept statements to the edits of their module.
pub(crate) fn write(
    syntax: &Syntax,
    nodes: &[Node<'_>],
    edits: &mut BTreeMap<TextRangeKey, String>,
) {
    let mut found = Vec::new();
    nodes.iter().for_each(|node| annotations(node, false, &mut found));
    for annotation in found {
        let range = annotation.range();
        let inside: Vec<(TextRangeKey, String)> = edits
            .range((range.start().to_u32(), 0)..(range.end().to_u32(), 0))
            .map(|(place, text)| (*place, text.clone()))
            .collect();
        let text = edited(syntax, range, &inside);
        if let Some(text) = unparsed(&text) {
            inside.iter().for_each(|(place, _)| drop(edits.remove(place)));
            edits.insert(key(range), quoted(&text));
        }
    }
}

/// The annotations that a statement keeps as values: not those of a function's own variables.
fn annotations<'a>(node: &Node<'a>, in_function: bool, found: &mut Vec<&'a Expr>) {
    if let Stmt::AnnAssign(assign) = node.stmt
        && !in_function
    {
        found.push(&assign.annotation);
    }
    for clause in &node.clauses {
        let mut inside = in_function;
        match clause.head {
            ClauseHeader::Function(function, _) => {
                let parameters = function.parameters.iter();
                found.extend(parameters.filter_map(|one| one.as_parameter().annotation()));
                found.extend(function.returns.as_deref());
                inside = true;
            }
            ClauseHeader::Class(_) => inside = false,
            _ => {}
        }
        clause.body.iter().for_each(|inner| annotations(inner, inside, found));
    }
}

fn edited(syntax: &Syntax, range: TextRange, edits: &[(TextRangeKey, String)]) -> String {
    let text = syntax.source().text();
    let (mut out, mut at) = (String::new(), range.start().to_usize());
    for ((start, end), replacement) in edits {
        out.push_str(&text[at..*start as usize]);
        out.push_str(replacement);
        at = *end as usize;
    }
    out.push_str(&text[at..range.end().to_usize()]);
    out
}

/// An expression as Python writes it in `__annotations__`.
fn unparsed(text: &str) -> Option<String> {
    struct SingleQuotes;
    impl Transformer for SingleQuotes {
        fn visit_string_literal(&self, literal: &mut StringLiteral) {
            let flags = literal.flags.with_triple_quotes(TripleQuotes::No);
            literal.flags = flags.with_quote_style(Quote::Single);
        }
    }
    let parsed = ruff_python_parser::parse_module(text).ok()?;
    let stylist = Stylist::from_tokens(parsed.tokens(), text);
    let [Stmt::Expr(only)] = &parsed.suite()[..] else { return None };
    let mut value = only.value.as_ref().clone();
    SingleQuotes.visit_expr(&mut value);
    Some(Generator::from(&stylist).expr(&value))
}

/// A text as a string literal.
fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let text = text.replace('\\', "\\\\");
    let text = if quote == '\'' { text.replace('\'', "\\'") } else { text };
    format!("{quote}{text}{quote}")
}
