//! A data set of functions with their dependencies for tuning models (RepoExec, section 6.3): which functions it has,
//! in which form each, and in which split.
//!
//! Functions with docstrings become instructions, others raw code with full or small contexts, by shares. A split goes
//! by repository, and of equal functions the first stays, so that no function is in both. The same seed gives the same
//! picks in the same order. Prompts are for others.

use std::collections::{BTreeMap, BTreeSet};

use graph::{Source, Syntax, Unfit, with_deep_stack};
use ruff_python_ast::token::TokenKind;
use ruff_text_size::{Ranged, TextRange, TextSize};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::problem::CompletionProblem;

/// The form in which a function is presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TuningForm {
    /// An instruction with its docstring.
    Instruct,
    /// Raw code behind its full context.
    Full,
    /// Raw code behind its small context.
    Small,
}

/// The use of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TuningSplit {
    /// For training.
    Train,
    /// For the choice of a checkpoint.
    Validation,
}

/// The options for choosing functions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TuningMix {
    /// Shares of instructions, full and small contexts; the paper's are 50, 80 and 20 thousand.
    pub shares: [u32; 3],
    /// The share of functions that are kept for validation; the paper's is 0.1.
    pub validation: f64,
    /// The seed of the draw, besides the functions' ids.
    pub seed: u64,
    /// Most functions; none for as many as the shares allow.
    pub most: Option<usize>,
}

impl Default for TuningMix {
    fn default() -> Self {
        Self { shares: [50, 80, 20], validation: 0.1, seed: 0, most: None }
    }
}

/// A function of the data set.
#[derive(Debug, Clone, PartialEq)]
pub struct TuningPick<'a> {
    /// The function.
    pub problem: &'a CompletionProblem,
    /// The form of the function.
    pub form: TuningForm,
    /// The use of the function.
    pub split: TuningSplit,
}

/// The results for the functions of a data set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TuningCounts {
    /// Functions that were looked at.
    pub functions: usize,
    /// Functions of tests, of broken files, and stubs.
    pub unfit: usize,
    /// Equal to an earlier function.
    pub duplicates: usize,
    /// Left, with docstrings.
    pub with_docstring: usize,
    /// Left, without.
    pub without_docstring: usize,
    /// Picked by form.
    pub forms: BTreeMap<TuningForm, usize>,
    /// Picked by split.
    pub splits: BTreeMap<TuningSplit, usize>,
    /// Left, and not picked: the shares leave no room for them.
    pub unused: usize,
    /// Repositories that are for validation.
    pub validation_repositories: Vec<String>,
}

/// Picks the functions of a data set, sorted by id.
pub fn tuning_set<'a>(
    problems: &'a [CompletionProblem],
    mix: &TuningMix,
) -> (Vec<TuningPick<'a>>, TuningCounts) {
    let mut counts = TuningCounts { functions: problems.len(), ..TuningCounts::default() };
    let mut usable: Vec<&CompletionProblem> =
        problems.iter().filter(|problem| is_usable(problem.function.unfit)).collect();
    usable.sort_by(|a, b| (&a.id, a.function.line).cmp(&(&b.id, b.function.line)));
    counts.unfit = problems.len() - usable.len();
    let mut seen = BTreeSet::new();
    let mut left: Vec<&CompletionProblem> = Vec::new();
    for problem in usable {
        match seen.insert(fingerprint(&problem.function.solution)) {
            true => left.push(problem),
            false => counts.duplicates += 1,
        }
    }
    left.sort_by_cached_key(|problem| (place(mix.seed, &problem.id), problem.id.clone()));
    let documented = left.iter().filter(|problem| is_documented(problem)).count();
    counts.with_docstring = documented;
    counts.without_docstring = left.len() - documented;
    let wanted = shared_out(mix, documented, left.len());
    let instruct: BTreeSet<&str> = left
        .iter()
        .filter(|problem| is_documented(problem))
        .take(wanted[0])
        .map(|problem| problem.id.as_str())
        .collect();
    let mut picks: Vec<TuningPick<'a>> = Vec::new();
    let mut raw = 0;
    for problem in left.iter().copied() {
        let form = if instruct.contains(problem.id.as_str()) {
            TuningForm::Instruct
        } else {
            raw += 1;
            match raw {
                raw if raw <= wanted[1] => TuningForm::Full,
                raw if raw <= wanted[1] + wanted[2] => TuningForm::Small,
                _ => continue,
            }
        };
        picks.push(TuningPick { problem, form, split: TuningSplit::Train });
    }
    counts.unused = left.len() - picks.len();
    let kept = validation_repositories(&picks, mix);
    for pick in &mut picks {
        if kept.contains(pick.problem.source.repository.as_str()) {
            pick.split = TuningSplit::Validation;
        }
        *counts.forms.entry(pick.form).or_default() += 1;
        *counts.splits.entry(pick.split).or_default() += 1;
    }
    counts.validation_repositories = kept.into_iter().map(str::to_owned).collect();
    picks.sort_by(|a, b| {
        a.problem.id.cmp(&b.problem.id).then(a.problem.function.line.cmp(&b.problem.function.line))
    });
    (picks, counts)
}

