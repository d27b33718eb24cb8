//! Builds a suite from a repository: its tests are collected, drawn, executed and measured. Tests
//! that cannot judge a gist are dropped with the reason.
//!
//! pytest collects the tests. Reference runs decide which are stable, and an empty gist which need
//! nothing of the repository; the name of a test decides nothing. The draw depends on the seed and
//! the tests' ids alone.

use std::{collections::BTreeMap, fs, path::Path};

use sha2::{Digest, Sha256};
use tools::{Command, GistPlace, TestId};

use crate::{
    baseline::Baseline,
    bound::bound,
    codebase::Codebases,
    error::EvalError,
    expected::Quarantine,
    reference::{Reference, ReferenceSpec},
    task::{Counts, Difficulty},
};

/// The inputs of a collection.
pub struct CollectSpec<'a> {
    /// The repository and how it is run; its command is not looked at.
    pub original: ReferenceSpec<'a>,
    /// Files, directories or node ids to collect from; none for what pytest takes by itself.
    pub paths: &'a [String],
    /// Tests wanted.
    pub tests: usize,
    /// The seed of the draw.
    pub seed: u64,
    /// Count calls as well, which takes a run more.
    pub calls: bool,
    /// The receiver of progress events.
    pub progress: &'a dyn Fn(CollectEvent<'_>),
}

/// A sign of life.
#[derive(Debug, Clone, Copy)]
pub enum CollectEvent<'a> {
    /// So many test functions, of so many cases, were found.
    Found {
        /// Test functions.
        tests: usize,
        /// Their cases.
        cases: usize,
    },
    /// A test is a task.
    Kept {
        /// The task.
        task: &'a EligibleTest,
        /// Tasks so far.
        done: usize,
    },
    /// A test is none.
    Dropped(&'a Dropped),
}

/// The result of a collection.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Collected {
    /// Test functions that pytest found.
    pub tests: usize,
    /// The tests that can be tasks, in the order of the draw.
    pub drawn: Vec<EligibleTest>,
    /// The tests that cannot, in the order of the draw; files that cannot be collected come first.
    pub dropped: Vec<Dropped>,
}

/// A test that can be a task.
#[derive(Debug, Clone, PartialEq)]
pub struct EligibleTest {
    /// Its node id without parameters.
    pub test: String,
    /// The command that runs all of its cases.
    pub command: String,
    /// Outcomes of its cases.
    pub counts: Counts,
    /// The difficulty of the task.
    pub difficulty: Difficulty,
    /// Median wall-clock seconds of the command.
    pub seconds: f64,
}

/// A test, or a file of tests, that cannot be a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Its node id without parameters, or the file.
    pub test: String,
    /// Why.
    pub reason: String,
}

const COUNTER: &str = include_str!("calls.py");
const COUNTER_NAME: &str = "gistify_calls";
/// The largest count file that is read.
const COUNTS_BYTES: u64 = 1 << 24;

/// Collects tests and draws tasks from them.
///
/// # Errors
/// When nothing can be collected, or something besides the tests fails.
pub fn collect(spec: &CollectSpec<'_>) -> Result<Collected, EvalError> {
    let mut collected = Collected::default();
    let mut tests = find_tests(spec, &mut collected)?;
    collected.tests = tests.len();
    tests.sort_by_cached_key(|test| (place(spec.seed, test), test.clone()));
    let codebases = Codebases::default();
    for test in tests {
        if collected.drawn.len() == spec.tests {
            break;
        }
        match draw(spec, &test, &codebases)? {
            Ok(task) => {
                let done = collected.drawn.len() + 1;
                (spec.progress)(CollectEvent::Kept { task: &task, done });
                collected.drawn.push(task);
            }
            Err(reason) => {
                let dropped = Dropped { test, reason };
                (spec.progress)(CollectEvent::Dropped(&dropped));
                collected.dropped.push(dropped);
            }
        }
    }
    Ok(collected)
}

/// The hardest of some tasks: those with the most calls and those with the most files, so many of each, in
/// the order of the draw. Where calls were not counted, files alone decide.
pub fn hardest(drawn: &[EligibleTest], count: usize) -> Vec<EligibleTest> {
    let mut hard = std::collections::BTreeSet::new();
    for by in [|hard: &Difficulty| hard.calls, |hard: &Difficulty| hard.files] {
        let mut order: Vec<usize> =
            (0..drawn.len()).filter(|at| by(&drawn[*at].difficulty) > 0).collect();
        order.sort_by_key(|at| std::cmp::Reverse(by(&drawn[*at].difficulty)));
        hard.extend(order.into_iter().take(count));
    }
    hard.into_iter().map(|at| drawn[at].clone()).collect()
}

/// Returns the position of a test in the draw of a seed: the SHA-256 of the seed, in decimal, and
/// the test's id.
fn place(seed: u64, test: &str) -> [u8; 32] {
    Sha256::digest(format!("{seed}{test}")).into()
}

