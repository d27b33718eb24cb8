//! Tests that have one outcome wherever the targets run: platform and version of the interpreter.
//!
//! What type checkers agree on (PEP 484, "Version and platform checking"): the names are taken at their
//! word, and whatever is not plainly decided stays open.

use std::cmp::Ordering;

use ruff_python_ast::{BoolOp, CmpOp, Expr, Number, UnaryOp};

use crate::pythons::Pythons;

/// `sys.platform` of all targets.
const PLATFORM: &str = "linux";
/// `os.name` of all targets.
const OS: &str = "posix";
/// Longer conditions are not looked through.
const DEEPEST: u32 = 32;

/// Returns the value of a condition, if it is known.
pub(super) fn outcome(test: &Expr, pythons: Pythons) -> Option<bool> {
    known(test, pythons, DEEPEST)
}

fn known(test: &Expr, pythons: Pythons, depth: u32) -> Option<bool> {
    let depth = depth.checked_sub(1)?;
    match test {
        Expr::UnaryOp(not) if not.op == UnaryOp::Not => {
            known(&not.operand, pythons, depth).map(|is| !is)
        }
        Expr::BoolOp(all) => {
            let decisive = all.op == BoolOp::Or;
            let mut parts = all.values.iter().map(|part| known(part, pythons, depth));
            if parts.clone().any(|part| part == Some(decisive)) {
                return Some(decisive);
            }
            parts.all(|part| part.is_some()).then_some(!decisive)
        }
        Expr::Compare(compare) => match (&*compare.ops, &*compare.comparators) {
            ([operator], [right]) => compared(&compare.left, *operator, right, pythons),
            _ => None,
        },
        Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
            (Expr::Attribute(method), [start]) if &method.attr == "startswith" => {
                Some(text(&method.value)?.starts_with(literal(start)?))
            }
            _ => None,
        },
        _ => None,
    }
}

fn compared(left: &Expr, operator: CmpOp, right: &Expr, pythons: Pythons) -> Option<bool> {
    if let Some(is) = text(left) {
        let among = || -> Option<bool> {
            let items = match right {
                Expr::Tuple(tuple) => &tuple.elts,
                Expr::List(list) => &list.elts,
                Expr::Set(set) => &set.elts,
                _ => return None,
            };
            let texts: Option<Vec<&str>> = items.iter().map(literal).collect();
            Some(texts?.contains(&is))
        };
        return match operator {
            CmpOp::Eq => Some(literal(right)? == is),
            CmpOp::NotEq => Some(literal(right)? != is),
            CmpOp::In => among(),
            CmpOp::NotIn => among().map(|inside| !inside),
            _ => None,
        };
    }
    let part = version(left)?;
    let parts = if part == Part::Major { 1 } else { 2 };
    let wanted = numbers(right)?;
    let decide = |version: &[i64; 2]| -> Option<bool> {
        // A version has more parts than are written here, so that it is never equal to two of them.
        let order = version[..parts].cmp(&wanted);
        match (order, part, operator) {
            (Ordering::Equal, Part::All, _) => {
                Some(matches!(operator, CmpOp::Gt | CmpOp::GtE | CmpOp::NotEq))
            }
            // Three numbers or more: the last ones may decide.
            _ if part == Part::All && wanted.len() > 2 && version[..] == wanted[..2] => None,
            (order, _, CmpOp::Eq) => Some(order.is_eq()),
            (order, _, CmpOp::NotEq) => Some(order.is_ne()),
            (order, _, CmpOp::Lt) => Some(order.is_lt()),
            (order, _, CmpOp::LtE) => Some(order.is_le()),
            (order, _, CmpOp::Gt) => Some(order.is_gt()),
            (order, _, CmpOp::GtE) => Some(order.is_ge()),
            _ => None,
        }
    };
    let versions =
        [pythons.oldest(), pythons.newest()].map(|(major, minor)| [major.into(), minor.into()]);
    let [oldest, newest] = versions.each_ref().map(decide);
    let equality = matches!(operator, CmpOp::Eq | CmpOp::NotEq);
    // Versions between the two may be equal to what is neither.
    let between = equality
        && parts == 2
        && versions[0] != versions[1]
        && wanted.first() == Some(&versions[0][0]);
    (oldest == newest && !between).then_some(oldest).flatten()
}

/// The value of `sys.platform` or `os.name`.
fn text(expr: &Expr) -> Option<&'static str> {
    match dotted(expr)? {
        ("sys", "platform") => Some(PLATFORM),
        ("os", "name") => Some(OS),
        _ => None,
    }
}

