//! Puts what brackets hold on one line: a list that has lost its items is short, and stood on many lines before.

use ruff_python_ast::token::{Token, TokenKind};
use ruff_text_size::{Ranged, TextLen, TextRange};

use super::{
    parse,
    splice::{Edit, spliced},
};
use crate::{
    slice::Gist,
    syntax::{Syntax, with_deep_stack},
};

/// The longest line that joins others, in characters.
const WIDTH: usize = 88;

/// Returns the gist with each pair of brackets on one line where the line is no longer than [`WIDTH`]; inner pairs where the
/// outer one does not fit. Brackets around a comment, or a string of several lines, stay as they are.
///
/// ```python
/// def area(       # def area(shape, unit):
///     shape,
///     unit,
/// ):
/// ```
pub fn with_joined_brackets(gist: &Gist) -> Gist {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let tokens = syntax.tokens(TextRange::up_to(syntax.source().text().text_len()));
        let mut edits: Vec<Edit> = Vec::new();
        let mut joined_to = 0;
        for (open, close) in bracket_pairs(tokens) {
            if open < joined_to {
                continue;
            }
            if let Some(edit) = joined(&syntax, tokens, open, close) {
                edits.push(edit);
                joined_to = close;
            }
        }
        spliced(gist, edits)
    })
}

/// Returns the pairs of brackets outside of strings, by the indices of their tokens, in the order of their openings.
fn bracket_pairs(tokens: &[Token]) -> Vec<(usize, usize)> {
    let (mut pairs, mut opened, mut strings) = (Vec::new(), Vec::new(), 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        match token.kind() {
            TokenKind::FStringStart | TokenKind::TStringStart => strings += 1,
            TokenKind::FStringEnd | TokenKind::TStringEnd => strings = strings.saturating_sub(1),
            _ if strings > 0 => {}
            kind if is_opening(kind) => opened.push(at),
            kind if is_closing(kind) => pairs.extend(opened.pop().map(|open| (open, at))),
            _ => {}
        }
    }
    pairs.sort_unstable();
    pairs
}

fn is_opening(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace)
}

fn is_closing(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace)
}

/// Returns the edit that puts a pair of brackets on one line; `None` for a pair that is there, or does not fit.
fn joined(syntax: &Syntax, tokens: &[Token], open: usize, close: usize) -> Option<Edit> {
    let source = syntax.source();
    let range = TextRange::new(tokens[open].start(), tokens[close].end());
    if !source.slice(range).contains('\n') {
        return None;
    }
    let inner = &tokens[open..=close];
    if inner.iter().any(|token| token.kind() == TokenKind::Comment) {
        return None;
    }
    let is_kept = |at: &usize| tokens[*at].kind() != TokenKind::NonLogicalNewline;
    let kept: Vec<usize> = (open..=close).filter(is_kept).collect();
    let mut text = String::new();
    let mut opened = Vec::new();
    for (number, &at) in kept.iter().enumerate() {
        let token = &tokens[at];
        if is_opening(token.kind()) {
            opened.push(at);
        } else if is_closing(token.kind()) {
            opened.pop();
        }
        let spelled = source.slice(token.range());
        if spelled.contains('\n') {
            return None;
        }
        let next = kept.get(number + 1).map(|next| &tokens[*next]);
        let gap = next.map_or("", |next| source.slice(TextRange::new(token.end(), next.start())));
        if gap.contains('\\') {
            return None;
        }
        let is_last = next.is_some_and(|next| is_closing(next.kind()));
        let is_dot = next.is_some_and(|next| next.kind() == TokenKind::Dot);
        // The comma of `(a,)` makes it a tuple.
        let is_needed = opened.last().is_none_or(|open| is_tuple(tokens, *open));
        if token.kind() == TokenKind::Comma && is_last && gap.contains('\n') && !is_needed {
            continue;
        }
        text.push_str(spelled);
        match gap.contains('\n') {
            false => text.push_str(gap),
            true if is_opening(token.kind()) || is_last => {}
            // `2 .real` needs its space.
            true if is_dot && !matches!(token.kind(), TokenKind::Int | TokenKind::Float) => {}
            true => text.push(' '),
        }
    }
    let (first, last) = source.line_span(range);
    let before = TextRange::new(source.line_start(first), range.start());
    let after = TextRange::new(range.end(), source.line_start(last + 1));
    let around = [before, after].map(|range| source.slice(range).trim_end().chars().count());
    (around[0] + text.chars().count() + around[1] <= WIDTH).then_some((range, text))
}

/// Returns true if a comma before the closing bracket may be what makes a tuple: the bracket belongs to no call, definition
/// or display of a list, set or dictionary.
fn is_tuple(tokens: &[Token], open: usize) -> bool {
    let before = open.checked_sub(1).map(|at| tokens[at].kind());
    let follows_value = before.is_some_and(|kind| kind == TokenKind::Name || is_closing(kind));
    match tokens[open].kind() {
        TokenKind::Lpar => !follows_value,
        TokenKind::Lsqb => follows_value,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::{gist, shown};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(shown(&with_joined_brackets(&gist(text))), expected);
    }

    #[test]
    fn brackets_that_fit_are_joined() {
        check(
            "def f(\n    a,\n    b=1,\n):\n    return [\n        a, b\n    ]\n",
            "1~|def f(a, b=1):\n5~|    return [a, b]\n",
        );
        check(
            "x = {\n    'a': (\n        1,\n    ),\n    'b': c[\n        0,\n    ],\n}\n",
            "1~|x = {'a': (1,), 'b': c[0,]}\n",
        );
        check("y = (\n    x\n    .a()\n    .b(2\n    .real)\n)\n", "1~|y = (x.a().b(2 .real))\n");
    }

    #[test]
    fn inner_brackets_are_joined_where_outer_ones_are_too_long() {
        let long = "a".repeat(60);
        check(
            &format!("f(\n    {long},\n    {long},\n    g(\n        b,\n    ),\n)\n"),
            &format!("1|f(\n2|    {long},\n3|    {long},\n4~|    g(b),\n7|)\n"),
        );
    }

    #[test]
    fn comments_and_strings_of_several_lines_stay() {
        for text in [
            "f(\n    a,  # why\n)\n",
            "f(\n    '''a\n    b''',\n)\n",
            "f(\n    f'''a{b}\n    ''',\n)\n",
            "f(\n    a + \\\n    b,\n)\n",
        ] {
            let lines = text.lines().enumerate();
            let expected: String = lines.map(|(at, line)| format!("{}|{line}\n", at + 1)).collect();
            check(text, &expected);
        }
    }
}
