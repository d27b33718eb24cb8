//! What tests find by their names while they run, the original's beside a gist's.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Expr, Stmt};
use tools::{Internal, Testimony};

use crate::{
    account::Gist,
    blocks::Role,
    codebase::{CodeFile, Codebase},
};

/// What a module is called that is the repository's, or that a gist made.
const OWN_MODULE: &str = "own module";

/// How functions are called that the repository made from a text.
const MADE: &str = "made ";

/// What a test finds by a name: key, what it is, path, line.
type Found = (String, String, String, u32);

/// Names that a test finds only in the gist, and that stand before what it would find: built-in ones, parts of its
/// class, fixtures of the gist's own.
pub fn slipped_in<'a>(told: &[Found], found: &'a [Found], gist: &Gist<'_>) -> Vec<&'a str> {
    let is_new = |key: &str| told.iter().all(|(other, ..)| other != key);
    let counts = |(key, _, path, line): &&Found| {
        let own = !path.is_empty() && gist.invents(path, *line);
        let named = |prefix: &str| key.starts_with(prefix);
        named("shadow ") || named("part ") || own && (key.contains('.') || named("fixture "))
    };
    let rows = found.iter().filter(|row| is_new(&row.0)).filter(counts);
    rows.map(|(key, ..)| key.as_str()).collect()
}

/// Names under which a test finds other support than on the original, in each of whose runs it is the same.
pub fn exchanged<'a>(
    told: &'a [Found],
    again: Option<&[Found]>,
    found: &[Found],
    gist: &Gist<'_>,
) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (key, what, path, first) in told {
        let same = |(_, kind, place, line): &&Found| match what.as_str() {
            // One of the gist's own lines, that stands in the original, and there.
            "function" => {
                let is_own = !place.is_empty() && !gist.invents(place, *line);
                kind == what && is_own && gist.stands_for(place, *line, path, *first)
            }
            _ => kind == what,
        };
        let candidates: Vec<&Found> = found.iter().filter(|(other, ..)| other == key).collect();
        // What is no function or class of the tests is compared where it is a plain value.
        let stays = again.map_or(!may_vary(what), |again| {
            again.iter().filter(|(other, ..)| other == key).all(|(_, other, ..)| other == what)
        });
        let is_of_run = key.starts_with("__") || what.contains("<run>");
        let plain = !is_definition(what) && stays && !is_of_run;
        let counts = constant(key).is_none() && what != "object" && (!path.is_empty() || plain);
        let only = told.iter().filter(|(other, ..)| other == key).count() == 1;
        if counts && only && !candidates.iter().all(same) && !names.contains(&key.as_str()) {
            names.push(key.as_str());
        }
    }
    names
}

/// Whether a plain value may be a time, or the number of a process or a port: those differ between runs.
fn may_vary(text: &str) -> bool {
    let long = |part: &str| part.len() >= 5;
    text.contains('.') || text.split(|c: char| !c.is_ascii_digit()).any(long)
}

pub fn is_definition(what: &str) -> bool {
    what == "function" || what.starts_with("class ")
}

/// Leaves of what cases find by their names what belongs to the tests, and of the data that was opened what others
/// opened.
pub fn keep_support(testimony: &mut Testimony, internal: &Internal, codebase: &Codebase) {
    let is_ours = |what: &str| is_definition(what) || what == OWN_MODULE || what.starts_with(MADE);
    let files = codebase.files().iter().filter(|file| internal.support.contains(&file.path));
    let constants = constants(&files.collect::<Vec<_>>());
    testimony
        .events
        .retain(|event| event.kind != "data" || !internal.support.contains(&event.path));
    for case in &mut testimony.cases {
        case.used.retain(|(key, what, path, _)| match constant(key) {
            Some((name, _)) => constants.contains(name),
            None => !is_ours(what) || internal.support.contains(path),
        });
    }
}

/// A constant of a file that helps the tests, and the function that asks for it.
fn constant(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix("constant ")?.split_once(" in ")
}

/// Constants of helpers that have another value in the gist. A name that the original does not have stands for
/// one of those that it has there.
pub fn rebound<'a>(told: &[Found], found: &'a [Found], gist: &Gist<'_>) -> Vec<&'a str> {
    let mut values: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for (key, what, ..) in told {
        if let Some((name, function)) = constant(key) {
            values.entry(function).or_default().entry(name).or_default().insert(what);
        }
    }
    let is_other = |(key, what, ..): &&Found| {
        let Some((name, function)) = constant(key) else { return false };
        let Some(known) = values.get(function) else { return false };
        match known.get(name) {
            Some(values) => !values.contains(what.as_str()),
            None => {
                let is_one = known.values().any(|values| values.contains(what.as_str()));
                !is_one && !gist.is_named(name)
            }
        }
    };
    found.iter().filter(is_other).map(|(key, ..)| key.as_str()).collect()
}

/// Names that files give a literal at their top level, once, and never another value.
fn constants(files: &[&CodeFile]) -> BTreeSet<String> {
    let mut given: BTreeMap<&str, u32> = BTreeMap::new();
    let mut others: BTreeSet<&str> = BTreeSet::new();
    for file in files {
        let mut own: BTreeMap<&str, u32> = BTreeMap::new();
        for line in &file.outline.lines {
            if line.block.is_empty() && line.role == Role::Simple {
                let text = &file.text[line.range.0..line.range.1];
                let is_plain = is_literal(text);
                for name in &line.binds {
                    *own.entry(name).or_default() += 1;
                    others.extend((!is_plain).then_some(name.as_str()));
                }
            } else if line.block.is_empty() && line.role == Role::Import {
                others.extend(line.binds.iter().map(String::as_str));
            } else if let Some(names) = line.text.strip_prefix("global ") {
                others.extend(names.split(',').map(str::trim));
            }
        }
        others.extend(own.iter().filter(|(_, times)| **times > 1).map(|(name, _)| *name));
        own.keys().for_each(|name| *given.entry(name).or_default() += 1);
    }
    let names = given.into_keys().filter(|name| !others.contains(name));
    names.map(str::to_owned).collect()
}

/// Whether a statement gives a number, a text, a truth or nothing.
fn is_literal(text: &str) -> bool {
    let Ok(parsed) = ruff_python_parser::parse_module(text) else { return false };
    let value = match parsed.suite().as_slice() {
        [Stmt::Assign(node)] => &node.value,
        [Stmt::AnnAssign(node)] => match &node.value {
            Some(value) => value,
            None => return false,
        },
        _ => return false,
    };
    let value = match value.as_ref() {
        Expr::UnaryOp(node) => &node.operand,
        _ => value,
    };
    value.is_literal_expr()
}
