//! Hooks of conftests and plugins that a gist has pytest take: none but the original's, under their own names.

use std::collections::BTreeSet;

use ruff_python_ast::{
    Expr, ExprCall, Stmt, StmtAssign,
    visitor::{Visitor, walk_expr},
};

use super::{
    bindings::Bindings,
    told::{filled, made},
};
use crate::{
    blocks::{Line, Outline, Role},
    codebase::Codebase,
    scorers::Executed,
};

const PLUGINS: &str = "pytest_plugins";
const PREFIX: &str = "pytest_";
/// The hook that a test's file may have.
const OF_TESTS: &str = "pytest_generate_tests";
/// The name of the next hook that is told of the session, and what was called before pytest read the gist.
const LATE: (&str, &str) = ("pytest_collection_finish", "pytest_sessionstart");

/// Whether a statement only names plugins: modules of the repository's own, and those that it names itself.
pub(super) fn names_plugins(
    statement: &str,
    codebase: &Codebase,
    is_internal: &(dyn Fn(&str) -> bool + Sync),
) -> bool {
    let Some(names) = list(statement) else { return false };
    let is_original = |name: &str| {
        let (single, double) = (format!("'{name}'"), format!("\"{name}\""));
        let lines = codebase.files().iter().flat_map(|file| &file.outline.lines);
        let mut lines = lines.filter(|line| line.binds.iter().any(|name| name == PLUGINS));
        lines.any(|line| line.text.contains(&single) || line.text.contains(&double))
    };
    names.iter().all(|name| is_internal(name) || is_original(name))
}

fn list(statement: &str) -> Option<Vec<String>> {
    let parsed = ruff_python_parser::parse_module(statement).ok()?;
    let [Stmt::Assign(StmtAssign { targets, value, .. })] = parsed.suite().as_slice() else {
        return None;
    };
    let [Expr::Name(target)] = &targets[..] else { return None };
    let Expr::List(list) = value.as_ref() else { return None };
    let text = |expr: &Expr| Some(expr.as_string_literal_expr()?.value.to_str().to_owned());
    (target.id.as_str() == PLUGINS).then(|| list.elts.iter().map(text).collect())?
}

/// Whether a statement names hooks, or tells an object of names that it does not say.
pub(super) fn names_hooks(statement: &str) -> bool {
    let hides = |statement: &str| {
        let parsed = ruff_python_parser::parse_module(statement).ok()?;
        let [Stmt::Expr(node)] = parsed.suite().as_slice() else { return None };
        let call = node.value.as_call_expr()?;
        let method = call.func.as_attribute_expr()?;
        Some(&method.attr == "update" && is_hidden(call))
    };
    statement.contains(PREFIX) || statement.starts_with("vars(") && hides(statement) == Some(true)
}

/// Whether an object is told of anything that is not said by its name.
fn is_hidden(call: &ExprCall) -> bool {
    let ExprCall { arguments, .. } = call;
    !arguments.args.is_empty() || arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
}

/// Mentions of modules that the file makes, and of places and full names, where they look like those of hooks.
struct Modules<'a> {
    bindings: &'a Bindings<'a>,
    named: usize,
    placed: usize,
}

impl<'v> Visitor<'v> for Modules<'_> {
    fn visit_expr(&mut self, expr: &'v Expr) {
        if let Expr::Name(name) = expr
            && name.ctx.is_load()
            && made(&name.id, self.bindings).is_some()
        {
            self.named += name.id.matches(PREFIX).count();
        }
        if let Expr::StringLiteral(text) = expr {
            let text = text.value.to_str();
            let is_whole = !text.contains(['/', '.']);
            self.placed += if is_whole { 0 } else { text.matches(PREFIX).count() };
        }
        walk_expr(self, expr);
    }
}

/// Whether a statement speaks of hooks in any other way than by telling an object of a function under its own
/// name, where that is a module which the file makes, by mentioning such modules, or by giving it a longer name.
pub(super) fn changes_hooks(statement: &str, bindings: &Bindings<'_>) -> bool {
    let Ok(parsed) = ruff_python_parser::parse_module(statement) else { return true };
    let mut modules = Modules { bindings, named: 0, placed: 0 };
    parsed.suite().iter().for_each(|stmt| modules.visit_stmt(stmt));
    let said = statement.matches(PREFIX).count().saturating_sub(modules.placed);
    let is_table = ["vars(", "__dict__"].iter().any(|table| statement.contains(table));
    if !is_table && modules.named > 0 && modules.named == said {
        return false;
    }
    let node = match parsed.suite().as_slice() {
        [Stmt::Expr(node)] => node,
        [Stmt::Assign(node)] => return !is_longer(node, bindings),
        _ => return true,
    };
    let Expr::Call(call) = node.value.as_ref() else { return true };
    let Some(object) = filled(call) else { return true };
    if is_hidden(call) || made(object, bindings).is_none() {
        return true;
    }
    let own = usize::from(object.starts_with(PREFIX));
    let told = call.arguments.keywords.iter().filter(|keyword| {
        let (name, value) = (keyword.arg.as_ref(), keyword.value.as_name_expr());
        name.zip(value).is_some_and(|(name, value)| {
            let own = longer_name(&value.id, bindings).unwrap_or(&value.id);
            name.starts_with(PREFIX) && (name.as_str() == own || is_late(name, own))
        })
    });
    said != 2 * told.count() + own
}

/// The hook for which a name stands that is longer: a gist with the hooks of two conftests has two of that one.
/// Of a test's file pytest takes one name alone for a hook.
pub(super) fn longer_name<'a>(name: &str, bindings: &Bindings<'a>) -> Option<&'a str> {
    let hook = bindings.once(name)?.as_name_expr()?.id.as_str();
    let rest = name.strip_prefix(hook).filter(|_| name != OF_TESTS)?;
    (rest.starts_with('_') && hook.starts_with(PREFIX)).then_some(hook)
}

/// Whether all that is done is to give a hook its [longer name](longer_name).
fn is_longer(node: &StmtAssign, bindings: &Bindings<'_>) -> bool {
    let [Expr::Name(target)] = &node.targets[..] else { return false };
    let value = node.value.as_name_expr().map(|name| name.id.as_str());
    value.is_some() && longer_name(&target.id, bindings) == value
}

/// Whether an object is told of a hook whose time has passed under the name of the next.
pub(super) fn is_late(name: &str, value: &str) -> bool {
    (name, value) == LATE
}

/// Hooks at the top level of a gist that names plugins, where nothing of them ran in the original; their lines.
pub fn idle_hooks<'a>(
    gist: &'a Outline,
    codebase: &'a Codebase,
    executed: &Executed,
) -> Vec<&'a Line> {
    if !gist.lines.iter().any(|line| line.binds.iter().any(|name| name == PLUGINS)) {
        return Vec::new();
    }
    let is_hook = |line: &&Line| line.block.starts_with(PREFIX) && !line.block.contains('.');
    let ran = |line: &Line| {
        codebase.places(line).any(|place| {
            let first = codebase.line(place).first;
            executed.lines(codebase.path(place)).binary_search(&first).is_ok()
        })
    };
    let hooks = gist.lines.iter().filter(is_hook);
    let is_inside = |line: &&Line| !matches!(line.role, Role::Definition | Role::Decorator);
    let alive: BTreeSet<&str> = hooks
        .clone()
        .filter(|line| is_inside(line) && ran(line))
        .map(|line| line.block.as_str())
        .collect();
    hooks
        .filter(|line| line.role == Role::Definition && !alive.contains(line.block.as_str()))
        .collect()
}
