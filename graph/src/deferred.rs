//! Names in the texts of annotations: what evaluates these looks for them when everything is defined.

use std::collections::BTreeSet;

use ruff_python_ast::{
    Expr, Stmt,
    visitor::{Visitor, walk_annotation, walk_expr},
};

use crate::{
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// Returns true if one of some statements is `from __future__ import annotations`.
pub fn postpones_annotations(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::ImportFrom(import) => {
            import.module.as_ref().is_some_and(|module| module == "__future__")
                && import.names.iter().any(|alias| &alias.name == "annotations")
        }
        _ => false,
    })
}

/// Returns the names in string annotations of a file: `Item` in `items: list["Item"]`. Ignores
/// strings that are no expression, the values of a `Literal` and the metadata of an `Annotated`.
pub fn deferred(source: Source) -> BTreeSet<String> {
    with_deep_stack(|| {
        let syntax = Syntax::parse(source);
        let mut finder = Finder::default();
        syntax.body().iter().for_each(|stmt| finder.visit_stmt(stmt));
        finder.found
    })
}

#[derive(Default)]
struct Finder {
    in_annotation: bool,
    in_text: bool,
    found: BTreeSet<String>,
}

impl<'a> Visitor<'a> for Finder {
    fn visit_annotation(&mut self, annotation: &'a Expr) {
        let around = std::mem::replace(&mut self.in_annotation, true);
        walk_annotation(self, annotation);
        self.in_annotation = around;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::StringLiteral(text) if self.in_annotation => {
                if let Ok(parsed) = ruff_python_parser::parse_expression(text.value.to_str()) {
                    let mut within = Finder { in_text: true, ..Finder::default() };
                    within.visit_annotation(parsed.expr());
                    self.found.extend(within.found);
                }
            }
            Expr::Name(name) if self.in_text => drop(self.found.insert(name.id.to_string())),
            Expr::Subscript(node) if self.in_annotation => {
                self.visit_expr(&node.value);
                match (kind(&node.value), &*node.slice) {
                    ("Literal", _) => {}
                    ("Annotated", Expr::Tuple(parts)) => {
                        parts.elts.iter().take(1).for_each(|part| self.visit_expr(part));
                    }
                    (_, slice) => self.visit_expr(slice),
                }
            }
            _ => walk_expr(self, expr),
        }
    }
}

/// The last part of a dotted name.
fn kind(expr: &Expr) -> &str {
    match expr {
        Expr::Name(name) => &name.id,
        Expr::Attribute(node) => &node.attr,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_texts_in_annotations() {
        let check = |text: &str, expected: &[&str]| {
            let found = deferred(Source::new("a.py", text));
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{text}");
        };
        check(
            "class A:\n    b: Optional[\"B\"] = 'no'\n    c: 'dict[str, pkg.C]'\n",
            &["B", "dict", "pkg", "str"],
        );
        check(
            "def f(a: 'A', *b: \"B\", **c: C) -> list['D']:\n    e: 'E' = 'x'\n",
            &["A", "B", "D", "E"],
        );
        check("a: 'list[\"B\"]'\nb: t.Literal['c']\nd: Annotated['D', 'e']\n", &["B", "D", "list"]);
        check("a: 'no name' = 1\nb = 'B'\n\"C\"\ndef f(a='D'): 'F'\n", &[]);
    }
}
