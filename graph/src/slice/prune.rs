//! Prunes the body of a statement to its executed part, as a tree that points into the source.
//!
//! A condition that was never true is dropped if its test is pure, unless all conditions are
//! requested. An impure test keeps its header and one original statement. Nothing is rewritten
//! here, and no name is resolved.

mod control;
mod node;

use ruff_python_ast::{ExceptHandler, Expr, Stmt, StmtClassDef, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange, TextSize};

pub(crate) use self::node::{
    Clause, ClauseHeader, EnteredPhases, KeptAs, Node, bound_by, leaf, own_yields,
};
use self::{
    control::{shortest, shortest_of},
    node::{missed, node_holds},
};
use super::{
    ran::{ModuleRun, counts_lines, is_docstring},
    special_methods::decides,
};
use crate::{documented::examples, scope, syntax::Syntax};

/// Bodies that are kept whole.
#[derive(Clone, Copy)]
pub(crate) enum WholeBodies<'p> {
    /// The bodies of tests and their support, which nobody may change. Of a [hook](is_hook) only
    /// the executed part is kept, unless the hook begins on one of these lines.
    Support(&'p [u32]),
    /// The bodies of the functions that begin on these lines.
    Lines(&'p [u32]),
    /// The same for these; in all other functions every evaluated statement is kept, even if it
    /// decided nothing. They help tests, and a test may be about a condition that is never true.
    Helper(&'p [u32]),
}

/// The settings of a pruning.
#[derive(Clone, Copy)]
pub(crate) struct Pruner<'a, 'p> {
    pub(crate) syntax: &'a Syntax,
    pub(crate) ran: &'p ModuleRun,
    /// Returns true if evaluating an expression has no effect.
    pub(crate) pure: &'p dyn Fn(&Expr) -> bool,
    /// The same in the body of a `while`: without what a call changes the loop may never end.
    pure_in_loops: &'p dyn Fn(&Expr) -> bool,
    /// Returns true if a statement imports only names that the gist itself contains.
    pub(crate) vanishes: &'p dyn Fn(&Stmt) -> bool,
    /// Keep docstrings.
    pub(crate) docstrings: bool,
    /// The bodies of entered functions that are kept whole.
    pub(crate) whole: WholeBodies<'p>,
    /// True if a name that a loop iterates over may be a generator of the repository, which the
    /// loop executes.
    generators: bool,
    /// True if functions may be executed without being traced.
    unseen: bool,
    /// Statements that must survive, whatever did not run.
    must: &'p [TextRange],
    /// True if the code after the block was never executed. Then its last statement raised, unless
    /// a statement in it left the block.
    dead_end: bool,
}

impl<'a, 'p> Pruner<'a, 'p> {
    pub(crate) fn new(
        syntax: &'a Syntax,
        ran: &'p ModuleRun,
        pure: &'p dyn Fn(&Expr) -> bool,
        vanishes: &'p dyn Fn(&Stmt) -> bool,
        docstrings: bool,
        whole: WholeBodies<'p>,
    ) -> Self {
        let (pure_in_loops, generators, must, dead_end) = (pure, false, &[][..], false);
        let unseen = false;
        Self {
            syntax,
            ran,
            pure,
            pure_in_loops,
            vanishes,
            docstrings,
            whole,
            generators,
            unseen,
            must,
            dead_end,
        }
    }

    pub(crate) fn with_unseen(self, unseen: bool) -> Self {
        Self { unseen, ..self }
    }

    pub(crate) fn with_pure_in_loops(self, pure_in_loops: &'p dyn Fn(&Expr) -> bool) -> Self {
        Self { pure_in_loops, ..self }
    }

    pub(crate) fn with_generators(self, generators: bool) -> Self {
        Self { generators, ..self }
    }

    /// Returns the kept nodes of a block.
    pub(crate) fn block(&self, body: &'a [Stmt]) -> Vec<Node<'a>> {
        let mut kept = Vec::new();
        for (at, stmt) in body.iter().enumerate().filter(|(_, stmt)| !is_overload(stmt, body)) {
            let mut rest = body[at + 1..].iter().filter(|stmt| !is_silent(stmt));
            let dead_end = rest.next().map_or(self.dead_end, |next| {
                !self.ran.entered(self.syntax.source(), std::slice::from_ref(next))
            });
            kept.extend(Self { dead_end, ..*self }.statement(stmt));
        }
        kept
    }

    /// Returns the kept nodes of a block after which execution does not continue with the next
    /// statement.
    fn closed_block(&self, body: &'a [Stmt]) -> Vec<Node<'a>> {
        Self { dead_end: false, ..*self }.block(body)
    }

    /// Returns true if evaluating an expression may have raised: then it is kept even if it is
    /// pure.
    fn stopped(&self, header: TextRange, entered: bool) -> bool {
        self.dead_end && !entered || self.ran.raised(self.syntax.source(), header)
    }

    /// Returns true if the original run entered a block that the latest run did not.
    fn was_entered(&self, body: &[Stmt]) -> bool {
        !self.any_ran(body) && self.ran.entered(self.syntax.source(), body)
    }

    /// Returns the kept nodes of a statement: none, the statement itself, or the statements of one
    /// branch.
    pub(crate) fn statement(&self, stmt: &'a Stmt) -> Vec<Node<'a>> {
        match stmt {
            Stmt::Global(_) | Stmt::Nonlocal(_) => vec![leaf(stmt, KeptAs::Ran)],
            Stmt::FunctionDef(function) => self.function(stmt, function),
            Stmt::ClassDef(class) => self.class(stmt, class),
            Stmt::If(branch) => self.branch(stmt, branch),
            Stmt::For(each) => self.for_loop(stmt, each),
            Stmt::While(repeat) => self.while_loop(stmt, repeat),
            Stmt::With(with) => self.with(stmt, with),
            Stmt::Try(attempt) => self.attempt(stmt, attempt),
            Stmt::Match(matching) => self.matching(stmt, matching),
            _ if self.ran(stmt) => vec![leaf(stmt, KeptAs::Ran)],
            _ if self.is_must(stmt) => vec![leaf(stmt, KeptAs::Filler)],
            _ => Vec::new(),
        }
    }

    fn ran(&self, stmt: &Stmt) -> bool {
        self.ran.statement(self.syntax.source(), stmt)
    }

    fn any_ran(&self, body: &[Stmt]) -> bool {
        body.iter().any(|stmt| self.ran(stmt))
    }

    fn is_must(&self, stmt: &Stmt) -> bool {
        self.must.contains(&stmt.range())
    }

    fn holds_must(&self, body: &[Stmt]) -> bool {
        body.iter().any(|stmt| self.is_around_must(stmt))
    }

    fn is_around_must(&self, stmt: &Stmt) -> bool {
        self.must.iter().any(|&must| stmt.range().contains_range(must))
    }

    fn header_ran(&self, start: TextSize, body: &[Stmt]) -> bool {
        let source = self.syntax.source();
        let first = source.line(start);
        let last = body.first().map_or(first, |stmt| source.line(stmt.start()).saturating_sub(1));
        self.ran.any(first, last.max(first))
    }

    fn function(&self, stmt: &'a Stmt, function: &'a StmtFunctionDef) -> Vec<Node<'a>> {
        let source = self.syntax.source();
        if !self.ran(stmt) && !self.is_must(stmt) {
            return Vec::new();
        }
        let called =
            self.ran.function(source.line(stmt.start())).map_or(EnteredPhases::default(), |call| {
                EnteredPhases { import: call.import, test: call.test }
            });
        let head = ClauseHeader::Function(function, called);
        let line = source.line(stmt.start());
        let (WholeBodies::Lines(lines) | WholeBodies::Support(lines) | WholeBodies::Helper(lines)) =
            self.whole;
        let asked = lines.contains(&line)
            || self.unseen && !called.any()
            || self.ran.function(line).is_some_and(|call| call.threaded) && waits(&function.body)
            || called.any() && counts_lines(function, self.syntax)
            || called.test && self.ran.varies;
        let is_support = matches!(self.whole, WholeBodies::Support(_));
        // What stands on the line of a `def` that ran ran as well, as far as lines tell.
        let on_one_line = source.line(function.body.last().map_or(stmt.start(), Ranged::end))
            == source.line(function.name.start());
        if !called.any() && !asked && is_support && on_one_line {
            let body = self.entire(&function.body, KeptAs::Dead);
            return self.compound(stmt, vec![Clause { head, body, needs_pass: false }]);
        }
        if !called.any() && !asked {
            let body = match function.body.first() {
                Some(first) if is_docstring(first) => vec![leaf(first, KeptAs::Filler)],
                _ => Vec::new(),
            };
            return self.compound(stmt, vec![self.clause(head, body, &function.body)]);
        }
        match self.whole {
            WholeBodies::Support(_) if asked || !is_hook(&function.name) => {
                let body = self.entire(&function.body, KeptAs::Dead);
                return self.compound(stmt, vec![Clause { head, body, needs_pass: false }]);
            }
            WholeBodies::Lines(_) | WholeBodies::Helper(_) if asked => {
                let body = self.entire(&function.body, KeptAs::Ran);
                return self.compound(stmt, vec![Clause { head, body, needs_pass: false }]);
            }
            _ if matches!(self.whole, WholeBodies::Helper(_)) || decides(&function.name) => {
                let pure: &dyn Fn(&Expr) -> bool = &|_| false;
                return Pruner { pure, pure_in_loops: pure, ..*self }.called(stmt, function, head);
            }
            _ => {}
        }
        self.called(stmt, function, head)
    }

    /// Returns the kept nodes of a function that was called.
    fn called(
        &self,
        stmt: &'a Stmt,
        function: &'a StmtFunctionDef,
        head: ClauseHeader<'a>,
    ) -> Vec<Node<'a>> {
        let mut body = self.closed_block(&function.body);
        let must = missed(function, &body);
        if !must.is_empty() {
            let pruner = Pruner { must: &must, ..*self };
            body = pruner.closed_block(&function.body);
            for range in must {
                let holder = function.body.iter().find(|stmt| stmt.range().contains_range(range));
                if let Some(holder) = holder
                    && !body.iter().any(|node| node_holds(node, range))
                {
                    body.retain(|node| !holder.range().contains_range(node.stmt.range()));
                    body.extend(self.entire(std::slice::from_ref(holder), KeptAs::Dead));
                    body.sort_by_key(|node| node.stmt.start());
                }
            }
        }
        self.keep_docstring(&mut body, &function.body);
        self.compound(stmt, vec![self.clause(head, body, &function.body)])
    }

    fn class(&self, stmt: &'a Stmt, class: &'a StmtClassDef) -> Vec<Node<'a>> {
        if !self.ran(stmt) {
            return Vec::new();
        }
        let mut body = self.closed_block(&class.body);
        self.keep_docstring(&mut body, &class.body);
        let needs_pass = false;
        self.compound(stmt, vec![Clause { head: ClauseHeader::Class(class), body, needs_pass }])
    }

    /// Returns a whole body as nodes, with the role `unrun` for statements that were not executed.
    fn entire(&self, body: &'a [Stmt], unrun: KeptAs) -> Vec<Node<'a>> {
        body.iter()
            .map(|stmt| {
                let role = if self.ran(stmt) || is_docstring(stmt) { KeptAs::Ran } else { unrun };
                let mut clauses = Vec::new();
                let mut add = |head, body: &'a [Stmt]| {
                    clauses.push(Clause { head, body: self.entire(body, unrun), needs_pass: false })
                };
                match stmt {
                    Stmt::If(branch) => {
                        add(ClauseHeader::If(branch), &branch.body);
                        for clause in &branch.elif_else_clauses {
                            let head = if clause.test.is_some() {
                                ClauseHeader::Elif(clause)
                            } else {
                                ClauseHeader::Else(&clause.body)
                            };
                            add(head, &clause.body);
                        }
                    }
                    Stmt::For(each) => {
                        add(ClauseHeader::For(each), &each.body);
                        if !each.orelse.is_empty() {
                            add(ClauseHeader::Else(&each.orelse), &each.orelse);
                        }
                    }
                    Stmt::While(repeat) => {
                        add(ClauseHeader::While(repeat), &repeat.body);
                        if !repeat.orelse.is_empty() {
                            add(ClauseHeader::Else(&repeat.orelse), &repeat.orelse);
                        }
                    }
                    Stmt::With(with) => add(ClauseHeader::With(with), &with.body),
                    Stmt::Try(attempt) => {
                        add(ClauseHeader::Try(attempt), &attempt.body);
                        for ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                            add(ClauseHeader::Except(handler), &handler.body);
                        }
                        if !attempt.orelse.is_empty() {
                            add(ClauseHeader::Else(&attempt.orelse), &attempt.orelse);
                        }
                        if !attempt.finalbody.is_empty() {
                            add(ClauseHeader::Finally(&attempt.finalbody), &attempt.finalbody);
                        }
                    }
                    Stmt::Match(matching) => {
                        add(ClauseHeader::Match(matching), &[]);
                        for case in &matching.cases {
                            add(ClauseHeader::Case(case), &case.body);
                        }
                    }
                    Stmt::FunctionDef(function) => {
                        let called = self.ran.function(self.syntax.source().line(stmt.start()));
                        let called = called.map_or(EnteredPhases::default(), |call| {
                            EnteredPhases { import: call.import, test: call.test }
                        });
                        add(ClauseHeader::Function(function, called), &function.body);
                    }
                    Stmt::ClassDef(class) => add(ClauseHeader::Class(class), &class.body),
                    _ => {}
                }
                Node { stmt, clauses, role }
            })
            .collect()
    }

    fn keep_docstring(&self, body: &mut Vec<Node<'a>>, original: &'a [Stmt]) {
        // A file of the tests may be one whose examples the command runs: there a docstring with some is a test.
        let is_test = matches!(self.whole, WholeBodies::Support(_)) && examples(original).is_some();
        if (self.docstrings || is_test)
            && let Some(first) = original.first()
            && is_docstring(first)
        {
            body.insert(0, leaf(first, KeptAs::Ran));
        }
    }

    fn compound(&self, stmt: &'a Stmt, clauses: Vec<Clause<'a>>) -> Vec<Node<'a>> {
        if clauses.is_empty() {
            Vec::new()
        } else {
            vec![Node { stmt, clauses, role: KeptAs::Ran }]
        }
    }

    /// A clause whose block is never empty, filled where it must be with a statement of the original.
    fn clause(
        &self,
        head: ClauseHeader<'a>,
        body: Vec<Node<'a>>,
        original: &'a [Stmt],
    ) -> Clause<'a> {
        let mut clause = Clause { head, body, needs_pass: false };
        if clause.body.iter().all(|node| matches!(node.stmt, Stmt::Global(_) | Stmt::Nonlocal(_))) {
            self.fill(&mut clause, original);
        }
        clause
    }

    fn fill(&self, clause: &mut Clause<'a>, original: &'a [Stmt]) {
        let pass = original.iter().find(|stmt| matches!(stmt, Stmt::Pass(_)) || is_ellipsis(stmt));
        let docstring = original.first().filter(|stmt| is_docstring(stmt));
        let source = self.syntax.source();
        let called = matches!(clause.head, ClauseHeader::Function(_, called) if called.any());
        let entered = called || self.ran.entered(source, original);
        if let Some(stmt) = pass.or(docstring) {
            clause.body.push(leaf(stmt, KeptAs::Filler));
        } else if !entered && let Some(stmt) = shortest(original) {
            clause.body.push(leaf(stmt, KeptAs::Filler));
        } else if !matches!(clause.head, ClauseHeader::Function(..))
            && !self.any_ran(original)
            && let Some(stmt) = shortest_of(original.iter())
        {
            clause.body.push(leaf(stmt, KeptAs::Filler));
        } else if let Some(node) = original.iter().find_map(|stmt| self.never_true(stmt)) {
            // The block ran, so only what does nothing may fill it: a condition that never held.
            clause.body.push(node);
        } else {
            clause.needs_pass = true;
        }
    }
}

