//! From sources and a trace to a gist: which statements of a repository are needed for one command,
//! in which order, and under which names.
//!
//! Pure: sources and a [`Trace`](crate::Trace) in, a [`Gist`] out. Text is cut from the sources by
//! byte range and only re-indented, never re-printed; every line that stands nowhere in the original
//! is marked as glue. Running things (the trace, probes, verification) belongs to the `tools` crate.

mod broken;
mod by_name;
mod changes;
mod drawn;
mod emit;
mod failed;
mod first_use;
mod hooks;
mod inner;
mod loggers;
mod mentions;
mod name;
mod on_demand;
mod outside;
mod plan;
mod program;
mod prune;
mod purity;
mod ran;
mod reduce;
mod render;
mod scan;
mod select;
mod setters;
mod special_methods;
mod texts;
mod why;

use std::collections::BTreeSet;

use ruff_python_ast::Stmt;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::{
    module::{Module, ModuleId, Modules},
    resolve::Resolver,
    scope,
    source::Source,
    syntax::{Syntax, with_deep_stack},
    trace::Trace,
};
pub use failed::{FailedImport, failed_imports};
pub use hooks::ran_hooks;
pub use plan::{Gist, GistLine, LineOrigin, Place, Plan, PlannedUnit, Reason};
use program::{Program, module_name};
use ran::ModuleRun;
pub use reduce::{Reduction, without_imports};
pub use special_methods::decides;
pub use why::{LineAnswer, LineFate, Recorded, known_files, why};

/// The deviations of a slice from the default, learned from a failed run or a probing run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Adjustments {
    /// Keep docstrings: something reads them at run time.
    pub docstrings: bool,
    /// Treat annotations as references also where they are deferred: something reads them at run time.
    pub annotations: bool,
    /// Write annotations below a future import as texts, so that the gist needs none: others that modules without it have
    /// are read as what they are.
    pub apart: bool,
    /// Replace `__name__` by the name of the original module: it shows in what the command prints.
    pub module_names: bool,
    /// Keep conditions that were never true when evaluating them may have an effect.
    pub impure: bool,
    /// Keep all conditions that were evaluated, even pure ones and whatever `impure` says: one may
    /// have raised an exception that was caught. Keep side effects as well, even if only the
    /// registering code reads them.
    pub conditions: bool,
    /// Keep side effects of modules that nothing kept seems to need.
    pub side_effects: bool,
    /// Keep statements that call what has effects outside of the program, as far as `side_effects` keeps any.
    pub outside: bool,
    /// Uncalled methods that stay as stubs; `None` keeps all that something may ask for.
    #[serde(rename = "uncalled", alias = "stubs")]
    pub stubs: Option<Vec<Place>>,
    /// Uncalled methods that stay besides those.
    #[serde(rename = "more_uncalled", alias = "more_stubs")]
    pub more_stubs: Vec<Place>,
    /// Functions that are kept whole, unexecuted lines included, by their first line.
    pub whole: Vec<Place>,
    /// Statements (by their first line) that are kept in any case.
    pub keep: Vec<Place>,
    /// Statements that are left out in any case.
    pub drop: Vec<Place>,
    /// Modules that are registered in `sys.modules` under their own names.
    pub register: Vec<String>,
    /// Names that something outside the gist, a compiled extension for one, asks a module for.
    pub demands: Vec<(String, String)>,
    /// External modules that are imported first, because something dropped imported them.
    pub imports: Vec<String>,
    /// Internal modules that become objects of their own.
    pub namespaces: Vec<String>,
    /// Classes and functions (by their first line) that get their own `__module__`, since code
    /// shows or reads it. Their module is registered as well.
    pub homes: Vec<Place>,
    /// Hide `DeprecationWarning`s, which Python shows where the code of a script causes them: in a gist all code is that.
    pub quiet: bool,
    /// Let the hooks of conftests and of the repository's plugins take part: what they do to the tests shows.
    pub hooks: bool,
    /// Run the code of a module that a function used first at that time, not while the gist is loaded, and leave imports
    /// lazy that are.
    pub first_use: bool,
    /// The lines that an earlier gist executed, mapped back to the sources; narrows the trace.
    pub executed: Option<Vec<ExecutedFile>>,
}

/// Executed lines and entered functions of one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecutedFile {
    /// Relative path.
    pub path: String,
    /// Executed 1-based lines.
    pub lines: Vec<u32>,
    /// First lines of the functions that were entered from the first test on.
    pub functions: Vec<u32>,
    /// Lines that were part of the gist, if it did not have the whole file. Other lines are
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Vec<u32>>,
    /// Lines behind which the run had an empty block and did not enter it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle: Vec<u32>,
}

