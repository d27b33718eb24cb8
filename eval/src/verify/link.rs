//! Checks that a gist is linked: runs the original test files against it, with the gist in place of
//! every internal module that they import.
//!
//! The table from module names to names of the gist comes from matched lines and parsed glue, never
//! from the writer's claims. Test files, conftests and test helpers are the original's; of the gist
//! only the package's part is used.

use std::collections::{BTreeMap, BTreeSet};

use graph::{Glue, GlueTarget, Held, ModuleSnapshot, Value};
use ruff_python_ast::name::Name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{Execution, Internal, Link, LinkedModule, LinkedSpec, Normalizer, RunSpec, Status};

use super::{
    ground::{Ground, Placed},
    meaning::{Thing, same},
};
use crate::{
    blocks::Role,
    error::EvalError,
    observation::{NormalizedException, Observation},
    reference::{Reference, ReferenceSpec},
    scorers::OutcomeDifference,
};

/// The outcome of the original tests on a gist.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Linked {
    /// It was not tried: the gist is not grounded, or not faithful.
    #[default]
    NotTried,
    /// The command runs no test file, so that the run of the gist is the link.
    NoTests,
    /// Each case ended as it does on the original.
    Holds,
    /// A case ended in another way.
    Differs(Box<OutcomeDifference>),
    /// The tests cannot be run against it.
    Impossible(String),
}

/// The inputs of a linked run: the table of names, the gist without its tests, and the names that it lacks.
pub struct LinkPlan {
    pub link: Link,
    /// The text without the tests, line by line.
    pub text: String,
    /// Dotted names that modules of the original have and the gist lacks.
    pub lacking: BTreeSet<String>,
}

/// Maps each name of each internal module to the gist's names for it, and lists the names that the gist lacks.
pub fn plan(text: &str, placed: &Placed, ground: &Ground<'_>, tolerant: bool) -> LinkPlan {
    let internal = ground.internal;
    let is_test = |path: &str| internal.support.contains(path);
    let mut by_thing: BTreeMap<&Thing, Vec<&str>> = BTreeMap::new();
    let mut objects: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, thing) in placed.names.at_end() {
        match thing {
            Thing::Module(module) => {
                objects.insert(module, name);
            }
            Thing::Own(path, _) if is_test(path) => {}
            _ => by_thing.entry(thing).or_default().push(name),
        }
    }
    let mut modules = BTreeMap::new();
    let mut lacking = BTreeSet::new();
    let loaded = &ground.meaning.trace.modules;
    // A module that raised while it was imported is not in `sys.modules`.
    let failed = internal.modules.iter().filter(|(module, _)| !loaded.contains_key(*module));
    let failed: BTreeMap<&String, ModuleSnapshot> = failed
        .map(|(module, path)| (module, ModuleSnapshot { path: path.clone(), ..Default::default() }))
        .collect();
    let all = loaded.iter().chain(failed.iter().map(|(module, snapshot)| (*module, snapshot)));
    for (module, snapshot) in all {
        let is_source = snapshot.path.is_empty() || snapshot.path.ends_with(".py");
        if is_test(&snapshot.path) || module == "__main__" || !is_source {
            continue;
        }
        let entry = linked_module(module, snapshot, ground, &by_thing, &objects);
        let is_lost = |name: &&String| {
            let thing = ground.meaning.attribute(module, name);
            matches!(&thing, Some(own @ Thing::Own(..)) if !by_thing.contains_key(own))
        };
        let lost = snapshot.names.keys().filter(is_lost);
        lacking.extend(lost.map(|name| format!("{module}.{name}")));
        modules.insert(module.clone(), entry);
    }
    let link = Link {
        gist: ground.gist.to_owned(),
        modules,
        tests: internal.support.iter().cloned().collect(),
        tolerant,
    };
    LinkPlan { link, text: without_tests(text, placed, internal), lacking }
}

/// Attributes that Python sets on each module; they are never linked.
const OWN: [&str; 10] = [
    "__annotations__",
    "__builtins__",
    "__cached__",
    "__doc__",
    "__file__",
    "__loader__",
    "__name__",
    "__package__",
    "__path__",
    "__spec__",
];

