//! Whether evaluating an expression can change anything, and which globals a call changes.
//!
//! Decided by analysis: syntax, the language's own builtins, and the executed bodies of the
//! repository's functions. An expression that cannot be judged is impure.

use std::cell::RefCell;

use ruff_python_ast::{
    Expr, ExprCall, Stmt, StmtFunctionDef,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::Ranged;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{inner::executed, ran::Ran};
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

/// What threads, processes and sockets call to wait for each other, by the standard library's names; another's
/// method of that name only keeps a condition. `get` and `join` are left out: mostly they are a dictionary's
/// and a text's.
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

/// Whether an expression waits for another thread, process or socket, or lets one go on.
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

/// Depth of calls that are followed before a judgement is refused.
const DEPTH: u32 = 12;

/// How a function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallKind {
    /// Before the first test: what ran in tests alone is no part of it.
    pub(crate) early: bool,
    /// How often what it returns is called in turn, at once: once for a decorator that is given arguments.
    pub(crate) again: u32,
}

impl CallKind {
    /// That what is returned is called in turn no one knows how often.
    pub(crate) const OFTEN: u32 = u32::MAX;
    /// At any time, and whatever becomes of what it returns.
    pub(crate) const ANY: CallKind = CallKind { early: false, again: CallKind::OFTEN };
}

pub(crate) struct Purity<'a, 'r> {
    resolver: &'r Resolver<'a>,
    ran: &'r [Ran],
    /// Functions that were entered, by name.
    entered: FxHashMap<&'a str, Vec<(ModuleId, &'a StmtFunctionDef)>>,
    judged: RefCell<FxHashMap<*const StmtFunctionDef, bool>>,
}

impl<'a, 'r> Purity<'a, 'r> {
    pub(crate) fn new(resolver: &'r Resolver<'a>, ran: &'r [Ran]) -> Self {
        let mut entered: FxHashMap<&'a str, Vec<_>> = FxHashMap::default();
        let modules: &'a Modules = resolver.modules();
        for (id, module) in modules.iter() {
            each_function(module.syntax.body(), &mut |stmt, function| {
                let line = module.syntax.source().line(stmt.start());
                if ran[id.0 as usize].function(line).is_some() {
                    entered.entry(function.name.as_str()).or_default().push((id, function));
                }
            });
        }
        Self { resolver, ran, entered, judged: RefCell::default() }
    }

    /// Whether evaluating an expression of a module changes nothing.
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

    fn pure_definition(&self, home: ModuleId, name: &Name, depth: u32) -> bool {
        let body = self.resolver.modules().get(home).syntax.body();
        body.iter().any(|stmt| match stmt {
            Stmt::FunctionDef(function) if &function.name.id == name => {
                function.decorator_list.is_empty() && self.pure_function(home, function, depth + 1)
            }
            _ => false,
        })
    }

    /// Whether the executed part of a function changes nothing but its own locals.
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

    /// Globals that a call may change, by their home; `None` where it cannot be told.
    pub(crate) fn changes(
        &self,
        (home, name): (ModuleId, &Name),
        call: CallKind,
    ) -> Option<FxHashSet<(ModuleId, Name)>> {
        let mut found = FxHashSet::default();
        let mut seen = FxHashSet::default();
        self.changes_of((home, name), call, &mut found, &mut seen, 0).then_some(found)
    }

