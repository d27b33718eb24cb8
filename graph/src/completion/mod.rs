//! Functions of a repository as completion tasks (RepoExec, arXiv 2406.11927, sections 4.1 and 5.1): each function of
//! a module's top level with its dependency set and its contexts of three sizes.
//!
//! Texts are cut from the sources by byte range. Nothing here runs; which functions have tests is for others.
//!
//! ```text
//! library -> dependency_set -> context -> function
//! ```

mod context;
mod dependency_set;
mod function;
mod library;
mod names;

pub use context::{ContextSize, ContextTexts, shift_lines};
pub use dependency_set::{Dependency, DependencyKind};
pub use function::{
    CompletionFunction, Extraction, ExtractionOptions, Unfit, extract_functions, extract_of_sources,
};
