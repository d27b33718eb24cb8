//! What a text that is put together says: literals added, joined, filled in, cut and turned around.

use std::cell::Cell;

use ruff_python_ast::{
    Expr, ExprCall, ExprSlice, InterpolatedStringElement, Number, Operator, UnaryOp,
};

use super::bindings::{Bindings, elements};

/// So many expressions are looked at for one text.
const STEPS: u32 = 2_000;
/// Longer texts are no names.
const LONGEST: usize = 2_000;

/// The text that an expression is, where it can be told.
pub(super) fn fold(expr: &Expr, bindings: &Bindings<'_>) -> Option<String> {
    Folding { bindings, steps: Cell::new(STEPS), is_bytes: Cell::new(false) }.text(expr)
}

/// All texts that an expression may be, where that can be told.
pub(super) fn texts(expr: &Expr, bindings: &Bindings<'_>) -> Option<Vec<String>> {
    if let Some(text) = fold(expr, bindings) {
        return Some(vec![text]);
    }
    let name = expr.as_name_expr()?.id.as_str();
    let fold_all = |exprs: &[Expr]| exprs.iter().map(|expr| fold(expr, bindings)).collect();
    if let Some(values) = bindings.known(name) {
        return values.iter().map(|value| fold(value, bindings)).collect();
    }
    let through = bindings.gone_through(name)?.iter().map(|through| match through {
        Expr::List(_) | Expr::Tuple(_) | Expr::Set(_) => fold_all(elements(through)),
        _ => None,
    });
    let through: Option<Vec<Vec<String>>> = through.collect();
    Some(through?.concat())
}

struct Folding<'a> {
    bindings: &'a Bindings<'a>,
    steps: Cell<u32>,
    /// Whether the text so far is that of bytes, which a text shows with signs around them.
    is_bytes: Cell<bool>,
}

