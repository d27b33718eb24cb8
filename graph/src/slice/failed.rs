//! Finds failed imports of internal modules, and the external import at which each failed. It is
//! the last import of the last module in the chain.

use std::iter;

use ruff_python_ast::{
    Expr, Stmt,
    visitor::{Visitor, walk_stmt},
};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::{Place, Sliceable, ran::ModuleRun};
use crate::{
    module::{ModuleId, Modules},
    source::Source,
    syntax::with_deep_stack,
    trace::Trace,
};

/// An import of a function or a class that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedImport {
    /// The place of the import.
    pub place: Place,
    /// The import that it failed at, on one line.
    pub text: String,
}

/// Returns the failed imports of a run, among the executed statements. Calls `sources` for the
/// files of the trace only if an executed module was missing at the end.
pub fn failed_imports(
    trace: &Trace,
    tests: &[(String, Vec<String>)],
    sources: impl FnOnce() -> Vec<Source>,
) -> Vec<FailedImport> {
    let is_gone = |name: &String| !trace.modules.contains_key(name);
    if !trace.files.iter().any(|file| file.modules.iter().any(is_gone)) {
        return Vec::new();
    }
    let sources = sources();
    with_deep_stack(|| {
        // Where nothing can be sliced, nothing is known to have failed.
        let parsed = Sliceable::parse(trace, sources, tests, &Default::default());
        parsed.map(|all| all.failed_imports(trace)).unwrap_or_default()
    })
}

impl Sliceable {
    fn failed_imports(&self, trace: &Trace) -> Vec<FailedImport> {
        let modules = &self.modules;
        let ran: Vec<ModuleRun> =
            modules.iter().map(|(id, module)| self.ran(trace, false, id, module)).collect();
        let failures = Failures { modules, ran: &ran, trace };
        let mut found = Vec::new();
        for (id, module) in modules.iter() {
            let source = module.syntax.source();
            for stmt in inner_imports(module.syntax.body()) {
                if ran[id.0 as usize].statement(source, stmt)
                    && let Some(text) = failures.of(id, stmt)
                {
                    let line = source.line(stmt.start());
                    let place = Place { path: module.path().to_owned(), line };
                    found.push(FailedImport { place, text: on_one_line(text) });
                }
            }
        }
        found
    }
}

/// The imports inside functions and classes.
pub(super) fn inner_imports(body: &[Stmt]) -> Vec<&Stmt> {
    let mut inner = Inner::default();
    body.iter().for_each(|stmt| inner.visit_stmt(stmt));
    inner.found
}

#[derive(Default)]
struct Inner<'a> {
    depth: usize,
    found: Vec<&'a Stmt>,
}

impl<'a> Visitor<'a> for Inner<'a> {
    // No expression holds an import.
    fn visit_expr(&mut self, _: &'a Expr) {}

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let is_import = matches!(stmt, Stmt::Import(_) | Stmt::ImportFrom(_));
        if is_import && self.depth > 0 {
            self.found.push(stmt);
        }
        let opens = matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_));
        self.depth += usize::from(opens);
        walk_stmt(self, stmt);
        self.depth -= usize::from(opens);
    }
}

/// The data that decides whether an import failed.
pub(super) struct Failures<'a> {
    pub(super) modules: &'a Modules,
    pub(super) ran: &'a [ModuleRun],
    pub(super) trace: &'a Trace,
}

impl<'a> Failures<'a> {
    /// Returns the external import whose failure aborted the module that `stmt` imports, possibly
    /// transitively.
    pub(super) fn of(&self, module: ModuleId, stmt: &Stmt) -> Option<&'a str> {
        let step = |module, stmt: &Stmt| {
            let next = self.broken(module, stmt)?;
            Some((next, self.last(next)?))
        };
        let mut seen = FxHashSet::default();
        let chain = iter::successors(step(module, stmt), |(module, stmt)| step(*module, stmt));
        let (module, last) = chain.take_while(|(module, _)| seen.insert(*module)).last()?;
        let module = self.modules.get(module);
        let is_end = module.syntax.body().last().is_some_and(|end| end.start() == last.start());
        let outside = self.outside(last)?;
        // Where all of the module ran, it may have been taken away since.
        (!is_end || outside.iter().any(|name| !self.trace.external.contains_key(*name)))
            .then(|| module.syntax.source().slice(last))
    }

    /// The last statement of a module that ran.
    fn last(&self, module: ModuleId) -> Option<&'a Stmt> {
        let syntax = &self.modules.get(module).syntax;
        let ran = &self.ran[module.0 as usize];
        syntax.body().iter().rfind(|stmt| ran.statement(syntax.source(), stmt))
    }

    /// The modules that an import brings, where all are from outside.
    fn outside<'s>(&self, stmt: &'s Stmt) -> Option<Vec<&'s str>> {
        let names: Vec<&str> = match stmt {
            Stmt::Import(import) => import.names.iter().map(|alias| alias.name.as_str()).collect(),
            Stmt::ImportFrom(import) if import.level == 0 => vec![import.module.as_deref()?],
            _ => return None,
        };
        (!names.iter().any(|name| self.modules.is_internal(name))).then_some(names)
    }

    /// Returns the first internal module that an import loads and that is gone at the end, a
    /// package before its modules. Such a module could not be loaded.
    fn broken(&self, module: ModuleId, stmt: &Stmt) -> Option<ModuleId> {
        let asked: Vec<String> = match stmt {
            Stmt::ImportFrom(import) => {
                let from = import.module.as_ref().map(|name| name.as_str());
                let from = self.modules.absolute(module, import.level, from)?;
                // What the module has under the name is given, whatever became of a module of that name.
                let has = self.trace.modules.get(&from).map(|module| &module.names);
                let has = |name: &str| has.is_some_and(|names| names.contains_key(name));
                let names = import.names.iter().filter(|alias| !has(&alias.name));
                names.map(|alias| format!("{from}.{}", alias.name)).collect()
            }
            Stmt::Import(import) => import.names.iter().map(|one| one.name.to_string()).collect(),
            _ => return None,
        };
        asked.iter().find_map(|asked| {
            let ends = asked.match_indices('.').map(|(at, _)| at).chain([asked.len()]);
            let mut modules = ends.map(|end| &asked[..end]);
            let lost = modules.find(|name| !self.trace.modules.contains_key(*name))?;
            self.modules.find(lost)
        })
    }
}

/// An import without its ends of lines and comments: it holds no string literals.
pub(super) fn on_one_line(import: &str) -> String {
    let lines = import.split(['\n', '\r']).map(|line| line.split('#').next().unwrap_or_default());
    let words = lines.flat_map(|line| line.trim().trim_end_matches('\\').split_whitespace());
    words.collect::<Vec<_>>().join(" ").replace("( ", "(")
}
