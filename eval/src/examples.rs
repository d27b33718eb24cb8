//! The examples of docstrings that a command runs, where no test of pytest's tells them.

use std::collections::BTreeMap;

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

/// The docstrings with examples of a file, by block; the block of its own is empty.
fn examples(text: &str) -> BTreeMap<String, String> {
    let all = graph::documented(graph::Source::new("file", text)).into_iter();
    let told = all.filter_map(|one| Some((one.names, one.examples?)));
    let block = |names: Vec<String>| match &names[..] {
        [name] if name == graph::DOCSTRING => String::new(),
        _ => names.join("."),
    };
    told.map(|(names, text)| (block(names), text)).collect()
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