/// Returns true if a definition is an `overload` that a later definition of its block replaces.
pub(crate) fn is_overload(stmt: &Stmt, block: &[Stmt]) -> bool {
    let Stmt::FunctionDef(function) = stmt else { return false };
    let declares = function.decorator_list.iter().any(|decorator| match &decorator.expression {
        Expr::Name(name) => &name.id == "overload",
        Expr::Attribute(attribute) => &attribute.attr == "overload",
        _ => false,
    });
    declares
        && block.iter().any(|other| match other {
            Stmt::FunctionDef(later) => {
                later.name.id == function.name.id && other.start() > stmt.start()
            }
            _ => false,
        })
}

/// Returns true if pytest calls a function of this name in a conftest and in a test module alike.
/// Only one hook works in both.
pub(crate) fn is_hook(name: &str) -> bool {
    name == "pytest_generate_tests"
}

/// Returns true if a function has a loop or a `try`. In a thread, the number of rounds and the
/// outcome depend on the other threads.
fn waits(body: &[Stmt]) -> bool {
    let mut found = false;
    scope::for_each_statement(body, &mut |stmt| {
        found |= matches!(stmt, Stmt::While(_) | Stmt::For(_) | Stmt::Try(_));
    });
    found
}

/// Returns true if a statement produces no line event: declarations, bare annotations and literals.
pub(crate) fn is_silent(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Global(_) | Stmt::Nonlocal(_) => true,
        Stmt::AnnAssign(assign) => assign.value.is_none(),
        Stmt::Expr(expr) => expr.value.is_literal_expr(),
        _ => false,
    }
}

fn is_ellipsis(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Expr(expr) if expr.value.is_ellipsis_literal_expr())
}
