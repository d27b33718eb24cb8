//! Compares what a gist did with what the original did, and says what to change in the slice.
//!
//! It reads facts of two runs. Whether a gist is good is for the `eval` crate to judge.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SliceRequest;
use crate::execute::{CaseReport, Execution, Raised};

/// Most characters of a text that a difference shows.
const SHOWN: usize = 400;

/// The first way in which a gist's run differs from the original's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What differs: `status`, `collection`, `cases`, `outcome`, `exception`, `output`.
    pub what: String,
    /// The case, where it is one's.
    pub case: Option<String>,
    /// What the original did.
    pub original: String,
    /// What the gist did.
    pub gist: String,
    /// What the gist raised, where it raised something the original did not.
    pub raised: Option<Raised>,
}

/// The first difference between two runs of a command; `None` where they agree. Names of files and
/// modules in what is printed are compared as they are but for the ones that a gist cannot keep.
pub fn difference(original: &Execution, gist: &Execution) -> Option<Difference> {
    let found =
        |what: &str, case: Option<&str>, left: String, right: String, raised: Option<&Raised>| {
            Some(Difference {
                what: what.to_owned(),
                case: case.map(str::to_owned),
                original: shown(&left),
                gist: shown(&right),
                raised: raised.cloned(),
            })
        };
    if let Some((id, raised)) = gist.collection_errors.first()
        && original.collection_errors.is_empty()
    {
        return found("collection", Some(id), String::new(), describe(Some(raised)), Some(raised));
    }
    let left: BTreeMap<String, &CaseReport> = by_name(original);
    let right: BTreeMap<String, &CaseReport> = by_name(gist);
    for (name, case) in &left {
        let Some(other) = right.get(name) else {
            return found("cases", Some(name), "ran".to_owned(), tail(gist), None);
        };
        if case.phases.len() != other.phases.len() {
            let raised = other.phases.iter().find_map(|phase| phase.raised.as_ref());
            let phases = |case: &CaseReport| {
                let all: Vec<String> = case
                    .phases
                    .iter()
                    .map(|phase| format!("{} {}", phase.when, phase.outcome))
                    .collect();
                all.join(", ")
            };
            return found(
                "outcome",
                Some(name),
                phases(case),
                format!("{}: {}", phases(other), describe(raised)),
                raised,
            );
        }
        for (one, two) in case.phases.iter().zip(&other.phases) {
            if one.outcome != two.outcome {
                let describe_phase = |phase: &crate::execute::PhaseReport| {
                    format!("{} {}: {}", phase.when, phase.outcome, describe(phase.raised.as_ref()))
                };
                return found(
                    "outcome",
                    Some(name),
                    describe_phase(one),
                    describe_phase(two),
                    two.raised.as_ref(),
                );
            }
            let pair = |raised: &Option<Raised>| {
                raised.as_ref().map(|raised| (raised.kind.clone(), plain(&raised.message)))
            };
            if pair(&one.raised) != pair(&two.raised) {
                return found(
                    "exception",
                    Some(name),
                    describe(one.raised.as_ref()),
                    describe(two.raised.as_ref()),
                    two.raised.as_ref(),
                );
            }
            for (one, two) in
                [(&one.stdout, &two.stdout), (&one.stderr, &two.stderr), (&one.log, &two.log)]
            {
                if plain(one) != plain(two) {
                    return found("output", Some(name), one.clone(), two.clone(), None);
                }
            }
        }
    }
    if let Some(name) = right.keys().find(|name| !left.contains_key(*name)) {
        return found("cases", Some(name), "absent".to_owned(), "ran".to_owned(), None);
    }
    if original.status != gist.status {
        return found(
            "status",
            None,
            format!("{:?}", original.status),
            format!("{:?}: {}", gist.status, tail(gist)),
            gist.raised.as_ref(),
        );
    }
    if original.cases.is_empty() && original.collected.is_empty() {
        let kind = |raised: &Option<Raised>| {
            raised.as_ref().map(|raised| (raised.kind.clone(), plain(&raised.message)))
        };
        if kind(&original.raised) != kind(&gist.raised) {
            return found(
                "exception",
                None,
                describe(original.raised.as_ref()),
                describe(gist.raised.as_ref()),
                gist.raised.as_ref(),
            );
        }
        if plain(&original.stdout) != plain(&gist.stdout) {
            return found("output", None, original.stdout.clone(), gist.stdout.clone(), None);
        }
    }
    None
}

