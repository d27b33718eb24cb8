//! Derives changes of the next slice from an error of a gist: from its message, from the place of
//! the error, and from the id of a missing test.

mod keep;

use std::collections::BTreeSet;

use graph::{
    Adjustments, FileTrace, Gist, LineOrigin, ModuleSnapshot, Place, PlannedUnit, Reason, Source,
    TracePhase,
};

pub(super) use keep::keep_binders;
use keep::{asks_globals, keep_like, keep_read_beside, keep_stubs};

use super::{SliceRequest, advise::AdviceInput, difference::Difference, registered::registered};
use crate::execute::Raised;

/// Most functions that are kept whole for the sake of errors that name nothing.
const MOST_WHOLE: usize = 3;

/// Methods of what is entered and left.
const ENTERED: [&str; 4] = ["__enter__", "__exit__", "__aenter__", "__aexit__"];

/// Requests the changes that the message of an error names.
pub(super) fn named(raised: &Raised, attempt: &AdviceInput<'_>, adjustments: &mut Adjustments) {
    let message = raised.message.as_str();
    let internal = |name: &String| attempt.trace.modules.contains_key(name);
    match raised.kind.as_str() {
        // What is entered must be able to leave, also where the original never came to that.
        "TypeError" | "AttributeError" if asks_for_exit(message) => {
            for name in ENTERED {
                keep_stubs(attempt, name, adjustments);
            }
        }
        "ValueError" | "AttributeError" | "TypeError"
            if asks_for_spec(message) && !named_packages(attempt).is_empty() =>
        {
            for package in named_packages(attempt) {
                add(&mut adjustments.demands, (package, "__path__".to_owned()));
            }
        }
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
                Some(_) => {
                    keep_binders(attempt, &attribute, adjustments);
                    keep_read_beside(raised, &attribute, attempt, adjustments);
                    for package in on_the_way(&attribute, attempt) {
                        add(&mut adjustments.namespaces, package.clone());
                        add(&mut adjustments.register, package);
                    }
                }
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
        "TypeError" if message.contains("abstract") => {
            let names = message.rsplit("abstract method").next().unwrap_or_default();
            for name in names.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
                keep_stubs(attempt, name, adjustments);
            }
        }
        "ModuleNotFoundError" | "ImportError" => {
            asked_from_outside(raised, attempt, adjustments);
            let name = quoted(message, "cannot import name ").or_else(|| plain_name(message));
            if let Some(module) = quoted(message, "No module named ").filter(internal) {
                // Code that computes what it imports goes through whatever the module has.
                if line_of(raised, attempt).is_some_and(imports_by_name) {
                    for module in in_turn(&module, attempt) {
                        add(&mut adjustments.namespaces, module.clone());
                        add(&mut adjustments.register, module);
                    }
                    add(&mut adjustments.namespaces, module.clone());
                }
                add(&mut adjustments.register, module);
            } else if let Some(package) =
                quoted(message, "; ").filter(|name| is_package(name, attempt))
            {
                // What has no such module, either, says so with the package's path in hand.
                add(&mut adjustments.demands, (package, "__path__".to_owned()));
            } else if let Some(name) = name {
                // Where the package is still there, for the sake of its extensions, it lacks the name.
                match quoted(message, "' from ").filter(internal) {
                    Some(module) => add(&mut adjustments.demands, (module, name)),
                    None => keep_binders(attempt, &name, adjustments),
                }
            }
        }
        // A condition raised what the test waits for.
        "Failed" | "AssertionError" if is_unraised(message) => adjustments.conditions = true,
        // Asked of `sys.modules`, or of a module's names.
        "KeyError" => {
            let name = message.trim_matches('\'').to_owned();
            if internal(&name) {
                add(&mut adjustments.namespaces, name.clone());
                add(&mut adjustments.register, name);
            } else if let Some(line) = line_of(raised, attempt).filter(|line| asks_globals(line)) {
                keep_like(line, &name, attempt, adjustments);
            }
        }
        // Code that evaluates annotations has errors of its own for the same.
        kind if is_unbound(kind, message) => {
            let Some(name) = quoted(message, "name ") else { return };
            keep_binders(attempt, &name, adjustments);
            let texts = graph::deferred(Source::new(attempt.gist_path, &*attempt.gist.text));
            if texts.contains(&name) {
                texts.iter().for_each(|other| keep_binders(attempt, other, adjustments));
            }
        }
        _ => {}
    }
    if *adjustments == attempt.request.adjustments {
        registered(raised, attempt, adjustments);
    }
}

