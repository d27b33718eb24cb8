//! Indexes the executed lines and functions of one module, from a trace.

use ruff_python_ast::{
    Expr, Stmt, StmtFunctionDef,
    name::Name,
    visitor::{self, Visitor},
};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    ExecutedFile,
    special_methods::{GETATTR, decides},
};
use crate::{
    scope,
    source::Source,
    syntax::Syntax,
    trace::{self, FileTrace, FunctionTrace, ModuleLine, TracePhase},
};

/// Executed lines, entered functions and the clock of one module.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModuleRun {
    lines: Vec<bool>,
    /// Lines that ran before the first test, where the module itself did.
    early: Option<Vec<bool>>,
    /// The lines of the original run, where a later one narrowed them; with what that one [taught](Ran::learn_answers).
    original: Option<Vec<bool>>,
    functions: FxHashMap<u32, FunctionTrace>,
    raised: FxHashSet<u32>,
    /// Lines that an exception passed which ended the command.
    ended: FxHashSet<u32>,
    clock: Vec<ModuleLine>,
    /// The executed expressions that are evaluated on demand, by line and bytes from its start.
    evaluated: Vec<(u32, u32)>,
    /// True if a run of a gist observed this module. False if the lines are assumed from an earlier
    /// run.
    pub(crate) is_heard: bool,
    /// True if the next run may execute other functions and lines.
    pub(crate) varies: bool,
}

/// The lines of a module that a later run executed.
struct Heard<'e> {
    lines: FxHashSet<u32>,
    kept: Option<FxHashSet<u32>>,
    idle: &'e [u32],
}

impl<'e> Heard<'e> {
    fn of(executed: &'e ExecutedFile) -> Self {
        let set = |lines: &[u32]| lines.iter().copied().collect::<FxHashSet<u32>>();
        let kept = executed.kept.as_deref().map(set);
        Self { lines: set(&executed.lines), kept, idle: &executed.idle }
    }
}

impl ModuleRun {
    pub(crate) fn new(file: &FileTrace) -> Self {
        let mut ran = Self {
            clock: file.module_lines.clone(),
            evaluated: file.evaluated.clone(),
            ..Self::default()
        };
        ran.clock.sort_by_key(|at| at.line);
        for &line in &file.import_lines {
            ran.set(line);
        }
        ran.early = (file.phase == TracePhase::Import).then(|| ran.lines.clone());
        for &line in &file.test_lines {
            ran.set(line);
        }
        ran.raised.extend(&file.raised);
        ran.ended.extend(&file.ended);
        for function in &file.functions {
            ran.functions.insert(function.line, function.clone());
        }
        ran
    }

    fn set(&mut self, line: u32) {
        let at = line as usize;
        if self.lines.len() <= at {
            self.lines.resize(at + 1, false);
        }
        self.lines[at] = true;
    }

    /// Takes lines for executed in the tests; says whether any was not.
    pub(crate) fn run(&mut self, first: u32, last: u32) -> bool {
        let grew = (first..=last).any(|line| !self.any(line, line));
        (first..=last).for_each(|line| self.set(line));
        grew
    }

    /// Takes a function for entered in the tests, by its first line; says whether it was not.
    pub(crate) fn enter(&mut self, line: u32, name: &str) -> bool {
        let entered =
            FunctionTrace { line, name: name.to_owned(), test: true, ..Default::default() };
        let is_new = !self.functions.contains_key(&line);
        self.functions.entry(line).or_insert(entered);
        is_new
    }

    /// Registers functions also under the first line of their decorators. A decorator that
    /// recompiles a function without itself makes it begin at its `def`.
    pub(crate) fn know_compiled_anew(&mut self, syntax: &Syntax) {
        for (def, first, name) in first_lines(syntax) {
            let called = self.functions.get(&def).filter(|called| *called.name == *name);
            if let Some(called) = called.cloned() {
                let known = self.functions.get(&first).cloned().unwrap_or_default();
                let known = FunctionTrace {
                    import: known.import | called.import,
                    test: known.test | called.test,
                    threaded: known.threaded | called.threaded,
                    line: first,
                    name: called.name,
                    order: called.order,
                };
                self.functions.insert(first, known);
            }
        }
    }

