//! Lists the calls and the class definitions that executing a statement evaluates.

use ruff_python_ast::{
    Arguments, Expr, ExprCall, Stmt, StmtClassDef, StmtFunctionDef,
    visitor::{Visitor, walk_expr, walk_stmt},
};

/// Something that is called where it stands.
pub(super) struct EvaluatedCall<'s> {
    pub(super) callee: &'s Expr,
    /// The arguments, if the call states them.
    pub(super) arguments: Option<&'s Arguments>,
    /// The number of times that the result is called in turn.
    pub(super) again: u32,
    /// True in a class body, which may pass the name of an attribute to its value (`__set_name__`).
    pub(super) in_class: bool,
}

/// A class that is made there.
#[derive(Clone, Copy)]
pub(super) enum Made<'s> {
    Class(&'s StmtClassDef),
    /// By `type("Name", (Base,), {})`, of these.
    Of(&'s Expr),
}

/// All that is called and made; of what ran alone.
pub(super) struct Evaluated<'s, R> {
    pub(super) calls: Vec<EvaluatedCall<'s>>,
    pub(super) classes: Vec<Made<'s>>,
    in_class: bool,
    ran: R,
}

impl<'s, R: Fn(&Stmt) -> bool> Evaluated<'s, R> {
    pub(super) fn new(ran: R) -> Self {
        Self { calls: Vec::new(), classes: Vec::new(), in_class: false, ran }
    }

    fn defaults(&mut self, function: &'s StmtFunctionDef) {
        let defaults = function.parameters.iter().filter_map(|one| one.default());
        defaults.for_each(|default| self.visit_expr(default));
    }

    fn inside(&mut self, class: &'s StmtClassDef) {
        self.classes.push(Made::Class(class));
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        let around = std::mem::replace(&mut self.in_class, true);
        class.body.iter().for_each(|stmt| self.visit_stmt(stmt));
        self.in_class = around;
    }

    fn called(&mut self, callee: &'s Expr, arguments: Option<&'s Arguments>, again: u32) {
        self.calls.push(EvaluatedCall { callee, arguments, again, in_class: self.in_class });
    }

    fn call(&mut self, call: &'s ExprCall) {
        let arguments = &call.arguments;
        if let Expr::Name(name) = call.func.as_ref() {
            match (name.id.as_str(), &*arguments.args) {
                ("type", [_, bases, _]) => self.classes.push(Made::Of(bases)),
                ("map" | "filter", [callee, ..]) => self.called(callee, None, 0),
                _ => {}
            }
        }
        // `register("name")(value)`
        let (mut callee, mut arguments, mut again) = (&*call.func, arguments, 0);
        while let Expr::Call(inner) = callee {
            (callee, arguments, again) = (&inner.func, &inner.arguments, again + 1);
        }
        self.called(callee, Some(arguments), again);
    }

    fn decorator(&mut self, expr: &'s Expr) {
        match expr {
            Expr::Call(call) => {
                self.visit_arguments(&call.arguments);
                self.called(&call.func, Some(&call.arguments), 1);
            }
            other => self.called(other, None, 0),
        }
    }
}

impl<'s, R: Fn(&Stmt) -> bool> Visitor<'s> for Evaluated<'s, R> {
    fn visit_stmt(&mut self, stmt: &'s Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                function.decorator_list.iter().for_each(|one| self.decorator(&one.expression));
                self.defaults(function);
            }
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|one| self.decorator(&one.expression));
                self.inside(class);
            }
            _ if (self.ran)(stmt) => walk_stmt(self, stmt),
            _ => {}
        }
    }

    fn visit_expr(&mut self, expr: &'s Expr) {
        match expr {
            Expr::Lambda(_) => return,
            Expr::Call(call) => self.call(call),
            _ => {}
        }
        walk_expr(self, expr);
    }
}
