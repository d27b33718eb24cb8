//! Lists the names that a statement binds, and detects statements that only create an alias.
//!
//! Works on syntax only: it resolves no name.

use ruff_python_ast::{Expr, Stmt};

/// Names that a simple statement assigns, and whether it only gives another name to something.
pub fn assigned(stmt: &Stmt) -> (Vec<String>, bool) {
    let (targets, value): (Vec<&Expr>, Option<&Expr>) = match stmt {
        Stmt::Assign(node) => (node.targets.iter().collect(), Some(&node.value)),
        Stmt::AnnAssign(node) => (vec![&node.target], node.value.as_deref()),
        Stmt::AugAssign(node) => (vec![&node.target], None),
        _ => return (Vec::new(), false),
    };
    let mut binds = Vec::new();
    let mut pending = targets;
    while let Some(target) = pending.pop() {
        match target {
            Expr::Name(name) => binds.push(name.id.to_string()),
            Expr::Tuple(tuple) => pending.extend(&tuple.elts),
            Expr::List(list) => pending.extend(&list.elts),
            Expr::Starred(starred) => pending.push(&starred.value),
            _ => {}
        }
    }
    binds.sort();
    (binds, value.is_some_and(is_alias))
}

/// A dotted name, or a module looked up by name.
fn is_alias(value: &Expr) -> bool {
    match value {
        Expr::Name(_) => true,
        Expr::Attribute(_) => dotted(value).is_some(),
        Expr::Subscript(node) => dotted(&node.value).as_deref() == Some("sys.modules"),
        Expr::Call(node) => matches!(
            dotted(&node.func).as_deref(),
            Some("sys.modules.get" | "__import__" | "importlib.import_module" | "types.ModuleType")
        ),
        _ => false,
    }
}

/// The text of a dotted name.
fn dotted(value: &Expr) -> Option<String> {
    let mut parts = Vec::new();
    let mut at = value;
    loop {
        match at {
            Expr::Attribute(node) => {
                parts.push(node.attr.as_str());
                at = &node.value;
            }
            Expr::Name(node) => {
                parts.push(node.id.as_str());
                parts.reverse();
                return Some(parts.join("."));
            }
            _ => return None,
        }
    }
}
