//! Puts the body of a fixture into the test that asks for it.

use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::{
    functions,
    narrow::{fixture_name, with_parameters},
    parse,
    splice::{joined, lines_with_origins, spliced},
};
use crate::{
    slice::{Gist, GistLine},
    syntax::{Syntax, with_deep_stack},
};

/// For each test or fixture that asks for a fixture of this file, the gist with that fixture's body in it. What
/// stands behind a `yield` is left out.
///
/// ```python
/// @pytest.fixture
/// def box():
///     return Box(1)
///
/// def test_open(box):        # def test_open():
///     assert box.open()      #     box = Box(1)
///                            #     assert box.open()
/// ```
pub fn inlined_fixtures(gist: &Gist) -> Vec<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let all = functions(&syntax);
        let fixtures: Vec<(String, &StmtFunctionDef)> =
            all.iter().filter_map(|one| Some((fixture_name(one)?, *one))).collect();
        let mut proposals = Vec::new();
        for user in &all {
            for parameter in &user.parameters.args {
                let name = parameter.name().as_str();
                let found = fixtures.iter().find(|(known, _)| known == name);
                let Some((_, fixture)) = found.filter(|(_, one)| one.range() != user.range())
                else {
                    continue;
                };
                proposals.extend(inlined(gist, &syntax, user, fixture, name));
            }
        }
        proposals
    })
}

fn inlined(
    gist: &Gist,
    syntax: &Syntax,
    user: &StmtFunctionDef,
    fixture: &StmtFunctionDef,
    name: &str,
) -> Option<Gist> {
    let source = syntax.source();
    let line = |at| source.line(at) as usize - 1;
    let into = user.body.first()?;
    let indent = indent_of(source.text(), into.start().to_usize())?;
    let own = indent_of(source.text(), fixture.body.first()?.start().to_usize())?;
    let (before, value) = split(fixture)?;
    let all = lines_with_origins(gist);
    let in_strings = source_lines_in_strings(syntax, fixture.range());
    let mut added: Vec<(String, GistLine)> = Vec::new();
    if let (Some(first), Some(last)) = (before.first(), before.last()) {
        for (at, (text, entry)) in
            all.iter().enumerate().take(line(last.end()) + 1).skip(line(first.start()))
        {
            let moved = match text.strip_prefix(own) {
                Some(rest) if !in_strings.contains(&at) => format!("{indent}{rest}"),
                _ => text.clone(),
            };
            added.push((moved, entry.clone()));
        }
    }
    if let Some((value, stmt)) = value {
        let (first, last) = (line(stmt.start()), line(stmt.end()));
        let head = format!("{indent}{name} = ");
        let text = &source.text()[value.start().to_usize()..stmt.end().to_usize()];
        for (offset, part) in text.lines().enumerate() {
            let entry = GistLine { adapted: true, ..all.get(first + offset)?.1.clone() };
            let text = if offset == 0 { format!("{head}{part}") } else { part.to_owned() };
            added.push((text, entry));
        }
        debug_assert!(added.len() >= last - first);
    } else {
        let entry =
            GistLine { adapted: true, ..all.get(line(fixture.body.last()?.start()))?.1.clone() };
        added.push((format!("{indent}{name} = None"), entry));
    }
    let at = line(into.start());
    let longer = joined(all[..at].iter().cloned().chain(added).chain(all[at..].iter().cloned()));
    // The header stands before what was put in, where it was.
    let mine: Vec<&str> = user.parameters.args.iter().map(|one| one.name().as_str()).collect();
    let asked = fixture.parameters.args.iter().map(|one| one.name().to_string());
    let more: Vec<String> =
        asked.filter(|asked| !mine.contains(&asked.as_str()) && asked != "self").collect();
    let edit = with_parameters(syntax, &user.parameters, &[name], &more)?;
    Some(spliced(&longer, vec![edit]))
}

/// The statements of a fixture before it gives its value, and that value with its statement; nothing where it gives
/// none at the end of its own block.
type Given<'a> = (&'a [Stmt], Option<(&'a Expr, &'a Stmt)>);

fn split(fixture: &StmtFunctionDef) -> Option<Given<'_>> {
    for (at, stmt) in fixture.body.iter().enumerate() {
        let value = match stmt {
            Stmt::Return(given) => given.value.as_deref(),
            Stmt::Expr(one) => match &*one.value {
                Expr::Yield(given) => given.value.as_deref(),
                _ => continue,
            },
            _ => continue,
        };
        return Some((&fixture.body[..at], value.map(|value| (value, stmt))));
    }
    Some((&fixture.body, None))
}

/// The blanks before a statement; nothing where it shares its line.
fn indent_of(text: &str, at: usize) -> Option<&str> {
    let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let indent = &text[start..at];
    indent.trim().is_empty().then_some(indent)
}

/// Lines, from 0, that begin inside a string.
fn source_lines_in_strings(syntax: &Syntax, range: TextRange) -> Vec<usize> {
    syntax.lines_in_strings(range).into_iter().map(|line| line as usize - 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::{gist, shown};

    #[test]
    fn a_fixture_s_body_stands_in_its_test() {
        let text = "@pytest.fixture\ndef box(size):\n    x = '''\n    '''\n    yield Box(\n        x)\n    x.close()\n\nclass T:\n    def test(self, box):\n        assert box\n";
        let found = inlined_fixtures(&gist(text));
        assert_eq!(
            found.iter().map(shown).collect::<Vec<_>>(),
            [
                "1|@pytest.fixture\n2|def box(size):\n3|    x = '''\n4|    '''\n5|    yield Box(\n6|        x)\n7|    x.close()\n8|\n9|class T:\n10~|    def test(self, size):\n3|        x = '''\n4|    '''\n5~|        box = Box(\n6~|        x)\n11|        assert box\n"
            ]
        );
    }

    #[test]
    fn a_fixture_without_a_value_is_none() {
        let text =
            "@fixture(name='on')\ndef turn():\n    start()\ndef test(on):\n    assert on is None\n";
        let found = inlined_fixtures(&gist(text));
        assert_eq!(
            found.iter().map(shown).collect::<Vec<_>>(),
            [
                "1|@fixture(name='on')\n2|def turn():\n3|    start()\n4~|def test():\n3|    start()\n3~|    on = None\n5|    assert on is None\n"
            ]
        );
    }
}
