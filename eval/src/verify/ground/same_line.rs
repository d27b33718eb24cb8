//! Decides if a line of a gist is a line of the original, but for spellings and names that glue changes.

use graph::{Source, Syntax};
use ruff_python_ast::token::TokenKind;
use ruff_text_size::TextRange;

use super::{File, Search};
use crate::{
    blocks::{Outline, Role},
    verify::{
        meaning::{Thing, Timeline, same},
        names::{all_tokens, placed_tokens, string_value, tokens},
    },
};

/// The gist in a spelling of the original: its lines, and the tokens of their text.
pub(super) struct Reading {
    pub(super) outline: Outline,
    pub(super) tokens: Syntax,
    /// The annotations that the gist has as texts and this spelling as expressions.
    pub(super) quoted: Vec<TextRange>,
}

impl Reading {
    /// Reads a text that has the statements of `gist`. One that is no Python may have others: it then has the gist's lines.
    pub(super) fn new(text: &str, gist: &Outline, quoted: Vec<TextRange>) -> Self {
        let outline = Outline::of_shallow(text);
        let has_same = outline.lines.len() == gist.lines.len();
        let outline = if has_same { outline } else { gist.clone() };
        Self { outline, tokens: Syntax::parse(Source::new("gist", text)), quoted }
    }
}

