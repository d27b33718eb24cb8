//! Removes items from lists: unread parameters with their arguments, elements of displays, keyword arguments,
//! and unread names of imports and assignments.

use std::collections::BTreeSet;

use ruff_python_ast::{
    Expr,
    visitor::{Visitor, walk_expr},
};

use super::{
    lists::{ItemList, ItemMark, Lists, halves},
    parse,
};
use crate::{slice::Gist, syntax::with_deep_stack};

/// Returns the gist without parameters that their functions do not mention, and without the arguments for them in calls
/// of functions of that name. Index 0 removes all of them, the following ones each a half, then a quarter, down to single
/// ones. Returns `None` after the last.
///
/// ```python
/// def area(shape, unit):    # def area(shape):
///     return shape.a
/// area(square, "m")         # area(square)
/// ```
pub fn without_unread_parameters(gist: &Gist, at: usize) -> Option<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let found = Lists::of(&syntax);
        let marks: Vec<Vec<ItemMark>> = found
            .functions
            .iter()
            .flat_map(|function| function.unread_parameters(&found.calls))
            .collect();
        let group = halves(marks.len()).nth(at)?;
        Some(found.without(gist, marks[group].iter().flatten()))
    })
}

/// Returns the gist without elements of a display, or keyword arguments of a call, that has several lines or
/// [`LONG_LIST`] bytes. For each list, the first index removes all of them, the following ones halves, down to single ones.
/// Returns `None` after the last.
///
/// ```python
/// RATES = {       # RATES = {
///     "a": 1,     #     "b": 2,
///     "b": 2,     # }
/// }
/// ```
pub fn without_elements(gist: &Gist, at: usize) -> Option<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let found = Lists::of(&syntax);
        let is_long = |list: &ItemList| {
            let text = syntax.source().slice(list.range);
            text.len() >= LONG_LIST || text.contains('\n')
        };
        let long = found.lists.iter().enumerate().filter(|(_, list)| is_long(list));
        let mut groups = long.flat_map(|(number, list)| {
            halves(list.free.len()).map(move |group| (number, &list.free[group]))
        });
        let (number, items) = groups.nth(at)?;
        let marks: Vec<ItemMark> = items.iter().map(|item| (number, *item)).collect();
        Some(found.without(gist, &marks))
    })
}

/// Returns the gist without elements of displays, or keyword arguments of calls, of [`LARGE_LIST`] lines and more. Index 0
/// empties all of these lists, the following ones a half of them, then a quarter, down to single lists. Then come halves of
/// the elements of each list, down to groups of [`LARGE_LIST`] lines. Returns `None` after the last.
///
/// A table that lists functions keeps all of them mentioned. Once it is empty, it loads fast and its functions can go.
///
/// ```python
/// PARSERS = {                  # PARSERS = {}
///     "SELECT": parse_select,  #
///     ...                      #
/// }
/// ```
pub fn without_large_lists(gist: &Gist, at: usize) -> Option<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let found = Lists::of(&syntax);
        let is_large = |list: &ItemList| {
            let lines = syntax.source().slice(list.range).matches('\n').count();
            !list.free.is_empty() && lines >= LARGE_LIST
        };
        let lists = found.lists.iter().enumerate().filter(|(_, list)| is_large(list));
        let large: Vec<(usize, &[usize])> =
            lists.map(|(number, list)| (number, &list.free[..])).collect();
        let several = halves(large.len()).map(|group| large[group].to_vec());
        let single = large.iter().flat_map(|(number, free)| {
            let is_large = |group: &std::ops::Range<usize>| {
                let items = &found.lists[*number].items;
                let (first, last) = (items[free[group.start]], items[free[group.end - 1]]);
                let text = &syntax.source().text()[first.start().to_usize()..last.end().to_usize()];
                text.matches('\n').count() >= LARGE_LIST
            };
            let groups = halves(free.len()).skip(1).filter(is_large);
            groups.map(|group| vec![(*number, &free[group])])
        });
        let emptied = several.chain(single).nth(at)?;
        let marks =
            emptied.iter().flat_map(|(list, items)| items.iter().map(|item| (*list, *item)));
        Some(found.without(gist, &marks.collect::<Vec<ItemMark>>()))
    })
}

/// Returns the gist without names that nothing reads, of imports and assignments that bind several; one name of each stays.
/// Index 0 removes all of them, the following ones each a half, then a quarter, down to single ones. Returns `None` after
/// the last.
///
/// ```python
/// from typing import Any, Union    # from typing import Union
/// wide = text = Union[int, str]    # text = Union[int, str]
/// print(text)
/// ```
pub fn without_unread_names(gist: &Gist, at: usize) -> Option<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let found = Lists::of(&syntax);
        let mut read = ReadNames::default();
        syntax.body().iter().for_each(|stmt| read.visit_stmt(stmt));
        let mut marks: Vec<ItemMark> = Vec::new();
        for &list in &found.bindings {
            let names = &found.lists[list].names;
            let is_unread = |at: &usize| names[*at].is_some_and(|name| !read.0.contains(name));
            let unread: Vec<usize> = (0..names.len()).filter(is_unread).collect();
            let staying = usize::from(unread.len() == names.len());
            marks.extend(unread[staying..].iter().map(|item| (list, *item)));
        }
        let group = halves(marks.len()).nth(at)?;
        Some(found.without(gist, &marks[group]))
    })
}

