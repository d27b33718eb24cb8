//! What ran of the files of the tests beside the bodies of their functions, and what a gist may not lack of it:
//! decorators of what it keeps, marks, parts of classes that tests ask for, methods that are called where classes
//! and objects are made, and the last value of a name.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    blocks::{Class, Line, Outline, Role},
    codebase::CodeFile,
    integrity::{Finding, Rule},
    key::Key,
    pruning::was_hit,
    scorers::within,
    support::Support,
};

/// What a gist lacks of it; `plain` is the gist under the original's names, `files` are those of the tests that
/// ran.
pub fn lost(support: &Support<'_>, files: &[&CodeFile], plain: &Outline) -> Vec<Finding> {
    let gist = support.gist;
    let plain = if plain.lines.len() == gist.lines.len() { plain } else { gist };
    let own = Kept { gist, plain };
    let mut findings = undecorated(support, files, &own);
    let asked = asked(support, files);
    for file in files {
        let holds_tests = |file: &CodeFile| {
            let is_test =
                |line: &Line| line.role == Role::Definition && support.tests.contains(&line.block);
            file.outline.lines.iter().any(is_test)
        };
        // Of several files with tests a gist has one mark at most.
        let mut others = files.iter().filter(|other| other.path != file.path);
        let is_marked = holds_tests(file) && !others.any(|other| holds_tests(other));
        for line in missing(support, file, &own, &asked) {
            let is_mark = line.block.is_empty() && line.binds.iter().any(|name| name == MARKS);
            if is_mark && !is_marked {
                continue;
            }
            let place = if line.block.is_empty() { &file.path } else { &line.block };
            findings.push(Finding {
                rule: Rule::ChangedSupport,
                line: 0,
                evidence: format!("{place} lost what ran: {}", line.text),
            });
        }
    }
    findings
}

/// What pytest asks modules and classes for.
const MARKS: &str = "pytestmark";

/// The lines of a gist, as they stand and under the original's names.
struct Kept<'a> {
    gist: &'a Outline,
    plain: &'a Outline,
}

impl Kept<'_> {
    fn has(&self, line: &Line) -> bool {
        self.gist.has(line) || self.plain.has(line)
    }

    fn defines(&self, block: &str) -> bool {
        self.gist.lines.iter().any(|line| line.role == Role::Definition && line.block == block)
    }

    fn binds(&self, name: &String) -> bool {
        let binds = |line: &Line| line.block.is_empty() && line.binds.contains(name);
        self.plain.lines.iter().any(|line| line.role == Role::Simple && binds(line))
    }
}

/// The keys of the decorators before a definition.
fn decorators(outline: &Outline, at: usize) -> Vec<Key> {
    let before = outline.lines[..at].iter().rev();
    let block = &outline.lines[at].block;
    let own = before.take_while(|line| line.role == Role::Decorator && line.block == *block);
    own.map(|line| line.key).collect()
}

/// Functions and classes of the tests' files that a gist has without a decorator of theirs, or with another.
fn undecorated(support: &Support<'_>, files: &[&CodeFile], own: &Kept<'_>) -> Vec<Finding> {
    let mut originals: BTreeMap<&str, Vec<Vec<Key>>> = BTreeMap::new();
    let in_tests = files.iter().map(|file| (*file, true));
    let ran = |file: &&CodeFile| support.executed.ran(&file.path);
    let others = support.codebase.files().iter().filter(ran);
    let others = others.filter(|file| !support.files.contains(&file.path));
    for (file, is_test) in in_tests.chain(others.map(|file| (file, false))) {
        for (at, line) in file.outline.lines.iter().enumerate() {
            if line.role == Role::Definition && (is_test || originals.contains_key(&*line.block)) {
                originals.entry(&line.block).or_default().push(decorators(&file.outline, at));
            }
        }
    }
    let mut findings = Vec::new();
    for (at, line) in own.gist.lines.iter().enumerate() {
        let Some(known) = originals.get(&*line.block).filter(|_| line.role == Role::Definition)
        else {
            continue;
        };
        let is_known = |outline: &Outline| known.contains(&decorators(outline, at));
        if !support.tests.contains(&line.block) && !is_known(own.gist) && !is_known(own.plain) {
            findings.push(Finding {
                rule: Rule::ChangedSupport,
                line: line.first,
                evidence: format!("{} of the tests is decorated otherwise", line.block),
            });
        }
    }
    findings
}

/// Names that the tests' files ask for in functions that ran: plain ones, and parts of objects of theirs.
struct Asked<'a> {
    names: BTreeSet<&'a str>,
    /// Behind `self`, `cls` and the like, or a class of theirs.
    parts: BTreeSet<&'a str>,
}

fn asked<'a>(support: &Support<'_>, files: &[&'a CodeFile]) -> Asked<'a> {
    let mut found = Asked { names: BTreeSet::new(), parts: BTreeSet::new() };
    let mut given: BTreeSet<&str> = BTreeSet::new();
    for file in files {
        let hits = support.executed.lines(&file.path);
        let ran = |line: &&Line| was_hit(hits, line) && !line.block.is_empty();
        for line in file.outline.lines.iter().filter(ran) {
            let text = &file.text[line.range.0..line.range.1];
            let is_class =
                |word: &str| word.starts_with(char::is_uppercase) || matches!(word, "self" | "cls");
            let mut before = "";
            for (word, dotted) in words(text) {
                if !dotted {
                    found.names.insert(word);
                } else if is_class(before) {
                    found.parts.insert(word);
                }
                before = word;
            }
            // What an object is given itself it need not ask its class for.
            if let Some((target, _)) = text.split_once(" = ")
                && let Some(name) = target.strip_prefix("self.")
            {
                given.insert(name);
            }
        }
    }
    found.parts.retain(|name| !given.contains(name));
    found
}

/// The words of a text, each with whether a dot is before it.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        let from = rest.find(is_word)?;
        let dotted = rest[..from].ends_with('.');
        let end = rest[from..].find(|c| !is_word(c)).map_or(rest.len(), |end| from + end);
        let word = &rest[from..end];
        rest = &rest[end..];
        Some((word, dotted))
    })
}

