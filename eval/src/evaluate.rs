//! One gist judged: the whole protocol, from its text to its scores.
//!
//! The text is measured as it was written; what is run for the verdict has the original test in it. The
//! reference comes first, so that nothing about a candidate can bend what it is compared with.

mod runs;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Instant,
};

use self::runs::{Canary, Runs, Supported};
use serde::{Deserialize, Serialize};
use tools::{
    Candidate, CandidateSpec, Command, ExecuteError, Execution, Internal, Normalizer, Place,
    RunSpec, Status, Testimony,
};

use crate::{
    account::{Account, Gist, Stand, normalized, watch},
    blocks::Outline,
    codebase::{Codebase, Codebases},
    error::EvalError,
    examples::untold,
    expected::Quarantine,
    gist::Submission,
    helpers::Helpers,
    inject::{Injected, inject},
    integrity::{Finding, Integrity, Originals, Rule, examine},
    observation::Observation,
    reference::{self, Reference, ReferenceSpec},
    scorers::{
        Category, Cause, Effort, Executed, ExecutionRate, Existence, Fidelity, PassRate, Size,
        TestScore, category, execution, existence, fidelity, pass_rate, size, test_score,
    },
    selection::{named, skipped, tests},
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

/// What the writer of a gist could use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// A trace of the command.
    pub trace: bool,
    /// Running code.
    pub execute: bool,
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

/// Judges a gist.
///
/// # Errors
/// When the command is no valid task, or something besides the gist fails. A gist that fails is a score.
pub fn evaluate(spec: &EvaluateSpec<'_>) -> Result<Evaluation, EvalError> {
    let began = Instant::now();
    let own = Codebases::default();
    let codebases = spec.codebases.unwrap_or(&own);
    let reference = Reference::measure_in(&spec.original, codebases)?;
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
        Submission::Written(text) => judge(spec, &reference, text, codebases, &mut evaluation)?,
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
    codebases: &Codebases,
    evaluation: &mut Evaluation,
) -> Result<(), EvalError> {
    let original = spec.original;
    let pristine = original.workspace.copy(original.repository)?;
    let codebase = codebases.get(&original.repository.fingerprint, &pristine);
    let internal = reference.internal(&pristine, original.command)?;
    let outline = Outline::of(text);
    let executed = Executed::of_trace(&reference.trace);
    let empty = SourceMap::default();
    let map = spec.source_map.unwrap_or(&empty);

    let (tests, unknown) = tests(original.command, reference, &codebase, &internal);
    let places: Vec<(String, String)> =
        tests.iter().map(|test| (test.path.clone(), test.block.clone())).collect();
    let blocks: Vec<String> = places.iter().map(|(_, block)| block.clone()).collect();
    let named = named(original.command, reference);
    let injected = inject(text, &tests);

    evaluation.existence = Some(existence(&outline, &codebase, map));
    evaluation.test = Some(test_score(&outline, &places, &codebase));
    evaluation.size = Some(size(text, &outline, reference.executed, reference.repository));
    let is_internal = |name: &str| internal.is_internal(name);
    let originals = Originals::new(&codebase, &executed, &is_internal);
    evaluation.integrity = examine(text, &outline, &codebase, &is_internal);
    evaluation.integrity.violations.extend(changed_support(&Support {
        text,
        gist: &outline,
        codebase: &codebase,
        files: &internal.support,
        executed: &executed,
        tests: &blocks,
        places: &places,
        named: &named,
        failed: &reference.failed,
        is_internal: &is_internal,
        originals: &originals,
    }));
    evaluation.integrity.notes.extend(notes(&injected, evaluation.test.as_ref(), &unknown));

    if let Some(missing) = injected.missing.first() {
        evaluation.fidelity = Some(Fidelity::default());
        evaluation.pass_rate = Some(PassRate {
            cases: reference.expected.cases.len() as u64,
            rate: Some(0.0),
            ..PassRate::default()
        });
        let unread =
            outline.errors.first().map(|(line, why)| format!("line {line} is no Python: {why}; "));
        let evidence = format!("{}the gist has no {missing}", unread.unwrap_or_default());
        let category = Category::MissingTest;
        evaluation.cause = Some(Cause { category, evidence });
        original.workspace.discard(&pristine);
        return Ok(());
    }

    let run = Runs { spec, pristine: &pristine, internal: &internal };
    let support = Supported {
        codebase: &codebase,
        executed: &executed,
        tests: &blocks,
        originals: &originals,
    };
    let tested = run.guarded(&injected.text, &support);
    let mut found = run.observed(&tested)?;
    let mut verdict = fidelity(&reference.expected, &found);
    for _ in 1..verdict.tries(&reference.expected) {
        found = run.observed(&tested)?;
        verdict = fidelity(&reference.expected, &found);
        if !verdict.is_of_text() {
            break;
        }
    }
    evaluation.pass_rate = Some(pass_rate(&reference.expected, &found));

    // Also where its text is no honest one: what it does when it runs is evidence besides.
    if verdict.score == 1
        && let Some(account) = &reference.account
    {
        let found = run.witnessed(reference, account, &tested, &support)?;
        evaluation.integrity.violations.extend(found);
    }
    if verdict.score == 1 && evaluation.integrity.violations.is_empty() {
        let canary = Canary::of(text);
        let (candidate, scratch, traced, trace) = run.traced(&canary.text)?;
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
        if hits.iter().any(|line| *line > canary.last) {
            let evidence = "lines are told as executed that nothing executes".to_owned();
            evaluation.integrity.violations.push(Finding {
                rule: Rule::Tampering,
                line: 0,
                evidence,
            });
        }
        let parts = (candidate.gist.as_str(), text, &outline);
        let own = Helpers::of(parts, &internal.support, &originals, (&codebase, &executed), &[]);
        evaluation.integrity.violations.extend(own.asked_anew(&codebase, &hits));
        evaluation.integrity.violations.extend(own.weakened(&hits));
        // Where nobody looks at cases, what was done is all that tells them.
        if !original.command.is_pytest() {
            let lost = untold(text, original.command, &codebase);
            evaluation.integrity.violations.extend(
                own.idle(&hits).or(lost).map(|evidence| Finding {
                    rule: Rule::Disagreement,
                    line: 0,
                    evidence,
                }),
            );
        }
        // The gist's own test may be another than the original's; only equal ones must agree.
        let same_test = evaluation.test.as_ref().is_none_or(|test| test.rate == Some(1.0));
        if same_test && reference.traced_agrees {
            let found = observe(&candidate, &scratch, &traced, &internal, original.command);
            let told = fidelity(&reference.expected, &found);
            // What fails once may have failed by chance.
            let tries = told.tries(&reference.expected).max(2);
            if let Some(first) = told.differences.into_iter().next()
                && !run.agrees_traced(reference, &canary.text, tries - 1)?
                && reference::agrees_traced(&original, &reference.expected, &internal)?
            {
                let evidence = format!(
                    "the traced run differs: {} {}, expected {}, found {}",
                    first.case, first.what, first.expected, first.found
                );
                let rule = Rule::Disagreement;
                evaluation.integrity.violations.push(Finding { rule, line: 0, evidence });
            }
        }
        if !evaluation.integrity.violations.is_empty() {
            evaluation.execution = None;
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

fn observe(
    candidate: &Candidate,
    scratch: &Path,
    run: &Execution,
    internal: &Internal,
    command: &Command,
) -> Observation {
    let normalizer =
        Normalizer::of_run(&candidate.directory, scratch, internal, Some(&candidate.gist));
    // pytest explains every assertion of the file that it collects.
    Observation::of(run, &normalizer, |_| true, command.is_pytest())
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
