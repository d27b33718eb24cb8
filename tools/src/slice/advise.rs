//! Compares what a gist did with what the original did, and says what to change in the slice.
//!
//! It reads facts of two runs. Whether a gist is good is for the `eval` crate to judge.

use std::collections::BTreeMap;

use graph::{Adjustments, Gist, ModuleSnapshot, Origin, Place, Plan, Reason, Trace};
use serde::{Deserialize, Serialize};

use super::{Probed, SliceRequest, printed::printed};
use crate::{
    execute::{CaseReport, Execution, PhaseReport, Raised},
    pattern::Pattern,
};

/// Most functions that are kept whole for the sake of errors that name nothing: each costs a run.
const MOST_WHOLE: usize = 3;

/// Most characters of a text that a difference shows.
const SHOWN: usize = 400;

/// What differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// How the run ended.
    Status,
    /// The gist could not be collected.
    Collection,
    /// The gist has no such case.
    Missing,
    /// The gist alone has such a case.
    Added,
    /// How a case, or a phase of it, ended.
    Outcome,
    /// What was raised.
    Exception,
    /// What was printed or logged.
    Output,
}

/// The first way in which a gist's run differs from the original's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What differs.
    pub what: What,
    /// The case, where it is one's.
    pub case: Option<String>,
    /// What the original did.
    pub original: String,
    /// What the gist did.
    pub gist: String,
    /// What the gist raised, where it raised something the original did not; in its own words, in which
    /// the modules of the repository have their names.
    pub raised: Option<Raised>,
}

impl Difference {
    /// Whether only texts differ, which may vary from run to run.
    pub(crate) fn is_of_text(&self) -> bool {
        matches!(self.what, What::Output | What::Exception)
    }
}

