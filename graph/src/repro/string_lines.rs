//! Removes lines from string literals.

use ruff_text_size::{TextRange, TextSize};

use super::{lists::halves, parse, splice::spliced};
use crate::{
    slice::Gist,
    syntax::{Syntax, with_deep_stack},
};

/// Returns the gist without lines of a string literal that has [`LONG_STRING`] inner lines and more; the lines with its quotes
/// stay. For each literal, the first index removes all inner lines, the following ones halves, down to single ones. Returns
/// `None` after the last.
///
/// ```python
/// QUERY = """        # QUERY = """
///     SELECT name    #     SELECT name
///     FROM users     # """
///     LIMIT 3        #
/// """                #
/// ```
pub fn without_string_lines(gist: &Gist, at: usize) -> Option<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let long =
            inner_lines(&syntax).into_iter().filter(|(first, end)| end - first >= LONG_STRING);
        let mut groups = long.flat_map(|(first, end)| {
            halves((end - first) as usize).map(move |group| {
                let line = |at: usize| first + u32::try_from(at).unwrap_or(u32::MAX);
                (line(group.start), line(group.end))
            })
        });
        let (first, end) = groups.nth(at)?;
        let source = syntax.source();
        let range = TextRange::new(source.line_start(first), source.line_start(end));
        Some(spliced(gist, vec![(range, String::new())]))
    })
}

/// The minimum number of inner lines of a string literal that loses some.
const LONG_STRING: u32 = 3;

/// Returns for each string literal of several lines the numbers of its second and of its last line.
fn inner_lines(syntax: &Syntax) -> Vec<(u32, u32)> {
    let source = syntax.source();
    let literals = syntax.string_literals(TextRange::up_to(TextSize::of(source.text())));
    let lines = literals
        .into_iter()
        .map(|literal| (source.line(literal.start()) + 1, source.line(literal.end())));
    lines.filter(|(first, last)| first < last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::gist;

    #[test]
    fn inner_lines_of_long_literals_go_together_then_in_halves() {
        let text = "a = \"\"\"\n1\n2\n3\n\"\"\"\nb = f'''x\n{\n a}\n4\n'''\nc = '''\n5\n'''\n";
        let first = gist(text);
        let proposals: Vec<String> =
            (0..).map_while(|at| without_string_lines(&first, at)).map(|gist| gist.text).collect();
        let without = |lines: &str| text.replacen(lines, "", 1);
        let expected = ["1\n2\n3\n", "1\n2\n", "3\n", "1\n", "2\n", "3\n"];
        let second = ["{\n a}\n4\n", "{\n a}\n", "4\n", "{\n", " a}\n", "4\n"];
        assert_eq!(
            proposals,
            expected.iter().chain(&second).map(|one| without(one)).collect::<Vec<_>>()
        );
    }
}
