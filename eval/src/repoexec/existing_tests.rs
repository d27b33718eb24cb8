//! The tests of a repository that execute its functions: one run of all tests tells which cases enter which function,
//! a few of them are chosen, and further runs on the original show that they are stable.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use graph::CompletionFunction;
use tools::{Command, Execution, RunSpec, Status};

use super::{
    completion_run::CompletionBed,
    problem::{CompletionProblem, ProblemTests},
};
use crate::error::EvalError;

const PLUGIN: &str = include_str!("entered.py");
const PLUGIN_NAME: &str = "gistify_entered";
/// The largest record that is read.
const RECORD_BYTES: u64 = 1 << 28;

/// The options for choosing tests.
#[derive(Debug, Clone, PartialEq)]
pub struct TestChoice {
    /// Most cases of a problem.
    pub most: usize,
    /// Runs on the original in which a case has to pass (RepoExec, section 4.2.1, has ten).
    pub runs: u32,
    /// The least share of a function's lines that its cases execute (RepoExec, section 4.2: 40%).
    pub coverage: f64,
    /// Files, directories or node ids to run; none for what pytest takes by itself.
    pub paths: Vec<String>,
    /// Most problems, in their order; none for all.
    pub first: Option<usize>,
}

impl Default for TestChoice {
    fn default() -> Self {
        Self { most: 20, runs: 3, coverage: 0.4, paths: Vec::new(), first: None }
    }
}

/// Why a function with a docstring is no problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Untested {
    /// No case of the whole repository passes: something that its tests need is not there.
    NonePasses,
    /// No case executes it.
    NotEntered,
    /// Its cases execute too few of its lines.
    Uncovered,
    /// Its cases do not pass in every run.
    Unstable,
}

impl Untested {
    /// A phrase for tables.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::NonePasses => "no test of the repository passes",
            Self::NotEntered => "no test executes it",
            Self::Uncovered => "too few of its lines are tested",
            Self::Unstable => "its tests do not pass in every run",
        }
    }
}

/// Problems with their tests, and the ids of those that have none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TestedProblems {
    /// Problems with tests.
    pub tested: Vec<CompletionProblem>,
    /// Ids of problems without, each with the reason.
    pub untested: Vec<(String, Untested)>,
}

/// A line of the plugin's record: a case, and for each function that it entered the function's number and lines.
type EnteredRow = (String, Vec<Vec<u32>>);

/// Lines of functions by case: which case executed which lines of which function.
pub(super) type Entered = BTreeMap<String, Vec<(usize, Vec<u32>)>>;

/// Gives problems their tests; problems without any are returned with the reason.
///
/// # Errors
/// The tests cannot be run at all, the machine fails, or the user interrupts.
pub fn with_existing_tests(
    bed: &CompletionBed<'_>,
    problems: Vec<CompletionProblem>,
    choice: &TestChoice,
) -> Result<TestedProblems, EvalError> {
    let functions: Vec<&CompletionFunction> =
        problems.iter().map(|problem| &problem.function).collect();
    let mut words = vec!["pytest".to_owned(), "-p".to_owned(), PLUGIN_NAME.to_owned()];
    match choice.paths.as_slice() {
        // An empty expression selects everything, where `.` would overrule the repository's `testpaths`.
        [] => words.extend(["-k".to_owned(), String::new()]),
        paths => words.extend(paths.iter().cloned()),
    }
    let (execution, entered) = record_entered(bed, &functions, words, None)?;
    let passing = passing(&execution);
    if passing.is_empty() {
        let command = Command::from_words(vec!["pytest".to_owned(), ".".to_owned()])?;
        tools::usable(&execution, &command, bed.limits.wall)?;
    }
    let (mut tested, mut untested) = (Vec::new(), Vec::new());
    for (index, mut problem) in problems.into_iter().enumerate() {
        let lines: BTreeSet<u32> = problem.function.executable_lines().into_iter().collect();
        let cases: Vec<(&String, BTreeSet<u32>)> = entered
            .iter()
            .filter(|(case, _)| passing.contains(*case))
            .filter_map(|(case, functions)| {
                let (_, executed) = functions.iter().find(|(at, _)| *at == index)?;
                Some((case, executed.iter().copied().filter(|line| lines.contains(line)).collect()))
            })
            .collect();
        let (cases, covered) = chosen(&cases, choice.most);
        problem.tests = Some(ProblemTests {
            covered: u32::try_from(covered).unwrap_or(u32::MAX),
            lines: u32::try_from(lines.len()).unwrap_or(u32::MAX),
            cases,
            ..ProblemTests::default()
        });
        let tests = problem.tests.as_mut().expect("just set");
        let why = match tests {
            _ if passing.is_empty() => Some(Untested::NonePasses),
            tests if tests.cases.is_empty() => Some(Untested::NotEntered),
            tests if tests.coverage() < choice.coverage => Some(Untested::Uncovered),
            _ => None,
        };
        match why {
            Some(why) => untested.push((problem.id, why)),
            None => tested.push(problem),
        }
        if choice.first == Some(tested.len()) {
            break;
        }
    }
    let unstable = keep_stable(bed, &mut tested, choice.runs)?;
    untested.extend(unstable.into_iter().map(|id| (id, Untested::Unstable)));
    Ok(TestedProblems { tested, untested })
}

