//! Expressions that are evaluated later than their line: annotations, bounds and defaults of type parameters, type aliases, and the
//! texts of annotations that something else evaluates.
//!
//! The run decides what of them is a use: from 3.14 on it tells which annotations were evaluated, and generated code
//! tells which names it looked up. Nothing is needed for the others.

use ruff_python_ast::{
    Expr, ExprStringLiteral, StringFlags as _,
    name::Name,
    visitor::{Visitor, walk_expr},
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{
    ran::ModuleRun,
    scan::{AttributeChain, path},
};
use crate::source::Source;

/// When the annotations of a module are evaluated in the gist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// At their line, as before 3.14.
    AtOnce,
    /// On demand, those that the run evaluated.
    Asked,
    /// On demand, all of them.
    Later,
    /// By nobody but generated code, as below the future import.
    Never,
}

/// The facts about a module's expressions that are evaluated on demand.
#[derive(Clone, Copy)]
pub(crate) struct OnDemandFacts<'e> {
    pub(crate) annotations: When,
    /// True if the trace tells which bounds and defaults of type parameters were evaluated.
    pub(crate) knows_bounds: bool,
    /// The same of type aliases.
    pub(crate) knows_aliases: bool,
    pub(crate) ran: &'e ModuleRun,
    pub(crate) source: &'e Source,
    /// Names in executed code that comes from no file, sorted.
    pub(crate) generated: &'e [String],
}

impl OnDemandFacts<'_> {
    /// Returns true if generated code looked a name up.
    pub(crate) fn is_generated(&self, name: &Name) -> bool {
        self.generated.binary_search_by(|one| one.as_str().cmp(name)).is_ok()
    }
}

/// The names that the text of an annotation mentions, with their places in the source and what is asked of them.
/// `"Item | None"` mentions `Item`; a text with escapes or of several parts mentions none.
pub(crate) fn names_in_text(text: &ExprStringLiteral) -> Vec<(Name, TextRange, AttributeChain)> {
    let Some(part) = text.as_single_part_string() else { return Vec::new() };
    let start = part.start() + part.flags.opener_len();
    let inside = part.range().len() - part.flags.opener_len() - part.flags.closer_len();
    let value = text.value.to_str();
    let Ok(parsed) = ruff_python_parser::parse_expression(value) else { return Vec::new() };
    if TextSize::of(value) != inside {
        return Vec::new();
    }
    let mut names = Mentioned { start, found: Vec::new() };
    names.visit_expr(parsed.expr());
    names.found
}

struct Mentioned {
    start: TextSize,
    found: Vec<(Name, TextRange, AttributeChain)>,
}

impl<'a> Visitor<'a> for Mentioned {
    fn visit_expr(&mut self, expr: &'a Expr) {
        let (base, chain) = path(expr);
        match base {
            Expr::Name(name) => {
                let chain = chain.into_iter();
                let chain = chain.map(|(name, place)| (name, place.map(|one| one + self.start)));
                self.found.push((name.id.clone(), name.range + self.start, chain.collect()));
            }
            _ => walk_expr(self, expr),
        }
    }
}
