//! Adds the code that another run may execute because a condition depends on random values.

use ruff_python_ast::{
    ExceptHandler, Expr, Stmt, StmtFunctionDef,
    name::Name,
    visitor::{Visitor, walk_expr},
};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::flow::{Flow, each_expression};
use crate::{
    module::{ModuleId, Modules},
    scope,
    slice::{prune::is_silent, ran::ModuleRun, scan::called},
    trace::FunctionTrace,
};

/// Lines and functions of each module.
#[derive(Debug, Default)]
struct Varied {
    /// First and last lines of what may run.
    lines: Vec<(ModuleId, u32, u32)>,
    /// First lines and names of functions that may be entered.
    functions: Vec<(ModuleId, u32, Name)>,
}

impl Varied {
    /// Takes it for executed in the tests; says whether any of it was not.
    fn run(&self, ran: &mut [ModuleRun]) -> bool {
        let mut grew = false;
        for &(home, first, last) in &self.lines {
            grew |= ran[home.0 as usize].run(first, last);
        }
        for (home, line, name) in &self.functions {
            grew |= ran[home.0 as usize].enter(*line, name);
        }
        grew
    }
}

/// Adds the code that may be executed beside `ran`, which a later run may have narrowed from the
/// `original`. Repeats until the added code decides nothing further.
pub(in crate::slice) fn vary(
    modules: &Modules,
    ran: &mut [ModuleRun],
    original: Option<&[ModuleRun]>,
) {
    while varied(modules, ran, original.unwrap_or(ran)).run(ran) {}
}

/// Returns the code that may be executed beside `ran`, which a later run may have narrowed from the
/// `original`.
fn varied(modules: &Modules, ran: &[ModuleRun], original: &[ModuleRun]) -> Varied {
    let Some(flow) = Flow::new(modules, ran) else { return Varied::default() };
    let mut finder = Finder {
        flow: &flow,
        modules,
        ran,
        original,
        idle: idle(modules, ran),
        handlers: handlers(&flow, modules, ran),
        added: FxHashSet::default(),
        found: Varied::default(),
    };
    for at in 0..flow.scopes.len() {
        finder.block(at, flow.scopes[at].body);
    }
    finder.found
}

/// A function that was not entered.
#[derive(Clone, Copy)]
struct Idle<'a> {
    home: ModuleId,
    function: &'a StmtFunctionDef,
}

/// Functions that were not entered, in modules that ran, by the names by which they are called.
fn idle<'a>(modules: &'a Modules, ran: &[ModuleRun]) -> FxHashMap<&'a Name, Vec<Idle<'a>>> {
    let mut found: FxHashMap<&Name, Vec<Idle<'_>>> = FxHashMap::default();
    for (home, module) in modules.iter() {
        let (source, ran) = (module.syntax.source(), &ran[home.0 as usize]);
        let is_idle = |function: &StmtFunctionDef| {
            let (first, def) = (source.line(function.start()), source.line(function.name.start()));
            ran.function(first).is_none() && ran.any(first, def)
        };
        scope::for_each_function(module.syntax.body(), &mut |_, function| {
            if is_idle(function) {
                found.entry(&function.name.id).or_default().push(Idle { home, function });
            }
        });
        scope::for_each_statement(module.syntax.body(), &mut |stmt| {
            let Stmt::ClassDef(class) = stmt else { return };
            for function in scope::methods(class, &["__init__"]) {
                if is_idle(function) {
                    found.entry(&class.name.id).or_default().push(Idle { home, function });
                }
            }
        });
    }
    found
}

/// The handlers of every `try` that ran, with their modules, by the names of the errors.
fn handlers<'a>(flow: &Flow<'a, '_>, modules: &Modules, ran: &[ModuleRun]) -> Handlers<'a> {
    let mut found = Handlers::default();
    for scope in &flow.scopes {
        let source = modules.get(scope.home).syntax.source();
        scope::for_each_statement(scope.body, &mut |stmt| {
            let Stmt::Try(attempt) = stmt else { return };
            if !ran[scope.home.0 as usize].range(source, stmt.range()) {
                return;
            }
            for ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                let errors = match handler.type_.as_deref() {
                    Some(Expr::Tuple(several)) => several.elts.as_slice(),
                    one => one.map_or(&[][..], std::slice::from_ref),
                };
                for error in errors.iter().filter_map(called) {
                    found.entry(error).or_default().push((scope.home, &handler.body));
                }
            }
        });
    }
    found
}

