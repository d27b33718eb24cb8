//! Decides whether evaluating an expression can have an effect.
//!
//! The analysis covers syntax, the builtins, and the executed bodies of the repository's functions.
//! An expression that it cannot decide is impure.

use std::{cell::RefCell, rc::Rc};

use ruff_python_ast::{
    Arguments, Expr, ExprCall, Stmt, StmtFunctionDef,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::Ranged;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    changes::OfObject,
    outside::{Acts, FunctionKey},
    prune::own_yields,
    ran::ModuleRun,
    setters::Classes,
};
use crate::{
    module::{ModuleId, Modules},
    resolve::{Resolver, Target},
    scope,
};

/// Builtins that change nothing, given arguments whose own methods do not.
const PURE_BUILTINS: &[&str] = &[
    "abs",
    "all",
    "any",
    "ascii",
    "bin",
    "bool",
    "bytes",
    "callable",
    "chr",
    "complex",
    "dict",
    "dir",
    "divmod",
    "enumerate",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "globals",
    "hasattr",
    "hash",
    "hex",
    "id",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "locals",
    "map",
    "max",
    "min",
    "object",
    "oct",
    "ord",
    "pow",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "slice",
    "sorted",
    "str",
    "sum",
    "super",
    "tuple",
    "type",
    "vars",
    "zip",
];

/// The methods of the standard library through which threads, processes and sockets wait for each
/// other. An unrelated method of the same name only keeps a condition. `get` and `join` are
/// omitted: mostly they are methods of dictionaries and strings.
const WAITING: &[&str] = &[
    "accept",
    "acquire",
    "communicate",
    "connect",
    "notify",
    "notify_all",
    "poll",
    "recv",
    "recv_into",
    "recvfrom",
    "release",
    "select",
    "sleep",
    "wait",
    "wait_for",
];

/// Returns true if an expression waits for another thread, process or socket, or wakes one.
pub(crate) fn waits(expr: &Expr) -> bool {
    struct Finder(bool);
    impl<'v> Visitor<'v> for Finder {
        fn visit_expr(&mut self, expr: &'v Expr) {
            if let Expr::Call(call) = expr {
                let name = match call.func.as_ref() {
                    Expr::Attribute(attribute) => attribute.attr.as_str(),
                    Expr::Name(name) => name.id.as_str(),
                    _ => "",
                };
                self.0 |= WAITING.contains(&name);
            }
            walk_expr(self, expr);
        }
    }
    let mut finder = Finder(false);
    finder.visit_expr(expr);
    finder.0
}

/// Methods of Python's builtin types that leave their receiver as it is.
const PURE_METHODS: &[&str] = &[
    "as_integer_ratio",
    "bit_count",
    "bit_length",
    "capitalize",
    "casefold",
    "center",
    "conjugate",
    "copy",
    "count",
    "decode",
    "difference",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "fromhex",
    "fromkeys",
    "get",
    "hex",
    "index",
    "intersection",
    "is_integer",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isdisjoint",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "issubset",
    "issuperset",
    "istitle",
    "isupper",
    "items",
    "join",
    "keys",
    "ljust",
    "lower",
    "lstrip",
    "maketrans",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "symmetric_difference",
    "title",
    "tobytes",
    "tolist",
    "translate",
    "union",
    "upper",
    "values",
    "zfill",
];

pub(super) fn is_pure_builtin(name: &str) -> bool {
    PURE_BUILTINS.binary_search(&name).is_ok()
}

pub(super) fn is_pure_method(name: &str) -> bool {
    PURE_METHODS.binary_search(&name).is_ok()
}

/// Depth of calls that are followed before a judgement is refused.
pub(super) const DEPTH: u32 = 12;

pub(crate) struct Purity<'a, 'r> {
    pub(super) resolver: &'r Resolver<'a>,
    pub(super) ran: &'r [ModuleRun],
    /// Functions that were entered, by name.
    pub(super) entered: FxHashMap<&'a str, Vec<(ModuleId, &'a StmtFunctionDef)>>,
    /// True if one of these functions is a generator.
    pub(super) generates: bool,
    /// Methods that may run where the attribute is read.
    read: FxHashSet<*const StmtFunctionDef>,
    /// Names of functions of which a class makes a property, by the name that it gives that; `None` for what has no name.
    made: FxHashMap<&'a str, Vec<Option<&'a str>>>,
    /// True, by the name of a method, if it changes its receiver.
    pub(super) changing: RefCell<FxHashMap<Name, bool>>,
    /// The changes to the receiver, by the name of a method.
    pub(super) changed: RefCell<FxHashMap<Name, Rc<OfObject>>>,
    judged: RefCell<FxHashMap<*const StmtFunctionDef, bool>>,
    /// Classes that calls give attributes to, by what is called.
    pub(super) set: RefCell<FxHashMap<(ModuleId, Name), Rc<Classes>>>,
    /// Effects of functions that leave the program.
    pub(super) acts: RefCell<FxHashMap<FunctionKey, Rc<Acts<'a>>>>,
}

