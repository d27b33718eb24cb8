//! Tests the module dependency graph of small repositories: each form of import, with its weight
//! and place.

use gistify_graph::Graph;

/// Edges as `from -> to weight place`.
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let graph = Graph::of_sources(files.iter().copied());
    let found: Vec<String> = graph
        .imports
        .iter()
        .map(|edge| {
            let place = serde_json::to_value(edge.place).unwrap();
            let (from, to) = (&graph.module(edge.from).path, &graph.module(edge.to).path);
            format!("{from} -> {to} {} {}", edge.weight, place.as_str().unwrap())
        })
        .collect();
    assert_eq!(found, expected, "{files:?}");
}

#[test]
fn weights_count_the_uses_of_imported_names() {
    check(
        &[("a.py", "import b\nfrom b import f, g\nf(); f(); g()\nb.f()\n"), ("b.py", "")],
        &["a.py -> b.py 4 module"],
    );
    check(&[("a.py", "import b\n"), ("b.py", "")], &["a.py -> b.py 1 module"]);
}

#[test]
fn relative_imports_and_re_exports_lead_home() {
    check(
        &[
            ("p/__init__.py", "from .a import f\n"),
            ("p/a.py", "from . import b\nfrom .s import c\ndef f(): b\n"),
            ("p/b.py", ""),
            ("p/s/__init__.py", ""),
            ("p/s/c.py", "from ..a import f\nf()\n"),
        ],
        &[
            "p/__init__.py -> p/a.py 1 module",
            "p/a.py -> p/b.py 1 module",
            "p/a.py -> p/s/c.py 1 module",
            "p/s/c.py -> p/a.py 1 module",
        ],
    );
}

#[test]
fn layouts_are_understood() {
    check(
        &[
            ("src/pkg/__init__.py", ""),
            ("src/pkg/a.py", "import pkg.b\npkg.b\n"),
            ("src/pkg/b.py", ""),
            ("tests/test_a.py", "from pkg.a import x\n"),
        ],
        &["src/pkg/a.py -> src/pkg/b.py 1 module", "tests/test_a.py -> src/pkg/a.py 1 module"],
    );
    check(
        &[("ns/one/a.py", "from ns.two import b\n"), ("ns/two/b.py", "")],
        &["ns/one/a.py -> ns/two/b.py 1 module"],
    );
    check(
        &[("a.py", "from b import *\nf()\n"), ("b.py", "def f(): pass\n")],
        &["a.py -> b.py 1 module"],
    );
}

#[test]
fn places_are_marked() {
    let typing = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import b\n";
    check(&[("a.py", typing), ("b.py", "")], &["a.py -> b.py 1 type-checking"]);
    check(&[("a.py", "def f():\n    import b\n"), ("b.py", "")], &["a.py -> b.py 1 function"]);
    check(
        &[("a.py", "def f():\n    import b\nimport b\n"), ("b.py", "")],
        &["a.py -> b.py 2 module"],
    );
}
