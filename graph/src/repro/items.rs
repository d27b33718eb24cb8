//! Takes items out of lists: parameters that nothing reads, with what calls give them, and elements of displays.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use ruff_python_ast::{
    Alias, ArgOrKeyword, Expr, ExprCall, Stmt, StmtAssign, StmtFunctionDef,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{
    parse,
    splice::{Edit, spliced},
};
use crate::{
    slice::Gist,
    syntax::{Syntax, with_deep_stack},
};

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
        let marks: Vec<Vec<Mark>> = found
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
        let marks: Vec<Mark> = items.iter().map(|item| (number, *item)).collect();
        Some(found.without(gist, &marks))
    })
}

/// Returns the gist without elements of displays, or keyword arguments of calls, of [`LARGE_LIST`] lines and more. Index 0
/// empties all of these lists, the following ones a half of them, then a quarter, down to single lists; then come halves
/// of the elements of each list, down to single ones. Returns `None` after the last.
///
/// Tables of functions and classes keep all of them: without its elements a table is quick to load, and definitions
/// lose their last mention.
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
            halves(free.len()).skip(1).map(|group| vec![(*number, &free[group])])
        });
        let emptied = several.chain(single).nth(at)?;
        let marks =
            emptied.iter().flat_map(|(list, items)| items.iter().map(|item| (*list, *item)));
        Some(found.without(gist, &marks.collect::<Vec<Mark>>()))
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
        let mut marks: Vec<Mark> = Vec::new();
        for names in &found.bound_names {
            let is_unread =
                |at: &usize| names.names[*at].is_some_and(|name| !read.0.contains(name));
            let unread: Vec<usize> = (0..names.names.len()).filter(is_unread).collect();
            let staying = usize::from(unread.len() == names.names.len());
            marks.extend(unread[staying..].iter().map(|item| (names.list, *item)));
        }
        let group = halves(marks.len()).nth(at)?;
        Some(found.without(gist, &marks[group]))
    })
}

/// The lines of a list that is worth emptying before anything else is tried.
const LARGE_LIST: usize = 10;

/// The bytes of a list on one line that is worth a proposal for each element: a row of names that glue defines.
const LONG_LIST: usize = 60;

/// An item of a list, both by number.
type Mark = (usize, usize);

/// Ranges of so many things: all of them, both halves, and so on down to single ones.
pub(super) fn halves(count: usize) -> impl Iterator<Item = Range<usize>> {
    let sizes = std::iter::successors(Some(count), |size| (*size > 1).then(|| size.div_ceil(2)));
    sizes.filter(|size| *size > 0).flat_map(move |size| {
        (0..count).step_by(size).map(move |from| from..(from + size).min(count))
    })
}

/// A list in brackets: parameters, arguments, or elements.
struct ItemList {
    /// The list with its brackets.
    range: TextRange,
    items: Vec<TextRange>,
    /// The items that may go by themselves.
    free: Vec<usize>,
}

impl ItemList {
    /// Returns edits that take items out. What lies between two items goes with the first of them.
    fn without(&self, gone: &BTreeSet<usize>) -> Vec<Edit> {
        let Some(last_kept) = (0..self.items.len()).rev().find(|at| !gone.contains(at)) else {
            let one = TextSize::from(1);
            let inner = TextRange::new(self.range.start() + one, self.range.end() - one);
            return vec![(inner, String::new())];
        };
        let before = gone
            .range(..last_kept)
            .map(|at| TextRange::new(self.items[*at].start(), self.items[at + 1].start()));
        let last = self.items.len() - 1;
        let end = TextRange::new(self.items[last_kept].end(), self.items[last].end());
        before
            .chain((last_kept < last).then_some(end))
            .map(|range| (range, String::new()))
            .collect()
    }
}

/// A function, with the list of its parameters.
struct FoundFunction<'a> {
    function: &'a StmtFunctionDef,
    /// The names by which it is called.
    names: Vec<&'a str>,
    /// Parameters that a call does not give: `self`.
    bound: usize,
    list: usize,
}

/// A call, with the list of its arguments.
struct FoundCall<'a> {
    call: &'a ExprCall,
    name: &'a str,
    list: usize,
}

impl FoundCall<'_> {
    /// Returns the argument for a parameter.
    fn argument_for(&self, name: &str, position: Option<usize>) -> Option<usize> {
        let mut positional = 0;
        for (at, argument) in self.call.arguments.iter_source_order().enumerate() {
            match argument {
                ArgOrKeyword::Keyword(keyword) => {
                    if keyword.arg.as_ref().is_some_and(|given| given == name) {
                        return Some(at);
                    }
                }
                ArgOrKeyword::Arg(Expr::Starred(_)) => return None,
                ArgOrKeyword::Arg(_) if position == Some(positional) => return Some(at),
                ArgOrKeyword::Arg(_) => positional += 1,
            }
        }
        None
    }
}

impl FoundFunction<'_> {
    /// Returns for each parameter that the function does not read its item and those of calls.
    fn unread_parameters(&self, calls: &[FoundCall<'_>]) -> Vec<Vec<Mark>> {
        let mut mentioned = MentionedNames::default();
        self.function.body.iter().for_each(|stmt| mentioned.visit_stmt(stmt));
        let keyword_only = self.function.parameters.kwonlyargs.iter();
        let keyword_only: BTreeSet<&str> = keyword_only.map(|one| one.name().as_str()).collect();
        let mut unread = Vec::new();
        for (at, parameter) in self.function.parameters.iter().enumerate() {
            let name = parameter.name().as_str();
            if parameter.is_variadic() || at < self.bound || mentioned.0.contains(name) {
                continue;
            }
            let position = (!keyword_only.contains(name)).then(|| at - self.bound);
            let mut marks = vec![(self.list, at)];
            for call in calls.iter().filter(|call| self.names.contains(&call.name)) {
                marks.extend(call.argument_for(name, position).map(|item| (call.list, item)));
            }
            unread.push(marks);
        }
        unread
    }
}

