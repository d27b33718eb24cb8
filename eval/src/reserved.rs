//! The names of the tests are theirs: a line that the original does not have gives them to nothing, and does
//! nothing to what they stand for.
//!
//! Beside what tests define these are the names that they import from outside, and those of Python itself. Names
//! that files of the package have too are left out: which of the two a gist means is told when it runs.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use crate::{
    blocks::{Line, Outline, Role},
    codebase::CodeFile,
    integrity::{Finding, Mention, Rule, TestModules, Usage, imports, mentions, tells_home},
    pruning::is_guard,
    renamed::Renamed,
    returned::is_given_back,
    scorers::within,
    support::Support,
};

/// Whose a name is.
enum Owner {
    /// The tests define it.
    Tests,
    /// Tests import it from outside, under these full names.
    Outside(FxHashSet<String>),
}

/// Lines that take a name of the tests, or reach for what it stands for; `files` are those of the tests that ran.
/// What tests call modules of theirs is looked at [with those](crate::integrity::replaced).
pub fn reached(
    support: &Support<'_>,
    files: &[&CodeFile],
    modules: &TestModules<'_>,
) -> Vec<Finding> {
    let owners = owners(support, files);
    let lines = &support.gist.lines;
    let renamed = Renamed::of(support);
    let stands = |line: &Line| support.codebase.places(line).next().is_some();
    let is_invented = |at: usize| {
        !within(&lines[at].block, support.tests)
            && !is_guard(&lines[at])
            && !stands(&lines[at])
            && !renamed.stands(at)
    };
    let all: Vec<(Mention, usize)> = mentions(support.text)
        .into_iter()
        .filter_map(|mention| Some((line_of(support.gist, &mention)?, mention)))
        .map(|(at, mention)| (mention, at))
        .collect();
    let told_at = |line: &Line| tells_home(line, support.codebase, support.is_internal);
    let is_alias = |line: &Line| line.role == Role::Simple && line.alias && line.block.is_empty();
    let mut others: BTreeSet<&str> = BTreeSet::new();
    let is_theirs = |name: &str, others: &BTreeSet<&str>| {
        others.contains(name) || matches!(owners.get(name), Some(Owner::Tests))
    };
    // Other names for theirs, and others for those.
    loop {
        let known = others.len();
        for (mention, at) in &all {
            let is_asked = mention.usage == Usage::Asked && is_theirs(&mention.name, &others);
            if is_asked && is_alias(&lines[*at]) && is_invented(*at) {
                others.extend(lines[*at].binds.iter().map(String::as_str));
            }
        }
        if others.len() == known {
            break;
        }
    }
    let mut findings = Vec::new();
    for (mention, at) in &all {
        let line = &lines[*at];
        let is_one = is_theirs(&mention.name, &others);
        let is_only_named = support.tests.contains(&mention.name)
            || is_alias(line)
            || is_for_programs(support.gist, *at);
        let is_suspect = match &mention.usage {
            Usage::Asked => is_one && !is_only_named,
            _ if modules.has(&mention.name) => false,
            _ => is_one || is_taken(mention, owners.get(mention.name.as_str())),
        };
        // What names plugins is looked at with the hooks.
        if is_suspect
            && mention.name != "pytest_plugins"
            && is_invented(*at)
            && !is_fair((support, &renamed), *at, mention, &|name| is_theirs(name, &others))
            && !told_at(line)
            && !renamed.line(*at).is_some_and(told_at)
        {
            let is_asked = mention.usage == Usage::Asked;
            let what = if is_asked { "reached for" } else { "another thing" };
            findings.push(Finding {
                rule: Rule::ChangedSupport,
                line: line.first,
                evidence: format!("{} of the tests is {what}: {}", mention.name, line.text),
            });
        }
    }
    findings
}