/// The minimum number of line breaks in a list that is emptied as a whole before its elements are tried.
const LARGE_LIST: usize = 10;

/// The bytes of a list on one line that is worth a proposal for each element: a row of names that glue defines.
const LONG_LIST: usize = 60;

/// The names that expressions read.
#[derive(Default)]
struct ReadNames<'a>(BTreeSet<&'a str>);

impl<'a> Visitor<'a> for ReadNames<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && !name.ctx.is_store()
        {
            self.0.insert(&name.id);
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::gist;

    #[track_caller]
    fn check(rewrite: fn(&Gist, usize) -> Option<Gist>, text: &str, expected: &[&str]) {
        let gist = gist(text);
        let texts: Vec<_> =
            (0..).map_while(|at| rewrite(&gist, at)).map(|gist| gist.text).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn unread_parameters_go_with_their_arguments() {
        check(
            without_unread_parameters,
            "def f(a, b, *, c=1):\n    return a\nf(1,\n  2, c=3)\nm.f(b=1, a=2)\n",
            &[
                "def f(a):\n    return a\nf(1)\nm.f(a=2)\n",
                "def f(a, c=1):\n    return a\nf(1,\n  c=3)\nm.f(a=2)\n",
                "def f(a, b):\n    return a\nf(1,\n  2)\nm.f(b=1, a=2)\n",
            ],
        );
        check(
            without_unread_parameters,
            "class C:\n    def __init__(self, a, b):\n        self.b = b\nC(1, 2)\nC(*x)\n",
            &["class C:\n    def __init__(self, b):\n        self.b = b\nC(2)\nC(*x)\n"],
        );
        check(
            without_unread_parameters,
            "def f(a, *args, b, **more):\n    pass\nf(\n    1,\n    b=2,\n)\n",
            &[
                "def f(*args, **more):\n    pass\nf()\n",
                "def f(*args, b, **more):\n    pass\nf(\n    b=2,\n)\n",
                "def f(a, *args, **more):\n    pass\nf(\n    1,\n)\n",
            ],
        );
        check(without_unread_parameters, "def f(a): return a\nf(1)\n", &[]);
    }

    #[test]
    fn large_lists_are_emptied_together_before_single_ones() {
        let rows: String = (0..24).map(|at| format!("    {at},\n")).collect();
        let text = format!(
            "x = [\n{rows}]\ny = f(\n    1,\n{}    b=2,\n)\nz = [\n    1,\n]\n",
            "\n".repeat(9)
        );
        let first = gist(&text);
        let proposals: Vec<String> =
            (0..).map_while(|at| without_large_lists(&first, at)).map(|gist| gist.text).collect();
        let (rest, emptied) = ("z = [\n    1,\n]\n", "x = []\n");
        let call = "y = f(\n    1,\n)\n";
        assert_eq!(proposals[0], format!("{emptied}{call}{rest}"));
        assert_eq!(proposals[1], text.replace(&text[..text.find('y').unwrap()], emptied));
        assert!(proposals[2].contains(call) && proposals[2].contains(&rows), "{}", proposals[2]);
        assert_eq!(proposals[3].matches(",\n").count(), text.matches(",\n").count() - 12);
        assert_eq!(proposals.len(), 5);
        assert!(without_large_lists(&gist(rest), 0).is_none());
    }

    #[test]
    fn names_that_nothing_reads_go_but_one_of_each_statement() {
        check(
            without_unread_names,
            "import os, sys as system, a.b\nfrom m import (\n    c,\n    d,\n)\ne = f = x.y = os\nprint(d, f)\n",
            &[
                "import os\nfrom m import (\n    d,\n)\nf = x.y = os\nprint(d, f)\n",
                "import os\nfrom m import (\n    c,\n    d,\n)\ne = f = x.y = os\nprint(d, f)\n",
                "import os, sys as system, a.b\nfrom m import (\n    d,\n)\nf = x.y = os\nprint(d, f)\n",
                "import os, a.b\nfrom m import (\n    c,\n    d,\n)\ne = f = x.y = os\nprint(d, f)\n",
                "import os, sys as system\nfrom m import (\n    c,\n    d,\n)\ne = f = x.y = os\nprint(d, f)\n",
                "import os, sys as system, a.b\nfrom m import (\n    d,\n)\ne = f = x.y = os\nprint(d, f)\n",
                "import os, sys as system, a.b\nfrom m import (\n    c,\n    d,\n)\nf = x.y = os\nprint(d, f)\n",
            ],
        );
        check(without_unread_names, "from m import a, b\n", &["from m import a\n"]);
    }

    #[test]
    fn elements_go_from_displays_of_several_lines() {
        check(
            without_elements,
            "x = [\n    1,\n    2,\n]\ny = [1, 2]\n",
            &[
                "x = []\ny = [1, 2]\n",
                "x = [\n    2,\n]\ny = [1, 2]\n",
                "x = [\n    1,\n]\ny = [1, 2]\n",
            ],
        );
        check(
            without_elements,
            "f(\n    1,\n    a={\n        'b': 2, **c,\n    },\n)\n",
            &[
                "f(\n    1,\n)\n",
                "f(\n    1,\n    a={},\n)\n",
                "f(\n    1,\n    a={\n        **c,\n    },\n)\n",
                "f(\n    1,\n    a={\n        'b': 2,\n    },\n)\n",
            ],
        );
    }
}
