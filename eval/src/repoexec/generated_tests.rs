//! Tests that a model wrote for a function, made fit for judging completions (RepoExec, section 4.2.1).
//!
//! A test is kept if it parses, calls the function, and passes on the original in every run. One whose assertion is
//! wrong gets the value that the function returns, as Python writes it or else pickled. What becomes of each is
//! counted. Asking the model is for others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use graph::{Source, Syntax, with_deep_stack};
use ruff_python_ast::{
    Expr, Stmt, StmtAssert,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{Command, Execution, RunSpec, Status};

use super::{
    completion_run::CompletionBed,
    existing_tests::{passing, record_entered},
    problem::{CompletionProblem, ProblemTests, TestFile},
};
use crate::error::EvalError;

/// Assertions that are taken of a model's first answer (RepoExec, section 4.2.1).
pub const FIRST_ASSERTIONS: usize = 20;
/// Runs of each test on the original (RepoExec, section 4.2.1).
pub const STABLE_RUNS: u32 = 10;

/// The plugin that writes down what asserted expressions come to.
const RECORDER: &str = include_str!("asserted.py");
const RECORDER_NAME: &str = "gistify_asserted";
/// The largest record of values that is read, and the longest value that is put into a test.
const RECORD_BYTES: u64 = 1 << 26;
const LONGEST_VALUE: usize = 4_000;

/// The beginnings of statements of a test file's top level.
const STATEMENTS: [&str; 7] = ["assert", "def ", "@", "async ", "class ", "import ", "from "];

/// The results of a model's tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCounts {
    /// Tests in the answers.
    pub proposed: usize,
    /// They do not parse.
    pub unparsed: usize,
    /// They do not call the function.
    pub not_calling: usize,
    /// They are the same as an earlier one.
    pub duplicates: usize,
    /// They raise something else than a failed assertion.
    pub raising: usize,
    /// They assert what is not so, and no value can be put in its place.
    pub unfixable: usize,
    /// They asserted what is not so, and got the right value.
    pub fixed: usize,
    /// They do not pass in every run.
    pub flaky: usize,
    /// They are kept.
    pub kept: usize,
}

impl std::ops::AddAssign for TestCounts {
    fn add_assign(&mut self, other: Self) {
        self.proposed += other.proposed;
        self.unparsed += other.unparsed;
        self.not_calling += other.not_calling;
        self.duplicates += other.duplicates;
        self.raising += other.raising;
        self.unfixable += other.unfixable;
        self.fixed += other.fixed;
        self.flaky += other.flaky;
        self.kept += other.kept;
    }
}

/// The first assertions of an answer that goes on behind `assert`, each as a test function.
pub fn first_assertions(answer: &str) -> Vec<String> {
    let text = plain(answer);
    let begins = STATEMENTS.iter().any(|start| text.trim_start().starts_with(start));
    let text = if begins { text } else { format!("assert {}", text.trim_start()) };
    let asserted = with_deep_stack(|| {
        let mut found = Vec::new();
        // One statement that cannot be read spoils no other.
        for part in pieces(&text) {
            let syntax = Syntax::parse(Source::new("answer", part.as_str()));
            let broken = !syntax.errors().is_empty();
            let mut asserts = Asserts::default();
            syntax.body().iter().for_each(|stmt| asserts.visit_stmt(stmt));
            match broken {
                true => found.push(part.trim().to_owned()),
                false => found.extend(
                    asserts.found.iter().map(|one| syntax.source().slice(one.range).to_owned()),
                ),
            }
        }
        found
    });
    asserted.into_iter().take(FIRST_ASSERTIONS).map(|text| as_function(&text)).collect()
}

/// The test functions of an answer; assertions outside of functions are tests of their own.
pub fn test_functions(answer: &str) -> Vec<String> {
    let text = plain(answer);
    with_deep_stack(|| {
        let mut found = Vec::new();
        for part in pieces(&text) {
            let syntax = Syntax::parse(Source::new("answer", part.as_str()));
            for stmt in syntax.body() {
                match stmt {
                    Stmt::FunctionDef(def) if def.name.starts_with("test") => {
                        found.push(syntax.source().slice(stmt.range()).to_owned());
                    }
                    Stmt::Assert(_) => {
                        found.push(as_function(syntax.source().slice(stmt.range())));
                    }
                    _ => {}
                }
            }
        }
        found
    })
}