impl Folding<'_> {
    fn text(&self, expr: &Expr) -> Option<String> {
        self.steps.set(self.steps.get().checked_sub(1)?);
        let text = match expr {
            Expr::StringLiteral(node) => node.value.to_str().to_owned(),
            Expr::BytesLiteral(node) => {
                self.is_bytes.set(true);
                String::from_utf8(node.value.bytes().collect()).ok()?
            }
            Expr::Name(node) => self.text(self.bindings.once(node.id.as_str())?)?,
            Expr::Named(node) => self.text(&node.value)?,
            Expr::FString(node) => {
                let mut text = String::new();
                for element in node.value.elements() {
                    match element {
                        InterpolatedStringElement::Literal(part) => text.push_str(&part.value),
                        InterpolatedStringElement::Interpolation(part) => {
                            let is_plain = part.conversion.is_none()
                                && part.format_spec.is_none()
                                && part.debug_text.is_none();
                            text.push_str(&self.shown(&part.expression).filter(|_| is_plain)?);
                        }
                    }
                }
                text
            }
            Expr::BinOp(node) => match node.op {
                Operator::Add => self.text(&node.left)? + &self.text(&node.right)?,
                Operator::Mult => {
                    let (part, times) = match self.text(&node.left) {
                        Some(part) => (part, self.number(&node.right)?),
                        None => (self.text(&node.right)?, self.number(&node.left)?),
                    };
                    let times = usize::try_from(times).unwrap_or(0);
                    part.len().checked_mul(times).filter(|&length| length <= LONGEST)?;
                    part.repeat(times)
                }
                Operator::Mod => {
                    let format = self.text(&node.left)?;
                    let given = match &*node.right {
                        Expr::Tuple(node) => self.all(&node.elts)?,
                        other => vec![self.shown(other)?],
                    };
                    let mut given = given.into_iter();
                    let mut parts = format.split('%');
                    let mut text = parts.next()?.to_owned();
                    for part in parts {
                        text.push_str(&given.next()?);
                        text.push_str(part.strip_prefix(['s', 'c', 'd'])?);
                    }
                    text
                }
                _ => return None,
            },
            Expr::Subscript(node) => match &*node.slice {
                Expr::Slice(slice) => {
                    let parts = match self.parts(&node.value) {
                        Some(parts) => parts,
                        None => letters(&self.text(&node.value)?),
                    };
                    self.cut(parts, slice)?.concat()
                }
                index => {
                    let parts = self.parts(&node.value)?;
                    let index = self.number(index)?;
                    let length = i64::try_from(parts.len()).ok()?;
                    let index = if index < 0 { index + length } else { index };
                    parts.get(usize::try_from(index).ok()?)?.clone()
                }
            },
            Expr::Call(node) => self.call(node)?,
            _ => return None,
        };
        (text.len() <= LONGEST).then_some(text)
    }

    fn call(&self, node: &ExprCall) -> Option<String> {
        let (args, keywords) = (&node.arguments.args, &node.arguments.keywords);
        if let Expr::Name(name) = &*node.func {
            return match (name.id.as_str(), &args[..]) {
                ("str", [one]) => self.shown(one),
                ("str", [bytes, codec]) => self.decoded(bytes, codec),
                ("chr", [one]) => {
                    char::from_u32(u32::try_from(self.number(one)?).ok()?).map(String::from)
                }
                _ => None,
            };
        }
        let Expr::Attribute(method) = &*node.func else { return None };
        let name = method.attr.as_str();
        if !keywords.is_empty() && name != "format" {
            return None;
        }
        if let ("decode", [codec]) = (name, &args[..]) {
            return self.decoded(&method.value, codec);
        }
        let text = self.text(&method.value)?;
        Some(match (name, &args[..]) {
            ("join", [parts]) => self.parts(parts)?.join(&text),
            ("replace", [old, new]) => text.replace(&self.text(old)?, &self.text(new)?),
            ("removeprefix", [start]) => {
                text.strip_prefix(&*self.text(start)?).unwrap_or(&text).to_owned()
            }
            ("removesuffix", [end]) => {
                text.strip_suffix(&*self.text(end)?).unwrap_or(&text).to_owned()
            }
            ("lower" | "casefold", []) => text.to_lowercase(),
            ("upper", []) => text.to_uppercase(),
            ("strip" | "lstrip" | "rstrip", []) => text.trim().to_owned(),
            ("decode", []) => {
                self.is_bytes.set(false);
                text
            }
            ("encode", _) if args.iter().all(|codec| self.is_usual(codec)) => {
                self.is_bytes.set(true);
                text
            }
            ("format", _) => {
                let mut text = text;
                for (at, value) in self.all(args)?.into_iter().enumerate() {
                    text = text.replacen("{}", &value, 1).replace(&format!("{{{at}}}"), &value);
                }
                for keyword in keywords {
                    let name = keyword.arg.as_ref()?;
                    text = text.replace(&format!("{{{name}}}"), &self.shown(&keyword.value)?);
                }
                // Other fields are not read here.
                (!text.contains(['{', '}'])).then_some(text)?
            }
            _ => return None,
        })
    }

    /// The text of bytes in an encoding that has the letters of names as they are.
    fn decoded(&self, bytes: &Expr, codec: &Expr) -> Option<String> {
        let text = self.text(bytes).filter(|_| self.is_usual(codec));
        self.is_bytes.set(false);
        text
    }

    fn is_usual(&self, codec: &Expr) -> bool {
        let usual = ["utf8", "ascii", "latin1", "iso88591"];
        let name = self.text(codec).unwrap_or_default().to_lowercase().replace(['-', '_'], "");
        usual.contains(&&*name)
    }

    /// The text that a value is shown as.
    fn shown(&self, expr: &Expr) -> Option<String> {
        let before = self.is_bytes.replace(false);
        let text = self.text(expr);
        let is_bytes = self.is_bytes.replace(before);
        text.filter(|_| !is_bytes)
    }

    fn all(&self, exprs: &[Expr]) -> Option<Vec<String>> {
        exprs.iter().map(|expr| self.shown(expr)).collect()
    }

    /// The texts that something which is gone through gives.
    fn parts(&self, expr: &Expr) -> Option<Vec<String>> {
        self.steps.set(self.steps.get().checked_sub(1)?);
        match expr {
            Expr::List(node) => self.all(&node.elts),
            Expr::Tuple(node) => self.all(&node.elts),
            Expr::Name(node) => self.parts(self.bindings.once(node.id.as_str())?),
            Expr::Subscript(node) if node.slice.is_slice_expr() => match &*node.slice {
                Expr::Slice(slice) => self.cut(self.parts(&node.value)?, slice),
                _ => None,
            },
            Expr::Call(node) if node.func.is_name_expr() => {
                let name = node.func.as_name_expr()?.id.as_str();
                let args = &node.arguments.args;
                match name {
                    "reversed" => {
                        let mut parts = self.parts(args.first()?)?;
                        parts.reverse();
                        Some(parts)
                    }
                    "list" | "tuple" | "iter" => self.parts(args.first()?),
                    "map" => {
                        let numbers: &[Expr] = match args.get(1)? {
                            Expr::List(node) => &node.elts,
                            Expr::Tuple(node) => &node.elts,
                            _ => return None,
                        };
                        let letter = |number| {
                            let number = u32::try_from(self.number(number)?).ok()?;
                            char::from_u32(number).map(String::from)
                        };
                        match args.first()?.as_name_expr()?.id.as_str() {
                            "chr" => numbers.iter().map(letter).collect(),
                            "str" => self.parts(args.get(1)?),
                            _ => None,
                        }
                    }
                    _ => self.shown(expr).map(|text| letters(&text)),
                }
            }
            _ => self.shown(expr).map(|text| letters(&text)),
        }
    }

    fn cut(&self, parts: Vec<String>, slice: &ExprSlice) -> Option<Vec<String>> {
        let length = i64::try_from(parts.len()).ok()?;
        let step = slice.step.as_deref().map_or(Some(1), |step| self.number(step))?;
        let edge = |edge: Option<&Expr>, usual: i64| match edge {
            Some(edge) => {
                let at = self.number(edge)?;
                let at = if at < 0 { at + length } else { at };
                Some(if step < 0 { at.clamp(-1, length - 1) } else { at.clamp(0, length) })
            }
            None => Some(usual),
        };
        let (first, last) = if step < 0 { (length - 1, -1) } else { (0, length) };
        let mut at = edge(slice.lower.as_deref(), first)?;
        let end = edge(slice.upper.as_deref(), last)?;
        let mut cut = Vec::new();
        while step != 0 && if step < 0 { at > end } else { at < end } {
            cut.push(parts.get(usize::try_from(at).ok()?)?.clone());
            at = at.checked_add(step)?;
        }
        Some(cut)
    }

    fn number(&self, expr: &Expr) -> Option<i64> {
        match expr {
            Expr::NumberLiteral(node) => match &node.value {
                Number::Int(number) => number.as_i64(),
                _ => None,
            },
            Expr::UnaryOp(node) if node.op == UnaryOp::USub => {
                self.number(&node.operand)?.checked_neg()
            }
            _ => None,
        }
    }
}