/// Runs the cases of each problem by themselves on the original, as often as asked, and drops problems whose cases do
/// not pass each time; the others get the median of their seconds.
pub(super) fn keep_stable(
    bed: &CompletionBed<'_>,
    problems: &mut Vec<CompletionProblem>,
    runs: u32,
) -> Result<Vec<String>, EvalError> {
    let mut dropped = Vec::new();
    let mut kept = Vec::new();
    for mut problem in std::mem::take(problems) {
        let solution = problem.function.solution.clone();
        let mut seconds = Vec::new();
        for _ in 0..runs.max(1) {
            let run = super::completion_run::run_completion(bed, &problem, &solution)?;
            if run.class != super::sample::SampleClass::Passed {
                seconds.clear();
                break;
            }
            seconds.push(run.seconds);
        }
        match (crate::statistics::median(&seconds), &mut problem.tests) {
            (Some(median), Some(tests)) => {
                tests.seconds = (median * 1000.0).round() / 1000.0;
                kept.push(problem);
            }
            _ => dropped.push(problem.id),
        }
    }
    *problems = kept;
    Ok(dropped)
}

/// Runs pytest with the plugin that notes what it executes of functions; `file` is a test file that is no part of the
/// repository.
pub(super) fn record_entered(
    bed: &CompletionBed<'_>,
    functions: &[&CompletionFunction],
    words: Vec<String>,
    file: Option<(&str, &str)>,
) -> Result<(Execution, Entered), EvalError> {
    let directory = bed.workspace.copy(bed.repository)?;
    let scratch = bed.workspace.directory("scratch")?;
    let output = scratch.join("entered.json");
    let ran = (|| -> Result<(Execution, Vec<u8>), EvalError> {
        let wanted: Vec<(&str, u32)> =
            functions.iter().map(|function| (function.path.as_str(), function.line)).collect();
        let wanted = serde_json::to_vec(&wanted).expect("paths and lines are plain data");
        let place = scratch.join("plugin");
        crate::store::write_bytes(&place.join(format!("{PLUGIN_NAME}.py")), PLUGIN.as_bytes())?;
        crate::store::write_bytes(&place.join("functions.json"), &wanted)?;
        if let Some((path, text)) = file {
            crate::store::write_bytes(&directory.join(path), text.as_bytes())?;
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        // A variable replaces the environment's own entries, so they are told again.
        let entries = bed.environment.pythonpath.iter().map(|entry| match entry.as_str() {
            "" | "." => text(&directory),
            entry => text(&directory.join(entry)),
        });
        let entries: Vec<String> = entries.chain([text(&place)]).collect();
        let variables = BTreeMap::from([
            ("PYTHONPATH".to_owned(), entries.join(":")),
            ("GISTIFY_ENTERED_ROOT".to_owned(), text(&directory)),
            ("GISTIFY_ENTERED_FUNCTIONS".to_owned(), text(&place.join("functions.json"))),
            ("GISTIFY_ENTERED_OUTPUT".to_owned(), text(&output)),
        ]);
        let execution = tools::execute(&RunSpec {
            sandbox: bed.sandbox,
            environment: bed.environment,
            command: &Command::from_words(words)?,
            directory: &directory,
            scratch: &scratch,
            limits: bed.limits,
            hash_seed: 0,
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
        let bytes = if regular { fs::read(&output).unwrap_or_default() } else { Vec::new() };
        Ok((execution, bytes))
    })();
    bed.workspace.discard(&directory);
    bed.workspace.discard(&scratch);
    let (execution, bytes) = ran?;
    if execution.status == Status::Interrupted {
        return Err(EvalError::Interrupted);
    }
    let text = String::from_utf8_lossy(&bytes);
    let rows = text.lines().filter_map(|line| serde_json::from_str::<EnteredRow>(line).ok());
    let entered = rows.map(|(case, functions)| {
        let each = functions.into_iter().filter_map(|mut numbers| {
            (!numbers.is_empty()).then(|| (numbers.remove(0) as usize, numbers))
        });
        (case, each.collect())
    });
    Ok((execution, entered.collect()))
}

/// The cases of a run that passed.
pub(super) fn passing(execution: &Execution) -> BTreeSet<String> {
    let passed = execution.cases.iter().filter(|case| {
        case.phases.iter().all(|phase| phase.outcome == "passed" && phase.wasxfail.is_none())
    });
    passed.map(|case| case.id.clone()).collect()
}

/// Chooses cases: first, again and again, the one that executes most lines that no chosen one does; then the others in
/// their order. Returns them sorted, with the number of lines that they execute.
fn chosen(cases: &[(&String, BTreeSet<u32>)], most: usize) -> (Vec<String>, usize) {
    let mut covered: BTreeSet<u32> = BTreeSet::new();
    let mut taken: Vec<usize> = Vec::new();
    while taken.len() < most.min(cases.len()) {
        let gain = |at: usize| cases[at].1.difference(&covered).count();
        let left = (0..cases.len()).filter(|at| !taken.contains(at));
        // Of equals the first.
        let Some(best) = left.max_by_key(|&at| (gain(at), std::cmp::Reverse(at))) else { break };
        covered.extend(&cases[best].1);
        taken.push(best);
    }
    let mut names: Vec<String> = taken.into_iter().map(|at| cases[at].0.clone()).collect();
    names.sort_unstable();
    (names, covered.len())
}