/// The first difference between two runs of a command, both with their texts
/// [normalised](crate::Normalizer::execution); `None` where they agree. `raw` is the run of the gist
/// before that; `again` is another run of the original, whose texts may vary from the first's.
pub fn difference(
    original: &Execution,
    again: Option<&Execution>,
    gist: &Execution,
    raw: &Execution,
) -> Option<Difference> {
    let found =
        |what: What, case: Option<&str>, left: String, right: String, raised: Option<&Raised>| {
            let same = shared_lines(&left, &right);
            Some(Difference {
                what,
                case: case.map(str::to_owned),
                original: shown(&left[same..]),
                gist: shown(&right[same..]),
                raised: raised.cloned(),
            })
        };
    let fits = |one: &str, other: Option<&str>, two: &str| {
        one == two || other.is_some_and(|other| Pattern::of([one, other]).matches(two))
    };
    let raises =
        |one: &Option<Raised>, other: Option<&Raised>, two: &Option<Raised>| match (one, two) {
            (Some(one), Some(two)) => {
                let other = other.map(|raised| raised.message.as_str());
                one.kind == two.kind && fits(&one.message, other, &two.message)
            }
            (one, two) => one.is_none() && two.is_none(),
        };
    if let Some((id, raised)) = gist.collection_errors.first()
        && original.collection_errors.is_empty()
    {
        let told = raw.collection_errors.first().map(|(_, raised)| raised);
        return found(What::Collection, Some(id), String::new(), describe(Some(raised)), told);
    }
    let left: BTreeMap<String, &CaseReport> = by_name(original);
    let right: BTreeMap<String, &CaseReport> = by_name(gist);
    let varied: BTreeMap<String, &CaseReport> = again.map(by_name).unwrap_or_default();
    let told: BTreeMap<&str, &CaseReport> =
        gist.cases.iter().map(|case| case.id.as_str()).zip(&raw.cases).collect();
    for (name, case) in &left {
        let Some(other) = right.get(name) else {
            return found(What::Missing, Some(name), "ran".to_owned(), tail(gist), None);
        };
        let told = told.get(name.as_str()).map_or(&other.phases, |case| &case.phases);
        if case.phases.len() != other.phases.len() {
            let raised = other.phases.iter().find_map(|phase| phase.raised.as_ref());
            let told = told.iter().find_map(|phase| phase.raised.as_ref());
            let phases = |case: &CaseReport| {
                let all: Vec<String> = case
                    .phases
                    .iter()
                    .map(|phase| format!("{} {}", phase.when, phase.outcome))
                    .collect();
                all.join(", ")
            };
            return found(
                What::Outcome,
                Some(name),
                phases(case),
                format!("{}: {}", phases(other), describe(raised)),
                told,
            );
        }
        for (at, ((one, two), told)) in case.phases.iter().zip(&other.phases).zip(told).enumerate()
        {
            let varied = varied.get(name).and_then(|case| case.phases.get(at));
            if one.outcome != two.outcome {
                let describe_phase = |phase: &PhaseReport| {
                    format!("{} {}: {}", phase.when, phase.outcome, describe(phase.raised.as_ref()))
                };
                return found(
                    What::Outcome,
                    Some(name),
                    describe_phase(one),
                    describe_phase(two),
                    told.raised.as_ref(),
                );
            }
            let other = varied.and_then(|phase| phase.raised.as_ref());
            if !raises(&one.raised, other, &two.raised) {
                return found(
                    What::Exception,
                    Some(name),
                    describe(one.raised.as_ref()),
                    describe(two.raised.as_ref()),
                    told.raised.as_ref(),
                );
            }
            let texts: [fn(&PhaseReport) -> &str; 3] =
                [|phase| &phase.stdout, |phase| &phase.stderr, |phase| &phase.log];
            for text in texts {
                if !fits(text(one), varied.map(text), text(two)) {
                    let (one, two) = (text(one).to_owned(), text(two).to_owned());
                    return found(What::Output, Some(name), one, two, None);
                }
            }
        }
    }
    if let Some(name) = right.keys().find(|name| !left.contains_key(*name)) {
        return found(What::Added, Some(name), "absent".to_owned(), "ran".to_owned(), None);
    }
    if original.status != gist.status {
        return found(
            What::Status,
            None,
            format!("{:?}", original.status),
            format!("{:?}: {}", gist.status, tail(gist)),
            raw.raised
                .clone()
                .or_else(|| printed(&raw.stderr))
                .or_else(|| printed(&raw.stdout))
                .as_ref(),
        );
    }
    if original.cases.is_empty() && original.collected.is_empty() {
        let other = again.and_then(|again| again.raised.as_ref());
        if !raises(&original.raised, other, &gist.raised) {
            return found(
                What::Exception,
                None,
                describe(original.raised.as_ref()),
                describe(gist.raised.as_ref()),
                raw.raised.as_ref(),
            );
        }
        if !fits(&original.stdout, again.map(|again| again.stdout.as_str()), &gist.stdout) {
            return found(What::Output, None, original.stdout.clone(), gist.stdout.clone(), None);
        }
    }
    None
}

/// What is known when advice is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// The run of the original.
    pub trace: &'a Trace,
    /// What was sliced.
    pub plan: &'a Plan,
    /// What was run.
    pub gist: &'a Gist,
    /// Its path.
    pub gist_path: &'a str,
    /// The text that ran in the gist's place, where it was another one.
    pub probed: Option<&'a Probed>,
    /// Modules from outside to load before the tests, as the original does.
    pub early: &'a [String],
    /// What had been asked for.
    pub request: &'a SliceRequest,
}

