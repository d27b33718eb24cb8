//! Python source as data: files, syntax, modules, names, graphs, ranking, queries, and the pure half
//! of slicing (sources and a trace in, a plan and its text out).
//!
//! This crate starts no process, opens no socket and is never async.

mod trace;

pub use trace::{
    FileTrace, Fixture, FunctionTrace, Generated, ModuleLine, ModuleSnapshot, Phase, TRACE_VERSION,
    Trace, Value,
};
