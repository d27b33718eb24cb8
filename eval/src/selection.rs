//! Finds the test functions that a command executes, in the sources of the original, from the
//! collected ids.
//!
//! Nothing here executes code, and no gist is read.

use tools::{Command, Internal, TestId};

use crate::{
    codebase::Codebase,
    inject::{ForbiddenImport, TestFunction, find_test},
    reference::Reference,
};

/// Returns the test functions that a command executes, and the ids (`path::name`) that no function of the source defines.
pub fn tests(
    command: &Command,
    reference: &Reference,
    codebase: &Codebase,
    internal: &Internal,
) -> (Vec<TestFunction>, Vec<String>) {
    let mut wanted: Vec<(String, Vec<String>)> = reference.tests.clone();
    if !command.is_pytest() {
        for TestId { path, names, .. } in command.tests() {
            let Some(file) = codebase.file(&path) else { continue };
            // `python -m unittest` may name a class or a whole module.
            let functions = file.outline.functions.iter().filter(|function| {
                let parts: Vec<&str> = function.split('.').collect();
                parts.starts_with(&names.iter().map(String::as_str).collect::<Vec<_>>())
                    && parts.len() == 2
                    && parts[1].starts_with("test")
            });
            let unittest = matches!(command.program(), tools::CommandProgram::Module(name) if name == "unittest");
            if unittest {
                wanted.extend(functions.map(|function| {
                    (path.clone(), function.split('.').map(str::to_owned).collect())
                }));
            }
        }
    }
    let is_internal = |import: ForbiddenImport<'_>| match import {
        ForbiddenImport::Relative => true,
        ForbiddenImport::Absolute(name) => internal.is_internal(name),
    };
    let mut tests: Vec<TestFunction> = Vec::new();
    let mut unknown = Vec::new();
    for (path, names) in wanted {
        let Some(own) = codebase.file(&path) else {
            unknown.push(format!("{path}::{}", names.join("::")));
            continue;
        };
        let own = [(own.path.as_str(), own.text.as_str())];
        let found = find_test(&own, &names, &reference.failed, &is_internal).or_else(|| {
            let others = codebase
                .files()
                .iter()
                .filter(|file| internal.removed.contains(&file.path) && file.path != path)
                .filter(|file| reference.trace.file(&file.path).is_some());
            let others = others.map(|file| (file.path.as_str(), file.text.as_str()));
            let all: Vec<(&str, &str)> = own.into_iter().chain(others).collect();
            find_test(&all, &names, &reference.failed, &is_internal)
        });
        match found {
            Some(test) if tests.iter().any(|known| known.block == test.block) => {}
            Some(test) => tests.push(test),
            None => unknown.push(format!("{path}::{}", names.join("::"))),
        }
    }
    (tests, unknown)
}

/// Blocks of the tests whose every case is skipped or expected to fail. A test that a class inherits is
/// told by its name alone.
pub fn skipped(reference: &Reference, blocks: &[String]) -> Vec<String> {
    let cases: Vec<(String, bool)> = reference
        .expected
        .cases
        .iter()
        .map(|(id, phases)| {
            let names = TestId::parse(id).names.join(".");
            (names, phases.iter().any(|phase| phase.outcome == "skipped"))
        })
        .collect();
    let is_skipped = |block: &&String| {
        let exact = cases.iter().any(|(names, _)| names == *block);
        let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
        let mut own = cases
            .iter()
            .filter(|(names, _)| if exact { names == *block } else { last(names) == last(block) })
            .peekable();
        own.peek().is_some() && own.all(|(_, skipped)| *skipped)
    };
    blocks.iter().filter(is_skipped).cloned().collect()
}
