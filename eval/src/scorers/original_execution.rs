//! Execution of statements that the original executed, too (ours).
//!
//! It counts statements, and each assignment by `:=` as one more, so that no packing of statements on one
//! line gains anything:
//!
//! ```text
//! if rare: a(); b(); c()      # four statements, also where one line holds them
//! [(x := a()), (y := b())]    # three
//! ```
//!
//! A statement that the original run did not execute earns nothing, however the gist reaches it; so calling
//! dead code, or adding code, gains nothing.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Facts, FormulaSource, MeasureTable, MeasureUnit, Scorer,
    vouched_existence::{rate, within},
};
use crate::{
    blocks::{Class, Line, Outline, Role},
    codebase::{CodeFile, Codebase, CodebaseLine, starts},
    key::Key,
    source_map::SourceMap,
};

/// The share of statements that both the gist and the original execute.
pub struct OriginalExecution;

impl Scorer for OriginalExecution {
    type Evidence = ExecutionRate;
    const NAME: &'static str = "original_execution_rate";
    const LABEL: &'static str = "execution of the original";
    const DOC: &'static str = "share of a faithful gist's statements that its run executed and the original's run, \
        too; glue earns nothing, bodies of skipped tests do not count, `;` and `:=` pack nothing";
    const SOURCE: FormulaSource = FormulaSource::Ours;
    const UNIT: MeasureUnit = MeasureUnit::Share;
    const SHOWN: MeasureTable = MeasureTable::Ours;

    fn evidence(facts: &Facts<'_>) -> Option<ExecutionRate> {
        let gist = facts.gist.filter(|_| facts.strict.score == 1)?;
        let parts = (gist.codebase, facts.executed, gist.map);
        Some(execution(gist.outline, gist.hits?, parts, gist.skipped))
    }

    fn value(evidence: &ExecutionRate) -> Option<f64> {
        evidence.rate
    }

    fn remark(evidence: &ExecutionRate) -> String {
        format!("{} of {} statements", evidence.executed, evidence.executable)
    }
}

/// Executed lines of the original, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Executed(BTreeMap<String, Vec<u32>>);

/// The rate, with what it counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionRate {
    /// Statements that were executed and earn it.
    pub executed: u64,
    /// Executable statements.
    pub executable: u64,
    /// `executed / executable`; nothing for no lines.
    pub rate: Option<f64>,
    /// Every executable statement that earns nothing, by its line.
    pub idle: Vec<IdleLine>,
}

/// A line that earns nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleLine {
    /// 1-based line of the gist.
    pub line: u32,
    /// Its block; empty for the top level.
    pub block: String,
    /// Its text, shortened.
    pub text: String,
    /// Why it earns nothing.
    pub reason: Idle,
}

/// Why a line earns nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Idle {
    /// The gist's run did not execute it.
    NotExecuted,
    /// It was executed, but the original's run did not execute such a line.
    NotExecutedInOriginal,
    /// It was executed, but stands nowhere in the original.
    NotInOriginal,
}

impl Executed {
    /// From pairs of path and executed lines.
    pub fn new(files: impl IntoIterator<Item = (String, Vec<u32>)>) -> Self {
        let mut executed = Self::default();
        for (path, lines) in files {
            let known = executed.0.entry(path).or_default();
            known.extend(lines);
            known.sort_unstable();
            known.dedup();
        }
        executed
    }

    /// All lines that a trace saw.
    pub fn of_trace(trace: &graph::Trace) -> Self {
        Self::new(trace.files.iter().map(|file| {
            let lines = file.import_lines.iter().chain(&file.test_lines).copied().collect();
            (file.path.clone(), lines)
        }))
    }

    /// The lines that a trace saw from the first test on.
    pub fn of_tests(trace: &graph::Trace) -> Self {
        Self::new(trace.files.iter().map(|file| (file.path.clone(), file.test_lines.clone())))
    }

    /// Returns true if a line of a file was executed.
    pub fn has(&self, path: &str, line: &Line) -> bool {
        hit(self.lines_of(path), line.reach)
    }

    /// Executed lines of a file, sorted.
    pub fn lines_of(&self, path: &str) -> &[u32] {
        self.0.get(path).map_or(&[], Vec::as_slice)
    }

    /// Returns true if any line of a file was executed.
    pub fn ran(&self, path: &str) -> bool {
        self.0.get(path).is_some_and(|lines| !lines.is_empty())
    }

    /// Paths with executed lines, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns for each line of a gist true if it was executed, from a trace of `text`. `text` has
    /// the gist's lines in the same order in other places, and may have more lines after them.
    pub fn hits(&self, gist: &Outline, text: &str, path: &str) -> Vec<bool> {
        let traced = Outline::of(text);
        let hits = self.lines_of(path);
        let mut executed: Vec<bool> =
            traced.lines.iter().map(|line| hit(hits, line.reach)).collect();
        executed.resize(gist.lines.len(), false);
        executed
    }

