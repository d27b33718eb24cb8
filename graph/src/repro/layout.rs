//! Orders a file for its reader: imports first, blank lines between definitions, the test last.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;

use super::{
    parse,
    splice::{added, joined, lines_with_origins},
    statements,
};
use crate::{
    slice::{Gist, GistLine},
    syntax::{Syntax, with_deep_stack},
};

/// The freedom to rearrange a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// Imports go first, the tests last.
    Ordered,
    /// Everything stays in its order; blank lines alone come and go.
    Spaced,
}

/// The gist in an order for readers; `last` are the names of definitions that go last. Where that order matters to
/// what the file does, only [`Arrangement::Spaced`] is safe.
pub fn laid_out(gist: &Gist, layout: Arrangement, last: &[String]) -> Gist {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let all = lines_with_origins(gist);
        let inner = methods(&syntax);
        let mut chunks = chunks(&syntax, &all, &inner, last);
        if layout == Arrangement::Ordered {
            // Stable: within each kind the order stays.
            chunks.sort_by_key(|chunk| chunk.kind);
        }
        let mut text: Vec<(String, GistLine)> = Vec::new();
        let mut before: Option<&Chunk> = None;
        for chunk in &chunks {
            let blanks = before.map_or(0, |before| between(before, chunk));
            text.extend((0..blanks).map(|_| (String::new(), added("a blank line"))));
            text.extend(chunk.lines.iter().cloned());
            before = Some(chunk);
        }
        joined(text)
    })
}

/// The position of a statement in an ordered file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Head,
    Future,
    Import,
    Code,
    Test,
    Main,
}

struct Chunk {
    kind: Kind,
    /// True if it defines a function or a class.
    defines: bool,
    /// True if a blank line preceded it.
    apart: bool,
    lines: Vec<(String, GistLine)>,
}

fn between(before: &Chunk, chunk: &Chunk) -> usize {
    let is_import = |chunk: &Chunk| matches!(chunk.kind, Kind::Import | Kind::Future);
    match (before, chunk) {
        _ if before.defines || chunk.defines || chunk.kind == Kind::Main => 2,
        _ if is_import(before) && is_import(chunk) => 0,
        _ if is_import(before) != is_import(chunk) => 1,
        _ => usize::from(chunk.apart),
    }
}

/// The top-level statements with their comments, those that share a line together.
fn chunks(
    syntax: &Syntax,
    all: &[(String, GistLine)],
    inner: &BTreeSet<usize>,
    last: &[String],
) -> Vec<Chunk> {
    let source = syntax.source();
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut at = 0;
    let body = syntax.body();
    for (number, stmt) in body.iter().enumerate() {
        let (_, end) = source.line_span(stmt.range());
        let end = (end as usize).min(all.len());
        let mut found = Vec::new();
        let mut apart = false;
        for (line, (text, entry)) in all.iter().enumerate().take(end).skip(at) {
            let is_blank = text.trim().is_empty();
            if found.is_empty() && is_blank {
                apart = true;
                continue;
            }
            if inner.contains(&line) {
                found.push((String::new(), added("a blank line")));
            }
            found.push((text.clone(), entry.clone()));
        }
        let (kind, defines) = kind(stmt, number, number + 1 == body.len(), last);
        if found.is_empty() {
            // It shares a line with the one before; what is more than an import stays where it is.
            if let Some(before) = chunks.last_mut() {
                before.kind = before.kind.max(kind);
                before.defines |= defines;
            }
        } else {
            chunks.push(Chunk { kind, defines, apart, lines: found });
        }
        at = at.max(end);
    }
    let rest: Vec<_> = all[at.min(all.len())..].to_vec();
    if let Some(before) = chunks.last_mut()
        && rest.iter().any(|(text, _)| !text.trim().is_empty())
    {
        before.lines.extend(rest);
    }
    chunks
}

fn kind(stmt: &Stmt, number: usize, is_last: bool, last: &[String]) -> (Kind, bool) {
    let named =
        |name: &str| if last.iter().any(|one| one == name) { Kind::Test } else { Kind::Code };
    match stmt {
        Stmt::Expr(one) if number == 0 && one.value.is_string_literal_expr() => (Kind::Head, false),
        Stmt::ImportFrom(import)
            if import.module.as_ref().is_some_and(|name| name == "__future__") =>
        {
            (Kind::Future, false)
        }
        Stmt::Import(_) | Stmt::ImportFrom(_) => (Kind::Import, false),
        Stmt::FunctionDef(function) => (named(&function.name), true),
        Stmt::ClassDef(class) => (named(&class.name), true),
        Stmt::If(choice) if is_last && is_main(&choice.test) => (Kind::Main, false),
        _ => (Kind::Code, false),
    }
}

/// Returns true for a comparison with `__name__` on its left side, as in `if __name__ == "__main__"`.
pub(super) fn is_main(test: &Expr) -> bool {
    let Expr::Compare(compare) = test else { return false };
    matches!(&*compare.left, Expr::Name(name) if &name.id == "__name__")
}

/// Lines, from 0, of definitions in classes that follow another statement without a blank line.
fn methods(syntax: &Syntax) -> BTreeSet<usize> {
    let source = syntax.source();
    let texts: Vec<&str> = source.text().lines().collect();
    let mut found = BTreeSet::new();
    for class in statements(syntax).into_iter().filter_map(Stmt::as_class_def_stmt) {
        for pair in class.body.windows(2) {
            let is_definition =
                |stmt: &Stmt| matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_));
            if !is_definition(&pair[0]) && !is_definition(&pair[1]) {
                continue;
            }
            let mut line = source.line(pair[1].start()) as usize - 1;
            let (_, end) = source.line_span(pair[0].range());
            while line > end as usize && texts[line - 1].trim_start().starts_with('#') {
                line -= 1;
            }
            if line >= end as usize && !texts[line - 1].trim().is_empty() {
                found.insert(line);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::gist;

    #[track_caller]
    fn check(text: &str, layout: Arrangement, expected: &str) {
        let found = laid_out(&gist(text), layout, &["test_it".to_owned()]);
        assert_eq!(found.text, expected);
        assert_eq!(found.text.lines().count(), found.lines.len());
    }

    const FILE: &str = "def test_it():\n    f()\nA = 1\nimport b\n\nfrom __future__ import annotations\nclass C:\n    x = 1\n    def f(self): pass\n    # why\n    @b\n    def g(self): pass\nB = 2\nif __name__ == '__main__':\n    test_it()\n";

    #[test]
    fn imports_go_first_and_tests_last() {
        check(
            FILE,
            Arrangement::Ordered,
            "from __future__ import annotations\nimport b\n\nA = 1\n\n\nclass C:\n    x = 1\n\n    def f(self): pass\n\n    # why\n    @b\n    def g(self): pass\n\n\nB = 2\n\n\ndef test_it():\n    f()\n\n\nif __name__ == '__main__':\n    test_it()\n",
        );
    }

    #[test]
    fn blank_lines_alone_change_no_order() {
        check(
            "import a; A = a.b\n\n\n\nB = 2\nC = 3\ndef f():\n    pass\nimport d\n",
            Arrangement::Spaced,
            "import a; A = a.b\n\nB = 2\nC = 3\n\n\ndef f():\n    pass\n\n\nimport d\n",
        );
    }
}
