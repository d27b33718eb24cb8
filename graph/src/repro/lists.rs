//! Finds the lists of a file whose items may go: parameters, arguments, elements of displays, names that a statement binds.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use ruff_python_ast::{
    Alias, ArgOrKeyword, Expr, ExprCall, ExprTuple, Stmt, StmtAssign, StmtFunctionDef,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::splice::{Edit, spliced};
use crate::{slice::Gist, syntax::Syntax};

/// An item of a list, both by number.
pub(super) type ItemMark = (usize, usize);

/// Ranges of so many things: all of them, both halves, and so on down to single ones.
pub(super) fn halves(count: usize) -> impl Iterator<Item = Range<usize>> {
    let sizes = std::iter::successors(Some(count), |size| (*size > 1).then(|| size.div_ceil(2)));
    sizes.filter(|size| *size > 0).flat_map(move |size| {
        (0..count).step_by(size).map(move |from| from..(from + size).min(count))
    })
}

/// A list: parameters, arguments, elements, or names that a statement binds.
pub(super) struct ItemList<'a> {
    /// The list with its brackets, where it has them.
    pub(super) range: TextRange,
    pub(super) items: Vec<TextRange>,
    /// The names of the items: of a parameter, a keyword, an element that is a variable or a text; `None` for another one.
    pub(super) names: Vec<Option<&'a str>>,
    /// The items that may go by themselves.
    pub(super) free: Vec<usize>,
    /// True if brackets are around it, so that all items may go.
    is_bracketed: bool,
}