fn is_usable(unfit: Option<Unfit>) -> bool {
    !matches!(unfit, Some(Unfit::Test | Unfit::Broken | Unfit::Stub | Unfit::Shadowed))
}

fn is_documented(problem: &CompletionProblem) -> bool {
    !problem.function.docstring.is_empty()
}

/// Returns the number of functions for each form: as many as the shares allow.
fn shared_out(mix: &TuningMix, documented: usize, all: usize) -> [usize; 3] {
    let shares = mix.shares.map(f64::from);
    let sum: f64 = shares.iter().sum();
    if sum <= 0.0 {
        return [0; 3];
    }
    let mut unit = all as f64 / sum;
    if shares[0] > 0.0 {
        unit = unit.min(documented as f64 / shares[0]);
    }
    if let Some(most) = mix.most {
        unit = unit.min(most as f64 / sum);
    }
    // What is whole but for rounding is whole.
    shares.map(|share| (unit * share + 1e-9).floor() as usize)
}

/// The repositories for validation: in the order of the draw, those that fit into its share, or else the smallest.
///
/// Each split has a repository if there are two and a share of validation. Of one repository all is for training.
fn validation_repositories<'a>(picks: &[TuningPick<'a>], mix: &TuningMix) -> BTreeSet<&'a str> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for pick in picks {
        *sizes.entry(pick.problem.source.repository.as_str()).or_default() += 1;
    }
    let mut order: Vec<(&str, usize)> = sizes.into_iter().collect();
    order.sort_by_cached_key(|(repository, _)| place(mix.seed, repository));
    if order.len() < 2 || mix.validation <= 0.0 {
        return BTreeSet::new();
    }
    let room = (picks.len() as f64 * mix.validation).ceil() as usize;
    let mut taken = 0;
    let mut kept = BTreeSet::new();
    for &(repository, size) in &order {
        if taken + size <= room && kept.len() + 1 < order.len() {
            taken += size;
            kept.insert(repository);
        }
    }
    if kept.is_empty() {
        kept.extend(order.iter().min_by_key(|(_, size)| size).map(|(repository, _)| *repository));
    }
    kept
}

/// Returns the position of a name in the draw of a seed: the SHA-256 of the seed, in decimal, and
/// the name.
fn place(seed: u64, name: &str) -> [u8; 32] {
    Sha256::digest(format!("{seed}{name}")).into()
}

/// Returns a hash that equal functions share: of their tokens, without comments and layout.
fn fingerprint(solution: &str) -> [u8; 32] {
    with_deep_stack(|| {
        let syntax = Syntax::parse(Source::new("solution", solution));
        let mut hash = Sha256::new();
        for token in syntax.tokens(TextRange::up_to(TextSize::of(solution))) {
            if !matches!(token.kind(), TokenKind::Comment | TokenKind::NonLogicalNewline) {
                hash.update(syntax.source().slice(token.range()).trim());
                hash.update([0]);
            }
        }
        hash.finalize().into()
    })
}

#[cfg(test)]
mod tests {
    use graph::{ExtractionOptions, extract_of_sources};

    use super::*;
    use crate::repoexec::ProblemSource;

    /// Repositories of so many functions each; every second function has a docstring.
    fn problems(sizes: &[usize]) -> Vec<CompletionProblem> {
        let mut problems = Vec::new();
        for (repository, size) in sizes.iter().enumerate() {
            let text: String = (0..*size)
                .map(|at| {
                    let doc = if at % 2 == 0 { "    'Returns a number of its own.'\n" } else { "" };
                    format!("def f{at}(x):\n{doc}    return x + {repository} * {at}\n")
                })
                .collect();
            let source = ProblemSource {
                repository: format!("pypi:pkg{repository}==1"),
                ..ProblemSource::default()
            };
            let found =
                extract_of_sources([("m.py", text.as_str())], &ExtractionOptions::default());
            let label = format!("pkg{repository}");
            let made = found.functions.into_iter();
            problems.extend(
                made.map(|function| CompletionProblem::new(&label, source.clone(), function)),
            );
        }
        problems
    }

