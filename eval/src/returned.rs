//! Names that definitions of the tests get back: in a gist, which has one namespace, a definition of the package may
//! have them in between.

use crate::{
    blocks::{Class, Line, Role},
    codebase::CodeFile,
    kept::words,
    scorers::within,
    support::Support,
};

/// Whether a definition of the tests, none that the command names, gets back its name, which one of the package had in
/// between: `name = other`, where `other = name` stands behind the one and before the other, and no other line says
/// `other`.
pub fn is_given_back(support: &Support<'_>, (at, name): (usize, &str), other: &str) -> bool {
    let lines = &support.gist.lines;
    let is_copy = |line: &Line| {
        let sides = support.text[line.range.0..line.range.1].split_once('=');
        line.block.is_empty()
            && sides.is_some_and(|(to, from)| (to.trim(), from.trim()) == (other, name))
    };
    let defines = |line: &Line| line.role == Role::Definition && line.block == name;
    let rebinds =
        |line: &Line| line.block.is_empty() && line.binds.iter().any(|bound| bound == name);
    let copied = lines[..at].iter().rposition(is_copy);
    let defined = copied.and_then(|copied| lines[..copied].iter().rposition(defines));
    let (Some(copied), Some(defined)) = (copied, defined) else { return false };
    let before = homes(support, name, &lines[defined..copied]);
    let between = homes(support, name, &lines[copied..at]);
    let is_test = |file: &&CodeFile| support.files.contains(&file.path);
    !support.names(name)
        && words(support.text).filter(|(word, _)| *word == other).count() == 2
        && !lines[defined + 1..at].iter().any(rebinds)
        && !before.is_empty()
        && before.iter().all(is_test)
        && !between.is_empty()
        && !between.iter().any(is_test)
}

/// The files that ran and have all of what lines of a gist say of a block.
fn homes<'a>(support: &Support<'a>, block: &str, lines: &[Line]) -> Vec<&'a CodeFile> {
    let block = [block.to_owned()];
    let is_own = |line: &&Line| within(&line.block, &block) && line.class != Class::Potential;
    let own: Vec<&Line> = lines.iter().filter(is_own).collect();
    let has_all = |file: &&CodeFile| {
        support.executed.ran(&file.path) && own.iter().all(|line| file.outline.has(line))
    };
    support.codebase.files().iter().filter(|_| !own.is_empty()).filter(has_all).collect()
}
