//! Slices small programs with execution marks on their lines, and compares the gists with what a
//! correct slicer must write.
//!
//! Executes nothing: the harness turns marks into a [`gistify_graph::Trace`], as a tracer would
//! have.

mod adjustments;
mod annotations;
mod blocks;
mod branches;
mod by_name;
mod collisions;
mod decorators;
mod drawn;
mod dynamic;
mod early;
mod effects;
mod failed;
mod first_use;
mod functions;
mod getattr;
mod globals;
mod harness;
mod hooks;
mod imports;
mod marked;
mod names;
mod objects;
mod prune;
mod registering;
mod scopes;
mod setters;
mod support;
mod text;
mod unwritten;

use harness::check;
