//! Completion of single functions within a repository (RepoExec, arXiv 2406.11927): problems with tests, samples of
//! models, their runs and their scores.
//!
//! ```text
//! problem -> answer -> completion_run -> existing_tests -> generated_tests
//! completion_run -> { estimate, similarity, forked_runs } -> scoring -> scores
//! ```
//!
//! Nothing here talks to a model.

mod answer;
pub(crate) mod chart;
mod code_bleu;
mod completion_run;
mod estimate;
mod existing_tests;
mod figures;
mod forked_runs;
mod generated_tests;
mod leakage;
mod problem;
mod sample;
mod scores;
mod scoring;
mod similarity;
mod tuning_set;

pub use answer::{CutFunction, LONGEST_ANSWER, cut_function, is_empty_function};
pub use code_bleu::{CodeBleu, code_bleu};
pub use completion_run::{CompletionBed, CompletionRun, SpliceError, run_completion, splice};
pub use estimate::{Invocable, body_of, identifiers, mean_pass_at_k, pass_at_k};
pub use existing_tests::{TestChoice, TestedProblems, Untested, with_existing_tests};
pub use figures::{CompletionFigure, ModelFacts, figures};
pub use generated_tests::{
    FIRST_ASSERTIONS, STABLE_RUNS, TestCounts, control_tests, first_assertions, test_functions,
    with_generated_tests,
};
pub use leakage::{
    CONTINUATION_VERSION, Continuation, CutPlace, continued_words, cut_places, leakage_table,
};
pub use problem::{
    CompletionProblem, PROBLEM_VERSION, ProblemSource, ProblemTests, TestFile, read_problems,
};
pub use sample::{
    Generation, SAMPLE_VERSION, SampleClass, SampleVerdict, Similarity, read_generations,
    read_verdicts,
};
pub use scores::{CompletionScores, completion_scores, completion_tables, mended, problem_table};
pub use scoring::{ScoringSpec, score_generations};
pub use similarity::{bleu, edit_similarity};
pub use tuning_set::{TuningCounts, TuningForm, TuningMix, TuningPick, TuningSplit, tuning_set};
