//! Finds the imports of a repository's compiled extensions from its Python modules.
//!
//! An extension cannot be inlined and stays importable, but the modules that it imports are
//! removed. No trace sees this need, since compiled code imports without executing a line. This
//! file prepares a program and reads its output; the caller executes it.

use graph::Trace;

const PROGRAM: &str = include_str!("extensions.py");

/// The program that imports the extensions of a trace; none where it has none.
pub(crate) fn program(trace: &Trace) -> Option<String> {
    if trace.compiled.is_empty() {
        return None;
    }
    let extensions: Vec<&String> = trace.compiled.keys().collect();
    let modules: Vec<&String> = trace.modules.keys().collect();
    let facts = serde_json::to_string(&(extensions, modules, &trace.roots)).ok()?;
    // A quote of three cannot be in it: names and paths are in double quotes.
    Some(PROGRAM.replace("@FACTS@", &facts.replace('\'', "\\u0027")))
}

/// Pairs of a module and a name; the name is empty where the module itself is needed.
pub(crate) fn read(log: &str) -> Vec<(String, String)> {
    let mut needs: Vec<(String, String)> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    needs.sort_unstable();
    needs.dedup();
    needs
}
