//! Lists the objects in which doctest searches for examples: the module, its functions and classes,
//! and their members.

use ruff_python_ast::Stmt;

use crate::{
    scope,
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// The entry for a module's own docstring in [`Documented::names`].
pub const DOCSTRING: &str = "__doc__";

/// The prompt with which an example in a docstring begins.
const PROMPT: &str = ">>>";

/// An object that has, or may have, a docstring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Documented {
    /// Its names inside the module, outermost first; `__doc__` for the module itself.
    pub names: Vec<String>,
    /// Its docstring, where that has examples.
    pub examples: Option<String>,
}

/// The objects of a file that doctest looks at, in the order of the file.
pub fn documented(source: Source) -> Vec<Documented> {
    with_deep_stack(|| {
        let syntax = Syntax::parse(source);
        let names = vec![DOCSTRING.to_owned()];
        let examples = examples(syntax.body()).map(str::to_owned);
        let mut found = vec![Documented { names, examples }];
        members(syntax.body(), &[], &mut found);
        found
    })
}

/// Returns the value of `__doc__` in a module: its docstring, as a version of Python compiles it; nothing for a module
/// without. From 3.13 on the compiler removes the indentation.
pub fn module_docstring(body: &[Stmt], python: (u8, u8)) -> Option<String> {
    let Stmt::Expr(first) = body.first()? else { return None };
    let text = first.value.as_string_literal_expr()?.value.to_str();
    Some(if python >= (3, 13) { unindented(text) } else { text.to_owned() })
}

fn unindented(text: &str) -> String {
    let text = expanded_tabs(text);
    let margin_of = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let rest = || text.split('\n').skip(1);
    let filled = rest().filter(|line| margin_of(line) < line.len());
    let margin = filled.map(margin_of).min().unwrap_or(0);
    let first = text.split('\n').next().unwrap_or_default().trim_start_matches(' ');
    let rest = rest().map(|line| &line[margin.min(margin_of(line))..]);
    [first].into_iter().chain(rest).collect::<Vec<_>>().join("\n")
}

fn expanded_tabs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut column = 0;
    for char in text.chars() {
        let width = if char == '\t' { 8 - column % 8 } else { 1 };
        match char {
            '\t' => out.extend(std::iter::repeat_n(' ', width)),
            _ => out.push(char),
        }
        column = if matches!(char, '\n' | '\r') { 0 } else { column + width };
    }
    out
}

/// The docstring with which a body begins, where it has examples.
pub(crate) fn examples(body: &[Stmt]) -> Option<&str> {
    let text = body.first()?.as_expr_stmt()?.value.as_string_literal_expr()?.value.to_str();
    text.contains(PROMPT).then_some(text)
}

fn members(body: &[Stmt], around: &[String], found: &mut Vec<Documented>) {
    scope::for_each_statement(body, &mut |stmt| {
        let (name, body) = match stmt {
            Stmt::FunctionDef(function) => (&function.name, &function.body),
            Stmt::ClassDef(class) => (&class.name, &class.body),
            _ => return,
        };
        let names = [around, &[name.to_string()]].concat();
        let examples = examples(body).map(str::to_owned);
        found.push(Documented { names: names.clone(), examples });
        if stmt.is_class_def_stmt() {
            members(body, &names, found);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_functions_is_not_looked_at() {
        let text = "'''\n>>> 1\n1\n'''\ndef f():\n    'None.'\n    def g():\n        '>>> 2'\nif f:\n    class C:\n        class D:\n            def h(self):\n                '>>> 3'\n";
        let found = documented(Source::new("m.py", text)).into_iter();
        let found: Vec<_> =
            found.map(|one| (one.names.join("."), one.examples.is_some())).collect();
        let expected =
            [("__doc__", true), ("f", false), ("C", false), ("C.D", false), ("C.D.h", true)];
        assert_eq!(found, expected.map(|(name, examples)| (name.to_owned(), examples)));
    }
}