/// Why no slice can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SliceError {
    /// The trace has no internal file.
    #[error("slice: the command ran no file of the repository")]
    NothingRan,
    /// A file that ran does not parse.
    #[error("slice {path}: line {line}: {message}")]
    Syntax {
        /// The file.
        path: String,
        /// 1-based line.
        line: u32,
        /// The parser's message.
        message: String,
    },
}

impl Default for Adjustments {
    fn default() -> Self {
        Self {
            docstrings: false,
            annotations: false,
            apart: false,
            module_names: false,
            impure: true,
            conditions: false,
            side_effects: true,
            outside: true,
            stubs: None,
            more_stubs: Vec::new(),
            whole: Vec::new(),
            keep: Vec::new(),
            drop: Vec::new(),
            register: Vec::new(),
            demands: Vec::new(),
            imports: Vec::new(),
            namespaces: Vec::new(),
            homes: Vec::new(),
            quiet: false,
            hooks: false,
            first_use: false,
            executed: None,
        }
    }
}

/// The parsed modules of a traced run, kept between slices of one command.
#[derive(Debug)]
pub struct Sliceable {
    modules: Modules,
    support: FxHashSet<ModuleId>,
    /// Other modules that help the tests.
    helpers: FxHashSet<ModuleId>,
    /// Sources that ran as data: not modules of the repository.
    data: Vec<Syntax>,
    /// The file that could not be compiled, which ended the command.
    broken: Option<Syntax>,
}

impl Sliceable {
    /// Parses the sources of a trace. `helpers` are paths of modules that help the tests: of their
    /// functions every evaluated statement is kept.
    ///
    /// # Errors
    /// No code of the repository was executed, or an executed file does not parse.
    pub fn parse(
        trace: &Trace,
        sources: Vec<Source>,
        tests: &[(String, Vec<String>)],
        helpers: &BTreeSet<String>,
    ) -> Result<Self, SliceError> {
        use rayon::iter::{IntoParallelIterator, ParallelIterator};
        let parsed: Vec<Syntax> = sources.into_par_iter().map(Syntax::parse).collect();
        let mut list = Vec::new();
        let (mut data, mut broken) = (Vec::new(), None);
        let mut support_paths = FxHashSet::default();
        for syntax in parsed {
            let path = syntax.source().path().to_owned();
            let Some(file) = trace.file(&path) else { continue };
            if trace.broken.as_ref().is_some_and(|place| place.path == path) {
                broken = Some(syntax);
                continue;
            }
            let test = tests.iter().any(|(test, _)| *test == path);
            let conftest = path == "conftest.py" || path.ends_with("/conftest.py");
            match module_name(trace, file, test || conftest) {
                Some(name) => {
                    if let Some((line, message)) = syntax.errors().into_iter().next() {
                        return Err(SliceError::Syntax { path, line, message });
                    }
                    if test || conftest {
                        support_paths.insert(path);
                    }
                    list.push(Module::new(name, syntax));
                }
                None => data.push(syntax),
            }
        }
        if list.is_empty() && broken.is_none() {
            return Err(SliceError::NothingRan);
        }
        let packages = trace.modules.keys().chain(trace.compiled.keys()).cloned();
        let modules = Modules::new(list, packages);
        let those = |is: &dyn Fn(&str) -> bool| {
            modules.iter().filter(|(_, module)| is(module.path())).map(|(id, _)| id).collect()
        };
        let support = those(&|path| support_paths.contains(path));
        let helpers = those(&|path| helpers.contains(path));
        Ok(Self { modules, support, helpers, data, broken })
    }

    /// The modules that were parsed.
    pub fn modules(&self) -> &Modules {
        &self.modules
    }

    /// Modules from outside the repository that its module code imports before the first test.
    pub fn imports_before_tests(&self, trace: &Trace) -> FxHashSet<String> {
        let mut found = FxHashSet::default();
        for (id, module) in self.modules.iter() {
            let Some(file) = trace.file(module.path()) else { continue };
            let source = module.syntax.source();
            let mut add = |name: String| {
                if trace.external.contains_key(&name) {
                    found.insert(name);
                }
            };
            scope::for_each_statement(module.syntax.body(), &mut |stmt| {
                let line = source.line(ruff_text_size::Ranged::start(stmt));
                if file.import_lines.binary_search(&line).is_err() {
                    return;
                }
                match stmt {
                    Stmt::Import(import) => {
                        import.names.iter().for_each(|alias| add(alias.name.to_string()));
                    }
                    Stmt::ImportFrom(import) => {
                        let from = import.module.as_ref().map(|name| name.as_str());
                        let Some(from) = self.modules.absolute(id, import.level, from) else {
                            return;
                        };
                        for alias in &import.names {
                            add(format!("{from}.{}", alias.name));
                        }
                        add(from);
                    }
                    _ => {}
                }
            });
        }
        found
    }