    /// Drops the lines in function bodies that a run of an earlier gist did not execute.
    ///
    /// Module code, class bodies and imports keep the original run's lines, since a gist has no
    /// imports. So do called methods that [decide](decides), and functions that were `missed`
    /// since, by their first lines. Adds the lines that the later run executed in a `__getattr__`,
    /// which a gist calls more often.
    pub(crate) fn narrow(
        &mut self,
        syntax: &Syntax,
        executed: Option<&ExecutedFile>,
        missed: &FxHashSet<u32>,
    ) {
        let none = ExecutedFile::default();
        let executed = executed.unwrap_or(&none);
        let heard = Heard::of(executed);
        self.is_heard = heard.kept.is_some();
        self.learn_answers(syntax, &heard);
        self.original = Some(self.lines.clone());
        let mut functions: FxHashSet<u32> = executed.functions.iter().copied().collect();
        let of_defs = first_lines(syntax).into_iter().filter(|(def, ..)| functions.contains(def));
        let first: Vec<u32> = of_defs.map(|(_, first, _)| first).collect();
        functions.extend(first);
        self.functions.retain(|line, _| functions.contains(line) || missed.contains(line));
        scope::for_each_function(syntax.body(), &mut |_, function| {
            let first = syntax.source().line(function.start());
            if decides(&function.name) || missed.contains(&first) {
                return;
            }
            let (from, to) = syntax.source().line_span(function.range());
            let body =
                function.body.first().map_or(from, |stmt| syntax.source().line(stmt.start()));
            let entered = (body..=to).any(|line| heard.lines.contains(&line));
            scope::for_each_statement(&function.body, &mut |stmt| {
                each_clause(stmt, &mut |head, body| {
                    let (first, last) = syntax.source().line_span(head);
                    if heard.idle.iter().any(|line| (first..=last).contains(line)) {
                        self.forget_all(syntax.source(), body);
                    }
                });
                let range = match stmt {
                    Stmt::Import(_) | Stmt::ImportFrom(_) => return,
                    Stmt::FunctionDef(inner) => TextRange::new(stmt.start(), inner.name.end()),
                    Stmt::ClassDef(inner) => TextRange::new(stmt.start(), inner.name.end()),
                    Stmt::If(branch) => {
                        for clause in &branch.elif_else_clauses {
                            if let Some(test) = &clause.test {
                                self.forget(syntax.source(), test.range(), &heard, entered);
                            }
                        }
                        TextRange::new(stmt.start(), branch.test.end())
                    }
                    Stmt::For(each) => TextRange::new(stmt.start(), each.iter.end()),
                    Stmt::While(repeat) => TextRange::new(stmt.start(), repeat.test.end()),
                    Stmt::Match(matching) => TextRange::new(stmt.start(), matching.subject.end()),
                    Stmt::With(_) | Stmt::Try(_) => return,
                    _ => stmt.range(),
                };
                self.forget(syntax.source(), range, &heard, entered);
            });
        });
    }

    /// Adds the lines that a later run executed in a `__getattr__`, as executed before the tests. A
    /// loader or an iteration over the gist calls it with more names than in the original.
    fn learn_answers(&mut self, syntax: &Syntax, heard: &Heard<'_>) {
        scope::for_each_function(syntax.body(), &mut |_, function| {
            if function.name.id != GETATTR {
                return;
            }
            let line = |at| syntax.source().line(at);
            let lines = function.body.iter().flat_map(|stmt| {
                let (from, to) = syntax.source().line_span(stmt.range());
                from..=to
            });
            let ran: Vec<u32> = lines.filter(|line| heard.lines.contains(line)).collect();
            if ran.is_empty() {
                return;
            }
            ran.into_iter().for_each(|line| self.set(line));
            let (line, name) = (line(function.start()), function.name.to_string());
            let called = FunctionTrace { line, name, import: true, ..Default::default() };
            self.functions.entry(line).or_insert(called);
        });
    }