/// What to change in a slice whose gist differs; `None` when nothing more is known to help.
///
/// First what the error itself asks for, then the rungs of a ladder, each more conservative than the
/// last request, so that the search ends.
pub fn advise(difference: &Difference, attempt: &Attempt<'_>) -> Option<SliceRequest> {
    let request = attempt.request;
    let mut next = request.clone();
    for module in attempt.early {
        add(&mut next.adjustments.imports, module.clone());
    }
    if let Some(raised) = &difference.raised {
        mend(raised, attempt, &mut next);
    }
    if let Some(case) = difference.case.as_ref().filter(|_| difference.what == What::Missing) {
        // An example of a docstring may be skipped, and still is a case.
        let object = case.rsplit("::").next().unwrap_or_default();
        for name in object.split('.').filter(|name| !name.is_empty()) {
            keep_binders(attempt, name, &mut next.adjustments);
        }
    }
    if next != *request {
        return Some(next);
    }
    let shows = difference.is_of_text();
    let adjustments = &mut next.adjustments;
    if !adjustments.impure || !adjustments.side_effects {
        adjustments.impure = true;
        adjustments.side_effects = true;
    } else if shows && !adjustments.module_names {
        adjustments.module_names = true;
    } else if shows && !adjustments.docstrings {
        adjustments.docstrings = true;
    } else if attempt.probed.is_some() && !next.unprobed {
        next.unprobed = true;
    } else if next.refine {
        next.refine = false;
    } else if !adjustments.docstrings {
        adjustments.docstrings = true;
    } else if !adjustments.annotations {
        adjustments.annotations = true;
    } else {
        return None;
    }
    Some(next)
}

/// What the text of an error, or the place where it was raised, asks for.
fn mend(raised: &Raised, attempt: &Attempt<'_>, next: &mut SliceRequest) {
    let adjustments = &mut next.adjustments;
    let message = raised.message.as_str();
    let internal = |name: &String| attempt.trace.modules.contains_key(name);
    match raised.kind.as_str() {
        "AttributeError" => {
            let attribute = quoted(message, "has no attribute ").unwrap_or_default();
            let submodule =
                quoted(message, "module ").map(|module| format!("{module}.{attribute}"));
            match submodule {
                // An import that was left out had loaded the submodule.
                Some(submodule) if attempt.trace.external.contains_key(&submodule) => {
                    add(&mut adjustments.imports, submodule);
                }
                // One that stands for itself holds only what was seen to be asked of it.
                Some(_) if quoted(message, "module ").is_some_and(|name| internal(&name)) => {
                    let module = quoted(message, "module ").unwrap_or_default();
                    add(&mut adjustments.demands, (module, attribute));
                }
                Some(_) => keep_binders(attempt, &attribute, adjustments),
                // A module's own words: the gist has the `__getattr__` of one, and answers for all.
                None if ends_in_module_getattr(raised, attempt) => {
                    let name = message.rsplit(' ').next().unwrap_or_default().trim_matches('\'');
                    let holds = |held: &&ModuleSnapshot| held.names.contains_key(name);
                    let modules = &attempt.trace.modules;
                    let found = modules.iter().filter(|(_, held)| holds(held));
                    for (module, _) in found.take(MOST_WHOLE) {
                        add(&mut adjustments.namespaces, module.clone());
                    }
                }
                None => keep_stubs(attempt, &attribute, adjustments),
            }
        }
        "NameError" | "UnboundLocalError" => {
            if let Some(name) = quoted(message, "name ") {
                keep_binders(attempt, &name, adjustments);
            }
        }
        "TypeError" if message.contains("abstract") => {
            let names = message.rsplit("abstract method").next().unwrap_or_default();
            for name in names.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
                keep_stubs(attempt, name, adjustments);
            }
        }
        "ModuleNotFoundError" | "ImportError" => {
            let name = quoted(message, "cannot import name ");
            if let Some(module) = quoted(message, "No module named ").filter(internal) {
                // Code that computes what it imports goes through whatever the module has.
                if line_of(raised, attempt).is_some_and(imports_by_name) {
                    add(&mut adjustments.namespaces, module.clone());
                }
                add(&mut adjustments.register, module);
            } else if let Some(name) = name {
                // Where the package is still there, for the sake of its extensions, it lacks the name.
                match quoted(message, "' from ").filter(internal) {
                    Some(module) => add(&mut adjustments.demands, (module, name)),
                    None => keep_binders(attempt, &name, adjustments),
                }
            }
        }
        // Asked of `sys.modules`.
        "KeyError" => {
            let module = message.trim_matches('\'').to_owned();
            if internal(&module) {
                add(&mut adjustments.namespaces, module.clone());
                add(&mut adjustments.register, module);
            }
        }
        _ => {}
    }
    if *next == *attempt.request && !next.adjustments.module_names {
        next.adjustments.module_names = reads_name(raised, attempt);
    }
    if *next == *attempt.request {
        // A docstring of which one line stayed is another text than all of it, and than none.
        next.adjustments.docstrings |= reads_docstrings(raised, attempt);
    }
    if *next == *attempt.request {
        whole_function(raised, attempt, &mut next.adjustments);
    }
    // What is left out stays out: only where nothing else is known to help.
    if *next == *attempt.request {
        leave_effect_out(raised, attempt, &mut next.adjustments);
    }
}

