//! Judges gists: tasks, the reference run, scorers and the bench.
//!
//! ```
//! use gistify_eval::{Codebase, Outline, SourceMap, existence};
//!
//! let original = Codebase::of_texts([("m.py", "def f(x):\n    return x + 1\n")]);
//! let gist = Outline::of("def f(x):\n    return (x +\n            1)\n\n\ndef g():\n    return 2\n");
//! let score = existence(&gist, &original, &SourceMap::default());
//! assert_eq!((score.existing, score.lines), (2, 4));
//! ```
//!
//! [`evaluate`] is the whole protocol for one gist, [`bench`] that for suites of tasks. Nothing
//! here talks to a model, or shows the measures to a [`Solver`].

mod baseline;
mod bench;
mod blocks;
mod bound;
mod codebase;
mod collect;
mod draft;
mod error;
mod evaluate;
mod examples;
mod expected;
mod gist;
mod index;
mod inject;
mod issues;
mod json_lines;
mod key;
mod medals;
mod mutants;
mod names;
mod observation;
mod queries;
mod reference;
mod repoexec;
mod report;
mod resume;
mod row;
mod scorers;
mod selection;
mod sensitivity;
mod solver;
mod source_map;
mod sources;
mod statistics;
mod store;
mod supply;
mod task;
mod tokens;
mod touched;
mod unit;
mod unpacked;
mod verify;

pub use baseline::Baseline;
pub use bench::{
    BenchError, BenchEvent, BenchSpec, Job, Supplied, Supply, TaskOutcome, TaskResult, bench,
    read_result, read_shown,
};
pub use blocks::{Class, Line, Outline, Role, SyntaxFault};
pub use codebase::{CodeFile, Codebase, Codebases, Extent};
pub use collect::{
    CollectEvent, CollectSpec, Collected, Dropped, EligibleTest, collect, hardest, is_test_path,
};
pub use draft::{SuiteDraft, SuiteOrigin};
pub use error::EvalError;
pub use evaluate::{EvaluateSpec, Evaluation, Note, ReferenceSummary, WriterAbilities, evaluate};
pub use expected::{Expected, ExpectedFailure, ExpectedPhase, Quarantine};
pub use gist::{GistError, Submission, read_gist};
pub use index::{Index, IndexError};
pub use issues::{
    BuiltRow, CorrectLocation, FixSuite, ISSUE_VERDICT_VERSION, IssueBed, IssueResult, IssueRow,
    IssueVerdict, PinnedFix, PinnedRelease, REPAIR_VERSION, RepairResult, ResolvedClass,
    RowRelease, TestShare, build_issue_row, correct_location, issue_tables, judge_absent,
    judge_patch, read_issue_rows, verdict_tables,
};
pub use json_lines::{MalformedRow, json_fault, read_json_lines};
pub use key::Key;
pub use medals::{
    BetterScore, Competition, CompetitionRow, Competitions, Grade, Medal, MedalError, MedalShares,
    medal_shares, medal_tables, read_competition_rows,
};
pub use mutants::Operator;
pub use observation::{NormalizedException, Observation, Phase};
pub use queries::{
    AnswerClass, AnswerJudgement, CriteriaScript, JudgedTask, OUTPUTS, ProgramSolver,
    QUERY_VERDICT_VERSION, QueryAnswer, QueryBed, QueryContext, QuerySolver, QuerySuite, QueryTask,
    QueryVerdict, TaskInput, judge_answer, query_figures, query_tables, read_query_verdicts,
};
pub use reference::{Reference, ReferenceSpec};
pub use repoexec::{
    CONTINUATION_VERSION, CodeBleu, CompletionBed, CompletionFigure, CompletionProblem,
    CompletionRun, CompletionScores, Continuation, CutFunction, CutPlace, FIRST_ASSERTIONS,
    Generation, Invocable, LONGEST_ANSWER, ModelFacts, PROBLEM_VERSION, ProblemSource,
    ProblemTests, SAMPLE_VERSION, STABLE_RUNS, SampleClass, SampleVerdict, ScoringSpec, Similarity,
    SpliceError, TestChoice, TestCounts, TestFile, TestedProblems, TuningCounts, TuningForm,
    TuningMix, TuningPick, TuningSplit, Untested, bleu, body_of, code_bleu, completion_scores,
    completion_tables, continued_words, control_tests, cut_function, cut_places, edit_similarity,
    figures, first_assertions, identifiers, is_empty_function, leakage_table, mean_pass_at_k,
    mended, pass_at_k, problem_table, read_generations, read_problems, read_verdicts,
    run_completion, score_generations, splice, test_functions, tuning_set, with_existing_tests,
    with_generated_tests,
};
pub use report::{
    Align, Comparison, Correlation, Figure, Format, LengthRow, SuiteRow, Summary, Table, TableName,
    TaskRow, compare, summarize, write_tables,
};
pub use resume::{BenchPlan, Hold, ResumeError, Retry, remaining, settings_differences};
pub use row::{AttemptStanding, MeasuredValues, Row};
pub use scorers::{
    AloneHolds, Category, Cause, ChangedLines, Effort, Executed, ExecutionRate, Existence,
    ExistenceWithoutGlue, Facts, Fidelity, FormulaSource, GistFacts, GistLines, GistTokens,
    GlueLines, GluelessLines, GuardAdded, Idle, IdleLine, LineExecution, LineExistence,
    LinesOfExecuted, MEASURES, MarkedLines, Measure, MeasureTable, MeasureUnit, MissingLine,
    MissingReason, MockPackage, OriginalExecution, OutcomeDifference, OutcomeDifferenceKind,
    PaperCategory, PaperExecution, PaperExistence, PaperFidelity, PaperTest, PaperVerdict,
    PassRate, PytestPassRate, Score, Scorer, Scores, Sensitivity, Size, StrictFidelity, TestLines,
    TestMoved, TestScore, Verified, VouchedExistence, WholeTest, WholeTestScore, execution,
    existence, measures_table,
};
pub use sensitivity::{MissedMutant, Mutant, Mutants, SensitivityRuns};
pub use solver::{Attempt, AttemptCount, AttemptRecord, Solver, TaskContext};
pub use source_map::SourceMap;
pub use sources::{Sources, read_text};
pub use statistics::{Interval, Paired};
pub use store::{Record, StoreError, VersionedRecord, read, without_temporary_path, write};
pub use supply::{CachedSupply, Known};
pub use task::{Counts, Difficulty, Mutation, Suite, Task, TaskError};
pub use tools::{Normalizer, Pattern};
pub use touched::{Touched, TouchedDefinition, TouchedModule};
pub use unit::{
    BenchUnit, PlannedTasks, Share, UnitError, join_results, missing, planned_tasks,
    remove_unfinished, share_of, units, write_units,
};
pub use verify::{ForeignLine, Grounded, Linked, Verification};
