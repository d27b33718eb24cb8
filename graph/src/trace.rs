//! The trace of one run of a command: the data that a tracer writes and the slicer reads.
//!
//! This module owns the format, not the tracing: the `tools` crate runs commands. Paths are
//! relative to the traced repository, with `/`. Lines are 1-based. Events are positions on one
//! clock that counts module-level steps of the whole run.

use std::collections::BTreeMap;

use ruff_text_size::{TextRange, TextSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{pythons::Pythons, slice::Place, source::Source};

/// Version of the persisted form; a reader refuses any other.
pub const TRACE_VERSION: u32 = 2;

/// Everything that one traced run says about a repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// Format version, [`TRACE_VERSION`].
    pub version: u32,
    /// Interpreter version: major, minor, micro.
    pub python: (u8, u8, u8),
    /// The mechanism that observed lines: `monitoring` (3.12 on) or `settrace`.
    pub tracer: String,
    /// Internal Python files that ran, sorted by path.
    pub files: Vec<FileTrace>,
    /// Internal modules at the end of the run, by dotted name: what their globals held.
    pub modules: BTreeMap<String, ModuleSnapshot>,
    /// Compiled extension modules of the repository: dotted name to relative path.
    pub compiled: BTreeMap<String, String>,
    /// Modules from outside the repository that were loaded: dotted name to the file (absolute), or
    /// empty for built-in ones.
    pub external: BTreeMap<String, String>,
    /// The external modules that were loaded after the first test had begun, sorted.
    #[serde(default)]
    pub late: Vec<String>,
    /// Functions that override an abstract method: `module:Class.qualname` to method names.
    pub abstract_overrides: BTreeMap<String, Vec<String>>,
    /// The names and imports of code without a file (compiled templates, `exec` of strings).
    pub generated: Generated,
    /// Fixtures in the closure of the collected tests: (name, file, line of the function).
    pub fixtures: Vec<Fixture>,
    /// Files below the repository that were opened for reading by something other than an import,
    /// and directories that were listed: relative paths, sorted.
    pub data: Vec<String>,
    /// True if a process made about 260,000 or more calls of functions whose lines had all been
    /// recorded. Below 3.12 each such call costs several times a plain call. Never set from 3.12
    /// on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub busy: bool,
    /// The innermost repository line of each exception that ended the command, its start or its
    /// collection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<Place>,
    /// A file of the repository that could not be compiled, with the line that says why: that ended the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<Place>,
    /// The entry point that a console script of the repository calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<ConsoleScript>,
    /// Entries of `sys.path` inside the repository when the tests began, relative, and where else the
    /// names of test modules lead from; `""` is its root.
    pub roots: Vec<String>,
}

/// The entry point of a console script.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsoleScript {
    /// Name of the script.
    pub script: String,
    /// Module that is imported.
    pub module: String,
    /// Dotted attribute of the module that is called without arguments; its result is the exit code.
    pub attribute: String,
}

/// One internal file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileTrace {
    /// Relative path.
    pub path: String,
    /// The `__name__`s under which its module code ran, in order of first run.
    pub modules: Vec<String>,
    /// Phase in which its module code first ran.
    pub phase: TracePhase,
    /// The repository line whose import statement or call loaded the file. `None` if external code
    /// loaded it, or if it was loaded only as the parent of a requested module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importer: Option<Place>,
    /// Lines executed before the first test began (collection, imports), sorted. Of a function whose trace was
    /// given up because it ran so often, all that were not seen count as well.
    pub import_lines: Vec<u32>,
    /// Lines executed from the first test on, sorted; the same holds of them.
    pub test_lines: Vec<u32>,
    /// Functions (not lambdas, comprehensions or class bodies) that were entered.
    pub functions: Vec<FunctionTrace>,
    /// Module-level lines on the clock of the run, sorted by line.
    pub module_lines: Vec<ModuleLine>,
    /// Jumps taken by conditions, as (line of the condition, line of the target), sorted; empty where
    /// the interpreter reports none.
    pub branches: Vec<(u32, u32)>,
    /// Lines at which an exception that ended a case was raised, or which it passed; sorted.
    #[serde(default)]
    pub raised: Vec<u32>,
    /// Lines that an exception passed which ended the command, its start or its collection; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<u32>,
    /// Places, as (line, bytes from its start), of what ran of expressions that are evaluated on demand: annotations
    /// from 3.14 on, bounds and defaults of type parameters from 3.12 on, type aliases from 3.14 on; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evaluated: Vec<(u32, u32)>,
}

