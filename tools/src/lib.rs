//! The steps of a session: run, trace, slice, view, search, edit, execute and submit, each in a
//! sandbox. This crate knows no model and no score.

mod archive;
mod bash;
mod cache;
mod candidate;
mod chain;
mod clock;
mod command;
mod edit;
mod environment;
mod execute;
mod find;
mod host;
mod ledger;
mod lock;
mod matched;
mod normalize;
mod output_mark;
mod patch;
mod pattern;
mod pip;
mod progress;
mod query;
mod relate;
mod repository;
mod repro;
mod sandbox;
mod search;
mod session;
mod shell_words;
mod slice;
mod snapshot;
mod tool;
mod toolset;
mod trace;
mod view;
mod warm;
mod workspace;

pub use archive::{ArchiveError, UnpackLimits, unpack};
pub use cache::{Cache, CacheEntry, CacheError, CacheKind, Prune, Pruned};
pub use candidate::{
    Candidate, CandidateError, CandidateSpec, GIST_NAME, GistPlace, Internal, Link, LinkedModule,
    LinkedSpec, lay_out, lay_out_in, lay_out_linked,
};
pub use chain::{Chain, Repair, Requested, Snippet, Stage};
pub use command::{Command, CommandError, CommandProgram, TestId};
pub use edit::Parsed;
pub use environment::{
    Distribution, Environment, EnvironmentError, InlineError, InlineSpec, InlinedPackages,
    Inventory, ProvisionRequest, declared_version, default_interpreter, find_interpreter,
    find_interpreters, inline_packages, is_inlined_from, project,
};
pub use execute::{
    Around, CaseReport, DecidedFailure, Ended, ExecuteError, Execution, OpenedFile, PhaseReport,
    Raised, RunSpec, Shell, Unusable, execute, own_words, usable,
};
pub use host::Host;
pub use lock::Lock;
pub use matched::Matched;
pub use normalize::{INTERNAL, Normalizer, SOURCE_LINES};
pub use output_mark::{with_mark, without_mark};
pub use patch::{
    ChangedPlace, DiffError, EditError, FileChange, Hunk, LineEdit, UnifiedDiff, apply_edits,
    is_inside, link_above, replace_file,
};
pub use pattern::Pattern;
pub use progress::Progress;
pub use query::{Outputs, Query, QueryInput, QueryProgram, QueryWork, copy_inputs, keep_outputs};
pub use relate::{Relation, relation};
pub use repository::{
    Artifact, Checkout, Downloader, GitRequest, HttpAnswer, OpenOptions, PatchCheck, Repository,
    RepositoryError, apply_patch, check_patch, normal_name, normal_patch, patch_of,
};
pub use repro::{
    Alone, Repro, ReproForeignLine, ReproHead, ReproRequest, Same, SearchEnd, alone, reproduce,
    require_failure, standalone,
};
pub use sandbox::{
    Captured, DockerOptions, DockerSandbox, Finished, Interrupt, Limits, LocalSandbox, Network,
    Promise, Request, STOP_SIGNAL, Sandbox, SandboxError, Status, stand_still,
};
pub use search::{Hit, SearchError, SearchKind, Searched, search};
pub use session::{Best, Findings, Forks, GistRun, Session, Signs};
pub use shell_words::group_of_script;
pub use slice::{
    AdviceInput, Difference, DifferenceKind, FailureMatch, Learned, PROBE_VARIABLE, Probed,
    SliceRequest, Slicer, SlicerError, Standing, advise, difference, ends_alike,
};
pub use snapshot::{SkipReason, Skipped};
pub use tool::{Group, Problem, Refusal, Reply, Tool, ToolError, arguments};
pub use toolset::{Toolset, UnknownTool};
pub use trace::{Observer, PATIENCE, Reuse, TraceOptions, caught, trace, trace_with};
pub use warm::{CodeChange, Ends, WaitsAt, Warm, WarmError, WarmRan, WarmRun, WarmSpec};
pub use workspace::{RunDirectories, Workspace, WorkspaceError};

/// Parsers of what programs under test may have written, each by itself; for tools/fuzz alone.
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    pub use crate::{execute::parse_results as results, trace::parse_logs as trace};
}
