//! Whether what a gist keeps of test modules and conftests is what the original has: a weakened fixture,
//! helper or parameter table is a violation.
//!
//! Statements may go when the original run did not execute them; those kept must equal the original's. The
//! test functions themselves are none of this module's business: they are exchanged before the run.

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
};

use graph::FailedImport;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    blocks::{Class, Line, Outline, Role},
    codebase::{CodeFile, Codebase},
    failing::Failing,
    integrity::{
        Finding, Originals, Places, Rule, TestModules, gist_names, idle_hooks, imports, replaced,
        tells_home, without_aliases,
    },
    kept::lost,
    key::Key,
    pruning::{Pairing, Tree, is_hook, was_hit},
    renamed::Renamed,
    reserved::reached,
    returned::is_given_back,
    scorers::{Executed, within},
};

/// What the check looks at.
#[derive(Clone, Copy)]
pub struct Support<'a> {
    /// Text of the gist.
    pub text: &'a str,
    /// Its lines.
    pub gist: &'a Outline,
    /// The original.
    pub codebase: &'a Codebase,
    /// Paths of test modules, conftests and their helpers.
    pub files: &'a BTreeSet<String>,
    /// What the original run executed.
    pub executed: &'a Executed,
    /// Blocks of the tests that are exchanged.
    pub tests: &'a [String],
    /// The file and the block of each.
    pub places: &'a [(String, String)],
    /// Functions and classes at the top of their files that the command names, with these.
    pub named: &'a BTreeSet<(String, String)>,
    /// Imports of the original that failed.
    pub failed: &'a [FailedImport],
    /// Whether a module is the repository's own.
    pub is_internal: &'a (dyn Fn(&str) -> bool + Sync),
    /// What the original's names stand for.
    pub originals: &'a Originals<'a>,
}

impl Support<'_> {
    /// Whether the command names something so, in whichever file: a gist has one namespace.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.named.iter().any(|(_, named)| named == name)
    }

    /// The gist [under original names](under_original_names).
    pub fn under_original_names(&self, places: Places) -> Outline {
        under_original_names(self.text, self.files, self.originals, places)
    }
}

/// Statements of test support that differ from the original's.
pub fn changed_support(support: &Support<'_>) -> Vec<Finding> {
    // What never ran lends its names to nothing that did.
    let ran =
        |file: &&CodeFile| support.files.contains(&file.path) && support.executed.ran(&file.path);
    let files: Vec<&CodeFile> = support.codebase.files().iter().filter(ran).collect();
    let bound = bound_names(support, &files);
    let given = given_names(support, &files);
    let texts = files.iter().map(|file| (file.path.as_str(), file.text.as_str()));
    let mut held = given.clone();
    for name in &bound {
        held.entry(name).or_insert(false);
    }
    let modules = TestModules::of(texts, held, support.is_internal);
    let mut blocks: BTreeMap<&str, Vec<(usize, &Line)>> = BTreeMap::new();
    for (at, line) in support.gist.lines.iter().enumerate() {
        if !within(&line.block, support.tests) {
            blocks.entry(&line.block).or_default().push((at, line));
        }
    }
    let names = Renamed::of(support);
    let mut plain: Option<Outline> = None;
    let mut findings = Vec::new();
    for (block, lines) in blocks {
        let suspects = if block.is_empty() {
            top_level(support, &bound, &lines)
        } else {
            in_block(support, block, &lines, support.gist, &names)
        };
        if suspects.is_empty() {
            continue;
        }
        // A name that the gist had to change because of a collision is changed back before judging.
        let plain = plain.get_or_insert_with(|| support.under_original_names(Places::Names));
        let renamed: Vec<(usize, &Line)> =
            lines.iter().filter_map(|&(at, _)| Some((at, plain.lines.get(at)?))).collect();
        let suspects = if plain.lines.len() != support.gist.lines.len() {
            suspects
        } else if block.is_empty() {
            top_level(support, &bound, &renamed)
        } else {
            in_block(support, block, &renamed, plain, &names)
        };
        findings.extend(suspects);
    }
    findings.extend(taken(support, &given, &modules));
    let plain = plain.unwrap_or_else(|| support.under_original_names(Places::Names));
    findings.extend(lost(support, &files, &plain));
    findings.extend(by_modules(support, &modules));
    findings.extend(idle_hooks(support.gist, support.codebase, support.executed).into_iter().map(
        |line| {
            let evidence = format!("a hook that nothing called: {}", line.text);
            Finding { rule: Rule::ChangedSupport, line: line.first, evidence }
        },
    ));
    let is_known = |new: &Finding| findings.iter().any(|known: &Finding| known.line == new.line);
    let mut new = reached(support, &files, &modules);
    new.retain(|finding| !is_known(finding));
    findings.extend(new);
    findings.sort_by(|a, b| (a.line, &a.evidence).cmp(&(b.line, &b.evidence)));
    findings
}

