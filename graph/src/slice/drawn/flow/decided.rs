//! Passes random values through conditions: to the variables and results of a block that is entered
//! only for some values.

use ruff_python_ast::{Expr, Stmt};

use super::{Flow, each_expression};
use crate::scope;

impl<'a> Flow<'a, '_> {
    /// Marks the assignments and results in a statement's blocks as reached, if random values
    /// decide about entering the blocks or about the number of rounds.
    pub(super) fn decide(&mut self, at: usize, stmt: &'a Stmt) {
        let decided = match stmt {
            Stmt::If(branch) => {
                let others = branch.elif_else_clauses.iter().filter_map(|one| one.test.as_ref());
                std::iter::once(&*branch.test).chain(others).any(|test| self.is_reached(at, test))
            }
            Stmt::While(repeat) => self.is_reached(at, &repeat.test),
            Stmt::For(each) => self.is_reached(at, &each.iter),
            Stmt::Match(matching) => self.is_reached(at, &matching.subject),
            Stmt::Try(attempt) => self.may_fail(at, &attempt.body),
            _ => false,
        };
        if !decided {
            return;
        }
        let mut inner = Vec::new();
        scope::for_each_block(stmt, |block| {
            scope::for_each_statement(block, &mut |stmt| inner.push(stmt));
        });
        for stmt in inner {
            match stmt {
                Stmt::Assign(assign) => {
                    assign.targets.iter().for_each(|target| self.reach(at, target));
                }
                Stmt::AugAssign(assign) => self.reach(at, &assign.target),
                Stmt::Return(_) => self.reach_result(at),
                _ => {}
            }
        }
    }

    /// Returns true if a block passes random values to external code, which may reject them by
    /// raising.
    pub(in super::super) fn may_fail(&self, at: usize, body: &[Stmt]) -> bool {
        let mut found = false;
        scope::for_each_statement(body, &mut |stmt| {
            if matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
                return;
            }
            each_expression(stmt, &mut |expr| {
                found = found
                    || match expr {
                        Expr::Call(call) => {
                            self.callees(at, &call.func).is_none()
                                && (self.is_any_reached(at, &call.arguments)
                                    || call
                                        .func
                                        .as_attribute_expr()
                                        .is_some_and(|method| self.is_reached(at, &method.value)))
                        }
                        Expr::Subscript(subscript) => {
                            self.is_reached(at, &subscript.slice)
                                || self.is_reached(at, &subscript.value)
                        }
                        _ => false,
                    };
            });
        });
        found
    }
}
