//! Names that a gist had to change because of a collision, and the text with what they stand for.

use std::collections::BTreeMap;

use graph::Syntax;
use ruff_python_ast::token::TokenKind;
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::blocks::Outline;

/// What each alias that a gist defines at its top level stands for.
pub fn aliases<'a>(text: &'a str, gist: &'a Outline) -> BTreeMap<&'a str, &'a str> {
    let mut aliases = BTreeMap::new();
    for line in gist.lines.iter().filter(|line| line.alias && line.block.is_empty()) {
        let statement = &text[line.range.0..line.range.1];
        let Some((_, value)) = statement.split_once('=') else { continue };
        let value = value.trim();
        let plain = value.chars().all(|c| c.is_alphanumeric() || c == '_');
        if let [name] = line.binds.as_slice()
            && plain
        {
            aliases.insert(name.as_str(), value);
        }
    }
    aliases
}

/// A text with what they stand for in the place of aliases; with `attributes`, also behind a dot.
pub fn without_names(text: &str, aliases: &BTreeMap<&str, &str>, attributes: bool) -> String {
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("gist", text));
        let all = TextRange::new(TextSize::new(0), TextSize::of(text));
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        let mut after_dot = false;
        for token in syntax.tokens(all) {
            let (start, end) = (token.start().to_usize(), token.end().to_usize());
            if token.kind() == TokenKind::Name
                && (attributes || !after_dot)
                && let Some(value) = aliases.get(&text[start..end])
            {
                out.push_str(&text[done..start]);
                out.push_str(value);
                done = end;
            }
            after_dot = token.kind() == TokenKind::Dot;
        }
        out.push_str(&text[done..]);
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_collisions_are_changed_back() {
        let text = "svd_linalg = svd\nsvd = wrapped(linalg.svd_linalg, svd_linalg)\n";
        let outline = Outline::of(text);
        for (attributes, expected) in [
            (false, "svd = wrapped(linalg.svd_linalg, svd)"),
            (true, "svd = wrapped(linalg.svd, svd)"),
        ] {
            let plain = without_names(text, &aliases(text, &outline), attributes);
            assert_eq!(plain.lines().nth(1), Some(expected));
        }
    }
}