/// The part of `sys.version_info` that an expression reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// `sys.version_info[0]`, `sys.version_info.major`.
    Major,
    /// `sys.version_info[:2]`.
    Two,
    /// All of it, of which two parts are known.
    All,
}

fn version(expr: &Expr) -> Option<Part> {
    let number = |expr: &Expr| match expr {
        Expr::NumberLiteral(number) => match &number.value {
            Number::Int(index) => index.as_i64(),
            _ => None,
        },
        _ => None,
    };
    match expr {
        Expr::Subscript(subscript) => {
            let part = match &*subscript.slice {
                Expr::Slice(slice) => {
                    let from = slice.lower.as_deref().map_or(Some(0), number);
                    let to = slice.upper.as_deref().and_then(number);
                    (from == Some(0) && to == Some(2) && slice.step.is_none()).then_some(Part::Two)
                }
                index => (number(index) == Some(0)).then_some(Part::Major),
            };
            part.filter(|_| dotted(&subscript.value) == Some(("sys", "version_info")))
        }
        Expr::Attribute(attribute) if &attribute.attr == "major" => {
            (dotted(&attribute.value)? == ("sys", "version_info")).then_some(Part::Major)
        }
        _ => (dotted(expr)? == ("sys", "version_info")).then_some(Part::All),
    }
}

fn dotted(expr: &Expr) -> Option<(&str, &str)> {
    let Expr::Attribute(attribute) = expr else { return None };
    let Expr::Name(base) = &*attribute.value else { return None };
    Some((&base.id, &attribute.attr))
}

fn literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::StringLiteral(string) => Some(string.value.to_str()),
        _ => None,
    }
}

fn numbers(expr: &Expr) -> Option<Vec<i64>> {
    let number = |expr: &Expr| match expr {
        Expr::NumberLiteral(number) => match &number.value {
            Number::Int(value) => value.as_i64(),
            _ => None,
        },
        _ => None,
    };
    match expr {
        Expr::Tuple(tuple) => tuple.elts.iter().map(number).collect(),
        _ => number(expr).map(|only| vec![only]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: Option<bool>, tests: &[&str]) {
        check_on(Pythons::SUPPORTED, expected, tests);
    }

    fn check_on(pythons: Pythons, expected: Option<bool>, tests: &[&str]) {
        for test in tests {
            let parsed = ruff_python_parser::parse_expression(test).unwrap();
            assert_eq!(outcome(parsed.expr(), pythons), expected, "{test}");
        }
    }

    #[test]
    fn platforms_and_versions_are_decided() {
        check(
            Some(true),
            &[
                "sys.platform == 'linux'",
                "sys.platform != 'win32'",
                "sys.platform.startswith('linux')",
                "os.name == 'posix'",
                "not os.name == 'nt'",
                "sys.version_info >= (3, 8)",
                "sys.version_info >= (3,)",
                "sys.version_info > (3, 0)",
                "sys.version_info[0] == 3",
                "sys.version_info.major >= 3",
                "sys.version_info < (4,)",
                "sys.version_info < (3, 16)",
                "sys.platform in ('linux', 'darwin')",
                "x or sys.version_info >= (3, 9)",
            ],
        );
        check(
            Some(false),
            &[
                "sys.platform == 'win32'",
                "sys.platform.startswith('win') and x",
                "sys.platform not in ['linux']",
                "sys.version_info < (3, 9)",
                "sys.version_info < (3, 7, 2)",
                "sys.version_info[0] < 3",
                "sys.version_info.major == 2",
                "sys.version_info == (2, 7)",
            ],
        );
        check(
            None,
            &[
                "sys.version_info >= (3, 11)",
                "sys.version_info >= (3, 9, 2)",
                "sys.version_info < (3, 14)",
                "sys.version_info >= (3, 15, 1)",
                "sys.version_info == (3, 11)",
                "sys.version_info[1] > 2",
                "platform == 'win32'",
                "sys.platform == WINDOWS",
                "x and sys.platform == 'linux'",
            ],
        );
    }

    #[test]
    fn a_known_version_decides_its_gates() {
        let on = |minor| Pythons::only((3, minor));
        let gates = ["sys.version_info >= (3, 14)", "not sys.version_info < (3, 14)"];
        check_on(on(13), Some(false), &gates);
        check_on(on(14), Some(true), &gates);
        check_on(on(15), Some(true), &gates);
        check_on(
            on(14),
            Some(true),
            &["sys.version_info[:2] == (3, 14)", "sys.version_info[:2] <= (3, 14)"],
        );
        check_on(
            on(14),
            Some(false),
            &["sys.version_info[:2] > (3, 14)", "sys.version_info == (3, 14)"],
        );
        check_on(on(14), None, &["sys.version_info >= (3, 14, 2)"]);
    }
}