fn linked_module(
    module: &str,
    snapshot: &ModuleSnapshot,
    ground: &Ground<'_>,
    by_thing: &BTreeMap<&Thing, Vec<&str>>,
    objects: &BTreeMap<&str, &str>,
) -> LinkedModule {
    let (meaning, trace) = (ground.meaning, ground.meaning.trace);
    let id = meaning.resolver.modules().find(module);
    let path = snapshot.path.as_str();
    let mut known: BTreeSet<String> = snapshot.names.keys().cloned().collect();
    known.extend(id.iter().flat_map(|id| meaning.resolver.names(*id)).map(Name::to_string));
    let own_names = |name: &str, thing: &Thing| -> Vec<String> {
        let all = by_thing.get(thing).map_or(&[][..], Vec::as_slice);
        if all.contains(&name) {
            // Other names of the original stand for other modules' globals.
            let more = all.iter().filter(|other| **other == name || meaning.is_fresh(other));
            let mut names: Vec<String> = more.map(|name| (*name).to_owned()).collect();
            names.sort_by_key(|other| other != name);
            return names;
        }
        let fresh: Vec<&&str> = all.iter().filter(|other| meaning.is_fresh(other)).collect();
        let names = if fresh.is_empty() { all.iter().collect() } else { fresh };
        names.into_iter().map(|name| (*name).to_owned()).collect()
    };
    let mut entry = LinkedModule {
        path: path.to_owned(),
        directories: directories(module, path, ground.internal, trace),
        object: objects.get(module).map(|name| (*name).to_owned()),
        stars: id.map(|id| meaning.resolver.star_names(id).iter().map(Name::to_string).collect()),
        ..LinkedModule::default()
    };
    for name in known.into_iter().filter(|name| !OWN.contains(&name.as_str())) {
        let held = snapshot.names.get(&name);
        let thing = meaning.attribute(module, &name);
        let flats = thing.as_ref().map(|thing| own_names(&name, thing)).unwrap_or_default();
        if !flats.is_empty() {
            entry.names.insert(name, flats);
            continue;
        }
        match (held, thing) {
            (Some(Value::Module(inner)), _) if trace.modules.contains_key(inner) => {
                entry.internal.insert(name, inner.clone());
            }
            (_, Some(Thing::Module(inner))) => {
                entry.internal.insert(name, inner);
            }
            (_, Some(Thing::External(outer, attribute))) => {
                entry.outside.insert(name, (outer, attribute));
            }
            // A package may re-export a name of a test file; it is then imported from the original file.
            (_, Some(Thing::Own(path, own))) if ground.internal.support.contains(&path) => {
                if let Some(home) = meaning.module_of(&path) {
                    entry.outside.insert(name, (home.to_owned(), Some(own)));
                }
            }
            (Some(Value::Module(outer)), _) => {
                entry.outside.insert(name, (outer.clone(), None));
            }
            // What code put among its globals has this name in the gist as well, if nothing else has it.
            (Some(_), thing) => {
                let is_other = by_thing.iter().any(|(other, names)| {
                    names.contains(&name.as_str())
                        && thing.as_ref().is_none_or(|thing| !same(thing, other))
                });
                if !is_other {
                    entry.names.insert(name.clone(), vec![name]);
                }
            }
            (None, _) => {}
        }
    }
    entry
}

/// The directories of a package; nothing for other modules.
fn directories(
    module: &str,
    path: &str,
    internal: &Internal,
    trace: &graph::Trace,
) -> Option<Vec<String>> {
    if let Some(directory) = path.strip_suffix("__init__.py") {
        return Some(vec![directory.trim_end_matches('/').to_owned()]);
    }
    if !path.is_empty() {
        return None;
    }
    let inside = format!("{module}.");
    let depth = module.matches('.').count() + 1;
    let files = internal.modules.iter().chain(&trace.compiled);
    let found: BTreeSet<String> = files
        .filter(|(name, _)| name.starts_with(&inside))
        .filter_map(|(name, path)| {
            let stem = path.strip_suffix("/__init__.py").unwrap_or(path);
            let parts: Vec<&str> = stem.split('/').collect();
            let above = name.matches('.').count() + 1 - depth;
            Some(parts.get(..parts.len().checked_sub(above)?)?.join("/"))
        })
        .collect();
    Some(found.into_iter().collect())
}

