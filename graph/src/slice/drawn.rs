//! Keeps code that only another run executes because its data is random.
//!
//! A library may generate examples for tests ([`draws`]), or code may use random generators itself.
//! Then the random values are followed ([`flow`]) to the conditions that may differ in another run
//! ([`varied`]).

mod flow;
mod sources;
mod varied;

use ruff_python_ast::StmtFunctionDef;
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

pub(super) use self::varied::vary;
use super::scan::called;
use crate::{
    module::{ModuleId, Modules},
    scope,
    trace::Trace,
};

/// The module that draws examples.
const DRAWING: &str = "hypothesis.core";

/// Returns true if an executed test receives generated examples.
pub(super) fn draws(trace: &Trace, modules: &Modules, support: &FxHashSet<ModuleId>) -> bool {
    trace.external.contains_key(DRAWING)
        && modules.iter().filter(|(id, _)| support.contains(id)).any(|(_, module)| {
            let entered = trace.file(module.path()).map_or(&[][..], |file| &file.functions);
            let source = module.syntax.source();
            let mut found = false;
            scope::for_each_function(module.syntax.body(), &mut |stmt, function| {
                let line = source.line(stmt.start());
                let is_entered = || entered.iter().any(|one| one.test && one.line == line);
                found |= is_given(function) && is_entered();
            });
            found
        })
}

fn is_given(function: &StmtFunctionDef) -> bool {
    function.decorator_list.iter().any(|decorator| {
        let call = decorator.expression.as_call_expr();
        call.and_then(|call| called(&call.func)).is_some_and(|name| name == "given")
    })
}