/// The names in statements.
#[derive(Default)]
struct MentionedNames<'a>(BTreeSet<&'a str>);

impl<'a> Visitor<'a> for MentionedNames<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            self.0.insert(&name.id);
        }
        walk_expr(self, expr);
    }
}

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

/// The names that an import or an assignment binds; `None` for a target that is no name.
struct BoundNames<'a> {
    names: Vec<Option<&'a str>>,
    list: usize,
}

/// The lists of a file.
#[derive(Default)]
struct Lists<'a> {
    lists: Vec<ItemList>,
    bound_names: Vec<BoundNames<'a>>,
    functions: Vec<FoundFunction<'a>>,
    calls: Vec<FoundCall<'a>>,
    /// The class whose body is visited; none in a function.
    class: Option<&'a str>,
}

impl<'a> Lists<'a> {
    fn of(syntax: &'a Syntax) -> Self {
        let mut found = Self::default();
        syntax.body().iter().for_each(|stmt| found.visit_stmt(stmt));
        found
    }

    fn add(&mut self, range: TextRange, items: Vec<TextRange>, free: Vec<usize>) -> usize {
        self.lists.push(ItemList { range, items, free });
        self.lists.len() - 1
    }

    fn add_elements(&mut self, range: TextRange, items: Vec<TextRange>) {
        let free = (0..items.len()).collect();
        self.add(range, items, free);
    }

    fn add_function(&mut self, function: &'a StmtFunctionDef) {
        let items = function.parameters.iter().map(|parameter| parameter.range()).collect();
        let list = self.add(function.parameters.range(), items, Vec::new());
        let is_static = function.decorator_list.iter().any(|decorator| {
            decorator.expression.as_name_expr().is_some_and(|name| name.id == "staticmethod")
        });
        let name = function.name.as_str();
        let class = self.class.filter(|_| matches!(name, "__init__" | "__new__"));
        let names = std::iter::once(name).chain(class).collect();
        let bound = usize::from(self.class.is_some() && !is_static);
        self.functions.push(FoundFunction { function, names, bound, list });
    }

    fn add_aliases(&mut self, stmt: &'a Stmt, aliases: &'a [Alias]) {
        let bound = |alias: &'a Alias| {
            let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            Some(name.split('.').next().unwrap_or(name))
        };
        let items = aliases.iter().map(Ranged::range).collect();
        let list = self.add(stmt.range(), items, Vec::new());
        self.bound_names.push(BoundNames { names: aliases.iter().map(bound).collect(), list });
    }

    fn add_targets(&mut self, assign: &'a StmtAssign) {
        let name = |target: &'a Expr| target.as_name_expr().map(|name| name.id.as_str());
        let items = assign.targets.iter().map(Ranged::range).collect();
        let list = self.add(assign.range(), items, Vec::new());
        self.bound_names
            .push(BoundNames { names: assign.targets.iter().map(name).collect(), list });
    }

    /// The gist without marked items.
    fn without<'m>(&self, gist: &Gist, marks: impl IntoIterator<Item = &'m Mark>) -> Gist {
        let mut gone: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (list, item) in marks {
            gone.entry(*list).or_default().insert(*item);
        }
        let edits = gone.iter().flat_map(|(list, items)| self.lists[*list].without(items));
        spliced(gist, edits.collect())
    }
}

impl<'a> Visitor<'a> for Lists<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let class = self.class;
        match stmt {
            Stmt::FunctionDef(function) => {
                self.add_function(function);
                self.class = None;
            }
            Stmt::ClassDef(inner) => self.class = Some(&inner.name),
            Stmt::Import(import) => self.add_aliases(stmt, &import.names),
            Stmt::ImportFrom(import) => self.add_aliases(stmt, &import.names),
            Stmt::Assign(assign) => self.add_targets(assign),
            _ => {}
        }
        walk_stmt(self, stmt);
        self.class = class;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let ranges = |elements: &[Expr]| elements.iter().map(Ranged::range).collect();
        match expr {
            Expr::List(list) => self.add_elements(list.range(), ranges(&list.elts)),
            Expr::Set(set) => self.add_elements(set.range(), ranges(&set.elts)),
            Expr::Dict(dict) => {
                let items = dict.items.iter().map(|item| match &item.key {
                    Some(key) => TextRange::new(key.start(), item.value.end()),
                    None => {
                        TextRange::new(item.value.start() - TextSize::from(2), item.value.end())
                    }
                });
                self.add_elements(dict.range(), items.collect());
            }
            Expr::Call(call) => {
                let items: Vec<_> = call.arguments.iter_source_order().collect();
                let is_named = |item: &ArgOrKeyword<'_>| matches!(item, ArgOrKeyword::Keyword(keyword) if keyword.arg.is_some());
                let free = (0..items.len()).filter(|at| is_named(&items[*at])).collect();
                let items = items.iter().map(Ranged::range).collect();
                let list = self.add(call.arguments.range(), items, free);
                let name = match &*call.func {
                    Expr::Name(name) => Some(name.id.as_str()),
                    Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
                    _ => None,
                };
                self.calls.extend(name.map(|name| FoundCall { call, name, list }));
            }
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
        let rows: String = (0..12).map(|at| format!("    {at},\n")).collect();
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
        assert_eq!(proposals[3].matches(",\n").count(), text.matches(",\n").count() - 6);
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
