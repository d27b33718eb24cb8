//! Puts one of its operands in the place of an expression that chooses between several.

use ruff_python_ast::{
    Expr,
    visitor::{Visitor, walk_expr},
};
use ruff_text_size::{Ranged, TextRange};

use super::{parse, splice::spliced};
use crate::{slice::Gist, syntax::with_deep_stack};

/// Returns the gist with one of the operands in the place of a conditional expression, an `and` or an `or`, or without one of
/// several operands. The index counts these proposals; returns `None` after the last.
///
/// ```python
/// size = len(text) if text else default()    # size = len(text) / size = default()
/// name = given or find(text)                 # name = given / name = find(text)
/// ```
pub fn without_choices(gist: &Gist, at: usize) -> Option<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let mut choices = Choices::default();
        choices.visit_body(syntax.body());
        let removed = choices.0.into_iter().nth(at)?;
        Some(spliced(gist, removed.into_iter().map(|range| (range, String::new())).collect()))
    })
}

/// The ranges that each proposal removes.
#[derive(Default)]
struct Choices(Vec<Vec<TextRange>>);

impl Choices {
    /// Adds a proposal of which only an operand remains of a whole expression.
    fn add_operand(&mut self, whole: &dyn Ranged, operand: &dyn Ranged) {
        let (whole, operand) = (whole.range(), operand.range());
        self.0.push(vec![
            TextRange::new(whole.start(), operand.start()),
            TextRange::new(operand.end(), whole.end()),
        ]);
    }
}

impl<'a> Visitor<'a> for Choices {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::If(choice) => {
                self.add_operand(expr, &*choice.body);
                self.add_operand(expr, &*choice.orelse);
            }
            Expr::BoolOp(choice) => {
                choice.values.iter().for_each(|operand| self.add_operand(expr, operand));
                if choice.values.len() > 2 {
                    let pairs = choice.values.windows(2);
                    self.0.extend(
                        pairs.map(|pair| vec![TextRange::new(pair[0].start(), pair[1].start())]),
                    );
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::{gist, shown};

    #[test]
    fn each_operand_comes_in_the_place_of_its_choice() {
        let first = gist("a = (b if c else d)\nif e and (f or g): pass\n");
        let texts: Vec<String> =
            (0..).map_while(|at| without_choices(&first, at)).map(|gist| gist.text).collect();
        let second = "if e and (f or g): pass\n";
        assert_eq!(
            texts,
            [
                format!("a = (b)\n{second}"),
                format!("a = (d)\n{second}"),
                "a = (b if c else d)\nif e: pass\n".to_owned(),
                "a = (b if c else d)\nif f or g: pass\n".to_owned(),
                "a = (b if c else d)\nif e and (f): pass\n".to_owned(),
                "a = (b if c else d)\nif e and (g): pass\n".to_owned(),
            ]
        );
    }

    #[test]
    fn lines_of_an_operand_keep_their_origin() {
        let first = gist("a = b or c or f(\n    d,\n)\n");
        let proposals: Vec<String> =
            (0..).map_while(|at| without_choices(&first, at)).map(|gist| shown(&gist)).collect();
        let expected = ["1~|a = b\n", "1~|a = c\n", "1~|a = f(\n2|    d,\n3|)\n"];
        assert_eq!(proposals[..3], expected);
        assert_eq!(
            proposals[3..],
            ["1~|a = c or f(\n2|    d,\n3|)\n", "1~|a = b or f(\n2|    d,\n3|)\n"]
        );
    }
}