/// The ids of all test functions, without parameters.
fn find_tests(spec: &CollectSpec<'_>, collected: &mut Collected) -> Result<Vec<String>, EvalError> {
    let mut words: Vec<String> = ["pytest", "--collect-only", "-q"].map(str::to_owned).into();
    match spec.paths {
        // An empty expression selects everything, where `.` would overrule the repository's `testpaths`.
        [] => words.extend(["-k".to_owned(), String::new()]),
        paths => words.extend(paths.iter().cloned()),
    }
    let command = Command::from_words(words)?;
    let run = run(&spec.original, &command, &BTreeMap::new(), None)?.0;
    let cases = run.collected.len();
    for (file, raised) in &run.collection_errors {
        let message = raised.message.lines().find(|line| !line.trim().is_empty());
        let reason = format!("cannot be collected: {}: {}", raised.kind, message.unwrap_or(""));
        let dropped = Dropped { test: file.clone(), reason };
        // A file is collected twice where its doctests are asked for as well.
        if collected.dropped.contains(&dropped) {
            continue;
        }
        (spec.progress)(CollectEvent::Dropped(&dropped));
        collected.dropped.push(dropped);
    }
    // A linter has one for each file, or more: one line tells of all.
    if let [check, others @ ..] = &run.checks[..] {
        let more =
            if others.is_empty() { String::new() } else { format!(", as {} more", others.len()) };
        let reason = format!("a plugin's check, neither a function nor an example{more}");
        let dropped = Dropped { test: check.clone(), reason };
        (spec.progress)(CollectEvent::Dropped(&dropped));
        collected.dropped.push(dropped);
    }
    let mut tests: Vec<String> = run
        .collected
        .iter()
        .filter(|id| !run.checks.contains(id))
        .map(|id| TestId { param: None, ..TestId::parse(id) }.to_string())
        .collect();
    tests.sort();
    tests.dedup();
    if tests.is_empty() {
        tools::usable(&run, &command, spec.original.limits.wall)?;
    }
    (spec.progress)(CollectEvent::Found { tests: tests.len(), cases });
    Ok(tests)
}

