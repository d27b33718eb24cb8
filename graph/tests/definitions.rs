//! Definitions found in the whole standard library equal those that CPython's own ast finds.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use gistify_graph::{BuildOptions, EntityKind, Graph, WalkOptions};

/// The newest interpreter of the versions that this parser's grammar covers.
fn interpreter() -> Option<PathBuf> {
    let from_path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&from_path).collect();
    let pyenv = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv/versions"));
    let versions = pyenv.into_iter().filter_map(|path| fs::read_dir(path).ok()).flatten().flatten();
    directories.extend(versions.map(|version| version.path().join("bin")));
    ["python3.13", "python3.12"].iter().find_map(|name| {
        directories.iter().map(|directory| directory.join(name)).find(|path| {
            let works = Command::new(path).arg("-c").arg("pass").output();
            works.is_ok_and(|output| output.status.success())
        })
    })
}

/// Names of the classes and functions of a text, in the order of their lines.
fn check(text: &str, expected: &[&str]) {
    let graph = Graph::of_sources([("m.py", text)]);
    let mut found: Vec<(u32, &str)> = graph
        .entities
        .iter()
        .filter(|entity| entity.kind != EntityKind::Module)
        .map(|entity| (entity.keyword_line, entity.name.as_str()))
        .collect();
    found.sort_unstable();
    let names: Vec<&str> = found.into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, expected, "{text}");
}

#[test]
fn what_is_never_reached_is_defined_as_well() {
    check("try:\n    raise E\nexcept E:\n    def a(): ...\nelse:\n    def b(): ...\n", &["a", "b"]);
    check("def f():\n    return\n    def g(): ...\n", &["f", "g"]);
    check("def f():\n    try:\n        return\n    finally:\n        def g(): ...\n", &["f", "g"]);
    check("while True:\n    break\n    class A: ...\nelse:\n    class B: ...\n", &["A", "B"]);
    let platform = "import sys\nif sys.platform == 'win32':\n    def a(): ...\n";
    check(&format!("{platform}else:\n    def b(): ...\n"), &["a", "b"]);
    check(
        "match x:\n    case 1:\n        raise E\n        def a(): ...\n    case _: f = lambda: 1\n",
        &["a", "<lambda>"],
    );
    check("with a:\n    raise E\nassert False, lambda: 1\ndef b(): ...\n", &["<lambda>", "b"]);
}

#[test]
fn definitions_of_the_standard_library_are_those_of_ast() {
    let Some(python) = interpreter() else {
        println!("skipped: no Python 3.12 or 3.13 was found");
        return;
    };
    let ask = |arguments: &[&str]| {
        let output = Command::new(&python).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let root = ask(&["-c", "import os; print(os.path.dirname(os.__file__))"]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/definitions.py");
    let said = ask(&[script, root.trim()]);
    let walk = WalkOptions { obey_ignore_files: false, hidden: true, ..WalkOptions::default() };
    let graph =
        Graph::build(root.trim().as_ref(), &BuildOptions { walk, ..BuildOptions::default() });
    let mut ours: BTreeMap<&str, Vec<(String, String, u32, u32)>> = BTreeMap::new();
    for entity in graph.entities.iter().filter(|entity| entity.kind != EntityKind::Module) {
        let kind = match entity.kind {
            EntityKind::Class => "class",
            EntityKind::Lambda => "lambda",
            _ => "function",
        };
        let found = (kind.to_owned(), entity.name.clone(), entity.keyword_line, entity.end_line);
        ours.entry(&graph.module(entity.module).path).or_default().push(found);
    }
    let mut files = 0;
    for line in said.lines() {
        type Line = (String, Vec<(String, String, u32, u32)>);
        let (path, theirs): Line = serde_json::from_str(line).unwrap();
        let mut found = ours.remove(path.as_str()).unwrap_or_default();
        found.sort();
        let same = found == theirs;
        if !same {
            let missing: Vec<_> = theirs.iter().filter(|t| !found.contains(t)).take(5).collect();
            panic!("{path}: {} ours, {} theirs; {missing:?}", found.len(), theirs.len());
        }
        files += 1;
    }
    assert!(files > 500, "{files} files");
}
