//! Statements with blocks: which of their branches stay.

use ruff_python_ast::{
    ExceptHandler, ExceptHandlerExceptHandler, Expr, MatchCase, Stmt, StmtFor, StmtIf, StmtMatch,
    StmtTry, StmtWhile, StmtWith,
};
use ruff_text_size::Ranged;

use super::{
    Pruner,
    node::{Clause, ClauseHeader, KeptAs, Node, leaf},
};
use crate::{scope, slice::ran::is_docstring};

impl<'a> Pruner<'a, '_> {
    pub(super) fn branch(&self, stmt: &'a Stmt, branch: &'a StmtIf) -> Vec<Node<'a>> {
        if !self.ran.range(self.syntax.source(), stmt.range()) && !self.is_around_must(stmt) {
            return Vec::new();
        }
        let mut clauses: Vec<Clause<'a>> = Vec::new();
        let mut open: Option<Vec<Node<'a>>> = None;
        let heads = std::iter::once((
            ClauseHeader::If(branch),
            Some(branch.test.as_ref()),
            branch.body.as_slice(),
        ))
        .chain(branch.elif_else_clauses.iter().map(|clause| match &clause.test {
            Some(test) => (ClauseHeader::Elif(clause), Some(test), clause.body.as_slice()),
            None => (ClauseHeader::Else(&clause.body), None, clause.body.as_slice()),
        }));
        let entered = heads.clone().any(|(_, _, body)| self.any_ran(body));
        let last = heads.clone().filter(|(_, _, body)| self.any_ran(body)).last();
        let mut reached = true;
        for (head, test, body) in heads {
            let ran = self.any_ran(body);
            // Without this test the statements below it would be executed whatever its value is:
            //     if isinstance(name, str):    # true elsewhere in the original
            //         name = [name]
            //     else:
            //         name = list(name)
            let decides = self.was_entered(body)
                && last.as_ref().is_some_and(|(_, _, last)| is_below(last, body));
            let must = self.holds_must(body);
            match test {
                Some(test) => {
                    let evaluated =
                        reached && (ran || self.ran.range(self.syntax.source(), test.range()));
                    if !evaluated && !ran && !must {
                        // The tests after one that was never evaluated were not evaluated either.
                        reached = false;
                        continue;
                    }
                    let kept = if ran || must { self.block(body) } else { Vec::new() };
                    let is_idle = !ran && !must && !decides;
                    if is_idle && (self.pure)(test) && !self.stopped(test.range(), entered) {
                        continue;
                    }
                    clauses.push(self.clause(head, kept, body));
                }
                None if ran || must => {
                    if clauses.is_empty() {
                        open = Some(self.block(body));
                    } else {
                        let kept = self.block(body);
                        if !kept.is_empty() {
                            clauses.push(self.clause(head, kept, body));
                        }
                    }
                }
                None => {}
            }
        }
        match open {
            Some(flat) => flat,
            None => self.compound(stmt, clauses),
        }
    }

    pub(super) fn for_loop(&self, stmt: &'a Stmt, each: &'a StmtFor) -> Vec<Node<'a>> {
        let ran = self.any_ran(&each.body);
        let must = self.is_around_must(stmt);
        let after = if self.any_ran(&each.orelse) { self.block(&each.orelse) } else { Vec::new() };
        if !ran && !must && !self.header_ran(stmt.start(), &each.body) {
            return after;
        }
        let generates = self.generators && each.iter.is_name_expr();
        let decides = !after.is_empty() && self.was_entered(&each.body);
        if !ran
            && !must
            && !decides
            && !each.is_async
            && !generates
            && (self.pure)(&each.iter)
            && !self.stopped(each.iter.range(), !after.is_empty())
        {
            return after;
        }
        let mut clauses =
            vec![self.clause(ClauseHeader::For(each), self.closed_block(&each.body), &each.body)];
        if !after.is_empty() {
            clauses.push(self.clause(ClauseHeader::Else(&each.orelse), after, &each.orelse));
        }
        self.compound(stmt, clauses)
    }

    pub(super) fn while_loop(&self, stmt: &'a Stmt, repeat: &'a StmtWhile) -> Vec<Node<'a>> {
        let ran = self.any_ran(&repeat.body);
        let must = self.is_around_must(stmt);
        let after =
            if self.any_ran(&repeat.orelse) { self.block(&repeat.orelse) } else { Vec::new() };
        if !ran && !must && !self.header_ran(stmt.start(), &repeat.body) {
            return after;
        }
        let decides = !after.is_empty() && self.was_entered(&repeat.body);
        if !ran
            && !must
            && !decides
            && (self.pure)(&repeat.test)
            && !self.stopped(repeat.test.range(), !after.is_empty())
        {
            return after;
        }
        let body = Self { pure: self.pure_in_loops, ..*self }.closed_block(&repeat.body);
        let mut clauses = vec![self.clause(ClauseHeader::While(repeat), body, &repeat.body)];
        if !after.is_empty() {
            clauses.push(self.clause(ClauseHeader::Else(&repeat.orelse), after, &repeat.orelse));
        }
        self.compound(stmt, clauses)
    }

    pub(super) fn with(&self, stmt: &'a Stmt, with: &'a StmtWith) -> Vec<Node<'a>> {
        if !self.header_ran(stmt.start(), &with.body)
            && !self.any_ran(&with.body)
            && !self.is_around_must(stmt)
        {
            return Vec::new();
        }
        let clause = self.clause(ClauseHeader::With(with), self.block(&with.body), &with.body);
        self.compound(stmt, vec![clause])
    }

    pub(super) fn attempt(&self, stmt: &'a Stmt, attempt: &'a StmtTry) -> Vec<Node<'a>> {
        if !self.ran.range(self.syntax.source(), stmt.range()) && !self.is_around_must(stmt) {
            return Vec::new();
        }
        let failed = self.failed_import(attempt);
        if let Some((at, handler)) = failed
            && is_only_handled(attempt, handler)
        {
            let mut flat = self.block(&attempt.body[..at]);
            flat.extend(self.block(&handler.body));
            return flat;
        }
        let body = match failed {
            // A tuple cannot be raised, nor what a call gives.
            Some((at, ExceptHandlerExceptHandler { type_: Some(kind), .. }))
                if matches!(**kind, Expr::Name(_) | Expr::Attribute(_)) =>
            {
                let mut body = self.closed_block(&attempt.body[..at]);
                body.push(leaf(&attempt.body[at], KeptAs::Failed(kind.range())));
                body
            }
            _ => self.closed_block(&attempt.body),
        };
        let handlers: Vec<&ExceptHandlerExceptHandler> = attempt
            .handlers
            .iter()
            .map(|ExceptHandler::ExceptHandler(handler)| handler)
            .filter(|handler| {
                self.any_ran(&handler.body)
                    || self.holds_must(&handler.body)
                    || !body.is_empty() && self.was_entered(&handler.body)
            })
            .collect();
        let otherwise = self.block(&attempt.orelse);
        let finally = self.block(&attempt.finalbody);
        if handlers.is_empty() {
            let mut flat = body;
            flat.extend(otherwise);
            if finally.is_empty() {
                return flat;
            }
            if flat.is_empty() {
                return finally;
            }
            let clauses = vec![
                self.clause(ClauseHeader::Try(attempt), flat, &attempt.body),
                self.clause(ClauseHeader::Finally(&attempt.finalbody), finally, &attempt.finalbody),
            ];
            return self.compound(stmt, clauses);
        }
        let mut clauses = vec![self.clause(ClauseHeader::Try(attempt), body, &attempt.body)];
        for handler in handlers {
            clauses.push(self.clause(
                ClauseHeader::Except(handler),
                self.block(&handler.body),
                &handler.body,
            ));
        }
        if !otherwise.is_empty() {
            clauses.push(self.clause(
                ClauseHeader::Else(&attempt.orelse),
                otherwise,
                &attempt.orelse,
            ));
        }
        if !finally.is_empty() {
            clauses.push(self.clause(
                ClauseHeader::Finally(&attempt.finalbody),
                finally,
                &attempt.finalbody,
            ));
        }
        self.compound(stmt, clauses)
    }

    /// The import of something internal that failed in a `try`, and the handler that ran for it.
    fn failed_import(
        &self,
        attempt: &'a StmtTry,
    ) -> Option<(usize, &'a ExceptHandlerExceptHandler)> {
        let last = attempt.body.iter().rposition(|stmt| self.ran(stmt))?;
        let mut handlers =
            attempt.handlers.iter().filter_map(|ExceptHandler::ExceptHandler(handler)| {
                self.any_ran(&handler.body).then_some(handler)
            });
        let handler = handlers.next()?;
        let failed = handlers.next().is_none()
            && !self.any_ran(&attempt.orelse)
            && !self.holds_must(&attempt.body)
            && (self.vanishes)(&attempt.body[last]);
        failed.then_some((last, handler))
    }

    pub(super) fn matching(&self, stmt: &'a Stmt, matching: &'a StmtMatch) -> Vec<Node<'a>> {
        if !self.ran.range(self.syntax.source(), stmt.range()) && !self.is_around_must(stmt) {
            return Vec::new();
        }
        let impure = |case: &MatchCase| {
            case.guard.as_ref().is_some_and(|guard| {
                self.ran.range(self.syntax.source(), guard.range()) && !(self.pure)(guard)
            })
        };
        let cases: Vec<Clause<'a>> = matching
            .cases
            .iter()
            .filter(|case| self.any_ran(&case.body) || self.holds_must(&case.body) || impure(case))
            .map(|case| self.clause(ClauseHeader::Case(case), self.block(&case.body), &case.body))
            .collect();
        if cases.is_empty() {
            if (self.pure)(&matching.subject) && !self.stopped(matching.subject.range(), false) {
                return Vec::new();
            }
            let Some(case) = matching.cases.first() else { return Vec::new() };
            let filler = self.clause(ClauseHeader::Case(case), Vec::new(), &case.body);
            let head =
                Clause { head: ClauseHeader::Match(matching), body: Vec::new(), needs_pass: false };
            return self.compound(stmt, vec![head, filler]);
        }
        let mut clauses = vec![Clause {
            head: ClauseHeader::Match(matching),
            body: Vec::new(),
            needs_pass: false,
        }];
        clauses.extend(cases);
        self.compound(stmt, clauses)
    }

    /// An `if` whose branch was never taken, or a loop that never went round, with one statement of it.
    pub(super) fn never_true(&self, stmt: &'a Stmt) -> Option<Node<'a>> {
        let (head, body) = match stmt {
            Stmt::If(branch) => (ClauseHeader::If(branch), &branch.body),
            Stmt::For(each) => (ClauseHeader::For(each), &each.body),
            Stmt::While(repeat) => (ClauseHeader::While(repeat), &repeat.body),
            _ => return None,
        };
        let source = self.syntax.source();
        if !self.header_ran(stmt.start(), body) || self.ran.entered(source, body) {
            return None;
        }
        let body = vec![leaf(shortest(body)?, KeptAs::Filler)];
        Some(Node {
            stmt,
            clauses: vec![Clause { head, body, needs_pass: false }],
            role: KeptAs::Ran,
        })
    }
}