/// An answer without its fences and words around them.
fn plain(answer: &str) -> String {
    let answer = answer.rsplit_once("</think>").map_or(answer, |(_, rest)| rest);
    if !answer.contains("```") {
        return answer.to_owned();
    }
    let mut inside = false;
    let mut text = String::new();
    for line in answer.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside {
            text.extend([line, "\n"]);
        }
    }
    text
}

/// A text cut where a line begins without indentation: a statement of the top level each, but for continuations.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for line in text.lines() {
        let decorated = pieces.last().and_then(|last| last.lines().last());
        let fresh = STATEMENTS.iter().any(|start| line.starts_with(start))
            && !decorated.is_some_and(|line| line.starts_with('@'));
        match pieces.last_mut() {
            Some(last) if !fresh => last.extend(["\n", line]),
            _ => pieces.push(line.to_owned()),
        }
    }
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

fn as_function(assertion: &str) -> String {
    format!("def test():\n    {}", assertion.replace('\n', "\n    "))
}

#[derive(Default)]
struct Asserts<'a> {
    found: Vec<&'a StmtAssert>,
}

impl<'a> Visitor<'a> for Asserts<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assert(assert) => self.found.push(assert),
            _ => walk_stmt(self, stmt),
        }
    }
}

/// Keeps those of the proposed tests that fit, behind those that a problem has already.
///
/// # Errors
/// The machine fails, or the user interrupts.
pub fn control_tests(
    bed: &CompletionBed<'_>,
    problem: &CompletionProblem,
    known: &[String],
    proposed: Vec<String>,
    runs: u32,
) -> Result<(Vec<String>, TestCounts), EvalError> {
    let mut counts = TestCounts { proposed: proposed.len(), ..TestCounts::default() };
    let mut seen: BTreeSet<String> = known.iter().map(|test| body(test).to_owned()).collect();
    let mut tests = Vec::new();
    for test in proposed {
        match readable(&test, &problem.function.name) {
            Err(Unreadable::Syntax) => counts.unparsed += 1,
            Err(Unreadable::NoCall) => counts.not_calling += 1,
            Ok(()) if !seen.insert(body(&test).to_owned()) => counts.duplicates += 1,
            Ok(()) => tests.push(test),
        }
    }
    let tests = repaired(bed, problem, tests, &mut counts)?;
    // A value that was put in may make two equal.
    let mut seen: BTreeSet<String> = known.iter().map(|test| body(test).to_owned()).collect();
    let before = tests.len();
    let mut tests: Vec<String> =
        tests.into_iter().filter(|test| seen.insert(body(test).to_owned())).collect();
    counts.duplicates += before - tests.len();
    for seed in 0..runs.max(1) {
        if tests.is_empty() {
            break;
        }
        let execution = run(bed, problem, &tests, seed, None)?.0;
        let passed = passing(&execution);
        let before = tests.len();
        let mut at = 0;
        tests.retain(|_| {
            at += 1;
            passed.contains(&case(problem, at - 1))
        });
        counts.flaky += before - tests.len();
    }
    counts.kept = tests.len();
    Ok((tests, counts))
}

/// A problem with generated tests, and what its lines are covered by; nothing where no test is left.
///
/// # Errors
/// The machine fails, or the user interrupts.
pub fn with_generated_tests(
    bed: &CompletionBed<'_>,
    problem: &CompletionProblem,
    tests: &[String],
) -> Result<Option<CompletionProblem>, EvalError> {
    if tests.is_empty() {
        return Ok(None);
    }
    let path = test_path(problem);
    let text = file_text(problem, tests);
    let words =
        vec!["pytest".to_owned(), "-p".to_owned(), "gistify_entered".to_owned(), path.clone()];
    let function = [&problem.function];
    let (execution, entered) = record_entered(bed, &function, words, Some((&path, &text)))?;
    let lines: BTreeSet<u32> = problem.function.executable_lines().into_iter().collect();
    let executed: BTreeSet<u32> =
        entered.values().flatten().flat_map(|(_, lines)| lines.iter().copied()).collect();
    let cases: Vec<String> = passing(&execution).into_iter().collect();
    let mut problem = problem.clone();
    problem.tests = Some(ProblemTests {
        covered: u32::try_from(executed.intersection(&lines).count()).unwrap_or(u32::MAX),
        lines: u32::try_from(lines.len()).unwrap_or(u32::MAX),
        seconds: (execution.wall.as_secs_f64() * 1000.0).round() / 1000.0,
        cases,
        file: Some(TestFile { path, text }),
    });
    Ok(Some(problem))
}

