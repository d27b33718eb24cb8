//! One gist judged: the whole protocol, from its text to its scores.
//!
//! The text is measured as it was written; what is run for the verdict has the original test in it. The
//! reference comes first, so that nothing about a candidate can bend what it is compared with.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Instant,
};

use serde::{Deserialize, Serialize};
use tools::{
    Candidate, CandidateSpec, Command, Execution, Internal, Place, RunSpec, Status, TestId,
};

use crate::{
    blocks::Outline,
    codebase::Codebase,
    error::EvalError,
    inject::{Import, Injected, TestFunction, find_test, inject},
    integrity::{Finding, Integrity, Rule, examine},
    observation::Observation,
    reference::{Quarantine, Reference, ReferenceSpec, normalizer},
    scorers::{
        Category, Cause, Effort, Executed, ExecutionRate, Existence, Fidelity, PassRate, Size,
        TestScore, category, execution, existence, fidelity, pass_rate, size, test_score,
    },
    source_map::SourceMap,
    store::Record,
    support::{Support, changed_support},
    task::Counts,
};

/// What is judged, and on what.
#[derive(Clone, Copy)]
pub struct EvaluateSpec<'a> {
    /// The original, and how it is run.
    pub original: ReferenceSpec<'a>,
    /// Name of the task in records.
    pub task: &'a str,
    /// Where the gist stands.
    pub place: Place,
    /// The gist.
    pub submission: &'a Submission,
    /// Where its lines come from, as its writer says.
    pub source_map: Option<&'a SourceMap>,
    /// What the writer had.
    pub writer: Writer,
    /// What writing it cost.
    pub effort: Option<&'a Effort>,
    /// Repositories that were read already; nothing to read this one anew.
    pub codebases: Option<&'a Codebases>,
}

/// A gist, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submission {
    /// Its text.
    Written(String),
    /// It was never written, or cannot be read; the reason.
    Absent(String),
}

/// What the writer of a gist could use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// A trace of the command.
    pub trace: bool,
    /// Running code.
    pub execute: bool,
}

/// Why a gist's file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GistError {
    /// There is none.
    #[error("read gist {path}: no such file")]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// It is a directory, a link or a device.
    #[error("read gist {path}: it is {kind} (a gist is a regular file)")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// It is empty.
    #[error("read gist {path}: it is empty")]
    Empty {
        /// The path.
        path: PathBuf,
    },
    /// It is larger than any gist.
    #[error("read gist {path}: {bytes} bytes (a gist has at most {limit})")]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// It is no UTF-8.
    #[error("read gist {path}: no valid utf-8 at byte {at}")]
    NotUtf8 {
        /// The path.
        path: PathBuf,
        /// Where.
        at: usize,
    },
    /// It cannot be read.
    #[error("read gist {path}: {source}")]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// Largest gist that is read, in bytes.
const LARGEST: u64 = 8 << 20;

/// Reads a gist's file, never through a link and never more than 8 MiB.
///
/// # Errors
/// When it is missing, empty, no regular file, too large or no UTF-8.
pub fn read_gist(path: &Path) -> Result<String, GistError> {
    let path_buf = || path.to_path_buf();
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => GistError::Missing { path: path_buf() },
        _ => GistError::Read { path: path_buf(), source },
    };
    let metadata = fs::symlink_metadata(path).map_err(failed)?;
    let kind = metadata.file_type();
    if !kind.is_file() {
        let kind = if kind.is_dir() {
            "a directory"
        } else if kind.is_symlink() {
            "a link"
        } else {
            "a device"
        };
        return Err(GistError::NotAFile { path: path_buf(), kind });
    }
    if metadata.len() > LARGEST {
        let (bytes, limit) = (metadata.len(), LARGEST);
        return Err(GistError::TooLarge { path: path_buf(), bytes, limit });
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.is_empty() {
        return Err(GistError::Empty { path: path_buf() });
    }
    String::from_utf8(bytes).map_err(|error| GistError::NotUtf8 {
        path: path_buf(),
        at: error.utf8_error().valid_up_to(),
    })
}

/// The scores of one gist, each with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Name of the task.
    pub task: String,
    /// The repository, as the user names it.
    pub repository: String,
    /// The command.
    pub command: String,
    /// Where the gist stood.
    pub place: Place,
    /// Version of the interpreter.
    pub python: String,
    /// The sandbox of all runs.
    pub sandbox: String,
    /// Why the task is set aside; it has no score then.
    pub quarantine: Option<Quarantine>,
    /// Whether the gist does what the original does.
    pub fidelity: Option<Fidelity>,
    /// How much of it stands in the original.
    pub existence: Option<Existence>,
    /// How much of it is executed; only where it is faithful.
    pub execution: Option<ExecutionRate>,
    /// How much of the test is the original's.
    pub test: Option<TestScore>,
    /// How many cases pass.
    pub pass_rate: Option<PassRate>,
    /// How long it is.
    pub size: Option<Size>,
    /// Why it is not faithful.
    pub cause: Option<Cause>,
    /// What is not honest in it.
    pub integrity: Integrity,
    /// What writing it cost.
    pub effort: Option<Effort>,
    /// What the writer had.
    pub writer: Writer,
    /// The reference that it was compared with.
    pub reference: ReferenceSummary,
    /// Wall-clock seconds of scoring, the reference excluded.
    pub seconds: f64,
}

