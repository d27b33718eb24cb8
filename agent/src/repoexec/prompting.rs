//! The prompts of a completion problem (RepoExec, appendix E) and of a round of debugging.
//!
//! The paper's prompt for debugging (appendix G) is not in its text, so that one is ours.

use eval::CompletionProblem;
use graph::{CompletionFunction, ContextSize};
use serde_json::json;

use crate::prompt::{PromptError, Prompts};

/// The form in which a model receives a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    /// Context and function to go on with (BasePrompt).
    Base,
    /// An instruction with the docstring, then the same (InstructPrompt, variant 1).
    Instruct1,
    /// The context within the instruction (InstructPrompt, variant 2).
    Instruct2,
}

impl PromptKind {
    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Instruct1 => "instruct-1",
            Self::Instruct2 => "instruct-2",
        }
    }

    fn template(self) -> &'static str {
        match self {
            Self::Base => "repoexec/base.md",
            Self::Instruct1 => "repoexec/instruct_1.md",
            Self::Instruct2 => "repoexec/instruct_2.md",
        }
    }
}

/// The text that asks for a function with a context of a size.
///
/// # Errors
/// A template of the user's is wrong.
pub fn completion_prompt(
    prompts: &Prompts,
    function: &CompletionFunction,
    kind: PromptKind,
    size: ContextSize,
) -> Result<String, PromptError> {
    let context = function.context.of(size);
    let values = json!({ "context": context, "prompt": function.prompt });
    let base = prompts.render(PromptKind::Base.template(), &values)?;
    let values = json!({
        "context": context,
        "prompt": function.prompt,
        "base": base,
        "name": function.name,
        "signature": function.signature,
        "docstring": function.docstring,
    });
    prompts.render(kind.template(), &values)
}

/// The text that shows a model what became of its function.
///
/// # Errors
/// A template of the user's is wrong.
pub fn debugging_prompt(
    prompts: &Prompts,
    problem: &CompletionProblem,
    function: &str,
    log: &str,
) -> Result<String, PromptError> {
    let values = json!({
        "name": problem.function.name,
        "signature": problem.function.signature,
        "function": function,
        "log": log,
    });
    prompts.render("repoexec/debug.md", &values)
}

/// The prompts that ask for more tests of a function (RepoExec, appendix D).
const MORE_TESTS: [&str; 3] =
    ["repoexec/tests_more_1.md", "repoexec/tests_more_2.md", "repoexec/tests_more_3.md"];

/// The text that asks for a function's first assertions.
///
/// # Errors
/// A template of the user's is wrong.
pub fn first_tests_prompt(
    prompts: &Prompts,
    function: &CompletionFunction,
) -> Result<String, PromptError> {
    let values = json!({ "function": function.solution, "name": function.name });
    prompts.render("repoexec/tests_initial.md", &values)
}

/// The three texts that ask for more tests, with some that there are as examples.
///
/// # Errors
/// A template of the user's is wrong.
pub fn more_tests_prompts(
    prompts: &Prompts,
    function: &CompletionFunction,
    tests: &[String],
) -> Result<Vec<String>, PromptError> {
    let values = json!({ "function": function.solution, "tests": tests.join("\n\n") });
    MORE_TESTS.iter().map(|name| prompts.render(name, &values)).collect()
}

/// The text that asks for the code behind a text (BenBench, arXiv 2404.18824).
///
/// # Errors
/// A template of the user's is wrong.
pub fn continuing_prompt(prompts: &Prompts, prefix: &str) -> Result<String, PromptError> {
    prompts.render("repoexec/continue.md", json!({ "prefix": prefix }))
}

#[cfg(test)]
mod tests {
    use graph::{ExtractionOptions, extract_of_sources};

    use super::*;

    const SOURCE: &str = "import os\n\nLIMIT = 1\n\ndef f(x):\n    \"\"\"Returns a part of it.\"\"\"\n    return x[:LIMIT]\n";

    fn check(kind: PromptKind, expected: &str) {
        let found = extract_of_sources([("m.py", SOURCE)], &ExtractionOptions::default());
        let prompts = Prompts::load(None).unwrap();
        let text = completion_prompt(&prompts, &found.functions[0], kind, ContextSize::Full);
        assert_eq!(text.unwrap(), expected, "{kind:?}");
    }

    #[test]
    fn prompts_have_the_published_form() {
        let base = "import os\n\nLIMIT = 1\n\ndef f(x):\n    \"\"\"Returns a part of it.\"\"\"";
        check(PromptKind::Base, base);
        check(
            PromptKind::Instruct1,
            &format!(
                "### Instruction:\nWrite a Python function `f(x)` to solve the following problem:\nReturns a part of \
                 it.\n### Response:\n{base}"
            ),
        );
        check(
            PromptKind::Instruct2,
            "### Instruction:\nimport os\n\nLIMIT = 1\nThe provided code snippet includes necessary dependencies for \
             implementing the `f` function. Write a Python function `f(x)` to solve the following problem:\nReturns a \
             part of it.\n### Response:\ndef f(x):\n    \"\"\"Returns a part of it.\"\"\"",
        );
    }
}
