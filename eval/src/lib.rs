//! Tasks, the reference run, scorers and the bench: how a gist is judged.

mod bench;
mod blocks;
mod codebase;
mod error;
mod evaluate;
mod inject;
mod integrity;
mod normalize;
mod observation;
mod reference;
mod report;
mod scorers;
mod solver;
mod source_map;
mod store;
mod supply;
mod support;
mod task;
mod tokens;

pub use bench::{BenchEvent, BenchSpec, Supplied, Supply, TaskOutcome, TaskResult, bench, results};
pub use blocks::{Class, Key, Line, Outline, Role};
pub use codebase::{CodeFile, Codebase, Extent};
pub use error::EvalError;
pub use evaluate::{
    Codebases, EvaluateSpec, Evaluation, GistError, ReferenceSummary, Submission, Writer, evaluate,
    read_gist,
};
pub use integrity::{Finding, Integrity, Rule};
pub use normalize::Normalizer;
pub use observation::{Failure, Observation, Pattern, Phase};
pub use reference::{
    Expected, ExpectedFailure, ExpectedPhase, Quarantine, Reference, ReferenceSpec,
};
pub use report::{Format, SuiteRow, Summary, TaskRow, summarize};
pub use scorers::{
    Category, Cause, Difference, Effort, Executed, ExecutionRate, Existence, Fidelity, Idle,
    IdleLine, MissingLine, PassRate, Reason, Size, TestScore, What, execution, existence,
};
pub use solver::{Attempt, AttemptRecord, Solver, TaskContext};
pub use source_map::SourceMap;
pub use store::{Record, StoreError, read, write};
pub use supply::{CachedSupply, Known};
pub use task::{Counts, Difficulty, Mutation, Suite, Task, TaskError};