impl Record for Evaluation {
    const VERSION: u32 = 1;
}

/// What is said of a reference beside a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceSummary {
    /// Outcomes.
    pub counts: Counts,
    /// Median wall-clock seconds of the plain command.
    pub seconds: f64,
    /// Median CPU seconds of the plain command.
    pub cpu_seconds: f64,
    /// Untraced runs.
    pub runs: u32,
    /// Whether it was measured before.
    pub cached: bool,
    /// Wall-clock seconds that measuring or reading it took.
    pub took: f64,
    /// Cases that are not compared, with the reason.
    pub unstable: BTreeMap<String, String>,
}

/// Repositories that were read, by fingerprint: scoring several tasks of one reads it once.
#[derive(Debug, Default)]
pub struct Codebases(Mutex<Vec<(String, Arc<Codebase>)>>);

impl Codebases {
    /// Most repositories kept at a time; they are large.
    const KEPT: usize = 2;

    fn get(&self, fingerprint: &str, root: &Path) -> Arc<Codebase> {
        // Held while reading, so that two workers do not read the same repository.
        let mut known = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, codebase)) = known.iter().find(|(name, _)| name == fingerprint) {
            return codebase.clone();
        }
        let codebase = Arc::new(Codebase::read(root));
        if known.len() == Self::KEPT {
            known.remove(0);
        }
        known.push((fingerprint.to_owned(), codebase.clone()));
        codebase
    }
}

/// Judges a gist.
///
/// # Errors
/// When the command is no valid task, or something besides the gist fails. A gist that fails is a score.
pub fn evaluate(spec: &EvaluateSpec<'_>) -> Result<Evaluation, EvalError> {
    let began = Instant::now();
    let reference = Reference::measure(&spec.original)?;
    let took = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let mut evaluation = blank(spec, &reference, took);
    if let Some(quarantine) = &reference.quarantine {
        evaluation.quarantine = Some(quarantine.clone());
        return Ok(evaluation);
    }
    match spec.submission {
        Submission::Absent(reason) => {
            evaluation.fidelity = Some(Fidelity::default());
            let (category, evidence) = (Category::FileCreation, reason.clone());
            evaluation.cause = Some(Cause { category, evidence });
        }
        Submission::Written(text) => judge(spec, &reference, text, &mut evaluation)?,
    }
    evaluation.seconds = began.elapsed().as_secs_f64();
    Ok(evaluation)
}

fn blank(spec: &EvaluateSpec<'_>, reference: &Reference, took: f64) -> Evaluation {
    let (major, minor, micro) = spec.original.environment.version;
    Evaluation {
        task: spec.task.to_owned(),
        repository: spec.original.repository.label.clone(),
        command: spec.original.command.to_string(),
        place: spec.place,
        python: format!("{major}.{minor}.{micro}"),
        sandbox: spec.original.sandbox.name().to_owned(),
        quarantine: None,
        fidelity: None,
        existence: None,
        execution: None,
        test: None,
        pass_rate: None,
        size: None,
        cause: None,
        integrity: Integrity::default(),
        effort: spec.effort.cloned(),
        writer: spec.writer,
        reference: ReferenceSummary {
            counts: reference.counts,
            seconds: reference.seconds,
            cpu_seconds: reference.cpu_seconds,
            runs: reference.runs,
            cached: reference.cached,
            took,
            unstable: reference.expected.unstable.clone(),
        },
        seconds: 0.0,
    }
}