/// Returns true if an error shows the gist's own name, where another module's may be meant.
pub(super) fn shows_name(difference: &Difference, attempt: &AdviceInput<'_>) -> bool {
    let stem = std::path::Path::new(attempt.gist_path).file_stem().unwrap_or_default();
    let stem = stem.to_string_lossy();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    difference
        .raised
        .as_ref()
        .is_some_and(|raised| raised.message.split(|c| !is_word(c)).any(|word| word == stem))
}

/// Returns true if a gist that is run as a script shows a warning that the original does not, such as
/// `main.py:3: Future: this will change`. Its category may derive from `DeprecationWarning`, whatever its name.
pub(super) fn shows_deprecations(difference: &Difference) -> bool {
    let is_warning = |line: &&str| {
        let mut parts = line.splitn(3, ": ");
        let place = parts.next().and_then(|place| place.rsplit_once(':'));
        let is_place = place
            .is_some_and(|(_, line)| line == "<n>" || line.chars().all(|c| c.is_ascii_digit()));
        let category = parts.next().filter(|_| is_place && parts.next().is_some());
        // `ERROR` is a level of a log.
        category.is_some_and(|name| {
            name.chars().any(char::is_lowercase)
                && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
    };
    let count = |text: &str| text.lines().filter(is_warning).count();
    difference.case.is_none() && count(&difference.gist) > count(&difference.original)
}

/// Returns true if an error misses a file, or a directory of files, that the gist replaces. No
/// slice restores it.
pub(super) fn asks_for_replaced_files(raised: &Raised, attempt: &AdviceInput<'_>) -> bool {
    let is_missing = matches!(raised.kind.as_str(), "FileNotFoundError" | "NotADirectoryError");
    let gist = raised.frames.iter().find_map(|(file, ..)| file.strip_suffix(attempt.gist_path));
    let missed = quoted(&raised.message, "directory: ").filter(|_| is_missing);
    let (Some(root), Some(missed)) = (gist, missed) else { return false };
    let Some(missed) = missed.strip_prefix(root) else { return false };
    attempt.trace.files.iter().any(|file| {
        file.path.strip_prefix(missed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Returns true if the import system, which looks for files beside a module, found that the module has no spec: the gist
/// stands in its place.
fn asks_for_spec(message: &str) -> bool {
    let attribute = quoted(message, "'NoneType' object has no attribute ");
    attribute.is_some_and(|name| {
        matches!(name.as_str(), "submodule_search_locations" | "loader" | "origin")
    }) || message.ends_with(".__spec__ is None")
        || message.ends_with("' is not a package")
}

/// The packages of the repository whose dotted names are string literals in the gist.
fn named_packages(attempt: &AdviceInput<'_>) -> Vec<String> {
    let text = &attempt.gist.text;
    let is_named = |name: &&String| {
        is_package(name, attempt)
            && ['"', '\''].iter().any(|q| text.contains(&format!("{q}{name}{q}")))
    };
    attempt.trace.modules.keys().filter(is_named).cloned().collect()
}

/// Returns true if a module of the repository is a package.
fn is_package(name: &str, attempt: &AdviceInput<'_>) -> bool {
    let is_it = |file: &FileTrace| file.modules.iter().any(|module| module == name);
    attempt.trace.files.iter().any(|file| file.path.ends_with("/__init__.py") && is_it(file))
}

/// Returns true if a message reports a missing `__enter__` or `__exit__`, in the words of any
/// Python version.
fn asks_for_exit(message: &str) -> bool {
    message.contains("context manager protocol") || ENTERED.contains(&message)
}

/// Returns true if a message of pytest or unittest reports that nothing was raised.
fn is_unraised(message: &str) -> bool {
    message.starts_with("DID NOT RAISE") || message.contains(" not raised")
}

fn is_unbound(kind: &str, message: &str) -> bool {
    matches!(kind, "NameError" | "UnboundLocalError") || message.contains("' is not defined")
}

/// Requests docstrings if the innermost gist line on the traceback reads one.
pub(super) fn read(raised: &Raised, attempt: &AdviceInput<'_>, adjustments: &mut Adjustments) {
    adjustments.docstrings |= reads_docstrings(line_of(raised, attempt).as_slice());
}

/// Definitions that the text of an error shows to be of the gist's own module, where they are of another in the
/// original: a pickle, a table or an assertion goes by that name.
pub(super) fn shown(raised: &Raised, attempt: &AdviceInput<'_>, adjustments: &mut Adjustments) {
    let stem = std::path::Path::new(attempt.gist_path).file_stem().unwrap_or_default();
    let own = format!("{}.", stem.to_string_lossy());
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for (at, _) in raised.message.match_indices(&own) {
        if raised.message[..at].ends_with(is_word) {
            continue;
        }
        let rest = &raised.message[at + own.len()..];
        let name = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        for (text, line) in attempt.gist.text.lines().zip(&attempt.gist.lines) {
            let defines = ["class ", "def ", "async def "].iter().any(|word| {
                let rest = text.strip_prefix(word).and_then(|rest| rest.strip_prefix(name));
                rest.is_some_and(|rest| rest.starts_with(['(', '[', ':']))
            });
            let LineOrigin::Source(place) = &line.origin else { continue };
            let unit = unit_at(place, attempt);
            let file = attempt.trace.files.iter().find(|file| file.path == place.path);
            // What the command names is of the file in whose place the gist stands.
            let is_test = |path: &String| {
                attempt
                    .plan
                    .kept
                    .iter()
                    .any(|unit| unit.place.path == *path && unit.reason == Reason::Test)
            };
            if let Some(unit) = unit.filter(|unit| defines && !is_test(&unit.place.path))
                && let Some(module) = file.and_then(|file| file.modules.first())
            {
                add(&mut adjustments.homes, unit.place.clone());
                add(&mut adjustments.register, module.clone());
            }
        }
    }
}

/// Requests the `__module__` of classes whose module's name is part of a missing test's id, with
/// underscores for dots: code generated the id from it. Requests the other names of that module in
/// the id as well.
pub(super) fn made_of(case: &str, attempt: &AdviceInput<'_>, adjustments: &mut Adjustments) {
    let (_, object) = case.split_once("::").unwrap_or(("", case));
    let is_part = |name: &str| {
        object.match_indices(name).any(|(at, _)| {
            let is_apart = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
            let rest = &object[at + name.len()..];
            is_apart(object[..at].chars().next_back()) && is_apart(rest.chars().next())
        })
    };
    for file in &attempt.trace.files {
        let is_told = |module: &String| module.contains('.') && is_part(&module.replace('.', "_"));
        if !file.modules.first().is_some_and(is_told) {
            continue;
        }
        let left_out = attempt.plan.dropped.iter().filter(|unit| unit.place.path == file.path);
        for unit in left_out.filter(|unit| unit.binds.iter().any(|name| is_part(name))) {
            add(&mut adjustments.keep, unit.place.clone());
            add(&mut adjustments.homes, unit.place.clone());
        }
        for (text, line) in attempt.gist.text.lines().zip(&attempt.gist.lines) {
            let LineOrigin::Source(place) = &line.origin else { continue };
            if place.path == file.path
                && text.starts_with("class ")
                && let Some(unit) = unit_at(place, attempt)
            {
                add(&mut adjustments.homes, unit.place.clone());
            }
        }
    }
}

/// Requests the `__module__` of all functions and classes of a gist that reads such an attribute; returns true if there
/// are any.
pub(super) fn request_function_modules(
    attempt: &AdviceInput<'_>,
    adjustments: &mut Adjustments,
) -> bool {
    if !attempt.gist.text.contains("__module__") {
        return false;
    }
    for (text, line) in attempt.gist.text.lines().zip(&attempt.gist.lines) {
        let defines = ["class ", "def ", "async def "].iter().any(|word| text.starts_with(word));
        let LineOrigin::Source(place) = &line.origin else { continue };
        let is_module = |file: &FileTrace| {
            file.path == place.path && file.modules.iter().all(|module| module != "__main__")
        };
        if let Some(unit) = unit_at(place, attempt)
            && defines
            && unit.reason != Reason::Test
            && attempt.trace.files.iter().any(is_module)
        {
            add(&mut adjustments.homes, unit.place.clone());
        }
    }
    !adjustments.homes.is_empty()
}

/// Requests dropped definitions whose name is, or ends, a part of a missing test's id.
///
/// Test names often combine a word with the name of the tested function. Of several matches the
/// longest name counts.
pub(super) fn made_for(case: &str, attempt: &AdviceInput<'_>, adjustments: &mut Adjustments) {
    let (_, object) = case.split_once("::").unwrap_or(("", case));
    let parts = object.split(['[', ']']).flat_map(|part| part.split("::"));
    let dropped = || attempt.plan.dropped.iter().flat_map(|unit| &unit.binds);
    for part in parts {
        let ends = |name: &&String| {
            let before = part.strip_suffix(name.as_str());
            // A word begins behind what is no letter, or with a capital one.
            before.is_some_and(|before| {
                !before.ends_with(char::is_alphanumeric) || name.starts_with(char::is_uppercase)
            })
        };
        if let Some(name) = dropped().filter(ends).max_by_key(|name| name.len()) {
            keep_binders(attempt, name, adjustments);
        }
    }
}

/// Requests the internal names that external modules import, after one of them failed to load.
///
/// Reads the modules that the original loaded after the first test had begun, and those of the
/// package that failed.
fn asked_from_outside(raised: &Raised, attempt: &AdviceInput<'_>, adjustments: &mut Adjustments) {
    let trace = attempt.trace;
    let of_file = |file: &str| trace.external.iter().find(|(_, path)| path.as_str() == file);
    let mut frames = raised.frames.iter().rev().map(|(file, ..)| file.as_str());
    let Some((failed, _)) = frames.find(|file| file.starts_with('/')).and_then(of_file) else {
        return;
    };
    let top = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    let failed = top(failed);
    let is_internal = |name: &str| trace.modules.contains_key(name);
    let tops: BTreeSet<String> = trace.modules.keys().map(|name| top(name)).collect();
    for (module, path) in &trace.external {
        let is_one = trace.late.binary_search(module).is_ok() || top(module) == failed;
        if !is_one || !path.ends_with(".py") {
            continue;
        }
        // A file that cannot be read from here asks for nothing that is known.
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        if !tops.iter().any(|top| text.contains(top.as_str())) {
            continue;
        }
        for (from, name) in graph::internal_imports(Source::new(path, text), &is_internal) {
            let Some(name) = name else {
                add(&mut adjustments.register, from);
                continue;
            };
            let inner = format!("{from}.{name}");
            if is_internal(&inner) {
                add(&mut adjustments.register, inner);
            } else {
                add(&mut adjustments.demands, (from, name));
            }
        }
    }
}

/// Returns true if the original handled an error in the handler that caught this one in the gist.
pub(super) fn is_known(raised: &Raised, attempt: &AdviceInput<'_>) -> bool {
    let Some(line) = raised.frames.iter().rev().find_map(|frame| line_in(frame, attempt)) else {
        return false;
    };
    let handlers = graph::handlers(Source::new(attempt.gist_path, &*attempt.gist.text), line);
    let mut origins = handlers.iter().filter_map(|line| attempt.gist.lines.get(*line as usize - 1));
    origins.any(|line| match &line.origin {
        LineOrigin::Source(place) => {
            attempt.trace.file(&place.path).is_some_and(|file| file.executed(place.line))
        }
        LineOrigin::Glue(_) => false,
    })
}

/// Requests changes by the place of an error whose message names nothing.
pub(super) fn placed(raised: &Raised, attempt: &AdviceInput<'_>, next: &mut SliceRequest) {
    if !next.adjustments.module_names {
        next.adjustments.module_names = reads_name(raised, attempt);
    }
    if *next == *attempt.request {
        asked_while_made(raised, attempt, &mut next.adjustments);
    }
    if *next == *attempt.request {
        // A docstring of which one line stayed is another text than all of it, and than none.
        next.adjustments.docstrings |= reads_docstrings(&lines_of(raised, attempt));
    }
    if *next == *attempt.request {
        let adjustments = &mut next.adjustments;
        // Each guess costs a run: where to keep the innermost function whole did not help, or that function may be
        // a hook itself, the hooks are next.
        let own = raised.frames.iter().rev().find(|frame| line_in(frame, attempt).is_some());
        let is_early = adjustments.whole.is_empty()
            && !own.is_some_and(|(_, _, function)| function.starts_with("pytest_"));
        if is_early || adjustments.hooks || !graph::ran_hooks(attempt.trace) {
            whole_functions(raised, attempt, adjustments);
        } else {
            adjustments.hooks = true;
        }
    }
    // What is left out stays out: only where nothing else is known to help.
    if *next == *attempt.request {
        leave_effect_out(raised, attempt, &mut next.adjustments);
    }
}

/// Requests the `__module__` of a class whose metaclass or base reads it and then raises an
/// exception. In a gist it is the name of another module.
fn asked_while_made(raised: &Raised, attempt: &AdviceInput<'_>, adjustments: &mut Adjustments) {
    let lines: Vec<&str> = attempt.gist.text.lines().collect();
    let Some(frame) = raised.frames.last() else { return };
    let asks_in = |lines: &[&str], line: u32| {
        let head = head_of(lines, line, &frame.2);
        head.is_some_and(|head| {
            lines[head..line as usize].iter().any(|text| text.contains("__module__"))
        })
    };
    let asks = match line_in(frame, attempt) {
        Some(line) => asks_in(&lines, line),
        // What is from outside is read where it is.
        None => std::fs::read_to_string(&frame.0)
            .is_ok_and(|text| asks_in(&text.lines().collect::<Vec<_>>(), frame.1)),
    };
    let of_module = |(_, _, function): &&(String, u32, String)| function == "<module>";
    let made = raised.frames.iter().rev().find(of_module).and_then(|one| line_in(one, attempt));
    let Some(made) = made.filter(|_| asks) else { return };
    let Some(LineOrigin::Source(place)) =
        attempt.gist.lines.get(made as usize - 1).map(|one| &one.origin)
    else {
        return;
    };
    let is_class = lines.get(made as usize - 1).is_some_and(|text| text.starts_with("class "));
    let module = attempt.trace.file(&place.path).and_then(|file| file.modules.first());
    if let (Some(unit), Some(module)) = (unit_at(place, attempt).filter(|_| is_class), module) {
        add(&mut adjustments.homes, unit.place.clone());
        add(&mut adjustments.register, module.clone());
    }
}

/// Leaves out a module-level statement that is there for its effect alone, where that is an error now: what
/// imported its module had seen to it that it is none, as a filter of warnings does.
pub(super) fn leave_effect_out(
    raised: &Raised,
    attempt: &AdviceInput<'_>,
    adjustments: &mut Adjustments,
) {
    let of_module = |(_, _, function): &&(String, u32, String)| function == "<module>";
    let mut lines = raised.frames.iter().filter(of_module).filter_map(|one| line_in(one, attempt));
    let Some(line) = lines.next().and_then(|line| attempt.gist.lines.get(line as usize - 1)) else {
        return;
    };
    let LineOrigin::Source(place) = &line.origin else { return };
    // A script is run for its effects.
    let file = attempt.trace.file(&place.path);
    if file.is_some_and(|file| file.modules.iter().any(|name| name == "__main__")) {
        return;
    }
    if let Some(unit) = unit_at(place, attempt).filter(|unit| unit.reason == Reason::SideEffect) {
        add(&mut adjustments.drop, unit.place.clone());
    }
}

/// The kept statement of the top level that a place is in.
fn unit_at<'a>(place: &Place, attempt: &AdviceInput<'a>) -> Option<&'a PlannedUnit> {
    attempt.plan.kept.iter().find(|unit| {
        let lines = unit.place.line..=unit.last_line;
        unit.place.path == place.path && lines.contains(&place.line)
    })
}

/// The line of the gist that a frame was at, if it was in the gist.
fn line_in((file, line, _): &(String, u32, String), attempt: &AdviceInput<'_>) -> Option<u32> {
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

/// Returns true if a top-level `__getattr__` of the gist raised the error.
fn ends_in_module_getattr(raised: &Raised, attempt: &AdviceInput<'_>) -> bool {
    let last = raised.frames.last().filter(|(_, _, function)| function == "__getattr__");
    let line = last.and_then(|frame| line_in(frame, attempt));
    let place = line.and_then(|line| enclosing(attempt.gist, line, "__getattr__"));
    let head = attempt.gist.text.lines().zip(&attempt.gist.lines).find(|(_, line)| {
        matches!((&line.origin, &place), (LineOrigin::Source(one), Some(other)) if one == other)
    });
    head.is_some_and(|(text, _)| !text.starts_with(char::is_whitespace))
}

/// Returns true if a gist line on the traceback reads the module's `__name__`.
fn reads_name(raised: &Raised, attempt: &AdviceInput<'_>) -> bool {
    lines_of(raised, attempt).iter().any(|text| text.contains("__name__"))
}

/// Returns true if a line reads a docstring.
fn reads_docstrings(lines: &[&str]) -> bool {
    let texts = ["__doc__", "getdoc("];
    lines.iter().any(|line| texts.iter().any(|text| line.contains(text)))
}

/// Returns true if a line of the gist uses a docstring as data, for example as a grammar. A line
/// that only assigns it to another object does not count.
pub(super) fn made_of_docstrings(attempt: &AdviceInput<'_>) -> bool {
    let is_given = |line: &str| line.contains("__doc__ = ") || line.contains("doc=");
    let lines = attempt.gist.text.lines().zip(&attempt.gist.lines);
    let mut own = lines.filter(|(_, line)| matches!(line.origin, LineOrigin::Source(_)));
    own.any(|(text, _)| reads_docstrings(&[text]) && !is_given(text))
}

/// Returns true if an error comes from a file outside the repository that reads docstrings: a library that makes a grammar
/// of them, for one.
pub(super) fn minds_docstrings(raised: &Raised, attempt: &AdviceInput<'_>) -> bool {
    let Some(frame) = raised.frames.last() else { return false };
    // A failed assertion is the verdict of a test, wherever it is raised.
    !matches!(raised.kind.as_str(), "AssertionError" | "Failed")
        && line_in(frame, attempt).is_none()
        && std::fs::read_to_string(&frame.0)
            .is_ok_and(|text| reads_docstrings(&text.lines().collect::<Vec<_>>()))
}

/// Returns sibling modules that were first imported during the tests, if the package or another
/// sibling is already requested.
///
/// Code that iterates over a package's modules would otherwise fail once per module, at one run
/// each. If several siblings are requested, returns all loaded ones.
fn in_turn(module: &str, attempt: &AdviceInput<'_>) -> Vec<String> {
    let package = |module: &str| module.rsplit_once('.').map(|(package, _)| package.to_owned());
    let own = package(module);
    let beside =
        |other: &&String| own.is_some() && package(other) == own && other.as_str() != module;
    let namespaces = || attempt.request.adjustments.namespaces.iter().chain(&attempt.plan.imported);
    let asked = namespaces().filter(beside).count();
    if asked == 0 && !namespaces().any(|module| own.as_ref() == Some(module)) {
        return Vec::new();
    }
    let files = attempt.trace.files.iter();
    let files = files.filter(|file| file.phase == TracePhase::Test || asked > 1);
    let loaded = |other: &&String| attempt.trace.modules.contains_key(*other);
    files.flat_map(|file| &file.modules).filter(beside).filter(loaded).cloned().collect()
}

/// Returns the packages of modules imported by computed names that continue with `name`. The gist
/// replaces a package until code reads a submodule from it as an attribute.
fn on_the_way(name: &str, attempt: &AdviceInput<'_>) -> BTreeSet<String> {
    let dotted = format!(".{name}");
    let packages = attempt.plan.imported.iter().flat_map(|module| {
        let ends = module.match_indices(&dotted).filter(|(at, _)| {
            let rest = &module[at + dotted.len()..];
            rest.is_empty() || rest.starts_with('.')
        });
        ends.map(|(at, _)| module[..at].to_owned())
    });
    packages.collect()
}

fn imports_by_name(text: &str) -> bool {
    text.contains("__import__(") || text.contains("import_module(")
}

/// The innermost line of the gist on the way to an error.
fn line_of<'a>(raised: &Raised, attempt: &AdviceInput<'a>) -> Option<&'a str> {
    lines_of(raised, attempt).last().copied()
}

/// The lines of the gist on the way to an error.
fn lines_of<'a>(raised: &Raised, attempt: &AdviceInput<'a>) -> Vec<&'a str> {
    let lines: Vec<&str> = attempt.gist.text.lines().collect();
    let numbers = raised.frames.iter().filter_map(|frame| line_in(frame, attempt));
    numbers.filter_map(|line| lines.get(line as usize - 1).copied()).collect()
}

/// Requests the innermost gist function on the traceback as a whole, and after it those around it.
/// The missing code may have been cut from them.
fn whole_functions(raised: &Raised, attempt: &AdviceInput<'_>, adjustments: &mut Adjustments) {
    let most = if adjustments.whole.is_empty() { 1 } else { MOST_WHOLE };
    let places = raised.frames.iter().rev().filter_map(|frame| {
        line_in(frame, attempt).and_then(|line| enclosing(attempt.gist, line, &frame.2))
    });
    for place in places {
        if adjustments.whole.len() >= most {
            break;
        }
        add(&mut adjustments.whole, place);
    }
}

/// Returns the first line, in the original, of the function around a line of the gist.
fn enclosing(gist: &Gist, line: u32, function: &str) -> Option<Place> {
    let lines: Vec<&str> = gist.text.lines().collect();
    let mut head = head_of(&lines, line, function)?;
    while head > 0 && lines[head - 1].trim_start().starts_with('@') {
        head -= 1;
    }
    match &gist.lines.get(head)?.origin {
        LineOrigin::Source(place) => Some(place.clone()),
        LineOrigin::Glue(_) => None,
    }
}

/// At which of its lines the function around a line of a gist begins.
fn head_of(lines: &[&str], line: u32, function: &str) -> Option<usize> {
    let at = (line as usize).checked_sub(1)?;
    let inner = indent(lines.get(at)?);
    let starts = |text: &str| {
        ["def ", "async def "].iter().any(|word| {
            text.trim_start()
                .strip_prefix(word)
                .and_then(|rest| rest.strip_prefix(function))
                .is_some_and(|rest| rest.starts_with(['(', '[']))
        })
    };
    (0..=at).rev().find(|&at| starts(lines[at]) && indent(lines[at]) <= inner)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

pub(super) fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// The name that a compiled extension could not import, which its message does not quote.
fn plain_name(message: &str) -> Option<String> {
    let name = message.strip_prefix("cannot import name ")?.split_whitespace().next()?;
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| name.to_owned())
}

/// The text in quotes after a phrase.
fn quoted(message: &str, phrase: &str) -> Option<String> {
    let rest = &message[message.find(phrase)? + phrase.len()..];
    let rest = rest.strip_prefix('\'')?;
    Some(rest[..rest.find('\'')?].to_owned())
}
