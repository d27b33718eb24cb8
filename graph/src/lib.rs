//! Python source as data: files, syntax, modules, names, graphs, ranking, lookups in a graph, and the pure half
//! of slicing (sources and a trace in, a gist and the reason for each line out).
//!
//! This crate starts no process, opens no socket and is never async.

mod assemble;
mod beneath;
mod bound_uses;
mod cache;
mod commented;
mod completion;
mod contents;
mod context;
mod deferred;
mod documented;
mod facts;
mod flow;
mod glue;
mod graph;
mod handlers;
mod importance;
mod imported;
mod internal_imports;
mod line_graph;
mod literals;
mod load;
mod module;
mod needs;
mod outline;
mod passage;
mod pythons;
mod query;
mod rank;
mod render;
mod repro;
mod resolve;
mod scope;
mod slice;
mod source;
mod stated;
mod syntax;
mod trace;
mod tree;
mod walk;

pub use beneath::open_beneath;
pub use bound_uses::{BoundUse, bound_uses};
pub use cache::{CacheReport, GraphCache, GraphCacheError};
pub use commented::commented;
pub use completion::{
    CompletionFunction, ContextSize, ContextTexts, Dependency, DependencyKind, Extraction,
    ExtractionOptions, Unfit, extract_functions, extract_of_sources, shift_lines,
};
pub use contents::{ContentLine, contents};
pub use context::{
    ContextOptions, RepositoryContext, context, count_tokens, map, module_list, summary,
};
pub use deferred::{deferred, postpones_annotations};
pub use documented::{DOCSTRING, Documented, documented, module_docstring};
pub use facts::{EntityKind, ImportPlace, Measures, Span};
pub use glue::{
    DataFile, FilePath, Glue, GlueTarget, Guard, Held, Imported, Spelling, undo_spellings,
};
pub use graph::{
    BuildOptions, CallEdge, CallSite, Entity, EntityId, FileId, Graph, ModuleEdge, ModuleNode,
    NameIndex, Tier, Unresolved, Use,
};
pub use handlers::handlers;
pub use importance::{
    Features, Focus, History, RankOptions, RankedClass, RankedModule, Ranking, Weights, call_graph,
    features, module_graph, rank,
};
pub use imported::imported;
pub use internal_imports::internal_imports;
pub use line_graph::{LineGraph, LineId, Order};
pub use literals::literals;
pub use module::{Module, ModuleId, Modules};
pub use needs::{Need, NeedsPage, NumberedFile, needs, shown_lines, top_modules};
pub use outline::{
    Captures, Document, OutlineError, OutlineItem, SyntaxCapture, SyntaxProblem, outline,
    tree_tokens,
};
pub use passage::{Passage, Statement, statement};
pub use pythons::Pythons;
pub use query::{Lookup, PossibleCall, Queries, Reached, Way};
pub use rank::PageRank;
pub use render::{DrawnGraph, dot, page};
pub use repro::{
    Arrangement, MAIN_HEAD, Reach, completed, direct_calls, halved_parameters, imported_modules,
    inlined_fixtures, laid_out, unwrapped, with_data, with_joined_brackets, without_annotations,
    without_bases, without_choices, without_decorators, without_elements, without_large_lists,
    without_name, without_parameters, without_string_lines, without_unread_names,
    without_unread_parameters,
};
pub use resolve::{Binding, BindingKind, Resolver, Target};
pub use slice::{
    Adjustments, ExecutedFile, FailedImport, Gist, GistLine, LineAnswer, LineFate, LineOrigin,
    Place, Plan, PlannedUnit, Reason, Recorded, Reduction, SliceError, Sliceable, decides,
    failed_imports, known_files, ran_hooks, why, without_imports,
};
pub use source::{Source, SourceError, declared_encoding};
pub use stated::{Stated, stated, undefined};
pub use syntax::{Syntax, syntax_errors, with_deep_stack};
pub use trace::{
    ConsoleScript, FileTrace, Fixture, FunctionTrace, Generated, ModuleLine, ModuleSnapshot,
    TRACE_VERSION, Trace, TracePhase, Value,
};
pub use tree::{
    Level, Texts, TreeNode, doc_head, module_tree, numbered, parse_numbered, signature, tree,
    with_number,
};
pub use walk::{FileSkipReason, FoundFile, SkippedFile, WalkOptions, walk};
