//! Tests that are given examples which are drawn anew in each run: what ran of a function once is not all that runs.

use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};
use rustc_hash::FxHashSet;

use crate::{
    module::{ModuleId, Modules},
    scope,
    trace::Trace,
};

/// The module that draws them.
const DRAWING: &str = "hypothesis.core";

/// Whether a test that ran is given such examples.
pub(super) fn draws(trace: &Trace, modules: &Modules, support: &FxHashSet<ModuleId>) -> bool {
    trace.external.contains_key(DRAWING)
        && modules.iter().filter(|(id, _)| support.contains(id)).any(|(_, module)| {
            let entered = trace.file(module.path()).map_or(&[][..], |file| &file.functions);
            let source = module.syntax.source();
            let mut found = false;
            each_function(module.syntax.body(), &mut |stmt, function| {
                let line = source.line(ruff_text_size::Ranged::start(stmt));
                let is_entered = || entered.iter().any(|one| one.test && one.line == line);
                found |= is_given(function) && is_entered();
            });
            found
        })
}

fn is_given(function: &StmtFunctionDef) -> bool {
    function.decorator_list.iter().any(|decorator| {
        let Expr::Call(call) = &decorator.expression else { return false };
        match call.func.as_ref() {
            Expr::Name(name) => &name.id == "given",
            Expr::Attribute(attribute) => &attribute.attr == "given",
            _ => false,
        }
    })
}

fn each_function<'a>(body: &'a [Stmt], visit: &mut impl FnMut(&'a Stmt, &'a StmtFunctionDef)) {
    scope::for_each_statement(body, &mut |stmt| match stmt {
        Stmt::FunctionDef(function) => visit(stmt, function),
        Stmt::ClassDef(class) => each_function(&class.body, visit),
        _ => {}
    });
}