/// Names that only test support binds at its top level, parameter tables among them.
fn bound_names<'a>(support: &Support<'a>, files: &[&'a CodeFile]) -> BTreeSet<&'a str> {
    let names = |file: &'a CodeFile| {
        let lines = file.outline.lines.iter().filter(|line| line.block.is_empty() && !line.alias);
        let lines = lines.filter(|line| line.role == Role::Simple);
        lines.flat_map(|line| line.binds.iter().map(String::as_str))
    };
    let mut bound: BTreeSet<&str> = files.iter().flat_map(|file| names(file)).collect();
    for file in support.codebase.files() {
        if !support.files.contains(&file.path) && support.executed.ran(&file.path) {
            for name in names(file) {
                bound.remove(name);
            }
        }
    }
    bound
}

/// Names that test support has from outside, or defines at its top level: nothing else may have them.
fn given_names<'a>(support: &Support<'a>, files: &[&'a CodeFile]) -> BTreeMap<&'a str, bool> {
    let mut given = BTreeMap::new();
    for line in files.iter().flat_map(|file| &file.outline.lines) {
        match line.role {
            Role::Import if line.block.is_empty() => {
                let module = line.text.split_whitespace().nth(1).unwrap_or_default();
                let module = module.trim_end_matches([',', ';']);
                if !module.starts_with('.') && !(support.is_internal)(module) {
                    given.extend(line.binds.iter().map(|name| (name.as_str(), true)));
                }
            }
            Role::Definition if !line.block.contains('.') => {
                given.entry(line.block.as_str()).or_insert(false);
            }
            _ => {}
        }
    }
    given
}

/// Lines that the original does not have and that give another thing a name of the tests'. A part of the
/// gist may have it where that is the original's, as names that collide do.
fn taken(
    support: &Support<'_>,
    given: &BTreeMap<&str, bool>,
    modules: &TestModules<'_>,
) -> Vec<Finding> {
    let codebase = support.codebase;
    let mut findings = Vec::new();
    let renamed = Renamed::of(support);
    for (at, line) in support.gist.lines.iter().enumerate() {
        let (name, is_new) = match line.role {
            Role::Definition if !line.block.contains('.') => {
                (Some(line.block.as_str()), !codebase.has_block(&line.block))
            }
            Role::Simple => {
                let given = |name: &&String| given.contains_key(name.as_str());
                let name = line.binds.iter().find(|name| given(name) && !modules.has(name));
                let at_top = line.block.is_empty() && codebase.places(line).next().is_none();
                (name.map(String::as_str), at_top)
            }
            _ => (None, false),
        };
        let Some((name, is_outside)) = name.and_then(|name| Some((name, *given.get(name)?))) else {
            continue;
        };
        if !is_new {
            continue;
        }
        let statement = &support.text[line.range.0..line.range.1];
        let value = statement.rsplit('=').next().unwrap_or_default().trim();
        let is_original = line.alias && codebase.has_block(value);
        let is_itself = line.alias && value.starts_with("sys.modules");
        // What the command names is what its file defines, not what something else was called in the end.
        let is_named = || support.names(name) && !is_defined_after(support.gist, at, name);
        let is_back = || line.alias && is_given_back((support, &renamed), (at, name), value);
        let honest = if is_outside {
            is_itself
        } else {
            is_original && !is_named() || is_itself || is_back()
        };
        if !honest {
            if renamed.stands(at) {
                continue;
            }
            findings.push(Finding {
                rule: Rule::ChangedSupport,
                line: line.first,
                evidence: format!("{name} of the tests is another thing: {}", line.text),
            });
        }
    }
    findings
}

fn is_defined_after(gist: &Outline, at: usize, name: &str) -> bool {
    gist.lines[at..].iter().any(|line| line.role == Role::Definition && line.block == name)
}

/// Lines that the original does not have and that change what tests reach by a module of theirs.
fn by_modules(support: &Support<'_>, modules: &TestModules<'_>) -> Vec<Finding> {
    let renamed = Renamed::of(support);
    let mut findings = Vec::new();
    for (at, name) in replaced(support.text, modules, support.is_internal) {
        let lines = support.gist.lines.iter().enumerate();
        let lines = lines.filter(|(_, line)| line.range.0 <= at && at < line.range.1);
        // Each name that a statement imports is a line.
        let Some((number, line)) = lines.max_by_key(|(_, line)| line.binds.contains(&name)) else {
            continue;
        };
        let stands = |line: &Line| support.codebase.places(line).next().is_some();
        if within(&line.block, support.tests) || stands(line) {
            continue;
        }
        if !renamed.stands(number) {
            findings.push(Finding {
                rule: Rule::ChangedSupport,
                line: line.first,
                evidence: format!("{name} of the tests is another thing: {}", line.text),
            });
        }
    }
    findings
}

fn top_level(
    support: &Support<'_>,
    bound: &BTreeSet<&str>,
    lines: &[(usize, &Line)],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (_, line) in lines {
        // What names plugins is looked at with the hooks.
        let is_table = |name: &&String| *name != "pytest_plugins" && bound.contains(name.as_str());
        let table = line.binds.iter().find(is_table);
        if let Some(name) = table
            && line.role == Role::Simple
            && !line.alias
            && support.codebase.places(line).next().is_none()
        {
            findings.push(Finding {
                rule: Rule::ChangedSupport,
                line: line.first,
                evidence: format!("{name} of the tests is changed: {}", line.text),
            });
        }
    }
    findings
}

fn in_block(
    support: &Support<'_>,
    block: &str,
    lines: &[(usize, &Line)],
    own: &Outline,
    renamed: &Renamed<'_>,
) -> Vec<Finding> {
    let originals = support.codebase.block(block);
    if !originals.iter().any(|(file, _)| support.files.contains(&file.path)) {
        return Vec::new();
    }
    // The block may as well be that of the package, of the same name: it has to be one of them.
    let ran = |file: &CodeFile| support.executed.ran(&file.path);
    // What ran does not give way to a namesake in a file that did not.
    let any_ran = originals.iter().any(|(file, _)| ran(file));
    let comes =
        |file: &CodeFile| if any_ran { ran(file) } else { support.files.contains(&file.path) };
    let candidates: Vec<_> = originals.iter().filter(|(file, _)| comes(file)).collect();
    if !candidates.iter().any(|(file, _)| support.files.contains(&file.path)) {
        return Vec::new();
    }
    let own = LazyCell::new(|| Tree::of(own));
    let nearest = |lines: &[(usize, &Line)]| {
        let compared = candidates.iter().map(|(file, original)| {
            let found = compare(support, file, original, lines);
            if found.is_empty() { rearranged(support, file, (block, lines), &own) } else { found }
        });
        compared.min_by_key(Vec::len).unwrap_or_default()
    };
    // What is from outside has another name where a module of the repository has its own: a definition of the package
    // is compared under the names of both.
    let is_packages = |lines: &[(usize, &Line)]| {
        let lines = lines.iter().map(|(at, _)| Some((*at, renamed.under_imports(*at)?)));
        let Some(lines) = lines.collect::<Option<Vec<_>>>() else { return false };
        let mut others = candidates.iter().filter(|(file, _)| !support.files.contains(&file.path));
        others.any(|(file, original)| compare(support, file, original, &lines).is_empty())
    };
    let findings = nearest(lines);
    if findings.is_empty() || candidates.len() < 2 {
        return findings;
    }
    // A gist may have both, one after the other.
    let each = definitions(block, lines);
    let is_nearest = |one: &[(usize, &Line)]| each.len() > 1 && nearest(one).is_empty();
    match each.iter().all(|one| is_nearest(one) || is_packages(one)) {
        true => Vec::new(),
        false => findings,
    }
}

/// A function whose statements stand in another order than the original's, or in other suites of them.
fn rearranged(
    support: &Support<'_>,
    file: &CodeFile,
    (block, lines): (&str, &[(usize, &Line)]),
    own: &Tree<'_>,
) -> Vec<Finding> {
    let heads = lines.iter().filter(|(at, _)| own.is_outer_function(*at));
    if !support.files.contains(&file.path) || is_hook(block) {
        return Vec::new();
    }
    let original = Tree::of(&file.outline);
    let hits = support.executed.lines(&file.path);
    let ran = |line: &Line| was_hit(hits, line);
    let fits = |at: usize| {
        let mut same = original.functions().filter(|from| original.line(*from).block == block);
        same.any(|from| Pairing::of((own, at), (&original, from), &ran).is_some())
    };
    let finding = |(_, line): &(usize, &Line)| Finding {
        rule: Rule::ChangedSupport,
        line: line.first,
        evidence: format!("{block} of {} does not do in its order what ran of it", file.path),
    };
    heads.filter(|(at, _)| !fits(*at)).map(finding).collect()
}

/// The lines of a block, split where it is defined anew.
pub(crate) fn definitions<'s, 'l>(
    block: &str,
    lines: &'s [(usize, &'l Line)],
) -> Vec<&'s [(usize, &'l Line)]> {
    let mut found = Vec::new();
    let mut from = 0;
    for at in 1..lines.len() {
        let (before, line) = (lines[at - 1].1, lines[at].1);
        let opens = |line: &Line| {
            matches!(line.role, Role::Definition | Role::Decorator) && line.block == block
        };
        if opens(line) && before.role != Role::Decorator {
            found.push(&lines[from..at]);
            from = at;
        }
    }
    found.push(&lines[from..]);
    found
}

