//! Python source as data: files, syntax, modules, names, graphs, ranking, queries, and the pure half
//! of slicing (sources and a trace in, a plan and its text out).
//!
//! This crate starts no process, opens no socket and is never async.

mod module;
mod resolve;
mod scope;
mod slice;
mod source;
mod syntax;
mod trace;

pub use module::{Module, ModuleId, Modules};
pub use resolve::{Binding, BindingKind, Resolver, Target};
pub use slice::{
    Adjustments, Executed, Gist, GistLine, Kept, Origin, Place, Plan, Reason, SliceError, Sliceable,
};
pub use source::{Source, SourceError};
pub use syntax::{Syntax, with_deep_stack};
pub use trace::{
    FileTrace, Fixture, FunctionTrace, Generated, ModuleLine, ModuleSnapshot, Phase, TRACE_VERSION,
    Trace, Value,
};
