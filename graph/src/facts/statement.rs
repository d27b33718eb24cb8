//! Statements: bindings, branches and loops.

use ruff_python_ast::{
    BoolOp, ExceptHandler, Expr, Pattern, Stmt, StmtIf, StmtMatch, StmtTry, UnaryOp,
};
use ruff_text_size::Ranged;

use super::{
    ContainerKey, ImportPlace, Name, Op, Slot,
    draw::{Drawing, UNKNOWN},
    environment::Owner,
    static_test::outcome,
};
use crate::scope;

/// Failed alternatives of an `if` that are looked at.
const ALTERNATIVES: usize = 8;

impl<'a> Drawing<'a> {
    pub(super) fn statements(&mut self, body: &'a [Stmt]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Stmt) {
        if self.scope == 0 {
            self.list_exports(statement);
        }
        match statement {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class_definition(class),
            Stmt::Return(statement) => {
                if let Some(value) = &statement.value {
                    let value = self.expression(value);
                    self.give_back(value);
                }
                self.unreachable = true;
            }
            Stmt::Delete(statement) => {
                for target in &statement.targets {
                    self.delete(target);
                }
            }
            Stmt::TypeAlias(statement) => {
                self.type_parameters(statement.type_params.as_deref());
                self.expression(&statement.value);
                self.assign(&statement.name, UNKNOWN);
            }
            Stmt::Assign(statement) => self.assignment(statement),
            Stmt::AugAssign(statement) => self.augment(statement),
            Stmt::AnnAssign(statement) => {
                let annotated = self.annotated(&statement.annotation);
                let value = match &statement.value {
                    Some(value) => self.expression(value),
                    None => UNKNOWN,
                };
                let both = self.union_known(&[annotated, value]);
                // A bare `name: Type` binds nothing, but what it says of the name is worth having.
                if statement.value.is_some() || both != UNKNOWN {
                    self.assign(&statement.target, both);
                }
            }
            Stmt::For(statement) => {
                let iterated = self.expression(&statement.iter);
                let item = self.iterate(iterated);
                self.repeat(
                    |drawing| {
                        drawing.assign(&statement.target, item);
                        drawing.block(&statement.body);
                    },
                    &statement.body,
                );
                self.block(&statement.orelse);
            }
            Stmt::While(statement) => {
                self.repeat(
                    |drawing| {
                        drawing.expression(&statement.test);
                        drawing.block(&statement.body);
                    },
                    &statement.body,
                );
                self.block(&statement.orelse);
            }
            Stmt::If(statement) => self.branch(statement),
            Stmt::With(statement) => {
                for item in &statement.items {
                    let context = self.expression(&item.context_expr);
                    let entered = if context == UNKNOWN {
                        UNKNOWN
                    } else {
                        let slot = self.fresh();
                        self.op(Op::Enter(context, slot, self.definition));
                        slot
                    };
                    if let Some(target) = &item.optional_vars {
                        self.assign(target, entered);
                    }
                }
                self.block(&statement.body);
            }
            Stmt::Match(statement) => self.matching(statement),
            Stmt::Raise(statement) => {
                if let Some(raised) = &statement.exc {
                    let value = self.expression(raised);
                    if value != UNKNOWN && !matches!(raised.as_ref(), Expr::Call(_)) {
                        let line = self.line(raised.start());
                        self.op(Op::Raise(value, self.definition, line));
                    }
                }
                if let Some(cause) = &statement.cause {
                    self.expression(cause);
                }
                self.unreachable = true;
            }
            Stmt::Try(statement) => self.attempt(statement),
            Stmt::Assert(statement) => {
                self.expression(&statement.test);
                if let Some(message) = &statement.msg {
                    self.expression(message);
                }
            }
            Stmt::Import(statement) => self.import_modules(statement),
            Stmt::ImportFrom(statement) => self.import_names(statement),
            Stmt::Global(statement) => {
                for name in &statement.names {
                    let name = self.name(name);
                    self.declare(name, Owner::Global);
                }
            }
            Stmt::Nonlocal(statement) => {
                for name in &statement.names {
                    let name = self.name(name);
                    self.declare(name, Owner::Nonlocal);
                }
            }
            Stmt::Expr(statement) => {
                self.expression(&statement.value);
            }
            Stmt::Break(_) | Stmt::Continue(_) => self.unreachable = true,
            Stmt::Pass(_) | Stmt::IpyEscapeCommand(_) => {}
        }
    }