/// What to change in a slice whose gist differs; `None` when nothing more is known to help.
///
/// Each step is more conservative than the last request, so that the search ends.
pub fn advise(difference: &Difference, request: &SliceRequest) -> Option<SliceRequest> {
    let mut next = request.clone();
    if let Some(raised) = &difference.raised
        && mend(raised, &mut next)
        && next != *request
    {
        return Some(next);
    }
    if matches!(difference.what.as_str(), "output" | "exception") && !next.adjustments.module_names
    {
        next.adjustments.module_names = true;
        return Some(next);
    }
    if !next.adjustments.impure || !next.adjustments.side_effects {
        next.adjustments.impure = true;
        next.adjustments.side_effects = true;
        return Some(next);
    }
    if next.refine {
        next.refine = false;
        return Some(next);
    }
    if !next.adjustments.docstrings {
        next.adjustments.docstrings = true;
        return Some(next);
    }
    if !next.adjustments.annotations {
        next.adjustments.annotations = true;
        return Some(next);
    }
    None
}

/// What the text of an error itself asks for.
fn mend(raised: &Raised, next: &mut SliceRequest) -> bool {
    // `module 'a' has no attribute 'b'`: an import that was left out had loaded the submodule.
    if raised.kind == "AttributeError"
        && let Some((module, attribute)) = missing_attribute(&raised.message)
    {
        let submodule = format!("{module}.{attribute}");
        if !next.adjustments.imports.contains(&submodule) {
            next.adjustments.imports.push(submodule);
            return true;
        }
    }
    if matches!(raised.kind.as_str(), "ModuleNotFoundError" | "ImportError")
        && let Some(module) = quoted(&raised.message, "No module named ")
        && !next.adjustments.register.contains(&module)
    {
        next.adjustments.register.push(module);
        return true;
    }
    false
}

fn missing_attribute(message: &str) -> Option<(String, String)> {
    let module = quoted(message, "module ")?;
    let attribute = quoted(message, "has no attribute ")?;
    Some((module, attribute))
}

/// The text in quotes after a phrase.
fn quoted(message: &str, phrase: &str) -> Option<String> {
    let rest = &message[message.find(phrase)? + phrase.len()..];
    let rest = rest.strip_prefix('\'')?;
    Some(rest[..rest.find('\'')?].to_owned())
}

/// Cases by what of their id a gist keeps: the part after the file.
fn by_name(execution: &Execution) -> BTreeMap<String, &CaseReport> {
    execution
        .cases
        .iter()
        .map(|case| {
            let name = case.id.split_once("::").map_or(case.id.as_str(), |(_, name)| name);
            (name.to_owned(), case)
        })
        .collect()
}

/// A text without what differs between any two runs: addresses, and line numbers of frames.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("0x") {
        out.push_str(&rest[..at + 2]);
        let digits = rest[at + 2..].chars().take_while(char::is_ascii_hexdigit).count();
        rest = &rest[at + 2 + digits..];
    }
    out.push_str(rest);
    out
}

fn describe(raised: Option<&Raised>) -> String {
    raised.map_or_else(
        || "nothing raised".to_owned(),
        |raised| format!("{}: {}", raised.kind, raised.message),
    )
}

fn tail(execution: &Execution) -> String {
    let text =
        if execution.stderr.trim().is_empty() { &execution.stdout } else { &execution.stderr };
    let at = text.char_indices().rev().nth(SHOWN).map_or(0, |(at, _)| at);
    text[at..].to_owned()
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => {
            format!("{} ... ({} more characters)", &text[..at], text[at..].chars().count())
        }
        None => text.to_owned(),
    }
}