/// Everything that is said of a gist that was written.
fn judge(
    spec: &EvaluateSpec<'_>,
    reference: &Reference,
    text: &str,
    evaluation: &mut Evaluation,
) -> Result<(), EvalError> {
    let original = spec.original;
    let pristine = original.workspace.copy(original.repository)?;
    let codebase = match spec.codebases {
        Some(known) => known.get(&original.repository.fingerprint, &pristine),
        None => Arc::new(Codebase::read(&pristine)),
    };
    let internal = reference.internal(&pristine, original.command)?;
    let outline = Outline::of(text);
    let executed = Executed::of_trace(&reference.trace);
    let empty = SourceMap::default();
    let map = spec.source_map.unwrap_or(&empty);

    let (tests, unknown) = tests(original.command, reference, &codebase, &internal);
    let places: Vec<(String, String)> =
        tests.iter().map(|test| (test.path.clone(), test.block.clone())).collect();
    let blocks: Vec<String> = places.iter().map(|(_, block)| block.clone()).collect();
    let injected = inject(text, &tests);

    evaluation.existence = Some(existence(&outline, &codebase, map));
    evaluation.test = Some(test_score(&outline, &places, &codebase));
    evaluation.size = Some(size(text, &outline, reference.executed, reference.repository));
    evaluation.integrity = examine(text, &outline, &codebase);
    evaluation.integrity.violations.extend(changed_support(&Support {
        text,
        gist: &outline,
        codebase: &codebase,
        files: &internal.support,
        executed: &executed,
        tests: &blocks,
    }));
    evaluation.integrity.notes.extend(notes(&injected, evaluation.test.as_ref(), &unknown));

    if let Some(missing) = injected.missing.first() {
        evaluation.fidelity = Some(Fidelity::default());
        evaluation.pass_rate = Some(PassRate {
            cases: reference.expected.cases.len() as u64,
            rate: Some(0.0),
            ..PassRate::default()
        });
        let (category, evidence) = (Category::MissingTest, format!("the gist has no {missing}"));
        evaluation.cause = Some(Cause { category, evidence });
        original.workspace.discard(&pristine);
        return Ok(());
    }

    let run = Runs { spec, pristine: &pristine, internal: &internal };
    let (candidate, scratch, execution_) = run.plain(&injected.text)?;
    let found = observe(&candidate, &scratch, &execution_, &internal, original.command);
    let mut verdict = fidelity(&reference.expected, &found);
    evaluation.pass_rate = Some(pass_rate(&reference.expected, &found));
    original.workspace.discard(&candidate.directory);

    if verdict.score == 1 && evaluation.integrity.violations.is_empty() {
        let (candidate, scratch, traced, trace) = run.traced(text)?;
        let hits: Vec<u32> = trace.file(&candidate.gist).map_or_else(Vec::new, |file| {
            let mut hits: Vec<u32> =
                file.import_lines.iter().chain(&file.test_lines).copied().collect();
            hits.sort_unstable();
            hits.dedup();
            hits
        });
        let skipped = skipped(reference, &blocks);
        evaluation.execution =
            Some(execution(&outline, &hits, &codebase, &executed, map, &skipped));
        // The gist's own test may be another than the original's; only equal ones must agree.
        if evaluation.test.as_ref().is_some_and(|test| test.rate == Some(1.0)) {
            let found = observe(&candidate, &scratch, &traced, &internal, original.command);
            let again = fidelity(&reference.expected, &found);
            if let Some(first) = again.differences.first() {
                evaluation.integrity.notes.push(Finding {
                    rule: Rule::Disagreement,
                    line: 0,
                    evidence: format!(
                        "the traced run of the gist as written differs: {} {:?}",
                        first.case, first.what
                    ),
                });
            }
        }
        original.workspace.discard(&candidate.directory);
    }
    evaluation.cause =
        category(&verdict, &found, &evaluation.integrity, |name| internal.is_internal(name));
    if !evaluation.integrity.violations.is_empty() {
        verdict.score = 0;
    }
    evaluation.fidelity = Some(verdict);
    original.workspace.discard(&pristine);
    Ok(())
}

/// Runs of a candidate.
struct Runs<'a> {
    spec: &'a EvaluateSpec<'a>,
    pristine: &'a Path,
    internal: &'a Internal,
}

impl Runs<'_> {
    fn lay_out(&self, text: &str) -> Result<(Candidate, PathBuf), EvalError> {
        let original = &self.spec.original;
        let into = original.workspace.directory("candidate")?;
        let scratch = original.workspace.directory("scratch")?;
        let candidate = tools::lay_out(&CandidateSpec {
            original: self.pristine,
            internal: self.internal,
            gist: text,
            place: self.spec.place,
            into: &into,
            command: original.command,
        })?;
        Ok((candidate, scratch))
    }

    fn run_spec<'a>(&'a self, candidate: &'a Candidate, scratch: &'a Path) -> RunSpec<'a> {
        let original = &self.spec.original;
        RunSpec {
            sandbox: original.sandbox,
            environment: original.environment,
            command: &candidate.command,
            directory: &candidate.directory,
            scratch,
            limits: original.limits,
            hash_seed: 0,
            variables: original.variables,
        }
    }

    fn plain(&self, text: &str) -> Result<(Candidate, PathBuf, Execution), EvalError> {
        let (candidate, scratch) = self.lay_out(text)?;
        let run = tools::execute(&self.run_spec(&candidate, &scratch))?;
        if run.status == Status::Interrupted {
            return Err(EvalError::Interrupted);
        }
        Ok((candidate, scratch, run))
    }

    fn traced(
        &self,
        text: &str,
    ) -> Result<(Candidate, PathBuf, Execution, graph::Trace), EvalError> {
        let (candidate, scratch) = self.lay_out(text)?;
        let (run, trace) = tools::trace(&self.run_spec(&candidate, &scratch))?;
        if run.status == Status::Interrupted {
            return Err(EvalError::Interrupted);
        }
        Ok((candidate, scratch, run, trace))
    }
}