    fn declare(&mut self, name: Name, owner: Owner) {
        let scope = self.scope;
        if owner == Owner::Global && scope == 0 {
            return;
        }
        let variable = self.environment.variable(scope, name);
        self.environment.symbols[variable as usize].owner = owner;
    }

    /// A nested block. Blocks that are too deep are not looked into.
    pub(super) fn block(&mut self, body: &'a [Stmt]) {
        if body.is_empty() {
            return;
        }
        if self.enter() {
            if self.depth.is_multiple_of(8) {
                stacker::maybe_grow(
                    super::expression::RED_ZONE,
                    super::expression::SEGMENT,
                    || {
                        self.statements(body);
                    },
                );
            } else {
                self.statements(body);
            }
        }
        self.depth -= 1;
    }

    fn branch(&mut self, statement: &'a StmtIf) {
        let typing = is_type_checking(&statement.test);
        self.expression(&statement.test);
        let mark = self.environment.mark();
        let place = self.place;
        if typing && place == ImportPlace::Module {
            self.place = ImportPlace::TypeChecking;
        }
        let mut branches = Vec::new();
        let mut decided = outcome(&statement.test, self.pythons);
        let mut failed: Vec<&Expr> = vec![&statement.test];
        self.narrow(&statement.test, true);
        self.unreachable = false;
        self.block(&statement.body);
        self.place = place;
        let reached = !self.unreachable && decided != Some(false);
        branches.push(self.environment.roll_back(mark, reached));
        let mut exhaustive = false;
        for clause in &statement.elif_else_clauses {
            self.unreachable = false;
            // What follows a test that always holds is never reached.
            let mut open = decided != Some(true);
            self.narrow_all(&failed);
            match &clause.test {
                Some(test) => {
                    self.expression(test);
                    self.narrow(test, true);
                    failed.push(test);
                    if open {
                        decided = outcome(test, self.pythons);
                        open = decided != Some(false);
                    }
                }
                None => exhaustive = true,
            }
            self.block(&clause.body);
            branches.push(self.environment.roll_back(mark, open && !self.unreachable));
        }
        if !exhaustive {
            self.narrow_all(&failed);
            branches.push(self.environment.roll_back(mark, decided != Some(true)));
        }
        self.merge(&branches);
    }