impl<'a, 'r> Purity<'a, 'r> {
    pub(crate) fn new(resolver: &'r Resolver<'a>, ran: &'r [ModuleRun]) -> Self {
        let mut entered: FxHashMap<&'a str, Vec<_>> = FxHashMap::default();
        let modules: &'a Modules = resolver.modules();
        for (id, module) in modules.iter() {
            scope::for_each_function(module.syntax.body(), &mut |stmt, function| {
                let line = module.syntax.source().line(stmt.start());
                if ran[id.0 as usize].function(line).is_some() {
                    entered.entry(function.name.as_str()).or_default().push((id, function));
                }
            });
        }
        let mut functions = entered.values().flatten().map(|(_, function)| function);
        let generates =
            functions.any(|one| one.decorator_list.is_empty() && !own_yields(&one.body).is_empty());
        let mut properties = Properties::default();
        modules.iter().for_each(|(_, module)| properties.visit_body(module.syntax.body()));
        let Properties { read, made, .. } = properties;
        let (changing, changed, judged, set, acts) = Default::default();
        Self { resolver, ran, entered, generates, read, made, changing, changed, judged, set, acts }
    }

    /// Returns true if evaluating an expression of a module has no effect.
    pub(crate) fn is_pure(&self, module: ModuleId, expr: &Expr) -> bool {
        self.pure(module, expr, 0)
    }

    fn pure(&self, module: ModuleId, expr: &Expr, depth: u32) -> bool {
        let mut judge = Judge { purity: self, module, depth, pure: true };
        judge.visit_expr(expr);
        judge.pure
    }

    fn pure_call(&self, module: ModuleId, call: &ExprCall, depth: u32) -> bool {
        match call.func.as_ref() {
            Expr::Name(name) => match self.resolver.resolve(module, &name.id) {
                Some(Target::Own(home, own)) => self.pure_definition(home, &own, depth),
                Some(Target::Builtin(name)) => PURE_BUILTINS.binary_search(&name.as_str()).is_ok(),
                Some(Target::Module(_) | Target::External(..)) => false,
                // A local name, or a builtin that nothing shadows.
                None => PURE_BUILTINS.binary_search(&name.id.as_str()).is_ok(),
            },
            Expr::Attribute(attribute) => {
                let name = attribute.attr.as_str();
                match self.entered.get(name) {
                    Some(candidates) => candidates
                        .iter()
                        .all(|(home, function)| self.pure_function(*home, function, depth + 1)),
                    None => PURE_METHODS.binary_search(&name).is_ok(),
                }
            }
            _ => false,
        }
    }

    /// Returns true if reading an attribute has no effect. Reading executes a method if a decorator
    /// or a class-level call makes a property of it.
    fn pure_attribute(&self, name: &Name, depth: u32) -> bool {
        let entered = |name: &str| self.entered.get(name).into_iter().flatten();
        let is_read =
            |function: &StmtFunctionDef| self.read.contains(&std::ptr::from_ref(function));
        let made = self.made.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        let of_names = made.iter().flatten().copied().flat_map(entered);
        let mut read = entered(name).filter(|(_, one)| is_read(one)).chain(of_names);
        made.iter().all(Option::is_some)
            && read.all(|(home, function)| self.pure_function(*home, function, depth + 1))
    }

    fn pure_definition(&self, home: ModuleId, name: &Name, depth: u32) -> bool {
        let body = self.resolver.modules().get(home).syntax.body();
        body.iter().any(|stmt| match stmt {
            Stmt::FunctionDef(function) if &function.name.id == name => {
                function.decorator_list.is_empty() && self.pure_function(home, function, depth + 1)
            }
            _ => false,
        })
    }

