//! Hooks of conftests and plugins that a gist has pytest take: none but the original's, under their own names.

use std::collections::BTreeSet;

use ruff_python_ast::{
    Expr, Stmt, StmtAssign,
    visitor::{Visitor, walk_expr},
};
use ruff_text_size::Ranged;

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
pub(super) const PREFIX: &str = "pytest_";
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

/// Whether a statement names hooks. Names that it does not say are [looked at](super::writes) wherever they are written.
pub(super) fn names_hooks(statement: &str) -> bool {
    statement.contains(PREFIX)
}

/// Mentions of modules that the file makes, where their names look like those of hooks.
struct Modules<'a> {
    bindings: &'a Bindings<'a>,
    named: usize,
}

impl<'v> Visitor<'v> for Modules<'_> {
    fn visit_expr(&mut self, expr: &'v Expr) {
        if let Expr::Name(name) = expr
            && name.ctx.is_load()
            && made(&name.id, self.bindings).is_some()
        {
            self.named += name.id.matches(PREFIX).count();
        }
        walk_expr(self, expr);
    }
}

/// Whether a statement speaks of hooks in any other way than by telling an object of a function under its own
/// name, where that is a module which the file makes, by mentioning such modules, or by giving it a longer name.
pub(super) fn changes_hooks(statement: &str, bindings: &Bindings<'_>) -> bool {
    let Ok(parsed) = ruff_python_parser::parse_module(statement) else { return true };
    let mut modules = Modules { bindings, named: 0 };
    parsed.suite().iter().for_each(|stmt| modules.visit_stmt(stmt));
    let said = statement.matches(PREFIX).count();
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
    let is_hidden = call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none());
    let Some(module) = made(object, bindings).filter(|_| !is_hidden) else { return true };
    let mut placed = Placed { statement, module: &module, found: 0 };
    placed.visit_expr(&node.value);
    let own = object.matches(PREFIX).count();
    let told = call.arguments.keywords.iter().filter(|keyword| {
        let (name, value) = (keyword.arg.as_ref(), keyword.value.as_name_expr());
        name.zip(value).is_some_and(|(name, value)| {
            let own = longer_name(&value.id, bindings).unwrap_or(&value.id);
            name.starts_with(PREFIX) && (name.as_str() == own || is_late(name, own))
        })
    });
    said != 2 * told.count() + own + placed.found
}

/// What looks like hooks in literals that say the name of a module, or where its file is.
struct Placed<'a> {
    statement: &'a str,
    module: &'a str,
    found: usize,
}

impl<'v> Visitor<'v> for Placed<'_> {
    fn visit_expr(&mut self, expr: &'v Expr) {
        if let Expr::StringLiteral(text) = expr {
            let place = text.value.to_str().trim_matches('/');
            let place = place.strip_suffix(".py").unwrap_or(place);
            let place = place.strip_suffix("/__init__").unwrap_or(place).replace('/', ".");
            let rest = place.strip_suffix(self.module);
            // As it is written: what is put together says something else.
            let written = &self.statement[text.range()];
            let is_it = rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
            self.found += if is_it { written.matches(PREFIX).count() } else { 0 };
        }
        walk_expr(self, expr);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_told_of_hooks_by_their_names_alone() {
        const MADE: &str = "import types\npytest_kit = types.ModuleType('pkg.pytest_kit')\nmy_pytest_kit = types.ModuleType('pkg.my_pytest_kit')\n";
        let syntax = graph::Syntax::parse(graph::Source::new("gist", MADE));
        let bindings = Bindings::of(syntax.body());
        for (statement, fine) in [
            ("vars(pytest_kit).update(pytest_configure=pytest_configure)", true),
            ("vars(pytest_kit).update(__file__=f + '/pkg/pytest_kit.py')", true),
            ("vars(pytest_kit).update(__file__=f + '/src/pkg/pytest_kit/__init__.py')", true),
            ("vars(pytest_kit).update(__spec__=spec('pkg.pytest_kit'), a=a)", true),
            ("vars(my_pytest_kit).update(double=double)", true),
            ("vars(pytest_kit).update(pytest_configure=lax)", false),
            ("vars(pytest_kit).update(pytest_configure=lax, x='py' 'test_.')", false),
            ("vars(pytest_kit).update(pytest_configure=lax, x='/pkg/py' 'test_kit.py')", false),
            ("vars(pytest_kit).update(x='/pkg/pytest_other.py')", false),
            ("vars(pytest_kit).update(x=f('pytest_configure/a'))", false),
            ("pytest_kit.pytest_configure = lax if 'py' 'test_.' else 0", false),
        ] {
            let changes = names_hooks(statement) && changes_hooks(statement, &bindings);
            assert_eq!(!changes, fine, "{statement}");
        }
    }
}