/// Returns the text of a gist with empty lines in place of code from test files and of its glue.
fn without_tests(text: &str, placed: &Placed, internal: &Internal) -> String {
    let mut gone: Vec<(u32, u32)> = Vec::new();
    for (at, line) in placed.outline.lines.iter().enumerate() {
        let path = placed.paths[at].as_deref();
        if line.parent.is_none() && path.is_some_and(|path| internal.support.contains(path)) {
            // Imports of tests may be what the package's lines need as well.
            if line.role != Role::Import {
                gone.push((line.first.min(line.reach.0), line.last.max(line.reach.1)));
            }
        }
    }
    let is_test_module = |module: &str| {
        internal.modules.get(module).is_some_and(|path| internal.support.contains(path))
    };
    let is_of_tests = |thing: &Thing| match thing {
        Thing::Own(path, _) => internal.support.contains(path),
        Thing::Module(module) => is_test_module(module),
        _ => false,
    };
    let is_test = |name: &str| placed.names.last(name).is_some_and(is_of_tests);
    for (first, last, glue) in &placed.glue {
        let goes = match glue {
            Glue::Plugins(_) => true,
            // The thing that `source` names at this line; later lines may rebind it.
            Glue::Alias { source, .. } => {
                placed.names.before(*first, source).is_some_and(is_of_tests)
            }
            Glue::ModuleObject { module, .. } => is_test_module(module),
            Glue::Fill { object, held } => {
                is_test(object)
                    || held
                        .iter()
                        .any(|(_, held)| matches!(held, Held::Name(name) if is_test(name)))
            }
            Glue::Located { object, .. } => is_test(object),
            Glue::FunctionModule { function, .. } => is_test(function),
            Glue::Attribute { object, .. } => is_test(object),
            Glue::GistModule(targets) => targets.iter().all(
                |target| matches!(target, GlueTarget::Registered(module) if is_test_module(module)),
            ),
            _ => false,
        };
        // Indented glue belongs to a block: it is removed only with that block.
        let is_inside = gone.iter().any(|(from, to)| (from..=to).contains(&first));
        if goes && !is_inside && !text_is_indented(text, *first) {
            gone.push((*first, *last));
        }
    }
    let mut out = String::new();
    for (number, line) in (1u32..).zip(text.split_inclusive('\n')) {
        let is_gone = gone.iter().any(|(first, last)| (*first..=*last).contains(&number));
        out.push_str(if is_gone { "\n" } else { line });
    }
    out
}

fn text_is_indented(text: &str, line: u32) -> bool {
    let line = text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default();
    line.starts_with([' ', '\t'])
}

/// Runs the original tests against a gist.
///
/// # Errors
/// When something besides the gist fails.
#[tracing::instrument(name = "linked run", level = "debug", skip_all)]
pub fn run(
    original: &ReferenceSpec<'_>,
    reference: &Reference,
    pristine: &std::path::Path,
    internal: &Internal,
    plan: &LinkPlan,
) -> Result<Linked, EvalError> {
    original.begins("original tests on the gist");
    let directory = original.workspace.directory("linked")?;
    let scratch = original.workspace.directory("scratch")?;
    tools::lay_out_linked(&LinkedSpec {
        original: pristine,
        internal,
        gist: &plan.text,
        link: &plan.link,
        lacking: &plan.lacking,
        into: &directory,
    })?;
    let absent: Vec<String> = internal.tops.iter().cloned().collect();
    let run = tools::execute(&RunSpec {
        sandbox: original.sandbox,
        environment: original.environment,
        command: original.command,
        directory: &directory,
        scratch: &scratch,
        limits: original.limits,
        hash_seed: 0,
        variables: original.variables,
        absent: &absent,
        max_failures: None,
        link: Some(&plan.link),
        around: tools::Around::default(),
    });
    let run = run.or_else(|error| Execution::spoiled(&error).ok_or(error))?;
    if run.status == Status::Interrupted {
        return Err(EvalError::Interrupted);
    }
    let normalizer = Normalizer::of_run(&directory, &scratch, internal, Some(&plan.link.gist));
    let found = Observation::of(&run, &normalizer, |_| false, original.command.is_pytest());
    original.workspace.discard(&directory);
    original.workspace.discard(&scratch);
    Ok(match compare(reference, &found) {
        None => Linked::Holds,
        Some(difference) => match run.caught.first() {
            Some(lost) if is_unloaded(&found) => {
                let place = lost.frames.last().map_or(String::new(), |(file, line, _)| {
                    format!("{}:{line}: ", normalizer.text(file))
                });
                // The error that ended the run can differ from the first missing name.
                let end = found
                    .collection
                    .first()
                    .map(|(_, error)| format!("{}: {}, after ", error.kind, error.message));
                let end = end.unwrap_or_default();
                Linked::Impossible(format!("{end}{place}{}: {}", lost.kind, lost.message))
            }
            _ => Linked::Differs(Box::new(difference)),
        },
    })
}

