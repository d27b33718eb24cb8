//! The examples of docstrings that a command runs, where no test of pytest's tells them.

use std::collections::BTreeMap;

use graph::Syntax;
use ruff_python_ast::{
    Stmt,
    visitor::{Visitor, walk_stmt},
};
use tools::Command;

use crate::codebase::Codebase;

/// The first function or class of the files that `python -m doctest` is given whose examples a gist has not.
pub fn untold(gist: &str, command: &Command, codebase: &Codebase) -> Option<String> {
    if !command.is_doctest() {
        return None;
    }
    let own = examples(gist);
    let files = command.args().iter().filter_map(|arg| codebase.file(arg));
    let all = files.flat_map(|file| examples(&file.text).into_iter().map(|one| (&file.path, one)));
    let is_lost = |(_, (block, text)): &(&String, (String, String))| own.get(block) != Some(text);
    let (path, (block, _)) = all.into_iter().find(is_lost)?;
    let name = if block.is_empty() { path } else { &block };
    Some(format!("the examples of {name} are not the original's"))
}

/// The docstrings with examples of a file, by block.
fn examples(text: &str) -> BTreeMap<String, String> {
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("file", text));
        let mut reader = Reader::default();
        reader.docstring(syntax.body());
        syntax.body().iter().for_each(|stmt| reader.visit_stmt(stmt));
        reader.found
    })
}

#[derive(Default)]
struct Reader {
    block: Vec<String>,
    found: BTreeMap<String, String>,
}

impl Reader {
    fn docstring(&mut self, body: &[Stmt]) {
        if let Some(text) = graph::examples(body) {
            self.found.insert(self.block.join("."), text.to_owned());
        }
    }
}

impl<'a> Visitor<'a> for Reader {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let (name, body) = match stmt {
            Stmt::FunctionDef(node) => (&node.name, &node.body),
            Stmt::ClassDef(node) => (&node.name, &node.body),
            _ => return walk_stmt(self, stmt),
        };
        self.block.push(name.to_string());
        self.docstring(body);
        walk_stmt(self, stmt);
        self.block.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_those_of_the_files_that_are_named() {
        let original = "\"\"\"Numbers.\n\n>>> 1\n1\n\"\"\"\n\n\nclass C:\n    def f(self):\n        \"\"\">>> 2\n        2\"\"\"\n\n    def g(self):\n        \"\"\"Nothing.\"\"\"\n";
        let codebase =
            Codebase::of_texts([("a.py", original), ("b.py", "def f():\n    '>>> 3'\n")]);
        let check = |gist: &str, command: &str, expected: Option<&str>| {
            let command = Command::parse(command).unwrap();
            assert_eq!(untold(gist, &command, &codebase).as_deref(), expected, "{gist}");
        };
        let named = "python -m doctest a.py";
        check(original, named, None);
        check(&original.replace("Nothing", "Something"), named, None);
        check(
            &original.replace(">>> 1", ""),
            named,
            Some("the examples of a.py are not the original's"),
        );
        check(
            &original.replace("2\"", "3\""),
            named,
            Some("the examples of C.f are not the original's"),
        );
        check("", "python -m unittest a.py", None);
    }
}
