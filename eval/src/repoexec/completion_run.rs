//! A completion put in the place of its function in a copy of the repository, and its tests run there.
//!
//! A completion is run, not examined: that it passes says what its tests say. Equal functions of one problem are run
//! once. The tests' files are compared after each run, since the code under test may have changed them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use graph::{CompletionFunction, shift_lines, with_deep_stack};
use tools::{
    Command, Environment, Execution, Limits, Raised, Repository, RunSpec, Sandbox, Status,
    Workspace, link_above,
};

use super::{problem::CompletionProblem, sample::SampleClass};
use crate::error::EvalError;

/// Lines of an error log.
const LOG_LINES: usize = 40;
/// Characters of an error log.
const LOG_LENGTH: usize = 4_000;

/// A repository whose functions are completed.
#[derive(Clone, Copy)]
pub struct CompletionBed<'a> {
    /// The sandbox of the runs.
    pub sandbox: &'a dyn Sandbox,
    /// The original.
    pub repository: &'a Repository,
    /// The interpreter and packages of its tests.
    pub environment: &'a Environment,
    /// The workspace of the runs.
    pub workspace: &'a Workspace,
    /// Bounds on each run.
    pub limits: Limits,
}

/// The result of a completion.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletionRun {
    /// Its class.
    pub class: SampleClass,
    /// The type of what was raised first.
    pub error: Option<String>,
    /// The error, in a few lines.
    pub log: String,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// Why a function cannot be put in its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpliceError {
    /// The file has another text there than when the problem was built.
    #[error("{path} has no longer the function {name} at its place (build the problems again)")]
    Stale {
        /// The file.
        path: String,
        /// The function.
        name: String,
    },
}

/// The text of a file with another function in the place of a problem's own.
///
/// # Errors
/// The file does not have the problem's function there.
pub fn splice(
    function: &CompletionFunction,
    original: &str,
    replacement: &str,
) -> Result<String, SpliceError> {
    let stale = || SpliceError::Stale { path: function.path.clone(), name: function.name.clone() };
    let (start, end) = (function.start as usize, function.end as usize);
    let mark = original.len() - original.trim_start_matches('\u{feff}').len();
    let text = &original[mark..];
    let there = text.get(start..end).ok_or_else(stale)?;
    if with_deep_stack(|| shift_lines(there, &function.indent, "")) != function.solution {
        return Err(stale());
    }
    let mut spliced = original[..mark + start].to_owned();
    spliced.push_str(&with_deep_stack(|| shift_lines(replacement, "", &function.indent)));
    spliced.push_str(&original[mark + end..]);
    Ok(spliced)
}

/// Runs a problem's tests with a function in its place.
///
/// # Errors
/// The machine fails, the user interrupts, or the problem does not fit the repository or has no tests.
pub fn run_completion(
    bed: &CompletionBed<'_>,
    problem: &CompletionProblem,
    function: &str,
) -> Result<CompletionRun, EvalError> {
    let Some(tests) = &problem.tests else {
        return Err(EvalError::Problem {
            problem: problem.id.clone(),
            reason: "no tests".to_owned(),
        });
    };
    let directory = bed.workspace.copy(bed.repository)?;
    let scratch = bed.workspace.directory("scratch")?;
    let ran = (|| -> Result<CompletionRun, EvalError> {
        place(&directory, problem, function)?;
        let paths: Vec<PathBuf> = tests.paths().iter().map(|path| directory.join(path)).collect();
        let before = contents(&paths);
        let command = tests_command(&tests.cases)?;
        let run = run_spec(bed, &command, &directory, &scratch);
        let limits = limits(bed.limits, tests.seconds);
        let execution = tools::execute(&RunSpec { limits, ..run });
        let execution = match execution {
            Ok(execution) => execution,
            Err(error) => Execution::spoiled(&error).ok_or(error)?,
        };
        if execution.status == Status::Interrupted {
            return Err(EvalError::Interrupted);
        }
        let tampered = contents(&paths) != before;
        Ok(judged(&execution, &tests.cases, &directory, tampered))
    })();
    bed.workspace.discard(&directory);
    bed.workspace.discard(&scratch);
    ran
}

