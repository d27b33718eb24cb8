//! Models that complete single functions of a repository (RepoExec): how they are asked, and their answers recorded.
//!
//! Every sentence that they see comes from `prompts/repoexec/`. `eval` scores the answers.

mod asking;
mod prompting;

pub use asking::{AskingSpec, ModelAnswer, ask_all};
pub use prompting::{
    PromptKind, completion_prompt, continuing_prompt, debugging_prompt, first_tests_prompt,
    more_tests_prompts,
};
