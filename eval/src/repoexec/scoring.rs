//! Verdicts on generations: each answer is cut, put in its place, run and compared with the solution.
//!
//! Runs are shared out among workers, those of one problem together; equal functions of a problem are run once. Where a
//! problem has several runs they are made by fork of a process that waits, as far as that gives what cold runs do. The verdicts come in the order of the
//! generations, whatever finished first.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use super::{
    answer::{CutFunction, cut_function, is_empty_function, syntax_error},
    code_bleu::code_bleu,
    completion_run::{CompletionBed, CompletionRun, run_completion},
    estimate::{Invocable, body_of},
    forked_runs::{FORKED, ForkedRuns},
    problem::CompletionProblem,
    sample::{Generation, SAMPLE_VERSION, SampleClass, SampleVerdict, Similarity},
    similarity::{bleu, edit_similarity},
};
use crate::error::EvalError;

/// The inputs of a scoring.
pub struct ScoringSpec<'a> {
    /// The problems, all of whose repositories have a bed.
    pub problems: &'a [CompletionProblem],
    /// The answers.
    pub generations: &'a [Generation],
    /// The bed of each repository, by [`ProblemSource::repository`](super::ProblemSource).
    pub beds: &'a BTreeMap<String, CompletionBed<'a>>,
    /// Runs at once.
    pub workers: usize,
    /// Hears of each run: how many are done, and of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// An answer on its way to a verdict.
enum Cut {
    /// A class that needs no run, and what there is to say.
    Settled(SampleClass, String),
    /// A function to run: its place among the runs.
    Run(usize),
}

/// Scores generations.
///
/// # Errors
/// The user interrupts. What the machine fails at is unscored, with the reason in its log.
pub fn score_generations(spec: &ScoringSpec<'_>) -> Result<Vec<SampleVerdict>, EvalError> {
    let problems: BTreeMap<&str, &CompletionProblem> =
        spec.problems.iter().map(|problem| (problem.id.as_str(), problem)).collect();
    let mut runs: Vec<(&CompletionProblem, String)> = Vec::new();
    let mut places: HashMap<(&str, String), usize> = HashMap::new();
    let mut first = Vec::new();
    let cuts: Vec<(Cut, String)> = spec
        .generations
        .iter()
        .map(|generation| {
            let Some(problem) = problems.get(generation.problem.as_str()).copied() else {
                let why = "no problem of that id".to_owned();
                return (Cut::Settled(SampleClass::Unscored, why), String::new());
            };
            match settled(problem, generation) {
                Ok(function) => {
                    let place = *places
                        .entry((problem.id.as_str(), function.clone()))
                        .or_insert_with(|| {
                            runs.push((problem, function.clone()));
                            runs.len() - 1
                        });
                    (Cut::Run(place), function)
                }
                Err((class, log, function)) => (Cut::Settled(class, log), function),
            }
        })
        .collect();
    first.resize(runs.len(), false);
    let ran = run_all(spec, &runs)?;
    let verdicts = spec.generations.iter().zip(cuts).map(|(generation, (cut, function))| {
        let (run, repeated) = match cut {
            Cut::Settled(class, log) => {
                (CompletionRun { class, error: None, log, seconds: 0.0 }, false)
            }
            Cut::Run(place) => {
                let repeated = std::mem::replace(&mut first[place], true);
                (ran[place].clone(), repeated)
            }
        };
        verdict(
            problems.get(generation.problem.as_str()).copied(),
            generation,
            function,
            run,
            repeated,
        )
    });
    Ok(verdicts.collect())
}

/// The function of a generation, or the class of an answer that has none to run.
fn settled(
    problem: &CompletionProblem,
    generation: &Generation,
) -> Result<String, (SampleClass, String, String)> {
    let settled = |class, log: &str| Err((class, log.to_owned(), String::new()));
    if let Some(failure) = &generation.failure {
        return settled(SampleClass::NoAnswer, failure);
    }
    match cut_function(&problem.function, &generation.answer) {
        CutFunction::Missing => {
            settled(SampleClass::NoFunction, "the answer does not have the function")
        }
        CutFunction::Several => settled(
            SampleClass::SeveralFunctions,
            "the answer has the function twice, and they differ",
        ),
        CutFunction::TooLong(bytes) => {
            settled(SampleClass::TooLong, &format!("the answer has {bytes} bytes"))
        }
        CutFunction::Found(function) => match syntax_error(&function) {
            Some(error) => Err((SampleClass::SyntaxError, error, function)),
            None => Ok(function),
        },
    }
}