/// Puts a function, and the problem's own test file, into a copy. Nothing outside of the copy is read or written,
/// whatever the paths of the problem and the links of the repository are.
fn place(directory: &Path, problem: &CompletionProblem, function: &str) -> Result<(), EvalError> {
    let stale = |reason: String| EvalError::Problem { problem: problem.id.clone(), reason };
    let outside = |path: &str| stale(format!("{path} is not inside the repository"));
    if let Some(path) = problem.path_outside() {
        return Err(outside(path));
    }
    let real = |path: &Path| fs::canonicalize(path).map_err(|error| stale(error.to_string()));
    let path = real(&directory.join(&problem.function.path))?;
    if !path.starts_with(real(directory)?) {
        return Err(outside(&problem.function.path));
    }
    let text = fs::read_to_string(&path).map_err(|error| stale(error.to_string()))?;
    let spliced = splice(&problem.function, &text, function);
    let spliced = spliced.map_err(|error| stale(error.to_string()))?;
    crate::store::write_bytes(&path, spliced.as_bytes())?;
    if let Some(file) = problem.tests.as_ref().and_then(|tests| tests.file.as_ref()) {
        if let Some(link) = link_above(directory, &file.path) {
            return Err(stale(format!("{} is behind the symbolic link {link}", file.path)));
        }
        // A link at the path itself is replaced.
        crate::store::write_bytes(&directory.join(&file.path), file.text.as_bytes())?;
    }
    Ok(())
}

/// Returns the command that runs the cases of a problem's tests.
///
/// # Errors
/// They name no test.
pub(super) fn tests_command(cases: &[String]) -> Result<Command, EvalError> {
    let words = ["pytest", "-x"].map(str::to_owned).into_iter().chain(cases.iter().cloned());
    Ok(Command::from_words(words.collect())?)
}

/// Returns a run of a command in a directory of the bed, within the bounds of the settings.
pub(super) fn run_spec<'a>(
    bed: &CompletionBed<'a>,
    command: &'a Command,
    directory: &'a Path,
    scratch: &'a Path,
) -> RunSpec<'a> {
    static NO_VARIABLES: BTreeMap<String, String> = BTreeMap::new();
    RunSpec {
        sandbox: bed.sandbox,
        environment: bed.environment,
        command,
        directory,
        scratch,
        limits: bed.limits,
        hash_seed: 0,
        variables: &NO_VARIABLES,
        absent: &[],
        max_failures: None,
        link: None,
        around: tools::Around::default(),
    }
}

/// Bounds of a completion's run: ten times what the original took and ten seconds, within the settings' bounds; those
/// alone where it is not known yet.
pub(super) fn limits(most: Limits, seconds: f64) -> Limits {
    if seconds <= 0.0 {
        return most;
    }
    let wall = Duration::from_secs_f64(10.0 + 10.0 * seconds.clamp(0.0, 1e6)).min(most.wall);
    Limits { wall, cpu: most.cpu.min(wall), ..most }
}

/// Returns the bytes of regular files; nothing for others. A run may have put a link or a pipe in the place of a file.
pub(super) fn contents(paths: &[PathBuf]) -> Vec<Option<Vec<u8>>> {
    let is_regular = |path: &PathBuf| path.symlink_metadata().is_ok_and(|there| there.is_file());
    paths.iter().map(|path| is_regular(path).then(|| fs::read(path).ok())?).collect()
}

/// The class of a run, by its record. Paths in its log are those within the run's directory.
pub(super) fn judged(
    execution: &Execution,
    cases: &[String],
    directory: &Path,
    tampered: bool,
) -> CompletionRun {
    let directory = format!("{}/", directory.display());
    let run = |class, error: Option<String>, log: String| CompletionRun {
        class,
        error,
        log: bounded(&log.replace(&directory, "")),
        seconds: execution.wall.as_secs_f64(),
    };
    if tampered {
        let log = "a file of the tests was changed or removed".to_owned();
        return run(SampleClass::TamperedTests, None, log);
    }
    match execution.status {
        Status::TimedOut => {
            let log = format!("no end within {:.0} seconds", execution.wall.as_secs_f64());
            return run(SampleClass::TimedOut, None, log);
        }
        Status::OutOfMemory => return run(SampleClass::OutOfMemory, None, "out of memory".into()),
        _ => {}
    }
    if let Some((place, raised)) = execution.collection_errors.first() {
        return run(SampleClass::Failed, Some(raised.kind.clone()), traceback_end(place, raised));
    }
    let mut phases = execution
        .cases
        .iter()
        .flat_map(|case| case.phases.iter().map(move |phase| (case.id.as_str(), phase)));
    if let Some((id, phase)) = phases.find(|(_, phase)| phase.outcome == "failed") {
        let raised = phase.raised.clone().unwrap_or_default();
        return run(SampleClass::Failed, Some(raised.kind.clone()), traceback_end(id, &raised));
    }
    let passed = |case: &&String| {
        execution.cases.iter().any(|ran| {
            ran.id == **case
                && ran.phases.iter().any(|phase| phase.when == "call" && phase.outcome == "passed")
        })
    };
    match cases.iter().find(|case| !passed(case)) {
        None if execution.complete => run(SampleClass::Passed, None, String::new()),
        missing => {
            let what = missing.map_or("its record", |case| case.as_str());
            let log = format!("the run ended before {what}\n{}", execution.stderr);
            run(SampleClass::EndedEarly, None, log)
        }
    }
}

