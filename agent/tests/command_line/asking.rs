//! Tests the output of the questions about a repository's graphs.

use super::*;

const SMALL: &str = r#"
#- pkg/__init__.py
"""A package."""
#- pkg/high.py
from pkg.low import base


def top(items):
    """Adds up."""
    return base(items) + 1


class Box:
    def open(self):
        return top([1])
#- pkg/low.py
def base(items):
    total = 0
    for item in items:
        if item:
            total += item
    return total


def pair(x):
    return base(x), other(x)


def other(x):
    return x
"#;

#[test]
fn answers_are_lines() {
    let user = User::new();
    user.repository("small", SMALL.trim_start());
    let check = |args: &[&str], expected: &str| {
        let ran = user.gistify(&[&["-q"], args].concat());
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, expected, ""), "{args:?}");
    };
    let refs = ["refs", "small", "pkg.low.base"];
    let with = |more: &[&'static str]| [&refs[..], more].concat();
    check(
        &refs,
        " 1  pkg.high  pkg/high.py:1\n 1  pkg.high.top  pkg/high.py:6\n 1  pkg.low.pair  pkg/low.py:10\n",
    );
    check(
        &with(&["--hops", "1"]),
        " 0  pkg.low.base  pkg/low.py:1\n 1  pkg.high.top  pkg/high.py:6\n 1  pkg.low.pair  pkg/low.py:10\n",
    );
    check(
        &with(&["--hops", "2"]),
        " 0  pkg.low.base  pkg/low.py:1\n 1  pkg.high.top  pkg/high.py:6\n 1  pkg.low.pair  pkg/low.py:10\n 2  pkg.high.top  pkg/high.py:4\n 2  pkg.low.pair  pkg/low.py:9\n 2  pkg.low.other  pkg/low.py:13\n",
    );
    // Along the first chain to its end, before the second begins.
    check(
        &with(&["--hops", "2", "--depth-first"]),
        " 0  pkg.low.base  pkg/low.py:1\n 1  pkg.high.top  pkg/high.py:6\n 2  pkg.high.top  pkg/high.py:4\n 1  pkg.low.pair  pkg/low.py:10\n 2  pkg.low.pair  pkg/low.py:9\n 2  pkg.low.other  pkg/low.py:13\n",
    );
    check(
        &["callers", "small", "pkg.low.base"],
        " 1  pkg.high.top  pkg/high.py:4\n 1  pkg.low.pair  pkg/low.py:9\n",
    );
    let lost = user.gistify(&["-q", "refs", "small", "nobody"]);
    assert_eq!(lost.code, 3, "{}", lost.err);
}