/// Leaves out a module-level statement that is there for its effect alone, where that is an error now: what
/// imported its module had seen to it that it is none, as a filter of warnings does.
fn leave_effect_out(raised: &Raised, attempt: &Attempt<'_>, adjustments: &mut Adjustments) {
    let of_module = |(_, _, function): &&(String, u32, String)| function == "<module>";
    let mut lines = raised.frames.iter().filter(of_module).filter_map(|one| line_in(one, attempt));
    let Some(line) = lines.next().and_then(|line| attempt.gist.lines.get(line as usize - 1)) else {
        return;
    };
    let Origin::Source(place) = &line.origin else { return };
    let unit = attempt.plan.kept.iter().find(|unit| {
        let lines = unit.place.line..=unit.last_line;
        unit.place.path == place.path && lines.contains(&place.line)
    });
    if let Some(unit) = unit.filter(|unit| unit.reason == Reason::SideEffect) {
        add(&mut adjustments.drop, unit.place.clone());
    }
}

/// The line of the gist that a frame was at, if it was in the gist.
fn line_in((file, line, _): &(String, u32, String), attempt: &Attempt<'_>) -> Option<u32> {
    let name = |path: &str| std::path::Path::new(path).file_name().map(ToOwned::to_owned);
    if name(file) != name(attempt.gist_path) {
        return None;
    }
    let line = match attempt.probed {
        Some(probed) => probed.gist_line(*line),
        None => Some(*line),
    };
    line.filter(|line| *line > 0)
}

/// Whether an error was raised by a `__getattr__` at the top level of the gist.
fn ends_in_module_getattr(raised: &Raised, attempt: &Attempt<'_>) -> bool {
    let last = raised.frames.last().filter(|(_, _, function)| function == "__getattr__");
    let line = last.and_then(|frame| line_in(frame, attempt));
    let place = line.and_then(|line| enclosing(attempt.gist, line, "__getattr__"));
    let head = attempt.gist.text.lines().zip(&attempt.gist.lines).find(|(_, line)| {
        matches!((&line.origin, &place), (Origin::Source(one), Some(other)) if one == other)
    });
    head.is_some_and(|(text, _)| !text.starts_with(char::is_whitespace))
}

/// Whether a line of the gist on the way to an error reads the name of its module.
fn reads_name(raised: &Raised, attempt: &Attempt<'_>) -> bool {
    lines_of(raised, attempt).iter().any(|text| text.contains("__name__"))
}

/// Whether a line of the gist on the way to an error reads a docstring.
fn reads_docstrings(raised: &Raised, attempt: &Attempt<'_>) -> bool {
    let texts = ["__doc__", "getdoc("];
    lines_of(raised, attempt).iter().any(|line| texts.iter().any(|text| line.contains(text)))
}