/// Whether a class of a file is the one that the command or what a gist has of the tests means by its name: it has tests
/// of the command, or lines that ran say the name where no other class has it.
fn is_wanted(support: &Support<'_>, file: &CodeFile, class: &str, own: &Kept<'_>) -> bool {
    let (top, _) = class.split_once('.').unwrap_or((class, ""));
    let is_in = |block: &str| block.strip_prefix(top).is_some_and(|rest| rest.starts_with('.'));
    let is_test = |(path, test): &(String, String)| is_in(test) && *path == file.path;
    let says = |other: &CodeFile| {
        let hits = support.executed.lines(&other.path);
        other.outline.lines.iter().any(|line| {
            let text = &other.text[line.range.0..line.range.1];
            let is_own = line.role == Role::Import || line.block == top || is_in(&line.block);
            let is_said = || words(text).any(|word| word == (top, false));
            !is_own && was_hit(hits, line) && is_said() && own.has(line)
        })
    };
    let defines = |other: &CodeFile| {
        let is_class = |line: &Line| line.role == Role::Definition && line.block == top;
        other.path != file.path && other.outline.lines.iter().any(is_class)
    };
    let files = support.codebase.files().iter();
    let mut files = files.filter(|other| support.files.contains(&other.path) && !defines(other));
    support.named.contains(&(file.path.clone(), top.to_owned()))
        || support.places.iter().any(is_test)
        || files.any(says)
}

/// Whether what a gist has under the name of a class is that of another file that ran: all of it stands there, and not
/// all of it here.
fn is_of_another(support: &Support<'_>, file: &CodeFile, class: &str, own: &Kept<'_>) -> bool {
    let class = [class.to_owned()];
    let pairs = own.gist.lines.iter().zip(&own.plain.lines);
    let pairs: Vec<(&Line, &Line)> = pairs
        .filter(|(line, _)| within(&line.block, &class) && line.class != Class::Potential)
        .collect();
    let fits = |file: &CodeFile| {
        pairs.iter().all(|(line, plain)| file.outline.has(line) || file.outline.has(plain))
    };
    let mut others = support.codebase.files().iter().filter(|other| other.path != file.path);
    !fits(file) && others.any(|one| support.executed.ran(&one.path) && fits(one))
}

/// Lines of a file that ran and that a gist lacks, though it has what they are about.
fn missing<'a>(
    support: &Support<'_>,
    file: &'a CodeFile,
    own: &Kept<'_>,
    asked: &Asked<'_>,
) -> Vec<&'a Line> {
    let hits = support.executed.lines(&file.path);
    let ran = |line: &&Line| {
        line.role == Role::Simple && line.class == Class::Executable && was_hit(hits, line)
    };
    let classes: BTreeSet<&str> = file
        .outline
        .lines
        .iter()
        .filter(|line| {
            line.role == Role::Definition && !file.outline.functions.contains(&line.block)
        })
        .map(|line| line.block.as_str())
        .collect();
    // Methods that nobody calls by name, but where classes and objects are made.
    let is_lost = |line: &&Line| {
        let is_inside = |hit: &u32| line.last < *hit && *hit <= line.reach.1;
        line.block.rsplit_once('.').is_some_and(|(class, name)| {
            let is_implied = name.starts_with("__") && name.ends_with("__");
            is_implied && classes.contains(class) && own.defines(class) && !own.defines(&line.block)
        }) && line.role == Role::Definition
            && hits.iter().any(is_inside)
    };
    let mut found: Vec<&Line> = file.outline.lines.iter().filter(is_lost).collect();
    let mut last: BTreeMap<&String, (usize, &Line)> = BTreeMap::new();
    for line in file.outline.lines.iter().filter(ran) {
        if within(&line.block, support.tests) {
            continue;
        }
        if line.binds.iter().any(|name| name == MARKS) {
            let is_kept = line.block.is_empty() || own.defines(&line.block);
            found.extend((is_kept && !own.has(line)).then_some(line));
        } else if line.block.is_empty() {
            for name in &line.binds {
                let entry = last.entry(name).or_insert((0, line));
                *entry = (entry.0 + 1, line);
            }
        } else if classes.contains(&*line.block) {
            let is_asked = line.binds.iter().any(|name| asked.parts.contains(name.as_str()));
            let is_lost = is_asked
                && own.defines(&line.block)
                && !own.has(line)
                && (is_wanted(support, file, &line.block, own)
                    || !is_of_another(support, file, &line.block, own));
            found.extend(is_lost.then_some(line));
        }
    }
    let is_lost = |(name, &(times, line)): (&&String, &(usize, &'a Line))| {
        let is_asked = times > 1 && asked.names.contains(name.as_str());
        (is_asked && own.binds(name) && !own.has(line)).then_some(line)
    };
    found.extend(last.iter().filter_map(is_lost));
    found
}
