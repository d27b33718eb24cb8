//! Names in the lines of a file: their tokens, the names that a line binds, and annotations, which may name nothing.

use graph::{Glue, Source, Syntax};
use ruff_python_ast::{
    Expr, Stmt,
    token::TokenKind,
    visitor::{Visitor, walk_stmt},
};
use ruff_python_parser::parse_expression;
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use super::meaning::{Thing, Timeline};
use crate::blocks::{Line, Outline, Role};

/// The places of all annotations of a file.
#[derive(Default)]
pub(super) struct Annotations {
    pub(super) found: Vec<TextRange>,
    /// The annotations of variables in functions, which no version of Python evaluates.
    pub(super) local: Vec<TextRange>,
    /// The number of functions around, up to the innermost class.
    depth: usize,
}

impl<'a> Visitor<'a> for Annotations {
    fn visit_expr(&mut self, _: &'a Expr) {}

    fn visit_annotation(&mut self, annotation: &'a Expr) {
        self.found.push(annotation.range());
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let around = self.depth;
        match stmt {
            Stmt::FunctionDef(_) => self.depth += 1,
            Stmt::ClassDef(_) => self.depth = 0,
            Stmt::AnnAssign(assign) if self.depth > 0 => {
                self.local.push(assign.annotation.range());
                return;
            }
            _ => {}
        }
        walk_stmt(self, stmt);
        self.depth = around;
    }
}

/// Returns a text with the expressions in the place of annotations that are written as texts, line by line the same, and
/// the places of these expressions:
///
/// ```python
/// def size(text: 'str | None') -> int: ...
/// def size(text: str | None) -> int: ...
/// ```
pub(super) fn without_quoted_annotations(text: &str) -> (String, Vec<TextRange>) {
    let syntax = Syntax::parse(Source::new("gist", text));
    let mut annotations = Annotations::default();
    syntax.body().iter().for_each(|stmt| annotations.visit_stmt(stmt));
    let (mut out, mut places, mut at) = (String::new(), Vec::new(), TextSize::default());
    annotations.found.sort_unstable_by_key(|range| range.start());
    for range in annotations.found {
        let quoted = string_value(&text[range]).filter(|value| !value.contains('\n'));
        if let Some(value) = quoted.filter(|value| parse_expression(value).is_ok()) {
            out += &text[TextRange::new(at, range.start())];
            let start = TextSize::of(&out);
            out += &value;
            places.push(TextRange::new(start, TextSize::of(&out)));
            at = range.end();
        }
    }
    out += &text[TextRange::new(at, TextSize::of(text))];
    (out, places)
}

/// Returns the value of an expression that is one string literal.
pub(super) fn string_value(text: &str) -> Option<String> {
    match &*parse_expression(text).ok()?.into_syntax().body {
        Expr::StringLiteral(literal) if !literal.value.is_implicit_concatenated() => {
            Some(literal.value.to_str().to_owned())
        }
        _ => None,
    }
}

/// Returns the tokens of a line without their positions.
pub(super) fn tokens<'t>(syntax: &'t Syntax, line: &Line) -> Vec<(TokenKind, &'t str)> {
    placed_tokens(syntax, line).into_iter().map(|(kind, text, _)| (kind, text)).collect()
}

/// Returns the tokens of a text of one line.
pub(super) fn all_tokens(syntax: &Syntax) -> Vec<(TokenKind, &str)> {
    let source = syntax.source();
    let all = TextRange::up_to(TextSize::of(source.text()));
    let tokens = syntax.tokens(all).iter().filter(|token| !token.kind().is_trivia());
    tokens.map(|token| (token.kind(), source.slice(token.range()))).collect()
}

/// Returns the tokens of a line that are no layout, with their positions. `__spec__.parent` is one token, the name of
/// the package, and `__spec__.name` that of the module.
pub(super) fn placed_tokens<'t>(
    syntax: &'t Syntax,
    line: &Line,
) -> Vec<(TokenKind, &'t str, TextSize)> {
    let offset = |at: usize| TextSize::try_from(at).unwrap_or_default();
    let range = TextRange::new(offset(line.range.0), offset(line.range.1));
    let mut found: Vec<(TokenKind, &str, TextSize)> = Vec::new();
    for token in syntax.tokens(range) {
        let is_layout =
            matches!(token.kind(), TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent);
        if token.kind().is_trivia() || is_layout {
            continue;
        }
        let text = syntax.source().slice(token.range());
        let stands_for = match text {
            "parent" => Some("__package__"),
            "name" => Some("__name__"),
            _ => None,
        };
        if let Some(name) = stands_for
            && let [.., (_, "__spec__", start), (TokenKind::Dot, ..)] = *found.as_slice()
        {
            found.truncate(found.len() - 2);
            found.push((TokenKind::Name, name, start));
            continue;
        }
        found.push((token.kind(), text, token.range().start()));
    }
    found
}

/// Returns the targets of imports in functions and classes, by block and name.
pub(super) fn imported_in_blocks<'a>(
    outline: &'a Outline,
    text: &str,
) -> FxHashMap<(&'a str, String), Thing> {
    let mut found = FxHashMap::default();
    let is_inner = |line: &&Line| line.role == Role::Import && !line.block.is_empty();
    for line in outline.lines.iter().filter(is_inner) {
        let Some(glue) = Glue::parse_text(line.statement(text)) else { continue };
        let mut names = Timeline::default();
        names.bind_glue(line.first, &glue);
        let own = names.at_end().map(|(name, thing)| (name.to_owned(), thing.clone()));
        found.extend(own.map(|(name, thing)| ((line.block.as_str(), name), thing)));
    }
    found
}

/// Names that parts of a line bind: `for` and `with` targets, `as`, `:=`, parameters of `lambda`.
pub(super) fn bound_in_line(all: &[(TokenKind, &str)], names: &mut FxHashSet<String>) {
    let mut is_target = false;
    for (at, (kind, name)) in all.iter().enumerate() {
        match kind {
            TokenKind::For | TokenKind::Lambda | TokenKind::Case => is_target = true,
            TokenKind::In | TokenKind::Colon => is_target = false,
            TokenKind::Name => {
                let before = at.checked_sub(1).map(|before| all[before].0);
                let after = all.get(at + 1).map(|after| after.0);
                if is_target
                    || before == Some(TokenKind::As)
                    || after == Some(TokenKind::ColonEqual)
                {
                    names.insert((*name).to_owned());
                }
            }
            _ => {}
        }
    }
}

/// Names that a line of the top level binds.
pub(super) fn bound_by(syntax: &Syntax, line: &Line) -> Vec<String> {
    if !line.binds.is_empty() || !matches!(line.role, Role::Header) {
        return line.binds.clone();
    }
    // The targets of `for` and `with`: names before `in`, and behind `as`.
    let all = tokens(syntax, line);
    let end = all.iter().position(|(kind, _)| *kind == TokenKind::In).unwrap_or(0);
    let targets = all[..end].iter().filter(|(kind, _)| *kind == TokenKind::Name);
    let behind = all.windows(2).filter(|pair| pair[0].0 == TokenKind::As).map(|pair| &pair[1]);
    targets.chain(behind).map(|(_, text)| (*text).to_owned()).collect()
}