    fn narrow_all(&mut self, failed: &[&'a Expr]) {
        // Long chains of alternatives would take quadratic time.
        for test in failed.iter().take(ALTERNATIVES) {
            self.narrow(test, false);
        }
    }

    /// Narrows the names in a condition, given its outcome. Only a failed `hasattr` narrows, since
    /// objects may have attributes that their classes do not define.
    fn narrow(&mut self, test: &'a Expr, held: bool) {
        match test {
            Expr::UnaryOp(not) if not.op == UnaryOp::Not => self.narrow(&not.operand, !held),
            Expr::BoolOp(all) if (all.op == BoolOp::And) == held => {
                for part in &all.values {
                    self.narrow(part, held);
                }
            }
            Expr::Call(call) if !held => {
                let (Expr::Name(function), [object, Expr::StringLiteral(name)]) =
                    (&*call.func, &*call.arguments.args)
                else {
                    return;
                };
                if &function.id == "hasattr" {
                    self.lacks(object, name.value.to_str());
                }
            }
            _ => {}
        }
    }

    /// From here on a name holds nothing that has this attribute.
    fn lacks(&mut self, object: &Expr, attribute: &str) {
        let Expr::Name(name) = object else { return };
        let name = self.private(&name.id);
        let Some(variable) = self.environment.find(self.scope, name) else { return };
        let symbol = &self.environment.symbols[variable as usize];
        let current = symbol.current;
        if symbol.owner != Owner::Own || current.is_none() || current == UNKNOWN {
            return;
        }
        let attribute = self.private(attribute);
        let slot = self.fresh();
        self.op(Op::Without(current, attribute, slot));
        self.environment.show(variable, slot);
    }

    /// A loop: what its body assigns is visible at its start and after it.
    fn repeat(&mut self, pass: impl FnOnce(&mut Self), body: &'a [Stmt]) {
        let mark = self.environment.mark();
        let mut heads: Vec<(u32, Slot)> = Vec::new();
        scope::for_each_statement(body, &mut |statement| {
            for bound in scope::bound_directly(statement) {
                let name = self.name(&bound);
                let Some(variable) = self.environment.find(self.scope, name) else { continue };
                let symbol = &self.environment.symbols[variable as usize];
                let current = symbol.current;
                let known = heads.iter().any(|&(head, _)| head == variable);
                if known || current.is_none() || symbol.owner != Owner::Own {
                    continue;
                }
                let head = self.fresh();
                self.copy(current, head);
                self.environment.show(variable, head);
                heads.push((variable, head));
            }
        });
        pass(self);
        let assigned = self.environment.assigned_since(mark);
        for &(variable, slot) in &assigned {
            if let Some(&(_, head)) = heads.iter().find(|&&(head, _)| head == variable) {
                self.copy(slot, head);
            }
        }
        self.environment.roll_back(mark, true);
        self.show_all(&assigned);
        self.unreachable = false;
    }

    /// Makes all of these versions visible beside the present one.
    fn show_all(&mut self, assigned: &[(u32, Slot)]) {
        for versions in assigned.chunk_by(|left, right| left.0 == right.0) {
            let variable = versions[0].0;
            let current = self.environment.symbols[variable as usize].current;
            let mut slots: Vec<Slot> = versions.iter().map(|&(_, slot)| slot).collect();
            if !current.is_none() {
                slots.push(current);
            }
            slots.sort_unstable();
            slots.dedup();
            let slot = self.union(&slots);
            self.environment.show(variable, slot);
        }
    }

    fn attempt(&mut self, statement: &'a StmtTry) {
        let mark = self.environment.mark();
        self.unreachable = false;
        self.block(&statement.body);
        // Handlers catch what the body raises, not what follows it.
        let assigned = self.environment.assigned_since(mark);
        let ended = self.unreachable;
        self.block(&statement.orelse);
        self.unreachable |= ended;
        let mut branches = vec![self.environment.roll_back(mark, !self.unreachable)];
        for handler in &statement.handlers {
            let ExceptHandler::ExceptHandler(handler) = handler;
            self.unreachable = false;
            self.show_all(&assigned);
            let caught = match &handler.type_ {
                Some(expr) => self.expression(expr),
                None => UNKNOWN,
            };
            if let (Some(Expr::Name(caught)), Some((object, attribute))) =
                (handler.type_.as_deref(), tried_attribute(&statement.body))
                && &caught.id == "AttributeError"
            {
                self.lacks(object, attribute);
            }
            if let Some(name) = &handler.name {
                let value = if caught == UNKNOWN {
                    UNKNOWN
                } else {
                    let slot = self.fresh();
                    self.op(Op::Instances(caught, slot));
                    slot
                };
                let name = self.name(name);
                self.write(name, value);
            }
            self.block(&handler.body);
            branches.push(self.environment.roll_back(mark, !self.unreachable));
        }
        self.merge(&branches);
        let ended = self.unreachable;
        self.block(&statement.finalbody);
        self.unreachable |= ended;
    }

    fn matching(&mut self, statement: &'a StmtMatch) {
        let subject = self.expression(&statement.subject);
        let mark = self.environment.mark();
        let mut branches = Vec::new();
        for case in &statement.cases {
            self.unreachable = false;
            self.pattern(&case.pattern, subject);
            if let Some(guard) = &case.guard {
                self.expression(guard);
            }
            self.block(&case.body);
            branches.push(self.environment.roll_back(mark, !self.unreachable));
        }
        branches.push(self.environment.roll_back(mark, true));
        self.merge(&branches);
    }

    fn pattern(&mut self, pattern: &'a Pattern, subject: Slot) {
        if !self.enter() {
            self.depth -= 1;
            return;
        }
        match pattern {
            Pattern::MatchValue(pattern) => {
                self.expression(&pattern.value);
            }
            Pattern::MatchSingleton(_) => {}
            Pattern::MatchSequence(pattern) => {
                for (at, inner) in (0..).zip(&pattern.patterns) {
                    let item = self.item(subject, ContainerKey::Integer(at));
                    self.pattern(inner, item);
                }
            }
            Pattern::MatchMapping(pattern) => {
                for (key, inner) in pattern.keys.iter().zip(&pattern.patterns) {
                    let key = self.key(key);
                    let item = self.item(subject, key);
                    self.pattern(inner, item);
                }
                if let Some(rest) = &pattern.rest {
                    let name = self.name(rest);
                    self.write(name, subject);
                }
            }
            Pattern::MatchClass(pattern) => {
                let class = self.expression(&pattern.cls);
                let instance = if class == UNKNOWN {
                    subject
                } else {
                    let slot = self.fresh();
                    self.op(Op::Instances(class, slot));
                    slot
                };
                for inner in &pattern.arguments.patterns {
                    self.pattern(inner, UNKNOWN);
                }
                for keyword in &pattern.arguments.keywords {
                    let name = self.name(&keyword.attr);
                    let value = self.attribute(instance, name);
                    self.pattern(&keyword.pattern, value);
                }
            }
            Pattern::MatchStar(pattern) => {
                if let Some(name) = &pattern.name {
                    let name = self.name(name);
                    self.write(name, UNKNOWN);
                }
            }
            Pattern::MatchAs(pattern) => {
                let mut value = subject;
                if let Some(inner) = &pattern.pattern {
                    self.pattern(inner, subject);
                    if let Pattern::MatchClass(class) = inner.as_ref() {
                        let class = self.expression(&class.cls);
                        if class != UNKNOWN {
                            value = self.fresh();
                            self.op(Op::Instances(class, value));
                        }
                    }
                }
                if let Some(name) = &pattern.name {
                    let name = self.name(name);
                    self.write(name, value);
                }
            }
            Pattern::MatchOr(pattern) => {
                for inner in &pattern.patterns {
                    self.pattern(inner, subject);
                }
            }
        }
        self.depth -= 1;
    }
}

/// The attribute of a name that a body of one statement tries to call or read.
fn tried_attribute(body: &[Stmt]) -> Option<(&Expr, &str)> {
    let value = match body {
        [Stmt::Expr(statement)] => &statement.value,
        [Stmt::Assign(statement)] => &statement.value,
        [Stmt::Return(statement)] => statement.value.as_ref()?,
        _ => return None,
    };
    let called = match &**value {
        Expr::Call(call) => &call.func,
        _ => value,
    };
    match &**called {
        Expr::Attribute(attribute) => Some((&attribute.value, &attribute.attr)),
        _ => None,
    }
}

fn is_type_checking(test: &Expr) -> bool {
    match test {
        Expr::Name(name) => name.id == "TYPE_CHECKING",
        Expr::Attribute(attribute) => &attribute.attr == "TYPE_CHECKING",
        _ => false,
    }
}