    /// Returns true if the executed part of a function changes only its own locals.
    fn pure_function(&self, home: ModuleId, function: &StmtFunctionDef, depth: u32) -> bool {
        let key = std::ptr::from_ref(function);
        if let Some(&known) = self.judged.borrow().get(&key) {
            return known;
        }
        if depth > DEPTH {
            return false;
        }
        // A cycle is pure unless something on it is not.
        self.judged.borrow_mut().insert(key, true);
        let source = self.resolver.modules().get(home).syntax.source();
        let ran = &self.ran[home.0 as usize];
        let mut pure = true;
        scope::for_each_statement(&function.body, &mut |stmt| {
            if !pure || !ran.statement(source, stmt) {
                return;
            }
            pure = match stmt {
                Stmt::Assign(assign) => {
                    assign.targets.iter().all(is_local_target)
                        && self.pure(home, &assign.value, depth)
                }
                Stmt::AnnAssign(assign) => {
                    is_local_target(&assign.target)
                        && assign.value.as_ref().is_none_or(|value| self.pure(home, value, depth))
                }
                Stmt::AugAssign(assign) => {
                    is_local_target(&assign.target) && self.pure(home, &assign.value, depth)
                }
                Stmt::Return(value) => {
                    value.value.as_ref().is_none_or(|value| self.pure(home, value, depth))
                }
                Stmt::Expr(expr) => self.pure(home, &expr.value, depth),
                Stmt::If(branch) => {
                    self.pure(home, &branch.test, depth)
                        && branch.elif_else_clauses.iter().all(|clause| {
                            clause.test.as_ref().is_none_or(|test| self.pure(home, test, depth))
                        })
                }
                Stmt::For(each) => {
                    !each.is_async
                        && is_local_target(&each.target)
                        && self.pure(home, &each.iter, depth)
                }
                Stmt::While(repeat) => self.pure(home, &repeat.test, depth),
                Stmt::Try(_)
                | Stmt::Pass(_)
                | Stmt::Break(_)
                | Stmt::Continue(_)
                | Stmt::FunctionDef(_) => true,
                _ => false,
            };
        });
        self.judged.borrow_mut().insert(key, pure);
        pure
    }
}

struct Judge<'j, 'a, 'r> {
    purity: &'j Purity<'a, 'r>,
    module: ModuleId,
    depth: u32,
    pure: bool,
}

impl<'v> Visitor<'v> for Judge<'_, '_, '_> {
    fn visit_expr(&mut self, expr: &'v Expr) {
        if !self.pure {
            return;
        }
        match expr {
            Expr::Await(_) | Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Named(_) => {
                self.pure = false
            }
            Expr::Lambda(_) => {}
            Expr::Call(call) => {
                self.pure = self.purity.pure_call(self.module, call, self.depth);
                if self.pure {
                    walk_expr(self, expr);
                }
            }
            Expr::Attribute(node) => {
                self.pure = self.purity.pure_attribute(&node.attr.id, self.depth);
                if self.pure {
                    walk_expr(self, expr);
                }
            }
            _ => walk_expr(self, expr),
        }
    }
}

/// The methods that classes declare to be executed when an attribute is read.
#[derive(Default)]
struct Properties<'a> {
    read: FxHashSet<*const StmtFunctionDef>,
    made: FxHashMap<&'a str, Vec<Option<&'a str>>>,
    in_class: bool,
}

impl<'a> Properties<'a> {
    fn within(&mut self, stmt: &'a Stmt, in_class: bool) {
        let around = std::mem::replace(&mut self.in_class, in_class);
        walk_stmt(self, stmt);
        self.in_class = around;
    }

    /// `name = property(function)`.
    fn is_made(&mut self, target: &'a Expr, value: &'a Expr) {
        let Some(call) = value.as_call_expr().filter(|call| is_property(&call.func)) else {
            return;
        };
        let Some(target) = target.as_name_expr() else { return };
        let Arguments { args, keywords, .. } = &call.arguments;
        let parts = args.iter().chain(keywords.iter().map(|one| &one.value));
        let parts = parts.map(|part| part.as_name_expr().map(|name| name.id.as_str()));
        self.made.entry(&target.id).or_default().extend(parts);
    }
}

impl<'a> Visitor<'a> for Properties<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::ClassDef(_) => return self.within(stmt, true),
            Stmt::FunctionDef(function) => {
                let is_read = function.decorator_list.iter().any(|one| may_run(&one.expression));
                if self.in_class && is_read {
                    self.read.insert(std::ptr::from_ref(function));
                }
                return self.within(stmt, false);
            }
            Stmt::Assign(node) if self.in_class => {
                node.targets.iter().for_each(|target| self.is_made(target, &node.value));
            }
            Stmt::AnnAssign(node) if self.in_class => {
                node.value.iter().for_each(|value| self.is_made(&node.target, value));
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }
}

/// Returns true if a decorator may execute its method when the attribute is read.
fn may_run(decorator: &Expr) -> bool {
    const OTHERS: [&str; 6] =
        ["abstractmethod", "classmethod", "deleter", "overload", "setter", "staticmethod"];
    !OTHERS.contains(&last_name(decorator))
}

fn is_property(made_by: &Expr) -> bool {
    last_name(made_by).ends_with("property")
}

fn last_name(expr: &Expr) -> &str {
    match expr {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(node) => node.attr.as_str(),
        _ => "",
    }
}

fn is_local_target(target: &Expr) -> bool {
    match target {
        Expr::Name(_) => true,
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_local_target),
        Expr::List(list) => list.elts.iter().all(is_local_target),
        Expr::Starred(starred) => is_local_target(&starred.value),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_for_the_search() {
        assert!(PURE_BUILTINS.is_sorted() && PURE_METHODS.is_sorted());
    }
}
