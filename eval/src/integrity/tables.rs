//! Tables of names: `globals()`, `vars(x)`, `x.__dict__` and the like, under whatever name.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use super::bindings::{Bindings, chain};

/// What does no more with a table of names than to look at it.
pub(super) const READS: [&str; 12] = [
    "dict",
    "list",
    "sorted",
    "len",
    "iter",
    "set",
    "tuple",
    "frozenset",
    "str",
    "repr",
    "print",
    "isinstance",
];

/// `globals()`, `vars(x)`, `x.__dict__` and the like, or a name of it: where names are looked up by strings.
pub(super) fn table(expr: &Expr, bindings: &Bindings<'_>) -> Option<String> {
    match expr {
        Expr::Call(node) => {
            let name = bindings.resolve(&chain(&node.func)?)?;
            let last = name.rsplit('.').next().unwrap_or(&name).to_owned();
            matches!(&*last, "globals" | "vars" | "locals").then(|| format!("{last}("))
        }
        Expr::Attribute(node) if node.attr.as_str() == "__dict__" => Some("__dict__".to_owned()),
        Expr::Name(name) if name.id.as_str() == "__builtins__" => Some("__builtins__".to_owned()),
        Expr::Name(name) => {
            let values = bindings.values_at(&name.id, name.start());
            values.filter(|value| !value.is_name_expr()).find_map(|value| table(value, bindings))
        }
        _ => None,
    }
}

/// The word by which an original excuses what is done to a table of names: that of a module which the file
/// makes itself stands where the original has its own.
pub(super) fn excuse(expr: &Expr, bindings: &Bindings<'_>) -> String {
    let is_own = owner(expr).is_some_and(|of| is_made(of, bindings));
    if is_own { "globals(".to_owned() } else { table(expr, bindings).unwrap_or_default() }
}

/// Whose names a table has, where that is said.
pub(super) fn owner(table: &Expr) -> Option<&Expr> {
    match table {
        Expr::Call(call) => call.arguments.args.first(),
        Expr::Attribute(attribute) => Some(&attribute.value),
        _ => None,
    }
}

/// A table of names that are not only those of a module which the file makes itself; `at_top` where no
/// function or class is around.
pub(super) fn shared_table(expr: &Expr, bindings: &Bindings<'_>, at_top: bool) -> Option<String> {
    match expr {
        Expr::Call(_) | Expr::Attribute(_) => {
            let is_shared = owner(expr).is_none_or(|of| {
                let is_defined = matches!(of, Expr::Name(name) if bindings.is_defined(&name.id));
                let is_foreign = bindings.outside(of).is_some() || is_own(of, bindings);
                (is_foreign || is_defined) && !(at_top && is_made(of, bindings))
            });
            table(expr, bindings).filter(|_| is_shared)
        }
        Expr::Name(name) => {
            let values = bindings.values_at(&name.id, name.start());
            let mut values = values.filter(|value| !value.is_name_expr());
            values.find_map(|value| shared_table(value, bindings, at_top))
        }
        _ => None,
    }
}

/// The table of names that an expression is, or is a copy of.
pub(super) fn copied<'a>(expr: &'a Expr, bindings: &Bindings<'a>) -> Option<&'a Expr> {
    copied_of(expr, bindings, &mut FxHashSet::default())
}

/// As `copied`, without the names that were gone back to: a name may be given a copy of itself.
fn copied_of<'a>(
    expr: &'a Expr,
    bindings: &Bindings<'a>,
    seen: &mut FxHashSet<&'a str>,
) -> Option<&'a Expr> {
    if !expr.is_name_expr() && table(expr, bindings).is_some() {
        return Some(expr);
    }
    match expr {
        Expr::Call(call) => {
            let first = call.arguments.args.first();
            let of = match &*call.func {
                Expr::Name(name) if matches!(name.id.as_str(), "dict" | "copy") => first,
                Expr::Attribute(method) if &method.attr == "copy" => first.or(Some(&method.value)),
                _ => None,
            };
            copied_of(of?, bindings, seen)
        }
        Expr::Name(name) if seen.insert(name.id.as_str()) => {
            let values = bindings.values_at(&name.id, name.start());
            let mut values = values.filter(|value| !value.is_name_expr());
            values.find_map(|value| copied_of(value, bindings, seen))
        }
        _ => None,
    }
}

/// Whether a name of the top level is, up to there, only that of a module which the file makes itself.
pub(super) fn is_made(expr: &Expr, bindings: &Bindings<'_>) -> bool {
    let made = |value: &&Expr| {
        let call = value.as_call_expr().and_then(|call| chain(&call.func));
        call.and_then(|name| bindings.resolve(&name)).as_deref() == Some("types.ModuleType")
    };
    let known = expr.as_name_expr().and_then(|name| bindings.known_until(&name.id, name.start()));
    known.is_some_and(|values| values.iter().all(made))
}

/// Whether an expression is the file's own module.
pub(super) fn is_own(expr: &Expr, bindings: &Bindings<'_>) -> bool {
    let values = expr.as_name_expr().map_or(&[][..], |name| bindings.values(&name.id));
    is_itself(expr) || values.iter().any(|value| is_itself(value))
}

/// Whether a value is the gist itself: `sys.modules[__name__]`, `sys.modules.get(__name__)`.
pub(super) fn is_itself(expr: &Expr) -> bool {
    let is_name = |expr: &Expr| matches!(expr, Expr::Name(name) if name.id.as_str() == "__name__");
    let is_modules = |expr: &Expr| chain(expr).is_some_and(|name| name == "sys.modules");
    match expr {
        Expr::Subscript(node) => is_modules(&node.value) && is_name(&node.slice),
        Expr::Call(node) => {
            chain(&node.func).is_some_and(|name| name == "sys.modules.get")
                && node.arguments.args.first().is_some_and(is_name)
        }
        _ => false,
    }
}
