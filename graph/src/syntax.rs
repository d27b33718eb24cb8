//! One parsed file: its text, its tree, its tokens.
//!
//! Parsing never fails: broken source gives a partial tree and a list of errors. Nothing here
//! interprets names; that is for `scope` and `resolve`.

use ruff_python_ast::{ModModule, Stmt, token::Token, token::TokenKind};
use ruff_python_parser::{
    Mode, ParseError, ParseErrorType, ParseOptions, Parsed, parse_expression, parse_unchecked,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::source::Source;

/// Stack for code that recurses over syntax, in bytes; deep nesting is normal in generated sources.
const STACK: usize = 512 << 20;

/// Returns true if a variable can have a name: `mod_1`, not `1mod`, `my-mod` or the keyword `as`.
pub fn is_identifier(name: &str) -> bool {
    let is_letter = |c: char| c == '_' || c.is_alphabetic();
    name.starts_with(is_letter)
        && name.chars().all(|c| is_letter(c) || c.is_alphanumeric())
        && parse_expression(name).is_ok_and(|parsed| parsed.into_expr().is_name_expr())
}

/// Returns the syntax errors of a parsed text. The parser also reports a `raise` without an expression in front of
/// another statement of its line, which is valid Python:
///
/// ```python
/// except KeyError: raise; value = None
/// ```
pub fn syntax_errors<T>(parsed: &Parsed<T>) -> impl Iterator<Item = &ParseError> {
    let tokens: &[Token] = parsed.tokens();
    let is_bare_raise = move |error: &ParseError| {
        let at = tokens.partition_point(|token| token.start() < error.location.start());
        matches!(error.error, ParseErrorType::ExpectedExpression)
            && tokens.get(at).is_some_and(|token| token.kind() == TokenKind::Semi)
            && at.checked_sub(1).is_some_and(|before| tokens[before].kind() == TokenKind::Raise)
    };
    parsed.errors().iter().filter(move |error| !is_bare_raise(error))
}

/// A source and its syntax tree.
#[derive(Debug)]
pub struct Syntax {
    source: Source,
    parsed: Parsed<ModModule>,
}

impl Syntax {
    /// Parses a source, whatever its state.
    pub fn parse(source: Source) -> Self {
        let parsed = parse_unchecked(source.text(), ParseOptions::from(Mode::Module));
        let parsed = parsed.try_into_module().unwrap_or_else(|| {
            unreachable!("parsing in module mode gives a module, broken source included")
        });
        Self { source, parsed }
    }

    /// The text.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Statements of the top level.
    pub fn body(&self) -> &[Stmt] {
        self.parsed.suite()
    }

    /// Syntax errors, as (1-based line, message); empty for valid source.
    pub fn errors(&self) -> Vec<(u32, String)> {
        syntax_errors(&self.parsed)
            .map(|error| (self.source.line(error.location.start()), error.error.to_string()))
            .collect()
    }

    /// Tokens that lie in a range.
    pub fn tokens(&self, range: TextRange) -> &[Token] {
        let tokens: &[Token] = self.parsed.tokens();
        let from = tokens.partition_point(|token| token.start() < range.start());
        let to = tokens.partition_point(|token| token.start() < range.end());
        &tokens[from..to.max(from)]
    }

    /// The range of a compound statement's header: from `start` to the colon before its body.
    pub fn header(&self, start: TextSize, body: &[Stmt]) -> TextRange {
        let limit = body.first().map_or(start, Ranged::start);
        let tokens: &[Token] = self.parsed.tokens();
        let mut at = tokens.partition_point(|token| token.start() < limit);
        while at > 0 {
            at -= 1;
            let token = &tokens[at];
            if token.start() < start {
                break;
            }
            if token.kind() == TokenKind::Colon {
                return TextRange::new(start, token.end());
            }
        }
        TextRange::new(start, limit)
    }

    /// Start of the keyword (`def`, `async`, `class`) after the decorators of a definition.
    pub fn keyword_after(&self, decorators_end: TextSize) -> TextSize {
        let tokens: &[Token] = self.parsed.tokens();
        let from = tokens.partition_point(|token| token.start() < decorators_end);
        tokens[from..]
            .iter()
            .find(|token| {
                !matches!(
                    token.kind(),
                    TokenKind::Newline | TokenKind::NonLogicalNewline | TokenKind::Comment
                )
            })
            .map_or(decorators_end, Ranged::start)
    }

    /// Offset of the nearest keyword of this kind before a block: `else`, `finally`, `try`.
    pub fn keyword_before(&self, kind: TokenKind, body: &[Stmt]) -> Option<TextSize> {
        let limit = body.first()?.start();
        let tokens: &[Token] = self.parsed.tokens();
        let at = tokens.partition_point(|token| token.start() < limit);
        tokens[..at].iter().rev().find(|token| token.kind() == kind).map(Ranged::start)
    }

    /// Returns the string literals in a range, those inside an interpolated one before it.
    pub fn string_literals(&self, range: TextRange) -> Vec<TextRange> {
        let mut literals = Vec::new();
        let mut open = Vec::new();
        for token in self.tokens(range) {
            let start = match token.kind() {
                TokenKind::String => Some(token.start()),
                TokenKind::FStringStart | TokenKind::TStringStart => {
                    open.push(token.start());
                    None
                }
                TokenKind::FStringEnd | TokenKind::TStringEnd => open.pop(),
                _ => None,
            };
            literals.extend(start.map(|start| TextRange::new(start, token.end())));
        }
        literals
    }

    /// 1-based lines in a range that begin inside a string, whose text must not be re-indented. Interpolated fields are part of
    /// it: `{x = }` shows the blanks of its field.
    pub fn lines_in_strings(&self, range: TextRange) -> Vec<u32> {
        let mut lines = Vec::new();
        for literal in self.string_literals(range) {
            lines.extend(self.source.line(literal.start()) + 1..=self.source.line(literal.end()));
        }
        lines.sort_unstable();
        lines.dedup();
        let (first, _) = self.source.line_span(range);
        lines.retain(|&line| line != first);
        lines
    }
}

/// Runs code that recurses over syntax on a stack large enough for any file that Python accepts.
///
/// # Panics
/// When the code panics, or a thread cannot be started.
pub fn with_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .expect("start a thread for deep syntax");
        match thread.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_of_new_versions_is_understood() {
        for text in [
            // PEP 810, 3.15.
            "lazy import json\nlazy from a.b import c as d\nlazy = 1\n",
            // PEP 798, 3.15.
            "a = [*x for x in y]\nb = {**d for d in e}\nc = {*x for x in y}\nf(*x for x in y)\n",
            // PEP 750, 3.14.
            "t'{name!r:>{width}} {other=}'\n",
            // PEP 758, 3.14.
            "try:\n    pass\nexcept A, B:\n    pass\n",
            // PEP 695 and 696, 3.12 and 3.13.
            "type X[T: int = bool] = list[T]\ndef f[**P, *Ts](x: X[P]) -> None: pass\n",
        ] {
            let errors = Syntax::parse(Source::new("a.py", text)).errors();
            assert!(errors.is_empty(), "{text}: {errors:?}");
        }
    }
}
