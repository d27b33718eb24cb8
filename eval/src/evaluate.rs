//! Judges one gist: the whole protocol, from its text to its scores.
//!
//! The text is measured as it was written; the text that is executed for the verdict contains the
//! original test. The reference is measured first, so that no candidate can influence it.

mod runs;

use std::{collections::BTreeMap, fmt, path::Path, time::Instant};

use self::runs::Runs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{Alone, Candidate, Command, Execution, GistPlace, Internal, Normalizer};

use crate::{
    blocks::Outline,
    codebase::Codebases,
    error::EvalError,
    expected::Quarantine,
    gist::Submission,
    inject::{Injected, inject},
    observation::Observation,
    reference::{Reference, ReferenceSpec},
    scorers::{
        Category, Cause, Effort, Executed, Facts, Fidelity, GistFacts, Scores, StrictFidelity,
        Verified, WholeTest, category, paper_fidelity, whole_test,
    },
    selection::{skipped, tests},
    sensitivity::{Mutants, MutatedGist},
    source_map::SourceMap,
    store::Record,
    task::Counts,
    verify::{Verification, VerifySpec, verify},
};

/// The inputs of an evaluation.
#[derive(Clone, Copy)]
pub struct EvaluateSpec<'a> {
    /// The original, and how it is run.
    pub original: ReferenceSpec<'a>,
    /// Name of the task in records.
    pub task: &'a str,
    /// The place of the gist.
    pub place: GistPlace,
    /// The gist.
    pub submission: &'a Submission,
    /// The origins of its lines, as its writer claims.
    pub source_map: Option<&'a SourceMap>,
    /// The abilities of the writer.
    pub writer: WriterAbilities,
    /// The cost of writing it.
    pub effort: Option<&'a Effort>,
    /// Its behaviour away from the repository, if that was tried.
    pub alone: Option<&'a Alone>,
    /// Mutants that the original is run with, and a faithful gist with those that are noticed; 0 for none.
    pub mutants: u32,
    /// Repositories that were read already; nothing to read this one anew.
    pub codebases: Option<&'a Codebases>,
}

/// The abilities of a gist's writer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriterAbilities {
    /// A trace of the command.
    pub trace: bool,
    /// Running code.
    pub execute: bool,
}

/// The scores of one gist, each with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluation {
    /// Name of the task.
    pub task: String,
    /// The repository, as the user names it.
    pub repository: String,
    /// The command.
    pub command: String,
    /// The place of the gist.
    pub place: GistPlace,
    /// Version of the interpreter.
    pub python: String,
    /// The sandbox of all runs.
    pub sandbox: String,
    /// Why the task is set aside; it has no score then.
    pub quarantine: Option<Quarantine>,
    /// Every measure of it, with evidence; none where it is set aside.
    pub scores: Scores,
    /// Why it is not faithful.
    pub cause: Option<Cause>,
    /// Observations that decide nothing.
    pub notes: Vec<Note>,
    /// The behaviour away from the repository, if that was tried.
    #[serde(default)]
    pub alone: Option<Alone>,
    /// The cost of writing it.
    pub effort: Option<Effort>,
    /// The abilities of the writer.
    pub writer: WriterAbilities,
    /// The reference that it was compared with.
    pub reference: ReferenceSummary,
    /// Wall-clock seconds of scoring, the reference excluded.
    pub seconds: f64,
}

/// Something worth knowing of a gist that decides nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// 1-based line of the gist; 0 for the whole.
    pub line: u32,
    /// The evidence.
    pub evidence: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.evidence),
            line => write!(f, "line {line}: {}", self.evidence),
        }
    }
}

impl Record for Evaluation {
    const VERSION: u32 = 3;
}

impl Evaluation {
    /// The verdict in the strength that *faithful* means; nothing where the task is set aside.
    pub fn strict(&self) -> Option<Fidelity> {
        self.scores.evidence::<StrictFidelity>()
    }

    /// The second answer, beside the verdict; nothing where the task is set aside.
    pub fn verification(&self) -> Option<Verification> {
        self.scores.evidence::<Verified>()
    }

    /// Returns true if the gist is verified.
    pub fn is_verified(&self) -> bool {
        self.scores.value::<Verified>() == Some(1.0)
    }

    /// Returns true if the gist is faithful.
    pub fn is_faithful(&self) -> bool {
        self.scores.value::<StrictFidelity>() == Some(1.0)
    }
}

/// The summary of a reference beside a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceSummary {
    /// Outcomes.
    pub counts: Counts,
    /// Median wall-clock seconds of the plain command.
    pub seconds: f64,
    /// Median CPU seconds of the plain command.
    pub cpu_seconds: f64,
    /// Untraced runs.
    pub runs: u32,
    /// True if it was measured before.
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
#[tracing::instrument(level = "debug", skip_all)]
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
            let (category, evidence) = (Category::FileCreation, reason.clone());
            evaluation.cause = Some(Cause { category, evidence, syntax: None });
            let executed = Executed::of_trace(&reference.trace);
            evaluation.scores = Scores::of(&facts(&reference, &executed, &Fidelity::default()));
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
        scores: Scores::default(),
        cause: None,
        notes: Vec::new(),
        alone: spec.alone.cloned(),
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