    /// Adds lines of `continue`, `break` and `pass`, which no trace below 3.10 reports: the
    /// compiler threads a jump to them to its final target.
    pub(crate) fn thread_jumps(&mut self, syntax: &Syntax) {
        let source = syntax.source();
        let mut silent = Vec::new();
        // Whether a jump may lead to the first statement of a block, and the block.
        let mut block = |mut reached: bool, body: &[Stmt]| {
            for stmt in body {
                let jumps = matches!(stmt, Stmt::Continue(_) | Stmt::Break(_) | Stmt::Pass(_));
                if reached && jumps {
                    silent.push(source.line(stmt.start()));
                }
                let compound = matches!(
                    stmt,
                    Stmt::If(_) | Stmt::For(_) | Stmt::While(_) | Stmt::Try(_) | Stmt::With(_)
                );
                reached = compound && self.range(source, stmt.range());
            }
        };
        let ran = |test: &Expr| self.range(source, test.range());
        let mut scan = |body: &[Stmt]| {
            scope::for_each_statement(body, &mut |stmt| match stmt {
                Stmt::If(branch) => {
                    let mut test = &*branch.test;
                    block(ran(test) && decides_early(test), &branch.body);
                    for clause in &branch.elif_else_clauses {
                        // Whatever is false jumps to what follows it.
                        let last = ran(test);
                        test = clause.test.as_ref().unwrap_or(test);
                        let reached = match &clause.test {
                            Some(test) => ran(test) && decides_early(test),
                            None => last,
                        };
                        block(reached, &clause.body);
                    }
                }
                Stmt::While(repeat) => {
                    block(ran(&repeat.test) && decides_early(&repeat.test), &repeat.body);
                    block(false, &repeat.orelse);
                }
                Stmt::Try(attempt) => {
                    let whole = self.range(source, stmt.range());
                    scope::for_each_block(stmt, |body| block(false, body));
                    block(whole, &attempt.orelse);
                }
                _ => scope::for_each_block(stmt, |body| block(false, body)),
            });
        };
        scan(syntax.body());
        scope::for_each_function(syntax.body(), &mut |_, function| scan(&function.body));
        for line in silent {
            self.set(line);
        }
    }

    /// Forgets what the later run had and did not execute; whatever it is, in a function that was not entered.
    fn forget(&mut self, source: &Source, range: TextRange, heard: &Heard<'_>, entered: bool) {
        let (first, last) = source.line_span(range);
        let all = heard.kept.as_ref().filter(|_| entered);
        let had = |line: u32| all.is_none_or(|kept| kept.contains(&line));
        let ran = (first..=last).any(|line| heard.lines.contains(&line));
        if !ran && (first..=last).any(had) {
            self.forget_all(source, range);
        }
    }

    fn forget_all(&mut self, source: &Source, range: TextRange) {
        let (first, last) = source.line_span(range);
        for line in first..=last {
            if let Some(ran) = self.lines.get_mut(line as usize) {
                *ran = false;
            }
        }
    }

    /// Returns true if any line from `first` to `last` was executed.
    pub(crate) fn any(&self, first: u32, last: u32) -> bool {
        let end = self.lines.len().min(last as usize + 1);
        self.lines.get(first as usize..end).is_some_and(|lines| lines.iter().any(|&ran| ran))
    }

    /// Returns true if any part of an expression that is evaluated on demand was evaluated.
    pub(crate) fn evaluated(&self, source: &Source, range: TextRange) -> bool {
        trace::evaluates(&self.evaluated, source, range)
    }

    /// Returns true if the original run entered a block.
    pub(crate) fn entered(&self, source: &Source, body: &[Stmt]) -> bool {
        let lines = self.original.as_ref().unwrap_or(&self.lines);
        body.iter().any(|stmt| {
            let (first, last) = source.line_span(stmt.range());
            let end = lines.len().min(last as usize + 1);
            !is_docstring(stmt)
                && lines.get(first as usize..end).is_some_and(|lines| lines.contains(&true))
        })
    }

    /// Returns true if an exception that ended a test came from these lines.
    pub(crate) fn raised(&self, source: &Source, range: TextRange) -> bool {
        let (first, last) = source.line_span(range);
        self.raised.iter().any(|line| (first..=last).contains(line))
    }

    /// Returns true if an exception that ended the command passed a statement.
    pub(crate) fn ended(&self, source: &Source, stmt: &Stmt) -> bool {
        // What is raised in a function that a decorator calls is not in the function that it decorates.
        let lines = match stmt {
            Stmt::FunctionDef(_) => own_lines(source, stmt),
            _ => Some(source.line_span(stmt.range())),
        };
        lines.is_some_and(|(first, last)| {
            self.ended.iter().any(|line| (first..=last).contains(line))
        })
    }

    /// Returns true if any line of a range was executed.
    pub(crate) fn range(&self, source: &Source, range: TextRange) -> bool {
        let (first, last) = source.line_span(range);
        self.any(first, last)
    }

    /// Returns true if a statement was executed. A definition counts by its decorators and header,
    /// a simple statement by any line, a compound statement by anything in it.
    pub(crate) fn statement(&self, source: &Source, stmt: &Stmt) -> bool {
        own_lines(source, stmt).is_some_and(|(first, last)| self.any(first, last))
    }