/// What a gist's block has that the original's has not, and what it lacks that the original executed.
fn compare(
    support: &Support<'_>,
    file: &CodeFile,
    original: &[&Line],
    lines: &[(usize, &Line)],
) -> Vec<Finding> {
    let strict = support.files.contains(&file.path);
    let block = &original[0].block;
    let imported: BTreeSet<&str> = original
        .iter()
        .filter(|line| line.role == Role::Import)
        .flat_map(|line| line.binds.iter().map(String::as_str))
        .collect();
    let mut left: FxHashMap<Key, i64> = FxHashMap::default();
    for line in original {
        *left.entry(line.key).or_default() += 1;
    }
    let mut failing = Failing::of(support, file, original);
    let mut findings = Vec::new();
    let mut kept: FxHashMap<Key, i64> = FxHashMap::default();
    for (at, line) in lines {
        *kept.entry(line.key).or_default() += 1;
        let count = left.entry(line.key).or_default();
        *count -= 1;
        let mut is_adjusted = || {
            failing.take((*at, line), lines)
                || line.role == Role::Import
                    && (!strict || gives_same(support, line, file.imports()))
                || line.alias
                    && line.binds.iter().all(|name| imported.contains(name.as_str()))
                    && (!strict || is_another_name(support, file, line, file.imports()))
                || line.class == Class::Potential && line.role == Role::Simple
                || tells_home(line, support.codebase, support.is_internal)
        };
        if *count < 0 && !is_adjusted() {
            findings.push(Finding {
                rule: Rule::ChangedSupport,
                line: line.first,
                evidence: format!("{block} of {} has no such line: {}", file.path, line.text),
            });
        }
    }
    let function = file.outline.functions.iter().any(|name| name == block);
    if !strict || !function {
        return findings;
    }
    let hits = support.executed.lines(&file.path);
    let first = lines.first().map_or(0, |(_, line)| line.first);
    for line in original {
        let ran = hits.iter().any(|hit| (line.reach.0..=line.reach.1).contains(hit));
        let matters = line.role == Role::Simple && line.class == Class::Executable && !line.alias;
        if !ran || !matters {
            continue;
        }
        let count = kept.entry(line.key).or_default();
        *count -= 1;
        if *count < 0 {
            findings.push(Finding {
                rule: Rule::ChangedSupport,
                line: first,
                evidence: format!("{block} of {} lost an executed line: {}", file.path, line.text),
            });
        }
    }
    findings
}

