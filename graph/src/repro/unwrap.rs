//! Puts a block in the place of the statement around it.

use ruff_python_ast::{ExceptHandler, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::{
    layout::is_main,
    parse,
    splice::{Edit, spliced},
    statements,
};
use crate::{
    slice::Gist,
    syntax::{Syntax, with_deep_stack},
};

/// Returns the gist with a block in the place of its `if`, `for`, `while`, `with`, `try` or `match`: the one at an index,
/// counted over all such blocks of the file, outer ones first. Returns `None` behind the last one.
///
/// ```python
/// if text:                  #
///     parse(text)           # parse(text)
/// ```
pub fn unwrapped(gist: &Gist, at: usize) -> Option<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let all = statements(&syntax);
        let (stmt, block) = all
            .iter()
            .flat_map(|stmt| blocks(stmt).into_iter().map(move |block| (*stmt, block)))
            .filter(|(_, block)| block.iter().any(|stmt| !stmt.is_pass_stmt()))
            .nth(at)?;
        Some(spliced(gist, edits(&syntax, stmt, block)?))
    })
}

/// Returns the blocks of a statement that may take its place; a definition has none.
fn blocks(stmt: &Stmt) -> Vec<&[Stmt]> {
    let blocks: Vec<&[Stmt]> = match stmt {
        // The guard of a program is for its readers.
        Stmt::If(choice) if is_main(&choice.test) => Vec::new(),
        Stmt::If(choice) => {
            let clauses = choice.elif_else_clauses.iter().map(|clause| &clause.body[..]);
            [&choice.body[..]].into_iter().chain(clauses).collect()
        }
        Stmt::With(with) => vec![&with.body],
        Stmt::For(each) => vec![&each.body, &each.orelse],
        Stmt::While(each) => vec![&each.body, &each.orelse],
        Stmt::Match(choice) => choice.cases.iter().map(|case| &case.body[..]).collect(),
        Stmt::Try(attempt) => {
            let handlers = attempt.handlers.iter().map(|handler| {
                let ExceptHandler::ExceptHandler(handler) = handler;
                &handler.body[..]
            });
            let ends = [&attempt.orelse[..], &attempt.finalbody[..]];
            [&attempt.body[..]].into_iter().chain(handlers).chain(ends).collect()
        }
        _ => Vec::new(),
    };
    blocks.into_iter().filter(|block| !block.is_empty()).collect()
}

/// Returns the edits that leave a block of a statement, with the statement's indentation.
fn edits(syntax: &Syntax, stmt: &Stmt, block: &[Stmt]) -> Option<Vec<Edit>> {
    let source = syntax.source();
    let (first, last) = (block.first()?, block.last()?);
    let rest = TextRange::new(last.end(), stmt.end());
    let mut edits = vec![(rest, String::new())];
    let start = |stmt: &Stmt| source.line_start(source.line(stmt.start()));
    let inner = TextRange::new(start(first), first.start());
    if !source.slice(inner).trim().is_empty() {
        // It is on the line of its colon.
        edits.push((TextRange::new(stmt.start(), first.start()), String::new()));
        return Some(edits);
    }
    let outer = source.slice(TextRange::new(start(stmt), stmt.start()));
    if !outer.trim().is_empty() {
        return None;
    }
    edits.push((TextRange::new(start(stmt), start(first)), String::new()));
    let added = source.slice(inner).strip_prefix(outer)?;
    let (from, to) = source.line_span(TextRange::new(first.start(), last.end()));
    let strings = syntax.lines_in_strings(TextRange::new(first.start(), last.end()));
    for line in (from..=to).filter(|line| !strings.contains(line)) {
        let start = source.line_start(line);
        let text = &source.text()[start.to_usize()..];
        if text.starts_with(outer) && text[outer.len()..].starts_with(added) {
            let size = u32::try_from(added.len()).ok()?;
            edits.push((TextRange::at(start, size.into()), String::new()));
        }
    }
    Some(edits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::{gist, shown};

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let gist = gist(text);
        let proposals = (0..).map_while(|at| unwrapped(&gist, at));
        assert_eq!(proposals.map(|gist| shown(&gist)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_block_takes_the_place_of_its_statement() {
        check(
            "def f(x):\n    if x:\n        a = \"\"\"\n        b\"\"\"\n        # why\n        g(\n            a)\n    elif y:\n        pass\n    else: h(x)\n    return x\n",
            &[
                "1|def f(x):\n3|    a = \"\"\"\n4|        b\"\"\"\n5|    # why\n6|    g(\n7|        a)\n11|    return x\n",
                "1|def f(x):\n10~|    h(x)\n11|    return x\n",
            ],
        );
    }

    #[test]
    fn each_statement_with_blocks_has_them_in_turn() {
        check("with a as b, c:\n    f(b)\n", &["2|f(b)\n"]);
        check("for a in b:\n    f(a)\nelse:\n    g()\n", &["2|f(a)\n", "4|g()\n"]);
        check(
            "try:\n    f()\nexcept E:\n    g()\nfinally:\n    while x: h()\n",
            &[
                "2|f()\n",
                "4|g()\n",
                "6|while x: h()\n",
                "1|try:\n2|    f()\n3|except E:\n4|    g()\n5|finally:\n6~|    h()\n",
            ],
        );
        check("match a:\n    case 1:\n        f()\n    case _:\n        pass\n", &["3|f()\n"]);
        check("class C:\n    def f(self): pass\n", &[]);
        check("if __name__ == '__main__':\n    f()\n", &[]);
    }
}