enum Unreadable {
    Syntax,
    NoCall,
}

/// Checks that a test parses and calls a function.
fn readable(test: &str, name: &str) -> Result<(), Unreadable> {
    with_deep_stack(|| {
        let syntax = Syntax::parse(Source::new("test", test));
        if !syntax.errors().is_empty() {
            return Err(Unreadable::Syntax);
        }
        let mut calls = Calls { name, found: false };
        syntax.body().iter().for_each(|stmt| calls.visit_stmt(stmt));
        if calls.found { Ok(()) } else { Err(Unreadable::NoCall) }
    })
}

struct Calls<'n> {
    name: &'n str,
    found: bool,
}

impl<'a> Visitor<'a> for Calls<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            self.found |= match call.func.as_ref() {
                Expr::Name(name) => name.id == self.name,
                Expr::Attribute(attribute) => attribute.attr.as_str() == self.name,
                _ => false,
            };
        }
        walk_expr(self, expr);
    }
}

/// A test without its head: what tells it from others.
fn body(test: &str) -> &str {
    test.split_once('\n').map_or(test, |(_, body)| body).trim()
}

/// Tests that pass, those with a wrong assertion among them with the right one; the others are counted.
fn repaired(
    bed: &CompletionBed<'_>,
    problem: &CompletionProblem,
    tests: Vec<String>,
    counts: &mut TestCounts,
) -> Result<Vec<String>, EvalError> {
    if tests.is_empty() {
        return Ok(tests);
    }
    let execution = run(bed, problem, &tests, 0, None)?.0;
    let passed = passing(&execution);
    let failure = |id: &str| {
        let case = execution.cases.iter().find(|case| case.id == id)?;
        let failed = case.phases.iter().find(|phase| phase.outcome == "failed")?;
        Some(failed.raised.as_ref().map_or(String::new(), |raised| raised.kind.clone()))
    };
    let wrong: Vec<bool> = (0..tests.len())
        .map(|at| failure(&case(problem, at)).as_deref() == Some("AssertionError"))
        .collect();
    let recorded = match wrong.contains(&true) {
        true => recorded(bed, problem, &tests, &wrong)?,
        false => BTreeMap::new(),
    };
    let mut kept = Vec::new();
    for (at, test) in tests.into_iter().enumerate() {
        if passed.contains(&case(problem, at)) {
            kept.push(test);
        } else if wrong[at] {
            match with_values(&test, recorded.get(&at)) {
                Some(fixed) => {
                    counts.fixed += 1;
                    kept.push(fixed);
                }
                None => counts.unfixable += 1,
            }
        } else {
            counts.raising += 1;
        }
    }
    Ok(kept)
}

/// Values by test, then by assertion: the text of an expression that makes the value again.
type Values = BTreeMap<usize, BTreeMap<usize, String>>;

/// Runs tests with each assertion replaced by a note of what its asserted side comes to.
fn recorded(
    bed: &CompletionBed<'_>,
    problem: &CompletionProblem,
    tests: &[String],
    wanted: &[bool],
) -> Result<Values, EvalError> {
    let noted: Vec<String> = tests
        .iter()
        .enumerate()
        .map(|(at, test)| match wanted[at] {
            true => noting(test, at),
            false => "def test():\n    pass".to_owned(),
        })
        .collect();
    let (_, bytes) = run(bed, problem, &noted, 0, Some(RECORDER))?;
    let raw: Vec<(usize, usize, String)> = serde_json::from_slice(&bytes).unwrap_or_default();
    let mut values = Values::new();
    for (test, assertion, text) in raw {
        if text.len() <= LONGEST_VALUE {
            // An assertion in a loop has several values, and then none.
            match values.entry(test).or_default().entry(assertion) {
                std::collections::btree_map::Entry::Vacant(entry) => drop(entry.insert(text)),
                std::collections::btree_map::Entry::Occupied(mut entry) => {
                    if *entry.get() != text {
                        entry.insert(String::new());
                    }
                }
            }
        }
    }
    Ok(values)
}