/// The facts about the original, and a verdict.
fn facts<'a>(reference: &'a Reference, executed: &'a Executed, strict: &'a Fidelity) -> Facts<'a> {
    Facts {
        expected: &reference.expected,
        executed,
        executed_extent: reference.executed,
        repository: reference.repository,
        gist: None,
        strict,
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
    let injected = inject(text, &tests);

    let skipped = skipped(reference, &blocks);
    let is_internal = |name: &str| internal.is_internal(name);
    let own_test = whole_test(&outline, &places, &codebase);
    evaluation.notes = notes(&injected, &own_test, &unknown);
    let written = GistFacts {
        text,
        outline: &outline,
        map,
        codebase: &codebase,
        tests: &places,
        skipped: &skipped,
        is_internal: &is_internal,
        found: None,
        hits: None,
        sensitivity: None,
        verification: None,
        alone: spec.alone,
    };

    let against = VerifySpec {
        original: &original,
        reference,
        pristine: &pristine,
        codebase: &codebase,
        internal: &internal,
        gist: &spec.place.gist_path(original.command),
        map,
    };
    if let Some(missing) = injected.missing.first() {
        let strict = Fidelity::default();
        let verification = verify(&against, text, false)?;
        let written = GistFacts { verification: Some(&verification), ..written };
        let facts = Facts { gist: Some(written), ..facts(reference, &executed, &strict) };
        evaluation.scores = Scores::of(&facts);
        let (category, evidence) = (Category::MissingTest, format!("the gist has no {missing}"));
        evaluation.cause =
            Some(Cause { category, evidence, syntax: outline.errors.first().cloned() });
        original.workspace.discard(&pristine);
        return Ok(());
    }

    let run = Runs { spec, pristine: &pristine, internal: &internal };
    original.begins("gist");
    let (mut found, mut verdict) = run.judged(reference, &injected.text)?;
    if verdict.score == 1 {
        // A gist that is right by chance is right in one run.
        original.begins("gist, a second run");
        let (again, other) = run.judged(reference, &injected.text)?;
        if other.score == 0 {
            let evidence =
                "the gist's first run ends as on the original, its second does not".to_owned();
            evaluation.notes.push(Note { line: 0, evidence });
            (found, verdict) = (again, other);
        }
    }

    if found.shows_sources() {
        let evidence =
            "the output quotes lines of source code; those lines were not compared".to_owned();
        evaluation.notes.push(Note { line: 0, evidence });
    }

    // Its lines are of interest wherever it runs, faithful or not.
    let hits = match paper_fidelity(&reference.expected, &found).runs {
        true => {
            original.begins("gist, traced");
            Some(run.hits(&outline, text)?)
        }
        false => None,
    };
    let mutated = MutatedGist {
        text: &injected.text,
        pristine: &pristine,
        internal: &internal,
        place: spec.place,
        codebase: &codebase,
    };
    let sensitivity = match verdict.score == 1 && spec.mutants > 0 {
        true => {
            original.begins("mutants");
            let mutants =
                Mutants::measure(&original, reference, &codebase, &internal, spec.mutants)?;
            Some(mutants.of_gist(&original, reference, &mutated)?)
        }
        false => None,
    };
    let verification = verify(&against, text, verdict.score == 1)?;
    let cause = category(&verdict, &found, |name| internal.is_internal(name));
    evaluation.cause =
        cause.map(|cause| Cause { syntax: outline.errors.first().cloned(), ..cause });
    let written = GistFacts {
        found: Some(&found),
        hits: hits.as_deref(),
        sensitivity: sensitivity.as_ref(),
        verification: Some(&verification),
        ..written
    };
    let facts = Facts { gist: Some(written), ..facts(reference, &executed, &verdict) };
    evaluation.scores = Scores::of(&facts);
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

fn notes(injected: &Injected, test: &WholeTest, unknown: &[String]) -> Vec<Note> {
    let mut notes: Vec<Note> = unknown
        .iter()
        .map(|test| Note { line: 0, evidence: format!("no function of the source defines {test}") })
        .collect();
    if test.rate.is_some_and(|rate| rate < 1.0) && injected.missing.is_empty() {
        let line = test.lines.missing.first().map_or(0, |missing| missing.line);
        let evidence = match test.lines.missing.first() {
            Some(missing) => format!("changed test: {}: {}", missing.block, missing.text),
            None => format!("changed test: {} lost lines", test.blocks.join(", ")),
        };
        notes.push(Note { line, evidence });
    }
    notes
}
