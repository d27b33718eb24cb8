//! The second account of a run, held against that of the original: whether a gist does the same where
//! pytest is not asked, at another time, and nothing that only a cheat does.
//!
//! An account of the original that does not say what its plain runs say is no measure; then the clock is
//! left alone, and if that does not help there is none.

mod findings;

use std::collections::{BTreeMap, BTreeSet};

pub use self::findings::Gist;
use serde::{Deserialize, Serialize};
use tools::{Internal, Normalizer, Testimony, Watch, WitnessedCase, WitnessedEvent};

use crate::{
    blocks::{Class, Line, Outline, Role},
    codebase::Codebase,
    expected::{Expected, ExpectedPhase},
    found::{exchanged, is_definition, rebound, slipped_in},
    helpers::Helpers,
    integrity::{Finding, Places, Rule, without_aliases},
    pruning::is_filler,
    scorers::{Executed, within},
};

/// By how much the clock is moved, in seconds: over a year, and to another hour and minute.
pub const SHIFT: f64 = 400.0 * 86_400.0 + 25_000.0;

/// What the original does when it is witnessed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// By how much the clock was moved.
    pub shift: f64,
    /// What was seen, with names that compare.
    pub testimony: Testimony,
    /// Executed statements of the tests by case: block of the test, and which of its statements.
    pub executed: BTreeMap<String, BTreeMap<String, Vec<bool>>>,
    /// What another such run did: which lines are executed may differ between runs.
    pub again: Option<Again>,
}

/// Another run of the original.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Again {
    cases: Vec<WitnessedCase>,
    examples: BTreeMap<String, u32>,
    executed: BTreeMap<String, BTreeMap<String, Vec<bool>>>,
}

/// A test function where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stand {
    /// Its qualified name.
    pub block: String,
    /// The file.
    pub path: String,
    /// From its first decorator to its end.
    pub span: (u32, u32),
    /// Reach of each statement that counts; imports may be adjusted.
    statements: Vec<(u32, u32)>,
}

impl Stand {
    /// Where a test stands in a file's lines; nothing where it does not.
    pub fn of(block: &str, path: &str, outline: &Outline) -> Option<Stand> {
        let definition = |line: &&Line| line.role == Role::Definition && line.block == block;
        let span = outline.lines.iter().rev().find(definition)?.reach;
        let own = [block.to_owned()];
        let statements = outline
            .lines
            .iter()
            .filter(|line| within(&line.block, &own))
            .filter(|line| span.0 <= line.first && line.last <= span.1)
            .filter(|line| line.class == Class::Executable)
            .filter(|line| !matches!(line.role, Role::Import | Role::Decorator | Role::Definition))
            .map(|line| line.reach)
            .collect();
        Some(Stand { block: block.to_owned(), path: path.to_owned(), span, statements })
    }

    fn executed(&self, case: &WitnessedCase) -> Vec<bool> {
        let ran = |reach: &(u32, u32)| {
            let inside = |line: u32| reach.0 <= line && line <= reach.1;
            case.lines.iter().any(|(path, line)| *path == self.path && inside(*line))
        };
        self.statements.iter().map(ran).collect()
    }
}

/// What is watched in a run: the tests, and spans of what helps them by file.
pub fn watch(
    stands: &[Stand],
    helpers: Vec<(String, Vec<(u32, u32)>)>,
    shift: f64,
    internal: &Internal,
) -> Watch {
    let mut functions: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
    for stand in stands {
        functions.entry(&stand.path).or_default().push(stand.span);
    }
    let functions = functions.into_iter().map(|(path, spans)| (path.to_owned(), spans)).collect();
    Watch { functions, helpers, shift, modules: module_files(internal) }
}

/// Files of the library's modules, from where their names begin: `pkg/mod.py`, `pkg/__init__.py`.
fn module_files(internal: &Internal) -> Vec<String> {
    let library = internal
        .modules
        .iter()
        .filter(|(module, _)| internal.tops.contains(module.split('.').next().unwrap_or_default()));
    let file = |(module, path): (&String, &String)| {
        let end = if path.ends_with("/__init__.py") { "/__init__.py" } else { ".py" };
        format!("{}{end}", module.replace('.', "/"))
    };
    library.map(file).collect()
}