/// The assertions of a test: where each stands, and its asserted side.
fn assertions(syntax: &Syntax) -> Vec<(TextRange, TextRange)> {
    let mut asserts = Asserts::default();
    syntax.body().iter().for_each(|stmt| asserts.visit_stmt(stmt));
    let each = asserts.found.into_iter().map(|assert| (assert.range, asserted_side(&assert.test)));
    each.collect()
}

/// The side of an assertion that a value is compared with: `f(x)` of `f(x) == 1`, `1 == f(x)`, `not f(x)` and `f(x)`.
fn asserted_side(test: &Expr) -> TextRange {
    let has_call = |expr: &Expr| {
        let mut any = AnyCall::default();
        any.visit_expr(expr);
        any.found
    };
    match test {
        Expr::Compare(compare) => match &compare.comparators[..] {
            [right] if has_call(right) && !has_call(&compare.left) => right.range(),
            _ => compare.left.range(),
        },
        Expr::UnaryOp(unary) if unary.op == ruff_python_ast::UnaryOp::Not => unary.operand.range(),
        other => other.range(),
    }
}

#[derive(Default)]
struct AnyCall {
    found: bool,
}

impl<'a> Visitor<'a> for AnyCall {
    fn visit_expr(&mut self, expr: &'a Expr) {
        self.found |= expr.is_call_expr();
        walk_expr(self, expr);
    }
}

/// A test that notes values in the place of its assertions.
fn noting(test: &str, number: usize) -> String {
    with_deep_stack(|| {
        let syntax = Syntax::parse(Source::new("test", test));
        let mut text = test.to_owned();
        for (at, (range, side)) in assertions(&syntax).into_iter().enumerate().rev() {
            let side = &test[side];
            let note = format!("{RECORDER_NAME}.note({number}, {at}, ({side}))");
            text.replace_range(std::ops::Range::<usize>::from(range), &note);
        }
        text
    })
}

/// A test with recorded values in its assertions; nothing where one of them has none.
fn with_values(test: &str, values: Option<&BTreeMap<usize, String>>) -> Option<String> {
    let values = values?;
    with_deep_stack(|| {
        let syntax = Syntax::parse(Source::new("test", test));
        let mut text = test.to_owned();
        for (at, (range, side)) in assertions(&syntax).into_iter().enumerate().rev() {
            let value = values.get(&at).filter(|value| !value.is_empty())?;
            let fixed = format!("assert {} == {value}", &test[side]);
            text.replace_range(std::ops::Range::<usize>::from(range), &fixed);
        }
        Some(text)
    })
}

/// The path of a problem's generated test file, at the repository's root, where no other has its name.
fn test_path(problem: &CompletionProblem) -> String {
    let stem: String = format!("{}_{}", problem.function.module, problem.function.name)
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    format!("test_gistify_{stem}.py")
}

fn case(problem: &CompletionProblem, at: usize) -> String {
    format!("{}::test_{at}", test_path(problem))
}

/// The test file: what the module of the function has, and the tests by their numbers.
fn file_text(problem: &CompletionProblem, tests: &[String]) -> String {
    let (module, name) = (&problem.function.module, &problem.function.name);
    let mut text =
        format!("import pickle\n\nfrom {module} import *\nfrom {module} import {name}\n");
    for (at, test) in tests.iter().enumerate() {
        text.push_str("\n\n");
        let mut named = false;
        for line in test.lines() {
            match line.strip_prefix("def ").and_then(|rest| rest.split_once('(')) {
                Some((_, rest)) if !named => {
                    named = true;
                    text.push_str(&format!("def test_{at}({rest}\n"));
                }
                _ => text.extend([line, "\n"]),
            }
        }
    }
    text
}

