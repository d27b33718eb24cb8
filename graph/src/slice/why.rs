//! Answers why a line of the repository is in a gist, or why it is not, from the gist's plan and origins.
//!
//! It owns the chain of reasons. It reads no sources: of a line that is not in the gist it knows what the
//! trace tells.

use serde::Serialize;

use super::plan::{GistLine, LineOrigin, Place, Plan, PlannedUnit, Reason};
use crate::trace::Trace;

/// The record of a gist, as far as it has reasons.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// The kept and dropped units.
    pub plan: &'a Plan,
    /// The origin of each line of the gist.
    pub lines: &'a [GistLine],
    /// The trace of the command on the original, where it was recorded.
    pub trace: Option<&'a Trace>,
}

/// The answer about one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineAnswer {
    /// The line.
    pub place: Place,
    /// The lines of the gist that were cut from it, 1-based.
    pub gist_lines: Vec<u32>,
    /// In short, why it is there or not.
    pub fate: LineFate,
    /// The unit that holds the line, then the unit that its reason names, and so on up to a unit that is needed for
    /// itself. Empty where no unit holds the line.
    pub chain: Vec<PlannedUnit>,
}

/// Why a line is in a gist, or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineFate {
    /// It is in the gist, as the chain says.
    Kept,
    /// It begins a method that was never called and stays in the gist without its body.
    Stub,
    /// It begins a method that was never called, and nothing kept asks for it.
    UncalledMethod,
    /// It was executed, and its unit was left out as a whole.
    UnitLeftOut,
    /// Its unit is in the gist without this line, which was executed: the gist does the same without it.
    NotNeeded,
    /// No statement that begins on this line was executed.
    NotExecuted,
    /// The line is not in the gist, and no trace was recorded.
    Unknown,
}

/// Returns the answer about a line of a file that the plan, the origins or the trace know; `None` for any other file,
/// and for a line behind the file's last one.
pub fn why(recorded: Recorded<'_>, place: &Place) -> Option<LineAnswer> {
    let Recorded { plan, lines, trace } = recorded;
    known_files(recorded).any(|path| path == place.path).then_some(())?;
    if plan.lengths.get(&place.path).is_some_and(|length| place.line > *length) {
        return None;
    }
    let numbered = lines.iter().zip(1..);
    let is_cut_from =
        |line: &GistLine| matches!(&line.origin, LineOrigin::Source(from) if from == place);
    let gist_lines: Vec<u32> =
        numbered.filter(|(line, _)| is_cut_from(line)).map(|(_, number)| number).collect();
    let kept = unit_at(&plan.kept, place);
    let dropped = unit_at(&plan.dropped, place);
    let file = trace.and_then(|trace| trace.file(&place.path));
    let was_executed = file.is_some_and(|file| file.executed(place.line));
    let fate = match (gist_lines.is_empty(), kept, dropped) {
        _ if plan.stubs.contains(place) => LineFate::Stub,
        _ if plan.dropped_stubs.iter().any(|(stub, _)| stub == place) => LineFate::UncalledMethod,
        (false, ..) => LineFate::Kept,
        (true, None, Some(_)) if was_executed || trace.is_none() => LineFate::UnitLeftOut,
        (true, ..) if was_executed => LineFate::NotNeeded,
        (true, ..) if trace.is_some() => LineFate::NotExecuted,
        (true, ..) => LineFate::Unknown,
    };
    let chain = kept.or(dropped).map(|unit| chain(plan, trace, unit)).unwrap_or_default();
    Some(LineAnswer { place: place.clone(), gist_lines, fate, chain })
}

/// The files about which a record can answer; some come more than once.
pub fn known_files(recorded: Recorded<'_>) -> impl Iterator<Item = &str> {
    let Recorded { plan, lines, trace } = recorded;
    let units = plan.kept.iter().chain(&plan.dropped).map(|unit| unit.place.path.as_str());
    let origins = lines.iter().filter_map(|line| match &line.origin {
        LineOrigin::Source(place) => Some(place.path.as_str()),
        LineOrigin::Glue(_) => None,
    });
    let traced = trace.into_iter().flat_map(|trace| &trace.files).map(|file| file.path.as_str());
    units.chain(origins).chain(traced)
}

/// The innermost unit that holds a line.
fn unit_at<'a>(units: &'a [PlannedUnit], place: &Place) -> Option<&'a PlannedUnit> {
    let holds = |unit: &&PlannedUnit| {
        unit.place.path == place.path && (unit.place.line..=unit.last_line).contains(&place.line)
    };
    units.iter().filter(holds).min_by_key(|unit| unit.last_line.saturating_sub(unit.place.line))
}

