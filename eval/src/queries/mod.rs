//! Tasks in natural language (GitTaskBench, RepoMaster, section 4 and appendix A): suites of them, the judgement of
//! answers by completion and success criteria, and the tables over verdicts.
//!
//! ```text
//! suite -> answer (a directory) -> completion: names, readable -> success: the criteria script -> verdict -> tables
//! ```
//!
//! No model is asked here, and no solver sees the criteria from here.

mod answer;
mod query_solver;
mod query_suite;
mod query_tables;
mod verdict;

pub use answer::{
    AnswerClass, AnswerJudgement, CriteriaScript, JudgedTask, QueryBed, judge_answer,
};
pub use query_solver::{OUTPUTS, ProgramSolver, QueryAnswer, QueryContext, QuerySolver};
pub use query_suite::{QuerySuite, QueryTask, TaskInput};
pub use query_tables::{query_figures, query_tables};
pub use verdict::{QUERY_VERDICT_VERSION, QueryVerdict, read_query_verdicts};