fn observe(
    candidate: &Candidate,
    scratch: &Path,
    run: &Execution,
    internal: &Internal,
    command: &Command,
) -> Observation {
    let normalizer = normalizer(&candidate.directory, scratch, internal, Some(&candidate.gist));
    // pytest explains every assertion of the file that it collects.
    Observation::of(run, &normalizer, |_| true, command.is_pytest())
}

/// The test functions of a command, and the tests that no function of the source defines.
fn tests(
    command: &Command,
    reference: &Reference,
    codebase: &Codebase,
    internal: &Internal,
) -> (Vec<TestFunction>, Vec<String>) {
    let mut wanted: Vec<(String, Vec<String>)> = reference.tests.clone();
    if !command.is_pytest() {
        for TestId { path, names, .. } in command.tests() {
            let Some(file) = codebase.file(&path) else { continue };
            // `python -m unittest` may name a class or a whole module.
            let functions = file.outline.functions.iter().filter(|function| {
                let parts: Vec<&str> = function.split('.').collect();
                parts.starts_with(&names.iter().map(String::as_str).collect::<Vec<_>>())
                    && parts.len() == 2
                    && parts[1].starts_with("test")
            });
            let unittest =
                matches!(command.program(), tools::Program::Module(name) if name == "unittest");
            if unittest {
                wanted.extend(functions.map(|function| {
                    (path.clone(), function.split('.').map(str::to_owned).collect())
                }));
            }
        }
    }
    let is_internal = |import: Import<'_>| match import {
        Import::Relative => true,
        Import::Absolute(name) => internal.is_internal(name),
    };
    let mut tests: Vec<TestFunction> = Vec::new();
    let mut unknown = Vec::new();
    for (path, names) in wanted {
        let Some(own) = codebase.file(&path) else {
            unknown.push(format!("{path}::{}", names.join("::")));
            continue;
        };
        let own = [(own.path.as_str(), own.text.as_str())];
        let found = find_test(&own, &names, &is_internal).or_else(|| {
            let others = codebase
                .files()
                .iter()
                .filter(|file| internal.removed.contains(&file.path) && file.path != path)
                .filter(|file| reference.trace.file(&file.path).is_some());
            let others = others.map(|file| (file.path.as_str(), file.text.as_str()));
            let all: Vec<(&str, &str)> = own.into_iter().chain(others).collect();
            find_test(&all, &names, &is_internal)
        });
        match found {
            Some(test) if tests.iter().any(|known| known.block == test.block) => {}
            Some(test) => tests.push(test),
            None => unknown.push(format!("{path}::{}", names.join("::"))),
        }
    }
    (tests, unknown)
}

/// Blocks of the tests whose every case is skipped or expected to fail. A test that a class inherits is
/// told by its name alone.
fn skipped(reference: &Reference, blocks: &[String]) -> Vec<String> {
    let cases: Vec<(String, bool)> = reference
        .expected
        .cases
        .iter()
        .map(|(id, phases)| {
            let names = TestId::parse(id).names.join(".");
            (names, phases.iter().any(|phase| phase.outcome == "skipped"))
        })
        .collect();
    let is_skipped = |block: &&String| {
        let exact = cases.iter().any(|(names, _)| names == *block);
        let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
        let mut own = cases
            .iter()
            .filter(|(names, _)| if exact { names == *block } else { last(names) == last(block) })
            .peekable();
        own.peek().is_some() && own.all(|(_, skipped)| *skipped)
    };
    blocks.iter().filter(is_skipped).cloned().collect()
}

fn notes(injected: &Injected, test: Option<&TestScore>, unknown: &[String]) -> Vec<Finding> {
    let mut notes: Vec<Finding> = unknown
        .iter()
        .map(|test| Finding {
            rule: Rule::NotInjected,
            line: 0,
            evidence: format!("no function of the source defines {test}"),
        })
        .collect();
    if let Some(test) = test
        && test.rate.is_some_and(|rate| rate < 1.0)
        && injected.missing.is_empty()
    {
        let line = test.lines.missing.first().map_or(0, |missing| missing.line);
        let evidence = match test.lines.missing.first() {
            Some(missing) => format!("{}: {}", missing.block, missing.text),
            None => format!("{} lost lines", test.blocks.join(", ")),
        };
        notes.push(Finding { rule: Rule::ChangedTest, line, evidence });
    }
    notes
}
