//! Verified: a gist holds nothing but the original's lines and glue, and the original tests hold on it.
//!
//! The pipeline is `meaning -> tree -> ground -> link`. A gist that is not verified is no fraud: a paraphrase is faithful
//! and unverified, and its foreign lines are shown.

mod ground;
mod link;
mod meaning;
mod names;
mod tree;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::Internal;

pub use self::{
    ground::{ForeignLine, Grounded},
    link::Linked,
};
use self::{
    ground::{Ground, Placed, ground},
    meaning::{Meaning, modules_of, same},
};
use crate::{
    codebase::Codebase,
    error::EvalError,
    examples::untold,
    reference::{Reference, ReferenceSpec},
    scorers::Executed,
    source_map::SourceMap,
};

/// The second answer about a gist, beside its fidelity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// True if it is grounded and linked.
    pub verified: bool,
    /// The first reason why it is not.
    pub reason: Option<String>,
    /// Its lines, and those that are foreign.
    pub grounded: Grounded,
    /// The outcome of the original tests on it.
    pub linked: Linked,
}

impl Verification {
    /// The answer where there is nothing to verify.
    pub(crate) fn refused(reason: &str) -> Self {
        Self { reason: Some(reason.to_owned()), ..Self::default() }
    }
}

/// The inputs of a verification.
#[derive(Clone, Copy)]
pub struct VerifySpec<'a> {
    /// The original, and how it is run.
    pub original: &'a ReferenceSpec<'a>,
    /// The behaviour of the command on the original.
    pub reference: &'a Reference,
    /// A copy of it in which nothing ran.
    pub pristine: &'a Path,
    /// Its lines.
    pub codebase: &'a Codebase,
    /// The split of its files into modules, tests and data.
    pub internal: &'a Internal,
    /// Path of the gist in it.
    pub gist: &'a str,
    /// The writer's source map, which only chooses among places that fit.
    pub map: &'a SourceMap,
}

/// Verifies a gist. Its tests run only if it is `faithful` and grounded.
///
/// # Errors
/// When something besides the gist fails.
pub fn verify(
    spec: &VerifySpec<'_>,
    text: &str,
    faithful: bool,
) -> Result<Verification, EvalError> {
    let reference = spec.reference;
    let (placed, plan, exchanged) = graph::with_deep_stack(|| {
        let executed = Executed::of_trace(&reference.trace);
        let modules = modules_of(spec.codebase, spec.internal, &reference.trace);
        let meaning = Meaning::new(&modules, &executed, &reference.trace);
        let against = Ground {
            gist: spec.gist,
            codebase: spec.codebase,
            executed: &executed,
            internal: spec.internal,
            meaning: &meaning,
            failed: &reference.failed,
            map: spec.map,
        };
        let placed = ground(text, &against);
        let tolerant = reference.expected.collection.is_empty();
        let plan = link::plan(text, &placed, &against, tolerant);
        let exchanged = exchanged_test(reference, &placed, &meaning);
        (placed.grounded, plan, exchanged)
    });
    let mut found = Verification { grounded: placed, ..Verification::default() };
    if let Some(first) = found.grounded.foreign.first() {
        let more = found.grounded.foreign.len() - 1;
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        found.reason = Some(format!("line {} is foreign: {}{more}", first.line, first.reason));
        return Ok(found);
    }
    let untold = || untold(text, spec.original.command, spec.codebase);
    if let Some(lost) = exchanged.or_else(untold) {
        found.reason = Some(lost);
        return Ok(found);
    }
    if !faithful {
        found.reason = Some("it is not faithful".to_owned());
        return Ok(found);
    }
    found.linked = match runs_tests(spec) {
        false => Linked::NoTests,
        true => link::run(spec.original, reference, spec.pristine, spec.internal, &plan)?,
    };
    found.reason = match &found.linked {
        Linked::NoTests | Linked::Holds => None,
        Linked::NotTried => Some("its tests were not run".to_owned()),
        Linked::Differs(difference) => Some(format!(
            "the original tests end in another way on it: {} {}, expected {}, got {}",
            difference.case, difference.what, difference.expected, difference.found
        )),
        Linked::Impossible(cause) => Some(format!("cannot be linked: {cause}")),
    };
    found.verified = found.reason.is_none();
    Ok(found)
}

/// Returns the reason if a class or function that the command names is that of another file:
///
/// ```python
/// class TestX(Base):    # the command runs test_x.py::TestX; this one is from conftest.py
///     values = [0]
/// ```
fn exchanged_test(reference: &Reference, placed: &Placed, meaning: &Meaning<'_>) -> Option<String> {
    reference.tests.iter().find_map(|(path, names)| {
        let name = names.first()?;
        let wanted = meaning.in_file(path, name)?;
        let found = placed.names.last(name)?;
        (!same(found, &wanted))
            .then(|| format!("`{name}` is not the one that `{path}` has in the original"))
    })
}

/// Returns true if the command runs a file of the tests.
fn runs_tests(spec: &VerifySpec<'_>) -> bool {
    let command = spec.original.command;
    let is_test = |path: &str| spec.internal.support.contains(path);
    let is_runner = command.is_pytest()
        || matches!(command.program(), tools::CommandProgram::Module(name) if name == "unittest");
    is_runner
        && (spec.reference.tests.iter().any(|(path, _)| is_test(path))
            || command.tests().iter().any(|test| is_test(&test.path))
            || spec
                .internal
                .named
                .iter()
                .any(|name| spec.internal.modules.get(name).is_some_and(|path| is_test(path))))
}