impl Search<'_> {
    /// Returns the reading without quoted annotations for a file that postpones annotations, else the plain one.
    pub(super) fn reading(&self, file: &File<'_>) -> &Reading {
        self.unquoted.filter(|_| file.postpones).unwrap_or(self.plain)
    }

    /// Returns true if a line of the gist is a line of the original, but for names that glue changes.
    pub(super) fn is_same_line(&self, gist: usize, file: &File<'_>, original: usize) -> bool {
        let (own, reading) = (&self.outline.lines[gist], self.reading(file));
        let plain = &reading.outline.lines[gist];
        let other = &file.original.outline.lines[original];
        let kinds =
            own.role == other.role || matches!((own.role, other.role), (Role::If, Role::Elif));
        if !kinds || own.block != other.block {
            return false;
        }
        if own.key == other.key || plain.key == other.key {
            return true;
        }
        let Some(names) = &self.names else { return false };
        if own.role == Role::Import {
            return false;
        }
        let placed = placed_tokens(&file.syntax, other);
        let mut left = tokens(&reading.tokens, plain);
        if left.len() > placed.len() {
            left = self.without_packages(left, |token| *token, file);
        }
        let is_annotation =
            |at: usize| file.annotations.iter().any(|range| range.contains(placed[at].2));
        let right: Vec<(TokenKind, &str)> =
            placed.iter().map(|(kind, text, _)| (*kind, *text)).collect();
        left.len() == right.len()
            && left.iter().zip(&right).enumerate().all(|(at, (left, there))| {
                // The branches before it may be gone.
                let is_first_branch = at == 0 && (own.role, other.role) == (Role::If, Role::Elif);
                left == there || is_first_branch || {
                    let behind_dot = at > 0 && right[at - 1].0 == TokenKind::Dot;
                    self.stands_for(names, left, there, behind_dot, file)
                        || is_annotation(at)
                            && (self.says_the_same(names, left, there, file)
                                || !behind_dot && self.are_both_unbound(names, left, there, file))
                }
            })
    }

    /// Returns the tokens without the package that glue writes into the call of `importlib.resources.files`, which asks
    /// for the package of its caller without it:
    ///
    /// ```python
    /// from importlib import resources
    /// resources.files("pkg.data") / "a.txt"     # in pkg/data/__init__.py: `resources.files()`
    /// ```
    pub(super) fn without_packages<'t, T>(
        &self,
        mut all: Vec<T>,
        token: impl Fn(&T) -> (TokenKind, &'t str),
        file: &File<'_>,
    ) -> Vec<T> {
        let path = file.code.path.as_str();
        let Some(package) = self.ground.meaning.package_of(path) else { return all };
        let tokens: Vec<(TokenKind, &str)> = all.iter().map(token).collect();
        let is_package = |at: usize| {
            let around = at.checked_sub(2).and_then(|from| tokens.get(from..=at + 1));
            let Some([(_, "files"), (_, "("), (TokenKind::String, text), (_, ")")]) = around else {
                return false;
            };
            // The name that the attributes are read from.
            let mut root = at - 2;
            while root >= 2 && tokens[root - 1].0 == TokenKind::Dot {
                root -= 2;
            }
            let thing = self.ground.meaning.in_file(path, tokens[root].1);
            let is_of_importlib = matches!(
                thing,
                Some(Thing::External(module, _)) if module.split('.').next() == Some("importlib")
            );
            is_of_importlib && string_value(text).as_deref() == Some(package)
        };
        let mut is_kept = (0..tokens.len()).map(|at| !is_package(at));
        all.retain(|_| is_kept.next().unwrap_or(true));
        all
    }

    /// Returns true if the text of an annotation is that of the original, but for names that glue changes. Two names
    /// match as well if neither is bound.
    fn says_the_same(
        &self,
        names: &Timeline,
        own: &(TokenKind, &str),
        there: &(TokenKind, &str),
        file: &File<'_>,
    ) -> bool {
        let parsed = |token: &(TokenKind, &str)| {
            let value = string_value(token.1).filter(|_| token.0 == TokenKind::String)?;
            Some(Syntax::parse(Source::new("annotation", value)))
        };
        let (Some(own), Some(there)) = (parsed(own), parsed(there)) else { return false };
        let (left, right) = (all_tokens(&own), all_tokens(&there));
        left.len() == right.len()
            && left.iter().zip(&right).enumerate().all(|(at, (left, there))| {
                let behind_dot = at > 0 && right[at - 1].0 == TokenKind::Dot;
                left == there
                    || self.stands_for(names, left, there, behind_dot, file)
                    || !behind_dot && self.are_both_unbound(names, left, there, file)
            })
    }

    /// Returns true if both tokens are names that are not bound, in the gist and in the module of the original:
    ///
    /// ```python
    /// if TYPE_CHECKING: from .info import Info
    /// def resolve(info: Info): ...           # the gist has another `Info`, and `info: Info_field`
    /// ```
    fn are_both_unbound(
        &self,
        names: &Timeline,
        own: &(TokenKind, &str),
        there: &(TokenKind, &str),
        file: &File<'_>,
    ) -> bool {
        let meaning = self.ground.meaning;
        (own.0, there.0) == (TokenKind::Name, TokenKind::Name)
            && meaning.is_fresh(own.1)
            && names.ever(own.1).is_empty()
            && meaning.in_file(&file.code.path, there.1).is_none()
    }

    /// Returns true if a token of the gist may stand in the place of one of the original.
    fn stands_for(
        &self,
        names: &Timeline,
        (own_kind, own): &(TokenKind, &str),
        (kind, there): &(TokenKind, &str),
        behind_dot: bool,
        file: &File<'_>,
    ) -> bool {
        let path = file.code.path.as_str();
        match (own_kind, kind) {
            (TokenKind::String, TokenKind::String) => {
                let value = string_value(own);
                value.is_some() && value == string_value(there)
            }
            (TokenKind::String, TokenKind::Name) => {
                let text = || string_value(own);
                let value = own.trim_matches(['"', '\'']);
                let meaning = self.ground.meaning;
                match *there {
                    "__name__" => meaning.module_of(path) == Some(value),
                    "__doc__" => {
                        text().is_some_and(|text| meaning.docstrings_of(path).contains(&text))
                    }
                    "__package__" => meaning.package_of(path) == Some(value),
                    _ => false,
                }
            }
            (TokenKind::Name, TokenKind::Name) => {
                let things = names.ever(own);
                if behind_dot {
                    return things.iter().any(|thing| match thing {
                        Thing::Own(_, name) => name == there,
                        Thing::Module(module) => module.rsplit('.').next() == Some(there),
                        Thing::Gist => self.ground.meaning.is_last_of_module(there),
                        Thing::External(..) | Thing::Builtin(_) => false,
                    });
                }
                let Some(wanted) = self.ground.meaning.in_file(path, there) else { return false };
                things.iter().any(|thing| same(thing, &wanted))
            }
            _ => false,
        }
    }
}