/// What names stand for that a file imports.
type Imported = BTreeMap<String, FxHashSet<String>>;

/// Whether an import of a gist's helper gives names what the original's file imports by them: what is from outside
/// there and nothing else, or anything of the repository's where that is.
fn gives_same(support: &Support<'_>, line: &Line, known: &Imported) -> bool {
    let given = imports(&support.text[line.range.0..line.range.1]);
    let mut given = given.iter().filter(|(name, _)| line.binds.contains(name));
    let is_inside = |full: &String| full.starts_with('.') || (support.is_internal)(full);
    given.all(|(name, full)| {
        known.get(name).is_some_and(|known| {
            let same = |full: &String| is_inside(full) && known.iter().all(is_inside);
            full.iter().all(|full| known.contains(full) || same(full))
        })
    })
}

/// Whether a line of a gist's helper gives a name that the original imports to what that is, to a module, or to the
/// gist in the place of one.
fn is_another_name(support: &Support<'_>, file: &CodeFile, line: &Line, known: &Imported) -> bool {
    let Some((_, value)) = line.text.rsplit_once('=') else { return true };
    let value = value.trim();
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let is_same = |name: &String| {
        known.get(name).is_some_and(|full| full.iter().any(|full| last(full) == last(value)))
    };
    let is_module = |name: &String| {
        let mut full = known.get(name).into_iter().flatten().peekable();
        full.peek().is_some() && full.all(|full| support.originals.gives_module(file, full))
    };
    value.contains('(')
        || value.contains('[')
        || line.binds.iter().all(is_same)
        || support.codebase.block(value).iter().any(|(file, _)| !support.files.contains(&file.path))
        || line.binds.iter().all(is_module) && gist_names(support.text).contains(value)
}

