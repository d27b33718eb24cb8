//! The functions of test support beside a gist's: their lines are watched as those of the tests are, so that no
//! test is helped by others, or goes on where a helper would have failed.

use std::collections::{BTreeMap, BTreeSet};

use tools::WitnessedCase;

use crate::{
    blocks::{Line, Outline, Role},
    codebase::{CodeFile, Codebase},
    integrity::{Finding, Originals, Places, Rule, answers},
    pruning::{Guards, Pairing, Pairs, Tree, is_guard, is_hook, is_told, was_hit},
    scorers::{Executed, within},
    support::under_original_names,
};

/// A function of the original's test support that ran, and those of a gist that are it.
struct Helper<'a> {
    path: &'a str,
    block: &'a str,
    /// Its line among those of its file.
    at: usize,
    own: Vec<Pairs>,
}

/// All of them.
pub struct Helpers<'a> {
    /// The gist's path below the directory of a run.
    gist: &'a str,
    text: &'a str,
    outline: &'a Outline,
    trees: BTreeMap<&'a str, Tree<'a>>,
    executed: &'a Executed,
    found: Vec<Helper<'a>>,
    /// Methods of the package that decide what tests find, in the same way.
    deciding: Vec<Helper<'a>>,
}

/// Spans of the original's functions of test support that ran, the tests aside: by file.
pub fn spans(
    files: &BTreeSet<String>,
    codebase: &Codebase,
    executed: &Executed,
    tests: &[String],
) -> Vec<(String, Vec<(u32, u32)>)> {
    let spans = |(path, tree): (&str, Tree<'_>)| {
        let all = functions(&tree, executed.lines(path), tests);
        (path.to_owned(), all.iter().map(|at| tree.line(*at).reach).collect())
    };
    trees(files, codebase).into_iter().map(spans).collect()
}

fn trees<'a>(files: &BTreeSet<String>, codebase: &'a Codebase) -> BTreeMap<&'a str, Tree<'a>> {
    let all = codebase.files().iter().filter(|file| files.contains(&file.path));
    all.map(|file| (file.path.as_str(), Tree::of(&file.outline))).collect()
}

/// Whether a function's last name is one of a method that [decides](graph::decides).
fn decides(block: &str) -> bool {
    graph::decides(block.rsplit('.').next().unwrap_or(block))
}

/// The functions that did more than to be defined.
fn functions(tree: &Tree<'_>, hits: &[u32], tests: &[String]) -> Vec<usize> {
    let ran = |at: &usize| {
        let line = tree.line(*at);
        let is_inside = |hit: &u32| line.last < *hit && *hit <= line.reach.1;
        !is_hook(&line.block) && !within(&line.block, tests) && hits.iter().any(is_inside)
    };
    tree.functions().filter(ran).collect()
}

