//! Tests sources and files that are made to break the reader (rows P01-P08): no panic, no hang, and
//! a report of every skipped file.

use std::{fs, path::Path};

use gistify_graph::{BuildOptions, FileSkipReason, Graph, WalkOptions};

/// Builds a graph of a repository with one file; how long that takes is for the bench.
fn built(text: &str) -> Graph {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("m.py"), text).unwrap();
    let graph = Graph::build(directory.path(), &BuildOptions::default());
    assert_eq!(graph.modules.len() + graph.skipped.len(), 1, "{:?}", graph.skipped);
    graph
}

#[test]
fn p01_deep_nesting_is_survived() {
    let deep = 100_000;
    for text in [
        format!("x = {}1{}", "(".repeat(deep), ")".repeat(deep)),
        format!("x = {}1", "not ".repeat(deep)),
        format!("x = a{}", ".b".repeat(deep)),
        format!("x = {}1", "1+".repeat(2 * deep)),
        format!("x = {}1{}", "[".repeat(deep), "]".repeat(deep)),
        format!("x = f{}", "()".repeat(deep)),
        format!("x = {}1", "lambda: ".repeat(20_000)),
        format!("x = {}", "-".repeat(deep)),
    ] {
        let source = format!("def before(): pass\n{text}\ndef after(): before()\n");
        let graph = built(&source);
        let names: Vec<&str> = graph.entities.iter().map(|entity| entity.name.as_str()).collect();
        assert!(names.contains(&"before"), "{}", &text[..20]);
    }
}

#[test]
fn p02_unclosed_brackets_are_survived() {
    for bracket in ["(", "[", "{", "f(", "x["] {
        built(&format!("def before(): pass\n{}", bracket.repeat(200_000)));
    }
}

#[test]
fn p05_python_2_gives_what_it_can() {
    let graph = built("def f():\n    print 'x'\n    exec 'y'\n\nclass A:\n    def g(self): f()\n");
    assert!(!graph.modules[0].errors.is_empty());
    let names: Vec<&str> = graph.entities.iter().map(|entity| entity.name.as_str()).collect();
    for name in ["f", "A", "g"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
}

#[test]
fn p03_encodings_give_a_graph_or_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
    write("bom.py", b"\xef\xbb\xbfdef f(): pass\n");
    write("latin.py", b"# coding: latin-1\ndef g(): '\xe9'\n");
    write("wrong.py", b"def h(): '\xe9'\n");
    write("null.py", b"def i(): pass\n\0");
    write("bogus.py", b"# coding: bogus\ndef j(): pass\n");
    write("utf7.py", b"# coding: utf-7\ndef k(): pass\n");
    let graph = Graph::build(directory.path(), &BuildOptions::default());
    for name in ["f", "g", "h", "i", "j", "k"] {
        assert!(graph.entities.iter().any(|entity| entity.name == name), "{name}");
    }
    let skipped: Vec<&str> = graph.skipped.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(skipped, ["bogus.py", "null.py", "utf7.py", "wrong.py"]);
}

/// Checks the line numbers against CPython 3.13's `ast`.
#[test]
fn p04_newlines_count_as_pythons() {
    let graph = built(
        "x = 1\rdef a(): pass\r\ndef b(): pass\n\x0c\ndef c():\n\treturn 1\r\r\n\
         def d(): pass\ny = '\u{2028}\u{85}\x1c'\ndef e():\n  if x:\n    \treturn 2\n",
    );
    let lines: Vec<(&str, u32)> =
        graph.entities.iter().skip(1).map(|entity| (entity.name.as_str(), entity.line)).collect();
    assert_eq!(lines, [("a", 2), ("b", 3), ("c", 5), ("d", 8), ("e", 10)]);
}

#[cfg(unix)]
#[test]
fn p06_odd_files_are_reported() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("good.py"), "def f(): pass\n").unwrap();
    symlink("/dev/zero", path("zero.py")).unwrap();
    symlink("loop.py", path("loop.py")).unwrap();
    symlink("/", path("root")).unwrap();
    symlink("good.py", path("same.py")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(path("pipe.py")).status();
    fs::create_dir(path("class.py")).unwrap();
    let graph = Graph::build(directory.path(), &BuildOptions::default());
    let paths: Vec<&str> = graph.modules.iter().map(|module| module.path.as_str()).collect();
    assert_eq!(paths, ["good.py", "same.py"]);
    let reason = |name: &str| {
        graph.skipped.iter().find(|file| file.path == name).map(|file| file.reason.clone())
    };
    assert_eq!(reason("zero.py"), Some(FileSkipReason::Link));
    assert_eq!(reason("loop.py"), Some(FileSkipReason::Link));
    if made.is_ok_and(|status| status.success()) {
        assert_eq!(reason("pipe.py"), Some(FileSkipReason::NotRegular));
    }
}

#[cfg(unix)]
#[test]
fn p06_what_may_not_be_read_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shut.py");
    fs::write(&path, "def f(): pass\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        println!("skipped: this user may read everything");
        return;
    }
    let graph = Graph::build(directory.path(), &BuildOptions::default());
    assert!(graph.modules.is_empty());
    assert!(
        matches!(graph.skipped[0].reason, FileSkipReason::Unreadable(_)),
        "{:?}",
        graph.skipped
    );
}

#[test]
fn p07_large_files_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let file = fs::File::create(directory.path().join("large.py")).unwrap();
    file.set_len(1 << 30).unwrap();
    let graph = Graph::build(directory.path(), &BuildOptions::default());
    assert_eq!(graph.skipped[0].reason, FileSkipReason::TooLarge(WalkOptions::default().largest));
    assert!(graph.modules.is_empty());
}

#[test]
fn p08_cycles_and_namespaces_resolve() {
    let graph = Graph::of_sources([
        ("a.py", "import b\ndef f(): b.g()\n"),
        ("b.py", "from a import f\ndef g(): f()\n"),
        ("ns/inner.py", "def h(): pass\n"),
        ("use.py", "from ns.inner import h\nfrom ns import inner\nh(); inner.h()\n"),
        ("star.py", "from star import *\nfrom a import *\nf()\n"),
    ]);
    let calls: Vec<String> = graph
        .calls
        .iter()
        .map(|edge| format!("{} {}", graph.qualified(edge.caller), graph.qualified(edge.callee)))
        .collect();
    assert_eq!(calls, ["a.f b.g", "b.g a.f", "star a.f", "use ns.inner.h"]);
}

/// Names are one where Python says that they are, and a module may be called like a keyword.
#[test]
fn p08_names_are_as_python_reads_them() {
    let graph = Graph::of_sources([
        ("class.py", "def k(): pass\n"),
        (
            "n.py",
            "def \u{fb01}x(): pass\ndef use(): fix()\nclass C:\n    def \u{2167}(self): self.VIII()\n",
        ),
        ("o.py", "from n import fix as g, \u{fb01}x as h\ng(); h()\n"),
    ]);
    let names: Vec<String> = graph.modules.iter().map(|module| module.name.to_string()).collect();
    assert_eq!(names, ["class", "n", "o"]);
    let calls: Vec<String> = graph
        .calls
        .iter()
        .map(|edge| format!("{} {}", graph.qualified(edge.caller), graph.qualified(edge.callee)))
        .collect();
    assert_eq!(calls, ["n.use n.fix", "n.C.VIII n.C.VIII", "o n.fix"]);
}

#[test]
fn a_missing_directory_is_an_empty_graph() {
    let graph = Graph::build(Path::new("/nonexistent/for/certain"), &BuildOptions::default());
    assert!(graph.modules.is_empty());
}