    #[test]
    fn shares_hold_and_counters_add_up() {
        let problems = problems(&[60, 30, 10, 10, 5, 5]);
        let (picks, counts) = tuning_set(&problems, &TuningMix::default());
        assert_eq!(counts.forms.values().sum::<usize>(), picks.len());
        assert_eq!(counts.splits.values().sum::<usize>(), picks.len());
        let (unfit, duplicates) = (counts.unfit, counts.duplicates);
        assert_eq!(picks.len() + counts.unused + unfit + duplicates, problems.len());
        let by = |form| counts.forms[&form] as f64;
        assert!((by(TuningForm::Full) / by(TuningForm::Instruct) - 1.6).abs() < 0.05);
        assert!((by(TuningForm::Instruct) / by(TuningForm::Small) - 2.5).abs() < 0.2);
        let is_documented = |pick: &&TuningPick| pick.form == TuningForm::Instruct;
        assert!(
            picks.iter().filter(is_documented).all(|pick| !pick
                .problem
                .function
                .docstring
                .is_empty())
        );
    }

    #[test]
    fn a_split_goes_by_repository() {
        let problems = problems(&[60, 30, 10, 10, 5, 5]);
        let (picks, counts) = tuning_set(&problems, &TuningMix::default());
        let of = |split| -> BTreeSet<&str> {
            let picks = picks.iter().filter(|pick| pick.split == split);
            picks.map(|pick| pick.problem.source.repository.as_str()).collect()
        };
        assert!(of(TuningSplit::Train).is_disjoint(&of(TuningSplit::Validation)));
        let share = counts.splits[&TuningSplit::Validation] as f64 / picks.len() as f64;
        assert!(share > 0.0 && share <= 0.11, "{share}");
    }

    #[test]
    fn few_repositories_make_no_empty_split() {
        for (sizes, validation, expected) in [
            (&[40, 30, 20][..], 0.1, [70, 20]),
            (&[40, 40], 0.1, [40, 40]),
            (&[20, 20], 0.999, [20, 20]),
            (&[40, 30, 20], 0.0, [90, 0]),
            (&[40], 0.1, [40, 0]),
        ] {
            let problems = problems(sizes);
            let mix = TuningMix { shares: [1, 1, 0], validation, ..TuningMix::default() };
            let (_, counts) = tuning_set(&problems, &mix);
            let splits = [TuningSplit::Train, TuningSplit::Validation];
            let counted = splits.map(|split| counts.splits.get(&split).copied().unwrap_or(0));
            assert_eq!(counted, expected, "{sizes:?}, {validation}");
        }
    }

    #[test]
    fn equal_functions_are_picked_once() {
        let mut twice = problems(&[20, 20]);
        // The second repository has the first one's functions, with other layout.
        for at in 20..40 {
            twice[at].function.solution =
                twice[at - 20].function.solution.replace("return x", "# as before\n    return  x ");
        }
        let (picks, counts) = tuning_set(&twice, &TuningMix::default());
        assert_eq!(counts.duplicates, 20);
        assert!(picks.iter().all(|pick| pick.problem.id.starts_with("pkg0/")));
    }

    #[test]
    fn a_draw_depends_on_its_seed_alone() {
        let (all, mut reversed) = (problems(&[40, 20]), problems(&[40, 20]));
        reversed.reverse();
        let ids = |problems: &[CompletionProblem], seed| -> Vec<(String, TuningForm)> {
            let mix = TuningMix { seed, ..TuningMix::default() };
            let (picks, _) = tuning_set(problems, &mix);
            picks.into_iter().map(|pick| (pick.problem.id.clone(), pick.form)).collect()
        };
        assert_eq!(ids(&all, 1), ids(&reversed, 1));
        assert_ne!(ids(&all, 1), ids(&all, 2));
    }

    #[test]
    fn published_counts_fit_the_shares() {
        // RepoExec, section 6.3: 154,818 functions, 57,746 of them with docstrings; 50, 80 and 20 thousand are used.
        let mix = TuningMix { most: Some(150_000), ..TuningMix::default() };
        assert_eq!(shared_out(&mix, 57_746, 154_818), [50_000, 80_000, 20_000]);
    }
}