impl<'a> Helpers<'a> {
    /// Finds them in a gist's text; those of the original stand in these files.
    pub fn of(
        (gist, text, outline): (&'a str, &'a str, &'a Outline),
        files: &BTreeSet<String>,
        originals: &Originals<'_>,
        (codebase, executed): (&'a Codebase, &'a Executed),
        tests: &[String],
    ) -> Self {
        let mut trees = trees(files, codebase);
        let plain = under_original_names(text, files, originals, Places::Names);
        let plain = if plain.lines.len() == outline.lines.len() { &plain } else { outline };
        let own = Tree::of(plain);
        // What looks like an alias may be the original's.
        let written = Tree::of(outline);
        let mut found = Vec::new();
        for (path, tree) in &trees {
            let hits = executed.lines(path);
            let ran = |line: &Line| was_hit(hits, line);
            for at in functions(tree, hits, tests) {
                let block = &tree.line(at).block;
                let same = own.functions().filter(|own_at| own.line(*own_at).block == *block);
                let pairs = |own_at| {
                    Pairing::of((&own, own_at), (tree, at), &ran)
                        .or_else(|| Pairing::of((&written, own_at), (tree, at), &ran))
                };
                let own = same.filter_map(pairs);
                found.push(Helper { path, block, at, own: own.collect() });
            }
        }
        let mut deciding = Vec::new();
        let ran = |file: &&CodeFile| executed.ran(&file.path);
        for file in codebase.files().iter().filter(ran).filter(|file| !files.contains(&file.path)) {
            if !file.outline.functions.iter().any(|name| decides(name)) {
                continue;
            }
            let path = file.path.as_str();
            let tree = trees.entry(path).or_insert_with(|| Tree::of(&file.outline));
            let hits = executed.lines(path);
            let ran = |line: &Line| was_hit(hits, line);
            for at in functions(tree, hits, tests) {
                let block = &tree.line(at).block;
                if decides(block) {
                    let same = own.functions().filter(|own_at| own.line(*own_at).block == *block);
                    let same =
                        same.filter_map(|own_at| Pairing::of((&own, own_at), (tree, at), &ran));
                    deciding.push(Helper { path, block, at, own: same.collect() });
                }
            }
        }
        Self { gist, text, outline, trees, executed, found, deciding }
    }

    /// Methods of a gist that run and decide otherwise than the original's: something that ran is left out of them.
    /// The gist's executed lines are given.
    pub fn weakened(&self, hits: &[u32]) -> Vec<Finding> {
        let own = Tree::of(self.outline);
        let known: BTreeSet<&str> = self.deciding.iter().map(|helper| helper.block).collect();
        let same: BTreeSet<usize> = self
            .deciding
            .iter()
            .flat_map(|helper| helper.own.iter().filter_map(|own| Some(own.first()?.0)))
            .collect();
        let heads = own.functions().map(|at| (at, own.line(at)));
        heads
            .filter(|(at, line)| known.contains(&*line.block) && !same.contains(at))
            .filter(|(_, line)| is_entered(line, hits))
            .map(|(_, line)| Finding {
                rule: Rule::Tampering,
                line: line.first,
                evidence: format!("{} does not do what ran of it", line.block),
            })
            .collect()
    }

    /// The gist with guards where the helpers are left out in part.
    pub fn guarded(&self) -> String {
        let own = Tree::of(self.outline);
        let mut guards = Guards::of(self.text);
        for helper in self.found.iter().chain(&self.deciding) {
            let hits = self.executed.lines(helper.path);
            let ran = |line: &Line| was_hit(hits, line);
            for pairs in &helper.own {
                guards.add(&own, &self.trees[helper.path], pairs, &ran);
            }
        }
        guards.done()
    }

    /// What is watched of the gist.
    pub fn spans(&self) -> Vec<(String, Vec<(u32, u32)>)> {
        let heads = self.found.iter().flat_map(|helper| &helper.own).filter_map(|own| own.first());
        let spans = heads.map(|(at, _)| self.outline.lines[*at].reach).collect();
        vec![(self.gist.to_owned(), spans)]
    }

    /// The first thing that helpers do in all runs of an original's case and not in the gist's, or the other way
    /// round.
    pub fn difference(&self, told: &[&WitnessedCase], found: &WitnessedCase) -> Option<String> {
        let mut missing = self.found.iter().filter(|helper| helper.own.is_empty());
        let helps = |helper: &&Helper<'_>| told.iter().all(|case| self.helps(helper, case));
        if let Some(helper) = missing.find(helps) {
            return Some(format!("{} of {} helps it no more", helper.block, helper.path));
        }
        // One line of a gist may be that of several files, and one of the original's may stand there twice.
        let mut same: Vec<Same<'_>> = Vec::new();
        let is_held = |helper: &Helper<'_>| told.iter().all(|case| self.is_held(helper, case));
        let all = self.found.iter().map(|helper| (helper, is_held(helper)));
        for (helper, is_held) in all {
            for &(own, at) in helper.own.iter().flatten() {
                // What the package calls back checks something at least as long as it does.
                if !is_held && !checks(self.trees[helper.path].line(at)) {
                    continue;
                }
                let original = (helper.path, at);
                let is_same = |same: &&mut Same<'_>| {
                    same.own.contains(&own) || same.originals.contains(&original)
                };
                match same.iter_mut().find(is_same) {
                    Some(known) => {
                        known.own.insert(own);
                        known.originals.insert(original);
                        known.is_held &= is_held;
                    }
                    None => same.push(Same {
                        own: BTreeSet::from([own]),
                        originals: BTreeSet::from([original]),
                        is_held,
                    }),
                }
            }
        }
        let (theirs, ours) =
            (told.iter().map(|case| Hits::of(case)).collect::<Vec<_>>(), Hits::of(found));
        same.iter().find_map(|same| {
            let line = |&(path, at): &(&str, usize)| self.trees[path].line(at);
            let first = same.originals.first()?;
            let shares = |at: &usize| shares_its_place(self.outline, *at);
            if !is_told(line(first)) || same.own.iter().any(shares) {
                return None;
            }
            let ran =
                |hits: &Hits<'_>| same.originals.iter().any(|at| hits.ran(at.0, line(at).reach));
            let expected = theirs.first().is_some_and(ran);
            if theirs.iter().any(|hits| ran(hits) != expected) {
                return None;
            }
            let did = same.own.iter().any(|at| ours.ran(self.gist, self.outline.lines[*at].reach));
            if did && !same.is_held {
                return None;
            }
            let how = if did { "does" } else { "does not do" };
            (did != expected).then(|| {
                let line = line(first);
                format!("{} of {} {how}: {}", line.block, first.0, line.text)
            })
        })
    }