    /// Returns true if a statement was executed before the first test. If its module was loaded
    /// later, returns true if it was executed at all.
    pub(crate) fn statement_early(&self, source: &Source, stmt: &Stmt) -> bool {
        let Some(early) = &self.early else { return self.statement(source, stmt) };
        let is_early = |line: u32| early.get(line as usize) == Some(&true) && self.any(line, line);
        own_lines(source, stmt).is_some_and(|(first, last)| (first..=last).any(is_early))
    }

    /// Returns true if the module's code was executed before the first test.
    pub(crate) fn is_early(&self) -> bool {
        self.early.is_some()
    }

    /// Returns the record of the function that begins on this line (of its decorators or `def`), if
    /// it was entered.
    pub(crate) fn function(&self, line: u32) -> Option<&FunctionTrace> {
        self.functions.get(&line)
    }

    /// When module-level lines of a span first started and last ended.
    pub(crate) fn clock(&self, first: u32, last: u32) -> Option<(u64, u64)> {
        let from = self.clock.partition_point(|at| at.line < first);
        let to = self.clock.partition_point(|at| at.line <= last);
        let span = self.clock.get(from..to)?;
        let start = span.iter().map(|at| at.start).min()?;
        let end = span.iter().map(|at| at.end).max()?;
        Some((start, end))
    }
}

/// Visits the clauses of a statement: the range of each header and the range of its block.
fn each_clause(stmt: &Stmt, visit: &mut impl FnMut(TextRange, TextRange)) {
    let mut clause = |start, body: &[Stmt]| {
        if let (Some(first), Some(last)) = (body.first(), body.last()) {
            visit(TextRange::new(start, first.start()), TextRange::new(first.start(), last.end()));
        }
    };
    match stmt {
        Stmt::If(branch) => {
            clause(branch.start(), &branch.body);
            for other in &branch.elif_else_clauses {
                clause(other.start(), &other.body);
            }
        }
        Stmt::For(each) => clause(each.start(), &each.body),
        Stmt::While(repeat) => clause(repeat.start(), &repeat.body),
        _ => {}
    }
}

/// The lines that tell whether a statement ran, if any do.
fn own_lines(source: &Source, stmt: &Stmt) -> Option<(u32, u32)> {
    match stmt {
        Stmt::FunctionDef(function) => {
            Some((source.line(stmt.start()), source.line(function.name.start())))
        }
        Stmt::ClassDef(class) => Some((source.line(stmt.start()), source.line(class.name.start()))),
        Stmt::Global(_) | Stmt::Nonlocal(_) => None,
        _ => (!is_docstring(stmt)).then(|| source.line_span(stmt.range())),
    }
}

/// Returns true if a function reads line numbers of code. Then no line may be dropped, not even
/// blanks and comments.
pub(crate) fn counts_lines(function: &StmtFunctionDef, syntax: &Syntax) -> bool {
    struct Finder(bool);
    impl<'v> Visitor<'v> for Finder {
        fn visit_expr(&mut self, expr: &'v Expr) {
            let name = match expr {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                _ => "",
            };
            self.0 |= matches!(
                name,
                "extract_stack" | "extract_tb" | "f_lineno" | "tb_lineno" | "co_firstlineno"
            );
            visitor::walk_expr(self, expr);
        }
    }
    let mut finder = Finder(false);
    finder.visit_body(&function.body);
    let asked = format!("{}.__code__.co_firstlineno", function.name);
    finder.0 || syntax.source().text().contains(&asked)
}

/// Returns true if a statement is a bare string or bytes literal, such as a docstring.
pub(crate) fn is_docstring(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Expr(expr) => {
            expr.value.is_string_literal_expr() || expr.value.is_bytes_literal_expr()
        }
        _ => false,
    }
}

/// Returns true if a condition may short-circuit.
fn decides_early(test: &Expr) -> bool {
    match test {
        Expr::BoolOp(_) | Expr::If(_) => true,
        Expr::UnaryOp(unary) => decides_early(&unary.operand),
        Expr::Compare(compare) => compare.ops.len() > 1,
        _ => false,
    }
}

/// The lines of `def` of decorated functions, with their first lines and their names.
fn first_lines(syntax: &Syntax) -> Vec<(u32, u32, &Name)> {
    let line = |at| syntax.source().line(at);
    let mut found = Vec::new();
    scope::for_each_function(syntax.body(), &mut |_, function| {
        let (def, first) = (line(function.name.start()), line(function.start()));
        found.push((def, first, &function.name.id));
    });
    found.retain(|(def, first, _)| def != first);
    found
}
