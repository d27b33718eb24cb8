//! Takes a name out of a whole file: a field that the failure does not need is a parameter in one place, a keyword, a text in a
//! list of slots and an assignment in others, and none of them can go alone.

use std::collections::BTreeSet;

use ruff_python_ast::{
    Expr, Stmt,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange};

use super::{
    lists::{ItemMark, Lists},
    parse,
    splice::{Edit, spliced},
};
use crate::{slice::Gist, syntax::with_deep_stack};

/// Returns the gist without one parameter name. Parameters, arguments, keywords, elements and targets of that name go.
/// `pass` replaces each other assignment or expression statement that mentions it. `at` counts the parameter names that
/// the file also mentions as a variable, an attribute or a string literal. Returns `None` after the last one.
///
/// ```python
/// class Box:
///     def __init__(self, size, color):    # def __init__(self, size):
///         self.size = size                #     self.size = size
///         self.color = color              #     pass
/// Box(1, color="red")                     # Box(1)
/// ```
pub fn without_name(gist: &Gist, at: usize) -> Option<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let found = Lists::of(&syntax);
        let mut mentions = Mentions::default();
        syntax.body().iter().for_each(|stmt| mentions.visit_stmt(stmt));
        let name = names(&found, &mentions).into_iter().nth(at)?;
        let marks = marks_of(&found, name);
        let mut edits = mentions.statements_with(name, &found, &marks);
        edits.extend(found.edits(&marks));
        Some(spliced(gist, edits))
    })
}

/// Returns the parameter names that the file also mentions as a variable, an attribute or a string literal.
fn names<'a>(found: &Lists<'a>, mentions: &Mentions<'a>) -> Vec<&'a str> {
    let mut known = BTreeSet::from(["self", "cls"]);
    let parameters = found.functions.iter().flat_map(|one| found.lists[one.list].names.iter());
    let mut names: Vec<&str> = parameters.copied().flatten().collect();
    let is_elsewhere = |name: &str| mentions.all.iter().any(|(one, _)| *one == name);
    names.retain(|name| is_elsewhere(name) && known.insert(name));
    names
}

/// Returns the items of a name: all of that name, and the arguments for parameters of that name.
fn marks_of(found: &Lists<'_>, name: &str) -> Vec<ItemMark> {
    let mut marks = Vec::new();
    for (number, list) in found.lists.iter().enumerate() {
        let own = (0..list.names.len()).filter(|item| list.names[*item] == Some(name));
        marks.extend(own.map(|item| (number, item)));
    }
    for function in &found.functions {
        let list = &found.lists[function.list];
        if let Some(parameter) = list.names.iter().position(|one| *one == Some(name)) {
            marks.extend(function.arguments_for(parameter, &found.calls));
        }
    }
    marks
}

/// The mentions of names, and the simple statements.
#[derive(Default)]
struct Mentions<'a> {
    /// Names, attributes and texts, with their places.
    all: Vec<(&'a str, TextRange)>,
    statements: Vec<TextRange>,
}

impl Mentions<'_> {
    /// Returns edits that put `pass` in the place of each statement with a name that is in none of the marked items.
    fn statements_with(&self, name: &str, found: &Lists<'_>, marks: &[ItemMark]) -> Vec<Edit> {
        let goes = |(list, _): &&ItemMark| {
            let marked = marks.iter().filter(|(one, _)| one == list).count();
            found.lists[*list].may_lose(marked)
        };
        let gone: Vec<TextRange> =
            marks.iter().filter(goes).map(|(list, item)| found.lists[*list].items[*item]).collect();
        let is_left = |range: &TextRange| !gone.iter().any(|item| item.contains_range(*range));
        let left: Vec<TextRange> = self
            .all
            .iter()
            .filter(|(one, range)| *one == name && is_left(range))
            .map(|(_, range)| *range)
            .collect();
        let has_it = |stmt: &&TextRange| left.iter().any(|range| stmt.contains_range(*range));
        self.statements.iter().filter(has_it).map(|stmt| (*stmt, "pass".to_owned())).collect()
    }
}

impl<'a> Visitor<'a> for Mentions<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if matches!(stmt, Stmt::Expr(_) | Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::AugAssign(_))
        {
            self.statements.push(stmt.range());
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => self.all.push((&name.id, name.range())),
            Expr::Attribute(node) => self.all.push((&node.attr, node.attr.range())),
            Expr::StringLiteral(text) => self.all.push((text.value.to_str(), text.range())),
            _ => {}
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::gist;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let gist = gist(text);
        let texts: Vec<_> = (0..).map_while(|at| without_name(&gist, at)).collect();
        assert_eq!(texts.iter().map(|gist| gist.text.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_field_goes_wherever_it_is() {
        check(
            "class A:\n    __slots__ = ('x', 'y')\n    def __init__(self, x, y=1):\n        self.x = x\n        self.y = y\nA(1, y=2)\nA(1, 2)\n",
            &[
                "class A:\n    __slots__ = ('y')\n    def __init__(self, y=1):\n        pass\n        self.y = y\nA(y=2)\nA(2)\n",
                "class A:\n    __slots__ = ('x')\n    def __init__(self, x):\n        self.x = x\n        pass\nA(1)\nA(1)\n",
            ],
        );
    }

    #[test]
    fn values_that_are_passed_on_go_too() {
        check(
            "def g(a, b):\n    set('b', b)\n    return a, b\ndef f(a, b):\n    a, b = g(a, b)\n    return a, b\n",
            &[
                "def g(b):\n    set('b', b)\n    return b\ndef f(b):\n    b = g(b)\n    return b\n",
                "def g(a):\n    pass\n    return a\ndef f(a):\n    a = g(a)\n    return a\n",
            ],
        );
        // The only item of a list without brackets stays, and its statement goes.
        check(
            "def f(a):\n    b = a,\n    return 1\nf(2)\n",
            &["def f():\n    pass\n    return 1\nf()\n"],
        );
        check("def f(a): pass\n", &[]);
    }
}