/// The gist with every [alias](without_aliases) of its top level replaced by what it stands for, and the
/// places of the tests' files by the `__file__` that they are there.
pub fn under_original_names(
    text: &str,
    files: &BTreeSet<String>,
    originals: &Originals<'_>,
    places: Places,
) -> Outline {
    let plain = without_aliases(text, places, Some(originals));
    let is_test = |end: &str| files.iter().any(|path| format!("/{path}").ends_with(end));
    Outline::of(&without_places(&plain, is_test))
}

/// A text with `__file__` in the place of each `__file__.rsplit('/', 1)[0] + '/path'` whose path is one.
fn without_places(text: &str, is_path: impl Fn(&str) -> bool) -> String {
    const BEGIN: &str = "__file__.rsplit('/', ";
    let mut parts = text.split(BEGIN);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        let below = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let path = below.strip_prefix(")[0] + '").and_then(|rest| rest.split_once('\''));
        match path {
            Some((path, rest)) if path.starts_with('/') && is_path(path) => {
                out.extend(["__file__", rest]);
            }
            _ => out.extend([BEGIN, rest]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_tests_are_changed_back() {
        let check = |text: &str, expected: &str| {
            let is_path = |end: &str| "/tests/data/test_a.py".ends_with(end);
            assert_eq!(without_places(text, is_path), expected);
        };
        check("P = f(__file__.rsplit('/', 1)[0] + '/data/test_a.py')", "P = f(__file__)");
        check("P = __file__.rsplit('/', 12)[0] + '/tests/data/test_a.py'\n", "P = __file__\n");
        for other in [
            "P = __file__.rsplit('/', 1)[0] + '/data/other.py'",
            "P = __file__.rsplit('/', 1)[0] + 'data/test_a.py'",
            "P = __file__.rsplit('/', 1)[1] + '/data/test_a.py'",
            "P = __file__.rsplit('/', 1)[0]",
        ] {
            check(other, other);
        }
    }

    /// The findings of a gist of files, of which the first helps its tests, and lines that ran of each.
    fn found(text: &str, files: &[(&str, &str, &[u32])]) -> Vec<Finding> {
        let codebase = Codebase::of_texts(files.iter().map(|(path, text, _)| (*path, *text)));
        let ran = files.iter().map(|(path, _, ran)| ((*path).to_owned(), ran.to_vec()));
        let executed = Executed::new(ran);
        let is_internal = |_: &str| false;
        changed_support(&Support {
            text,
            gist: &Outline::of(text),
            codebase: &codebase,
            files: &BTreeSet::from([files[0].0.to_owned()]),
            executed: &executed,
            tests: &[],
            places: &[],
            named: &BTreeSet::new(),
            failed: &[],
            is_internal: &is_internal,
            originals: &Originals::new(&codebase, &executed, &is_internal),
        })
    }

    #[test]
    fn only_tests_that_ran_lend_their_names() {
        let text = "import types\nlinalg = types.ModuleType(\"pkg.linalg\")\n";
        let module = "from scipy import linalg\n\ndef test_a():\n    linalg.norm(1)\n";
        for (ran, expected) in [(&[1, 3, 4][..], 1), (&[], 0)] {
            let found = found(text, &[("tests/test_a.py", module, ran)]);
            assert_eq!(found.len(), expected, "{found:?}");
        }
    }

    #[test]
    fn a_namesake_in_a_test_that_never_ran_says_nothing_of_the_package() {
        let text = "class Kind:\n    size = 1\n    size += 1\n";
        let own = "class Kind:\n    size = 1\n";
        for (ran, fine) in [(&[][..], true), (&[1, 2], false)] {
            let files =
                [("tests/kinds.py", "class Kind:\n    x = 2\n", ran), ("pkg.py", own, &[1, 2])];
            let found = found(text, &files);
            assert_eq!(found.is_empty(), fine, "{found:?}");
        }
    }
}