/// Makes the names of an account comparable with those of others.
pub fn normalized(testimony: Testimony, normalizer: &Normalizer) -> Testimony {
    let mut told = testimony;
    told.collected.iter_mut().for_each(|id| *id = normalizer.node(id));
    for case in &mut told.cases {
        case.id = normalizer.node(&case.id);
        for phase in &mut case.phases {
            if let Some(raised) = &mut phase.raised {
                raised.module = normalizer.module(&raised.module);
            }
            phase.stdout = normalizer.text(&phase.stdout);
            phase.stderr = normalizer.text(&phase.stderr);
        }
        for (_, text) in &mut case.given {
            *text = normalizer.text(text);
        }
        for (_, what, ..) in case.used.iter_mut().filter(|(_, what, ..)| !is_definition(what)) {
            *what = normalizer.text(what);
        }
    }
    told.streams = (normalizer.text(&told.streams.0), normalizer.text(&told.streams.1));
    told
}

impl Account {
    /// The original's account.
    ///
    /// # Errors
    /// Where it does not say what the plain runs say; the first difference.
    pub fn of(
        shift: f64,
        testimony: Testimony,
        expected: &Expected,
        stands: &[Stand],
    ) -> Result<Account, String> {
        let executed = executed(&testimony, stands);
        let account = Account { shift, testimony, executed, again: None };
        account.doubt(expected).map_or(Ok(account), Err)
    }

    /// The same beside another run, which was told to its end.
    #[must_use]
    pub fn beside(self, again: Testimony, stands: &[Stand]) -> Self {
        let executed = executed(&again, stands);
        let Testimony { complete, cases, examples, .. } = again;
        let again = complete.then_some(Again { cases, examples, executed });
        Self { again, ..self }
    }

    /// The first thing that it says and the plain runs do not.
    fn doubt(&self, expected: &Expected) -> Option<String> {
        let told = &self.testimony;
        if !told.complete {
            return Some("it is not complete".to_owned());
        }
        if let Some((stdout, stderr)) = &expected.streams
            && !(stdout.matches(&told.streams.0) && stderr.matches(&told.streams.1))
        {
            return Some("its streams are others".to_owned());
        }
        stable(expected).find_map(|(id, phases)| {
            let Some(case) = last(told, id) else { return Some(format!("it lacks {id}")) };
            if case.phases.len() != phases.len() {
                return Some(format!("{id} has other phases"));
            }
            case.phases.iter().zip(phases).find_map(|(seen, phase)| {
                let raised = seen.raised.as_ref().map(|raised| &raised.kind);
                let same = seen.when == phase.when
                    && raised == phase.raised.as_ref().map(|raised| &raised.kind);
                let how = seen.raised.as_ref().map_or("nothing", |raised| &raised.message);
                (!same).then(|| format!("{id} {}: it raises {how}", seen.when))
            })
        })
    }

    /// What a candidate's account says that this one does not: first difference, if any.
    pub fn difference(
        &self,
        found: &Testimony,
        stands: &[Stand],
        helpers: &Helpers<'_>,
        expected: &Expected,
    ) -> Option<String> {
        if !found.complete {
            return Some("it does not come to its end where a second runner runs it".to_owned());
        }
        let unmet = self.unmet_examples(found);
        if unmet > 0 {
            return Some(format!("{unmet} of the examples of docstrings are not executed"));
        }
        if let Some((stdout, stderr)) = &expected.streams {
            if !stdout.matches(&found.streams.0) || !stderr.matches(&found.streams.1) {
                return Some("its streams are others in a second run".to_owned());
            }
            return None;
        }
        let executed = executed(found, stands);
        stable(expected).find_map(|(id, phases)| {
            let told = last(&self.testimony, id)?;
            let Some(case) = last(found, id) else {
                return Some(format!("{id}: the second runner does not meet it"));
            };
            if let Some(how) = self.differs(told, case, phases) {
                return Some(format!("{id}: {how}"));
            }
            let again = self.again(id);
            if let Some(how) = helpers.difference(&[told, again.unwrap_or(told)], case) {
                return Some(format!("{id}: {how}"));
            }
            let (ours, theirs) = (self.executed.get(id)?, executed.get(id)?);
            ours.iter().find_map(|(block, ran)| {
                let found = theirs.get(block)?;
                let again =
                    self.again.as_ref().and_then(|again| again.executed.get(id)?.get(block));
                let mut each = found.iter().zip(ran).zip(again.unwrap_or(ran));
                let same = found.len() != ran.len()
                    || each.all(|((found, ran), again)| found == ran || found == again);
                (!same).then(|| format!("{id}: other statements of {block} are executed"))
            })
        })
    }

