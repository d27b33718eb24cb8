//! Modules that a function imports by a name which it computes: no reference leads to them.
//!
//! Where a statement imports, the resolver knows what; what is asked of a module as a whole, the search knows.

use ruff_python_ast::Stmt;
use ruff_text_size::Ranged;
use rustc_hash::FxHashMap;

use super::{program::GETATTR, ran::Ran};
use crate::{
    module::{ModuleId, Modules},
    scope,
    source::Source,
    trace::{Phase, Trace},
};

/// Those that were loaded so from the first test on, while the line that did it still runs.
pub(super) fn imported_by_name(modules: &Modules, trace: &Trace, ran: &[Ran]) -> Vec<String> {
    let by_path: FxHashMap<&str, ModuleId> =
        modules.iter().map(|(id, module)| (module.path(), id)).collect();
    let asked = modules.iter().filter(|(_, module)| {
        let file = trace.file(module.path()).filter(|file| file.phase == Phase::Test);
        let Some(place) = file.and_then(|file| file.importer.as_ref()) else { return false };
        let Some(&by) = by_path.get(place.path.as_str()) else { return false };
        let (syntax, line) = (&modules.get(by).syntax, place.line);
        let (source, body) = (syntax.source(), syntax.body());
        trace.modules.contains_key(&module.name)
            && ran[by.0 as usize].any(line, line)
            && computes(source, body, line, false)
            && !in_getattr(source, body, line)
    });
    asked.map(|(_, module)| module.name.clone()).collect()
}

/// Whether a line belongs to a function and to no import statement.
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

/// Whether a line belongs to the `__getattr__` of a module. Whoever asks that for another module gets it in a gist
/// without asking.
fn in_getattr(source: &Source, body: &[Stmt], line: u32) -> bool {
    let mut found = false;
    scope::for_each_statement(body, &mut |stmt| {
        let named = matches!(stmt, Stmt::FunctionDef(function) if function.name.id == GETATTR);
        found |= named && stands_in(source, stmt, line);
    });
    found
}

/// Whether a line belongs to a statement.
pub(super) fn stands_in(source: &Source, stmt: &Stmt, line: u32) -> bool {
    let (first, last) = source.line_span(stmt.range());
    (first..=last).contains(&line)
}