/// Runs tests of a problem on the original, with a plugin that leaves a record or without.
fn run(
    bed: &CompletionBed<'_>,
    problem: &CompletionProblem,
    tests: &[String],
    seed: u32,
    plugin: Option<&str>,
) -> Result<(Execution, Vec<u8>), EvalError> {
    let directory = bed.workspace.copy(bed.repository)?;
    let scratch = bed.workspace.directory("scratch")?;
    let output = scratch.join("asserted.json");
    let ran = (|| -> Result<(Execution, Vec<u8>), EvalError> {
        let path = test_path(problem);
        let mut text = file_text(problem, tests);
        let mut variables = BTreeMap::new();
        let mut words = vec!["pytest".to_owned()];
        if let Some(plugin) = plugin {
            text = format!("import {RECORDER_NAME}\n{text}");
            let place = scratch.join("plugin");
            crate::store::write_bytes(
                &place.join(format!("{RECORDER_NAME}.py")),
                plugin.as_bytes(),
            )?;
            let told = |path: &std::path::Path| path.to_string_lossy().into_owned();
            // A variable replaces the environment's own entries, so they are told again.
            let entries = bed.environment.pythonpath.iter().map(|entry| match entry.as_str() {
                "" | "." => told(&directory),
                entry => told(&directory.join(entry)),
            });
            let entries: Vec<String> = entries.chain([told(&place)]).collect();
            variables.insert("PYTHONPATH".to_owned(), entries.join(":"));
            variables.insert("GISTIFY_ASSERTED_OUTPUT".to_owned(), told(&output));
            words.extend(["-p".to_owned(), RECORDER_NAME.to_owned()]);
        }
        words.push(path.clone());
        crate::store::write_bytes(&directory.join(&path), text.as_bytes())?;
        let execution = tools::execute(&RunSpec {
            sandbox: bed.sandbox,
            environment: bed.environment,
            command: &Command::from_words(words)?,
            directory: &directory,
            scratch: &scratch,
            limits: bed.limits,
            hash_seed: seed,
            variables: &variables,
            absent: &[],
            max_failures: None,
            link: None,
            around: tools::Around::default(),
        })?;
        // What the program left may be anything: a link is not followed, a flood not read.
        let regular = output
            .symlink_metadata()
            .is_ok_and(|there| there.is_file() && there.len() <= RECORD_BYTES);
        Ok((execution, if regular { fs::read(&output).unwrap_or_default() } else { Vec::new() }))
    })();
    bed.workspace.discard(&directory);
    bed.workspace.discard(&scratch);
    match ran {
        Ok((execution, _)) if execution.status == Status::Interrupted => {
            Err(EvalError::Interrupted)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_first(answer: &str, expected: &[&str]) {
        let told: Vec<String> = first_assertions(answer)
            .into_iter()
            .map(|test| test.trim_start_matches("def test():\n    ").to_owned())
            .collect();
        assert_eq!(told, expected, "{answer}");
    }

    #[test]
    fn the_first_assertions_go_on_where_the_prompt_ends() {
        check_first(" f(1) == 2\nassert f(2) == 3\n", &["assert f(1) == 2", "assert f(2) == 3"]);
        check_first("```python\nassert f(1)\n```\nThat is it.", &["assert f(1)"]);
        check_first(
            "def test_f():\n    assert f(1)\n    assert not f(2)",
            &["assert f(1)", "assert not f(2)"],
        );
        check_first("assert f(1) == (\nassert f(2)", &["assert f(1) == (", "assert f(2)"]);
        let many = "assert f(1) == 1\n".repeat(30);
        assert_eq!(first_assertions(&many).len(), FIRST_ASSERTIONS);
    }

    #[test]
    fn test_functions_are_taken_whole() {
        let answer = "```python\nimport os\n\n@slow\ndef test_a():\n    x = f(1)\n    assert x\n\ndef helper(): pass\n```";
        assert_eq!(test_functions(answer), ["@slow\ndef test_a():\n    x = f(1)\n    assert x"]);
    }

    #[test]
    fn tests_have_to_parse_and_to_call() {
        let check = |test: &str| match readable(test, "f") {
            Ok(()) => "good",
            Err(Unreadable::Syntax) => "syntax",
            Err(Unreadable::NoCall) => "no call",
        };
        assert_eq!(check("def test():\n    assert 1"), "no call");
        assert_eq!(check("def test():\n    assert m.f(1) == 1"), "good");
        assert_eq!(check("def test():\n    assert f(1) == ("), "syntax");
    }

    #[test]
    fn the_asserted_side_gets_the_value() {
        let check = |assertion: &str, expected: &str| {
            let test = as_function(assertion);
            assert!(
                noting(&test, 3).contains("gistify_asserted.note(3, 0, (f(x)))"),
                "{assertion}"
            );
            let values = BTreeMap::from([(0, "7".to_owned())]);
            assert_eq!(with_values(&test, Some(&values)).unwrap(), as_function(expected));
        };
        for assertion in ["assert f(x) == 1", "assert 1 == f(x)", "assert not f(x)", "assert f(x)"]
        {
            check(assertion, "assert f(x) == 7");
        }
        assert_eq!(with_values(&as_function("assert f(x)"), None), None);
    }
}