/// Runs that one worker makes one after the other.
const TOGETHER: usize = 20;

/// The runs of each problem, in parts, in the order of the problems' repositories and first runs.
fn turns(runs: &[(&CompletionProblem, String)]) -> Vec<Vec<usize>> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut of_problem: BTreeMap<(&str, usize), Vec<usize>> = BTreeMap::new();
    for (at, (problem, _)) in runs.iter().enumerate() {
        let first = *first.entry(problem.id.as_str()).or_insert(at);
        of_problem.entry((&problem.source.repository, first)).or_default().push(at);
    }
    of_problem.values().flat_map(|all| all.chunks(TOGETHER).map(<[usize]>::to_vec)).collect()
}

fn run_all(
    spec: &ScoringSpec<'_>,
    runs: &[(&CompletionProblem, String)],
) -> Result<Vec<CompletionRun>, EvalError> {
    let results: Vec<Mutex<Option<CompletionRun>>> =
        runs.iter().map(|_| Mutex::new(None)).collect();
    let turns = turns(runs);
    let (next, done, stopped) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..spec.workers.clamp(1, turns.len().max(1)) {
            scope.spawn(|| {
                let mut forked = ForkedRuns::default();
                while let Some(turn) = turns.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for &at in turn {
                        let (problem, function) = &runs[at];
                        if stopped.load(Ordering::Relaxed) {
                            return;
                        }
                        let run = match spec.beds.get(&problem.source.repository) {
                            Some(bed) => {
                                let by_fork = match turn.len() < FORKED {
                                    true => Ok(None),
                                    false => forked.run(bed, problem, function),
                                };
                                match by_fork {
                                    Ok(Some(run)) => Ok(run),
                                    Ok(None) => run_completion(bed, problem, function),
                                    Err(error) => Err(error),
                                }
                            }
                            None => Err(EvalError::Problem {
                                problem: problem.id.clone(),
                                reason: "its repository is not there".to_owned(),
                            }),
                        };
                        let run = match run {
                            Ok(run) => run,
                            Err(EvalError::Interrupted) => {
                                stopped.store(true, Ordering::Relaxed);
                                return;
                            }
                            Err(error) => CompletionRun {
                                class: SampleClass::Unscored,
                                error: None,
                                log: error.to_string(),
                                seconds: 0.0,
                            },
                        };
                        *results[at].lock().expect("no worker panics") = Some(run);
                        (spec.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, runs.len());
                    }
                }
            });
        }
    });
    let results: Option<Vec<_>> =
        results.into_iter().map(|one| one.into_inner().expect("no worker panics")).collect();
    results.ok_or(EvalError::Interrupted)
}

fn verdict(
    problem: Option<&CompletionProblem>,
    generation: &Generation,
    function: String,
    run: CompletionRun,
    repeated: bool,
) -> SampleVerdict {
    let scored = run.class.is_scored();
    let body = body_of(&function);
    let invocable = problem.map(|problem| Invocable::of(&problem.function)).unwrap_or_default();
    let similarity = problem.filter(|_| scored && !function.is_empty()).map(|problem| {
        let solution = problem.function.body().trim();
        let body = body.trim();
        Similarity {
            edit: edit_similarity(body, solution),
            bleu: bleu(body, solution),
            code_bleu: code_bleu(body, solution).score(),
        }
    });
    SampleVerdict {
        version: SAMPLE_VERSION,
        problem: generation.problem.clone(),
        sample: generation.sample,
        round: generation.round,
        model: generation.model.clone(),
        prompt: generation.prompt.clone(),
        class: run.class,
        error: run.error,
        log: run.log,
        empty: is_empty_function(&function),
        invocation: invocable.rate(&body).filter(|_| scored),
        own_invocation: invocable.own_rate(&body).filter(|_| scored),
        similarity,
        function,
        seconds: run.seconds,
        repeated,
    }
}