    /// Lines of code of a file that were executed: (first, last) of each, sorted.
    pub fn code(&self, file: &CodeFile) -> Vec<(u32, u32)> {
        let hits = self.lines_of(&file.path);
        let outline = &file.outline;
        starts(outline)
            .into_iter()
            .filter(|(_, at)| at.iter().any(|&line| hit(hits, outline.lines[line].reach)))
            .map(|(first, at)| {
                (first, at.iter().map(|&line| outline.lines[line].last).max().unwrap_or(first))
            })
            .collect()
    }
}

/// Scores a gist. `hits` are its executed lines, by index; `skipped` names the functions of tests that were
/// skipped or expected to fail, whose own bodies do not count.
pub fn execution(
    gist: &Outline,
    hits: &[bool],
    (codebase, executed, map): (&Codebase, &Executed, &SourceMap),
    skipped: &[String],
) -> ExecutionRate {
    let mut score = ExecutionRate::default();
    let mut earned = Earned { codebase, executed, map, used: FxHashMap::default() };
    let mut lines = gist.lines.iter().zip(hits).peekable();
    while let Some((first, _)) = lines.peek() {
        let range = first.range;
        // All names of one import are one statement.
        let mut own: Vec<(&Line, bool)> = Vec::new();
        while let Some((line, hit)) = lines.next_if(|(line, _)| line.range == range) {
            own.push((line, *hit));
        }
        own.retain(|(line, _)| {
            line.class == Class::Executable
                && (line.role == Role::Definition || !within(&line.block, skipped))
        });
        let Some(shown) = own.first().map(|(line, _)| *line) else { continue };
        let statements = 1 + u64::from(shown.assignments);
        score.executable += statements;
        let ran: Vec<&Line> = own.iter().filter(|(_, hit)| *hit).map(|(line, _)| *line).collect();
        let verdicts: Vec<Option<Idle>> = ran.iter().map(|line| earned.verdict(line)).collect();
        let reason = if ran.is_empty() {
            Idle::NotExecuted
        } else if verdicts.contains(&None) {
            score.executed += statements;
            continue;
        } else {
            verdicts[0].unwrap_or(Idle::NotInOriginal)
        };
        let (block, text) = (shown.block.clone(), shown.text.clone());
        score.idle.push(IdleLine { line: shown.first, block, text, reason });
    }
    score.rate = rate(score.executed, score.executable);
    score
}

/// Decides what an executed line of a gist earns; each executed line of the original vouches once.
struct Earned<'a> {
    codebase: &'a Codebase,
    executed: &'a Executed,
    map: &'a SourceMap,
    used: FxHashMap<(&'a str, Key), usize>,
}

impl<'a> Earned<'a> {
    fn verdict(&mut self, line: &'a Line) -> Option<Idle> {
        let places: Vec<CodebaseLine> = self.codebase.places(line).collect();
        if places.is_empty() {
            return match self.adapted(line) {
                Some(true) => None,
                Some(false) => Some(Idle::NotExecutedInOriginal),
                None => Some(Idle::NotInOriginal),
            };
        }
        let ran = |place: &CodebaseLine| {
            let hits = self.executed.lines_of(self.codebase.path(*place));
            hit(hits, self.codebase.line(*place).reach)
        };
        let mapped = self.map.origin(line.first).and_then(|origin| {
            places.iter().find(|&&place| {
                let there = self.codebase.line(place);
                self.codebase.path(place) == origin.path
                    && (there.first..=there.last).contains(&origin.line)
            })
        });
        if let Some(place) = mapped {
            return (!ran(place)).then_some(Idle::NotExecutedInOriginal);
        }
        let limit = places.iter().filter(|place| ran(place)).count();
        let taken = self.used.entry((&line.block, line.key)).or_default();
        if *taken < limit {
            *taken += 1;
            return None;
        }
        Some(Idle::NotExecutedInOriginal)
    }

    /// For a line that stands nowhere: whether the line that the map claims it was adapted from was
    /// executed. Only a line of the same block and much the same text is believed.
    fn adapted(&self, line: &Line) -> Option<bool> {
        let claim = self.map.origin(line.first)?;
        let file = self.codebase.file(&claim.path)?;
        let origin = file.outline.lines.iter().find(|there| {
            there.block == line.block
                && (there.first..=there.last).contains(&claim.line)
                && shares_words(&there.text, &line.text)
        })?;
        Some(hit(self.executed.lines_of(&claim.path), origin.reach))
    }
}

/// Returns true if two lines share at least half of their words.
fn shares_words(left: &str, right: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let mut words: Vec<String> = text
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        words.sort_unstable();
        words
    };
    let (left, mut right) = (words(left), words(right));
    let (count, longer) = (left.len(), left.len().max(right.len()));
    let mut shared = 0;
    for word in left {
        if let Some(at) = right.iter().position(|other| *other == word) {
            right.swap_remove(at);
            shared += 1;
        }
    }
    count > 0 && shared * 2 >= longer
}

/// Returns true if any executed line lies in a span.
fn hit(hits: &[u32], (first, last): (u32, u32)) -> bool {
    let at = hits.partition_point(|&line| line < first);
    hits.get(at).is_some_and(|&line| line <= last)
}