/// When something ran.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum TracePhase {
    /// Before the first test: collection and the imports it causes. All of a command without pytest
    /// counts as `Test`.
    #[default]
    Import,
    /// From the first test on.
    Test,
}

/// A function that was entered.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct FunctionTrace {
    /// `co_firstlineno`: the line of the first decorator, or of `def`.
    pub line: u32,
    /// `co_name`.
    pub name: String,
    /// Entered before the first test.
    pub import: bool,
    /// Entered from the first test on.
    pub test: bool,
    /// First entered outside the main thread: what of it runs depends on how the threads take turns.
    #[serde(default)]
    pub threaded: bool,
    /// Its place among all functions of the run in the order in which they were first entered.
    #[serde(default)]
    pub order: u64,
}

/// A line of module code on the clock of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModuleLine {
    /// 1-based line.
    pub line: u32,
    /// When the line first started.
    pub start: u64,
    /// When it last ended: the next event of the same module code, its return included.
    pub end: u64,
}

/// The globals of a module at the end of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModuleSnapshot {
    /// Relative path of its file; empty for a namespace package.
    pub path: String,
    /// Global names and what kind of thing each held.
    pub names: BTreeMap<String, Value>,
}

/// The value of a global name, observed without executing any code of the object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// A module, by its `__name__`.
    Module(String),
    /// A class, by `__module__` and `__qualname__`.
    Class(String, String),
    /// A Python function, by `__module__` and `__qualname__`.
    Function(String, String),
    /// Anything else, by the name of its type.
    Other(String),
}

/// A fixture that the collected tests request, directly or through others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fixture {
    /// The name under which it is requested.
    pub name: String,
    /// Relative path of the file that defines it.
    pub path: String,
    /// `co_firstlineno` of its function.
    pub line: u32,
}

/// The imports and names of executed code without a file, and the names in pickles.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generated {
    /// Modules it imported, internal ones only, sorted.
    pub imports: Vec<String>,
    /// Names and attributes it mentions that some internal module defines, sorted.
    pub names: Vec<String>,
}

impl FileTrace {
    /// Returns true if a line was executed in either phase.
    pub fn executed(&self, line: u32) -> bool {
        [&self.import_lines, &self.test_lines].iter().any(|ran| ran.binary_search(&line).is_ok())
    }

    /// Returns true if any part of an expression that is evaluated on demand was evaluated. `source` is the file's.
    pub fn evaluates(&self, source: &Source, range: TextRange) -> bool {
        evaluates(&self.evaluated, source, range)
    }
}

/// Returns true if one of some sorted places, as (line, bytes from its start), lies in a range.
pub(crate) fn evaluates(places: &[(u32, u32)], source: &Source, range: TextRange) -> bool {
    let place = |at: TextSize| {
        let line = source.line(at);
        (line, (at - source.line_start(line)).to_u32())
    };
    let (from, to) = (place(range.start()), place(range.end()));
    let at = places.partition_point(|one| *one < from);
    places.get(at).is_some_and(|one| *one < to)
}

impl Trace {
    /// The version that it ran on.
    pub fn pythons(&self) -> Pythons {
        Pythons::only((self.python.0, self.python.1))
    }

    /// The record of a file, by its relative path.
    pub fn file(&self, path: &str) -> Option<&FileTrace> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(at)
    }
}