/// Returns true if a run got no further than loading its tests.
fn is_unloaded(found: &Observation) -> bool {
    found.cases.is_empty() || !found.collection.is_empty()
}

/// Returns the first case whose outcome or exception type is another than the original's; while tests are loaded the
/// message counts as well.
fn compare(reference: &Reference, found: &Observation) -> Option<OutcomeDifference> {
    use crate::scorers::OutcomeDifferenceKind;
    let expected = &reference.expected;
    let difference = |case: &str, phase: &str, what, expected: String, found: String| {
        Some(OutcomeDifference {
            case: case.to_owned(),
            phase: phase.to_owned(),
            what,
            expected,
            found,
        })
    };
    let told = |failure: Option<&NormalizedException>| {
        failure.map_or("no exception".to_owned(), |one| format!("{}: {}", one.kind, one.message))
    };
    let mut errors = found.collection.iter();
    for (id, wanted) in &expected.collection {
        let seen = errors.next().map(|(_, failure)| failure);
        let is_same = seen.is_some_and(|seen| {
            (&seen.kind, &seen.module) == (&wanted.kind, &wanted.module)
                && wanted.message.matches(&seen.message)
        });
        if !is_same {
            let wanted = format!("{}: {}", wanted.kind, wanted.message.shown());
            return difference(
                id,
                "collection",
                OutcomeDifferenceKind::Collection,
                wanted,
                told(seen),
            );
        }
    }
    if let Some((id, failure)) = errors.next() {
        let nothing = "no exception".to_owned();
        return difference(
            id,
            "collection",
            OutcomeDifferenceKind::Collection,
            nothing,
            told(Some(failure)),
        );
    }
    for (id, phases) in &expected.cases {
        if expected.unstable.contains_key(id) {
            continue;
        }
        let Some(seen) = found.cases.get(id) else {
            return difference(
                id,
                "",
                OutcomeDifferenceKind::Missing,
                "a case".to_owned(),
                "nothing".to_owned(),
            );
        };
        for (at, wanted) in phases.iter().enumerate() {
            let raised = wanted.raised.as_ref();
            let shown = || {
                let raised = raised.map_or(String::new(), |raised| format!(" ({})", raised.kind));
                format!("{}{raised}", wanted.outcome)
            };
            let Some(phase) = seen.get(at) else {
                return difference(
                    id,
                    &wanted.when,
                    OutcomeDifferenceKind::Outcome,
                    shown(),
                    "nothing".to_owned(),
                );
            };
            let kinds =
                |kind: Option<(&String, &String)>| kind.map(|(a, b)| (a.clone(), b.clone()));
            let is_same = wanted.when == phase.when
                && wanted.outcome == phase.outcome
                && wanted.wasxfail.is_some() == phase.wasxfail.is_some()
                && kinds(raised.map(|one| (&one.kind, &one.module)))
                    == kinds(phase.raised.as_ref().map(|one| (&one.kind, &one.module)));
            if !is_same {
                let seen = format!("{} ({})", phase.outcome, told(phase.raised.as_ref()));
                return difference(id, &wanted.when, OutcomeDifferenceKind::Outcome, shown(), seen);
            }
        }
        if seen.len() > phases.len() {
            let extra = seen[phases.len()].outcome.clone();
            return difference(
                id,
                "",
                OutcomeDifferenceKind::Outcome,
                "no more phases".to_owned(),
                extra,
            );
        }
    }
    let raised = expected.raised.as_ref().map(|one| (&one.kind, &one.module));
    let seen = found.raised.as_ref().map(|one| (&one.kind, &one.module));
    if raised != seen {
        let wanted =
            expected.raised.as_ref().map_or("no exception".to_owned(), |one| one.kind.clone());
        return difference(
            "",
            "",
            OutcomeDifferenceKind::ExceptionType,
            wanted,
            told(found.raised.as_ref()),
        );
    }
    if let Some(status) = expected.status
        && status != found.status
    {
        let last = found.collection.first().map(|(_, failure)| failure);
        let shown = format!("{:?}, {}", found.status, told(last));
        return difference("", "", OutcomeDifferenceKind::ExitCode, format!("{status:?}"), shown);
    }
    None
}