/// A unit, and the units that lead to it, up to the first that names none or was named before.
fn chain(plan: &Plan, trace: Option<&Trace>, first: &PlannedUnit) -> Vec<PlannedUnit> {
    let mut found = vec![first.clone()];
    while let Some(next) = found.last().and_then(|unit| named_by(plan, trace, &unit.reason)) {
        if found.iter().any(|unit| unit.place == next.place) {
            break;
        }
        found.push(next.clone());
    }
    found
}

/// The kept unit that a reason names.
fn named_by<'a>(plan: &'a Plan, trace: Option<&Trace>, reason: &Reason) -> Option<&'a PlannedUnit> {
    match reason {
        Reason::Referenced(by, _) | Reason::Import(by, _) => {
            plan.kept.iter().find(|unit| unit.place == *by)
        }
        Reason::Changes(module, name) => {
            let path = &trace?.modules.get(module)?.path;
            plan.kept.iter().find(|unit| unit.place.path == *path && unit.binds.contains(name))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{FileTrace, ModuleSnapshot};

    fn place(line: u32) -> Place {
        Place { path: "a.py".to_owned(), line }
    }

    fn unit(line: u32, last_line: u32, binds: &str, reason: Reason) -> PlannedUnit {
        PlannedUnit { place: place(line), last_line, binds: vec![binds.to_owned()], reason }
    }

    #[test]
    fn a_chain_leads_from_a_line_to_a_root_and_ends_in_a_circle() {
        let plan = Plan {
            kept: vec![
                unit(1, 1, "LIMIT", Reason::Referenced(place(3), "LIMIT".to_owned())),
                unit(3, 9, "Shape", Reason::Called),
                unit(11, 11, "pass", Reason::Changes("a".to_owned(), "LIMIT".to_owned())),
                unit(13, 13, "x", Reason::Referenced(place(14), "x".to_owned())),
                unit(14, 14, "y", Reason::Referenced(place(13), "y".to_owned())),
            ],
            dropped: vec![
                unit(12, 12, "z", Reason::Unreferenced),
                unit(20, 22, "uncalled", Reason::Unreferenced),
            ],
            lengths: [("a.py".to_owned(), 22)].into(),
            stubs: vec![place(6)],
            dropped_stubs: vec![(place(8), "area".to_owned())],
            ..Plan::default()
        };
        let line = |line| GistLine { origin: LineOrigin::Source(place(line)), adapted: false };
        let glue = GistLine { origin: LineOrigin::Glue("an alias".to_owned()), adapted: false };
        let mut lines = vec![glue];
        lines.extend([1, 3, 4, 6, 11, 13, 14].map(line));
        let snapshot = ModuleSnapshot { path: "a.py".to_owned(), ..ModuleSnapshot::default() };
        let trace = Trace {
            files: vec![FileTrace {
                path: "a.py".to_owned(),
                import_lines: vec![1, 3, 6, 8, 12, 20],
                test_lines: vec![4, 5],
                ..FileTrace::default()
            }],
            modules: [("a".to_owned(), snapshot)].into(),
            ..Trace::default()
        };
        let check = |line, traced: bool, fate, gist: &[u32], chain: &[u32]| {
            let trace = traced.then_some(&trace);
            let answer = why(Recorded { plan: &plan, lines: &lines, trace }, &place(line)).unwrap();
            let found: Vec<u32> = answer.chain.iter().map(|unit| unit.place.line).collect();
            assert_eq!((answer.fate, &*answer.gist_lines, &*found), (fate, gist, chain), "{line}");
        };
        check(1, true, LineFate::Kept, &[2], &[1, 3]);
        check(4, true, LineFate::Kept, &[4], &[3]);
        check(5, true, LineFate::NotNeeded, &[], &[3]);
        check(5, false, LineFate::Unknown, &[], &[3]);
        check(6, true, LineFate::Stub, &[5], &[3]);
        check(7, true, LineFate::NotExecuted, &[], &[3]);
        check(8, true, LineFate::UncalledMethod, &[], &[3]);
        check(10, true, LineFate::NotExecuted, &[], &[]);
        check(11, true, LineFate::Kept, &[6], &[11, 1, 3]);
        check(12, true, LineFate::UnitLeftOut, &[], &[12]);
        check(13, true, LineFate::Kept, &[7], &[13, 14]);
        check(21, true, LineFate::NotExecuted, &[], &[20]);
        let behind = Recorded { plan: &plan, lines: &lines, trace: Some(&trace) };
        assert_eq!(why(behind, &place(23)), None);
        let other = Place { path: "b.py".to_owned(), line: 1 };
        assert_eq!(why(Recorded { plan: &plan, lines: &lines, trace: Some(&trace) }, &other), None);
    }
}
