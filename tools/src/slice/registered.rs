//! Keeps classes that a registry looks up by a string derived from the class name. A base or
//! metaclass registers each class, so that no other code needs to name it.

use std::{collections::BTreeSet, path::Path};

use graph::{Adjustments, PlannedUnit, Source, Value};

use super::{advise::AdviceInput, mend::add};
use crate::execute::Raised;

/// Requests classes that the message of an error names, in any case, and those of the same
/// directory that strings of the gist name as well. Otherwise each would cost a run.
pub(super) fn registered(
    raised: &Raised,
    attempt: &AdviceInput<'_>,
    adjustments: &mut Adjustments,
) {
    let left_out: Vec<(&PlannedUnit, String)> = attempt
        .plan
        .dropped
        .iter()
        .filter_map(|unit| Some((unit, plain(class(unit, attempt)?))))
        .collect();
    let quoted = raised.message.split(['\'', '"']).skip(1);
    let told: BTreeSet<String> = quoted.map(plain).filter(|text| !text.is_empty()).collect();
    let directory = |unit: &PlannedUnit| Path::new(&unit.place.path).parent().map(Path::to_owned);
    let named = left_out.iter().filter(|(_, name)| told.contains(name));
    let directories: Vec<_> = named.map(|(unit, _)| directory(unit)).collect();
    if directories.is_empty() {
        return;
    }
    let texts = graph::literals(Source::new(attempt.gist_path, &*attempt.gist.text));
    let texts = texts.iter().map(|text| plain(text)).filter(|text| !text.is_empty());
    let texts: BTreeSet<String> = texts.collect();
    for (unit, name) in left_out {
        let is_beside = || texts.contains(&name) && directories.contains(&directory(unit));
        if told.contains(&name) || is_beside() {
            add(&mut adjustments.keep, unit.place.clone());
        }
    }
}

/// The name of the class that a unit defines, if it defines one.
fn class<'a>(unit: &'a PlannedUnit, attempt: &AdviceInput<'_>) -> Option<&'a str> {
    let [name] = unit.binds.as_slice() else { return None };
    let module = attempt.trace.file(&unit.place.path)?.modules.first()?;
    match attempt.trace.modules.get(module)?.names.get(name)? {
        Value::Class(home, called) => (home == module && called == name).then_some(name),
        Value::Module(_) | Value::Function(..) | Value::Other(_) => None,
    }
}

/// Returns a name in lower case without separators.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}