    fn changes_of(
        &self,
        (home, name): (ModuleId, &Name),
        call: CallKind,
        found: &mut FxHashSet<(ModuleId, Name)>,
        seen: &mut FxHashSet<(ModuleId, Name, CallKind)>,
        depth: u32,
    ) -> bool {
        if !seen.insert((home, name.clone(), call)) {
            return true;
        }
        if depth > DEPTH {
            return false;
        }
        let module = self.resolver.modules().get(home);
        let ran = &self.ran[home.0 as usize];
        let definition = module.syntax.body().iter().find_map(|stmt| match stmt {
            Stmt::FunctionDef(function) if &function.name.id == name => Some(function),
            _ => None,
        });
        let Some(function) = definition else { return false };
        let mut effects = Effects {
            purity: self,
            home,
            found: FxHashSet::default(),
            calls: Vec::new(),
            local: scope::bound(&function.body),
        };
        effects
            .local
            .local
            .extend(function.parameters.iter().map(|parameter| parameter.name().id.clone()));
        let source = module.syntax.source();
        let ran = |stmt: &Stmt, early: bool| match early {
            true => ran.statement_early(source, stmt),
            false => ran.statement(source, stmt),
        };
        // Decorators of its own are called with it, and may do anything with what it returns.
        let decorated = !function.decorator_list.is_empty();
        let kind = if decorated { CallKind { again: CallKind::OFTEN, ..call } } else { call };
        executed(&function.body, kind, &ran, &mut |stmt| effects.statement(stmt));
        found.extend(effects.found);
        let calls = effects.calls;
        // What becomes of their results is not followed.
        let inner = CallKind { again: CallKind::OFTEN, ..call };
        calls.into_iter().all(|(home, name)| {
            // A class or a value that is called: only functions can be followed.
            self.changes_of((home, &name), inner, found, seen, depth + 1) || depth > 0
        })
    }
}

/// Collects the globals that executed statements store into.
struct Effects<'e, 'a, 'r> {
    purity: &'e Purity<'a, 'r>,
    home: ModuleId,
    found: FxHashSet<(ModuleId, Name)>,
    calls: Vec<(ModuleId, Name)>,
    local: scope::Bound,
}

impl Effects<'_, '_, '_> {
    fn statement(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.store(target)),
            Stmt::AugAssign(assign) => self.store(&assign.target),
            Stmt::AnnAssign(assign) => self.store(&assign.target),
            Stmt::Delete(delete) => delete.targets.iter().for_each(|target| self.store(target)),
            Stmt::Expr(expr) => {
                if let Expr::Call(call) = expr.value.as_ref() {
                    if let Expr::Attribute(method) = call.func.as_ref() {
                        self.base(&method.value);
                    }
                    // Called for its effect, which may be on what it is given: `setattr(x, ...)`.
                    call.arguments.args.iter().for_each(|argument| self.base(argument));
                }
            }
            Stmt::Global(global) => {
                self.found.extend(global.names.iter().map(|name| (self.home, name.id.clone())));
            }
            _ => {}
        }
        let mut calls = Calls { found: Vec::new() };
        if !matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            walk_stmt(&mut calls, stmt);
        }
        for name in calls.found {
            if !self.local.local.contains(&name)
                && let Some(Target::Own(home, name)) =
                    self.purity.resolver.resolve(self.home, &name)
            {
                self.calls.push((home, name));
            }
        }
    }

    fn store(&mut self, target: &Expr) {
        match target {
            Expr::Attribute(attribute) => self.base(&attribute.value),
            Expr::Subscript(subscript) => self.base(&subscript.value),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.store(element)),
            _ => {}
        }
    }

    fn base(&mut self, mut expr: &Expr) {
        loop {
            match expr {
                Expr::Attribute(attribute) => expr = &attribute.value,
                Expr::Subscript(subscript) => expr = &subscript.value,
                Expr::Call(call) => expr = &call.func,
                Expr::Name(name) => {
                    if !self.local.local.contains(&name.id)
                        && let Some(home) = self.purity.resolver.home(self.home, &name.id)
                    {
                        self.found.insert(home);
                    }
                    return;
                }
                _ => return,
            }
        }
    }
}

struct Calls {
    found: Vec<Name>,
}

impl<'v> Visitor<'v> for Calls {
    fn visit_stmt(&mut self, _: &'v Stmt) {}
    fn visit_expr(&mut self, expr: &'v Expr) {
        if let Expr::Call(call) = expr
            && let Expr::Name(name) = call.func.as_ref()
        {
            self.found.push(name.id.clone());
        }
        walk_expr(self, expr);
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
            _ => walk_expr(self, expr),
        }
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

fn each_function<'a>(body: &'a [Stmt], visit: &mut impl FnMut(&'a Stmt, &'a StmtFunctionDef)) {
    scope::for_each_statement(body, &mut |stmt| match stmt {
        Stmt::FunctionDef(function) => {
            visit(stmt, function);
            each_function(&function.body, visit);
        }
        Stmt::ClassDef(class) => each_function(&class.body, visit),
        _ => {}
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_for_the_search() {
        assert!(PURE_BUILTINS.is_sorted() && PURE_METHODS.is_sorted());
    }
}