#[test]
fn the_tree_is_nested_by_level() {
    let user = User::new();
    user.repository("small", SMALL.trim_start());
    let ran = user.gistify(&["-q", "graph", "small", "--format", "tree"]);
    let tree: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let package = &tree["children"][0];
    assert_eq!((&package["level"], &package["name"]), (&"package".into(), &"pkg".into()));
    let high = &package["children"][1];
    let names: Vec<&str> = high["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["top", "Box"]);
    assert_eq!(high["children"][0]["signature"], "def top(items)");
    assert_eq!(high["children"][0]["doc"], "Adds up.");
    assert_eq!(high["children"][1]["children"][0]["lines"], serde_json::json!([10, 11]));
}

#[test]
fn features_are_weighed_by_the_settings() {
    let user = User::new();
    user.repository("small", SMALL.trim_start());
    let ranked = |sets: &[&'static str]| {
        let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
        let ran = user.gistify(&[&["-q", "rank", "small", "--json"][..], &sets].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    let usual = ranked(&[]);
    assert_eq!(ranked(&["graph.weights.usage=1.0"]), usual);
    assert_ne!(ranked(&["graph.weights.usage=0.0"]), usual);
    let wrong = user.gistify(&["-q", "rank", "small", "--set", "graph.weights.usage=-1"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
}

#[test]
fn a_focus_is_understood_or_said_to_fit_nothing() {
    let user = User::new();
    let root = user.repository("small", SMALL.trim_start());
    let ranked = |focus: &str| {
        let args = ["rank", "small", "--json", "--focus", focus];
        let ran = user.gistify(&args[..if focus.is_empty() { 3 } else { 5 }]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let answer: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        (answer["modules"].clone(), answer["unmatched"].clone(), ran.err)
    };
    let near = ranked("pkg/low.py").0;
    assert_ne!(near, ranked("").0);
    let whole = root.join("pkg/low.py");
    for alike in ["./pkg/low.py", whole.to_str().unwrap(), "pkg.low", "pkg.low.pair"] {
        assert_eq!(ranked(alike).0, near, "{alike}");
    }
    assert_eq!(ranked("is there a pair?").0, ranked("pair").0);
    let (modules, unmatched, said) = ranked("no/where.py");
    assert_eq!((modules, unmatched), (ranked("").0, serde_json::json!(["no/where.py"])));
    assert!(said.contains("nothing fits the focus on no/where.py"), "{said}");
}

#[test]
fn an_outline_says_what_does_not_parse_and_what_was_left_out() {
    let user = User::new();
    let root = user.repository("broken", "#- a.py\ndef f(): pass\nx = = 1\ndef g(): pass\n");
    std::os::unix::fs::symlink("../away.py", root.join("link.py")).unwrap();
    let ran = user.gistify(&["-q", "outline", "broken", "a.py"]);
    let lines: Vec<&str> = ran.out.lines().map(str::trim).collect();
    assert_eq!((lines.len(), lines[0]), (3, "1-1     def f()"), "{}", ran.out);
    assert!(lines[1].starts_with("2-2     syntax error: "), "{}", ran.out);
    let ran = user.gistify(&["-q", "outline", "broken", "a.py", "--json"]);
    let items: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&items[1]["kind"], &items[1]["line"]), (&"error".into(), &2.into()));
    let ran = user.gistify(&["-q", "outline", "broken", "link.py"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("link.py was left out"), "{}", ran.err);
}

#[test]
fn calls_that_say_nothing_are_counted() {
    let user = User::new();
    let alike = (0..33).map(|at| format!("class C{at}:\n    def get(self): pass\n"));
    let text = alike.collect::<String>() + "def f(x): x.get()\n";
    user.repository("alike", &format!("#- m.py\n{text}"));
    let ran = user.gistify(&["callees", "alike", "m.f"]);
    assert!(ran.err.contains("call sites that were not followed: 1 ("), "{}", ran.err);
    let ran = user.gistify(&["callees", "alike", "m.f", "--certain"]);
    assert!(!ran.err.contains("not followed"), "{}", ran.err);
}

#[test]
fn calls_have_lines_and_possible_ones_are_exported() {
    let user = User::new();
    let text = "#- m.py\ndef a(x):\n    b()\n    b()\n    x.go()\ndef b(): pass\nclass C:\n    def go(self): b()\n";
    user.repository("doubt", text);
    let json = |args: &[&str]| -> serde_json::Value {
        let ran = user.gistify(&[&["-q", args[0], "doubt"], &args[1..]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    };
    let callees = json(&["callees", "m.a", "--json"]);
    assert_eq!(
        (&callees[0]["calls"], &callees[0]["weight"]),
        (&serde_json::json!([{"caller": "m.a", "path": "m.py", "lines": [2, 3]}]), &2.into())
    );
    assert_eq!((&callees[1]["name"], &callees[1]["tier"]), (&"m.C.go".into(), &"possible".into()));
    let path = json(&["path", "m.a", "m.C.go", "--json"]);
    assert_eq!((&path[0]["tier"], &path[1]["tier"]), (&"certain".into(), &"possible".into()));
    let graph = json(&["graph"]);
    assert_eq!((&graph["version"], &graph["possible_left_out"]), (&1.into(), &0.into()));
    let edge = &graph["possible"][0];
    assert_eq!((&edge["line"], &edge["tier"]), (&4.into(), &"possible".into()));
    assert_eq!(graph["calls"].as_array().unwrap().len(), 2);
}

#[test]
fn gates_are_those_of_the_version_that_a_repository_runs_on() {
    let user = User::new();
    let text = "\
#- core.py
import sys
if sys.version_info >= (3, 14):
    from new import impl
else:
    from old import impl
def run(): return impl()
#- new.py
def impl(): return 1
#- old.py
def impl(): return 2
";
    let root = user.repository("gated", text);
    let callees = |more: &[&str]| {
        let ran = user.gistify(&[&["-q", "callees", "gated", "core.run"], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    let (old, new) = (" 1  old.impl  old.py:1\n", " 1  new.impl  new.py:1\n");
    assert_eq!(callees(&[]), format!("{new}{old}"));
    assert_eq!(callees(&["--python", "3.14"]), new);
    assert_eq!(callees(&["--python", "3.13"]), old);
    fs::create_dir(root.join(".venv")).unwrap();
    fs::write(root.join(".venv/pyvenv.cfg"), "version = 3.15.0\n").unwrap();
    assert_eq!(callees(&[]), new);
    let ran = user.gistify(&["callees", "gated", "core.run", "--python", "3.16"]);
    assert_eq!((ran.code, &*ran.err), (2, "gistify: --python 3.16: 3.9 to 3.15 are supported\n"));
}