    /// How many of the examples that each run of the original executes are not executed: others may be, as no one
    /// gets to hear of those that a command does not count.
    fn unmet_examples(&self, found: &Testimony) -> u32 {
        let again = self.again.as_ref().map_or(&self.testimony.examples, |again| &again.examples);
        let count = |of: &BTreeMap<String, u32>, digest| of.get(digest).copied().unwrap_or(0);
        let told = self.testimony.examples.iter();
        told.map(|(digest, times)| {
            let due = (*times).min(count(again, digest));
            due.saturating_sub(count(&found.examples, digest))
        })
        .sum()
    }

    /// A case in another run of the original.
    fn again(&self, id: &str) -> Option<&WitnessedCase> {
        let cases = self.again.iter().flat_map(|again| &again.cases);
        cases.rev().find(|case| case.id == id)
    }

    fn differs(
        &self,
        told: &WitnessedCase,
        found: &WitnessedCase,
        phases: &[ExpectedPhase],
    ) -> Option<String> {
        if told.phases.len() != found.phases.len() {
            return Some("other phases run where a second runner runs it".to_owned());
        }
        let moved = (
            tools::Pattern::fit_together(
                phases.iter().map(|phase| &phase.stdout),
                found.phases.iter().map(|phase| phase.stdout.as_str()),
            ),
            tools::Pattern::fit_together(
                phases.iter().map(|phase| &phase.stderr),
                found.phases.iter().map(|phase| phase.stderr.as_str()),
            ),
        );
        told.phases.iter().zip(&found.phases).zip(phases).find_map(|((told, found), expected)| {
            let end = |raised: &Option<tools::Raised>| match raised {
                Some(raised) => format!("{}.{}", raised.module, raised.kind),
                None => "no exception".to_owned(),
            };
            let (left, right) = (end(&told.raised), end(&found.raised));
            if left != right {
                let when = &told.when;
                return Some(format!("{when} ends with {right}, not {left}, in the second runner"));
            }
            let other = |pattern: &tools::Pattern, told: &str, found: &str| {
                pattern.matches(told) && !pattern.matches(found)
            };
            (other(&expected.stdout, &told.stdout, &found.stdout) && !moved.0
                || other(&expected.stderr, &told.stderr, &found.stderr) && !moved.1)
                .then(|| format!("{} writes another text to its descriptors", told.when))
        })
    }
}

/// What a test was given, or what a comparison called: kind, place, line.
type Value = (String, String, u32);

fn stable(expected: &Expected) -> impl Iterator<Item = (&String, &Vec<ExpectedPhase>)> {
    expected.cases.iter().filter(|(id, _)| !expected.unstable.contains_key(*id))
}

fn last<'a>(testimony: &'a Testimony, id: &str) -> Option<&'a WitnessedCase> {
    testimony.cases.iter().rev().find(|case| case.id == id)
}

fn executed(
    testimony: &Testimony,
    stands: &[Stand],
) -> BTreeMap<String, BTreeMap<String, Vec<bool>>> {
    let blocks = |case: &WitnessedCase| {
        stands.iter().map(|stand| (stand.block.clone(), stand.executed(case))).collect()
    };
    testimony.cases.iter().map(|case| (case.id.clone(), blocks(case))).collect()
}

/// Where the tests of an original stand.
pub fn stands<'a>(
    tests: impl IntoIterator<Item = (&'a str, &'a str)>,
    codebase: &Codebase,
) -> Vec<Stand> {
    let stand = |(path, block): (&str, &str)| Stand::of(block, path, &codebase.file(path)?.outline);
    tests.into_iter().filter_map(stand).collect()
}