fn owners<'a>(support: &Support<'a>, files: &[&'a CodeFile]) -> BTreeMap<&'a str, Owner> {
    let mut owners: BTreeMap<&str, Owner> = BTreeMap::new();
    let own = |file: &'a CodeFile| file.outline.lines.iter().flat_map(names_at_top);
    for file in files {
        owners.extend(own(file).map(|name| (name, Owner::Tests)));
    }
    let ran = |file: &&CodeFile| support.executed.ran(&file.path);
    let others = support.codebase.files().iter().filter(ran);
    for file in others.filter(|file| !support.files.contains(&file.path)) {
        own(file).for_each(|name| drop(owners.remove(name)));
    }
    for file in files {
        let given = file.outline.lines.iter().filter(|line| line.role == Role::Import);
        let given: Vec<&str> =
            given.flat_map(|line| line.binds.iter().map(String::as_str)).collect();
        for (name, full) in imports(&file.text) {
            let is_ours = |full: &String| full.starts_with('.') || (support.is_internal)(full);
            let Some(name) = given.iter().find(|given| **given == name) else { continue };
            if !full.iter().any(is_ours) && !matches!(owners.get(name), Some(Owner::Tests)) {
                let owner = owners.entry(name).or_insert_with(|| Owner::Outside(full.clone()));
                if let Owner::Outside(known) = owner {
                    known.extend(full);
                }
            }
        }
    }
    owners
}

/// Names that a line of the top level gives to something, imports aside.
fn names_at_top(line: &Line) -> impl Iterator<Item = &str> {
    let is_given = line.block.is_empty() && line.role == Role::Simple;
    let is_defined = line.role == Role::Definition && !line.block.contains('.');
    let given = line.binds.iter().filter(move |_| is_given).map(String::as_str);
    given.chain(Some(line.block.as_str()).filter(|_| is_defined))
}

/// The line that a mention stands on: each name that a statement imports is one.
fn line_of(outline: &Outline, mention: &Mention) -> Option<usize> {
    let is_on = |line: &Line| line.range.0 <= mention.at && mention.at < line.range.1;
    let lines = outline.lines.iter().enumerate().filter(|(_, line)| is_on(line));
    let found = lines.max_by_key(|(_, line)| {
        (line.range.0, line.role == Role::Import && line.binds.contains(&mention.name))
    });
    found.map(|(at, _)| at)
}

/// Whether a name that is not what the tests define becomes another thing.
fn is_taken(mention: &Mention, owner: Option<&Owner>) -> bool {
    let is_same = |full: &String| match owner {
        Some(Owner::Outside(known)) => known.contains(full),
        _ => full.rsplit('.').next() == Some(&mention.name),
    };
    // What is deleted gives Python's own back.
    let is_given = mention.usage != Usage::Deleted;
    let is_known = owner.is_some() || is_given && graph::is_builtin(&mention.name);
    is_known && !matches!(&mention.usage, Usage::Imported(full) if is_same(full))
}

/// Whether a line gives a name as gists do: one thing of the original under another name, or the gist as a module.
fn is_fair(
    (support, renamed): (&Support<'_>, &Renamed<'_>),
    at: usize,
    mention: &Mention,
    is_theirs: &dyn Fn(&str) -> bool,
) -> bool {
    let line = &support.gist.lines[at];
    let statement = &support.text[line.range.0..line.range.1];
    match (&mention.usage, line.role) {
        (Usage::Bound, Role::Simple) if line.alias && line.block.is_empty() => {
            let value = statement.rsplit('=').next().unwrap_or_default().trim();
            let is_original = is_theirs(value) || support.codebase.has_block(value);
            is_original && value != mention.name
                || value.starts_with("sys.modules")
                || is_given_back((support, renamed), (at, &mention.name), value)
        }
        // A module that a gist made holds what it has.
        (Usage::Asked, Role::Simple) => {
            let of_module = statement.strip_prefix("vars(").and_then(|rest| rest.split_once(')'));
            of_module.is_some_and(|(_, rest)| rest.starts_with(".update("))
        }
        // Functions and classes of the original are held to it where they are.
        (Usage::Bound, Role::Definition) => support.codebase.has_block(&line.block),
        (Usage::Imported(full), _) => {
            (full.starts_with('.') || (support.is_internal)(full))
                && full.rsplit('.').next() == Some(&mention.name)
        }
        _ => false,
    }
}

/// Whether a line runs where the gist is a program, as many end.
fn is_for_programs(outline: &Outline, at: usize) -> bool {
    let above = |&(at, _): &(usize, _)| outline.lines[at].parent;
    let mut heads = std::iter::successors(outline.lines[at].parent, above);
    heads.any(|(at, _)| outline.lines[at].text.starts_with("if __name__ =="))
}