/// An exception as a traceback's end shows it.
fn traceback_end(place: &str, raised: &Raised) -> String {
    let mut lines = vec![place.to_owned()];
    lines.extend(
        raised
            .frames
            .iter()
            .map(|(file, line, function)| format!("  File \"{file}\", line {line}, in {function}")),
    );
    lines.push(format!("{}: {}", raised.kind, raised.message));
    lines.join("\n")
}

/// The end of a log, within bounds; what is left out is said.
fn bounded(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let from = lines.len().saturating_sub(LOG_LINES);
    let mut text = lines[from..].join("\n");
    if text.len() > LOG_LENGTH {
        text = text[text.ceil_char_boundary(text.len() - LOG_LENGTH)..].to_owned();
    }
    match text.len() < log.trim_end().len() {
        true => format!("[the beginning is left out]\n{text}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use graph::{ExtractionOptions, extract_of_sources};

    use super::*;
    use crate::repoexec::{ProblemTests, TestFile};

    fn check(source: &str, replacement: &str, expected: &str) {
        let found = extract_of_sources([("m.py", source)], &ExtractionOptions::default());
        let function = &found.functions[0];
        assert_eq!(splice(function, source, replacement).unwrap(), expected);
        assert_eq!(splice(function, source, &function.solution).unwrap(), source);
    }

    #[test]
    fn a_function_is_exchanged_by_its_bytes() {
        check(
            "x = 1\n@d\ndef f(): return 1\ny = 2\n",
            "def f():\n    return 2",
            "x = 1\ndef f():\n    return 2\ny = 2\n",
        );
        check(
            "if x:\n    def f():\n        '''a\n    b'''\n        return 1\n",
            "def f():\n    '''c\nd'''\n    return 2",
            "if x:\n    def f():\n        '''c\nd'''\n        return 2\n",
        );
    }

    #[test]
    fn a_link_out_of_the_copy_is_not_followed() {
        let place_with = |link: &str, path: &str, test: &str| {
            let (copy, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let source = "def f(): return 1\n";
            fs::write(outside.path().join("m.py"), source).unwrap();
            fs::create_dir(copy.path().join("inner")).unwrap();
            fs::write(copy.path().join("inner/m.py"), source).unwrap();
            let target = if link == "in" { Path::new("inner") } else { outside.path() };
            std::os::unix::fs::symlink(target, copy.path().join(link)).unwrap();
            let found = extract_of_sources([(path, source)], &ExtractionOptions::default());
            let function = found.functions[0].clone();
            let mut problem = CompletionProblem::new("p", Default::default(), function);
            let file = TestFile { path: test.to_owned(), text: "1\n".to_owned() };
            problem.tests = Some(ProblemTests { file: Some(file), ..Default::default() });
            let placed = place(copy.path(), &problem, "def f(): return 2");
            assert_eq!(fs::read_to_string(outside.path().join("m.py")).unwrap(), source);
            assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
            placed.map_err(|error| error.to_string())
        };
        assert_eq!(place_with("in", "in/m.py", "test_m.py"), Ok(()));
        for (link, path, test, told) in [
            ("out", "out/m.py", "test_m.py", "out/m.py is not inside the repository"),
            ("out", "inner/m.py", "out/test_m.py", "out/test_m.py is behind the symbolic link out"),
            ("out", "inner/m.py", "../test_m.py", "../test_m.py is not inside the repository"),
        ] {
            let error = place_with(link, path, test).unwrap_err();
            assert!(error.ends_with(told), "{error}");
        }
    }

    #[test]
    fn a_file_that_changed_is_refused() {
        let source = "def f(): return 1\n";
        let found = extract_of_sources([("m.py", source)], &ExtractionOptions::default());
        let error = splice(&found.functions[0], "def f(): return 3\n", "").unwrap_err();
        assert!(error.to_string().starts_with("m.py has no longer the function f"), "{error}");
    }
}