/// One test as a task, or why it is none.
fn draw(
    spec: &CollectSpec<'_>,
    test: &str,
    codebases: &Codebases,
) -> Result<Result<EligibleTest, String>, EvalError> {
    let command = Command::from_words(vec!["pytest".to_owned(), test.to_owned()])?;
    let original = ReferenceSpec { command: &command, ..spec.original };
    let reference = match Reference::measure_in(&original, codebases) {
        Ok(reference) => reference,
        Err(error @ (EvalError::Unusable(_) | EvalError::CannotStart { .. })) => {
            return Ok(Err(error.to_string()));
        }
        Err(error) => return Err(error),
    };
    if let Some(quarantine) = &reference.quarantine {
        return Ok(Err(match quarantine {
            Quarantine::Unstable(why) => format!("unstable: {why}"),
            Quarantine::Network(why) => format!("networked: {why}"),
            Quarantine::OverTime => "over its time limit".to_owned(),
        }));
    }
    if let Some((case, why)) = reference.expected.unstable.first_key_value() {
        return Ok(Err(format!("unstable: {case}: {why}")));
    }
    if reference.expected.cases.is_empty() {
        return Ok(Err("no case of it runs".to_owned()));
    }
    if let Some(difference) = bound(&original, &reference)? {
        let reason =
            format!("bound to its file: {} differs: {}", difference.what, difference.found);
        return Ok(Err(reason.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    // What a plugin makes of a file may not even read it. A bench would find that out, and score it for nobody.
    if let Some(why) = Baseline::measure(&original, &reference, GistPlace::BesideTest)?.unfit() {
        return Ok(Err(format!("unfit: {why}")));
    }
    let mut difficulty = difficulty(&reference);
    if spec.calls {
        (difficulty.calls, difficulty.src_calls) = calls(&original, test)?;
    }
    Ok(Ok(EligibleTest {
        test: test.to_owned(),
        command: command.to_string(),
        counts: reference.counts,
        difficulty,
        seconds: reference.seconds,
    }))
}

/// Returns the difficulty of a task from a trace: everything except the calls.
fn difficulty(reference: &Reference) -> Difficulty {
    let mut found = Difficulty::default();
    for file in &reference.trace.files {
        let functions = file.functions.iter().filter(|function| function.test).count() as u64;
        let mut lines: Vec<u32> =
            file.import_lines.iter().chain(&file.test_lines).copied().collect();
        lines.sort_unstable();
        lines.dedup();
        found.files_with_imports += 1;
        found.lines_with_imports += lines.len() as u64;
        found.lines += file.test_lines.len() as u64;
        found.functions += functions;
        let ran = u64::from(!file.test_lines.is_empty());
        found.files += ran;
        if !is_test_path(&file.path) {
            found.src_files += ran;
            found.src_functions += functions;
        }
    }
    found
}

/// Calls from the first test on: all, and those outside of test files.
fn calls(spec: &ReferenceSpec<'_>, test: &str) -> Result<(u64, u64), EvalError> {
    let words = ["pytest", "-p", COUNTER_NAME, test].map(str::to_owned);
    let command = Command::from_words(words.into())?;
    let (_, counts) = run(spec, &command, spec.variables, Some(COUNTER))?;
    let all = counts.values().sum();
    let source =
        counts.iter().filter(|(path, _)| !is_test_path(path)).map(|(_, count)| count).sum();
    Ok((all, source))
}

/// Runs a command on a copy of the original, with a plugin that leaves numbers by file.
fn run(
    spec: &ReferenceSpec<'_>,
    command: &Command,
    variables: &BTreeMap<String, String>,
    plugin: Option<&str>,
) -> Result<(tools::Execution, BTreeMap<String, u64>), EvalError> {
    let directory = spec.workspace.copy(spec.repository)?;
    let scratch = spec.workspace.directory("scratch")?;
    let output = scratch.join("calls.json");
    let mut variables = variables.clone();
    if let Some(plugin) = plugin {
        let place = scratch.join("plugin");
        crate::store::write_bytes(&place.join(format!("{COUNTER_NAME}.py")), plugin.as_bytes())?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        // A variable replaces the environment's own entries, so they are told again.
        let entries = spec.environment.pythonpath.iter().map(|entry| match entry.as_str() {
            "" | "." => text(&directory),
            entry => text(&directory.join(entry)),
        });
        let entries: Vec<String> = entries.chain([text(&place)]).collect();
        variables.insert("PYTHONPATH".to_owned(), entries.join(":"));
        variables.insert("GISTIFY_CALLS_ROOT".to_owned(), text(&directory));
        variables.insert("GISTIFY_CALLS_OUTPUT".to_owned(), text(&output));
    }
    let run = tools::execute(&tools::RunSpec {
        sandbox: spec.sandbox,
        environment: spec.environment,
        command,
        directory: &directory,
        scratch: &scratch,
        limits: spec.limits,
        hash_seed: 0,
        variables: &variables,
        absent: &[],
        max_failures: None,
        link: None,
        around: tools::Around::default(),
    });
    // What the program left may be anything: a link is not followed, a flood not read.
    let regular =
        output.symlink_metadata().is_ok_and(|there| there.is_file() && there.len() <= COUNTS_BYTES);
    let text = if regular { fs::read(&output).unwrap_or_default() } else { Vec::new() };
    spec.workspace.discard(&directory);
    spec.workspace.discard(&scratch);
    let run = run?;
    match run.status {
        tools::Status::Interrupted => Err(EvalError::Interrupted),
        _ => Ok((run, serde_json::from_slice(&text).unwrap_or_default())),
    }
}

/// Returns true if a file is a test or test support by pytest's usual names.
pub fn is_test_path(path: &str) -> bool {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    let below = directories.split('/').any(|part| matches!(part, "test" | "tests" | "testing"));
    below || name == "conftest.py" || name.starts_with("test_") || name.ends_with("_test.py")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_its_seed_and_nothing_else() {
        // printf '7tests/test_a.py::test_b' | sha256sum
        let hex: String =
            place(7, "tests/test_a.py::test_b").iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, EXPECTED);
        assert_ne!(place(7, "a"), place(8, "a"));
    }

    const EXPECTED: &str = "d99d4ef02ac64684c59c32a088d84dec231148266c61ffb47ee7304f8d2738d6";

    #[test]
    fn the_hardest_are_so_by_calls_or_by_files() {
        let task = |test: &str, calls, files| EligibleTest {
            test: test.to_owned(),
            command: String::new(),
            counts: Counts::default(),
            difficulty: Difficulty { calls, files, ..Difficulty::default() },
            seconds: 0.0,
        };
        let names = |drawn: &[EligibleTest]| -> String {
            hardest(drawn, 1).into_iter().map(|task| task.test).collect()
        };
        let counted = [task("a", 1, 5), task("b", 9, 1), task("c", 3, 3)];
        assert_eq!(names(&counted), "ab");
        let uncounted = [task("a", 0, 1), task("b", 0, 2)];
        assert_eq!(names(&uncounted), "b");
    }

    #[test]
    fn files_of_tests_are_told_by_their_place_and_name() {
        for (path, test) in [
            ("tests/support.py", true),
            ("pkg/tests/data.py", true),
            ("pkg/conftest.py", true),
            ("test_a.py", true),
            ("pkg/a_test.py", true),
            ("pkg/attest.py", false),
            ("pkg/testing_tools.py", false),
        ] {
            assert_eq!(is_test_path(path), test, "{path}");
        }
    }
}