fn imports_by_name(text: &str) -> bool {
    text.contains("__import__(") || text.contains("import_module(")
}

/// The innermost line of the gist on the way to an error.
fn line_of<'a>(raised: &Raised, attempt: &Attempt<'a>) -> Option<&'a str> {
    lines_of(raised, attempt).last().copied()
}

/// The lines of the gist on the way to an error.
fn lines_of<'a>(raised: &Raised, attempt: &Attempt<'a>) -> Vec<&'a str> {
    let lines: Vec<&str> = attempt.gist.text.lines().collect();
    let numbers = raised.frames.iter().filter_map(|frame| line_in(frame, attempt));
    numbers.filter_map(|line| lines.get(line as usize - 1).copied()).collect()
}

/// Keeps whole the innermost function of the gist on the way to an error, of those that are not whole
/// yet: what was cut from it may be what now was to run.
fn whole_function(raised: &Raised, attempt: &Attempt<'_>, adjustments: &mut Adjustments) {
    for frame in raised.frames.iter().rev() {
        let line = line_in(frame, attempt);
        let place = line.and_then(|line| enclosing(attempt.gist, line, &frame.2));
        let more = adjustments.whole.len() < MOST_WHOLE;
        if let Some(place) = place.filter(|place| more && !adjustments.whole.contains(place)) {
            adjustments.whole.push(place);
            return;
        }
    }
}

/// Where the function around a line of a gist begins in the original.
fn enclosing(gist: &Gist, line: u32, function: &str) -> Option<Place> {
    let lines: Vec<&str> = gist.text.lines().collect();
    let at = (line as usize).checked_sub(1)?;
    let indent = |text: &str| text.len() - text.trim_start().len();
    let inner = indent(lines.get(at)?);
    let starts = |text: &str| {
        ["def ", "async def "].iter().any(|word| {
            text.trim_start()
                .strip_prefix(word)
                .and_then(|rest| rest.strip_prefix(function))
                .is_some_and(|rest| rest.starts_with(['(', '[']))
        })
    };
    let mut head = (0..=at).rev().find(|&at| starts(lines[at]) && indent(lines[at]) <= inner)?;
    while head > 0 && lines[head - 1].trim_start().starts_with('@') {
        head -= 1;
    }
    match &gist.lines.get(head)?.origin {
        Origin::Source(place) => Some(place.clone()),
        Origin::Glue(_) => None,
    }
}

/// Keeps what binds a name and was left out.
fn keep_binders(attempt: &Attempt<'_>, name: &str, adjustments: &mut Adjustments) {
    for unit in &attempt.plan.dropped {
        if unit.binds.iter().any(|bound| bound == name) {
            add(&mut adjustments.keep, unit.place.clone());
        }
    }
}

/// Keeps uncalled methods of a name.
fn keep_stubs(attempt: &Attempt<'_>, name: &str, adjustments: &mut Adjustments) {
    for (place, stub) in &attempt.plan.dropped_stubs {
        if stub == name {
            add(&mut adjustments.more_stubs, place.clone());
        }
    }
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// The text in quotes after a phrase.
fn quoted(message: &str, phrase: &str) -> Option<String> {
    let rest = &message[message.find(phrase)? + phrase.len()..];
    let rest = rest.strip_prefix('\'')?;
    Some(rest[..rest.find('\'')?].to_owned())
}

/// Cases by their normalised ids.
fn by_name(execution: &Execution) -> BTreeMap<String, &CaseReport> {
    execution.cases.iter().map(|case| (case.id.clone(), case)).collect()
}

/// Bytes of the lines with which two texts begin alike, if both go on behind them.
fn shared_lines(left: &str, right: &str) -> usize {
    let same = left.bytes().zip(right.bytes()).take_while(|(one, other)| one == other).count();
    if same == left.len() && same == right.len() {
        return 0;
    }
    left.as_bytes()[..same].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)
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
