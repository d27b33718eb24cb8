//! Finds modules that a function imports by a computed name: no reference leads to them.
//!
//! The resolver knows the modules of import statements, and the search knows the uses of module
//! objects.

use ruff_python_ast::Stmt;
use ruff_text_size::Ranged;
use rustc_hash::FxHashMap;

use super::{first_use, ran::ModuleRun, special_methods::GETATTR};
use crate::{
    module::{ModuleId, Modules},
    scope,
    source::Source,
    trace::{Trace, TracePhase},
};

/// Returns the modules that functions imported by a computed name after the first test had begun.
/// The importing line must be among the executed lines of a narrowed trace as well.
pub(super) fn imported_by_name(modules: &Modules, trace: &Trace, ran: &[ModuleRun]) -> Vec<String> {
    let by_path: FxHashMap<&str, ModuleId> =
        modules.iter().map(|(id, module)| (module.path(), id)).collect();
    let asked = modules.iter().filter(|(_, module)| {
        let file = trace.file(module.path()).filter(|file| file.phase == TracePhase::Test);
        let Some(place) = file.and_then(|file| file.importer.as_ref()) else { return false };
        let Some(&by) = by_path.get(place.path.as_str()) else { return false };
        let (syntax, line) = (&modules.get(by).syntax, place.line);
        let (source, body) = (syntax.source(), syntax.body());
        trace.modules.contains_key(&module.name)
            && ran[by.0 as usize].any(line, line)
            && computes(source, body, line, false)
            && !in_getattr(source, body, line)
            && !first_use::is_announced(modules, trace, &module.name)
    });
    asked.map(|(_, module)| module.name.clone()).collect()
}

/// Returns true if a line belongs to a function and to no import statement.
fn computes(source: &Source, body: &[Stmt], line: u32, in_function: bool) -> bool {
    let (mut computes, mut imports) = (false, false);
    scope::for_each_statement(body, &mut |stmt| {
        if !stands_in(source, stmt, line) {
            return;
        }
        match stmt {
            Stmt::FunctionDef(function) => {
                computes |= self::computes(source, &function.body, line, true);
            }
            Stmt::ClassDef(class) => {
                computes |= self::computes(source, &class.body, line, in_function);
            }
            Stmt::Import(_) | Stmt::ImportFrom(_) => imports = true,
            _ => computes |= in_function,
        }
    });
    computes && !imports
}

/// Returns true if a line belongs to the `__getattr__` of a module. In a gist such a module is
/// available without calling `__getattr__`.
fn in_getattr(source: &Source, body: &[Stmt], line: u32) -> bool {
    let mut found = false;
    scope::for_each_statement(body, &mut |stmt| {
        let named = matches!(stmt, Stmt::FunctionDef(function) if function.name.id == GETATTR);
        found |= named && stands_in(source, stmt, line);
    });
    found
}

/// Returns true if a line belongs to a statement.
pub(super) fn stands_in(source: &Source, stmt: &Stmt, line: u32) -> bool {
    let (first, last) = source.line_span(stmt.range());
    (first..=last).contains(&line)
}