    /// Slices: decides what is kept, in which order and under which names, and cuts the text.
    pub fn slice(
        &self,
        trace: &Trace,
        tests: &[(String, Vec<String>)],
        gist_path: &str,
        adjustments: &Adjustments,
    ) -> (Plan, Gist) {
        with_deep_stack(|| self.slice_here(trace, tests, gist_path, adjustments))
    }

    /// Returns the executed lines and functions of a module. With `draws`, another run may generate
    /// other examples.
    fn ran(&self, trace: &Trace, draws: bool, id: ModuleId, module: &Module) -> ModuleRun {
        let Some(file) = trace.file(module.path()) else { return ModuleRun::default() };
        let mut ran = ModuleRun::new(file);
        ran.know_compiled_anew(&module.syntax);
        ran.varies = draws && !self.support.contains(&id);
        if lacks_jumps(trace) {
            ran.thread_jumps(&module.syntax);
        }
        ran
    }

    /// Narrows the executed lines of each module to those of a later run. Keeps the `missed`
    /// places: they were executed at another time, and not every run executes the same code.
    fn narrow(
        &self,
        trace: &Trace,
        executed: &[ExecutedFile],
        missed: &[Place],
        ran: &mut [ModuleRun],
    ) {
        for (id, module) in self.modules.iter() {
            if trace.file(module.path()).is_none() {
                continue;
            }
            let ran = &mut ran[id.0 as usize];
            // What of the tests' support stays is what the original ran, for other tests too.
            if !self.helpers.contains(&id) && !self.support.contains(&id) {
                let one = executed.iter().find(|one| one.path == module.path());
                let missed = missed.iter().filter(|place| place.path == module.path());
                ran.narrow(&module.syntax, one, &missed.map(|place| place.line).collect());
            }
            // What a later run narrows to is the same kind of trace, and lacks the same jumps.
            if lacks_jumps(trace) {
                ran.thread_jumps(&module.syntax);
            }
        }
    }

    fn slice_here(
        &self,
        trace: &Trace,
        tests: &[(String, Vec<String>)],
        gist_path: &str,
        adjustments: &Adjustments,
    ) -> (Plan, Gist) {
        if let (Some(syntax), Some(place)) = (&self.broken, &trace.broken) {
            return broken::gist(syntax, place, adjustments.side_effects);
        }
        let draws = drawn::draws(trace, &self.modules, &self.support);
        let mut ran: Vec<ModuleRun> =
            self.modules.iter().map(|(id, module)| self.ran(trace, draws, id, module)).collect();
        let mut original = None;
        if let Some(executed) = adjustments.executed.as_ref().filter(|_| !draws) {
            original = Some(ran.clone());
            self.narrow(trace, executed, &adjustments.more_stubs, &mut ran);
        }
        drawn::vary(&self.modules, &mut ran, original.as_deref());
        let imported = by_name::imported_by_name(&self.modules, trace, &ran);
        let mut adjustments = adjustments.clone();
        for list in [&mut adjustments.namespaces, &mut adjustments.register] {
            let more: Vec<_> = imported.iter().filter(|name| !list.contains(name)).collect();
            list.extend(more.into_iter().cloned());
        }
        let adjustments = &adjustments;
        let resolver = Resolver::new(&self.modules, Some(trace), |id, stmt| {
            let source = self.modules.get(id).syntax.source();
            let ran = &ran[id.0 as usize];
            ran.statement(source, stmt)
                || matches!(stmt, Stmt::If(_) | Stmt::Try(_)) && {
                    ran.range(source, ruff_text_size::Ranged::range(stmt))
                }
        });
        let support = (self.support.clone(), &self.helpers);
        let mut program = Program::new(&resolver, trace, &ran, support, adjustments);
        let mut held = BTreeSet::new();
        loop {
            let selection = select::select(program, tests, &self.data, adjustments, &held);
            match name::name(&selection, adjustments) {
                Ok(naming) => {
                    let (plan, gist) = emit::emit(&selection, &naming, gist_path, adjustments);
                    return (Plan { imported, ..plan }, gist);
                }
                Err(more) => held.extend(more),
            }
            program = selection.program;
        }
    }
}

/// Returns true if the trace lacks jump lines: before Python 3.10 the compiler threads a jump to
/// its final target.
fn lacks_jumps(trace: &Trace) -> bool {
    trace.python < (3, 10, 0)
}
