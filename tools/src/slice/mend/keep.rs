//! Requests dropped code that an error needs.

use std::collections::BTreeSet;

use graph::{Adjustments, PlannedUnit, Reason, Source};

use super::{add, head_of, indent, line_in};
use crate::{execute::Raised, slice::advise::AdviceInput};

/// Returns true if a line looks names of a module up by strings.
pub(super) fn asks_globals(line: &str) -> bool {
    ["globals()[", "globals().", "vars(", "__dict__"].iter().any(|asked| line.contains(asked))
}

/// Keeps what binds a name that a line puts together, and all others that it may put together in the same way:
/// `globals()["make_" + kind]`.
pub(super) fn keep_like(
    line: &str,
    name: &str,
    attempt: &AdviceInput<'_>,
    adjustments: &mut Adjustments,
) {
    keep_binders(attempt, name, adjustments);
    let texts = line.split(['\'', '"']).skip(1).step_by(2).flat_map(|text| text.split(['{', '}']));
    let parts =
        texts.filter(|text| text.len() > 1 && (name.starts_with(*text) || name.ends_with(*text)));
    let parts: Vec<&str> = parts.collect();
    let is_like = |bound: &String| {
        parts.iter().any(|part| bound.starts_with(*part) || bound.ends_with(*part))
    };
    let homes: BTreeSet<&str> = attempt
        .plan
        .dropped
        .iter()
        .filter(|unit| unit.binds.iter().any(|bound| bound == name))
        .map(|unit| unit.place.path.as_str())
        .collect();
    for unit in attempt.plan.dropped.iter().filter(|unit| homes.contains(unit.place.path.as_str()))
    {
        if unit.binds.iter().any(is_like) {
            add(&mut adjustments.keep, unit.place.clone());
        }
    }
}

/// Requests the other attributes that a function reads from a module, after one was missing.
/// Otherwise each would cost a run.
pub(super) fn keep_read_beside(
    raised: &Raised,
    attribute: &str,
    attempt: &AdviceInput<'_>,
    adjustments: &mut Adjustments,
) {
    let lines: Vec<&str> = attempt.gist.text.lines().collect();
    let Some(frame) = raised.frames.last() else { return };
    let head = line_in(frame, attempt).and_then(|line| head_of(&lines, line, &frame.2));
    let Some(head) = head else { return };
    let ends = |line: &&&str| !line.is_empty() && indent(line) <= indent(lines[head]);
    let body = lines[head + 1..].iter().take_while(|line| !ends(line));
    let read: BTreeSet<&str> = body.flat_map(|line| attributes(line)).collect();
    let dropped = || attempt.plan.dropped.iter();
    let binds = |unit: &&PlannedUnit, name: &str| unit.binds.iter().any(|bound| bound == name);
    let homes: BTreeSet<&str> = dropped()
        .filter(|unit| binds(unit, attribute))
        .map(|unit| unit.place.path.as_str())
        .collect();
    for unit in dropped().filter(|unit| homes.contains(unit.place.path.as_str())) {
        if unit.binds.iter().any(|name| read.contains(name.as_str())) {
            add(&mut adjustments.keep, unit.place.clone());
        }
    }
}

/// Returns the attribute names that a line reads.
fn attributes(line: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.split('.')
        .skip(1)
        .map(move |rest| &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())])
}

/// Keeps what binds a name and was left out, as may be a part of an import that is there.
pub(in crate::slice) fn keep_binders(
    attempt: &AdviceInput<'_>,
    name: &str,
    adjustments: &mut Adjustments,
) {
    let binds = |unit: &&PlannedUnit| unit.binds.iter().any(|bound| bound == name);
    for unit in attempt.plan.dropped.iter().filter(binds) {
        add(&mut adjustments.keep, unit.place.clone());
    }
    let imports = attempt.plan.kept.iter().filter(binds);
    let mut imports = imports.filter(|unit| matches!(unit.reason, Reason::Import(..))).peekable();
    let gist = || Source::new(attempt.gist_path, &*attempt.gist.text);
    let is_imported = || graph::imported(gist()).contains(name);
    if imports.peek().is_none() || is_imported() {
        return;
    }
    for unit in imports {
        let module = attempt.trace.file(&unit.place.path).and_then(|file| file.modules.first());
        if let Some(module) = module {
            add(&mut adjustments.demands, (module.clone(), name.to_owned()));
        }
    }
}

/// Keeps uncalled methods of a name.
pub(super) fn keep_stubs(attempt: &AdviceInput<'_>, name: &str, adjustments: &mut Adjustments) {
    for (place, stub) in &attempt.plan.dropped_stubs {
        if stub == name {
            add(&mut adjustments.more_stubs, place.clone());
        }
    }
}