fn letters(text: &str) -> Vec<String> {
    text.chars().map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_put_together() {
        for (text, expected) in [
            ("'f_' + 'back'", Some("f_back")),
            ("'f_' 'back'", Some("f_back")),
            ("A + B", Some("f_back")),
            ("f'{A}ba{\"ck\"}'", Some("f_back")),
            ("'%sback' % A", Some("f_back")),
            ("'%s%s' % (A, B)", Some("f_back")),
            ("'{}{}'.format(A, B)", Some("f_back")),
            ("'{1}{0}'.format(B, A)", Some("f_back")),
            ("'{x}back'.format(x=A)", Some("f_back")),
            ("'_'.join(['f', 'back'])", Some("f_back")),
            ("''.join(reversed('kcab_f'))", Some("f_back")),
            ("''.join(map(chr, [102, 95]))", Some("f_")),
            ("'kcab_f'[::-1]", Some("f_back")),
            ("'xf_backx'[1:-1]", Some("f_back")),
            ("'f-back'.replace('-', '_')", Some("f_back")),
            ("chr(102) + 'F_BACK'.lower()[1:]", Some("f_back")),
            ("b'f_back'.decode()", Some("f_back")),
            ("b'xf_back'[1:].decode('UTF-8')", Some("f_back")),
            ("str(b'f_back', 'ascii')", Some("f_back")),
            ("'{:s}'.format(A)", None),
            ("'{x.y}'.format(x=A)", None),
            ("f'{A:.1}'", None),
            ("f'{A!r}'", None),
            ("f'{A=}'", None),
            ("f'{b\"x\"}'", None),
            ("str(b'f_back')[2:-1]", None),
            ("b'f_back'[0]", None),
            ("''.join(b'f_back')", None),
            ("'f_bback'.replace('b', '', 1)", None),
            ("b'f_back'.decode('rot13')", None),
            ("str(b'f_back', 'utf-16')", None),
            ("'abc'.strip('a')", None),
            ("'ab' * 2", Some("abab")),
            ("NAMES[1]", Some("f_back")),
            ("twice", None),
            ("unknown + 'x'", None),
            ("'a' * 10000000", None),
            ("'abc'[7]", None),
        ] {
            let text = format!(
                "A, B = 'f_', 'back'\nNAMES = ('x', 'f_back')\ntwice = 'a'\ntwice += 'b'\n{text}\n"
            );
            let syntax = graph::Syntax::parse(graph::Source::new("x", text.as_str()));
            let bindings = Bindings::of(syntax.body());
            let found = match syntax.body().last() {
                Some(ruff_python_ast::Stmt::Expr(node)) => fold(&node.value, &bindings),
                _ => None,
            };
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
