//! The fixtures that a pytest test takes part in: by its parameters, by marks, and those that every test
//! has.
//!
//! A fixture's name is that of its function. Plugins from outside the repository have theirs elsewhere.

use ruff_python_ast::{Expr, Stmt, StmtClassDef, StmtFunctionDef};

use crate::source::Source;

/// Returns true if a function is a fixture by a decorator.
pub(super) fn is_fixture(function: &StmtFunctionDef, source: &Source) -> bool {
    decorators(function, source).any(|text| head(text).ends_with("fixture"))
}

/// Returns true if a fixture is used by all tests in its reach.
pub(super) fn is_autouse(function: &StmtFunctionDef, source: &Source) -> bool {
    decorators(function, source).any(|text| {
        head(text).ends_with("fixture") && text.replace(' ', "").contains("autouse=True")
    })
}

/// The parts of a decorator before its arguments: `pytest.fixture`.
fn head(text: &str) -> &str {
    text.split('(').next().unwrap_or(text).trim()
}

fn decorators<'s>(
    function: &'s StmtFunctionDef,
    source: &'s Source,
) -> impl Iterator<Item = &'s str> {
    function.decorator_list.iter().map(|decorator| source.slice(&decorator.expression))
}

/// The names of fixtures that a function asks for: parameters without those that `parametrize` gives, and
/// those of `usefixtures`.
pub(super) fn asked_for(function: &StmtFunctionDef, class: Option<&StmtClassDef>) -> Vec<String> {
    let marks = function.decorator_list.iter();
    let marks: Vec<&Expr> = marks
        .chain(class.iter().flat_map(|class| &class.decorator_list))
        .map(|decorator| &decorator.expression)
        .collect();
    let given: Vec<String> = marks.iter().flat_map(|mark| texts_of(mark, "parametrize")).collect();
    let used = marks.iter().flat_map(|mark| texts_of(mark, "usefixtures"));
    let parameters = function.parameters.iter().map(|parameter| parameter.name().id.to_string());
    let asked = parameters.filter(|name| !given.contains(name) && name != "self" && name != "cls");
    asked.chain(used).collect()
}

/// The names in the arguments of a mark: of `parametrize` those in its first argument.
fn texts_of(mark: &Expr, name: &str) -> Vec<String> {
    let Expr::Call(call) = mark else { return Vec::new() };
    let Expr::Attribute(attribute) = &*call.func else { return Vec::new() };
    if &attribute.attr != name {
        return Vec::new();
    }
    let most = if name == "parametrize" { 1 } else { usize::MAX };
    let mut found = Vec::new();
    for argument in call.arguments.args.iter().take(most) {
        collect(argument, &mut found);
    }
    found
}

fn collect(expr: &Expr, found: &mut Vec<String>) {
    match expr {
        Expr::StringLiteral(text) => {
            let names = text.value.to_str().split(',');
            found.extend(names.map(|name| name.trim().to_owned()));
        }
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|inner| collect(inner, found)),
        Expr::List(list) => list.elts.iter().for_each(|inner| collect(inner, found)),
        _ => {}
    }
}

/// Paths of the conftests that a test file has, the nearest first.
pub(super) fn conftests(path: &str) -> Vec<String> {
    let mut folders: Vec<&str> = path.split('/').collect();
    let mut found = Vec::new();
    while folders.pop().is_some() {
        found.push([folders.as_slice(), &["conftest.py"]].concat().join("/"));
    }
    found
}

/// Returns true if pytest or unittest calls a method of a test class around its tests.
pub(super) fn is_setup(name: &str) -> bool {
    let names = ["setUp", "tearDown", "setUpClass", "tearDownClass", "asyncSetUp", "asyncTearDown"];
    names.contains(&name) || name.starts_with("setup_") || name.starts_with("teardown_")
}

/// The functions directly in a body.
pub(super) fn functions(body: &[Stmt]) -> impl Iterator<Item = (&Stmt, &StmtFunctionDef)> {
    body.iter().filter_map(|stmt| match stmt {
        Stmt::FunctionDef(function) => Some((stmt, function)),
        _ => None,
    })
}
