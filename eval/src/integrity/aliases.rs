//! Names that a gist had to change because of a collision, changed back before a line of it is judged. What
//! the gist gives such a name besides, anywhere and in whatever way, makes it no alias; so does its deletion,
//! an import of all names, and a meaning that it has without the gist.

use std::collections::BTreeMap;

use graph::Syntax;
use ruff_python_ast::{
    Expr, Stmt,
    visitor::{Visitor, walk_expr},
};
use ruff_text_size::{Ranged, TextRange};

use super::bindings::Bindings;

/// Where aliases are changed back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// Where they are names of their own.
    Names,
    /// Behind a dot as well: an attribute of a module that the gist stands for is renamed with it.
    NamesAndAttributes,
}

/// A gist's text with what they stand for in the place of its aliases.
pub fn without_aliases(text: &str, places: Places) -> String {
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("gist", text));
        let bindings = Bindings::of(syntax.body());
        let all = syntax.body().iter().filter(|_| !bindings.has_star());
        let aliases = all.filter_map(|stmt| alias(stmt, &bindings)).collect();
        let mut finder = Finder { aliases, places, found: Vec::new() };
        syntax.body().iter().for_each(|stmt| finder.visit_stmt(stmt));
        let mut found = finder.found;
        found.sort_unstable_by_key(|(range, _)| range.start());
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for (range, value) in found {
            out.push_str(&text[done..range.start().to_usize()]);
            out.push_str(value);
            done = range.end().to_usize();
        }
        out.push_str(&text[done..]);
        out
    })
}

/// `Name_mod = Name` at the top level.
pub(super) fn alias<'a>(stmt: &'a Stmt, bindings: &Bindings<'_>) -> Option<(&'a str, &'a str)> {
    let assign = stmt.as_assign_stmt()?;
    let [Expr::Name(name)] = assign.targets.as_slice() else { return None };
    let value = assign.value.as_name_expr()?;
    let is_own = bindings.once(&name.id).is_some() && !graph::is_builtin(&name.id);
    is_own.then(|| (name.id.as_str(), value.id.as_str()))
}

struct Finder<'a> {
    aliases: BTreeMap<&'a str, &'a str>,
    places: Places,
    found: Vec<(TextRange, &'a str)>,
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        let at = match expr {
            Expr::Name(name) => Some((name.range(), name.id.as_str())),
            Expr::Attribute(node) if self.places == Places::NamesAndAttributes => {
                Some((node.attr.range(), node.attr.as_str()))
            }
            _ => None,
        };
        if let Some((range, name)) = at
            && let Some(value) = self.aliases.get(name)
        {
            self.found.push((range, value));
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, places: Places, expected: &str) {
        let plain = without_aliases(text, places);
        assert_eq!(plain.lines().last(), Some(expected), "{text}");
    }

    #[test]
    fn names_of_collisions_are_changed_back() {
        let text = "svd_linalg = svd\nsvd = wrapped(linalg.svd_linalg, svd_linalg)\n";
        check(text, Places::Names, "svd = wrapped(linalg.svd_linalg, svd)");
        check(text, Places::NamesAndAttributes, "svd = wrapped(linalg.svd, svd)");
        check("a = f\nx = f'{a}'", Places::Names, "x = f'{f}'");
        check("a = f\nx = [a for b in a]", Places::Names, "x = [f for b in f]");
    }

    #[test]
    fn what_is_no_name_of_a_value_stays() {
        check(
            "compare = repr\nb = field(compare=False)",
            Places::Names,
            "b = field(compare=False)",
        );
        check("__class__ = part\n(a.\n__class__) = b", Places::Names, "__class__) = b");
        check("a = f\nx.a.b", Places::Names, "x.a.b");
    }

    #[test]
    fn what_is_given_something_else_is_no_alias() {
        for other in [
            "def a(): pass",
            "class a: pass",
            "import a",
            "from m import b as a",
            "a = g",
            "(a, b) = (g, 1)",
            "for a in g: pass",
            "with g as a: pass",
            "(a := g)",
            "def f():\n    global a\n    a = g",
            "try: pass\nexcept E as a: pass",
            "from . import b as a",
            "from m import *",
            "a += g",
            "del a",
            "def f(a): pass",
            "match g:\n    case a: pass",
            "[a for a in g]",
        ] {
            check(&format!("a = f\n{other}\nx = [a]"), Places::Names, "x = [a]");
        }
        check("[a] = f\nx = [a]", Places::Names, "x = [a]");
        check("Warning = f\nx = [Warning]", Places::Names, "x = [Warning]");
    }
}