    /// Methods that answer for numbers or comparisons where the original never asks them; the gist's executed lines
    /// are given.
    pub fn asked_anew(&self, codebase: &Codebase, hits: &[u32]) -> Vec<Finding> {
        let is_new = |line: &&Line| {
            let mut places = codebase.places(line).peekable();
            let ran =
                |place| is_entered(codebase.line(place), self.executed.lines(codebase.path(place)));
            line.role == Role::Definition
                && answers(line.block.rsplit('.').next().unwrap_or_default())
                && line.block.contains('.')
                && is_entered(line, hits)
                && places.peek().is_some()
                && !places.any(ran)
        };
        let finding = |line: &Line| Finding {
            rule: Rule::Tampering,
            line: line.first,
            evidence: format!("{} answers where the original never asks it", line.block),
        };
        self.outline.lines.iter().filter(is_new).map(finding).collect()
    }

    /// The first thing that the original did and that does not run in the gist, whose executed lines are given.
    pub fn idle(&self, hits: &[u32]) -> Option<String> {
        self.found.iter().find_map(|helper| {
            let tree = &self.trees[helper.path];
            let original = self.executed.lines(helper.path);
            // What makes classes and objects has nothing to do where those that it made are not there.
            let is_implied = helper.block.ends_with("__") && helper.block.contains(".__");
            let entered = |own: &Pairs| {
                own.first().is_some_and(|(at, _)| is_entered(&self.outline.lines[*at], hits))
            };
            if is_implied && !helper.own.iter().any(entered) {
                return None;
            }
            let is_idle = |&&(own, at): &&(usize, usize)| {
                let line = tree.line(at);
                let counts = is_told(line) && was_hit(original, line);
                let shares = shares_its_place(self.outline, own);
                counts && !shares && !was_hit(hits, &self.outline.lines[own])
            };
            // Of several that are it any may have run.
            let mut at = helper.at;
            for own in &helper.own {
                at = own.iter().find(is_idle)?.1;
            }
            let line = tree.line(at);
            Some(format!("{} of {} does not do: {}", helper.block, helper.path, line.text))
        })
    }

    /// Whether a function is called in a case by tests and what helps them, or before and after it.
    fn helps(&self, helper: &Helper<'_>, case: &WitnessedCase) -> bool {
        let line = self.trees[helper.path].line(helper.at);
        let all = case.lines.iter().chain(&case.around);
        let mut lines = all.filter(|(path, _)| path == helper.path);
        let runs = lines.any(|(_, hit)| line.last < *hit && *hit <= line.reach.1);
        runs && self.is_held(helper, case)
    }

    /// Whether the package calls nothing of a function back: a gist may leave out of that what changes nothing. Nor
    /// may it be called for modules alone that a test imports: a gist does that when it is loaded itself.
    fn is_held(&self, helper: &Helper<'_>, case: &WitnessedCase) -> bool {
        let reach = self.trees[helper.path].line(helper.at).reach;
        let is = |what: &str| {
            case.values.iter().any(|(kind, path, line)| {
                kind == what && path == helper.path && (reach.0..=reach.1).contains(line)
            })
        };
        !is("called back") && (is("called") || !is("called at load"))
    }
}

/// Lines of a gist, and those of the original that they are: numbers among those of their files.
struct Same<'a> {
    own: BTreeSet<usize>,
    originals: BTreeSet<(&'a str, usize)>,
    /// Whether the package calls none of them back.
    is_held: bool,
}

/// Lines that a case executed, by file.
struct Hits<'a>(BTreeMap<&'a str, BTreeSet<u32>>);

impl<'a> Hits<'a> {
    fn of(case: &'a WitnessedCase) -> Self {
        let mut hits: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for (path, line) in case.lines.iter().chain(&case.around) {
            hits.entry(path).or_default().insert(*line);
        }
        Self(hits)
    }

    fn ran(&self, path: &str, reach: (u32, u32)) -> bool {
        self.0.get(path).is_some_and(|hits| hits.range(reach.0..=reach.1).next().is_some())
    }
}

/// Whether a function that begins with a line did more than to be defined.
fn is_entered(line: &Line, hits: &[u32]) -> bool {
    let head = line.last.min(line.reach.1.saturating_sub(1));
    hits.iter().any(|hit| head < *hit && *hit <= line.reach.1)
}

/// Whether a line fails where something is not as it should be.
fn checks(line: &Line) -> bool {
    line.text.starts_with("assert ")
}

/// Whether a line of the gist stands on one with others, so that nobody tells which of them ran.
fn shares_its_place(outline: &Outline, at: usize) -> bool {
    let (line, others) = (&outline.lines[at], &outline.lines);
    let near = others[at.saturating_sub(4)..(at + 5).min(others.len())].iter().enumerate();
    let from = at.saturating_sub(4);
    near.filter(|(number, _)| from + number != at)
        .any(|(_, other)| !is_guard(other) && other.first <= line.last && line.first <= other.last)
}