impl ItemList<'_> {
    /// Returns true if so many of its items can go: without brackets one has to stay.
    pub(super) fn may_lose(&self, count: usize) -> bool {
        self.is_bracketed || count < self.items.len()
    }

    /// Returns edits that take items out. What lies between two items goes with the first of them.
    fn without(&self, gone: &BTreeSet<usize>) -> Vec<Edit> {
        let Some(last_kept) = (0..self.items.len()).rev().find(|at| !gone.contains(at)) else {
            if !self.is_bracketed {
                return Vec::new();
            }
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
pub(super) struct FoundFunction<'a> {
    function: &'a StmtFunctionDef,
    /// The names by which it is called.
    names: Vec<&'a str>,
    /// Parameters that a call does not give: `self`.
    bound: usize,
    pub(super) list: usize,
}

/// A call, with the list of its arguments.
pub(super) struct FoundCall<'a> {
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
    pub(super) fn unread_parameters(&self, calls: &[FoundCall<'_>]) -> Vec<Vec<ItemMark>> {
        let mut mentioned = MentionedNames::default();
        self.function.body.iter().for_each(|stmt| mentioned.visit_stmt(stmt));
        let mut unread = Vec::new();
        for (at, parameter) in self.function.parameters.iter().enumerate() {
            let name = parameter.name().as_str();
            if parameter.is_variadic() || at < self.bound || mentioned.0.contains(name) {
                continue;
            }
            let mut marks = vec![(self.list, at)];
            marks.extend(self.arguments_for(at, calls));
            unread.push(marks);
        }
        unread
    }

    /// Returns the arguments for a parameter, by its number, in calls of functions of this name.
    pub(super) fn arguments_for(&self, at: usize, calls: &[FoundCall<'_>]) -> Vec<ItemMark> {
        let Some(parameter) = self.function.parameters.iter().nth(at) else { return Vec::new() };
        let name = parameter.name().as_str();
        let mut keyword_only = self.function.parameters.kwonlyargs.iter();
        let is_keyword = keyword_only.any(|one| one.name().as_str() == name);
        let position = if is_keyword { None } else { at.checked_sub(self.bound) };
        let own = calls.iter().filter(|call| self.names.contains(&call.name));
        own.filter_map(|call| Some((call.list, call.argument_for(name, position)?))).collect()
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

/// The lists of a file.
#[derive(Default)]
pub(super) struct Lists<'a> {
    pub(super) lists: Vec<ItemList<'a>>,
    /// The lists of names that an import or an assignment binds.
    pub(super) bindings: Vec<usize>,
    pub(super) functions: Vec<FoundFunction<'a>>,
    pub(super) calls: Vec<FoundCall<'a>>,
    /// The class whose body is visited; none in a function.
    class: Option<&'a str>,
}

impl<'a> Lists<'a> {
    pub(super) fn of(syntax: &'a Syntax) -> Self {
        let mut found = Self::default();
        syntax.body().iter().for_each(|stmt| found.visit_stmt(stmt));
        found
    }

    fn add(
        &mut self,
        range: TextRange,
        items: Vec<(TextRange, Option<&'a str>)>,
    ) -> &mut ItemList<'a> {
        let (items, names) = items.into_iter().unzip();
        let list = ItemList { range, items, names, free: Vec::new(), is_bracketed: true };
        self.lists.push(list);
        self.lists.last_mut().unwrap_or_else(|| unreachable!("one was added"))
    }

    fn add_elements(&mut self, range: TextRange, elements: &'a [Expr]) {
        let items = elements.iter().map(|one| (one.range(), name_of(one))).collect();
        self.add(range, items).free = (0..elements.len()).collect();
    }

    fn add_tuple(&mut self, tuple: &'a ExprTuple) {
        let items = tuple.elts.iter().map(|one| (one.range(), name_of(one))).collect();
        self.add(tuple.range(), items).is_bracketed = tuple.parenthesized;
    }

    fn add_function(&mut self, function: &'a StmtFunctionDef) {
        let parameters = function.parameters.iter();
        let items = parameters.map(|one| (one.range(), Some(one.name().as_str()))).collect();
        self.add(function.parameters.range(), items);
        let list = self.lists.len() - 1;
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
            (alias.range(), Some(name.split('.').next().unwrap_or(name)))
        };
        self.add_bindings(stmt.range(), aliases.iter().map(bound).collect());
    }

    fn add_targets(&mut self, assign: &'a StmtAssign) {
        let name = |target: &'a Expr| target.as_name_expr().map(|name| name.id.as_str());
        let targets = assign.targets.iter().map(|target| (target.range(), name(target)));
        self.add_bindings(assign.range(), targets.collect());
    }

    fn add_bindings(&mut self, range: TextRange, items: Vec<(TextRange, Option<&'a str>)>) {
        self.bindings.push(self.lists.len());
        self.add(range, items).is_bracketed = false;
    }

    /// The gist without marked items.
    pub(super) fn without<'m>(
        &self,
        gist: &Gist,
        marks: impl IntoIterator<Item = &'m ItemMark>,
    ) -> Gist {
        spliced(gist, self.edits(marks))
    }

    /// Returns the edits that take marked items out.
    pub(super) fn edits<'m>(&self, marks: impl IntoIterator<Item = &'m ItemMark>) -> Vec<Edit> {
        let mut gone: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (list, item) in marks {
            gone.entry(*list).or_default().insert(*item);
        }
        gone.iter().flat_map(|(list, items)| self.lists[*list].without(items)).collect()
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
        match expr {
            Expr::List(list) => self.add_elements(list.range(), &list.elts),
            Expr::Set(set) => self.add_elements(set.range(), &set.elts),
            Expr::Tuple(tuple) => self.add_tuple(tuple),
            Expr::Dict(dict) => {
                let items = dict.items.iter().map(|item| match &item.key {
                    Some(key) => (TextRange::new(key.start(), item.value.end()), name_of(key)),
                    None => {
                        let start = item.value.start() - TextSize::from(2);
                        (TextRange::new(start, item.value.end()), None)
                    }
                });
                self.add(dict.range(), items.collect()).free = (0..dict.items.len()).collect();
            }
            Expr::Call(call) => {
                let items: Vec<_> = call.arguments.iter_source_order().collect();
                let keyword = |item: &ArgOrKeyword<'a>| match item {
                    ArgOrKeyword::Keyword(keyword) => {
                        keyword.arg.as_ref().map(|name| name.as_str())
                    }
                    ArgOrKeyword::Arg(_) => None,
                };
                let free = (0..items.len()).filter(|at| keyword(&items[*at]).is_some()).collect();
                let items = items.iter().map(|item| (item.range(), keyword(item))).collect();
                self.add(call.arguments.range(), items).free = free;
                let list = self.lists.len() - 1;
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

/// Returns the name of a variable, or a text.
fn name_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(&name.id),
        Expr::StringLiteral(text) => Some(text.value.to_str()),
        _ => None,
    }
}