type Handlers<'a> = FxHashMap<&'a Name, Vec<(ModuleId, &'a [Stmt])>>;

struct Finder<'a, 'f> {
    flow: &'f Flow<'a, 'f>,
    modules: &'a Modules,
    ran: &'f [ModuleRun],
    original: &'f [ModuleRun],
    idle: FxHashMap<&'a Name, Vec<Idle<'a>>>,
    handlers: Handlers<'a>,
    added: FxHashSet<(ModuleId, TextRange)>,
    found: Varied,
}

impl<'a> Finder<'a, '_> {
    fn ran(&self, at: usize, range: TextRange) -> bool {
        let home = self.flow.scopes[at].home;
        self.ran[home.0 as usize].range(self.modules.get(home).syntax.source(), range)
    }

    fn any_ran(&self, at: usize, body: &[Stmt]) -> bool {
        let home = self.flow.scopes[at].home;
        let source = self.modules.get(home).syntax.source();
        body.iter().any(|stmt| self.ran[home.0 as usize].statement(source, stmt))
    }

    /// Searches a block; returns true if the code after it may be executed although it was not.
    fn block(&mut self, at: usize, body: &'a [Stmt]) -> bool {
        let mut goes_on = false;
        for (index, stmt) in body.iter().enumerate() {
            if self.ran(at, stmt.range()) {
                goes_on |= self.statement(at, stmt);
            } else if goes_on && !is_silent(stmt) {
                self.add(at, &body[index..]);
                break;
            }
        }
        goes_on
    }

    fn depends(&self, at: usize, expr: &Expr) -> bool {
        self.flow.is_reached(at, expr)
    }

    fn statement(&mut self, at: usize, stmt: &'a Stmt) -> bool {
        self.expressions(at, stmt);
        match stmt {
            Stmt::If(branch) => {
                let mut depends = self.depends(at, &branch.test);
                let mut goes_on = self.arm(at, depends, &branch.body);
                for clause in &branch.elif_else_clauses {
                    if let Some(test) = &clause.test {
                        if depends && !self.ran(at, test.range()) {
                            self.add_range(at, test.range());
                        }
                        depends |= self.depends(at, test);
                    }
                    goes_on |= self.arm(at, depends, &clause.body);
                }
                goes_on
            }
            Stmt::For(each) => {
                let depends = self.depends(at, &each.iter);
                let goes_on = self.arm(at, depends, &each.body);
                self.arm(at, goes_on, &each.orelse) || goes_on
            }
            Stmt::While(repeat) => {
                let depends = self.depends(at, &repeat.test);
                let goes_on = self.arm(at, depends, &repeat.body);
                self.arm(at, goes_on, &repeat.orelse) || goes_on
            }
            Stmt::Match(matching) => {
                let depends = self.depends(at, &matching.subject);
                let arms = matching.cases.iter().map(|case| self.arm(at, depends, &case.body));
                arms.fold(false, |goes_on, arm| goes_on | arm)
            }
            Stmt::With(with) => self.block(at, &with.body),
            Stmt::Try(attempt) => {
                let mut goes_on = self.block(at, &attempt.body);
                goes_on |= self.arm(at, goes_on, &attempt.orelse);
                let may_fail = self.flow.may_fail(at, &attempt.body);
                for ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                    goes_on |= self.arm(at, may_fail, &handler.body);
                }
                self.block(at, &attempt.finalbody) || goes_on
            }
            _ => false,
        }
    }

    /// Searches a conditional block; returns true if the code after it may be executed although it
    /// was not. The block jumped, and another run may not enter it.
    fn arm(&mut self, at: usize, depends: bool, body: &'a [Stmt]) -> bool {
        if self.any_ran(at, body) {
            self.block(at, body) || depends && jumps(body, &|stmt| self.ran(at, stmt.range()))
        } else {
            // A later run may have gone this way where the original went on.
            depends && self.add(at, body) && jumps(body, &|_| true)
        }
    }

    /// Adds what only conditions within the expressions of a statement call.
    fn expressions(&mut self, at: usize, stmt: &'a Stmt) {
        let mut arms = Vec::new();
        each_expression(stmt, &mut |expr| match expr {
            Expr::If(choice) => {
                arms.extend([&choice.body, &choice.orelse].map(|arm| (&*choice.test, &**arm)));
            }
            Expr::BoolOp(choice) => {
                for (index, value) in choice.values.iter().enumerate() {
                    arms.extend(choice.values[..index].iter().map(|test| (test, value)));
                }
            }
            _ => {}
        });
        let home = self.flow.scopes[at].home;
        for (test, arm) in arms {
            if self.depends(at, test) {
                let mut names = Called::default();
                names.visit_expr(arm);
                self.enter(home, names);
            }
        }
    }

    /// Adds a block and returns true. Skips a block that only raises an exception without a
    /// handler: then the test fails, which it does in no run, or in few.
    fn add(&mut self, at: usize, body: &'a [Stmt]) -> bool {
        let handlers = match error(body) {
            Some(error) if !self.handlers.contains_key(error) => return false,
            Some(error) => self.handlers[error].clone(),
            None => Vec::new(),
        };
        self.add_statements(self.flow.scopes[at].home, body);
        for (home, handler) in handlers {
            self.add_statements(home, handler);
        }
        true
    }

    fn add_statements(&mut self, home: ModuleId, body: &'a [Stmt]) {
        let source = self.modules.get(home).syntax.source();
        let mut names = Called::default();
        for stmt in body {
            if self.added.insert((home, stmt.range())) {
                let (first, last) = source.line_span(stmt.range());
                self.found.lines.push((home, first, last));
                names.visit_stmt(stmt);
            }
        }
        self.enter(home, names);
    }

    fn add_range(&mut self, at: usize, range: TextRange) {
        let home = self.flow.scopes[at].home;
        let (first, last) = self.modules.get(home).syntax.source().line_span(range);
        self.found.lines.push((home, first, last));
    }

    /// Adds the functions of some names: all that the original run entered. A function that was
    /// never entered is added only if its name is unique, or unique in the calling module.
    fn enter(&mut self, home: ModuleId, names: Called<'a>) {
        for name in names.0 {
            let Some(idle) = self.idle.get(name).cloned() else { continue };
            let (entered, never): (Vec<_>, Vec<_>) =
                idle.into_iter().partition(|one| self.line(*one).1.is_some());
            if !entered.is_empty() {
                entered.into_iter().for_each(|one| self.enter_again(one));
                continue;
            }
            let mut near = never.iter().filter(|one| one.home == home);
            let one = match (never.as_slice(), near.next(), near.next()) {
                ([one], ..) | (_, Some(one), None) => *one,
                _ => continue,
            };
            let line = self.line(one).0;
            self.found.functions.push((one.home, line, one.function.name.id.clone()));
            self.add_statements(one.home, &one.function.body);
        }
    }

    /// Returns the first line of a function, and its record in the original run.
    fn line(&self, one: Idle<'a>) -> (u32, Option<&FunctionTrace>) {
        let line = self.modules.get(one.home).syntax.source().line(one.function.start());
        (line, self.original[one.home.0 as usize].function(line))
    }

    /// Adds what the original run executed of a function.
    fn enter_again(&mut self, one: Idle<'a>) {
        if !self.added.insert((one.home, one.function.range())) {
            return;
        }
        let line = self.line(one).0;
        self.found.functions.push((one.home, line, one.function.name.id.clone()));
        let source = self.modules.get(one.home).syntax.source();
        let original = &self.original[one.home.0 as usize];
        let (first, last) = source.line_span(one.function.range());
        let lines = (first..=last).filter(|&line| original.any(line, line));
        self.found.lines.extend(lines.map(|line| (one.home, line, line)));
        let mut names = Called::default();
        scope::for_each_statement(&one.function.body, &mut |stmt| {
            if original.statement(source, stmt) {
                each_expression(stmt, &mut |expr| names.add(expr));
            }
        });
        self.enter(one.home, names);
    }
}