/// The shortest simple statement of a block, nested ones included, that could stand for it.
pub(super) fn shortest(body: &[Stmt]) -> Option<&Stmt> {
    let mut all: Vec<&Stmt> = Vec::new();
    scope::for_each_statement(body, &mut |stmt| all.push(stmt));
    shortest_of(all)
}

/// The shortest of some statements that is simple and no docstring.
pub(super) fn shortest_of<'a>(all: impl IntoIterator<Item = &'a Stmt>) -> Option<&'a Stmt> {
    let is_simple = |stmt: &&Stmt| {
        matches!(
            stmt,
            Stmt::Return(_)
                | Stmt::Raise(_)
                | Stmt::Assert(_)
                | Stmt::Expr(_)
                | Stmt::Assign(_)
                | Stmt::AugAssign(_)
                | Stmt::Delete(_)
        ) && !is_docstring(stmt)
    };
    all.into_iter().filter(is_simple).min_by_key(|stmt| stmt.range().len())
}

/// Returns true if a block stands behind another one.
fn is_below(body: &[Stmt], other: &[Stmt]) -> bool {
    let start = |body: &[Stmt]| body.first().map(Ranged::start);
    start(body) > start(other)
}

/// Returns true if the handler of a `try` can replace the whole statement.
fn is_only_handled(attempt: &StmtTry, handler: &ExceptHandlerExceptHandler) -> bool {
    handler.name.is_none() && attempt.finalbody.is_empty()
}
