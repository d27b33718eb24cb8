//! The texts that a file holds.

use std::collections::BTreeSet;

use ruff_python_ast::{
    Expr,
    visitor::{Visitor, walk_expr},
};

use crate::{
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// All string constants of a file.
pub fn literals(source: Source) -> BTreeSet<String> {
    with_deep_stack(|| {
        let syntax = Syntax::parse(source);
        let mut finder = Finder(BTreeSet::new());
        syntax.body().iter().for_each(|stmt| finder.visit_stmt(stmt));
        finder.0
    })
}

struct Finder(BTreeSet<String>);

impl<'a> Visitor<'a> for Finder {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::StringLiteral(text) = expr {
            self.0.insert(text.value.to_str().to_owned());
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_wherever_they_stand() {
        let text = "x = {'a': f('b' 'c')}\nclass K:\n    def m(self, y='d'):\n        return f'{z[\"e\"]}'\n";
        let found: Vec<String> = literals(Source::new("m.py", text)).into_iter().collect();
        assert_eq!(found, ["a", "bc", "d", "e"]);
    }
}