/// Returns true if a block contains a jump statement for which `counts` is true.
fn jumps(body: &[Stmt], counts: &impl Fn(&Stmt) -> bool) -> bool {
    let mut found = false;
    scope::for_each_statement(body, &mut |stmt| {
        let jumps =
            matches!(stmt, Stmt::Return(_) | Stmt::Raise(_) | Stmt::Continue(_) | Stmt::Break(_));
        found = found || jumps && counts(stmt);
    });
    found
}

/// The error that is all to which a block comes.
fn error(body: &[Stmt]) -> Option<&Name> {
    let (Stmt::Raise(raise), before) = body.split_last()? else { return None };
    let mut is_plain = true;
    scope::for_each_statement(before, &mut |stmt| {
        is_plain &= !matches!(stmt, Stmt::Return(_) | Stmt::Continue(_) | Stmt::Break(_));
    });
    match raise.exc.as_deref().filter(|_| is_plain)? {
        Expr::Call(call) => called(&call.func),
        other => called(other),
    }
}

/// The names of what is called.
#[derive(Default)]
struct Called<'v>(Vec<&'v Name>);

impl<'v> Visitor<'v> for Called<'v> {
    fn visit_expr(&mut self, expr: &'v Expr) {
        self.add(expr);
        walk_expr(self, expr);
    }
}

impl<'v> Called<'v> {
    fn add(&mut self, expr: &'v Expr) {
        if let Expr::Call(call) = expr {
            self.0.extend(called(&call.func));
        }
    }
}
