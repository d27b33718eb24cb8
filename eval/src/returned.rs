//! Names that definitions of the tests get back: in a gist, which has one namespace, a definition of the package may
//! have them in between.

use std::ops::Range;

use crate::{
    blocks::{Class, Line, Role},
    codebase::CodeFile,
    kept::words,
    renamed::Renamed,
    scorers::within,
    support::{Support, definitions},
};

/// Whether a definition of the tests, none that the command names, gets back its name, which some of the package had in
/// between: `name = other`, where `other = name` stands behind the one and before the others, and no other line but such
/// says `other`. What is left of the definition may be all that one of the package says, too.
pub fn is_given_back(
    (support, renamed): (&Support<'_>, &Renamed<'_>),
    (at, name): (usize, &str),
    other: &str,
) -> bool {
    let lines = &support.gist.lines;
    let says = |line: &Line, left: &str, right: &str| {
        let sides = support.text[line.range.0..line.range.1].split_once('=');
        line.block.is_empty()
            && sides.is_some_and(|(to, from)| (to.trim(), from.trim()) == (left, right))
    };
    let gives_back = |line: &Line| says(line, name, other);
    let defines = |line: &Line| line.role == Role::Definition && line.block == name;
    let rebinds =
        |line: &Line| line.block.is_empty() && line.binds.iter().any(|bound| bound == name);
    let copied = lines[..at].iter().rposition(|line| says(line, other, name));
    let defined = copied.and_then(|copied| lines[..copied].iter().rposition(defines));
    let (Some(copied), Some(defined)) = (copied, defined) else { return false };
    let is_test = |file: &&CodeFile| support.files.contains(&file.path);
    let block = [name.to_owned()];
    let own = |range: Range<usize>| -> Vec<(usize, &Line)> {
        range.map(|at| (at, &lines[at])).filter(|(_, line)| within(&line.block, &block)).collect()
    };
    let before = homes(support, renamed, &own(defined..copied));
    let between = own(copied..at);
    let are_packages = definitions(name, &between).into_iter().all(|one| {
        let homes = homes(support, renamed, one);
        !homes.is_empty() && !homes.iter().any(is_test)
    });
    let said = 1 + lines.iter().filter(|line| gives_back(line)).count();
    !support.names(name)
        && words(support.text).filter(|(word, _)| *word == other).count() == said
        && !lines[defined + 1..at].iter().any(|line| rebinds(line) && !gives_back(line))
        && before.iter().any(is_test)
        && are_packages
}

/// The files that ran and have all of what lines of a block say, under whichever names.
fn homes<'a>(
    support: &Support<'a>,
    renamed: &Renamed<'_>,
    lines: &[(usize, &Line)],
) -> Vec<&'a CodeFile> {
    let own: Vec<_> = lines.iter().filter(|(_, line)| line.class != Class::Potential).collect();
    let has_all = |file: &&CodeFile| {
        let has = |(at, line): &(usize, &Line)| {
            file.outline.has(line) || renamed.line(*at).is_some_and(|line| file.outline.has(line))
        };
        support.executed.ran(&file.path) && own.iter().all(|one| has(one))
    };
    support.codebase.files().iter().filter(|_| !own.is_empty()).filter(has_all).collect()
}
