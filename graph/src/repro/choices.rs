//! Puts one of its operands in the place of an expression that chooses between several.

use ruff_python_ast::{
    Expr,
    visitor::{Visitor, walk_expr},
};
use ruff_text_size::{Ranged, TextRange};

use super::{parse, splice::spliced};
use crate::{slice::Gist, syntax::with_deep_stack};

/// For each conditional expression, and each `and` and `or`, the gist with one of the operands in its place.
///
/// ```python
/// size = len(text) if text else default()    # size = len(text) / size = default()
/// name = given or find(text)                 # name = given / name = find(text)
/// ```
pub fn without_choices(gist: &Gist) -> Vec<Gist> {
    struct Finder(Vec<(TextRange, TextRange)>);
    impl<'a> Visitor<'a> for Finder {
        fn visit_expr(&mut self, expr: &'a Expr) {
            let operands = match expr {
                Expr::If(choice) => vec![choice.body.range(), choice.orelse.range()],
                Expr::BoolOp(choice) => choice.values.iter().map(Ranged::range).collect(),
                _ => Vec::new(),
            };
            self.0.extend(operands.into_iter().map(|operand| (expr.range(), operand)));
            walk_expr(self, expr);
        }
    }
    with_deep_stack(|| {
        let syntax = parse(gist);
        let mut finder = Finder(Vec::new());
        finder.visit_body(syntax.body());
        let proposals = finder.0.into_iter().map(|(whole, operand)| {
            spliced(gist, vec![(whole, syntax.source().slice(operand).to_owned())])
        });
        proposals.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::gist;

    #[test]
    fn each_operand_comes_in_the_place_of_its_choice() {
        let proposals = without_choices(&gist("a = (b if c else d)\nif e and (f or g): pass\n"));
        let texts: Vec<&str> = proposals.iter().map(|gist| gist.text.as_str()).collect();
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
}
